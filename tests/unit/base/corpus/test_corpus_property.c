/* What a careful writer writes is what the reader reads: random records, written as Python's csv
 * and json modules or a shell would, plain or compressed, read back in reads of random size.
 * FRE_TEST_SEED and FRE_TEST_ITERS change the cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corpus_private.h"
#include "mix.h"

#define RECORDS 24
#define PIECES 12
#define TEXT_BYTES 256
#define FILE_BYTES (1u << 20)

static size_t below(size_t n)
{
    return (size_t)(mix_next() % n);
}

typedef struct item {
    char text[TEXT_BYTES]; /* as the reader must deliver it; "" where there is nothing to deliver */
    char before[8], after[8]; /* white space around it in the file */
    char user[16];
} item;

static const char *const solid[] = {"a",
                                    "Z",
                                    "0",
                                    "\"",
                                    "'",
                                    ",",
                                    "\\",
                                    "{",
                                    "\xc3\xa9",
                                    "\xe2\x82\xac",
                                    "\x01",
                                    "\xe4\xb8\xad",
                                    ";",
                                    "\xf0\x9f\x98\x80",
                                    "\\u0041",
                                    "\"\"",
                                    "NA",
                                    "null",
                                    "\xe2\x80\x8b",
                                    "\x7f"};
/* Last two: only where a record may span lines. */
static const char *const space[] = {" ", "\t", "\xc2\xa0", "\xe3\x80\x80", "\n", "\r\n"};

static void make_item(item *it, bool lines)
{
    size_t spaces = lines ? 6 : 4, n = 0, pieces = below(PIECES);
    const char *s = NULL;

    (void)memset(it, 0, sizeof *it);
    for (size_t i = 0; i < pieces; i++) {
        bool edge = i == 0 || i + 1 == pieces;

        s = edge || below(3) ? solid[below(sizeof solid / sizeof *solid)] : space[below(spaces)];
        n += (size_t)snprintf(it->text + n, sizeof it->text - n, "%s", s);
    }
    if (below(4) == 0)
        (void)snprintf(it->before, sizeof it->before, "%s", space[below(spaces)]);
    if (below(4) == 0)
        (void)snprintf(it->after, sizeof it->after, "%s", space[below(spaces)]);
    (void)snprintf(it->user, sizeof it->user, "%s%zu", below(2) ? "u\"," : "", below(100));
}

typedef struct sink {
    char *p;
    size_t n;
} sink;

static void emit(sink *s, const char *text)
{
    size_t n = strlen(text);

    assert_true(s->n + n < FILE_BYTES);
    (void)memcpy(s->p + s->n, text, n);
    s->n += n;
}

static void emit_quoted(sink *s, const item *it, char delim, bool all)
{
    char whole[TEXT_BYTES + 16], must[] = {'"', '\r', '\n', delim, '\0'};

    (void)snprintf(whole, sizeof whole, "%.7s%.255s%.7s", it->before, it->text, it->after);
    if (!all && !strpbrk(whole, must)) {
        emit(s, whole);
        return;
    }
    emit(s, "\"");
    for (const char *c = whole; *c; c++) {
        char one[3] = {*c, *c == '"' ? '"' : '\0', '\0'};

        emit(s, one);
    }
    emit(s, "\"");
}

static void emit_table(sink *s, const item *items, char delim)
{
    const char *end = below(2) ? "\r\n" : "\n";
    char comma[2] = {delim, '\0'};
    bool all = below(2);

    emit(s, all ? "\"n\"" : "n");
    emit(s, comma);
    emit(s, "text");
    emit(s, comma);
    emit(s, "user");
    emit(s, end);
    for (size_t i = 0; i < RECORDS; i++) {
        item user = {0};

        (void)snprintf(user.text, sizeof user.text, "%s", items[i].user);
        emit(s, "7");
        emit(s, comma);
        emit_quoted(s, &items[i], delim, all);
        emit(s, comma);
        emit_quoted(s, &user, delim, all);
        if (i + 1 < RECORDS || below(2))
            emit(s, end);
    }
}

static uint32_t code_point(const uint8_t **p)
{
    const uint8_t *q = *p;
    uint32_t c = *q;
    unsigned more = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;

    if (more)
        c &= 0x3fu >> more;
    for (unsigned i = 1; i <= more; i++)
        c = c << 6 | (q[i] & 0x3fu);
    *p += more + 1;
    return c;
}

static void emit_json_string(sink *s, const char *text, bool ascii)
{
    const uint8_t *p = (const uint8_t *)text;

    emit(s, "\"");
    while (*p) {
        const uint8_t *from = p;
        uint32_t c = code_point(&p);
        char out[16] = {0};

        if (c == '"' || c == '\\')
            (void)snprintf(out, sizeof out, "\\%c", (int)c);
        else if (c == '\n')
            (void)snprintf(out, sizeof out, "\\n");
        else if (c < 0x20 || (ascii && c > 0x7e && c < 0x10000))
            (void)snprintf(out, sizeof out, below(2) ? "\\u%04x" : "\\u%04X", c);
        else if (ascii && c >= 0x10000)
            (void)snprintf(out, sizeof out, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
                           0xdc00 + ((c - 0x10000) & 0x3ff));
        else
            (void)memcpy(out, from, (size_t)(p - from));
        emit(s, out);
    }
    emit(s, "\"");
}

static void emit_jsonl(sink *s, const item *items)
{
    const char *gap = below(2) ? " " : "";

    for (size_t i = 0; i < RECORDS; i++) {
        char whole[TEXT_BYTES + 16];
        bool user_first = below(2), ascii = below(2);

        (void)snprintf(whole, sizeof whole, "%.7s%.255s%.7s", items[i].before, items[i].text,
                       items[i].after);
        emit(s, "{\"x\":[1,{\"text\":null}],");
        for (int k = 0; k < 2; k++) {
            bool user = (k == 0) == user_first;

            emit(s, user ? "\"user\":" : "\"text\":");
            emit(s, gap);
            if (user && items[i].user[0] != 'u')
                emit(s, items[i].user);
            else
                emit_json_string(s, user ? items[i].user : whole, ascii);
            emit(s, k == 0 ? "," : "}");
            emit(s, gap);
        }
        emit(s, i + 1 < RECORDS || below(2) ? "\n" : "");
    }
}

static void emit_txt(sink *s, const item *items)
{
    const char *end = below(2) ? "\r\n" : "\n";

    for (size_t i = 0; i < RECORDS; i++) {
        emit(s, items[i].before);
        emit(s, items[i].text);
        emit(s, items[i].after);
        emit(s, i + 1 < RECORDS || below(2) ? end : "");
    }
}

/* In place, through a copy; in one, two or three members or frames. */
static void compress_some(sink *s)
{
    size_t how = below(3), from = 0, n = 0;
    char *out = NULL;

    if (how == 0)
        return;
    out = malloc(FILE_BYTES);
    assert_non_null(out);
    do {
        size_t take = below(3) ? s->n - from : below(s->n - from + 1);

        if (how == 1) {
            n += ZSTD_compress(out + n, FILE_BYTES - n, s->p + from, take, 1);
        } else {
            z_stream z = {0};

            assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
            z.next_in = (uint8_t *)s->p + from;
            z.avail_in = (uInt)take;
            z.next_out = (uint8_t *)out + n;
            z.avail_out = (uInt)(FILE_BYTES - n);
            assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
            n = FILE_BYTES - z.avail_out;
            (void)deflateEnd(&z);
        }
        from += take;
    } while (from < s->n);
    free(s->p);
    s->p = out;
    s->n = n;
}

static void read_back(const sink *s, const item *items, fre_corpus_format format)
{
    fre_corpus_opts opts = {.format = format,
                            .user_field = format == FRE_CORPUS_TXT ? NULL : "user"};
    fre_corpus *c = NULL;
    fre_record r;
    fre_err err = {.text = ""};
    bool more = true;
    size_t i = 0, empty = 0;
    fre_corpus_stats stats;
    size_t chunk = below(2) ? 1 + below(40) : FRE_SRC_CHUNK;

    if (fre_corpus_open_chunked(&c, (fre_bytes){(uint8_t *)s->p, s->n}, chunk, &opts, &err))
        fail_msg("%s", err.text);
    for (;; i++) {
        if (fre_corpus_next(c, &more, &r, &err))
            fail_msg("record %zu: %s", i, err.text);
        for (; i < RECORDS && items[i].text[0] == '\0'; i++)
            empty++;
        if (!more)
            break;
        assert_true(i < RECORDS);
        assert_string_equal(r.text, items[i].text);
        if (opts.user_field)
            assert_string_equal(r.user, items[i].user);
    }
    assert_int_equal(i, RECORDS);
    fre_corpus_get_stats(c, &stats);
    assert_int_equal(stats.empty, empty);
    assert_int_equal(stats.records, RECORDS - empty);
    assert_int_equal(stats.bytes, s->n);
    fre_corpus_free(c);
}

static size_t from_env(const char *name, size_t fallback)
{
    const char *v = getenv(name);

    return v && *v ? (size_t)strtoull(v, NULL, 10) : fallback;
}

static void test_round_trips(void **unused)
{
    size_t seed = from_env("FRE_TEST_SEED", 1), iters = from_env("FRE_TEST_ITERS", 2000);

    (void)unused;
    for (size_t k = 0; k < iters; k++) {
        static const fre_corpus_format formats[] = {FRE_CORPUS_TXT, FRE_CORPUS_JSONL,
                                                    FRE_CORPUS_CSV, FRE_CORPUS_TSV};
        fre_corpus_format format = formats[k % 4];
        item items[RECORDS];
        sink s = {malloc(FILE_BYTES), 0};

        mix = seed * 1000003 + k;
        assert_non_null(s.p);
        for (size_t i = 0; i < RECORDS; i++)
            make_item(&items[i], format != FRE_CORPUS_TXT);
        /* An empty last line without a line end is no line at all. */
        (void)snprintf(items[RECORDS - 1].text, sizeof items[0].text, "last");
        switch (format) {
        case FRE_CORPUS_TXT:
            emit_txt(&s, items);
            break;
        case FRE_CORPUS_JSONL:
            emit_jsonl(&s, items);
            break;
        case FRE_CORPUS_CSV:
        case FRE_CORPUS_TSV:
        case FRE_CORPUS_AUTO:
            emit_table(&s, items, format == FRE_CORPUS_CSV ? ',' : '\t');
            break;
        }
        compress_some(&s);
        read_back(&s, items, format);
        free(s.p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trips)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
