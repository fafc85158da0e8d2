/* Inside parties: the relay.  Who calls whom, from the top:
 *     relay.c           the clock, the mix, which message goes where, the outbox
 *     relay_state.c     beginning, end, saved state, what it shows
 *     relay_registry.c  digests of the seeds that it carried */
#ifndef FRE_PARTIES_RELAY_H
#define FRE_PARTIES_RELAY_H

#include "parties_private.h"

/* What the relay knows of one client: how much it sent, nothing of what its messages hold. */
typedef struct relay_client {
    uint8_t key[PARTIES_HASH_BYTES]; /* hash of its name */
    uint8_t ask[PARTIES_HASH_BYTES]; /* hash of its exchange, zero: none yet */
    uint16_t reports, shares;
} relay_client;

/* Digests of the shares that were accepted, until S_tag has them. */
typedef struct relay_registry {
    fre_seed_digest *digest;
    size_t n, cap;
    uint32_t parts, next; /* parts: 0 before the flush; next: not settled yet */
} relay_registry;

struct fre_relay {
    parties_base base;
    fre_sign_sk sk; /* SECRET */
    fre_relay_opts opts;
    size_t ask_bytes; /* size of every exchange */

    relay_client *client;
    size_t clients, client_cap;
    parties_table names;                                 /* key -> index in client */
    uint64_t all_clients, reporting, sharing, exchanges; /* counts, kept to the end */

    /* The mix: sealed messages of one size in the order of arrival; shuffled when the flush begins.
     * Memory beyond the last part that is not settled yet is given back. */
    fre_wire_type mixing; /* FRE_WIRE_REPORT or FRE_WIRE_SHARE */
    uint8_t *mix;
    size_t mixed, mix_cap; /* messages; mixed: also those that were given back */
    parties_table seen;    /* hashes of what was accepted in this phase */
    uint64_t reports, shares;
    relay_registry registry;

    uint32_t parts, part_size; /* of the flush under way; 0: none */
    uint32_t settled;
    uint8_t *done; /* a byte a part */
    bool handed;   /* S_syn has all messages of this phase */

    fre_buf closed, list, void_statement;
    fre_buf *release;
    uint32_t release_parts, release_got;
};

/* ---- relay_state.c ---------------------------------------------------------------------------- */

/* Wipes the mix and everything about it. */
void relay_forget_mix(fre_relay *x);
/* Messages of the mix that are still in memory, the first ones. */
size_t relay_held(const fre_relay *x);
/* The relay is finished: everything that was not published is wiped. */
void relay_end(fre_relay *x, fre_stage stage);

/* ---- relay_registry.c ----------------------------------------------------------------------------- */

void relay_registry_wipe(relay_registry *r);
/* Room for one more, so that relay_registry_put can't fail. */
FRE_MUST_CHECK fre_status relay_registry_reserve(relay_registry *r);
void relay_registry_put(relay_registry *r, const fre_seed_digest *digest);
/* No more will come: sorts them, each once, and cuts them into parts; FRE_E_LIMIT: too many. */
FRE_MUST_CHECK fre_status relay_registry_close(relay_registry *r, uint32_t part_max);
/* The next part, to S_tag. */
FRE_MUST_CHECK fre_status relay_registry_post(const fre_relay *x, fre_outbox *out, uint64_t cookie);
/* That part is settled. */
void relay_registry_answered(relay_registry *r, uint64_t index);
void relay_registry_save(parties_out *o, const relay_registry *r);
void relay_registry_load(parties_in *in, relay_registry *r, uint32_t part_max, fre_status *st);

#endif /* FRE_PARTIES_RELAY_H */
