/** fre/partial.h - a curator's counts and sums, made in parts where the data are.
 *
 * A release goes in stages: the counts of one level after the other, then the sums of the released cells.
 * For each stage the curator (fre_curator_opts.parts) writes a *task*, workers make *parts* of it over the
 * records that each has, and a fre_partial adds the parts up.  The result is what the curator would have
 * counted over all records at once, to the bit: in whatever order and however divided, and also where a
 * worker's part is made again.  Where there are many cells, each part is cut into *slices*, ranges of cells:
 * whoever has one slice of all parts *closes* it, which leaves out the cells that cannot be released.
 * docs/formats.md has the bytes, docs/decisions/0038 and 0043 what may go wrong.
 *
 * What whoever runs the workers owes: all records of a user are in one part, one after the other and at all
 * stages in the same order; records that nobody is named for come by their text, each text once in all parts,
 * with how many they are; at each stage each record is in one part, and each part is added once.
 * Parts hold exact counts and sums: SECRET.  So is the key: with the release it is worth as much as they are.
 * No process-wide state.  Threads: one thread at a time an object.
 */
#ifndef FRE_PARTIAL_H
#define FRE_PARTIAL_H

#include <fre/aggregate.h>
#include <fre/codebook.h>
#include <fre/core.h>
#include <fre/ledger.h>
#include <fre/overlap.h>
#include <fre/privacy.h>
#include <fre/sketch.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_PARTIAL_BYTES_MAX ((size_t)1 << 30) /* of a task or a part */
#define FRE_PARTIAL_PARTS_MAX (1u << 20)        /* in one */
#define FRE_PARTIAL_SLICES_MAX 4096u            /* of a part */
#define FRE_PARTIAL_COUNT_MAX (((uint64_t)1 << 40) - 1)
#define FRE_PARTIAL_SUM_MAX ((int64_t)1 << 62)

/** Of one release: names of users and texts, and all coins, come from it.  SECRET; it goes to the workers
 * beside the task, in nothing that is kept. */
typedef struct fre_partial_key {
    uint8_t b[FRE_SEED_BYTES];
} fre_partial_key;

/** What a key is for: ids: 32 bytes under which users and texts are hashed (fre_hash128); coins.
 * FRE_E_INTERNAL: no cryptography. */
FRE_API FRE_MUST_CHECK fre_status fre_partial_key_expand(uint8_t ids[FRE_SEED_BYTES],
                                                         fre_coin_key *coins,
                                                         const fre_partial_key *key);
/** SHA-256 of "fre/partial/key/v1" || key. */
FRE_API void fre_partial_key_commit(uint8_t out[FRE_HASH_BYTES], const fre_partial_key *key);

/* ---- tasks ------------------------------------------------------------------------------------ */

typedef struct fre_partial_level {
    fre_sketch_spec sketch;
    fre_counts counts;   /**< the grid: sampled */
    uint64_t p32;        /**< sampled: 1..2^32; noisy: 0 */
    uint64_t tau;        /**< sampled: a cell of fewer is not released, >= 1; noisy: 0 */
    double lattice_step; /**< > 0 */
} fre_partial_level;

/** All of a run that is the same at every stage. */
typedef struct fre_partial_terms {
    bool not_private;  /**< the key comes from a seed */
    uint32_t dim;      /**< 1..FRE_SKETCH_DIM_MAX */
    double norm_bound; /**< > 0 */
    uint32_t cells_per_user;
    bool no_grid;
    uint8_t grid_seed[FRE_SEED_BYTES];
    uint32_t n_levels; /**< of public cells, all of one codebook file; 0..FRE_LEVELS_MAX */
    fre_partial_level level[FRE_LEVELS_MAX + 1]; /**< 0: the grid, not read where there is none */
    uint8_t embedder[FRE_HASH_BYTES];            /**< of its file; zeros: not known */
    uint8_t key[FRE_HASH_BYTES];                 /**< fre_partial_key_commit */
    uint8_t salt[FRE_LEDGER_SALT_BYTES];         /**< of the ledger's book; zeros: none */
} fre_partial_terms;

/** A cell that was released; in order of level, then of name or number. */
typedef struct fre_partial_cell {
    uint32_t level;              /**< 0: of the grid; i: of terms.level[i] */
    uint32_t cell;               /**< public; else 0 */
    uint8_t name[FRE_CELL_BYTES]; /**< of the grid; else zeros */
} fre_partial_cell;

#define FRE_PARTIAL_SUMS UINT32_MAX /* the stage behind all levels */

typedef struct fre_partial_task {
    fre_partial_terms terms;
    uint32_t stage;  /**< the level that is counted, or FRE_PARTIAL_SUMS */
    uint64_t points; /**< FRE_PARTIAL_SUMS: added to one sum at most; else 0 */
    fre_partial_cell *released; /**< n_released, of finer levels; at FRE_PARTIAL_SUMS of all */
    size_t n_released;
} fre_partial_task;

/** The first stage, which looks the records over as well. */
FRE_API uint32_t fre_partial_first_stage(const fre_partial_terms *t);
/** Appends.  FRE_E_ARG: a field outside its range; FRE_E_NOMEM, FRE_E_LIMIT. */
FRE_API FRE_MUST_CHECK fre_status fre_partial_task_encode(fre_buf *out, const fre_partial_task *t);
/** out: fre_partial_task_wipe.  FRE_E_DATA: not the bytes of a task, of another version, cut or changed;
 * FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_partial_task_decode(fre_partial_task *out, fre_bytes task,
                                                          fre_err *err);
FRE_API void fre_partial_task_wipe(fre_partial_task *t);

/* ---- parts, and what they add up to ------------------------------------------------------------ */

typedef struct fre_partial fre_partial;

/** What the first stage sees of all records.  SECRET. */
typedef struct fre_partial_survey {
    uint64_t records, users;
    uint64_t counted; /**< records that stand for their user at a level */
    uint64_t blank;   /**< records in no cell, since their text holds no word */
    fre_ledger_content content;
    fre_overlap_set *texts, *rows; /**< marks of what the workers were shown; owned */
} fre_partial_survey;

/** Nothing yet of a task (copied).  As fre_partial_task_decode. */
FRE_API FRE_MUST_CHECK fre_status fre_partial_new(fre_partial **out, fre_bytes task, fre_err *err);
FRE_API void fre_partial_free(fre_partial *p); /* wipes */
/** Add a part, or several that were added up before: the same slice of other parts, none of it closed, or another
 * slice of the very same parts, all closed or none.  On failure nothing is added.
 * FRE_E_DATA: not the bytes of a part, cut or changed, of another task, with a part or a slice that is in here already,
 * or neither of the two; FRE_E_LIMIT: a count or a sum beyond the limits above; FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_partial_add(fre_partial *p, fre_bytes part, fre_err *err);
/** No part is missing: `parts` were made.  Cells that a sampled count cannot release are left out.
 * FRE_E_DATA: another number of parts is in; FRE_E_ARG: closed already; FRE_E_NOMEM; unchanged on failure. */
FRE_API FRE_MUST_CHECK fre_status fre_partial_close(fre_partial *p, size_t parts, fre_err *err);
/** Appends one slice, or all of them as if nobody had cut; the same whatever the order in which they came.
 * FRE_E_ARG: no part, or some slices of several, are in; FRE_E_NOMEM, FRE_E_LIMIT. */
FRE_API FRE_MUST_CHECK fre_status fre_partial_encode(fre_buf *out, const fre_partial *p);
/** Whether all slices are in.  FRE_E_DATA: not all; FRE_E_NOINPUT: no part at all. */
FRE_API FRE_MUST_CHECK fre_status fre_partial_check_whole(const fre_partial *p, fre_err *err);
FRE_API const fre_partial_task *fre_partial_task_view(const fre_partial *p);
/** Borrowed; NULL: not of the first stage. */
FRE_API const fre_partial_survey *fre_partial_survey_view(const fre_partial *p);
/** Cells with a record, in no order ... */
FRE_API size_t fre_partial_cells(const fre_partial *p);
/** ... but for so many that closing left out. */
FRE_API uint64_t fre_partial_left_out(const fre_partial *p);
/** The count of one, i < fre_partial_cells.  A count's stage: *cell is which; the sums': its index in
 * `released`, in cell->cell.  *sum: dim of them, borrowed; NULL: a count's stage. */
FRE_API uint64_t fre_partial_cell_view(const fre_partial *p, size_t i, fre_partial_cell *cell,
                                       const int64_t **sum);

/** Into how many slices each of so many parts of a task is best cut: a slice of all parts is then small, and so is
 * what they say of themselves. */
FRE_API uint32_t fre_partial_slices(const fre_partial_task *t, size_t parts);

/* ---- workers ----------------------------------------------------------------------------------- */

typedef struct fre_partial_worker fre_partial_worker;

/** part: differs from those of all other workers of the stage, and is the same again when the part is made again.
 * codebook: of the terms' levels, borrowed while the worker lives; NULL: there are none.
 * FRE_E_KEY: another run's key; FRE_E_MODEL: another codebook, or none; else as fre_partial_task_decode. */
FRE_API FRE_MUST_CHECK fre_status fre_partial_worker_new(fre_partial_worker **out, fre_bytes task,
                                                         const fre_partial_key *key,
                                                         const fre_codebook *codebook,
                                                         uint64_t part, fre_err *err);
FRE_API void fre_partial_worker_free(fre_partial_worker *w); /* wipes */
FRE_API const fre_partial_task *fre_partial_worker_task(const fre_partial_worker *w);

/** What a user, or a text, is called: a hash under the key, FRE_COIN_ID_BYTES.  Of embeddings without texts: of
 * the row's floats. */
FRE_API void fre_partial_worker_id(const fre_partial_worker *w, uint8_t *id, fre_bytes name);
/** Bytes of a place: in which cell of each level an embedding lies. */
FRE_API size_t fre_partial_worker_place_bytes(const fre_partial_worker *w);
/** Places of rows of dim floats, one after the other; a row of zeros, a text without a word, lies nowhere.
 * FRE_E_DATA: a NaN, an infinity, or a row outside the grid; FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_partial_worker_place(const fre_partial_worker *w,
                                                           uint8_t *place, fre_rows rows,
                                                           uint32_t threads, fre_err *err);

/** One text of a user, or all records of a text that nobody is named for. */
typedef struct fre_partial_record {
    const uint8_t *user; /**< fre_partial_worker_id; NULL: nobody is named */
    const uint8_t *text; /**< fre_partial_worker_id */
    uint64_t records;    /**< >= 1; of a named user they count once */
    const uint8_t *place;
    const float *x; /**< as it was placed; read where sums are made */
    /** Read at the first stage, for the ledger and to tell public material from private; may be empty. */
    fre_bytes user_name, text_bytes;
    const float *row; /**< the same; NULL: not told */
} fre_partial_record;

/** Count a record, and add it to its cell's sum at the last stage.
 * FRE_E_DATA: a place that is none of the terms'; a user whose records do not lie together, or a text of nobody that
 * came before; named users and nobody's records mixed; a coordinate too large for exact sums; FRE_E_LIMIT, FRE_E_NOMEM.  After a failure only
 * fre_partial_worker_free is left. */
FRE_API FRE_MUST_CHECK fre_status fre_partial_worker_add(fre_partial_worker *w,
                                                         const fre_partial_record *r,
                                                         fre_err *err);
/** The part, cut into slices (1: whole); out: as many, empty, and empty again on failure.  All of them have to be added,
 * those without a cell too.  FRE_E_ARG: not 1..FRE_PARTIAL_SLICES_MAX; FRE_E_NOMEM, FRE_E_LIMIT. */
FRE_API FRE_MUST_CHECK fre_status fre_partial_worker_finish(const fre_partial_worker *w,
                                                            fre_buf *out, uint32_t slices);

#ifdef __cplusplus
}
#endif
#endif /* FRE_PARTIAL_H */
