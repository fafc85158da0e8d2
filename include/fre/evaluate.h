/** fre/evaluate.h - precision, recall, F1 and L2 of a synthetic set against the originals.
 *
 * Source: [Fre-E2T, evaluation section].  A text's neighbourhood is the originals within
 * alpha * r; exact by blocked products, memory bounded by O(block), never n x m.
 */
#ifndef FRE_EVALUATE_H
#define FRE_EVALUATE_H

#include <fre/core.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fre_scores {
    double precision, recall, f1;
    double l2; /**< mean distance of a synthetic point to its nearest reference point */
} fre_scores;

typedef struct fre_evaluation {
    fre_scores frequent, all;
} fre_evaluation;

typedef struct fre_evaluate_opts {
    double radius;      /**< r */
    double alpha;       /**< 1.5 */
    uint64_t threshold; /**< t */
    uint32_t threads;
} fre_evaluate_opts;

#ifdef __cplusplus
}
#endif
#endif /* FRE_EVALUATE_H */
