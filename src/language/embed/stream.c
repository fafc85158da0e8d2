/* stream.c - texts one after the other into rows in their order, each distinct one of a batch embedded
 * once. */
#include <fre/embed.h>

#include <stdlib.h>
#include <string.h>

#define BATCH_TEXTS 8192u
#define BATCH_BYTES ((size_t)64 << 20) /* of texts, so that long ones do not pile up */
#define SLOTS (2u * BATCH_TEXTS)       /* of the table that finds repeated texts in a batch */
#define HASH_BYTES 16u

struct fre_embed_stream {
    fre_embedder *embedder; /* borrowed */
    fre_embed_row_fn *row;
    void *ctx;
    fre_buf bytes; /* the batch's distinct texts, one after the other */
    size_t n_rows, n_texts;
    uint32_t row_text[BATCH_TEXTS]; /* which of them a row is of */
    size_t at[BATCH_TEXTS], len[BATCH_TEXTS];
    const char *text[BATCH_TEXTS];
    uint8_t hash[BATCH_TEXTS][HASH_BYTES];
    uint32_t slot[SLOTS]; /* index of a text + 1; 0: free */
    uint8_t key[32];
    uint8_t mark[BATCH_TEXTS];
    size_t dim;
    float *x; /* BATCH_TEXTS x dim */
};

fre_status fre_embed_stream_new(fre_embed_stream **out, fre_embedder *embedder,
                                fre_embed_row_fn *row, void *ctx, fre_err *err)
{
    fre_embed_stream *s = calloc(1, sizeof *s);
    fre_rng rng;
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
    st = fre_rng_init(&rng); /* of the table alone: nobody can choose texts that collide */
    if (st != FRE_OK) {
        (void)fre_fail(err, st, "no source of randomness");
        goto out;
    }
    fre_rng_bytes(&rng, s->key, sizeof s->key);
    fre_rng_wipe(&rng);
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
    fre_wipe_free(s->x, BATCH_TEXTS * s->dim * sizeof *s->x);
    fre_wipe_free(s, sizeof *s);
}

static fre_status keep_text(fre_embed_stream *s, const char *text, size_t len)
{
    uint8_t hash[HASH_BYTES];
    uint32_t slot;
    fre_status st;

    fre_hash128(hash, s->key, text, len);
    memcpy(&slot, hash, sizeof slot);
    for (slot %= SLOTS; s->slot[slot] != 0; slot = (slot + 1) % SLOTS) {
        if (memcmp(s->hash[s->slot[slot] - 1], hash, sizeof hash) == 0) {
            s->row_text[s->n_rows++] = s->slot[slot] - 1;
            return FRE_OK;
        }
    }
    s->at[s->n_texts] = s->bytes.n;
    st = fre_buf_append(&s->bytes, text, len);
    if (st != FRE_OK)
        return st;
    s->len[s->n_texts] = len;
    memcpy(s->hash[s->n_texts], hash, sizeof hash);
    s->row_text[s->n_rows++] = (uint32_t)s->n_texts;
    s->slot[slot] = (uint32_t)++s->n_texts;
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
    fre_status st;

    for (size_t i = 0; i < s->n_texts; i++)
        s->text[i] = (const char *)s->bytes.p + s->at[i];
    st = fre_embed_texts_marked(s->embedder, s->x, s->mark, s->text, s->len, s->n_texts, err);
    for (size_t i = 0; st == FRE_OK && i < s->n_rows; i++)
        st = s->row(s->ctx, s->x + s->row_text[i] * s->dim, s->mark[s->row_text[i]], err);
    s->n_rows = 0;
    s->n_texts = 0;
    s->bytes.n = 0;
    memset(s->slot, 0, sizeof s->slot);
    return st;
}

size_t fre_embed_stream_waiting(const fre_embed_stream *s)
{
    return s->n_rows;
}
