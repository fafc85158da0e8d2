/* ledger.c - a spend is checked, recorded or refused. */
#include "ledger_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DATE_BYTES 32u

/* ---- one spend --------------------------------------------------------------------------- */

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

static fre_status check_budgets(const fre_ledger_spend *s, fre_err *err)
{
    const fre_param_value stated[] = {
        {&fre_ledger_param_budget_epsilon, s->budget_epsilon <= 0 ? 0 : s->budget_epsilon},
        {&fre_ledger_param_budget_delta, s->budget_delta <= 0 ? 0 : s->budget_delta},
    };

    return fre_param_check_given(stated, sizeof stated / sizeof *stated, err);
}

static fre_status check_spend(const fre_ledger_spend *s, fre_err *err)
{
    fre_status st;

    if (!s || (!s->data_name && !s->content))
        return fre_fail(err, FRE_E_ARG, "a spend needs data");
    if (!isfinite(s->epsilon) || s->epsilon < 0)
        return fre_fail(err, FRE_E_USAGE,
                        "a ledger takes a finite epsilon; a release without privacy cannot be "
                        "recorded as a spend");
    if (!(s->delta >= 0 && s->delta <= 1))
        return fre_fail(err, FRE_E_USAGE, "a ledger takes a delta between 0 and 1");
    st = check_budgets(s, err);
    return st == FRE_OK && s->data_name ? check_name(s->data_name, err) : st;
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

/* The book, or a new one in memory: with the salt of the content, if there is. */
static fre_status open_book(ledger_disk *d, const uint8_t *salt_or_none, const char *path,
                            fre_err *err)
{
    uint8_t salt[FRE_LEDGER_SALT_BYTES];
    fre_status st = ledger_load(d, path, err);

    if (st != FRE_OK || d->book)
        return st;
    if (salt_or_none)
        return ledger_new_book(&d->book, salt_or_none, err);
    st = random_bytes(salt, sizeof salt, err);
    return st == FRE_OK ? ledger_new_book(&d->book, salt, err) : st;
}

static fre_status check_salt(const json_t *book, const fre_ledger_content *c, fre_err *err)
{
    uint8_t salt[FRE_LEDGER_SALT_BYTES];
    fre_status st = ledger_salt(salt, book, err);

    if (st != FRE_OK || !c || memcmp(salt, c->salt, sizeof salt) == 0)
        return st;
    return fre_fail(err, FRE_E_AGAIN,
                    "the ledger was made anew while the data were read; run this again");
}

fre_status fre_ledger_begin(fre_ledger_content *c, const char *path, bool make, fre_err *err)
{
    uint8_t salt[FRE_LEDGER_SALT_BYTES];
    ledger_disk d = {.book = NULL};
    char *real = NULL;
    int lock = -1;
    fre_status st;

    if (!c)
        return fre_fail(err, FRE_E_ARG, "the ledger needs a content to begin");
    if ((st = ledger_resolve(&real, path, err)) != FRE_OK ||
        (st = ledger_load(&d, real, err)) != FRE_OK)
        goto out;
    if (!d.book) {
        if (make && (st = ledger_lock(&lock, real, err)) != FRE_OK)
            goto out;
        /* Locked, since somebody may have made it meanwhile. */
        if ((st = open_book(&d, NULL, real, err)) != FRE_OK)
            goto out;
        if (make && (st = ledger_add(&d, real, NULL, err)) != FRE_OK)
            goto out;
    }
    st = ledger_salt(salt, d.book, err);
    if (st == FRE_OK)
        fre_ledger_content_init(c, salt);
out:
    ledger_disk_free(&d);
    if (lock >= 0)
        (void)close(lock);
    free(real);
    return st;
}

/* A spend as an entry, with the strings it needs. */
typedef struct draft {
    fre_ledger_entry entry;
    char id[FRE_LEDGER_ID_BYTES], content[2 * FRE_HASH_BYTES + 1], date[DATE_BYTES];
    char records[LEDGER_RECORDS_DIGITS + 1];
    char texts[LEDGER_SKETCH_DIGITS + 1], users[LEDGER_SKETCH_DIGITS + 1],
        rows[LEDGER_SKETCH_DIGITS + 1];
} draft;

static const char *unless_empty(const char *text)
{
    return text[0] ? text : NULL;
}

static void draft_content(draft *d, const fre_ledger_content *c)
{
    if (!c)
        return;
    if (c->has_bytes) {
        fre_hex(d->content, c->bytes, sizeof c->bytes);
        d->entry.content = d->content;
    }
    ledger_sketch_digits(d->texts, c->text);
    ledger_sketch_digits(d->users, c->user);
    ledger_sketch_digits(d->rows, c->row);
    if (c->texts > 0 || (!d->rows[0] && !c->has_bytes)) /* of nothing at all: a key is needed */
        ledger_records_digits(d->records, c);
    d->entry.records = unless_empty(d->records);
    d->entry.texts = unless_empty(d->texts);
    d->entry.users = unless_empty(d->users);
    d->entry.rows = unless_empty(d->rows);
}

static fre_status make_draft(draft *d, const fre_ledger_spend *s, fre_err *err)
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
    draft_content(d, s->content);
    d->entry.apart = s->apart;
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
    const double left = ledger_left(budget, spent);
    char advice[80] = "nothing is left for a further one", rest[FRE_DIGITS_BYTES],
         sum[FRE_DIGITS_BYTES], most[FRE_DIGITS_BYTES], this[FRE_DIGITS_BYTES];

    if (left > 0)
        (void)snprintf(advice, sizeof advice, "lower {%s} to fit into the %s left", what,
                       fre_digits_down(rest, 6, left));
    return fre_fail(err, FRE_E_REFUSED,
                    "refused by the ledger: releases of this data (%zu so far) have spent %s "
                    "%s of %s, and this one asks for %s: %s",
                    releases, what, fre_digits_up(sum, 6, spent), fre_digits_down(most, 6, budget),
                    fre_digits_up(this, 6, asked), advice);
}

/* What the entry's data would have spent with it, or a refusal. */
static fre_status check_budget(fre_ledger_sum *after, const json_t *book,
                               const fre_ledger_entry *fresh, fre_err *err)
{
    fre_ledger_sum before = {.releases = 0};
    fre_ledger_entry *e = NULL;
    size_t *root = NULL, n = 0;
    fre_status st = ledger_entries(&e, &n, book, err);

    if (st == FRE_OK) {
        e[n] = *fresh;
        root = calloc(n + 1, sizeof *root);
        st = root ? ledger_find_sets(root, e, n + 1, err) : ledger_no_memory(err);
    }
    for (size_t i = 0; st == FRE_OK && i < n; i++)
        if (root[i] == root[n])
            ledger_add_to_sum(&before, &e[i]);
    free(root);
    free(e);
    if (st != FRE_OK)
        return st;
    *after = before;
    ledger_add_to_sum(after, fresh);
    if (ledger_is_over(after->epsilon, after->budget_epsilon))
        return refuse(err, before.releases, "epsilon", before.epsilon, after->budget_epsilon,
                      fresh->epsilon);
    if (ledger_is_over(after->delta, after->budget_delta))
        return refuse(err, before.releases, "delta", before.delta, after->budget_delta,
                      fresh->delta);
    return FRE_OK;
}

static fre_status examine(ledger_disk *disk, draft *d, const char *path,
                          const fre_ledger_spend *spend, fre_err *err)
{
    fre_status st = open_book(disk, spend->content ? spend->content->salt : NULL, path, err);

    if (st == FRE_OK)
        st = check_salt(disk->book, spend->content, err);
    return st == FRE_OK ? make_draft(d, spend, err) : st;
}

static fre_status write_entry(ledger_disk *disk, const char *path, const fre_ledger_entry *e,
                              fre_err *err)
{
    json_t *object = NULL;
    fre_status st = ledger_entry_json(&object, e, err);

    if (st == FRE_OK)
        st = ledger_add(disk, path, object, err);
    json_decref(object);
    return st;
}

fre_status fre_ledger_record(fre_ledger_receipt *receipt, const char *path,
                             const fre_ledger_spend *spend, fre_err *err)
{
    ledger_disk disk = {.book = NULL};
    fre_ledger_sum sum;
    char *real = NULL;
    int lock = -1;
    draft d;
    fre_status st = check_spend(spend, err);

    if (st != FRE_OK)
        return st;
    if ((st = ledger_resolve(&real, path, err)) != FRE_OK ||
        (st = ledger_lock(&lock, real, err)) != FRE_OK ||
        (st = examine(&disk, &d, real, spend, err)) != FRE_OK ||
        (st = check_budget(&sum, disk.book, &d.entry, err)) != FRE_OK)
        goto out;
    st = write_entry(&disk, real, &d.entry, err);
    if (st == FRE_OK && receipt) {
        memcpy(receipt->id, d.id, sizeof receipt->id);
        receipt->sum = sum;
    }
out:
    ledger_disk_free(&disk);
    if (lock >= 0)
        (void)close(lock); /* releases it */
    free(real);
    return st;
}

fre_status fre_ledger_conclude(const char *path, const char id[FRE_LEDGER_ID_BYTES], bool published,
                               fre_err *err)
{
    ledger_disk disk = {.book = NULL};
    json_t *mark = json_pack("{s:s}", published ? "published" : "failed", id);
    char *real = NULL;
    int lock = -1;
    fre_status st = mark ? ledger_resolve(&real, path, err) : ledger_no_memory(err);

    if (st == FRE_OK)
        st = ledger_lock(&lock, real, err);
    if (st == FRE_OK)
        st = ledger_load(&disk, real, err);
    if (st == FRE_OK && disk.book && disk.in_lines && ledger_entry_with(disk.book, id))
        st = ledger_add(&disk, real, mark, err);
    ledger_disk_free(&disk);
    json_decref(mark);
    if (lock >= 0)
        (void)close(lock);
    free(real);
    return st;
}

/* What check and compare do: draft the entry beside the book, and write nothing. */
static fre_status look(ledger_disk *disk, draft *d, const char *path, const fre_ledger_spend *spend,
                       fre_err *err)
{
    char *real = NULL;
    fre_status st = check_spend(spend, err);

    if (st == FRE_OK)
        st = ledger_resolve(&real, path, err);
    /* No lock: a line that is being written has no end yet. */
    if (st == FRE_OK)
        st = examine(disk, d, real, spend, err);
    free(real);
    return st;
}

fre_status fre_ledger_check(const char *path, const fre_ledger_spend *spend, fre_err *err)
{
    ledger_disk disk = {.book = NULL};
    fre_ledger_sum sum;
    draft d;
    fre_status st = look(&disk, &d, path, spend, err);

    if (st == FRE_OK)
        st = check_budget(&sum, disk.book, &d.entry, err);
    ledger_disk_free(&disk);
    return st;
}

static bool same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

static bool surely_same(const fre_ledger_entry *a, const fre_ledger_entry *b)
{
    return same(a->name, b->name) || same(a->content, b->content) || same(a->records, b->records);
}

fre_status fre_ledger_compare(fre_ledger_overlap *out, const char *path,
                              const fre_ledger_spend *spend, fre_err *err)
{
    ledger_disk disk = {.book = NULL};
    fre_ledger_overlap most = {.share = 0};
    fre_ledger_entry *e = NULL;
    size_t n = 0;
    draft d;
    fre_status st = look(&disk, &d, path, spend, err);
    bool known = false;

    if (st == FRE_OK)
        st = ledger_entries(&e, &n, disk.book, err);
    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        const double share = ledger_overlap(&d.entry, &e[i]);

        known = known || surely_same(&d.entry, &e[i]);
        if (share < FRE_LEDGER_OVERLAP || share <= most.share)
            continue;
        most.share = share;
        (void)snprintf(most.name, sizeof most.name, "%s", e[i].name ? e[i].name : "");
        (void)snprintf(most.date, sizeof most.date, "%.31s", e[i].date);
    }
    if (st == FRE_OK)
        *out = known ? (fre_ledger_overlap){.share = 0} : most;
    free(e);
    ledger_disk_free(&disk);
    return st;
}
