/* fre/lm.h with SmolLM2: tests/vectors/lm.txt, computed apart in float64, and answers of a model
 * tuned to dialogues.  Fails where the model was not obtained: tools/get-language-model. */
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

#define LINES 5u

typedef struct vector {
    unsigned tokens;
    double logp_rest, logp;
    char text[200];
} vector;

static fre_lm *lm;

static int open_model(void **state)
{
    const fre_lm_opts opts = {.threads = 2};
    fre_err err = {.text = ""};

    (void)state;
    if (fre_lm_open(&lm, &opts, &err) == FRE_OK)
        return 0;
    (void)fprintf(stderr, "%s\n", err.text);
    return -1;
}

static int close_model(void **state)
{
    (void)state;
    fre_lm_free(lm);
    return 0;
}

static void read_vectors(vector v[LINES])
{
    FILE *f = fopen(FRE_SOURCE_DIR "/tests/vectors/lm.txt", "rbe");
    char line[300];
    size_t n = 0;

    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (line[0] == '#')
            continue;
        assert_true(n < LINES);
        assert_int_equal(sscanf(line, "%u\t%lf\t%lf\t%199[^\n]", &v[n].tokens, &v[n].logp_rest,
                                &v[n].logp, v[n].text),
                         4);
        n++;
    }
    assert_int_equal(n, LINES);
    assert_int_equal(fclose(f), 0);
}

static void agrees_with_an_independent_computation(void **state)
{
    vector v[LINES];
    const char *text[LINES];
    size_t len[LINES];
    fre_lm_score s[LINES], one;

    (void)state;
    read_vectors(v);
    for (size_t i = 0; i < LINES; i++) {
        text[i] = v[i].text;
        len[i] = strlen(text[i]);
    }
    assert_int_equal(fre_lm_score_texts(lm, s, text, len, LINES, NULL, NULL), FRE_OK);
    for (size_t i = 0; i < LINES; i++) {
        assert_int_equal(s[i].tokens, v[i].tokens);
        assert_true(fabs(s[i].logp_rest - v[i].logp_rest) < 1e-3);
        assert_true(fabs(s[i].logp - v[i].logp) < 1e-3);
    }
    assert_int_equal(fre_lm_score_texts(lm, &one, text + 2, len + 2, 1, NULL, NULL), FRE_OK);
    assert_memory_equal(&one.logp, &s[2].logp, sizeof one.logp);
    assert_memory_equal(&one.logp_rest, &s[2].logp_rest, sizeof one.logp_rest);
}

static void answers_what_a_user_says(void **state)
{
    static const char prompt[] = "What is the capital of France? <|im_end|>";
    const fre_lm_sampling how = {.temperature = 1, .top_k = 1, .max_new = 8, .chat = true};
    char *out = NULL;

    (void)state;
    assert_true(fre_lm_can_chat(lm));
    assert_int_equal(fre_lm_sample(lm, &out, 1, prompt, sizeof prompt - 1, &how, NULL), FRE_OK);
    assert_non_null(out);
    assert_non_null(strstr(out, "Paris"));
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_an_independent_computation),
        cmocka_unit_test(answers_what_a_user_says),
    };

    return cmocka_run_group_tests_name("lm_vectors", tests, open_model, close_model);
}
