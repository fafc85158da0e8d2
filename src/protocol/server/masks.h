/* server/masks.h - masks of keys at rest. */
#ifndef FRE_SERVER_MASKS_H
#define FRE_SERVER_MASKS_H

#include "server_private.h"

/* One of our own keys. */
typedef enum mask_state {
    MASK_NONE,   /* no row, or one whose mask the holder may not have */
    MASK_PUT,    /* a mask was drawn; its holder has not said that it has it */
    MASK_KEPT,   /* the row is there, older masks may be held */
    MASK_TIDY,   /* nor these */
    MASK_REFUSED /* the holder takes none */
} mask_state;

typedef struct mask_row {
    uint8_t id[FRE_HASH_BYTES];    /* of the mask */
    uint8_t nonce[FRE_HASH_BYTES]; /* of the question for it; zeros: not asked */
    uint8_t asked[FRE_HASH_BYTES]; /* hash of the last question that was answered; zeros: none */
    uint8_t key[FRE_MASK_BYTES];   /* masked */
} mask_row;

typedef struct mask_own {
    mask_state state;
    bool has_row, over, told; /* told: the holder knows that it is over */
    mask_row row;
    size_t n;                     /* bytes of the key */
    uint8_t mask[FRE_MASK_BYTES]; /* SECRET; MASK_PUT */
} mask_own;

#define MASK_HELD_MAX 8u

/* One that is held for its owner. */
typedef struct mask_held {
    uint8_t id[FRE_HASH_BYTES];
    uint8_t mask[FRE_MASK_BYTES]; /* SECRET */
    uint8_t given[FRE_HASH_BYTES]; /* hash of the question that it answered; zeros: none */
} mask_held;

typedef struct mask_holding {
    mask_held at[MASK_HELD_MAX]; /* in the order in which they came */
    uint32_t n;
    bool over;
    bool tell; /* the owner does not know that there is none to give */
    uint8_t given[FRE_HASH_BYTES]; /* hash of the question that took the last; zeros: a restart did */
} mask_holding;

typedef struct server_masks_memory {
    mask_own own[FRE_MASK_KEYS];
    mask_holding held[FRE_MASK_KEYS];
    bool restored; /* its holders may have what it put before */
} mask_memory;

/* A hash, nonce or key that is not there. */
static inline bool mask_is_zero(const uint8_t b[FRE_HASH_BYTES])
{
    static const uint8_t zero[FRE_HASH_BYTES];

    return memcmp(b, zero, sizeof zero) == 0;
}

/* masks_held.c: the holder's side. */
FRE_MUST_CHECK fre_status masks_take(fre_server *x, fre_reply *out, fre_wire_type type,
                                     const fre_mask *m, fre_bytes in);
FRE_MUST_CHECK fre_status masks_tell(fre_server *x, fre_letters *out, fre_mask_key key);
void masks_told(fre_server *x, fre_mask_key key, fre_bytes reply);

FRE_MUST_CHECK fre_status masks_post(fre_server *x, fre_letters *out, fre_role to,
                                     fre_wire_type type, const fre_mask *m);

#endif /* FRE_SERVER_MASKS_H */
