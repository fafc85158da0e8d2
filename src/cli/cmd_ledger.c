/* cmd_ledger.c - ledger show: what has been released from which data.  All sums are the library's,
 * which are those that refusals go by. */
#include "cli.h"

#include <fre/ledger.h>

#include <stdlib.h>
#include <string.h>

#define LABEL_BYTES 256u
#define DATA_COLUMNS 20

static const char *const states[] = {"booked", "published", "failed", "unknown"};

static const cli_positional positional[] = {
    {.name = "FILE",
     .help = "the ledger (default: fre-e2t/ledger.json in the user's state folder)",
     .optional = true},
};

/* ---- text ------------------------------------------------------------------------------------- */

/* The name, or the beginning of a hash of the content. */
static const char *label(char to[LABEL_BYTES], const char *name, const char *content)
{
    (void)snprintf(to, LABEL_BYTES,
                   name      ? "%s"
                   : content ? "content %.12s"
                             : "embeddings",
                   name ? name : content);
    return to;
}

static const char *content_of(const fre_ledger_entry *e)
{
    return e->content ? e->content : e->records;
}

#define COLUMNS 5u

static void columns_of(cli_column out[COLUMNS])
{
    const size_t columns = cli_columns(stdout),
                 spare = columns > CLI_WIDTH ? columns - CLI_WIDTH : 0;
    const cli_column list[COLUMNS] = {{.name = "date (UTC)", .width = -16},
                                      {.name = "epsilon", .width = -7},
                                      {.name = "delta", .width = -8},
                                      {.name = "data", .width = -(DATA_COLUMNS + (int)(spare / 2))},
                                      {.name = "output", .width = -12, .rest = true}};

    memcpy(out, list, sizeof list);
}

static void print_entry(const fre_ledger_book *b, const fre_ledger_entry *e)
{
    const char *name = e->name ? e->name : b->set[e->set].name; /* as the sums below call it */
    char data[LABEL_BYTES], date[17], epsilon[FRE_DIGITS_BYTES], delta[FRE_DIGITS_BYTES];
    const cli_cell cell[COLUMNS] = {{.text = date},
                                    {.text = fre_digits_up(epsilon, 4, e->epsilon)},
                                    {.text = fre_digits_up(delta, 3, e->delta)},
                                    {.text = label(data, name, content_of(e))},
                                    {.text = e->what}};
    cli_column column[COLUMNS];

    columns_of(column);
    (void)snprintf(date, sizeof date, "%.16s", e->date); /* to the minute */
    for (char *c = date; *c; c++)
        *c = *c == 'T' ? ' ' : *c;
    cli_table_row(stdout, column, COLUMNS, cell);
    if (e->state == FRE_LEDGER_BOOKED)
        cli_fold(stdout, 4, "%20sat work, or ended before it was published: it counts", "");
    if (e->state == FRE_LEDGER_FAILED)
        cli_fold(stdout, 4, "%20sfailed after it was recorded, nothing was published: it counts",
                 "");
}

static void print_amount(const char *what, double spent, double budget, double left)
{
    char text[FRE_DIGITS_BYTES], rest[FRE_DIGITS_BYTES], line[64];

    (void)snprintf(line, sizeof line, "    %-7s %s", what, fre_digits_up(text, 6, spent));
    if (budget > 0)
        cli_fold(stdout, 6, "%s of %s, %s left", line, fre_digits_down(text, 6, budget),
                 fre_digits_down(rest, 6, left));
    else
        cli_fold(stdout, 6, "%s", line);
}

static void print(const fre_ledger_book *b)
{
    cli_column column[COLUMNS];
    char data[LABEL_BYTES];

    columns_of(column);
    cli_table_head(stdout, column, COLUMNS);
    for (size_t i = 0; i < b->n; i++)
        print_entry(b, &b->entry[i]);
    putchar('\n');
    cli_heading(stdout, "Spent in all; a budget is the smallest ever stated for the data.");
    for (size_t i = 0; i < b->n_sets; i++) {
        const fre_ledger_sum *s = &b->set[i].sum;

        cli_fold(stdout, 4, "  %s, %zu release%s", label(data, b->set[i].name, b->set[i].content),
                 s->releases, cli_plural(s->releases));
        print_amount("epsilon", s->epsilon, s->budget_epsilon, s->left_epsilon);
        print_amount("delta", s->delta, s->budget_delta, s->left_delta);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static json_t *entry_json(const fre_ledger_entry *e)
{
    return json_pack("{s:s?, s:s, s:s, s:s?, s:s?, s:s?, s:I, s:b, s:s, s:f, s:f, s:o, s:o}", "id",
                     e->id, "date", e->date, "state", states[e->state], "name", e->name, "content",
                     e->content, "records", e->records, "data_set", (json_int_t)e->set, "apart",
                     (int)e->apart, "what", e->what, "epsilon", e->epsilon, "delta", e->delta,
                     "budget_epsilon", cli_budget_json(e->budget_epsilon), "budget_delta",
                     cli_budget_json(e->budget_delta));
}

static json_t *left_json(double budget, double left)
{
    return budget > 0 ? cli_json_real(left) : json_null();
}

static json_t *set_json(const fre_ledger_set *d)
{
    const fre_ledger_sum *s = &d->sum;

    return json_pack("{s:s?, s:s?, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "name", d->name, "content",
                     d->content, "releases", (json_int_t)s->releases, "epsilon",
                     cli_json_real(s->epsilon), "delta", cli_json_real(s->delta), "budget_epsilon",
                     cli_budget_json(s->budget_epsilon), "budget_delta",
                     cli_budget_json(s->budget_delta), "left_epsilon",
                     left_json(s->budget_epsilon, s->left_epsilon), "left_delta",
                     left_json(s->budget_delta, s->left_delta));
}

static fre_status print_json(const char *path, const fre_ledger_book *b, fre_err *err)
{
    json_t *entries = json_array(), *totals = json_array(), *o = NULL;
    int bad = !entries || !totals;

    for (size_t i = 0; !bad && i < b->n; i++)
        bad = json_array_append_new(entries, entry_json(&b->entry[i]));
    for (size_t i = 0; !bad && i < b->n_sets; i++)
        bad = json_array_append_new(totals, set_json(&b->set[i]));
    if (!bad)
        o = json_pack("{s:s, s:O, s:O}", "file", path, "entries", entries, "totals", totals);
    json_decref(entries);
    json_decref(totals);
    return cli_json_print(o, err);
}

/* ---- run -------------------------------------------------------------------------------------- */

static fre_status run(cli *c, fre_err *err)
{
    static const fre_ledger_book nothing = {.n = 0};
    const char *path = c->positional[0];
    fre_ledger_book *b = NULL;
    char *own = NULL;
    fre_status st = FRE_OK;

    if (!path) {
        st = fre_ledger_default(&own, false, err);
        if (st != FRE_OK)
            goto out;
        path = own;
    }
    st = fre_ledger_read(&b, path, err);
    if (st == FRE_E_NOINPUT && own) /* nobody named it, so nothing is missing */
        st = FRE_OK;
    if (st != FRE_OK)
        goto out;
    if (c->json) {
        st = print_json(path, b ? b : &nothing, err);
    } else if (!b || b->n == 0) {
        fputs("Nothing has been recorded (", stdout);
        (void)cli_print_safe(stdout, path, 0);
        fputs(").\n", stdout);
    } else {
        print(b);
    }
out:
    fre_ledger_book_free(b);
    free(own);
    return st;
}

const cli_command cli_cmd_ledger_show = {
    .name = "ledger show",
    .summary = "show what has been released from which data",
    .about = "Lists the releases that a ledger has recorded, and for each set of data what they "
             "have spent in all, and what is left of the smallest budget that was ever stated for "
             "it. Releases whose data share a name, their content or a part of it, directly or "
             "through others, count as one set.",
    .example = CLI_PROGRAM " ledger show\n" CLI_PROGRAM " ledger show releases.json --json",
    .positional = positional,
    .n_positional = 1,
    .run = run,
};
