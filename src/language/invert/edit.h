/* edit.h - new texts made of old ones: token by token (edit.c), word by word (words.c). */
#ifndef FRE_INVERT_EDIT_H
#define FRE_INVERT_EDIT_H

#include "ngram.h"
#include "pool.h"
#include "respond.h"

/* Tokens give way to drawn ones: suffix, span, replace, insert.  False: does not fit.  starts[id]:
 * the token begins a word. */
bool inv_edit_tokens(inv_plan *out, inv_kind kind, const inv_cand *a, const uint8_t *starts,
                     fre_rng *rng);

/* What new words are taken from; each may be NULL. */
typedef struct inv_words_from {
    inv_ngram *ngram;
    const inv_response *response;
    const inv_rows *words;
} inv_words_from;

/* A text made of whole words of a (and b).  0: does not fit, or is too long; else its length. */
size_t inv_edit_words(char out[INV_TEXT_MAX], inv_kind kind, const char *a, const char *b,
                      const inv_words_from *from, fre_rng *rng);

#endif /* FRE_INVERT_EDIT_H */
