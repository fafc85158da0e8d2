/* json_line.c - one member of a JSON object set in its text, every other byte left as it is: numbers
 * keep their digits and strings their escapes.  The text has been parsed already, so it is known to
 * be an object. */
#include "json_line.h"

#include <fre/corpus.h>

#include <string.h>

fre_status cli_json_line_set(fre_buf *out, const char *line, size_t n, const char *key,
                             const char *value)
{
    fre_json_want old = {.name = key};
    uint8_t *p = (uint8_t *)(uintptr_t)line; /* read only */
    size_t at = 0, from, to, end = n;
    fre_status st;

    if (fre_json_scan(p, n, &old, 1, &at))
        return FRE_E_ARG;
    if (old.kind != FRE_JSON_ABSENT) {
        from = (size_t)(old.p - p) - (old.kind == FRE_JSON_STRING);
        to = (size_t)(old.p - p) + old.n + (old.kind == FRE_JSON_STRING);
        st = fre_buf_append(out, line, from);
        if (st == FRE_OK)
            st = fre_buf_append(out, value, strlen(value));
        return st == FRE_OK ? fre_buf_append(out, line + to, n - to) : st;
    }
    while (line[end - 1] != '}') /* white space alone comes after the brace */
        end--;
    at = end - 1; /* in front of the brace: its opening one in an object without members */
    while (at > 0 && strchr(" \t\r\n", line[at - 1]))
        at--;
    st = fre_buf_append(out, line, end - 1);
    return st == FRE_OK
               ? fre_buf_printf(out, "%s\"%s\":%s}", line[at - 1] == '{' ? "" : ",", key, value)
               : st;
}
