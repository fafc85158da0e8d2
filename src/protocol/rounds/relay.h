/* Inside the relay. */
#ifndef FRE_ROUNDS_RELAY_H
#define FRE_ROUNDS_RELAY_H

#include "internal.h"

/* What is known of one client: nothing that a message holds. */
typedef struct relay_client {
    uint8_t key[ROUNDS_HASH_BYTES]; /* hash of its name */
    uint8_t ask[ROUNDS_HASH_BYTES]; /* hash of its exchange, zero: none yet */
    uint16_t reports, shares;
} relay_client;

struct fre_relay {
    rounds_base base;
    fre_sign_sk sk; /* SECRET */
    fre_relay_opts opts;
    size_t ask_bytes; /* size of every exchange */

    relay_client *client;
    size_t clients, client_cap;
    rounds_table names; /* key -> place in client */
    uint64_t all_clients, reporting, sharing, exchanges; /* numbers, kept to the end */

    /* The mix: sealed messages of one size in the order of arrival; shuffled when the flush begins. */
    fre_wire_type mixing; /* FRE_WIRE_REPORT or FRE_WIRE_SHARE */
    uint8_t *mix;
    size_t mixed, mix_cap; /* messages */
    rounds_table seen;     /* hashes of what was taken in this phase */
    uint64_t reports, shares;

    uint32_t parts, part_size; /* of the flush under way; 0: none */
    uint32_t settled;
    uint8_t *done; /* a byte a part */
    bool handed;   /* S_syn has all of this phase */

    fre_buf closed, list, void_statement;
    fre_buf *release;
    uint32_t release_parts, release_got;
};

/* What may be known of the mix after the collection: nothing. */
void relay_forget_mix(fre_relay *x);
/* Ends it: everything but what is published is wiped. */
void relay_end(fre_relay *x, fre_stage stage);

#endif /* FRE_ROUNDS_RELAY_H */
