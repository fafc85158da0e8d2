/* server/evaluate.c - a VOPRF key and the answers that it gives, for issuer and S_tag.
 *
 * Nonces come from a stream that the key itself seeds, labelled by the hash of the request: the same
 * request has the same answer, and no two requests share a nonce, whatever is rolled back. */
#include "evaluate.h"

#include <sodium.h>

fre_status server_key_take(server_key *k, fre_oprf_key *oprf, const fre_oprf_public *pub,
                           fre_err *err)
{
    if (!oprf)
        return FRE_OK;
    if (memcmp(oprf->pub.b, pub->b, sizeof pub->b) != 0)
        return fre_fail(err, FRE_E_KEY, "the VOPRF key is not the one that the collection names");
    k->key = sodium_malloc(sizeof *k->key);
    if (!k->key)
        return FRE_E_NOMEM;
    *k->key = *oprf;
    fre_oprf_key_wipe(oprf);
    return FRE_OK;
}

fre_status server_key_back(server_key *k, const uint8_t in[32], const fre_oprf_public *pub)
{
    fre_oprf_key key;
    fre_status st = fre_oprf_key_decode(&key, server_view(in, sizeof key.b));

    if (st != FRE_OK)
        return st == FRE_E_DATA ? FRE_E_KEY : st;
    st = server_key_take(k, &key, pub, NULL);
    fre_oprf_key_wipe(&key);
    return st;
}

void server_key_wipe(server_key *k)
{
    if (k->key) {
        fre_oprf_key_wipe(k->key);
        sodium_free(k->key);
    }
    k->key = NULL;
}

fre_status server_key_due(const server_key *k, fre_server *x, fre_reply *out, bool *due)
{
    fre_rejection why = server_exchange_rejected(x);

    if (why == FRE_ACCEPTED && x->phase > FRE_PHASE_TAKING)
        why = FRE_REJECTED_EXPIRED;
    if (why == FRE_ACCEPTED && !k->key)
        why = FRE_REJECTED_UNAVAILABLE;
    *due = why == FRE_ACCEPTED;
    return *due ? server_move(x, &out->rows, FRE_PHASE_TAKING) : server_reject(x, out, why);
}

static fre_status evaluate(fre_buf *out, const server_key *k, const fre_wire *w, fre_wire_type ask,
                           const fre_oprf_element *blinded, fre_rng *r)
{
    fre_oprf_element evaluated[FRE_COLLECTION_CELLS_MAX];
    fre_oprf_proof proof;
    fre_status st =
        fre_oprf_blind_evaluate(evaluated, &proof, k->key, blinded, w->c.cells_per_user, r);

    if (st != FRE_OK)
        return st;
    return ask == FRE_WIRE_ISSUE_REQUEST ? fre_issue_response_encode(out, w, evaluated, &proof)
                                         : fre_tag_response_encode(out, w, evaluated, &proof);
}

fre_status server_key_answer(fre_buf *out, const server_key *k, const fre_wire *w,
                             fre_wire_type ask, const fre_ohttp_exchange *x,
                             const fre_oprf_element *blinded, fre_bytes request)
{
    fre_buf message;
    fre_rng r;
    fre_status st =
        server_stream(&r, "server/answer", server_view(k->key->b, sizeof k->key->b), request);

    if (st != FRE_OK)
        return st;
    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    st = evaluate(&message, k, w, ask, blinded, &r);
    if (st == FRE_OK)
        st = fre_exchange_answer(x, out, w, server_buf_view(&message), &r);
    fre_buf_wipe(&message);
    fre_rng_wipe(&r);
    return st;
}
