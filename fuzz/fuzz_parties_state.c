/* Saved states that somebody changed, with a hash that fits: a state is as secret as the machine, so
 * its lies are believed, but they must not corrupt memory, hang, or open what is over.  The input
 * says where in a collection to stop, whose state to take, and which bytes of it to change. */
#include "parties_net.h"

#define USERS 6u
#define STATE_MAX (1u << 20)
#define STATE_SUM 16u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static uint8_t next(fre_bytes *left)
{
    const uint8_t b = left->n > 0 ? left->p[0] : 0;

    if (left->n > 0)
        *left = parties_view(left->p + 1, left->n - 1);
    return b;
}

/* A collection up to some time; made once, since it takes a tenth of a second. */
typedef struct scene {
    bool made;
    net n;
    fre_buf state[4]; /* by fre_role - 1; the last is the first user's */
} scene;

static void stop_at(scene *s, unsigned when, bool one_contact)
{
    sample keys;
    fre_collection c = small_collection(&keys);
    net *n = &s->n;

    c.cells_per_user = NET_SLOTS; /* terms that are not checked, which would take a second */
    c.one_contact = one_contact;
    if (one_contact) {
        c.dropout = 0;
        c.shares_close = c.tags_close;
    }
    net_open(n, &keys, &c, USERS, 2, 31);
    for (uint32_t i = 0; i < USERS; i++) {
        float x[NET_SLOTS * SMALL_DIM];

        for (uint32_t p = 0; p < NET_SLOTS; p++)
            small_text(x + p * SMALL_DIM, p, i);
        net_join(n, i, x, NET_SLOTS);
    }
    n->now = c.open;
    for (unsigned i = 0; i < when; i++) {
        if (i == 3)
            n->now = c.tags_close;
        if (i == 9)
            n->now = c.shares_close;
        net_step_all(n);
        net_pump_all(n, 1);
    }
    for (unsigned i = 0; i < 4; i++)
        fre_buf_init(&s->state[i], STATE_MAX);
    must(fre_tagging_save(n->tag, &s->state[0]) == FRE_OK);
    must(fre_synthesis_save(n->syn, &s->state[1]) == FRE_OK);
    must(fre_relay_save(n->relay, &s->state[2]) == FRE_OK);
    must(fre_client_save(n->user[0].client, &s->state[3]) == FRE_OK);
    s->made = true;
}

/* Places and bytes in turn; the length, in the end, too. */
static void change(fre_buf *state, fre_bytes left)
{
    const size_t body = state->n - STATE_SUM;

    while (left.n >= 4) {
        size_t at = next(&left);
        uint8_t how;

        at = (at << 8 | next(&left)) << 3;
        how = next(&left);
        at = (34 + (at | (how & 7u))) % body;
        if (at >= 34) /* the head is compared, not read */
            state->p[at] = how & 8 ? (uint8_t)(state->p[at] + next(&left)) : next(&left);
    }
    if (left.n > 0 && next(&left) < 32)
        state->n = STATE_SUM + 34 + (body - 34) / 2;
    {
        static const uint8_t key[32] = "fre-e2t rounds: a saved state";

        fre_hash128(state->p + state->n - STATE_SUM, key, state->p, state->n - STATE_SUM);
    }
}

/* Of each machine that is there a state can be saved. */
static void save_all(const net *n)
{
    fre_buf again;

    fre_buf_init(&again, 4 * STATE_MAX);
    must(!n->tag || fre_tagging_save(n->tag, &again) == FRE_OK);
    must(!n->syn || fre_synthesis_save(n->syn, &again) == FRE_OK);
    must(!n->relay || fre_relay_save(n->relay, &again) == FRE_OK);
    must(!n->user->client || fre_client_save(n->user->client, &again) == FRE_OK);
    fre_buf_wipe(&again);
}

/* True if every state was read. */
static bool load_all(net *n, const fre_bytes state[4])
{
    const fre_collection *c = &n->s.w.c;
    fre_oprf_key key = n->s.oprf;
    net_user *u = n->user;
    bool tag, syn, relay, user;

    n->tag = NULL;
    n->syn = NULL;
    n->relay = NULL;
    u->client = NULL;
    tag = fre_tagging_load(&n->tag, c, &n->tag_keys, &key, state[0], NULL) == FRE_OK;
    syn = fre_synthesis_load(&n->syn, c, &n->syn_keys, state[1], NULL) == FRE_OK;
    relay = fre_relay_load(&n->relay, c, &n->s.relay_sk, state[2], NULL) == FRE_OK;
    user =
        fre_client_load(&u->client, n->terms, u->x, u->texts, &u->host, state[3], NULL) == FRE_OK;
    must(!tag || !fre_tagging_has_key(n->tag) || fre_tagging_stage(n->tag) <= FRE_STAGE_TAGS);
    save_all(n);
    return tag && syn && relay && user;
}

/* Anything may come of a state that lies but an end of the process: statuses are not looked at. */
static void go_on(net *n)
{
    fre_outbox out;
    fre_buf reply;
    fre_rejection why;

    for (unsigned round = 0; round < 6; round++) {
        n->now += round == 3 ? 1000 : 1;
        fre_outbox_init(&out);
        (void)!fre_tagging_tick(n->tag, &out, n->now);
        (void)!fre_synthesis_tick(n->syn, &out, n->now);
        (void)!fre_relay_tick(n->relay, &out, n->now);
        (void)!fre_client_tick(n->user[0].client, &out, n->now);
        (void)!fre_client_read(n->user[0].client, fre_relay_list_view(n->relay), n->now, NULL);
        for (size_t i = 0; i < out.n; i++) {
            const fre_bytes m = sample_view(&out.item[i].message);
            const uint64_t cookie = out.item[i].cookie;

            fre_buf_init(&reply, FRE_WIRE_MESSAGE_MAX);
            if (out.item[i].to == FRE_ROLE_TAG)
                (void)!fre_tagging_handle(n->tag, &reply, &why, m, n->now);
            else if (out.item[i].to == FRE_ROLE_SYN)
                (void)!fre_synthesis_handle(n->syn, &reply, &why, m, n->now);
            else
                (void)!fre_relay_handle(n->relay, &reply, &why, m, n->now);
            /* Cookies of all senders overlap; each takes what it can. */
            (void)!fre_tagging_answered(n->tag, cookie, sample_view(&reply), n->now);
            (void)!fre_synthesis_answered(n->syn, cookie, sample_view(&reply), n->now);
            (void)!fre_relay_answered(n->relay, cookie, sample_view(&reply), n->now);
            (void)!fre_client_answered(n->user[0].client, cookie, sample_view(&reply), n->now);
            fre_buf_wipe(&reply);
        }
        fre_outbox_wipe(&out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static scene scenes[2][13];
    fre_bytes left = parties_view(data, size), state[4];
    fre_buf changed;
    net_user user;
    uint8_t b;
    scene *s;
    net n;

    if (size < 2)
        return 0;
    b = next(&left);
    s = &scenes[b / 4 % 2][next(&left) % 13];
    if (!s->made)
        stop_at(s, (unsigned)((s - scenes[0]) % 13), b / 4 % 2);
    fre_buf_init(&changed, STATE_MAX);
    must(fre_buf_append(&changed, s->state[b % 4].p, s->state[b % 4].n) == FRE_OK);
    change(&changed, left);
    for (unsigned i = 0; i < 4; i++)
        state[i] = sample_view(i == b % 4 ? &changed : &s->state[i]);
    n = s->n;
    user = s->n.user[0];
    user.host.ctx = &user;
    fre_buf_init(&user.disk, STATE_MAX);
    n.user = &user;
    if (load_all(&n, state))
        go_on(&n);
    fre_client_free(user.client);
    fre_tagging_free(n.tag);
    fre_synthesis_free(n.syn);
    fre_relay_free(n.relay);
    fre_buf_wipe(&user.disk);
    fre_buf_wipe(&changed);
    return 0;
}
