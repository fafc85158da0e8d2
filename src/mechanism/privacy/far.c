/* Far members (docs/privacy.md, "Far members"): what one at distance D adds to heavy, in the mean
 * over the projection.  pi falls with D and heavy grows, so on a piece D_i .. D_{i+1} the cost is at
 * most that of pi(D_i) with heavy at D_{i+1}; over n the growth lemma of heavy bounds pieces, too. */
#include "joint.h"

#include <math.h>

#include "privacy_private.h"

#define NEAR_KEPT 1024u  /* values of heavy at the split that are remembered */
#define PIECES_MAX 20000 /* then the crude bound (N/tau) pi(split) is as good as any */
/* Numbers n looked at for one piece, after which the goal is raised to a share of heavy, or doubled. */
#define SIZES_MAX 300
#define SIZES_MAX_LARGE 60 /* for thresholds above 300 */
#define FLOOR 1e-4
#define LOOKS 20000      /* then the tolerance is doubled, and again with every fourth as many */
#define LEAST_SHARE 1e-6 /* of heavy: nobody needs a closer bound */
#define SEARCHES_MAX 3   /* for missed peaks; then the goal follows what is seen */
#define SLACK                                                                                      \
    1e-14 /* rounding of the sums behind heavy, whose masses are the same at every distance */
#define FAR_NODES 2048u /* of a curve at one distance: 1024 would make it two per cent more */

/* heavy at the split, remembered. */
typedef struct near_values {
    const fre_heavy *h;
    double n[NEAR_KEPT], value[NEAR_KEPT];
} near_values;

static void near_init(near_values *v, const fre_heavy *h)
{
    size_t i;

    v->h = h;
    for (i = 0; i < NEAR_KEPT; i++)
        v->n[i] = -1;
}

static double near_at(near_values *v, double n)
{
    size_t i = (size_t)n % NEAR_KEPT;

    if (!(fabs(v->n[i] - n) < 0.5)) {
        v->n[i] = n;
        v->value[i] = fre_heavy_at(v->h, n);
    }
    return v->value[i];
}

/* ln(N pi(D)): how many members at distance D a cell expects to hold at most. */
static double log_members(const fre_mechanism *m, double distance)
{
    return log((double)m->population) + fre_privacy_log_collision(&m->sketch.grid, distance);
}

/* ---- estimates ---------------------------------------------------------------------------- */

typedef struct search {
    const fre_joint_noise *noise;
    const fre_joint_step *s;
    double split;
    near_values near;
    double n; /* the worst of the last distance */
} search;

static double cost_at(search *w, const fre_heavy *h, double n)
{
    return (fre_heavy_at(h, n) - near_at(&w->near, n)) / n;
}

/* The best of a few n. */
static double coarse_n(search *w, const fre_heavy *h, double first, double last)
{
    double at = first, top = cost_at(w, h, first);
    int i;

    for (i = 1; i <= 8; i++) {
        double n = ceil(first + (last - first) * (i * i) / 64.0), v = cost_at(w, h, n);

        if (v > top) {
            top = v;
            at = n;
        }
    }
    return at;
}

/* sup over n of what a member at this distance costs, by climbing from the last one. */
static double cost(search *w, const fre_heavy *h)
{
    double first = h->tau, last = fre_heavy_far_n(h), step, top = 0;

    if (w->n >= first && w->n <= last)
        top = cost_at(w, h, w->n);
    if (!(top > FRE_PRIVACY_TINY)) { /* no slope to climb by */
        w->n = coarse_n(w, h, first, last);
        top = cost_at(w, h, w->n);
    }
    for (step = ceil(0.3 * sqrt(h->tau) / h->p); step >= 1; step = step > 1 ? ceil(step / 3) : 0) {
        int side;

        for (side = -1; side <= 1; side += 2) {
            double n = w->n + side * step, v;

            while (n >= first && n <= last && (v = cost_at(w, h, n)) > top) {
                top = v;
                w->n = n;
                n += side * step;
            }
        }
    }
    return top;
}

/* ln of what the members at split * ratio cost. */
static double log_cost(search *w, double ratio)
{
    double distance = w->split * ratio;
    fre_heavy h;

    fre_joint_heavy(&h, NULL, w->noise, w->s, distance, 0);
    return log_members(w->noise->m, distance) + log(fmax(cost(w, &h), FRE_PRIVACY_TINY));
}

/* The best of a few distances and of the last time's: near the split many members cost little, farther few
 * cost much, and each may be a peak. */
static double coarse_ratio(search *w, double last, double most)
{
    const fre_mechanism *m = w->noise->m;
    double at = last > 1 && last < most ? last : fmin(1.15, most), top = log_cost(w, at), n = w->n,
           x;

    for (x = 1.15; x < most; x *= 1.25) {
        double v;

        if (log_members(m, w->split * x) - log(w->near.h->tau) < top)
            break; /* heavy is at most 1 */
        v = log_cost(w, x);
        if (v > top) {
            top = v;
            at = x;
            n = w->n;
        }
    }
    w->n = n;
    return at;
}

double fre_far_peak(const fre_joint_noise *noise, const fre_joint_step *s, double split,
                    fre_joint_place *at)
{
    search w = {.noise = noise, .s = s, .split = split, .n = at->far_n};
    double most = fre_joint_diameter(noise->m) / split, x = at->far / split, top, step;
    fre_heavy near;

    if (!(most > 1))
        return 0;
    fre_joint_heavy(&near, NULL, noise, s, split, 0);
    near_init(&w.near, &near);
    x = coarse_ratio(&w, x, most);
    top = log_cost(&w, x);
    for (step = 0.1; step > 0.004; step /= 2.5) {
        int side;

        for (side = -1; side <= 1; side += 2) {
            double next = x * exp(side * step), v;

            while (next > 1 && (v = log_cost(&w, fmin(next, most))) > top) {
                top = v;
                x = fmin(next, most);
                next = x * exp(side * step);
            }
        }
    }
    at->far_n = w.n;
    at->far = x * split;
    return exp(fmin(0, top));
}

/* ---- the certificate ---------------------------------------------------------------------- */

typedef struct proof {
    near_values near;
    double n;    /* the worst seen */
    long looked; /* values of heavy, so far */
} proof;

/* What a member costs where n share the cell; at_n: heavy(n) at its distance. */
static double exact_cost(proof *w, double at_n, double n)
{
    return (at_n * (1 + SLACK) - near_at(&w->near, n)) / n;
}

/* Does every n in a..b cost at most `level`?  at_a: heavy(a). */
static bool piece_holds(proof *w, const fre_heavy *h, double at_a, double a, double b, double level)
{
    double up = (at_a * (1 + SLACK) + fre_heavy_growth(h, a, b)) / a, near;

    if (up <= level)
        return true;
    near = near_at(&w->near, b) - fre_heavy_growth(w->near.h, a, b);
    return near > 0 && up - near / b <= level;
}

/* 0 where every n >= tau costs at most `level`; otherwise the cost of one that exceeds it; infinite
 * where that took too long to decide. */
static double exceeding(proof *w, const fre_heavy *h, double level)
{
    double n = w->n, step = 1, at, v;
    int looked, most = h->tau <= 300 ? SIZES_MAX : SIZES_MAX_LARGE;

    if (n >= h->tau) {
        v = exact_cost(w, fre_heavy_at(h, n), n);
        if (v > level)
            return v;
    }
    n = h->tau;
    for (looked = 0; looked < most; looked++, n += fmax(1, step), step = fmax(2, 2 * step)) {
        w->looked += 1 + (long)(h->tau / 100); /* larger sums take longer */
        at = fre_heavy_at(h, n);
        v = exact_cost(w, at, n);
        if (v > level) {
            w->n = n;
            return v;
        }
        if ((at * (1 + SLACK) + fre_heavy_growth_for_ever(h, n)) / n <= level)
            return 0;
        while (step > 1.5 && !piece_holds(w, h, at, n, n + step, level))
            step = floor(step / 2);
    }
    return HUGE_VAL;
}

/* Piece by piece from the split to the diameter: on each, pi at its lower end times the cost at its
 * upper end is at most `goal`.  Where the shortest piece exceeds it, the goal becomes what was seen there. */
double fre_far_supremum(const fre_joint_noise *noise, const fre_joint_step *s,
                        const fre_heavy *near, double heavy, double split, fre_joint_place *at)
{
    const fre_mechanism *m = noise->m;
    double most = fre_joint_diameter(m), tau = near->tau, distance = split, step = 0.02;
    double tolerance = tau <= 300 && m->noise == FRE_NOISE_CONTINUOUS ? 0.004 : 0.015,
           shortest = 0.2 * tolerance / m->sketch.grid.proj;
    proof w = {.looked = 0};
    long enough = LOOKS;
    double goal;
    int i, searches = 0;

    if (!(most > split))
        return 0;
    goal = fre_far_peak(noise, s, split, at) * (1 + tolerance) + LEAST_SHARE * heavy +
           FRE_PRIVACY_TINY;
    near_init(&w.near, near);
    w.n = at->far_n;
    for (i = 0; i < PIECES_MAX && goal < 1 && distance < most; i++) {
        double members = exp(log_members(m, distance)), next = fmin(distance * exp(step), most);
        fre_curve curve;
        fre_heavy h;
        double v;

        if (members / tau <= goal) /* heavy is at most 1 */
            return goal;
        if (w.looked > enough) {
            goal *= 1 + tolerance;
            tolerance *= 2;
            shortest *= 2;
            enough += LOOKS / 4;
        }
        fre_joint_heavy(&h, &curve, noise, s, next, FAR_NODES);
        v = exceeding(&w, &h, goal / members);
        if (v > 0 && !isinf(v) &&
            v * exp(log_members(m, next)) > goal) { /* the search missed a peak */
            at->far = next;
            at->far_n = w.n;
            goal = v * exp(log_members(m, next));
            if (searches++ < SEARCHES_MAX)
                goal = fmax(goal, fre_far_peak(noise, s, split, at));
            goal *= 1 + tolerance;
        }
        if (isinf(v))
            goal = fmax(2 * goal, FLOOR * heavy);
        else if (v <= 0 || step <= shortest) {
            goal = fmax(goal, v * members * (1 + tolerance));
            distance = v <= 0 ? next : distance;
            step *= v <= 0 ? 1.6 : 1;
        } else
            step = fmax(shortest, step / 2);
    }
    if (distance < most && goal < 1)
        return fmin(1, exp(log_members(m, split)) / tau);
    return fmin(1, goal);
}
