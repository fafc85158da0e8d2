/* release.h - a release on the terminal and in JSON, for the commands that make one. */
#ifndef FRE_CLI_RELEASE_H
#define FRE_CLI_RELEASE_H

#include "cli.h"

#include <fre/release.h>

/* The most frequent of n cells, most frequent first, *shown of them.  NULL: out of memory; free()
 * it. */
const fre_released_cell **cli_most_frequent(size_t *shown, const fre_released_cell *cell, size_t n);
/* The most frequent cells of a release, where it has levels grouped by themes; list: of
 * cli_most_frequent, all of them, of which `shown` are shown without levels. */
void cli_print_cells(const fre_release *r, const fre_released_cell *const *list, size_t shown);
json_t *cli_cells_json(const fre_released_cell *const *list, size_t shown);
void cli_print_statement(const char *statement);
/* The list of a release's files, with what synthetic.jsonl and release.json hold. */
void cli_print_files(const char *folder, const char *lines, const char *parameters);

#endif
