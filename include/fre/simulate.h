/** fre/simulate.h - a whole collection without a network: clients, relay, issuer and both servers of
 * server.h in one process, every message made, sealed, sent and opened as it would be, under a
 * simulated clock; from a file of texts (or of embeddings) to a folder with private texts.
 *
 * A client is a user of the input with its first cells_per_user distinct texts, or one row of it.
 * Clients are made, run and dropped, each at its own times; no machine's rows are kept.  They work on
 * all threads; each server, as server.h wants it, on one at a time.  With a seed the release does
 * not depend on the number of threads.
 *
 * One process holds all keys, coins and texts here: this is for studies.  The release is what a
 * collection among such users would have published.
 */
#ifndef FRE_SIMULATE_H
#define FRE_SIMULATE_H

#include <fre/core.h>
#include <fre/corpus.h>
#include <fre/embed.h>
#include <fre/invert.h>
#include <fre/param.h>
#include <fre/privacy.h>
#include <fre/release.h>
#include <fre/server.h>
#include <fre/survey.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_SIMULATE_USERS_MAX UINT64_C(100000000)
#define FRE_SIMULATE_RATE_MAX 0.9
FRE_API extern const fre_param fre_simulate_param_dropout_rate;
FRE_API extern const fre_param fre_simulate_param_duplicate_rate;
FRE_API extern const fre_param fre_simulate_param_loss_rate;
FRE_API extern const fre_param fre_simulate_param_users;
FRE_API extern const fre_param fre_simulate_param_max_cells_per_user;

/** Servers in other processes, and the way to their relay; the clock is the real one then (rehearsal.h has one over
 * HTTP).  carry and fetch come from several threads at once. */
typedef struct fre_simulate_transport {
    void *ctx;
    /** Servers for a plan, with terms of theirs; batch_min and how many clients will come. */
    fre_status (*open)(void *ctx, fre_collection *terms, const fre_plan *plan,
                       const uint8_t embedder[FRE_HASH_BYTES], uint64_t batch_min, uint64_t clients,
                       fre_err *err);
    /** What client i shows the issuer: n bytes of FRE_WIRE_CREDENTIALS_MAX. */
    fre_status (*credentials)(void *ctx, uint8_t *out, size_t *n, const fre_collection_id *id,
                              uint64_t i);
    /** A message of a client to the relay; answer stays empty where none came. */
    fre_status (*carry)(void *ctx, fre_bytes message, fre_buf *answer);
    /** "list" or "release/N", as the relay publishes it; empty: not there (yet). */
    fre_status (*fetch)(void *ctx, const char *what, fre_buf *out);
    /** The servers end; peak_kib: their memory, by role. */
    void (*close)(void *ctx, uint64_t peak_kib[FRE_ROLE_ISSUER + 1]);
} fre_simulate_transport;

typedef struct fre_simulate_opts {
    const char *input;      /**< texts (corpus.h), "-", or a .npy of embeddings */
    const char *output;     /**< folder to make; NULL: none */
    bool force;             /**< replace the folder if it exists */
    fre_corpus_opts corpus; /**< user_field: its texts are one client's; NULL: a record is a user.
                                 invalid: as for a curator */
    const char *user_file;  /**< who the rows of a .npy belong to; NULL: a row is a user */
    fre_plan_request plan; /**< dim is set from the input; made distributed, noise discrete.  Public
                                 cells: one level by its name, and not with compare */
    const char *embedder;   /**< GGUF; NULL: bundled */
    const char *inverter;   /**< GGUF; NULL: bundled; "none": centroids only; "search": none */
    fre_search_opts search; /**< of the inverter */
    /** Clients, up to FRE_SIMULATE_USERS_MAX; 0: the input's users.  Fewer than the input has: a
     * random subset; more: all of them, and then users drawn again, at random. */
    uint64_t users;
    /* Rates in [0, FRE_SIMULATE_RATE_MAX], each independent of everything else: */
    double dropout_rate;   /**< of clients who get tags and never send their entries */
    double duplicate_rate; /**< of messages that arrive twice */
    double loss_rate;      /**< of messages lost, half of them on the way back; sent again */
    bool compare;          /**< with the curator mode, and with the exact sums */
    /** With compare: also with a curator by these levels (fre_plan_request_levels); NULL: not. */
    const char *compare_levels;
    /** GGUF, of compare_levels and of the plan's level of public cells; NULL: the embedder's. */
    const char *codebook;
    /** NULL: all roles are in this process, and so are the wires.  Else without rates of faults, compare, seed
     * and exact. */
    const fre_simulate_transport *transport;
    uint32_t threads;      /**< >= 1 */
    bool seeded;           /**< NOT PRIVATE: repeatable */
    uint8_t seed[FRE_SEED_BYTES];
    uint64_t batch_min; /**< entries without which nothing is counted */
    bool exact;         /**< for tests: nobody adds noise.  NOT PRIVATE */
    const fre_progress *progress;
    /** Called once the input has been read, before anything is embedded; NULL: not called. */
    void (*looked)(void *ctx, const fre_survey_counts *counts);
    void *looked_ctx;
} fre_simulate_opts;

/** Zero but for what has a default. */
FRE_API void fre_simulate_opts_init(fre_simulate_opts *o);

/* What clients and relay exchange, by kind. */
#define FRE_SIMULATE_LEG_MAP(X)                                                                    \
    X(ADMISSION, "admission") /* by the issuer */                                                  \
    X(TAGS, "tags")                                                                                \
    X(REPORTS, "reports")                                                                          \
    X(ANSWERS, "answers") /* two contacts */
typedef enum fre_simulate_leg {
#define X(name, text) FRE_SIMULATE_##name,
    FRE_SIMULATE_LEG_MAP(X)
#undef X
} fre_simulate_leg;
#define FRE_SIMULATE_LEGS 4u
/** Static string. */
FRE_API const char *fre_simulate_leg_text(fre_simulate_leg leg);

/** Messages of the protocol, without the transport's own bytes. */
typedef struct fre_simulate_traffic {
    uint64_t clients;  /**< who had any */
    uint64_t up, down; /**< bytes, all attempts */
} fre_simulate_traffic;

/* Wall time of a run, in order. */
#define FRE_SIMULATE_STEP_MAP(X)                                                                   \
    X(INPUT, "input") /* reading, embedding */                                                     \
    X(SETUP, "setup")                                                                              \
    X(CLIENTS, "tags and reports")                                                                 \
    X(MIX, "padding and mixing")                                                                   \
    X(COUNT, "counting") X(SUM, "sums") X(TEXTS, "inversion") X(COMPARE, "comparison")
typedef enum fre_simulate_step {
#define X(name, text) FRE_SIMULATE_STEP_##name,
    FRE_SIMULATE_STEP_MAP(X)
#undef X
} fre_simulate_step;
#define FRE_SIMULATE_STEPS 8u
/** Static string. */
FRE_API const char *fre_simulate_step_text(fre_simulate_step step);

/** What a curator by levels releases at one of them. */
typedef struct fre_simulate_level {
    char name[24];
    uint64_t cells,
        clients; /**< released cells; clients whose finest released cell is one of them */
} fre_simulate_level;

/** Two ways of doing the same with the same clients on the same grid.  Exact: without noise. */
typedef struct fre_simulate_comparison {
    uint64_t cells; /**< with at least `threshold` clients */
    /* the collection against the exact sums of those whose entries were taken */
    size_t matched; /**< released cells whose members are known by their number: all, or a fault */
    double freedom; /**< d times matched */
    double noise;   /**< sum of squared deviations from the exact means, each over its planned
                            variance: chi-square with `freedom` degrees */
    double noise_z; /**< (noise - freedom)/sqrt(2 freedom): standard normal, nearly */
    double deviation_max; /**< largest norm of such a deviation over its planned norm */
    /* the curator, with the plan of the same request */
    fre_plan curator;
    size_t curator_released, both;
    double users_gap; /**< cells of both: mean |count/p - count'/p'| over the exact size */
    double distance;  /**< cells of both: mean distance of the centroids, ... */
    double noise_collection, noise_curator; /**< ... and means of their planned noise norms */
    /* the curator by levels, with the same budget; 0 levels: not asked for */
    size_t n_levels;
    fre_simulate_level level[FRE_LEVELS_MAX + 1];
    fre_plan by_levels;
    uint64_t clients_here; /**< in the cells that the collection released and that are known */
} fre_simulate_comparison;

typedef struct fre_simulation {
    fre_plan plan;
    fre_collection_id id;
    uint64_t input_users, records; /**< of the input */
    fre_survey_counts survey;      /**< PRIVATE: of the input; repeated: by plan.threshold users */
    uint64_t empty, invalid;       /**< records of it that were skipped or repaired */
    fre_corpus_about input;        /**< what it was taken for */
    fre_text_counts text;          /**< of the records of texts; PRIVATE */
    uint64_t users;                /**< clients that were run */
    char embedder_name[128];

    fre_release release; /**< of what a collection would have released: NOT PRIVATE */

    uint64_t refused;        /**< clients whose messages were refused for good */
    uint64_t silent;         /**< dropouts */
    uint64_t lost, repeated; /**< messages, servers' included */
    fre_simulate_traffic leg[FRE_SIMULATE_LEGS];
    uint64_t server_messages, server_bytes; /**< between roles, all attempts */
    uint64_t padding;                       /**< entries that S_tag added */
    fre_tally tally[FRE_ROLE_ISSUER + 1];   /**< by role */
    uint32_t share_bits;
    double seconds[FRE_SIMULATE_STEPS];
    uint64_t peak_kib; /**< resident memory of the process, its peak */
    uint64_t role_kib[FRE_ROLE_ISSUER + 1]; /**< with a transport: of each role's */
    bool compared;
    fre_simulate_comparison comparison;
} fre_simulation;

/** Run it whole.  The folder appears complete or not at all.  Nothing is recorded in a ledger.
 * FRE_E_USAGE: a rate or a number out of its range, a plan that is no collection's; FRE_E_DATA:
 * more clients than the population; malformed input; FRE_E_REFUSED: the collection was cancelled,
 * too few clients; FRE_E_EXISTS; FRE_E_INTERRUPTED; whatever the modules return.
 * fre_simulation_free. */
FRE_API FRE_MUST_CHECK fre_status fre_simulate(fre_simulation **out, const fre_simulate_opts *opts,
                                               fre_err *err);
/** NULL is allowed. */
FRE_API void fre_simulation_free(fre_simulation *s);

#ifdef __cplusplus
}
#endif
#endif /* FRE_SIMULATE_H */
