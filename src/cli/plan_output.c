/* plan_output.c - see plan_output.h. */
#include "plan_output.h"
#include "plan_args.h"

#include <inttypes.h>

json_t *cli_plan_json(const fre_plan *plan)
{
    json_t *o;
    fre_buf text;

    fre_buf_init(&text, 1u << 16);
    o = cli_json_of(fre_plan_json(&text, plan), &text);
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

/* On a cell's sum. */
static double published(const fre_plan *plan)
{
    return fre_sigma_published(&plan->mechanism, plan->sigma_local, plan->mechanism.tau);
}

/* Norm on the mean of the smallest cell. */
static double at_threshold(const fre_plan *plan, double sigma)
{
    return sigma * sqrt((double)plan->mechanism.dim) / (double)plan->mechanism.tau;
}

/* What keeps the claim, and what there is of it in a release. */
static void print_noise(FILE *f, const fre_plan *plan)
{
    const fre_mechanism *m = &plan->mechanism;
    const bool servers = m->dist.on && m->dist.server_noise;

    row_up(f, "noise sigma",
           servers       ? "one server's on a cell's sum, a coordinate: it keeps the claim"
           : m->dist.on ? "users' on a cell's sum, a coordinate, curious ones' left out"
                         : "on a cell's sum, a coordinate",
           6, m->sigma);
    if (m->dist.on)
        row_up(f, "published noise",
               servers ? "both servers' on that sum, a coordinate"
                       : "all users' on that sum at count tau, a coordinate",
               6, published(plan));
    row_up(f, "sigma / p", "what counts: noise for a cell of given size", 4, m->sigma / rate_of(m));
    row_up(f, "noise at threshold",
           m->dist.on ? "norm on a mean: published noise sqrt(d) / tau"
                      : "norm on a mean: sigma sqrt(d) / tau",
           4, at_threshold(plan, published(plan)));
    if (servers)
        row_up(f, "of one server's", "what the other server meets: sigma sqrt(d) / tau", 4,
               at_threshold(plan, m->sigma));
}

static void print_summary(FILE *f, const fre_plan *plan)
{
    const fre_mechanism *m = &plan->mechanism;
    double users = (double)m->tau / rate_of(m);
    double noise = at_threshold(plan, published(plan));
    double radius = fre_sketch_reach(&m->sketch, plan->request.radius);
    char text[800], rate[FRE_DIGITS_BYTES], norm[FRE_DIGITS_BYTES], share[FRE_DIGITS_BYTES],
        epsilon[FRE_DIGITS_BYTES], delta[FRE_DIGITS_BYTES];

    snprintf(text, sizeof text,
             "In words: each %s takes part with probability %s. A cell is released when at "
             "least %" PRIu64 " of them fall into it, so about %.0f users or more. At that size "
             "the noise on its mean has norm %s, which is %s of the radius; it shrinks in "
             "proportion as a cell grows. Whoever sees the release learns of any one user at "
             "most what epsilon = %s and delta = %s allow.",
             m->cells_per_user == 1 ? "user" : "record", fre_digits_up(rate, 4, rate_of(m)), m->tau,
             users, fre_digits_up(norm, 3, noise), fre_digits_up(share, 2, noise / radius),
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

/* A row a level; noise: the norm of what is added to the mean of the smallest cell. */
static void print_levels(FILE *f, const fre_plan *plan)
{
    static const cli_column columns[] = {{.name = "level", .width = -8},
                                         {.name = "public cells", .width = 12},
                                         {.name = "p", .width = 6},
                                         {.name = "threshold", .width = 9},
                                         {.name = "count noise", .width = 11},
                                         {.name = "sum noise", .width = 9},
                                         {.name = "mean noise", .width = 10}};
    const fre_plan_request *r = &plan->request;

    fputc('\n', f);
    cli_heading(f, "Levels, from fine to coarse");
    cli_table_head(f, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < r->n_levels + !r->no_grid; i++) {
        const fre_mechanism *m = &plan->mechanism;
        const bool is_grid = !r->no_grid && i == 0;
        const size_t at = is_grid ? 0 : i - !r->no_grid;
        const fre_plan_level of = is_grid ? fre_plan_grid_level(plan) : plan->level[at];
        const fre_level *l = &of.level;
        const bool noisy = l->counts == FRE_COUNTS_NOISY;
        char cells[24] = "-", p[FRE_DIGITS_BYTES], tau[24], count[FRE_DIGITS_BYTES] = "-",
             sum[FRE_DIGITS_BYTES], mean[FRE_DIGITS_BYTES];
        const cli_cell row[] = {{.text = is_grid ? "grid" : r->level[at].name},
                                {.text = cells},
                                {.text = p},
                                {.text = tau},
                                {.text = count},
                                {.text = sum},
                                {.text = mean}};

        if (!is_grid)
            (void)snprintf(cells, sizeof cells, "%" PRIu64, r->level[at].sketch.codebook.cells);
        fre_digits_up(p, 4, noisy ? 1 : (double)l->p32 / (double)FRE_P_ONE);
        (void)snprintf(tau, sizeof tau, "%" PRIu64, l->tau);
        if (noisy)
            fre_digits_up(count, 3, l->count_sigma);
        fre_digits_up(sum, 4, l->sigma);
        fre_digits_up(mean, 3, l->sigma * sqrt((double)m->dim) / (double)(l->tau ? l->tau : 1));
        cli_table_row(f, columns, sizeof columns / sizeof *columns, row);
    }
    cli_wrap(f,
             "A text is released at the finest level where its cell is; what is left goes on to "
             "the next. Epsilon is not added up over levels.",
             0, 0);
    if (plan->empty_cells > 0)
        row_up(f, "empty cells", "expected among those released, at most", 2,
               fmax(plan->empty_cells, 1e-6));
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
    if (d->server_noise)
        row_up(f, "one server's noise", "of each sum, a coordinate; both add it", 6, m->sigma);
    else
        row_up(f, "one user's noise", "at sampled count tau, a coordinate", 6, plan->sigma_local);
    if (m->noise == FRE_NOISE_DISCRETE)
        row_up(f, "quantisation", "step that embeddings are rounded to", 4,
               fre_quantisation(plan->sigma_local, plan->account.split, m->dim));
    row_f(f, "curious users", "of a cell, whose records and noise are known", "%" PRIu32,
          d->curious);
    row(f, "contacts", d->one_contact ? "one" : "two",
        d->one_contact ? "shares travel with the tags" : "shares come once the list is out");
    if (d->splits)
        row_f(f, "splits", "cells of so many answers: median of three sums", "%" PRIu64,
              3 * m->tau);
    if (!d->one_contact)
        row_f(f, "dropout", "may stay out; if more do, a cell stays closed", "%.4g of c",
              d->dropout);
}

/* A sentence a paragraph. */
static void print_parties(FILE *f, const fre_mechanism *m)
{
    fre_buf text;
    char *line, *end;

    if (!m->dist.on)
        return;
    fre_buf_init(&text, 1u << 16);
    if (fre_plan_parties(&text, m) == FRE_OK && fre_buf_append(&text, "", 1) == FRE_OK) {
        fputc('\n', f);
        cli_heading(f, "Who learns what by joining whom");
        for (line = (char *)text.p; (end = strchr(line, '\n')); line = end + 1) {
            *end = '\0';
            cli_wrap(f, line, 0, 0);
        }
    }
    fre_buf_wipe(&text);
}

static void print_cells(FILE *f, const fre_sketch_spec *s)
{
    if (s->kind == FRE_SKETCH_CODEBOOK) {
        row_f(f, "public cells", "of one level of a codebook", "%" PRIu64, s->codebook.cells);
        row_up(f, "offset radius R", "offsets from a cell's centre are cut to it", 6,
               s->codebook.radius);
        return;
    }
    row_f(f, "projection dim k", "", "%" PRIu32, s->grid.proj);
    row_up(f, "cell edge L", "", 6, s->grid.cell_edge);
}

void cli_plan_print(FILE *f, const fre_plan *plan)
{
    const fre_mechanism *m = &plan->mechanism;
    const fre_account *a = &plan->account;
    const bool by_levels = plan->request.n_levels > 0 && !m->dist.on;
    char text[FRE_DIGITS_BYTES];

    cli_heading(f, "Plan");
    row_up(f, "epsilon", cli_adjacencies[m->adjacency], 10, a->epsilon);
    row_up(f, "delta", "as it comes out, rounded up", 4, a->delta);
    row(f, "accountant", cli_accountants[plan->request.accountant], "");
    row(f, "sampling rate p", rate_text(text, m), "a multiple of 2^-32");
    row_f(f, "threshold tau", "least sampled count of a released cell", "%" PRIu64, m->tau);
    print_noise(f, plan);
    if (by_levels && plan->request.no_grid) {
        print_levels(f, plan);
        cli_print_warnings(f, plan->warnings, plan->n_warnings);
        return;
    }
    print_cells(f, &m->sketch);
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
    if (by_levels)
        row_up(f, "levels of public cells", "", 4, plan->delta_levels);
    row_up(f, "split", "distance that the analysis splits at", 6, a->split);
    row_f(f, "worst cell", "other users in the worst case", "%" PRIu64, a->worst_cell);
    if (plan->request.accountant == FRE_ACCOUNTANT_PAPER)
        print_paper(f, plan);
    if (m->dist.on)
        print_distributed(f, plan);
    print_parties(f, m);
    if (by_levels)
        print_levels(f, plan);
    print_summary(f, plan);
    cli_print_warnings(f, plan->warnings, plan->n_warnings);
}
