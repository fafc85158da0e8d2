/* Projectors of other kinds than the bundled one: denoised input, a corrector, parts that do not
 * belong together; and the verification. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <fre/invert.h>
#include <fre/linalg.h>

#include "assert_num.h"
#include "invert_private.h"
#include "temp_dir.h"
#include "tiny_gguf.h"

#define MODELS FRE_SOURCE_DIR "/models/"
#define DECODER MODELS FRE_INVERTER_DEFAULT
#define PROJECTOR MODELS FRE_INVERTER_PROJECTOR
#define EMBEDDER MODELS FRE_EMBEDDER_DEFAULT
#define DIM 384u
#define WIDTH 320u          /* of the bundled decoder */
#define PREFIX (8u * WIDTH) /* what the bundled projector makes */
#define KEY(name) INV_PROJECTOR_ARCHITECTURE "." name
#define HIDDEN 24u /* of the test's corrector */
#define EXTRA 4u   /* its rows */

static fre_embedder *embedder;
static temp_dir folder;
static char decoder[512], projector[512], prior_path[512];
static char decoder_hash[65], prior_hash[65];
static float *corrector[5];

static double noise(size_t i) /* a fixed sequence in -1..1 */
{
    return sin((double)i * 12.9898 + 4.0) * cos((double)i * 0.7);
}

static void hash_file(char out[65], const char *path)
{
    uint8_t sum[FRE_HASH_BYTES];
    fre_err err = {.text = ""};

    assert_int_equal(fre_sha256_file(sum, path, &err), FRE_OK);
    fre_hex(out, sum, sizeof sum);
}

/* A prior of made-up embeddings around the first axis. */
static void write_prior(void)
{
    const size_t n = FRE_PRIOR_ROWS_MIN(DIM);
    float *x = malloc(n * DIM * sizeof *x);
    fre_prior_sums *s = NULL;
    fre_prior *p = NULL;
    fre_err err = {.text = ""};
    FILE *f = fopen(prior_path, "wb");

    assert_non_null(x);
    assert_non_null(f);
    for (size_t i = 0; i < n * DIM; i++)
        x[i] = (float)(noise(i) / 15.0) + (i % DIM == 0 ? 0.2F : 0.0F);
    assert_int_equal(fre_prior_sums_new(&s, DIM, 2), FRE_OK);
    assert_int_equal(fre_prior_sums_add(s, x, n), FRE_OK);
    assert_int_equal(fre_prior_make(&p, s, fre_embedder_info(embedder), "a test", &err), FRE_OK);
    assert_int_equal(fre_prior_write(p, f, &err), FRE_OK);
    assert_int_equal(fclose(f), 0);
    fre_prior_free(p);
    fre_prior_sums_free(s);
    free(x);
}

static void make_corrector(uint32_t out)
{
    const size_t in = 2 * DIM + 1, size[] = {out * in, HIDDEN * in, HIDDEN, out * HIDDEN, out};
    const double scale[] = {0.02, 0.02, 0.1, 0.1, 0.1};

    for (size_t t = 0; t < 5; t++) {
        corrector[t] = malloc(size[t] * sizeof **corrector);
        assert_non_null(corrector[t]);
        for (size_t i = 0; i < size[t]; i++)
            corrector[t][i] = (float)(scale[t] * noise(i + 7919 * t));
    }
}

typedef struct kind {
    const char *input, *decoder_hash, *prior_hash; /* NULL: no such key */
    uint32_t corrector_rows;                       /* 0: none */
} kind;

/* The bundled projector's tensors under other keys. */
static void write_projector(kind k)
{
    static const char *const name[] = {"w0.weight", "w1.weight", "w1.bias", "w2.weight", "w2.bias",
                                       "c0.weight", "c1.weight", "c1.bias", "c2.weight", "c2.bias"};
    const uint32_t hidden = 1536, out = PREFIX, in = DIM + 1, extra = EXTRA * WIDTH,
                   wide = 2 * DIM + 1;
    fre_tensors_entry entry[10] = {{.rows = out, .cols = in},       {.rows = hidden, .cols = in},
                                   {.rows = 1, .cols = hidden},     {.rows = out, .cols = hidden},
                                   {.rows = 1, .cols = out},        {.rows = extra, .cols = wide},
                                   {.rows = HIDDEN, .cols = wide},  {.rows = 1, .cols = HIDDEN},
                                   {.rows = extra, .cols = HIDDEN}, {.rows = 1, .cols = extra}};
    fre_tensors_pair pair[10] = {{.key = KEY("input_embedding_length"), .number = DIM},
                                 {.key = KEY("prefix_length"), .number = 8},
                                 {.key = KEY("embedding_length"), .number = WIDTH},
                                 {.key = KEY("hidden_length"), .number = hidden},
                                 {.key = KEY("embedding_model"), .text = "all-MiniLM-L6-v2"}};
    size_t n = 5;
    fre_tensors *t = NULL;
    fre_err err = {.text = ""};
    FILE *f = fopen(projector, "wb");

    assert_non_null(f);
    if (k.input)
        pair[n++] = (fre_tensors_pair){.key = KEY("input"), .text = k.input};
    if (k.decoder_hash)
        pair[n++] = (fre_tensors_pair){.key = KEY("decoder_sha256"), .text = k.decoder_hash};
    if (k.prior_hash)
        pair[n++] = (fre_tensors_pair){.key = KEY("prior_sha256"), .text = k.prior_hash};
    if (k.corrector_rows) {
        pair[n++] =
            (fre_tensors_pair){.key = KEY("corrector_prefix_length"), .number = k.corrector_rows};
        pair[n++] = (fre_tensors_pair){.key = KEY("corrector_hidden_length"), .number = HIDDEN};
    }
    assert_int_equal(fre_tensors_open(&t, PROJECTOR, INV_PROJECTOR_ARCHITECTURE, &err), FRE_OK);
    for (size_t i = 0; i < 10; i++) {
        const float *value = i >= 5 ? corrector[i - 5] : NULL;

        if (i < 5)
            assert_int_equal(
                fre_tensors_get(t, &value, name[i], entry[i].rows, entry[i].cols, &err), FRE_OK);
        entry[i].name = name[i];
        entry[i].value = value;
    }
    assert_int_equal(fre_tensors_write(f, INV_PROJECTOR_ARCHITECTURE, pair, n, entry,
                                       k.corrector_rows ? 10 : 5, &err),
                     FRE_OK);
    assert_int_equal(fclose(f), 0);
    fre_tensors_free(t);
}

static int setup(void **state)
{
    fre_embedder_opts opts = {.path = EMBEDDER, .threads = 2};
    fre_err err = {.text = ""};

    (void)state;
    if (fre_embedder_new(&embedder, &opts, &err) != FRE_OK) {
        print_error("%s\n", err.text);
        return -1;
    }
    temp_dir_make(&folder);
    temp_path(decoder, &folder, "decoder.gguf");
    temp_path(projector, &folder, FRE_INVERTER_PROJECTOR);
    temp_path(prior_path, &folder, "made.prior.gguf");
    if (symlink(DECODER, decoder) != 0)
        return -1;
    write_prior();
    make_corrector(EXTRA * WIDTH);
    hash_file(decoder_hash, DECODER);
    hash_file(prior_hash, prior_path);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (size_t t = 0; t < 5; t++)
        free(corrector[t]);
    fre_embedder_free(embedder);
    temp_dir_remove(&folder);
    return 0;
}

static fre_inverter *open_with(const char *prior, uint32_t threads)
{
    fre_inverter_opts opts = {
        .path = decoder, .threads = threads, .samples = 8, .seed = 4, .search = {.prior = prior}};
    fre_inverter *v = NULL;
    fre_err err = {.text = ""};

    if (fre_inverter_new(&v, embedder, &opts, &err) != FRE_OK)
        fail_msg("%s", err.text);
    v->tuning.rounds = 2;
    v->tuning.edits = 12;
    v->tuning.correct_rounds = 1;
    v->tuning.correct_parents = 3;
    return v;
}

static void refuse(const char *prior, const char *part)
{
    fre_inverter_opts opts = {.path = decoder, .threads = 1, .search = {.prior = prior}};
    fre_inverter *v = NULL;
    fre_err err = {.text = ""};

    assert_int_equal(fre_inverter_new(&v, embedder, &opts, &err), FRE_E_MODEL);
    assert_null(v);
    if (!strstr(err.text, part))
        fail_msg("\"%s\" lacks \"%s\"", err.text, part);
}

static void embed_one(float x[DIM], const char *text)
{
    const size_t len = strlen(text);
    fre_err err = {.text = ""};

    assert_int_equal(fre_embed_texts(embedder, x, &text, &len, 1, &err), FRE_OK);
}

static void parts_must_belong_together(void **state)
{
    (void)state;
    write_projector((kind){.decoder_hash = decoder_hash, .input = "raw"});
    fre_inverter_free(open_with("none", 1));
    write_projector((kind){.decoder_hash = prior_hash});
    refuse("none", "the inverter's projector was made for another decoder (SHA-256 ");
    write_projector((kind){.input = "colours"});
    refuse("none", "wants input \"colours\", which this version does not know");
    write_projector((kind){.input = "posterior-mean", .prior_hash = prior_hash});
    refuse("none", "and none was found or given; name it with {prior} FILE");
    fre_inverter_free(open_with(prior_path, 1));
    write_projector((kind){.input = "posterior-mean", .prior_hash = decoder_hash});
    refuse(prior_path, "this inverter was trained with another prior (SHA-256 ");
    /* A projector that reads embeddings as they are does not mind which prior is given. */
    write_projector((kind){.prior_hash = decoder_hash});
    fre_inverter_free(open_with(prior_path, 1));
    write_projector((kind){.corrector_rows = EXTRA + 1});
    refuse("none", "tensor c0.weight has shape 1280 x 769 where 1600 x 769 is needed");
    write_projector((kind){.corrector_rows = 65});
    refuse("none", "impossible sizes of its corrector");
}

static void prior_of_another_embedder_is_refused(void **state)
{
    fre_inverter_opts opts = {.path = decoder, .threads = 1, .search = {.prior = prior_path}};
    fre_embedder_opts other = {.threads = 1};
    char tiny_path[512];
    tiny_shape shape = tiny_default();
    fre_embedder *small = NULL;
    fre_inverter *v = NULL;
    fre_err err = {.text = ""};

    (void)state;
    shape.dim = DIM;
    other.path = temp_path(tiny_path, &folder, "tiny.gguf");
    tiny_file(tiny_path, &shape);
    write_projector((kind){.input = "raw"});
    assert_int_equal(fre_embedder_new(&small, &other, &err), FRE_OK);
    assert_string_equal(fre_embedder_path(small), tiny_path);
    assert_int_equal(fre_inverter_new(&v, small, &opts, &err), FRE_E_MODEL);
    assert_non_null(strstr(err.text, "was made for another embedder"));
    opts.search.prior = "none"; /* The right size is not enough. */
    assert_int_equal(fre_inverter_new(&v, small, &opts, &err), FRE_E_MODEL);
    assert_non_null(strstr(err.text, "this inverter does not bring texts back from this embedder; "
                                     "it was made for all-MiniLM-L6-v2"));
    fre_embedder_free(small);
}

/* What a projector of denoised input gets is E[e | mu]; without noise that is mu, to the bit. */
static void denoised_input(void **state)
{
    static float mu[DIM], mean[DIM], raw[PREFIX], got[PREFIX];
    const double std = 0.03;
    inv_projector plain = {0};
    fre_prior *prior = NULL;
    fre_inverter *v;
    fre_err err = {.text = ""};
    double differ = 0;

    (void)state;
    embed_one(mu, "where is the nearest station");
    for (size_t i = 0; i < DIM; i++)
        mu[i] += (float)(std * noise(i + 31));
    write_projector((kind){.input = "posterior-mean", .prior_hash = prior_hash});
    v = open_with(prior_path, 1);
    assert_int_equal(inv_projector_open(&plain, PROJECTOR, &err), FRE_OK);
    assert_int_equal(fre_prior_open(&prior, prior_path, &err), FRE_OK);
    assert_int_equal(fre_prior_posterior_mean(prior, mean, mu, std), FRE_OK);

    assert_int_equal(inv_projector_run(&plain, raw, mean, std), FRE_OK);
    assert_int_equal(inv_projector_run(&v->projector, got, mu, std), FRE_OK);
    assert_memory_equal(got, raw, sizeof raw);
    assert_int_equal(inv_projector_run(&plain, raw, mu, std), FRE_OK);
    for (size_t i = 0; i < PREFIX; i++)
        differ = fmax(differ, fabs((double)raw[i] - (double)got[i]));
    assert_true(differ > 0.01);

    assert_int_equal(inv_projector_run(&plain, raw, mu, 0), FRE_OK);
    assert_int_equal(inv_projector_run(&v->projector, got, mu, 0), FRE_OK);
    assert_memory_equal(got, raw, sizeof raw);
    fre_prior_free(prior);
    inv_projector_wipe(&plain);
    fre_inverter_free(v);
}

/* The corrector's rows by the formula, in double. */
static void corrector_is_the_formula(void **state)
{
    static float target[DIM], hypothesis[DIM], got[EXTRA * WIDTH];
    static double x[2 * DIM + 1], h[HIDDEN];
    const double std = 0.02;
    fre_inverter *v;

    (void)state;
    embed_one(target, "a list of good books");
    embed_one(hypothesis, "good books to read");
    write_projector((kind){.corrector_rows = EXTRA});
    v = open_with("none", 1);
    assert_int_equal(inv_corrector_run(&v->projector, got, target, std, hypothesis), FRE_OK);
    for (size_t i = 0; i < DIM; i++) {
        x[i] = (double)hypothesis[i] * sqrt(DIM);
        x[DIM + i] = ((double)target[i] - (double)hypothesis[i]) * sqrt(DIM);
    }
    x[2 * DIM] = (log(std) + 5) / 2;
    for (size_t k = 0; k < HIDDEN; k++) {
        h[k] = (double)corrector[2][k];
        for (size_t i = 0; i <= 2 * DIM; i++)
            h[k] += (double)corrector[1][k * (2 * DIM + 1) + i] * x[i];
        h[k] /= 1 + exp(-h[k]);
    }
    for (size_t r = 0; r < EXTRA * WIDTH; r += 41) {
        double y = (double)corrector[4][r];

        for (size_t i = 0; i <= 2 * DIM; i++)
            y += (double)corrector[0][r * (2 * DIM + 1) + i] * x[i];
        for (size_t k = 0; k < HIDDEN; k++)
            y += (double)corrector[3][r * HIDDEN + k] * h[k];
        assert_close((double)got[r], y, 1e-5, 1e-5);
    }
    fre_inverter_free(v);
}

static void begin_state(inv_state *s, fre_inverter *v, const float *mu)
{
    const uint8_t seed[FRE_SEED_BYTES] = {9};
    const size_t rows = (size_t)v->projector.rows * v->projector.width;

    memset(s, 0, sizeof *s);
    s->mu = mu;
    inv_pool_init(&s->pool, DIM, NULL, NULL);
    s->prefix = malloc(rows * sizeof *s->prefix);
    s->plan = calloc(16, sizeof *s->plan);
    s->draw = calloc(16, sizeof *s->draw);
    assert_true(s->prefix && s->plan && s->draw);
    assert_int_equal(fre_rng_init_seeded(&s->rng, seed, "test"), FRE_OK);
    assert_int_equal(inv_projector_run(&v->projector, s->prefix, mu, 0), FRE_OK);
}

static void add_text(inv_state *s, fre_inverter *v, const char *text, const float *mu)
{
    inv_draw d = {.logp = -5.0};
    size_t n = INV_TOKENS;

    assert_int_equal(fre_model_tokenize(v->decoder, d.ids, &n, text, strlen(text), false), FRE_OK);
    d.n = (uint32_t)n;
    assert_int_equal(inv_pool_add(&s->pool, v->decoder, &d), FRE_OK);
    embed_one(s->pool.embedding + (s->pool.n - 1) * DIM, text);
    assert_int_equal(inv_pool_score(&s->pool, mu, 0, &v->tuning, &s->trace), FRE_OK);
}

/* What comes of a round: distinct whole texts, no more than there is room for, the same from the
 * same random numbers, and others behind another hypothesis. */
static void corrector_makes_plans(void **state)
{
    static float mu[DIM];
    fre_inverter *v;
    inv_state a, b;
    fre_err err = {.text = ""};
    uint32_t same = 0;

    (void)state;
    write_projector((kind){.corrector_rows = EXTRA});
    v = open_with("none", 1);
    embed_one(mu, "how do I cancel my order");
    begin_state(&a, v, mu);
    begin_state(&b, v, mu);
    assert_int_equal(inv_correct(v, &v->drawer[0], &a, &err), FRE_OK);
    assert_int_equal(a.n_plan, 0); /* nothing to correct */
    add_text(&a, v, "cancel the order please", mu);
    add_text(&a, v, "my order was cancelled", mu);
    add_text(&b, v, "a blue car", mu);
    assert_int_equal(inv_correct(v, &v->drawer[0], &a, &err), FRE_OK);
    assert_in_range(a.n_plan, 2, v->tuning.edits);
    for (uint32_t i = 0; i < a.n_plan; i++) {
        assert_false(a.plan[i].open);
        assert_in_range(a.plan[i].n_head, 1, INV_TOKENS);
        assert_int_equal(a.plan[i].n_free + a.plan[i].n_tail, 0);
        for (uint32_t j = 0; j < i; j++)
            assert_true(a.plan[i].n_head != a.plan[j].n_head ||
                        memcmp(a.plan[i].head, a.plan[j].head,
                               a.plan[i].n_head * sizeof *a.plan[i].head) != 0);
    }
    assert_int_equal(inv_correct(v, &v->drawer[0], &b, &err), FRE_OK);
    for (uint32_t i = 0; i < a.n_plan && i < b.n_plan; i++)
        same += a.plan[i].n_head == b.plan[i].n_head &&
                memcmp(a.plan[i].head, b.plan[i].head, a.plan[i].n_head * sizeof(int32_t)) == 0;
    assert_true(same < a.n_plan);
    inv_state_wipe(&a);
    inv_state_wipe(&b);
    fre_inverter_free(v);
}

static void corrected_results_are_repeatable(void **state)
{
    enum { N = 3 };
    static const char *const text[N] = {"open the window", "I lost my card", "buy two tickets"};
    static float mu[N * DIM], turned[N * DIM];
    const double std[N] = {0.03, 0.03, 0.03};
    fre_inversion a[N], b[N];
    fre_inverter *one, *two;
    fre_err err = {.text = ""};

    (void)state;
    write_projector((kind){.corrector_rows = EXTRA});
    one = open_with("none", 1);
    two = open_with("none", 2);
    for (size_t i = 0; i < N; i++) {
        embed_one(mu + i * DIM, text[i]);
        for (size_t j = 0; j < DIM; j++)
            mu[i * DIM + j] += (float)(0.03 * noise(i * DIM + j));
        memcpy(turned + (N - 1 - i) * DIM, mu + i * DIM, DIM * sizeof *mu);
    }
    assert_int_equal(fre_invert(one, a, mu, std, N, NULL, &err), FRE_OK);
    assert_int_equal(fre_invert(two, b, turned, std, N, NULL, &err), FRE_OK);
    for (size_t i = 0; i < N; i++) {
        assert_string_equal(a[i].text, b[N - 1 - i].text);
        assert_memory_equal(&a[i].score, &b[N - 1 - i].score, sizeof a[i].score);
    }
    for (size_t i = 0; i < N; i++) {
        fre_inversion_wipe(&a[i]);
        fre_inversion_wipe(&b[i]);
    }
    fre_inverter_free(one);
    fre_inverter_free(two);
}

/* A normalised embedder's rows have length 1, or less for a mean, and noise of the stated size. */
static void rows_of_another_length_are_refused(void **state)
{
    static float mu[2 * DIM];
    const double none[2] = {0, 0}, noisy[2] = {0, 0.3};
    fre_inversion out[2];
    fre_inverter *v;
    fre_err err = {.text = ""};

    (void)state;
    write_projector((kind){.input = "raw"});
    v = open_with("none", 1);
    embed_one(mu, "open the window");
    embed_one(mu + DIM, "close the door");
    for (size_t i = 0; i < DIM; i++) {
        mu[i] *= 0.5F;
        mu[DIM + i] *= 6.0F;
    }
    assert_int_equal(fre_invert(v, out, mu, none, 2, NULL, &err), FRE_E_DATA);
    assert_string_equal(err.text, "row 2 is longer than an embedding of this embedder with the "
                                  "stated noise can be; normalise the rows to length 1, or state "
                                  "their noise");
    v->tuning.rounds = 0;
    assert_int_equal(fre_invert(v, out, mu, noisy, 2, NULL, &err), FRE_OK); /* .3 sqrt(384) = 5.9 */
    fre_inversion_wipe(&out[0]);
    fre_inversion_wipe(&out[1]);
    fre_inverter_free(v);
}

static void verification_passes_and_fails(void **state)
{
    fre_inverter *v;
    fre_verification seen;
    fre_err err = {.text = ""};
    float x[DIM];
    double sum = 0;
    uint32_t own = 0;

    (void)state;
    write_projector((kind){.input = "raw"});
    v = open_with("none", 2);
    assert_int_equal(fre_inverter_verify(v, &seen, &err), FRE_OK);
    assert_true(seen.passed);
    for (size_t i = 0; i < FRE_VERIFY_SENTENCES; i++) {
        sum += seen.distance[i];
        own += seen.own[i];
        assert_close(seen.similarity[i], 1 - seen.distance[i] * seen.distance[i] / 2, 1e-4, 0);
    }
    assert_close(seen.mean_distance, sum / FRE_VERIFY_SENTENCES, 1e-12, 0);
    assert_int_equal(seen.returned, own);
    assert_in_range(seen.returned, FRE_VERIFY_RETURNED_MIN, FRE_VERIFY_SENTENCES);
    assert_true(seen.mean_distance < 0.45);
    embed_one(x, fre_verify_sentence(0));
    assert_null(fre_verify_sentence(FRE_VERIFY_SENTENCES));
    for (size_t i = 1; i < FRE_VERIFY_SENTENCES; i++)
        assert_string_not_equal(fre_verify_sentence(i - 1), fre_verify_sentence(i));
    fre_inverter_free(v);
}

static void test_who_writes_text(void **state)
{
    (void)state;
    assert_true(fre_inverter_writes_text(NULL));
    assert_true(fre_inverter_writes_text(FRE_INVERTER_SEARCH));
    assert_true(fre_inverter_writes_text("none.gguf"));
    assert_false(fre_inverter_writes_text("none"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_writes_text),
        cmocka_unit_test(parts_must_belong_together),
        cmocka_unit_test(prior_of_another_embedder_is_refused),
        cmocka_unit_test(denoised_input),
        cmocka_unit_test(corrector_is_the_formula),
        cmocka_unit_test(corrector_makes_plans),
        cmocka_unit_test(corrected_results_are_repeatable),
        cmocka_unit_test(rows_of_another_length_are_refused),
        cmocka_unit_test(verification_passes_and_fails),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
