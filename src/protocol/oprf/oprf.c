/* RFC 9497 sec. 3.2 and 3.3.2: keys, blinding, evaluation, the client's and the server's result. */
#include "oprf_private.h"

#include <sodium.h>
#include <string.h>

static fre_status check_input(fre_bytes input)
{
    if (!input.p && input.n > 0)
        return FRE_E_ARG;
    return input.n > FRE_OPRF_INPUT_MAX ? FRE_E_LIMIT : FRE_OK;
}

/* ---- keys -------------------------------------------------------------------------------- */

/* The key with the valid scalar k. */
static fre_status key_set(fre_oprf_key *out, const uint8_t k[FRE_OPRF_SCALAR_BYTES])
{
    fre_oprf_public pub;

    if (!fre_oprf_multiply_base(pub.b, k))
        return FRE_E_INTERNAL;
    FRE_DECLASSIFY(&pub, sizeof pub); /* public: it is the public key */
    memcpy(out->b, k, sizeof out->b);
    out->pub = pub;
    return FRE_OK;
}

fre_status fre_oprf_key_decode(fre_oprf_key *out, fre_bytes in)
{
    if (!out)
        return FRE_E_ARG;
    if (!in.p || in.n != FRE_OPRF_SCALAR_BYTES || !fre_oprf_scalar_is_valid(in.p))
        return FRE_E_DATA;
    return key_set(out, in.p);
}

fre_status fre_oprf_key_generate(fre_oprf_key *out, fre_rng *r)
{
    uint8_t k[FRE_OPRF_SCALAR_BYTES];
    fre_status st;

    if (!out || !r)
        return FRE_E_ARG;
    fre_oprf_scalar_draw(k, r);
    st = key_set(out, k);
    fre_wipe(k, sizeof k);
    return st;
}

fre_status fre_oprf_key_derive(fre_oprf_key *out, const uint8_t seed[FRE_OPRF_SEED_BYTES],
                               fre_bytes info)
{
    uint8_t k[FRE_OPRF_SCALAR_BYTES], info_length[2], counter = 0;
    const fre_bytes part[] = {{seed, FRE_OPRF_SEED_BYTES}, {info_length, 2}, info, {&counter, 1}};
    fre_status st = out && seed ? check_input(info) : FRE_E_ARG;

    if (st != FRE_OK)
        return st;
    fre_oprf_u16(info_length, info.n);
    /* A second round happens with probability 2^-252. */
    do {
        st = fre_oprf_hash_to_key(k, part, sizeof part / sizeof *part);
    } while (st == FRE_OK && !fre_oprf_scalar_is_valid(k) && ++counter != 0);
    if (st == FRE_OK)
        st = fre_oprf_scalar_is_valid(k) ? key_set(out, k) : FRE_E_INTERNAL;
    fre_wipe(k, sizeof k);
    return st;
}

/* ---- client ------------------------------------------------------------------------------ */

fre_status fre_oprf_blind_input_with(fre_oprf_element *blinded, fre_bytes input,
                                     const fre_oprf_blind *blind)
{
    uint8_t point[FRE_OPRF_ELEMENT_BYTES], out[FRE_OPRF_ELEMENT_BYTES];
    fre_status st;

    if (!blinded || !blind)
        return FRE_E_ARG;
    st = check_input(input);
    if (st != FRE_OK)
        return st;
    if (!fre_oprf_scalar_is_valid(blind->b))
        return FRE_E_ARG;
    st = fre_oprf_hash_to_group(point, input);
    if (st == FRE_OK && !fre_oprf_multiply(out, blind->b, point))
        st = FRE_E_INTERNAL;
    if (st == FRE_OK) {
        FRE_DECLASSIFY(out, sizeof out); /* public: it is the message */
        memcpy(blinded->b, out, sizeof blinded->b);
    }
    fre_wipe(point, sizeof point);
    return st;
}

void fre_oprf_blind_draw(fre_oprf_blind *blind, fre_rng *r)
{
    fre_oprf_scalar_draw(blind->b, r);
}

fre_status fre_oprf_blind_input(fre_oprf_blind *blind, fre_oprf_element *blinded, fre_bytes input,
                                fre_rng *r)
{
    fre_oprf_blind drawn;
    fre_status st;

    if (!blind || !r)
        return FRE_E_ARG;
    fre_oprf_scalar_draw(drawn.b, r);
    st = fre_oprf_blind_input_with(blinded, input, &drawn);
    if (st == FRE_OK)
        *blind = drawn;
    fre_oprf_blind_wipe(&drawn);
    return st;
}

/* SHA-512(len(input) || input || len(element) || element || "Finalize"). */
static void hash_result(fre_oprf_output *out, fre_bytes input,
                        const uint8_t element[FRE_OPRF_ELEMENT_BYTES])
{
    static const uint8_t element_length[2] = {0, FRE_OPRF_ELEMENT_BYTES};
    uint8_t input_length[2];
    const fre_bytes part[] = {{input_length, 2},
                              input,
                              {element_length, 2},
                              {element, FRE_OPRF_ELEMENT_BYTES},
                              {(const uint8_t *)"Finalize", 8}};

    fre_oprf_u16(input_length, input.n);
    fre_oprf_sha512(out->b, part, sizeof part / sizeof *part);
}

/* F = hash(input, r^-1 evaluated). */
static fre_status unblind(fre_oprf_output *out, fre_bytes input, const fre_oprf_blind *blind,
                          const fre_oprf_element *evaluated)
{
    uint8_t inverse[FRE_OPRF_SCALAR_BYTES], point[FRE_OPRF_ELEMENT_BYTES];
    fre_status st = FRE_E_INTERNAL;

    /* Its verdict says whether the blind is 0, which the caller has excluded. */
    (void)crypto_core_ristretto255_scalar_invert(inverse, blind->b);
    if (fre_oprf_multiply(point, inverse, evaluated->b)) {
        hash_result(out, input, point);
        st = FRE_OK;
    }
    fre_wipe(inverse, sizeof inverse);
    fre_wipe(point, sizeof point);
    return st;
}

fre_status fre_oprf_finalize(fre_oprf_output *out, const fre_oprf_public *pk,
                             const fre_oprf_request *sent, const fre_oprf_element *evaluated,
                             size_t n_evaluated, const fre_oprf_proof *proof)
{
    fre_oprf_output results[FRE_OPRF_BATCH_MAX];
    fre_status st;

    if (!out || !sent || !sent->input || !sent->blind)
        return FRE_E_ARG;
    st = fre_oprf_check_batch(sent->n);
    for (size_t i = 0; i < sent->n && st == FRE_OK; i++) {
        st = check_input(sent->input[i]);
        if (st == FRE_OK && !fre_oprf_scalar_is_valid(sent->blind[i].b))
            st = FRE_E_ARG;
    }
    if (st == FRE_OK)
        st = fre_oprf_verify(pk, sent->blinded, sent->n, evaluated, n_evaluated, proof);
    if (st != FRE_OK)
        return st;
    for (size_t i = 0; i < sent->n && st == FRE_OK; i++)
        st = unblind(&results[i], sent->input[i], &sent->blind[i], &evaluated[i]);
    if (st == FRE_OK)
        memcpy(out, results, sent->n * sizeof *out);
    fre_wipe(results, sent->n * sizeof *results);
    return st;
}

/* ---- server ------------------------------------------------------------------------------ */

fre_status fre_oprf_evaluate_elements(fre_oprf_element *evaluated, const fre_oprf_key *key,
                                      const fre_oprf_element *blinded, size_t n)
{
    fre_oprf_element out[FRE_OPRF_BATCH_MAX];
    fre_status st;

    if (!evaluated || !key || !blinded)
        return FRE_E_ARG;
    st = fre_oprf_check_batch(n);
    if (st != FRE_OK)
        return st;
    if (!fre_oprf_scalar_is_valid(key->b))
        return FRE_E_ARG;
    for (size_t i = 0; i < n; i++) {
        if (!fre_oprf_element_is_canonical(blinded[i].b) ||
            !fre_oprf_multiply(out[i].b, key->b, blinded[i].b))
            st = FRE_E_DATA;
        if (st != FRE_OK)
            break;
    }
    if (st == FRE_OK) {
        FRE_DECLASSIFY(out, n * sizeof *out); /* public: the message */
        memcpy(evaluated, out, n * sizeof *out);
    }
    /* What was computed for a refused batch is never sent, and so not left behind. */
    if (st != FRE_OK)
        fre_wipe(out, n * sizeof *out);
    return st;
}

fre_status fre_oprf_blind_evaluate(fre_oprf_element *evaluated, fre_oprf_proof *proof,
                                   const fre_oprf_key *key, const fre_oprf_element *blinded,
                                   size_t n, fre_rng *r)
{
    fre_oprf_element out[FRE_OPRF_BATCH_MAX];
    fre_status st;

    if (!evaluated || !proof || !r)
        return FRE_E_ARG;
    st = fre_oprf_evaluate_elements(out, key, blinded, n);
    if (st == FRE_OK)
        st = fre_oprf_prove(proof, key, blinded, out, n, r);
    if (st == FRE_OK)
        memcpy(evaluated, out, n * sizeof *out);
    return st;
}

fre_status fre_oprf_evaluate(fre_oprf_output *out, const fre_oprf_key *key, fre_bytes input)
{
    uint8_t point[FRE_OPRF_ELEMENT_BYTES], result[FRE_OPRF_ELEMENT_BYTES];
    fre_status st;

    if (!out || !key)
        return FRE_E_ARG;
    st = check_input(input);
    if (st != FRE_OK)
        return st;
    if (!fre_oprf_scalar_is_valid(key->b))
        return FRE_E_ARG;
    st = fre_oprf_hash_to_group(point, input);
    if (st == FRE_OK && !fre_oprf_multiply(result, key->b, point))
        st = FRE_E_INTERNAL;
    if (st == FRE_OK)
        hash_result(out, input, result);
    fre_wipe(point, sizeof point);
    fre_wipe(result, sizeof result);
    return st;
}
