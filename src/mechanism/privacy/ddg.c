/* Noise that users add themselves: the distributed discrete Gaussian [Fre-E2T, thm. distributed
 * discrete Gaussian, complete version] and one user's share of the noise. */
#include <fre/privacy.h>

#include <fre/linalg.h>

#include <math.h>

#include "joint.h"

#define EXACT_SUMMANDS 1000u

/* 10 sum_{j=1}^{users-1} exp(-2 pi^2 ratio^2 j/(j+1)): summands fall with j, so that those
 * beyond the first are bounded by the next one. */
static double convolution_gap(double ratio, uint64_t users)
{
    double rate = 2 * M_PI * M_PI * ratio * ratio, sum = 0;
    uint64_t j, last = users > 0 ? users - 1 : 0;

    for (j = 1; j <= last && j <= EXACT_SUMMANDS; j++)
        sum += exp(-rate * (double)j / (double)(j + 1));
    if (j <= last)
        sum += (double)(last - j + 1) * exp(-rate * (double)j / (double)(j + 1));
    return 10 * sum;
}

void fre_ddg_move(fre_ddg *out, double distance, double sigma, double beta, uint32_t d, double phi)
{
    double root = sqrt((double)d), sure = distance + beta * root, likely = HUGE_VAL, add, join;

    if (phi > 0)
        likely = sqrt(distance * distance + beta * beta * d / 4 +
                      sqrt(-2 * log(phi)) * beta * (distance + beta * root / 2));
    out->phi = likely < sure ? phi : 0;
    out->delta2 = likely < sure ? likely : sure;
    add = out->delta2 / sigma * (out->delta2 / sigma) / 2 + out->kappa * d;
    join = out->delta2 / sigma + out->kappa * root;
    join = join * join / 2;
    out->rho = add < join ? add : join;
}

void fre_ddg_account(fre_ddg *out, double split, double sigma, double sigma_local, double beta,
                     uint32_t d, uint64_t users, double phi)
{
    out->kappa = beta > 0 ? convolution_gap(sigma_local / beta, users) : 0;
    fre_ddg_move(out, split, sigma, beta, d, phi);
}

/* An answer more would be asked for where rounding of (1 - dropout) count alone passes a whole
 * number; one fewer means more noise, never less. */
uint64_t fre_answers_needed(const fre_mechanism *m, uint64_t count)
{
    double answers;

    if (m->dist.one_contact)
        return m->tau;
    answers = ceil((1 - m->dist.dropout) * (double)count * (1 - 1e-12));
    return answers > 1 ? (uint64_t)answers : 1;
}

/* What decides is public: with two contacts those who are needed, not those who came. */
uint32_t fre_cell_sums(const fre_mechanism *m, uint64_t count)
{
    const uint64_t members = m->dist.one_contact ? count : fre_answers_needed(m, count);

    return m->dist.splits && members / 3 >= m->tau ? 3 : 1;
}

uint64_t fre_sum_answers(const fre_mechanism *m, uint64_t count)
{
    const uint64_t answers = fre_answers_needed(m, count);

    return m->dist.one_contact ? answers : answers / fre_cell_sums(m, count);
}

double fre_sigma_local(const fre_mechanism *m, uint64_t count)
{
    const uint64_t answers = fre_sum_answers(m, count);

    if (m->dist.server_noise)
        return m->sigma;
    if (answers <= m->dist.curious)
        return 0;
    return m->sigma / sqrt((double)(answers - m->dist.curious));
}

double fre_sigma_published(const fre_mechanism *m, double sigma_local, uint64_t count)
{
    if (!m->dist.on)
        return m->sigma;
    return sigma_local * sqrt(m->dist.server_noise ? 2 : (double)count);
}

double fre_quantisation(double sigma_local, double split, uint32_t dim)
{
    return fmin(sigma_local / 2, 0.2 * split / sqrt((double)fre_hadamard_dim(dim)));
}
