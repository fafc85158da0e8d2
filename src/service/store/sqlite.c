/* sqlite.c - a file a machine, FOLDER/<collection>-<role>.sqlite, in WAL mode.
 *
 *   row (id BLOB PRIMARY KEY, sealed BLOB)      user_version: of the schema; application_id: ours */
#include "store_private.h"

#include <errno.h>
#include <sqlite3.h>
#include <unistd.h>

#define APPLICATION "1179800884" /* "FRE4": of this table */

typedef struct lite {
    fre_store base;
    sqlite3 *db;
    sqlite3_stmt *put, *drop, *all;
    char *path;
} lite;

static lite *self(fre_store *s)
{
    return (lite *)s;
}

/* No text of SQLite's own: it may hold a path, but never a value; a code says all. */
static fre_status failed(const lite *x, int code, fre_err *err)
{
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return store_taken(err);
    case SQLITE_NOMEM:
        return FRE_E_NOMEM;
    case SQLITE_FULL:
        return fre_fail(err, FRE_E_IO, "the disk of the store '%.300s' is full", x->path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return fre_fail(err, FRE_E_DATA, "the store '%.300s' is damaged, or no store", x->path);
    default:
        return fre_fail(err, FRE_E_IO, "the store '%.300s': %.100s", x->path, sqlite3_errstr(code));
    }
}

static fre_status run(lite *x, const char *sql, fre_err *err)
{
    const int code = sqlite3_exec(x->db, sql, NULL, NULL, NULL);

    return code == SQLITE_OK ? FRE_OK : failed(x, code, err);
}

static fre_status number(lite *x, const char *sql, int64_t *out, fre_err *err)
{
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(x->db, sql, -1, &s, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(s);
    if (code == SQLITE_ROW)
        *out = sqlite3_column_int64(s, 0);
    (void)sqlite3_finalize(s);
    return code == SQLITE_ROW ? FRE_OK : failed(x, code, err);
}

/* ---- changing ------------------------------------------------------------------------------------ */

static fre_status begin(fre_store *s, bool all, fre_err *err)
{
    fre_status st = run(self(s), "BEGIN IMMEDIATE", err);

    return st == FRE_OK && all ? run(self(s), "DELETE FROM row", err) : st;
}

static int apply_one(lite *x, const store_chunk *c, const store_item *item)
{
    sqlite3_stmt *s = item->erase ? x->drop : x->put;
    int code = sqlite3_bind_blob64(s, 1, item->id, sizeof item->id, SQLITE_STATIC);

    if (code == SQLITE_OK && !item->erase)
        code = sqlite3_bind_blob64(s, 2, c->bytes + item->at, item->n, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_step(s);
    (void)sqlite3_reset(s);
    (void)sqlite3_clear_bindings(s);
    return code;
}

static fre_status apply(fre_store *s, const store_chunk *c, fre_err *err)
{
    int code = SQLITE_DONE;

    for (size_t i = 0; code == SQLITE_DONE && i < c->n; i++)
        code = apply_one(self(s), c, &c->item[i]);
    return code == SQLITE_DONE ? FRE_OK : failed(self(s), code, err);
}

static fre_status commit(fre_store *s, fre_err *err)
{
    return run(self(s), "COMMIT", err);
}

/* ---- reading ------------------------------------------------------------------------------------- */

static fre_bytes column(sqlite3_stmt *s, int i)
{
    const uint8_t *p = sqlite3_column_blob(s, i);

    return (fre_bytes){.p = p, .n = (size_t)sqlite3_column_bytes(s, i)};
}

static fre_status load(fre_store *s, store_seen *fn, void *ctx, fre_err *err)
{
    lite *x = self(s);
    fre_status st = FRE_OK;
    int code = SQLITE_ROW;

    while (st == FRE_OK && (code = sqlite3_step(x->all)) == SQLITE_ROW)
        st = fn(ctx, column(x->all, 0), column(x->all, 1));
    (void)sqlite3_reset(x->all);
    return st == FRE_OK && code != SQLITE_DONE ? failed(x, code, err) : st;
}

/* ---- opening and closing ------------------------------------------------------------------------- */

static void close_db(lite *x)
{
    (void)sqlite3_finalize(x->put);
    (void)sqlite3_finalize(x->drop);
    (void)sqlite3_finalize(x->all);
    (void)sqlite3_close(x->db);
    x->put = x->drop = x->all = NULL;
    x->db = NULL;
}

static void close_lite(fre_store *s)
{
    lite *x = self(s);

    close_db(x);
    free(x->path);
    free(x);
}

static fre_status destroy(fre_store *s, fre_err *err)
{
    lite *x = self(s);
    fre_status st = run(x, "PRAGMA wal_checkpoint(TRUNCATE)", err);

    close_db(x);
    if (unlink(x->path) != 0 && errno != ENOENT)
        return fre_open_failed(err, errno, FRE_E_IO, NULL, "cannot remove the store '%.300s'",
                               x->path);
    return st;
}

static const store_ops ops = {.begin = begin,
                              .apply = apply,
                              .commit = commit,
                              .load = load,
                              .destroy = destroy,
                              .close = close_lite};

static fre_status name_file(char **out, const char *folder,
                            const uint8_t machine[STORE_MACHINE_BYTES])
{
    const size_t n = strlen(folder) + 2 * sizeof(fre_collection_id) + 16;
    char hex[2 * sizeof(fre_collection_id) + 1];
    char *path = malloc(n);

    if (!path)
        return FRE_E_NOMEM;
    fre_hex(hex, machine, sizeof(fre_collection_id));
    (void)snprintf(path, n, "%s/%s-%u.sqlite", folder, hex, machine[STORE_MACHINE_BYTES - 1]);
    *out = path;
    return FRE_OK;
}

/* For its owner alone, before SQLite opens it: its log gets the same mode. */
static fre_status make_file(const char *path, fre_err *err)
{
    const int e = fre_make_parents(path);
    bool fresh = false;
    fre_status st;
    int fd = -1;

    if (e != 0)
        return fre_open_failed(err, e, FRE_E_EXISTS, FRE_CHECK_PATH,
                               "cannot make the folder of the store '%.300s'", path);
    st = fre_private_open(&fd, &fresh, path, err);
    if (st == FRE_OK)
        (void)close(fd);
    return st;
}

/* Version 0 is a new file, whatever else is in it is refused. */
static fre_status migrate(lite *x, fre_err *err)
{
    int64_t version = 0, application = 0, tables = 0;
    fre_status st = number(x, "PRAGMA user_version", &version, err);

    if (st == FRE_OK)
        st = number(x, "PRAGMA application_id", &application, err);
    if (st == FRE_OK)
        st = number(x, "SELECT count(*) FROM sqlite_master", &tables, err);
    if (st != FRE_OK)
        return st;
    if (version > FRE_STORE_VERSION)
        return store_version_refused((unsigned long)version, err);
    if (version == 0 ? tables > 0 : application != strtoll(APPLICATION, NULL, 10))
        return failed(x, SQLITE_NOTADB, err);
    return version == FRE_STORE_VERSION
               ? FRE_OK
               : run(x,
                     "BEGIN IMMEDIATE;"
                     "CREATE TABLE row (id BLOB NOT NULL PRIMARY KEY, sealed BLOB NOT NULL);"
                     "PRAGMA application_id = " APPLICATION ";"
                     "PRAGMA user_version = 1;"
                     "COMMIT",
                     err);
}

static fre_status prepare(lite *x, fre_err *err)
{
    int code = sqlite3_prepare_v3(
        x->db, "INSERT INTO row VALUES (?, ?) ON CONFLICT DO UPDATE SET sealed = excluded.sealed",
        -1, SQLITE_PREPARE_PERSISTENT, &x->put, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_prepare_v3(x->db, "DELETE FROM row WHERE id = ?", -1,
                                  SQLITE_PREPARE_PERSISTENT, &x->drop, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v3(x->db, "SELECT id, sealed FROM row", -1,
                                  SQLITE_PREPARE_PERSISTENT, &x->all, NULL);
    return code == SQLITE_OK ? FRE_OK : failed(x, code, err);
}

static fre_status open_db(lite *x, fre_err *err)
{
    int64_t got = 0;
    fre_status st;
    const int code = sqlite3_open_v2(
        x->path, &x->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, NULL);

    if (code != SQLITE_OK)
        return failed(x, code, err);
    /* Exclusive: the lock is ours until we close; an index of the log in shared memory is not needed. */
    st = run(
        x,
        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF",
        err);
    if (st == FRE_OK)
        st = run(x, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL", err);
    if (st == FRE_OK)
        st = number(x, "SELECT count(*) FROM sqlite_master", &got, err); /* takes the lock */
    if (st == FRE_OK)
        st = migrate(x, err);
    return st == FRE_OK ? prepare(x, err) : st;
}

fre_status store_open_sqlite(fre_store **out, const char *folder,
                             const uint8_t machine[STORE_MACHINE_BYTES], fre_err *err)
{
    lite *x = calloc(1, sizeof *x);
    fre_status st;

    if (!x)
        return FRE_E_NOMEM;
    x->base.ops = &ops;
    memcpy(x->base.machine, machine, sizeof x->base.machine);
    st = name_file(&x->path, folder, machine);
    if (st == FRE_OK)
        st = make_file(x->path, err);
    if (st == FRE_OK)
        st = open_db(x, err);
    if (st == FRE_OK) {
        *out = &x->base;
        return st;
    }
    close_lite(&x->base);
    return st;
}
