/* tuning.h - sizes of a search, and what is tuned. */
#ifndef FRE_INVERT_TUNING_H
#define FRE_INVERT_TUNING_H

#include <fre/core.h>

#define INV_TOKENS 31u /* longest text in tokens; the end token follows (model card: 32) */
#define INV_TEXT_MAX 1024u /* bytes of one candidate */
#define INV_BATCH 96u      /* sequences side by side in one decoder context */

/* What is tuned, on public text only (docs/decisions); inv_tuning_of gives the values. */
typedef struct inv_tuning {
    uint32_t samples; /* first draws, one of them greedy */
    uint32_t rounds;  /* of edits */
    uint32_t keep;    /* of the first draws, the likeliest this many are embedded */
    uint32_t edits;   /* proposals a round */
    uint32_t keep_edits;
    uint32_t parents;                         /* best candidates that are edited */
    uint32_t correct_rounds, correct_parents; /* first rounds, by the corrector if there is one */
    double temperature;
    double std_floor;   /* of the noise in the score */
    double logp_weight; /* w of the score */
    uint32_t nearest;   /* public texts among the first candidates */
    uint32_t finalists; /* candidates that the language model reads */
    double lm_weight;   /* lambda */
    double spread;      /* of embeddings, against those of the embedder it was tuned with */
} inv_tuning;

/* Rounds, draws and widths of an effort (fre_search_param_effort); 0: default. */
inv_tuning inv_tuning_of(uint32_t effort, bool search_only);

#endif /* FRE_INVERT_TUNING_H */
