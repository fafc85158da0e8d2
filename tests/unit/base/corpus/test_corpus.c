/* Readers of texts: every way a file can be right, wrong, odd or hostile, with exact messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "corpus_private.h"
#include "temp_dir.h"

#define S(lit) ((fre_bytes){(const uint8_t *)(lit), sizeof(lit) - 1})

/* What a reader did, as text: "line:text" or "line:text|user|label" a record, then the message
 * if it failed, then the counts of empty and invalid records where there are any. */
typedef struct outcome {
    fre_status st;
    char text[4096];
} outcome;

static void add(outcome *o, const char *fmt, ...) FRE_PRINTF(2, 3);
static void add(outcome *o, const char *fmt, ...)
{
    size_t n = strlen(o->text);
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(o->text + n, sizeof o->text - n, fmt, ap);
    va_end(ap);
}

static void drain(outcome *o, fre_corpus *c)
{
    fre_record sentinel = {0}, r = {0};
    fre_corpus_stats s;
    fre_err err = {.text = ""};
    bool more = true;

    for (;;) {
        r = sentinel;
        o->st = fre_corpus_next(c, &more, &r, &err);
        if (o->st || !more)
            break;
        assert_int_equal(strlen(r.text), r.text_len);
        add(o, "%llu:%s", (unsigned long long)r.line, r.text);
        if (r.user || r.label)
            add(o, "|%s|%s", r.user ? r.user : "-", r.label ? r.label : "-");
        add(o, "\n");
    }
    assert_memory_equal(&r, &sentinel, sizeof r); /* untouched on failure and at the end */
    if (o->st)
        add(o, "%s\n", err.text);
    fre_corpus_get_stats(c, &s);
    if (s.empty)
        add(o, "empty %llu\n", (unsigned long long)s.empty);
    if (s.invalid)
        add(o, "invalid %llu\n", (unsigned long long)s.invalid);
}

static const uint8_t salt[FRE_HASH_BYTES] = {'s', 'a', 'l', 't'};

static const uint8_t *salted(uint8_t out[FRE_HASH_BYTES], fre_bytes data)
{
    fre_sha256 h;

    fre_sha256_begin(&h, (fre_bytes){salt, sizeof salt});
    fre_sha256_add(&h, data.p, data.n);
    fre_sha256_end(out, &h);
    return out;
}

static outcome run(fre_bytes data, size_t chunk, const fre_corpus_opts *opts)
{
    uint8_t sum[FRE_HASH_BYTES], want[FRE_HASH_BYTES];
    outcome o = {FRE_OK, ""};
    fre_corpus *c = NULL;
    fre_err err = {.text = ""};

    o.st = fre_corpus_open_chunked(&c, data, chunk, opts, &err);
    if (o.st) {
        assert_null(c);
        add(&o, "%s\n", err.text);
        return o;
    }
    drain(&o, c);
    for (int pass = 2; pass < 4; pass++) { /* from its start again it is what it was */
        outcome p = {FRE_OK, ""};

        assert_int_equal(fre_corpus_again(c, salt, &err), FRE_OK);
        drain(&p, c);
        assert_int_equal(p.st, o.st);
        assert_string_equal(p.text, o.text);
        assert_int_equal(fre_corpus_sha256(sum, c), o.st == FRE_OK);
        if (o.st == FRE_OK)
            assert_memory_equal(sum, salted(want, data), sizeof sum);
    }
    fre_corpus_free(c);
    return o;
}

/* The same whatever the size of the reads. */
static void check(const char *file, int line, fre_corpus_opts opts, fre_bytes data, fre_status st,
                  const char *want)
{
    static const size_t chunks[] = {FRE_SRC_CHUNK, 1, 5, 7, 64};

    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        outcome o = run(data, chunks[i], &opts);

        if (o.st != st || strcmp(o.text, want) != 0) {
            print_error("%s:%d: chunk %zu: status %#x, expected %#x\n got: %s\nwant: %s\n", file,
                        line, chunks[i], (unsigned)o.st, (unsigned)st, o.text, want);
            fail();
        }
    }
}
#define CHECK(opts, data, st, want) check(__FILE__, __LINE__, opts, data, st, want)

static const fre_corpus_opts TXT = {.format = FRE_CORPUS_TXT};
static const fre_corpus_opts JSONL = {.format = FRE_CORPUS_JSONL};
static const fre_corpus_opts CSV = {.format = FRE_CORPUS_CSV};
static const fre_corpus_opts TSV = {.format = FRE_CORPUS_TSV};

static fre_corpus_opts with_invalid(fre_corpus_opts o, fre_corpus_invalid invalid)
{
    o.invalid = invalid;
    return o;
}

static fre_corpus_opts with_fields(fre_corpus_opts o, const char *text, const char *user,
                                   const char *label)
{
    o.text_field = text;
    o.user_field = user;
    o.label_field = label;
    return o;
}

static void test_txt(void **state)
{
    (void)state;
    CHECK(TXT, S("one\ntwo\r\nthree"), FRE_OK, "1:one\n2:two\n3:three\n");
    CHECK(TXT, S("one\n\n  \t \n\r\ntwo\n"), FRE_OK, "1:one\n5:two\nempty 3\n");
    CHECK(TXT, S("NA\nnull\n\"quoted\", kept\nNA\n"), FRE_OK,
          "1:NA\n2:null\n3:\"quoted\", kept\n4:NA\n");
    CHECK(TXT,
          S("\xef\xbb\xbf"
            "bom\n"),
          FRE_OK, "1:bom\n");
    /* U+00A0, U+3000, U+2003, U+1680, U+0085 and a lone CR are White_Space; U+200B and U+FEFF
     * are not. */
    CHECK(TXT, S("\xc2\xa0\xe3\x80\x80 a \xc2\xa0 b\xe2\x80\x83\xe1\x9a\x80\xc2\x85\r \n"), FRE_OK,
          "1:a \xc2\xa0 b\n");
    CHECK(TXT, S("\xe2\x80\x8bz\xef\xbb\xbf\n\xe2\x80\xaf\n"), FRE_OK,
          "1:\xe2\x80\x8bz\xef\xbb\xbf\nempty 1\n");
    CHECK(TXT, S("a\rb\n"), FRE_OK, "1:a\rb\n");
    CHECK(TXT, S(" \n\n"), FRE_OK, "empty 2\n");
    CHECK(with_fields(TXT, NULL, "u", NULL), S("a\n"), FRE_E_USAGE,
          "memory: a text file has one text a line and no fields; use {user_field} with JSON "
          "lines, CSV or TSV\n");
}

static void test_empty(void **state)
{
    static const char want[] = "memory: is empty; give a file with at least one text\n";

    (void)state;
    CHECK(TXT, S(""), FRE_E_NOINPUT, want);
    CHECK(JSONL, S(""), FRE_E_NOINPUT, want);
    CHECK(CSV, S("\xef\xbb\xbf"), FRE_E_NOINPUT, want);
}

/* What a byte between 0x80 and 0x9f suggests. */
static const char *likely(fre_bytes b)
{
    for (size_t i = 0; i < b.n; i++)
        if (b.p[i] >= 0x80 && b.p[i] < 0xa0)
            return "windows-1252";
    return "latin-1";
}

static void test_invalid_bytes(void **state)
{
    static const char lead[] = "memory: line 2: ";
    const struct {
        fre_bytes bad;
        size_t at;
        const char *repaired;
    } cases[] = {
        {S("caf\xe9"), 4, "caf\xef\xbf\xbd"},           /* Latin-1 */
        {S("\xc0\xaf"), 1, "\xef\xbf\xbd\xef\xbf\xbd"}, /* overlong */
        {S("\xe0\x80\xaf"), 1, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {S("x\xed\xa0\x80y"), 2, "x\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdy"}, /* surrogate */
        {S("\xf0\x8f\xbf\xbf"), 1, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {S("\xf4\x90\x80\x80"), 1, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {S("\xf8"), 1, "\xef\xbf\xbd"},
        {S("12345678\xf0\x9f\x98"), 9, "12345678\xef\xbf\xbd"}, /* cut off: one sign */
        {S("\xe2\x82 \xe2\x82\xac"), 1, "\xef\xbf\xbd \xe2\x82\xac"},
        {S("\x80"), 1, "\xef\xbf\xbd"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t data[64];
        char want[512];
        size_t n = cases[i].bad.n;

        (void)memcpy(data, "ok\n", 3);
        (void)memcpy(data + 3, cases[i].bad.p, n);
        (void)memcpy(data + 3 + n, "\nend\n", 5);
        (void)snprintf(want, sizeof want,
                       "1:ok\n%sinvalid UTF-8 at byte %zu of the record; name the file's encoding "
                       "({encoding} %s)\n",
                       lead, cases[i].at, likely(cases[i].bad));
        CHECK(TXT, ((fre_bytes){data, n + 8}), FRE_E_DATA, want);
        CHECK(with_invalid(TXT, FRE_CORPUS_INVALID_SKIP), ((fre_bytes){data, n + 8}), FRE_OK,
              "1:ok\n3:end\ninvalid 1\n");
        (void)snprintf(want, sizeof want, "1:ok\n2:%s\n3:end\ninvalid 1\n", cases[i].repaired);
        CHECK(with_invalid(TXT, FRE_CORPUS_INVALID_REPLACE), ((fre_bytes){data, n + 8}), FRE_OK,
              want);
    }
    /* The first and the last code point of every length are fine. */
    CHECK(TXT,
          S("\x01 \x7f \xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf "
            "\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf."),
          FRE_OK,
          "1:\x01 \x7f \xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf "
          "\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf.\n");
}

static void test_nul(void **state)
{
    (void)state;
    CHECK(TXT, S("a\0b\n"), FRE_E_DATA,
          "memory: line 1: a NUL byte at byte 2 of the record; remove it (is the file UTF-16?)\n");
    CHECK(with_invalid(TXT, FRE_CORPUS_INVALID_SKIP), S("a\0b\nc\n"), FRE_OK, "2:c\ninvalid 1\n");
    CHECK(with_invalid(TXT, FRE_CORPUS_INVALID_REPLACE), S("a\0\0b\n"), FRE_OK,
          "1:a\xef\xbf\xbd\xef\xbf\xbd"
          "b\ninvalid 1\n");
    CHECK(with_invalid(JSONL, FRE_CORPUS_INVALID_REPLACE), S("{\"text\":\"a\0b\"}"), FRE_OK,
          "1:a\xef\xbf\xbd"
          "b\ninvalid 1\n");
    CHECK(with_invalid(CSV, FRE_CORPUS_INVALID_REPLACE), S("text\n\"a\0\nb\"\n"), FRE_OK,
          "2:a\xef\xbf\xbd\nb\ninvalid 1\n");
}

static void test_not_text(void **state)
{
    (void)state;
    CHECK(CSV, S("PK\x03\x04xxxx"), FRE_E_DATA,
          "memory: is a zip archive or an office document; extract it (unzip IN), or export its "
          "texts as CSV\n");
    CHECK(CSV, S("PK\x03\x04xxxxxl/workbook.xml"), FRE_E_DATA,
          "memory: is a spreadsheet (.xlsx, .ods); save it as CSV, or convert it: soffice "
          "--headless --convert-to csv IN\n");
    CHECK(TXT, S("PAR1\x15\x04"), FRE_E_DATA,
          "memory: is a Parquet file; convert it: python3 -c \"import pandas; "
          "pandas.read_parquet('IN').to_json('OUT.jsonl', orient='records', lines=True)\"\n");
    CHECK(TXT, S("ARROW1\0\0"), FRE_E_DATA,
          "memory: is an Arrow (Feather) file; convert it: python3 -c \"import pandas; "
          "pandas.read_feather('IN').to_json('OUT.jsonl', orient='records', lines=True)\"\n");
    CHECK(TXT, S("BZh91AY&SY\x8f\x01\xfe"), FRE_E_DATA,
          "memory: is compressed with bzip2; convert it: bzip2 -dc IN | gzip > OUT.gz\n");
    CHECK(TXT,
          S("\xfd"
            "7zXZ\0"),
          FRE_E_DATA, "memory: is compressed with xz; convert it: xz -dc IN | gzip > OUT.gz\n");
    /* The first text may begin like such a file. */
    CHECK(TXT, S("ORCs and elves\nb\n"), FRE_OK, "1:ORCs and elves\n2:b\n");
    CHECK(JSONL, S("PAR1\n{\"text\":\"a\"}\n"), FRE_E_DATA,
          "memory: line 1, column 1: not valid JSON: an object in braces is expected; write one "
          "object a line\n");
    CHECK(TXT, S("\x93NUMPY\x01"), FRE_E_DATA,
          "memory: is a file of embeddings (.npy); give a file of texts\n");
}

static void test_jsonl(void **state)
{
    (void)state;
    CHECK(
        JSONL,
        S("{\"text\": \"one\"}\n\n  \r\n{\"id\":7,\"text\":\" two \",\"z\":[{},[],{\"text\":\"no\"}"
          ",null,true,-1.5e+3]}\r\n{\"text\":\"\"}"),
        FRE_OK, "1:one\n4:two\nempty 3\n");
    CHECK(JSONL, S("{\"text\":\"NA\"}\n{\"text\":\"null\"}\n{\"text\":\"null\"}\n"), FRE_OK,
          "1:NA\n2:null\n3:null\n");
    CHECK(JSONL, S("{\"text\":\"q\\\"b\\\\s\\/\\b\\f\\n\\r\\t\\u00e9\\u20ac\\ud83d\\ude00.\"}"),
          FRE_OK, "1:q\"b\\s/\b\f\n\r\t\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80.\n");
    /* The last of equal keys wins; a key may be escaped. */
    CHECK(JSONL, S("{\"text\":1,\"te\\u0078t\":\"b\"}"), FRE_OK, "1:b\n");
    CHECK(with_fields(JSONL, "msg", "user", "cat"),
          S("{\"user\":12345678901234567890,\"cat\":true,\"msg\":\"m\"}\n"
            "{\"user\":\" \\u0061l\",\"cat\":\"\",\"msg\":\"m\"}\n"),
          FRE_OK, "1:m|12345678901234567890|true\n2:m|al|\n");
    /* One field in two roles is decoded once. */
    CHECK(with_fields(JSONL, "a", "a", "a"), S("{\"a\":\"x\\\\\\\\ny\"}"), FRE_OK,
          "1:x\\\\ny|x\\\\ny|x\\\\ny\n");
}

static void test_jsonl_fields(void **state)
{
    static const char tail[] = "; make it a string, or name another with {text_field}\n";
    static const struct {
        const char *line, *what;
    } cases[] = {
        {"{\"text\":5}", "is a number"},          {"{\"text\":null}", "is null"},
        {"{\"text\":[1]}", "is an array"},        {"{\"text\":{\"a\":1}}", "is an object"},
        {"{\"text\":false}", "is true or false"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char data[64], want[256];

        (void)snprintf(data, sizeof data, "{\"text\":\"a\"}\n%s\n", cases[i].line);
        (void)snprintf(want, sizeof want, "1:a\nmemory: line 2: the field \"text\" %s%s",
                       cases[i].what, tail);
        CHECK(JSONL, ((fre_bytes){(const uint8_t *)data, strlen(data)}), FRE_E_DATA, want);
    }
    CHECK(JSONL, S("{\"texts\":\"a\"}"), FRE_E_DATA,
          "memory: line 1: the field \"text\" is missing; did you mean \"texts\"? Add it, or name "
          "another with {text_field}\n");
    CHECK(with_fields(JSONL, NULL, "u", NULL), S("{\"text\":\"a\"}"), FRE_E_DATA,
          "memory: line 1: the field \"u\" is missing; add it, or name another with "
          "{user_field}\n");
    CHECK(with_fields(JSONL, NULL, "u", NULL), S("{\"text\":\"a\",\"u\":\"\\t\"}"), FRE_E_DATA,
          "memory: line 1: the field \"u\" is empty; every record needs its user; fill it in, or "
          "name another with {user_field}\n");
    CHECK(with_fields(JSONL, NULL, "u", NULL), S("{\"text\":\"a\",\"u\":true}"), FRE_E_DATA,
          "memory: line 1: the field \"u\" is true or false; make it a string or a number, or name "
          "another with {user_field}\n");
    CHECK(with_fields(JSONL, NULL, NULL, "k"), S("{\"text\":\"a\",\"k\":null}"), FRE_E_DATA,
          "memory: line 1: the field \"k\" is null; make it a string or a number, or name another "
          "with {label_field}\n");
}

static void test_jsonl_syntax(void **state)
{
    static const struct {
        const char *line;
        size_t column;
        const char *why;
    } cases[] = {
        {"\"a\"", 1, "an object in braces is expected"},
        {"{\"text\":\"a\"", 12, "a comma or a closing brace is expected"},
        {"{\"text\":\"a", 11, "a string is not closed"},
        {"{\"text\":\"a\\", 11, "a string is not closed"},
        {"{\"text\":\"\xc3\xa9\t\"}", 11, "a control character in a string is not escaped"},
        {"{\"text\":\"\\x\"}", 10, "an unknown escape"},
        {"{\"text\":\"\\u12g4\"}", 10, "\\u without four hexadecimal digits"},
        {"{\"text\":\"\\u12", 10, "\\u without four hexadecimal digits"},
        {"{text:1}", 2, "a key in double quotes is expected"},
        {"{\"a\" 1}", 6, "a colon is expected after a key"},
        {"{\"a\":}", 6, "a value is expected"},
        {"{\"a\":nul}", 6, "a value is expected"},
        {"{\"a\":01}", 7, "a comma or a closing brace is expected"},
        {"{\"a\":-}", 7, "a number is not well formed"},
        {"{\"a\":1.}", 8, "a number is not well formed"},
        {"{\"a\":1e}", 8, "a number is not well formed"},
        {"{\"a\":NaN}", 6, "a value is expected"},
        {"{\"a\":[1 2]}", 9, "a comma or a closing bracket is expected"},
        {"{\"a\":[1,]}", 9, "a value is expected"},
        {"{\"a\":[1}}", 8, "a comma or a closing bracket is expected"},
        {"{\"a\":{\"b\":1,}}", 13, "a key in double quotes is expected"},
        {"{\"a\":1,}", 8, "a key in double quotes is expected"},
        {"{\"a\":1} x", 9, "something follows the object"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char data[64], want[256];

        (void)snprintf(data, sizeof data, "\n%s", cases[i].line);
        (void)snprintf(want, sizeof want,
                       "memory: line 2, column %zu: not valid JSON: %s; write one object a "
                       "line\nempty 1\n",
                       cases[i].column, cases[i].why);
        CHECK(JSONL, ((fre_bytes){(const uint8_t *)data, strlen(data)}), FRE_E_DATA, want);
    }
}

static void test_jsonl_escapes(void **state)
{
    static const char want[] = "memory: line 1: a string escapes NUL or half of a surrogate pair; "
                               "remove the escape\n";
    const struct {
        fre_bytes line;
        const char *repaired;
    } cases[] = {
        {S("{\"text\":\"a\\u0000b\"}"), "a\xef\xbf\xbd"
                                        "b"},
        {S("{\"text\":\"a\\ud800b\"}"), "a\xef\xbf\xbd"
                                        "b"},
        {S("{\"text\":\"a\\udc00\"}"), "a\xef\xbf\xbd"},
        {S("{\"text\":\"\\ud800\\ud83d\\ude00\"}"), "\xef\xbf\xbd\xf0\x9f\x98\x80"},
        {S("{\"text\":\"\\ud800\\u0041\"}"), "\xef\xbf\xbd"
                                             "A"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char fixed[96];

        CHECK(JSONL, cases[i].line, FRE_E_DATA, want);
        (void)snprintf(fixed, sizeof fixed, "%.*s\n{\"text\":\"t\"}", (int)cases[i].line.n,
                       (const char *)cases[i].line.p);
        CHECK(with_invalid(JSONL, FRE_CORPUS_INVALID_SKIP),
              ((fre_bytes){(const uint8_t *)fixed, strlen(fixed)}), FRE_OK, "2:t\ninvalid 1\n");
        (void)snprintf(fixed, sizeof fixed, "1:%s\ninvalid 1\n", cases[i].repaired);
        CHECK(with_invalid(JSONL, FRE_CORPUS_INVALID_REPLACE), cases[i].line, FRE_OK, fixed);
    }
    /* In a field that nobody reads they are only syntax. */
    CHECK(JSONL, S("{\"x\":\"\\u0000\\udc00\",\"\\ud800\":1,\"text\":\"t\"}"), FRE_OK, "1:t\n");
    /* A raw and an escaped flaw in one record count once. */
    CHECK(with_invalid(JSONL, FRE_CORPUS_INVALID_REPLACE), S("{\"text\":\"\xff\\u0000\"}"), FRE_OK,
          "1:\xef\xbf\xbd\xef\xbf\xbd\ninvalid 1\n");
}

static void test_jsonl_nesting(void **state)
{
    char data[2048];
    char want[256];

    (void)state;
    for (size_t depth = 511; depth <= 513; depth++) {
        size_t n = (size_t)snprintf(data, sizeof data, "{\"a\":");

        for (size_t i = 0; i < depth; i++)
            data[n++] = '[';
        for (size_t i = 0; i < depth; i++)
            data[n++] = ']';
        n += (size_t)snprintf(data + n, sizeof data - n, ",\"text\":\"t\"}");
        (void)snprintf(want, sizeof want,
                       "memory: line 1, column 518: not valid JSON: more than 512 levels of "
                       "nesting; write one object a line\n");
        CHECK(JSONL, ((fre_bytes){(const uint8_t *)data, n}), depth <= 512 ? FRE_OK : FRE_E_DATA,
              depth <= 512 ? "1:t\n" : want);
    }
}

static void test_csv(void **state)
{
    (void)state;
    CHECK(CSV, S("id,text\n1,one\n2,\"two, and\r\nmore \"\"words\"\"\"\n3,NA\n4,null\n"), FRE_OK,
          "2:one\n3:two, and\r\nmore \"words\"\n5:NA\n6:null\n");
    CHECK(CSV, S("\xef\xbb\xbftext,\"a,b\"\r\nx,1\r\n\r\n  \r\n,2\r\n\" \",3\r\ny,\"\""), FRE_OK,
          "2:x\n7:y\nempty 4\n");
    CHECK(CSV, S("text\n\"\"\"\"\n\"a\"\"\"\n5\" disk\n"), FRE_OK, "2:\"\n3:a\"\n4:5\" disk\n");
    CHECK(CSV, S(" text ,b\nx,\n"), FRE_OK, "2:x\n");
    CHECK(CSV, S("id,text\n"), FRE_OK, "");
    CHECK(CSV, S("id,text"), FRE_OK, "");
    /* Empty surplus fields lose nothing; missing fields after the last one needed neither. */
    CHECK(CSV, S("text,b,c\nx\ny,1,2,,\n"), FRE_OK, "2:x\n3:y\n");
    CHECK(with_fields(CSV, "t", "u", "l"), S("l,u,t\nspam,\"al\"\"ice\",hello\n,7,x\n"), FRE_OK,
          "2:hello|al\"ice|spam\n3:x|7|\n");
    CHECK(with_fields(CSV, "t", "t", NULL), S("t\n\"a\"\"b\"\"\"\"c\"\n"), FRE_OK,
          "2:a\"b\"\"c|a\"b\"\"c|-\n");
    CHECK(TSV, S("id\ttext\n1\t\"a\tb\nc\"\n2\td, e\n"), FRE_OK, "2:a\tb\nc\n4:d, e\n");
}

static void test_csv_errors(void **state)
{
    (void)state;
    CHECK(CSV, S("id,body\n1,x\n"), FRE_E_DATA,
          "memory: line 1: no column \"text\"; did you mean \"body\"? (columns: \"id\", \"body\"); "
          "name one with {text_field}\n");
    CHECK(CSV, S("a,b,c,d,e,id,g,h,i,j\n"), FRE_E_DATA,
          "memory: line 1: no column \"text\" (columns: \"a\", \"b\", \"c\", \"d\", \"e\", \"id\", "
          "... 10 in all); name one with {text_field}\n");
    /* Without a header the first row is somebody's text: it is not shown. */
    CHECK(CSV, S("7,my private words about a private thing\n"), FRE_E_DATA,
          "memory: line 1: no column \"text\"; name one with {text_field}, or add a first row with "
          "the names of the columns if this row is not that\n");
    CHECK(CSV, S("Help\nmy card is lost\n"), FRE_E_DATA, /* a word, and a text */
          "memory: line 1: no column \"text\"; name one with {text_field}, or add a first row with "
          "the names of the columns if this row is not that\n");
    CHECK(CSV, S("yes,help\nno,thanks\n"), FRE_E_DATA,
          "memory: line 1: no column \"text\"; name one with {text_field}, or add a first row with "
          "the names of the columns if this row is not that\n");
    CHECK(CSV, S("Text\nmy card is lost\n"), FRE_E_DATA,
          "memory: line 1: no column \"text\"; did you mean \"Text\"?; name one with {text_field}, "
          "or add a first row with the names of the columns if this row is not that\n");
    CHECK(CSV, S("alice,my test was positive\n"), FRE_E_DATA, /* short as a name, and a text */
          "memory: line 1: no column \"text\"; name one with {text_field}, or add a first row with "
          "the names of the columns if this row is not that\n");
    CHECK(with_fields(CSV, NULL, "who", NULL), S("id,text\n"), FRE_E_DATA,
          "memory: line 1: no column \"who\" (columns: \"id\", \"text\"); name one with "
          "{user_field}\n");
    CHECK(CSV, S("text,text\nx,y\n"), FRE_E_DATA,
          "memory: line 1: two columns are named \"text\"; rename one\n");
    CHECK(CSV, S("id,text\n1,a\n2\n"), FRE_E_DATA,
          "2:a\nmemory: line 3: 1 fields where the header has 2, and \"text\" is number 2; add the "
          "missing fields, or quote a field that holds a line break\n");
    CHECK(CSV, S("id,text\n1,a, b\n"), FRE_E_DATA,
          "memory: line 2: 3 fields where the header has 2; put quotes around a field that holds a "
          "comma\n");
    CHECK(CSV, S("text\na\n\"b\nc\n"), FRE_E_DATA,
          "2:a\nmemory: line 3: a quoted field of this record is never closed; add the closing "
          "quote, and double the quotes inside a quoted field\n");
    CHECK(CSV, S("text\n\"a\nb\"c\nd\n"), FRE_E_DATA,
          "memory: line 2: text follows a closing quote in this record; double the quotes inside a "
          "quoted field\n");
    CHECK(with_fields(CSV, NULL, "u", NULL), S("u,text\n,a\n"), FRE_E_DATA,
          "memory: line 2: the field \"u\" is empty; every record needs its user; fill it in, or "
          "name another with {user_field}\n");
    CHECK(CSV, S("text\n\"a\n\xff\"\nb\n"), FRE_E_DATA,
          "memory: line 2: invalid UTF-8 at byte 4 of the record; name the file's encoding "
          "({encoding} latin-1)\n");
    CHECK(with_invalid(CSV, FRE_CORPUS_INVALID_SKIP), S("text\n\"a\n\xff\"\nb\n"), FRE_OK,
          "4:b\ninvalid 1\n");
    CHECK(with_invalid(CSV, FRE_CORPUS_INVALID_SKIP), S("text,\xff\nb\n"), FRE_E_DATA,
          "memory: line 1: the header is not valid UTF-8; name the file's encoding ({encoding} "
          "latin-1)\n");
}

/* ---- JSON that is not a record a line ---------------------------------------------------- */

static void test_documents(void **state)
{
    static const fre_corpus_opts guess = {0};

    (void)state;
    CHECK(guess, S("{\n  \"text\": \"a\"\n}\n"), FRE_OK, "1:a\n");
    CHECK(guess, S("{\n  \"text\": \"a\"\n}\n{\n \"text\":\"b\",\n\"x\":[1,{\"y\":\"}\"}]\n}"),
          FRE_OK, "1:a\n4:b\n");
    CHECK(guess, S("{\"text\":\"a\"}{\"text\":\"b\"} {\"text\":\"c\"}\n"), FRE_OK,
          "1:a\n1:b\n1:c\n");
    CHECK(guess, S(" [{\"text\":\"a\"}]"), FRE_OK, "1:a\n");
    CHECK(guess,
          S("[\n {\"text\": \"a\\n\\u00e9\", \"n\": 12345678901234567890123},\n "
            "{\"text\": \"b, ]\"}\n]\n"),
          FRE_OK, "2:a\n\xc3\xa9\n3:b, ]\n");
    CHECK(guess, S("[\"a\", \"b \\\"c\\\"\",\n\"d\"]"), FRE_OK, "1:a\n1:b \"c\"\n2:d\n");
    CHECK(guess, S("[ ]"), FRE_OK, "");
    CHECK(with_fields(guess, NULL, "u", NULL),
          S("[{\"u\":7,\"text\":\"a\"},{\"u\":\"x\",\"text\":\"b\"}]"), FRE_OK,
          "1:a|7|-\n1:b|x|-\n");
    CHECK(guess,
          S("{\n  \"data\": [\n    {\"text\": \"a\"},\n    {\"text\": \"b\"}\n  ],\n"
            "\"n\": {\"x\": [\"]\"]}\n}\n"),
          FRE_OK, "3:a\n4:b\n");
    CHECK(guess, S("{\"meta\":{\"v\":1},\"rows\":[\"a\",\"b\"]}\n"), FRE_OK, "1:a\n1:b\n");
    /* An object with the text field is a record, whatever lists it has. */
    CHECK(guess, S("{\"tags\":[\"x\",\"y\"],\n\"text\":\"a\"}\n"), FRE_OK, "1:a\n");
    CHECK(JSONL, S("[\"a\"]"), FRE_OK, "1:a\n");
    /* Texts that only begin like it. */
    CHECK(guess, S("[1] a note\n[2] another\n"), FRE_OK, "1:[1] a note\n2:[2] another\n");
    CHECK(guess, S("[\"quoted\"] text\nb\n"), FRE_OK, "1:[\"quoted\"] text\n2:b\n");
    CHECK(guess, S("[laughs]\n"), FRE_OK, "1:[laughs]\n");
}

static void test_document_refusals(void **state)
{
    static const fre_corpus_opts guess = {0};
    fre_corpus_opts skip = {.invalid = FRE_CORPUS_INVALID_SKIP};

    (void)state;
    CHECK(guess, S("[{\"text\":\"a\"},{\"text\":\"b\"}"), FRE_E_DATA,
          "1:a\n1:b\nmemory: line 1: not valid JSON: the array is never closed; the file is cut "
          "off\n");
    CHECK(guess, S("[{\"text\":\"a\"},\n{\"text\":\"b"), FRE_E_DATA,
          "1:a\nmemory: line 2: not valid JSON: the record that starts here never ends; the file "
          "is cut off\n");
    CHECK(guess, S("[{\"text\":\"a\"} {\"text\":\"b\"}]"), FRE_OK,
          "1:[{\"text\":\"a\"} {\"text\":\"b\"}]\n");
    CHECK(JSONL, S("[{\"text\":\"a\"},{\"text\":\"b\"} {\"text\":\"c\"}]"), FRE_E_DATA,
          "1:a\n1:b\nmemory: line 1: not valid JSON: a comma is missing between two records\n");
    CHECK(JSONL, S("[{\"text\":\"a\"}]\n[{\"text\":\"b\"}]"), FRE_E_DATA,
          "1:a\nmemory: line 2: not valid JSON: something follows the array; write one array, or "
          "one object a line\n");
    CHECK(JSONL, S("[[\"a\"]]"), FRE_E_DATA,
          "memory: is a JSON array, but not of objects or of strings; write one object a line\n");
    CHECK(guess, S("{\"train\":[{\"text\":\"a\"}],\"test\":[{\"text\":\"b\"}]}"), FRE_E_DATA,
          "memory: is one JSON object with several arrays; write the records of one of them (jq -c "
          "'.NAME[]' IN > OUT.jsonl)\n");
    CHECK(guess, S("{\n \"a\": {\"text\": \"x\"}\n}"), FRE_E_DATA,
          "memory: line 1: the field \"text\" is missing; add it, or name another with "
          "{text_field}\n");
    CHECK(with_fields(guess, NULL, "u", NULL), S("[\"a\"]"), FRE_E_DATA,
          "memory: line 1: a text without fields, but {user_field} names one; write objects\n");
    /* One malformed element is one record, whatever is wrong inside its brackets. */
    CHECK(skip,
          S("[{\"text\":\"a\"},\n{\"text\":},\n12,\n{\"text\":\"b\xff\"},\n{\"text\":\"c\"},"
            "{\"text\":\"d\"},{\"text\":\"e\"}]"),
          FRE_OK, "1:a\n5:c\n5:d\n5:e\ninvalid 3\n");
    CHECK(
        guess, S("[{\"text\":\"a\"},\n{\"text\":\n1 2}]"), FRE_E_DATA,
        "1:a\nmemory: line 3, column 3: not valid JSON: a comma or a closing brace is expected\n");
}

/* An array beyond the bytes that are looked at first, alone and under a key. */
static void test_long_documents(void **state)
{
    static const char *const lead[] = {"[", "{\"rows\": [", "{\"v\": 1,\n\"rows\":\n["};
    static const char *const tail[] = {"]", "]}", "], \"end\": true}\n"};
    const size_t n = 9000;
    char *data = malloc(n * 32 + 64);

    (void)state;
    assert_non_null(data);
    for (size_t i = 0; i < 3; i++) {
        size_t at = strlen(lead[i]);
        fre_corpus *c = NULL;
        fre_corpus_stats s;
        fre_record r;
        bool more = true;
        fre_err err = {.text = ""};

        (void)memcpy(data, lead[i], at);
        for (size_t k = 0; k < n; k++)
            at += (size_t)snprintf(data + at, 32, "%s{\"text\":\"t%zu\"}", k ? ",\n" : "", k);
        (void)memcpy(data + at, tail[i], strlen(tail[i]));
        assert_int_equal(fre_corpus_open_memory(
                             &c, (fre_bytes){(uint8_t *)data, at + strlen(tail[i])}, NULL, &err),
                         FRE_OK);
        while (more) {
            if (fre_corpus_next(c, &more, &r, &err) != FRE_OK)
                fail_msg("%s", err.text);
        }
        fre_corpus_get_stats(c, &s);
        assert_int_equal(s.records, n);
        assert_string_equal(r.text, "t8999");
        fre_corpus_free(c);
    }
    free(data);
}

static void test_keep_json(void **state)
{
    static const fre_corpus_opts keep = {.keep_json = true, .empty_ok = true};
    static const char data[] = "{\"text\":\"a\\u0020b\",\"n\":123456789012345678901}\n"
                               "{\"text\":null,\"cell\":\"x\"}\n{\"text\":\" \"}\n";
    fre_corpus *c = NULL;
    fre_record r;
    bool more = false;
    fre_err err = {.text = ""};

    (void)state;
    assert_int_equal(fre_corpus_open_memory(&c, S(data), &keep, &err), FRE_OK);
    assert_int_equal(fre_corpus_next(c, &more, &r, &err), FRE_OK);
    assert_string_equal(r.text, "a b");
    assert_int_equal(r.json_len, strcspn(data, "\n"));
    assert_memory_equal(r.json, data, r.json_len);
    assert_int_equal(fre_corpus_next(c, &more, &r, &err), FRE_OK);
    assert_null(r.text);
    assert_int_equal(r.line, 2);
    assert_int_equal(fre_corpus_next(c, &more, &r, &err), FRE_OK);
    assert_string_equal(r.text, "");
    assert_int_equal(fre_corpus_next(c, &more, &r, &err), FRE_OK);
    assert_false(more);
    fre_corpus_free(c);
    assert_int_equal(fre_corpus_open_memory(&c, S(""), &keep, &err), FRE_OK);
    assert_int_equal(fre_corpus_next(c, &more, &r, &err), FRE_OK);
    assert_false(more);
    fre_corpus_free(c);
}

/* ---- delimiters, headers, encodings, missing values --------------------------------------- */

static void test_delimiters(void **state)
{
    fre_corpus_opts colon = {.format = FRE_CORPUS_CSV, .delimiter = ':'};
    static const fre_corpus_opts guess = {0};

    (void)state;
    CHECK(CSV, S("id;text\n1;\"x;y\"\n"), FRE_OK, "2:x;y\n");
    CHECK(CSV, S("id\ttext\n1\thello, you\n"), FRE_OK, "2:hello, you\n");
    CHECK(CSV, S("id|text\n1|hello\n"), FRE_OK, "2:hello\n");
    CHECK(TSV, S("id,text\n1,hello\n"), FRE_OK, "2:hello\n");
    CHECK(CSV, S("sep=;\r\nid;text\r\n1;a,b\r\n"), FRE_OK, "3:a,b\n");
    CHECK(CSV, S("text\n\"a;b\"\n"), FRE_OK, "2:a;b\n");
    CHECK(colon, S("id:text\n1:a,b\n"), FRE_OK, "2:a,b\n");
    CHECK(guess, S("id|text\n1|a\n"), FRE_OK, "2:a\n");
    CHECK(guess, S("id;text\n1;a\n"), FRE_OK, "2:a\n");
    CHECK(CSV, S("id|body\n1|x\n"), FRE_E_DATA,
          "memory: line 1: no column \"text\"; did you mean \"body\"? (columns: \"id\", \"body\"); "
          "name one with {text_field}\n");
    CHECK(CSV, S("id|text\n1|a|b\n"), FRE_E_DATA,
          "memory: line 2: 3 fields where the header has 2; put quotes around a field that holds a "
          "vertical bar\n");
}

static void test_headers(void **state)
{
    (void)state;
    CHECK(with_fields(CSV, "Text ", NULL, NULL), S("Text ,n\nhello,1\n"), FRE_OK, "2:hello\n");
    CHECK(with_fields(CSV, "Text", NULL, NULL), S("Text ,n\nhello,1\n"), FRE_OK, "2:hello\n");
    /* What stands there exactly is before what does but for white space. */
    CHECK(with_fields(CSV, "t", NULL, NULL), S("t ,t\na,b\n"), FRE_OK, "2:b\n");
    CHECK(with_fields(CSV, "te\"xt", NULL, NULL), S("\"te\"\"xt\"\nhello\n"), FRE_OK, "2:hello\n");
    CHECK(CSV, S("Text ,n\nhello,1\n"), FRE_E_DATA,
          "memory: line 1: no column \"text\"; did you mean \"Text\"? (columns: \"Text\", \"n\"); "
          "name one with {text_field}\n");
    CHECK(CSV, S("c0,c1,c2,c3,c4,c5,c6,comment_text,d1\nx\n"), FRE_E_DATA,
          "memory: line 1: no column \"text\"; did you mean \"comment_text\"? (columns: \"c0\", "
          "\"c1\", \"c2\", \"c3\", \"c4\", \"c5\", ... 9 in all); name one with {text_field}\n");
    /* Lines that end with CR alone. */
    CHECK(CSV, S("id,text\r1,hello\r2,\"a, b\"\r"), FRE_OK, "2:hello\n3:a, b\n");
    CHECK(TXT, S("a\rb"), FRE_OK, "1:a\n2:b\n");
    CHECK(TXT, S("a\rb\nc\r\n"), FRE_OK, "1:a\rb\n2:c\n");
    /* The header says how rows end, whatever is inside of texts. */
    CHECK(CSV, S("id,text\r1,\"a\nb\"\r2,c\r"), FRE_OK, "2:a\nb\n3:c\n");
    CHECK(CSV, S("id,text\n1,\"a\rb\"\n2,c\n"), FRE_OK, "2:a\rb\n3:c\n");
}

/* The first record decides nothing about the others: not where lines end, ... */
static void test_first_line_is_long(void **state)
{
    const size_t n = 3 * FRE_SNIFF_BYTES;
    char *data = malloc(n + 16);
    fre_corpus_opts o = TXT;
    fre_corpus *c = NULL;
    fre_record rec;
    bool more = false;

    (void)state;
    assert_non_null(data);
    (void)memset(data, 'x', n);
    data[7] = '\r';
    (void)memcpy(data + n, "\nb\nc\n", 6);
    assert_int_equal(
        fre_corpus_open_memory(&c, (fre_bytes){(const uint8_t *)data, n + 5}, &o, NULL), FRE_OK);
    for (uint64_t line = 1; line <= 3; line++) {
        assert_int_equal(fre_corpus_next(c, &more, &rec, NULL), FRE_OK);
        assert_true(more);
        assert_int_equal(rec.line, line);
        assert_int_equal(rec.text_len, line == 1 ? n : 1);
    }
    fre_corpus_free(c);
    free(data);
}

/* ... and not how JSON lies. */
static void test_first_object_is_long(void **state)
{
    const size_t n = 2 * FRE_SNIFF_BYTES;
    const fre_corpus_opts o = with_invalid(JSONL, FRE_CORPUS_INVALID_SKIP);
    static const char head[] = "{\"a\":[{\"b\":\"",
                      tail[] = "\"}]}\n{\"text\":\"x\"}\n{\"text\":\"y\"}\n";
    char *data = malloc(n + sizeof head + sizeof tail);

    (void)state;
    assert_non_null(data);
    (void)memcpy(data, head, sizeof head - 1);
    (void)memset(data + sizeof head - 1, 'z', n);
    (void)memcpy(data + sizeof head - 1 + n, tail, sizeof tail - 1);
    CHECK(o, ((fre_bytes){(const uint8_t *)data, sizeof head + sizeof tail - 2 + n}), FRE_OK,
          "2:x\n3:y\ninvalid 1\n");
    free(data);
}

static void test_first_line_is_odd(void **state)
{
    static const char *const first[] = {
        "[1]",
        "[\"a\"]",
        "[]",
        "[{},",
        "{\"a\":1} {\"b\"",
        "{\"text\":\"a\"} {",
        "{\"a\":[{",
        "{\"a\":[{}]} {",
        "[{\"text\":\"a\"},{\"text\":\"b\"}]",
        "\"a",
        "{",
        "PAR1",
        "}",
        "[",
        "\x1b",
    };
    const fre_corpus_opts skip = with_invalid(JSONL, FRE_CORPUS_INVALID_SKIP);
    char data[256];

    (void)state;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        const int n = snprintf(data, sizeof data, "%s\n%s", first[i],
                               "{\"text\":\"x\"}\n{\"text\":\"y\"}\n{\"text\":\"z\"}\n");

        CHECK(skip, ((fre_bytes){(const uint8_t *)data, (size_t)n}), FRE_OK,
              "2:x\n3:y\n4:z\ninvalid 1\n");
    }
}

static void test_encodings(void **state)
{
    fre_corpus_opts latin = {.format = FRE_CORPUS_TXT, .encoding = "latin-1"};
    fre_corpus_opts windows = {.format = FRE_CORPUS_TXT, .encoding = "windows-1252"};
    fre_corpus_opts wide = {.encoding = "utf-16le"}, none = {.encoding = "klingon-8"};
    fre_corpus_opts skip = {.invalid = FRE_CORPUS_INVALID_SKIP};
    fre_corpus_opts replace = {.invalid = FRE_CORPUS_INVALID_REPLACE};

    (void)state;
    CHECK(latin, S("caf\xe9\nna\xefve"), FRE_OK, "1:caf\xc3\xa9\n2:na\xc3\xafve\n");
    CHECK(windows, S("\x93hi\x94\n"), FRE_OK, "1:\xe2\x80\x9chi\xe2\x80\x9d\n");
    CHECK(
        windows, S("a\nb\x81\n"), FRE_E_DATA,
        "1:a\nmemory: line 2: what is at byte 2 of the record is not CP1252; correct {encoding}\n");
    CHECK(wide, S("a\0\n\0\xe9\0"), FRE_OK, "1:a\n2:\xc3\xa9\n");
    /* A mark says it, also under a header. */
    CHECK(TXT,
          S("\xff\xfe"
            "a\0\n\0b\0"),
          FRE_OK, "1:a\n2:b\n");
    CHECK(CSV, S("\xfe\xff\0t\0e\0x\0t\0\n\0\xe9"), FRE_OK, "2:\xc3\xa9\n");
    CHECK(TXT, S("\xff\xfe\0\0a\0\0\0"), FRE_OK, "1:a\n");
    /* Half of a surrogate pair spoils its own record. */
    CHECK(skip,
          S("\xff\xfe"
            "a\0\n\0\x3d\xd8x\0\n\0b\0"),
          FRE_OK, "1:a\n3:b\ninvalid 1\n");
    CHECK(replace,
          S("\xff\xfe"
            "a\0\n\0\x3d\xd8x\0"),
          FRE_OK, "1:a\n2:\xef\xbf\xbdx\ninvalid 1\n");
    /* A character that is cut off at the end. */
    CHECK(skip,
          S("\xff\xfe"
            "a\0\n\0b\0\n\0c"),
          FRE_OK, "1:a\n2:b\ninvalid 1\n");
    CHECK(TXT, S("a\0b\0c\0d\0"), FRE_E_DATA,
          "memory: is UTF-16 text without a byte order mark; give {encoding} utf-16le\n");
    CHECK(none, S("a"), FRE_E_USAGE,
          "{encoding} klingon-8 is unknown to this system; iconv -l lists what is known\n");
}

static void test_na_values(void **state)
{
    fre_corpus_opts o = {.format = FRE_CORPUS_CSV, .na_values = "NA,null,-"};

    (void)state;
    CHECK(o, S("text\nNA\n null \nna\n-\nNAN\n"), FRE_OK, "4:na\n6:NAN\nempty 3\n");
    o.user_field = "u";
    CHECK(o, S("u,text\nNA,x\n"), FRE_E_DATA,
          "memory: line 2: the field \"u\" is empty; every record needs its user; fill it in, or "
          "name another with {user_field}\n");
}

/* ---- records that cannot be used ---------------------------------------------------------- */

static void test_skip(void **state)
{
    const fre_corpus_opts json = with_invalid(JSONL, FRE_CORPUS_INVALID_SKIP);
    const fre_corpus_opts csv = with_invalid(CSV, FRE_CORPUS_INVALID_SKIP);

    (void)state;
    CHECK(
        with_fields(json, NULL, "u", NULL),
        S("{\"u\":1,\"text\":\"a\"}\n{\"u\":1}\n{\"u\":1,\"text\":3}\n{\"u\":null,\"text\":\"b\"}\n"
          "{\"u\":1,\"text\":\"c\"\n{\"u\":[],\"text\":\"d\"}\nnot "
          "JSON\n{\"u\":\"\",\"text\":\"e\"}\n"
          "{\"u\":1,\"text\":\"f\"}\n{\"u\":1,\"text\":\"g\"}\n{\"u\":1,\"text\":\"h\"}\n"
          "{\"u\":1,\"text\":\"i\"}\n{\"u\":1,\"text\":\"j\"}\n{\"u\":1,\"text\":\"k\"}\n"),
        FRE_OK, "1:a|1|-\n9:f|1|-\n10:g|1|-\n11:h|1|-\n12:i|1|-\n13:j|1|-\n14:k|1|-\ninvalid 7\n");
    CHECK(csv, S("id,text\n1,a\n2\n3,b,c\n4,\"d\"e\n5,f\n6,g\n7,h\n"), FRE_OK,
          "2:a\n6:f\n7:g\n8:h\ninvalid 3\n");
    /* A quote that is never closed costs its own line. */
    CHECK(csv, S("id,text\n1,a\n2,\"b\n3,c\n4,d\n"), FRE_OK, "2:a\n4:c\n5:d\ninvalid 1\n");
    /* One that is closed by a quote of the next record too, also several in a row. */
    CHECK(csv, S("id,text\n1,a\n2,\"b\n3,\"c\"\n4,d\n"), FRE_OK, "2:a\n4:c\n5:d\ninvalid 1\n");
    CHECK(csv, S("id,text\n1,\"a\n2,\"b\n3,\"c, \"\"d\"\"\"\n\"4\",\"e\"\n"), FRE_OK,
          "4:c, \"d\"\n5:e\ninvalid 2\n");
    /* Most of them: another format or field. */
    CHECK(json, S("{\"text\":\"a\"}\n{\"t\":\"b\"}\n{\"t\":\"c\"}\n"), FRE_E_DATA,
          "1:a\n2 of 3 records cannot be used, so the format or a field is wrong; the first: "
          "memory: line 2: the field \"text\" is missing; add it, or name another with "
          "{text_field}\ninvalid 2\n");
    CHECK(json, S("{\"text\":\"a\"}\n{\"t\":\"b\"}\n"), FRE_OK, "1:a\ninvalid 1\n");
    CHECK(json, S("{\"t\":\"b\"}\n\n\n\n"), FRE_E_DATA,
          "1 of 4 records cannot be used, so the format or a field is wrong; the first: memory: "
          "line 1: the field \"text\" is missing; add it, or name another with {text_field}\n"
          "empty 3\ninvalid 1\n");
}

static void test_skip_giant(void **state)
{
    const size_t n = FRE_CORPUS_TEXT_MAX + 9;
    const fre_corpus_opts o = with_invalid(TXT, FRE_CORPUS_INVALID_SKIP);
    char *data = malloc(n + 16);
    fre_corpus *c = NULL;
    fre_corpus_stats s;
    fre_record r;
    bool more = false;
    fre_err err = {.text = ""};

    (void)state;
    assert_non_null(data);
    (void)memset(data, 'x', n);
    (void)memcpy(data + n, "\na\nb\n", 5);
    assert_int_equal(fre_corpus_open_memory(&c, (fre_bytes){(uint8_t *)data, n + 5}, &o, &err),
                     FRE_OK);
    assert_int_equal(fre_corpus_next(c, &more, &r, &err), FRE_OK);
    assert_string_equal(r.text, "a");
    assert_int_equal(r.line, 2);
    assert_int_equal(fre_corpus_next(c, &more, &r, &err), FRE_OK);
    assert_int_equal(fre_corpus_next(c, &more, &r, &err), FRE_OK);
    assert_false(more);
    fre_corpus_get_stats(c, &s);
    assert_int_equal(s.invalid, 1);
    fre_corpus_free(c);
    free(data);
}

static void test_guess(void **state)
{
    static const fre_corpus_opts guess = {0};

    (void)state;
    CHECK(guess, S("\n { \"text\" : \"j\"}\n"), FRE_OK, "2:j\nempty 1\n");
    CHECK(guess, S("id,text\n1,c\n"), FRE_OK, "2:c\n");
    CHECK(guess, S("id\t\"text\"\n1\tt\n"), FRE_OK, "2:t\n");
    CHECK(with_fields(guess, "body", NULL, NULL), S("id,body\n1,c\n"), FRE_OK, "2:c\n");
    CHECK(guess, S("Dear all, text me\nbye\n"), FRE_OK, "1:Dear all, text me\n2:bye\n");
    CHECK(guess, S("{hello} there\n"), FRE_OK, "1:{hello} there\n");
    CHECK(guess, S("text\n"), FRE_OK, "1:text\n");
}

/* ---- compressed ------------------------------------------------------------------------ */

static size_t gzip(uint8_t *out, size_t cap, fre_bytes in)
{
    z_stream z = {0};
    uint8_t *copy = malloc(in.n + 1);

    assert_non_null(copy);
    if (in.n)
        (void)memcpy(copy, in.p, in.n);
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = copy;
    z.avail_in = (uInt)in.n;
    z.next_out = out;
    z.avail_out = (uInt)cap;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    cap -= z.avail_out;
    assert_int_equal(deflateEnd(&z), Z_OK);
    free(copy);
    return cap;
}

static size_t zstd(uint8_t *out, size_t cap, fre_bytes in)
{
    size_t n = ZSTD_compress(out, cap, in.p, in.n, 3);

    assert_false(ZSTD_isError(n));
    return n;
}

typedef size_t packer(uint8_t *out, size_t cap, fre_bytes in);

static void check_packed(packer *pack, const char *what)
{
    uint8_t z[8192];
    char want[256];
    size_t a = pack(z, sizeof z, S("one\ntw")), b = 0;

    b = a + pack(z + a, sizeof z - a, S("o\nthree"));
    CHECK(TXT, ((fre_bytes){z, b}), FRE_OK, "1:one\n2:two\n3:three\n");
    /* An empty member or frame in the middle changes nothing. */
    {
        uint8_t y[8192];
        size_t n = pack(y, sizeof y, S("one\ntw"));

        n += pack(y + n, sizeof y - n, S(""));
        n += pack(y + n, sizeof y - n, S("o\n"));
        CHECK(TXT, ((fre_bytes){y, n}), FRE_OK, "1:one\n2:two\n");
    }
    z[b] = '\n'; /* an editor's line end */
    CHECK(TXT, ((fre_bytes){z, b + 1}), FRE_OK, "1:one\n2:two\n3:three\n");
    /* Cut anywhere but between the two: refused, with what came before delivered or not. */
    for (size_t n = 6; n < b; n++) {
        outcome o = run((fre_bytes){z, n}, FRE_SRC_CHUNK, &TXT);

        if (n == a) {
            assert_int_equal(o.st, FRE_OK);
            assert_string_equal(o.text, "1:one\n2:tw\n");
            continue;
        }
        (void)snprintf(want, sizeof want,
                       "memory: the %s data ends early, after %zu bytes of the file; the file is "
                       "cut off, get it again whole\n",
                       what, n);
        assert_int_equal(o.st, FRE_E_DATA);
        assert_non_null(strstr(o.text, want));
    }
    a = pack(z, sizeof z, S(""));
    CHECK(TXT, ((fre_bytes){z, a}), FRE_E_NOINPUT,
          "memory: is empty; give a file with at least one text\n");
}

static void test_gzip(void **state)
{
    uint8_t z[8192];
    size_t n = 0;
    outcome o;

    (void)state;
    check_packed(gzip, "gzip");
    n = gzip(z, sizeof z, S("text\nzipped\n"));
    (void)memset(z + n, 0, 600); /* padding, as tape tools leave it */
    CHECK(CSV, ((fre_bytes){z, n + 600}), FRE_OK, "2:zipped\n");
    z[n] = 'x';
    o = run((fre_bytes){z, n + 600}, FRE_SRC_CHUNK, &CSV);
    assert_int_equal(o.st, FRE_E_DATA);
    assert_non_null(strstr(o.text, "memory: something that is not gzip follows the compressed data "
                                   "at byte "));
    n = gzip(z, sizeof z, S("text\nzipped\n"));
    z[n - 6] ^= 1; /* the check sum */
    o = run((fre_bytes){z, n}, FRE_SRC_CHUNK, &CSV);
    assert_int_equal(o.st, FRE_E_DATA);
    assert_non_null(strstr(o.text, "memory: the gzip data is damaged near byte "));
}

static void test_zstd(void **state)
{
    static const uint8_t skippable[] = {0x51, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c'};
    uint8_t z[8192], twice[8192];
    size_t n = 0;

    (void)state;
    check_packed(zstd, "zstd");
    n = zstd(z, sizeof z, S("a\n"));
    (void)memcpy(z + n, "abcd", 4);
    CHECK(TXT, ((fre_bytes){z, n + 4}), FRE_E_DATA,
          "memory: something that is not zstd follows the compressed data at byte 11; compress "
          "the file again whole\n");
    CHECK(TXT,
          S("\x28\xb5\x2f\xfd\x00\xa8\x19\x00\x00"
            "a\nb"),
          FRE_OK, /* a window of 2 GiB */
          "1:a\n2:b\n");
    CHECK(TXT,
          S("\x28\xb5\x2f\xfd\x01\x00\x07\x19\x00\x00"
            "a\nb"),
          FRE_E_DATA, /* dictionary 7 */
          "memory: was compressed with a dictionary, which is not in the file; decompress it first "
          "(zstd -d -D DICTIONARY)\n");
    (void)memcpy(z, skippable, sizeof skippable);
    n = sizeof skippable + zstd(z + sizeof skippable, sizeof z - sizeof skippable, S("a\nb"));
    CHECK(TXT, ((fre_bytes){z, n}), FRE_OK, "1:a\n2:b\n");
    n = gzip(twice, sizeof twice, (fre_bytes){z, n});
    n = gzip(z, sizeof z, (fre_bytes){twice, n});
    CHECK(TXT, ((fre_bytes){z, n}), FRE_E_DATA,
          "memory: is compressed twice; decompress it once\n");
}

/* ---- size ------------------------------------------------------------------------------ */

static void test_long_lines(void **state)
{
    size_t n = 10u << 20;
    char *data = malloc(n + 64), *want = malloc(n + 64);
    fre_corpus *c = NULL;
    fre_record r;
    bool more = false;
    fre_err err;

    (void)state;
    assert_non_null(data);
    assert_non_null(want);
    (void)memset(want, 'x', n);
    (void)memcpy(data, "first\n", 6);
    (void)memset(data + 6, 'x', n);
    (void)memcpy(data + 6 + n, "\r\nlast", 6);
    assert_int_equal(fre_corpus_open_memory(&c, (fre_bytes){(uint8_t *)data, n + 12}, &TXT, &err),
                     FRE_OK);
    assert_int_equal(fre_corpus_next(c, &more, &r, &err), FRE_OK);
    assert_string_equal(r.text, "first");
    assert_int_equal(fre_corpus_next(c, &more, &r, &err), FRE_OK);
    assert_int_equal(r.text_len, n);
    assert_memory_equal(r.text, want, n);
    assert_int_equal(fre_corpus_next(c, &more, &r, &err), FRE_OK);
    assert_string_equal(r.text, "last");
    assert_int_equal(r.line, 3);
    fre_corpus_free(c);
    free(data);
    free(want);
}

static void check_limit(size_t n, const fre_corpus_opts *opts, fre_status st, const char *want)
{
    char *data = malloc(n + 8);
    fre_corpus *c = NULL;
    fre_record r;
    bool more = false;
    fre_err err = {.text = ""};

    assert_non_null(data);
    (void)memcpy(data, "text\n\"", 6);
    (void)memset(data + 6, 'y', n - 1);
    (void)memcpy(data + 5 + n, "\n", 1);
    assert_int_equal(fre_corpus_open_memory(&c, (fre_bytes){(uint8_t *)data, n + 6}, opts, &err),
                     FRE_OK);
    if (opts->format == FRE_CORPUS_TXT)
        assert_int_equal(fre_corpus_next(c, &more, &r, &err), FRE_OK);
    assert_int_equal(fre_corpus_next(c, &more, &r, &err), st);
    if (st)
        assert_string_equal(err.text, want);
    else
        assert_int_equal(r.text_len, n);
    fre_corpus_free(c);
    free(data);
}

static void test_limit(void **state)
{
    (void)state;
    check_limit(FRE_CORPUS_TEXT_MAX, &TXT, FRE_OK, "");
    check_limit(FRE_CORPUS_TEXT_MAX + 1, &TXT, FRE_E_LIMIT,
                "memory: line 2: the record that starts here is longer than 64 MiB; break it into "
                "shorter texts");
    check_limit(FRE_CORPUS_TEXT_MAX + 1, &CSV, FRE_E_LIMIT,
                "memory: line 2: the record that starts here is longer than 64 MiB; is a quote not "
                "closed?");
}

/* ---- files ----------------------------------------------------------------------------- */

static void put(const char *path, fre_bytes data)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data.p, 1, data.n, f), data.n);
    assert_int_equal(fclose(f), 0);
}

/* On the descriptor that is open, whatever has the name now; and not if it was written to. */
static void check_again(fre_corpus *c, const char *path, fre_bytes data, const char *want)
{
    uint8_t sum[FRE_HASH_BYTES], wanted[FRE_HASH_BYTES];
    outcome o = {FRE_OK, ""};
    char old[600];
    FILE *f;
    fre_err err = {.text = ""};

    (void)snprintf(old, sizeof old, "%s.old", path);
    assert_int_equal(rename(path, old), 0);
    put(path, S("another file\n"));
    assert_true(fre_corpus_can_again(c));
    assert_int_equal(fre_corpus_again(c, salt, &err), FRE_OK);
    drain(&o, c);
    assert_int_equal(o.st, FRE_OK);
    assert_string_equal(o.text, want);
    assert_true(fre_corpus_sha256(sum, c));
    assert_memory_equal(sum, salted(wanted, data), sizeof sum);
    f = fopen(old, "ab");
    assert_true(f && fputs("more\n", f) >= 0 && fclose(f) == 0);
    assert_int_equal(fre_corpus_again(c, salt, &err), FRE_E_AGAIN);
    assert_non_null(strstr(err.text, "was changed while it was read"));
    assert_int_equal(unlink(old), 0);
}

static void check_file(const temp_dir *t, const char *name, fre_bytes data, const char *want)
{
    char path[512];
    fre_corpus *c = NULL;
    fre_err err = {.text = ""};
    outcome o = {FRE_OK, ""};
    fre_corpus_stats s;

    put(temp_path(path, t, name), data);
    assert_int_equal(fre_corpus_open(&c, path, NULL, &err), FRE_OK);
    drain(&o, c);
    assert_int_equal(o.st, FRE_OK);
    assert_string_equal(o.text, want);
    fre_corpus_get_stats(c, &s);
    assert_int_equal(s.bytes, data.n);
    assert_int_equal(s.bytes_all, data.n);
    check_again(c, path, data, want);
    fre_corpus_free(c);
}

static void test_files(void **state)
{
    temp_dir t;
    char path[512], want[1024];
    uint8_t z[512];
    size_t n = 0;
    fre_corpus *c = NULL;
    fre_err err = {.text = ""};

    (void)state;
    temp_dir_make(&t);
    /* The ending decides over the content. */
    check_file(&t, "a.txt", S("{\"text\":\"x\"}\n"), "1:{\"text\":\"x\"}\n");
    check_file(&t, "a.JSONL", S("{\"text\":\"x\"}\n"), "1:x\n");
    check_file(&t, "a.ndjson", S("{\"text\":\"x\"}\n"), "1:x\n");
    check_file(&t, "a.csv", S("text\nx\n"), "2:x\n");
    check_file(&t, "a.tsv", S("text\nx,y\n"), "2:x,y\n");
    check_file(&t, "data", S("id,text\n1,x\n"), "2:x\n");
    n = gzip(z, sizeof z, S("text\nzipped\n"));
    check_file(&t, "a.csv.gz", (fre_bytes){z, n}, "2:zipped\n");
    check_file(&t, "b.csv", (fre_bytes){z, n}, "2:zipped\n"); /* compression by content */
    check_file(&t, "c.csv.gz", S("text\nplain\n"), "2:plain\n");
    n = zstd(z, sizeof z, S("text\nzipped\n"));
    check_file(&t, "a.csv.zst", (fre_bytes){z, n}, "2:zipped\n");

    (void)temp_path(path, &t, "none.csv");
    (void)snprintf(want, sizeof want,
                   "%s: cannot be opened: No such file or directory; check the path", path);
    assert_int_equal(fre_corpus_open(&c, path, NULL, &err), FRE_E_NOINPUT);
    assert_string_equal(err.text, want);
    (void)snprintf(want, sizeof want, "%s: is a folder; give a file of texts", t.path);
    assert_int_equal(fre_corpus_open(&c, t.path, NULL, &err), FRE_E_NOINPUT);
    assert_string_equal(err.text, want);
    put(temp_path(path, &t, "empty.txt"), S(""));
    (void)snprintf(want, sizeof want, "%s: is empty; give a file with at least one text", path);
    assert_int_equal(fre_corpus_open(&c, path, NULL, &err), FRE_E_NOINPUT);
    assert_string_equal(err.text, want);
    check_file(&t, "a.json", S(" [{\"text\":\"x\"}]"), "1:x\n");
    assert_null(c);
    temp_dir_remove(&t);
}

static void test_display_name(void **state)
{
    char path[400], out[FRE_NAME_BYTES];

    (void)state;
    (void)memset(path, 'd', sizeof path);
    (void)snprintf(path + 380, 20, "/end\n.txt");
    fre_src_display_name(out, path);
    assert_int_equal(strlen(out), FRE_NAME_BYTES - 1);
    assert_memory_equal(out, "...ddd", 6);
    assert_string_equal(out + strlen(out) - 9, "/end?.txt");
    fre_src_display_name(out, "short");
    assert_string_equal(out, "short");
}

/* The same seven records whichever program wrote them. */
static void test_samples(void **state)
{
    static const char *const names[] = {"sample.csv",   "sample-excel.csv", "sample.tsv",
                                        "sample.jsonl", "sample.csv.gz",    "sample.jsonl.zst"};
    static const char *const want[][3] = {
        {"u1", "weather", "Will it rain tomorrow?"},
        {"u2", "alarm", "Wake me at six, please."},
        {"u1", "weather", "Will it rain tomorrow?"},
        {"u3", "recipe", "A \"quick\" soup:\ncarrots, ginger and lime"},
        {"u4", "travel", "O\xc3\xb9 est la gare ?"},
        {"5", "other", "NA"},
        {"u2", "other", "\xe8\xac\x9d\xe8\xac\x9d \xf0\x9f\x99\x82"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fre_corpus_opts opts = {.user_field = "user", .label_field = "label"};
        char path[512];
        fre_corpus *c = NULL;
        fre_record r;
        bool more = false;
        fre_err err = {.text = ""};

        (void)snprintf(path, sizeof path, "%s/tests/data/%s", FRE_SOURCE_DIR, names[i]);
        assert_int_equal(fre_corpus_open(&c, path, &opts, &err), FRE_OK);
        for (size_t k = 0; k < 7; k++) {
            assert_int_equal(fre_corpus_next(c, &more, &r, &err), FRE_OK);
            assert_true(more);
            assert_string_equal(r.user, want[k][0]);
            assert_string_equal(r.label, want[k][1]);
            assert_string_equal(r.text, want[k][2]);
        }
        assert_int_equal(fre_corpus_next(c, &more, &r, &err), FRE_OK);
        assert_false(more);
        fre_corpus_free(c);
    }
}

/* ---- ways ------------------------------------------------------------------------------ */

typedef enum way { FILE_NAME, FIFO, PIPE_FD, PIPE_STDIN, FILE_STDIN, DEV_STDIN, SOCKET, WAYS } way;

/* A process that writes the data, a few bytes at a time at first. */
static pid_t writer(int fd, const char *fifo, fre_bytes data)
{
    const pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    if (fifo)
        fd = open(fifo, O_WRONLY | O_CLOEXEC);
    for (size_t at = 0, n = 1; at < data.n; n *= 2) {
        const size_t left = data.n - at;
        const ssize_t put_now = write(fd, data.p + at, n < left ? n : left);

        if (put_now <= 0)
            _exit(1);
        at += (size_t)put_now;
    }
    _exit(0);
}

/* Hash of all that a reader gives, lines and stops included. */
static void read_way(uint8_t out[16], way how, const temp_dir *t, fre_bytes data)
{
    char path[512], text[64];
    int fd[2] = {-1, -1};
    const int saved = dup(0);
    fre_corpus *c = NULL;
    fre_record r;
    fre_err err = {.text = ""};
    bool more = true;
    pid_t pid = -1;
    uint8_t key[32] = {0};
    int status = 0;

    (void)temp_path(path, t, "data");
    if (how == FILE_NAME || how == FILE_STDIN)
        put(path, data);
    if (how == FIFO) {
        assert_int_equal(mkfifo(path, 0600), 0);
        pid = writer(-1, path, data);
    } else if (how == FILE_STDIN) {
        fd[0] = open(path, O_RDONLY | O_CLOEXEC);
    } else if (how != FILE_NAME) {
        assert_int_equal(how == SOCKET ? socketpair(AF_UNIX, SOCK_STREAM, 0, fd) : pipe(fd), 0);
        pid = writer(fd[1], NULL, data);
        (void)close(fd[1]);
    }
    if (how == PIPE_FD)
        (void)snprintf(path, sizeof path, "/dev/fd/%d", fd[0]);
    else if (how != FILE_NAME && how != FIFO)
        assert_int_equal(dup2(fd[0], 0), 0);
    if (how == PIPE_STDIN || how == FILE_STDIN)
        (void)snprintf(path, sizeof path, "-");
    if (how == DEV_STDIN || how == SOCKET)
        (void)snprintf(path, sizeof path, "/dev/stdin");
    if (fre_corpus_open(&c, path, NULL, &err) != FRE_OK)
        fail_msg("%d: %s", how, err.text);
    for (;;) {
        if (fre_corpus_next(c, &more, &r, &err) != FRE_OK)
            fail_msg("%d: %s", how, err.text);
        if (!more)
            break;
        fre_hash128(key, key, r.text, r.text_len);
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)r.line);
        fre_hash128(key, key, text, strlen(text));
    }
    assert_int_equal(fre_corpus_can_again(c), how == FILE_NAME || how == FILE_STDIN);
    fre_corpus_free(c);
    assert_int_equal(dup2(saved, 0), 0);
    (void)close(saved);
    if (fd[0] >= 0)
        (void)close(fd[0]);
    assert_true(pid < 0 || (waitpid(pid, &status, 0) == pid && status == 0));
    (void)unlink(temp_path(path, t, "data"));
    (void)memcpy(out, key, 16);
}

typedef struct layout {
    const char *first, *before, *between, *after, *last;
} layout;

/* Beyond what is looked at first, and what a pipe holds. */
static fre_bytes many_records(uint8_t *p, size_t cap, const layout *l)
{
    size_t n = (size_t)snprintf((char *)p, cap, "%s", l->first);

    for (int i = 0; i < 3000; i++)
        n += (size_t)snprintf((char *)p + n, cap - n, "%s%d%s%s%s", l->before, i, l->between,
                              "a text that is neither short nor long, but long enough", l->after);
    n += (size_t)snprintf((char *)p + n, cap - n, "%s", l->last);
    assert_true(n < cap && n > 2 * FRE_SNIFF_BYTES);
    return (fre_bytes){p, n};
}

/* All layouts and compressions the same by every way in which bytes come. */
static void test_ways(void **state)
{
    static uint8_t plain[1 << 20], z[1 << 20];
    static const layout kinds[] = {
        {"", "{\"n\": ", ", \"text\": \"", "\"}\n", ""},
        {"[{\"text\": \"one\"}", "\n,{\"n\": ", ",\n\"text\": \"", "\"}", "]\n"},
        {"n,text\n", "", ",\"", "\"\n", ""},
        {"n\ttext\n", "", "\t", "\n", ""},
        {"", "", " ", "\r\n", "the last has no end"},
    };
    temp_dir t;

    (void)state;
    temp_dir_make(&t);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const fre_bytes data = many_records(plain, sizeof plain, &kinds[i]);
        uint8_t want[16], got[16];

        read_way(want, FILE_NAME, &t, data);
        for (int how = 0; how < WAYS; how++) {
            read_way(got, (way)how, &t, data);
            assert_memory_equal(got, want, sizeof want);
            read_way(got, (way)how, &t, (fre_bytes){z, gzip(z, sizeof z, data)});
            assert_memory_equal(got, want, sizeof want);
            read_way(got, (way)how, &t, (fre_bytes){z, zstd(z, sizeof z, data)});
            assert_memory_equal(got, want, sizeof want);
        }
    }
    temp_dir_remove(&t);
}

/* A first record, then `of` records that can be used: read as text, with nothing said but of the first. */
static void check_first(const char *bytes, size_t n, size_t filled, const char *name,
                        fre_corpus_opts o, size_t of)
{
    static uint8_t p[1 << 20];
    temp_dir t;
    char path[512];
    fre_corpus *c = NULL;
    fre_record r;
    fre_err err = {.text = ""};
    fre_input *in = NULL;
    bool more = true;
    size_t k = n, read = 0;

    temp_dir_make(&t);
    (void)memcpy(p, bytes, n);
    for (; k < filled; k++)
        p[k] = bytes[k % n] == '\n' ? 0 : (uint8_t)bytes[k % n];
    p[k++] = '\n';
    for (size_t i = 0; i < of; i++)
        k += (size_t)snprintf((char *)p + k, sizeof p - k, "please turn on the lights\n");
    put(temp_path(path, &t, name), (fre_bytes){p, k});
    assert_int_equal(fre_input_open(&in, path, false, &err), FRE_OK);
    assert_false(fre_input_is_npy(in, &o));
    if (fre_corpus_open_input(&c, in, &o, &err) != FRE_OK)
        fail_msg("%s: %s", name, err.text);
    for (;;) {
        if (fre_corpus_next(c, &more, &r, &err) != FRE_OK)
            fail_msg("%s (first byte %02x): %s", name, p[0], err.text);
        if (!more)
            break;
        read += strcmp(r.text, "please turn on the lights") == 0;
    }
    assert_int_equal(read, of);
    fre_corpus_free(c);
    temp_dir_remove(&t);
}

/* What one record begins with decides about no other: neither a compression, nor an array, nor an
 * encoding, nor a file of another program. */
static void test_first_record_decides_nothing(void **state)
{
#define FIRST(s)                                                                                   \
    {                                                                                              \
        s, sizeof s - 1                                                                            \
    }
    static const struct {
        const char *p;
        size_t n;
    } first[] = {
        FIRST("P*M\x18 hi"),
        FIRST("_*M\x18\xff\0\0\0"),
        FIRST("\x1f\x8b\x08 hi"),
        FIRST("\x1f\x8b\r\1\r\1\r\1\r\1"),
        FIRST("\x28\xb5\x2f\xfd hi"),
        FIRST("\x28\xb5\x2f\xfd\0\xff\xff"),
        FIRST("\x93NUMPY\1\0v"),
        FIRST("\xff\xfe"),
        FIRST("\xfe\xff\1"),
        FIRST("\xff\xfe\0\0"),
        FIRST("\0\0\0\0"),
        FIRST("a\0b\0c\0d\0e\0f\0g\0h\0i\0"),
        FIRST("BZh9\xff"),
        FIRST("\xff\xff\xff\xff"),
        FIRST("PAR1\xfe"),
        FIRST("PK\3\4\0"),
        FIRST("SQLite format 3\0\2"),
        FIRST("%PDF-1.4\xff"),
        FIRST("\x80\4\x95"),
    };
    static const size_t filled[] = {0, 100u << 10, 300u << 10};
    const fre_corpus_opts nothing = {.invalid = FRE_CORPUS_INVALID_SKIP},
                          named = {.format = FRE_CORPUS_TXT, .invalid = FRE_CORPUS_INVALID_SKIP},
                          encoded = {.format = FRE_CORPUS_TXT,
                                     .encoding = "windows-1252",
                                     .invalid = FRE_CORPUS_INVALID_SKIP};

    (void)state;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        for (size_t j = 0; j < sizeof filled / sizeof *filled; j++)
            for (size_t of = 2; of <= 400; of += 398) {
                check_first(first[i].p, first[i].n, filled[j], "p.txt", nothing, of);
                check_first(first[i].p, first[i].n, filled[j], "p", named, of);
                check_first(first[i].p, first[i].n, filled[j], "p", encoded, of);
            }
}

/* Compressed data are known by their content, whatever their name and however well they pack. */
static void test_compressed_is_known(void **state)
{
    static uint8_t plain[1 << 20], z[1 << 20], stored[64 << 10];
    temp_dir t;
    const size_t sizes[] = {1, 2, 3, 5, 17, 100, 400, 3000, 30000};
    const fre_corpus_opts csv = {.format = FRE_CORPUS_CSV};

    (void)state;
    temp_dir_make(&t);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char want[32];
        size_t n = (size_t)snprintf((char *)plain, sizeof plain, "text\n");

        (void)snprintf(want, sizeof want, "%zu:last\n", sizes[i] + 1);
        for (size_t k = 0; k + 1 < sizes[i]; k++)
            n +=
                (size_t)snprintf((char *)plain + n, sizeof plain - n, "this is text %zu\n", k % 40);
        n += (size_t)snprintf((char *)plain + n, sizeof plain - n, "last\n");
        for (int how = 0; how < 2; how++) {
            const size_t k = (how ? zstd : gzip)(z, sizeof z, (fre_bytes){plain, n});
            fre_corpus *c = NULL;
            fre_record r;
            fre_err err;
            bool more = true;
            char path[512], last[32] = "";

            put(temp_path(path, &t, "data.csv"), (fre_bytes){z, k});
            assert_int_equal(fre_corpus_open(&c, path, &csv, &err), FRE_OK);
            for (size_t at = 0;; at++) {
                assert_int_equal(fre_corpus_next(c, &more, &r, &err), FRE_OK);
                if (!more)
                    break;
                (void)snprintf(last, sizeof last, "%zu:%.8s\n", (size_t)r.line, r.text);
            }
            assert_string_equal(last, want);
            fre_corpus_free(c);
        }
    }
    /* As it is stored it is text: its name says what it is. */
    {
        z_stream y = {0};

        (void)memset(plain, 'a', 2000);
        for (size_t k = 9; k < 2000; k += 10)
            plain[k] = '\n';
        assert_int_equal(deflateInit2(&y, 0, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
        y.next_in = plain;
        y.avail_in = 2000;
        y.next_out = stored;
        y.avail_out = sizeof stored;
        assert_int_equal(deflate(&y, Z_FINISH), Z_STREAM_END);
        assert_int_equal(deflateEnd(&y), Z_OK);
        {
            char path[512];
            fre_corpus *c = NULL;
            fre_corpus_about about;
            fre_err err;

            put(temp_path(path, &t, "data.txt.gz"),
                (fre_bytes){stored, sizeof stored - y.avail_out});
            assert_int_equal(fre_corpus_open(&c, path, NULL, &err), FRE_OK);
            fre_corpus_get_about(c, &about);
            assert_string_equal(about.compression, "gzip");
            fre_corpus_free(c);
        }
    }
    temp_dir_remove(&t);
}

/* Standard input, by a pipe that gives a few bytes at a time. */
static void test_stdin(void **state)
{
    int fd[2], saved = dup(0);
    outcome o = {FRE_OK, ""};
    fre_corpus *c = NULL;
    fre_corpus_stats s;
    fre_err err = {.text = ""};

    (void)state;
    assert_true(saved >= 0);
    assert_int_equal(pipe(fd), 0);
    assert_int_equal(write(fd[1], "{\"text\":\"a\"}\n{\"text\":\"b\"}\n", 26), 26);
    (void)close(fd[1]);
    assert_int_equal(dup2(fd[0], 0), 0);
    (void)close(fd[0]);
    assert_int_equal(fre_corpus_open(&c, "-", NULL, &err), FRE_OK);
    drain(&o, c);
    assert_string_equal(o.text, "1:a\n2:b\n");
    assert_false(fre_corpus_can_again(c));
    assert_int_equal(fre_corpus_again(c, salt, &err), FRE_E_STATE);
    assert_string_equal(err.text, "standard input: can be read only once");
    fre_corpus_get_stats(c, &s);
    assert_int_equal(s.bytes, 26);
    assert_int_equal(s.bytes_all, 0);
    assert_int_equal(s.records, 2);
    fre_corpus_free(c);
    c = NULL;
    /* At its end it is empty, and it is still open: it is not ours to close. */
    assert_int_equal(fre_corpus_open(&c, "-", NULL, &err), FRE_E_NOINPUT);
    assert_string_equal(err.text, "standard input: is empty; give a file with at least one text");
    assert_int_equal(dup2(saved, 0), 0);
    (void)close(saved);
}

static void test_interrupt(void **state)
{
    temp_dir t;
    char path[512];
    fre_corpus *c = NULL;
    fre_err err = {.text = ""};

    (void)state;
    temp_dir_make(&t);
    put(temp_path(path, &t, "a.txt"), S("a\n"));
    fre_interrupt_set();
    assert_int_equal(fre_corpus_open(&c, path, NULL, &err), FRE_E_INTERRUPTED);
    fre_interrupt_clear();
    temp_dir_remove(&t);
}

static void test_expected(void **state)
{
    fre_corpus_stats s = {.records = 30, .bytes = 100, .bytes_all = 400};

    (void)state;
    assert_int_equal(fre_corpus_expected(&s), 120);
    s.bytes = 400;
    assert_int_equal(fre_corpus_expected(&s), 30);
    s.bytes_all = 0; /* standard input */
    assert_int_equal(fre_corpus_expected(&s), 0);
    s = (fre_corpus_stats){.bytes_all = 400}; /* nothing read so far */
    assert_int_equal(fre_corpus_expected(&s), 0);
}

/* The estimate is right from the first records on: what is read ahead does not count as done, or the
 * time left would climb while a run goes on. */
static void test_expected_from_the_start(void **state)
{
    enum { LINES = 60000, LINE = 16 };
    char *lines = malloc((size_t)LINES * LINE + 1);

    (void)state;
    assert_non_null(lines);
    for (int i = 0; i < LINES; i++)
        (void)snprintf(lines + (size_t)i * LINE, LINE + 1, "request %7u\n",
                       (unsigned)i % 10000000u);
    for (int packed = 0; packed < 2; packed++) {
        const fre_bytes plain = {(const uint8_t *)lines, (size_t)LINES * LINE};
        fre_corpus *c = NULL;
        fre_corpus_stats s;
        fre_record rec;
        bool more = true;
        uint8_t *file = NULL;
        fre_bytes data = plain;

        if (packed) {
            file = malloc(plain.n);
            assert_non_null(file);
            data = (fre_bytes){file, zstd(file, plain.n, plain)};
        }
        assert_int_equal(fre_corpus_open_memory(&c, data, NULL, NULL), FRE_OK);
        for (int i = 1; i <= LINES; i++) {
            assert_int_equal(fre_corpus_next(c, &more, &rec, NULL), FRE_OK);
            assert_true(more);
            if (i % 1000 != 0)
                continue;
            fre_corpus_get_stats(c, &s);
            /* A compressed block is taken at once. */
            assert_in_range(fre_corpus_expected(&s), LINES - (packed ? LINES / 2 : 200),
                            LINES + (packed ? LINES / 2 : 200));
        }
        fre_corpus_free(c);
        free(file);
    }
    free(lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expected),
        cmocka_unit_test(test_expected_from_the_start),
        cmocka_unit_test(test_txt),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_invalid_bytes),
        cmocka_unit_test(test_nul),
        cmocka_unit_test(test_not_text),
        cmocka_unit_test(test_jsonl),
        cmocka_unit_test(test_jsonl_fields),
        cmocka_unit_test(test_jsonl_syntax),
        cmocka_unit_test(test_jsonl_escapes),
        cmocka_unit_test(test_jsonl_nesting),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_csv_errors),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_document_refusals),
        cmocka_unit_test(test_long_documents),
        cmocka_unit_test(test_keep_json),
        cmocka_unit_test(test_delimiters),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_first_line_is_long),
        cmocka_unit_test(test_first_object_is_long),
        cmocka_unit_test(test_first_line_is_odd),
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_na_values),
        cmocka_unit_test(test_skip),
        cmocka_unit_test(test_skip_giant),
        cmocka_unit_test(test_guess),
        cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_zstd),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_display_name),
        cmocka_unit_test(test_ways),
        cmocka_unit_test(test_first_record_decides_nothing),
        cmocka_unit_test(test_compressed_is_known),
        cmocka_unit_test(test_stdin),
        cmocka_unit_test(test_interrupt),
        cmocka_unit_test(test_samples),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
