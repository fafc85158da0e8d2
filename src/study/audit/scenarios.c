/* audit/scenarios.c - which pairs of neighbouring inputs are tried. */
#include "audit_private.h"

#include <inttypes.h>
#include <math.h>

/* ---- the adversary's numbers ----------------------------------------------------------------- */

typedef struct numbers {
    double split;
    uint64_t worst;   /* others at which the account is worst */
    uint64_t crowded; /* others that make a release nearly certain */
    uint64_t edge, cut; /* splits: that make thirds of it in half of the runs, and nearly certain */
    uint64_t tau;     /* sampled honest members that release */
    uint32_t curious;
} numbers;

static double rate(const fre_mechanism *m)
{
    return (double)m->p32 / (double)FRE_P_ONE;
}

/* The split of the claim's own account: records within it are charged as if they always shared a cell, so
 * the claim has to hold for them.  Where there is no account, the distance at which far members
 * would cost all of delta if each cost 1. */
static double default_split(const fre_mechanism *m, const fre_audit_opts *o, uint64_t tau)
{
    const double most = 2 * audit_reach(m);
    const double chance = fmin(.5, o->delta * (double)tau / (rate(m) * (double)m->population));
    double lo = 0, hi = most;
    fre_account a;

    if (!audit_bounded(m) || fre_collision(&m->sketch.grid, most) > chance)
        return most;
    if (fre_joint_delta(&a, m, o->epsilon, NULL) == FRE_OK)
        return fmin(a.split, most);
    for (int i = 0; i < 60; i++) {
        const double mid = (lo + hi) / 2;

        if (fre_collision(&m->sketch.grid, mid) > chance)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Where the account of the released cells is worst; an epsilon below what removal alone costs
 * has no account, so the least that has one serves. */
static uint64_t worst_others(const fre_mechanism *claimed, const fre_audit_opts *o,
                             const numbers *k)
{
    fre_mechanism m = *claimed;
    fre_account a;
    double epsilon = o->epsilon;

    if (m.p32 == FRE_P_ONE)
        return k->tau - 1;
    if (m.adjacency == FRE_ADJACENCY_ADD_REMOVE)
        epsilon = fmin(FRE_PRIVACY_EPSILON_MAX, fmax(epsilon, -log1p(-rate(&m)) * 1.000001));
    m.tau = k->tau;
    m.dist = (fre_distributed){.on = false};
    m.noise = FRE_NOISE_CONTINUOUS;
    m.cells_per_user = 1;
    if (fre_joint_delta_at_split(&a, &m, epsilon, k->split, NULL) != FRE_OK)
        return k->crowded;
    /* Where noise is next to nothing the account grows for ever, and nothing is left to gain. */
    return a.worst_cell < 2 * k->crowded ? a.worst_cell : 2 * k->crowded;
}

/* Of the mechanism that is claimed: where it says least, another one stands out. */
static numbers choose_numbers(const fre_audit_opts *o)
{
    const fre_mechanism *m = o->claimed ? o->claimed : &o->mechanism;
    numbers k = {.tau = m->tau - m->dist.curious, .curious = m->dist.curious};
    const double norm = audit_reach(m), tau = (double)k.tau;
    const double whole = 3 * (double)m->tau / (1 - m->dist.dropout);

    k.split = fmin(o->split > 0 ? o->split : default_split(m, o, k.tau), 2 * norm);
    k.crowded = (uint64_t)ceil((tau + 4 * sqrt(tau)) / rate(m));
    k.edge = (uint64_t)ceil(whole / rate(m));
    k.cut = (uint64_t)ceil((whole + 4 * sqrt(whole)) / rate(m));
    k.worst = o->others > 0 ? o->others : worst_others(m, o, &k);
    if (k.worst >= m->population - m->dist.curious && audit_bounded(m)) /* the record is one too */
        k.worst = m->population - m->dist.curious - 1;
    return k;
}

/* ---- scenarios ------------------------------------------------------------------------------- */

static audit_scenario *add_scenario(audit_scenarios *g)
{
    audit_scenario *p = &g->at[g->n++];

    *p = (audit_scenario){.extra = {{.cell = AUDIT_NOWHERE}, {.cell = AUDIT_NOWHERE}}};
    return p;
}

static bool has_others(const audit_scenarios *g, uint64_t others)
{
    for (size_t i = 0; i < g->n; i++) {
        if (g->at[i].others[0] == others)
            return true;
    }
    return false;
}

/* n copies of one embedding; the record, at the split from them, is in V' only. */
static void add_copies(audit_scenarios *g, const numbers *k, uint64_t others, const char *why)
{
    char known[32] = "";
    audit_scenario *p = add_scenario(g);

    if (k->curious > 0)
        (void)snprintf(known, sizeof known, " and %" PRIu32 " curious", k->curious);
    (void)snprintf(p->name, sizeof p->name, "added to %" PRIu64 " %s%s%s", others,
                   others == 1 ? "copy" : "copies", known, why);
    p->others[0] = others;
    p->position = -k->split / 2;
    p->extra[1] = (audit_extra){.cell = 0, .position = k->split / 2};
}

/* The same beside a second cell that is released as well, from which shared noise would show. */
static void add_company(audit_scenarios *g, const numbers *k)
{
    audit_scenario *p = add_scenario(g);

    (void)snprintf(p->name, sizeof p->name,
                   "added to %" PRIu64 " copies, beside a cell of %" PRIu64, k->crowded,
                   k->crowded);
    p->others[0] = p->others[1] = k->crowded;
    p->position = -k->split / 2;
    p->extra[1] = (audit_extra){.cell = 0, .position = k->split / 2};
}

/* A user whose records are in every disorder counts once all the same; another of them would fall into
 * the second cell. */
static void add_odd(audit_scenarios *g, const numbers *k, double bound)
{
    audit_scenario *p = add_scenario(g);

    (void)snprintf(p->name, sizeof p->name,
                   "added to %" PRIu64 " copies with six odd records beside it", k->worst);
    p->others[0] = p->others[1] = k->worst;
    p->position = bound - k->split;
    p->extra[1] = (audit_extra){.cell = 0, .position = 1000 * bound};
    p->odd = true;
}

/* A cell that is cut.  Each server's view, told in which third the record is or would be: the claim holds for
 * whoever knows it; S_syn's as it is, which has ids alone; and where the count decides whether it is cut. */
static void add_thirds(audit_scenarios *g, const numbers *k, const fre_mechanism *m)
{
    static const struct {
        const char *name;
        audit_viewer viewer;
        bool blind, edge;
    } all[] = {{"in thirds, seen by S_syn, told which", AUDIT_SYN, false, false},
               {"in thirds, seen by S_syn, not told", AUDIT_SYN, true, false},
               {"at the edge of thirds, seen by S_syn, told which", AUDIT_SYN, false, true},
               {"in thirds, seen by S_tag, told which", AUDIT_TAG, false, false}};

    for (size_t i = 0; i < sizeof all / sizeof *all && m->dist.splits; i++) {
        const uint64_t others = all[i].edge ? k->edge : k->cut;
        audit_scenario *p;

        if (all[i].viewer == AUDIT_TAG && !m->dist.server_noise)
            continue;
        add_copies(g, k, others, "");
        p = &g->at[g->n - 1];
        p->viewer = all[i].viewer;
        p->blind = all[i].blind;
        (void)snprintf(p->name, sizeof p->name, "added to %" PRIu64 ", %s", others, all[i].name);
    }
}

/* What only shares show.  The record half a step beside the others' points of the lattice; each server's
 * view where two cells are released; and of a user of several cells a record in all of them, each beside so
 * many copies as are worst, or beside one. */
static void add_shares(audit_scenarios *g, const numbers *k, const fre_mechanism *m)
{
    audit_scenario *p;

    for (unsigned viewer = AUDIT_SYN; viewer <= AUDIT_TAG; viewer++) {
        if (viewer == AUDIT_TAG && !m->dist.server_noise)
            break; /* what S_syn sees has all of it */
        add_company(g, k);
        p = &g->at[g->n - 1];
        p->viewer = viewer;
        (void)snprintf(p->name, sizeof p->name, "added to %" PRIu64 ", beside %" PRIu64 ", seen by %s",
                       k->crowded, k->crowded, viewer == AUDIT_TAG ? "S_tag" : "S_syn");
    }
    add_copies(g, k, k->worst, "");
    p = &g->at[g->n - 1];
    p->between = true;
    (void)snprintf(p->name, sizeof p->name, "added to %" PRIu64 " copies, between lattice points",
                   k->worst);
    for (unsigned i = 0; i < 2 && m->cells_per_user > 1; i++) {
        add_copies(g, k, i == 0 ? k->worst : 1, "");
        p = &g->at[g->n - 1];
        p->cells = m->cells_per_user;
        (void)snprintf(p->name, sizeof p->name,
                       "%" PRIu32 " records of one user, each added to %" PRIu64 "%s", p->cells,
                       p->others[0], i == 0 ? " copies" : "");
    }
}

/* As far as members can be and still be seen to share the record's cell now and then. */
static double far_distance(const numbers *k, const fre_audit_opts *o, double groups)
{
    const fre_mechanism *m = &o->mechanism;
    const double norm = m->norm_bound > 0 ? m->norm_bound : 1;
    double far = fmin(4 * k->split, norm * M_SQRT2);

    while (far > 1.25 * k->split && groups * fre_collision(&m->sketch.grid, far) < .02)
        far *= .9;
    return far;
}

/* Groups of far members, each in the record's cell by chance only.  Worth its time when that is
 * likely to be seen. */
static void add_far(audit_scenarios *g, const numbers *k, const fre_audit_opts *o)
{
    const fre_mechanism *m = &o->mechanism;
    const double groups = fmin((double)((m->population - m->dist.curious - 1) / k->crowded),
                               fmin((double)m->dim - 1, AUDIT_GROUPS_MAX));
    const double far = far_distance(k, o, groups);
    audit_scenario *p;

    if (!audit_bounded(m) || far <= k->split || groups < 1 ||
        groups * fre_collision(&m->sketch.grid, far) * (double)o->runs < 10)
        return;
    p = add_scenario(g);
    p->groups = (uint32_t)groups;
    (void)snprintf(p->name, sizeof p->name, "added near %" PRIu32 " far groups of %" PRIu64,
                   p->groups, k->crowded);
    p->others[0] = k->crowded;
    p->far = far;
    p->extra[1] = (audit_extra){.cell = 0};
}

/* In V the record is in a cell of its own kind, in V' in cell 0. */
static void add_move(audit_scenarios *g, const numbers *k, uint64_t others, uint64_t elsewhere)
{
    audit_scenario *p = add_scenario(g);

    (void)snprintf(p->name, sizeof p->name,
                   "from %" PRIu64 " copies to %" PRIu64 " in another cell", elsewhere, others);
    p->others[0] = others;
    p->others[1] = elsewhere;
    p->position = -k->split / 2;
    p->extra[0] = (audit_extra){.cell = 1, .position = k->split / 2};
    p->extra[1] = (audit_extra){.cell = 0, .position = k->split / 2};
}

/* In one cell: from one side of the copies to the other. */
static void add_turn(audit_scenarios *g, const numbers *k, uint64_t others)
{
    audit_scenario *p = add_scenario(g);

    (void)snprintf(p->name, sizeof p->name, "replaced within a cell of %" PRIu64 " copies", others);
    p->others[0] = others;
    p->extra[0] = (audit_extra){.cell = 0, .position = -k->split};
    p->extra[1] = (audit_extra){.cell = 0, .position = k->split};
}

/* Of every size once. */
static void add_size(audit_scenarios *g, const numbers *k, uint64_t others, const char *why)
{
    if (!has_others(g, others))
        add_copies(g, k, others, why);
}

static void add_or_remove(audit_scenarios *g, const numbers *k, const fre_audit_opts *o)
{
    add_size(g, k, k->worst, " (the account's worst)");
    add_size(g, k, k->tau - 1, " (tau - 1)");
    if (k->tau >= 2)
        add_size(g, k, k->tau - 2, " (tau - 2)");
    if (o->mechanism.dist.on) {
        add_size(g, k, 0, " (alone)");
        add_size(g, k, 1, "");
        add_size(g, k, 2, "");
        if (audit_has_shares(&o->mechanism)) {
            add_shares(g, k, &o->mechanism);
            add_thirds(g, k, &o->mechanism);
        } else
            add_size(g, k, k->crowded, " (surely released)");
        return;
    }
    add_company(g, k);
    add_odd(g, k, o->mechanism.norm_bound > 0 ? o->mechanism.norm_bound : 1);
    add_far(g, k, o);
}

static void replace(audit_scenarios *g, const numbers *k, const fre_audit_opts *o)
{
    const bool alone = o->mechanism.dist.on; /* the record's other cell is its own */

    add_move(g, k, k->worst, alone ? 0 : k->worst);
    add_move(g, k, k->tau - 1, alone ? 0 : k->tau - 1);
    if (k->tau >= 3)
        add_move(g, k, k->tau - 2, alone ? 0 : k->tau - 2);
    if (alone && k->tau >= 4)
        add_move(g, k, 1, 0);
    add_turn(g, k, k->worst);
    add_turn(g, k, k->tau - 1);
    if (audit_has_shares(&o->mechanism) && o->mechanism.dist.splits)
        add_turn(g, k, k->cut);
}

/* Inputs of more records than the claim allows are no attack on it. */
static void keep_to_population(audit_scenarios *g, const fre_mechanism *m)
{
    size_t n = 0;

    for (size_t i = 0; i < g->n; i++) {
        const audit_scenario *p = &g->at[i];
        const uint64_t lines = p->groups > 0 ? p->groups : 1;
        const uint64_t records =
            (p->cells > 1 ? p->cells : 1) *
            (p->others[0] * lines + p->others[1] + m->dist.curious + (p->odd ? AUDIT_MINE_MAX : 1));

        if (!audit_bounded(m) || records <= m->population)
            g->at[n++] = *p;
    }
    g->n = n;
}

static fre_status check_size(const audit_scenarios *g, fre_err *err)
{
    for (size_t i = 0; i < g->n; i++) {
        if (g->at[i].others[0] > FRE_AUDIT_MEMBERS_MAX)
            return fre_fail(err, FRE_E_USAGE,
                            "a cell of %" PRIu64 " members can't be simulated: lower {threshold} "
                            "(or {tau}), or raise {sampling_rate}",
                            g->at[i].others[0]);
    }
    return FRE_OK;
}

fre_status audit_scenarios_choose(audit_scenarios *out, double *split, const fre_audit_opts *o,
                                  fre_err *err)
{
    const numbers k = choose_numbers(o);

    *out = (audit_scenarios){.n = 0};
    *split = k.split;
    if (o->mechanism.adjacency == FRE_ADJACENCY_REPLACE)
        replace(out, &k, o);
    else
        add_or_remove(out, &k, o);
    keep_to_population(out, &o->mechanism);
    return check_size(out, err);
}
