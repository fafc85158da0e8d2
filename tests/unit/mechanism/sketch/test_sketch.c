/* The grid sketch: known answers of an independent computation, the order of sums for every k,
 * the collision law, and its refusals. */
#include <fre/sketch.h>

#include "sketch_private.h"

#include <math.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static fre_sketch_params make_params(uint32_t seed, uint32_t dim, uint32_t proj, double edge)
{
    fre_sketch_params p = {.dim = dim, .grid.proj = proj, .grid.cell_edge = edge};

    for (unsigned i = 0; i < 4; i++)
        p.seed[i] = (uint8_t)(seed >> (8 * i));
    return p;
}

static fre_sketch *make_sketch(const fre_sketch_params *p)
{
    fre_sketch *s = NULL;

    assert_int_equal(fre_sketch_new(&s, p), FRE_OK);
    return s;
}

/* ---- known answers ------------------------------------------------------------------------ */

static const struct {
    uint32_t seed, dim, proj;
    double edge;
} vector_grids[] = {
    {1, 384, 20, 0x1.c9f25c5bfedd9p-3}, /* the default, 2 * .5 / sqrt(20) */
    {2, 384, 30, 0.18},
    {0xfffefdfc, 5, 1, 0.01},
    {7, 768, 64, 3.0},
};

/* Integers of an expansion, for make_sketch_vectors.py. */
static int64_t entry_int(const fre_grid *g, uint32_t i, uint32_t j)
{
    return (int64_t)(fre_grid_entry(g, i, j) * 16777216.0);
}

static uint32_t offset_int(const fre_grid *g, uint32_t i)
{
    return (uint32_t)llround(g->offset[i] / g->cell_edge * 4294967296.0);
}

static void dump(void)
{
    for (size_t n = 0; n < sizeof vector_grids / sizeof vector_grids[0]; n++) {
        fre_sketch_params p = make_params(vector_grids[n].seed, vector_grids[n].dim,
                                          vector_grids[n].proj, vector_grids[n].edge);
        fre_grid g;

        if (fre_grid_init(&g, &p) != FRE_OK)
            exit(1);
        for (size_t i = 0; i < sizeof p.seed; i++)
            printf("%02x", p.seed[i]);
        printf(" %u %u %a\n", p.dim, p.grid.proj, p.grid.cell_edge);
        for (uint32_t i = 0; i < p.grid.proj; i++)
            for (uint32_t j = 0; j < p.dim; j++)
                printf("%lld\n", (long long)entry_int(&g, i, j));
        for (uint32_t i = 0; i < p.grid.proj; i++)
            printf("%u\n", offset_int(&g, i));
        fre_grid_wipe(&g);
    }
}

static void put_le(crypto_generichash_state *h, uint64_t v, unsigned bytes)
{
    uint8_t b[8];

    for (unsigned i = 0; i < bytes; i++)
        b[i] = (uint8_t)(v >> (8 * i));
    crypto_generichash_update(h, b, bytes);
}

/* The expansion itself is pinned by a digest: the same on every platform. */
static void check_expansion(const fre_sketch_params *p, const char *expected)
{
    crypto_generichash_state h;
    uint8_t digest[32];
    char hex[65];
    fre_grid g;

    assert_int_equal(fre_grid_init(&g, p), FRE_OK);
    crypto_generichash_init(&h, NULL, 0, sizeof digest);
    for (uint32_t i = 0; i < p->grid.proj; i++)
        for (uint32_t j = 0; j < p->dim; j++)
            put_le(&h, (uint64_t)entry_int(&g, i, j), 8);
    for (uint32_t i = 0; i < p->grid.proj; i++)
        put_le(&h, offset_int(&g, i), 4);
    crypto_generichash_final(&h, digest, sizeof digest);
    assert_string_equal(sodium_bin2hex(hex, sizeof hex, digest, sizeof digest), expected);
    fre_grid_wipe(&g);
}

static void check_row(FILE *f, const fre_sketch *s, const fre_sketch_params *p)
{
    float x[1024];
    int32_t c[FRE_SKETCH_PROJ_MAX];
    uint32_t coef[3];
    char hex[65], expected[65];
    fre_cell cell;

    assert_int_equal(fscanf(f, " x %u %u %u", &coef[0], &coef[1], &coef[2]), 3);
    for (uint32_t j = 0; j < p->dim; j++) {
        int32_t v = (int32_t)((coef[0] * j * j + coef[1] * j + coef[2]) % 2048u) - 1024;
        x[j] = (float)v / 32768.0f;
    }
    assert_int_equal(fre_sketch_coords(s, c, x, p->dim), FRE_OK);
    for (uint32_t i = 0; i < p->grid.proj; i++) {
        int32_t want;
        assert_int_equal(fscanf(f, "%d", &want), 1);
        assert_int_equal(c[i], want);
    }
    assert_int_equal(fscanf(f, "%64s", expected), 1);
    assert_int_equal(fre_sketch_cell(s, &cell, x, p->dim), FRE_OK);
    assert_string_equal(sodium_bin2hex(hex, sizeof hex, cell.bytes, sizeof cell.bytes), expected);
}

static void test_known_answers(void **state)
{
    FILE *f = fopen(FRE_SOURCE_DIR "/tests/vectors/sketch.txt", "r");
    size_t grids = 0;
    char seed[65], digest[65];
    fre_sketch_params p;
    uint32_t rows;

    (void)state;
    assert_non_null(f);
    while (fscanf(f, " grid %64s %u %u %lf %u %64s", seed, &p.dim, &p.grid.proj, &p.grid.cell_edge,
                  &rows, digest) == 6) {
        fre_sketch *s;
        assert_true(fre_unhex(p.seed, sizeof p.seed, seed));
        check_expansion(&p, digest);
        s = make_sketch(&p);
        for (uint32_t i = 0; i < rows; i++)
            check_row(f, s, &p);
        fre_sketch_free(s);
        grids++;
    }
    assert_int_equal(grids, sizeof vector_grids / sizeof vector_grids[0]);
    fclose(f);
}

/* ---- sums in index order, for every k ------------------------------------------------------ */

static void test_order_of_sums(void **state)
{
    enum { DIM = 37 };
    float x[DIM];

    (void)state;
    for (int j = 0; j < DIM; j++)
        x[j] = sinf((float)(j * j + 1)) * 0.3f;
    for (uint32_t k = 1; k <= FRE_SKETCH_PROJ_MAX; k++) {
        /* Such a small edge shows a change of y in its last bits. */
        fre_sketch_params p = make_params(k, DIM, k, 1e-9);
        fre_sketch *s = make_sketch(&p);
        int32_t c[FRE_SKETCH_PROJ_MAX];
        fre_grid g;

        assert_int_equal(fre_grid_init(&g, &p), FRE_OK);
        assert_int_equal(fre_sketch_coords(s, c, x, DIM), FRE_OK);
        for (uint32_t i = 0; i < k; i++) {
            volatile double y = 0.0; /* no wider registers, no reordering */
            for (uint32_t j = 0; j < DIM; j++)
                y += fre_grid_entry(&g, i, j) * (double)x[j];
            assert_int_equal(c[i], (int32_t)floor((y / sqrt((double)k) + g.offset[i]) / 1e-9));
            assert_true(g.offset[i] >= 0.0 && g.offset[i] < 1e-9);
        }
        fre_grid_wipe(&g);
        fre_sketch_free(s);
    }
}

/* ---- collision law ------------------------------------------------------------------------- */

/* Datar et al. 2004, for one coordinate: ratio = sqrt(k) L / D. */
static double collision_one(double ratio)
{
    return erf(ratio / sqrt(2.0)) - sqrt(2.0 / M_PI) / ratio * (1.0 - exp(-ratio * ratio / 2.0));
}

static void test_collision_rate(void **state)
{
    static const struct {
        uint32_t proj;
        double ratio;
    } cases[] = {{1, 0.5}, {1, 2.0},  {1, 8.0},   {3, 1.0},
                 {3, 3.0}, {20, 8.0}, {20, 16.0}, {40, 20.0}};
    const uint32_t trials = 6000;

    (void)state;
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        uint32_t k = cases[n].proj, hits = 0;
        double distance = 0.5, edge = cases[n].ratio * distance / sqrt((double)k);
        const float a[2] = {0.25f, -1.0f}, b[2] = {0.55f, -0.6f}; /* 0.5 apart */
        double p = pow(collision_one(cases[n].ratio), (double)k);
        double slack = 4.0 * sqrt((double)trials * p * (1.0 - p)) + 1.0;

        for (uint32_t t = 0; t < trials; t++) {
            fre_sketch_params par = make_params((uint32_t)n * trials + t, 2, k, edge);
            fre_sketch *s = make_sketch(&par);
            fre_cell ca, cb;
            assert_int_equal(fre_sketch_cell(s, &ca, a, 2), FRE_OK);
            assert_int_equal(fre_sketch_cell(s, &cb, b, 2), FRE_OK);
            hits += memcmp(&ca, &cb, sizeof ca) == 0;
            fre_sketch_free(s);
        }
        if (fabs((double)hits - (double)trials * p) > slack)
            fail_msg("k=%u ratio=%g: %u collisions, expected %.1f +- %.1f", k, cases[n].ratio, hits,
                     (double)trials * p, slack);
    }
}

/* ---- refusals, independence ---------------------------------------------------------------- */

static void test_bad_params(void **state)
{
    static const struct {
        uint32_t dim, proj;
        double edge;
    } bad[] = {{0, 20, 1.0},         {FRE_SKETCH_DIM_MAX + 1, 20, 1.0},
               {8, 0, 1.0},          {8, FRE_SKETCH_PROJ_MAX + 1, 1.0},
               {8, 20, 0.0},         {8, 20, -1.0},
               {8, 20, (double)NAN}, {8, 20, (double)INFINITY}};
    fre_sketch *s = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        fre_sketch_params p = make_params(1, bad[i].dim, bad[i].proj, bad[i].edge);
        assert_int_equal(fre_sketch_new(&s, &p), FRE_E_ARG);
        assert_null(s);
    }
    fre_sketch_free(NULL);
}

static void test_bad_embeddings(void **state)
{
    const float poison[] = {NAN, INFINITY, -INFINITY};
    fre_sketch_params p = make_params(1, 19, 5, 1e-3);
    fre_sketch *s = make_sketch(&p);
    float x[20] = {0.1f};
    int32_t c[5] = {9, 9, 9, 9, 9}, untouched[5] = {9, 9, 9, 9, 9};
    fre_cell cell, before;

    (void)state;
    memset(&cell, 0x5a, sizeof cell);
    before = cell;
    assert_int_equal(fre_sketch_cell(s, &cell, x, 18), FRE_E_ARG);
    assert_int_equal(fre_sketch_cell(s, &cell, x, 20), FRE_E_ARG);
    for (size_t j = 0; j < 19; j++)
        for (size_t n = 0; n < 3; n++) {
            x[j] = poison[n];
            assert_int_equal(fre_sketch_cell(s, &cell, x, 19), FRE_E_ARG);
            assert_int_equal(fre_sketch_coords(s, c, x, 19), FRE_E_ARG);
            x[j] = 0.0f;
        }
    x[3] = 1e9f; /* 1e9 / 1e-3 is far beyond 2^31 */
    assert_int_equal(fre_sketch_cell(s, &cell, x, 19), FRE_E_LIMIT);
    assert_int_equal(fre_sketch_coords(s, c, x, 19), FRE_E_LIMIT);
    assert_memory_equal(&cell, &before, sizeof cell);
    assert_memory_equal(c, untouched, sizeof c);
    fre_sketch_free(s);
}

static void test_seed_matters(void **state)
{
    fre_sketch_params p = make_params(1, 16, 20, 0.1), q = p;
    float x[16];
    fre_sketch *s, *same, *other;
    fre_cell a, b, c;

    (void)state;
    for (int j = 0; j < 16; j++)
        x[j] = 0.25f;
    q.seed[31] ^= 1;
    s = make_sketch(&p);
    same = make_sketch(&p);
    other = make_sketch(&q);
    assert_memory_equal(fre_sketch_params_view(s), &p, sizeof p);
    assert_int_equal(fre_sketch_cell(s, &a, x, 16), FRE_OK);
    assert_int_equal(fre_sketch_cell(same, &b, x, 16), FRE_OK);
    assert_int_equal(fre_sketch_cell(other, &c, x, 16), FRE_OK);
    assert_memory_equal(&a, &b, sizeof a);
    assert_memory_not_equal(&a, &c, sizeof a);
    fre_sketch_free(s);
    fre_sketch_free(same);
    fre_sketch_free(other);
}

static void test_spec(void **state)
{
    /* Independently: Python's hashlib.blake2b of the label, 32 bytes of 7, level 2 and cell 65538. */
    static const char expected[] =
        "750adaa213d0aec3ae0964c89c0a3c7ce53362bd1358459c31b434a7bcb4489a";
    fre_sketch_spec grid = {.grid = {.proj = 20, .cell_edge = 0.2}},
                    plain = {.kind = FRE_SKETCH_CODEBOOK,
                             .codebook = {.level = 2, .cells = 65539, .radius = 0.6}},
                    known = plain;
    fre_cell cell, before;
    char hex[2 * FRE_CELL_BYTES + 1];

    (void)state;
    memset(known.codebook.sha256, 7, sizeof known.codebook.sha256);
    assert_true(fabs(fre_sketch_reach(&grid, 1.5) - 1.5) <= 0);
    assert_true(fabs(fre_sketch_reach(&plain, 1.5) - 0.6) <= 0);
    assert_null(fre_sketch_file(&grid));
    assert_null(fre_sketch_file(&plain));
    assert_ptr_equal(fre_sketch_file(&known), known.codebook.sha256);
    assert_int_equal(fre_sketch_public_cell(&cell, &known, 65538), FRE_OK);
    fre_hex(hex, cell.bytes, sizeof cell.bytes);
    assert_string_equal(hex, expected);
    before = cell;
    assert_int_equal(fre_sketch_public_cell(&cell, &known, 65539), FRE_E_ARG);
    assert_int_equal(fre_sketch_public_cell(&cell, &grid, 0), FRE_E_ARG);
    assert_memory_equal(&cell, &before, sizeof cell);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),  cmocka_unit_test(test_order_of_sums),
        cmocka_unit_test(test_collision_rate), cmocka_unit_test(test_bad_params),
        cmocka_unit_test(test_bad_embeddings), cmocka_unit_test(test_seed_matters),
        cmocka_unit_test(test_spec),
    };

    if (argc == 2 && strcmp(argv[1], "dump") == 0) {
        dump();
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
