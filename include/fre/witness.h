/** fre/witness.h - a public, append-only log of collections, of what closed them and of what they released,
 * with heads that witnesses sign: how a client knows that everybody was given the same terms, and how
 * everybody else knows what was asked.  [protocol: "a witnessed log of collection hashes"; Merkle tree of RFC 9162,
 * section 2.1, with SHA-256]
 *
 * The log is one small file, and whoever checks it checks all of it: roots are made again from the entries, so
 * there are no proofs to ask for.  A witness signs a head only if its log begins with every log that it signed
 * before; a client keeps the last head that it saw, and takes only logs that begin with it.  An operator of the
 * log who shows two people different entries needs the witnesses for both.
 *
 * File: UTF-8, JSON an object a line, in this order of time:
 *   {"format": "fre-e2t log", "version": 1, "key": 64 digits}
 *   {"entry": "collection"|"closed"|"list"|"release", "collection": 64 digits, "hash": 64 digits}
 *   {"size": n, "root": 64 digits, "time": seconds since 1970, "signature": 128 digits}
 *   {"witness": 64 digits, "size": n, "signature": 128 digits}
 * A head is about the n entries above it, and a witness's line about the last head of its size above it.  Of a
 * collection there is one entry of a kind, its own first; the hash of "collection" is its id, else SHA-256 of
 * the message (of a release: of the hashes of its parts, in their order).  signature: Ed25519 over
 * u64 n || root || u64 time, label "fre/log head/v1" of the log's key, "fre/log witness/v1" of a witness's
 * (docs/wire.md, section 1).
 *
 * Errors: FRE_E_ARG, FRE_E_NOMEM, FRE_E_DATA (with the line), FRE_E_LIMIT (64 MiB), FRE_E_REFUSED.  Threads:
 * immutable but for the calls that add.
 */
#ifndef FRE_WITNESS_H
#define FRE_WITNESS_H

#include <fre/seal.h>
#include <fre/wire.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fre_log_kind {
    FRE_LOG_COLLECTION = 1,
    FRE_LOG_CLOSED,
    FRE_LOG_LIST,
    FRE_LOG_RELEASE
} fre_log_kind;

typedef struct fre_log_entry {
    fre_log_kind kind;
    fre_collection_id collection;
    uint8_t hash[FRE_HASH_BYTES];
} fre_log_entry;

/** What the first `size` entries are, in 32 bytes. */
typedef struct fre_log_head {
    uint64_t size;
    uint8_t root[FRE_HASH_BYTES];
    int64_t time;
} fre_log_head;

typedef struct fre_log fre_log;

/** An empty log under that key. */
FRE_API FRE_MUST_CHECK fre_status fre_log_new(fre_log **out, const fre_sign_pk *key, fre_err *err);
/** A whole file, checked: entries, roots, signatures of heads and witnesses.  key: whose log it has to be.
 * FRE_E_KEY: another's. */
FRE_API FRE_MUST_CHECK fre_status fre_log_read(fre_log **out, fre_bytes in, const fre_sign_pk *key,
                                               fre_err *err);
/** The file; appended. */
FRE_API FRE_MUST_CHECK fre_status fre_log_write(fre_buf *out, const fre_log *l, fre_err *err);
FRE_API void fre_log_free(fre_log *l);

FRE_API uint64_t fre_log_entries(const fre_log *l);
/** Borrowed until the log grows; NULL: there is no entry i. */
FRE_API const fre_log_entry *fre_log_entry_view(const fre_log *l, uint64_t i);
/** Heads, and the last of them that the log's key signed.  False: there is none. */
FRE_API bool fre_log_last_head(const fre_log *l, fre_log_head *out);

/** FRE_E_REFUSED: of its collection such an entry is there, or the collection itself isn't. */
FRE_API FRE_MUST_CHECK fre_status fre_log_append(fre_log *l, const fre_log_entry *e, fre_err *err);
/** A head of all entries, not older than the last.  FRE_E_KEY: not the log's key. */
FRE_API FRE_MUST_CHECK fre_status fre_log_sign(fre_log *l, const fre_sign_sk *sk, int64_t time,
                                               fre_err *err);
/** A witness signs the last head, if it grew out of `seen`, the last that it signed (NULL: the first time).
 * FRE_E_REFUSED: it did not, and what was seen and what is here are the proof; or there is no head. */
FRE_API FRE_MUST_CHECK fre_status fre_log_witness(fre_log *l, const fre_sign_sk *sk,
                                                  const fre_log_head *seen, fre_err *err);

/** Do the first entries make that root? */
FRE_API bool fre_log_begins_with(const fre_log *l, const fre_log_head *seen);

/** Whom a client trusts, and how it wants a log. */
typedef struct fre_log_trust {
    const fre_sign_pk *witness; /**< n of them, different, none the log's own */
    size_t n, need;             /**< so many must have signed; 1..n */
    int64_t now, max_age;       /**< Unix seconds; how old such a head may be, in seconds */
    const fre_log_head *seen;   /**< the last that it trusted; NULL: none */
} fre_log_trust;
/** May a client take part in it?  *out: the head that says so, to be kept.  FRE_E_REFUSED, with the reason:
 * it is not in the log, or closed; too few witnesses signed, too long ago; the log is not the one of before. */
FRE_API FRE_MUST_CHECK fre_status fre_log_trusts(fre_log_head *out, const fre_log *l,
                                                 const fre_collection_id *id,
                                                 const fre_log_trust *t, fre_err *err);

#ifdef __cplusplus
}
#endif
#endif /* FRE_WITNESS_H */
