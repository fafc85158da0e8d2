/* curator/publish.c - from noisy means to texts and to the folder. */
#include "curator_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What was released, out of the run's tables. */
static fre_status fill_release(curator_run *r, fre_release *out, fre_err *err)
{
    const fre_mechanism *m = &r->plan.mechanism;

    out->cell = calloc(r->n_released + 1, sizeof *out->cell);
    out->cell_name = calloc(r->n_released + 1, sizeof *out->cell_name);
    if (!out->cell || !out->cell_name)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    out->n = r->n_released;
    out->centroid = r->centroid; /* moved */
    r->centroid = NULL;
    for (size_t i = 0; i < out->n; i++) {
        fre_released_cell *c = &out->cell[i];

        c->count = r->cell_count[r->released[i]];
        c->answers = c->count;
        c->users = (double)c->count * (double)FRE_P_ONE / (double)m->p32;
        c->noise_norm = m->sigma * sqrt((double)r->dim) / (double)c->count;
        memcpy(out->cell_name[i].bytes, fre_map_key(&r->cells, r->released[i]), FRE_CELL_BYTES);
    }
    return FRE_OK;
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
        std[i] = r->plan.mechanism.sigma / (double)out->cell[i].count;
    st = fre_release_invert(out, inverter, std, r->opts->progress, err);
    if (st == FRE_OK)
        st = vary_cells(r, out, inverter, std, err);
    free(std);
    return st;
}

fre_status curator_publish(curator_run *r, fre_curator_result *rel, fre_inverter *inverter,
                           fre_outdir *dir, fre_err *err)
{
    const int64_t start = fre_clock_ms();
    fre_status st = fill_release(r, &rel->release, err);

    if (st == FRE_OK && inverter)
        st = write_texts(r, &rel->release, inverter, err);
    rel->seconds[2] = (double)(fre_clock_ms() - start) / 1000;
    if (st == FRE_OK)
        st = curator_ledger_record(r, rel, err);
    if (st != FRE_OK)
        return st;
    st = fre_release_write(dir, &rel->release,
                           &(fre_release_context){
                               .plan = &r->plan,
                               .inverter = fre_inverter_parts_of(inverter),
                               .ledger_entry = rel->recorded ? rel->receipt.id : NULL,
                               .ledger_reason = rel->ledger_reason,
                           },
                           err);
    if (st == FRE_OK)
        st = fre_outdir_commit(dir, err);
    curator_ledger_conclude(rel, st, err);
    return st;
}
