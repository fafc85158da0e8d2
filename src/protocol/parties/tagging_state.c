/* parties/tagging_state.c - S_tag: its beginning, its end, its saved state. */
#include "tagging.h"

#include <sodium.h>

/* ---- end --------------------------------------------------------------------------------------- */

void tagging_destroy_key(fre_tagging *x)
{
    sodium_free(x->oprf); /* overwrites it first */
    x->oprf = NULL;
}

void tagging_forget(fre_tagging *x)
{
    tagging_destroy_key(x);
    tagging_padding_forget(&x->padding, &x->base);
    tagging_seeds_wipe(&x->seeds);
    parties_table_wipe(&x->requests);
    tagging_registry_wipe(&x->registry);
    fre_buf_wipe(&x->list_message);
    x->list = (fre_list){.n = 0};
    x->last_cell = 0;
}

void fre_tagging_free(fre_tagging *x)
{
    if (!x)
        return;
    tagging_forget(x);
    parties_base_wipe(&x->base);
    fre_wipe_free(x, sizeof *x);
}

fre_status tagging_void(fre_tagging *x, fre_cancel_reason reason)
{
    fre_status st;

    tagging_destroy_key(x);
    st = parties_cancel(&x->base, reason, &x->keys.sign);
    if (st != FRE_OK)
        return st;
    tagging_forget(x);
    parties_forget(&x->base);
    x->base.stage = FRE_STAGE_VOID;
    return FRE_OK;
}

/* ---- beginning --------------------------------------------------------------------------------- */

static fre_status check_keys(const fre_collection *c, const fre_tagging_keys *keys,
                             const fre_oprf_key *oprf, fre_err *err)
{
    if (memcmp(keys->seal.pk.b, c->tag_seal.b, sizeof c->tag_seal.b) != 0)
        return fre_fail(err, FRE_E_KEY, "the seal key of S_tag is not the collection's");
    if (memcmp(keys->sign.b + 32, c->tag_sign.b, sizeof c->tag_sign.b) != 0)
        return fre_fail(err, FRE_E_KEY, "the signing key of S_tag is not the collection's");
    if (oprf && memcmp(oprf->pub.b, c->oprf_pk.b, sizeof c->oprf_pk.b) != 0)
        return fre_fail(err, FRE_E_KEY, "the VOPRF key is not the collection's");
    return FRE_OK;
}

static fre_tagging *blank(const fre_tagging_keys *keys)
{
    fre_tagging *x = calloc(1, sizeof *x);

    if (!x)
        return NULL;
    x->keys = *keys;
    fre_buf_init(&x->list_message, FRE_WIRE_MESSAGE_MAX);
    return x;
}

static fre_status move_key(fre_tagging *x, fre_oprf_key *oprf)
{
    if (sodium_init() < 0)
        return FRE_E_INTERNAL;
    x->oprf = sodium_malloc(sizeof *x->oprf);
    if (!x->oprf)
        return FRE_E_NOMEM;
    *x->oprf = *oprf;
    fre_oprf_key_wipe(oprf);
    return FRE_OK;
}

fre_status fre_tagging_new(fre_tagging **out, const fre_collection *c, const fre_tagging_keys *keys,
                           fre_oprf_key *oprf, fre_rng *rng, fre_err *err)
{
    fre_tagging *x = NULL;
    fre_status st;

    if (!out || !c || !keys || !oprf || !rng)
        return FRE_E_ARG;
    st = check_keys(c, keys, oprf, err);
    if (st != FRE_OK)
        return st;
    x = blank(keys);
    if (!x)
        return FRE_E_NOMEM;
    st = parties_base_init(&x->base, c, FRE_ROLE_TAG, rng, err);
    if (st == FRE_OK)
        st = move_key(x, oprf);
    if (st == FRE_OK)
        *out = x;
    else
        fre_tagging_free(x);
    return st;
}

/* ---- saved states ----------------------------------------------------------------------------- */

fre_status fre_tagging_save(const fre_tagging *x, fre_buf *out)
{
    parties_out o;

    if (!x || !out)
        return FRE_E_ARG;
    o = parties_out_open(out, &x->base.w, FRE_ROLE_TAG);
    parties_base_save(&o, &x->base);
    parties_put_uint(&o, x->evaluations, 8);
    parties_put_table(&o, &x->requests);
    parties_put_uint(&o, (uint64_t)x->closed_time, 8);
    tagging_padding_save(&o, &x->padding);
    parties_put_bytes(&o, x->list_message.p, x->list_message.n);
    tagging_registry_save(&o, &x->registry);
    parties_put_uint(&o, x->sets.index, 4);
    parties_put_uint(&o, x->sets.count, 4);
    parties_put_uint(&o, x->open.index, 4);
    parties_put_uint(&o, x->open.count, 4);
    parties_put_uint(&o, x->last_cell, 4);
    parties_put(&o, x->last_id.b, sizeof x->last_id.b);
    parties_put_uint(&o, x->seeds_refused, 8);
    parties_put_uint(&o, x->unregistered, 8);
    parties_put_uint(&o, x->opened, 8);
    parties_put_uint(&o, x->refused, 8);
    tagging_seeds_save(&o, &x->seeds);
    return parties_out_close(&o);
}

static void load_list(parties_in *in, fre_tagging *x, fre_status *st)
{
    parties_get_buf(in, &x->list_message, st);
    if (!in->bad && x->list_message.n > 0 &&
        fre_list_decode(&x->list, &x->base.w, parties_buf_view(&x->list_message), NULL) != FRE_OK)
        in->bad = true;
    /* The bits once more, since seeds are bound to the list as well. */
    if (!in->bad && x->list_message.n > 0 && !x->base.w.c.one_contact)
        in->bad = fre_wire_derive_share_bits(&x->base.w, &x->list, NULL) != FRE_OK;
}

static fre_status load(fre_tagging *x, fre_bytes state, fre_err *err)
{
    fre_status st = FRE_OK, opened;
    parties_in in;

    opened = parties_in_open(&in, state, &x->base.w, FRE_ROLE_TAG, err);
    if (opened != FRE_OK)
        return opened;
    parties_base_load(&in, &x->base, &st);
    x->evaluations = parties_get_uint(&in, 8);
    parties_get_table(&in, &x->requests, &st);
    x->closed_time = (int64_t)parties_get_uint(&in, 8);
    tagging_padding_load(&in, &x->padding);
    load_list(&in, x, &st);
    tagging_registry_load(&in, &x->registry, &st);
    x->sets.index = (uint32_t)parties_get_uint(&in, 4);
    x->sets.count = (uint32_t)parties_get_uint(&in, 4);
    x->open.index = (uint32_t)parties_get_uint(&in, 4);
    x->open.count = (uint32_t)parties_get_uint(&in, 4);
    x->last_cell = (uint32_t)parties_get_up_to(&in, 4, x->list.n);
    parties_get(&in, x->last_id.b, sizeof x->last_id.b);
    x->seeds_refused = parties_get_uint(&in, 8);
    x->unregistered = parties_get_uint(&in, 8);
    x->opened = parties_get_uint(&in, 8);
    x->refused = parties_get_uint(&in, 8);
    tagging_seeds_load(&in, &x->seeds, &x->list, &st);
    return parties_in_end(&in, st, err);
}

fre_status fre_tagging_load(fre_tagging **out, const fre_collection *c,
                            const fre_tagging_keys *keys, fre_oprf_key *oprf, fre_bytes state,
                            fre_err *err)
{
    fre_tagging *x = NULL;
    fre_status st;

    if (!out || !c || !keys)
        return FRE_E_ARG;
    st = check_keys(c, keys, oprf, err);
    if (st != FRE_OK)
        return st;
    x = blank(keys);
    if (!x)
        return FRE_E_NOMEM;
    st = parties_base_blank(&x->base, c, FRE_ROLE_TAG, err);
    if (st == FRE_OK)
        st = load(x, state, err);
    if (st == FRE_OK && oprf) {
        if (x->base.stage <= FRE_STAGE_TAGS)
            st = move_key(x, oprf);
        else
            fre_oprf_key_wipe(oprf);
    }
    if (st == FRE_OK)
        *out = x;
    else
        fre_tagging_free(x);
    return st;
}
