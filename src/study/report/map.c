/* report/map.c - the centroids on a plane: their first two principal components, then a layout that
 * puts near ones beside each other (McInnes, Healy, Melville, UMAP, 2018: its forces, on weights that
 * need no exponential).  The same release has the same map: no clock, no system randomness. */
#include "report_private.h"

#include <fre/linalg.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- principal components ------------------------------------------------------------------------ */

#define ROUNDS 60

/* splitmix64; on -1..1. */
static double draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) / 4503599627370496.0 - 1;
}

static double inner(const double *a, const double *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* a to norm 1 and at right angles to b (NULL: to nothing); zero where nothing is left. */
static void straighten(double *a, const double *b, size_t n)
{
    const double along = b ? inner(a, b, n) : 0;
    double norm;

    for (size_t i = 0; b && i < n; i++)
        a[i] -= along * b[i];
    norm = sqrt(inner(a, a, n));
    for (size_t i = 0; i < n; i++)
        a[i] = norm > 1e-12 ? a[i] / norm : 0;
}

/* Coordinates of row i along both axes, from the mean. */
static void coordinates(double out[2], const float *row, const double *axes, const double *mean,
                        size_t d)
{
    out[0] = out[1] = 0;
    for (size_t j = 0; j < d; j++) {
        const double x = (double)row[j] - mean[j];

        out[0] += x * axes[j];
        out[1] += x * axes[d + j];
    }
}

/* next = C axes, C the covariance of the rows. */
static void multiply(double *next, const float *x, const double *axes, const double *mean, size_t n,
                     size_t d)
{
    memset(next, 0, 2 * d * sizeof *next);
    for (size_t i = 0; i < n; i++) {
        double at[2];

        coordinates(at, x + i * d, axes, mean, d);
        for (size_t j = 0; j < d; j++) {
            const double centred = (double)x[i * d + j] - mean[j];

            next[j] += at[0] * centred;
            next[d + j] += at[1] * centred;
        }
    }
}

fre_status report_principal(double *out, const float *x, size_t n, size_t d)
{
    double *mean = calloc(5 * d + 1, sizeof *mean), *axes = mean + d, *next = axes + 2 * d;
    uint64_t state = 1;
    fre_status st = FRE_OK;

    if (!mean)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < n * d; i++)
        mean[i % d] += (double)x[i] / (double)n;
    for (size_t i = 0; i < 2 * d; i++)
        axes[i] = draw(&state);
    for (size_t round = 0; round < ROUNDS && st == FRE_OK; round++) {
        straighten(axes, NULL, d);
        straighten(axes + d, axes, d);
        multiply(next, x, axes, mean, n, d);
        memcpy(axes, next, 2 * d * sizeof *axes);
        if (fre_interrupted())
            st = FRE_E_INTERRUPTED;
    }
    straighten(axes, NULL, d);
    straighten(axes + d, axes, d);
    for (size_t i = 0; i < n; i++)
        coordinates(out + 2 * i, x + i * d, axes, mean, d);
    free(mean);
    return st;
}

/* ---- layout -------------------------------------------------------------------------------------- */

#define PUSHES 5u  /* points that each is pushed from, a round */
#define SPREAD 1.6 /* a of 1/(1 + a d^2), of a least distance of .1 */
#define REACH 10.0 /* half the side of the plane at the start */

/* At most 4 a step, as UMAP has it. */
static double cut(double x)
{
    return x > 4 ? 4 : x < -4 ? -4 : x;
}

/* Move `a`, by rate, along the line from b; force > 0: away. */
static void move(double *a, const double *b, double force, double rate)
{
    const double dx = a[0] - b[0], dy = a[1] - b[1];

    a[0] += rate * cut(force * dx);
    a[1] += rate * cut(force * dy);
}

static double distance2(const double *a, const double *b)
{
    return (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]);
}

/* 1 for the nearest neighbour, 1/2 for one at the mean distance, less beyond. */
static double weight(const double *distance, size_t k, size_t j)
{
    double mean = 0, t;

    for (size_t i = 0; i < k; i++)
        mean += (distance[i] - distance[0]) / (double)k;
    t = mean > 0 ? (distance[j] - distance[0]) / mean : 0;
    return 1 / (1 + t * t);
}

static void one_round(double *at, const report_near *near, const double *weights, double rate,
                      uint64_t *state)
{
    for (size_t i = 0; i < near->n; i++) {
        double *a = at + 2 * i;

        for (size_t j = 0; j < near->k; j++) {
            double *b = at + 2 * near->index[i * near->k + j];
            const double d2 = distance2(a, b), w = weights[i * near->k + j];
            const double force = -2 * SPREAD * w / (1 + SPREAD * d2);

            move(a, b, force, rate);
            move(b, a, force, rate);
        }
        for (size_t j = 0; j < PUSHES; j++) {
            const size_t other = (size_t)((draw(state) + 1) / 2 * (double)near->n) % near->n;
            const double d2 = distance2(a, at + 2 * other);

            if (other != i)
                move(a, at + 2 * other, 2 / ((0.001 + d2) * (1 + SPREAD * d2)), rate);
        }
    }
}

static fre_status lay_out(double *at, const report_near *near)
{
    const size_t rounds = near->n > 2000 ? 200 : 500;
    double *weights = calloc(near->n * near->k + 1, sizeof *weights);
    uint64_t state = 2;
    fre_status st = FRE_OK;

    if (!weights)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < near->n * near->k; i++)
        weights[i] = weight(near->distance + i / near->k * near->k, near->k, i % near->k);
    for (size_t round = 0; round < rounds && st == FRE_OK; round++) {
        one_round(at, near, weights, 1 - (double)round / (double)rounds, &state);
        if (fre_interrupted())
            st = FRE_E_INTERRUPTED;
    }
    free(weights);
    return st;
}

/* Into 0..side, each axis by itself or both by one factor, about the middle. */
static void fit(double *at, size_t n, double side, bool by_one)
{
    double low[2] = {0, 0}, high[2] = {0, 0}, wide[2];

    for (size_t i = 0; i < 2 * n; i++) {
        low[i % 2] = i < 2 || at[i] < low[i % 2] ? at[i] : low[i % 2];
        high[i % 2] = i < 2 || at[i] > high[i % 2] ? at[i] : high[i % 2];
    }
    for (size_t k = 0; k < 2; k++)
        wide[k] = high[k] - low[k];
    if (by_one)
        wide[0] = wide[1] = wide[0] > wide[1] ? wide[0] : wide[1];
    for (size_t i = 0; i < 2 * n; i++) {
        const size_t k = i % 2;

        at[i] = side / 2 + (wide[k] > 0 ? (at[i] - (low[k] + high[k]) / 2) / wide[k] * side : 0);
    }
}

fre_status report_map(int32_t *place, const fre_release *r, const report_near *near)
{
    double *at = calloc(2 * r->n + 1, sizeof *at);
    fre_status st = at ? report_principal(at, r->centroid, r->n, r->grid.dim) : FRE_E_NOMEM;

    if (st == FRE_OK)
        fit(at, r->n, 2 * REACH, true);
    if (st == FRE_OK && near->k > 1)
        st = lay_out(at, near);
    if (st == FRE_OK)
        fit(at, r->n, REPORT_MAP_SIDE, false);
    for (size_t i = 0; st == FRE_OK && i < 2 * r->n; i++)
        place[i] = (int32_t)lround(at[i]);
    free(at);
    return st;
}
