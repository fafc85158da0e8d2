/* write.c - the book on disk: locked, begun, appended to; see book.c. */
#include "ledger_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static int set_text(json_t *o, const char *key, const char *text)
{
    return text && text[0] ? json_object_set_new(o, key, json_string(text)) : 0;
}

fre_status ledger_entry_json(json_t **out, const fre_ledger_entry *e, fre_err *err)
{
    json_t *o = json_pack("{s:s, s:s, s:f, s:f, s:o}", "id", e->id, "date", e->date, "epsilon",
                          e->epsilon, "delta", e->delta, "what", text_value(e->what));
    int bad = !o;

    bad = bad || set_text(o, "name", e->name) || set_text(o, "content", e->content) ||
          set_text(o, "records", e->records) || set_text(o, "texts", e->texts) ||
          set_text(o, "users", e->users) || set_text(o, "rows", e->rows);
    if (!bad && e->apart)
        bad = json_object_set_new(o, "apart", json_true());
    if (!bad && e->budget_epsilon > 0)
        bad = json_object_set_new(o, "budget_epsilon", json_real(e->budget_epsilon));
    if (!bad && e->budget_delta > 0)
        bad = json_object_set_new(o, "budget_delta", json_real(e->budget_delta));
    if (bad) {
        json_decref(o);
        return ledger_no_memory(err);
    }
    *out = o;
    return FRE_OK;
}

/* ---- writing ----------------------------------------------------------------------------- */

static fre_status cannot_write(const char *path, int e, fre_err *err)
{
    if (e == ENOSPC || e == EDQUOT)
        return fre_fail(err, FRE_E_IO, "cannot write the ledger '%.300s': disk full", path);
    return fre_open_failed(err, e, FRE_E_IO, NULL, "cannot write the ledger '%.300s'", path);
}

bool ledger_has_no_place(int e)
{
    return e == EACCES || e == EPERM || e == EROFS || e == ENOENT;
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

/* One line with its checksum, as it stands in the file. */
static fre_status add_line(fre_buf *out, const json_t *book, const json_t *object, fre_err *err)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
    char sum[LEDGER_SUM_DIGITS + 1];
    fre_status st = text && text[0] == '{' ? FRE_OK : FRE_E_NOMEM;

    if (st == FRE_OK) {
        ledger_line_sum(sum, book, text + 1, strlen(text + 1));
        st = fre_buf_printf(out, LEDGER_SUM_START "%s\",", sum);
    }
    if (st == FRE_OK)
        st = fre_buf_append(out, text + 1, strlen(text + 1));
    if (st == FRE_OK)
        st = fre_buf_append(out, "\n", 1);
    free(text);
    return st == FRE_OK ? st : ledger_no_memory(err);
}

static fre_status whole_text(fre_buf *out, const json_t *book, fre_err *err)
{
    const json_t *entries = json_object_get(book, "entries");
    fre_status st = fre_buf_printf(
        out, "{\"format\": \"" LEDGER_FORMAT "\", \"version\": %d, \"salt\": \"%s\"}\n",
        LEDGER_VERSION, json_string_value(json_object_get(book, "salt")));

    for (size_t i = 0; st == FRE_OK && i < json_array_size(entries); i++) {
        json_t *e = json_array_get(entries, i);

        (void)json_object_del(e, "sum");
        st = add_line(out, book, e, err);
    }
    return st == FRE_OK ? st : ledger_no_memory(err);
}

/* A book that is new, or was of an older version: beside it, then in one rename.  The lock is held,
 * so the sibling can have a fixed name: a killed run's is overwritten. */
static fre_status save_whole(const json_t *book, const char *path, fre_err *err)
{
    char *fresh = NULL;
    fre_buf text;
    fre_status st;
    int fd = -1, e = 0;

    fre_buf_init(&text, LEDGER_FILE_MAX_BYTES);
    st = whole_text(&text, book, err);
    if (st != FRE_OK || asprintf(&fresh, "%s.new", path) < 0) {
        fre_buf_wipe(&text);
        return ledger_no_memory(err);
    }
    fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    e = fd < 0 ? errno : 0;
    if (e == 0 && fchmod(fd, 0600) != 0) /* a leftover's mode is not trusted */
        e = errno;
    if (e == 0)
        e = write_all(fd, (const char *)text.p, text.n);
    if (fd >= 0 && close(fd) != 0 && e == 0)
        e = errno;
    if (e == 0 && rename(fresh, path) != 0)
        e = errno;
    if (e == 0)
        sync_folder(path);
    else if (fd >= 0)
        (void)unlink(fresh);
    fre_buf_wipe(&text);
    free(fresh);
    return e == 0 ? FRE_OK : cannot_write(path, e, err);
}

/* A line at the end of what is whole.  What fails is taken back; if that fails too, the line stays
 * and counts. */
static fre_status append_line(const ledger_disk *d, const char *path, const json_t *object,
                              fre_err *err)
{
    const off_t end = (off_t)d->size;
    fre_buf text;
    fre_status st;
    int fd, e = 0;

    fre_buf_init(&text, LEDGER_FILE_MAX_BYTES);
    st = add_line(&text, d->book, object, err);
    if (st != FRE_OK) {
        fre_buf_wipe(&text);
        return st;
    }
    if (d->size + text.n > LEDGER_FILE_MAX_BYTES) {
        fre_buf_wipe(&text);
        return ledger_too_large(path, err);
    }
    fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || (d->torn && ftruncate(fd, end) != 0) || lseek(fd, end, SEEK_SET) != end)
        e = errno;
    if (e == 0) {
        e = write_all(fd, (const char *)text.p, text.n);
        if (e != 0 && ftruncate(fd, end) == 0)
            (void)fsync(fd);
    }
    if (fd >= 0)
        (void)close(fd); /* synced before */
    fre_buf_wipe(&text);
    return e == 0 ? FRE_OK : cannot_write(path, e, err);
}

fre_status ledger_add(ledger_disk *d, const char *path, json_t *object, fre_err *err)
{
    json_t *entries = json_object_get(d->book, "entries");

    if (d->in_lines)
        return object ? append_line(d, path, object, err) : FRE_OK;
    if (object && json_array_append(entries, object) != 0)
        return ledger_no_memory(err);
    return save_whole(d->book, path, err);
}

fre_status ledger_lock(int *fd, const char *path, fre_err *err)
{
    char *name = NULL;
    fre_status st = FRE_OK;

    if (asprintf(&name, "%s.lock", path) < 0)
        return ledger_no_memory(err);
    *fd = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (*fd < 0) {
        const bool none = ledger_has_no_place(errno);

        st = cannot_write(path, errno, err);
        st = none ? FRE_E_NOINPUT : st;
    }
    if (st == FRE_OK)
        st = fre_lock_wait(*fd, name, "the ledger", err);
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
                            strerror(errno));
        return FRE_OK;
    }
    *out = strdup(path);
    return *out ? FRE_OK : ledger_no_memory(err);
}
