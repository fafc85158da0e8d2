/* baseline/central.c - central-dp and ldp-oue: which cells survive, and a noisy sum for each. */
#include "baseline_private.h"

#include <stdlib.h>
#include <string.h>

uint64_t baseline_oue_ones(fre_rng *reports, uint64_t in, uint64_t users, uint64_t flip32)
{
    return fre_sample_binomial(reports, in, FRE_P_ONE / 2) +
           fre_sample_binomial(reports, users - in, flip32);
}

/* (ones - users q)/(1/2 - q), q = flip32 / 2^32: of reports, so a double will do. */
bool baseline_oue_released(uint64_t *count, uint64_t ones, uint64_t users, uint64_t flip32,
                           uint64_t threshold)
{
    const double estimate = ((double)ones - (double)users * (double)flip32 * 0x1p-32) /
                            (0.5 - (double)flip32 * 0x1p-32);

    *count = estimate >= 1 ? (uint64_t)(estimate + 0.5) : 1;
    return estimate >= (double)threshold;
}

/* Is cell i kept?  *count: as it is published. */
static bool survives(baseline_run *r, uint64_t *count, uint32_t i)
{
    const uint64_t threshold = r->opts->plan.threshold;
    int64_t noisy;

    if (r->opts->method == FRE_BASELINE_LDP_OUE)
        return baseline_oue_released(
            count, baseline_oue_ones(&r->counts, r->true_count[i], r->people.users, r->plan.flip32),
            r->people.users, r->plan.flip32, threshold);
    noisy = fre_aggregate_noisy_count(r->true_count[i], &r->counts, r->plan.count_sigma_lattice);
    *count = fre_aggregate_published_count(noisy);
    return fre_aggregate_noisy_released(noisy, threshold);
}

static fre_status choose(baseline_run *r, baseline_kept *k, fre_err *err)
{
    uint64_t count;
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < r->cells.n; i++) {
        if (i % 1024 == 0) {
            fre_progress_update(r->opts->progress, "counting", i, r->cells.n);
            if (fre_interrupted())
                return fre_fail(err, FRE_E_INTERRUPTED, "interrupted");
        }
        if (survives(r, &count, i))
            st = baseline_keep(k, i, count, err);
    }
    return st;
}

/* sum: of each kept cell; place: of each cell, among the kept ones or FRE_MAP_NONE. */
static fre_status add_people(const baseline_run *r, int64_t *sum, const uint32_t *place,
                             fre_err *err)
{
    const baseline_people *p = &r->people;
    const fre_aggregate_lattice lattice = {r->plan.lattice_step, p->norm_bound, p->users};

    for (size_t i = 0; i < p->n; i++) {
        const uint32_t at = r->cell_of[i] == FRE_MAP_NONE ? FRE_MAP_NONE : place[r->cell_of[i]];

        if (at != FRE_MAP_NONE && fre_aggregate_add(sum + (size_t)at * p->dim, p->x + i * p->dim,
                                                    p->dim, p->weight[i], &lattice) != FRE_OK)
            return fre_fail(err, FRE_E_DATA,
                            "an embedding's coordinate is too large for exact sums: scale the "
                            "embeddings or lower {norm_bound}");
    }
    return FRE_OK;
}

static fre_status sum_cells(baseline_run *r, const baseline_kept *k, fre_err *err)
{
    const size_t dim = r->people.dim;
    fre_release *out = &r->result->release;
    int64_t *sum = calloc(k->n * dim + 1, sizeof *sum);
    uint32_t *place = malloc((r->cells.n + 1) * sizeof *place);
    fre_status st =
        sum && place ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "out of memory for the sums");

    if (st == FRE_OK) {
        memset(place, 0xff, r->cells.n * sizeof *place); /* FRE_MAP_NONE */
        for (size_t i = 0; i < k->n; i++)
            place[k->cell[i]] = (uint32_t)i;
        st = add_people(r, sum, place, err);
    }
    for (size_t i = 0; st == FRE_OK && i < k->n; i++) {
        fre_aggregate_noise(sum + i * dim, dim, &r->noise, r->plan.sigma_lattice);
        fre_aggregate_mean(out->centroid + i * dim, sum + i * dim, dim, r->plan.lattice_step,
                           k->count[i]);
    }
    fre_wipe_free(sum, k->n * dim * sizeof *sum);
    free(place);
    return st;
}

fre_status baseline_central(baseline_run *r, fre_err *err)
{
    baseline_kept k = {.n = 0};
    fre_status st = r->opts->method == FRE_BASELINE_LDP_OUE ? baseline_domain(r, err)
                                                            : baseline_occupied(r, err);

    if (st == FRE_OK)
        st = choose(r, &k, err);
    if (st == FRE_OK) {
        baseline_shuffle(r, &k);
        st = baseline_fill(r, &k, err);
    }
    if (st == FRE_OK)
        st = sum_cells(r, &k, err);
    if (r->opts->method == FRE_BASELINE_LDP_OUE)
        r->result->domain = r->cells.n;
    baseline_kept_wipe(&k);
    return st;
}
