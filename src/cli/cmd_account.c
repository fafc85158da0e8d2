/* cmd_account.c - what a given mechanism costs: epsilon -> delta, or delta -> epsilon. */
#include "account_levels.h"

#include <inttypes.h>

static const cli_arg args[] = {
    CLI_HEADING("The question: one of the two (default: --delta auto)"),
    CLI_NUMBER("epsilon", "E", fre_param_epsilon, .help = "find delta at this epsilon"),
    CLI_NUMBER("delta", "D", fre_param_delta, .no_preset = true, .word = "auto",
               .help = "find the least epsilon with at most this delta; auto is 1/(10 N), N "
                       "the population"),
    CLI_HEADING("The mechanism (the first three are required where there is a grid)"),
    CLI_NUMBER("sampling-rate", "P", fre_param_sampling_rate, .no_preset = true,
               .help = "chance that a record takes part; rounded down to a multiple of 2^-32"),
    CLI_COUNT("tau", "T", fre_param_tau, .no_preset = true,
              .help = "least sampled count of a released cell"),
    CLI_NUMBER("sigma", "S", fre_param_sigma, .no_preset = true,
               .help = "standard deviation of the noise on a cell's sum, a coordinate"),
    CLI_COUNT("population", "N", fre_param_population,
              .help = "public upper bound on the number of users"),
    CLI_COUNT("projection-dim", "K", fre_param_projection_dim,
              .help = "dimensions of the random projection"),
    CLI_NUMBER("cell-edge", "L", fre_param_cell_edge,
               .help = "edge of a cell (default: 1/sqrt(projection-dim), that of radius 0.5)"),
    CLI_NUMBER("split", "D", fre_param_split,
               .help = "distance that the analysis splits at (default: the best one)"),
    CLI_CHOICE("adjacency", "A", cli_adjacencies, .preset = "add-remove",
               .help = "what neighbouring data sets differ in"),
    CLI_CHOICE("sensitivity", "S", cli_sensitivities, .preset = "probabilistic",
               .help = "worst-case needs neither the population bound nor random texts"),
    CLI_NUMBER("norm-bound", "B", fre_param_norm_bound,
               .help = "largest norm of an embedding, for worst-case sensitivity"),
    CLI_COUNT("max-cells-per-user", "C", fre_param_max_cells_per_user,
              .help = "cells a user may be in"),
    CLI_COUNT("dimension", "D", fre_param_dimension,
              .help = "dimension of the embeddings; matters with --lattice-step and --levels"),
    CLI_NUMBER(
        "lattice-step", "B", fre_param_lattice_step,
        .help =
            "step of the lattice that sums lie on; 0 for exact sums, and with discrete noise for "
            "the protocol's own quantisation"),
    CLI_ACCOUNT_LEVELS_ARGS,
    CLI_HEADING("Distributed mode"),
    CLI_DISTRIBUTED_ARGS("one", "0", "0"),
    CLI_NUMBER("lambda", "L", fre_param_lambda,
               .help = "scale of the number of dummy tags of each multiplicity below tau"),
    CLI_COUNT("gamma", "G", fre_param_gamma, .help = "its expected value"),
    CLI_NUMBER("phi", "P", fre_param_phi,
               .help = "discrete noise: chance that rounding goes farther than accounted"),
};

static const cli_rule rules[] = {
    CLI_DISTRIBUTED_RULES,
    CLI_OF_DISTRIBUTED("lambda"),
    CLI_OF_DISTRIBUTED("gamma"),
    CLI_ACCOUNT_LEVELS_RULES,
};

/* The distributed mode's fields; the rest of out is there. */
static fre_status distributed_from(fre_mechanism *out, const cli_levels *levels, const cli *c,
                                   fre_err *err)
{
    static const char *const padding[] = {"lambda", "gamma"};
    fre_status st = cli_distributed(&out->dist, &out->noise, c, err);
    size_t i;

    if (st != FRE_OK)
        return st;
    for (i = 0; i < 2; i++) {
        if (out->dist.on && !cli_given(c, padding[i]))
            return fre_fail(err, FRE_E_USAGE,
                            "--distributed needs --%s too: the padding of tags that are not "
                            "released is part of the mechanism (plan --distributed chooses it)",
                            padding[i]);
    }
    if (out->noise != FRE_NOISE_DISCRETE && cli_given(c, "phi"))
        return fre_fail(err, FRE_E_USAGE, "--phi belongs to --noise discrete");
    if (!out->dist.on) {
        out->dist = (fre_distributed){.on = false};
        return FRE_OK;
    }
    cli_levels_mechanism(out, levels);
    out->dist.lambda = cli_number(c, "lambda");
    out->dist.gamma = (uint32_t)cli_whole(c, "gamma");
    if (out->noise == FRE_NOISE_DISCRETE) {
        out->dist.phi = cli_number(c, "phi");
        out->dim = (uint32_t)cli_whole(c, "dimension");
    }
    return FRE_OK;
}

static void mechanism_from(fre_mechanism *out, const cli *c)
{
    uint32_t proj = (uint32_t)cli_whole(c, "projection-dim");
    double step = cli_number(c, "lattice-step");
    uint64_t cells = cli_whole(c, "max-cells-per-user");

    *out = (fre_mechanism){
        .p32 = fre_p32(cli_number(c, "sampling-rate")),
        .tau = cli_whole(c, "tau"),
        .sigma = cli_number(c, "sigma"),
        .population = cli_whole(c, "population") * cells, /* records */
        .sketch.grid.proj = proj,
        .sketch.grid.cell_edge =
            cli_given(c, "cell-edge") ? cli_number(c, "cell-edge") : 1.0 / sqrt((double)proj),
        .adjacency = cli_choice(c, "adjacency") ? FRE_ADJACENCY_REPLACE : FRE_ADJACENCY_ADD_REMOVE,
        .sensitivity = cli_choice(c, "sensitivity") ? FRE_SENSITIVITY_WORST_CASE
                                                    : FRE_SENSITIVITY_PROBABILISTIC,
        .norm_bound = cli_number(c, "norm-bound"),
        .dim = step > 0.0 ? (uint32_t)cli_whole(c, "dimension") : 0,
        .lattice_step = step,
        .cells_per_user = (uint32_t)cells,
    };
}

static void print(FILE *f, const fre_account *a, const fre_mechanism *m)
{
    char text[FRE_DIGITS_BYTES], split[FRE_DIGITS_BYTES];

    cli_fold(f, 4, "epsilon            %s", fre_digits_up(text, 10, a->epsilon));
    cli_fold(f, 4, "delta              %-11s   (%s, rounded up)", fre_digits_up(text, 6, a->delta),
             cli_adjacencies[m->adjacency]);
    cli_fold(f, 4, "  released cells   %-11s   worst with %" PRIu64 " other users in the cell",
             fre_digits_up(text, 6, a->delta_released), a->worst_cell);
    cli_fold(f, 4, "  far members      %-11s   split at distance %s",
             fre_digits_up(text, 6, a->delta_far), fre_digits_up(split, 4, a->split));
    cli_fold(f, 4, "  unreleased       %s", fre_digits_up(text, 6, a->delta_unreleased));
    if (!m->dist.on)
        return;
    cli_fold(f, 4, "dummy reports      %-11s   expected",
             fre_digits_up(text, 6, fre_expected_dummies(m)));
    cli_fold(f, 4,
             m->dist.server_noise ? "one server's noise %-11s   of each sum, a coordinate"
                                  : "one user's noise   %-11s   at sampled count tau, a coordinate",
             fre_digits_up(text, 6, fre_sigma_local(m, m->tau)));
}

static fre_status print_json(const fre_account *a, const fre_mechanism *m,
                             const char *const *warnings, size_t n, fre_err *err)
{
    json_t *o;
    fre_buf text;

    fre_buf_init(&text, 1u << 16);
    o = cli_json_of(fre_account_json(&text, a, m, NULL, 0), &text);
    if (o && json_object_set_new(o, "warnings", cli_texts_json(warnings, n)) != 0) {
        json_decref(o);
        o = NULL;
    }
    return cli_json_print(o, err);
}

static const char idealised[] =
    "Continuous noise is an idealisation in the distributed mode, where users add discrete noise.";

/* --delta, which is auto where neither it nor --epsilon is given. */
static double asked_delta(const cli *c)
{
    const bool given = cli_given(c, "delta") && !cli_get(c, "delta")->is_word;

    return given ? cli_number(c, "delta") : fre_default_delta(cli_whole(c, "population"));
}

static fre_status run(cli *c, fre_err *err)
{
    bool has_epsilon = cli_given(c, "epsilon"), has_split = cli_given(c, "split");
    double epsilon = cli_number(c, "epsilon"), split = cli_number(c, "split"),
           delta = asked_delta(c);
    cli_levels levels;
    fre_mechanism m;
    fre_account a;
    const char *warnings[2], *weak;
    size_t n_warnings = 0;
    fre_status st;

    if (has_epsilon && cli_given(c, "delta"))
        return fre_fail(err, FRE_E_USAGE, "give --epsilon or --delta, not both");
    if ((st = cli_levels_from(&levels, c, err)) != FRE_OK)
        return st;
    mechanism_from(&m, c);
    if (m.p32 == 0 && !levels.request.no_grid)
        return fre_fail(err, FRE_E_USAGE, "--sampling-rate must be at least 2^-32");
    if ((st = distributed_from(&m, &levels, c, err)) != FRE_OK)
        return st;
    if (!m.dist.on && !cli_levels_none(&levels))
        return cli_levels_account(c, &levels, &m, has_epsilon ? &epsilon : NULL, delta, err);
    if (has_epsilon && has_split)
        st = fre_joint_delta_at_split(&a, &m, epsilon, split, err);
    else if (has_epsilon)
        st = fre_joint_delta(&a, &m, epsilon, err);
    else if (has_split)
        st = fre_joint_epsilon_at_split(&a, &m, delta, split, err);
    else
        st = fre_joint_epsilon(&a, &m, delta, err);
    if (st != FRE_OK)
        return st;
    if (m.dist.on && m.noise == FRE_NOISE_CONTINUOUS)
        warnings[n_warnings++] = idealised;
    weak = fre_delta_warning(has_epsilon ? a.delta : delta, cli_whole(c, "population"));
    if (weak)
        warnings[n_warnings++] = weak;
    if (c->json)
        return print_json(&a, &m, warnings, n_warnings, err);
    print(stdout, &a, &m);
    cli_print_warnings(stdout, warnings, n_warnings);
    return FRE_OK;
}

const cli_command cli_cmd_account = {
    .name = "account",
    .summary = "compute delta from epsilon, or epsilon from delta, of a given mechanism",
    .about = "Computes what a mechanism with the given sampling rate, threshold and noise costs "
             "under the joint accountant: delta at an epsilon, or the least epsilon at a delta.\n\n"
             "With --levels it is a release by levels; whether the thresholds of noisy counts are "
             "met costs nothing, so they are not asked for.",
    .example = CLI_PROGRAM " account --sampling-rate 0.8 --tau 80 --sigma 1.52 \\\n"
                           "    --population 1000000 --projection-dim 20 --epsilon 4\n" CLI_PROGRAM
                           " account --levels 4096,256 --level-sigma 0.84,1.1 \\\n"
                           "    --level-count-sigma 4.6,6 --population 1000000",
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .rules = rules,
    .n_rules = sizeof rules / sizeof rules[0],
    .run = run,
};
