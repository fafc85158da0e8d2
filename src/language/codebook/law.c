/* The law about the centres, as a prior for each level. */
#include "codebook_private.h"

#include <stdlib.h>
#include <string.h>

typedef struct direction_of {
    float value;
    uint32_t at;
} direction_of;

static int falling(const void *a, const void *b)
{
    const direction_of *x = a, *y = b;

    if (x->value < y->value || x->value > y->value)
        return x->value > y->value ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* A prior about 0 whose variances fall. */
static fre_status prior_of(fre_prior **out, const float *value, const float *vector, size_t d)
{
    direction_of *order = malloc(d * sizeof *order);
    float *mean = calloc(d + 2, d * sizeof *mean), *sorted = NULL;
    fre_status st = FRE_E_NOMEM;

    if (!order || !mean)
        goto out;
    sorted = mean + d;
    for (uint32_t k = 0; k < d; k++)
        order[k] = (direction_of){value[k], k};
    qsort(order, d, sizeof *order, falling);
    for (size_t k = 0; k < d; k++) {
        sorted[k] = order[k].value;
        memcpy(sorted + (k + 1) * d, vector + order[k].at * d, d * sizeof *vector);
    }
    st = fre_prior_new(out, (uint32_t)d, mean, sorted, sorted + d, NULL);
out:
    free(order);
    free(mean);
    return st;
}

fre_status codebook_set_within(fre_codebook *c, const float *vector, const float *value)
{
    const size_t d = c->info.dim, levels = c->info.n_levels;
    fre_prior *prior[FRE_CODEBOOK_LEVELS_MAX] = {NULL};
    float *kept = malloc((d + levels) * d * sizeof *kept);
    fre_status st = kept ? FRE_OK : FRE_E_NOMEM;

    for (size_t l = 0; l < levels && st == FRE_OK; l++)
        st = prior_of(&prior[l], value + l * d, vector, d);
    if (st != FRE_OK) {
        for (size_t l = 0; l < levels; l++)
            fre_prior_free(prior[l]);
        free(kept);
        return st;
    }
    memcpy(kept, vector, d * d * sizeof *kept);
    memcpy(kept + d * d, value, levels * d * sizeof *kept);
    free(c->within);
    c->within = kept;
    for (size_t l = 0; l < levels; l++) {
        fre_prior_free(c->level[l].within);
        c->level[l].within = prior[l];
    }
    return FRE_OK;
}
