/* cmd_plan.c - which sampling rate, threshold and noise a budget leads to. */
#include "plan_args.h"

#include <inttypes.h>

const char *const cli_adjacencies[] = {"add-remove", "replace", NULL};
const char *const cli_accountants[] = {"joint", "paper", NULL};
const char *const cli_gaussians[] = {"analytic", "zcdp", NULL};
const char *const cli_sensitivities[] = {"probabilistic", "worst-case", NULL};
const char *const cli_noises[] = {"continuous", "discrete", NULL};
const char *const cli_switch[] = {"on", "off", NULL};
static const char *const readings[] = {"cap", "group", "bespoke", NULL};

/* A value that the joint accountant would pass over in silence. */
static fre_status refuse_paper_flags(const fre_plan_request *r, fre_err *err)
{
    fre_plan_request preset;
    const char *flag = NULL;

    fre_plan_request_init(&preset);
    if (r->gaussian == FRE_GAUSSIAN_ZCDP)
        flag = "gaussian zcdp";
    else if (r->budget_factor > 0)
        flag = "budget-factor";
    else if (fabs(r->sensitivity_ratio - preset.sensitivity_ratio) > 0)
        flag = "sensitivity-ratio";
    if (!flag || r->accountant == FRE_ACCOUNTANT_PAPER)
        return FRE_OK;
    return fre_fail(err, FRE_E_USAGE, "--%s belongs to --accountant paper", flag);
}

fre_status cli_plan_request(fre_plan_request *out, const cli *c, fre_err *err)
{
    fre_plan_request r;
    fre_status st;

    if (cli_given(c, "cell-edge") && cli_given(c, "cell-scale"))
        return fre_fail(err, FRE_E_USAGE, "give --cell-edge or --cell-scale, not both");
    fre_plan_request_init(&r);
    r.epsilon = cli_number(c, "epsilon");
    r.delta = cli_number(c, "delta"); /* 0: auto */
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
    st = refuse_paper_flags(&r, err);
    if (st == FRE_OK)
        *out = r;
    return st;
}

json_t *cli_warning_json(const char *warning)
{
    return cli_texts_json(&warning, warning ? 1 : 0);
}

fre_status cli_collection(fre_distributed *out, const cli *c, fre_err *err)
{
    const bool one_shot = cli_flag(c, "one-shot");

    if (one_shot && cli_given(c, "dropout") && cli_number(c, "dropout") > 0)
        return fre_fail(err, FRE_E_USAGE,
                        "--one-shot asks for no second answer that could stay out: leave out "
                        "--dropout");
    *out = (fre_distributed){.on = true,
                             .cover = cli_choice(c, "cover") == 0,
                             .one_shot = one_shot,
                             .curious = (uint32_t)cli_whole(c, "curious-users"),
                             .dropout = one_shot ? 0 : cli_number(c, "dropout")};
    return FRE_OK;
}

fre_status cli_distributed(fre_distributed *out, fre_noise *noise, const cli *c, fre_err *err)
{
    static const char *const only[] = {"cover", "curious-users", "dropout", "one-shot"};
    const bool on = cli_flag(c, "distributed");
    fre_distributed d;
    fre_status st;

    for (size_t i = 0; i < sizeof only / sizeof only[0] && !on; i++) {
        if (cli_given(c, only[i]))
            return fre_fail(err, FRE_E_USAGE, "--%s belongs to --distributed", only[i]);
    }
    if (!on && cli_given(c, "noise") && cli_choice(c, "noise"))
        return fre_fail(err, FRE_E_USAGE,
                        "--noise discrete is made of the users' own shares and needs "
                        "--distributed: a curator's noise is continuous, exactly rounded");
    st = cli_collection(&d, c, err);
    if (st != FRE_OK)
        return st;
    d.on = on;
    *noise = on ? FRE_NOISE_DISCRETE : FRE_NOISE_CONTINUOUS;
    if (cli_given(c, "noise"))
        *noise = cli_choice(c, "noise") ? FRE_NOISE_DISCRETE : FRE_NOISE_CONTINUOUS;
    *out = d;
    return FRE_OK;
}

json_t *cli_plan_json(const fre_plan *plan)
{
    json_t *o = NULL;
    fre_buf text;

    fre_buf_init(&text, 1u << 16);
    if (fre_plan_json(&text, plan) == FRE_OK)
        o = json_loadb((const char *)text.p, text.n, 0, NULL);
    fre_buf_wipe(&text);
    return o;
}

static double rate_of(const fre_mechanism *m)
{
    return (double)m->p32 / 4294967296.0; /* exact: p is a multiple of 2^-32 */
}

/* ---- for people ------------------------------------------------------------------------------------ */

static void row(FILE *f, const char *name, const char *value, const char *note)
{
    cli_noted(f, 22, name, value, note);
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

/* Digits that --sampling-rate reads as this very rate. */
static const char *rate_text(char out[FRE_DIGITS_BYTES], const fre_mechanism *m)
{
    for (int digits = 6; digits < 15; digits++) {
        if (fre_p32(strtod(fre_digits_up(out, digits, rate_of(m)), NULL)) == m->p32)
            break;
    }
    return out;
}

static void row_up(FILE *f, const char *name, const char *note, int digits, double x)
{
    char text[FRE_DIGITS_BYTES];

    row(f, name, fre_digits_up(text, digits, x), note);
}

static void row_epsilon(FILE *f, const char *name, const char *note, double epsilon)
{
    if (isfinite(epsilon))
        row_up(f, name, note, 6, epsilon);
    else
        row(f, name, "above 50", note);
}

static void print_summary(FILE *f, const fre_plan *plan)
{
    const fre_mechanism *m = &plan->mechanism;
    double users = (double)m->tau / rate_of(m);
    double noise = m->sigma * sqrt((double)m->dim) / (double)m->tau;
    char text[800], rate[FRE_DIGITS_BYTES], norm[FRE_DIGITS_BYTES], share[FRE_DIGITS_BYTES],
        epsilon[FRE_DIGITS_BYTES], delta[FRE_DIGITS_BYTES];

    snprintf(text, sizeof text,
             "In words: each %s takes part with probability %s. A cell is released when at "
             "least %" PRIu64 " of them fall into it, so about %.0f users or more. At that size "
             "the noise on its mean has norm %s, which is %s of the radius; it shrinks in "
             "proportion as a cell grows. Whoever sees the release learns of any one user at "
             "most what epsilon = %s and delta = %s allow.",
             m->cells_per_user == 1 ? "user" : "record", fre_digits_up(rate, 4, rate_of(m)), m->tau,
             users, fre_digits_up(norm, 3, noise),
             fre_digits_up(share, 2, noise / plan->request.radius),
             fre_digits_up(epsilon, 10, plan->account.epsilon),
             fre_digits_up(delta, 6, plan->request.delta));
    fputc('\n', f);
    cli_wrap(f, text, 0, 0);
}

static void print_paper(FILE *f, const fre_plan *plan)
{
    fputc('\n', f);
    cli_heading(f, "The article's accountant");
    row_up(f, "epsilon_fre", "spent on which cells are released", 6, plan->epsilon_fre);
    row_up(f, "delta_fre", "", 4, plan->delta_fre);
    row_up(f, "delta_sens", "chance that the sensitivity is exceeded", 4, plan->delta_sens);
    row_up(f, "epsilon_agg", "spent on the noisy sums", 6, plan->epsilon_agg);
    row_up(f, "delta_agg", "", 4, plan->delta_agg);
    row_up(f, "multiplier", "sigma over sensitivity", 6, plan->multiplier);
    row_f(f, "v, u", "budget factor, sensitivity ratio", "%.4g, %.4g", plan->v, plan->u);
}

static void print_distributed(FILE *f, const fre_plan *plan)
{
    const fre_mechanism *m = &plan->mechanism;
    const fre_distributed *d = &m->dist;

    fputc('\n', f);
    cli_heading(f, "Distributed mode");
    row(f, "cover messages", d->cover ? "on" : "off",
        d->cover ? "everybody sends one report" : "the relay learns who was sampled");
    row_up(f, "padding lambda", "dummy tags of each multiplicity below tau", 12, d->lambda);
    row_f(f, "padding gamma", "their expected number; at most twice it", "%" PRIu32, d->gamma);
    row_up(f, "dummy reports", "expected, of all multiplicities", 6, plan->expected_dummies);
    row(f, "noise", m->noise == FRE_NOISE_DISCRETE ? "discrete" : "continuous", "");
    row_up(f, "one user's noise", "at sampled count tau, a coordinate", 6, plan->sigma_local);
    if (m->noise == FRE_NOISE_DISCRETE)
        row_up(f, "quantisation", "step that embeddings are rounded to", 4,
               fre_quantisation(plan->sigma_local, plan->account.split, m->dim));
    row_f(f, "curious users", "of a cell, whose records and noise are known", "%" PRIu32,
          d->curious);
    if (d->one_shot)
        row(f, "one-shot", "yes", "shares travel with the tags");
    else
        row_f(f, "dropout", "may stay out; if more do, a cell stays closed", "%.4g of c",
              d->dropout);
}

void cli_plan_print(FILE *f, const fre_plan *plan)
{
    const fre_mechanism *m = &plan->mechanism;
    const fre_account *a = &plan->account;
    char text[FRE_DIGITS_BYTES];

    cli_heading(f, "Plan");
    row_up(f, "epsilon", cli_adjacencies[m->adjacency], 10, a->epsilon);
    row_up(f, "delta", "as it comes out, rounded up", 4, a->delta);
    row(f, "accountant", cli_accountants[plan->request.accountant], "");
    row(f, "sampling rate p", rate_text(text, m), "a multiple of 2^-32");
    row_f(f, "threshold tau", "least sampled count of a released cell", "%" PRIu64, m->tau);
    row_up(f, "noise sigma", "on a cell's sum, a coordinate", 6, m->sigma);
    row_up(f, "sigma / p", "what counts: noise for a cell of given size", 4, m->sigma / rate_of(m));
    row_up(f, "noise at threshold", "norm on a mean: sigma sqrt(d) / tau", 4,
           m->sigma * sqrt((double)m->dim) / (double)m->tau);
    row_f(f, "projection dim k", "", "%" PRIu32, m->proj);
    row_up(f, "cell edge L", "", 6, m->cell_edge);
    row_f(f, "population N", "an upper bound: more users are refused", "%" PRIu64,
          plan->request.population);
    row_epsilon(f, "worst-case epsilon", "whatever the texts and N", plan->worst_case_epsilon);
    if (plan->request.accountant == FRE_ACCOUNTANT_PAPER)
        row_epsilon(f, "joint epsilon", "what the joint accountant certifies", plan->joint_epsilon);
    fputc('\n', f);
    cli_heading(f, "Where delta goes");
    row_up(f, "released cells", "", 4, a->delta_released);
    row_up(f, "far members", "", 4, a->delta_far);
    row_up(f, "unreleased cells", "", 4, a->delta_unreleased);
    row_up(f, "split", "distance that the analysis splits at", 6, a->split);
    row_f(f, "worst cell", "other users in the worst case", "%" PRIu64, a->worst_cell);
    if (plan->request.accountant == FRE_ACCOUNTANT_PAPER)
        print_paper(f, plan);
    if (m->dist.on)
        print_distributed(f, plan);
    print_summary(f, plan);
    cli_print_warnings(f, plan->warnings, plan->n_warnings);
}

/* ---- the command -------------------------------------------------------------------------------------- */

static const cli_arg args[] = {
    CLI_HEADING("Budget"),
    CLI_NUMBER("epsilon", "E", fre_param_epsilon, .required = true,
               .help = "privacy budget epsilon"),
    CLI_PLAN_ARGS,
    CLI_COUNT("max-cells-per-user", "C", fre_param_max_cells_per_user,
              .help = "cells a user may be in, all paid from the one budget"),
    CLI_COUNT("dimension", "D", fre_param_dimension, .help = "dimension of the embeddings"),
    CLI_CHOICE("multi-record", "READING", readings, .preset = "cap",
               .help = "paper accountant: how several records of a user count"),
    CLI_HEADING("Distributed mode"),
    CLI_DISTRIBUTED_ARGS("1", "0.1"),
    CLI_MAX_DUMMIES,
};

static fre_status request_of(fre_plan_request *out, const cli *c, fre_err *err)
{
    fre_status st = cli_plan_request(out, c, err);

    if (st == FRE_OK)
        st = cli_distributed(&out->dist, &out->noise, c, err);
    if (st != FRE_OK)
        return st;
    if (cli_given(c, "max-dummies") && !out->dist.on)
        return fre_fail(err, FRE_E_USAGE, "--max-dummies belongs to --distributed");
    if (cli_given(c, "multi-record") && out->accountant != FRE_ACCOUNTANT_PAPER)
        return fre_fail(err, FRE_E_USAGE,
                        "--multi-record chooses a reading of the article: it needs "
                        "--accountant paper");
    out->dim = (uint32_t)cli_whole(c, "dimension");
    out->max_dummies = cli_number(c, "max-dummies"); /* 0: not given */
    out->records = (fre_paper_records)cli_choice(c, "multi-record");
    return FRE_OK;
}

static fre_status run(cli *c, fre_err *err)
{
    fre_plan_request request;
    fre_plan plan;
    fre_status st = request_of(&request, c, err);

    if (st != FRE_OK)
        return st;
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
    .about = "Computes the parameters of a run for a privacy budget, without any data: the "
             "sampling rate, the released counts' threshold, and the noise. The same computation "
             "runs inside synthesize. With --distributed it plans a collection without a curator: "
             "also each user's share of the noise, and the dummy reports that hide tags too rare "
             "to be released.",
    .example = CLI_PROGRAM
    " plan --epsilon 4 --delta 1e-7 --threshold 100 --population 1000000\n" CLI_PROGRAM
    " plan --epsilon 4 --delta 1e-7 --population 1000000 --distributed",
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .run = run,
};
