/* What tests of sharing have in common. */
#ifndef FRE_SHARING_TOOLS_H
#define FRE_SHARING_TOOLS_H

#include <fre/sharing.h>

#define SPLIT 0.6

fre_mechanism a_mechanism(uint32_t dim);
fre_share_cell a_cell(const fre_mechanism *m, uint64_t count);
fre_rotation *a_rotation(uint32_t dim, uint8_t byte);
/* A vector of norm 1 or nearly. */
void a_vector(float *x, uint32_t dim, fre_rng *r);

#endif
