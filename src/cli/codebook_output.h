/* codebook_output.h - the levels of a codebook, as 'model codebook' and 'model info' show them. */
#ifndef FRE_CLI_CODEBOOK_OUTPUT_H
#define FRE_CLI_CODEBOOK_OUTPUT_H

#include "cli.h"

#include <fre/codebook.h>

/* NULL: out of memory. */
json_t *cli_codebook_levels_json(const fre_codebook *c);
/* A table. */
void cli_codebook_levels_print(FILE *f, const fre_codebook *c);

#endif
