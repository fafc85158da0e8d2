/* Sequences of calls to clients and their relay: genuine messages, made-up ones with and without a
 * signature, answers that are none, clocks that jump, restarts.  Whatever comes: stages only go
 * forwards, nobody gets more into the mix than its places, all reports have one size and all shares
 * of a client another, what is sent again is the same, what was published stays. */
#include "parties_net.h"

#include "relay.h"

#define USERS 3u
#define STEPS 40u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

typedef struct script {
    fre_bytes left;
    net n;
    fre_stage relay, user[USERS];
    bool crashed[USERS];
    size_t report_bytes, share_bytes[USERS];
    fre_buf list; /* as first seen */
} script;

static uint8_t next(script *s)
{
    const uint8_t b = s->left.n > 0 ? s->left.p[0] : 0;

    if (s->left.n > 0)
        s->left = parties_view(s->left.p + 1, s->left.n - 1);
    return b;
}

static fre_bytes some(script *s)
{
    static const uint8_t nothing[1];
    size_t n = next(s);
    fre_bytes v;

    if (n > s->left.n)
        n = s->left.n;
    v = parties_view(n > 0 ? s->left.p : nothing, n);
    s->left = parties_view(s->left.p + n, s->left.n - n);
    return v;
}

/* ---- what must hold always ---------------------------------------------------------------------- */

static void look(script *s)
{
    const fre_bytes list = fre_relay_list_view(s->n.relay);
    const fre_stage relay = fre_relay_stage(s->n.relay);
    fre_relay_counts c;

    must(relay >= s->relay);
    s->relay = relay;
    for (uint32_t i = 0; i < USERS; i++) {
        const fre_stage stage = fre_client_stage(s->n.user[i].client);

        must(stage >= s->user[i]);
        s->user[i] = stage;
        must(s->n.user[i].spends <= 1 || s->crashed[i]);
    }
    fre_relay_count(&c, s->n.relay);
    must(c.reporting <= c.clients && c.sharing <= c.reporting && c.shares <= USERS * NET_SLOTS &&
         c.settled <= c.parts);
    if (s->list.n == 0 && list.n > 0)
        must(fre_buf_append(&s->list, list.p, list.n) == FRE_OK);
    must(s->list.n == list.n && (list.n == 0 || memcmp(s->list.p, list.p, list.n) == 0));
}

/* ---- steps ------------------------------------------------------------------------------------ */

static void one_size(size_t *of_all, size_t n)
{
    must(*of_all == 0 || *of_all == n);
    *of_all = n;
}

/* What a client has to send: the same when asked twice; lost, delivered, or delivered twice. */
static void tick_user(script *s)
{
    const uint8_t b = next(s);
    const uint32_t i = b % USERS;
    fre_outbox one, two;
    fre_buf reply;

    fre_outbox_init(&one);
    fre_outbox_init(&two);
    fre_buf_init(&reply, SAMPLE_MAX);
    must(fre_client_tick(s->n.user[i].client, &one, s->n.now) == FRE_OK);
    must(fre_client_tick(s->n.user[i].client, &two, s->n.now) == FRE_OK);
    must(one.n == two.n);
    for (size_t k = 0; k < one.n; k++) {
        const fre_bytes m = sample_view(&one.item[k].message);

        must(m.n == two.item[k].message.n && memcmp(m.p, two.item[k].message.p, m.n) == 0);
        if (!fre_client_is_exchange(one.item[k].cookie))
            one_size(m.p[1] == FRE_WIRE_REPORT ? &s->report_bytes : &s->share_bytes[i], m.n);
        for (uint8_t times = b / 4 % 4; times > 1; times--) {
            fre_buf_wipe(&reply);
            net_user_sends(&s->n, i, one.item[k].cookie, m, &reply);
        }
        if (b / 4 % 4 > 0 && b < 224 && reply.n > 0)
            must(fre_client_answered(s->n.user[i].client, one.item[k].cookie, sample_view(&reply),
                                     s->n.now) == FRE_OK);
    }
    fre_outbox_wipe(&one);
    fre_outbox_wipe(&two);
    fre_buf_wipe(&reply);
}

/* An answer that is none; whatever it is, the client is well afterwards. */
static void answer_user(script *s)
{
    const uint8_t b = next(s);
    const uint64_t cookie = PARTIES_COOKIE(b / 4 % 5, b / 32);

    (void)!fre_client_answered(s->n.user[b % USERS].client, cookie, some(s), s->n.now);
}

static void to_relay(script *s, fre_bytes in)
{
    const uint8_t b = next(s);
    const uint32_t who = b / 4 % 5;
    fre_rejection why = FRE_NOT_REJECTED;
    fre_buf reply;
    fre_status st;

    fre_buf_init(&reply, SAMPLE_MAX);
    if (b % 4 == 0)
        st = fre_relay_exchange(s->n.relay, &reply, &why, net_name(&who), in, s->n.now);
    else if (b % 4 == 1)
        st = fre_relay_submit(s->n.relay, &reply, &why, net_name(&who), in, s->n.now);
    else
        st = fre_relay_handle(s->n.relay, &reply, &why, in, s->n.now);
    must(st == FRE_OK && (reply.n > 0 || (b % 4 == 0 && why == FRE_NOT_REJECTED)));
    fre_buf_wipe(&reply);
}

/* Any body under a genuine signature, to the relay and to a client. */
static void signed_message(script *s)
{
    const fre_wire_type type = (fre_wire_type)(1 + next(s) % FRE_WIRE_REGISTRY);
    fre_buf m;

    if (!sample_is_signed(type))
        return;
    fre_buf_init(&m, SAMPLE_MAX);
    sample_sign(&s->n.s, type, some(s), &m);
    to_relay(s, sample_view(&m));
    (void)!fre_client_read(s->n.user[next(s) % USERS].client, sample_view(&m), s->n.now, NULL);
    fre_buf_wipe(&m);
}

/* A list of few tags, some of them a user's own. */
static void list(script *s)
{
    const uint8_t b = next(s);
    fre_list_entry e[2] = {{.tag = s->n.user[b % USERS].tag[0], .count = 3 + b / 16u}};
    uint32_t n = b / 4 % 2;
    fre_buf m;

    if (b / 8 % 2) {
        memset(e[n].tag.b, 0xff, sizeof e[n].tag.b);
        e[n++].count = 4;
    }
    fre_buf_init(&m, SAMPLE_MAX);
    must(fre_list_encode(&m, &s->n.s.w, e, n, &s->n.s.syn_sk) == FRE_OK);
    to_relay(s, sample_view(&m));
    (void)!fre_client_read(s->n.user[b % USERS].client, sample_view(&m), s->n.now, NULL);
    fre_buf_wipe(&m);
}

/* What the relay has to send, with some answer to it; the real servers answer mostly. */
static void tick_relay(script *s)
{
    const uint8_t b = next(s);
    fre_outbox o;

    if (b % 2) {
        net_pump_all(&s->n, 1);
        return;
    }
    fre_outbox_init(&o);
    must(fre_relay_tick(s->n.relay, &o, s->n.now) == FRE_OK);
    for (size_t i = 0; i < o.n; i++)
        must(fre_relay_answered(s->n.relay, o.item[i].cookie, some(s), s->n.now) == FRE_OK);
    must(fre_relay_answered(s->n.relay, PARTIES_COOKIE(b % 4, b), some(s), s->n.now) == FRE_OK);
    fre_outbox_wipe(&o);
}

static void crash(script *s)
{
    const uint32_t i = next(s) % (USERS + 1);

    if (i == USERS) {
        net_crash(&s->n, FRE_ROLE_RELAY, true);
    } else {
        net_crash_user(&s->n, i);
        s->crashed[i] = true;
        s->user[i] = FRE_STAGE_WAITING; /* from its disk, which may be behind */
    }
}

static void begin(script *s)
{
    sample keys;
    fre_collection c = small_collection(&keys);
    const uint8_t b = next(s);

    c.cells_per_user = NET_SLOTS; /* terms that are not checked, which would take a second */
    c.one_contact = b % 4 == 1;
    c.cover = b % 8 < 6;
    if (c.one_contact) {
        c.dropout = 0;
        c.shares_close = c.tags_close;
    }
    net_open(&s->n, &keys, &c, USERS, 1 + b / 64, b);
    s->n.now = 990;
    s->relay = FRE_STAGE_WAITING;
    fre_buf_init(&s->list, SAMPLE_MAX);
    for (uint32_t i = 0; i < USERS; i++) {
        float x[NET_SLOTS * SMALL_DIM];

        for (uint32_t p = 0; p < NET_SLOTS; p++)
            small_text(x + p * SMALL_DIM, p, i);
        net_join(&s->n, i, x, i % 3);
        s->user[i] = FRE_STAGE_WAITING;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static void (*const steps[])(script *) = {tick_user,      answer_user, tick_user, list,
                                              signed_message, tick_relay,  crash,     tick_user};
    script s = {.left = parties_view(data, n)};

    if (n == 0)
        return 0;
    begin(&s);
    for (uint32_t i = 0; i < STEPS && s.left.n > 0; i++) {
        const uint8_t op = next(&s);

        if (op % 16 < 8)
            steps[op % 16](&s);
        else if (op % 16 < 14)
            s.n.now += 8 * next(&s);
        else
            to_relay(&s, some(&s));
        look(&s);
    }
    fre_buf_wipe(&s.list);
    net_close(&s.n);
    return 0;
}
