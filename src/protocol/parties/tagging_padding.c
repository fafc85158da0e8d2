/* parties/tagging_padding.c - dummy reports of S_tag [Fre-E2T, Alg. 2, padding]: for each
 * m = 1..tau-1 TSDLap(lambda, gamma) random tags, m reports each.  All of it comes from the state's
 * secret, so that a restart repeats every report byte by byte and the multiplicities stay. */
#include "tagging_padding.h"

#include <fre/aggregate.h>

fre_status tagging_padding_draw(tagging_padding *p, const parties_base *base)
{
    const uint64_t tau = base->w.c.tau;
    fre_mechanism m;
    fre_rng r;
    uint32_t *dummies;
    fre_status st;

    if (p->dummies)
        return FRE_OK;
    st = parties_stream(&r, base, "padding: numbers", 0, 0);
    if (st != FRE_OK)
        return st;
    dummies = calloc((size_t)(tau - 1), sizeof *dummies);
    if (!dummies) {
        fre_rng_wipe(&r);
        return FRE_E_NOMEM;
    }
    fre_collection_mechanism(&m, &base->w.c);
    st = fre_aggregate_padding(dummies, tau, &r, &m.dist);
    fre_rng_wipe(&r);
    if (st != FRE_OK) {
        free(dummies);
        return st;
    }
    p->dummies = dummies;
    p->reports = 0;
    for (uint64_t i = 1; i < tau; i++)
        p->reports += i * dummies[i - 1];
    return FRE_OK;
}

void tagging_padding_forget(tagging_padding *p, parties_base *base)
{
    fre_wipe_free(p->dummies, (size_t)(base->w.c.tau - 1) * sizeof *p->dummies);
    p->dummies = NULL;
    parties_ratchet(base);
}

/* Multiplicity and number of the tag of which report `index` is a copy. */
static void locate(const tagging_padding *p, uint64_t index, uint64_t *m, uint64_t *tag)
{
    for (*m = 1; index >= *m * p->dummies[*m - 1]; ++*m)
        index -= *m * p->dummies[*m - 1];
    *tag = index / *m;
}

/* Shares of nothing, for one-shot reports. */
static fre_status share(const parties_base *base, fre_contribution *m, uint8_t *packed, size_t n,
                        fre_rng *r)
{
    fre_share_seed seed;
    fre_status st = fre_share_random(packed, n, &seed, base->w.c.dim, base->w.share_bits, r);

    if (st != FRE_OK)
        return st;
    st = fre_seed_seal(&m->seed, &base->w, &m->tag, &m->id, &seed, r);
    m->packed = parties_view(packed, n);
    fre_share_seed_wipe(&seed);
    return st;
}

fre_status tagging_padding_report(const tagging_padding *p, const parties_base *base, fre_buf *out,
                                  uint64_t index)
{
    const size_t n = base->w.c.one_contact ? fre_wire_share_bytes(&base->w) : 0;
    fre_contribution m = {.null = false};
    uint8_t *packed = NULL;
    uint64_t copies, tag;
    fre_rng r;
    fre_status st;

    locate(p, index, &copies, &tag);
    st = parties_stream(&r, base, "padding: tag", copies, tag);
    if (st != FRE_OK)
        return st;
    fre_rng_bytes(&r, m.tag.b, sizeof m.tag.b);
    fre_rng_wipe(&r);
    st = parties_stream(&r, base, "padding: report", index, 0);
    if (st != FRE_OK)
        return st;
    fre_rng_bytes(&r, m.id.b, sizeof m.id.b);
    if (n > 0) {
        packed = malloc(n);
        st = packed ? share(base, &m, packed, n, &r) : FRE_E_NOMEM;
    }
    if (st == FRE_OK)
        st = fre_contribution_seal(out, &base->w, FRE_WIRE_REPORT, &m, &r);
    fre_rng_wipe(&r);
    free(packed);
    return st;
}

fre_status tagging_padding_post(const tagging_padding *p, const parties_base *base, fre_outbox *out,
                                unsigned kind)
{
    for (uint64_t i = p->settled; i < p->reports && i < p->settled + TAGGING_WINDOW; i++) {
        fre_outbox_item *item;
        fre_status st;

        if (p->arrived[i % TAGGING_WINDOW])
            continue;
        item = parties_post(out, FRE_ROLE_RELAY, PARTIES_COOKIE(kind, i));
        if (!item)
            return FRE_E_NOMEM;
        st = tagging_padding_report(p, base, &item->message, i);
        if (st != FRE_OK) {
            parties_post_undo(out);
            return st;
        }
    }
    return FRE_OK;
}

void tagging_padding_arrived(tagging_padding *p, uint64_t index)
{
    if (index < p->settled || index >= p->reports || index - p->settled >= TAGGING_WINDOW)
        return;
    p->arrived[index % TAGGING_WINDOW] = true;
    while (p->arrived[p->settled % TAGGING_WINDOW]) {
        p->arrived[p->settled % TAGGING_WINDOW] = false;
        p->settled++;
    }
}

bool tagging_padding_is_settled(const tagging_padding *p)
{
    return p->settled >= p->reports;
}

void tagging_padding_save(parties_out *o, const tagging_padding *p)
{
    parties_put_uint(o, p->reports, 8);
    parties_put_uint(o, p->settled, 8);
    for (size_t i = 0; i < TAGGING_WINDOW; i++)
        parties_put_uint(o, p->arrived[i], 1);
}

void tagging_padding_load(parties_in *in, tagging_padding *p)
{
    p->reports = parties_get_uint(in, 8);
    p->settled = parties_get_uint(in, 8);
    for (size_t i = 0; i < TAGGING_WINDOW; i++)
        p->arrived[i] = parties_get_bool(in);
}
