/* The promises of fre/prior.h: the posterior against its formula written out, its limits, a known
 * covariance found again, the file there and back, damaged and foreign files refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <fre/linalg.h>
#include <fre/prior.h>

#include "assert_num.h"
#include "mix.h"
#include "prior_private.h"
#include "temp_dir.h"

#define D 6u

/* x = centre + A z with a fixed A: covariance A A'. */
static const double centre[D] = {0.1, -0.2, 0.3, 0, 0.05, 0.5};
static double matrix[D][D];

static void make_matrix(void)
{
    mix = 11;
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++)
            matrix[i][j] = (mix_real() - 0.5) / (double)(j + 1);
}

static double covariance(size_t i, size_t j)
{
    double sum = 0;

    for (size_t k = 0; k < D; k++)
        sum += matrix[i][k] * matrix[j][k];
    return sum;
}

static float *draw_rows(size_t n)
{
    float *x = malloc(n * D * sizeof *x);

    assert_non_null(x);
    for (size_t r = 0; r < n; r++) {
        double z[D];

        for (size_t k = 0; k < D; k++)
            z[k] = mix_gauss();
        for (size_t i = 0; i < D; i++) {
            double sum = centre[i];

            for (size_t k = 0; k < D; k++)
                sum += matrix[i][k] * z[k];
            x[r * D + i] = (float)sum;
        }
    }
    return x;
}

static fre_model_info embedder_info(void)
{
    fre_model_info info = {.dim = D, .name = "tiny embedder"};

    for (size_t i = 0; i < FRE_HASH_BYTES; i++)
        info.sha256[i] = (uint8_t)i;
    return info;
}

/* cut: rows a call. */
static fre_prior *make(const float *x, size_t n, size_t cut, uint32_t threads)
{
    const fre_model_info info = embedder_info();
    fre_prior_sums *s = NULL;
    fre_prior *p = NULL;
    fre_err err = {.text = ""};

    assert_int_equal(fre_prior_sums_new(&s, D, threads), FRE_OK);
    for (size_t at = 0; at < n; at += cut)
        assert_int_equal(fre_prior_sums_add(s, x + at * D, n - at < cut ? n - at : cut), FRE_OK);
    assert_int_equal(fre_prior_make(&p, s, &info, "a test", &err), FRE_OK);
    fre_prior_sums_free(s);
    return p;
}

static fre_prior *sample_prior(void)
{
    float *x;
    fre_prior *p;

    make_matrix();
    x = draw_rows(3000);
    p = make(x, 3000, 3000, 1);
    free(x);
    return p;
}

/* The covariance that a prior stands for. */
static double prior_covariance(const fre_prior *p, size_t i, size_t j)
{
    double sum = 0;

    for (size_t k = 0; k < D; k++)
        sum += (double)p->value[k] * (double)p->vector[k * D + i] * (double)p->vector[k * D + j];
    return sum;
}

static void known_covariance_is_found(void **state)
{
    const size_t n = 100000;
    fre_prior *p;
    float *x;

    (void)state;
    make_matrix();
    x = draw_rows(n);
    p = make(x, n, n, 2);
    for (size_t i = 0; i < D; i++) {
        /* five standard errors: of a mean sd/sqrt(n), of a covariance below 2 sd^2/sqrt(n) */
        assert_close((double)p->mean[i], centre[i], 5 * sqrt(covariance(i, i) / (double)n), 0);
        for (size_t j = 0; j < D; j++)
            assert_close(prior_covariance(p, i, j), covariance(i, j),
                         10 * sqrt(covariance(i, i) * covariance(j, j) / (double)n), 0);
    }
    for (size_t k = 1; k < D; k++)
        assert_true(p->value[k - 1] >= p->value[k] && p->value[k] > 0);
    fre_prior_free(p);
    free(x);
}

/* Exactly the sample's covariance, by sums in long double. */
static void sample_covariance_is_exact(void **state)
{
    const size_t n = 777;
    fre_prior *p;
    float *x;

    (void)state;
    make_matrix();
    x = draw_rows(n);
    p = make(x, n, 100, 1);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++) {
            long double a = 0, b = 0, sum = 0;

            for (size_t r = 0; r < n; r++) {
                a += (long double)x[r * D + i] / n;
                b += (long double)x[r * D + j] / n;
            }
            for (size_t r = 0; r < n; r++)
                sum += ((long double)x[r * D + i] - a) * ((long double)x[r * D + j] - b);
            assert_close(prior_covariance(p, i, j), (double)(sum / (n - 1)), 1e-8, 0);
        }
    assert_int_equal(fre_prior_info_view(p)->rows, n);
    fre_prior_free(p);
    free(x);
}

static void cuts_and_threads_do_not_matter(void **state)
{
    static const size_t cut[] = {1, 7, 512, 513, 1400};
    const size_t n = 1400;
    fre_prior *first;
    float *x;

    (void)state;
    make_matrix();
    x = draw_rows(n);
    first = make(x, n, n, 1);
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        fre_prior *p = make(x, n, cut[i], 1 + (uint32_t)i);

        assert_memory_equal(p->mean, first->mean, (D + 2) * D * sizeof *p->mean);
        fre_prior_free(p);
    }
    fre_prior_free(first);
    free(x);
}

/* Solves a y = b by elimination with pivots; returns ln |det a|. */
static double solve(double a[D][D], double b[D])
{
    double log_det = 0;

    for (size_t k = 0; k < D; k++) {
        size_t top = k;

        for (size_t i = k + 1; i < D; i++)
            if (fabs(a[i][k]) > fabs(a[top][k]))
                top = i;
        for (size_t j = 0; j < D; j++) {
            const double keep = a[k][j];

            a[k][j] = a[top][j];
            a[top][j] = keep;
        }
        {
            const double keep = b[k];

            b[k] = b[top];
            b[top] = keep;
        }
        log_det += log(fabs(a[k][k]));
        for (size_t i = 0; i < D; i++) {
            const double f = a[i][k] / a[k][k];

            if (i == k)
                continue;
            for (size_t j = k; j < D; j++)
                a[i][j] -= f * a[k][j];
            b[i] -= f * b[k];
        }
    }
    for (size_t k = 0; k < D; k++)
        b[k] /= a[k][k];
    return log_det;
}

/* m + C (C + s^2)^-1 (mu - m), without eigenvectors. */
static void slow_mean(double out[D], const fre_prior *p, const float *mu, double s)
{
    double a[D][D], b[D];

    for (size_t i = 0; i < D; i++) {
        b[i] = (double)mu[i] - (double)p->mean[i];
        for (size_t j = 0; j < D; j++)
            a[i][j] = prior_covariance(p, i, j) + (i == j ? s * s : 0);
    }
    (void)solve(a, b);
    for (size_t i = 0; i < D; i++) {
        out[i] = (double)p->mean[i];
        for (size_t j = 0; j < D; j++)
            out[i] += prior_covariance(p, i, j) * b[j];
    }
}

/* ln N(x; m, C), without eigenvectors. */
static double slow_log_density(const fre_prior *p, const float *x)
{
    double a[D][D], b[D], y[D], sum, log_det;

    for (size_t i = 0; i < D; i++) {
        y[i] = b[i] = (double)x[i] - (double)p->mean[i];
        for (size_t j = 0; j < D; j++)
            a[i][j] = prior_covariance(p, i, j);
    }
    log_det = solve(a, b);
    sum = log_det + D * log(6.283185307179586);
    for (size_t i = 0; i < D; i++)
        sum += y[i] * b[i];
    return -sum / 2;
}

static void posterior_mean_is_the_formula(void **state)
{
    static const double noise[] = {0.01, 0.1, 0.5, 3};
    fre_prior *p = sample_prior();
    float mu[D], out[D];
    double want[D];

    (void)state;
    for (size_t t = 0; t < 20; t++) {
        const double s = noise[t % 4];

        for (size_t i = 0; i < D; i++)
            mu[i] = (float)(mix_gauss() * 0.7);
        assert_int_equal(fre_prior_posterior_mean(p, out, mu, s), FRE_OK);
        slow_mean(want, p, mu, s);
        for (size_t i = 0; i < D; i++)
            assert_close((double)out[i], want[i], 2e-6, 0);
    }
    /* In place. */
    assert_int_equal(fre_prior_posterior_mean(p, mu, mu, noise[19 % 4]), FRE_OK);
    assert_memory_equal(mu, out, sizeof mu);
    fre_prior_free(p);
}

static void limits_of_the_posterior(void **state)
{
    fre_prior *p = sample_prior();
    float mu[D] = {0.3F, -1, 0.25F, 2, 0.0625F, 0.125F}, out[D];
    double variance[D];

    (void)state;
    assert_int_equal(fre_prior_posterior_mean(p, out, mu, 0), FRE_OK);
    assert_memory_equal(out, mu, sizeof mu);
    assert_int_equal(fre_prior_posterior_mean(p, out, mu, 1e-9), FRE_OK);
    assert_memory_equal(out, mu, sizeof mu); /* what is taken off is below half a unit */
    assert_int_equal(fre_prior_posterior_mean(p, out, mu, 1e8), FRE_OK);
    for (size_t i = 0; i < D; i++)
        assert_close((double)out[i], (double)p->mean[i], 1e-6, 0);
    fre_prior_posterior_variance(p, variance, 0);
    for (size_t i = 0; i < D; i++)
        assert_close(variance[i], 0, 0, 0);
    fre_prior_posterior_variance(p, variance, 1e8);
    for (size_t i = 0; i < D; i++)
        assert_close(variance[i], (double)p->value[i], 0, 1e-9);
    fre_prior_posterior_variance(p, variance, 1e200);
    for (size_t i = 0; i < D; i++)
        assert_close(variance[i], (double)p->value[i], 0, 1e-9);
    fre_prior_posterior_variance(p, variance, 0.3);
    for (size_t i = 0; i < D; i++)
        assert_close(1 / variance[i], 1 / (double)p->value[i] + 1 / 0.09, 0, 1e-12);
    fre_prior_free(p);
}

/* How much is known, said as noise: at that noise the variances add up to it again. */
static void noise_of_what_is_left(void **state)
{
    fre_prior *p = sample_prior();
    double whole = 0, variance[D];

    (void)state;
    for (size_t k = 0; k < D; k++)
        whole += (double)p->value[k];
    for (double share = 1e-6; share < 1; share *= 3) {
        double sum = 0;

        fre_prior_posterior_variance(p, variance, fre_prior_noise_of(p, share * whole));
        for (size_t k = 0; k < D; k++)
            sum += variance[k];
        assert_close(sum, share * whole, 0, 1e-6);
    }
    assert_close(fre_prior_noise_of(p, 0), 0, 0, 0);
    assert_close(fre_prior_noise_of(p, -1), 0, 0, 0);
    assert_true(fre_prior_noise_of(p, 2 * whole) > 100 * sqrt(whole));
    assert_true(isfinite(fre_prior_noise_of(p, (double)INFINITY)));
    fre_prior_free(p);
}

/* Shrinking by the true prior is right on average: the mean squared error of the posterior mean
 * is the sum of the posterior variances, and less than that of mu itself. */
static void posterior_mean_denoises(void **state)
{
    const double s = 0.2;
    const size_t n = 20000;
    double variance[D], error = 0, raw = 0, want = 0;
    fre_prior *p;
    float *x, mu[D], out[D];

    (void)state;
    make_matrix();
    x = draw_rows(n);
    p = make(x, n, n, 1);
    for (size_t r = 0; r < n; r++) {
        for (size_t i = 0; i < D; i++)
            mu[i] = x[r * D + i] + (float)(s * mix_gauss());
        assert_int_equal(fre_prior_posterior_mean(p, out, mu, s), FRE_OK);
        error += fre_dist2(out, x + r * D, D) / (double)n;
        raw += fre_dist2(mu, x + r * D, D) / (double)n;
    }
    fre_prior_posterior_variance(p, variance, s);
    for (size_t i = 0; i < D; i++)
        want += variance[i];
    assert_close(error, want, 0, 0.03);
    assert_close(raw, D * s * s, 0, 0.03);
    assert_true(error < 0.8 * raw);
    fre_prior_free(p);
    free(x);
}

static void densities_are_the_formula(void **state)
{
    fre_prior *p = sample_prior();
    float x[5 * D], mu[D];
    double got[5], one, post[5];

    (void)state;
    for (size_t i = 0; i < 5 * D; i++)
        x[i] = (float)(0.4 * mix_gauss());
    memcpy(mu, x, sizeof mu);
    assert_int_equal(fre_prior_log_density(p, got, x, 5), FRE_OK);
    assert_int_equal(fre_prior_posterior_log_density(p, post, x, 5, mu, 0.25), FRE_OK);
    for (size_t r = 0; r < 5; r++) {
        const float *row = x + r * D;

        assert_close(got[r], slow_log_density(p, row), 0, 1e-4);
        assert_int_equal(fre_prior_log_density(p, &one, row, 1), FRE_OK);
        assert_memory_equal(&one, &got[r], sizeof one); /* no neighbours */
        /* Bayes: posterior = prior x likelihood / evidence; the evidence is the same for all. */
        assert_close(post[r] - post[0],
                     (got[r] - fre_dist2(row, mu, D) / (2 * 0.0625)) -
                         (got[0] - fre_dist2(x, mu, D) / (2 * 0.0625)),
                     1e-3, 1e-4);
    }
    assert_int_equal(fre_prior_log_density(p, got, x, 0), FRE_OK);
    fre_prior_free(p);
}

static void arguments_are_checked(void **state)
{
    fre_prior *p = sample_prior();
    float x[D] = {0}, out[D];
    double number;
    fre_prior_sums *s = NULL;

    (void)state;
    assert_int_equal(fre_prior_posterior_mean(p, out, x, -1), FRE_E_ARG);
    assert_int_equal(fre_prior_posterior_mean(p, out, x, (double)NAN), FRE_E_ARG);
    assert_int_equal(fre_prior_posterior_mean(p, out, x, (double)INFINITY), FRE_E_ARG);
    assert_int_equal(fre_prior_posterior_log_density(p, &number, x, 1, x, 0), FRE_E_ARG);
    assert_int_equal(fre_prior_posterior_log_density(p, &number, x, 1, x, (double)NAN), FRE_E_ARG);
    assert_int_equal(fre_prior_sums_new(&s, 0, 1), FRE_E_ARG);
    assert_int_equal(fre_prior_sums_new(&s, D, 0), FRE_E_ARG);
    assert_int_equal(fre_prior_sums_new(&s, PRIOR_DIM_MAX + 1, 1), FRE_E_ARG);
    fre_prior_free(p);
    fre_prior_free(NULL);
    fre_prior_sums_free(NULL);
}

static void too_little_text_is_refused(void **state)
{
    const fre_model_info info = embedder_info();
    float x[FRE_PRIOR_ROWS_MIN(D) * D] = {0};
    fre_prior_sums *s = NULL;
    fre_prior *p = NULL;
    fre_err err = {.text = ""};

    (void)state;
    for (size_t i = 0; i < FRE_PRIOR_ROWS_MIN(D) * D; i++)
        x[i] = 0.3F + 0.1F * (float)(i % D); /* of which sums are not exact */
    assert_int_equal(fre_prior_sums_new(&s, D, 1), FRE_OK);
    assert_int_equal(fre_prior_sums_add(s, x, FRE_PRIOR_ROWS_MIN(D) - 1), FRE_OK);
    assert_int_equal(fre_prior_make(&p, s, &info, "", &err), FRE_E_DATA);
    assert_string_equal(err.text,
                        "a prior of 6 dimensions needs at least 24 texts, and there are 23");
    assert_int_equal(fre_prior_sums_add(s, x, 1), FRE_OK);
    assert_int_equal(fre_prior_make(&p, s, &info, "", &err), FRE_E_DATA);
    assert_string_equal(err.text, "the embeddings do not vary: a prior needs texts of many kinds");
    assert_null(p);
    x[3] = NAN;
    assert_int_equal(fre_prior_sums_add(s, x, 1), FRE_E_DATA);
    fre_prior_sums_free(s);
}

/* A direction in which nothing varies still allows a little. */
static void flat_directions_keep_a_variance(void **state)
{
    float x[64 * D];
    fre_prior *p;

    (void)state;
    for (size_t i = 0; i < 64 * D; i++)
        x[i] = i % D < 2 ? (float)mix_gauss() : 0.25F;
    p = make(x, 64, 64, 1);
    assert_true(p->value[D - 1] > 0);
    assert_true((double)p->value[D - 1] < 1e-5);
    assert_true((double)p->value[1] > 0.3);
    fre_prior_free(p);
}

/* ---- files ------------------------------------------------------------------------------------ */

static void write_prior(const fre_prior *p, const char *path)
{
    FILE *f = fopen(path, "wb");
    fre_err err = {.text = ""};

    assert_non_null(f);
    assert_int_equal(fre_prior_write(p, f, &err), FRE_OK);
    assert_int_equal(fclose(f), 0);
}

static void file_there_and_back(void **state)
{
    temp_dir t;
    char path[512];
    uint8_t sum[FRE_HASH_BYTES];
    fre_prior *p = sample_prior(), *q = NULL;
    fre_err err = {.text = ""};

    (void)state;
    temp_dir_make(&t);
    write_prior(p, temp_path(path, &t, "a.prior.gguf"));
    assert_int_equal(fre_prior_open(&q, path, &err), FRE_OK);
    assert_memory_equal(p->mean, q->mean, (D + 2) * D * sizeof *p->mean);
    assert_int_equal(q->info.dim, D);
    assert_int_equal(q->info.rows, 3000);
    assert_string_equal(q->info.embedder, "tiny embedder");
    assert_string_equal(q->info.source, "a test");
    assert_string_equal(q->info.embedder_hash, p->info.embedder_hash);
    assert_int_equal(fre_sha256_file(sum, path, &err), FRE_OK);
    assert_memory_equal(fre_prior_info_view(q)->sha256, sum, sizeof sum);
    fre_prior_free(p);
    fre_prior_free(q);
    temp_dir_remove(&t);
}

static void refuse(const char *path, fre_status want, const char *part)
{
    fre_prior *p = NULL;
    fre_err err = {.text = ""};

    assert_int_equal(fre_prior_open(&p, path, &err), want);
    assert_null(p);
    if (!strstr(err.text, part))
        fail_msg("\"%s\" lacks \"%s\"", err.text, part);
}

static void damaged_files_are_refused(void **state)
{
    temp_dir t;
    char path[512], cut[512];
    uint8_t bytes[4096];
    size_t n;
    fre_prior *p = sample_prior();
    FILE *f;

    (void)state;
    temp_dir_make(&t);
    write_prior(p, temp_path(path, &t, "whole.gguf"));
    f = fopen(path, "rb");
    assert_non_null(f);
    n = fread(bytes, 1, sizeof bytes, f);
    assert_int_equal(fclose(f), 0);
    assert_in_range(n, 400, sizeof bytes - 1);
    temp_path(cut, &t, "cut.gguf");
    refuse(cut, FRE_E_NOINPUT, "cut.gguf");
    for (size_t keep = 0; keep < n; keep += 13) {
        write_file(cut, bytes, keep);
        /* the padding at the end is not missed */
        if (keep + 32 < n)
            refuse(cut, FRE_E_MODEL, "cut.gguf");
    }
    refuse(FRE_SOURCE_DIR "/models/minilm-inverter-projector.f16.gguf", FRE_E_MODEL,
           "fre-e2t-prior");

    p->value[2] = -p->value[2];
    write_prior(p, cut);
    refuse(cut, FRE_E_MODEL, "eigenvalue or eigenvector 3 cannot be one of a covariance");
    p->value[2] = -p->value[2];
    p->vector[1] += 0.5F;
    write_prior(p, cut);
    refuse(cut, FRE_E_MODEL, "eigenvalue or eigenvector 1 cannot be one of a covariance");
    p->vector[1] = NAN;
    write_prior(p, cut);
    refuse(cut, FRE_E_MODEL, "not finite");
    p->vector[1] = 0;
    p->info.embedder_hash[5] = '\0';
    write_prior(p, cut);
    refuse(cut, FRE_E_MODEL, "does not say which embedder");
    fre_prior_free(p);
    temp_dir_remove(&t);
}

static void prior_is_found_beside_its_embedder(void **state)
{
    static const char *const name[] = {"model.q8_0.gguf", "model.f16.gguf",    "model.gguf",
                                       "model.bf16.gguf", "model.iq4_xs.gguf", "model"};
    temp_dir t;
    char path[512], embedder[512];
    fre_model_info info = embedder_info();
    fre_prior *p = sample_prior(), *q = NULL;
    fre_err err = {.text = ""};

    (void)state;
    temp_dir_make(&t);
    temp_path(embedder, &t, "model.v2.gguf");
    write_prior(p, temp_path(path, &t, "model.prior.gguf"));
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        temp_path(embedder, &t, name[i]);
        assert_int_equal(fre_prior_open_for(&q, NULL, embedder, &info, &err), FRE_OK);
        assert_non_null(q);
        fre_prior_free(q);
    }
    /* "v2" is part of the name, and nothing is there for it. */
    q = p;
    assert_int_equal(
        fre_prior_open_for(&q, NULL, temp_path(embedder, &t, "model.v2.gguf"), &info, &err),
        FRE_OK);
    assert_null(q);
    temp_path(embedder, &t, "model.gguf");
    assert_int_equal(fre_prior_open_for(&q, "none", embedder, &info, &err), FRE_OK);
    assert_null(q);
    /* Another embedder, or another dimension. */
    info.sha256[7] ^= 1;
    assert_int_equal(fre_prior_open_for(&q, NULL, embedder, &info, &err), FRE_E_MODEL);
    assert_null(q);
    assert_non_null(strstr(err.text, "made for another embedder (tiny embedder, SHA-256 "
                                     "000102030405...)"));
    info.sha256[7] ^= 1;
    info.dim++;
    assert_int_equal(fre_prior_open_for(&q, path, NULL, &info, &err), FRE_E_MODEL);
    info.dim--;
    assert_int_equal(fre_prior_open_for(&q, path, NULL, &info, &err), FRE_OK);
    fre_prior_free(q);
    assert_int_equal(fre_prior_open_for(&q, temp_path(path, &t, "absent.gguf"), NULL, &info, &err),
                     FRE_E_NOINPUT);
    fre_prior_free(p);
    temp_dir_remove(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_covariance_is_found),
        cmocka_unit_test(sample_covariance_is_exact),
        cmocka_unit_test(cuts_and_threads_do_not_matter),
        cmocka_unit_test(posterior_mean_is_the_formula),
        cmocka_unit_test(limits_of_the_posterior),
        cmocka_unit_test(noise_of_what_is_left),
        cmocka_unit_test(posterior_mean_denoises),
        cmocka_unit_test(densities_are_the_formula),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(too_little_text_is_refused),
        cmocka_unit_test(flat_directions_keep_a_variance),
        cmocka_unit_test(file_there_and_back),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(prior_is_found_beside_its_embedder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
