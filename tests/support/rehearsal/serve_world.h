/* serve_world.h - a whole collection on this machine: keys, terms and configurations of four roles in a folder,
 * their processes' objects, and devices. */
#ifndef FRE_TEST_SERVE_WORLD_H
#define FRE_TEST_SERVE_WORLD_H

#include <fre/config.h>
#include <fre/rehearsal.h>
#include <fre/serve.h>
#include <fre/server.h>

#define WORLD_DIM 16u
#define WORLD_ROLES FRE_REHEARSAL_ROLES /* by fre_role; 0 is nobody */

typedef struct world {
    fre_rehearsal *r;
    fre_agreement *agreement;
    fre_config *config[WORLD_ROLES];
    fre_serve *serve[WORLD_ROLES];
} world;

/* Seconds from now on. */
typedef struct world_times {
    int open, exchange_close, tags_close, shares_close, end;
} world_times;

/* Keys, terms, configurations; nobody listens yet.  tls: as in earnest.  store: "sqlite:FOLDER" for each in the world's
 * folder, or an address. */
void world_make(world *w, const char *folder, bool tls, bool two_contacts, const world_times *t,
                const char *store);
/* One more collection of the same servers, in a folder of its own. */
void world_make_beside(world *w, const char *folder, const world *beside, const world_times *t);
/* Of a folder that world_make filled, for devices alone. */
void world_open(world *w, const char *folder);
void world_start(world *w, fre_role role);
void world_stop(world *w, fre_role role);
void world_start_all(world *w);
void world_end(world *w);

/* What the texts of a cluster embed to. */
void world_embedding(float x[WORLD_DIM], uint32_t cluster);
/* The ticket of device i, and the name in it; its length. */
size_t world_ticket(uint8_t ticket[FRE_TICKET_BYTES], char name[32], const world *w, uint32_t i);
/* Device i of some, with the text of a cluster (embeddings of one point), until all is said; UINT32_MAX: no text.  Its
 * state: FOLDER/device-I. */
fre_status world_contribute(const world *w, uint32_t i, uint32_t cluster, bool once);
/* As many at once, on as many threads.  False: one came too late, as on a busy machine: the windows of time were too
 * small. */
bool world_contribute_all(const world *w, uint32_t first, uint32_t n, uint32_t clusters);
/* Waits for the release at the relay; cells and their counts, sorted: -1: none came in so many seconds. */
int world_release(const world *w, unsigned seconds, uint32_t *count, uint32_t max);
/* A GET at a port of 127.0.0.1; the status, 0: none. */
unsigned world_get(const world *w, uint16_t port, bool tls, const char *path, fre_buf *out);

#endif
