/* The VOPRF's decoders: any bytes are refused, or are the one encoding of what libsodium knows as an
 * element or a reduced scalar; and no bytes at all pass as a proof. */
#include <fre/oprf.h>

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_element(fre_bytes in)
{
    fre_oprf_element e;
    fre_oprf_public pk;
    fre_status st = fre_oprf_element_decode(&e, in);

    if (st != fre_oprf_public_decode(&pk, in) || (st != FRE_OK && st != FRE_E_DATA))
        abort();
    if (st != FRE_OK)
        return;
    /* e + 0 = e goes through libsodium's own decoder and encoder. */
    {
        const uint8_t zero[FRE_OPRF_ELEMENT_BYTES] = {0};
        uint8_t again[FRE_OPRF_ELEMENT_BYTES];

        if (crypto_core_ristretto255_add(again, e.b, zero) != 0 ||
            memcmp(again, in.p, sizeof again) != 0 || memcmp(zero, in.p, sizeof zero) == 0 ||
            memcmp(pk.b, e.b, sizeof again) != 0)
            abort();
    }
}

static void check_scalar(fre_bytes in)
{
    uint8_t wide[64] = {0}, reduced[FRE_OPRF_SCALAR_BYTES];
    fre_oprf_blind blind;
    fre_oprf_key key;
    fre_status st = fre_oprf_blind_decode(&blind, in);

    if (st != fre_oprf_key_decode(&key, in) || (st != FRE_OK && st != FRE_E_DATA))
        abort();
    if (in.n != FRE_OPRF_SCALAR_BYTES)
        return;
    memcpy(wide, in.p, in.n);
    crypto_core_ristretto255_scalar_reduce(reduced, wide);
    /* Accepted exactly when reduction changes nothing and something is left. */
    if ((st == FRE_OK) != (memcmp(reduced, in.p, in.n) == 0 && !sodium_is_zero(in.p, in.n)))
        abort();
}

/* pk | proof | as many pairs as fit; the data cannot know a discrete logarithm. */
static void check_proof(const uint8_t *data, size_t n)
{
    fre_oprf_element blinded[4], evaluated[4];
    fre_oprf_public pk;
    fre_oprf_proof proof;
    const size_t pairs = (n - sizeof pk - sizeof proof) / (2 * sizeof *blinded);
    fre_status st;

    memcpy(&pk, data, sizeof pk);
    memcpy(&proof, data + sizeof pk, sizeof proof);
    for (size_t i = 0; i < pairs && i < 4; i++) {
        const uint8_t *pair = data + sizeof pk + sizeof proof + i * 2 * sizeof *blinded;

        memcpy(&blinded[i], pair, sizeof *blinded);
        memcpy(&evaluated[i], pair + sizeof *blinded, sizeof *evaluated);
    }
    st = fre_oprf_verify(&pk, blinded, pairs < 4 ? pairs : 4, evaluated, pairs < 4 ? pairs : 4,
                         &proof);
    if (st != FRE_E_PROOF && st != FRE_E_DATA && st != FRE_E_ARG)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const fre_bytes in = {data, n};
    fre_oprf_proof proof;
    fre_status st;

    check_element(in);
    check_scalar(in);
    st = fre_oprf_proof_decode(&proof, in);
    if (st == FRE_OK && (n != sizeof proof.b || memcmp(proof.b, data, n) != 0))
        abort();
    if (n >= FRE_OPRF_ELEMENT_BYTES) {
        check_element((fre_bytes){data, FRE_OPRF_ELEMENT_BYTES});
        check_scalar((fre_bytes){data, FRE_OPRF_SCALAR_BYTES});
    }
    if (n >= sizeof(fre_oprf_public) + sizeof(fre_oprf_proof))
        check_proof(data, n);
    return 0;
}
