/* The plan of a release by levels (docs/privacy.md): one budget for all.  How count noise and sum noise
 * share it is chosen for one level, where there is a closed form; then the noise of all levels, the grid's too, grows
 * by one factor until the account of all of them is within the target. */
#include <math.h>

#include "approach.h"
#include "levels.h"
#include "plan.h"

/* ---- the least error of one level ------------------------------------------------------------ */

/* T: no cell below the threshold asked for, and hardly an empty one. */
static double noisy_threshold(const fre_plan_request *r, uint64_t cells, double count_sigma)
{
    return ceil(fmax((double)r->threshold, count_sigma * sqrt(2 * log((double)cells))));
}

/* How bad the smallest released means are when count noise is q times the sum's in units of R: the noise
 * on a mean, with that of its count, grows as cells shrink, and T and the count's noise decide how small the cells are. */
static double badness(const fre_plan_request *r, uint64_t cells, double q, double mu)
{
    const double sigma = sqrt(1 + 1 / (q * q)) / mu, count_sigma = q * sigma;
    const double noise = hypot(sigma * sqrt((double)r->dim), count_sigma / 2);

    return noise * (noisy_threshold(r, cells, count_sigma) + count_sigma);
}

static double choose_ratio(const fre_plan_request *r, double mu)
{
    double best = 1, least = HUGE_VAL;
    uint64_t cells = 1;

    for (size_t i = 0; i < r->n_levels; i++)
        if (r->level[i].sketch.codebook.cells > cells)
            cells = r->level[i].sketch.codebook.cells;
    for (double q = 0.5; q <= 8; q += 0.0625) {
        const double bad = badness(r, cells, q, mu);

        if (bad < least)
            least = bad, best = q;
    }
    return best;
}

/* ---- all levels ------------------------------------------------------------------------------ */

/* Noise at factor 1: what each level would need alone. */
typedef struct alone {
    double grid;
    double sigma[FRE_LEVELS_MAX], count_sigma[FRE_LEVELS_MAX];
} alone;

/* A mechanism of sampled counts for this share of delta, whose counts leave the rest to other levels. */
static fre_status sampled(fre_plan *out, const fre_plan_request *r, double share, fre_err *err)
{
    fre_plan_request q = *r;
    fre_status st;

    q.n_levels = 0;
    q.no_grid = false;
    q.delta = r->delta * share;
    st = fre_plan_begin(out, &q, err);
    return st == FRE_OK ? fre_plan_joint(out, err) : st;
}

fre_plan_request fre_plan_as_grid(const fre_plan_request *r, const fre_level_request *l)
{
    fre_plan_request q = *r;

    q.n_levels = 0;
    q.no_grid = false;
    q.sensitivity = FRE_SENSITIVITY_WORST_CASE;
    q.norm_bound = fre_sketch_reach(&l->sketch, r->norm_bound);
    return q;
}

static fre_status sampled_level(fre_plan_level *out, const fre_plan_request *r,
                                const fre_level_request *l, double share, fre_err *err)
{
    const fre_plan_request q = fre_plan_as_grid(r, l);
    fre_plan p;
    fre_status st = sampled(&p, &q, share, err);

    if (st != FRE_OK)
        return st;
    out->level.p32 = p.mechanism.p32;
    out->level.tau = p.mechanism.tau;
    out->level.sigma = p.mechanism.sigma;
    return FRE_OK;
}

/* How much more noise records need than one that is added or removed, by estimates. */
static double more_than_one_record(const fre_plan_request *r)
{
    const double replaced = r->n_levels == 1 && r->no_grid ? M_SQRT2 : 2;

    return sqrt((double)r->cells_per_user) * (r->adjacency == FRE_ADJACENCY_REPLACE ? replaced : 1);
}

static fre_status start_levels(alone *out, fre_plan *p, double share, fre_err *err)
{
    const fre_plan_request *r = &p->request;
    double multiplier = 0, q;
    fre_status st = fre_gauss_multiplier(&multiplier, r->epsilon, r->delta, FRE_GAUSSIAN_ANALYTIC);

    if (st != FRE_OK)
        return fre_fail(err, st, "{levels}: no noise is enough for {epsilon} and {delta}");
    multiplier *= more_than_one_record(r);
    q = choose_ratio(r, 1 / multiplier);
    for (size_t i = 0; st == FRE_OK && i < r->n_levels; i++) {
        const fre_level_request *l = &r->level[i];

        p->level[i].level.counts = l->counts;
        if (l->counts == FRE_COUNTS_NOISY) {
            out->sigma[i] =
                fre_sketch_reach(&l->sketch, r->norm_bound) * multiplier * sqrt(1 + 1 / (q * q));
            out->count_sigma[i] = q * multiplier * sqrt(1 + 1 / (q * q));
        } else {
            st = sampled_level(&p->level[i], r, l, share, err);
            out->sigma[i] = p->level[i].level.sigma;
        }
    }
    return st;
}

/* Sampled counts, whose cost no noise makes less, are planned for a share of delta. */
static fre_status start(alone *out, fre_plan *p, double share, fre_err *err)
{
    fre_plan grid;
    fre_status st = p->request.no_grid ? FRE_OK : sampled(&grid, &p->request, share, err);

    if (st != FRE_OK)
        return st;
    if (!p->request.no_grid) {
        p->mechanism = grid.mechanism;
        out->grid = grid.mechanism.sigma;
    }
    return start_levels(out, p, share, err);
}

static void set_level(fre_plan_level *out, const fre_plan_request *r, const fre_level_request *l,
                      double sigma, double count_sigma)
{
    const bool noisy = l->counts == FRE_COUNTS_NOISY;
    fre_level *level = &out->level;

    out->lattice_step = fre_plan_lattice_step(sigma);
    level->sigma = sigma;
    out->sigma_lattice = fre_plan_lattice_round(&level->sigma, out->lattice_step);
    level->shift =
        fre_level_shift(l->counts, fre_sketch_reach(&l->sketch, r->norm_bound), sigma, r->dim);
    if (!noisy)
        return;
    level->count_sigma = count_sigma;
    out->count_sigma_lattice = fre_plan_lattice_round(&level->count_sigma, FRE_COUNT_STEP);
    level->tau = (uint64_t)noisy_threshold(r, l->sketch.codebook.cells, level->count_sigma);
}

/* Noise of everything by one factor, and its account. */
static fre_status scale(fre_levels_account *out, fre_plan *p, const alone *a, double factor,
                        fre_err *err)
{
    const fre_plan_request *r = &p->request;
    fre_level room[FRE_LEVELS_MAX];
    fre_levels all;

    if (fre_interrupted())
        return fre_fail(err, FRE_E_INTERRUPTED, "interrupted");
    if (!r->no_grid) {
        p->mechanism.sigma = a->grid * factor;
        fre_plan_set_lattice(p, p->mechanism.sigma);
        fre_plan_round_sigma(p);
    }
    for (size_t i = 0; i < r->n_levels; i++)
        set_level(&p->level[i], r, &r->level[i], a->sigma[i] * factor, a->count_sigma[i] * factor);
    all = fre_plan_levels_of(p, room);
    return fre_levels_delta(out, &all, r->epsilon, err);
}

#define TRIES 24
#define FACTOR_MOST 64.0

/* Sampled counts cost what they cost: is there any noise that is enough beside them? */
static fre_status reachable(bool *yes, const fre_plan *p, const alone *a, fre_err *err)
{
    fre_plan most = *p;
    fre_levels_account now;
    fre_status st = scale(&now, &most, a, FACTOR_MOST, err);

    *yes = st == FRE_OK && now.delta <= p->request.delta;
    return st;
}

/* The least factor within half a per cent of delta, or where it steps, the last that holds. */
static fre_status settle(fre_plan *p, fre_levels_account *out, const alone *a, fre_err *err)
{
    const double target = p->request.delta;
    double x = log1p(0.015 * (double)(p->request.n_levels + !p->request.no_grid)), least = HUGE_VAL;
    fre_approach by = FRE_APPROACH;
    fre_plan at = *p;

    for (int i = 0; i < TRIES; i++) {
        fre_levels_account now;
        fre_status st = scale(&now, &at, a, exp(x), err);
        bool goes_on = true;

        if (st == FRE_OK && i == 0 && now.delta > target)
            st = reachable(&goes_on, p, a, err);
        if (st != FRE_OK || !goes_on)
            return st == FRE_OK ? FRE_E_INFEASIBLE : st;
        if (now.delta <= target && x < least) {
            *p = at;
            *out = now;
            least = x;
        }
        if (now.delta <= target && now.delta > 0.98 * target)
            return FRE_OK;
        if ((isfinite(least) && i >= 8) || x > log(FACTOR_MOST))
            break;
        x = fre_approach_step(&by, x, log(now.delta), log(0.99 * target));
    }
    return isfinite(least) ? FRE_OK : FRE_E_INFEASIBLE;
}

static double empty_cells(const fre_plan *p)
{
    double sum = 0;

    for (size_t i = 0; i < p->request.n_levels; i++) {
        const fre_level *l = &p->level[i].level;

        if (l->counts == FRE_COUNTS_NOISY)
            sum += (double)p->request.level[i].sketch.codebook.cells *
                   exp(fre_log_phi(-(double)l->tau / l->count_sigma));
    }
    return sum;
}

#define WORST_WITHIN 0.01 /* rounded up: a number to compare, no claim */

/* The grid's records as far apart as embeddings can be, and nobody far.  At such an epsilon the levels behind
 * it add next to nothing, so the search begins with the grid alone. */
static fre_status worst_case(fre_plan *p, fre_err *err)
{
    const fre_plan_request *r = &p->request;
    fre_level room[FRE_LEVELS_MAX];
    fre_levels all = fre_plan_levels_of(p, room);
    fre_mechanism grid = p->mechanism;
    fre_levels_account a = {.epsilon = r->epsilon};
    fre_account of_grid;
    fre_status st = FRE_OK;

    if (all.grid && r->sensitivity != FRE_SENSITIVITY_WORST_CASE) {
        grid.sensitivity = FRE_SENSITIVITY_WORST_CASE;
        all.grid = &grid;
        st = fre_joint_epsilon(&of_grid, &grid, r->delta, err);
        if (st == FRE_OK)
            st = fre_levels_epsilon_from(&a, &all, r->delta, of_grid.epsilon, WORST_WITHIN, err);
    }
    if (st != FRE_OK && st != FRE_E_INFEASIBLE)
        return st;
    p->worst_case_epsilon = st == FRE_OK ? a.epsilon : HUGE_VAL;
    return FRE_OK;
}

/* What the grid costs alone, so that it is seen what the levels add. */
static fre_status explain(fre_plan *p, const fre_levels_account *all, fre_err *err)
{
    const fre_plan_request *r = &p->request;
    fre_status st = FRE_OK;

    if (r->no_grid)
        p->account = (fre_account){.epsilon = r->epsilon};
    else
        st = fre_joint_delta(&p->account, &p->mechanism, r->epsilon, err);
    p->delta_levels = fmax(0, all->delta - p->account.delta);
    p->account.delta = all->delta;
    p->joint_epsilon = r->epsilon;
    p->empty_cells = empty_cells(p);
    return st == FRE_OK ? worst_case(p, err) : st;
}

/* Projection and edge of the grid that others lay over such a release, to compare. */
static void without_grid(fre_plan *p)
{
    const fre_plan_level *last = &p->level[p->request.n_levels - 1];

    p->mechanism.p32 = FRE_P_ONE;
    p->mechanism.sketch.grid =
        fre_plan_grid(&p->request, p->request.proj > 0 ? p->request.proj : 20);
    p->mechanism.tau = last->level.tau;
    p->mechanism.sigma = last->level.sigma;
}

fre_status fre_plan_levels(fre_plan *p, fre_err *err)
{
    static const double shares[] = {1, 0.5, 0.2, 0.05, 0.01};
    fre_levels_account all = {.delta = 1};
    fre_status st = FRE_E_INFEASIBLE;

    for (size_t i = 0; st == FRE_E_INFEASIBLE && i < sizeof shares / sizeof *shares; i++) {
        fre_plan at = *p;
        alone a = {.grid = 0};

        st = start(&a, &at, shares[i], err);
        if (st == FRE_OK)
            st = settle(&at, &all, &a, err);
        if (st == FRE_OK)
            *p = at;
    }
    if (st == FRE_E_INFEASIBLE)
        return fre_fail(err, st,
                        "these {levels} cannot be had for {epsilon} and {delta}: name fewer of "
                        "them, raise {epsilon} or {threshold}, or leave out {counts} sampled");
    if (st != FRE_OK)
        return st;
    if (p->request.no_grid)
        without_grid(p);
    return explain(p, &all, err);
}

void fre_plan_levels_bare(fre_plan *p)
{
    const fre_plan_request *r = &p->request;

    for (size_t i = 0; i < r->n_levels; i++)
        p->level[i] = (fre_plan_level){
            .level = {.counts = r->level[i].counts, .p32 = FRE_P_ONE, .tau = r->threshold},
            .lattice_step = 0x1p-20,
        };
    if (r->no_grid)
        without_grid(p);
}

fre_levels fre_plan_levels_of(const fre_plan *p, fre_level room[FRE_LEVELS_MAX])
{
    const fre_plan_request *r = &p->request;

    for (size_t i = 0; i < r->n_levels; i++)
        room[i] = p->level[i].level;
    return (fre_levels){.grid = r->no_grid ? NULL : &p->mechanism,
                        .level = room,
                        .n = r->n_levels,
                        .adjacency = r->adjacency,
                        .cells_per_user = r->cells_per_user};
}

fre_sketch_grid fre_plan_compare_grid(const fre_plan *p)
{
    const fre_plan_request *r = &p->request;

    return p->mechanism.sketch.kind == FRE_SKETCH_GRID
               ? p->mechanism.sketch.grid
               : fre_plan_grid(r, r->proj > 0 ? r->proj : 20);
}

fre_plan_level fre_plan_grid_level(const fre_plan *p)
{
    const fre_mechanism *m = &p->mechanism;

    return (fre_plan_level){
        .level = {.counts = FRE_COUNTS_SAMPLED, .p32 = m->p32, .tau = m->tau, .sigma = m->sigma},
        .lattice_step = m->lattice_step,
        .sigma_lattice = p->sigma_lattice};
}
