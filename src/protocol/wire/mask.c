/* mask.c - masks of keys:  key (1)  by (1)  bytes (64) */
#include "wire_private.h"

static const struct {
    fre_role owner, holder;
} roles[FRE_MASK_KEYS] = {[FRE_MASK_TAG_OPRF] = {FRE_ROLE_TAG, FRE_ROLE_RELAY},
                          [FRE_MASK_TAG_SEAL] = {FRE_ROLE_TAG, FRE_ROLE_RELAY},
                          [FRE_MASK_ISSUER] = {FRE_ROLE_ISSUER, FRE_ROLE_RELAY},
                          [FRE_MASK_SYN_SEAL] = {FRE_ROLE_SYN, FRE_ROLE_ISSUER}};

fre_role fre_mask_owner(fre_mask_key key)
{
    return (unsigned)key < FRE_MASK_KEYS ? roles[key].owner : (fre_role)0;
}

fre_role fre_mask_holder(fre_mask_key key)
{
    return (unsigned)key < FRE_MASK_KEYS ? roles[key].holder : (fre_role)0;
}

int64_t fre_mask_end(const fre_collection *c, fre_mask_key key)
{
    return key == FRE_MASK_TAG_OPRF ? c->tags_close : c->end;
}

static bool is_type(fre_wire_type type)
{
    return type == FRE_WIRE_MASK_PUT || type == FRE_WIRE_MASK_GET || type == FRE_WIRE_MASK_WIPE;
}

static bool roles_are_fine(unsigned key, unsigned by, fre_wire_type type)
{
    if (key < 1 || key >= FRE_MASK_KEYS)
        return false;
    return by == (unsigned)roles[key].owner ||
           (by == (unsigned)roles[key].holder && type != FRE_WIRE_MASK_WIPE);
}

/* What a message has no use for is zero. */
static bool bytes_are_fine(const fre_mask *m, fre_wire_type type)
{
    static const uint8_t zero[FRE_MASK_BYTES / 2];
    const bool one = type == FRE_WIRE_MASK_WIPE ||
                     (type == FRE_WIRE_MASK_GET && m->by == fre_mask_holder(m->key));

    return !one || memcmp(m->b + sizeof zero, zero, sizeof zero) == 0;
}

fre_status fre_mask_encode(fre_buf *out, const fre_wire *w, fre_wire_type type, const fre_mask *m,
                           const fre_sign_sk *sk)
{
    fre_out o = fre_out_begin(out);

    if (!w || !m || !is_type(type) || !roles_are_fine((unsigned)m->key, (unsigned)m->by, type) ||
        !bytes_are_fine(m, type))
        return FRE_E_ARG;
    wire_put_head(&o, w, type);
    fre_out_uint(&o, (uint64_t)m->key, 1);
    fre_out_uint(&o, (uint64_t)m->by, 1);
    fre_out_put(&o, m->b, sizeof m->b);
    return wire_close_signed(&o, type, sk);
}

static void read_roles(fre_in *body, fre_mask *out, fre_wire_type type)
{
    const unsigned key = (unsigned)fre_in_uint(body, 1, "key"),
                   by = (unsigned)fre_in_uint(body, 1, "by");

    fre_in_require(body, roles_are_fine(key, by, type), "by");
    out->key = (fre_mask_key)key;
    out->by = (fre_role)by;
}

/* The role tells whose signature it has to be; nothing else is looked at before. */
fre_status fre_mask_decode(fre_mask *out, const fre_wire *w, fre_wire_type type, fre_bytes in,
                           fre_err *err)
{
    fre_mask m;
    fre_in body;
    fre_status st;

    if (!out || !w || !is_type(type))
        return FRE_E_ARG;
    st = wire_begin(&body, w, type, in, err);
    if (st != FRE_OK)
        return st;
    read_roles(&body, &m, type);
    if (body.bad)
        return wire_end(&body, wire_name(type), err);
    st = wire_begin_signed(&body, w, type, wire_key_of(w, (unsigned)m.by), in, err);
    if (st != FRE_OK)
        return st;
    read_roles(&body, &m, type);
    fre_in_copy(&body, m.b, sizeof m.b, "bytes");
    fre_in_require(&body, body.bad || bytes_are_fine(&m, type), "bytes");
    st = wire_end(&body, wire_name(type), err);
    if (st == FRE_OK)
        *out = m;
    fre_wipe(&m, sizeof m);
    return st;
}
