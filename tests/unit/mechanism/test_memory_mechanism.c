/* Memory that runs out: every constructor of the floor mechanism, each of its allocations in turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/ledger.h>
#include <fre/privacy.h>
#include <fre/sampler.h>
#include <fre/sketch.h>

#include <unistd.h>

#include "alloc_fail.h"
#include "seeded.h"
#include "temp_dir.h"

/* ---- tables and grids ---------------------------------------------------------------------------- */

static const fre_sketch_params grid = {
    .seed = {5}, .dim = 3, .grid.proj = 4, .grid.cell_edge = 2.5};

static void has_cells(void *s)
{
    const float x[] = {1, 2, 3};
    fre_cell c;

    assert_int_equal(fre_sketch_cell(s, &c, x, 3), FRE_OK);
}

static void draws(void *t)
{
    int32_t x[64];
    int64_t sum = 0;
    fre_rng r;

    seeded(&r, 1, "draws");
    fre_gaussian_table_draw(t, &r, x, 64);
    for (size_t i = 0; i < 64; i++)
        sum += (int64_t)x[i] * x[i];
    assert_true(sum > 0);
}

static fre_status nearest(const void *ctx, uint32_t level, uint32_t *cell, const float *x)
{
    (void)ctx;
    *cell = level + (x[0] > 0);
    return FRE_OK;
}

static void centre_of(const void *ctx, uint32_t level, uint32_t cell, float *out)
{
    (void)ctx;
    out[0] = out[1] = out[2] = (float)(level + cell);
}

static const fre_sketch_centres centres = {NULL, nearest, centre_of};
static const fre_sketch_spec public_spec = {.kind = FRE_SKETCH_CODEBOOK,
                                            .codebook = {.cells = 2, .radius = 1, .gain = 1}};

static void has_a_centre(void *s)
{
    const float x[3] = {1};
    float centre[3];
    uint32_t cell;

    assert_int_equal(fre_sketch_nearest(s, &cell, x, 3), FRE_OK);
    assert_int_equal(cell, 1);
    assert_int_equal(fre_sketch_centre(s, centre, cell), FRE_OK);
    assert_true(centre[2] > 0.5f);
}

ALLOC_CASE(fre_sketch_new, fre_sketch, fre_sketch_free, fre_sketch_new(&x, &grid));
ALLOC_CASE(fre_sketch_new_public, fre_sketch, fre_sketch_free,
           fre_sketch_new_public(&x, &public_spec, 3, &centres));
ALLOC_CASE(fre_gaussian_table_new, fre_gaussian_table, fre_gaussian_table_free,
           fre_gaussian_table_new(&x, 9 * FRE_VARIANCE_ONE));

static void grids_and_tables(void **state)
{
    (void)state;
    (void)alloc_torture(&fre_sketch_new_case, has_cells);
    (void)alloc_torture(&fre_sketch_new_public_case, has_a_centre);
    (void)alloc_torture(&fre_gaussian_table_new_case, draws);
}

/* ---- the ledger -------------------------------------------------------------------------------------- */

static char book[512];
static const fre_ledger_spend spent = {.data_name = "a",
                                       .epsilon = 1,
                                       .delta = 1e-6,
                                       .budget_epsilon = 1e6,
                                       .budget_delta = 1,
                                       .what = "a test"};

static void has_an_entry(void *b)
{
    assert_int_equal(((const fre_ledger_book *)b)->n, 1);
}

ALLOC_CASE(fre_ledger_read, fre_ledger_book, fre_ledger_book_free, fre_ledger_read(&x, book, err));

/* A record that fails leaves the book as it was, or none where there was none. */
static void fails_in_turn(bool is_new)
{
    static uint8_t before[1 << 16], after[1 << 16];
    uint64_t n = 0;

    for (;; n++) {
        const long size = is_new ? -1 : read_file(book, before, sizeof before);
        const int64_t blocks = alloc_blocks();
        fre_err err = {.text = ""};
        fre_status st;

        alloc_fail_after(n);
        st = fre_ledger_record(NULL, book, &spent, &err);
        if (!alloc_heal()) {
            assert_int_equal(st, FRE_OK);
            break;
        }
        if (is_new &&
            st == FRE_OK) { /* but its folder was not synced: there was no room for a name */
            assert_int_equal(unlink(book), 0);
            continue;
        }
        if (st != FRE_E_NOMEM)
            fail_msg("allocation %llu fails: %d, %s", (unsigned long long)n, (int)st, err.text);
        assert_true(alloc_blocks() == blocks);
        assert_int_equal(read_file(book, after, sizeof after), size);
        if (size > 0)
            assert_memory_equal(after, before, (size_t)size);
    }
    assert_true(n > 10);
}

static void records(void **state)
{
    (void)state;
    (void)temp_path(book, &test_dir, "book.json");
    fails_in_turn(true);
    (void)alloc_torture(&fre_ledger_read_case, has_an_entry);
    fails_in_turn(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grids_and_tables),
        cmocka_unit_test(records),
    };

    return cmocka_run_group_tests(tests, test_dir_make, test_dir_remove);
}
