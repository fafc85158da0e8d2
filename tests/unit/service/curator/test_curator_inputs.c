/* tests/unit/service/curator/test_curator_inputs.c
 * one descriptor serves a whole run: a file that is replaced while
 * it is read changes nothing, and one that is written to is refused before anything is spent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npy_file.h"
#include "small_release.h"
#include "temp_dir.h"

#define D 8u
#define RECORDS 300u
#define BYTES (2u << 20)

static temp_dir tmp;
static char input[512], other[512], out[512], book[512];
static const char *const said[2] = {"where is my parcel", "please cancel my subscription"};

/* What somebody else does to the input at one moment of the run. */
typedef enum change { NOTHING, REPLACE, APPEND, CUT, OVERWRITE, CHANGES } change;

typedef struct moment {
    change change;
    const char *phase; /* of the progress; NULL: when the input was looked over */
    bool done;
} moment;

/* ---- inputs ------------------------------------------------------------------------------------ */

/* The same text in each record, and columns so wide that the file is not read in one piece. */
static void write_texts(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    for (size_t i = 0; i < RECORDS; i++)
        (void)fprintf(f, "{\"pad\": \"%04000zu\", \"text\": \"%s\"}\n", i, text);
    assert_int_equal(fclose(f), 0);
}

static void write_inputs(bool npy)
{
    (void)temp_path(input, &tmp, npy ? "x.npy" : "x.jsonl");
    (void)temp_path(other, &tmp, "other");
    if (npy) {
        const float x[2][D] = {{.5f, .25f}, {-.5f, .25f}};

        write_rows(input, x[0], RECORDS, D, true);
        write_rows(other, x[1], RECORDS, D, true);
    } else {
        write_texts(input, said[0]);
        write_texts(other, said[1]);
    }
}

/* The last byte becomes another, as a program does that keeps the file's time. */
static void overwrite(void)
{
    struct stat s;
    int fd = open(input, O_RDWR | O_CLOEXEC);
    uint8_t last = 0;

    assert_true(fd >= 0 && fstat(fd, &s) == 0);
    assert_int_equal(pread(fd, &last, 1, s.st_size - 1), 1);
    last = last == '\n' ? ' ' : (uint8_t)(last ^ 0x80);
    assert_int_equal(pwrite(fd, &last, 1, s.st_size - 1), 1);
    assert_int_equal(futimens(fd, (struct timespec[2]){s.st_atim, s.st_mtim}), 0);
    assert_int_equal(close(fd), 0);
}

static void happen(moment *m)
{
    FILE *f;

    if (m->done)
        return;
    m->done = true;
    switch (m->change) {
    case REPLACE:
        assert_int_equal(rename(other, input), 0);
        break;
    case APPEND:
        f = fopen(input, "ab");
        assert_non_null(f);
        assert_true(fputs("{\"text\": \"one more\"}\n", f) >= 0);
        assert_int_equal(fclose(f), 0);
        break;
    case CUT:
        assert_int_equal(truncate(input, 100), 0);
        break;
    case OVERWRITE:
        overwrite();
        break;
    case NOTHING:
    case CHANGES:
    default:
        break;
    }
}

static void when_looked_over(void *ctx, const fre_curator_stats *stats)
{
    moment *m = ctx;

    assert_int_equal(stats->records, RECORDS);
    if (!m->phase)
        happen(m);
}

static void when_at_work(void *ctx, const char *phase, uint64_t done, uint64_t total)
{
    moment *m = ctx;

    (void)done;
    (void)total;
    if (m->phase && strcmp(phase, m->phase) == 0)
        happen(m);
}

/* ---- runs -------------------------------------------------------------------------------------- */

static fre_status release(fre_curator_result **rel, moment *m, fre_err *err)
{
    const fre_progress progress = {.update = when_at_work, .ctx = m};
    fre_curator_opts o = small_release(input, out);

    o.ledger = book;
    o.looked = when_looked_over;
    o.looked_ctx = m;
    o.progress = &progress;
    return fre_curator_synthesize(rel, &o, err);
}

/* SHA-256 of the book's salt and the file, as an entry has it. */
static void hash_as_booked(char hex[65], const char *path)
{
    fre_ledger_content c;
    fre_sha256 h;
    uint8_t sum[32], *text = malloc(BYTES);
    long n;

    assert_non_null(text);
    n = read_file(path, text, BYTES);
    assert_true(n > 0 && n < (long)BYTES);
    assert_int_equal(fre_ledger_begin(&c, book, false, NULL), FRE_OK);
    fre_sha256_begin(&h, (fre_bytes){c.salt, sizeof c.salt});
    fre_sha256_add(&h, text, (size_t)n);
    fre_sha256_end(sum, &h);
    fre_hex(hex, sum, sizeof sum);
    free(text);
}

static size_t booked(char content[65])
{
    fre_ledger_book *b = NULL;
    size_t n;

    assert_int_equal(fre_ledger_read(&b, book, NULL), FRE_OK);
    n = b->n;
    if (n > 0)
        (void)snprintf(content, 65, "%s", b->entry[n - 1].content);
    fre_ledger_book_free(b);
    return n;
}

/* Is the one centroid that was released nearer to what the input held than to what the other does? */
static bool is_of_the_input(const char *path, bool npy)
{
    const size_t len[2] = {strlen(said[0]), strlen(said[1])};
    float centroid[1024], want[2 * 1024] = {0};
    double dot[2] = {0, 0};
    fre_npy *f = NULL;
    size_t d;

    assert_int_equal(fre_npy_open(&f, path, NULL), FRE_OK);
    d = fre_npy_dim(f);
    assert_true(d <= 1024);
    assert_int_equal(fre_npy_rows(f), 1);
    assert_int_equal(fre_npy_row(f, centroid, 0, NULL), FRE_OK);
    fre_npy_free(f);
    if (npy) {
        want[0] = .5f;
        want[d] = -.5f;
    } else {
        const fre_embedder_opts opts = {.threads = 1};
        fre_embedder *e = NULL;

        assert_int_equal(fre_embedder_new(&e, &opts, NULL), FRE_OK);
        assert_int_equal(fre_embed_texts(e, want, said, len, 2, NULL), FRE_OK);
        fre_embedder_free(e);
    }
    for (size_t i = 0; i < 2 * d; i++)
        dot[i / d] += (double)want[i] * (double)centroid[i % d];
    return dot[0] > dot[1];
}

static void clear(void)
{
    remove_release(out);
    (void)remove(book);
}

/* As if nothing had happened: released and booked is what was looked over. */
static void assert_unmoved(moment m, bool npy)
{
    char path[600], before[65], content[65] = "";
    fre_curator_result *rel = NULL;
    fre_err err = {.text = ""};
    FILE *copy;
    uint8_t *text = malloc(BYTES);
    char kept[512];
    long n;

    assert_non_null(text);
    write_inputs(npy);
    n = read_file(input, text, BYTES);
    copy = fopen(temp_path(kept, &tmp, "kept"), "wb");
    assert_true(copy && fwrite(text, 1, (size_t)n, copy) == (size_t)n && fclose(copy) == 0);
    free(text);
    if (release(&rel, &m, &err) != FRE_OK)
        fail_msg("%s", err.text);
    assert_true(m.done || m.change == NOTHING);
    assert_int_equal(rel->stats.records, RECORDS);
    fre_curator_result_free(rel);
    assert_int_equal(booked(content), 1);
    hash_as_booked(before, kept);
    assert_string_equal(content, before);
    (void)snprintf(path, sizeof path, "%s/centroids.npy", out);
    assert_true(is_of_the_input(path, npy));
    clear();
}

/* booked_then: 0, or 1 where the change is noticed when noise has been drawn, which is spent. */
static void assert_refused(moment m, bool npy, size_t booked_then)
{
    fre_curator_result *rel = NULL;
    fre_err err = {.text = ""};
    char content[65];

    write_inputs(npy);
    assert_int_equal(release(&rel, &m, &err), FRE_E_AGAIN);
    assert_true(m.done);
    assert_non_null(strstr(err.text, "was changed while it was read"));
    assert_false(path_exists(out));
    assert_int_equal(booked(content), booked_then);
    clear();
}

static void texts_stay_what_was_looked_over(void **state)
{
    (void)state;
    assert_unmoved((moment){.change = NOTHING}, false);
    assert_unmoved((moment){.change = REPLACE}, false);
    assert_unmoved((moment){.change = REPLACE, .phase = "embedding"}, false);
    for (change c = APPEND; c < CHANGES; c++) {
        assert_refused((moment){.change = c}, false, 0);
        assert_refused((moment){.change = c, .phase = "embedding"}, false, 0);
    }
}

static void rows_stay_what_was_looked_over(void **state)
{
    (void)state;
    assert_unmoved((moment){.change = NOTHING}, true);
    assert_unmoved((moment){.change = REPLACE}, true);
    assert_unmoved((moment){.change = REPLACE, .phase = "placing"}, true);
    for (change c = APPEND; c < CHANGES; c++) {
        assert_refused((moment){.change = c}, true, 0);
        assert_refused((moment){.change = c, .phase = "placing"}, true,
                       1); /* counted, not summed */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_stay_what_was_looked_over),
        cmocka_unit_test(rows_stay_what_was_looked_over),
    };
    int failed;

    temp_dir_make(&tmp);
    (void)temp_path(out, &tmp, "out");
    (void)temp_path(book, &tmp, "book.json");
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    temp_dir_remove(&tmp);
    return failed;
}
