/* Whole collections with two contacts: exactly the sums that are expected, whoever is killed and whatever is
 * lost on the way, and what liars try between the list and the answers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "client.h"
#include "server_view.h"
#include "synthesis.h"
#include "tagging.h"

#include <cmocka.h>

#define MAX 64

/* 5 users in cluster 0, 4 in 1, 3 in 2, 2 in 3 (one below tau), 3 without a text. */
static const uint32_t sizes[] = {5, 4, 3, 2};
#define USERS 17u

static void begin_with(net *n, const fre_collection *c, uint64_t seed, bool exact)
{
    uint32_t user = 0;

    net_begin(n, c, USERS, seed);
    n->a->exact = exact;
    for (uint32_t k = 0; k < 4; k++)
        for (uint32_t i = 0; i < sizes[k]; i++)
            net_text(n, user++, k);
    net_clients(n);
}

static void begin(net *n, uint64_t seed, bool exact)
{
    fre_collection c;

    *n = (net){.users = 0};
    c = net_terms_two(&n->s);
    begin_with(n, &c, seed, exact);
}

static fre_share_cell cell_of(const net *n, uint64_t count)
{
    fre_share_cell cell;

    must(fre_share_cell_init(&cell, &n->a->m, n->a->w.c.split, count, 20, NULL) == FRE_OK);
    return cell;
}

/* How far rounding alone may take a coordinate of an exact mean. */
static double slack(const net *n, uint64_t count)
{
    const fre_share_cell cell = cell_of(n, count);

    return 4 * cell.beta + 16 * cell.beta / (double)cell.answers_needed;
}

/* Where the centroid of a cluster is; MAX: it is not there. */
static uint32_t place_of(const float *centroid, int cells, uint32_t cluster)
{
    for (int i = 0; i < cells; i++)
        if (centroid[(size_t)i * NET_DIM + cluster] > 0.5f)
            return (uint32_t)i;
    return MAX;
}

static void check_cell(const net *n, uint32_t cluster, const float *centroid, uint32_t first,
                       uint32_t of, double sigmas)
{
    const double noise = sigmas * n->s.w.c.sigma * sqrt((double)of) / (double)(of - 1);

    for (uint32_t j = 0; j < NET_DIM; j++) {
        double mean = 0;

        for (uint32_t i = 0; i < of; i++)
            mean += (double)n->user[first + i].x[j] / of;
        if (fabs((double)centroid[j] - mean) > slack(n, sizes[cluster]) + noise)
            fail_msg("cluster %u: %g is not %g", cluster, (double)centroid[j], mean);
    }
}

/* All three cells, with the list's counts and everybody's mean. */
static void check(const net *n, double sigmas)
{
    static float centroid[MAX * NET_DIM];
    uint32_t count[MAX], first = 0;
    const int cells = net_release(n, FRE_ROLE_RELAY, count, centroid, MAX);

    assert_int_equal(cells, 3);
    for (uint32_t k = 0; k < 3; k++) {
        const uint32_t at = place_of(centroid, cells, k);

        assert_true(at < MAX);
        assert_int_equal(count[at], sizes[k]);
        check_cell(n, k, centroid + (size_t)at * NET_DIM, first, sizes[k], sigmas);
        first += sizes[k];
    }
}

static void all_is_counted(void **state)
{
    net n;

    (void)state;
    begin(&n, 1, true);
    net_run(&n);
    for (uint32_t i = 0; i < n.users; i++)
        assert_int_equal(fre_server_client_verdict(n.user[i].client), FRE_OK);
    for (unsigned role = 1; role < NET_ROLES; role++)
        assert_int_equal(fre_server_phase(n.links.server[role]), FRE_PHASE_DONE);
    check(&n, 0);
    net_end(&n);
}

static void noise_is_there(void **state)
{
    net n;

    (void)state;
    begin(&n, 2, false);
    net_run(&n);
    check(&n, 6);
    net_end(&n);
}

static void several_places(void **state)
{
    static float centroid[MAX * NET_DIM];
    fre_collection c;
    uint32_t count[MAX], at;
    net n = {.users = 0};
    int cells;

    (void)state;
    c = net_terms_two(&n.s);
    c.cells_per_user = 3;
    net_begin(&n, &c, 5, 4);
    n.a->exact = true;
    for (uint32_t i = 0; i < 5; i++) {
        net_text(&n, i, 0);
        net_text(&n, i, 0); /* the same cell again */
        net_text(&n, i, i < 4 ? 1 : 2);
    }
    net_clients(&n);
    net_run(&n);
    cells = net_release(&n, FRE_ROLE_RELAY, count, centroid, MAX);
    assert_int_equal(cells, 2);
    at = place_of(centroid, cells, 0);
    assert_true(at < MAX);
    assert_int_equal(count[at], 5);
    assert_int_equal(count[1 - at], 4);
    net_end(&n);
}

/* ---- loss and death ----------------------------------------------------------------------------- */

static void rough_links(void **state)
{
    (void)state;
    for (uint64_t seed = 10; seed < 20; seed++) {
        net n;

        begin(&n, seed, true);
        n.lose = n.lose_answer = n.late = 50;
        n.twice = 80;
        n.stride = 4;
        net_run(&n);
        check(&n, 0);
        net_end(&n);
    }
}

static uint64_t rows_of_a_run(void)
{
    uint64_t rows;
    net n;

    begin(&n, 30, true);
    net_run(&n);
    check(&n, 0);
    rows = n.rows;
    net_end(&n);
    return rows;
}

/* The writer of each row dies once before the rows of its call are committed. */
static void killed_at_every_row(void **state)
{
    const uint64_t rows = rows_of_a_run();

    (void)state;
    assert_true(rows > 150);
    for (uint64_t at = 1; at <= rows; at++) {
        net n;

        begin(&n, 30, true);
        n.kill_at = at;
        net_run(&n);
        assert_int_equal(n.kills, 1);
        check(&n, 0);
        net_end(&n);
    }
}

static void killed_again_and_again(void **state)
{
    (void)state;
    for (uint64_t seed = 40; seed < 60; seed++) {
        net n;

        begin(&n, seed, true);
        n.kill_every = 3 + seed % 11;
        n.lose = n.lose_answer = 30;
        n.twice = 60;
        n.stride = 4;
        net_run(&n);
        assert_true(n.kills > 5);
        check(&n, 0);
        net_end(&n);
    }
}

typedef struct said {
    fre_role to[4096];
    fre_buf message[4096];
    size_t n;
} said;

static void listen(net *n, fre_role from, fre_role to, fre_bytes message)
{
    said *s = n->ctx;

    (void)from;
    if (s->n == sizeof s->message / sizeof *s->message)
        return;
    s->to[s->n] = to;
    fre_buf_init(&s->message[s->n], FRE_WIRE_MESSAGE_MAX);
    assert_int_equal(fre_buf_append(&s->message[s->n++], message.p, message.n), FRE_OK);
}

static void old_messages_again(void **state)
{
    static said s;
    fre_buf answer;
    uint32_t steps = 0;
    net n;

    (void)state;
    begin(&n, 70, true);
    fre_buf_init(&answer, FRE_WIRE_MESSAGE_MAX);
    n.ctx = &s;
    for (; fre_server_phase(n.links.server[FRE_ROLE_RELAY]) < FRE_PHASE_DONE; n.now += 20) {
        n.saw = listen;
        net_step(&n);
        n.saw = NULL;
        for (size_t i = 0; i < s.n; i++)
            (void)net_send(&n, (fre_role)0, s.to[i], sample_view(&s.message[i]), &answer);
        if (++steps % 3 == 0) /* and after a restart */
            for (unsigned role = 1; role < NET_ROLES; role++)
                net_restart(&n, (fre_role)role);
    }
    assert_true(s.n > 6 * USERS);
    check(&n, 0);
    for (size_t i = 0; i < s.n; i++)
        fre_buf_wipe(&s.message[i]);
    fre_buf_wipe(&answer);
    net_end(&n);
}

/* ---- what is seen -------------------------------------------------------------------------------- */

static fre_wire_type type_of(fre_bytes m)
{
    fre_collection_id id;
    fre_wire_type type = (fre_wire_type)0;

    return fre_wire_peek(&type, &id, m) == FRE_OK ? type : (fre_wire_type)0;
}

static bool is_carried(const net *n, fre_bytes message, fre_wire_type what)
{
    fre_wire w = n->s.w;
    fre_carry m;

    if (n->links.server[FRE_ROLE_RELAY]->list)
        w = n->links.server[FRE_ROLE_RELAY]->list->w;
    return type_of(message) == FRE_WIRE_CARRY &&
           fre_carry_decode(&m, &w, message, NULL) == FRE_OK && m.what == what;
}

/* Entries as S_syn opens them, and answers. */
typedef struct seen {
    view entries;
    fre_entry answer[MAX];
    uint32_t answers, carried, carried_entries;
} seen;

static void look(net *n, fre_role from, fre_role to, fre_bytes message)
{
    seen *s = n->ctx;
    const fre_server *syn = n->links.server[FRE_ROLE_SYN];
    fre_batch m;
    fre_buf plain;

    if (from == 0 && to == FRE_ROLE_RELAY) {
        s->carried += is_carried(n, message, FRE_WIRE_ANSWER);
        s->carried_entries += is_carried(n, message, FRE_WIRE_ENTRY);
    }
    if (type_of(message) == FRE_WIRE_COLLECTED)
        view_batch(&s->entries, n, FRE_WIRE_COLLECTED, message);
    if (type_of(message) != FRE_WIRE_GATHERED)
        return;
    must(fre_batch_decode(&m, &syn->list->w, FRE_WIRE_GATHERED, message, NULL) == FRE_OK);
    fre_buf_init(&plain, FRE_WIRE_MESSAGE_MAX);
    for (uint32_t i = 0; i < m.n; i++) {
        const size_t each = fre_entry_sealed_bytes(&syn->list->w, FRE_WIRE_ANSWER);

        must(s->answers < MAX);
        must(fre_entry_open(&s->answer[s->answers++], &plain, &syn->list->w, FRE_WIRE_ANSWER,
                            &n->s.syn, (fre_bytes){m.sealed.p + i * each, each}, NULL) == FRE_OK);
    }
    fre_buf_wipe(&plain);
}

/* The entry whose owner's answer this is, by all that S_syn knows; MAX: none. */
static size_t entry_of(const seen *s, const fre_server *syn, const fre_entry *answer)
{
    for (size_t k = 0; k < s->entries.n; k++) {
        fre_report_id name;

        fre_answer_name(&name, &syn->list->w, &s->entries.at[k].e.id, &s->entries.at[k].e.proof);
        if (memcmp(answer->id.b, name.b, sizeof name.b) == 0)
            return k;
    }
    return MAX;
}

/* Everybody answers once a place.  Members of listed cells do so under a name that their entries give; no other
 * answer belongs to an entry: S_syn could tell users from padding by it. */
static void who_has_nothing_to_say_cannot_be_linked(void **state)
{
    static seen s;
    uint32_t linked = 0;
    net n;

    (void)state;
    s = (seen){.answers = 0};
    begin(&n, 3, false);
    n.saw = look;
    n.ctx = &s;
    net_run(&n);
    assert_int_equal(s.entries.n, USERS);
    assert_int_equal(s.answers, USERS);
    assert_int_equal(s.carried, USERS);
    for (uint32_t i = 0; i < s.answers; i++) {
        const fre_server *syn = n.links.server[FRE_ROLE_SYN];
        const size_t k = entry_of(&s, syn, &s.answer[i]);
        uint32_t count;

        linked += k < MAX;
        if (k < MAX)
            assert_true(fre_list_find(&syn->list->list, &s.entries.at[k].e.tag, &count));
    }
    assert_int_equal(linked, 5 + 4 + 3);
    view_wipe(&s.entries);
    net_end(&n);
}

/* Without cover those who hold nothing send nothing; the rest is as before. */
static void cover_off(void **state)
{
    static seen s;
    fre_collection c;
    net n = {.users = 0};

    (void)state;
    s = (seen){.answers = 0};
    c = net_terms_two(&n.s);
    c.cover = false;
    begin_with(&n, &c, 5, true);
    n.saw = look;
    n.ctx = &s;
    net_run(&n);
    check(&n, 0);
    assert_int_equal(s.carried_entries, 5 + 4 + 3 + 2);
    assert_int_equal(s.carried, 5 + 4 + 3);
    for (uint32_t i = 0; i < n.users; i++)
        assert_int_equal(fre_server_client_verdict(n.user[i].client), FRE_OK);
    view_wipe(&s.entries);
    net_end(&n);
}

/* ---- missing answers ----------------------------------------------------------------------------- */

static uint32_t dropped_from, dropped_to; /* users */

static void drop_entries(net *n, fre_role from, fre_role to, fre_buf *message)
{
    (void)to;
    if (from == 0 && n->sender >= dropped_from && n->sender < dropped_to &&
        is_carried(n, sample_view(message), FRE_WIRE_ENTRY))
        message->n = 0;
}

static void drop_answers(net *n, fre_role from, fre_role to, fre_buf *message)
{
    (void)to;
    if (from == 0 && n->sender >= dropped_from && n->sender < dropped_to &&
        is_carried(n, sample_view(message), FRE_WIRE_ANSWER))
        message->n = 0;
}

static void begin_dropping(net *n, uint64_t seed, uint32_t from, uint32_t to)
{
    fre_collection c;

    *n = (net){.users = 0};
    c = net_terms_two(&n->s);
    c.dropout = 0.4;
    begin_with(n, &c, seed, true);
    dropped_from = from;
    dropped_to = to;
    n->change = drop_answers;
}

/* Whose entry never arrived answers the list all the same, and knows that it came too late, after a restart
 * too. */
static void a_missing_entry_is_known(void **state)
{
    static float centroid[MAX * NET_DIM];
    uint32_t count[MAX], at;
    net n;
    int cells;

    (void)state;
    begin_dropping(&n, 9, 0, 1);
    n.change = drop_entries;
    net_run(&n);
    cells = net_release(&n, FRE_ROLE_RELAY, count, centroid, MAX);
    at = place_of(centroid, cells, 0);
    assert_true(at < MAX);
    assert_int_equal(count[at], 4);
    assert_int_equal(fre_server_client_verdict(n.user[0].client), FRE_E_AGAIN);
    assert_int_equal(fre_server_client_verdict(n.user[1].client), FRE_OK);
    net_restart_client(&n, 0);
    assert_int_equal(fre_server_client_verdict(n.user[0].client), FRE_E_AGAIN);
    net_restart_client(&n, 1);
    assert_int_equal(fre_server_client_verdict(n.user[1].client), FRE_OK);
    net_end(&n);
}

static void lose_one(net *n, fre_role from, fre_role to, fre_buf *message)
{
    (void)n;
    (void)from;
    (void)to;
    if (type_of(sample_view(message)) == FRE_WIRE_COLLECTED) { /* the relay's last entry is not there */
        const size_t each = fre_entry_sealed_bytes(&n->s.w, FRE_WIRE_ENTRY);
        fre_batch m;
        fre_buf made;

        must(fre_batch_decode(&m, &n->s.w, FRE_WIRE_COLLECTED, sample_view(message), NULL) ==
             FRE_OK);
        m.n--;
        m.sealed.n -= each;
        fre_buf_init(&made, FRE_WIRE_MESSAGE_MAX);
        must(fre_batch_encode(&made, &n->s.w, FRE_WIRE_COLLECTED, &m, &n->s.relay_sk) == FRE_OK);
        message->n = 0;
        must(fre_buf_append(message, made.p, made.n) == FRE_OK);
        fre_buf_wipe(&made);
    }
}

/* Somebody of a listed cell whose entry was lost, or left out behind its receipt, is not in the list and answers
 * all the same.  S_syn must not see it: one more of that cell, and with certainty, is what neither sampling
 * nor threshold hides.  The answer names nothing but an entry that S_syn has not. */
static void left_out(bool behind_its_receipt)
{
    static seen s;
    uint32_t members = 0;
    net n;

    s = (seen){.answers = 0};
    begin_dropping(&n, 9, 0, behind_its_receipt ? 0 : 1);
    n.change = behind_its_receipt ? lose_one : drop_entries;
    n.saw = look;
    n.ctx = &s;
    net_run(&n);
    assert_int_equal(s.entries.n, USERS - 1);
    assert_int_equal(s.answers, USERS);
    for (uint32_t i = 0; i < s.answers; i++) {
        const fre_server *syn = n.links.server[FRE_ROLE_SYN];
        const fre_entry *a = &s.answer[i];
        uint32_t count;

        assert_false(fre_list_find(&syn->list->list, &a->tag, &count)); /* there is none in it */
        members += entry_of(&s, syn, a) < MAX;
    }
    /* One was of no cell that is listed, of one of them, or of the one with just tau. */
    if (members != 5 + 4 + 3 && members != 5 + 4 + 3 - 1 && members != 5 + 4)
        fail_msg("%u", members);
    view_wipe(&s.entries);
    net_end(&n);
}

static void who_was_left_out_is_not_seen(void **state)
{
    (void)state;
    left_out(false);
    left_out(true);
}

/* The count is the list's, and so is what stands where the first version said how many answered. */
static void a_missing_answer_is_not_counted_out(void **state)
{
    static float centroid[MAX * NET_DIM];
    uint32_t count[MAX], at;
    net n;
    int cells;

    (void)state;
    begin_dropping(&n, 6, 0, 1);
    net_run(&n);
    cells = net_release(&n, FRE_ROLE_RELAY, count, centroid, MAX); /* compares both numbers */
    assert_int_equal(cells, 3);
    at = place_of(centroid, cells, 0);
    assert_true(at < MAX);
    assert_int_equal(count[at], 5);
    check_cell(&n, 0, centroid + (size_t)at * NET_DIM, 1, 4, 0);
    assert_int_equal(fre_server_client_verdict(n.user[0].client), FRE_E_AGAIN);
    net_end(&n);
}

/* One of three answers, and n(3) is 2. */
static void too_few_answers_open_nothing(void **state)
{
    static float centroid[MAX * NET_DIM];
    uint32_t count[MAX];
    net n;
    int cells;

    (void)state;
    begin_dropping(&n, 7, 9, 11);
    net_run(&n);
    cells = net_release(&n, FRE_ROLE_RELAY, count, centroid, MAX);
    assert_int_equal(cells, 2);
    assert_int_equal(place_of(centroid, cells, 2), MAX);
    net_end(&n);
}

/* S_syn asks S_tag all the same, with one seed of the first tag, to see one member's embedding. */
static void isolate(net *n, fre_role from, fre_role to, fre_buf *message)
{
    fre_sealed_entry_seed seed[MAX];
    fre_unseal m;

    if (from != FRE_ROLE_SYN || to != FRE_ROLE_TAG ||
        type_of(sample_view(message)) != FRE_WIRE_UNSEAL)
        return;
    must(fre_unseal_decode(&m, &n->s.w, sample_view(message), NULL) == FRE_OK);
    must(m.n <= MAX);
    memcpy(seed, m.seed, m.n * sizeof *seed);
    memset(seed + 1, 0, 2 * sizeof *seed); /* each tag has at least three */
    m.seed = seed;
    {
        fre_buf changed;

        fre_buf_init(&changed, FRE_WIRE_MESSAGE_MAX);
        must(fre_unseal_encode(&changed, &n->s.w, &m, &n->s.syn_sk) == FRE_OK);
        fre_buf_wipe(message);
        *message = changed;
    }
}

static uint32_t tags_summed(const net *n)
{
    const tagging *t = (const tagging *)n->links.server[FRE_ROLE_TAG];
    uint32_t tags = 0;

    for (uint32_t i = 0; i < t->summed.count; i++) {
        fre_tag_sets sets;
        fre_summed_set s;

        must(fre_summed_decode(&sets, &t->base.list->w, sample_view(&t->summed.letter[i].message),
                               NULL) == FRE_OK);
        while (fre_summed_next(&sets, &s))
            tags++;
    }
    return tags;
}

static void one_seed_is_not_summed(void **state)
{
    static float centroid[MAX * NET_DIM];
    uint32_t count[MAX];
    net n;

    (void)state;
    begin(&n, 8, true);
    n.change = isolate;
    net_run(&n);
    assert_int_equal(tags_summed(&n), 2);
    assert_int_equal(net_release(&n, FRE_ROLE_RELAY, count, centroid, MAX), 2);
    net_end(&n);
}

static void lose_unseal(net *n, fre_role from, fre_role to, fre_buf *message)
{
    drop_answers(n, from, to, message);
    if (from == FRE_ROLE_SYN && to == FRE_ROLE_TAG &&
        type_of(sample_view(message)) == FRE_WIRE_UNSEAL)
        message->n = 0;
}

/* S_tag says that it opened the seed of somebody who did not answer: S_syn has no share to add. */
static void who_did_not_answer_is_not_summed(void **state)
{
    const synthesis *x;
    fre_summed_set set = {.n = 0};
    uint8_t packed[8 * NET_DIM] = {0};
    fre_tag_sets sets;
    fre_vouched_set v;
    fre_buf message;
    net n;

    (void)state;
    begin_dropping(&n, 16, 0, 1);
    n.change = lose_unseal;
    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    for (; n.now < 3000; n.now += 8)
        net_step(&n);
    x = (const synthesis *)n.links.server[FRE_ROLE_SYN];
    assert_true(x->unseal.count == 1 && x->base.phase < FRE_PHASE_DONE);
    must(fre_vouched_decode(&sets, &n.s.w, sample_view(&x->vouched.part[0].bytes), NULL) == FRE_OK);
    while (fre_vouched_next(&sets, &v))
        if (v.n == 5)
            set = (fre_summed_set){.tag = v.tag, .n = v.n, .id = v.id};
    assert_int_equal(set.n, 5);
    set.packed = (fre_bytes){packed, fre_wire_share_bytes(&x->base.list->w)};
    assert_true(set.packed.n <= sizeof packed);
    must(fre_summed_encode(&message, &x->base.list->w, (fre_part){0, 1}, &set, 1, &n.s.tag_sk) ==
         FRE_OK);
    assert_int_equal(fre_server_answered(n.links.server[FRE_ROLE_SYN], NULL,
                                         SERVER_COOKIE(SERVER_UNSEAL, 0), sample_view(&message),
                                         n.now),
                     FRE_OK);
    assert_int_equal(fre_server_phase(n.links.server[FRE_ROLE_SYN]), FRE_PHASE_VOID);
    fre_buf_wipe(&message);
    net_end(&n);
}

/* ---- lists ------------------------------------------------------------------------------------------ */

/* The list that is published, with d more under its i-th tag, signed again. */
static void forge(const net *n, uint32_t i, uint32_t d, const fre_sign_sk *issuer, fre_buf *out)
{
    const fre_list *l = &n->links.server[FRE_ROLE_SYN]->list->list;
    fre_list_entry e[MAX];
    fre_buf list;

    for (uint32_t k = 0; k < l->n; k++)
        e[k] = fre_list_at(l, k);
    e[i].count += d;
    fre_buf_init(&list, FRE_WIRE_MESSAGE_MAX);
    must(fre_list_encode(&list, &n->s.w, e, l->n, &n->s.syn_sk) == FRE_OK);
    fre_buf_wipe(out);
    if (issuer)
        must(fre_listed_encode(out, &n->s.w, sample_view(&list), issuer) == FRE_OK);
    else
        must(fre_buf_append(out, list.p, list.n) == FRE_OK);
    fre_buf_wipe(&list);
}

static void run_until_listed(net *n)
{
    const fre_collection *c = &n->s.w.c;

    for (; fre_server_list_view(n->links.server[FRE_ROLE_RELAY]).n == 0;
         n->now += n->now < c->tags_close ? n->stride : 1) {
        must(n->now < c->shares_close);
        net_step(n);
    }
}

static fre_rejection tell_client(net *n, uint32_t i, fre_bytes message)
{
    fre_rejection why;
    fre_reply reply;

    fre_reply_init(&reply);
    must(fre_server_handle(n->user[i].client, &reply, message, n->now) == FRE_OK);
    why = reply.why;
    net_store_commit(&n->user[i].store, &reply.rows);
    fre_reply_wipe(&reply);
    return why;
}

static void one_list_for_everybody(void **state)
{
    static const fre_role roles[] = {FRE_ROLE_RELAY, FRE_ROLE_TAG};
    fre_bytes list;
    fre_buf other;
    net n;

    (void)state;
    begin(&n, 9, true);
    fre_buf_init(&other, FRE_WIRE_MESSAGE_MAX);
    run_until_listed(&n);
    net_step(&n); /* clients answer */
    list = fre_server_list_view(n.links.server[FRE_ROLE_RELAY]);
    forge(&n, 0, 1, &n.s.issuer_sk, &other);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(view_send(&n, roles[i], sample_view(&other), NULL), FRE_REJECTED_REPLAYED);
        assert_int_equal(view_send(&n, roles[i], list, NULL), FRE_ACCEPTED);
    }
    for (uint32_t i = 0; i < n.users; i++) {
        assert_int_equal(tell_client(&n, i, sample_view(&other)), FRE_REJECTED_REPLAYED);
        assert_int_equal(tell_client(&n, i, list), FRE_ACCEPTED);
        net_restart_client(&n, i);
        assert_int_equal(tell_client(&n, i, sample_view(&other)), FRE_REJECTED_REPLAYED);
    }
    /* S_syn in the issuer's name. */
    forge(&n, 0, 1, &n.s.syn_sk, &other);
    assert_int_equal(tell_client(&n, 0, sample_view(&other)), FRE_REJECTED_UNAUTHENTIC);
    assert_int_equal(view_send(&n, FRE_ROLE_TAG, sample_view(&other), NULL),
                     FRE_REJECTED_UNAUTHENTIC);
    net_run(&n);
    check(&n, 0);
    fre_buf_wipe(&other);
    net_end(&n);
}

/* The issuer signs what it vouched for, each time the same bytes, and nothing else. */
static void the_issuer_signs_what_it_vouched_for(void **state)
{
    fre_buf list, answer;
    net n;

    (void)state;
    begin(&n, 10, true);
    fre_buf_init(&list, FRE_WIRE_MESSAGE_MAX);
    fre_buf_init(&answer, FRE_WIRE_MESSAGE_MAX);
    {
        fre_list_entry e = {.count = 3};

        must(fre_list_encode(&list, &n.s.w, &e, 1, &n.s.syn_sk) == FRE_OK);
        assert_int_equal(view_send(&n, FRE_ROLE_ISSUER, sample_view(&list), NULL),
                         FRE_REJECTED_PHASE);
    }
    run_until_listed(&n);
    assert_int_equal(view_send(&n, FRE_ROLE_ISSUER, sample_view(&list), NULL),
                     FRE_REJECTED_DISAGREES);
    for (uint32_t i = 0; i < 3; i++) {
        forge(&n, i, 1, NULL, &list);
        assert_int_equal(view_send(&n, FRE_ROLE_ISSUER, sample_view(&list), NULL),
                         FRE_REJECTED_DISAGREES);
    }
    list.n = 0; /* an empty one, which leaves all out */
    must(fre_list_encode(&list, &n.s.w, NULL, 0, &n.s.syn_sk) == FRE_OK);
    assert_int_equal(view_send(&n, FRE_ROLE_ISSUER, sample_view(&list), NULL),
                     FRE_REJECTED_DISAGREES);
    list.p[list.n - 1] ^= 1;
    assert_int_equal(view_send(&n, FRE_ROLE_ISSUER, sample_view(&list), NULL),
                     FRE_REJECTED_UNAUTHENTIC);
    net_restart(&n, FRE_ROLE_ISSUER);
    forge(&n, 0, 0, NULL, &list);
    assert_int_equal(view_send(&n, FRE_ROLE_ISSUER, sample_view(&list), &answer), FRE_ACCEPTED);
    assert_int_equal(answer.n, fre_server_list_view(n.links.server[FRE_ROLE_SYN]).n);
    assert_memory_equal(answer.p, fre_server_list_view(n.links.server[FRE_ROLE_SYN]).p, answer.n);
    fre_buf_wipe(&list);
    fre_buf_wipe(&answer);
    net_end(&n);
}

/* S_syn and issuer show one user another list: it is absent, and nothing else is different. */
static void another_list_opens_nothing(void **state)
{
    static float centroid[MAX * NET_DIM];
    uint32_t count[MAX], at;
    fre_collection c;
    fre_buf other;
    net n = {.users = 0};
    int cells;

    (void)state;
    c = net_terms_two(&n.s);
    c.dropout = 0.4;
    begin_with(&n, &c, 11, true);
    fre_buf_init(&other, FRE_WIRE_MESSAGE_MAX);
    run_until_listed(&n);
    /* The largest of three counts stays, and with it the size of an answer. */
    for (uint32_t i = 0; i < 3; i++)
        if (fre_list_at(&n.links.server[FRE_ROLE_SYN]->list->list, i).count == 3)
            forge(&n, i, 1, &n.s.issuer_sk, &other);
    assert_int_equal(tell_client(&n, 0, sample_view(&other)), FRE_ACCEPTED);
    net_run(&n);
    assert_int_equal(fre_server_client_verdict(n.user[0].client), FRE_OK);
    cells = net_release(&n, FRE_ROLE_RELAY, count, centroid, MAX);
    assert_int_equal(cells, 3);
    at = place_of(centroid, cells, 0);
    assert_true(at < MAX);
    assert_int_equal(count[at], 5);
    check_cell(&n, 0, centroid + (size_t)at * NET_DIM, 1, 4, 0);
    fre_buf_wipe(&other);
    net_end(&n);
}

/* S_syn and issuer count one more under a tag than the issuer vouches for, so that its members add less
 * noise: S_tag sums nothing there, though enough of them answer. */
static void inflate(net *n, fre_role from, fre_role to, fre_buf *message)
{
    const fre_server *syn = n->links.server[FRE_ROLE_SYN];

    if (from != FRE_ROLE_SYN || (to != FRE_ROLE_TAG && to != FRE_ROLE_RELAY) ||
        type_of(sample_view(message)) != FRE_WIRE_LISTED)
        return;
    for (uint32_t i = 0; i < syn->list->list.n; i++)
        if (fre_list_at(&syn->list->list, i).count == 3) {
            forge(n, i, 1, &n->s.issuer_sk, message);
            return;
        }
}

static void a_list_counts_what_is_vouched(void **state)
{
    static float centroid[MAX * NET_DIM];
    uint32_t count[MAX];
    fre_collection c;
    net n = {.users = 0};
    int cells;

    (void)state;
    c = net_terms_two(&n.s);
    c.dropout = 0.4; /* n(4) is 3 */
    begin_with(&n, &c, 12, true);
    n.change = inflate;
    net_run(&n);
    cells = net_release(&n, FRE_ROLE_RELAY, count, centroid, MAX);
    assert_int_equal(cells, 2);
    assert_int_equal(place_of(centroid, cells, 2), MAX);
    net_end(&n);
}

/* ---- the relay's counts, keys ------------------------------------------------------------------------- */

/* As many answers as places under a token, until they close. */
static void answers_are_counted(void **state)
{
    const fre_server *relay;
    fre_wire w;
    uint8_t *bytes;
    size_t n_bytes;
    fre_carry m = {.what = FRE_WIRE_ANSWER};
    fre_buf message;
    net n;

    (void)state;
    begin(&n, 13, true);
    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    run_until_listed(&n);
    net_step(&n);
    relay = n.links.server[FRE_ROLE_RELAY];
    w = relay->list->w;
    n_bytes = FRE_WIRE_HEAD_BYTES + fre_entry_sealed_bytes(&w, FRE_WIRE_ANSWER);
    bytes = calloc(1, n_bytes);
    assert_non_null(bytes);
    bytes[0] = FRE_WIRE_VERSION;
    bytes[1] = FRE_WIRE_ANSWER;
    memcpy(bytes + 2, w.id.b, sizeof w.id.b);
    m.bytes = (fre_bytes){bytes, n_bytes};
    must(fre_carry_encode(&message, &w, &m) == FRE_OK);
    assert_int_equal(view_send(&n, FRE_ROLE_RELAY, sample_view(&message), NULL),
                     FRE_REJECTED_ADMISSION);
    {
        const fre_bytes genuine =
            sample_view(&((const client *)n.user[0].client)->entry[0].message);

        must(fre_carry_decode(&m, &w, genuine, NULL) == FRE_OK);
        assert_int_equal(view_send(&n, FRE_ROLE_RELAY, genuine, NULL), FRE_ACCEPTED);
        assert_int_equal(view_send(&n, FRE_ROLE_RELAY, genuine, NULL), FRE_ACCEPTED);
        m.bytes = (fre_bytes){bytes, n_bytes};
        message.n = 0;
        must(fre_carry_encode(&message, &w, &m) == FRE_OK);
        assert_int_equal(view_send(&n, FRE_ROLE_RELAY, sample_view(&message), NULL),
                         FRE_REJECTED_REPLAYED);
        net_restart(&n, FRE_ROLE_RELAY);
        assert_int_equal(view_send(&n, FRE_ROLE_RELAY, sample_view(&message), NULL),
                         FRE_REJECTED_REPLAYED);
        n.now = w.c.shares_close;
        assert_int_equal(view_send(&n, FRE_ROLE_RELAY, genuine, NULL), FRE_REJECTED_EXPIRED);
    }
    free(bytes);
    fre_buf_wipe(&message);
    net_end(&n);
}

static fre_buf kept_back; /* the first user's answer */

/* It never arrives, and the relay's parts do not either. */
static void keep_back(net *n, fre_role from, fre_role to, fre_buf *message)
{
    (void)to;
    if (from == 0 && n->sender == 0 && kept_back.n == 0 &&
        is_carried(n, sample_view(message), FRE_WIRE_ANSWER))
        must(fre_buf_append(&kept_back, message->p, message->n) == FRE_OK);
    drop_answers(n, from, to, message);
    if (type_of(sample_view(message)) == FRE_WIRE_GATHERED)
        message->n = 0;
}

/* The relay has begun to hand on, and comes back with a clock that is behind: another answer would be other parts
 * under the same numbers, and void the run. */
static void nothing_joins_what_is_handed_on(void **state)
{
    net n;

    (void)state;
    begin_dropping(&n, 14, 0, 1);
    fre_buf_init(&kept_back, FRE_WIRE_MESSAGE_MAX);
    n.change = keep_back;
    for (; n.now < 2610; n.now += n.now < 2000 ? 40 : 5)
        net_step(&n);
    assert_true(kept_back.n > 0);
    assert_int_equal(fre_server_phase(n.links.server[FRE_ROLE_RELAY]), FRE_PHASE_ANSWERING);
    n.change = NULL;
    n.now = 2590;
    net_restart(&n, FRE_ROLE_RELAY);
    assert_int_equal(view_send(&n, FRE_ROLE_RELAY, sample_view(&kept_back), NULL),
                     FRE_REJECTED_EXPIRED);
    for (n.now = 2610; n.now < n.s.w.c.end - 1; n.now += 4)
        net_step(&n);
    assert_int_equal(fre_server_phase(n.links.server[FRE_ROLE_RELAY]), FRE_PHASE_DONE);
    fre_buf_wipe(&kept_back);
    net_end(&n);
}

static bool is_zero(const void *p, size_t n)
{
    const uint8_t *b = p;

    for (size_t i = 0; i < n; i++)
        if (b[i] != 0)
            return false;
    return true;
}

/* S_syn's seal key opens answers too, and ends with them; clients forget what they held once they answer. */
static void keys_and_secrets_end(void **state)
{
    const synthesis *x;
    net n;

    (void)state;
    begin(&n, 14, true);
    run_until_listed(&n);
    x = (const synthesis *)n.links.server[FRE_ROLE_SYN];
    assert_true(x->counted);
    assert_false(is_zero(&x->seal.sk, sizeof x->seal.sk));
    net_step(&n);
    for (uint32_t i = 0; i < n.users; i++) {
        const client *c = (const client *)n.user[i].client;

        assert_null(c->place);
        assert_null(c->x);
        for (size_t k = 0; k < n.user[i].store.n; k++) {
            const net_row *row = &n.user[i].store.row[k];

            assert_false(row->key.n == 2 && row->key.p[0] == SERVER_ROW_CLIENT &&
                         (row->key.p[1] == 0 || row->key.p[1] == 2));
        }
    }
    net_run(&n);
    x = (const synthesis *)n.links.server[FRE_ROLE_SYN];
    assert_true(is_zero(&x->seal.sk, sizeof x->seal.sk));
    net_restart(&n, FRE_ROLE_SYN);
    x = (const synthesis *)n.links.server[FRE_ROLE_SYN];
    assert_true(is_zero(&x->seal.sk, sizeof x->seal.sk));
    net_end(&n);
}

/* One contact has none of these messages. */
static void one_contact_has_no_list(void **state)
{
    static const fre_wire_type types[] = {FRE_WIRE_LIST, FRE_WIRE_LISTED, FRE_WIRE_GATHERED};
    fre_collection c;
    fre_buf m;
    net n = {.users = 0};

    (void)state;
    c = net_terms(&n.s);
    net_begin(&n, &c, 1, 15);
    net_text(&n, 0, 0);
    net_clients(&n);
    fre_buf_init(&m, FRE_WIRE_MESSAGE_MAX);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        fre_buf_wipe(&m);
        sample_sign(&n.s, types[i], (fre_bytes){(const uint8_t *)"", 0}, &m);
        for (unsigned role = 1; role < NET_ROLES; role++)
            assert_int_equal(view_send(&n, (fre_role)role, sample_view(&m), NULL),
                             FRE_REJECTED_MALFORMED);
        assert_int_equal(tell_client(&n, 0, sample_view(&m)), FRE_REJECTED_MALFORMED);
    }
    fre_buf_wipe(&m);
    net_end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_counted),
        cmocka_unit_test(noise_is_there),
        cmocka_unit_test(several_places),
        cmocka_unit_test(rough_links),
        cmocka_unit_test(killed_at_every_row),
        cmocka_unit_test(killed_again_and_again),
        cmocka_unit_test(old_messages_again),
        cmocka_unit_test(who_has_nothing_to_say_cannot_be_linked),
        cmocka_unit_test(cover_off),
        cmocka_unit_test(a_missing_entry_is_known),
        cmocka_unit_test(who_was_left_out_is_not_seen),
        cmocka_unit_test(a_missing_answer_is_not_counted_out),
        cmocka_unit_test(too_few_answers_open_nothing),
        cmocka_unit_test(one_seed_is_not_summed),
        cmocka_unit_test(who_did_not_answer_is_not_summed),
        cmocka_unit_test(one_list_for_everybody),
        cmocka_unit_test(the_issuer_signs_what_it_vouched_for),
        cmocka_unit_test(another_list_opens_nothing),
        cmocka_unit_test(a_list_counts_what_is_vouched),
        cmocka_unit_test(answers_are_counted),
        cmocka_unit_test(nothing_joins_what_is_handed_on),
        cmocka_unit_test(keys_and_secrets_end),
        cmocka_unit_test(one_contact_has_no_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
