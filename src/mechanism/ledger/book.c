/* book.c - the book on disk: read, upgraded, locked, begun, appended to.  Version 3, a JSON object a
 * line:
 *
 *   {"format": "fre-e2t ledger", "version": 3, "salt": 64 digits}
 *   {"sum":"16 digits","id": 16 digits, "name": ..., "content": 64 digits, "records": 32 digits,
 *    "texts": sketch, "users": sketch, "rows": sketch, "date": ..., "epsilon": e, "delta": d,
 *    "budget_epsilon": b, "budget_delta": b, "apart": true, "what": ...}
 *   {"sum":"16 digits","published": id}   or   {"sum":"16 digits","failed": id}
 *
 * sum is a checksum of the rest of the line.  An entry has a name, a content, records or a sketch; the
 * rest is optional.  A line is appended and synced under the lock before anything rests on it: one
 * that has no end yet is none, and is cut off by the next writer.
 *
 * Versions 1 and 2 were one object with "entries": [...], replaced as a whole; version 1 had one key
 * of the data: "data": "name:..." or "sha256:..." (of the same salted hash). */
#include "ledger_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUM_END (sizeof LEDGER_SUM_START - 1 + LEDGER_SUM_DIGITS + 2)

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

static fre_status damaged_line(const char *path, int line, const char *what, fre_err *err)
{
    char where[80];

    (void)snprintf(where, sizeof where, "line %d %s", line, what);
    return damaged(path, where, err);
}

fre_status ledger_too_large(const char *path, fre_err *err)
{
    return fre_fail(err, FRE_E_LIMIT,
                    "the ledger '%.300s' has more than %u MiB: begin another, for other data", path,
                    LEDGER_FILE_MAX_BYTES >> 20);
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

static const char *const states[] = {"booked", "published", "failed", "unknown"};

static bool get_state(const json_t *entry, fre_ledger_state *out)
{
    const json_t *v = json_object_get(entry, "state");
    const char *s = json_string_value(v);

    *out = FRE_LEDGER_BOOKED;
    for (size_t i = 0; s && i < sizeof states / sizeof states[0]; i++) {
        *out = (fre_ledger_state)i;
        if (strcmp(s, states[i]) == 0)
            return true;
    }
    return !v;
}

bool ledger_read_entry(fre_ledger_entry *out, const json_t *e)
{
    const json_t *name = json_object_get(e, "name");
    const double largest = 1.7976931348623157e308;

    memset(out, 0, sizeof *out);
    out->name = json_string_value(name);
    if (name && (!out->name || out->name[0] == '\0'))
        return false;
    out->apart = json_is_true(json_object_get(e, "apart"));
    return get_digits(e, "content", (size_t)2 * FRE_HASH_BYTES, &out->content) &&
           get_digits(e, "records", LEDGER_RECORDS_DIGITS, &out->records) &&
           get_digits(e, "texts", LEDGER_SKETCH_DIGITS, &out->texts) &&
           get_digits(e, "users", LEDGER_SKETCH_DIGITS, &out->users) &&
           get_digits(e, "rows", LEDGER_SKETCH_DIGITS, &out->rows) &&
           (out->name || out->content || out->records || out->rows) && get_state(e, &out->state) &&
           get_digits(e, "id", FRE_LEDGER_ID_BYTES - 1, &out->id) &&
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

    if (!format || strcmp(format, LEDGER_FORMAT) != 0)
        return damaged(path, "it is not a ledger", err);
    if (!json_is_integer(version) || json_integer_value(version) < 1 ||
        json_integer_value(version) > LEDGER_VERSION)
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

static fre_status check_entry(const json_t *e, const char *path, const char *what, size_t i,
                              fre_err *err)
{
    fre_ledger_entry parsed;
    char where[64];

    if (ledger_read_entry(&parsed, e))
        return FRE_OK;
    (void)snprintf(where, sizeof where, "%s %zu", what, i);
    return damaged(path, where, err);
}

/* A book of version 1 or 2, upgraded in memory; the file follows with the next line. */
static fre_status validate_old(json_t *book, const char *path, fre_err *err)
{
    const json_t *entries = json_object_get(book, "entries");
    fre_status st = check_header(book, path, err);
    const json_int_t version = json_integer_value(json_object_get(book, "version"));

    if (st == FRE_OK && version == LEDGER_VERSION)
        st = damaged(path, "its first line has no end", err);
    for (size_t i = 0; st == FRE_OK && i < json_array_size(entries); i++) {
        json_t *e = json_array_get(entries, i);

        if (version == 1)
            st = upgrade_entry(e, err);
        if (st == FRE_OK)
            st = check_entry(e, path, "entry", i + 1, err);
        if (st == FRE_OK && json_object_set_new(e, "state", json_string("unknown")) != 0)
            st = ledger_no_memory(err);
    }
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
        st = fre_open_failed(err, errno, FRE_E_IO, NULL, "cannot open the ledger '%.300s'", path);
        goto out;
    }
    if (!S_ISREG(s.st_mode)) {
        st = fre_fail(err, FRE_E_IO, "the ledger '%.300s' is not a file", path);
        goto out;
    }
    if (s.st_size > (off_t)LEDGER_FILE_MAX_BYTES) {
        st = ledger_too_large(path, err);
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
                          r < 0 ? strerror(errno) : "it became shorter");
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

/* Only the line: the parser's own text quotes what it read. */
/* jansson has no words where memory ran out. */
static bool no_memory(const json_error_t *why)
{
    return why->text[0] == '\0';
}

static fre_status not_json(const char *path, const json_error_t *why, fre_err *err)
{
    return no_memory(why)
               ? fre_fail(err, FRE_E_NOMEM, "out of memory while reading the ledger '%s'", path)
               : damaged_line(path, why->line, "is not JSON", err);
}

void ledger_line_sum(char out[LEDGER_SUM_DIGITS + 1], const json_t *book, const char *rest,
                     size_t n)
{
    uint8_t salt[FRE_LEDGER_SALT_BYTES], hash[16];

    memset(hash, 0, sizeof hash);
    if (ledger_salt(salt, book, NULL) == FRE_OK)
        fre_hash128(hash, salt, rest, n);
    fre_hex(out, hash, LEDGER_SUM_DIGITS / 2);
}

static bool sum_holds(const json_t *book, const char *line, size_t n)
{
    char sum[LEDGER_SUM_DIGITS + 1];

    if (n <= SUM_END || memcmp(line, LEDGER_SUM_START, sizeof LEDGER_SUM_START - 1) != 0)
        return false;
    ledger_line_sum(sum, book, line + SUM_END, n - SUM_END);
    return memcmp(line + sizeof LEDGER_SUM_START - 1, sum, LEDGER_SUM_DIGITS) == 0;
}

json_t *ledger_entry_with(const json_t *book, const char *id)
{
    const json_t *entries = json_object_get(book, "entries");

    for (size_t i = json_array_size(entries); i-- > 0;) {
        json_t *e = json_array_get(entries, i);
        const char *own = json_string_value(json_object_get(e, "id"));

        if (own && strcmp(own, id) == 0)
            return e;
    }
    return NULL;
}

/* What became of an entry, if this is such a line. */
static bool is_mark(const json_t *line, const char **id, const char **state)
{
    for (int i = FRE_LEDGER_PUBLISHED; i <= FRE_LEDGER_FAILED; i++) {
        *state = states[i];
        *id = json_string_value(json_object_get(line, *state));
        if (*id)
            return true;
    }
    return false;
}

static fre_status parse_line(json_t *book, const char *text, size_t n, const char *path, int number,
                             fre_err *err)
{
    json_error_t where;
    json_t *line =
        sum_holds(book, text, n) ? json_loadb(text, n, JSON_REJECT_DUPLICATES, &where) : NULL;
    const char *id, *state;
    fre_status st = FRE_OK;
    int bad = 0;

    if (!line && sum_holds(book, text, n) && no_memory(&where))
        return not_json(path, &where, err);
    if (!line)
        return damaged_line(path, number, "is not as it was written", err);
    if (is_mark(line, &id, &state)) {
        json_t *e = ledger_entry_with(book, id);

        if (e)
            bad = json_object_set_new(e, "state", json_string(state));
        else
            st = damaged_line(path, number, "tells of a release that no line has", err);
    } else {
        st = check_entry(line, path, "line", (size_t)number, err);
        if (st == FRE_OK)
            bad = json_array_append(json_object_get(book, "entries"), line);
    }
    json_decref(line);
    return bad == 0 ? st : ledger_no_memory(err);
}

/* Behind the first line.  What has no end was being written when its writer died, before anything
 * rested on it. */
static fre_status parse_lines(ledger_disk *d, const char *text, size_t n, const char *path,
                              fre_err *err)
{
    fre_status st = FRE_OK;
    const char *end;

    for (int line = 2; st == FRE_OK && d->size < n; line++) {
        end = memchr(text + d->size, '\n', n - d->size);
        if (!end)
            break;
        st = parse_line(d->book, text + d->size, (size_t)(end - text) - d->size, path, line, err);
        d->size = (size_t)(end - text) + 1;
    }
    d->torn = st == FRE_OK && d->size < n;
    return st;
}

static bool is_version(const json_t *header, json_int_t version)
{
    const json_t *v = json_object_get(header, "version");

    return json_is_integer(v) && json_integer_value(v) == version;
}

static fre_status parse(ledger_disk *d, const char *text, size_t n, const char *path, fre_err *err)
{
    const char *end = memchr(text, '\n', n);
    json_error_t where;
    json_t *root =
        end ? json_loadb(text, (size_t)(end - text), JSON_REJECT_DUPLICATES, &where) : NULL;
    fre_status st;

    if (end && !root && no_memory(&where))
        return not_json(path, &where, err);
    d->in_lines = is_version(root, LEDGER_VERSION);
    if (!d->in_lines) {
        if (root && json_integer_value(json_object_get(root, "version")) > LEDGER_VERSION) {
            d->book = root;
            return check_header(root, path, err);
        }
        json_decref(root);
        root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &where);
        if (!root)
            return not_json(path, &where, err);
        d->book = root;
        return validate_old(root, path, err);
    }
    d->book = root;
    d->size = (size_t)(end - text) + 1;
    if (json_object_set_new(root, "entries", json_array()) != 0)
        return ledger_no_memory(err);
    st = check_header(root, path, err);
    return st == FRE_OK ? parse_lines(d, text, n, path, err) : st;
}

void ledger_disk_free(ledger_disk *d)
{
    json_decref(d->book);
    memset(d, 0, sizeof *d);
}

/* d->book stays NULL when there is no file. */
fre_status ledger_load(ledger_disk *d, const char *path, fre_err *err)
{
    char *text = NULL;
    size_t n = 0;
    fre_status st = read_text(path, &text, &n, err);

    memset(d, 0, sizeof *d);
    if (st != FRE_OK || !text)
        return st;
    st = parse(d, text, n, path, err);
    free(text);
    if (st != FRE_OK)
        ledger_disk_free(d);
    return st;
}

fre_status ledger_new_book(json_t **book, const uint8_t salt[FRE_LEDGER_SALT_BYTES], fre_err *err)
{
    char digits[2 * FRE_LEDGER_SALT_BYTES + 1];

    fre_hex(digits, salt, FRE_LEDGER_SALT_BYTES);
    *book = json_pack("{s:s, s:i, s:s, s:[]}", "format", LEDGER_FORMAT, "version", LEDGER_VERSION,
                      "salt", digits, "entries");
    return *book ? FRE_OK : ledger_no_memory(err);
}

fre_status ledger_salt(uint8_t salt[FRE_LEDGER_SALT_BYTES], const json_t *book, fre_err *err)
{
    const char *digits = json_string_value(json_object_get(book, "salt"));

    if (!digits || !fre_unhex(salt, FRE_LEDGER_SALT_BYTES, digits))
        return fre_fail(err, FRE_E_INTERNAL, "a ledger without salt"); /* validated before */
    return FRE_OK;
}
