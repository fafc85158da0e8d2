/* book.c - the book on disk: read, upgraded, locked, replaced.
 *
 *   {"format": "fre-e2t ledger", "version": 2, "salt": 64 digits, "entries": [
 *     {"id": 16 digits, "name": ..., "content": 64 digits, "date": ..., "epsilon": e, "delta": d,
 *      "budget_epsilon": b, "budget_delta": b, "what": ...}, ...]}
 *
 * An entry has a name, or the salted SHA-256 of the content, or both; id and budgets are optional.
 * Version 1 had no id and one key: "data": "name:..." or "sha256:..." (of the same salted hash). */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_PAUSE_MS 20
#define LOCK_TRIES 1500 /* half a minute */
#define FORMAT "fre-e2t ledger"
#define VERSION 2
#define FILE_MAX_BYTES (64u << 20)

const char *ledger_errno_text(int e)
{
    const char *text = strerrordesc_np(e);

    return text ? text : "unknown system error";
}

fre_status ledger_no_memory(fre_err *err)
{
    return fre_fail(err, FRE_E_NOMEM, "out of memory");
}

static fre_status damaged(const char *path, const char *what, fre_err *err)
{
    return fre_fail(err, FRE_E_DATA,
                    "the ledger '%.200s' is damaged (%.120s) and is left as it is; "
                    "repair it or restore a copy: what it says was spent stays spent",
                    path, what);
}

/* ---- reading ----------------------------------------------------------------------------- */

static bool get_number(const json_t *entry, const char *key, bool optional, double max, double *out)
{
    const json_t *v = json_object_get(entry, key);
    double x;

    if (!v && optional) {
        *out = 0;
        return true;
    }
    if (!json_is_number(v))
        return false;
    x = json_number_value(v);
    if (!(x >= 0 && x <= max))
        return false;
    *out = x;
    return true;
}

/* n digits in lower case, as they are compared; a missing one is allowed. */
static bool get_digits(const json_t *entry, const char *key, size_t n, const char **out)
{
    const json_t *v = json_object_get(entry, key);
    const char *s = json_string_value(v);

    *out = s;
    return !v || (s && strlen(s) == n && strspn(s, "0123456789abcdef") == n);
}

static bool get_text(const json_t *entry, const char *key, const char **out)
{
    const json_t *v = json_object_get(entry, key);

    *out = v ? json_string_value(v) : "";
    return *out != NULL;
}

bool ledger_read_entry(fre_ledger_entry *out, const json_t *e)
{
    const json_t *name = json_object_get(e, "name");
    const double largest = 1.7976931348623157e308;

    memset(out, 0, sizeof *out);
    out->name = json_string_value(name);
    if (name && (!out->name || out->name[0] == '\0'))
        return false;
    return get_digits(e, "content", (size_t)2 * FRE_HASH_BYTES, &out->content) &&
           (out->name || out->content) && get_digits(e, "id", FRE_LEDGER_ID_BYTES - 1, &out->id) &&
           get_text(e, "date", &out->date) && get_text(e, "what", &out->what) &&
           get_number(e, "epsilon", false, largest, &out->epsilon) &&
           get_number(e, "delta", false, 1, &out->delta) &&
           get_number(e, "budget_epsilon", true, largest, &out->budget_epsilon) &&
           get_number(e, "budget_delta", true, 1, &out->budget_delta);
}

/* "data" of version 1 becomes "name" or "content"; what it cannot be is left for the check of the
 * entries to refuse. */
static fre_status upgrade_entry(json_t *e, fre_err *err)
{
    static const char name[] = "name:", content[] = "sha256:";
    const char *data = json_string_value(json_object_get(e, "data"));
    json_t *value = NULL;
    const char *key = NULL;

    if (data && strncmp(data, name, strlen(name)) == 0) {
        key = "name";
        value = json_string(data + strlen(name));
    } else if (data && strncmp(data, content, strlen(content)) == 0) {
        key = "content";
        value = json_string(data + strlen(content));
    }
    if (!key)
        return FRE_OK;
    if (json_object_set_new(e, key, value) != 0)
        return ledger_no_memory(err);
    return json_object_del(e, "data") == 0 ? FRE_OK : ledger_no_memory(err);
}

static fre_status check_header(const json_t *book, const char *path, fre_err *err)
{
    const json_t *version = json_object_get(book, "version");
    const char *format = json_string_value(json_object_get(book, "format"));
    const char *salt = json_string_value(json_object_get(book, "salt"));
    uint8_t bytes[FRE_LEDGER_SALT_BYTES];

    if (!format || strcmp(format, FORMAT) != 0)
        return damaged(path, "it is not a ledger", err);
    if (!json_is_integer(version) || json_integer_value(version) < 1 ||
        json_integer_value(version) > VERSION)
        return fre_fail(err, FRE_E_DATA,
                        "the ledger '%.300s' has a version this program does not know; "
                        "use the program that wrote it or a newer one",
                        path);
    if (!salt || !fre_unhex(bytes, sizeof bytes, salt))
        return damaged(path, "its salt", err);
    if (!json_is_array(json_object_get(book, "entries")))
        return damaged(path, "its list of entries", err);
    return FRE_OK;
}

/* Upgrades the book in memory; the file follows with the next entry. */
static fre_status validate(json_t *book, const char *path, fre_err *err)
{
    const json_t *entries = json_object_get(book, "entries");
    fre_status st = check_header(book, path, err);
    bool old = st == FRE_OK && json_integer_value(json_object_get(book, "version")) == 1;
    char where[64];

    for (size_t i = 0; st == FRE_OK && i < json_array_size(entries); i++) {
        json_t *e = json_array_get(entries, i);
        fre_ledger_entry parsed;

        if (old)
            st = upgrade_entry(e, err);
        if (st == FRE_OK && !ledger_read_entry(&parsed, e)) {
            (void)snprintf(where, sizeof where, "entry %zu", i + 1);
            st = damaged(path, where, err);
        }
    }
    if (st == FRE_OK && old && json_object_set_new(book, "version", json_integer(VERSION)) != 0)
        st = ledger_no_memory(err);
    return st;
}

/* The whole file as text; *text stays NULL when there is no file. */
static fre_status read_text(const char *path, char **text, size_t *n, fre_err *err)
{
    fre_status st = FRE_OK;
    char *buf = NULL;
    size_t got = 0;
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0 && errno == ENOENT)
        return FRE_OK;
    if (fd < 0 || fstat(fd, &s) != 0) {
        st = fre_fail(err, FRE_E_IO, "cannot open the ledger '%.300s': %s", path,
                      ledger_errno_text(errno));
        goto out;
    }
    if (!S_ISREG(s.st_mode)) {
        st = fre_fail(err, FRE_E_IO, "the ledger '%.300s' is not a file", path);
        goto out;
    }
    if (s.st_size > (off_t)FILE_MAX_BYTES) {
        st = fre_fail(err, FRE_E_LIMIT, "the ledger '%.300s' has more than %u MiB", path,
                      FILE_MAX_BYTES >> 20);
        goto out;
    }
    buf = malloc((size_t)s.st_size + 1);
    if (!buf) {
        st = ledger_no_memory(err);
        goto out;
    }
    while (got < (size_t)s.st_size) {
        ssize_t r = read(fd, buf + got, (size_t)s.st_size - got);

        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0) {
            st = fre_fail(err, FRE_E_IO, "cannot read the ledger '%.300s': %s", path,
                          r < 0 ? ledger_errno_text(errno) : "it became shorter");
            goto out;
        }
        got += (size_t)r;
    }
    *text = buf;
    *n = got;
    buf = NULL;
out:
    free(buf);
    if (fd >= 0)
        (void)close(fd);
    return st;
}

/* *book stays NULL when there is no file. */
fre_status ledger_load(json_t **book, const char *path, fre_err *err)
{
    json_error_t where;
    json_t *root = NULL;
    char *text = NULL, line[64];
    size_t n = 0;
    fre_status st = read_text(path, &text, &n, err);

    if (st != FRE_OK || !text)
        return st;
    root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &where);
    free(text);
    if (!root) {
        /* Only the line: the parser's own text quotes what it read. */
        (void)snprintf(line, sizeof line, "line %d is not JSON", where.line);
        return damaged(path, line, err);
    }
    st = validate(root, path, err);
    if (st != FRE_OK) {
        json_decref(root);
        return st;
    }
    *book = root;
    return FRE_OK;
}

fre_status ledger_new_book(json_t **book, const uint8_t salt[FRE_LEDGER_SALT_BYTES], fre_err *err)
{
    char digits[2 * FRE_LEDGER_SALT_BYTES + 1];

    fre_hex(digits, salt, FRE_LEDGER_SALT_BYTES);
    *book = json_pack("{s:s, s:i, s:s, s:[]}", "format", FORMAT, "version", VERSION, "salt", digits,
                      "entries");
    return *book ? FRE_OK : ledger_no_memory(err);
}

fre_status ledger_salt(uint8_t salt[FRE_LEDGER_SALT_BYTES], const json_t *book, fre_err *err)
{
    const char *digits = json_string_value(json_object_get(book, "salt"));

    if (!digits || !fre_unhex(salt, FRE_LEDGER_SALT_BYTES, digits))
        return fre_fail(err, FRE_E_INTERNAL, "a ledger without salt"); /* validated before */
    return FRE_OK;
}

/* ---- entries ----------------------------------------------------------------------------- */

/* A string for people: bytes that are not UTF-8 (a path may hold any) become question marks. */
static json_t *text_value(const char *text)
{
    json_t *v = json_string(text);
    char *copy;

    if (v)
        return v;
    copy = strdup(text);
    if (!copy)
        return NULL;
    for (char *c = copy; *c; c++) {
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    }
    v = json_string(copy);
    free(copy);
    return v;
}

fre_status ledger_append(json_t *book, const fre_ledger_entry *e, fre_err *err)
{
    json_t *o =
        json_pack("{s:s, s:s*, s:s*, s:s, s:f, s:f}", "id", e->id, "name", e->name, "content",
                  e->content, "date", e->date, "epsilon", e->epsilon, "delta", e->delta);
    int bad;

    if (!o)
        return ledger_no_memory(err);
    bad = json_object_set_new(o, "what", text_value(e->what));
    if (e->budget_epsilon > 0)
        bad |= json_object_set_new(o, "budget_epsilon", json_real(e->budget_epsilon));
    if (e->budget_delta > 0)
        bad |= json_object_set_new(o, "budget_delta", json_real(e->budget_delta));
    if (bad != 0) {
        json_decref(o);
        return ledger_no_memory(err);
    }
    return json_array_append_new(json_object_get(book, "entries"), o) == 0 ? FRE_OK
                                                                           : ledger_no_memory(err);
}

/* ---- writing ----------------------------------------------------------------------------- */

static fre_status cannot_write(const char *path, int e, fre_err *err)
{
    return fre_fail(err, FRE_E_IO, "cannot write the ledger '%.300s': %s", path,
                    e == ENOSPC || e == EDQUOT ? "disk full" : ledger_errno_text(e));
}

static int write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return errno;
        p += done;
        n -= (size_t)done;
    }
    return fsync(fd) == 0 ? 0 : errno;
}

/* Sync the folder, so that the rename survives a power cut.  Not every file system can. */
static void sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("./");
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        (void)fsync(fd);
        (void)close(fd);
    }
    free(folder);
}

/* The lock is held, so the sibling can have a fixed name: a killed run's is overwritten. */
fre_status ledger_save(const json_t *book, const char *path, fre_err *err)
{
    char *text = json_dumps(book, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    char *fresh = NULL;
    fre_status st = FRE_OK;
    int fd = -1, e = 0;

    if (!text || asprintf(&fresh, "%s.new", path) < 0) {
        fresh = NULL;
        st = ledger_no_memory(err);
        goto out;
    }
    fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        st = cannot_write(path, errno, err);
        goto out;
    }
    if (fchmod(fd, 0600) != 0) /* a leftover's mode is not trusted */
        e = errno;
    if (e == 0)
        e = write_all(fd, text, strlen(text));
    if (close(fd) != 0 && e == 0)
        e = errno;
    if (e == 0 && rename(fresh, path) != 0)
        e = errno;
    if (e != 0) {
        (void)unlink(fresh);
        st = cannot_write(path, e, err);
        goto out;
    }
    sync_folder(path);
out:
    free(text);
    free(fresh);
    return st;
}

fre_status ledger_lock(int *fd, const char *path, fre_err *err)
{
    char *name = NULL;
    fre_status st = FRE_OK;

    if (asprintf(&name, "%s.lock", path) < 0)
        return ledger_no_memory(err);
    *fd = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (*fd < 0)
        st = cannot_write(path, errno, err);
    for (int tries = 0; st == FRE_OK && flock(*fd, LOCK_EX | LOCK_NB) != 0; tries++) {
        if (errno != EINTR && errno != EWOULDBLOCK)
            st =
                fre_fail(err, FRE_E_IO, "cannot lock '%.300s': %s", name, ledger_errno_text(errno));
        else if (fre_interrupted())
            st = fre_fail(err, FRE_E_INTERRUPTED, "interrupted while waiting for the ledger");
        else if (tries >= LOCK_TRIES)
            st =
                fre_fail(err, FRE_E_AGAIN, "another process holds '%.300s'; try again later", name);
        else
            (void)poll(NULL, 0, LOCK_PAUSE_MS);
    }
    free(name);
    return st;
}

fre_status ledger_resolve(char **out, const char *path, fre_err *err)
{
    struct stat s;

    if (!path || path[0] == '\0')
        return fre_fail(err, FRE_E_ARG, "a ledger needs a path");
    if (lstat(path, &s) == 0 && S_ISLNK(s.st_mode)) {
        *out = realpath(path, NULL);
        if (!*out)
            return fre_fail(err, FRE_E_IO, "cannot follow the ledger's link '%.300s': %s", path,
                            ledger_errno_text(errno));
        return FRE_OK;
    }
    *out = strdup(path);
    return *out ? FRE_OK : ledger_no_memory(err);
}
