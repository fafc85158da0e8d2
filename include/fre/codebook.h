/** fre/codebook.h - public centres of embeddings: cells that anybody can compute.
 *
 * A codebook has *levels*, from fine to coarse, and each level divides all embeddings into cells.  A level
 * stands on a *base*, K centres c_j, and may have M residual *codes* r_m, the same for every centre: its
 * cells are K x M, cell = j * M + m, and the centre of a cell is c_j + r_m.
 *
 * Definition of the cell of x, the same on every machine: the base's centres lie in groups; of the
 * `probes` groups whose means are nearest to x, the nearest centre c_j; of the codes, the one nearest to
 * x - c_j.  Nearest is by fre_dist2; ties go to the lowest index (fre_grouped_nearest).  docs/decisions/0016
 * has what the two steps cost.
 * A codebook is made of public text alone: nothing private may go into one.
 * Threads: immutable once open or made, shared between threads.
 */
#ifndef FRE_CODEBOOK_H
#define FRE_CODEBOOK_H

#include <fre/core.h>
#include <fre/linalg.h>
#include <fre/model.h>
#include <fre/param.h>
#include <fre/prior.h>
#include <fre/sketch.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Of the bundled embedder. */
#define FRE_CODEBOOK_DEFAULT "all-minilm-l6-v2.codebook.gguf"

#define FRE_CODEBOOK_ARCHITECTURE "fre-e2t-codebook" /**< general.architecture of its file */

#define FRE_CODEBOOK_LEVELS_MAX 16u
#define FRE_CODEBOOK_BASES_MAX 16u
#define FRE_CODEBOOK_CENTRES_MAX (1u << 20) /**< of a base */
#define FRE_CODEBOOK_CODES_MAX 4096u        /**< of a level */
#define FRE_CODEBOOK_CELLS_MAX (1u << 24)   /**< of a level */
#define FRE_CODEBOOK_PROBES 8u /**< groups that are looked into, unless said otherwise */

typedef struct fre_codebook fre_codebook;

/** Of lengths: .05, .25, .5, .75, .95. */
#define FRE_CODEBOOK_QUANTILES 5u

typedef struct fre_codebook_level {
    char name[24];    /**< "4096x64" (centres x codes), "4096" */
    uint32_t base;    /**< which base: levels may share one */
    uint32_t centres; /**< K */
    uint32_t codes;   /**< M; 1: no residual codes */
    uint32_t cells;   /**< K * M */
    double radius;    /**< R > 0: an offset from the centre of its cell is clipped to this length */
    double gain;      /**< >= 1: undoes what clipping to R does to a mean, as public text has it */
    /** > 0: root mean squared distance of public text from the centre of its cell */
    double spread;
    /** Of the distances of public text from the centre of its cell: at most this is each of
     * FRE_CODEBOOK_QUANTILES shares of it; all 0: not known. */
    double quantile[FRE_CODEBOOK_QUANTILES];
    uint32_t empty; /**< cells that none of the rows it was made of lay in; 0 also: not counted */
} fre_codebook_level;

typedef struct fre_codebook_info {
    uint32_t dim;
    uint32_t rows; /**< embeddings it was made of; 0: not said */
    uint32_t n_levels, n_bases;
    uint32_t probes;
    char embedder[128];             /**< the embedder's name, for people */
    char embedder_hash[65];         /**< hex SHA-256 of the embedder's file; "": made of numbers */
    char source[128];               /**< of the text, for people */
    fre_prior_card card;            /**< owned */
    uint8_t sha256[FRE_HASH_BYTES]; /**< of its own file; zero unless opened from one */
} fre_codebook_info;

/** Centres, groups one after another. */
typedef struct fre_codebook_base {
    const float *centre; /**< centres x dim */
    uint32_t centres;    /**< 1..FRE_CODEBOOK_CENTRES_MAX */
    const uint32_t
        *group; /**< n_groups: how many centres each has, at least 1, together `centres` */
    uint32_t n_groups;
} fre_codebook_base;

#define FRE_CODEBOOK_NO_MEDOID UINT32_MAX

typedef struct fre_codebook_spec {
    uint32_t base;
    uint32_t codes;    /**< 1..FRE_CODEBOOK_CODES_MAX */
    const float *code; /**< codes x dim; not read where codes is 1 */
    double radius, gain, spread;
    double quantile[FRE_CODEBOOK_QUANTILES]; /**< not falling; all 0: not known */
    uint32_t empty;                          /**< at most its cells */
    /** Of each cell: where its text begins in `text`, or FRE_CODEBOOK_NO_MEDOID; NULL: none has one. */
    const uint32_t *medoid;
} fre_codebook_spec;

/** All that a codebook is made of; borrowed for the call. */
typedef struct fre_codebook_parts {
    uint32_t dim;
    uint32_t probes; /**< groups that are looked into; a base with fewer: all */
    const fre_codebook_base *base;
    size_t n_bases;
    const fre_codebook_spec
        *level; /**< from fine to coarse: each has fewer cells than the one before */
    size_t n_levels;
    /** How public text lies about the centres: dim x dim, rows of norm 1 at right angles, and n_levels x dim
     * variances above 0 along them; NULL: not known. */
    const float *direction, *variance;
    const char *text; /**< public sentences in UTF-8, a 0 behind each; NULL: none */
    size_t text_bytes;
} fre_codebook_parts;

/** Copies.  FRE_E_DATA, with the reason: a centre of zeros or twice the same, a number that is not finite,
 * no centre, a radius that is not above 0, a gain below 1, quantiles that fall, levels repeated or out of order, a medoid that
 * does not begin a sentence. */
FRE_API FRE_MUST_CHECK fre_status fre_codebook_new(fre_codebook **out,
                                                   const fre_codebook_parts *parts, fre_err *err);
FRE_API void fre_codebook_free(fre_codebook *c);
FRE_API const fre_codebook_info *fre_codebook_info_view(const fre_codebook *c);
/** level < n_levels. */
FRE_API const fre_codebook_level *fre_codebook_level_view(const fre_codebook *c, uint32_t level);
/** Index of the level of that name; n_levels: there is none. */
FRE_API uint32_t fre_codebook_find(const fre_codebook *c, const char *name);
/** What plans, releases and terms carry of a level; level < n_levels. */
FRE_API fre_sketch_spec fre_codebook_sketch(const fre_codebook *c, uint32_t level);
/** The level as a sketch, which borrows the codebook; level < n_levels.  FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_codebook_sketch_open(fre_sketch **out, const fre_codebook *c,
                                                           uint32_t level);

/** Cells of n embeddings (n x dim) at every level: cell is n x n_levels.  A row's cells depend on nothing
 * but the row.  FRE_E_DATA: a NaN or an infinity. */
FRE_API FRE_MUST_CHECK fre_status fre_codebook_cells(const fre_codebook *c, uint32_t *cell,
                                                     const float *x, size_t n, uint32_t threads);
/** The same at n_levels of the codebook's, level[] of them: cell is n x n_levels.  FRE_E_NOMEM too. */
FRE_API FRE_MUST_CHECK fre_status fre_codebook_cells_at(const fre_codebook *c, uint32_t *cell,
                                                        const uint32_t *level, size_t n_levels,
                                                        fre_rows rows, uint32_t threads);
/** dim numbers; cell < cells of the level. */
FRE_API void fre_codebook_centre(const fre_codebook *c, uint32_t level, uint32_t cell, float *out);
/** A public sentence near the centre, borrowed; NULL: none is known. */
FRE_API const char *fre_codebook_medoid(const fre_codebook *c, uint32_t level, uint32_t cell);
/** The law of x - centre in public text at a level, as a prior with mean 0; borrowed; NULL: not known. */
FRE_API const fre_prior *fre_codebook_within(const fre_codebook *c, uint32_t level);

/* ---- its file ------------------------------------------------------------------------------------- */

/** FRE_E_NOINPUT: missing or unreadable; FRE_E_MODEL: not a codebook, cut short, or numbers that no
 * codebook has, with the reason. */
FRE_API FRE_MUST_CHECK fre_status fre_codebook_open(fre_codebook **out, const char *path,
                                                    fre_err *err);
/** A file's level as a sketch, which borrows the codebook; both owned.  As _open, and FRE_E_DATA: there is no such
 * level. */
FRE_API FRE_MUST_CHECK fre_status fre_codebook_open_level(fre_codebook **out, fre_sketch **cells,
                                                          const char *path, uint32_t level,
                                                          fre_err *err);
/** The codebook that belongs to an embedder, found as fre_prior_open_for finds a prior, with
 * ".codebook.gguf": none there: *out NULL and FRE_OK.  FRE_E_MODEL also: made for an embedder of
 * another hash or dimension. */
FRE_API FRE_MUST_CHECK fre_status fre_codebook_open_for(fre_codebook **out, const char *path,
                                                        const char *embedder_path,
                                                        const fre_model_info *embedder,
                                                        fre_err *err);
/** Rounds rows to what the file keeps: whole numbers up to 127 times a factor a row.  The rounded values
 * are the centres.  A row of zeros, and one already rounded, stays as it is. */
FRE_API void fre_codebook_round(float *row, size_t n, size_t dim);
/** The GGUF file (docs/formats.md) on f.  FRE_E_ARG: a centre that was not rounded. */
FRE_API FRE_MUST_CHECK fre_status fre_codebook_write(const fre_codebook *c, FILE *f, fre_err *err);

/* ---- making one of public text, before it is shared ------------------------------------------------ */

typedef struct fre_codebook_size {
    uint32_t centres, codes; /**< codes 1: none */
} fre_codebook_size;

/** Rows a centre that fre_codebook_make asks for. */
#define FRE_CODEBOOK_ROWS_EACH 4u
/** R; offsets are about .8 long, and decision 0016 has why shorter is better. */
FRE_API extern const fre_param fre_codebook_param_radius;
/** Rows that a maker keeps in memory, a random sample of those given. */
FRE_API extern const fre_param fre_codebook_param_rows;
#define FRE_CODEBOOK_ROUNDS 8u

typedef struct fre_codebook_make_opts {
    const fre_codebook_size *level; /**< from fine to coarse */
    size_t n_levels;
    double radius;   /**< fre_codebook_param_radius */
    uint32_t rounds; /**< of k-means, at least 1 */
    uint8_t seed[FRE_SEED_BYTES];
    uint32_t threads;
    const fre_progress *progress; /**< NULL: none */
} fre_codebook_make_opts;

/** Of embeddings of public text, finite, not zero and in random order (a sixteenth at their end is only
 * measured on).  Levels of as many centres share them.  The same rows, options and seed give the same
 * bits whatever the threads.  source: at most 127 bytes.  FRE_E_USAGE: levels or a radius that cannot be;
 * FRE_E_ARG: another option out of range; FRE_E_DATA: too few rows, or too much alike;
 * FRE_E_INTERRUPTED. */
FRE_API FRE_MUST_CHECK fre_status fre_codebook_make(fre_codebook **out, fre_rows rows,
                                                    const fre_codebook_make_opts *o,
                                                    const fre_model_info *embedder,
                                                    const char *source, fre_err *err);
/** Copy a card into a codebook, for its file.  FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_codebook_set_card(fre_codebook *c,
                                                        const fre_prior_card *card);
/** Gives each cell the text nearest to its centre, of those in it (levels of many cells: of those that
 * other levels have chosen; levels with codes: else of those of its centre).  rows: the embeddings of rows.n
 * texts in UTF-8, which may be passed on with the codebook; long ones and those with control characters are
 * passed over. */
FRE_API FRE_MUST_CHECK fre_status fre_codebook_set_medoids(fre_codebook *c, fre_rows rows,
                                                           const char *const *text,
                                                           uint32_t threads, fre_err *err);

#ifdef __cplusplus
}
#endif
#endif /* FRE_CODEBOOK_H */
