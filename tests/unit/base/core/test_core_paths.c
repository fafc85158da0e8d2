/* Where a user's files lie: fre_user_folder, fre_make_parents. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <fre/core.h>

#include "temp_dir.h"

static temp_dir dir;

static void set(const char *variable, const char *value)
{
    assert_int_equal(value ? setenv(variable, value, 1) : unsetenv(variable), 0);
}

static void assert_folder(fre_user_dir which, bool to_write, const char *wanted)
{
    char *got = NULL;
    fre_err err;

    assert_int_equal(fre_user_folder(&got, which, to_write, &err), FRE_OK);
    assert_string_equal(got, wanted);
    free(got);
}

static void variables_count_if_they_are_absolute(void **state)
{
    static const char *const none[] = {NULL, "", "relative", "./relative", "~/folder"};

    (void)state;
    set("HOME", "/nowhere/home");
    set("XDG_CACHE_HOME", "/nowhere/c");
    set("XDG_STATE_HOME", "/nowhere/s");
    assert_folder(FRE_USER_CACHE, false, "/nowhere/c/fre-e2t");
    assert_folder(FRE_USER_CACHE, true, "/nowhere/c/fre-e2t");
    assert_folder(FRE_USER_STATE, true, "/nowhere/s/fre-e2t");
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        set("XDG_CACHE_HOME", none[i]);
        assert_folder(FRE_USER_CACHE, false, "/nowhere/home/.cache/fre-e2t");
        assert_folder(FRE_USER_STATE, true, "/nowhere/s/fre-e2t");
        set("XDG_STATE_HOME", none[i]);
        assert_folder(FRE_USER_STATE, true, "/nowhere/home/.local/state/fre-e2t");
        set("XDG_STATE_HOME", "/nowhere/s");
    }
}

static void without_a_home_the_listed_one_counts(void **state)
{
    static const char *const none[] = {NULL, "", "relative"};
    char *first = NULL;

    (void)state;
    set("XDG_CACHE_HOME", NULL);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        char *got = NULL;
        fre_err err = {.text = ""};
        fre_status st;

        set("HOME", none[i]);
        st = fre_user_folder(&got, FRE_USER_CACHE, false, &err);
        if (st != FRE_OK) { /* a user that is not listed */
            assert_int_equal(st, FRE_E_NOINPUT);
            assert_null(got);
            assert_non_null(strstr(err.text, "home"));
            continue;
        }
        assert_int_equal(got[0], '/');
        assert_non_null(strstr(got, "/.cache/fre-e2t"));
        if (first)
            assert_string_equal(got, first);
        free(first);
        first = got;
    }
    free(first);
}

static void root_writes_into_no_folder_of_others(void **state)
{
    char wanted[512], *got = NULL;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(dir.path, 12345, 12345), 0);
    set("HOME", dir.path);
    set("XDG_CACHE_HOME", NULL);
    (void)snprintf(wanted, sizeof wanted, "%s/.cache/fre-e2t", dir.path);
    assert_folder(FRE_USER_CACHE, false, wanted);
    assert_int_equal(fre_user_folder(&got, FRE_USER_CACHE, true, NULL), FRE_OK);
    assert_null(strstr(got, dir.path));
    free(got);
    set("XDG_CACHE_HOME", dir.path);
    set("HOME", "/nowhere/home");
    assert_folder(FRE_USER_CACHE, true, "/nowhere/home/.cache/fre-e2t");
    assert_int_equal(chown(dir.path, 0, 0), 0);
}

static void parents_are_made_once(void **state)
{
    const mode_t mask = umask(0);
    char path[512], made[512];
    struct stat s;

    (void)state;
    for (int again = 0; again < 2; again++)
        assert_int_equal(fre_make_parents(temp_path(path, &dir, "a/b//c/file")), 0);
    assert_int_equal(stat(temp_path(made, &dir, "a/b/c"), &s), 0);
    assert_int_equal(s.st_mode & 0777, 0700);
    assert_int_equal(stat(temp_path(made, &dir, "a"), &s), 0);
    assert_int_equal(s.st_mode & 0777, 0700);
    assert_int_not_equal(stat(path, &s), 0);
    assert_int_equal(fre_make_parents("file"), 0);
    assert_int_equal(fre_make_parents("/dev/null/a/file"), ENOTDIR);
    (void)umask(mask);
}

static int begin(void **state)
{
    (void)state;
    temp_dir_make(&dir);
    return 0;
}

static int end(void **state)
{
    (void)state;
    temp_dir_remove(&dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_count_if_they_are_absolute),
        cmocka_unit_test(without_a_home_the_listed_one_counts),
        cmocka_unit_test(root_writes_into_no_folder_of_others),
        cmocka_unit_test(parents_are_made_once),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
