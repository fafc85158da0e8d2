/* json.c - JSON objects of which every key is known, read in place: what is secret in a text is nowhere
 * else, and goes with it. */
#include "config_private.h"

#define SHOWN 40 /* bytes of an unknown key that a sentence shows */

/* ---- keys -------------------------------------------------------------------------------------- */

typedef struct keys {
    const config_object *o;
    uint64_t seen; /* bit i: want i */
    fre_err *err;
    fre_status st;
} keys;

/* Somebody else's bytes, into a sentence. */
static void shown(char out[SHOWN + 1], const uint8_t *key, size_t n)
{
    size_t i = 0;

    for (; i < n && i < SHOWN; i++)
        out[i] = key[i] > ' ' && key[i] < 0x7f && !strchr("{}", key[i]) ? (char)key[i] : '?';
    out[i] = '\0';
}

static bool note_key(void *ctx, const uint8_t *key, size_t n, const uint8_t *value)
{
    keys *k = ctx;
    char text[SHOWN + 1];
    size_t i = 0;

    (void)value;
    while (i < k->o->n && !fre_json_key_is(key, n, k->o->want[i].name))
        i++;
    if (i < k->o->n && !(k->seen >> i & 1)) {
        k->seen |= UINT64_C(1) << i;
        return true;
    }
    shown(text, key, n);
    k->st = i < k->o->n ? config_bad(k->o, i, "is there twice: remove one", k->err)
                        : fre_fail(k->err, FRE_E_DATA,
                                   "'%.200s': the key '%s%s' is none that such a file has: remove "
                                   "it, or correct its name",
                                   k->o->path, k->o->outer, text);
    return false;
}

fre_status config_read_object(const config_object *o, uint8_t *p, size_t n, fre_err *err)
{
    keys k = {.o = o, .err = err, .st = FRE_OK};
    const char *why;
    size_t at = 0, line = 1;

    why = fre_json_scan(p, n, o->want, o->n, &at);
    if (!why)
        (void)fre_json_members(p, n, note_key, &k, &at);
    for (size_t i = 0; why && i < at; i++)
        line += p[i] == '\n';
    return why ? fre_fail(err, FRE_E_DATA, "'%.300s' is no JSON object: line %zu: %s", o->path,
                          line, why)
               : k.st;
}

/* ---- values ------------------------------------------------------------------------------------ */

fre_status config_bad(const config_object *o, size_t i, const char *what, fre_err *err)
{
    return fre_fail(err, FRE_E_DATA, "'%.240s': %s%s %s", o->path, o->outer, o->want[i].name, what);
}

bool config_has(const config_object *o, size_t i)
{
    return o->want[i].kind != FRE_JSON_ABSENT;
}

fre_status config_want(const config_object *o, size_t i, fre_json_kind kind, fre_err *err)
{
    static const char *const must_be[] = {[FRE_JSON_STRING] = "must be a string",
                                          [FRE_JSON_NUMBER] = "must be a number",
                                          [FRE_JSON_BOOL] = "must be true or false",
                                          [FRE_JSON_OBJECT] = "must be an object in braces",
                                          [FRE_JSON_ARRAY] = "must be a list in brackets"};

    if (!config_has(o, i))
        return config_bad(o, i, "is missing: add it", err);
    return o->want[i].kind == kind ? FRE_OK : config_bad(o, i, must_be[kind], err);
}

/* The closing quote, or what is left over behind decoded escapes, becomes the end. */
static bool end_string(uint8_t *p, size_t *n, bool escaped)
{
    bool bad = false;

    if (escaped)
        *n = fre_json_unescape(p, *n, &bad);
    p[*n] = '\0';
    for (size_t i = 0; i < *n; i++)
        bad = bad || p[i] < 0x20 || p[i] == 0x7f;
    return !bad;
}

fre_status config_string(const char **out, const config_object *o, size_t i, size_t max,
                         fre_err *err)
{
    fre_json_want *w = &o->want[i];
    fre_status st = config_want(o, i, FRE_JSON_STRING, err);

    if (st != FRE_OK)
        return st;
    if (!end_string(w->p, &w->n, w->escaped))
        return config_bad(o, i, "has a control character in it", err);
    w->escaped = false;
    if (w->n < 1 || w->n > max)
        return config_bad(o, i, w->n ? "is too long" : "is empty: say what it is", err);
    *out = (const char *)w->p;
    return FRE_OK;
}

fre_status config_hex(uint8_t *out, size_t n, const config_object *o, size_t i, fre_err *err)
{
    const char *text;
    char what[64];
    fre_status st = config_string(&text, o, i, 2 * n, err);

    if (st == FRE_OK && fre_unhex(out, n, text))
        return FRE_OK;
    (void)snprintf(what, sizeof what, "must be %zu hexadecimal digits", 2 * n);
    return config_has(o, i) ? config_bad(o, i, what, err) : st;
}

fre_status config_whole(uint64_t *out, const config_object *o, size_t i, uint64_t least,
                        uint64_t most, fre_err *err)
{
    const fre_json_want *w = &o->want[i];
    char what[96];
    uint64_t x = 0;
    bool ok;
    fre_status st = config_want(o, i, FRE_JSON_NUMBER, err);

    if (st != FRE_OK)
        return st;
    ok = w->n <= 18;
    for (size_t k = 0; ok && k < w->n; k++) {
        ok = w->p[k] >= '0' && w->p[k] <= '9';
        x = 10 * x + (uint64_t)(w->p[k] - '0');
    }
    if (!ok || x < least || x > most) {
        (void)snprintf(what, sizeof what, "must be a whole number from %llu to %llu",
                       (unsigned long long)least, (unsigned long long)most);
        return config_bad(o, i, what, err);
    }
    *out = x;
    return FRE_OK;
}

/* The string that begins at p, which a scan has checked; *p: behind it. */
static bool take_string(const char **out, uint8_t **p, uint8_t *end)
{
    uint8_t *start = *p;
    size_t n = 0, at;
    bool ok;

    if (*start != '"' || fre_json_value(start, (size_t)(end - start), &n))
        return false;
    *p = start + n;
    at = n - 2;
    ok = end_string(start + 1, &at, memchr(start + 1, '\\', at) != NULL) && at > 0;
    *out = (const char *)start + 1;
    return ok;
}

static uint8_t *skip(uint8_t *p, const char *what)
{
    while (*p && strchr(what, *p))
        p++;
    return p;
}

fre_status config_strings(const char **out, size_t *n, size_t max, const config_object *o, size_t i,
                          fre_err *err)
{
    const fre_json_want *w = &o->want[i];
    uint8_t *p, *end;
    fre_status st = config_want(o, i, FRE_JSON_ARRAY, err);

    if (st != FRE_OK)
        return st;
    end = w->p + w->n - 1; /* at the bracket */
    *n = 0;
    for (p = skip(w->p + 1, " \t\r\n"); p < end; p = skip(p, " \t\r\n,")) {
        if (*n == max)
            return config_bad(o, i, "is too long a list", err);
        if (!take_string(&out[*n], &p, end))
            return config_bad(o, i, "must be a list of strings that are not empty", err);
        ++*n;
    }
    return *n > 0 ? FRE_OK : config_bad(o, i, "is an empty list", err);
}

fre_status config_check_format(const config_object *o, const char *what, fre_err *err)
{
    const char *is;
    uint64_t version;
    fre_status st = config_string(&is, o, 0, 64, err);

    if (st == FRE_OK && strcmp(is, what) != 0)
        return fre_fail(err, FRE_E_DATA,
                        "'%.300s' must be a file of the format \"%s\": it is another", o->path,
                        what);
    return st == FRE_OK ? config_whole(&version, o, 1, 1, 1, err) : st;
}

/* ---- writing ----------------------------------------------------------------------------------- */

fre_status config_put_hex(fre_buf *out, const char *key, const uint8_t *p, size_t n)
{
    char digits[2 * 64 + 1]; /* SECRET where p is */
    fre_status st;

    if (n > 64)
        return FRE_E_ARG;
    fre_hex(digits, p, n);
    st = fre_buf_printf(out, "  \"%s\": \"%s\",\n", key, digits);
    fre_wipe(digits, sizeof digits);
    return st;
}
