/* The promises of fre/invert.h: the projector's numbers, results that depend on the row, its
 * noise and the seed alone, texts near their centroid, clear refusals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <cmocka.h>

#include <fre/invert.h>
#include <fre/linalg.h>

#include "assert_num.h"
#include "embed_sentences.h"
#include "invert_private.h"
#include "temp_dir.h"
#include "tiny_gguf.h"

#define MODELS FRE_SOURCE_DIR "/models/"
#define DECODER MODELS FRE_INVERTER_DEFAULT
#define PROJECTOR MODELS FRE_INVERTER_PROJECTOR
#define EMBEDDER MODELS FRE_EMBEDDER_DEFAULT
#define PRIOR MODELS "all-minilm-l6-v2.prior.gguf"
#define DIM 384u
#define PREFIX 2560u /* rows x width of the bundled inverter */

static const char *const sentence[] = {
    "I have found 3 restaurants for you.",
    "No, that was all I needed, thank you.",
    "Can you give me the phone number?",
    "What city would you like to check the weather?",
    "I will now start the music.",
    "a Python library for parsing dates",
    "I don't believe we have enough time.",
    "set an alarm for seven in the morning",
    "what is the capital of France",
    "I want to book a table for two at an Italian restaurant",
    "Is there anything else I can help you with?",
    "play some jazz music",
    "a small dog runs on the beach",
    "Your reservation has been confirmed.",
    "please turn off the lights in the kitchen",
    "do you like to read books",
    "How much does the ticket cost?",
    "transfer money from my savings account",
    "She bought a new car last week.",
    "Simple command line tool for managing files",
};
#define SENTENCES (sizeof sentence / sizeof *sentence)

static fre_embedder *embedder;
static float target[SENTENCES * DIM];

static int setup(void **state)
{
    (void)state;
    embedder = embed_sentences(target, EMBEDDER, sentence, SENTENCES);
    return embedder ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    fre_embedder_free(embedder);
    return 0;
}

/* Fewer draws and rounds than the default: a test shows that it works, not how well it can. */
static fre_inverter *make(uint32_t threads, uint32_t samples, uint32_t rounds, uint64_t seed)
{
    fre_inverter_opts opts = {
        .path = DECODER, .threads = threads, .samples = samples, .seed = seed};
    fre_inverter *v = NULL;
    fre_err err = {.text = ""};

    if (fre_inverter_new(&v, embedder, &opts, &err) != FRE_OK)
        fail_msg("%s", err.text);
    v->tuning.rounds = rounds;
    v->tuning.edits = 16;
    return v;
}

static void invert(fre_inverter *v, fre_inversion *out, const float *mu, const double *std,
                   size_t n)
{
    fre_err err = {.text = ""};

    if (fre_invert(v, out, mu, std, n, NULL, &err) != FRE_OK)
        fail_msg("%s", err.text);
}

static void wipe(fre_inversion *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fre_inversion_wipe(&v[i]);
}

static void test_projector(void **state)
{
    FILE *f = fopen(FRE_SOURCE_DIR "/tests/vectors/invert.txt", "r");
    inv_projector p = {0};
    fre_prior *prior = NULL;
    fre_err err = {.text = ""};
    float mu[DIM], out[PREFIX];
    char line[256];
    int seen = 0;

    (void)state;
    assert_non_null(f);
    for (size_t i = 0; i < DIM; i++)
        mu[i] = (float)(sin((double)i + 1.0) / 15.0);
    if (inv_projector_open(&p, PROJECTOR, &err) != FRE_OK ||
        fre_prior_open(&prior, PRIOR, &err) != FRE_OK)
        fail_msg("%s", err.text);
    p.prior = prior;
    assert_int_equal(p.dim, DIM);
    assert_int_equal(p.rows * p.width, PREFIX);
    while (fgets(line, sizeof line, f)) {
        double std, value;
        unsigned at;

        if (sscanf(line, "%lf %u %lf", &std, &at, &value) != 3)
            continue;
        assert_true(at < PREFIX);
        assert_int_equal(inv_projector_run(&p, out, mu, std), FRE_OK);
        assert_close((double)out[at], value, 1e-5, 1e-5);
        seen++;
    }
    assert_int_equal(seen, 87);
    (void)fclose(f);
    fre_prior_free(prior);
    inv_projector_wipe(&p);
}

static void set_plan(inv_plan *p, const fre_model *m, const char *text)
{
    size_t n = INV_TOKENS;

    memset(p, 0, sizeof *p);
    assert_int_equal(fre_model_tokenize(m, p->head, &n, text, strlen(text), false), FRE_OK);
    assert_true(n <= INV_TOKENS);
    p->n_head = (uint32_t)n;
}

/* log p of a given text, one sequence, without shared rows. */
static double plain_logp(const fre_inverter *v, const float *prefix, const inv_plan *p)
{
    const uint32_t vocab = fre_model_info_view(v->decoder)->vocab;
    float *logit = malloc(vocab * sizeof *logit);
    fre_model_ctx *c = NULL;
    fre_err err = {.text = ""};
    int32_t id = fre_model_bos(v->decoder);
    const uint32_t zero = 0;
    double sum = 0;

    assert_non_null(logit);
    assert_int_equal(fre_model_ctx_new(&c, v->decoder, 64, 1, &err), FRE_OK);
    assert_int_equal(fre_model_prefix(c, prefix, v->projector.rows, 1, &err), FRE_OK);
    for (uint32_t i = 0; i <= p->n_head; i++) {
        double total = 0;

        assert_int_equal(fre_model_step(c, logit, &id, &zero, 1, v->projector.rows + i, &err),
                         FRE_OK);
        id = i < p->n_head ? p->head[i] : v->drawer[0].end;
        for (uint32_t j = 0; j < vocab; j++)
            total += exp((double)logit[j]);
        sum += (double)logit[id] - log(total);
    }
    fre_model_ctx_free(c);
    free(logit);
    return sum;
}

/* Texts with a common beginning, side by side, have the likelihoods that each has alone. */
static void test_shared_rows(void **state)
{
    static const char *const text[] = {"No, that was all I needed, thank you.", "No, that was all",
                                       "No, that is fine", "Yes"};
    fre_inverter *v = make(1, 1, 0, 1);
    float *prefix = malloc(PREFIX * sizeof *prefix);
    inv_plan plan[4];
    inv_draw draw[4];
    fre_rng rng;
    fre_err err = {.text = ""};

    (void)state;
    assert_non_null(prefix);
    memset(&rng, 0, sizeof rng);
    assert_int_equal(inv_projector_run(&v->projector, prefix, target + DIM, 0.0), FRE_OK);
    for (int i = 0; i < 4; i++)
        set_plan(&plan[i], v->decoder, text[i]);
    assert_int_equal(inv_drawer_run(&v->drawer[0], draw, plan, 4, prefix, 0.8, &rng, &err), FRE_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(draw[i].n, plan[i].n_head);
        assert_memory_equal(draw[i].ids, plan[i].head, draw[i].n * sizeof *draw[i].ids);
        assert_close(draw[i].logp, plain_logp(v, prefix, &plan[i]), 0.3, 0.02);
    }
    assert_true(draw[0].logp > draw[3].logp); /* row 1 is the embedding of the first */
    free(prefix);
    fre_inverter_free(v);
}

/* A plan with a tail: exactly n_free tokens between what is given. */
static void test_plan_with_tail(void **state)
{
    fre_inverter *v = make(1, 1, 0, 1);
    float *prefix = malloc(PREFIX * sizeof *prefix);
    inv_plan plan[3];
    inv_draw draw[3];
    fre_rng rng;
    fre_err err = {.text = ""};
    const uint8_t seed[FRE_SEED_BYTES] = {7};

    (void)state;
    assert_non_null(prefix);
    assert_int_equal(fre_rng_init_seeded(&rng, seed, "test"), FRE_OK);
    assert_int_equal(inv_projector_run(&v->projector, prefix, target, 0.0), FRE_OK);
    for (uint32_t i = 0; i < 3; i++) {
        set_plan(&plan[i], v->decoder, "No, that was all");
        plan[i].n_free = i;
        plan[i].n_tail = 2;
        memcpy(plan[i].tail, plan[i].head + 1, 2 * sizeof *plan[i].tail);
    }
    assert_int_equal(inv_drawer_run(&v->drawer[0], draw, plan, 3, prefix, 0.8, &rng, &err), FRE_OK);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(draw[i].n, plan[i].n_head + i + 2);
        assert_memory_equal(draw[i].ids, plan[i].head, plan[i].n_head * sizeof(int32_t));
        assert_memory_equal(draw[i].ids + plan[i].n_head + i, plan[i].tail, 2 * sizeof(int32_t));
        for (uint32_t j = 0; j < draw[i].n; j++)
            assert_false(fre_model_is_end(v->decoder, draw[i].ids[j]));
    }
    fre_rng_wipe(&rng);
    free(prefix);
    fre_inverter_free(v);
}

static void add(inv_pool *p, const fre_model *m, const char *text)
{
    inv_draw d = {.logp = -1.0};
    size_t n = INV_TOKENS;

    assert_int_equal(fre_model_tokenize(m, d.ids, &n, text, strlen(text), false), FRE_OK);
    d.n = (uint32_t)n;
    assert_int_equal(inv_pool_add(p, m, &d), FRE_OK);
}

static void test_pool(void **state)
{
    fre_inverter *v = make(1, 1, 0, 1);
    inv_pool p;
    inv_trace trace = {.rounds = 0};
    float mu[2] = {1.0F, 0.0F};
    const float x[6] = {0.0F, 1.0F, 1.0F, 0.0F, 0.6F, 0.8F};

    (void)state;
    inv_pool_init(&p, 2, NULL, NULL);
    add(&p, v->decoder, "  two   spaces\tand a\nline ");
    add(&p, v->decoder, "Two spaces and a line"); /* known, but for case */
    add(&p, v->decoder, " \n ");
    add(&p, v->decoder, "second");
    add(&p, v->decoder, "third");
    assert_int_equal(p.n, 3);
    assert_string_equal(p.cand[0].text, "two spaces and a line");
    memcpy(p.embedding, x, sizeof x);
    assert_int_equal(inv_pool_score(&p, mu, 0.5, &v->tuning, &trace), FRE_OK);
    assert_string_equal(p.cand[0].text, "second"); /* distance 0 */
    assert_string_equal(p.cand[1].text, "third");
    assert_close((double)p.embedding[2], 0.6, 1e-6, 0);
    assert_close(p.cand[1].dist2, 0.8, 1e-6, 0);
    assert_close(p.cand[1].score, -0.8 / (2 * 0.25) - v->tuning.logp_weight, 1e-5, 0);
    inv_pool_wipe(&p);
    fre_inverter_free(v);
}

/* An emoji is an unknown token to the embedder, and any other would be as near: one of them is a candidate,
 * and what is told of it is the rest. */
static void test_pool_unknown(void **state)
{
    static const char *const text[] = {"\U0001F680 thanks",
                                       "\U0001F44D thanks",
                                       "thanks \U0001F44D",
                                       "\U0001F44D",
                                       "\u200b",
                                       "thanks",
                                       "\U0001F44D, thanks \U0001F680!",
                                       "\U0001F44D?",
                                       "na\u00efve caf\u00e9, is it?!",
                                       "\U00013080abc go"};
    static const char *const told[] = {"thanks", "thanks", NULL, "thanks!", NULL, "go"};
    const size_t n = sizeof text / sizeof *text;
    inv_pool p;
    bool takes;

    (void)state;
    inv_pool_init(&p, 2, embedder, NULL);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(inv_pool_add_text(&p, text[i], strlen(text[i]), INV_NEAR, -1), FRE_OK);
    assert_int_equal(p.n, sizeof told / sizeof *told);
    assert_int_equal(p.refused, 3); /* of two signs one is a sign with a mark */
    for (size_t i = 0; i < p.n; i++)
        if (told[i])
            assert_string_equal(p.cand[i].told, told[i]);
        else
            assert_null(p.cand[i].told);
    assert_string_equal(p.cand[0].text, text[0]);
    assert_string_equal(p.cand[2].text, "thanks");
    assert_int_equal(inv_pool_accepts(&p, &takes, "Thanks", 6), FRE_OK);
    assert_false(takes); /* it is there */
    assert_int_equal(inv_pool_accepts(&p, &takes, "thank you", 9), FRE_OK);
    assert_true(takes);
    inv_pool_wipe(&p);
}

static void assert_same(const fre_inversion *a, const fre_inversion *b)
{
    assert_string_equal(a->text, b->text);
    assert_memory_equal(&a->score, &b->score, sizeof a->score);
    assert_memory_equal(&a->distance, &b->distance, sizeof a->distance);
}

/* Threads, order and neighbours do not matter; the seed does. */
static void test_determinism(void **state)
{
    enum { N = 4 };
    const double std[N] = {0.0, 0.02, 0.0, 0.03};
    double back[N];
    float reversed[N * DIM], between[N * DIM];
    fre_inversion a[N], b[N], c[1];
    fre_inverter *one = make(1, 8, 2, 42), *two = make(2, 8, 2, 42), *other = make(2, 8, 2, 43);
    int changed = 0;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        memcpy(reversed + (N - 1 - i) * DIM, target + (i + 8) * DIM, DIM * sizeof *reversed);
        back[N - 1 - i] = std[i];
    }
    invert(one, a, target + 8 * DIM, std, N);
    invert(two, b, reversed, back, N);
    invert(two, c, target + 10 * DIM, std + 2, 1);
    for (size_t i = 0; i < N; i++)
        assert_same(&a[i], &b[N - 1 - i]);
    assert_same(&a[2], &c[0]);
    wipe(a, N);
    wipe(b, N);
    /* Half-way between two texts no text lies, so the draws decide what is found. */
    for (size_t i = 0; i < N * DIM; i++)
        between[i] = (target[8 * DIM + i] + target[4 * DIM + i]) / 2;
    invert(one, a, between, std, N);
    invert(other, b, between, std, N);
    for (size_t i = 0; i < N; i++)
        changed += memcmp(&a[i].score, &b[i].score, sizeof a[i].score) != 0;
    assert_true(changed > 0);
    wipe(a, N);
    wipe(b, N);
    wipe(c, 1);
    fre_inverter_free(one);
    fre_inverter_free(two);
    fre_inverter_free(other);
}

/* A floor well below what the card reports for 32 samples: F1 and distance of a broken prefix,
 * of wrong positions or of a wrong score are far from it. */
static void test_quality(void **state)
{
    double std[SENTENCES] = {0}, mean = 0, farthest = 0;
    fre_inversion out[SENTENCES];
    fre_inverter *v = make(2, 24, 1, 1);
    int exact = 0;

    (void)state;
    invert(v, out, target, std, SENTENCES);
    for (size_t i = 0; i < SENTENCES; i++) {
        mean += out[i].distance / SENTENCES;
        farthest = fmax(farthest, out[i].distance);
        exact += strcasecmp(out[i].text, sentence[i]) == 0;
        assert_close(out[i].similarity, 1 - out[i].distance * out[i].distance / 2, 1e-4, 0);
    }
    print_message("mean distance %.3f, farthest %.3f, exact %d of %zu\n", mean, farthest, exact,
                  SENTENCES);
    assert_true(mean < 0.20);
    assert_true(farthest < 0.8);
    assert_true(exact >= 10);
    wipe(out, SENTENCES);
    fre_inverter_free(v);
}

static void refuse_rows(fre_inverter *v, const float *mu, const double *std, const char *message)
{
    fre_inversion out[3];
    fre_inversion before[3];
    fre_err err = {.text = ""};

    memset(out, 0x5a, sizeof out);
    memcpy(before, out, sizeof out);
    assert_int_equal(fre_invert(v, out, mu, std, 3, NULL, &err), FRE_E_DATA);
    assert_string_equal(err.text, message);
    assert_memory_equal(out, before, sizeof out);
}

/* A row of zeros has no text, and the others are what they are without it. */
static void test_blank_rows(void **state)
{
    const double std[3] = {0, 0, 0};
    fre_inverter *v = make(1, 1, 0, 1);
    float *mu = calloc(3 * DIM, sizeof *mu);
    fre_inversion out[3], apart[3], alone;
    fre_err err = {.text = ""};

    (void)state;
    assert_non_null(mu);
    memcpy(mu + DIM, target, DIM * sizeof *mu);
    assert_int_equal(fre_invert(v, out, mu, std, 3, NULL, &err), FRE_OK);
    assert_int_equal(fre_invert_apart(v, apart, mu, std, 3, NULL, &err), FRE_OK);
    assert_int_equal(fre_invert(v, &alone, target, std, 1, NULL, &err), FRE_OK);
    for (size_t i = 0; i < 3; i += 2) {
        assert_null(out[i].text);
        assert_null(apart[i].text);
        assert_string_equal(out[i].unreadable, FRE_UNREADABLE_BLANK);
        assert_string_equal(apart[i].unreadable, FRE_UNREADABLE_BLANK);
        assert_true(isnan(out[i].similarity) && isnan(out[i].distance));
    }
    assert_string_equal(out[1].text, alone.text);
    assert_string_equal(apart[1].text, alone.text);
    assert_null(out[1].unreadable);
    wipe(out, 3);
    wipe(apart, 3);
    wipe(&alone, 1);
    free(mu);
    fre_inverter_free(v);
}

static void test_bad_rows(void **state)
{
    fre_inverter *v = make(1, 1, 0, 1);
    float *mu = malloc(3 * DIM * sizeof *mu);
    double std[3] = {0, 0, 0};

    (void)state;
    assert_non_null(mu);
    memcpy(mu, target, 3 * DIM * sizeof *mu);
    mu[2 * DIM + 5] = NAN;
    refuse_rows(v, mu, std,
                "row 3 holds a NaN or an infinity; an embedding is made of finite "
                "numbers");
    mu[2 * DIM + 5] = 0;
    mu[DIM] = INFINITY;
    refuse_rows(v, mu, std,
                "row 2 holds a NaN or an infinity; an embedding is made of finite "
                "numbers");
    mu[DIM] = 0;
    std[1] = -0.1;
    refuse_rows(v, mu, std,
                "the noise of row 2 is negative or not finite; give its standard "
                "deviation a coordinate, 0 for none");
    std[1] = NAN;
    refuse_rows(v, mu, std,
                "the noise of row 2 is negative or not finite; give its standard "
                "deviation a coordinate, 0 for none");
    std[1] = 0;
    {
        fre_inversion none;
        fre_err err = {.text = ""};

        assert_int_equal(fre_invert(v, &none, mu, std, 0, NULL, &err), FRE_OK);
    }
    free(mu);
    fre_inverter_free(v);
}

static void refuse_model(fre_embedder *e, const char *path, fre_status want, const char *part)
{
    fre_inverter_opts opts = {.path = path, .threads = 1};
    fre_inverter *v = NULL;
    fre_err err = {.text = ""};

    assert_int_equal(fre_inverter_new(&v, e, &opts, &err), want);
    assert_null(v);
    if (!strstr(err.text, part))
        fail_msg("\"%s\" lacks \"%s\"", err.text, part);
}

static void test_bad_models(void **state)
{
    temp_dir t;
    char decoder[512], projector[512], tiny_path[512];
    tiny_shape shape = tiny_default();
    fre_embedder *small = NULL;
    fre_embedder_opts opts = {.threads = 1};
    fre_err err = {.text = ""};

    (void)state;
    temp_dir_make(&t);
    opts.path = temp_path(tiny_path, &t, "tiny.gguf");
    tiny_file(tiny_path, &shape);
    assert_int_equal(fre_embedder_new(&small, &opts, &err), FRE_OK);
    refuse_model(small, DECODER, FRE_E_MODEL,
                 "the inverter was made for embeddings of 384 dimensions and the embedder gives 64;"
                 " use the embedder it was made for");
    fre_embedder_free(small);

    /* The right size is not enough. */
    shape.dim = 384;
    tiny_file(tiny_path, &shape);
    small = NULL;
    assert_int_equal(fre_embedder_new(&small, &opts, &err), FRE_OK);
    refuse_model(small, DECODER, FRE_E_MODEL,
                 "this inverter reads embeddings denoised by the prior it was trained with");
    fre_embedder_free(small);

    refuse_model(embedder, temp_path(decoder, &t, "decoder.gguf"), FRE_E_NOINPUT, "decoder.gguf");
    assert_int_equal(symlink(DECODER, decoder), 0);
    refuse_model(embedder, decoder, FRE_E_NOINPUT, FRE_INVERTER_PROJECTOR);
    temp_path(projector, &t, FRE_INVERTER_PROJECTOR);
    assert_int_equal(symlink(DECODER, projector), 0);
    refuse_model(embedder, decoder, FRE_E_MODEL, "fre-e2t-projector");
    refuse_model(embedder, EMBEDDER, FRE_E_MODEL, "");
    assert_int_equal(unlink(projector), 0);
    write_file(projector, "GGUF", 4);
    refuse_model(embedder, decoder, FRE_E_MODEL, "");
    temp_dir_remove(&t);
}

static void test_options(void **state)
{
    static const fre_inverter_opts bad[] = {
        {.path = DECODER, .threads = 0},
        {.path = DECODER, .threads = 1, .samples = 513},
        {.path = DECODER, .threads = 1, .temperature = -1},
        {.path = DECODER, .threads = 1, .temperature = 10.5},
        {.path = DECODER, .threads = 1, .temperature = (double)NAN},
    };
    fre_inverter *v = NULL;
    fre_err err = {.text = ""};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(fre_inverter_new(&v, embedder, &bad[i], &err), FRE_E_USAGE);
        assert_null(v);
    }
    v = make(1, 0, 0, 1);
    assert_int_equal(v->tuning.samples, inv_tuning_of(0, false).samples);
    {
        uint8_t sum[FRE_HASH_BYTES];

        assert_int_equal(fre_sha256_file(sum, DECODER, &err), FRE_OK);
        assert_memory_equal(fre_inverter_parts_of(v).decoder, sum, sizeof sum);
        assert_int_equal(fre_sha256_file(sum, PROJECTOR, &err), FRE_OK);
        assert_memory_equal(fre_inverter_parts_of(v).projector, sum, sizeof sum);
    }
    fre_inverter_free(v);
}

static void test_interrupt(void **state)
{
    fre_inverter *v = make(2, 8, 1, 1);
    const double std[2] = {0, 0};
    fre_inversion out[2];
    fre_err err = {.text = ""};

    (void)state;
    fre_interrupt_set();
    assert_int_equal(fre_invert(v, out, target, std, 2, NULL, &err), FRE_E_INTERRUPTED);
    fre_interrupt_clear();
    invert(v, out, target, std, 2); /* still usable */
    wipe(out, 2);
    fre_inverter_free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_projector),      cmocka_unit_test(test_shared_rows),
        cmocka_unit_test(test_plan_with_tail), cmocka_unit_test(test_pool),
        cmocka_unit_test(test_determinism),    cmocka_unit_test(test_quality),
        cmocka_unit_test(test_pool_unknown),   cmocka_unit_test(test_blank_rows),
        cmocka_unit_test(test_bad_rows),       cmocka_unit_test(test_bad_models),
        cmocka_unit_test(test_options),        cmocka_unit_test(test_interrupt),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
