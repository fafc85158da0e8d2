/* curator/parts.c - a run whose records are elsewhere: for each stage a task to workers, and what their parts
 * add up to in the place of what a pass over records would have counted. */
#include "curator_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static fre_partial_level level_of(const curator_run *r, uint32_t level)
{
    const fre_plan_level l = curator_plan_level(r, level);

    return (fre_partial_level){.sketch = *curator_sketch(r, level),
                               .counts = l.level.counts,
                               .p32 = l.level.counts == FRE_COUNTS_NOISY ? 0 : l.level.p32,
                               .tau = l.level.counts == FRE_COUNTS_NOISY ? 0 : l.level.tau,
                               .lattice_step = l.lattice_step};
}

static void fill_terms(const curator_run *r, fre_partial_terms *t)
{
    t->not_private = r->opts->seeded;
    t->dim = r->dim;
    t->norm_bound = r->plan.mechanism.norm_bound;
    t->cells_per_user = r->opts->plan.cells_per_user;
    t->no_grid = r->plan.request.no_grid;
    memcpy(t->grid_seed, r->grid_seed, sizeof t->grid_seed);
    t->n_levels = (uint32_t)r->plan.request.n_levels;
    for (uint32_t i = t->no_grid ? 1 : 0; i <= t->n_levels; i++)
        t->level[i] = level_of(r, i);
    if (r->embedder)
        memcpy(t->embedder, fre_embedder_info(r->embedder)->sha256, sizeof t->embedder);
    fre_partial_key_commit(t->key, &r->key);
    memcpy(t->salt, r->content.salt, sizeof t->salt);
}

/* In the order that they were chosen in, which is that of a task. */
static fre_status fill_released(const curator_run *r, fre_partial_task *t)
{
    t->released = calloc(r->n_released + 1, sizeof *t->released);
    if (!t->released)
        return FRE_E_NOMEM;
    t->n_released = r->n_released;
    for (size_t i = 0; i < r->n_released; i++) {
        const curator_cell *from = &r->released[i];
        fre_partial_cell *c = &t->released[i];

        c->level = from->level;
        if (from->level > 0)
            c->cell = from->cell;
        else
            memcpy(c->name, fre_map_key(&r->cells, from->cell), sizeof c->name);
    }
    return FRE_OK;
}

/* Whoever asks is not told the workers' sentence twice, nor left without one. */
static fre_status ask_workers(const curator_run *r, fre_partial *sum, fre_bytes task, fre_err *err)
{
    const fre_curator_parts *of = r->opts->parts;
    fre_err why = {.text = ""};
    fre_status st = of->stage(of->ctx, sum, task, &r->key, &why);

    if (st == FRE_OK)
        return FRE_OK;
    return why.text[0] ? fre_fail(err, st, "%s", why.text)
                       : fre_fail(err, st, "the workers did not add up a stage: %s",
                                  fre_status_text(st));
}

fre_status curator_ask(curator_run *r, uint32_t stage, fre_err *err)
{
    fre_partial_task t = {.stage = stage,
                          .points = stage == FRE_PARTIAL_SUMS ? r->contributed : 0};
    fre_partial *sum = NULL;
    fre_buf bytes;
    fre_status st;

    fre_buf_init(&bytes, FRE_PARTIAL_BYTES_MAX);
    fill_terms(r, &t.terms);
    st = fill_released(r, &t);
    if (st == FRE_OK)
        st = fre_partial_task_encode(&bytes, &t);
    if (st != FRE_OK) {
        (void)fre_fail(err, st, "a task for the workers cannot be written: %s", fre_status_text(st));
        goto out;
    }
    st = fre_partial_new(&sum, (fre_bytes){bytes.p, bytes.n}, err);
    if (st != FRE_OK)
        goto out;
    st = ask_workers(r, sum, (fre_bytes){bytes.p, bytes.n}, err);
    if (st != FRE_OK)
        goto out;
    st = fre_partial_check_whole(sum, err);
    if (st != FRE_OK)
        goto out;
    fre_partial_free(r->parts);
    r->parts = sum;
    sum = NULL; /* handed over */
out:
    fre_partial_free(sum);
    fre_buf_wipe(&bytes);
    fre_partial_task_wipe(&t);
    return st;
}

/* ---- the first stage ------------------------------------------------------------------------------- */

/* Marks outlive the stage that saw them. */
static fre_status keep_marks(curator_run *r, const fre_partial_survey *s, fre_err *err)
{
    fre_status st = fre_overlap_set_of_both(&r->text_marks, s->texts, s->texts);

    if (st == FRE_OK)
        st = fre_overlap_set_of_both(&r->row_marks, s->rows, s->rows);
    return st == FRE_OK ? st : fre_fail(err, st, "out of memory for what the workers saw");
}

static fre_status check_any(const curator_run *r, const fre_partial_survey *s, fre_err *err)
{
    if (s->users > r->opts->plan.population)
        return fre_contributors_too_many(r->opts->plan.population, err);
    if (s->records == 0)
        return fre_fail(err, FRE_E_NOINPUT, "the workers have no record: give at least one text");
    return s->blank < s->records
               ? FRE_OK
               : fre_fail(err, FRE_E_DATA,
                          "the input holds no text with a word that the embedder knows; choose "
                          "another with {embedder} FILE");
}

fre_status curator_survey_parts(curator_run *r, fre_curator_result *rel, fre_inverter *inverter,
                                fre_err *err)
{
    const fre_partial_survey *s;
    fre_status st = curator_ask(r, r->plan.request.no_grid ? 1 : 0, err);

    if (st != FRE_OK)
        return st;
    s = fre_partial_survey_view(r->parts);
    st = check_any(r, s, err);
    if (st != FRE_OK)
        return st;
    st = keep_marks(r, s, err);
    if (st != FRE_OK)
        return st;
    r->content = s->content;
    st = curator_ledger_look(r, rel, &r->content, err);
    if (st != FRE_OK)
        return st;
    r->contributed = s->counted;
    r->stats.records = r->stats.text.records = s->records;
    r->stats.users = s->users;
    r->stats.counted = r->stats.contributed = s->counted;
    r->stats.wordless = r->stats.text.empty = s->blank;
    r->stats.cells =
        r->plan.request.no_grid ? 0 : fre_partial_cells(r->parts) + fre_partial_left_out(r->parts);
    curator_report(r);
    return inverter ? fre_inverter_check_corpus(inverter, curator_text_marks(r), err) : FRE_OK;
}

/* ---- counts and sums --------------------------------------------------------------------------------- */

void curator_counts_of_parts(const curator_run *r, uint64_t *count)
{
    const size_t n = fre_partial_cells(r->parts);

    for (size_t i = 0; i < n; i++) {
        fre_partial_cell c;
        const int64_t *none;
        const uint64_t is = fre_partial_cell_view(r->parts, i, &c, &none);

        count[c.cell] = is;
    }
}

fre_status curator_grid_of_parts(curator_run *r, uint64_t **count, fre_err *err)
{
    const size_t n = fre_partial_cells(r->parts);
    uint64_t *made = calloc(n + 1, sizeof *made);
    fre_status st = made ? fre_map_reserve(&r->cells, n) : FRE_E_NOMEM;

    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        fre_partial_cell c;
        const int64_t *none;
        uint32_t index;
        bool added;
        const uint64_t is = fre_partial_cell_view(r->parts, i, &c, &none);

        st = fre_map_put(&r->cells, &index, &added, c.name);
        if (st == FRE_OK)
            made[index] = is;
    }
    if (st == FRE_OK) {
        *count = made;
        return FRE_OK;
    }
    if (made)
        fre_wipe_free(made, (n + 1) * sizeof *made);
    return fre_fail(err, st, "%s while keeping the table of cells", fre_status_text(st));
}

/* Sums and counts must be of the same records: a part that is missing or other data would show here. */
static fre_status other_records(fre_err *err)
{
    return fre_fail(err, FRE_E_AGAIN,
                    "the workers' records changed between two stages, or parts of one are missing: "
                    "keep what they read where it is until the release is made, and run this again");
}

fre_status curator_sums_of_parts(const curator_run *r, int64_t *sum, size_t first, size_t n,
                                 fre_err *err)
{
    const size_t n_cells = fre_partial_cells(r->parts);
    size_t *slot = malloc((r->n_released + 1) * sizeof *slot);
    fre_status st = slot ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "out of memory for the sums");
    fre_partial_cell c;
    const int64_t *from;

    for (size_t i = 0; st == FRE_OK && i < r->n_released; i++)
        slot[i] = n_cells;
    for (size_t i = 0; st == FRE_OK && i < n_cells; i++) {
        (void)fre_partial_cell_view(r->parts, i, &c, &from);
        slot[c.cell] = i;
    }
    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        const curator_cell *of = &r->released[first + i];
        const size_t at = slot[of->at];
        const uint64_t count = at < n_cells ? fre_partial_cell_view(r->parts, at, &c, &from) : 0;

        if (count != of->exact)
            st = other_records(err);
        else if (count > 0)
            memcpy(sum + i * r->dim, from, r->dim * sizeof *sum);
    }
    free(slot);
    return st;
}
