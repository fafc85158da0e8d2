/* serve/credentials.c - who asks the issuer.
 *
 * A ticket:  n (1)  name (n, 1..31)  HMAC-SHA-256 (32) under a key of that name, or of the app's account
 * system, over label, collection and name.  For a command the 64 bytes are its own affair. */
#include "serve_private.h"

#include <fre/map.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#define LABEL "fre/ticket/v1"
#define MAC_BYTES 32u
#define COMMANDS_MAX 8
#define COMMAND_MS 10000
#define LINE_MAX_BYTES 1024u
#define FILE_MAX (64u << 20)

struct serve_credentials {
    fre_credentials_kind kind;
    const fre_config *config;             /* borrowed: the command */
    fre_text_map names;                   /* of which each has the key at its index */
    uint8_t (*key)[FRE_TICKET_KEY_BYTES]; /* SECRET; of all names; hmac: the one */
    size_t n, cap;
    pthread_mutex_t lock;
    int commands; /* that run */
    bool has_lock;
};

/* ---- tickets ---------------------------------------------------------------------------------------- */

static void mac_of(uint8_t out[MAC_BYTES], const uint8_t key[FRE_TICKET_KEY_BYTES],
                   const fre_collection_id *id, const uint8_t *name, size_t n)
{
    const uint8_t size = sizeof LABEL - 1;
    crypto_auth_hmacsha256_state h;

    (void)crypto_auth_hmacsha256_init(&h, key, FRE_TICKET_KEY_BYTES);
    (void)crypto_auth_hmacsha256_update(&h, &size, 1);
    (void)crypto_auth_hmacsha256_update(&h, (const uint8_t *)LABEL, size);
    (void)crypto_auth_hmacsha256_update(&h, id->b, sizeof id->b);
    (void)crypto_auth_hmacsha256_update(&h, name, n);
    (void)crypto_auth_hmacsha256_final(&h, out);
    fre_wipe(&h, sizeof h);
}

fre_status fre_ticket_make(uint8_t out[FRE_TICKET_BYTES], size_t *n,
                           const uint8_t key[FRE_TICKET_KEY_BYTES], const fre_collection_id *id,
                           const char *name, fre_err *err)
{
    const size_t len = name ? strlen(name) : 0;

    if (!out || !n || !key || !id || !name)
        return FRE_E_ARG;
    if (len < 1 || len > FRE_TICKET_NAME_MAX)
        return fre_fail(err, FRE_E_DATA, "a name in a ticket has 1 to %u bytes",
                        FRE_TICKET_NAME_MAX);
    out[0] = (uint8_t)len;
    memcpy(out + 1, name, len);
    mac_of(out + 1 + len, key, id, out + 1, len);
    *n = 1 + len + MAC_BYTES;
    return FRE_OK;
}

static void hash_name(uint8_t out[32], const void *name, size_t n)
{
    static const char label[] = "fre/person";
    fre_sha256 h;

    fre_sha256_begin(&h, (fre_bytes){(const uint8_t *)label, sizeof label});
    fre_sha256_add(&h, name, n);
    fre_sha256_end(out, &h);
}

static const uint8_t *key_of(const serve_credentials *k, const uint8_t *name, size_t n)
{
    uint32_t at;

    if (k->kind == FRE_CREDENTIALS_HMAC)
        return k->key[0];
    at = fre_text_map_find(&k->names, name, n);
    return at != FRE_MAP_NONE ? k->key[at] : NULL;
}

static fre_status ask_ticket(serve_credentials *k, uint8_t name[32], const fre_collection_id *id,
                             fre_bytes c)
{
    const size_t n = c.n > 0 ? c.p[0] : 0;
    uint8_t mac[MAC_BYTES];
    const uint8_t *key;
    bool ok;

    if (n < 1 || n > FRE_TICKET_NAME_MAX || c.n != 1 + n + MAC_BYTES)
        return FRE_E_REFUSED;
    key = key_of(k, c.p + 1, n);
    if (!key)
        return FRE_E_REFUSED;
    mac_of(mac, key, id, c.p + 1, n);
    ok = fre_secret_eq(mac, c.p + 1 + n, sizeof mac);
    fre_wipe(mac, sizeof mac);
    if (!ok)
        return FRE_E_REFUSED;
    hash_name(name, c.p + 1, n);
    return FRE_OK;
}

/* ---- files ------------------------------------------------------------------------------------------- */

static fre_status add_key(serve_credentials *k, const char *hex, size_t line, fre_err *err)
{
    fre_status st = fre_grow((void **)&k->key, &k->cap, k->n + 1, sizeof *k->key);

    if (st != FRE_OK)
        return st;
    if (strlen(hex) != (size_t)2 * FRE_TICKET_KEY_BYTES ||
        !fre_unhex(k->key[k->n], FRE_TICKET_KEY_BYTES, hex))
        return fre_fail(err, FRE_E_DATA, "credentials, line %zu: a key has %u hexadecimal digits",
                        line, 2 * FRE_TICKET_KEY_BYTES);
    k->n++;
    return FRE_OK;
}

/* NAME KEY */
static fre_status add_name(serve_credentials *k, char *line, size_t number, fre_err *err)
{
    char *key = strchr(line, ' ');
    const size_t n = key ? (size_t)(key - line) : 0;
    uint32_t at;
    bool fresh;
    fre_status st;

    if (n < 1 || n > FRE_TICKET_NAME_MAX)
        return fre_fail(err, FRE_E_DATA,
                        "credentials, line %zu: a name of 1 to %u bytes, a space and its key are "
                        "wanted",
                        number, FRE_TICKET_NAME_MAX);
    st = fre_text_map_put(&k->names, &at, &fresh, line, n);
    if (st != FRE_OK)
        return st;
    if (!fresh)
        return fre_fail(err, FRE_E_DATA, "credentials, line %zu: the name is there before", number);
    return add_key(k, key + 1, number, err);
}

static fre_status read_lines(serve_credentials *k, char *text, fre_err *err)
{
    char *rest = text, *line;
    fre_status st = FRE_OK;

    for (size_t number = 1; st == FRE_OK && (line = strsep(&rest, "\n")); number++) {
        line[strcspn(line, "\r")] = 0;
        if (line[0] == 0 || line[0] == '#')
            continue;
        st = k->kind == FRE_CREDENTIALS_HMAC ? add_key(k, line, number, err)
                                             : add_name(k, line, number, err);
    }
    if (st == FRE_OK && (k->kind == FRE_CREDENTIALS_HMAC ? k->n != 1 : k->n == 0))
        return fre_fail(err, FRE_E_DATA,
                        k->kind == FRE_CREDENTIALS_HMAC
                            ? "credentials: the file has one line, a key"
                            : "credentials: the file names nobody");
    return st;
}

static fre_status read_file(serve_credentials *k, const char *path, fre_err *err)
{
    fre_buf text;
    fre_status st;

    fre_buf_init(&text, FILE_MAX);
    st = fre_private_read(&text, path, err);
    if (st == FRE_OK)
        st = fre_buf_append(&text, "", 1);
    if (st == FRE_OK)
        st = read_lines(k, (char *)text.p, err);
    fre_buf_wipe(&text);
    return st;
}

fre_status serve_credentials_open(serve_credentials **out, const fre_config *c, fre_err *err)
{
    serve_credentials *k = calloc(1, sizeof *k);
    fre_status st;

    if (!k)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    k->kind = c->credentials;
    k->config = c;
    st = fre_text_map_init(&k->names);
    k->has_lock = pthread_mutex_init(&k->lock, NULL) == 0;
    if (st != FRE_OK || !k->has_lock)
        st = fre_fail(err, FRE_E_NOMEM, "out of memory");
    if (st == FRE_OK && c->credentials_file)
        st = read_file(k, c->credentials_file, err);
    if (st != FRE_OK) {
        serve_credentials_free(k);
        return st;
    }
    *out = k;
    return FRE_OK;
}

void serve_credentials_free(serve_credentials *k)
{
    if (!k)
        return;
    fre_text_map_wipe(&k->names);
    fre_wipe_free(k->key, k->cap * sizeof *k->key);
    if (k->has_lock)
        (void)pthread_mutex_destroy(&k->lock);
    free(k);
}

/* ---- a command --------------------------------------------------------------------------------------- */

typedef struct command {
    int in[2], out[2]; /* pipes; -1: closed */
    pid_t pid;
} command;

static void close_end(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

static int start(command *p, char *const *words, char *id)
{
    char *argv[FRE_CONFIG_COMMAND_MAX + 2];
    char path[] = "PATH=/usr/bin:/bin", locale[] = "LC_ALL=C.UTF-8";
    char *const env[] = {path, locale, NULL};
    posix_spawn_file_actions_t files;
    size_t n = 0;
    int e;

    for (; words[n] && n < FRE_CONFIG_COMMAND_MAX; n++)
        argv[n] = words[n];
    argv[n] = id;
    argv[n + 1] = NULL;
    if (posix_spawn_file_actions_init(&files) != 0)
        return ENOMEM;
    e = posix_spawn_file_actions_adddup2(&files, p->in[0], 0);
    e = e ? e : posix_spawn_file_actions_adddup2(&files, p->out[1], 1);
    e = e ? e : posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    e = e ? e : posix_spawn_file_actions_addclosefrom_np(&files, 3);
    e = e ? e : posix_spawn(&p->pid, words[0], &files, NULL, argv, env);
    (void)posix_spawn_file_actions_destroy(&files);
    return e;
}

/* The first line of what it prints; false: it took too long, or printed too much. */
static bool read_line(int fd, char *line, size_t size)
{
    const int64_t end = fre_clock_ms() + COMMAND_MS;
    size_t n = 0;

    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        const int64_t left = end - fre_clock_ms();
        ssize_t got;

        if (left <= 0 || poll(&p, 1, (int)left) <= 0)
            return false;
        got = read(fd, line + n, size - 1 - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        if (got == 0)
            break;
        n += (size_t)got;
        if (n == size - 1)
            return false;
    }
    line[n] = 0;
    line[strcspn(line, "\n")] = 0;
    return true;
}

static fre_status verdict(command *p, uint8_t name[32], bool told, const char *line)
{
    int how = 0;

    if (!told)
        (void)kill(p->pid, SIGKILL);
    while (waitpid(p->pid, &how, 0) < 0 && errno == EINTR)
        ;
    if (!told || !WIFEXITED(how))
        return FRE_E_AGAIN;
    if (WEXITSTATUS(how) == 1)
        return FRE_E_REFUSED;
    if (WEXITSTATUS(how) != 0 || line[0] == 0)
        return FRE_E_AGAIN;
    hash_name(name, line, strlen(line));
    return FRE_OK;
}

static fre_status run(serve_credentials *k, uint8_t name[32], char *id, fre_bytes credentials)
{
    command p = {.in = {-1, -1}, .out = {-1, -1}};
    char line[LINE_MAX_BYTES];
    fre_status st = FRE_E_AGAIN;

    /* 64 bytes fit into a pipe: written before anybody is there to close it, so that who looks at nothing and
     * says no is heard as well. */
    if (pipe2(p.in, O_CLOEXEC) == 0 && pipe2(p.out, O_CLOEXEC) == 0 &&
        write(p.in[1], credentials.p, credentials.n) == (ssize_t)credentials.n &&
        start(&p, k->config->command, id) == 0) {
        for (unsigned i = 0; i < 2; i++)
            close_end(&p.in[i]);
        close_end(&p.out[1]);
        st = verdict(&p, name, read_line(p.out[0], line, sizeof line), line);
    }
    for (unsigned i = 0; i < 2; i++) {
        close_end(&p.in[i]);
        close_end(&p.out[i]);
    }
    return st;
}

static bool begin(serve_credentials *k)
{
    bool ok;

    (void)pthread_mutex_lock(&k->lock);
    ok = k->commands < COMMANDS_MAX;
    k->commands += ok;
    (void)pthread_mutex_unlock(&k->lock);
    return ok;
}

static fre_status ask_command(serve_credentials *k, uint8_t name[32], const fre_collection_id *id,
                              fre_bytes credentials)
{
    char hex[2 * FRE_HASH_BYTES + 1];
    fre_status st;

    if (!begin(k))
        return FRE_E_AGAIN;
    fre_hex(hex, id->b, sizeof id->b);
    st = run(k, name, hex, credentials);
    (void)pthread_mutex_lock(&k->lock);
    k->commands--;
    (void)pthread_mutex_unlock(&k->lock);
    return st;
}

bool serve_credentials_wait(const serve_credentials *k)
{
    return k->kind == FRE_CREDENTIALS_COMMAND;
}

fre_status serve_credentials_ask(serve_credentials *k, uint8_t name[32],
                                 const fre_collection_id *id, fre_bytes credentials)
{
    return k->kind == FRE_CREDENTIALS_COMMAND ? ask_command(k, name, id, credentials)
                                              : ask_ticket(k, name, id, credentials);
}
