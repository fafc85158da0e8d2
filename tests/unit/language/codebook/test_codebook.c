/* The promises of fre/codebook.h: cells against their definition written out, whatever the threads and the
 * cut; what no codebook can be is refused with its reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/codebook.h>
#include <fre/linalg.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mix.h"

#define D 24u
#define FINE 90u /* centres of the first base */
#define COARSE 11u
#define GROUPS 9u
#define CODES 7u
#define N 900u
#define LEVELS 4u

static float fine[FINE * D], coarse[COARSE * D], code[CODES * D], few[3 * D], x[N * D];
static const uint32_t group[GROUPS] = {10, 1, 20, 9, 15, 5, 12, 8, 10}, one_group[1] = {COARSE};
static const char text[] = "set an alarm\0what is the weather\0wie spät ist es";
static uint32_t medoid[COARSE];

static const fre_codebook_base bases[] = {
    {.centre = fine, .centres = FINE, .group = group, .n_groups = GROUPS},
    {.centre = coarse, .centres = COARSE, .group = one_group, .n_groups = 1},
};
static const fre_codebook_spec levels[LEVELS] = {
    {.base = 0, .codes = CODES, .code = code, .radius = 0.5, .gain = 1.2, .spread = 0.6},
    {.base = 0, .codes = 3, .code = few, .radius = 0.6, .gain = 1.3, .spread = 0.7},
    {.base = 0, .codes = 1, .radius = 0.6, .gain = 1.3, .spread = 0.8},
    {.base = 1, .codes = 1, .radius = 0.7, .gain = 1, .spread = 0.9, .medoid = medoid},
};

static void draw(float *to, size_t rows, double size)
{
    for (size_t i = 0; i < rows * D; i++)
        to[i] = (float)(size * mix_gauss());
}

static fre_codebook_parts parts(void)
{
    mix = 21;
    draw(fine, FINE, 1);
    draw(coarse, COARSE, 1);
    draw(code, CODES, 0.3);
    draw(few, 3, 0.3);
    draw(x, N, 1);
    for (uint32_t i = 0; i < COARSE; i++)
        medoid[i] = i == 2 ? FRE_CODEBOOK_NO_MEDOID : i % 2 ? 13 : 0;
    return (fre_codebook_parts){.dim = D,
                                .probes = 3,
                                .base = bases,
                                .n_bases = 2,
                                .level = levels,
                                .n_levels = LEVELS,
                                .text = text,
                                .text_bytes = sizeof text};
}

static fre_codebook *make(void)
{
    const fre_codebook_parts p = parts();
    fre_codebook *c = NULL;
    fre_err err = {.text = ""};

    if (fre_codebook_new(&c, &p, &err) != FRE_OK)
        fail_msg("%s", err.text);
    return c;
}

static uint32_t nearest(const float *q, const float *rows, uint32_t n)
{
    uint32_t best = 0;

    for (uint32_t j = 1; j < n; j++)
        if (fre_dist2(q, rows + j * D, D) < fre_dist2(q, rows + best * D, D))
            best = j;
    return best;
}

/* The groups in the order of their means' distance, then the centres of the first three. */
static uint32_t slow_centre(const float *q)
{
    float mean[GROUPS][D];
    bool taken[GROUPS] = {false};
    double best = (double)INFINITY;
    uint32_t found = 0, first[GROUPS + 1] = {0};

    for (uint32_t g = 0; g < GROUPS; g++) {
        first[g + 1] = first[g] + group[g];
        for (size_t i = 0; i < D; i++) {
            double sum = 0;

            for (uint32_t j = first[g]; j < first[g + 1]; j++)
                sum += (double)fine[j * D + i];
            mean[g][i] = (float)(sum / group[g]);
        }
    }
    for (size_t k = 0; k < 3; k++) {
        uint32_t near = GROUPS;

        for (uint32_t g = 0; g < GROUPS; g++)
            if (!taken[g] &&
                (near == GROUPS || fre_dist2(q, mean[g], D) < fre_dist2(q, mean[near], D)))
                near = g;
        taken[near] = true;
    }
    for (uint32_t g = 0; g < GROUPS; g++)
        for (uint32_t j = first[g]; taken[g] && j < first[g + 1]; j++)
            if (fre_dist2(q, fine + j * D, D) < best) {
                best = fre_dist2(q, fine + j * D, D);
                found = j;
            }
    return found;
}

static void cells_follow_their_definition(void **state)
{
    static uint32_t cell[N * LEVELS];
    fre_codebook *c = make();

    (void)state;
    assert_int_equal(fre_codebook_cells(c, cell, x, N, 2), FRE_OK);
    for (size_t i = 0; i < N; i++) {
        const uint32_t j = slow_centre(x + i * D);
        float offset[D];

        for (size_t k = 0; k < D; k++)
            offset[k] = x[i * D + k] - fine[j * D + k];
        assert_int_equal(cell[i * LEVELS], j * CODES + nearest(offset, code, CODES));
        assert_int_equal(cell[i * LEVELS + 1], j * 3 + nearest(offset, few, 3));
        assert_int_equal(cell[i * LEVELS + 2], j);
        assert_int_equal(cell[i * LEVELS + 3], nearest(x + i * D, coarse, COARSE));
    }
    fre_codebook_free(c);
}

/* Also across the slices that offsets are kept for. */
static void cuts_and_threads_do_not_matter(void **state)
{
    static const size_t cut[] = {1, 13, N};
    const size_t many = 9000;
    uint32_t first[N * LEVELS], cell[N * LEVELS];
    fre_codebook *c = make();
    float *copies = malloc(many * D * sizeof *copies);
    uint32_t *all = malloc(many * LEVELS * sizeof *all);

    (void)state;
    assert_true(copies && all);
    assert_int_equal(fre_codebook_cells(c, first, x, N, 1), FRE_OK);
    for (size_t t = 0; t < sizeof cut / sizeof *cut; t++) {
        memset(cell, 0xff, sizeof cell);
        for (size_t at = 0; at < N; at += cut[t])
            assert_int_equal(fre_codebook_cells(c, cell + at * LEVELS, x + at * D,
                                                N - at < cut[t] ? N - at : cut[t], 1 + (uint32_t)t),
                             FRE_OK);
        assert_memory_equal(cell, first, sizeof cell);
    }
    for (size_t i = 0; i < many; i++)
        memcpy(copies + i * D, x + i % N * D, D * sizeof *copies);
    assert_int_equal(fre_codebook_cells(c, all, copies, many, 3), FRE_OK);
    for (size_t i = 0; i < many; i++)
        assert_memory_equal(all + i * LEVELS, first + i % N * LEVELS, LEVELS * sizeof *all);
    fre_codebook_free(c);
    free(copies);
    free(all);
}

static void what_it_holds(void **state)
{
    static const char *const name[] = {"90x7", "90x3", "90", "11"};
    fre_codebook *c = make();
    float centre[D];

    (void)state;
    assert_int_equal(fre_codebook_info_view(c)->dim, D);
    assert_int_equal(fre_codebook_info_view(c)->n_levels, LEVELS);
    for (uint32_t l = 0; l < LEVELS; l++) {
        const fre_codebook_level *v = fre_codebook_level_view(c, l);

        assert_string_equal(v->name, name[l]);
        assert_int_equal(v->cells, v->centres * v->codes);
        assert_true(v->radius > levels[l].radius - 1e-9 && v->gain > levels[l].gain - 1e-9 &&
                    v->spread > levels[l].spread - 1e-9);
    }
    fre_codebook_centre(c, 0, 5 * CODES + 2, centre);
    for (size_t i = 0; i < D; i++) {
        const float sum = fine[5 * D + i] + code[2 * D + i];

        assert_memory_equal(&centre[i], &sum, sizeof sum);
    }
    fre_codebook_centre(c, 3, 4, centre);
    assert_memory_equal(centre, coarse + 4 * D, sizeof centre);
    assert_null(fre_codebook_medoid(c, 0, 0));
    assert_null(fre_codebook_medoid(c, 3, 2));
    assert_string_equal(fre_codebook_medoid(c, 3, 0), "set an alarm");
    assert_string_equal(fre_codebook_medoid(c, 3, 1), "what is the weather");
    fre_codebook_free(c);
}

static void rows_that_are_not_finite_are_refused(void **state)
{
    uint32_t cell[2 * LEVELS], kept[2 * LEVELS];
    fre_codebook *c = make();
    float rows[2 * D];

    (void)state;
    memcpy(rows, x, sizeof rows);
    memset(cell, 0xa5, sizeof cell);
    memcpy(kept, cell, sizeof cell);
    rows[D + 3] = NAN;
    assert_int_equal(fre_codebook_cells(c, cell, rows, 2, 1), FRE_E_DATA);
    rows[D + 3] = INFINITY;
    assert_int_equal(fre_codebook_cells(c, cell, rows, 2, 1), FRE_E_DATA);
    assert_memory_equal(cell, kept, sizeof cell);
    memset(rows, 0, sizeof rows);
    assert_int_equal(fre_codebook_cells(c, cell, rows, 2, 1), FRE_OK);
    fre_codebook_free(c);
}

static void refused(const fre_codebook_parts *p, const char *reason)
{
    fre_codebook *c = NULL;
    fre_err err = {.text = ""};

    assert_int_equal(fre_codebook_new(&c, p, &err), FRE_E_DATA);
    assert_null(c);
    if (!strstr(err.text, reason))
        fail_msg("%s, where %s was wanted", err.text, reason);
}

static void bad_centres_are_refused(void **state)
{
    fre_codebook_parts p = parts();
    fre_codebook_base base[2];
    uint32_t wrong[GROUPS];

    (void)state;
    memset(fine + 7 * D, 0, D * sizeof *fine);
    fine[7 * D + 2] = -0.0f;
    refused(&p, "centre 7 of a codebook is zero");
    p = parts();
    fine[3 * D + 1] = NAN;
    refused(&p, "centre 3 of a codebook is not finite");
    p = parts();
    memcpy(fine + 60 * D, fine + 4 * D, D * sizeof *fine);
    refused(&p, "centres 4 and 60 of a codebook are the same");
    p = parts();
    memcpy(code + 6 * D, code, D * sizeof *code);
    refused(&p, "codes 0 and 6 of a codebook are the same");
    p = parts();
    code[5] = INFINITY;
    refused(&p, "code 0 of a codebook is not finite");
    p = parts();
    memcpy(base, bases, sizeof base);
    p.base = base;
    base[1].centres = 0;
    refused(&p, "this has 0");
    memcpy(base, bases, sizeof base);
    memcpy(wrong, group, sizeof wrong);
    base[0].group = wrong;
    wrong[2]--;
    refused(&p, "89 centres together");
    wrong[2] = 21;
    wrong[1] = 0;
    refused(&p, "group 1 of a codebook's centres is empty");
    base[0].n_groups = 0;
    refused(&p, "0 centres together");
}

static void bad_levels_are_refused(void **state)
{
    const fre_codebook_parts good = parts();
    fre_codebook_spec spec[LEVELS], *const last = &spec[LEVELS - 1];
    fre_codebook_parts p = good;
    float direction[D * D], variance[LEVELS * D];

    (void)state;
    p.level = spec;
#define WITH(change, reason)                                                                       \
    do {                                                                                           \
        memcpy(spec, levels, sizeof spec);                                                         \
        change;                                                                                    \
        refused(&p, reason);                                                                       \
    } while (0)
    WITH(last->radius = 0, "radius of a codebook's level 4");
    WITH(last->radius = -1, "radius of a codebook's level 4");
    WITH(last->radius = (double)NAN, "radius of a codebook's level 4");
    WITH(last->gain = 0.9, "level 4 of a codebook has a gain");
    WITH(last->spread = 0, "level 4 of a codebook has a gain");
    WITH(last->quantile[1] = 0.1, "the quantiles of a codebook's level 4 fall");
    WITH(last->quantile[4] = NAN, "the quantiles of a codebook's level 4 fall");
    WITH(last->base = 2, "level 4 of a codebook stands on no base");
    WITH(last->codes = 0, "level 4 of a codebook has no codes");
    WITH(last->codes = FRE_CODEBOOK_CODES_MAX + 1, "level 4 of a codebook has no codes");
    WITH(spec[2] = spec[1], "level 3 has 270 after 270");
    WITH(spec[0] = spec[1]; spec[1] = levels[0], "level 2 has 630 after 270");
#undef WITH
    p = good;
    p.n_levels = 0;
    refused(&p, "1 to 16 levels");
    p = good;
    p.n_levels = FRE_CODEBOOK_LEVELS_MAX + 1;
    refused(&p, "1 to 16 levels");
    p = good;
    p.dim = 0;
    refused(&p, "dimension");
    p = good;
    p.probes = 0;
    refused(&p, "groups");
    for (size_t i = 0; i < D * D; i++)
        direction[i] = i % (D + 1) == 0;
    for (size_t i = 0; i < LEVELS * D; i++)
        variance[i] = 1;
    p = good;
    p.direction = direction;
    p.variance = variance;
    direction[0] = 1.1f;
    refused(&p, "direction 0 of a codebook");
    direction[0] = 1;
    variance[D + 2] = 0;
    refused(&p, "a variance of a codebook's level 2");
    variance[D + 2] = NAN;
    refused(&p, "a variance of a codebook's level 2");
    p = good;
    p.text_bytes--;
    refused(&p, "last sentence");
    p = parts();
    medoid[5] = 3;
    refused(&p, "medoid of cell 5");
    medoid[5] = sizeof text;
    refused(&p, "medoid of cell 5");
}

/* A level as a sketch finds the cells that the codebook finds, and says the same centres. */
static void a_level_as_a_sketch(void **state)
{
    fre_codebook *c = make();
    uint32_t cell[LEVELS];
    float a[D], b[D], bad[D] = {NAN};

    (void)state;
    for (uint32_t level = 0; level < LEVELS; level++) {
        const fre_sketch_spec spec = fre_codebook_sketch(c, level);
        fre_sketch *s = NULL;
        fre_cell name, same;
        uint32_t at;

        assert_int_equal(fre_codebook_sketch_open(&s, c, level), FRE_OK);
        assert_int_equal(fre_sketch_dim(s), D);
        assert_null(fre_sketch_params_view(s));
        assert_memory_equal(&fre_sketch_spec_view(s)->codebook, &spec.codebook,
                            sizeof spec.codebook.sha256);
        assert_true(fabs(spec.codebook.gain - fre_codebook_level_view(c, level)->gain) <= 0);
        for (size_t i = 0; i < N; i++) {
            assert_int_equal(fre_codebook_cells(c, cell, x + i * D, 1, 1), FRE_OK);
            assert_int_equal(fre_sketch_nearest(s, &at, x + i * D, D), FRE_OK);
            assert_int_equal(at, cell[level]);
        }
        assert_int_equal(fre_sketch_cell(s, &name, x + (N - 1) * D, D), FRE_OK);
        assert_int_equal(fre_sketch_public_cell(&same, &spec, at), FRE_OK);
        assert_memory_equal(&name, &same, sizeof name);
        assert_int_equal(fre_sketch_centre(s, a, at), FRE_OK);
        fre_codebook_centre(c, level, at, b);
        assert_memory_equal(a, b, sizeof a);
        assert_int_equal(fre_sketch_centre(s, a, (uint32_t)spec.codebook.cells), FRE_E_ARG);
        assert_int_equal(fre_sketch_nearest(s, &at, x, D - 1), FRE_E_ARG);
        assert_int_equal(fre_sketch_nearest(s, &at, bad, D), FRE_E_ARG);
        assert_int_equal(fre_sketch_coords(s, (int32_t[64]){0}, x, D), FRE_E_ARG);
        fre_sketch_free(s);
    }
    fre_codebook_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_level_as_a_sketch),
        cmocka_unit_test(cells_follow_their_definition),
        cmocka_unit_test(cuts_and_threads_do_not_matter),
        cmocka_unit_test(what_it_holds),
        cmocka_unit_test(rows_that_are_not_finite_are_refused),
        cmocka_unit_test(bad_centres_are_refused),
        cmocka_unit_test(bad_levels_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
