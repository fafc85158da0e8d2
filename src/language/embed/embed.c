/* Texts to embeddings on all cores: token sequences are sorted by length, cut into batches of a
 * bounded number of tokens and handed to one model workspace a thread as they become free. */
#include <fre/embed.h>

#include <ctype.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* More of a text hardly reaches its embedding, which reads some hundred tokens, but would cost time
 * to tokenise; a longer text counts as truncated. */
#define TEXT_BYTES_MAX 65536u
/* Large enough to spread the reading of the weights, small enough to keep all cores busy at the
 * end of a call. */
#define BATCH_TOKENS 512u
#define BATCH_SEQS 64u
#define TOKENISE_CHUNK 256u
#define THREADS_MAX 1024u

struct fre_embedder {
    fre_model *model;
    char *path;
    uint32_t threads, max_tokens;
    uint32_t specials;    /* tokens of the empty text */
    fre_model_ctx **idle; /* stack of free workspaces, guarded by lock */
    uint32_t n_idle, n_ctx;
    pthread_mutex_t lock;
    fre_embed_stats stats;
    bool has_languages; /* opened, when marks were first wanted; both may be NULL even so */
    fre_prior *prior;
    fre_languages *languages;
};

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

static fre_status chunk_reserve(chunk *k, size_t more)
{
    size_t cap = k->cap ? k->cap : 4096;
    int32_t *p;

    while (cap - k->n < more)
        cap *= 2;
    if (cap == k->cap)
        return FRE_OK;
    p = realloc(k->ids, cap * sizeof *p);
    if (!p)
        return FRE_E_NOMEM;
    k->ids = p;
    k->cap = cap;
    return FRE_OK;
}

/* Marks that the tokens tell; the specials among them are neither unknown, signs nor inside. */
static uint8_t mark_of(const fre_embedder *e, const int32_t *ids, size_t n)
{
    const size_t own = n > e->specials ? n - e->specials : 0;
    size_t unknown = 0, signs = 0, inside = 0;

    for (size_t j = 0; j < n; j++) {
        unknown += fre_model_is_unknown(e->model, ids[j]);
        signs += fre_model_is_sign(e->model, ids[j]);
        inside += fre_model_is_inside(e->model, ids[j]);
    }
    if (own == 0)
        return FRE_TEXT_EMPTY;
    if (unknown > 0 && unknown + signs == own)
        return FRE_TEXT_UNKNOWN | FRE_TEXT_FOREIGN;
    return 2 * (unknown + inside) >= own ? FRE_TEXT_FOREIGN : 0;
}

/* Bytes of the character at s: a word of its own, or `*inside` one. */
static size_t character(const char *s, size_t n, bool *inside)
{
    const unsigned char c = (unsigned char)s[0];
    const size_t bytes = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    uint32_t code;

    *inside = c >= 0x80 || isalnum(c);
    if (bytes == 3 && n >= 3) {
        code =
            (c & 0x0fu) << 12 | ((unsigned char)s[1] & 0x3fu) << 6 | ((unsigned char)s[2] & 0x3fu);
        *inside = !((code >= 0x3400 && code <= 0x4dbf) || (code >= 0x4e00 && code <= 0x9fff) ||
                    (code >= 0xf900 && code <= 0xfaff));
    }
    return bytes < n ? bytes : n;
}

static size_t word_length(const char *s, size_t n)
{
    bool inside;
    size_t at = character(s, n, &inside);

    while (inside && at < n) {
        const size_t more = character(s + at, n - at, &inside);

        at += inside ? more : 0;
    }
    return at;
}

/* *tokens: how many, specials aside. */
static fre_status has_unknown(const fre_embedder *e, bool *out, size_t *tokens, const char *text,
                              size_t len)
{
    const size_t cap = len + 1;
    size_t n = cap;
    int32_t *ids = malloc(cap * sizeof *ids);
    fre_status st = ids ? fre_model_tokenize(e->model, ids, &n, text, len, false) : FRE_E_NOMEM;

    *out = false;
    for (size_t i = 0; st == FRE_OK && i < n && i < cap; i++)
        *out = *out || fre_model_is_unknown(e->model, ids[i]);
    *tokens = n;
    free(ids);
    return st;
}

fre_status fre_embedder_mark_unknown(const fre_embedder *e, fre_buf *out, size_t *unknown,
                                     const char *text, size_t len, char mark)
{
    size_t tokens = 0;
    bool any;
    fre_status st = has_unknown(e, &any, &tokens, text, len);

    *unknown = tokens == 0;
    if (st != FRE_OK || tokens == 0)
        return st == FRE_OK ? fre_buf_append(out, &mark, 1) : st;
    if (!any)
        return fre_buf_append(out, text, len);
    for (size_t at = 0; at < len && st == FRE_OK;) {
        const size_t n = word_length(text + at, len - at);
        bool strange;

        st = has_unknown(e, &strange, &tokens, text + at, n);
        *unknown += strange;
        if (st == FRE_OK)
            st = strange ? fre_buf_append(out, &mark, 1) : fre_buf_append(out, text + at, n);
        at += n;
    }
    return st;
}

/* The tokens that are read of a text, *n <= max_tokens, for which ids has room. */
static fre_status tokenise(const fre_embedder *e, int32_t *ids, size_t *n, uint8_t *mark,
                           const char *text, size_t len)
{
    const size_t bytes = fre_model_cut(text, len, TEXT_BYTES_MAX);
    fre_status st;

    *n = e->max_tokens;
    st = fre_model_tokenize(e->model, ids, n, text, bytes, true);
    if (st != FRE_OK)
        return st;
    *mark = *n > e->max_tokens || bytes < len ? FRE_TEXT_TRUNCATED : 0;
    if (*n > e->max_tokens)
        *n = e->max_tokens;
    *mark |= mark_of(e, ids, *n);
    return FRE_OK;
}

fre_status fre_embedder_look(const fre_embedder *e, uint8_t *mark, const char *text, size_t len)
{
    int32_t *ids = malloc(e->max_tokens * sizeof *ids);
    size_t n = 0;
    fre_status st = ids ? tokenise(e, ids, &n, mark, text, len) : FRE_E_NOMEM;

    free(ids);
    return st;
}

fre_status fre_embedder_kind(void *ctx, fre_survey_kind *out, const char *text, size_t len)
{
    uint8_t mark = 0;
    const fre_status st = fre_embedder_look(ctx, &mark, text, len);

    *out = mark & FRE_TEXT_EMPTY     ? FRE_SURVEY_EMPTY
           : mark & FRE_TEXT_UNKNOWN ? FRE_SURVEY_UNKNOWN
                                     : FRE_SURVEY_WORDS;
    return st;
}

static fre_status tokenise_one(const call *c, chunk *k, size_t i)
{
    const fre_embedder *e = c->e;
    size_t n = 0;
    uint8_t mark = 0;
    fre_status st = chunk_reserve(k, e->max_tokens);

    if (st != FRE_OK)
        return st;
    st = tokenise(e, k->ids + k->n, &n, &mark, c->text[i], c->len[i]);
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

        if (in_batch > 0 && (tokens + c->item[i].len > BATCH_TOKENS || in_batch == BATCH_SEQS)) {
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
    uint32_t len[BATCH_SEQS];
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
        if (!(it[i].mark & FRE_TEXT_BLANK)) /* else the zeros that are there */
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

fre_status fre_embedder_check_rows(const fre_embedder *e, const fre_npy *rows, const char *path,
                                   fre_err *err)
{
    const fre_model_info *info = fre_embedder_info(e);
    char hex[2 * FRE_HASH_BYTES + 1];

    if (!fre_npy_has_meta(rows) && fre_npy_is_piped(rows))
        return fre_fail(err, FRE_E_DATA,
                        "%s is a pipe, which has no sidecar that names the embedder; give the .npy "
                        "file itself, with the X.npy.json of `fre-e2t embed` beside it",
                        path);
    if (!fre_npy_has_meta(rows))
        return fre_fail(err, FRE_E_DATA,
                        "%s has no sidecar %s.json, so the embedder that made it is unknown; make "
                        "it with `fre-e2t embed`",
                        path, path);
    fre_hex(hex, info->sha256, FRE_HASH_BYTES);
    if (strcmp(hex, fre_npy_meta_view(rows)->sha256) != 0 || info->dim != fre_npy_dim(rows))
        return fre_fail(err, FRE_E_DATA,
                        "%s was made by another embedder (%s); pass that one by "
                        "{embedder}",
                        path, fre_npy_meta_view(rows)->embedder);
    return FRE_OK;
}

void fre_text_counts_add(fre_text_counts *c, uint8_t mark, uint64_t records)
{
    c->records += records;
    c->empty += mark & FRE_TEXT_EMPTY ? records : 0;
    c->unknown += mark & FRE_TEXT_UNKNOWN ? records : 0;
    c->foreign += mark & FRE_TEXT_FOREIGN ? records : 0;
    c->truncated += mark & FRE_TEXT_TRUNCATED ? records : 0;
}

bool fre_text_counts_foreign(const fre_text_counts *c)
{
    return c->foreign > c->records / 5;
}

bool fre_embed_is_blank(const float *row, size_t dim)
{
    for (size_t i = 0; i < dim; i++)
        if (row[i] < 0 || row[i] > 0)
            return false;
    return true;
}

fre_status fre_embed_texts(fre_embedder *e, float *out, const char *const *text, const size_t *len,
                           size_t n, fre_err *err)
{
    return fre_embed_texts_marked(e, out, NULL, text, len, n, err);
}

/* A prior that does not fit is the inverter's to complain of. */
static fre_status open_languages(fre_embedder *e, fre_err *err)
{
    fre_embed_stats before = e->stats;
    fre_status st = FRE_OK;

    if (e->has_languages)
        return FRE_OK;
    e->has_languages = true;
    if (fre_prior_open_for(&e->prior, NULL, e->path, fre_embedder_info(e), NULL) == FRE_OK)
        st = fre_languages_new(&e->languages, e, e->prior, err);
    e->stats = before;
    return st;
}

/* Marks of all texts of a call that succeeded. */
static fre_status tell_marks(call *c, uint8_t *mark)
{
    const size_t dim = fre_model_info_view(c->e->model)->dim;

    for (size_t i = 0; i < c->n; i++) {
        item *it = &c->item[i];
        double score = -1;
        fre_status st = FRE_OK;

        if (c->e->languages && !(it->mark & (FRE_TEXT_BLANK | FRE_TEXT_FOREIGN)))
            st = fre_languages_score(c->e->languages, &score, c->out + it->text * dim, 0);
        if (st != FRE_OK)
            return st;
        if (score > FRE_LANGUAGES_FOREIGN)
            it->mark |= FRE_TEXT_FOREIGN;
        mark[it->text] = it->mark;
    }
    return FRE_OK;
}

/* mark may be NULL. */
static fre_status run_call(call *c, size_t n_chunks, uint8_t *mark)
{
    fre_status st = fre_parallel(c->e->threads, n_chunks, tokenise_chunk, c);

    if (st == FRE_OK) {
        qsort(c->item, c->n, sizeof *c->item, by_length);
        cut_batches(c);
        st = fre_parallel(c->e->threads, c->n_batches, encode_batch, c);
    }
    return st == FRE_OK && mark ? tell_marks(c, mark) : st;
}

fre_status fre_embed_texts_marked(fre_embedder *e, float *out, uint8_t *mark,
                                  const char *const *text, const size_t *len, size_t n,
                                  fre_err *err)
{
    call c = {.e = e, .text = text, .len = len, .n = n};
    size_t n_chunks = n / TOKENISE_CHUNK + (n % TOKENISE_CHUNK != 0), floats;
    fre_status st = FRE_OK;

    if (!e || (n > 0 && (!out || !text || !len)))
        return fre_fail(err, FRE_E_ARG, "fre_embed_texts needs texts and room for their rows");
    if (n == 0)
        return FRE_OK;
    if (mark) {
        st = open_languages(e, err);
        if (st != FRE_OK)
            return st;
    }
    if (n > SIZE_MAX / sizeof(float) / fre_model_info_view(e->model)->dim)
        return fre_fail(err, FRE_E_ARG, "too many texts in one call");
    floats = n * fre_model_info_view(e->model)->dim;
    c.chunk = calloc(n_chunks, sizeof *c.chunk);
    c.item = calloc(n, sizeof *c.item);
    c.batch = calloc(n + 1, sizeof *c.batch);
    c.out = calloc(floats, sizeof *c.out); /* out is written on success only */
    if (!c.chunk || !c.item || !c.batch || !c.out) {
        st = fre_fail(err, FRE_E_NOMEM, "out of memory embedding texts");
        goto out;
    }
    st = run_call(&c, n_chunks, mark);
    if (st == FRE_OK) {
        memcpy(out, c.out, floats * sizeof *out);
        add_stats(e, &c, n_chunks);
    } else {
        (void)fre_fail(err, st, "%s", c.failed ? c.err.text : fre_status_text(st));
    }
out:
    for (size_t i = 0; c.chunk && i < n_chunks; i++) {
        if (c.chunk[i].ids)
            fre_wipe(c.chunk[i].ids, c.chunk[i].cap * sizeof *c.chunk[i].ids);
        free(c.chunk[i].ids);
    }
    free(c.chunk);
    free(c.item);
    free(c.batch);
    free(c.out);
    return st;
}

static fre_status open_contexts(fre_embedder *e, fre_err *err)
{
    e->idle = calloc(e->threads, sizeof(fre_model_ctx *));
    if (!e->idle)
        return fre_fail(err, FRE_E_NOMEM, "out of memory opening the embedder");
    while (e->n_ctx < e->threads) {
        fre_status st =
            fre_model_ctx_new(&e->idle[e->n_ctx], e->model, e->max_tokens, BATCH_SEQS, err);

        if (st != FRE_OK)
            return st;
        e->n_idle = ++e->n_ctx;
    }
    return FRE_OK;
}

fre_status fre_embedder_new(fre_embedder **out, const fre_embedder_opts *opts, fre_err *err)
{
    fre_embedder *e = NULL;
    char found[PATH_MAX];
    const char *path;
    size_t specials = 0;
    fre_status st = FRE_OK;

    if (!out || !opts || opts->threads == 0 || opts->threads > THREADS_MAX)
        return fre_fail(err, FRE_E_ARG, "an embedder needs 1..%u threads", THREADS_MAX);
    path = opts->path;
    if (!path) {
        st = fre_model_find(found, sizeof found, FRE_EMBEDDER_DEFAULT, err);
        if (st != FRE_OK)
            return st;
        path = found;
    }
    e = calloc(1, sizeof *e);
    if (!e)
        return fre_fail(err, FRE_E_NOMEM, "out of memory opening the embedder");
    if (pthread_mutex_init(&e->lock, NULL) != 0) {
        free(e);
        return fre_fail(err, FRE_E_NOMEM, "out of memory opening the embedder");
    }
    e->threads = opts->threads;
    e->path = strdup(path);
    st = e->path ? fre_model_open(&e->model, path, FRE_MODEL_EMBEDDER, err)
                 : fre_fail(err, FRE_E_NOMEM, "out of memory opening the embedder");
    if (st != FRE_OK)
        goto out;
    e->max_tokens = fre_model_info_view(e->model)->text_tokens;
    st = fre_model_tokenize(e->model, NULL, &specials, "", 0, true);
    if (st == FRE_OK)
        e->specials = (uint32_t)specials;
    if (st == FRE_OK)
        st = open_contexts(e, err);
    if (st != FRE_OK)
        goto out;
    *out = e;
    e = NULL; /* handed over */
out:
    fre_embedder_free(e);
    return st;
}

void fre_embedder_free(fre_embedder *e)
{
    if (!e)
        return;
    for (uint32_t i = 0; i < e->n_idle; i++) /* all are idle between calls */
        fre_model_ctx_free(e->idle[i]);
    free(e->idle);
    free(e->path);
    fre_languages_free(e->languages); /* borrows the prior */
    fre_prior_free(e->prior);
    fre_model_free(e->model);
    (void)pthread_mutex_destroy(&e->lock);
    free(e);
}

const fre_model_info *fre_embedder_info(const fre_embedder *e)
{
    return fre_model_info_view(e->model);
}

const char *fre_embedder_path(const fre_embedder *e)
{
    return e->path;
}

void fre_embed_get_stats(const fre_embedder *e, fre_embed_stats *out)
{
    *out = e->stats;
}
