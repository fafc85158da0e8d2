/* audit/audit.c - which inputs are tried, and what all tests together show; see fre/audit.h. */
#include "internal.h"

#include <inttypes.h>
#include <math.h>

#define CHUNK 500u /* runs of a job */
#define SCENARIOS_MAX 12u
#define TESTS 2u /* known law, learned */
#define DIRECTIONS 2u

/* ---- the real mechanism ---------------------------------------------------------------------- */

static bool real_coin(fre_rng *coins, uint64_t p32, uint64_t record)
{
    (void)record;
    return fre_aggregate_coin(coins, p32);
}

static bool real_cover(const fre_distributed *d, bool has_text)
{
    (void)has_text;
    return d->cover;
}

const fre_audit_steps *fre_audit_real_steps(void)
{
    static const fre_audit_steps steps = {.fold = fre_fold_text,
                                          .clip = fre_aggregate_clip,
                                          .takes = fre_contribution_counts,
                                          .add = fre_aggregate_add,
                                          .coin = real_coin,
                                          .released = fre_aggregate_released,
                                          .noise = fre_aggregate_noise,
                                          .padding = fre_aggregate_padding,
                                          .cover = real_cover};

    return &steps;
}

/* ---- the adversary's numbers ----------------------------------------------------------------- */

typedef struct numbers {
    double split;
    uint64_t worst;   /* others at which the account is worst */
    uint64_t crowded; /* others that make a release nearly certain */
    uint64_t tau;     /* sampled honest members that release */
    uint32_t curious;
} numbers;

static double rate(const fre_mechanism *m)
{
    return (double)m->p32 / (double)FRE_P_ONE;
}

/* Does the claim depend on the population? */
static bool bounded(const fre_mechanism *m)
{
    return m->sensitivity == FRE_SENSITIVITY_PROBABILISTIC;
}

/* The split of the claim's own account: records within it are charged as if they always shared a cell, so
 * the claim has to hold for them.  Where there is no account, the distance at which far members
 * would cost all of delta if each cost 1. */
static double default_split(const fre_mechanism *m, const fre_audit_opts *o, uint64_t tau)
{
    const double most = 2 * (m->norm_bound > 0 ? m->norm_bound : 1);
    const double chance = fmin(.5, o->delta * (double)tau / (rate(m) * (double)m->population));
    double lo = 0, hi = most;
    fre_account a;

    if (!bounded(m) || fre_collision(m->proj, m->cell_edge, most) > chance)
        return most;
    if (fre_joint_delta(&a, m, o->epsilon, NULL) == FRE_OK)
        return fmin(a.split, most);
    for (int i = 0; i < 60; i++) {
        const double mid = (lo + hi) / 2;

        if (fre_collision(m->proj, m->cell_edge, mid) > chance)
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
    const double norm = m->norm_bound > 0 ? m->norm_bound : 1, tau = (double)k.tau;

    k.split = fmin(o->split > 0 ? o->split : default_split(m, o, k.tau), 2 * norm);
    k.crowded = (uint64_t)ceil((tau + 4 * sqrt(tau)) / rate(m));
    k.worst = o->others > 0 ? o->others : worst_others(m, o, &k);
    if (k.worst >= m->population - m->dist.curious && bounded(m)) /* the record is one too */
        k.worst = m->population - m->dist.curious - 1;
    return k;
}

/* ---- scenarios ------------------------------------------------------------------------------- */

typedef struct programme {
    audit_plan plan[SCENARIOS_MAX];
    size_t n;
} programme;

static audit_plan *add_plan(programme *g)
{
    audit_plan *p = &g->plan[g->n++];

    *p = (audit_plan){.extra = {{.cell = AUDIT_NOWHERE}, {.cell = AUDIT_NOWHERE}}};
    return p;
}

static bool has_others(const programme *g, uint64_t others)
{
    for (size_t i = 0; i < g->n; i++) {
        if (g->plan[i].others[0] == others)
            return true;
    }
    return false;
}

/* n copies of one embedding; the record, at the split from them, is in V' only. */
static void add_copies(programme *g, const numbers *k, uint64_t others, const char *why)
{
    char known[32] = "";
    audit_plan *p;

    if (has_others(g, others))
        return;
    p = add_plan(g);
    if (k->curious > 0)
        (void)snprintf(known, sizeof known, " and %" PRIu32 " curious", k->curious);
    (void)snprintf(p->name, sizeof p->name, "added to %" PRIu64 " %s%s%s", others,
                   others == 1 ? "copy" : "copies", known, why);
    p->others[0] = others;
    p->position = -k->split / 2;
    p->extra[1] = (audit_extra){.cell = 0, .position = k->split / 2};
}

/* The same beside a second cell that is released as well, from which shared noise would show. */
static void add_company(programme *g, const numbers *k)
{
    audit_plan *p = add_plan(g);

    (void)snprintf(p->name, sizeof p->name,
                   "added to %" PRIu64 " copies, beside a cell of %" PRIu64, k->crowded,
                   k->crowded);
    p->others[0] = p->others[1] = k->crowded;
    p->position = -k->split / 2;
    p->extra[1] = (audit_extra){.cell = 0, .position = k->split / 2};
}

/* A user whose records are in every disorder counts once all the same; another of them would fall into
 * the second cell. */
static void add_odd(programme *g, const numbers *k, double bound)
{
    audit_plan *p = add_plan(g);

    (void)snprintf(p->name, sizeof p->name,
                   "added to %" PRIu64 " copies with six odd records beside it", k->worst);
    p->others[0] = p->others[1] = k->worst;
    p->position = bound - k->split;
    p->extra[1] = (audit_extra){.cell = 0, .position = 1000 * bound};
    p->odd = true;
}

/* As far as members can be and still be seen to share the record's cell now and then. */
static double far_distance(const numbers *k, const fre_audit_opts *o, double groups)
{
    const fre_mechanism *m = &o->mechanism;
    const double norm = m->norm_bound > 0 ? m->norm_bound : 1;
    double far = fmin(4 * k->split, norm * M_SQRT2);

    while (far > 1.25 * k->split && groups * fre_collision(m->proj, m->cell_edge, far) < .02)
        far *= .9;
    return far;
}

/* Groups of far members, each in the record's cell by chance only.  Worth its time when that is
 * likely to be seen. */
static void add_far(programme *g, const numbers *k, const fre_audit_opts *o)
{
    const fre_mechanism *m = &o->mechanism;
    const double groups = fmin((double)((m->population - m->dist.curious - 1) / k->crowded),
                               fmin((double)m->dim - 1, AUDIT_GROUPS_MAX));
    const double far = far_distance(k, o, groups);
    audit_plan *p;

    if (!bounded(m) || far <= k->split || groups < 1 ||
        groups * fre_collision(m->proj, m->cell_edge, far) * (double)o->runs < 10)
        return;
    p = add_plan(g);
    p->groups = (uint32_t)groups;
    (void)snprintf(p->name, sizeof p->name, "added near %" PRIu32 " far groups of %" PRIu64,
                   p->groups, k->crowded);
    p->others[0] = k->crowded;
    p->far = far;
    p->extra[1] = (audit_extra){.cell = 0};
}

/* In V the record is in a cell of its own kind, in V' in cell 0. */
static void add_move(programme *g, const numbers *k, uint64_t others, uint64_t elsewhere)
{
    audit_plan *p = add_plan(g);

    (void)snprintf(p->name, sizeof p->name,
                   "from %" PRIu64 " copies to %" PRIu64 " in another cell", elsewhere, others);
    p->others[0] = others;
    p->others[1] = elsewhere;
    p->position = -k->split / 2;
    p->extra[0] = (audit_extra){.cell = 1, .position = k->split / 2};
    p->extra[1] = (audit_extra){.cell = 0, .position = k->split / 2};
}

/* In one cell: from one side of the copies to the other. */
static void add_turn(programme *g, const numbers *k, uint64_t others)
{
    audit_plan *p = add_plan(g);

    (void)snprintf(p->name, sizeof p->name, "replaced within a cell of %" PRIu64 " copies", others);
    p->others[0] = others;
    p->extra[0] = (audit_extra){.cell = 0, .position = -k->split};
    p->extra[1] = (audit_extra){.cell = 0, .position = k->split};
}

static void add_or_remove(programme *g, const numbers *k, const fre_audit_opts *o)
{
    add_copies(g, k, k->worst, " (the account's worst)");
    add_copies(g, k, k->tau - 1, " (tau - 1)");
    if (k->tau >= 2)
        add_copies(g, k, k->tau - 2, " (tau - 2)");
    if (o->mechanism.dist.on) {
        add_copies(g, k, 0, " (alone)");
        add_copies(g, k, 1, "");
        add_copies(g, k, 2, "");
        add_copies(g, k, k->crowded, " (surely released)");
        return;
    }
    add_company(g, k);
    add_odd(g, k, o->mechanism.norm_bound > 0 ? o->mechanism.norm_bound : 1);
    add_far(g, k, o);
}

static void replace(programme *g, const numbers *k, const fre_audit_opts *o)
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
}

/* ---- one scenario ---------------------------------------------------------------------------- */

typedef struct act {
    const audit_stage *stage;
    const audit_claims *claims;
    audit_trace *trace[2];
    uint64_t runs, chunks; /* chunks of one input */
    uint64_t first;        /* job of this wave */
} act;

static fre_status act_chunk(void *ctx, uint64_t i)
{
    const act *a = ctx;
    const uint64_t job = a->first + i, chunk = job / 2, from = chunk * CHUNK;
    const unsigned world = (unsigned)(job % 2);
    const uint64_t n = a->runs - from < CHUNK ? a->runs - from : CHUNK;

    return fre_interrupted() ? FRE_E_INTERRUPTED
                             : audit_act(a->trace[world] + from, (size_t)n, a->stage, world, chunk);
}

/* In waves, between which progress shows. */
static fre_status act_all(act *a, size_t scenarios)
{
    const fre_audit_opts *o = a->stage->opts;
    const uint64_t jobs = 2 * a->chunks, wave = 8 * (uint64_t)o->threads;
    fre_status st = FRE_OK;
    char phase[48];

    (void)snprintf(phase, sizeof phase, "scenario %" PRIu32 " of %zu", a->stage->index + 1,
                   scenarios);
    for (a->first = 0; st == FRE_OK && a->first < jobs; a->first += wave) {
        fre_progress_update(o->progress, phase, a->first / 2 * CHUNK, a->runs);
        st =
            fre_parallel(o->threads, jobs - a->first < wave ? jobs - a->first : wave, act_chunk, a);
    }
    return st;
}

/* Is the first pair of a shown and a claimed delta the worse for the claim?  By how far the claim
 * is passed; while it is not, by the share of it that is shown. */
static bool worse(double lower, double claimed, double than_lower, double than_claimed)
{
    if (lower > claimed || than_lower > than_claimed)
        return lower - claimed > than_lower - than_claimed;
    return lower * than_claimed > than_lower * claimed;
}

/* Its points share alpha. */
static void judge_curve(fre_audit_scenario *out, const act *a, const audit_scores *s, bool backward,
                        double alpha)
{
    const audit_claims *c = a->claims;
    double allowed[AUDIT_CURVE_POINTS];

    audit_claims_of(allowed, c, &a->stage->plan, backward);
    for (size_t i = 0; i < c->n; i++) {
        const double claimed = allowed[i];
        const double lower = audit_divergence(s, c->epsilon[i], alpha / (double)c->n);

        if (out->curve_epsilon > 0 && !worse(lower, claimed, out->curve_lower, out->curve_claimed))
            continue;
        out->curve_epsilon = c->epsilon[i];
        out->curve_claimed = claimed;
        out->curve_lower = lower;
        out->curve_backward = backward;
    }
}

/* Both directions of one test; scores are used up. */
static void judge(fre_audit_scenario *out, const act *a, double *score[2], size_t train,
                  double alpha, bool learned)
{
    const size_t n = (size_t)a->runs;

    for (unsigned back = 0; back < DIRECTIONS; back++) {
        const audit_scores s =
            audit_scores_sort(score[back], score[1 - back], train, train + (n - train) / 3, n);
        const double eps = audit_epsilon(&s, a->stage->opts->delta, alpha);

        if (eps > out->epsilon_lower) {
            out->epsilon_lower = eps;
            out->learned = learned;
            out->backward = back == 1;
        }
        judge_curve(out, a, &s, back == 1, alpha);
        for (unsigned w = 0; w < 2; w++) {
            for (size_t i = 0; i < n; i++)
                score[w][i] = -score[w][i];
        }
    }
}

static fre_status test(fre_audit_scenario *out, const act *a, double alpha)
{
    const size_t n = (size_t)a->runs, train = n / 4;
    double *score[2] = {calloc(n, sizeof(double)), calloc(n, sizeof(double))};
    const audit_trace *const trace[2] = {a->trace[0], a->trace[1]};
    fre_status st = score[0] && score[1] ? FRE_OK : FRE_E_NOMEM;

    for (unsigned w = 0; st == FRE_OK && w < 2; w++) {
        for (size_t i = 0; i < n; i++)
            score[w][i] = trace[w][i].llr;
    }
    if (st == FRE_OK) {
        judge(out, a, score, 0, alpha, false);
        st = audit_learn(score, trace, n, train);
    }
    if (st == FRE_OK)
        judge(out, a, score, train, alpha, true);
    free(score[0]);
    free(score[1]);
    return st;
}

static fre_status play(fre_audit_scenario *out, const fre_audit_opts *o, const programme *g,
                       const audit_claims *claims, uint32_t index, double alpha, fre_err *err)
{
    const audit_plan *plan = &g->plan[index];
    audit_stage stage;
    act a = {.stage = &stage,
             .claims = claims,
             .runs = o->runs,
             .chunks = (o->runs + CHUNK - 1) / CHUNK};
    fre_status st = audit_stage_init(&stage, o, plan, index, err);

    if (st != FRE_OK)
        return st;
    a.trace[0] = calloc((size_t)o->runs, sizeof *a.trace[0]);
    a.trace[1] = calloc((size_t)o->runs, sizeof *a.trace[1]);
    st = a.trace[0] && a.trace[1] ? act_all(&a, g->n) : FRE_E_NOMEM;
    *out = (fre_audit_scenario){.epsilon_lower = 0};
    (void)snprintf(out->name, sizeof out->name, "%s", plan->name);
    if (st == FRE_OK)
        st = test(out, &a, alpha);
    if (st == FRE_E_ARG)
        st = fre_fail(err, FRE_E_USAGE,
                      "{lambda} must be a multiple of 2^-16 up to 65536, {gamma} at most %u",
                      FRE_TSDLAP_GAMMA_MAX);
    else if (st != FRE_OK)
        (void)fre_fail(err, st, "%s", st == FRE_E_NOMEM ? "out of memory" : fre_status_text(st));
    free(a.trace[0]);
    free(a.trace[1]);
    audit_stage_wipe(&stage);
    return st;
}

/* ---- the audit ------------------------------------------------------------------------------- */

static fre_status check_claim(const fre_audit_opts *o, fre_err *err)
{
    if (!(o->epsilon > 0) || !(o->epsilon <= FRE_PRIVACY_EPSILON_MAX))
        return fre_fail(err, FRE_E_USAGE, "{epsilon} must be a number above 0 and at most %g",
                        FRE_PRIVACY_EPSILON_MAX);
    if (!(o->delta > 0) || !(o->delta < 1))
        return fre_fail(err, FRE_E_USAGE, "{delta} must be a number above 0 and below 1");
    if (o->runs < FRE_AUDIT_RUNS_MIN || o->runs > FRE_AUDIT_RUNS_MAX)
        return fre_fail(err, FRE_E_USAGE, "{runs} must be in %" PRIu64 "..%" PRIu64,
                        FRE_AUDIT_RUNS_MIN, FRE_AUDIT_RUNS_MAX);
    if (!(o->confidence > 0) || !(o->confidence < 1))
        return fre_fail(err, FRE_E_USAGE, "{confidence} must be a number above 0 and below 1");
    if (!(o->split >= 0) || isinf(o->split))
        return fre_fail(err, FRE_E_USAGE, "{split} must be a number above 0");
    return FRE_OK;
}

static fre_status check_mechanism(const fre_mechanism *m, fre_err *err)
{
    if (m->p32 < 1 || m->p32 > FRE_P_ONE)
        return fre_fail(err, FRE_E_USAGE, "{sampling_rate} must be above 0 and at most 1");
    if (!(m->sigma > 0) || !(m->sigma <= 1e12))
        return fre_fail(err, FRE_E_USAGE, "{sigma} must be a number above 0 and at most 1e12");
    if (m->dim < 1 || m->dim > 8192)
        return fre_fail(err, FRE_E_USAGE, "{dimension} must be in 1..8192");
    if (m->tau < 1 || m->tau > FRE_AUDIT_MEMBERS_MAX)
        return fre_fail(err, FRE_E_USAGE, "a threshold above %" PRIu64 " can't be simulated",
                        FRE_AUDIT_MEMBERS_MAX);
    if (m->dist.on && m->tau < 2)
        return fre_fail(err, FRE_E_USAGE, "{distributed} needs a {tau} of at least 2");
    if (m->dist.curious >= m->tau)
        return fre_fail(err, FRE_E_USAGE, "{curious_users} must be below {tau}");
    if (bounded(m) && (m->population <= m->dist.curious || m->proj < 1 ||
                       m->proj > FRE_PRIVACY_K_MAX || !(m->cell_edge > 0)))
        return fre_fail(err, FRE_E_USAGE,
                        "{population}, {projection_dim} and {cell_edge} must be above 0");
    return FRE_OK;
}

/* Inputs of more records than the claim allows are no attack on it. */
static void keep_to_population(programme *g, const fre_mechanism *m)
{
    size_t n = 0;

    for (size_t i = 0; i < g->n; i++) {
        const audit_plan *p = &g->plan[i];
        const uint64_t lines = p->groups > 0 ? p->groups : 1;
        const uint64_t records =
            p->others[0] * lines + p->others[1] + m->dist.curious + (p->odd ? AUDIT_MINE_MAX : 1);

        if (!bounded(m) || records <= m->population)
            g->plan[n++] = *p;
    }
    g->n = n;
}

static fre_status check_size(const programme *g, fre_err *err)
{
    for (size_t i = 0; i < g->n; i++) {
        if (g->plan[i].others[0] > FRE_AUDIT_MEMBERS_MAX)
            return fre_fail(err, FRE_E_USAGE,
                            "a cell of %" PRIu64 " members can't be simulated: lower {threshold} "
                            "(or {tau}), or raise {sampling_rate}",
                            g->plan[i].others[0]);
    }
    return FRE_OK;
}

/* What all scenarios together show. */
static void conclude(fre_audit *a)
{
    for (size_t i = 0; i < a->n; i++) {
        const fre_audit_scenario *s = &a->scenario[i], *w = &a->scenario[a->curve_worst];

        if (s->epsilon_lower > a->epsilon_lower) {
            a->epsilon_lower = s->epsilon_lower;
            a->worst = i;
        }
        if (worse(s->curve_lower, s->curve_claimed, w->curve_lower, w->curve_claimed))
            a->curve_worst = i;
    }
    a->curve_refuted =
        a->scenario[a->curve_worst].curve_lower > a->scenario[a->curve_worst].curve_claimed;
    a->refuted = a->epsilon_lower > a->epsilon || a->curve_refuted;
}

static fre_status run_programme(fre_audit *a, const programme *g, const audit_claims *claims,
                                const fre_audit_opts *o, fre_err *err)
{
    /* A pair of bounds a test; half of what may go wrong is the curve's, if there is one. */
    const double alpha = (1 - o->confidence) / ((double)g->n * TESTS * DIRECTIONS * 2);
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < g->n; i++)
        st = play(&a->scenario[i], o, g, claims, (uint32_t)i, claims->n ? alpha / 2 : alpha, err);
    if (st == FRE_OK)
        conclude(a);
    return st;
}

fre_status fre_audit_run(fre_audit **out, const fre_audit_opts *opts, fre_err *err)
{
    programme g = {.n = 0};
    audit_claims claims;
    fre_audit *a = NULL;
    numbers k;
    fre_status st = check_claim(opts, err);

    if (st == FRE_OK)
        st = check_mechanism(&opts->mechanism, err);
    if (st != FRE_OK)
        return st;
    k = choose_numbers(opts);
    if (opts->mechanism.adjacency == FRE_ADJACENCY_REPLACE)
        replace(&g, &k, opts);
    else
        add_or_remove(&g, &k, opts);
    keep_to_population(&g, &opts->mechanism);
    st = check_size(&g, err);
    if (st == FRE_OK)
        st = audit_claims_make(&claims, opts, k.split, err);
    if (st != FRE_OK)
        return st;
    a = calloc(1, sizeof *a);
    if (!a)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    *a = (fre_audit){.epsilon = opts->epsilon,
                     .delta = opts->delta,
                     .confidence = opts->confidence,
                     .split = k.split,
                     .runs = opts->runs,
                     .curve = claims.n > 0,
                     .n = g.n,
                     .scenario = calloc(g.n, sizeof *a->scenario)};
    st = a->scenario ? run_programme(a, &g, &claims, opts, err)
                     : fre_fail(err, FRE_E_NOMEM, "out of memory");
    if (st == FRE_OK) {
        *out = a;
        a = NULL; /* handed over */
    }
    fre_audit_free(a);
    return st;
}

void fre_audit_free(fre_audit *a)
{
    if (!a)
        return;
    free(a->scenario);
    free(a);
}
