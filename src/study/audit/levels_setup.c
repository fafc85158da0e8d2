/* audit/levels_setup.c - what a release by levels is claimed to cost, and where its stages have the
 * records.  All lie on one line: the record at the norm bound, others at its other end (at the grid at its
 * split), and the centres between, so that offsets are cut. */
#include "levels_private.h"

#include <math.h>
#include <string.h>

/* ---- the claim ------------------------------------------------------------------------------- */

#define FIRST_SHARE (1 / 16.) /* of the claimed epsilon: where the curve begins ... */
#define ABOVE 1.000001        /* ... or just above the least epsilon at which a grid has an account */

static double first_epsilon(const fre_audit_opts *o, const fre_plan *p)
{
    const double least = o->epsilon * FIRST_SHARE;

    if (p->request.no_grid || p->mechanism.p32 == FRE_P_ONE)
        return least;
    return fmin(o->epsilon, fmax(least, -log1p(-(double)p->mechanism.p32 / (double)FRE_P_ONE) * ABOVE));
}

static fre_status claim_at(audit_levels_claims *c, size_t i, const fre_audit_opts *o, fre_err *err)
{
    const fre_plan *p = o->claimed_levels ? o->claimed_levels : o->levels;
    const fre_audit_steps *steps = o->steps ? o->steps : fre_audit_real_steps();
    const double left = 1 - (double)i / (AUDIT_CURVE_POINTS - 1);
    fre_level room[FRE_LEVELS_MAX];
    fre_levels all = fre_plan_levels_of(p, room);
    fre_levels_account a;
    fre_status st;

    c->epsilon[i] = o->epsilon * pow(first_epsilon(o, p) / o->epsilon, left);
    c->delta[0][i] = c->delta[1][i] = 1;
    all.adjacency = FRE_ADJACENCY_ADD_REMOVE; /* the attack adds or removes one record */
    all.cells_per_user = 1;
    st = steps->account(&a, &all, c->epsilon[i], err);
    if (st == FRE_E_INFEASIBLE) /* where removal has a cost of its own the account says nothing */
        return FRE_OK;
    if (st != FRE_OK)
        return st;
    c->delta[0][i] = a.addition;
    c->delta[1][i] = a.removal;
    if (a.split > 0 && (!(c->split > 0) || a.split < c->split))
        c->split = a.split;
    return FRE_OK;
}

fre_status audit_levels_claim(audit_levels_claims *out, const fre_audit_opts *o, fre_err *err)
{
    audit_levels_claims c = {.split = 0};
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < AUDIT_CURVE_POINTS; i++)
        st = claim_at(&c, i, o, err);
    if (st == FRE_OK)
        *out = c;
    return st;
}

/* ---- stages ---------------------------------------------------------------------------------- */

/* What a record at `position` adds to a sum, by the steps a curator takes. */
static fre_status contribution(int64_t *q, const audit_levels *a, const audit_stage *s,
                               double position)
{
    const double bound = a->plan->mechanism.norm_bound;
    const fre_aggregate_lattice lattice = {s->level.lattice_step, s->radius > 0 ? s->radius : bound,
                                           4 * FRE_AUDIT_MEMBERS_MAX};
    const double at = s->radius < bound ? (s->radius - bound) / 4 : 0;
    float *x = calloc(a->dim, sizeof *x), *centre = calloc(a->dim, sizeof *centre);
    fre_status st = x && centre ? FRE_OK : FRE_E_NOMEM;

    for (uint32_t j = 0; st == FRE_OK && j < a->dim; j++) {
        x[j] = (float)(position * a->line[j]);
        centre[j] = (float)(at * a->line[j]);
    }
    if (st == FRE_OK && !a->steps->clip(x, a->dim, bound))
        st = FRE_E_INTERNAL;
    if (st == FRE_OK && s->radius > 0)
        a->steps->offset(x, centre, a->dim, s->radius);
    if (st == FRE_OK)
        st = a->steps->add(q, x, a->dim, 1, &lattice);
    free(x);
    free(centre);
    return st;
}

static fre_status place(audit_levels *a, audit_stage *s)
{
    const double bound = a->plan->mechanism.norm_bound;
    const bool noisy = s->level.level.counts == FRE_COUNTS_NOISY;
    fre_status st;

    s->mine = calloc(a->dim, sizeof *s->mine);
    s->others = calloc(a->dim, sizeof *s->others);
    if (!s->mine || !s->others)
        return FRE_E_NOMEM;
    st = contribution(s->mine, a, s, bound);
    if (st == FRE_OK)
        st = contribution(s->others, a, s, s->radius > 0 ? -bound : bound - a->split);
    for (uint32_t j = 0; j < a->dim; j++)
        s->reach += (double)(s->mine[j] - (noisy ? 0 : s->others[j])) * a->line[j] *
                    s->level.lattice_step;
    s->bin = noisy ? hypot(1 / s->level.level.count_sigma, s->radius / s->level.level.sigma) / 3
                   : .25;
    return st;
}

static void make_stages(audit_levels *a)
{
    const fre_plan *p = a->plan;

    if (!p->request.no_grid)
        a->stage[a->stages++].level = fre_plan_grid_level(p);
    for (size_t i = 0; i < p->request.n_levels; i++, a->stages++) {
        a->stage[a->stages].level = p->level[i];
        a->stage[a->stages].radius = p->request.level[i].sketch.codebook.radius;
    }
}

fre_status audit_levels_init(audit_levels *a, const fre_audit_opts *o, double split, fre_err *err)
{
    fre_status st = FRE_OK;

    *a = (audit_levels){.opts = o,
                        .steps = o->steps ? o->steps : fre_audit_real_steps(),
                        .plan = o->levels,
                        .split = split,
                        .dim = o->levels->mechanism.dim,
                        .line = calloc(o->levels->mechanism.dim, sizeof *a->line)};
    make_stages(a);
    for (uint32_t j = 0; a->line && j < a->dim; j++) /* rounding acts on every coordinate */
        a->line[j] = (j % 3 == 0 ? -1 : 1) / sqrt((double)a->dim);
    if (!a->line)
        st = FRE_E_NOMEM;
    for (size_t i = 0; st == FRE_OK && i < a->stages; i++)
        st = place(a, &a->stage[i]);
    if (st != FRE_OK)
        audit_levels_wipe(a);
    return st == FRE_OK ? FRE_OK
                        : fre_fail(err, st, "%s",
                                   st == FRE_E_NOMEM ? "out of memory" : fre_status_text(st));
}

void audit_levels_wipe(audit_levels *a)
{
    free(a->line);
    for (size_t i = 0; i < a->stages; i++) {
        free(a->stage[i].mine);
        free(a->stage[i].others);
    }
    *a = (audit_levels){.dim = 0};
}
