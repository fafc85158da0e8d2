/* curator/booking.c - this run and the ledger.
 *
 * The entry is written when the release is computed and before its first file exists: a run that is
 * killed between the two has spent budget for nothing, and none has released anything for free. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static fre_ledger_spend spend_of(const curator_run *r)
{
    return (fre_ledger_spend){
        .input_path = r->opts->input,
        .data_name = r->opts->data_name,
        .epsilon = r->plan.request.epsilon,
        .delta = r->plan.request.delta,
        .budget_epsilon = r->opts->budget_epsilon,
        .budget_delta = r->opts->budget_delta,
        .what = r->opts->output,
    };
}

/* Nobody asked for the ledger by name or by a budget: it must not cost the run. */
static bool may_go_without(const fre_curator_opts *o)
{
    return o->ledger_default && !(o->budget_epsilon > 0) && !(o->budget_delta > 0);
}

static void go_without(curator_run *r, fre_release *rel, const char *reason, const char *sentence)
{
    r->books = false;
    rel->ledger_reason = reason;
    (void)snprintf(rel->ledger_warning, sizeof rel->ledger_warning,
                   "this release is not in the ledger: %.440s", sentence);
}

static const char unwritable[] = "the ledger could not be written";

/* A book that is there may hold a budget, whether or not it can be read or written. */
static bool may_go_on(const curator_run *r, const fre_release *rel, fre_status st)
{
    return st == FRE_E_IO && may_go_without(r->opts) && access(rel->ledger, F_OK) != 0;
}

static fre_status find_ledger(curator_run *r, fre_release *rel, fre_err *err)
{
    const fre_curator_opts *o = r->opts;
    fre_err why = {""};
    fre_status st;

    if (!o->ledger_default) {
        rel->ledger = strdup(o->ledger);
        return rel->ledger ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "out of memory");
    }
    st = fre_ledger_default(&rel->ledger, false, &why);
    if (st == FRE_E_IO && may_go_without(o)) {
        go_without(r, rel, unwritable, why.text);
        return FRE_OK;
    }
    return st == FRE_OK ? st : fre_fail(err, st, "%s", why.text);
}

static fre_status first_look(curator_run *r, fre_release *rel, fre_err *err)
{
    const fre_ledger_spend spend = spend_of(r);
    fre_err why = {""};
    fre_status st = fre_ledger_check(&r->print, rel->ledger, &spend, &why);

    if (may_go_on(r, rel, st)) {
        go_without(r, rel, unwritable, why.text);
        return FRE_OK;
    }
    return st == FRE_OK ? st : fre_fail(err, st, "%s", why.text);
}

fre_status curator_ledger_check(curator_run *r, fre_release *rel, fre_err *err)
{
    const fre_curator_opts *o = r->opts;
    const bool not_private = r->no_noise || o->seeded;
    fre_status st;

    rel->ledger_reason = "no ledger was kept";
    if (!o->ledger && !o->ledger_default)
        return FRE_OK;
    if (not_private && !may_go_without(o))
        return fre_fail(err, FRE_E_USAGE, "--ledger cannot account for %s, which is not private",
                        r->no_noise ? "--epsilon inf" : "a run with --seed");
    if (not_private) {
        rel->ledger_reason = "a run that is not private spends no budget";
        return FRE_OK;
    }
    r->books = true;
    if (may_go_without(o) && !o->data_name && fre_ledger_needs_name(o->input)) {
        go_without(r, rel, "its data had no name",
                   "its input can be read only once; name the data with --data-name NAME");
        return FRE_OK;
    }
    st = find_ledger(r, rel, err);
    return st == FRE_OK && r->books ? first_look(r, rel, err) : st;
}

fre_status curator_ledger_record(curator_run *r, fre_release *rel, fre_err *err)
{
    const fre_ledger_spend spend = spend_of(r);
    fre_err why = {""};
    char *place = NULL;
    fre_status st = FRE_OK;

    if (!r->books)
        return FRE_OK;
    if (r->opts->ledger_default) { /* its folders may be missing */
        st = fre_ledger_default(&place, true, &why);
        free(place);
    }
    if (st == FRE_OK)
        st = fre_ledger_record(&rel->receipt, &r->print, rel->ledger, &spend, &why);
    rel->recorded = st == FRE_OK;
    if (may_go_on(r, rel, st)) {
        go_without(r, rel, unwritable, why.text);
        return FRE_OK;
    }
    return st == FRE_OK ? st : fre_fail(err, st, "%s", why.text);
}

void curator_ledger_mourn(const fre_release *rel, fre_err *err)
{
    fre_err why;

    if (!rel->recorded || !err)
        return;
    why = *err;
    (void)snprintf(err->text, sizeof err->text, "%.400s; the ledger has already booked epsilon %g",
                   why.text, rel->plan.request.epsilon);
}
