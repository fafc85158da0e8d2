/* bench/codebook.c - `bench codebook`: embeddings into public cells. */
#include "bench.h"

#include <fre/codebook.h>
#include <fre/embed.h>

#include <inttypes.h>
#include <stdlib.h>

#define SLICE 32768u /* rows in memory at once */

/* The one beside the bundled embedder. */
static fre_status open_codebook(fre_codebook **out, uint32_t threads, fre_err *err)
{
    const fre_embedder_opts opts = {.threads = threads};
    fre_embedder *e = NULL;
    fre_status st = fre_embedder_new(&e, &opts, err);

    if (st == FRE_OK)
        st = fre_codebook_open_for(out, NULL, fre_embedder_path(e), fre_embedder_info(e), err);
    fre_embedder_free(e);
    if (st != FRE_OK || (*out && fre_codebook_info_view(*out)->dim == BENCH_DIM))
        return st;
    fre_codebook_free(*out);
    *out = NULL;
    return fre_fail(err, FRE_E_NOINPUT, "there is no codebook of dimension %u beside the embedder",
                    BENCH_DIM);
}

/* ms: what the cells took, without the making. */
static fre_status place(const fre_codebook *c, uint64_t rows, uint32_t threads, int64_t *ms)
{
    const size_t levels = fre_codebook_info_view(c)->n_levels;
    float *x = malloc((size_t)SLICE * BENCH_DIM * sizeof *x);
    uint32_t *cell = malloc(SLICE * levels * sizeof *cell);
    bench_rows r = {.centre = NULL};
    fre_status st = x && cell ? bench_rows_init(&r) : FRE_E_NOMEM;

    *ms = 0;
    for (uint64_t done = 0; done < rows && st == FRE_OK; done += SLICE) {
        const size_t n = rows - done < SLICE ? (size_t)(rows - done) : SLICE;
        int64_t start;

        for (size_t i = 0; i < n; i++)
            bench_row(&r, x + i * BENCH_DIM);
        start = fre_clock_ms();
        st = fre_codebook_cells(c, cell, x, n, threads);
        *ms += fre_clock_ms() - start;
    }
    bench_rows_wipe(&r);
    free(cell);
    free(x);
    return st;
}

fre_status fre_bench_codebook(uint64_t rows, uint32_t threads, const fre_bench_output *out,
                              fre_err *err)
{
    const fre_codebook_level *finest;
    fre_codebook *c = NULL;
    int64_t ms = 0;
    double seconds;
    fre_status st = fre_param_check(&fre_bench_param_rows, (double)rows, err);

    if (st == FRE_OK)
        st = open_codebook(&c, threads, err);
    if (st != FRE_OK)
        return st;
    st = place(c, rows, threads, &ms);
    seconds = (double)(ms > 0 ? ms : 1) / 1000;
    finest = fre_codebook_level_view(c, 0);
    if (st != FRE_OK)
        (void)fre_fail(err, st, "out of memory for the rows");
    else if (out->json)
        (void)fprintf(out->json,
                      "{\"rows\": %" PRIu64 ", \"dimension\": %u, \"threads\": %" PRIu32
                      ", \"levels\": %" PRIu32 ", \"finest_cells\": %" PRIu32
                      ", \"seconds\": %.3f, \"rows_per_second\": %.0f}\n",
                      rows, BENCH_DIM, threads, fre_codebook_info_view(c)->n_levels, finest->cells,
                      seconds, (double)rows / seconds);
    else
        bench_line(out, 6,
                   "codebook  %" PRIu64 " rows x %u, %" PRIu32 " thread%s\n"
                   "  into the cells of %" PRIu32 " levels, the finest of %" PRIu32 "\n"
                   "  whole                %9.2f s   %.0f rows/s",
                   rows, BENCH_DIM, threads, threads == 1 ? "" : "s",
                   fre_codebook_info_view(c)->n_levels, finest->cells, seconds,
                   (double)rows / seconds);
    fre_codebook_free(c);
    return st;
}
