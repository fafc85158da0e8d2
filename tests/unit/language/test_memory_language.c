/* Memory that runs out: every constructor of the floor language, each of its allocations in turn.  What
 * llama.cpp allocates is its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/bridge.h>
#include <fre/codebook.h>
#include <fre/embed.h>
#include <fre/invert.h>
#include <fre/lm.h>
#include <fre/model.h>
#include <fre/paraphrase.h>
#include <fre/prior.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "mix.h"
#include "temp_dir.h"
#include "tiny_gguf.h"
#include "tiny_lm.h"

#define DIM 6u
#define HALF 3u
#define ROWS 100u

static char encoder[512], decoder[512], prior_path[512], bridge_path[512], corpus[512];
static fre_model_info from = {.dim = HALF, .name = "one"}, to = {.dim = DIM - HALF, .name = "two"};
static fre_model_info whole = {.dim = DIM, .name = "whole"};
static fre_prior_sums *sums;

static void write_models(void)
{
    const tiny_shape shape = tiny_default();
    const tiny_lm lm = {.dim = 64, .scale = 3, .context = 32, .bytes = 256};
    size_t n;
    uint8_t *bytes = tiny_lm_bytes(&lm, &n);

    tiny_file(temp_path(encoder, &test_dir, "tiny.gguf"), &shape);
    write_file(temp_path(decoder, &test_dir, "letters.gguf"), bytes, n);
    free(bytes);
}

static void write_priors(void)
{
    static float x[ROWS * DIM];
    fre_prior *p = NULL;
    fre_bridge *b = NULL;
    FILE *f = fopen(temp_path(prior_path, &test_dir, "x.prior.gguf"), "wb");
    FILE *g = fopen(temp_path(bridge_path, &test_dir, "x.bridge.gguf"), "wb");

    assert_true(f && g);
    mix = 3;
    to.sha256[0] = 1;
    for (size_t i = 0; i < ROWS * DIM; i++)
        x[i] = (float)mix_gauss() + (i % DIM > 0 ? x[i - 1] / 2 : 0);
    assert_int_equal(fre_prior_sums_new(&sums, DIM, 1), FRE_OK);
    assert_int_equal(fre_prior_sums_add(sums, x, ROWS), FRE_OK);
    assert_int_equal(fre_prior_make(&p, sums, &whole, "a test", NULL), FRE_OK);
    assert_int_equal(fre_prior_write(p, f, NULL), FRE_OK);
    assert_int_equal(fre_bridge_make(&b, sums, &from, &to, "a test", NULL), FRE_OK);
    assert_int_equal(fre_bridge_write(b, g, NULL), FRE_OK);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(fclose(g), 0);
    fre_prior_free(p);
    fre_bridge_free(b);
}

static int make_files(void **state)
{
    static const char texts[] = "a b hello\nhello b\nb a a\n";

    (void)test_dir_make(state);
    write_models();
    write_priors();
    write_file(temp_path(corpus, &test_dir, "public.txt"), texts, sizeof texts - 1);
    return setenv("XDG_CACHE_HOME", test_dir.path, 1);
}

static int remove_files(void **state)
{
    fre_prior_sums_free(sums);
    return test_dir_remove(state);
}

/* ---- model ----------------------------------------------------------------------------------------- */

/* A name in the user's cache: what cannot be looked for was not missing. */
static void test_find(void **state)
{
    char path[4096] = "kept";
    fre_status st = FRE_E_NOMEM;

    (void)state;
    for (uint64_t n = 0; st == FRE_E_NOMEM; n++) {
        assert_string_equal(path, "kept");
        alloc_fail_after(n);
        st = fre_model_find(path, sizeof path, "no-such-model.gguf", NULL);
        if (!alloc_heal())
            break;
        assert_int_equal(st, FRE_E_NOMEM);
    }
    assert_int_equal(st, FRE_E_NOINPUT);
}

static const char *model_path;
static fre_model_kind model_kind;
static fre_model *model;

ALLOC_CASE(fre_model_open, fre_model, fre_model_free,
           fre_model_open(&x, model_path, model_kind, err));
ALLOC_CASE(fre_model_ctx_new, fre_model_ctx, fre_model_ctx_free,
           fre_model_ctx_new(&x, model, 16, 2, err));
ALLOC_CASE(fre_model_ctx_new_shared, fre_model_ctx, fre_model_ctx_free,
           fre_model_ctx_new_shared(&x, model, 16, 2, err));
ALLOC_CASE(fre_model_ctx_new_score, fre_model_ctx, fre_model_ctx_free,
           fre_model_ctx_new_score(&x, model, 16, 32, err));
ALLOC_CASE(fre_tensors_open, fre_tensors, fre_tensors_free,
           fre_tensors_open(&x, prior_path, "fre-e2t-prior", err));
ALLOC_CASE(fre_lm_open, fre_lm, fre_lm_free,
           fre_lm_open(&x, &(fre_lm_opts){.path = decoder, .threads = 1}, err));
ALLOC_CASE(fre_embedder_new, fre_embedder, fre_embedder_free,
           fre_embedder_new(&x, &(fre_embedder_opts){.path = encoder, .threads = 1}, err));

static void models(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        model_path = i ? decoder : encoder;
        model_kind = i ? FRE_MODEL_DECODER : FRE_MODEL_EMBEDDER;
        (void)alloc_torture(&fre_model_open_case, NULL);
        assert_int_equal(fre_model_open(&model, model_path, model_kind, NULL), FRE_OK);
        (void)alloc_torture(&fre_model_ctx_new_case, NULL);
        if (i) {
            (void)alloc_torture(&fre_model_ctx_new_shared_case, NULL);
            (void)alloc_torture(&fre_model_ctx_new_score_case, NULL);
        }
        fre_model_free(model);
    }
    (void)alloc_torture(&fre_tensors_open_case, NULL);
    (void)alloc_torture(&fre_lm_open_case, NULL);
    (void)alloc_torture(&fre_embedder_new_case, NULL);
}

/* ---- priors and bridges ------------------------------------------------------------------------------ */

static const float mean[2] = {1, 2}, value[2] = {2, 1}, vector[4] = {1, 0, 0, 1};
static fre_bridge *bridge;

static void knows(void *p)
{
    const float mu[DIM] = {1};
    float out[DIM];

    assert_int_equal(fre_prior_posterior_mean(p, out, mu, 0.1), FRE_OK);
    assert_true(isfinite(out[0]));
}

static void crosses(void *b)
{
    const float mu[HALF] = {1};
    float out[DIM];

    assert_int_equal(fre_bridge_estimate(b, out, NULL, mu, 0.1), FRE_OK);
    assert_true(isfinite(out[0]));
}

ALLOC_CASE(fre_prior_new, fre_prior, fre_prior_free,
           fre_prior_new(&x, 2, mean, value, vector, err));
ALLOC_CASE(fre_prior_open, fre_prior, fre_prior_free, fre_prior_open(&x, prior_path, err));
ALLOC_CASE(fre_prior_open_for, fre_prior, fre_prior_free,
           fre_prior_open_for(&x, prior_path, NULL, &whole, err));
ALLOC_CASE(fre_prior_sums_new, fre_prior_sums, fre_prior_sums_free, fre_prior_sums_new(&x, DIM, 2));
ALLOC_CASE(fre_prior_make, fre_prior, fre_prior_free,
           fre_prior_make(&x, sums, &whole, "a test", err));
ALLOC_CASE(fre_bridge_open, fre_bridge, fre_bridge_free, fre_bridge_open(&x, bridge_path, err));
ALLOC_CASE(fre_bridge_open_for, fre_bridge, fre_bridge_free,
           fre_bridge_open_for(&x, bridge_path, NULL, &from, err));
ALLOC_CASE(fre_bridge_make, fre_bridge, fre_bridge_free,
           fre_bridge_make(&x, sums, &from, &to, "a test", err));
ALLOC_CASE(fre_bridge_prior, fre_prior, fre_prior_free, fre_bridge_prior(bridge, &x, err));

/* ---- codebooks ------------------------------------------------------------------------------------------ */

static const float centres[] = {1, 0, 0, 1, -1, 0};
static const float codes[] = {0.5f, 0, 0, 0.5f};
static const uint32_t group[] = {2, 1}, medoid[] = {0, 0, FRE_CODEBOOK_NO_MEDOID};
static const fre_codebook_base base = {
    .centre = centres, .centres = 3, .group = group, .n_groups = 2};
static const fre_codebook_spec levels[] = {
    {.base = 0, .codes = 2, .code = codes, .radius = 1, .gain = 1, .spread = 1},
    {.base = 0, .codes = 1, .radius = 1, .gain = 1, .spread = 1, .medoid = medoid},
};
static const fre_codebook_parts parts = {.dim = 2,
                                         .probes = 1,
                                         .base = &base,
                                         .n_bases = 1,
                                         .level = levels,
                                         .n_levels = 2,
                                         .text = "so",
                                         .text_bytes = 3};

static void codebook_tells_cells(void *c)
{
    const float x[] = {0.1f, 2};
    uint32_t cell[2] = {9, 9};

    assert_int_equal(fre_codebook_cells(c, cell, x, 1, 1), FRE_OK);
    assert_int_equal(cell[0], 3);
    assert_int_equal(cell[1], 1);
}

static const fre_codebook_size sizes[] = {{4, 2}, {4, 1}, {2, 1}};
static const fre_codebook_make_opts making = {
    .level = sizes, .n_levels = 3, .radius = 1, .rounds = 2, .threads = 1};
static float public_rows[ROWS * DIM];
static const char *sentences[ROWS];
static char codebook_path[512];

static void write_codebook(void)
{
    FILE *f = fopen(temp_path(codebook_path, &test_dir, "x.codebook.gguf"), "wb");
    fre_codebook *c = NULL;

    assert_non_null(f);
    mix = 8;
    for (size_t i = 0; i < ROWS * DIM; i++)
        public_rows[i] = (float)mix_gauss();
    for (size_t i = 0; i < ROWS; i++)
        sentences[i] = "so it is";
    assert_int_equal(
        fre_codebook_make(&c, (fre_rows){public_rows, ROWS}, &making, &whole, "", NULL), FRE_OK);
    assert_int_equal(fre_codebook_set_medoids(c, (fre_rows){public_rows, ROWS}, sentences, 1, NULL),
                     FRE_OK);
    assert_int_equal(fre_codebook_write(c, f, NULL), FRE_OK);
    assert_int_equal(fclose(f), 0);
    fre_codebook_free(c);
}

static void codebook_has_levels(void *c)
{
    assert_int_equal(fre_codebook_info_view(c)->n_levels, 3);
}

ALLOC_CASE(fre_codebook_new, fre_codebook, fre_codebook_free, fre_codebook_new(&x, &parts, err));
static fre_codebook *lent; /* to sketches */

static void sketch_tells_a_cell(void *s)
{
    uint32_t cell;

    assert_int_equal(fre_sketch_nearest(s, &cell, public_rows, fre_sketch_dim(s)), FRE_OK);
}

ALLOC_CASE(fre_codebook_sketch_open, fre_sketch, fre_sketch_free,
           fre_codebook_sketch_open(&x, lent, 0));
ALLOC_CASE(fre_codebook_make, fre_codebook, fre_codebook_free,
           fre_codebook_make(&x, (fre_rows){public_rows, ROWS}, &making, &whole, "", err));
ALLOC_CASE(fre_codebook_open, fre_codebook, fre_codebook_free,
           fre_codebook_open(&x, codebook_path, err));
ALLOC_CASE(fre_codebook_open_for, fre_codebook, fre_codebook_free,
           fre_codebook_open_for(&x, codebook_path, NULL, &whole, err));

/* With its level as cells, which borrow it. */
static fre_sketch *cells_of_level;
static void drop_level(fre_codebook *c)
{
    fre_sketch_free(cells_of_level);
    fre_codebook_free(c);
}
ALLOC_CASE(fre_codebook_open_level, fre_codebook, drop_level,
           fre_codebook_open_level(&x, &cells_of_level, codebook_path, 0, err));

/* Sentences are given whole or not at all. */
static void medoids_without_memory(void)
{
    fre_status st = FRE_E_NOMEM;
    fre_codebook *c = NULL;

    assert_int_equal(
        fre_codebook_make(&c, (fre_rows){public_rows, ROWS}, &making, &whole, "", NULL), FRE_OK);
    for (uint64_t n = 0; st == FRE_E_NOMEM; n++) {
        assert_null(fre_codebook_medoid(c, 2, 0));
        alloc_fail_after(n);
        st = fre_codebook_set_medoids(c, (fre_rows){public_rows, ROWS}, sentences, 1, NULL);
        (void)alloc_heal();
    }
    assert_int_equal(st, FRE_OK);
    assert_string_equal(fre_codebook_medoid(c, 2, 0), "so it is");
    fre_codebook_free(c);
}

static void codebooks(void **state)
{
    (void)state;
    write_codebook();
    (void)alloc_torture(&fre_codebook_make_case, codebook_has_levels);
    (void)alloc_torture(&fre_codebook_open_case, codebook_has_levels);
    (void)alloc_torture(&fre_codebook_open_for_case, codebook_has_levels);
    (void)alloc_torture(&fre_codebook_open_level_case, codebook_has_levels);
    medoids_without_memory();
    (void)alloc_torture(&fre_codebook_new_case, codebook_tells_cells);
    assert_int_equal(fre_codebook_new(&lent, &parts, NULL), FRE_OK);
    (void)alloc_torture(&fre_codebook_sketch_open_case, sketch_tells_a_cell);
    fre_codebook_free(lent);
}

static void priors_and_bridges(void **state)
{
    (void)state;
    (void)alloc_torture(&fre_prior_new_case, knows);
    (void)alloc_torture(&fre_prior_open_case, knows);
    (void)alloc_torture(&fre_prior_open_for_case, knows);
    (void)alloc_torture(&fre_prior_sums_new_case, NULL);
    (void)alloc_torture(&fre_prior_make_case, knows);
    (void)alloc_torture(&fre_bridge_open_case, crosses);
    (void)alloc_torture(&fre_bridge_open_for_case, crosses);
    (void)alloc_torture(&fre_bridge_make_case, crosses);
    assert_int_equal(fre_bridge_open(&bridge, bridge_path, NULL), FRE_OK);
    (void)alloc_torture(&fre_bridge_prior_case, knows);
    fre_bridge_free(bridge);
}

/* ---- what is made of them ---------------------------------------------------------------------------- */

static fre_embedder *embedder;
static fre_lm *lm;
static fre_inverter *inverter;
static fre_inverter_opts searches = {.path = FRE_INVERTER_SEARCH, .threads = 1};
static fre_paraphraser_opts paraphrases = {.paraphrases = 2};

static fre_status row_comes(void *ctx, const float *row, uint8_t mark, fre_err *err)
{
    (void)ctx;
    (void)row;
    (void)mark;
    (void)err;
    return FRE_OK;
}

ALLOC_CASE(fre_embed_stream_new, fre_embed_stream, fre_embed_stream_free,
           fre_embed_stream_new(&x, embedder, row_comes, NULL, err));
ALLOC_CASE(fre_lm_scorer_new, fre_lm_scorer, fre_lm_scorer_free,
           fre_lm_scorer_new(&x, lm, NULL, NULL, NULL, err));
ALLOC_CASE(fre_inverter_new, fre_inverter, fre_inverter_free,
           fre_inverter_new(&x, embedder, &searches, err));
ALLOC_CASE(fre_teller_new, fre_teller, fre_teller_free,
           fre_teller_new(&x, embedder, inverter, err));
ALLOC_CASE(fre_paraphraser_new, fre_paraphraser, fre_paraphraser_free,
           fre_paraphraser_new(&x, &paraphrases, err));

static fre_paraphraser *paraphraser;

static fre_status paraphrases_come(void *ctx, const fre_paraphrases *p, fre_err *err)
{
    (void)err;
    *(size_t *)ctx += 1 + p->n;
    return FRE_OK;
}

static size_t came;

ALLOC_CASE(fre_paraphrase_stream_new, fre_paraphrase_stream, fre_paraphrase_stream_free,
           fre_paraphrase_stream_new(&x, paraphraser, paraphrases_come, &came, NULL, err));

/* A text that there is no memory for is not taken, a batch that there is none for is lost; what comes
 * after either is paraphrased. */
static void stream_goes_on(void *stream)
{
    const fre_paraphrase_source s = {.text = "?!", .len = 2};
    fre_paraphrase_summary sum;
    fre_err err = {.text = ""};

    came = 0;
    alloc_fail_after(0);
    assert_int_equal(fre_paraphrase_stream_add(stream, &s, &err), FRE_E_NOMEM);
    assert_true(alloc_heal());
    assert_int_equal(fre_paraphrase_stream_add(stream, &s, &err), FRE_OK);
    alloc_fail_after(0);
    assert_int_equal(fre_paraphrase_stream_flush(stream, &err), FRE_E_NOMEM);
    assert_true(alloc_heal());
    assert_int_equal(fre_paraphrase_stream_flush(stream, &err), FRE_OK);
    assert_int_equal(came, 0);
    assert_int_equal(fre_paraphrase_stream_add(stream, &s, &err), FRE_OK);
    assert_int_equal(fre_paraphrase_stream_flush(stream, &err), FRE_OK);
    assert_int_equal(came, 1);
    fre_paraphrase_stream_summary(stream, &sum);
    assert_true(sum.texts == 1 && sum.without == 1 && sum.too_long == 0);
}

static void writers(void **state)
{
    const fre_embedder_opts e = {.path = encoder, .threads = 1};
    const fre_lm_opts l = {.path = decoder, .threads = 1};

    (void)state;
    assert_int_equal(fre_embedder_new(&embedder, &e, NULL), FRE_OK);
    assert_int_equal(fre_lm_open(&lm, &l, NULL), FRE_OK);
    (void)alloc_torture(&fre_embed_stream_new_case, NULL);
    (void)alloc_torture(&fre_lm_scorer_new_case, NULL);
    searches.search.public_corpus = corpus;
    searches.search.prior = searches.search.bridge = "none";
    (void)alloc_torture(&fre_inverter_new_case, NULL);
    assert_int_equal(fre_inverter_new(&inverter, embedder, &searches, NULL), FRE_OK);
    (void)alloc_torture(&fre_teller_new_case, NULL);
    paraphrases.embedder = embedder;
    paraphrases.lm = lm;
    paraphrases.inverter = inverter;
    (void)alloc_torture(&fre_paraphraser_new_case, NULL);
    assert_int_equal(fre_paraphraser_new(&paraphraser, &paraphrases, NULL), FRE_OK);
    (void)alloc_torture(&fre_paraphrase_stream_new_case, stream_goes_on);
    fre_paraphraser_free(paraphraser);
    fre_inverter_free(inverter);
    fre_lm_free(lm);
    fre_embedder_free(embedder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(models),
        cmocka_unit_test(priors_and_bridges),
        cmocka_unit_test(codebooks),
        cmocka_unit_test(writers),
    };

    return cmocka_run_group_tests(tests, make_files, remove_files);
}
