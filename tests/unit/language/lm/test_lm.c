/* fre/lm.h: scores against the model stepped token by token and against llama.cpp, the same bits
 * whatever stands beside a text, and every text and model that cannot be scored. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "assert_num.h"

#include <fre/lm.h>

#define MODELS FRE_SOURCE_DIR "/models/"
#define EMBEDDER MODELS "all-minilm-l6-v2.q8_0.gguf"
#define DECODER MODELS "minilm-inverter.q8_0.gguf" /* a language model like any other */

static const char *const sentence[] = {
    "what is the weather like in paris today?",
    "what is the weather like in rome today?",
    "",
    "please book me a table for two",
    "please",
    "what is the weather like in paris today?",
    "za\xc5\xbc\xc3\xb3\xc5\x82\xc4\x87 g\xc4\x99\xc5\x9bl\xc4\x85",
    "what is the weather",
    "Turn off the lights in the kitchen, then lock the door."};
#define SENTENCES (sizeof sentence / sizeof *sentence)

static fre_lm *must_open(const char *path, uint32_t threads, uint32_t max_tokens,
                         fre_lm_parts parts)
{
    const fre_lm_opts opts = {
        .path = path, .threads = threads, .max_tokens = max_tokens, .parts = parts};
    fre_lm *lm = NULL;
    fre_err err = {.text = ""};

    if (fre_lm_open(&lm, &opts, &err) != FRE_OK)
        fail_msg("%s", err.text);
    return lm;
}

static void must_score(fre_lm *lm, fre_lm_score *out, const char *const *text, size_t n)
{
    size_t len[64];
    fre_err err = {.text = ""};

    assert_true(n <= 64);
    for (size_t i = 0; i < n; i++)
        len[i] = strlen(text[i]);
    if (fre_lm_score_texts(lm, out, text, len, n, NULL, &err) != FRE_OK)
        fail_msg("%s", err.text);
}

static double log_softmax(const float *x, uint32_t n, int32_t id)
{
    double top = (double)x[0], sum = 0;

    for (uint32_t i = 1; i < n; i++)
        top = (double)x[i] > top ? (double)x[i] : top;
    for (uint32_t i = 0; i < n; i++)
        sum += exp((double)x[i] - top);
    return (double)x[id] - top - log(sum);
}

/* The same numbers by one step after the other. */
static fre_lm_score by_steps(const fre_model *m, const char *text)
{
    fre_lm_score s = {0};
    uint32_t vocab = fre_model_info_view(m)->vocab;
    int32_t ids[64];
    size_t n = 63;
    float *logits = malloc(vocab * sizeof *logits);

    assert_non_null(logits);
    assert_int_equal(fre_model_tokenize(m, ids + 1, &n, text, strlen(text), false), FRE_OK);
    assert_true(n < 63);
    ids[0] = fre_model_bos(m);
    s.tokens = (uint32_t)n;
    for (uint32_t skip = 0; skip < 2; skip++) {
        fre_model_ctx *c = NULL;
        double sum = 0, end = 0;

        assert_int_equal(fre_model_ctx_new(&c, m, 64, 1, NULL), FRE_OK);
        for (uint32_t t = 0; t + skip <= n; t++) {
            uint32_t first = 0;

            assert_int_equal(fre_model_step(c, logits, &ids[t + skip], &first, 1, t, NULL), FRE_OK);
            if (t + skip < n)
                sum += log_softmax(logits, vocab, ids[t + skip + 1]);
        }
        for (int32_t i = 0; (uint32_t)i < vocab && !skip; i++)
            if (fre_model_is_end(m, i))
                end += exp(log_softmax(logits, vocab, i));
        if (skip)
            s.logp_rest = sum;
        else
            s.logp = sum + log(end);
        fre_model_ctx_free(c);
    }
    free(logits);
    return s;
}

static void agrees_with_single_steps(void **state)
{
    fre_lm_score out[SENTENCES];
    fre_lm *lm = must_open(DECODER, 1, 0, FRE_LM_BOTH);
    fre_model *m = NULL;

    (void)state;
    must_score(lm, out, sentence, SENTENCES);
    assert_int_equal(fre_model_open(&m, DECODER, FRE_MODEL_DECODER, NULL), FRE_OK);
    for (size_t i = 0; i < SENTENCES; i++) {
        fre_lm_score s = by_steps(m, sentence[i]);

        assert_int_equal(out[i].tokens, s.tokens);
        assert_float_equal(out[i].logp_rest, s.logp_rest, 1e-4);
        assert_float_equal(out[i].logp, s.logp, 1e-4);
        assert_false(out[i].cut);
        if (s.tokens > 1)
            assert_true(out[i].logp_rest < -1);
    }
    fre_model_free(m);
    fre_lm_free(lm);
}

static void is_the_same_to_the_bit_whatever_is_beside_it(void **state)
{
    fre_lm_score all[SENTENCES], again[SENTENCES], one;
    const char *turned[SENTENCES];
    fre_lm *lm = must_open(DECODER, 1, 0, FRE_LM_BOTH),
           *two = must_open(DECODER, 2, 0, FRE_LM_BOTH);

    (void)state;
    must_score(lm, all, sentence, SENTENCES);
    for (size_t i = 0; i < SENTENCES; i++)
        turned[i] = sentence[SENTENCES - 1 - i];
    must_score(two, again, turned, SENTENCES);
    for (size_t i = 0; i < SENTENCES; i++) {
        must_score(lm, &one, &sentence[i], 1);
        assert_memory_equal(&one.logp, &all[i].logp, sizeof one.logp);
        assert_memory_equal(&one.logp_rest, &all[i].logp_rest, sizeof one.logp_rest);
        assert_memory_equal(&one.logp, &again[SENTENCES - 1 - i].logp, sizeof one.logp);
        assert_memory_equal(&one.logp_rest, &again[SENTENCES - 1 - i].logp_rest,
                            sizeof one.logp_rest);
    }
    fre_lm_free(lm);
    fre_lm_free(two);
}

static void leaves_out_what_is_not_asked_for(void **state)
{
    fre_lm_score both[SENTENCES], out[SENTENCES];
    fre_lm *lm = must_open(DECODER, 1, 0, FRE_LM_BOTH);

    (void)state;
    must_score(lm, both, sentence, SENTENCES);
    fre_lm_free(lm);
    lm = must_open(DECODER, 1, 0, FRE_LM_REST);
    must_score(lm, out, sentence, SENTENCES);
    fre_lm_free(lm);
    for (size_t i = 0; i < SENTENCES; i++) {
        assert_true(isnan(out[i].logp));
        assert_memory_equal(&out[i].logp_rest, &both[i].logp_rest, sizeof(double));
    }
    lm = must_open(DECODER, 1, 0, FRE_LM_WHOLE);
    must_score(lm, out, sentence, SENTENCES);
    fre_lm_free(lm);
    for (size_t i = 0; i < SENTENCES; i++) {
        assert_true(isnan(out[i].logp_rest));
        assert_memory_equal(&out[i].logp, &both[i].logp, sizeof(double));
    }
}

static void texts_of_fewer_than_two_tokens_have_no_nll(void **state)
{
    static const char *const text[] = {"", "Please", "Please book"};
    fre_lm_score s[3];
    fre_lm *lm = must_open(DECODER, 1, 0, FRE_LM_BOTH);

    (void)state;
    must_score(lm, s, text, 3);
    assert_int_equal(s[0].tokens, 0);
    assert_int_equal(s[1].tokens, 1);
    assert_int_equal(s[2].tokens, 2);
    assert_true(isnan(fre_lm_nll(&s[0])));
    assert_true(isnan(fre_lm_nll(&s[1])));
    assert_float_equal(fre_lm_nll(&s[2]), -s[2].logp_rest, 1e-12);
    assert_true(s[0].logp < 0);
    assert_true(s[1].logp < 0);
    fre_lm_free(lm);
}

static void a_long_text_is_cut_and_says_so(void **state)
{
    char text[4000] = "", *twice[] = {text, text};
    fre_lm_score s[2];
    fre_lm *lm = must_open(DECODER, 1, 8, FRE_LM_BOTH);

    (void)state;
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "a ", 3);
    must_score(lm, s, (const char *const *)twice, 2);
    assert_true(s[0].cut);
    assert_int_equal(s[0].tokens, 7);
    assert_memory_equal(&s[0].logp, &s[1].logp, sizeof(double));
    text[7 * 2 - 1] = '\0'; /* seven times the one token */
    must_score(lm, &s[1], (const char *const *)twice, 1);
    assert_false(s[1].cut);
    assert_int_equal(s[1].tokens, 7);
    assert_memory_equal(&s[0].logp_rest, &s[1].logp_rest, sizeof(double));
    fre_lm_free(lm);
}

static void refused(const fre_lm_opts *opts, fre_status want, const char *says)
{
    fre_lm *lm = NULL;
    fre_err err = {.text = ""};

    assert_int_equal(fre_lm_open(&lm, opts, &err), want);
    assert_null(lm);
    if (!strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
}

static void refuses_what_is_no_language_model(void **state)
{
    (void)state;
    refused(&(fre_lm_opts){.path = EMBEDDER, .threads = 1}, FRE_E_MODEL, "gives no logits");
    refused(&(fre_lm_opts){.path = MODELS "minilm-inverter-projector.f16.gguf", .threads = 1},
            FRE_E_MODEL, "companion file");
    refused(&(fre_lm_opts){.path = MODELS "missing.gguf", .threads = 1}, FRE_E_NOINPUT, "missing");
    refused(&(fre_lm_opts){.path = DECODER}, FRE_E_USAGE, "{threads}");
    refused(&(fre_lm_opts){.path = DECODER, .threads = 1, .max_tokens = 1}, FRE_E_USAGE, "from 2");
    refused(&(fre_lm_opts){.path = DECODER, .threads = 1, .max_tokens = 1000000}, FRE_E_ARG, "2..");
}

static void says_how_to_obtain_the_default(void **state)
{
    const char *before = getenv("XDG_CACHE_HOME");
    char *kept = before ? strdup(before) : NULL;

    (void)state;
    assert_int_equal(setenv("XDG_CACHE_HOME", "/nonexistent", 1), 0);
    refused(&(fre_lm_opts){.threads = 1}, FRE_E_NOINPUT, FRE_LM_SCRIPT);
    if (kept)
        (void)setenv("XDG_CACHE_HOME", kept, 1);
    else
        (void)unsetenv("XDG_CACHE_HOME");
    free(kept);
}

static void refuses_invalid_text_and_writes_nothing(void **state)
{
    static const char *const text[] = {"fine", "\xff\xfe", "fine"};
    const size_t len[] = {4, 2, 4};
    fre_lm_score s[3];
    fre_err err = {.text = ""};
    fre_lm *lm = must_open(DECODER, 1, 0, FRE_LM_BOTH);

    (void)state;
    memset(s, 7, sizeof s);
    assert_int_equal(fre_lm_score_texts(lm, s, text, len, 3, NULL, &err), FRE_E_DATA);
    assert_non_null(strstr(err.text, "text 2"));
    assert_non_null(strstr(err.text, "UTF-8"));
    for (size_t i = 0; i < sizeof s; i++)
        assert_int_equal(((const unsigned char *)s)[i], 7);
    assert_int_equal(fre_lm_score_texts(lm, NULL, NULL, NULL, 0, NULL, &err), FRE_OK);
    fre_interrupt_set();
    assert_int_equal(fre_lm_score_texts(lm, s, text, len, 1, NULL, &err), FRE_E_INTERRUPTED);
    fre_interrupt_clear();
    fre_lm_free(lm);
}

/* ---- one text after the other ----------------------------------------------------------------------- */

typedef struct seen {
    fre_lm_score score[8];
    size_t n;
    uint64_t done, total; /* of the last progress */
} seen;

static fre_status keep_score(void *ctx, const char *text, size_t len, const fre_lm_score *score,
                             fre_err *err)
{
    seen *s = ctx;

    if (len == 4 && memcmp(text, "stop", 4) == 0)
        return fre_fail(err, FRE_E_IO, "stopped");
    s->score[s->n++] = *score;
    return FRE_OK;
}

static void keep_progress(void *ctx, const char *phase, uint64_t done, uint64_t total)
{
    seen *s = ctx;

    assert_string_equal(phase, "scoring");
    s->done = done;
    s->total = total;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void a_scorer_says_what_its_texts_come_to(void **state)
{
    fre_lm *lm = must_open(DECODER, 1, 0, FRE_LM_REST);
    seen got = {.n = 0};
    const fre_progress progress = {keep_progress, &got};
    fre_lm_score want[5];
    fre_lm_scorer *s = NULL;
    fre_lm_summary sum;
    fre_err err = {.text = ""};
    const char *const *text = sentence + 5; /* each of two tokens or more */
    double nll[4], natural = 0;

    (void)state;
    assert_true(SENTENCES >= 9);
    must_score(lm, want, text, 4);
    assert_int_equal(fre_lm_scorer_new(&s, lm, keep_score, &got, &progress, &err), FRE_OK);
    fre_lm_scorer_summary(s, &sum);
    assert_int_equal(sum.texts, 0);
    assert_true(isnan(sum.median_nll) && isnan(sum.natural));
    fre_lm_scorer_expect(s, 9);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(fre_lm_scorer_add(s, text[i], strlen(text[i]), &err), FRE_OK);
        if (i == 1)
            assert_int_equal(fre_lm_scorer_flush(s, &err), FRE_OK);
        nll[i] = fre_lm_nll(&want[i]);
        natural += nll[i] <= FRE_LM_NATURAL_NLL;
    }
    assert_int_equal(got.n, 2); /* two wait */
    assert_int_equal(fre_lm_scorer_add(s, "", 0, &err), FRE_OK);
    assert_int_equal(fre_lm_scorer_flush(s, &err), FRE_OK);
    assert_int_equal(got.n, 5);
    assert_true(got.done == 5 && got.total == 9);
    for (size_t i = 0; i < 4; i++)
        assert_memory_equal(&got.score[i].logp_rest, &want[i].logp_rest, sizeof(double));
    qsort(nll, 4, sizeof *nll, by_value);
    fre_lm_scorer_summary(s, &sum);
    assert_int_equal(sum.texts, 5);
    assert_int_equal(sum.scored, 4);
    assert_close(sum.median_nll, (nll[1] + nll[2]) / 2, 0.0, 1e-15);
    assert_close(sum.median_perplexity, (exp(nll[1]) + exp(nll[2])) / 2, 0.0, 1e-15);
    assert_close(sum.mean_nll, (nll[0] + nll[1] + nll[2] + nll[3]) / 4, 0.0, 1e-12);
    assert_close(sum.natural, natural / 4, 0.0, 0.0);
    assert_int_equal(fre_lm_scorer_add(s, "stop", 4, &err), FRE_OK);
    assert_int_equal(fre_lm_scorer_flush(s, &err), FRE_E_IO);
    fre_lm_scorer_free(s);
    fre_lm_scorer_free(NULL);
    fre_lm_free(lm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_single_steps),
        cmocka_unit_test(is_the_same_to_the_bit_whatever_is_beside_it),
        cmocka_unit_test(leaves_out_what_is_not_asked_for),
        cmocka_unit_test(texts_of_fewer_than_two_tokens_have_no_nll),
        cmocka_unit_test(a_long_text_is_cut_and_says_so),
        cmocka_unit_test(refuses_what_is_no_language_model),
        cmocka_unit_test(says_how_to_obtain_the_default),
        cmocka_unit_test(refuses_invalid_text_and_writes_nothing),
        cmocka_unit_test(a_scorer_says_what_its_texts_come_to),
    };

    return cmocka_run_group_tests_name("lm", tests, NULL, NULL);
}
