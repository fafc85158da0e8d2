/* evaluate's inputs: a release's folder, synthetic texts, originals; exact texts; the JSON. */
#include <fre/evaluate.h>

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "assert_num.h"
#include "evaluate_private.h"
#include "temp_dir.h"

static void put(const temp_dir *t, const char *name, const char *text)
{
    char path[512];

    write_file(temp_path(path, t, name), text, strlen(text));
}

static void put_npy(const temp_dir *t, const char *name, const float *x, size_t rows, size_t dim,
                    const char *sha256)
{
    char path[512], side[520];
    fre_npy_meta meta = {.embedder = "test", .normalised = false};
    fre_err err;
    FILE *f = fopen(temp_path(path, t, name), "wb");

    assert_non_null(f);
    assert_int_equal(fre_npy_write_header(f, FRE_NPY_F4, rows, dim, &err), FRE_OK);
    assert_int_equal(fwrite(x, sizeof *x, rows * dim, f), rows * dim);
    fclose(f);
    (void)snprintf(side, sizeof side, "%s.json", path);
    f = fopen(side, "w");
    assert_non_null(f);
    memcpy(meta.sha256, sha256, strlen(sha256) + 1);
    assert_int_equal(fre_npy_write_meta(f, &meta, rows, dim, &err), FRE_OK);
    fclose(f);
}

#define SEED "0500000000000000000000000000000000000000000000000000000000000000"
#define SHA_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SHA_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define PARAMETERS                                                                                 \
    "\"parameters\": {\"grid_seed\": \"" SEED "\", \"projection_dim\": 3, \"dimension\": 2, "      \
    "\"threshold\": 3, \"cell_edge\": 2.5, \"radius\": 0.5}"
#define RELEASE_A                                                                                  \
    "{\"released_cells\": 2, " PARAMETERS ", \"models\": {\"embedder\": {\"sha256\": \"" SHA_A     \
    "\"}}}"

/* ---- synthetic texts ------------------------------------------------------------------------ */

static void test_synthetic(void **state)
{
    temp_dir t;
    char path[512];
    evaluate_synthetic s;
    fre_err err;

    (void)state;
    temp_dir_make(&t);
    put(&t, "made.jsonl",
        "{\"text\": \"one\", \"paraphrases\": [\"two\", \"three\"], \"cell\": \"" SEED "\"}\n"
        "\n"
        "{\"text\": null, \"count\": 4}\n"
        "{\"text\": \"one\"}");
    assert_int_equal(evaluate_synthetic_load(&s, temp_path(path, &t, "made.jsonl"), &err), FRE_OK);
    assert_int_equal(s.place.n, 4);
    assert_int_equal(s.n_texts, 2);
    assert_int_equal(s.lines, 3);
    assert_string_equal(evaluate_synthetic_text(&s, 0), "one");
    assert_string_equal(evaluate_synthetic_text(&s, 1), "one"); /* duplicates count */
    assert_string_equal(evaluate_synthetic_text(&s, 2), "two"); /* paraphrases come last */
    assert_int_equal(s.place.len[3], 5);
    evaluate_synthetic_wipe(&s);
    put(&t, "made.csv", "id,text\n1,\"a, b\"\n2,c\n");
    assert_int_equal(evaluate_synthetic_load(&s, temp_path(path, &t, "made.csv"), &err), FRE_OK);
    assert_int_equal(s.place.n, 2);
    assert_int_equal(s.n_texts, 2);
    assert_string_equal(evaluate_synthetic_text(&s, 0), "a, b");
    evaluate_synthetic_wipe(&s);
    put(&t, "blank.jsonl",
        "{\"text\": \"one\", \"paraphrases\": [\"\", \" \", \"two\"]}\n"
        "{\"text\": \"\", \"paraphrases\": [\"\\u200b\\u2003\\n\"]}\n"
        "{\"text\": \" \\t\"}\n{\"text\": \"\\ud83d\\ude00\"}\n"); /* a face is a text */
    assert_int_equal(evaluate_synthetic_load(&s, temp_path(path, &t, "blank.jsonl"), &err), FRE_OK);
    assert_int_equal(s.lines, 4);
    assert_int_equal(s.n_texts, 4); /* an empty text counts against a release */
    assert_int_equal(s.place.n, 5); /* an empty paraphrase is none */
    evaluate_synthetic_wipe(&s);
    temp_dir_remove(&t);
}

static void test_synthetic_refusals(void **state)
{
    static const struct {
        const char *content, *message;
    } bad[] = {
        {"{\"text\": \"a\"}\n{\"text\": 3}\n",
         ": line 2: the field \"text\" is a number; make it a string, or name another with "
         "{text_field}"},
        {"{\"count\": 3}\n",
         ": line 1: the field \"text\" is missing; add it, or name another with {text_field}"},
        {"\n[1]\n", ": is a JSON array, but not of objects or of strings; write one object a line"},
        {"{\"text\": \"a\"", ": line 1, column 13: not valid JSON: a comma or a closing brace is "
                             "expected; write one object a line"},
    };
    temp_dir t;
    char path[512];
    evaluate_synthetic s = {.n_texts = 77};
    fre_err err;

    (void)state;
    temp_dir_make(&t);
    temp_path(path, &t, "s.jsonl");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put(&t, "s.jsonl", bad[i].content);
        assert_int_equal(evaluate_synthetic_load(&s, path, &err), FRE_E_DATA);
        assert_string_equal(strncmp(err.text, path, strlen(path)) == 0 ? err.text + strlen(path)
                                                                       : err.text,
                            bad[i].message);
    }
    temp_path(path, &t, "none.jsonl");
    assert_int_equal(evaluate_synthetic_load(&s, path, &err), FRE_E_NOINPUT);
    assert_int_equal(s.n_texts, 77);
    temp_dir_remove(&t);
}

/* ---- exact texts ------------------------------------------------------------------------------ */

static void add_original(evaluate_distinct *t, const char *text)
{
    size_t at;

    assert_int_equal(evaluate_distinct_add(t, &at, text, strlen(text)), FRE_OK);
}

static void test_exact(void **state)
{
    /* "play MUSIC" is rare, yet it folds to a frequent text */
    const bool frequent[] = {true, false, false, true};
    temp_dir t;
    char path[512];
    const uint64_t other[] = {2, 0, 0, 1};
    const char *text[8];
    evaluate_distinct originals;
    evaluate_synthetic s;
    evaluate_set set = {.text = text};
    fre_exact_shares exact;
    uint8_t mark[8];
    fre_err err;

    (void)state;
    assert_int_equal(evaluate_distinct_init(&originals, false), FRE_OK);
    add_original(&originals, "play music");
    add_original(&originals, "play MUSIC");
    add_original(&originals, "Rare");
    add_original(&originals, "caf\xc3\x89"); /* U+00C9 */
    temp_dir_make(&t);
    put(&t, "made.jsonl",
        "{\"text\": \"play music\"}\n{\"text\": \"Play Music\"}\n{\"text\": \"Rare\"}\n"
        "{\"text\": \"CAFE\\u0301\"}\n{\"text\": \"play MUSIC\"}\n{\"text\": \"else\"}\n"
        "{\"text\": \"RARE\"}\n{\"text\": \"\"}\n");
    assert_int_equal(evaluate_synthetic_load(&s, temp_path(path, &t, "made.jsonl"), &err), FRE_OK);
    assert_int_equal(s.n_texts, 8);
    for (size_t i = 0; i < 8; i++)
        text[i] = evaluate_synthetic_text(&s, i);
    set.n = 8;
    set.len = s.place.len;
    assert_int_equal(evaluate_exact_marks(mark, &set, &originals, frequent, NULL), FRE_OK);
    exact = evaluate_exact_shares(mark, s.n_texts);
    assert_close(exact.frequent, 1.0 / 8.0, 0.0, 0.0);
    assert_close(exact.any, 3.0 / 8.0, 0.0, 0.0);
    assert_close(exact.frequent_folded, 4.0 / 8.0, 0.0, 0.0);
    assert_close(exact.any_folded, 6.0 / 8.0, 0.0, 0.0);
    /* Without "play MUSIC" and "Rare": */
    assert_int_equal(evaluate_exact_marks(mark, &set, &originals, frequent, other), FRE_OK);
    exact = evaluate_exact_shares(mark, s.n_texts);
    assert_close(exact.any, 1.0 / 8.0, 0.0, 0.0);
    assert_close(exact.any_folded, 4.0 / 8.0, 0.0, 0.0);
    evaluate_synthetic_wipe(&s);
    exact = evaluate_exact_shares(mark, 0);
    assert_true(isnan(exact.any) && isnan(exact.frequent_folded));
    evaluate_distinct_wipe(&originals);
    temp_dir_remove(&t);
}

/* ---- the whole over .npy originals (no model needed) --------------------------------------------- */

/* Originals: (0,0) x3 (a hair beside it, since zeros are no text), (4,4) x1 and (8,8) x3; release: centroids .25 from the first and the second. */
static void make_case(const temp_dir *t, bool name_cells)
{
    const float x[] = {0, 1e-30f, 8, 8, 4, 4, 0, 1e-30f, 8, 8, 0, 1e-30f, 8, 8};
    const float centroid[] = {0.25f, 0, 4, 4.25f};
    const float member[] = {0, 1e-30f, 4, 4};
    char text[1024] = "", hex[65];
    const fre_sketch_params p = {.seed = {5}, .dim = 2, .grid.proj = 3, .grid.cell_edge = 2.5};
    fre_sketch *s = NULL;
    size_t n = 0;

    assert_int_equal(fre_sketch_new(&s, &p), FRE_OK);
    for (size_t i = 0; i < 2; i++) {
        fre_cell c;
        assert_int_equal(fre_sketch_cell(s, &c, member + 2 * i, 2), FRE_OK);
        fre_hex(hex, c.bytes, sizeof c.bytes);
        n += (size_t)snprintf(text + n, sizeof text - n,
                              name_cells ? "{\"text\": null, \"count\": 3, \"cell\": \"%s\"}\n"
                                         : "{\"text\": null, \"count\": 3}\n",
                              hex);
    }
    fre_sketch_free(s);
    put(t, "synthetic.jsonl", text);
    put(t, "release.json", RELEASE_A);
    put_npy(t, "centroids.npy", centroid, 2, 2, SHA_A);
    put_npy(t, "x.npy", x, 7, 2, SHA_A);
}

static json_t *to_json(const fre_evaluation *e)
{
    fre_buf b;
    json_t *o;

    fre_buf_init(&b, 1 << 16);
    assert_int_equal(fre_evaluation_json(&b, e, 1), FRE_OK);
    o = json_loadb((const char *)b.p, b.n, 0, NULL);
    assert_non_null(o);
    fre_buf_wipe(&b);
    return o;
}

static double json_at(json_t *o, const char *a, const char *b, const char *c)
{
    return json_number_value(json_object_get(json_object_get(json_object_get(o, a), b), c));
}

static void test_files(void **state)
{
    temp_dir t;
    char npy[512];
    fre_evaluate_opts o;
    fre_evaluation e;
    fre_err err;
    json_t *j;

    (void)state;
    temp_dir_make(&t);
    make_case(&t, true);
    fre_evaluate_opts_init(&o);
    o.synthetic = t.path;
    o.original = temp_path(npy, &t, "x.npy");
    assert_int_equal(fre_evaluate_files(&e, &o, &err), FRE_OK);
    assert_close(e.radius, 0.5, 0.0, 0.0); /* the release's */
    assert_int_equal(e.threshold, 3);
    assert_int_equal(e.originals, 7);
    assert_int_equal(e.distinct, 3);
    assert_int_equal(e.frequent, 6);
    assert_int_equal(e.frequent_distinct, 2);
    assert_true(e.has[FRE_SET_CENTROID] && e.has_cell && !e.has[FRE_SET_TEXT] && !e.has_exact);
    j = to_json(&e);
    assert_true(json_is_null(json_object_get(j, "text")));
    assert_true(json_is_null(json_object_get(j, "exact")));
    assert_close(json_at(j, "centroid", "frequent", "precision"), 0.5, 0.0, 0.0);
    assert_close(json_at(j, "centroid", "frequent", "recall"), 0.5, 0.0, 0.0);
    assert_close(json_at(j, "centroid", "frequent", "l2"), (0.25 + hypot(4, 3.75)) / 2, 1e-6, 0);
    assert_close(json_at(j, "centroid", "all", "precision"), 1.0, 0.0, 0.0);
    assert_close(json_at(j, "centroid", "all", "recall"), 4.0 / 7.0, 1e-9, 0.0);
    assert_close(json_at(j, "centroid", "all", "l2"), 0.25, 1e-6, 0.0);
    assert_close(json_at(j, "cell", "frequent", "precision"), 0.5, 0.0, 0.0);
    assert_close(json_at(j, "cell", "frequent", "recall"), 0.5, 0.0, 0.0);
    assert_close(json_at(j, "cell", "frequent", "l2"), 0.25, 1e-6, 0.0);
    assert_close(json_at(j, "cell", "all", "recall"), 2.0 / 3.0, 1e-9, 0.0);
    json_decref(j);
    o.threshold = 4; /* nobody is frequent: null, not zero */
    assert_int_equal(fre_evaluate_files(&e, &o, &err), FRE_OK);
    j = to_json(&e);
    assert_true(json_is_null(
        json_object_get(json_object_get(json_object_get(j, "centroid"), "frequent"), "recall")));
    json_decref(j);
    make_case(&t, false);
    assert_int_equal(fre_evaluate_files(&e, &o, &err), FRE_OK);
    assert_true(e.has[FRE_SET_CENTROID] && !e.has_cell);
    temp_dir_remove(&t);
}

/* Many who say the same in three places: what one half would release is what the other holds, to the bit. */
static void test_cells_beside_halves(void **state)
{
    static const float place[] = {0, 1e-30f, 4, 4, 8, 8};
    enum { EACH = 60 };
    float x[3 * EACH * 2];
    temp_dir t;
    char npy[512];
    fre_evaluate_opts o;
    fre_evaluation e;
    fre_err err;
    json_t *j, *level;

    (void)state;
    temp_dir_make(&t);
    make_case(&t, true);
    for (size_t i = 0; i < 3 * EACH; i++)
        memcpy(x + 2 * i, place + 2 * (i % 3), 2 * sizeof *x);
    put_npy(&t, "many.npy", x, 3 * EACH, 2, SHA_A);
    fre_evaluate_opts_init(&o);
    o.synthetic = t.path;
    o.original = temp_path(npy, &t, "many.npy");
    o.threshold = 20;
    assert_int_equal(fre_evaluate_files(&e, &o, &err), FRE_OK);
    assert_true(e.has_cell && e.has[FRE_SET_HALVES] && !e.has[FRE_SET_UNRELATED]);
    assert_int_equal(e.cell_reference[0].frequent, 3); /* at least 10 in the half */
    assert_int_equal(e.cell_reference[0].released, 3);
    assert_close(e.cell_reference[0].scores.frequent.precision, 1, 0, 0);
    assert_close(e.cell_reference[0].scores.frequent.recall, 1, 0, 0);
    assert_close(e.cell_reference[0].scores.frequent.l2, 0, 1e-6, 0);
    assert_true(e.has_level_reference[0] && !e.has_level_reference[1]);
    assert_int_equal(e.n_levels, 1);
    for (size_t at = 0; at < 2; at++) {
        const fre_level_evaluation *l = &e.level_reference[0][at];

        assert_int_equal(l->cells, 2);
        assert_true(l->records > 30 && l->records < 90); /* of 120, by coins */
        assert_true(l->covered > .5 && l->covered < .8);
        assert_close(l->centroid_l2, 0, 1e-6, 0);
    }
    j = to_json(&e);
    assert_close(
        json_number_value(json_object_get(
            json_object_get(
                json_object_get(json_object_get(json_object_get(j, "reference"), "halves"), "cell"),
                "frequent"),
            "recall")),
        1, 0, 0);
    level = json_array_get(json_object_get(j, "levels"), 0);
    assert_true(json_is_null(json_object_get(json_object_get(level, "reference"), "unrelated")));
    assert_close(json_number_value(json_object_get(
                     json_object_get(json_object_get(level, "reference"), "halves"), "covered")),
                 e.level_reference[0][0].covered, 1e-9, 0);
    json_decref(j);
    o.threshold = 200; /* nothing in either half */
    assert_int_equal(fre_evaluate_files(&e, &o, &err), FRE_OK);
    assert_int_equal(e.cell_reference[0].released, 0);
    assert_true(isnan(e.cell_reference[0].scores.frequent.recall));
    temp_dir_remove(&t);
}

static void test_files_refusals(void **state)
{
    const float wide[] = {1, 2, 3};
    temp_dir t;
    char npy[512];
    fre_evaluate_opts o;
    fre_evaluation e = {.originals = 77};
    fre_err err;

    (void)state;
    temp_dir_make(&t);
    make_case(&t, true);
    fre_evaluate_opts_init(&o);
    o.synthetic = t.path;
    o.original = temp_path(npy, &t, "y.npy");
    put_npy(&t, "y.npy", wide, 1, 2, SHA_B);
    assert_int_equal(fre_evaluate_files(&e, &o, &err), FRE_E_DATA);
    assert_string_equal(err.text, "the release and the originals come from different embedders "
                                  "(sha256 aaaaaaaaaaaa... and bbbbbbbbbbbb...): embed both with "
                                  "the same model, named by {embedder}");
    put_npy(&t, "y.npy", wide, 1, 3, SHA_A);
    assert_int_equal(fre_evaluate_files(&e, &o, &err), FRE_E_DATA);
    assert_string_equal(err.text, "the release has dimension 2, the originals have 3");
    o.original = temp_path(npy, &t, "absent.npy");
    assert_int_equal(fre_evaluate_files(&e, &o, &err), FRE_E_NOINPUT);
    o.original = temp_path(npy, &t, "blank.txt");
    put(&t, "blank.txt", "\n  \n");
    assert_int_equal(fre_evaluate_files(&e, &o, &err), FRE_E_NOINPUT);
    assert_non_null(strstr(err.text, "holds no text"));
    o.alpha = 0.0;
    assert_int_equal(fre_evaluate_files(&e, &o, &err), FRE_E_USAGE);
    assert_string_equal(err.text, "{alpha} must be a number above 0 and at most 1000");
    o.alpha = 1.5;
    o.radius = 1e7;
    assert_int_equal(fre_evaluate_files(&e, &o, &err), FRE_E_USAGE);
    assert_string_equal(err.text, "{radius} must be a number above 0 and at most 1000000");
    assert_int_equal(e.originals, 77);
    temp_dir_remove(&t);
}

/* ---- texts, with the bundled embedder -------------------------------------------------------- */

#define MODEL FRE_SOURCE_DIR "/models/" FRE_EMBEDDER_DEFAULT

static const char *const lines[] = {"turn off the lights", "what time is it", "turn off the lights",
                                    "turn the lights off", "my tooth hurts"};

/* Row i for record i, as `embed` writes them; far is added to a coordinate of row `which`. */
static void put_embeddings(const temp_dir *t, size_t which, float far)
{
    const fre_embedder_opts eo = {MODEL, 1};
    fre_embedder *e = NULL;
    float x[5 * 384];
    size_t len[5];
    fre_err err;

    assert_int_equal(fre_embedder_new(&e, &eo, &err), FRE_OK);
    for (size_t i = 0; i < 5; i++)
        len[i] = strlen(lines[i]);
    assert_int_equal(fre_embed_texts(e, x, lines, len, 5, &err), FRE_OK);
    fre_embedder_free(e);
    x[which * 384] += far;
    put_npy(t, "x.npy", x, 5, 384, "");
}

static void test_texts(void **state)
{
    temp_dir t;
    char original[512], synthetic[512], npy[512];
    fre_evaluate_opts o;
    fre_evaluation e, again;
    fre_err err;

    (void)state;
    temp_dir_make(&t);
    put(&t, "o.txt",
        "turn off the lights\nwhat time is it\nturn off the lights\nturn the lights off\n"
        "my tooth hurts\n");
    put(&t, "s.jsonl", "{\"text\": \"Turn off the lights\"}\n{\"text\": \"my tooth hurts\"}\n");
    fre_evaluate_opts_init(&o);
    o.synthetic = temp_path(synthetic, &t, "s.jsonl");
    o.original = temp_path(original, &t, "o.txt");
    o.embedder = MODEL;
    o.threshold = 3;
    assert_int_equal(fre_evaluate_files(&e, &o, &err), FRE_OK);
    assert_true(e.has[FRE_SET_TEXT] && e.has_exact && !e.has[FRE_SET_CENTROID] && !e.has_cell);
    assert_int_equal(e.originals, 5);
    assert_int_equal(e.distinct, 4);
    assert_int_equal(e.frequent, 3); /* the wordings about lights */
    assert_int_equal(e.frequent_distinct, 2);
    assert_close(e.place[FRE_SET_TEXT].scores.frequent.precision, 0.5, 0.0, 0.0);
    assert_close(e.place[FRE_SET_TEXT].scores.frequent.recall, 1.0, 0.0, 0.0);
    assert_close(e.place[FRE_SET_TEXT].scores.all.precision, 1.0, 0.0, 0.0);
    assert_close(e.place[FRE_SET_TEXT].scores.all.recall, 0.8, 0.0, 0.0);
    assert_close(e.exact.any, 0.5, 0.0, 0.0);
    assert_close(e.exact.frequent, 0.0, 0.0, 0.0);
    assert_close(e.exact.frequent_folded, 0.5, 0.0, 0.0);
    assert_false(e.has[FRE_SET_PARAPHRASED]);

    /* Paraphrases change their own level and nothing else. */
    put(&t, "s.jsonl",
        "{\"text\": \"Turn off the lights\", \"paraphrases\": [\"what time is it\", \"the lights, "
        "turn them off\"]}\n{\"text\": \"my tooth hurts\", \"paraphrases\": []}\n");
    assert_int_equal(fre_evaluate_files(&again, &o, &err), FRE_OK);
    assert_memory_equal(&again.place[FRE_SET_TEXT].scores, &e.place[FRE_SET_TEXT].scores,
                        sizeof e.place[FRE_SET_TEXT].scores);
    assert_close(again.exact.any, e.exact.any, 0.0, 0.0);
    assert_int_equal(again.synthetic, 2);
    assert_int_equal(again.paraphrases, 2);
    assert_true(again.has[FRE_SET_PARAPHRASED]);
    assert_close(again.place[FRE_SET_PARAPHRASED].scores.frequent.precision, 0.5, 0.0,
                 0.0); /* 2 of 4 are of lights */
    assert_close(again.place[FRE_SET_PARAPHRASED].scores.all.recall, 1.0, 0.0, 0.0);

    put_embeddings(&t, 0, 0.0f);
    o.embeddings = temp_path(npy, &t, "x.npy");
    assert_int_equal(fre_evaluate_files(&again, &o, &err), FRE_OK);
    assert_memory_equal(&again.place[FRE_SET_TEXT].scores, &e.place[FRE_SET_TEXT].scores,
                        sizeof e.place[FRE_SET_TEXT].scores);
    put_embeddings(&t, 3, 9.0f); /* row 3 is the third distinct text's */
    assert_int_equal(fre_evaluate_files(&again, &o, &err), FRE_OK);
    assert_int_equal(again.frequent, 0);
    put_embeddings(&t, 2, (float)NAN); /* of a text that came before, whose first row is taken */
    assert_int_equal(fre_evaluate_files(&again, &o, &err), FRE_E_DATA);
    assert_non_null(strstr(err.text, "row 3"));
    put_embeddings(&t, 0, 0.0f);
    put(&t, "o.txt", "turn off the lights\n");
    assert_int_equal(fre_evaluate_files(&again, &o, &err), FRE_E_DATA);
    assert_non_null(strstr(err.text, "x.npy has 5 rows of 384, the originals need 1 of 384"));
    o.original = npy;
    assert_int_equal(fre_evaluate_files(&again, &o, &err), FRE_E_USAGE);
    temp_dir_remove(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_synthetic),
        cmocka_unit_test(test_synthetic_refusals),
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_files_refusals),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_cells_beside_halves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
