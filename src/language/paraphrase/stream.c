/* stream.c - texts one after the other into their paraphrases, in their order, and what they come to. */
#include "paraphrase_private.h"

#include <stdlib.h>
#include <string.h>

#define BATCH_BYTES ((size_t)64 << 20) /* of texts, so that long ones do not pile up */
#define TEXT_MAX ((size_t)64 << 20)

struct fre_paraphrase_stream {
    fre_paraphraser *paraphraser; /* borrowed */
    fre_paraphrases_fn *each;
    void *ctx;
    const fre_progress *progress;
    fre_buf bytes; /* of the batch's texts, one after the other */
    size_t n;
    size_t at[FRE_PARAPHRASE_BATCH];
    fre_paraphrase_source
        source[FRE_PARAPHRASE_BATCH]; /* text: set once bytes stays in its place */
    fre_paraphrases made[FRE_PARAPHRASE_BATCH];
    float *rows;              /* the batch's centroids, FRE_PARAPHRASE_BATCH x dim */
    uint64_t taken, expected; /* texts */
    fre_paraphrase_summary sum;
};

fre_status fre_paraphrase_stream_new(fre_paraphrase_stream **out, fre_paraphraser *paraphraser,
                                     fre_paraphrases_fn *each, void *ctx,
                                     const fre_progress *progress, fre_err *err)
{
    fre_paraphrase_stream *s = calloc(1, sizeof *s);

    if (!s)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for a batch of texts");
    s->paraphraser = paraphraser;
    s->each = each;
    s->ctx = ctx;
    s->progress = progress;
    fre_buf_init(&s->bytes, BATCH_BYTES + TEXT_MAX);
    s->rows = calloc(FRE_PARAPHRASE_BATCH * paraphraser->dim, sizeof *s->rows);
    if (!s->rows) {
        fre_paraphrase_stream_free(s);
        return fre_fail(err, FRE_E_NOMEM, "out of memory for a batch of centroids");
    }
    *out = s;
    return FRE_OK;
}

void fre_paraphrase_stream_free(fre_paraphrase_stream *s)
{
    if (!s)
        return;
    fre_buf_wipe(&s->bytes);
    if (s->rows)
        fre_wipe_free(s->rows, FRE_PARAPHRASE_BATCH * s->paraphraser->dim * sizeof *s->rows);
    fre_wipe_free(s, sizeof *s);
}

void fre_paraphrase_stream_expect(fre_paraphrase_stream *s, uint64_t texts)
{
    s->expected = texts;
}

void fre_paraphrase_stream_summary(const fre_paraphrase_stream *s, fre_paraphrase_summary *out)
{
    *out = s->sum;
}

fre_status fre_paraphrase_stream_add(fre_paraphrase_stream *s, const fre_paraphrase_source *source,
                                     fre_err *err)
{
    const size_t dim = s->paraphraser->dim, number = (size_t)s->taken + 1;
    const size_t at = s->bytes.n;
    float *row = s->rows + s->n * dim;
    fre_status st = para_check_source(source, dim, number, err);

    if (st != FRE_OK)
        return st;
    if (source->len > TEXT_MAX)
        return fre_fail(err, FRE_E_LIMIT, "text %zu is longer than %zu bytes", number, TEXT_MAX);
    if (fre_model_utf8(source->text, source->len) < source->len)
        return fre_fail(err, FRE_E_DATA, "text %zu is not valid UTF-8", number);
    st = fre_buf_append(&s->bytes, source->text, source->len);
    if (st != FRE_OK)
        return fre_fail(err, st, "out of memory while reading texts");
    if (source->centroid)
        memcpy(row, source->centroid, dim * sizeof *row);
    s->taken++;
    s->at[s->n] = at;
    s->source[s->n++] = (fre_paraphrase_source){.len = source->len,
                                                .centroid = source->centroid ? row : NULL,
                                                .noise_std = source->noise_std};
    return s->n == FRE_PARAPHRASE_BATCH || s->bytes.n >= BATCH_BYTES
               ? fre_paraphrase_stream_flush(s, err)
               : FRE_OK;
}

static void count(fre_paraphrase_summary *sum, const fre_paraphrases *p, size_t len)
{
    sum->texts++;
    sum->without += p->n == 0;
    sum->too_long += len > FRE_PARAPHRASE_TEXT_MAX;
    sum->paraphrases += p->n;
    sum->drawn += p->drawn;
    sum->distinct += p->distinct;
    sum->near += p->near;
}

static fre_status deliver(fre_paraphrase_stream *s, fre_err *err)
{
    fre_status st = FRE_OK;

    for (size_t i = 0; i < s->n && st == FRE_OK; i++) {
        count(&s->sum, &s->made[i], s->source[i].len);
        st = s->each(s->ctx, &s->made[i], err);
    }
    for (size_t i = 0; i < s->n; i++)
        fre_paraphrases_wipe(&s->made[i]);
    return st;
}

fre_status fre_paraphrase_stream_flush(fre_paraphrase_stream *s, fre_err *err)
{
    fre_status st;

    if (s->n == 0)
        return FRE_OK;
    for (size_t i = 0; i < s->n; i++) /* the buffer of nothing but empty texts is NULL */
        s->source[i].text = s->source[i].len ? (const char *)s->bytes.p + s->at[i] : "";
    st = fre_paraphrase_texts(s->paraphraser, s->made, s->source, s->n, NULL, err);
    if (st == FRE_OK)
        st = deliver(s, err);
    s->n = 0;
    s->bytes.n = 0;
    if (st == FRE_OK)
        fre_progress_update(s->progress, "paraphrase", s->sum.texts, s->expected);
    return st;
}
