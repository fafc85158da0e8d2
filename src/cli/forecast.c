/* forecast.c - see forecast.h. */
#include "forecast.h"
#include "plan_output.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the command that follows from it ------------------------------------------------------------------ */

/* What a plan and a run share, but for --levels. */
static const char *const shared[] = {
    "epsilon",     "delta",          "threshold",  "population",    "counts",
    "radius",      "projection-dim", "cell-scale", "cell-edge",     "sampling-rate",
    "adjacency",   "accountant",     "gaussian",   "budget-factor", "sensitivity-ratio",
    "sensitivity", "norm-bound",     "embedder",
};

static fre_status put_word(fre_buf *out, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_-+=:.,/@%";
    fre_status st = FRE_OK;

    if (word[0] && word[strspn(word, plain)] == '\0')
        return fre_buf_printf(out, " %s", word);
    st = fre_buf_printf(out, " '");
    for (; st == FRE_OK && *word; word++)
        st = *word == '\'' ? fre_buf_printf(out, "'\\''") : fre_buf_append(out, word, 1);
    return st == FRE_OK ? fre_buf_printf(out, "'") : st;
}

static fre_status put_flag(fre_buf *out, const char *flag, const char *value)
{
    const fre_status st = fre_buf_printf(out, " --%s", flag);

    return st == FRE_OK ? put_word(out, value) : st;
}

/* NUL-terminated. */
static fre_status put_command(fre_buf *out, const cli *c, const fre_forecast_list *l)
{
    fre_status st = fre_buf_printf(out, CLI_PROGRAM " synthesize INPUT -o DIR");

    for (size_t i = 0; st == FRE_OK && i < sizeof shared / sizeof *shared; i++)
        if (cli_given(c, shared[i]))
            st = put_flag(out, shared[i], cli_get(c, shared[i])->text);
    if (st == FRE_OK)
        st = put_flag(out, "levels", l->levels);
    if (st == FRE_OK && cli_given(c, "codebook") && l->plan.request.n_levels > 0)
        st = put_flag(out, "codebook", cli_text(c, "codebook"));
    return st == FRE_OK ? fre_buf_append(out, "", 1) : st;
}

/* ---- JSON ------------------------------------------------------------------------------------------------- */

/* Why lists can't be planned, with flags as they are called here. */
static void name_flags(json_t *lists)
{
    json_t *list;
    size_t i;

    json_array_foreach(lists, i, list)
    {
        const char *why = json_string_value(json_object_get(list, "why"));
        char named[CLI_NAMED_BYTES];

        if (why)
            (void)json_object_set_new(list, "why", json_string(cli_named(named, why)));
    }
}

static json_t *forecast_json(const fre_forecast *f, const char *command)
{
    json_t *o;
    fre_buf text;

    fre_buf_init(&text, 1u << 20);
    o = cli_json_of(fre_forecast_json(&text, f), &text);
    name_flags(json_object_get(o, "lists"));
    if (o && json_object_set_new(o, "command", json_string(command)) != 0) {
        json_decref(o);
        o = NULL;
    }
    return o;
}

static fre_status print_json(const fre_forecast *f, const char *command, fre_err *err)
{
    json_t *plan = cli_plan_json(&f->list[f->chosen].plan);

    if (plan && json_object_set_new(plan, "forecast", forecast_json(f, command)) != 0) {
        json_decref(plan);
        plan = NULL;
    }
    return cli_json_print(plan, err);
}

/* ---- for people -------------------------------------------------------------------------------------------- */

#define CELL_BYTES 16u

static const char *put(char out[CELL_BYTES], double v)
{
    (void)snprintf(out, CELL_BYTES, isfinite(v) ? "%.3f" : "-", v);
    return out;
}

static void print_row(const fre_forecast *f, const cli_column *heads, size_t n, const char *name,
                      const fre_level_evaluation *l)
{
    char cells[24], text[7][CELL_BYTES];
    const cli_cell row[] = {
        {.text = name},
        {.text = cells},
        {.text = put(text[0], l->covered)},
        {.text = put(text[1], l->noise_norm)},
        {.text = put(text[2], l->centroid_l2)},
        {.text = put(text[6], l->member_l2)},
        {.text = put(text[3], f->has_labels ? l->labels.precision : (double)NAN)},
        {.text = put(text[4], f->has_labels ? l->labels.recall : (double)NAN)},
        {.text = put(text[5], f->has_labels ? l->labels.purity : (double)NAN)}};

    (void)snprintf(cells, sizeof cells, "%" PRIu64, l->cells);
    cli_table_row(stdout, heads, f->has_labels ? n : n - 3, row);
}

static void print_lists(const fre_forecast *f)
{
    static const cli_column heads[] = {
        {.name = "", .width = -8},        {.name = "cells", .width = 6},
        {.name = "covered", .width = 8},  {.name = "noise", .width = 6},
        {.name = "off", .width = 6},      {.name = "member", .width = 6},
        {.name = "labels P", .width = 8}, {.name = "R", .width = 6},
        {.name = "purity", .width = 6}};
    const size_t n = sizeof heads / sizeof *heads;
    char why[CLI_NAMED_BYTES];

    for (size_t i = 0; i < f->n; i++) {
        const fre_forecast_list *l = &f->list[i];

        fputc('\n', stdout);
        cli_fold(stdout, 4, "%s%s", l->levels, i == f->chosen ? "  (chosen)" : "");
        if (l->planned)
            cli_fold(stdout, 4, "  expected distance %.3f", l->expected);
        if (!l->planned) {
            cli_fold(stdout, 4, "  %s", cli_named(why, l->why.text));
            continue;
        }
        cli_table_head(stdout, heads, f->has_labels ? n : n - 3);
        for (size_t k = 0; k < l->n_levels; k++)
            print_row(f, heads, n, l->level[k].name, &l->level[k]);
        if (l->n_levels > 1)
            print_row(f, heads, n, "all", &l->level[l->n_levels]);
    }
}

static void print_forecast(const fre_forecast *f, const char *command)
{
    char text[700];

    cli_heading(stdout, "Levels on the public corpus");
    (void)snprintf(
        text, sizeof text,
        "%" PRIu64 " records, each taken for one user: the corpus stands for as many "
        "users as it has records, and nothing is scaled up to the population, which is "
        "a bound. More users make more cells. Covered: their share in released cells; "
        "noise: its mean planned norm on a cell's mean; off: mean distance of a released "
        "mean from the true one, the cut of offsets included; member: mean distance of a "
        "user's text from the released mean.",
        f->records);
    cli_wrap(stdout, text, 0, 0);
    print_lists(f);
    (void)snprintf(text, sizeof text,
                   "Chosen by the least expected distance of a user's text from what is released "
                   "for it; a user left out counts with %.3g, as an unrelated text. Of lists "
                   "within %g of the least, the one with the fewest levels.",
                   FRE_FORECAST_UNRELATED * f->list[f->chosen].plan.request.norm_bound,
                   FRE_FORECAST_TIE);
    fputc('\n', stdout);
    cli_wrap(stdout, text, 0, 0);
    printf("\n%s\n\n", command);
}

/* ---- the run ------------------------------------------------------------------------------------------------ */

static fre_status options_of(fre_forecast_opts *o, cli *c, const fre_plan_request *request,
                             fre_err *err)
{
    fre_status st;

    fre_forecast_opts_init(o);
    o->plan = *request;
    o->corpus = cli_text(c, "public-corpus");
    st = cli_corpus_opts(&o->read, c, err);
    o->read.label_field = cli_text(c, "label-field");
    o->levels = cli_given(c, "levels") ? cli_text(c, "levels") : NULL;
    o->counts = cli_choice(c, "counts") ? FRE_COUNTS_SAMPLED : FRE_COUNTS_NOISY;
    o->embedder = cli_text(c, "embedder");
    o->codebook = cli_text(c, "codebook");
    o->threads = c->threads;
    o->progress = &c->progress;
    return st;
}

fre_status cli_forecast(cli *c, const fre_plan_request *request, fre_err *err)
{
    fre_forecast_opts o;
    fre_forecast *f = calloc(1, sizeof *f);
    fre_buf command;
    fre_status st =
        f ? options_of(&o, c, request, err) : fre_fail(err, FRE_E_NOMEM, "out of memory");

    if (st == FRE_OK)
        st = fre_forecast_make(f, &o, err);
    cli_progress_end();
    if (st != FRE_OK) {
        free(f);
        return st;
    }
    fre_buf_init(&command, 1u << 16);
    st = put_command(&command, c, &f->list[f->chosen]);
    if (st != FRE_OK)
        st = fre_fail(err, st, "out of memory for a command line");
    else if (c->json)
        st = print_json(f, (const char *)command.p, err);
    else {
        print_forecast(f, (const char *)command.p);
        cli_plan_print(stdout, &f->list[f->chosen].plan);
    }
    fre_buf_wipe(&command);
    free(f);
    return st;
}
