/* Accountants against tests/vectors/privacy.json (see tests/vectors/README.md). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fre/privacy.h>

#include "assert_num.h"

/* ---- a reader for this one file: sections are arrays of objects of numbers and strings ------ */

static char *text;

static int load_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t n;

    free(text);
    text = calloc(1, 1 << 16);
    if (!f || !text)
        return -1;
    n = fread(text, 1, (1 << 16) - 1, f);
    (void)fclose(f);
    return n > 1000 && n < (1 << 16) - 1 ? 0 : -1;
}

static int load(void **state)
{
    (void)state;
    return load_file(FRE_SOURCE_DIR "/tests/vectors/privacy.json");
}

static int unload(void **state)
{
    (void)state;
    free(text);
    return 0;
}

/* A copy of the next object of a section, or NULL after the last; *at walks the section. */
static char *next_object(const char **at)
{
    const char *p = *at + strcspn(*at, "{]");
    const char *start = p;
    int depth = 0;

    if (*p != '{')
        return NULL;
    for (; *p; p++) {
        depth += *p == '{';
        depth -= *p == '}';
        if (depth == 0)
            break;
    }
    *at = p + 1;
    return strndup(start, (size_t)(p + 1 - start));
}

static const char *section(const char *name)
{
    char key[64];
    const char *p;

    (void)snprintf(key, sizeof key, "\"%s\": [", name);
    p = strstr(text, key);
    assert_non_null(p);
    return p + strlen(key);
}

static const char *value(const char *object, const char *name)
{
    char key[64];
    const char *p;

    (void)snprintf(key, sizeof key, "\"%s\": ", name);
    p = strstr(object, key);
    assert_non_null(p);
    return p + strlen(key);
}

static double number(const char *object, const char *name)
{
    char *end;
    const char *p = value(object, name);
    double x = strtod(p, &end);

    assert_true(end != p);
    return x;
}

static bool is(const char *object, const char *name, const char *word)
{
    return strncmp(value(object, name), word, strlen(word)) == 0;
}

/* ---- pieces ------------------------------------------------------------------------------- */

static void pieces(void **state)
{
    const char *at;
    char *o;
    int n = 0;

    (void)state;
    for (at = section("f"); (o = next_object(&at)) != NULL; free(o), n++)
        assert_close(fre_collision_f(number(o, "nu")), number(o, "f"), 0, 1e-9);
    for (at = section("collision"); (o = next_object(&at)) != NULL; free(o), n++)
        assert_close(fre_collision(&(fre_sketch_grid){(uint32_t)number(o, "k"), number(o, "cell")},
                                   number(o, "distance")),
                     number(o, "probability"), 0, 1e-9);
    for (at = section("gauss_delta"); (o = next_object(&at)) != NULL; free(o), n++)
        assert_close(fre_gauss_delta(number(o, "epsilon"), number(o, "mu")), number(o, "delta"), 0,
                     1e-9);
    for (at = section("zcdp_delta"); (o = next_object(&at)) != NULL; free(o), n++)
        assert_close(fre_zcdp_delta(number(o, "rho"), number(o, "epsilon")), number(o, "delta"), 0,
                     1e-9);
    for (at = section("two_cell_delta"); (o = next_object(&at)) != NULL; free(o), n++)
        assert_close(fre_two_cell_delta(number(o, "eps_hat"), number(o, "lambda_"),
                                        (uint32_t)number(o, "gamma")),
                     number(o, "delta"), 0, 1e-8);
    for (at = section("cover_delta"); (o = next_object(&at)) != NULL; free(o), n++)
        assert_close(fre_cover_delta(number(o, "eps_hat"), number(o, "lambda_"),
                                     (uint32_t)number(o, "gamma")),
                     number(o, "delta"), 0, 1e-8);
    assert_int_equal(n, 35);
}

static void tsdlap(void **state)
{
    const char *at = section("tsdlap");
    char *o;
    int n = 0;

    (void)state;
    for (; (o = next_object(&at)) != NULL; free(o)) {
        uint32_t gamma = (uint32_t)number(o, "gamma"), u;
        const char *pmf = strchr(value(o, "pmf"), '[');

        assert_non_null(pmf);
        for (u = 0; u <= 2 * gamma; u++, n++) {
            char *end;

            assert_close(fre_tsdlap_mass(number(o, "lambda_"), gamma, u), strtod(pmf + 1, &end), 0,
                         1e-9);
            pmf = end + strspn(end, " \n");
            assert_true(*pmf == (u < 2 * gamma ? ',' : ']'));
        }
    }
    assert_int_equal(n, 7 + 9);
}

/* ---- the paper ---------------------------------------------------------------------------- */

static void paper_groups(void **state)
{
    const char *at = section("paper_group_delta");
    char *o;
    int n = 0;

    (void)state;
    for (; (o = next_object(&at)) != NULL; free(o), n++)
        assert_close(fre_paper_group_delta(number(o, "p"), number(o, "tau"), number(o, "v"),
                                           (uint32_t)number(o, "l")),
                     number(o, "delta"), 0, 1e-9);
    assert_int_equal(n, 4);
}

/* p is rounded down to a multiple of 2^-32, which moves delta_fre by up to 1e-8 of itself;
 * sigma is larger by the lattice's rounding, at most dim^(1/2) 2^-20 (1 + 2^-20)... of itself. */
static void paper_calibrate(void **state)
{
    const char *at = section("paper_calibrate");
    char *o;
    int n = 0;

    (void)state;
    for (; (o = next_object(&at)) != NULL; free(o), n++) {
        fre_plan_request r;
        fre_plan p;
        const char *result = value(o, "result");

        fre_plan_request_init(&r);
        r.epsilon = number(o, "epsilon");
        r.delta = number(o, "delta");
        r.radius = number(o, "radius");
        r.threshold = (uint64_t)number(o, "threshold");
        r.proj = (uint32_t)number(o, "k");
        r.sampling_rate = number(o, "p");
        r.budget_factor = number(o, "v");
        r.sensitivity_ratio = number(o, "u");
        r.accountant = FRE_ACCOUNTANT_PAPER;
        r.gaussian = is(o, "gaussian", "\"zcdp\"") ? FRE_GAUSSIAN_ZCDP : FRE_GAUSSIAN_ANALYTIC;
        if (strncmp(result, "null", 4) == 0) {
            assert_int_equal(fre_plan_make(&p, &r, NULL), FRE_E_INFEASIBLE);
            continue;
        }
        assert_int_equal(fre_plan_make(&p, &r, NULL), FRE_OK);
        assert_int_equal(p.mechanism.tau, (uint64_t)number(result, "tau"));
        assert_close(p.epsilon_fre, number(result, "eps_fre"), 0, 1e-8);
        assert_close(p.delta_fre, number(result, "delta_fre"), 0, 2e-8);
        assert_close(p.delta_sens, number(result, "delta_sens"), 0, 1e-9);
        assert_close(p.epsilon_agg, number(result, "eps_agg"), 0, 1e-8);
        assert_close(p.delta_agg, number(result, "delta_agg"), 0, 1e-7);
        assert_close(p.multiplier, number(result, "multiplier"), 0, 1e-8);
        assert_true(p.mechanism.sigma >= number(result, "sigma") * (1 - 1e-8));
        assert_close(p.mechanism.sigma, number(result, "sigma"), 0, 1e-4);
        assert_true(p.account.delta <= r.delta);
    }
    assert_int_equal(n, 16);
}

/* ---- the joint accountant ----------------------------------------------------------------- */

static void joint_delta(void **state)
{
    const char *at = section("joint_delta");
    char *o;
    int n = 0;

    (void)state;
    for (; (o = next_object(&at)) != NULL; free(o), n++) {
        fre_mechanism m = {.sketch.grid.proj = (uint32_t)number(o, "k"),
                           .p32 = fre_p32(number(o, "p")),
                           .tau = (uint64_t)number(o, "tau"),
                           .sigma = number(o, "sigma"),
                           .sketch.grid.cell_edge = number(o, "cell"),
                           .population = (uint64_t)number(o, "N"),
                           .norm_bound = 1,
                           .cells_per_user = 1};
        double tol = number(o, "rel_tol"), heavy = number(o, "heavy"), far = number(o, "sens");
        fre_account a;

        if (!is(o, "dummies", "null"))
            m.dist = (fre_distributed){.on = true,
                                       .cover = is(o, "cover", "true"),
                                       .lambda = number(o, "lambda_"),
                                       .gamma = (uint32_t)number(o, "gamma")};
        if (is(o, "adjacency", "\"replace\""))
            m.adjacency = FRE_ADJACENCY_REPLACE;
        assert_int_equal(
            fre_joint_delta_at_split(&a, &m, number(o, "epsilon"), number(o, "split"), NULL),
            FRE_OK);
        assert_close(a.delta_released, heavy, 0, tol);
        assert_true(a.delta_released >= heavy * (1 - 1e-8));
        assert_true(a.delta_far <= far * (1 + 1e-8)); /* each far member charged 1: a bound */
        assert_close(a.delta_unreleased, number(o, "dummy"), 1e-280, 1e-8);
        assert_true(a.delta <= number(o, "delta") * (1 + tol));
        assert_close(a.delta, a.delta_released + a.delta_far + a.delta_unreleased, 0, 1e-15);
        assert_close((double)a.worst_cell, number(o, "worst_n"), 1, 0);
    }
    assert_int_equal(n, 9);
}

/* The reference's suprema are taken on grids. */
static void far_members_at_cost(void **state)
{
    const char *at;
    char *o;
    int n = 0;

    (void)state;
    assert_int_equal(load_file(FRE_SOURCE_DIR "/tests/vectors/far.json"), 0);
    for (at = section("cases"); (o = next_object(&at)) != NULL; free(o), n++) {
        fre_mechanism m = {.sketch.grid.proj = (uint32_t)number(o, "projection_dim"),
                           .p32 = fre_p32(number(o, "sampling_rate")),
                           .tau = (uint64_t)number(o, "tau"),
                           .sigma = number(o, "sigma"),
                           .sketch.grid.cell_edge = number(o, "cell_edge"),
                           .population = (uint64_t)number(o, "population"),
                           .norm_bound = number(o, "norm_bound"),
                           .adjacency = is(o, "adjacency", "\"replace\"")
                                            ? FRE_ADJACENCY_REPLACE
                                            : FRE_ADJACENCY_ADD_REMOVE,
                           .cells_per_user = 1};
        double delta = number(o, "delta"), far = number(o, "delta_far");
        fre_account a;

        assert_int_equal(
            fre_joint_delta_at_split(&a, &m, number(o, "epsilon"), number(o, "split"), NULL),
            FRE_OK);
        assert_true(a.delta >= delta * (1 - 1e-3) && a.delta <= delta * 1.02);
        assert_true(a.delta_released >= number(o, "delta_released") * (1 - 1e-3));
        assert_true(a.delta_far >= far * (1 - 1e-3));
        assert_true(a.delta_far <= 1.02 * far + 1e-3 * delta);
        assert_close(a.delta, a.delta_released + a.delta_far, 0, 1e-15);
    }
    assert_int_equal(n, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces),       cmocka_unit_test(tsdlap),
        cmocka_unit_test(paper_groups), cmocka_unit_test(paper_calibrate),
        cmocka_unit_test(joint_delta),  cmocka_unit_test(far_members_at_cost),
    };

    return cmocka_run_group_tests(tests, load, unload);
}
