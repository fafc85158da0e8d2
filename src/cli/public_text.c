/* public_text.c - a corpus in chunks that an embedder takes in one call, and the file that statistics of
 * it go to. */
#include "public_text.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)32 << 20)

typedef struct chunk {
    fre_buf bytes; /* texts, one after the other */
    const char *text[CLI_CHUNK_TEXTS];
    size_t at[CLI_CHUNK_TEXTS], len[CLI_CHUNK_TEXTS], n;
    cli_chunk_fn fn;
    void *ctx;
    fre_overlap_set *marks; /* borrowed */
} chunk;

static fre_status flush(chunk *k, fre_err *err)
{
    const size_t n = k->n;

    for (size_t i = 0; i < n; i++)
        k->text[i] = (const char *)k->bytes.p + k->at[i];
    k->n = 0;
    k->bytes.n = 0;
    return n > 0 ? k->fn(k->ctx, k->text, k->len, n, err) : FRE_OK;
}

static fre_status add_record(chunk *k, const fre_record *rec, fre_err *err)
{
    fre_status st;

    k->at[k->n] = k->bytes.n;
    k->len[k->n] = rec->text_len;
    st = fre_buf_append(&k->bytes, rec->text, rec->text_len);
    if (st == FRE_OK)
        st = fre_overlap_add_text(k->marks, rec->text, rec->text_len);
    if (st != FRE_OK)
        return fre_fail(err, st, "out of memory while reading texts");
    k->n++;
    return k->n == CLI_CHUNK_TEXTS || k->bytes.n >= CHUNK_BYTES ? flush(k, err) : FRE_OK;
}

static fre_status read_all(cli *c, chunk *k, fre_corpus *corpus, fre_err *err)
{
    fre_status st = FRE_OK;

    while (st == FRE_OK) {
        fre_corpus_stats stats;
        fre_record rec;
        bool more;

        st = fre_corpus_next(corpus, &more, &rec, err);
        if (st != FRE_OK || !more)
            break;
        st = add_record(k, &rec, err);
        if (st == FRE_OK && fre_interrupted())
            st = FRE_E_INTERRUPTED;
        if (k->n == 0) {
            fre_corpus_get_stats(corpus, &stats);
            fre_progress_update(&c->progress, "embedding", stats.records,
                                fre_corpus_expected(&stats));
        }
    }
    return st == FRE_OK ? flush(k, err) : st;
}

fre_status cli_read_chunks(cli *c, fre_input *in, fre_overlap_set *marks, cli_chunk_fn fn,
                           void *ctx, fre_err *err)
{
    fre_corpus_opts opts;
    fre_corpus *corpus = NULL;
    chunk *k = calloc(1, sizeof *k);
    fre_status st = cli_corpus_opts(&opts, c, err);

    if (!k || st != FRE_OK) {
        fre_input_free(in);
        free(k);
        return k ? st : fre_fail(err, FRE_E_NOMEM, "out of memory for a chunk of texts");
    }
    fre_buf_init(&k->bytes, CHUNK_BYTES + FRE_CORPUS_TEXT_MAX);
    k->fn = fn;
    k->ctx = ctx;
    k->marks = marks;
    st = fre_corpus_open_input(&corpus, in, &opts, err);
    if (st == FRE_OK)
        st = read_all(c, k, corpus, err);
    if (st == FRE_OK)
        cli_print_corpus(c, corpus);
    fre_corpus_free(corpus);
    fre_buf_wipe(&k->bytes);
    free(k);
    return st;
}

static fre_status pass_rows(cli *c, fre_npy *x, float *rows, cli_rows_fn fn, void *ctx,
                            fre_err *err)
{
    const size_t all = fre_npy_rows(x), dim = fre_npy_dim(x);
    fre_status st = FRE_OK;

    for (size_t at = 0; at < all && st == FRE_OK; at += CLI_CHUNK_TEXTS) {
        const size_t n = all - at < CLI_CHUNK_TEXTS ? all - at : CLI_CHUNK_TEXTS;

        fre_progress_update(&c->progress, "adding", at, all);
        for (size_t i = 0; i < n && st == FRE_OK; i++)
            st = fre_npy_row(x, rows + i * dim, at + i, err);
        if (st == FRE_OK)
            st = fn(ctx, rows, n, err);
        if (st == FRE_OK && fre_interrupted())
            st = FRE_E_INTERRUPTED;
        fre_npy_release_before(x, at);
    }
    return st;
}

fre_status cli_read_rows(cli *c, fre_input *in, const fre_embedder *embedder, cli_rows_fn fn,
                         void *ctx, fre_err *err)
{
    fre_npy *x = NULL;
    float *rows = NULL;
    fre_corpus_opts asked;
    fre_status st = cli_corpus_opts(&asked, c, err);

    if (st != FRE_OK) {
        fre_input_free(in);
        return st;
    }
    st = fre_npy_open_input(&x, in, &asked, err);
    if (st == FRE_OK)
        st = fre_embedder_check_rows(embedder, x, c->positional[0], err);
    if (st != FRE_OK)
        goto out;
    rows = malloc((size_t)CLI_CHUNK_TEXTS * fre_npy_dim(x) * sizeof *rows);
    st = rows ? pass_rows(c, x, rows, fn, ctx, err)
              : fre_fail(err, FRE_E_NOMEM, "out of memory for rows of %s", c->positional[0]);
out:
    fre_npy_free(x);
    free(rows);
    return st;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

fre_status cli_open_public(fre_input **in, fre_prior_card *card, const cli *c, fre_err *err)
{
    const char *path = c->positional[0];
    const fre_bytes none = {NULL, 0};
    uint8_t sum[FRE_HASH_BYTES];
    fre_status st = fre_input_open(in, path, false, err);

    if (st != FRE_OK || strcmp(path, "-") == 0 || !fre_input_is_file(*in))
        return st;
    fre_model_label(card->file, sizeof card->file, name_of(path));
    st = fre_input_sha256(sum, *in, none, err);
    fre_hex(card->sha256, sum, sizeof sum);
    if (st != FRE_OK) {
        fre_input_free(*in);
        *in = NULL;
    }
    return st;
}

fre_status cli_card(fre_prior_card *card, const cli *c, fre_overlap_set *marks, bool rows,
                    fre_err *err)
{
    const fre_status st = fre_overlap_sketch(marks, &card->mark, &card->n_marks);

    if (st != FRE_OK)
        return fre_fail(err, st, "out of memory for the file's card");
    card->rows = rows;
    if (cli_given(c, "author"))
        (void)snprintf(card->author, sizeof card->author, "%s", cli_text(c, "author"));
    return FRE_OK;
}

/* --source, or the input's name without its folder. */
static const char *source_of(const cli *c)
{
    return cli_given(c, "source") ? cli_text(c, "source") : name_of(c->positional[0]);
}

fre_status cli_open_statistics(const cli *c, fre_outfile **out, const char **source, fre_err *err)
{
    const char *output = cli_text(c, "output");
    fre_status st;

    *source = source_of(c);
    if (strcmp(output, "-") == 0)
        return fre_fail(err, FRE_E_USAGE, "--output must be a file, not standard output");
    if (strlen(*source) > 127)
        return fre_fail(err, FRE_E_USAGE, "--source must be given with at most 127 bytes");
    if (cli_given(c, "author") && strlen(cli_text(c, "author")) > 127)
        return fre_fail(err, FRE_E_USAGE, "--author must be given with at most 127 bytes");
    st = cli_refuse_inputs(c, c->positional[0], "output", err);
    return st == FRE_OK ? fre_outfile_open(out, output, cli_flag(c, "force"), err) : st;
}
