/* Non-words, cut sentences and words in no order against real ones; damaged vocabularies; texts of one
 * release set apart; progress in small steps. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fre/invert.h>
#include <fre/model.h>

#include "assert_num.h"
#include "invert_private.h"
#include "temp_dir.h"

#define MODELS FRE_SOURCE_DIR "/models/"
#define VOCABULARY MODELS FRE_VOCABULARY_DEFAULT
#define KEY(name) "fre-e2t-vocabulary." name

static inv_vocabulary *vocabulary;

static double worth(const char *text)
{
    return inv_vocabulary_worth(vocabulary, text);
}

static uint32_t unknown(const char *text)
{
    return inv_vocabulary_read(vocabulary, text).unknown;
}

/* train/vocabulary.py cut and hashed the words of the file; here they are found again. */
static void test_words(void **state)
{
    (void)state;
    assert_int_equal(
        unknown("What's the weather in Paris, and don\xe2\x80\x99t we need umbrellas?"), 0);
    assert_int_equal(unknown("Twenty-one 21st 5pm $40 a.m. '90s 'quoted' café"), 0);
    assert_int_equal(unknown("Is it undesable and disypped"), 2);
    assert_int_equal(inv_vocabulary_read(vocabulary, "the distance from Beijing Quan?").rare, 1);
    assert_int_equal(inv_vocabulary_read(vocabulary, "the distance from Beijing qui?").rare, 1);
    assert_int_equal(inv_vocabulary_read(vocabulary, "a movie directed by Qui Sheng").rare, 0);
    assert_int_equal(inv_vocabulary_read(vocabulary, "It is a long way, isn't it, at 5pm").rare, 0);
    assert_int_equal(inv_vocabulary_read_part(vocabulary, "Quan is far", 4).rare, 1);
    assert_int_equal(inv_vocabulary_read_part(vocabulary, "far Quan", 3).rare, 0);
    assert_int_equal(unknown("Mr. X and I (or you): x"), 0); /* single letters are no words */
    assert_int_equal(unknown(""), 0);
    assert_close(worth(""), 0, 0, 0);
    assert_close(worth(" ;'?! "), 0, 0, 0);
}

static void test_real_beats_wrong(void **state)
{
    static const char *const pair[][2] = {
        {"My car battery is dead", "My car battery is dead and"},
        {"What is the balance of my account", "What is the balance of my"},
        {"I lost it because it is small", "I lost it because"},
        {"How do I get to the college by bus", "How to get to college bus by"},
        {"Change to the female voice", "Change over the female voice to"},
        {"The offer is undesirable", "The offer is undesable"},
        {"My luggage was shipped", "My luggage was disypped"},
        {"What time is it in Melbourne", "What time is it in Melbourne,"},
        {"I want to go home. Is it far?", "I want to go home. Is it the?"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
        assert_true(worth(pair[i][0]) > worth(pair[i][1]) + 2);
    /* A question may end in a preposition. */
    assert_true(worth("Who was it written by") > worth("My battery is dead and") + 20);
    /* Nothing is gained by saying more. */
    assert_true(worth("Thank you very much") <= 0);
    assert_true(worth("Thank you very much thank you very much") <= worth("Thank you very much"));
}

/* As near as the true text: it is the one, whatever it reads like.  Else the real one wins. */
static void test_choice(void **state)
{
    static const char *const text[] = {"my phone is disypped", "my phone is broken"};
    const inv_tuning t = inv_tuning_of(0, false);
    const float mu[1] = {0};

    (void)state;
    for (int settled = 0; settled < 2; settled++) {
        inv_trace trace = {.rounds = 0};
        inv_pool p;

        inv_pool_init(&p, 1, NULL, vocabulary);
        for (int i = 0; i < 2; i++)
            assert_int_equal(inv_pool_add_text(&p, text[i], strlen(text[i]), INV_FIRST, -5),
                             FRE_OK);
        p.embedding[0] = settled ? 0.01F : 0.2F;
        p.embedding[1] = settled ? 0.15F : 0.23F;
        assert_int_equal(inv_pool_score(&p, mu, 0, &t, &trace), FRE_OK);
        assert_string_equal(p.cand[0].text, text[!settled]);
        assert_int_equal(inv_is_settled(p.cand[0].dist2, 0, 1), settled);
        inv_pool_wipe(&p);
    }
    assert_false(inv_is_settled(0, 0.31, 1)); /* with that much noise nothing is */
}

/* What is told of a point: a non-word or a cut sentence only if it is as near as the true text would be; a
 * text with an unknown word, or with one that public text hardly has, only if that explains much; one that
 * leaves more than texts about the point do is marked, and then taken away. */
static void test_telling(void **state)
{
    enum { WRONG, REAL, CUT, SIGN, MARKS, OPEN, TWICE, RARE, ALL };
    static const char *const text[ALL] = {"my phone is disypped",       "my phone is broken",
                                          "my phone is broken and the", "\U0001F680 my phone",
                                          "is my phone broken??",       "my phone (is broken",
                                          "my my phone is broken",      "my phone is quan"};
    static const struct {
        float away[ALL];
        double noise;
        const char *told;
    } row[] = {
        {{0.2F, 0.3F, 0.25F, 0.9F, 0.25F, 0.25F, 0.25F, 0.26F}, 0, "My phone is broken"},
        {{0.01F, 0.3F, 0.25F, 0.9F, 0.9F, 0.9F, 0.9F, 0.9F}, 0, "My phone is disypped"},
        {{0.3F, 0.3F, 0.01F, 0.9F, 0.9F, 0.9F, 0.9F, 0.9F}, 0, "My phone is broken and the"},
        {{0.6F, 0.65F, 0.9F, 0.55F, 0.9F, 0.9F, 0.9F, 0.9F}, 0, "My phone is broken"},
        {{0.6F, 0.65F, 0.9F, 0.1F, 0.9F, 0.9F, 0.9F, 0.9F}, 0, "My phone"},
        {{0.4F, 0.45F, 0.6F, 0.6F, 0.9F, 0.9F, 0.9F, 0.9F},
         0.4,
         "My phone is disypped"}, /* the noise may have moved it so far */
        {{0.8F, 0.85F, 0.9F, 0.9F, 0.9F, 0.9F, 0.9F, 0.9F}, 0.2, "My phone is broken"},
        {{0.6F, 0.4F, 0.9F, 0.9F, 0.9F, 0.9F, 0.9F, 0.2F}, 0, "My phone is quan"},
        {{0.6F, 0.4F, 0.9F, 0.9F, 0.9F, 0.9F, 0.9F, 0.3F}, 0, "My phone is broken"},
        {{0.9F, 0.4F, 0.9F, 0.9F, 0.9F, 0.9F, 0.9F, 0.3F}, 0.3, "My phone is quan"},
    };
    fre_embedder *e = NULL;
    fre_inverter v = {.dim = 384, .telling = vocabulary, .tuning = inv_tuning_of(0, false)};
    float mu[384] = {0};
    fre_err err;

    (void)state;
    assert_int_equal(fre_embedder_new(&e, &(fre_embedder_opts){.threads = 1}, &err), FRE_OK);
    v.embedder = e;
    for (size_t r = 0; r < sizeof row / sizeof *row; r++) {
        inv_state s = {.mu = mu, .noise_std = row[r].noise / sqrt(384)};
        inv_trace trace = {.rounds = 0};
        fre_inversion out = {0};

        inv_pool_init(&s.pool, 384, e, vocabulary);
        for (int i = 0; i < ALL; i++) {
            assert_int_equal(inv_pool_add_text(&s.pool, text[i], strlen(text[i]), INV_FIRST, -5),
                             FRE_OK);
            memset(s.pool.embedding + (size_t)i * 384, 0, 384 * sizeof(float));
            s.pool.embedding[i * 384] = row[r].away[i];
        }
        assert_int_equal(inv_pool_score(&s.pool, mu, s.noise_std, &v.tuning, &trace), FRE_OK);
        assert_int_equal(inv_tell(&v, &out, NULL, &s, &err), FRE_OK);
        if (r == 4) { /* what is left lies far from this point, which no text has */
            assert_null(out.text);
            assert_string_equal(out.unreadable, FRE_UNREADABLE_UNKNOWN);
        } else {
            assert_string_equal(out.text, row[r].told);
            assert_int_equal(out.unreadable != NULL, r == 6);
            assert_int_equal(inv_judge(&v, &out, mu, s.noise_std), FRE_OK);
            assert_int_equal(out.text == NULL, r == 6);
        }
        if (r == 6) { /* .85 away, of which the noise is .2 */
            assert_string_equal(out.unreadable, FRE_UNREADABLE_FAR);
            assert_close(out.distance, 0.85, 1e-6, 0);
        }
        fre_inversion_wipe(&out);
        inv_pool_wipe(&s.pool);
    }
    fre_embedder_free(e);
}

/* ---- files --------------------------------------------------------------------------------------- */

/* "b" (hash 1) and "a" (hash 2^24 + 5), in two sentences "b a". */
static float high[2] = {0, 1}, low[2] = {1, 5}, count[3] = {0.6931472F, 0.6931472F, 0.6931472F};
static float of_word[3] = {1, 1, 1}, right[3] = {1, 2, 0};
static float pair_count[3] = {0.6931472F, 0.6931472F, 0.6931472F};

static void write_vocabulary(const char *path, uint32_t words)
{
    const fre_tensors_pair pair[] = {{.key = KEY("words"), .number = words},
                                     {.key = KEY("pairs"), .number = 3}};
    const fre_tensors_entry entry[] = {
        {.name = "word_high", .value = high, .rows = 1, .cols = 2},   {.name = "word_low", .value = low, .rows = 1, .cols = 2},
        {.name = "word_count", .value = count, .rows = 1, .cols = 3}, {.name = "pairs_of_word", .value = of_word, .rows = 1, .cols = 3},
        {.name = "pair_right", .value = right, .rows = 1, .cols = 3}, {.name = "pair_count", .value = pair_count, .rows = 1, .cols = 3},
    };
    fre_err err;
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fre_tensors_write(f, "fre-e2t-vocabulary", pair, 2, entry, 6, &err), FRE_OK);
    assert_int_equal(fclose(f), 0);
}

static void refused(const char *path)
{
    inv_vocabulary *v = NULL;
    fre_err err = {.text = ""};

    assert_int_equal(inv_vocabulary_open(&v, path, &err), FRE_E_MODEL);
    assert_null(v);
    assert_true(err.text[0]);
}

static void refused_with(const char *path, float *number, float bad)
{
    const float good = *number;

    *number = bad;
    write_vocabulary(path, 2);
    refused(path);
    *number = good;
}

static void test_damaged(void **state)
{
    inv_vocabulary *v = NULL;
    temp_dir t;
    char path[512];
    fre_err err;

    (void)state;
    temp_dir_make(&t);
    temp_path(path, &t, "v.gguf");
    write_vocabulary(path, 2);
    assert_int_equal(inv_vocabulary_open(&v, path, &err), FRE_OK);
    assert_int_equal(inv_vocabulary_read(v, "one other").unknown, 2);
    inv_vocabulary_free(v);
    refused_with(path, &high[1], 0.5F);    /* no whole number */
    refused_with(path, &low[0], 0x1p25F);  /* more than 24 bits */
    refused_with(path, &high[0], 2);       /* must ascend */
    refused_with(path, &count[0], 60);     /* more than there are atoms */
    refused_with(path, &of_word[0], 4);    /* beyond the pairs */
    refused_with(path, &of_word[2], 0);    /* pairs that belong to no word */
    refused_with(path, &right[1], 3);      /* no such word */
    refused_with(path, &pair_count[0], 2); /* more often than its left word */
    write_vocabulary(path, 3);
    refused(path);
    write_vocabulary(path, 0);
    refused(path);
    refused(MODELS FRE_PRIOR_DEFAULT);
    assert_int_equal(inv_vocabulary_open(&v, "/nowhere.gguf", &err), FRE_E_NOINPUT);
    temp_dir_remove(&t);
}

/* ---- apart --------------------------------------------------------------------------------------- */

static fre_inversion say(const char *text, double distance)
{
    return (fre_inversion){.text = strdup(text), .distance = distance};
}

static void test_apart(void **state)
{
    enum { N = 5 };
    fre_inversion made[N] = {say("Read my list", 0.2), say("read my list!", 0.1),
                             say("Tell a joke", 0.3), say("Read my list.", 0.3),
                             say("Tell a joke", 0.4)};
    inv_others others[N];

    (void)state;
    memset(others, 0, sizeof others);
    others[0].v[0] = say("Tell a joke", 0.2); /* another row has it */
    others[0].v[1] = say("Read me my list", 0.25);
    others[0].n = 2;
    others[1].v[0] = say("Read the list", 0.1); /* the nearest stays */
    others[1].n = 1;
    others[3].v[0] = say("Read me my list", 0.3); /* taken by then */
    others[3].n = 1;
    assert_int_equal(inv_set_apart(made, others, N), FRE_OK);
    assert_string_equal(made[0].text, "Read me my list");
    assert_close(made[0].distance, 0.25, 0, 0);
    assert_string_equal(made[1].text, "read my list!");
    assert_string_equal(made[2].text, "Tell a joke");
    assert_string_equal(made[3].text, "Read my list."); /* none left: it stays equal */
    assert_string_equal(made[4].text, "Tell a joke");
    for (size_t i = 0; i < N; i++) {
        fre_inversion_wipe(&made[i]);
        inv_others_wipe(&others[i]);
    }
}

/* ---- with the bundled inverter ---------------------------------------------------------------------- */

typedef struct steps {
    uint64_t last, total;
    size_t between; /* updates that are neither 0 nor all */
    bool fell;
} steps;

static void on_progress(void *ctx, const char *phase, uint64_t done, uint64_t total)
{
    steps *s = ctx;

    assert_string_equal(phase, "invert");
    s->fell = s->fell || done < s->last || done > total;
    s->between += done > s->last && done < total;
    s->last = done;
    s->total = total;
}

/* One row twice is two cells in a release, and one text where rows are just rows. */
static void test_same_row_twice(void **state)
{
    enum { N = 16 };
    fre_embedder *e = NULL;
    fre_inverter *v = NULL;
    fre_inverter_opts o = {.threads = 2, .seed = 1, .search = {.effort = 1}};
    const double noise[N] = {0};
    const char *text[N];
    size_t len[N], dim;
    fre_inversion a[N], b[N];
    steps seen = {0};
    const fre_progress progress = {.update = on_progress, .ctx = &seen};
    float *x;
    fre_err err;

    (void)state;
    assert_int_equal(fre_embedder_new(&e, &(fre_embedder_opts){.threads = 2}, &err), FRE_OK);
    assert_int_equal(fre_inverter_new(&v, e, &o, &err), FRE_OK);
    assert_non_null(fre_inverter_parts_of(v).vocabulary);
    dim = fre_embedder_info(e)->dim;
    x = malloc(N * dim * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < N; i++) {
        text[i] = fre_verify_sentence(i);
        len[i] = strlen(text[i]);
    }
    assert_int_equal(fre_embed_texts(e, x, text, len, N, &err), FRE_OK);
    for (size_t i = 0; i < dim; i++) /* between two sentences: nothing settles there */
        x[i] = x[dim + i] = (x[2 * dim + i] + x[3 * dim + i]) / 2;
    assert_int_equal(fre_invert(v, a, x, noise, N, &progress, &err), FRE_OK);
    assert_string_equal(a[0].text, a[1].text);
    assert_false(seen.fell);
    assert_true(seen.last == N && seen.total == N && seen.between >= 3);
    assert_int_equal(fre_invert_apart(v, b, x, noise, N, NULL, &err), FRE_OK);
    assert_string_not_equal(b[0].text, b[1].text);
    assert_true(strcmp(b[0].text, a[0].text) == 0 || strcmp(b[1].text, a[0].text) == 0);
    for (size_t i = 0; i < N; i++) {
        assert_false(a[i].text[0] >= 'a' && a[i].text[0] <= 'z'); /* a capital first */
        fre_inversion_wipe(&a[i]);
        fre_inversion_wipe(&b[i]);
    }
    free(x);
    fre_inverter_free(v);
    fre_embedder_free(e);
}

static int open_bundled(void **state)
{
    fre_err err;

    (void)state;
    return inv_vocabulary_open(&vocabulary, VOCABULARY, &err) == FRE_OK ? 0 : -1;
}

static int close_bundled(void **state)
{
    (void)state;
    inv_vocabulary_free(vocabulary);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),          cmocka_unit_test(test_real_beats_wrong),
        cmocka_unit_test(test_choice),         cmocka_unit_test(test_telling),
        cmocka_unit_test(test_damaged),        cmocka_unit_test(test_apart),
        cmocka_unit_test(test_same_row_twice),
    };

    return cmocka_run_group_tests(tests, open_bundled, close_bundled);
}
