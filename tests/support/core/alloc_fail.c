#include "alloc_fail.h"

#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "must.h"
#include "temp_dir.h"

#define ALLOCATIONS_MAX 20000u

/* ---- allocators that fail when they are told to -------------------------------------------------- */

static _Atomic int64_t blocks;
static _Atomic uint64_t left = ALLOC_NEVER; /* until one fails */
static atomic_bool alone, failed;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t each);
void *__real_aligned_alloc(size_t to, size_t n);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
char *__real_realpath(const char *path, char *to);
int __real_vasprintf(char **out, const char *fmt, va_list ap) FRE_PRINTF(2, 0);
void __real_free(void *p);
void *__real_sodium_malloc(size_t n);
void __real_sodium_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t each);
void *__wrap_aligned_alloc(size_t to, size_t n);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
char *__wrap_realpath(const char *path, char *to);
int __wrap_asprintf(char **out, const char *fmt, ...) FRE_PRINTF(2, 3);
int __wrap_vasprintf(char **out, const char *fmt, va_list ap) FRE_PRINTF(2, 0);
void __wrap_free(void *p);
void *__wrap_sodium_malloc(size_t n);
void __wrap_sodium_free(void *p);

bool alloc_fails(void)
{
    const uint64_t n = left;

    if (n == ALLOC_NEVER || (failed && alone))
        return false;
    if (n == 0) {
        failed = true;
        return true;
    }
    left = n - 1;
    return false;
}

void *alloc_counted(void *p)
{
    blocks += p != NULL;
    return p;
}

void *__wrap_malloc(size_t n)
{
    return alloc_fails() ? NULL : alloc_counted(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t each)
{
    return alloc_fails() ? NULL : alloc_counted(__real_calloc(n, each));
}

void *__wrap_aligned_alloc(size_t to, size_t n)
{
    return alloc_fails() ? NULL : alloc_counted(__real_aligned_alloc(to, n));
}

void *__wrap_realloc(void *p, size_t n)
{
    void *q = alloc_fails() ? NULL : __real_realloc(p, n);

    if (!p)
        (void)alloc_counted(q);
    return q;
}

char *__wrap_strdup(const char *s)
{
    return alloc_fails() ? NULL : alloc_counted(__real_strdup(s));
}

char *__wrap_strndup(const char *s, size_t n)
{
    return alloc_fails() ? NULL : alloc_counted(__real_strndup(s, n));
}

char *__wrap_realpath(const char *path, char *to)
{
    if (to)
        return __real_realpath(path, to);
    return alloc_fails() ? NULL : alloc_counted(__real_realpath(path, NULL));
}

int __wrap_vasprintf(char **out, const char *fmt, va_list ap)
{
    const int n = alloc_fails() ? -1 : __real_vasprintf(out, fmt, ap);

    if (n >= 0)
        (void)alloc_counted(*out);
    return n;
}

int __wrap_asprintf(char **out, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = __wrap_vasprintf(out, fmt, ap);
    va_end(ap);
    return n;
}

void __wrap_free(void *p)
{
    blocks -= p != NULL;
    __real_free(p);
}

void *__wrap_sodium_malloc(size_t n)
{
    return alloc_fails() ? NULL : alloc_counted(__real_sodium_malloc(n));
}

void __wrap_sodium_free(void *p)
{
    blocks -= p != NULL;
    __real_sodium_free(p);
}

static void begin(uint64_t n, bool once)
{
    failed = false;
    alone = once;
    left = n;
}

void alloc_fail_after(uint64_t n)
{
    begin(n, false);
}

void alloc_fail_once_after(uint64_t n)
{
    begin(n, true);
}

bool alloc_heal(void)
{
    left = ALLOC_NEVER;
    return failed;
}

int64_t alloc_blocks(void)
{
    return blocks;
}

/* ---- a constructor, again and again -------------------------------------------------------------- */

static void *made(const alloc_case *c)
{
    void *x = NULL;
    fre_err err = {.text = ""};
    const fre_status st = c->make(&x, &err);

    if (st != FRE_OK)
        (void)fprintf(stderr, "%s: %d: %s\n", c->name, (int)st, err.text);
    must(st == FRE_OK);
    return x;
}

/* False: it has no n-th allocation. */
static bool fails_at(const alloc_case *c, uint64_t n, bool once, bool may_do_without)
{
    const int64_t before = blocks;
    const int open_before = count_entries("/proc/self/fd");
    static char nothing;
    void *x = &nothing;
    fre_err err = {.text = ""};
    fre_status st;
    bool hit, made_it;

    begin(n, once);
    st = c->make(&x, &err);
    hit = alloc_heal();
    made_it = st == FRE_OK && (!hit || may_do_without);
    if (!made_it && (!hit || st != FRE_E_NOMEM || x != &nothing)) {
        (void)fprintf(stderr, "%s: allocation %llu fails%s: status %d, output %s: %s\n", c->name,
                      (unsigned long long)n, once ? " alone" : "", (int)st,
                      x == &nothing ? "untouched" : "written", err.text);
        abort();
    }
    if (made_it)
        c->drop(x);
    if (blocks != before || count_entries("/proc/self/fd") != open_before) {
        (void)fprintf(stderr, "%s: allocation %llu fails%s: %lld blocks, %d descriptors are left\n",
                      c->name, (unsigned long long)n, once ? " alone" : "",
                      (long long)(blocks - before), count_entries("/proc/self/fd") - open_before);
        abort();
    }
    return hit;
}

static uint64_t torture(const alloc_case *c, void (*use)(void *made), uint64_t step, bool is_long)
{
    uint64_t n = 0;
    int64_t before;
    void *x;

    c->drop(made(c)); /* what is made once for all, tables and the like, is no leak */
    before = blocks;
    while (fails_at(c, n, false, is_long) && (is_long || fails_at(c, n, true, false))) {
        n += step;
        must(n < ALLOCATIONS_MAX);
    }
    must(n > 0);
    x = made(c);
    if (use)
        use(x);
    c->drop(x);
    must(blocks == before);
    return n;
}

uint64_t alloc_torture(const alloc_case *c, void (*use)(void *made))
{
    return torture(c, use, 1, false);
}

uint64_t alloc_torture_long(const alloc_case *c, void (*use)(void *made), uint64_t step)
{
    return torture(c, use, step, true);
}
