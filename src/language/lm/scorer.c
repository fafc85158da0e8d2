/* scorer.c - texts one after the other into scores in their order, and what they come to. */
#include <fre/lm.h>

#include <math.h>
#include <stdlib.h>

#define BATCH_TEXTS 8192u
#define BATCH_BYTES ((size_t)64 << 20) /* of texts, so that long ones do not pile up */
#define TEXT_MAX ((size_t)64 << 20)

struct fre_lm_scorer {
    fre_lm *lm; /* borrowed */
    fre_lm_text_fn *each;
    void *ctx;
    const fre_progress *progress;
    fre_buf bytes;
    size_t n;
    size_t at[BATCH_TEXTS], len[BATCH_TEXTS];
    const char *text[BATCH_TEXTS];
    fre_lm_score score[BATCH_TEXTS];
    double *nll; /* of the texts of two tokens or more */
    size_t n_nll, cap_nll;
    uint64_t texts, tokens, cut, expected;
};

fre_status fre_lm_scorer_new(fre_lm_scorer **out, fre_lm *lm, fre_lm_text_fn *each, void *ctx,
                             const fre_progress *progress, fre_err *err)
{
    fre_lm_scorer *s = calloc(1, sizeof *s);

    if (!s)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for a batch of texts");
    s->lm = lm;
    s->each = each;
    s->ctx = ctx;
    s->progress = progress;
    fre_buf_init(&s->bytes, BATCH_BYTES + TEXT_MAX);
    *out = s;
    return FRE_OK;
}

void fre_lm_scorer_free(fre_lm_scorer *s)
{
    if (!s)
        return;
    fre_buf_wipe(&s->bytes);
    fre_wipe_free(s->nll, s->cap_nll * sizeof *s->nll);
    fre_wipe_free(s, sizeof *s);
}

void fre_lm_scorer_expect(fre_lm_scorer *s, uint64_t texts)
{
    s->expected = texts;
}

fre_status fre_lm_scorer_add(fre_lm_scorer *s, const char *text, size_t len, fre_err *err)
{
    const size_t at = s->bytes.n;
    fre_status st = len > TEXT_MAX ? FRE_E_LIMIT : fre_buf_append(&s->bytes, text, len);

    if (st == FRE_E_LIMIT)
        return fre_fail(err, st, "a text is longer than %zu bytes", TEXT_MAX);
    if (st != FRE_OK)
        return fre_fail(err, st, "out of memory while reading texts");
    s->at[s->n] = at;
    s->len[s->n++] = len;
    return s->n == BATCH_TEXTS || s->bytes.n >= BATCH_BYTES ? fre_lm_scorer_flush(s, err) : FRE_OK;
}

static void on_progress(void *ctx, const char *phase, uint64_t done, uint64_t total)
{
    const fre_lm_scorer *s = ctx;
    const uint64_t least = s->texts + total;

    (void)phase;
    fre_progress_update(s->progress, "scoring", s->texts + done,
                        s->expected > least ? s->expected : least);
}

static fre_status keep_score(fre_lm_scorer *s, const fre_lm_score *score, fre_err *err)
{
    s->tokens += score->tokens;
    s->cut += score->cut;
    if (score->tokens < 2)
        return FRE_OK;
    if (fre_grow((void **)&s->nll, &s->cap_nll, s->n_nll + 1, sizeof *s->nll) != FRE_OK)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for the numbers of the texts");
    s->nll[s->n_nll++] = fre_lm_nll(score);
    return FRE_OK;
}

fre_status fre_lm_scorer_flush(fre_lm_scorer *s, fre_err *err)
{
    const fre_progress progress = {on_progress, s};
    fre_status st;

    for (size_t i = 0; i < s->n; i++)
        s->text[i] = (const char *)s->bytes.p + s->at[i];
    st = fre_lm_score_texts(s->lm, s->score, s->text, s->len, s->n, &progress, err);
    for (size_t i = 0; i < s->n && st == FRE_OK; i++) {
        st = keep_score(s, &s->score[i], err);
        if (st == FRE_OK && s->each)
            st = s->each(s->ctx, s->text[i], s->len[i], &s->score[i], err);
    }
    s->texts += s->n;
    s->n = 0;
    s->bytes.n = 0;
    return st;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

void fre_lm_scorer_summary(fre_lm_scorer *s, fre_lm_summary *out)
{
    double sum = 0, natural = 0, low, high;

    *out = (fre_lm_summary){.texts = s->texts,
                            .scored = s->n_nll,
                            .tokens = s->tokens,
                            .cut = s->cut,
                            .median_nll = (double)NAN,
                            .median_perplexity = (double)NAN,
                            .mean_nll = (double)NAN,
                            .natural = (double)NAN};
    if (s->n_nll == 0)
        return;
    qsort(s->nll, s->n_nll, sizeof *s->nll, by_value);
    for (size_t i = 0; i < s->n_nll; i++) {
        sum += s->nll[i];
        natural += s->nll[i] <= FRE_LM_NATURAL_NLL;
    }
    low = s->nll[(s->n_nll - 1) / 2];
    high = s->nll[s->n_nll / 2];
    out->median_nll = (low + high) / 2;
    out->median_perplexity = (exp(low) + exp(high)) / 2;
    out->mean_nll = sum / (double)s->n_nll;
    out->natural = natural / (double)s->n_nll;
}
