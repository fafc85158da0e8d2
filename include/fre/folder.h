/** fre/folder.h - what a run leaves behind: a folder with release.json, synthetic.jsonl,
 * centroids.npy (and its sidecar) and counts.npy.  docs/formats.md has every key.
 *
 * Whoever ran the mechanism hands over what it released, and nothing else: this module adds no exact
 * N, no realised noise, no count of skipped texts.  Threads: no state.
 */
#ifndef FRE_FOLDER_H
#define FRE_FOLDER_H

#include <fre/core.h>
#include <fre/corpus.h>
#include <fre/invert.h>
#include <fre/paraphrase.h>
#include <fre/privacy.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The warning of a release without a cell, which is a success. */
#define FRE_FOLDER_NO_CELL                                                                         \
    "no cell was released: nowhere did enough users write the same, or nearly the same. A cell "   \
    "holds repeated and nearly identical wordings, not all texts about one matter; people who "    \
    "each put it their own way share none. A lower {threshold} finds smaller groups, and more "    \
    "users make larger ones"

#define FRE_FOLDER_CELL_BYTES 32u

typedef struct fre_released_cell {
    uint64_t count;     /**< sampled count, >= tau */
    uint64_t answers;   /**< distributed: shares that the centroid is the mean of; curator: count */
    double users;       /**< count / p */
    double noise_norm;  /**< planned norm of the centroid's noise */
    fre_inversion text; /**< text NULL without an inverter; owned by whoever owns the cell */
} fre_released_cell;

/** One release.  Everything is borrowed for the call. */
typedef struct fre_folder {
    const fre_plan *plan;
    const uint8_t *grid_seed; /**< 32 bytes */
    uint32_t dim;
    bool is_private;
    bool users_named;              /**< false: each record counted as a user */
    bool strict;                   /**< a record that cannot be used would have ended the run */
    const char *statement;         /**< fre_folder_statement */
    const fre_released_cell *cell; /**< n, in a random order */
    size_t n;
    const float *centroid; /**< n x dim, finite */
    /** Hash of each cell, FRE_FOLDER_CELL_BYTES each; NULL: nobody knows them (distributed). */
    const uint8_t *cell_name;
    fre_npy_meta embedder;       /**< name "", sha256 "": not known */
    fre_inverter_parts inverter; /**< all zero: none */
    const char *ledger_entry;    /**< id; NULL: not recorded, and ... */
    const char *ledger_reason;   /**< ... why */
    const char *collection;      /**< its terms as a JSON object; NULL: a curator */
    const char *const *warning;  /**< beside the plan's own */
    size_t n_warnings;
} fre_folder;

/** Names of the files, NULL-terminated, for fre_outdir_open. */
FRE_API const char *const *fre_folder_names(void);
/** Write all files into an open outdir; the caller commits it.  FRE_E_IO, FRE_E_NOMEM,
 * FRE_E_DATA: `collection` is no JSON object. */
FRE_API FRE_MUST_CHECK fre_status fre_folder_write(fre_outdir *dir, const fre_folder *f,
                                                   fre_err *err);
/** The plan's statement as a string, what a user was taken to be, and on what of the texts it depends
 * that there is a release; *out: free() it. */
FRE_API FRE_MUST_CHECK fre_status fre_folder_statement(char **out, const fre_plan *plan,
                                                       bool is_private, bool users_named,
                                                       bool strict, fre_err *err);
/** The texts of n cells by their centroids; noise_std: planned, of a coordinate of each centroid. */
FRE_API FRE_MUST_CHECK fre_status fre_folder_invert(fre_released_cell *cell, fre_inverter *inverter,
                                                    const float *centroid, const double *noise_std,
                                                    size_t n, const fre_progress *progress,
                                                    fre_err *err);
/** Paraphrases of the n cells' texts, near their centroids too (dim numbers each). */
FRE_API FRE_MUST_CHECK fre_status fre_folder_paraphrase(fre_released_cell *cell,
                                                        fre_paraphraser *paraphraser,
                                                        const float *centroid, size_t dim,
                                                        const double *noise_std, size_t n,
                                                        const fre_progress *progress, fre_err *err);

#ifdef __cplusplus
}
#endif
#endif /* FRE_FOLDER_H */
