/* Proposals: edits of the best candidates, made by the decoder itself (hill climbing in text
 * space, as the model card reports): a suffix drawn anew, a span replaced, a deletion, an
 * insertion, the head of one candidate joined to the tail of another. */
#include "invert_private.h"

#include <string.h>

static void set_head(inv_plan *p, const int32_t *ids, uint32_t n)
{
    p->n_head = n < INV_TOKENS ? n : INV_TOKENS;
    memcpy(p->head, ids, p->n_head * sizeof *ids);
}

static void set_tail(inv_plan *p, const int32_t *ids, uint32_t n)
{
    const uint32_t room = INV_TOKENS - p->n_head - p->n_free;

    p->n_tail = n < room ? n : room;
    memcpy(p->tail, ids, p->n_tail * sizeof *ids);
}

/* Parents near the top are taken more often: the lesser of two draws. */
static const inv_cand *parent(const inv_pool *p, uint32_t parents, fre_rng *rng)
{
    uint64_t n = p->scored < parents ? p->scored : parents;
    uint64_t a = fre_rng_below(rng, n), b = fre_rng_below(rng, n);

    return &p->cand[a < b ? a : b];
}

static void edit_suffix(inv_plan *out, const inv_cand *a, fre_rng *rng)
{
    set_head(out, a->ids, (uint32_t)fre_rng_below(rng, a->n + 1u));
    out->open = true;
}

static void edit_span(inv_plan *out, const inv_cand *a, fre_rng *rng)
{
    uint32_t at = (uint32_t)fre_rng_below(rng, a->n);
    uint32_t most = a->n - at < 3u ? a->n - at : 3u;
    uint32_t cut = (uint32_t)fre_rng_below(rng, most + 1u);

    set_head(out, a->ids, at);
    out->n_free = (uint32_t)fre_rng_below(rng, 4);
    if (cut == 0 && out->n_free == 0)
        cut = 1;
    if (out->n_free > INV_TOKENS - at)
        out->n_free = INV_TOKENS - at;
    set_tail(out, a->ids + at + cut, a->n - at - cut);
}

static void edit_cross(inv_plan *out, const inv_cand *a, const inv_cand *b, fre_rng *rng)
{
    uint32_t i = (uint32_t)fre_rng_below(rng, a->n + 1u);
    uint32_t j = (uint32_t)fre_rng_below(rng, b->n + 1u);

    set_head(out, a->ids, i);
    set_tail(out, b->ids + j, b->n - j);
}

uint32_t inv_edit(inv_plan *out, uint32_t n, const inv_pool *p, uint32_t parents, fre_rng *rng)
{
    if (p->scored == 0)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        const inv_cand *a = parent(p, parents, rng);
        uint64_t kind = fre_rng_below(rng, 8);

        memset(&out[i], 0, sizeof out[i]);
        if (kind < 3)
            edit_suffix(&out[i], a, rng);
        else if (kind < 7)
            edit_span(&out[i], a, rng);
        else
            edit_cross(&out[i], a, parent(p, parents, rng), rng);
    }
    return n;
}
