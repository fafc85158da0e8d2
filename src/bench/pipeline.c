/* bench/pipeline.c - `bench pipeline`: the mechanism over a .npy, without models. */
#include "bench.h"

#include <fre/curator.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const fre_param fre_bench_param_rows = {
    .name = "rows", .lowest = 1, .highest = 100000000, .whole = true, FRE_PARAM_PRESET(1000000)};

static fre_status make_rows(FILE *f, uint64_t rows, fre_err *err)
{
    bench_rows r;
    float x[BENCH_DIM];
    fre_status st = bench_rows_init(&r);

    if (st != FRE_OK)
        return fre_fail(err, st, "out of memory");
    st = fre_npy_write_header(f, FRE_NPY_F4, rows, BENCH_DIM, err);
    for (uint64_t i = 0; st == FRE_OK && i < rows; i++) {
        bench_row(&r, x);
        if (fwrite(x, sizeof x, 1, f) != 1)
            st = fre_fail(err, FRE_E_IO, "cannot write the rows (disk full?)");
    }
    bench_rows_wipe(&r);
    return st;
}

static fre_status make_file(const char *path, uint64_t rows, fre_err *err)
{
    FILE *f = fopen(path, "wb");
    fre_status st;

    if (!f)
        return fre_fail(err, FRE_E_EXISTS, "cannot create %.200s", path);
    st = make_rows(f, rows, err);
    if (fclose(f) != 0 && st == FRE_OK)
        st = fre_fail(err, FRE_E_IO, "cannot write %.200s (disk full?)", path);
    return st;
}

/* Memory that is not the mapped file: anonymous pages, sampled whenever progress is told. */
static uint64_t anonymous_kib(void)
{
    char line[128];
    uint64_t kib = 0;
    FILE *f = fopen("/proc/self/status", "r");

    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "RssAnon: %" SCNu64, &kib) == 1)
            break;
    if (f)
        (void)fclose(f);
    return kib;
}

static void sample_memory(void *ctx, const char *phase, uint64_t done, uint64_t total)
{
    uint64_t *peak = ctx;
    const uint64_t now = anonymous_kib();

    (void)phase;
    (void)done;
    (void)total;
    *peak = now > *peak ? now : *peak;
}

static fre_status run_release(fre_curator_result **rel, uint64_t *peak_kib, const char *input,
                              const char *output, uint32_t threads, fre_err *err)
{
    const fre_progress progress = {.update = sample_memory, .ctx = peak_kib};
    fre_curator_opts o;

    fre_curator_opts_init(&o);
    o.input = input;
    o.output = output;
    o.inverter = "none";
    o.plan.epsilon = 4;
    o.threads = threads;
    o.force = true;
    o.progress = &progress;
    *peak_kib = anonymous_kib();
    return fre_curator_synthesize(rel, &o, err);
}

static void print_result(const fre_bench_output *out, const fre_curator_result *rel, double seconds,
                         uint64_t peak_kib, uint32_t threads)
{
    const double rows = (double)rel->stats.records;

    if (out->json)
        (void)fprintf(out->json,
                      "{\"rows\": %" PRIu64 ", \"dimension\": %" PRIu32 ", \"threads\": %" PRIu32
                      ", \"seconds\": %.3f, \"seconds_place\": %.3f, \"seconds_sum\": %.3f, "
                      "\"rows_per_second\": %.0f, \"peak_mib\": %.1f, \"cells\": %" PRIu64
                      ", \"released\": %zu}\n",
                      rel->stats.records, rel->release.grid.dim, threads, seconds, rel->seconds[0],
                      rel->seconds[1], rows / seconds, (double)peak_kib / 1024, rel->stats.cells,
                      rel->release.n);
    else
        bench_line(out, 6,
                   "pipeline  %" PRIu64 " rows x %" PRIu32 ", %" PRIu32 " thread%s\n"
                   "  whole                %9.2f s   %.0f rows/s\n"
                   "  place in cells, coin %9.2f s\n"
                   "  sum, noise           %9.2f s\n"
                   "  peak memory          %9.1f MiB beyond the mapped file\n"
                   "  released             %9zu of %" PRIu64 " occupied cells",
                   rel->stats.records, rel->release.grid.dim, threads, threads == 1 ? "" : "s",
                   seconds, rows / seconds, rel->seconds[0], rel->seconds[1],
                   (double)peak_kib / 1024, rel->release.n, rel->stats.cells);
}

static void remove_release(const char *output)
{
    static const char *const names[] = {"synthetic.jsonl", "release.json", "centroids.npy",
                                        "centroids.npy.json", "counts.npy"};
    char path[128];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", output, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(output);
}

fre_status fre_bench_pipeline(const char *input_path, uint64_t rows, uint32_t threads,
                              const fre_bench_output *out, fre_err *err)
{
    char dir[] = "/tmp/fre-e2t-bench-XXXXXX", made[64], output[64];
    fre_curator_result *rel = NULL;
    uint64_t peak_kib = 0;
    int64_t start;
    fre_status st = input_path ? FRE_OK : fre_param_check(&fre_bench_param_rows, (double)rows, err);

    if (st != FRE_OK)
        return st;
    if (!mkdtemp(dir))
        return fre_fail(err, FRE_E_IO, "cannot create a temporary folder in /tmp");
    (void)snprintf(made, sizeof made, "%s/rows.npy", dir);
    (void)snprintf(output, sizeof output, "%s/release", dir);
    if (!input_path)
        st = make_file(made, rows, err);
    start = fre_clock_ms();
    if (st == FRE_OK)
        st = run_release(&rel, &peak_kib, input_path ? input_path : made, output, threads, err);
    if (st == FRE_OK)
        print_result(out, rel, (double)(fre_clock_ms() - start) / 1000, peak_kib, threads);
    fre_curator_result_free(rel);
    remove_release(output);
    (void)unlink(made);
    (void)rmdir(dir);
    return st;
}
