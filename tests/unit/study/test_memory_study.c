/* Memory that runs out: whole baselines, evaluations and reports, their allocations in turn: nothing is left
 * of a folder, and no block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fre/baseline.h>
#include <fre/evaluate.h>
#include <fre/report.h>

#include "alloc_fail.h"
#include "must.h"
#include "npy_file.h"
#include "small_release.h"
#include "temp_dir.h"
#include "tiny_gguf.h"
#include "tiny_lm.h"

#define ROWS 200u
#define DIM 4u

static char rows[512], folder[512], released[512], texts[512], made_texts[512], other[512];
static char encoder[512], writer[512];
static fre_baseline_opts options;

/* One text a line, of words that the small model knows; label: which of two. */
static void write_texts(char path[512], const char *name, const char *begin, unsigned n, bool named)
{
    FILE *f = fopen(temp_path(path, &test_dir, name), "wb");

    assert_non_null(f);
    for (unsigned i = 0; i < n; i++)
        (void)fprintf(f, "{\"text\": \"%s %c %c\"%s%s}\n", begin, 'a' + (int)(i % 5),
                      'a' + (int)(i / 5 % 4),
                      !named      ? ""
                      : i % 3 > 0 ? ", \"label\": \"one\""
                                  : ", \"label\": \"two\"",
                      i == 1 ? ", \"paraphrases\": [\"a hello\", \"b hello b\"]" : "");
    assert_int_equal(fclose(f), 0);
}

static void write_model(void)
{
    const tiny_lm lm = {.dim = 64, .scale = 1, .context = 1024, .bytes = 256};
    const tiny_shape shape = tiny_default();
    uint8_t *bytes;
    size_t n;

    tiny_file(temp_path(encoder, &test_dir, "tiny.gguf"), &shape);
    bytes = tiny_lm_bytes(&lm, &n);
    write_file(temp_path(writer, &test_dir, "lm.gguf"), bytes, n);
    free(bytes);
}

static int make_files(void **state)
{
    const float x[DIM] = {.5f};

    (void)test_dir_make(state);
    write_rows(temp_path(rows, &test_dir, "x.npy"), x, ROWS, DIM, true);
    write_texts(texts, "x.jsonl", "hello", 90, true);
    write_texts(made_texts, "s.jsonl", "hello", 22, false);
    write_texts(other, "other.jsonl", "b b hello", 24, false);
    write_model();
    (void)temp_path(folder, &test_dir, "out");
    (void)temp_path(released, &test_dir, "released");
    fre_baseline_opts_init(&options);
    options.input = rows;
    options.output = folder;
    options.inverter = "none";
    options.plan.epsilon = 8;
    options.threads = 1;
    return 0;
}

/* ---- baselines ------------------------------------------------------------------------------------ */

static fre_status run(fre_baseline_result **to, fre_err *err)
{
    const fre_status st = fre_baseline_run(to, &options, err);

    must(st == FRE_OK || !path_exists(folder));
    return st;
}

static void drop(fre_baseline_result *r)
{
    fre_baseline_free(r);
    remove_release(folder);
}

static void is_there(void *r)
{
    (void)r;
    assert_true(path_exists(folder));
}

ALLOC_CASE(fre_baseline_run, fre_baseline_result, drop, run(&x, err));

static void baselines_are_made(void **state)
{
    (void)state;
    for (unsigned m = 0; m <= FRE_BASELINE_CENTRAL_DP; m++) {
        options.method = (fre_baseline_method)m;
        (void)alloc_torture_long(&fre_baseline_run_case, is_there, 1);
    }
}

static void texts_evolve(void **state)
{
    const fre_baseline_opts kept = options;

    (void)state;
    options.method = FRE_BASELINE_AUG_PE;
    options.input = texts;
    options.inverter = NULL;
    options.embedder = encoder;
    options.search.language_model = writer;
    options.plan.population = 1000;
    options.evolution.samples = 3;
    options.evolution.rounds = 2;
    options.evolution.look_ahead = 2;
    (void)alloc_torture_long(&fre_baseline_run_case, is_there, 11);
    options = kept;
}

/* ---- evaluations ------------------------------------------------------------------------------------ */

static fre_evaluate_opts asked;

static fre_status evaluate(fre_evaluation **to, fre_err *err)
{
    fre_evaluation *e = calloc(1, sizeof *e);
    const fre_status st = e ? fre_evaluate_files(e, &asked, err) : FRE_E_NOMEM;

    if (st == FRE_OK)
        *to = e;
    else
        free(e);
    return st;
}

ALLOC_CASE(fre_evaluate_files, fre_evaluation, free, evaluate(&x, err));

static void has_everything(void *made)
{
    const fre_evaluation *e = made;

    assert_true(e->has_classification && e->mauve[FRE_SET_TEXT].size > 0 && e->has_exact);
    assert_true(e->has[FRE_SET_UNRELATED] && e->has[FRE_SET_HALVES] && e->has[FRE_SET_PARAPHRASED]);
}

static void texts_are_evaluated(void **state)
{
    (void)state;
    fre_evaluate_opts_init(&asked);
    asked.synthetic = made_texts;
    asked.original = texts;
    asked.reference = other;
    asked.embedder = encoder;
    asked.corpus.label_field = "label";
    asked.threshold = 5;
    (void)alloc_torture_long(&fre_evaluate_files_case, has_everything, 5);
}

/* A release of a trusted curator, which names its cells. */
static void make_released(void)
{
    fre_baseline_result *r = NULL;

    options.method = FRE_BASELINE_CENTRAL_DP;
    options.output = released;
    options.force = true;
    assert_int_equal(fre_baseline_run(&r, &options, NULL), FRE_OK);
    fre_baseline_free(r);
    options.output = folder;
    options.force = false;
    fre_evaluate_opts_init(&asked);
    asked.synthetic = released;
    asked.original = rows;
}

static void has_cells(void *made)
{
    const fre_evaluation *e = made;

    assert_true(e->has_cell && e->n_levels == 1 && e->has_level_reference[0]);
    assert_int_equal(strlen(e->release_sha256), 64);
}

static void a_release_is_evaluated(void **state)
{
    (void)state;
    make_released();
    (void)alloc_torture_long(&fre_evaluate_files_case, has_cells, 1);
}

/* ---- reports ---------------------------------------------------------------------------------------- */

static fre_report_opts shown;

static fre_status render(fre_buf **to, fre_err *err)
{
    fre_buf *page = calloc(1, sizeof *page);
    fre_status st;

    if (!page)
        return FRE_E_NOMEM;
    fre_buf_init(page, FRE_REPORT_MAX);
    st = fre_report_render(page, &shown, err);
    if (st == FRE_OK) {
        *to = page;
        return st;
    }
    fre_buf_wipe(page);
    free(page);
    return st;
}

static void drop_page(fre_buf *page)
{
    fre_buf_wipe(page);
    free(page);
}

ALLOC_CASE(fre_report_render, fre_buf, drop_page, render(&x, err));

static void a_release_is_reported(void **state)
{
    fre_evaluation *e = NULL;
    fre_buf json;

    (void)state;
    make_released();
    fre_buf_init(&json, 1 << 24);
    assert_int_equal(evaluate(&e, NULL), FRE_OK);
    assert_int_equal(fre_evaluation_json(&json, e, 1), FRE_OK);
    free(e);
    shown =
        (fre_report_opts){.release = released, .evaluation_json = {json.p, json.n}, .threads = 1};
    (void)alloc_torture_long(&fre_report_render_case, NULL, 1);
    fre_buf_wipe(&json);
}

/* ---- trust ------------------------------------------------------------------------------------------ */

/* A folder's lines get their groups. */
static fre_status group(fre_release **to, fre_err *err)
{
    fre_release *r = calloc(1, sizeof *r);
    fre_status st = r ? fre_release_read(r, released, err) : FRE_E_NOMEM;

    if (st == FRE_OK)
        st = fre_release_group(r, err);
    if (st == FRE_OK) {
        *to = r;
        return st;
    }
    if (r)
        fre_release_wipe(r);
    free(r);
    return st;
}

static void drop_release(fre_release *r)
{
    fre_release_wipe(r);
    free(r);
}

ALLOC_CASE(fre_release_group, fre_release, drop_release, group(&x, err));

static void lines_are_grouped(void **state)
{
    (void)state;
    make_released();
    (void)alloc_torture_long(&fre_release_group_case, NULL, 1);
}

static int remove_files(void **state)
{
    remove_release(released);
    return test_dir_remove(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(baselines_are_made),    cmocka_unit_test(texts_evolve),
        cmocka_unit_test(texts_are_evaluated),   cmocka_unit_test(a_release_is_evaluated),
        cmocka_unit_test(a_release_is_reported), cmocka_unit_test(lines_are_grouped),
    };

    return cmocka_run_group_tests(tests, make_files, remove_files);
}
