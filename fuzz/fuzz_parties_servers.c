/* Sequences of calls to both servers: real and made-up messages, signed and not, clocks that jump,
 * answers that get lost, restarts.  Whatever comes, stages only go forwards, the key is gone when
 * tags are closed, evaluations stay below their limit, what was published stays, and a saved state
 * is read back to the same bytes. */
#include "parties_servers.h"

#include "synthesis.h"
#include "tagging.h"

#define STEPS 48u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

typedef struct script {
    fre_bytes left;
    world *w;
    int64_t now;
    fre_stage tag, syn;
    fre_buf list, release; /* as first seen */
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
    size_t n = next(s);
    fre_bytes v;

    if (n > s->left.n)
        n = s->left.n;
    v = parties_view(s->left.p, n);
    s->left = parties_view(s->left.p + n, s->left.n - n);
    return v;
}

/* ---- what must hold always ---------------------------------------------------------------------- */

static void stays(fre_buf *seen, fre_bytes now)
{
    if (seen->n == 0 && now.n > 0)
        must(fre_buf_append(seen, now.p, now.n) == FRE_OK);
    must(seen->n == now.n && (now.n == 0 || memcmp(seen->p, now.p, now.n) == 0));
}

static void look(script *s)
{
    const fre_stage tag = fre_tagging_stage(s->w->tag), syn = fre_synthesis_stage(s->w->syn);
    fre_tagging_counts n;

    must(tag >= s->tag && syn >= s->syn);
    s->tag = tag;
    s->syn = syn;
    must(!fre_tagging_has_key(s->w->tag) || tag <= FRE_STAGE_TAGS);
    fre_tagging_count(&n, s->w->tag);
    must(n.evaluations <= s->w->s.w.c.users && n.padded <= n.padding);
    stays(&s->list, fre_synthesis_list_view(s->w->syn));
    stays(&s->release, fre_synthesis_release_view(s->w->syn, 0));
}

static void restart(script *s)
{
    fre_buf before[2], after[2];

    for (int i = 0; i < 2; i++) {
        fre_buf_init(&before[i], SAMPLE_MAX);
        fre_buf_init(&after[i], SAMPLE_MAX);
    }
    must(fre_tagging_save(s->w->tag, &before[0]) == FRE_OK);
    must(fre_synthesis_save(s->w->syn, &before[1]) == FRE_OK);
    restart_tag(s->w);
    restart_syn(s->w);
    must(fre_tagging_save(s->w->tag, &after[0]) == FRE_OK);
    must(fre_synthesis_save(s->w->syn, &after[1]) == FRE_OK);
    for (int i = 0; i < 2; i++) {
        /* Tables of hashes may come back in another order. */
        must(before[i].n == after[i].n);
        fre_buf_wipe(&before[i]);
        fre_buf_wipe(&after[i]);
    }
}

/* ---- steps ------------------------------------------------------------------------------------ */

static void deliver(script *s, uint8_t to, fre_bytes in)
{
    fre_rejection why;
    fre_buf reply;
    fre_status st;

    if (!in.p)
        return;
    fre_buf_init(&reply, SAMPLE_MAX);
    if (to % 3 == 0)
        st = fre_tagging_exchange(s->w->tag, &reply, &why, in, s->now);
    else if (to % 3 == 1)
        st = fre_tagging_handle(s->w->tag, &reply, &why, in, s->now);
    else
        st = fre_synthesis_handle(s->w->syn, &reply, &why, in, s->now);
    must(st == FRE_OK && reply.n > 0);
    fre_buf_wipe(&reply);
}

/* Any body under a genuine signature. */
static void signed_message(script *s)
{
    const fre_wire_type type = (fre_wire_type)(1 + next(s) % FRE_WIRE_REGISTRY);
    const uint8_t to = next(s);
    fre_buf m;

    if (!sample_is_signed(type))
        return;
    fre_buf_init(&m, SAMPLE_MAX);
    sample_sign(&s->w->s, type, some(s), &m);
    deliver(s, to, parties_buf_view(&m));
    must(fre_synthesis_answered(s->w->syn, PARTIES_COOKIE(to % 5, to / 64), parties_buf_view(&m),
                                s->now) == FRE_OK);
    fre_buf_wipe(&m);
}

static void ask_for_a_tag(script *s)
{
    const uint8_t cell[32] = {next(s)};
    ask a;

    ask_begin(s->w, &a, parties_view(cell, sizeof cell));
    deliver(s, 0, parties_buf_view(&a.request));
    if (next(s) % 2)
        deliver(s, 0, parties_buf_view(&a.request));
    fre_buf_wipe(&a.request);
}

/* Reports and shares of few tags and ids, so that they meet. */
static void contribution(script *s)
{
    const uint8_t b = next(s);
    const fre_wire_type type =
        s->w->s.w.c.one_contact || b < 200 ? FRE_WIRE_REPORT : FRE_WIRE_SHARE;
    person p = {.x = {0.5f}};

    memset(p.tag.b, 1 + b % 2, sizeof p.tag.b);
    memset(p.id.b, 1 + b / 2 % 8, sizeof p.id.b);
    s->w->s.w.share_bits = s->w->syn->base.w.share_bits;
    if (type == FRE_WIRE_SHARE && s->w->s.w.share_bits == 0)
        return;
    if ((type == FRE_WIRE_REPORT ? &s->w->reports : &s->w->shares)->n < 100)
        contribute(s->w, &p, type, (uint32_t)s->w->s.w.c.tau);
}

static void flush_some(script *s)
{
    const uint8_t b = next(s);
    const uint32_t parts = 1 + b / 2 % 2;
    const fre_wire_type type = b % 2 ? FRE_WIRE_SHARE : FRE_WIRE_REPORT;
    queue *q = b % 2 ? &s->w->shares : &s->w->reports;
    fre_buf m;

    s->w->s.w.share_bits = s->w->syn->base.w.share_bits;
    if (type == FRE_WIRE_SHARE ? s->w->s.w.share_bits == 0 || s->w->s.w.c.one_contact
                               : s->w->closed.n == 0)
        return;
    for (uint32_t i = 0; i < parts; i++) {
        fre_buf_init(&m, SAMPLE_MAX);
        flush_encode(s->w, &m, q, type, (fre_part){i, parts}, q->n * i / parts,
                     q->n * (i + 1) / parts);
        deliver(s, 2, parties_buf_view(&m));
        fre_buf_wipe(&m);
    }
}

/* What the relay has to say of the shares that are there. */
static void registry_some(script *s)
{
    const bool once = s->w->s.w.c.one_contact;
    const uint32_t parts = 1 + next(s) % 2;
    fre_seed_digest digest[sizeof s->w->shares.item / sizeof *s->w->shares.item];
    size_t n;

    s->w->s.w.share_bits = s->w->syn->base.w.share_bits;
    if (s->w->s.w.share_bits == 0)
        return;
    n = queue_digests(s->w, digest, once ? &s->w->reports : &s->w->shares,
                      once ? FRE_WIRE_REPORT : FRE_WIRE_SHARE);
    for (uint32_t i = 0; i < parts; i++) {
        fre_buf m;

        fre_buf_init(&m, SAMPLE_MAX);
        registry_encode(s->w, &m, digest, n, (fre_part){i, parts});
        deliver(s, 1, parties_buf_view(&m));
        fre_buf_wipe(&m);
    }
}

static void answer_with(script *s, fre_buf *out, uint8_t b)
{
    fre_buf_init(out, SAMPLE_MAX);
    if (b % 4 == 0)
        must(fre_rejection_encode(out, (fre_rejection)(1 + b % 13)) == FRE_OK);
    else
        must(fre_receipt_encode(out) == FRE_OK);
    (void)s;
}

static void tick_tag(script *s)
{
    const uint8_t b = next(s);
    fre_outbox o;
    fre_buf answer;

    fre_outbox_init(&o);
    answer_with(s, &answer, b);
    must(fre_tagging_tick(s->w->tag, &o, s->now) == FRE_OK);
    for (size_t i = 0; i < o.n; i++) {
        if (b / 4 % 8 == 7)
            continue; /* lost */
        if (o.item[i].to == FRE_ROLE_SYN)
            deliver(s, 2, parties_buf_view(&o.item[i].message));
        else if (o.item[i].message.p[1] == FRE_WIRE_CLOSED)
            keep(&s->w->closed, &o.item[i].message);
        must(fre_tagging_answered(s->w->tag, o.item[i].cookie, parties_buf_view(&answer), s->now) ==
             FRE_OK);
    }
    fre_buf_wipe(&answer);
    fre_outbox_wipe(&o);
}

static void tick_syn(script *s)
{
    const uint8_t b = next(s);
    fre_rejection why;
    fre_outbox o;
    fre_buf answer;

    fre_outbox_init(&o);
    must(fre_synthesis_tick(s->w->syn, &o, s->now) == FRE_OK);
    for (size_t i = 0; i < o.n; i++) {
        answer_with(s, &answer, b);
        if (o.item[i].to == FRE_ROLE_TAG) {
            fre_buf_wipe(&answer);
            must(fre_tagging_handle(s->w->tag, &answer, &why, parties_buf_view(&o.item[i].message),
                                    s->now) == FRE_OK);
        }
        if (b / 4 % 8 != 7)
            must(fre_synthesis_answered(s->w->syn, o.item[i].cookie, parties_buf_view(&answer),
                                        s->now) == FRE_OK);
        fre_buf_wipe(&answer);
    }
    fre_outbox_wipe(&o);
}

static void cancel(script *s)
{
    if (next(s) % 2)
        (void)!fre_tagging_cancel(s->w->tag, s->now);
    else
        (void)!fre_synthesis_cancel(s->w->syn, s->now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    script s = {.left = parties_view(data, n), .now = 900};

    if (n == 0)
        return 0;
    s.w = world_new(next(&s) % 2);
    s.w->tag->evaluations = 64; /* the tags of contributions are made up here */
    s.tag = s.syn = FRE_STAGE_WAITING;
    fre_buf_init(&s.list, SAMPLE_MAX);
    fre_buf_init(&s.release, SAMPLE_MAX);
    for (uint32_t i = 0; i < STEPS && s.left.n > 0; i++) {
        const uint8_t op = next(&s);

        switch (op % 10) {
        case 0:
            s.now += 8 * next(&s);
            break;
        case 1:
            restart(&s);
            break;
        case 2:
            tick_tag(&s);
            break;
        case 3:
            tick_syn(&s);
            break;
        case 4:
            deliver(&s, op / 10, some(&s));
            break;
        case 5:
            signed_message(&s);
            break;
        case 6:
            ask_for_a_tag(&s);
            break;
        case 7:
            contribution(&s);
            break;
        case 8:
            flush_some(&s);
            break;
        default:
            if (op > 250)
                cancel(&s);
            else
                registry_some(&s);
            break;
        }
        look(&s);
    }
    fre_buf_wipe(&s.list);
    fre_buf_wipe(&s.release);
    world_free(s.w);
    return 0;
}
