/* What stands in front of WordPiece in BERT: a text's characters cleaned, folded and told apart, as
 * the reference does it (BertNormalizer and BertPreTokenizer of the Python package tokenizers
 * 0.23). */
#ifndef FRE_BERT_TEXT_H
#define FRE_BERT_TEXT_H

#include <fre/core.h>

typedef struct fre_bert_chars {
    uint32_t *p; /* code points; ' ' for every kind of white space */
    size_t n, cap;
} fre_bert_chars;

/* Append the characters of well-formed UTF-8: without controls and formats, CJK ideographs between
 * spaces; strip: decomposed canonically, without nonspacing marks; lower: in lower case.
 * FRE_E_NOMEM.  The caller wipes and frees p. */
FRE_MUST_CHECK fre_status fre_bert_clean(fre_bert_chars *out, const char *text, size_t len,
                                         bool lower, bool strip);

/* A word of its own: punctuation, and the symbols of ASCII. */
bool fre_bert_is_punctuation(uint32_t c);

/* No letter, digit or mark in these bytes of UTF-8. */
bool fre_bert_is_sign(const char *text, size_t len);

#endif
