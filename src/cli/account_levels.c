/* account_levels.c - see account_levels.h. */
#include "account_levels.h"

#include <string.h>

/* ---- lists of numbers ------------------------------------------------------------------------ */

static const cli_arg sum_sigma = CLI_NUMBER("level-sigma", "S", fre_param_sigma, .required = true);
static const cli_arg count_sigma =
    CLI_NUMBER("level-count-sigma", "S", fre_param_level_count_sigma, .required = true);
static const cli_arg rate =
    CLI_NUMBER("level-sampling-rate", "P", fre_param_level_sampling_rate, .required = true);
static const cli_arg tau = CLI_COUNT("level-tau", "T", fre_param_level_tau, .required = true);

static size_t length_of(const char *list)
{
    size_t n = 1;

    while ((list = strchr(list, ',')) && *list++)
        n++;
    return n;
}

/* The numbers of the flag that `each` is one of: as many as there are levels. */
static fre_status parse_list(cli_value out[FRE_LEVELS_MAX], const cli *c, const cli_arg *each,
                             size_t n, fre_err *err)
{
    const char *s = cli_text(c, each->name);
    fre_status st = FRE_OK;

    if (!s)
        return fre_fail(err, FRE_E_USAGE,
                        "--levels needs --%s %s,... too: a number for each level but the grid",
                        each->name, each->metavar);
    if (length_of(s) != n)
        return fre_fail(err, FRE_E_USAGE,
                        "--%s has %zu number%s and --levels %zu level%s of public cells: give one "
                        "for each, from fine to coarse",
                        each->name, length_of(s), cli_plural(length_of(s)), n, cli_plural(n));
    for (size_t i = 0; i < n && st == FRE_OK; i++) {
        const size_t len = strcspn(s, ",");
        char one[CLI_ECHO_BYTES];

        (void)snprintf(one, sizeof one, "%.*s", (int)(len < sizeof one ? len : sizeof one), s);
        st = cli_parse_value(&out[i], each, one, err);
        out[i].text = NULL;
        s += len + 1;
    }
    return st;
}

static fre_status sampled_from(cli_levels *io, const cli *c, fre_err *err)
{
    const size_t n = io->request.n_levels;
    cli_value p[FRE_LEVELS_MAX], t[FRE_LEVELS_MAX];
    fre_status st = parse_list(p, c, &rate, n, err);

    if (st == FRE_OK)
        st = parse_list(t, c, &tau, n, err);
    for (size_t i = 0; i < n && st == FRE_OK; i++) {
        io->level[i].p32 = fre_p32(p[i].number);
        io->level[i].tau = t[i].whole;
        if (io->level[i].p32 == 0)
            st = fre_fail(err, FRE_E_USAGE, "--level-sampling-rate must be at least 2^-32");
    }
    return st;
}

static fre_status noisy_from(cli_levels *io, const cli *c, fre_err *err)
{
    cli_value sigma[FRE_LEVELS_MAX];
    fre_status st = parse_list(sigma, c, &count_sigma, io->request.n_levels, err);

    for (size_t i = 0; i < io->request.n_levels && st == FRE_OK; i++)
        io->level[i].count_sigma = sigma[i].number;
    return st;
}

/* ---- flags that belong together --------------------------------------------------------------- */

static fre_status check_grid(const cli *c, bool there, fre_err *err)
{
    static const char *const needed[] = {"sampling-rate", "tau", "sigma"};
    static const char *const further[] = {"projection-dim", "cell-edge",    "sensitivity",
                                          "norm-bound",     "lattice-step", "split"};

    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (there && !cli_given(c, needed[i]))
            return fre_fail(
                err, FRE_E_USAGE,
                "--%s is required, unless --levels leaves the grid out; see '" CLI_PROGRAM
                " account --help'",
                needed[i]);
    }
    for (size_t i = 0;
         !there && i < sizeof needed / sizeof *needed + sizeof further / sizeof *further; i++) {
        const size_t first = sizeof needed / sizeof *needed;
        const char *flag = i < first ? needed[i] : further[i - first];

        if (cli_given(c, flag))
            return fre_fail(err, FRE_E_USAGE,
                            "--%s is the grid's: leave it out, or let --levels begin with grid",
                            flag);
    }
    return FRE_OK;
}

static fre_status check_levels(const cli *c, size_t n, bool grid, fre_err *err)
{
    static const char *const theirs[] = {"counts",    "level-sigma",         "level-count-sigma",
                                         "level-tau", "level-sampling-rate", "radius"};

    for (size_t i = 0; n == 0 && i < sizeof theirs / sizeof *theirs; i++) {
        if (cli_given(c, theirs[i]))
            return fre_fail(err, FRE_E_USAGE,
                            "--%s is of public cells: leave it out, or name some in --levels",
                            theirs[i]);
    }
    if (n > 0 && cli_flag(c, "distributed") && (n > 1 || grid || !cli_choice(c, "counts")))
        return fre_fail(err, FRE_E_USAGE,
                        "--levels: the distributed mode releases one level, the grid or public "
                        "cells with --counts sampled");
    if (n > 0 && cli_given(c, "split"))
        return fre_fail(err, FRE_E_USAGE,
                        "--split: a release by levels is accounted at a split of its own: leave it "
                        "out");
    return FRE_OK;
}

/* Their names, and that all flags belong to what they name. */
static fre_status names_from(fre_plan_request *out, const cli *c, fre_err *err)
{
    fre_status st;

    fre_plan_request_init(out);
    out->population = cli_whole(c, "population");
    st = fre_plan_request_levels(out, cli_text(c, "levels"), cli_number(c, "radius"),
                                 cli_choice(c, "counts") ? FRE_COUNTS_SAMPLED : FRE_COUNTS_NOISY,
                                 err);
    if (st == FRE_OK)
        st = check_grid(c, !out->no_grid, err);
    if (st == FRE_OK)
        st = check_levels(c, out->n_levels, !out->no_grid, err);
    return st;
}

static fre_status numbers_from(cli_levels *io, const cli *c, fre_err *err)
{
    cli_value sigma[FRE_LEVELS_MAX];
    const fre_counts counts = io->request.level[0].counts;
    const fre_status st = parse_list(sigma, c, &sum_sigma, io->request.n_levels, err);

    if (st != FRE_OK)
        return st;
    for (size_t i = 0; i < io->request.n_levels; i++)
        io->level[i] = (fre_level){
            .counts = counts,
            .sigma = sigma[i].number,
            .shift = fre_level_shift(counts, cli_number(c, "radius"), sigma[i].number,
                                     (uint32_t)cli_whole(c, "dimension")),
        };
    return counts == FRE_COUNTS_NOISY ? noisy_from(io, c, err) : sampled_from(io, c, err);
}

fre_status cli_levels_from(cli_levels *out, const cli *c, fre_err *err)
{
    cli_levels l = {.level = {{.sigma = 0}}};
    fre_status st = names_from(&l.request, c, err);

    if (st == FRE_OK && l.request.n_levels > 0)
        st = numbers_from(&l, c, err);
    if (st == FRE_OK)
        *out = l;
    return st;
}

bool cli_levels_none(const cli_levels *l)
{
    return l->request.n_levels == 0;
}

void cli_levels_mechanism(fre_mechanism *io, const cli_levels *l)
{
    if (cli_levels_none(l))
        return;
    io->sketch = l->request.level[0].sketch;
    io->sensitivity = FRE_SENSITIVITY_WORST_CASE;
    io->p32 = l->level[0].p32;
    io->tau = l->level[0].tau;
    io->sigma = l->level[0].sigma;
}

/* ---- what it costs --------------------------------------------------------------------------- */

static void print(const fre_levels_account *a, const fre_levels *m)
{
    const bool replaced = m->adjacency == FRE_ADJACENCY_REPLACE;
    char text[FRE_DIGITS_BYTES];

    cli_fold(stdout, 4, "epsilon            %s", fre_digits_up(text, 10, a->epsilon));
    cli_fold(stdout, 4, "delta              %-11s   (%s, rounded up)",
             fre_digits_up(text, 6, a->delta), cli_adjacencies[m->adjacency]);
    cli_fold(stdout, 4, "  addition         %-11s   %s", fre_digits_up(text, 6, a->addition),
             replaced ? "the two add up" : "the greater of the two counts");
    cli_fold(stdout, 4, "  removal          %s", fre_digits_up(text, 6, a->removal));
    if (a->split > 0)
        cli_fold(stdout, 4, "split              %-11s   of the grid",
                 fre_digits_up(text, 4, a->split));
}

static fre_status print_json(const fre_levels_account *a, const fre_levels *m,
                             const fre_plan_request *asked, const char *warning, fre_err *err)
{
    json_t *o;
    fre_buf text;

    fre_buf_init(&text, 1u << 16);
    o = cli_json_of(fre_levels_account_json(&text, a, m, asked, warning), &text);
    return cli_json_print(o, err);
}

fre_status cli_levels_account(const cli *c, const cli_levels *l, const fre_mechanism *grid,
                              const double *epsilon, double delta, fre_err *err)
{
    const fre_levels m = {.grid = l->request.no_grid ? NULL : grid,
                          .level = l->level,
                          .n = l->request.n_levels,
                          .adjacency = grid->adjacency,
                          .cells_per_user = grid->cells_per_user};
    fre_levels_account a;
    const char *weak;
    fre_status st =
        epsilon ? fre_levels_delta(&a, &m, *epsilon, err) : fre_levels_epsilon(&a, &m, delta, err);

    if (st != FRE_OK)
        return st;
    weak = fre_delta_warning(epsilon ? a.delta : delta, cli_whole(c, "population"));
    if (c->json)
        return print_json(&a, &m, &l->request, weak, err);
    print(&a, &m);
    cli_print_warnings(stdout, &weak, weak ? 1 : 0);
    return FRE_OK;
}
