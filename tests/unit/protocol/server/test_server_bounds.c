/* What a role takes in all of another's parts: as much as the terms allow and not one item more, in each
 * message of both numbers of contacts, also after a restart; and the most that an honest run can give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "relay.h"
#include "server_view.h"
#include "synthesis.h"
#include "tagging.h"

#include <fre/aggregate.h>

#include <cmocka.h>

#define USERS 2100u
#define MAX 64

/* ---- messages of so many items ------------------------------------------------------------------- */

typedef struct bounded {
    net n;
    fre_wire_type type;
    fre_role to;
    uint64_t most;
} bounded;

static void make_batch(const bounded *b, fre_part part, uint32_t items, fre_buf *out)
{
    const net *n = &b->n;
    const fre_wire *w = server_wire(n->links.server[b->to]);
    const size_t each =
        fre_entry_sealed_bytes(w, b->type == FRE_WIRE_GATHERED ? FRE_WIRE_ANSWER : FRE_WIRE_ENTRY);
    const fre_closed said = {.time = w->c.tags_close, .evaluations = 0};
    uint8_t *sealed = calloc(items + 1, each);
    fre_batch m = {.part = part, .sealed = {sealed, items * each}, .n = items};
    fre_buf closed;

    assert_non_null(sealed);
    fre_buf_init(&closed, FRE_WIRE_MESSAGE_MAX);
    assert_int_equal(fre_closed_encode(&closed, w, &said, &n->s.tag_sk), FRE_OK);
    if (b->type == FRE_WIRE_MIXED)
        m.closed = sample_view(&closed);
    assert_int_equal(fre_batch_encode(out, w, b->type, &m,
                                      b->type == FRE_WIRE_MIXED ? &n->s.tag_sk : &n->s.relay_sk),
                     FRE_OK);
    fre_buf_wipe(&closed);
    free(sealed);
}

/* Ids that ascend over all parts. */
static void number_ids(uint8_t *id, size_t each, fre_part part, uint32_t items)
{
    for (uint32_t i = 0; i < items; i++) {
        id[i * each] = (uint8_t)part.index;
        id[i * each + 1] = (uint8_t)(i >> 8);
        id[i * each + 2] = (uint8_t)i;
    }
}

static void make_vouch(const bounded *b, fre_part part, uint32_t items, fre_buf *out)
{
    fre_vouch_member *m = calloc(items + 1, sizeof *m);
    const fre_vouch_set set = {.tag = {{1}}, .n = items, .member = m};

    assert_non_null(m);
    number_ids((uint8_t *)m, sizeof *m, part, items);
    assert_int_equal(
        fre_vouch_encode(out, &b->n.s.w, part, &set, items > 0, &b->n.s.syn_sk), FRE_OK);
    free(m);
}

static void make_unseal(const bounded *b, fre_part part, uint32_t items, fre_buf *out)
{
    fre_report_id *id = calloc(items + 1, sizeof *id);
    fre_sealed_entry_seed *seed = calloc(items + 1, sizeof *seed);
    const fre_vouched_set set = {.tag = {{1}}, .n = items, .id = id};
    fre_unseal m = {.part = part, .n = items, .seed = seed};
    fre_buf vouched;

    assert_true(id && seed);
    number_ids((uint8_t *)id, sizeof *id, part, items);
    fre_buf_init(&vouched, FRE_WIRE_MESSAGE_MAX);
    assert_int_equal(
        fre_vouched_encode(&vouched, &b->n.s.w, part, &set, items > 0, &b->n.s.issuer_sk), FRE_OK);
    m.vouched = sample_view(&vouched);
    assert_int_equal(fre_unseal_encode(out, &b->n.s.w, &m, &b->n.s.syn_sk), FRE_OK);
    fre_buf_wipe(&vouched);
    free(id);
    free(seed);
}

static void make_release(const bounded *b, fre_part part, uint32_t items, fre_buf *out)
{
    static const float centroid[NET_DIM];
    fre_release_cell *cell = calloc(items + 1, sizeof *cell);
    const fre_release_part m = {.part = part, .time = 1, .n = items};

    assert_non_null(cell);
    for (uint32_t i = 0; i < items; i++)
        cell[i] = (fre_release_cell){.count = (uint32_t)b->n.s.w.c.tau, .centroid = centroid};
    assert_int_equal(
        fre_release_part_encode(out, &b->n.s.w, &m, cell, &b->n.s.syn_sk), FRE_OK);
    free(cell);
}

static fre_rejection send(bounded *b, fre_part part, uint64_t items)
{
    fre_rejection why;
    fre_buf m;

    fre_buf_init(&m, FRE_WIRE_MESSAGE_MAX);
    switch ((unsigned)b->type) {
    case FRE_WIRE_VOUCH:
        make_vouch(b, part, (uint32_t)items, &m);
        break;
    case FRE_WIRE_UNSEAL:
        make_unseal(b, part, (uint32_t)items, &m);
        break;
    case FRE_WIRE_RELEASE:
        make_release(b, part, (uint32_t)items, &m);
        break;
    default:
        make_batch(b, part, (uint32_t)items, &m);
    }
    assert_int_equal(fre_wire_items(sample_view(&m)), items);
    why = view_send(&b->n, b->to, sample_view(&m), NULL);
    fre_buf_wipe(&m);
    return why;
}

/* ---- a role that takes such a message ------------------------------------------------------------ */

/* Where it waits for them, as if all before had been. */
static void set_up(bounded *b)
{
    fre_server *x = b->n.links.server[b->to];

    if (b->type == FRE_WIRE_COLLECTED || b->type == FRE_WIRE_RELEASE)
        x->phase = FRE_PHASE_CLOSED;
    if (b->type == FRE_WIRE_UNSEAL && ((tagging *)x)->mixed.count == 0)
        assert_int_equal(server_out_reserve(&((tagging *)x)->mixed, 1), FRE_OK);
}

/* A list of one cell of all. */
static void bring_list(bounded *b)
{
    const fre_list_entry e = {.tag = {{1}}, .count = USERS};
    const net *n = &b->n;
    fre_delta rows;
    fre_buf list, listed;

    fre_delta_init(&rows);
    fre_buf_init(&list, FRE_WIRE_MESSAGE_MAX);
    fre_buf_init(&listed, FRE_WIRE_MESSAGE_MAX);
    assert_int_equal(fre_list_encode(&list, &n->s.w, &e, 1, &n->s.syn_sk), FRE_OK);
    assert_int_equal(fre_listed_encode(&listed, &n->s.w, sample_view(&list), &n->s.issuer_sk),
                     FRE_OK);
    assert_int_equal(server_list_keep(n->links.server[b->to], &rows, sample_view(&listed)), FRE_OK);
    net_store_commit(&b->n.store[b->to], &rows);
    fre_delta_wipe(&rows);
    fre_buf_wipe(&list);
    fre_buf_wipe(&listed);
}

static void begin(bounded *b, fre_wire_type type, fre_role to, bool one_contact)
{
    fre_collection c;

    memset(b, 0, sizeof *b);
    c = one_contact ? net_terms(&b->n.s) : net_terms_two(&b->n.s);
    c.users = USERS;
    net_begin(&b->n, &c, 0, 1);
    b->type = type;
    b->to = to;
    b->n.now = c.shares_close;
    b->most = USERS;
    if (type == FRE_WIRE_MIXED)
        b->most += c.gamma * c.tau * (c.tau - 1);
    if (type == FRE_WIRE_RELEASE)
        b->most = USERS / c.tau;
    if (!one_contact && (type == FRE_WIRE_GATHERED || type == FRE_WIRE_UNSEAL))
        bring_list(b);
    set_up(b);
}

/* Nothing of it is kept. */
static void must_refuse(bounded *b, fre_part part, uint64_t items)
{
    const size_t before = net_store_bytes(&b->n.store[b->to]);

    assert_int_equal(send(b, part, items), FRE_REJECTED_SIZE);
    assert_int_equal(net_store_bytes(&b->n.store[b->to]), before);
}

static void parts_are_bounded(fre_wire_type type, fre_role to, bool one_contact)
{
    const uint64_t first = FRE_BATCH_PART_MIN;
    bounded b;

    begin(&b, type, to, one_contact);
    assert_int_equal(send(&b, (fre_part){0, 3}, first), FRE_ACCEPTED);
    must_refuse(&b, (fre_part){1, 3}, b.most - first + 1);
    net_restart(&b.n, to);
    set_up(&b);
    must_refuse(&b, (fre_part){1, 3}, b.most - first + 1);
    assert_int_equal(send(&b, (fre_part){0, 3}, first), FRE_ACCEPTED); /* it is here */
    assert_int_equal(send(&b, (fre_part){1, 3}, b.most - first), FRE_ACCEPTED);
    must_refuse(&b, (fre_part){2, 3}, 1);
    assert_int_equal(send(&b, (fre_part){2, 3}, 0), FRE_ACCEPTED);
    net_end(&b.n);
}

static void parts_of_every_message(void **state)
{
    static const struct {
        fre_wire_type type;
        fre_role to;
    } known[] = {{FRE_WIRE_COLLECTED, FRE_ROLE_TAG}, {FRE_WIRE_MIXED, FRE_ROLE_SYN},
                 {FRE_WIRE_GATHERED, FRE_ROLE_SYN},  {FRE_WIRE_VOUCH, FRE_ROLE_ISSUER},
                 {FRE_WIRE_UNSEAL, FRE_ROLE_TAG}};

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int one = 0; one < 2; one++)
            if (known[i].type != FRE_WIRE_GATHERED || !one)
                parts_are_bounded(known[i].type, known[i].to, one == 1);
}

/* Parts of a release have a statement each: as many as its cells fill, and no more. */
static void a_release(void **state)
{
    bounded b;

    (void)state;
    for (int one = 0; one < 2; one++) {
        begin(&b, FRE_WIRE_RELEASE, FRE_ROLE_RELAY, one == 1);
        must_refuse(&b, (fre_part){0, 2}, 1);
        must_refuse(&b, (fre_part){0, 1}, b.most + 1);
        net_restart(&b.n, FRE_ROLE_RELAY);
        set_up(&b);
        must_refuse(&b, (fre_part){0, 1}, b.most + 1);
        assert_int_equal(send(&b, (fre_part){0, 1}, b.most), FRE_ACCEPTED);
        net_end(&b.n);
    }
}

/* The parts that S_syn makes of any number of cells are among those that are taken. */
static void parts_of_a_release(void **state)
{
    fre_wire w = {.c.dim = 768};
    uint32_t before = 1;

    (void)state;
    for (uint64_t cells = 0; cells < 20000; cells += 7) {
        const uint32_t parts = server_release_parts(&w, cells);

        assert_true(parts >= before);
        assert_true(cells * (8 + 4 * 768) <= (uint64_t)parts * (8u << 20));
        before = parts;
    }
    assert_int_equal(server_release_parts(&w, UINT64_MAX / 2), FRE_WIRE_PARTS_MAX);
}

/* ---- answers are held to their questions --------------------------------------------------------- */

static void no_vouch(net *n, fre_role from, fre_role to, fre_buf *message)
{
    (void)n;
    if (from == FRE_ROLE_SYN && (to == FRE_ROLE_ISSUER || to == FRE_ROLE_TAG))
        message->n = 0;
}

static synthesis *syn_of(const net *n)
{
    return (synthesis *)n->links.server[FRE_ROLE_SYN];
}

/* S_syn has counted one tag of six members, and asks for them in two parts. */
static void to_two_questions(net *n, bool one_contact)
{
    fre_collection c;
    fre_vouch_member m[6];
    synthesis *x;

    *n = (net){.users = 0};
    c = one_contact ? net_terms(&n->s) : net_terms_two(&n->s);
    net_begin(n, &c, 6, 4);
    for (uint32_t i = 0; i < 6; i++)
        net_text(n, i, 0);
    net_clients(n);
    n->change = no_vouch;
    for (; fre_server_phase(n->links.server[FRE_ROLE_SYN]) < FRE_PHASE_SUMMING;
         n->now += n->now < c.tags_close ? 40 : 1)
        net_step(n);
    x = syn_of(n);
    assert_int_equal(x->members, 6);
    for (uint32_t i = 0; i < 6; i++)
        m[i] = (fre_vouch_member){.id = x->member[i].id, .proof = x->member[i].proof};
    server_out_wipe(&x->vouch);
    for (uint32_t i = 0; i < 2; i++) {
        const fre_vouch_set set = {.tag = x->member[0].tag, .n = 3, .member = m + 3 * i};
        fre_buf message;

        fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
        assert_int_equal(
            fre_vouch_encode(&message, &n->s.w, (fre_part){i, 2}, &set, 1, &n->s.syn_sk), FRE_OK);
        assert_int_equal(server_out_add(&x->vouch, NULL, &message), FRE_OK);
    }
}

/* The issuer's answer to that part: these members. */
static void vouch_for(net *n, uint32_t part, uint32_t from, uint32_t members)
{
    synthesis *x = syn_of(n);
    fre_report_id id[6];
    const fre_vouched_set set = {.tag = x->member[0].tag, .n = members, .id = id};
    fre_buf message;

    for (uint32_t i = 0; i < members; i++)
        id[i] = x->member[from + i].id;
    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    assert_int_equal(
        fre_vouched_encode(&message, &n->s.w, (fre_part){part, 2}, &set, 1, &n->s.issuer_sk),
        FRE_OK);
    assert_int_equal(fre_server_answered(&x->base, NULL, SERVER_COOKIE(SERVER_VOUCH, part),
                                         sample_view(&message), n->now),
                     FRE_OK);
    fre_buf_wipe(&message);
}

static void vouched(void **state)
{
    net n;

    (void)state;
    for (int one = 0; one < 2; one++)
        for (uint32_t more = 0; more < 2; more++) {
            to_two_questions(&n, one == 1);
            vouch_for(&n, 0, 0, 3);
            assert_int_equal(syn_of(&n)->vouched.got, 1);
            vouch_for(&n, 1, 3 - more, 3 + more);
            assert_int_equal(fre_server_phase(&syn_of(&n)->base),
                             more ? FRE_PHASE_VOID : FRE_PHASE_SUMMING);
            assert_int_equal(syn_of(&n)->vouched.got, more ? 0 : 2);
            net_end(&n);
        }
}

typedef enum saying { AS_ASKED, EMPTY_SET, ANOTHER_TAG, ANOTHER_PART, SAYINGS } saying;

/* S_tag's answer to part 0 of two, each of which has three members; one contact. */
static void say_sums(net *n, saying what)
{
    synthesis *x = syn_of(n);
    fre_report_id id[6];
    uint8_t packed[8 * NET_DIM] = {0};
    fre_summed_set set[2] = {{.tag = x->member[0].tag, .n = 3, .id = id}, {.n = 0}};
    uint32_t sets = 1;
    fre_buf message;

    for (uint32_t i = 0; i < 6; i++)
        id[i] = x->member[i].id;
    set[0].packed = server_view(packed, fre_wire_share_bytes(&n->s.w));
    if (what == EMPTY_SET)
        set[0].n = 0;
    if (what == ANOTHER_TAG) {
        set[1] = set[0];
        set[1].n = 0;
        memset(set[1].tag.b, 0xff, sizeof set[1].tag.b);
        sets = 2;
    }
    if (what == ANOTHER_PART)
        set[0].n = 6;
    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    assert_int_equal(
        fre_summed_encode(&message, &n->s.w, (fre_part){0, 2}, set, sets, &n->s.tag_sk), FRE_OK);
    assert_int_equal(fre_server_answered(&x->base, NULL, SERVER_COOKIE(SERVER_UNSEAL, 0),
                                         sample_view(&message), n->now),
                     FRE_OK);
    fre_buf_wipe(&message);
}

static void sums(void **state)
{
    net n;

    (void)state;
    for (saying what = AS_ASKED; what < SAYINGS; what++) {
        const bool fine = what == AS_ASKED || what == EMPTY_SET;

        to_two_questions(&n, true);
        vouch_for(&n, 0, 0, 3);
        vouch_for(&n, 1, 3, 3);
        net_step(&n);
        assert_int_equal(syn_of(&n)->unseal.count, 2);
        say_sums(&n, what);
        assert_int_equal(fre_server_phase(&syn_of(&n)->base),
                         fine ? FRE_PHASE_SUMMING : FRE_PHASE_VOID);
        assert_int_equal(syn_of(&n)->summed.got, fine);
        net_end(&n);
    }
}

/* ---- who is admitted ----------------------------------------------------------------------------- */

static fre_rejection admit(net *n, uint32_t number)
{
    const fre_wire *w = &n->s.w;
    uint8_t request[2048] = {FRE_COLLECTION_OHTTP_KEY_ID}, back[2048] = {0};
    const size_t bytes = fre_exchange_request_bytes(w, FRE_WIRE_ISSUE_REQUEST),
                 answer = fre_exchange_answer_bytes(w);
    fre_carry m = {.what = FRE_WIRE_ISSUE_REQUEST, .bytes = {request, bytes}};
    fre_rejection why;
    fre_reply reply;
    fre_buf in;

    assert_true(bytes <= sizeof request && answer <= sizeof back);
    memcpy(request + 1, &number, sizeof number);
    fre_buf_init(&in, FRE_WIRE_MESSAGE_MAX);
    fre_reply_init(&reply);
    assert_int_equal(fre_carry_encode(&in, w, &m), FRE_OK);
    assert_int_equal(fre_server_returned(n->links.server[FRE_ROLE_RELAY], &reply, sample_view(&in),
                                         server_view(back, answer), n->now),
                     FRE_OK);
    why = reply.why;
    net_store_commit(&n->store[FRE_ROLE_RELAY], &reply.rows);
    fre_reply_wipe(&reply);
    fre_buf_wipe(&in);
    return why;
}

/* An issuer that invents people: the relay holds as many as there may be. */
static void people(void **state)
{
    net n = {.users = 0};
    fre_collection c = net_terms(&n.s);

    (void)state;
    c.users = 5;
    net_begin(&n, &c, 0, 1);
    n.now = c.open;
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(admit(&n, i), FRE_ACCEPTED);
    assert_int_equal(admit(&n, 5), FRE_REJECTED_FULL);
    net_restart(&n, FRE_ROLE_RELAY);
    assert_int_equal(admit(&n, 6), FRE_REJECTED_FULL);
    assert_int_equal(admit(&n, 3), FRE_ACCEPTED);
    assert_int_equal(((relay *)n.links.server[FRE_ROLE_RELAY])->tokens, 5);
    net_end(&n);
}

/* ---- padding ------------------------------------------------------------------------------------- */

static void count_mixed(net *n, fre_role from, fre_role to, fre_bytes message)
{
    fre_collection_id id;
    fre_wire_type type;

    (void)from;
    (void)to;
    if (fre_wire_peek(&type, &id, message) == FRE_OK && type == FRE_WIRE_MIXED)
        *(uint64_t *)n->ctx = fre_wire_items(message);
}

/* Everybody takes part, and every draw of padding is the largest: it is as much as is taken. */
static void the_most_padding_is_taken(void **state)
{
    (void)state;
    for (int one = 0; one < 2; one++) {
        uint64_t mixed = 0, most = 0;

        for (uint64_t seed = 1; mixed == 0 || mixed < most; seed++) {
            static float centroid[MAX * NET_DIM];
            uint32_t count[MAX];
            net n = {.users = 0};
            fre_collection c = one ? net_terms(&n.s) : net_terms_two(&n.s);

            c.users = 4;
            c.threshold = c.tau = 2;
            c.gamma = 1;
            net_begin(&n, &c, 4, seed);
            for (uint32_t i = 0; i < 4; i++)
                net_text(&n, i, 0);
            net_clients(&n);
            n.saw = count_mixed;
            n.ctx = &mixed;
            most = 4 + fre_aggregate_padding_most(c.tau, &n.a->m.dist);
            assert_int_equal(most, 6);
            net_run(&n);
            assert_true(mixed <= most);
            assert_int_equal(net_release(&n, FRE_ROLE_RELAY, count, centroid, MAX), 1);
            assert_int_equal(count[0], 4);
            net_end(&n);
        }
    }
}

static void lift(net *n, fre_role from, fre_role to, fre_buf *message)
{
    const fre_tag tag = view_tag(n, 0);
    fre_buf sealed;
    fre_batch m;

    (void)to;
    if (from != FRE_ROLE_TAG ||
        fre_batch_decode(&m, &n->s.w, FRE_WIRE_MIXED, sample_view(message), NULL) != FRE_OK)
        return;
    fre_buf_init(&sealed, FRE_WIRE_MESSAGE_MAX);
    must(fre_buf_append(&sealed, m.sealed.p, m.sealed.n) == FRE_OK);
    while (sealed.n / fre_entry_sealed_bytes(&n->s.w, FRE_WIRE_ENTRY) < 4 + 2 * 3 * 2)
        view_forge(n, &tag, &sealed);
    view_make_batch(n, FRE_WIRE_MIXED, sample_view(&sealed), message);
    fre_buf_wipe(&sealed);
}

/* Padding that goes on under a cell's tag makes more members than there are entries. */
static void members_are_entries(void **state)
{
    net n = {.users = 0};
    fre_collection c = net_terms(&n.s);

    (void)state;
    c.users = 4;
    c.gamma = 2;
    net_begin(&n, &c, 4, 9);
    for (uint32_t i = 0; i < 4; i++)
        net_text(&n, i, 0);
    net_clients(&n);
    n.change = lift;
    net_run(&n);
    assert_int_equal(fre_server_phase(n.links.server[FRE_ROLE_SYN]), FRE_PHASE_VOID);
    assert_int_equal(syn_of(&n)->members, 0);
    net_end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_every_message), cmocka_unit_test(a_release),
        cmocka_unit_test(parts_of_a_release),     cmocka_unit_test(vouched),
        cmocka_unit_test(sums),                   cmocka_unit_test(people),
        cmocka_unit_test(the_most_padding_is_taken), cmocka_unit_test(members_are_entries),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
