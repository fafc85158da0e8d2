/* prefix.c - what the decoder reads of a centroid: by its own embedder straight from the projector, by
 * another one over the bridge, whose uncertainty is told as noise, the one thing that the projector
 * was trained to make allowance for. */
#include "invert_private.h"

#include <math.h>
#include <stdlib.h>

fre_status inv_prefix_of(const fre_inverter *v, float *out, const float *mu, double noise_std)
{
    const inv_projector *p = &v->projector;
    float *known;
    double left, std;
    fre_status st;

    if (!v->bridge)
        return inv_projector_run(p, out, mu, noise_std);
    known = malloc(p->dim * sizeof *known);
    if (!known)
        return FRE_E_NOMEM;
    st = fre_bridge_estimate(v->bridge, known, &left, mu, noise_std);
    if (st == FRE_OK) {
        std = v->prior ? fre_prior_noise_of(v->prior, left) : sqrt(left / (double)p->dim);
        st = inv_projector_run_known(p, out, known, std);
    }
    free(known);
    return st;
}
