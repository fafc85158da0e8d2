/* Who contributes what: users, caps, copies, cells, the population's bound. */
#include <fre/contribution.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint32_t user_of(fre_contributors *c, const char *name, bool *is_new)
{
    uint32_t user = 77;
    bool own;

    assert_int_equal(fre_contributors_user(c, &user, is_new ? is_new : &own, name,
                                           name ? strlen(name) : 0, NULL),
                     FRE_OK);
    return user;
}

static void a_users_first_distinct_texts_count(void **state)
{
    fre_contributors *c = NULL;
    bool is_new;
    uint32_t a, b;

    (void)state;
    assert_int_equal(fre_contributors_new(&c, 2, 0, NULL), FRE_OK);
    a = user_of(c, "ann", &is_new);
    assert_true(is_new);
    b = user_of(c, "bob", &is_new);
    assert_true(is_new && a != b);
    assert_int_equal(user_of(c, "ann", &is_new), a);
    assert_false(is_new);
    assert_true(fre_contributors_accept(c, a, 5));
    assert_false(fre_contributors_accept(c, a, 5)); /* a copy */
    assert_true(fre_contributors_accept(c, b, 5));  /* somebody else's */
    assert_true(fre_contributors_accept(c, a, 0));
    assert_false(fre_contributors_accept(c, a, 6)); /* a third */
    assert_false(fre_contributors_accept(c, a, 0));
    assert_int_equal(fre_contributors_users(c), 2);
    fre_contributors_free(c);
}

/* A text that found its cell taken has its place all the same, since which texts count may not depend on
 * the cells; who stands in a cell is the first there, at each level for itself. */
static void one_a_cell(void **state)
{
    static const uint32_t cell_of[][2] = {{0, 7}, {0, 8}, {1, 8}, {1, 7}, {2, 9}};
    static const bool stands[][2] = {{true, true}, {false, true}, {true, false}};
    fre_contributors *c = NULL;
    uint32_t a;

    (void)state;
    assert_int_equal(fre_contributors_new(&c, 3, 0, NULL), FRE_OK);
    a = user_of(c, "ann", NULL);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(fre_contributors_accept(c, a, i));
        for (size_t level = 0; level < 2; level++)
            assert_int_equal(fre_contributors_stand(c, a, i, cell_of[0] + level, 2),
                             stands[i][level]);
    }
    assert_false(fre_contributors_accept(c, a, 4)); /* a cell of its own, but no place */
    for (size_t level = 0; level < 2; level++)      /* whoever comes after it changes nothing */
        assert_int_equal(fre_contributors_stand(c, a, 1, cell_of[0] + level, 2), stands[1][level]);
    assert_true(fre_contributors_stand(c, FRE_MAP_NONE, 3, cell_of[0], 2));
    fre_contributors_free(c);
}

static void nameless_records_are_users(void **state)
{
    fre_contributors *c = NULL;
    bool is_new;

    (void)state;
    assert_int_equal(fre_contributors_new(&c, 1, 0, NULL), FRE_OK);
    for (uint64_t i = 1; i <= 3; i++) {
        assert_int_equal(user_of(c, NULL, &is_new), FRE_MAP_NONE);
        assert_true(is_new);
        assert_true(fre_contributors_accept(c, FRE_MAP_NONE, 4));
        assert_int_equal(fre_contributors_users(c), i);
    }
    assert_int_equal(user_of(c, "", &is_new), 0); /* a name of no byte is a name */
    fre_contributors_free(c);
    fre_contributors_free(NULL);
}

static void more_users_than_the_population(void **state)
{
    fre_contributors *c = NULL;
    fre_err err = {.text = ""};
    uint32_t user;
    bool is_new;

    (void)state;
    assert_int_equal(fre_contributors_new(&c, 1, 2, NULL), FRE_OK);
    (void)user_of(c, "a", NULL);
    (void)user_of(c, "b", NULL);
    (void)user_of(c, "a", NULL);
    assert_int_equal(fre_contributors_user(c, &user, &is_new, "c", 1, &err), FRE_E_DATA);
    assert_non_null(strstr(err.text, "more users than {population} 2"));
    assert_string_equal(err.field, "population");
    fre_contributors_free(c);
    assert_int_equal(fre_contributors_new(&c, 1, 2, NULL), FRE_OK);
    (void)user_of(c, NULL, NULL);
    (void)user_of(c, NULL, NULL);
    assert_int_equal(fre_contributors_user(c, &user, &is_new, NULL, 0, &err), FRE_E_DATA);
    fre_contributors_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_users_first_distinct_texts_count),
        cmocka_unit_test(one_a_cell),
        cmocka_unit_test(nameless_records_are_users),
        cmocka_unit_test(more_users_than_the_population),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
