/* grammar.c - what a request's head may say.  Stricter than RFC 9112: whatever two programs could read in two
 * ways is refused. */
#include "net_private.h"

#include <strings.h>

static bool path_byte(char c)
{
    return isalnum((unsigned char)c) || c == '/' || c == '.' || c == '_' || c == '-';
}

bool net_path_ok(const char *path)
{
    size_t n = 0;

    if (!path || path[0] != '/')
        return false;
    while (path_byte(path[n]))
        n++;
    return path[n] == '\0' && n <= FRE_NET_PATH_MAX;
}

/* RFC 9110, 5.6.2: token. */
static bool name_ok(const char *name)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    size_t n = 0;

    while (isalnum((unsigned char)name[n]) || (name[n] && strchr(others, name[n])))
        n++;
    return n > 0 && name[n] == '\0';
}

static bool value_ok(const char *value)
{
    for (; *value; value++)
        if (iscntrl((unsigned char)*value) && *value != '\t')
            return false;
    return true;
}

/* libmicrohttpd appends the lines of a folded header to its name: such a name begins with what it was. */
static bool hides(const char *name, const char *header)
{
    return strncasecmp(name, header, strlen(header)) == 0 && strlen(name) != strlen(header);
}

/* Digits alone, below 10^18. */
static bool length_of(uint64_t *out, const char *value)
{
    uint64_t n = 0;
    size_t digits = 0;

    for (; isdigit((unsigned char)value[digits]); digits++)
        n = digits < 18 ? 10 * n + (uint64_t)(value[digits] - '0') : n;
    *out = n;
    return digits > 0 && digits <= 18 && value[digits] == '\0';
}

void net_head_take(net_head *h, const char *name, const char *value)
{
    static const char length[] = "Content-Length", encoding[] = "Transfer-Encoding";

    value = value ? value : "";
    h->bad |= !name_ok(name) || !value_ok(value) || hides(name, length) || hides(name, encoding);
    if (strcasecmp(name, length) == 0) {
        h->lengths++;
        h->bad |= !length_of(&h->length, value);
    } else if (strcasecmp(name, encoding) == 0) {
        h->encodings++;
    } else if (strcasecmp(name, "Host") == 0) {
        h->hosts++;
    } else if (strcasecmp(name, "Content-Type") == 0) {
        h->types++;
        h->type_ok = strcmp(value, FRE_NET_TYPE) == 0;
    }
}

unsigned net_head_verdict(const net_head *h, fre_http_method method)
{
    if (h->bad || h->hosts != 1 || h->lengths > 1 || (h->lengths > 0 && h->encodings > 0))
        return 400;
    if (h->encodings > 0)
        return 411;
    if (method == FRE_HTTP_GET)
        return h->length > 0 ? 400 : 0;
    if (h->lengths == 0)
        return 411;
    return h->types == 1 && h->type_ok ? 0 : 415;
}
