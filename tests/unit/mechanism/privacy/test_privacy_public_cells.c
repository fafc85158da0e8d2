/* One level of public cells in the distributed mode: planned, accounted again, stated, refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <fre/privacy.h>

#include "assert_num.h"
#include "plan_of.h"

static fre_plan_request asked(const char *list, double radius)
{
    fre_plan_request r;

    fre_plan_request_init(&r);
    r.epsilon = 4;
    r.delta = 1e-7;
    r.threshold = 50;
    r.population = 1000000;
    r.noise = FRE_NOISE_DISCRETE;
    r.dist.on = true;
    r.dist.one_contact = true;
    r.dist.server_noise = true;
    r.dist.dropout = 0;
    assert_int_equal(fre_plan_request_levels(&r, list, radius, FRE_COUNTS_SAMPLED, NULL), FRE_OK);
    return r;
}

/* Two records of a cell may be 2R apart, and B says nothing about that: a grid's worst case with B = R. */
static void the_shift_is_2r(void **state)
{
    fre_plan_request r = asked("4096", 0.6);
    fre_account a, b;
    fre_mechanism m, grid;
    fre_plan p;

    (void)state;
    r.norm_bound = 3;
    p = plan_of(&r);
    m = p.mechanism;
    assert_int_equal(m.sketch.kind, FRE_SKETCH_CODEBOOK);
    assert_true(m.sketch.codebook.cells == 4096);
    assert_close(p.account.split, 1.2, 0, 0);
    assert_close(p.worst_case_epsilon, 4, 0, 0);
    assert_close(m.norm_bound, 3, 0, 0);
    assert_int_equal(fre_joint_delta_at_split(&a, &m, 4, 1.2, NULL), FRE_OK);
    assert_close(a.delta, p.account.delta, 0, 1e-12);
    assert_true(a.delta <= 1e-7);
    assert_int_equal(fre_joint_delta(&b, &m, 4, NULL), FRE_OK);
    assert_close(b.delta, a.delta, 0, 1e-12);
    grid = m;
    grid.sketch = (fre_sketch_spec){.grid = {20, 0.1}};
    grid.norm_bound = 0.6;
    assert_int_equal(fre_joint_delta(&b, &grid, 4, NULL), FRE_OK);
    assert_close(b.delta, a.delta, 0, 0);
    m.sigma *= 0.99;
    assert_int_equal(fre_joint_delta(&b, &m, 4, NULL), FRE_OK);
    assert_true(b.delta > 1e-7);
    m.sigma /= 0.99;
    m.sketch.codebook.radius *= 1.01;
    assert_int_equal(fre_joint_delta(&b, &m, 4, NULL), FRE_OK);
    assert_true(b.delta > 1e-7);
}

static void its_level_is_its_mechanism(void **state)
{
    const fre_plan_request r = asked("4096x8", 0.5);
    const fre_plan p = plan_of(&r);
    const fre_level *l = &p.level[0].level;

    (void)state;
    assert_int_equal(l->counts, FRE_COUNTS_SAMPLED);
    assert_true(l->p32 == p.mechanism.p32 && l->tau == p.mechanism.tau);
    assert_close(l->sigma, p.mechanism.sigma, 0, 0);
    assert_close(l->shift, 1, 0, 0);
}

static void statement_says_so(void **state)
{
    fre_plan_request r = asked("4096", 0.6);
    fre_plan p;
    fre_buf text;

    (void)state;
    memset(r.level[0].sketch.codebook.sha256, 0xab, FRE_HASH_BYTES);
    r.level[0].sketch.codebook.level = 3;
    p = plan_of(&r);
    fre_buf_init(&text, 1u << 16);
    assert_int_equal(fre_plan_statement(&text, &p, true), FRE_OK);
    assert_int_equal(fre_buf_append(&text, "", 1), FRE_OK);
    assert_non_null(strstr((char *)text.p, "Cells: 4096 public cells; a record enters its cell's "
                                           "sum as its offset from the cell's centre, cut to "
                                           "length R = 0.6.\n"));
    assert_non_null(strstr((char *)text.p, "Codebook: level 3 of the file with SHA-256 abababab"));
    assert_non_null(strstr((char *)text.p, "Sensitivity: worst case, 2R = 1.2"));
    assert_null(strstr((char *)text.p, "projection"));
    assert_null(strstr((char *)text.p, "the curator"));
    assert_null(strstr((char *)text.p, "by levels"));
    fre_buf_wipe(&text);
}

static void refused(const fre_plan_request *r, const char *sentence)
{
    fre_err err = {.text = ""};
    fre_plan p;

    assert_int_equal(fre_plan_make(&p, r, &err), FRE_E_USAGE);
    if (!strstr(err.text, sentence))
        fail_msg("'%s' is not in '%s'", sentence, err.text);
}

static void refusals(void **state)
{
    fre_plan_request r = asked("4096,256", 0.6);
    fre_err err = {.text = ""};
    fre_mechanism m;
    fre_account a;

    (void)state;
    refused(&r, "one level");
    r = asked("grid,4096", 0.6);
    refused(&r, "one level");
    r = asked("4096", 0.6);
    r.level[0].counts = FRE_COUNTS_NOISY;
    refused(&r, "noisy is a curator's");
    r = asked("4096", 0);
    refused(&r, "radius of level 1 must be above 0");
    r = asked("4096", 0.6);
    r.accountant = FRE_ACCOUNTANT_PAPER;
    r.dist.one_contact = false;
    r.dist.server_noise = false;
    refused(&r, "knows the grid alone");
    r = asked("4096", 0.6);
    m = plan_of(&r).mechanism;
    m.sensitivity = FRE_SENSITIVITY_PROBABILISTIC;
    assert_int_equal(fre_joint_delta(&a, &m, 4, &err), FRE_E_USAGE);
    assert_non_null(strstr(err.text, "worst-case"));
    m.sensitivity = FRE_SENSITIVITY_WORST_CASE;
    m.sketch.codebook.radius = -1;
    assert_int_equal(fre_joint_delta(&a, &m, 4, NULL), FRE_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shift_is_2r),
        cmocka_unit_test(its_level_is_its_mechanism),
        cmocka_unit_test(statement_says_so),
        cmocka_unit_test(refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
