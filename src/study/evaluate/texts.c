/* evaluate/texts.c - what is told of the texts of each set: diversity, lengths, language; and MAUVE of its
 * rows. */
#include "evaluate_private.h"

#include <math.h>
#include <stdlib.h>

#define MAUVE_LEAST 20u

/* ---- words ---------------------------------------------------------------------------------------------- */

static fre_status tell_words(evaluate_run *r, fre_evaluate_set at)
{
    fre_set_texts *t = &r->e->texts[at];
    evaluate_words w;
    fre_status st = evaluate_words_read(&w, &r->set[at]);

    if (st != FRE_OK)
        return st;
    st = evaluate_diversity_find(&t->diversity, &r->set[at], &w);
    if (st == FRE_OK)
        st = evaluate_lengths_find(&t->words, &t->characters, &w);
    if (st == FRE_OK && at == FRE_SET_PARAPHRASED)
        st = evaluate_self_bleu_within(&r->e->self_bleu_within, &w, r->synthetic.place.owner,
                                       r->synthetic.n_texts);
    evaluate_words_wipe(&w);
    return st;
}

/* ---- language ------------------------------------------------------------------------------------------- */

/* A model that cannot be had costs its metric alone. */
static fre_status open_language_model(evaluate_base *b, fre_evaluation *e, fre_err *err)
{
    const char *path = b->opts->language_model;
    const fre_lm_opts o = {.path = path && strcmp(path, "default") == 0 ? NULL : path,
                           .threads = b->opts->threads,
                           .parts = FRE_LM_REST};
    fre_err why;
    fre_status st;

    if (!path) {
        evaluate_leave_out(e, "language",
                           "no language model is named: {language_model} FILE, "
                           "or default for the usual one");
        return FRE_OK;
    }
    if (b->lm)
        return FRE_OK;
    st = fre_lm_open(&b->lm, &o, &why);
    if (st == FRE_E_NOINPUT || st == FRE_E_MODEL || st == FRE_E_DATA) {
        evaluate_leave_out(e, "language", "%s", why.text);
        return FRE_OK;
    }
    return st == FRE_OK ? st : fre_fail(err, st, "%s", why.text);
}

static fre_status tell_language(evaluate_run *r, fre_err *err)
{
    fre_evaluation *e = r->e;
    fre_status st = open_language_model(r->base, e, err);

    if (st != FRE_OK || !r->base->lm)
        return st;
    e->has_language = true;
    (void)snprintf(e->language_model, sizeof e->language_model, "%s",
                   fre_lm_info(r->base->lm)->name);
    for (int at = 0; st == FRE_OK && at < FRE_SETS; at++)
        if (e->has_texts[at])
            st = evaluate_language_find(&e->texts[at].language, r->base->lm, r->base, &r->set[at],
                                        err);
    return st;
}

/* ---- MAUVE ---------------------------------------------------------------------------------------------- */

static fre_status tell_mauve(evaluate_run *r)
{
    const evaluate_base *b = r->base;
    const size_t size = r->e->reference_size;
    evaluate_half real;
    fre_status st = evaluate_half_list(&real, b, r->halves.other, r->halves.frequent.n > 0);

    if (st != FRE_OK)
        return st;
    for (int at = 0; st == FRE_OK && at < FRE_SETS; at++)
        if (r->e->has[at])
            st = evaluate_mauve_find(&r->e->mauve[at], b, &r->set[at], &real, size);
    if (size < MAUVE_LEAST || real.n < MAUVE_LEAST)
        evaluate_leave_out(r->e, "mauve",
                           "histograms of fewer than %u texts on a side tell nothing", MAUVE_LEAST);
    free(real.row);
    return st;
}

/* Nothing to measure leaves many numbers undefined: one reason for all of them. */
static void tell_none(evaluate_run *r)
{
    if (r->has_release && r->release.n == 0)
        evaluate_leave_out(r->e, "text", "no cell was released: there is no text and no centroid");
    else if (r->synthetic.place.n == 0)
        evaluate_leave_out(r->e, "text", "there is no synthetic text");
}

fre_status evaluate_texts_find(evaluate_run *r, fre_err *err)
{
    fre_status st = FRE_OK;

    tell_none(r);
    r->e->self_bleu_within = (double)NAN;
    for (int at = 0; at < FRE_SETS; at++)
        r->e->has_texts[at] = r->e->has[at] && r->set[at].text != NULL;
    if (r->base->from_npy)
        evaluate_leave_out(r->e, "diversity",
                           "the originals are embeddings: their own texts are not known");
    for (int at = 0; st == FRE_OK && at < FRE_SETS; at++)
        if (r->e->has_texts[at])
            st = tell_words(r, (fre_evaluate_set)at);
    if (st == FRE_OK)
        st = tell_mauve(r);
    return st == FRE_OK ? tell_language(r, err) : evaluate_with_text(err, st);
}
