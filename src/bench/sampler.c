/* bench/sampler.c - `bench sampler`: draws a second of every sampler, one core, beside what a
 * sampler without any of their guarantees yields from the same random bytes: Box and Muller's
 * normal deviates in double precision, scaled and rounded. */
#include "bench.h"

#include <fre/sampler.h>

#include <math.h>
#include <stdlib.h>

#define ROUNDS 5u
#define ROUND_US 60000.0
#define BLOCK 512u

typedef struct state {
    fre_rng rng;
    fre_gaussian_table *table[3]; /* deviations 2, 15, 100 */
    int32_t x[BLOCK];
} state;

/* One call of `block` makes BLOCK draws. */
typedef struct row {
    const char *name, *json_name;
    void (*block)(state *s);
} row;

static uint64_t variance(uint64_t deviation)
{
    return deviation * deviation * FRE_VARIANCE_ONE;
}

/* ---- what is timed ------------------------------------------------------------------------- */

static void box_muller(state *s)
{
    const double turn = 6.283185307179586, deviation = 15;

    for (size_t i = 0; i < BLOCK; i += 2) {
        const double u = (double)((fre_rng_u64(&s->rng) >> 11) + 1) * 0x1p-53;
        const double v = (double)(fre_rng_u64(&s->rng) >> 11) * 0x1p-53;
        const double radius = deviation * sqrt(-2 * log(u));

        s->x[i] = (int32_t)lrint(radius * cos(turn * v));
        s->x[i + 1] = (int32_t)lrint(radius * sin(turn * v));
    }
}

static void coin(state *s)
{
    for (size_t i = 0; i < BLOCK; i++)
        s->x[i] = fre_sample_coin(&s->rng, FRE_P_ONE / 3);
}

static void bernoulli(state *s)
{
    for (size_t i = 0; i < BLOCK; i++)
        s->x[i] = fre_sample_bernoulli(&s->rng, 1, 3);
}

static void bernoulli_exp(state *s)
{
    for (size_t i = 0; i < BLOCK; i++)
        s->x[i] = fre_sample_bernoulli_exp(&s->rng, 1, 3);
}

static void tsdlap(state *s)
{
    for (size_t i = 0; i < BLOCK; i++)
        s->x[i] = (int32_t)fre_sample_tsdlap(&s->rng, 2 * FRE_TSDLAP_ONE, 40);
}

static void rounded(state *s)
{
    for (size_t i = 0; i < BLOCK; i++)
        s->x[i] = (int32_t)fre_sample_rounded_gaussian(&s->rng, 1u << 20);
}

static void discrete(state *s, uint64_t deviation)
{
    for (size_t i = 0; i < BLOCK; i++)
        s->x[i] = (int32_t)fre_sample_discrete_gaussian(&s->rng, variance(deviation));
}

static void discrete_2(state *s)
{
    discrete(s, 2);
}

static void discrete_15(state *s)
{
    discrete(s, 15);
}

static void discrete_100(state *s)
{
    discrete(s, 100);
}

static void table_2(state *s)
{
    fre_gaussian_table_draw(s->table[0], &s->rng, s->x, BLOCK);
}

static void table_15(state *s)
{
    fre_gaussian_table_draw(s->table[1], &s->rng, s->x, BLOCK);
}

static void table_100(state *s)
{
    fre_gaussian_table_draw(s->table[2], &s->rng, s->x, BLOCK);
}

/* The first row is what the others are compared with. */
static const row rows[] = {
    {"Box-Muller in double, no guarantee", "box_muller", box_muller},
    {"coin", "coin", coin},
    {"Bernoulli 1/3", "bernoulli", bernoulli},
    {"Bernoulli exp(-1/3)", "bernoulli_exp", bernoulli_exp},
    {"truncated Laplace, lambda 2, gamma 40", "tsdlap", tsdlap},
    {"rounded Gaussian", "rounded_gaussian", rounded},
    {"discrete Gaussian, deviation 2", "discrete_gaussian_2", discrete_2},
    {"discrete Gaussian, deviation 15", "discrete_gaussian_15", discrete_15},
    {"discrete Gaussian, deviation 100", "discrete_gaussian_100", discrete_100},
    {"table, deviation 2", "table_2", table_2},
    {"table, deviation 15", "table_15", table_15},
    {"table, deviation 100", "table_100", table_100},
};
#define N_ROWS (sizeof rows / sizeof *rows)

/* ---- timing -------------------------------------------------------------------------------- */

/* Rounds go over all rows in turn, so that a change of the machine's pace meets each of them; the
 * median over the rounds counts. */
static fre_status time_rows(double rate[N_ROWS], state *s)
{
    double each[N_ROWS][ROUNDS];

    for (size_t k = 0; k < ROUNDS; k++)
        for (size_t i = 0; i < N_ROWS; i++) {
            const double start = bench_spent_us();
            double blocks = 0, spent;

            do {
                rows[i].block(s);
                blocks++;
                spent = bench_spent_us() - start;
            } while (spent < ROUND_US);
            each[i][k] = blocks * BLOCK / spent * 1e6;
            if (fre_interrupted())
                return FRE_E_INTERRUPTED;
        }
    for (size_t i = 0; i < N_ROWS; i++)
        rate[i] = bench_median(each[i], ROUNDS);
    return FRE_OK;
}

static void print_rows(const fre_bench_output *out, const double rate[N_ROWS])
{
    FILE *json = out->json;

    if (json)
        (void)fputc('{', json);
    else
        bench_line(
            out, 4,
            "sampler  one core; million draws a second of processor time, times the first row");
    for (size_t i = 0; i < N_ROWS; i++)
        if (json)
            (void)fprintf(json, "%s\"%s\": {\"draws_per_second\": %.0f, \"ratio\": %.4f}",
                          i ? ", " : "", rows[i].json_name, rate[i], rate[i] / rate[0]);
        else
            bench_line(out, 6, "  %-38s %9.3f  %6.3f", rows[i].name, rate[i] / 1e6,
                       rate[i] / rate[0]);
    if (json)
        (void)fprintf(json, "}\n");
}

static fre_status setup(state *s)
{
    static const uint64_t deviations[] = {2, 15, 100};
    fre_status st = fre_rng_init(&s->rng);

    for (size_t i = 0; i < 3 && st == FRE_OK; i++)
        st = fre_gaussian_table_new(&s->table[i], variance(deviations[i]));
    return st;
}

fre_status fre_bench_sampler(const fre_bench_output *out, fre_err *err)
{
    double rate[N_ROWS];
    state *s = calloc(1, sizeof *s);
    fre_status st;

    if (!s)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    st = setup(s);
    if (st == FRE_OK)
        st = time_rows(rate, s);
    if (st == FRE_OK)
        print_rows(out, rate);
    else
        (void)fre_fail(err, st, "the samplers could not be timed: %s", fre_status_text(st));
    for (size_t i = 0; i < 3; i++)
        fre_gaussian_table_free(s->table[i]);
    fre_wipe(s, sizeof *s);
    free(s);
    return st;
}
