/* A release's folder: what is in it with a curator and without one, and what is refused. */
#include <fre/release.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "confidence_table.h"

static char *folder; /* a fresh one for each test */

static int make_place(void **state)
{
    char *at = strdup("/tmp/test_release.XXXXXX");

    *state = at;
    if (!at || !mkdtemp(at))
        return -1;
    return asprintf(&folder, "%s/out", at) < 0 ? -1 : 0;
}

static void path_in(char *out, size_t n, const char *name)
{
    (void)snprintf(out, n, "%s/%s", folder, name);
}

static int drop_place(void **state)
{
    const char *const *name = fre_release_files();
    char path[300];

    for (; *name; name++) {
        path_in(path, sizeof path, *name);
        (void)unlink(path);
    }
    (void)rmdir(folder);
    (void)rmdir(*state);
    free(folder);
    free(*state);
    return 0;
}

static char *content(const char *name)
{
    static char text[1 << 16];
    char path[300];
    FILE *f;
    size_t n;

    path_in(path, sizeof path, name);
    f = fopen(path, "rb");
    assert_non_null(f);
    n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    assert_int_equal(fclose(f), 0);
    return text;
}

static fre_plan plan_of(bool distributed)
{
    fre_plan_request r;
    fre_plan plan;

    fre_plan_request_init(&r);
    r.epsilon = 8;
    r.population = 10000;
    r.dim = 2;
    if (distributed) {
        r.noise = FRE_NOISE_DISCRETE;
        r.dist = (fre_distributed){.on = true, .cover = true, .curious = 1, .dropout = .1};
    }
    assert_int_equal(fre_plan_make(&plan, &r, NULL), FRE_OK);
    return plan;
}

static const uint8_t grid_seed[32] = {1, 2, 3};

/* Two cells of dimension 2; not to be wiped. */
static fre_release release_of(const fre_plan *plan)
{
    static char statement[] = "first\nsecond\n", wording[] = "a wording", other[] = "another";
    static char further[] = "a further one";
    static fre_inversion texts[] = {{.text = further, .confidence = {true, .25, .125}}};
    static char *more[] = {other};
    static float centroid[] = {.5f, -.25f, 1, 0};
    static fre_cell name[] = {{{0xab}}, {{0xcd}}};
    static fre_released_cell cell[] = {
        {.count = 90,
         .users = 100,
         .noise_norm = .1,
         .group = 1,
         .texts = texts,
         .n_texts = 1,
         .text = {.text = wording,
                  .similarity = .5,
                  .share = .75,
                  .confidence = {true, .875, .5},
                  .paraphrases = more,
                  .n_paraphrases = 1}},
        {.count = 300, .users = 333, .noise_norm = .05},
    };
    fre_release r = {.is_private = true,
                     .users_named = true,
                     .statement = statement,
                     .cell = cell,
                     .n = 2,
                     .centroid = centroid,
                     .cell_name = name,
                     .embedder = {.embedder = "an embedder"}};

    memset(r.embedder.sha256, 'a', 64);
    fre_release_set_plan(&r, plan, grid_seed);
    return r;
}

static fre_status write_with(const fre_release *r, const fre_release_context *context)
{
    fre_outdir *dir = NULL;
    fre_status st = fre_outdir_open(&dir, folder, fre_release_files(), true, NULL);

    assert_int_equal(st, FRE_OK);
    st = fre_release_write(dir, r, context, NULL);
    if (st == FRE_OK)
        st = fre_outdir_commit(dir, NULL);
    fre_outdir_free(dir);
    return st;
}

static void test_curator(void **state)
{
    const fre_plan plan = plan_of(false);
    const fre_release r = release_of(&plan);
    const fre_release_context context = {.plan = &plan,
                                         .inverter = {.language_model = grid_seed, .effort = 7},
                                         .ledger_entry = "0123456789abcdef"};

    (void)state;
    assert_int_equal(write_with(&r, &context), FRE_OK);
    assert_non_null(strstr(content("synthetic.jsonl"), "\"cell\":\"ab00"));
    assert_non_null(strstr(content("release.json"), "0123456789abcdef"));
    assert_non_null(strstr(content("release.json"), "\"second\""));
    assert_non_null(strstr(content("release.json"), "\"prior\": null"));
    assert_non_null(
        strstr(content("release.json"), "\"language_model\": {\n      \"sha256\": \"01020300"));
    assert_non_null(strstr(content("release.json"),
                           "\"search\": {\n    \"effort\": 7,\n    \"public_corpus\": null"));
    assert_null(strstr(content("release.json"), "\"collection\""));
    assert_null(strstr(content("release.json"), "no cell was released"));
}

/* Nobody knows the cells of a collection; its terms are there instead. */
static void test_distributed(void **state)
{
    static const char *const warning[] = {"a warning of the run"};
    const fre_plan plan = plan_of(true);
    fre_release r = release_of(&plan);
    const fre_release_context context = {.plan = &plan,
                                         .ledger_reason = "a reason",
                                         .collection = "{\"id\": \"c0ffee\"}",
                                         .warning = warning,
                                         .n_warnings = 1};
    fre_npy *npy = NULL;
    float row[2];
    char path[300];

    (void)state;
    r.cell_name = NULL;
    assert_int_equal(write_with(&r, &context), FRE_OK);
    assert_null(strstr(content("synthetic.jsonl"), "\"cell\""));
    assert_non_null(strstr(content("release.json"), "\"c0ffee\""));
    assert_non_null(strstr(content("release.json"), "a warning of the run"));
    assert_non_null(strstr(content("release.json"), "a reason"));
    path_in(path, sizeof path, "centroids.npy");
    assert_int_equal(fre_npy_open(&npy, path, NULL), FRE_OK);
    assert_int_equal(fre_npy_rows(npy), 2);
    assert_int_equal(fre_npy_row(npy, row, 1, NULL), FRE_OK);
    assert_memory_equal(row, r.centroid + 2, sizeof row);
    fre_npy_free(npy);
}

static void test_empty_release(void **state)
{
    const fre_plan plan = plan_of(true);
    const fre_release_context context = {.plan = &plan, .ledger_reason = ""};
    fre_release r = release_of(&plan);
    char warning[4 * FRE_ERR_BYTES];

    (void)state;
    r.n = 0;
    assert_int_equal(write_with(&r, &context), FRE_OK);
    assert_non_null(strstr(content("release.json"),
                           fre_param_render(warning, sizeof warning, FRE_RELEASE_NO_CELL, NULL)));
    assert_null(strstr(warning, "{threshold}")); /* as release.json names it: threshold */
    assert_string_equal(content("synthetic.jsonl"), "");
}

static void test_terms_that_are_no_object(void **state)
{
    static const char *const wrong[] = {"[]", "{", "3", "{\"a\": 1, \"a\": 2}"};
    const fre_plan plan = plan_of(true);
    fre_release_context context = {.plan = &plan, .ledger_reason = ""};
    const fre_release r = release_of(&plan);
    struct stat is;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        context.collection = wrong[i];
        assert_int_equal(write_with(&r, &context), FRE_E_DATA);
        assert_int_not_equal(stat(folder, &is), 0);
    }
}

static void test_statement(void **state)
{
    const fre_plan plan = plan_of(true);
    char *with = NULL, *without = NULL;

    (void)state;
    assert_int_equal(fre_release_statement(&with, &plan, true, true, false, NULL), FRE_OK);
    assert_int_equal(fre_release_statement(&without, &plan, false, false, true, NULL), FRE_OK);
    assert_null(strstr(with, "NOT PRIVATE"));
    assert_non_null(strstr(without, "NOT PRIVATE"));
    assert_null(strstr(with, "each record counts as a user of its own"));
    assert_non_null(strstr(without, "each record counts as a user of its own"));
    free(with);
    free(without);
}

static void assert_trusted(const fre_inversion *v, double same, double exact, double within)
{
    assert_true(v->confidence.known);
    assert_true(fabs(v->confidence.same - same) < within);
    assert_true(fabs(v->confidence.exact - exact) < within);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* What was written comes back. */
static void test_read(void **state)
{
    const fre_plan plan = plan_of(false);
    const fre_release r = release_of(&plan);
    const fre_release_context context = {.plan = &plan, .ledger_reason = ""};
    fre_release back;

    (void)state;
    assert_int_equal(write_with(&r, &context), FRE_OK);
    assert_int_equal(fre_release_read(&back, folder, NULL), FRE_OK);
    assert_memory_equal(back.grid.seed, grid_seed, sizeof grid_seed);
    assert_int_equal(back.grid.dim, 2);
    assert_int_equal(back.grid.grid.proj, r.grid.grid.proj);
    assert_memory_equal(&back.grid.grid.cell_edge, &r.grid.grid.cell_edge, sizeof(double));
    assert_memory_equal(&back.radius, &r.radius, sizeof(double));
    assert_int_equal(back.threshold, r.threshold);
    assert_true(back.is_private && back.users_named && !back.strict);
    assert_string_equal(back.statement, r.statement);
    assert_string_equal(back.embedder.sha256, r.embedder.sha256);
    assert_string_equal(back.embedder.embedder, r.embedder.embedder);
    assert_int_equal(back.n, 2);
    assert_memory_equal(back.centroid, r.centroid, 4 * sizeof(float));
    assert_memory_equal(back.cell_name, r.cell_name, 2 * sizeof(fre_cell));
    assert_int_equal(back.cell[1].count, 300);
    assert_true(back.cell[1].users > 332.9 && back.cell[1].users < 333.1);
    assert_true(back.cell[1].noise_norm > .0499 && back.cell[1].noise_norm < .0501);
    assert_null(back.cell[1].text.text);
    assert_true(isnan(back.cell[1].text.similarity));
    assert_string_equal(back.cell[0].text.text, "a wording");
    assert_int_equal(back.cell[0].text.n_paraphrases, 1);
    assert_string_equal(back.cell[0].text.paraphrases[0], "another");
    assert_null(back.cell[1].text.paraphrases);
    assert_trusted(&back.cell[0].text, .875, .5, 1e-9);
    assert_int_equal(back.cell[0].n_texts, 1);
    assert_string_equal(back.cell[0].texts[0].text, "a further one");
    assert_trusted(&back.cell[0].texts[0], .25, .125, 1e-9);
    assert_false(back.cell[1].text.confidence.known);
    assert_int_equal(back.cell[0].group, 1);
    assert_int_equal(back.cell[1].group, 0);
    assert_int_equal(back.left_out, 0);
    fre_release_wipe(&back);
    fre_release_wipe(&back); /* twice is once */
}

static void test_read_collection(void **state)
{
    const fre_plan plan = plan_of(true);
    const fre_release_context context = {.plan = &plan, .ledger_reason = "", .collection = "{}"};
    fre_release r = release_of(&plan), back;

    (void)state;
    r.cell_name = NULL;
    r.is_private = false;
    assert_int_equal(write_with(&r, &context), FRE_OK);
    assert_int_equal(fre_release_read(&back, folder, NULL), FRE_OK);
    assert_false(back.is_private);
    assert_null(back.cell_name);
    assert_int_equal(back.cell[1].count, 300);
    fre_release_wipe(&back);
    r.n = 0;
    assert_int_equal(write_with(&r, &context), FRE_OK);
    assert_int_equal(fre_release_read(&back, folder, NULL), FRE_OK);
    assert_int_equal(back.n, 0);
    fre_release_wipe(&back);
}

/* How sure a line is stands there, and what that was made of; a line without a text has neither. */
static void test_trust_is_written(void **state)
{
    const fre_plan plan = plan_of(false);
    const fre_release r = release_of(&plan);
    const fre_release_context context = {.plan = &plan, .ledger_reason = ""};

    (void)state;
    assert_int_equal(write_with(&r, &context), FRE_OK);
    assert_non_null(strstr(content("synthetic.jsonl"),
                           "\"confidence\":0.875,\"confidence_exact\":0.5,\"texts_confidence\":["
                           "0.25],\"texts_confidence_exact\":[0.125],\"group\":1,\"share\":0.75"));
    assert_non_null(strstr(content("synthetic.jsonl"),
                           "\"confidence\":null,\"confidence_exact\":null,\"texts_confidence\":[],"
                           "\"texts_confidence_exact\":[],\"group\":0,\"share\":null"));
    assert_non_null(strstr(content("release.json"), "\"left_out\": null"));
}

/* ---- what is sure enough ------------------------------------------------------------------------ */

/* Owned, so that cells can be left out: n of dimension 2. */
static fre_release owned(const fre_plan *plan, size_t n)
{
    fre_release r = {.n = n};

    r.cell = calloc(n, sizeof *r.cell);
    r.centroid = calloc(2 * n, sizeof *r.centroid);
    r.cell_name = calloc(n, sizeof *r.cell_name);
    r.statement = strdup("a sentence\n");
    assert_true(r.cell && r.centroid && r.cell_name && r.statement);
    fre_release_set_plan(&r, plan, grid_seed);
    r.level[0].cells = n;
    return r;
}

static void put_line(fre_release *r, size_t i, const char *text, double users, float x)
{
    r->cell[i].text.text = text ? strdup(text) : NULL;
    r->cell[i].users = users;
    r->cell[i].count = (uint64_t)users;
    r->centroid[2 * i] = x;
    r->cell_name[i].bytes[0] = (uint8_t)(i + 1);
}

static void test_keep(void **state)
{
    static const double same[] = {.2, .9, .899, .95};
    const fre_plan plan = plan_of(false);
    const fre_release_context context = {.plan = &plan, .ledger_reason = ""};
    fre_release r = owned(&plan, 6), back;

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        put_line(&r, i, i < 5 ? "text" : NULL, 10, (float)i);
        if (i < 4)
            r.cell[i].text.confidence = (fre_confidence){true, same[i], 0};
    }
    fre_release_keep(&r, .9);
    assert_int_equal(r.n, 2);
    assert_int_equal(r.left_out, 4);
    assert_int_equal(r.level[0].cells, 2);
    assert_true(fabsf(r.centroid[0] - 1) + fabsf(r.centroid[2] - 3) < 1e-6f);
    assert_int_equal(r.cell_name[0].bytes[0], 2);
    assert_int_equal(r.cell_name[1].bytes[0], 4);
    assert_int_equal(write_with(&r, &context), FRE_OK);
    assert_int_equal(fre_release_read(&back, folder, NULL), FRE_OK);
    assert_int_equal(back.left_out, 4);
    assert_true(fabs(back.min_confidence - .9) < 1e-12);
    fre_release_wipe(&back);
    fre_release_keep(
        &r, 1); /* nothing is left, though cells were released: no advice to find smaller groups */
    assert_int_equal(r.n, 0);
    assert_int_equal(write_with(&r, &context), FRE_OK);
    assert_null(strstr(content("release.json"), "no cell was released"));
    fre_release_wipe(&r);
}

/* What nobody fitted a table for has no confidence. */
static void test_weigh_knows_one_inverter(void **state)
{
    const fre_plan plan = plan_of(false);
    const uint8_t other[FRE_HASH_BYTES] = {1};
    fre_inverter_parts parts = {.decoder = NULL};
    fre_release r = owned(&plan, 1);

    (void)state;
    put_line(&r, 0, "text", 10, 1);
    assert_false(fre_release_can_weigh(&parts));
    parts.decoder = other;
    assert_false(fre_release_can_weigh(&parts));
    fre_release_weigh(&r, &parts);
    assert_false(r.cell[0].text.confidence.known);
    fre_release_wipe(&r);
}

static double logistic_of(const double *c, double far, double similarity, double noise,
                          double share, double words)
{
    return 1 / (1 + exp(-c[0] - c[1] * noise - c[2] * far - c[3] * sqrt(fmax(far, 0)) -
                        c[4] * (1 - similarity) - c[5] * log(share) - c[6] * log(words)));
}

/* The table's function of what the line holds; exact is never likelier than the same. */
static void test_weigh(void **state)
{
    const fre_plan plan = plan_of(false);
    uint8_t decoder[FRE_HASH_BYTES];
    const fre_inverter_parts parts = {.decoder = decoder};
    fre_release r = owned(&plan, 2);
    double exact;

    (void)state;
    assert_true(fre_unhex(decoder, sizeof decoder, CONFIDENCE_DECODER));
    assert_true(fre_release_can_weigh(&parts));
    put_line(&r, 0, "three short words", 10, .8f); /* a centroid of norm .8 */
    put_line(&r, 1, NULL, 10, 1);
    r.cell[0].noise_norm = .3;
    r.cell[0].text.similarity = .9;
    r.cell[0].text.share = .5;
    fre_release_weigh(&r, &parts);
    exact = logistic_of(confidence_exact, .64 + 1 - 1.44 - .09, .9, .3, .5, 3);
    assert_trusted(&r.cell[0].text, logistic_of(confidence_same, .11, .9, .3, .5, 3), exact, 1e-7);
    assert_false(r.cell[1].text.confidence.known);
    fre_release_wipe(&r);
}

/* ---- groups -------------------------------------------------------------------------------------- */

/* Near is within the radius of the group's largest line, not of any; the same words are near anyhow. */
static void test_groups(void **state)
{
    const fre_plan plan = plan_of(false);
    fre_release r = owned(&plan, 6);

    (void)state;
    assert_true(fabs(r.radius - .5) < 1e-12);
    put_line(&r, 0, "largest but alone", 100, 9);
    put_line(&r, 1, "one", 90, 0);
    put_line(&r, 2, "another", 80, .49f);
    put_line(&r, 3, "a chain's end", 70, .98f); /* near the second, not the first */
    put_line(&r, 4, "ONE!", 60, 5);
    put_line(&r, 5, NULL, 10, .1f);
    assert_int_equal(fre_release_group(&r, NULL), FRE_OK);
    assert_int_equal(r.cell[1].group, 0); /* 90 + 80 + 60 + 10 users */
    assert_int_equal(r.cell[2].group, 0);
    assert_int_equal(r.cell[4].group, 0);
    assert_int_equal(r.cell[5].group, 0);
    assert_int_equal(r.cell[0].group, 1);
    assert_int_equal(r.cell[3].group, 2);
    fre_release_wipe(&r);
}

#define WIDE 200u /* numbers: over as many the length of noise varies little */

/* Of two lines at a distance, the second's group; each with noise of that norm, in public cells whose offsets
 * are cut to reach, if that is above 0. */
static uint32_t group_within(const fre_plan *plan, double distance, double noise, double reach)
{
    fre_release r = owned(plan, 2);
    uint32_t group;

    free(r.centroid);
    r.centroid = calloc(2 * (size_t)WIDE, sizeof *r.centroid);
    assert_non_null(r.centroid);
    r.grid.dim = WIDE;
    r.cell[0].users = 2;
    r.centroid[WIDE] = (float)distance;
    r.cell[0].noise_norm = r.cell[1].noise_norm = noise;
    if (reach > 0)
        r.level[0].sketch =
            (fre_sketch_spec){FRE_SKETCH_CODEBOOK, .codebook = {.cells = 9, .radius = reach}};
    assert_int_equal(fre_release_group(&r, NULL), FRE_OK);
    group = r.cell[1].group;
    fre_release_wipe(&r);
    return group;
}

static uint32_t group_at(const fre_plan *plan, double distance, double noise)
{
    return group_within(plan, distance, noise, 0);
}

/* Noise makes centroids seem farther apart, which is taken off; large noise joins nothing that may be apart. */
static void test_noise_in_groups(void **state)
{
    const fre_plan plan = plan_of(false);

    (void)state;
    assert_int_equal(group_at(&plan, .6, 0), 1);
    assert_int_equal(group_at(&plan, .6, .3), 0);  /* .36 - .18 + .018 */
    assert_int_equal(group_at(&plan, 1.45, 1), 1); /* 2.10 - 2 + .2 */
    assert_int_equal(group_at(&plan, 1.42, 1), 0); /* 2.02 - 2 + .2 */
    /* A public cell's centroid was cut to its reach, and what noise is left with it. */
    assert_int_equal(group_within(&plan, 1.2, 2, .6), 1); /* 1.44 - .72 + .072, not - 8 + .8 */
    assert_int_equal(group_within(&plan, .9, 2, .6), 0);  /* .81 - .72 + .072 */
    assert_int_equal(group_within(&plan, .6, .3, .6), 0); /* shorter: as in a grid */
}

/* A file of the release with other content; the release as written is there again with the next. */
static void refuse_file(const char *name, const char *text, const char *message)
{
    const fre_plan plan = plan_of(false);
    const fre_release r = release_of(&plan);
    const fre_release_context context = {.plan = &plan, .ledger_reason = ""};
    fre_release back = {.n = 77};
    fre_err err = {.text = ""};
    char path[300];
    FILE *f;

    assert_int_equal(write_with(&r, &context), FRE_OK);
    path_in(path, sizeof path, name);
    f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(fre_release_read(&back, folder, &err), FRE_E_DATA);
    if (!strstr(err.text, message))
        fail_msg("%s: %s", name, err.text);
    assert_int_equal(back.n, 77);
}

#define SEED "0500000000000000000000000000000000000000000000000000000000000000"
#define JSON(n, k, d, edge)                                                                        \
    "{\"released_cells\": " n ", \"parameters\": {\"grid_seed\": \"" SEED                          \
    "\", \"projection_dim\": " k ", \"dimension\": " d ", \"threshold\": 3, \"cell_edge\": " edge  \
    ", \"radius\": 1}}"
#define LINE "{\"text\": null, \"count\": 3, \"users\": 3, \"noise_norm\": 1}\n"

static void test_read_refusals(void **state)
{
    static const char *const kinds[] = {
        "\"users\": \"many\"", "\"users\": -1",       "\"users\": null",
        "\"noise_norm\": []",    "\"texts\": \"a\"",   "\"texts\": {}",
        "\"paraphrases\": 5",    "\"noise_norm\": -0.5",
    };
    fre_release back;
    char path[300];

    (void)state;
    assert_int_equal(fre_release_read(&back, "/nonexistent", NULL), FRE_E_NOINPUT);
    refuse_file("release.json", "{", "line 1: not JSON");
    refuse_file("release.json", "[]", "lacks a valid");
    refuse_file("release.json", "{\"parameters\": {\"projection_dim\": 3}}", "lacks a valid");
    refuse_file("release.json", JSON("2", "65", "2", "1.5"), "lacks a valid");
    refuse_file("release.json", JSON("2", "3", "2", "-1.5"), "lacks a valid");
    refuse_file("release.json", "{\"format\": \"fre-e2t-release/2\"}",
                "another format than fre-e2t-rel");
    refuse_file("release.json", "{\"format\": 1}", "another format than fre-e2t-release/1");
    refuse_file("release.json", JSON("2", "3", "3", "1.5"), "not of one release");
    refuse_file("release.json", JSON("3", "3", "2", "1.5"), "not of one release");
    refuse_file("centroids.npy", "no such thing", "centroids.npy");
    refuse_file("synthetic.jsonl", LINE, "1 lines, centroids.npy 2 rows");
    refuse_file("synthetic.jsonl", LINE LINE LINE, "more lines");
    refuse_file("synthetic.jsonl", "{\"text\": \"a\"}\n" LINE, "line 1: not a line that");
    refuse_file("synthetic.jsonl", LINE "{\"text\": null, \"count\": 3, \"cell\": \"" SEED "\"}\n",
                "line 2: not a line that");
    refuse_file("synthetic.jsonl", "{\"text\": null, \"count\": 3, \"cell\": \"12\"}\n" LINE,
                "line 1: not a line that");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char text[200];

        (void)snprintf(text, sizeof text, LINE "{\"text\": null, \"count\": 3, %s}\n", kinds[i]);
        refuse_file("synthetic.jsonl", text, "line 2: not a line that");
    }
    path_in(path, sizeof path, "centroids.npy");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(fre_release_read(&back, folder, NULL), FRE_E_NOINPUT);
}

/* The hash is that of the three files one after the other, and changes with each of them alone. */
static void test_hash(void **state)
{
    static const char *const file[] = {"release.json", "synthetic.jsonl", "centroids.npy"};
    const fre_plan plan = plan_of(false);
    const fre_release r = release_of(&plan);
    const fre_release_context context = {.plan = &plan, .ledger_reason = ""};
    const fre_bytes none = {.p = NULL, .n = 0};
    uint8_t got[FRE_HASH_BYTES], expected[FRE_HASH_BYTES], other[FRE_HASH_BYTES];
    fre_err err = {.text = ""};
    char path[300];
    fre_sha256 h;

    (void)state;
    assert_int_equal(write_with(&r, &context), FRE_OK);
    fre_sha256_begin(&h, none);
    for (size_t i = 0; i < 3; i++) {
        uint8_t block[4096];
        size_t n;
        FILE *f;

        path_in(path, sizeof path, file[i]);
        f = fopen(path, "rb");
        assert_non_null(f);
        while ((n = fread(block, 1, sizeof block, f)) > 0)
            fre_sha256_add(&h, block, n);
        assert_int_equal(fclose(f), 0);
    }
    fre_sha256_end(expected, &h);
    assert_int_equal(fre_release_sha256(got, folder, &err), FRE_OK);
    assert_memory_equal(got, expected, sizeof got);
    for (size_t i = 0; i < 3; i++) {
        FILE *f;

        assert_int_equal(write_with(&r, &context), FRE_OK);
        path_in(path, sizeof path, file[i]);
        f = fopen(path, "ab");
        assert_non_null(f);
        assert_int_equal(fputc('\n', f), '\n');
        assert_int_equal(fclose(f), 0);
        assert_int_equal(fre_release_sha256(other, folder, &err), FRE_OK);
        assert_memory_not_equal(other, expected, sizeof other);
    }
    assert_int_equal(unlink(path), 0);
    memset(other, 7, sizeof other);
    memcpy(got, other, sizeof got);
    assert_int_equal(fre_release_sha256(other, folder, &err), FRE_E_IO);
    assert_memory_equal(got, other, sizeof got);
    assert_non_null(strstr(err.text, "No such file"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_place, drop_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_curator),
        TEST(test_distributed),
        TEST(test_empty_release),
        TEST(test_terms_that_are_no_object),
        TEST(test_read),
        TEST(test_read_collection),
        TEST(test_trust_is_written),
        TEST(test_keep),
        TEST(test_weigh_knows_one_inverter),
        TEST(test_weigh),
        TEST(test_groups),
        TEST(test_noise_in_groups),
        TEST(test_read_refusals),
        TEST(test_hash),
        cmocka_unit_test(test_statement),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
