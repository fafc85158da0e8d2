/* audit/levels.c - a release by levels: every scenario against the account of the whole plan. */
#include "levels_private.h"

#include <string.h>

struct audit_by_levels {
    audit_levels_claims claims;
    audit_places_list places;
    audit_levels setup;
};

fre_status audit_by_levels_new(audit_by_levels **out, const fre_audit_opts *o, fre_err *err)
{
    audit_by_levels *a = calloc(1, sizeof *a);
    fre_status st;

    if (!a)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    st = audit_levels_places(&a->places, o, err);
    if (st == FRE_OK)
        st = audit_levels_claim(&a->claims, o, err);
    if (st == FRE_OK)
        st = audit_levels_init(&a->setup, o, a->claims.split, err);
    if (st != FRE_OK) {
        free(a);
        return st;
    }
    *out = a;
    return FRE_OK;
}

size_t audit_by_levels_count(const audit_by_levels *a)
{
    return a ? a->places.n : 0;
}

void audit_by_levels_attack(audit_attack *out, audit_by_levels *a, size_t index)
{
    a->setup.places = a->places.at[index];
    a->setup.index = (uint32_t)index;
    *out = (audit_attack){.name = a->setup.places.name,
                          .simulate = audit_levels_simulate,
                          .setup = &a->setup,
                          .points = AUDIT_CURVE_POINTS};
    memcpy(out->epsilon, a->claims.epsilon, sizeof out->epsilon);
    memcpy(out->allowed, a->claims.delta, sizeof out->allowed);
}

void audit_by_levels_free(audit_by_levels *a)
{
    if (!a)
        return;
    audit_levels_wipe(&a->setup);
    free(a);
}
