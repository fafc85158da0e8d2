#include "embed_sentences.h"

#include <stdio.h>
#include <string.h>

#include "must.h"

#define SENTENCES_MAX 64u

fre_embedder *embed_sentences(float *to, const char *path, const char *const *text, size_t n)
{
    const fre_embedder_opts opts = {.path = path, .threads = 2};
    fre_embedder *e = NULL;
    size_t len[SENTENCES_MAX];
    fre_err err = {.text = ""};

    must(n <= SENTENCES_MAX);
    for (size_t i = 0; i < n; i++)
        len[i] = strlen(text[i]);
    if (fre_embedder_new(&e, &opts, &err) == FRE_OK &&
        fre_embed_texts(e, to, text, len, n, &err) == FRE_OK)
        return e;
    (void)fprintf(stderr, "%s\n", err.text);
    fre_embedder_free(e);
    return NULL;
}
