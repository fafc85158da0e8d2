/* ledger.c - the book of releases.
 *
 *   {"format": "fre-e2t ledger", "version": 1, "salt": 64 digits, "entries": [
 *     {"data": "name:..." or "sha256:...", "date": ..., "epsilon": e, "delta": d,
 *      "budget_epsilon": b, "budget_delta": b (both optional), "what": ...}, ...]}
 *
 * Basic composition (Dwork and Roth, "The algorithmic foundations of differential privacy", 2014,
 * theorem 3.16): releases from the same data spend the sums of their epsilons and deltas. */
#include <fre/ledger.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_PAUSE_MS 20
#define LOCK_TRIES 1500 /* half a minute */
#define FORMAT "fre-e2t ledger"
#define VERSION 1
#define SALT_BYTES 32u
#define NAME_MAX_BYTES 200u
#define FILE_MAX_BYTES (64u << 20)
#define KEY_BYTES (NAME_MAX_BYTES + 8u)
#define TOLERANCE 1e-12

static const char *error_text(int e)
{
    const char *text = strerrordesc_np(e);

    return text ? text : "unknown system error";
}

static fre_status no_memory(fre_err *err)
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

static bool read_entry(const json_t *e, fre_ledger_entry *out)
{
    const json_t *data = json_object_get(e, "data"), *date = json_object_get(e, "date");
    const json_t *what = json_object_get(e, "what");
    double largest = 1.7976931348623157e308;

    if (!json_is_string(data) || (date && !json_is_string(date)) ||
        (what && !json_is_string(what)) ||
        !get_number(e, "epsilon", false, largest, &out->epsilon) ||
        !get_number(e, "delta", false, 1, &out->delta) ||
        !get_number(e, "budget_epsilon", true, largest, &out->budget_epsilon) ||
        !get_number(e, "budget_delta", true, 1, &out->budget_delta))
        return false;
    out->data = json_string_value(data);
    out->date = date ? json_string_value(date) : "";
    out->what = what ? json_string_value(what) : "";
    return true;
}

static fre_status validate(const json_t *book, const char *path, fre_err *err)
{
    const json_t *version = json_object_get(book, "version");
    const char *format = json_string_value(json_object_get(book, "format"));
    const char *salt = json_string_value(json_object_get(book, "salt"));
    const json_t *entries = json_object_get(book, "entries");
    uint8_t bytes[SALT_BYTES];
    char where[64];

    if (!format || strcmp(format, FORMAT) != 0)
        return damaged(path, "it is not a ledger", err);
    if (!json_is_integer(version) || json_integer_value(version) != VERSION)
        return fre_fail(err, FRE_E_DATA,
                        "the ledger '%.300s' has a version this program does not know; "
                        "use the program that wrote it or a newer one",
                        path);
    if (!salt || !fre_unhex(bytes, sizeof bytes, salt))
        return damaged(path, "its salt", err);
    if (!json_is_array(entries))
        return damaged(path, "its list of entries", err);
    for (size_t i = 0; i < json_array_size(entries); i++) {
        fre_ledger_entry e;

        if (!read_entry(json_array_get(entries, i), &e)) {
            (void)snprintf(where, sizeof where, "entry %zu", i + 1);
            return damaged(path, where, err);
        }
    }
    return FRE_OK;
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
        st =
            fre_fail(err, FRE_E_IO, "cannot open the ledger '%.300s': %s", path, error_text(errno));
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
        st = no_memory(err);
        goto out;
    }
    while (got < (size_t)s.st_size) {
        ssize_t r = read(fd, buf + got, (size_t)s.st_size - got);

        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0) {
            st = fre_fail(err, FRE_E_IO, "cannot read the ledger '%.300s': %s", path,
                          r < 0 ? error_text(errno) : "it became shorter");
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
static fre_status load(const char *path, json_t **book, fre_err *err)
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

static fre_status new_book(json_t **book, fre_err *err)
{
    uint8_t salt[SALT_BYTES];
    char digits[2 * SALT_BYTES + 1];
    fre_rng rng;
    fre_status st = fre_rng_init(&rng);

    if (st != FRE_OK)
        return fre_fail(err, st, "the system offers no randomness");
    fre_rng_bytes(&rng, salt, sizeof salt);
    fre_rng_wipe(&rng);
    fre_hex(digits, salt, sizeof salt);
    *book = json_pack("{s:s, s:i, s:s, s:[]}", "format", FORMAT, "version", VERSION, "salt", digits,
                      "entries");
    return *book ? FRE_OK : no_memory(err);
}

/* ---- one spend --------------------------------------------------------------------------- */

static fre_status check_spend(const fre_ledger_spend *s, fre_err *err)
{
    if (!s || (!s->data_name && !s->input_path))
        return fre_fail(err, FRE_E_ARG, "a spend needs data");
    if (!isfinite(s->epsilon) || s->epsilon < 0)
        return fre_fail(err, FRE_E_USAGE,
                        "a ledger takes a finite epsilon; a release without privacy cannot be "
                        "recorded as a spend");
    if (!(s->delta >= 0 && s->delta <= 1))
        return fre_fail(err, FRE_E_USAGE, "a ledger takes a delta between 0 and 1");
    if (isnan(s->budget_epsilon) || isinf(s->budget_epsilon) || !(s->budget_delta <= 1))
        return fre_fail(err, FRE_E_USAGE,
                        "a ledger's budgets are a finite epsilon and a delta up "
                        "to 1");
    if (!s->data_name && strcmp(s->input_path, "-") == 0)
        return fre_fail(err, FRE_E_USAGE,
                        "data from standard input needs a name in the ledger; give one");
    return FRE_OK;
}

/* What the entry's data is called: by name, or by the salted hash of the content. */
static fre_status data_key(const json_t *book, const fre_ledger_spend *s, char key[KEY_BYTES],
                           fre_err *err)
{
    uint8_t salt[SALT_BYTES], hash[FRE_HASH_BYTES];
    char digits[2 * FRE_HASH_BYTES + 1];
    struct stat info;
    fre_status st;

    if (s->data_name) {
        size_t n = strnlen(s->data_name, NAME_MAX_BYTES + 1);

        json_t *probe = json_stringn(s->data_name, n);
        bool utf8 = probe != NULL;

        json_decref(probe);
        if (n == 0 || n > NAME_MAX_BYTES || !utf8)
            return fre_fail(err, FRE_E_USAGE, "a name in the ledger has 1 to %u bytes of UTF-8",
                            NAME_MAX_BYTES);
        (void)snprintf(key, KEY_BYTES, "name:%s", s->data_name);
        return FRE_OK;
    }
    /* A pipe can be read once only, and the run needs it. */
    if (stat(s->input_path, &info) == 0 && !S_ISREG(info.st_mode))
        return fre_fail(err, FRE_E_USAGE,
                        "'%.300s' is not a regular file, so its data need a name in the ledger; "
                        "give one",
                        s->input_path);
    if (!fre_unhex(salt, sizeof salt, json_string_value(json_object_get(book, "salt"))))
        return fre_fail(err, FRE_E_INTERNAL, "a ledger without salt"); /* validated before */
    st = fre_sha256_file_salted(hash, s->input_path, (fre_bytes){salt, sizeof salt}, err);
    if (st != FRE_OK)
        return st;
    fre_hex(digits, hash, sizeof hash);
    (void)snprintf(key, KEY_BYTES, "sha256:%s", digits);
    return FRE_OK;
}

/* a + b rounded upward: adding to the nearest and then one step up is never below the true sum. */
static double add_up(double a, double b)
{
    if (a <= 0 || b <= 0)
        return a <= 0 ? b : a;
    return nextafter(a + b, (double)INFINITY);
}

static double smaller_budget(double a, double b)
{
    if (a <= 0 || b <= 0)
        return a <= 0 ? b : a;
    return a < b ? a : b;
}

static fre_status check_budget(const json_t *book, const char *key, const fre_ledger_spend *s,
                               fre_err *err)
{
    const json_t *entries = json_object_get(book, "entries");
    double epsilon = 0, delta = 0;
    double max_epsilon = s->budget_epsilon, max_delta = s->budget_delta;
    size_t releases = 0;

    for (size_t i = 0; i < json_array_size(entries); i++) {
        fre_ledger_entry e;

        if (!read_entry(json_array_get(entries, i), &e) || strcmp(e.data, key) != 0)
            continue;
        releases++;
        epsilon = add_up(epsilon, e.epsilon);
        delta = add_up(delta, e.delta);
        max_epsilon = smaller_budget(max_epsilon, e.budget_epsilon);
        max_delta = smaller_budget(max_delta, e.budget_delta);
    }
    if (max_epsilon > 0 && add_up(epsilon, s->epsilon) > max_epsilon * (1 + TOLERANCE))
        return fre_fail(err, FRE_E_REFUSED,
                        "refused by the ledger: releases of this data (%zu so far) have spent epsilon "
                        "%.6g of %.6g, and this one asks for %.6g",
                        releases, epsilon, max_epsilon, s->epsilon);
    if (max_delta > 0 && add_up(delta, s->delta) > max_delta * (1 + TOLERANCE))
        return fre_fail(err, FRE_E_REFUSED,
                        "refused by the ledger: releases of this data (%zu so far) have spent delta "
                        "%.6g of %.6g, and this one asks for %.6g",
                        releases, delta, max_delta, s->delta);
    return FRE_OK;
}

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

static fre_status add_entry(json_t *book, const char *key, const fre_ledger_spend *s, fre_err *err)
{
    time_t now = (time_t)fre_clock_unix();
    struct tm utc;
    char date[32] = "";
    json_t *e;
    int bad;

    if (gmtime_r(&now, &utc))
        (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    e = json_pack("{s:s, s:s, s:f, s:f}", "data", key, "date", date, "epsilon", s->epsilon, "delta",
                  s->delta);
    if (!e)
        return no_memory(err);
    bad = json_object_set_new(e, "what", text_value(s->what ? s->what : ""));
    if (s->budget_epsilon > 0)
        bad |= json_object_set_new(e, "budget_epsilon", json_real(s->budget_epsilon));
    if (s->budget_delta > 0)
        bad |= json_object_set_new(e, "budget_delta", json_real(s->budget_delta));
    if (bad != 0) {
        json_decref(e);
        return no_memory(err);
    }
    return json_array_append_new(json_object_get(book, "entries"), e) == 0 ? FRE_OK
                                                                           : no_memory(err);
}

/* ---- writing ----------------------------------------------------------------------------- */

static fre_status cannot_write(const char *path, int e, fre_err *err)
{
    return fre_fail(err, FRE_E_IO, "cannot write the ledger '%.300s': %s", path,
                    e == ENOSPC || e == EDQUOT ? "disk full" : error_text(e));
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
static fre_status save(const json_t *book, const char *path, fre_err *err)
{
    char *text = json_dumps(book, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    char *fresh = NULL;
    fre_status st = FRE_OK;
    int fd = -1, e = 0;

    if (!text || asprintf(&fresh, "%s.new", path) < 0) {
        fresh = NULL;
        st = no_memory(err);
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

static fre_status take_lock(const char *path, int *fd, fre_err *err)
{
    char *name = NULL;
    fre_status st = FRE_OK;

    if (asprintf(&name, "%s.lock", path) < 0)
        return no_memory(err);
    *fd = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (*fd < 0)
        st = cannot_write(path, errno, err);
    for (int tries = 0; st == FRE_OK && flock(*fd, LOCK_EX | LOCK_NB) != 0; tries++) {
        if (errno != EINTR && errno != EWOULDBLOCK)
            st = fre_fail(err, FRE_E_IO, "cannot lock '%.300s': %s", name, error_text(errno));
        else if (fre_interrupted())
            st = fre_fail(err, FRE_E_INTERRUPTED, "interrupted while waiting for the ledger");
        else if (tries >= LOCK_TRIES)
            st = fre_fail(err, FRE_E_AGAIN, "another process holds '%.300s'; try again later", name);
        else
            (void)poll(NULL, 0, LOCK_PAUSE_MS);
    }
    free(name);
    return st;
}

/* A link is followed, so that the book it names is replaced and locked, not the link. */
static fre_status resolve(const char *path, char **out, fre_err *err)
{
    struct stat s;

    if (!path || path[0] == '\0')
        return fre_fail(err, FRE_E_ARG, "a ledger needs a path");
    if (lstat(path, &s) == 0 && S_ISLNK(s.st_mode)) {
        *out = realpath(path, NULL);
        if (!*out)
            return fre_fail(err, FRE_E_IO, "cannot follow the ledger's link '%.300s': %s", path,
                            error_text(errno));
        return FRE_OK;
    }
    *out = strdup(path);
    return *out ? FRE_OK : no_memory(err);
}

static fre_status examine(const char *path, const fre_ledger_spend *spend, json_t **book,
                          char key[KEY_BYTES], fre_err *err)
{
    fre_status st = load(path, book, err);

    if (st == FRE_OK && !*book)
        st = new_book(book, err);
    if (st == FRE_OK)
        st = data_key(*book, spend, key, err);
    return st == FRE_OK ? check_budget(*book, key, spend, err) : st;
}

fre_status fre_ledger_record(const char *path, const fre_ledger_spend *spend, fre_err *err)
{
    char key[KEY_BYTES], *real = NULL;
    json_t *book = NULL;
    int lock = -1;
    fre_status st = check_spend(spend, err);

    if (st == FRE_OK)
        st = resolve(path, &real, err);
    if (st == FRE_OK)
        st = take_lock(real, &lock, err);
    if (st == FRE_OK)
        st = examine(real, spend, &book, key, err);
    if (st == FRE_OK)
        st = add_entry(book, key, spend, err);
    if (st == FRE_OK)
        st = save(book, real, err);
    json_decref(book);
    if (lock >= 0)
        (void)close(lock); /* releases it */
    free(real);
    return st;
}

fre_status fre_ledger_check(const char *path, const fre_ledger_spend *spend, fre_err *err)
{
    char key[KEY_BYTES], *real = NULL;
    json_t *book = NULL;
    fre_status st = check_spend(spend, err);

    if (st == FRE_OK)
        st = resolve(path, &real, err);
    /* No lock: the file is replaced in one rename, so a reader sees one book or the next. */
    if (st == FRE_OK)
        st = examine(real, spend, &book, key, err);
    json_decref(book);
    free(real);
    return st;
}

fre_status fre_ledger_list(const char *path,
                           void (*visit)(void *ctx, const fre_ledger_entry *entry), void *ctx,
                           fre_err *err)
{
    json_t *book = NULL;
    const json_t *entries;
    fre_status st;

    if (!path || !visit)
        return fre_fail(err, FRE_E_ARG, "a ledger needs a path and a visitor");
    st = load(path, &book, err);
    if (st != FRE_OK)
        return st;
    if (!book)
        return fre_fail(err, FRE_E_NOINPUT, "there is no ledger '%.300s'", path);
    entries = json_object_get(book, "entries");
    for (size_t i = 0; i < json_array_size(entries); i++) {
        fre_ledger_entry e;

        if (read_entry(json_array_get(entries, i), &e))
            visit(ctx, &e);
    }
    json_decref(book);
    return FRE_OK;
}
