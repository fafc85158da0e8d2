/** fre/overlap.h - do two collections of texts share more than chance and common phrases explain?
 *
 * What a release is written with (a public corpus, a prior, a bridge) must not be made of the private
 * texts: it goes around the noise.  A collection is a set of marks: 48 bits of a hash of each distinct
 * text, its words folded (fre_fold_words; a text without words as it is), or of each distinct row
 * of embeddings.  The smallest marks of a set are a uniform sample of it, small enough for a file: a
 * sketch (Broder, On the resemblance and containment of documents, 1997).  Marks are not secret-keyed:
 * a sketch must be comparable later, and holds public material only; a set of private texts is SECRET
 * and stays in memory.
 * docs/decisions/0017 has the measurements for the limits.  Threads: one thread at a time a set.
 */
#ifndef FRE_OVERLAP_H
#define FRE_OVERLAP_H

#include <fre/core.h>
#include <fre/corpus.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fre_overlap_set fre_overlap_set;

FRE_API FRE_MUST_CHECK fre_status fre_overlap_set_new(fre_overlap_set **out);
FRE_API void fre_overlap_set_free(fre_overlap_set *s); /* wipes */

/** Once, or each time it occurs.  FRE_E_DATA: not UTF-8; FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_overlap_add_text(fre_overlap_set *s, const char *text,
                                                       size_t len);
/** dim floats, compared up to rounding to 1/127 of the largest and up to a factor. */
FRE_API FRE_MUST_CHECK fre_status fre_overlap_add_row(fre_overlap_set *s, const float *row,
                                                      size_t dim);
/** All further texts of a corpus.  What fre_corpus_next returns. */
FRE_API FRE_MUST_CHECK fre_status fre_overlap_add_corpus(fre_overlap_set *s, fre_corpus *corpus,
                                                         fre_err *err);

#define FRE_OVERLAP_SKETCH_MAX 4096u
/** The smallest marks, at most FRE_OVERLAP_SKETCH_MAX, as two floats each (exact: 24 bits a float).
 * *out: n x 2, owned (free). */
FRE_API FRE_MUST_CHECK fre_status fre_overlap_sketch(fre_overlap_set *s, float **out, size_t *n);
/** A set of them again; it knows that it is a sample where n is FRE_OVERLAP_SKETCH_MAX.
 * FRE_E_DATA: not such numbers. */
FRE_API FRE_MUST_CHECK fre_status fre_overlap_set_of_sketch(fre_overlap_set **out, const float *x,
                                                            size_t n);

/** The marks of both, a sample of them where either is one or they are more than FRE_OVERLAP_SKETCH_MAX.
 * FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_overlap_set_of_both(fre_overlap_set **out, fre_overlap_set *a,
                                                          fre_overlap_set *b);

/** Distinct texts; of the sample, if there is one. */
typedef struct fre_overlap {
    size_t of_public, of_private, both;
} fre_overlap;

FRE_API FRE_MUST_CHECK fre_status fre_overlap_compare(fre_overlap *out, fre_overlap_set *public_set,
                                                      fre_overlap_set *private_set);

#define FRE_OVERLAP_LEAST 5u   /* shared texts ... */
#define FRE_OVERLAP_SHARE 0.05 /* ... and their share of the smaller collection */
#define FRE_OVERLAP_PUBLIC 0.5 /* or of the public one, however few they are */
/** Is the public collection made of the private one, or the other way round? */
FRE_API bool fre_overlap_is_too_much(const fre_overlap *o);
/** FRE_E_REFUSED: it is; what and name: of the public collection, for the message. */
FRE_API FRE_MUST_CHECK fre_status fre_overlap_check(const char *what, const char *name,
                                                    fre_overlap_set *public_set,
                                                    fre_overlap_set *private_set, fre_err *err);

#ifdef __cplusplus
}
#endif
#endif /* FRE_OVERLAP_H */
