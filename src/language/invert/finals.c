/* finals.c - the language model reads the best candidates of a chunk, all in one call, and its
 * log-probability joins their scores.  Only those that distance and decoder keep alive are read: a
 * text costs the model ten times what it costs the embedder. */
#include "invert_private.h"

#include <stdlib.h>
#include <string.h>

#define ALIVE 60.0 /* nats below the best: the language model can't make up for more */

static size_t finalists(const inv_pool *p, uint32_t most)
{
    size_t n = 0;

    while (n < p->scored && n < most && p->cand[n].score >= p->cand[0].score - ALIVE)
        n++;
    return n;
}

static fre_status read_scores(fre_inverter *v, inv_state *state, uint32_t n,
                              const fre_lm_score *score)
{
    fre_status st = FRE_OK;

    for (uint32_t i = 0; i < n && st == FRE_OK; i++) {
        inv_pool *p = &state[i].pool;
        const size_t k = finalists(p, v->tuning.finalists);

        for (size_t c = 0; c < k; c++, score++) {
            p->cand[c].score += v->tuning.lm_weight * score->logp;
            state[i].trace.lm_tokens += score->tokens + 1u;
        }
        st = inv_pool_sort(p, k); /* the others were not read and keep their order after these */
    }
    return st;
}

fre_status inv_finals(fre_inverter *v, inv_state *state, uint32_t n, fre_err *err)
{
    const size_t most = (size_t)n * v->tuning.finalists;
    const char **text = malloc((most ? most : 1) * sizeof *text);
    size_t *len = malloc((most ? most : 1) * sizeof *len);
    fre_lm_score *score = malloc((most ? most : 1) * sizeof *score);
    size_t total = 0;
    fre_status st = text && len && score ? FRE_OK : FRE_E_NOMEM;

    for (uint32_t i = 0; i < n && st == FRE_OK; i++) {
        const inv_pool *p = &state[i].pool;
        const size_t k = finalists(p, v->tuning.finalists);

        for (size_t c = 0; c < k; c++, total++) {
            text[total] = p->cand[c].told ? p->cand[c].told : p->cand[c].text;
            len[total] = strlen(text[total]);
        }
    }
    if (st == FRE_OK && total > 0)
        st = fre_lm_score_texts(v->lm, score, text, len, total, NULL, err);
    if (st == FRE_OK && total > 0)
        st = read_scores(v, state, n, score);
    free((void *)text);
    free(len);
    free(score);
    return st;
}
