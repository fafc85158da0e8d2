/** fre/wire.h - what the four roles send each other: a collection's public terms and every message,
 * as bytes and back.  docs/wire.md has the format byte by byte, for whoever writes a client.
 *
 * TLS presentation syntax (RFC 8446 sec. 3): integers big endian, a length or number before what
 * varies.  A message is  head || body,  head = version (1), type (1), collection id (32); a signed
 * one ends with an Ed25519 signature (64 bytes) over head || body under the label of its type.
 * Messages of one kind have one size where their content is anybody's secret.
 *
 * Decoders read all of their input: no trailing bytes, one encoding for each
 * value, every count and range checked before it is used.  What they write borrows the input
 * (fre_bytes, typed pointers), which must outlive it; they allocate nothing.  Signed messages have
 * no decoder that skips the signature, sealed ones none that skips the seal.
 *
 * Status, where a function's own comment does not say more:
 *     FRE_E_ARG      the caller's mistake: NULL, a value outside its range, an order not kept
 *     FRE_E_DATA     bytes that are no such message, or one that breaks a rule; err names the field
 *     FRE_E_KEY      a message of another collection
 *     FRE_E_REFUSED  signature or seal does not hold
 *     FRE_E_LIMIT    longer than FRE_WIRE_MESSAGE_MAX, or than the buffer's own limit
 *     FRE_E_NOMEM, FRE_E_INTERNAL
 * Outputs are written on success only; encoders append to `out`, which is unchanged on failure.
 * Threads: no state; a fre_wire that nobody changes may be used by any number.
 */
#ifndef FRE_WIRE_H
#define FRE_WIRE_H

#include <fre/core.h>
#include <fre/oprf.h>
#include <fre/privacy.h>
#include <fre/seal.h>
#include <fre/sharing.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_WIRE_VERSION 2u
#define FRE_WIRE_MESSAGE_MAX FRE_SEAL_MAX
#define FRE_WIRE_HEAD_BYTES 34u
#define FRE_WIRE_SIGNATURE_BYTES 64u
#define FRE_WIRE_MEDIA_TYPE "application/fre-e2t" /* of every message's body over HTTP */

typedef enum fre_wire_type {
    FRE_WIRE_TAG_REQUEST = 1,
    FRE_WIRE_TAG_RESPONSE = 2,
    FRE_WIRE_CLOSED = 4,
    FRE_WIRE_LIST = 6, /**< two contacts */
    FRE_WIRE_RELEASE = 12,
    FRE_WIRE_CANCEL = 13,
    FRE_WIRE_REJECTION = 14,  /**< version, type, code: no collection id */
    FRE_WIRE_RECEIPT = 15,    /**< version, type: no collection id */
    FRE_WIRE_COLLECTION = 16, /**< version, type, terms: its hash is the id */
    FRE_WIRE_ISSUE_REQUEST = 18,
    FRE_WIRE_ISSUE_RESPONSE,
    FRE_WIRE_CARRY,
    FRE_WIRE_ADMITTED,
    FRE_WIRE_ENTRY,
    FRE_WIRE_COLLECTED,
    FRE_WIRE_MIXED,
    FRE_WIRE_VOUCH,
    FRE_WIRE_VOUCHED,
    FRE_WIRE_UNSEAL,
    FRE_WIRE_SUMMED,
    FRE_WIRE_MARK,
    FRE_WIRE_MARKED,
    /* two contacts: */
    FRE_WIRE_LISTED,
    FRE_WIRE_ANSWER,
    FRE_WIRE_GATHERED,
    /* masks of keys: */
    FRE_WIRE_MASK_PUT,
    FRE_WIRE_MASK_GET,
    FRE_WIRE_MASK_WIPE
} fre_wire_type;
#define FRE_WIRE_TYPES (FRE_WIRE_MASK_WIPE + 1u) /* one more than the largest */

/* ---- the collection ----------------------------------------------------------------------- */

#define FRE_COLLECTION_URL_MAX 255u
#define FRE_COLLECTION_DIM_MAX FRE_SHARING_DIM_MAX
#define FRE_COLLECTION_CELLS_MAX 64u
#define FRE_COLLECTION_RECORDS_MAX UINT32_MAX /* users * cells_per_user: counts have 32 bits */
#define FRE_COLLECTION_TIME_MAX INT64_C(253402300799) /* the last second of the year 9999 */
#define FRE_COLLECTION_OHTTP_KEY_ID 1u

/** SHA-256 of a collection's encoding: bound into every seal and every signature. */
typedef struct fre_collection_id {
    uint8_t b[FRE_HASH_BYTES];
} fre_collection_id;

/** Who draws the public randomness together: the four operators. */
typedef enum fre_contributor {
    FRE_CONTRIBUTOR_RELAY = 0,
    FRE_CONTRIBUTOR_TAG,
    FRE_CONTRIBUTOR_SYN,
    FRE_CONTRIBUTOR_ISSUER,
    FRE_CONTRIBUTORS
} fre_contributor;

/** The public, immutable terms of one run of the protocol [Fre-E2T, Alg. 2].  Caller's storage,
 * plain data; valid if fre_collection_encode takes it. */
typedef struct fre_collection {
    uint8_t embedder[FRE_HASH_BYTES];  /**< SHA-256 of the embedding model's file */
    uint32_t dim;                      /**< d of its embeddings, 1..FRE_COLLECTION_DIM_MAX */
    /** 32 random bytes of each operator, and their hashes, which all saw before any was shown: so
     * nobody chose the seeds.  commitment, grid_seed and sign_seed: fre_collection_draw. */
    uint8_t contribution[FRE_CONTRIBUTORS][FRE_SEED_BYTES];
    uint8_t commitment[FRE_CONTRIBUTORS][FRE_HASH_BYTES];
    uint8_t grid_seed[FRE_SEED_BYTES]; /**< projection and offsets: fre_sketch_params.seed */
    uint8_t sign_seed[FRE_SEED_BYTES]; /**< signs of the rotation */
    fre_sketch_spec
        sketch; /**< a grid, k at most FRE_PRIVACY_K_MAX; or a level of a codebook's file */
    uint64_t p32;                      /**< sampling rate * 2^32, 1..2^32 */
    uint64_t threshold;                /**< t */
    uint64_t tau;                      /**< fre_tau(p32, t), at least 2 */
    double sigma;                      /**< of a cell's sum, a coordinate, embedding units */
    double split; /**< Delta of the analysis, 2R of public cells; it also sets the quantisation */
    double norm_bound;                 /**< B: embeddings of honest clients are no longer */
    uint64_t lambda16;                 /**< padding: lambda * 2^16, 1..2^32 */
    uint32_t gamma;                    /**< padding, 0..FRE_TSDLAP_GAMMA_MAX */
    uint64_t users;                    /**< N: users at most */
    uint64_t batch_min;                /**< reports without which nothing is counted, 1..N c */
    uint32_t curious;                  /**< w < tau */
    double dropout;                    /**< [0, 1); one contact: 0 */
    bool cover;                        /**< everybody sends; off: no claim against the relay */
    bool one_contact;                  /**< shares travel with tags */
    bool server_noise;                 /**< servers add the noise, not clients; one contact only */
    bool splits; /**< large cells are summed in thirds (fre_cell_sums) */
    fre_adjacency adjacency;
    fre_sensitivity sensitivity;
    uint32_t cells_per_user; /**< 1..FRE_COLLECTION_CELLS_MAX: tags and reports of each client */
    double epsilon, delta;   /**< the claim */
    double phi;              /**< failure of the bound on rounding, [0, 1) */
    fre_hpke_aead aead;      /**< of every seal and of Oblivious HTTP */
    fre_oprf_public oprf_pk; /**< S_tag's k_T */
    fre_oprf_public issuer_pk;                   /**< the issuer's k_I */
    fre_hpke_pk tag_seal, syn_seal, issuer_seal; /**< all nine keys differ */
    fre_sign_pk tag_sign, syn_sign, relay_sign, issuer_sign;
    /** https://host[:port][/path], no '?', '#'; http for loopback and .onion alone. */
    char relay_url[FRE_COLLECTION_URL_MAX + 1];
    char tag_url[FRE_COLLECTION_URL_MAX + 1];
    char syn_url[FRE_COLLECTION_URL_MAX + 1];
    char issuer_url[FRE_COLLECTION_URL_MAX + 1];
    /** SHA-256 of the certificate's SubjectPublicKeyInfo; zero for http, and only there. */
    uint8_t relay_pin[FRE_HASH_BYTES], tag_pin[FRE_HASH_BYTES];
    uint8_t syn_pin[FRE_HASH_BYTES], issuer_pin[FRE_HASH_BYTES];
    int64_t open;           /**< Unix seconds: elements are evaluated from here ... */
    int64_t exchange_close; /**< ... up to, not including, this; > open */
    int64_t tags_close;     /**< > exchange_close: reports are taken before it */
    int64_t shares_close;   /**< > tags_close; one contact: the same */
    int64_t end;          /**< after it nothing is accepted or kept */
} fre_collection;

/** Fills what follows from the contributions: commitment[i] = SHA-256(label || i || contribution[i]),
 * grid_seed and sign_seed = SHA-256(label || all contributions), a label each. */
FRE_API void fre_collection_draw(fre_collection *c);
/** The commitment to one contribution, which its operator shows before its contribution. */
FRE_API void fre_collection_commit(uint8_t out[FRE_HASH_BYTES], fre_contributor who,
                                   const uint8_t contribution[FRE_SEED_BYTES]);
typedef enum fre_role { FRE_ROLE_TAG = 1, FRE_ROLE_SYN, FRE_ROLE_RELAY, FRE_ROLE_ISSUER } fre_role;
/** Of HTTP, behind the path of an address: followed by the id's digits (docs/wire.md, section 9). */
#define FRE_COLLECTION_PATH "/fre/v2/"
/** What terms say of a role; borrowed from them. */
typedef struct fre_party {
    const fre_sign_pk *sign;
    const fre_hpke_pk *seal;     /**< NULL: the relay */
    const fre_oprf_public *oprf; /**< NULL: relay and S_syn */
    const char *url;
    const uint8_t *pin; /**< FRE_HASH_BYTES; zeros: http */
} fre_party;
FRE_API fre_party fre_collection_party(const fre_collection *c, fre_role role);
/** Is it an address that terms may have, and with this pin (FRE_HASH_BYTES)? */
FRE_API bool fre_collection_url_fits(const char *url, const uint8_t pin[FRE_HASH_BYTES]);
/** Every range of the fields, and how they fit together; no accounting.  FRE_E_DATA: err names the
 * field and what it may be. */
FRE_API FRE_MUST_CHECK fre_status fre_collection_validate(const fre_collection *c, fre_err *err);
/** Validated first: FRE_E_DATA. */
FRE_API FRE_MUST_CHECK fre_status fre_collection_encode(fre_buf *out, const fre_collection *c,
                                                        fre_err *err);
FRE_API FRE_MUST_CHECK fre_status fre_collection_decode(fre_collection *out, fre_bytes in,
                                                        fre_err *err);
FRE_API FRE_MUST_CHECK fre_status fre_collection_identify(fre_collection_id *out,
                                                          const fre_collection *c, fre_err *err);

/** One JSON object for people, with the id: hexadecimal bytes, numbers that read back to the same
 * bits; a newline at its end. */
FRE_API FRE_MUST_CHECK fre_status fre_collection_to_json(fre_buf *out, const fre_collection *c,
                                                         fre_err *err);
/** Every key exactly once and no other; "id" may be missing, else it must be right. */
FRE_API FRE_MUST_CHECK fre_status fre_collection_from_json(fre_collection *out, fre_bytes in,
                                                           fre_err *err);

/** The mechanism that its terms describe, for privacy.h; c validated. */
FRE_API void fre_collection_mechanism(fre_mechanism *out, const fre_collection *c);
/** Do the terms keep their privacy claim?  The joint accountant once more, at the collection's own split,
 * since that sets the quantisation.  A client asks this before it sends anything.
 * @param[out] out  the account; may be NULL
 * @return FRE_OK; FRE_E_DATA: not valid; FRE_E_REFUSED: delta at epsilon is above the claim, no
 *         delta is enough, or no share can be made (sharing.h's limits) */
FRE_API FRE_MUST_CHECK fre_status fre_collection_check(fre_account *out, const fre_collection *c,
                                                       fre_err *err);
/** Can clients of such a mechanism make shares at this split, with the residues that there are?  Part of
 * fre_collection_check, and all that a plan alone can ask.  FRE_E_ARG; FRE_E_LIMIT: a limit of sharing.h, such as too
 * many users for a sum. */
FRE_API FRE_MUST_CHECK fre_status fre_collection_shares_fit(const fre_mechanism *m, double split,
                                                            fre_err *err);
/** A static sentence where no collection can be made of a plan, since no share holds its sums; else NULL. */
FRE_API const char *fre_collection_plan_warning(const fre_plan *p);

/** What a collection needs besides its plan. */
typedef struct fre_collection_parts {
    uint8_t embedder[FRE_HASH_BYTES];
    uint8_t contribution[FRE_CONTRIBUTORS][FRE_SEED_BYTES];
    uint64_t batch_min;
    fre_hpke_aead aead;
    fre_oprf_public oprf_pk, issuer_pk;
    fre_hpke_pk tag_seal, syn_seal, issuer_seal;
    fre_sign_pk tag_sign, syn_sign, relay_sign, issuer_sign;
    const char *relay_url, *tag_url, *syn_url, *issuer_url;
    uint8_t relay_pin[FRE_HASH_BYTES], tag_pin[FRE_HASH_BYTES];
    uint8_t syn_pin[FRE_HASH_BYTES], issuer_pin[FRE_HASH_BYTES];
    int64_t open, exchange_close, tags_close, shares_close, end;
} fre_collection_parts;
/** Terms from a distributed plan with discrete noise; they pass fre_collection_check.  lambda goes
 * up to a multiple of 2^-16.  FRE_E_USAGE: another plan; FRE_E_DATA: a part; FRE_E_REFUSED. */
FRE_API FRE_MUST_CHECK fre_status fre_collection_from_plan(fre_collection *out, const fre_plan *p,
                                                           const fre_collection_parts *parts,
                                                           fre_err *err);
/** The plan that terms describe, whoever made them, with its account (fre_collection_check: its errors).  What
 * terms do not hold is as a plan of the defaults has it: the radius of a grid is that of cells of scale 1. */
FRE_API FRE_MUST_CHECK fre_status fre_collection_plan(fre_plan *out, const fre_collection *c,
                                                      fre_err *err);
/** What a release of the collection says of privacy (fre_plan_statement of that plan); appended. */
FRE_API FRE_MUST_CHECK fre_status fre_collection_statement(fre_buf *out, const fre_collection *c,
                                                           fre_err *err);
/** The Oblivious HTTP key configuration of who answers `ask`: S_tag (FRE_WIRE_TAG_REQUEST) or the issuer
 * (FRE_WIRE_ISSUE_REQUEST). */
FRE_API void fre_collection_ohttp_config(fre_ohttp_config *out, const fre_collection *c,
                                         fre_wire_type ask);

/* ---- what messages depend on -------------------------------------------------------------- */

struct fre_list;

/** Terms, id and, once it is known, the size of a share.  Caller's storage. */
typedef struct fre_wire {
    fre_collection c;
    fre_collection_id id;
    uint32_t
        share_bits; /**< b of a packed residue; 0: not known, nothing with a share can be made */
    uint8_t list[FRE_HASH_BYTES]; /**< SHA-256 of the list's entries, with the bits; 0: none */
} fre_wire;

/** FRE_E_DATA: c is not valid. */
FRE_API FRE_MUST_CHECK fre_status fre_wire_init(fre_wire *out, const fre_collection *c,
                                                fre_err *err);
/** bits in FRE_SHARING_BITS_MIN..FRE_SHARING_BITS_MAX, else FRE_E_ARG.  w->list stays. */
FRE_API FRE_MUST_CHECK fre_status fre_wire_set_share_bits(fre_wire *w, uint32_t bits);
/** The bits that everybody derives (fre_share_bits): two contacts: from the published list, an empty
 * one counting as one cell of tau; one, with list NULL, from the most that the terms allow,
 * one cell of all reports and as many cells as reports make.  w->list becomes the list's hash:
 * seeds sealed under another list do not open.  FRE_E_ARG: the wrong one of the two;
 * FRE_E_LIMIT: 32 bits do not suffice; FRE_E_USAGE. */
FRE_API FRE_MUST_CHECK fre_status fre_wire_derive_share_bits(fre_wire *w,
                                                             const struct fre_list *list,
                                                             fre_err *err);
/** Bytes of a packed share, fre_share_bytes; 0: bits not known. */
FRE_API size_t fre_wire_share_bytes(const fre_wire *w);
/** Type of a message and the collection that it names (zero for the three types without one), to
 * find out who has to decode it.  FRE_E_DATA: shorter than its head, another version, no such type;
 * FRE_E_LIMIT. */
FRE_API FRE_MUST_CHECK fre_status fre_wire_peek(fre_wire_type *type, fre_collection_id *id,
                                                fre_bytes in);

/** The name of a cell under the tagging key; the 128-bit name of one place. */
typedef struct fre_tag {
    uint8_t b[FRE_OPRF_TAG_BYTES];
} fre_tag;
typedef struct fre_report_id {
    uint8_t b[16];
} fre_report_id;

/* ---- tags: client and S_tag, in Oblivious HTTP -------------------------------------------- */

/** The client's cells_per_user blinded elements, always as many. */
FRE_API FRE_MUST_CHECK fre_status fre_tag_request_encode(fre_buf *out, const fre_wire *w,
                                                         const fre_oprf_element *blinded);
/** blinded: room for cells_per_user.  The elements themselves are decoded (oprf.h). */
FRE_API FRE_MUST_CHECK fre_status fre_tag_request_decode(fre_oprf_element *blinded,
                                                         const fre_wire *w, fre_bytes in,
                                                         fre_err *err);
FRE_API FRE_MUST_CHECK fre_status fre_tag_response_encode(fre_buf *out, const fre_wire *w,
                                                          const fre_oprf_element *evaluated,
                                                          const fre_oprf_proof *proof);
/** The proof is decoded, not verified: fre_oprf_finalize does. */
FRE_API FRE_MUST_CHECK fre_status fre_tag_response_decode(fre_oprf_element *evaluated,
                                                          fre_oprf_proof *proof, const fre_wire *w,
                                                          fre_bytes in, fre_err *err);

/** What the issuer needs to know who asks: a ticket or token of the app's account system. */
#define FRE_WIRE_CREDENTIALS_MAX 64u
/** Client to issuer: its credentials, and the blinded ids of its cells_per_user places. */
FRE_API FRE_MUST_CHECK fre_status fre_issue_request_encode(fre_buf *out, const fre_wire *w,
                                                           fre_bytes credentials,
                                                           const fre_oprf_element *blinded);
FRE_API FRE_MUST_CHECK fre_status fre_issue_request_decode(fre_bytes *credentials,
                                                           fre_oprf_element *blinded,
                                                           const fre_wire *w, fre_bytes in,
                                                           fre_err *err);
/** As a tag response. */
FRE_API FRE_MUST_CHECK fre_status fre_issue_response_encode(fre_buf *out, const fre_wire *w,
                                                            const fre_oprf_element *evaluated,
                                                            const fre_oprf_proof *proof);
FRE_API FRE_MUST_CHECK fre_status fre_issue_response_decode(fre_oprf_element *evaluated,
                                                            fre_oprf_proof *proof,
                                                            const fre_wire *w, fre_bytes in,
                                                            fre_err *err);

/* An exchange: a client's message inside a binary HTTP request (POST /tags or /issue, no fields), inside
 * Oblivious HTTP, and the answer.  ask: FRE_WIRE_TAG_REQUEST, to S_tag, or FRE_WIRE_ISSUE_REQUEST, to the
 * issuer.  All requests of a collection and kind have one size, and so have all answers. */

/** Client. */
FRE_API FRE_MUST_CHECK fre_status fre_exchange_ask_with(fre_ohttp_exchange *x, fre_buf *out,
                                                        const fre_wire *w, fre_wire_type ask,
                                                        fre_bytes message,
                                                        const fre_hpke_sk *ephemeral);
FRE_API FRE_MUST_CHECK fre_status fre_exchange_ask(fre_ohttp_exchange *x, fre_buf *out,
                                                   const fre_wire *w, fre_wire_type ask,
                                                   fre_bytes message, fre_rng *r);
/** Server: the message of such a request, appended to out.  key: its own seal keys. */
FRE_API FRE_MUST_CHECK fre_status fre_exchange_open(fre_ohttp_exchange *x, fre_buf *out,
                                                    const fre_wire *w, fre_wire_type ask,
                                                    const fre_hpke_keypair *key, fre_bytes in,
                                                    fre_err *err);
/** Server: a response or a rejection back, in one size whichever it is.  nonce.n:
 * fre_ohttp_nonce_bytes(x). */
FRE_API FRE_MUST_CHECK fre_status fre_exchange_answer_with(const fre_ohttp_exchange *x,
                                                           fre_buf *out, const fre_wire *w,
                                                           fre_bytes message, fre_bytes nonce);
FRE_API FRE_MUST_CHECK fre_status fre_exchange_answer(const fre_ohttp_exchange *x, fre_buf *out,
                                                      const fre_wire *w, fre_bytes message,
                                                      fre_rng *r);
/** Client: the message of the answer, appended to out. */
FRE_API FRE_MUST_CHECK fre_status fre_exchange_read(const fre_ohttp_exchange *x, fre_buf *out,
                                                    const fre_wire *w, fre_bytes in, fre_err *err);
/** Bytes of every encapsulated request (0: no such ask) and answer. */
FRE_API size_t fre_exchange_request_bytes(const fre_wire *w, fre_wire_type ask);
FRE_API size_t fre_exchange_answer_bytes(const fre_wire *w);

/** The relay's answer to who was admitted; it goes with everything that its client sends from then on. */
typedef struct fre_admission {
    uint8_t b[32]; /* SECRET of a client and the relay */
} fre_admission;
/** Client to relay: what to carry. */
typedef struct fre_carry {
    /** ISSUE_REQUEST, TAG_REQUEST (encapsulated), ENTRY or ANSWER (a whole message) */
    fre_wire_type what;
    fre_admission token; /**< zeros with an issue request */
    fre_bytes bytes;     /**< of the one size of its kind */
} fre_carry;
FRE_API FRE_MUST_CHECK fre_status fre_carry_encode(fre_buf *out, const fre_wire *w,
                                                   const fre_carry *m);
FRE_API FRE_MUST_CHECK fre_status fre_carry_decode(fre_carry *out, const fre_wire *w, fre_bytes in,
                                                   fre_err *err);
/** Relay to client: the token, and the issuer's encapsulated answer. */
typedef struct fre_admitted {
    fre_admission token;
    fre_bytes answer; /**< fre_exchange_answer_bytes */
} fre_admitted;
FRE_API FRE_MUST_CHECK fre_status fre_admitted_encode(fre_buf *out, const fre_wire *w,
                                                      const fre_admitted *m);
FRE_API FRE_MUST_CHECK fre_status fre_admitted_decode(fre_admitted *out, const fre_wire *w,
                                                      fre_bytes in, fre_err *err);

/* ---- entries: what a client hands in, one a place; with two contacts answers too ------------- */

/** What a client alone knows of a place until S_tag opens it. */
typedef struct fre_place {
    uint8_t b[16]; /* SECRET: random */
    uint32_t cell; /* SECRET: index of its text's public cell; a grid, or nothing in it: 0 */
} fre_place;
#define FRE_PLACE_BYTES 20u /* sealed */
/** id = SHA-256(label || collection || place)[:16]: unique to whoever knows the place. */
FRE_API void fre_place_id(fre_report_id *out, const fre_wire *w, const fre_place *place);

/** That the issuer gave this id a place, bound to one tag: HMAC-SHA-256(key, collection || tag)[:16],
 * key = F(k_I, id), 64 bytes. */
typedef struct fre_vouching {
    uint8_t b[16];
} fre_vouching;
FRE_API void fre_vouching_make(fre_vouching *out, const fre_wire *w, const fre_oprf_output *key,
                               const fre_tag *tag);

/** Two contacts: what a place's answer is called, SHA-256(label || collection || id || proof)[:16].
 * Whoever has the entry knows it, and to everybody else it is a random number: S_syn finds the answers of those whose
 * entries it has, and does not see whose the others are, or of which tag. */
FRE_API void fre_answer_name(fre_report_id *out, const fre_wire *w, const fre_report_id *id,
                             const fre_vouching *proof);

/** Seed and place (its cell too) sealed to S_tag, bound to collection, tag and id, and with two contacts to the list that
 * the sender saw (w->list): S_syn and issuer can't show people different counts. */
typedef struct fre_sealed_entry_seed {
    uint8_t b[FRE_SHARE_SEED_BYTES + FRE_PLACE_BYTES + FRE_HPKE_OVERHEAD];
} fre_sealed_entry_seed;
FRE_API FRE_MUST_CHECK fre_status fre_entry_seed_seal_with(
    fre_sealed_entry_seed *out, const fre_wire *w, const fre_tag *tag, const fre_report_id *id,
    const fre_share_seed *seed, const fre_place *place, const fre_hpke_sk *ephemeral);
/** FRE_E_REFUSED: not sealed under this tag and id, the place is not that of the id, or the collection has
 * no such cell. */
FRE_API FRE_MUST_CHECK fre_status fre_entry_seed_open(fre_share_seed *out, fre_place *place,
                                                      const fre_wire *w,
                                                      const fre_hpke_keypair *key,
                                                      const fre_tag *tag, const fre_report_id *id,
                                                      const fre_sealed_entry_seed *sealed);

/** Plaintext of an entry or answer.  Fields that a message of its type hasn't are ignored, and come back
 * zero: an entry has no seed and share with two contacts, an answer no tag and proof. */
typedef struct fre_entry {
    fre_report_id id; /**< an answer's: its name */
    fre_tag tag;
    fre_vouching proof;
    fre_sealed_entry_seed seed;
    fre_bytes packed; /**< S_syn's share, fre_wire_share_bytes(w) bytes */
} fre_entry;
/* type: FRE_WIRE_ENTRY, or with two contacts FRE_WIRE_ANSWER; else FRE_E_ARG. */

/** Bytes of what is sealed in one, without its head: one number a collection and type; 0: another type, or
 * there is a share in it and its bits are not known. */
FRE_API size_t fre_entry_sealed_bytes(const fre_wire *w, fre_wire_type type);
/** A whole message sealed to S_syn.  FRE_E_ARG: packed of another length; FRE_E_STATE: bits not known. */
FRE_API FRE_MUST_CHECK fre_status fre_entry_seal_with(fre_buf *out, const fre_wire *w,
                                                      fre_wire_type type, const fre_entry *m,
                                                      const fre_hpke_sk *ephemeral);
/** Relay: what is sealed, without its head; its size is right, and nothing else can be told. */
FRE_API FRE_MUST_CHECK fre_status fre_entry_split(fre_bytes *sealed, const fre_wire *w,
                                                  fre_wire_type type, fre_bytes in, fre_err *err);
/** S_syn.  plain receives the plaintext (its old content is wiped) and lends m->packed.  SECRET of its
 * sender until counted. */
FRE_API FRE_MUST_CHECK fre_status fre_entry_open(fre_entry *out, fre_buf *plain, const fre_wire *w,
                                                 fre_wire_type type, const fre_hpke_keypair *key,
                                                 fre_bytes sealed, fre_err *err);

/* ---- statements and messages between servers, all signed ---------------------------------- */

/** Messages that may be long come in parts 0..count-1, count <= FRE_WIRE_PARTS_MAX. */
#define FRE_WIRE_PARTS_MAX 65536u
typedef struct fre_part {
    uint32_t index, count;
} fre_part;
/** What is in a message that a decoder took, of a kind that comes in parts: entries or answers of a batch,
 * members of a vouch, of its answer and of an unseal request, cells of a release.  0: another kind, or cut
 * short.  Neither signature nor order is looked at. */
FRE_API uint64_t fre_wire_items(fre_bytes message);

/** S_tag: no more evaluations, the key is destroyed.  It doesn't carry the number of padding
 * reports, which would undo them. */
typedef struct fre_closed {
    int64_t time;
    uint64_t evaluations; /**< elements evaluated */
} fre_closed;
FRE_API FRE_MUST_CHECK fre_status fre_closed_encode(fre_buf *out, const fre_wire *w,
                                                    const fre_closed *m, const fre_sign_sk *sk);
FRE_API FRE_MUST_CHECK fre_status fre_closed_decode(fre_closed *out, const fre_wire *w,
                                                    fre_bytes in, fre_err *err);

/** Sealed entries on their way: what the relay collected (to S_tag), and that mixed with padding (S_tag to
 * S_syn, with its closed statement).  Two contacts: answers that the relay gathered (to S_syn). */
typedef struct fre_batch {
    fre_part part;
    fre_bytes closed; /**< mixed: a whole message; else empty */
    fre_bytes sealed; /**< n times fre_entry_sealed_bytes(w, ENTRY; gathered: ANSWER) bytes */
    uint32_t n;
} fre_batch;
/** Fewest entries in a part that is not the last. */
#define FRE_BATCH_PART_MIN 1000u
/** In how many parts n sealed entries of that type travel, at least 1, and the first of them that part i has (n behind the
 * last): as many in each as a message holds, 16384 at most, but for the last.  0: the size of an entry is not known
 * yet. */
FRE_API uint64_t fre_batch_parts(const fre_wire *w, fre_wire_type type, uint64_t n);
FRE_API uint64_t fre_batch_first(const fre_wire *w, fre_wire_type type, uint64_t n, uint64_t part);
/** type: FRE_WIRE_COLLECTED, FRE_WIRE_GATHERED (sk of the relay) or FRE_WIRE_MIXED (sk of S_tag). */
FRE_API FRE_MUST_CHECK fre_status fre_batch_encode(fre_buf *out, const fre_wire *w,
                                                   fre_wire_type type, const fre_batch *m,
                                                   const fre_sign_sk *sk);
/** `closed` is verified as well. */
FRE_API FRE_MUST_CHECK fre_status fre_batch_decode(fre_batch *out, const fre_wire *w,
                                                   fre_wire_type type, fre_bytes in, fre_err *err);

/** S_tag to the relay, before it lets anything leave that it must not make twice: what, and its hash.  The relay's acknowledgement repeats it; it gives none for another hash of the same. */
typedef enum fre_mark_kind { FRE_MARK_MIX = 1, FRE_MARK_SUM } fre_mark_kind;
typedef struct fre_mark {
    fre_mark_kind kind;
    uint8_t hash[FRE_HASH_BYTES];
} fre_mark;
/** type: FRE_WIRE_MARK (sk of S_tag) or FRE_WIRE_MARKED (sk of the relay). */
FRE_API FRE_MUST_CHECK fre_status fre_mark_encode(fre_buf *out, const fre_wire *w,
                                                  fre_wire_type type, const fre_mark *m,
                                                  const fre_sign_sk *sk);
FRE_API FRE_MUST_CHECK fre_status fre_mark_decode(fre_mark *out, const fre_wire *w,
                                                  fre_wire_type type, fre_bytes in, fre_err *err);

/* Members of tags.  Over all parts the pairs (tag, id) strictly ascend; a tag that one part can't hold
 * goes on at the start of the next. */

/** S_syn to the issuer: who is said to be under each tag. */
typedef struct fre_vouch_member {
    fre_report_id id;
    fre_vouching proof;
} fre_vouch_member;
typedef struct fre_vouch_set {
    fre_tag tag;
    uint32_t n;                     /**< >= 1 */
    const fre_vouch_member *member; /**< n */
} fre_vouch_set;
/** A decoded message; _next goes through it. */
typedef struct fre_tag_sets {
    fre_part part;
    uint32_t n;    /**< sets that are left */
    fre_bytes raw; /* what is left of them */
} fre_tag_sets;
FRE_API FRE_MUST_CHECK fre_status fre_vouch_encode(fre_buf *out, const fre_wire *w, fre_part part,
                                                   const fre_vouch_set *set, uint32_t n,
                                                   const fre_sign_sk *sk);
FRE_API FRE_MUST_CHECK fre_status fre_vouch_decode(fre_tag_sets *out, const fre_wire *w,
                                                   fre_bytes in, fre_err *err);
FRE_API bool fre_vouch_next(fre_tag_sets *s, fre_vouch_set *out);

/** Issuer to S_syn: those of them that it keeps, in the same parts; a tag of which it keeps too few isn't
 * there. */
typedef struct fre_vouched_set {
    fre_tag tag;
    uint32_t n; /**< >= 1 */
    const fre_report_id *id;
} fre_vouched_set;
FRE_API FRE_MUST_CHECK fre_status fre_vouched_encode(fre_buf *out, const fre_wire *w, fre_part part,
                                                     const fre_vouched_set *set, uint32_t n,
                                                     const fre_sign_sk *sk);
FRE_API FRE_MUST_CHECK fre_status fre_vouched_decode(fre_tag_sets *out, const fre_wire *w,
                                                     fre_bytes in, fre_err *err);
FRE_API bool fre_vouched_next(fre_tag_sets *s, fre_vouched_set *out);

/** S_syn to S_tag: the seeds of exactly those whom the issuer kept. */
typedef struct fre_unseal {
    fre_part part;
    fre_bytes vouched;                 /**< the issuer's message of that part, whole */
    fre_tag_sets sets;                 /**< decoded: its sets */
    uint32_t n;                        /**< ids in it */
    /** n, in the order of its ids; two contacts: zeros for who did not answer */
    const fre_sealed_entry_seed *seed;
} fre_unseal;
/** m->sets is ignored.  FRE_E_DATA: vouched is none, of another part, or has not n ids. */
FRE_API FRE_MUST_CHECK fre_status fre_unseal_encode(fre_buf *out, const fre_wire *w,
                                                    const fre_unseal *m, const fre_sign_sk *sk);
FRE_API FRE_MUST_CHECK fre_status fre_unseal_decode(fre_unseal *out, const fre_wire *w,
                                                    fre_bytes in, fre_err *err);

/** Splits: what cuts the ids of a tag, drawn by S_tag once they are opened. */
typedef struct fre_split_seed {
    uint8_t b[16];
} fre_split_seed;
/** third[i]: of id[i], 0 to 2.  Ids sorted by SHA-256(label || collection || seed || id) are cut into thirds, of
 * which the first n mod 3 have one more. */
FRE_API FRE_MUST_CHECK fre_status fre_split_ids(uint8_t *third, const fre_wire *w,
                                                const fre_split_seed *seed,
                                                const fre_report_id *id, size_t n);
/** Bytes of a tag's sums, 1 or 3 (fre_cell_sums): one share, or seed and three of them; 0: bits not known. */
FRE_API size_t fre_wire_sums_bytes(const fre_wire *w, uint32_t sums);

/** S_tag to S_syn: whose seeds it opened, and in the part where a tag ends the sum of all of them, or the sums
 * of their thirds.  A tag that it refuses isn't there. */
typedef struct fre_summed_set {
    fre_tag tag;
    uint32_t n; /**< 0: nobody of this part */
    const fre_report_id *id;
    fre_bytes packed; /**< fre_wire_sums_bytes(w, 1) bytes, with splits or of 3; empty: the tag goes on */
    uint32_t cell;    /**< with packed: the public cell that most of its seeds came with; else 0 */
} fre_summed_set;
FRE_API FRE_MUST_CHECK fre_status fre_summed_encode(fre_buf *out, const fre_wire *w, fre_part part,
                                                    const fre_summed_set *set, uint32_t n,
                                                    const fre_sign_sk *sk);
FRE_API FRE_MUST_CHECK fre_status fre_summed_decode(fre_tag_sets *out, const fre_wire *w,
                                                    fre_bytes in, fre_err *err);
FRE_API bool fre_summed_next(fre_tag_sets *s, fre_summed_set *out);

/** S_syn: every tag with at least tau reports, in ascending order.  Refused: a count below tau, or
 * all of them together above users * cells_per_user. */
#define FRE_LIST_MAX (UINT32_C(1) << 20)
typedef struct fre_list_entry {
    fre_tag tag;
    uint32_t count;
} fre_list_entry;
typedef struct fre_list {
    fre_bytes raw; /* 36 bytes each */
    uint32_t n;
} fre_list;
FRE_API FRE_MUST_CHECK fre_status fre_list_encode(fre_buf *out, const fre_wire *w,
                                                  const fre_list_entry *entry, uint32_t n,
                                                  const fre_sign_sk *sk);
FRE_API FRE_MUST_CHECK fre_status fre_list_decode(fre_list *out, const fre_wire *w, fre_bytes in,
                                                  fre_err *err);
/** Two contacts: the issuer says that S_syn's list is what it vouched for; this is what is published.
 * list: S_syn's whole message.  Decoding verifies both signatures. */
FRE_API FRE_MUST_CHECK fre_status fre_listed_encode(fre_buf *out, const fre_wire *w, fre_bytes list,
                                                    const fre_sign_sk *sk);
FRE_API FRE_MUST_CHECK fre_status fre_listed_decode(fre_list *out, const fre_wire *w, fre_bytes in,
                                                    fre_err *err);
/** i < n. */
FRE_API fre_list_entry fre_list_at(const fre_list *l, uint32_t i);
/** A tag's count, by binary search; false, and *count untouched, if it isn't there.  Its time depends on
 * the place: a client scans with fre_list_scan instead. */
FRE_API bool fre_list_find(const fre_list *l, const fre_tag *tag, uint32_t *count);
/** The count of a SECRET tag, 0 if it isn't there; reads the whole list, whatever it holds. */
FRE_API uint32_t fre_list_scan(const fre_list *l, const fre_tag *tag);
/** The largest count, which fixes the share's bits; 0 if the list is empty. */
FRE_API uint32_t fre_list_largest(const fre_list *l);

/** S_syn: the result of the collection, for everybody.  Cells in a random order, without their tags. */
typedef struct fre_release_cell {
    uint32_t count;        /**< >= tau */
    uint32_t cell;         /**< index of the public cell; 0 with a grid */
    const float *centroid; /**< dim finite floats */
} fre_release_cell;
#define FRE_RELEASE_STATEMENT_MAX 65535u
typedef struct fre_release_part {
    fre_part part;
    int64_t time;
    fre_bytes statement; /**< the privacy statement, UTF-8 text, in every part */
    uint32_t n;          /**< cells of this part */
    fre_bytes raw;       /* decoded: 8 + 4 dim bytes each */
} fre_release_part;
/** m->raw is ignored. */
FRE_API FRE_MUST_CHECK fre_status fre_release_part_encode(fre_buf *out, const fre_wire *w,
                                                          const fre_release_part *m,
                                                          const fre_release_cell *cell,
                                                          const fre_sign_sk *sk);
FRE_API FRE_MUST_CHECK fre_status fre_release_part_decode(fre_release_part *out, const fre_wire *w,
                                                          fre_bytes in, fre_err *err);
/** Cell i < n: its centroid into dim floats of the caller, which out->centroid points to. */
FRE_API void fre_release_part_at(fre_release_cell *out, float *centroid, const fre_release_part *m,
                                 uint32_t i);

typedef enum fre_cancel_reason {
    FRE_CANCEL_OPERATOR = 1,
    FRE_CANCEL_KEY_LOST, /**< S_tag restarted without its key */
    FRE_CANCEL_TOO_FEW,  /**< fewer reports than a batch may have */
    FRE_CANCEL_DISAGREE  /**< a server's statements contradict each other */
} fre_cancel_reason;
/** Any of the servers: the collection is void.  What was sent is spent all the same. */
typedef struct fre_cancel {
    fre_role by;
    fre_cancel_reason reason;
    int64_t time;
} fre_cancel;
/** sk: of the role m->by. */
FRE_API FRE_MUST_CHECK fre_status fre_cancel_encode(fre_buf *out, const fre_wire *w,
                                                    const fre_cancel *m, const fre_sign_sk *sk);
FRE_API FRE_MUST_CHECK fre_status fre_cancel_decode(fre_cancel *out, const fre_wire *w,
                                                    fre_bytes in, fre_err *err);

/* ---- masks: what keys are masked with at rest, in another role's memory ------------------- */

/** What is masked; the role that holds the mask. */
typedef enum fre_mask_key {
    FRE_MASK_TAG_OPRF = 1, /**< S_tag's k_T; the relay */
    FRE_MASK_TAG_SEAL,     /**< S_tag's seal key; the relay */
    FRE_MASK_ISSUER,       /**< k_I and the issuer's seal key; the relay */
    FRE_MASK_SYN_SEAL      /**< S_syn's seal key; the issuer */
} fre_mask_key;
#define FRE_MASK_KEYS 5u /* one more than the largest */
/** 0: no such key. */
FRE_API fre_role fre_mask_owner(fre_mask_key key);
FRE_API fre_role fre_mask_holder(fre_mask_key key);
/** The holder forgets the mask at this time, whoever asks. */
FRE_API int64_t fre_mask_end(const fre_collection *c, fre_mask_key key);

#define FRE_MASK_BYTES 64u
/** put: the mask, of the owner, or the holder's answer to a get.  get: of the owner, the mask's SHA-256 and 32 random
 * bytes of this question; of the holder, who has none to give, the SHA-256 of the get that it answered, or
 * zeros, and zeros.  wipe: of the owner, the SHA-256 of the mask before which all go, or zeros: all go; and
 * zeros. */
typedef struct fre_mask {
    fre_mask_key key;
    fre_role by; /**< owner or holder; whose signature it is */
    uint8_t b[FRE_MASK_BYTES]; /* SECRET: put */
} fre_mask;
/** type: FRE_WIRE_MASK_PUT, _GET or _WIPE.  sk: of m->by. */
FRE_API FRE_MUST_CHECK fre_status fre_mask_encode(fre_buf *out, const fre_wire *w,
                                                  fre_wire_type type, const fre_mask *m,
                                                  const fre_sign_sk *sk);
FRE_API FRE_MUST_CHECK fre_status fre_mask_decode(fre_mask *out, const fre_wire *w,
                                                  fre_wire_type type, fre_bytes in, fre_err *err);

/* ---- answers ------------------------------------------------------------------------------ */

/* Why a message was rejected: code, name in counters and documents. */
#define FRE_REJECTION_MAP(X)                                                                       \
    X(MALFORMED, 1, "malformed")                                                                   \
    X(COLLECTION, 2, "wrong-collection")                                                           \
    X(PHASE, 3, "wrong-phase")                                                                     \
    X(EXPIRED, 4, "expired")                                                                       \
    X(REPLAYED, 5, "replayed")                                                                     \
    X(KEY, 6, "unknown-key")                                                                       \
    X(SIZE, 7, "too-large")                                                                        \
    X(UNAUTHENTIC, 8, "unauthentic")                                                               \
    X(PROOF, 9, "bad-proof")                                                                       \
    X(FULL, 10, "full")                                                                            \
    X(DISAGREES, 11, "disagrees")                                                                  \
    X(CANCELLED, 12, "cancelled")                                                                  \
    X(UNAVAILABLE, 13, "unavailable")                                                              \
    X(ADMISSION, 14, "not-admitted")

typedef enum fre_rejection {
#define X(name, value, text) FRE_REJECTED_##name = (value),
    FRE_REJECTION_MAP(X)
#undef X
} fre_rejection;
#define FRE_REJECTIONS 15u /* one more than the largest code: size of an array of counters */

/** Static string, never NULL. */
FRE_API const char *fre_rejection_text(fre_rejection r);
/** What a receiver answers when a decoder returned s; UNAVAILABLE where the fault is its own. */
FRE_API fre_rejection fre_rejection_of(fre_status s);
FRE_API FRE_MUST_CHECK fre_status fre_rejection_encode(fre_buf *out, fre_rejection r);
FRE_API FRE_MUST_CHECK fre_status fre_rejection_decode(fre_rejection *out, fre_bytes in,
                                                       fre_err *err);
/** Confirms a message that has no other answer. */
FRE_API FRE_MUST_CHECK fre_status fre_receipt_encode(fre_buf *out);
FRE_API FRE_MUST_CHECK fre_status fre_receipt_decode(fre_bytes in, fre_err *err);

#ifdef __cplusplus
}
#endif
#endif /* FRE_WIRE_H */
