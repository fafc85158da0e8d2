/* search_args.c - from the arguments about texts for embeddings to options. */
#include "search_args.h"

#include <string.h>

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

static bool names_something(const cli *c, const char *flag)
{
    return cli_given(c, flag) && strcmp(cli_text(c, flag), "none") != 0;
}

fre_status cli_search_check(const cli *c, fre_err *err)
{
    static const char *const of_texts[] = {"effort",          "public-corpus",  "public-text-field",
                                           "language-weight", "language-model", "prior",
                                           "bridge"};
    const bool no_texts = cli_given(c, "inverter") && !names_something(c, "inverter");

    for (size_t i = 0; no_texts && i < sizeof of_texts / sizeof of_texts[0]; i++)
        if (names_something(c, of_texts[i]))
            return fre_fail(err, FRE_E_USAGE,
                            "--%s is about the texts, of which --inverter none makes none: leave "
                            "out one of them",
                            of_texts[i]);
    if (cli_given(c, "public-text-field") && !cli_given(c, "public-corpus"))
        return fre_fail(err, FRE_E_USAGE,
                        "--public-text-field is about --public-corpus FILE: add that");
    if (cli_given(c, "language-weight") && !names_something(c, "language-model"))
        return fre_fail(err, FRE_E_USAGE,
                        "--language-weight is about --language-model FILE: add that");
    return FRE_OK;
}
