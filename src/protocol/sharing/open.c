/* open.c - from both servers' sums to a centroid [Fre-E2T, A_server].  Nothing here is secret: the
 * sum with its noise is what is released. */
#include "sharing_private.h"

#include <math.h>
#include <stdlib.h>

int64_t sharing_lift(uint32_t word, uint32_t bits)
{
    const int64_t v = word & sharing_mask(bits);

    return v >= INT64_C(1) << (bits - 1) ? v - (INT64_C(1) << bits) : v;
}

int64_t sharing_guard(uint32_t bits)
{
    return (INT64_C(7) << (bits - 4)) - 1;
}

fre_status fre_share_open(float *centroid, const fre_rotation *rot, const fre_share_cell *cell,
                          const uint32_t *sum, size_t n, uint64_t answers, fre_err *err)
{
    int64_t limit;
    double factor;
    double *y;

    if (!centroid || !rot || !cell || !sum || n != cell->padded || n != rot->padded ||
        cell->dim != rot->dim || !sharing_bits_fit(cell->bits))
        return fre_fail(err, FRE_E_ARG, "the sizes of a sum and its cell do not agree");
    if (answers > cell->count || answers == 0)
        return fre_fail(err, FRE_E_ARG, "%llu answers for a cell of %llu",
                        (unsigned long long)answers, (unsigned long long)cell->count);
    if (answers < cell->answers_needed)
        return fre_fail(err, FRE_E_REFUSED,
                        "%llu answers for a cell that needs %llu to carry the planned noise",
                        (unsigned long long)answers, (unsigned long long)cell->answers_needed);
    limit = sharing_guard(cell->bits);
    for (size_t i = 0; i < n; i++) {
        const int64_t v = sharing_lift(sum[i], cell->bits);

        if (v > limit || v < -limit)
            return fre_fail(err, FRE_E_DATA,
                            "a cell's sum reaches the edge of its range: one of its shares was not "
                            "made as it must be; leave the cell out");
    }
    y = malloc(n * sizeof *y);
    if (!y)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < n; i++)
        y[i] = (double)sharing_lift(sum[i], cell->bits);
    fre_rotation_undo(rot, y);
    factor = cell->beta / (double)answers;
    for (uint32_t i = 0; i < cell->dim; i++)
        centroid[i] = (float)(y[i] * factor);
    free(y);
    return FRE_OK;
}

double fre_share_hidden_step(const fre_share_cell *cell)
{
    int exponent;
    /* least = fraction 2^exponent, fraction in [.5, 1) */
    const double fraction = frexp(8 * cell->beta / (double)cell->answers_needed, &exponent);

    return ldexp(1, fraction > 0.5 ? exponent : exponent - 1);
}

/* With a power of two rounding is exact, and the same everywhere. */
void fre_share_hide_answers(float *centroid, const fre_share_cell *cell)
{
    const double step = fre_share_hidden_step(cell);

    for (uint32_t i = 0; i < cell->dim; i++)
        centroid[i] = (float)(nearbyint((double)centroid[i] / step) * step);
}
