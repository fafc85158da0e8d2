/* stream.c - texts one after the other into rows in their order, each distinct one of a batch embedded
 * once. */
#include <fre/embed.h>
#include <fre/map.h>

#include <stdlib.h>

#define BATCH_TEXTS 8192u
#define BATCH_BYTES ((size_t)64 << 20) /* of texts, so that long ones do not pile up */

struct fre_embed_stream {
    fre_embedder *embedder; /* borrowed */
    fre_embed_row_fn *row;
    void *ctx;
    fre_buf bytes;      /* of the batch's distinct texts, one after the other */
    fre_text_map texts; /* the batch's distinct texts */
    size_t n_rows;
    uint32_t row_text[BATCH_TEXTS]; /* which of them a row is of */
    size_t at[BATCH_TEXTS], len[BATCH_TEXTS];
    const char *text[BATCH_TEXTS];
    uint8_t mark[BATCH_TEXTS];
    size_t dim;
    float *x; /* BATCH_TEXTS x dim */
};

fre_status fre_embed_stream_new(fre_embed_stream **out, fre_embedder *embedder,
                                fre_embed_row_fn *row, void *ctx, fre_err *err)
{
    fre_embed_stream *s = calloc(1, sizeof *s);
    fre_status st;

    if (!s)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for a batch of embeddings");
    s->embedder = embedder;
    s->row = row;
    s->ctx = ctx;
    s->dim = fre_embedder_info(embedder)->dim;
    fre_buf_init(&s->bytes, BATCH_BYTES + FRE_CORPUS_TEXT_MAX);
    s->x = calloc(BATCH_TEXTS * s->dim, sizeof *s->x);
    if (!s->x) {
        st = fre_fail(err, FRE_E_NOMEM, "out of memory for a batch of embeddings");
        goto out;
    }
    st = fre_text_map_init(&s->texts);
    if (st != FRE_OK) {
        (void)fre_fail(err, st, "no source of randomness");
        goto out;
    }
    *out = s;
    return FRE_OK;
out:
    fre_embed_stream_free(s);
    return st;
}

void fre_embed_stream_free(fre_embed_stream *s)
{
    if (!s)
        return;
    fre_buf_wipe(&s->bytes);
    fre_text_map_wipe(&s->texts);
    fre_wipe_free(s->x, BATCH_TEXTS * s->dim * sizeof *s->x);
    fre_wipe_free(s, sizeof *s);
}

static fre_status keep_text(fre_embed_stream *s, const char *text, size_t len)
{
    const size_t at = s->bytes.n;
    uint32_t i;
    bool added;
    fre_status st = fre_text_map_put(&s->texts, &i, &added, text, len);

    if (st != FRE_OK)
        return st;
    if (added) {
        st = fre_buf_append(&s->bytes, text, len);
        if (st != FRE_OK)
            return st;
        s->at[i] = at;
        s->len[i] = len;
    }
    s->row_text[s->n_rows++] = i;
    return FRE_OK;
}

fre_status fre_embed_stream_add(fre_embed_stream *s, const char *text, size_t len, fre_err *err)
{
    fre_status st = keep_text(s, text, len);

    if (st != FRE_OK)
        return fre_fail(err, st, "out of memory while reading texts");
    return s->n_rows == BATCH_TEXTS || s->bytes.n >= BATCH_BYTES ? fre_embed_stream_flush(s, err)
                                                                 : FRE_OK;
}

fre_status fre_embed_stream_flush(fre_embed_stream *s, fre_err *err)
{
    const size_t n_texts = s->texts.map.n;
    fre_status st;

    for (size_t i = 0; i < n_texts; i++)
        s->text[i] = (const char *)s->bytes.p + s->at[i];
    st = fre_embed_texts_marked(s->embedder, s->x, s->mark, s->text, s->len, n_texts, err);
    for (size_t i = 0; st == FRE_OK && i < s->n_rows; i++)
        st = s->row(s->ctx, s->x + s->row_text[i] * s->dim, s->mark[s->row_text[i]], err);
    s->n_rows = 0;
    s->bytes.n = 0;
    fre_map_clear(&s->texts.map);
    return st;
}

size_t fre_embed_stream_waiting(const fre_embed_stream *s)
{
    return s->n_rows;
}
