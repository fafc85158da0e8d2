/* cmd_ssp.c - how likely a released centroid lies close to a text that few people wrote. */
#include "plan_args.h"

#include <inttypes.h>
#include <string.h>

static const cli_arg args[] = {
    CLI_HEADING("The rare text"),
    CLI_COUNT("neighbours", "N", fre_ssp_param_neighbours,
              .help = "records within the radius of it, itself included"),
    CLI_NUMBER("radius", "R", fre_param_radius,
               .help = "distance of embeddings that counts as similar"),
    CLI_NUMBER("psi", "X", fre_ssp_param_psi,
               .help = "how close is too close, in units of the radius"),
    CLI_HEADING("The mechanism"),
    CLI_NUMBER("epsilon", "E", fre_param_epsilon,
               .help = "take sampling rate and noise from a plan for this budget"),
    CLI_NUMBER("delta", "D", fre_param_delta, .word = "auto",
               .help = "the other half of that budget; auto is 1/(10 N), N the population"),
    CLI_NUMBER("sampling-rate", "P", fre_param_sampling_rate, .no_preset = true,
               .help = "chance that a record takes part"),
    CLI_NUMBER("sigma", "S", fre_param_sigma,
               .help = "standard deviation of the noise on a cell's sum, a coordinate"),
    CLI_COUNT("threshold", "T", fre_ssp_param_threshold,
              .help = "how many similar texts make a frequent one"),
    CLI_COUNT("dimension", "D", fre_param_dimension, .help = "dimension of the embeddings"),
    CLI_COUNT("projection-dim", "K", fre_param_projection_dim,
              .help = "dimensions of the random projection"),
    CLI_NUMBER("cell-scale", "S", fre_param_cell_scale,
               .help = "edge of a cell in units of 2 radius/sqrt(projection-dim)"),
    CLI_NUMBER("cell-edge", "L", fre_param_cell_edge,
               .help = "edge of a cell itself, in place of --cell-scale"),
    CLI_COUNT("population", "N", fre_param_population,
              .help = "public upper bound on the number of records"),
    CLI_HEADING("The released cells"),
    CLI_COUNT("count", "H", fre_ssp_param_count,
              .help = "sampled count of the cell (default: the least that is released)"),
    CLI_COUNT("cells", "C", fre_ssp_param_cells,
              .help = "released cells of that count, for the bound of the whole release"),
};

static const cli_rule rules[] = {
    {"delta", "epsilon", CLI_LEFT_OUT, "is half of a budget: add --epsilon E"},
};

/* Sampling rate and noise as given, or as a plan has them. */
static fre_status mechanism_from(fre_ssp_query *q, uint64_t *p32, const cli *c, fre_err *err)
{
    fre_plan_request r;
    fre_plan plan;
    fre_status st;

    if (!cli_given(c, "epsilon")) {
        if (!cli_given(c, "sampling-rate") || !cli_given(c, "sigma"))
            return fre_fail(err, FRE_E_USAGE,
                            "give --sampling-rate and --sigma, or --epsilon for a plan's");
        *p32 = fre_p32(cli_number(c, "sampling-rate"));
        q->sigma = cli_number(c, "sigma");
        return FRE_OK;
    }
    if (cli_given(c, "sigma"))
        return fre_fail(err, FRE_E_USAGE, "give --sigma or --epsilon, not both");
    fre_plan_request_init(&r);
    r.epsilon = cli_number(c, "epsilon");
    r.delta = cli_number(c, "delta"); /* 0: auto */
    r.threshold = cli_whole(c, "threshold");
    r.radius = q->radius;
    r.population = q->population;
    r.proj = q->grid.proj;
    r.cell_edge = q->grid.cell_edge;
    r.sampling_rate = cli_number(c, "sampling-rate"); /* 0: not given */
    r.dim = q->dim;
    st = fre_plan_make(&plan, &r, err);
    if (st != FRE_OK)
        return st;
    *p32 = plan.mechanism.p32;
    q->sigma = plan.mechanism.sigma;
    return FRE_OK;
}

static fre_status query_from(fre_ssp_query *q, const cli *c, fre_err *err)
{
    uint64_t p32 = 0;
    fre_status st;

    if (cli_given(c, "cell-edge") && cli_given(c, "cell-scale"))
        return fre_fail(err, FRE_E_USAGE, "give --cell-edge or --cell-scale, not both");
    memset(q, 0, sizeof *q);
    q->radius = cli_number(c, "radius");
    q->psi = cli_number(c, "psi");
    q->dim = (uint32_t)cli_whole(c, "dimension");
    q->neighbours = cli_whole(c, "neighbours");
    q->grid.proj = (uint32_t)cli_whole(c, "projection-dim");
    q->grid.cell_edge = cli_given(c, "cell-edge") ? cli_number(c, "cell-edge")
                                                  : cli_number(c, "cell-scale") * 2 * q->radius /
                                                        sqrt((double)q->grid.proj);
    q->population = cli_whole(c, "population");
    q->cells = cli_whole(c, "cells");
    st = mechanism_from(q, &p32, c, err);
    if (st != FRE_OK)
        return st;
    if (p32 == 0)
        return fre_fail(err, FRE_E_USAGE, "--sampling-rate must be at least 2^-32");
    q->sampling_rate = (double)p32 / (double)FRE_P_ONE;
    q->tau = fre_tau(p32, cli_whole(c, "threshold"));
    q->count = cli_given(c, "count") ? cli_whole(c, "count") : q->tau;
    if (q->count < q->tau)
        return fre_fail(err, FRE_E_USAGE,
                        "--count %" PRIu64 " is below the threshold: a cell is released from a "
                        "sampled count of %" PRIu64,
                        q->count, q->tau);
    return FRE_OK;
}

/* ---- output ------------------------------------------------------------------------------- */

static FRE_PRINTF(4, 5) void row(FILE *f, const char *name, const char *note, const char *fmt, ...)
{
    char value[40];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(value, sizeof value, fmt, ap);
    va_end(ap);
    cli_noted(f, 24, name, value, note);
}

static void row_up(FILE *f, const char *name, const char *note, int digits, double x)
{
    char text[FRE_DIGITS_BYTES];

    row(f, name, note, "%s", fre_digits_up(text, digits, x));
}

static void print_query(FILE *f, const fre_ssp_query *q)
{
    char text[FRE_DIGITS_BYTES];

    cli_heading(f, "A rare text and a released cell");
    row(f, "neighbours n*", "records within the radius, itself included", "%" PRIu64,
        q->neighbours);
    row(f, "too close", "psi r", "%s", fre_digits_down(text, 4, q->psi * q->radius));
    row_up(f, "sampling rate p", "", 6, q->sampling_rate);
    row(f, "threshold tau", "least sampled count of a released cell", "%" PRIu64, q->tau);
    row_up(f, "noise sigma", "on a cell's sum, a coordinate", 6, q->sigma);
    row(f, "sampled count h", "of the cell in question", "%" PRIu64, q->count);
    row_up(f, "noise on its mean", "norm: sigma sqrt(d) / h", 4,
           q->sigma * sqrt((double)q->dim) / (double)q->count);
}

static void print_words(FILE *f, const fre_ssp_query *q, const fre_ssp_bound *b)
{
    char text[900], close[FRE_DIGITS_BYTES], chance[FRE_DIGITS_BYTES], far[FRE_DIGITS_BYTES];

    if (b->cell < 1)
        snprintf(text, sizeof text,
                 "In words: the chance that a cell of %" PRIu64 " sampled members is released with "
                 "its mean within %s of this text is at most %s, as long as the cell's members "
                 "farther than %s from the text lie within %s of each other. About texts that "
                 "are written from the mean nothing is said: an inverter may add to the distance "
                 "or take from it.",
                 q->count, fre_digits_down(close, 4, q->psi * q->radius),
                 fre_digits_up(chance, 3, b->cell), fre_digits_down(far, 4, q->radius), far);
    else
        snprintf(text, sizeof text,
                 "In words: nothing is proved about a text with that many neighbours at that "
                 "distance. A smaller --psi, fewer --neighbours or a larger --count may have a "
                 "bound below 1.");
    fputc('\n', f);
    cli_wrap(f, text, 0, 0);
    if (b->release >= 1 && b->pairs >= 1) {
        fputc('\n', f);
        cli_wrap(f,
                 "For a whole release there is no bound here: in a population of this size some "
                 "cell is expected to hold two sampled texts that are farther apart than the "
                 "radius, and then nothing is proved about that cell.",
                 0, 0);
    }
}

static void print(FILE *f, const fre_ssp_query *q, const fre_ssp_bound *b)
{
    char note[96];

    print_query(f, q);
    fputc('\n', f);
    cli_heading(f, "Chance that its centroid is too close, at most");
    row_up(f, "this cell", "if its far members are close together", 4, b->cell);
    snprintf(note, sizeof note, "that more than %" PRIu64 " neighbour%s sampled", b->m,
             b->m == 1 ? " is" : "s are");
    row_up(f, "  sampling", note, 4, b->sampling);
    row_up(f, "  noise", "that the noise leads there all the same", 4, b->noise);
    row_up(f, "by the paper's argument", "its slips mended", 4, b->repaired);
    row_up(f, "whole release", "cells of this count, and all pairs of texts", 4, b->release);
    row_up(f, "  pairs", "that some pair in a cell is far apart", 4, b->pairs);
    if (b->paper_vacuous)
        row(f, "the paper's theorem", "its Lambda, (tau - 6 p n*) r/(2 tau), is negative",
            "vacuous");
    else if (b->paper < 1)
        row_up(f, "the paper's theorem", "as printed; not proved", 4, b->paper);
    else
        row(f, "the paper's theorem", "as printed", "vacuous");
    print_words(f, q, b);
}

static int set(json_t *o, const char *key, json_t *value)
{
    return json_object_set_new(o, key, value);
}

/* weak: of the budget's delta, or NULL. */
static json_t *to_json(const fre_ssp_query *q, const fre_ssp_bound *b, const char *weak)
{
    const struct {
        const char *key;
        double value;
    } reals[] = {
        {"sampling_rate", q->sampling_rate},
        {"radius", q->radius},
        {"psi", q->psi},
        {"sigma", q->sigma},
        {"cell_edge", q->grid.cell_edge},
        {"bound", b->cell},
        {"bound_sampling", b->sampling},
        {"bound_noise", b->noise},
        {"bound_repaired", b->repaired},
        {"bound_release", b->release},
        {"bound_pairs", b->pairs},
        {"bound_paper", b->paper},
    };
    const struct {
        const char *key;
        uint64_t value;
    } wholes[] = {
        {"tau", q->tau},
        {"dimension", q->dim},
        {"neighbours", q->neighbours},
        {"count", q->count},
        {"projection_dim", q->grid.proj},
        {"population", q->population},
        {"cells", q->cells},
        {"m", b->m},
    };
    json_t *o = json_object();
    int bad = 0;

    if (!o)
        return NULL;
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++)
        bad |= set(o, reals[i].key, cli_json_real(reals[i].value));
    for (size_t i = 0; i < sizeof wholes / sizeof wholes[0]; i++)
        bad |= set(o, wholes[i].key, json_integer((json_int_t)wholes[i].value));
    bad |= set(o, "paper_vacuous", json_boolean(b->paper_vacuous || b->paper >= 1));
    bad |= set(o, "warnings", cli_warning_json(weak));
    if (bad) {
        json_decref(o);
        return NULL;
    }
    return o;
}

static fre_status run(cli *c, fre_err *err)
{
    fre_ssp_query q;
    fre_ssp_bound b;
    fre_status st = query_from(&q, c, err);
    const char *weak = NULL;

    if (st == FRE_OK)
        st = fre_ssp(&b, &q, err);
    if (st != FRE_OK)
        return st;
    if (cli_given(c, "epsilon")) /* else there is no delta */
        weak = fre_delta_warning(cli_number(c, "delta"), q.population);
    if (weak)
        cli_warn(c, "%s", weak);
    if (c->json)
        return cli_json_print(to_json(&q, &b, weak), err);
    print(stdout, &q, &b);
    return FRE_OK;
}

const cli_command cli_cmd_ssp = {
    .name = "ssp",
    .summary = "bound the chance that a centroid lies close to a rare text",
    .about = "Computes how likely it is at most that a released centroid comes close to a text "
             "that few people wrote, whatever the rest of the data (semantic support "
             "protection), beside what the published theorem says. This is not differential "
             "privacy, and rests on it nowhere.",
    .example = CLI_PROGRAM " ssp --epsilon 4 --neighbours 10 --psi 0.4",
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .rules = rules,
    .n_rules = sizeof rules / sizeof rules[0],
    .run = run,
};
