/* All four roles of a small collection and the wires between them, which may lose a message or its
 * answer, carry one twice, or find a machine restarted.  Beside them the truth: who holds what, and
 * what ought to come of it.  What cannot fail here aborts. */
#ifndef FRE_TEST_PARTIES_NET_H
#define FRE_TEST_PARTIES_NET_H

#include <math.h>

#include "parties_small.h"

#define NET_SLOTS 2u

typedef struct net net;

/* One user, and what is known of it: from its machine, which forgets it later. */
typedef struct net_user {
    net *n;
    fre_client *client;
    fre_client_host host;
    fre_buf disk; /* what survives a crash */
    float x[NET_SLOTS * SMALL_DIM];
    uint32_t texts;
    bool gone; /* dropped out: sends nothing more */
    bool real[NET_SLOTS];
    fre_tag tag[NET_SLOTS];   /* of the text */
    bool reported[NET_SLOTS]; /* the relay took its report */
    bool answered[NET_SLOTS]; /* the relay took a share that says something */
    bool shared[NET_SLOTS];   /* the relay took any share */
    unsigned spends;
    fre_buf first[3][NET_SLOTS];             /* what it sent first, of each kind */
    size_t asked, report_bytes, share_bytes; /* what the relay saw of it */
} net_user;

/* Faults, in 256ths. */
typedef struct net_faults {
    unsigned lose, lose_answer, twice, crash;
    bool
        in_time; /* users go down only when all is saved: else what they learned last is learned again */
} net_faults;

struct net {
    sample s;
    fre_terms *terms;
    fre_tagging_keys tag_keys;
    fre_synthesis_keys syn_keys;
    fre_tagging *tag;
    fre_synthesis *syn;
    fre_relay *relay;
    net_user *user;
    uint32_t users;
    fre_rng rng;
    fre_share_noise noise;
    net_faults faults;
    int64_t now;
    uint64_t syn_before_closed; /* bytes that S_syn had while S_tag held its key */
    void (*saw)(net *n, fre_role who, fre_bytes what); /* every message that comes in; NULL: none */
    void *seen;
    const char *broken; /* a rule that a machine broke; NULL: none */
};

/* ---- beginning and end ------------------------------------------------------------------------- */

/* The machine of a user with its texts, and what it drew. */
void net_join(net *n, uint32_t i, const float *x, uint32_t texts);
void net_open(net *n, const sample *keys, const fre_collection *c, uint32_t users,
              uint64_t batch_min, uint64_t seed);
void net_close(net *n);

/* ---- crashes ----------------------------------------------------------------------------------- */

bool net_happens(net *n, unsigned of256);
/* From what its host saved after the last call. */
void net_crash(net *n, fre_role who, bool keep_key);
/* From its disk: what the client knew besides is gone. */
void net_crash_user(net *n, uint32_t i);

/* ---- messages ---------------------------------------------------------------------------------- */

void net_handle(net *n, fre_role to, fre_bytes in, fre_buf *reply);
/* One round of a server's outbox. */
size_t net_pump(net *n, fre_role who);
fre_bytes net_name(const uint32_t *i);
/* To the relay, and through it; what it took is noted. */
void net_user_sends(net *n, uint32_t i, uint64_t cookie, fre_bytes m, fre_buf *reply);
/* One round of a client: what it reads of what is published, and what it sends. */
void net_step(net *n, uint32_t i);
/* Returns how many messages there were. */
size_t net_pump_all(net *n, unsigned rounds);
void net_step_all(net *n);

/* ---- the truth --------------------------------------------------------------------------------- */

typedef struct net_cell {
    fre_tag tag;
    uint32_t count, answers;
    double sum[SMALL_DIM]; /* of the embeddings that were answered with */
} net_cell;

/* What each tag's reports and shares come to.  Returns the number of cells. */
uint32_t net_truth(const net *n, net_cell *cell, uint32_t max);

/* ---- exact results ----------------------------------------------------------------------------- */

#define NET_CELLS_MAX 256u

/* A point of that lattice, turned back: its rotation is integers in steps, so that random rounding
 * has nothing to do and sums are exact.  Clusters share cells, mostly. */
void net_text(const net *n, float *x, uint32_t cluster, uint32_t member);

typedef struct net_result {
    uint32_t count, answers;
    int64_t sum[SMALL_DIM];
} net_result;

bool net_is_exact(const net *n, uint32_t *cells);

#endif
