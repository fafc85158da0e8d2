/* audit/levels_places.c - which inputs a release by levels is tried on.  The record's neighbours at one
 * level are elsewhere at all others, so that each cell's size is the adversary's choice. */
#include "levels_private.h"

#include <inttypes.h>
#include <math.h>

/* What is claimed of a stage: where it says least, another one stands out. */
typedef struct claimed_stage {
    bool noisy;
    double tau, count_sigma, p;
} claimed_stage;

typedef struct chooser {
    audit_places_list *list;
    claimed_stage stage[AUDIT_STAGES_MAX];
    size_t stages;
} chooser;

static void read_stages(chooser *k, const fre_plan *p)
{
    if (!p->request.no_grid)
        k->stage[k->stages++] =
            (claimed_stage){.tau = (double)p->mechanism.tau,
                            .p = (double)p->mechanism.p32 / (double)FRE_P_ONE};
    for (size_t i = 0; i < p->request.n_levels; i++) {
        const fre_level *l = &p->level[i].level;

        k->stage[k->stages++] = (claimed_stage){.noisy = l->counts == FRE_COUNTS_NOISY,
                                                .tau = (double)l->tau,
                                                .count_sigma = l->count_sigma,
                                                .p = (double)l->p32 / (double)FRE_P_ONE};
    }
}

/* Others of whom as many are counted as the threshold asks for, and `by` deviations more. */
static uint64_t others(const chooser *k, size_t at, double by)
{
    const claimed_stage *s = &k->stage[at];
    const double n = s->noisy ? s->tau + by * s->count_sigma
                              : (s->tau + by * sqrt(s->tau * (1 - s->p))) / s->p;

    return n > 0 ? (uint64_t)ceil(n) : 0;
}

#define SURELY 5. /* deviations above the threshold */

static audit_places *add_places(chooser *k)
{
    audit_places *p = &k->list->at[k->list->n++];

    *p = (audit_places){.groups = 0};
    return p;
}

/* Others of the record's cell at one stage. */
static void add_group(audit_places *p, size_t stage, uint64_t records)
{
    if (records > 0)
        p->group[p->groups++] =
            (audit_group){.records = records, .from = (uint32_t)stage, .to = (uint32_t)stage};
}

static void at_first(chooser *k)
{
    const uint64_t n = others(k, 0, SURELY);
    audit_places *p = add_places(k);

    (void)snprintf(p->name, sizeof p->name,
                   "added to %" PRIu64 " others of its finest cell, surely released", n);
    add_group(p, 0, n);
}

static void at_last(chooser *k)
{
    const uint64_t n = others(k, k->stages - 1, SURELY);
    audit_places *p = add_places(k);

    (void)snprintf(p->name, sizeof p->name, "alone, and added to %" PRIu64 " at the last level", n);
    add_group(p, k->stages - 1, n);
}

static void at_every(chooser *k)
{
    audit_places *p = add_places(k);

    (void)snprintf(p->name, sizeof p->name, "added to cells surely released at every level");
    for (size_t i = 0; i < k->stages; i++)
        add_group(p, i, others(k, i, SURELY));
}

/* Each cell but the last is released by a hair or isn't. */
static void at_edges(chooser *k, double by)
{
    audit_places *p = add_places(k);

    (void)snprintf(p->name, sizeof p->name, "added to cells %s the threshold",
                   by < 0 ? "a deviation below" : by > 0 ? "a deviation above" : "at");
    for (size_t i = 0; i < k->stages; i++)
        add_group(p, i, others(k, i, i + 1 < k->stages ? by : SURELY));
}

static void alone(chooser *k)
{
    audit_places *p = add_places(k);

    (void)snprintf(p->name, sizeof p->name, "alone in its cells of %zu levels", k->stages);
}

/* A cell of which all is known was released before: noise or a count's noise that comes again would
 * show.  The record follows it to the second cell, in case noise goes by the cell. */
static void after_company(chooser *k)
{
    const uint64_t n = others(k, 0, SURELY);
    audit_places *p = add_places(k);

    (void)snprintf(p->name, sizeof p->name, "alone beside %" PRIu64 " others, then in such a cell",
                   n);
    p->company = true;
    p->group[p->groups++] = (audit_group){.records = n, .cell = {1}};
    for (size_t i = 1; i < k->stages; i++) {
        add_group(p, i, others(k, i, SURELY));
        p->group[p->groups - 1].cell[i] = p->cell[i] = 1;
    }
}

/* Those of its last cell were together in another one before: what isn't released says how many of
 * their coins were heads, should these count again. */
static void after_others(chooser *k)
{
    const size_t last = k->stages - 1;
    const uint64_t n = others(k, last - 1, 0);
    audit_places *p = add_places(k);

    (void)snprintf(p->name, sizeof p->name,
                   "alone, then with %" PRIu64 " others that were together before", n);
    p->groups = 1;
    p->group[0] =
        (audit_group){.records = n, .from = (uint32_t)last - 1, .to = (uint32_t)last};
    p->group[0].cell[last - 1] = 1;
}

fre_status audit_levels_places(audit_places_list *out, const fre_audit_opts *o, fre_err *err)
{
    chooser k = {.list = out};

    *out = (audit_places_list){.n = 0};
    read_stages(&k, o->claimed_levels ? o->claimed_levels : o->levels);
    at_first(&k);
    alone(&k);
    for (int by = -1; k.stages > 1 && by <= 1; by++)
        at_edges(&k, by);
    if (k.stages > 1) {
        at_last(&k);
        at_every(&k);
        after_company(&k);
        after_others(&k);
    }
    for (size_t i = 0; i < k.stages; i++)
        if (others(&k, i, SURELY) > FRE_AUDIT_MEMBERS_MAX)
            return fre_fail(err, FRE_E_USAGE,
                            "a cell of %" PRIu64 " members can't be simulated: lower {threshold} "
                            "or raise {sampling_rate}",
                            others(&k, i, SURELY));
    return FRE_OK;
}
