/* Sharing from end to end: rounding, exact agreement with sums of integers, the noise of a sum, what
 * each share shows, the guard and the refusals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "assert_num.h"
#include "sharing_private.h"
#include "law.h"
#include "sharing_tools.h"

#define WORDS 768u
#define BYTES (4 * WORDS)

/* ---- rounding ------------------------------------------------------------------------------ */

/* Rounds y with the next 64 random bits given. */
static int32_t rounded(double y, uint64_t random)
{
    const uint32_t words[2] = {(uint32_t)random, (uint32_t)(random >> 32)};
    uint32_t q = 0;
    fre_rng r;

    law_scripted(&r, words, 2);
    sharing_round(&q, &y, 1, &r);
    return (int32_t)q;
}

/* The fraction, an integer over 2^53, is a threshold: one value of the 53 bits below it rounds away
 * from zero, the threshold itself does not; so the mean is exact. */
static void rounding_threshold(void **state)
{
    static const double numbers[] = {0.3,         0.5,       1 - 0x1p-53,  0x1p-53,
                                     3 * 0x1p-53, 17.25,     1000.0625,    0x1p20 + 0.1,
                                     1e-3,        0.1 + 0.2, 0x1p30 + 0.7, 123456.789};

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const double y = numbers[i];
        const int32_t n = (int32_t)floor(y);
        const uint64_t t = (uint64_t)((y - floor(y)) * 0x1p53);

        assert_true(t > 0);
        assert_int_equal(rounded(y, (t - 1) << 11), n + 1);
        assert_int_equal(rounded(y, ((t - 1) << 11) | 0x7ff), n + 1);
        assert_int_equal(rounded(y, t << 11), n);
        assert_int_equal(rounded(-y, (t - 1) << 11), -n - 1);
        assert_int_equal(rounded(-y, t << 11), -n);
        assert_int_equal(rounded(y, 0), n + 1);
        assert_int_equal(rounded(y, UINT64_MAX), n);
    }
}

static void rounding_keeps_integers(void **state)
{
    static const double integers[] = {0, 1, 2, 77, 0x1p20, 0x1p30 + 1};

    (void)state;
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        for (uint64_t k = 0; k < 64; k++) {
            assert_int_equal(rounded(integers[i], UINT64_C(1) << k), (int32_t)integers[i]);
            assert_int_equal(rounded(-integers[i], (UINT64_C(1) << k) - 1), -(int32_t)integers[i]);
        }
    /* Beyond 32 bits the number counts modulo 2^32; below 2^-53 nothing is left of it. */
    assert_int_equal(rounded(0x1p40 + 5, 0), 5);
    assert_int_equal(rounded(-0x1p40 - 5, 0), -5);
    assert_int_equal(rounded(0x1p-54, 0), 0);
    assert_int_equal(rounded(-0x1p-1000, 0), 0);
}

/* The mean of many, within 5.2 standard errors (2e-7 two-sided). */
static void rounding_is_unbiased(void **state)
{
    enum { DRAWS = 200000 };
    static const double numbers[] = {0.3, -0.3, 0.999, -1.5, 12.01, -7.75};
    static double y[DRAWS];
    static uint32_t q[DRAWS];
    fre_rng r;

    (void)state;
    law_seeded(&r, 10);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        const double f = numbers[k] - floor(numbers[k]);
        int64_t ups = 0;

        for (size_t i = 0; i < DRAWS; i++)
            y[i] = numbers[k];
        sharing_round(q, y, DRAWS, &r);
        for (size_t i = 0; i < DRAWS; i++) {
            const int64_t up = (int32_t)q[i] - (int64_t)floor(numbers[k]);

            assert_true(up == 0 || up == 1);
            ups += up;
        }
        assert_true(fabs((double)ups - DRAWS * f) <= 5.2 * sqrt(DRAWS * f * (1 - f)));
    }
}

/* ---- sums ---------------------------------------------------------------------------------- */

/* Both servers of one cell. */
typedef struct servers {
    uint32_t tag[WORDS], syn[WORDS];
    fre_share_expander *expander;
    fre_share_cell cell;
    size_t bytes;
    uint64_t answers;
} servers;

static servers *servers_of(const fre_share_cell *cell)
{
    servers *s = calloc(1, sizeof *s);

    assert_non_null(s);
    s->cell = *cell;
    s->bytes = fre_share_bytes(cell->dim, cell->bits);
    assert_int_equal(fre_share_expander_new(&s->expander, cell->padded, cell->bits), FRE_OK);
    return s;
}

static void servers_free(servers *s)
{
    fre_share_expander_free(s->expander);
    free(s);
}

static void take(servers *s, const uint8_t *packed, const fre_share_seed *seed)
{
    assert_int_equal(fre_share_add(s->syn, s->cell.padded, s->cell.bits,
                                   (fre_bytes){.p = packed, .n = s->bytes}),
                     FRE_OK);
    assert_int_equal(fre_share_expander_add(s->expander, s->tag, seed), FRE_OK);
    s->answers++;
}

/* S_tag's sum travels packed, S_syn adds it to its own. */
static void join(const servers *s, uint32_t *sum)
{
    uint8_t packed[BYTES];

    memcpy(sum, s->syn, s->cell.padded * sizeof *sum);
    assert_int_equal(fre_share_pack(packed, s->bytes, s->tag, s->cell.padded, s->cell.bits),
                     FRE_OK);
    assert_int_equal(
        fre_share_add(sum, s->cell.padded, s->cell.bits, (fre_bytes){.p = packed, .n = s->bytes}),
        FRE_OK);
}

/* What is opened is the sum of the clients' rounded integers, to the last bit, and its centroid is
 * the curator's: beta D H' (sum) / n. */
static void agrees(uint32_t dim, uint64_t clients)
{
    const fre_mechanism m = a_mechanism(dim);
    const fre_share_cell cell = a_cell(&m, clients);
    fre_rotation *rot = a_rotation(dim, 11);
    servers *s = servers_of(&cell);
    int64_t expected[WORDS] = {0};
    double mean[WORDS] = {0}, y[WORDS], spread;
    uint32_t sum[WORDS], q[WORDS];
    float centroid[WORDS], x[WORDS];
    uint8_t packed[BYTES];
    fre_share_seed seed;
    fre_rng r, again;

    law_seeded(&r, (uint8_t)dim);
    for (uint64_t c = 0; c < clients; c++) {
        a_vector(x, dim, &r);
        for (uint32_t i = 0; i < dim; i++) {
            x[i] = (float)((double)x[i] / 2 + (i == 3 ? 0.5 : 0)); /* what they have in common */
            mean[i] += (double)x[i] / (double)clients;
        }
        again = r;
        assert_int_equal(fre_share_make_with(packed, s->bytes, &seed, rot, &cell, x, NULL, &r),
                         FRE_OK);
        take(s, packed, &seed);
        assert_int_equal(sharing_rotated(y, rot, &cell, x), FRE_OK);
        sharing_round(q, y, cell.padded, &again);
        for (uint32_t i = 0; i < cell.padded; i++) {
            assert_true(fabs((double)(int32_t)q[i] - y[i]) < 1);
            expected[i] += (int32_t)q[i];
        }
    }
    join(s, sum);
    for (uint32_t i = 0; i < cell.padded; i++) {
        assert_true(sharing_lift(sum[i], cell.bits) == expected[i]);
        y[i] = (double)expected[i];
    }
    assert_int_equal(fre_share_open(centroid, rot, &cell, sum, cell.padded, clients, NULL), FRE_OK);
    fre_rotation_undo(rot, y);
    /* Each rounding has a variance of at most 1/4: six deviations of the mean of them all. */
    spread = 6 * cell.beta / 2 / sqrt((double)clients);
    for (uint32_t i = 0; i < dim; i++) {
        assert_close((double)centroid[i], y[i] * cell.beta / (double)clients, 1e-30, 1e-6);
        assert_close((double)centroid[i], mean[i], spread, 0);
    }
    servers_free(s);
    fre_rotation_free(rot);
}

static void exact_agreement(void **state)
{
    static const uint32_t dims[] = {384, 768, 300, 64, 700};

    (void)state;
    for (size_t k = 0; k < sizeof dims / sizeof *dims; k++) {
        agrees(dims[k], 20);
        agrees(dims[k], 333);
    }
}

/* ---- noise --------------------------------------------------------------------------------- */

/* Chi-square of the opened sum of n clients without a signal (zero rounds to zero): D coordinates
 * of variance n var16/2^16.  The planned sigma is met, and not exceeded by what is not answered. */
static void noise_of(const fre_mechanism *m, uint64_t count, uint64_t answers, uint8_t stream)
{
    const fre_share_cell cell = a_cell(m, count);
    const double variance = (double)cell.var16 / 65536;
    fre_rotation *rot = a_rotation(m->dim, 12);
    fre_gaussian_table *t = NULL;
    fre_share_noise noise;
    servers *s = servers_of(&cell);
    uint32_t sum[WORDS];
    float x[WORDS] = {0};
    uint8_t packed[BYTES];
    fre_share_seed seed;
    const uint32_t repeat = answers < 200 ? 10 : 1;
    double chi = 0, embedding = 0;
    fre_rng r;

    law_seeded(&r, stream);
    assert_int_equal(fre_gaussian_table_new(&t, cell.var16), FRE_OK);
    noise = fre_share_table_noise(t);
    for (uint32_t k = 0; k < repeat; k++) {
        float centroid[WORDS];

        memset(s->tag, 0, sizeof s->tag);
        memset(s->syn, 0, sizeof s->syn);
        for (uint64_t i = 0; i < answers; i++) {
            assert_int_equal(
                fre_share_make_with(packed, s->bytes, &seed, rot, &cell, x, &noise, &r), FRE_OK);
            take(s, packed, &seed);
        }
        join(s, sum);
        for (uint32_t i = 0; i < cell.padded; i++) {
            const double v = (double)sharing_lift(sum[i], cell.bits);

            chi += v * v / ((double)answers * variance);
        }
        assert_int_equal(fre_share_open(centroid, rot, &cell, sum, cell.padded, answers, NULL),
                         FRE_OK);
        for (uint32_t i = 0; i < m->dim; i++)
            embedding += pow((double)centroid[i] * (double)answers, 2);
    }
    /* Of a D-fold sum of squares of normals, which sums of this many draws are but for an excess of
     * less than 1/20 of its variance; 5.5 deviations. */
    assert_true(fabs(chi - repeat * cell.padded) <= 5.5 * sqrt(2.1 * repeat * cell.padded));
    /* In embedding units: at least sigma^2 from honest answers, d coordinates (chi-square again). */
    embedding /= (double)repeat * m->dim * m->sigma * m->sigma;
    embedding *= (double)(answers - m->dist.curious) / (double)answers;
    assert_true(embedding >= 1 - 5.5 * sqrt(2.1 / (repeat * m->dim)));
    if (answers == cell.answers_needed)
        assert_true(embedding <= 1 + 5.5 * sqrt(2.1 / (repeat * m->dim)) + 1e-3);
    fre_gaussian_table_free(t);
    servers_free(s);
    fre_rotation_free(rot);
}

static void noise_as_planned(void **state)
{
    fre_mechanism m = a_mechanism(384);

    (void)state;
    noise_of(&m, m.tau, m.tau, 13);
    noise_of(&m, 2000, 2000, 14);
    m.dist.dropout = 0.2;
    noise_of(&m, m.tau, 16, 15);
    noise_of(&m, m.tau, m.tau, 16);
    noise_of(&m, 2000, 1600, 17);
    m.dist.dropout = 0;
    m.dist.one_contact = true;
    noise_of(&m, m.tau, m.tau, 18);
    noise_of(&m, 400, 400, 19);
    m = a_mechanism(300);
    noise_of(&m, 50, 50, 20);
}

/* Servers' noise: what a sum carries is the sum of two draws of sigma, whatever the count, and one
 * server's alone is sigma at least. */
static void noise_by_servers(void **state)
{
    fre_mechanism m = a_mechanism(384);
    double seen[401] = {0}, one[401], mass[401] = {0}, variance;
    fre_share_cell few, cell;
    uint32_t sum[WORDS];
    fre_rng r;

    (void)state;
    m.sigma = 0.1;
    m.dist.one_contact = m.dist.server_noise = true;
    few = a_cell(&m, m.tau);
    cell = a_cell(&m, 5000);
    assert_true(few.var16 == cell.var16 && few.bits <= cell.bits);
    variance = (double)cell.var16 / 65536;
    assert_true(cell.beta * cell.beta * variance >= m.sigma * m.sigma);
    assert_close(cell.beta * cell.beta * variance, m.sigma * m.sigma, 0, 1e-6);
    law_seeded(&r, 23);
    for (int k = 0; k < 200; k++) {
        memset(sum, 0, sizeof sum);
        fre_share_add_noise(sum, cell.padded, &cell, &r);
        fre_share_add_noise(sum, cell.padded, &cell, &r);
        for (uint32_t i = 0; i < cell.padded; i++) {
            const int64_t v = sharing_lift(sum[i], cell.bits);

            assert_true(v >= -200 && v <= 200);
            seen[v + 200]++;
        }
    }
    for (int v = -200; v <= 200; v++)
        one[v + 200] = exp(-v * v / (2 * variance));
    for (int v = -200; v <= 200; v++)
        for (int u = v < 0 ? -200 : v - 200; u <= (v < 0 ? v + 200 : 200); u++)
            mass[v + 200] += one[u + 200] * one[v - u + 200];
    assert_true(law_misfit(seen, mass, 401) <= 1);
}

/* The product's own entry, which makes its table: one share opened by both halves shows the law. */
static void noise_by_itself(void **state)
{
    const fre_mechanism m = a_mechanism(768);
    const fre_share_cell cell = a_cell(&m, 500);
    const double variance = (double)cell.var16 / 65536;
    fre_rotation *rot = a_rotation(768, 21);
    double seen[201] = {0}, mass[201];
    float x[768] = {0};
    fre_rng r;

    (void)state;
    law_seeded(&r, 22);
    for (int k = 0; k < 60; k++) {
        servers *s = servers_of(&cell);
        uint8_t packed[BYTES];
        fre_share_seed seed;
        uint32_t sum[WORDS];

        assert_int_equal(fre_share_make(packed, s->bytes, &seed, rot, &cell, x, &r), FRE_OK);
        take(s, packed, &seed);
        join(s, sum);
        for (uint32_t i = 0; i < cell.padded; i++) {
            const int64_t v = sharing_lift(sum[i], cell.bits);

            assert_true(v >= -100 && v <= 100);
            seen[v + 100]++;
        }
        servers_free(s);
    }
    for (int v = -100; v <= 100; v++)
        mass[v + 100] = exp(-v * v / (2 * variance));
    assert_true(law_misfit(seen, mass, 201) <= 1);
    fre_rotation_free(rot);
}

/* ---- what one server sees ------------------------------------------------------------------ */

/* Without noise and of one vector, so that nothing but the seed hides it: residues of each share
 * are uniform, and S_syn's is independent of the number that it hides. */
static void shares_show_nothing(void **state)
{
    enum { SHARES = 400, D = 384 };
    const fre_mechanism m = a_mechanism(D);
    fre_share_cell cell;
    fre_rotation *rot = a_rotation(D, 23);
    double syn[256] = {0}, tag[256] = {0}, joint[256] = {0}, uniform[256], hidden[16] = {0};
    double expected[256], y[D];
    uint8_t packed[D];
    fre_share_seed seed;
    float x[D];
    fre_rng r;

    (void)state;
    law_seeded(&r, 24);
    a_vector(x, D, &r);
    assert_int_equal(fre_share_cell_init(&cell, &m, SPLIT, 100, 8, NULL), FRE_OK);
    assert_int_equal(sharing_rotated(y, rot, &cell, x), FRE_OK);
    for (int k = 0; k < SHARES; k++) {
        fre_share_expander *e = NULL;
        uint32_t stream[D] = {0};

        assert_int_equal(fre_share_make_with(packed, sizeof packed, &seed, rot, &cell, x, NULL, &r),
                         FRE_OK);
        assert_int_equal(fre_share_expander_new(&e, D, 8), FRE_OK);
        assert_int_equal(fre_share_expander_add(e, stream, &seed), FRE_OK);
        fre_share_expander_free(e);
        for (size_t i = 0; i < D; i++) {
            const uint32_t z = (packed[i] + stream[i]) & 15;

            syn[packed[i]]++;
            tag[stream[i] & 255]++;
            joint[16 * z + (packed[i] & 15)]++;
            hidden[z]++;
        }
    }
    for (size_t i = 0; i < 256; i++) {
        uniform[i] = 1;
        expected[i] = hidden[i / 16] / 16;
    }
    assert_true(law_misfit(syn, uniform, 256) <= 1);
    assert_true(law_misfit(tag, uniform, 256) <= 1);
    assert_true(law_misfit(joint, expected, 256) <= 1);
    assert_true(law_misfit(hidden, uniform, 16) > 1); /* what is hidden is far from uniform */
    fre_rotation_free(rot);
}

/* ---- misuse -------------------------------------------------------------------------------- */

typedef struct setting {
    fre_mechanism m;
    fre_share_cell cell;
    fre_rotation *rot;
    size_t bytes;
    uint8_t packed[BYTES];
    fre_share_seed seed;
    float x[WORDS];
    fre_rng r;
} setting;

static setting *set_up(uint64_t count)
{
    setting *s = calloc(1, sizeof *s);

    assert_non_null(s);
    s->m = a_mechanism(384);
    s->cell = a_cell(&s->m, count);
    s->rot = a_rotation(384, 25);
    s->bytes = fre_share_bytes(384, s->cell.bits);
    law_seeded(&s->r, 26);
    a_vector(s->x, 384, &s->r);
    return s;
}

static void tear_down(setting *s)
{
    fre_rotation_free(s->rot);
    free(s);
}

static void make_refuses(void **state)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    setting *s = set_up(100);
    fre_rotation *other = a_rotation(383, 25);
    uint8_t before[BYTES];
    fre_share_seed seed;

    (void)state;
    memset(s->packed, 0x77, sizeof s->packed);
    memset(&s->seed, 0x77, sizeof s->seed);
    memcpy(before, s->packed, sizeof before);
    seed = s->seed;
    for (size_t k = 0; k < 3; k++)
        for (uint32_t i = 0; i < 384; i += 383) {
            const float was = s->x[i];

            s->x[i] = bad[k];
            assert_int_equal(
                fre_share_make(s->packed, s->bytes, &s->seed, s->rot, &s->cell, s->x, &s->r),
                FRE_E_DATA);
            s->x[i] = was;
        }
    assert_int_equal(
        fre_share_make(s->packed, s->bytes - 1, &s->seed, s->rot, &s->cell, s->x, &s->r),
        FRE_E_ARG);
    assert_int_equal(fre_share_make(s->packed, s->bytes, &s->seed, other, &s->cell, s->x, &s->r),
                     FRE_E_ARG);
    s->cell.var16 = 0;
    assert_int_equal(fre_share_make(s->packed, s->bytes, &s->seed, s->rot, &s->cell, s->x, &s->r),
                     FRE_E_ARG);
    assert_memory_equal(s->packed, before, sizeof before);
    assert_memory_equal(&s->seed, &seed, sizeof seed);
    fre_rotation_free(other);
    tear_down(s);
}

/* A vector beyond the bound counts as the one of the bound in its direction; a zero is a zero. */
static void long_vectors_are_scaled(void **state)
{
    setting *s = set_up(100);
    double y[WORDS], cut[WORDS], norm = 0;
    float x[WORDS];

    (void)state;
    assert_int_equal(sharing_rotated(y, s->rot, &s->cell, s->x), FRE_OK);
    for (uint32_t i = 0; i < 384; i++)
        x[i] = 1e30F * s->x[i];
    assert_int_equal(sharing_rotated(cut, s->rot, &s->cell, x), FRE_OK);
    for (uint32_t i = 0; i < 384; i++) {
        assert_close(cut[i], y[i], 1e-4, 1e-6);
        norm += cut[i] * cut[i];
        x[i] = s->x[i] / 3;
    }
    assert_true(sqrt(norm) * s->cell.beta <= s->cell.norm_bound * (1 + 1e-12));
    assert_int_equal(sharing_rotated(cut, s->rot, &s->cell, x), FRE_OK);
    for (uint32_t i = 0; i < 384; i++) {
        assert_close(cut[i], y[i] / 3, 1e-4, 1e-6);
        x[i] = 0;
    }
    assert_int_equal(sharing_rotated(cut, s->rot, &s->cell, x), FRE_OK);
    for (uint32_t i = 0; i < 384; i++)
        assert_true(fabs(cut[i]) <= 0);
    tear_down(s);
}

static void open_refuses(void **state)
{
    setting *s = set_up(100);
    uint32_t sum[WORDS] = {0};
    float centroid[WORDS], before[WORDS];
    fre_err err;

    (void)state;
    s->m.dist.dropout = 0.25;
    s->cell = a_cell(&s->m, 100);
    memset(centroid, 0x11, sizeof centroid);
    memcpy(before, centroid, sizeof before);
    assert_int_equal(fre_share_open(centroid, s->rot, &s->cell, sum, 384, 74, &err), FRE_E_REFUSED);
    assert_non_null(strstr(err.text, "75"));
    assert_int_equal(fre_share_open(centroid, s->rot, &s->cell, sum, 384, 101, &err), FRE_E_ARG);
    assert_int_equal(fre_share_open(centroid, s->rot, &s->cell, sum, 384, 0, &err), FRE_E_ARG);
    assert_int_equal(fre_share_open(centroid, s->rot, &s->cell, sum, 383, 80, &err), FRE_E_ARG);
    assert_memory_equal(centroid, before, sizeof before);
    assert_int_equal(fre_share_open(centroid, s->rot, &s->cell, sum, 384, 75, &err), FRE_OK);
    tear_down(s);
}

/* The guard's edge, both signs, and the words' higher bits that do not count. */
static void guard_edge(void **state)
{
    setting *s = set_up(100);
    const uint32_t above = ~sharing_mask(s->cell.bits);
    const int64_t edge = sharing_guard(s->cell.bits);
    uint32_t sum[WORDS] = {0};
    float centroid[WORDS];
    fre_err err;

    (void)state;
    assert_true(8 * (edge + 1) == INT64_C(7) << (s->cell.bits - 1));
    for (int sign = -1; sign <= 1; sign += 2) {
        sum[383] = (uint32_t)(sign * edge) ^ above;
        assert_int_equal(fre_share_open(centroid, s->rot, &s->cell, sum, 384, 100, &err), FRE_OK);
        sum[383] = (uint32_t)(sign * (edge + 1));
        assert_int_equal(fre_share_open(centroid, s->rot, &s->cell, sum, 384, 100, &err),
                         FRE_E_DATA);
    }
    for (uint32_t bits = FRE_SHARING_BITS_MIN; bits <= 32; bits++) {
        const int64_t half = INT64_C(1) << (bits - 1);

        assert_true(sharing_lift((uint32_t)half, bits) == -half);
        assert_true(sharing_lift((uint32_t)(half - 1), bits) == half - 1);
        assert_true(sharing_lift(UINT32_MAX, bits) == -1);
        assert_true(sharing_lift(0, bits) == 0);
    }
    tear_down(s);
}

/* Honest sums pass; a share without its partner, a random one, or a modulus three bits too small
 * for what the clients hold in common, does not. */
/* How far a times the centroid is from the lattice of the sums, on average over its coordinates. */
static double misfit(const fre_rotation *rot, const fre_share_cell *cell, const float *centroid,
                     double a)
{
    double y[384], all = 0;

    fre_rotation_apply(rot, y, centroid);
    for (uint32_t i = 0; i < cell->padded; i++)
        all += fabs(y[i] * a / cell->beta - nearbyint(y[i] * a / cell->beta));
    return all / cell->padded;
}

/* Which of 15..20 answers fits a centroid best. */
static uint32_t guess(const fre_rotation *rot, const fre_share_cell *cell, const float *centroid)
{
    uint32_t best = 15;

    for (uint32_t a = 16; a <= 20; a++)
        if (misfit(rot, cell, centroid, a) < misfit(rot, cell, centroid, best))
            best = a;
    return best;
}

/* A centroid as it is names the number of answers each time; one that is rounded, as often as chance. */
static void answers_are_hidden(void **state)
{
    fre_mechanism m = a_mechanism(384);
    uint32_t raw = 0, hidden = 0, sum[384];
    double step = 1;
    float centroid[384];
    fre_share_cell cell;
    fre_rotation *rot = a_rotation(384, 27);
    fre_rng r;

    (void)state;
    m.dist.dropout = 0.25;
    cell = a_cell(&m, 20);
    assert_int_equal(cell.answers_needed, 15);
    while (step / 2 >= 8 * cell.beta / 15)
        step /= 2;
    law_seeded(&r, 28);
    for (uint32_t trial = 0; trial < 120; trial++) {
        const uint32_t answers = 15 + trial % 6;

        for (uint32_t i = 0; i < 384; i++)
            sum[i] = (uint32_t)fre_rng_below(&r, 101) - 50u;
        assert_int_equal(fre_share_open(centroid, rot, &cell, sum, 384, answers, NULL), FRE_OK);
        raw += guess(rot, &cell, centroid) == answers;
        fre_share_hide_answers(centroid, &cell);
        hidden += guess(rot, &cell, centroid) == answers;
        for (uint32_t i = 0; i < 384; i++)
            assert_close((double)centroid[i] / step, nearbyint((double)centroid[i] / step), 0, 0);
    }
    assert_int_equal(raw, 120);
    assert_true(hidden < 40); /* 20 expected, standard deviation 4 */
    fre_rotation_free(rot);
    fre_rng_wipe(&r);
}

static void pitfall_19_a_sum_that_wraps_is_noticed(void **state)
{
    setting *s = set_up(300);
    servers *right = servers_of(&s->cell), *half, *wrong, *small;
    fre_share_cell narrow = s->cell;
    uint32_t sum[WORDS];
    float centroid[WORDS];

    (void)state;
    narrow.bits -= 3;
    half = servers_of(&s->cell);
    wrong = servers_of(&s->cell);
    small = servers_of(&narrow);
    for (int k = 0; k < 300; k++) {
        assert_int_equal(
            fre_share_make(s->packed, s->bytes, &s->seed, s->rot, &s->cell, s->x, &s->r), FRE_OK);
        take(right, s->packed, &s->seed);
        if (k == 150)
            assert_int_equal(
                fre_share_random(s->packed, s->bytes, &s->seed, 384, s->cell.bits, &s->r), FRE_OK);
        take(wrong, s->packed, &s->seed);
        if (k == 77) /* S_tag opens another report's seed */
            fre_rng_bytes(&s->r, &s->seed, sizeof s->seed);
        take(half, s->packed, &s->seed);
        assert_int_equal(
            fre_share_make(s->packed, small->bytes, &s->seed, s->rot, &narrow, s->x, &s->r),
            FRE_OK);
        take(small, s->packed, &s->seed);
    }
    join(right, sum);
    assert_int_equal(fre_share_open(centroid, s->rot, &s->cell, sum, 384, 300, NULL), FRE_OK);
    join(wrong, sum);
    assert_int_equal(fre_share_open(centroid, s->rot, &s->cell, sum, 384, 300, NULL), FRE_E_DATA);
    join(half, sum);
    assert_int_equal(fre_share_open(centroid, s->rot, &s->cell, sum, 384, 300, NULL), FRE_E_DATA);
    join(small, sum);
    assert_int_equal(fre_share_open(centroid, s->rot, &narrow, sum, 384, 300, NULL), FRE_E_DATA);
    servers_free(right);
    servers_free(half);
    servers_free(wrong);
    servers_free(small);
    tear_down(s);
}

/* One user's noise of hundreds of steps under a modulus of 256: sums say nothing any more, and must
 * not pass for ones that do; with the bits of its collection the same noise passes. */
static void pitfall_19_noise_beyond_the_modulus(void **state)
{
    fre_mechanism m = a_mechanism(384);
    const float x[384] = {0};
    uint32_t right = 0;

    (void)state;
    m.sigma = 25;
    assert_int_equal(fre_share_bits(&right, &m, SPLIT, 30, 100, NULL), FRE_OK);
    for (unsigned small = 0; small < 2; small++) {
        const uint32_t bits = small ? FRE_SHARING_BITS_MIN : right;
        fre_rotation *rot = a_rotation(384, 40);
        float centroid[384];
        uint32_t sum[WORDS];
        uint8_t packed[BYTES];
        fre_share_seed seed;
        fre_share_cell cell;
        servers *s;
        fre_rng r;

        law_seeded(&r, 41);
        assert_int_equal(fre_share_cell_init(&cell, &m, SPLIT, 30, bits, NULL), FRE_OK);
        assert_true(cell.var16 / 65536 > UINT64_C(256) * 256);
        s = servers_of(&cell);
        for (int k = 0; k < 30; k++) {
            assert_int_equal(fre_share_make(packed, s->bytes, &seed, rot, &cell, x, &r), FRE_OK);
            take(s, packed, &seed);
        }
        join(s, sum);
        assert_int_equal(fre_share_open(centroid, rot, &cell, sum, cell.padded, 30, NULL),
                         small ? FRE_E_DATA : FRE_OK);
        servers_free(s);
        fre_rotation_free(rot);
    }
}

/* ---- the median of thirds ------------------------------------------------------------------- */

static double from(const float *x, const float *point, uint32_t dim)
{
    double sum = 0;

    for (uint32_t i = 0; i < dim; i++)
        sum += pow((double)x[i] - (double)point[i], 2);
    return sqrt(sum);
}

static double to_all(const float *x, const float *point, uint32_t dim)
{
    return from(x, point, dim) + from(x, point + dim, dim) + from(x, point + 2 * dim, dim);
}

static double a_number(fre_rng *r)
{
    return (double)fre_rng_u32(r) / 4294967296.0 - 0.5;
}

/* No point near it, nor any of the three or their mean, has a smaller sum of distances. */
static void median_is_the_least(void **state)
{
    fre_rng r;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&r, (const uint8_t[FRE_SEED_BYTES]){7}, "median"), FRE_OK);
    for (uint32_t k = 0; k < 400; k++) {
        const uint32_t dim = 2 + k % 20;
        float point[3 * 24], median[24], other[24];
        double least;

        for (uint32_t i = 0; i < 3 * dim; i++)
            point[i] = (float)a_number(&r);
        for (uint32_t i = 0; i < dim && k % 4 == 0; i++) /* nearly on a line: an angle above 120 degrees */
            point[2 * dim + i] = (point[i] + point[dim + i]) / 2 + 0.01f * (float)a_number(&r);
        fre_share_median(median, point, 3, dim);
        least = to_all(median, point, dim);
        for (uint32_t i = 0; i < 3; i++)
            assert_true(least <= to_all(point + i * dim, point, dim) + 1e-6);
        for (uint32_t again = 0; again < 40; again++) {
            for (uint32_t i = 0; i < dim; i++)
                other[i] = median[i] + (float)(pow(10, -(double)(again % 4)) * a_number(&r));
            assert_true(least <= to_all(other, point, dim) + 1e-6);
        }
    }
}

/* Wherever one of three is, the median is within 2/sqrt(3) of the farther of the other two's distances from
 * anything [Minsker 2015]. */
static void median_bears_one(void **state)
{
    static const double far[] = {0, 1, 10, 1e4, 1e9};
    fre_rng r;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&r, (const uint8_t[FRE_SEED_BYTES]){8}, "median"), FRE_OK);
    for (uint32_t k = 0; k < 2000; k++) {
        const uint32_t dim = 2 + k % 20, liar = k % 3;
        float point[3 * 24], median[24], truth[24] = {0};
        double good = 0;

        for (uint32_t i = 0; i < 3 * dim; i++)
            point[i] = (float)(a_number(&r) * (i / dim == liar ? far[k % 5] : 1));
        for (uint32_t i = 0; i < 3; i++)
            good = i == liar ? good : fmax(good, from(truth, point + i * dim, dim));
        fre_share_median(median, point, 3, dim);
        assert_true(from(truth, median, dim) <= 2 / sqrt(3) * good + 1e-5);
    }
}

static void median_of_few(void **state)
{
    static const float a[] = {1, 2, 5, -2, 5, -2}, b[] = {1, 2, 1, 2, 1, 2},
                       line[] = {0, 0, 10, 0, 4, 0}, even[] = {0, 0, 1, 0, 0.5f, 0.8660254f};
    float x[2];

    (void)state;
    fre_share_median(x, a, 1, 2);
    assert_true(from(x, a, 2) <= 0);
    fre_share_median(x, a, 2, 2);
    assert_true(from(x, (const float[]){3, 0}, 2) <= 0);
    fre_share_median(x, a, 3, 2); /* two are one point */
    assert_true(from(x, a + 2, 2) <= 0);
    fre_share_median(x, b, 3, 2);
    assert_true(from(x, b, 2) <= 0);
    fre_share_median(x, line, 3, 2);
    assert_true(from(x, line + 4, 2) <= 0);
    fre_share_median(x, even, 3, 2);
    assert_true(from(x, (const float[]){0.5f, 0.2886751f}, 2) <= 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding_threshold),
        cmocka_unit_test(rounding_keeps_integers),
        cmocka_unit_test(rounding_is_unbiased),
        cmocka_unit_test(exact_agreement),
        cmocka_unit_test(noise_as_planned),
        cmocka_unit_test(noise_by_itself),
        cmocka_unit_test(noise_by_servers),
        cmocka_unit_test(shares_show_nothing),
        cmocka_unit_test(make_refuses),
        cmocka_unit_test(long_vectors_are_scaled),
        cmocka_unit_test(open_refuses),
        cmocka_unit_test(guard_edge),
        cmocka_unit_test(answers_are_hidden),
        cmocka_unit_test(median_is_the_least),
        cmocka_unit_test(median_bears_one),
        cmocka_unit_test(median_of_few),
        cmocka_unit_test(pitfall_19_a_sum_that_wraps_is_noticed),
        cmocka_unit_test(pitfall_19_noise_beyond_the_modulus),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
