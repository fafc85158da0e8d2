/* curator/options.c - the contract's defaults. */
#include "curator_private.h"

#include <string.h>

void fre_curator_opts_init(fre_curator_opts *o)
{
    memset(o, 0, sizeof *o);
    fre_plan_request_init(&o->plan);
    o->corpus.invalid = FRE_CORPUS_INVALID_SKIP;
    o->threads = fre_cpu_count();
}
