/* ngram.h - what stands beside what in the nearest public texts. */
#ifndef FRE_INVERT_NGRAM_H
#define FRE_INVERT_NGRAM_H

#include <fre/core.h>

#define INV_NO_WORD UINT32_MAX

typedef struct inv_ngram inv_ngram;

FRE_MUST_CHECK fre_status inv_ngram_new(inv_ngram **out);
void inv_ngram_free(inv_ngram *g);
/* Count a text's words and pairs, with a weight. */
FRE_MUST_CHECK fre_status inv_ngram_add(inv_ngram *g, const char *text, size_t n, double weight);
/* ln p(text), its end included; a word never seen costs about as much as a rare one. */
double inv_ngram_logp(const inv_ngram *g, const char *text);
/* A word for the place between two others (len 0: the text's end), drawn by how often it follows
 * the one and precedes the other.  NULL: no words at all, or no memory.  Borrowed, NUL-terminated. */
const char *inv_ngram_pick(inv_ngram *g, const char *left, size_t left_len, const char *right,
                           size_t right_len, fre_rng *rng);

#endif /* FRE_INVERT_NGRAM_H */
