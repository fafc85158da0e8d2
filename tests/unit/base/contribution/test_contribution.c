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
    assert_true(fre_contributors_accept(c, a, 5, NULL));
    assert_false(fre_contributors_accept(c, a, 5, NULL)); /* a copy */
    assert_true(fre_contributors_accept(c, b, 5, NULL));  /* somebody else's */
    assert_true(fre_contributors_accept(c, a, 0, NULL));
    assert_false(fre_contributors_accept(c, a, 6, NULL)); /* a third */
    assert_false(fre_contributors_accept(c, a, 0, NULL));
    assert_int_equal(fre_contributors_users(c), 2);
    fre_contributors_free(c);
}

/* Once in each cell; a text that found its cell taken has its place all the same, since which texts
 * count may not depend on the cells. */
static void one_a_cell(void **state)
{
    static const uint32_t cell_of[] = {0, 0, 1, 1, 2};
    fre_contributors *c = NULL;
    uint32_t a;

    (void)state;
    assert_int_equal(fre_contributors_new(&c, 3, 0, NULL), FRE_OK);
    a = user_of(c, "ann", NULL);
    assert_true(fre_contributors_accept(c, a, 0, cell_of));
    assert_false(fre_contributors_accept(c, a, 1, cell_of)); /* the same cell: the second place */
    assert_true(fre_contributors_accept(c, a, 2, cell_of));  /* the third */
    assert_false(fre_contributors_accept(c, a, 4, cell_of)); /* a cell of its own, but no place */
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
        assert_true(fre_contributors_accept(c, FRE_MAP_NONE, 4, NULL));
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
