/* public_corpus.h - the public corpus, opened once and read again. */
#ifndef FRE_INVERT_PUBLIC_CORPUS_H
#define FRE_INVERT_PUBLIC_CORPUS_H

#include <fre/corpus.h>

/* Open a public corpus and read its first record: it is opened once, so it may be a pipe. */
FRE_MUST_CHECK fre_status inv_corpus_open(fre_corpus **out, const char *path,
                                          const char *text_field, fre_err *err);
/* From its first record again. */
FRE_MUST_CHECK fre_status inv_corpus_again(fre_corpus *corpus, fre_err *err);

#endif /* FRE_INVERT_PUBLIC_CORPUS_H */
