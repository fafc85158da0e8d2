/* Repeatable numbers for tests: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).  Set `mix` to start a
 * sequence. */
#ifndef FRE_TESTS_MIX_H
#define FRE_TESTS_MIX_H

#include <stdint.h>

extern uint64_t mix; /* 1 at first */

uint64_t mix_next(void);
/* Uniform on [0, 1). */
double mix_real(void);
/* Standard normal (Box and Muller, 1958). */
double mix_gauss(void);

#endif /* FRE_TESTS_MIX_H */
