/* tests/unit/service/curator/test_curator_poison.c
 * one record, replaced by whatever can be wrong with a record, changes
 * nothing about the others: not that they are read, nor as whose, nor what they add to which cell. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fre/corpus.h>
#include <fre/curator.h>

#include "mix.h"
#include "temp_dir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS 40u
#define LONG_BYTES ((size_t)10 << 20)

typedef struct buffer {
    char *p;
    size_t n, cap;
} buffer;

static void put(buffer *b, const char *p, size_t n)
{
    if (b->n + n > b->cap) {
        b->cap = 2 * (b->n + n) + 4096;
        b->p = realloc(b->p, b->cap);
        assert_non_null(b->p);
    }
    if (n > 0)
        memcpy(b->p + b->n, p, n);
    b->n += n;
}

static void put_text(buffer *b, const char *text)
{
    put(b, text, strlen(text));
}

/* ---- texts ----------------------------------------------------------------------------------- */

typedef struct item {
    char user[16], text[64];
} item;

/* Texts that make a writer quote and escape; no white space around them. */
static void make_items(item *it)
{
    static const char *const piece[] = {"a", "b ",  "\"", ",",   "\"\"", "c",  "\xc3\xa9",
                                        ";", "d\n", "{",  "[1]", "'",    "\\", "null"};

    for (size_t i = 0; i < RECORDS; i++) {
        const size_t pieces = mix_next() % 6;

        (void)snprintf(it[i].user, sizeof it[i].user, "u%u", (unsigned)(mix_next() % 12));
        (void)snprintf(it[i].text, sizeof it[i].text, "t%zu", i % 7);
        for (size_t k = 0; k < pieces; k++)
            strcat(it[i].text, piece[mix_next() % (sizeof piece / sizeof *piece)]);
        strcat(it[i].text, ".");
    }
}

static void put_csv(buffer *b, const char *text)
{
    if (!strpbrk(text, ",\"\n;") && mix_next() % 2) {
        put_text(b, text);
        return;
    }
    put_text(b, "\"");
    for (; *text; text++)
        put(b, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    put_text(b, "\"");
}

static void put_json(buffer *b, const char *text)
{
    put_text(b, "\"");
    for (; *text; text++) {
        if (*text == '\n')
            put_text(b, "\\n");
        else {
            if (*text == '"' || *text == '\\')
                put_text(b, "\\");
            put(b, text, 1);
        }
    }
    put_text(b, "\"");
}

static void put_line(buffer *b, const char *text)
{
    for (; *text; text++)
        put(b, *text == '\n' ? " " : text, 1);
}

typedef struct format {
    fre_corpus_format format;
    bool has_users;
    const char *before, *between, *after;
} format;

static const format formats[] = {
    {FRE_CORPUS_TXT, false, "", "\n", "\n"},
    {FRE_CORPUS_CSV, true, "user,text\n", "\n", "\n"},
    {FRE_CORPUS_CSV, true, "user,text\r\n", "\r\n", "\r\n"},
    {FRE_CORPUS_JSONL, true, "", "\n", "\n"},
    {FRE_CORPUS_JSONL, true, "[\n", ",\n", "\n]\n"},
};

static void put_item(buffer *b, const format *f, const item *it)
{
    if (f->format == FRE_CORPUS_TXT) {
        put_line(b, it->text);
    } else if (f->format == FRE_CORPUS_CSV) {
        put_csv(b, it->user);
        put_text(b, ",");
        put_csv(b, it->text);
    } else {
        put_text(b, "{\"user\":");
        put_json(b, it->user);
        put_text(b, ",\"text\":");
        put_json(b, it->text);
        put_text(b, "}");
    }
}

#define POISON(s)                                                                                  \
    {                                                                                              \
        s, sizeof(s) - 1                                                                           \
    }
static const struct {
    const char *p;
    size_t n;
} lines[] =
    {
        POISON(""),
        POISON("\xff\xfe\x80"),
        POISON("a\0b"),
        POISON("\0"),
        POISON("PAR1"),
        POISON("ORC army"),
        POISON("%PDF-1.7"),
        POISON("\xef\xbb\xbf"),
        POISON("[1]"),
        POISON("[\"a\"]"),
        POISON("[{},"),
        POISON("{"),
        POISON("}"),
        POISON("{\"user\":\"u1\"}"),
        POISON("\"abc"),
        POISON("{\"user\":\"u1\",\"text\":7}"),
        POISON("{\"user\":null,\"text\":\"x\"}"),
        POISON("{\"user\":\"\",\"text\":\"x\"}"),
        POISON("{\"user\":\"v\",\"text\":\"\\u0000\"}"),
        POISON("{\"user\":\"v\",\"text\":[{"),
        POISON("v,\"abc"),
        POISON("v,\"a\"b"),
        POISON("\"v,abc"),
        POISON("v"),
        POISON(",x"),
        POISON("v,x,y"),
        POISON("v,\"x"),
        POISON("v,\"\"\"x"),
        POISON("\""),
        POISON("v,\xc0\xaf"),
        POISON("a\rb"),
        POISON("sep=;"),
},
  elements[] = {
      POISON("{\"user\":\"u1\"}"),
      POISON("{\"user\":\"u1\",\"text\":7}"),
      POISON("null"),
      POISON("7"),
      POISON("{\"user\":null,\"text\":\"x\"}"),
      POISON("{\"user\":\"\",\"text\":\"x\"}"),
      POISON("[]"),
      POISON("{\"user\":\"v\",\"text\":}"),
      POISON("{\"user\":\"v\",\"text\":\"\xff\"}"),
      POISON("{}"),
      POISON("{\"user\":\"v\",\"text\":\"\\ud800\"}"),
      POISON("\"a text without a user\""),
      POISON("{\"user\":\"v\",\"text\":\"a\0b\"}"),
};

/* The last kind is a giant. */
static void put_poison(buffer *b, const format *f, size_t kind, size_t kinds)
{
    const bool array = f->before[0] == '[';

    if (kind + 1 < kinds)
        put(b, array ? elements[kind].p : lines[kind].p, array ? elements[kind].n : lines[kind].n);
    for (size_t i = 0; kind + 1 == kinds && i < LONG_BYTES; i += 8)
        put_text(b, i == 0 && array                ? "\"       "
                    : i + 8 >= LONG_BYTES && array ? "       \""
                                                   : "looong \r");
}

static fre_corpus *open_file(const buffer *b, const format *f)
{
    const fre_corpus_opts o = {.format = f->format,
                               .encoding = "utf-8",
                               .invalid = FRE_CORPUS_INVALID_SKIP,
                               .user_field = f->has_users ? "user" : NULL};
    fre_corpus *c = NULL;
    fre_err err = {.text = ""};

    if (fre_corpus_open_memory(&c, (fre_bytes){(const uint8_t *)b->p, b->n}, &o, &err) != FRE_OK)
        fail_msg("%s", err.text);
    return c;
}

static bool is_item(const fre_record *rec, const format *f, const item *it)
{
    char text[64];

    (void)snprintf(text, sizeof text, "%s", it->text);
    for (char *p = text; f->format == FRE_CORPUS_TXT && *p; p++)
        *p = *p == '\n' ? ' ' : *p;
    return strcmp(rec->text, text) == 0 && (!f->has_users || strcmp(rec->user, it->user) == 0);
}

/* All others are read, in order, and besides them one record at most. */
static void check_others(const buffer *b, const format *f, const item *it, size_t victim,
                         size_t kind)
{
    fre_corpus *c = open_file(b, f);
    fre_record rec;
    fre_err err = {.text = ""};
    size_t next = victim == 0, extra = 0;
    bool more = true;

    for (;;) {
        if (fre_corpus_next(c, &more, &rec, &err) != FRE_OK)
            fail_msg("format %d, poison %zu at %zu: %s", (int)f->format, kind, victim, err.text);
        if (!more)
            break;
        if (next < RECORDS && is_item(&rec, f, &it[next])) {
            next++;
            next += next == victim;
        } else if (++extra > 1) {
            fail_msg("format %d, poison %zu at %zu: record %zu was not read", (int)f->format, kind,
                     victim, next);
        }
    }
    assert_int_equal(next, RECORDS);
    fre_corpus_free(c);
}

static void test_texts(void **state)
{
    item it[RECORDS];
    buffer b = {NULL, 0, 0};

    (void)state;
    mix = 77;
    for (size_t round = 0; round < 8; round++) {
        for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
            const format *f = &formats[k];
            const size_t kinds = f->before[0] == '[' ? sizeof elements / sizeof *elements + 1
                                                     : sizeof lines / sizeof *lines + 1;

            for (size_t kind = 0; kind < kinds - (round > 0); kind++) {
                const size_t victim = round % 2         ? mix_next() % RECORDS
                                      : (round / 2) % 2 ? RECORDS - 1
                                                        : 0;

                make_items(it);
                b.n = 0;
                put_text(&b, f->before);
                for (size_t i = 0; i < RECORDS; i++) {
                    if (i == victim)
                        put_poison(&b, f, kind, kinds);
                    else
                        put_item(&b, f, &it[i]);
                    put_text(&b, i + 1 < RECORDS ? f->between : f->after);
                }
                check_others(&b, f, it, victim, kind);
            }
        }
    }
    free(b.p);
}

/* ---- embeddings ------------------------------------------------------------------------------ */

#define ROWS 60u
#define DIM 8u
#define PLACES 9u

/* Row i is a copy of one of a few points, far from each other. */
static void make_rows(float *x)
{
    float place[PLACES][DIM];

    for (size_t p = 0; p < PLACES; p++)
        for (size_t j = 0; j < DIM; j++)
            place[p][j] = (float)(mix_gauss() / 4);
    for (size_t i = 0; i < ROWS; i++)
        memcpy(x + i * DIM, place[mix_next() % PLACES], sizeof place[0]);
}

static const char *at(const char *name)
{
    static char path[4][512];
    static size_t turn;
    char *p = path[turn++ % 4];

    (void)snprintf(p, 512, "%s/%s", test_dir.path, name);
    return p;
}

/* `left_out` of the rows, and of the names, is not written. */
static void write_input(const float *x, char names[ROWS][24], size_t left_out)
{
    FILE *f = fopen(at("x.npy"), "wb"), *g = fopen(at("users.txt"), "wb");

    assert_non_null(f);
    assert_non_null(g);
    assert_int_equal(fre_npy_write_header(f, FRE_NPY_F4, ROWS - (left_out < ROWS), DIM, NULL),
                     FRE_OK);
    for (size_t i = 0; i < ROWS; i++) {
        if (i == left_out)
            continue;
        assert_int_equal(fwrite(x + i * DIM, sizeof *x, DIM, f), DIM);
        (void)fprintf(g, "%s\n", names[i]);
    }
    assert_int_equal(fclose(f), 0);
    assert_int_equal(fclose(g), 0);
}

typedef struct cell {
    double sum[DIM];
    int64_t count;
} cell;

static int by_sum(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(cell));
}

/* Every cell there is, by a run without noise and without a threshold. */
static size_t curate(cell out[ROWS], bool users, fre_corpus_invalid invalid)
{
    fre_curator_opts o;
    fre_curator_result *rel = NULL;
    fre_npy *npy = NULL;
    fre_err err = {.text = ""};
    float row[DIM];
    size_t n;

    fre_curator_opts_init(&o);
    o.input = at("x.npy");
    o.output = at("out");
    o.force = true;
    o.user_file = users ? at("users.txt") : NULL;
    o.corpus.invalid = invalid;
    o.inverter = "none";
    o.threads = 1;
    o.plan.epsilon = HUGE_VAL;
    o.plan.threshold = 1;
    o.plan.population = 1000;
    o.plan.cells_per_user = users ? 2 : 1;
    o.seeded = true;
    if (fre_curator_synthesize(&rel, &o, &err) != FRE_OK)
        fail_msg("%s", err.text);
    n = rel->release.n;
    assert_true(n <= ROWS);
    memset(out, 0, ROWS * sizeof *out);
    if (n > 0)
        assert_int_equal(fre_npy_open(&npy, at("out/centroids.npy"), NULL), FRE_OK);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(fre_npy_row(npy, row, i, NULL), FRE_OK);
        out[i].count = (int64_t)rel->release.cell[i].count;
        for (size_t j = 0; j < DIM; j++)
            out[i].sum[j] = rint((double)row[j] * (double)out[i].count * 1e4) + 0.0;
    }
    fre_npy_free(npy);
    fre_curator_result_free(rel);
    qsort(out, n, sizeof *out, by_sum);
    return n;
}

/* Cells of a that are not in b. */
static size_t not_in(const cell *a, size_t n, const cell *b, size_t m)
{
    size_t missing = n;

    for (size_t i = 0, j = 0; i < n && j < m;) {
        const int c = memcmp(&a[i], &b[j], sizeof *a);

        missing -= c == 0;
        i += c <= 0;
        j += c >= 0;
    }
    return missing;
}

static const struct {
    float value;
    bool usable;
} numbers[] = {{NAN, false},   {INFINITY, false}, {-INFINITY, false}, {1e30f, true},
               {-3e38f, true}, {-0.0f, true},     {1e-42f, true},     {5, true}};
static const char *const odd_names[] = {"", " \t", "\xff", "a\x01\xc0\xaf"};

/* A record more or less changes one cell, if it is usable, and none otherwise. */
static void test_rows(void **state)
{
    float x[ROWS * DIM];
    char names[ROWS][24];
    cell with[ROWS], without[ROWS];

    (void)state;
    mix = 5;
    for (size_t round = 0; round < 4; round++) {
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
            const size_t victim = round == 0 ? 0 : mix_next() % ROWS;
            const bool users = round % 2 == 1;
            size_t n, m;

            make_rows(x);
            for (size_t i = 0; i < ROWS; i++) /* the victim is nobody else */
                (void)snprintf(names[i], sizeof names[i], "u%u%s", (unsigned)(mix_next() % 9),
                               i == victim ? "v" : "");
            for (size_t j = 0; j < (round < 2 ? 1 : DIM); j++)
                x[victim * DIM + j] = numbers[k].value;
            write_input(x, names, victim);
            n = curate(without, users, FRE_CORPUS_INVALID_SKIP);
            write_input(x, names, SIZE_MAX);
            m = curate(with, users, FRE_CORPUS_INVALID_SKIP);
            assert_true(not_in(without, n, with, m) <= numbers[k].usable);
            assert_true(not_in(with, m, without, n) <= numbers[k].usable);
        }
    }
}

/* Nor does whoever has no name, or a name that is no text. */
static void test_names(void **state)
{
    float x[ROWS * DIM];
    char names[ROWS][24];
    cell with[ROWS], without[ROWS];

    (void)state;
    mix = 6;
    for (size_t k = 0; k < sizeof odd_names / sizeof *odd_names; k++) {
        const size_t victim = mix_next() % ROWS;
        size_t n, m;

        make_rows(x);
        for (size_t i = 0; i < ROWS; i++)
            (void)snprintf(names[i], sizeof names[i], "u%u", (unsigned)(mix_next() % 9));
        (void)snprintf(names[victim], sizeof names[victim], "%s", odd_names[k]);
        write_input(x, names, victim);
        n = curate(without, true, FRE_CORPUS_INVALID_SKIP);
        write_input(x, names, SIZE_MAX);
        m = curate(with, true, FRE_CORPUS_INVALID_SKIP);
        assert_int_equal(n, m);
        assert_memory_equal(with, without, sizeof with);
    }
}

/* Two spellings of a name are one user, whose copies count once and whose third text does not. */
static void test_users_of_rows(void **state)
{
    float x[ROWS * DIM];
    char names[ROWS][24];
    cell out[ROWS];
    int64_t count = 0;
    size_t n;

    (void)state;
    mix = 8;
    make_rows(x);
    for (size_t i = 0; i < ROWS; i++)
        (void)snprintf(names[i], sizeof names[i], "%s", i % 2 ? "Zo\xc3\xab" : " Zoe\xcc\x88 ");
    write_input(x, names, SIZE_MAX);
    n = curate(out, true, FRE_CORPUS_INVALID_SKIP);
    for (size_t i = 0; i < n; i++)
        count += out[i].count;
    assert_int_equal(n, 2);
    assert_int_equal(count, 2);
}

/* Neither the folder nor its statement says how many records were left out. */
static void test_counts_stay_private(void **state)
{
    float x[ROWS * DIM];
    char names[ROWS][24];
    cell out[ROWS];
    char release[2][1 << 15];

    (void)state;
    mix = 9;
    make_rows(x);
    for (size_t i = 0; i < ROWS; i++)
        (void)snprintf(names[i], sizeof names[i], "u%zu", i);
    x[0] = x[DIM] = NAN;
    for (size_t bad = 0; bad < 2; bad++) {
        FILE *f;

        write_input(x, names, bad ? 0 : SIZE_MAX); /* one of two that cannot be used, or both */
        (void)curate(out, true, FRE_CORPUS_INVALID_SKIP);
        f = fopen(at("out/release.json"), "rb");
        assert_non_null(f);
        memset(release[bad], 0, sizeof release[bad]);
        assert_true(fread(release[bad], 1, sizeof release[bad] - 1, f) > 0);
        assert_int_equal(fclose(f), 0);
    }
    assert_string_equal(release[0], release[1]);
    assert_non_null(strstr(release[0], "\"strict_intake\": false"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_users_of_rows),
        cmocka_unit_test(test_counts_stay_private),
    };

    return cmocka_run_group_tests(tests, test_dir_make, test_dir_remove);
}
