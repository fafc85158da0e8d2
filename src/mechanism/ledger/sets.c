/* sets.c - which entries are of the same data, and what they have spent.
 *
 * Basic composition (Dwork and Roth, "The algorithmic foundations of differential privacy", 2014,
 * theorem 3.16): releases from the same data spend the sums of their epsilons and deltas. */
#include "ledger_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 1e-12

/* ---- sets of entries --------------------------------------------------------------------- */

static size_t root_of(size_t *parent, size_t i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

/* Joins i's set with that of the first entry that has this key.  The older root stays one. */
static fre_status join_by(json_t *first, size_t *parent, size_t i, const char *key, fre_err *err)
{
    const json_t *seen = key ? json_object_get(first, key) : NULL;
    size_t a, b;

    if (!key)
        return FRE_OK;
    if (!seen)
        return json_object_set_new(first, key, json_integer((json_int_t)i)) == 0
                   ? FRE_OK
                   : ledger_no_memory(err);
    a = root_of(parent, (size_t)json_integer_value(seen));
    b = root_of(parent, i);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
    return FRE_OK;
}

/* The share of texts, users or embeddings that two entries have in common, whichever is most. */
double ledger_overlap(const fre_ledger_entry *a, const fre_ledger_entry *b)
{
    const double texts = ledger_likeness(a->texts, b->texts);
    const double users = ledger_likeness(a->users, b->users);
    const double rows = ledger_likeness(a->rows, b->rows);

    return fmax(texts, fmax(users, rows));
}

/* By overlap with older entries, unless its user says which data it is.  */
static void join_overlapping(size_t *root, const fre_ledger_entry *e, size_t i)
{
    if (e[i].name || e[i].apart)
        return;
    for (size_t j = 0; j < i; j++) {
        const size_t a = root_of(root, j), b = root_of(root, i);

        if (a != b && ledger_overlap(&e[i], &e[j]) >= FRE_LEDGER_OVERLAP)
            root[a < b ? b : a] = a < b ? a : b;
    }
}

/* root[i]: the oldest entry that is of the same data as entry i. */
fre_status ledger_find_sets(size_t *root, const fre_ledger_entry *e, size_t n, fre_err *err)
{
    json_t *names = json_object(), *contents = json_object(), *records = json_object();
    fre_status st = names && contents && records ? FRE_OK : ledger_no_memory(err);

    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        root[i] = i;
        st = join_by(names, root, i, e[i].name, err);
        if (st == FRE_OK)
            st = join_by(contents, root, i, e[i].content, err);
        if (st == FRE_OK)
            st = join_by(records, root, i, e[i].records, err);
        if (st == FRE_OK)
            join_overlapping(root, e, i);
    }
    for (size_t i = 0; st == FRE_OK && i < n; i++)
        root[i] = root_of(root, i);
    json_decref(names);
    json_decref(contents);
    json_decref(records);
    return st;
}

/* a + b rounded upward: adding to the nearest and then one step up is never below the true sum. */
static double add_up(double a, double b)
{
    if (a <= 0 || b <= 0)
        return a <= 0 ? b : a;
    return nextafter(a + b, (double)INFINITY);
}

static double smaller_budget(double a, double b)
{
    if (a <= 0 || b <= 0)
        return a <= 0 ? b : a;
    return a < b ? a : b;
}

double ledger_left(double budget, double spent)
{
    if (spent <= 0 || budget <= spent)
        return spent <= 0 ? budget : 0;
    return nextafter(budget - spent, 0);
}

void ledger_add_to_sum(fre_ledger_sum *s, const fre_ledger_entry *e)
{
    s->releases++;
    s->epsilon = add_up(s->epsilon, e->epsilon);
    s->delta = add_up(s->delta, e->delta);
    s->budget_epsilon = smaller_budget(s->budget_epsilon, e->budget_epsilon);
    s->budget_delta = smaller_budget(s->budget_delta, e->budget_delta);
    s->left_epsilon = ledger_left(s->budget_epsilon, s->epsilon);
    s->left_delta = ledger_left(s->budget_delta, s->delta);
}

bool ledger_is_over(double spent, double budget)
{
    return budget > 0 && spent > budget * (1 + TOLERANCE);
}

/* ---- a whole book ------------------------------------------------------------------------ */

void fre_ledger_book_free(fre_ledger_book *b)
{
    if (!b)
        return;
    json_decref(b->owned);
    free(b->entry);
    free(b->set);
    free(b);
}

/* The book's entries, and room for one more. */
fre_status ledger_entries(fre_ledger_entry **out, size_t *n, const json_t *book, fre_err *err)
{
    const json_t *list = json_object_get(book, "entries");
    fre_ledger_entry *e;

    *n = json_array_size(list);
    e = calloc(*n + 1, sizeof *e);
    if (!e)
        return ledger_no_memory(err);
    for (size_t i = 0; i < *n; i++) {
        if (!ledger_read_entry(&e[i], json_array_get(list, i))) {
            free(e);
            return fre_fail(err, FRE_E_INTERNAL, "a ledger's entry"); /* validated before */
        }
    }
    *out = e;
    return FRE_OK;
}

static fre_status group(fre_ledger_book *b, fre_err *err)
{
    size_t *root = calloc(b->n + 1, sizeof *root);
    fre_status st;

    b->set = calloc(b->n + 1, sizeof *b->set);
    st = root && b->set ? ledger_find_sets(root, b->entry, b->n, err) : ledger_no_memory(err);
    for (size_t i = 0; st == FRE_OK && i < b->n; i++) {
        fre_ledger_entry *e = &b->entry[i];
        fre_ledger_set *s;

        e->set = root[i] == i ? b->n_sets++ : b->entry[root[i]].set;
        s = &b->set[e->set];
        ledger_add_to_sum(&s->sum, e);
        s->name = e->name ? e->name : s->name;
        if (e->content || e->records)
            s->content = e->content ? e->content : e->records;
    }
    free(root);
    return st;
}

fre_status fre_ledger_read(fre_ledger_book **out, const char *path, fre_err *err)
{
    fre_ledger_book *b = NULL;
    ledger_disk d;
    fre_status st;

    if (!out || !path)
        return fre_fail(err, FRE_E_ARG, "a ledger needs a path");
    st = ledger_load(&d, path, err);
    if (st != FRE_OK)
        return st;
    if (!d.book)
        return fre_fail(err, FRE_E_NOINPUT, "there is no ledger '%.300s'", path);
    b = calloc(1, sizeof *b);
    if (!b) {
        ledger_disk_free(&d);
        return ledger_no_memory(err);
    }
    b->owned = d.book;
    st = ledger_entries(&b->entry, &b->n, d.book, err);
    if (st == FRE_OK)
        st = group(b, err);
    if (st == FRE_OK) {
        *out = b;
        b = NULL; /* handed over */
    }
    fre_ledger_book_free(b);
    return st;
}
