/* public_corpus.c - see public_corpus.h. */
#include "public_corpus.h"

static const uint8_t no_salt[FRE_HASH_BYTES];

fre_status inv_corpus_open(fre_corpus **out, const char *path, const char *text_field, fre_err *err)
{
    const fre_corpus_opts opts = {.invalid = FRE_CORPUS_INVALID_SKIP,
                                  .text_field = text_field,
                                  .text_param = "{public_text_field}"};
    fre_input *in = NULL;
    fre_corpus *corpus = NULL;
    fre_record first;
    bool more;
    fre_err why = {.text = ""};
    fre_status st = fre_input_open(&in, path, true, &why);

    if (st == FRE_OK)
        st = fre_corpus_open_input(&corpus, in, &opts, &why);
    if (st == FRE_OK)
        st = fre_corpus_next(corpus, &more, &first, &why);
    if (st != FRE_OK) {
        fre_corpus_free(corpus);
        return fre_fail(err, st, "public corpus: %s", why.text);
    }
    *out = corpus;
    return FRE_OK;
}

fre_status inv_corpus_again(fre_corpus *corpus, fre_err *err)
{
    fre_err why = {.text = ""};
    const fre_status st = fre_corpus_again(corpus, no_salt, &why);

    return st == FRE_OK ? st : fre_fail(err, st, "public corpus: %s", why.text);
}
