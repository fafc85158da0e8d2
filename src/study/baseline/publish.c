/* baseline/publish.c - from centroids to texts and to the folder. */
#include "baseline_private.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static fre_status put_into_words(baseline_run *r, fre_err *err)
{
    fre_release *out = &r->result->release;
    double *std = calloc(out->n + 1, sizeof *std);
    fre_status st;

    if (!std)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < out->n; i++)
        std[i] = out->cell[i].noise_norm / sqrt((double)r->people.dim);
    st = fre_release_invert(out, r->inverter, std, r->opts->progress, err);
    free(std);
    return st;
}

static json_t *number_or_null(double x)
{
    return x > 0 ? json_real(x) : json_null();
}

static json_t *evolution_json(const fre_evolution_opts *e)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:f, s:s?}", "samples", (int)e->samples, "rounds",
                     (int)e->rounds, "variations", (int)e->variations, "look_ahead",
                     (int)e->look_ahead, "temperature", e->temperature, "prompt", e->prompt);
}

/* What it ran with, as text; free() it.  NULL: out of memory. */
static char *parameters(const baseline_run *r)
{
    const fre_baseline_opts *o = r->opts;
    const fre_baseline_plan *p = &r->plan;
    const bool unary = o->method == FRE_BASELINE_LDP_OUE;
    const bool evolution = o->method == FRE_BASELINE_AUG_PE;
    json_t *j = json_pack(
        "{s:f, s:f, s:I, s:s, s:i, s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "epsilon",
        p->epsilon, "delta", p->delta, "population", (json_int_t)o->plan.population, "adjacency",
        o->method == FRE_BASELINE_LDP_EMBEDDING || o->plan.adjacency == FRE_ADJACENCY_REPLACE
            ? "replace"
            : "add-remove",
        "projection_dim", (int)r->result->release.grid.grid.proj, "cell_edge",
        r->result->release.grid.grid.cell_edge, "sigma", p->sigma, "lattice_step", p->lattice_step,
        "shift", p->shift, "count_sigma", number_or_null(p->count_sigma), "count_epsilon",
        number_or_null(p->count_epsilon), "flip", number_or_null((double)p->flip32 * 0x1p-32),
        "delta_empty", number_or_null(p->delta_empty), "domain",
        unary ? json_string(o->domain ? "public" : "input") : json_null(), "evolution",
        evolution ? evolution_json(&o->evolution) : json_null());
    char *text = j ? json_dumps(j, JSON_REAL_PRECISION(17)) : NULL;

    json_decref(j);
    return text;
}

fre_status baseline_publish(baseline_run *r, fre_outdir *dir, fre_err *err)
{
    fre_release_method method = {.name = fre_baseline_name(r->opts->method),
                                 .epsilon = r->plan.epsilon,
                                 .delta = r->plan.delta,
                                 .accountant = "analytic gaussian"};
    fre_inverter_parts parts = fre_inverter_parts_of(r->inverter);
    char *text = NULL;
    fre_status st = r->inverter ? put_into_words(r, err) : FRE_OK;

    if (st != FRE_OK)
        return st;
    for (size_t i = 0; i < r->result->release.n; i++)
        r->result->release.cell[i].group = FRE_RELEASE_NONE;
    method.parameters = text = parameters(r);
    if (!text)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    if (r->lm)
        parts.language_model = fre_lm_info(r->lm)->sha256;
    st = fre_release_write(dir, &r->result->release,
                           &(fre_release_context){.method = &method,
                                                  .inverter = parts,
                                                  .ledger_reason = "baselines are not recorded"},
                           err);
    free(text);
    if (st == FRE_OK)
        st = fre_outdir_commit(dir, err);
    if (st == FRE_OK)
        baseline_evolved(r);
    return st;
}
