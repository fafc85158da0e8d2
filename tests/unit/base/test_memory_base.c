/* Memory that runs out: every constructor of the floor base, each of its allocations in turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/linalg.h>
#include <fre/survey.h>

#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "npy_file.h"
#include "temp_dir.h"

static char jsonl[512], csv[512], names[512], npy[512], two[512], numbers[512], out_dir[512],
    out_file[512];

static int make_files(void **state)
{
    static const float rows[] = {1, 2, 3, 4, 5, 6};
    static const char records[] = "{\"text\": \"one\", \"who\": \"a\"}\n{\"text\": \"two\"}\n";
    static const char table[] = "id,text\n1,\"one, or more\"\n2,two\n";

    (void)test_dir_make(state);
    write_file(temp_path(jsonl, &test_dir, "x.jsonl"), records, sizeof records - 1);
    write_file(temp_path(csv, &test_dir, "x.csv"), table, sizeof table - 1);
    write_file(temp_path(names, &test_dir, "who.txt"), "anna\nben\n", 9);
    write_rows(temp_path(npy, &test_dir, "x.npy"), rows, 3, 2, false);
    write_rows(temp_path(two, &test_dir, "two.npy"), rows, 2, 2, false);
    write_rows(temp_path(numbers, &test_dir, "n.npy"), rows, 6, 1, false);
    (void)temp_path(out_dir, &test_dir, "out");
    (void)temp_path(out_file, &test_dir, "out.jsonl");
    return 0;
}

/* ---- core ---------------------------------------------------------------------------------------- */

static const char *const files[] = {FRE_OUTDIR_MARK, NULL};
static fre_spool_opts spooled = {.record_bytes = 8};

static void close_spool(fre_spool *s)
{
    fre_spool_free(s, true);
}

static void spool_keeps(void *s)
{
    uint64_t there = 7, back = 0;

    assert_int_equal(fre_spool_append(s, &there, NULL), FRE_OK);
    assert_int_equal(fre_spool_rewind(s, NULL), FRE_OK);
    assert_int_equal(fre_spool_next(s, &back, NULL), FRE_OK);
    assert_int_equal(back, there);
}

static void outdir_commits(void *o)
{
    FILE *f = NULL;

    assert_int_equal(fre_outdir_file(o, &f, FRE_OUTDIR_MARK, NULL), FRE_OK);
    assert_int_equal(fre_outdir_commit(o, NULL), FRE_OK);
    assert_true(path_exists(out_dir));
}

static void outfile_commits(void *o)
{
    assert_int_equal(fre_outfile_commit(o, NULL), FRE_OK);
    assert_true(path_exists(out_file));
}

ALLOC_CASE(fre_outdir_open, fre_outdir, fre_outdir_free,
           fre_outdir_open(&x, out_dir, files, false, err));
ALLOC_CASE(fre_outfile_open, fre_outfile, fre_outfile_free,
           fre_outfile_open(&x, out_file, false, err));
ALLOC_CASE(fre_spool_open, fre_spool, close_spool, fre_spool_open(&x, &spooled, err));

static void outputs_and_spools(void **state)
{
    char path[512];

    (void)state;
    (void)alloc_torture(&fre_outdir_open_case, outdir_commits);
    (void)alloc_torture(&fre_outfile_open_case, outfile_commits);
    spooled.dir = test_dir.path;
    (void)alloc_torture(&fre_spool_open_case, spool_keeps);
    spooled.resume_path = temp_path(path, &test_dir, "run");
    (void)alloc_torture(&fre_spool_open_case, spool_keeps);
}

/* ---- corpus ------------------------------------------------------------------------------------------ */

static const char *input; /* of the next two */

static fre_status open_corpus_input(fre_corpus **out, fre_err *err)
{
    fre_input *in = NULL;
    const fre_status st = fre_input_open(&in, input, true, err);

    return st == FRE_OK ? fre_corpus_open_input(out, in, NULL, err) : st;
}

static fre_status open_corpus_users(fre_corpus **out, fre_err *err)
{
    fre_input *in = NULL;
    const fre_status st = fre_input_open(&in, input, true, err);

    return st == FRE_OK ? fre_corpus_open_users(out, in, &(fre_corpus_opts){0}, NULL, err) : st;
}

static fre_status open_npy_users(fre_npy **out, fre_err *err)
{
    fre_input *in = NULL;
    const fre_status st = fre_input_open(&in, npy, true, err);

    return st == FRE_OK ? fre_npy_open_users(out, in, &(fre_corpus_opts){0}, names, err) : st;
}

static fre_status open_npy_input(fre_npy **out, fre_err *err)
{
    fre_input *in = NULL;
    const fre_status st = fre_input_open(&in, npy, true, err);

    return st == FRE_OK ? fre_npy_open_input(out, in, NULL, err) : st;
}

static void has_a_record(void *c)
{
    fre_record r;
    bool more = false;

    assert_int_equal(fre_corpus_next(c, &more, &r, NULL), FRE_OK);
    assert_true(more && strncmp(r.text, "one", 3) == 0);
}

static void has_rows(void *f)
{
    float x[2];

    assert_int_equal(fre_npy_row(f, x, 1, NULL), FRE_OK);
    assert_memory_equal(x, ((const float[]){3, 4}), sizeof x);
}

static void has_names(void *n)
{
    assert_int_equal(fre_names_count(n), 2);
}

static void can_be_read_again(void *in)
{
    assert_true(fre_input_is_file(in));
}

static const fre_corpus_opts plain;
static fre_bytes npy_bytes;
static fre_npy *named_rows;

ALLOC_CASE(fre_input_open, fre_input, fre_input_free, fre_input_open(&x, input, true, err));
ALLOC_CASE(fre_corpus_open, fre_corpus, fre_corpus_free, fre_corpus_open(&x, input, NULL, err));
ALLOC_CASE(fre_corpus_open_input, fre_corpus, fre_corpus_free, open_corpus_input(&x, err));
ALLOC_CASE(fre_corpus_open_memory, fre_corpus, fre_corpus_free,
           fre_corpus_open_memory(&x, (fre_bytes){(const uint8_t *)"one\ntwo\n", 8}, NULL, err));
ALLOC_CASE(fre_names_open, fre_names, fre_names_free, fre_names_open(&x, names, &plain, err));
ALLOC_CASE(fre_names_open_rows, fre_names, fre_names_free,
           fre_names_open_rows(&x, named_rows, names, &plain, err));
ALLOC_CASE(fre_corpus_open_users, fre_corpus, fre_corpus_free, open_corpus_users(&x, err));
ALLOC_CASE(fre_npy_open_users, fre_npy, fre_npy_free, open_npy_users(&x, err));
ALLOC_CASE(fre_npy_open, fre_npy, fre_npy_free, fre_npy_open(&x, npy, err));
ALLOC_CASE(fre_npy_open_input, fre_npy, fre_npy_free, open_npy_input(&x, err));
ALLOC_CASE(fre_npy_open_numbers, fre_npy, fre_npy_free, fre_npy_open_numbers(&x, numbers, err));
ALLOC_CASE(fre_npy_open_memory, fre_npy, fre_npy_free, fre_npy_open_memory(&x, npy_bytes, err));

static void inputs(void **state)
{
    static uint8_t bytes[512];
    const char *const each[] = {jsonl, csv};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        input = each[i];
        (void)alloc_torture(&fre_input_open_case, can_be_read_again);
        (void)alloc_torture(&fre_corpus_open_case, has_a_record);
        (void)alloc_torture(&fre_corpus_open_input_case, has_a_record);
        (void)alloc_torture(&fre_corpus_open_users_case, has_a_record);
    }
    (void)alloc_torture(&fre_corpus_open_memory_case, has_a_record);
    (void)alloc_torture(&fre_names_open_case, has_names);
    (void)alloc_torture(&fre_npy_open_case, has_rows);
    (void)alloc_torture(&fre_npy_open_input_case, has_rows);
    (void)alloc_torture(&fre_npy_open_users_case, has_rows);
    assert_int_equal(fre_npy_open(&named_rows, two, NULL), FRE_OK);
    (void)alloc_torture(&fre_names_open_rows_case, has_names);
    fre_npy_free(named_rows);
    (void)alloc_torture(&fre_npy_open_numbers_case, NULL);
    npy_bytes = (fre_bytes){bytes, (size_t)read_file(npy, bytes, sizeof bytes)};
    (void)alloc_torture(&fre_npy_open_memory_case, has_rows);
}

/* ---- overlap, contribution, survey ------------------------------------------------------------------- */

static const fre_survey_opts surveyed = {.cells_per_user = 2};

static size_t marks(fre_overlap_set *s)
{
    float *sketch = NULL;
    size_t n = 0;

    assert_int_equal(fre_overlap_sketch(s, &sketch, &n), FRE_OK);
    free(sketch);
    return n;
}

/* Adding fails too, and then goes on: nothing is counted twice, or not at all. */
static void survey_counts(void *s)
{
    static const char *const text[] = {"turn on the lights", "lights out"};
    fre_survey_counts counts;
    uint64_t failures = 0;

    for (size_t i = 0; i < 2; i++)
        for (uint64_t n = 0;; n++) {
            fre_status st;

            alloc_fail_after(n);
            st = fre_survey_add_text(s, NULL, text[i], strlen(text[i]), "anna", 4, NULL);
            if (!alloc_heal()) {
                assert_int_equal(st, FRE_OK);
                break;
            }
            assert_int_equal(st, FRE_E_NOMEM);
            failures++;
        }
    assert_true(failures > 0);
    fre_survey_count(&counts, s, 1);
    assert_int_equal(counts.records, 2);
    assert_int_equal(counts.distinct, 2);
    assert_int_equal(counts.users, 1);
    assert_int_equal(counts.counted, 2);
    assert_int_equal(marks(fre_survey_texts(s)), 2);
}

static void set_compares(void *s)
{
    assert_int_equal(fre_overlap_add_text(s, "lights out", 10), FRE_OK);
}

static fre_overlap_set *some_set;

static fre_status sketched(fre_overlap_set **out)
{
    static const float marks[][2] = {{3, 5}, {9, 11}};

    return fre_overlap_set_of_sketch(out, marks[0], sizeof marks / sizeof *marks);
}

ALLOC_CASE(fre_overlap_set_new, fre_overlap_set, fre_overlap_set_free, fre_overlap_set_new(&x));
ALLOC_CASE(fre_overlap_set_of_sketch, fre_overlap_set, fre_overlap_set_free, sketched(&x));
ALLOC_CASE(fre_overlap_set_of_both, fre_overlap_set, fre_overlap_set_free,
           fre_overlap_set_of_both(&x, some_set, some_set));
ALLOC_CASE(fre_contributors_new, fre_contributors, fre_contributors_free,
           fre_contributors_new(&x, 2, 10, err));
ALLOC_CASE(fre_survey_new, fre_survey, fre_survey_free, fre_survey_new(&x, &surveyed, err));

static void sets_and_surveys(void **state)
{
    (void)state;
    (void)alloc_torture(&fre_overlap_set_new_case, set_compares);
    (void)alloc_torture(&fre_overlap_set_of_sketch_case, NULL);
    assert_int_equal(sketched(&some_set), FRE_OK);
    (void)alloc_torture(&fre_overlap_set_of_both_case, NULL);
    fre_overlap_set_free(some_set);
    (void)alloc_torture(&fre_contributors_new_case, NULL);
    (void)alloc_torture(&fre_survey_new_case, survey_counts);
}

/* ---- rows in groups ------------------------------------------------------------------------------------- */

static const float group_rows[] = {0, 0, 1, 1, 5, 5};
static const uint32_t group_size[] = {2, 1};

static void grouped_finds(void *g)
{
    static const float query[] = {4, 4};
    uint32_t index = 7;

    assert_int_equal(fre_grouped_nearest(g, &index, NULL, (fre_rows){query, 1}, 1), FRE_OK);
    assert_int_equal(index, 2);
}

ALLOC_CASE(fre_grouped_new, fre_grouped, fre_grouped_free,
           fre_grouped_new(&x, (fre_rows){group_rows, 3}, 2, group_size, 2, 1));

static void rows_in_groups(void **state)
{
    (void)state;
    (void)alloc_torture(&fre_grouped_new_case, grouped_finds);
}

/* ---- the harness itself ------------------------------------------------------------------------------ */

static void the_count_counts(void **state)
{
    const int64_t before = alloc_blocks();
    void *volatile p = malloc(3);

    (void)state;
    assert_true(p && alloc_blocks() == before + 1);
    alloc_fail_after(0);
    assert_null(malloc(3));
    assert_null(strdup("x"));
    assert_true(alloc_heal());
    alloc_fail_once_after(0);
    assert_null(malloc(3));
    free(p);
    p = malloc(3);
    assert_non_null(p);
    assert_true(alloc_heal());
    free(p);
    alloc_fail_after(1);
    assert_false(alloc_heal());
    assert_true(alloc_blocks() == before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_count_counts), cmocka_unit_test(outputs_and_spools),
        cmocka_unit_test(inputs),           cmocka_unit_test(sets_and_surveys),
        cmocka_unit_test(rows_in_groups),
    };

    return cmocka_run_group_tests(tests, make_files, test_dir_remove);
}
