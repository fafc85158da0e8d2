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
    b.p[13] = '2'; /* "fre-e2t task 1" */
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

/* What follows the numbers of the parts. */
static fre_bytes behind_numbers(const fre_buf *b, size_t parts)
{
    const size_t at = 16 + FRE_HASH_BYTES + 4 + 8 * parts;

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

/* magic, task, one part's number, cells: a count at its limit takes no other. */
#define COUNT_AT (16 + 32 + 4 + 8 + 4 + 4)

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
    part.p[16 + 32 + 4 + 7] = 2; /* another part */
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
    assert_int_equal(fre_partial_worker_finish(w, &b), FRE_OK);
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
        cmocka_unit_test(workers_refuse),
        cmocka_unit_test(blank_texts),
    };

    return cmocka_run_group_tests(tests, make, drop);
}
