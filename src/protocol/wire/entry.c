/* entry.c - what a client hands in for a place: its id, its proof, its sealed seed, the sealed whole.
 *
 * entry:  id (16)  tag (32)  proof (16)  sealed seed (80)  packed share
 * sealed seed:  HPKE to S_tag of  seed (16)  place (16) */
#include "wire_private.h"

#include <sodium.h>
#include <stdlib.h>

static const char *const id_label = "fre/id/v2";
static const char *const proof_label = "fre/proof/v2";
static const char *const seed_label = "fre/seed/v2";
static const char *const entry_label = "fre/entry/v2";

static fre_bytes nothing(void)
{
    return wire_view(NULL, 0);
}

void fre_place_id(fre_report_id *out, const fre_wire *w, const fre_place *place)
{
    uint8_t info[WIRE_INFO_MAX], hash[FRE_HASH_BYTES];
    fre_sha256 h;

    fre_sha256_begin(&h, wire_info(info, w, id_label, NULL, NULL, nothing()));
    fre_sha256_add(&h, place->b, sizeof place->b);
    fre_sha256_end(hash, &h);
    memcpy(out->b, hash, sizeof out->b);
    fre_wipe(hash, sizeof hash);
}

void fre_vouching_make(fre_vouching *out, const fre_wire *w, const fre_oprf_output *key,
                       const fre_tag *tag)
{
    uint8_t info[WIRE_INFO_MAX], mac[crypto_auth_hmacsha256_BYTES];
    const fre_bytes first = wire_info(info, w, proof_label, NULL, NULL, nothing());
    crypto_auth_hmacsha256_state s;

    (void)crypto_auth_hmacsha256_init(&s, key->b, sizeof key->b);
    (void)crypto_auth_hmacsha256_update(&s, first.p, first.n);
    (void)crypto_auth_hmacsha256_update(&s, tag->b, sizeof tag->b);
    (void)crypto_auth_hmacsha256_final(&s, mac);
    memcpy(out->b, mac, sizeof out->b);
    fre_wipe(&s, sizeof s);
    fre_wipe(mac, sizeof mac);
}

/* ---- seeds ------------------------------------------------------------------------------------- */

fre_status fre_entry_seed_seal_with(fre_sealed_entry_seed *out, const fre_wire *w,
                                    const fre_tag *tag, const fre_report_id *id,
                                    const fre_share_seed *seed, const fre_place *place,
                                    const fre_hpke_sk *ephemeral)
{
    uint8_t info[WIRE_INFO_MAX], plain[sizeof seed->b + sizeof place->b];
    fre_status st;

    if (!out || !w || !tag || !id || !seed || !place || !ephemeral)
        return FRE_E_ARG;
    memcpy(plain, seed->b, sizeof seed->b);
    memcpy(plain + sizeof seed->b, place->b, sizeof place->b);
    st = fre_hpke_seal_once_with(out->b, w->c.aead, &w->c.tag_seal,
                                 wire_info(info, w, seed_label, tag, id, nothing()), nothing(),
                                 wire_view(plain, sizeof plain), ephemeral);
    fre_wipe(plain, sizeof plain);
    return st;
}

fre_status fre_entry_seed_open(fre_share_seed *out, const fre_wire *w, const fre_hpke_keypair *key,
                               const fre_tag *tag, const fre_report_id *id,
                               const fre_sealed_entry_seed *sealed)
{
    uint8_t info[WIRE_INFO_MAX], plain[sizeof out->b + sizeof(fre_place)];
    fre_report_id is;
    fre_place place;
    fre_status st;

    if (!out || !w || !key || !tag || !id || !sealed)
        return FRE_E_ARG;
    st = fre_hpke_open_once(plain, w->c.aead, key,
                            wire_info(info, w, seed_label, tag, id, nothing()), nothing(),
                            wire_view(sealed->b, sizeof sealed->b));
    if (st != FRE_OK)
        return st;
    memcpy(place.b, plain + sizeof out->b, sizeof place.b);
    fre_place_id(&is, w, &place);
    if (memcmp(is.b, id->b, sizeof is.b) == 0)
        memcpy(out->b, plain, sizeof out->b);
    else
        st = FRE_E_REFUSED;
    fre_wipe(plain, sizeof plain);
    fre_wipe(&place, sizeof place);
    return st;
}

/* ---- entries ----------------------------------------------------------------------------------- */

static size_t plain_bytes(const fre_wire *w)
{
    const size_t share = fre_wire_share_bytes(w);

    return share > 0 ? sizeof(fre_report_id) + sizeof(fre_tag) + sizeof(fre_vouching) +
                           sizeof(fre_sealed_entry_seed) + share
                     : 0;
}

size_t fre_entry_sealed_bytes(const fre_wire *w)
{
    const size_t n = plain_bytes(w);

    return n > 0 ? n + FRE_HPKE_OVERHEAD : 0;
}

static void write_plain(uint8_t *p, const fre_entry *m)
{
    memcpy(p, m->id.b, sizeof m->id.b);
    p += sizeof m->id.b;
    memcpy(p, m->tag.b, sizeof m->tag.b);
    p += sizeof m->tag.b;
    memcpy(p, m->proof.b, sizeof m->proof.b);
    p += sizeof m->proof.b;
    memcpy(p, m->seed.b, sizeof m->seed.b);
    p += sizeof m->seed.b;
    memcpy(p, m->packed.p, m->packed.n);
}

fre_status fre_entry_seal_with(fre_buf *out, const fre_wire *w, const fre_entry *m,
                               const fre_hpke_sk *ephemeral)
{
    uint8_t head[FRE_WIRE_HEAD_BYTES], info[WIRE_INFO_MAX], *plain, *sealed;
    const size_t n = w ? plain_bytes(w) : 0;
    wire_out o = wire_open(out);

    if (!out || !w || !m || !ephemeral || (n > 0 && m->packed.n != fre_wire_share_bytes(w)))
        return FRE_E_ARG;
    if (n == 0)
        return FRE_E_STATE;
    plain = malloc(n);
    sealed = malloc(n + FRE_HPKE_OVERHEAD);
    if (!plain || !sealed) {
        wire_fail(&o, FRE_E_NOMEM);
        goto out;
    }
    write_plain(plain, m);
    wire_head(head, w, FRE_WIRE_ENTRY);
    wire_fail(&o, fre_hpke_seal_once_with(sealed, w->c.aead, &w->c.syn_seal,
                                          wire_info(info, w, entry_label, NULL, NULL, nothing()),
                                          wire_view(head, sizeof head), wire_view(plain, n),
                                          ephemeral));
    wire_put(&o, head, sizeof head);
    if (o.st == FRE_OK)
        wire_put(&o, sealed, n + FRE_HPKE_OVERHEAD);
out:
    fre_wipe_free(plain, n);
    free(sealed);
    return wire_close(&o);
}

fre_status fre_entry_split(fre_bytes *sealed, const fre_wire *w, fre_bytes in, fre_err *err)
{
    const size_t n = w ? fre_entry_sealed_bytes(w) : 0;
    fre_bytes p;
    wire_in body;
    fre_status st;

    if (!sealed || !w)
        return FRE_E_ARG;
    if (n == 0)
        return fre_fail(err, FRE_E_STATE, "entry: its size is not known yet");
    if ((st = wire_begin(&body, w, FRE_WIRE_ENTRY, in, err)) != FRE_OK)
        return st;
    p = wire_items(&body, 1, n, "sealed");
    st = wire_end(&body, wire_name(FRE_WIRE_ENTRY), err);
    if (st == FRE_OK)
        *sealed = p;
    return st;
}

static fre_status decode_plain(fre_entry *out, const fre_wire *w, fre_bytes plain, fre_err *err)
{
    wire_in in = {.left = plain, .bad = NULL};
    fre_entry m;
    fre_status st;

    wire_copy(&in, m.id.b, sizeof m.id.b, "id");
    wire_copy(&in, m.tag.b, sizeof m.tag.b, "tag");
    wire_copy(&in, m.proof.b, sizeof m.proof.b, "proof");
    wire_copy(&in, m.seed.b, sizeof m.seed.b, "seed");
    m.packed = wire_items(&in, 1, fre_wire_share_bytes(w), "packed share");
    st = wire_end(&in, wire_name(FRE_WIRE_ENTRY), err);
    if (st == FRE_OK)
        *out = m;
    return st;
}

fre_status fre_entry_open(fre_entry *out, fre_buf *plain, const fre_wire *w,
                          const fre_hpke_keypair *key, fre_bytes sealed, fre_err *err)
{
    uint8_t head[FRE_WIRE_HEAD_BYTES], info[WIRE_INFO_MAX], *opened;
    const size_t n = w ? plain_bytes(w) : 0;
    fre_status st;

    if (!out || !plain || !w || !key)
        return FRE_E_ARG;
    if (n == 0)
        return fre_fail(err, FRE_E_STATE, "entry: its size is not known yet");
    if (sealed.n != n + FRE_HPKE_OVERHEAD)
        return fre_fail(err, FRE_E_DATA, "entry: it has %zu bytes, not the %zu of its collection",
                        sealed.n, n + FRE_HPKE_OVERHEAD);
    opened = malloc(n);
    if (!opened)
        return FRE_E_NOMEM;
    wire_head(head, w, FRE_WIRE_ENTRY);
    st = fre_hpke_open_once(opened, w->c.aead, key,
                            wire_info(info, w, entry_label, NULL, NULL, nothing()),
                            wire_view(head, sizeof head), sealed);
    if (st == FRE_E_REFUSED)
        st = fre_fail(err, st, "entry: it is not sealed to this key under this collection");
    if (st == FRE_OK) {
        fre_buf_wipe(plain);
        st = fre_buf_append(plain, opened, n);
    }
    if (st == FRE_OK)
        st = decode_plain(out, w, wire_view(plain->p, plain->n), err);
    fre_wipe_free(opened, n);
    return st;
}
