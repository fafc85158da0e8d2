/* evaluate_output.h - evaluations as tables for people: evaluate_output.c, evaluate_levels.c. */
#ifndef FRE_CLI_EVALUATE_OUTPUT_H
#define FRE_CLI_EVALUATE_OUTPUT_H

#include "cli.h"

#include <fre/evaluate.h>

/* All of the first, and the others beside it; on standard output. */
void cli_print_evaluation(const fre_evaluation *e, size_t n);
/* Where there are levels. */
void cli_print_evaluation_levels(const fre_evaluation *e);

#endif
