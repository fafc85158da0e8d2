/* Splits: large cells are summed in thirds and their median is released.  Who is in which third, what noise a
 * third has, what one liar can do, and what S_tag can try. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fre/linalg.h>

#include "client.h"
#include "server_view.h"
#include "synthesis.h"
#include "tagging.h"

#include <cmocka.h>

#define MAX 64u
#define TAU 3u /* of net_terms */

/* One cell of all users; its sums, as only somebody with all keys can see them. */
typedef struct run {
    net n;
    fre_report_id id[MAX]; /* of each user's place */
    fre_buf batch;         /* what S_syn got with shares in it */
    fre_collection c;
} run;

static fre_wire_type with_shares(const net *n)
{
    return n->s.w.c.one_contact ? FRE_WIRE_MIXED : FRE_WIRE_GATHERED;
}

static void keep_batch(net *n, fre_role from, fre_role to, fre_bytes message)
{
    run *r = n->ctx;
    fre_wire_type type;
    fre_collection_id id;

    (void)from;
    (void)to;
    if (fre_wire_peek(&type, &id, message) != FRE_OK || type != with_shares(n) || r->batch.n > 0)
        return;
    must(fre_buf_append(&r->batch, message.p, message.n) == FRE_OK);
}

static client *client_of(const run *r, uint32_t user)
{
    return (client *)r->n.user[user].client;
}

typedef enum kind { SERVERS, CLIENTS, TWO, KINDS } kind;

static void terms(run *r, kind of, bool splits)
{
    memset(r, 0, sizeof *r);
    r->c = of == TWO ? net_terms_two(&r->n.s) : net_terms(&r->n.s);
    r->c.server_noise = of == SERVERS;
    r->c.splits = splits;
}

static void begin_with(run *r, uint32_t users, uint64_t seed, bool exact)
{
    fre_buf_init(&r->batch, FRE_WIRE_MESSAGE_MAX);
    net_begin(&r->n, &r->c, users, seed);
    r->n.a->exact = exact;
    for (uint32_t i = 0; i < users; i++)
        net_text(&r->n, i, 0);
    net_clients(&r->n);
    for (uint32_t i = 0; i < users; i++)
        fre_place_id(&r->id[i], &r->n.s.w, &client_of(r, i)->place[0].place);
    r->n.ctx = r;
    r->n.saw = keep_batch;
}

static void begin(run *r, kind of, bool splits, uint32_t users, uint64_t seed, bool exact)
{
    terms(r, of, splits);
    begin_with(r, users, seed, exact);
}

static void end(run *r)
{
    fre_buf_wipe(&r->batch);
    net_end(&r->n);
}

static uint32_t user_of(const run *r, const fre_report_id *id)
{
    uint32_t found = MAX;

    for (uint32_t i = 0; i < r->n.users; i++)
        if (memcmp(r->id[i].b, id->b, sizeof id->b) == 0) {
            assert_int_equal(found, MAX);
            found = i;
        }
    assert_true(found < MAX);
    return found;
}

/* What S_tag said, in one part. */
static bool summed(const run *r, fre_summed_set *out)
{
    const tagging *t = (const tagging *)r->n.links.server[FRE_ROLE_TAG];
    fre_tag_sets sets;

    assert_int_equal(t->summed.count, 1);
    assert_int_equal(fre_summed_decode(&sets, server_wire(&t->base),
                                       server_buf_view(&t->summed.letter[0].message), NULL),
                     FRE_OK);
    return fre_summed_next(&sets, out);
}

/* What the message with that id's share is called. */
static fre_report_id name_of(const run *r, const fre_tag *tag, const fre_report_id *id)
{
    const fre_wire *w = server_wire(r->n.links.server[FRE_ROLE_SYN]);
    fre_report_id name = *id;
    fre_oprf_output key;
    fre_vouching proof;

    if (w->c.one_contact)
        return name;
    assert_int_equal(
        fre_oprf_evaluate(&key, &r->n.s.issuer_oprf, server_view(id->b, sizeof id->b)), FRE_OK);
    fre_vouching_make(&proof, w, &key, tag);
    fre_answer_name(&name, w, id, &proof);
    return name;
}

/* S_syn's share of that id. */
static void share_of(uint8_t *packed, const run *r, const fre_tag *tag, const fre_report_id *id)
{
    const fre_report_id name = name_of(r, tag, id);
    const fre_wire *w = server_wire(r->n.links.server[FRE_ROLE_SYN]);
    const bool one = w->c.one_contact;
    const fre_wire_type type = one ? FRE_WIRE_ENTRY : FRE_WIRE_ANSWER;
    const size_t each = fre_entry_sealed_bytes(w, type);
    bool found = false;
    fre_buf plain;
    fre_batch m;

    fre_buf_init(&plain, FRE_WIRE_MESSAGE_MAX);
    assert_int_equal(fre_batch_decode(&m, w, with_shares(&r->n), server_buf_view(&r->batch), NULL),
                     FRE_OK);
    for (uint32_t i = 0; i < m.n; i++) {
        fre_entry e;

        assert_int_equal(fre_entry_open(&e, &plain, w, type, &r->n.s.syn,
                                        (fre_bytes){m.sealed.p + i * each, each}, NULL),
                         FRE_OK);
        if (memcmp(e.id.b, name.b, sizeof name.b) != 0)
            continue;
        assert_false(found);
        found = true;
        memcpy(packed, e.packed.p, e.packed.n);
    }
    assert_true(found);
    fre_buf_wipe(&plain);
}

typedef struct thirds {
    uint32_t n[3];
    uint8_t of[MAX]; /* by user */
    double mean[3][NET_DIM]; /* of what its members hold */
    float centroid[3][NET_DIM]; /* of both servers' sums, before S_syn's noise */
    double beta;
} thirds;

/* The page's rule, apart from the code's: an id's place by counting smaller hashes. */
static uint8_t third_by_the_page(const run *r, const uint8_t seed[16], const fre_summed_set *s,
                                 uint32_t i)
{
    uint8_t mine[FRE_HASH_BYTES];
    uint32_t place = 0, third = 0;

    for (uint32_t pass = 0; pass <= s->n; pass++) {
        const uint32_t k = pass == 0 ? i : pass - 1;
        uint8_t bytes[1 + 12 + 32 + 16 + 16] = {12}, hash[FRE_HASH_BYTES];

        memcpy(bytes + 1, "fre/split/v2", 12);
        memcpy(bytes + 13, r->n.s.w.id.b, 32);
        memcpy(bytes + 45, seed, 16);
        memcpy(bytes + 61, s->id[k].b, 16);
        server_sha256(hash, server_view(bytes, sizeof bytes));
        if (pass == 0)
            memcpy(mine, hash, sizeof mine);
        else
            place += memcmp(hash, mine, sizeof mine) < 0;
    }
    for (uint32_t left = place; left >= s->n / 3 + (third < s->n % 3); third++)
        left -= s->n / 3 + (third < s->n % 3);
    return (uint8_t)third;
}

static void open_third(thirds *t, const run *r, const fre_summed_set *s, uint32_t which)
{
    const fre_server *x = r->n.links.server[FRE_ROLE_SYN];
    const fre_wire *w = server_wire(x);
    const size_t bytes = fre_wire_share_bytes(w);
    uint8_t packed[8 * NET_DIM];
    uint32_t sum[NET_DIM] = {0};
    fre_share_cell cell;

    assert_int_equal(server_cell(&cell, r->n.a, w, server_count(x, &s->tag, s->n)), FRE_OK);
    t->beta = cell.beta;
    assert_int_equal(fre_share_add(sum, NET_DIM, w->share_bits,
                                   server_view(s->packed.p + 16 + which * bytes, bytes)),
                     FRE_OK);
    for (uint32_t i = 0; i < s->n; i++) {
        const uint32_t user = user_of(r, &s->id[i]);

        if (t->of[user] != which)
            continue;
        share_of(packed, r, &s->tag, &s->id[i]);
        assert_int_equal(fre_share_add(sum, NET_DIM, w->share_bits, server_view(packed, bytes)),
                         FRE_OK);
        for (uint32_t j = 0; j < NET_DIM; j++)
            t->mean[which][j] += (double)r->n.user[user].x[j] / t->n[which];
    }
    assert_int_equal(fre_share_open(t->centroid[which], r->n.a->rotation, &cell, sum, NET_DIM,
                                    t->n[which], NULL),
                     FRE_OK);
}

static void cut_of(thirds *t, const run *r, const fre_summed_set *s)
{
    assert_int_equal(s->packed.n, 16 + 3 * fre_wire_share_bytes(server_wire(
                                               r->n.links.server[FRE_ROLE_SYN])));
    memset(t, 0, sizeof *t);
    memset(t->of, 9, sizeof t->of);
    for (uint32_t i = 0; i < s->n; i++) {
        const uint32_t user = user_of(r, &s->id[i]);

        assert_int_equal(t->of[user], 9); /* of one third only */
        t->of[user] = third_by_the_page(r, s->packed.p, s, i);
        t->n[t->of[user]]++;
    }
}

static void open_thirds(thirds *t, const run *r)
{
    fre_summed_set s;

    assert_true(summed(r, &s));
    cut_of(t, r, &s);
    for (uint32_t i = 0; i < 3; i++)
        open_third(t, r, &s, i);
}

static double apart(const float *a, const double *b)
{
    double sum = 0;

    for (uint32_t j = 0; j < NET_DIM; j++)
        sum += pow((double)a[j] - b[j], 2);
    return sqrt(sum);
}

/* The mean of users from..of - 1. */
static void mean_of(double *mean, const run *r, uint32_t from)
{
    const uint32_t n = r->n.users - from;

    memset(mean, 0, NET_DIM * sizeof *mean);
    for (uint32_t i = from; i < r->n.users; i++)
        for (uint32_t j = 0; j < NET_DIM; j++)
            mean[j] += (double)r->n.user[i].x[j] / n;
}

static bool released(const run *r, uint32_t *count, float *centroid)
{
    static float all[MAX * NET_DIM];
    uint32_t counts[MAX];
    const int n = net_release(&r->n, FRE_ROLE_SYN, counts, all, MAX);

    assert_true(n == 0 || n == 1);
    memcpy(centroid, all, NET_DIM * sizeof *centroid);
    *count = counts[0];
    return n == 1;
}

/* ---- who is where ------------------------------------------------------------------------------ */

/* Every record is in one third, whose sum is that of its members and of nobody else; the first have one
 * more. */
static void a_record_is_in_one_third(void **state)
{
    (void)state;
    for (unsigned k = 0; k < KINDS; k++)
        for (uint32_t users = 9; users <= 12; users++) {
            float centroid[NET_DIM];
            double mean[NET_DIM];
            uint32_t count;
            thirds t;
            run r;

            begin(&r, (kind)k, true, users, users, true);
            for (uint32_t i = 0; i < users; i++) /* told apart */
                client_of(&r, i)->x[1 + i % 10] = r.n.user[i].x[1 + i % 10] += 0.02f * (float)(i + 1);
            net_run(&r.n);
            open_thirds(&t, &r);
            for (uint32_t i = 0; i < 3; i++) {
                assert_int_equal(t.n[i], users / 3 + (i < users % 3));
                assert_true(apart(t.centroid[i], t.mean[i]) <= 2 * t.beta);
            }
            mean_of(mean, &r, 0);
            assert_true(released(&r, &count, centroid));
            assert_int_equal(count, users);
            assert_true(apart(centroid, mean) < 0.2);
            end(&r);
        }
}

/* Fewer than three times tau: one sum. */
static void below_the_floor_no_split(void **state)
{
    (void)state;
    for (unsigned k = 0; k < KINDS; k++)
        for (unsigned on = 0; on < 2; on++) {
            const uint32_t users = on ? 3 * TAU - 1 : 3 * TAU;
            float centroid[NET_DIM];
            double mean[NET_DIM];
            fre_summed_set s;
            uint32_t count;
            run r;

            begin(&r, (kind)k, on == 1, users, 40 + k, true);
            net_run(&r.n);
            assert_true(summed(&r, &s));
            assert_int_equal(s.packed.n,
                             fre_wire_share_bytes(server_wire(r.n.links.server[FRE_ROLE_SYN])));
            assert_true(released(&r, &count, centroid));
            assert_int_equal(count, users);
            mean_of(mean, &r, 0);
            assert_true(apart(centroid, mean) < 4 * r.n.a->cell.beta + 0.1);
            end(&r);
        }
}

/* Answers of the first nine alone arrive. */
static void nine_answer(net *n, fre_role from, fre_role to, fre_buf *message)
{
    (void)to;
    if (from == 0 && n->sender >= 9 && n->sender < n->users && message->p[1] == FRE_WIRE_CARRY &&
        message->p[FRE_WIRE_HEAD_BYTES] == FRE_WIRE_ANSWER)
        fre_buf_wipe(message);
}

/* Two contacts: those who are needed decide, 8 of 13 and 9 of 15, not those who come. */
static void those_who_are_needed_decide(void **state)
{
    static const uint32_t listed[] = {13, 15};

    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        fre_summed_set s;
        thirds t;
        run r;

        terms(&r, TWO, true);
        r.c.dropout = 0.4;
        begin_with(&r, listed[k], 50 + k, true);
        r.n.change = nine_answer;
        net_run(&r.n);
        assert_true(summed(&r, &s));
        assert_int_equal(s.n, 9);
        if (k == 1)
            cut_of(&t, &r, &s);
        else
            assert_int_equal(s.packed.n, fre_wire_share_bytes(
                                             server_wire(r.n.links.server[FRE_ROLE_SYN])));
        end(&r);
    }
}

/* ---- noise --------------------------------------------------------------------------------------- */

#define RUNS 30u
#define PEOPLE 10u

/* What each third has to have, before S_syn's: one server's draw, or its users' own. */
static double planned(const run *r, const thirds *t, uint32_t which)
{
    const double s2 = pow(r->c.sigma, 2), n = t->n[which];
    const double noise = r->c.server_noise ? s2 : n * s2 / TAU;

    return noise + n * pow(t->beta, 2) / 6; /* rounding */
}

static void the_noise_of_each_third_is_full(void **state)
{
    (void)state;
    for (unsigned k = 0; k < KINDS; k++) {
        double seen[3] = {0}, plan[3] = {0}, least = HUGE_VAL;

        for (uint32_t i = 0; i < RUNS; i++) {
            thirds t;
            run r;

            begin(&r, (kind)k, true, PEOPLE, 100 + i, false);
            net_run(&r.n);
            open_thirds(&t, &r);
            for (uint32_t j = 0; j < 3; j++) {
                seen[j] += pow(apart(t.centroid[j], t.mean[j]) * t.n[j], 2);
                plan[j] += NET_DIM * planned(&r, &t, j);
                least = fmin(least, planned(&r, &t, j) / pow(r.c.sigma, 2));
            }
            end(&r);
        }
        assert_true(least >= 1);
        /* 360 squares each: deviation .075. */
        for (uint32_t j = 0; j < 3; j++)
            if (!(fabs(seen[j] / plan[j] - 1) < 0.38))
                fail_msg("kind %u, third %u: %g of what it has to be", k, j, seen[j] / plan[j]);
    }
}

static double normal(fre_rng *r)
{
    const double u = ((double)fre_rng_u32(r) + 1) / 4294967297.0, v = fre_rng_u32(r) / 4294967296.0;

    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* The same of both servers together, by the median that is released: its law from other Gaussians. */
static void the_median_has_both_servers_noise(void **state)
{
    double seen = 0, plan = 0;

    (void)state;
    for (uint32_t i = 0; i < RUNS; i++) {
        float centroid[NET_DIM], made[3 * NET_DIM], median[NET_DIM];
        double mean[NET_DIM];
        const double zero[NET_DIM] = {0};
        uint32_t count;
        thirds t;
        run r;

        begin(&r, SERVERS, true, PEOPLE, 200 + i, false);
        net_run(&r.n);
        open_thirds(&t, &r);
        assert_true(released(&r, &count, centroid));
        mean_of(mean, &r, 0);
        seen += pow(apart(centroid, mean), 2);
        for (uint32_t again = 0; again < 20; again++) {
            for (uint32_t j = 0; j < 3 * NET_DIM; j++)
                made[j] = (float)(normal(&r.n.rng) / t.n[j / NET_DIM] *
                                  sqrt(planned(&r, &t, j / NET_DIM) + pow(r.c.sigma, 2)));
            fre_share_median(median, made, 3, NET_DIM);
            plan += pow(apart(median, zero), 2) / 20;
        }
        end(&r);
    }
    if (!(fabs(seen / plan - 1) < 0.3))
        fail_msg("%g of what it has to be", seen / plan);
}

/* ---- a liar ---------------------------------------------------------------------------------------- */

static void make_liar(run *r, fre_agreement *cheat, double length)
{
    client *c = client_of(r, 0);

    *cheat = *r->n.a;
    cheat->cell.norm_bound = length;
    c->base.a = cheat;
    for (uint32_t j = 0; j < NET_DIM; j++)
        c->x[j] = (float)(length * ((j % 3 == 0 ? -0.4 : 0.2) + 0.01 * j));
}

/* Without splits the mean goes with it; with them the median stays by the other two thirds. */
static void one_liar(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++)
        for (unsigned splits = 0; splits < 2; splits++) {
            const double length = 3 * (double)seed;
            float centroid[NET_DIM];
            double mean[NET_DIM], r_good = 0;
            fre_agreement cheat;
            uint32_t count;
            thirds t;
            run r;

            begin(&r, SERVERS, splits == 1, PEOPLE, 300 + seed, true);
            make_liar(&r, &cheat, length);
            net_run(&r.n);
            mean_of(mean, &r, 1);
            assert_true(released(&r, &count, centroid));
            assert_int_equal(count, PEOPLE);
            if (!splits) {
                assert_true(apart(centroid, mean) > length / PEOPLE / 2);
            } else {
                open_thirds(&t, &r);
                for (uint32_t i = 0; i < 3; i++)
                    if (i != t.of[0])
                        r_good = fmax(r_good, apart(t.centroid[i], mean));
                assert_true(apart(t.centroid[t.of[0]], mean) > length / 8);
                assert_true(apart(centroid, mean) <= 2 / sqrt(3) * r_good + 1e-6);
                assert_true(r_good < 0.1);
            }
            end(&r);
        }
}

/* One whose share reaches the guard costs its third; without splits, mostly, the cell. */
static void one_beyond_the_range(void **state)
{
    uint32_t lost = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++)
        for (unsigned splits = 0; splits < 2; splits++) {
            float centroid[NET_DIM];
            double mean[NET_DIM];
            fre_agreement cheat;
            uint32_t count;
            bool there;
            run r;

            begin(&r, SERVERS, splits == 1, PEOPLE, 400 + seed, true);
            make_liar(&r, &cheat, 1e9);
            net_run(&r.n);
            there = released(&r, &count, centroid);
            lost += !splits && !there;
            if (splits) {
                mean_of(mean, &r, 1);
                assert_true(there);
                assert_int_equal(count, PEOPLE);
                assert_true(apart(centroid, mean) < 0.1);
            }
            end(&r);
        }
    if (lost < 3)
        fail_msg("%u", lost);
}

/* ---- deaths, losses ---------------------------------------------------------------------------------- */

static void whoever_dies(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 9; seed++) {
        float centroid[NET_DIM];
        double mean[NET_DIM];
        uint32_t count;
        run r;

        begin(&r, (kind)(seed % KINDS), true, PEOPLE, 500 + seed, true);
        r.n.kill_every = 3 + seed;
        r.n.lose = r.n.lose_answer = r.n.twice = 30;
        r.n.stride = 4;
        net_run(&r.n);
        assert_true(r.n.kills > 3);
        assert_true(released(&r, &count, centroid));
        assert_int_equal(count, PEOPLE);
        mean_of(mean, &r, 0);
        assert_true(apart(centroid, mean) < 0.2);
        end(&r);
    }
}

/* ---- what S_tag can try ------------------------------------------------------------------------------ */

static void no_unseal(net *n, fre_role from, fre_role to, fre_buf *message)
{
    fre_collection_id id;
    fre_wire_type type;

    (void)n;
    (void)from;
    (void)to;
    if (fre_wire_peek(&type, &id, sample_view(message)) == FRE_OK && type == FRE_WIRE_UNSEAL)
        fre_buf_wipe(message);
}

static synthesis *syn_of(const run *r)
{
    return (synthesis *)r->n.links.server[FRE_ROLE_SYN];
}

/* S_tag has its sums; S_syn waits for them. */
static void to_the_sums(run *r, uint32_t users, uint64_t seed)
{
    const tagging *t;

    begin(r, SERVERS, true, users, seed, true);
    r->n.change = no_unseal;
    for (; syn_of(r)->unseal.count == 0; r->n.now += r->n.now < r->c.tags_close ? 40 : 1)
        net_step(&r->n);
    assert_int_equal(view_send(&r->n, FRE_ROLE_TAG,
                               server_buf_view(&syn_of(r)->unseal.letter[0].message), NULL),
                     FRE_ACCEPTED);
    t = (const tagging *)r->n.links.server[FRE_ROLE_TAG];
    for (; t->mark[FRE_MARK_SUM].state != TAGGING_MARK_SET; r->n.now++)
        net_step(&r->n);
    assert_int_equal(fre_server_phase(&syn_of(r)->base), FRE_PHASE_SUMMING);
}

/* S_syn gets these sets in place of S_tag's; cells that it releases, -1: it is void. */
static int with_sets(run *r, const fre_summed_set *set, uint32_t n)
{
    static float centroid[MAX * NET_DIM];
    uint32_t count[MAX];
    fre_buf message;

    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    assert_int_equal(
        fre_summed_encode(&message, &r->n.s.w, (fre_part){0, 1}, set, n, &r->n.s.tag_sk), FRE_OK);
    assert_int_equal(fre_server_answered(&syn_of(r)->base, NULL, SERVER_COOKIE(SERVER_UNSEAL, 0),
                                         sample_view(&message), r->n.now),
                     FRE_OK);
    fre_buf_wipe(&message);
    net_step(&r->n);
    if (fre_server_phase(&syn_of(r)->base) == FRE_PHASE_VOID)
        return -1;
    assert_int_equal(fre_server_phase(&syn_of(r)->base), FRE_PHASE_DONE);
    return net_release(&r->n, FRE_ROLE_SYN, count, centroid, MAX);
}

/* How many sums there are is nobody's choice. */
static void other_numbers_of_sums(void **state)
{
    static uint8_t more[16 + 3 * 8 * NET_DIM];
    fre_summed_set s;
    size_t share;
    run r;

    (void)state;
    for (unsigned change = 0; change < 2; change++) {
        to_the_sums(&r, PEOPLE, 600);
        assert_true(summed(&r, &s));
        share = fre_wire_share_bytes(&r.n.s.w);
        if (change)
            s.packed = server_view(s.packed.p + 16, share);
        assert_int_equal(with_sets(&r, &s, 1), !change);
        end(&r);
    }
    to_the_sums(&r, 3 * TAU - 1, 601);
    assert_true(summed(&r, &s));
    memcpy(more, s.packed.p, s.packed.n); /* its sum, in front */
    s.packed = server_view(more, 16 + 3 * fre_wire_share_bytes(&r.n.s.w));
    assert_int_equal(with_sets(&r, &s, 1), 0);
    end(&r);
}

/* Parts of S_tag, as they are in S_syn's store. */
static void put_part(run *r, uint32_t index, const fre_summed_set *set)
{
    server_parts *p = &syn_of(r)->summed;
    fre_rejection why;
    fre_buf message;
    bool fresh;

    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    assert_int_equal(
        fre_summed_encode(&message, &r->n.s.w, (fre_part){index, 2}, set, 1, &r->n.s.tag_sk),
        FRE_OK);
    assert_int_equal(
        server_parts_take(p, (fre_part){index, 2}, sample_view(&message), NULL, &fresh, &why),
        FRE_OK);
    assert_true(fresh);
    fre_buf_wipe(&message);
}

/* One cell twice, with two draws of S_syn's noise, whose mean has less of it: not even from S_tag, cut or
 * not. */
static void no_cell_twice(void **state)
{
    (void)state;
    for (unsigned how = 0; how < 5; how++) {
        fre_summed_set s, first, second;
        bool fine;
        run r;

        to_the_sums(&r, PEOPLE, 610);
        assert_true(summed(&r, &s));
        first = second = s;
        if (how == 1) { /* goes on, with a member again */
            first.packed = server_view(NULL, 0);
            second.id = s.id + s.n - 1;
            second.n = 1;
        } else if (how == 2) { /* another set of it, that overlaps in nobody */
            first.n = 5;
            second.id = s.id + 5;
            second.n -= 5;
        } else if (how == 3) { /* backwards */
            second.tag.b[0] = 0;
            first.tag.b[0] = 1;
        } else if (how == 4) { /* as it has to be */
            first.packed = server_view(NULL, 0);
            first.n = 5;
            second.id = s.id + 5;
            second.n -= 5;
        }
        put_part(&r, 0, &first);
        put_part(&r, 1, &second);
        assert_int_equal(syn_check_sums(syn_of(&r), &fine), FRE_OK);
        assert_int_equal(fine, how == 4);
        net_step(&r.n);
        assert_int_equal(fre_server_phase(&syn_of(&r)->base),
                         how == 4 ? FRE_PHASE_DONE : FRE_PHASE_VOID);
        end(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_in_one_third),
        cmocka_unit_test(below_the_floor_no_split),
        cmocka_unit_test(those_who_are_needed_decide),
        cmocka_unit_test(the_noise_of_each_third_is_full),
        cmocka_unit_test(the_median_has_both_servers_noise),
        cmocka_unit_test(one_liar),
        cmocka_unit_test(one_beyond_the_range),
        cmocka_unit_test(whoever_dies),
        cmocka_unit_test(other_numbers_of_sums),
        cmocka_unit_test(no_cell_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
