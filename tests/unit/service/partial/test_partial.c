/* Tasks and parts: bytes that are what was written and nothing else, sums in any order, workers that
 * bound their users. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/partial.h>

#include <math.h>
#include <string.h>

#include "must.h"
#include "partial_sample.h"

static fre_buf counts, sums; /* tasks */

static int make(void **state)
{
    (void)state;
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

static fre_partial *empty(const fre_buf *task)
{
    fre_partial *p = NULL;

    assert_int_equal(fre_partial_new(&p, sample_view(task), NULL), FRE_OK);
    return p;
}

static fre_buf bytes_of(const fre_partial *p)
{
    fre_buf b;

    fre_buf_init(&b, FRE_PARTIAL_BYTES_MAX);
    assert_int_equal(fre_partial_encode(&b, p), FRE_OK);
    return b;
}

static void assert_bytes(const fre_partial *p, const fre_buf *want)
{
    fre_buf b = bytes_of(p);

    assert_int_equal(b.n, want->n);
    assert_memory_equal(b.p, want->p, want->n);
    fre_buf_wipe(&b);
}

/* The SHA-256 at the end of changed bytes, which a forger makes as well. */
static void sign(fre_buf *b)
{
    fre_sha256 h;

    fre_sha256_begin(&h, (fre_bytes){NULL, 0});
    fre_sha256_add(&h, b->p, b->n - FRE_HASH_BYTES);
    fre_sha256_end(b->p + b->n - FRE_HASH_BYTES, &h);
}

/* ---- tasks --------------------------------------------------------------------------------------- */

static void tasks_come_back(void **state)
{
    fre_partial_task t;
    fre_buf again;

    (void)state;
    assert_int_equal(fre_partial_task_decode(&t, sample_view(&sums), NULL), FRE_OK);
    assert_int_equal(t.stage, FRE_PARTIAL_SUMS);
    assert_int_equal(t.n_released, 2);
    assert_int_equal(t.terms.dim, SAMPLE_DIM);
    again = sample_task(&t);
    assert_int_equal(again.n, sums.n);
    assert_memory_equal(again.p, sums.p, sums.n);
    fre_buf_wipe(&again);
    fre_partial_task_wipe(&t);
}

/* Every bit, and every length. */
static void changed_tasks_are_refused(void **state)
{
    fre_partial_task t;

    (void)state;
    memset(&t, 0xa5, sizeof t);
    for (size_t i = 0; i < 8 * sums.n; i++) {
        sums.p[i / 8] ^= (uint8_t)(1u << i % 8);
        assert_int_equal(fre_partial_task_decode(&t, sample_view(&sums), NULL), FRE_E_DATA);
        sums.p[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    for (size_t n = 0; n < sums.n; n++)
        assert_int_equal(fre_partial_task_decode(&t, (fre_bytes){sums.p, n}, NULL), FRE_E_DATA);
    must_be_untouched(&t, sizeof t);
}

/* Numbers that no run has, under a right checksum. */
static void forged_tasks_are_refused(void **state)
{
    fre_partial_task t, as = {.terms = sample_terms()};
    const fre_partial_cell twice[2] = {{.name = {1}}, {.name = {1}}};
    fre_buf b;

    (void)state;
    fre_buf_init(&b, FRE_PARTIAL_BYTES_MAX);
    as.terms.dim = 0;
    assert_int_equal(fre_partial_task_encode(&b, &as), FRE_E_ARG);
    as.terms.dim = FRE_SKETCH_DIM_MAX + 1;
    assert_int_equal(fre_partial_task_encode(&b, &as), FRE_E_ARG);
    as.terms = sample_terms();
    as.terms.norm_bound = NAN;
    assert_int_equal(fre_partial_task_encode(&b, &as), FRE_E_ARG);
    as.terms.norm_bound = -1;
    assert_int_equal(fre_partial_task_encode(&b, &as), FRE_E_ARG);
    as.terms = sample_terms();
    as.terms.level[0].p32 = FRE_P_ONE + 1;
    assert_int_equal(fre_partial_task_encode(&b, &as), FRE_E_ARG);
    as.terms.level[0].p32 = 0;
    assert_int_equal(fre_partial_task_encode(&b, &as), FRE_E_ARG);
    as.terms = sample_terms();
    as.terms.level[0].tau = 0;
    assert_int_equal(fre_partial_task_encode(&b, &as), FRE_E_ARG);
    as.terms.level[0].tau = FRE_PARTIAL_COUNT_MAX + 1;
    assert_int_equal(fre_partial_task_encode(&b, &as), FRE_E_ARG);
    as.terms = sample_terms();
    as.terms.no_grid = true; /* and no level */
    assert_int_equal(fre_partial_task_encode(&b, &as), FRE_E_ARG);
    as.terms = sample_terms();
    as.stage = 1; /* there is none */
    assert_int_equal(fre_partial_task_encode(&b, &as), FRE_E_ARG);
    as.stage = FRE_PARTIAL_SUMS; /* of no points */
    assert_int_equal(fre_partial_task_encode(&b, &as), FRE_E_ARG);
    as.points = 1;
    as.released = (fre_partial_cell *)(uintptr_t)twice;
    as.n_released = 2;
    assert_int_equal(fre_partial_task_encode(&b, &as), FRE_E_ARG);
    as.stage = 0; /* nothing was released before the first */
    as.points = 0;
    as.n_released = 1;
    assert_int_equal(fre_partial_task_encode(&b, &as), FRE_E_ARG);
    assert_int_equal(b.n, 0);
    assert_int_equal(fre_buf_append(&b, counts.p, counts.n), FRE_OK);
    b.p[13] = '1'; /* "fre-e2t task 2" */
    sign(&b);
    assert_int_equal(fre_partial_task_decode(&t, sample_view(&b), NULL), FRE_E_DATA);
    fre_buf_wipe(&b);
}

static void another_key(void **state)
{
    fre_partial_key key = sample_key();
    fre_partial_worker *w = NULL;

    (void)state;
    key.b[31] ^= 1;
    assert_int_equal(fre_partial_worker_new(&w, sample_view(&counts), &key, NULL, 0, NULL),
                     FRE_E_KEY);
    assert_null(w);
}

/* ---- sums ------------------------------------------------------------------------------------------ */

/* magic, task, slice, of how many, closed, left out, parts */
#define INDEX_AT (16 + 32)
#define OF_AT (INDEX_AT + 4)
#define CLOSED_AT (OF_AT + 4)
#define LEFT_OUT_AT (CLOSED_AT + 1)
#define PART_AT (LEFT_OUT_AT + 8 + 4)

/* What follows the numbers and checks of the parts. */
static fre_bytes behind_numbers(const fre_buf *b, size_t parts)
{
    const size_t at = PART_AT + 16 * parts;

    return (fre_bytes){b->p + at, b->n - at - FRE_HASH_BYTES};
}

/* All but the first of several parts, of `each` users. */
static void add_parts(fre_partial *to, const fre_buf *task, size_t from, size_t each)
{
    for (size_t i = from; i < SAMPLE_USERS; i += each) {
        const size_t n = SAMPLE_USERS - i < each ? SAMPLE_USERS - i : each;
        fre_buf part = sample_part(sample_view(task), i, i, n);

        assert_int_equal(fre_partial_add(to, sample_view(&part), NULL), FRE_OK);
        fre_buf_wipe(&part);
    }
}

/* In parts of every size, in two orders, in one step and in two: the same bytes, and but for the numbers of
 * the parts those of one worker. */
static void any_division_is_the_same(const fre_buf *task)
{
    fre_buf want = sample_part(sample_view(task), 0, 0, SAMPLE_USERS);

    for (size_t each = 1; each <= SAMPLE_USERS; each++) {
        fre_partial *forward = empty(task), *backward = empty(task), *middle = empty(task);
        fre_buf some;
        fre_bytes a, b;

        add_parts(forward, task, 0, each);
        if (each < SAMPLE_USERS) {
            add_parts(middle, task, each, each);
            some = bytes_of(middle);
            assert_int_equal(fre_partial_add(backward, sample_view(&some), NULL), FRE_OK);
            fre_buf_wipe(&some);
        }
        some = sample_part(sample_view(task), 0, 0, each);
        assert_int_equal(fre_partial_add(backward, sample_view(&some), NULL), FRE_OK);
        fre_buf_wipe(&some);
        some = bytes_of(forward);
        assert_bytes(backward, &some);
        a = behind_numbers(&some, (SAMPLE_USERS + each - 1) / each);
        b = behind_numbers(&want, 1);
        assert_int_equal(a.n, b.n);
        assert_memory_equal(a.p, b.p, a.n);
        fre_buf_wipe(&some);
        fre_partial_free(forward);
        fre_partial_free(backward);
        fre_partial_free(middle);
    }
    fre_buf_wipe(&want);
}

static void any_division(void **state)
{
    (void)state;
    any_division_is_the_same(&counts);
    any_division_is_the_same(&sums);
}

/* By hand: two of each user's texts count, once in a cell. */
static void counts_and_sums_are_right(void **state)
{
    fre_partial *c = empty(&counts), *s = empty(&sums);
    fre_buf part = sample_part(sample_view(&counts), 4, 0, SAMPLE_USERS);
    fre_buf with_sums = sample_part(sample_view(&sums), 4, 0, SAMPLE_USERS);
    uint64_t want[5] = {0}, all = 0;
    const fre_partial_survey *seen;

    (void)state;
    for (size_t user = 0; user < SAMPLE_USERS; user++)
        for (size_t k = 0; k <= user % 3 && k < 2; k++, all++)
            want[(user + k) % 5]++;
    assert_int_equal(fre_partial_add(c, sample_view(&part), NULL), FRE_OK);
    assert_int_equal(fre_partial_add(s, sample_view(&with_sums), NULL), FRE_OK);
    seen = fre_partial_survey_view(c);
    assert_int_equal(seen->records, 24);
    assert_int_equal(seen->users, SAMPLE_USERS);
    assert_int_equal(seen->counted, all);
    assert_int_equal(seen->content.texts, 24);
    assert_null(fre_partial_survey_view(s));
    assert_int_equal(fre_partial_cells(c), 5);
    assert_int_equal(fre_partial_cells(s), 2);
    for (size_t i = 0; i < 2; i++) {
        fre_partial_cell cell;
        const int64_t *sum;
        const uint64_t n = fre_partial_cell_view(s, i, &cell, &sum);
        const size_t text = sum[0] > 0 ? 0 : 1;

        assert_int_equal(n, want[text]);
        assert_int_equal(sum[text], (int64_t)n * llrint((double).9f / 0x1p-20));
        assert_int_equal(sum[2], 0);
    }
    fre_buf_wipe(&part);
    fre_buf_wipe(&with_sums);
    fre_partial_free(c);
    fre_partial_free(s);
}

/* The same part twice, alone or within others. */
static void parts_come_once(void **state)
{
    fre_partial *p = empty(&counts), *both = empty(&counts);
    fre_buf a = sample_part(sample_view(&counts), 1, 0, 3),
            b = sample_part(sample_view(&counts), 2, 3, 3), two, before;

    (void)state;
    assert_int_equal(fre_partial_add(both, sample_view(&a), NULL), FRE_OK);
    assert_int_equal(fre_partial_add(both, sample_view(&b), NULL), FRE_OK);
    two = bytes_of(both);
    assert_int_equal(fre_partial_add(p, sample_view(&b), NULL), FRE_OK);
    before = bytes_of(p);
    assert_int_equal(fre_partial_add(p, sample_view(&b), NULL), FRE_E_DATA);
    assert_int_equal(fre_partial_add(p, sample_view(&two), NULL), FRE_E_DATA);
    assert_bytes(p, &before);
    assert_int_equal(fre_partial_add(p, sample_view(&a), NULL), FRE_OK);
    assert_bytes(p, &two);
    fre_buf_wipe(&a);
    fre_buf_wipe(&b);
    fre_buf_wipe(&two);
    fre_buf_wipe(&before);
    fre_partial_free(p);
    fre_partial_free(both);
}

/* Of another stage, and of a run that differs in one number. */
static void parts_of_others(void **state)
{
    fre_partial_task other = {.terms = sample_terms()};
    fre_partial *p = empty(&counts);
    fre_buf task, part = sample_part(sample_view(&sums), 1, 0, 3);

    (void)state;
    assert_int_equal(fre_partial_add(p, sample_view(&part), NULL), FRE_E_DATA);
    fre_buf_wipe(&part);
    other.terms.level[0].lattice_step = 0x1p-21;
    task = sample_task(&other);
    part = sample_part(sample_view(&task), 1, 0, 3);
    assert_int_equal(fre_partial_add(p, sample_view(&part), NULL), FRE_E_DATA);
    assert_int_equal(fre_partial_cells(p), 0);
    fre_buf_wipe(&part);
    fre_buf_wipe(&task);
    fre_partial_free(p);
}

/* Every bit and every length; with a right checksum: refused, or another part, never more than it may be. */
static void changed_parts(void **state)
{
    fre_buf part = sample_part(sample_view(&sums), 1, 0, SAMPLE_USERS);

    (void)state;
    for (size_t i = 0; i < 8 * part.n; i++) {
        fre_partial *p = empty(&sums);

        part.p[i / 8] ^= (uint8_t)(1u << i % 8);
        assert_int_equal(fre_partial_add(p, sample_view(&part), NULL), FRE_E_DATA);
        if (i / 8 < part.n - FRE_HASH_BYTES) {
            uint8_t kept[FRE_HASH_BYTES];
            fre_status st;

            memcpy(kept, part.p + part.n - sizeof kept, sizeof kept);
            sign(&part);
            st = fre_partial_add(p, sample_view(&part), NULL);
            assert_true(st == FRE_OK || st == FRE_E_DATA || st == FRE_E_LIMIT);
            if (st == FRE_OK)
                assert_bytes(p, &part);
            memcpy(part.p + part.n - sizeof kept, kept, sizeof kept);
        }
        part.p[i / 8] ^= (uint8_t)(1u << i % 8);
        fre_partial_free(p);
    }
    for (size_t n = 0; n < part.n; n++) {
        fre_partial *p = empty(&sums);

        assert_int_equal(fre_partial_add(p, (fre_bytes){part.p, n}, NULL), FRE_E_DATA);
        fre_partial_free(p);
    }
    fre_buf_wipe(&part);
}

/* One part's number and check, cells: a count at its limit takes no other. */
#define COUNT_AT (PART_AT + 16 + 4 + 4)

static void counts_do_not_overflow(void **state)
{
    fre_partial *p = empty(&sums);
    fre_buf part = sample_part(sample_view(&sums), 1, 0, 3), before;

    (void)state;
    memset(part.p + COUNT_AT, 0, 3);
    memset(part.p + COUNT_AT + 3, 0xff, 5);
    sign(&part);
    assert_int_equal(fre_partial_add(p, sample_view(&part), NULL), FRE_OK);
    before = bytes_of(p);
    part.p[PART_AT + 7] = 2; /* another part */
    sign(&part);
    assert_int_equal(fre_partial_add(p, sample_view(&part), NULL), FRE_E_LIMIT);
    assert_bytes(p, &before);
    part.p[COUNT_AT + 2] = 1;
    sign(&part);
    assert_int_equal(fre_partial_add(p, sample_view(&part), NULL), FRE_E_DATA);
    fre_buf_wipe(&part);
    fre_buf_wipe(&before);
    fre_partial_free(p);
}

/* ---- slices ----------------------------------------------------------------------------------------- */

#define SLICES 7u
#define PARTS 3u /* of 4 users each */

static void sliced(fre_buf part[PARTS][SLICES], const fre_buf *task)
{
    for (size_t i = 0; i < PARTS; i++)
        sample_slices(part[i], SLICES, sample_view(task), i, 4 * i, 4);
}

static void wipe_sliced(fre_buf part[PARTS][SLICES])
{
    for (size_t i = 0; i < PARTS * SLICES; i++)
        fre_buf_wipe(&part[i / SLICES][i % SLICES]);
}

/* A slice of all parts. */
static fre_partial *slice_of_all(const fre_buf *task, fre_buf part[PARTS][SLICES], size_t slice)
{
    fre_partial *p = empty(task);

    for (size_t i = 0; i < PARTS; i++)
        assert_int_equal(fre_partial_add(p, sample_view(&part[(i + slice) % PARTS][slice]), NULL),
                         FRE_OK);
    return p;
}

static fre_buf closed_slice(const fre_buf *task, fre_buf part[PARTS][SLICES], size_t slice)
{
    fre_partial *p = slice_of_all(task, part, slice);
    fre_buf b;

    assert_int_equal(fre_partial_close(p, PARTS, NULL), FRE_OK);
    b = bytes_of(p);
    fre_partial_free(p);
    return b;
}

/* What is cut, and put together again, is what was not cut, but for the parts' checks. */
static void slices_are_the_whole(const fre_buf *task)
{
    fre_buf part[PARTS][SLICES], whole;
    fre_partial *uncut = empty(task), *all = empty(task);
    fre_bytes a, b;

    sliced(part, task);
    add_parts(uncut, task, 0, 4);
    assert_int_equal(fre_partial_check_whole(all, NULL), FRE_E_NOINPUT);
    for (size_t s = SLICES; s > 0; s--) {
        fre_partial *p = slice_of_all(task, part, s - 1);
        fre_buf bytes = bytes_of(p), none;

        fre_buf_init(&none, 1 << 20);
        assert_int_equal(fre_partial_add(all, sample_view(&bytes), NULL), FRE_OK);
        assert_int_equal(fre_partial_check_whole(all, NULL), s > 1 ? FRE_E_DATA : FRE_OK);
        if (s > 1 && s < SLICES)
            assert_int_equal(fre_partial_encode(&none, all), FRE_E_ARG);
        assert_bytes(p, &bytes);
        fre_partial_free(p);
        fre_buf_wipe(&bytes);
    }
    whole = bytes_of(all);
    wipe_sliced(part);
    part[0][0] = bytes_of(uncut);
    a = behind_numbers(&whole, PARTS);
    b = behind_numbers(&part[0][0], PARTS);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.p, b.p, a.n);
    fre_buf_wipe(&part[0][0]);
    fre_buf_wipe(&whole);
    fre_partial_free(uncut);
    fre_partial_free(all);
}

static void any_cut(void **state)
{
    (void)state;
    slices_are_the_whole(&counts);
    slices_are_the_whole(&sums);
}

/* By hand, the five cells have 4, 5, 4, 4 and 3 records, and one of 3 is not released. */
static void closing_leaves_out_what_is_not_released(void **state)
{
    fre_buf part[PARTS][SLICES];
    fre_partial *all = empty(&counts);
    uint64_t seen = 0;

    (void)state;
    sliced(part, &counts);
    for (size_t s = 0; s < SLICES; s++) {
        fre_buf b = closed_slice(&counts, part, s);

        assert_int_equal(fre_partial_add(all, sample_view(&b), NULL), FRE_OK);
        fre_buf_wipe(&b);
    }
    assert_int_equal(fre_partial_check_whole(all, NULL), FRE_OK);
    assert_int_equal(fre_partial_cells(all), 4);
    assert_int_equal(fre_partial_left_out(all), 1);
    assert_int_equal(fre_partial_survey_view(all)->records, 24);
    for (size_t i = 0; i < 4; i++) {
        fre_partial_cell cell;
        const int64_t *none;

        seen += fre_partial_cell_view(all, i, &cell, &none);
    }
    assert_int_equal(seen, 17);
    wipe_sliced(part);
    fre_partial_free(all);
}

/* Sums are closed whole: cells were chosen before. */
static void closing_keeps_sums(void **state)
{
    fre_buf part = sample_part(sample_view(&sums), 1, 0, 1);
    fre_partial *p = empty(&sums);

    (void)state;
    assert_int_equal(fre_partial_add(p, sample_view(&part), NULL), FRE_OK);
    assert_int_equal(fre_partial_close(p, 1, NULL), FRE_OK);
    assert_int_equal(fre_partial_cells(p), 1);
    assert_int_equal(fre_partial_left_out(p), 0);
    fre_buf_wipe(&part);
    fre_partial_free(p);
}

static void closing_wants_all_parts(void **state)
{
    fre_buf part[PARTS][SLICES];
    fre_partial *p = empty(&counts);
    size_t cells;

    (void)state;
    assert_int_equal(fre_partial_close(p, 0, NULL), FRE_E_DATA); /* nothing came */
    fre_partial_free(p);
    sliced(part, &counts);
    p = slice_of_all(&counts, part, 2);
    cells = fre_partial_cells(p);
    assert_int_equal(fre_partial_close(p, PARTS - 1, NULL), FRE_E_DATA);
    assert_int_equal(fre_partial_close(p, PARTS + 1, NULL), FRE_E_DATA);
    assert_int_equal(fre_partial_cells(p), cells);
    assert_int_equal(fre_partial_close(p, PARTS, NULL), FRE_OK);
    assert_int_equal(fre_partial_close(p, PARTS, NULL), FRE_E_ARG);
    wipe_sliced(part);
    fre_partial_free(p);
}

static void refused(fre_partial *p, const fre_buf *what)
{
    assert_int_equal(fre_partial_add(p, sample_view(what), NULL), FRE_E_DATA);
}

/* Open beside closed, one slice twice, of another cut, of other parts. */
static void slices_that_do_not_meet(void **state)
{
    fre_buf part[PARTS][SLICES], closed[2], more[2], half;
    fre_partial *p = empty(&counts), *two = empty(&counts);

    (void)state;
    sliced(part, &counts);
    for (size_t s = 0; s < 2; s++)
        closed[s] = closed_slice(&counts, part, s);
    assert_int_equal(fre_partial_add(p, sample_view(&closed[0]), NULL), FRE_OK);
    refused(p, &closed[0]);  /* twice */
    refused(p, &part[0][0]); /* a part of it again */
    refused(p, &part[0][1]); /* open */
    sample_slices(more, 2, sample_view(&counts), 9, 0, 1);
    refused(p, &more[0]); /* other parts, another cut */
    assert_int_equal(fre_partial_add(p, sample_view(&closed[1]), NULL), FRE_OK);
    refused(p, &closed[0]);
    refused(p, &closed[1]);
    assert_int_equal(fre_partial_add(two, sample_view(&part[0][0]), NULL), FRE_OK);
    refused(two, &part[1][1]); /* another slice of another part */
    refused(two, &closed[1]);
    assert_int_equal(fre_partial_add(two, sample_view(&part[0][1]), NULL), FRE_OK);
    refused(two, &part[1][0]); /* parts come before slices */
    fre_partial_free(two);
    two = empty(&counts);
    assert_int_equal(fre_partial_add(two, sample_view(&part[0][0]), NULL), FRE_OK);
    assert_int_equal(fre_partial_close(two, 1, NULL), FRE_OK); /* as if it were all */
    half = bytes_of(two);
    fre_partial_free(two);
    two = empty(&counts);
    assert_int_equal(fre_partial_add(two, sample_view(&closed[1]), NULL), FRE_OK);
    refused(two, &half);
    fre_buf_wipe(&half);
    for (size_t i = 0; i < 2; i++) {
        fre_buf_wipe(&closed[i]);
        fre_buf_wipe(&more[i]);
    }
    wipe_sliced(part);
    fre_partial_free(p);
    fre_partial_free(two);
}

/* Closed counts are without some cells, so they take neither what is open nor another part. */
static void closed_slices_take_no_part(void **state)
{
    fre_buf part[PARTS][SLICES], closed, open, half[2];
    fre_partial *p = empty(&counts), *q;

    (void)state;
    sliced(part, &counts);
    closed = closed_slice(&counts, part, 0);
    q = slice_of_all(&counts, part, 1);
    open = bytes_of(q); /* of the same parts */
    assert_int_equal(fre_partial_add(p, sample_view(&closed), NULL), FRE_OK);
    refused(p, &open);
    refused(q, &closed);
    fre_partial_free(p);
    fre_partial_free(q);
    for (size_t i = 0; i < 2; i++) {
        p = empty(&counts);
        assert_int_equal(fre_partial_add(p, sample_view(&part[i][0]), NULL), FRE_OK);
        assert_int_equal(fre_partial_close(p, 1, NULL), FRE_OK); /* as if it were all */
        half[i] = bytes_of(p);
        fre_partial_free(p);
    }
    p = empty(&counts);
    assert_int_equal(fre_partial_add(p, sample_view(&half[0]), NULL), FRE_OK);
    refused(p, &half[1]);
    refused(p, &part[1][0]);
    fre_partial_free(p);
    p = empty(&counts);
    assert_int_equal(fre_partial_add(p, sample_view(&part[1][0]), NULL), FRE_OK);
    refused(p, &half[0]);
    fre_partial_free(p);
    for (size_t i = 0; i < 2; i++)
        fre_buf_wipe(&half[i]);
    fre_buf_wipe(&closed);
    fre_buf_wipe(&open);
    wipe_sliced(part);
}

/* A part that is made again of other records has another check, whichever slice they change. */
static void slices_of_a_part_that_changed(void **state)
{
    fre_buf part[SLICES], other[SLICES];

    (void)state;
    sample_slices(part, SLICES, sample_view(&counts), 1, 0, 4);
    sample_slices(other, SLICES, sample_view(&counts), 1, 0, 5);
    for (size_t s = 1; s < SLICES; s++) {
        fre_partial *p = empty(&counts);

        assert_int_equal(fre_partial_add(p, sample_view(&part[0]), NULL), FRE_OK);
        refused(p, &other[s]);
        assert_int_equal(fre_partial_add(p, sample_view(&part[s]), NULL), FRE_OK);
        fre_partial_free(p);
    }
    for (size_t s = 0; s < SLICES; s++) {
        fre_buf_wipe(&part[s]);
        fre_buf_wipe(&other[s]);
    }
}

/* Under a right checksum: a cell in another slice, one below the threshold, cells left out of what is open. */
static void forged_slices(void **state)
{
    fre_buf part = sample_part(sample_view(&sums), 1, 0, SAMPLE_USERS), b;
    fre_partial *p = empty(&sums), *q = empty(&counts);

    (void)state;
    part.p[OF_AT + 3] = 2;
    sign(&part);
    refused(p, &part); /* the second cell of two lies in the second slice */
    part.p[INDEX_AT + 3] = 2;
    sign(&part);
    refused(p, &part);
    fre_buf_wipe(&part);
    part = sample_part(sample_view(&counts), 1, 0, SAMPLE_USERS);
    part.p[CLOSED_AT] = 1;
    sign(&part);
    refused(q, &part); /* a cell of three */
    part.p[CLOSED_AT] = 0;
    part.p[LEFT_OUT_AT + 7] = 1;
    sign(&part);
    refused(q, &part);
    fre_buf_wipe(&part);
    part = sample_part(sample_view(&sums), 1, 0, SAMPLE_USERS);
    part.p[CLOSED_AT] = 1;
    part.p[LEFT_OUT_AT + 7] = 1;
    sign(&part);
    refused(p, &part);
    part.p[LEFT_OUT_AT + 7] = 0;
    sign(&part);
    assert_int_equal(fre_partial_add(p, sample_view(&part), NULL), FRE_OK);
    b = bytes_of(p);
    assert_int_equal(b.n, part.n);
    assert_memory_equal(b.p, part.p, b.n);
    fre_buf_wipe(&b);
    fre_buf_wipe(&part);
    fre_partial_free(p);
    fre_partial_free(q);
}

/* Cells left out by two slices are more than can be told. */
static void left_out_does_not_overflow(void **state)
{
    fre_buf part[PARTS][SLICES], b[2];
    fre_partial *p = empty(&counts);
    size_t n = 0;

    (void)state;
    sliced(part, &counts);
    for (size_t s = 0; s < 2; s++) {
        b[s] = closed_slice(&counts, part, s);
        memset(b[s].p + LEFT_OUT_AT + 3, 0xff, 5);
        sign(&b[s]);
    }
    assert_int_equal(fre_partial_add(p, sample_view(&b[0]), NULL), FRE_OK);
    n = fre_partial_cells(p);
    assert_int_equal(fre_partial_add(p, sample_view(&b[1]), NULL), FRE_E_LIMIT);
    assert_int_equal(fre_partial_cells(p), n);
    assert_int_equal(fre_partial_left_out(p), FRE_PARTIAL_COUNT_MAX);
    for (size_t s = 0; s < 2; s++)
        fre_buf_wipe(&b[s]);
    wipe_sliced(part);
    fre_partial_free(p);
}

static fre_partial_task public_task(fre_counts how, uint64_t tau)
{
    fre_partial_task t = {.terms = sample_terms(), .stage = 1};

    t.terms.n_levels = 1;
    t.terms.level[1] =
        (fre_partial_level){.sketch = {.kind = FRE_SKETCH_CODEBOOK,
                                       .codebook = {.cells = 1 << 18, .radius = 1, .gain = 1}},
                            .counts = how,
                            .p32 = how == FRE_COUNTS_NOISY ? 0 : FRE_P_ONE,
                            .tau = tau,
                            .lattice_step = 1};
    return t;
}

/* Cells of a public level: all stay under noise, where one that nobody is in may be released. */
static void closing_public_cells(void **state)
{
    (void)state;
    for (int noisy = 0; noisy < 2; noisy++) {
        const fre_partial_task t =
            noisy ? public_task(FRE_COUNTS_NOISY, 0) : public_task(FRE_COUNTS_SAMPLED, 4);
        fre_buf task = sample_task(&t), b;
        fre_partial *p = empty(&task);
        fre_out o;
        fre_sha256 h;

        fre_buf_init(&b, 1 << 20);
        o = fre_out_begin(&b);
        fre_sha256_begin(&h, (fre_bytes){NULL, 0});
        fre_sha256_add(&h, task.p, task.n);
        fre_out_put(&o, "fre-e2t part 2\0", 16);
        for (size_t i = 0; i < FRE_HASH_BYTES; i++)
            fre_out_uint(&o, 0, 1);
        fre_sha256_end(b.p + 16, &h);
        fre_out_uint(&o, 0, 4);
        fre_out_uint(&o, 1, 4);
        fre_out_uint(&o, 0, 1); /* open */
        fre_out_uint(&o, 0, 8);
        fre_out_uint(&o, 1, 4);
        fre_out_uint(&o, 7, 8); /* its number */
        fre_out_uint(&o, 7, 8);
        fre_out_uint(&o, 3, 4);
        for (unsigned i = 0; i < 3; i++) {
            fre_out_uint(&o, 100 * i, 4);
            fre_out_uint(&o, 3 + i % 2, 8);
        }
        for (size_t i = 0; i < FRE_HASH_BYTES; i++)
            fre_out_uint(&o, 0, 1);
        assert_int_equal(fre_out_end(&o), FRE_OK);
        sign(&b);
        assert_int_equal(fre_partial_add(p, sample_view(&b), NULL), FRE_OK);
        assert_int_equal(fre_partial_close(p, 1, NULL), FRE_OK);
        assert_int_equal(fre_partial_cells(p), noisy ? 3 : 1);
        assert_int_equal(fre_partial_left_out(p), noisy ? 0 : 2);
        if (!noisy) {
            fre_partial_cell cell;
            const int64_t *none;

            assert_int_equal(fre_partial_cell_view(p, 0, &cell, &none), 4);
            assert_int_equal(cell.cell, 100);
        }
        fre_buf_wipe(&b);
        b = bytes_of(p);
        fre_partial_free(p);
        p = empty(&task);
        assert_int_equal(fre_partial_add(p, sample_view(&b), NULL), FRE_OK);
        fre_buf_wipe(&b);
        fre_buf_wipe(&task);
        fre_partial_free(p);
    }
}

/* As many as parts, unless all are little. */
static void how_many_slices(void **state)
{
    fre_partial_task t = {.terms = sample_terms()}, level = public_task(FRE_COUNTS_NOISY, 0);

    (void)state;
    assert_int_equal(fre_partial_slices(&t, 0), 1);
    assert_int_equal(fre_partial_slices(&t, 1), 1);
    assert_int_equal(fre_partial_slices(&t, 5), 5);
    assert_int_equal(fre_partial_slices(&t, 1u << 20), 512);
    assert_int_equal(fre_partial_slices(&level, 5), 1);    /* 3 MB a part */
    assert_int_equal(fre_partial_slices(&level, 100), 19); /* 16 MB a slice */
    assert_int_equal(fre_partial_slices(&level, 1u << 20), 512);
    t.stage = FRE_PARTIAL_SUMS;
    t.n_released = 1000;
    t.terms.dim = 384;
    assert_int_equal(fre_partial_slices(&t, 2), 1);
    assert_int_equal(fre_partial_slices(&t, 100), 19);
}

static void as_many_slices_as_there_may_be(void **state)
{
    const fre_partial_key key = sample_key();
    fre_partial_worker *w = NULL;
    fre_buf b;

    (void)state;
    fre_buf_init(&b, 1 << 20);
    assert_int_equal(fre_partial_worker_new(&w, sample_view(&counts), &key, NULL, 0, NULL), FRE_OK);
    assert_int_equal(fre_partial_worker_finish(w, &b, 0), FRE_E_ARG);
    assert_int_equal(fre_partial_worker_finish(w, &b, FRE_PARTIAL_SLICES_MAX + 1), FRE_E_ARG);
    fre_partial_worker_free(w);
    fre_buf_wipe(&b);
}

/* ---- workers ---------------------------------------------------------------------------------------- */

static fre_status give(fre_partial_worker *w, const char *user, const char *text, uint64_t records,
                       const uint8_t *place)
{
    uint8_t id[2][FRE_COIN_ID_BYTES];
    fre_partial_record r = {.text = id[1], .records = records, .place = place};

    fre_partial_worker_id(w, id[1], (fre_bytes){(const uint8_t *)text, strlen(text)});
    if (user)
        fre_partial_worker_id(w, id[0], (fre_bytes){(const uint8_t *)user, strlen(user)});
    r.user = user ? id[0] : NULL;
    return fre_partial_worker_add(w, &r, NULL);
}

static fre_partial_worker *worker(void)
{
    const fre_partial_key key = sample_key();
    fre_partial_worker *w = NULL;

    assert_int_equal(fre_partial_worker_new(&w, sample_view(&counts), &key, NULL, 0, NULL), FRE_OK);
    return w;
}

static void workers_refuse(void **state)
{
    uint8_t place[2][64];
    float row[SAMPLE_DIM];
    fre_partial_worker *w = worker();

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        sample_row(row, i);
        assert_int_equal(fre_partial_worker_place(w, place[i], (fre_rows){row, 1}, 1, NULL), FRE_OK);
    }
    assert_int_equal(give(w, "anna", "x", 1, place[0]), FRE_OK);
    assert_int_equal(give(w, "ben", "x", 1, place[0]), FRE_OK);
    assert_int_equal(give(w, "anna", "y", 1, place[1]), FRE_E_DATA); /* apart */
    fre_partial_worker_free(w);
    w = worker();
    assert_int_equal(give(w, NULL, "x", 3, place[0]), FRE_OK);
    assert_int_equal(give(w, NULL, "x", 1, place[0]), FRE_E_DATA); /* twice */
    fre_partial_worker_free(w);
    w = worker();
    assert_int_equal(give(w, NULL, "x", 3, place[0]), FRE_OK);
    assert_int_equal(give(w, "anna", "y", 1, place[1]), FRE_E_DATA); /* mixed */
    fre_partial_worker_free(w);
    w = worker();
    assert_int_equal(give(w, NULL, "x", 0, place[0]), FRE_E_ARG);
    place[0][0] = 2;
    assert_int_equal(give(w, NULL, "x", 1, place[0]), FRE_E_DATA);
    row[0] = NAN;
    memset(place[1], 0xa5, sizeof place[1]);
    assert_int_equal(fre_partial_worker_place(w, place[1], (fre_rows){row, 1}, 1, NULL), FRE_E_DATA);
    must_be_untouched(place[1], sizeof place[1]);
    fre_partial_worker_free(w);
}

/* A text without a word counts as a record and a user, and lies nowhere. */
static void blank_texts(void **state)
{
    const float none[SAMPLE_DIM] = {0};
    uint8_t place[64];
    fre_partial_worker *w = worker();
    fre_partial *p = empty(&counts);
    fre_buf b;

    (void)state;
    assert_int_equal(fre_partial_worker_place(w, place, (fre_rows){none, 1}, 1, NULL), FRE_OK);
    assert_int_equal(give(w, "anna", "?", 1, place), FRE_OK);
    assert_int_equal(give(w, "ben", "?", 1, place), FRE_OK);
    fre_buf_init(&b, FRE_PARTIAL_BYTES_MAX);
    assert_int_equal(fre_partial_worker_finish(w, &b, 1), FRE_OK);
    assert_int_equal(fre_partial_add(p, sample_view(&b), NULL), FRE_OK);
    assert_int_equal(fre_partial_survey_view(p)->users, 2);
    assert_int_equal(fre_partial_survey_view(p)->blank, 2);
    assert_int_equal(fre_partial_survey_view(p)->counted, 0);
    assert_int_equal(fre_partial_cells(p), 0);
    fre_buf_wipe(&b);
    fre_partial_worker_free(w);
    fre_partial_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_come_back),
        cmocka_unit_test(changed_tasks_are_refused),
        cmocka_unit_test(forged_tasks_are_refused),
        cmocka_unit_test(another_key),
        cmocka_unit_test(any_division),
        cmocka_unit_test(counts_and_sums_are_right),
        cmocka_unit_test(parts_come_once),
        cmocka_unit_test(parts_of_others),
        cmocka_unit_test(changed_parts),
        cmocka_unit_test(counts_do_not_overflow),
        cmocka_unit_test(any_cut),
        cmocka_unit_test(closing_leaves_out_what_is_not_released),
        cmocka_unit_test(closing_keeps_sums),
        cmocka_unit_test(closing_public_cells),
        cmocka_unit_test(closing_wants_all_parts),
        cmocka_unit_test(slices_that_do_not_meet),
        cmocka_unit_test(closed_slices_take_no_part),
        cmocka_unit_test(slices_of_a_part_that_changed),
        cmocka_unit_test(forged_slices),
        cmocka_unit_test(left_out_does_not_overflow),
        cmocka_unit_test(how_many_slices),
        cmocka_unit_test(as_many_slices_as_there_may_be),
        cmocka_unit_test(workers_refuse),
        cmocka_unit_test(blank_texts),
    };

    return cmocka_run_group_tests(tests, make, drop);
}
