/* Draws of the inverter's decoder: they depend on the row, its noise, the number, the temperature and
 * the seed alone, scatter with the temperature, and refuse what is no row. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fre/invert.h>
#include <fre/linalg.h>

#include "embed_sentences.h"

#define MODELS FRE_SOURCE_DIR "/models/"
#define DIM 384u
#define N 24u

static const char *const sentence[] = {"what is the balance of my account", "play some jazz music",
                                       "please turn off the lights in the kitchen"};
#define ROWS (sizeof sentence / sizeof *sentence)

static fre_embedder *embedder;
static float target[ROWS * DIM];

static int setup(void **state)
{
    (void)state;
    embedder = embed_sentences(target, MODELS FRE_EMBEDDER_DEFAULT, sentence, ROWS);
    return embedder ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    fre_embedder_free(embedder);
    return 0;
}

static fre_inverter *open_inverter(uint32_t threads)
{
    const fre_inverter_opts opts = {.path = MODELS FRE_INVERTER_DEFAULT, .threads = threads};
    fre_inverter *v = NULL;
    fre_err err = {.text = ""};

    if (fre_inverter_new(&v, embedder, &opts, &err) != FRE_OK)
        fail_msg("%s", err.text);
    return v;
}

static void draw(fre_inverter *v, fre_draw *out, const float *mu, const double *std, size_t rows,
                 double temperature, uint64_t seed)
{
    fre_err err = {.text = ""};

    if (fre_inverter_draw(v, out, &(fre_draw_opts){N, temperature, seed}, mu, std, rows, &err) !=
        FRE_OK)
        fail_msg("%s", err.text);
}

static void wipe(fre_draw *d, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fre_draw_wipe(&d[i]);
}

static bool same(const fre_draw *a, const fre_draw *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!a[i].text != !b[i].text || (a[i].text && strcmp(a[i].text, b[i].text) != 0))
            return false;
    return true;
}

static void test_repeatable(void **state)
{
    const double std[ROWS] = {0.01, 0.0, 0.02};
    fre_draw all[ROWS * N], one[N];
    fre_inverter *v1 = open_inverter(1), *v2 = open_inverter(2);

    (void)state;
    draw(v2, all, target, std, ROWS, 1.0, 5);
    for (size_t i = 0; i < ROWS; i++) {
        draw(v1, one, target + i * DIM, &std[i], 1, 1.0, 5);
        assert_true(same(one, all + i * N, N));
        wipe(one, N);
    }
    draw(v1, one, target, std, 1, 1.0, 6);
    assert_false(same(one, all, N));
    wipe(one, N);
    wipe(all, ROWS * N);
    fre_inverter_free(v1);
    fre_inverter_free(v2);
}

/* Mean distance between the row and its draws. */
static double scatter(const fre_draw *d, const float *row)
{
    const char *text[N];
    size_t len[N], n = 0;
    float x[N * DIM];
    double sum = 0.0;
    fre_err err = {.text = ""};

    for (size_t i = 0; i < N; i++)
        if (d[i].text) {
            assert_true(d[i].logp < 0.0);
            text[n] = d[i].text;
            len[n++] = strlen(d[i].text);
        }
    assert_true(n > N / 2);
    assert_int_equal(fre_embed_texts(embedder, x, text, len, n, &err), FRE_OK);
    for (size_t i = 0; i < n; i++)
        sum += sqrt(fre_dist2(row, x + i * DIM, DIM));
    return sum / (double)n;
}

static void test_scatter(void **state)
{
    const double std[ROWS] = {0.0};
    fre_draw cool[ROWS * N], hot[ROWS * N];
    fre_inverter *v = open_inverter(2);
    double a = 0.0, b = 0.0;

    (void)state;
    draw(v, cool, target, std, ROWS, 1.0, 1);
    draw(v, hot, target, std, ROWS, 3.0, 1);
    for (size_t i = 0; i < ROWS; i++) {
        a += scatter(cool + i * N, target + i * DIM) / ROWS;
        b += scatter(hot + i * N, target + i * DIM) / ROWS;
    }
    print_message("mean distance of a draw: %.3f at temperature 1, %.3f at 3\n", a, b);
    assert_true(a < 0.6); /* two texts at random lie 1.3 apart */
    assert_true(b > a + 0.1);
    wipe(cool, ROWS * N);
    wipe(hot, ROWS * N);
    fre_inverter_free(v);
}

static void test_refusals(void **state)
{
    const double std[1] = {0.0};
    fre_inverter *v = open_inverter(1);
    float zero[DIM] = {0};
    fre_draw out[N], before[N];
    fre_err err = {.text = ""};

    (void)state;
    memset(out, 0x5a, sizeof out);
    memcpy(before, out, sizeof out);
    zero[5] = NAN;
    assert_int_equal((fre_inverter_draw(v, out, &(fre_draw_opts){N, 1.0, 1}, zero, std, 1, &err)),
                     FRE_E_DATA);
    zero[5] = 0;
    assert_int_equal((fre_inverter_draw(v, out, &(fre_draw_opts){N, 0.0, 1}, target, std, 1, &err)),
                     FRE_E_USAGE);
    assert_int_equal((fre_inverter_draw(v, out, &(fre_draw_opts){N, 1.0, 1}, target, std, 0, &err)),
                     FRE_OK);
    fre_interrupt_set();
    assert_int_equal((fre_inverter_draw(v, out, &(fre_draw_opts){N, 1.0, 1}, target, std, 1, &err)),
                     FRE_E_INTERRUPTED);
    fre_interrupt_clear();
    assert_memory_equal(out, before, sizeof out);
    draw(v, out, zero, std, 1, 1.0, 1); /* the row of a text without a word: no text */
    for (size_t i = 0; i < N; i++)
        assert_null(out[i].text);
    fre_inverter_free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeatable),
        cmocka_unit_test(test_scatter),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
