/* cmd_ledger.c - ledger show: what has been released from which data. */
#include "cli.h"

#include <fre/ledger.h>

#include <string.h>

static const cli_positional positional[] = {
    {.name = "FILE", .help = "the ledger that synthesize --ledger wrote"},
};

static json_t *limit_json(double budget)
{
    return budget > 0.0 ? cli_json_real(budget) : json_null();
}

/* Entries, and a total for each data set in order of first appearance. */
typedef struct book {
    json_t *entries, *totals;
    bool failed;
} book;

static json_t *total_of(book *b, const char *data)
{
    size_t i;
    json_t *t;

    json_array_foreach(b->totals, i, t)
    {
        if (strcmp(json_string_value(json_object_get(t, "data")), data) == 0)
            return t;
    }
    t = json_pack("{s:s, s:f, s:f, s:n, s:n}", "data", data, "epsilon", 0.0, "delta", 0.0,
                  "budget_epsilon", "budget_delta");
    return t && json_array_append_new(b->totals, t) == 0 ? t : NULL;
}

static int add_to(json_t *total, const char *key, double x)
{
    double sum = json_number_value(json_object_get(total, key)) + x;
    return json_object_set_new(total, key, json_real(sum));
}

/* The smallest budget ever stated counts. */
static int lower(json_t *total, const char *key, double budget)
{
    json_t *old = json_object_get(total, key);
    if (!(budget > 0.0) || (json_is_number(old) && json_number_value(old) <= budget))
        return 0;
    return json_object_set_new(total, key, json_real(budget));
}

static void visit(void *ctx, const fre_ledger_entry *e)
{
    book *b = ctx;
    json_t *total = b->failed ? NULL : total_of(b, e->data);

    if (!total ||
        json_array_append_new(b->entries,
                              json_pack("{s:s, s:s, s:s?, s:o, s:o, s:o, s:o}", "date", e->date,
                                        "data", e->data, "what", e->what, "epsilon",
                                        cli_json_real(e->epsilon), "delta", cli_json_real(e->delta),
                                        "budget_epsilon", limit_json(e->budget_epsilon),
                                        "budget_delta", limit_json(e->budget_delta))) != 0 ||
        add_to(total, "epsilon", e->epsilon) != 0 || add_to(total, "delta", e->delta) != 0 ||
        lower(total, "budget_epsilon", e->budget_epsilon) != 0 ||
        lower(total, "budget_delta", e->budget_delta) != 0)
        b->failed = true;
}

static const char *text_of(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static void print_limit(const json_t *total, const char *key)
{
    const json_t *v = json_object_get(total, key);
    if (json_is_number(v))
        printf(" of %.6g", json_number_value(v));
}

static void print(const book *b)
{
    size_t i;
    const json_t *e;

    printf("%-21s %-9s %-9s %s\n", "date", "epsilon", "delta", "what");
    json_array_foreach(b->entries, i, e)
    {
        printf("%-21s %-9.4g %-9.3g ", text_of(e, "date"),
               json_number_value(json_object_get(e, "epsilon")),
               json_number_value(json_object_get(e, "delta")));
        cli_print_safe(stdout, text_of(e, "what"), CLI_WIDTH - 43);
        putchar('\n');
    }
    puts("\nspent in all, of the smallest budget stated");
    json_array_foreach(b->totals, i, e)
    {
        fputs("  ", stdout);
        cli_print_safe(stdout, text_of(e, "data"), CLI_WIDTH - 3);
        printf("\n    epsilon %.6g", json_number_value(json_object_get(e, "epsilon")));
        print_limit(e, "budget_epsilon");
        printf(", delta %.4g", json_number_value(json_object_get(e, "delta")));
        print_limit(e, "budget_delta");
        putchar('\n');
    }
}

static fre_status run(cli *c, fre_err *err)
{
    book b = {.entries = json_array(), .totals = json_array()};
    fre_status st = FRE_OK;

    b.failed = !b.entries || !b.totals;
    if (!b.failed)
        st = fre_ledger_list(c->positional[0], visit, &b, err);
    if (st == FRE_OK && b.failed)
        st = fre_fail(err, FRE_E_NOMEM, "out of memory while reading the ledger");
    if (st == FRE_OK && c->json)
        st = cli_json_print(json_pack("{s:O, s:O}", "entries", b.entries, "totals", b.totals), err);
    else if (st == FRE_OK)
        print(&b);
    json_decref(b.entries);
    json_decref(b.totals);
    return st;
}

const cli_command cli_cmd_ledger_show = {
    .name = "ledger show",
    .summary = "show what has been released from which data",
    .about = "Lists the releases that a ledger has recorded, and for each data set the sums of "
             "epsilon and delta against the smallest budget that was ever stated for it.",
    .example = CLI_PROGRAM " ledger show ledger.json",
    .positional = positional,
    .n_positional = 1,
    .run = run,
};
