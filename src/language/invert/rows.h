/* rows.h - texts with their embeddings, a byte a coordinate, and the nearest of them. */
#ifndef FRE_INVERT_ROWS_H
#define FRE_INVERT_ROWS_H

#include <fre/core.h>

/* Texts and their embeddings, row i as q[i * dim ..] * scale[i].  One byte a coordinate: the error
 * (norm about .003) is far below any noise, and what is found is embedded again. */
typedef struct inv_rows {
    size_t n;
    uint32_t dim;
    const int8_t *q;
    const float *scale, *norm2;
    const uint32_t *count; /* occurrences in the corpus */
    const uint64_t *at;    /* n + 1 offsets into text */
    const char *text;
} inv_rows;

/* Borrowed; not NUL-terminated. */
const char *inv_rows_text(const inv_rows *r, size_t i, size_t *len);
/* Row i as floats. */
void inv_rows_get(const inv_rows *r, float *out, size_t i);
/* Mean squared distance of the rows from their mean (of the first few thousand). */
FRE_MUST_CHECK fre_status inv_rows_spread(const inv_rows *r, double *out);
/* For each of nq queries (nq x dim) the k nearest rows (L2; k <= n), nearest first, ties to the
 * lower index; the same whatever the number of threads. */
FRE_MUST_CHECK fre_status inv_rows_nearest(const inv_rows *r, uint32_t *id, const float *query,
                                           size_t nq, size_t k, uint32_t threads);

#endif /* FRE_INVERT_ROWS_H */
