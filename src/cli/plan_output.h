/* plan_output.h - a plan on the terminal and in JSON. */
#ifndef FRE_CLI_PLAN_OUTPUT_H
#define FRE_CLI_PLAN_OUTPUT_H

#include "cli.h"

#include <fre/privacy.h>

/* `plan --json`; synthesize shows it too.  NULL: out of memory. */
json_t *cli_plan_json(const fre_plan *plan);
/* The table for people, 80 columns. */
void cli_plan_print(FILE *f, const fre_plan *plan);

#endif
