/* baseline/cells.c - the cells of the grid that people, or a public domain, are in, and what is kept. */
#include "baseline_private.h"

#include <fre/linalg.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_A_JOB 256u

static fre_status no_memory(fre_err *err)
{
    return fre_fail(err, FRE_E_NOMEM, "out of memory for the cells");
}

/* ---- cells of rows ------------------------------------------------------------------------------ */

typedef struct job {
    const fre_sketch *sketch;
    fre_cell *cell;
    const float *x;
    size_t n, dim;
} job;

static fre_status rows_of(void *ctx, uint64_t at)
{
    const job *j = ctx;
    const size_t from = (size_t)at * ROWS_A_JOB;
    const size_t to = from + ROWS_A_JOB < j->n ? from + ROWS_A_JOB : j->n;
    fre_status st = FRE_OK;

    for (size_t i = from; st == FRE_OK && i < to; i++)
        st = fre_sketch_cell(j->sketch, &j->cell[i], j->x + i * j->dim, j->dim);
    return st;
}

fre_status baseline_cells_of(const baseline_run *r, fre_cell *cell, const float *x, size_t n,
                             fre_err *err)
{
    job j = {r->sketch, cell, x, n, r->people.dim};
    fre_status st = fre_parallel(r->opts->threads, (n + ROWS_A_JOB - 1) / ROWS_A_JOB, rows_of, &j);

    return st == FRE_OK ? st
                        : fre_fail(err, st == FRE_E_LIMIT ? FRE_E_DATA : st,
                                   "an embedding cannot be placed in the grid: its norm, with its "
                                   "noise, and the cell edge differ too much ({radius})");
}

fre_status baseline_enter(baseline_run *r, uint32_t *at, const fre_cell *cell, uint64_t users,
                          fre_err *err)
{
    bool added;

    if (fre_map_put(&r->cells, at, &added, cell->bytes) != FRE_OK ||
        fre_grow((void **)&r->true_count, &r->cap_true_count, r->cells.n, sizeof *r->true_count) !=
            FRE_OK)
        return no_memory(err);
    r->true_count[*at] += users;
    return FRE_OK;
}

static fre_status people_cells(baseline_run *r, fre_cell **out, fre_err *err)
{
    const baseline_people *p = &r->people;
    fre_cell *cell = calloc(p->n + 1, sizeof *cell);
    fre_status st;

    r->cell_of = calloc(p->n + 1, sizeof *r->cell_of);
    st = cell && r->cell_of ? baseline_cells_of(r, cell, p->x, p->n, err) : no_memory(err);
    if (st == FRE_OK)
        *out = cell;
    else
        free(cell);
    return st;
}

fre_status baseline_occupied(baseline_run *r, fre_err *err)
{
    const baseline_people *p = &r->people;
    fre_cell *cell = NULL;
    fre_status st = people_cells(r, &cell, err);

    for (size_t i = 0; st == FRE_OK && i < p->n; i++) {
        r->cell_of[i] = FRE_MAP_NONE;
        if (p->weight[i] > 0)
            st = baseline_enter(r, &r->cell_of[i], &cell[i], p->weight[i], err);
    }
    fre_wipe_free(cell, p->n * sizeof *cell);
    return st;
}

/* ---- a public domain ---------------------------------------------------------------------------- */

static fre_status public_row(void *ctx, const float *row, uint8_t mark, fre_err *err)
{
    baseline_run *r = ctx;
    uint32_t at;
    fre_cell cell;

    if (mark & FRE_TEXT_BLANK)
        return FRE_OK;
    if (fre_sketch_cell(r->sketch, &cell, row, r->people.dim) != FRE_OK)
        return fre_fail(err, FRE_E_DATA, "a text of {domain} lies outside the grid");
    return baseline_enter(r, &at, &cell, 0, err);
}

static fre_status read_domain(baseline_run *r, fre_err *err)
{
    fre_embed_stream *to = NULL;
    fre_corpus *c = NULL;
    fre_record rec;
    bool more = true;
    fre_status st = fre_corpus_open(
        &c, r->opts->domain,
        &(fre_corpus_opts){.invalid = FRE_CORPUS_INVALID_SKIP, .text_param = "{domain}"}, err);

    if (st == FRE_OK)
        st = fre_embed_stream_new(&to, r->embedder, public_row, r, err);
    while (st == FRE_OK) {
        st = fre_corpus_next(c, &more, &rec, err);
        if (st != FRE_OK || !more)
            break;
        st = fre_embed_stream_add(to, rec.text, rec.text_len, err);
    }
    if (st == FRE_OK)
        st = fre_embed_stream_flush(to, err);
    fre_embed_stream_free(to);
    fre_corpus_free(c);
    return st;
}

fre_status baseline_domain(baseline_run *r, fre_err *err)
{
    const baseline_people *p = &r->people;
    fre_cell *cell = NULL;
    fre_status st;

    if (!r->opts->domain)
        return baseline_occupied(r, err);
    st = read_domain(r, err);
    if (st == FRE_OK)
        st = people_cells(r, &cell, err);
    for (size_t i = 0; st == FRE_OK && i < p->n; i++) {
        r->cell_of[i] = p->weight[i] > 0 ? fre_map_find(&r->cells, cell[i].bytes) : FRE_MAP_NONE;
        if (r->cell_of[i] != FRE_MAP_NONE)
            r->true_count[r->cell_of[i]] += p->weight[i];
    }
    fre_wipe_free(cell, p->n * sizeof *cell);
    return st;
}

/* ---- what is kept ------------------------------------------------------------------------------- */

fre_status baseline_keep(baseline_kept *k, uint32_t cell, uint64_t count, fre_err *err)
{
    if (fre_grow((void **)&k->cell, &k->cap_cell, k->n + 1, sizeof *k->cell) != FRE_OK ||
        fre_grow((void **)&k->count, &k->cap_count, k->n + 1, sizeof *k->count) != FRE_OK)
        return no_memory(err);
    k->cell[k->n] = cell;
    k->count[k->n++] = count;
    return FRE_OK;
}

void baseline_shuffle(baseline_run *r, baseline_kept *k)
{
    for (size_t i = k->n; i > 1; i--) {
        const size_t j = (size_t)fre_rng_below(&r->order, i);
        const uint32_t cell = k->cell[i - 1];
        const uint64_t count = k->count[i - 1];

        k->cell[i - 1] = k->cell[j];
        k->count[i - 1] = k->count[j];
        k->cell[j] = cell;
        k->count[j] = count;
    }
}

void baseline_kept_wipe(baseline_kept *k)
{
    free(k->cell);
    free(k->count);
    *k = (baseline_kept){.n = 0};
}

fre_status baseline_fill(baseline_run *r, const baseline_kept *k, fre_err *err)
{
    fre_release *out = &r->result->release;
    const double noise = r->plan.sigma * sqrt((double)r->people.dim);

    out->cell = calloc(k->n + 1, sizeof *out->cell);
    out->cell_name = calloc(k->n + 1, sizeof *out->cell_name);
    out->centroid = calloc(k->n * r->people.dim + 1, sizeof *out->centroid);
    if (!out->cell || !out->cell_name || !out->centroid)
        return no_memory(err);
    out->n = out->level[0].cells = k->n;
    for (size_t i = 0; i < k->n; i++) {
        const double count = (double)k->count[i];

        out->cell[i] = (fre_released_cell){
            .count = k->count[i],
            .users = count,
            /* of each user, or of the sum */
            .noise_norm =
                noise / (r->opts->method == FRE_BASELINE_LDP_EMBEDDING ? sqrt(count) : count),
            .centre = FRE_RELEASE_NONE,
            .parent = FRE_RELEASE_NONE,
            .theme = FRE_RELEASE_NONE,
        };
        memcpy(out->cell_name[i].bytes, fre_map_key(&r->cells, k->cell[i]), FRE_CELL_BYTES);
    }
    return FRE_OK;
}
