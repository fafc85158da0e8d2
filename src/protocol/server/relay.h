/* server/relay.h - the relay: carries exchanges, collects entries, hands them on in a random order; with two
 * contacts publishes the list, and does the same for answers. */
#ifndef FRE_SERVER_RELAY_H
#define FRE_SERVER_RELAY_H

#include "server_private.h"

/* What the holder of a token sent. */
typedef struct relay_sent {
    uint32_t entries, answers;
    bool exchanged;
    uint8_t again; /* how often the exchange was repeated; in no row */
} relay_sent;

#define RELAY_AGAIN_MAX 64u /* each costs S_tag an evaluation */

#define RELAY_BLOCK 1024u /* entries in a block of memory */

typedef struct relay {
    fre_server base;
    server_table token; /* hash of a token -> index of ... */
    relay_sent *sent;   /* ... what its holder sent */
    size_t tokens, token_cap;
    server_table known; /* hash of a message -> index of its entry; UINT32_MAX - 1: an exchange */
    uint8_t **block;    /* sealed entries, later answers, RELAY_BLOCK in each */
    size_t each;        /* of one size; 0: none is there */
    size_t blocks;
    uint32_t entries;
    uint64_t exchanges;
    fre_buf closed;                /* S_tag's statement */
    bool shuffled;
    uint8_t order[FRE_SEED_BYTES]; /* SECRET: of the shuffle */
    uint32_t *shuffle;             /* SECRET: entries in that order; NULL: not made */
    server_out collected, gathered;
    struct relay_mark {
        bool set;
        uint8_t hash[FRE_HASH_BYTES];
    } mark[FRE_MARK_SUM + 1];
    server_parts release_in;
    server_out release;
} relay;

/* relay_entries.c */
FRE_MUST_CHECK fre_status relay_entry_keep(relay *x, const uint8_t key[SERVER_HASH_BYTES],
                                           fre_bytes sealed);
void relay_entries_wipe(relay *x);
/* Draws the order, if it isn't there, and makes the parts that are due; to: collected or gathered. */
FRE_MUST_CHECK fre_status relay_flush(relay *x, fre_delta *rows, server_out *to);
/* All parts have arrived: entries, or answers, are erased. */
FRE_MUST_CHECK fre_status relay_flushed(relay *x, fre_delta *rows);

/* relay_carry.c: messages of clients. */
FRE_MUST_CHECK fre_status relay_carry(relay *x, fre_reply *out, fre_bytes in);
FRE_MUST_CHECK fre_status relay_returned(fre_server *x, fre_reply *out, fre_bytes in,
                                         fre_bytes back);
FRE_MUST_CHECK fre_status relay_token_load(relay *x, const fre_row *row);
FRE_MUST_CHECK fre_status relay_known_load(relay *x, const fre_row *row);

#endif /* FRE_SERVER_RELAY_H */
