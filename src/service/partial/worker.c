/* partial/worker.c - one part of a stage: bound a user's records, find who is left at this level, toss,
 * add up.  Each step that decides privacy is the curator's: fre/contribution.h, fre/aggregate.h. */
#include "partial_private.h"

#include <fre/contribution.h>
#include <fre/linalg.h>
#include <fre/map.h>

#include <stdlib.h>
#include <string.h>

/* A place: 1 (0: nowhere, and zeros), the cell of the grid, then 4 bytes a public level. */
#define PLACE_CELL 1u
#define PLACE_PUBLIC (PLACE_CELL + FRE_CELL_BYTES)

struct fre_partial_worker {
    fre_partial *made;
    const fre_partial_task *task; /* of it */
    fre_sketch *sketch;           /* NULL: no grid */
    const fre_codebook *codebook; /* NULL: no levels */
    uint32_t of_codebook[FRE_LEVELS_MAX + 1];
    uint8_t ids[FRE_SEED_BYTES]; /* SECRET */
    fre_coin_key coins;
    bool any, named; /* records so far, and whether of users with names */
    fre_map seen;    /* users, or texts of nobody */
    uint8_t user[FRE_COIN_ID_BYTES];
    uint32_t most, n_held; /* texts of this user */
    uint32_t *held;        /* most, as fre_contribution_counts */
    uint8_t *held_text;    /* most x FRE_COIN_ID_BYTES ... */
    uint8_t *held_cell;    /* ... x FRE_CELL_BYTES: in the grid */
    uint32_t *cell_of;     /* (most + 1) x (n_levels + 1): as fre_contribution_stands */
    float *x, *centre;     /* dim */
};

static size_t stride(const fre_partial_worker *w)
{
    return w->task->terms.n_levels + 1;
}

/* ---- life ----------------------------------------------------------------------------------------- */

static fre_status check_key(const fre_partial_task *t, const fre_partial_key *key, fre_err *err)
{
    uint8_t of[FRE_HASH_BYTES];

    fre_partial_key_commit(of, key);
    return memcmp(of, t->terms.key, sizeof of) == 0
               ? FRE_OK
               : fre_fail(err, FRE_E_KEY,
                          "the task belongs to another run's key: hand workers both as the driver got "
                          "them");
}

static fre_status check_codebook(fre_partial_worker *w, fre_err *err)
{
    const fre_partial_terms *t = &w->task->terms;
    const fre_codebook_info *info;

    if (t->n_levels == 0)
        return FRE_OK;
    info = w->codebook ? fre_codebook_info_view(w->codebook) : NULL;
    if (!info ||
        memcmp(info->sha256, t->level[1].sketch.codebook.sha256, sizeof info->sha256) != 0 ||
        info->dim != t->dim)
        return fre_fail(err, FRE_E_MODEL,
                        "this worker has not the codebook of the run: give all machines the same "
                        "{codebook}");
    for (uint32_t i = 1; i <= t->n_levels; i++) {
        const fre_sketch_codebook *of = &t->level[i].sketch.codebook;

        if (of->level >= info->n_levels ||
            fre_codebook_level_view(w->codebook, of->level)->cells != of->cells)
            return fre_fail(err, FRE_E_MODEL, "the task has levels that its codebook has not");
        w->of_codebook[i] = of->level;
    }
    return FRE_OK;
}

static fre_status make_grid(fre_partial_worker *w)
{
    const fre_partial_terms *t = &w->task->terms;
    fre_sketch_params sp = {.dim = t->dim, .grid = t->level[0].sketch.grid};

    if (t->no_grid)
        return FRE_OK;
    memcpy(sp.seed, t->grid_seed, sizeof sp.seed);
    return fre_sketch_new(&w->sketch, &sp);
}

static fre_status make_room(fre_partial_worker *w)
{
    const size_t most = w->most = w->task->terms.cells_per_user;

    w->held = malloc(most * sizeof *w->held);
    w->held_text = calloc(most, FRE_COIN_ID_BYTES);
    w->held_cell = calloc(most + 1, FRE_CELL_BYTES);
    w->cell_of = calloc((most + 1) * stride(w), sizeof *w->cell_of);
    w->x = calloc(w->task->terms.dim, sizeof *w->x);
    w->centre = calloc(w->task->terms.dim, sizeof *w->centre);
    return w->held && w->held_text && w->held_cell && w->cell_of && w->x && w->centre
               ? FRE_OK
               : FRE_E_NOMEM;
}

static fre_status make_rest(fre_partial_worker *w, const fre_partial_key *key, uint64_t part)
{
    fre_status st = fre_partial_key_expand(w->ids, &w->coins, key);

    if (st == FRE_OK)
        st = make_grid(w);
    if (st == FRE_OK)
        st = make_room(w);
    return st == FRE_OK ? partial_set_part(w->made, part) : st;
}

fre_status fre_partial_worker_new(fre_partial_worker **out, fre_bytes task,
                                  const fre_partial_key *key, const fre_codebook *codebook,
                                  uint64_t part, fre_err *err)
{
    fre_partial_worker *w = calloc(1, sizeof *w);
    fre_status st;

    if (!w)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for a worker");
    fre_map_init(&w->seen, FRE_COIN_ID_BYTES);
    w->codebook = codebook;
    st = fre_partial_new(&w->made, task, err);
    if (st != FRE_OK)
        goto out;
    w->task = fre_partial_task_view(w->made);
    st = check_key(w->task, key, err);
    if (st != FRE_OK)
        goto out;
    st = check_codebook(w, err);
    if (st != FRE_OK)
        goto out;
    st = make_rest(w, key, part);
    if (st == FRE_OK) {
        *out = w;
        return FRE_OK;
    }
    (void)fre_fail(err, st, "a worker cannot begin: %s", fre_status_text(st));
out:
    fre_partial_worker_free(w);
    return st;
}

void fre_partial_worker_free(fre_partial_worker *w)
{
    if (!w)
        return;
    if (w->task) {
        const size_t dim = w->task->terms.dim;

        fre_wipe_free(w->held, w->held ? w->most * sizeof *w->held : 0);
        fre_wipe_free(w->held_text, w->held_text ? w->most * FRE_COIN_ID_BYTES : 0);
        fre_wipe_free(w->held_cell, w->held_cell ? (w->most + 1) * FRE_CELL_BYTES : 0);
        fre_wipe_free(w->cell_of,
                      w->cell_of ? (w->most + 1) * stride(w) * sizeof *w->cell_of : 0);
        fre_wipe_free(w->x, w->x ? dim * sizeof *w->x : 0);
        free(w->centre);
    }
    fre_map_wipe(&w->seen);
    fre_sketch_free(w->sketch);
    fre_partial_free(w->made);
    fre_wipe(w, sizeof *w);
    free(w);
}

const fre_partial_task *fre_partial_worker_task(const fre_partial_worker *w)
{
    return w->task;
}

/* ---- names and places ------------------------------------------------------------------------------- */

void fre_partial_worker_id(const fre_partial_worker *w, uint8_t *id, fre_bytes name)
{
    fre_hash128(id, w->ids, name.p, name.n);
}

size_t fre_partial_worker_place_bytes(const fre_partial_worker *w)
{
    return PLACE_PUBLIC + 4 * (size_t)w->task->terms.n_levels;
}

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void set32(uint8_t *p, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* Rows of one call. */
typedef struct placing {
    const fre_partial_worker *w;
    uint8_t *place;
    float *x; /* clipped copies */
    fre_rows rows;
} placing;

static fre_status place_in_grid(void *ctx, uint64_t i)
{
    const placing *p = ctx;
    const fre_partial_terms *t = &p->w->task->terms;
    uint8_t *place = p->place + i * fre_partial_worker_place_bytes(p->w);
    float *x = p->x + i * t->dim;
    fre_cell name;
    fre_status st;

    memcpy(x, p->rows.x + i * t->dim, t->dim * sizeof *x);
    if (!fre_aggregate_clip(x, t->dim, t->norm_bound))
        return FRE_E_ARG;
    place[0] = !fre_is_zero_row(x, t->dim);
    if (place[0] == 0 || !p->w->sketch)
        return FRE_OK;
    st = fre_sketch_cell(p->w->sketch, &name, x, t->dim);
    if (st == FRE_OK)
        memcpy(place + PLACE_CELL, name.bytes, FRE_CELL_BYTES);
    return st;
}

static fre_status place_in_levels(const placing *p, uint32_t threads)
{
    const size_t n_levels = p->w->task->terms.n_levels;
    uint32_t *cell;
    fre_status st;

    if (n_levels == 0)
        return FRE_OK;
    cell = calloc(p->rows.n * n_levels + 1, sizeof *cell);
    st = cell ? fre_codebook_cells_at(p->w->codebook, cell, p->w->of_codebook + 1, n_levels,
                                      (fre_rows){p->x, p->rows.n}, threads)
              : FRE_E_NOMEM;
    for (size_t i = 0; st == FRE_OK && i < p->rows.n; i++) {
        uint8_t *place = p->place + i * fre_partial_worker_place_bytes(p->w);

        for (size_t k = 0; place[0] == 1 && k < n_levels; k++)
            set32(place + PLACE_PUBLIC + 4 * k, cell[i * n_levels + k]);
    }
    if (cell)
        fre_wipe_free(cell, p->rows.n * n_levels * sizeof *cell);
    return st;
}

fre_status fre_partial_worker_place(const fre_partial_worker *w, uint8_t *place, fre_rows rows,
                                    uint32_t threads, fre_err *err)
{
    const size_t bytes = rows.n * fre_partial_worker_place_bytes(w), dim = w->task->terms.dim;
    placing p = {w, calloc(bytes + 1, 1), calloc(rows.n * dim + 1, sizeof *p.x), rows};
    fre_status st = FRE_E_NOMEM;

    if (!p.place || !p.x)
        goto out;
    st = fre_parallel(threads, rows.n, place_in_grid, &p);
    if (st != FRE_OK)
        goto out;
    st = place_in_levels(&p, threads);
    if (st == FRE_OK)
        memcpy(place, p.place, bytes);
out:
    fre_wipe_free(p.place, p.place ? bytes : 0);
    fre_wipe_free(p.x, p.x ? rows.n * dim * sizeof *p.x : 0);
    if (st == FRE_OK)
        return FRE_OK;
    if (st == FRE_E_NOMEM)
        return fre_fail(err, st, "out of memory for the cells of embeddings");
    return fre_fail(err, FRE_E_DATA,
                    st == FRE_E_LIMIT
                        ? "an embedding lies outside the grid: its norm and the cell edge differ too "
                          "much ({radius}, {cell_edge})"
                        : "an embedding has a NaN or an infinity: leave such records out");
}

/* ---- one record --------------------------------------------------------------------------------- */

/* A place that this worker's terms have; its cells are read without a look from then on. */
static bool is_place(const fre_partial_worker *w, const uint8_t *place)
{
    const fre_partial_terms *t = &w->task->terms;

    if (place[0] > 1)
        return false;
    for (uint32_t i = 0; i < t->n_levels; i++)
        if (get32(place + PLACE_PUBLIC + 4 * (size_t)i) >= t->level[i + 1].sketch.codebook.cells)
            return false;
    return true;
}

static fre_partial_cell cell_at(const uint8_t *place, uint32_t level)
{
    fre_partial_cell c = {.level = level};

    if (level == 0)
        memcpy(c.name, place + PLACE_CELL, sizeof c.name);
    else
        c.cell = get32(place + PLACE_PUBLIC + 4 * ((size_t)level - 1));
    return c;
}

static fre_status mixed(fre_err *err)
{
    return fre_fail(err, FRE_E_DATA,
                    "some records have a user and others have none: give all of them one, or none");
}

/* *is_new: its first record. */
static fre_status begin_user(fre_partial_worker *w, bool *is_new, const uint8_t *user, fre_err *err)
{
    uint32_t index;
    fre_status st;

    *is_new = !w->any || memcmp(w->user, user, sizeof w->user) != 0;
    if (!*is_new)
        return FRE_OK;
    st = fre_map_put(&w->seen, &index, is_new, user);
    if (st != FRE_OK)
        return fre_fail(err, st, "%s while keeping the users apart", fre_status_text(st));
    if (!*is_new)
        return fre_fail(err, FRE_E_DATA,
                        "a user's records do not lie together: sort each part's records by user");
    memcpy(w->user, user, sizeof w->user);
    w->n_held = 0;
    for (uint32_t i = 0; i < w->most; i++)
        w->held[i] = FRE_MAP_NONE;
    return FRE_OK;
}

static fre_status begin_text(fre_partial_worker *w, const uint8_t *text, fre_err *err)
{
    uint32_t index;
    bool is_new;
    fre_status st = fre_map_put(&w->seen, &index, &is_new, text);

    if (st != FRE_OK)
        return fre_fail(err, st, "%s while keeping the texts apart", fre_status_text(st));
    return is_new ? FRE_OK
                  : fre_fail(err, FRE_E_DATA,
                             "a text that nobody is named for came before: group records by their text, "
                             "with how many there are");
}

/* Number of a text among its user's; n_held: a new one. */
static uint32_t number_of(const fre_partial_worker *w, const uint8_t *text)
{
    uint32_t i = 0;

    while (i < w->n_held &&
           memcmp(w->held_text + i * FRE_COIN_ID_BYTES, text, FRE_COIN_ID_BYTES) != 0)
        i++;
    return i;
}

/* Cells as numbers that differ where the cells do; of the grid: the first of the user's texts in it. */
static void keep_cells(fre_partial_worker *w, uint32_t number, const uint8_t *place)
{
    uint32_t *of = w->cell_of + number * stride(w);
    uint32_t first = 0;

    memcpy(w->held_cell + number * FRE_CELL_BYTES, place + PLACE_CELL, FRE_CELL_BYTES);
    while (memcmp(w->held_cell + first * FRE_CELL_BYTES, place + PLACE_CELL, FRE_CELL_BYTES) != 0)
        first++;
    of[0] = first;
    for (size_t i = 1; i < stride(w); i++)
        of[i] = get32(place + PLACE_PUBLIC + 4 * (i - 1));
}

/* Does the record count?  *number: of its text. */
static bool counts(fre_partial_worker *w, const fre_partial_record *r, uint32_t *number)
{
    *number = 0;
    if (!r->user)
        return true;
    *number = number_of(w, r->text);
    if (!fre_contribution_counts(w->held, w->most, *number))
        return false;
    memcpy(w->held_text + *number * FRE_COIN_ID_BYTES, r->text, FRE_COIN_ID_BYTES);
    keep_cells(w, *number, r->place);
    w->n_held = *number + 1;
    return true;
}

static bool stands(const fre_partial_worker *w, const fre_partial_record *r, uint32_t number,
                   uint32_t level)
{
    return !r->user ||
           fre_contribution_stands(w->held, w->most, number, w->cell_of + level, stride(w));
}

static bool stands_anywhere(const fre_partial_worker *w, const fre_partial_record *r,
                            uint32_t number)
{
    for (uint32_t l = fre_partial_first_stage(&w->task->terms); l <= w->task->terms.n_levels; l++)
        if (stands(w, r, number, l))
            return true;
    return false;
}

/* ---- what the first stage sees ---------------------------------------------------------------------- */

static fre_status look(fre_partial_survey *s, const fre_partial_record *r, bool is_new, size_t dim,
                       bool blank)
{
    fre_status st = FRE_OK;

    if (r->records > FRE_PARTIAL_COUNT_MAX - s->records)
        return FRE_E_LIMIT;
    s->records += r->records;
    s->users += r->user ? is_new : r->records;
    s->blank += blank ? r->records : 0;
    if (r->user && is_new && r->user_name.n > 0)
        fre_ledger_add_user(&s->content, r->user_name.p, r->user_name.n);
    for (uint64_t i = 0; r->text_bytes.n > 0 && i < r->records; i++)
        fre_ledger_add_text(&s->content, r->text_bytes.p, r->text_bytes.n);
    if (r->text_bytes.n > 0)
        st = fre_overlap_add_text(s->texts, (const char *)r->text_bytes.p, r->text_bytes.n);
    if (st == FRE_OK && r->row && !blank) {
        fre_ledger_add_row(&s->content, r->row, dim);
        st = fre_overlap_add_row(s->rows, r->row, dim);
    }
    return st;
}

/* ---- counts and sums -------------------------------------------------------------------------------- */

/* The level in whose released cell a record is; `stage`: in none of a finer level. */
static uint32_t left_at(const fre_partial_worker *w, const uint8_t *place, size_t *index)
{
    const uint32_t end = w->task->stage == FRE_PARTIAL_SUMS ? w->task->terms.n_levels + 1
                                                           : w->task->stage;

    for (uint32_t l = fre_partial_first_stage(&w->task->terms); l < end; l++) {
        const fre_partial_cell c = cell_at(place, l);

        *index = partial_find_released(w->task, &c);
        if (*index < w->task->n_released)
            return l;
    }
    return w->task->stage;
}

/* How many of the records a level takes. */
static fre_status toss(const fre_partial_worker *w, uint64_t *weight, const fre_partial_record *r,
                       uint32_t level)
{
    const fre_partial_level *l = &w->task->terms.level[level];
    const fre_plan_level of = {.level = {.counts = l->counts, .p32 = l->p32}};
    fre_rng coins;
    fre_status st = fre_aggregate_coins(&coins, &w->coins, level, r->user, r->text);

    if (st != FRE_OK)
        return st;
    *weight = fre_aggregate_level_weight(r->user ? 1 : r->records, &of, &coins);
    fre_rng_wipe(&coins);
    return FRE_OK;
}

static fre_status count_record(fre_partial_worker *w, const fre_partial_record *r, uint64_t weight)
{
    const fre_partial_cell c = cell_at(r->place, w->task->stage);
    uint32_t slot;
    fre_status st = partial_slot(w->made, &slot, c.name, c.cell);

    return st == FRE_OK ? partial_count(w->made, slot, weight) : st;
}

static fre_status sum_record(fre_partial_worker *w, const fre_partial_record *r, uint64_t weight,
                             uint32_t level, size_t index)
{
    const fre_partial_terms *t = &w->task->terms;
    const fre_partial_level *l = &t->level[level];
    const fre_aggregate_lattice lattice = {l->lattice_step,
                                           fre_sketch_reach(&l->sketch, t->norm_bound),
                                           w->task->points};
    uint32_t slot;
    fre_status st = partial_slot(w->made, &slot, NULL, (uint32_t)index);

    if (st == FRE_OK)
        st = partial_count(w->made, slot, weight);
    if (st != FRE_OK)
        return st;
    if (level > 0)
        fre_codebook_centre(w->codebook, w->of_codebook[level],
                            w->task->released[index].cell, w->centre);
    memcpy(w->x, r->x, t->dim * sizeof *w->x);
    return fre_aggregate_add_record(partial_sums(w->made, slot), w->x, t->dim, weight,
                                    level > 0 ? w->centre : NULL, t->norm_bound, &lattice);
}

static fre_status take(fre_partial_worker *w, const fre_partial_record *r, uint32_t number)
{
    const bool sums = w->task->stage == FRE_PARTIAL_SUMS;
    size_t index = 0;
    const uint32_t level = left_at(w, r->place, &index);
    uint64_t weight = 0;
    fre_status st;

    /* Counted are those who have not left, summed are those who have. */
    if ((level == w->task->stage) == sums || !stands(w, r, number, level))
        return FRE_OK;
    st = toss(w, &weight, r, level);
    if (st != FRE_OK || weight == 0)
        return st;
    return sums ? sum_record(w, r, weight, level, index) : count_record(w, r, weight);
}

static fre_status begin_record(fre_partial_worker *w, bool *is_new, const fre_partial_record *r,
                               fre_err *err)
{
    fre_status st;

    if (!r->text || !r->place || r->records == 0 ||
        (w->task->stage == FRE_PARTIAL_SUMS && !r->x))
        return fre_fail(err, FRE_E_ARG, "a record has no text, place or embedding");
    if (!is_place(w, r->place))
        return fre_fail(err, FRE_E_DATA,
                        "a place was made by another run: place the records again");
    if (w->any && w->named != (r->user != NULL))
        return mixed(err);
    st = r->user ? begin_user(w, is_new, r->user, err) : begin_text(w, r->text, err);
    w->any = true;
    w->named = r->user != NULL;
    return st;
}

fre_status fre_partial_worker_add(fre_partial_worker *w, const fre_partial_record *r, fre_err *err)
{
    fre_partial_survey *seen = partial_survey_of(w->made);
    bool is_new = false;
    uint32_t number;
    fre_status st = begin_record(w, &is_new, r, err);

    if (st != FRE_OK)
        return st;
    if (seen)
        st = look(seen, r, is_new, w->task->terms.dim, r->place[0] == 0);
    if (st == FRE_OK && r->place[0] == 1 && counts(w, r, &number)) {
        if (seen && stands_anywhere(w, r, number))
            seen->counted += r->user ? 1 : r->records;
        st = take(w, r, number);
    }
    if (st == FRE_OK)
        return st;
    return st == FRE_E_DATA || st == FRE_E_ARG
               ? fre_fail(err, FRE_E_DATA,
                          "an embedding's coordinate is too large for exact sums or not finite, or a "
                          "text is not UTF-8: scale the embeddings, raise {radius}, or mend the text")
               : fre_fail(err, st, "%s while adding up records", fre_status_text(st));
}

fre_status fre_partial_worker_finish(const fre_partial_worker *w, fre_buf *out, uint32_t slices)
{
    return slices == 0 || slices > FRE_PARTIAL_SLICES_MAX ? FRE_E_ARG
                                                          : partial_cut(out, slices, w->made);
}
