/* parties/tagging_padding.c - dummy reports of S_tag [Fre-E2T, Alg. 2, padding]: for each
 * m = 1..tau-1 TSDLap(lambda, gamma) random tags, m reports each.  All of it comes from the state's
 * secret, so that a restart repeats every report byte by byte and the multiplicities stay. */
#include "tagging.h"

#include <fre/tally.h>

fre_status tagging_padding_draw(fre_tagging *x)
{
    const uint64_t tau = x->base.w.c.tau;
    fre_mechanism m;
    fre_rng r;
    uint32_t *dummies;
    fre_status st;

    if (x->dummies)
        return FRE_OK;
    st = parties_stream(&r, &x->base, "padding: numbers", 0, 0);
    if (st != FRE_OK)
        return st;
    dummies = calloc((size_t)(tau - 1), sizeof *dummies);
    if (!dummies) {
        fre_rng_wipe(&r);
        return FRE_E_NOMEM;
    }
    fre_collection_mechanism(&m, &x->base.w.c);
    st = fre_tally_padding(dummies, tau, &r, &m.dist);
    fre_rng_wipe(&r);
    if (st != FRE_OK) {
        free(dummies);
        return st;
    }
    x->dummies = dummies;
    x->padding = 0;
    for (uint64_t i = 1; i < tau; i++)
        x->padding += i * dummies[i - 1];
    return FRE_OK;
}

void tagging_padding_forget(fre_tagging *x)
{
    if (x->dummies)
        fre_wipe(x->dummies, (size_t)(x->base.w.c.tau - 1) * sizeof *x->dummies);
    free(x->dummies);
    x->dummies = NULL;
    parties_ratchet(&x->base);
}

/* Multiplicity and number of the tag of which report `index` is a copy. */
static void place(const fre_tagging *x, uint64_t index, uint64_t *m, uint64_t *tag)
{
    for (*m = 1; index >= *m * x->dummies[*m - 1]; ++*m)
        index -= *m * x->dummies[*m - 1];
    *tag = index / *m;
}

/* Shares of nothing, for one-shot reports. */
static fre_status share(const fre_tagging *x, fre_contribution *m, uint8_t *packed, size_t n,
                        fre_rng *r)
{
    fre_share_seed seed;
    fre_status st = fre_share_random(packed, n, &seed, x->base.w.c.dim, x->base.w.share_bits, r);

    if (st != FRE_OK)
        return st;
    st = fre_seed_seal(&m->seed, &x->base.w, &m->tag, &m->id, &seed, r);
    m->packed = parties_view(packed, n);
    fre_share_seed_wipe(&seed);
    return st;
}

fre_status tagging_padding_report(const fre_tagging *x, fre_buf *out, uint64_t index)
{
    const size_t n = x->base.w.c.one_shot ? fre_wire_share_bytes(&x->base.w) : 0;
    fre_contribution m = {.null = false};
    uint8_t *packed = NULL;
    uint64_t copies, tag;
    fre_rng r;
    fre_status st;

    place(x, index, &copies, &tag);
    st = parties_stream(&r, &x->base, "padding: tag", copies, tag);
    if (st != FRE_OK)
        return st;
    fre_rng_bytes(&r, m.tag.b, sizeof m.tag.b);
    fre_rng_wipe(&r);
    st = parties_stream(&r, &x->base, "padding: report", index, 0);
    if (st != FRE_OK)
        return st;
    fre_rng_bytes(&r, m.id.b, sizeof m.id.b);
    if (n > 0) {
        packed = malloc(n);
        st = packed ? share(x, &m, packed, n, &r) : FRE_E_NOMEM;
    }
    if (st == FRE_OK)
        st = fre_contribution_seal(out, &x->base.w, FRE_WIRE_REPORT, &m, &r);
    fre_rng_wipe(&r);
    free(packed);
    return st;
}
