/* Semantic support protection: how likely a released centroid lies close to a rare text.
 *
 * Of a cell's h sampled members let at most m lie within r of x*, the others farther than r and
 * pairwise within r.  With v_i = x_i - x*, two far members have v_i . v_j =
 * (|v_i|^2 + |v_j|^2 - |v_i - v_j|^2)/2 >= r^2/2 (each |v| exceeds r, their distance doesn't), so
 * the sum of f far ones has length at least r sqrt(f(f+1)/2); near ones take off r each.  Hence
 * h |mean - x*| >= r (sqrt((h-m)(h-m+1)/2) - m).  The noise on the sum is isotropic, so only this
 * length matters: (h/sigma)^2 |centroid - x*|^2 is noncentral chi-square with d degrees of freedom
 * and the square of the length over sigma^2, whose distribution function falls with it. */
#include <fre/privacy.h>

#include <float.h>
#include <math.h>

#include "privacy_private.h"

typedef enum argument {
    BY_SUM,  /* the above */
    BY_ANGLE /* [Fre-E2T, app. SSP]: component along one far member, (h - m) r/2 - m r */
} argument;

typedef struct problem {
    const fre_ssp_query *q;
    argument how;
    double cells, h;
} problem;

/* Least length of h (mean - x*), in units of r; negative: the argument says nothing. */
static double reach(const problem *p, double m)
{
    if (p->how == BY_ANGLE)
        return (p->h - 3 * m) / 2;
    return sqrt((p->h - m) * (p->h - m + 1) / 2) - m;
}

static double noise_part(const problem *p, double m)
{
    double unit = p->q->radius / p->q->sigma, length = reach(p, m) * unit;
    double ball = p->q->psi * p->h * unit, up = 8 * DBL_EPSILON; /* over the products' rounding */

    return fre_noncentral_chi2(ball * ball * (1 + up), p->q->dim, length * length * (1 - up));
}

/* Pr[Bin(n, p) > m]; the terms beyond the last are a geometric series. */
static double binomial_above(double n, double p, double m)
{
    double j = m + 1, mass, sum = 0;
    bool upper = j > n * p;

    if (m >= n)
        return 0;
    if (p >= 1)
        return 1;
    if (!upper)
        j = m; /* 1 - Pr[Bin <= m], which is at most about a half */
    mass = exp(fre_privacy_log_binomial(n, j, p));
    for (;;) {
        double ratio = upper ? (n - j) * p / ((j + 1) * (1 - p)) : j * (1 - p) / ((n - j + 1) * p);
        double left = mass * ratio / (1 - ratio);

        sum += mass;
        if (!(ratio < 1) || left > 1e-12 * sum) {
            mass *= ratio;
            j += upper ? 1 : -1;
            continue;
        }
        /* From below, what is left over is not subtracted. */
        return fre_privacy_round_up(upper ? sum + left : 1 - sum * (1 - FRE_PRIVACY_MARGIN));
    }
}

static double sampling_part(const problem *p, double m)
{
    return binomial_above((double)p->q->neighbours, p->q->sampling_rate, m);
}

static double total(const problem *p, double m)
{
    return sampling_part(p, m) + p->cells * noise_part(p, m);
}

/* Greatest m that is of use: all neighbours, or the last for which the length is positive. */
static double last_m(const problem *p)
{
    double lo = 0, hi = fmin((double)p->q->neighbours, p->h);

    if (reach(p, hi) > 0)
        return hi;
    while (hi - lo > 1.5) {
        double mid = floor((lo + hi) / 2);

        if (reach(p, mid) > 0)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* The first part falls with m and the second grows, so the best m lies about where they cross;
 * every m gives a bound. */
static double best_m(const problem *p)
{
    double last = last_m(p), lo = 0, hi = last, step, best, least;

    while (hi - lo > 0.5) {
        double mid = floor((lo + hi) / 2);

        if (sampling_part(p, mid) > p->cells * noise_part(p, mid))
            lo = mid + 1;
        else
            hi = mid;
    }
    best = hi;
    least = total(p, best);
    for (step = ceil((best + 8) / 8); step >= 1; step = step > 1 ? ceil(step / 3) : 0) {
        int side;

        for (side = -1; side <= 1; side += 2) {
            double at = fmin(fmax(best + side * step, 0), last);

            while (fabs(at - best) > 0.5 && total(p, at) < least) {
                least = total(p, at);
                best = at;
                at = fmin(fmax(best + side * step, 0), last);
            }
        }
    }
    return best;
}

/* ---- the theorem as printed --------------------------------------------------------------- */

/* [Fre-E2T, thm. SSP]: C(h,2) f(sqrt(k) L/r)^k + exp(-.38 p t) + F at noncentrality Lambda. */
static void printed(fre_ssp_bound *out, const fre_ssp_query *q)
{
    double h = (double)q->count, tau = (double)q->tau;
    double hits = q->sampling_rate * (double)q->neighbours;
    double lambda = (tau - 6 * hits) / (2 * tau) * q->radius;
    double ball = q->psi * q->radius * h / q->sigma, sum;

    out->paper_vacuous = lambda < 0;
    if (lambda < 0) {
        out->paper = 1;
        return;
    }
    sum = h * (h - 1) / 2 * fre_collision(&q->grid, q->radius);
    sum += exp(-0.38 * hits) + fre_noncentral_chi2(ball * ball, q->dim, lambda);
    out->paper = fre_privacy_round_up(sum);
}

/* ---- checks ------------------------------------------------------------------------------- */

static fre_status check_query(const fre_ssp_query *q, fre_err *err)
{
    const fre_param_value fields[] = {
        {&fre_param_sampling_rate, q->sampling_rate},
        {&fre_param_radius, q->radius},
        {&fre_ssp_param_psi, q->psi},
        {&fre_param_sigma, q->sigma},
        {&fre_param_dimension, q->dim},
        {&fre_ssp_param_neighbours, (double)q->neighbours},
        {&fre_ssp_param_tau, (double)q->tau},
        {&fre_ssp_param_count, (double)q->count},
        {&fre_param_projection_dim, q->grid.proj},
        {&fre_param_cell_edge, q->grid.cell_edge},
        {&fre_param_population, (double)q->population},
        {&fre_ssp_param_cells, (double)q->cells},
    };
    fre_status st = fre_param_check_all(fields, sizeof fields / sizeof fields[0], err);

    if (st == FRE_OK && q->count < q->tau)
        st = fre_fail(err, FRE_E_USAGE, "{count} must be at least the threshold, %llu",
                      (unsigned long long)q->tau);
    return st;
}

fre_status fre_ssp(fre_ssp_bound *out, const fre_ssp_query *q, fre_err *err)
{
    fre_status st = check_query(q, err);
    problem p = {.q = q, .how = BY_SUM, .cells = 1};
    fre_ssp_bound b;
    double m, n, log_pairs;

    if (st != FRE_OK)
        return st;
    p.h = (double)q->count;
    m = best_m(&p);
    b.m = (uint64_t)m;
    b.sampling = sampling_part(&p, m);
    b.noise = noise_part(&p, m);
    b.cell = fmin(1, b.sampling + b.noise);

    /* Expected number of sampled pairs of one cell that are farther than r apart. */
    n = (double)q->population;
    log_pairs = log(n * (n - 1) / 2) + 2 * log(q->sampling_rate) +
                fre_privacy_log_collision(&q->grid, q->radius);
    b.pairs = log_pairs < 0 ? fre_privacy_round_up(exp(log_pairs)) : 1;
    p.cells = (double)q->cells;
    b.release = fmin(1, total(&p, best_m(&p)) + b.pairs);

    p.cells = 1;
    p.how = BY_ANGLE;
    b.repaired = fmin(1, total(&p, best_m(&p)));
    printed(&b, q);
    *out = b;
    return FRE_OK;
}
