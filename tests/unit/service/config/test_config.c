/* A server's configuration: what is taken, what is refused and how, what the environment overrides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/config.h>

#include "must.h"
#include "temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char file[512], keys[512], terms[512], secret[512], certificate[512], text[16384];

static int make(void **state)
{
    (void)test_dir_make(state);
    (void)temp_path(file, &test_dir, "server.json");
    must(mkdir(temp_path(keys, &test_dir, "keys"), 0700) == 0);
    must(mkdir(temp_path(terms, &test_dir, "terms"), 0755) == 0);
    write_file(temp_path(secret, &test_dir, "key.pem"), "key", 3);
    must(chmod(secret, 0600) == 0);
    write_file(temp_path(certificate, &test_dir, "certificate.pem"), "pem", 3);
    return 0;
}

/* A configuration that works, with more members. */
static const char *with(const char *role, const char *more)
{
    const bool relay = strcmp(role, "relay") == 0, issuer = strcmp(role, "issuer") == 0;

    (void)snprintf(text, sizeof text,
                   "{\"role\": \"%s\", \"store\": \"sqlite:rows\", \"keys\": \"%s\",\n"
                   "\"collections\": \"%s\", \"peer\": {\"listen\": \"127.0.0.1:1\"}%s%s%s%s}\n",
                   role, keys, terms, relay ? ", \"public\": {\"listen\": \"[::1]:0\"}" : "",
                   issuer ? ", \"credentials\": {\"kind\": \"hmac\", \"file\": \"" : "",
                   issuer ? secret : "", issuer ? "\"}" : "");
    if (*more) {
        char *end = strrchr(text, '}');

        (void)snprintf(end, sizeof text - (size_t)(end - text), ", %s}", more);
    }
    return text;
}

static fre_status read_text(fre_config **c, const char *json, fre_role role, fre_err *err)
{
    write_file(file, json, strlen(json));
    return fre_config_read(c, file, role, err);
}

/* Refused, with a sentence that says so. */
static void refuse(const char *json, fre_role role, fre_status status, const char *says)
{
    fre_config *c = NULL;
    fre_err err = {.text = ""};
    const fre_status st = read_text(&c, json, role, &err);

    assert_null(c);
    if (st != status || !strstr(err.text, says))
        fail_msg("%s\n%s: %s", json, fre_status_text(st), err.text);
}

/* ---- what is taken -------------------------------------------------------------------------------- */

static void each_role_has_its_own(void **state)
{
    (void)state;
    for (unsigned r = FRE_ROLE_TAG; r <= FRE_ROLE_ISSUER; r++) {
        const char *name = fre_role_name((fre_role)r);
        fre_config *c = NULL;
        fre_err err = {.text = ""};

        if (read_text(&c, with(name, ""), (fre_role)r, &err) != FRE_OK)
            fail_msg("%s", err.text);
        assert_int_equal(c->role, r);
        assert_string_equal(c->store, "sqlite:rows");
        assert_string_equal(c->keys, keys);
        assert_null(c->once);
        assert_string_equal(c->peer.address, "127.0.0.1");
        assert_int_equal(c->peer.port, 1);
        assert_int_equal(c->peer.connections, 64);
        assert_int_equal(c->peer.workers, 8);
        assert_string_equal(c->health.address, "127.0.0.1");
        assert_int_equal(c->health.port, 9464);
        if (r == FRE_ROLE_RELAY) {
            assert_string_equal(c->clients.address, "::1");
            assert_int_equal(c->clients.requests_a_minute, 120);
            assert_int_equal(c->clients.connections, 4096);
            assert_int_equal(c->clients.workers, 32);
        } else {
            assert_null(c->clients.address);
        }
        assert_int_equal(c->credentials,
                         r == FRE_ROLE_ISSUER ? FRE_CREDENTIALS_HMAC : FRE_CREDENTIALS_NONE);
        fre_config_free(c);
    }
}

static void everything_that_may_be_said(void **state)
{
    char more[8192];
    fre_config *c = NULL;
    fre_err err = {.text = ""};

    (void)state;
    (void)snprintf(more, sizeof more,
                   "\"once\": \"%s\", \"certificate\": \"%s\", \"private_key\": \"%s\", "
                   "\"log\": \"%s\", \"health\": {\"listen\": \"0.0.0.0:9000\"}, "
                   "\"peers\": {\"issuer\": \"https://inner:1\", \"tagging\": "
                   "\"http://127.0.0.1:7\", \"relay\": "
                   "\"https://other:1 https://third:1\"}",
                   keys, certificate, secret, certificate);
    if (read_text(&c, with("relay", more), FRE_ROLE_RELAY, &err) != FRE_OK)
        fail_msg("%s", err.text);
    assert_string_equal(c->once, keys);
    assert_string_equal(c->certificate, certificate);
    assert_string_equal(c->private_key, secret);
    assert_string_equal(c->log, certificate);
    assert_string_equal(c->health.address, "0.0.0.0");
    assert_int_equal(c->health.port, 9000);
    assert_string_equal(c->peers[FRE_ROLE_ISSUER], "https://inner:1");
    assert_string_equal(c->peers[FRE_ROLE_TAG], "http://127.0.0.1:7");
    assert_string_equal(c->peers[FRE_ROLE_RELAY], "https://other:1 https://third:1");
    assert_null(c->peers[FRE_ROLE_SYN]);
    fre_config_free(c);
}

static void a_command_is_a_list_of_words(void **state)
{
    fre_config *c = NULL;
    fre_err err = {.text = ""};
    char json[8192];

    (void)state;
    (void)snprintf(json, sizeof json,
                   "{\"role\": \"issuer\", \"store\": \"postgresql://db/x\", \"keys\": \"%s\", "
                   "\"collections\": \"%s\", \"peer\": {\"listen\": \"[::1]:2\", \"workers\": 3}, "
                   "\"credentials\": {\"kind\": \"command\", "
                   "\"command\": [\"/bin/sh\" , \"-c\",\"a \\\"b\\\" c\"]}}",
                   keys, terms);
    if (read_text(&c, json, FRE_ROLE_ISSUER, &err) != FRE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(c->credentials, FRE_CREDENTIALS_COMMAND);
    assert_string_equal(c->command[0], "/bin/sh");
    assert_string_equal(c->command[2], "a \"b\" c");
    assert_null(c->command[3]);
    assert_int_equal(c->peer.workers, 3);
    fre_config_free(c);
}

/* ---- what is not ---------------------------------------------------------------------------------- */

static void other_roles_and_keys_are_refused(void **state)
{
    char json[8192];

    (void)state;
    refuse(with("relay", ""), FRE_ROLE_TAG, FRE_E_USAGE, "role relay");
    refuse(with("king", ""), FRE_ROLE_TAG, FRE_E_DATA, "role must be");
    refuse(with("tagging", "\"liste\": 1"), FRE_ROLE_TAG, FRE_E_DATA, "liste");
    refuse(with("tagging", "\"role\": \"tagging\""), FRE_ROLE_TAG, FRE_E_DATA,
           "role is there twice");
    refuse(with("tagging", "\"peers\": {\"king\": \"https://a\"}"), FRE_ROLE_TAG, FRE_E_DATA,
           "peers.king");
    refuse(with("tagging", "\"peers\": {\"tagging\": \"https://a  https://b\"}"), FRE_ROLE_TAG,
           FRE_E_DATA, "peers.tagging must be https");
    refuse(with("tagging", "\"peers\": {\"relay\": \"https://a https://b \"}"), FRE_ROLE_TAG,
           FRE_E_DATA, "peers.relay must be https");
    refuse(with("tagging", "\"peers\": {\"relay\": \"https://a http://b\"}"), FRE_ROLE_TAG,
           FRE_E_DATA, "peers.relay must be https");
    refuse(with("tagging", "\"peers\": {\"relay\": \"https://a https://a https://a https://a "
                           "https://a https://a https://a https://a https://a\"}"),
           FRE_ROLE_TAG, FRE_E_DATA, "peers.relay must be https");
    refuse(with("tagging", "\"peers\": {\"relay\": \"http://a\"}"), FRE_ROLE_TAG, FRE_E_DATA,
           "peers.relay must be https");
    refuse(with("tagging", "\"public\": {\"listen\": \"127.0.0.1:3\"}"), FRE_ROLE_TAG, FRE_E_DATA,
           "relay alone");
    refuse(with("tagging", "\"log\": \"/dev/null\""), FRE_ROLE_TAG, FRE_E_DATA, "relay alone");
    refuse(with("tagging", "\"credentials\": {}"), FRE_ROLE_TAG, FRE_E_DATA, "issuer alone");
    refuse("", FRE_ROLE_TAG, FRE_E_DATA, "server.json");
    refuse("{}", FRE_ROLE_TAG, FRE_E_DATA, "role is missing");
    refuse("{\"role\": \"tagging\"}", FRE_ROLE_TAG, FRE_E_DATA, "peer needs a listen address");
    (void)snprintf(json, sizeof json, "%s", with("tagging", ""));
    json[strlen(json) - 3] = '\0';
    refuse(json, FRE_ROLE_TAG, FRE_E_DATA, "no JSON object: line 2");
}

static void addresses_are_read_to_the_last_digit(void **state)
{
    static const char *const bad[] = {"",
                                      "8443",
                                      "localhost:1",
                                      "127.0.0.1",
                                      "127.0.0.1:",
                                      "127.0.0.1:65536",
                                      "127.0.0.1:1x",
                                      "::1:80",
                                      "[::1]80",
                                      "[::1",
                                      "[:::1]:1",
                                      "1.2.3:1",
                                      "1.2.3.4.5:1",
                                      " 127.0.0.1:1",
                                      "127.0.0.1:+1",
                                      "127.0.0.1:000001"};
    char json[8192], at[128];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        (void)snprintf(at, sizeof at, "\"health\": {\"listen\": \"%s\"}", bad[i]);
        (void)snprintf(json, sizeof json, "%s", with("synthesis", at));
        refuse(json, FRE_ROLE_SYN, FRE_E_DATA, "health.listen");
    }
    refuse(with("synthesis", "\"health\": {\"listen\": 5}"), FRE_ROLE_SYN, FRE_E_DATA,
           "health.listen must be a string");
    refuse(with("synthesis", "\"health\": 5"), FRE_ROLE_SYN, FRE_E_DATA,
           "health must be an object");
    refuse(with("synthesis", "\"health\": {\"workers\": 5}"), FRE_ROLE_SYN, FRE_E_DATA,
           "health.workers");
}

static const char *peer(const char *what)
{
    static char json[8192];

    (void)snprintf(json, sizeof json,
                   "{\"role\": \"tagging\", \"store\": \"sqlite:rows\", \"keys\": \"%s\", "
                   "\"collections\": \"%s\", \"peer\": {\"listen\": %s}}",
                   keys, terms, what);
    return json;
}

static void plain_http_stays_on_this_machine(void **state)
{
    char more[4096];
    fre_config *c = NULL;

    (void)state;
    refuse(peer("\"0.0.0.0:1\""), FRE_ROLE_TAG, FRE_E_DATA, "without a certificate");
    refuse(peer("\"[::]:1\""), FRE_ROLE_TAG, FRE_E_DATA, "without a certificate");
    refuse(peer("\"128.0.0.1:1\""), FRE_ROLE_TAG, FRE_E_DATA, "without a certificate");
    (void)snprintf(more, sizeof more,
                   "\"0.0.0.0:1\"}, \"certificate\": \"%s\", \"private_key\": \"%s\"", certificate,
                   secret);
    (void)snprintf(text, sizeof text, "%s", peer(more));
    text[strlen(text) - 1] = '\0'; /* one brace fewer */
    assert_int_equal(read_text(&c, text, FRE_ROLE_TAG, NULL), FRE_OK);
    fre_config_free(c);
    (void)snprintf(more, sizeof more, "\"certificate\": \"%s\"", certificate);
    refuse(with("tagging", more), FRE_ROLE_TAG, FRE_E_DATA, "private_key is missing");
    (void)snprintf(more, sizeof more, "\"private_key\": \"%s\"", secret);
    refuse(with("tagging", more), FRE_ROLE_TAG, FRE_E_DATA, "certificate is missing");
}

static void numbers_have_ranges(void **state)
{
    static const char *const bad[] = {
        "0", "-1", "1.5", "1e3", "65537", "99999999999999999999", "\"4\"", "true", "null", "[]"};
    char what[128];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        (void)snprintf(what, sizeof what, "\"127.0.0.1:1\", \"connections\": %s", bad[i]);
        refuse(peer(what), FRE_ROLE_TAG, FRE_E_DATA, "peer.connections");
        (void)snprintf(what, sizeof what, "\"127.0.0.1:1\", \"workers\": %s", bad[i]);
        refuse(peer(what), FRE_ROLE_TAG, FRE_E_DATA, "peer.workers");
    }
    refuse(peer("\"127.0.0.1:1\", \"connections\": NaN"), FRE_ROLE_TAG, FRE_E_DATA, "no JSON");
    refuse(peer("\"127.0.0.1:1\", \"requests_a_minute\": 5"), FRE_ROLE_TAG, FRE_E_DATA,
           "peer.requests_a_minute");
}

static void stores_are_looked_at(void **state)
{
    static const char *const bad[] = {"sqlite:", "rows", "mysql://x", ""};
    char json[8192];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        (void)snprintf(json, sizeof json,
                       "{\"role\": \"tagging\", \"store\": \"%s\", "
                       "\"peer\": {\"listen\": \"127.0.0.1:1\"}}",
                       bad[i]);
        refuse(json, FRE_ROLE_TAG, FRE_E_DATA, "store");
    }
    refuse("{\"role\": \"tagging\", \"store\": \"postgresql://me:word@db/x\", "
           "\"peer\": {\"listen\": \"127.0.0.1:1\"}}",
           FRE_ROLE_TAG, FRE_E_DATA, "PGPASSFILE");
    refuse("{\"role\": \"tagging\", \"store\": \"postgresql://db/x?password=word\", "
           "\"peer\": {\"listen\": \"127.0.0.1:1\"}}",
           FRE_ROLE_TAG, FRE_E_DATA, "PGPASSFILE");
}

static void files_and_folders_are_looked_at(void **state)
{
    char more[4096];

    (void)state;
    assert_int_equal(chmod(keys, 0770), 0);
    refuse(with("tagging", ""), FRE_ROLE_TAG, FRE_E_REFUSED, "keys: ");
    assert_int_equal(chmod(keys, 0700), 0);
    assert_int_equal(chmod(secret, 0644), 0);
    refuse(with("issuer", ""), FRE_ROLE_ISSUER, FRE_E_REFUSED, "file: ");
    (void)snprintf(more, sizeof more, "\"certificate\": \"%s\", \"private_key\": \"%s\"",
                   certificate, secret);
    refuse(with("tagging", more), FRE_ROLE_TAG, FRE_E_REFUSED, "private_key: ");
    assert_int_equal(chmod(secret, 0600), 0);
    refuse(with("tagging", "\"once\": \"/nowhere\""), FRE_ROLE_TAG, FRE_E_NOINPUT, "once: ");
    refuse(with("relay", "\"log\": \"/nowhere\""), FRE_ROLE_RELAY, FRE_E_NOINPUT, "log: ");
    assert_int_equal(rmdir(terms), 0);
    refuse(with("tagging", ""), FRE_ROLE_TAG, FRE_E_NOINPUT, "collections: ");
    assert_int_equal(mkdir(terms, 0755), 0);
}

static const char *credentials(const char *what)
{
    static char json[8192];

    (void)snprintf(json, sizeof json,
                   "{\"role\": \"issuer\", \"store\": \"sqlite:rows\", \"keys\": \"%s\", "
                   "\"collections\": \"%s\", \"peer\": {\"listen\": \"[::1]:2\"}%s}",
                   keys, terms, what);
    return json;
}

static void an_issuer_knows_people(void **state)
{
    static const char *const bad[] = {
        "",
        ", \"credentials\": {}",
        ", \"credentials\": {\"kind\": \"trust\"}",
        ", \"credentials\": {\"kind\": \"names\"}",
        ", \"credentials\": {\"kind\": \"hmac\", \"command\": [\"/bin/sh\"]}",
        ", \"credentials\": {\"kind\": \"command\"}",
        ", \"credentials\": {\"kind\": \"command\", \"command\": []}",
        ", \"credentials\": {\"kind\": \"command\", \"command\": \"/bin/sh\"}",
        ", \"credentials\": {\"kind\": \"command\", \"command\": [\"sh\"]}",
        ", \"credentials\": {\"kind\": \"command\", \"command\": [\"/bin/sh\", 5]}",
        ", \"credentials\": {\"kind\": \"command\", \"command\": [\"/bin/sh\", [\"a\"]]}",
        ", \"credentials\": {\"kind\": \"command\", \"command\": [\"/bin/sh\", \"\"]}",
        ", \"credentials\": {\"kind\": \"command\", \"command\": [\"/dev/null\"]}",
        ", \"credentials\": {\"kind\": \"command\", \"file\": \"x\", \"command\": [\"/bin/sh\"]}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refuse(credentials(bad[i]), FRE_ROLE_ISSUER, FRE_E_DATA, "credentials");
    refuse(credentials(", \"credentials\": {\"kind\": \"names\", \"file\": \"/nowhere\"}"),
           FRE_ROLE_ISSUER, FRE_E_NOINPUT, "file: ");
}

/* ---- the environment ------------------------------------------------------------------------------ */

static void the_environment_overrides(void **state)
{
    fre_config *c = NULL;
    fre_err err = {.text = ""};

    (void)state;
    must(setenv("FRE_E2T_STORE", "sqlite:elsewhere", 1) == 0);
    must(setenv("FRE_E2T_PEER_LISTEN", "[::1]:77", 1) == 0);
    must(setenv("FRE_E2T_PEER_CONNECTIONS", "9", 1) == 0);
    must(setenv("FRE_E2T_HEALTH_LISTEN", "127.0.0.2:1", 1) == 0);
    must(setenv("FRE_E2T_PEERS_RELAY", "https://relay.inner", 1) == 0);
    must(setenv("FRE_E2T_SERVICE_HOST", "10.0.0.1", 1) == 0); /* somebody else's */
    if (read_text(&c, with("tagging", ""), FRE_ROLE_TAG, &err) != FRE_OK)
        fail_msg("%s", err.text);
    assert_string_equal(c->store, "sqlite:elsewhere");
    assert_string_equal(c->peer.address, "::1");
    assert_int_equal(c->peer.port, 77);
    assert_int_equal(c->peer.connections, 9);
    assert_string_equal(c->health.address, "127.0.0.2");
    assert_string_equal(c->peers[FRE_ROLE_RELAY], "https://relay.inner");
    fre_config_free(c);
    must(setenv("FRE_E2T_PEER_CONNECTIONS", "many", 1) == 0);
    refuse(with("tagging", ""), FRE_ROLE_TAG, FRE_E_DATA, "FRE_E2T_PEER_CONNECTIONS must be");
    must(setenv("FRE_E2T_PEER_CONNECTIONS", "", 1) == 0);
    refuse(with("tagging", ""), FRE_ROLE_TAG, FRE_E_DATA, "FRE_E2T_PEER_CONNECTIONS");
    must(unsetenv("FRE_E2T_PEER_CONNECTIONS") == 0);
    must(setenv("FRE_E2T_STORE", "elsewhere", 1) == 0);
    refuse(with("tagging", ""), FRE_ROLE_TAG, FRE_E_DATA, "FRE_E2T_STORE must be");
    must(unsetenv("FRE_E2T_STORE") == 0);
    must(setenv("FRE_E2T_KEYS", "/nowhere", 1) == 0);
    refuse(with("tagging", ""), FRE_ROLE_TAG, FRE_E_NOINPUT, "FRE_E2T_KEYS: ");
    must(unsetenv("FRE_E2T_KEYS") == 0);
    must(setenv("FRE_E2T_PUBLIC_LISTEN", "127.0.0.1:1", 1) == 0);
    refuse(with("tagging", ""), FRE_ROLE_TAG, FRE_E_DATA, "relay alone");
    must(unsetenv("FRE_E2T_PUBLIC_LISTEN") == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_role_has_its_own),
        cmocka_unit_test(everything_that_may_be_said),
        cmocka_unit_test(a_command_is_a_list_of_words),
        cmocka_unit_test(other_roles_and_keys_are_refused),
        cmocka_unit_test(addresses_are_read_to_the_last_digit),
        cmocka_unit_test(plain_http_stays_on_this_machine),
        cmocka_unit_test(numbers_have_ranges),
        cmocka_unit_test(stores_are_looked_at),
        cmocka_unit_test(files_and_folders_are_looked_at),
        cmocka_unit_test(an_issuer_knows_people),
        cmocka_unit_test(the_environment_overrides),
    };

    return cmocka_run_group_tests(tests, make, test_dir_remove);
}
