/* entry.c - what a client hands in for a place: its id, its proof, its sealed seed, the sealed whole.
 *
 * entry, one contact:   id (16)  tag (32)  proof (16)  sealed seed (84)  packed share
 * entry, two contacts:  id (16)  tag (32)  proof (16)
 * answer:               name (16)  sealed seed (84)  packed share
 * sealed seed:  HPKE to S_tag of  seed (16)  place (16)  cell (4);  two contacts: bound to the list as well */
#include "wire_private.h"

#include <sodium.h>
#include <stdlib.h>

static const char *const id_label = "fre/id/v2";
static const char *const proof_label = "fre/proof/v2";
static const char *const seed_label = "fre/seed/v2";
static const char *const entry_label = "fre/entry/v2";
static const char *const answer_label = "fre/answer/v2";
static const char *const name_label = "fre/name/v2";

/* Infos of seals, and other labelled inputs. */
fre_bytes wire_info(uint8_t out[WIRE_INFO_MAX], const fre_wire *w, const char *label,
                    const fre_tag *tag, const fre_report_id *id, fre_bytes more)
{
    const uint8_t n = (uint8_t)strlen(label);
    uint8_t *p = out;

    *p++ = n;
    memcpy(p, label, n);
    p += n;
    memcpy(p, w->id.b, sizeof w->id.b);
    p += sizeof w->id.b;
    if (tag && id) {
        memcpy(p, tag->b, sizeof tag->b);
        p += sizeof tag->b;
        memcpy(p, id->b, sizeof id->b);
        p += sizeof id->b;
    }
    if (more.n > 0) {
        memcpy(p, more.p, more.n);
        p += more.n;
    }
    return wire_view(out, (size_t)(p - out));
}

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

void fre_answer_name(fre_report_id *out, const fre_wire *w, const fre_report_id *id,
                     const fre_vouching *proof)
{
    uint8_t info[WIRE_INFO_MAX], hash[FRE_HASH_BYTES];
    fre_sha256 h;

    fre_sha256_begin(&h, wire_info(info, w, name_label, NULL, NULL, nothing()));
    fre_sha256_add(&h, id->b, sizeof id->b);
    fre_sha256_add(&h, proof->b, sizeof proof->b);
    fre_sha256_end(hash, &h);
    memcpy(out->b, hash, sizeof out->b);
    fre_wipe(hash, sizeof hash);
}

/* ---- seeds ------------------------------------------------------------------------------------- */

static fre_bytes seed_info(uint8_t out[WIRE_INFO_MAX], const fre_wire *w, const fre_tag *tag,
                           const fre_report_id *id)
{
    return wire_info(out, w, seed_label, tag, id,
                     w->c.one_contact ? nothing() : wire_view(w->list, sizeof w->list));
}

fre_status fre_entry_seed_seal_with(fre_sealed_entry_seed *out, const fre_wire *w,
                                    const fre_tag *tag, const fre_report_id *id,
                                    const fre_share_seed *seed, const fre_place *place,
                                    const fre_hpke_sk *ephemeral)
{
    uint8_t info[WIRE_INFO_MAX], plain[FRE_SHARE_SEED_BYTES + FRE_PLACE_BYTES];
    fre_status st;

    if (!out || !w || !tag || !id || !seed || !place || !ephemeral)
        return FRE_E_ARG;
    memcpy(plain, seed->b, sizeof seed->b);
    memcpy(plain + sizeof seed->b, place->b, sizeof place->b);
    wire_set32(plain + sizeof seed->b + sizeof place->b, place->cell);
    st = fre_hpke_seal_once_with(out->b, w->c.aead, &w->c.tag_seal,
                                 seed_info(info, w, tag, id), nothing(),
                                 wire_view(plain, sizeof plain), ephemeral);
    fre_wipe(plain, sizeof plain);
    return st;
}

fre_status fre_entry_seed_open(fre_share_seed *out, fre_place *place, const fre_wire *w,
                               const fre_hpke_keypair *key, const fre_tag *tag,
                               const fre_report_id *id, const fre_sealed_entry_seed *sealed)
{
    uint8_t info[WIRE_INFO_MAX], plain[FRE_SHARE_SEED_BYTES + FRE_PLACE_BYTES];
    fre_report_id is;
    fre_place p;
    fre_status st;

    if (!out || !place || !w || !key || !tag || !id || !sealed)
        return FRE_E_ARG;
    st = fre_hpke_open_once(plain, w->c.aead, key,
                            seed_info(info, w, tag, id), nothing(),
                            wire_view(sealed->b, sizeof sealed->b));
    if (st != FRE_OK)
        return st;
    memcpy(p.b, plain + sizeof out->b, sizeof p.b);
    p.cell = wire_get32(plain + sizeof out->b + sizeof p.b);
    fre_place_id(&is, w, &p);
    if (memcmp(is.b, id->b, sizeof is.b) == 0 && wire_is_cell(w, p.cell)) {
        memcpy(out->b, plain, sizeof out->b);
        *place = p;
    } else {
        st = FRE_E_REFUSED;
    }
    fre_wipe(plain, sizeof plain);
    fre_wipe(&p, sizeof p);
    return st;
}

/* ---- entries and answers ----------------------------------------------------------------------- */

static bool is_entry(const fre_wire *w, fre_wire_type type)
{
    return w && (type == FRE_WIRE_ENTRY || (type == FRE_WIRE_ANSWER && !w->c.one_contact));
}

static bool has_share(const fre_wire *w, fre_wire_type type)
{
    return type == FRE_WIRE_ANSWER || w->c.one_contact;
}

static size_t plain_bytes(const fre_wire *w, fre_wire_type type)
{
    const size_t share = fre_wire_share_bytes(w);
    size_t n = sizeof(fre_report_id);

    if (type == FRE_WIRE_ENTRY)
        n += sizeof(fre_tag) + sizeof(fre_vouching);
    if (!has_share(w, type))
        return n;
    return share > 0 ? n + sizeof(fre_sealed_entry_seed) + share : 0;
}

size_t fre_entry_sealed_bytes(const fre_wire *w, fre_wire_type type)
{
    const size_t n = is_entry(w, type) ? plain_bytes(w, type) : 0;

    return n > 0 ? n + FRE_HPKE_OVERHEAD : 0;
}

static fre_bytes entry_info(uint8_t out[WIRE_INFO_MAX], const fre_wire *w, fre_wire_type type)
{
    return wire_info(out, w, type == FRE_WIRE_ENTRY ? entry_label : answer_label, NULL, NULL,
                     nothing());
}

static uint8_t *put(uint8_t *p, const void *from, size_t n)
{
    memcpy(p, from, n);
    return p + n;
}

static void write_plain(uint8_t *p, const fre_wire *w, fre_wire_type type, const fre_entry *m)
{
    p = put(p, m->id.b, sizeof m->id.b);
    if (type == FRE_WIRE_ENTRY) {
        p = put(p, m->tag.b, sizeof m->tag.b);
        p = put(p, m->proof.b, sizeof m->proof.b);
    }
    if (has_share(w, type)) {
        p = put(p, m->seed.b, sizeof m->seed.b);
        memcpy(p, m->packed.p, m->packed.n);
    }
}

fre_status fre_entry_seal_with(fre_buf *out, const fre_wire *w, fre_wire_type type,
                               const fre_entry *m, const fre_hpke_sk *ephemeral)
{
    uint8_t head[FRE_WIRE_HEAD_BYTES], info[WIRE_INFO_MAX], *plain, *sealed;
    size_t n;
    fre_out o = fre_out_begin(out);

    if (!out || !is_entry(w, type) || !m || !ephemeral)
        return FRE_E_ARG;
    n = plain_bytes(w, type);
    if (n == 0)
        return FRE_E_STATE;
    if (has_share(w, type) && m->packed.n != fre_wire_share_bytes(w))
        return FRE_E_ARG;
    plain = malloc(n);
    sealed = malloc(n + FRE_HPKE_OVERHEAD);
    if (!plain || !sealed) {
        wire_fail(&o, FRE_E_NOMEM);
        goto out;
    }
    write_plain(plain, w, type, m);
    wire_head(head, w, type);
    wire_fail(&o, fre_hpke_seal_once_with(sealed, w->c.aead, &w->c.syn_seal,
                                          entry_info(info, w, type), wire_view(head, sizeof head),
                                          wire_view(plain, n), ephemeral));
    fre_out_put(&o, head, sizeof head);
    if (o.st == FRE_OK)
        fre_out_put(&o, sealed, n + FRE_HPKE_OVERHEAD);
out:
    fre_wipe_free(plain, n);
    free(sealed);
    return wire_close(&o);
}

fre_status fre_entry_split(fre_bytes *sealed, const fre_wire *w, fre_wire_type type, fre_bytes in,
                           fre_err *err)
{
    size_t n;
    fre_bytes p;
    fre_in body;
    fre_status st;

    if (!sealed || !is_entry(w, type))
        return FRE_E_ARG;
    n = fre_entry_sealed_bytes(w, type);
    if (n == 0)
        return fre_fail(err, FRE_E_STATE, "%s: its size is not known yet", wire_name(type));
    if ((st = wire_begin(&body, w, type, in, err)) != FRE_OK)
        return st;
    p = wire_items(&body, 1, n, "sealed");
    st = wire_end(&body, wire_name(type), err);
    if (st == FRE_OK)
        *sealed = p;
    return st;
}

fre_status wire_entry_decode(fre_entry *out, const fre_wire *w, fre_wire_type type, fre_bytes plain,
                             fre_err *err)
{
    fre_in in = {.left = plain, .bad = NULL};
    fre_entry m = {.packed = {.n = 0}};
    fre_status st;

    fre_in_copy(&in, m.id.b, sizeof m.id.b, "id");
    if (type == FRE_WIRE_ENTRY) {
        fre_in_copy(&in, m.tag.b, sizeof m.tag.b, "tag");
        fre_in_copy(&in, m.proof.b, sizeof m.proof.b, "proof");
    }
    if (has_share(w, type)) {
        fre_in_copy(&in, m.seed.b, sizeof m.seed.b, "seed");
        m.packed = wire_items(&in, 1, fre_wire_share_bytes(w), "packed share");
    }
    st = wire_end(&in, wire_name(type), err);
    if (st == FRE_OK)
        *out = m;
    return st;
}

fre_status fre_entry_open(fre_entry *out, fre_buf *plain, const fre_wire *w, fre_wire_type type,
                          const fre_hpke_keypair *key, fre_bytes sealed, fre_err *err)
{
    uint8_t head[FRE_WIRE_HEAD_BYTES], info[WIRE_INFO_MAX], *opened;
    size_t n;
    fre_status st;

    if (!out || !plain || !is_entry(w, type) || !key)
        return FRE_E_ARG;
    n = plain_bytes(w, type);
    if (n == 0)
        return fre_fail(err, FRE_E_STATE, "%s: its size is not known yet", wire_name(type));
    if (sealed.n != n + FRE_HPKE_OVERHEAD)
        return fre_fail(err, FRE_E_DATA, "%s: it has %zu bytes, not the %zu of its collection",
                        wire_name(type), sealed.n, n + FRE_HPKE_OVERHEAD);
    opened = malloc(n);
    if (!opened)
        return FRE_E_NOMEM;
    wire_head(head, w, type);
    st = fre_hpke_open_once(opened, w->c.aead, key, entry_info(info, w, type),
                            wire_view(head, sizeof head), sealed);
    if (st == FRE_E_REFUSED)
        st = fre_fail(err, st, "%s: it is not sealed to this key under this collection",
                      wire_name(type));
    if (st == FRE_OK) {
        fre_buf_wipe(plain);
        st = fre_buf_append(plain, opened, n);
    }
    if (st == FRE_OK)
        st = wire_entry_decode(out, w, type, wire_view(plain->p, plain->n), err);
    fre_wipe_free(opened, n);
    return st;
}
