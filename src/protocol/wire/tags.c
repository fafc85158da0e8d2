/* tags.c - tag requests and responses, and the Oblivious HTTP around them. */
#include "wire_private.h"

/* ---- elements ----------------------------------------------------------------------------------
 * number of elements (2)  elements (32 each)  [proof (64)] */

static void put_elements(wire_out *o, const fre_wire *w, const fre_oprf_element *e)
{
    wire_put_uint(o, w->c.cells_per_user, 2);
    for (uint32_t i = 0; i < w->c.cells_per_user; i++)
        wire_put(o, e[i].b, sizeof e[i].b);
}

/* The caller copies them out only once the whole message has been checked. */
static fre_bytes read_elements(wire_in *in, const fre_wire *w)
{
    uint32_t n = (uint32_t)wire_uint(in, 2, "elements");
    fre_bytes raw;

    wire_require(in, n == w->c.cells_per_user, "elements");
    raw = wire_items(in, n, FRE_OPRF_ELEMENT_BYTES, "elements");
    for (uint32_t i = 0; !in->bad && i < n; i++) {
        fre_oprf_element e;

        wire_require(in,
                     fre_oprf_element_decode(&e, wire_view(raw.p + i * FRE_OPRF_ELEMENT_BYTES,
                                                           FRE_OPRF_ELEMENT_BYTES)) == FRE_OK,
                     "elements");
    }
    return raw;
}

static void copy_elements(fre_oprf_element *out, const fre_wire *w, fre_bytes raw)
{
    for (uint32_t i = 0; i < w->c.cells_per_user; i++)
        memcpy(out[i].b, raw.p + i * FRE_OPRF_ELEMENT_BYTES, FRE_OPRF_ELEMENT_BYTES);
}

fre_status fre_tag_request_encode(fre_buf *out, const fre_wire *w, const fre_oprf_element *blinded)
{
    wire_out o = wire_open(out);

    if (!w || !blinded)
        return FRE_E_ARG;
    wire_put_head(&o, w, FRE_WIRE_TAG_REQUEST);
    put_elements(&o, w, blinded);
    return wire_close(&o);
}

fre_status fre_tag_request_decode(fre_oprf_element *blinded, const fre_wire *w, fre_bytes in,
                                  fre_err *err)
{
    wire_in body;
    fre_bytes raw;
    fre_status st;

    if (!blinded || !w)
        return FRE_E_ARG;
    if ((st = wire_begin(&body, w, FRE_WIRE_TAG_REQUEST, in, err)) != FRE_OK)
        return st;
    raw = read_elements(&body, w);
    st = wire_end(&body, wire_name(FRE_WIRE_TAG_REQUEST), err);
    if (st == FRE_OK)
        copy_elements(blinded, w, raw);
    return st;
}

fre_status fre_tag_response_encode(fre_buf *out, const fre_wire *w,
                                   const fre_oprf_element *evaluated, const fre_oprf_proof *proof)
{
    wire_out o = wire_open(out);

    if (!w || !evaluated || !proof)
        return FRE_E_ARG;
    wire_put_head(&o, w, FRE_WIRE_TAG_RESPONSE);
    put_elements(&o, w, evaluated);
    wire_put(&o, proof->b, sizeof proof->b);
    return wire_close(&o);
}

fre_status fre_tag_response_decode(fre_oprf_element *evaluated, fre_oprf_proof *proof,
                                   const fre_wire *w, fre_bytes in, fre_err *err)
{
    const uint8_t *p;
    fre_oprf_proof found;
    wire_in body;
    fre_bytes raw;
    fre_status st;

    if (!evaluated || !proof || !w)
        return FRE_E_ARG;
    if ((st = wire_begin(&body, w, FRE_WIRE_TAG_RESPONSE, in, err)) != FRE_OK)
        return st;
    raw = read_elements(&body, w);
    p = wire_bytes(&body, FRE_OPRF_PROOF_BYTES, "proof");
    wire_require(&body,
                 p && fre_oprf_proof_decode(&found, wire_view(p, FRE_OPRF_PROOF_BYTES)) == FRE_OK,
                 "proof");
    st = wire_end(&body, wire_name(FRE_WIRE_TAG_RESPONSE), err);
    if (st == FRE_OK) {
        copy_elements(evaluated, w, raw);
        *proof = found;
    }
    return st;
}

/* ---- Oblivious HTTP ---------------------------------------------------------------------------- */

#define TAGS_PATH "/tags"

static fre_bytes text(const char *s)
{
    return wire_view(s, strlen(s));
}

/* A variable-length integer of RFC 9000, as long as it has to be for n. */
static size_t varint_bytes(size_t n)
{
    return n < 64 ? 1 : n < 16384 ? 2 : 4;
}

static size_t request_message_bytes(const fre_wire *w)
{
    return FRE_WIRE_HEAD_BYTES + 2 + (size_t)FRE_OPRF_ELEMENT_BYTES * w->c.cells_per_user;
}

/* Framing (1), method, scheme, authority, path with their lengths (1 each), no fields (1), content
 * with its length. */
static size_t request_bytes(const fre_wire *w)
{
    size_t n = request_message_bytes(w);

    return 1 + (1 + 4) + (1 + 5) + 1 + (1 + strlen(TAGS_PATH)) + 1 + varint_bytes(n) + n;
}

/* Framing (1), status (2), no fields (1), content. */
static size_t response_bytes(const fre_wire *w)
{
    size_t n = request_message_bytes(w) + FRE_OPRF_PROOF_BYTES;

    return 1 + 2 + 1 + varint_bytes(n) + n;
}

fre_status fre_exchange_ask_with(fre_ohttp_exchange *x, fre_buf *out, const fre_wire *w,
                                 fre_bytes message, const fre_hpke_sk *ephemeral)
{
    fre_bhttp request = {.kind = FRE_BHTTP_REQUEST,
                         .method = text("POST"),
                         .scheme = text("https"),
                         .path = text(TAGS_PATH),
                         .content = message};
    fre_ohttp_config config;
    fre_buf plain;
    fre_status st;

    if (!x || !out || !w || !ephemeral || message.n > request_message_bytes(w))
        return FRE_E_ARG;
    fre_collection_ohttp_config(&config, &w->c);
    fre_buf_init(&plain, FRE_BHTTP_MESSAGE_MAX);
    st = fre_bhttp_encode(&plain, &request, request_bytes(w));
    if (st == FRE_OK)
        st = fre_ohttp_request_seal_with(x, out, &config, w->c.aead, wire_view(plain.p, plain.n),
                                         ephemeral);
    fre_buf_wipe(&plain);
    return st;
}

fre_status fre_exchange_ask(fre_ohttp_exchange *x, fre_buf *out, const fre_wire *w,
                            fre_bytes message, fre_rng *r)
{
    fre_hpke_sk ephemeral;
    fre_status st;

    if (!r)
        return FRE_E_ARG;
    fre_rng_bytes(r, ephemeral.b, sizeof ephemeral.b);
    st = fre_exchange_ask_with(x, out, w, message, &ephemeral);
    fre_hpke_sk_wipe(&ephemeral);
    return st;
}

static bool same(fre_bytes b, const char *s)
{
    return b.n == strlen(s) && memcmp(b.p, s, b.n) == 0;
}

/* Fields would tell clients apart, so there are none. */
static bool request_is_ours(const fre_bhttp *m)
{
    return same(m->method, "POST") && same(m->path, TAGS_PATH) && m->header.n == 0 &&
           m->trailer.n == 0;
}

fre_status fre_exchange_open(fre_ohttp_exchange *x, fre_buf *out, const fre_wire *w,
                             const fre_hpke_keypair *key, fre_bytes in, fre_err *err)
{
    fre_ohttp_exchange opened;
    fre_ohttp_key k;
    fre_bhttp m;
    fre_buf plain;
    fre_status st;

    if (!x || !out || !w || !key)
        return FRE_E_ARG;
    if (in.n != request_bytes(w) + FRE_OHTTP_REQUEST_OVERHEAD)
        return fre_fail(err, FRE_E_DATA, "tag request: it has another size than its collection's");
    k.pair = *key;
    fre_collection_ohttp_config(&k.config, &w->c);
    fre_buf_init(&plain, FRE_BHTTP_MESSAGE_MAX);
    st = fre_ohttp_request_open(&opened, &plain, &k, 1, in);
    fre_ohttp_key_wipe(&k);
    if (st != FRE_OK) {
        st = fre_fail(err, st == FRE_E_KEY ? FRE_E_REFUSED : st,
                      "tag request: it is not sealed to the key that the collection names");
        goto out;
    }
    st = fre_bhttp_decode(&m, FRE_BHTTP_REQUEST, wire_view(plain.p, plain.n));
    if (st == FRE_OK) {
        st = request_is_ours(&m) ? fre_buf_append(out, m.content.p, m.content.n) : FRE_E_DATA;
        fre_bhttp_wipe(&m);
    }
    if (st == FRE_OK)
        *x = opened;
    else
        st = fre_fail(err, st,
                      "tag request: the HTTP request in it is not POST /tags without "
                      "fields");
    fre_ohttp_exchange_wipe(&opened);
out:
    fre_buf_wipe(&plain);
    return st;
}

fre_status fre_exchange_answer_with(const fre_ohttp_exchange *x, fre_buf *out, const fre_wire *w,
                                    fre_bytes message, fre_bytes nonce)
{
    fre_bhttp response = {.kind = FRE_BHTTP_RESPONSE, .status = 200, .content = message};
    fre_buf plain;
    fre_status st;

    if (!x || !out || !w)
        return FRE_E_ARG;
    fre_buf_init(&plain, FRE_BHTTP_MESSAGE_MAX);
    st = fre_bhttp_encode(&plain, &response, response_bytes(w));
    if (st == FRE_OK)
        st = fre_ohttp_response_seal_with(x, out, wire_view(plain.p, plain.n), nonce);
    fre_buf_wipe(&plain);
    return st;
}

fre_status fre_exchange_answer(const fre_ohttp_exchange *x, fre_buf *out, const fre_wire *w,
                               fre_bytes message, fre_rng *r)
{
    uint8_t nonce[FRE_OHTTP_NONCE_MAX];
    size_t n;

    if (!x || !r)
        return FRE_E_ARG;
    n = fre_ohttp_nonce_bytes(x);
    fre_rng_bytes(r, nonce, n);
    return fre_exchange_answer_with(x, out, w, message, wire_view(nonce, n));
}

fre_status fre_exchange_read(const fre_ohttp_exchange *x, fre_buf *out, const fre_wire *w,
                             fre_bytes in, fre_err *err)
{
    fre_bhttp m;
    fre_buf plain;
    fre_status st;

    if (!x || !out || !w)
        return FRE_E_ARG;
    if (in.n != fre_ohttp_nonce_bytes(x) + response_bytes(w) + FRE_HPKE_TAG_BYTES)
        return fre_fail(err, FRE_E_DATA, "tag response: it has another size than its collection's");
    fre_buf_init(&plain, FRE_BHTTP_MESSAGE_MAX);
    st = fre_ohttp_response_open(x, &plain, in);
    if (st != FRE_OK) {
        st = fre_fail(err, st, "tag response: it is not the answer to this request");
        goto out;
    }
    st = fre_bhttp_decode(&m, FRE_BHTTP_RESPONSE, wire_view(plain.p, plain.n));
    if (st == FRE_OK) {
        bool ours = m.status == 200 && m.header.n == 0 && m.trailer.n == 0;

        st = ours ? fre_buf_append(out, m.content.p, m.content.n) : FRE_E_DATA;
        fre_bhttp_wipe(&m);
    }
    if (st != FRE_OK)
        st = fre_fail(err, st, "tag response: the HTTP response in it is not a plain 200");
out:
    fre_buf_wipe(&plain);
    return st;
}
