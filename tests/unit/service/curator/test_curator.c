/* tests/unit/service/curator/test_curator.c
 * Algorithm 1 on embeddings made here: sums against an independent
 * computation, noise and coins against their laws, users, refusals, folders. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fre/sampler.h>
#include <fre/sketch.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "npy_file.h"
#include "small_release.h"
#include "temp_dir.h"

#define D 24u
#define STEP 0x1p-20

static char root[64];

static int setup(void **state)
{
    (void)state;
    (void)snprintf(root, sizeof root, "/tmp/fre-test-curator-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
    char command[128];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static const char *at(const char *name)
{
    static char path[8][160];
    static size_t turn;
    char *p = path[turn++ % 8];

    (void)snprintf(p, 160, "%s/%s", root, name);
    return p;
}

/* Entries of the test's folder, hidden ones too: what a run left behind. */
static size_t entries(void)
{
    DIR *d = opendir(root);
    size_t n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    (void)closedir(d);
    return n - 2;
}

/* ---- data ------------------------------------------------------------------------------------ */

/* n points of norm .99, inside the bound that is clipped to; the same for the same stream. */
static void random_points(fre_rng *r, float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double norm = 0;

        for (size_t j = 0; j < D; j++) {
            x[i * D + j] = (float)fre_sample_rounded_gaussian(r, 1u << 20);
            norm += (double)x[i * D + j] * (double)x[i * D + j];
        }
        for (size_t j = 0; j < D; j++)
            x[i * D + j] = (float)(.99 * (double)x[i * D + j] / sqrt(norm));
    }
}

static void write_npy(const char *path, const float *x, size_t n)
{
    write_rows(path, x, n, D, false);
}

/* `cells` points, point i repeated times[i] times, in an order given by the stride. */
static float *population(size_t *rows, const size_t *times, size_t cells, size_t stride)
{
    fre_rng r;
    const uint8_t seed[32] = {7};
    float *base = calloc(cells * D, sizeof *base), *x;
    size_t n = 0, k = 0;

    assert_int_equal(fre_rng_init_seeded(&r, seed, "points"), FRE_OK);
    random_points(&r, base, cells);
    for (size_t i = 0; i < cells; i++)
        n += times[i];
    x = calloc(n * D, sizeof *x);
    for (size_t i = 0; i < cells; i++)
        for (size_t c = 0; c < times[i]; c++, k++)
            memcpy(x + (k * stride % n) * D, base + i * D, D * sizeof *x);
    free(base);
    *rows = n;
    return x;
}

static fre_curator_opts options(const char *in, const char *out)
{
    fre_curator_opts o;

    fre_curator_opts_init(&o);
    o.input = in;
    o.output = out;
    o.inverter = "none";
    o.threads = 1;
    o.plan.epsilon = 4;
    o.plan.proj = 20;
    o.plan.population = 1000000;
    return o;
}

static fre_status run(fre_curator_result **out, const fre_curator_opts *o)
{
    fre_err err = {.text = ""};
    const fre_status st = fre_curator_synthesize(out, o, &err);

    if (st != FRE_OK)
        print_message("%s\n", err.text);
    return st;
}

/* The centroids of a run, row-major; the file's own reader checks their shape. */
static float *centroids(const char *dir, size_t n)
{
    char path[200];
    float *x = calloc(n ? n * D : 1, sizeof *x);
    fre_npy *f;

    (void)snprintf(path, sizeof path, "%s/centroids.npy", dir);
    assert_int_equal(fre_npy_open(&f, path, NULL), FRE_OK);
    assert_int_equal(fre_npy_rows(f), n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(fre_npy_row(f, x + i * D, i, NULL), FRE_OK);
    fre_npy_free(f);
    return x;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static int by_first(const void *a, const void *b)
{
    const float *x = a, *y = b;

    return x[0] < y[0] ? -1 : x[0] > y[0];
}

/* Without noise and sampling a released centroid is the exact mean of the rounded points, and
 * exactly the cells with at least t records are released. */
static void test_exact_sums(void **state)
{
    const size_t times[] = {30, 29, 31, 200, 1};
    size_t n;
    float *x = population(&n, times, 5, 1), *c, *want = calloc(3 * D, sizeof *want);
    fre_curator_opts o = options(at("x.npy"), at("out"));
    fre_curator_result *rel;

    (void)state;
    write_npy(o.input, x, n);
    o.plan.epsilon = INFINITY;
    o.plan.threshold = 30;
    assert_int_equal(run(&rel, &o), FRE_OK);
    assert_int_equal(rel->release.n, 3);
    assert_false(rel->release.is_private);
    c = centroids(o.output, 3);
    for (size_t i = 0, k = 0, row = 0; i < 5; row += times[i++]) {
        if (times[i] < 30)
            continue;
        for (size_t j = 0; j < D; j++)
            want[k * D + j] =
                (float)((double)((int64_t)times[i] * llrint((double)x[row * D + j] / STEP)) * STEP /
                        (double)times[i]);
        k++;
    }
    qsort(c, 3, D * sizeof *c, by_first);
    qsort(want, 3, D * sizeof *want, by_first);
    assert_memory_equal(c, want, 3 * D * sizeof *c);
    fre_curator_result_free(rel);
    free(c);
    free(want);
    free(x);
}

/* Points that differ inside a cell: neither order nor threads change a bit. */
static void test_order_and_threads(void **state)
{
    fre_rng r;
    const uint8_t seed[32] = {9};
    float *x = calloc(4000 * D, sizeof *x), *y = calloc(4000 * D, sizeof *y);
    float *c[3];
    size_t n = 0;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&r, seed, "order"), FRE_OK);
    random_points(&r, x, 40);
    for (size_t i = 40; i < 4000; i++)
        for (size_t j = 0; j < D; j++)
            x[i * D + j] = x[(i % 40) * D + j] +
                           (float)((double)(int64_t)fre_rng_below(&r, 2001) - 1000) * 1e-6f;
    for (size_t i = 0; i < 4000; i++)
        memcpy(y + (i * 1237 % 4000) * D, x + i * D, D * sizeof *x);
    write_npy(at("x.npy"), x, 4000);
    write_npy(at("y.npy"), y, 4000);
    for (int k = 0; k < 3; k++) {
        fre_curator_opts o = options(at(k == 2 ? "y.npy" : "x.npy"), at("order"));
        fre_curator_result *rel;

        o.force = true;
        o.seeded = true; /* the same grid each time */
        o.plan.epsilon = INFINITY;
        o.plan.threshold = 20;
        o.threads = k == 1 ? 2 : 1;
        assert_int_equal(run(&rel, &o), FRE_OK);
        assert_true(rel->release.n >= 20);
        assert_true(k == 0 || rel->release.n == n);
        n = rel->release.n;
        c[k] = centroids(o.output, n);
        qsort(c[k], n, D * sizeof(float), by_first);
        fre_curator_result_free(rel);
    }
    assert_memory_equal(c[0], c[1], n * D * sizeof(float));
    assert_memory_equal(c[0], c[2], n * D * sizeof(float));
    for (int k = 0; k < 3; k++)
        free(c[k]);
    free(x);
    free(y);
}

/* ---- the mechanism's laws --------------------------------------------------------------------- */

/* Copies of a point: count ~ Bin(n, p), and count * centroid - count * x is the noise alone:
 * variance sigma^2 (chi-square), no drift, whole lattice steps. */
static void test_noise_and_counts(void **state)
{
    enum { CELLS = 120, COPIES = 400 };
    size_t times[CELLS], n;
    float *x, *c;
    double sum = 0, sum2 = 0, counts = 0, counts2 = 0, p, sigma;
    fre_curator_opts o = options(at("x.npy"), at("noise"));
    fre_curator_result *rel;

    (void)state;
    for (size_t i = 0; i < CELLS; i++)
        times[i] = COPIES;
    x = population(&n, times, CELLS, 1);
    write_npy(o.input, x, n);
    o.plan.sampling_rate = 0.5;
    assert_int_equal(run(&rel, &o), FRE_OK);
    assert_true(rel->release.is_private);
    assert_int_equal(rel->release.n, CELLS);
    p = (double)rel->plan.mechanism.p32 / 4294967296.0;
    sigma = rel->plan.mechanism.sigma;
    c = centroids(o.output, CELLS);
    for (size_t i = 0; i < CELLS; i++) {
        const double count = (double)rel->release.cell[i].count;
        size_t best = 0;
        double least = INFINITY;

        for (size_t k = 0; k < CELLS; k++) { /* which point this centroid is of */
            double d2 = 0;

            for (size_t j = 0; j < D; j++)
                d2 += pow((double)c[i * D + j] - (double)x[k * COPIES * D + j], 2);
            if (d2 < least) {
                least = d2;
                best = k;
            }
        }
        for (size_t j = 0; j < D; j++) {
            const double z =
                count * ((double)c[i * D + j] - (double)x[best * COPIES * D + j]) / sigma;

            sum += z;
            sum2 += z * z;
        }
        counts += count;
        counts2 += (count - COPIES * p) * (count - COPIES * p);
    }
    /* 2880 normals: mean 0 +- 5/sqrt(n), chi-square within five deviations */
    assert_true(fabs(sum) < 5 * sqrt((double)CELLS * D));
    assert_true(fabs(sum2 - (double)CELLS * D) < 5 * sqrt(2 * (double)CELLS * D));
    assert_true(fabs(counts - CELLS * COPIES * p) < 5 * sqrt(CELLS * COPIES * p * (1 - p)));
    assert_true(fabs(counts2 / (COPIES * p * (1 - p)) - CELLS) < 5 * sqrt(2.0 * CELLS));
    fre_curator_result_free(rel);
    free(c);
    free(x);
}

/* Two runs never share coins or noise; with a seed they are the same to the byte. */
static void test_fresh_and_seeded(void **state)
{
    const size_t times[] = {500, 500, 500};
    size_t n;
    float *x = population(&n, times, 3, 7), *c[4];

    (void)state;
    write_npy(at("x.npy"), x, n);
    for (int k = 0; k < 4; k++) {
        fre_curator_opts o = options(at("x.npy"), at("fresh"));
        fre_curator_result *rel;

        o.force = true;
        o.seeded = k >= 2;
        o.threads = k == 3 ? 2 : 1;
        assert_int_equal(run(&rel, &o), FRE_OK);
        assert_int_equal(rel->release.n, 3);
        assert_int_equal(rel->release.is_private, k < 2);
        assert_true((strstr(rel->release.statement, "NOT PRIVATE") != NULL) == (k >= 2));
        c[k] = centroids(o.output, 3);
        fre_curator_result_free(rel);
    }
    assert_memory_not_equal(c[0], c[1], 3 * D * sizeof(float));
    assert_memory_equal(c[2], c[3], 3 * D * sizeof(float));
    for (int k = 0; k < 4; k++)
        free(c[k]);
    free(x);
}

/* ---- users, with real texts -------------------------------------------------------------------- */

static void write_users(const char *path, size_t users, size_t each)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    for (size_t u = 0; u < users; u++)
        for (size_t k = 0; k < each; k++) /* the same text again and again, then another */
            (void)fprintf(f, "{\"text\": \"%s\", \"who\": \"u%zu\"}\n",
                          k + 1 < each ? "what is the weather today" : "book a table for two", u);
    assert_int_equal(fclose(f), 0);
}

static uint64_t released_records(uint32_t cap, const char *user_field, uint64_t population)
{
    fre_curator_opts o = options(at("users.jsonl"), at("users"));
    fre_curator_result *rel;
    uint64_t n = 0;

    o.force = true;
    o.plan.epsilon = INFINITY;
    o.plan.threshold = 10;
    o.plan.population = population;
    o.plan.cells_per_user = cap;
    o.corpus.user_field = user_field;
    if (run(&rel, &o) != FRE_OK)
        return UINT64_MAX;
    for (size_t i = 0; i < rel->release.n; i++)
        n += rel->release.cell[i].count;
    fre_curator_result_free(rel);
    return n;
}

static void test_users(void **state)
{
    (void)state;
    write_users(at("users.jsonl"), 50, 4);
    assert_int_equal(released_records(1, NULL, 1000), 200);  /* every record a user */
    assert_int_equal(released_records(1, "who", 1000), 50);  /* the first of each user */
    assert_int_equal(released_records(2, "who", 1000), 100); /* one in each of two cells */
    assert_int_equal(released_records(3, "who", 1000), 100); /* never two in one cell */
    assert_int_equal(released_records(1, "who", 50), 50);    /* N counts users ... */
    assert_true(released_records(1, "who", 49) == UINT64_MAX);
    assert_int_equal(released_records(1, NULL, 200), 200); /* ... or records */
    assert_true(released_records(1, NULL, 199) == UINT64_MAX);
}

/* Which texts of a user count must not depend on the projection: the first two distinct ones are
 * one cell (the embedder ignores case), so the third text has no turn, whatever its cell. */
static void test_users_choice_ignores_cells(void **state)
{
    FILE *f = fopen(at("users.jsonl"), "wb");

    (void)state;
    assert_non_null(f);
    for (size_t u = 0; u < 50; u++)
        (void)fprintf(f,
                      "{\"text\": \"what is the weather today\", \"who\": %zu}\n"
                      "{\"text\": \"What is the weather today\", \"who\": %zu}\n"
                      "{\"text\": \"book a table for two\", \"who\": %zu}\n",
                      u, u, u);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(released_records(2, "who", 1000), 50);
    assert_int_equal(released_records(3, "who", 1000), 100);
    assert_int_equal(released_records(1, NULL, 1000), 150);
}

/* ---- resume ------------------------------------------------------------------------------------ */

static bool stop_now;

static void stop_when_asked(void *ctx, const char *phase, uint64_t done, uint64_t total)
{
    (void)ctx;
    (void)total;
    if (stop_now && done > 0 && strcmp(phase, "embedding") == 0)
        fre_interrupt_set();
}

static void test_resume(void **state)
{
    const fre_progress progress = {.update = stop_when_asked};
    fre_curator_opts o = options(at("many.txt"), at("resumed"));
    fre_curator_result *rel;
    FILE *f = fopen(at("many.txt"), "wb");
    const size_t before = entries();

    (void)state;
    assert_non_null(f);
    for (int i = 0; i < 9000; i++) /* two chunks, so that one is embedded before the stop */
        (void)fprintf(f, "call me in %d minutes\n", i % 300);
    assert_int_equal(fclose(f), 0);
    o.plan.epsilon = INFINITY;
    o.resume = true;
    o.progress = &progress;
    stop_now = true;
    assert_int_equal(run(&rel, &o), FRE_E_INTERRUPTED);
    fre_interrupt_clear();
    stop_now = false;
    assert_int_equal(access(at("resumed"), F_OK), -1);
    assert_int_equal(access(at("resumed.resume.spool"), F_OK), 0);
    assert_int_equal(access(at("resumed.resume.key"), F_OK), 0);

    o.input = at("users.jsonl"); /* another input is noticed */
    assert_int_equal(run(&rel, &o), FRE_E_DATA);
    o.input = at("many.txt");
    assert_int_equal(run(&rel, &o), FRE_OK);
    assert_int_equal(rel->stats.distinct, 300);
    assert_int_equal(rel->stats.records, 9000);
    fre_curator_result_free(rel);
    assert_int_equal(access(at("resumed.resume.spool"), F_OK), -1);
    assert_int_equal(entries(), before + 1); /* the folder */
}

/* ---- refusals leave nothing --------------------------------------------------------------------- */

static void test_nothing_left(void **state)
{
    const size_t times[] = {40, 5};
    size_t n;
    float *x = population(&n, times, 2, 1);
    fre_curator_opts o = options(at("x.npy"), at("none"));
    fre_curator_result *rel = NULL;
    size_t before;

    (void)state;
    write_npy(o.input, x, n);
    before = entries();
    o.plan.population = 44;
    assert_int_equal(run(&rel, &o), FRE_E_DATA); /* 45 rows */
    assert_null(rel);
    o.plan.population = 1000;
    o.plan.epsilon = -1;
    assert_int_equal(run(&rel, &o), FRE_E_USAGE);
    o.plan.epsilon = 4;
    o.dry_run = true;
    assert_int_equal(run(&rel, &o), FRE_OK);
    assert_true(rel->dry_run);
    fre_curator_result_free(rel);
    rel = NULL;
    o.dry_run = false;
    o.input = at("absent.npy");
    assert_int_equal(run(&rel, &o), FRE_E_NOINPUT);
    x[3] = NAN;
    write_npy(at("nan.npy"), x, n);
    x[3] = 1.01f; /* a norm that the statement's bound does not cover */
    write_npy(at("long.npy"), x, n);
    before += 2;
    o.input = at("nan.npy");
    o.corpus.invalid = FRE_CORPUS_INVALID_FAIL;
    assert_int_equal(run(&rel, &o), FRE_E_DATA);
    o.input = at("long.npy");
    assert_int_equal(run(&rel, &o), FRE_E_DATA);
    o.plan.norm_bound = 2;
    o.dry_run = true;
    assert_int_equal(run(&rel, &o), FRE_OK);
    fre_curator_result_free(rel);
    rel = NULL;
    o.dry_run = false;
    o.plan.norm_bound = 1;
    assert_null(rel);
    assert_int_equal(entries(), before);

    o.output = at("none");
    o.ledger = at("ledger.json"); /* what is not private has no price to be booked */
    o.seeded = true;
    assert_int_equal(run(&rel, &o), FRE_E_USAGE);
    o.seeded = false;
    o.plan.epsilon = INFINITY;
    assert_int_equal(run(&rel, &o), FRE_E_USAGE);
    o.plan.epsilon = 4;
    o.ledger = NULL;

    o.input = at("x.npy"); /* no cell reaches t = 100: a success that says so */
    assert_int_equal(run(&rel, &o), FRE_OK);
    assert_int_equal(rel->release.n, 0);
    fre_curator_result_free(rel);
    assert_int_equal(run(&rel, &o), FRE_E_EXISTS);
    o.force = true;
    assert_int_equal(run(&rel, &o), FRE_OK);
    fre_curator_result_free(rel);
    assert_int_equal(entries(), before + 1);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_sums),
        cmocka_unit_test(test_order_and_threads),
        cmocka_unit_test(test_noise_and_counts),
        cmocka_unit_test(test_fresh_and_seeded),
        cmocka_unit_test(test_users),
        cmocka_unit_test(test_users_choice_ignores_cells),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_nothing_left),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
