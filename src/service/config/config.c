/* config.c - a server's configuration: a file, what the environment overrides, and whether it can work. */
#include "config_private.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define TEXT_MAX 4095u /* bytes of a path or of the store's address */
#define NAME_MAX_BYTES 64u

/* ---- one setting ------------------------------------------------------------------------------- */

typedef struct setting {
    const config_object *o;
    size_t i;
    char variable[NAME_MAX_BYTES]; /* FRE_E2T_... */
    bool from_environment;
    const char *text; /* a string; NULL: not said */
} setting;

static fre_status bad(const setting *s, const char *what, fre_err *err)
{
    return s->from_environment
               ? fre_fail(err, FRE_E_DATA, "the environment's %s %s", s->variable, what)
               : config_bad(s->o, s->i, what, err);
}

static void name_variable(setting *s)
{
    const int n = snprintf(s->variable, sizeof s->variable, "FRE_E2T_%s%s", s->o->outer,
                           s->o->want[s->i].name);

    for (int k = 0; k < n && s->variable[k]; k++) {
        char *c = &s->variable[k];

        *c = *c == '.' ? '_' : *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    }
}

/* What the environment says of it, or else the file, of whatever kind. */
static setting look(const config_object *o, size_t i)
{
    setting s = {.o = o, .i = i};

    name_variable(&s);
    s.text = getenv(s.variable);
    s.from_environment = s.text != NULL;
    return s;
}

/* A string; s->text stays NULL where it is not said. */
static fre_status text_of(setting *s, const config_object *o, size_t i, fre_err *err)
{
    *s = look(o, i);
    if (!s->from_environment)
        return config_has(o, i) ? config_string(&s->text, o, i, TEXT_MAX, err) : FRE_OK;
    return s->text[0] && strlen(s->text) <= TEXT_MAX ? FRE_OK
                                                     : bad(s, "is empty, or too long", err);
}

static fre_status needed(setting *s, const config_object *o, size_t i, fre_err *err)
{
    const fre_status st = text_of(s, o, i, err);

    return st == FRE_OK && !s->text ? bad(s, "is missing: add it", err) : st;
}

static fre_status copy(char **out, const setting *s, fre_err *err)
{
    if (!s->text)
        return FRE_OK;
    *out = strdup(s->text);
    return *out ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "out of memory");
}

static fre_status number_of(uint32_t *out, const config_object *o, size_t i, uint32_t least,
                            uint32_t most, fre_err *err)
{
    const setting s = look(o, i);
    char what[96];
    uint64_t x = 0;
    bool ok;
    fre_status st;

    if (!s.from_environment) {
        if (!config_has(o, i))
            return FRE_OK;
        st = config_whole(&x, o, i, least, most, err);
        *out = st == FRE_OK ? (uint32_t)x : *out;
        return st;
    }
    ok = s.text[0] && strlen(s.text) <= 9;
    for (const char *c = s.text; ok && *c; c++) {
        ok = *c >= '0' && *c <= '9';
        x = 10 * x + (uint64_t)(*c - '0');
    }
    if (!ok || x < least || x > most) {
        (void)snprintf(what, sizeof what, "must be a whole number from %u to %u", least, most);
        return bad(&s, what, err);
    }
    *out = (uint32_t)x;
    return FRE_OK;
}

/* The object of key i, empty where the file has none. */
static fre_status inner(config_object *in, const config_object *o, size_t i, fre_err *err)
{
    const fre_json_want *w = &o->want[i];

    if (!config_has(o, i))
        return FRE_OK; /* its keys are absent, and may be in the environment */
    return config_want(o, i, FRE_JSON_OBJECT, err) == FRE_OK
               ? config_read_object(in, w->p, w->n, err)
               : FRE_E_DATA;
}

/* ---- listeners --------------------------------------------------------------------------------- */

enum { AT_LISTEN, AT_CONNECTIONS, AT_WORKERS, AT_REQUESTS, AT_KEYS };

/* "1.2.3.4:80" or "[::1]:80". */
static bool split_address(char host[INET6_ADDRSTRLEN], uint16_t *port, const char *text)
{
    const char *colon = strrchr(text, ':');
    const bool six = text[0] == '[';
    const char *from = six ? text + 1 : text, *to = six ? strchr(text, ']') : colon;
    unsigned x = 0;
    uint8_t b[16];

    if (!colon || !to || (six && to + 1 != colon) || to == from ||
        (size_t)(to - from) >= INET6_ADDRSTRLEN || !colon[1] || strlen(colon + 1) > 5)
        return false;
    for (const char *c = colon + 1; *c; c++) {
        if (*c < '0' || *c > '9')
            return false;
        x = 10 * x + (unsigned)(*c - '0');
    }
    memcpy(host, from, (size_t)(to - from));
    host[to - from] = '\0';
    *port = (uint16_t)x;
    return x <= UINT16_MAX && inet_pton(six ? AF_INET6 : AF_INET, host, b) == 1;
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

static fre_status read_address(fre_config_listener *l, const setting *s, fre_err *err)
{
    char host[INET6_ADDRSTRLEN];

    if (!split_address(host, &l->port, s->text))
        return bad(s, "must be an address and a port, as in 0.0.0.0:8443 or [::]:8443", err);
    l->address = strdup(host);
    return l->address ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "out of memory");
}

static fre_status read_numbers(fre_config_listener *l, const config_object *in, fre_err *err)
{
    fre_status st = FRE_OK;

    if (in->n > AT_CONNECTIONS)
        st = number_of(&l->connections, in, AT_CONNECTIONS, 1, 65536, err);
    if (st == FRE_OK && in->n > AT_WORKERS)
        st = number_of(&l->workers, in, AT_WORKERS, 1, 1024, err);
    return st == FRE_OK && in->n > AT_REQUESTS
               ? number_of(&l->requests_a_minute, in, AT_REQUESTS, 0, 1000000, err)
               : st;
}

/* keys: how many of AT_... it may have; outer: "peer.". */
static fre_status read_listener(fre_config_listener *l, const config_object *o, size_t i,
                                size_t keys, const char *outer, fre_err *err)
{
    fre_json_want want[AT_KEYS] = {[AT_LISTEN] = {.name = "listen"},
                                   [AT_CONNECTIONS] = {.name = "connections"},
                                   [AT_WORKERS] = {.name = "workers"},
                                   [AT_REQUESTS] = {.name = "requests_a_minute"}};
    config_object in = {.path = o->path, .outer = outer, .want = want, .n = keys};
    setting s;
    fre_status st = inner(&in, o, i, err);

    if (st == FRE_OK)
        st = text_of(&s, &in, AT_LISTEN, err);
    if (st == FRE_OK && s.text)
        st = read_address(l, &s, err);
    return st == FRE_OK ? read_numbers(l, &in, err) : st;
}

enum {
    C_ROLE,
    C_STORE,
    C_KEYS,
    C_ONCE,
    C_COLLECTIONS,
    C_PUBLIC,
    C_PEER,
    C_HEALTH,
    C_CERTIFICATE,
    C_PRIVATE_KEY,
    C_PEERS,
    C_LOG,
    C_CODEBOOK,
    C_CREDENTIALS,
    C_N
};

static fre_status read_listeners(fre_config *c, const config_object *o, fre_err *err)
{
    const bool relay = c->role == FRE_ROLE_RELAY;
    fre_status st;

    c->clients =
        (fre_config_listener){.requests_a_minute = 120, .connections = 4096, .workers = 32};
    c->peer = (fre_config_listener){.connections = 64, .workers = 8};
    c->health = (fre_config_listener){.port = 9464, .connections = 16, .workers = 1};
    st = read_listener(&c->clients, o, C_PUBLIC, AT_KEYS, "public.", err);
    if (st == FRE_OK)
        st = read_listener(&c->peer, o, C_PEER, AT_REQUESTS, "peer.", err);
    if (st == FRE_OK)
        st = read_listener(&c->health, o, C_HEALTH, AT_CONNECTIONS, "health.", err);
    if (st != FRE_OK)
        return st;
    if (!relay && (c->clients.address || config_has(o, C_PUBLIC)))
        return config_bad(o, C_PUBLIC, "belongs to the relay alone: clients reach nobody else",
                          err);
    if (relay && !c->clients.address)
        return config_bad(o, C_PUBLIC, "needs a listen address: clients reach the relay there",
                          err);
    if (!c->peer.address)
        return config_bad(o, C_PEER, "needs a listen address: the other servers come there", err);
    c->health.address = c->health.address ? c->health.address : strdup("127.0.0.1");
    return c->health.address ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "out of memory");
}

/* ---- files and folders -------------------------------------------------------------------------- */

/* Sentences about a file name it, not the setting; this adds which setting that was. */
static fre_status of_setting(const setting *s, fre_status st, const fre_err *why, fre_err *err)
{
    return st == FRE_OK ? st
                        : fre_fail(err, st, "%s: %.460s",
                                   s->from_environment ? s->variable : s->o->want[s->i].name,
                                   why->text[0] ? why->text : fre_status_text(st));
}

static fre_status open_folder(const char *path, fre_err *err)
{
    DIR *d = opendir(path);

    if (!d)
        return fre_open_failed(err, errno, FRE_E_NOINPUT, FRE_CHECK_PATH,
                               "cannot open the folder '%.300s'", path);
    (void)closedir(d);
    return FRE_OK;
}

static fre_status own_folder(const char *path, fre_err *err)
{
    return fre_private_folder(path, false, err);
}

static fre_status read_public(const char *path, fre_err *err)
{
    fre_buf b;
    fre_status st;

    fre_buf_init(&b, 64u << 20);
    st = fre_file_read(&b, path, err);
    fre_buf_wipe(&b);
    return st;
}

static fre_status read_private(const char *path, fre_err *err)
{
    int fd = -1;
    fre_status st = fre_private_open(&fd, NULL, path, err);

    if (st == FRE_OK)
        (void)close(fd);
    return st;
}

typedef fre_status look_fn(const char *path, fre_err *err);

/* A path that may be missing where it is not needed, and is what fn wants. */
static fre_status read_path(char **out, const config_object *o, size_t i, bool is_needed,
                            look_fn *fn, fre_err *err)
{
    fre_err why = {.text = ""};
    setting s;
    fre_status st = is_needed ? needed(&s, o, i, err) : text_of(&s, o, i, err);

    if (st != FRE_OK || !s.text)
        return st;
    st = of_setting(&s, fn(s.text, &why), &why, err);
    return st == FRE_OK ? copy(out, &s, err) : st;
}

/* A password in it would be in whatever shows a configuration. */
static bool has_password(const char *url)
{
    const char *from = strstr(url, "://"), *at = from ? strchr(from + 3, '@') : NULL;

    return (at && memchr(from + 3, ':', (size_t)(at - from - 3))) || strstr(url, "password=");
}

static fre_status read_store(fre_config *c, const config_object *o, fre_err *err)
{
    setting s;
    fre_status st = needed(&s, o, C_STORE, err);

    if (st != FRE_OK)
        return st;
    if ((strncmp(s.text, "sqlite:", 7) != 0 || !s.text[7]) &&
        strncmp(s.text, "postgresql://", 13) != 0 && strncmp(s.text, "postgres://", 11) != 0)
        return bad(&s, "must be sqlite:FOLDER or postgresql://...", err);
    if (has_password(s.text))
        return bad(&s, "has a password in it: put it into a password file (PGPASSFILE)", err);
    return copy(&c->store, &s, err);
}

static fre_status read_tls(fre_config *c, const config_object *o, fre_err *err)
{
    fre_status st = read_path(&c->certificate, o, C_CERTIFICATE, false, read_public, err);

    if (st == FRE_OK)
        st = read_path(&c->private_key, o, C_PRIVATE_KEY, false, read_private, err);
    if (st != FRE_OK)
        return st;
    if (!c->certificate != !c->private_key)
        return config_bad(o, c->certificate ? C_PRIVATE_KEY : C_CERTIFICATE,
                          "is missing: certificate and private_key are given together", err);
    if (c->certificate)
        return FRE_OK;
    if (c->clients.address && !is_loopback(c->clients.address))
        return config_bad(o, C_PUBLIC,
                          "listens beyond this machine: without a certificate only on 127.0.0.1 "
                          "or [::1]",
                          err);
    return is_loopback(c->peer.address)
               ? FRE_OK
               : config_bad(o, C_PEER,
                            "listens beyond this machine: without a certificate only on 127.0.0.1 "
                            "or [::1]",
                            err);
}

static fre_status read_folders(fre_config *c, const config_object *o, fre_err *err)
{
    fre_status st = read_path(&c->keys, o, C_KEYS, true, own_folder, err);

    if (st == FRE_OK)
        st = read_path(&c->once, o, C_ONCE, false, own_folder, err);
    if (st == FRE_OK)
        st = read_path(&c->collections, o, C_COLLECTIONS, true, open_folder, err);
    if (st == FRE_OK)
        st = read_path(&c->codebook, o, C_CODEBOOK, false, read_public, err);
    return st == FRE_OK ? read_path(&c->log, o, C_LOG, false, read_public, err) : st;
}

/* ---- other servers ------------------------------------------------------------------------------ */

/* One or several, separated by single spaces. */
static bool are_addresses(const char *text)
{
    static const uint8_t none[FRE_HASH_BYTES], some[FRE_HASH_BYTES] = {1};
    char url[FRE_COLLECTION_URL_MAX + 1];
    unsigned n = 0;

    for (const char *at = text;; at++) {
        const size_t bytes = strcspn(at, " ");

        if (bytes >= sizeof url || ++n > FRE_CONFIG_ADDRESSES_MAX)
            return false;
        memcpy(url, at, bytes);
        url[bytes] = '\0';
        if (!fre_collection_url_fits(url, strncmp(url, "http://", 7) == 0 ? none : some))
            return false;
        at += bytes;
        if (*at == '\0')
            return true;
    }
}

static fre_status read_peer(fre_config *c, const config_object *in, size_t i, fre_err *err)
{
    fre_role role;
    setting s;
    fre_status st = text_of(&s, in, i, err);

    if (st != FRE_OK || !s.text)
        return st;
    if (!fre_role_of(&role, in->want[i].name))
        return FRE_E_INTERNAL;
    if (!are_addresses(s.text))
        return bad(&s,
                   "must be https://host[:port], or http:// of this machine or an .onion service; "
                   "several are separated by one space",
                   err);
    return copy(&c->peers[role], &s, err);
}

static fre_status read_peers(fre_config *c, const config_object *o, fre_err *err)
{
    enum { N = FRE_ROLE_ISSUER };
    fre_json_want want[N];
    config_object in = {.path = o->path, .outer = "peers.", .want = want, .n = N};
    fre_status st;

    for (unsigned i = 0; i < N; i++)
        want[i] = (fre_json_want){.name = fre_role_name((fre_role)(FRE_ROLE_TAG + i))};
    st = inner(&in, o, C_PEERS, err);
    for (size_t i = 0; st == FRE_OK && i < N; i++)
        st = read_peer(c, &in, i, err);
    return st;
}

/* ---- who is a person ----------------------------------------------------------------------------- */

enum { CRED_KIND, CRED_FILE, CRED_COMMAND, CRED_N };

static fre_status read_kind(fre_credentials_kind *out, const config_object *in, fre_err *err)
{
    static const char *const name[] = {[FRE_CREDENTIALS_NAMES] = "names",
                                       [FRE_CREDENTIALS_HMAC] = "hmac",
                                       [FRE_CREDENTIALS_COMMAND] = "command"};
    setting s;
    fre_status st = needed(&s, in, CRED_KIND, err);

    if (st != FRE_OK)
        return st;
    for (unsigned k = FRE_CREDENTIALS_NAMES; k <= FRE_CREDENTIALS_COMMAND; k++) {
        if (strcmp(s.text, name[k]) == 0) {
            *out = (fre_credentials_kind)k;
            return FRE_OK;
        }
    }
    return bad(&s, "must be names, hmac or command", err);
}

static fre_status read_command(fre_config *c, const config_object *in, fre_err *err)
{
    const char *word[FRE_CONFIG_COMMAND_MAX];
    size_t n = 0;
    fre_status st = config_strings(word, &n, FRE_CONFIG_COMMAND_MAX, in, CRED_COMMAND, err);

    if (st != FRE_OK)
        return st;
    if (word[0][0] != '/' || access(word[0], X_OK) != 0)
        return config_bad(in, CRED_COMMAND,
                          "must begin with the whole path of a program that this user may run",
                          err);
    for (size_t i = 0; i < n; i++) {
        c->command[i] = strdup(word[i]);
        if (!c->command[i])
            return fre_fail(err, FRE_E_NOMEM, "out of memory");
    }
    return FRE_OK;
}

static fre_status read_credentials(fre_config *c, const config_object *o, fre_err *err)
{
    fre_json_want want[CRED_N] = {[CRED_KIND] = {.name = "kind"},
                                  [CRED_FILE] = {.name = "file"},
                                  [CRED_COMMAND] = {.name = "command"}};
    config_object in = {.path = o->path, .outer = "credentials.", .want = want, .n = CRED_N};
    bool command;
    fre_status st;

    if (c->role != FRE_ROLE_ISSUER)
        return config_has(o, C_CREDENTIALS)
                   ? config_bad(o, C_CREDENTIALS, "belongs to the issuer alone: remove it", err)
                   : FRE_OK;
    st = inner(&in, o, C_CREDENTIALS, err);
    if (st == FRE_OK)
        st = read_kind(&c->credentials, &in, err);
    if (st != FRE_OK)
        return st;
    command = c->credentials == FRE_CREDENTIALS_COMMAND;
    if (config_has(&in, command ? CRED_FILE : CRED_COMMAND))
        return config_bad(&in, command ? CRED_FILE : CRED_COMMAND,
                          "is of another kind of credentials: remove it", err);
    return command ? read_command(c, &in, err)
                   : read_path(&c->credentials_file, &in, CRED_FILE, true, read_private, err);
}

/* ---- all of it ----------------------------------------------------------------------------------- */

static fre_status read_role(fre_config *c, const config_object *o, fre_role role, fre_err *err)
{
    fre_role said;
    setting s;
    fre_status st = needed(&s, o, C_ROLE, err);

    if (st != FRE_OK)
        return st;
    if (!fre_role_of(&said, s.text))
        return bad(&s, "must be tagging, synthesis, relay or issuer", err);
    if (said != role)
        return fre_fail(err, FRE_E_USAGE,
                        "'%.300s' is of the role %s, and this is to be the role %s: name another "
                        "file",
                        o->path, fre_role_name(said), fre_role_name(role));
    c->role = role;
    if (role != FRE_ROLE_SYN && config_has(o, C_CODEBOOK))
        return config_bad(o, C_CODEBOOK, "is for the synthesis server alone: remove it", err);
    return role == FRE_ROLE_RELAY || !config_has(o, C_LOG)
               ? FRE_OK
               : config_bad(o, C_LOG, "is served by the relay alone: remove it", err);
}

static fre_status read_all(fre_config *c, const config_object *o, fre_err *err)
{
    static fre_status (*const readers[])(fre_config * c, const config_object *o, fre_err *err) = {
        read_listeners, read_store, read_folders, read_tls, read_peers, read_credentials};
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < sizeof readers / sizeof readers[0]; i++)
        st = readers[i](c, o, err);
    return st;
}

static fre_status parse(fre_config *c, fre_buf *text, const char *path, fre_role role, fre_err *err)
{
    fre_json_want want[C_N] = {[C_ROLE] = {.name = "role"},
                               [C_STORE] = {.name = "store"},
                               [C_KEYS] = {.name = "keys"},
                               [C_ONCE] = {.name = "once"},
                               [C_COLLECTIONS] = {.name = "collections"},
                               [C_PUBLIC] = {.name = "public"},
                               [C_PEER] = {.name = "peer"},
                               [C_HEALTH] = {.name = "health"},
                               [C_CERTIFICATE] = {.name = "certificate"},
                               [C_PRIVATE_KEY] = {.name = "private_key"},
                               [C_PEERS] = {.name = "peers"},
                               [C_LOG] = {.name = "log"},
                               [C_CODEBOOK] = {.name = "codebook"},
                               [C_CREDENTIALS] = {.name = "credentials"}};
    const config_object o = {.path = path, .outer = "", .want = want, .n = C_N};
    fre_status st = config_read_object(&o, text->p, text->n, err);

    if (st == FRE_OK)
        st = read_role(c, &o, role, err);
    return st == FRE_OK ? read_all(c, &o, err) : st;
}

fre_status fre_config_read(fre_config **out, const char *path, fre_role role, fre_err *err)
{
    fre_config *c;
    fre_buf text;
    fre_status st;

    if (!out || !path || !fre_role_name(role))
        return FRE_E_ARG;
    c = calloc(1, sizeof *c);
    if (!c)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
    st = fre_file_read(&text, path, err);
    if (st == FRE_OK)
        st = parse(c, &text, path, role, err);
    fre_buf_wipe(&text);
    if (st == FRE_OK)
        *out = c;
    else
        fre_config_free(c);
    return st;
}

void fre_config_free(fre_config *c)
{
    if (!c)
        return;
    free(c->store);
    free(c->keys);
    free(c->once);
    free(c->collections);
    free(c->certificate);
    free(c->private_key);
    free(c->log);
    free(c->codebook);
    free(c->credentials_file);
    free(c->clients.address);
    free(c->peer.address);
    free(c->health.address);
    for (size_t i = 0; i <= FRE_ROLE_ISSUER; i++)
        free(c->peers[i]);
    for (size_t i = 0; i < FRE_CONFIG_COMMAND_MAX; i++)
        free(c->command[i]);
    free(c);
}
