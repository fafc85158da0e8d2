/* release/confidence.c - how sure a released text is: a logistic function of what the release itself holds.
 * Its coefficients were fitted on public text and tested on other public text (docs/inversion.md,
 * decision 0028); the table is made by tools/experiments/confidence.py, which computes the same traits. */
#include <fre/linalg.h>
#include <fre/release.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "confidence_table.h"

#define CLIP_SHARE 1e-6 /* of the candidates' weight: less is not told apart */
#define CLIP_FAR 2.0    /* squared distance: farther is not told apart */

/* What a text's confidence depends on, in the table's order. */
static void traits_of(double out[CONFIDENCE_TRAITS], const fre_release *r, size_t cell,
                      const fre_inversion *v)
{
    const fre_released_cell *c = &r->cell[cell];
    const double norm = fre_norm(r->centroid + cell * r->grid.dim, r->grid.dim);
    /* Squared distance of centroid and text, whose embedding has norm 1, beyond what noise accounts for. */
    const double dist2 = norm * norm + 1 - 2 * v->similarity * norm;
    const double far = fmin(dist2 - c->noise_norm * c->noise_norm, CLIP_FAR);
    size_t words = 1;

    for (const char *p = v->text; *p; p++)
        words += *p == ' ';
    out[0] = 1;
    out[1] = fmin(c->noise_norm, CLIP_FAR);
    out[2] = far;
    out[3] = sqrt(fmax(far, 0));
    out[4] = 1 - v->similarity;
    out[5] = log(fmax(v->share, CLIP_SHARE));
    out[6] = log((double)words);
}

static double chance(const double *coefficient, const double *trait)
{
    double sum = 0;

    for (size_t i = 0; i < CONFIDENCE_TRAITS; i++)
        sum += coefficient[i] * trait[i];
    return 1 / (1 + exp(-sum));
}

static void weigh(fre_inversion *v, const fre_release *r, size_t cell)
{
    double trait[CONFIDENCE_TRAITS];

    if (!v->text || !isfinite(v->similarity))
        return;
    traits_of(trait, r, cell, v);
    v->confidence.known = true;
    v->confidence.same = chance(confidence_same, trait);
    v->confidence.exact = fmin(chance(confidence_exact, trait), v->confidence.same);
}

bool fre_release_can_weigh(const fre_inverter_parts *by)
{
    uint8_t sha[FRE_HASH_BYTES];

    return by->decoder && !by->bridge && !by->language_model &&
           fre_unhex(sha, sizeof sha, CONFIDENCE_DECODER) &&
           memcmp(sha, by->decoder, sizeof sha) == 0;
}

void fre_release_weigh(fre_release *r, const fre_inverter_parts *by)
{
    if (!fre_release_can_weigh(by))
        return;
    for (size_t i = 0; i < r->n; i++) {
        weigh(&r->cell[i].text, r, i);
        for (size_t k = 0; k < r->cell[i].n_texts; k++)
            weigh(&r->cell[i].texts[k], r, i);
    }
}
