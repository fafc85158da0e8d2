/* ledger.c - which entries are of the same data, what they have spent, and what is refused.
 *
 * Basic composition (Dwork and Roth, "The algorithmic foundations of differential privacy", 2014,
 * theorem 3.16): releases from the same data spend the sums of their epsilons and deltas. */
#include "internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TOLERANCE 1e-12
#define DATE_BYTES 32u

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

/* root[i]: the oldest entry that is of the same data as entry i. */
static fre_status find_roots(size_t *root, const fre_ledger_entry *e, size_t n, fre_err *err)
{
    json_t *names = json_object(), *contents = json_object();
    fre_status st = names && contents ? FRE_OK : ledger_no_memory(err);

    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        root[i] = i;
        st = join_by(names, root, i, e[i].name, err);
        if (st == FRE_OK)
            st = join_by(contents, root, i, e[i].content, err);
    }
    for (size_t i = 0; st == FRE_OK && i < n; i++)
        root[i] = root_of(root, i);
    json_decref(names);
    json_decref(contents);
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

static double what_is_left(double budget, double spent)
{
    if (spent <= 0 || budget <= spent)
        return spent <= 0 ? budget : 0;
    return nextafter(budget - spent, 0);
}

static void add_to_sum(fre_ledger_sum *s, const fre_ledger_entry *e)
{
    s->releases++;
    s->epsilon = add_up(s->epsilon, e->epsilon);
    s->delta = add_up(s->delta, e->delta);
    s->budget_epsilon = smaller_budget(s->budget_epsilon, e->budget_epsilon);
    s->budget_delta = smaller_budget(s->budget_delta, e->budget_delta);
    s->left_epsilon = what_is_left(s->budget_epsilon, s->epsilon);
    s->left_delta = what_is_left(s->budget_delta, s->delta);
}

static bool passes(double spent, double budget)
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
static fre_status entries_of(fre_ledger_entry **out, size_t *n, const json_t *book, fre_err *err)
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
    st = root && b->set ? find_roots(root, b->entry, b->n, err) : ledger_no_memory(err);
    for (size_t i = 0; st == FRE_OK && i < b->n; i++) {
        fre_ledger_entry *e = &b->entry[i];
        fre_ledger_set *s;

        e->set = root[i] == i ? b->n_sets++ : b->entry[root[i]].set;
        s = &b->set[e->set];
        add_to_sum(&s->sum, e);
        s->name = e->name ? e->name : s->name;
        s->content = e->content ? e->content : s->content;
    }
    free(root);
    return st;
}

fre_status fre_ledger_read(fre_ledger_book **out, const char *path, fre_err *err)
{
    fre_ledger_book *b = NULL;
    json_t *book = NULL;
    fre_status st;

    if (!out || !path)
        return fre_fail(err, FRE_E_ARG, "a ledger needs a path");
    st = ledger_load(&book, path, err);
    if (st != FRE_OK)
        return st;
    if (!book)
        return fre_fail(err, FRE_E_NOINPUT, "there is no ledger '%.300s'", path);
    b = calloc(1, sizeof *b);
    if (!b) {
        json_decref(book);
        return ledger_no_memory(err);
    }
    b->owned = book;
    st = entries_of(&b->entry, &b->n, book, err);
    if (st == FRE_OK)
        st = group(b, err);
    if (st == FRE_OK) {
        *out = b;
        b = NULL; /* handed over */
    }
    fre_ledger_book_free(b);
    return st;
}

/* ---- one spend --------------------------------------------------------------------------- */

bool fre_ledger_needs_name(const char *input_path)
{
    struct stat s;

    if (!input_path || strcmp(input_path, "-") == 0)
        return true;
    /* A pipe can be read once only, and the run needs it.  A missing file is reported as one. */
    return stat(input_path, &s) == 0 && !S_ISREG(s.st_mode);
}

static fre_status check_name(const char *name, fre_err *err)
{
    size_t n = strnlen(name, LEDGER_NAME_MAX_BYTES + 1);
    json_t *probe = json_stringn(name, n);
    bool utf8 = probe != NULL;

    json_decref(probe);
    if (n == 0 || n > LEDGER_NAME_MAX_BYTES || !utf8)
        return fre_fail(err, FRE_E_USAGE, "a name in the ledger has 1 to %u bytes of UTF-8",
                        LEDGER_NAME_MAX_BYTES);
    return FRE_OK;
}

static fre_status check_spend(const fre_ledger_spend *s, fre_err *err)
{
    if (!s || (!s->data_name && !s->input_path))
        return fre_fail(err, FRE_E_ARG, "a spend needs data");
    if (!isfinite(s->epsilon) || s->epsilon < 0)
        return fre_fail(err, FRE_E_USAGE,
                        "a ledger takes a finite epsilon; a release without privacy cannot be "
                        "recorded as a spend");
    if (!(s->delta >= 0 && s->delta <= 1))
        return fre_fail(err, FRE_E_USAGE, "a ledger takes a delta between 0 and 1");
    if (isnan(s->budget_epsilon) || isinf(s->budget_epsilon) || !(s->budget_delta <= 1))
        return fre_fail(err, FRE_E_USAGE,
                        "a ledger's budgets are a finite epsilon and a delta up "
                        "to 1");
    if (s->data_name)
        return check_name(s->data_name, err);
    if (fre_ledger_needs_name(s->input_path))
        return fre_fail(err, FRE_E_USAGE,
                        "'%.300s' can be read only once, so its data need a name in the ledger; "
                        "give one with --data-name",
                        s->input_path);
    return FRE_OK;
}

/* The content's hash, unless print has it for this book's salt already. */
static fre_status take_print(fre_ledger_print *print, const json_t *book, const char *input,
                             fre_err *err)
{
    uint8_t salt[FRE_LEDGER_SALT_BYTES];
    fre_status st = ledger_salt(salt, book, err);

    if (st != FRE_OK || fre_ledger_needs_name(input) ||
        (print->set && memcmp(print->salt, salt, sizeof salt) == 0))
        return st;
    st = fre_sha256_file_salted(print->hash, input, (fre_bytes){salt, sizeof salt}, err);
    if (st == FRE_OK) {
        memcpy(print->salt, salt, sizeof salt);
        print->set = true;
    }
    return st;
}

static fre_status random_bytes(uint8_t *out, size_t n, fre_err *err)
{
    fre_rng rng;
    fre_status st = fre_rng_init(&rng);

    if (st != FRE_OK)
        return fre_fail(err, st, "the system offers no randomness");
    fre_rng_bytes(&rng, out, n);
    fre_rng_wipe(&rng);
    return FRE_OK;
}

/* The book, or a new one: with the salt that the input was hashed with, if it was. */
static fre_status open_book(json_t **book, const fre_ledger_print *print, const char *path,
                            fre_err *err)
{
    uint8_t salt[FRE_LEDGER_SALT_BYTES];
    fre_status st = ledger_load(book, path, err);

    if (st != FRE_OK || *book)
        return st;
    if (print->set)
        return ledger_new_book(book, print->salt, err);
    st = random_bytes(salt, sizeof salt, err);
    return st == FRE_OK ? ledger_new_book(book, salt, err) : st;
}

/* A spend as an entry, with the strings it needs. */
typedef struct draft {
    fre_ledger_entry entry;
    char id[FRE_LEDGER_ID_BYTES], content[2 * FRE_HASH_BYTES + 1], date[DATE_BYTES];
} draft;

static fre_status make_draft(draft *d, const fre_ledger_spend *s, const fre_ledger_print *print,
                             fre_err *err)
{
    uint8_t id[(FRE_LEDGER_ID_BYTES - 1) / 2];
    time_t now = (time_t)fre_clock_unix();
    struct tm utc;
    fre_status st = random_bytes(id, sizeof id, err);

    if (st != FRE_OK)
        return st;
    memset(d, 0, sizeof *d);
    fre_hex(d->id, id, sizeof id);
    if (gmtime_r(&now, &utc))
        (void)strftime(d->date, sizeof d->date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    if (!fre_ledger_needs_name(s->input_path)) {
        fre_hex(d->content, print->hash, sizeof print->hash);
        d->entry.content = d->content;
    }
    d->entry.id = d->id;
    d->entry.date = d->date;
    d->entry.name = s->data_name;
    d->entry.what = s->what ? s->what : "";
    d->entry.epsilon = s->epsilon;
    d->entry.delta = s->delta;
    d->entry.budget_epsilon = s->budget_epsilon > 0 ? s->budget_epsilon : 0;
    d->entry.budget_delta = s->budget_delta > 0 ? s->budget_delta : 0;
    return FRE_OK;
}

static fre_status refuse(fre_err *err, size_t releases, const char *what, double spent,
                         double budget, double asked)
{
    const double left = what_is_left(budget, spent);
    char advice[80] = "nothing is left for a further one";

    if (left > 0)
        (void)snprintf(advice, sizeof advice, "lower --%s to fit into the %.6g left", what, left);
    return fre_fail(err, FRE_E_REFUSED,
                    "refused by the ledger: releases of this data (%zu so far) have spent %s "
                    "%.6g of %.6g, and this one asks for %.6g: %s",
                    releases, what, spent, budget, asked, advice);
}

/* What the entry's data would have spent with it, or a refusal. */
static fre_status check_budget(fre_ledger_sum *after, const json_t *book,
                               const fre_ledger_entry *fresh, fre_err *err)
{
    fre_ledger_sum before = {.releases = 0};
    fre_ledger_entry *e = NULL;
    size_t *root = NULL, n = 0;
    fre_status st = entries_of(&e, &n, book, err);

    if (st == FRE_OK) {
        e[n] = *fresh;
        root = calloc(n + 1, sizeof *root);
        st = root ? find_roots(root, e, n + 1, err) : ledger_no_memory(err);
    }
    for (size_t i = 0; st == FRE_OK && i < n; i++)
        if (root[i] == root[n])
            add_to_sum(&before, &e[i]);
    free(root);
    free(e);
    if (st != FRE_OK)
        return st;
    *after = before;
    add_to_sum(after, fresh);
    if (passes(after->epsilon, after->budget_epsilon))
        return refuse(err, before.releases, "epsilon", before.epsilon, after->budget_epsilon,
                      fresh->epsilon);
    if (passes(after->delta, after->budget_delta))
        return refuse(err, before.releases, "delta", before.delta, after->budget_delta,
                      fresh->delta);
    return FRE_OK;
}

static fre_status examine(json_t **book, draft *d, fre_ledger_sum *sum, fre_ledger_print *print,
                          const char *path, const fre_ledger_spend *spend, fre_err *err)
{
    fre_status st = open_book(book, print, path, err);

    if (st == FRE_OK)
        st = take_print(print, *book, spend->input_path, err);
    if (st == FRE_OK)
        st = make_draft(d, spend, print, err);
    return st == FRE_OK ? check_budget(sum, *book, &d->entry, err) : st;
}

fre_status fre_ledger_record(fre_ledger_receipt *receipt, fre_ledger_print *print, const char *path,
                             const fre_ledger_spend *spend, fre_err *err)
{
    fre_ledger_print own = {.set = false};
    fre_ledger_sum sum;
    json_t *book = NULL;
    char *real = NULL;
    int lock = -1;
    draft d;
    fre_status st = check_spend(spend, err);

    if (st == FRE_OK)
        st = ledger_resolve(&real, path, err);
    if (st == FRE_OK)
        st = ledger_lock(&lock, real, err);
    if (st == FRE_OK)
        st = examine(&book, &d, &sum, print ? print : &own, real, spend, err);
    if (st == FRE_OK)
        st = ledger_append(book, &d.entry, err);
    if (st == FRE_OK)
        st = ledger_save(book, real, err);
    if (st == FRE_OK && receipt) {
        memcpy(receipt->id, d.id, sizeof receipt->id);
        receipt->sum = sum;
    }
    json_decref(book);
    if (lock >= 0)
        (void)close(lock); /* releases it */
    free(real);
    return st;
}

fre_status fre_ledger_check(fre_ledger_print *print, const char *path,
                            const fre_ledger_spend *spend, fre_err *err)
{
    fre_ledger_print own = {.set = false};
    fre_ledger_sum sum;
    json_t *book = NULL;
    char *real = NULL;
    draft d;
    fre_status st = check_spend(spend, err);

    if (st == FRE_OK)
        st = ledger_resolve(&real, path, err);
    /* No lock: the file is replaced in one rename, so a reader sees one book or the next. */
    if (st == FRE_OK)
        st = examine(&book, &d, &sum, print ? print : &own, real, spend, err);
    json_decref(book);
    free(real);
    return st;
}
