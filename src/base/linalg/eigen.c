/* eigen.c - eigenvalues and eigenvectors of a symmetric matrix: Householder reflections to
 * tridiagonal form, then QR steps with Wilkinson's shift, without forming Q or R (Golub and Van
 * Loan, Matrix Computations, 4th edition, sections 8.3.1 and 8.3.5).
 *
 * Vectors are kept as rows, so that a reflection and a rotation run along memory. */
#include <fre/linalg.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_PER_VALUE 60u /* two or three are usual */

static void identity(double *v, size_t n)
{
    memset(v, 0, n * n * sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i * n + i] = 1.0;
}

static void add_times(double *y, double a, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

/* Unit vector u whose reflection I - 2uu' takes x (m entries) to (*head, 0, ..., 0); false: x is
 * there already. */
static bool reflector(double *u, double *head, const double *x, size_t m)
{
    double rest = 0, norm, len;

    for (size_t i = 1; i < m; i++)
        rest += x[i] * x[i];
    *head = x[0];
    if (!(rest > 0))
        return false;
    norm = sqrt(x[0] * x[0] + rest);
    *head = x[0] > 0 ? -norm : norm; /* the sign that cannot cancel */
    memcpy(u, x, m * sizeof *u);
    u[0] -= *head;
    len = sqrt(u[0] * u[0] + rest);
    for (size_t i = 0; i < m; i++)
        u[i] /= len;
    return true;
}

/* A := (I - 2uu') A (I - 2uu') on the last m rows and columns. */
static void reflect_both(double *a, size_t n, const double *u, double *p, size_t m)
{
    double *block = a + (n - m) * (n + 1);
    double k = 0;

    for (size_t i = 0; i < m; i++) {
        p[i] = 0;
        for (size_t j = 0; j < m; j++)
            p[i] += block[i * n + j] * u[j];
    }
    for (size_t i = 0; i < m; i++)
        k += u[i] * p[i];
    for (size_t i = 0; i < m; i++)
        p[i] = 2.0 * (p[i] - k * u[i]);
    for (size_t i = 0; i < m; i++) {
        add_times(block + i * n, -u[i], p, m);
        add_times(block + i * n, -p[i], u, m);
    }
}

/* The last m rows of v := (I - 2uu') times them. */
static void reflect_rows(double *v, size_t n, const double *u, double *p, size_t m)
{
    double *rows = v + (n - m) * n;

    memset(p, 0, n * sizeof *p);
    for (size_t i = 0; i < m; i++)
        add_times(p, u[i], rows + i * n, n);
    for (size_t i = 0; i < m; i++)
        add_times(rows + i * n, -2.0 * u[i], p, n);
}

/* v a v' is tridiagonal: diagonal d, off-diagonal e (n - 1). */
static void tridiagonalise(double *a, double *v, double *d, double *e, double *u, double *p,
                           size_t n)
{
    identity(v, n);
    for (size_t k = 0; k + 1 < n; k++) {
        const size_t m = n - k - 1;

        /* Row k right of the diagonal: the matrix is symmetric. */
        if (reflector(u, &e[k], a + k * n + k + 1, m)) {
            reflect_both(a, n, u, p, m);
            reflect_rows(v, n, u, p, m);
        }
    }
    for (size_t k = 0; k < n; k++)
        d[k] = a[k * n + k];
}

/* One QR step on the block lo..hi with the rows of v turned along. */
static void qr_step(double *d, double *e, double *v, size_t n, size_t lo, size_t hi)
{
    const double half = (d[hi - 1] - d[hi]) / 2.0, off = e[hi - 1];
    const double shift = d[hi] - off * (off / (half + copysign(hypot(half, off), half)));
    double x = d[lo] - shift, z = e[lo];

    for (size_t k = lo; k < hi; k++) {
        const double r = hypot(x, z), c = r > 0 ? x / r : 1.0, s = r > 0 ? z / r : 0.0;
        const double dk = d[k], dn = d[k + 1], ek = e[k];
        double *up = v + k * n, *down = up + n;

        if (k > lo)
            e[k - 1] = r;
        d[k] = c * c * dk + 2.0 * c * s * ek + s * s * dn;
        d[k + 1] = s * s * dk - 2.0 * c * s * ek + c * c * dn;
        e[k] = c * s * (dn - dk) + (c * c - s * s) * ek;
        if (k + 1 < hi) {
            x = e[k];
            z = s * e[k + 1];
            e[k + 1] *= c;
        }
        for (size_t j = 0; j < n; j++) {
            const double a = up[j], b = down[j];

            up[j] = c * a + s * b;
            down[j] = c * b - s * a;
        }
    }
}

static bool negligible(const double *d, const double *e, size_t k)
{
    return fabs(e[k]) <= DBL_EPSILON * (fabs(d[k]) + fabs(d[k + 1])) || fabs(e[k]) < DBL_MIN;
}

static bool diagonalise(double *d, double *e, double *v, size_t n)
{
    size_t steps = STEPS_PER_VALUE * n;

    for (size_t hi = n - 1; hi > 0;) {
        size_t lo = hi;

        while (lo > 0 && !negligible(d, e, lo - 1))
            lo--;
        if (lo == hi) {
            e[--hi] = 0;
            continue;
        }
        if (steps-- == 0)
            return false;
        qr_step(d, e, v, n, lo, hi);
    }
    return true;
}

/* Largest value first; each vector's largest entry is positive, so that equal matrices give equal
 * vectors whatever the signs on the way. */
static void put_in_order(double *d, double *v, double *row, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t best = i, top = 0;
        double *x = v + i * n, *y, value;

        for (size_t j = i + 1; j < n; j++)
            if (d[j] > d[best])
                best = j;
        y = v + best * n;
        value = d[best];
        d[best] = d[i];
        d[i] = value;
        memcpy(row, y, n * sizeof *row);
        memmove(y, x, n * sizeof *x);
        for (size_t j = 1; j < n; j++)
            if (fabs(row[j]) > fabs(row[top]))
                top = j;
        for (size_t j = 0; j < n; j++)
            x[j] = row[top] < 0 ? -row[j] : row[j];
    }
}

fre_status fre_eigen_symmetric(double *values, double *vectors, const double *a, size_t n)
{
    double *copy, *e, scale = 0;
    fre_status st = FRE_OK;

    if (!values || !vectors || !a || n == 0 || n > FRE_EIGEN_MAX)
        return FRE_E_ARG;
    for (size_t i = 0; i < n * n; i++) {
        if (!isfinite(a[i]))
            return FRE_E_DATA;
        scale = fmax(scale, fabs(a[i]));
    }
    copy = malloc((n * n + 3 * n) * sizeof *copy);
    if (!copy)
        return FRE_E_NOMEM;
    e = copy + n * n;
    if (!(scale > 0))
        scale = 1.0;
    for (size_t i = 0; i < n; i++) /* squares can neither overflow nor vanish */
        for (size_t j = 0; j < n; j++)
            copy[i * n + j] = a[i <= j ? i * n + j : j * n + i] / scale;
    tridiagonalise(copy, vectors, values, e, e + n, e + 2 * n, n);
    if (!diagonalise(values, e, vectors, n))
        st = FRE_E_INTERNAL;
    for (size_t i = 0; i < n; i++)
        values[i] *= scale;
    put_in_order(values, vectors, e, n);
    free(copy);
    return st;
}
