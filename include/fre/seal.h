/** fre/seal.h - closed envelopes: HPKE (RFC 9180), binary HTTP (RFC 9292), Oblivious HTTP
 * (RFC 9458) and signed statements (Ed25519, RFC 8032).
 *
 * One suite: KEM DHKEM(X25519, HKDF-SHA256) 0x0020, KDF HKDF-SHA256 0x0001, AEAD AES-128-GCM
 * 0x0001 or ChaCha20-Poly1305 0x0003; base mode only, so a sender is anonymous and what is sealed
 * is authenticated only by what it holds.
 *
 * Errors of the whole header.  FRE_E_DATA: bytes that do not follow their format.  FRE_E_REFUSED:
 * authentication failed (wrong key, parameters, order or content, a key of small order: nothing
 * tells which).  FRE_E_KEY: the message names a key or suite that is not ours.  FRE_E_LIMIT: well
 * formed so far, but above a limit of this header.  FRE_E_ARG: the caller's mistake.
 * FRE_E_NOMEM.  FRE_E_INTERNAL: a library failed.  Where bytes go into a fre_buf they are
 * appended.  An output must not overlap an input.
 *
 * Randomness is an argument: each function that draws is a thin wrapper of one named _with.
 * Secrets: keys, contexts and exchanges have a _wipe and no text form; their comparison and
 * arithmetic take the same time whatever they hold.  Threads: no shared state; an object is used
 * by one thread at a time, a key pair that nobody changes by any number.
 */
#ifndef FRE_SEAL_H
#define FRE_SEAL_H

#include <fre/core.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_SEAL_MAX (64u << 20) /* bytes of a plaintext, of associated data, of a statement */

/* ---- HPKE -------------------------------------------------------------------------------- */

#define FRE_HPKE_TAG_BYTES 16u
#define FRE_HPKE_ENC_BYTES 32u
#define FRE_HPKE_EXPORT_MAX 8160u /* 255 * 32, HKDF's limit */

typedef enum fre_hpke_aead {
    FRE_HPKE_AES_128_GCM = 0x0001,
    FRE_HPKE_CHACHA20_POLY1305 = 0x0003
} fre_hpke_aead;

/** X25519 public key, as it travels. */
typedef struct fre_hpke_pk {
    uint8_t b[32];
} fre_hpke_pk;

/** X25519 secret key, 32 uniform bytes.  SECRET. */
typedef struct fre_hpke_sk {
    uint8_t b[32]; /* SECRET */
} fre_hpke_sk;

/** Encapsulated key: the sender's public key of this one context. */
typedef struct fre_hpke_enc {
    uint8_t b[FRE_HPKE_ENC_BYTES];
} fre_hpke_enc;

/** A recipient's keys; pk is that of sk (fre_hpke_keypair_from keeps them together). */
typedef struct fre_hpke_keypair {
    fre_hpke_sk sk; /* SECRET */
    fre_hpke_pk pk;
} fre_hpke_keypair;

/** One direction from a sender to a recipient.  Messages are numbered from 0 and must be opened in
 * the order in which they were sealed.  SECRET; caller's storage, nothing to free. */
typedef struct fre_hpke_ctx {
    uint8_t key[32];      /* SECRET; the first Nk bytes count */
    uint8_t exporter[32]; /* SECRET */
    uint8_t base_nonce[12];
    uint64_t seq; /* of the next message */
    uint16_t aead;
    bool sender;
} fre_hpke_ctx;

/** Fresh keys from r. */
FRE_API FRE_MUST_CHECK fre_status fre_hpke_keygen(fre_hpke_keypair *out, fre_rng *r);
/** The pair of a stored secret key. */
FRE_API FRE_MUST_CHECK fre_status fre_hpke_keypair_from(fre_hpke_keypair *out,
                                                        const fre_hpke_sk *sk);
FRE_API void fre_hpke_sk_wipe(fre_hpke_sk *sk);
FRE_API void fre_hpke_keypair_wipe(fre_hpke_keypair *pair);
FRE_API void fre_hpke_ctx_wipe(fre_hpke_ctx *ctx);

/** SetupBaseS with a given ephemeral key, which must be fresh for each call.
 * @param[out] ctx, enc  on success only; enc goes to the recipient with the first message
 * @param[in]  info      application's context, up to FRE_SEAL_MAX bytes
 * @return FRE_OK; FRE_E_ARG: unknown AEAD; FRE_E_REFUSED: to is a point of small order;
 *         FRE_E_LIMIT; FRE_E_INTERNAL.  Two X25519 multiplications. */
FRE_API FRE_MUST_CHECK fre_status fre_hpke_setup_sender_with(fre_hpke_ctx *ctx, fre_hpke_enc *enc,
                                                             fre_hpke_aead aead,
                                                             const fre_hpke_pk *to, fre_bytes info,
                                                             const fre_hpke_sk *ephemeral);
FRE_API FRE_MUST_CHECK fre_status fre_hpke_setup_sender(fre_hpke_ctx *ctx, fre_hpke_enc *enc,
                                                        fre_hpke_aead aead, const fre_hpke_pk *to,
                                                        fre_bytes info, fre_rng *r);
/** SetupBaseR; the same errors, FRE_E_REFUSED for an enc of small order.  Another key, info or
 * AEAD than the sender's is found by the first fre_hpke_open, not here. */
FRE_API FRE_MUST_CHECK fre_status fre_hpke_setup_recipient(fre_hpke_ctx *ctx, fre_hpke_aead aead,
                                                           const fre_hpke_keypair *self,
                                                           const fre_hpke_enc *enc, fre_bytes info);

/** Encrypt the next message.
 * @param[out] out  pt.n + FRE_HPKE_TAG_BYTES bytes
 * @return FRE_OK; FRE_E_STATE: a recipient's context; FRE_E_LIMIT: too long, or the context has
 *         sealed 2^64 - 1 messages; FRE_E_NOMEM; FRE_E_INTERNAL.  seq moves on success only. */
FRE_API FRE_MUST_CHECK fre_status fre_hpke_seal(fre_hpke_ctx *ctx, uint8_t *out, fre_bytes aad,
                                                fre_bytes pt);
/** Decrypt the next message.
 * @param[out] out  ct.n - FRE_HPKE_TAG_BYTES bytes, untouched unless the message is authentic
 * @return FRE_OK; FRE_E_STATE: a sender's context; FRE_E_DATA: shorter than a tag;
 *         FRE_E_REFUSED; FRE_E_LIMIT; FRE_E_NOMEM.  seq moves on success only. */
FRE_API FRE_MUST_CHECK fre_status fre_hpke_open(fre_hpke_ctx *ctx, uint8_t *out, fre_bytes aad,
                                                fre_bytes ct);
/** n secret bytes (1..FRE_HPKE_EXPORT_MAX) that both sides can derive; independent of seq. */
FRE_API FRE_MUST_CHECK fre_status fre_hpke_export(const fre_hpke_ctx *ctx, uint8_t *out, size_t n,
                                                  fre_bytes exporter_context);

/** A single message, enc || ciphertext: one context that is forgotten at once. */
#define FRE_HPKE_OVERHEAD (FRE_HPKE_ENC_BYTES + FRE_HPKE_TAG_BYTES)
/** @param[out] out  pt.n + FRE_HPKE_OVERHEAD bytes */
FRE_API FRE_MUST_CHECK fre_status fre_hpke_seal_once_with(uint8_t *out, fre_hpke_aead aead,
                                                          const fre_hpke_pk *to, fre_bytes info,
                                                          fre_bytes aad, fre_bytes pt,
                                                          const fre_hpke_sk *ephemeral);
FRE_API FRE_MUST_CHECK fre_status fre_hpke_seal_once(uint8_t *out, fre_hpke_aead aead,
                                                     const fre_hpke_pk *to, fre_bytes info,
                                                     fre_bytes aad, fre_bytes pt, fre_rng *r);
/** @param[out] out  sealed.n - FRE_HPKE_OVERHEAD bytes
 * @return as fre_hpke_open; FRE_E_DATA: shorter than FRE_HPKE_OVERHEAD */
FRE_API FRE_MUST_CHECK fre_status fre_hpke_open_once(uint8_t *out, fre_hpke_aead aead,
                                                     const fre_hpke_keypair *self, fre_bytes info,
                                                     fre_bytes aad, fre_bytes sealed);

/* ---- binary HTTP ------------------------------------------------------------------------- */

/* Limits of one message.  Above them: FRE_E_LIMIT. */
#define FRE_BHTTP_MESSAGE_MAX (16u << 20)
#define FRE_BHTTP_FIELDS_MAX 32u /* of a header or trailer section */
#define FRE_BHTTP_NAME_MAX 128u
#define FRE_BHTTP_VALUE_MAX 4096u
#define FRE_BHTTP_METHOD_MAX 16u
#define FRE_BHTTP_SCHEME_MAX 16u
#define FRE_BHTTP_AUTHORITY_MAX 256u
#define FRE_BHTTP_PATH_MAX 1024u
#define FRE_BHTTP_INFORMATIONAL_MAX 8u

typedef enum fre_bhttp_kind { FRE_BHTTP_REQUEST, FRE_BHTTP_RESPONSE } fre_bhttp_kind;

typedef struct fre_bhttp_field {
    fre_bytes name;  /**< a token; compare with fre_bhttp_find, case does not count */
    fre_bytes value; /**< no control characters but tab, no blank at either end */
} fre_bhttp_field;

typedef struct fre_bhttp_fields {
    fre_bhttp_field at[FRE_BHTTP_FIELDS_MAX];
    size_t n;
} fre_bhttp_fields;

/** A request or a final response.  A decoded one borrows the decoded bytes and may own memory
 * (fre_bhttp_wipe); one to be encoded borrows what the caller put in and owns none, `joined` left
 * at zero. */
typedef struct fre_bhttp {
    fre_bhttp_kind kind;
    fre_bytes method;    /**< request: a token */
    fre_bytes scheme;    /**< request: "https" */
    fre_bytes authority; /**< request: may be empty */
    fre_bytes path;      /**< request: "/..." with its query; "*" for OPTIONS */
    uint16_t status;     /**< response: 200..599 */
    fre_bhttp_fields header, trailer;
    fre_bytes content;
    uint32_t informational; /**< 1xx responses that came before; checked, then dropped */
    fre_buf joined;         /* content of a message that came in several chunks */
} fre_bhttp;

/** Decode a message, known-length or indeterminate-length (RFC 9292 sec. 3), of the wanted kind.
 * Missing empty sections at the end and padding by zero bytes are accepted, as the RFC wants;
 * everything else that follows the message is FRE_E_DATA.  Stricter than the RFC: every
 * pseudo-field is refused (none is defined for this use), CONNECT too, and other control
 * characters in values.  out is written on success only. */
FRE_API FRE_MUST_CHECK fre_status fre_bhttp_decode(fre_bhttp *out, fre_bhttp_kind want,
                                                   fre_bytes in);
/** Release what a decoded message owns, wipe it and leave an empty one. */
FRE_API void fre_bhttp_wipe(fre_bhttp *m);
/** Append m in known-length form without empty sections at its end, then zero bytes up to a length
 * of `padded` (0: none), so that messages of different content have one size.
 * @return FRE_OK; FRE_E_ARG: a part of m breaks a rule of the decoder, or a field name has an
 *         upper-case letter; FRE_E_LIMIT: longer than padded, a limit above, or the buffer's. */
FRE_API FRE_MUST_CHECK fre_status fre_bhttp_encode(fre_buf *out, const fre_bhttp *m, size_t padded);
/** The value of the only field of that name (lower case); false, and value untouched, when there
 * is none or more than one. */
FRE_API bool fre_bhttp_find(const fre_bhttp_fields *f, fre_bytes *value, const char *name);

/* ---- Oblivious HTTP ---------------------------------------------------------------------- */

#define FRE_OHTTP_REQUEST_OVERHEAD (7u + FRE_HPKE_OVERHEAD)
#define FRE_OHTTP_NONCE_MAX 32u /* of a response: 16 with AES-128-GCM, 32 with ChaCha20-Poly1305 */
#define FRE_OHTTP_AEADS_MAX 2u
#define FRE_OHTTP_CONFIGS_MAX 8u
#define FRE_OHTTP_CONFIG_BYTES_MAX 65535u

/** What a gateway publishes of one key. */
typedef struct fre_ohttp_config {
    fre_hpke_pk pk;
    uint8_t id;
    uint8_t aeads;                           /**< 1..FRE_OHTTP_AEADS_MAX, all different */
    fre_hpke_aead aead[FRE_OHTTP_AEADS_MAX]; /**< in the gateway's order */
} fre_ohttp_config;

/** What a gateway holds of one key; config.pk is that of pair. */
typedef struct fre_ohttp_key {
    fre_hpke_keypair pair; /* SECRET */
    fre_ohttp_config config;
} fre_ohttp_key;

/** One request and its response, on either side.  SECRET. */
typedef struct fre_ohttp_exchange {
    fre_hpke_ctx ctx; /* SECRET */
    fre_hpke_enc enc;
} fre_ohttp_exchange;

FRE_API void fre_ohttp_key_wipe(fre_ohttp_key *k);
FRE_API void fre_ohttp_exchange_wipe(fre_ohttp_exchange *x);

/** Append one key configuration (RFC 9458 sec. 3.1). */
FRE_API FRE_MUST_CHECK fre_status fre_ohttp_config_encode(fre_buf *out, const fre_ohttp_config *c);
/** FRE_E_KEY: well formed as far as can be told, but a KEM or only suites that we do not have. */
FRE_API FRE_MUST_CHECK fre_status fre_ohttp_config_decode(fre_ohttp_config *out, fre_bytes in);
/** Append n configurations (1..FRE_OHTTP_CONFIGS_MAX) as media type application/ohttp-keys. */
FRE_API FRE_MUST_CHECK fre_status fre_ohttp_configs_encode(fre_buf *out, const fre_ohttp_config *c,
                                                           size_t n);
/** The usable configurations of such a list, in its order; the others are skipped, but one that
 * is malformed spoils the list (RFC 9458 sec. 3.2).
 * @param[out] out  room for FRE_OHTTP_CONFIGS_MAX; only the first *n are written
 * @return FRE_OK; FRE_E_DATA; FRE_E_KEY: none is usable; FRE_E_LIMIT: more than there is room
 *         for, or longer than FRE_OHTTP_CONFIG_BYTES_MAX */
FRE_API FRE_MUST_CHECK fre_status
fre_ohttp_configs_decode(fre_ohttp_config out[FRE_OHTTP_CONFIGS_MAX], size_t *n, fre_bytes in);

/** Client: encapsulate a binary HTTP request with one of the configuration's AEADs.
 * @param[out] x    for the response; the caller wipes it
 * @param[out] out  request.n + FRE_OHTTP_REQUEST_OVERHEAD bytes are appended
 * @return FRE_OK; FRE_E_ARG: an AEAD that c does not offer; FRE_E_REFUSED: c.pk of small order;
 *         FRE_E_LIMIT; FRE_E_NOMEM; FRE_E_INTERNAL */
FRE_API FRE_MUST_CHECK fre_status fre_ohttp_request_seal_with(fre_ohttp_exchange *x, fre_buf *out,
                                                              const fre_ohttp_config *c,
                                                              fre_hpke_aead aead, fre_bytes request,
                                                              const fre_hpke_sk *ephemeral);
FRE_API FRE_MUST_CHECK fre_status fre_ohttp_request_seal(fre_ohttp_exchange *x, fre_buf *out,
                                                         const fre_ohttp_config *c,
                                                         fre_hpke_aead aead, fre_bytes request,
                                                         fre_rng *r);
/** Gateway: open an encapsulated request with the one of n keys that it names.
 * @return FRE_OK; FRE_E_DATA: too short; FRE_E_KEY: no key of that id, KEM and suite;
 *         FRE_E_REFUSED; FRE_E_LIMIT; FRE_E_NOMEM */
FRE_API FRE_MUST_CHECK fre_status fre_ohttp_request_open(fre_ohttp_exchange *x, fre_buf *out,
                                                         const fre_ohttp_key *keys, size_t n,
                                                         fre_bytes sealed);
/** Bytes of a response's nonce in this exchange, 16 or 32. */
FRE_API size_t fre_ohttp_nonce_bytes(const fre_ohttp_exchange *x);
/** Gateway: encapsulate a response; nonce.n is fre_ohttp_nonce_bytes(x), fresh for each call.
 * nonce.n + response.n + FRE_HPKE_TAG_BYTES bytes are appended.  FRE_E_STATE: a client's x. */
FRE_API FRE_MUST_CHECK fre_status fre_ohttp_response_seal_with(const fre_ohttp_exchange *x,
                                                               fre_buf *out, fre_bytes response,
                                                               fre_bytes nonce);
FRE_API FRE_MUST_CHECK fre_status fre_ohttp_response_seal(const fre_ohttp_exchange *x, fre_buf *out,
                                                          fre_bytes response, fre_rng *r);
/** Client: open the response.  FRE_E_STATE: a gateway's x; FRE_E_DATA: too short;
 * FRE_E_REFUSED: not the answer to this request. */
FRE_API FRE_MUST_CHECK fre_status fre_ohttp_response_open(const fre_ohttp_exchange *x, fre_buf *out,
                                                          fre_bytes sealed);

/* ---- signed statements ------------------------------------------------------------------- */

#define FRE_SIGN_LABEL_MAX 64u

typedef struct fre_sign_pk {
    uint8_t b[32];
} fre_sign_pk;

/** Ed25519 secret key: seed || public key.  SECRET. */
typedef struct fre_sign_sk {
    uint8_t b[64]; /* SECRET */
} fre_sign_sk;

typedef struct fre_signature {
    uint8_t b[64];
} fre_signature;

FRE_API FRE_MUST_CHECK fre_status fre_sign_keygen_with(fre_sign_sk *sk, fre_sign_pk *pk,
                                                       const uint8_t seed[32]);
FRE_API FRE_MUST_CHECK fre_status fre_sign_keygen(fre_sign_sk *sk, fre_sign_pk *pk, fre_rng *r);
FRE_API void fre_sign_sk_wipe(fre_sign_sk *sk);

/** Ed25519 over  u8 length of label || label || u64 (big endian) length of bytes || bytes,  so
 * that a signature under one label is never one under another.  The label, 1..FRE_SIGN_LABEL_MAX
 * bytes of text, names the kind of statement and its version.  Deterministic.
 * FRE_E_ARG: the label; FRE_E_LIMIT: longer than FRE_SEAL_MAX; FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_sign_statement(fre_signature *out, const fre_sign_sk *sk,
                                                     const char *label, fre_bytes bytes);
/** FRE_OK: genuine; FRE_E_REFUSED: not by this key, another label or other bytes, or a key or
 * signature that RFC 8032's strict reading excludes (small order, S >= L, not canonical). */
FRE_API FRE_MUST_CHECK fre_status fre_sign_verify(const fre_sign_pk *pk, const fre_signature *sig,
                                                  const char *label, fre_bytes bytes);

#ifdef __cplusplus
}
#endif
#endif /* FRE_SEAL_H */
