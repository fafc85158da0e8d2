/* pool.h - the distinct candidates of one centroid, and what a search did for it. */
#ifndef FRE_INVERT_POOL_H
#define FRE_INVERT_POOL_H

#include <fre/embed.h>
#include <fre/invert.h>

#include "draw.h"
#include "vocabulary.h"

#define INV_ROUNDS_MAX 192u

/* What a search did; kept always, it costs nothing. */
typedef struct inv_trace {
    double score[INV_ROUNDS_MAX + 1], distance[INV_ROUNDS_MAX + 1];
    size_t rounds;
    uint64_t drawn, embedded, lm_tokens;
    fre_invert_gain gain[INV_KINDS];
} inv_trace;

typedef struct inv_cand {
    char *text; /* owned, tidied */
    char *
        told; /* owned: the text without words that the embedder does not know; NULL: it has none */
    uint8_t key[16];
    int32_t ids[INV_TOKENS];
    uint32_t n;
    inv_kind kind;
    double logp; /* of the decoder; with a vocabulary, its worth added */
    double dist2, score;
    double rank; /* of those that are not embedded: the highest are */
} inv_cand;

typedef struct inv_pool {
    inv_cand *cand;   /* the first `scored` are sorted, best first */
    float *embedding; /* parallel to cand */
    size_t n, scored, cap;
    uint32_t dim;
    size_t refused;                   /* texts, for want of a word that the embedder knows */
    const fre_embedder *embedder;     /* borrowed; NULL: knows every token */
    const inv_vocabulary *vocabulary; /* borrowed; NULL: none */
} inv_pool;

void inv_pool_init(inv_pool *p, uint32_t dim, const fre_embedder *embedder,
                   const inv_vocabulary *vocabulary);
void inv_pool_wipe(inv_pool *p);
/* Is a text a candidate?  Not if it is empty, too long or no UTF-8, if it is there (case-blind; a word that
 * the embedder does not know is any other), or if it has no other words than such. */
FRE_MUST_CHECK fre_status inv_pool_accepts(inv_pool *p, bool *out, const char *text, size_t n);
/* Add if it is taken. */
FRE_MUST_CHECK fre_status inv_pool_add(inv_pool *p, const fre_model *m, const inv_draw *d);
/* The same for a text that no decoder wrote. */
FRE_MUST_CHECK fre_status inv_pool_add_text(inv_pool *p, const char *text, size_t n, inv_kind kind,
                                            double logp);
/* Of the candidates from `scored` on, keep the `keep` of highest rank: embedding costs more than
 * drawing. */
void inv_pool_trim(inv_pool *p, size_t keep);
/* Distances and scores of the candidates from `scored` on; sorts; notes what each kind gained. */
FRE_MUST_CHECK fre_status inv_pool_score(inv_pool *p, const float *mu, double noise_std,
                                         const inv_tuning *t, inv_trace *trace);
/* A candidate is as near as the true text would be: nothing is left to find.  Above a noise norm of
 * .3 a neighbour can be as near by chance, and nothing is settled. */
bool inv_is_settled(double dist2, double noise_std, uint32_t dim);
/* Put the first n scored candidates in the order of their scores again. */
FRE_MUST_CHECK fre_status inv_pool_sort(inv_pool *p, size_t n);

#endif /* FRE_INVERT_POOL_H */
