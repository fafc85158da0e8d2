/* witness/tree.c - the Merkle tree of RFC 9162, section 2.1, grown leaf by leaf.
 *
 * leaf  SHA-256(0x00 || kind (1) || collection (32) || hash (32))      node  SHA-256(0x01 || left || right) */
#include "witness_private.h"

static void node_of(uint8_t out[FRE_HASH_BYTES], const uint8_t left[FRE_HASH_BYTES],
                    const uint8_t right[FRE_HASH_BYTES])
{
    static const uint8_t mark = 1;
    fre_sha256 h;

    fre_sha256_begin(&h, (fre_bytes){&mark, 1});
    fre_sha256_add(&h, left, FRE_HASH_BYTES);
    fre_sha256_add(&h, right, FRE_HASH_BYTES);
    fre_sha256_end(out, &h);
}

static void leaf_of(uint8_t out[FRE_HASH_BYTES], const fre_log_entry *e)
{
    const uint8_t head[2] = {0, (uint8_t)e->kind};
    fre_sha256 h;

    fre_sha256_begin(&h, (fre_bytes){head, sizeof head});
    fre_sha256_add(&h, e->collection.b, sizeof e->collection.b);
    fre_sha256_add(&h, e->hash, sizeof e->hash);
    fre_sha256_end(out, &h);
}

void log_tree_add(log_tree *t, const fre_log_entry *e)
{
    uint8_t at[FRE_HASH_BYTES];
    unsigned level = 0;

    leaf_of(at, e);
    for (; t->n >> level & 1; level++)
        node_of(at, t->node[level], at);
    memcpy(t->node[level], at, sizeof at);
    t->n++;
}

void log_tree_root(uint8_t out[FRE_HASH_BYTES], const log_tree *t)
{
    fre_sha256 h;
    bool any = false;

    if (t->n == 0) {
        fre_sha256_begin(&h, (fre_bytes){NULL, 0});
        fre_sha256_end(out, &h);
    }
    for (unsigned level = 0; level < 64 && t->n >> level; level++) {
        if (!(t->n >> level & 1))
            continue;
        if (any)
            node_of(out, t->node[level], out);
        else
            memcpy(out, t->node[level], FRE_HASH_BYTES);
        any = true;
    }
}
