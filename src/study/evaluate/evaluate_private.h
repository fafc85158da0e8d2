/* What the files of this module share: distinct keys with multiplicities, and the inputs. */
#ifndef FRE_EVALUATE_PRIVATE_H
#define FRE_EVALUATE_PRIVATE_H

#include <fre/evaluate.h>

#include <fre/embed.h>
#include <fre/map.h>
#include <fre/release.h>

/* Harmonic mean; NaN when recall is undefined, 0 when precision is or nothing is right. */
double evaluate_f1(double precision, double recall);

/* ---- distinct.c: distinct byte strings and how often each came --------------------------------- */

#define EVALUATE_DISTINCT_NONE SIZE_MAX

typedef struct evaluate_distinct_entry {
    size_t offset, len;
} evaluate_distinct_entry;

typedef struct evaluate_distinct {
    fre_text_map map;
    uint8_t *arena; /* PRIVATE: the strings, each followed by a NUL unless packed */
    size_t arena_n, arena_cap;
    evaluate_distinct_entry *entry;
    uint64_t *weight;
    size_t n, cap_entry, cap_weight;
    bool packed; /* strings of one length back to back, an array of rows */
} evaluate_distinct;

FRE_MUST_CHECK fre_status evaluate_distinct_init(evaluate_distinct *t, bool packed);
void evaluate_distinct_wipe(evaluate_distinct *t);
/* Adds one to its weight; *index: where it is. */
FRE_MUST_CHECK fre_status evaluate_distinct_add(evaluate_distinct *t, size_t *index, const void *p,
                                                size_t n);
/* EVALUATE_DISTINCT_NONE: absent. */
size_t evaluate_distinct_find(const evaluate_distinct *t, const void *p, size_t n);
/* NUL-terminated unless packed; valid until the next evaluate_distinct_add. */
const char *evaluate_distinct_text(const evaluate_distinct *t, size_t i);

/* ---- inputs.c --------------------------------------------------------------------------------- */

/* Places of texts in an arena. */
typedef struct evaluate_places {
    size_t *offset, *len;
    size_t n, cap;
} evaluate_places;

/* Synthetic texts in file order, duplicates included, then all their paraphrases in file order. */
typedef struct evaluate_synthetic {
    fre_buf arena;
    evaluate_places place;
    size_t n_texts; /* of place.n: the rest are paraphrases */
    size_t lines;
} evaluate_synthetic;

/* A corpus, or a release's folder. */
FRE_MUST_CHECK fre_status evaluate_synthetic_load(evaluate_synthetic *out, const char *path,
                                                  fre_err *err);
FRE_MUST_CHECK fre_status evaluate_synthetic_of(evaluate_synthetic *out, const fre_release *r,
                                                fre_err *err);
void evaluate_synthetic_wipe(evaluate_synthetic *s);
const char *evaluate_synthetic_text(const evaluate_synthetic *s, size_t i);

bool evaluate_is_folder(const char *path);

/* ---- exact.c ---------------------------------------------------------------------------------- */

/* Shares of synthetic texts that are an original text (paraphrases aside): four fields of out. */
FRE_MUST_CHECK fre_status evaluate_exact(fre_evaluation *out, const evaluate_synthetic *s,
                                         const evaluate_distinct *originals,
                                         const bool *is_frequent);

/* ---- release_cells.c ------------------------------------------------------------------------ */

/* e->cell of a release that names its cells; of one by levels, of the cells of its grid, which comes first.
 * e->has_cell stays false where there is none. */
FRE_MUST_CHECK fre_status evaluate_release_cells(fre_evaluation *e, const fre_release *from,
                                                 const fre_originals *originals, uint32_t threads);

#endif
