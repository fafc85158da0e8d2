/* Scores of texts: token sequences are sorted, so that those with common leading tokens come
 * together and equal ones are run once, then cut into batches that the threads share. */
#include "lm_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOKENISE_CHUNK 64u

/* One text; its ids have room for the begin token in front. */
typedef struct item {
    int32_t *ids;
    uint32_t n; /* with the begin token */
    bool cut;
} item;

typedef struct call {
    fre_lm *lm;
    const char *const *text;
    const size_t *len;
    size_t n;
    item *item;
    const item **order; /* sorted */
    size_t *batch;      /* batch b: order[batch[b]] .. order[batch[b + 1] - 1] */
    size_t n_batches;
    fre_lm_score *out; /* in the order of the texts */
    const fre_progress *progress;
    uint64_t done; /* texts, guarded by lm->lock */
    fre_err err;   /* of the first job that failed, guarded by lm->lock */
    bool failed;
} call;

static void keep_error(call *c, const fre_err *err)
{
    (void)pthread_mutex_lock(&c->lm->lock);
    if (!c->failed) {
        c->err = *err;
        c->failed = true;
    }
    (void)pthread_mutex_unlock(&c->lm->lock);
}

static fre_status tokenise_one(const call *c, size_t i)
{
    const fre_lm *lm = c->lm;
    item *it = &c->item[i];
    size_t most = lm->max_tokens - 1, bytes, n;
    fre_status st;

    bytes = fre_model_cut(c->text[i], c->len[i], most * LM_TOKEN_BYTES);
    n = bytes < most ? bytes : most; /* no token is empty, but a tokenizer may add a space */
    n = n + 2 < most ? n + 2 : most;
    it->ids = malloc((n + 1) * sizeof *it->ids);
    if (!it->ids)
        return FRE_E_NOMEM;
    most = n;
    st = fre_model_tokenize(lm->model, it->ids + 1, &n, c->text[i], bytes, false);
    if (st != FRE_OK)
        return st;
    it->cut = n > most || bytes < c->len[i];
    it->ids[0] = lm->begin;
    it->n = 1 + (uint32_t)(n < most ? n : most);
    return FRE_OK;
}

static fre_status tokenise(void *ctx, uint64_t at)
{
    call *c = ctx;
    size_t first = (size_t)at * TOKENISE_CHUNK;
    size_t end = c->n - first < TOKENISE_CHUNK ? c->n : first + TOKENISE_CHUNK;
    fre_status st = fre_interrupted() ? FRE_E_INTERRUPTED : FRE_OK;

    for (size_t i = first; i < end && st == FRE_OK; i++) {
        st = tokenise_one(c, i);
        if (st != FRE_OK) {
            fre_err err;

            (void)fre_fail(&err, st, "text %zu cannot be scored: %s", i + 1,
                           st == FRE_E_DATA ? "it is not valid UTF-8" : fre_status_text(st));
            keep_error(c, &err);
        }
    }
    return st;
}

static int by_tokens(const void *a, const void *b)
{
    const item *x = *(const item *const *)a, *y = *(const item *const *)b;
    uint32_t n = x->n < y->n ? x->n : y->n;

    for (uint32_t i = 0; i < n; i++)
        if (x->ids[i] != y->ids[i])
            return x->ids[i] < y->ids[i] ? -1 : 1;
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    return (x > y) - (x < y); /* items of one array: the order of the texts */
}

static bool same(const item *x, const item *y)
{
    return x->n == y->n && memcmp(x->ids, y->ids, x->n * sizeof *x->ids) == 0;
}

/* Equal texts stay in one batch, where they count once.  Needs room for n + 1 entries. */
static void cut_batches(call *c)
{
    const fre_lm *lm = c->lm;
    uint64_t all = 0, share, tokens = 0;

    for (size_t i = 0; i < c->n; i++)
        if (i == 0 || !same(c->order[i - 1], c->order[i]))
            all += c->order[i]->n;
    share = (all + lm->threads - 1) / lm->threads;
    if (share < 32)
        share = 32; /* below, the weights are read for too few rows */
    if (share > LM_BATCH_TOKENS)
        share = LM_BATCH_TOKENS;
    c->n_batches = 0;
    c->batch[0] = 0;
    for (size_t i = 0; i < c->n; i++) {
        bool repeated = i > 0 && same(c->order[i - 1], c->order[i]);

        if (repeated)
            continue;
        if (tokens > 0 && tokens + c->order[i]->n > share) {
            c->batch[++c->n_batches] = i;
            tokens = 0;
        }
        tokens += c->order[i]->n;
    }
    c->batch[++c->n_batches] = c->n;
}

/* The distinct sequences of a batch without their first `skip` tokens. */
typedef struct batch {
    int32_t *ids;
    uint32_t *len;
    double *logp, *end;
    uint32_t n;
} batch;

static fre_status make_batch(batch *b, size_t n, size_t tokens)
{
    b->ids = malloc((tokens + 1) * sizeof *b->ids);
    b->len = malloc(n * sizeof *b->len);
    b->logp = malloc((tokens + 1) * sizeof *b->logp);
    b->end = malloc(n * sizeof *b->end);
    return b->ids && b->len && b->logp && b->end ? FRE_OK : FRE_E_NOMEM;
}

static void wipe_batch(batch *b, size_t tokens)
{
    if (b->ids)
        fre_wipe(b->ids, (tokens + 1) * sizeof *b->ids);
    free(b->ids);
    free(b->len);
    free(b->logp);
    free(b->end);
}

/* One part of the scores of a batch.  Without the begin token a text of fewer than two tokens has
 * nothing to run. */
static fre_status run_part(const call *c, fre_model_ctx *x, batch *b, const item *const *order,
                           size_t n, bool whole, fre_err *err)
{
    uint32_t skip = whole ? 0 : 1;
    size_t at = 0, q = 0;
    fre_status st;

    b->n = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t len = order[i]->n - skip;

        if ((i > 0 && same(order[i - 1], order[i])) || (!whole && len < 2))
            continue;
        memcpy(b->ids + at, order[i]->ids + skip, len * sizeof *b->ids);
        b->len[b->n++] = len;
        at += len;
    }
    if (b->n == 0)
        return FRE_OK;
    st = fre_model_score(x, b->logp, whole ? b->end : NULL, b->ids, b->len, b->n, err);
    at = 0;
    for (size_t i = 0; i < n && st == FRE_OK; i++) {
        fre_lm_score *out = &c->out[order[i] - c->item];
        double sum = 0;

        if (i > 0 && same(order[i - 1], order[i])) {
            const fre_lm_score *equal = &c->out[order[i - 1] - c->item];

            *(whole ? &out->logp : &out->logp_rest) = whole ? equal->logp : equal->logp_rest;
            continue;
        }
        if (!whole && order[i]->n - skip < 2)
            continue;
        for (uint32_t t = 1; t < b->len[q]; t++)
            sum += b->logp[at + t];
        at += b->len[q];
        *(whole ? &out->logp : &out->logp_rest) = whole ? sum + b->end[q] : sum;
        q++;
    }
    return st;
}

static void report(call *c, size_t n)
{
    (void)pthread_mutex_lock(&c->lm->lock);
    c->done += n;
    fre_progress_update(c->progress, "score", c->done, c->n);
    (void)pthread_mutex_unlock(&c->lm->lock);
}

static fre_status run_batch(void *ctx, uint64_t at)
{
    call *c = ctx;
    const item *const *order = c->order + c->batch[at];
    size_t n = c->batch[at + 1] - c->batch[at], tokens = 0;
    fre_model_ctx *x = lm_borrow(c->lm);
    batch b = {0};
    fre_err err = {.text = ""};
    fre_status st;

    for (size_t i = 0; i < n; i++)
        tokens += i > 0 && same(order[i - 1], order[i]) ? 0 : order[i]->n;
    st = x ? make_batch(&b, n, tokens) : FRE_E_INTERNAL;
    if (st != FRE_OK)
        (void)fre_fail(&err, st, "%s scoring texts", fre_status_text(st));
    if (st == FRE_OK && c->lm->parts != FRE_LM_WHOLE)
        st = run_part(c, x, &b, order, n, false, &err);
    if (st == FRE_OK && c->lm->parts != FRE_LM_REST)
        st = run_part(c, x, &b, order, n, true, &err);
    if (x)
        lm_give_back(c->lm, x);
    if (st == FRE_OK)
        report(c, n);
    else
        keep_error(c, &err);
    wipe_batch(&b, tokens);
    return st;
}

static fre_status run(call *c)
{
    const fre_lm_parts parts = c->lm->parts;
    size_t chunks = c->n / TOKENISE_CHUNK + (c->n % TOKENISE_CHUNK != 0);
    fre_status st = fre_parallel(c->lm->threads, chunks, tokenise, c);

    if (st != FRE_OK)
        return st;
    for (size_t i = 0; i < c->n; i++) {
        c->order[i] = &c->item[i];
        c->out[i] = (fre_lm_score){.logp_rest = parts == FRE_LM_WHOLE ? NAN : 0,
                                   .logp = parts == FRE_LM_REST ? NAN : 0,
                                   .tokens = c->item[i].n - 1,
                                   .cut = c->item[i].cut};
    }
    qsort(c->order, c->n, sizeof *c->order, by_tokens);
    cut_batches(c);
    report(c, 0);
    return fre_parallel(c->lm->threads, c->n_batches, run_batch, c);
}

fre_status fre_lm_score_texts(fre_lm *lm, fre_lm_score *out, const char *const *text,
                              const size_t *len, size_t n, const fre_progress *progress,
                              fre_err *err)
{
    call c = {.lm = lm, .text = text, .len = len, .n = n, .progress = progress};
    fre_status st = FRE_E_NOMEM;

    if (!lm || (n > 0 && (!out || !text || !len)))
        return fre_fail(err, FRE_E_ARG, "fre_lm_score_texts needs texts and room for scores");
    if (n == 0)
        return FRE_OK;
    c.item = calloc(n, sizeof *c.item);
    c.order = calloc(n, sizeof(item *));
    c.batch = calloc(n + 1, sizeof *c.batch);
    c.out = calloc(n, sizeof *c.out);
    if (c.item && c.order && c.batch && c.out)
        st = run(&c);
    if (st == FRE_OK)
        memcpy(out, c.out, n * sizeof *out);
    else
        (void)fre_fail(err, st, "%s", c.failed ? c.err.text : fre_status_text(st));
    for (size_t i = 0; c.item && i < n; i++) {
        if (c.item[i].ids)
            fre_wipe(c.item[i].ids, c.item[i].n * sizeof *c.item[i].ids);
        free(c.item[i].ids);
    }
    free(c.item);
    free(c.order);
    free(c.batch);
    free(c.out);
    return st;
}

double fre_lm_nll(const fre_lm_score *s)
{
    return s->tokens < 2 ? (double)NAN : -s->logp_rest / (double)(s->tokens - 1);
}
