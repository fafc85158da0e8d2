/* cmd_plan.c - which sampling rate, threshold and noise a budget leads to. */
#include "plan_args.h"

#include <inttypes.h>

const char *const cli_adjacencies[] = {"add-remove", "replace", NULL};
const char *const cli_accountants[] = {"joint", "paper", NULL};
const char *const cli_gaussians[] = {"analytic", "zcdp", NULL};
const char *const cli_sensitivities[] = {"probabilistic", "worst-case", NULL};
const char *const cli_noises[] = {"continuous", NULL};

fre_status cli_plan_request(fre_plan_request *out, const cli *c, fre_err *err)
{
    fre_plan_request r;

    if (cli_given(c, "cell-edge") && cli_given(c, "cell-scale"))
        return fre_fail(err, FRE_E_USAGE, "give --cell-edge or --cell-scale, not both");
    fre_plan_request_init(&r);
    r.epsilon = cli_number(c, "epsilon");
    r.delta = cli_number(c, "delta");
    r.threshold = cli_whole(c, "threshold");
    r.radius = cli_number(c, "radius");
    r.population = cli_whole(c, "population");
    r.proj = (uint32_t)cli_whole(c, "projection-dim"); /* 0: auto */
    r.cell_scale = cli_number(c, "cell-scale");
    r.cell_edge = cli_number(c, "cell-edge"); /* 0: not given */
    r.sampling_rate = cli_number(c, "sampling-rate");
    r.adjacency = cli_choice(c, "adjacency") ? FRE_ADJACENCY_REPLACE : FRE_ADJACENCY_ADD_REMOVE;
    r.accountant = cli_choice(c, "accountant") ? FRE_ACCOUNTANT_PAPER : FRE_ACCOUNTANT_JOINT;
    r.gaussian = cli_choice(c, "gaussian") ? FRE_GAUSSIAN_ZCDP : FRE_GAUSSIAN_ANALYTIC;
    r.budget_factor = cli_number(c, "budget-factor");
    r.sensitivity_ratio = cli_number(c, "sensitivity-ratio");
    r.sensitivity =
        cli_choice(c, "sensitivity") ? FRE_SENSITIVITY_WORST_CASE : FRE_SENSITIVITY_PROBABILISTIC;
    r.norm_bound = cli_number(c, "norm-bound");
    r.cells_per_user = (uint32_t)cli_whole(c, "max-cells-per-user");
    *out = r;
    return FRE_OK;
}

/* ---- JSON --------------------------------------------------------------------------------------- */

static double rate_of(const fre_mechanism *m)
{
    return (double)m->p32 / 4294967296.0; /* exact: p is a multiple of 2^-32 */
}

static int set(json_t *o, const char *key, json_t *value)
{
    return json_object_set_new(o, key, value);
}

json_t *cli_account_json(const fre_account *a, const fre_mechanism *m, const char *accountant)
{
    json_t *o = json_object();
    int bad = 0;

    if (!o)
        return NULL;
    bad |= set(o, "epsilon", cli_json_real(a->epsilon));
    bad |= set(o, "delta", cli_json_real(a->delta));
    bad |= set(o, "sampling_rate", cli_json_real(rate_of(m)));
    bad |= set(o, "tau", json_integer((json_int_t)m->tau));
    bad |= set(o, "sigma", cli_json_real(m->sigma));
    bad |= set(o, "cell_edge", cli_json_real(m->cell_edge));
    bad |= set(o, "projection_dim", json_integer((json_int_t)m->proj));
    bad |= set(o, "split", cli_json_real(a->split));
    bad |= set(o, "population", json_integer((json_int_t)m->population));
    bad |= set(o, "adjacency", json_string(cli_adjacencies[m->adjacency]));
    bad |= set(o, "accountant", json_string(accountant));
    bad |= set(o, "noise", json_string(cli_noises[0]));
    bad |= set(o, "sensitivity", json_string(cli_sensitivities[m->sensitivity]));
    bad |= set(o, "cells_per_user", json_integer((json_int_t)m->cells_per_user));
    bad |= set(o, "lattice_step", cli_json_real(m->lattice_step));
    bad |= set(o, "delta_released", cli_json_real(a->delta_released));
    bad |= set(o, "delta_far", cli_json_real(a->delta_far));
    bad |= set(o, "delta_unreleased", cli_json_real(a->delta_unreleased));
    bad |= set(o, "worst_cell", json_integer((json_int_t)a->worst_cell));
    /* Terms of the distributed mode: none in curator mode. */
    bad |= set(o, "lambda", json_null());
    bad |= set(o, "gamma", json_null());
    bad |= set(o, "expected_dummies", json_null());
    if (bad) {
        json_decref(o);
        return NULL;
    }
    return o;
}

static json_t *warnings_json(const fre_plan *plan)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < plan->n_warnings; i++) {
        if (json_array_append_new(list, json_string(plan->warnings[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

json_t *cli_plan_json(const fre_plan *plan)
{
    const fre_plan_request *r = &plan->request;
    bool paper = r->accountant == FRE_ACCOUNTANT_PAPER;
    json_t *o = cli_account_json(&plan->account, &plan->mechanism, cli_accountants[r->accountant]);
    const struct {
        const char *key;
        double value;
    } paper_keys[] = {
        {"epsilon_fre", plan->epsilon_fre},
        {"delta_fre", plan->delta_fre},
        {"delta_sens", plan->delta_sens},
        {"epsilon_agg", plan->epsilon_agg},
        {"delta_agg", plan->delta_agg},
        {"multiplier", plan->multiplier},
        {"v", plan->v},
        {"u", plan->u},
    };
    int bad = 0;

    if (!o)
        return NULL;
    bad |= set(o, "epsilon_target", cli_json_real(r->epsilon));
    bad |= set(o, "delta_target", cli_json_real(r->delta));
    bad |= set(o, "threshold", json_integer((json_int_t)r->threshold));
    bad |= set(o, "radius", cli_json_real(r->radius));
    bad |= set(o, "population", json_integer((json_int_t)r->population)); /* users */
    bad |= set(o, "dimension", json_integer((json_int_t)plan->mechanism.dim));
    for (size_t i = 0; i < sizeof paper_keys / sizeof paper_keys[0]; i++)
        bad |= set(o, paper_keys[i].key, paper ? cli_json_real(paper_keys[i].value) : json_null());
    bad |= set(o, "joint_epsilon", cli_json_real(plan->joint_epsilon));
    bad |= set(o, "worst_case_epsilon", cli_json_real(plan->worst_case_epsilon));
    bad |= set(o, "warnings", warnings_json(plan));
    if (bad) {
        json_decref(o);
        return NULL;
    }
    return o;
}

/* ---- for people ------------------------------------------------------------------------------------ */

static void row(FILE *f, const char *name, const char *value, const char *note)
{
    size_t column = (size_t)fprintf(f, "  %-22s %s", name, value);
    if (*note)
        cli_wrap(f, note, 38, column);
    else
        fputc('\n', f);
}

static FRE_PRINTF(4, 5) void row_f(FILE *f, const char *name, const char *note, const char *fmt,
                                   ...)
{
    char value[40];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(value, sizeof value, fmt, ap);
    va_end(ap);
    row(f, name, value, note);
}

static void row_epsilon(FILE *f, const char *name, const char *note, double epsilon)
{
    if (isfinite(epsilon))
        row_f(f, name, note, "%.4g", epsilon);
    else
        row(f, name, "above 50", note);
}

static void print_summary(FILE *f, const fre_plan *plan)
{
    const fre_mechanism *m = &plan->mechanism;
    double users = (double)m->tau / rate_of(m);
    double noise = m->sigma * sqrt((double)m->dim) / (double)m->tau;
    char text[800];

    snprintf(text, sizeof text,
             "In words: each user takes part with probability %.4g. A cell is released when at "
             "least %" PRIu64 " of them fall into it, so about %.0f users or more. At that size "
             "the noise on its mean has norm %.3g, which is %.2g of the radius; it shrinks in "
             "proportion as a cell grows. Whoever sees the release learns of any one user at "
             "most what epsilon = %.4g and delta = %.3g allow.",
             rate_of(m), m->tau, users, noise, noise / plan->request.radius, plan->account.epsilon,
             plan->account.delta);
    fputc('\n', f);
    cli_wrap(f, text, 0, 0);
}

static void print_paper(FILE *f, const fre_plan *plan)
{
    fputs("\nThe article's accountant\n", f);
    row_f(f, "epsilon_fre", "spent on which cells are released", "%.6g", plan->epsilon_fre);
    row_f(f, "delta_fre", "", "%.4g", plan->delta_fre);
    row_f(f, "delta_sens", "chance that the sensitivity is exceeded", "%.4g", plan->delta_sens);
    row_f(f, "epsilon_agg", "spent on the noisy sums", "%.6g", plan->epsilon_agg);
    row_f(f, "delta_agg", "", "%.4g", plan->delta_agg);
    row_f(f, "multiplier", "sigma over sensitivity", "%.6g", plan->multiplier);
    row_f(f, "v, u", "budget factor, sensitivity ratio", "%.4g, %.4g", plan->v, plan->u);
}

void cli_plan_print(FILE *f, const fre_plan *plan)
{
    const fre_mechanism *m = &plan->mechanism;
    const fre_account *a = &plan->account;

    fputs("Plan\n", f);
    row_f(f, "epsilon", cli_adjacencies[m->adjacency], "%.6g", a->epsilon);
    row_f(f, "delta", "as it comes out, rounded up", "%.4g", a->delta);
    row(f, "accountant", cli_accountants[plan->request.accountant], "");
    row_f(f, "sampling rate p", "a multiple of 2^-32", "%.6g", rate_of(m));
    row_f(f, "threshold tau", "least sampled count of a released cell", "%" PRIu64, m->tau);
    row_f(f, "noise sigma", "on a cell's sum, a coordinate", "%.6g", m->sigma);
    row_f(f, "sigma / p", "what counts: noise for a cell of given size", "%.4g",
          m->sigma / rate_of(m));
    row_f(f, "noise at threshold", "norm on a mean: sigma sqrt(d) / tau", "%.4g",
          m->sigma * sqrt((double)m->dim) / (double)m->tau);
    row_f(f, "projection dim k", "", "%" PRIu32, m->proj);
    row_f(f, "cell edge L", "", "%.6g", m->cell_edge);
    row_f(f, "population N", "an upper bound: more users are refused", "%" PRIu64,
          plan->request.population);
    row_epsilon(f, "worst-case epsilon", "whatever the texts and N", plan->worst_case_epsilon);
    if (plan->request.accountant == FRE_ACCOUNTANT_PAPER)
        row_epsilon(f, "joint epsilon", "what the joint accountant certifies", plan->joint_epsilon);
    fputs("\nWhere delta goes\n", f);
    row_f(f, "released cells", "", "%.4g", a->delta_released);
    row_f(f, "far members", "", "%.4g", a->delta_far);
    row_f(f, "unreleased cells", "", "%.4g", a->delta_unreleased);
    row_f(f, "split", "distance that the analysis splits at", "%.4g", a->split);
    row_f(f, "worst cell", "other users in the worst case", "%" PRIu64, a->worst_cell);
    if (plan->request.accountant == FRE_ACCOUNTANT_PAPER)
        print_paper(f, plan);
    print_summary(f, plan);
    for (size_t i = 0; i < plan->n_warnings; i++) {
        fputs("\nWarning: ", f);
        cli_wrap(f, plan->warnings[i], 9, 9);
    }
}

/* ---- the command -------------------------------------------------------------------------------------- */

static const cli_arg args[] = {
    {.name = "Budget and mechanism", .kind = CLI_GROUP},
    {.name = "epsilon",
     .metavar = "E",
     .kind = CLI_DOUBLE,
     .min = 0,
     .max = FRE_PRIVACY_EPSILON_MAX,
     .min_open = true,
     .required = true,
     .help = "privacy budget epsilon"},
    CLI_PLAN_ARGS,
    {.name = "max-cells-per-user",
     .metavar = "C",
     .kind = CLI_U64,
     .umin = 1,
     .umax = 1000,
     .preset = "1",
     .help = "cells a user may be in; the budget is split among them"},
    {.name = "dimension",
     .metavar = "D",
     .kind = CLI_U64,
     .umin = 1,
     .umax = 8192,
     .preset = "384",
     .help = "dimension of the embeddings"},
    {.name = "noise",
     .metavar = "KIND",
     .kind = CLI_ENUM,
     .choices = cli_noises,
     .preset = "continuous",
     .help = "curator mode rounds a continuous Gaussian exactly"},
};

static fre_status run(cli *c, fre_err *err)
{
    fre_plan_request request;
    fre_plan plan;
    fre_status st = cli_plan_request(&request, c, err);

    if (st != FRE_OK)
        return st;
    request.dim = (uint32_t)cli_whole(c, "dimension");
    st = fre_plan_make(&plan, &request, err);
    if (st != FRE_OK)
        return st;
    if (c->json)
        return cli_json_print(cli_plan_json(&plan), err);
    cli_plan_print(stdout, &plan);
    return FRE_OK;
}

const cli_command cli_cmd_plan = {
    .name = "plan",
    .summary = "show which sampling rate, threshold and noise a budget leads to",
    .about = "Computes the parameters of a curator-mode run for a privacy budget, without any "
             "data: the sampling rate, the released counts' threshold, and the noise. The same "
             "computation runs inside synthesize.",
    .example = CLI_PROGRAM " plan --epsilon 4 --delta 1e-6 --threshold 100 --population 1000000",
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .run = run,
};
