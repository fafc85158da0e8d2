/* release.h - a release on the terminal and in JSON, for the commands that make one. */
#ifndef FRE_CLI_RELEASE_H
#define FRE_CLI_RELEASE_H

#include "cli.h"

#include <fre/release.h>

/* The most frequent of n cells, most frequent first, *shown of them.  NULL: out of memory; free()
 * it. */
const fre_released_cell **cli_most_frequent(size_t *shown, const fre_released_cell *cell, size_t n);
/* `shown` of n. */
void cli_print_cells(const fre_released_cell *const *list, size_t shown, size_t n);
json_t *cli_cells_json(const fre_released_cell *const *list, size_t shown);
void cli_print_statement(const char *statement);
/* The list of a release's files, with what synthetic.jsonl and release.json hold. */
void cli_print_files(const char *folder, const char *lines, const char *parameters);

#endif
