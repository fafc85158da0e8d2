/* audit/bound.c - from scores to a lower bound on epsilon: a threshold chosen on one part of the
 * runs, Clopper-Pearson intervals (1934) on another. */
#include "audit_private.h"

#include <math.h>

/* ---- the incomplete beta function ------------------------------------------------------------ */

#define FRACTION_TERMS 1000000
#define FRACTION_TINY 1e-300

static double away_from_zero(double x)
{
    return fabs(x) < FRACTION_TINY ? FRACTION_TINY : x;
}

/* The continued fraction 1/(1 + d1/(1 + d2/(1 + ...))) of Abramowitz and Stegun 26.5.8, by Lentz's
 * method; converges fast for x < (a+1)/(a+b+2). */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), f = d;

    for (int i = 1; i < FRACTION_TERMS; i++) {
        const double m = i;
        double step, term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));

        d = 1 / away_from_zero(1 + term * d);
        c = away_from_zero(1 + term / c);
        f *= d * c;
        term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / away_from_zero(1 + term * d);
        c = away_from_zero(1 + term / c);
        step = d * c;
        f *= step;
        if (fabs(step - 1) < 1e-15)
            break;
    }
    return f;
}

double audit_incomplete_beta(double a, double b, double x)
{
    double log_front;

    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    log_front = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x);
    if (x < (a + 1) / (a + b + 2))
        return exp(log_front) * beta_fraction(a, b, x) / a;
    return 1 - exp(log_front) * beta_fraction(b, a, 1 - x) / b;
}

double audit_at_least(uint64_t k, uint64_t n, double alpha)
{
    double lo = 0, hi = 1;

    if (k == 0)
        return 0;
    /* Pr[Bin(n, x) >= k] = I_x(k, n - k + 1) grows with x: the largest x at which it is alpha. */
    for (int i = 0; i < 80 && hi - lo > 1e-13 * hi; i++) {
        const double mid = (lo + hi) / 2;

        if (audit_incomplete_beta((double)k, (double)(n - k) + 1, mid) < alpha)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

double audit_at_most(uint64_t k, uint64_t n, double alpha)
{
    double lo = 0, hi = 1;

    if (k >= n)
        return 1;
    /* Pr[Bin(n, x) <= k] = I_{1-x}(n - k, k + 1) falls with x. */
    for (int i = 0; i < 80 && hi - lo > 1e-13 * hi; i++) {
        const double mid = (lo + hi) / 2;

        if (audit_incomplete_beta((double)(n - k), (double)k + 1, 1 - mid) < alpha)
            hi = mid;
        else
            lo = mid;
    }
    return hi;
}

/* ---- the threshold --------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* How many of the sorted scores are at least t. */
static size_t at_least(const double *sorted, size_t n, double t)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;

        if (sorted[mid] < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return n - lo;
}

audit_scores audit_scores_sort(double *score0, double *score1, size_t from, size_t middle,
                               size_t to)
{
    double *const score[2] = {score0, score1};
    audit_scores s = {.n_choose = middle - from, .n_judge = to - middle};

    for (unsigned w = 0; w < 2; w++) {
        qsort(score[w] + from, s.n_choose, sizeof *score[w], ascending);
        qsort(score[w] + middle, s.n_judge, sizeof *score[w], ascending);
        s.choose[w] = score[w] + from;
        s.judge[w] = score[w] + middle;
    }
    return s;
}

/* What two chances show, the first from below, the second from above. */
typedef double (*shown_fn)(double low, double high, double at);

static double shown_epsilon(double low, double high, double delta)
{
    return low > delta ? log((low - delta) / high) : -HUGE_VAL;
}

static double shown_divergence(double low, double high, double epsilon)
{
    return low - exp(epsilon) * high;
}

typedef struct choice {
    const audit_scores *s;
    shown_fn shown;
    double at;
    double z; /* of a normal distribution's tail of about alpha */
    double t, value;
} choice;

/* What the judging runs would show if they fell out as these: k counts scaled to them, with the
 * score interval (k + z^2/2 +- z sqrt(k + z^2/4))/n as a quick stand-in for the exact bounds. */
static void weigh(choice *c, double t)
{
    const audit_scores *s = c->s;
    const double n = (double)s->n_judge, scale = n / (double)s->n_choose, half = c->z * c->z / 2;
    const double k1 = scale * (double)at_least(s->choose[1], s->n_choose, t);
    const double k0 = scale * (double)at_least(s->choose[0], s->n_choose, t);
    const double low = (k1 + half - c->z * sqrt(k1 + half / 2)) / n;
    const double high = (k0 + half + c->z * sqrt(k0 + half / 2)) / n;
    const double value = c->shown(low, high, c->at);

    if (value > c->value) {
        c->value = value;
        c->t = t;
    }
}

/* Thresholds worth a look: quantiles of both inputs' scores, dense at the top. */
static void choose(choice *c)
{
    const audit_scores *s = c->s;

    for (size_t rank = 0; rank < s->n_choose; rank += 1 + rank / 16) {
        weigh(c, s->choose[1][s->n_choose - 1 - rank]);
        weigh(c, nextafter(s->choose[0][s->n_choose - 1 - rank], HUGE_VAL));
    }
}

static double judged(const audit_scores *s, shown_fn shown, double at, double alpha)
{
    choice c = {.s = s,
                .shown = shown,
                .at = at,
                .z = sqrt(-2 * log(alpha)) - 0.5,
                .t = HUGE_VAL,
                .value = -HUGE_VAL};
    double value;

    choose(&c);
    value = shown(audit_at_least(at_least(s->judge[1], s->n_judge, c.t), s->n_judge, alpha),
                  audit_at_most(at_least(s->judge[0], s->n_judge, c.t), s->n_judge, alpha), at);
    return value > 0 ? value : 0;
}

double audit_epsilon(const audit_scores *s, double delta, double alpha)
{
    return judged(s, shown_epsilon, delta, alpha);
}

double audit_divergence(const audit_scores *s, double epsilon, double alpha)
{
    return judged(s, shown_divergence, epsilon, alpha);
}
