/* Memory that runs out: every allocation of a call fails in turn.  Programs named test_<module>_memory
 * are linked with these allocators in front of the library's (cmake/tests.cmake); what outside
 * libraries allocate for themselves is not seen. */
#ifndef FRE_TESTS_ALLOC_FAIL_H
#define FRE_TESTS_ALLOC_FAIL_H

#include <stdbool.h>
#include <stdint.h>

#include <fre/core.h>

#define ALLOC_NEVER UINT64_MAX

/* The next n allocations succeed; the one behind them fails, and all after it as well, or it alone. */
void alloc_fail_after(uint64_t n);
void alloc_fail_once_after(uint64_t n);
/* All succeed again; true: one had failed. */
bool alloc_heal(void);
/* Blocks allocated and not freed. */
int64_t alloc_blocks(void);

/* For further allocators: does this call fail?  And one that does not: p is counted. */
bool alloc_fails(void);
void *alloc_counted(void *p);

/* A constructor that is tortured, and what its object is good for. */
typedef struct alloc_case {
    const char *name;
    fre_status (*make)(void **out, fre_err *err);
    void (*drop)(void *made);
} alloc_case;

/* ALLOC_CASE(fre_thing_new, fre_thing, fre_thing_free, fre_thing_new(&x, 3, err)): the case
 * fre_thing_new_case.  tools/check-memory reads the first argument. */
#define ALLOC_CASE(function, type, free_function, call)                                            \
    static fre_status function##_make(void **out, fre_err *err)                                    \
    {                                                                                              \
        type *x = *out;                                                                            \
        const fre_status st = (call);                                                              \
                                                                                                   \
        (void)err;                                                                                 \
        *out = x;                                                                                  \
        return st;                                                                                 \
    }                                                                                              \
    static void function##_drop(void *made)                                                        \
    {                                                                                              \
        free_function(made);                                                                       \
    }                                                                                              \
    static const alloc_case function##_case = {#function, function##_make, function##_drop}

/* For n = 0, 1, ... until all of its allocations succeed: FRE_E_NOMEM, the output untouched, no block and
 * no descriptor more than before; then the object is used (NULL: it is only made) and freed.  Each n fails
 * with all behind it, and alone.  Aborts where that is not so.  Returns how many allocations there are. */
uint64_t alloc_torture(const alloc_case *c, void (*use)(void *made));
/* Of something longer, which may also succeed without what it needs for comfort: every step-th, with all
 * behind it. */
uint64_t alloc_torture_long(const alloc_case *c, void (*use)(void *made), uint64_t step);

#endif /* FRE_TESTS_ALLOC_FAIL_H */
