/* Sharing's parts: rotation, packed residues, seeds, a cell's numbers, the bits of a collection. */
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

#define PADDED 768u

/* ---- rotation ------------------------------------------------------------------------------ */

/* Column by column; entries are small integers, so that everything is exact. */
static void order_is_hadamard(size_t n, bool transposed)
{
    double *h = calloc(n * n, sizeof *h);

    assert_non_null(h);
    for (size_t j = 0; j < n; j++) {
        h[j * n + j] = 1;
        sharing_hadamard(h + j * n, n, transposed);
        for (size_t i = 0; i < n; i++)
            assert_true(fabs(fabs(h[j * n + i]) - 1) <= 0);
    }
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k <= j; k++) {
            double dot = 0;

            for (size_t i = 0; i < n; i++)
                dot += h[j * n + i] * h[k * n + i];
            assert_true(fabs(dot - (j == k ? (double)n : 0)) <= 0);
        }
    free(h);
}

static void hadamard_matrices(void **state)
{
    static const size_t orders[] = {1, 2, 4, 12, 24, 48, 64, 96, 192, 384};

    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        order_is_hadamard(orders[i], false);
        order_is_hadamard(orders[i], true);
    }
}

static void hadamard_transposed(void **state)
{
    double a[24], b[24];

    (void)state;
    for (size_t i = 0; i < 24; i++)
        for (size_t j = 0; j < 24; j++) {
            memset(a, 0, sizeof a);
            memset(b, 0, sizeof b);
            a[i] = 1;
            b[j] = 1;
            sharing_hadamard(a, 24, false);
            sharing_hadamard(b, 24, true);
            assert_true(fabs(a[j] - b[i]) <= 0);
        }
}

static void rotation_is_orthonormal(void **state)
{
    static const uint32_t dims[] = {1, 2, 3, 5, 12, 13, 300, 384, 700, 768, 1024, 8192};
    fre_rng r;

    (void)state;
    law_seeded(&r, 1);
    for (size_t k = 0; k < sizeof dims / sizeof *dims; k++) {
        const uint32_t d = dims[k], n = fre_hadamard_dim(d);
        float *x = malloc(d * sizeof *x);
        double *y = malloc(n * sizeof *y), norm = 0;
        fre_rotation *rot = a_rotation(d, 7);

        assert_true(x && y);
        assert_int_equal(fre_rotation_padded(rot), n);
        a_vector(x, d, &r);
        fre_rotation_apply(rot, y, x);
        for (uint32_t i = 0; i < n; i++)
            norm += y[i] * y[i];
        assert_close(norm, fre_norm(x, d) * fre_norm(x, d), 0, 1e-13);
        fre_rotation_undo(rot, y);
        for (uint32_t i = 0; i < n; i++)
            assert_close(y[i], i < d ? (double)x[i] : 0, 1e-14, 0);
        fre_rotation_free(rot);
        free(x);
        free(y);
    }
    fre_rotation_free(NULL);
}

/* Clients on other machines must rotate to the same bits; the values come from another
 * implementation of the header's description, in Python's doubles. */
static void rotation_is_pinned(void **state)
{
    const struct {
        uint32_t dim;
        uint64_t digest;
    } expected[] = {{384, UINT64_C(0x8fc999aace659de4)},
                    {300, UINT64_C(0xf1f74b8e01a54e2b)},
                    {1024, UINT64_C(0x5b0676161852f325)}};

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        fre_rotation *rot = a_rotation(expected[k].dim, 3);
        const uint32_t n = fre_rotation_padded(rot);
        uint64_t digest = UINT64_C(14695981039346656037);
        double y[1024];
        float x[1024];

        for (uint32_t i = 0; i < expected[k].dim; i++)
            x[i] = 1.0F / (float)(int)(i * i + 3);
        fre_rotation_apply(rot, y, x);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t u;

            memcpy(&u, &y[i], sizeof u);
            digest = (digest ^ u) * UINT64_C(1099511628211);
        }
        if (digest != expected[k].digest)
            print_error("dim %u: 0x%016llx\n", expected[k].dim, (unsigned long long)digest);
        assert_true(digest == expected[k].digest);
        fre_rotation_free(rot);
    }
}

/* Signs are the bits of the keystream: a unit vector shows its own. */
static void signs_are_the_keystream(void **state)
{
    const uint8_t seed[FRE_SIGN_SEED_BYTES] = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6,
                                               0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c,
                                               0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7,
                                               0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff};
    /* NIST SP 800-38A, F.5.1: the first two output blocks. */
    const uint8_t stream[32] = {0xec, 0x8c, 0xdf, 0x73, 0x98, 0x60, 0x7c, 0xb0, 0xf2, 0xd2, 0x16,
                                0x75, 0xea, 0x9e, 0xa1, 0xe4, 0x36, 0x2b, 0x7c, 0x3c, 0x67, 0x73,
                                0x51, 0x63, 0x18, 0xa0, 0x77, 0xd7, 0xfc, 0x50, 0x73, 0xae};
    uint8_t out[32];
    fre_rotation *rot = NULL;
    double y[256];
    float x[256];

    (void)state;
    assert_int_equal(sharing_keystream(out, sizeof out, seed, seed + 16), FRE_OK);
    assert_memory_equal(out, stream, sizeof out);
    assert_int_equal(fre_rotation_new(&rot, 256, seed), FRE_OK);
    for (uint32_t i = 0; i < 256; i++) {
        memset(x, 0, sizeof x);
        x[i] = 16;
        fre_rotation_apply(rot, y, x); /* row 0 of Sylvester's matrix is all ones */
        assert_true(fabs(y[0] - ((stream[i / 8] >> (i % 8)) & 1 ? -1 : 1)) <= 0);
    }
    fre_rotation_free(rot);
}

static void rotation_refuses(void **state)
{
    const uint8_t seed[FRE_SIGN_SEED_BYTES] = {0};
    fre_rotation *rot = NULL;

    (void)state;
    assert_int_equal(fre_rotation_new(&rot, 0, seed), FRE_E_ARG);
    assert_int_equal(fre_rotation_new(&rot, FRE_SHARING_DIM_MAX + 1, seed), FRE_E_ARG);
    assert_int_equal(fre_rotation_new(&rot, 4, NULL), FRE_E_ARG);
    assert_int_equal(fre_rotation_new(NULL, 4, seed), FRE_E_ARG);
    assert_null(rot);
}

/* ---- packing ------------------------------------------------------------------------------- */

static uint32_t bit_by_bit(const uint8_t *p, size_t index, uint32_t bits)
{
    uint32_t v = 0;

    for (uint32_t k = 0; k < bits; k++) {
        const size_t bit = index * bits + k;

        v |= (uint32_t)((p[bit / 8] >> (bit % 8)) & 1) << k;
    }
    return v;
}

static void one_packing(size_t n, uint32_t bits, fre_rng *r)
{
    const size_t bytes = (n * bits + 7) / 8;
    uint32_t *word = malloc(n * sizeof *word), *sum = malloc(n * sizeof *sum);
    uint32_t *twice = calloc(n, sizeof *twice);
    uint8_t *p = malloc(bytes); /* to the byte, so that the sanitizer sees reads beyond */
    const fre_bytes packed = {p, bytes};

    assert_true(word && sum && twice && p);
    for (size_t i = 0; i < n; i++)
        word[i] = sum[i] = fre_rng_u32(r);
    assert_int_equal(fre_share_pack(p, bytes, word, n, bits), FRE_OK);
    assert_int_equal(fre_share_add(twice, n, bits, packed), FRE_OK);
    assert_int_equal(fre_share_add(twice, n, bits, packed), FRE_OK);
    fre_share_combine(sum, word, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(bit_by_bit(p, i, bits), word[i] & sharing_mask(bits));
        assert_int_equal((twice[i] ^ sum[i]) & sharing_mask(bits), 0);
    }
    for (size_t bit = n * bits; bit < 8 * bytes; bit++) { /* nothing beyond the last residue */
        assert_int_equal((p[bit / 8] >> (bit % 8)) & 1, 0);
        p[bit / 8] = (uint8_t)(p[bit / 8] | 1u << (bit % 8));
        assert_int_equal(fre_share_add(word, n, bits, packed), FRE_E_DATA);
        p[bit / 8] = (uint8_t)(p[bit / 8] & ~(1u << (bit % 8)));
    }
    memcpy(sum, word, n * sizeof *word);
    assert_int_equal(fre_share_add(word, n, bits, (fre_bytes){p, bytes - 1}), FRE_E_DATA);
    assert_int_equal(fre_share_add(word, n, bits, (fre_bytes){p, bytes + 1}), FRE_E_DATA);
    assert_memory_equal(sum, word, n * sizeof *word);
    assert_int_equal(fre_share_pack(p, bytes + 1, word, n, bits), FRE_E_ARG);
    free(word);
    free(sum);
    free(twice);
    free(p);
}

static void packing(void **state)
{
    fre_rng r;

    (void)state;
    law_seeded(&r, 2);
    for (uint32_t bits = FRE_SHARING_BITS_MIN; bits <= FRE_SHARING_BITS_MAX; bits++) {
        for (size_t n = 1; n <= 40; n++)
            one_packing(n, bits, &r);
        one_packing(PADDED, bits, &r);
        one_packing(1 + fre_rng_below(&r, 3000), bits, &r);
    }
}

static void packing_refuses(void **state)
{
    const uint8_t p[8] = {0};
    uint32_t sum[8] = {0};

    (void)state;
    assert_int_equal(fre_share_add(sum, 8, 7, (fre_bytes){p, 7}), FRE_E_ARG);
    assert_int_equal(fre_share_add(sum, 1, 33, (fre_bytes){p, 5}), FRE_E_ARG);
    assert_int_equal(fre_share_add(sum, 0, 8, (fre_bytes){p, 0}), FRE_E_ARG);
    assert_int_equal(fre_share_add(sum, 8, 8, (fre_bytes){NULL, 0}), FRE_E_DATA);
    assert_int_equal(fre_share_bytes(384, 21), 1008);
    assert_int_equal(fre_share_bytes(300, 21), 1008);
    assert_int_equal(fre_share_bytes(12, 9), 14);
    assert_int_equal(fre_share_bytes(0, 21), 0);
    assert_int_equal(fre_share_bytes(FRE_SHARING_DIM_MAX + 1, 21), 0);
    assert_int_equal(fre_share_bytes(384, 7), 0);
    assert_int_equal(fre_share_bytes(384, 33), 0);
}

/* ---- seeds --------------------------------------------------------------------------------- */

/* A seed's residues are its keystream, read as packed ones. */
static void seeds_expand(void **state)
{
    static const size_t lengths[] = {1, 12, 384, 768, 16384};
    const uint8_t zero[16] = {0};
    fre_rng r;

    (void)state;
    law_seeded(&r, 3);
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
        for (uint32_t bits = 8; bits <= 32; bits += 3) {
            const size_t n = lengths[k], bytes = (n * bits + 7) / 8;
            uint32_t *sum = calloc(n, sizeof *sum);
            uint8_t *stream = malloc(bytes);
            fre_share_expander *e = NULL;
            fre_share_seed seed[2];

            assert_true(sum && stream);
            fre_rng_bytes(&r, seed, sizeof seed);
            assert_int_equal(fre_share_expander_new(&e, n, bits), FRE_OK);
            assert_int_equal(fre_share_expander_add(e, sum, &seed[0]), FRE_OK);
            assert_int_equal(fre_share_expander_add(e, sum, &seed[1]), FRE_OK);
            for (size_t s = 0; s < 2; s++) {
                assert_int_equal(sharing_keystream(stream, bytes, seed[s].b, zero), FRE_OK);
                for (size_t i = 0; i < n; i++)
                    sum[i] -= bit_by_bit(stream, i, bits);
            }
            for (size_t i = 0; i < n; i++)
                assert_int_equal(sum[i] & sharing_mask(bits), 0);
            fre_share_expander_free(e);
            free(sum);
            free(stream);
        }
    fre_share_expander_free(NULL);
}

static void expander_refuses(void **state)
{
    fre_share_expander *e = NULL;

    (void)state;
    assert_int_equal(fre_share_expander_new(&e, 0, 8), FRE_E_ARG);
    assert_int_equal(fre_share_expander_new(&e, SHARING_WORDS_MAX + 1, 8), FRE_E_ARG);
    assert_int_equal(fre_share_expander_new(&e, 8, 33), FRE_E_ARG);
    assert_int_equal(fre_share_expander_new(NULL, 8, 8), FRE_E_ARG);
    assert_null(e);
}

static void random_shares_fit(void **state)
{
    uint32_t sum[12] = {0};
    fre_share_seed seed, old;
    uint8_t p[14], seen = 0;
    fre_rng r;

    (void)state;
    law_seeded(&r, 4);
    for (int i = 0; i < 200; i++) { /* 12 words of 9 bits leave 4 bits of the last byte */
        assert_int_equal(fre_share_random(p, sizeof p, &seed, 12, 9, &r), FRE_OK);
        assert_int_equal(fre_share_add(sum, 12, 9, (fre_bytes){p, sizeof p}), FRE_OK);
        seen |= p[13];
    }
    assert_int_equal(seen, 0x0f);
    old = seed;
    assert_int_equal(fre_share_random(p, sizeof p - 1, &seed, 12, 9, &r), FRE_E_ARG);
    assert_int_equal(fre_share_random(p, sizeof p, &seed, 12, 40, &r), FRE_E_ARG);
    assert_memory_equal(&seed, &old, sizeof seed);
    fre_share_seed_wipe(&seed);
    fre_share_seed_wipe(NULL);
    memset(&old, 0, sizeof old);
    assert_memory_equal(&seed, &old, sizeof seed);
}

/* ---- a cell's numbers ---------------------------------------------------------------------- */

/* In the smallest sum of a cell, of as few answers as may be, by splits' rule. */
static uint64_t least_answers(const fre_mechanism *m, uint64_t count)
{
    const uint64_t came = m->dist.one_contact ? count : fre_answers_needed(m, count);
    const bool cut = m->dist.splits && came / 3 >= m->tau;

    assert_int_equal(fre_cell_sums(m, count), cut ? 3 : 1);
    assert_true(!cut || came / 3 >= fre_sum_answers(m, count));
    return m->dist.one_contact ? m->tau : cut ? came / 3 : came;
}

static void noise_is_never_less(void **state)
{
    static const uint32_t dims[] = {300, 384, 768};

    (void)state;
    for (size_t k = 0; k < 3; k++)
        for (int kind = 0; kind < 6; kind++) {
            const bool one_contact = kind % 3 > 0, servers = kind % 3 == 2;
            fre_mechanism m = a_mechanism(dims[k]);

            m.dist.one_contact = one_contact;
            m.dist.server_noise = servers;
            m.dist.dropout = one_contact ? 0 : 0.25;
            m.dist.splits = kind > 2;
            for (uint64_t c = m.tau; c < 100000; c += 1 + c / 7) {
                fre_share_cell cell;
                long double steps, sum;

                assert_int_equal(fre_share_cell_init(&cell, &m, SPLIT, c, 32, NULL), FRE_OK);
                assert_int_equal(cell.answers_needed, least_answers(&m, c));
                assert_int_equal(cell.padded, fre_hadamard_dim(dims[k]));
                assert_close(cell.beta, fre_quantisation(fre_sigma_local(&m, c), SPLIT, dims[k]), 0,
                             0);
                steps = (long double)cell.sigma_local / (long double)cell.beta;
                assert_true((long double)cell.var16 >= steps * steps * 65536);
                assert_true((long double)cell.var16 <= steps * steps * 65536 * (1 + 2e-9L) + 1);
                /* What honest answers carry together, curious ones left out; or one server. */
                sum = (long double)cell.beta * (long double)cell.beta * (long double)cell.var16 /
                      65536 * (long double)(servers ? 1 : cell.answers_needed - m.dist.curious);
                assert_true(sum >= (long double)m.sigma * (long double)m.sigma);
            }
        }
}

static void cell_refuses(void **state)
{
    const fre_mechanism good = a_mechanism(384);
    fre_share_cell cell, old;
    fre_mechanism m;
    fre_err err;

    (void)state;
    memset(&cell, 0x5a, sizeof cell);
    old = cell;
#define REFUSED(status, change, count, bits)                                                       \
    do {                                                                                           \
        m = good;                                                                                  \
        change;                                                                                    \
        err.text[0] = 0;                                                                           \
        assert_int_equal(fre_share_cell_init(&cell, &m, SPLIT, count, bits, &err), status);        \
        assert_true(err.text[0] != 0);                                                             \
    } while (0)
    REFUSED(FRE_E_USAGE, m.dist.on = false, 100, 20);
    REFUSED(FRE_E_USAGE, m.noise = FRE_NOISE_CONTINUOUS, 100, 20);
    REFUSED(FRE_E_USAGE, m.dim = 0, 100, 20);
    REFUSED(FRE_E_USAGE, m.dim = FRE_SHARING_DIM_MAX + 1, 100, 20);
    REFUSED(FRE_E_USAGE, m.norm_bound = 0, 100, 20);
    REFUSED(FRE_E_USAGE, m.norm_bound = NAN, 100, 20);
    REFUSED(FRE_E_USAGE, m.norm_bound = 1e5, 100, 20);
    REFUSED(FRE_E_USAGE, m.sigma = -1, 100, 20);
    REFUSED(FRE_E_USAGE, m.sigma = INFINITY, 100, 20);
    REFUSED(FRE_E_USAGE, m.dist.dropout = 1, 100, 20);
    REFUSED(FRE_E_USAGE, m.dist.curious = 20, 100, 20);
    REFUSED(FRE_E_USAGE, m.lattice_step = NAN, 100, 20);
    REFUSED(FRE_E_USAGE, (void)0, 19, 20);
    REFUSED(FRE_E_USAGE, (void)0, FRE_PRIVACY_POPULATION_MAX + 1, 20);
    REFUSED(FRE_E_ARG, (void)0, 100, 7);
    REFUSED(FRE_E_ARG, (void)0, 100, 33);
    REFUSED(FRE_E_LIMIT, m.sigma = 100, 20, 20);           /* 3700 steps */
    REFUSED(FRE_E_LIMIT, m.lattice_step = 1e-15, 100, 20); /* embeddings of 10^15 steps */
    REFUSED(FRE_E_LIMIT, m.lattice_step = 1e5, 100, 20);
#undef REFUSED
    assert_memory_equal(&cell, &old, sizeof cell);
    assert_int_equal(fre_share_cell_init(&cell, &good, 0, 100, 20, NULL), FRE_E_USAGE);
    assert_int_equal(fre_share_cell_init(&cell, &good, NAN, 100, 20, NULL), FRE_E_USAGE);
}

/* ---- bits ---------------------------------------------------------------------------------- */

static uint32_t bits_for(const fre_mechanism *m, uint64_t largest, uint64_t cells)
{
    uint32_t bits = 0;

    assert_int_equal(fre_share_bits(&bits, m, SPLIT, largest, cells, NULL), FRE_OK);
    return bits;
}

/* The union bound over 50 cells, computed apart in long double with exact logarithms, at the worst of
 * the counts there are. */
static long double chance_of_guard(const fre_mechanism *m, uint64_t largest, uint32_t bits)
{
    const long double limit = (long double)sharing_guard(bits), d = fre_hadamard_dim(m->dim);
    long double worst = 0;

    for (uint64_t c = m->tau; c <= largest; c += 1 + c / 40) {
        const uint64_t t = fre_cell_sums(m, c) == 1 ? c : (c + 2) / 3; /* summands */
        fre_share_cell cell;
        long double s2, mean;

        assert_int_equal(fre_share_cell_init(&cell, m, SPLIT, c, bits, NULL), FRE_OK);
        mean = (long double)t * (long double)m->norm_bound / (long double)cell.beta;
        s2 =
            mean * mean / d + (long double)t / 4 + (long double)t * (long double)cell.var16 / 65536;
        worst = fmaxl(worst, 2 * d * 50 * expl(-limit * limit / (2 * s2)));
    }
    return worst;
}

static void keep_the_bound(const fre_mechanism *m)
{
    for (uint64_t largest = m->tau; largest < 200000; largest += 1 + largest / 3) {
        const uint32_t bits = bits_for(m, largest, 50);

        assert_true(chance_of_guard(m, largest, bits) <= 0x1p-41L);
        /* Not wasteful either: two bits fewer would not do, but for thirds, which are held as wholes. */
        if (bits > FRE_SHARING_BITS_MIN + 2 && !m->dist.splits)
            assert_true(chance_of_guard(m, largest, bits - 2) > 0x1p-41L);
    }
}

/* Embeddings that outweigh the noise, and ones that do not; both kinds of collection; the
 * protocol's lattice, and a given one. */
static void bits_keep_the_bound(void **state)
{
    static const double norms[] = {1, 0.03, 0.00001}, steps[] = {0, 0.002};

    (void)state;
    for (size_t k = 0; k < 24; k++) {
        fre_mechanism m = a_mechanism(k % 4 < 2 ? 384 : 300);

        m.norm_bound = norms[k % 12 / 4];
        m.dist.splits = k >= 12;
        m.lattice_step = steps[k % 4 / 2];
        m.dist.one_contact = k % 2 == 1;
        m.dist.dropout = m.dist.one_contact ? 0 : 0.1;
        keep_the_bound(&m);
    }
}

static void bits_grow(void **state)
{
    fre_mechanism m = a_mechanism(768);
    uint32_t before = 0;

    (void)state;
    for (uint64_t c = 20; c < 1000000; c *= 2) {
        const uint32_t bits = bits_for(&m, c, 10);

        assert_true(bits >= before && bits <= (before == 0 ? 32 : before + 2));
        assert_true(bits_for(&m, c, 1000000) >= bits);
        before = bits;
    }
    /* The upload that the protocol aims at: 2.6 kB at 768. */
    assert_true(fre_share_bytes(768, bits_for(&m, 10000, 1000)) <= 2200);
}

static void bits_refuse(void **state)
{
    fre_mechanism m = a_mechanism(384);
    uint32_t bits = 99;
    fre_err err;

    (void)state;
    assert_int_equal(fre_share_bits(&bits, &m, SPLIT, UINT64_C(100000000), 1, &err), FRE_E_LIMIT);
    assert_non_null(strstr(err.text, "{sampling_rate}"));
    assert_int_equal(fre_share_bits(&bits, &m, SPLIT, 100, UINT64_MAX, &err), FRE_E_LIMIT);
    assert_int_equal(fre_share_bits(&bits, &m, SPLIT, 100, 0, &err), FRE_E_ARG);
    assert_int_equal(fre_share_bits(&bits, &m, SPLIT, 19, 1, &err), FRE_E_USAGE);
    m.dist.on = false;
    assert_int_equal(fre_share_bits(&bits, &m, SPLIT, 100, 1, &err), FRE_E_USAGE);
    assert_int_equal(bits, 99);
}

/* A million coordinates of sums of one vector that all 10^4 clients hold, which is the worst, under
 * fresh signs each time; then three bits fewer. */
static void pitfall_19_no_wrap_in_a_million(void **state)
{
    enum { CLIENTS = 10000, ROUNDS = 2605, D = 384 };
    const fre_mechanism m = a_mechanism(D);
    const fre_share_cell cell = a_cell(&m, CLIENTS);
    const double deviation = sqrt(CLIENTS * ((double)cell.var16 / 65536 + 0.25));
    double y[D], most = 0;
    uint64_t beyond = 0;
    float x[D];
    fre_rng r;

    (void)state;
    law_seeded(&r, 5);
    for (int k = 0; k < ROUNDS; k++) {
        uint8_t seed[FRE_SIGN_SEED_BYTES];
        fre_rotation *rot = NULL;

        fre_rng_bytes(&r, seed, sizeof seed);
        assert_int_equal(fre_rotation_new(&rot, D, seed), FRE_OK);
        a_vector(x, D, &r);
        fre_rotation_apply(rot, y, x);
        for (size_t i = 0; i < D; i++) {
            const double noise =
                (double)fre_sample_rounded_gaussian(&r, (uint64_t)(deviation * 256)) / 256;
            const double v = fabs(CLIENTS * y[i] / cell.beta + noise);

            most = fmax(most, v);
            beyond += v > (double)sharing_guard(cell.bits - 3);
        }
        fre_rotation_free(rot);
    }
    assert_true(most <= (double)sharing_guard(cell.bits));
    assert_true(most >= (double)sharing_guard(cell.bits) / 8); /* the bits are used */
    assert_true(beyond > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hadamard_matrices),
        cmocka_unit_test(hadamard_transposed),
        cmocka_unit_test(rotation_is_orthonormal),
        cmocka_unit_test(rotation_is_pinned),
        cmocka_unit_test(signs_are_the_keystream),
        cmocka_unit_test(rotation_refuses),
        cmocka_unit_test(packing),
        cmocka_unit_test(packing_refuses),
        cmocka_unit_test(seeds_expand),
        cmocka_unit_test(expander_refuses),
        cmocka_unit_test(random_shares_fit),
        cmocka_unit_test(noise_is_never_less),
        cmocka_unit_test(cell_refuses),
        cmocka_unit_test(bits_keep_the_bound),
        cmocka_unit_test(bits_grow),
        cmocka_unit_test(bits_refuse),
        cmocka_unit_test(pitfall_19_no_wrap_in_a_million),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
