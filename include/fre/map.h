/** fre/map.h - the hash table: keys of a fixed size -> dense indices in order of insertion.
 *
 * Keys must be hashes that nobody else can choose, for their first eight bytes pick the slot: of what
 * outsiders send, fre_hash128 under a secret key; fre_text_map is the table of texts that does so by
 * itself.  Open addressing, at most two thirds full.  Threads: one thread at a time a map.
 */
#ifndef FRE_MAP_H
#define FRE_MAP_H

#include <fre/core.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_MAP_NONE UINT32_MAX /* no index */

typedef struct fre_map {
    uint8_t *keys; /**< n x key_bytes, by index */
    uint32_t *slot;
    size_t key_bytes, n, cap, n_slots;
} fre_map;

FRE_API void fre_map_init(fre_map *m, size_t key_bytes); /* key_bytes >= 8 */
/** Empty again; keys are wiped.  clear keeps the room, wipe releases it. */
FRE_API void fre_map_clear(fre_map *m);
FRE_API void fre_map_wipe(fre_map *m);
/** Index of key, which is added when absent.  FRE_E_NOMEM; FRE_E_LIMIT at 2^32 - 2 keys; the map is
 * unchanged on failure. */
FRE_API FRE_MUST_CHECK fre_status fre_map_put(fre_map *m, uint32_t *index, bool *added,
                                              const uint8_t *key);
/** Room for `more` keys, whose fre_map_put then cannot fail.  Errors as there. */
FRE_API FRE_MUST_CHECK fre_status fre_map_reserve(fre_map *m, size_t more);
/** Index of key; FRE_MAP_NONE: absent. */
FRE_API uint32_t fre_map_find(const fre_map *m, const uint8_t *key);
/** Key of index i < n; borrowed until the next put or reserve. */
FRE_API const uint8_t *fre_map_key(const fre_map *m, uint32_t i);
/** Walks all keys in an order that their bytes decide, and hardly the order in which they came: *at starts
 * at 0.  FRE_MAP_NONE after the last. */
FRE_API uint32_t fre_map_next(const fre_map *m, size_t *at);

#define FRE_TEXT_KEY_BYTES 16u

/** Distinct byte strings, told apart by a 128-bit hash under a key of its own; the strings are not
 * kept. */
typedef struct fre_text_map {
    fre_map map;
    uint8_t hash_key[32]; /* SECRET */
} fre_text_map;

/** FRE_E_INTERNAL: the system gives no randomness. */
FRE_API FRE_MUST_CHECK fre_status fre_text_map_init(fre_text_map *m);
FRE_API void fre_text_map_wipe(fre_text_map *m); /* also of one that is all zero */
/** As fre_map_put and fre_map_find. */
FRE_API FRE_MUST_CHECK fre_status fre_text_map_put(fre_text_map *m, uint32_t *index, bool *added,
                                                   const void *p, size_t n);
FRE_API uint32_t fre_text_map_find(const fre_text_map *m, const void *p, size_t n);

#ifdef __cplusplus
}
#endif
#endif /* FRE_MAP_H */
