/** fre/linalg.h - dense row-major float arithmetic that gives the same bits whatever the number
 * of threads: each output element is summed by one thread in index order of fixed-width blocks.
 * Compiled with -ffp-contract=off.  Functions without a status cannot fail; matrices are borrowed.
 */
#ifndef FRE_LINALG_H
#define FRE_LINALG_H

#include <fre/core.h>

#ifdef __cplusplus
extern "C" {
#endif

/** <x, y>, n floats, accumulated in double lanes of fixed order. */
FRE_API double fre_dot(const float *x, const float *y, size_t n);
/** ||x - y||^2. */
FRE_API double fre_dist2(const float *x, const float *y, size_t n);
FRE_API double fre_norm(const float *x, size_t n);
/** Scale to norm 1; returns the old norm (0: x unchanged). */
FRE_API double fre_normalise(float *x, size_t n);
/** Every element finite? */
FRE_API bool fre_is_finite_row(const float *x, size_t n);
/** Every element 0 (or -0)?  What fre_embed_texts writes for a text without a word. */
FRE_API bool fre_is_zero_row(const float *x, size_t n);

/** out[i*nb + j] = <a_i, b_j>; a: na x d, b: nb x d, row-major.  Blocked, parallel, float
 * products summed in float lanes of fixed order. */
FRE_API FRE_MUST_CHECK fre_status fre_products(float *out, const float *a, size_t na,
                                               const float *b, size_t nb, size_t d,
                                               uint32_t threads);

/** n rows one after another, borrowed. */
typedef struct fre_rows {
    const float *x;
    size_t n;
} fre_rows;

/** For each query row its k nearest base rows (L2), nearest first, ties to the lower index; all rows of
 * d floats.  index: query.n x k, dist: query.n x k distances (not squared; NULL allowed).  Memory
 * O(threads * block), never query.n * base.n.  Distances of the results are recomputed exactly
 * (fre_dist2), so cancellation in ||a||^2 + ||b||^2 - 2<a,b> cannot show.
 * FRE_E_ARG: k = 0 or k > base.n; FRE_E_INTERRUPTED is polled. */
FRE_API FRE_MUST_CHECK fre_status fre_nearest(uint32_t *index, double *dist, fre_rows query,
                                              fre_rows base, size_t d, size_t k, uint32_t threads);

/** The nearest distances between two sets of rows, both ways in one pass: to_b (a.n) and to_a (b.n) are
 * lowered to the *squared* distance (fre_dist2) of each row of a to the nearest row of b, and of each row of
 * b to the nearest of a.  What stands there already and is less stays, so that sets can come in parts; begin
 * with INFINITY.  The same bits whatever the parts and threads.  Memory O(b.n * d + threads * b.n): let b be
 * the smaller part.  FRE_E_ARG; FRE_E_NOMEM, FRE_E_INTERRUPTED: some may be lowered already. */
FRE_API FRE_MUST_CHECK fre_status fre_nearest_both(double *to_b, double *to_a, fre_rows a,
                                                   fre_rows b, size_t d, uint32_t threads);

/** Rows in groups, for a search in two steps: the `probes` groups whose means are nearest to a query
 * (ties to the lower group), and of their rows the nearest (ties to the lower index).  Exact by
 * fre_dist2 in both steps, so the answer is a definition and not an approximation that depends on
 * machine, threads or neighbours.  Immutable, shared between threads. */
typedef struct fre_grouped fre_grouped;
#define FRE_GROUPS_PROBES_MAX 64u
/** rows: n x d, finite, groups one after another; borrowed until free.  size: of each group, at least 1,
 * together n.  probes 1..FRE_GROUPS_PROBES_MAX, at most n_groups.  One group: plain nearest rows.
 * Takes as much memory as the rows.  FRE_E_ARG: out of range. */
FRE_API FRE_MUST_CHECK fre_status fre_grouped_new(fre_grouped **out, fre_rows rows, size_t d,
                                                  const uint32_t *size, size_t n_groups,
                                                  size_t probes);
FRE_API void fre_grouped_free(fre_grouped *g);
/** index: query.n; dist2: query.n squared distances (NULL allowed). */
FRE_API FRE_MUST_CHECK fre_status fre_grouped_nearest(const fre_grouped *g, uint32_t *index,
                                                      double *dist2, fre_rows query,
                                                      uint32_t threads);

typedef struct fre_kmeans_opts {
    uint32_t rounds; /**< at least 1; fewer where nothing moves any more */
    uint32_t threads;
    bool spherical;               /**< centres are scaled to norm 1 */
    fre_rng *rng;                 /**< which rows are the first centres; used up a little */
    const fre_progress *progress; /**< NULL: none; rows compared, of rounds * n */
    const char *phase;            /**< its name */
} fre_kmeans_opts;
/** k centres (k x d) of rows, 1 <= k <= rows.n: Lloyd's rounds from k distinct rows drawn with rng (Lloyd,
 * 1982; spherical: Dhillon and Modha, 2001).  A centre that nothing is nearest to moves to the row that is
 * farthest from its own.  The same bits for the same rows and rng whatever the threads.
 * FRE_E_INTERRUPTED is polled; FRE_E_ARG, FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_kmeans(float *centre, size_t k, fre_rows rows, size_t d,
                                             const fre_kmeans_opts *o);

#define FRE_EIGEN_MAX 8192u
/** Eigenvalues (n, largest first) and eigenvectors (n x n, row i of norm 1 belongs to value i, its
 * largest entry is positive) of the symmetric n x n matrix a, of which the upper half is read.
 * About 6 n^3 multiplications, one thread.  FRE_E_ARG: n is 0 or above FRE_EIGEN_MAX; FRE_E_DATA: an
 * entry is not finite; FRE_E_INTERNAL: no convergence (not met).  Golub and Van Loan, 8.3. */
FRE_API FRE_MUST_CHECK fre_status fre_eigen_symmetric(double *values, double *vectors,
                                                      const double *a, size_t n);

/** Dimension that a vector of d entries is padded to before a Hadamard rotation: the least
 * 2^n or 12 * 2^n that is >= d, so that 384 and 768 need no padding.  d in 1..2^24. */
FRE_API uint32_t fre_hadamard_dim(uint32_t d);

#ifdef __cplusplus
}
#endif
#endif /* FRE_LINALG_H */
