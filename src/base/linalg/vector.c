/* vector.c - sums over one or two rows. */
#include "linalg_private.h"

#include <math.h>
#include <string.h>

double fre_dot(const float *x, const float *y, size_t n)
{
    return fre_linalg_kernels(0)->dot(x, y, n);
}

double fre_dist2(const float *x, const float *y, size_t n)
{
    return fre_linalg_kernels(0)->dist2(x, y, n);
}

double fre_norm(const float *x, size_t n)
{
    return sqrt(fre_dot(x, x, n));
}

double fre_normalise(float *x, size_t n)
{
    double norm = fre_norm(x, n);

    if (!(norm > 0) || !isfinite(norm))
        return norm;
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((double)x[i] / norm);
    return norm;
}

bool fre_is_finite_row(const float *x, size_t n)
{
    const uint32_t exponent = 0x7f800000u; /* all ones: infinity or NaN (IEEE 754 binary32) */
    uint32_t bad = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t bits;

        memcpy(&bits, &x[i], sizeof bits);
        bad |= (bits & exponent) == exponent;
    }
    return bad == 0;
}

bool fre_is_zero_row(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(x[i] >= 0 && x[i] <= 0)) /* not so for a NaN either */
            return false;
    return true;
}

uint32_t fre_hadamard_dim(uint32_t d)
{
    uint32_t plain = 1, twelve = 12;

    while (plain < d)
        plain *= 2;
    while (twelve < d)
        twelve *= 2;
    return plain < twelve ? plain : twelve;
}
