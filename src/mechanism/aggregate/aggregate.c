/* aggregate/aggregate.c - [Fre-E2T, Alg. 1, lines "heavy" to "centroid"]; see fre/aggregate.h. */
#include <fre/aggregate.h>

#include <fre/linalg.h>

#include <math.h>
#include <string.h>

bool fre_aggregate_coin(fre_rng *coins, uint64_t p32)
{
    return fre_sample_coin(coins, p32);
}

fre_status fre_aggregate_coins(fre_rng *out, const fre_coin_key *key, uint32_t level,
                               const uint8_t *user, const uint8_t *text)
{
    uint8_t name[5 + 2 * FRE_COIN_ID_BYTES] = {user != NULL};

    for (unsigned i = 0; i < sizeof level; i++)
        name[1 + i] = (uint8_t)(level >> 8 * i);
    if (user)
        memcpy(name + 5, user, FRE_COIN_ID_BYTES);
    memcpy(name + 5 + FRE_COIN_ID_BYTES, text, FRE_COIN_ID_BYTES);
    return fre_rng_init_named(out, key->b, name, sizeof name);
}

bool fre_aggregate_released(uint64_t count, uint64_t tau)
{
    return count >= tau;
}

/* Norms are at most B, which the worst-case epsilon relies on; projection onto a ball brings no
 * two points further apart.  The last factor keeps the clipped norm's rounding below B. */
static double clip_factor(const float *x, size_t dim, double bound)
{
    const double norm = fre_norm(x, dim);

    return norm > bound ? bound / norm * (1 - 1e-12) : 1;
}

static void cut(float *x, size_t dim, double bound)
{
    const double factor = clip_factor(x, dim, bound);

    for (size_t j = 0; factor < 1 && j < dim; j++)
        x[j] = (float)((double)x[j] * factor);
}

bool fre_aggregate_clip(float *x, size_t dim, double bound)
{
    for (size_t j = 0; j < dim; j++)
        if (!isfinite(x[j]))
            return false;
    cut(x, dim, bound);
    return true;
}

fre_status fre_aggregate_add(int64_t *sum, const float *x, size_t dim, uint64_t times,
                             const fre_aggregate_lattice *l)
{
    const double scale = clip_factor(x, dim, l->norm_bound) / l->step;
    /* |q| < limit keeps every partial sum of that many points, and noise, inside 2^62. */
    const double limit = ldexp(1, 61) / ((double)l->points + 1);

    for (size_t j = 0; j < dim; j++) {
        if (!(fabs((double)x[j] * scale) < limit))
            return FRE_E_DATA;
    }
    for (size_t j = 0; j < dim; j++)
        sum[j] += (int64_t)times * (int64_t)lrint((double)x[j] * scale);
    return FRE_OK;
}

fre_status fre_aggregate_add_record(int64_t *sum, float *x, size_t dim, uint64_t times,
                                    const float *centre, double norm_bound,
                                    const fre_aggregate_lattice *l)
{
    if (centre && !fre_aggregate_clip(x, dim, norm_bound))
        return FRE_E_ARG;
    if (centre)
        fre_aggregate_offset(x, centre, dim, l->norm_bound);
    return fre_aggregate_add(sum, x, dim, times, l);
}

void fre_aggregate_noise(int64_t *sum, size_t dim, fre_rng *noise, uint64_t sigma_lattice)
{
    if (sigma_lattice == 0)
        return;
    for (size_t j = 0; j < dim; j++)
        sum[j] += fre_sample_rounded_gaussian(noise, sigma_lattice);
}

void fre_aggregate_mean(float *mean, const int64_t *sum, size_t dim, double step, uint64_t count)
{
    for (size_t j = 0; j < dim; j++)
        mean[j] = (float)((double)sum[j] * step / (double)count);
}

/* ---- levels of public cells -------------------------------------------------------------------- */

int64_t fre_aggregate_noisy_count(uint64_t count, fre_rng *counts, uint64_t sigma_lattice)
{
    const int64_t exact = (int64_t)(count << FRE_COUNT_BITS);

    return sigma_lattice == 0 ? exact : exact + fre_sample_rounded_gaussian(counts, sigma_lattice);
}

bool fre_aggregate_noisy_released(int64_t noisy, uint64_t threshold)
{
    return noisy >= (int64_t)(threshold << FRE_COUNT_BITS);
}

uint64_t fre_aggregate_published_count(int64_t noisy)
{
    const int64_t half = (int64_t)1 << (FRE_COUNT_BITS - 1);

    return noisy < half ? 1 : (uint64_t)((noisy + half) >> FRE_COUNT_BITS);
}

void fre_aggregate_offset(float *x, const float *centre, size_t dim, double radius)
{
    for (size_t j = 0; j < dim; j++)
        x[j] -= centre[j];
    cut(x, dim, radius);
}

void fre_aggregate_from_centre(float *mean, const float *centre, size_t dim, double gain,
                               double radius)
{
    const double norm = gain * fre_norm(mean, dim);
    const double factor = norm > radius ? gain * radius / norm : gain;

    for (size_t j = 0; j < dim; j++)
        mean[j] = (float)((double)centre[j] + factor * (double)mean[j]);
}
