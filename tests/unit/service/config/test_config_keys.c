/* Keys of roles in files: made, shown, committed, found for terms, forgotten, erased. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "four_roles.h"
#include "kill_at.h"
#include "must.h"

#include <fre/store.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static four_roles roles;

static int make(void **state)
{
    (void)state;
    four_roles_make(&roles);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    four_roles_remove(&roles);
    return 0;
}

static unsigned mode_of(const char *path)
{
    struct stat s;

    must(stat(path, &s) == 0);
    return s.st_mode & 0777u;
}

static bool is_zero(const void *p, size_t n)
{
    const uint8_t *b = p;

    for (size_t i = 0; i < n; i++)
        if (b[i])
            return false;
    return true;
}

/* ---- keygen -------------------------------------------------------------------------------------- */

static void each_role_has_its_files(void **state)
{
    const fre_keygen_files *relay = &roles.files[FRE_CONTRIBUTOR_RELAY];

    (void)state;
    assert_null(relay->once);
    for (unsigned i = 0; i < FRE_CONTRIBUTORS; i++) {
        const fre_keygen_files *f = &roles.files[i];

        assert_int_equal(mode_of(roles.folder[i]), 0700);
        assert_int_equal(mode_of(f->secret), 0600);
        assert_int_equal(count_entries(roles.folder[i]), 2 + (f->once != NULL) + (f->wrap != NULL));
        if (f->wrap)
            assert_int_equal(mode_of(f->wrap), 0600);
        if (f->once)
            assert_int_equal(mode_of(f->once), 0600);
        assert_null(f->key);
        assert_int_equal(roles.half[i].role, role_of((fre_contributor)i));
    }
    assert_true(is_zero(roles.half[FRE_CONTRIBUTOR_RELAY].seal.b, 32));
    assert_true(is_zero(roles.half[FRE_CONTRIBUTOR_SYN].oprf.b, 32));
    assert_false(is_zero(roles.half[FRE_CONTRIBUTOR_ISSUER].oprf.b, 32));
}

/* What is public has no secret of the others in it. */
static void halves_hold_no_secret(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FRE_CONTRIBUTORS; i++) {
        char *half = text_of_file(roles.files[i].half),
             *secret = text_of_file(roles.files[i].secret);
        static const char *const keys[] = {"\"sign\": \"", "\"store\": \"", "\"contribution\": \""};

        for (size_t k = 0; k < 3; k++) {
            char digits[65] = "";
            const char *at = strstr(secret, keys[k]);

            must(at != NULL);
            memcpy(digits, at + strlen(keys[k]), 64);
            assert_null(strstr(half, digits));
        }
        free(half);
        free(secret);
    }
}

static void two_runs_share_nothing(void **state)
{
    four_roles other;

    (void)state;
    four_roles_make(&other);
    for (unsigned i = 0; i < FRE_CONTRIBUTORS; i++) {
        assert_memory_not_equal(other.half[i].sign.b, roles.half[i].sign.b, 32);
        assert_memory_not_equal(other.half[i].commitment, roles.half[i].commitment, 32);
    }
    four_roles_remove(&other);
}

static void address_and_pin_belong_together(void **state)
{
    static const uint8_t pin[FRE_HASH_BYTES] = {1};
    static const char *const bad[] = {"http://example.org", "ftp://localhost", "localhost",     "",
                                      "https://host:0",     "https://a b",     "https://host?x"};
    fre_keygen_files f = {NULL};
    fre_err err = {.text = ""};
    char folder[512];
    fre_keygen_opts o = {.role = FRE_ROLE_RELAY,
                         .url = "https://relay.example",
                         .folder = temp_path(folder, &roles.dir, "none")};

    (void)state;
    assert_int_equal(fre_keygen(&f, &o, &err), FRE_E_USAGE);
    o.pin = pin;
    o.url = "http://localhost:8080";
    assert_int_equal(fre_keygen(&f, &o, &err), FRE_E_USAGE);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        o.url = bad[i];
        o.pin = strncmp(bad[i], "https", 5) == 0 ? pin : NULL;
        assert_int_equal(fre_keygen(&f, &o, &err), FRE_E_USAGE);
    }
    o.role = (fre_role)5;
    assert_int_equal(fre_keygen(&f, &o, &err), FRE_E_ARG);
    assert_false(path_exists(folder));
    assert_null(f.secret);
}

static void a_folder_that_others_write_to_is_refused(void **state)
{
    fre_keygen_files f = {NULL};
    fre_err err = {.text = ""};
    char folder[512];
    const fre_keygen_opts o = {.role = FRE_ROLE_RELAY,
                               .url = "http://localhost",
                               .folder = temp_path(folder, &roles.dir, "shared")};

    (void)state;
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(chmod(folder, 0770), 0);
    assert_int_equal(fre_keygen(&f, &o, &err), FRE_E_REFUSED);
    assert_non_null(strstr(err.text, "0700"));
    assert_int_equal(count_entries(folder), 0);
    assert_int_equal(chmod(folder, 0500), 0);
    if (geteuid() != 0) {
        assert_int_equal(fre_keygen(&f, &o, &err), FRE_E_IO);
        assert_int_equal(count_entries(folder), 0);
    }
    assert_int_equal(chmod(folder, 0700), 0);
}

static void a_once_file_may_lie_elsewhere(void **state)
{
    static const char pem[] = "-----BEGIN CERTIFICATE-----\n";
    static const uint8_t pin[FRE_HASH_BYTES] = {1};
    fre_keygen_files f = {NULL};
    fre_keys *k = NULL;
    char folder[512], once[512];
    const fre_keygen_opts o = {.role = FRE_ROLE_TAG,
                               .url = "https://tag.example",
                               .pin = pin,
                               .folder = temp_path(folder, &roles.dir, "disk"),
                               .once = temp_path(once, &roles.dir, "memory"),
                               .certificate_pem = {(const uint8_t *)pem, strlen(pem)},
                               .key_pem = {(const uint8_t *)"key", 3}};

    (void)state;
    assert_int_equal(fre_keygen(&f, &o, NULL), FRE_OK);
    assert_int_equal(count_entries(once), 1);
    assert_int_equal(count_entries(folder), 5);
    assert_int_equal(mode_of(f.key), 0600);
    assert_int_equal(fre_keys_open(&k, f.secret, NULL, NULL), FRE_OK);
    assert_false(fre_keys_has_once(k));
    fre_keys_free(k);
    assert_int_equal(fre_keys_open(&k, f.secret, once, NULL), FRE_OK);
    assert_true(fre_keys_has_once(k));
    assert_int_equal(fre_keys_erase(k, NULL, NULL, NULL), FRE_OK);
    fre_keys_free(k);
    assert_int_equal(count_entries(once), 0);
    assert_int_equal(count_entries(folder), 2); /* half and certificate */
    fre_keygen_files_wipe(&f);
}

/* ---- opening ------------------------------------------------------------------------------------- */

static void keys_are_those_of_their_half(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FRE_CONTRIBUTORS; i++) {
        const fre_half *h = &roles.half[i];
        fre_keys *k = NULL;

        assert_int_equal(fre_keys_open(&k, roles.files[i].secret, NULL, NULL), FRE_OK);
        assert_memory_equal(fre_keys_half(k)->sign.b, h->sign.b, 32);
        assert_memory_equal(fre_keys_server(k)->sign.b + 32, h->sign.b, 32);
        assert_memory_equal(fre_keys_server(k)->seal.pk.b, h->seal.b, 32);
        assert_int_equal(fre_keys_oprf(k) != NULL, !is_zero(h->oprf.b, 32));
        if (fre_keys_oprf(k))
            assert_memory_equal(fre_keys_oprf(k)->pub.b, h->oprf.b, 32);
        assert_false(is_zero(fre_keys_store(k), FRE_STORE_KEY_BYTES));
        assert_int_equal(fre_keys_has_once(k), roles.files[i].once != NULL);
        fre_keys_free(k);
    }
}

static void files_that_others_can_read_are_refused(void **state)
{
    const fre_keygen_files *f = &roles.files[FRE_CONTRIBUTOR_TAG];
    const char *both[] = {f->secret, f->once};
    fre_keys *k = NULL;
    fre_err err = {.text = ""};
    char other[512];

    (void)state;
    (void)temp_path(other, &roles.dir, "other");
    for (size_t i = 0; i < 2; i++) {
        static const unsigned modes[] = {0640, 0604, 0620, 0602, 0601, 0700 | 04};

        for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
            assert_int_equal(chmod(both[i], (mode_t)modes[m]), 0);
            assert_int_equal(fre_keys_open(&k, f->secret, NULL, &err), FRE_E_REFUSED);
        }
        assert_int_equal(chmod(both[i], 0600), 0);
        assert_int_equal(rename(both[i], other), 0);
        assert_int_equal(symlink(other, both[i]), 0);
        assert_int_equal(fre_keys_open(&k, f->secret, NULL, &err), FRE_E_REFUSED);
        assert_non_null(strstr(err.text, "link"));
        assert_int_equal(unlink(both[i]), 0);
        assert_int_equal(mkdir(both[i], 0700), 0);
        assert_int_not_equal(fre_keys_open(&k, f->secret, NULL, &err), FRE_OK);
        assert_int_equal(rmdir(both[i]), 0);
        assert_int_equal(mkfifo(both[i], 0600), 0);
        assert_int_equal(fre_keys_open(&k, f->secret, NULL, &err), FRE_E_REFUSED);
        assert_int_equal(unlink(both[i]), 0);
        assert_int_equal(rename(other, both[i]), 0);
    }
    assert_null(k);
    assert_int_equal(fre_keys_open(&k, f->secret, NULL, &err), FRE_OK);
    fre_keys_free(k);
}

/* A change anywhere in a file is noticed, or it says the same. */
static void every_changed_byte_is_noticed(void **state)
{
    const fre_keygen_files *f = &roles.files[FRE_CONTRIBUTOR_ISSUER];
    const char *files[] = {f->secret, f->once, f->half};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char *text = text_of_file(files[i]);
        const size_t n = strlen(text);
        size_t taken = 0;

        for (size_t at = 0; at < n; at++) {
            const char was = text[at];
            fre_keys *k = NULL;
            fre_half h;
            fre_err err = {.text = ""};
            fre_status st;
            FILE *out;

            text[at] = was == '7' ? '8' : '7';
            out = fopen(files[i], "wb");
            must(out && fwrite(text, 1, n, out) == n && fclose(out) == 0);
            st = i < 2 ? fre_keys_open(&k, f->secret, NULL, &err)
                       : fre_half_read(&h, files[i], &err);
            text[at] = was;
            taken += st == FRE_OK;
            assert_true(st == FRE_OK || (st == FRE_E_DATA && err.text[0]));
            fre_keys_free(k);
        }
        /* The store's key could be any; five bits of an X25519 key count for nothing. */
        assert_true(i == 1 ? taken <= 3 : taken == (i == 0 ? 64 : 0));
        write_file(files[i], text, n);
        free(text);
    }
}

static void every_cut_file_is_refused(void **state)
{
    const fre_keygen_files *f = &roles.files[FRE_CONTRIBUTOR_TAG];
    char *text = text_of_file(f->secret);
    const size_t n = strlen(text);
    fre_keys *k = NULL;
    fre_err err = {.text = ""};

    (void)state;
    for (size_t to = 0; to + 1 < n; to++) {
        assert_int_equal(truncate(f->secret, 0), 0);
        write_file(f->secret, text, to);
        assert_int_equal(fre_keys_open(&k, f->secret, NULL, &err), FRE_E_DATA);
        assert_non_null(strstr(err.text, "secret.json"));
    }
    write_file(f->secret, text, n);
    assert_int_equal(fre_keys_open(&k, f->secret, NULL, &err), FRE_OK);
    fre_keys_free(k);
    free(text);
}

static void odd_json_is_refused(void **state)
{
    static const struct {
        const char *from, *to, *says;
    } odd[] = {
        {"\"version\": 1,", "\"version\": 1, \"version\": 1,", "twice"},
        {"\"version\": 1,", "\"version\": 1, \"v\\u0065rsion\": 1,", "twice"},
        {"\"version\": 1,", "\"version\": 2,", "version"},
        {"\"version\": 1,", "\"version\": 1.0,", "whole number"},
        {"\"version\": 1,", "\"version\": NaN,", "no JSON"},
        {"\"version\": 1,", "\"version\": \"1\",", "number"},
        {"\"version\": 1,", "\"version\": -1,", "whole number"},
        {"\"version\": 1,", "\"version\": 18446744073709551617,", "whole number"},
        {"\"version\": 1,", "\"version\": 1, \"extra\": 5,", "extra"},
        {"\"version\": 1,", "\"version\": 1, \"\": 5,", "none that such a file has"},
        {"\"version\": 1,", "\"version\": 1, \"\\u001b[31m\": 5,", "none that such a file has"},
        {"\"version\": 1,", "", "version is missing"},
        {"fre-e2t half", "fre-e2t other", "fre-e2t half"},
        {"\"role\": \"tagging\"", "\"role\": \"relay\"", ""},
        {"\"role\": \"tagging\"", "\"role\": \"king\"", "role"},
        {"\"role\": \"tagging\"", "\"role\": null", "role"},
        {"\"role\": \"tagging\"", "\"role\": [\"tagging\"]", "role"},
        {"https://", "http://", "url"},
        {"\"url\": \"https", "\"url\": \"\\u0000https", "url"},
        {"\n}", "\n} {}", "no JSON"},
        {"{", "[{", "no JSON"},
    };
    const char *path = roles.files[FRE_CONTRIBUTOR_TAG].half;
    char *text = text_of_file(path);
    fre_err err;
    fre_half h;

    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        replace_in_file(path, odd[i].from, odd[i].to);
        err.text[0] = '\0';
        assert_int_equal(fre_half_read(&h, path, &err), FRE_E_DATA);
        if (!strstr(err.text, odd[i].says))
            fail_msg("%zu: %s", i, err.text);
        write_file(path, text, strlen(text));
    }
    assert_int_equal(fre_half_read(&h, path, &err), FRE_OK);
    free(text);
}

static void huge_and_deep_files_are_refused(void **state)
{
    char path[512];
    char *huge = malloc(FRE_CONFIG_FILE_MAX + 1);
    fre_err err = {.text = ""};
    fre_half h;
    fre_collection c;

    (void)state;
    must(huge != NULL);
    memset(huge, ' ', FRE_CONFIG_FILE_MAX + 1);
    write_file(temp_path(path, &roles.dir, "huge"), huge, FRE_CONFIG_FILE_MAX + 1);
    assert_int_equal(fre_half_read(&h, path, &err), FRE_E_LIMIT);
    assert_int_equal(fre_terms_read(&c, path, &err), FRE_E_LIMIT);
    memset(huge, '[', FRE_CONFIG_FILE_MAX);
    memcpy(huge, "{\"a\":", 5);
    write_file(path, huge, FRE_CONFIG_FILE_MAX);
    assert_int_equal(fre_half_read(&h, path, &err), FRE_E_DATA);
    assert_int_equal(fre_terms_read(&c, path, &err), FRE_E_DATA);
    free(huge);
    assert_int_equal(fre_half_read(&h, roles.dir.path, &err), FRE_E_NOINPUT);
    assert_int_equal(fre_half_read(&h, "/nowhere/x", &err), FRE_E_NOINPUT);
    assert_int_equal(fre_half_read(&h, "/dev/zero", &err), FRE_E_NOINPUT);
}

/* ---- commit and reveal --------------------------------------------------------------------------- */

static fre_status commit(unsigned who, const fre_half half[FRE_CONTRIBUTORS], fre_err *err)
{
    fre_buf text;
    fre_status st;

    fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
    st = fre_keys_commit(&text, roles.files[who].secret, half, err);
    assert_true((st == FRE_OK) == (text.n > 0));
    fre_buf_wipe(&text);
    return st;
}

static void halves_have_to_be_four(void **state)
{
    const unsigned me = FRE_CONTRIBUTOR_SYN;
    fre_half half[FRE_CONTRIBUTORS];
    fre_err err = {.text = ""};

    (void)state;
    memcpy(half, roles.half, sizeof half);
    half[FRE_CONTRIBUTOR_TAG] = half[FRE_CONTRIBUTOR_RELAY];
    assert_int_equal(commit(me, half, &err), FRE_E_DATA);
    assert_non_null(strstr(err.text, "relay"));
    memcpy(half, roles.half, sizeof half);
    half[FRE_CONTRIBUTOR_TAG].seal = half[FRE_CONTRIBUTOR_ISSUER].seal;
    assert_int_equal(commit(me, half, &err), FRE_E_DATA);
    memcpy(half, roles.half, sizeof half);
    half[FRE_CONTRIBUTOR_TAG].sign = half[FRE_CONTRIBUTOR_SYN].sign;
    assert_int_equal(commit(me, half, &err), FRE_E_DATA);
    memcpy(half, roles.half, sizeof half);
    memcpy(half[FRE_CONTRIBUTOR_TAG].commitment, half[FRE_CONTRIBUTOR_ISSUER].commitment, 32);
    assert_int_equal(commit(me, half, &err), FRE_E_DATA);
    memcpy(half, roles.half, sizeof half);
    half[me].pin[0] ^= 1; /* somebody's else address for it */
    assert_int_equal(commit(me, half, &err), FRE_E_REFUSED);
    half[me] = roles.half[me];
    half[FRE_CONTRIBUTOR_TAG].role = (fre_role)0;
    assert_int_equal(commit(me, half, &err), FRE_E_ARG);
}

static void later_commits_to_others_are_refused(void **state)
{
    const unsigned me = FRE_CONTRIBUTOR_RELAY;
    fre_half half[FRE_CONTRIBUTORS];
    fre_err err = {.text = ""};
    four_roles other;
    fre_reveal again;
    char path[512];
    fre_buf text;

    (void)state;
    four_roles_commit(&roles);
    four_roles_make(&other);
    memcpy(half, roles.half, sizeof half);
    half[FRE_CONTRIBUTOR_TAG] = other.half[FRE_CONTRIBUTOR_TAG];
    assert_int_equal(commit(me, half, &err), FRE_E_REFUSED);
    assert_non_null(strstr(err.text, "committed"));
    half[FRE_CONTRIBUTOR_TAG] = roles.half[FRE_CONTRIBUTOR_TAG];
    fre_buf_init(&text, FRE_CONFIG_FILE_MAX); /* the same again, in another order */
    half[0] = roles.half[3];
    half[3] = roles.half[0];
    assert_int_equal(fre_keys_commit(&text, roles.files[me].secret, half, &err), FRE_OK);
    write_file(temp_path(path, &roles.dir, "again.json"), text.p, text.n);
    assert_int_equal(fre_reveal_read(&again, path, &err), FRE_OK);
    assert_memory_equal(&again, &roles.reveal[me], sizeof again);
    assert_int_equal(mode_of(roles.files[me].secret), 0600);
    fre_buf_wipe(&text);
    four_roles_remove(&other);
}

static void a_changed_contribution_is_refused(void **state)
{
    char path[512];
    fre_buf text;

    (void)state;
    fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
    assert_int_equal(fre_keys_commit(&text, roles.files[0].secret, roles.half, NULL), FRE_OK);
    (void)temp_path(path, &roles.dir, "changed.json");
    for (size_t i = 0; i < text.n; i++) {
        const uint8_t was = text.p[i];
        fre_reveal r;
        fre_err err = {.text = ""};

        text.p[i] = was == '3' ? '4' : '3';
        write_file(path, text.p, text.n);
        assert_int_equal(fre_reveal_read(&r, path, &err), FRE_E_DATA);
        text.p[i] = was;
    }
    fre_buf_wipe(&text);
}

static void terms_need_four_that_agree(void **state)
{
    fre_collection_parts p = {.batch_min = 7};
    fre_reveal reveal[FRE_CONTRIBUTORS];
    fre_err err = {.text = ""};

    (void)state;
    assert_int_equal(fre_collection_gather(&p, roles.half, roles.reveal, &err), FRE_OK);
    assert_int_equal(p.batch_min, 7);
    memcpy(reveal, roles.reveal, sizeof reveal);
    reveal[1] = reveal[2];
    assert_int_equal(fre_collection_gather(&p, roles.half, reveal, &err), FRE_E_DATA);
    assert_non_null(strstr(err.text, "missing"));
    memcpy(reveal, roles.reveal, sizeof reveal);
    reveal[1].contribution[5] ^= 1;
    assert_int_equal(fre_collection_gather(&p, roles.half, reveal, &err), FRE_E_DATA);
    memcpy(reveal, roles.reveal, sizeof reveal);
    reveal[2].commitment[0][0] ^= 1; /* somebody was shown something else */
    assert_int_equal(fre_collection_gather(&p, roles.half, reveal, &err), FRE_E_DATA);
    assert_non_null(strstr(err.text, "shown another commitment"));
    memcpy(reveal, roles.reveal, sizeof reveal);
    reveal[0].sign.b[0] ^= 1;
    assert_int_equal(fre_collection_gather(&p, roles.half, reveal, &err), FRE_E_DATA);
}

/* ---- terms --------------------------------------------------------------------------------------- */

static void keys_are_found_for_terms(void **state)
{
    fre_collection c;

    (void)state;
    four_roles_terms(&c, &roles);
    for (unsigned i = 0; i < FRE_CONTRIBUTORS; i++) {
        const fre_role role = role_of((fre_contributor)i);
        fre_err err = {.text = ""};
        fre_keys *k = NULL;

        assert_int_equal(fre_keys_find(&k, roles.folder[i], NULL, &c, role, &err), FRE_OK);
        fre_keys_free(k);
        k = NULL;
        assert_int_equal(fre_keys_find(&k, roles.folder[(i + 1) % 4], NULL, &c, role, &err),
                         FRE_E_NOINPUT);
        assert_int_equal(fre_keys_find(&k, "/nowhere", NULL, &c, role, &err), FRE_E_NOINPUT);
        assert_null(k);
    }
}

/* A process that waits for its turn has no key of the once file, and gets none that the one before it got rid of. */
static void keys_that_are_over_do_not_come_back(void **state)
{
    four_roles r;
    fre_collection c;
    fre_keys *waits = NULL, *first = NULL;

    (void)state;
    four_roles_make(&r);
    four_roles_commit(&r);
    four_roles_terms(&c, &r);
    for (unsigned turn = 0; turn < 2; turn++) {
        const char *folder = r.folder[FRE_CONTRIBUTOR_TAG];

        assert_int_equal(fre_keys_find(&waits, folder, NULL, &c, FRE_ROLE_TAG, NULL), FRE_OK);
        assert_false(fre_keys_has_once(waits));
        assert_null(fre_keys_oprf(waits));
        assert_true(is_zero(&fre_keys_server(waits)->seal, sizeof(fre_hpke_keypair)));
        if (turn == 1) {
            assert_int_equal(fre_keys_open(&first, r.files[FRE_CONTRIBUTOR_TAG].secret, NULL, NULL),
                             FRE_OK);
            assert_int_equal(fre_keys_forget_once(first, NULL), FRE_OK);
        }
        assert_int_equal(fre_keys_read_once(waits, NULL), FRE_OK);
        assert_int_equal(fre_keys_has_once(waits), turn == 0);
        assert_int_equal(fre_keys_oprf(waits) != NULL, turn == 0);
        fre_keys_free(waits);
    }
    fre_keys_free(first);
    four_roles_remove(&r);
}

/* Whatever of its own the terms change, its operator sees it. */
static void other_terms_are_refused(void **state)
{
    fre_collection c;

    (void)state;
    four_roles_terms(&c, &roles);
    for (unsigned i = 0; i < FRE_CONTRIBUTORS; i++) {
        uint8_t *const fields[] = {c.relay_pin,       c.tag_pin,         c.syn_pin,
                                   c.issuer_pin,      c.tag_seal.b,      c.syn_seal.b,
                                   c.issuer_seal.b,   c.oprf_pk.b,       c.issuer_pk.b,
                                   c.tag_sign.b,      c.syn_sign.b,      c.relay_sign.b,
                                   c.issuer_sign.b,   c.contribution[0], c.contribution[1],
                                   c.contribution[2], c.contribution[3]};
        unsigned refused = 0;
        fre_keys *k = NULL;

        assert_int_equal(fre_keys_open(&k, roles.files[i].secret, NULL, NULL), FRE_OK);
        assert_int_equal(fre_keys_check(k, &c, NULL), FRE_OK);
        for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++) {
            fields[f][3] ^= 1;
            refused += fre_keys_check(k, &c, NULL) == FRE_E_REFUSED;
            fields[f][3] ^= 1;
        }
        /* pin, sign, contribution; seal; VOPRF */
        assert_int_equal(refused, i == FRE_CONTRIBUTOR_RELAY ? 3
                                  : i == FRE_CONTRIBUTOR_SYN ? 4
                                                             : 5);
        for (size_t w = 0; w < FRE_CONTRIBUTORS; w++) {
            fre_err err = {.text = ""};

            c.commitment[w][0] ^= 1;
            assert_int_equal(fre_keys_check(k, &c, &err), FRE_E_REFUSED);
            assert_non_null(strstr(err.text, "commitments"));
            c.commitment[w][0] ^= 1;
        }
        fre_keys_free(k);
    }
}

static void who_has_not_committed_serves_nothing(void **state)
{
    fre_err err = {.text = ""};
    fre_collection c;
    four_roles other;
    fre_keys *k = NULL;

    (void)state;
    four_roles_make(&other);
    for (unsigned i = 1; i < FRE_CONTRIBUTORS; i++) { /* all but the relay's operator */
        fre_buf text;
        char path[512];

        fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
        assert_int_equal(fre_keys_commit(&text, other.files[i].secret, other.half, &err), FRE_OK);
        write_file(temp_path(path, &other.dir, "r"), text.p, text.n);
        assert_int_equal(fre_reveal_read(&other.reveal[i], path, &err), FRE_OK);
        fre_buf_wipe(&text);
    }
    four_roles_terms(&c, &roles);
    memcpy(c.relay_sign.b, other.half[0].sign.b, 32);
    assert_int_equal(fre_keys_find(&k, other.folder[0], NULL, &c, FRE_ROLE_RELAY, &err),
                     FRE_E_REFUSED);
    four_roles_remove(&other);
}

static void a_folder_of_terms_is_read(void **state)
{
    char folder[512], a[600], b[600], note[600];
    fre_terms_list *l = NULL;
    fre_err err = {.text = ""};
    fre_collection c;

    (void)state;
    four_roles_terms(&c, &roles);
    assert_int_equal(mkdir(temp_path(folder, &roles.dir, "terms"), 0755), 0);
    assert_int_equal(fre_terms_list_read(&l, folder, &err), FRE_OK);
    assert_int_equal(l->n, 0);
    fre_terms_list_free(l);
    (void)snprintf(a, sizeof a, "%s/a.json", folder);
    (void)snprintf(b, sizeof b, "%s/b.json", folder);
    (void)snprintf(note, sizeof note, "%s/note.txt", folder);
    write_file(note, "hello", 5);
    write_terms(a, &c);
    c.batch_min++;
    write_terms(b, &c);
    assert_int_equal(fre_terms_list_read(&l, folder, &err), FRE_OK);
    assert_int_equal(l->n, 2);
    assert_true(memcmp(l->at[0].id.b, l->at[1].id.b, 32) < 0);
    fre_terms_list_free(l);
    l = NULL;
    write_terms(a, &c);
    assert_int_equal(fre_terms_list_read(&l, folder, &err), FRE_OK);
    assert_int_equal(l->n, 1);
    assert_string_equal(l->at[0].path, a);
    assert_int_equal(l->n_refused, 1);
    assert_string_equal(l->refused[0].path, b);
    assert_int_equal(l->refused[0].st, FRE_E_DATA);
    assert_non_null(strstr(l->refused[0].why.text, "same collection"));
    fre_terms_list_free(l);
    write_file(a, "{}", 2); /* the other one is served all the same */
    assert_int_equal(fre_terms_list_read(&l, folder, &err), FRE_OK);
    assert_int_equal(l->n, 1);
    assert_string_equal(l->at[0].path, b);
    assert_int_equal(l->n_refused, 1);
    assert_string_equal(l->refused[0].path, a);
    assert_non_null(strstr(l->refused[0].why.text, "a.json"));
    fre_terms_list_free(l);
    l = NULL;
    assert_int_equal(fre_terms_list_read(&l, "/nowhere", &err), FRE_E_NOINPUT);
    assert_null(l);
}

/* ---- away ---------------------------------------------------------------------------------------- */

static void once_is_once(void **state)
{
    const fre_keygen_files *f = &roles.files[FRE_CONTRIBUTOR_TAG];
    fre_keys *k = NULL;

    (void)state;
    assert_int_equal(fre_keys_open(&k, f->secret, NULL, NULL), FRE_OK);
    assert_int_equal(fre_keys_forget_once(k, NULL), FRE_OK);
    assert_false(path_exists(f->once));
    assert_false(fre_keys_has_once(k));
    assert_null(fre_keys_oprf(k));
    assert_true(is_zero(&fre_keys_server(k)->seal, sizeof fre_keys_server(k)->seal));
    assert_false(is_zero(&fre_keys_server(k)->sign, sizeof fre_keys_server(k)->sign));
    assert_int_equal(fre_keys_forget_once(k, NULL), FRE_OK);
    fre_keys_free(k);
    assert_int_equal(fre_keys_open(&k, f->secret, NULL, NULL), FRE_OK);
    assert_false(fre_keys_has_once(k));
    fre_keys_free(k);
}

/* A process that ends anywhere while a once file goes: it is there, or counts as gone. */
static void forget(void *ctx)
{
    fre_keys *k = NULL;

    must(fre_keys_open(&k, ctx, NULL, NULL) == FRE_OK && fre_keys_forget_once(k, NULL) == FRE_OK);
    fre_keys_free(k);
}

static void killed_while_forgetting(void **state)
{
    const fre_keygen_files *f = &roles.files[FRE_CONTRIBUTOR_SYN];
    char *text = text_of_file(f->once);
    bool more = true, was_there = false, was_zeros = false, was_gone = false;

    (void)state;
    for (long n = 0; more; n++) {
        fre_keys *k = NULL;

        more = !runs_to_stop(n, forget, f->secret);
        assert_int_equal(fre_keys_open(&k, f->secret, NULL, NULL), FRE_OK);
        was_there = was_there || fre_keys_has_once(k);
        was_gone = was_gone || !path_exists(f->once);
        was_zeros = was_zeros || (path_exists(f->once) && !fre_keys_has_once(k));
        assert_int_equal(fre_keys_forget_once(k, NULL), FRE_OK);
        assert_false(path_exists(f->once));
        fre_keys_free(k);
        write_file(f->once, text, strlen(text));
        assert_int_equal(chmod(f->once, 0600), 0);
    }
    assert_true(was_there && was_zeros && was_gone);
    free(text);
}

static void note_path(void *ctx, const char *path)
{
    assert_false(path_exists(path));
    ++*(unsigned *)ctx;
}

static void all_secrets_are_erased(void **state)
{
    static const unsigned of[FRE_CONTRIBUTORS] = {/* two were forgotten above */
                                                  [FRE_CONTRIBUTOR_RELAY] = 1,
                                                  [FRE_CONTRIBUTOR_TAG] = 2,
                                                  [FRE_CONTRIBUTOR_SYN] = 2,
                                                  [FRE_CONTRIBUTOR_ISSUER] = 3};

    (void)state;
    for (unsigned i = 0; i < FRE_CONTRIBUTORS; i++) {
        fre_keys *k = NULL;
        unsigned erased = 0;

        assert_int_equal(fre_keys_open(&k, roles.files[i].secret, NULL, NULL), FRE_OK);
        assert_int_equal(fre_keys_erase(k, note_path, &erased, NULL), FRE_OK);
        assert_int_equal(erased, of[i]);
        assert_int_equal(fre_keys_erase(k, note_path, &erased, NULL), FRE_OK);
        fre_keys_free(k);
        assert_int_equal(count_entries(roles.folder[i]), 1);
    }
}

/* ---- keys of a log ------------------------------------------------------------------------------- */

static void signers_are_kept(void **state)
{
    char folder[512], *secret = NULL, *key = NULL;
    fre_err err = {.text = ""};
    fre_signer s, again;
    fre_signer_kind kind;
    fre_sign_pk pk;

    (void)state;
    (void)temp_path(folder, &roles.dir, "log");
    for (unsigned i = FRE_SIGNER_LOG; i <= FRE_SIGNER_WITNESS; i++) {
        assert_int_equal(fre_signer_keygen(&secret, &key, (fre_signer_kind)i, folder, &err),
                         FRE_OK);
        assert_int_equal(mode_of(secret), 0600);
        assert_int_equal(fre_signer_read(&s, secret, &err), FRE_OK);
        assert_int_equal(fre_signer_key_read(&pk, &kind, key, &err), FRE_OK);
        assert_int_equal(kind, i);
        assert_memory_equal(&pk, &s.pk, sizeof pk);
        assert_false(s.has_seen);
        s.has_seen = true;
        s.seen = (fre_log_head){.size = 5, .root = {7}, .time = 1900000000};
        assert_int_equal(fre_signer_keep(&s, secret, &err), FRE_OK);
        assert_int_equal(fre_signer_read(&again, secret, &err), FRE_OK);
        assert_true(again.has_seen && again.seen.size == 5 && again.seen.root[0] == 7 &&
                    again.seen.time == 1900000000);
        assert_int_equal(fre_signer_key_read(&pk, &kind, secret, &err), FRE_E_DATA);
        assert_int_equal(chmod(secret, 0644), 0);
        assert_int_equal(fre_signer_read(&again, secret, &err), FRE_E_REFUSED);
        assert_int_equal(fre_signer_keep(&s, secret, &err), FRE_E_REFUSED);
        assert_int_equal(chmod(secret, 0600), 0);
        replace_in_file(secret, "\"seen_size\": 5,", "");
        assert_int_equal(fre_signer_read(&again, secret, &err), FRE_E_DATA);
        free(secret);
        free(key);
        fre_signer_wipe(&s);
        fre_signer_wipe(&again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_role_has_its_files),
        cmocka_unit_test(halves_hold_no_secret),
        cmocka_unit_test(two_runs_share_nothing),
        cmocka_unit_test(address_and_pin_belong_together),
        cmocka_unit_test(a_folder_that_others_write_to_is_refused),
        cmocka_unit_test(a_once_file_may_lie_elsewhere),
        cmocka_unit_test(keys_are_those_of_their_half),
        cmocka_unit_test(files_that_others_can_read_are_refused),
        cmocka_unit_test(every_changed_byte_is_noticed),
        cmocka_unit_test(every_cut_file_is_refused),
        cmocka_unit_test(odd_json_is_refused),
        cmocka_unit_test(huge_and_deep_files_are_refused),
        cmocka_unit_test(halves_have_to_be_four),
        cmocka_unit_test(later_commits_to_others_are_refused),
        cmocka_unit_test(a_changed_contribution_is_refused),
        cmocka_unit_test(terms_need_four_that_agree),
        cmocka_unit_test(keys_are_found_for_terms),
        cmocka_unit_test(keys_that_are_over_do_not_come_back),
        cmocka_unit_test(other_terms_are_refused),
        cmocka_unit_test(who_has_not_committed_serves_nothing),
        cmocka_unit_test(a_folder_of_terms_is_read),
        cmocka_unit_test(killed_while_forgetting),
        cmocka_unit_test(once_is_once),
        cmocka_unit_test(all_secrets_are_erased),
        cmocka_unit_test(signers_are_kept),
    };

    return cmocka_run_group_tests(tests, make, drop);
}
