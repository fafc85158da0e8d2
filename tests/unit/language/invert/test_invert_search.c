/* Search without a trained inverter, and what it stands on: the index of a public corpus, n-grams,
 * predicted distances, edits of words. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <fre/invert.h>
#include <fre/linalg.h>

#include "assert_num.h"
#include "index_file.h"
#include "invert_private.h"
#include "public_corpus.h"
#include "temp_dir.h"
#include "tiny_gguf.h"
#include "tiny_lm.h"

#define DIM 64u

static const char corpus[] = "a b hello\nhello b\nb a a\n\nhello hello a b\nb hello\na\n"
                             "hello a hello\nA B hello\nb b a hello\na hello b\nhello b a\n";

static temp_dir dir;
static fre_embedder *embedder;
static char corpus_path[512];

static fre_embedder *tiny_embedder(const char *name, const tiny_shape *shape)
{
    fre_embedder *e = NULL;
    fre_embedder_opts opts = {.threads = 2};
    char path[512];
    fre_err err = {.text = ""};

    opts.path = temp_path(path, &dir, name);
    tiny_file(path, shape);
    if (fre_embedder_new(&e, &opts, &err) != FRE_OK)
        fail_msg("%s", err.text);
    return e;
}

static int setup(void **state)
{
    const tiny_shape shape = tiny_default();

    (void)state;
    temp_dir_make(&dir);
    if (setenv("XDG_CACHE_HOME", dir.path, 1) != 0)
        return -1;
    embedder = tiny_embedder("tiny.gguf", &shape);
    write_file(temp_path(corpus_path, &dir, "public.txt"), corpus, sizeof corpus - 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fre_embedder_free(embedder);
    temp_dir_remove(&dir);
    return 0;
}

/* ---- index ---------------------------------------------------------------------------------- */

static inv_index *open_index(fre_embedder *e)
{
    fre_corpus *texts = NULL;
    inv_index *x = NULL;
    fre_err err = {.text = ""};

    if (inv_corpus_open(&texts, corpus_path, NULL, &err) != FRE_OK ||
        inv_index_open(&x, texts, corpus_path, NULL, e, NULL, &err) != FRE_OK)
        fail_msg("%s", err.text);
    fre_corpus_free(texts);
    return x;
}

static void make_key(inv_index_key *k, fre_embedder *e)
{
    fre_corpus *texts = NULL;
    fre_err err = {.text = ""};

    assert_int_equal(inv_corpus_open(&texts, corpus_path, NULL, &err), FRE_OK);
    assert_int_equal(inv_index_key_make(k, texts, corpus_path, NULL, e, &err), FRE_OK);
    fre_corpus_free(texts);
}

static void index_path(char out[4096], fre_embedder *e)
{
    inv_index_key k;

    make_key(&k, e);
    memcpy(out, k.path, sizeof k.path);
}

static void assert_row_text(const inv_rows *r, size_t i, const char *want)
{
    size_t n = 0;
    const char *text = inv_rows_text(r, i, &n);

    assert_int_equal(n, strlen(want));
    assert_memory_equal(text, want, n);
}

static void test_index_content(void **state)
{
    inv_index *x = open_index(embedder);
    const char *const text = "hello hello a b";
    const size_t len = strlen(text);
    float row[DIM], want[DIM];
    fre_err err = {.text = ""};

    (void)state;
    assert_int_equal(x->texts.n, 10); /* one line is empty, one equal but for case */
    assert_row_text(&x->texts, 0, "a b hello");
    assert_int_equal(x->texts.count[0], 2);
    assert_int_equal(x->words.n, 3);
    assert_row_text(&x->words, 0, "hello");
    assert_row_text(&x->words, 1, "a");
    assert_int_equal(x->words.count[0], 11);
    assert_row_text(&x->texts, 3, text);
    inv_rows_get(&x->texts, row, 3);
    assert_int_equal(fre_embed_texts(embedder, want, &text, &len, 1, &err), FRE_OK);
    assert_true(fre_dist2(row, want, DIM) < 1e-3);
    assert_close((double)x->texts.norm2[3], fre_dot(row, row, DIM), 1e-5, 0);
    {
        double spread = 0, pairs = 0;
        float other[DIM];

        for (size_t i = 0; i < x->texts.n; i++)
            for (size_t j = 0; j < x->texts.n; j++) {
                inv_rows_get(&x->texts, row, i);
                inv_rows_get(&x->texts, other, j);
                pairs += fre_dist2(row, other, DIM) / 100;
            }
        assert_int_equal(inv_rows_spread(&x->texts, &spread), FRE_OK);
        assert_close(spread, pairs / 2, 1e-6, 1e-3); /* mean over all pairs: twice the variance */
    }
    inv_index_free(x);
}

static void test_nearest(void **state)
{
    inv_index *x = open_index(embedder);
    float query[2 * DIM], row[DIM];
    uint32_t one[8], three[8];

    (void)state;
    for (size_t i = 0; i < 2 * (size_t)DIM; i++)
        query[i] = (float)sin(3.0 * (double)i) / 8;
    assert_int_equal(inv_rows_nearest(&x->texts, one, query, 2, 4, 1), FRE_OK);
    assert_int_equal(inv_rows_nearest(&x->texts, three, query, 2, 4, 3), FRE_OK);
    assert_memory_equal(one, three, sizeof one);
    for (size_t q = 0; q < 2; q++) {
        double last = 0;
        bool listed[16] = {false};

        for (size_t i = 0; i < 4; i++) {
            inv_rows_get(&x->texts, row, one[q * 4 + i]);
            assert_true(fre_dist2(query + q * DIM, row, DIM) >= last - 1e-5);
            last = fre_dist2(query + q * DIM, row, DIM);
            listed[one[q * 4 + i]] = true;
        }
        for (size_t i = 0; i < x->texts.n; i++) {
            inv_rows_get(&x->texts, row, i);
            assert_true(listed[i] || fre_dist2(query + q * DIM, row, DIM) >= last - 1e-5);
        }
    }
    inv_index_free(x);
}

static void spoil(const char *path, long at)
{
    FILE *f = fopen(path, "r+b");
    int c;

    assert_non_null(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    c = fgetc(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    assert_int_not_equal(fputc(c ^ 0x40, f), EOF);
    assert_int_equal(fclose(f), 0);
}

/* Wherever a byte changes, and however much is missing, the index is made again. */
static void test_index_damage(void **state)
{
    char path[4096];
    inv_index *x = open_index(embedder);
    struct stat s;
    uint8_t *whole = malloc(x->map_len);
    const size_t len = x->map_len;
    const long places[] = {0, 20, 90, 300, 2000, (long)len - 3};

    (void)state;
    assert_non_null(whole);
    memcpy(whole, x->map, len);
    inv_index_free(x);
    index_path(path, embedder);
    for (size_t i = 0; i <= sizeof places / sizeof *places; i++) {
        inv_index_key k;
        inv_index y;

        if (i < sizeof places / sizeof *places)
            spoil(path, places[i]);
        else
            assert_int_equal(truncate(path, (off_t)len / 2), 0);
        make_key(&k, embedder);
        assert_false(inv_index_load(&y, &k, DIM));
        x = open_index(embedder);
        assert_int_equal(x->map_len, len);
        assert_memory_equal(x->map, whole, len);
        inv_index_free(x);
        assert_int_equal(stat(path, &s), 0);
        assert_int_equal(s.st_size, len);
    }
    free(whole);
}

/* Another embedder's index is not taken, whatever its name. */
static void test_index_of_another(void **state)
{
    tiny_shape shape = tiny_default();
    char mine[4096], other[4096];
    inv_index *x;
    fre_embedder *e;
    float a[DIM], b[DIM];

    (void)state;
    shape.heads = 2;
    e = tiny_embedder("other.gguf", &shape);
    inv_index_free(open_index(embedder));
    index_path(mine, embedder);
    index_path(other, e);
    assert_string_not_equal(mine, other);
    x = open_index(e);
    inv_rows_get(&x->texts, a, 0);
    inv_index_free(x);
    assert_int_equal(rename(mine, other), 0);
    x = open_index(e);
    inv_rows_get(&x->texts, b, 0);
    assert_memory_equal(a, b, sizeof a);
    inv_index_free(x);
    fre_embedder_free(e);
}

/* No cache folder: the index lives as long as the run. */
static void test_index_without_cache(void **state)
{
    inv_index *x;
    char path[4096];

    (void)state;
    assert_int_equal(setenv("XDG_CACHE_HOME", "/dev/null/cache", 1), 0);
    index_path(path, embedder);
    x = open_index(embedder);
    assert_int_equal(x->texts.n, 10);
    inv_index_free(x);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", dir.path, 1), 0);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void test_ngrams(void **state)
{
    inv_ngram *g = NULL;
    fre_rng rng;
    const uint8_t seed[FRE_SEED_BYTES] = {3};
    int good = 0;

    (void)state;
    assert_int_equal(inv_ngram_new(&g), FRE_OK);
    assert_int_equal(inv_ngram_add(g, "turn on the light", 17, 1.0), FRE_OK);
    assert_int_equal(inv_ngram_add(g, "turn on the Radio", 17, 0.5), FRE_OK);
    assert_int_equal(inv_ngram_add(g, "light a fire", 12, 0.1), FRE_OK);
    assert_true(inv_ngram_logp(g, "turn on the light") > inv_ngram_logp(g, "turn on the radio"));
    assert_true(inv_ngram_logp(g, "turn on the radio") > inv_ngram_logp(g, "turn the on radio"));
    assert_true(inv_ngram_logp(g, "turn the on radio") > inv_ngram_logp(g, "turn zz on radio"));
    assert_true(isfinite(inv_ngram_logp(g, "")));
    assert_int_equal(fre_rng_init_seeded(&rng, seed, "test"), FRE_OK);
    for (int i = 0; i < 200; i++) {
        const char *w = inv_ngram_pick(g, "ON", 2, "light", 5, &rng);

        assert_non_null(w);
        good += strcmp(w, "the") == 0;
    }
    assert_true(good > 150);
    inv_ngram_free(g);
    fre_rng_wipe(&rng);
}

static int count_words(const char *text)
{
    int n = 0;

    for (const char *p = text; *p; p++)
        n += (*p != ' ') && (p == text || p[-1] == ' ');
    return n;
}

static int letters(const char *text)
{
    int sum = 0;

    for (; *text; text++)
        sum += *text == ' ' ? 0 : (unsigned char)*text * (unsigned char)*text;
    return sum;
}

/* What each edit keeps and what it changes. */
static void test_word_edits(void **state)
{
    static const char *const text = "please turn on the small light";
    const inv_words_from none = {.ngram = NULL};
    char out[INV_TEXT_MAX];
    fre_rng rng;
    const uint8_t seed[FRE_SEED_BYTES] = {4};

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&rng, seed, "test"), FRE_OK);
    for (int i = 0; i < 300; i++) {
        assert_true(inv_edit_words(out, INV_MOVE, text, text, &none, &rng) == strlen(text));
        assert_string_not_equal(out, text);
        assert_int_equal(letters(out), letters(text));
        assert_true(inv_edit_words(out, INV_SWAP, text, text, &none, &rng) == strlen(text));
        assert_string_not_equal(out, text);
        assert_int_equal(letters(out), letters(text));
        assert_true(inv_edit_words(out, INV_DELETE, text, text, &none, &rng) == strlen(out));
        assert_int_equal(count_words(out), 5);
        if (inv_edit_words(out, INV_JOIN, text, "on the wall", &none, &rng) > 0)
            assert_in_range(count_words(out), 1, 9);
        assert_true(inv_edit_words(out, INV_MARK, "Yes!", text, &none, &rng) >= 3);
        assert_memory_equal(out, "Yes", 3);
    }
    assert_int_equal(inv_edit_words(out, INV_DELETE, "one", text, &none, &rng), 0);
    assert_int_equal(inv_edit_words(out, INV_SWAP, "one", text, &none, &rng), 0);
    assert_int_equal(inv_edit_words(out, INV_MOVE, "one", text, &none, &rng), 0);
    assert_int_equal(inv_edit_words(out, INV_WORD, text, text, &none, &rng), 0);
    assert_int_equal(inv_edit_words(out, INV_RESPOND, text, text, &none, &rng), 0);
    fre_rng_wipe(&rng);
}

/* Distances that are sums over words are learned from a few texts, those of others follow. */
static void test_screen(void **state)
{
    static const char *const word[] = {"red", "green", "blue", "cold", "warm", "old"};
    static const double far[] = {0.1, 0.0, 0.05, 0.08, 0.02, 0.06};
    inv_screen *s = inv_screen_new();
    inv_pool p;
    inv_trace trace = {.rounds = 0};
    const inv_tuning tuning = inv_tuning_of(0, true);
    float mu[1] = {0};
    char text[64];

    (void)state;
    assert_non_null(s);
    inv_pool_init(&p, 1, NULL, NULL);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            if (i == j || (i == 1 && j == 4))
                continue;
            (void)snprintf(text, sizeof text, "%s and %s", word[i], word[j]);
            assert_int_equal(inv_pool_add_text(&p, text, strlen(text), INV_NEAR, -1.0), FRE_OK);
            p.embedding[p.n - 1] = (float)sqrt(0.1 + far[i] + far[j]);
        }
    assert_int_equal(inv_pool_score(&p, mu, 0.1, &tuning, &trace), FRE_OK);
    inv_screen_fit(s, &p, 1.0);
    assert_close(inv_screen_distance(s, "green and warm"), 0.1 + far[1] + far[4], 0.03, 0);
    assert_true(inv_screen_distance(s, "Green and warm") < inv_screen_distance(s, "red and old"));
    inv_screen_free(s);
    inv_pool_wipe(&p);
}

/* What points along mu - E(text) comes first, and the answer to a text is kept. */
static void test_responses(void **state)
{
    enum { N = 4, D = 16 };
    int8_t q[N * D] = {0};
    const float scale[N] = {0.01f, 0.01f, 0.01f, 0.01f};
    const uint32_t count[N] = {1, 1, 1, 1};
    const uint64_t at[N + 1] = {0, 1, 2, 3, 4};
    const inv_rows words = {
        .n = N, .dim = D, .q = q, .scale = scale, .count = count, .at = at, .text = "abcd"};
    const float mu[D] = {1, 1}, embedding[D] = {0, 1};
    const uint8_t key[16] = {1}, other[16] = {2};
    const uint32_t order[N] = {2, 1, 0, 3}, away[N] = {3, 0, 1, 2};
    inv_response r = {.n = 0};

    (void)state;
    q[0] = 40;
    q[D] = 50;
    q[2 * D] = 100;
    q[3 * D] = -100;
    q[3 * D + 1] = 100; /* of the text already */
    assert_int_equal(inv_respond(&r, &words, mu, embedding, key), FRE_OK);
    assert_int_equal(r.n, N);
    assert_memory_equal(r.word, order, sizeof order);
    assert_int_equal(inv_respond(&r, &words, embedding, mu, key), FRE_OK); /* the same text: kept */
    assert_memory_equal(r.word, order, sizeof order);
    assert_int_equal(inv_respond(&r, &words, embedding, mu, other), FRE_OK);
    assert_memory_equal(r.word, away, sizeof away);
}

/* ---- the search ---------------------------------------------------------------------------- */

typedef struct seen {
    double score, distance;
    uint64_t embedded;
    size_t rows;
    bool falls;
} seen;

static fre_status watch(void *ctx, const fre_invert_trace *t, fre_err *err)
{
    seen *s = ctx;
    uint64_t sum = 0;

    (void)err;
    assert_int_equal(t->row, s->rows++);
    assert_true(t->rounds > 0);
    for (size_t i = 1; i < t->rounds; i++)
        s->falls |= t->score[i] < t->score[i - 1];
    for (size_t i = 0; i < t->kinds; i++)
        sum += t->gain[i].embedded;
    assert_int_equal(sum, t->embedded);
    s->embedded += t->embedded;
    s->score = t->score[t->rounds - 1];
    s->distance = t->distance[t->rounds - 1];
    return FRE_OK;
}

/* The bundled embedder: the tiny one's random weights put all texts near one another. */
#define WIDTH 384u
static const char public_texts[] =
    "play some jazz music\nturn off the lights in the kitchen\nplease set an alarm for seven\n"
    "what is the weather in the city\nI want to book a table for two\nturn on the radio\n"
    "set the alarm for nine in the morning\nplay the radio in the kitchen\nbook a flight\n"
    "please turn the music off\nhow is the weather tomorrow morning\nthe lights are on\n";
static const char *const planted[] = {"turn off the radio in the kitchen",
                                      "play some jazz in the morning", "please book a table"};
#define PLANTED (sizeof planted / sizeof *planted)
static fre_embedder *bundled;
static char public_path[512];

static int setup_search(void **state)
{
    fre_embedder_opts opts = {.path = FRE_SOURCE_DIR "/models/" FRE_EMBEDDER_DEFAULT, .threads = 2};
    fre_err err = {.text = ""};

    if (setup(state) != 0)
        return -1;
    write_file(temp_path(public_path, &dir, "spoken.txt"), public_texts, sizeof public_texts - 1);
    if (fre_embedder_new(&bundled, &opts, &err) == FRE_OK)
        return 0;
    print_error("%s\n", err.text);
    return -1;
}

static int teardown_search(void **state)
{
    fre_embedder_free(bundled);
    return teardown(state);
}

static fre_inverter *searcher(uint32_t threads, uint32_t effort, seen *s)
{
    fre_inverter_opts opts = {.path = FRE_INVERTER_SEARCH,
                              .threads = threads,
                              .seed = 5,
                              .search = {.effort = effort, .public_corpus = public_path},
                              .trace = s ? watch : NULL,
                              .trace_ctx = s};
    fre_inverter *v = NULL;
    fre_err err = {.text = ""};

    if (fre_inverter_new(&v, bundled, &opts, &err) != FRE_OK)
        fail_msg("%s", err.text);
    return v;
}

static void embed_planted(float *x)
{
    size_t len[PLANTED];
    fre_err err = {.text = ""};

    for (size_t i = 0; i < PLANTED; i++)
        len[i] = strlen(planted[i]);
    assert_int_equal(fre_embed_texts(bundled, x, planted, len, PLANTED, &err), FRE_OK);
}

static void run(fre_inverter *v, fre_inversion *out, const float *mu, const double *std, size_t n)
{
    fre_err err = {.text = ""};

    if (fre_invert(v, out, mu, std, n, NULL, &err) != FRE_OK)
        fail_msg("%s", err.text);
}

static void test_finds_planted(void **state)
{
    float mu[PLANTED * WIDTH];
    const double std[PLANTED] = {0};
    fre_inversion out[PLANTED];
    seen s = {.rows = 0};
    fre_inverter *v = searcher(2, 4, &s);

    (void)state;
    embed_planted(mu);
    run(v, out, mu, std, PLANTED);
    for (size_t i = 0; i < PLANTED; i++) {
        assert_string_equal(out[i].text, planted[i]);
        assert_close(out[i].distance, 0, 1e-3, 0);
        fre_inversion_wipe(&out[i]);
    }
    assert_int_equal(s.rows, PLANTED);
    assert_false(s.falls);
    assert_close(s.distance, 0, 0.02, 0);
    assert_null(fre_inverter_parts_of(v).decoder);
    assert_null(fre_inverter_parts_of(v).projector);
    assert_non_null(fre_inverter_parts_of(v).public_corpus);
    assert_null(fre_inverter_lm(v));
    fre_inverter_free(v);
}

/* Threads and neighbours do not matter. */
static void test_search_repeats(void **state)
{
    float mu[PLANTED * WIDTH], back[PLANTED * WIDTH];
    const double std[PLANTED] = {0.02, 0.02, 0.02};
    fre_inversion a[PLANTED], b[PLANTED], c[1];
    fre_inverter *one = searcher(1, 1, NULL), *three = searcher(3, 1, NULL);

    (void)state;
    embed_planted(mu);
    for (size_t i = 0; i < PLANTED * (size_t)WIDTH; i++)
        mu[i] += (float)sin(7.0 * (double)i) / 50;
    for (size_t i = 0; i < PLANTED; i++)
        memcpy(back + (PLANTED - 1 - i) * WIDTH, mu + i * WIDTH, WIDTH * sizeof *mu);
    run(one, a, mu, std, PLANTED);
    run(three, b, back, std, PLANTED);
    run(three, c, mu + WIDTH, std, 1);
    for (size_t i = 0; i < PLANTED; i++) {
        assert_string_equal(a[i].text, b[PLANTED - 1 - i].text);
        assert_memory_equal(&a[i].score, &b[PLANTED - 1 - i].score, sizeof a[i].score);
    }
    assert_string_equal(a[1].text, c[0].text);
    assert_memory_equal(&a[1].score, &c[0].score, sizeof a[1].score);
    for (size_t i = 0; i < PLANTED; i++) {
        fre_inversion_wipe(&a[i]);
        fre_inversion_wipe(&b[i]);
    }
    fre_inversion_wipe(c);
    fre_inverter_free(one);
    fre_inverter_free(three);
}

/* More effort, more evaluations (between texts, so that it never ends). */
static void test_effort(void **state)
{
    static const uint32_t effort[] = {1, 2, 3};
    float mu[PLANTED * WIDTH];
    const double std[1] = {0.02};
    uint64_t embedded = 0;

    (void)state;
    embed_planted(mu);
    for (size_t i = 0; i < WIDTH; i++)
        mu[i] = (mu[i] + mu[WIDTH + i] + (float)sin(7.0 * (double)i) / 50) / 2;
    for (size_t i = 0; i < sizeof effort / sizeof *effort; i++) {
        seen s = {.rows = 0};
        fre_inversion out[1];
        fre_inverter *v = searcher(2, effort[i], &s);

        run(v, out, mu, std, 1);
        assert_true(s.embedded > embedded);
        embedded = s.embedded;
        fre_inversion_wipe(out);
        fre_inverter_free(v);
    }
}

/* Without a corpus the model's own lines are one: its words, letters here, are what is found. */
static void test_lines_of_the_model(void **state)
{
    const tiny_lm shape = {.dim = 64, .scale = 0.4f, .context = 512, .bytes = 256};
    static const char *const text = "q c x";
    const size_t len = strlen(text);
    const double std[1] = {0};
    char path[512];
    float mu[WIDTH];
    seen s = {.rows = 0};
    fre_inversion out[2];
    fre_err err = {.text = ""};
    size_t n;
    uint8_t *bytes = tiny_lm_bytes(&shape, &n);

    (void)state;
    write_file(temp_path(path, &dir, "letters.gguf"), bytes, n);
    free(bytes);
    assert_int_equal(fre_embed_texts(bundled, mu, &text, &len, 1, &err), FRE_OK);
    for (uint32_t i = 0; i < 2; i++) {
        fre_inverter_opts opts = {.path = FRE_INVERTER_SEARCH,
                                  .threads = 1 + i,
                                  .search = {.effort = 4, .language_model = path},
                                  .trace = i == 0 ? watch : NULL,
                                  .trace_ctx = &s};
        fre_inverter *v = NULL;

        if (fre_inverter_new(&v, bundled, &opts, &err) != FRE_OK)
            fail_msg("%s", err.text);
        run(v, &out[i], mu, std, 1);
        assert_non_null(fre_inverter_lm(v));
        fre_inverter_free(v);
    }
    assert_string_equal(out[0].text, text);
    assert_string_equal(out[1].text, text);
    assert_memory_equal(&out[0].score, &out[1].score, sizeof out[0].score);
    assert_close(out[0].distance, 0, 1e-3, 0);
    assert_int_equal(s.rows, 1);
    fre_inversion_wipe(&out[0]);
    fre_inversion_wipe(&out[1]);
}

static void refuse(const fre_search_opts *search, fre_status want, const char *part)
{
    const fre_inverter_opts opts = {.path = FRE_INVERTER_SEARCH, .threads = 1, .search = *search};
    fre_inverter *v = NULL;
    fre_err err = {.text = ""};

    assert_int_equal(fre_inverter_new(&v, embedder, &opts, &err), want);
    assert_null(v);
    if (!strstr(err.text, part))
        fail_msg("\"%s\" lacks \"%s\"", err.text, part);
}

static void test_refusals(void **state)
{
    char empty[512], wide[512], line[1024];
    fre_search_opts o = {.effort = 5};

    (void)state;
    refuse(&o, FRE_E_USAGE, "needs {public_corpus}");
    o.public_corpus = "/no/such/corpus.txt";
    refuse(&o, FRE_E_NOINPUT, "corpus.txt");
    o.public_corpus = temp_path(empty, &dir, "empty.txt");
    write_file(empty, "\n \n", 3);
    refuse(&o, FRE_E_DATA, "no usable text");
    memset(line, 'a', sizeof line);
    o.public_corpus = temp_path(wide, &dir, "wide.txt");
    write_file(wide, line, sizeof line);
    refuse(&o, FRE_E_DATA, "no usable text");
    o.public_corpus = corpus_path;
    o.language_model = "/no/such/model.gguf";
    refuse(&o, FRE_E_NOINPUT, "model.gguf");
    o.language_model = NULL;
    o.effort = 11;
    refuse(&o, FRE_E_USAGE, "{effort} must be a whole number from 1 to 10");
    o.effort = 5;
    o.lm_weight = -1;
    refuse(&o, FRE_E_USAGE, "{language_weight} must be a number above 0 and at most 10");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index_content),       cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_index_damage),        cmocka_unit_test(test_index_of_another),
        cmocka_unit_test(test_index_without_cache), cmocka_unit_test(test_ngrams),
        cmocka_unit_test(test_word_edits),          cmocka_unit_test(test_screen),
        cmocka_unit_test(test_responses),           cmocka_unit_test(test_finds_planted),
        cmocka_unit_test(test_search_repeats),      cmocka_unit_test(test_effort),
        cmocka_unit_test(test_lines_of_the_model),  cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, setup_search, teardown_search);
}
