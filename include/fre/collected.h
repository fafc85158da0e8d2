/** fre/collected.h - what a collection released: the signed parts that S_syn published, read, verified, put into
 * words and written as a release folder (release.h).
 *
 * Whoever has the terms and the parts can do this; nothing of it is secret.  Threads: no state.
 */
#ifndef FRE_COLLECTED_H
#define FRE_COLLECTED_H

#include <fre/codebook.h>
#include <fre/core.h>
#include <fre/invert.h>
#include <fre/privacy.h>
#include <fre/release.h>
#include <fre/wire.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The cells of a part, appended to r, which fre_release_set_plan made with m's plan; *room: cells that fit, 0 at
 * first.  codebook: of public cells; NULL: a grid.  FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_collected_add(fre_release *r, size_t *room,
                                                    const fre_mechanism *m,
                                                    const fre_codebook *codebook,
                                                    const fre_release_part *part, fre_err *err);
/** Texts of all cells by their centroids and planned noise, their confidence, and groups; inverter NULL: groups
 * alone. */
FRE_API FRE_MUST_CHECK fre_status fre_collected_invert(fre_release *r, fre_inverter *inverter,
                                                       const fre_progress *progress, fre_err *err);

typedef struct fre_collected_opts {
    const fre_collection *terms;
    const fre_bytes *part; /**< n_parts messages, each of its place, as they were published */
    uint32_t n_parts;
    const char *output; /**< folder; NULL: none is written */
    bool force;
    /** GGUF files; embedder NULL: the bundled one, which has to be the terms'.  inverter: NULL: the bundled
     * one; "none": no texts. */
    const char *embedder, *inverter;
    const char *codebook; /**< of public cells; NULL: the one beside the embedder */
    fre_search_opts search;
    uint32_t threads;
    const fre_progress *progress;
} fre_collected_opts;

typedef struct fre_collected {
    fre_plan plan;
    fre_collection_id id;
    int64_t time;         /**< of the release */
    bool other_statement; /**< S_syn said something else of privacy than the terms do, which hold */
    fre_release release;
} fre_collected;

/** FRE_E_REFUSED: a signature does not hold, or the terms do not keep their claim; FRE_E_KEY: of another collection;
 * FRE_E_DATA: parts that do not belong together, another embedder or codebook than the terms'; FRE_E_EXISTS;
 * whatever the modules return.  fre_collected_free. */
FRE_API FRE_MUST_CHECK fre_status fre_collected_release(fre_collected **out,
                                                        const fre_collected_opts *opts,
                                                        fre_err *err);
/** NULL is allowed. */
FRE_API void fre_collected_free(fre_collected *c);

#ifdef __cplusplus
}
#endif
#endif /* FRE_COLLECTED_H */
