#include "plan_of.h"

#include <stdio.h>

#include "must.h"

fre_plan plan_of(const fre_plan_request *r)
{
    fre_plan p;
    fre_err err = {.text = ""};
    const fre_status st = fre_plan_make(&p, r, &err);

    if (st != FRE_OK)
        (void)fprintf(stderr, "%s\n", err.text);
    must(st == FRE_OK);
    return p;
}
