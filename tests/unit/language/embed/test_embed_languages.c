/* The table of the bundled embedder's languages says what the sentences would. */
#include "embed_private.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MODEL FRE_SOURCE_DIR "/models/all-minilm-l6-v2.q8_0.gguf"
#define DIM EMBED_KNOWN_DIM

static const char *const text[] = {
    "set an alarm for seven in the morning",
    "how does one say thank you in spanish",
    "what is my balance",
    "Ich brauche eine Fahrkarte nach Hamburg",
    "Je voudrais acheter du pain",
    "请问去火车站怎么走",
    "मुझे रोटी चाहिए",
    "Hol tudok jegyet venni",
};
#define TEXTS (sizeof text / sizeof *text)

static void scores(double *out, fre_embedder *e, const fre_prior *prior, const float *x,
                   double noise_std)
{
    fre_languages *l = NULL;
    fre_err err = {.text = ""};

    if (fre_languages_new(&l, e, prior, &err) != FRE_OK)
        fail_msg("%s", err.text);
    assert_non_null(l);
    for (size_t i = 0; i < TEXTS; i++)
        assert_int_equal(fre_languages_score(l, &out[i], x + i * DIM, noise_std), FRE_OK);
    fre_languages_free(l);
}

static void the_table_is_of_the_sentences(void **state)
{
    static float x[TEXTS * DIM], mean[64 * DIM];
    const fre_embedder_opts opts = {.path = MODEL, .threads = 1};
    fre_embedder *e = NULL;
    fre_prior *prior = NULL;
    fre_model_info *info;
    fre_embed_stats before, after;
    fre_err err = {.text = ""};
    double known[TEXTS], learnt[TEXTS];
    size_t len[TEXTS];

    (void)state;
    for (size_t i = 0; i < TEXTS; i++)
        len[i] = strlen(text[i]);
    if (fre_embedder_new(&e, &opts, &err) != FRE_OK ||
        fre_prior_open_for(&prior, NULL, MODEL, fre_embedder_info(e), &err) != FRE_OK ||
        fre_embed_texts(e, x, text, len, TEXTS, &err) != FRE_OK)
        fail_msg("%s", err.text);
    info = (fre_model_info *)(uintptr_t)fre_model_info_view(e->model);
    for (int noisy = 0; noisy < 2; noisy++) {
        info->sha256[0] ^= 1; /* now it is another embedder, of which nothing is known */
        assert_int_equal(embed_known_languages(mean, info), 0);
        scores(learnt, e, prior, x, .03 * noisy);
        info->sha256[0] ^= 1;
        assert_in_range(embed_known_languages(mean, info), 20, 26);
        fre_embed_get_stats(e, &before);
        scores(known, e, prior, x, .03 * noisy);
        fre_embed_get_stats(e, &after);
        assert_int_equal(after.texts - before.texts, 4); /* of English, and no more */
        for (size_t i = 0; i < TEXTS; i++) {
            if (!(fabs(known[i] - learnt[i]) < .25))
                fail_msg("%s: %g, not %g", text[i], known[i], learnt[i]);
            assert_int_equal(known[i] > FRE_LANGUAGES_FOREIGN, learnt[i] > FRE_LANGUAGES_FOREIGN);
        }
        assert_true(known[0] < FRE_LANGUAGES_FOREIGN && known[3] > FRE_LANGUAGES_FOREIGN);
    }
    fre_prior_free(prior);
    fre_embedder_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_table_is_of_the_sentences)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
