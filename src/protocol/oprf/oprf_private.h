/* Parts of the VOPRF, private to the module. */
#ifndef FRE_OPRF_PRIVATE_H
#define FRE_OPRF_PRIVATE_H

#include <fre/oprf.h>

/* RFC 9497 sec. 3.1 and 4.1: contextString of mode 0x01. */
#define FRE_OPRF_CONTEXT "OPRFV1-\x01-ristretto255-SHA512"
#define FRE_OPRF_HASH_BYTES 64u

/* ---- hash.c ---- */

/* RFC 9380 sec. 5.3.1 expand_message_xmd with SHA-512 over the parts in order.
 * FRE_E_ARG: n not in 1..255*64, or more than 255 bytes of dst. */
FRE_MUST_CHECK fre_status fre_oprf_expand(uint8_t *out, size_t n, const fre_bytes *part,
                                          size_t n_parts, fre_bytes dst);
/* SHA-512 over the parts. */
void fre_oprf_sha512(uint8_t out[FRE_OPRF_HASH_BYTES], const fre_bytes *part, size_t n_parts);
/* An element other than the identity (FRE_E_INTERNAL). */
FRE_MUST_CHECK fre_status fre_oprf_hash_to_group(uint8_t out[FRE_OPRF_ELEMENT_BYTES],
                                                 fre_bytes input);
/* A scalar below the order; 0 is possible and the caller's matter. */
FRE_MUST_CHECK fre_status fre_oprf_hash_to_scalar(uint8_t out[FRE_OPRF_SCALAR_BYTES],
                                                  const fre_bytes *part, size_t n_parts);
/* DeriveKeyPair's own tag. */
FRE_MUST_CHECK fre_status fre_oprf_hash_to_key(uint8_t out[FRE_OPRF_SCALAR_BYTES],
                                               const fre_bytes *part, size_t n_parts);
/* I2OSP(n, 2), n below 2^16. */
void fre_oprf_u16(uint8_t out[2], size_t n);

/* ---- group.c ---- */

/* 1..order-1, in constant time. */
bool fre_oprf_scalar_is_valid(const uint8_t s[FRE_OPRF_SCALAR_BYTES]);
/* Bytes below 2^255 - 19, even, not zero; whether they have a square root, decoding tells. */
bool fre_oprf_element_is_canonical(const uint8_t e[FRE_OPRF_ELEMENT_BYTES]);
/* Uniform on 1..order-1. */
void fre_oprf_scalar_draw(uint8_t out[FRE_OPRF_SCALAR_BYTES], fre_rng *r);
/* out = s e.  False: e encodes no element, or is the identity; out is then undefined.  s valid. */
FRE_MUST_CHECK bool fre_oprf_multiply(uint8_t out[FRE_OPRF_ELEMENT_BYTES],
                                      const uint8_t s[FRE_OPRF_SCALAR_BYTES],
                                      const uint8_t e[FRE_OPRF_ELEMENT_BYTES]);
/* out = s G, by the table of multiples of G; s valid. */
FRE_MUST_CHECK bool fre_oprf_multiply_base(uint8_t out[FRE_OPRF_ELEMENT_BYTES],
                                           const uint8_t s[FRE_OPRF_SCALAR_BYTES]);

/* ---- shared ---- */

/* FRE_E_ARG, FRE_E_LIMIT of a list's length. */
FRE_MUST_CHECK fre_status fre_oprf_check_batch(size_t n);

#endif
