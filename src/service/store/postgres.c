/* postgres.c - PostgreSQL through libpq: all of a commit is one pipeline, which is one transaction.
 *
 *   fre_store_schema (version)
 *   fre_store_row (machine, id, sealed), primary key (machine, id), in 16 partitions by hash of id: each key
 *   holds id, so that it may be the column by which a cluster distributes rows, and no statement needs more
 *   than one transaction.
 *
 * A machine's lock is an advisory one of the session that also commits: where the session is gone, so is the
 * lock, and nothing of it can be committed any more. */
#include "store_private.h"

#include <libpq-fe.h>

#define BYTEA 17
#define PARTITIONS "16"
#define LOCK_NOT_AVAILABLE "55P03"
#define DISK_FULL "53100"

typedef struct postgres {
    fre_store base;
    PGconn *c;
    bool piping;
    fre_buf ids, rows, gone; /* arrays of a statement */
} postgres;

static postgres *self(fre_store *s)
{
    return (postgres *)s;
}

static void set32(uint8_t *p, size_t v)
{
    for (unsigned i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* ---- what went wrong ----------------------------------------------------------------------------- */

/* Its first line, without what people may have put into a message. */
static fre_status failed(const postgres *x, const PGresult *r, fre_err *err)
{
    const char *text = r ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    const char *code = r ? PQresultErrorField(r, PG_DIAG_SQLSTATE) : NULL;

    if (!text)
        text = PQerrorMessage(x->c);
    if (code && strcmp(code, LOCK_NOT_AVAILABLE) == 0)
        return store_taken(err);
    if (code && strcmp(code, DISK_FULL) == 0)
        return fre_fail(err, FRE_E_IO, "the disk of PostgreSQL is full");
    return fre_fail(err, FRE_E_IO, "PostgreSQL: %.*s%s%.5s", (int)strcspn(text, "\n"), text,
                    code ? ", code " : "", code ? code : "");
}

static bool went_well(const PGresult *r)
{
    const ExecStatusType s = PQresultStatus(r);

    return s == PGRES_COMMAND_OK || s == PGRES_TUPLES_OK;
}

static fre_status run(postgres *x, const char *sql, fre_err *err)
{
    PGresult *r = PQexec(x->c, sql);
    const fre_status st = went_well(r) ? FRE_OK : failed(x, r, err);

    PQclear(r);
    return st;
}

/* The one value of a query, as text; empty: none. */
static fre_status ask(postgres *x, char *out, size_t n, const char *sql, fre_err *err)
{
    PGresult *r = PQexec(x->c, sql);
    const fre_status st = went_well(r) ? FRE_OK : failed(x, r, err);

    if (st == FRE_OK)
        (void)snprintf(out, n, "%s", PQntuples(r) > 0 ? PQgetvalue(r, 0, 0) : "");
    PQclear(r);
    return st;
}

/* ---- parameters ---------------------------------------------------------------------------------- */

/* A bytea[] in PostgreSQL's binary form: dimensions, flags, type of elements, length, first index; then each
 * with its length. */
static fre_status array_begin(fre_buf *b, size_t n)
{
    uint8_t head[20] = {0};

    b->n = 0;
    set32(head, 1);
    set32(head + 8, BYTEA);
    set32(head + 12, n);
    set32(head + 16, 1);
    return fre_buf_append(b, head, sizeof head);
}

static fre_status array_add(fre_buf *b, const uint8_t *p, size_t n)
{
    uint8_t head[4];
    fre_status st;

    set32(head, n);
    st = fre_buf_append(b, head, sizeof head);
    return st == FRE_OK ? fre_buf_append(b, p, n) : st;
}

static fre_status arrays(postgres *x, const store_chunk *c, size_t *gone)
{
    fre_status st;

    *gone = 0;
    for (size_t i = 0; i < c->n; i++)
        *gone += c->item[i].erase;
    st = array_begin(&x->gone, *gone);
    if (st == FRE_OK)
        st = array_begin(&x->ids, c->n - *gone);
    if (st == FRE_OK)
        st = array_begin(&x->rows, c->n - *gone);
    for (size_t i = 0; st == FRE_OK && i < c->n; i++) {
        const store_item *item = &c->item[i];

        st = array_add(item->erase ? &x->gone : &x->ids, item->id, sizeof item->id);
        if (st == FRE_OK && !item->erase)
            st = array_add(&x->rows, c->bytes + item->at, item->n);
    }
    return st;
}

static fre_status send_statement(postgres *x, const char *sql, int n, const fre_buf *a,
                                 const fre_buf *b, fre_err *err)
{
    static const Oid types[] = {BYTEA, 1001, 1001}; /* bytea, bytea[] */
    static const int binary[] = {1, 1, 1};
    const char *const value[] = {(const char *)x->base.machine, a ? (const char *)a->p : NULL,
                                 b ? (const char *)b->p : NULL};
    const int bytes[] = {(int)STORE_MACHINE_BYTES, a ? (int)a->n : 0, b ? (int)b->n : 0};

    return PQsendQueryParams(x->c, sql, n, types, value, bytes, binary, 1) == 1
               ? FRE_OK
               : failed(x, NULL, err);
}

/* ---- changing ------------------------------------------------------------------------------------ */

static fre_status begin(fre_store *s, bool all, fre_err *err)
{
    postgres *x = self(s);

    if (PQenterPipelineMode(x->c) != 1)
        return failed(x, NULL, err);
    return all ? send_statement(x, "DELETE FROM fre_store_row WHERE machine = $1", 1, NULL, NULL,
                                err)
               : FRE_OK;
}

static fre_status apply(fre_store *s, const store_chunk *c, fre_err *err)
{
    postgres *x = self(s);
    size_t gone;
    fre_status st = arrays(x, c, &gone);

    if (st == FRE_OK && gone > 0)
        st = send_statement(x, "DELETE FROM fre_store_row WHERE machine = $1 AND id = ANY ($2)", 2,
                            &x->gone, NULL, err);
    if (st == FRE_OK && gone < c->n)
        st = send_statement(x,
                            "INSERT INTO fre_store_row SELECT $1, * FROM unnest($2, $3) "
                            "ON CONFLICT (machine, id) DO UPDATE SET sealed = excluded.sealed",
                            3, &x->ids, &x->rows, err);
    return st;
}

/* The answer of each statement, NULL behind each, then that of the end.  Nothing behind a failure is waited for: of a
 * database that went away between two commits libpq gives answers without an end, over a connection that it calls
 * good. */
static fre_status commit(fre_store *s, fre_err *err)
{
    postgres *x = self(s);
    fre_status st = FRE_OK;
    bool ended = false;
    unsigned none = 0;

    if (PQpipelineSync(x->c) != 1)
        return failed(x, NULL, err);
    while (st == FRE_OK && !ended && none < 2 && PQstatus(x->c) == CONNECTION_OK) {
        PGresult *r = PQgetResult(x->c);

        none = r ? 0 : none + 1;
        ended = r && PQresultStatus(r) == PGRES_PIPELINE_SYNC;
        if (r && !ended && !went_well(r))
            st = failed(x, r, err);
        PQclear(r);
    }
    if (st == FRE_OK && (!ended || PQexitPipelineMode(x->c) != 1))
        st = failed(x, NULL, err);
    return st;
}

/* ---- reading ------------------------------------------------------------------------------------- */

static fre_bytes field(const PGresult *r, int i)
{
    return (fre_bytes){.p = (const uint8_t *)PQgetvalue(r, 0, i),
                       .n = (size_t)PQgetlength(r, 0, i)};
}

static fre_status load(fre_store *s, store_seen *fn, void *ctx, fre_err *err)
{
    postgres *x = self(s);
    PGresult *r;
    fre_status st = send_statement(x, "SELECT id, sealed FROM fre_store_row WHERE machine = $1", 1,
                                   NULL, NULL, err);

    if (st == FRE_OK && PQsetSingleRowMode(x->c) != 1)
        st = failed(x, NULL, err);
    while (st == FRE_OK && (r = PQgetResult(x->c)) != NULL) {
        if (PQresultStatus(r) == PGRES_SINGLE_TUPLE)
            st = fn(ctx, field(r, 0), field(r, 1));
        else if (!went_well(r))
            st = failed(x, r, err);
        PQclear(r);
    }
    return st;
}

/* ---- opening and closing ------------------------------------------------------------------------- */

static fre_status destroy(fre_store *s, fre_err *err)
{
    fre_status st = begin(s, true, err);

    return st == FRE_OK ? commit(s, err) : st;
}

static void close_postgres(fre_store *s)
{
    postgres *x = self(s);

    PQfinish(x->c);
    fre_buf_wipe(&x->ids);
    fre_buf_wipe(&x->rows);
    fre_buf_wipe(&x->gone);
    free(x);
}

static const store_ops ops = {.begin = begin,
                              .apply = apply,
                              .commit = commit,
                              .load = load,
                              .destroy = destroy,
                              .close = close_postgres};

/* Several processes may come to a new database at once. */
static fre_status migrate(postgres *x, fre_err *err)
{
    char version[32] = "";
    fre_status st = run(x,
                        "BEGIN; SELECT pg_advisory_xact_lock(hashtext('fre_store_schema'));"
                        "CREATE TABLE IF NOT EXISTS fre_store_schema (version int NOT NULL)",
                        err);

    if (st == FRE_OK)
        st = ask(x, version, sizeof version, "SELECT max(version) FROM fre_store_schema", err);
    if (st == FRE_OK && strtoul(version, NULL, 10) > FRE_STORE_VERSION)
        st = store_version_refused(strtoul(version, NULL, 10), err);
    if (st == FRE_OK && version[0] == '\0')
        st = run(x,
                 "CREATE TABLE fre_store_row (machine bytea NOT NULL, id bytea NOT NULL, "
                 "sealed bytea NOT NULL, PRIMARY KEY (machine, id)) PARTITION BY HASH (id);"
                 "ALTER TABLE fre_store_row ALTER sealed SET STORAGE EXTERNAL;"
                 "DO $$ BEGIN FOR i IN 0 .. " PARTITIONS " - 1 LOOP EXECUTE format("
                 "'CREATE TABLE fre_store_row_%s PARTITION OF fre_store_row "
                 "FOR VALUES WITH (MODULUS " PARTITIONS ", REMAINDER %s)', i, i); END LOOP; END $$;"
                 "INSERT INTO fre_store_schema VALUES (1)",
                 err);
    return st == FRE_OK ? run(x, "COMMIT", err) : st;
}

/* An answer that left rests on what was committed: the server has to mean it. */
static fre_status check_durable(postgres *x, fre_err *err)
{
    char fsync[8] = "";
    fre_status st = run(x, "SET synchronous_commit = on", err);

    if (st == FRE_OK)
        st = ask(x, fsync, sizeof fsync, "SHOW fsync", err);
    if (st != FRE_OK || strcmp(fsync, "on") == 0)
        return st;
    return fre_fail(
        err, FRE_E_REFUSED,
        "PostgreSQL runs with fsync off, so that what it says it has stored may be lost: "
        "set fsync = on");
}

/* For a moment: a session that has ended may not have let go yet. */
static fre_status lock(postgres *x, fre_err *err)
{
    char sql[160];
    uint8_t hash[FRE_HASH_BYTES];
    uint64_t key = 0;
    fre_sha256 h;

    fre_sha256_begin(&h, (fre_bytes){(const uint8_t *)"fre_store machine", 17});
    fre_sha256_add(&h, x->base.machine, sizeof x->base.machine);
    fre_sha256_end(hash, &h);
    for (unsigned i = 0; i < 8; i++)
        key = key << 8 | hash[i];
    (void)snprintf(sql, sizeof sql,
                   "BEGIN; SET LOCAL lock_timeout = '3s'; SELECT pg_advisory_lock(%lld); COMMIT",
                   (long long)(int64_t)key);
    return run(x, sql, err);
}

static void silent(void *ctx, const char *message)
{
    (void)ctx;
    (void)message;
}

static fre_status open_connection(postgres *x, const char *where, fre_err *err)
{
    fre_status st;

    x->c = PQconnectdb(where);
    if (!x->c)
        return FRE_E_NOMEM;
    if (PQstatus(x->c) != CONNECTION_OK)
        return failed(x, NULL, err);
    (void)PQsetNoticeProcessor(x->c, silent, NULL);
    st = check_durable(x, err);
    if (st == FRE_OK)
        st = migrate(x, err);
    return st == FRE_OK ? lock(x, err) : st;
}

fre_status store_open_postgres(fre_store **out, const char *where,
                               const uint8_t machine[STORE_MACHINE_BYTES], fre_err *err)
{
    postgres *x = calloc(1, sizeof *x);
    fre_status st;

    if (!x)
        return FRE_E_NOMEM;
    x->base.ops = &ops;
    memcpy(x->base.machine, machine, sizeof x->base.machine);
    fre_buf_init(&x->ids, INT32_MAX);
    fre_buf_init(&x->rows, INT32_MAX);
    fre_buf_init(&x->gone, INT32_MAX);
    st = open_connection(x, where, err);
    if (st == FRE_OK) {
        *out = &x->base;
        return st;
    }
    close_postgres(&x->base);
    return st;
}
