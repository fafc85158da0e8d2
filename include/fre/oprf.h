/** fre/oprf.h - verifiable oblivious pseudorandom function: RFC 9497, mode VOPRF (0x01), suite
 * ristretto255-SHA512.
 *
 * A server holds a key k with public half pk = k G.  A client learns F(k, input), 64 bytes, and
 * nothing else about k; the server learns nothing about the input or the result; the proof shows
 * the client that the k of its answer is the one behind pk, so that a server cannot mark a client
 * by a key of its own.  One evaluation, with the RFC's names:
 *
 *     client  fre_oprf_blind_input      blind r, blinded = r H(input)        -> blinded
 *     server  fre_oprf_blind_evaluate   evaluated = k blinded, proof (c, s)  -> evaluated, proof
 *     client  fre_oprf_finalize         checks the proof against pk, then
 *                                       F = SHA-512(input || r^-1 evaluated || "Finalize")
 *
 * (lengths in front of each part, see the RFC).  The protocol's tag is the first
 * FRE_OPRF_TAG_BYTES of F.  pk must come from a place that the server cannot change for one client
 * alone: the collection's configuration.
 *
 * On the wire: an element and a public key are the 32 bytes `b` of their struct, a proof is its 64
 * bytes c || s.  Bytes from a peer pass the _decode function of their type first; the functions
 * below decode again what they use, so a struct filled by hand is refused, not believed.  Refused
 * are elements with bit 255 set, field elements not below 2^255 - 19, odd ones, those without a
 * square root, and the identity; scalars 0 and those not below the order of the group.  (Debian's
 * libsodium 1.0.18 takes bit 255, the identity and any scalar.)  A proof with c = 0 or s = 0, which
 * the RFC allows, is refused too: an honest server makes one with probability 2^-251.
 *
 * Status, where a function's own comment does not say more:
 *     FRE_E_ARG    a NULL, an empty list, a scalar of ours that is out of range (a wiped one is)
 *     FRE_E_LIMIT  more than FRE_OPRF_BATCH_MAX elements, more than FRE_OPRF_INPUT_MAX bytes
 *     FRE_E_DATA   bytes of the peer that encode no element, key or proof; lists of unequal length
 *     FRE_E_PROOF  well-formed, but the proof does not verify
 *     FRE_E_INTERNAL  an event of probability below 2^-250 (the hash of an input is the identity)
 * Outputs are written on success only.
 *
 * Secrecy: no branch, index or early exit depends on a key, blind, nonce, input or result; their
 * lengths and the verdict on a proof are public.  What is marked SECRET has a _wipe.  _with
 * functions take the randomness as an argument, for known answers and for a restart that must
 * repeat a message byte by byte; the others draw it.  Threads: no state, no allocation; any
 * function may run on any thread.  Stack: below 48 KiB.
 *
 * Sources: RFC 9497 (protocol), RFC 9496 (group), RFC 9380 (hash to group).  Group arithmetic:
 * libsodium.
 */
#ifndef FRE_OPRF_H
#define FRE_OPRF_H

#include <fre/core.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_OPRF_ELEMENT_BYTES 32u
#define FRE_OPRF_SCALAR_BYTES 32u
#define FRE_OPRF_PROOF_BYTES 64u
#define FRE_OPRF_OUTPUT_BYTES 64u
#define FRE_OPRF_TAG_BYTES 32u
#define FRE_OPRF_SEED_BYTES 32u
#define FRE_OPRF_INPUT_MAX 65535u /* bytes of an input or of a key's info: its length has 16 bits */
#define FRE_OPRF_BATCH_MAX 256u   /* elements under one proof: bounds the work of one request */

/** A group element, public: blinded or evaluated. */
typedef struct fre_oprf_element {
    uint8_t b[FRE_OPRF_ELEMENT_BYTES];
} fre_oprf_element;

/** pk = k G. */
typedef struct fre_oprf_public {
    uint8_t b[FRE_OPRF_ELEMENT_BYTES];
} fre_oprf_public;

/** c || s, scalars in little-endian order. */
typedef struct fre_oprf_proof {
    uint8_t b[FRE_OPRF_PROOF_BYTES];
} fre_oprf_proof;

/** The server's key.  SECRET.  Keep it where it is not swapped or copied; wipe it when the
 * collection closes: a wiped key evaluates nothing (FRE_E_ARG). */
typedef struct fre_oprf_key {
    uint8_t b[FRE_OPRF_SCALAR_BYTES]; /* SECRET: k, 1..order-1, little-endian */
    fre_oprf_public pub;
} fre_oprf_key;

/** The client's r for one input, never used for a second.  SECRET: with it the blinded element
 * shows the input. */
typedef struct fre_oprf_blind {
    uint8_t b[FRE_OPRF_SCALAR_BYTES]; /* SECRET */
} fre_oprf_blind;

/** The server's randomness of one proof.  SECRET, used once: two proofs with one nonce show k. */
typedef struct fre_oprf_nonce {
    uint8_t b[FRE_OPRF_SCALAR_BYTES]; /* SECRET */
} fre_oprf_nonce;

/** F(k, input).  SECRET for all but its client and whom the client tells. */
typedef struct fre_oprf_output {
    uint8_t b[FRE_OPRF_OUTPUT_BYTES]; /* SECRET */
} fre_oprf_output;

/* NULL is allowed. */
FRE_API void fre_oprf_key_wipe(fre_oprf_key *k);
FRE_API void fre_oprf_blind_wipe(fre_oprf_blind *r);
FRE_API void fre_oprf_nonce_wipe(fre_oprf_nonce *r);
FRE_API void fre_oprf_output_wipe(fre_oprf_output *o);

/* ---- from bytes -------------------------------------------------------------------------- */

/** All of `in`, exactly.  FRE_E_DATA: another length, or refused as said above. */
FRE_API FRE_MUST_CHECK fre_status fre_oprf_element_decode(fre_oprf_element *out, fre_bytes in);
FRE_API FRE_MUST_CHECK fre_status fre_oprf_public_decode(fre_oprf_public *out, fre_bytes in);
FRE_API FRE_MUST_CHECK fre_status fre_oprf_proof_decode(fre_oprf_proof *out, fre_bytes in);
/** k from its 32 bytes; computes pk. */
FRE_API FRE_MUST_CHECK fre_status fre_oprf_key_decode(fre_oprf_key *out, fre_bytes in);
/** r from its 32 bytes, for a client that was restarted between its two messages. */
FRE_API FRE_MUST_CHECK fre_status fre_oprf_blind_decode(fre_oprf_blind *out, fre_bytes in);

/* ---- keys -------------------------------------------------------------------------------- */

/** A fresh key; r: a stream keyed from the system. */
FRE_API FRE_MUST_CHECK fre_status fre_oprf_key_generate(fre_oprf_key *out, fre_rng *r);

/** RFC 9497 DeriveKeyPair: a key from 32 secret uniform bytes and a public label of up to
 * FRE_OPRF_INPUT_MAX bytes.  Whoever keeps the seed keeps the key. */
FRE_API FRE_MUST_CHECK fre_status fre_oprf_key_derive(fre_oprf_key *out,
                                                      const uint8_t seed[FRE_OPRF_SEED_BYTES],
                                                      fre_bytes info);

/* ---- client ------------------------------------------------------------------------------ */

/** RFC 9497 Blind: draws r and blinds one input of 0..FRE_OPRF_INPUT_MAX bytes.  Keep the blind,
 * the input and the blinded element until fre_oprf_finalize. */
FRE_API FRE_MUST_CHECK fre_status fre_oprf_blind_input(fre_oprf_blind *blind,
                                                       fre_oprf_element *blinded, fre_bytes input,
                                                       fre_rng *r);
/** Draws a blind for later. */
FRE_API void fre_oprf_blind_draw(fre_oprf_blind *blind, fre_rng *r);
/** The same with a blind of the caller. */
FRE_API FRE_MUST_CHECK fre_status fre_oprf_blind_input_with(fre_oprf_element *blinded,
                                                            fre_bytes input,
                                                            const fre_oprf_blind *blind);

/** What a client keeps of n inputs that it sent together.  All borrowed. */
typedef struct fre_oprf_request {
    const fre_bytes *input;          /**< n, as blinded */
    const fre_oprf_blind *blind;     /**< n, as drawn; SECRET */
    const fre_oprf_element *blinded; /**< n, as sent and in that order */
    size_t n;                        /**< 1..FRE_OPRF_BATCH_MAX */
} fre_oprf_request;

/** RFC 9497 Finalize for the inputs that one proof answers: verifies, and only then unblinds.
 * There is no way to an output around the proof.
 * @param[out] out          sent->n results
 * @param[in]  pk           the committed public key
 * @param[in]  sent         what was asked
 * @param[in]  evaluated    the server's answer
 * @param[in]  n_evaluated  FRE_E_DATA unless sent->n
 * @param[in]  proof        the server's proof */
FRE_API FRE_MUST_CHECK fre_status fre_oprf_finalize(fre_oprf_output *out, const fre_oprf_public *pk,
                                                    const fre_oprf_request *sent,
                                                    const fre_oprf_element *evaluated,
                                                    size_t n_evaluated,
                                                    const fre_oprf_proof *proof);

/** RFC 9497 VerifyProof alone: evaluated[i] = k blinded[i] for every i, with the k of pk.  All
 * arguments are public.  FRE_E_PROOF: it is not so, or the lists' order was changed. */
FRE_API FRE_MUST_CHECK fre_status fre_oprf_verify(const fre_oprf_public *pk,
                                                  const fre_oprf_element *blinded, size_t n,
                                                  const fre_oprf_element *evaluated,
                                                  size_t n_evaluated, const fre_oprf_proof *proof);

/* ---- server ------------------------------------------------------------------------------ */

/** RFC 9497 BlindEvaluate: n evaluations under one proof.  evaluated may be blinded itself.
 * FRE_E_DATA: a blinded element is refused; nothing is evaluated then. */
FRE_API FRE_MUST_CHECK fre_status fre_oprf_blind_evaluate(fre_oprf_element *evaluated,
                                                          fre_oprf_proof *proof,
                                                          const fre_oprf_key *key,
                                                          const fre_oprf_element *blinded, size_t n,
                                                          fre_rng *r);

/** Its two halves.  evaluated[i] = k blinded[i]: */
FRE_API FRE_MUST_CHECK fre_status fre_oprf_evaluate_elements(fre_oprf_element *evaluated,
                                                             const fre_oprf_key *key,
                                                             const fre_oprf_element *blinded,
                                                             size_t n);
/** and the proof over them (RFC 9497 GenerateProof), for instance one proof for elements that came
 * in one after the other.  Elements that were not evaluated with this key give a proof that does
 * not verify. */
FRE_API FRE_MUST_CHECK fre_status fre_oprf_prove(fre_oprf_proof *proof, const fre_oprf_key *key,
                                                 const fre_oprf_element *blinded,
                                                 const fre_oprf_element *evaluated, size_t n,
                                                 fre_rng *r);
/** The same with a nonce of the caller: uniform, secret, never used before. */
FRE_API FRE_MUST_CHECK fre_status fre_oprf_prove_with(fre_oprf_proof *proof,
                                                      const fre_oprf_key *key,
                                                      const fre_oprf_element *blinded,
                                                      const fre_oprf_element *evaluated, size_t n,
                                                      const fre_oprf_nonce *nonce);

/** RFC 9497 Evaluate: F(k, input) by the server alone, the same bytes that a client gets. */
FRE_API FRE_MUST_CHECK fre_status fre_oprf_evaluate(fre_oprf_output *out, const fre_oprf_key *key,
                                                    fre_bytes input);

#ifdef __cplusplus
}
#endif
#endif /* FRE_OPRF_H */
