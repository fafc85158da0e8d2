/* Padding of unreleased tags: the hockey stick between numbers of tags that one record moves
 * [Fre-E2T, Alg. Dummy-Data-Creation, app. TSDLap].
 *
 * The logarithm of f(u) / f(u - s) takes few values: s/lambda while u <= gamma, -s/lambda from
 * u = gamma + s on, 0 between them for s = 2, and +infinity for the first s values of u, which
 * the moved law cannot produce.  The masses of these classes are geometric sums, so products of
 * independent numbers are enumerated exactly whatever gamma is. */
#include <fre/privacy.h>

#include <float.h>
#include <math.h>

#include "privacy_private.h"

#define NUMBERS_MAX 3u
#define CLASSES_MAX 4u /* of one number; 4^3 of three */

typedef struct loss {
    double log_ratio, mass;
} loss;

/* sum of e^(-j/lambda), j = from..to; 0 where that is empty. */
static double geometric(double lambda, double from, double to)
{
    if (to < from)
        return 0;
    return exp(-from / lambda) * (expm1(-(to - from + 1) / lambda) / expm1(-1 / lambda));
}

double fre_tsdlap_mass(double lambda, uint32_t gamma, int64_t u)
{
    double away;

    if (isnan(lambda) || !(lambda > 0))
        return (double)NAN;
    if (u < 0 || u > 2 * (int64_t)gamma)
        return 0;
    away = fabs((double)u - gamma);
    return exp(-away / lambda) / (1 + 2 * geometric(lambda, 1, gamma));
}

/* Classes of one number moved by `shift`; their count. */
static size_t classes_of(loss out[CLASSES_MAX], double lambda, double gamma, uint32_t shift)
{
    double all = 1 + 2 * geometric(lambda, 1, gamma), s = shift;
    size_t n = 0;

    if (shift == 0) {
        out[n++] = (loss){0, 1};
        return n;
    }
    out[n++] = (loss){HUGE_VAL, geometric(lambda, fmax(0, gamma - s + 1), gamma) / all};
    out[n++] = (loss){s / lambda, geometric(lambda, 0, gamma - s) / all};
    out[n++] = (loss){-s / lambda, geometric(lambda, s, gamma) / all};
    if (shift == 2 && gamma >= 1)
        out[n++] = (loss){0, exp(-1 / lambda) / all};
    return n;
}

/* Share of a class in the hockey stick: (1 - e^(eps - log_ratio))^+, rounded up over the error
 * of log_ratio, three quotients and two sums of them. */
static double excess(double eps, double log_ratio)
{
    double d;

    if (isinf(log_ratio) || isinf(eps))
        return isinf(log_ratio) || eps < 0 ? 1 : 0;
    d = log_ratio - eps + 2 * DBL_EPSILON * fabs(log_ratio);
    return d > 0 ? -expm1(-d) : 0;
}

double fre_padding_delta(double eps, size_t n, const double *lambda, const uint32_t *gamma,
                         const uint32_t *shift)
{
    loss all[64] = {{0, 1}}, next[64];
    size_t count = 1, i, j, k;
    double delta = 0;

    if (isnan(eps) || n > NUMBERS_MAX)
        return (double)NAN;
    for (i = 0; i < n; i++) {
        loss one[CLASSES_MAX];
        size_t classes, made = 0;

        if (!(lambda[i] > 0) || shift[i] > 2)
            return (double)NAN;
        classes = classes_of(one, lambda[i], gamma[i], shift[i]);
        for (j = 0; j < count; j++) {
            for (k = 0; k < classes; k++)
                next[made++] =
                    (loss){all[j].log_ratio + one[k].log_ratio, all[j].mass * one[k].mass};
        }
        for (j = 0; j < made; j++)
            all[j] = next[j];
        count = made;
    }
    for (j = 0; j < count; j++)
        delta += all[j].mass * excess(eps, all[j].log_ratio);
    return fre_privacy_round_up(delta);
}

double fre_two_cell_delta(double eps, double lambda, uint32_t gamma)
{
    const double l[2] = {lambda, lambda};
    const uint32_t g[2] = {gamma, gamma}, by_one[2] = {1, 1};

    return fre_padding_delta(eps, 2, l, g, by_one);
}

double fre_cover_delta(double eps, double lambda, uint32_t gamma)
{
    const double l[3] = {lambda, lambda, lambda};
    const uint32_t g[3] = {gamma, gamma, gamma}, three[3] = {1, 1, 1}, two[2] = {2, 1};
    double apart = fre_padding_delta(eps, 3, l, g, three);
    double together = fre_padding_delta(eps, 2, l, g, two);

    return apart > together ? apart : together;
}

double fre_expected_dummies(const fre_mechanism *m)
{
    double tau = (double)m->tau;

    return m->dist.on ? tau * (tau - 1) / 2 * m->dist.gamma : 0;
}
