/* issue.c - requests to the issuer, and what a client and its relay say to each other. */
#include "wire_private.h"

/* ---- issue request:  credentials (1 + n, then zeros up to their most)  elements ---------------- */

static const uint8_t zeros[FRE_WIRE_CREDENTIALS_MAX];

fre_status fre_issue_request_encode(fre_buf *out, const fre_wire *w, fre_bytes credentials,
                                    const fre_oprf_element *blinded)
{
    fre_out o = fre_out_begin(out);

    if (!w || !blinded || credentials.n > FRE_WIRE_CREDENTIALS_MAX ||
        (credentials.n > 0 && !credentials.p))
        return FRE_E_ARG;
    wire_put_head(&o, w, FRE_WIRE_ISSUE_REQUEST);
    fre_out_uint(&o, credentials.n, 1);
    fre_out_put(&o, credentials.p, credentials.n);
    fre_out_put(&o, zeros, FRE_WIRE_CREDENTIALS_MAX - credentials.n);
    wire_put_elements(&o, w, blinded);
    return wire_close(&o);
}

fre_status fre_issue_request_decode(fre_bytes *credentials, fre_oprf_element *blinded,
                                    const fre_wire *w, fre_bytes in, fre_err *err)
{
    const uint8_t *p;
    size_t n;
    fre_in body;
    fre_bytes raw;
    fre_status st;

    if (!credentials || !blinded || !w)
        return FRE_E_ARG;
    if ((st = wire_begin(&body, w, FRE_WIRE_ISSUE_REQUEST, in, err)) != FRE_OK)
        return st;
    n = (size_t)fre_in_uint(&body, 1, "credentials");
    p = fre_in_take(&body, FRE_WIRE_CREDENTIALS_MAX, "credentials");
    fre_in_require(&body,
                   p && n <= FRE_WIRE_CREDENTIALS_MAX &&
                       memcmp(p + n, zeros, FRE_WIRE_CREDENTIALS_MAX - n) == 0,
                   "credentials");
    raw = wire_read_elements(&body, w);
    st = wire_end(&body, wire_name(FRE_WIRE_ISSUE_REQUEST), err);
    if (st == FRE_OK) {
        *credentials = wire_view(p, n);
        wire_copy_elements(blinded, w, raw);
    }
    return st;
}

fre_status fre_issue_response_encode(fre_buf *out, const fre_wire *w,
                                     const fre_oprf_element *evaluated, const fre_oprf_proof *proof)
{
    fre_out o = fre_out_begin(out);

    if (!w || !evaluated || !proof)
        return FRE_E_ARG;
    wire_put_head(&o, w, FRE_WIRE_ISSUE_RESPONSE);
    wire_put_answer(&o, w, evaluated, proof);
    return wire_close(&o);
}

fre_status fre_issue_response_decode(fre_oprf_element *evaluated, fre_oprf_proof *proof,
                                     const fre_wire *w, fre_bytes in, fre_err *err)
{
    if (!evaluated || !proof || !w)
        return FRE_E_ARG;
    return wire_read_answer(evaluated, proof, w, FRE_WIRE_ISSUE_RESPONSE, in, err);
}

/* ---- carry:  what (1)  token (32)  bytes, of the size of their kind ----------------------------- */

static size_t carried_bytes(const fre_wire *w, unsigned what)
{
    const size_t entry = fre_entry_sealed_bytes(w, (fre_wire_type)what);

    if (entry > 0)
        return FRE_WIRE_HEAD_BYTES + entry;
    return fre_exchange_request_bytes(w, (fre_wire_type)what);
}

fre_status fre_carry_encode(fre_buf *out, const fre_wire *w, const fre_carry *m)
{
    fre_out o = fre_out_begin(out);

    if (!w || !m || m->bytes.n == 0 || m->bytes.n != carried_bytes(w, (unsigned)m->what))
        return FRE_E_ARG;
    wire_reserve(&o, FRE_WIRE_HEAD_BYTES + 1 + sizeof m->token.b + m->bytes.n);
    wire_put_head(&o, w, FRE_WIRE_CARRY);
    fre_out_uint(&o, (uint64_t)m->what, 1);
    fre_out_put(&o, m->token.b, sizeof m->token.b);
    fre_out_put(&o, m->bytes.p, m->bytes.n);
    return wire_close(&o);
}

fre_status fre_carry_decode(fre_carry *out, const fre_wire *w, fre_bytes in, fre_err *err)
{
    fre_carry m;
    unsigned what;
    size_t n;
    fre_in body;
    fre_status st;

    if (!out || !w)
        return FRE_E_ARG;
    if ((st = wire_begin(&body, w, FRE_WIRE_CARRY, in, err)) != FRE_OK)
        return st;
    what = (unsigned)fre_in_uint(&body, 1, "what");
    n = carried_bytes(w, what);
    fre_in_require(&body, n > 0, "what");
    m.what = (fre_wire_type)what;
    fre_in_copy(&body, m.token.b, sizeof m.token.b, "token");
    fre_in_require(
        &body, what != FRE_WIRE_ISSUE_REQUEST || memcmp(m.token.b, zeros, sizeof m.token.b) == 0,
        "token");
    m.bytes = wire_items(&body, 1, n, "bytes");
    st = wire_end(&body, wire_name(FRE_WIRE_CARRY), err);
    if (st == FRE_OK)
        *out = m;
    return st;
}

/* ---- admitted:  token (32)  answer ---------------------------------------------------------------- */

fre_status fre_admitted_encode(fre_buf *out, const fre_wire *w, const fre_admitted *m)
{
    fre_out o = fre_out_begin(out);

    if (!w || !m || m->answer.n != fre_exchange_answer_bytes(w))
        return FRE_E_ARG;
    wire_put_head(&o, w, FRE_WIRE_ADMITTED);
    fre_out_put(&o, m->token.b, sizeof m->token.b);
    fre_out_put(&o, m->answer.p, m->answer.n);
    return wire_close(&o);
}

fre_status fre_admitted_decode(fre_admitted *out, const fre_wire *w, fre_bytes in, fre_err *err)
{
    fre_admitted m;
    fre_in body;
    fre_status st;

    if (!out || !w)
        return FRE_E_ARG;
    if ((st = wire_begin(&body, w, FRE_WIRE_ADMITTED, in, err)) != FRE_OK)
        return st;
    fre_in_copy(&body, m.token.b, sizeof m.token.b, "token");
    m.answer = wire_items(&body, 1, fre_exchange_answer_bytes(w), "answer");
    st = wire_end(&body, wire_name(FRE_WIRE_ADMITTED), err);
    if (st == FRE_OK)
        *out = m;
    return st;
}
