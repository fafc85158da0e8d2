/* tuning.c - what an effort from 1 to 10 buys. */
#include "tuning.h"

#include <fre/invert.h>

inv_tuning inv_tuning_of(uint32_t effort, bool search_only)
{
    static const uint32_t rounds[] = {2, 4, 8, 12, 16, 24, 32, 48, 72, 96};
    static const uint32_t alone[] = {8, 12, 20, 30, 40, 60, 80, 110, 150, 190};
    const uint32_t e = (effort ? effort : (uint32_t)fre_search_param_effort.preset) - 1;
    inv_tuning t = {.samples = e < 6 ? 96 : 192,
                    .keep = e < 6 ? 40 : 80,
                    .rounds = rounds[e],
                    .edits = 48,
                    .keep_edits = e < 6 ? 10 : 14,
                    .parents = e < 6 ? 6 : 10,
                    .correct_rounds = 3,
                    .correct_parents = 4,
                    .temperature = 0.8,
                    .std_floor = 0.02,
                    .logp_weight = 1.0,
                    .nearest = 16,
                    .finalists = e < 6 ? 8 : 16,
                    .lm_weight = 0.5,
                    .spread = 1.0};

    if (search_only) {
        t.samples = t.keep = 0;
        t.edits = 64; /* they cost nothing here: no decoder reads them */
        t.rounds = alone[e];
        t.keep_edits = e < 6 ? 16 : 24;
        t.logp_weight = 0.5;
        t.std_floor = 0.04;
        t.nearest = 64;
    }
    return t;
}
