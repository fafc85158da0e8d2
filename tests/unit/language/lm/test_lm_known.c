/* fre/lm.h on a model whose probabilities are known in closed form: scores, samples, and what
 * damaged files and encoders are told. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fre/lm.h>

#include "temp_dir.h"
#include "tiny_gguf.h"
#include "tiny_lm.h"

static const tiny_lm usual = {.dim = 64, .scale = 0.4f, .context = 32, .bytes = 256};
static char path[512];

static int make_dir(void **state)
{
    (void)state;
    temp_dir_make(&test_dir);
    (void)snprintf(path, sizeof path, "%s/tiny.gguf", test_dir.path);
    return 0;
}

/* The file without its last `cut` bytes. */
static void write_model(const tiny_lm *m, size_t cut)
{
    size_t n;
    uint8_t *file = tiny_lm_bytes(m, &n);

    write_file(path, file, n - cut);
    free(file);
}

static fre_lm *must_open(const tiny_lm *m, uint32_t threads)
{
    const fre_lm_opts opts = {.path = path, .threads = threads};
    fre_lm *lm = NULL;
    fre_err err = {.text = ""};

    write_model(m, 0);
    if (fre_lm_open(&lm, &opts, &err) != FRE_OK)
        fail_msg("%s", err.text);
    return lm;
}

static void must_score(fre_lm *lm, fre_lm_score *out, const char *const *text, size_t n)
{
    size_t len[16];
    fre_err err = {.text = ""};

    assert_true(n <= 16);
    for (size_t i = 0; i < n; i++)
        len[i] = strlen(text[i]);
    if (fre_lm_score_texts(lm, out, text, len, n, NULL, &err) != FRE_OK)
        fail_msg("%s", err.text);
}

static double known_logp(const tiny_lm *m, uint32_t v, uint32_t u)
{
    double sum = 0;

    for (uint32_t w = 0; w < TINY_LM_VOCAB; w++)
        sum += exp(tiny_lm_logit(m, w, u));
    return tiny_lm_logit(m, v, u) - log(sum);
}

/* letters: each a token " x". */
static fre_lm_score known_score(const tiny_lm *m, const char *letters)
{
    fre_lm_score s = {.tokens = (uint32_t)strlen(letters)};
    uint32_t u = TINY_LM_BEGIN;

    for (uint32_t t = 0; t < s.tokens; t++) {
        uint32_t v = TINY_LM_A + (uint32_t)(letters[t] - 'a');

        s.logp += known_logp(m, v, u);
        s.logp_rest += t > 0 ? known_logp(m, v, u) : 0;
        u = v;
    }
    s.logp += known_logp(m, TINY_LM_END, u);
    return s;
}

/* dim 64 runs in our own kernels, 32 in llama.cpp. */
static void gives_the_known_probabilities(void **state)
{
    static const char *const text[] = {"a b c", "a b d e", "z", "", "a b c", "q r s t u v w x y z"};
    static const char *const letters[] = {"abc", "abde", "z", "", "abc", "qrstuvwxyz"};

    (void)state;
    for (uint32_t dim = 32; dim <= 64; dim += 32) {
        const tiny_lm m = {.dim = dim, .scale = 3, .context = 32, .bytes = 256};
        fre_lm *lm = must_open(&m, 1);
        fre_lm_score s[6], one;

        must_score(lm, s, text, 6);
        for (size_t i = 0; i < 6; i++) {
            fre_lm_score want = known_score(&m, letters[i]);

            assert_int_equal(s[i].tokens, want.tokens);
            assert_true(fabs(s[i].logp_rest - want.logp_rest) < 1e-4);
            assert_true(fabs(s[i].logp - want.logp) < 1e-4);
            must_score(lm, &one, &text[i], 1);
            assert_memory_equal(&one.logp, &s[i].logp, sizeof one.logp);
            assert_memory_equal(&one.logp_rest, &s[i].logp_rest, sizeof one.logp_rest);
        }
        fre_lm_free(lm);
    }
}

static void a_text_beyond_the_context_is_cut(void **state)
{
    static const char *const text[] = {"a b c d e f g h i j", "a b c d e f g"};

    (void)state;
    for (uint32_t dim = 32; dim <= 64; dim += 32) {
        const tiny_lm m = {.dim = dim, .scale = 3, .context = 8, .bytes = 256};
        fre_lm *lm = must_open(&m, 1);
        fre_lm_score s[2];

        must_score(lm, s, text, 2);
        assert_true(s[0].cut);
        assert_false(s[1].cut);
        assert_int_equal(s[0].tokens, 7);
        assert_memory_equal(&s[0].logp, &s[1].logp, sizeof s->logp);
        assert_true(fabs(s[0].logp - known_score(&m, "abcdefg").logp) < 1e-4);
        fre_lm_free(lm);
    }
}

/* Longer than a run of llama.cpp's rows and than a pass of ours. */
static void long_texts_run_in_pieces(void **state)
{
    char text[801], letters[401];
    const char *texts[] = {text};

    (void)state;
    for (size_t i = 0; i < 400; i++) {
        letters[i] = (char)('a' + i * i % 26);
        text[2 * i] = letters[i];
        text[2 * i + 1] = i < 399 ? ' ' : '\0';
    }
    letters[400] = text[800] = '\0';
    for (uint32_t dim = 32; dim <= 64; dim += 32) {
        const tiny_lm m = {.dim = dim, .scale = 3, .context = 512, .bytes = 256};
        fre_lm *lm = must_open(&m, 1);
        fre_lm_score s, want = known_score(&m, letters);

        must_score(lm, &s, texts, 1);
        assert_int_equal(s.tokens, 400);
        assert_true(fabs(s.logp_rest / want.logp_rest - 1) < 1e-5);
        assert_true(fabs(s.logp / want.logp - 1) < 1e-5);
        fre_lm_free(lm);
    }
}

static void logits_that_are_not_finite_are_an_error(void **state)
{
    static const char *const text[] = {"a b c"};
    const size_t len[] = {5};
    const fre_lm_sampling how = {.temperature = 1, .max_new = 3};

    (void)state;
    for (uint32_t dim = 32; dim <= 64; dim += 32) {
        const tiny_lm m = {.dim = dim, .scale = 3e38f, .context = 32, .bytes = 256}; /* overflows */
        fre_lm *lm = must_open(&m, 1);
        fre_lm_score s = {.tokens = 77};
        char *out = NULL;
        fre_err err = {.text = ""};

        assert_int_equal(fre_lm_score_texts(lm, &s, text, len, 1, NULL, &err), FRE_E_MODEL);
        assert_non_null(strstr(err.text, "not a finite number"));
        assert_int_equal(s.tokens, 77);
        assert_int_equal(fre_lm_sample(lm, &out, 1, "a", 1, &how, &err), FRE_E_MODEL);
        assert_non_null(strstr(err.text, "not a finite number"));
        assert_null(out);
        fre_lm_free(lm);
    }
}

/* Probabilities of the tokens behind " b" at a temperature, among the k likeliest (0: all). */
static void known_law(double p[TINY_LM_VOCAB], double temperature, uint32_t k)
{
    double sum = 0;

    for (uint32_t v = 0; v < TINY_LM_VOCAB; v++) {
        uint32_t above = 0;

        for (uint32_t w = 0; w < TINY_LM_VOCAB; w++)
            above +=
                tiny_lm_logit(&usual, w, TINY_LM_A + 1) > tiny_lm_logit(&usual, v, TINY_LM_A + 1);
        p[v] = k > 0 && above >= k ? 0 : exp(tiny_lm_logit(&usual, v, TINY_LM_A + 1) / temperature);
        sum += p[v];
    }
    for (uint32_t v = 0; v < TINY_LM_VOCAB; v++)
        p[v] /= sum;
}

/* Counts of the first letter of 4,000 texts against the law: chi-square with at most 27 degrees of
 * freedom exceeds 80 once in 10^6. */
static void samples_follow_the_probabilities(void **state)
{
    enum { N = 4000 };
    char **out = calloc(N, sizeof *out);
    fre_lm *lm = must_open(&usual, 1);

    (void)state;
    assert_non_null(out);
    for (uint32_t k = 0; k <= 5; k += 5) {
        const fre_lm_sampling how = {.temperature = 0.7, .top_k = k, .max_new = 1, .seed = 5};
        double p[TINY_LM_VOCAB], chi2 = 0, other = N, other_p = 1;
        uint32_t count[26] = {0};

        known_law(p, how.temperature, k);
        assert_int_equal(fre_lm_sample(lm, out, N, "a b", 3, &how, NULL), FRE_OK);
        for (uint32_t i = 0; i < N; i++) {
            if (out[i] && out[i][0] >= 'a' && out[i][0] <= 'z' && !out[i][1])
                count[out[i][0] - 'a']++;
            free(out[i]);
        }
        for (uint32_t i = 0; i < 26; i++) {
            double want = N * p[TINY_LM_A + i];

            other -= count[i];
            other_p -= p[TINY_LM_A + i];
            if (want > 0)
                chi2 += (count[i] - want) * (count[i] - want) / want;
            else
                assert_int_equal(count[i], 0);
        }
        if (other_p > 1e-3)
            chi2 += (other - N * other_p) * (other - N * other_p) / (N * other_p);
        assert_true(chi2 < 80);
    }
    fre_lm_free(lm);
    free(out);
}

static void free_all(char **text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(text[i]);
}

static void a_sample_depends_on_its_number_alone(void **state)
{
    (void)state;
    for (uint32_t dim = 32; dim <= 64; dim += 32) {
        const tiny_lm m = {.dim = dim, .scale = 3, .context = 32, .bytes = 256};
        fre_lm_sampling how = {.temperature = 1, .top_k = 40, .max_new = 12, .seed = 1};
        char *many[70], *few[3], *other[3];
        size_t differ = 0;
        fre_lm *one = must_open(&m, 1), *two = must_open(&m, 2);

        assert_int_equal(fre_lm_sample(one, many, 70, "a b", 3, &how, NULL), FRE_OK);
        assert_int_equal(fre_lm_sample(two, few, 3, "a b", 3, &how, NULL), FRE_OK);
        how.seed = 2;
        assert_int_equal(fre_lm_sample(two, other, 3, "a b", 3, &how, NULL), FRE_OK);
        for (size_t i = 0; i < 3; i++) {
            assert_true((many[i] == NULL) == (few[i] == NULL));
            if (many[i])
                assert_string_equal(many[i], few[i]);
            differ += !other[i] || !few[i] || strcmp(other[i], few[i]) != 0;
        }
        assert_true(differ > 0);
        free_all(many, 70);
        free_all(few, 3);
        free_all(other, 3);
        how.stop_at_newline = true;
        assert_int_equal(fre_lm_sample(one, many, 70, "a b", 3, &how, NULL), FRE_OK);
        for (size_t i = 0; i < 70; i++)
            assert_true(!many[i] || !strchr(many[i], '\n'));
        free_all(many, 70);
        fre_lm_free(one);
        fre_lm_free(two);
    }
}

/* Each of many prompts has the text that it has alone, whatever is beside it. */
static void texts_of_many_prompts_are_those_of_each(void **state)
{
    static const char *const said[] = {"a b", "a b c d", "h", "a b", "", "a b c", "z y x w v", "a"};
    enum { PROMPTS = sizeof said / sizeof *said, N = 70 };

    (void)state;
    for (uint32_t dim = 32; dim <= 64; dim += 32) {
        const tiny_lm m = {.dim = dim, .scale = 3, .context = 40, .bytes = 256};
        fre_lm_sampling how = {.temperature = 1, .top_k = 40, .max_new = 12, .seed = 9};
        fre_lm_prompt prompt[N];
        char *text[N], *alone[4];
        size_t some = 0;

        for (size_t i = 0; i < N; i++) {
            const char *p = said[i % PROMPTS];

            prompt[i] = (fre_lm_prompt){p, strlen(p), i / PROMPTS, i % 4};
        }
        for (uint32_t threads = 1; threads <= 3; threads++) {
            fre_lm *lm = must_open(&m, threads);

            how.seed = 9; /* has no say */
            assert_int_equal(fre_lm_sample_each(lm, text, N, prompt, &how, NULL), FRE_OK);
            for (size_t i = 0; i < N; i++) {
                how.seed = prompt[i].seed;
                assert_int_equal(
                    fre_lm_sample(lm, alone, 4, prompt[i].text, prompt[i].len, &how, NULL), FRE_OK);
                assert_true((text[i] == NULL) == (alone[i % 4] == NULL));
                if (text[i])
                    assert_string_equal(text[i], alone[i % 4]);
                some += text[i] != NULL;
                free_all(alone, 4);
            }
            free_all(text, N);
            fre_lm_free(lm);
        }
        assert_true(some > N);
    }
}

static void many_prompts_check_their_arguments(void **state)
{
    const fre_lm_sampling how = {.temperature = 1, .max_new = 4};
    fre_lm_prompt prompt[] = {{"a", 1, 0, 0}, {"\xff", 1, 0, 0}};
    char *out[2] = {NULL, NULL};
    fre_lm *lm = must_open(&usual, 1);

    (void)state;
    assert_int_equal(fre_lm_sample_each(lm, out, 2, prompt, &how, NULL), FRE_E_DATA);
    assert_int_equal(fre_lm_sample_each(lm, NULL, 2, prompt, &how, NULL), FRE_E_ARG);
    assert_int_equal(fre_lm_sample_each(lm, out, 2, NULL, &how, NULL), FRE_E_ARG);
    assert_int_equal(fre_lm_sample_each(lm, out, 2, prompt, NULL, NULL), FRE_E_ARG);
    prompt[1].text = NULL;
    assert_int_equal(fre_lm_sample_each(lm, out, 2, prompt, &how, NULL), FRE_E_ARG);
    assert_int_equal(fre_lm_sample_each(lm, NULL, 0, NULL, &how, NULL), FRE_OK);
    assert_null(out[0]);
    assert_null(out[1]);
    fre_lm_free(lm);
}

/* top-k 1: each word the one that the table prefers behind the last. */
static void the_likeliest_text_is_the_tables(void **state)
{
    const fre_lm_sampling how = {.temperature = 1, .top_k = 1, .max_new = 6};
    char *out[2] = {NULL, NULL}, want[64] = "";
    fre_lm *lm = must_open(&usual, 1);

    (void)state;
    for (uint32_t i = 0, u = TINY_LM_A + 7; i < how.max_new; i++) {
        uint32_t best = 0;

        for (uint32_t v = 1; v < TINY_LM_VOCAB; v++)
            if (tiny_lm_logit(&usual, v, u) > tiny_lm_logit(&usual, best, u))
                best = v;
        u = best;
        if (u < TINY_LM_A)
            break;
        if (u < TINY_LM_A + 26)
            (void)snprintf(want + strlen(want), 8, " %c", (char)('a' + u - TINY_LM_A));
        else
            (void)snprintf(want + strlen(want), 8, "\n"); /* all else is unlikely */
    }
    assert_int_equal(fre_lm_sample(lm, out, 2, "h", 1, &how, NULL), FRE_OK);
    if (strlen(want) == 0)
        fail_msg("the table ends the text at once: choose another prompt");
    assert_non_null(out[0]);
    assert_string_equal(out[0], out[1]);
    assert_non_null(strstr(want, out[0])); /* trimmed */
    assert_true(strlen(out[0]) + 2 >= strlen(want));
    free_all(out, 2);
    fre_lm_free(lm);
}

static void sampling_checks_its_arguments(void **state)
{
    const fre_lm_sampling ok = {.temperature = 1, .max_new = 4};
    fre_lm_sampling how = ok;
    char *out = NULL;
    fre_err err = {.text = ""};
    fre_lm *lm = must_open(&usual, 1);

    (void)state;
    assert_false(fre_lm_can_chat(lm));
    how.chat = true;
    assert_int_equal(fre_lm_sample(lm, &out, 1, "a", 1, &how, &err), FRE_E_ARG);
    assert_non_null(strstr(err.text, "dialogues"));
    how = ok;
    how.temperature = 0;
    assert_int_equal(fre_lm_sample(lm, &out, 1, "a", 1, &how, &err), FRE_E_ARG);
    how.temperature = (double)NAN;
    assert_int_equal(fre_lm_sample(lm, &out, 1, "a", 1, &how, &err), FRE_E_ARG);
    how = ok;
    how.max_new = 0;
    assert_int_equal(fre_lm_sample(lm, &out, 1, "a", 1, &how, &err), FRE_E_ARG);
    how.max_new = 32;
    assert_int_equal(fre_lm_sample(lm, &out, 1, "a", 1, &how, &err), FRE_E_LIMIT);
    how.max_new = 30;
    assert_int_equal(fre_lm_sample(lm, &out, 1, "a b c", 5, &how, &err), FRE_E_LIMIT);
    assert_non_null(strstr(err.text, "context"));
    assert_int_equal(fre_lm_sample(lm, &out, 1, "\xff", 1, &ok, &err), FRE_E_DATA);
    assert_null(out);
    fre_interrupt_set();
    assert_int_equal(fre_lm_sample(lm, &out, 1, "a", 1, &ok, &err), FRE_E_INTERRUPTED);
    fre_interrupt_clear();
    assert_null(out);
    fre_lm_free(lm);
}

static void refused(fre_status want, const char *says)
{
    const fre_lm_opts opts = {.path = path, .threads = 1};
    fre_lm *lm = NULL;
    fre_err err = {.text = ""};

    assert_int_equal(fre_lm_open(&lm, &opts, &err), want);
    assert_null(lm);
    if (!strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
}

static void refuses_damaged_files_and_encoders(void **state)
{
    tiny_shape encoder = tiny_default();

    (void)state;
    write_model(&usual, 1);
    refused(FRE_E_MODEL, "cut short");
    write_model(&(tiny_lm){.dim = 64, .scale = 3, .context = 32, .bytes = 255}, 0);
    refused(FRE_E_MODEL, "cannot spell every byte");
    encoder.skip_pair = "bert.pooling_type";
    tiny_file(path, &encoder);
    refused(FRE_E_MODEL, "gives no logits");
    /* Nothing in the metadata says encoder: the model itself has no memory of a text. */
    encoder.skip_pair = "bert.attention.causal";
    encoder.pooling = 0;
    tiny_file(path, &encoder);
    refused(FRE_E_MODEL, "gives no logits");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_known_probabilities),
        cmocka_unit_test(a_text_beyond_the_context_is_cut),
        cmocka_unit_test(long_texts_run_in_pieces),
        cmocka_unit_test(logits_that_are_not_finite_are_an_error),
        cmocka_unit_test(samples_follow_the_probabilities),
        cmocka_unit_test(a_sample_depends_on_its_number_alone),
        cmocka_unit_test(texts_of_many_prompts_are_those_of_each),
        cmocka_unit_test(many_prompts_check_their_arguments),
        cmocka_unit_test(the_likeliest_text_is_the_tables),
        cmocka_unit_test(sampling_checks_its_arguments),
        cmocka_unit_test(refuses_damaged_files_and_encoders),
    };

    return cmocka_run_group_tests_name("lm_known", tests, make_dir, test_dir_remove);
}
