/* witness_private.h - a log in memory. */
#ifndef FRE_WITNESS_PRIVATE_H
#define FRE_WITNESS_PRIVATE_H

#include <fre/map.h>
#include <fre/witness.h>

#include <stdlib.h>
#include <string.h>

#define LOG_VERSION 1
#define LOG_LABEL "fre/log head/v1"
#define WITNESS_LABEL "fre/log witness/v1"
#define LOG_FILE_MAX ((size_t)64 << 20)
#define LOG_HEAD_BYTES (8u + FRE_HASH_BYTES + 8u)

/* ---- tree.c: roots, leaf by leaf (RFC 9162, section 2.1.1) ---------------------------------------- */

typedef struct log_tree {
    uint64_t n; /* leaves */
    uint8_t
        node[64]
            [FRE_HASH_BYTES]; /* i: root of a full subtree of 2^i leaves, where n has that bit */
} log_tree;
void log_tree_add(log_tree *t, const fre_log_entry *e);
void log_tree_root(uint8_t out[FRE_HASH_BYTES], const log_tree *t);

/* ---- a log -------------------------------------------------------------------------------------------- */

typedef struct log_head {
    fre_log_head head;
    fre_signature signature;
} log_head;

typedef struct log_witness {
    size_t head; /* which */
    fre_sign_pk key;
    fre_signature signature;
} log_witness;

struct fre_log {
    fre_sign_pk key;
    log_tree tree;
    fre_text_map entries;   /* kind, collection -> index of the entry */
    fre_text_map signed_by; /* head, key -> index of the witness's line */
    fre_log_entry *entry;   /* tree.n */
    log_head *head;         /* heads, sizes and times do not fall */
    log_witness *witness;   /* witnesses, in the order in which they came */
    size_t entry_cap, heads, head_cap, witnesses, witness_cap;
};

/* log.c: checked, and taken. */
FRE_MUST_CHECK fre_status log_add_head(fre_log *l, const log_head *h, fre_err *err);
FRE_MUST_CHECK fre_status log_add_witness(fre_log *l, const log_witness *w, fre_err *err);
void log_head_bytes(uint8_t out[LOG_HEAD_BYTES], const fre_log_head *h);

extern const char *const log_kinds[FRE_LOG_RELEASE + 1]; /* by kind */

#endif /* FRE_WITNESS_PRIVATE_H */
