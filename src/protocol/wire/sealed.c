/* sealed.c - what clients send: tag requests in Oblivious HTTP, reports, shares and seeds in HPKE.
 *
 * info of a seal:  u8 length of label || label || collection id || what else is bound,
 *                  of a seed: tag || report id || hash of the list
 * aad of a report or share: the head in front of it. */
#include "wire_private.h"

#include <sodium.h>
#include <stdlib.h>

static const char *const report_label = "fre/report/v1";
static const char *const share_label = "fre/share/v1";
static const char *const seed_label = "fre/seed/v1";
static const char *const digest_label = "fre/mark/v1";

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

static fre_bytes seed_info(uint8_t out[WIRE_INFO_MAX], const fre_wire *w, const fre_tag *tag,
                           const fre_report_id *id)
{
    return wire_info(out, w, seed_label, tag, id, wire_view(w->list, sizeof w->list));
}

static fre_bytes plain_info(uint8_t out[WIRE_INFO_MAX], const fre_wire *w, const char *label)
{
    return wire_info(out, w, label, NULL, NULL, wire_view(NULL, 0));
}

/* ---- seeds ------------------------------------------------------------------------------------- */

fre_status fre_seed_seal_with(fre_sealed_seed *out, const fre_wire *w, const fre_tag *tag,
                              const fre_report_id *id, const fre_share_seed *seed,
                              const fre_hpke_sk *ephemeral)
{
    uint8_t info[WIRE_INFO_MAX];

    if (!out || !w || !tag || !id || !seed)
        return FRE_E_ARG;
    return fre_hpke_seal_once_with(out->b, w->c.aead, &w->c.tag_seal, seed_info(info, w, tag, id),
                                   wire_view(NULL, 0), wire_view(seed->b, sizeof seed->b),
                                   ephemeral);
}

static void draw_key(fre_hpke_sk *sk, fre_rng *r)
{
    fre_rng_bytes(r, sk->b, sizeof sk->b);
}

fre_status fre_seed_seal(fre_sealed_seed *out, const fre_wire *w, const fre_tag *tag,
                         const fre_report_id *id, const fre_share_seed *seed, fre_rng *r)
{
    fre_hpke_sk ephemeral;
    fre_status st;

    if (!r)
        return FRE_E_ARG;
    draw_key(&ephemeral, r);
    st = fre_seed_seal_with(out, w, tag, id, seed, &ephemeral);
    fre_hpke_sk_wipe(&ephemeral);
    return st;
}

fre_status fre_seed_open(fre_share_seed *out, const fre_wire *w, const fre_hpke_keypair *key,
                         const fre_tag *tag, const fre_report_id *id, const fre_sealed_seed *sealed)
{
    uint8_t info[WIRE_INFO_MAX];

    if (!out || !w || !key || !tag || !id || !sealed)
        return FRE_E_ARG;
    return fre_hpke_open_once(out->b, w->c.aead, key, seed_info(info, w, tag, id),
                              wire_view(NULL, 0), wire_view(sealed->b, sizeof sealed->b));
}

void fre_seed_digest_of(fre_seed_digest *out, const fre_wire *w, const fre_sealed_seed *seed)
{
    uint8_t info[WIRE_INFO_MAX], hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state h;
    fre_bytes first;

    if (!out || !w || !seed)
        return;
    first = plain_info(info, w, digest_label);
    (void)crypto_hash_sha256_init(&h);
    (void)crypto_hash_sha256_update(&h, first.p, first.n);
    (void)crypto_hash_sha256_update(&h, seed->b, sizeof seed->b);
    (void)crypto_hash_sha256_final(&h, hash);
    memcpy(out->b, hash, sizeof out->b);
}

/* ---- reports and shares ------------------------------------------------------------------------ */

static const char *label_of(fre_wire_type type)
{
    return type == FRE_WIRE_REPORT ? report_label : share_label;
}

/* to = from, or stays as it is: the same steps for both. */
static void copy_unless(uint8_t *to, const void *from, size_t n, uint8_t keep)
{
    const uint8_t *b = from;

    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)((to[i] & keep) | (b[i] & ~keep));
}

/* share: kind (1)  then as a report: id (16)  tag (32)  [sealed seed (64)  packed share]
 * That a share is null shows what the client holds, so random bytes are drawn for every share and
 * the message is then laid over them, or not. */
static void write_plain(uint8_t *p, size_t n, const fre_wire *w, fre_wire_type type,
                        const fre_contribution *m, fre_rng *r)
{
    const uint8_t keep = (uint8_t)(0u - (unsigned)m->null); /* all ones for null */

    if (type == FRE_WIRE_SHARE) {
        *p++ = (uint8_t)(1 & ~keep);
        fre_rng_bytes(r, p, n - 1);
    }
    copy_unless(p, m->id.b, sizeof m->id.b, keep);
    p += sizeof m->id.b;
    copy_unless(p, m->tag.b, sizeof m->tag.b, keep);
    p += sizeof m->tag.b;
    if (!wire_has_share(w, type))
        return;
    copy_unless(p, m->seed.b, sizeof m->seed.b, keep);
    copy_unless(p + sizeof m->seed.b, m->packed.p, m->packed.n, keep);
}

/* Of whatever stands where a seed stands, random bytes included. */
static void digest_plain(fre_seed_digest *out, const fre_wire *w, fre_wire_type type,
                         const uint8_t *plain)
{
    fre_sealed_seed seed;
    const size_t at = sizeof(fre_report_id) + sizeof(fre_tag) + (type == FRE_WIRE_SHARE ? 1 : 0);

    memcpy(seed.b, plain + at, sizeof seed.b);
    fre_seed_digest_of(out, w, &seed);
}

/* Where there is a packed share, nothing is asked about null. */
static bool fits(const fre_wire *w, fre_wire_type type, const fre_contribution *m, const fre_rng *r)
{
    if (type == FRE_WIRE_SHARE)
        return r && (m->packed.n == fre_wire_share_bytes(w) || (m->packed.n == 0 && m->null));
    return !m->null && (!wire_has_share(w, type) || m->packed.n == fre_wire_share_bytes(w));
}

fre_status fre_contribution_seal_with(fre_buf *out, const fre_wire *w, fre_wire_type type,
                                      const fre_contribution *m, const fre_hpke_sk *ephemeral,
                                      fre_rng *r)
{
    uint8_t head[FRE_WIRE_HEAD_BYTES], info[WIRE_INFO_MAX], *plain = NULL, *sealed = NULL;
    fre_seed_digest digest;
    size_t n;
    wire_out o = wire_open(out);

    if (!out || !w || !m || !ephemeral || (type != FRE_WIRE_REPORT && type != FRE_WIRE_SHARE))
        return FRE_E_ARG;
    n = wire_plain_bytes(w, type);
    if (n == 0)
        return FRE_E_STATE;
    if (!fits(w, type, m, r))
        return FRE_E_ARG;
    plain = malloc(n);
    sealed = malloc(n + FRE_HPKE_OVERHEAD);
    if (!plain || !sealed) {
        wire_fail(&o, FRE_E_NOMEM);
        goto out;
    }
    write_plain(plain, n, w, type, m, r);
    wire_head(head, w, type);
    wire_fail(&o, fre_hpke_seal_once_with(
                      sealed, w->c.aead, &w->c.syn_seal, plain_info(info, w, label_of(type)),
                      wire_view(head, sizeof head), wire_view(plain, n), ephemeral));
    wire_put(&o, head, sizeof head);
    if (wire_has_share(w, type)) {
        digest_plain(&digest, w, type, plain);
        wire_put(&o, digest.b, sizeof digest.b);
    }
    if (o.st == FRE_OK)
        wire_put(&o, sealed, n + FRE_HPKE_OVERHEAD);
out:
    fre_wipe_free(plain, n);
    free(sealed);
    return wire_close(&o);
}

fre_status fre_contribution_seal(fre_buf *out, const fre_wire *w, fre_wire_type type,
                                 const fre_contribution *m, fre_rng *r)
{
    fre_hpke_sk ephemeral;
    fre_status st;

    if (!r)
        return FRE_E_ARG;
    draw_key(&ephemeral, r);
    st = fre_contribution_seal_with(out, w, type, m, &ephemeral, r);
    fre_hpke_sk_wipe(&ephemeral);
    return st;
}

fre_status fre_contribution_split(fre_bytes *sealed, fre_seed_digest *digest, const fre_wire *w,
                                  fre_wire_type type, fre_bytes in, fre_err *err)
{
    fre_seed_digest m = {{0}};
    const uint8_t *p;
    size_t n;
    wire_in body;
    fre_status st;

    if (!sealed || !w || (type != FRE_WIRE_REPORT && type != FRE_WIRE_SHARE))
        return FRE_E_ARG;
    n = fre_wire_sealed_bytes(w, type);
    if (n == 0)
        return fre_fail(err, FRE_E_STATE, "%s: its size is not known yet", wire_name(type));
    if ((st = wire_begin(&body, w, type, in, err)) != FRE_OK)
        return st;
    if (wire_has_share(w, type))
        wire_copy(&body, m.b, sizeof m.b, "digest");
    p = wire_bytes(&body, n, "sealed");
    st = wire_end(&body, wire_name(type), err);
    if (st != FRE_OK)
        return st;
    *sealed = wire_view(p, n);
    if (digest)
        *digest = m;
    return FRE_OK;
}

fre_status wire_plain_decode(fre_contribution *out, const fre_wire *w, fre_wire_type type,
                             fre_bytes plain, fre_err *err)
{
    fre_contribution m = {.null = false};
    wire_in in = {.left = plain, .bad = NULL};
    size_t share = fre_wire_share_bytes(w);
    fre_status st;

    if (type == FRE_WIRE_SHARE) {
        unsigned kind = (unsigned)wire_uint(&in, 1, "kind");

        wire_require(&in, kind <= 1, "kind");
        m.null = kind == 0;
    }
    if (m.null) {
        /* Random bytes in place of the rest: their number is all that is checked. */
        (void)wire_bytes(&in, sizeof m.id.b + sizeof m.tag.b + sizeof m.seed.b + share, "padding");
    } else {
        wire_copy(&in, m.id.b, sizeof m.id.b, "id");
        wire_copy(&in, m.tag.b, sizeof m.tag.b, "tag");
        if (wire_has_share(w, type)) {
            wire_copy(&in, m.seed.b, sizeof m.seed.b, "seed");
            m.packed = wire_view(wire_bytes(&in, share, "packed share"), share);
        }
    }
    st = wire_end(&in, wire_name(type), err);
    if (st == FRE_OK)
        *out = m;
    return st;
}

fre_status fre_contribution_open(fre_contribution *out, fre_buf *plain, const fre_wire *w,
                                 fre_wire_type type, const fre_hpke_keypair *key, fre_bytes sealed,
                                 fre_err *err)
{
    uint8_t head[FRE_WIRE_HEAD_BYTES], info[WIRE_INFO_MAX], *opened;
    size_t n;
    fre_status st;

    if (!out || !plain || !w || !key || (type != FRE_WIRE_REPORT && type != FRE_WIRE_SHARE))
        return FRE_E_ARG;
    n = wire_plain_bytes(w, type);
    if (n == 0)
        return fre_fail(err, FRE_E_STATE, "%s: its size is not known yet", wire_name(type));
    if (sealed.n != n + FRE_HPKE_OVERHEAD)
        return fre_fail(err, FRE_E_DATA, "%s: it has %zu bytes, not the %zu of its collection",
                        wire_name(type), sealed.n, n + FRE_HPKE_OVERHEAD);
    opened = malloc(n);
    if (!opened)
        return FRE_E_NOMEM;
    wire_head(head, w, type);
    st = fre_hpke_open_once(opened, w->c.aead, key, plain_info(info, w, label_of(type)),
                            wire_view(head, sizeof head), sealed);
    if (st == FRE_E_REFUSED)
        st = fre_fail(err, st, "%s: it is not sealed to this key under this collection",
                      wire_name(type));
    if (st == FRE_OK) {
        fre_buf_wipe(plain);
        st = fre_buf_append(plain, opened, n);
    }
    if (st == FRE_OK)
        st = wire_plain_decode(out, w, type, wire_view(plain->p, plain->n), err);
    fre_wipe_free(opened, n);
    return st;
}
