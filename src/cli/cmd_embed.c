/* cmd_embed.c - texts -> embeddings in a .npy file with its sidecar. */
#include "corpus_args.h"

#include <fre/embed.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_TEXTS 8192u
#define CHUNK_BYTES ((size_t)64 << 20) /* of texts, so that long ones do not pile up */
#define SLOTS (2u * CHUNK_TEXTS)       /* of the table that finds repeated texts in a chunk */

static const cli_positional positional[] = {
    {.name = "INPUT",
     .help = "texts: .txt, .jsonl, .csv or .tsv, also .gz or .zst; - for standard input"},
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

/* Texts of one chunk, each distinct one once, and for each row which of them it is. */
typedef struct chunk {
    fre_buf bytes;
    size_t n_rows, n_texts;
    uint32_t row_text[CHUNK_TEXTS];
    size_t at[CHUNK_TEXTS], len[CHUNK_TEXTS];
    const char *text[CHUNK_TEXTS];
    uint8_t hash[CHUNK_TEXTS][16];
    uint32_t slot[SLOTS]; /* index of a text + 1; 0: free */
    uint8_t key[32];
} chunk;

typedef struct job {
    cli *c;
    fre_corpus *corpus;
    fre_embedder *embedder;
    fre_outfile *data, *meta;
    char meta_path[4096];
    chunk *chunk;
    float *rows; /* CHUNK_TEXTS x dim */
    uint8_t mark[CHUNK_TEXTS];
    fre_text_counts count;
    uint64_t n; /* rows written */
    uint32_t dim;
    long header_bytes;
} job;

/* ---- a chunk of texts --------------------------------------------------------------------------------- */

static void chunk_clear(chunk *k)
{
    k->n_rows = 0;
    k->n_texts = 0;
    k->bytes.n = 0;
    memset(k->slot, 0, sizeof k->slot);
}

static fre_status chunk_add(chunk *k, const fre_record *rec)
{
    uint8_t hash[16];
    uint32_t slot;
    fre_status st;

    fre_hash128(hash, k->key, rec->text, rec->text_len);
    memcpy(&slot, hash, sizeof slot);
    for (slot %= SLOTS; k->slot[slot] != 0; slot = (slot + 1) % SLOTS) {
        if (memcmp(k->hash[k->slot[slot] - 1], hash, sizeof hash) == 0) {
            k->row_text[k->n_rows++] = k->slot[slot] - 1;
            return FRE_OK;
        }
    }
    k->at[k->n_texts] = k->bytes.n;
    st = fre_buf_append(&k->bytes, rec->text, rec->text_len);
    if (st != FRE_OK)
        return st;
    k->len[k->n_texts] = rec->text_len;
    memcpy(k->hash[k->n_texts], hash, sizeof hash);
    k->row_text[k->n_rows++] = (uint32_t)k->n_texts;
    k->slot[slot] = (uint32_t)++k->n_texts;
    return FRE_OK;
}

static fre_status chunk_flush(job *j, fre_err *err)
{
    chunk *k = j->chunk;
    FILE *f = fre_outfile_stream(j->data);
    fre_status st;

    for (size_t i = 0; i < k->n_texts; i++)
        k->text[i] = (const char *)k->bytes.p + k->at[i];
    st = fre_embed_texts_marked(j->embedder, j->rows, j->mark, k->text, k->len, k->n_texts, err);
    if (st != FRE_OK)
        return st;
    for (size_t i = 0; i < k->n_rows; i++) {
        const float *row = j->rows + (size_t)k->row_text[i] * j->dim;

        fre_text_counts_add(&j->count, j->mark[k->row_text[i]], 1);
        if (fwrite(row, sizeof *row, j->dim, f) != j->dim)
            return fre_fail(err, FRE_E_IO, "cannot write %s: %s", cli_text(j->c, "output"),
                            strerror(errno));
    }
    j->n += k->n_rows;
    chunk_clear(k);
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

static void meta_from(fre_npy_meta *out, const fre_model_info *info)
{
    memset(out, 0, sizeof *out);
    snprintf(out->embedder, sizeof out->embedder, "%s", info->name);
    fre_hex(out->sha256, info->sha256, FRE_HASH_BYTES);
    out->normalised = info->normalised;
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
    meta_from(&meta, fre_embedder_info(j->embedder));
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

static fre_status embed_all(job *j, fre_err *err)
{
    fre_corpus_stats stats;
    fre_record rec;
    bool more = true;

    fre_corpus_get_stats(j->corpus, &stats);
    fre_progress_update(&j->c->progress, "embedding", stats.records, fre_corpus_expected(&stats));
    while (true) {
        fre_status st = fre_corpus_next(j->corpus, &more, &rec, err);
        if (st == FRE_OK && more) {
            st = chunk_add(j->chunk, &rec);
            if (st != FRE_OK)
                (void)fre_fail(err, st, "out of memory while reading texts");
        }
        if (st != FRE_OK)
            return st;
        if (fre_interrupted())
            return FRE_E_INTERRUPTED;
        if (!more || j->chunk->n_rows == CHUNK_TEXTS || j->chunk->bytes.n >= CHUNK_BYTES) {
            st = chunk_flush(j, err);
            if (st != FRE_OK)
                return st;
            fre_corpus_get_stats(j->corpus, &stats);
            fre_progress_update(&j->c->progress, "embedding", stats.records,
                                fre_corpus_expected(&stats));
        }
        if (!more)
            return FRE_OK;
    }
}

static fre_status prepare(job *j, fre_err *err)
{
    fre_corpus_opts corpus_opts;
    fre_embedder_opts opts = {.path = cli_text(j->c, "embedder"), .threads = j->c->threads};
    fre_rng rng;
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
    j->chunk = calloc(1, sizeof *j->chunk);
    j->rows = calloc((size_t)CHUNK_TEXTS * j->dim, sizeof *j->rows);
    if (!j->chunk || !j->rows)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for a chunk of embeddings");
    fre_buf_init(&j->chunk->bytes, CHUNK_BYTES + FRE_CORPUS_TEXT_MAX);
    st = fre_rng_init(&rng);
    if (st != FRE_OK)
        return fre_fail(err, st, "no source of randomness");
    fre_rng_bytes(&rng, j->chunk->key, sizeof j->chunk->key);
    fre_rng_wipe(&rng);
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
    fre_embedder_free(j.embedder);
    fre_corpus_free(j.corpus);
    if (j.chunk)
        fre_buf_wipe(&j.chunk->bytes);
    free(j.chunk);
    free(j.rows);
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
