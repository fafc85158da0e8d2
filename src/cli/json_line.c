/* json_line.c - one member of a JSON object set in its text, every other byte left as it is: numbers
 * keep their digits and strings their escapes.  The text has been parsed already, so it is known to
 * be an object. */
#include "json_line.h"

#include <string.h>

static size_t skip_blank(const char *s, size_t n, size_t i)
{
    while (i < n && strchr(" \t\r\n", s[i]))
        i++;
    return i;
}

/* s[i] is a quote: the place after the closing one. */
static size_t skip_string(const char *s, size_t n, size_t i)
{
    for (i++; i < n && s[i] != '"'; i++)
        i += s[i] == '\\';
    return i < n ? i + 1 : n;
}

/* The place after a value. */
static size_t skip_value(const char *s, size_t n, size_t i)
{
    size_t depth = 0;

    while (i < n) {
        if (s[i] == '"') {
            i = skip_string(s, n, i);
            continue;
        }
        if (depth == 0 && strchr(",}] \t\r\n", s[i]))
            break;
        depth += s[i] == '{' || s[i] == '[';
        depth -= s[i] == '}' || s[i] == ']';
        i++;
    }
    return i;
}

typedef struct member {
    size_t from, to; /* of its value; from 0: not found */
    size_t end;      /* of the object: its closing brace */
    bool is_empty;   /* the object has no member */
} member;

static member find(const char *s, size_t n, const char *key)
{
    size_t i = skip_blank(s, n, 0) + 1;
    member m = {.is_empty = true};

    for (i = skip_blank(s, n, i); i < n && s[i] == '"'; i = skip_blank(s, n, i)) {
        const size_t name = i + 1, name_end = skip_string(s, n, i) - 1;
        size_t from, to;

        m.is_empty = false;
        i = skip_blank(s, n, name_end + 1);
        from = skip_blank(s, n, i + 1); /* behind the colon */
        to = skip_value(s, n, from);
        if (name_end - name == strlen(key) && memcmp(s + name, key, name_end - name) == 0) {
            m.from = from;
            m.to = to;
        }
        i = skip_blank(s, n, to);
        i += i < n && s[i] == ',';
    }
    m.end = i;
    return m;
}

fre_status cli_json_line_set(fre_buf *out, const char *line, size_t n, const char *key,
                             const char *value)
{
    const member m = find(line, n, key);
    fre_status st;

    if (m.end >= n)
        return FRE_E_ARG;
    if (m.from > 0) {
        st = fre_buf_append(out, line, m.from);
        if (st == FRE_OK)
            st = fre_buf_append(out, value, strlen(value));
        return st == FRE_OK ? fre_buf_append(out, line + m.to, m.end + 1 - m.to) : st;
    }
    st = fre_buf_append(out, line, m.end);
    return st == FRE_OK ? fre_buf_printf(out, "%s\"%s\":%s}", m.is_empty ? "" : ",", key, value)
                        : st;
}
