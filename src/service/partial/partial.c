/* partial/partial.c - a part, and what parts add up to: integers, so in any order. */
#include "partial_private.h"

#include <fre/map.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE FRE_MAP_NONE

static const char magic[16] = "fre-e2t part 1";

struct fre_partial {
    uint8_t task_hash[FRE_HASH_BYTES];
    fre_partial_task task;
    bool in_grid;      /* cells are of the grid, known by name ... */
    fre_map grid;      /* ... -> slot */
    uint32_t *slot_of; /* else: of a public cell, or of an index in task.released; or NONE */
    size_t n_slot_of;
    uint32_t *cell; /* of a slot: the way back */
    size_t cap_cell;
    uint64_t *count; /* SECRET, n */
    size_t n, cap_count;
    size_t width;  /* sums of a cell: dim at the last stage, else 0 */
    int64_t *sum;  /* SECRET, n x width */
    size_t cap_sum;
    uint64_t *part; /* n_parts, ascending */
    size_t n_parts, cap_part;
    bool has_survey;
    fre_partial_survey survey;
};

static fre_status out_of_memory(fre_status st, fre_err *err)
{
    return fre_fail(err, st, "%s for the counts of parts", fre_status_text(st));
}

/* ---- life ----------------------------------------------------------------------------------------- */

static fre_status make_tables(fre_partial *p)
{
    const fre_partial_task *t = &p->task;
    const bool sums = t->stage == FRE_PARTIAL_SUMS;

    fre_map_init(&p->grid, FRE_CELL_BYTES);
    p->width = sums ? t->terms.dim : 0;
    p->in_grid = t->stage == 0;
    if (!p->in_grid) {
        p->n_slot_of =
            sums ? t->n_released : (size_t)t->terms.level[t->stage].sketch.codebook.cells;
        p->slot_of = malloc((p->n_slot_of + 1) * sizeof *p->slot_of);
        if (!p->slot_of)
            return FRE_E_NOMEM;
        memset(p->slot_of, 0xff, (p->n_slot_of + 1) * sizeof *p->slot_of); /* NONE */
    }
    p->has_survey = t->stage == fre_partial_first_stage(&t->terms);
    return p->has_survey ? partial_survey_init(&p->survey, t->terms.salt) : FRE_OK;
}

fre_status fre_partial_new(fre_partial **out, fre_bytes task, fre_err *err)
{
    fre_partial *p = calloc(1, sizeof *p);
    fre_sha256 h;
    fre_status st;

    if (!p)
        return out_of_memory(FRE_E_NOMEM, err);
    st = fre_partial_task_decode(&p->task, task, err);
    if (st != FRE_OK) {
        free(p);
        return st;
    }
    fre_sha256_begin(&h, (fre_bytes){NULL, 0});
    fre_sha256_add(&h, task.p, task.n);
    fre_sha256_end(p->task_hash, &h);
    st = make_tables(p);
    if (st != FRE_OK) {
        fre_partial_free(p);
        return out_of_memory(st, err);
    }
    *out = p;
    return FRE_OK;
}

void fre_partial_free(fre_partial *p)
{
    if (!p)
        return;
    fre_map_wipe(&p->grid);
    fre_wipe_free(p->slot_of, p->slot_of ? p->n_slot_of * sizeof *p->slot_of : 0);
    fre_wipe_free(p->cell, p->cap_cell * sizeof *p->cell);
    fre_wipe_free(p->count, p->cap_count * sizeof *p->count);
    fre_wipe_free(p->sum, p->cap_sum * sizeof *p->sum);
    free(p->part);
    partial_survey_wipe(&p->survey);
    fre_partial_task_wipe(&p->task);
    fre_wipe(p, sizeof *p);
    free(p);
}

/* ---- views ---------------------------------------------------------------------------------------- */

const fre_partial_task *fre_partial_task_view(const fre_partial *p)
{
    return &p->task;
}

const fre_partial_survey *fre_partial_survey_view(const fre_partial *p)
{
    return p->has_survey ? &p->survey : NULL;
}

fre_partial_survey *partial_survey_of(fre_partial *p)
{
    return p->has_survey ? &p->survey : NULL;
}

size_t fre_partial_cells(const fre_partial *p)
{
    return p->n;
}

uint64_t fre_partial_cell_view(const fre_partial *p, size_t i, fre_partial_cell *cell,
                               const int64_t **sum)
{
    *cell = (fre_partial_cell){.level = p->task.stage};
    if (p->in_grid)
        memcpy(cell->name, fre_map_key(&p->grid, (uint32_t)i), sizeof cell->name);
    else
        cell->cell = p->cell[i];
    *sum = p->width > 0 ? p->sum + i * p->width : NULL;
    return p->count[i];
}

/* ---- slots ---------------------------------------------------------------------------------------- */

/* Of `more` new ones. */
static fre_status make_room(fre_partial *p, size_t more)
{
    const size_t n = p->n + more;
    fre_status st = fre_grow((void **)&p->count, &p->cap_count, n, sizeof *p->count);

    if (st == FRE_OK && p->width > 0)
        st = fre_grow((void **)&p->sum, &p->cap_sum, n * p->width, sizeof *p->sum);
    if (st != FRE_OK)
        return st;
    return p->in_grid ? fre_map_reserve(&p->grid, more)
                      : fre_grow((void **)&p->cell, &p->cap_cell, n, sizeof *p->cell);
}

static uint32_t find_slot(const fre_partial *p, const uint8_t *name, uint32_t cell)
{
    return p->in_grid ? fre_map_find(&p->grid, name) : p->slot_of[cell];
}

fre_status partial_slot(fre_partial *p, uint32_t *slot, const uint8_t *name, uint32_t cell)
{
    bool added;
    fre_status st = FRE_OK;

    *slot = find_slot(p, name, cell);
    if (*slot != NONE)
        return FRE_OK;
    st = make_room(p, 1);
    if (st == FRE_OK && p->in_grid)
        st = fre_map_put(&p->grid, slot, &added, name);
    if (st != FRE_OK)
        return st;
    if (!p->in_grid) {
        *slot = p->slot_of[cell] = (uint32_t)p->n;
        p->cell[*slot] = cell;
    }
    p->n++;
    return FRE_OK;
}

fre_status partial_count(fre_partial *p, uint32_t slot, uint64_t more)
{
    if (more > FRE_PARTIAL_COUNT_MAX - p->count[slot])
        return FRE_E_LIMIT;
    p->count[slot] += more;
    return FRE_OK;
}

int64_t *partial_sums(fre_partial *p, uint32_t slot)
{
    return p->sum + slot * p->width;
}

fre_status partial_set_part(fre_partial *p, uint64_t part)
{
    const fre_status st = fre_grow((void **)&p->part, &p->cap_part, 1, sizeof *p->part);

    if (st != FRE_OK)
        return st;
    p->part[0] = part;
    p->n_parts = 1;
    return FRE_OK;
}

/* ---- encode --------------------------------------------------------------------------------------- */

typedef struct named {
    const uint8_t *name;
    uint32_t slot;
} named;

static int by_name(const void *a, const void *b)
{
    return memcmp(((const named *)a)->name, ((const named *)b)->name, FRE_CELL_BYTES);
}

static void put_grid(fre_out *o, const fre_partial *p)
{
    named *order = malloc((p->n + 1) * sizeof *order);

    if (!order && o->st == FRE_OK)
        o->st = FRE_E_NOMEM;
    for (size_t i = 0; order && i < p->n; i++)
        order[i] = (named){fre_map_key(&p->grid, (uint32_t)i), (uint32_t)i};
    if (order)
        qsort(order, p->n, sizeof *order, by_name);
    for (size_t i = 0; o->st == FRE_OK && i < p->n; i++) {
        fre_out_put(o, order[i].name, FRE_CELL_BYTES);
        fre_out_uint(o, p->count[order[i].slot], 8);
    }
    free(order);
}

static void put_numbered(fre_out *o, const fre_partial *p)
{
    for (size_t i = 0; o->st == FRE_OK && i < p->n_slot_of; i++) {
        const uint32_t slot = p->slot_of[i];

        if (slot == NONE)
            continue;
        fre_out_uint(o, i, 4);
        fre_out_uint(o, p->count[slot], 8);
        for (size_t k = 0; k < p->width; k++)
            fre_out_uint(o, (uint64_t)p->sum[slot * p->width + k], 8);
    }
}

fre_status fre_partial_encode(fre_buf *out, const fre_partial *p)
{
    fre_out o = fre_out_begin(out);

    fre_out_put(&o, magic, sizeof magic);
    fre_out_put(&o, p->task_hash, sizeof p->task_hash);
    fre_out_uint(&o, p->n_parts, 4);
    for (size_t i = 0; i < p->n_parts; i++)
        fre_out_uint(&o, p->part[i], 8);
    if (p->has_survey)
        partial_survey_put(&o, &p->survey);
    fre_out_uint(&o, p->n, 4);
    if (p->in_grid)
        put_grid(&o, p);
    else
        put_numbered(&o, p);
    return partial_end(&o);
}

/* ---- decode and add ------------------------------------------------------------------------------- */

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
    const uint32_t slot = find_slot(p, e->name, e->cell);
    const double reach = p->width > 0 ? reach_of(p, e) : 0;
    fre_in sums = e->sums;

    if (slot != NONE && e->count > FRE_PARTIAL_COUNT_MAX - p->count[slot])
        return FRE_E_LIMIT;
    for (size_t k = 0; k < p->width; k++) {
        const int64_t more = (int64_t)fre_in_uint(&sums, 8, "part");
        const int64_t had = slot == NONE ? 0 : p->sum[slot * p->width + k];

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

/* *fresh: how many cells are new. */
static fre_status check_cells(fre_in in, size_t n, size_t *fresh, const fre_partial *p)
{
    entry before = {.name = NULL};

    *fresh = 0;
    for (size_t i = 0; i < n; i++) {
        entry e = {.name = NULL};
        fre_status st;

        get_entry(&in, &e, p);
        fre_in_require(&in, in.bad || i == 0 || in_order(&before, &e, p), "part");
        if (in.bad)
            return FRE_E_DATA;
        st = check_entry(&in, &e, p);
        if (st != FRE_OK)
            return st;
        *fresh += find_slot(p, e.name, e.cell) == NONE;
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

/* A part in bytes up to its cells. */
typedef struct arrival {
    uint64_t *part; /* n_parts of all: p's and its own, ascending */
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

static bool is_in(const fre_partial *p, uint64_t part, size_t *at)
{
    while (*at < p->n_parts && p->part[*at] < part)
        (*at)++;
    return *at < p->n_parts && p->part[*at] == part;
}

static fre_status get_parts(fre_in *in, arrival *a, const fre_partial *p, fre_err *err)
{
    const size_t n = (size_t)partial_uint_to(in, 4, FRE_PARTIAL_PARTS_MAX);
    uint64_t before = 0;
    size_t at = 0, from = 0;

    fre_in_require(in, n > 0 && n <= in->left.n / 8, "part");
    if (in->bad)
        return FRE_E_DATA;
    if (n > FRE_PARTIAL_PARTS_MAX - p->n_parts)
        return fre_fail(err, FRE_E_LIMIT, "more than %u parts: make fewer and larger ones",
                        FRE_PARTIAL_PARTS_MAX);
    a->part = malloc((p->n_parts + n) * sizeof *a->part);
    if (!a->part)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const uint64_t part = fre_in_uint(in, 8, "part");

        fre_in_require(in, i == 0 || part > before, "part");
        if (is_in(p, part, &at))
            return fre_fail(err, FRE_E_DATA,
                            "a part is there twice: add each part of a stage once, and none beside a "
                            "sum that it is in");
        while (from < at)
            a->part[a->n_parts++] = p->part[from++];
        a->part[a->n_parts++] = before = part;
    }
    while (from < p->n_parts)
        a->part[a->n_parts++] = p->part[from++];
    return in->bad ? FRE_E_DATA : FRE_OK;
}

static fre_status get_survey(fre_in *in, arrival *a, const fre_partial *p)
{
    fre_status st;

    if (!p->has_survey)
        return FRE_OK;
    st = partial_survey_get(&a->own, in, p->task.terms.salt);
    return st == FRE_OK ? partial_survey_both(&a->both, &p->survey, &a->own) : st;
}

static fre_status arrive(arrival *a, const fre_partial *p, fre_bytes part, fre_err *err)
{
    char found[sizeof magic];
    uint8_t of[FRE_HASH_BYTES];
    fre_in in;
    fre_status st;

    if (!partial_verified(&in, part))
        return FRE_E_DATA;
    fre_in_copy(&in, found, sizeof found, "part");
    fre_in_copy(&in, of, sizeof of, "part");
    if (in.bad || memcmp(found, magic, sizeof found) != 0)
        return FRE_E_DATA;
    if (memcmp(of, p->task_hash, sizeof of) != 0)
        return fre_fail(err, FRE_E_DATA,
                        "a part was made for another run or another stage: add the parts of this task");
    st = get_parts(&in, a, p, err);
    if (st == FRE_OK)
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
    if (p->has_survey) {
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
        return out_of_memory(st, err);
    return st == FRE_E_LIMIT
               ? fre_fail(err, st, "a count or a sum of parts is beyond its limit: fewer records, or a "
                                   "smaller {norm_bound}")
               : fre_fail(err, st, "the bytes of a part are cut, changed or of another version: have "
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
    st = check_cells(a.cells, a.n, &fresh, p);
    if (st != FRE_OK)
        goto out;
    st = make_room(p, fresh);
    if (st != FRE_OK)
        goto out;
    st = add_cells(p, a.cells, a.n);
    if (st == FRE_OK)
        take_over(p, &a);
out:
    arrival_wipe(&a);
    return st == FRE_OK ? FRE_OK : refuse(st, &why, err);
}
