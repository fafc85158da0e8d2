/* public_text.h - what the commands share that make statistics of public text: texts, some thousands
 * at a time, and the file to make. */
#ifndef FRE_CLI_PUBLIC_TEXT_H
#define FRE_CLI_PUBLIC_TEXT_H

#include "corpus_args.h"

#include <fre/overlap.h>
#include <fre/prior.h>

#define CLI_CHUNK_TEXTS 4096u

/* Borrowed for the call; 1 <= n <= CLI_CHUNK_TEXTS. */
typedef fre_status (*cli_chunk_fn)(void *ctx, const char *const *text, const size_t *len, size_t n,
                                   fre_err *err);

/* All texts of an input, which it takes ownership of, by the arguments of CLI_CORPUS_ARGS, with progress.
 * Stops at the first status that is not FRE_OK.  marks: of every text. */
FRE_MUST_CHECK fre_status cli_read_chunks(cli *c, fre_input *in, fre_overlap_set *marks,
                                          cli_chunk_fn fn, void *ctx, fre_err *err);

/* Rows of an embedder's dimension, which the callee may change; 1 <= n <= CLI_CHUNK_TEXTS. */
typedef fre_status (*cli_rows_fn)(void *ctx, float *rows, size_t n, fre_err *err);

/* All rows of a .npy input, which it takes ownership of, with progress.  FRE_E_DATA: not the embedder's. */
FRE_MUST_CHECK fre_status cli_read_rows(cli *c, fre_input *in, const fre_embedder *embedder,
                                        cli_rows_fn fn, void *ctx, fre_err *err);

/* ending: of the file, before .gguf. */
#define CLI_STATISTICS_OUTPUT(ending)                                                              \
    CLI_FILE("output", "FILE", .letter = 'o', .required = true,                                    \
             .help =                                                                               \
                 "GGUF file to make; NAME." ending ".gguf beside NAME.gguf is found by itself"),   \
        {.name = "force", .kind = CLI_FLAG, .help = "replace the file if it exists"},              \
        {.name = "author",                                                                         \
         .metavar = "NAME",                                                                        \
         .kind = CLI_STRING,                                                                       \
         .help = "who makes the file, up to 127 bytes, kept in it"},                               \
    {                                                                                              \
        .name = "source", .metavar = "TEXT", .kind = CLI_STRING,                                   \
        .help = "where the texts are from, up to 127 bytes, kept in the file (default: the "       \
                "input's name)"                                                                    \
    }

/* The first positional argument, and what the file will say of it where it is a file: name and hash.
 * *card: zeroed before, fre_prior_card_wipe. */
FRE_MUST_CHECK fre_status cli_open_public(fre_input **in, fre_prior_card *card, const cli *c,
                                          fre_err *err);
/* What it says besides: --author and the marks (rows: of embeddings). */
FRE_MUST_CHECK fre_status cli_card(fre_prior_card *card, const cli *c, fre_overlap_set *marks,
                                   bool rows, fre_err *err);

/* Checks --output and --source and opens the file.  *source: borrowed. */
FRE_MUST_CHECK fre_status cli_open_statistics(const cli *c, fre_outfile **out, const char **source,
                                              fre_err *err);

#endif
