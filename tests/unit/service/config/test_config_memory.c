/* Memory that runs out while keys, terms and configurations are read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "four_roles.h"
#include "must.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static four_roles roles;
static fre_collection terms;
static char folder[512], file[512], keys[512];

static int make(void **state)
{
    char path[600], text[4096];

    (void)state;
    four_roles_make(&roles);
    four_roles_commit(&roles);
    four_roles_terms(&terms, &roles);
    must(mkdir(temp_path(folder, &roles.dir, "terms"), 0755) == 0);
    (void)snprintf(path, sizeof path, "%s/a.json", folder);
    write_terms(path, &terms);
    (void)snprintf(keys, sizeof keys, "%s", roles.folder[FRE_CONTRIBUTOR_TAG]);
    (void)snprintf(text, sizeof text,
                   "{\"role\": \"issuer\", \"store\": \"sqlite:rows\", \"keys\": \"%s\", \"once\": "
                   "\"%s\", \"collections\": \"%s\", \"peer\": {\"listen\": \"[::1]:2\"}, "
                   "\"peers\": {\"relay\": \"https://a\"}, "
                   "\"credentials\": {\"kind\": \"command\", \"command\": [\"/bin/sh\", \"-c\"]}}",
                   keys, keys, folder);
    write_file(temp_path(file, &roles.dir, "server.json"), text, strlen(text));
    return 0;
}

static int drop(void **state)
{
    (void)state;
    four_roles_remove(&roles);
    return 0;
}

ALLOC_CASE(fre_keys_open, fre_keys, fre_keys_free,
           fre_keys_open(&x, roles.files[FRE_CONTRIBUTOR_TAG].secret, NULL, err));
ALLOC_CASE(fre_keys_find, fre_keys, fre_keys_free,
           fre_keys_find(&x, keys, NULL, &terms, FRE_ROLE_TAG, err));
ALLOC_CASE(fre_terms_list_read, fre_terms_list, fre_terms_list_free,
           fre_terms_list_read(&x, folder, err));
ALLOC_CASE(fre_config_read, fre_config, fre_config_free,
           fre_config_read(&x, file, FRE_ROLE_ISSUER, err));

static void are_whole(void *k)
{
    assert_true(fre_keys_has_once(k));
    assert_non_null(fre_keys_oprf(k));
}

static void is_at_rest(void *k)
{
    assert_false(fre_keys_has_once(k));
    assert_int_equal(fre_keys_read_once(k, NULL), FRE_OK);
    are_whole(k);
}

static void is_one(void *l)
{
    assert_int_equal(((fre_terms_list *)l)->n, 1);
}

static void has_words(void *c)
{
    assert_string_equal(((fre_config *)c)->command[1], "-c");
}

static void readers(void **state)
{
    (void)state;
    (void)alloc_torture(&fre_keys_open_case, are_whole);
    (void)alloc_torture(&fre_keys_find_case, is_at_rest);
    (void)alloc_torture(&fre_terms_list_read_case, is_one);
    (void)alloc_torture(&fre_config_read_case, has_words);
}

/* Where a file cannot be made, none is. */
static void keygen_leaves_nothing(void **state)
{
    char path[512];
    const fre_keygen_opts o = {.role = FRE_ROLE_TAG,
                               .url = "http://localhost",
                               .folder = temp_path(path, &roles.dir, "torn")};

    (void)state;
    for (uint64_t n = 0;; n++) {
        fre_keygen_files f = {NULL};
        fre_status st;
        bool failed;

        alloc_fail_after(n);
        st = fre_keygen(&f, &o, NULL);
        failed = alloc_heal();
        if (!failed) {
            assert_int_equal(st, FRE_OK);
            assert_int_equal(count_entries(path), 4);
            fre_keygen_files_wipe(&f);
            break;
        }
        assert_int_equal(st, FRE_E_NOMEM);
        assert_null(f.secret);
        assert_true(count_entries(path) <= 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(readers),
                                       cmocka_unit_test(keygen_leaves_nothing)};

    return cmocka_run_group_tests(tests, make, drop);
}
