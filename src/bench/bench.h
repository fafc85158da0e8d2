/* bench.h - measurements behind `fre-e2t bench`, a part of the program that knows neither its arguments
 * nor its terminal.  They time, and judge nothing. */
#ifndef FRE_BENCH_H
#define FRE_BENCH_H

#include <fre/core.h>
#include <fre/param.h>

/* Where a measurement goes: one JSON object, or lines for a person. */
typedef struct fre_bench_output {
    FILE *json; /* NULL: lines */
    /* One or more lines without the last one's end; what has to be folded is indented by `indent`. */
    void (*lines)(size_t indent, const char *text);
} fre_bench_output;

/* Texts a second through the embedder, and whether batch, order or threads move an embedding or
 * its cell.  NULL: the bundled population, the bundled embedder. */
FRE_MUST_CHECK fre_status fre_bench_embed(const char *input_path, const char *model_path,
                                          uint32_t threads, const fre_bench_output *out,
                                          fre_err *err);

extern const fre_param fre_bench_param_rows; /* of made embeddings */

/* The mechanism over embeddings: a .npy (NULL: `rows` made embeddings of 384 dimensions in a
 * temporary file) to a release without inversion; seconds, rows a second, peak memory beyond the
 * mapped file. */
FRE_MUST_CHECK fre_status fre_bench_pipeline(const char *input_path, uint64_t rows,
                                             uint32_t threads, const fre_bench_output *out,
                                             fre_err *err);

/* Made embeddings into the cells of the bundled codebook, at all its levels: rows a second, and seconds
 * without those that making them takes. */
FRE_MUST_CHECK fre_status fre_bench_codebook(uint64_t rows, uint32_t threads,
                                             const fre_bench_output *out, fre_err *err);

/* Operations of the distributed protocol, one after the other on one core. */
FRE_MUST_CHECK fre_status fre_bench_protocol(const fre_bench_output *out, fre_err *err);

/* Draws a second of each sampler on one core, beside a peer in double precision. */
FRE_MUST_CHECK fre_status fre_bench_sampler(const fre_bench_output *out, fre_err *err);

/* For the measurements themselves.  Embeddings around a thousand centres with frequencies 1/rank: what a
 * population looks like to the mechanism.  Public and repeatable; their quality as randomness does not
 * matter. */
#define BENCH_DIM 384u
typedef struct bench_rows {
    fre_rng rng;
    float *centre;
} bench_rows;
FRE_MUST_CHECK fre_status bench_rows_init(bench_rows *r);
void bench_row(bench_rows *r, float *x); /* BENCH_DIM numbers */
void bench_rows_wipe(bench_rows *r);
/* To out->lines. */
void bench_line(const fre_bench_output *out, size_t indent, const char *fmt, ...) FRE_PRINTF(3, 4);
/* Processor time of this process so far, in microseconds. */
double bench_spent_us(void);
/* Of n >= 1 numbers, which it sorts; the greater of the two in the middle. */
double bench_median(double *x, size_t n);

#endif
