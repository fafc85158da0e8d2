/* Inside parties: the client.  Who calls whom, from the top:
 *     client.c        tags, shares, sending, answers, what is published
 *     client_state.c  terms, beginning, end, saved state */
#ifndef FRE_PARTIES_CLIENT_H
#define FRE_PARTIES_CLIENT_H

#include "parties_private.h"

#include <fre/sharing.h>
#include <fre/sketch.h>

struct fre_terms {
    fre_wire w; /* one-shot: with the share's bits */
    fre_mechanism m;
    fre_sketch *grid;
    fre_rotation *rotation;
};

/* One of the client's cells_per_user slots, with a text or without. */
typedef struct client_slot {
    uint8_t real;         /* SECRET: 1 if there is a text and its coin fell on 1 */
    fre_cell input;       /* SECRET: the cell, or random bytes; wiped once the tag is known */
    fre_oprf_blind blind; /* SECRET: the same */
    fre_oprf_element blinded;
    fre_tag tag;      /* SECRET: random at first; if real, the text's tag once S_tag has answered */
    fre_report_id id; /* SECRET until counted */
    fre_buf message;  /* being sent: the report, then the share; empty: none, or settled */
    bool counted;     /* the relay took the report */
} client_slot;

typedef enum client_step {
    CLIENT_ASKING = 1,
    CLIENT_REPORTING,
    CLIENT_LISTENING, /* waits for the list */
    CLIENT_SHARING,
    CLIENT_DONE
} client_step;

struct fre_client {
    const fre_terms *terms;
    const fre_client_host *host;
    const float *x;
    uint32_t texts;
    int64_t now;
    client_step step;
    fre_status verdict;
    bool cancelled;
    bool spent;
    bool made; /* the reports have been made */
    bool kept; /* the host has stored this state */
    /* SECRET: seeds of what is still to be drawn; each is used in one step and wiped. */
    fre_hpke_sk ask;
    uint8_t report_seed[FRE_SEED_BYTES], share_seed[FRE_SEED_BYTES];
    client_slot *slot; /* cells_per_user */
};

/* Wipes what is secret; the step is DONE from here. */
void client_end(fre_client *c, fre_status verdict);
/* A client with nothing drawn yet; NULL: no memory. */
fre_client *client_empty(const fre_terms *terms, const float *x, uint32_t n,
                         const fre_client_host *host);

#endif /* FRE_PARTIES_CLIENT_H */
