/* Who asks the issuer: a file of names, a key of the account system, a command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "serve_private.h"

#include <cmocka.h>

#include "temp_dir.h"

#include <stdio.h>
#include <sys/stat.h>

static const fre_collection_id id = {{7}}, other_id = {{8}};
static const uint8_t keys[2][FRE_TICKET_KEY_BYTES] = {{1}, {2}};

static serve_credentials *open_with(fre_config *c, const char *text)
{
    static char path[512];
    serve_credentials *k = NULL;
    fre_err err = {.text = ""};

    if (text) {
        write_file(temp_path(path, &test_dir, "credentials"), text, strlen(text));
        assert_int_equal(chmod(path, 0600), 0);
        c->credentials_file = path;
    }
    assert_int_equal(serve_credentials_open(&k, c, &err), FRE_OK);
    return k;
}

static fre_status ask(serve_credentials *k, uint8_t name[32], const uint8_t key[32],
                      const fre_collection_id *of, const char *who)
{
    uint8_t ticket[FRE_TICKET_BYTES];
    size_t n;

    assert_int_equal(fre_ticket_make(ticket, &n, key, of, who, NULL), FRE_OK);
    return serve_credentials_ask(k, name, &id, (fre_bytes){ticket, n});
}

static void line_of(char *to, size_t size, const char *name, const uint8_t *key)
{
    char hex[2 * FRE_TICKET_KEY_BYTES + 1];

    fre_hex(hex, key, FRE_TICKET_KEY_BYTES);
    (void)snprintf(to, size, "%s%s%s\n", name, name[0] ? " " : "", hex);
}

static void names_have_keys_of_their_own(void **state)
{
    fre_config c = {.credentials = FRE_CREDENTIALS_NAMES};
    uint8_t kim[32], lee[32];
    char text[512], more[256];
    serve_credentials *k;

    (void)state;
    line_of(text, sizeof text, "kim", keys[0]);
    line_of(more, sizeof more, "lee", keys[1]);
    (void)strcat(text, more);
    k = open_with(&c, text);
    assert_false(serve_credentials_wait(k));
    assert_int_equal(ask(k, kim, keys[0], &id, "kim"), FRE_OK);
    assert_int_equal(ask(k, lee, keys[1], &id, "lee"), FRE_OK);
    assert_memory_not_equal(kim, lee, sizeof kim);
    assert_int_equal(ask(k, kim, keys[1], &id, "kim"), FRE_E_REFUSED);
    assert_int_equal(ask(k, kim, keys[0], &other_id, "kim"), FRE_E_REFUSED);
    assert_int_equal(ask(k, kim, keys[0], &id, "pat"), FRE_E_REFUSED);
    assert_int_equal(serve_credentials_ask(k, kim, &id, (fre_bytes){NULL, 0}), FRE_E_REFUSED);
    serve_credentials_free(k);
}

static void a_key_of_the_account_system(void **state)
{
    fre_config c = {.credentials = FRE_CREDENTIALS_HMAC};
    uint8_t name[32], again[32];
    char text[256];
    serve_credentials *k;

    (void)state;
    line_of(text, sizeof text, "", keys[0]);
    k = open_with(&c, text);
    assert_int_equal(ask(k, name, keys[0], &id, "anybody"), FRE_OK);
    assert_int_equal(ask(k, again, keys[0], &id, "anybody"), FRE_OK);
    assert_memory_equal(name, again, sizeof name);
    assert_int_equal(ask(k, name, keys[1], &id, "anybody"), FRE_E_REFUSED);
    serve_credentials_free(k);
}

/* 0 and a line: that is who; 1: nobody; anything else: it cannot be told now. */
static void a_command_is_asked(void **state)
{
    static char shell[] = "/bin/sh", flag[] = "-c";
    static char who[] = "test ${#0} = 64 && read x && echo \"it is $x\"", nobody[] = "exit 1",
                broken[] = "exit 3", silent[] = "exit 0", killed[] = "kill -9 $$";
    static const struct {
        char *script;
        fre_status st;
    } all[] = {{who, FRE_OK},
               {nobody, FRE_E_REFUSED},
               {broken, FRE_E_AGAIN},
               {silent, FRE_E_AGAIN},
               {killed, FRE_E_AGAIN}};
    const fre_bytes shown = {(const uint8_t *)"kim\n", 4};

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        fre_config c = {.credentials = FRE_CREDENTIALS_COMMAND,
                        .command = {shell, flag, all[i].script}};
        serve_credentials *k = open_with(&c, NULL);
        uint8_t name[32], again[32];

        assert_true(serve_credentials_wait(k));
        assert_int_equal(serve_credentials_ask(k, name, &id, shown), all[i].st);
        if (all[i].st == FRE_OK) {
            assert_int_equal(serve_credentials_ask(k, again, &id, shown), FRE_OK);
            assert_memory_equal(name, again, sizeof name);
        }
        serve_credentials_free(k);
    }
}

static void files_that_are_refused(void **state)
{
    static const char *const bad[] = {"", "kim\n", "kim 00\n", " 00\n", "# nobody\n"};
    char path[512];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fre_config c = {.credentials = FRE_CREDENTIALS_NAMES, .credentials_file = path};
        serve_credentials *k = NULL;
        fre_err err = {.text = ""};

        write_file(temp_path(path, &test_dir, "credentials"), bad[i], strlen(bad[i]));
        assert_int_equal(chmod(path, 0600), 0);
        assert_int_equal(serve_credentials_open(&k, &c, &err), FRE_E_DATA);
        assert_true(strncmp(err.text, "credentials", 11) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_keys_of_their_own),
        cmocka_unit_test(a_key_of_the_account_system),
        cmocka_unit_test(a_command_is_asked),
        cmocka_unit_test(files_that_are_refused),
    };

    return cmocka_run_group_tests(tests, test_dir_make, test_dir_remove);
}
