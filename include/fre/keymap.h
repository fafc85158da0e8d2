/** fre/keymap.h - keys of a fixed size that are hashes already -> dense indices in order of insertion.
 * Threads: one thread at a time a map.
 */
#ifndef FRE_KEYMAP_H
#define FRE_KEYMAP_H

#include <fre/core.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_KEYMAP_NONE UINT32_MAX /* no index */

typedef struct fre_keymap {
    uint8_t *keys; /**< n x key_bytes; their first eight bytes pick the slot */
    uint32_t *slot;
    size_t key_bytes, n, cap, n_slots;
} fre_keymap;

FRE_API void fre_keymap_init(fre_keymap *t, size_t key_bytes); /* key_bytes >= 8 */
FRE_API void fre_keymap_wipe(fre_keymap *t);
/** Index of key, added when absent.  FRE_E_NOMEM; FRE_E_LIMIT at 2^32 - 2 keys. */
FRE_API FRE_MUST_CHECK fre_status fre_keymap_put(fre_keymap *t, uint32_t *index, bool *added,
                                                 const uint8_t *key);

#ifdef __cplusplus
}
#endif
#endif /* FRE_KEYMAP_H */
