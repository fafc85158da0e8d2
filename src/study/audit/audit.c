/* audit/audit.c - runs every scenario, and what all tests together show; see fre/audit.h. */
#include "audit_private.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define CHUNK 500u /* runs of a job */
#define TESTS 2u   /* known law, learned */
#define DIRECTIONS 2u

/* ---- one scenario ---------------------------------------------------------------------------- */

typedef struct runs {
    const audit_attack *attack;
    const fre_audit_opts *opts;
    audit_trace *trace[2];
    uint64_t runs, chunks; /* chunks of one input */
    uint64_t first;        /* job of this wave */
} runs;

static fre_status run_chunk(void *ctx, uint64_t i)
{
    const runs *a = ctx;
    const uint64_t job = a->first + i, chunk = job / 2, from = chunk * CHUNK;
    const unsigned world = (unsigned)(job % 2);
    const uint64_t n = a->runs - from < CHUNK ? a->runs - from : CHUNK;

    return a->attack->simulate(a->trace[world] + from, (size_t)n, a->attack->setup, world, chunk);
}

/* In waves, between which progress shows. */
static fre_status run_waves(runs *a, const fre_audit *all, size_t index)
{
    const fre_audit_opts *o = a->opts;
    const uint64_t jobs = 2 * a->chunks, wave = 8 * (uint64_t)o->threads;
    fre_status st = FRE_OK;
    char phase[48];

    (void)snprintf(phase, sizeof phase, "scenario %zu of %zu", index + 1, all->n);
    for (a->first = 0; st == FRE_OK && a->first < jobs; a->first += wave) {
        fre_progress_update(o->progress, phase, a->first / 2 * CHUNK, a->runs);
        st =
            fre_parallel(o->threads, jobs - a->first < wave ? jobs - a->first : wave, run_chunk, a);
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
static void judge_curve(fre_audit_scenario *out, const runs *a, const audit_scores *s,
                        bool backward, double alpha)
{
    const audit_attack *c = a->attack;

    for (size_t i = 0; i < c->points; i++) {
        const double claimed = c->allowed[backward][i];
        const double lower = audit_divergence(s, c->epsilon[i], alpha / (double)c->points);

        if (out->curve_epsilon > 0 && !worse(lower, claimed, out->curve_lower, out->curve_claimed))
            continue;
        out->curve_epsilon = c->epsilon[i];
        out->curve_claimed = claimed;
        out->curve_lower = lower;
        out->curve_backward = backward;
    }
}

/* Both directions of one test; scores are used up. */
static void judge(fre_audit_scenario *out, const runs *a, double *score[2], size_t train,
                  double alpha, bool learned)
{
    const size_t n = (size_t)a->runs;

    for (unsigned back = 0; back < DIRECTIONS; back++) {
        const audit_scores s =
            audit_scores_sort(score[back], score[1 - back], train, train + (n - train) / 3, n);
        const double eps = audit_epsilon(&s, a->opts->delta, alpha);

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

static fre_status test(fre_audit_scenario *out, const runs *a, double alpha)
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

/* Into the index'th of all scenarios. */
static fre_status run_attack(fre_audit *all, size_t index, const fre_audit_opts *o,
                             const audit_attack *attack, double alpha, fre_err *err)
{
    fre_audit_scenario *out = &all->scenario[index];
    runs a = {.attack = attack,
              .opts = o,
              .runs = o->runs,
              .chunks = (o->runs + CHUNK - 1) / CHUNK};
    fre_status st;

    a.trace[0] = calloc((size_t)o->runs, sizeof *a.trace[0]);
    a.trace[1] = calloc((size_t)o->runs, sizeof *a.trace[1]);
    st = a.trace[0] && a.trace[1] ? run_waves(&a, all, index) : FRE_E_NOMEM;
    *out = (fre_audit_scenario){.epsilon_lower = 0};
    (void)snprintf(out->name, sizeof out->name, "%s", attack->name);
    if (st == FRE_OK)
        st = test(out, &a, attack->points > 0 ? alpha / 2 : alpha);
    if (st == FRE_E_ARG)
        st = fre_fail(err, FRE_E_USAGE,
                      "{lambda} must be a multiple of 2^-16 up to 65536, {gamma} at most %u",
                      FRE_TSDLAP_GAMMA_MAX);
    else if (st != FRE_OK)
        (void)fre_fail(err, st, "%s", st == FRE_E_NOMEM ? "out of memory" : fre_status_text(st));
    free(a.trace[0]);
    free(a.trace[1]);
    return st;
}

static fre_status run_scenario(fre_audit *all, size_t index, const fre_audit_opts *o,
                               const audit_scenarios *g, const audit_claims *claims, double alpha,
                               fre_err *err)
{
    const audit_scenario *scenario = &g->at[index];
    audit_setup setup;
    audit_attack attack = {.name = scenario->name,
                           .simulate = audit_simulate,
                           .setup = &setup,
                           .points = claims->n};
    fre_status st = audit_setup_init(&setup, o, scenario, claims->split, (uint32_t)index, err);

    if (st != FRE_OK)
        return st;
    memcpy(attack.epsilon, claims->epsilon, sizeof attack.epsilon);
    for (unsigned back = 0; back < DIRECTIONS; back++)
        audit_claims_of(attack.allowed[back], claims, scenario, back == 1);
    st = run_attack(all, index, o, &attack, alpha, err);
    audit_setup_wipe(&setup);
    return st;
}

/* ---- the audit ------------------------------------------------------------------------------- */

static fre_status check_claim(const fre_audit_opts *o, fre_err *err)
{
    const fre_param_value fields[] = {
        {&fre_param_epsilon, o->epsilon},
        {&fre_param_delta, o->delta},
        {&fre_audit_param_runs, (double)o->runs},
        {&fre_audit_param_confidence, o->confidence},
        {&fre_param_split, fpclassify(o->split) == FP_ZERO ? 1 : o->split},
    };

    return fre_param_check_all(fields, sizeof fields / sizeof fields[0], err);
}

static fre_status check_mechanism(const fre_mechanism *m, fre_err *err)
{
    const fre_param_value fields[] = {
        {&fre_param_sampling_rate, (double)m->p32 / (double)FRE_P_ONE},
        {&fre_param_sigma, m->sigma},
        {&fre_param_dimension, m->dim},
    };
    const fre_param_value probabilistic[] = {
        {&fre_param_projection_dim, m->sketch.grid.proj},
        {&fre_param_cell_edge, m->sketch.grid.cell_edge},
    };
    fre_status st = fre_param_check_all(fields, sizeof fields / sizeof fields[0], err);

    if (st != FRE_OK)
        return st;
    if (!fre_param_holds(&fre_audit_param_tau, (double)m->tau))
        return fre_fail(err, FRE_E_USAGE, "a threshold above %" PRIu64 " can't be simulated",
                        FRE_AUDIT_MEMBERS_MAX);
    if (m->dist.on && m->tau < 2)
        return fre_fail(err, FRE_E_USAGE, "{distributed} needs a {tau} of at least 2");
    if (m->dist.curious >= m->tau)
        return fre_fail(err, FRE_E_USAGE, "{curious_users} must be below {tau}");
    if (!audit_bounded(m))
        return FRE_OK;
    if (m->population <= m->dist.curious)
        return fre_fail(err, FRE_E_USAGE, "{population} must be above {curious_users}");
    return fre_param_check_all(probabilistic, sizeof probabilistic / sizeof probabilistic[0], err);
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

/* The scenarios. */
typedef struct everything {
    audit_scenarios grid; /* none: a plan without one */
    audit_claims claims;
    audit_claims group; /* of all records of a user */
    audit_by_levels *levels; /* NULL: none; owned */
    double split;
} everything;

static fre_status run_all(fre_audit *a, const everything *e, const fre_audit_opts *o, fre_err *err)
{
    /* A pair of bounds a test; half of what may go wrong is the curve's, if there is one. */
    const double alpha = (1 - o->confidence) / ((double)a->n * TESTS * DIRECTIONS * 2);
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < e->grid.n; i++)
        st = run_scenario(a, i, o, &e->grid,
                          e->grid.at[i].cells > 1 ? &e->group : &e->claims, alpha, err);
    for (size_t i = e->grid.n; st == FRE_OK && i < a->n; i++) {
        audit_attack attack;

        audit_by_levels_attack(&attack, e->levels, i - e->grid.n);
        st = run_attack(a, i, o, &attack, alpha, err);
    }
    if (st == FRE_OK)
        conclude(a);
    return st;
}

/* All but the levels: with a grid, or a collection's public cells. */
static fre_status choose_cells(everything *e, const fre_audit_opts *o, fre_err *err)
{
    fre_status st = check_mechanism(&o->mechanism, err);

    if (st == FRE_OK)
        st = audit_scenarios_choose(&e->grid, &e->split, o, err);
    if (st == FRE_OK)
        st = audit_claims_make(&e->claims, o, e->split, false, err);
    if (st != FRE_OK || !audit_has_shares(&o->mechanism))
        return st;
    return audit_claims_make(&e->group, o, e->split, true, err);
}

static fre_status choose_all(everything *e, const fre_audit_opts *o, fre_err *err)
{
    fre_status st = FRE_OK;

    if (!o->levels || !o->levels->request.no_grid)
        st = choose_cells(e, o, err);
    if (st == FRE_OK && o->levels)
        st = audit_by_levels_new(&e->levels, o, err);
    return st;
}

fre_status fre_audit_run(fre_audit **out, const fre_audit_opts *opts, fre_err *err)
{
    everything e = {.split = 0};
    fre_audit *a = NULL;
    fre_status st = check_claim(opts, err);

    if (st == FRE_OK)
        st = choose_all(&e, opts, err);
    if (st != FRE_OK)
        return st;
    a = calloc(1, sizeof *a);
    if (!a) {
        audit_by_levels_free(e.levels);
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    }
    *a = (fre_audit){.epsilon = opts->epsilon,
                     .delta = opts->delta,
                     .confidence = opts->confidence,
                     .split = e.split,
                     .runs = opts->runs,
                     .curve = e.claims.n > 0 || e.levels,
                     .n = e.grid.n + audit_by_levels_count(e.levels)};
    a->scenario = calloc(a->n, sizeof *a->scenario);
    st = a->scenario ? run_all(a, &e, opts, err) : fre_fail(err, FRE_E_NOMEM, "out of memory");
    if (st == FRE_OK && e.grid.n > 0 && audit_has_shares(&opts->mechanism))
        st = audit_shares_cell(&a->shares, &opts->mechanism, e.split, opts->mechanism.tau,
                               opts->mechanism.tau, err);
    audit_by_levels_free(e.levels);
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
