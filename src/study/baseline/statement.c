/* baseline/statement.c - what a baseline's release claims, in sentences. */
#include "baseline_private.h"

#include <string.h>

bool baseline_is_private(const fre_baseline_opts *o)
{
    return !o->seeded && !(o->method == FRE_BASELINE_LDP_OUE && !o->domain);
}

static fre_status say_local(fre_buf *b, const fre_baseline_plan *p)
{
    char sigma[FRE_DIGITS_BYTES];

    return fre_buf_printf(
        b,
        "Local privacy: each user sends their embedding with Gaussian noise of standard deviation "
        "%s on each coordinate, and whatever their text is, any other would have been sent nearly "
        "as likely. Nobody else need be trusted; all that is released is made of what was sent.\n"
        "Who takes part is not protected.\n",
        fre_digits_down(sigma, 4, p->sigma));
}

static fre_status say_unary(fre_buf *b, const fre_baseline_opts *o, const fre_baseline_plan *p)
{
    char epsilon[FRE_DIGITS_BYTES], sigma[FRE_DIGITS_BYTES];
    fre_status st = fre_buf_printf(
        b,
        "Each user sends their cell by optimised unary encoding, which costs epsilon %s and is "
        "local: nobody need be trusted with it. A released cell's sum of embeddings carries "
        "Gaussian "
        "noise of standard deviation %s on each coordinate, for which whoever sums them is "
        "trusted.\n"
        "How many users take part is not protected.\n",
        fre_digits_up(epsilon, 4, p->count_epsilon), fre_digits_down(sigma, 4, p->sigma));

    if (st == FRE_OK && !o->domain)
        st = fre_buf_printf(
            b, "NOT PRIVATE: the cells that users report are those that the input occupies, as in "
               "the article; the list of them is not protected. With a public domain it is.\n");
    return st;
}

static fre_status say_central(fre_buf *b, const fre_baseline_opts *o, const fre_baseline_plan *p)
{
    char count[FRE_DIGITS_BYTES], sigma[FRE_DIGITS_BYTES];

    return fre_buf_printf(
        b,
        "A trusted curator sees all texts. The count of every occupied cell carries Gaussian noise "
        "of standard deviation %s, its sum of embeddings %s on each coordinate; cells whose noisy "
        "count is below %llu are not released.\n",
        fre_digits_down(count, 4, p->count_sigma), fre_digits_down(sigma, 4, p->sigma),
        (unsigned long long)o->plan.threshold);
}

static fre_status say_votes(fre_buf *b, const fre_baseline_opts *o, const fre_baseline_plan *p)
{
    char sigma[FRE_DIGITS_BYTES];

    return fre_buf_printf(
        b,
        "A trusted curator lets every user vote, %u times, for the nearest of texts that a public "
        "language model wrote; the counts of votes carry Gaussian noise of standard deviation %s. "
        "The language model sees nothing but these texts and which of them were kept.\n",
        (unsigned)o->evolution.rounds, fre_digits_down(sigma, 4, p->count_sigma));
}

static fre_status say_method(fre_buf *b, const fre_baseline_opts *o, const fre_baseline_plan *p)
{
    switch (o->method) {
    case FRE_BASELINE_LDP_EMBEDDING:
        return say_local(b, p);
    case FRE_BASELINE_LDP_OUE:
        return say_unary(b, o, p);
    case FRE_BASELINE_AUG_PE:
        return say_votes(b, o, p);
    case FRE_BASELINE_CENTRAL_DP:
        break;
    }
    return say_central(b, o, p);
}

/* What neighbours differ in. */
static const char *neighbours(const fre_baseline_opts *o)
{
    if (o->method == FRE_BASELINE_LDP_EMBEDDING || o->plan.adjacency == FRE_ADJACENCY_REPLACE)
        return "replaced by another";
    return o->method == FRE_BASELINE_LDP_OUE ? "replaced by none" : "added or removed";
}

static fre_status say_claim(fre_buf *b, const fre_baseline_opts *o, const fre_baseline_plan *p)
{
    const bool named = o->corpus.user_field || o->user_file;
    char epsilon[FRE_DIGITS_BYTES], delta[FRE_DIGITS_BYTES];

    return fre_buf_printf(b,
                          "Baseline %s, for comparison: (epsilon, delta)-differential privacy with "
                          "epsilon = %s and delta = %s for one %s, %s.\n",
                          fre_baseline_name(o->method), fre_digits_up(epsilon, 6, p->epsilon),
                          fre_digits_up(delta, 4, p->delta),
                          named ? "user, who counts with one text" : "record", neighbours(o));
}

/* With the end of the string. */
static fre_status say_rest(fre_buf *b, const fre_baseline_opts *o)
{
    const fre_status st =
        fre_buf_printf(b,
                       "The noise suffices whatever the texts are: embeddings are cut to the norm "
                       "bound. Nothing is claimed about texts that few hold beyond that.\n"
                       "It is in no ledger: published beside a release of the same texts, both "
                       "budgets are spent.\n%s",
                       o->seeded ? "NOT PRIVATE: a seed makes the noise repeatable, and whoever "
                                   "knows it can undo it.\n"
                                 : "");

    return st == FRE_OK ? fre_buf_append(b, "", 1) : st;
}

fre_status baseline_statement(char **out, const fre_baseline_opts *o, const fre_baseline_plan *p,
                              fre_err *err)
{
    fre_buf b;
    fre_status st;

    fre_buf_init(&b, 1u << 14);
    st = say_claim(&b, o, p);
    if (st == FRE_OK)
        st = say_method(&b, o, p);
    if (st == FRE_OK)
        st = say_rest(&b, o);
    *out = st == FRE_OK ? strdup((const char *)b.p) : NULL;
    fre_buf_wipe(&b);
    return *out ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "out of memory");
}
