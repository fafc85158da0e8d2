/* Composition over a user's cells against the composed mechanisms themselves: every outcome of two
 * or three small cells, coin, count and noise, multiplied out. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fre/core.h>
#include <fre/privacy.h>

#include "assert_num.h"
#include "binomial.h"
#include "heavy.h"
#include "pld.h"

#define OUTCOMES_MAX 4096

/* Two laws on the same outcomes. */
typedef struct laws {
    int n;
    double a[OUTCOMES_MAX], b[OUTCOMES_MAX];
} laws;

typedef struct cell {
    int n, tau; /* others in the cell, all at 0 */
    double p, mu;
    double bins; /* of the sum, a unit of sigma */
} cell;

static double normal_between(double lo, double hi)
{
    return lo > 0 ? 0.5 * (erfc(lo / sqrt(2)) - erfc(hi / sqrt(2)))
                  : 0.5 * (erfc(-hi / sqrt(2)) - erfc(-lo / sqrt(2)));
}

/* Chance of bin i of the noisy sum when its mean is at `mean`; the first and last are open. */
static double in_bin(const cell *c, int i, int bins, double mean)
{
    double width = 1 / c->bins, lo = -7 - c->mu + i * width;

    return normal_between(i == 0 ? -HUGE_VAL : lo - mean, i == bins ? HUGE_VAL : lo + width - mean);
}

/* The view of one cell with a record at `at` (in units of sigma; sampled with chance p), or, share
 * 0, without it.  Binning the sum can only hide a difference, by a per cent or so here. */
static int view(double *out, const cell *c, double share, double at)
{
    int bins = (int)ceil((14 + 2 * c->mu) * c->bins), count, i, k = 0;

    out[k] = 0;
    for (count = 0; count < c->tau; count++)
        out[k] +=
            (1 - share) * binomial(c->n, count, c->p) + share * binomial(c->n, count - 1, c->p);
    k++;
    for (count = c->tau; count <= c->n + 1; count++) {
        for (i = 0; i <= bins; i++) {
            assert_true(k < OUTCOMES_MAX);
            out[k++] = (1 - share) * binomial(c->n, count, c->p) * in_bin(c, i, bins, 0) +
                       share * binomial(c->n, count - 1, c->p) * in_bin(c, i, bins, at);
        }
    }
    return k;
}

static void added(laws *l, const cell *c)
{
    l->n = view(l->a, c, c->p, c->mu);
    (void)view(l->b, c, 0, 0);
}

/* One record replaced by another on the other side of the rest, in the same cell. */
static void replaced(laws *l, const cell *c)
{
    l->n = view(l->a, c, c->p, c->mu);
    (void)view(l->b, c, c->p, -c->mu);
}

/* A record of one cell replaced by one of another cell. */
static void moved(laws *l, const cell *c)
{
    static double with[OUTCOMES_MAX], without[OUTCOMES_MAX];
    int n = view(with, c, c->p, c->mu), i, j;

    (void)view(without, c, 0, 0);
    l->n = 0;
    for (i = 0; i < n; i++) {
        for (j = 0; j < n; j++) {
            assert_true(l->n < OUTCOMES_MAX);
            l->a[l->n] = with[i] * without[j];
            l->b[l->n++] = without[i] * with[j];
        }
    }
}

static void swap(laws *l)
{
    int i;

    for (i = 0; i < l->n; i++) {
        double a = l->a[i];

        l->a[i] = l->b[i];
        l->b[i] = a;
    }
}

/* Hockey stick of the product of two or (third non-NULL) three pairs, at several epsilons. */
static void hockey(double *out, const double *eps, int n_eps, const laws *x, const laws *y,
                   const laws *z)
{
    int i, j, k, e;

    memset(out, 0, (size_t)n_eps * sizeof *out);
    for (i = 0; i < x->n; i++) {
        for (j = 0; j < y->n; j++) {
            double a = x->a[i] * y->a[j], b = x->b[i] * y->b[j];

            for (k = 0; k < (z ? z->n : 1); k++) {
                double ak = z ? a * z->a[k] : a, bk = z ? b * z->b[k] : b;

                for (e = 0; e < n_eps; e++)
                    out[e] += fmax(0, ak - eps[e] * bk);
            }
        }
    }
}

#define N_EPS 4
static const double epsilons[N_EPS] = {0.3, 1, 2, 3};

/* truth <= bound for every cell size, and the largest truth is not far below. */
static void covers(void (*pair)(laws *, const cell *), const cell *c, fre_adjacency adjacency,
                   int cells, double floor, double slack)
{
    static laws one, other;
    double factor[N_EPS], truth[N_EPS], largest[N_EPS] = {0}, bound[N_EPS];
    fre_pld_cell what = {c->p, c->tau, c->mu, adjacency};
    cell at = *c, next = *c;
    fre_pld d;
    int e, way;

    assert_int_equal(
        fre_pld_compose(&d, &what, (uint32_t)cells, 3, FRE_PLD_LEAST, FRE_PLD_FINE, NULL), FRE_OK);
    for (e = 0; e < N_EPS; e++) {
        factor[e] = exp(epsilons[e]);
        bound[e] = fre_pld_delta(&d, epsilons[e]);
    }
    fre_pld_wipe(&d);
    for (at.n = c->tau - 1; at.n <= c->n; at.n++) {
        for (way = 0; way < 2; way++) {
            next.n = way ? at.n : c->tau + (at.n * 7) % (c->n - c->tau + 1); /* another size */
            pair(&one, &at);
            pair(&other, &next);
            hockey(truth, factor, N_EPS, &one, &other, cells == 3 ? &one : NULL);
            for (e = 0; e < N_EPS; e++) {
                assert_true(truth[e] <= bound[e] * (1 + 1e-9));
                largest[e] = fmax(largest[e], truth[e]);
            }
            swap(&one);
            swap(&other);
            hockey(truth, factor, N_EPS, &one, &other, cells == 3 ? &one : NULL);
            for (e = 0; e < N_EPS; e++) {
                if (epsilons[e] >= floor) /* removing: nothing is left from there on */
                    assert_true(truth[e] <= bound[e] * (1 + 1e-9));
                if (epsilons[e] >= floor && floor > 0)
                    assert_true(truth[e] < 1e-12);
            }
        }
    }
    for (e = 0; e < N_EPS; e++) {
        if (getenv("FRE_PRINT"))
            print_message("%d cells, eps %g: %g of %g: %.3f\n", cells, epsilons[e], largest[e],
                          bound[e], bound[e] / largest[e]);
        if (epsilons[e] >= 1) /* a replacement's curve is loose below, cell by cell already */
            assert_true(bound[e] <= slack * largest[e]);
    }
}

static void adding(void **state)
{
    static const cell cells[] = {
        {12, 3, 0.4, 0.8, 3}, {7, 2, 0.5, 1.5, 4}, {16, 6, 0.5, 0.5, 2}, {24, 4, 0.15, 1, 1.5}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cells / sizeof cells[0]; i++)
        covers(added, &cells[i], FRE_ADJACENCY_ADD_REMOVE, 2, -2 * log1p(-cells[i].p), 1.3);
}

static void adding_in_three_cells(void **state)
{
    static const cell cells[] = {{8, 3, 0.4, 0.8, 1}, {6, 2, 0.25, 1.5, 1}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cells / sizeof cells[0]; i++)
        covers(added, &cells[i], FRE_ADJACENCY_ADD_REMOVE, 3, -3 * log1p(-cells[i].p), 1.5);
}

static void replacing(void **state)
{
    static const cell cells[] = {{9, 3, 0.4, 0.6, 2}, {7, 2, 0.25, 1, 2}};
    static const cell coarse[] = {{5, 3, 0.4, 0.6, 0.5}, {4, 2, 0.25, 1, 0.5}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        covers(replaced, &cells[i], FRE_ADJACENCY_REPLACE, 2, 0, HUGE_VAL);
        covers(moved, &coarse[i], FRE_ADJACENCY_REPLACE, 2, 0, 2.5);
    }
}

/* ---- laws of the composition itself ------------------------------------------------------- */

static double delta_of(const fre_pld_cell *c, uint32_t cells, double eps)
{
    fre_pld d;
    double delta;

    assert_int_equal(fre_pld_compose(&d, c, cells, eps, FRE_PLD_LEAST, FRE_PLD_FINE, NULL), FRE_OK);
    delta = fre_pld_delta(&d, eps);
    fre_pld_wipe(&d);
    return delta;
}

static double seen(const fre_pld_cell *c, double eps)
{
    fre_heavy h;
    double n = -1;

    fre_heavy_init(&h, eps, c->p, c->tau, c->mu);
    (void)fre_heavy_supremum(&h, &n);
    return fre_heavy_at(&h, n);
}

/* One cell: the curve itself, but for chords and the supremum's tolerance. */
static void one_cell(void **state)
{
    static const fre_pld_cell cells[] = {{0.5, 50, 0.5, FRE_ADJACENCY_ADD_REMOVE},
                                         {0.1, 20, 0.3, FRE_ADJACENCY_ADD_REMOVE},
                                         {0.003, 9, 0.5, FRE_ADJACENCY_ADD_REMOVE},
                                         {0.5, 50, 0.5, FRE_ADJACENCY_REPLACE}};
    size_t i;
    double eps;

    (void)state;
    for (i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        for (eps = 0.21; eps < 6; eps *= 1.7) {
            double p = cells[i].p, odds = 1 + expm1(eps) / p, exact, got;

            if (cells[i].adjacency == FRE_ADJACENCY_REPLACE)
                odds = (1 - p) * expm1(eps) / p;
            if (odds >= 1)
                exact = p * seen(&cells[i], log(odds));
            else
                exact = p * (1 - odds + odds * seen(&cells[i], 0));
            got = delta_of(&cells[i], 1, eps);
            assert_true(got >= exact);
            assert_true(got <= exact * 1.03 + 1e-30);
        }
    }
}

/* More cells never cost less, and composing is never worse than adding up but for chords. */
static void against_basic_composition(void **state)
{
    static const fre_pld_cell cells[] = {{0.3, 30, 0.4, FRE_ADJACENCY_ADD_REMOVE},
                                         {0.3, 90, 0.7, FRE_ADJACENCY_ADD_REMOVE},
                                         {0.05, 20, 0.4, FRE_ADJACENCY_ADD_REMOVE},
                                         {0.3, 30, 0.4, FRE_ADJACENCY_REPLACE}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        double last = 0;
        uint32_t c;

        for (c = 1; c <= 8; c += c > 1 ? 3 : 1) {
            double now = delta_of(&cells[i], c, 3);

            assert_true(now >= last * (1 - 0.02));
            assert_true(now <= c * delta_of(&cells[i], 1, 3.0 / c) * 1.02);
            last = now;
        }
    }
}

static void many_cells(void **state)
{
    const fre_pld_cell c = {0.002, 200, 0.4, FRE_ADJACENCY_ADD_REMOVE};

    (void)state;
    assert_true(delta_of(&c, 50, 2) < 1e-6);
    assert_true(delta_of(&c, 2, 50) < 1e-30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adding),
        cmocka_unit_test(adding_in_three_cells),
        cmocka_unit_test(replacing),
        cmocka_unit_test(one_cell),
        cmocka_unit_test(against_basic_composition),
        cmocka_unit_test(many_cells),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
