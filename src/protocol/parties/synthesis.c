/* parties/synthesis.c - S_syn: its clock, its steps, its outbox. */
#include "synthesis.h"

enum { COOKIE_LIST = 1, COOKIE_SETS, COOKIE_OPEN, COOKIE_RELEASE };

/* ---- time ------------------------------------------------------------------------------------- */

static void advance(fre_synthesis *x, int64_t now)
{
    const fre_collection *c = &x->base.w.c;

    parties_clock(&x->base, now);
    now = x->base.now;
    if (now >= c->end) {
        synthesis_forget(x);
        parties_end(&x->base);
        fre_wipe(&x->keys, sizeof x->keys);
        if (x->base.stage != FRE_STAGE_DONE)
            x->base.stage = FRE_STAGE_VOID;
    }
    if (x->base.stage == FRE_STAGE_WAITING && now >= c->open)
        x->base.stage = FRE_STAGE_TAGS;
    if (x->base.stage == FRE_STAGE_TAGS && now >= c->tags_close)
        x->base.stage = FRE_STAGE_COUNTING;
}

static fre_status begin_sums(fre_synthesis *x)
{
    synthesis_choose_sets(x);
    x->base.stage = FRE_STAGE_SUMMING;
    return FRE_OK;
}

/* One step that needs no message; *moved: there may be another. */
static fre_status step(fre_synthesis *x, bool *moved)
{
    const fre_stage stage = x->base.stage;
    fre_status st = FRE_OK;

    *moved = false;
    if (stage == FRE_STAGE_COUNTING && synthesis_batch_is_whole(&x->reports)) {
        st = synthesis_count(x);
    } else if (stage == FRE_STAGE_SHARES && x->list.n == 0) {
        st = synthesis_release(x);
    } else if (stage == FRE_STAGE_SHARES &&
               (x->base.w.c.one_contact || synthesis_batch_is_whole(&x->shares))) {
        st = begin_sums(x);
    } else if (stage == FRE_STAGE_SUMMING && !x->opening) {
        if (!x->sets.start)
            st = synthesis_make_sets_plan(x);
        if (st == FRE_OK && x->sets.next == x->sets.parts) {
            synthesis_choose_open(x);
            *moved = true;
        }
    } else if (stage == FRE_STAGE_SUMMING) {
        if (!x->open.start)
            st = synthesis_make_open_plan(x);
        if (st == FRE_OK && x->open.next == x->open.parts)
            st = synthesis_release(x);
    }
    *moved = st == FRE_OK && (*moved || x->base.stage != stage);
    return st;
}

static fre_status progress(fre_synthesis *x)
{
    bool moved = true;
    fre_status st = FRE_OK;

    while (st == FRE_OK && moved)
        st = step(x, &moved);
    return st;
}

/* ---- messages --------------------------------------------------------------------------------- */

static void forget(void *server)
{
    synthesis_forget(server);
}

static fre_status cancelled(fre_synthesis *x, fre_buf *reply, fre_rejection *why, fre_bytes in)
{
    return parties_obey_cancel(&x->base, reply, why, in, x->base.stage == FRE_STAGE_DONE, forget,
                               x);
}

fre_status fre_synthesis_handle(fre_synthesis *x, fre_buf *reply, fre_rejection *why, fre_bytes in,
                                int64_t now)
{
    fre_collection_id id;
    fre_wire_type type;
    fre_status st;

    if (!x || !reply || !in.p)
        return FRE_E_ARG;
    advance(x, now);
    if (x->base.now >= x->base.w.c.end)
        return parties_reject(&x->base, reply, why, FRE_REJECTED_EXPIRED);
    if (parties_repeat(&x->base, reply, why, in, &st))
        return st;
    if (x->base.cancelled)
        return parties_reject(&x->base, reply, why, FRE_REJECTED_CANCELLED);
    st = fre_wire_peek(&type, &id, in);
    if (st != FRE_OK)
        return parties_reject_status(&x->base, reply, why, st);
    if (type == FRE_WIRE_FLUSH)
        return synthesis_flush(x, reply, why, in);
    if (type == FRE_WIRE_CANCEL)
        return cancelled(x, reply, why, in);
    return parties_reject(&x->base, reply, why, FRE_REJECTED_MALFORMED);
}

/* ---- outbox ----------------------------------------------------------------------------------- */

static fre_status post_list(const fre_synthesis *x, fre_outbox *out)
{
    fre_status st = FRE_OK;

    for (unsigned role = FRE_ROLE_TAG; st == FRE_OK && role <= FRE_ROLE_RELAY; role++)
        if (x->list_to & 1u << role)
            st = parties_post_bytes(out, (fre_role)role, PARTIES_COOKIE(COOKIE_LIST, role),
                                    parties_buf_view(&x->list_message));
    return st;
}

static fre_status post_part(const fre_synthesis *x, fre_outbox *out)
{
    const uint64_t cookie = x->opening ? PARTIES_COOKIE(COOKIE_OPEN, x->open.next)
                                       : PARTIES_COOKIE(COOKIE_SETS, x->sets.next);
    fre_outbox_item *item = parties_post(out, FRE_ROLE_TAG, cookie);
    fre_status st;

    if (!item)
        return FRE_E_NOMEM;
    st = x->opening ? synthesis_encode_open(x, &item->message)
                    : synthesis_encode_sets(x, &item->message);
    if (st != FRE_OK)
        parties_post_undo(out);
    return st;
}

fre_status fre_synthesis_tick(fre_synthesis *x, fre_outbox *out, int64_t now)
{
    fre_status st;

    if (!x || !out)
        return FRE_E_ARG;
    advance(x, now);
    if (x->base.now >= x->base.w.c.end)
        return FRE_OK;
    st = progress(x);
    if (st != FRE_OK)
        return st;
    if (x->base.stage == FRE_STAGE_VOID)
        return parties_post_cancel(&x->base, out);
    st = post_list(x, out);
    /* S_tag can't take sets before it has the list. */
    if (st == FRE_OK && x->base.stage == FRE_STAGE_SUMMING && !(x->list_to & 1u << FRE_ROLE_TAG))
        st = post_part(x, out);
    if (st == FRE_OK && x->release_next < x->release_parts)
        st =
            parties_post_bytes(out, FRE_ROLE_RELAY, PARTIES_COOKIE(COOKIE_RELEASE, x->release_next),
                               parties_buf_view(&x->release[x->release_next]));
    return st;
}

/* The list to a role: S_tag's refusal ends it, since there will be no sums. */
static fre_status list_answered(fre_synthesis *x, unsigned role, parties_verdict verdict,
                                fre_bytes reply)
{
    fre_rejection code;

    if (role > FRE_ROLE_RELAY || !(x->list_to & 1u << role) ||
        (verdict != PARTIES_RECEIVED && verdict != PARTIES_REFUSED))
        return FRE_OK;
    if (verdict == PARTIES_REFUSED && role == FRE_ROLE_TAG && x->base.stage != FRE_STAGE_DONE) {
        if (fre_rejection_decode(&code, reply, NULL) != FRE_OK || code != FRE_REJECTED_REPLAYED)
            return synthesis_void(x, FRE_CANCEL_DISAGREE);
    }
    x->list_to &= ~(1u << role);
    return FRE_OK;
}

static fre_status part_answered(fre_synthesis *x, synthesis_plan *p, uint64_t index,
                                parties_verdict verdict, fre_bytes reply)
{
    if (x->base.stage != FRE_STAGE_SUMMING || (p == &x->open) != x->opening || !p->start ||
        index != p->next || index >= p->parts)
        return FRE_OK;
    if (verdict == PARTIES_REFUSED)
        synthesis_refused(x, p);
    if (verdict != PARTIES_MESSAGE)
        return FRE_OK;
    return p == &x->open ? synthesis_sum(x, reply) : synthesis_accepted(x, reply);
}

fre_status fre_synthesis_answered(fre_synthesis *x, uint64_t cookie, fre_bytes reply, int64_t now)
{
    parties_verdict verdict;
    uint64_t index;

    if (!x)
        return FRE_E_ARG;
    advance(x, now);
    if (x->base.now >= x->base.w.c.end || parties_cancel_answered(&x->base, cookie, reply))
        return FRE_OK;
    verdict = parties_judge(reply);
    index = PARTIES_COOKIE_INDEX(cookie);
    switch (PARTIES_COOKIE_KIND(cookie)) {
    case COOKIE_LIST:
        return list_answered(x, (unsigned)index, verdict, reply);
    case COOKIE_SETS:
        return part_answered(x, &x->sets, index, verdict, reply);
    case COOKIE_OPEN:
        return part_answered(x, &x->open, index, verdict, reply);
    case COOKIE_RELEASE:
        if (index == x->release_next && index < x->release_parts &&
            (verdict == PARTIES_RECEIVED || verdict == PARTIES_REFUSED))
            x->release_next++;
        return FRE_OK;
    default:
        return FRE_OK;
    }
}

fre_status fre_synthesis_cancel(fre_synthesis *x, int64_t now)
{
    if (!x)
        return FRE_E_ARG;
    advance(x, now);
    if (x->base.stage == FRE_STAGE_DONE || x->base.stage == FRE_STAGE_VOID)
        return FRE_E_STATE;
    return synthesis_void(x, FRE_CANCEL_OPERATOR);
}

/* ---- what it shows ------------------------------------------------------------------------------------ */

fre_stage fre_synthesis_stage(const fre_synthesis *x)
{
    return x->base.stage;
}

const fre_counters *fre_synthesis_counters(const fre_synthesis *x)
{
    return &x->base.counters;
}

void fre_synthesis_count(fre_synthesis_counts *out, const fre_synthesis *x)
{
    *out = x->counts;
}

fre_bytes fre_synthesis_list_view(const fre_synthesis *x)
{
    return parties_buf_view(&x->list_message);
}

uint32_t fre_synthesis_release_parts(const fre_synthesis *x)
{
    return x->release_parts;
}

fre_bytes fre_synthesis_release_view(const fre_synthesis *x, uint32_t part)
{
    return part < x->release_parts ? parties_buf_view(&x->release[part]) : parties_view(NULL, 0);
}
