/* The posterior of an embedding that was seen with noise. */
#include "prior_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <fre/linalg.h>

#define LN_2PI 1.8378770664093454836

fre_prior *prior_new(uint32_t dim)
{
    fre_prior *p = calloc(1, sizeof *p);

    if (!p)
        return NULL;
    p->mean = malloc(((size_t)dim + 2) * dim * sizeof *p->mean);
    if (!p->mean) {
        free(p);
        return NULL;
    }
    p->value = p->mean + dim;
    p->vector = p->value + dim;
    p->info.dim = dim;
    return p;
}

fre_status fre_prior_new(fre_prior **out, uint32_t dim, const float *mean, const float *value,
                         const float *vector, fre_err *err)
{
    const size_t d = dim;
    fre_prior *p = prior_new(dim);

    if (!p)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for a prior");
    memcpy(p->mean, mean, d * sizeof *mean);
    memcpy(p->value, value, d * sizeof *value);
    memcpy(p->vector, vector, d * d * sizeof *vector);
    *out = p;
    return FRE_OK;
}

void fre_prior_free(fre_prior *p)
{
    if (!p)
        return;
    fre_prior_card_wipe(&p->info.card);
    free(p->mean);
    free(p);
}

const fre_prior_info *fre_prior_info_view(const fre_prior *p)
{
    return &p->info;
}

const float *fre_prior_mean(const fre_prior *p)
{
    return p->mean;
}

const float *fre_prior_eigenvalues(const fre_prior *p)
{
    return p->value;
}

/* mu - V' diag(s^2 / (l + s^2)) V (mu - m): the formula of the header with what is kept written as
 * what is taken off, so that rounding vanishes with the noise. */
fre_status fre_prior_posterior_mean(const fre_prior *p, float *out, const float *mu,
                                    double noise_std)
{
    const size_t d = p->info.dim;
    const double s2 = noise_std * noise_std;
    float *from_mean;
    double *off;

    if (!(noise_std >= 0) || !isfinite(noise_std))
        return FRE_E_ARG;
    off = calloc(d, sizeof *off + sizeof *from_mean);
    if (!off)
        return FRE_E_NOMEM;
    from_mean = (float *)(void *)(off + d);
    for (size_t i = 0; i < d; i++)
        from_mean[i] = mu[i] - p->mean[i];
    for (size_t k = 0; s2 > 0 && k < d; k++) {
        const float *v = p->vector + k * d;
        const double a = s2 / ((double)p->value[k] + s2) * fre_dot(v, from_mean, d);

        for (size_t i = 0; i < d; i++)
            off[i] += a * (double)v[i];
    }
    for (size_t i = 0; i < d; i++)
        out[i] = (float)((double)mu[i] - off[i]);
    free(off);
    return FRE_OK;
}

void fre_prior_posterior_variance(const fre_prior *p, double *out, double noise_std)
{
    const double s2 = noise_std * noise_std;

    for (size_t k = 0; k < p->info.dim; k++) {
        const double l = (double)p->value[k];

        out[k] = isinf(s2) ? l : l * s2 / (l + s2);
    }
}

static double left_at(const fre_prior *p, double s2)
{
    double sum = 0;

    for (size_t k = 0; k < p->info.dim; k++)
        sum += (double)p->value[k] * s2 / ((double)p->value[k] + s2);
    return sum;
}

/* left_at rises with s^2: bisection of its logarithm. */
double fre_prior_noise_of(const fre_prior *p, double left)
{
    double low = log(1e-12 * (double)p->value[0]), high = log(1e6 * (double)p->value[0]);

    if (!(left > 0))
        return 0;
    for (int i = 0; i < 80; i++) {
        const double middle = (low + high) / 2;

        if (left_at(p, exp(middle)) < left)
            low = middle;
        else
            high = middle;
    }
    return exp(high / 2);
}

/* ln N(x; centre, V' diag(variance) V) of n rows. */
static fre_status log_density(const fre_prior *p, double *out, const float *x, size_t n,
                              const float *centre, const double *variance)
{
    const size_t d = p->info.dim;
    float *from = NULL, *along = NULL;
    double constant = (double)d * LN_2PI;
    fre_status st = FRE_E_NOMEM;

    if (n == 0)
        return FRE_OK;
    from = calloc(n, d * sizeof *from);
    along = malloc(n * d * sizeof *along);
    if (!from || !along)
        goto out;
    for (size_t i = 0; i < n * d; i++)
        from[i] = x[i] - centre[i % d];
    st = fre_products(along, from, n, p->vector, d, d, 1);
    if (st != FRE_OK)
        goto out;
    for (size_t k = 0; k < d; k++)
        constant += log(variance[k]);
    for (size_t i = 0; i < n; i++) {
        double sum = constant;

        for (size_t k = 0; k < d; k++) {
            const double a = (double)along[i * d + k];

            sum += a * a / variance[k];
        }
        out[i] = -0.5 * sum;
    }
out:
    free(from);
    free(along);
    return st;
}

fre_status fre_prior_log_density(const fre_prior *p, double *out, const float *x, size_t n)
{
    double *variance = malloc(p->info.dim * sizeof *variance);
    fre_status st;

    if (!variance)
        return FRE_E_NOMEM;
    for (size_t k = 0; k < p->info.dim; k++)
        variance[k] = (double)p->value[k];
    st = log_density(p, out, x, n, p->mean, variance);
    free(variance);
    return st;
}

fre_status fre_prior_posterior_log_density(const fre_prior *p, double *out, const float *x,
                                           size_t n, const float *mu, double noise_std)
{
    double *variance;
    float *centre;
    fre_status st;

    if (!(noise_std > 0) || !isfinite(noise_std))
        return FRE_E_ARG;
    variance = malloc(p->info.dim * (sizeof *variance + sizeof *centre));
    if (!variance)
        return FRE_E_NOMEM;
    centre = (float *)(void *)(variance + p->info.dim);
    fre_prior_posterior_variance(p, variance, noise_std);
    st = fre_prior_posterior_mean(p, centre, mu, noise_std);
    if (st == FRE_OK)
        st = log_density(p, out, x, n, centre, variance);
    free(variance);
    return st;
}
