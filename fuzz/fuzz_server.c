/* A collection under a script: time, losses, deaths, old messages, changed messages,
 * bytes of nobody.  Whatever comes, every call has an answer, phases only go forwards, keys are gone when
 * their time is over, what was released stays, and every machine comes back from its rows. */
#include "server_net.h"
#include "tagging.h"

#define USERS 6u
#define STEPS 40u
#define SAID_MAX 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

typedef struct script {
    fre_bytes left;
    net n;
    fre_phase phase[NET_ROLES];
    fre_role to[SAID_MAX]; /* messages that were said */
    fre_buf said[SAID_MAX];
    size_t saids;
    fre_buf release; /* as first seen */
} script;

static uint8_t next(script *s)
{
    const uint8_t b = s->left.n > 0 ? s->left.p[0] : 0;

    if (s->left.n > 0)
        s->left = server_view(s->left.p + 1, s->left.n - 1);
    return b;
}

static void listen(net *n, fre_role from, fre_role to, fre_bytes message)
{
    script *s = n->ctx;

    (void)from;
    if (s->saids == SAID_MAX)
        return;
    s->to[s->saids] = to;
    fre_buf_init(&s->said[s->saids], FRE_WIRE_MESSAGE_MAX);
    must(fre_buf_append(&s->said[s->saids++], message.p, message.n) == FRE_OK);
}

/* ---- what must hold always ---------------------------------------------------------------------- */

static void look(script *s)
{
    const fre_server *syn = s->n.links.server[FRE_ROLE_SYN];
    const tagging *t = (const tagging *)s->n.links.server[FRE_ROLE_TAG];
    fre_bytes first;

    for (unsigned role = 1; role < NET_ROLES; role++) {
        const fre_phase now = fre_server_phase(s->n.links.server[role]);

        must(now >= s->phase[role]);
        s->phase[role] = now;
    }
    must(!server_key_here(&t->oprf) || t->base.phase < FRE_PHASE_CLOSED);
    must(t->evaluations <= server_records(&t->base));
    if (fre_server_release_parts(syn) == 0)
        return;
    first = fre_server_release_view(syn, 0);
    if (s->release.n == 0)
        must(fre_buf_append(&s->release, first.p, first.n) == FRE_OK);
    must(s->release.n == first.n && memcmp(s->release.p, first.p, first.n) == 0);
}

/* ---- steps ----------------------------------------------------------------------------------------- */

static void say(script *s, fre_role to, fre_bytes message)
{
    fre_reply r;

    fre_reply_init(&r);
    must(fre_server_handle(s->n.links.server[to], &r, message, s->n.now) == FRE_OK);
    must(r.message.n > 0);
    net_store_commit(&s->n.store[to], &r.rows);
    fre_reply_wipe(&r);
}

static fre_role a_role(script *s)
{
    return (fre_role)(1 + next(s) % (NET_ROLES - 1));
}

static void say_junk(script *s)
{
    const fre_role to = a_role(s);
    const size_t n = next(s) % 80;
    uint8_t bytes[FRE_WIRE_HEAD_BYTES + 80] = {FRE_WIRE_VERSION, next(s)};

    memcpy(bytes + 2, s->n.s.w.id.b, sizeof s->n.s.w.id.b);
    for (size_t i = 0; i < n; i++)
        bytes[FRE_WIRE_HEAD_BYTES + i] = next(s);
    say(s, to, server_view(bytes, next(s) % 2 ? FRE_WIRE_HEAD_BYTES + n : n));
}

/* To anybody; changed in a byte, or as it was. */
static void say_old(script *s)
{
    const size_t i = s->saids > 0 ? next(s) % s->saids : 0;
    fre_buf copy;

    if (s->saids == 0)
        return;
    fre_buf_init(&copy, FRE_WIRE_MESSAGE_MAX);
    must(fre_buf_append(&copy, s->said[i].p, s->said[i].n) == FRE_OK);
    if (next(s) % 2 && copy.n > 0)
        copy.p[(size_t)next(s) * 7 % copy.n] ^= (uint8_t)(1u << next(s) % 8);
    say(s, next(s) % 4 ? s->to[i] : a_role(s), sample_view(&copy));
    fre_buf_wipe(&copy);
}

static void step(script *s)
{
    switch (next(s) % 8) {
    case 0:
        say_junk(s);
        break;
    case 1:
        say_old(s);
        break;
    case 2:
        net_restart(&s->n, a_role(s));
        break;
    case 3:
        net_restart_client(&s->n, next(s) % USERS);
        break;
    case 4:
        s->n.lose = next(s) / 2;
        s->n.lose_answer = next(s) / 2;
        s->n.twice = next(s);
        s->n.kill_every = next(s) % 16;
        break;
    case 5:
        s->n.now += (int64_t)next(s) * 4;
        break;
    default:
        s->n.now += 1 + next(s) % 64;
        net_step(&s->n);
    }
    look(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static script s;
    fre_collection c;
    uint8_t first;

    memset(&s, 0, sizeof s);
    s.left = server_view(data, n);
    fre_buf_init(&s.release, FRE_WIRE_MESSAGE_MAX);
    first = next(&s);
    c = first % 4 == 3 ? net_terms_two(&s.n.s) : net_terms(&s.n.s);
    if (first & 4) { /* six are cut into thirds */
        c.splits = true;
        c.threshold = c.tau = 2;
    }
    s.n.masked = (first & 8) != 0;
    net_begin(&s.n, &c, USERS, first);
    s.n.a->exact = true;
    for (uint32_t i = 0; i < USERS; i++)
        net_text(&s.n, i, 0);
    net_clients(&s.n);
    s.n.saw = listen;
    s.n.ctx = &s;
    for (uint32_t i = 0; i < STEPS && s.left.n > 0; i++)
        step(&s);
    for (size_t i = 0; i < s.saids; i++)
        fre_buf_wipe(&s.said[i]);
    fre_buf_wipe(&s.release);
    net_end(&s.n);
    return 0;
}
