/* parties/tagging_list.c - what S_tag has to know before any sum: the list of S_syn, and the relay's
 * registry. */
#include "tagging.h"

/* ---- the list --------------------------------------------------------------------------------- */

static bool same_list(const fre_list *a, const fre_list *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->raw.p, b->raw.p, a->raw.n) == 0);
}

/* A counted report needs a tag, and a tag an evaluation: counts above that are not of reports, and
 * would only lower each client's noise. */
static bool counts_are_possible(const fre_tagging *x, const fre_list *l)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < l->n; i++)
        total += fre_list_at(l, i).count;
    return total <= x->evaluations;
}

/* Stores the list, and makes room for what it asks for. */
static fre_status store_list(fre_tagging *x, fre_bytes in)
{
    fre_status st = fre_buf_append(&x->list_message, in.p, in.n);

    if (st != FRE_OK)
        return st;
    st = fre_list_decode(&x->list, &x->base.w, parties_buf_view(&x->list_message), NULL);
    if (st == FRE_OK && !x->base.w.c.one_contact)
        st = fre_wire_derive_share_bits(&x->base.w, &x->list, NULL);
    if (st == FRE_OK && x->list.n > 0)
        st = tagging_seeds_new(&x->seeds, &x->list);
    return st;
}

/* The same, undone on failure. */
static fre_status keep_list(fre_tagging *x, fre_bytes in)
{
    const uint32_t bits = x->base.w.share_bits;
    const fre_status st = store_list(x, in);

    if (st == FRE_OK)
        return FRE_OK;
    x->base.w.share_bits = bits;
    memset(x->base.w.list, 0, sizeof x->base.w.list);
    fre_buf_wipe(&x->list_message);
    x->list = (fre_list){.n = 0};
    return st;
}

/* The first list. */
static fre_status accept_list(fre_tagging *x, fre_buf *reply, fre_rejection *why, fre_bytes in)
{
    fre_buf receipt;
    fre_status st = parties_receipt(&x->base, &receipt);

    if (st == FRE_OK)
        st = keep_list(x, in);
    if (st == FRE_OK) {
        tagging_padding_forget(&x->padding, &x->base);
        x->base.stage = FRE_STAGE_SHARES;
        if (x->list.n == 0) {
            tagging_forget(x);
            x->base.stage = FRE_STAGE_DONE;
        }
        st = parties_remember(&x->base, reply, why, in, &receipt);
    }
    fre_buf_wipe(&receipt);
    return st;
}

/* A second signed list: fine if it says the same; else S_syn tells different people different counts. */
static fre_status second_list(fre_tagging *x, fre_buf *reply, fre_rejection *why, fre_bytes in,
                              const fre_list *l)
{
    fre_buf receipt;
    fre_status st;

    if (!same_list(l, &x->list)) {
        st = tagging_void(x, FRE_CANCEL_DISAGREE);
        return st == FRE_OK ? parties_reject(&x->base, reply, why, FRE_REJECTED_DISAGREES) : st;
    }
    st = parties_receipt(&x->base, &receipt);
    if (st == FRE_OK)
        st = parties_remember(&x->base, reply, why, in, &receipt);
    fre_buf_wipe(&receipt);
    return st;
}

fre_status tagging_list(fre_tagging *x, fre_buf *reply, fre_rejection *why, fre_bytes in)
{
    fre_list l;
    fre_status st;

    if (x->base.stage < FRE_STAGE_CLOSING)
        return parties_reject(&x->base, reply, why, FRE_REJECTED_PHASE);
    st = fre_list_decode(&l, &x->base.w, in, NULL);
    if (st != FRE_OK)
        return parties_reject_status(&x->base, reply, why, st);
    if (x->base.stage == FRE_STAGE_DONE)
        return parties_reject(&x->base, reply, why, FRE_REJECTED_REPLAYED);
    if (x->list_message.n > 0)
        return second_list(x, reply, why, in, &l);
    if (!counts_are_possible(x, &l))
        return parties_reject(&x->base, reply, why, FRE_REJECTED_DISAGREES);
    /* A list cannot have been counted before all of the padding had arrived. */
    st = x->base.stage == FRE_STAGE_CLOSING ? tagging_padding_draw(&x->padding, &x->base) : FRE_OK;
    if (st != FRE_OK)
        return st;
    if (!tagging_padding_is_settled(&x->padding))
        return parties_reject(&x->base, reply, why, FRE_REJECTED_PHASE);
    return accept_list(x, reply, why, in);
}

/* ---- the registry ----------------------------------------------------------------------------- */

bool tagging_sums_are_due(const fre_tagging *x)
{
    return x->list.n > 0 && x->base.now >= x->base.w.c.shares_close &&
           (x->base.stage == FRE_STAGE_SHARES || x->base.stage == FRE_STAGE_SUMMING);
}

static fre_rejection registry_rejected(const fre_tagging *x, const fre_registry *m)
{
    if (x->base.stage == FRE_STAGE_DONE)
        return FRE_REJECTED_REPLAYED;
    if (!tagging_sums_are_due(x))
        return FRE_REJECTED_PHASE;
    return tagging_registry_rejected(&x->registry, m, parties_reports_max(&x->base.w.c));
}

fre_status tagging_register(fre_tagging *x, fre_buf *reply, fre_rejection *why, fre_bytes in)
{
    fre_buf receipt;
    fre_registry m;
    fre_rejection code;
    fre_status st = fre_registry_decode(&m, &x->base.w, in, NULL);

    if (st != FRE_OK)
        return parties_reject_status(&x->base, reply, why, st);
    code = registry_rejected(x, &m);
    if (code != FRE_NOT_REJECTED)
        return parties_reject(&x->base, reply, why, code);
    st = tagging_registry_reserve(&x->registry, m.n);
    if (st != FRE_OK)
        return st;
    st = parties_receipt(&x->base, &receipt);
    if (st == FRE_OK) {
        tagging_registry_append(&x->registry, &m);
        st = parties_remember(&x->base, reply, why, in, &receipt);
    }
    fre_buf_wipe(&receipt);
    return st;
}
