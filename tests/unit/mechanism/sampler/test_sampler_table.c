/* The table sampler: its thresholds against values computed apart, every kernel, its draws at the
 * thresholds bit by bit, its law; streams of processes and threads. */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "assert_num.h"
#include "law.h"
#include "sampler_private.h"

#define DEVIATION(d) ((uint64_t)(d) * (d)*FRE_VARIANCE_ONE)

static fre_wide threshold(const fre_gaussian_table *t, uint32_t m)
{
    const fre_table_block *b = &t->block[m / FRE_TABLE_LANES];

    return (fre_wide)b->high[m % FRE_TABLE_LANES] << FRE_TABLE_WORD_BITS |
           b->low[m % FRE_TABLE_LANES];
}

static fre_gaussian_table *table_of(uint64_t var16)
{
    fre_gaussian_table *t = NULL;

    assert_int_equal(fre_gaussian_table_new(&t, var16), FRE_OK);
    assert_non_null(t);
    return t;
}

static fre_wide distance(fre_wide a, fre_wide b)
{
    return a > b ? a - b : b - a;
}

/* ---- thresholds ---------------------------------------------------------------------------- */

typedef struct reference {
    uint64_t var16;
    uint32_t m[400];
    fre_wide below[400];
    size_t n;
} reference;

/* The values of one variance; false at the end of the file. */
static bool next_reference(FILE *f, reference *out)
{
    char line[128];
    long at = ftell(f);

    out->n = 0;
    while (fgets(line, sizeof line, f)) {
        uint64_t var16, high, low;
        uint32_t m;

        if (line[0] == '#') {
            at = ftell(f);
            continue;
        }
        assert_int_equal(sscanf(line, "%" SCNu64 " %" SCNu32 " %16" SCNx64 "%16" SCNx64, &var16, &m,
                                &high, &low),
                         4);
        if (out->n == 0)
            out->var16 = var16;
        if (var16 != out->var16) {
            assert_int_equal(fseek(f, at, SEEK_SET), 0);
            break;
        }
        assert_true(out->n < 400);
        out->m[out->n] = m;
        out->below[out->n++] = (fre_wide)high << 64 | low;
        at = ftell(f);
    }
    return out->n != 0;
}

/* Twice the total variation between the table's law of |X| and the reference's, in 2^-126; values
 * for every m, the last beyond the table's end. */
static fre_wide twice_variation(const fre_gaussian_table *t, const reference *ref)
{
    const fre_wide whole = (fre_wide)1 << 126;
    fre_wide sum = 0, table_before = 0, before = 0;

    for (size_t m = 0; m < ref->n; m++) {
        const fre_wide at = m < t->n ? threshold(t, (uint32_t)m) : whole;

        assert_int_equal(ref->m[m], m);
        sum += distance(at - table_before, ref->below[m] - before);
        table_before = at;
        before = ref->below[m];
    }
    assert_true(ref->n > t->n);
    return sum + (whole - before);
}

/* The promise is 2^-100; it is kept with 2^-104 to spare, and the reference's own rounding, 400
 * times 2^-126, is far below. */
static void thresholds_match_values_computed_apart(void **state)
{
    const fre_wide allowed = (fre_wide)1 << (126 - 104);
    static reference ref;
    size_t laws = 0, whole_laws = 0;
    FILE *f = fopen("tests/vectors/gaussian.txt", "r");

    (void)state;
    assert_non_null(f);
    for (; next_reference(f, &ref); laws++) {
        fre_gaussian_table *t = table_of(ref.var16);

        if (ref.n == 1 || ref.m[1] == 1) {
            assert_true(twice_variation(t, &ref) <= 2 * allowed);
            whole_laws++;
        }
        for (size_t i = 0; i < ref.n; i++)
            if (ref.m[i] < t->n)
                assert_true(distance(threshold(t, ref.m[i]), ref.below[i]) <= allowed);
            else
                assert_true(distance((fre_wide)1 << 126, ref.below[i]) <= allowed);
        fre_gaussian_table_free(t);
    }
    (void)fclose(f);
    assert_int_equal(laws, 9);
    assert_int_equal(whole_laws, 7);
}

static void tables_are_well_formed(void **state)
{
    const uint64_t variances[] = {1,
                                  2,
                                  100,
                                  1000,
                                  4096,
                                  10000,
                                  65535,
                                  65536,
                                  65537,
                                  123456,
                                  DEVIATION(15),
                                  1u << 30,
                                  FRE_VARIANCE_MAX - 1,
                                  FRE_VARIANCE_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof variances / sizeof variances[0]; i++) {
        fre_gaussian_table *t = table_of(variances[i]);
        fre_wide before = 0, mass = (fre_wide)1 << 126;

        assert_true(t->n < FRE_TABLE_ENTRIES_MAX);
        assert_int_equal(t->blocks, (t->n + FRE_TABLE_LANES - 1) / FRE_TABLE_LANES);
        for (uint32_t m = 0; m < t->n; m++) {
            const fre_wide at = threshold(t, m), here = at - before;

            assert_true(t->block[m / FRE_TABLE_LANES].low[m % FRE_TABLE_LANES] >> 63 == 0);
            assert_true(at > before);
            assert_true(m < 2 || here <= mass + 1); /* masses fall, but for rounding */
            before = at;
            mass = here;
        }
        for (uint32_t m = t->n; m < t->blocks * FRE_TABLE_LANES; m++)
            assert_true(threshold(t, m) == 0);
        assert_true(before < (fre_wide)1 << 126);
        fre_gaussian_table_free(t);
    }
}

static void table_refuses(void **state)
{
    fre_gaussian_table *t = NULL;

    (void)state;
    assert_int_equal(fre_gaussian_table_new(&t, 0), FRE_E_ARG);
    assert_int_equal(fre_gaussian_table_new(&t, FRE_VARIANCE_MAX + 1), FRE_E_ARG);
    assert_int_equal(fre_gaussian_table_new(&t, UINT64_MAX), FRE_E_ARG);
    assert_null(t);
    assert_int_equal(fre_gaussian_table_new(NULL, 65536), FRE_E_ARG);
    fre_gaussian_table_free(NULL);
}

/* ---- draws --------------------------------------------------------------------------------- */

/* The draw made of the 126 bits u and a sign; the bit that nobody uses is set for odd signs' sake:
 * it must change nothing. */
static int32_t draw_of(const fre_gaussian_table *t, fre_wide u, bool negative, bool spare)
{
    const uint64_t low = ((uint64_t)u & FRE_TABLE_WORD_MASK) | (uint64_t)spare << 63;
    const uint64_t high = (uint64_t)(u >> FRE_TABLE_WORD_BITS) | (uint64_t)negative << 63;
    const uint32_t words[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high,
                               (uint32_t)(high >> 32)};
    int32_t out;
    fre_rng r;

    law_scripted(&r, words, 4);
    fre_gaussian_table_draw(t, &r, &out, 1);
    assert_int_equal(r.left, 0);
    return out;
}

/* With the thresholds right, this makes the law right: |X| <= m exactly for u below threshold m,
 * and both signs for all of them. */
static void draws_turn_at_the_thresholds(void **state)
{
    const uint64_t variances[] = {1, 3000, DEVIATION(1), DEVIATION(2), 147457, DEVIATION(15)};
    const fre_wide top = ((fre_wide)1 << 126) - 1;

    (void)state;
    for (size_t i = 0; i < sizeof variances / sizeof variances[0]; i++) {
        fre_gaussian_table *t = table_of(variances[i]);
        const int32_t n = (int32_t)t->n;

        assert_int_equal(draw_of(t, 0, false, true), 0);
        assert_int_equal(draw_of(t, 0, true, false), 0);
        assert_int_equal(draw_of(t, top, false, false), n);
        assert_int_equal(draw_of(t, top, true, true), -n);
        for (int32_t m = 0; m < n; m++) {
            const fre_wide at = threshold(t, (uint32_t)m);

            assert_int_equal(draw_of(t, at - 1, false, false), m);
            assert_int_equal(draw_of(t, at - 1, true, true), -m);
            assert_int_equal(draw_of(t, at, false, true), m + 1);
            assert_int_equal(draw_of(t, at, true, false), -(m + 1));
        }
        fre_gaussian_table_free(t);
    }
}

/* Every instruction set counts what a loop with an ordinary comparison counts. */
static void kernels_count_alike(void **state)
{
    enum { N = 67 };
    const uint64_t variances[] = {1, 3000, DEVIATION(2), DEVIATION(15), DEVIATION(100)};
    uint64_t u[2 * N], above[N + 1];
    fre_rng r;

    (void)state;
    law_seeded(&r, 80);
    for (size_t i = 0; i < sizeof variances / sizeof variances[0]; i++) {
        fre_gaussian_table *t = table_of(variances[i]);
        size_t kernels = 0;

        for (fre_table_kernel *k; (k = fre_table_kernel_at(kernels)) != NULL; kernels++) {
            for (size_t j = 0; j < 2 * (size_t)N; j++)
                u[j] = fre_rng_u64(&r) & FRE_TABLE_WORD_MASK;
            u[1] = 0;
            u[3] = FRE_TABLE_WORD_MASK;
            above[N] = 12345;
            k(t, u, above, N);
            for (size_t j = 0; j < N; j++) {
                const fre_wide x = (fre_wide)u[2 * j + 1] << FRE_TABLE_WORD_BITS | u[2 * j];
                uint64_t count = 0;

                for (uint32_t m = 0; m < t->n; m++)
                    count += x < threshold(t, m) ? 1 : 0;
                assert_int_equal(above[j], count);
            }
            assert_int_equal(above[N], 12345);
        }
        assert_true(kernels >= 1);
        fre_gaussian_table_free(t);
    }
}

static void draws_do_not_depend_on_batches(void **state)
{
    enum { N = 1000 };
    fre_gaussian_table *t = table_of(DEVIATION(15));
    int32_t whole[N], parts[N + 1];
    fre_rng a, b;

    (void)state;
    law_seeded(&a, 81);
    law_seeded(&b, 81);
    fre_gaussian_table_draw(t, &a, whole, N);
    parts[N] = 4711;
    for (size_t at = 0, step = 1; at < N; at += step, step = step % 71 + 1) {
        step = step < N - at ? step : N - at;
        fre_gaussian_table_draw(t, &b, parts + at, step);
    }
    fre_gaussian_table_draw(t, &b, parts + N, 0);
    assert_memory_equal(whole, parts, sizeof whole);
    assert_int_equal(parts[N], 4711);
    assert_int_equal(fre_rng_u64(&a), fre_rng_u64(&b));
    fre_gaussian_table_free(t);
}

/* Counts of `draws` values within half of 0, from the table or the exact sampler. */
static void count_draws(double *seen, int32_t half, uint64_t var16, uint8_t seed, bool exact)
{
    enum { DRAWS = 400000, BLOCK = 1000 };
    fre_gaussian_table *t = table_of(var16);
    int32_t x[BLOCK];
    fre_rng r;

    law_seeded(&r, seed);
    for (int i = 0; i < DRAWS / BLOCK; i++) {
        if (exact)
            for (int j = 0; j < BLOCK; j++)
                x[j] = (int32_t)fre_sample_discrete_gaussian(&r, var16);
        else
            fre_gaussian_table_draw(t, &r, x, BLOCK);
        for (int j = 0; j < BLOCK; j++) {
            assert_in_range(x[j] + half, 0, 2 * half);
            seen[x[j] + half] += 1;
        }
    }
    fre_gaussian_table_free(t);
}

static double table_misfit(uint64_t var16, double believed, uint8_t seed)
{
    const int32_t half = (int32_t)(8 * sqrt((double)var16 / 65536)) + 2;
    const size_t n = 2 * (size_t)half + 1;
    double *seen = calloc(2 * n, sizeof *seen), *mass = seen + n, out;

    assert_non_null(seen);
    for (size_t i = 0; i < n; i++)
        mass[i] = exp(-((double)i - half) * ((double)i - half) / (2 * believed));
    count_draws(seen, half, var16, seed, false);
    out = law_misfit(seen, mass, n);
    free(seen);
    return out;
}

static void draws_have_the_law(void **state)
{
    const uint64_t variances[] = {20000, 65536, 147457, DEVIATION(2), DEVIATION(15), DEVIATION(60)};

    (void)state;
    for (size_t i = 0; i < sizeof variances / sizeof variances[0]; i++)
        assert_true(table_misfit(variances[i], (double)variances[i] / 65536, (uint8_t)(82 + i)) <=
                    1);
    assert_true(table_misfit(DEVIATION(15), 225 * 1.04, 90) > 1); /* the test can fail */
}

/* Two-sample chi-square: equal numbers of draws, sum of (a - b)^2/(a + b) over bins. */
static void table_and_exact_sampler_agree(void **state)
{
    const uint64_t variances[] = {30000, DEVIATION(2), DEVIATION(15)};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const int32_t half = (int32_t)(8 * sqrt((double)variances[i] / 65536)) + 2;
        const size_t n = 2 * (size_t)half + 1;
        double *a = calloc(2 * n, sizeof *a), *b = a + n, chi = 0, dof = 0;

        assert_non_null(a);
        count_draws(a, half, variances[i], 91, false);
        count_draws(b, half, variances[i], 92, true);
        for (size_t j = 0; j < n; j++) {
            if (a[j] + b[j] < 20)
                continue;
            chi += (a[j] - b[j]) * (a[j] - b[j]) / (a[j] + b[j]);
            dof++;
        }
        assert_true(dof >= 5);
        assert_true(chi < law_limit(dof));
        free(a);
    }
}

static void largest_table_has_moments_and_symmetric_tails(void **state)
{
    enum { DRAWS = 20000 };
    const double s = 1048576, n = DRAWS;
    fre_gaussian_table *t = table_of(FRE_VARIANCE_MAX);
    double m1 = 0, m2 = 0, m3 = 0, m4 = 0, up = 0, down = 0;
    int32_t *x = calloc(DRAWS, sizeof *x);
    fre_rng r;

    (void)state;
    assert_non_null(x);
    law_seeded(&r, 93);
    fre_gaussian_table_draw(t, &r, x, DRAWS);
    for (int i = 0; i < DRAWS; i++) {
        const double z = x[i] / sqrt(s);

        m1 += z / n;
        m2 += z * z / n;
        m3 += z * z * z / n;
        m4 += z * z * z * z / n;
        up += z > 2 ? 1 : 0;
        down += z < -2 ? 1 : 0;
    }
    assert_close(m1, 0, 5 / sqrt(n), 0);
    assert_close(m2, 1, 5 * sqrt(2 / n), 0);
    assert_close(m3, 0, 5 * sqrt(15 / n), 0);
    assert_close(m4, 3, 5 * sqrt(96 / n), 0);
    assert_close(up - down, 0, 5 * sqrt(up + down), 0);
    assert_close((up + down) / n, erfc(sqrt(2)), 5 * sqrt(0.0455 / n), 0);
    free(x);
    fre_gaussian_table_free(t);
}

/* ---- processes and threads ----------------------------------------------------------------- */

enum { EACH = 64 };

/* Some of every law, from one stream. */
static void draw_each_law(const fre_gaussian_table *t, fre_rng *r, int64_t *out)
{
    int32_t x[EACH];

    fre_gaussian_table_draw(t, r, x, EACH);
    for (int i = 0; i < EACH; i++) {
        out[4 * i] = x[i];
        out[4 * i + 1] = fre_sample_discrete_gaussian(r, DEVIATION(100));
        out[4 * i + 2] = fre_sample_tsdlap(r, 100 * FRE_TSDLAP_ONE, 1000);
        out[4 * i + 3] = fre_sample_rounded_gaussian(r, 1000000);
    }
}

static int equal_draws(const int64_t *a, const int64_t *b)
{
    int n = 0;

    for (int i = 0; i < 4 * EACH; i++)
        n += a[i] == b[i] ? 1 : 0;
    return n;
}

/* Independent draws of these laws agree in a place with probability below 1/35 on average; more
 * than 40 of 256 have probability below 1e-12. */
static void forked_processes_draw_apart(void **state)
{
    fre_gaussian_table *t = table_of(DEVIATION(15));
    int64_t mine[4 * EACH], child[2][4 * EACH];
    fre_rng r;

    (void)state;
    assert_int_equal(fre_rng_init(&r), FRE_OK);
    draw_each_law(t, &r, mine); /* the stream has a buffer half read when it is copied */
    for (int c = 0; c < 2; c++) {
        int ends[2], status = 0;
        pid_t pid;

        assert_int_equal(pipe(ends), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            draw_each_law(t, &r, mine);
            _exit(write(ends[1], mine, sizeof mine) == (ssize_t)sizeof mine ? 0 : 1);
        }
        (void)close(ends[1]);
        assert_int_equal(read(ends[0], child[c], sizeof child[c]), sizeof child[c]);
        (void)close(ends[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    draw_each_law(t, &r, mine);
    assert_true(equal_draws(mine, child[0]) < 40);
    assert_true(equal_draws(mine, child[1]) < 40);
    assert_true(equal_draws(child[0], child[1]) < 40);
    fre_gaussian_table_free(t);
}

typedef struct thread_job {
    const fre_gaussian_table *t;
    bool seeded;
    int64_t out[4 * EACH];
} thread_job;

static void *draw_in_thread(void *arg)
{
    thread_job *job = arg;
    uint8_t seed[FRE_SEED_BYTES] = {7};
    fre_rng r;

    if ((job->seeded ? fre_rng_init_seeded(&r, seed, "thread") : fre_rng_init(&r)) == FRE_OK)
        draw_each_law(job->t, &r, job->out);
    return NULL;
}

static void run_threads(thread_job job[2])
{
    pthread_t id[2];

    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&id[i], NULL, draw_in_thread, &job[i]), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(id[i], NULL), 0);
}

/* One table, two threads: a stream of each one's own when keyed by the system, and the same draws
 * from the same seed. */
static void threads_draw_apart(void **state)
{
    fre_gaussian_table *t = table_of(DEVIATION(15));
    thread_job own[2] = {{.t = t}, {.t = t}};
    thread_job same[2] = {{.t = t, .seeded = true}, {.t = t, .seeded = true}};

    (void)state;
    run_threads(own);
    run_threads(same);
    assert_true(equal_draws(own[0].out, own[1].out) < 40);
    assert_true(equal_draws(own[0].out, same[0].out) < 40);
    assert_int_equal(equal_draws(same[0].out, same[1].out), 4 * EACH);
    fre_gaussian_table_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thresholds_match_values_computed_apart),
        cmocka_unit_test(tables_are_well_formed),
        cmocka_unit_test(table_refuses),
        cmocka_unit_test(draws_turn_at_the_thresholds),
        cmocka_unit_test(kernels_count_alike),
        cmocka_unit_test(draws_do_not_depend_on_batches),
        cmocka_unit_test(draws_have_the_law),
        cmocka_unit_test(table_and_exact_sampler_agree),
        cmocka_unit_test(largest_table_has_moments_and_symmetric_tails),
        cmocka_unit_test(forked_processes_draw_apart),
        cmocka_unit_test(threads_draw_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
