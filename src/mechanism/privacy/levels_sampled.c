/* A level of sampled, exact counts (docs/privacy.md, "Release by levels"): u(n) = Pr[Bin(n,p) < tau],
 * u'(n) = Pr[Bin(n+1,p) < tau],
 *   D(eps) = sup_n [ p heavy(n; ê) + u' Dnext(eps + ln(u/u')) ],  e^ê = 1 + (e^eps - 1)/p,
 *   R(eps) = sup_n [ rem(n; eps) + u Rnext(eps - ln(u/u')) ],
 *   rem(n; eps) = sum_{c=tau}^n w a_c G(eps + ln(c q / ((n-c+1) w)), mu),  w = 1 - e^eps q,
 * 0 where w <= 0.  a_c = Pr[Bin(n,p) = c]. */
#include "levels.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "privacy_private.h"

#define EPS_NODES 481u
#define WIDE_NODES 801u /* where a whole curve is wanted */
#define TOLERANCE 3e-4
#define TAIL 1e-13

typedef struct sampled {
    const fre_heavy *cell; /* p, q, tau, mu */
    double eps;            /* where the curve is wanted */
    const fre_curve *next;
    double weight; /* rem: w */
} sampled;

/* Pr[Bin(n,p) < tau], its relative excess far below the rounding margin. */
static double unreleased(const sampled *s, double n)
{
    double c = s->cell->tau - 1, mass, sum = 0;

    if (n < s->cell->tau - 0.5)
        return 1;
    if (c > n * s->cell->p) { /* 1 minus the upper tail */
        mass = exp(fre_privacy_log_binomial(n, s->cell->tau, s->cell->p));
        for (c = s->cell->tau; c < n + 0.5 && mass > TAIL * 1e-3 * sum; c++) {
            sum += mass;
            mass *= (n - c) * s->cell->p / ((c + 1) * s->cell->q);
        }
        if (sum < 0.5)
            return 1 - sum;
        sum = 0;
        c = s->cell->tau - 1;
    }
    mass = exp(fre_privacy_log_binomial(n, c, s->cell->p));
    for (; c > -0.5 && mass > TAIL * 1e-3 * sum; c--) {
        sum += mass;
        mass *= c * s->cell->q / ((n - c + 1) * s->cell->p);
    }
    return fmin(1, sum * (1 + TAIL));
}

/* ln(u(n) / u'(n)), u' = u - p Pr[Bin(n,p) = tau-1]. */
static double ratio(const sampled *s, double n, double u)
{
    double less = n < s->cell->tau - 1.5
                      ? 0
                      : s->cell->p * exp(fre_privacy_log_binomial(n, s->cell->tau - 1, s->cell->p));

    return -log1p(-fmin(less / u, s->cell->p));
}

/* ---- adding a record ---------------------------------------------------------------------- */

static double later(void *ctx, double n)
{
    const sampled *s = ctx;
    double u = unreleased(s, n), r = ratio(s, n, u);

    return u * exp(-r) * fre_level_next(s->next, s->eps + r) / s->cell->p;
}

double fre_level_addition(const fre_heavy *cell, double far, const fre_curve *next, double eps)
{
    sampled s = {.cell = cell, .eps = eps, .next = next};
    fre_heavy h = *cell;
    double n = -1;

    h.later = later;
    h.later_ctx = &s;
    return fmax(fre_level_next(next, eps), cell->p * fre_heavy_supremum(&h, &n) + far);
}

/* ---- removing it -------------------------------------------------------------------------- */

/* G of rem's term c where n others share the cell. */
static double term(const sampled *s, double n, double c)
{
    return fre_gauss_delta(s->eps + log(c * s->cell->q / ((n - c + 1) * s->weight)), s->cell->mu);
}

/* G falls with c, so a tail is at most G at its start times its mass. */
static double rem_at(const sampled *s, double n)
{
    double c = fmax(s->cell->tau, floor((n + 1) * s->cell->p)), sum = 0, mass, g;
    double top = c;

    if (s->weight <= 0 || n < s->cell->tau - 0.5)
        return 0;
    if (c > n)
        c = top = n;
    mass = exp(fre_privacy_log_binomial(n, c, s->cell->p));
    for (; c < n + 0.5; c++) {
        double rise = (n - c) * s->cell->p / ((c + 1) * s->cell->q);

        g = term(s, n, c);
        sum += mass * g;
        mass *= rise;
        if (rise < 1 && mass * g / (1 - rise) <= TAIL * sum + FRE_PRIVACY_TINY) {
            sum += mass * g / (1 - rise);
            break;
        }
    }
    mass = exp(fre_privacy_log_binomial(n, top, s->cell->p));
    for (c = top - 1; c > s->cell->tau - 0.5; c--) {
        mass *= (c + 1) * s->cell->q / ((n - c) * s->cell->p);
        sum += mass * term(s, n, c);
        if (mass * (c + 1) <= TAIL * sum + FRE_PRIVACY_TINY) {
            sum += mass * (c + 1);
            break;
        }
    }
    return s->weight * sum;
}

/* rem(n+1) <= rem(n) + p w Pr[Bin(n,p) = tau-1] G(term tau-1): the view at n+1 mixes that at n with
 * one whose threshold is one lower.  For n = a..b-1; b infinite: for ever. */
static double rem_growth(const sampled *s, double a, double b)
{
    double at, g;

    if (s->weight <= 0)
        return 0;
    if (isinf(b))
        return s->weight * unreleased(s, a);
    g = s->cell->tau > 1.5 && b - 1 > s->cell->tau - 1.5 ? term(s, b - 1, s->cell->tau - 1) : 1;
    at = fmin(fmax(floor((s->cell->tau - 1) / s->cell->p), a), b - 1);
    return (b - a) * s->cell->p * s->weight *
           exp(fre_privacy_log_binomial(at, s->cell->tau - 1, s->cell->p)) * g;
}

typedef struct piece {
    double a, b; /* removal is wanted on a..b */
} piece;

#define PIECES_MAX 128u

/* sup_n by bisection: on a..b rem is at most rem(a) and its growth, u at most u(a), and Rnext at most
 * where ln(u/u') is largest, at b. */
double fre_level_removal(const fre_heavy *cell, const fre_curve *next, double eps)
{
    const sampled of = {
        .cell = cell, .eps = eps, .next = next, .weight = -expm1(eps + log1p(-cell->p))};
    const sampled *s = &of;
    double top = fre_level_next(s->next, s->eps), bound = top; /* n < tau - 1: never released */
    double last = fre_heavy_far_n(cell);
    piece stack[PIECES_MAX] = {{cell->tau - 1, last}};
    size_t depth = 1;

    bound =
        fmax(bound, rem_at(s, last) + rem_growth(s, last, HUGE_VAL) +
                        unreleased(s, last) * fre_level_next(s->next, s->eps + log(s->cell->q)));
    while (depth > 0) {
        piece i = stack[--depth];
        double u = unreleased(s, i.a), rem = rem_at(s, i.a), mid = floor((i.a + i.b) / 2), up;

        top = fmax(top, rem + u * fre_level_next(s->next, s->eps - ratio(s, i.a, u)));
        up = rem + rem_growth(s, i.a, i.b) +
             u * fre_level_next(s->next, s->eps - ratio(s, i.b, unreleased(s, i.b)));
        if (i.b - i.a < 0.5 || up <= top * (1 + fmax(TOLERANCE, cell->slack)) ||
            depth + 2 > PIECES_MAX) {
            bound = fmax(bound, i.b - i.a < 0.5 ? 0 : up);
            continue;
        }
        if (i.b - i.a < 1.5) {
            stack[depth++] = (piece){i.b, i.b};
            continue;
        }
        stack[depth++] = (piece){mid, i.b};
        stack[depth++] = (piece){i.a, mid};
    }
    return fmax(top, bound);
}

/* ---- both curves -------------------------------------------------------------------------- */

static void span(fre_curve *c, const fre_level_range *range, bool add)
{
    const double width = range->hi - range->lo + range->reach;

    c->n = width <= 0 ? 1 : range->hi > range->lo ? WIDE_NODES : EPS_NODES;
    c->step = c->n > 1 ? width / (double)(c->n - 1) : 1;
    c->lo = add ? range->lo : range->lo - range->reach;
}

void fre_level_sampled(fre_level_curves *out, const fre_level *l, const fre_level_curves *next,
                       const fre_level_range *range)
{
    double p = (double)l->p32 / (double)FRE_P_ONE, mu = l->shift / l->sigma;
    fre_heavy h = {0};
    size_t j;

    span(&out->add, range, true);
    span(&out->remove, range, false);
    for (j = 0; j < out->add.n; j++) {
        double eps = out->add.lo + out->add.step * (double)j;

        fre_heavy_init(&h, log1p(expm1(eps) / p), p, (double)l->tau, mu);
        h.slack = TOLERANCE;
        out->add.at[j] = fre_privacy_round_up(fre_level_addition(&h, 0, &next->add, eps));
    }
    for (j = 0; j < out->remove.n; j++) {
        double eps = out->remove.lo + out->remove.step * (double)j;

        out->remove.at[j] = fre_privacy_round_up(fre_level_removal(&h, &next->remove, eps));
    }
}
