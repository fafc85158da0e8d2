/* A program that was built without liblinear, whose classifier.c stands in front of the library's: one sentence
 * says so, and the rest of the classification is there. */
#include <fre/evaluate.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "classifier.h"
#include "temp_dir.h"

#define MODEL FRE_SOURCE_DIR "/models/" FRE_EMBEDDER_DEFAULT

static void one_sentence_says_so(void **state)
{
    static const char made[] = "{\"text\": \"turn off the lights\"}\n{\"text\": \"play a song\"}\n";
    char original[512], synthetic[512], text[4096] = "";
    fre_evaluate_opts o;
    fre_evaluation e;
    fre_err err = {.text = ""};
    size_t n = 0, said = 0;

    (void)state;
    for (unsigned i = 0; i < 20; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "{\"text\": \"turn off the lights\", \"label\": \"light\"}\n"
                              "{\"text\": \"play a song\", \"label\": \"music\"}\n");
    write_file(temp_path(original, &test_dir, "o.jsonl"), text, n);
    write_file(temp_path(synthetic, &test_dir, "s.jsonl"), made, sizeof made - 1);
    fre_evaluate_opts_init(&o);
    o.original = original;
    o.synthetic = synthetic;
    o.embedder = MODEL;
    o.reference = "none";
    o.corpus.label_field = "label";
    if (fre_evaluate_files(&e, &o, &err) != FRE_OK)
        fail_msg("%s", err.text);
    assert_false(evaluate_has_linear());
    assert_true(e.has_classification && !e.classification.has_linear);
    assert_true(isfinite(e.classification.majority.mean));
    for (size_t i = 0; i < e.n_missing; i++) {
        if (strcmp(e.missing[i].metric, "classification.linear") != 0)
            continue;
        assert_string_equal(e.missing[i].why.text, "this program was built without liblinear");
        said++;
    }
    assert_int_equal(said, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_sentence_says_so)};

    return cmocka_run_group_tests(tests, test_dir_make, test_dir_remove);
}
