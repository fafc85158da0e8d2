/* vocabulary.h - words, neighbours and ends of sentences of public text. */
#ifndef FRE_INVERT_VOCABULARY_H
#define FRE_INVERT_VOCABULARY_H

#include <fre/core.h>

typedef struct inv_vocabulary inv_vocabulary;

/* FRE_E_MODEL: not a vocabulary, or damaged. */
FRE_MUST_CHECK fre_status inv_vocabulary_open(inv_vocabulary **out, const char *path, fre_err *err);
void inv_vocabulary_free(inv_vocabulary *v);
const uint8_t *inv_vocabulary_sha256(const inv_vocabulary *v);

/* What the vocabulary says of a text. */
typedef struct inv_usage {
    double together;  /* at most 0: what ln p(b | a) / p(b) lacks of the usual, summed over
                         neighbours a, b, edges of sentences included */
    double end;       /* ln p(a sentence ends here | its last word), of the last one */
    uint32_t unknown; /* words of more than one byte that are not in it */
    uint32_t doubled; /* words said twice running, as no public text has them */
    uint32_t rare;    /* words that it has, but hardly ever, and never beside these neighbours */
} inv_usage;

inv_usage inv_vocabulary_read(const inv_vocabulary *v, const char *text);
/* The same of a part of a text; nothing of one longer than INV_TEXT_MAX. */
inv_usage inv_vocabulary_read_part(const inv_vocabulary *v, const char *text, size_t len);
/* The same as nats of log-probability, at most 0; joins the decoder's. */
double inv_vocabulary_worth(const inv_vocabulary *v, const char *text);

/* The bundled vocabulary; *out stays as it is where there is none. */
FRE_MUST_CHECK fre_status inv_vocabulary_find(inv_vocabulary **out, fre_err *err);

#endif /* FRE_INVERT_VOCABULARY_H */
