/* batches.c - texts to embeddings on all cores: token sequences are sorted by length, cut into batches of a
 * bounded number of tokens and handed to one model workspace a thread as they become free. */
#include "embed_private.h"

#include <stdlib.h>
#include <string.h>

/* Large enough to spread the reading of the weights, small enough to keep all cores busy at the
 * end of a call. */
#define BATCH_TOKENS 512u
#define TOKENISE_CHUNK 256u

/* Tokens of the texts [first, first + n) of a call. */
typedef struct chunk {
    int32_t *ids;
    size_t n, cap;
    fre_embed_stats stats;
} chunk;

typedef struct item {
    size_t text;
    const int32_t *ids;
    size_t offset; /* in its chunk, until the chunk stops growing */
    uint32_t len;
    uint8_t mark;
} item;

typedef struct call {
    fre_embedder *e;
    const char *const *text;
    const size_t *len;
    size_t n;
    chunk *chunk;
    item *item;
    size_t *batch; /* batch b: items batch[b] .. batch[b + 1] - 1 */
    size_t n_batches;
    float *out;
    fre_err err; /* of the first job that failed, guarded by e->lock */
    bool failed;
} call;

static void keep_error(call *c, const fre_err *err)
{
    (void)pthread_mutex_lock(&c->e->lock);
    if (!c->failed) {
        c->err = *err;
        c->failed = true;
    }
    (void)pthread_mutex_unlock(&c->e->lock);
}

static fre_status tokenise_one(const call *c, chunk *k, size_t i)
{
    const fre_embedder *e = c->e;
    size_t n = 0;
    uint8_t mark = 0;
    fre_status st = fre_grow((void **)&k->ids, &k->cap, k->n + e->max_tokens, sizeof *k->ids);

    if (st != FRE_OK)
        return st;
    st = embed_tokenise(e, k->ids + k->n, &n, &mark, c->text[i], c->len[i]);
    if (st != FRE_OK)
        return st;
    k->stats.texts++;
    k->stats.truncated += (mark & FRE_TEXT_TRUNCATED) != 0;
    k->stats.tokens += n;
    c->item[i].mark = mark;
    c->item[i].text = i;
    c->item[i].offset = k->n;
    c->item[i].len = (uint32_t)n;
    k->n += n;
    return n > 0 ? FRE_OK : FRE_E_INTERNAL;
}

static fre_status tokenise_chunk(void *ctx, uint64_t at)
{
    call *c = ctx;
    chunk *k = &c->chunk[at];
    size_t first = (size_t)at * TOKENISE_CHUNK;
    size_t end = c->n - first < TOKENISE_CHUNK ? c->n : first + TOKENISE_CHUNK;
    fre_status st = fre_interrupted() ? FRE_E_INTERRUPTED : FRE_OK;

    for (size_t i = first; i < end && st == FRE_OK; i++)
        st = tokenise_one(c, k, i);
    for (size_t i = first; i < end && st == FRE_OK; i++)
        c->item[i].ids = k->ids + c->item[i].offset;
    if (st != FRE_OK) {
        fre_err err;

        (void)fre_fail(&err, st, "a text cannot be embedded: %s",
                       st == FRE_E_DATA ? "it is not valid UTF-8" : fre_status_text(st));
        keep_error(c, &err);
    }
    return st;
}

static int by_length(const void *a, const void *b)
{
    const item *x = a, *y = b;

    if (x->len != y->len)
        return x->len > y->len ? -1 : 1; /* longest first: the tail of a call is short work */
    return (x->text > y->text) - (x->text < y->text);
}

/* Needs room for n + 1 entries. */
static void cut_batches(call *c)
{
    size_t tokens = 0;

    c->n_batches = 0;
    c->batch[0] = 0;
    for (size_t i = 0; i < c->n; i++) {
        size_t in_batch = i - c->batch[c->n_batches];

        if (in_batch > 0 &&
            (tokens + c->item[i].len > BATCH_TOKENS || in_batch == EMBED_BATCH_SEQS)) {
            c->batch[++c->n_batches] = i;
            tokens = 0;
        }
        tokens += c->item[i].len;
    }
    c->batch[++c->n_batches] = c->n;
}

static fre_model_ctx *borrow(fre_embedder *e)
{
    fre_model_ctx *x = NULL;

    (void)pthread_mutex_lock(&e->lock);
    if (e->n_idle > 0)
        x = e->idle[--e->n_idle];
    (void)pthread_mutex_unlock(&e->lock);
    return x;
}

static void give_back(fre_embedder *e, fre_model_ctx *x)
{
    (void)pthread_mutex_lock(&e->lock);
    e->idle[e->n_idle++] = x;
    (void)pthread_mutex_unlock(&e->lock);
}

static fre_status encode_items(const call *c, fre_model_ctx *x, const item *it, uint32_t n,
                               fre_err *err)
{
    size_t dim = fre_model_info_view(c->e->model)->dim, tokens = 0, at = 0;
    uint32_t len[EMBED_BATCH_SEQS];
    int32_t *ids = NULL;
    float *rows = NULL;
    fre_status st = FRE_OK;

    for (uint32_t i = 0; i < n; i++)
        tokens += len[i] = it[i].len;
    ids = malloc(tokens * sizeof *ids);
    rows = malloc(n * dim * sizeof *rows);
    if (!ids || !rows) {
        st = fre_fail(err, FRE_E_NOMEM, "out of memory embedding texts");
        goto out;
    }
    for (uint32_t i = 0; i < n; i++) {
        memcpy(ids + at, it[i].ids, len[i] * sizeof *ids);
        at += len[i];
    }
    st = fre_model_encode(x, rows, ids, len, n, err);
    for (uint32_t i = 0; i < n && st == FRE_OK; i++)
        if (!(it[i].mark & FRE_TEXT_BLANK)) /* else its zeros stay */
            memcpy(c->out + it[i].text * dim, rows + i * dim, dim * sizeof *rows);
out:
    free(ids);
    free(rows);
    return st;
}

static fre_status encode_batch(void *ctx, uint64_t b)
{
    call *c = ctx;
    size_t first = c->batch[b], n = c->batch[b + 1] - first;
    fre_model_ctx *x = NULL;
    fre_err err = {.text = ""};
    fre_status st;

    if (fre_interrupted()) {
        st = fre_fail(&err, FRE_E_INTERRUPTED, "interrupted");
        goto out;
    }
    x = borrow(c->e);
    st = x ? encode_items(c, x, c->item + first, (uint32_t)n, &err)
           : fre_fail(&err, FRE_E_INTERNAL, "more workers than model workspaces");
out:
    if (x)
        give_back(c->e, x);
    if (st != FRE_OK)
        keep_error(c, &err);
    return st;
}

static void add_stats(fre_embedder *e, const call *c, size_t n_chunks)
{
    for (size_t i = 0; i < n_chunks; i++) {
        e->stats.texts += c->chunk[i].stats.texts;
        e->stats.truncated += c->chunk[i].stats.truncated;
        e->stats.tokens += c->chunk[i].stats.tokens;
    }
}

static fre_status run_call(call *c, size_t n_chunks)
{
    fre_status st = fre_parallel(c->e->threads, n_chunks, tokenise_chunk, c);

    if (st != FRE_OK)
        return st;
    qsort(c->item, c->n, sizeof *c->item, by_length);
    cut_batches(c);
    return fre_parallel(c->e->threads, c->n_batches, encode_batch, c);
}

fre_status embed_run(fre_embedder *e, float *rows, uint8_t *mark, const char *const *text,
                     const size_t *len, size_t n, fre_err *err)
{
    call c = {.e = e, .text = text, .len = len, .n = n, .out = rows};
    const size_t n_chunks = n / TOKENISE_CHUNK + (n % TOKENISE_CHUNK != 0);
    fre_status st = FRE_OK;

    c.chunk = calloc(n_chunks, sizeof *c.chunk);
    c.item = calloc(n, sizeof *c.item);
    c.batch = calloc(n + 1, sizeof *c.batch);
    if (!c.chunk || !c.item || !c.batch) {
        st = fre_fail(err, FRE_E_NOMEM, "out of memory embedding texts");
        goto out;
    }
    st = run_call(&c, n_chunks);
    if (st != FRE_OK) {
        (void)fre_fail(err, st, "%s", c.failed ? c.err.text : fre_status_text(st));
        goto out;
    }
    add_stats(e, &c, n_chunks);
    for (size_t i = 0; mark && i < n; i++)
        mark[c.item[i].text] = c.item[i].mark;
out:
    for (size_t i = 0; c.chunk && i < n_chunks; i++)
        fre_wipe_free(c.chunk[i].ids, c.chunk[i].cap * sizeof *c.chunk[i].ids);
    free(c.chunk);
    free(c.item);
    free(c.batch);
    return st;
}
