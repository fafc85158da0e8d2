/* The promises of fre/bridge.h: the estimate against the conditional mean by elimination, its error
 * against what it says is left, the file there and back, damaged and foreign files refused. */
#include <ctype.h>
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

#include <fre/bridge.h>
#include <fre/linalg.h>

#include "assert_num.h"
#include "bridge_private.h"
#include "mix.h"
#include "temp_dir.h"

#define A 5u /* dimensions of the first embedder */
#define B 3u
#define D (A + B)

/* Rows [x y]: a fixed linear mixture of D normal numbers, away from 0. */
static float *draw_rows(size_t n)
{
    static double matrix[D][D];
    float *x = malloc(n * D * sizeof *x);

    assert_non_null(x);
    mix = 17;
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++)
            matrix[i][j] = (mix_real() - 0.5) / (double)(1 + j / 2);
    for (size_t r = 0; r < n; r++) {
        double z[D];

        for (size_t k = 0; k < D; k++)
            z[k] = mix_gauss();
        for (size_t i = 0; i < D; i++) {
            double sum = 0.1 * (double)i;

            for (size_t k = 0; k < D; k++)
                sum += matrix[i][k] * z[k];
            x[r * D + i] = (float)sum;
        }
    }
    return x;
}

static fre_model_info end(uint32_t dim, uint8_t first)
{
    fre_model_info info = {.dim = dim, .name = "tiny embedder"};

    for (size_t i = 0; i < FRE_HASH_BYTES; i++)
        info.sha256[i] = (uint8_t)(first + i);
    return info;
}

static fre_prior_sums *sums_of(const float *x, size_t n)
{
    fre_prior_sums *s = NULL;

    assert_int_equal(fre_prior_sums_new(&s, D, 2), FRE_OK);
    assert_int_equal(fre_prior_sums_add(s, x, n), FRE_OK);
    return s;
}

static fre_bridge *make(const float *x, size_t n)
{
    const fre_model_info from = end(A, 1), to = end(B, 101);
    fre_prior_sums *s = sums_of(x, n);
    fre_bridge *b = NULL;
    fre_err err = {.text = ""};

    assert_int_equal(fre_bridge_make(&b, s, &from, &to, "a test", &err), FRE_OK);
    fre_prior_sums_free(s);
    return b;
}

/* Solves a y = b in place, by elimination with pivots. */
static void solve(double a[A][A], double b[A])
{
    for (size_t k = 0; k < A; k++) {
        size_t top = k;

        for (size_t i = k + 1; i < A; i++)
            if (fabs(a[i][k]) > fabs(a[top][k]))
                top = i;
        for (size_t j = 0; j <= A; j++) {
            double *p = j < A ? &a[k][j] : &b[k], *q = j < A ? &a[top][j] : &b[top];
            const double keep = *p;

            *p = *q;
            *q = keep;
        }
        for (size_t i = 0; i < A; i++) {
            const double f = a[i][k] / a[k][k];

            if (i == k)
                continue;
            for (size_t j = k; j < A; j++)
                a[i][j] -= f * a[k][j];
            b[i] -= f * b[k];
        }
    }
    for (size_t k = 0; k < A; k++)
        b[k] /= a[k][k];
}

/* Moments of rows in long double. */
static void moments(long double mean[D], double cov[D][D], const float *x, size_t n)
{
    for (size_t i = 0; i < D; i++) {
        mean[i] = 0;
        for (size_t r = 0; r < n; r++)
            mean[i] += (long double)x[r * D + i] / (long double)n;
    }
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++) {
            long double sum = 0;

            for (size_t r = 0; r < n; r++)
                sum +=
                    ((long double)x[r * D + i] - mean[i]) * ((long double)x[r * D + j] - mean[j]);
            cov[i][j] = (double)(sum / (long double)(n - 1));
        }
}

/* my + Cyx (Cxx + s^2)^-1 (mu - mx) and tr Cyy - tr Cyx (Cxx + s^2)^-1 Cxy, without eigenvectors. */
static void slow(double out[B], double *left, const float *x, size_t n, const float *mu, double s)
{
    long double mean[D];
    double cov[D][D], a[A][A], b[A];

    moments(mean, cov, x, n);
    *left = 0;
    for (size_t t = 0; t <= B; t++) { /* the estimate, then each row of Cyx */
        for (size_t i = 0; i < A; i++) {
            b[i] = t == 0 ? (double)mu[i] - (double)mean[i] : cov[i][A + t - 1];
            for (size_t j = 0; j < A; j++)
                a[i][j] = cov[i][j] + (i == j ? s * s : 0);
        }
        solve(a, b);
        for (size_t i = 0; t == 0 && i < B; i++) {
            out[i] = (double)mean[A + i];
            for (size_t j = 0; j < A; j++)
                out[i] += cov[A + i][j] * b[j];
        }
        if (t == 0)
            continue;
        *left += cov[A + t - 1][A + t - 1];
        for (size_t j = 0; j < A; j++)
            *left -= cov[A + t - 1][j] * b[j];
    }
}

static void estimate_is_the_conditional_mean(void **state)
{
    static const double noise[] = {0, 0.01, 0.2, 1, 30};
    const size_t n = 4000;
    float *x = draw_rows(n), mu[A], out[B];
    fre_bridge *b = make(x, n);
    double want[B], left, slow_left;

    (void)state;
    for (size_t t = 0; t < 20; t++) {
        const double s = noise[t % 5];

        for (size_t i = 0; i < A; i++)
            mu[i] = (float)mix_gauss();
        assert_int_equal(fre_bridge_estimate(b, out, &left, mu, s), FRE_OK);
        slow(want, &slow_left, x, n, mu, s);
        for (size_t i = 0; i < B; i++)
            assert_close((double)out[i], want[i], 1e-5, 1e-4);
        /* A little more, for the chance in the moments, but never more than all of it. */
        assert_close(left, fmin(slow_left * (double)(n + A) / (double)(n - A), b->info.variance),
                     1e-6, 1e-3);
        assert_int_equal(fre_bridge_estimate(b, out, NULL, mu, s), FRE_OK);
    }
    fre_bridge_free(b);
    free(x);
}

/* On texts that it was not made of, and with few: the error is what it says. */
static void error_is_what_is_left(void **state)
{
    const size_t few = 40, n = 40000;
    float *x = draw_rows(n), mu[A], out[B];
    double said = 0, error = 0;

    (void)state;
    for (size_t t = 0; t < 200; t++) { /* bridges */
        fre_bridge *b = make(x + t * few * D, few);

        for (size_t r = n - 100; r < n; r++) {
            double left;

            for (size_t i = 0; i < A; i++)
                mu[i] = x[r * D + i] + (float)(0.1 * mix_gauss());
            assert_int_equal(fre_bridge_estimate(b, out, &left, mu, 0.1), FRE_OK);
            said += left;
            error += fre_dist2(out, x + r * D + A, B);
        }
        fre_bridge_free(b);
    }
    assert_close(error / said, 1, 0.2, 0);
    free(x);
}

static void same_embedder_gives_itself(void **state)
{
    const size_t n = 500;
    const fre_model_info same = end(B, 7);
    float *x = draw_rows(n), *twice = malloc(n * 2 * B * sizeof *twice), out[B];
    fre_prior_sums *s = NULL;
    fre_bridge *b = NULL;
    fre_err err = {.text = ""};
    double left;

    (void)state;
    assert_non_null(twice);
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < 2 * B; i++)
            twice[r * 2 * B + i] = x[r * D + i % B];
    assert_int_equal(fre_prior_sums_new(&s, 2 * B, 1), FRE_OK);
    assert_int_equal(fre_prior_sums_add(s, twice, n), FRE_OK);
    assert_int_equal(fre_bridge_make(&b, s, &same, &same, "a test", &err), FRE_OK);
    for (size_t r = 0; r < 20; r++) {
        assert_int_equal(fre_bridge_estimate(b, out, &left, x + r * D, 0), FRE_OK);
        for (size_t i = 0; i < B; i++)
            assert_close((double)out[i], (double)x[r * D + i], 1e-5, 0);
        assert_true(left > 0 && left < 1e-4 * b->info.variance);
    }
    fre_prior_sums_free(s);
    fre_bridge_free(b);
    free(twice);
    free(x);
}

static void put(const fre_bridge *b, const char *path)
{
    FILE *f = fopen(path, "wb");
    fre_err err = {.text = ""};

    assert_non_null(f);
    assert_int_equal(fre_bridge_write(b, f, &err), FRE_OK);
    assert_int_equal(fclose(f), 0);
}

/* Written as it is, it is no bridge; part: of what is said. */
static void refuse(const fre_bridge *b, const char *path, const char *part)
{
    fre_bridge *c = NULL;
    fre_err err = {.text = ""};

    put(b, path);
    assert_int_equal(fre_bridge_open(&c, path, &err), FRE_E_MODEL);
    assert_null(c);
    assert_non_null(strstr(err.text, part));
}

static void file_there_and_back(void **state)
{
    const fre_model_info from = end(A, 1), foreign = end(A, 2), wide = end(B, 1);
    float *x = draw_rows(200), mu[A] = {0.3F, -1, 0.2F, 0, 0.5F}, was[B], is[B];
    fre_bridge *b = make(x, 200), *c = NULL;
    const fre_bridge_info *info;
    char model[512], path[512];
    double left_was, left_is;
    fre_err err = {.text = ""};
    temp_dir t;

    (void)state;
    temp_dir_make(&t);
    temp_path(model, &t, "other.q8_0.gguf");
    temp_path(path, &t, "other.bridge.gguf");
    assert_int_equal(fre_bridge_open_for(&c, NULL, model, &from, &err), FRE_OK);
    assert_null(c); /* none there */
    put(b, path);
    assert_int_equal(fre_bridge_open_for(&c, NULL, model, &from, &err), FRE_OK);
    assert_non_null(c);
    info = fre_bridge_info_view(c);
    assert_int_equal(info->from.dim, A);
    assert_int_equal(info->to.dim, B);
    assert_int_equal(info->rows, 200);
    assert_string_equal(info->source, "a test");
    assert_string_equal(info->to.hash, fre_bridge_info_view(b)->to.hash);
    assert_int_equal(fre_bridge_estimate(b, was, &left_was, mu, 0.3), FRE_OK);
    assert_int_equal(fre_bridge_estimate(c, is, &left_is, mu, 0.3), FRE_OK);
    assert_memory_equal(is, was, sizeof was);
    assert_close(left_is, left_was, 0, 1e-5); /* the variance is kept in float32 */
    fre_bridge_free(c);
    c = NULL;
    assert_int_equal(fre_bridge_open_for(&c, "none", model, &foreign, &err), FRE_OK);
    assert_null(c);
    assert_int_equal(fre_bridge_open_for(&c, NULL, model, &foreign, &err), FRE_E_MODEL);
    assert_non_null(strstr(err.text, "begins at another embedder"));
    assert_int_equal(fre_bridge_open_for(&c, path, NULL, &wide, &err), FRE_E_MODEL);
    assert_int_equal(fre_bridge_open_for(&c, "/nonexistent", NULL, &from, &err), FRE_E_NOINPUT);
    fre_bridge_free(b);
    temp_dir_remove(&t);
    free(x);
}

static void damaged_files_are_refused(void **state)
{
    float *x = draw_rows(200);
    fre_bridge *b = make(x, 200), *c = NULL;
    const float keep[] = {b->value[0], b->vector[0]};
    char path[512];
    fre_err err = {.text = ""};
    temp_dir t;

    (void)state;
    temp_dir_make(&t);
    temp_path(path, &t, "b.gguf");
    b->value[0] = -1;
    refuse(b, path, "damaged");
    b->value[0] = keep[0];
    b->vector[0] += 3;
    refuse(b, path, "");
    b->vector[0] = keep[1];
    b->info.variance = 0;
    refuse(b, path, "");
    b->info.variance = 1;
    b->info.to.hash[3] = 'x';
    refuse(b, path, "which embedders");
    b->info.to.hash[3] = 'a';
    put(b, path);
    assert_int_equal(truncate(path, 700), 0);
    assert_int_equal(fre_bridge_open(&c, path, &err), FRE_E_MODEL);
    b->info.rows = FRE_PRIOR_ROWS_MIN(D) - 1;
    refuse(b, path, "");
    assert_null(c);
    fre_bridge_free(b);
    temp_dir_remove(&t);
    free(x);
}

/* Who draws more out of x than y varies by (|Cyx v|^2 <= l tr Cyy) has no covariance. */
static void no_map_explains_more_than_there_is(void **state)
{
    float *x = draw_rows(200);
    fre_bridge *b = make(x, 200);
    const double variance = b->info.variance;
    char path[512];
    temp_dir t;

    (void)state;
    temp_dir_make(&t);
    temp_path(path, &t, "b.gguf");
    b->info.variance = 0.9 * (variance - b->info.left * (200.0 - A) / (200.0 + A));
    refuse(b, path, "damaged");
    b->info.variance = variance;
    b->value[A - 1] = 1e-45F; /* the least float: nothing is as sure */
    refuse(b, path, "");
    fre_bridge_free(b);
    temp_dir_remove(&t);
    free(x);
}

/* Hashes in capitals are the same ones, longer texts are none; what people read has no controls. */
static void texts_of_a_file(void **state)
{
    const fre_model_info from = end(A, 0xa0);
    float *x = draw_rows(200);
    fre_bridge *b = make(x, 200), *c = NULL;
    char path[512];
    fre_err err = {.text = ""};
    temp_dir t;

    (void)state;
    temp_dir_make(&t);
    temp_path(path, &t, "b.gguf");
    fre_hex(b->info.from.hash, from.sha256, FRE_HASH_BYTES);
    for (char *p = b->info.from.hash; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    strcpy(b->info.from.embedder, "\x1b[31mred\n");
    strcpy(b->info.to.embedder, "\xc3\xa9\xff");
    put(b, path);
    assert_int_equal(fre_bridge_open_for(&c, path, NULL, &from, &err), FRE_OK);
    assert_string_equal(c->info.from.embedder, "?[31mred?");
    assert_string_equal(c->info.to.embedder, "\xc3\xa9?");
    fre_bridge_free(c);
    fre_bridge_free(b);
    temp_dir_remove(&t);
    free(x);
}

/* Of one text, many times, rounding is all that varies, at either end. */
static void one_text_is_refused(void **state)
{
    const fre_model_info from = end(A, 1), to = end(B, 101);
    const size_t n = 100;
    float *x = draw_rows(n);
    fre_bridge *b = NULL;
    fre_err err = {.text = ""};

    (void)state;
    for (size_t t = 0; t < 60; t++) {
        const size_t first = t % 3 == 1 ? A : 0, last = t % 3 == 2 ? A : D;
        fre_prior_sums *s;

        mix = 900 + t;
        for (size_t i = first; i < last; i++) {
            const float same = (float)mix_gauss();

            for (size_t r = 0; r < n; r++)
                x[r * D + i] = same;
        }
        s = sums_of(x, n);
        assert_int_equal(fre_bridge_make(&b, s, &from, &to, "a test", &err), FRE_E_DATA);
        assert_non_null(strstr(err.text, "do not vary"));
        fre_prior_sums_free(s);
        free(x);
        x = draw_rows(n);
    }
    free(x);
}

static void arguments_are_checked(void **state)
{
    const fre_model_info from = end(A, 1), to = end(B, 101), wide = end(B + 1, 101);
    float *x = draw_rows(100), out[B];
    fre_bridge *b = make(x, 100), *c = NULL;
    fre_prior_sums *s = sums_of(x, FRE_PRIOR_ROWS_MIN(D) - 1);
    char source[200];
    fre_err err = {.text = ""};

    (void)state;
    assert_int_equal(fre_bridge_estimate(b, out, NULL, x, -1), FRE_E_ARG);
    assert_int_equal(fre_bridge_estimate(b, out, NULL, x, (double)NAN), FRE_E_ARG);
    assert_int_equal(fre_bridge_make(&c, s, &from, &to, "a test", &err), FRE_E_DATA);
    assert_non_null(strstr(err.text, "at least 32 texts, and there are 31"));
    assert_int_equal(fre_bridge_make(&c, s, &from, &wide, "a test", &err), FRE_E_ARG);
    memset(source, 'x', sizeof source);
    source[128] = '\0';
    assert_int_equal(fre_bridge_make(&c, s, &from, &to, source, &err), FRE_E_ARG);
    fre_prior_sums_free(s);
    fre_bridge_free(b);
    fre_bridge_free(NULL);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimate_is_the_conditional_mean),
        cmocka_unit_test(error_is_what_is_left),
        cmocka_unit_test(same_embedder_gives_itself),
        cmocka_unit_test(file_there_and_back),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(no_map_explains_more_than_there_is),
        cmocka_unit_test(texts_of_a_file),
        cmocka_unit_test(one_text_is_refused),
        cmocka_unit_test(arguments_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
