/* The promises of fre/embed.h: the same bits whatever the batch, order and threads; PyTorch's
 * numbers; long, foreign, empty and odd texts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include <fre/embed.h>
#include <fre/linalg.h>

#define MODEL FRE_SOURCE_DIR "/models/all-minilm-l6-v2.q8_0.gguf"
#define DIM 384u

static const char *const sentence[] = {
    "set an alarm for seven in the morning",
    "wake me up",
    "",
    "what will the weather be like in the capital of france the day after tomorrow, roughly?",
    "play jazz",
    "transfer fifty dollars from my savings account to my checking account please",
    "a",
    "thanks",
    "   \t ",
    "naïve café, 東京",
    "how many ounces are in a cup and how many cups are in a gallon and a half of milk",
};
#define SENTENCES (sizeof sentence / sizeof *sentence)

static fre_embedder *make(uint32_t threads)
{
    fre_embedder_opts opts = {.path = MODEL, .threads = threads};
    fre_embedder *e = NULL;
    fre_err err = {.text = ""};

    if (fre_embedder_new(&e, &opts, &err) != FRE_OK)
        fail_msg("%s", err.text);
    return e;
}

static fre_embedder *shared; /* one thread; opening one takes a while under the sanitizers */

static int open_shared(void **state)
{
    (void)state;
    shared = make(1);
    return 0;
}

static int free_shared(void **state)
{
    (void)state;
    fre_embedder_free(shared);
    return 0;
}

static void embed(fre_embedder *e, float *out, const char *const *text, size_t n)
{
    size_t *len = calloc(n, sizeof *len);
    fre_err err = {.text = ""};

    assert_non_null(len);
    for (size_t i = 0; i < n; i++)
        len[i] = strlen(text[i]);
    if (fre_embed_texts(e, out, text, len, n, &err) != FRE_OK)
        fail_msg("%s", err.text);
    free(len);
}

static double cosine(const float *a, const float *b)
{
    double ab = 0.0, aa = 0.0, bb = 0.0;

    for (size_t i = 0; i < DIM; i++) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return ab / sqrt(aa * bb);
}

/* 300 texts: every sentence many times over in changing company. */
static void same_bits_whatever_the_batch(void **state)
{
    enum { N = 90 };
    const char *text[N];
    static float alone[SENTENCES * DIM], batch[N * DIM];
    fre_embedder *one = shared, *two = make(2);

    (void)state;
    for (size_t i = 0; i < SENTENCES; i++)
        embed(one, alone + i * DIM, &sentence[i], 1);
    for (size_t i = 0; i < N; i++)
        text[i] = sentence[(i * 7 + i / 13) % SENTENCES];
    embed(one, batch, text, N);
    for (size_t i = 0; i < N; i++)
        assert_memory_equal(batch + i * DIM, alone + (i * 7 + i / 13) % SENTENCES * DIM,
                            DIM * sizeof(float));
    embed(two, batch, text, N);
    for (size_t i = 0; i < N; i++)
        assert_memory_equal(batch + i * DIM, alone + (i * 7 + i / 13) % SENTENCES * DIM,
                            DIM * sizeof(float));
    for (size_t i = 0; i < N / 2; i++) {
        const char *swap = text[i];

        text[i] = text[N - 1 - i];
        text[N - 1 - i] = swap;
    }
    embed(two, batch, text, N);
    for (size_t i = 0; i < N; i++) {
        size_t j = N - 1 - i;

        assert_memory_equal(batch + i * DIM, alone + (j * 7 + j / 13) % SENTENCES * DIM,
                            DIM * sizeof(float));
    }
    fre_embedder_free(two);
}

/* Those of a text with a token; the others are zero. */
static void rows_have_unit_length(void **state)
{
    static float x[SENTENCES * DIM];
    fre_embedder *e = shared;

    (void)state;
    embed(e, x, sentence, SENTENCES);
    for (size_t i = 0; i < SENTENCES; i++) {
        double sum = 0.0;

        for (size_t j = 0; j < DIM; j++)
            sum += (double)x[i * DIM + j] * (double)x[i * DIM + j];
        assert_true(fabs(sum - (strspn(sentence[i], " \t") < strlen(sentence[i]))) < 1e-6);
    }
}

/* tests/vectors/embeddings.json: sentence-transformers in float32. */
static void agrees_with_pytorch(void **state)
{
    json_error_t why;
    json_t *all = json_load_file(FRE_SOURCE_DIR "/tests/vectors/embeddings.json", 0, &why);
    json_t *rows = json_object_get(all, "rows");
    size_t n = json_array_size(rows);
    static float x[64 * DIM], want[64 * DIM];
    const char *text[64];
    fre_embedder *e = shared;

    (void)state;
    assert_true(n >= 10 && n <= 64);
    for (size_t i = 0; i < n; i++) {
        json_t *row = json_array_get(rows, i), *v = json_object_get(row, "embedding");

        text[i] = json_string_value(json_object_get(row, "text"));
        assert_non_null(text[i]);
        assert_int_equal(json_array_size(v), DIM);
        for (size_t j = 0; j < DIM; j++)
            want[i * DIM + j] = (float)json_real_value(json_array_get(v, j));
    }
    embed(e, x, text, n);
    for (size_t i = 0; i < n; i++) {
        if (cosine(x + i * DIM, want + i * DIM) < 0.9985)
            fail_msg("row %zu: cosine %.6f", i, cosine(x + i * DIM, want + i * DIM));
        for (size_t j = 0; j < i; j++)
            assert_true(fabs(cosine(x + i * DIM, x + j * DIM) -
                             cosine(want + i * DIM, want + j * DIM)) < 0.02);
    }
    json_decref(all);
}

/* A text beyond the context is its beginning, closed as the model wants it, and is counted. */
static void long_texts_are_truncated_and_counted(void **state)
{
    enum { WORDS = 40000 };
    char *text = calloc(1, WORDS * 6 + 1), *shorter = calloc(1, 600 * 6 + 1);
    const char *list[3];
    static float x[3 * DIM];
    fre_embedder *e = shared;
    fre_embed_stats s, was;

    (void)state;
    assert_non_null(text);
    assert_non_null(shorter);
    for (size_t i = 0; i < WORDS; i++)
        memcpy(text + i * 6, i % 3 ? "green " : "table ", 6);
    memcpy(shorter, text, 600 * 6);
    list[0] = text;
    list[1] = shorter;
    list[2] = "green table";
    fre_embed_get_stats(e, &was);
    embed(e, x, list, 3);
    fre_embed_get_stats(e, &s);
    assert_int_equal(s.texts - was.texts, 3);
    assert_int_equal(s.truncated - was.truncated, 2);
    assert_int_equal(s.tokens - was.tokens, 256 + 256 + 4);
    assert_memory_equal(x, x + DIM, DIM * sizeof(float));
    free(text);
    free(shorter);
}

static void foreign_texts_are_counted(void **state)
{
    static const char *const text[] = {
        "ꦲꦏ꧀ꦱꦫ ꦗꦮ",
        "ᚠᛇᚻ ᛒᛦᚦ ᚠᚱᚩᚠᚢᚱ",
        "hello there, how are you",
        "open the ꦲꦏ folder now please",
        "Wie wird das Wetter morgen in der Stadt, Herr Oberbürgermeister",
        "",
        "\u200b\u0301\u2060",
        "🚀🚀 !!",
        "帮我设一个明天早上七点的闹钟",
        "?!"};
    static const uint8_t want[] = {FRE_TEXT_UNKNOWN | FRE_TEXT_FOREIGN,
                                   FRE_TEXT_UNKNOWN | FRE_TEXT_FOREIGN,
                                   0,
                                   0,
                                   FRE_TEXT_FOREIGN,
                                   FRE_TEXT_EMPTY,
                                   FRE_TEXT_EMPTY,
                                   FRE_TEXT_UNKNOWN | FRE_TEXT_FOREIGN,
                                   FRE_TEXT_FOREIGN,
                                   0};
    enum { TEXTS = sizeof want };
    static float x[TEXTS * DIM];
    size_t len[TEXTS];
    uint8_t mark[TEXTS];
    fre_text_counts c = {0};
    fre_err err = {.text = ""};
    fre_embedder *e = shared;
    fre_embed_stats s, was;

    (void)state;
    fre_embed_get_stats(e, &was);
    for (size_t i = 0; i < TEXTS; i++)
        len[i] = strlen(text[i]);
    assert_int_equal(fre_embed_texts_marked(e, x, mark, text, len, TEXTS, &err), FRE_OK);
    fre_embed_get_stats(e, &s);
    for (size_t i = 0; i < TEXTS; i++) {
        if (mark[i] != want[i])
            fail_msg("text %zu: marks %u, not %u", i, mark[i], want[i]);
        assert_int_equal(fre_is_zero_row(x + i * DIM, DIM), (want[i] & FRE_TEXT_BLANK) != 0);
        fre_text_counts_add(&c, mark[i], 100);
    }
    assert_int_equal(s.texts - was.texts, TEXTS);
    assert_int_equal(s.truncated, was.truncated);
    assert_int_equal(c.records, 100 * TEXTS);
    assert_int_equal(c.foreign, 500);
    assert_true(fre_text_counts_foreign(&c));
    fre_text_counts_add(&c, 0, 1500);
    assert_false(fre_text_counts_foreign(&c));
}

/* NUL bytes and marks that look like special tokens are text; bytes that are not UTF-8 are
 * refused (llama.cpp would end the process on some of them). */
static void odd_bytes_are_text_or_refused(void **state)
{
    static const char odd[] = "a\0b [SEP] [CLS] [MASK] \xf0\x9f\x98\x80";
    static const char *const bad[] = {"\xff",         "a\xc3",
                                      "\xe2\x82",     "\xed\xa0\x80",
                                      "\xc0\x80",     "\xf4\x90\x80\x80",
                                      "\xe0\x80\x80", "\xf0\x80\x80\x80",
                                      "\x80",         "\xf1\x80\x80z"};
    const char *text = odd;
    size_t len = sizeof odd - 1;
    static float x[DIM], before[DIM];
    fre_embedder *e = shared;
    fre_embed_stats s, was;
    fre_err err = {.text = ""};

    (void)state;
    fre_embed_get_stats(e, &was);
    assert_int_equal(fre_embed_texts(e, x, &text, &len, 1, &err), FRE_OK);
    fre_embed_get_stats(e, &s);
    assert_true(s.tokens - was.tokens > 10); /* [SEP] was cut into pieces */
    memcpy(before, x, sizeof x);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        len = strlen(bad[i]);
        assert_int_equal(fre_embed_texts(e, x, &bad[i], &len, 1, &err), FRE_E_DATA);
        assert_memory_equal(x, before, sizeof x);
    }
}

/* An interruption gives its own status, leaves the output alone, and the embedder usable. */
static void interruption_is_polled(void **state)
{
    float x[DIM], before[DIM];
    const size_t len = 5;
    const char *text = "hello";
    fre_embedder *e = shared;
    fre_err err = {.text = ""};

    (void)state;
    for (size_t i = 0; i < DIM; i++)
        x[i] = before[i] = 7.0f;
    fre_interrupt_set();
    assert_int_equal(fre_embed_texts(e, x, &text, &len, 1, &err), FRE_E_INTERRUPTED);
    fre_interrupt_clear();
    assert_memory_equal(x, before, sizeof x);
    assert_int_equal(fre_embed_texts(e, x, &text, &len, 1, &err), FRE_OK);
    assert_memory_not_equal(x, before, sizeof x);
}

static void wrong_arguments_and_files(void **state)
{
    fre_embedder_opts opts = {.path = MODEL, .threads = 0};
    fre_embedder *e = NULL;
    fre_err err = {.text = ""};

    (void)state;
    assert_int_equal(fre_embedder_new(&e, &opts, &err), FRE_E_USAGE);
    assert_string_equal(err.text, "{threads} must be a whole number from 1 to 1024");
    opts.threads = 1;
    opts.path = FRE_SOURCE_DIR "/models/minilm-inverter.q8_0.gguf";
    assert_int_equal(fre_embedder_new(&e, &opts, &err), FRE_E_MODEL);
    assert_non_null(strstr(err.text, "not a sentence embedder"));
    opts.path = FRE_SOURCE_DIR "/models/absent.gguf";
    assert_int_equal(fre_embedder_new(&e, &opts, &err), FRE_E_NOINPUT);
    assert_null(e);
    fre_embedder_free(NULL);
}

/* ---- one text after the other ----------------------------------------------------------------------- */

typedef struct rows {
    float x[8][DIM];
    uint8_t mark[8];
    size_t n, most; /* most: refused from there on */
} rows;

static fre_status keep_row(void *ctx, const float *row, uint8_t mark, fre_err *err)
{
    rows *r = ctx;

    if (r->n == r->most)
        return fre_fail(err, FRE_E_IO, "no room");
    memcpy(r->x[r->n], row, sizeof r->x[0]);
    r->mark[r->n++] = mark;
    return FRE_OK;
}

static void rows_come_in_the_order_of_their_texts(void **state)
{
    static const char *const text[] = {"hello", "", "what time is it", "hello", "hello"};
    static rows r = {.most = 8};
    fre_embed_stream *s = NULL;
    fre_err err = {.text = ""};
    float x[DIM];
    uint8_t mark;

    (void)state;
    assert_int_equal(fre_embed_stream_new(&s, shared, keep_row, &r, &err), FRE_OK);
    for (size_t i = 0; i < 4; i++) {
        char *copy = strdup(text[i]); /* a text is kept, whatever becomes of its memory */

        assert_non_null(copy);
        assert_int_equal(fre_embed_stream_add(s, copy, strlen(copy), &err), FRE_OK);
        free(copy);
    }
    assert_int_equal(fre_embed_stream_waiting(s), 4);
    assert_int_equal(fre_embed_stream_flush(s, &err), FRE_OK);
    assert_int_equal(fre_embed_stream_waiting(s), 0);
    assert_int_equal(fre_embed_stream_add(s, text[4], strlen(text[4]), &err), FRE_OK);
    assert_int_equal(fre_embed_stream_flush(s, &err), FRE_OK);
    assert_int_equal(fre_embed_stream_flush(s, &err), FRE_OK); /* nothing waits */
    assert_int_equal(r.n, 5);
    for (size_t i = 0; i < 5; i++) {
        const size_t len = strlen(text[i]);

        assert_int_equal(fre_embed_texts_marked(shared, x, &mark, &text[i], &len, 1, &err), FRE_OK);
        assert_memory_equal(r.x[i], x, sizeof x);
        assert_int_equal(r.mark[i], mark);
    }
    r.most = 6;
    assert_int_equal(fre_embed_stream_add(s, "a", 1, &err), FRE_OK);
    assert_int_equal(fre_embed_stream_add(s, "b", 1, &err), FRE_OK);
    assert_int_equal(fre_embed_stream_flush(s, &err), FRE_E_IO); /* the sink's own status */
    assert_int_equal(fre_embed_stream_add(s, "\xff", 1, &err), FRE_OK);
    assert_int_equal(fre_embed_stream_flush(s, &err), FRE_E_DATA);
    assert_int_equal(r.n, 6);
    fre_embed_stream_free(s);
    fre_embed_stream_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_whatever_the_batch),
        cmocka_unit_test(rows_have_unit_length),
        cmocka_unit_test(agrees_with_pytorch),
        cmocka_unit_test(long_texts_are_truncated_and_counted),
        cmocka_unit_test(foreign_texts_are_counted),
        cmocka_unit_test(odd_bytes_are_text_or_refused),
        cmocka_unit_test(interruption_is_polled),
        cmocka_unit_test(rows_come_in_the_order_of_their_texts),
        cmocka_unit_test(wrong_arguments_and_files),
    };

    return cmocka_run_group_tests(tests, open_shared, free_shared);
}
