/* Eigenvalues and eigenvectors: matrices with known ones, and the defining identities. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/linalg.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "assert_num.h"
#include "mix.h"

#define N_MAX 96u

static double next_real(void) /* uniform on [-1, 1) */
{
    return 2.0 * mix_real() - 1.0;
}

static double a[N_MAX * N_MAX], v[N_MAX * N_MAX], value[N_MAX];

/* A v = v diag, v v' = 1, values descending, largest entry of each vector positive; to `tolerance`
 * of the largest entry of a (upper half). */
static void assert_decomposed(size_t n, double tolerance)
{
    double scale = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            scale = fmax(scale, fabs(a[i * n + j]));
    for (size_t k = 0; k < n; k++) {
        const double *x = v + k * n;
        double top = 0;

        assert_true(k == 0 || value[k - 1] >= value[k]);
        for (size_t i = 0; i < n; i++) {
            double y = 0;

            for (size_t j = 0; j < n; j++)
                y += a[i <= j ? i * n + j : j * n + i] * x[j];
            assert_true(fabs(y - value[k] * x[i]) <= tolerance * scale);
            if (fabs(x[i]) > fabs(top))
                top = x[i];
        }
        assert_true(top > 0);
        for (size_t l = 0; l <= k; l++) {
            double dot = 0;

            for (size_t i = 0; i < n; i++)
                dot += x[i] * v[l * n + i];
            assert_true(fabs(dot - (k == l ? 1.0 : 0.0)) <= tolerance);
        }
    }
}

static void random_matrices_are_decomposed(void **state)
{
    static const size_t sizes[] = {1, 2, 3, 4, 7, 16, 33, N_MAX};

    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t n = sizes[s];

        for (size_t i = 0; i < n * n; i++)
            a[i] = next_real(); /* the lower half is other rubbish, which is not read */
        assert_int_equal(fre_eigen_symmetric(value, v, a, n), FRE_OK);
        assert_decomposed(n, 1e-13 * (double)n);
    }
}

/* The second difference on n points has the values 2 - 2 cos(k pi / (n + 1)), k = 1..n. */
static void second_difference_has_its_cosines(void **state)
{
    const size_t n = 50;

    (void)state;
    memset(a, 0, sizeof a);
    for (size_t i = 0; i < n; i++) {
        a[i * n + i] = 2;
        if (i + 1 < n)
            a[i * n + i + 1] = -1;
    }
    assert_int_equal(fre_eigen_symmetric(value, v, a, n), FRE_OK);
    for (size_t k = 0; k < n; k++)
        assert_close(value[k],
                     2 - 2 * cos((double)(n - k) * 3.14159265358979323846 / (double)(n + 1)), 1e-13,
                     0);
    assert_decomposed(n, 1e-13);
}

/* uu' + 1: one value |u|^2 + 1 with vector u, the rest 1 with any basis of the others. */
static void equal_values_get_a_basis(void **state)
{
    const size_t n = 20;

    (void)state;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            a[i * n + j] = (double)(i + 1) * (double)(j + 1) + (i == j);
    assert_int_equal(fre_eigen_symmetric(value, v, a, n), FRE_OK);
    assert_close(value[0], 2870 + 1, 1e-9, 0); /* 1 + 4 + ... + 400 = 2870 */
    for (size_t i = 0; i < n; i++)
        assert_close(v[i], (double)(i + 1) / sqrt(2870), 1e-12, 0);
    for (size_t k = 1; k < n; k++)
        assert_close(value[k], 1, 1e-10, 0);
    assert_decomposed(n, 1e-12);
}

static void extreme_scales_keep_their_precision(void **state)
{
    static const double scale[] = {1e-300, 1e-160, 1e150, 1e300};
    const size_t n = 12;

    (void)state;
    for (size_t s = 0; s < sizeof scale / sizeof *scale; s++) {
        for (size_t i = 0; i < n * n; i++)
            a[i] = next_real() * scale[s];
        assert_int_equal(fre_eigen_symmetric(value, v, a, n), FRE_OK);
        for (size_t i = 0; i < n * n; i++)
            a[i] /= scale[s];
        for (size_t i = 0; i < n; i++)
            value[i] /= scale[s];
        assert_decomposed(n, 1e-12);
    }
}

static void diagonal_and_zero_matrices(void **state)
{
    const size_t n = 5;

    (void)state;
    memset(a, 0, sizeof a);
    assert_int_equal(fre_eigen_symmetric(value, v, a, n), FRE_OK);
    assert_decomposed(n, 0);
    for (size_t i = 0; i < n; i++) {
        assert_close(value[i], 0, 0, 0);
        a[i * n + i] = i == 3 ? -7 : (double)i;
    }
    assert_int_equal(fre_eigen_symmetric(value, v, a, n), FRE_OK);
    assert_decomposed(n, 0);
    assert_close(value[0], 4, 0, 0);
    assert_close(value[4], -7, 0, 0);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    a[0] = 1;
    assert_int_equal(fre_eigen_symmetric(value, v, a, 0), FRE_E_ARG);
    assert_int_equal(fre_eigen_symmetric(value, v, a, FRE_EIGEN_MAX + 1), FRE_E_ARG);
    assert_int_equal(fre_eigen_symmetric(NULL, v, a, 1), FRE_E_ARG);
    assert_int_equal(fre_eigen_symmetric(value, NULL, a, 1), FRE_E_ARG);
    assert_int_equal(fre_eigen_symmetric(value, v, NULL, 1), FRE_E_ARG);
    a[0] = (double)NAN;
    assert_int_equal(fre_eigen_symmetric(value, v, a, 1), FRE_E_DATA);
    a[0] = (double)INFINITY;
    assert_int_equal(fre_eigen_symmetric(value, v, a, 1), FRE_E_DATA);
    a[0] = -3;
    assert_int_equal(fre_eigen_symmetric(value, v, a, 1), FRE_OK);
    assert_close(value[0], -3, 0, 0);
    assert_close(v[0], 1, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_matrices_are_decomposed),
        cmocka_unit_test(second_difference_has_its_cosines),
        cmocka_unit_test(equal_values_get_a_basis),
        cmocka_unit_test(extreme_scales_keep_their_precision),
        cmocka_unit_test(diagonal_and_zero_matrices),
        cmocka_unit_test(arguments_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
