/* Calls of outside libraries that allocate: they fail, and what their callers free is counted.  Only at
 * their doors: inside of it jansson aborts where memory ends in a string. */
#include <jansson.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "alloc_fail.h"

#define UTF8PROC_NO_MEMORY (-1)

ptrdiff_t __real_utf8proc_map(const uint8_t *s, ptrdiff_t n, uint8_t **out, int options);
ptrdiff_t __wrap_utf8proc_map(const uint8_t *s, ptrdiff_t n, uint8_t **out, int options);
json_t *__real_json_object(void);
json_t *__real_json_array(void);
json_t *__real_json_string(const char *s);
json_t *__real_json_integer(json_int_t x);
json_t *__real_json_real(double x);
json_t *__real_json_loadb(const char *p, size_t n, size_t flags, json_error_t *error);
char *__real_json_dumps(const json_t *j, size_t flags);
json_t *__wrap_json_object(void);
json_t *__wrap_json_array(void);
json_t *__wrap_json_string(const char *s);
json_t *__wrap_json_integer(json_int_t x);
json_t *__wrap_json_real(double x);
json_t *__wrap_json_pack(const char *fmt, ...);
json_t *__wrap_json_loadb(const char *p, size_t n, size_t flags, json_error_t *error);
char *__wrap_json_dumps(const json_t *j, size_t flags);

ptrdiff_t __wrap_utf8proc_map(const uint8_t *s, ptrdiff_t n, uint8_t **out, int options)
{
    ptrdiff_t got;

    *out = NULL;
    if (alloc_fails())
        return UTF8PROC_NO_MEMORY;
    got = __real_utf8proc_map(s, n, out, options);
    (void)alloc_counted(*out);
    return got;
}

json_t *__wrap_json_object(void)
{
    return alloc_fails() ? NULL : __real_json_object();
}

json_t *__wrap_json_array(void)
{
    return alloc_fails() ? NULL : __real_json_array();
}

json_t *__wrap_json_string(const char *s)
{
    return alloc_fails() ? NULL : __real_json_string(s);
}

json_t *__wrap_json_integer(json_int_t x)
{
    return alloc_fails() ? NULL : __real_json_integer(x);
}

json_t *__wrap_json_real(double x)
{
    return alloc_fails() ? NULL : __real_json_real(x);
}

json_t *__wrap_json_pack(const char *fmt, ...)
{
    json_t *j;
    va_list ap;

    va_start(ap, fmt);
    /* Also where it fails: what it was given is its own. */
    j = json_vpack_ex(NULL, 0, fmt, ap);
    va_end(ap);
    if (!alloc_fails())
        return j;
    json_decref(j);
    return NULL;
}

json_t *__wrap_json_loadb(const char *p, size_t n, size_t flags, json_error_t *error)
{
    if (!alloc_fails())
        return __real_json_loadb(p, n, flags, error);
    if (error)
        *error = (json_error_t){.line = -1}; /* no words, as jansson itself */
    return NULL;
}

char *__wrap_json_dumps(const json_t *j, size_t flags)
{
    return alloc_fails() ? NULL : alloc_counted(__real_json_dumps(j, flags));
}
