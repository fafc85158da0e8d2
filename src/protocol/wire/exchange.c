/* exchange.c - a client's requests to S_tag and to the issuer, each in binary HTTP in Oblivious HTTP.
 * `ask` says which: FRE_WIRE_TAG_REQUEST or FRE_WIRE_ISSUE_REQUEST. */
#include "wire_private.h"

static bool is_request(fre_wire_type ask)
{
    return ask == FRE_WIRE_TAG_REQUEST || ask == FRE_WIRE_ISSUE_REQUEST;
}

static const char *path_of(fre_wire_type ask)
{
    return ask == FRE_WIRE_TAG_REQUEST ? "/tags" : "/issue";
}

static fre_bytes text(const char *s)
{
    return wire_view(s, strlen(s));
}

/* A variable-length integer of RFC 9000, as long as it has to be for n. */
static size_t varint_bytes(size_t n)
{
    return n < 64 ? 1 : n < 16384 ? 2 : 4;
}

static size_t elements_bytes(const fre_wire *w)
{
    return FRE_WIRE_HEAD_BYTES + 2 + (size_t)FRE_OPRF_ELEMENT_BYTES * w->c.cells_per_user;
}

static size_t request_message_bytes(const fre_wire *w, fre_wire_type ask)
{
    return elements_bytes(w) + (ask == FRE_WIRE_ISSUE_REQUEST ? 1 + FRE_WIRE_CREDENTIALS_MAX : 0);
}

/* Framing (1), method, scheme, authority, path with their lengths (1 each), no fields (1), content
 * with its length. */
static size_t request_bytes(const fre_wire *w, fre_wire_type ask)
{
    size_t n = request_message_bytes(w, ask);

    return 1 + (1 + 4) + (1 + 5) + 1 + (1 + strlen(path_of(ask))) + 1 + varint_bytes(n) + n;
}

/* Framing (1), status (2), no fields (1), content. */
static size_t response_bytes(const fre_wire *w)
{
    size_t n = elements_bytes(w) + FRE_OPRF_PROOF_BYTES;

    return 1 + 2 + 1 + varint_bytes(n) + n;
}

fre_status fre_exchange_ask_with(fre_ohttp_exchange *x, fre_buf *out, const fre_wire *w,
                                 fre_wire_type ask, fre_bytes message, const fre_hpke_sk *ephemeral)
{
    fre_bhttp request = {.kind = FRE_BHTTP_REQUEST,
                         .method = text("POST"),
                         .scheme = text("https"),
                         .path = text(path_of(ask)),
                         .content = message};
    fre_ohttp_config config;
    fre_buf plain;
    fre_status st;

    if (!x || !out || !w || !ephemeral || !is_request(ask) ||
        message.n > request_message_bytes(w, ask))
        return FRE_E_ARG;
    fre_collection_ohttp_config(&config, &w->c, ask);
    fre_buf_init(&plain, FRE_BHTTP_MESSAGE_MAX);
    st = fre_bhttp_encode(&plain, &request, request_bytes(w, ask));
    if (st == FRE_OK)
        st = fre_ohttp_request_seal_with(x, out, &config, w->c.aead, wire_view(plain.p, plain.n),
                                         ephemeral);
    fre_buf_wipe(&plain);
    return st;
}

fre_status fre_exchange_ask(fre_ohttp_exchange *x, fre_buf *out, const fre_wire *w,
                            fre_wire_type ask, fre_bytes message, fre_rng *r)
{
    fre_hpke_sk ephemeral;
    fre_status st;

    if (!r)
        return FRE_E_ARG;
    fre_rng_bytes(r, ephemeral.b, sizeof ephemeral.b);
    st = fre_exchange_ask_with(x, out, w, ask, message, &ephemeral);
    fre_hpke_sk_wipe(&ephemeral);
    return st;
}

static bool same(fre_bytes b, const char *s)
{
    return b.n == strlen(s) && memcmp(b.p, s, b.n) == 0;
}

/* Fields would tell clients apart, so there are none. */
static bool request_is_ours(const fre_bhttp *m, fre_wire_type ask)
{
    return same(m->method, "POST") && same(m->path, path_of(ask)) && m->header.n == 0 &&
           m->trailer.n == 0;
}

fre_status fre_exchange_open(fre_ohttp_exchange *x, fre_buf *out, const fre_wire *w,
                             fre_wire_type ask, const fre_hpke_keypair *key, fre_bytes in,
                             fre_err *err)
{
    fre_ohttp_exchange opened;
    fre_ohttp_key k;
    fre_bhttp m;
    fre_buf plain;
    fre_status st;

    if (!x || !out || !w || !key || !is_request(ask))
        return FRE_E_ARG;
    if (in.n != request_bytes(w, ask) + FRE_OHTTP_REQUEST_OVERHEAD)
        return fre_fail(err, FRE_E_DATA, "%s: it has another size than its collection's",
                        wire_name(ask));
    k.pair = *key;
    fre_collection_ohttp_config(&k.config, &w->c, ask);
    fre_buf_init(&plain, FRE_BHTTP_MESSAGE_MAX);
    st = fre_ohttp_request_open(&opened, &plain, &k, 1, in);
    fre_ohttp_key_wipe(&k);
    if (st != FRE_OK) {
        st = fre_fail(err, st == FRE_E_KEY ? FRE_E_REFUSED : st,
                      "%s: it is not sealed to the key that the collection names", wire_name(ask));
        goto out;
    }
    st = fre_bhttp_decode(&m, FRE_BHTTP_REQUEST, wire_view(plain.p, plain.n));
    if (st == FRE_OK) {
        st = request_is_ours(&m, ask) ? fre_buf_append(out, m.content.p, m.content.n) : FRE_E_DATA;
        fre_bhttp_wipe(&m);
    }
    if (st == FRE_OK)
        *x = opened;
    else
        st = fre_fail(err, st, "%s: the HTTP request in it is not POST %s without fields",
                      wire_name(ask), path_of(ask));
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
        return fre_fail(err, FRE_E_DATA, "response: it has another size than its collection's");
    fre_buf_init(&plain, FRE_BHTTP_MESSAGE_MAX);
    st = fre_ohttp_response_open(x, &plain, in);
    if (st != FRE_OK) {
        st = fre_fail(err, st, "response: it is not the answer to this request");
        goto out;
    }
    st = fre_bhttp_decode(&m, FRE_BHTTP_RESPONSE, wire_view(plain.p, plain.n));
    if (st == FRE_OK) {
        bool ours = m.status == 200 && m.header.n == 0 && m.trailer.n == 0;

        st = ours ? fre_buf_append(out, m.content.p, m.content.n) : FRE_E_DATA;
        fre_bhttp_wipe(&m);
    }
    if (st != FRE_OK)
        st = fre_fail(err, st, "response: the HTTP response in it is not a plain 200");
out:
    fre_buf_wipe(&plain);
    return st;
}

size_t fre_exchange_answer_bytes(const fre_wire *w)
{
    const size_t nonce = w->c.aead == FRE_HPKE_CHACHA20_POLY1305 ? 32 : 16;

    return nonce + response_bytes(w) + FRE_HPKE_TAG_BYTES;
}

size_t fre_exchange_request_bytes(const fre_wire *w, fre_wire_type ask)
{
    return is_request(ask) ? request_bytes(w, ask) + FRE_OHTTP_REQUEST_OVERHEAD : 0;
}
