/* respond.c - the words that a distance asks for.  A mean-pooled embedding is nearly additive in
 * words, so what is missing from a text points along mu - E(text): the words whose own embeddings
 * point there most are worth trying. */
#include "respond.h"

#include <stdlib.h>
#include <string.h>

static double product(const int8_t *q, const float *x, uint32_t dim)
{
    float lane[16] = {0};
    double sum = 0;
    uint32_t i = 0;

    for (; i + 16 <= dim; i += 16)
        for (uint32_t j = 0; j < 16; j++)
            lane[j] += (float)q[i + j] * x[i + j];
    for (; i < dim; i++)
        sum += (double)((float)q[i] * x[i]);
    for (uint32_t j = 0; j < 16; j++)
        sum += (double)lane[j];
    return sum;
}

fre_status inv_respond(inv_response *r, const inv_rows *words, const float *mu,
                       const float *embedding, const uint8_t key[16])
{
    double best[INV_RESPONSES];
    float *rest;

    if (r->n > 0 && memcmp(r->key, key, sizeof r->key) == 0)
        return FRE_OK;
    rest = malloc(words->dim * sizeof *rest);
    if (!rest)
        return FRE_E_NOMEM;
    for (uint32_t i = 0; i < words->dim; i++)
        rest[i] = mu[i] - embedding[i];
    r->n = 0;
    for (size_t i = 0; i < words->n; i++) {
        const double s =
            (double)words->scale[i] * product(words->q + i * words->dim, rest, words->dim);
        uint32_t at;

        if (r->n == INV_RESPONSES && !(s > best[r->n - 1]))
            continue;
        at = r->n < INV_RESPONSES ? r->n++ : r->n - 1;
        for (; at > 0 && s > best[at - 1]; at--) {
            best[at] = best[at - 1];
            r->word[at] = r->word[at - 1];
        }
        best[at] = s;
        r->word[at] = (uint32_t)i;
    }
    memcpy(r->key, key, sizeof r->key);
    free(rest);
    return FRE_OK;
}
