/* parties/tagging_roll.c - S_tag opens seeds of shares that the relay carried, and no others: whoever is
 * to have a member in a cell has to be one of the relay's clients. */
#include "tagging.h"

void tagging_roll_wipe(tagging_roll *r)
{
    free(r->mark);
    free(r->spent);
    *r = (tagging_roll){.mark = NULL};
}

bool tagging_roll_is_whole(const tagging_roll *r)
{
    return r->part.count > 0 && r->part.index == r->part.count;
}

/* Room for `more` marks, so that append can't fail. */
static fre_status reserve(tagging_roll *r, size_t more)
{
    size_t cap = r->cap > 0 ? r->cap : 64;
    fre_mark *mark;
    uint8_t *spent;

    while (cap < r->n + more)
        cap *= 2; /* at most some more than all clients have */
    if (cap == r->cap)
        return FRE_OK;
    mark = realloc(r->mark, cap * sizeof *mark);
    if (mark)
        r->mark = mark;
    spent = realloc(r->spent, cap);
    if (spent)
        r->spent = spent;
    if (!mark || !spent)
        return FRE_E_NOMEM;
    r->cap = cap;
    return FRE_OK;
}

static void append(tagging_roll *r, const fre_roll *m)
{
    if (m->n > 0)
        memcpy(r->mark + r->n, m->mark, m->n * sizeof *r->mark);
    memset(r->spent + r->n, 0, m->n);
    r->n += m->n;
}

static bool follows(const tagging_roll *r, const fre_roll *m)
{
    return m->n == 0 || r->n == 0 ||
           memcmp(r->mark[r->n - 1].b, m->mark[0].b, sizeof m->mark[0].b) < 0;
}

static fre_rejection rejected(const fre_tagging *x, const fre_roll *m)
{
    fre_rejection code;

    if (x->base.stage == FRE_STAGE_DONE)
        return FRE_REJECTED_REPLAYED;
    if (!tagging_sums_are_due(x))
        return FRE_REJECTED_PHASE;
    code = tagging_part_rejected(&x->roll.part, m->part);
    if (code != FRE_NOT_REJECTED)
        return code;
    if ((double)x->roll.n + m->n > parties_reports_max(&x->base.w.c))
        return FRE_REJECTED_SIZE;
    return follows(&x->roll, m) ? FRE_NOT_REJECTED : FRE_REJECTED_DISAGREES;
}

fre_status tagging_roll_take(fre_tagging *x, fre_buf *reply, fre_rejection *why, fre_bytes in)
{
    fre_buf receipt;
    fre_roll m;
    fre_rejection code;
    fre_status st = fre_roll_decode(&m, &x->base.w, in, NULL);

    if (st != FRE_OK)
        return parties_reject_status(&x->base, reply, why, st);
    code = rejected(x, &m);
    if (code != FRE_NOT_REJECTED)
        return parties_reject(&x->base, reply, why, code);
    st = reserve(&x->roll, m.n);
    if (st != FRE_OK)
        return st;
    st = parties_receipt(&x->base, &receipt);
    if (st == FRE_OK) {
        append(&x->roll, &m);
        tagging_part_done(&x->roll.part, m.part);
        st = parties_remember(&x->base, reply, why, in, &receipt);
    }
    fre_buf_wipe(&receipt);
    return st;
}

bool tagging_roll_find(const tagging_roll *r, const fre_mark *mark, size_t *index)
{
    size_t low = 0, high = r->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = memcmp(r->mark[middle].b, mark->b, sizeof mark->b);

        if (order == 0) {
            *index = middle;
            return r->spent[middle] == 0;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* ---- state ------------------------------------------------------------------------------------ */

void tagging_roll_save(parties_out *o, const tagging_roll *r)
{
    parties_put_uint(o, r->part.index, 4);
    parties_put_uint(o, r->part.count, 4);
    parties_put_uint(o, r->n, 8);
    parties_put(o, r->mark, r->n * sizeof *r->mark);
    parties_put(o, r->spent, r->n);
}

static bool ascends(const tagging_roll *r)
{
    for (size_t i = 1; i < r->n; i++)
        if (memcmp(r->mark[i - 1].b, r->mark[i].b, sizeof r->mark[i].b) >= 0)
            return false;
    return true;
}

void tagging_roll_load(parties_in *in, tagging_roll *r, fre_status *st)
{
    r->part.index = (uint32_t)parties_get_up_to(in, 4, FRE_WIRE_PARTS_MAX);
    r->part.count = (uint32_t)parties_get_up_to(in, 4, FRE_WIRE_PARTS_MAX);
    r->n = (size_t)parties_get_up_to(in, 8, in->left.n / (sizeof *r->mark + 1));
    r->mark = parties_get_array(in, r->n, sizeof *r->mark, st);
    r->spent = parties_get_array(in, r->n, 1, st);
    r->cap = r->n;
    if (in->bad || r->part.index > r->part.count) {
        in->bad = true;
        tagging_roll_wipe(r);
        return;
    }
    in->bad = !ascends(r);
    for (size_t i = 0; i < r->n; i++)
        in->bad |= r->spent[i] > 1;
}
