/* cmd_embed.c - texts -> embeddings in a .npy file with its sidecar. */
#include "corpus_args.h"

#include <fre/embed.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const cli_positional positional[] = {
    {.name = "INPUT", .help = CLI_TEXT_FILES},
};

static const cli_arg args[] = {
    CLI_HEADING("Output"),
    CLI_FILE("output", "X.npy", .letter = 'o', .required = true,
             .help = "file to make; X.npy.json goes beside it"),
    {.name = "force", .kind = CLI_FLAG, .help = "replace the files if they exist"},
    CLI_HEADING("Input"),
    CLI_CORPUS_ARGS,
    CLI_HEADING("Model"),
    CLI_EMBEDDER,
};

typedef struct job {
    cli *c;
    fre_corpus *corpus;
    fre_embedder *embedder;
    fre_outfile *data, *meta;
    char meta_path[4096];
    fre_embed_stream *stream;
    fre_text_counts count;
    uint64_t n; /* rows written */
    uint32_t dim;
    long header_bytes;
} job;

static fre_status write_row(void *ctx, const float *row, uint8_t mark, fre_err *err)
{
    job *j = ctx;

    fre_text_counts_add(&j->count, mark, 1);
    if (fwrite(row, sizeof *row, j->dim, fre_outfile_stream(j->data)) != j->dim)
        return fre_fail(err, FRE_E_IO, "cannot write %s: %s", cli_text(j->c, "output"),
                        strerror(errno));
    j->n++;
    return FRE_OK;
}

/* ---- the file ----------------------------------------------------------------------------------------- */

/* The number of rows is known at the end only: the header is written twice, and NumPy's padding
 * to 64 bytes gives both the same length. */
static fre_status write_header(job *j, fre_err *err)
{
    FILE *f = fre_outfile_stream(j->data);
    fre_status st;
    long end;

    if (fseek(f, 0, SEEK_SET) != 0)
        return fre_fail(err, FRE_E_IO, "cannot seek in %s: %s", cli_text(j->c, "output"),
                        strerror(errno));
    st = fre_npy_write_header(f, FRE_NPY_F4, (size_t)j->n, j->dim, err);
    if (st != FRE_OK)
        return st;
    end = ftell(f);
    if (end < 0 || (j->header_bytes != 0 && end != j->header_bytes))
        return fre_fail(err, FRE_E_INTERNAL, "the header of the .npy file changed its length");
    j->header_bytes = end;
    return FRE_OK;
}

/* The sidecar goes first: embeddings without it would be of unknown origin.  What can fail for
 * want of space has failed before either appears. */
static fre_status finish_files(job *j, fre_err *err)
{
    FILE *f = fre_outfile_stream(j->data);
    fre_npy_meta meta;
    fre_status st = write_header(j, err);

    if (st != FRE_OK)
        return st;
    if (fflush(f) != 0 || ferror(f))
        return fre_fail(err, FRE_E_IO, "cannot write %s: %s", cli_text(j->c, "output"),
                        strerror(errno));
    fre_embedder_rows_meta(j->embedder, &meta);
    st = fre_npy_write_meta(fre_outfile_stream(j->meta), &meta, (size_t)j->n, j->dim, err);
    if (st == FRE_OK)
        st = fre_outfile_commit(j->meta, err);
    if (st != FRE_OK)
        return st;
    st = fre_outfile_commit(j->data, err);
    if (st != FRE_OK)
        (void)unlink(j->meta_path);
    return st;
}

static fre_status open_files(job *j, fre_err *err)
{
    const char *path = cli_text(j->c, "output");
    bool force = cli_flag(j->c, "force");
    fre_status st;

    if (strcmp(path, "-") == 0)
        return fre_fail(err, FRE_E_USAGE,
                        "--output must be a file, not standard output: its "
                        "sidecar goes beside it");
    if (snprintf(j->meta_path, sizeof j->meta_path, "%s.json", path) >= (int)sizeof j->meta_path)
        return fre_fail(err, FRE_E_USAGE, "--output is too long a path");
    (void)umask(077); /* embeddings are as private as the texts */
    st = cli_refuse_inputs(j->c, j->c->positional[0], "output", err);
    if (st == FRE_OK)
        st = fre_outfile_open(&j->data, path, force, err);
    if (st == FRE_OK)
        st = fre_outfile_open(&j->meta, j->meta_path, force, err);
    return st;
}

/* ---- the run ------------------------------------------------------------------------------------------ */

static void show_progress(const job *j)
{
    fre_corpus_stats stats;

    fre_corpus_get_stats(j->corpus, &stats);
    fre_progress_update(&j->c->progress, "embedding", stats.records, fre_corpus_expected(&stats));
}

static fre_status embed_all(job *j, fre_err *err)
{
    fre_record rec;
    fre_status st;
    bool more;

    show_progress(j);
    while ((st = fre_corpus_next(j->corpus, &more, &rec, err)) == FRE_OK && more) {
        if (fre_interrupted())
            return FRE_E_INTERRUPTED;
        st = fre_embed_stream_add(j->stream, rec.text, rec.text_len, err);
        if (st != FRE_OK)
            return st;
        if (fre_embed_stream_waiting(j->stream) == 0)
            show_progress(j);
    }
    if (st == FRE_OK)
        st = fre_embed_stream_flush(j->stream, err);
    if (st == FRE_OK)
        show_progress(j);
    return st;
}

static fre_status prepare(job *j, fre_err *err)
{
    fre_corpus_opts corpus_opts;
    fre_embedder_opts opts = {.path = cli_text(j->c, "embedder"), .threads = j->c->threads};
    fre_status st = cli_corpus_opts(&corpus_opts, j->c, err);

    if (st == FRE_OK)
        st = fre_corpus_open(&j->corpus, j->c->positional[0], &corpus_opts, err);
    if (st == FRE_OK)
        st = open_files(j, err);
    if (st == FRE_OK)
        st = fre_embedder_new(&j->embedder, &opts, err);
    if (st != FRE_OK)
        return st;
    j->dim = fre_embedder_info(j->embedder)->dim;
    st = fre_embed_stream_new(&j->stream, j->embedder, write_row, j, err);
    if (st != FRE_OK)
        return st;
    return write_header(j, err);
}

static fre_status report(const job *j, fre_err *err)
{
    fre_corpus_stats in;
    fre_embed_stats out;

    fre_corpus_get_stats(j->corpus, &in);
    fre_embed_get_stats(j->embedder, &out);
    cli_progress_end();
    if (cli_unknown_warning(&j->count))
        cli_warn(j->c, "%s", cli_unknown_warning(&j->count));
    if (cli_foreign_warning(&j->count))
        cli_warn(j->c, "%s", cli_foreign_warning(&j->count));
    cli_print_corpus(j->c, j->corpus);
    if (j->c->json)
        return cli_json_print(
            json_pack(
                "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "output",
                cli_text(j->c, "output"), "rows", (json_int_t)j->n, "dimension", (json_int_t)j->dim,
                "empty", (json_int_t)in.empty, "invalid", (json_int_t)in.invalid, "truncated",
                (json_int_t)j->count.truncated, "no_token", (json_int_t)j->count.empty, "unknown",
                (json_int_t)j->count.unknown, "foreign", (json_int_t)j->count.foreign, "tokens",
                (json_int_t)out.tokens, "embedder", fre_embedder_info(j->embedder)->name),
            err);
    if (!j->c->quiet)
        cli_fold(stderr, 4,
                 "%" PRIu64 " embedding%s of dimension %" PRIu32
                 "; texts skipped or repaired: %" PRIu64 " empty, %" PRIu64
                 " invalid; truncated: %" PRIu64 "; rows of zeros: %" PRIu64
                 " without a token, %" PRIu64 " of unknown tokens alone; in a foreign language: "
                 "%" PRIu64,
                 j->n, cli_plural(j->n), j->dim, in.empty, in.invalid, j->count.truncated,
                 j->count.empty, j->count.unknown, j->count.foreign);
    return FRE_OK;
}

static fre_status run(cli *c, fre_err *err)
{
    job j = {.c = c};
    fre_status st = prepare(&j, err);

    if (st == FRE_OK)
        st = embed_all(&j, err);
    if (st == FRE_OK)
        st = finish_files(&j, err);
    if (st == FRE_OK)
        st = report(&j, err);
    fre_outfile_free(j.meta);
    fre_outfile_free(j.data);
    fre_embed_stream_free(j.stream);
    fre_embedder_free(j.embedder);
    fre_corpus_free(j.corpus);
    return st;
}

const cli_command cli_cmd_embed = {
    .name = "embed",
    .summary = "turn texts into embeddings",
    .about = "Embeds each text and writes the embeddings, in the order of the texts, as a NumPy "
             "array of float32. Empty texts are skipped, so rows follow the texts that are kept. "
             "A text without a token that the embedder knows has a row of zeros, which "
             "every command takes for no text. "
             "The same text gets the same embedding whatever stands beside it. The result is as "
             "private as the texts themselves.",
    .example = CLI_PROGRAM " embed texts.jsonl -o texts.npy",
    .positional = positional,
    .n_positional = 1,
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .run = run,
};
