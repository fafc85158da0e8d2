/* An interruption while liblinear trains, which knows of none: how much of its work is still done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "classifier.h"

#define ROWS 400u
#define DIM 8u
#define ROUNDS 10u /* between two looks */

static unsigned long steps; /* each takes one of these for each row that it looks at */
static bool interrupts;

/* In the place of the C library's, for liblinear too. */
__attribute__((visibility("default")))
int rand(void)
{
    steps++;
    if (interrupts)
        fre_interrupt_set();
    return (int)random();
}

static fre_status train(double *right)
{
    static float x[ROWS * DIM];
    static uint32_t row[ROWS], label[ROWS];
    const evaluate_labelled all = {x, DIM, row, label, ROWS};
    const uint8_t seed[FRE_SEED_BYTES] = {5};
    fre_rng rng;
    fre_status st;

    assert_int_equal(fre_rng_init_seeded(&rng, seed, "test"), FRE_OK);
    for (uint32_t i = 0; i < ROWS; i++) {
        row[i] = i;
        label[i] = (uint32_t)fre_rng_below(&rng, 4); /* of any row: there is no end of learning */
        for (uint32_t j = 0; j < DIM; j++)
            x[i * DIM + j] = (float)fre_rng_u32(&rng) / 4294967296.0f;
    }
    fre_rng_wipe(&rng);
    steps = 0;
    st = evaluate_linear(right, &all, &all);
    fre_interrupt_clear();
    return st;
}

static void an_interruption_ends_it(void **state)
{
    double right;

    (void)state;
    if (!evaluate_has_linear())
        skip();
    assert_int_equal(train(&right), FRE_OK);
    assert_true(right > 0.25);
    assert_true(steps > 2ul * (ROUNDS + 3) * ROWS);
    interrupts = true;
    assert_int_equal(train(&right), FRE_E_INTERRUPTED);
    interrupts = false;
    assert_in_range(steps, 1, (ROUNDS + 3) * ROWS);
    assert_int_equal(train(&right), FRE_OK); /* and the next is whole */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_interruption_ends_it)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
