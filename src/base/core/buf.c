/* buf.c - the bounded buffer, wiping and constant-time equality. */
#include "core_private.h"

#include <limits.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

void fre_wipe(void *p, size_t n)
{
    if (n > 0)
        sodium_memzero(p, n);
}

bool fre_secret_eq(const void *a, const void *b, size_t n)
{
    return n == 0 || sodium_memcmp(a, b, n) == 0;
}

void fre_buf_init(fre_buf *b, size_t max)
{
    /* One byte beyond max is kept for printf's NUL, so max + 1 must not wrap. */
    *b = (fre_buf){.p = NULL, .n = 0, .cap = 0, .max = max < SIZE_MAX ? max : SIZE_MAX - 1};
}

void fre_buf_wipe(fre_buf *b)
{
    if (b->p)
        fre_wipe(b->p, b->cap);
    free(b->p);
    fre_buf_init(b, b->max);
}

/* Room for n more bytes.  *old receives the replaced storage, which the caller may still read
 * (an append from the buffer itself) and must give to release(). */
static fre_status reserve(fre_buf *b, size_t n, uint8_t **old, size_t *old_cap)
{
    size_t need, cap;
    uint8_t *p;

    *old = NULL;
    *old_cap = 0;
    if (n > b->max || b->n > b->max - n)
        return FRE_E_LIMIT;
    need = b->n + n + 1;
    if (need <= b->cap)
        return FRE_OK;
    cap = b->cap > SIZE_MAX / 2 ? need : 2 * b->cap;
    if (cap > b->max + 1)
        cap = b->max + 1;
    if (cap < need) /* what is appended at once, or to nothing, takes no more than its room */
        cap = need < 64 && b->max >= 63 ? 64 : need;
    /* Not realloc: it could leave a copy of the content in memory that nobody wipes. */
    p = malloc(cap);
    if (!p)
        return FRE_E_NOMEM;
    if (b->n > 0)
        memcpy(p, b->p, b->n);
    *old = b->p;
    *old_cap = b->cap;
    b->p = p;
    b->cap = cap;
    return FRE_OK;
}

static void release(uint8_t *old, size_t old_cap)
{
    if (old)
        fre_wipe(old, old_cap);
    free(old);
}

fre_status fre_buf_reserve(fre_buf *b, size_t n)
{
    uint8_t *old;
    size_t old_cap;
    fre_status st = reserve(b, n, &old, &old_cap);

    if (st == FRE_OK)
        release(old, old_cap);
    return st;
}

fre_status fre_buf_append(fre_buf *b, const void *p, size_t n)
{
    uint8_t *old;
    size_t old_cap;
    fre_status st;

    if (n == 0)
        return FRE_OK;
    if (!p)
        return FRE_E_ARG;
    st = reserve(b, n, &old, &old_cap);
    if (st != FRE_OK)
        return st;
    memmove(b->p + b->n, p, n);
    b->n += n;
    release(old, old_cap);
    return FRE_OK;
}

fre_status fre_buf_printf(fre_buf *b, const char *fmt, ...)
{
    va_list ap;
    uint8_t *old;
    size_t old_cap;
    fre_status st;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        return FRE_E_ARG;
    st = reserve(b, (size_t)n, &old, &old_cap);
    if (st != FRE_OK)
        return st;
    va_start(ap, fmt);
    (void)vsnprintf((char *)b->p + b->n, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->n += (size_t)n;
    release(old, old_cap);
    return FRE_OK;
}

void fre_wipe_free(void *p, size_t n)
{
    if (p)
        fre_wipe(p, n);
    free(p);
}

fre_status fre_grow(void **array, size_t *cap, size_t n, size_t size)
{
    size_t want = *cap ? *cap : 16;
    void *p;

    if (n <= *cap)
        return FRE_OK;
    while (want < n) {
        if (want > SIZE_MAX / 2 / size)
            return FRE_E_NOMEM;
        want *= 2;
    }
    p = calloc(want, size); /* not realloc, which would leave private bytes behind */
    if (!p)
        return FRE_E_NOMEM;
    if (*array)
        memcpy(p, *array, *cap * size);
    fre_wipe_free(*array, *cap * size);
    *array = p;
    *cap = want;
    return FRE_OK;
}
