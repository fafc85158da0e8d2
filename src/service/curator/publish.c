/* curator/publish.c - from noisy means to texts and to the folder. */
#include "curator_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Levels of a release are numbered with the grid, those of the request without. */
static uint32_t level_in_release(const curator_run *r, uint32_t level)
{
    return r->plan.request.no_grid ? level - 1 : level;
}

static fre_status name_cell(const curator_run *r, fre_cell *out, const curator_cell *c,
                            fre_err *err)
{
    if (c->level > 0)
        return fre_sketch_public_cell(out, curator_sketch(r, c->level), c->cell) == FRE_OK
                   ? FRE_OK
                   : fre_fail(err, FRE_E_INTERNAL, "a released cell is none of the codebook's");
    memcpy(out->bytes, fre_map_key(&r->cells, c->cell), FRE_CELL_BYTES);
    return FRE_OK;
}

static void fill_grid_cell(const curator_run *r, fre_released_cell *out, const curator_cell *c)
{
    const fre_mechanism *m = &r->plan.mechanism;

    out->users = (double)c->count * (double)FRE_P_ONE / (double)m->p32;
    out->noise_norm = m->sigma * sqrt((double)r->dim) / (double)c->count;
    out->centre = FRE_RELEASE_NONE;
}

static fre_status fill_public_cell(const curator_run *r, fre_released_cell *out,
                                   const curator_cell *c, fre_err *err)
{
    const fre_level *l = &r->plan.level[c->level - 1].level;
    const fre_sketch_codebook *of = &curator_sketch(r, c->level)->codebook;
    const double rate =
        l->counts == FRE_COUNTS_NOISY ? 1 : (double)l->p32 / (double)FRE_P_ONE;
    const char *medoid = fre_codebook_medoid(r->codebook, of->level, c->cell);

    out->users = (double)c->count / rate;
    out->noise_norm = of->gain * l->sigma * sqrt((double)r->dim) / (double)c->count;
    out->centre = c->cell;
    out->around = medoid ? strdup(medoid) : NULL;
    return medoid && !out->around ? fre_fail(err, FRE_E_NOMEM, "out of memory") : FRE_OK;
}

/* Of the level behind a cell's own and of the last one, the public cells that its centroid lies in. */
static fre_status find_parents(const curator_run *r, fre_release *out, fre_err *err)
{
    const size_t n_levels = r->plan.request.n_levels;
    uint32_t *cell = calloc(out->n * n_levels + 1, sizeof *cell);
    fre_status st = cell ? curator_public_cells(r, cell, out->centroid, out->n, err)
                         : fre_fail(err, FRE_E_NOMEM, "out of memory");

    for (size_t i = 0; st == FRE_OK && i < out->n; i++) {
        const uint32_t *of = cell + i * n_levels;
        fre_released_cell *c = &out->cell[i];

        c->parent = r->released[i].level < n_levels ? of[r->released[i].level] : FRE_RELEASE_NONE;
        c->theme = n_levels == 0       ? FRE_RELEASE_NONE
                   : c->parent == FRE_RELEASE_NONE ? c->centre /* of the last level itself */
                                                   : of[n_levels - 1];
    }
    free(cell);
    return st;
}

/* What was released, out of the run's tables. */
static fre_status fill_release(curator_run *r, fre_release *out, fre_err *err)
{
    fre_status st = FRE_OK;

    out->cell = calloc(r->n_released + 1, sizeof *out->cell);
    out->cell_name = calloc(r->n_released + 1, sizeof *out->cell_name);
    if (!out->cell || !out->cell_name)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    out->n = r->n_released;
    out->centroid = r->centroid; /* moved */
    r->centroid = NULL;
    for (size_t i = 0; st == FRE_OK && i < out->n; i++) {
        const curator_cell *from = &r->released[i];
        fre_released_cell *c = &out->cell[i];

        c->count = from->count;
        c->level = level_in_release(r, from->level);
        out->level[c->level].cells++;
        st = name_cell(r, &out->cell_name[i], from, err);
        if (from->level == 0)
            fill_grid_cell(r, c, from);
        else if (st == FRE_OK)
            st = fill_public_cell(r, c, from, err);
    }
    return st == FRE_OK ? find_parents(r, out, err) : st;
}

static fre_status vary_cells(const curator_run *r, fre_release *out, fre_inverter *inverter,
                             const double *std, fre_err *err)
{
    const fre_paraphraser_opts o = {
        .embedder = r->embedder,
        .lm = fre_inverter_lm(inverter),
        .inverter = inverter,
        .paraphrases = r->opts->paraphrases,
        .temperature = r->opts->temperature,
        .distance = r->opts->paraphrase_distance,
        .seed = r->writer_seed,
    };
    fre_paraphraser *p = NULL;
    fre_status st;

    if (o.paraphrases == 0)
        return FRE_OK;
    st = fre_paraphraser_new(&p, &o, err);
    if (st == FRE_OK)
        st = fre_release_paraphrase(out, p, std, r->opts->progress, err);
    fre_paraphraser_free(p);
    return st;
}

static fre_status write_texts(const curator_run *r, fre_release *out, fre_inverter *inverter,
                              fre_err *err)
{
    double *std = calloc(out->n + 1, sizeof *std);
    fre_status st;

    if (!std)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < out->n; i++)
        std[i] = out->cell[i].noise_norm / sqrt((double)r->dim);
    st = curator_draw_members(r, out, inverter, err);
    if (st == FRE_OK)
        st = fre_release_invert(out, inverter, std, r->opts->progress, err);
    if (st == FRE_OK)
        st = vary_cells(r, out, inverter, std, err);
    free(std);
    return st;
}

/* How sure the texts are, which are left out for that, and which belong together. */
static fre_status judge_texts(const curator_run *r, fre_release *out,
                              const fre_inverter_parts *parts, fre_err *err)
{
    fre_release_weigh(out, parts);
    if (r->opts->min_confidence > 0)
        fre_release_keep(out, r->opts->min_confidence);
    return fre_release_group(out, err);
}

fre_status curator_publish(curator_run *r, fre_curator_result *rel, fre_inverter *inverter,
                           fre_outdir *dir, fre_err *err)
{
    const int64_t start = fre_clock_ms();
    const fre_inverter_parts parts = fre_inverter_parts_of(inverter);
    fre_status st = fill_release(r, &rel->release, err);

    if (st == FRE_OK && inverter)
        st = write_texts(r, &rel->release, inverter, err);
    if (st == FRE_OK)
        st = judge_texts(r, &rel->release, &parts, err);
    rel->seconds[2] = (double)(fre_clock_ms() - start) / 1000;
    if (st != FRE_OK)
        return st;
    st = fre_release_write(dir, &rel->release,
                           &(fre_release_context){
                               .plan = &r->plan,
                               .inverter = parts,
                               .ledger_entry = rel->recorded ? rel->receipt.id : NULL,
                               .ledger_reason = rel->ledger_reason,
                           },
                           err);
    if (st == FRE_OK)
        st = fre_outdir_commit(dir, err);
    return st;
}
