/* server/tagging_padding.c - dummy entries of S_tag [Fre-E2T, Alg. 2, padding]: for each m = 1..tau-1
 * TSDLap(lambda, gamma) random tags, m entries each, made as a client makes them but for a proof that
 * only the issuer could tell from random bytes. */
#include "tagging.h"

#include <fre/aggregate.h>

static fre_status seal_one(tagging *x, fre_buf *out, const fre_tag *tag, uint8_t *packed,
                           size_t bytes, fre_rng *r)
{
    const fre_wire *w = server_wire(&x->base);
    fre_entry m = {.tag = *tag, .packed = {packed, bytes}};
    fre_share_seed seed = {{0}};
    fre_hpke_sk ephemeral[2];
    fre_place place = {.cell = 0};
    fre_status st = FRE_OK;

    fre_rng_bytes(r, place.b, sizeof place.b);
    fre_rng_bytes(r, m.proof.b, sizeof m.proof.b);
    fre_rng_bytes(r, ephemeral, sizeof ephemeral);
    fre_place_id(&m.id, w, &place);
    if (w->c.one_contact)
        st = fre_share_random(packed, bytes, &seed, w->c.dim, w->share_bits, r);
    if (st == FRE_OK && w->c.one_contact)
        st = fre_entry_seed_seal_with(&m.seed, w, tag, &m.id, &seed, &place, &ephemeral[0]);
    if (st == FRE_OK)
        st = fre_entry_seal_with(out, w, FRE_WIRE_ENTRY, &m, &ephemeral[1]);
    fre_wipe(ephemeral, sizeof ephemeral);
    fre_wipe(&place, sizeof place);
    fre_share_seed_wipe(&seed);
    return st;
}

/* The message without its head. */
static fre_status append_one(tagging *x, fre_buf *out, const fre_tag *tag, uint8_t *packed,
                             fre_rng *r)
{
    const size_t bytes = fre_wire_share_bytes(server_wire(&x->base));
    fre_buf message;
    fre_status st;

    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    st = seal_one(x, &message, tag, packed, bytes, r);
    if (st == FRE_OK)
        st = fre_buf_append(out, message.p + FRE_WIRE_HEAD_BYTES, message.n - FRE_WIRE_HEAD_BYTES);
    fre_buf_wipe(&message);
    return st;
}

static fre_status tags_of(tagging *x, fre_buf *out, uint64_t copies, uint32_t tags,
                          uint8_t *packed, fre_rng *r)
{
    fre_status st = FRE_OK;
    fre_tag tag;

    for (uint32_t i = 0; st == FRE_OK && i < tags; i++) {
        fre_rng_bytes(r, tag.b, sizeof tag.b);
        for (uint64_t k = 0; st == FRE_OK && k < copies; k++)
            st = append_one(x, out, &tag, packed, r);
    }
    return st;
}

fre_status tagging_padding(tagging *x, fre_buf *out, fre_rng *r)
{
    const uint64_t tau = server_wire(&x->base)->c.tau;
    uint32_t *dummies = calloc((size_t)tau, sizeof *dummies);
    uint8_t *packed = malloc(fre_wire_share_bytes(server_wire(&x->base)) + 1); /* maybe none */
    fre_status st = dummies && packed
                        ? fre_aggregate_padding(dummies, tau, r, &x->base.a->m.dist)
                        : FRE_E_NOMEM;

    for (uint64_t m = 1; st == FRE_OK && m < tau; m++)
        st = tags_of(x, out, m, dummies[m - 1], packed, r);
    fre_wipe_free(dummies, (size_t)tau * sizeof *dummies);
    free(packed);
    return st;
}
