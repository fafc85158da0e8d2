/* A codebook made of rows, its file there and back, and files that are damaged or foreign. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/codebook.h>
#include <fre/linalg.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mix.h"
#include "temp_dir.h"

#define D 16u
#define N 4800u /* enough that a sixteenth is held back */
#define TOPICS 40u
#define LEVELS 4u

static float row[N * D];
static char sentence[N][24];
static const char *text[N];
static fre_model_info embedder = {.dim = D, .name = "tiny embedder", .normalised = true};
static const fre_codebook_size sizes[LEVELS] = {{160, 4}, {160, 1}, {40, 1}, {1, 1}};

/* Directions about topics, in no order. */
static void make_rows(void)
{
    float topic[TOPICS * D];

    mix = 77;
    embedder.sha256[0] = 7;
    for (size_t i = 0; i < TOPICS * D; i++)
        topic[i] = (float)mix_gauss();
    for (size_t i = 0; i < N; i++) {
        const size_t t = mix_next() % TOPICS;

        for (size_t k = 0; k < D; k++)
            row[i * D + k] = topic[t * D + k] + (float)(0.5 * mix_gauss());
        (void)fre_normalise(row + i * D, D);
        (void)snprintf(sentence[i], sizeof sentence[i], "text %zu of topic %zu", i, t);
        text[i] = sentence[i];
    }
}

static fre_codebook_make_opts options(uint32_t threads)
{
    return (fre_codebook_make_opts){.level = sizes,
                                    .n_levels = LEVELS,
                                    .radius = 0.3,
                                    .rounds = 6,
                                    .seed = {9},
                                    .threads = threads};
}

static fre_codebook *make(uint32_t threads)
{
    const fre_codebook_make_opts o = options(threads);
    fre_codebook *c = NULL;
    fre_err err = {.text = ""};

    make_rows();
    if (fre_codebook_make(&c, (fre_rows){row, N}, &o, &embedder, "a test", &err) != FRE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(fre_codebook_set_medoids(c, (fre_rows){row, N}, text, threads, &err), FRE_OK);
    return c;
}

static uint8_t *bytes_of(const fre_codebook *c, size_t *n)
{
    char path[512];
    FILE *f = fopen(temp_path(path, &test_dir, "written.gguf"), "wb");
    uint8_t *bytes;
    long size;

    assert_non_null(f);
    assert_int_equal(fre_codebook_write(c, f, NULL), FRE_OK);
    assert_int_equal(fclose(f), 0);
    f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    size = ftell(f);
    assert_true(size > 0);
    rewind(f);
    *n = (size_t)size;
    bytes = malloc(*n);
    assert_true(bytes && fread(bytes, 1, *n, f) == *n);
    assert_int_equal(fclose(f), 0);
    return bytes;
}

static void the_same_bytes_whatever_the_threads(void **state)
{
    fre_codebook *one = make(1), *three = make(3);
    size_t n, m;
    uint8_t *a = bytes_of(one, &n), *b = bytes_of(three, &m);

    (void)state;
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    free(a);
    free(b);
    fre_codebook_free(one);
    fre_codebook_free(three);
}

/* Spread falls with finer cells, the gain undoes what clipping takes, and no cell is empty where each
 * centre has rows. */
static void what_is_measured(void **state)
{
    fre_codebook *c = make(2);
    const fre_codebook_level *l[LEVELS];
    uint32_t *cell = malloc(N * LEVELS * sizeof *cell);
    static const double share[] = {0.05, 0.25, 0.5, 0.75, 0.95};
    double kept = 0, square = 0, length[N / 16];
    float centre[D];
    size_t held = N / 16;

    (void)state;
    assert_non_null(cell);
    for (uint32_t i = 0; i < LEVELS; i++)
        l[i] = fre_codebook_level_view(c, i);
    assert_string_equal(l[0]->name, "160x4");
    assert_string_equal(l[3]->name, "1");
    assert_int_equal(l[0]->base, l[1]->base);
    for (uint32_t i = 1; i < LEVELS; i++)
        assert_true(l[i]->spread > l[i - 1]->spread);
    assert_int_equal(fre_codebook_cells(c, cell, row, N, 1), FRE_OK);
    for (size_t i = N - held; i < N; i++) {
        double d;

        fre_codebook_centre(c, 2, cell[i * LEVELS + 2], centre);
        d = sqrt(fre_dist2(centre, row + i * D, D));
        square += d * d / (double)held;
        kept += fmin(1, 0.3 / d) / (double)held;
        length[i - (N - held)] = d;
    }
    for (size_t q = 0; q < FRE_CODEBOOK_QUANTILES; q++) {
        size_t below = 0, less = 0; /* at most the quantile; clearly below it */

        for (size_t i = 0; i < held; i++) {
            below += length[i] <= l[2]->quantile[q] + 1e-6;
            less += length[i] < l[2]->quantile[q] - 1e-6;
        }
        assert_true((double)below >= share[q] * (double)held);
        assert_true((double)less < share[q] * (double)held);
    }
    assert_true(fabs(l[2]->spread - sqrt(square)) < 1e-6);
    assert_true(fabs(l[2]->gain - 1 / kept) < 1e-6);
    assert_int_equal(l[2]->empty, 0);
    assert_int_equal(l[3]->empty, 0);
    assert_true(l[0]->empty < l[0]->cells / 2);
    assert_int_equal(fre_codebook_info_view(c)->rows, N);
    free(cell);
    fre_codebook_free(c);
}

/* A cell's sentence is the nearest of those that lie in it. */
static void medoids_are_nearest(void **state)
{
    fre_codebook *c = make(2);
    uint32_t *cell = malloc(N * LEVELS * sizeof *cell);
    float centre[D];

    (void)state;
    assert_non_null(cell);
    assert_int_equal(fre_codebook_cells(c, cell, row, N, 1), FRE_OK);
    for (uint32_t l = 1; l < LEVELS; l++)
        for (uint32_t j = 0; j < fre_codebook_level_view(c, l)->cells; j++) {
            size_t best = N;

            fre_codebook_centre(c, l, j, centre);
            for (size_t i = 0; i < N; i++)
                if (cell[i * LEVELS + l] == j &&
                    (best == N ||
                     fre_dist2(centre, row + i * D, D) < fre_dist2(centre, row + best * D, D)))
                    best = i;
            if (best < N)
                assert_string_equal(fre_codebook_medoid(c, l, j), text[best]);
        }
    for (uint32_t j = 0; j < fre_codebook_level_view(c, 0)->cells; j++)
        assert_non_null(fre_codebook_medoid(c, 0, j)); /* its own or its centre's */
    free(cell);
    fre_codebook_free(c);
}

/* What may not be told, and none at all. */
static void some_texts_are_no_medoids(void **state)
{
    static const char *wrong[3] = {"two\nlines", "", NULL};
    const fre_codebook_make_opts o = options(1);
    char endless[400];
    fre_codebook *c = NULL;

    (void)state;
    make_rows();
    memset(endless, 'a', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    wrong[2] = endless;
    assert_int_equal(fre_codebook_make(&c, (fre_rows){row, N}, &o, &embedder, "", NULL), FRE_OK);
    assert_null(fre_codebook_medoid(c, 3, 0));
    assert_int_equal(fre_codebook_set_medoids(c, (fre_rows){row, 3}, wrong, 1, NULL), FRE_OK);
    assert_null(fre_codebook_medoid(c, 3, 0));
    assert_int_equal(fre_codebook_set_medoids(c, (fre_rows){row, 3}, text, 1, NULL), FRE_OK);
    assert_non_null(fre_codebook_medoid(c, 3, 0));
    fre_codebook_free(c);
}

/* The law about the centres has the second moments of the rows that were held back, level by level. */
static void the_law_within_cells(void **state)
{
    fre_codebook *c = make(2);
    uint32_t *cell = malloc(N * LEVELS * sizeof *cell);
    const size_t held = N / 16;

    (void)state;
    assert_non_null(cell);
    assert_int_equal(fre_codebook_cells(c, cell, row, N, 1), FRE_OK);
    for (uint32_t l = 0; l < LEVELS; l++) {
        const fre_prior *p = fre_codebook_within(c, l);
        double variance[D], sum = 0, square = 0;
        float seen[D], got[D], centre[D];

        assert_non_null(p);
        assert_true(fre_norm(fre_prior_mean(p), D) < 1e-9);
        fre_prior_posterior_variance(p, variance, (double)INFINITY);
        for (size_t i = N - held; i < N; i++) {
            fre_codebook_centre(c, l, cell[i * LEVELS + l], centre);
            square += fre_dist2(centre, row + i * D, D) / (double)held;
        }
        for (size_t k = 0; k < D; k++) {
            sum += variance[k];
            assert_true(k == 0 || variance[k] <= variance[k - 1]);
            seen[k] = k == 3;
        }
        assert_true(fabs(sum - square) < 1e-4 * square);
        assert_int_equal(fre_prior_posterior_mean(p, got, seen, 0.3), FRE_OK);
        assert_true(fre_norm(got, D) < 1 && fre_norm(got, D) > 0);
    }
    free(cell);
    fre_codebook_free(c);
}

static void there_and_back(void **state)
{
    float mark[4] = {1, 2, 3, 4};
    const fre_prior_card card = {.file = "public.txt", .author = "me", .mark = mark, .n_marks = 2};
    fre_codebook *c = make(2), *d = NULL;
    uint32_t *cell = malloc(2 * N * LEVELS * sizeof *cell);
    size_t n, m;
    uint8_t *a, *b;
    char path[512];

    (void)state;
    assert_non_null(cell);
    assert_int_equal(fre_codebook_set_card(c, &card), FRE_OK);
    a = bytes_of(c, &n);
    assert_int_equal(fre_codebook_open(&d, temp_path(path, &test_dir, "written.gguf"), NULL),
                     FRE_OK);
    assert_string_equal(fre_codebook_info_view(d)->source, "a test");
    assert_string_equal(fre_codebook_info_view(d)->embedder, "tiny embedder");
    assert_string_equal(fre_codebook_info_view(d)->card.file, "public.txt");
    assert_int_equal(fre_codebook_info_view(d)->card.n_marks, 2);
    assert_int_equal(fre_codebook_info_view(d)->rows, N);
    for (uint32_t i = 0; i < LEVELS; i++)
        assert_memory_equal(fre_codebook_level_view(c, i), fre_codebook_level_view(d, i),
                            offsetof(fre_codebook_level, empty) + sizeof(uint32_t));
    assert_int_equal(fre_codebook_cells(c, cell, row, N, 2), FRE_OK);
    assert_int_equal(fre_codebook_cells(d, cell + N * LEVELS, row, N, 1), FRE_OK);
    assert_memory_equal(cell, cell + N * LEVELS, N * LEVELS * sizeof *cell);
    assert_memory_equal(fre_prior_eigenvalues(fre_codebook_within(c, 1)),
                        fre_prior_eigenvalues(fre_codebook_within(d, 1)), D * sizeof(float));
    assert_string_equal(fre_codebook_medoid(d, 2, 5), fre_codebook_medoid(c, 2, 5));
    b = bytes_of(d, &m);
    assert_int_equal(m, n);
    assert_memory_equal(a, b, n);
    free(a);
    free(b);
    free(cell);
    fre_codebook_free(c);
    fre_codebook_free(d);
}

static void rounding_is_exact_and_near(void **state)
{
    float x[3 * D] = {0}, once[3 * D];
    fre_codebook_base base = {
        .centre = x, .centres = 2, .group = (const uint32_t[]){2}, .n_groups = 1};
    fre_codebook_spec level = {.codes = 1, .radius = 1, .gain = 1, .spread = 1};
    const fre_codebook_parts parts = {
        .dim = D, .probes = 1, .base = &base, .n_bases = 1, .level = &level, .n_levels = 1};
    fre_codebook *c = NULL;
    FILE *f = tmpfile();

    (void)state;
    assert_non_null(f);
    mix = 4;
    for (size_t i = 0; i < 2 * D; i++)
        x[i] = (float)(mix_gauss() * (i < D ? 1 : 1e-12));
    memcpy(once, x, sizeof x);
    fre_codebook_round(once, 3, D);
    for (size_t i = 0; i < 3 * D; i++)
        assert_true(fabs((double)(once[i] - x[i])) <= (i < D ? 4 : 4e-12) * 0.51 / 127);
    assert_true(fre_is_zero_row(once + 2 * D, D));
    assert_int_equal(fre_codebook_new(&c, &parts, NULL), FRE_OK);
    assert_int_equal(fre_codebook_write(c, f, NULL), FRE_E_ARG);
    fre_codebook_free(c);
    memcpy(x, once, sizeof x);
    fre_codebook_round(once, 3, D);
    assert_memory_equal(x, once, sizeof x);
    assert_int_equal(fre_codebook_new(&c, &parts, NULL), FRE_OK);
    assert_int_equal(fre_codebook_write(c, f, NULL), FRE_OK);
    fre_codebook_free(c);
    assert_int_equal(fclose(f), 0);
}

static void refused(size_t n, const fre_codebook_make_opts *o, fre_status status,
                    const char *reason)
{
    fre_codebook *c = NULL;
    fre_err err = {.text = ""};

    assert_int_equal(fre_codebook_make(&c, (fre_rows){row, n}, o, &embedder, "", &err), status);
    assert_null(c);
    if (!strstr(err.text, reason))
        fail_msg("%s, where %s was wanted", err.text, reason);
}

static void what_cannot_be_made(void **state)
{
    const fre_codebook_size rising[] = {{40, 1}, {160, 1}}, twice[] = {{40, 1}, {40, 1}},
                            none[] = {{0, 1}}, many[] = {{FRE_CODEBOOK_CENTRES_MAX, 64}};
    fre_codebook_make_opts o = options(1);

    (void)state;
    make_rows();
    refused(639, &o, FRE_E_DATA, "160 centres need at least 640 texts, and there are 639");
    o.level = rising;
    o.n_levels = 2;
    refused(N, &o, FRE_E_USAGE, "{levels} must go from fine to coarse");
    o.level = twice;
    refused(N, &o, FRE_E_USAGE, "{levels} must go from fine to coarse");
    o.n_levels = 1;
    o.level = none;
    refused(N, &o, FRE_E_USAGE, "a level of {levels} has 1 to");
    o.level = many;
    refused(N, &o, FRE_E_USAGE, "a level of {levels} has 1 to");
    o = options(1);
    o.radius = 0;
    refused(N, &o, FRE_E_USAGE, "{radius}");
    o = options(1);
    o.n_levels = 0;
    refused(N, &o, FRE_E_USAGE, "{levels}");
    o = options(1);
    for (size_t i = 1; i < N; i++)
        memcpy(row + i * D, row, D * sizeof *row);
    refused(N, &o, FRE_E_DATA, "these rows make no codebook (centres");
    make_rows();
    fre_interrupt_set();
    refused(N, &o, FRE_E_INTERRUPTED, "");
    fre_interrupt_clear();
}

/* Cut anywhere, or with any byte of its head changed, it opens or is refused, and says why. */
static void damaged_files(void **state)
{
    fre_codebook *c = make(2);
    size_t n, opened = 0;
    uint8_t *whole = bytes_of(c, &n);
    char path[512];
    fre_err err;

    (void)state;
    (void)temp_path(path, &test_dir, "damaged.gguf");
    fre_codebook_free(c);
    c = NULL;
    for (size_t keep = 0; keep < n; keep += n / 50) {
        write_file(path, (const char *)whole, keep);
        assert_int_equal(fre_codebook_open(&c, path, &err), FRE_E_MODEL);
        assert_null(c);
    }
    for (size_t at = 0; at < n; at += at < 3000 ? 7 : n / 40) {
        whole[at] ^= 0x55;
        write_file(path, (const char *)whole, n);
        if (fre_codebook_open(&c, path, &err) == FRE_OK) {
            opened++;
            fre_codebook_free(c);
            c = NULL;
        } else {
            assert_true(strlen(err.text) > 0);
        }
        whole[at] ^= 0x55;
    }
    assert_true(opened > 0);
    free(whole);
}

static void found_beside_its_embedder(void **state)
{
    fre_codebook *c = make(2), *found = NULL;
    fre_model_info other = embedder;
    char at[512], model[512], beside[512];
    size_t n;
    uint8_t *whole = bytes_of(c, &n);
    fre_err err;

    (void)state;
    write_file(temp_path(at, &test_dir, "tiny.codebook.gguf"), (const char *)whole, n);
    (void)temp_path(model, &test_dir, "tiny.q8_0.gguf");
    (void)temp_path(beside, &test_dir, "another.gguf");
    assert_int_equal(fre_codebook_open_for(&found, NULL, model, &embedder, &err), FRE_OK);
    assert_non_null(found);
    fre_codebook_free(found);
    assert_int_equal(fre_codebook_open_for(&found, at, NULL, &embedder, &err), FRE_OK);
    assert_non_null(found);
    fre_codebook_free(found);
    found = c;
    assert_int_equal(fre_codebook_open_for(&found, NULL, beside, &embedder, &err), FRE_OK);
    assert_null(found);
    assert_int_equal(fre_codebook_open_for(&found, "none", model, &embedder, &err), FRE_OK);
    assert_null(found);
    other.sha256[3] ^= 1;
    assert_int_equal(fre_codebook_open_for(&found, at, NULL, &other, &err), FRE_E_MODEL);
    assert_non_null(strstr(err.text, "made for another embedder"));
    other = embedder;
    other.dim++;
    assert_int_equal(fre_codebook_open_for(&found, NULL, model, &other, &err), FRE_E_MODEL);
    assert_null(found);
    fre_codebook_free(c);
    free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_bytes_whatever_the_threads),
        cmocka_unit_test(what_is_measured),
        cmocka_unit_test(medoids_are_nearest),
        cmocka_unit_test(some_texts_are_no_medoids),
        cmocka_unit_test(the_law_within_cells),
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(rounding_is_exact_and_near),
        cmocka_unit_test(what_cannot_be_made),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(found_beside_its_embedder),
    };

    return cmocka_run_group_tests(tests, test_dir_make, test_dir_remove);
}
