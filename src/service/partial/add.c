/* partial/add.c - bytes that are added: another part of the same slices, or another slice of the same parts. */
#include "partial_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells ---------------------------------------------------------------------------------------- */

/* One cell in bytes. */
typedef struct entry {
    const uint8_t *name; /* of the grid */
    uint32_t cell;
    uint64_t count;
    fre_in sums;
} entry;

static void get_entry(fre_in *in, entry *e, const fre_partial *p)
{
    fre_in_require(in, p->in_grid || p->n_slot_of > 0, "part");
    if (p->in_grid)
        e->name = fre_in_take(in, FRE_CELL_BYTES, "part");
    else
        e->cell = (uint32_t)partial_uint_to(in, 4, p->n_slot_of - 1);
    e->count = partial_uint_to(in, 8, FRE_PARTIAL_COUNT_MAX);
    fre_in_require(in, e->count > 0, "part");
    e->sums = (fre_in){.left = in->left};
    (void)fre_in_take(in, p->width * 8, "part");
}

static bool in_order(const entry *a, const entry *b, const fre_partial *p)
{
    return p->in_grid ? memcmp(a->name, b->name, FRE_CELL_BYTES) < 0 : a->cell < b->cell;
}

/* How far `count` clipped records can move a coordinate of a cell's sum, in steps of its lattice. */
static double reach_of(const fre_partial *p, const entry *e)
{
    const fre_partial_terms *t = &p->task.terms;
    const fre_partial_level *l = &t->level[p->task.released[e->cell].level];

    return (double)e->count * (fre_sketch_reach(&l->sketch, t->norm_bound) / l->lattice_step + 1);
}

/* Both are within the limit. */
static bool overflows(int64_t had, int64_t more)
{
    return more > 0 ? had > FRE_PARTIAL_SUM_MAX - more : had < -FRE_PARTIAL_SUM_MAX - more;
}

/* What would be added fits. */
static fre_status check_entry(fre_in *in, const entry *e, const fre_partial *p)
{
    const uint32_t slot = partial_find_slot(p, e->name, e->cell);
    const double reach = p->width > 0 ? reach_of(p, e) : 0;
    fre_in sums = e->sums;

    if (slot != FRE_MAP_NONE && e->count > FRE_PARTIAL_COUNT_MAX - p->count[slot])
        return FRE_E_LIMIT;
    for (size_t k = 0; k < p->width; k++) {
        const int64_t more = (int64_t)fre_in_uint(&sums, 8, "part");
        const int64_t had = slot == FRE_MAP_NONE ? 0 : p->sum[slot * p->width + k];

        fre_in_require(in,
                       more >= -FRE_PARTIAL_SUM_MAX && more <= FRE_PARTIAL_SUM_MAX &&
                           fabs((double)more) <= reach,
                       "part");
        if (in->bad)
            return FRE_E_DATA;
        if (overflows(had, more))
            return FRE_E_LIMIT;
    }
    return FRE_OK;
}

/* A part in bytes up to its cells. */
typedef struct arrival {
    uint32_t index, of; /* a slice */
    bool closed;
    uint64_t left_out;
    partial_part *part; /* n_parts, ascending; at last p's too, if they are others */
    size_t n_parts;
    fre_partial_survey own, both;
    size_t n; /* cells */
    fre_in cells;
} arrival;

static void arrival_wipe(arrival *a)
{
    free(a->part);
    partial_survey_wipe(&a->own);
    partial_survey_wipe(&a->both);
}

/* A cell where it lies, of a count that its slice may still have. */
static bool belongs(const entry *e, const arrival *a, const fre_partial *p)
{
    uint64_t tau;

    return partial_slice(p, e->name, e->cell, a->of) == a->index &&
           (!a->closed || !partial_prunes(p, &tau) || fre_aggregate_released(e->count, tau));
}

/* *fresh: how many cells are new. */
static fre_status check_cells(const arrival *a, size_t *fresh, const fre_partial *p)
{
    entry before = {.name = NULL};
    fre_in in = a->cells;

    *fresh = 0;
    for (size_t i = 0; i < a->n; i++) {
        entry e = {.name = NULL};
        fre_status st;

        get_entry(&in, &e, p);
        fre_in_require(&in, in.bad || i == 0 || in_order(&before, &e, p), "part");
        fre_in_require(&in, in.bad || belongs(&e, a, p), "part");
        if (in.bad)
            return FRE_E_DATA;
        st = check_entry(&in, &e, p);
        if (st != FRE_OK)
            return st;
        *fresh += partial_find_slot(p, e.name, e.cell) == FRE_MAP_NONE;
        before = e;
    }
    return in.left.n == 0 ? FRE_OK : FRE_E_DATA;
}

/* Room was made, and all was checked. */
static fre_status add_cells(fre_partial *p, fre_in in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        entry e = {.name = NULL};
        uint32_t slot;
        fre_status st;

        get_entry(&in, &e, p);
        st = partial_slot(p, &slot, e.name, e.cell);
        if (st != FRE_OK)
            return st;
        p->count[slot] += e.count;
        for (size_t k = 0; k < p->width; k++)
            p->sum[slot * p->width + k] += (int64_t)fre_in_uint(&e.sums, 8, "part");
    }
    return FRE_OK;
}

/* ---- parts and slices ------------------------------------------------------------------------------ */

static fre_status get_slice(fre_in *in, arrival *a, const fre_partial *p)
{
    uint64_t tau;

    a->index = (uint32_t)fre_in_uint(in, 4, "part");
    a->of = (uint32_t)partial_uint_to(in, 4, FRE_PARTIAL_SLICES_MAX);
    a->closed = partial_flag(in);
    a->left_out = partial_uint_to(in, 8, FRE_PARTIAL_COUNT_MAX);
    fre_in_require(in, a->index < a->of, "part");
    fre_in_require(in, a->left_out == 0 || (a->closed && partial_prunes(p, &tau)), "part");
    return in->bad ? FRE_E_DATA : FRE_OK;
}

static fre_status get_parts(fre_in *in, arrival *a)
{
    const size_t n = (size_t)partial_uint_to(in, 4, FRE_PARTIAL_PARTS_MAX);

    fre_in_require(in, n > 0 && n <= in->left.n / 16, "part");
    if (in->bad)
        return FRE_E_DATA;
    a->part = malloc(n * sizeof *a->part);
    if (!a->part)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        a->part[i].number = fre_in_uint(in, 8, "part");
        a->part[i].check = fre_in_uint(in, 8, "part");
        fre_in_require(in, i == 0 || a->part[i].number > a->part[i - 1].number, "part");
    }
    a->n_parts = n;
    return in->bad ? FRE_E_DATA : FRE_OK;
}

/* The same slice of other parts: p's and its own. */
static fre_status other_parts(arrival *a, const fre_partial *p, fre_err *err)
{
    const size_t n = p->n_parts + a->n_parts;
    partial_part *both;
    size_t from = 0, own = 0;

    if (n > FRE_PARTIAL_PARTS_MAX)
        return fre_fail(err, FRE_E_LIMIT, "more than %u parts: make fewer and larger ones",
                        FRE_PARTIAL_PARTS_MAX);
    both = malloc(n * sizeof *both);
    if (!both)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const bool mine =
            own == a->n_parts || (from < p->n_parts && p->part[from].number <= a->part[own].number);

        both[i] = mine ? p->part[from++] : a->part[own++];
        if (i > 0 && both[i].number == both[i - 1].number) {
            free(both);
            return fre_fail(
                err, FRE_E_DATA,
                "a part is there twice: add each part of a stage once, and none beside a "
                "sum that it is in");
        }
    }
    free(a->part);
    a->part = both;
    a->n_parts = n;
    return FRE_OK;
}

static bool same_parts(const arrival *a, const fre_partial *p)
{
    bool same = a->n_parts == p->n_parts;

    for (size_t i = 0; same && i < a->n_parts; i++)
        same = a->part[i].number == p->part[i].number && a->part[i].check == p->part[i].check;
    return same;
}

/* Whether it can be added: a->part are then those of the sum. */
static fre_status meet(arrival *a, const fre_partial *p, fre_err *err)
{
    if (p->of == 0)
        return FRE_OK;
    if (a->of != p->of || a->closed != p->closed)
        return fre_fail(
            err, FRE_E_DATA,
            "a part was cut or closed otherwise than what is here: cut all parts of a stage "
            "alike, and close each slice when all are in");
    if (!partial_has_slice(p, a->index))
        return same_parts(a, p)
                   ? FRE_OK
                   : fre_fail(
                         err, FRE_E_DATA,
                         "slices of a stage are of different parts, or a part was made again from "
                         "other records: keep what the workers read where it is, and run this "
                         "again");
    if (a->closed || p->n_slices > 1)
        return fre_fail(err, FRE_E_DATA, "a slice is there twice: add each slice of a stage once");
    return other_parts(a, p, err);
}

static fre_status get_survey(fre_in *in, arrival *a, const fre_partial *p)
{
    fre_status st;

    if (!p->has_survey || a->index > 0)
        return FRE_OK;
    st = partial_survey_get(&a->own, in, p->task.terms.salt);
    return st == FRE_OK ? partial_survey_both(&a->both, &p->survey, &a->own) : st;
}

static fre_status arrive(arrival *a, const fre_partial *p, fre_bytes part, fre_err *err)
{
    char found[PARTIAL_MAGIC_BYTES];
    uint8_t of[FRE_HASH_BYTES];
    fre_in in;
    fre_status st;

    if (!partial_verified(&in, part))
        return FRE_E_DATA;
    fre_in_copy(&in, found, sizeof found, "part");
    fre_in_copy(&in, of, sizeof of, "part");
    if (in.bad || memcmp(found, PARTIAL_MAGIC, sizeof found) != 0)
        return FRE_E_DATA;
    if (memcmp(of, p->task_hash, sizeof of) != 0)
        return fre_fail(
            err, FRE_E_DATA,
            "a part was made for another run or another stage: add the parts of this task");
    st = get_slice(&in, a, p);
    if (st == FRE_OK)
        st = get_parts(&in, a);
    if (st == FRE_OK)
        st = meet(a, p, err);
    if (st != FRE_OK)
        return st;
    st = get_survey(&in, a, p);
    a->n = (size_t)fre_in_uint(&in, 4, "part");
    a->cells = in;
    return st == FRE_OK && in.bad ? FRE_E_DATA : st;
}

static void take_over(fre_partial *p, arrival *a)
{
    free(p->part);
    p->part = a->part;
    p->n_parts = p->cap_part = a->n_parts;
    a->part = NULL;
    partial_set_slice(p, a->index, a->of);
    p->closed = a->closed;
    p->left_out += a->left_out;
    if (p->has_survey && a->index == 0) {
        partial_survey_wipe(&p->survey);
        p->survey = a->both;
        a->both = (fre_partial_survey){.records = 0};
    }
}

static fre_status refuse(fre_status st, const fre_err *why, fre_err *err)
{
    if (why->text[0])
        return fre_fail(err, st, "%s", why->text);
    if (st == FRE_E_NOMEM)
        return partial_out_of_memory(st, err);
    return st == FRE_E_LIMIT
               ? fre_fail(err, st,
                          "a count or a sum of parts is beyond its limit: fewer records, or a "
                          "smaller {norm_bound}")
               : fre_fail(err, st,
                          "the bytes of a part are cut, changed or of another version: have "
                          "its worker make it again");
}

fre_status fre_partial_add(fre_partial *p, fre_bytes part, fre_err *err)
{
    arrival a = {.n = 0};
    fre_err why = {.text = ""};
    size_t fresh = 0;
    fre_status st = arrive(&a, p, part, &why);

    if (st != FRE_OK)
        goto out;
    st =
        a.left_out > FRE_PARTIAL_COUNT_MAX - p->left_out ? FRE_E_LIMIT : check_cells(&a, &fresh, p);
    if (st != FRE_OK)
        goto out;
    st = partial_make_room(p, fresh);
    if (st != FRE_OK)
        goto out;
    st = add_cells(p, a.cells, a.n);
    if (st == FRE_OK)
        take_over(p, &a);
out:
    arrival_wipe(&a);
    return st == FRE_OK ? FRE_OK : refuse(st, &why, err);
}
