/* search_args.c - from the arguments about texts for embeddings to options. */
#include "search_args.h"

fre_search_opts cli_search_opts(const cli *c)
{
    return (fre_search_opts){
        .effort = (uint32_t)cli_whole(c, "effort"),
        .public_corpus = cli_text(c, "public-corpus"),
        .public_text_field = cli_text(c, "public-text-field"),
        .language_model = cli_text(c, "language-model"),
        .prior = cli_text(c, "prior"),
        .bridge = cli_text(c, "bridge"),
        .lm_weight = cli_number(c, "language-weight"), /* 0: not given */
    };
}
