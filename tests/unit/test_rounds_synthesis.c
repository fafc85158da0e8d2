/* test_rounds_synthesis.c - S_syn: counting, sets, sums, release. */
#include "rounds_servers.h"

#include "synthesis.h"

#include <math.h>

/* ---- the whole course --------------------------------------------------------------------------- */

/* The mean of the people of a cell who answered, as the release has it: within a lattice step of
 * each coordinate, since nothing but rounding was added. */
static void expect_centroid(const world *w, const fre_release_cell *cell, uint32_t from,
                            uint32_t to)
{
    fre_mechanism m;
    fre_share_cell terms;

    fre_collection_mechanism(&m, &w->s.w.c);
    assert_int_equal(
        fre_share_cell_init(&terms, &m, w->s.w.c.split, cell->count, w->s.w.share_bits, NULL),
        FRE_OK);
    for (uint32_t j = 0; j < DIM; j++) {
        double mean = 0;

        for (uint32_t i = from; i < to; i++)
            mean += (double)w->who[i].x[j] / (to - from);
        /* D roundings below one step each, turned back. */
        assert_true(fabs((double)cell->centroid[j] - mean) < terms.beta * sqrt(DIM));
    }
}

static fre_release the_release(const world *w)
{
    fre_release r;

    assert_int_equal(fre_release_decode(&r, &w->s.w, rounds_buf_view(&w->release), NULL), FRE_OK);
    return r;
}

/* Groups of 9, 2 and 5; tau = 3. */
static void course(bool one_shot, bool restart, bool lose)
{
    const uint32_t groups[] = {9, 2, 5};
    world *w = world_new(one_shot);
    fre_synthesis_counts n;
    fre_release r;

    w->restart = restart;
    assert_int_equal(gather(w, groups, 3), 16);
    close_and_count(w);
    assert_int_equal(the_list(w).n, 2);
    if (!one_shot)
        share_all(w, 0, 16);
    sum_and_release(w, lose);
    assert_int_equal(fre_synthesis_stage(w->syn), FRE_STAGE_DONE);
    assert_int_equal(fre_tagging_stage(w->tag), FRE_STAGE_DONE);
    r = the_release(w);
    assert_int_equal(r.n, 2);
    assert_int_equal(r.statement.n, strlen("what it promises"));
    for (uint32_t i = 0; i < r.n; i++) {
        float x[DIM];
        fre_release_cell cell;

        fre_release_at(&cell, x, &r, i);
        assert_int_equal(cell.answers, cell.count);
        assert_true(cell.count == 9 || cell.count == 5);
        expect_centroid(w, &cell, cell.count == 9 ? 0 : 11, cell.count == 9 ? 9 : 16);
    }
    fre_synthesis_count(&n, w->syn);
    assert_int_equal(n.tags, 2);
    assert_int_equal(n.tags_released, 2);
    assert_int_equal(n.duplicates, 0);
    assert_int_equal(n.nulls, one_shot ? 0 : 2);
    world_free(w);
}

static void test_two_phase(void **state)
{
    (void)state;
    course(false, false, false);
}

static void test_one_shot(void **state)
{
    (void)state;
    course(true, false, false);
}

static void test_restart_after_every_message(void **state)
{
    (void)state;
    course(false, true, false);
    course(true, true, false);
}

static void test_lost_answers_of_the_other_server(void **state)
{
    (void)state;
    course(false, false, true);
    course(false, true, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_phase),
        cmocka_unit_test(test_one_shot),
        cmocka_unit_test(test_restart_after_every_message),
        cmocka_unit_test(test_lost_answers_of_the_other_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
