/* Composition over a user's cells (docs/privacy.md, "Several records a user").
 *
 * The hockey stick of one cell, as a function of t = e^epsilon, is convex and below some curve
 * h(t) whatever the cell's size.  So is the polygon through values of h at nodes t_i, and a
 * polygon is the hockey stick of a discrete pair of laws: the second has the change of slope at
 * t_i as its mass there, the first t_i times that, and what is left beyond the last node at
 * infinity (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022).  If a pair's hockey stick is
 * above that of a cell for every t >= 0, then the product of such pairs is above the product of
 * cells (Zhu, Dong, Wang 2022).  Nodes lie on a grid of losses ln t, so that products are
 * convolutions; every number is positive. */
#include "pld.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "heavy.h"
#include "privacy_private.h"

#define NODES_MAX 8192u
#define COARSE_SLACK 1e-2 /* of suprema over n */
#define FINE_SLACK 1e-3
#define STEPS 4000.0 /* of losses up to there, at most */

/* ---- the curve of one cell ---------------------------------------------------------------- */

typedef struct curve {
    const fre_pld_cell *cell;
    double at_one; /* sup heavy at amplified epsilon 0 */
    double n;      /* worst cell of the last node */
    double least;  /* a value that is not worth following further */
    fre_pld_grade grade;
} curve;

static double heavy(curve *c, double eps)
{
    fre_heavy h;

    fre_heavy_init(&h, eps, c->cell->p, c->cell->tau, c->cell->mu);
    h.slack = fmax(h.slack, fre_pld_slack(c->grade));
    h.tolerance = 0.01 * h.slack;
    if (c->grade != FRE_PLD_ESTIMATE)
        return fre_heavy_supremum(&h, &c->n);
    h.tolerance = FRE_HEAVY_ESTIMATE;
    return fre_heavy_peak(&h, &c->n);
}

/* h at t = e^loss, loss >= 0: p H_g(Q||P) with g = 1 + (t-1)/p, or (1-p)(t-1)/p where a record is
 * replaced; H_g <= 1 - g + g H_1 for g <= 1. */
static double curve_at(curve *c, double loss)
{
    double p = c->cell->p, odds = expm1(loss) / p;

    if (c->cell->adjacency == FRE_ADJACENCY_ADD_REMOVE)
        return p * heavy(c, log1p(odds));
    odds *= (1 - p) * (1 - 8 * DBL_EPSILON);
    if (odds <= 1)
        return p * (1 - odds + odds * c->at_one);
    return p * heavy(c, log(odds));
}

/* ---- one cell's distribution -------------------------------------------------------------- */

double fre_pld_slack(fre_pld_grade grade)
{
    return grade == FRE_PLD_COARSE ? COARSE_SLACK : FINE_SLACK;
}

ptrdiff_t fre_pld_dense(fre_pld_grade grade)
{
    return grade == FRE_PLD_FINE ? 112 : grade == FRE_PLD_COARSE ? 32 : 16;
}

/* Rounding one loss by steps moves its variance by step^2/6, so the more cells the finer. */
double fre_pld_step(fre_pld_grade grade, uint32_t cells, double reach, double least)
{
    double fine = (grade == FRE_PLD_FINE     ? 0.016
                   : grade == FRE_PLD_COARSE ? 0.04
                                             : 0.06) /
                  sqrt((double)cells);
    double coarse = fmax(fine, (reach + FRE_PLD_PAST) / STEPS);

    return least < coarse / 2 ? coarse : least / ceil(least / coarse);
}

/* ln(1-p) is where the curve of adding a record bends. */
static double step_for(const curve *c, uint32_t cells, double reach)
{
    const bool bends = c->cell->adjacency == FRE_ADJACENCY_ADD_REMOVE;

    return fre_pld_step(c->grade, cells, reach, bends ? -log1p(-c->cell->p) : 0);
}

/* Room for rounding in slopes and masses, which are accurate to 1e-11 or so of the values. */
static double up(double value)
{
    return value * (1 + FRE_PRIVACY_MARGIN) + FRE_PRIVACY_TINY;
}

/* Up to 1 - p the curve is 1 - t, and from there to t = 1 below its chord.  Replaced records: the
 * chord from t = 0 to the total variation at t = 1, so that no loss is negative.  From t = 1 on
 * nodes become sparser with the loss, and end where the curve is too small to matter. */
static size_t draw(fre_pld_node *at, curve *c, double step, double reach, uint32_t cells)
{
    double at_reach = 0, value = 1;
    ptrdiff_t k, dense = fre_pld_dense(c->grade);
    size_t n = 0;

    c->at_one = heavy(c, 0);
    if (c->cell->adjacency == FRE_ADJACENCY_ADD_REMOVE) {
        k = (ptrdiff_t)ceil(-log1p(-c->cell->p) / step * (1 - 1e-12));
        at[n++] = (fre_pld_node){-k, -expm1(-(double)k * step)};
    }
    for (k = 0; n < NODES_MAX; k += 1 + k / dense) {
        double loss = (double)k * step;

        value = curve_at(c, loss);
        at[n++] = (fre_pld_node){k, value};
        if (loss <= reach)
            at_reach = value;
        else if (value <= 1e-4 * at_reach / cells || loss > reach + FRE_PLD_PAST)
            break;
        if (value <= c->least)
            break;
    }
    return n;
}

/* ---- the pair above a polygon ------------------------------------------------------------- */

typedef struct vertex {
    ptrdiff_t k; /* loss = k step */
    double t, value;
} vertex;

typedef struct polygon {
    vertex *at;
    size_t n;
} polygon;

/* Keep the lower convex hull: drop the last vertex while it lies above the chord past it.  The
 * hockey stick itself is convex and below every node, hence below the hull. */
static void push(polygon *g, ptrdiff_t k, double t, double value)
{
    if (g->n > 0 && value > g->at[g->n - 1].value)
        value = g->at[g->n - 1].value; /* it never grows */
    while (g->n > 1) {
        vertex a = g->at[g->n - 2], b = g->at[g->n - 1];

        if ((b.value - a.value) * (t - a.t) < (value - a.value) * (b.t - a.t))
            break;
        g->n--;
    }
    g->at[g->n++] = (vertex){k, t, value};
}

static void masses(fre_pld *d, const polygon *g)
{
    double before = 0;
    size_t i;

    for (i = 0; i < g->n; i++) {
        vertex a = g->at[i];
        double slope = 0;

        if (i + 1 < g->n)
            slope = (g->at[i + 1].value - a.value) / (g->at[i + 1].t - a.t);
        if (i > 0)
            d->mass[a.k - d->lo] += a.t * (slope - before);
        before = slope;
    }
    d->infinite = g->at[g->n - 1].value;
}

static fre_status no_memory(fre_err *err)
{
    return fre_fail(err, FRE_E_NOMEM, "out of memory for the losses of {max_cells_per_user}");
}

static fre_status one_cell(fre_pld *out, const fre_pld_node *node, size_t n, double step,
                           fre_err *err)
{
    fre_pld d = {.step = step, .cells = 1};
    polygon g = {.at = malloc((n + 1) * sizeof *g.at), .n = 0};
    fre_status st = FRE_OK;

    if (!g.at)
        return no_memory(err);
    push(&g, 0, 0, 1);
    for (size_t i = 0; i < n; i++)
        push(&g, node[i].k, exp((double)node[i].k * step), up(node[i].value));
    d.lo = g.at[1].k;
    d.n = (size_t)(g.at[g.n - 1].k - d.lo) + 1;
    d.mass = calloc(d.n, sizeof *d.mass);
    if (!d.mass)
        st = no_memory(err);
    else
        masses(&d, &g);
    free(g.at);
    if (st == FRE_OK)
        *out = d;
    return st;
}

/* ---- products ----------------------------------------------------------------------------- */

static double total(const fre_pld *d)
{
    double sum = d->infinite;
    size_t i;

    for (i = 0; i < d->n; i++)
        sum += d->mass[i];
    return sum;
}

/* The largest losses become infinite as long as hardly anything is lost by it, so that powers of a
 * cell are no longer than they need be. */
static void trim(fre_pld *d, double least)
{
    double rest = 0;

    while (d->n > 1 && rest + d->mass[d->n - 1] <= least)
        rest += d->mass[--d->n];
    d->infinite += rest;
}

/* The least losses become somewhat larger, likewise. */
static void raise_least(fre_pld *d, double least)
{
    double rest = 0;
    size_t cut = 0;

    while (cut + 1 < d->n && rest + d->mass[cut] <= least)
        rest += d->mass[cut++];
    d->mass[cut] += rest;
    memmove(d->mass, d->mass + cut, (d->n - cut) * sizeof *d->mass);
    d->n -= cut;
    d->lo += (ptrdiff_t)cut;
}

/* Which losses may still lead to one near `reach`. */
typedef struct window {
    uint32_t cells;  /* in all */
    ptrdiff_t lo;    /* least loss of one cell, <= 0 */
    ptrdiff_t reach; /* of all cells together */
    double least;
} window;

/* out = a * b; losses too large to come down become infinite, as do masses so small that products
 * would underflow. */
static fre_status convolve(fre_pld *out, const fre_pld *a, const fre_pld *b, const window *w,
                           fre_err *err)
{
    fre_pld d = {.step = a->step, .lo = a->lo + b->lo, .cells = a->cells + b->cells};
    double all_a = total(a), all_b = total(b);
    ptrdiff_t last = w->reach - (ptrdiff_t)(w->cells - d.cells) * w->lo;
    size_t i, j, room = last > d.lo ? (size_t)(last - d.lo) + 1 : 1;

    d.n = a->n + b->n - 1 < room ? a->n + b->n - 1 : room;
    d.mass = calloc(d.n, sizeof *d.mass);
    if (!d.mass)
        return no_memory(err);
    d.infinite = a->infinite * all_b + (all_a - a->infinite) * b->infinite;
    for (i = 0; i < a->n; i++) {
        double m = a->mass[i];
        size_t end = i >= d.n ? 0 : d.n - i < b->n ? d.n - i : b->n;

        if (m < FRE_PRIVACY_TINY) {
            d.infinite += m * all_b;
            continue;
        }
        for (j = 0; j < end; j++)
            d.mass[i + j] += m * b->mass[j];
        for (; j < b->n; j++)
            d.infinite += m * b->mass[j];
    }
    trim(&d, w->least);
    raise_least(&d, w->least);
    *out = d;
    return FRE_OK;
}

/* *a = *a * *b; b may be a itself. */
static fre_status multiply(fre_pld *a, const fre_pld *b, const window *w, fre_err *err)
{
    fre_pld d;
    fre_status st = convolve(&d, a, b, w, err);

    if (st == FRE_OK) {
        fre_pld_wipe(a);
        *a = d;
    }
    return st;
}

fre_status fre_pld_product(fre_pld *out, const fre_pld_node *node, size_t n, double step,
                           uint32_t cells, double reach, double least, fre_err *err)
{
    fre_pld power, product;
    fre_status st = one_cell(&power, node, n, step, err);
    window w;
    uint32_t left;

    if (st != FRE_OK)
        return st;
    product = (fre_pld){.step = power.step, .n = 1, .mass = calloc(1, sizeof *product.mass)};
    if (!product.mass)
        st = no_memory(err);
    else
        product.mass[0] = 1;
    w = (window){cells, power.lo, (ptrdiff_t)ceil((reach + FRE_PLD_PAST) / power.step), least};
    for (left = cells; st == FRE_OK && left > 0; left /= 2) { /* square and multiply */
        if (left % 2 == 1)
            st = multiply(&product, &power, &w, err);
        if (st == FRE_OK && left > 1)
            st = multiply(&power, &power, &w, err);
    }
    fre_pld_wipe(&power);
    if (st == FRE_OK)
        *out = product;
    else
        fre_pld_wipe(&product);
    return st;
}

fre_status fre_pld_compose(fre_pld *out, const fre_pld_cell *cell, uint32_t cells, double reach,
                           double least, fre_pld_grade grade, fre_err *err)
{
    curve c = {.cell = cell, .n = -1, .least = least, .grade = grade};
    fre_pld_node *node = malloc(NODES_MAX * sizeof *node);
    const double step = step_for(&c, cells, reach);
    fre_status st;
    size_t n;

    if (!node)
        return no_memory(err);
    n = draw(node, &c, step, reach, cells);
    st = fre_pld_product(out, node, n, step, cells, reach, least, err);
    free(node);
    return st;
}

/* Each product adds some n 2^-53 to the masses' relative errors, n < 10^5, and squaring doubles
 * what there was: cells times that in all. */
double fre_pld_delta(const fre_pld *d, double epsilon)
{
    double sum = d->infinite;
    size_t i;

    for (i = d->n; i > 0; i--) {
        double loss = (double)(d->lo + (ptrdiff_t)i - 1) * d->step;

        if (loss <= epsilon)
            break;
        sum += d->mass[i - 1] * -expm1(epsilon - loss);
    }
    sum = sum * (1 + d->cells * FRE_PRIVACY_MARGIN) + FRE_PRIVACY_TINY;
    return sum < 1 ? sum : 1;
}

void fre_pld_wipe(fre_pld *d)
{
    free(d->mass);
    d->mass = NULL;
    d->n = 0;
}
