/* bench/embed.c - `bench embed`: texts a second, and whether the company of a text shows in its
 * embedding or its cell. */
#include "bench.h"

#include <fre/corpus.h>
#include <fre/embed.h>
#include <fre/sketch.h>

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POPULATION "data/assistant-requests.jsonl.gz"
#define READ_MAX 200000u  /* records looked at */
#define TIMED_MAX 10000u  /* distinct texts in the timed run */
#define CHECKED_MAX 1000u /* of them embedded again in other company */
#define BATCH 64u
#define PROJECTION_DIM 20u
#define RADIUS 0.5

#ifndef FRE_DATA_DIRS
#define FRE_DATA_DIRS "../share/fre-e2t:../.."
#endif

typedef struct texts {
    char **text;
    size_t *len;
    size_t n;
} texts;

/* What changed between two ways to embed the same texts. */
typedef struct change {
    const char *name, *json_name;
    size_t cells;
    double difference; /* largest of any coordinate */
} change;

typedef struct result {
    size_t texts, checked;
    uint64_t tokens;
    double seconds;
    change change[4];
    size_t n_changes;
} result;

/* The bundled population beside the program; FRE_E_NOINPUT. */
static fre_status find_population(char *path, size_t n, fre_err *err)
{
    char exe[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
    const char *dir = FRE_DATA_DIRS;

    exe[len > 0 ? len : 0] = '\0';
    if (strrchr(exe, '/'))
        *strrchr(exe, '/') = '\0';
    while (*dir) {
        size_t width = strcspn(dir, ":");
        int made = snprintf(path, n, "%s/%.*s/%s", exe, (int)width, dir, POPULATION);

        if (made > 0 && (size_t)made < n && access(path, R_OK) == 0)
            return FRE_OK;
        dir += width + (dir[width] == ':');
    }
    return fre_fail(err, FRE_E_NOINPUT, "the bundled population was not found; use {input} FILE");
}

static void texts_wipe(texts *t)
{
    for (size_t i = 0; t->text && i < t->n; i++)
        free(t->text[i]);
    free(t->text);
    free(t->len);
    *t = (texts){0};
}

static int by_text(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;

    return strcmp(*x, *y);
}

/* Sorted, distinct, and evenly thinned to at most TIMED_MAX. */
static void thin(texts *t)
{
    size_t distinct = 0, kept = 0;

    qsort(t->text, t->n, sizeof *t->text, by_text);
    for (size_t i = 0; i < t->n; i++) {
        if (distinct > 0 && strcmp(t->text[distinct - 1], t->text[i]) == 0)
            free(t->text[i]);
        else
            t->text[distinct++] = t->text[i];
    }
    for (size_t i = 0; i < distinct; i++) {
        size_t next = distinct <= TIMED_MAX ? kept : kept * distinct / TIMED_MAX;

        if (i == next && kept < TIMED_MAX)
            t->text[kept++] = t->text[i];
        else
            free(t->text[i]);
    }
    t->n = kept;
    for (size_t i = 0; i < kept; i++)
        t->len[i] = strlen(t->text[i]);
}

static fre_status read_texts(texts *t, const char *path, fre_err *err)
{
    fre_corpus *c = NULL;
    fre_record rec;
    bool more = true;
    fre_status st = fre_corpus_open(&c, path, NULL, err);

    t->text = calloc(READ_MAX, sizeof(char *));
    t->len = calloc(READ_MAX, sizeof(size_t));
    if (st == FRE_OK && (!t->text || !t->len))
        st = fre_fail(err, FRE_E_NOMEM, "out of memory");
    while (st == FRE_OK && t->n < READ_MAX) {
        st = fre_corpus_next(c, &more, &rec, err);
        if (st != FRE_OK || !more)
            break;
        t->text[t->n] = strdup(rec.text);
        if (t->text[t->n])
            t->n++;
        else
            st = fre_fail(err, FRE_E_NOMEM, "out of memory");
    }
    fre_corpus_free(c);
    if (st == FRE_OK)
        thin(t);
    return st;
}

/* n texts in calls of `batch`, in reverse order if asked; row i is text i's. */
static fre_status embed(float *x, fre_embedder *e, const texts *t, size_t n, size_t batch,
                        bool reversed, fre_err *err)
{
    const size_t dim = fre_embedder_info(e)->dim;
    const char *text[BATCH];
    size_t len[BATCH];
    float *rows = calloc(BATCH * dim, sizeof *rows);
    fre_status st = rows ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "out of memory");

    for (size_t first = 0; first < n && st == FRE_OK; first += batch) {
        size_t m = n - first < batch ? n - first : batch;

        for (size_t i = 0; i < m; i++) {
            size_t at = reversed ? n - 1 - first - i : first + i;

            text[i] = t->text[at];
            len[i] = t->len[at];
        }
        st = fre_embed_texts(e, rows, text, len, m, err);
        for (size_t i = 0; i < m && st == FRE_OK; i++)
            memcpy(x + (reversed ? n - 1 - first - i : first + i) * dim, rows + i * dim,
                   dim * sizeof *x);
    }
    free(rows);
    return st;
}

/* With the default grid at one public seed. */
static fre_status compare(change *c, const float *a, const float *b, size_t n, size_t dim,
                          fre_err *err)
{
    fre_sketch_params p = {.seed = "bench embed",
                           .dim = (uint32_t)dim,
                           .grid.proj = PROJECTION_DIM,
                           .grid.cell_edge = 2 * RADIUS / sqrt(PROJECTION_DIM)};
    fre_sketch *s = NULL;
    fre_status st = fre_sketch_new(&s, &p);

    for (size_t i = 0; i < n && st == FRE_OK; i++) {
        fre_cell x, y;

        st = fre_sketch_cell(s, &x, a + i * dim, dim);
        if (st == FRE_OK)
            st = fre_sketch_cell(s, &y, b + i * dim, dim);
        if (st == FRE_OK)
            c->cells += memcmp(x.bytes, y.bytes, sizeof x.bytes) != 0;
    }
    for (size_t i = 0; i < n * dim; i++)
        c->difference = fmax(c->difference, fabs((double)a[i] - (double)b[i]));
    fre_sketch_free(s);
    return st == FRE_OK ? st : fre_fail(err, st, "placing embeddings in cells failed");
}

static fre_status open_embedder(fre_embedder **e, const char *model, uint32_t threads, fre_err *err)
{
    const fre_embedder_opts opts = {.path = model, .threads = threads};

    return fre_embedder_new(e, &opts, err);
}

/* The checked texts once more: on 1 and on 2 threads, one a call and 64 a call, backwards. */
static fre_status check(result *r, const float *timed, const texts *t, const char *model,
                        uint32_t threads, fre_err *err)
{
    static const struct {
        const char *name, *json_name;
        uint32_t threads;
        size_t batch;
        bool reversed;
    } way[] = {{"one thread", "one_thread", 1, BATCH, false},
               {"two threads", "two_threads", 2, BATCH, false},
               {"one text a call", "batch_1", 0, 1, false},
               {"reversed order", "reversed", 0, BATCH, true}};
    fre_status st = FRE_OK;

    for (size_t i = 0; i < sizeof way / sizeof *way && st == FRE_OK; i++) {
        fre_embedder *e = NULL;
        float *x = NULL;

        st = open_embedder(&e, model, way[i].threads ? way[i].threads : threads, err);
        if (st == FRE_OK) {
            size_t dim = fre_embedder_info(e)->dim;

            x = calloc(r->checked * dim, sizeof *x);
            st = x ? embed(x, e, t, r->checked, way[i].batch, way[i].reversed, err)
                   : fre_fail(err, FRE_E_NOMEM, "out of memory");
            r->change[i] = (change){.name = way[i].name, .json_name = way[i].json_name};
            if (st == FRE_OK)
                st = compare(&r->change[i], timed, x, r->checked, dim, err);
        }
        r->n_changes = i + 1;
        free(x);
        fre_embedder_free(e);
    }
    return st;
}

static void print(const fre_bench_output *out, const result *r, uint32_t threads)
{
    FILE *json = out->json;

    if (json) {
        (void)fprintf(json,
                      "{\"texts\": %zu, \"tokens\": %" PRIu64 ", \"threads\": %" PRIu32
                      ", \"seconds\": %.3f, \"texts_per_second\": %.1f, "
                      "\"tokens_per_second\": %.0f, \"checked\": %zu",
                      r->texts, r->tokens, threads, r->seconds, (double)r->texts / r->seconds,
                      (double)r->tokens / r->seconds, r->checked);
        for (size_t i = 0; i < r->n_changes; i++)
            (void)fprintf(json,
                          ", \"%s\": {\"cells_changed\": %zu, \"share\": %.6f, "
                          "\"max_difference\": %.3g}",
                          r->change[i].json_name, r->change[i].cells,
                          (double)r->change[i].cells / (double)r->checked, r->change[i].difference);
        (void)fputs("}\n", json);
        return;
    }
    bench_line(out, 6,
               "embed     %zu texts, %" PRIu64 " tokens, %" PRIu32 " thread%s\n"
               "  whole                %9.2f s   %.0f texts/s, %.0f tokens/s\n"
               "  the same %zu texts in other company: cells changed, largest difference",
               r->texts, r->tokens, threads, threads == 1 ? "" : "s", r->seconds,
               (double)r->texts / r->seconds, (double)r->tokens / r->seconds, r->checked);
    for (size_t i = 0; i < r->n_changes; i++)
        bench_line(out, 6, "  %-20s %8.3f %%  %.2g", r->change[i].name,
                   100.0 * (double)r->change[i].cells / (double)r->checked,
                   r->change[i].difference);
}

static fre_status measure(result *r, const texts *t, const char *model, uint32_t threads,
                          fre_err *err)
{
    fre_embedder *e = NULL;
    fre_embed_stats stats;
    float *x = NULL;
    int64_t start;
    fre_status st = open_embedder(&e, model, threads, err);

    if (st != FRE_OK)
        return st;
    x = calloc(t->n * fre_embedder_info(e)->dim, sizeof *x);
    if (!x) {
        st = fre_fail(err, FRE_E_NOMEM, "out of memory");
        goto out;
    }
    start = fre_clock_ms();
    st = fre_embed_texts(e, x, (const char *const *)t->text, t->len, t->n, err);
    if (st != FRE_OK)
        goto out;
    r->seconds = (double)(fre_clock_ms() - start + 1) / 1000;
    fre_embed_get_stats(e, &stats);
    r->texts = t->n;
    r->tokens = stats.tokens;
    r->checked = t->n < CHECKED_MAX ? t->n : CHECKED_MAX;
    st = check(r, x, t, model, threads, err);
out:
    free(x);
    fre_embedder_free(e);
    return st;
}

fre_status fre_bench_embed(const char *input_path, const char *model_path, uint32_t threads,
                           const fre_bench_output *out, fre_err *err)
{
    char found[PATH_MAX];
    texts t = {0};
    result r = {0};
    fre_status st = FRE_OK;

    if (!input_path) {
        st = find_population(found, sizeof found, err);
        input_path = found;
    }
    if (st != FRE_OK)
        goto out;
    st = read_texts(&t, input_path, err);
    if (st != FRE_OK)
        goto out;
    if (t.n == 0)
        st = fre_fail(err, FRE_E_NOINPUT, "%s holds no text", input_path);
    if (st != FRE_OK)
        goto out;
    st = measure(&r, &t, model_path, threads, err);
    if (st != FRE_OK)
        goto out;
    print(out, &r, threads);
out:
    texts_wipe(&t);
    return st;
}
