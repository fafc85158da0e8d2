/* simulate/compare_levels.c - what a curator by levels would have released of the same clients: cells of
 * each level, and the clients in them; no sums, so no texts.  The grid is that of the collection. */
#include "simulate_private.h"

#define ROWS 4096u

typedef struct levels_run {
    simulate_run *s;
    fre_codebook *codebook; /* NULL: the grid alone */
    fre_plan plan;
    uint32_t *cell; /* public cells of each row: rows x levels of the codebook; SECRET */
    size_t n_cells;
    uint8_t *listed; /* of each client: whether a level has released its cell; SECRET */
    fre_rng coins, counts;
} levels_run;

static fre_status make_plan(levels_run *r, fre_err *err)
{
    const simulate_run *s = r->s;
    fre_plan_request q = s->out->comparison.curator.request;
    fre_status st = fre_plan_request_levels(&q, s->opts->compare_levels,
                                            fre_param_clip_radius.preset, FRE_COUNTS_NOISY, err);

    if (st == FRE_OK && q.n_levels > 0)
        st = fre_codebook_open_for(&r->codebook, s->opts->codebook, fre_embedder_path(s->embedder),
                                   fre_embedder_info(s->embedder), err);
    if (st == FRE_OK && q.n_levels > 0 && !r->codebook)
        st = fre_fail(err, FRE_E_NOINPUT,
                      "there is no codebook beside the embedder: name one, {codebook}");
    for (size_t i = 0; st == FRE_OK && i < q.n_levels; i++) {
        const uint32_t at = fre_codebook_find(r->codebook, q.level[i].name);

        if (at == fre_codebook_info_view(r->codebook)->n_levels)
            st = fre_fail(err, FRE_E_USAGE, "{compare_levels}: the codebook has no level '%s'",
                          q.level[i].name);
        else
            q.level[i].sketch = fre_codebook_sketch(r->codebook, at);
    }
    return st == FRE_OK ? fre_plan_make(&r->plan, &q, err) : st;
}

static fre_status find_cells(levels_run *r)
{
    const simulate_population *p = &r->s->population;
    const size_t n_levels = fre_codebook_info_view(r->codebook)->n_levels;
    float *x = malloc(ROWS * (size_t)p->dim * sizeof *x), *spare = malloc(p->dim * sizeof *spare);
    fre_status st;

    r->n_cells = p->rows * n_levels;
    r->cell = calloc(r->n_cells + 1, sizeof *r->cell);
    st = x && spare && r->cell ? FRE_OK : FRE_E_NOMEM;
    for (size_t from = 0; st == FRE_OK && from < p->rows; from += ROWS) {
        const size_t n = p->rows - from < ROWS ? p->rows - from : ROWS;

        for (size_t i = 0; st == FRE_OK && i < n; i++) {
            const float *row;

            st = simulate_row(p, &row, spare, from + i, NULL);
            if (st == FRE_OK)
                memcpy(x + i * p->dim, row, p->dim * sizeof *x);
        }
        if (st == FRE_OK)
            st = fre_codebook_cells(r->codebook, r->cell + from * n_levels, x, n,
                                    r->s->opts->threads);
    }
    fre_wipe_free(x, ROWS * (size_t)p->dim * sizeof *x);
    free(spare);
    return st;
}

/* A client's one record: with levels a user counts once. */
static uint32_t row_of(const levels_run *r, uint64_t client)
{
    const uint32_t *list;

    return simulate_client_rows(&r->s->population, client, &list) > 0 ? list[0] : FRE_MAP_NONE;
}

/* Cells of one level: of the grid (codebook_level NULL), or public. */
typedef struct one_level {
    const fre_plan_level *plan; /* NULL: the grid */
    uint32_t at;                /* in the codebook */
    size_t cells;
    uint64_t *count;
    uint8_t *released;
} one_level;

static size_t cell_of(const levels_run *r, const one_level *l, uint32_t row)
{
    return l->plan ? r->cell[row * (size_t)fre_codebook_info_view(r->codebook)->n_levels + l->at]
                   : r->s->exact.row_cell[row];
}

static bool is_released(levels_run *r, const one_level *l, uint64_t count)
{
    uint64_t shown;

    return l->plan ? fre_aggregate_level_released(&shown, count, l->plan, &r->counts)
                   : fre_aggregate_released(count, r->plan.mechanism.tau);
}

static void run_level(levels_run *r, one_level *l, fre_simulate_level *out)
{
    const uint64_t clients = r->s->population.clients;

    for (uint64_t i = 0; i < clients; i++) {
        const uint32_t row = r->listed[i] ? FRE_MAP_NONE : row_of(r, i);

        if (row == FRE_MAP_NONE)
            continue;
        l->count[cell_of(r, l, row)] += l->plan
                                            ? fre_aggregate_level_weight(1, l->plan, &r->coins)
                                            : fre_aggregate_coin(&r->coins, r->plan.mechanism.p32);
    }
    for (size_t i = 0; i < l->cells; i++) {
        l->released[i] = is_released(r, l, l->count[i]);
        out->cells += l->released[i];
    }
    for (uint64_t i = 0; i < clients; i++) {
        const uint32_t row = r->listed[i] ? FRE_MAP_NONE : row_of(r, i);

        if (row == FRE_MAP_NONE || !l->released[cell_of(r, l, row)])
            continue;
        r->listed[i] = 1;
        out->clients++;
    }
}

/* which: 0, the grid; else of the plan's level which - 1. */
static fre_status add_level(levels_run *r, size_t which)
{
    fre_simulate_comparison *c = &r->s->out->comparison;
    const fre_level_request *q = which > 0 ? &r->plan.request.level[which - 1] : NULL;
    one_level l = {.plan = q ? &r->plan.level[which - 1] : NULL,
                   .at = q ? q->sketch.codebook.level : 0,
                   .cells = q ? (size_t)q->sketch.codebook.cells : r->s->exact.all};
    fre_simulate_level *out = &c->level[c->n_levels++];
    fre_status st;

    (void)snprintf(out->name, sizeof out->name, "%s", q ? q->name : "grid");
    l.count = calloc(l.cells + 1, sizeof *l.count);
    l.released = calloc(l.cells + 1, sizeof *l.released);
    st = l.count && l.released ? FRE_OK : FRE_E_NOMEM;
    if (st == FRE_OK)
        run_level(r, &l, out);
    fre_wipe_free(l.count, (l.cells + 1) * sizeof *l.count);
    free(l.released);
    return st;
}

static fre_status run_levels(levels_run *r)
{
    const uint64_t clients = r->s->population.clients;
    fre_status st = simulate_stream(r->s, &r->coins, "levels-coins", 0);

    if (st == FRE_OK)
        st = simulate_stream(r->s, &r->counts, "levels-counts", 0);
    r->listed = calloc(clients + 1, sizeof *r->listed);
    if (st == FRE_OK && !r->listed)
        st = FRE_E_NOMEM;
    if (st == FRE_OK && r->codebook)
        st = find_cells(r);
    for (size_t i = r->plan.request.no_grid; st == FRE_OK && i <= r->plan.request.n_levels; i++)
        st = fre_interrupted() ? FRE_E_INTERRUPTED : add_level(r, i);
    return st;
}

fre_status simulate_compare_levels(simulate_run *s, fre_err *err)
{
    fre_simulate_comparison *c = &s->out->comparison;
    levels_run r = {.s = s};
    fre_status st = make_plan(&r, err);

    if (st == FRE_OK) {
        st = run_levels(&r);
        if (st != FRE_OK)
            st = fre_fail(err, st, "the comparison by levels failed: %s", fre_status_text(st));
    }
    for (size_t i = 0; st == FRE_OK && i < s->exact.n; i++)
        c->clients_here += s->exact.cell[i].released != 0 ? s->exact.cell[i].clients : 0;
    c->by_levels = r.plan;
    fre_wipe_free(r.cell, r.n_cells * sizeof *r.cell);
    fre_wipe_free(r.listed, s->population.clients);
    fre_codebook_free(r.codebook);
    fre_rng_wipe(&r.coins);
    fre_rng_wipe(&r.counts);
    return st;
}
