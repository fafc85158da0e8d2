/* classifier.h - a linear classifier of rows: logistic regression, a class against the rest, by liblinear. */
#ifndef FRE_EVALUATE_CLASSIFIER_H
#define FRE_EVALUATE_CLASSIFIER_H

#include "evaluate_private.h"

/* Is liblinear here? */
bool evaluate_has_linear(void);

/* Rows and what each is: row[i] of x, d floats, has the label label[i]. */
typedef struct evaluate_labelled {
    const float *x;
    size_t d;
    const uint32_t *row, *label;
    size_t n;
} evaluate_labelled;

/* *out: the share of `test` that a classifier trained on `train` gets right; NaN where either is empty.
 * FRE_E_NOMEM; FRE_E_INTERRUPTED; FRE_E_INTERNAL: liblinear is not here. */
FRE_MUST_CHECK fre_status evaluate_linear(double *out, const evaluate_labelled *train,
                                          const evaluate_labelled *test);

#endif
