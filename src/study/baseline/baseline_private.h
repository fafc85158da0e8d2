/* baseline_private.h - the steps of a baseline: people, cells, what survives, the folder. */
#ifndef FRE_BASELINE_PRIVATE_H
#define FRE_BASELINE_PRIVATE_H

#include <fre/aggregate.h>
#include <fre/baseline.h>
#include <fre/lm.h>
#include <fre/map.h>
#include <fre/sketch.h>

/* ---- people.c: who has what ------------------------------------------------------------------- */

/* The distinct texts (rows) and how many users count with each.  PRIVATE. */
typedef struct baseline_people {
    fre_corpus *corpus; /* of texts, else ... */
    fre_npy *npy;
    fre_names *names; /* the rows' users; NULL: not given */
    fre_survey *survey;
    float *x;         /* n x dim, clipped to the norm bound */
    uint64_t *weight; /* n; 0: a blank text, or of nobody who counts with it */
    size_t n, cap_x, cap_weight;
    uint32_t dim;
    double norm_bound;
    uint64_t users; /* sum of weight */
} baseline_people;

typedef struct baseline_run {
    const fre_baseline_opts *opts;
    fre_baseline_plan plan;
    baseline_people people;
    fre_embedder *embedder;                    /* NULL: rows without inversion */
    fre_inverter *inverter;                    /* NULL: none */
    fre_lm *lm;                                /* aug-pe: that writes */
    char evolution_id[2 * FRE_HASH_BYTES + 1]; /* aug-pe: of what a run can go on from */
    fre_sketch *sketch;
    fre_rng counts, noise, order; /* SECRET */
    uint64_t writer_seed;
    fre_text_counts text;
    fre_map cells; /* occupied ones; ldp-oue: of the domain; ldp-embedding: of noisy embeddings */
    uint64_t *true_count; /* of each.  SECRET */
    size_t cap_true_count;
    uint32_t *cell_of; /* of each row; FRE_MAP_NONE: none */
    fre_baseline_result *result;
} baseline_run;

/* Opens the input, and the embedder where one is needed. */
FRE_MUST_CHECK fre_status baseline_people_open(baseline_run *r, fre_err *err);
/* Reads all of it; texts are embedded. */
FRE_MUST_CHECK fre_status baseline_people_read(baseline_run *r, fre_err *err);
/* Reads all of it and embeds nothing: what a dry run looks at. */
FRE_MUST_CHECK fre_status baseline_people_survey(baseline_run *r, fre_err *err);
void baseline_people_wipe(baseline_people *p);

/* ---- cells.c ---------------------------------------------------------------------------------- */

/* Cells of n rows on all threads.  FRE_E_DATA: one lies outside the grid. */
FRE_MUST_CHECK fre_status baseline_cells_of(const baseline_run *r, fre_cell *cell, const float *x,
                                            size_t n, fre_err *err);
/* Number of a cell, which is entered if it is new, `users` more in it. */
FRE_MUST_CHECK fre_status baseline_enter(baseline_run *r, uint32_t *at, const fre_cell *cell,
                                         uint64_t users, fre_err *err);
/* The cells of the people themselves: cells, true_count, cell_of. */
FRE_MUST_CHECK fre_status baseline_occupied(baseline_run *r, fre_err *err);
/* Of ldp-oue: the same over a domain of its own, in which a row may have no cell. */
FRE_MUST_CHECK fre_status baseline_domain(baseline_run *r, fre_err *err);

/* What survived, in random order. */
typedef struct baseline_kept {
    uint32_t *cell;  /* of each, in `cells` */
    uint64_t *count; /* as published */
    size_t n, cap_cell, cap_count;
} baseline_kept;
FRE_MUST_CHECK fre_status baseline_keep(baseline_kept *k, uint32_t cell, uint64_t count,
                                        fre_err *err);
void baseline_shuffle(baseline_run *r, baseline_kept *k);
void baseline_kept_wipe(baseline_kept *k);
/* The release's cells, centroids all zero. */
FRE_MUST_CHECK fre_status baseline_fill(baseline_run *r, const baseline_kept *k, fre_err *err);

/* ---- the methods: central.c (both that have a sum for each cell), local.c ----------------------- */

FRE_MUST_CHECK fre_status baseline_central(baseline_run *r, fre_err *err);
FRE_MUST_CHECK fre_status baseline_local(baseline_run *r, fre_err *err);
/* Is a cell released whose bit `ones` of `users` reports have?  *count: the estimate, at least 1.  Wang et
 * al. 2017, eq. (1), with p = 1/2. */
bool baseline_oue_released(uint64_t *count, uint64_t ones, uint64_t users, uint64_t flip32,
                           uint64_t threshold);
/* Bits set for a cell that `in` of `users` are in. */
uint64_t baseline_oue_ones(fre_rng *reports, uint64_t in, uint64_t users, uint64_t flip32);

/* ---- evolve.c, write.c: aug-pe ------------------------------------------------------------------- */

FRE_MUST_CHECK fre_status baseline_evolve(baseline_run *r, fre_err *err);
/* The run is published: what it could have gone on from goes. */
void baseline_evolved(const baseline_run *r);
/* n random texts, NULL where none came; `each` variations of each of n sources, one source's after the other's,
 * the source itself where none came.  On failure some may be there: the caller frees them. */
FRE_MUST_CHECK fre_status baseline_write(baseline_run *r, char **text, size_t n, fre_err *err);
FRE_MUST_CHECK fre_status baseline_vary(baseline_run *r, char **text, size_t each,
                                        char *const *source, size_t n, uint64_t number,
                                        fre_err *err);
#define BASELINE_TEXTS 256u /* at once */
/* x: n rows of zeros or embeddings. */
FRE_MUST_CHECK fre_status baseline_embed(baseline_run *r, float *x, char *const *text, size_t n,
                                         fre_err *err);

/* ---- statement.c, publish.c ---------------------------------------------------------------------- */

bool baseline_is_private(const fre_baseline_opts *o);
FRE_MUST_CHECK fre_status baseline_statement(char **out, const fre_baseline_opts *o,
                                             const fre_baseline_plan *p, fre_err *err);
/* Puts the cells into words and writes the folder. */
FRE_MUST_CHECK fre_status baseline_publish(baseline_run *r, fre_outdir *dir, fre_err *err);

#endif
