/** fre/release.h - what a run leaves behind, in memory and as a folder with release.json,
 * synthetic.jsonl, centroids.npy (and its sidecar) and counts.npy.  docs/formats.md has every key.
 *
 * Whoever ran the mechanism fills in what it released, and nothing else: this module adds no exact
 * N, no realised noise, no count of skipped texts.  Threads: no state.
 */
#ifndef FRE_RELEASE_H
#define FRE_RELEASE_H

#include <fre/core.h>
#include <fre/corpus.h>
#include <fre/invert.h>
#include <fre/paraphrase.h>
#include <fre/privacy.h>
#include <fre/sketch.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The warning of a release without a cell, which is a success. */
#define FRE_RELEASE_NO_CELL                                                                        \
    "no cell was released: nowhere did enough users write the same, or nearly the same. A cell "   \
    "holds repeated and nearly identical wordings, not all texts about one matter; people who "    \
    "each put it their own way share none. A lower {threshold} finds smaller groups, and more "    \
    "users make larger ones"

#define FRE_RELEASE_NONE UINT32_MAX

/** A level, from fine to coarse. */
typedef struct fre_release_level {
    char name[24]; /**< "grid", or as the codebook calls it */
    fre_sketch_spec
        sketch;    /**< read back from a folder: a codebook's index of the level is not known */
    size_t cells;  /**< released ones */
} fre_release_level;

/** The same of a release by levels. */
#define FRE_RELEASE_NO_CELL_BY_LEVELS                                                              \
    "no cell was released at any level: nowhere did as many users as {threshold} write about one " \
    "matter, as far as the public cells tell matters apart. A lower {threshold} finds smaller "    \
    "groups, and more users make larger ones"

typedef struct fre_released_cell {
    uint64_t count;     /**< sampled count, >= tau */
    double users;       /**< count / p */
    double noise_norm;  /**< planned norm of the centroid's noise */
    uint32_t level;     /**< in fre_release.level */
    uint32_t centre;    /**< its public cell; FRE_RELEASE_NONE: of the grid */
    uint32_t parent;    /**< public cell of the next coarser level that the centroid lies in;
                             FRE_RELEASE_NONE: there is no such level */
    uint32_t theme;     /**< public cell of the coarsest level, likewise */
    char *around;       /**< a public text near the centre; NULL: none is known.  Owned */
    fre_inversion
        *texts; /**< n_texts further ones, typical of a public cell, the best first; owned */
    size_t n_texts;
    uint32_t
        group; /**< of lines that say nearly the same (fre_release_group); FRE_RELEASE_NONE: not known */
    fre_inversion text; /**< text NULL without an inverter; owned */
} fre_released_cell;

/** One release, as its folder holds it.  Zero is empty; fre_release_wipe. */
typedef struct fre_release {
    fre_sketch_params grid;
    uint64_t threshold; /**< t of the request, >= 1 */
    double radius;      /**< r of the request, > 0 */
    /** Of the grid's counts and sums, and the most records there may have been; 0: not said. */
    double sampling_rate, sigma;
    uint64_t tau, records_max;
    double norm_bound;  /**< B: longer embeddings were cut to it; 0: not said (an older release) */
    fre_release_level level[FRE_LEVELS_MAX + 1]; /**< n_levels, at least one */
    size_t n_levels;
    bool is_private;
    bool users_named;        /**< false: each record counted as a user */
    double min_confidence;   /**< cells were left out whose text had less (fre_release_keep) ... */
    size_t left_out;         /**< ... and how many those are */
    bool strict;             /**< a record that cannot be used would have ended the run */
    char *statement;         /**< a sentence a line; owned */
    fre_released_cell *cell; /**< n, in a random order; owned */
    size_t n;
    float *centroid; /**< n x grid.dim, finite; owned */
    /** Hash of each cell, n; NULL: nobody knows them (distributed).  Owned. */
    fre_cell *cell_name;
    fre_npy_meta embedder; /**< name "", sha256 "": not known */
} fre_release;

/** Grid, threshold, radius, norm bound and names of the levels of a plan; grid_seed: 32 bytes.  The rest stays. */
FRE_API void fre_release_set_plan(fre_release *r, const fre_plan *plan, const uint8_t *grid_seed);
/** NULL is allowed. */
FRE_API void fre_release_wipe(fre_release *r);
/** SHA-256 of the codebook of its public cells; NULL: it has none. */
FRE_API const uint8_t *fre_release_codebook(const fre_release *r);
/** Whether it is one by levels, which people read by themes. */
FRE_API bool fre_release_has_themes(const fre_release *r);

/** A release that another method made, in the same folder. */
typedef struct fre_release_method {
    const char *name;
    const char *parameters; /**< a JSON object, without what the release itself holds */
    double epsilon, delta;  /**< its claim, where the release is private, ... */
    const char *accountant; /**< ... and what certifies it */
} fre_release_method;

/** What release.json says beside the release.  Everything is borrowed for the call. */
typedef struct fre_release_context {
    const fre_plan *plan;             /**< NULL: of ... */
    const fre_release_method *method; /**< ... another method; NULL: the plan's */
    fre_inverter_parts inverter; /**< all zero: none */
    const char *ledger_entry;    /**< id; NULL: not recorded, and ... */
    const char *ledger_reason;   /**< ... why */
    const char *collection;      /**< its terms as a JSON object; NULL: a curator */
    const char *const *warning;  /**< beside the plan's own */
    size_t n_warnings;
} fre_release_context;

/** Which of the two warnings a release without a cell carries. */
FRE_API const char *fre_release_no_cell(const fre_release *r);

/** "format" of release.json: another number is another format. */
#define FRE_RELEASE_FORMAT "fre-e2t-release/1"

/** Names of the files, NULL-terminated, for fre_outdir_open. */
FRE_API const char *const *fre_release_files(void);
/** Write all files into an open outdir; the caller commits it.  FRE_E_IO, FRE_E_NOMEM,
 * FRE_E_DATA: `collection` is no JSON object. */
FRE_API FRE_MUST_CHECK fre_status fre_release_write(fre_outdir *dir, const fre_release *r,
                                                    const fre_release_context *context,
                                                    fre_err *err);
/** A folder that fre_release_write made: everything but the reasons why a cell has no text, the
 * texts' scores and distances, and the embedder's other facts than its hash.  Texts are as they
 * stand there, whoever edited them.
 * FRE_E_NOINPUT: it is no such folder; FRE_E_DATA: a file is damaged, or of another format, or
 * they do not belong together; FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_release_read(fre_release *out, const char *folder,
                                                   fre_err *err);
/** What names a release that is read from a folder: SHA-256 of its release.json, synthetic.jsonl and centroids.npy,
 * one after the other.  FRE_E_NOINPUT: no such folder; FRE_E_IO: one cannot be read; FRE_E_INTERRUPTED. */
FRE_API FRE_MUST_CHECK fre_status fre_release_sha256(uint8_t out[FRE_HASH_BYTES],
                                                     const char *folder, fre_err *err);
/** The plan's statement as a string, what a user was taken to be, and on what of the texts it depends
 * that there is a release; *out: free() it. */
FRE_API FRE_MUST_CHECK fre_status fre_release_statement(char **out, const fre_plan *plan,
                                                        bool is_private, bool users_named,
                                                        bool strict, fre_err *err);
/** The texts of the cells that have none, by their centroids; noise_std: n, planned, of a coordinate of
 * each. */
FRE_API FRE_MUST_CHECK fre_status fre_release_invert(fre_release *r, fre_inverter *inverter,
                                                     const double *noise_std,
                                                     const fre_progress *progress, fre_err *err);
/** Whether the chances of texts are known that these models wrote: of the bundled inverter's, with its own
 * embedder and no language model, for which they were fitted on public text (docs/inversion.md). */
FRE_API bool fre_release_can_weigh(const fre_inverter_parts *by);
/** Sets the confidence of all texts from what the release holds; by: who wrote them.  Leaves it unknown
 * where that cannot be. */
FRE_API void fre_release_weigh(fre_release *r, const fre_inverter_parts *by);
/** Leaves out the cells whose text has a confidence (`same`) below `least` (0..1), an unknown one, or that have
 * none; the others keep their order. */
FRE_API void fre_release_keep(fre_release *r, double least);
/** Norm of the noise that the centroid of cell i holds, at most: the planned one, and of a public cell no more
 * than its reach, to which the noisy offset from the centre was cut. */
FRE_API double fre_release_noise_left(const fre_release *r, size_t i);
/** Numbers the groups of lines that say nearly the same, the one with the most users first: the same words,
 * or centroids within the radius of that of the group's largest line, as far as their noise lets see. */
FRE_API FRE_MUST_CHECK fre_status fre_release_group(fre_release *r, fre_err *err);
/** Paraphrases of the cells' texts, near their centroids too. */
FRE_API FRE_MUST_CHECK fre_status fre_release_paraphrase(fre_release *r,
                                                         fre_paraphraser *paraphraser,
                                                         const double *noise_std,
                                                         const fre_progress *progress,
                                                         fre_err *err);

/* ---- as people read it: on a terminal, in a notebook, in a report ---- */

/** So many groups are shown, the largest, ... */
#define FRE_SHOWN_GROUPS 12u
/** ... and so many lines of each, those with the most users. */
#define FRE_SHOWN_LINES 3u
/** A text with less confidence is likelier wrong than right, ... */
#define FRE_SHOWN_WEAK 0.5
/** ... and marked, which this explains. */
#define FRE_SHOWN_MARK "? more likely wrong than right (confidence below .5)"
/** The same where there are levels: what a theme is about is right more often than how it is worded. */
#define FRE_SHOWN_MARK_THEMES                                                                      \
    "? as a sentence more likely wrong than right (below .5), as a theme less so"
/** A text with less similarity gives way to a public one (docs/decisions/0028). */
#define FRE_SHOWN_FAR 0.6

/** A line among those that it stands with. */
typedef struct fre_shown_line {
    size_t cell; /**< its index */
    double users;
    uint32_t of;     /**< group or theme; FRE_RELEASE_NONE: it stands alone */
    size_t n;        /**< lines that stand together, this one among them, >= 1 */
    double together; /**< their users */
    size_t rank;     /**< of all lines by users, from 0, ... */
    size_t first;    /**< ... and that of the first one that it stands with */
} fre_shown_line;

/** Lines of a release, all or some, as people read them: what says nearly the same stands together
 * (fre_release_group), or what is of one theme, where near wordings share that of the one with the most users.
 * The largest group comes first, its n lines by users, then the next; equal lines stand in the order of `cell`,
 * equal groups in that of their first lines.  A line without a group or theme stands alone.
 * out: n; cell: n, of which users, group and theme are read.  Source: docs/decisions/0028. */
FRE_API void fre_release_show(fre_shown_line *out, const fre_released_cell *cell, size_t n,
                              bool by_themes);

#ifdef __cplusplus
}
#endif
#endif /* FRE_RELEASE_H */
