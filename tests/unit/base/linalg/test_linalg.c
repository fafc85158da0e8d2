/* Sums, products and nearest rows: against scalar loops to the bit, and whatever the threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/linalg.h>

#include "linalg_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "assert_num.h"
#include "mix.h"

/* Uniform on [-1, 1). */
static float next_float(void)
{
    return (float)((double)(mix_next() >> 40) * 0x1p-23 - 1.0);
}

static float *make_rows(size_t n)
{
    float *x = malloc((n > 0 ? n : 1) * sizeof *x);

    if (!x)
        abort();
    for (size_t i = 0; i < n; i++)
        x[i] = next_float();
    return x;
}

/* The sums as their definition says, one lane after the other. */
static double slow_sum(const float *x, const float *y, size_t n, bool differences)
{
    double lane[16] = {0};

    for (size_t i = 0; i < n; i++) {
        double a = (double)x[i], b = (double)y[i];

        lane[i % 16] += differences ? (a - b) * (a - b) : a * b;
    }
    for (size_t half = 8; half > 0; half /= 2) {
        for (size_t i = 0; i < half; i++)
            lane[i] += lane[i + half];
    }
    return lane[0];
}

static float slow_product(const float *x, const float *y, size_t d)
{
    float total = 0;

    for (size_t from = 0; from < d; from += 64) {
        float sum = 0;

        for (size_t k = from; k < d && k < from + 64; k++) {
            float term = x[k] * y[k];

            sum += term;
        }
        total += sum;
    }
    return total;
}

static void assert_same_bits(const void *a, const void *b, size_t n)
{
    assert_memory_equal(a, b, n);
}

static void every_kernel_gives_the_bits_of_the_definition(void **state)
{
    static const size_t sizes[] = {0, 1, 7, 15, 16, 17, 63, 64, 65, 383, 384, 385, 1024};
    const fre_kernels *k;
    size_t kernels = 0;

    (void)state;
    for (; (k = fre_linalg_kernels(kernels)) != NULL; kernels++) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            size_t d = sizes[s];
            float *a = make_rows(FRE_TILE_ROWS_MAX * d), *b = make_rows(16 * d);
            float *panel = fre_linalg_floats(16 * d);
            float out[FRE_TILE_ROWS_MAX * 16];
            const float *row[FRE_TILE_ROWS_MAX];
            double got, wanted;

            assert_non_null(panel);
            wanted = slow_sum(a, b, d, false);
            got = k->dot(a, b, d);
            assert_same_bits(&got, &wanted, sizeof got);
            wanted = slow_sum(a, b, d, true);
            got = k->dist2(a, b, d);
            assert_same_bits(&got, &wanted, sizeof got);
            fre_linalg_pack(panel, b, 16, d);
            for (size_t i = 0; i < FRE_TILE_ROWS_MAX; i++)
                row[i] = a + i * d;
            k->tile(out, row, panel, d);
            for (size_t i = 0; i < k->tile_rows; i++) {
                for (size_t j = 0; j < 16; j++) {
                    float element = slow_product(a + i * d, b + j * d, d);

                    assert_same_bits(&out[i * 16 + j], &element, sizeof element);
                }
            }
            free(panel);
            free(a);
            free(b);
        }
    }
    assert_true(kernels >= 1);
    assert_string_equal(fre_linalg_kernels(kernels - 1)->name, "portable");
}

static void sums_of_known_rows(void **state)
{
    float x[3] = {1, 2, 2}, y[3] = {1, 0, -1};

    (void)state;
    assert_close(fre_dot(x, y, 3), -1, 0, 0);
    assert_close(fre_dist2(x, y, 3), 13, 0, 0);
    assert_close(fre_norm(x, 3), 3, 0, 0);
    assert_close(fre_dot(x, y, 0), 0, 0, 0);
    x[0] = 3e38f; /* the square overflows a float, not the sum's double */
    assert_close(fre_norm(x, 1), (double)3e38f, 0, 1e-15);
}

static void normalise_makes_unit_rows(void **state)
{
    float *x = make_rows(385), zero[4] = {0}, small[2] = {0x1p-149f, 0}, bad[2] = {INFINITY, 1};
    double norm = fre_norm(x, 385);

    (void)state;
    assert_close(fre_normalise(x, 385), norm, 0, 0);
    assert_close(fre_norm(x, 385), 1, 1e-6, 0);
    assert_close(fre_normalise(zero, 4), 0, 0, 0);
    assert_close((double)zero[3], 0, 0, 0);
    assert_close(fre_normalise(small, 2), 0x1p-149, 0, 0);
    assert_close((double)small[0], 1, 0, 0);
    assert_true(isinf(fre_normalise(bad, 2)));
    assert_close((double)bad[1], 1, 0, 0);
    free(x);
}

static void finite_rows_are_told(void **state)
{
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    float x[33];

    (void)state;
    for (size_t i = 0; i < 33; i++)
        x[i] = i % 2 ? 3.4e38f : -0x1p-149f;
    assert_true(fre_is_finite_row(x, 33));
    assert_true(fre_is_finite_row(x, 0));
    for (size_t i = 0; i < 33; i++) {
        for (size_t j = 0; j < 3; j++) {
            float keep = x[i];

            x[i] = bad[j];
            assert_false(fre_is_finite_row(x, 33));
            x[i] = keep;
        }
    }
}

static void zero_rows_are_told(void **state)
{
    static const float other[] = {0x1p-149f, -1, INFINITY, NAN};
    float x[33] = {0};

    (void)state;
    x[1] = -0.0f;
    assert_true(fre_is_zero_row(x, 33));
    assert_true(fre_is_zero_row(x, 0));
    for (size_t i = 0; i < 33; i++)
        for (size_t j = 0; j < 4; j++) {
            x[i] = other[j];
            assert_false(fre_is_zero_row(x, 33));
            x[i] = 0;
        }
}

static void products_match_whatever_shape_and_threads(void **state)
{
    static const size_t shapes[][3] = {{1, 1, 1},     {1, 300, 5},    {13, 17, 384},
                                       {241, 15, 33}, {250, 600, 20}, {500, 33, 4200},
                                       {12, 16, 0}};

    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        size_t na = shapes[s][0], nb = shapes[s][1], d = shapes[s][2];
        float *a = make_rows(na * d), *b = make_rows(nb * d);
        float *out = malloc((na * nb + 1) * sizeof *out);

        assert_non_null(out);
        for (uint32_t threads = 1; threads <= 5; threads += 2) {
            memset(out, 0x7f, (na * nb + 1) * sizeof *out);
            assert_int_equal(fre_products(out, a, na, b, nb, d, threads), FRE_OK);
            for (size_t i = 0; i<na; i += na> 300 ? 37 : 1) {
                for (size_t j = 0; j < nb; j++) {
                    float element = slow_product(a + i * d, b + j * d, d);

                    assert_same_bits(&out[i * nb + j], &element, sizeof element);
                }
            }
            assert_same_bits(&out[na * nb], "\x7f\x7f\x7f\x7f", 4); /* nothing beyond the end */
        }
        free(a);
        free(b);
        free(out);
    }
}

static void products_check_arguments(void **state)
{
    float a[4] = {0}, out[4] = {5, 5, 5, 5};

    (void)state;
    assert_int_equal(fre_products(out, a, 2, a, 2, 2, 0), FRE_E_ARG);
    assert_int_equal(fre_products(NULL, a, 2, a, 2, 2, 1), FRE_E_ARG);
    assert_int_equal(fre_products(out, NULL, 2, a, 2, 2, 1), FRE_E_ARG);
    assert_int_equal(fre_products(out, a, 2, NULL, 2, 2, 1), FRE_E_ARG);
    assert_int_equal(fre_products(out, a, 0, a, 2, 2, 1), FRE_OK);
    assert_int_equal(fre_products(out, a, 2, a, 0, 2, 1), FRE_OK);
    assert_int_equal(fre_products(out, a, 2, a, 2, SIZE_MAX / 64, 1), FRE_E_NOMEM);
    for (size_t i = 0; i < 4; i++)
        assert_close((double)out[i], 5, 0, 0);
}

typedef struct hit {
    double d2;
    uint32_t index;
} hit;

static int by_distance_then_index(const void *a, const void *b)
{
    const hit *x = a, *y = b;

    if (x->d2 < y->d2 || x->d2 > y->d2)
        return x->d2 < y->d2 ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void assert_nearest(const float *query, size_t nq, const float *base, size_t nb, size_t d,
                           size_t k, uint32_t threads)
{
    uint32_t *index = calloc(nq * k, sizeof *index);
    double *dist = calloc(nq * k, sizeof *dist);
    hit *all = calloc(nb, sizeof *all);

    assert_non_null(index);
    assert_non_null(dist);
    assert_non_null(all);
    assert_int_equal(
        (fre_nearest(index, dist, (fre_rows){query, nq}, (fre_rows){base, nb}, d, k, threads)),
        FRE_OK);
    for (size_t i = 0; i < nq; i++) {
        for (size_t j = 0; j < nb; j++)
            all[j] = (hit){fre_dist2(query + i * d, base + j * d, d), (uint32_t)j};
        qsort(all, nb, sizeof *all, by_distance_then_index);
        for (size_t j = 0; j < k; j++) {
            assert_int_equal(index[i * k + j], all[j].index);
            assert_close(dist[i * k + j], sqrt(all[j].d2), 0, 0);
        }
    }
    free(index);
    free(dist);
    free(all);
}

static void nearest_is_exact(void **state)
{
    static const size_t shapes[][4] = {/* nq, nb, d, k */
                                       {1, 1, 1, 1},
                                       {3, 50, 20, 50},
                                       {300, 40, 384, 3},
                                       {20, 1500, 33, 10},
                                       {500, 700, 5, 1}};

    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        const size_t *n = shapes[s];
        float *query = make_rows(n[0] * n[2]), *base = make_rows(n[1] * n[2]);

        for (uint32_t threads = 1; threads <= 4; threads += 3)
            assert_nearest(query, n[0], base, n[1], n[2], n[3], threads);
        free(query);
        free(base);
    }
}

/* Rows that differ in their last bits, far from the origin: in ||a||^2 + ||b||^2 - 2<a,b> nothing
 * of their distances is left. */
static void nearest_survives_cancellation(void **state)
{
    enum { NB = 600, D = 48 };
    float *base = make_rows((size_t)NB * D), *query = make_rows(7 * D);

    (void)state;
    for (size_t i = 0; i < (size_t)NB * D; i++)
        base[i] = 1000.0f + base[i] * 1e-3f;
    for (size_t i = 0; i < 7 * D; i++)
        query[i] = 1000.0f + query[i] * 1e-3f;
    assert_nearest(query, 7, base, NB, D, 5, 2);
    free(base);
    free(query);
}

static void nearest_takes_the_lower_index_of_equals(void **state)
{
    enum { NB = 1000, D = 20, K = 7 };
    float *base = make_rows((size_t)NB * D);
    uint32_t index[K];
    double dist[K];

    (void)state;
    for (size_t j = 0; j < NB; j++) /* ten different rows, a hundred times each */
        memcpy(base + j * D, base + (j % 10) * D, D * sizeof *base);
    assert_int_equal(
        (fre_nearest(index, dist, (fre_rows){base + 3 * D, 1}, (fre_rows){base, NB}, D, K, 2)),
        FRE_OK);
    for (size_t j = 0; j < K; j++) {
        assert_int_equal(index[j], 3 + 10 * j);
        assert_close(dist[j], 0, 0, 0);
    }
    free(base);
}

static void nearest_survives_extreme_sizes(void **state)
{
    enum { NB = 300, D = 20 };
    float *base = make_rows((size_t)NB * D), *query = make_rows(4 * D);
    static const float scale[] = {1e-24f, 3e19f, 1e38f}; /* products underflow or overflow */

    (void)state;
    for (size_t s = 0; s < 3; s++) {
        float *b = make_rows((size_t)NB * D), *q = make_rows(4 * D);

        for (size_t i = 0; i < (size_t)NB * D; i++)
            b[i] = base[i] * scale[s];
        for (size_t i = 0; i < 4 * D; i++)
            q[i] = query[i] * scale[s];
        assert_nearest(q, 4, b, NB, D, 6, 1);
        for (size_t i = 0; i < (size_t)NB * D; i++) /* no term is positive: -infinity, not NaN */
            b[i] = -fabsf(b[i]);
        for (size_t i = 0; i < 4 * D; i++)
            q[i] = fabsf(q[i]);
        assert_nearest(q, 4, b, NB, D, 6, 1);
        free(b);
        free(q);
    }
    free(base);
    free(query);
}

static void nearest_checks_arguments(void **state)
{
    float x[6] = {0};
    uint32_t index[3] = {9, 9, 9};

    (void)state;
    assert_int_equal((fre_nearest(index, NULL, (fre_rows){x, 1}, (fre_rows){x, 3}, 2, 0, 1)),
                     FRE_E_ARG);
    assert_int_equal((fre_nearest(index, NULL, (fre_rows){x, 1}, (fre_rows){x, 3}, 2, 4, 1)),
                     FRE_E_ARG);
    assert_int_equal((fre_nearest(index, NULL, (fre_rows){x, 1}, (fre_rows){x, 3}, 2, 1, 0)),
                     FRE_E_ARG);
    assert_int_equal((fre_nearest(NULL, NULL, (fre_rows){x, 1}, (fre_rows){x, 3}, 2, 1, 1)),
                     FRE_E_ARG);
    assert_int_equal((fre_nearest(index, NULL, (fre_rows){NULL, 1}, (fre_rows){x, 3}, 2, 1, 1)),
                     FRE_E_ARG);
    assert_int_equal((fre_nearest(index, NULL, (fre_rows){x, 1}, (fre_rows){NULL, 3}, 2, 1, 1)),
                     FRE_E_ARG);
    assert_int_equal(index[0], 9);
    assert_int_equal((fre_nearest(index, NULL, (fre_rows){x, 0}, (fre_rows){x, 3}, 2, 1, 1)),
                     FRE_OK);
    assert_int_equal(index[0], 9);
    assert_int_equal((fre_nearest(index, NULL, (fre_rows){x, 1}, (fre_rows){x, 3}, 2, 3, 9)),
                     FRE_OK);
    assert_int_equal(index[2], 2);
}

/* ---- both ways ------------------------------------------------------------------------------------- */

/* Both lists are those of fre_nearest to the bit, whatever the parts that b comes in. */
static void assert_both(const float *a, size_t na, const float *b, size_t nb, size_t d, size_t part,
                        uint32_t threads)
{
    double *to_b = malloc(na * sizeof *to_b), *to_a = malloc(nb * sizeof *to_a);

    assert_non_null(to_b);
    assert_non_null(to_a);
    for (size_t i = 0; i < na; i++)
        to_b[i] = (double)INFINITY;
    for (size_t j = 0; j < nb; j++)
        to_a[j] = (double)INFINITY;
    for (size_t at = 0; at < nb; at += part) {
        const fre_rows some = {b + at * d, nb - at < part ? nb - at : part};

        assert_int_equal((fre_nearest_both(to_b, to_a + at, (fre_rows){a, na}, some, d, threads)),
                         FRE_OK);
    }
    for (size_t i = 0; i < na; i++) {
        double least = (double)INFINITY;

        for (size_t j = 0; j < nb; j++)
            least = fmin(least, fre_dist2(a + i * d, b + j * d, d));
        assert_close(to_b[i], least, 0, 0);
    }
    for (size_t j = 0; j < nb; j++) {
        double least = (double)INFINITY;

        for (size_t i = 0; i < na; i++)
            least = fmin(least, fre_dist2(a + i * d, b + j * d, d));
        assert_close(to_a[j], least, 0, 0);
    }
    free(to_b);
    free(to_a);
}

static void both_ways_are_exact(void **state)
{
    static const size_t shapes[][4] = {/* na, nb, d, rows of b at once */
                                       {1, 1, 1, 1},        {3, 50, 20, 50},    {50, 3, 20, 2},
                                       {300, 40, 384, 17},  {20, 700, 33, 700}, {500, 333, 5, 100},
                                       {241, 161, 384, 161}};

    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        const size_t *n = shapes[s];
        float *a = make_rows(n[0] * n[2]), *b = make_rows(n[1] * n[2]);

        for (uint32_t threads = 1; threads <= 4; threads += 3)
            assert_both(a, n[0], b, n[1], n[2], n[3], threads);
        free(a);
        free(b);
    }
}

/* Where floats tell nothing, or overflow: rows that differ in their last bits far from the origin, huge and
 * tiny ones, equal ones. */
static void both_ways_survive_extreme_sizes(void **state)
{
    static const float scale[] = {1e-22f, 1e-19f, 1, 1e10f, 3e18f, 1e38f};
    enum { NA = 120, NB = 70, D = 48 };

    (void)state;
    for (size_t s = 0; s < sizeof scale / sizeof *scale; s++)
        for (int spread = 0; spread < 2; spread++) {
            float *a = make_rows(NA * D), *b = make_rows(NB * D);

            for (size_t i = 0; i < NA * D; i++)
                a[i] = scale[s] * (spread ? a[i] / 20 : 1 + a[i] * 1e-6f);
            for (size_t i = 0; i < NB * D; i++)
                b[i] = scale[s] * (spread ? b[i] / 20 : 1 + b[i] * 1e-6f);
            memcpy(b, a + 5 * D, D * sizeof *b);
            memcpy(a + 7 * D, a + 5 * D, D * sizeof *b);
            a[9 * D] *= 1e-3f;
            assert_both(a, NA, b, NB, D, 16, 1);
            assert_both(a, NA, b, NB, D, NB, 3);
            free(a);
            free(b);
        }
}

static void both_ways_lower_what_is_there(void **state)
{
    const float a[] = {0, 0, 3, 4}, b[] = {0, 1};
    double to_b[] = {.5, 100}, to_a[] = {.25};

    (void)state;
    assert_int_equal((fre_nearest_both(to_b, to_a, (fre_rows){a, 2}, (fre_rows){b, 1}, 2, 2)),
                     FRE_OK);
    assert_close(to_b[0], .5, 0, 0); /* less than 1 */
    assert_close(to_b[1], 18, 0, 0);
    assert_close(to_a[0], .25, 0, 0);
    assert_int_equal((fre_nearest_both(to_b, to_a, (fre_rows){a, 0}, (fre_rows){b, 1}, 2, 2)),
                     FRE_OK);
    assert_int_equal((fre_nearest_both(to_b, to_a, (fre_rows){a, 2}, (fre_rows){b, 0}, 2, 2)),
                     FRE_OK);
    assert_close(to_b[1], 18, 0, 0);
    assert_int_equal((fre_nearest_both(NULL, to_a, (fre_rows){a, 2}, (fre_rows){b, 1}, 2, 2)),
                     FRE_E_ARG);
    assert_int_equal((fre_nearest_both(to_b, NULL, (fre_rows){a, 2}, (fre_rows){b, 1}, 2, 2)),
                     FRE_E_ARG);
    assert_int_equal((fre_nearest_both(to_b, to_a, (fre_rows){NULL, 2}, (fre_rows){b, 1}, 2, 2)),
                     FRE_E_ARG);
    assert_int_equal((fre_nearest_both(to_b, to_a, (fre_rows){a, 2}, (fre_rows){NULL, 1}, 2, 2)),
                     FRE_E_ARG);
    assert_int_equal((fre_nearest_both(to_b, to_a, (fre_rows){a, 2}, (fre_rows){b, 1}, 0, 2)),
                     FRE_E_ARG);
    assert_int_equal((fre_nearest_both(to_b, to_a, (fre_rows){a, 2}, (fre_rows){b, 1}, 2, 0)),
                     FRE_E_ARG);
}

static void an_interruption_ends_both_searches(void **state)
{
    const float a[] = {0, 0, 3, 4}, b[] = {0, 1};
    double to_b[] = {100, 100}, to_a[] = {100};
    uint32_t at[] = {7, 7};

    (void)state;
    fre_interrupt_set();
    assert_int_equal((fre_nearest(at, NULL, (fre_rows){a, 2}, (fre_rows){b, 1}, 2, 1, 1)),
                     FRE_E_INTERRUPTED);
    assert_int_equal((fre_nearest_both(to_b, to_a, (fre_rows){a, 2}, (fre_rows){b, 1}, 2, 1)),
                     FRE_E_INTERRUPTED);
    fre_interrupt_clear();
    assert_int_equal(at[0], 7); /* nothing was looked for */
    assert_close(to_a[0], 100, 0, 0);
}

static void hadamard_dimension_is_the_least_that_fits(void **state)
{
    static const uint32_t want[][2] = {
        {1, 1},     {2, 2},     {3, 4},     {9, 12},     {12, 12},     {13, 16},    {17, 24},
        {384, 384}, {385, 512}, {768, 768}, {769, 1024}, {1024, 1024}, {1025, 1536}};

    (void)state;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        assert_int_equal(fre_hadamard_dim(want[i][0]), want[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hadamard_dimension_is_the_least_that_fits),
        cmocka_unit_test(every_kernel_gives_the_bits_of_the_definition),
        cmocka_unit_test(sums_of_known_rows),
        cmocka_unit_test(normalise_makes_unit_rows),
        cmocka_unit_test(finite_rows_are_told),
        cmocka_unit_test(zero_rows_are_told),
        cmocka_unit_test(products_match_whatever_shape_and_threads),
        cmocka_unit_test(products_check_arguments),
        cmocka_unit_test(nearest_is_exact),
        cmocka_unit_test(nearest_survives_cancellation),
        cmocka_unit_test(nearest_takes_the_lower_index_of_equals),
        cmocka_unit_test(nearest_survives_extreme_sizes),
        cmocka_unit_test(nearest_checks_arguments),
        cmocka_unit_test(both_ways_are_exact),
        cmocka_unit_test(both_ways_survive_extreme_sizes),
        cmocka_unit_test(an_interruption_ends_both_searches),
        cmocka_unit_test(both_ways_lower_what_is_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
