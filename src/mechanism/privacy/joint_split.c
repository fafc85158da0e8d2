/* The split: records within it are charged as near, those beyond as far members. */
#include <math.h>

#include "joint.h"
#include "privacy_private.h"

#define CONTINUOUS_BELOW 0.4 /* in ln: how far below the crossing the best split can lie */
#define DISCRETE_BELOW 1.0
#define STEPS_MOST 700 /* of one user's noise by choice ... */
#define STEPS_FORCED                                                                               \
    0.97 * FRE_JOINT_STEPS_MAX /* ... and at all: what follows moves sigma a little */

/* What the choice of a split weighs: heavy against the far members. */
typedef struct balance {
    const fre_mechanism *m;
    const fre_joint_step *s;
    fre_joint_place *at;
    double base; /* heavy of the counts alone */
    double heavy, far;
} balance;

static double weigh(void *ctx, double log_split)
{
    balance *b = ctx;
    double split = exp(log_split);
    fre_joint_noise noise;
    fre_heavy h;

    fre_joint_noise_init(&noise, b->m, split);
    fre_joint_heavy(&h, NULL, &noise, b->s, split, 0);
    b->heavy = fre_heavy_peak(&h, &b->at->n);
    b->far = b->m->sensitivity == FRE_SENSITIVITY_PROBABILISTIC
                 ? fre_far_peak(&noise, b->s, split, b->at)
                 : 0;
    return b->heavy + b->far;
}

double fre_joint_counts_alone(const fre_mechanism *m, const fre_joint_step *s)
{
    double n = -1;
    fre_heavy h;

    fre_heavy_init(&h, s->eps, s->p, fre_joint_tau(m), 0);
    h.tolerance = FRE_HEAVY_ESTIMATE;
    return fre_heavy_peak(&h, &n);
}

/* Do the far members cost more than what the shift adds to the counts? */
static bool too_short(balance *w, double log_split)
{
    (void)weigh(w, log_split);
    return w->far > w->heavy - w->base;
}

static void narrow_crossing(balance *w, double *lo, double *hi, double width)
{
    while (*hi - *lo > width) {
        double mid = (*lo + *hi) / 2;

        if (too_short(w, mid))
            *lo = mid;
        else
            *hi = mid;
    }
}

/* A narrow bracket of where the two cross, from the last split where there is one. */
static void cross(balance *w, double *lo, double *hi)
{
    double least = fmin(log(fre_joint_split_at(w->m, 0)), *hi) - 3, step = 0.1;
    double x = w->at->split > 0 ? fmax(least, fmin(log(w->at->split), *hi)) : *hi;

    if (!(w->at->split > 0))
        *lo = least;
    else if (too_short(w, x)) {
        for (*lo = x; *lo + step < *hi && too_short(w, *lo + step); step *= 2)
            *lo += step;
        *hi = fmin(*hi, *lo + step);
    } else {
        for (*hi = x; *hi - step > least && !too_short(w, *hi - step); step *= 2)
            *hi -= step;
        *lo = fmax(least, *hi - step);
    }
    narrow_crossing(w, lo, hi, 0.06);
}

/* How far below the crossing a split may lie.  Users' embeddings are rounded more finely the shorter it is,
 * which can pay for long; but one user's noise must not be too many steps of that, even where the split has
 * to be above (then it is negative). */
static double below_crossing(const fre_mechanism *m, double crossing)
{
    double steps = fre_joint_steps(m, exp(crossing));

    if (!(steps > 0))
        return CONTINUOUS_BELOW;
    return fmin(fmax(CONTINUOUS_BELOW, fmin(DISCRETE_BELOW, log(STEPS_MOST / steps))),
                log(STEPS_FORCED / steps));
}

/* heavy grows with the split and the far members' cost falls, so their sum is least close to where
 * they cross: bisection to the crossing, golden section around it.  At the diameter nobody is far.
 * Any split gives a valid delta, so an imperfect optimum costs noise, never privacy. */
double fre_joint_best_split(const fre_mechanism *m, const fre_joint_step *s, fre_joint_place *at,
                            double *delta)
{
    balance w = {.m = m, .s = s, .at = at, .base = fre_joint_counts_alone(m, s)};
    double most = fmin(log(fre_joint_diameter(m)), log(fre_joint_split_at(m, -690)));
    double lo = 0, hi = most, below, least, best;
    fre_bracket g;

    cross(&w, &lo, &hi);
    below = fmax(below_crossing(m, lo), lo - most);
    g = fre_privacy_narrow(weigh, &w, lo - below, fmin(fmax(hi, lo - below) + 0.1, most), 0.004);
    least = fmin(g.at_a, g.at_b);
    best = g.at_a < g.at_b ? g.a : g.b;
    if (g.lo <
        lo - below + 0.02) { /* the shorter the better: from wherever one began, to the same end */
        narrow_crossing(&w, &lo, &hi, 0.004);
        best = fmin(hi - below_crossing(m, hi), most);
        least = weigh(&w, best);
    }
    if (g.hi > most - 0.01) {
        double end = weigh(&w, most);

        best = end < least ? most : best;
        least = fmin(end, least);
    }
    at->split = best < most ? exp(best) : fmin(exp(most), fre_joint_diameter(m));
    *delta = s->weight * (s->excess + s->scale * least);
    return at->split;
}

double fre_joint_choose_split(const fre_mechanism *m, const fre_joint_step *s, fre_joint_place *at,
                              double *delta)
{
    double split = fre_joint_diameter(m);

    *delta = 1;
    if (m->p32 >= FRE_P_ONE) /* every split is as good: a finite one */
        return isfinite(split) ? split : m->sketch.grid.cell_edge;
    if (m->sensitivity == FRE_SENSITIVITY_PROBABILISTIC)
        split = fre_joint_best_split(m, s, at, delta);
    else {
        balance w = {.m = m, .s = s, .at = at};

        *delta = s->weight * (s->excess + s->scale * weigh(&w, log(split)));
    }
    return split;
}
