/* The promises of fre/paraphrase.h: which texts count as the same, which candidates are near, which
 * of them are taken; results that depend on the text and its centroid alone; refusals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fre/linalg.h>

#include "assert_num.h"
#include "paraphrase_private.h"

#define MODELS FRE_SOURCE_DIR "/models/"
#define DIM 384u

static fre_embedder *embedder;
static fre_inverter *inverter;
static fre_lm *lm; /* the inverter's decoder is a language model like any other */

static int setup(void **state)
{
    const fre_embedder_opts eo = {.path = MODELS FRE_EMBEDDER_DEFAULT, .threads = 2};
    const fre_inverter_opts io = {.path = MODELS FRE_INVERTER_DEFAULT, .threads = 2};
    const fre_lm_opts lo = {
        .path = MODELS FRE_INVERTER_DEFAULT, .threads = 2, .parts = FRE_LM_WHOLE};
    fre_err err = {.text = ""};

    (void)state;
    if (fre_embedder_new(&embedder, &eo, &err) != FRE_OK ||
        fre_inverter_new(&inverter, embedder, &io, &err) != FRE_OK ||
        fre_lm_open(&lm, &lo, &err) != FRE_OK) {
        print_error("%s\n", err.text);
        return -1;
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fre_lm_free(lm);
    fre_inverter_free(inverter);
    fre_embedder_free(embedder);
    return 0;
}

/* ---- the parts ---------------------------------------------------------------------------------- */

static char *fold(const char *text)
{
    char *out = NULL;

    assert_int_equal(fre_fold_words(&out, text, strlen(text)), FRE_OK);
    return out;
}

static void test_fold(void **state)
{
    static const struct {
        const char *text, *folded;
    } t[] = {
        {"  Where's MY card?! ", "wheres my card"},
        {"e-mail \xe2\x80\x93 now", "e mail now"},
        {"CAFE\xcc\x81 \xc2\xab"
         "3.5\xc2\xbb",
         "caf\xc3\xa9 3 5"},
        {"stra\xc3\x9f"
         "e\tund\nso_weiter/mehr",
         "strasse und so weiter mehr"},
        {"\xe8\x98\x8b\xe6\x9e\x9c\xe3\x80\x82", "\xe8\x98\x8b\xe6\x9e\x9c"},
        {"?!... \xf0\x9f\x98\x80", ""},
        {"", ""},
    };
    char *out = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        char *folded = fold(t[i].text);

        assert_string_equal(folded, t[i].folded);
        free(folded);
    }
    assert_int_equal(fre_fold_words(&out, "a\xc3", 2), FRE_E_DATA);
    assert_null(out);
    assert_true(para_same("play music", "playmusic"));
    assert_true(para_same("", " "));
    assert_false(para_same("play music", "play musics"));
}

static void test_overlap(void **state)
{
    (void)state;
    assert_close(para_overlap("a b c", "c b a"), 1.0, 0.0, 0.0);
    assert_close(para_overlap("a a b", "a c"), 2.0 / 5.0, 1e-12, 0.0);
    assert_close(para_overlap("a a", "a a a"), 4.0 / 5.0, 1e-12, 0.0);
    assert_close(para_overlap("ab", "a b"), 0.0, 0.0, 0.0);
    assert_close(para_overlap("", "a"), 0.0, 0.0, 0.0);
    assert_close(para_overlap("", ""), 0.0, 0.0, 0.0);
}

static void test_answer(void **state)
{
    static const struct {
        const char *text, *answer;
    } t[] = {
        {" where is my card \n", "where is my card"},
        {" \"Where is my card?\"", "Where is my card?"},
        {"- where is it\nSentence: another", "where is it"},
        {"say \"hi\"", "say \"hi\""},
        {"\"", "\""},
        {" \t", ""},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        size_t len = 99;
        const char *answer = para_answer(t[i].text, &len);

        assert_int_equal(len, strlen(t[i].answer));
        assert_memory_equal(answer, t[i].answer, len);
    }
}

/* A text cannot break out of its line of the prompt. */
static void test_prompt(void **state)
{
    static const char text[] = "one\ntwo\r\n\x01three";
    fre_buf b;

    (void)state;
    fre_buf_init(&b, 1u << 16);
    assert_int_equal(para_prompt(&b, text, sizeof text - 1, false), FRE_OK);
    assert_int_equal(fre_buf_append(&b, "", 1), FRE_OK);
    assert_non_null(strstr((const char *)b.p, "one two   three\n"));
    assert_int_not_equal(b.p[b.n - 2], ' ');
    fre_buf_wipe(&b);
    fre_buf_init(&b, 1u << 16);
    assert_int_equal(para_prompt(&b, text, sizeof text - 1, true), FRE_OK);
    assert_int_equal(fre_buf_append(&b, "", 1), FRE_OK);
    assert_non_null(strstr((const char *)b.p, "\n\none two   three"));
    fre_buf_wipe(&b);
}

/* The one filter of all that is told: unknown words, non-words, ends that are none; what the source says may
 * be said again, and a source in another language is not judged by an English vocabulary. */
static void test_teller(void **state)
{
    static const char *const english = "my phone is broken";
    static const struct {
        const char *text, *source;
        bool tells;
    } t[] = {
        {"the phone does not work", english, true},
        {"my phone is disypped", english, false},
        {"my phone is broken and the", english, false},
        {"my phone \U0001F680", english, false},
        {"\u200b", english, false},
        {"Is the zorbleflux broken?", "my Zorbleflux, it is broken", true},
        {"ist mein telefon kaputt", "mein telefon ist kaputt gegangen", true},
    };
    const fre_inverter *const with[] = {inverter, NULL};
    fre_err err = {.text = ""};

    (void)state;
    for (size_t w = 0; w < 2; w++) {
        fre_teller *teller = NULL;

        assert_int_equal(fre_teller_new(&teller, embedder, with[w], &err), FRE_OK);
        for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
            para_list l = {.teller = teller, .source = strdup(t[i].source)};

            assert_non_null(l.source);
            assert_int_equal(para_list_add(&l, t[i].text, strlen(t[i].text), 0), FRE_OK);
            if (l.n != t[i].tells)
                fail_msg("%s", t[i].text);
            assert_int_equal(l.drawn, 1);
            para_list_wipe(&l);
        }
        fre_teller_free(teller);
    }
}

static para_list make_list(const char *source, const char *const *text, size_t n)
{
    para_list l = {.folded = fold(source)};

    for (size_t i = 0; i < n; i++)
        assert_int_equal(para_list_add(&l, text[i], strlen(text[i]), -(double)i), FRE_OK);
    return l;
}

static void test_list(void **state)
{
    static const char *const text[] = {"play music!", "Play  Music.", "stop",    "?", "",
                                       "STOP it",     "stop it.",     "cut \xc3"};
    para_list l = make_list("stop", text, sizeof text / sizeof *text);

    (void)state;
    assert_int_equal(l.drawn, 8);
    assert_int_equal(l.n, 2);
    assert_string_equal(l.c[0].text, "play music!");
    assert_string_equal(l.c[1].text, "STOP it");
    para_list_wipe(&l);
}

/* In the plane: text at 0, limit 1. */
static void test_measure(void **state)
{
    static const char *const text[] = {"a", "b", "c", "d"};
    const float x[] = {1, 0, 0, 1.01f, -0.9f, 0, 0.5f, 0.5f}, own[] = {0, 0}, mu[] = {0.8f, 0};
    para_place place = {.text = own, .centroid = own, .noise_std = 0, .distance = 1, .dim = 2};
    para_list l = make_list("z", text, 4);
    size_t near = 0;

    (void)state;
    para_measure(&l, x, &place);
    assert_true(l.c[0].near && !l.c[1].near && l.c[2].near && l.c[3].near);
    assert_close(l.c[3].dist2, 0.5, 1e-6, 0.0);
    place.centroid = mu; /* c is 1.7 from it */
    para_measure(&l, x, &place);
    assert_true(l.c[0].near && !l.c[1].near && !l.c[2].near && l.c[3].near);
    assert_close(l.c[2].dist2, 2.89, 1e-5, 0.0);
    place.noise_std = 1; /* expected to add 2 to a squared distance: 2.89 - 2 is within 1 */
    para_measure(&l, x, &place);
    assert_true(l.c[0].near && !l.c[1].near && l.c[2].near && l.c[3].near);
    place.noise_std = 0;
    place.distance = 0.75; /* the text itself is farther than that: as far is allowed, not more */
    para_measure(&l, x, &place);
    assert_true(!l.c[0].near && !l.c[1].near && !l.c[2].near && l.c[3].near);
    place.centroid = own;
    place.distance = 2;
    para_measure(&l, x, &place); /* all; nearest: d, c, a, b */
    para_keep_near(&l, &near, 2);
    assert_int_equal(near, 4);
    assert_int_equal(l.n, 2);
    assert_string_equal(l.c[0].text, "d");
    assert_string_equal(l.c[1].text, "c");
    place.distance = 0.5;
    para_measure(&l, x + 4, &place); /* as if they stood at (-.9, 0) and (.5, .5) */
    para_keep_near(&l, &near, 2);
    assert_true(near == 0 && l.n == 0);
    para_list_wipe(&l);
}

static void test_choose(void **state)
{
    static const char *const text[] = {"one two three four", "one two three five",
                                       "one two three four!!six", "seven eight", "nine"};
    static const double dist2[] = {0.01, 0.02, 0.03, 0.2, 0.0};
    fre_paraphrases p = {.distinct = 5, .near = 5};
    para_list l = make_list("ten", text, 5);

    (void)state;
    for (size_t i = 0; i < 5; i++)
        l.c[i].dist2 = dist2[i];
    l.c[4].logp = -1000;  /* nearest, and unlikely */
    para_score(&l, 0.01); /* the floor: .02 */
    assert_close(l.c[1].score, -0.02 / (2 * 0.0004) - 1, 1e-9, 0.0);
    assert_int_equal(para_choose(&p, &l, 4), FRE_OK);
    assert_int_equal(p.n, 4);
    assert_int_equal(p.drawn, 5);
    assert_int_equal(p.distinct, 5);
    /* The third shares 8 of 9 words with the first: after those that are different. */
    assert_string_equal(p.text[0], "one two three four");
    assert_string_equal(p.text[1], "one two three five");
    assert_string_equal(p.text[2], "seven eight");
    assert_string_equal(p.text[3], "nine");
    fre_paraphrases_wipe(&p);
    para_list_wipe(&l);

    l = make_list("ten", text, 5);
    for (size_t i = 0; i < 5; i++)
        l.c[i].dist2 = dist2[i];
    para_score(&l, 1.0); /* much noise: the distances say little, the likelihood decides */
    assert_int_equal(para_choose(&p, &l, 64), FRE_OK);
    assert_int_equal(p.n, 5); /* all there are */
    assert_string_equal(p.text[0], "one two three four");
    assert_string_equal(p.text[3], "nine");
    assert_string_equal(p.text[4], "one two three four!!six");
    fre_paraphrases_wipe(&p);
    para_list_wipe(&l);
}

/* ---- the whole ------------------------------------------------------------------------------------ */

static const char *const sentence[] = {
    "what is the balance of my account", "please turn off the lights in the kitchen",
    "Can you give me the phone number?", "a Python library for parsing dates"};
#define SENTENCES (sizeof sentence / sizeof *sentence)

static fre_paraphrase_source source_of(const char *text)
{
    return (fre_paraphrase_source){.text = text, .len = strlen(text)};
}

static fre_paraphraser *make(fre_lm *model, fre_inverter *writer, uint32_t n, double distance,
                             uint64_t seed)
{
    const fre_paraphraser_opts o = {.embedder = embedder,
                                    .lm = model,
                                    .inverter = writer,
                                    .paraphrases = n,
                                    .distance = distance,
                                    .seed = seed};
    fre_paraphraser *p = NULL;
    fre_err err = {.text = ""};

    if (fre_paraphraser_new(&p, &o, &err) != FRE_OK)
        fail_msg("%s", err.text);
    return p;
}

static void vary(fre_paraphraser *p, fre_paraphrases *out, const fre_paraphrase_source *s, size_t n)
{
    fre_err err = {.text = ""};

    if (fre_paraphrase_texts(p, out, s, n, NULL, &err) != FRE_OK)
        fail_msg("%s", err.text);
}

static void wipe(fre_paraphrases *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fre_paraphrases_wipe(&p[i]);
}

static bool same(const fre_paraphrases *a, const fre_paraphrases *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->text[i], b->text[i]) != 0)
            return false;
    return true;
}

static double distance_between(const char *a, const char *b)
{
    const char *text[2] = {a, b};
    const size_t len[2] = {strlen(a), strlen(b)};
    float x[2 * DIM];
    fre_err err = {.text = ""};

    assert_int_equal(fre_embed_texts(embedder, x, text, len, 2, &err), FRE_OK);
    return sqrt(fre_dist2(x, x + DIM, DIM));
}

static void check_list(const char *text, const fre_paraphrases *p, size_t most, double distance)
{
    assert_true(p->n <= most && p->n <= p->near && p->near <= p->distinct &&
                p->distinct <= p->drawn);
    for (size_t i = 0; i < p->n; i++) {
        char *a = fold(p->text[i]), *b = fold(text);

        assert_false(para_same(a, b));
        free(b);
        for (size_t j = 0; j < i; j++) {
            b = fold(p->text[j]);
            assert_false(para_same(a, b));
            free(b);
        }
        free(a);
        assert_true(distance_between(text, p->text[i]) <= distance + 1e-4);
    }
}

static void test_by_the_inverter(void **state)
{
    fre_paraphrase_source s[SENTENCES];
    fre_paraphrases out[SENTENCES];
    fre_paraphraser *p = make(NULL, inverter, 5, 0.7, 1);
    size_t made = 0;

    (void)state;
    for (size_t i = 0; i < SENTENCES; i++)
        s[i] = source_of(sentence[i]);
    vary(p, out, s, SENTENCES);
    for (size_t i = 0; i < SENTENCES; i++) {
        check_list(sentence[i], &out[i], 5, 0.7);
        made += out[i].n;
    }
    print_message("%zu paraphrases of %zu texts\n", made, SENTENCES);
    assert_true(made >= 2 * SENTENCES);
    wipe(out, SENTENCES);
    fre_paraphraser_free(p);
}

/* A language model that answers nothing (this one was not made to) still says what reads well. */
static void test_with_a_language_model(void **state)
{
    fre_paraphrase_source s[2] = {source_of(sentence[0]), source_of(sentence[3])};
    fre_paraphrases out[2], again[2];
    fre_paraphraser *p = make(lm, inverter, 6, 0.7, 1), *plain = make(NULL, inverter, 6, 0.7, 1);

    (void)state;
    vary(p, out, s, 2);
    for (size_t i = 0; i < 2; i++) {
        check_list(s[i].text, &out[i], 6, 0.7);
        assert_true(out[i].n > 0);
    }
    vary(p, again, s + 1, 1);
    assert_true(same(&out[1], &again[0]));
    wipe(again, 1);
    vary(plain, again, s, 2);
    assert_true(out[0].drawn >= again[0].drawn);
    assert_false(same(&out[0], &again[0]) && same(&out[1], &again[1])); /* another order */
    wipe(again, 2);
    wipe(out, 2);
    fre_paraphraser_free(p);
    fre_paraphraser_free(plain);
}

/* Neither neighbours nor order matter; seed, centroid and noise do. */
static void test_repeatable(void **state)
{
    const size_t len = strlen(sentence[0]);
    fre_paraphrase_source s[3] = {source_of(sentence[0]), source_of(sentence[1]),
                                  source_of(sentence[0])};
    fre_paraphraser *p = make(NULL, inverter, 4, 0.7, 1), *other = make(NULL, inverter, 4, 0.7, 2);
    fre_paraphrases out[3], again[3];
    float mu[DIM];
    fre_err err = {.text = ""};

    (void)state;
    vary(p, out, s, 3);
    assert_true(out[0].n > 0 && same(&out[0], &out[2]));
    vary(p, again, s + 1, 2);
    assert_true(same(&out[1], &again[0]) && same(&out[0], &again[1]));
    wipe(again, 2);
    vary(other, again, s, 1);
    assert_false(same(&out[0], &again[0]));
    wipe(again, 1);

    /* A centroid at the text itself changes the draws, and nothing that is promised. */
    assert_int_equal(fre_embed_texts(embedder, mu, &sentence[0], &len, 1, &err), FRE_OK);
    s[0].centroid = mu;
    s[0].noise_std = 0.01;
    vary(p, again, s, 1);
    check_list(sentence[0], &again[0], 4, 0.7);
    wipe(again, 1);
    /* One that lies elsewhere: what is nearer to it than the text is may stay. */
    assert_int_equal(
        fre_embed_texts(embedder, mu, &sentence[3], &(size_t){strlen(sentence[3])}, 1, &err),
        FRE_OK);
    s[0].noise_std = 0;
    vary(p, again, s, 1);
    for (size_t i = 0; i < again[0].n; i++)
        assert_true(distance_between(sentence[3], again[0].text[i]) <=
                    distance_between(sentence[3], sentence[0]) + 1e-4);
    wipe(again, 1);
    wipe(out, 3);
    fre_paraphraser_free(p);
    fre_paraphraser_free(other);
}

static void test_nothing_to_vary(void **state)
{
    char *longer = malloc(FRE_PARAPHRASE_TEXT_MAX + 1);
    fre_paraphrase_source s[3] = {source_of(""), source_of("?!"), source_of("")};
    fre_paraphraser *p = make(NULL, inverter, 3, 2.0, 1), *q = make(lm, NULL, 3, 2.0, 1);
    fre_paraphrases out[3];

    (void)state;
    assert_non_null(longer);
    memset(longer, 'a', FRE_PARAPHRASE_TEXT_MAX + 1);
    s[2].text = longer;
    s[2].len = FRE_PARAPHRASE_TEXT_MAX + 1;
    vary(p, out, s, 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(out[i].n == 0 && out[i].drawn == 0);
    wipe(out, 3);
    vary(q, out, s, 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(out[i].n == 0 && out[i].drawn == 0);
    wipe(out, 3);
    vary(p, out, s, 0);
    fre_paraphraser_free(p);
    fre_paraphraser_free(q);
    free(longer);
}

static void test_refusals(void **state)
{
    const fre_paraphraser_opts good = {
        .embedder = embedder, .inverter = inverter, .paraphrases = 1};
    fre_paraphraser_opts bad[7];
    fre_paraphraser *p = NULL;
    fre_paraphrase_source s = source_of("text");
    fre_paraphrases out = {.n = 77};
    float mu[DIM] = {0};
    fre_err err = {.text = ""};

    (void)state;
    for (size_t i = 0; i < 7; i++)
        bad[i] = good;
    bad[0].embedder = NULL;
    bad[1].inverter = NULL;
    bad[2].paraphrases = 0;
    bad[3].paraphrases = FRE_PARAPHRASES_MAX + 1;
    bad[4].temperature = -1;
    bad[5].distance = (double)NAN;
    bad[6].distance = 2.1;
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(fre_paraphraser_new(&p, &bad[i], &err), i < 2 ? FRE_E_ARG : FRE_E_USAGE);
        assert_null(p);
    }
    assert_int_equal(fre_paraphraser_new(&p, &good, &err), FRE_OK);
    mu[3] = INFINITY;
    s.centroid = mu;
    assert_int_equal(fre_paraphrase_texts(p, &out, &s, 1, NULL, &err), FRE_E_DATA);
    assert_string_equal(err.text, "centroid 1 holds a NaN or an infinity");
    mu[3] = 1;
    s.noise_std = -1;
    assert_int_equal(fre_paraphrase_texts(p, &out, &s, 1, NULL, &err), FRE_E_DATA);
    assert_string_equal(err.text, "the noise of centroid 1 is negative or not finite");
    s = source_of("a\xc3");
    assert_int_equal(fre_paraphrase_texts(p, &out, &s, 1, NULL, &err), FRE_E_DATA);
    assert_string_equal(err.text, "text 1 is not valid UTF-8");
    s = source_of("text");
    fre_interrupt_set();
    assert_int_equal(fre_paraphrase_texts(p, &out, &s, 1, NULL, &err), FRE_E_INTERRUPTED);
    fre_interrupt_clear();
    assert_int_equal(out.n, 77);
    fre_paraphraser_free(p);
}

/* ---- a stream ------------------------------------------------------------------------------------- */

#define STREAMED (FRE_PARAPHRASE_BATCH + 3)

typedef struct seen {
    fre_paraphrases kept[STREAMED]; /* of each text: how many, and a copy of the first */
    size_t n, stop_at;              /* stop_at: the text, from 1 on, where the caller has enough */
    uint64_t done[4], total[4];
    size_t updates;
} seen;

static fre_status on_paraphrases(void *ctx, const fre_paraphrases *p, fre_err *err)
{
    seen *all = ctx;
    fre_paraphrases *kept = &all->kept[all->n];

    if (++all->n == all->stop_at)
        return fre_fail(err, FRE_E_IO, "enough");
    assert_true(all->n <= STREAMED);
    *kept = *p;
    kept->text = p->n > 0 ? calloc(p->n, sizeof *kept->text) : NULL;
    for (size_t i = 0; i < p->n; i++)
        kept->text[i] = strdup(p->text[i]);
    return FRE_OK;
}

static void on_progress(void *ctx, const char *phase, uint64_t done, uint64_t total)
{
    seen *all = ctx;

    assert_string_equal(phase, "paraphrase");
    assert_true(all->updates < 4);
    all->done[all->updates] = done;
    all->total[all->updates++] = total;
}

static void make_stream(fre_paraphrase_stream **s, fre_paraphraser *p, seen *all,
                        const fre_progress *progress)
{
    fre_err err = {.text = ""};

    memset(all, 0, sizeof *all);
    if (fre_paraphrase_stream_new(s, p, on_paraphrases, all, progress, &err) != FRE_OK)
        fail_msg("%s", err.text);
}

/* What is added may be overwritten at once; results come in order, over the border of a batch, the same as
 * of texts given at once, and with centroids for some. */
static void test_stream(void **state)
{
    static const size_t last = FRE_PARAPHRASE_BATCH - 1, next = FRE_PARAPHRASE_BATCH + 1;
    fre_paraphraser *p = make(NULL, inverter, 4, 0.7, 1);
    fre_paraphrase_source s[3] = {source_of(sentence[0]), source_of(sentence[1]),
                                  source_of(sentence[0])};
    fre_paraphrases whole[3];
    fre_paraphrase_stream *stream = NULL;
    fre_paraphrase_summary sum;
    seen all;
    const fre_progress progress = {.update = on_progress, .ctx = &all};
    float mu[DIM], row[DIM];
    char text[64];
    fre_err err = {.text = ""};

    (void)state;
    assert_int_equal(fre_embed_texts(embedder, mu, &sentence[0], &s[0].len, 1, &err), FRE_OK);
    s[2].centroid = mu;
    s[2].noise_std = 0.01;
    vary(p, whole, s, 3);
    make_stream(&stream, p, &all, &progress);
    fre_paraphrase_stream_expect(stream, 77);
    for (size_t i = 0; i < STREAMED; i++) {
        fre_paraphrase_source one = i == last       ? s[1]
                                    : i == next     ? s[2]
                                    : i == next + 1 ? s[0]
                                                    : source_of(i % 2 ? "" : "?!");

        memcpy(text, one.text, one.len);
        one.text = text;
        if (one.centroid)
            one.centroid = memcpy(row, one.centroid, sizeof row);
        assert_int_equal(fre_paraphrase_stream_add(stream, &one, &err), FRE_OK);
        memset(text, 'x', sizeof text);
        memset(row, 0, sizeof row);
        assert_int_equal(all.n, i < last ? 0 : FRE_PARAPHRASE_BATCH);
    }
    fre_paraphrase_stream_expect(stream, STREAMED);
    assert_int_equal(fre_paraphrase_stream_flush(stream, &err), FRE_OK);
    assert_int_equal(fre_paraphrase_stream_flush(stream, &err), FRE_OK);
    assert_int_equal(all.n, STREAMED);
    assert_true(whole[0].n > 0 && whole[1].n > 0 && whole[2].n > 0);
    assert_false(same(&whole[0], &whole[2]));
    assert_true(same(&all.kept[last], &whole[1]) && same(&all.kept[next], &whole[2]) &&
                same(&all.kept[next + 1], &whole[0]));
    assert_int_equal(all.updates, 2);
    assert_true(all.done[0] == FRE_PARAPHRASE_BATCH && all.total[0] == 77);
    assert_true(all.done[1] == STREAMED && all.total[1] == STREAMED);
    fre_paraphrase_stream_summary(stream, &sum);
    assert_true(sum.texts == STREAMED && sum.without == STREAMED - 3 && sum.too_long == 0);
    assert_int_equal(sum.paraphrases, whole[0].n + whole[1].n + whole[2].n);
    assert_int_equal(sum.drawn, whole[0].drawn + whole[1].drawn + whole[2].drawn);
    assert_int_equal(sum.distinct, whole[0].distinct + whole[1].distinct + whole[2].distinct);
    assert_int_equal(sum.near, whole[0].near + whole[1].near + whole[2].near);
    fre_paraphrase_stream_free(stream);
    wipe(all.kept, STREAMED);
    wipe(whole, 3);
    fre_paraphraser_free(p);
}

/* A text that is refused is named by its place and left out; the caller's own failure ends a batch. */
static void test_stream_refusals(void **state)
{
    static char longer[FRE_PARAPHRASE_TEXT_MAX + 1];
    fre_paraphraser *p = make(NULL, inverter, 1, 0.7, 1);
    fre_paraphrase_source s = source_of("?!"), broken = source_of("a\xc3"), nan = source_of("?!");
    fre_paraphrase_source huge = {.text = "", .len = ((size_t)64 << 20) + 1};
    fre_paraphrase_stream *stream = NULL;
    fre_paraphrase_summary sum;
    float mu[DIM] = {(float)NAN};
    seen all;
    fre_err err = {.text = ""};

    (void)state;
    nan.centroid = mu;
    make_stream(&stream, p, &all, NULL);
    for (size_t i = 0; i < FRE_PARAPHRASE_BATCH + 1; i++)
        assert_int_equal(fre_paraphrase_stream_add(stream, &s, &err), FRE_OK);
    assert_int_equal(fre_paraphrase_stream_add(stream, &broken, &err), FRE_E_DATA);
    assert_string_equal(err.text, "text 34 is not valid UTF-8");
    assert_int_equal(fre_paraphrase_stream_add(stream, &nan, &err), FRE_E_DATA);
    assert_string_equal(err.text, "centroid 34 holds a NaN or an infinity");
    assert_int_equal(fre_paraphrase_stream_add(stream, &huge, &err), FRE_E_LIMIT);
    memset(longer, 'a', sizeof longer);
    s = (fre_paraphrase_source){.text = longer, .len = sizeof longer};
    assert_int_equal(fre_paraphrase_stream_add(stream, &s, &err), FRE_OK);
    assert_int_equal(fre_paraphrase_stream_flush(stream, &err), FRE_OK);
    assert_int_equal(all.n, FRE_PARAPHRASE_BATCH + 2);
    fre_paraphrase_stream_summary(stream, &sum);
    assert_true(sum.texts == all.n && sum.without == all.n && sum.too_long == 1);

    all.stop_at = all.n + 1;
    s = source_of("?!");
    assert_int_equal(fre_paraphrase_stream_add(stream, &s, &err), FRE_OK);
    assert_int_equal(fre_paraphrase_stream_add(stream, &s, &err), FRE_OK);
    assert_int_equal(fre_paraphrase_stream_flush(stream, &err), FRE_E_IO);
    assert_string_equal(err.text, "enough");
    assert_int_equal(all.n, all.stop_at);
    assert_int_equal(fre_paraphrase_stream_add(stream, &s, &err), FRE_OK);
    fre_interrupt_set();
    assert_int_equal(fre_paraphrase_stream_flush(stream, &err), FRE_E_INTERRUPTED);
    fre_interrupt_clear();
    assert_int_equal(fre_paraphrase_stream_flush(stream, &err), FRE_OK);
    assert_int_equal(all.n, all.stop_at);
    fre_paraphrase_stream_free(stream);
    fre_paraphraser_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fold),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_teller),
        cmocka_unit_test(test_prompt),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_measure),
        cmocka_unit_test(test_choose),
        cmocka_unit_test(test_by_the_inverter),
        cmocka_unit_test(test_with_a_language_model),
        cmocka_unit_test(test_repeatable),
        cmocka_unit_test(test_nothing_to_vary),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_stream_refusals),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
