/* A small collection, both servers, and as much of clients and relay as they need: what these hand
 * over is made here from wire.h and sharing.h, with no noise, so that sums can be compared. */
#ifndef FRE_TEST_PARTIES_SERVERS_H
#define FRE_TEST_PARTIES_SERVERS_H

#include "parties_private.h"
#include "wire_sample.h"

#define DIM 8u
#define PEOPLE_MAX 64u

typedef struct person {
    uint8_t cell[32];
    fre_tag tag;
    fre_report_id id;
    float x[DIM];
} person;

typedef struct queue {
    fre_buf item[512]; /* whole messages of clients */
    size_t n;
} queue;

typedef struct world {
    sample s; /* keys; w with the share's bits once they are known */
    fre_tagging *tag;
    fre_synthesis *syn;
    fre_rng rng;
    person who[PEOPLE_MAX];
    queue reports, shares;
    fre_buf closed;
    fre_buf list, release;
    bool registered; /* S_tag has the relay's registry */
    bool restart;    /* both servers after every call */
    bool key_kept;   /* of S_tag, over restarts */
    uint32_t cancels;
    fre_oprf_key oprf;
} world;

fre_collection small_terms(sample *s, bool one_contact);
void world_begin(world *w, const fre_collection *c);
world *world_new(bool one_contact);
void queue_wipe(queue *q);
void world_free(world *w);

/* ---- restarts --------------------------------------------------------------------------------- */

void restart_tag(world *w);
void restart_syn(world *w);

/* ---- clients ---------------------------------------------------------------------------------- */

typedef struct ask {
    fre_oprf_blind blind;
    fre_oprf_element blinded;
    fre_ohttp_exchange x;
    fre_buf request;
} ask;

void ask_begin(world *w, ask *a, fre_bytes cell);
/* The tag, or the rejection that was in the answer. */
fre_rejection ask_end(world *w, ask *a, fre_tag *tag, fre_bytes cell, fre_bytes reply);
/* A person of a group gets the group's tag from S_tag. */
void get_tag(world *w, uint32_t i, uint8_t group, int64_t now);
fre_buf *queue_add(queue *q);
/* A report or a share of person i, with a share in it where there must be one. */
void contribute(world *w, const person *p, fre_wire_type type, uint32_t count);
void null_share(world *w);

/* ---- the relay and the way between servers ------------------------------------------------------- */

void flush_encode(const world *w, fre_buf *out, const queue *q, fre_wire_type type, fre_part part,
                  size_t from, size_t to);
/* The relay's registry of n digests, which get sorted, each once: `part` of as many. */
void registry_encode(const world *w, fre_buf *out, fre_seed_digest *digest, size_t n,
                     fre_part part);
size_t queue_digests(const world *w, fre_seed_digest *digest, const queue *q, fre_wire_type type);
fre_rejection to_syn(world *w, fre_bytes in, int64_t now);
/* A rejection or not; the answer is appended to reply where that is given. */
fre_rejection to_tag(world *w, fre_buf *reply, fre_bytes in, int64_t now);
/* What S_tag needs before sets: the digests of all shares that are queued, in two parts. */
void tell_registry(world *w, int64_t now);
void flush(world *w, fre_wire_type type, uint32_t parts, int64_t now);
void keep(fre_buf *out, const fre_buf *in);
void receipt(fre_buf *out);
/* Carries what S_tag sends until it has nothing left. */
void pump_tag(world *w, int64_t now);
/* The same for S_syn.  lose: every first answer of S_tag. */
void pump_syn(world *w, int64_t now, bool lose);

/* ---- the usual course --------------------------------------------------------------------------- */

/* groups[g] people of group g + 1, the first ones first; their reports are with the relay. */
uint32_t gather(world *w, const uint32_t *groups, uint32_t n);
fre_list the_list(const world *w);
/* Up to the list; the share's bits are known afterwards. */
void close_and_count(world *w);
/* Shares of people from..to-1 whose tag is listed, null ones of the others. */
void share_all(world *w, uint32_t from, uint32_t to);
void sum_and_release(world *w, bool lose);

#endif /* FRE_TEST_PARTIES_SERVERS_H */
