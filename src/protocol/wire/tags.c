/* tags.c - tag requests and responses, and what they share with those to the issuer. */
#include "wire_private.h"

/* ---- elements ----------------------------------------------------------------------------------
 * number of elements (2)  elements (32 each)  [proof (64)] */

void wire_put_elements(fre_out *o, const fre_wire *w, const fre_oprf_element *e)
{
    fre_out_uint(o, w->c.cells_per_user, 2);
    for (uint32_t i = 0; i < w->c.cells_per_user; i++)
        fre_out_put(o, e[i].b, sizeof e[i].b);
}

/* The caller copies them out only once the whole message has been checked. */
fre_bytes wire_read_elements(fre_in *in, const fre_wire *w)
{
    uint32_t n = (uint32_t)fre_in_uint(in, 2, "elements");
    fre_bytes raw;

    fre_in_require(in, n == w->c.cells_per_user, "elements");
    raw = wire_items(in, n, FRE_OPRF_ELEMENT_BYTES, "elements");
    for (uint32_t i = 0; !in->bad && i < n; i++) {
        fre_oprf_element e;

        fre_in_require(in,
                       fre_oprf_element_decode(&e, wire_view(raw.p + i * FRE_OPRF_ELEMENT_BYTES,
                                                             FRE_OPRF_ELEMENT_BYTES)) == FRE_OK,
                       "elements");
    }
    return raw;
}

void wire_copy_elements(fre_oprf_element *out, const fre_wire *w, fre_bytes raw)
{
    for (uint32_t i = 0; i < w->c.cells_per_user; i++)
        memcpy(out[i].b, raw.p + i * FRE_OPRF_ELEMENT_BYTES, FRE_OPRF_ELEMENT_BYTES);
}

fre_status fre_tag_request_encode(fre_buf *out, const fre_wire *w, const fre_oprf_element *blinded)
{
    fre_out o = fre_out_begin(out);

    if (!w || !blinded)
        return FRE_E_ARG;
    wire_put_head(&o, w, FRE_WIRE_TAG_REQUEST);
    wire_put_elements(&o, w, blinded);
    return wire_close(&o);
}

fre_status fre_tag_request_decode(fre_oprf_element *blinded, const fre_wire *w, fre_bytes in,
                                  fre_err *err)
{
    fre_in body;
    fre_bytes raw;
    fre_status st;

    if (!blinded || !w)
        return FRE_E_ARG;
    if ((st = wire_begin(&body, w, FRE_WIRE_TAG_REQUEST, in, err)) != FRE_OK)
        return st;
    raw = wire_read_elements(&body, w);
    st = wire_end(&body, wire_name(FRE_WIRE_TAG_REQUEST), err);
    if (st == FRE_OK)
        wire_copy_elements(blinded, w, raw);
    return st;
}

void wire_put_answer(fre_out *o, const fre_wire *w, const fre_oprf_element *evaluated,
                     const fre_oprf_proof *proof)
{
    wire_put_elements(o, w, evaluated);
    fre_out_put(o, proof->b, sizeof proof->b);
}

fre_status wire_read_answer(fre_oprf_element *evaluated, fre_oprf_proof *proof, const fre_wire *w,
                            fre_wire_type type, fre_bytes in, fre_err *err)
{
    const uint8_t *p;
    fre_oprf_proof found;
    fre_in body;
    fre_bytes raw;
    fre_status st = wire_begin(&body, w, type, in, err);

    if (st != FRE_OK)
        return st;
    raw = wire_read_elements(&body, w);
    p = fre_in_take(&body, FRE_OPRF_PROOF_BYTES, "proof");
    fre_in_require(&body,
                   p && fre_oprf_proof_decode(&found, wire_view(p, FRE_OPRF_PROOF_BYTES)) == FRE_OK,
                   "proof");
    st = wire_end(&body, wire_name(type), err);
    if (st == FRE_OK) {
        wire_copy_elements(evaluated, w, raw);
        *proof = found;
    }
    return st;
}

fre_status fre_tag_response_encode(fre_buf *out, const fre_wire *w,
                                   const fre_oprf_element *evaluated, const fre_oprf_proof *proof)
{
    fre_out o = fre_out_begin(out);

    if (!w || !evaluated || !proof)
        return FRE_E_ARG;
    wire_put_head(&o, w, FRE_WIRE_TAG_RESPONSE);
    wire_put_answer(&o, w, evaluated, proof);
    return wire_close(&o);
}

fre_status fre_tag_response_decode(fre_oprf_element *evaluated, fre_oprf_proof *proof,
                                   const fre_wire *w, fre_bytes in, fre_err *err)
{
    if (!evaluated || !proof || !w)
        return FRE_E_ARG;
    return wire_read_answer(evaluated, proof, w, FRE_WIRE_TAG_RESPONSE, in, err);
}
