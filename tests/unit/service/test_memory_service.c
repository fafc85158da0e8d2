/* Memory that runs out: a whole release, each of its allocations in turn: nothing is left of its folder,
 * and the ledger says that nothing was published. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/curator.h>
#include <fre/ledger.h>

#include <stdio.h>
#include <unistd.h>

#include "alloc_fail.h"
#include "must.h"
#include "npy_file.h"
#include "small_release.h"
#include "temp_dir.h"
#include "tiny_gguf.h"

#define ROWS 200u
#define DIM 4u

static char rows[512], texts[512], encoder[512], book[512], folder[512];
static fre_curator_opts options;

static int make_files(void **state)
{
    const float x[DIM] = {.5f};
    const tiny_shape shape = tiny_default();
    FILE *f;

    (void)test_dir_make(state);
    write_rows(temp_path(rows, &test_dir, "x.npy"), x, ROWS, DIM, true);
    tiny_file(temp_path(encoder, &test_dir, "tiny.gguf"), &shape);
    f = fopen(temp_path(texts, &test_dir, "x.jsonl"), "wb");
    if (!f)
        return -1;
    for (unsigned i = 0; i < ROWS; i++)
        (void)fprintf(f, "{\"text\": \"hello a b\"}\n");
    (void)temp_path(book, &test_dir, "book.json");
    options = small_release(rows, temp_path(folder, &test_dir, "out"));
    return fclose(f);
}

/* What fails leaves no folder and no part of one, and nothing published in the ledger, which is a new one
 * each time. */
static fre_status synthesize(fre_curator_result **to, fre_err *err)
{
    fre_ledger_book *b = NULL;
    fre_status st;

    (void)unlink(book);
    st = fre_curator_synthesize(to, &options, err);
    must(st == FRE_OK || !path_exists(folder));
    if (st != FRE_OK && alloc_heal() && path_exists(book)) {
        must(fre_ledger_read(&b, book, NULL) == FRE_OK);
        must(b->n == 0 || b->entry[0].state != FRE_LEDGER_PUBLISHED);
        fre_ledger_book_free(b);
    }
    return st;
}

static void drop_release(fre_curator_result *r)
{
    fre_curator_result_free(r);
    remove_release(folder);
}

static void is_there(void *r)
{
    (void)r;
    assert_true(path_exists(folder));
}

ALLOC_CASE(fre_curator_synthesize, fre_curator_result, drop_release, synthesize(&x, err));

static void rows_are_released(void **state)
{
    (void)state;
    options.input = rows;
    (void)alloc_torture_long(&fre_curator_synthesize_case, is_there, 1);
}

static void texts_are_released(void **state)
{
    (void)state;
    options.input = texts;
    options.embedder = encoder;
    options.ledger = book;
    (void)alloc_torture_long(&fre_curator_synthesize_case, is_there, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_released),
                                       cmocka_unit_test(texts_are_released)};

    return cmocka_run_group_tests(tests, make_files, test_dir_remove);
}
