/* Which levels a plan is asked for: a list of names, and what contradicts them. */
#include <string.h>

#include "plan.h"

/* ---- a list of names -------------------------------------------------------------------------- */

static bool parse_level(fre_level_request *out, const char *name, size_t len)
{
    unsigned long centres = 0, codes = 1;
    int used = 0;
    char text[sizeof out->name];

    if (len >= sizeof text || len == 0 || name[0] < '1' || name[0] > '9')
        return false;
    memcpy(text, name, len);
    text[len] = '\0';
    if (sscanf(text, "%9lu%n", &centres, &used) != 1)
        return false;
    if (text[used] == 'x' && text[used + 1] >= '1' && text[used + 1] <= '9') {
        const char *rest = text + used + 1;

        if (sscanf(rest, "%6lu%n", &codes, &used) != 1 || rest[used] != '\0')
            return false;
    } else if (text[used] != '\0') {
        return false;
    }
    memcpy(out->name, text, sizeof out->name);
    out->sketch.codebook.cells = (uint64_t)centres * codes;
    return out->sketch.codebook.cells <= FRE_LEVEL_CELLS_MAX;
}

static fre_status append_level(fre_plan_request *r, const fre_level_request *l, const char *name,
                               int len, fre_err *err)
{
    if (r->n_levels == FRE_LEVELS_MAX)
        return fre_fail(err, FRE_E_USAGE, "{levels}: at most %u beside the grid", FRE_LEVELS_MAX);
    if (r->n_levels > 0 &&
        l->sketch.codebook.cells >= r->level[r->n_levels - 1].sketch.codebook.cells)
        return fre_fail(err, FRE_E_USAGE,
                        "{levels} go from fine to coarse: '%.*s' has no fewer cells than the one "
                        "before it",
                        len, name);
    r->level[r->n_levels++] = *l;
    return FRE_OK;
}

fre_status fre_plan_request_levels(fre_plan_request *r, const char *list, double radius,
                                   fre_counts counts, fre_err *err)
{
    const bool is_auto = strcmp(list, "auto") == 0;
    const char *const whole = is_auto ? "grid," FRE_LEVELS_AUTO : list; /* every name of the list */
    fre_plan_request made = *r;

    made.n_levels = 0;
    made.no_grid = true;
    made.grid_if_possible = is_auto;
    for (const char *s = whole; s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL) {
        const size_t len = strcspn(s, ",");
        fre_level_request l = {
            .sketch = {.kind = FRE_SKETCH_CODEBOOK, .codebook = {.radius = radius, .gain = 1}},
            .counts = counts};
        fre_status st;

        if (s == whole && len == 4 && memcmp(s, "grid", 4) == 0) {
            made.no_grid = false;
            continue;
        }
        if (!parse_level(&l, s, len))
            return fre_fail(err, FRE_E_USAGE,
                            "{levels}: '%.*s' is none: grid (as the first), a number of centres "
                            "as 1024, or with codes as 4096x8",
                            (int)(len < 40 ? len : 40), s);
        st = append_level(&made, &l, s, (int)len, err);
        if (st != FRE_OK)
            return st;
    }
    *r = made;
    return FRE_OK;
}

/* ---- what is asked for ---------------------------------------------------------------------- */

static fre_status check_kinds(const fre_plan_request *r, fre_err *err)
{
    if (r->dist.on && (r->n_levels > 1 || !r->no_grid))
        return fre_fail(err, FRE_E_USAGE,
                        "{levels}: the distributed mode releases one level, the grid or public "
                        "cells: name one");
    if (r->dist.on && r->level[0].counts != FRE_COUNTS_SAMPLED)
        return fre_fail(err, FRE_E_USAGE,
                        "{counts} noisy is a curator's, who counts before the noise: the "
                        "distributed mode counts sampled records");
    if (r->accountant == FRE_ACCOUNTANT_PAPER)
        return fre_fail(err, FRE_E_USAGE,
                        "{levels}: {accountant} paper knows the grid alone: leave out one of them");
    return FRE_OK;
}

fre_status fre_plan_check_levels(const fre_plan_request *r, fre_err *err)
{
    fre_status st;

    if (r->n_levels == 0 && !r->no_grid)
        return FRE_OK;
    if (r->n_levels == 0 || r->n_levels > FRE_LEVELS_MAX)
        return fre_fail(err, FRE_E_USAGE, "{levels} must be 1 to %u beside the grid",
                        FRE_LEVELS_MAX);
    st = check_kinds(r, err);
    for (size_t i = 0; st == FRE_OK && i < r->n_levels; i++) {
        const fre_sketch_spec *s = &r->level[i].sketch;

        if (s->kind != FRE_SKETCH_CODEBOOK)
            st = fre_fail(err, FRE_E_USAGE, "{levels}: only the first may be a grid");
        else if (!fre_param_holds(&fre_param_clip_radius, s->codebook.radius))
            st = fre_fail(err, FRE_E_USAGE, "{levels}: the radius of level %zu must be above 0",
                          i + 1);
        else if (s->codebook.cells < 1 || s->codebook.cells > FRE_LEVEL_CELLS_MAX)
            st = fre_fail(err, FRE_E_USAGE, "{levels}: level %zu must have 1 to %llu cells", i + 1,
                          (unsigned long long)FRE_LEVEL_CELLS_MAX);
    }
    return st;
}
