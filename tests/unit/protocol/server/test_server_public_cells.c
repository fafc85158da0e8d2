/* Collections of public cells: exact sums of clipped offsets, centres added back, and what a client can
 * spoil that clips nothing, or names another cell. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fre/aggregate.h>
#include <fre/linalg.h>

#include "client.h"
#include "server_net.h"
#include "server_view.h"

#include <cmocka.h>

#define K NET_DIM
#define R 0.3
#define GAIN 1.25
#define CELLS_MAX 16

/* 5, 4, 3 and 2 users in the cells of centres 1 to 4; tau is 3. */
static const uint32_t sizes[] = {5, 4, 3, 2};
#define USERS 14u

static float centre[K * NET_DIM];

static fre_status nearest(const void *ctx, uint32_t level, uint32_t *cell, const float *x)
{
    uint32_t best = 0;

    assert_int_equal(level, 2);
    (void)ctx;
    for (uint32_t j = 1; j < K; j++)
        if (fre_dist2(x, centre + (size_t)j * NET_DIM, NET_DIM) <
            fre_dist2(x, centre + (size_t)best * NET_DIM, NET_DIM))
            best = j;
    *cell = best;
    return FRE_OK;
}

static void centre_of(const void *ctx, uint32_t level, uint32_t cell, float *out)
{
    (void)ctx;
    (void)level;
    memcpy(out, centre + (size_t)cell * NET_DIM, NET_DIM * sizeof *out);
}

static const fre_sketch_centres of = {NULL, nearest, centre_of};

static fre_sketch_spec spec(void)
{
    fre_sketch_spec s = {.kind = FRE_SKETCH_CODEBOOK,
                         .codebook = {.level = 2, .cells = K, .radius = R, .gain = GAIN}};

    memset(s.codebook.sha256, 0x77, sizeof s.codebook.sha256);
    return s;
}

static fre_sketch *cells_of(const fre_sketch_spec *s, uint32_t dim)
{
    fre_sketch *out = NULL;

    for (uint32_t j = 0; j < K; j++)
        centre[j * NET_DIM + j] = 0.8f;
    assert_int_equal(fre_sketch_new_public(&out, s, dim, &of), FRE_OK);
    return out;
}

static fre_collection terms(sample *s, bool one_contact)
{
    fre_collection c = one_contact ? net_terms(s) : net_terms_two(s);

    c.sketch = spec();
    c.split = 2 * R;
    return c;
}

static void begin_with(net *n, fre_sketch **cells, uint64_t seed, uint64_t p32, bool one_contact)
{
    const fre_sketch_spec s = spec();
    fre_collection c;
    uint32_t user = 0;

    *n = (net){.users = 0};
    c = terms(&n->s, one_contact);
    c.p32 = p32;
    c.threshold = p32 == FRE_P_ONE ? 3 : 6;
    *cells = cells_of(&s, NET_DIM);
    n->cells = *cells;
    net_begin(n, &c, USERS, seed);
    n->a->exact = true;
    for (uint32_t k = 1; k <= 4; k++)
        for (uint32_t i = 0; i < sizes[k - 1]; i++, user++) {
            net_text(n, user, k);
            /* Some are cut to R, some are not. */
            n->user[user].x[(k + 3) % NET_DIM] += 0.12f * (float)(i + 1);
        }
    net_clients(n);
}

static void begin(net *n, fre_sketch **cells, uint64_t seed, uint64_t p32)
{
    begin_with(n, cells, seed, p32, true);
}

/* Where the mean of these users' offsets leads. */
static void expect(float *out, const net *n, uint32_t cell, uint32_t from, uint32_t users)
{
    const float *c = centre + (size_t)cell * NET_DIM;
    double sum[NET_DIM] = {0};

    for (uint32_t i = from; i < from + users; i++) {
        float x[NET_DIM];

        memcpy(x, n->user[i].x, sizeof x);
        assert_true(fre_aggregate_clip(x, NET_DIM, n->s.w.c.norm_bound));
        fre_aggregate_offset(x, c, NET_DIM, R);
        for (uint32_t j = 0; j < NET_DIM; j++)
            sum[j] += (double)x[j] / users;
    }
    for (uint32_t j = 0; j < NET_DIM; j++)
        out[j] = (float)sum[j];
    fre_aggregate_from_centre(out, c, NET_DIM, GAIN, R);
}

/* The release's cell of this index; NULL: none. */
static bool released(fre_release_cell *out, float *centroid, const net *n, uint32_t cell)
{
    const fre_server *x = n->links.server[FRE_ROLE_RELAY];

    for (uint32_t p = 0; p < fre_server_release_parts(x); p++) {
        fre_release_part m;

        assert_int_equal(fre_release_part_decode(&m, &n->s.w, fre_server_release_view(x, p), NULL),
                         FRE_OK);
        for (uint32_t i = 0; i < m.n; i++) {
            fre_release_part_at(out, centroid, &m, i);
            if (out->cell == cell)
                return true;
        }
    }
    return false;
}

/* How far roundings may take a coordinate: of shares, and with two contacts of the mean that is released. */
static double slack(const net *n, uint64_t count)
{
    fre_share_cell cell = n->a->cell;

    if (n->s.w.c.one_contact)
        return 6 * cell.beta;
    assert_int_equal(
        fre_share_cell_init(&cell, &n->a->m, n->s.w.c.split, count, FRE_SHARING_BITS_MAX, NULL),
        FRE_OK);
    return 6 * cell.beta + GAIN * 16 * cell.beta / (double)cell.answers_needed;
}

static void check_cell(const net *n, uint32_t k)
{
    float want[NET_DIM], centroid[NET_DIM];
    fre_release_cell cell;
    uint32_t from = 0;

    for (uint32_t i = 1; i < k; i++)
        from += sizes[i - 1];
    assert_true(released(&cell, centroid, n, k));
    assert_int_equal(cell.count, sizes[k - 1]);
    expect(want, n, k, from, sizes[k - 1]);
    for (uint32_t j = 0; j < NET_DIM; j++)
        assert_true(fabs((double)(centroid[j] - want[j])) <= slack(n, sizes[k - 1]));
}

static void finish(net *n, fre_sketch *cells)
{
    net_end(n);
    fre_sketch_free(cells);
}

static void sums_are_exact(void **state)
{
    float centroid[NET_DIM];
    fre_release_cell cell;
    fre_sketch *cells;
    net n;

    (void)state;
    begin(&n, &cells, 1, FRE_P_ONE);
    assert_true(n.a->cell.norm_bound <= R && n.a->cell.norm_bound >= R);
    net_run(&n);
    for (uint32_t k = 1; k <= 3; k++)
        check_cell(&n, k);
    assert_false(released(&cell, centroid, &n, 4)); /* two are too few */
    assert_false(released(&cell, centroid, &n, 0));
    finish(&n, cells);
}

/* A client is taken back from its rows and its texts. */
static void whoever_dies(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        fre_sketch *cells;
        net n;

        begin(&n, &cells, seed, FRE_P_ONE);
        n.kill_every = 3 + seed;
        n.lose = n.lose_answer = 30;
        n.stride = 4;
        net_run(&n);
        assert_true(n.kills > 3);
        for (uint32_t k = 1; k <= 3; k++)
            check_cell(&n, k);
        finish(&n, cells);
    }
}

/* The index of a cell and its share come with the second contact. */
static void two_contacts(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        float centroid[NET_DIM];
        fre_release_cell cell;
        fre_sketch *cells;
        net n;

        begin_with(&n, &cells, seed, FRE_P_ONE, false);
        if (seed > 1) { /* whoever dies, whatever is lost */
            n.kill_every = 3 + seed;
            n.lose = n.lose_answer = 30;
            n.stride = 4;
        }
        net_run(&n);
        assert_true(seed == 1 || n.kills > 3);
        for (uint32_t k = 1; k <= 3; k++)
            check_cell(&n, k);
        assert_false(released(&cell, centroid, &n, 4)); /* two are too few */
        assert_false(released(&cell, centroid, &n, 0));
        finish(&n, cells);
    }
}

static client *client_of(const net *n, uint32_t user)
{
    return (client *)n->user[user].client;
}

/* One that says another cell is outvoted; one that says a cell that there is not, is not opened. */
static void liars_about_cells(void **state)
{
    float centroid[NET_DIM];
    fre_release_cell cell;
    fre_sketch *cells;
    net n;

    (void)state;
    begin(&n, &cells, 2, FRE_P_ONE);
    client_of(&n, 0)->place[0].place.cell = 7;
    client_of(&n, 5)->place[0].place.cell = K;
    net_run(&n);
    check_cell(&n, 1);
    check_cell(&n, 3);
    assert_false(released(&cell, centroid, &n, 7));
    assert_true(released(&cell, centroid, &n, 2));
    assert_int_equal(cell.count, 3); /* of four */
    finish(&n, cells);
}

/* Nobody sees that a client's share is of a vector longer than R: it moves its own cell's centroid, though no
 * farther from the public centre than R, and no other cell.  One beyond
 * the guard spoils its cell, unless it is lucky. */
static void whoever_does_not_clip(void **state)
{
    static const double scale[] = {40, 1e9};

    (void)state;
    for (int far = 0; far < 2; far++) {
        float centroid[NET_DIM];
        fre_release_cell cell;
        fre_agreement cheat;
        fre_sketch *cells;
        net n;

        begin(&n, &cells, 3, FRE_P_ONE);
        cheat = *n.a;
        cheat.cell.norm_bound = scale[far];
        client_of(&n, 0)->base.a = &cheat;
        for (uint32_t j = 0; j < NET_DIM; j++)
            client_of(&n, 0)->x[j] = (float)(scale[far] * (j % 3 == 0 ? 1 : -0.5));
        net_run(&n);
        check_cell(&n, 2);
        check_cell(&n, 3);
        if (released(&cell, centroid, &n, 1)) {
            assert_int_equal(cell.count, 5);
            assert_true(sqrt(fre_dist2(centroid, centre + NET_DIM, NET_DIM)) <= R * (1 + 1e-5));
        } else {
            assert_int_equal(far, 1);
        }
        finish(&n, cells);
    }
}

/* ---- who sees a cell --------------------------------------------------------------------------- */

static void look(net *n, fre_role from, fre_role to, fre_bytes message)
{
    fre_wire_type type;
    fre_collection_id id;

    (void)from;
    (void)to;
    if (fre_wire_peek(&type, &id, message) == FRE_OK && type == FRE_WIRE_COLLECTED)
        view_batch(n->ctx, n, type, message);
}

/* Even who has both servers' keys finds no cell beside a coin that fell on tails. */
static void tails_have_no_cell(void **state)
{
    uint32_t real = 0, named = 0;
    fre_sketch *cells;
    view v = {.n = 0};
    net n;

    (void)state;
    begin(&n, &cells, 5, FRE_P_ONE / 2);
    for (uint32_t i = 0; i < USERS; i++) {
        assert_true(client_of(&n, i)->place[0].place.cell >= 1);
        real += client_of(&n, i)->place[0].real;
    }
    assert_true(real > 2 && real < USERS - 2);
    n.ctx = &v;
    n.saw = look;
    net_run(&n);
    assert_true(v.n >= USERS);
    for (size_t i = 0; i < v.n; i++) {
        const fre_entry *e = &v.at[i].e;
        fre_share_seed seed;
        fre_place place;

        assert_int_equal(
            fre_entry_seed_open(&seed, &place, &n.s.w, &n.s.tag, &e->tag, &e->id, &e->seed),
            FRE_OK);
        named += place.cell > 0;
    }
    assert_true(named * USERS <= v.n * real); /* a batch may have been sent again */
    assert_true(named >= real);
    view_wipe(&v);
    finish(&n, cells);
}

/* ---- another codebook -------------------------------------------------------------------------- */

static void refused(fre_agreement *a, const fre_sketch_spec *s, uint32_t dim)
{
    fre_sketch *cells = cells_of(s, dim);
    fre_err err = {.text = ""};

    assert_int_equal(fre_agreement_set_cells(a, cells, &err), FRE_E_DATA);
    assert_non_null(strstr(err.text, "not its codebook"));
    assert_null(a->cells);
    fre_sketch_free(cells);
}

static void another_codebook(void **state)
{
    const fre_sketch_spec good = spec();
    const fre_client_setup setup = {.fresh = true};
    fre_sketch *cells = cells_of(&good, NET_DIM);
    fre_err err = {.text = ""};
    fre_server_keys keys;
    fre_sketch_spec s;
    fre_agreement *a;
    fre_server *x = NULL;
    fre_collection c;
    sample of_terms;

    (void)state;
    c = terms(&of_terms, true);
    assert_int_equal(server_agree(&a, &c, NULL), FRE_OK);
    s = good;
    s.codebook.sha256[31] ^= 1;
    refused(a, &s, NET_DIM);
    s = good;
    s.codebook.level = 1;
    refused(a, &s, NET_DIM);
    s = good;
    s.codebook.cells--;
    refused(a, &s, NET_DIM);
    s = good;
    s.codebook.radius *= 2;
    refused(a, &s, NET_DIM);
    s = good;
    s.codebook.gain = 1;
    refused(a, &s, NET_DIM);
    refused(a, &good, NET_DIM + 1);
    keys = (fre_server_keys){.seal = of_terms.syn, .sign = of_terms.syn_sk};
    assert_int_equal(fre_server_new_client(&x, a, &setup, &err), FRE_E_STATE);
    assert_non_null(strstr(err.text, "codebook"));
    assert_int_equal(fre_server_new_synthesis(&x, a, &keys, (fre_bytes){NULL, 0}, &err),
                     FRE_E_STATE);
    assert_null(x);
    assert_int_equal(fre_agreement_set_cells(a, cells, NULL), FRE_OK);
    assert_int_equal(fre_server_new_client(&x, a, &setup, &err), FRE_OK);
    fre_server_free(x);
    fre_agreement_free(a);
    c = net_terms(&of_terms);
    assert_int_equal(server_agree(&a, &c, NULL), FRE_OK);
    assert_int_equal(fre_agreement_set_cells(a, cells, &err), FRE_E_DATA);
    fre_agreement_free(a);
    fre_sketch_free(cells);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_exact),     cmocka_unit_test(whoever_dies),
        cmocka_unit_test(two_contacts),
        cmocka_unit_test(liars_about_cells),  cmocka_unit_test(whoever_does_not_clip),
        cmocka_unit_test(tails_have_no_cell), cmocka_unit_test(another_codebook),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
