/* Streams and goodness of fit, for tests of samplers. */
#ifndef FRE_TESTS_LAW_H
#define FRE_TESTS_LAW_H

#include <fre/core.h>

void law_seeded(fre_rng *r, uint8_t byte);
/* A stream whose next bytes are the given words, least significant byte first. */
void law_scripted(fre_rng *r, const uint32_t *words, size_t n);
/* The 1 - 1e-6 quantile of chi-square lies below. */
double law_limit(double dof);
/* Chi-square of counts against masses (any common factor), over its limit: at most 1 for a sampler
 * of the law but with probability 1e-6.  Neighbouring bins are merged until 10 draws are expected
 * in each. */
double law_misfit(const double *seen, const double *mass, size_t n);

#endif
