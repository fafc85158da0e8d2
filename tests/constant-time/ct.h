/* ct.h - constant-time checks by memcheck: secrets are marked undefined, so that valgrind reports
 * each branch and each address that depends on one.  The modules under test are compiled with
 * FRE_CONSTANT_TIME, which makes FRE_DECLASSIFY live.  A program runs its cases and its controls;
 * a control leaks on purpose, and one that goes unnoticed fails the run as a leak does. */
#ifndef FRE_CT_H
#define FRE_CT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <valgrind/memcheck.h>

#include <fre/core.h>

typedef struct ct_case {
    const char *name;
    void (*run)(void);
    bool leaks; /* a control */
} ct_case;

static inline void ct_poison(void *p, size_t n)
{
    (void)VALGRIND_MAKE_MEM_UNDEFINED(p, n);
}

static inline void ct_unpoison(void *p, size_t n)
{
    (void)VALGRIND_MAKE_MEM_DEFINED(p, n);
}

/* What must hold apart from timing; a failure here is no verdict on it, so the run ends. */
static inline void ct_require(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "constant time: %s\n", what);
        exit(2);
    }
}

/* Whether any bit of the n bytes at p is still secret. */
static inline bool ct_is_secret(const void *p, size_t n)
{
    uint8_t bits[256];

    ct_require(n <= sizeof bits && VALGRIND_GET_VBITS(p, bits, n) == 1, "no view of the bits");
    for (size_t i = 0; i < n; i++)
        if (bits[i] != 0)
            return true;
    return false;
}

static inline int ct_main(const char *module, const ct_case *cases, size_t n)
{
    int bad = 0;

    ct_require(RUNNING_ON_VALGRIND, "run this under valgrind (make ct)");
    for (size_t i = 0; i < n; i++) {
        const unsigned long before = VALGRIND_COUNT_ERRORS;
        bool leaked;

        cases[i].run();
        leaked = VALGRIND_COUNT_ERRORS != before;
        printf("%s: %-44s %s\n", module, cases[i].name,
               leaked == cases[i].leaks ? (leaked ? "caught, as it must be" : "ok")
               : leaked                 ? "LEAKS"
                                        : "CONTROL NOT CAUGHT");
        bad |= leaked != cases[i].leaks;
    }
    return bad;
}

#endif
