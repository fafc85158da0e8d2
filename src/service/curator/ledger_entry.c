/* curator/ledger_entry.c - this run and the ledger.
 *
 * The entry is written when everything is read that can be refused, and before the first noise is drawn: whoever
 * ends a run after that has spent its budget, so that nobody can look at one outcome after the other (in a
 * debugger, by how long it takes, by what is shown of it) and keep the one they like.  A run that fails before
 * has drawn nothing but coins that nobody saw, and is not booked.  What became of the release is written
 * after it. */
#include "curator_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static fre_ledger_spend spend_of(const curator_run *r)
{
    return (fre_ledger_spend){
        .data_name = r->opts->data_name,
        .epsilon = fre_plan_certified_epsilon(&r->plan),
        .delta = r->plan.request.delta,
        .budget_epsilon = r->opts->budget_epsilon,
        .budget_delta = r->opts->budget_delta,
        .content = r->looked_at,
        .apart = r->apart,
        .what = r->opts->what ? r->opts->what : r->opts->output,
    };
}

/* Nobody asked for the ledger by name or by a budget: it must not cost the run. */
static bool may_go_without(const fre_curator_opts *o)
{
    return o->ledger_default && !(o->budget_epsilon > 0) && !(o->budget_delta > 0);
}

static void go_without(curator_run *r, fre_curator_result *rel, const char *sentence)
{
    r->in_ledger = false;
    rel->ledger_reason = "the ledger could not be written";
    (void)snprintf(rel->ledger_warning, sizeof rel->ledger_warning,
                   "this release is not in the ledger: %.440s", sentence);
}

/* One whose folder cannot be read may exist. */
static bool is_absent(const char *path)
{
    struct stat s;

    return lstat(path, &s) != 0 && errno == ENOENT;
}

/* A run that cannot be recorded is refused: the ledger may hold a budget, whether or not it can be
 * read or written. */
static fre_status refuse_unrecorded(fre_status st, const fre_err *why, fre_err *err)
{
    if (st == FRE_OK)
        return st;
    if (st != FRE_E_IO && st != FRE_E_DATA && st != FRE_E_LIMIT && st != FRE_E_NOINPUT)
        return fre_fail(err, st, "%s", why->text);
    return fre_fail(err, FRE_E_REFUSED,
                    "refused, because the ledger cannot record this run: %.440s", why->text);
}

static fre_status find_ledger(curator_run *r, fre_curator_result *rel, fre_err *err)
{
    const fre_curator_opts *o = r->opts;
    fre_err why = {.text = ""};
    fre_status st = FRE_OK;

    if (o->ledger_default)
        st = fre_ledger_default(&rel->ledger, !o->dry_run, &why);
    else if (!(rel->ledger = strdup(o->ledger)))
        st = fre_fail(&why, FRE_E_NOMEM, "out of memory");
    if (st == FRE_OK)
        st = fre_ledger_begin(&r->content, rel->ledger, !o->dry_run, &why);
    if (st == FRE_E_NOINPUT && may_go_without(o) && is_absent(rel->ledger)) {
        go_without(r, rel, why.text);
        return FRE_OK;
    }
    return refuse_unrecorded(st, &why, err);
}

/* The user's word on data that overlap with older ones: a name that is given, or an answer. */
static fre_status ask_about_overlap(curator_run *r, fre_curator_result *rel, fre_err *why)
{
    const fre_curator_opts *o = r->opts;
    const fre_ledger_spend spend = spend_of(r);
    fre_ledger_overlap found = {.share = 0};
    fre_status st = fre_ledger_compare(&found, rel->ledger, &spend, why);
    char older[240], share[FRE_PERCENT_BYTES];

    if (st != FRE_OK || !(found.share > 0))
        return st;
    fre_percent(share, found.share);
    if (!o->data_name && o->same_data && !r->asked)
        r->apart = !o->same_data(o->same_data_ctx, &found);
    r->asked = true;
    if (found.name[0])
        (void)snprintf(older, sizeof older, "'%s'", found.name);
    else
        (void)snprintf(older, sizeof older, "data released on %.10s", found.date);
    (void)snprintf(rel->ledger_note, sizeof rel->ledger_note,
                   "about %s of this data's texts, users or embeddings are also in %s: %s", share,
                   older,
                   o->data_name || r->apart
                       ? "counted apart, as you say, so what both cost does not add up"
                       : "counted as the same data (other data? give them a {data_name})");
    return FRE_OK;
}

fre_status curator_ledger_look(curator_run *r, fre_curator_result *rel,
                               const fre_ledger_content *content, fre_err *err)
{
    fre_ledger_spend spend;
    fre_err why = {.text = ""};
    fre_status st;

    if (!r->in_ledger)
        return FRE_OK;
    r->looked_at = content;
    st = content ? ask_about_overlap(r, rel, &why) : FRE_OK;
    spend = spend_of(r);
    if (st == FRE_OK)
        st = fre_ledger_check(rel->ledger, &spend, &why);
    r->looked_at = NULL;
    return refuse_unrecorded(st, &why, err);
}

fre_status curator_ledger_check(curator_run *r, fre_curator_result *rel, fre_err *err)
{
    const fre_curator_opts *o = r->opts;
    const bool uncertified = isinf(fre_plan_certified_epsilon(&r->plan)) && !r->no_noise;
    const bool not_private = r->no_noise || o->seeded || uncertified;
    fre_status st;

    rel->ledger_reason = "no ledger was kept";
    if (!o->ledger && !o->ledger_default)
        return FRE_OK;
    if (not_private && !may_go_without(o))
        return fre_fail(err, FRE_E_USAGE, "{ledger} cannot account for %s, which is not private",
                        r->no_noise   ? "{epsilon} inf"
                        : uncertified ? "a plan of the paper's accountant that nothing certifies"
                                      : "a run with {seed}");
    if (not_private) {
        rel->ledger_reason = "a run that is not private spends no budget";
        return FRE_OK;
    }
    r->in_ledger = true;
    st = find_ledger(r, rel, err);
    return st == FRE_OK && o->data_name ? curator_ledger_look(r, rel, NULL, err) : st;
}

fre_status curator_ledger_record(curator_run *r, fre_curator_result *rel, fre_err *err)
{
    fre_ledger_spend spend = spend_of(r);
    fre_err why = {.text = ""};
    fre_status st;

    if (!r->in_ledger)
        return FRE_OK;
    spend.content = &r->content;
    st = fre_ledger_record(&rel->receipt, rel->ledger, &spend, &why);
    rel->recorded = st == FRE_OK;
    return refuse_unrecorded(st, &why, err);
}

void curator_ledger_conclude(fre_curator_result *rel, fre_status st, fre_err *err)
{
    char epsilon[FRE_DIGITS_BYTES];
    fre_err why = {.text = ""};

    if (!rel->recorded)
        return;
    if (fre_ledger_conclude(rel->ledger, rel->receipt.id, st == FRE_OK, &why) != FRE_OK &&
        st == FRE_OK)
        (void)snprintf(
            rel->ledger_note, sizeof rel->ledger_note,
            "the release is complete and recorded, but the ledger does not say so: %.400s",
            why.text);
    if (st == FRE_OK || !err)
        return;
    why = *err;
    (void)snprintf(err->text, sizeof err->text,
                   "%.400s; the ledger has already recorded epsilon %s", why.text,
                   fre_digits_up(epsilon, 6, fre_plan_certified_epsilon(&rel->plan)));
}
