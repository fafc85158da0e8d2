/* audit/levels_private.h - release by levels under attack: a record, others in its cells, and what
 * comes out, stage by stage.  A stage is the grid, or a level of public cells. */
#ifndef FRE_AUDIT_LEVELS_PRIVATE_H
#define FRE_AUDIT_LEVELS_PRIVATE_H

#include "audit_private.h"

#define AUDIT_STAGES_MAX (FRE_LEVELS_MAX + 1u)
#define AUDIT_GROUPS_OF_LEVELS (AUDIT_STAGES_MAX + 1u)
#define AUDIT_CELLS 3u /* of a stage: the record's at most stages, another one, an empty one */

/* Other records, all alike.  Before `from` they are where thin cells are never released, so that what
 * follows has its law given that; behind `to` they are where the record isn't. */
typedef struct audit_group {
    uint64_t records;
    uint32_t from, to;
    uint32_t cell[AUDIT_STAGES_MAX];
} audit_group;

typedef struct audit_places {
    char name[96];
    audit_group group[AUDIT_GROUPS_OF_LEVELS];
    size_t groups;
    uint32_t cell[AUDIT_STAGES_MAX]; /* the record's */
    bool company; /* group 0 is alone in its cell of stage 0: what is released of it is noise */
} audit_places;

/* One stage as it runs, and where it has the records. */
typedef struct audit_stage {
    fre_plan_level level;
    double radius;   /* of offsets; 0: the grid, without centres */
    int64_t *mine;   /* dim, lattice units: what the record adds to its cell's sum */
    int64_t *others; /* dim: and each of the others */
    double reach;    /* what tells, along the line, embedding units: of a noisy level what the record adds,
                      * else by how much it is beside another one */
    double bin;      /* of a log-likelihood ratio, in the rounded name of a view */
} audit_stage;

typedef struct audit_levels {
    const fre_audit_opts *opts;
    const fre_audit_steps *steps;
    const fre_plan *plan; /* what runs */
    double split;         /* of the grid */
    uint32_t dim;
    double *line; /* dim, a unit vector */
    size_t stages;
    audit_stage stage[AUDIT_STAGES_MAX];
    audit_places places; /* of the scenario that runs */
    uint32_t index;      /* of it, part of the streams' names */
} audit_levels;

/* Of the record's cell at one stage. */
typedef struct audit_sight {
    bool released;
    uint64_t others; /* that are still there: known, since what has left was published */
    uint64_t shown;  /* the published count */
    double along;    /* of the sum without others as many as counted, embedding units */
} audit_sight;

/* What the account of the plan allows, forward and backward, at each point of the curve. */
typedef struct audit_levels_claims {
    double epsilon[AUDIT_CURVE_POINTS];
    double delta[2][AUDIT_CURVE_POINTS];
    double split; /* of the grid, the least: within it the claim holds whatever the projection */
} audit_levels_claims;

/* levels_setup.c */
FRE_MUST_CHECK fre_status audit_levels_claim(audit_levels_claims *out, const fre_audit_opts *o,
                                             fre_err *err);
FRE_MUST_CHECK fre_status audit_levels_init(audit_levels *a, const fre_audit_opts *o, double split,
                                            fre_err *err);
void audit_levels_wipe(audit_levels *a);

/* levels_places.c: the scenarios. */
#define AUDIT_PLACES_MAX 10u
typedef struct audit_places_list {
    audit_places at[AUDIT_PLACES_MAX];
    size_t n;
} audit_places_list;
FRE_MUST_CHECK fre_status audit_levels_places(audit_places_list *out, const fre_audit_opts *o,
                                              fre_err *err);

/* levels_runs.c: an audit_simulate_fn; setup: an audit_levels. */
FRE_MUST_CHECK fre_status audit_levels_simulate(audit_trace *out, size_t n, const void *setup,
                                                unsigned world, uint64_t chunk);

/* levels_law.c: ln Pr[sight | record there] / Pr[sight | not], given that it has not left. */
double audit_levels_llr(const audit_stage *s, const audit_sight *v);

#endif
