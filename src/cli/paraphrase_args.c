/* paraphrase_args.c - from the arguments about paraphrases to options. */
#include "paraphrase_args.h"

fre_paraphraser_opts cli_paraphrase_opts(const cli *c)
{
    return (fre_paraphraser_opts){
        .paraphrases = (uint32_t)cli_whole(c, "paraphrases"),
        .temperature = cli_number(c, "temperature"),
        .distance = cli_number(c, "paraphrase-distance"),
    };
}
