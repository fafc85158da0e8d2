/* json_line.h - set one member in the text of a JSON object. */
#ifndef FRE_CLI_JSON_LINE_H
#define FRE_CLI_JSON_LINE_H

#include <fre/core.h>

/* Append to out the object in line (n bytes, parsed before) with the member `key`, a plain name, set
 * to `value`, JSON text: in place where it stood, else last.  Blanks around the object go, every
 * other byte stays.  FRE_E_ARG: not an object. */
FRE_MUST_CHECK fre_status cli_json_line_set(fre_buf *out, const char *line, size_t n,
                                            const char *key, const char *value);

#endif
