/* A few hundred users through the whole protocol: what is released agrees with the exact sums, whoever
 * adds the noise, over a network that drops, loses and repeats. */
#include <fre/simulate.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define DIM 16u
#define GROUPS 3u
#define GROUP 80u
#define LONERS 40u
#define USERS (GROUPS * GROUP + LONERS)

static char *place;
static char path[64];

/* Coordinate 3 of row 5 of a copy of the input is `value`. */
static void write_odd_input(const char *odd, float value)
{
    fre_npy *npy = NULL;
    float x[DIM];
    FILE *f = fopen(odd, "wb");

    assert_non_null(f);
    assert_int_equal(fre_npy_open(&npy, path, NULL), FRE_OK);
    assert_int_equal(fre_npy_write_header(f, FRE_NPY_F4, USERS, DIM, NULL), FRE_OK);
    for (size_t i = 0; i < USERS; i++) {
        assert_int_equal(fre_npy_row(npy, x, i, NULL), FRE_OK);
        x[3] = i == 5 ? value : x[3];
        assert_int_equal(fwrite(x, sizeof x, 1, f), 1);
    }
    fre_npy_free(npy);
    assert_int_equal(fclose(f), 0);
}

/* GROUPS texts that GROUP users each share, and LONERS far from everything. */
static int write_input(void **state)
{
    float x[DIM];
    FILE *f;

    (void)state;
    place = strdup("/tmp/test_simulate.XXXXXX");
    if (!place || !mkdtemp(place))
        return -1;
    (void)snprintf(path, sizeof path, "%s/rows.npy", place);
    f = fopen(path, "wb");
    if (!f || fre_npy_write_header(f, FRE_NPY_F4, USERS, DIM, NULL) != FRE_OK)
        return -1;
    for (uint32_t i = 0; i < USERS; i++) {
        memset(x, 0, sizeof x);
        if (i < GROUPS * GROUP)
            x[i % GROUPS] = 1; /* one cell each, whatever the grid: the same point */
        else
            x[GROUPS + i % 8] = (i % 3 == 0 ? 1.f : -1.f) * (1 - .01f * (float)(i % 16));
        if (fwrite(x, sizeof x, 1, f) != 1)
            return -1;
    }
    return fclose(f) == 0 ? 0 : -1;
}

static int drop_input(void **state)
{
    (void)state;
    (void)unlink(path);
    (void)rmdir(place);
    free(place);
    return 0;
}

static fre_simulate_opts options(void)
{
    fre_simulate_opts o;

    fre_simulate_opts_init(&o);
    o.input = path;
    o.inverter = "none";
    o.plan.epsilon = 8;
    o.plan.delta = 1e-4;
    o.plan.threshold = 40;
    o.plan.population = 1000;
    o.plan.sampling_rate = .6; /* no search: the plan is made some twenty times here */
    o.compare = true;
    o.threads = 2;
    o.batch_min = 10;
    o.seeded = true;
    memset(o.seed, 0x5e, sizeof o.seed);
    return o;
}

static fre_simulation *run(const fre_simulate_opts *o)
{
    fre_simulation *s = NULL;
    fre_err err = {.text = ""};
    const fre_status st = fre_simulate(&s, o, &err);

    if (st != FRE_OK)
        print_error("%s\n", err.text);
    assert_int_equal(st, FRE_OK);
    return s;
}

/* In beta^2, a coordinate: of each share, and with two contacts of the public grid, whose step is below
 * 16 beta / n(c), half of which rounding takes away at most. */
static double rounding(const fre_simulation *s, double count)
{
    const double needed = (1 - s->plan.mechanism.dist.dropout) * count;

    return s->plan.mechanism.dist.one_contact ? 1 / count : 1 / needed + 64 / (needed * needed);
}

/* Everybody of a group holds one unit vector: without noise the centroid is that vector but for the
 * rounding of each answer to the lattice, of variance at most beta^2/4 a coordinate (beta^2/6 on
 * average, for which the bound on the squared norm is six times what is expected). */
static void expect_groups(const fre_simulation *s)
{
    bool seen[GROUPS] = {false};
    double beta = fre_quantisation(s->plan.sigma_local, s->plan.account.split, DIM);

    assert_int_equal(s->release.n, GROUPS);
    for (size_t i = 0; i < s->release.n; i++) {
        const float *x = s->release.centroid + i * DIM;
        size_t best = 0;
        double gap = 0;

        for (size_t j = 1; j < DIM; j++)
            best = x[j] > x[best] ? j : best;
        assert_true(best < GROUPS);
        assert_false(seen[best]);
        seen[best] = true;
        for (size_t j = 0; j < DIM; j++)
            gap += pow((double)x[j] - (j == best), 2);
        assert_true(gap <= beta * beta * DIM * rounding(s, (double)s->release.cell[i].count));
        assert_true(s->release.cell[i].count <= GROUP);
        assert_true(s->release.cell[i].count >= s->plan.mechanism.tau);
    }
}

/* Everybody was admitted, had tags, and (but for who is silent) was taken once. */
static void expect_clean(const fre_simulation *s)
{
    const bool one = s->plan.mechanism.dist.one_contact;
    const size_t last = one ? FRE_SIMULATE_REPORTS : FRE_SIMULATE_ANSWERS;

    assert_int_equal(s->refused, 0);
    assert_int_equal(s->comparison.matched, s->release.n);
    /* S_syn's request and the relay's; with two contacts the list. */
    assert_int_equal(s->tally[FRE_ROLE_ISSUER].accepted, USERS + 1 + !one);
    assert_int_equal(s->tally[FRE_ROLE_TAG].accepted, USERS + 2 + !one);
    for (size_t leg = 0; leg < last; leg++)
        assert_int_equal(s->leg[leg].clients, USERS);
    assert_int_equal(s->leg[last].clients, USERS - s->silent);
    for (size_t role = 1; role <= FRE_ROLE_ISSUER; role++)
        for (size_t i = 1; i < FRE_REJECTIONS; i++)
            if (i != FRE_REJECTED_UNAVAILABLE) /* the relay, where it got no answer */
                assert_int_equal(s->tally[role].rejected[i], 0);
}

static void test_exact_sums_without_noise(void **state)
{
    (void)state;
    for (unsigned servers = 0; servers < 2; servers++) {
        fre_simulate_opts o = options();
        fre_simulation *s;

        o.exact = true;
        o.plan.dist.server_noise = servers == 1;
        s = run(&o);
        expect_groups(s);
        expect_clean(s);
        /* Everybody sends as much as everybody else, whatever the coin. */
        for (size_t leg = 0; leg < FRE_SIMULATE_LEGS; leg++)
            assert_int_equal(s->leg[leg].up % USERS, 0);
        fre_simulation_free(s);
    }
}

static void test_bad_network(void **state)
{
    fre_simulate_opts o = options();
    fre_simulation *s;

    (void)state;
    o.exact = true;
    o.dropout_rate = .1;
    o.loss_rate = .3;
    o.duplicate_rate = .3;
    s = run(&o);
    expect_groups(s);
    expect_clean(s);
    assert_true(s->lost > 0 && s->repeated > 0 && s->tally[FRE_ROLE_RELAY].repeated > 0);
    assert_true(s->silent > 0);
    fre_simulation_free(s);
}

static fre_simulate_opts two_contacts(void)
{
    fre_simulate_opts o = options();

    o.plan.dist.one_contact = o.plan.dist.server_noise = false;
    o.plan.dist.dropout = .2;
    return o;
}

/* Some of those who are listed never answer; the network is bad too. */
static void test_two_contacts(void **state)
{
    fre_simulate_opts o = two_contacts();
    fre_simulation *s;

    (void)state;
    o.exact = true;
    s = run(&o);
    expect_groups(s);
    expect_clean(s);
    fre_simulation_free(s);
    o.dropout_rate = .05;
    o.loss_rate = .3;
    o.duplicate_rate = .3;
    s = run(&o);
    expect_groups(s);
    expect_clean(s);
    assert_true(s->silent > 0 && s->lost > 0);
    fre_simulation_free(s);
}

/* Without cover who holds nothing sends nothing. */
static void test_two_contacts_without_cover(void **state)
{
    fre_simulate_opts o = two_contacts();
    fre_simulation *s;

    (void)state;
    o.exact = true;
    o.plan.dist.cover = false;
    s = run(&o);
    expect_groups(s);
    assert_int_equal(s->refused, 0);
    assert_true(s->leg[FRE_SIMULATE_REPORTS].clients < USERS);
    assert_true(s->leg[FRE_SIMULATE_ANSWERS].up > 0);
    fre_simulation_free(s);
}

/* The noise of two contacts, as that of one below. */
static void test_noise_of_two_contacts(void **state)
{
    fre_simulate_opts o = two_contacts();
    fre_simulation *s;

    (void)state;
    o.dropout_rate = .05;
    s = run(&o);
    assert_int_equal(s->comparison.matched, s->release.n);
    assert_true(s->release.n > 0);
    assert_true(fabs(s->comparison.noise_z) < 6);
    fre_simulation_free(s);
}

/* Groups are more than three times tau. */
static void test_splits(void **state)
{
    (void)state;
    for (unsigned two = 0; two < 2; two++) {
        fre_simulate_opts o = two ? two_contacts() : options();
        fre_simulation *whole, *s;

        o.plan.delta = 0.05;
        o.plan.threshold = 15;
        o.exact = true;
        o.plan.dist.splits = true;
        s = run(&o);
        for (size_t i = 0; i < s->release.n; i++)
            assert_int_equal(
                fre_cell_sums(&s->plan.mechanism, s->release.cell[i].count), 3);
        expect_groups(s);
        expect_clean(s);
        assert_true(s->comparison.freedom <= 0);
        o.plan.dist.splits = false;
        whole = run(&o);
        assert_true(whole->comparison.freedom > 0);
        for (size_t i = 0; !two && i < s->release.n; i++)
            assert_true(fabs(s->release.cell[i].noise_norm * (double)s->release.cell[i].count -
                             sqrt(3) * whole->release.cell[0].noise_norm *
                                 (double)whole->release.cell[0].count) < 1e-9);
        fre_simulation_free(whole);
        fre_simulation_free(s);
    }
}

/* Reads the folder's files, and removes it. */
static void expect_folder(const char *folder)
{
    const char *const *name = fre_release_files();
    char file[160];
    struct stat is;

    for (; *name; name++) {
        (void)snprintf(file, sizeof file, "%s/%s", folder, *name);
        assert_int_equal(stat(file, &is), 0);
        assert_true(is.st_size > 0);
        assert_int_equal(unlink(file), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

/* With the noise of the plan: chi-square of all coordinates within 6 standard deviations, and the
 * rounding's variance is in the plan. */
static void test_noise_as_planned(void **state)
{
    fre_simulate_opts o = options();
    fre_simulation *s;
    char folder[80];

    (void)state;
    (void)snprintf(folder, sizeof folder, "%s/out", place);
    o.output = folder;
    s = run(&o);
    expect_folder(folder);
    assert_non_null(strstr(s->release.statement, "NOT PRIVATE"));
    expect_clean(s);
    assert_int_equal(s->release.n, GROUPS);
    assert_true(s->comparison.freedom > 0);
    assert_true(fabs(s->comparison.noise_z) < 6);
    assert_int_equal(s->comparison.cells, GROUPS);
    assert_int_equal(s->comparison.curator_released, GROUPS);
    assert_int_equal(s->comparison.both, GROUPS);
    /* Dummies are within what TSDLap can draw: 0 to twice the mean. */
    assert_true(s->padding > 0 && (double)s->padding <= 2 * s->plan.expected_dummies);
    fre_simulation_free(s);
}

/* The same with clients' noise, and with users who stay out of it: chi-square over all coordinates of all
 * released cells. */
static void test_noise_of_clients(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 2; kind++) {
        fre_simulate_opts o = options();
        fre_simulation *s;

        o.plan.dist.server_noise = false;
        o.dropout_rate = kind == 1 ? .2 : 0;
        s = run(&o);
        assert_int_equal(s->release.n, GROUPS);
        assert_int_equal(s->comparison.matched, s->release.n);
        assert_int_equal(s->silent > 0, kind == 1);
        assert_true(s->comparison.freedom >= GROUPS * DIM);
        assert_true(fabs(s->comparison.noise_z) < 6);
        fre_simulation_free(s);
    }
}

/* Threads only change who waits for whom; the seed decides the rest. */
static void test_seed(void **state)
{
    fre_simulate_opts o = options();
    fre_simulation *a, *b;

    (void)state;
    o.threads = 1;
    a = run(&o);
    o.threads = 4;
    b = run(&o);
    assert_int_equal(a->release.n, GROUPS);
    assert_int_equal(b->release.n, GROUPS);
    assert_memory_equal(a->release.centroid, b->release.centroid,
                        a->release.n * DIM * sizeof *a->release.centroid);
    assert_memory_equal(a->id.b, b->id.b, sizeof a->id.b);
    fre_simulation_free(a);
    fre_simulation_free(b);
}

static void test_users(void **state)
{
    fre_simulate_opts o = options();
    fre_simulation *s;

    (void)state;
    o.seeded = false;
    o.compare = false;
    o.users = 200;
    s = run(&o);
    assert_int_equal(s->users, 200);
    assert_int_equal(s->input_users, USERS);
    assert_int_equal(s->tally[FRE_ROLE_ISSUER].accepted, 200 + 1);
    /* One process held everything: whatever the plan says of a collection, this is none. */
    assert_int_equal(strncmp(s->release.statement, "NOT PRIVATE: this is a simulation.", 34), 0);
    assert_null(strstr(s->release.statement, "a seed made this run repeatable"));
    fre_simulation_free(s);
    o.users = 400;
    s = run(&o);
    assert_int_equal(s->tally[FRE_ROLE_ISSUER].accepted, 400 + 1);
    fre_simulation_free(s);
}

static void expect(fre_status wanted, const fre_simulate_opts *o, const char *word)
{
    fre_simulation *s = NULL;
    fre_err err = {.text = ""};

    assert_int_equal(fre_simulate(&s, o, &err), wanted);
    assert_null(s);
    assert_non_null(strstr(err.text, word));
}

static void test_refusals(void **state)
{
    const fre_simulate_opts good = options();
    fre_simulate_opts o = good;

    (void)state;
    o.loss_rate = .95;
    expect(FRE_E_USAGE, &o, "{loss_rate}");
    o = good;
    o.duplicate_rate = -.1;
    expect(FRE_E_USAGE, &o, "{duplicate_rate}");
    o = good;
    o.dropout_rate = NAN;
    expect(FRE_E_USAGE, &o, "{dropout_rate}");
    o = good;
    o.plan.cells_per_user = FRE_COLLECTION_CELLS_MAX + 1;
    expect(FRE_E_USAGE, &o, "{max_cells_per_user}");
    o = good;
    o.plan.population = USERS - 1;
    expect(FRE_E_DATA, &o, "{population}");
    o = good;
    o.input = "/nonexistent/rows.npy";
    expect(FRE_E_NOINPUT, &o, "rows.npy");
    o = good;
    o.corpus.user_field = "user";
    expect(FRE_E_USAGE, &o, "{user_file}");
    o = good;
    o.batch_min = USERS + 1;
    expect(FRE_E_REFUSED, &o, "too few");
    o = good;
    o.plan.dist.cover = false;
    expect(FRE_E_USAGE, &o, "{cover} off");
}

/* A row without numbers, or a giant one, is left out or cut; strict, it is found, whether the exact
 * cells are looked for or not. */
static void test_bad_embeddings(void **state)
{
    static const float bad[] = {NAN, INFINITY, 1e30f};
    fre_simulate_opts o = options();
    char odd[80];

    (void)state;
    (void)snprintf(odd, sizeof odd, "%s/odd.npy", place);
    o.input = odd;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fre_simulation *s;

        write_odd_input(odd, bad[i]);
        o.compare = i % 2 == 1;
        o.corpus.invalid = FRE_CORPUS_INVALID_FAIL;
        expect(FRE_E_DATA, &o, "row ");
        o.corpus.invalid = FRE_CORPUS_INVALID_SKIP;
        s = run(&o);
        assert_int_equal(s->invalid, i < 2);
        assert_int_equal(s->users, USERS - (i < 2));
        fre_simulation_free(s);
        assert_int_equal(unlink(odd), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_sums_without_noise),
        cmocka_unit_test(test_bad_network),
        cmocka_unit_test(test_two_contacts),
        cmocka_unit_test(test_splits),
        cmocka_unit_test(test_two_contacts_without_cover),
        cmocka_unit_test(test_noise_of_two_contacts),
        cmocka_unit_test(test_noise_as_planned),
        cmocka_unit_test(test_noise_of_clients),
        cmocka_unit_test(test_seed),
        cmocka_unit_test(test_users),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_bad_embeddings),
    };

    return cmocka_run_group_tests(tests, write_input, drop_input);
}
