/* Memory that runs out: workers, and what their parts add up to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/partial.h>

#include "alloc_fail.h"
#include "must.h"
#include "partial_sample.h"

static fre_buf counts, sums, part, more;
static fre_partial_key key;
static const fre_buf *task;

static int make(void **state)
{
    (void)state;
    key = sample_key();
    counts = sample_counts();
    sums = sample_sums();
    return 0;
}

static int drop(void **state)
{
    (void)state;
    fre_buf_wipe(&counts);
    fre_buf_wipe(&sums);
    return 0;
}

/* Of two parts; what fails is open, and has its cells. */
static fre_status closed(fre_partial *p, fre_err *err)
{
    const size_t cells = fre_partial_cells(p);
    const fre_status st = fre_partial_close(p, 2, err);

    must(st == FRE_OK || fre_partial_cells(p) == cells);
    must(st == FRE_OK || fre_partial_left_out(p) == 0);
    return st;
}

/* A sum of two parts, closed, in its bytes again; what fails is as it was. */
static fre_status added(fre_partial **out, fre_err *err)
{
    fre_partial *p = NULL;
    fre_buf bytes;
    fre_status st = fre_partial_new(&p, sample_view(task), err);

    if (st != FRE_OK)
        return st;
    fre_buf_init(&bytes, FRE_PARTIAL_BYTES_MAX);
    st = fre_partial_add(p, sample_view(&part), err);
    must(st == FRE_OK || fre_partial_cells(p) == 0);
    if (st == FRE_OK)
        st = fre_partial_add(p, sample_view(&more), err);
    if (st == FRE_OK)
        st = closed(p, err);
    if (st == FRE_OK)
        st = fre_partial_encode(&bytes, p);
    must(st == FRE_OK || bytes.n == 0);
    fre_buf_wipe(&bytes);
    if (st == FRE_OK)
        *out = p;
    else
        fre_partial_free(p);
    return st;
}

ALLOC_CASE(fre_partial_new, fre_partial, fre_partial_free, added(&x, err));
/* A worker, and its part in slices, all of them or none. */
static fre_status finished(fre_partial_worker **out, fre_err *err)
{
    fre_partial_worker *w = NULL;
    fre_buf slice[3];
    fre_status st = fre_partial_worker_new(&w, sample_view(task), &key, NULL, 3, err);

    if (st != FRE_OK)
        return st;
    for (size_t i = 0; i < 3; i++)
        fre_buf_init(&slice[i], FRE_PARTIAL_BYTES_MAX);
    st = fre_partial_worker_finish(w, slice, 3);
    for (size_t i = 0; i < 3; i++) {
        must((st == FRE_OK) == (slice[i].n > 0));
        fre_buf_wipe(&slice[i]);
    }
    if (st == FRE_OK)
        *out = w;
    else
        fre_partial_worker_free(w);
    return st;
}

ALLOC_CASE(fre_partial_worker_new, fre_partial_worker, fre_partial_worker_free, finished(&x, err));

static void torture(const fre_buf *of)
{
    task = of;
    part = sample_part(sample_view(of), 1, 0, 5);
    more = sample_part(sample_view(of), 2, 5, 7);
    (void)alloc_torture(&fre_partial_new_case, NULL);
    (void)alloc_torture(&fre_partial_worker_new_case, NULL);
    fre_buf_wipe(&part);
    fre_buf_wipe(&more);
}

static void both_stages(void **state)
{
    (void)state;
    torture(&counts);
    torture(&sums);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_stages)};

    return cmocka_run_group_tests(tests, make, drop);
}
