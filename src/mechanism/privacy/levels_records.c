/* Levels for several records a user, and for records in place of others (docs/decisions/0015):
 *   delta <= the c-fold product of D, or of R; replaced: D_c(eps1) + e^eps1 R_c(eps - eps1). */
#include "levels.h"

#include <math.h>
#include <stdlib.h>

#include "compose.h"
#include "joint.h"
#include "privacy_private.h"

/* ---- how far losses matter ----------------------------------------------------------------- */

/* Shift of one record by one level of noisy counts whose cell is released. */
static double shift_of(const fre_level *l)
{
    return hypot(1 / l->count_sigma, l->shift / l->sigma);
}

/* Public cells with noisy counts alone: delta is at least that of the greatest shift, and losses matter
 * up to where all levels together have hardly a chance; else a multiple of epsilon. */
static double greatest_loss(double *least, const fre_levels *m, uint32_t cells, bool grid,
                            double epsilon)
{
    double mu = 0, lo = 0, hi = epsilon + FRE_PLD_PAST;

    for (size_t i = 0; i < m->n; i++) {
        if (m->level[i].counts != FRE_COUNTS_NOISY)
            grid = true;
        else
            mu = fmax(mu, shift_of(&m->level[i]));
    }
    *least = FRE_PLD_LEAST;
    if (grid)
        return epsilon + fmin(FRE_PLD_PAST, 2 * epsilon);
    *least = 1e-6 * fre_gauss_delta(epsilon, mu * sqrt((double)cells)) / cells;
    while (hi - lo > 1e-3 * hi) {
        const double mid = (lo + hi) / 2;

        if (fre_gauss_delta(mid, 1.2 * mu) > *least)
            lo = mid;
        else
            hi = mid;
    }
    return hi;
}

/* ---- the two directions -------------------------------------------------------------------- */

typedef struct records {
    fre_level_curves next; /* of the public cells */
    const fre_mechanism *grid;
    uint32_t cells;
    double split;           /* of the grid */
    bool near;              /* several records with a grid: leave its far members out */
    fre_pld losses[2]; /* several records without a grid: added, removed */
    fre_compose_memory *memory; /* ... with it */
    fre_err *err;
    fre_status st;
} records;

static double composed(records *w, double eps, bool removed)
{
    fre_account a = {.worst_cell = w->grid->tau - 1};

    w->memory->removed = removed;
    if (w->st == FRE_OK)
        w->st = w->near
                    ? fre_compose_near(&a.delta, w->grid, eps, w->split, w->memory, w->err)
                    : fre_compose_at_split(&a, w->grid, eps, w->split, w->memory, w->err);
    return w->st == FRE_OK ? a.delta : 1;
}

static double direction(records *w, double eps, bool removed)
{
    if (w->grid && w->cells > 1)
        return composed(w, eps, removed);
    if (w->grid)
        return removed ? fre_levels_grid_removal(w->grid, &w->next, eps)
                       : fre_levels_grid_addition(&w->split, w->grid, &w->next, eps);
    if (w->cells > 1)
        return fre_pld_delta(&w->losses[removed], eps);
    return fre_level_next(removed ? &w->next.remove : &w->next.add, eps);
}

/* ---- records in place of others ------------------------------------------------------------ */

typedef struct division {
    records *w;
    double epsilon;
} division;

static double log_cost(void *ctx, double first)
{
    const division *d = ctx;

    return log(direction(d->w, first, false) +
               exp(first) * direction(d->w, d->epsilon - first, true));
}

/* Every division of epsilon is valid; with a grid and one record removal takes ln(1/(1-p)). */
static void divide(fre_levels_account *io, records *w)
{
    const double least = w->grid && w->cells == 1
                             ? fre_joint_epsilon_floor(w->grid->p32, FRE_ADJACENCY_ADD_REMOVE, 1)
                             : 0;
    division d = {w, io->epsilon};
    fre_bracket b;
    double first;

    if (least >= io->epsilon) {
        io->addition = 1;
        return;
    }
    w->near = w->grid && w->cells > 1; /* far members are dear to certify */
    b = fre_privacy_narrow(log_cost, &d, 0, io->epsilon - least, 1e-3 * io->epsilon);
    first = b.at_a < b.at_b ? b.a : b.b;
    w->near = false;
    io->addition = direction(w, first, false);
    io->removal = exp(first) * direction(w, io->epsilon - first, true);
}

/* ---- all ----------------------------------------------------------------------------------- */

/* One level of noisy counts is one Gaussian mechanism, and two records in one of its cells move only its sum. */
static bool one_gaussian(fre_levels_account *io, const fre_levels *m, uint32_t cells)
{
    const double m0 = 1 / m->level[0].count_sigma, m1 = m->level[0].shift / m->level[0].sigma;

    if (m->grid || m->n != 1 || m->level[0].counts != FRE_COUNTS_NOISY ||
        m->adjacency != FRE_ADJACENCY_REPLACE)
        return false;
    io->addition = fre_gauss_delta(io->epsilon, sqrt(cells * fmax(2 * (m0 * m0 + m1 * m1), 4 * m1 * m1)));
    return true;
}

static fre_status grid_alone(fre_levels_account *io, const fre_levels *m, const fre_mechanism *grid,
                             fre_err *err)
{
    fre_mechanism alone = *grid;
    fre_account a;
    fre_status st;

    alone.adjacency = m->adjacency;
    st = fre_joint_delta(&a, &alone, io->epsilon, err);
    if (st == FRE_OK) {
        io->addition = a.delta;
        io->split = a.split;
    }
    return st;
}

static fre_status begin(records *w, const fre_levels *m, double epsilon, fre_err *err)
{
    double least;
    const fre_level_range range = {
        .hi = greatest_loss(&least, m, w->cells, w->grid != NULL, epsilon),
        .reach = w->grid ? fre_joint_epsilon_floor(w->grid->p32, FRE_ADJACENCY_ADD_REMOVE, 1) : 0};
    fre_status st = fre_levels_fold(&w->next, m, &range, err);

    if (st != FRE_OK || w->cells == 1)
        return st;
    if (!w->grid)
        return fre_levels_product(w->losses, NULL, &w->next, w->cells, epsilon, least,
                                  FRE_PLD_FINE, err);
    w->memory->behind = &w->next;
    w->memory->reach = epsilon;
    w->split = 2 * w->grid->norm_bound; /* worst case: there is nobody farther */
    return w->grid->sensitivity == FRE_SENSITIVITY_WORST_CASE
               ? FRE_OK
               : fre_compose_split(&w->split, w->grid, epsilon, err);
}

static fre_status account(fre_levels_account *io, records *w, const fre_levels *m, fre_err *err)
{
    fre_status st = begin(w, m, io->epsilon, err);

    if (st != FRE_OK)
        return st;
    if (m->adjacency == FRE_ADJACENCY_REPLACE)
        divide(io, w);
    else {
        io->addition = direction(w, io->epsilon, false);
        io->removal = direction(w, io->epsilon, true);
    }
    io->split = w->grid ? w->split : 0;
    return w->st;
}

fre_status fre_levels_of_records(fre_levels_account *io, const fre_levels *m,
                                 const fre_mechanism *grid, fre_err *err)
{
    const uint32_t cells = m->cells_per_user > 1 ? m->cells_per_user : 1;
    fre_compose_memory *memory;
    records *w;
    fre_status st;

    if (m->n == 0)
        return grid_alone(io, m, grid, err);
    if (one_gaussian(io, m, cells))
        return FRE_OK;
    memory = calloc(1, sizeof *memory);
    w = calloc(1, sizeof *w);
    if (!memory || !w) {
        st = fre_fail(err, FRE_E_NOMEM, "out of memory");
        goto out;
    }
    *w = (records){.grid = grid, .cells = cells, .memory = memory, .err = err};
    st = account(io, w, m, err);
    fre_compose_forget(memory);
    fre_pld_wipe(&w->losses[0]);
    fre_pld_wipe(&w->losses[1]);
out:
    free(memory);
    free(w);
    return st;
}
