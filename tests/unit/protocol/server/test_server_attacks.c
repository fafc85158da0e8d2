/* What the first protocol allowed and this one must not, by the numbers of docs/decisions/0022; then what
 * liars try at the new steps. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "client.h"
#include "issuer.h"
#include "relay.h"
#include "server_view.h"
#include "synthesis.h"
#include "tagging.h"

#include <cmocka.h>

#define MAX 64u

/* `of[k]` users hold a text of cluster k. */
static void begin(net *n, const fre_collection *c, const uint32_t *of, uint32_t clusters,
                  uint32_t more, uint64_t seed)
{
    uint32_t users = more, user = 0;

    for (uint32_t k = 0; k < clusters; k++)
        users += of[k];
    net_begin(n, c, users, seed);
    n->a->exact = true;
    for (uint32_t k = 0; k < clusters; k++)
        for (uint32_t i = 0; i < of[k]; i++)
            net_text(n, user++, k);
    net_clients(n);
}

static void begin_usual(net *n, const uint32_t *of, uint32_t clusters, uint32_t more, uint64_t seed)
{
    fre_collection c;

    *n = (net){.users = 0};
    c = net_terms(&n->s);
    begin(n, &c, of, clusters, more, seed);
}

static int released(const net *n, uint32_t *count, float *centroid)
{
    return net_release(n, FRE_ROLE_SYN, count, centroid, MAX);
}

static fre_wire_type type_of(fre_bytes m)
{
    fre_collection_id id;
    fre_wire_type type = (fre_wire_type)0;

    return fre_wire_peek(&type, &id, m) == FRE_OK ? type : (fre_wire_type)0;
}

/* ---- 1: who is missing from a released cell ----------------------------------------------------- */

static void drop_entry(net *n, fre_role from, fre_role to, fre_buf *message)
{
    fre_carry m;

    (void)to;
    if (from == 0 && n->sender == 4 &&
        fre_carry_decode(&m, &n->s.w, sample_view(message), NULL) == FRE_OK &&
        m.what == FRE_WIRE_ENTRY)
        message->n = 0;
}

/* What the relay sees of a release without the victim's entry is what it sees where the victim stayed
 * away: a count of what was summed, and no number of answers beside it. */
static void why_1_a_dropped_entry_is_an_absent_user(void **state)
{
    static const uint32_t of[] = {5}, less[] = {4};
    static float a[MAX * NET_DIM], b[MAX * NET_DIM];
    uint32_t with[MAX], without[MAX];
    net n, m;

    (void)state;
    begin_usual(&n, of, 1, 0, 1);
    begin_usual(&m, less, 1, 0, 1);
    n.change = drop_entry;
    net_run(&n);
    net_run(&m);
    assert_int_equal(fre_server_client_verdict(n.user[4].client), FRE_E_AGAIN);
    assert_int_equal(released(&n, with, a), 1);
    assert_int_equal(released(&m, without, b), 1);
    assert_int_equal(with[0], 4);
    assert_int_equal(without[0], 4);
    for (uint32_t j = 0; j < NET_DIM; j++)
        assert_true(fabs((double)(a[j] - b[j])) <= 4 * n.a->cell.beta);
    net_end(&n);
    net_end(&m);
}

/* ---- 2: padding through the relay ---------------------------------------------------------------- */

typedef struct counts {
    uint32_t carried, collected, mixed, to_relay;
} counts;

static void count_all(net *n, fre_role from, fre_role to, fre_bytes message)
{
    counts *k = n->ctx;
    fre_carry m;
    fre_batch b;

    if (from == FRE_ROLE_TAG && to == FRE_ROLE_RELAY && type_of(message) < FRE_WIRE_MASK_PUT)
        k->to_relay += type_of(message) != FRE_WIRE_CLOSED && type_of(message) != FRE_WIRE_MARK;
    if (to == FRE_ROLE_RELAY && type_of(message) == FRE_WIRE_CARRY &&
        fre_carry_decode(&m, &n->s.w, message, NULL) == FRE_OK)
        k->carried += m.what == FRE_WIRE_ENTRY;
    if (type_of(message) == FRE_WIRE_COLLECTED &&
        fre_batch_decode(&b, &n->s.w, FRE_WIRE_COLLECTED, message, NULL) == FRE_OK)
        k->collected += b.n;
    if (type_of(message) == FRE_WIRE_MIXED &&
        fre_batch_decode(&b, &n->s.w, FRE_WIRE_MIXED, message, NULL) == FRE_OK)
        k->mixed += b.n;
}

static void why_2_padding_never_passes_the_relay(void **state)
{
    static const uint32_t of[] = {4};
    counts k = {0, 0, 0, 0};
    net n;

    (void)state;
    begin_usual(&n, of, 1, 2, 2);
    n.saw = count_all;
    n.ctx = &k;
    net_run(&n);
    assert_int_equal(k.carried, 6);
    assert_int_equal(k.collected, 6);
    assert_true(k.mixed > 6);
    assert_int_equal(k.to_relay, 0);
    net_end(&n);
}

/* ---- until members are asked for --------------------------------------------------------------------- */

static void look_inside(net *n, fre_role from, fre_role to, fre_bytes message)
{
    (void)from;
    (void)to;
    if (type_of(message) == FRE_WIRE_MIXED)
        view_batch(n->ctx, n, FRE_WIRE_MIXED, message);
}

static void no_vouch(net *n, fre_role from, fre_role to, fre_buf *message)
{
    (void)n;
    (void)to;
    if (from == FRE_ROLE_SYN)
        message->n = 0;
}

/* A collection up to where S_syn, which is the attacker from here on, has counted.  Everything that it
 * opened is in v. */
static void to_the_vouch(net *n, view *v, const uint32_t *of, uint32_t clusters, uint64_t seed)
{
    *v = (view){.n = 0};
    begin_usual(n, of, clusters, 0, seed);
    n->saw = look_inside;
    n->ctx = v;
    n->change = no_vouch;
    for (; fre_server_phase(n->links.server[FRE_ROLE_SYN]) < FRE_PHASE_SUMMING;
         n->now += n->now < n->s.w.c.tags_close ? 40 : 1)
        net_step(n);
    n->saw = NULL;
    n->change = NULL;
}

static void make_vouch(net *n, fre_part part, const fre_vouch_set *set, uint32_t sets, fre_buf *out)
{
    fre_buf_wipe(out);
    assert_int_equal(fre_vouch_encode(out, &n->s.w, part, set, sets, &n->s.syn_sk), FRE_OK);
}

/* Asks the issuer, once more for the answer; ids that it kept under the only tag, 0: refused. */
static uint32_t ask_issuer(net *n, const fre_vouch_set *set, fre_buf *answer)
{
    fre_buf m;
    fre_tag_sets sets;
    fre_vouched_set s;
    fre_letters none;
    fre_delta rows;

    fre_buf_init(&m, FRE_WIRE_MESSAGE_MAX);
    make_vouch(n, (fre_part){0, 1}, set, 1, &m);
    assert_int_equal(view_send(n, FRE_ROLE_ISSUER, sample_view(&m), answer), FRE_ACCEPTED);
    fre_letters_init(&none);
    fre_delta_init(&rows);
    assert_int_equal(fre_server_tick(n->links.server[FRE_ROLE_ISSUER], &none, &rows, n->now),
                     FRE_OK);
    fre_letters_wipe(&none);
    fre_delta_wipe(&rows);
    assert_int_equal(view_send(n, FRE_ROLE_ISSUER, sample_view(&m), answer), FRE_ACCEPTED);
    fre_buf_wipe(&m);
    assert_int_equal(fre_vouched_decode(&sets, &n->s.w, sample_view(answer), NULL), FRE_OK);
    return fre_vouched_next(&sets, &s) ? s.n : 0;
}

static int by_member(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(fre_report_id));
}

static void why_3_light_tags_are_not_listed(void **state)
{
    static const uint32_t of[] = {4, 2};
    fre_sealed_entry_seed seed[MAX];
    fre_vouch_member m[MAX];
    fre_vouch_set set = {.member = m};
    fre_buf answer;
    view v;
    net n;

    (void)state;
    to_the_vouch(&n, &v, of, 2, 3);
    fre_buf_init(&answer, FRE_WIRE_MESSAGE_MAX);
    set.tag = view_tag(&n, 1);
    assert_int_equal(view_members(&v, &set.tag, m, seed, MAX), 2);
    fre_rng_bytes(&n.rng, m[2].id.b, sizeof m[2].id.b); /* a third member of its own */
    fre_rng_bytes(&n.rng, m[2].proof.b, sizeof m[2].proof.b);
    qsort(m, 3, sizeof *m, by_member);
    set.n = 3;
    assert_int_equal(ask_issuer(&n, &set, &answer), 0);
    fre_buf_wipe(&answer);
    view_wipe(&v);
    net_end(&n);
}

/* ---- 4: all but one client, and names of the relay's own -------------------------------------------- */

static void why_4_names_without_an_account(void **state)
{
    static const uint32_t of[] = {3};
    uint32_t count[MAX];
    static float x[MAX * NET_DIM];
    net n;

    (void)state;
    begin_usual(&n, of, 1, 0, 4);
    n.strangers = 2;
    net_run(&n);
    assert_int_equal(released(&n, count, x), 0);
    assert_int_equal(fre_server_client_verdict(n.user[0].client), FRE_OK);
    assert_int_equal(fre_server_client_verdict(n.user[1].client), FRE_E_REFUSED);
    assert_int_equal(fre_server_client_verdict(n.user[2].client), FRE_E_REFUSED);
    net_end(&n);
}

/* The relay hands on one victim's entry, and entries of its own under the tag that somebody told it. */
static void fill_up(net *n, fre_role from, fre_role to, fre_buf *message)
{
    const size_t each = fre_entry_sealed_bytes(&n->s.w, FRE_WIRE_ENTRY);
    const fre_tag tag = view_tag(n, 0);
    fre_buf sealed;
    fre_batch m;

    (void)to;
    if (from != FRE_ROLE_RELAY || type_of(sample_view(message)) != FRE_WIRE_COLLECTED)
        return;
    must(fre_batch_decode(&m, &n->s.w, FRE_WIRE_COLLECTED, sample_view(message), NULL) == FRE_OK);
    fre_buf_init(&sealed, FRE_WIRE_MESSAGE_MAX);
    must(fre_buf_append(&sealed, m.sealed.p, each) == FRE_OK);
    if (n->ctx == NULL) { /* the same each time it is sent */
        static fre_buf forged;

        fre_buf_init(&forged, FRE_WIRE_MESSAGE_MAX);
        for (int i = 0; i < 3; i++)
            view_forge(n, &tag, &forged);
        n->ctx = &forged;
    }
    must(fre_buf_append(&sealed, ((fre_buf *)n->ctx)->p, ((fre_buf *)n->ctx)->n) == FRE_OK);
    view_make_batch(n, FRE_WIRE_COLLECTED, sample_view(&sealed), message);
    fre_buf_wipe(&sealed);
}

static void why_4_entries_of_the_relays_own(void **state)
{
    static const uint32_t of[] = {4};
    uint32_t count[MAX];
    static float x[MAX * NET_DIM];
    net n;

    (void)state;
    begin_usual(&n, of, 1, 0, 5);
    n.change = fill_up;
    net_run(&n);
    assert_int_equal(released(&n, count, x), 0);
    fre_buf_wipe(n.ctx);
    net_end(&n);
}

/* ---- 5: padding with a guessed tag -------------------------------------------------------------------- */

static void lift(net *n, fre_role from, fre_role to, fre_buf *message)
{
    const fre_tag tag = view_tag(n, 1);
    static fre_buf sealed;
    fre_batch m;

    (void)to;
    if (from != FRE_ROLE_TAG || type_of(sample_view(message)) != FRE_WIRE_MIXED)
        return;
    if (n->ctx == NULL) {
        must(fre_batch_decode(&m, &n->s.w, FRE_WIRE_MIXED, sample_view(message), NULL) == FRE_OK);
        fre_buf_init(&sealed, FRE_WIRE_MESSAGE_MAX);
        must(fre_buf_append(&sealed, m.sealed.p, m.sealed.n) == FRE_OK);
        view_forge(n, &tag, &sealed);
        view_forge(n, &tag, &sealed);
        n->ctx = &sealed;
    }
    view_make_batch(n, FRE_WIRE_MIXED, sample_view(n->ctx), message);
}

static void why_5_padding_lifts_nothing(void **state)
{
    static const uint32_t of[] = {4, 1};
    uint32_t count[MAX];
    static float x[MAX * NET_DIM];
    net n;

    (void)state;
    begin_usual(&n, of, 2, 0, 6);
    n.change = lift;
    net_run(&n);
    assert_non_null(n.ctx);
    assert_int_equal(released(&n, count, x), 1);
    assert_int_equal(count[0], 4);
    fre_buf_wipe(n.ctx);
    net_end(&n);
}

/* ---- 6, 12, 13: terms ------------------------------------------------------------------------------------------ */

static void why_6_12_13_terms_that_nobody_takes(void **state)
{
    fre_agreement *a = NULL;
    fre_collection c;
    sample s;

    (void)state;
    c = net_terms(&s);
    strcpy(c.relay_url, "http://relay.example");
    memset(c.relay_pin, 0, sizeof c.relay_pin);
    assert_int_equal(server_agree(&a, &c, NULL), FRE_E_DATA);
    c = net_terms(&s);
    c.grid_seed[0] ^= 1; /* ground by the organiser */
    assert_int_equal(server_agree(&a, &c, NULL), FRE_E_DATA);
    c = net_terms(&s);
    c.contribution[FRE_CONTRIBUTOR_TAG][0] ^= 1; /* after the commitments */
    assert_int_equal(server_agree(&a, &c, NULL), FRE_E_DATA);
    /* 12: one name may put all its places into one cell, so w counts places. */
    c = net_terms(&s);
    c.cells_per_user = 2;
    c.curious = 1;
    assert_int_equal(server_agree(&a, &c, NULL), FRE_E_DATA);
    assert_null(a);
    c.curious = 2;
    assert_int_equal(server_agree(&a, &c, NULL), FRE_OK);
    fre_agreement_free(a);
}

/* ---- 7: what a message costs ---------------------------------------------------------------------------------- */

static void rows_of_entries(net *n, fre_role from, fre_role to, fre_bytes message)
{
    (void)from;
    if (to == FRE_ROLE_RELAY && type_of(message) == FRE_WIRE_CARRY)
        ((uint32_t *)n->ctx)[0]++;
}

static void why_7_rows_do_not_grow(void **state)
{
    static const uint32_t of[] = {50};
    uint32_t carried = 0;
    fre_letters l;
    fre_delta rows;
    size_t least = SIZE_MAX, most = 0, entries = 0;
    net n;

    (void)state;
    begin_usual(&n, of, 1, 0, 7);
    n.saw = rows_of_entries;
    n.ctx = &carried;
    for (; n.now < n.s.w.c.tags_close - 1; n.now += 40) {
        /* Entries by hand, to see what each call gives. */
        for (uint32_t i = 0; i < n.users; i++) {
            fre_letters_init(&l);
            fre_delta_init(&rows);
            assert_int_equal(fre_server_tick(n.user[i].client, &l, &rows, n.now), FRE_OK);
            for (size_t k = 0; k < l.n; k++) {
                fre_carry m;
                fre_reply r;

                if (fre_carry_decode(&m, &n.s.w, sample_view(&l.letter[k].message), NULL) ==
                        FRE_OK &&
                    m.what == FRE_WIRE_ENTRY) {
                    fre_reply_init(&r);
                    assert_int_equal(fre_server_handle(n.links.server[FRE_ROLE_RELAY], &r,
                                                       sample_view(&l.letter[k].message), n.now),
                                     FRE_OK);
                    if (r.rows.n > 0) {
                        least = r.rows.raw.n < least ? r.rows.raw.n : least;
                        most = r.rows.raw.n > most ? r.rows.raw.n : most;
                        entries++;
                    }
                    fre_reply_wipe(&r);
                }
            }
            fre_letters_wipe(&l);
            fre_delta_wipe(&rows);
        }
        net_step(&n);
    }
    assert_int_equal(entries, 50);
    assert_true(carried > 100);
    assert_int_equal(least, most);
    net_end(&n);
}

/* ---- 9: a restored backup ---------------------------------------------------------------------------------------- */

static void copy_store(net_store *to, const net_store *from)
{
    fre_delta rows;
    fre_row row;

    fre_delta_init(&rows);
    for (size_t i = 0; i < from->n; i++) {
        row = (fre_row){.table = from->row[i].key.p[0],
                        .key = {from->row[i].key.p + 1, from->row[i].key.n - 1},
                        .value = sample_view(&from->row[i].value)};
        must(server_row_put(&rows, row.table, row.key, row.value) == FRE_OK);
    }
    net_store_commit(to, &rows);
    fre_delta_wipe(&rows);
}

/* S_tag from the last backup in which what it mixes, or sums, is not yet made, with everything else gone on
 * until it had left. */
static void rolled_back(uint64_t seed, bool sum, bool splits)
{
    const uint32_t of[] = {splits ? 9 : 4};
    const fre_mark_kind kind = sum ? FRE_MARK_SUM : FRE_MARK_MIX;
    net_store backup = {.n = 0};
    const tagging *t;
    fre_collection c;
    net n = {.users = 0};

    c = net_terms(&n.s);
    c.splits = splits;
    begin(&n, &c, of, 1, 0, seed);
    n.a->exact = false;
    t = (const tagging *)n.links.server[FRE_ROLE_TAG];
    for (; t->mark[kind].state != TAGGING_MARK_SET;
         n.now += n.now < n.s.w.c.tags_close ? 40 : 1) {
        if ((sum ? t->summed.count : t->mixed.count) == 0) {
            net_store_wipe(&backup);
            copy_store(&backup, &n.store[FRE_ROLE_TAG]);
        }
        net_step(&n);
        assert_true(n.now < n.s.w.c.end - 2);
    }
    net_store_wipe(&n.store[FRE_ROLE_TAG]);
    n.store[FRE_ROLE_TAG] = backup;
    n.a->seed[31] ^= 1; /* its randomness is another */
    net_restart(&n, FRE_ROLE_TAG);
    for (int i = 0; i < 6 && fre_server_phase(n.links.server[FRE_ROLE_TAG]) != FRE_PHASE_VOID;
         i++, n.now++)
        net_step(&n);
    assert_int_equal(fre_server_phase(n.links.server[FRE_ROLE_TAG]), FRE_PHASE_VOID);
    net_end(&n);
}

static void why_9_nothing_leaves_twice(void **state)
{
    (void)state;
    rolled_back(8, false, false);
    rolled_back(9, true, false);
    rolled_back(10, true, true);
}

/* ---- 10: padding from birth ----------------------------------------------------------------------------------------- */

/* Two machines of the same rows pad apart from each other. */
static void why_10_padding_is_drawn_when_it_mixes(void **state)
{
    static const uint32_t of[] = {4};
    uint8_t hash[2][FRE_HASH_BYTES];
    net_store at_close = {.n = 0};
    net n;

    (void)state;
    begin_usual(&n, of, 1, 0, 10);
    n.a->seeded = false;
    for (; ((tagging *)n.links.server[FRE_ROLE_TAG])->collected.got == 0;
         n.now += n.now < n.s.w.c.tags_close ? 40 : 1) {
        net_store_wipe(&at_close);
        net_step(&n);
        copy_store(&at_close, &n.store[FRE_ROLE_TAG]);
    }
    for (int i = 0; i < 2; i++) {
        fre_letters l;
        fre_delta rows;

        net_store_wipe(&n.store[FRE_ROLE_TAG]);
        copy_store(&n.store[FRE_ROLE_TAG], &at_close);
        net_restart(&n, FRE_ROLE_TAG);
        fre_letters_init(&l);
        fre_delta_init(&rows);
        assert_int_equal(fre_server_tick(n.links.server[FRE_ROLE_TAG], &l, &rows, n.now), FRE_OK);
        memcpy(hash[i], ((tagging *)n.links.server[FRE_ROLE_TAG])->mark[FRE_MARK_MIX].hash,
               sizeof hash[i]);
        fre_letters_wipe(&l);
        fre_delta_wipe(&rows);
    }
    assert_memory_not_equal(hash[0], hash[1], sizeof hash[0]);
    net_store_wipe(&at_close);
    net_end(&n);
}

/* ---- 11: a tag that goes on ------------------------------------------------------------------------------------------ */

/* Six members, two in each of three parts: all are kept, though no part has tau of them. */
static void why_11_a_tag_goes_on_over_parts(void **state)
{
    static const uint32_t of[] = {6};
    fre_sealed_entry_seed seed[MAX];
    fre_vouch_member m[MAX];
    fre_letters none;
    fre_delta rows;
    fre_buf out, answer;
    uint32_t kept = 0;
    view v;
    net n;

    (void)state;
    to_the_vouch(&n, &v, of, 1, 11);
    fre_buf_init(&out, FRE_WIRE_MESSAGE_MAX);
    fre_buf_init(&answer, FRE_WIRE_MESSAGE_MAX);
    fre_letters_init(&none);
    fre_delta_init(&rows);
    {
        const fre_tag tag = view_tag(&n, 0);

        assert_int_equal(view_members(&v, &tag, m, seed, MAX), 6);
        for (uint32_t pass = 0; pass < 2; pass++) {
            for (uint32_t i = 0; i < 3; i++) {
                const fre_vouch_set set = {.tag = tag, .n = 2, .member = m + 2 * i};
                fre_tag_sets sets;
                fre_vouched_set s;

                make_vouch(&n, (fre_part){i, 3}, &set, 1, &out);
                assert_int_equal(view_send(&n, FRE_ROLE_ISSUER, sample_view(&out), &answer),
                                 FRE_ACCEPTED);
                if (pass == 0)
                    continue;
                assert_int_equal(fre_vouched_decode(&sets, &n.s.w, sample_view(&answer), NULL),
                                 FRE_OK);
                while (fre_vouched_next(&sets, &s))
                    kept += s.n;
            }
            assert_int_equal(fre_server_tick(n.links.server[FRE_ROLE_ISSUER], &none, &rows, n.now),
                             FRE_OK);
        }
    }
    assert_int_equal(kept, 6);
    /* Another vouch, or the same in another partition, is none. */
    {
        const fre_tag tag = view_tag(&n, 0);
        const fre_vouch_set set = {.tag = tag, .n = 3, .member = m};

        make_vouch(&n, (fre_part){0, 3}, &set, 1, &out);
        assert_int_equal(view_send(&n, FRE_ROLE_ISSUER, sample_view(&out), NULL),
                         FRE_REJECTED_REPLAYED);
        make_vouch(&n, (fre_part){0, 2}, &set, 1, &out);
        assert_int_equal(view_send(&n, FRE_ROLE_ISSUER, sample_view(&out), NULL),
                         FRE_REJECTED_DISAGREES);
    }
    fre_letters_wipe(&none);
    fre_delta_wipe(&rows);
    fre_buf_wipe(&out);
    fre_buf_wipe(&answer);
    view_wipe(&v);
    net_end(&n);
}

/* ---- 14: keys ------------------------------------------------------------------------------------------------------------- */

static bool is_wiped(const fre_hpke_keypair *k)
{
    static const fre_hpke_keypair zero;

    return memcmp(k, &zero, sizeof zero) == 0;
}

static bool store_holds(const net_store *s, const uint8_t *key, size_t n)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->row[i].value.n >= n && memmem(s->row[i].value.p, s->row[i].value.n, key, n))
            return true;
    return false;
}

static void no_row_holds_a_key(const net *n)
{
    for (unsigned role = 1; role < NET_ROLES; role++) {
        assert_false(store_holds(&n->store[role], n->s.oprf.b, 32));
        assert_false(store_holds(&n->store[role], n->s.issuer_oprf.b, 32));
        assert_false(store_holds(&n->store[role], n->s.tag.sk.b, 32));
        assert_false(store_holds(&n->store[role], n->s.syn.sk.b, 32));
        assert_false(store_holds(&n->store[role], n->s.issuer.sk.b, 32));
        assert_false(store_holds(&n->store[role], n->s.tag_sk.b, 32));
    }
}

static void why_14_keys_end(void **state)
{
    static const uint32_t of[] = {4};
    const tagging *t;
    const synthesis *y;
    const issuer *i;
    net n;

    (void)state;
    begin_usual(&n, of, 1, 0, 14);
    t = (const tagging *)n.links.server[FRE_ROLE_TAG];
    y = (const synthesis *)n.links.server[FRE_ROLE_SYN];
    i = (const issuer *)n.links.server[FRE_ROLE_ISSUER];
    for (; fre_server_phase(n.links.server[FRE_ROLE_RELAY]) < FRE_PHASE_DONE;
         n.now += n.now < n.s.w.c.tags_close ? 40 : 1) {
        net_step(&n);
        no_row_holds_a_key(&n);
        if (n.now >= n.s.w.c.tags_close)
            assert_false(server_key_here(&t->oprf));
        assert_int_equal(is_wiped(&y->seal), y->counted);
        assert_int_equal(is_wiped(&t->seal), t->summed.count > 0);
        assert_int_equal(is_wiped(&i->seal), i->answers.count > 0);
        assert_int_equal(!server_key_here(&i->oprf), i->answers.count > 0);
    }
    assert_true(y->counted && t->summed.count > 0 && i->answers.count > 0);
    net_end(&n);
}

/* ---- junk under a popular tag ------------------------------------------------------------------ */

#define JUNK 40u

typedef struct junk {
    fre_buf forged;
    bool spoilt[MAX]; /* users whose place is another one than the issuer gave a key for */
} junk;

/* The relay's own, under the tags of clusters 0 and 1, behind all honest ones. */
static void add_junk(net *n, fre_role from, fre_role to, fre_buf *message)
{
    junk *j = n->ctx;
    fre_buf sealed;
    fre_batch m;

    (void)to;
    if (from != FRE_ROLE_RELAY || type_of(sample_view(message)) != FRE_WIRE_COLLECTED)
        return;
    for (uint32_t i = 0; i < 2 * JUNK && j->forged.n < 2 * JUNK * fre_entry_sealed_bytes(&n->s.w, FRE_WIRE_ENTRY); i++) {
        const fre_tag tag = view_tag(n, i % 2); /* the same each time it is sent */

        view_forge(n, &tag, &j->forged);
    }
    must(fre_batch_decode(&m, &n->s.w, FRE_WIRE_COLLECTED, sample_view(message), NULL) == FRE_OK);
    fre_buf_init(&sealed, FRE_WIRE_MESSAGE_MAX);
    must(fre_buf_append(&sealed, m.sealed.p, m.sealed.n) == FRE_OK);
    must(fre_buf_append(&sealed, j->forged.p, j->forged.n) == FRE_OK);
    view_make_batch(n, FRE_WIRE_COLLECTED, sample_view(&sealed), message);
    fre_buf_wipe(&sealed);
}

/* The last two of cluster 0 have accounts, and send a proof that is of another id. */
static void spoil_places(net *n, fre_role from, fre_role to, fre_bytes message)
{
    junk *j = n->ctx;
    client *c;

    (void)to;
    (void)message;
    if (from != 0 || n->sender < 5 || n->sender > 6 || j->spoilt[n->sender])
        return;
    c = (client *)n->user[n->sender].client;
    if (c->stage != CLIENT_ADMITTED)
        return;
    c->place[0].place.b[0] ^= 1;
    j->spoilt[n->sender] = true;
}

/* Whatever anybody sends under a popular tag, it is released with its honest members, their mean unmoved; and
 * no junk lifts one that is not. */
static void junk_under_a_popular_tag(void **state)
{
    static const uint32_t of[] = {7, 2}, honest[] = {5};
    static float with[MAX * NET_DIM], without[MAX * NET_DIM];
    uint32_t count[MAX];
    junk j = {.spoilt = {false}};
    net n, m;

    (void)state;
    {
        fre_collection c;

        n = (net){.users = 0};
        c = net_terms(&n.s);
        c.users = 200;
        begin(&n, &c, of, 2, 0, 30);
    }
    fre_buf_init(&j.forged, FRE_WIRE_MESSAGE_MAX);
    n.ctx = &j;
    n.change = add_junk;
    n.saw = spoil_places;
    net_run(&n);
    assert_true(j.forged.n > 0 && j.spoilt[5] && j.spoilt[6]);
    assert_int_equal(released(&n, count, with), 1);
    assert_int_equal(count[0], 5);
    begin_usual(&m, honest, 1, 0, 30);
    net_run(&m);
    assert_int_equal(released(&m, count, without), 1);
    for (uint32_t k = 0; k < NET_DIM; k++)
        assert_true(fabs((double)(with[k] - without[k])) <= 4 * n.a->cell.beta);
    fre_buf_wipe(&j.forged);
    net_end(&n);
    net_end(&m);
}

/* ---- liars at the new steps --------------------------------------------------------------------------------------------- */

/* Two proofs, or an id under a second tag: neither is kept. */
static void proofs_are_of_one_id_and_tag(void **state)
{
    static const uint32_t of[] = {5, 4};
    fre_sealed_entry_seed seed[MAX];
    fre_vouch_member m[MAX], other[MAX];
    fre_vouch_set set = {.member = m};
    fre_vouching swap;
    fre_buf answer;
    view v;
    net n;

    (void)state;
    to_the_vouch(&n, &v, of, 2, 20);
    fre_buf_init(&answer, FRE_WIRE_MESSAGE_MAX);
    set.tag = view_tag(&n, 0);
    set.n = view_members(&v, &set.tag, m, seed, MAX);
    assert_int_equal(set.n, 5);
    swap = m[0].proof;
    m[0].proof = m[1].proof;
    m[1].proof = swap;
    assert_int_equal(ask_issuer(&n, &set, &answer), 3);
    view_wipe(&v);
    net_end(&n);
    to_the_vouch(&n, &v, of, 2, 21);
    set.tag = view_tag(&n, 1);
    assert_int_equal(view_members(&v, &set.tag, other, seed, MAX), 4);
    set.tag = view_tag(&n, 0);
    set.n = view_members(&v, &set.tag, m, seed, MAX);
    m[set.n++] = other[0]; /* of the other tag */
    qsort(m, set.n, sizeof *m, by_member);
    assert_int_equal(ask_issuer(&n, &set, &answer), 5);
    fre_buf_wipe(&answer);
    view_wipe(&v);
    net_end(&n);
}

/* S_tag opens no seed but its own member's: others are left out, and with too few nothing is summed. */
static uint32_t opened(uint64_t seed_of_run, uint32_t swapped)
{
    static const uint32_t of[] = {5};
    fre_sealed_entry_seed seed[MAX], swap;
    fre_vouch_member m[MAX];
    fre_vouch_set set = {.member = m};
    fre_unseal u = {.part = {0, 1}, .n = 5, .seed = seed};
    fre_buf vouched, ask, answer;
    fre_tag_sets sets;
    fre_summed_set s;
    uint32_t n_opened = 0;
    view v;
    net n;

    to_the_vouch(&n, &v, of, 1, seed_of_run);
    fre_buf_init(&vouched, FRE_WIRE_MESSAGE_MAX);
    fre_buf_init(&ask, FRE_WIRE_MESSAGE_MAX);
    fre_buf_init(&answer, FRE_WIRE_MESSAGE_MAX);
    set.tag = view_tag(&n, 0);
    set.n = view_members(&v, &set.tag, m, seed, MAX);
    assert_int_equal(ask_issuer(&n, &set, &vouched), 5);
    for (uint32_t i = 0; i + 1 < swapped; i += 2) {
        swap = seed[i];
        seed[i] = seed[i + 1];
        seed[i + 1] = swap;
    }
    u.vouched = sample_view(&vouched);
    assert_int_equal(fre_unseal_encode(&ask, &n.s.w, &u, &n.s.syn_sk), FRE_OK);
    n.change = no_vouch;
    for (int i = 0; i < 4; i++, n.now++) {
        assert_int_equal(view_send(&n, FRE_ROLE_TAG, sample_view(&ask), &answer), FRE_ACCEPTED);
        net_step(&n);
    }
    assert_int_equal(fre_summed_decode(&sets, &n.s.w, sample_view(&answer), NULL), FRE_OK);
    if (fre_summed_next(&sets, &s)) {
        assert_true(s.packed.n > 0);
        n_opened = s.n;
    }
    /* Another question after the answer. */
    ask.n = 0;
    seed[4].b[0] ^= 1;
    assert_int_equal(fre_unseal_encode(&ask, &n.s.w, &u, &n.s.syn_sk), FRE_OK);
    assert_int_equal(view_send(&n, FRE_ROLE_TAG, sample_view(&ask), NULL), FRE_REJECTED_REPLAYED);
    fre_buf_wipe(&vouched);
    fre_buf_wipe(&ask);
    fre_buf_wipe(&answer);
    view_wipe(&v);
    net_end(&n);
    return n_opened;
}

static void seeds_are_of_one_member(void **state)
{
    (void)state;
    assert_int_equal(opened(22, 0), 5);
    assert_int_equal(opened(23, 2), 3);
    assert_int_equal(opened(24, 4), 0);
}

/* The issuer answers one person with another key: that person finds out and sends nothing. */
static void another_key_is_noticed(void **state)
{
    static const uint32_t of[] = {4};
    fre_oprf_element e[FRE_COLLECTION_CELLS_MAX];
    fre_admitted admitted = {.token = {{7}}};
    fre_ohttp_exchange x;
    fre_oprf_proof proof;
    fre_bytes credentials;
    fre_buf inside, message, sealed;
    fre_carry m;
    fre_letters l;
    net n;

    (void)state;
    begin_usual(&n, of, 1, 0, 25);
    n.now = 1300;
    fre_letters_init(&l);
    fre_buf_init(&inside, SAMPLE_MAX);
    fre_buf_init(&message, SAMPLE_MAX);
    fre_buf_init(&sealed, SAMPLE_MAX);
    assert_int_equal(fre_server_tick(n.user[0].client, &l, NULL, n.now), FRE_OK);
    assert_int_equal(l.n, 1);
    assert_int_equal(fre_carry_decode(&m, &n.s.w, sample_view(&l.letter[0].message), NULL), FRE_OK);
    assert_int_equal(fre_exchange_open(&x, &inside, &n.s.w, FRE_WIRE_ISSUE_REQUEST, &n.s.issuer,
                                       m.bytes, NULL),
                     FRE_OK);
    assert_int_equal(
        fre_issue_request_decode(&credentials, e, &n.s.w, sample_view(&inside), NULL), FRE_OK);
    /* S_tag's key will do as the other one. */
    assert_int_equal(fre_oprf_blind_evaluate(e, &proof, &n.s.oprf, e, 1, &n.rng), FRE_OK);
    inside.n = 0;
    assert_int_equal(fre_issue_response_encode(&inside, &n.s.w, e, &proof), FRE_OK);
    assert_int_equal(fre_exchange_answer(&x, &sealed, &n.s.w, sample_view(&inside), &n.rng), FRE_OK);
    admitted.answer = sample_view(&sealed);
    assert_int_equal(fre_admitted_encode(&message, &n.s.w, &admitted), FRE_OK);
    assert_int_equal(
        fre_server_answered(n.user[0].client, NULL, l.letter[0].cookie, sample_view(&message), n.now),
        FRE_OK);
    assert_int_equal(fre_server_client_verdict(n.user[0].client), FRE_E_PROOF);
    fre_letters_wipe(&l);
    assert_int_equal(fre_server_tick(n.user[0].client, &l, NULL, n.now), FRE_OK);
    assert_int_equal(l.n, 0);
    fre_letters_wipe(&l);
    fre_buf_wipe(&inside);
    fre_buf_wipe(&message);
    fre_buf_wipe(&sealed);
    net_end(&n);
}

/* Fewer entries than a batch may have: void before any padding is drawn. */
static void short_flush(void **state)
{
    static const uint32_t of[] = {4};
    fre_collection c;
    net n = {.users = 0};

    (void)state;
    c = net_terms(&n.s);
    c.batch_min = 5;
    begin(&n, &c, of, 1, 0, 26);
    for (; n.now < c.tags_close + 60; n.now += n.now < c.tags_close ? 40 : 1)
        net_step(&n);
    for (unsigned role = 1; role < NET_ROLES; role++)
        assert_int_equal(fre_server_phase(n.links.server[role]), FRE_PHASE_VOID);
    assert_int_equal(((tagging *)n.links.server[FRE_ROLE_TAG])->mixed.count, 0);
    net_end(&n);
}

static void tokens_count(void **state)
{
    static const uint32_t of[] = {4};
    fre_carry m = {.what = FRE_WIRE_ENTRY, .token = {{9}}};
    fre_buf sealed, entry, carry;
    uint8_t head[FRE_WIRE_HEAD_BYTES] = {FRE_WIRE_VERSION, FRE_WIRE_ENTRY};
    const fre_tag tag = {{1}};
    net n;

    (void)state;
    begin_usual(&n, of, 1, 0, 27);
    n.now = 1500;
    fre_buf_init(&sealed, SAMPLE_MAX);
    fre_buf_init(&entry, SAMPLE_MAX);
    fre_buf_init(&carry, SAMPLE_MAX);
    view_forge(&n, &tag, &sealed);
    memcpy(head + 2, n.s.w.id.b, sizeof n.s.w.id.b);
    assert_int_equal(fre_buf_append(&entry, head, sizeof head), FRE_OK);
    assert_int_equal(fre_buf_append(&entry, sealed.p, sealed.n), FRE_OK);
    m.bytes = sample_view(&entry);
    assert_int_equal(fre_carry_encode(&carry, &n.s.w, &m), FRE_OK);
    assert_int_equal(view_send(&n, FRE_ROLE_RELAY, sample_view(&carry), NULL),
                     FRE_REJECTED_ADMISSION); /* without an exchange */
    fre_buf_wipe(&sealed);
    fre_buf_wipe(&entry);
    fre_buf_wipe(&carry);
    net_end(&n);
}

static void an_exchange(net *n, fre_role from, fre_role to, fre_bytes message)
{
    fre_buf *kept = n->ctx;
    fre_carry m;

    (void)from;
    if (to == FRE_ROLE_RELAY && kept->n == 0 &&
        fre_carry_decode(&m, &n->s.w, message, NULL) == FRE_OK && m.what == FRE_WIRE_TAG_REQUEST)
        assert_int_equal(fre_buf_append(kept, message.p, message.n), FRE_OK);
}

/* Whoever repeats one exchange costs S_tag an evaluation each time, and not for ever. */
static void a_repeated_exchange_has_an_end(void **state)
{
    static const uint32_t of[] = {4};
    fre_buf kept;
    net n;

    (void)state;
    fre_buf_init(&kept, SAMPLE_MAX);
    begin_usual(&n, of, 1, 0, 28);
    n.saw = an_exchange;
    n.ctx = &kept;
    for (n.now = n.s.w.c.open; kept.n == 0 && n.now < n.s.w.c.exchange_close; n.now += 10)
        net_step(&n);
    n.saw = NULL;
    assert_true(kept.n > 0);
    for (unsigned i = 0; i < RELAY_AGAIN_MAX; i++)
        assert_int_equal(view_send(&n, FRE_ROLE_RELAY, sample_view(&kept), NULL), FRE_ACCEPTED);
    assert_int_equal(view_send(&n, FRE_ROLE_RELAY, sample_view(&kept), NULL), FRE_REJECTED_FULL);
    fre_buf_wipe(&kept);
    net_end(&n);
}

/* Nothing, and every message of every type at every role in every phase, has a typed answer, and changes
 * nothing that was not asked for. */
static void every_message_everywhere(void **state)
{
    static const uint32_t of[] = {4};
    net n;

    (void)state;
    begin_usual(&n, of, 1, 0, 28);
    for (; fre_server_phase(n.links.server[FRE_ROLE_RELAY]) < FRE_PHASE_DONE;
         n.now += n.now < n.s.w.c.tags_close ? 100 : 1) {
        for (unsigned role = 1; role < NET_ROLES; role++) {
            assert_int_equal(view_send(&n, (fre_role)role, (fre_bytes){NULL, 0}, NULL),
                             FRE_REJECTED_MALFORMED);
            for (unsigned t = 1; t < FRE_WIRE_TYPES; t++) {
                uint8_t message[FRE_WIRE_HEAD_BYTES + 70] = {FRE_WIRE_VERSION, (uint8_t)t};

                memcpy(message + 2, n.s.w.id.b, sizeof n.s.w.id.b);
                assert_int_not_equal(view_send(&n, (fre_role)role,
                                               (fre_bytes){message, sizeof message}, NULL),
                                     FRE_ACCEPTED);
                message[5] ^= 1;
                assert_int_not_equal(view_send(&n, (fre_role)role,
                                               (fre_bytes){message, sizeof message}, NULL),
                                     FRE_ACCEPTED);
            }
        }
        net_step(&n);
    }
    {
        uint32_t count[MAX];
        static float x[MAX * NET_DIM];

        assert_int_equal(released(&n, count, x), 1);
        assert_int_equal(count[0], 4);
    }
    net_end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(why_1_a_dropped_entry_is_an_absent_user),
        cmocka_unit_test(why_2_padding_never_passes_the_relay),
        cmocka_unit_test(why_3_light_tags_are_not_listed),
        cmocka_unit_test(why_4_names_without_an_account),
        cmocka_unit_test(why_4_entries_of_the_relays_own),
        cmocka_unit_test(why_5_padding_lifts_nothing),
        cmocka_unit_test(why_6_12_13_terms_that_nobody_takes),
        cmocka_unit_test(why_7_rows_do_not_grow),
        cmocka_unit_test(why_9_nothing_leaves_twice),
        cmocka_unit_test(why_10_padding_is_drawn_when_it_mixes),
        cmocka_unit_test(why_11_a_tag_goes_on_over_parts),
        cmocka_unit_test(why_14_keys_end),
        cmocka_unit_test(junk_under_a_popular_tag),
        cmocka_unit_test(proofs_are_of_one_id_and_tag),
        cmocka_unit_test(seeds_are_of_one_member),
        cmocka_unit_test(another_key_is_noticed),
        cmocka_unit_test(short_flush),
        cmocka_unit_test(tokens_count),
        cmocka_unit_test(a_repeated_exchange_has_an_end),
        cmocka_unit_test(every_message_everywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
