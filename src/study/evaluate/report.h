/* report.h - parts of an evaluation as JSON; NULL: out of memory. */
#ifndef FRE_EVALUATE_REPORT_H
#define FRE_EVALUATE_REPORT_H

#include "evaluate_private.h"

#include <jansson.h>

/* null where it is no number */
json_t *evaluate_number_json(double v);
json_t *evaluate_level_json(bool has, const fre_level_scores *l);
json_t *evaluate_cell_json(bool has, const fre_cell_scores *c);
/* Into o: all that is told of each set.  0, or -1: out of memory. */
int evaluate_sets_json(json_t *o, const fre_evaluation *e);

#endif
