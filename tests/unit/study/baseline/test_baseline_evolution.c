/* aug-pe: with a language model and an embedder of few words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fre/baseline.h>

#include "temp_dir.h"
#include "tiny_gguf.h"
#include "tiny_lm.h"

#define SAMPLES 6u

static char texts[512], encoder[512], writer[512];

static int make_files(void **state)
{
    const tiny_shape shape = tiny_default();
    const tiny_lm lm = {.dim = 64, .scale = 1, .context = 1024, .bytes = 256};
    uint8_t *bytes;
    size_t n;
    FILE *f;

    (void)test_dir_make(state);
    tiny_file(temp_path(encoder, &test_dir, "tiny.gguf"), &shape);
    bytes = tiny_lm_bytes(&lm, &n);
    write_file(temp_path(writer, &test_dir, "lm.gguf"), bytes, n);
    free(bytes);
    f = fopen(temp_path(texts, &test_dir, "x.jsonl"), "wb");
    if (!f)
        return -1;
    for (unsigned i = 0; i < 200; i++)
        (void)fprintf(f, "{\"text\": \"hello a %c\"}\n", 'b' + (int)(i % 5));
    return fclose(f);
}

static fre_baseline_opts options(const char *folder)
{
    fre_baseline_opts o;

    fre_baseline_opts_init(&o);
    o.method = FRE_BASELINE_AUG_PE;
    o.input = texts;
    o.output = folder;
    o.embedder = encoder;
    o.search.language_model = writer;
    o.plan.epsilon = 8;
    o.plan.population = 1000;
    o.evolution.samples = SAMPLES;
    o.evolution.rounds = 3;
    o.evolution.look_ahead = 1;
    o.threads = 1;
    o.seeded = true;
    o.seed[0] = 7;
    return o;
}

static fre_baseline_result *run(const fre_baseline_opts *o)
{
    fre_baseline_result *r = NULL;
    fre_err err = {.text = ""};

    if (fre_baseline_run(&r, o, &err) != FRE_OK)
        fail_msg("%s", err.text);
    return r;
}

static void it_keeps_as_many_as_are_asked_for(void **state)
{
    char folder[512];
    fre_baseline_opts o = options(temp_path(folder, &test_dir, "out"));
    fre_baseline_result *r = run(&o);
    fre_release back;

    (void)state;
    assert_int_equal(r->release.n, SAMPLES);
    assert_int_equal(fre_release_read(&back, folder, NULL), FRE_OK);
    assert_int_equal(back.n, SAMPLES);
    assert_null(back.cell_name);
    for (size_t i = 0; i < back.n; i++) {
        assert_string_equal(back.cell[i].text.text, r->release.cell[i].text.text);
        assert_true(back.cell[i].count >= 1);
        assert_true(i == 0 || back.cell[i].count <= back.cell[i - 1].count); /* by rank */
    }
    assert_non_null(strstr(back.statement, "vote, 3 times"));
    fre_release_wipe(&back);
    fre_baseline_free(r);
}

/* ---- a run that is stopped -------------------------------------------------------------------------- */

/* In the second round. */
static void stop(void *ctx, const char *phase, uint64_t done, uint64_t total)
{
    (void)ctx;
    (void)done;
    (void)total;
    if (strcmp(phase, "varying") == 0)
        fre_interrupt_set();
}

static void assert_same(const fre_release *a, const fre_release *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        assert_string_equal(a->cell[i].text.text, b->cell[i].text.text);
        assert_int_equal(a->cell[i].count, b->cell[i].count);
    }
}

static void a_stopped_run_goes_on(void **state)
{
    const fre_progress progress = {.update = stop};
    char folder[512], left[600];
    fre_baseline_opts o = options(temp_path(folder, &test_dir, "stopped"));
    fre_baseline_result *whole, *rest, *none = NULL;
    fre_err err;

    (void)state;
    o.output = temp_path(left, &test_dir, "whole");
    whole = run(&o);
    o.output = folder;
    o.resume = true;
    o.progress = &progress;
    assert_int_equal(fre_baseline_run(&none, &o, &err), FRE_E_INTERRUPTED);
    fre_interrupt_clear();
    assert_null(none);
    assert_false(path_exists(folder));
    (void)snprintf(left, sizeof left, "%s.resume.json", folder);
    assert_true(path_exists(left));
    o.progress = NULL;

    o.plan.epsilon = 4; /* another claim: not the same run */
    assert_int_equal(fre_baseline_run(&none, &o, &err), FRE_E_DATA);
    assert_non_null(strstr(err.text, "{resume}"));
    o.plan.epsilon = 8;
    rest = run(&o);
    assert_same(&whole->release, &rest->release);
    assert_false(path_exists(left));
    fre_baseline_free(whole);
    fre_baseline_free(rest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_keeps_as_many_as_are_asked_for),
        cmocka_unit_test(a_stopped_run_goes_on),
    };

    return cmocka_run_group_tests(tests, make_files, test_dir_remove);
}
