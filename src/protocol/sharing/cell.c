/* cell.c - numbers that all parties derive from public ones: a cell's noise and lattice, and the
 * bits of the collection's residues. */
#include "sharing_private.h"

#include <fre/param.h>

#include <float.h>
#include <math.h>

/* Rotated embeddings are doubles, cut off at 2^-53 of a step.  Rounding moves one of them by less
 * than 2^-47 B (at most 13 butterflies, twelve terms of Paley's rows, three products: 53 units of
 * 2^-53 of its norm), the cut by less than sqrt(D) beta 2^-53.  Two of them at distance split then
 * are farther apart by a part of less than 2^-33, with the limits below.  A variance larger by 2^-30
 * than planned makes up for it, and for the rounding of sigma_local and of the ratio. */
#define ROUNDING_SLACK 0x1p-30
#define NORM_TO_SPLIT_MAX 0x1p12
#define STEP_TO_SPLIT_MAX 0x1p18 /* sqrt(D) beta / split; .2 by the protocol's rule */

/* ln 2, rounded up. */
#define LN2_UP 0.69314718055994540

/* ln of 1/(the chance that the guard meets honest shares), in units of ln 2. */
#define GUARD_BITS 40u

/* The largest share of lattice steps in an embedding's norm: far above what 32 bits hold, and such
 * that coordinates are integers of a double. */
#define STEPS_MAX 0x1p45

/* What is shared is at most so long: B, or R of public cells. */
static double reach_of(const fre_mechanism *m)
{
    return fre_sketch_reach(&m->sketch, m->norm_bound);
}

static fre_status check(const fre_mechanism *m, double split, uint64_t count, fre_err *err)
{
    const fre_param_value fields[] = {
        {&fre_param_dimension, m->dim},        {&fre_param_norm_bound, reach_of(m)},
        {&fre_param_sigma, m->sigma},          {&fre_param_lattice_step, m->lattice_step},
        {&fre_param_dropout, m->dist.dropout}, {&fre_param_split, split},
    };
    fre_status st;

    if (!m->dist.on || m->noise != FRE_NOISE_DISCRETE)
        return fre_fail(err, FRE_E_USAGE,
                        "shares carry users' discrete noise: plan for {distributed}");
    st = fre_param_check_all(fields, sizeof fields / sizeof fields[0], err);
    if (st != FRE_OK)
        return st;
    if (!(reach_of(m) / split <= NORM_TO_SPLIT_MAX))
        return fre_fail(err, FRE_E_USAGE,
                        "the plan's split distance must be above {norm_bound} / 4096");
    if (m->tau < 1 || count < m->tau || count > FRE_PRIVACY_POPULATION_MAX)
        return fre_fail(err, FRE_E_USAGE,
                        "a cell's count must be at least the threshold, %llu, and at most 1e12",
                        (unsigned long long)m->tau);
    if (fre_sigma_local(m, m->tau) <= 0)
        return fre_fail(err, FRE_E_USAGE,
                        "of the %llu answers in the smallest released cell, none would be left to "
                        "carry noise: lower {curious_users} or {dropout}",
                        (unsigned long long)fre_answers_needed(m, m->tau));
    return FRE_OK;
}

static double step(const fre_mechanism *m, double split, double local)
{
    return m->lattice_step > 0 ? m->lattice_step : fre_quantisation(local, split, m->dim);
}

static fre_status check_step(const fre_mechanism *m, double split, double beta, fre_err *err)
{
    if (!(reach_of(m) / beta <= STEPS_MAX))
        return fre_fail(err, FRE_E_LIMIT,
                        "an embedding is more than 2^45 lattice steps long: lower {epsilon} or "
                        "{sampling_rate}");
    if (!(sqrt((double)fre_hadamard_dim(m->dim)) * beta / split <= STEP_TO_SPLIT_MAX))
        return fre_fail(err, FRE_E_LIMIT,
                        "the lattice is far coarser than the distances it is to keep: leave its "
                        "step to the protocol");
    return FRE_OK;
}

fre_status fre_share_cell_init(fre_share_cell *out, const fre_mechanism *m, double split,
                               uint64_t count, uint32_t bits, fre_err *err)
{
    fre_share_cell c = {.bits = bits, .count = count};
    double ratio, var16;
    fre_status st;

    if (!out || !m || !sharing_bits_fit(bits))
        return fre_fail(err, FRE_E_ARG, "a share's residues have %u to %u bits",
                        FRE_SHARING_BITS_MIN, FRE_SHARING_BITS_MAX);
    st = check(m, split, count, err);
    if (st != FRE_OK)
        return st;
    c.dim = m->dim;
    c.padded = fre_hadamard_dim(m->dim);
    c.norm_bound = reach_of(m);
    c.answers_needed = fre_sum_answers(m, count);
    c.sigma_local = fre_sigma_local(m, count);
    c.beta = step(m, split, c.sigma_local);
    st = check_step(m, split, c.beta, err);
    if (st != FRE_OK)
        return st;
    ratio = c.sigma_local / c.beta;
    var16 = ceil(ratio * ratio * (1 + ROUNDING_SLACK) * (double)FRE_VARIANCE_ONE);
    if (!(var16 <= (double)FRE_VARIANCE_MAX))
        return fre_fail(err, FRE_E_LIMIT,
                        "one %s's noise would be %.0f lattice steps, and 1024 is the limit: "
                        "raise {threshold} or {epsilon}, or lower {curious_users}",
                        m->dist.server_noise ? "server" : "user", ratio);
    c.var16 = (uint64_t)var16;
    *out = c;
    return FRE_OK;
}

/* ---- bits ------------------------------------------------------------------------------------ */

/* The sum's noise, variance in steps, of any cell of tau <= count <= largest: at most count answers
 * of r(count)^2 each, r = sigma_local/beta, and n(count) answers needed, sigma_local^2 =
 * sigma^2/(n - w).
 *
 * Two-phase: count <= n/(1 - dropout), so count sigma_local^2 <= sigma^2/(1 - dropout) n/(n - w),
 * which falls with n and n grows with count.  One-shot: n = tau, so it grows with count.  By the
 * protocol's rule beta is sigma_local/2 or a constant, whichever is less: r^2 is 4 or
 * (sigma_local/constant)^2, whichever is more.  Servers' noise: two draws of sigma, whatever the
 * count.
 *
 * A third of a cell that is summed in thirds has fewer summands, and one-shot or by servers no more noise.
 * Two-phase: with k = floor(n/3) >= tau answers needed in a third it has at most (count + 2)/3 <=
 * (k + 4/3)/(1 - dropout), of sigma^2/(k - w) each: (k + 4/3)/(k - w) falls with k, and at tau it is at most
 * (1 + 2/tau) n(tau)/(n(tau) - w). */
static double noise_variance(const fre_mechanism *m, double split, double largest)
{
    const double n = (double)fre_answers_needed(m, m->tau);
    const double local = fre_sigma_local(m, m->tau);
    const double constant = step(m, split, DBL_MAX);
    const double users = m->dist.server_noise ? 2
                         : m->dist.one_contact
                             ? largest
                             : n / (1 - m->dist.dropout) * (1 + 4e-12) * /* fre_answers_needed's */
                                   (m->dist.splits ? 1 + 2 / (double)m->tau : 1);
    const double likely = users * (local / constant) * (local / constant);
    const double least = m->lattice_step > 0 ? 0 : 4 * (m->dist.server_noise ? 2 : largest);

    /* var16 is rounded up: at most 2^-16 and a part of 2^-30 more a user. */
    return fmax(likely, least) * (1 + 2 * ROUNDING_SLACK) + largest / (double)FRE_VARIANCE_ONE;
}

/* ceil(log2 x), x >= 1. */
static uint32_t log2_up(uint64_t x)
{
    uint32_t k = 0;

    while (k < 63 && UINT64_C(1) << k < x)
        k++;
    return k;
}

/* One coordinate of the sum over a cell of c clients, in steps, is S = <h, X> + R + A.  h is a row
 * of H D_xi: entries +-1/sqrt(D) with independent random signs, and X, the sum of embeddings over
 * beta, has norm at most c B/beta, so <h, X> is sub-Gaussian with variance factor (cB/beta)^2/D
 * (Hoeffding).  R, the roundings, are independent, of mean 0 and range 1 given the signs: c/4.  A,
 * the discrete Gaussians: sub-Gaussian with their own variance factor [CKS20].  The moment
 * generating functions multiply, hence for s^2 the sum of the factors
 *     Pr[|S| >= M] <= 2 exp(-M^2/(2 s^2)),
 * and D coordinates of all cells stay within M = s sqrt(2 ln(2 D cells 2^41)) but for 2^-41.  s
 * grows with c (beta falls with it).  The other 2^-41 is for draws from tables, off their law by
 * 2^-100 each: D cells c <= 2^59 of them.  With logarithms rounded up to whole bits, nothing but
 * square roots is taken, and all parties get the same b. */
fre_status fre_share_bits(uint32_t *out, const fre_mechanism *m, double split, uint64_t largest,
                          uint64_t cells, fre_err *err)
{
    double c = (double)largest, signal, reach, d;
    fre_mechanism whole;
    uint32_t b, log2_draws;
    fre_status st;

    if (!out || !m || cells == 0)
        return fre_fail(err, FRE_E_ARG, "there must be a cell to share");
    st = check(m, split, largest, err);
    if (st != FRE_OK)
        return st;
    d = fre_hadamard_dim(m->dim);
    log2_draws = log2_up((uint64_t)d) + log2_up(cells);
    if (log2_draws + log2_up(largest) > 59)
        return fre_fail(err, FRE_E_LIMIT, "more than 2^59 draws of noise in one collection");
    whole = *m; /* has the finer steps, and more to add up, than a third */
    whole.dist.splits = false;
    signal = c * reach_of(m) / step(m, split, fre_sigma_local(&whole, largest));
    reach = sqrt(signal * signal / d + c / 4 + noise_variance(m, split, c)) *
            sqrt(2 * LN2_UP * (1 + GUARD_BITS + 1 + log2_draws));
    reach = reach * (1 + 1e-9) + 1;
    for (b = FRE_SHARING_BITS_MIN; b <= FRE_SHARING_BITS_MAX; b++)
        if (reach <= (double)sharing_guard(b)) {
            *out = b;
            return FRE_OK;
        }
    return fre_fail(err, FRE_E_LIMIT,
                    "sums over %llu users reach %.3g lattice steps, more than %u bits hold: lower "
                    "{sampling_rate} or {epsilon}, or split the population",
                    (unsigned long long)largest, reach, FRE_SHARING_BITS_MAX);
}

size_t fre_share_bytes(uint32_t dim, uint32_t bits)
{
    if (dim == 0 || dim > FRE_SHARING_DIM_MAX)
        return 0;
    return sharing_packed_bytes(fre_hadamard_dim(dim), bits);
}
