/* Inside the client. */
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

/* One of the client's cells_per_user slots: a text, or none. */
typedef struct client_slot {
    uint8_t real;         /* SECRET: 1 if there is a text and its coin fell on 1 */
    fre_cell input;       /* SECRET: the cell, or random bytes; wiped with the tag known */
    fre_oprf_blind blind; /* SECRET: the same */
    fre_oprf_element blinded;
    fre_tag tag;      /* SECRET: random at first; the text's, if real, when the answer came */
    fre_report_id id; /* SECRET until counted */
    fre_buf message;  /* on its way: the report, then the share; empty: none, or settled */
    bool counted;     /* the relay took the report */
} client_slot;

typedef enum client_step {
    CLIENT_ASKING = 1,
    CLIENT_REPORTING,
    CLIENT_LISTENING, /* for the list */
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
    bool made; /* the reports */
    bool kept; /* the host has stored this state */
    /* SECRET: what is still to be drawn comes from these; each is used in one step and wiped. */
    fre_hpke_sk ask;
    uint8_t report_seed[FRE_SEED_BYTES], share_seed[FRE_SEED_BYTES];
    client_slot *slot; /* cells_per_user */
};

/* Wipes what is secret; the step is DONE from here. */
void client_end(fre_client *c, fre_status verdict);
/* An empty one of that shape; NULL: no memory. */
fre_client *client_empty(const fre_terms *terms, const float *x, uint32_t n,
                         const fre_client_host *host);

#endif /* FRE_PARTIES_CLIENT_H */
