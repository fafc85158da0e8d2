/* curator_private.h - the pieces of one run: pass one, pass two, the folder. */
#ifndef FRE_CURATOR_PRIVATE_H
#define FRE_CURATOR_PRIVATE_H

#include <fre/codebook.h>
#include <fre/contribution.h>
#include <fre/curator.h>
#include <fre/embed.h>
#include <fre/partial.h>
#include <fre/sampler.h>
#include <fre/sketch.h>
#include <fre/survey.h>
#include <fre/map.h>
#include <fre/aggregate.h>

#define CURATOR_NONE FRE_MAP_NONE
#define CURATOR_KEY_BYTES 16u /* hash of a text or user; opens a text's record in the spool */

/* A released cell. */
typedef struct curator_cell {
    uint32_t level; /* 0: of the grid; i: of request.level[i - 1] */
    uint32_t cell;  /* in `cells`, or public */
    uint64_t count; /* sampled, or noisy as published */
    uint64_t exact; /* SECRET where counts are noisy */
    uint32_t at;    /* which it was before the order became random: how workers know it */
} curator_cell;

/* Whose coin. */
typedef struct curator_whose {
    uint8_t user[FRE_COIN_ID_BYTES], text[FRE_COIN_ID_BYTES];
} curator_whose;

/* ---- one run's state ----------------------------------------------------------------- */

typedef struct curator_run {
    const fre_curator_opts *opts;
    fre_plan plan;
    bool no_noise; /* epsilon infinite */
    uint32_t dim;
    fre_embedder *embedder; /* NULL for a .npy without inversion */
    fre_npy *npy;           /* NULL for texts */
    uint8_t rows_now[32],
        rows_before[32]; /* hashes of its rows: of those so far, of a whole pass */
    bool has_rows_before;
    fre_names *names;    /* of the rows' users; NULL: not given */
    uint32_t *first_row; /* with names: of each distinct row, in `texts` */
    size_t cap_first_row;
    fre_survey *survey; /* of the whole input, or of what was read of it so far; ... */
    bool surveyed;      /* ... the whole, before the pass that is released */
    fre_corpus *corpus; /* NULL for a .npy */
    fre_sketch *sketch;     /* NULL: levels without a grid */
    fre_codebook *codebook; /* NULL: no levels */
    fre_spool *spool; /* texts: record 0 a header, then one record a distinct text */
    size_t spool_bytes;
    uint8_t *spool_record;
    fre_partial_key key; /* of this run's coins and names; SECRET */
    fre_coin_key coins;  /* from it */
    fre_rng counts, noise, order; /* SECRET */
    uint64_t writer_seed;        /* of inverter and paraphrases */
    uint8_t grid_seed[32];       /* public */
    uint8_t hash_key[32];        /* SECRET */

    /* one entry a distinct text (a row of a .npy) */
    fre_map texts;
    uint32_t *text_cell; /* CURATOR_NONE: a blank text, which is in no cell */
    uint8_t *text_mark;  /* fre_text_mark */
    uint64_t *text_weight; /* records of it that are summed: sampled, or all that count */
    size_t n_texts, cap_text_cell, cap_text_mark, cap_text_weight;
    uint32_t *text_public;  /* n_levels each: its public cells */
    uint64_t *text_counted; /* n_levels + 1 each, the grid's first: records of it that stand for their user
                               there; of named users, those sampled */
    size_t cap_text_public, cap_text_counted;
    fre_map cells; /* occupied ones of the grid */
    fre_contributors *users;
    fre_partial *parts; /* what the last stage that was asked for added up to; NULL: records are here */
    fre_overlap_set *text_marks, *row_marks; /* of what the workers saw; NULL: the survey has them */

    uint64_t contributed;
    fre_curator_stats stats;

    bool in_ledger;                      /* this run is recorded there */
    fre_ledger_content content;          /* if it is recorded; SECRET */
    fre_ledger_content ahead;            /* the same of the survey's pass */
    const fre_ledger_content *looked_at; /* while the ledger is asked; NULL: the name alone */
    bool asked, apart; /* the user was asked, and says: not the data that it overlaps with */

    /* pass two */
    curator_cell *released; /* in their released (random) order */
    size_t n_released, cap_released;
    uint32_t *text_row; /* of each text: which released cell it is in, or CURATOR_NONE */
    float *centroid; /* n_released x dim */
} curator_run;

/* ---- options.c ------------------------------------------------------------------------------ */

/* FRE_E_USAGE: a number that only later steps read is out of its range; said before any budget is spent. */
FRE_MUST_CHECK fre_status curator_check_options(const fre_curator_opts *o, fre_err *err);

/* ---- inputs.c ------------------------------------------------------------------------------- */

FRE_MUST_CHECK fre_status curator_open_inputs(curator_run *r, fre_err *err);
/* Name and hash of what made the embeddings, as a sidecar has them. */
void curator_embedder_meta(const curator_run *r, fre_npy_meta *out);

/* ---- looked.c ------------------------------------------------------------------------------- */

/* For the curator's eyes: r->stats are those of all records. */
void curator_report(curator_run *r);
/* Marks of all texts, and of all embeddings (fre/overlap.h). */
fre_overlap_set *curator_text_marks(const curator_run *r);
fre_overlap_set *curator_row_marks(const curator_run *r);

/* ---- survey.c ------------------------------------------------------------------------------- */

/* Reads the whole input, where it can be read twice, before the first text is embedded. */
FRE_MUST_CHECK fre_status curator_survey(curator_run *r, fre_curator_result *rel,
                                         fre_inverter *inverter, fre_err *err);
/* The same checks of what could be read only once, after it was ingested: still before anything is
 * spent or released. */
FRE_MUST_CHECK fre_status curator_check_ingested(curator_run *r, fre_inverter *inverter,
                                                 fre_err *err);

/* ---- spool.c -------------------------------------------------------------------------------- */

FRE_MUST_CHECK fre_status curator_open_spool(curator_run *r, fre_err *err);
/* A killed run with {resume} left its files, and this one does not go on from them: they hold
 * encrypted embeddings and the key, so nobody should forget them. */
FRE_MUST_CHECK fre_status curator_find_leftovers(const fre_curator_opts *o, fre_curator_result *rel,
                                                 fre_err *err);

/* ---- ingest_texts.c, ingest_rows.c ----------------------------------------------------------- */

/* Pass one over texts or rows: fills the tables, draws the coins. */
FRE_MUST_CHECK fre_status curator_ingest_texts(curator_run *r, fre_err *err);
FRE_MUST_CHECK fre_status curator_ingest_rows(curator_run *r, fre_err *err);
/* A record that cannot be used ends the run. */
bool curator_is_strict(const fre_curator_opts *o);
/* Who is a user: named in the input. */
bool curator_has_users(const fre_curator_opts *o);
/* The user of a record that can be used (fre_contributors_user), for the ledger too. */
FRE_MUST_CHECK fre_status curator_user(curator_run *r, uint32_t *user, const char *name, size_t len,
                                       fre_err *err);
/* Count text (or row) `text` of `user`, if it counts, at each level where it stands.  whose: of a user with a name,
 * whose coins fall here; NULL: nobody is named, and coins fall where the text's records are all there. */
FRE_MUST_CHECK fre_status curator_contribute(curator_run *r, uint32_t text, uint32_t user,
                                             const curator_whose *whose);
/* Clip n embeddings to the norm bound and find their cells, in parallel.  FRE_E_DATA: strict, and one
 * is longer. */
FRE_MUST_CHECK fre_status curator_cells(const curator_run *r, fre_cell *cell, float *x, size_t n,
                                        fre_err *err);
bool curator_row_is_usable(const curator_run *r, size_t row);
/* n rows of the .npy from `from` on, into out (n x dim), zeros where one cannot be used; whoever reads
 * them reads all, in order.  FRE_E_AGAIN: they are not those of the pass before. */
FRE_MUST_CHECK fre_status curator_rows(curator_run *r, float *out, size_t from, size_t n,
                                       fre_err *err);
/* Enter text index i's cell of the grid (made when new) and its public ones, n_levels; NULL: it has none. */
FRE_MUST_CHECK fre_status curator_set_cell(curator_run *r, size_t i, const fre_cell *cell,
                                           const uint32_t *public_cell);

/* ---- levels.c -------------------------------------------------------------------------------- */

/* Cells of a level: 0, the grid's; else of request.level[level - 1]. */
const fre_sketch_spec *curator_sketch(const curator_run *r, uint32_t level);
/* How a level counts, the grid (0) too. */
fre_plan_level curator_plan_level(const curator_run *r, uint32_t level);
/* What the codebook knows of a level of public cells, level >= 1. */
const fre_codebook_level *curator_level_of_codebook(const curator_run *r, uint32_t level);
/* The codebook of the embedder, if levels are asked for, and what the request needs to know of it. */
FRE_MUST_CHECK fre_status curator_open_codebook(curator_run *r, fre_plan_request *q, fre_err *err);
/* It must not be made of the input (fre/overlap.h). */
FRE_MUST_CHECK fre_status curator_check_codebook(curator_run *r, fre_err *err);
/* Public cells of n clipped embeddings, n x n_levels; nothing without levels. */
FRE_MUST_CHECK fre_status curator_public_cells(const curator_run *r, uint32_t *out, const float *x,
                                               size_t n, fre_err *err);

/* ---- parts.c --------------------------------------------------------------------------------- */

/* Has a stage's parts made and added up, in r->parts. */
FRE_MUST_CHECK fre_status curator_ask(curator_run *r, uint32_t stage, fre_err *err);
/* The first stage: what curator_survey does where records are here. */
FRE_MUST_CHECK fre_status curator_survey_parts(curator_run *r, fre_curator_result *rel,
                                               fre_inverter *inverter, fre_err *err);
/* The counts of the stage that was asked for last, where a level's cells are known by their number. */
void curator_counts_of_parts(const curator_run *r, uint64_t *count);
/* The same of the grid, whose cells are entered in r->cells; *count: one each, owned. */
FRE_MUST_CHECK fre_status curator_grid_of_parts(curator_run *r, uint64_t **count, fre_err *err);
/* Sums of released cells first .. first + n - 1 in their released order.  FRE_E_AGAIN: of other records than
 * those that were counted. */
FRE_MUST_CHECK fre_status curator_sums_of_parts(const curator_run *r, int64_t *sum, size_t first,
                                                size_t n, fre_err *err);

/* ---- choose.c -------------------------------------------------------------------------------- */

/* Which cells are released, level by level, and which of them each text is in. */
FRE_MUST_CHECK fre_status curator_choose(curator_run *r, fre_err *err);

/* ---- aggregate.c ----------------------------------------------------------------------------- */

/* Pass two: choose cells, sum, add noise, divide. */
FRE_MUST_CHECK fre_status curator_aggregate(curator_run *r, fre_err *err);

/* ---- publish.c ------------------------------------------------------------------------------- */

/* Puts the cells into words and writes the folder. */
FRE_MUST_CHECK fre_status curator_publish(curator_run *r, fre_curator_result *rel,
                                          fre_inverter *inverter, fre_outdir *dir, fre_err *err);

/* ---- members.c ------------------------------------------------------------------------------ */

/* Texts of the public cells, one and texts_per_cell further ones at most; those for which nothing is drawn,
 * and all of an inverter without a decoder, keep none. */
FRE_MUST_CHECK fre_status curator_draw_members(const curator_run *r, fre_release *out,
                                               fre_inverter *inverter, fre_err *err);

/* ---- ledger_entry.c -------------------------------------------------------------------------- */

/* Check before anything is read; look with all that was read, and again when
 * it was embedded; record before noise is drawn; conclude after all, with the run's status.
 * They leave in rel what the caller is told. */
FRE_MUST_CHECK fre_status curator_ledger_check(curator_run *r, fre_curator_result *rel,
                                               fre_err *err);
FRE_MUST_CHECK fre_status curator_ledger_look(curator_run *r, fre_curator_result *rel,
                                              const fre_ledger_content *content, fre_err *err);
FRE_MUST_CHECK fre_status curator_ledger_record(curator_run *r, fre_curator_result *rel,
                                                fre_err *err);
/* After a failure the sentence also says that the budget is spent. */
void curator_ledger_conclude(fre_curator_result *rel, fre_status st, fre_err *err);

#endif
