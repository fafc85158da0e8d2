/* A level of noisy counts (docs/privacy.md, "Release by levels"): with m0 = 1/sigma_0, m1 = R/sigma
 * and l(z) = m0 z - m0^2/2,
 *   D(eps) = sup_a [ int_a^inf phi(z - m0) G(eps - l(z), m1) dz + u' Dnext(eps + ln(u/u')) ],
 *   R(eps) = sup_a [ int_a^inf phi(z)      G(eps + l(z), m1) dz + u  Rnext(eps - ln(u/u')) ],
 * u = Phi(a), u' = Phi(a - m0).  Both are one computation: `own` is the law that is weighed (centre m0
 * for D, 0 for R), `other` the one it is compared with.
 *
 * Rounded up everywhere.  Integrals: between nodes G lies below its chord in t = e^eps, and the mean
 * of t over a piece is known.  The supremum over a: with x = own mass of a_i..a the integral falls by at
 * least x times the lesser end's G, and the second term is convex along a straight line of (u, u'); the
 * curve (u(a), u'(a)) lies on the harmless side of its chord (D) or of its tangent (R).  So on a piece
 * the sum is at most its value at the left end, or the greater one taken at the right end below. */
#include "levels.h"

#include <math.h>
#include <stdlib.h>

#include "privacy_private.h"

#define Z_LO (-12.0)
#define Z_HI 14.0 /* above both centres */
#define Z_STEP 0.02
#define EPS_NODES 361.0
#define WIDE_NODES 801.0 /* where a whole curve is wanted */
#define GUARD 1e-6        /* of a piece's mass, given to its end with the larger G */
#define CHORD_LEAST 1e-6  /* pieces on which ln t moves less are not worth a chord */

typedef struct noisy {
    double m0, m1;
    bool add;          /* D, else R */
    double own, other; /* centres */
    double step;       /* between nodes z */
    size_t n;          /* nodes z */
    double *left, *right; /* n - 1: own mass of a piece, as weights of G at its ends */
    double *below;        /* n: own mass below a node: u' or u */
    double *shift;        /* n: +ln(u/u') or -ln(u/u') */
    double *tangent;      /* R: n - 1: shift at a piece's end along the tangent at its start */
    double *g;            /* G at evenly spaced arguments: node z_i at eps_j is g[at - i or + i] */
} noisy;

static double z_of(const noisy *w, size_t i)
{
    return Z_LO + w->step * (double)i;
}

/* Phi(b) - Phi(a), a < b, without cancellation in the upper tail. */
static double mass_between(double a, double b)
{
    return a > 0 ? exp(fre_log_phi(-a)) - exp(fre_log_phi(-b))
                 : exp(fre_log_phi(b)) - exp(fre_log_phi(a));
}

static void weigh_piece(noisy *w, size_t i)
{
    double a = z_of(w, i), b = z_of(w, i + 1), mass = mass_between(a - w->own, b - w->own);
    double sign = w->add ? -1 : 1, grow = expm1(sign * w->m0 * w->step); /* t_{i+1} / t_i - 1 */
    double at_a = exp(sign * (w->m0 * a - w->m0 * w->m0 / 2)), share;

    if (mass <= 0 || w->m0 * w->step < CHORD_LEAST)
        share = w->add ? 1 : 0; /* G grows with z for D and falls for R */
    else
        share = (mass_between(a - w->other, b - w->other) / (mass * at_a) - 1) / grow +
                (w->add ? GUARD : -GUARD);
    share = fmin(1, fmax(0, share));
    w->right[i] = mass * share;
    w->left[i] = mass * (1 - share);
}

static void weigh(noisy *w)
{
    size_t i;

    for (i = 0; i < w->n; i++) {
        double a = z_of(w, i), log_u = fre_log_phi(a), log_v = fre_log_phi(a - w->m0);

        w->below[i] = exp(w->add ? log_v : log_u);
        w->shift[i] = w->add ? log_u - log_v : log_v - log_u;
    }
    for (i = 0; i + 1 < w->n; i++) {
        weigh_piece(w, i);
        if (!w->add) { /* u' is at least what its slope e^l at the start gives */
            double u = w->below[i], x = w->left[i] + w->right[i], a = z_of(w, i);
            double v = u * exp(w->shift[i]) + x * exp(w->m0 * a - w->m0 * w->m0 / 2);

            w->tangent[i] = fmin(w->shift[i + 1], log(v / (u + x)));
        }
    }
}

/* Memory of w for n nodes z and `values` of G; all in one block, which is returned. */
static double *make_room(noisy *w, size_t values)
{
    double *block = calloc(5 * w->n + values, sizeof *block);

    if (!block)
        return NULL;
    w->left = block;
    w->right = w->left + w->n;
    w->below = w->right + w->n;
    w->shift = w->below + w->n;
    w->tangent = w->shift + w->n;
    w->g = w->tangent + w->n;
    return block;
}

/* sup over every a; g: G at node 0, the next ones `stride` apart. */
static double supremum(const noisy *w, const fre_curve *next, double eps, const double *g,
                       ptrdiff_t stride)
{
    double here, above, top, at_end; /* `above`: the integral from node i + 1 on */
    size_t i = w->n - 1;

    /* Beyond the last node: no G is above 1, and the curves fall. */
    above = exp(fre_log_phi(w->own - z_of(w, i)));
    at_end = w->below[i] * fre_level_next(next, eps + w->shift[i]);
    top = above + fmax(fre_level_next(next, w->add ? eps : eps + w->shift[i]), at_end);
    while (i-- > 0) {
        double low = g[stride * (ptrdiff_t)i], high = g[stride * (ptrdiff_t)(i + 1)];
        double integral = above + w->left[i] * low + w->right[i] * high, right;

        here = w->below[i] * fre_level_next(next, eps + w->shift[i]);
        right = w->add ? at_end : w->below[i + 1] * fre_level_next(next, eps + w->tangent[i]);
        right += integral - (w->left[i] + w->right[i]) * fmin(low, high);
        top = fmax(top, fmax(integral + here, right));
        above = integral;
        at_end = here;
    }
    /* Below the first node. */
    here = w->below[0] * (w->add ? fre_level_next(next, eps) : 1);
    return fmax(top, fre_gauss_delta(eps, hypot(w->m0, w->m1)) + here);
}

/* G from node 0 on at eps; D: its argument falls along z, so that node 0 lies behind all others. */
static void tabulate(noisy *w, double eps, size_t values)
{
    const double first = eps - (w->add ? 1 : -1) * (w->m0 * Z_LO - w->m0 * w->m0 / 2);
    const double between = w->m0 * w->step;
    const size_t base = w->add ? w->n - 1 : 0;

    for (size_t j = 0; j < values; j++)
        w->g[j] = fre_gauss_delta(first + between * ((double)j - (double)base), w->m1);
}

/* One table serves all epsilons, `every` places apart; each has its own where that is shorter. */
static void fill(noisy *w, fre_curve *out, const fre_curve *next, size_t every)
{
    const size_t base = w->add ? w->n - 1 : 0;
    const bool shared = every < w->n;

    if (shared)
        tabulate(w, out->lo, (out->n - 1) * every + w->n);
    for (size_t j = 0; j < out->n; j++) {
        const double eps = out->lo + out->step * (double)j;

        if (!shared)
            tabulate(w, eps, w->n);
        out->at[j] = fre_privacy_round_up(
            supremum(w, next, eps, w->g + base + (shared ? j * every : 0), w->add ? -1 : 1));
    }
}

static fre_status one_way(fre_curve *out, const fre_level *l, const fre_curve *next,
                          const fre_level_range *range, bool add)
{
    noisy w = {.m0 = 1 / l->count_sigma, .m1 = l->shift / l->sigma, .add = add};
    double *block, nodes, width;
    size_t every, values;

    w.own = add ? w.m0 : 0;
    w.other = add ? 0 : w.m0;
    w.step = Z_STEP / fmax(1, w.m0);
    w.n = (size_t)ceil((Z_HI + w.m0 - Z_LO) / w.step) + 1;
    nodes = range->hi > range->lo ? WIDE_NODES : EPS_NODES;
    width = range->hi - range->lo + range->reach;
    every = (size_t)fmax(1, ceil(width / ((nodes - 1.0) * w.m0 * w.step)));
    out->step = (double)every * w.m0 * w.step;
    out->n = (size_t)fmin(FRE_CURVE_NODES, ceil(width / out->step) + 1);
    out->lo = add ? range->lo : range->hi - out->step * (double)(out->n - 1);
    values = every < w.n ? (out->n - 1) * every + w.n : w.n;
    block = make_room(&w, values);
    if (!block)
        return FRE_E_NOMEM;
    weigh(&w);
    fill(&w, out, next, every);
    free(block);
    return FRE_OK;
}

fre_status fre_level_noisy(fre_level_curves *out, const fre_level *l, const fre_level_curves *next,
                           const fre_level_range *range)
{
    fre_status st = one_way(&out->add, l, &next->add, range, true);

    return st == FRE_OK ? one_way(&out->remove, l, &next->remove, range, false) : st;
}
