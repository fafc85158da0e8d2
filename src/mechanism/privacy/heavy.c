/* Released cells: heavy(n) = sum_{c=tau}^{n+1} a_{c-1} G(eps - ln(a_{c-1}/a_c), mu) with
 * a_j = Pr[Bin(n, p) = j], and its supremum over n (docs/privacy.md, "Released counts").  Counts
 * are doubles: integers below 2^53. */
#include "heavy.h"

#include <fre/privacy.h>

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "privacy_private.h"

#define SUM_TOLERANCE 1e-12
#define INTERVALS_MAX 128u /* depth first: two for each halving of less than 2^53 */
#define EVALUATIONS_MAX 20000u

void fre_heavy_init(fre_heavy *h, double eps, double p, double tau, double mu)
{
    h->eps = eps;
    h->p = p;
    h->q = 1 - p; /* exact: p is a multiple of 2^-32 */
    h->log_odds = log(p) - log1p(-p);
    h->factor = exp(eps) * p / h->q;
    h->tau = tau < FRE_HEAVY_TAU_MAX ? tau : FRE_HEAVY_TAU_MAX;
    h->mu = mu;
    h->curve = NULL;
    h->rho = 0;
    h->later = NULL;
    h->later_ctx = NULL;
    h->tolerance = SUM_TOLERANCE;
    /* One n more or less matters less the larger tau is, and costs more. */
    h->slack = h->tau <= 300 ? 1e-4 : h->tau <= 3000 ? 1e-3 : 1e-2;
}

/* By zCDP in the better of both directions: for eps < 0, H_t(Q||P) = 1 - t + t H_{1/t}(P||Q), t = e^eps. */
static double either_way(double rho, double eps, double *beta)
{
    double d = exp(fmin(0, fre_privacy_log_zcdp(rho, eps, beta))), other = 0;

    return eps < 0 ? fmin(d, -expm1(eps) + exp(eps + fre_privacy_log_zcdp(rho, -eps, &other))) : d;
}

/* G(eps - ln(a_{c-1}/a_c), mu); grows with c, 1 at c = n + 1 where a_c = 0. */
static double shifted_delta(const fre_heavy *h, double n, double c, double *beta)
{
    double eps, odds = (n - c + 1) / c;

    if (c > n + 0.5)
        return 1;
    eps = h->eps + h->log_odds + log(odds);
    if (h->rho > 0)
        return either_way(h->rho, eps, beta);
    if (h->curve)
        return fre_curve_at(h->curve, eps);
    if (h->mu < 1e-100 || !(h->mu < 1e100)) /* in between nothing overflows */
        return fre_gauss_delta(eps, h->mu);
    return fre_privacy_gauss(eps, h->factor * odds, h->mu);
}

/* G along c, c+1, ... or c, c-1, ...: exact at every stride-th term, geometric in between.  With
 * stride 1 every term is exact. */
typedef struct walk {
    const fre_heavy *h;
    double n, direction, stride;
    double g, ahead, factor;
    double left; /* terms until `ahead` */
    double beta; /* of the last zCDP conversion */
} walk;

static double walk_delta(walk *w, double c)
{
    double node = c + w->direction * w->stride, g;

    if (w->left < 0.5) {
        g = w->left < 0 ? shifted_delta(w->h, w->n, c, &w->beta) : w->ahead;
        w->left = -1;
        if (w->stride < 1.5 || node > w->n || node < 1)
            return shifted_delta(w->h, w->n, c, &w->beta);
        w->g = g;
        w->ahead = shifted_delta(w->h, w->n, node, &w->beta);
        w->factor = g > 0 ? exp(log((w->ahead + FRE_PRIVACY_TINY) / g) / w->stride) : 1;
        w->left = w->stride;
    }
    g = w->g;
    w->g *= w->factor;
    w->left -= 1;
    return g;
}

/* Terms c, c+1, ... up to n+1; mass = a_{c-1}.  What is left after c is at most the mass above,
 * a geometric series once past the mode. */
static double sum_up(const fre_heavy *h, double n, double c, double mass, double stride)
{
    walk w = {.h = h, .n = n, .direction = 1, .stride = stride, .left = -1};
    double sum = 0;

    for (;;) {
        double ratio, left;

        sum += mass * walk_delta(&w, c);
        if (c > n + 0.5)
            return sum;
        mass *= (n - c + 1) * h->p / (c * h->q);
        ratio = (n - c) * h->p / ((c + 1) * h->q);
        left = ratio < 1 ? mass / (1 - ratio) : HUGE_VAL;
        if (left <= h->tolerance * sum + FRE_PRIVACY_TINY)
            return sum + left;
        c += 1;
    }
}

/* Terms c, c-1, ... down to tau; G grows with c, so what is left is at most G at c times the
 * mass below, a geometric series. */
static double sum_down(const fre_heavy *h, double n, double c, double mass, double above,
                       double stride)
{
    walk w = {.h = h, .n = n, .direction = -1, .stride = stride, .left = -1};
    double sum = 0;

    while (c > h->tau - 0.5) {
        double g = walk_delta(&w, c);
        double ratio = (c - 1) * h->q / ((n - c + 2) * h->p);
        double left = ratio < 1 ? g * mass / (1 - ratio) : HUGE_VAL;

        if (left <= h->tolerance * (sum + above) + FRE_PRIVACY_TINY)
            return sum + left;
        sum += g * mass;
        mass *= ratio;
        c -= 1;
    }
    return sum;
}

static double heavy_by_stride(const fre_heavy *h, double n, double stride)
{
    double c, mass, up;

    if (n < h->tau - 1.5)
        return 0;
    c = floor((n + 1) * h->p) + 1; /* a_{c-1} is the largest mass */
    if (c < h->tau)
        c = h->tau;
    if (c > n + 1)
        c = n + 1;
    mass = exp(fre_privacy_log_binomial(n, c - 1, h->p));
    up = sum_up(h, n, c, mass, stride);
    if (c > h->tau + 0.5) {
        double below = mass * (c - 1) * h->q / ((n - c + 2) * h->p);

        up += sum_down(h, n, c - 1, below, up, stride);
    }
    return up;
}

double fre_heavy_at(const fre_heavy *h, double n)
{
    return heavy_by_stride(h, n, 1);
}

/* For searches: eight nodes a standard deviation of the count. */
static double estimate(const fre_heavy *h, double n)
{
    return heavy_by_stride(h, n, floor(sqrt(n * h->p * h->q) / 8));
}

/* ---- the supremum ------------------------------------------------------------------------- */

double fre_heavy_far_n(const fre_heavy *h)
{
    return ceil((h->tau + 8 * sqrt(h->tau) + 40) / h->p);
}

/* Climb from *best, whose value is top, by steps that shrink where neither side is higher. */
static double climb(const fre_heavy *h, double *best, double top, double step, double last)
{
    while (step >= 1) {
        double right = *best + step, left = *best - step;
        double v = right <= last ? estimate(h, right) : -1;

        if (v > top) {
            *best = right;
            top = v;
            continue;
        }
        v = left >= h->tau - 1 ? estimate(h, left) : -1;
        if (v > top) {
            *best = left;
            top = v;
            continue;
        }
        step = step > 1 ? ceil(step / 3) : 0;
    }
    return top;
}

/* heavy may have several peaks: one at n = tau - 1, where counts alone tell, others farther out.
 * The first is always looked at; the rest is climbed from the place remembered, or the best of a few. */
double fre_heavy_peak(const fre_heavy *h, double *n)
{
    double first = h->tau - 1, last = fre_heavy_far_n(h), best = last, top = -1, step, at_first;
    bool known = *n > first + 0.5 && *n <= last;
    int i, parts = known ? 1 : 8;

    step = ceil((last - first) / (2 * parts));
    for (i = 1; i <= parts; i++) {
        double at = ceil(first + (last - first) * (i * i) / (parts * parts));
        double v = estimate(h, at);

        if (v > top) {
            top = v;
            best = at;
        }
    }
    if (known) {
        double v = estimate(h, *n);

        if (v >= top) {
            top = v;
            best = *n;
            step = ceil(0.25 * sqrt(h->tau) / h->p);
        }
    }
    top = climb(h, &best, top, step, last);
    at_first = estimate(h, first);
    *n = at_first > top ? first : best;
    return at_first > top ? at_first : top;
}

/* heavy(b) - heavy(a) <= sum_{n=a}^{b-1} p Pr[Bin(n,p) = tau-2] G(eps - ln(a_{tau-2}/a_{tau-1})),
 * because the view at n+1 mixes the view at n with one whose threshold is one lower.  G falls
 * with n, and Pr[Bin(n,p) = tau-2] is largest in n at floor((tau-2)/p). */
double fre_heavy_growth(const fre_heavy *h, double a, double b)
{
    double at = floor((h->tau - 2) / h->p), beta = 0;

    if (h->tau < 1.5)
        return 0;
    if (at < a)
        at = a;
    if (at > b - 1)
        at = b - 1;
    return (b - a) * h->p * exp(fre_privacy_log_binomial(at, h->tau - 2, h->p)) *
           shifted_delta(h, a, h->tau - 1, &beta);
}

/* The same for every n >= a: the sum of p Pr[Bin(n,p) = tau-2] is Pr[Bin(a,p) <= tau-2]. */
double fre_heavy_growth_for_ever(const fre_heavy *h, double a)
{
    double ratio = (h->tau - 2) * h->q / ((a - h->tau + 3) * h->p), beta = 0;

    if (h->tau < 1.5)
        return 0;
    if (ratio >= 1)
        return 1;
    return exp(fre_privacy_log_binomial(a, h->tau - 2, h->p)) / (1 - ratio) *
           shifted_delta(h, a, h->tau - 1, &beta);
}

#define PARTS 4

/* The same closer, still cheaper than a value of heavy. */
static double growth_by_parts(const fre_heavy *h, double a, double b)
{
    double sum = 0, from = a, to;
    int i;

    for (i = 1; i <= PARTS; i++, from = to) {
        to = i < PARTS ? floor(a + (b - a) * i / PARTS) : b;
        sum += fre_heavy_growth(h, from, to);
    }
    return sum;
}

typedef struct interval {
    double a, b; /* heavy is wanted on a..b */
    double at_a, at_b;
} interval;

typedef struct scan {
    const fre_heavy *h;
    double tolerance; /* relative excess of the bound that is accepted */
    double top, best; /* largest value seen, and where */
    double bound;     /* of everything that is settled */
    unsigned evaluations;
    size_t depth;
    interval stack[INTERVALS_MAX];
} scan;

/* As `later` never grows, what bounds the growth of heavy bounds that of the sum. */
static double value_at(const fre_heavy *h, double n)
{
    return fre_heavy_at(h, n) + (h->later ? h->later(h->later_ctx, n) : 0);
}

static double look(scan *s, double n)
{
    double v = value_at(s->h, n);

    s->evaluations++;
    if (v > s->top) {
        s->top = v;
        s->best = n;
    }
    return v;
}

static void settle(scan *s, double bound)
{
    if (bound > s->bound)
        s->bound = bound;
}

/* Bisect intervals until each is a single step or can't exceed the largest value seen. */
static void branch_and_bound(scan *s)
{
    while (s->depth > 0) {
        interval i = s->stack[--s->depth];
        double bound = i.at_a + fre_heavy_growth(s->h, i.a, i.b);
        double mid = floor((i.a + i.b) / 2), at_mid;

        if (i.b - i.a < 1.5) {
            settle(s, i.at_a > i.at_b ? i.at_a : i.at_b);
            continue;
        }
        if (bound > s->top * (1 + s->tolerance) && i.b - i.a >= PARTS)
            bound = i.at_a + growth_by_parts(s->h, i.a, i.b);
        if (bound <= s->top * (1 + s->tolerance) || s->depth + 2 > INTERVALS_MAX ||
            s->evaluations > EVALUATIONS_MAX) {
            settle(s, bound > i.at_b ? bound : i.at_b);
            continue;
        }
        at_mid = look(s, mid);
        s->stack[s->depth++] = (interval){mid, i.b, at_mid, i.at_b};
        s->stack[s->depth++] = (interval){i.a, mid, i.at_a, at_mid};
    }
}

/* A value to beat: from the last place, by steps as long as they lead up; or by the search for
 * a peak where there is none. */
static void begin(scan *s, double n, double last)
{
    const double first = s->h->tau - 1, step = ceil(0.1 * sqrt(s->h->tau) / s->h->p);
    int side;

    s->best = n;
    if (!(n >= first && n <= last))
        (void)fre_heavy_peak(s->h, &s->best);
    s->top = value_at(s->h, s->best);
    for (side = -1; side <= 1; side += 2) {
        double at = s->best + side * step;

        while (at >= first && at <= last && look(s, at) >= s->top)
            at += side * step;
    }
}

double fre_heavy_supremum(const fre_heavy *h, double *n)
{
    scan s = {.h = h, .best = -1};
    double first = h->tau - 1, last = fre_heavy_far_n(h), at_last, at_first, tail;
    int i;

    s.tolerance = h->slack;
    begin(&s, *n, last);
    at_first = look(&s, first);
    at_last = look(&s, last);
    for (i = 0; i < 60; i++) {
        tail = fre_heavy_growth_for_ever(h, last);
        if (tail <= 0.1 * s.tolerance * s.top + FRE_PRIVACY_TINY)
            break;
        last = ceil(last * 1.25);
        at_last = look(&s, last);
    }
    settle(&s, at_last + fre_heavy_growth_for_ever(h, last));
    s.stack[s.depth++] = (interval){first, last, at_first, at_last};
    branch_and_bound(&s);
    *n = s.best;
    return s.bound > s.top ? s.bound : s.top;
}
