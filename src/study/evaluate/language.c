/* evaluate/language.c - how natural the texts of a set read to a language model: NLL and perplexity by the
 * paper's formula [Fre-E2T, eq. NLL], of a thousand texts at most, as it has them. */
#include "evaluate_private.h"

#include <fre/lm.h>

#include <math.h>
#include <stdlib.h>

#define TEXTS_MAX 1000u

typedef struct sums {
    double perplexity;
    uint64_t scored;
} sums;

static fre_status take(void *ctx, const char *text, size_t len, const fre_lm_score *score,
                       fre_err *err)
{
    sums *s = ctx;
    const double nll = fre_lm_nll(score);

    (void)text;
    (void)len;
    (void)err;
    if (isfinite(nll)) {
        s->perplexity += exp(nll);
        s->scored++;
    }
    return FRE_OK;
}

fre_status evaluate_language_find(fre_language *out, fre_lm *lm, const evaluate_base *b,
                                  const evaluate_set *set, fre_err *err)
{
    const size_t n = set->n < TEXTS_MAX ? set->n : TEXTS_MAX;
    uint32_t *list = malloc((set->n + 1) * sizeof *list);
    sums s = {0.0, 0};
    fre_lm_scorer *scorer = NULL;
    fre_lm_summary summary;
    fre_rng rng;
    fre_status st = list ? evaluate_rng(&rng, "evaluate/language", 0) : FRE_E_NOMEM;

    if (st != FRE_OK) {
        free(list);
        return evaluate_with_text(err, st);
    }
    for (size_t i = 0; i < set->n; i++)
        list[i] = (uint32_t)i;
    evaluate_draw(list, set->n, n, &rng);
    fre_rng_wipe(&rng);
    st = fre_lm_scorer_new(&scorer, lm, take, &s, b->opts->progress, err);
    for (size_t i = 0; st == FRE_OK && i < n; i++)
        st = fre_lm_scorer_add(scorer, set->text[list[i]], set->len[list[i]], err);
    if (st == FRE_OK)
        st = fre_lm_scorer_flush(scorer, err);
    if (st == FRE_OK) {
        fre_lm_scorer_summary(scorer, &summary);
        *out = (fre_language){.texts = summary.texts,
                              .scored = summary.scored,
                              .median_nll = summary.median_nll,
                              .mean_nll = summary.mean_nll,
                              .median_perplexity = summary.median_perplexity,
                              .mean_perplexity =
                                  s.scored > 0 ? s.perplexity / (double)s.scored : (double)NAN,
                              .natural = summary.natural};
    }
    fre_lm_scorer_free(scorer);
    free(list);
    return st;
}
