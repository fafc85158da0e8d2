/* cmd_audit.c - attack the mechanism: a lower bound on epsilon against the claim. */
#include "plan_args.h"

#include <fre/audit.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const cli_arg args[] = {
    CLI_HEADING("Essentials: the claim, and the plan that makes it"),
    CLI_NUMBER("epsilon", "E", fre_param_epsilon, .required = true, .help = "claimed epsilon"),
    CLI_BUDGET_ARGS,
    CLI_COUNT("max-cells-per-user", "C", fre_param_max_cells_per_user,
              .help = "cells a user may be in; one of them is attacked, with --distributed all at "
                      "once"),
    CLI_COUNT("dimension", "D", fre_param_dimension, .help = "dimension of the embeddings"),
    CLI_HEADING("The attack"),
    CLI_COUNT("runs", "R", fre_audit_param_runs,
              .help = "runs of each of the two inputs of a scenario"),
    CLI_NUMBER("confidence", "C", fre_audit_param_confidence, .help = "of the verdict as a whole"),
    CLI_NUMBER(
        "split", "D", fre_param_split,
        .help = "distance of near members (default: the plan's; of a given mechanism the largest "
                "that delta cannot charge as far)"),
    {.name = "seed",
     .metavar = "HEX",
     .kind = CLI_HEX32,
     .help = "1 to 64 hexadecimal digits; makes the audit repeatable"},
    CLI_HEADING("Distributed mode"),
    CLI_DISTRIBUTED_ARGS("one", "1", "0.1"),
    CLI_HEADING("Mechanism of the plan"),
    CLI_MECHANISM_ARGS,
    CLI_HEADING("A mechanism in place of a plan"),
    CLI_COUNT("tau", "T", fre_audit_param_tau,
              .help = "least sampled count of a released cell; with --sigma and --sampling-rate"),
    CLI_NUMBER("sigma", "S", fre_param_sigma,
               .help = "standard deviation of the noise on a cell's sum, a coordinate"),
    CLI_NUMBER("lambda", "L", fre_audit_param_lambda,
               .help = "scale of the number of dummy tags; rounded up to a multiple of 2^-16"),
    CLI_COUNT("gamma", "G", fre_audit_param_gamma, .help = "its expected value"),
    CLI_HEADING("A defect put in, to learn what the attack would catch"),
    CLI_NUMBER("sigma-factor", "F", fre_audit_param_factor,
               .help = "run with F times the claimed mechanism's noise"),
    CLI_NUMBER("tau-factor", "F", fre_audit_param_factor,
               .help = "run with F times its threshold on sampled counts"),
    CLI_NUMBER("rate-factor", "F", fre_audit_param_factor,
               .help = "run with F times its sampling rate"),
};

static const cli_rule rules[] = {
    CLI_DISTRIBUTED_RULES,
};

/* ---- the mechanism --------------------------------------------------------------------------- */

/* *plan: stays with o where it has levels. */
static fre_status from_plan(fre_audit_opts *o, fre_plan *plan, const cli *c, fre_err *err)
{
    static const char *const given_only[] = {"lambda", "gamma"};
    fre_plan_request r;
    fre_status st = cli_plan_request(&r, c, err);

    for (size_t i = 0; st == FRE_OK && i < 2; i++) {
        if (cli_given(c, given_only[i]))
            st = fre_fail(err, FRE_E_USAGE,
                          "--%s belongs to a mechanism given by --tau, --sigma and "
                          "--sampling-rate: a plan chooses its own",
                          given_only[i]);
    }
    if (st == FRE_OK)
        st = cli_distributed_request(&r, c, err);
    if (st != FRE_OK)
        return st;
    r.dim = (uint32_t)cli_whole(c, "dimension");
    st = fre_plan_make(plan, &r, err);
    if (st != FRE_OK)
        return st;
    o->mechanism = plan->mechanism;
    o->delta = plan->request.delta;
    o->split = plan->account.split;
    if (plan->request.n_levels > 0 && !plan->mechanism.dist.on) /* there a level is the mechanism's cells */
        o->levels = plan;
    return FRE_OK;
}

/* What only a plan uses contradicts a mechanism that is given whole. */
static fre_status refuse_plan_flags(const cli *c, fre_err *err)
{
    static const char *const plan_only[] = {"threshold",     "radius",   "cell-scale",
                                            "accountant",    "gaussian", "budget-factor",
                                            "levels",        "counts",   "sensitivity-ratio"};
    static const char *const whole[] = {"tau", "sigma", "sampling-rate"};

    for (size_t i = 0; i < sizeof plan_only / sizeof *plan_only; i++) {
        if (cli_given(c, plan_only[i]))
            return fre_fail(err, FRE_E_USAGE,
                            "--%s shapes a plan: leave it out, or --tau and --sigma", plan_only[i]);
    }
    for (size_t i = 0; i < 3; i++) {
        if (!cli_given(c, whole[i]) || cli_get(c, whole[i])->is_word)
            return fre_fail(err, FRE_E_USAGE,
                            "a mechanism of your own needs --sampling-rate, --tau and --sigma; "
                            "--%s is missing",
                            whole[i]);
    }
    if (cli_get(c, "projection-dim")->is_word)
        return fre_fail(err, FRE_E_USAGE, "--projection-dim auto needs a plan: give a number");
    return FRE_OK;
}

static fre_status padding_from(fre_distributed *d, const cli *c, fre_err *err)
{
    static const char *const flag[] = {"lambda", "gamma"};

    for (size_t i = 0; i < 2; i++) {
        if (d->on && !cli_given(c, flag[i]))
            return fre_fail(err, FRE_E_USAGE, "--distributed needs --%s too", flag[i]);
        if (!d->on && cli_given(c, flag[i]))
            return fre_fail(err, FRE_E_USAGE, "--%s belongs to --distributed", flag[i]);
    }
    if (!d->on) {
        *d = (fre_distributed){.on = false};
        return FRE_OK;
    }
    d->lambda = ceil(cli_number(c, "lambda") * (double)FRE_TSDLAP_ONE) / (double)FRE_TSDLAP_ONE;
    d->gamma = (uint32_t)cli_whole(c, "gamma");
    d->curious = cli_given(c, "curious-users") ? d->curious : 0;
    d->phi = fre_param_phi.preset;
    return FRE_OK;
}

static fre_status from_numbers(fre_audit_opts *o, const cli *c, fre_err *err)
{
    fre_mechanism *m = &o->mechanism;
    fre_status st = refuse_plan_flags(c, err);

    if (st != FRE_OK)
        return st;
    *m = (fre_mechanism){
        .p32 = fre_p32(cli_number(c, "sampling-rate")),
        .tau = cli_whole(c, "tau"),
        .sigma = cli_number(c, "sigma"),
        .population = cli_whole(c, "population"),
        .sketch.grid.proj = (uint32_t)cli_whole(c, "projection-dim"),
        .adjacency = cli_choice(c, "adjacency") ? FRE_ADJACENCY_REPLACE : FRE_ADJACENCY_ADD_REMOVE,
        .sensitivity = cli_choice(c, "sensitivity") ? FRE_SENSITIVITY_WORST_CASE
                                                    : FRE_SENSITIVITY_PROBABILISTIC,
        .norm_bound = cli_number(c, "norm-bound"),
        .dim = (uint32_t)cli_whole(c, "dimension"),
        .cells_per_user = 1,
    };
    if (cli_get(c, "delta")->is_word)
        o->delta = fre_default_delta(m->population);
    m->sketch.grid.cell_edge =
        cli_given(c, "cell-edge") ? cli_number(c, "cell-edge") : 1 / sqrt(m->sketch.grid.proj);
    if (m->p32 == 0)
        return fre_fail(err, FRE_E_USAGE, "--sampling-rate must be at least 2^-32");
    st = cli_distributed(&m->dist, &m->noise, c, err);
    if (m->dist.on) {
        m->cells_per_user = (uint32_t)cli_whole(c, "max-cells-per-user");
        m->population *= m->cells_per_user; /* of records */
    }
    return st == FRE_OK ? padding_from(&m->dist, c, err) : st;
}

/* ---- results --------------------------------------------------------------------------------- */

static const char *test_name(const fre_audit_scenario *s)
{
    return s->learned ? "learned" : "known law";
}

/* weak: of the claim's delta, or NULL. */
static fre_status print_json(const fre_audit *a, const fre_audit_opts *o, const char *weak,
                             fre_err *err)
{
    char named[CLI_NAMED_BYTES];
    fre_buf text;

    fre_buf_init(&text, 1u << 20);
    return cli_json_print(
        cli_json_of(fre_audit_json(&text, a, o, weak ? cli_named(named, weak) : NULL), &text), err);
}

static void print_levels(FILE *f, const fre_plan *p)
{
    char x[FRE_DIGITS_BYTES], y[FRE_DIGITS_BYTES];

    for (size_t i = 0; p && i < p->request.n_levels; i++) {
        const fre_level *l = &p->level[i].level;

        if (l->counts == FRE_COUNTS_NOISY)
            cli_fold(f, 6, "  level %-5s noisy counts from %" PRIu64 ", their sigma = %s, sigma = %s",
                     p->request.level[i].name, l->tau, fre_digits_down(x, 6, l->count_sigma),
                     fre_digits_down(y, 6, l->sigma));
        else
            cli_fold(f, 6, "  level %-5s p = %s, tau = %" PRIu64 ", sigma = %s",
                     p->request.level[i].name,
                     fre_digits_up(x, 6, (double)l->p32 * 0x1p-32), l->tau,
                     fre_digits_down(y, 6, l->sigma));
    }
}

/* Of the distributed mode: what stood for what. */
static void print_attacked(FILE *f, const fre_audit *a, const fre_mechanism *m)
{
    const fre_share_cell *s = &a->shares;
    char step[FRE_DIGITS_BYTES], noise[FRE_DIGITS_BYTES], cells[60] = "", text[500];

    if (!m->dist.on)
        return;
    if (m->cells_per_user > 1)
        (void)snprintf(cells, sizeof cells, "; a user's %" PRIu32 " cells at once",
                       m->cells_per_user);
    if (s->beta > 0)
        (void)snprintf(text, sizeof text,
                       "sums of a collection, %s: clients' shares of %" PRIu32
                       " numbers, rounded to steps of %s, masked and packed; discrete noise of "
                       "%s%s%s%s%s",
                       m->dist.one_contact ? "one contact" : "two contacts", s->padded,
                       fre_digits_down(step, 4, s->beta),
                       m->dist.server_noise ? "each server, " : "every client, ",
                       fre_digits_down(noise, 6, s->sigma_local),
                       m->dist.server_noise ? ", which takes its own off" : " at count tau", cells,
                       m->dist.splits ? "; large cells in thirds" : "");
    else
        (void)snprintf(text, sizeof text, "one Gaussian in place of users' discrete noise");
    fputs("  attacked    ", f);
    cli_wrap(f, text, 14, 14);
}

/* A defect that was put in is said; else nothing. */
static void print_defect(FILE *f, const cli *c)
{
    static const char *const what[][2] = {{"sigma-factor", "the noise"},
                                          {"tau-factor", "the threshold"},
                                          {"rate-factor", "the sampling rate"}};

    for (size_t i = 0; i < 3; i++) {
        if (cli_number(c, what[i][0]) < 1 || cli_number(c, what[i][0]) > 1)
            cli_fold(f, 6, "  defect      %g times %s, put in on request",
                     cli_number(c, what[i][0]), what[i][1]);
    }
}

static void print_mechanism(FILE *f, const fre_audit *a, const fre_audit_opts *o, const cli *c)
{
    const fre_mechanism *m = &o->mechanism;
    char x[FRE_DIGITS_BYTES], y[FRE_DIGITS_BYTES], padding[80] = "";

    cli_fold(f, 4, "Audit of the claim epsilon = %s, delta = %s (%s)",
             fre_digits_up(x, 10, a->epsilon), fre_digits_up(y, 6, a->delta),
             cli_adjacencies[m->adjacency]);
    if (m->dist.on)
        (void)snprintf(padding, sizeof padding, ", lambda = %s, gamma = %" PRIu32,
                       fre_digits_down(x, 4, m->dist.lambda), m->dist.gamma);
    if (!o->levels || !o->levels->request.no_grid)
        cli_fold(f, 6, "  mechanism   p = %s, tau = %" PRIu64 ", sigma = %s%s",
                 fre_digits_up(x, 6, (double)m->p32 * 0x1p-32), m->tau,
                 fre_digits_down(y, 6, m->sigma), padding);
    print_levels(f, o->levels);
    print_attacked(f, a, m);
    print_defect(f, c);
    cli_fold(f, 6, "  runs        %" PRIu64 " of each input of a scenario", a->runs);
    if (a->split > 0)
        cli_fold(f, 6, "  near        %s: the copies' distance from the record",
                 fre_digits_up(x, 4, a->split));
    cli_fold(f, 6, "  confidence  %s, all scenarios together\n",
             fre_digits_down(x, 6, a->confidence));
}

/* Of the column of scenarios, as of printf. */
static int name_width(const fre_audit *a)
{
    size_t most = strlen("Along the claim's curve");

    for (size_t i = 0; i < a->n; i++)
        most = strlen(a->scenario[i].name) > most ? strlen(a->scenario[i].name) : most;
    return -(int)most;
}

static void print_bounds(FILE *f, const fre_audit *a)
{
    const cli_column column[] = {{.name = "A record", .width = name_width(a)},
                                 {.name = "epsilon >=", .width = -10},
                                 {.name = "test", .width = -9}};
    char bound[FRE_DIGITS_BYTES];

    cli_table_head(f, column, 3);
    for (size_t i = 0; i < a->n; i++) {
        const fre_audit_scenario *s = &a->scenario[i];
        const bool any = s->epsilon_lower > 0;
        const cli_cell cell[] = {{.text = s->name},
                                 {.text = any ? fre_digits_down(bound, 4, s->epsilon_lower) : "0"},
                                 {.text = any ? test_name(s) : ""}};

        cli_table_row(f, column, 3, cell);
    }
}

static void print_curve(FILE *f, const fre_audit *a)
{
    const cli_column column[] = {{.name = "Along the claim's curve", .width = name_width(a)},
                                 {.name = "delta >=", .width = -8},
                                 {.name = "allowed", .width = -8},
                                 {.name = "at eps", .width = -4}};
    char lower[FRE_DIGITS_BYTES], allowed[FRE_DIGITS_BYTES], at[32];

    fputc('\n', f);
    cli_table_head(f, column, 4);
    for (size_t i = 0; i < a->n; i++) {
        const fre_audit_scenario *s = &a->scenario[i];
        const cli_cell cell[] = {{.text = s->name},
                                 {.text = fre_digits_down(lower, 3, s->curve_lower)},
                                 {.text = fre_digits_up(allowed, 3, s->curve_claimed)},
                                 {.text = at}};

        (void)snprintf(at, sizeof at, "%.3g", s->curve_epsilon);
        cli_table_row(f, column, 4, cell);
    }
}

/* What is shown, and the claim that it refutes: as many digits as tell the two apart. */
static void print_apart(char shown[FRE_DIGITS_BYTES], char claimed[FRE_DIGITS_BYTES], double lower,
                        double claim)
{
    for (int digits = 4; digits <= 15; digits++) {
        if (strtod(fre_digits_down(shown, digits, lower), NULL) >
            strtod(fre_digits_up(claimed, digits, claim), NULL))
            return;
    }
}

static void print_verdict(FILE *f, const fre_audit *a)
{
    const fre_audit_scenario *s = &a->scenario[a->curve_worst];
    char text[900], shown[FRE_DIGITS_BYTES], claimed[FRE_DIGITS_BYTES], chance[FRE_DIGITS_BYTES];

    fre_digits_up(chance, 2, 1 - a->confidence);

    if (a->refuted && !(a->epsilon_lower > a->epsilon)) {
        print_apart(shown, claimed, s->curve_lower, s->curve_claimed);
        (void)snprintf(text, sizeof text,
                       "REFUTED: at epsilon = %.4g delta is at least %s, and the account of the "
                       "claim allows %s. The two inputs \"%s\" can be told apart better than a "
                       "mechanism of that claim allows. The mechanism, or its account, is wrong; "
                       "but for a chance of %s this is not an accident of the runs.",
                       s->curve_epsilon, shown, claimed, s->name, chance);
    } else if (a->refuted) {
        print_apart(shown, claimed, a->epsilon_lower, a->epsilon);
        (void)snprintf(text, sizeof text,
                       "REFUTED: epsilon is at least %s, and %s was claimed. The two inputs "
                       "\"%s\" can be told apart better than the claim allows. The mechanism, or "
                       "what is claimed for it, is wrong; but for a chance of %s this is not an "
                       "accident of the runs.",
                       shown, claimed, a->scenario[a->worst].name, chance);
    } else
        (void)snprintf(text, sizeof text,
                       "Not refuted: the best of these attacks shows an epsilon of at least %s, "
                       "and %s was claimed%s. An audit can refute a claim and never prove one: "
                       "these inputs and tests found nothing that contradicts it. The proof is in "
                       "the documentation.",
                       fre_digits_down(shown, 4, a->epsilon_lower),
                       fre_digits_up(claimed, 10, a->epsilon),
                       a->curve ? "; along the curve nothing passes what the account allows" : "");
    fputc('\n', f);
    cli_wrap(f, text, 0, 0);
}

static fre_status run(cli *c, fre_err *err)
{
    fre_audit_opts o = {.epsilon = cli_number(c, "epsilon"),
                        .delta = cli_number(c, "delta"),
                        .runs = cli_whole(c, "runs"),
                        .confidence = cli_number(c, "confidence"),
                        .threads = c->threads,
                        .seeded = cli_given(c, "seed"),
                        .progress = &c->progress};
    const fre_audit_factors defect = {.sigma = cli_number(c, "sigma-factor"),
                                      .tau = cli_number(c, "tau-factor"),
                                      .rate = cli_number(c, "rate-factor")};
    fre_mechanism claimed;
    fre_plan plan, runs;
    const bool own = cli_given(c, "tau") || cli_given(c, "sigma");
    const char *weak;
    fre_audit *a = NULL;
    fre_status st = own ? from_numbers(&o, c, err) : from_plan(&o, &plan, c, err);

    if (st != FRE_OK)
        return st;
    memcpy(o.seed, cli_get(c, "seed")->bytes, sizeof o.seed);
    if (cli_given(c, "split"))
        o.split = cli_number(c, "split");
    claimed = o.mechanism;
    if (fre_audit_weaken(&o.mechanism, &defect)) {
        o.claimed = &claimed;
        if (o.levels) {
            runs = plan;
            fre_audit_weaken_levels(&runs, &o.mechanism, &defect);
            o.levels = &runs;
            o.claimed_levels = &plan;
        }
    }
    weak = fre_delta_warning(o.delta, cli_whole(c, "population"));
    if (weak)
        cli_warn(c, "%s", weak);
    st = fre_audit_run(&a, &o, err);
    if (st != FRE_OK)
        return st;
    cli_progress_end();
    c->refuted = a->refuted;
    if (c->json) {
        st = print_json(a, &o, weak, err);
    } else {
        print_mechanism(stdout, a, &o, c);
        print_bounds(stdout, a);
        if (a->curve)
            print_curve(stdout, a);
        print_verdict(stdout, a);
    }
    fre_audit_free(a);
    return st;
}

const cli_command cli_cmd_audit = {
    .name = "audit",
    .summary = "attack the mechanism: a lower bound on epsilon against the claim",
    .about =
        "Runs the mechanism many times, without models, on pairs of inputs that differ in one "
        "record, and measures how well they can be told apart. That bounds epsilon from below; a "
        "bound above the claim refutes it, and the program ends with exit code 1. An audit never "
        "proves a claim.\n\n"
        "Without --tau and --sigma the plan for the budget is audited. With them, and with "
        "--sampling-rate, the mechanism is taken as it is given, whatever it is worth. A plan "
        "with --levels is attacked at all of them, a record in cells of every size. With "
        "--distributed the sums are those of a collection, of shares as clients make them, seen by "
        "each server without its own noise, and with --splits those of large cells' thirds.\n\n"
        "Events of chance delta are never seen, so the claim is attacked along its whole curve "
        "too: at a small epsilon the account allows a delta that runs can measure. The factors "
        "at the end run a mechanism that is worse than the claimed one: what would be caught?",
    .example =
        CLI_PROGRAM " audit --epsilon 4 --population 100000\n" CLI_PROGRAM
                    " audit --epsilon 4 --population 100000 \\\n    --sampling-rate 0.82 --tau 82 "
                    "--sigma 0.03\n"
                    "# a tenth of that plan's noise: exit code 1\n" CLI_PROGRAM
                    " audit --epsilon 4 --population 1000000 --sigma-factor 0.9\n"
                    "# would nine tenths of the noise be noticed?",
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .rules = rules,
    .n_rules = sizeof rules / sizeof rules[0],
    .run = run,
};
