/* text_chunks.h - the texts of a corpus, some thousands at a time. */
#ifndef FRE_CLI_TEXT_CHUNKS_H
#define FRE_CLI_TEXT_CHUNKS_H

#include "corpus_args.h"

#define CLI_CHUNK_TEXTS 4096u

/* Borrowed for the call; 1 <= n <= CLI_CHUNK_TEXTS. */
typedef fre_status (*cli_chunk_fn)(void *ctx, const char *const *text, const size_t *len, size_t n,
                                   fre_err *err);

/* All texts of the first positional argument, read by the arguments of CLI_CORPUS_ARGS, with progress.
 * Stops at the first status that is not FRE_OK. */
fre_status cli_read_chunks(cli *c, cli_chunk_fn fn, void *ctx, fre_err *err);

/* --source, or the input's name without its folder. */
const char *cli_source(const cli *c);

#endif
