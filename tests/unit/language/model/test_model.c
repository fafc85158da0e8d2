/* fre/model.h: the encoder against itself and llama.cpp, tokens, the decoder, plain tensors, and
 * every damaged, foreign or missing file as one sentence. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include <cmocka.h>

#include <fre/model.h>

#include "reference.h"
#include "temp_dir.h"
#include "tiny_gguf.h"
#include "weights.h"

#define MODELS FRE_SOURCE_DIR "/models/"
#define EMBEDDER MODELS "all-minilm-l6-v2.q8_0.gguf"
#define DECODER MODELS "minilm-inverter.q8_0.gguf"
#define PROJECTOR MODELS "minilm-inverter-projector.f16.gguf"
#define DIM 384u

static char path[512];

static const char *in_dir(const temp_dir *t, const char *name)
{
    (void)snprintf(path, sizeof path, "%s/%s", t->path, name);
    return path;
}

static fre_model *must_open(const char *file, fre_model_kind kind)
{
    fre_model *m = NULL;
    fre_err err = {.text = ""};

    if (fre_model_open(&m, file, kind, &err) != FRE_OK)
        fail_msg("%s", err.text);
    return m;
}

static fre_model_ctx *must_ctx(const fre_model *m, uint32_t tokens, uint32_t seqs)
{
    fre_model_ctx *c = NULL;
    fre_err err = {.text = ""};

    if (fre_model_ctx_new(&c, m, tokens, seqs, &err) != FRE_OK)
        fail_msg("%s", err.text);
    return c;
}

static void describes_the_bundled_models(void **state)
{
    fre_model *m = must_open(EMBEDDER, FRE_MODEL_EMBEDDER);
    const fre_model_info *i = fre_model_info_view(m);
    char hex[2 * FRE_HASH_BYTES + 1];

    (void)state;
    assert_string_equal(i->architecture, "bert");
    assert_string_equal(i->pooling, "mean");
    assert_int_equal(i->dim, DIM);
    assert_int_equal(i->context, 512);
    assert_int_equal(i->vocab, 30522);
    assert_true(i->normalised);
    fre_hex(hex, i->sha256, sizeof i->sha256);
    assert_string_equal(hex, "bf1d74689ea4b1d2db7bc1ee52ed8f4618984437d05ba47d7513d24a8c5f18ed");
    fre_model_free(m);

    m = must_open(DECODER, FRE_MODEL_DECODER);
    i = fre_model_info_view(m);
    assert_string_equal(i->architecture, "llama");
    assert_string_equal(i->pooling, "none");
    assert_int_equal(i->dim, 320);
    assert_int_equal(i->vocab, 8192);
    assert_int_equal(fre_model_bos(m), 1);
    assert_true(fre_model_is_end(m, 2));
    assert_false(fre_model_is_end(m, 3));
    assert_false(fre_model_is_end(m, -1));
    assert_false(fre_model_is_end(m, 8192));
    fre_model_free(m);
    fre_model_free(NULL);
}

/* Ids of the Hugging Face tokenizer of the same model. */
static void tokenises_as_the_original(void **state)
{
    static const int32_t want[] = {101, 2275, 2019, 8598, 2005, 2698, 1999, 1996, 2851, 102};
    static const int32_t pieces[] = {101, 4895, 8671, 2666, 3567, 6321, 102};
    static const int32_t mixed[] = {101, 15743, 7668, 1010, 1879, 1755, 2123, 1005, 1056, 102};
    static const char text[] = "Set an alarm for seven in the morning";
    fre_model *m = must_open(EMBEDDER, FRE_MODEL_EMBEDDER);
    int32_t ids[32];
    size_t n = 32;

    (void)state;
    assert_int_equal(fre_model_tokenize(m, ids, &n, text, strlen(text), true), FRE_OK);
    assert_int_equal(n, 10);
    assert_memory_equal(ids, want, sizeof want);
    n = 32;
    assert_int_equal(fre_model_tokenize(m, ids, &n, "Unbelievably", 12, true), FRE_OK);
    assert_int_equal(n, 7);
    assert_memory_equal(ids, pieces, sizeof pieces);
    n = 32;
    assert_int_equal(fre_model_tokenize(m, ids, &n, "naïve café, 東京 don't",
                                        strlen("naïve café, 東京 don't"), true),
                     FRE_OK);
    assert_int_equal(n, 10);
    assert_memory_equal(ids, mixed, sizeof mixed);

    n = 5; /* cut, and closed by [SEP] */
    ids[5] = -7;
    assert_int_equal(fre_model_tokenize(m, ids, &n, text, strlen(text), true), FRE_OK);
    assert_int_equal(n, 10);
    assert_memory_equal(ids, want, 4 * sizeof *ids);
    assert_int_equal(ids[4], 102);
    assert_int_equal(ids[5], -7);
    n = 5; /* without special tokens there is nothing to close with */
    assert_int_equal(fre_model_tokenize(m, ids, &n, text, strlen(text), false), FRE_OK);
    assert_int_equal(n, 8);
    assert_memory_equal(ids, want + 1, 5 * sizeof *ids);
    n = 0;
    assert_int_equal(fre_model_tokenize(m, NULL, &n, "", 0, true), FRE_OK);
    assert_int_equal(n, 2);
    assert_true(fre_model_is_unknown(m, 100));
    assert_false(fre_model_is_unknown(m, 101));
    n = 4;
    assert_int_equal(fre_model_tokenize(m, ids, &n, "\xff", 1, true), FRE_E_DATA);
    assert_int_equal(n, 4);
    fre_model_free(m);
}

/* Sequences of 2..120 tokens: every tail of a tile, attention over one to eight vectors. */
static size_t make_sequences(int32_t *ids, uint32_t *len, uint32_t n)
{
    size_t at = 0;

    for (uint32_t s = 0; s < n; s++) {
        len[s] = s < 12 ? 2 + s : 2 + s * 9 % 119;
        for (uint32_t i = 0; i < len[s]; i++)
            ids[at++] = i == 0            ? 101
                        : i + 1 == len[s] ? 102
                                          : (int32_t)(1996 + (s * 31 + i * 17) % 9000);
    }
    return at;
}

static bool encode_with(const char *file, const char *kernels, float *out, const int32_t *ids,
                        const uint32_t *len, uint32_t n, uint32_t tokens)
{
    fre_model *m = NULL;
    fre_model_ctx *c;
    fre_err err = {.text = ""};
    fre_status st = fre_model_open_reference(&m, file, FRE_MODEL_EMBEDDER, kernels, &err);

    if (st == FRE_E_STATE)
        return false;
    if (st != FRE_OK)
        fail_msg("%s", err.text);
    c = must_ctx(m, tokens, 1);
    if (fre_model_encode(c, out, ids, len, n, &err) != FRE_OK)
        fail_msg("%s", err.text);
    fre_model_ctx_free(c);
    fre_model_free(m);
    return true;
}

static void every_instruction_set_gives_the_same_bits(void **state)
{
    enum { N = 24 };
    static const char *const name[] = {"avx512", "avx2"};
    static int32_t ids[N * 128];
    static float plain[3 * DIM], x[N * DIM], first[N * DIM];
    uint32_t len[N];
    bool have_first = false;

    (void)state;
    (void)make_sequences(ids, len, N);
    /* Plain C is slow where fmaf is a call: three short sequences of a real model ... */
    assert_true(encode_with(EMBEDDER, "generic", plain, ids, len, 3, 512));
    for (size_t k = 0; k < sizeof name / sizeof *name; k++) {
        if (!encode_with(EMBEDDER, name[k], x, ids, len, N, 512))
            continue;
        assert_memory_equal(x, plain, sizeof plain);
        if (have_first)
            assert_memory_equal(x, first, sizeof x);
        memcpy(first, x, sizeof x);
        have_first = true;
    }
}

/* ... and all lengths of a tiny one. */
static void plain_c_gives_the_same_bits(void **state)
{
    static const char *const name[] = {"avx512", "avx2"};
    tiny_shape s = tiny_default();
    temp_dir t;
    uint32_t len[31];
    static int32_t ids[31 * 32];
    static float plain[31 * 64], x[31 * 64];
    size_t at = 0;

    (void)state;
    temp_dir_make(&t);
    for (uint32_t i = 0; i < 31; i++) {
        len[i] = i + 2;
        for (uint32_t j = 0; j < len[i]; j++)
            ids[at++] = (int32_t)((i + j * 3) % 10);
    }
    for (uint32_t pooling = 1; pooling <= 3; pooling++) {
        s.pooling = pooling;
        tiny_file(in_dir(&t, "tiny.gguf"), &s);
        assert_true(encode_with(path, "generic", plain, ids, len, 31, 32));
        for (size_t k = 0; k < 2; k++)
            if (encode_with(path, name[k], x, ids, len, 31, 32))
                assert_memory_equal(x, plain, sizeof x);
    }
    temp_dir_remove(&t);
}

static double cosine(const float *a, const float *b, uint32_t dim)
{
    double sum = 0.0;

    for (uint32_t i = 0; i < dim; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* llama.cpp rounds activations to eight bits with Q8_0 weights and not with f32 ones. */
static void agrees_with_llama_cpp(void **state)
{
    enum { N = 24 };
    static int32_t ids[N * 128];
    static float ours[N * DIM], theirs[N * DIM];
    tiny_shape s = tiny_default();
    uint32_t len[N], tiny_len[3] = {2, 9, 32};
    temp_dir t;

    (void)state;
    (void)make_sequences(ids, len, N);
    if (!encode_with(EMBEDDER, "avx512", ours, ids, len, N, 512) &&
        !encode_with(EMBEDDER, "avx2", ours, ids, len, N, 512))
        skip();
    assert_true(encode_with(EMBEDDER, NULL, theirs, ids, len, N, 512));
    for (uint32_t i = 0; i < N; i++)
        if (cosine(ours + i * DIM, theirs + i * DIM, DIM) < 0.99)
            fail_msg("sequence %u: cosine %.5f", i, cosine(ours + i * DIM, theirs + i * DIM, DIM));
    temp_dir_make(&t);
    for (size_t i = 0; i < 43; i++)
        ids[i] = (int32_t)(i * 7 % 10);
    for (uint32_t pooling = 1; pooling <= 3; pooling++) {
        s.pooling = pooling;
        tiny_file(in_dir(&t, "tiny.gguf"), &s);
        assert_true(encode_with(path, "generic", ours, ids, tiny_len, 3, 32));
        assert_true(encode_with(path, NULL, theirs, ids, tiny_len, 3, 32));
        for (uint32_t i = 0; i < 3; i++)
            if (cosine(ours + i * 64, theirs + i * 64, 64) < 0.9999)
                fail_msg("pooling %u, sequence %u: cosine %.7f", pooling, i,
                         cosine(ours + i * 64, theirs + i * 64, 64));
    }
    temp_dir_remove(&t);
}

static void encode_checks_its_arguments(void **state)
{
    fre_model *m = must_open(EMBEDDER, FRE_MODEL_EMBEDDER);
    fre_model_ctx *c = NULL;
    float x[DIM], before[DIM];
    int32_t ids[] = {101, 102, 30522};
    uint32_t len = 3;
    fre_err err;

    (void)state;
    for (uint32_t i = 0; i < DIM; i++)
        x[i] = before[i] = 3.0f;
    assert_int_equal(fre_model_ctx_new(&c, m, 513, 1, &err), FRE_E_ARG);
    assert_int_equal(fre_model_ctx_new(&c, m, 0, 1, &err), FRE_E_ARG);
    assert_int_equal(fre_model_ctx_new(&c, m, 8, 257, &err), FRE_E_ARG);
    assert_null(c);
    c = must_ctx(m, 8, 1);
    assert_int_equal(fre_model_encode(c, x, ids, &len, 1, &err), FRE_E_ARG);
    ids[2] = -1;
    assert_int_equal(fre_model_encode(c, x, ids, &len, 1, &err), FRE_E_ARG);
    len = 0;
    assert_int_equal(fre_model_encode(c, x, ids, &len, 1, &err), FRE_E_ARG);
    len = 9;
    assert_int_equal(fre_model_encode(c, x, ids, &len, 1, &err), FRE_E_ARG);
    len = 2;
    assert_int_equal(fre_model_step(c, x, ids, &len, 1, 0, &err), FRE_E_ARG);
    assert_int_equal(fre_model_prefix(c, x, 1, 1, &err), FRE_E_ARG);
    assert_memory_equal(x, before, sizeof x);
    assert_int_equal(fre_model_encode(c, x, ids, &len, 1, &err), FRE_OK);
    fre_model_ctx_free(c);
    fre_model_ctx_free(NULL);
    fre_model_free(m);
}

/* ---- the decoder ------------------------------------------------------------------------ */

#define ROWS 8u
#define WIDTH 320u
#define PREFIX (ROWS * WIDTH)
#define HIDDEN 1536u
#define VOCAB 8192u

static int32_t best(const float *logits)
{
    int32_t at = 0;

    for (int32_t i = 1; i < (int32_t)VOCAB; i++)
        if (logits[i] > logits[at])
            at = i;
    return at;
}

/* The projector of models/minilm-inverter.md, for a clean embedding. */
static void project(float *rows, const fre_tensors *t, const float *e)
{
    const float *w0, *w1, *w2, *b1, *b2;
    float x[DIM + 1], h[HIDDEN];
    fre_err err;

    assert_int_equal(fre_tensors_get(t, &w0, "w0.weight", PREFIX, DIM + 1, &err), FRE_OK);
    assert_int_equal(fre_tensors_get(t, &w1, "w1.weight", HIDDEN, DIM + 1, &err), FRE_OK);
    assert_int_equal(fre_tensors_get(t, &b1, "w1.bias", 1, HIDDEN, &err), FRE_OK);
    assert_int_equal(fre_tensors_get(t, &w2, "w2.weight", PREFIX, HIDDEN, &err), FRE_OK);
    assert_int_equal(fre_tensors_get(t, &b2, "w2.bias", 1, PREFIX, &err), FRE_OK);
    for (uint32_t i = 0; i < DIM; i++)
        x[i] = e[i] * sqrtf(384.0f);
    x[DIM] = (logf(5e-4f) + 5.0f) / 2.0f;
    for (uint32_t i = 0; i < HIDDEN; i++) {
        float s = b1[i];

        for (uint32_t j = 0; j <= DIM; j++)
            s += w1[i * (DIM + 1) + j] * x[j];
        h[i] = s / (1.0f + expf(-s));
    }
    for (uint32_t i = 0; i < PREFIX; i++) {
        float s = b2[i];

        for (uint32_t j = 0; j <= DIM; j++)
            s += w0[i * (DIM + 1) + j] * x[j];
        for (uint32_t j = 0; j < HIDDEN; j++)
            s += w2[i * HIDDEN + j] * h[j];
        rows[i] = s;
    }
}

/* An embedding goes back to its text, in eight sequences with the same numbers. */
static void a_text_comes_back(void **state)
{
    static const char text[] = "Set an alarm for seven in the morning";
    static float logits[ROWS * VOCAB];
    fre_model *m = must_open(EMBEDDER, FRE_MODEL_EMBEDDER);
    fre_model *d = must_open(DECODER, FRE_MODEL_DECODER);
    fre_model_ctx *c = must_ctx(m, 64, 1), *dc = must_ctx(d, 48, 8);
    fre_tensors *t = NULL;
    float e[DIM], rows[PREFIX];
    int32_t ids[64];
    uint32_t len, seq[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    size_t n = 64;
    fre_buf out;
    fre_err err = {.text = ""};

    (void)state;
    fre_buf_init(&out, 1024);
    assert_int_equal(fre_model_tokenize(m, ids, &n, text, strlen(text), true), FRE_OK);
    len = (uint32_t)n;
    assert_int_equal(fre_model_encode(c, e, ids, &len, 1, &err), FRE_OK);
    assert_int_equal(fre_tensors_open(&t, PROJECTOR, "fre-e2t-projector", &err), FRE_OK);
    project(rows, t, e);
    assert_int_equal(fre_model_prefix(dc, rows, ROWS, 8, &err), FRE_OK);
    for (int i = 0; i < 8; i++)
        ids[i] = fre_model_bos(d);
    for (uint32_t pos = ROWS; pos < 40 && !fre_model_is_end(d, ids[0]); pos++) {
        assert_int_equal(fre_model_step(dc, logits, ids, seq, 8, pos, &err), FRE_OK);
        for (uint32_t i = 1; i < 8; i++)
            assert_memory_equal(logits, logits + i * VOCAB, VOCAB * sizeof *logits);
        for (int i = 0; i < 8; i++)
            ids[i] = best(logits);
        assert_int_equal(fre_model_detokenize(d, &out, ids, 1), FRE_OK);
    }
    assert_int_equal(out.n, strlen(text));
    assert_memory_equal(out.p, text, out.n);
    fre_buf_wipe(&out);
    fre_tensors_free(t);
    fre_model_ctx_free(c);
    fre_model_ctx_free(dc);
    fre_model_free(m);
    fre_model_free(d);
}

enum { STEPS = 6 };

static fre_model_ctx *decoder_ctx(fre_model **m, const char *kernels, bool shared)
{
    fre_model_ctx *c = NULL;
    fre_err err = {.text = ""};
    fre_status st = fre_model_open_reference(m, DECODER, FRE_MODEL_DECODER, kernels, &err);

    if (st == FRE_E_STATE)
        return NULL;
    if (st == FRE_OK)
        st = shared ? fre_model_ctx_new_shared(&c, *m, 32, 8, &err)
                    : fre_model_ctx_new(&c, *m, 32, 8, &err);
    if (st != FRE_OK)
        fail_msg("%s", err.text);
    return c;
}

/* Logits of sequence 7 at each step, with those sequences beside it that mask[p] has. */
static void watch_seven(fre_model_ctx *c, float kept[STEPS][VOCAB], const uint8_t *mask)
{
    static float logits[8 * VOCAB];
    float rows[ROWS * WIDTH];
    fre_err err;

    for (uint32_t i = 0; i < ROWS * WIDTH; i++)
        rows[i] = (float)((i * 37) % 101) / 101.0f - 0.5f;
    assert_int_equal(fre_model_prefix(c, rows, ROWS, 8, &err), FRE_OK);
    for (uint32_t p = 0; p < STEPS; p++) {
        int32_t ids[8];
        uint32_t seq[8], n = 0, at = 0;

        for (uint32_t s = 0; s < 8; s++) {
            uint32_t q = (s + 3 * p) % 8; /* the order is the caller's */

            if (!(mask[p] & 1u << q))
                continue;
            if (q == 7)
                at = n;
            ids[n] = (int32_t)(100 + q * 50 + p);
            seq[n++] = q;
        }
        assert_int_equal(fre_model_step(c, logits, ids, seq, n, ROWS + p, &err), FRE_OK);
        memcpy(kept[p], logits + at * VOCAB, sizeof kept[p]);
    }
}

static double furthest(float a[STEPS][VOCAB], float b[STEPS][VOCAB])
{
    double most = 0.0;

    for (size_t p = 0; p < STEPS; p++)
        for (size_t i = 0; i < VOCAB; i++)
            most = fmax(most, fabs((double)a[p][i] - (double)b[p][i]));
    return most;
}

static const uint8_t all_of_them[STEPS] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
static const uint8_t fewer[STEPS] = {0xff, 0xff, 0xf7, 0xb5, 0xa5, 0x81};
static const uint8_t alone[STEPS] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80};

/* Sequences beside it, in any order, that stop in any pattern: the same bits in our decoder, close
 * ones in llama.cpp's. */
static void sequences_do_not_touch_each_other(void **state)
{
    static float full[STEPS][VOCAB], other[STEPS][VOCAB];
    static const char *const name[] = {"avx512", "avx2", NULL};

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        fre_model *d = NULL;
        fre_model_ctx *c = decoder_ctx(&d, name[k], false);
        const double most = name[k] ? 0.0 : 0.1;

        if (!c)
            continue;
        watch_seven(c, full, all_of_them);
        watch_seven(c, other, fewer);
        assert_true(furthest(full, other) <= most);
        watch_seven(c, other, alone);
        assert_true(furthest(full, other) <= most);
        fre_model_ctx_free(c);
        fre_model_free(d);
    }
}

static void decoders_agree(void **state)
{
    static float x[STEPS][VOCAB], y[STEPS][VOCAB];
    static const char *const name[] = {"avx512", "avx2", NULL};
    bool have = false;

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        fre_model *d = NULL;
        fre_model_ctx *c = decoder_ctx(&d, name[k], false);

        if (!c)
            continue;
        watch_seven(c, have ? y : x, alone);
        /* llama.cpp rounds activations to eight bits: logits of about ten differ in the tenths */
        if (have)
            assert_true(furthest(x, y) <= (name[k] ? 0.0 : 0.8));
        for (size_t p = 0; p < STEPS && have && !name[k]; p++)
            assert_int_equal(best(x[p]), best(y[p]));
        have = true;
        fre_model_ctx_free(c);
        fre_model_free(d);
    }
}

/* One row for sequences with the same text gives what a row each would give. */
static void shared_rows_change_nothing(void **state)
{
    static float apart[8 * VOCAB], together[8 * VOCAB];
    static const char *const name[] = {"avx512", "avx2", NULL};
    float rows[2 * WIDTH];
    fre_err err;

    (void)state;
    for (uint32_t i = 0; i < 2 * WIDTH; i++)
        rows[i] = (float)((i * 29) % 97) / 97.0f - 0.5f;
    for (size_t k = 0; k < 3; k++) {
        fre_model *d = NULL, *d2 = NULL;
        fre_model_ctx *c = decoder_ctx(&d, name[k], false), *sc = decoder_ctx(&d2, name[k], true);
        const uint32_t seq[] = {0, 2, 4, 6, 1, 3, 5, 7}, one[] = {8}, two[] = {4, 4};
        const int32_t same[] = {1, 1, 1, 1, 1, 1, 1, 1};
        const int32_t split[] = {50, 50, 50, 50, 90, 90, 90, 90}, pair[] = {50, 90};
        const int32_t last[] = {7, 8, 9, 10, 11, 12, 13, 14};
        const uint32_t each[] = {1, 1, 1, 1, 1, 1, 1, 1};

        if (!c)
            continue;
        assert_int_equal(fre_model_prefix(c, rows, 2, 8, &err), FRE_OK);
        assert_int_equal(fre_model_prefix(sc, rows, 2, 8, &err), FRE_OK);
        assert_int_equal(fre_model_step(c, apart, same, seq, 8, 2, &err), FRE_OK);
        assert_int_equal(fre_model_step_shared(sc, together, same, seq, one, 1, 2, &err), FRE_OK);
        assert_int_equal(fre_model_step(c, apart, split, seq, 8, 3, &err), FRE_OK);
        assert_int_equal(fre_model_step_shared(sc, together, pair, seq, two, 2, 3, &err), FRE_OK);
        assert_int_equal(fre_model_step(c, apart, last, seq, 8, 4, &err), FRE_OK);
        assert_int_equal(fre_model_step_shared(sc, together, last, seq, each, 8, 4, &err), FRE_OK);
        if (name[k])
            assert_memory_equal(apart, together, sizeof apart);
        for (size_t i = 0; i < 8 * VOCAB; i++)
            assert_true(fabsf(apart[i] - together[i]) < 0.1f);
        fre_model_ctx_free(c);
        fre_model_ctx_free(sc);
        fre_model_free(d);
        fre_model_free(d2);
    }
}

/* Tokens of the prefix are what stepping through them would be. */
static void prefix_takes_tokens(void **state)
{
    static float stepped[8 * VOCAB], at_once[8 * VOCAB];
    static const char *const name[] = {"avx512", "avx2", NULL};
    const int32_t ids[] = {100, 7, 250}, end[] = {5, 6};
    const uint32_t seq[] = {1, 3};
    float rows[2 * WIDTH];
    fre_err err;

    (void)state;
    for (uint32_t i = 0; i < 2 * WIDTH; i++)
        rows[i] = (float)((i * 31) % 89) / 89.0f - 0.5f;
    for (size_t k = 0; k < 3; k++) {
        fre_model *d = NULL, *d2 = NULL;
        fre_model_ctx *c = decoder_ctx(&d, name[k], false), *t = decoder_ctx(&d2, name[k], false);

        if (!c)
            continue;
        assert_int_equal(fre_model_prefix(c, rows, 2, 4, &err), FRE_OK);
        for (uint32_t i = 0; i < 3; i++) {
            const int32_t both[] = {ids[i], ids[i]};

            assert_int_equal(fre_model_step(c, stepped, both, seq, 2, 2 + i, &err), FRE_OK);
        }
        assert_int_equal(fre_model_step(c, stepped, end, seq, 2, 5, &err), FRE_OK);
        assert_int_equal(fre_model_prefix_tokens(t, rows, 2, ids, 3, 4, &err), FRE_OK);
        assert_int_equal(fre_model_step(t, at_once, end, seq, 2, 5, &err), FRE_OK);
        if (name[k])
            assert_memory_equal(stepped, at_once, 2 * VOCAB * sizeof *stepped);
        for (size_t i = 0; i < 2 * VOCAB; i++)
            assert_true(fabsf(stepped[i] - at_once[i]) < 0.1f);
        fre_model_ctx_free(c);
        fre_model_ctx_free(t);
        fre_model_free(d);
        fre_model_free(d2);
    }
}

static void step_checks_its_arguments(void **state)
{
    static float logits[2 * VOCAB];
    fre_model *d = must_open(DECODER, FRE_MODEL_DECODER);
    fre_model_ctx *c = must_ctx(d, 16, 2);
    float rows[WIDTH] = {0.5f};
    int32_t ids[] = {1, 1, 1};
    uint32_t seq[] = {0, 0, 1};
    fre_err err;

    (void)state;
    assert_int_equal(fre_model_prefix(c, rows, 17, 1, &err), FRE_E_ARG);
    assert_int_equal(fre_model_prefix(c, rows, 1, 3, &err), FRE_E_ARG);
    assert_int_equal(fre_model_prefix_tokens(c, rows, 1, ids, 16, 1, &err), FRE_E_ARG);
    assert_int_equal(fre_model_prefix_tokens(c, rows, 1, NULL, 1, 1, &err), FRE_E_ARG);
    ids[0] = (int32_t)VOCAB;
    assert_int_equal(fre_model_prefix_tokens(c, rows, 1, ids, 1, 1, &err), FRE_E_ARG);
    ids[0] = 1;
    assert_int_equal(fre_model_prefix(c, rows, 1, 2, &err), FRE_OK);
    assert_int_equal(fre_model_step(c, logits, ids, seq, 2, 1, &err), FRE_E_ARG); /* twice 0 */
    assert_int_equal(fre_model_step(c, logits, ids, seq, 3, 1, &err), FRE_E_ARG);
    assert_int_equal(fre_model_step(c, logits, ids, seq, 1, 16, &err), FRE_E_ARG);
    ids[0] = (int32_t)VOCAB;
    assert_int_equal(fre_model_step(c, logits, ids, seq, 1, 1, &err), FRE_E_ARG);
    assert_int_equal(fre_model_step(c, logits, ids + 1, seq + 1, 2, 1, &err), FRE_OK);
    fre_model_ctx_free(c);
    fre_model_free(d);
}

/* ---- files ------------------------------------------------------------------------------ */

/* One sentence that names the file, and no model. */
static void refused(const char *file, fre_model_kind kind, fre_status want, const char *why)
{
    fre_model *m = NULL;
    fre_err err = {.text = ""};
    fre_status st = fre_model_open(&m, file, kind, &err);

    if (st != want || m)
        fail_msg("%s: status %x, expected %x: %s", file, (unsigned)st, (unsigned)want, err.text);
    if (!strstr(err.text, file) || strchr(err.text, '\n') || (why && !strstr(err.text, why)))
        fail_msg("message: %s; expected it to say: %s", err.text, why ? why : "the file");
}

static void wrong_files_are_refused(void **state)
{
    temp_dir t;

    (void)state;
    temp_dir_make(&t);
    refused(in_dir(&t, "absent.gguf"), FRE_MODEL_EMBEDDER, FRE_E_NOINPUT, "cannot open");
    refused(t.path, FRE_MODEL_EMBEDDER, FRE_E_NOINPUT, "not a regular file");
    write_file(in_dir(&t, "empty"), "", 0);
    refused(path, FRE_MODEL_EMBEDDER, FRE_E_MODEL, "is empty");
    write_file(in_dir(&t, "text"), "GGU", 3);
    refused(path, FRE_MODEL_EMBEDDER, FRE_E_MODEL, "not a GGUF");
    write_file(in_dir(&t, "text"), "a text file of some length\n", 27);
    refused(path, FRE_MODEL_DECODER, FRE_E_MODEL, "not a GGUF");
    write_file(in_dir(&t, "v1"), "GGUF\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
    refused(path, FRE_MODEL_DECODER, FRE_E_MODEL, "version 1");
    refused(DECODER, FRE_MODEL_EMBEDDER, FRE_E_MODEL, "not a sentence embedder");
    refused(EMBEDDER, FRE_MODEL_DECODER, FRE_E_MODEL, "is an embedder");
    refused(PROJECTOR, FRE_MODEL_EMBEDDER, FRE_E_MODEL, "companion file");
    refused(PROJECTOR, FRE_MODEL_DECODER, FRE_E_MODEL, "companion file");
    temp_dir_remove(&t);
}

static void bent(const temp_dir *t, const tiny_shape *s, const char *why)
{
    tiny_file(in_dir(t, "bent.gguf"), s);
    refused(path, FRE_MODEL_EMBEDDER, FRE_E_MODEL, why);
}

static void unsound_models_are_refused(void **state)
{
    static const char *const needed[] = {"token_embd.weight",     "token_embd_norm.bias",
                                         "blk.0.attn_q.weight",   "blk.1.ffn_up.weight",
                                         "blk.1.ffn_down.weight", "position_embd.weight"};
    tiny_shape s = tiny_default();
    temp_dir t;

    (void)state;
    temp_dir_make(&t);
    s.pooling = 0;
    bent(&t, &s, "name no pooling");
    s.pooling = 4;
    bent(&t, &s, "reranker");
    s.pooling = 9;
    bent(&t, &s, "pooling 9");
    s = tiny_default();
    s.skip_pair = "bert.pooling_type";
    bent(&t, &s, "name no pooling");
    s.skip_pair = "tokenizer.ggml.tokens";
    bent(&t, &s, "no vocabulary");
    s.skip_pair = "bert.context_length";
    bent(&t, &s, "bert.context_length");
    s.skip_pair = "general.architecture";
    bent(&t, &s, "no architecture");
    s = tiny_default();
    s.unknown_id = 10;
    bent(&t, &s, "outside its vocabulary");
    s = tiny_default();
    s.skip_pair = "tokenizer.ggml.bos_token_id"; /* llama.cpp's own, 101, is outside */
    bent(&t, &s, "special token is missing");
    s = tiny_default();
    s.last_token = "[MASK]";
    bent(&t, &s, "appears twice");
    s.last_token = NULL;
    s.tokenizer = "rwkv";
    bent(&t, &s, "tokenizer of kind \"rwkv\"");
    s = tiny_default();
    s.token_kind = 6;
    bent(&t, &s, "tokens of an unknown kind");
    s = tiny_default();
    s.architecture = "nonesuch";
    bent(&t, &s, NULL);
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        s = tiny_default();
        s.skip_tensor = needed[i];
        bent(&t, &s, NULL);
    }
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        s = tiny_default();
        s.nan_tensor = needed[i];
        bent(&t, &s, needed[i]);
    }
    temp_dir_remove(&t);
}

/* Shapes that the encoder of our own does not have are left to llama.cpp. */
static void other_shapes_run_in_llama_cpp(void **state)
{
    tiny_shape s = tiny_default();
    temp_dir t;
    float x[32];
    const int32_t ids[] = {2, 5, 6, 3};
    const uint32_t len = 4;

    (void)state;
    temp_dir_make(&t);
    s.dim = 32;
    tiny_file(in_dir(&t, "narrow.gguf"), &s);
    assert_false(encode_with(path, "generic", x, ids, &len, 1, 32));
    assert_true(encode_with(path, NULL, x, ids, &len, 1, 32));
    assert_true(fabs(cosine(x, x, 32) - 1.0) < 1e-6);
    temp_dir_remove(&t);
}

static void cut_files_are_refused(void **state)
{
    tiny_shape s = tiny_default();
    temp_dir t;
    size_t n;
    uint8_t *file = tiny_bytes(&s, &n);

    (void)state;
    temp_dir_make(&t);
    for (size_t cut = 0; cut < n; cut += cut < 3000 ? 7 : 1531) {
        write_file(in_dir(&t, "cut.gguf"), file, cut);
        refused(path, FRE_MODEL_EMBEDDER, FRE_E_MODEL, NULL);
    }
    write_file(in_dir(&t, "cut.gguf"), file, n - 1);
    refused(path, FRE_MODEL_EMBEDDER, FRE_E_MODEL, "cut short");
    free(file);
    temp_dir_remove(&t);
}

/* Any single damaged byte of the header: refused, or a model that still encodes; never the end
 * of the process.  The dims make one run in our encoder and one in llama.cpp. */
static void damaged_headers_end_in_a_sentence(void **state)
{
    static const uint8_t flip[] = {0x01, 0x80, 0xff};
    temp_dir t;

    (void)state;
    temp_dir_make(&t);
    for (uint32_t dim = 32; dim <= 64; dim += 32) {
        tiny_shape s = tiny_default();
        size_t n, header, used = 0;
        uint8_t *file;

        s.dim = dim;
        s.layers = 1;
        file = tiny_bytes(&s, &n);
        header = n - 4 * (13 * dim + 2 * dim + 32 * dim); /* the weights alone are longer */
        for (size_t i = 4; i < header && i < 2600; i += 3) {
            uint8_t was = file[i];
            fre_model *m = NULL;
            fre_err err = {.text = ""};

            file[i] ^= flip[i % sizeof flip];
            write_file(in_dir(&t, "bent.gguf"), file, n);
            file[i] = was;
            if (fre_model_open(&m, path, FRE_MODEL_EMBEDDER, &err) == FRE_OK) {
                const uint32_t len = 3;
                const int32_t ids[] = {2, 5, 3};
                float x[64];
                fre_model_ctx *c = must_ctx(m, 8, 1);

                used++;
                assert_int_equal(fre_model_encode(c, x, ids, &len, 1, &err), FRE_OK);
                fre_model_ctx_free(c);
            } else {
                assert_non_null(strstr(err.text, path));
            }
            fre_model_free(m);
        }
        assert_true(used > 10); /* names, texts and unused ids may differ */
        free(file);
    }
    temp_dir_remove(&t);
}

static void tensors_are_floats_of_the_shape_asked_for(void **state)
{
    fre_tensors *t = NULL;
    const float *w = NULL;
    uint32_t v = 0;
    float f = 0.0f;
    fre_err err = {.text = ""};

    (void)state;
    assert_int_equal(fre_tensors_open(&t, PROJECTOR, "another", &err), FRE_E_MODEL);
    assert_non_null(strstr(err.text, "fre-e2t-projector"));
    assert_int_equal(fre_tensors_open(&t, MODELS "absent.gguf", "x", &err), FRE_E_NOINPUT);
    assert_null(t);
    assert_int_equal(fre_tensors_open(&t, PROJECTOR, "fre-e2t-projector", &err), FRE_OK);
    assert_int_equal(fre_tensors_get(t, &w, "w9.weight", 1, 1, &err), FRE_E_MODEL);
    assert_int_equal(fre_tensors_get(t, &w, "w0.weight", 385, 2560, &err), FRE_E_MODEL);
    assert_non_null(strstr(err.text, "2560 x 385"));
    assert_null(w);
    assert_int_equal(fre_tensors_get(t, &w, "w0.weight", 2560, 385, &err), FRE_OK);
    assert_non_null(w);
    assert_int_equal(fre_tensors_u32(t, &v, "fre-e2t-projector.prefix_length", &err), FRE_OK);
    assert_int_equal(v, 8);
    assert_int_equal(fre_tensors_u32(t, &v, "fre-e2t-projector.input_scale", &err), FRE_E_MODEL);
    assert_int_equal(v, 8);
    assert_int_equal(fre_tensors_f32(t, &f, "fre-e2t-projector.input_scale", &err), FRE_OK);
    assert_true(fabsf(f - sqrtf(384.0f)) < 1e-5f);
    assert_int_equal(fre_tensors_f32(t, &f, "absent", &err), FRE_E_MODEL);
    assert_string_equal(fre_tensors_text(t, "absent"), "");
    assert_string_equal(fre_tensors_text(t, "general.name"), "minilm-inverter-projector");
    fre_tensors_free(t);
    fre_tensors_free(NULL);
}

static void bundled_models_are_found(void **state)
{
    char found[512] = "kept";
    fre_err err = {.text = ""};

    (void)state;
    assert_int_equal(setenv("FRE_MODEL_DIR", FRE_SOURCE_DIR "/models", 1), 0);
    assert_int_equal(fre_model_find(found, 8, "minilm-inverter.q8_0.gguf", &err), FRE_E_LIMIT);
    assert_string_equal(found, "kept");
    assert_int_equal(fre_model_find(found, sizeof found, "nonesuch.gguf", &err), FRE_E_NOINPUT);
    assert_non_null(strstr(err.text, "nonesuch.gguf"));
    assert_non_null(strstr(err.text, FRE_SOURCE_DIR "/models"));
    assert_string_equal(found, "kept");
    assert_int_equal(fre_data_find(found, sizeof found, "nonesuch.gz", &err), FRE_E_NOINPUT);
    assert_non_null(strstr(err.text, "nonesuch.gz"));
    assert_int_equal(fre_data_find(found, 8, "role-prompts.jsonl.gz", &err), FRE_E_LIMIT);
    assert_string_equal(found, "kept");
    assert_int_equal(fre_data_find(found, sizeof found, "role-prompts.jsonl.gz", &err), FRE_OK);
    assert_int_equal(access(found, R_OK), 0);
    assert_int_equal(fre_model_find(found, sizeof found, "minilm-inverter.q8_0.gguf", &err),
                     FRE_OK);
    assert_string_equal(found, DECODER);
    assert_int_equal(unsetenv("FRE_MODEL_DIR"), 0);
}

static void models_that_are_not_bundled_are_found_in_the_cache(void **state)
{
    const char *before = getenv("XDG_CACHE_HOME");
    char *kept = before ? strdup(before) : NULL, found[512];
    temp_dir t;
    fre_err err = {.text = ""};

    (void)state;
    temp_dir_make(&t);
    assert_int_equal(setenv("XDG_CACHE_HOME", t.path, 1), 0);
    assert_int_equal(fre_model_find(found, sizeof found, "kept.gguf", &err), FRE_E_NOINPUT);
    assert_int_equal(mkdir(in_dir(&t, "fre-e2t"), 0700), 0);
    write_file(in_dir(&t, "fre-e2t/kept.gguf"), "x", 1);
    assert_int_equal(fre_model_find(found, sizeof found, "kept.gguf", &err), FRE_OK);
    assert_string_equal(found, path);
    if (kept)
        (void)setenv("XDG_CACHE_HOME", kept, 1);
    else
        (void)unsetenv("XDG_CACHE_HOME");
    free(kept);
    temp_dir_remove(&t);
}

/* Tokens in front in one go give the bits that single steps give, again and again. */
static void a_prefix_may_be_tokens_alone(void **state)
{
    const int32_t ids[] = {1, 40, 300, 17, 2000};
    const uint32_t first = 0;
    fre_model *m = must_open(DECODER, FRE_MODEL_DECODER);
    uint32_t vocab = fre_model_info_view(m)->vocab;
    float *step = malloc(vocab * sizeof *step), *next = malloc(2 * vocab * sizeof *next);
    fre_model_ctx *c = must_ctx(m, 8, 1), *d = must_ctx(m, 8, 3);
    fre_err err = {.text = ""};

    (void)state;
    assert_true(step && next);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(fre_model_step(c, step, &ids[i], &first, 1, i, &err), FRE_OK);
    for (uint32_t again = 0; again < 2; again++) {
        assert_int_equal(fre_model_prefix_tokens(d, NULL, 0, ids, 4, 3, &err), FRE_OK);
        assert_int_equal(fre_model_step(d, next, &ids[3], (const uint32_t[]){1, 2}, 2, 4, &err),
                         FRE_OK);
        assert_memory_equal(next + vocab, step, vocab * sizeof *step);
    }
    assert_int_equal(fre_model_prefix_tokens(d, NULL, 0, ids, 0, 1, &err), FRE_E_ARG);
    assert_int_equal(fre_model_prefix_tokens(d, NULL, 1, ids, 1, 1, &err), FRE_E_ARG);
    assert_int_equal(fre_model_prefix_tokens(d, NULL, 0, ids, 9, 1, &err), FRE_E_ARG);
    fre_model_ctx_free(c);
    fre_model_ctx_free(d);
    fre_model_free(m);
    free(step);
    free(next);
}

static void scores_check_their_arguments(void **state)
{
    const int32_t ids[] = {1, 40, 300, 17, 2000};
    fre_model *m = must_open(DECODER, FRE_MODEL_DECODER),
              *e = must_open(EMBEDDER, FRE_MODEL_EMBEDDER);
    fre_model_ctx *c = NULL;
    double logp[5], end;
    float *logits = malloc(fre_model_info_view(m)->vocab * sizeof *logits);
    fre_err err = {.text = ""};

    (void)state;
    assert_non_null(logits);
    assert_int_equal(fre_model_ctx_new_score(&c, e, 4, 4, &err), FRE_E_ARG);
    assert_int_equal(fre_model_ctx_new_score(&c, m, 4, 3, &err), FRE_E_ARG);
    assert_int_equal(fre_model_ctx_new_score(&c, m, 0, 4, &err), FRE_E_ARG);
    assert_int_equal(fre_model_ctx_new_score(&c, m, 4, 5, &err), FRE_OK);
    assert_int_equal(fre_model_score(c, logp, &end, ids, (const uint32_t[]){5}, 1, &err),
                     FRE_E_ARG);
    assert_int_equal(fre_model_score(c, logp, &end, ids, (const uint32_t[]){3, 3}, 2, &err),
                     FRE_E_ARG);
    assert_int_equal(fre_model_score(c, logp, &end, ids, (const uint32_t[]){0}, 1, &err),
                     FRE_E_ARG);
    assert_int_equal(
        fre_model_score(c, logp, NULL, (const int32_t[]){8192, 1}, (const uint32_t[]){2}, 1, &err),
        FRE_E_ARG);
    assert_int_equal(fre_model_score(c, logp, NULL, ids, (const uint32_t[]){1, 4}, 2, &err),
                     FRE_OK);
    assert_true(logp[0] >= 0 && logp[1] >= 0 && logp[2] < 0);
    assert_int_equal(fre_model_step(c, logits, ids, (const uint32_t[]){0}, 1, 0, &err), FRE_E_ARG);
    assert_int_equal(fre_model_prefix_tokens(c, NULL, 0, ids, 2, 1, &err), FRE_E_ARG);
    fre_model_ctx_free(c);
    c = must_ctx(m, 4, 1);
    assert_int_equal(fre_model_score(c, logp, NULL, ids, (const uint32_t[]){2}, 1, &err),
                     FRE_E_ARG);
    fre_model_ctx_free(c);
    fre_model_free(m);
    fre_model_free(e);
    free(logits);
}

static void labels_are_for_people(void **state)
{
    static const char *const label[][2] = {
        {"MiniLM-L6-v2", "MiniLM-L6-v2"},
        {"", ""},
        {"\x1b[31mred\n", "?[31mred?"},
        {"a\xc2\x9b b\x7f", "a?? b?"},
        {"\xc3\xa9\xff\xc3", "\xc3\xa9??"},
        {"12345678901234\xc3\xa9", "12345678901234"},
        {"1234567890123\xc3\xa9!", "1234567890123\xc3\xa9"},
    };
    char out[16];

    (void)state;
    for (size_t i = 0; i < sizeof label / sizeof *label; i++) {
        fre_model_label(out, sizeof out, label[i][0]);
        assert_string_equal(out, label[i][1]);
    }
    fre_model_label(out, 1, "long");
    assert_string_equal(out, "");
}

static void files_say_what_they_are(void **state)
{
    char is[32] = "as before";
    fre_err err = {.text = ""};

    (void)state;
    assert_int_equal(fre_model_architecture(is, sizeof is, "/nonexistent", &err), FRE_E_NOINPUT);
    assert_string_equal(is, "as before");
    assert_int_equal(fre_model_architecture(is, sizeof is, PROJECTOR, &err), FRE_OK);
    assert_string_equal(is, "fre-e2t-projector");
}

/* Before a layer is read: what came before looks for itself (fre_sha256_file). */
static void loading_can_be_interrupted(void **state)
{
    fre_err err;
    fre_loader l = {.status = FRE_OK, .err = &err};

    (void)state;
    assert_true(fre_loader_goes_on(&l));
    fre_interrupt_set();
    assert_false(fre_loader_goes_on(&l));
    fre_interrupt_clear();
    assert_int_equal(l.status, FRE_E_INTERRUPTED);
    assert_false(fre_loader_goes_on(&l));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_for_people),
        cmocka_unit_test(files_say_what_they_are),
        cmocka_unit_test(describes_the_bundled_models),
        cmocka_unit_test(tokenises_as_the_original),
        cmocka_unit_test(every_instruction_set_gives_the_same_bits),
        cmocka_unit_test(plain_c_gives_the_same_bits),
        cmocka_unit_test(agrees_with_llama_cpp),
        cmocka_unit_test(encode_checks_its_arguments),
        cmocka_unit_test(a_text_comes_back),
        cmocka_unit_test(sequences_do_not_touch_each_other),
        cmocka_unit_test(decoders_agree),
        cmocka_unit_test(shared_rows_change_nothing),
        cmocka_unit_test(prefix_takes_tokens),
        cmocka_unit_test(step_checks_its_arguments),
        cmocka_unit_test(wrong_files_are_refused),
        cmocka_unit_test(unsound_models_are_refused),
        cmocka_unit_test(other_shapes_run_in_llama_cpp),
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(damaged_headers_end_in_a_sentence),
        cmocka_unit_test(tensors_are_floats_of_the_shape_asked_for),
        cmocka_unit_test(models_that_are_not_bundled_are_found_in_the_cache),
        cmocka_unit_test(a_prefix_may_be_tokens_alone),
        cmocka_unit_test(scores_check_their_arguments),
        cmocka_unit_test(bundled_models_are_found),
        cmocka_unit_test(loading_can_be_interrupted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
