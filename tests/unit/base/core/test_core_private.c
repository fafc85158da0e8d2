/* Private files: whose they are, written whole, erased. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/core.h>

#include "kill_at.h"
#include "must.h"
#include "temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[512];
static fre_err err;

static int make(void **state)
{
    (void)test_dir_make(state);
    (void)temp_path(path, &test_dir, "secret");
    return 0;
}

static fre_bytes bytes(const char *text)
{
    return (fre_bytes){(const uint8_t *)text, strlen(text)};
}

static void is_text(const char *text)
{
    fre_buf b;

    fre_buf_init(&b, 64);
    assert_int_equal(fre_private_read(&b, path, &err), FRE_OK);
    assert_int_equal(b.n, strlen(text));
    assert_true(b.n == 0 || memcmp(b.p, text, b.n) == 0);
    fre_buf_wipe(&b);
}

static void written_read_replaced_erased(void **state)
{
    struct stat s;
    bool was = false;

    (void)state;
    assert_int_equal(fre_private_write(path, bytes("one"), false, &err), FRE_OK);
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0600);
    is_text("one");
    assert_int_equal(fre_private_write(path, bytes("two"), false, &err), FRE_E_EXISTS);
    is_text("one");
    assert_int_equal(fre_private_write(path, bytes("three"), true, &err), FRE_OK);
    is_text("three");
    assert_int_equal(fre_private_write(path, bytes(""), true, &err), FRE_OK);
    is_text("");
    assert_int_equal(count_entries(test_dir.path), 1);
    assert_int_equal(fre_private_erase(path, &was, &err), FRE_OK);
    assert_true(was);
    assert_int_equal(fre_private_erase(path, &was, &err), FRE_OK);
    assert_false(was);
    assert_int_equal(count_entries(test_dir.path), 0);
    assert_int_equal(fre_private_write(path, bytes("x"), true, &err), FRE_E_NOINPUT);
    assert_int_equal(fre_private_write("/nowhere/x", bytes("x"), false, &err), FRE_E_EXISTS);
    assert_int_equal(count_entries(test_dir.path), 0);
}

static void longer_than_the_limit(void **state)
{
    fre_buf b;

    (void)state;
    assert_int_equal(fre_private_write(path, bytes("12345"), false, &err), FRE_OK);
    fre_buf_init(&b, 4);
    assert_int_equal(fre_private_read(&b, path, &err), FRE_E_LIMIT);
    assert_int_equal(b.n, 0);
    fre_buf_wipe(&b);
    fre_buf_init(&b, 5);
    assert_int_equal(fre_file_read(&b, path, &err), FRE_OK);
    assert_int_equal(fre_file_read(&b, path, &err), FRE_E_LIMIT);
    assert_int_equal(b.n, 5);
    fre_buf_wipe(&b);
    assert_int_equal(fre_private_erase(path, NULL, &err), FRE_OK);
}

/* What is erased was overwritten first: another name of it shows zeros. */
static void erased_is_overwritten(void **state)
{
    char other[512], got[10000];
    uint8_t *big = malloc(sizeof got);

    (void)state;
    must(big != NULL);
    memset(big, 'x', sizeof got);
    assert_int_equal(fre_private_write(path, (fre_bytes){big, sizeof got}, false, &err), FRE_OK);
    assert_int_equal(link(path, temp_path(other, &test_dir, "other")), 0);
    assert_int_equal(fre_private_erase(path, NULL, &err), FRE_OK);
    assert_int_equal(read_file(other, got, sizeof got), sizeof got);
    memset(big, 0, sizeof got);
    assert_memory_equal(got, big, sizeof got);
    assert_int_equal(unlink(other), 0);
    free(big);
}

/* So is what is renewed, and what is only replaced is not. */
static void renewed_is_overwritten(void **state)
{
    static const char zeros[5];
    char other[512], got[8];

    (void)state;
    assert_int_equal(fre_private_renew(path, bytes("x"), &err), FRE_E_NOINPUT);
    assert_int_equal(fre_private_write(path, bytes("first"), false, &err), FRE_OK);
    assert_int_equal(link(path, temp_path(other, &test_dir, "other")), 0);
    assert_int_equal(fre_private_renew(path, bytes("second"), &err), FRE_OK);
    is_text("second");
    assert_int_equal(read_file(other, got, sizeof got), 5);
    assert_memory_equal(got, zeros, 5);
    assert_int_equal(unlink(other), 0);
    assert_int_equal(link(path, other), 0);
    assert_int_equal(fre_private_write(path, bytes("third"), true, &err), FRE_OK);
    assert_int_equal(read_file(other, got, sizeof got), 6);
    assert_memory_equal(got, "second", 6);
    assert_int_equal(unlink(other), 0);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(fre_private_renew(path, bytes("fourth"), &err), FRE_E_REFUSED);
    assert_int_equal(chmod(path, 0600), 0);
    is_text("third");
    assert_int_equal(count_entries(test_dir.path), 1);
    assert_int_equal(fre_private_erase(path, NULL, &err), FRE_OK);
}

static void others_files_are_refused(void **state)
{
    static const mode_t modes[] = {0640, 0604, 0620, 0602, 0610, 0601};
    char other[512];
    fre_buf b;
    int fd = -1;

    (void)state;
    fre_buf_init(&b, 64);
    assert_int_equal(fre_private_write(path, bytes("one"), false, &err), FRE_OK);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_int_equal(fre_private_read(&b, path, &err), FRE_E_REFUSED);
        assert_int_equal(fre_private_write(path, bytes("two"), true, &err), FRE_E_REFUSED);
        assert_int_equal(fre_private_erase(path, NULL, &err), FRE_E_REFUSED);
    }
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(rename(path, temp_path(other, &test_dir, "other")), 0);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(fre_private_read(&b, path, &err), FRE_E_REFUSED);
    assert_int_equal(fre_private_write(path, bytes("two"), true, &err), FRE_E_REFUSED);
    assert_int_equal(fre_private_write(path, bytes("two"), false, &err), FRE_E_EXISTS);
    assert_int_equal(fre_private_erase(path, NULL, &err), FRE_E_REFUSED);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/nowhere/x", path), 0);
    assert_int_equal(fre_private_open(&fd, NULL, path, &err), FRE_E_REFUSED);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(fre_private_open(&fd, NULL, path, &err), FRE_E_NOINPUT);
    assert_int_equal(fre_private_read(&b, "/dev/zero", &err), FRE_E_REFUSED);
    assert_int_equal(fre_file_read(&b, "/dev/zero", &err), FRE_E_NOINPUT);
    assert_int_equal(fre_file_read(&b, test_dir.path, &err), FRE_E_NOINPUT);
    if (geteuid() == 0) {
        assert_int_equal(chown(other, 1, 1), 0);
        assert_int_equal(fre_private_read(&b, other, &err), FRE_E_REFUSED);
    }
    assert_int_equal(fd, -1);
    assert_int_equal(b.n, 0);
    assert_int_equal(unlink(other), 0);
}

static void folders(void **state)
{
    char inner[512];
    struct stat s;

    (void)state;
    (void)temp_path(inner, &test_dir, "a/b/c");
    assert_int_equal(fre_private_folder(inner, false, &err), FRE_E_NOINPUT);
    assert_int_equal(fre_private_folder(inner, true, &err), FRE_OK);
    assert_int_equal(fre_private_folder(inner, true, &err), FRE_OK);
    assert_int_equal(stat(inner, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0700);
    assert_int_equal(chmod(inner, 0755), 0);
    assert_int_equal(fre_private_folder(inner, false, &err), FRE_OK);
    assert_int_equal(chmod(inner, 0775), 0);
    assert_int_equal(fre_private_folder(inner, false, &err), FRE_E_REFUSED);
    assert_int_equal(fre_private_folder("/dev/null/x", true, &err), FRE_E_EXISTS);
    assert_int_equal(fre_private_folder("/dev/null", false, &err), FRE_E_NOINPUT);
}

/* A process that ends anywhere leaves the old text or the new. */
static void replace_it(void *ctx)
{
    const bool *renew = ctx;
    const fre_status st = *renew ? fre_private_renew(path, bytes("after"), NULL)
                                 : fre_private_write(path, bytes("after"), true, NULL);

    must(st == FRE_OK);
}

static void kill_anywhere(bool renew)
{
    bool more = true, was_old = false, was_new = false;

    for (long n = 0; more; n++) {
        char got[16] = "";

        (void)unlink(path);
        assert_int_equal(fre_private_write(path, bytes("before"), false, &err), FRE_OK);
        more = !runs_to_stop(n, replace_it, &renew);
        must(read_file(path, got, sizeof got - 1) > 0);
        was_old = was_old || strcmp(got, "before") == 0;
        was_new = was_new || strcmp(got, "after") == 0;
        assert_true(strcmp(got, "before") == 0 || strcmp(got, "after") == 0);
    }
    assert_true(was_old && was_new);
    assert_int_equal(fre_private_write(path, bytes("end"), true, &err), FRE_OK); /* sweeps */
    assert_int_equal(fre_private_erase(path, NULL, &err), FRE_OK);
}

static void killed_anywhere(void **state)
{
    (void)state;
    kill_anywhere(false);
    kill_anywhere(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_read_replaced_erased),
        cmocka_unit_test(longer_than_the_limit),
        cmocka_unit_test(erased_is_overwritten),
        cmocka_unit_test(renewed_is_overwritten),
        cmocka_unit_test(others_files_are_refused),
        cmocka_unit_test(killed_anywhere),
        cmocka_unit_test(folders),
    };

    return cmocka_run_group_tests(tests, make, test_dir_remove);
}
