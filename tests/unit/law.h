/* Streams and goodness of fit, for tests of samplers. */
#ifndef FRE_TESTS_LAW_H
#define FRE_TESTS_LAW_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <fre/core.h>

static inline void law_seeded(fre_rng *r, uint8_t byte)
{
    uint8_t seed[FRE_SEED_BYTES];

    memset(seed, byte, sizeof seed);
    assert_int_equal(fre_rng_init_seeded(r, seed, "test/sampler"), FRE_OK);
}

/* A stream whose next bytes are the given words, least significant byte first. */
static inline void law_scripted(fre_rng *r, const uint32_t *words, size_t n)
{
    size_t at;

    law_seeded(r, 9);
    assert_true(4 * n <= sizeof r->block);
    at = sizeof r->block - 4 * n;
    for (size_t i = 0; i < 4 * n; i++)
        r->block[at + i] = (uint8_t)(words[i / 4] >> (8 * (i % 4)));
    r->left = 4 * n;
}

/* The 1 - 1e-6 quantile of chi-square lies below. */
static inline double law_limit(double dof)
{
    return dof + 4.76 * sqrt(2 * dof) + 16;
}

/* Chi-square of counts against masses (any common factor), over its limit: at most 1 for a sampler
 * of the law but with probability 1e-6.  Neighbouring bins are merged until 10 draws are expected
 * in each. */
static inline double law_misfit(const double *seen, const double *mass, size_t n)
{
    double draws = 0, whole = 0, chi = 0, o = 0, e = 0, dof = -1;

    for (size_t i = 0; i < n; i++) {
        draws += seen[i];
        whole += mass[i];
    }
    for (size_t i = 0, left = 0; i < n; i++) {
        double rest = 0;

        o += seen[i];
        e += draws * mass[i] / whole;
        if (e < 10)
            continue;
        for (left = i + 1; left < n && rest < 10; left++)
            rest += draws * mass[left] / whole;
        if (rest < 10) /* what is left is too little for a bin of its own */
            for (; i + 1 < n; i++) {
                o += seen[i + 1];
                e += draws * mass[i + 1] / whole;
            }
        chi += (o - e) * (o - e) / e;
        dof++;
        o = e = 0;
    }
    return chi / law_limit(dof > 0 ? dof : 1);
}

#endif
