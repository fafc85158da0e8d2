/* Baselines: noise against an independent integration, laws of what is sent, an attack on small cases. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "baseline_private.h"

#include "assert_num.h"
#include "law.h"
#include "npy_file.h"
#include "temp_dir.h"

#define DIM 8u

static fre_baseline_opts options(fre_baseline_method method)
{
    fre_baseline_opts o;

    fre_baseline_opts_init(&o);
    o.method = method;
    o.evolution.rounds = 5;
    o.plan.epsilon = 4;
    o.plan.delta = 1e-6;
    o.threads = 1;
    return o;
}

/* ---- noise -------------------------------------------------------------------------------------- */

static fre_baseline_method named(const char *name)
{
    unsigned m = 0;

    while (strcmp(fre_baseline_name((fre_baseline_method)m), name) != 0)
        m++;
    return (fre_baseline_method)m;
}

/* "-": none. */
static double number(const char *text)
{
    return text[0] == '-' ? 0 : strtod(text, NULL);
}

/* Never below what the integration found, and above it only by the lattice's rounding: stretch. */
static void assert_least(double actual, const char *least, double stretch)
{
    assert_true(actual >= number(least) * (1 - 1e-9));
    assert_close(actual, number(least) * stretch, 0x1p-16, 1e-6);
}

static void noise_is_what_an_integration_finds(void **state)
{
    FILE *f = fopen(FRE_SOURCE_DIR "/tests/vectors/baseline.txt", "r");
    char line[256], method[32], adjacency[32], epsilon[32], delta[32], share[32], count[32],
        sigma[32], flip[32];
    unsigned threshold, cases = 0;

    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        fre_baseline_opts o;
        fre_baseline_plan p;

        if (line[0] == '#')
            continue;
        assert_int_equal(sscanf(line, "%31s %31s %31s %31s %u %31s %31s %31s %31s", method,
                                adjacency, epsilon, delta, &threshold, share, count, sigma, flip),
                         9);
        o = options(named(method));
        o.plan.epsilon = number(epsilon);
        o.plan.delta = number(delta);
        o.plan.threshold = threshold;
        o.plan.adjacency = adjacency[0] == 'r' ? FRE_ADJACENCY_REPLACE : FRE_ADJACENCY_ADD_REMOVE;
        o.count_share = number(share);
        assert_int_equal(fre_baseline_plan_make(&p, &o, 384, NULL), FRE_OK);
        assert_least(p.sigma, sigma, p.shift / round(p.shift));
        assert_least(p.count_sigma, count, 1);
        assert_true((double)p.flip32 * 0x1p-32 >= number(flip) * (1 - 1e-11));
        assert_close((double)p.flip32 * 0x1p-32, number(flip), 0x1p-32, 1e-11);
        assert_close(p.sigma, (double)p.sigma_lattice * p.lattice_step, 0, 0);
        cases++;
    }
    assert_int_equal(fclose(f), 0);
    assert_true(cases >= 20);
}

static void what_cannot_be_met_is_refused(void **state)
{
    fre_baseline_plan p = {.epsilon = -1};
    fre_baseline_opts o = options(FRE_BASELINE_CENTRAL_DP);
    fre_err err;

    (void)state;
    o.plan.epsilon = 0.1;
    o.plan.threshold = 5;
    assert_int_equal(fre_baseline_plan_make(&p, &o, DIM, &err), FRE_E_INFEASIBLE);
    assert_non_null(strstr(err.text, "{threshold}"));
    o = options(FRE_BASELINE_LDP_OUE);
    o.count_share = 1;
    assert_int_equal(fre_baseline_plan_make(&p, &o, DIM, &err), FRE_E_USAGE);
    assert_non_null(strstr(err.text, "{count_share}"));
    o = options(FRE_BASELINE_LDP_EMBEDDING);
    o.plan.epsilon = (double)NAN;
    assert_int_equal(fre_baseline_plan_make(&p, &o, DIM, &err), FRE_E_USAGE);
    assert_close(p.epsilon, -1, 0, 0); /* untouched */
}

/* ---- unary encoding ------------------------------------------------------------------------------- */

/* Two inputs differ in two bits, an input and none in one: no pattern of those bits is more than e^eps
 * times as likely under one as under the other. */
static void a_report_keeps_its_epsilon(void **state)
{
    (void)state;
    for (double epsilon = 0.01; epsilon < 20; epsilon *= 1.3) {
        fre_baseline_opts o = options(FRE_BASELINE_LDP_OUE);
        fre_baseline_plan p;
        double q, most = 0;

        o.plan.epsilon = epsilon;
        o.count_share = 0.5;
        assert_int_equal(fre_baseline_plan_make(&p, &o, DIM, NULL), FRE_OK);
        q = (double)p.flip32 * 0x1p-32;
        for (unsigned bits = 0; bits < 4; bits++) {
            /* one's own bit is 1 with chance 1/2, another's with chance q */
            const double none = bits & 1 ? q : 1 - q, other = bits & 2 ? q : 1 - q;

            most = fmax(most, fmax(other / none, none / other));
            most = fmax(most, fmax(0.5 / none, none / 0.5));
        }
        assert_true(log(most) <= p.count_epsilon * (1 + 1e-12));
        assert_close(log(most), p.count_epsilon, 1e-6, 1e-6);
    }
}

/* Ones of 9 users of whom 4 are in the cell: Bin(4, 1/2) + Bin(5, q). */
static void reports_follow_their_law(void **state)
{
    const uint64_t flip32 = UINT64_C(0x30000000); /* q = 3/16 */
    double seen[10] = {0}, mass[10] = {0};
    fre_rng r;

    (void)state;
    law_seeded(&r, 9);
    for (unsigned set = 0; set < 512; set++) {
        double p = 1;
        unsigned ones = 0;

        for (unsigned i = 0; i < 9; i++) {
            const double chance = i < 4 ? 0.5 : 0.1875;

            ones += set >> i & 1;
            p *= set >> i & 1 ? chance : 1 - chance;
        }
        mass[ones] += p;
    }
    for (int i = 0; i < 100000; i++)
        seen[baseline_oue_ones(&r, 4, 9, flip32)] += 1;
    assert_true(law_misfit(seen, mass, 10) <= 1);
    fre_rng_wipe(&r);
}

/* The estimate is unbiased, with the standard deviation that the article has. */
static void estimates_are_unbiased(void **state)
{
    const uint64_t users = 10000, in = 500, flip32 = FRE_P_ONE / 8;
    double sum = 0, sum2 = 0, sd;
    fre_rng r;

    (void)state;
    law_seeded(&r, 3);
    for (int i = 0; i < 4000; i++) {
        uint64_t count;

        (void)baseline_oue_released(&count, baseline_oue_ones(&r, in, users, flip32), users, flip32,
                                    1);
        sum += (double)count;
        sum2 += (double)count * (double)count;
    }
    sd = sqrt((500 * 0.25 + 9500 * 0.125 * 0.875)) / 0.375;
    assert_close(sum / 4000, 500, 5 * sd / sqrt(4000), 0);
    assert_close(sqrt(sum2 / 4000 - sum / 4000 * (sum / 4000)), sd, 0.06 * sd, 0);
    fre_rng_wipe(&r);
}

/* ---- runs of small cases, without files ------------------------------------------------------------ */

/* `users` users of one embedding, and one of another in the same cell if `more`. */
static void small_run(baseline_run *r, const fre_baseline_opts *o, uint64_t users, bool more,
                      uint8_t seed)
{
    baseline_people *p = &r->people;

    *r = (baseline_run){.opts = o, .result = calloc(1, sizeof *r->result)};
    assert_non_null(r->result);
    fre_map_init(&r->cells, FRE_CELL_BYTES);
    assert_int_equal(fre_baseline_plan_make(&r->plan, o, DIM, NULL), FRE_OK);
    *p = (baseline_people){.dim = DIM, .norm_bound = 1, .n = more ? 2 : 1, .users = users + more};
    p->x = calloc((size_t)2 * DIM, sizeof *p->x);
    p->weight = calloc(2, sizeof *p->weight);
    p->cap_x = (size_t)2 * DIM;
    p->cap_weight = 2;
    assert_true(p->x && p->weight);
    p->x[0] = 0.6f;
    p->x[DIM] = -1; /* as far as a user can pull */
    p->weight[0] = users;
    p->weight[1] = more;
    r->result->release.grid =
        (fre_sketch_params){.dim = DIM, .grid = {.proj = 1, .cell_edge = 1e4}};
    memset(r->result->release.grid.seed, 1, 32); /* its offset is far from both */
    assert_int_equal(fre_sketch_new(&r->sketch, &r->result->release.grid), FRE_OK);
    law_seeded(&r->counts, seed);
    law_seeded(&r->noise, (uint8_t)(seed + 1));
    law_seeded(&r->order, (uint8_t)(seed + 2));
}

static void small_again(baseline_run *r)
{
    fre_release_wipe(&r->result->release);
    fre_map_wipe(&r->cells);
    fre_map_init(&r->cells, FRE_CELL_BYTES);
    free(r->true_count);
    r->true_count = NULL;
    r->cap_true_count = 0;
    free(r->cell_of);
    r->cell_of = NULL;
}

static void small_end(baseline_run *r)
{
    small_again(r);
    fre_sketch_free(r->sketch);
    fre_map_wipe(&r->cells);
    baseline_people_wipe(&r->people);
    free(r->result);
}

#define RUNS 20000

/* Of RUNS runs, how often a release looks like one without the further user: what best tells the two
 * apart is a line through noisy count and sum. */
static double how_often(fre_baseline_opts *o, bool more, double weaker, double cut, uint8_t seed)
{
    baseline_run r;
    double hits = 0;

    small_run(&r, o, 200, more, seed);
    r.plan.count_sigma_lattice = (uint64_t)((double)r.plan.count_sigma_lattice * weaker);
    r.plan.sigma_lattice = (uint64_t)((double)r.plan.sigma_lattice * weaker);
    for (int i = 0; i < RUNS; i++) {
        const fre_release *out = &r.result->release;
        double count, sum;

        assert_int_equal(baseline_central(&r, NULL), FRE_OK);
        assert_int_equal(out->n, 1);
        count = (double)out->cell[0].count - 200;
        sum = (double)out->centroid[0] * (double)out->cell[0].count - 120;
        hits += count / (r.plan.count_sigma * r.plan.count_sigma) -
                    sum / (r.plan.sigma * r.plan.sigma) <
                cut;
        small_again(&r);
    }
    small_end(&r);
    return hits / RUNS;
}

/* ln((p - delta)/q) with both frequencies five of their standard deviations to the safe side. */
static double epsilon_shown(double p, double q, double delta)
{
    const double low = p - 5 * sqrt(p * (1 - p) / RUNS);
    const double high = q + 5 * sqrt((q + 1.0 / RUNS) * (1 - q) / RUNS);

    return low - delta > 0 ? log((low - delta) / high) : 0;
}

static double attack(double weaker, uint8_t seed)
{
    fre_baseline_opts o = options(FRE_BASELINE_CENTRAL_DP);
    double best = 0;

    o.plan.epsilon = 1;
    o.plan.delta = 1e-3;
    o.plan.threshold = 50;
    for (double cut = -1; cut < 1; cut += 0.5) {
        const double without = how_often(&o, false, weaker, cut, seed);
        const double with = how_often(&o, true, weaker, cut, (uint8_t)(seed + 50));

        best = fmax(best, epsilon_shown(without, with, 1e-3));
        best = fmax(best, epsilon_shown(1 - with, 1 - without, 1e-3));
    }
    return best;
}

static void an_attack_shows_no_more_than_is_claimed(void **state)
{
    (void)state;
    assert_true(attack(1, 1) <= 1);
    assert_true(attack(0.25, 1) > 1); /* it would have been seen */
}

/* One user alone in a cell: nothing is there without them, so they must hardly ever be seen. */
static void a_cell_of_one_user_stays_in(void **state)
{
    fre_baseline_opts o = options(FRE_BASELINE_CENTRAL_DP);
    baseline_run r;
    double seen = 0;

    (void)state;
    o.plan.epsilon = 1;
    o.plan.delta = 0.05;
    o.plan.threshold = 6;
    o.count_share = 0.5;
    small_run(&r, &o, 1, false, 7);
    for (int i = 0; i < RUNS; i++) {
        assert_int_equal(baseline_central(&r, NULL), FRE_OK);
        seen += (double)r.result->release.n;
        small_again(&r);
    }
    assert_true(r.plan.delta_empty < 0.025);
    assert_close(seen / RUNS, r.plan.delta_empty, 5 * sqrt(r.plan.delta_empty / RUNS), 1e-6);
    small_end(&r);
}

/* What users send: their embedding, and a normal deviate on each coordinate. */
static void what_is_sent_follows_its_law(void **state)
{
    fre_baseline_opts o = options(FRE_BASELINE_LDP_EMBEDDING);
    const uint64_t users = 400;
    double sum = 0, sum2 = 0, n = 0;
    baseline_run r;

    (void)state;
    o.plan.threshold = 1;
    for (uint8_t seed = 0; seed < 60; seed++) {
        small_run(&r, &o, users, false, seed);
        assert_int_equal(baseline_local(&r, NULL), FRE_OK);
        assert_int_equal(r.result->release.n, 1);
        assert_int_equal(r.result->release.cell[0].count, users);
        for (unsigned j = 0; j < DIM; j++) {
            const double z = ((double)r.result->release.centroid[j] - (j == 0 ? 0.6 : 0)) *
                             sqrt((double)users) / r.plan.sigma;

            sum += z;
            sum2 += z * z;
            n++;
        }
        small_end(&r);
    }
    assert_close(sum / n, 0, 5 / sqrt(n), 0);
    assert_close(sum2 / n, 1, 5 * sqrt(2 / n), 0);
}

/* ---- whole runs ------------------------------------------------------------------------------------ */

static void run_on(const char *name, fre_baseline_opts *o, fre_baseline_result **out)
{
    static float x[300 * DIM];
    char input[512], output[512];
    fre_err err = {.text = ""};

    for (unsigned i = 0; i < 300; i++)
        x[i * DIM + (i % 3 == 0)] = 1; /* two cells, of 200 and 100 */
    temp_path(input, &test_dir, "x.npy");
    write_rows(input, x, 300, DIM, false);
    temp_path(output, &test_dir, name);
    o->input = input;
    o->output = output;
    o->inverter = "none";
    o->plan.threshold = 50;
    o->plan.epsilon = 8;
    assert_int_equal(fre_baseline_run(out, o, &err), FRE_OK);
    o->input = o->output = NULL;
}

static void a_folder_is_read_as_a_release(void **state)
{
    (void)state;
    for (unsigned m = 0; m <= FRE_BASELINE_CENTRAL_DP; m++) {
        fre_baseline_opts o = options((fre_baseline_method)m);
        fre_baseline_result *r = NULL;
        fre_release back;
        char output[512];

        run_on(fre_baseline_name(o.method), &o, &r);
        temp_path(output, &test_dir, fre_baseline_name(o.method));
        assert_int_equal(fre_release_read(&back, output, NULL), FRE_OK);
        assert_int_equal(back.n, r->release.n);
        assert_int_equal(back.is_private, o.method != FRE_BASELINE_LDP_OUE);
        assert_string_equal(back.statement, r->release.statement);
        assert_memory_equal(back.centroid, r->release.centroid,
                            back.n * DIM * sizeof *back.centroid);
        if (o.method == FRE_BASELINE_CENTRAL_DP)
            assert_int_equal(back.n, 2);
        fre_release_wipe(&back);
        fre_baseline_free(r);
    }
}

/* With a seed, whatever the threads. */
static void a_seed_repeats_it(void **state)
{
    (void)state;
    for (unsigned m = 0; m <= FRE_BASELINE_CENTRAL_DP; m++) {
        fre_baseline_opts o = options((fre_baseline_method)m);
        fre_baseline_result *a = NULL, *b = NULL;

        o.seeded = true;
        o.force = true;
        o.seed[0] = 5;
        run_on("again", &o, &a);
        o.threads = 2;
        run_on("again", &o, &b);
        assert_false(a->release.is_private);
        assert_int_equal(a->release.n, b->release.n);
        assert_memory_equal(a->release.centroid, b->release.centroid,
                            a->release.n * DIM * sizeof(float));
        fre_baseline_free(a);
        fre_baseline_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_is_what_an_integration_finds),
        cmocka_unit_test(what_cannot_be_met_is_refused),
        cmocka_unit_test(a_report_keeps_its_epsilon),
        cmocka_unit_test(reports_follow_their_law),
        cmocka_unit_test(estimates_are_unbiased),
        cmocka_unit_test(an_attack_shows_no_more_than_is_claimed),
        cmocka_unit_test(a_cell_of_one_user_stays_in),
        cmocka_unit_test(what_is_sent_follows_its_law),
        cmocka_unit_test(a_folder_is_read_as_a_release),
        cmocka_unit_test(a_seed_repeats_it),
    };

    return cmocka_run_group_tests(tests, test_dir_make, test_dir_remove);
}
