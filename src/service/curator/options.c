/* curator/options.c - the contract's defaults, and what is outside of it. */
#include "curator_private.h"

#include <fre/paraphrase.h>

#include <string.h>

const fre_param fre_curator_param_paraphrases = {.name = "paraphrases",
                                                 .unit = "texts",
                                                 .highest = FRE_PARAPHRASES_MAX,
                                                 .whole = true,
                                                 FRE_PARAM_PRESET(0)};

const fre_param fre_curator_param_texts = {.name = "texts_per_cell",
                                           .unit = "texts",
                                           .highest = 16,
                                           .whole = true,
                                           FRE_PARAM_PRESET(3)};

const fre_param fre_curator_param_confidence = {
    .name = "min_confidence", .unit = "0..1", .above = true, .highest = 1};

void fre_curator_opts_init(fre_curator_opts *o)
{
    memset(o, 0, sizeof *o);
    fre_plan_request_init(&o->plan);
    o->corpus.invalid = FRE_CORPUS_INVALID_SKIP;
    o->texts_per_cell = (uint32_t)fre_curator_param_texts.preset;
    o->threads = fre_cpu_count();
}

/* A budget of 0 or less is none. */
fre_status curator_check_options(const fre_curator_opts *o, fre_err *err)
{
    const fre_param_value always[] = {
        {&fre_param_threads, o->threads},
        {&fre_curator_param_paraphrases, o->paraphrases},
        {&fre_curator_param_texts, o->texts_per_cell},
    };
    const fre_param_value given[] = {
        {&fre_paraphrase_param_temperature, o->temperature},
        {&fre_paraphrase_param_distance, o->paraphrase_distance},
        {&fre_curator_param_confidence, o->min_confidence},
        {&fre_ledger_param_budget_epsilon, o->budget_epsilon <= 0 ? 0 : o->budget_epsilon},
        {&fre_ledger_param_budget_delta, o->budget_delta <= 0 ? 0 : o->budget_delta},
    };
    fre_status st = fre_param_check_all(always, sizeof always / sizeof *always, err);

    return st == FRE_OK ? fre_param_check_given(given, sizeof given / sizeof *given, err) : st;
}
