/* Streams of random numbers that repeat, for tests. */
#ifndef FRE_TESTS_SEEDED_H
#define FRE_TESTS_SEEDED_H

#include <fre/core.h>

/* A stream of the seed whose bytes are all `byte`, under a label. */
void seeded(fre_rng *r, uint8_t byte, const char *label);
/* Uniform on [lo, hi), of 2^32 values. */
double uniform(fre_rng *r, double lo, double hi);

#endif /* FRE_TESTS_SEEDED_H */
