/* edit.c - tokens of a candidate give way to new ones, drawn by the decoder in their left context
 * and given the embedding. */
#include "edit.h"

#include <string.h>

static uint32_t below(fre_rng *rng, uint32_t n)
{
    return (uint32_t)fre_rng_below(rng, n);
}

/* Tokens from..to of a are cut, n_free new ones stand there. */
static bool between(inv_plan *out, const inv_cand *a, uint32_t from, uint32_t to, uint32_t n_free)
{
    if (from + n_free + (a->n - to) > INV_TOKENS)
        return false;
    out->n_head = from;
    out->n_free = n_free;
    out->n_tail = a->n - to;
    memcpy(out->head, a->ids, from * sizeof *a->ids);
    memcpy(out->tail, a->ids + to, out->n_tail * sizeof *a->ids);
    return true;
}

/* A whole word, or none, from a random one on gives way to n_free new tokens. */
static bool edit_replace(inv_plan *out, const inv_cand *a, const uint8_t *starts, bool cut,
                         uint32_t n_free, fre_rng *rng)
{
    uint32_t at = below(rng, a->n + !cut), end;

    while (at > 0 && at < a->n && !starts[a->ids[at]])
        at--;
    end = at;
    if (cut)
        for (end++; end < a->n && !starts[a->ids[end]];)
            end++;
    return between(out, a, at, end, n_free);
}

/* Up to three tokens, wherever words begin, give way to up to three new ones. */
static bool edit_span(inv_plan *out, const inv_cand *a, fre_rng *rng)
{
    uint32_t at = below(rng, a->n), most = a->n - at < 3 ? a->n - at : 3;
    uint32_t cut = below(rng, most + 1), n_free = below(rng, 4);

    if (cut == 0 && n_free == 0)
        cut = 1;
    return between(out, a, at, at + cut, n_free);
}

/* All after a random place is drawn anew. */
static bool edit_suffix(inv_plan *out, const inv_cand *a, fre_rng *rng)
{
    out->n_head = below(rng, a->n + 1);
    memcpy(out->head, a->ids, out->n_head * sizeof *a->ids);
    out->open = true;
    return true;
}

bool inv_edit_tokens(inv_plan *out, inv_kind kind, const inv_cand *a, const uint8_t *starts,
                     fre_rng *rng)
{
    if (a->n == 0)
        return false; /* not in the decoder's tokens */
    if (kind == INV_SUFFIX)
        return edit_suffix(out, a, rng);
    if (kind == INV_SPAN)
        return edit_span(out, a, rng);
    return edit_replace(out, a, starts, kind == INV_REPLACE, 1 + (below(rng, 3) == 0), rng);
}
