/* simulate_private.h - the pieces of one run: population, roles, network, clients, exact sums,
 * comparison. */
#ifndef FRE_SIMULATE_PRIVATE_H
#define FRE_SIMULATE_PRIVATE_H

#include <fre/codebook.h>
#include <fre/collected.h>
#include <fre/embed.h>
#include <fre/map.h>
#include <fre/linalg.h>
#include <fre/simulate.h>
#include <fre/sketch.h>
#include <fre/survey.h>
#include <fre/aggregate.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- population.c: who the clients are -------------------------------------------------------- */

/* Distinct texts that are not embedded yet. */
typedef struct simulate_texts {
    fre_buf store; /* SECRET */
    size_t *at;    /* of each in the store */
    uint32_t *len;
    size_t n, cap_at, cap_len;
} simulate_texts;

/* Distinct texts are rows; users have some of them; clients are users. */
typedef struct simulate_population {
    fre_corpus *corpus; /* open and not yet read; NULL: rows, or it was read */
    fre_npy *npy;       /* rows; or, NULL, ... */
    fre_names *names;   /* of the users of npy's rows; NULL: not given */
    double norm_bound;  /* rows are clipped to it */
    float *row;         /* ... rows x dim, SECRET */
    size_t rows;
    uint32_t dim;
    /* user u: rows user_row[user_first[u]..user_first[u + 1] - 1], the ones that count */
    uint32_t *user_first, *user_row;
    size_t users;
    uint32_t *client; /* user of each client, in the order of arrival */
    uint64_t clients;
    uint64_t records;
    fre_text_counts text; /* of the texts of those who take part */
    fre_survey *survey;   /* of the input */
    simulate_texts texts;
    fre_corpus_about about;
    fre_corpus_stats stats;
    fre_npy_meta embedder;
} simulate_population;

bool simulate_has_users(const fre_simulate_opts *o);
bool simulate_is_strict(const fre_simulate_opts *o);
/* Reads no record.  *embedder: NULL for a .npy unless it is wanted. */
FRE_MUST_CHECK fre_status simulate_population_open(simulate_population *p, fre_embedder **embedder,
                                                   const fre_simulate_opts *o, fre_err *err);
/* Reads what is open; texts are embedded later. */
FRE_MUST_CHECK fre_status simulate_population_read(simulate_population *p,
                                                   const fre_simulate_opts *o, fre_err *err);
/* Who takes part. */
FRE_MUST_CHECK fre_status simulate_population_draw(simulate_population *p, uint64_t clients,
                                                   fre_rng *r, fre_err *err);
/* Embeds the texts of those who take part; rows are numbered anew. */
FRE_MUST_CHECK fre_status simulate_population_embed(simulate_population *p, fre_embedder *e,
                                                    const fre_simulate_opts *o, fre_err *err);
void simulate_population_wipe(simulate_population *p);
/* The rows of a client: their number, and *list of them. */
uint32_t simulate_client_rows(const simulate_population *p, uint64_t client, const uint32_t **list);
/* Row i as dim floats, clipped to the norm bound, zeros if it cannot be used: in place, or copied into
 * `spare`. */
FRE_MUST_CHECK fre_status simulate_row(const simulate_population *p, const float **x, float *spare,
                                       size_t i, fre_err *err);

/* ---- exact.c: what only somebody with all keys can know ----------------------------------------- */

/* A cell with enough clients that it might be listed, or released by a curator. */
typedef struct simulate_cell {
    fre_tag tag;      /* SECRET */
    uint32_t id;      /* among all cells */
    uint64_t clients; /* with a text in it */
    uint64_t members; /* whose entries the relay took */
    uint64_t answers; /* those whose shares it took: with two contacts, who answered */
    double *sum;      /* of their embeddings; dim */
    size_t released;  /* + 1: its place in the release; 0: not there */
} simulate_cell;

/* Two contacts: an entry that the relay took, by which its answer is known. */
typedef struct simulate_member {
    uint64_t client;
    size_t cell; /* place in `cell` below */
    fre_report_id answer; /* its name */
} simulate_member;

typedef struct simulate_exact {
    uint32_t *row_cell; /* id of each row's cell; SECRET */
    uint32_t *place;    /* of a cell's id: place in `cell` + 1; 0: too small */
    uint64_t *clients;  /* of a cell's id */
    size_t all;
    simulate_cell *cell; /* by tag */
    size_t n;
    double *sums; /* n x dim */
    simulate_member *member;
    size_t members, member_cap;
    bool sorted; /* members, by client: no more come */
} simulate_exact;

struct simulate_run;
/* The cells of all rows, and tags of those that may be listed. */
FRE_MUST_CHECK fre_status simulate_exact_init(struct simulate_run *s, const fre_oprf_key *key,
                                              fre_err *err);
void simulate_exact_wipe(struct simulate_run *s);
/* Cells of a client's texts, each once; out: room for FRE_COLLECTION_CELLS_MAX. */
uint32_t simulate_client_cells(const struct simulate_run *s, uint64_t client, uint32_t *cell,
                               uint32_t *row);
/* The relay took this entry or answer (type) of a client.  Takes the lock. */
FRE_MUST_CHECK fre_status simulate_exact_add(struct simulate_run *s, uint64_t client,
                                             fre_wire_type type, fre_bytes entry);

/* ---- run ------------------------------------------------------------------------------------ */

typedef struct simulate_client {
    fre_server *machine; /* NULL: not there yet, or gone */
    bool made;           /* with a transport: it was there */
    bool silent;         /* never sends its entries; with two contacts, its answers */
    bool did[FRE_SIMULATE_LEGS];
} simulate_client;

typedef struct simulate_run {
    const fre_simulate_opts *opts;
    fre_simulation *out;
    simulate_population population;
    fre_embedder *embedder;
    fre_inverter *inverter; /* NULL: no texts */
    fre_codebook *codebook; /* of the plan's level; NULL: a grid */
    fre_sketch *cells;      /* that level */
    fre_collection collection;
    fre_agreement *agreement;
    fre_wire wire;                             /* the agreement's; then with the list's sizes */
    uint8_t master[FRE_SEED_BYTES];            /* SECRET: this run's own draws come from it */
    fre_server_keys keys[FRE_ROLE_ISSUER + 1]; /* SECRET; by role */
    fre_server *server[FRE_ROLE_ISSUER + 1];   /* by role; 0: none */
    simulate_client *client;
    simulate_exact exact;
    int64_t now;
    bool remote; /* the transport is open */

    pthread_mutex_t role_lock[FRE_ROLE_ISSUER + 1]; /* of the machines, while clients run */
    pthread_mutex_t lock;                           /* of what they add up: *out, exact, fault */
    bool has_locks;
    fre_err fault;
} simulate_run;

/* A stream of one purpose. */
FRE_MUST_CHECK fre_status simulate_stream(const simulate_run *s, fre_rng *r, const char *label,
                                          uint64_t index);
/* public_cells.c: the codebook of the plan's level, if it has one ... */
FRE_MUST_CHECK fre_status simulate_open_codebook(simulate_run *s, fre_err *err);
/* ... and, once the input has been read, whether it is made of that or for others. */
FRE_MUST_CHECK fre_status simulate_check_codebook(const simulate_run *s, fre_err *err);
/* world.c: plan, terms, keys, machines of the servers. */
FRE_MUST_CHECK fre_status simulate_world_plan(simulate_run *s, fre_err *err);
FRE_MUST_CHECK fre_status simulate_world_open(simulate_run *s, fre_err *err);
void simulate_world_close(simulate_run *s);

/* links.c: the network between all; the servers until there is a list, a release, or none to come. */
bool simulate_has_faults(const simulate_run *s);
void simulate_link(const simulate_run *s, fre_links *l);
FRE_MUST_CHECK fre_status simulate_servers(simulate_run *s, fre_err *err);

/* each.c: fn for every client, in chunks on so many threads; the first fault is err. */
typedef fre_status simulate_client_fn(void *ctx, uint64_t i, fre_err *err);
FRE_MUST_CHECK fre_status simulate_each(simulate_run *s, uint32_t threads, simulate_client_fn *fn,
                                        void *ctx, fre_err *err);
/* The leg of what a client has carried, and a client's added to the run's: under the lock. */
fre_simulate_leg simulate_leg_of(fre_wire_type what);
void simulate_add_legs(simulate_run *s, simulate_client *k,
                       const fre_simulate_traffic leg[FRE_SIMULATE_LEGS]);

/* remote.c: with a transport: servers and terms; all clients, to their end; the release, part by part. */
FRE_MUST_CHECK fre_status simulate_remote_open(simulate_run *s, fre_err *err);
FRE_MUST_CHECK fre_status simulate_remote_clients(simulate_run *s, fre_err *err);
/* *out: empty: there is no such part.  Waits for the first. */
FRE_MUST_CHECK fre_status simulate_remote_part(simulate_run *s, fre_buf *out, uint32_t part,
                                               fre_err *err);
void simulate_remote_close(simulate_run *s);

/* clients.c: the machine of client i. */
FRE_MUST_CHECK fre_status simulate_make_client(simulate_run *s, fre_server **out, uint64_t i,
                                               fre_err *err);
/* clients.c: all of them, until entries are closed; with two contacts, until answers are. */
FRE_MUST_CHECK fre_status simulate_clients(simulate_run *s, fre_err *err);
FRE_MUST_CHECK fre_status simulate_answers(simulate_run *s, fre_err *err);
void simulate_clients_wipe(simulate_run *s);

/* compare.c, compare_levels.c */
FRE_MUST_CHECK fre_status simulate_compare(simulate_run *s, fre_err *err);
FRE_MUST_CHECK fre_status simulate_compare_levels(simulate_run *s, fre_err *err);

#endif
