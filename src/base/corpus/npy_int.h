/* npy_int.h - the two texts around a .npy array: the dict in its header and the JSON sidecar.
 * Private. */
#ifndef FRE_NPY_INT_H
#define FRE_NPY_INT_H

#include "corpus_int.h"

#define NPY_DIM_MAX 65536u
#define NPY_DIMS_MAX 8u

typedef struct npy_header {
    char descr[24];
    bool structured; /* descr is a list of fields */
    bool fortran;
    size_t dims; /* may be above NPY_DIMS_MAX; only that many are kept */
    uint64_t shape[NPY_DIMS_MAX];
} npy_header;

/* NULL, or what is wrong (static). */
const char *npy_header_parse(npy_header *h, const uint8_t *p, size_t n);

/* PATH.json beside PATH, checked against the array; *has false when there is none. */
FRE_MUST_CHECK fre_status npy_sidecar_read(fre_npy_meta *m, bool *has, const char *path,
                                           const char *name, size_t rows, size_t dim, fre_err *err);

#endif /* FRE_NPY_INT_H */
