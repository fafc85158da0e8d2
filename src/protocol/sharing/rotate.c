/* rotate.c - orthonormal Hadamard transforms of order 2^n and 12 2^n after random signs.
 *
 * Paley's matrix of order 12: with chi the quadratic character mod 11 (1, 3, 4, 5, 9 are squares)
 * and Q_ij = chi(i - j), which is skew because 11 = 3 mod 4, H = I + S with S = [0 1; -1' Q] has
 * H H' = 12 I.  Order 12 2^n is its Kronecker product with Sylvester's matrix of order 2^n.
 *
 * Sums are taken in a fixed order and products are with +-1 but for one scaling, so that every
 * machine with IEEE doubles computes the same bits. */
#include "sharing_private.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#if FLT_EVAL_METHOD != 0
#error "doubles must be computed as doubles: other parties would rotate by other numbers"
#endif

#define PALEY 12u
#define COLUMNS 8u
#define INLINE static inline __attribute__((always_inline))

static const double paley[PALEY][PALEY] = {
    {+1, +1, +1, +1, +1, +1, +1, +1, +1, +1, +1, +1},
    {-1, +1, -1, +1, -1, -1, -1, +1, +1, +1, -1, +1},
    {-1, +1, +1, -1, +1, -1, -1, -1, +1, +1, +1, -1},
    {-1, -1, +1, +1, -1, +1, -1, -1, -1, +1, +1, +1},
    {-1, +1, -1, +1, +1, -1, +1, -1, -1, -1, +1, +1},
    {-1, +1, +1, -1, +1, +1, -1, +1, -1, -1, -1, +1},
    {-1, +1, +1, +1, -1, +1, +1, -1, +1, -1, -1, -1},
    {-1, -1, +1, +1, +1, -1, +1, +1, -1, +1, -1, -1},
    {-1, -1, -1, +1, +1, +1, -1, +1, +1, -1, +1, -1},
    {-1, -1, -1, -1, +1, +1, +1, -1, +1, +1, -1, +1},
    {-1, +1, -1, -1, -1, +1, +1, +1, -1, +1, +1, -1},
    {-1, -1, +1, -1, -1, -1, +1, +1, +1, -1, +1, +1},
};

/* Sylvester's matrix of order m = 2^k, unscaled. */
static void sylvester(double *y, size_t m)
{
    for (size_t half = 1; half < m; half *= 2)
        for (size_t at = 0; at < m; at += 2 * half)
            for (size_t i = at; i < at + half; i++) {
                const double a = y[i], b = y[i + half];

                y[i] = a + b;
                y[i + half] = a - b;
            }
}

/* Paley's matrix on the twelve blocks of m entries, for `width` columns at once. */
INLINE void mix(double *y, size_t m, const size_t width, bool transposed)
{
    double in[PALEY][COLUMNS], out[COLUMNS];

    for (size_t j = 0; j < PALEY; j++)
        for (size_t c = 0; c < width; c++)
            in[j][c] = y[j * m + c];
    for (size_t i = 0; i < PALEY; i++) {
        for (size_t c = 0; c < width; c++)
            out[c] = 0;
        for (size_t j = 0; j < PALEY; j++) {
            const double sign = transposed ? paley[j][i] : paley[i][j];

            for (size_t c = 0; c < width; c++)
                out[c] += sign * in[j][c];
        }
        for (size_t c = 0; c < width; c++)
            y[i * m + c] = out[c];
    }
    fre_wipe(in, sizeof in);
    fre_wipe(out, sizeof out);
}

void sharing_hadamard(double *y, size_t n, bool transposed)
{
    const bool twelve = n % PALEY == 0;
    const size_t blocks = twelve ? PALEY : 1, m = n / blocks;
    size_t at = 0;

    for (size_t b = 0; b < blocks; b++)
        sylvester(y + b * m, m);
    if (!twelve)
        return;
    for (; at + COLUMNS <= m; at += COLUMNS)
        mix(y + at, m, COLUMNS, transposed);
    for (; at < m; at++)
        mix(y + at, m, 1, transposed);
}

fre_status fre_rotation_new(fre_rotation **out, uint32_t dim,
                            const uint8_t sign_seed[FRE_SIGN_SEED_BYTES])
{
    uint8_t bit[SHARING_WORDS_MAX / 8];
    fre_rotation *r;
    uint32_t n;
    fre_status st;

    if (!out || !sign_seed || dim == 0 || dim > FRE_SHARING_DIM_MAX)
        return FRE_E_ARG;
    n = fre_hadamard_dim(dim);
    st = sharing_keystream(bit, (n + 7) / 8, sign_seed, sign_seed + FRE_SIGN_SEED_BYTES / 2);
    if (st != FRE_OK)
        return st;
    r = malloc(sizeof *r + n * sizeof r->sign[0]);
    if (!r)
        return FRE_E_NOMEM;
    r->dim = dim;
    r->padded = n;
    r->scale = 1 / sqrt((double)n);
    for (uint32_t i = 0; i < n; i++)
        r->sign[i] = (bit[i / 8] >> (i % 8) & 1) != 0 ? -1 : 1;
    *out = r;
    return FRE_OK;
}

void fre_rotation_free(fre_rotation *r)
{
    free(r);
}

uint32_t fre_rotation_padded(const fre_rotation *r)
{
    return r->padded;
}

void fre_rotation_apply(const fre_rotation *r, double *out, const float *x)
{
    for (uint32_t i = 0; i < r->dim; i++)
        out[i] = r->sign[i] * (double)x[i];
    for (uint32_t i = r->dim; i < r->padded; i++)
        out[i] = 0;
    sharing_hadamard(out, r->padded, false);
    for (uint32_t i = 0; i < r->padded; i++)
        out[i] *= r->scale;
}

void fre_rotation_undo(const fre_rotation *r, double *y)
{
    sharing_hadamard(y, r->padded, true);
    for (uint32_t i = 0; i < r->padded; i++)
        y[i] *= r->sign[i] * r->scale;
}
