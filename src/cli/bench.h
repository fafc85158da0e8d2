/* bench.h - measurements behind `fre-e2t bench`.  Each prints what it saw on `out`: lines for a
 * person, or one JSON object.  They time, and judge nothing. */
#ifndef FRE_CLI_BENCH_H
#define FRE_CLI_BENCH_H

#include <fre/core.h>

/* Texts a second through the embedder, and whether batch, order or threads move an embedding or
 * its cell.  NULL: the bundled population, the bundled embedder. */
FRE_MUST_CHECK fre_status fre_bench_embed(const char *input_path, const char *model_path,
                                          uint32_t threads, bool json, FILE *out, fre_err *err);

/* The mechanism over embeddings: a .npy (NULL: `rows` made embeddings of 384 dimensions in a
 * temporary file) to a release without inversion; seconds, rows a second, peak memory beyond the
 * mapped file. */
FRE_MUST_CHECK fre_status fre_bench_pipeline(const char *input_path, uint64_t rows,
                                             uint32_t threads, bool json, FILE *out, fre_err *err);

/* Operations of the distributed protocol, one after the other on one core. */
FRE_MUST_CHECK fre_status fre_bench_protocol(bool json, FILE *out, fre_err *err);

/* Draws a second of each sampler on one core, beside a peer in double precision. */
FRE_MUST_CHECK fre_status fre_bench_sampler(bool json, FILE *out, fre_err *err);

#endif
