/* simulate/compare.c - what the collection released against the exact sums, and against a curator
 * with the same clients on the same grid. */
#include "simulate_private.h"

#include <math.h>

/* ---- against the exact sums -------------------------------------------------------------------- */

static double deviation2(const simulate_run *s, const simulate_cell *cell, const float *centroid)
{
    double sum = 0;

    for (uint32_t i = 0; i < s->population.dim; i++) {
        const double d = (double)centroid[i] - cell->sum[i] / (double)cell->answers;

        sum += d * d;
    }
    return sum;
}

/* Released cells come without names: the nearest cell with as many members is meant. */
static simulate_cell *find_exact(simulate_run *s, size_t k, double *best)
{
    const fre_released_cell *r = &s->out->release.cell[k];
    simulate_cell *found = NULL;

    for (size_t i = 0; i < s->exact.n; i++) {
        simulate_cell *c = &s->exact.cell[i];
        double d;

        if (c->members != r->count || c->answers == 0 || c->released != 0)
            continue;
        d = deviation2(s, c, s->out->release.centroid + k * s->population.dim);
        if (!found || d < *best) {
            found = c;
            *best = d;
        }
    }
    return found;
}

/* Variance of one coordinate of a centroid: noise, two servers' or everybody's who was summed, and of each of
 * these the error of rounding to the lattice at random, beta^2/6 on average; with two contacts that of
 * rounding to a public grid too. */
static fre_status planned_variance(const simulate_run *s, double *out, const fre_released_cell *r,
                                   const simulate_cell *exact)
{
    const double n = (double)exact->answers, noisy = s->collection.server_noise ? 2 : n;
    fre_mechanism m;
    fre_share_cell cell;
    fre_status st;

    fre_collection_mechanism(&m, &s->collection);
    st = fre_share_cell_init(&cell, &m, s->collection.split, r->count, s->out->share_bits, NULL);
    if (st != FRE_OK)
        return st;
    *out = cell.beta * cell.beta * (noisy * (double)cell.var16 * 0x1p-16 + n / 6) / (n * n);
    if (!s->collection.one_contact)
        *out += pow(fre_share_hidden_step(&cell), 2) / 12;
    return FRE_OK;
}

static fre_status against_exact(simulate_run *s)
{
    fre_simulate_comparison *c = &s->out->comparison;

    for (size_t k = 0; k < s->out->release.n; k++) {
        const double dim = s->population.dim;
        double variance, deviation = 0, ratio;
        simulate_cell *cell = find_exact(s, k, &deviation);
        fre_status st;

        if (!cell)
            continue;
        cell->released = k + 1;
        c->matched++;
        if (fre_cell_sums(&s->out->plan.mechanism, s->out->release.cell[k].count) > 1)
            continue; /* a median, whose law has no such simple form */
        st = planned_variance(s, &variance, &s->out->release.cell[k], cell);
        if (st != FRE_OK)
            return st;
        c->freedom += dim;
        c->noise += deviation / variance;
        ratio = sqrt(deviation / (variance * dim));
        c->deviation_max = ratio > c->deviation_max ? ratio : c->deviation_max;
    }
    c->noise_z = c->freedom > 0 ? (c->noise - c->freedom) / sqrt(2 * c->freedom) : 0;
    return FRE_OK;
}

/* ---- the curator -------------------------------------------------------------------------------- */

typedef struct curator {
    uint64_t *count; /* of each exact cell */
    int64_t *sum;    /* dim each */
    fre_rng coins, noise;
} curator;

static fre_status curate_client(simulate_run *s, curator *k, uint64_t client, float *spare)
{
    const fre_plan *p = &s->out->comparison.curator;
    const uint32_t dim = s->population.dim;
    const fre_aggregate_lattice lattice = {.step = p->mechanism.lattice_step,
                                           .norm_bound = p->mechanism.norm_bound,
                                           .points = p->request.population};
    uint32_t cell[FRE_COLLECTION_CELLS_MAX], row[FRE_COLLECTION_CELLS_MAX];
    const uint32_t n = simulate_client_cells(s, client, cell, row);
    fre_status st = FRE_OK;

    for (uint32_t j = 0; j < n && st == FRE_OK; j++) {
        const bool sampled = fre_aggregate_coin(&k->coins, p->mechanism.p32);
        const size_t place = s->exact.place[cell[j]];
        const float *x;

        if (!sampled || place == 0)
            continue;
        k->count[place - 1]++;
        st = simulate_row(&s->population, &x, spare, row[j], NULL);
        if (st == FRE_OK)
            st = fre_aggregate_add(k->sum + (place - 1) * dim, x, dim, 1, &lattice);
    }
    return st;
}

static fre_status curate(simulate_run *s, curator *k)
{
    float *spare = malloc(s->population.dim * sizeof *spare);
    fre_status st = spare ? FRE_OK : FRE_E_NOMEM;

    if (st == FRE_OK)
        st = simulate_stream(s, &k->coins, "curator-coins", 0);
    if (st == FRE_OK)
        st = simulate_stream(s, &k->noise, "curator-noise", 0);
    for (uint64_t i = 0; st == FRE_OK && i < s->population.clients; i++)
        st = fre_interrupted() ? FRE_E_INTERRUPTED : curate_client(s, k, i, spare);
    free(spare);
    return st;
}

static void compare_cell(simulate_run *s, curator *k, size_t i, float *mean)
{
    fre_simulate_comparison *c = &s->out->comparison;
    const fre_mechanism *m = &c->curator.mechanism, *d = &s->out->plan.mechanism;
    const uint32_t dim = s->population.dim;
    const simulate_cell *cell = &s->exact.cell[i];
    const fre_released_cell *r;
    double users, users_curator;

    if (!fre_aggregate_released(k->count[i], m->tau))
        return;
    c->curator_released++;
    if (cell->released == 0)
        return;
    c->both++;
    r = &s->out->release.cell[cell->released - 1];
    fre_aggregate_noise(k->sum + i * dim, dim, &k->noise, c->curator.sigma_lattice);
    fre_aggregate_mean(mean, k->sum + i * dim, dim, m->lattice_step, k->count[i]);
    users = (double)r->count * 0x1p32 / (double)d->p32;
    users_curator = (double)k->count[i] * 0x1p32 / (double)m->p32;
    c->users_gap += fabs(users - users_curator) / (double)cell->clients;
    c->distance +=
        sqrt(fre_dist2(mean, s->out->release.centroid + (cell->released - 1) * dim, dim));
    c->noise_collection += r->noise_norm;
    c->noise_curator += m->sigma * sqrt(dim) / (double)k->count[i];
}

static fre_status against_curator(simulate_run *s)
{
    fre_simulate_comparison *c = &s->out->comparison;
    const size_t n = s->exact.n, dim = s->population.dim;
    curator k = {.count = calloc(n + 1, sizeof *k.count),
                 .sum = calloc(n * dim + 1, sizeof *k.sum)};
    float *mean = malloc(dim * sizeof *mean);
    fre_status st = k.count && k.sum && mean ? curate(s, &k) : FRE_E_NOMEM;

    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        c->cells += s->exact.cell[i].clients >= s->out->plan.request.threshold;
        compare_cell(s, &k, i, mean);
    }
    if (c->both > 0) {
        c->users_gap /= (double)c->both;
        c->distance /= (double)c->both;
        c->noise_collection /= (double)c->both;
        c->noise_curator /= (double)c->both;
    }
    if (k.sum)
        fre_wipe(k.sum, n * dim * sizeof *k.sum);
    fre_rng_wipe(&k.coins);
    fre_rng_wipe(&k.noise);
    free(k.count);
    free(k.sum);
    free(mean);
    return st;
}

fre_status simulate_compare(simulate_run *s, fre_err *err)
{
    fre_status st = against_exact(s);

    if (st == FRE_OK)
        st = against_curator(s);
    if (st != FRE_OK)
        return fre_fail(err, st, "the comparison failed: %s", fre_status_text(st));
    if (s->opts->compare_levels)
        st = simulate_compare_levels(s, err);
    s->out->compared = st == FRE_OK;
    return st;
}
