/* evaluate_output.h - evaluations as tables for people: evaluate_output.c, evaluate_levels.c. */
#ifndef FRE_CLI_EVALUATE_OUTPUT_H
#define FRE_CLI_EVALUATE_OUTPUT_H

#include "cli.h"

#include <fre/evaluate.h>

#define CLI_BESIDE_BYTES 40u
/* "0.974"; "-": no number. */
const char *cli_put_plain(char out[CLI_BESIDE_BYTES], double v);
/* "0.974 [1.0 .02]": a number and the same of the references, of which NULL is not there; "-": no number. */
const char *cli_put_beside(char out[CLI_BESIDE_BYTES], double v,
                           const double *const beside[FRE_EVALUATE_REFERENCES]);
/* All of the first, and the others beside it; on standard output. */
void cli_print_evaluation(const fre_evaluation *e, size_t n);
/* Where there are levels. */
void cli_print_evaluation_levels(const fre_evaluation *e);

#endif
