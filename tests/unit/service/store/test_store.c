/* Rows in databases: the same cases for SQLite and, where FRE_TEST_POSTGRES names one, for PostgreSQL
 * (tests/integration/test_store.py starts one and runs this).
 *
 *   test_store write WHERE N     commits N rows, one by one, and prints the number of each once it is stored
 *   test_store read WHERE        prints the number of each row that is there
 *   test_store secret WHERE      stores rows that a search for the marks below must not find */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "must.h"
#include "server_net.h"
#include "store_private.h"
#include "temp_dir.h"

#include <inttypes.h>
#include <libpq-fe.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK_KEY "a key that nobody may read"
#define MARK_VALUE "a value that nobody may read"
#define ROWS_MAX 4096u

static const uint8_t key[FRE_STORE_KEY_BYTES] = "the key of a machine, for tests";
static const fre_collection_id collection = {.b = {1, 2, 3}};
static const char *where; /* of the kind that is tested */
static bool is_postgres;

static fre_store_opts opts_of(void)
{
    return (fre_store_opts){
        .where = where, .collection = &collection, .role = FRE_ROLE_RELAY, .key = key};
}

static fre_store *store_opened(void)
{
    const fre_store_opts o = opts_of();
    fre_store *s = NULL;
    fre_err err = {.text = ""};
    const fre_status st = fre_store_open(&s, &o, &err);

    if (st != FRE_OK)
        (void)fprintf(stderr, "%s\n", err.text);
    must(st == FRE_OK);
    return s;
}

static void put(fre_delta *d, uint8_t table, uint32_t number, const void *p, size_t n)
{
    const fre_row r = {.table = table, .key = {(const uint8_t *)&number, 4}, .value = {p, n}};

    must(fre_delta_add(d, &r) == FRE_OK);
}

static void drop(fre_delta *d, uint8_t table, uint32_t number)
{
    const fre_row r = {.table = table, .erase = true, .key = {(const uint8_t *)&number, 4}};

    must(fre_delta_add(d, &r) == FRE_OK);
}

static void commit(fre_store *s, fre_delta *d)
{
    const fre_delta *const one[] = {d};
    fre_err err = {.text = ""};
    const fre_status st = fre_store_commit(s, one, 1, &err);

    if (st != FRE_OK)
        (void)fprintf(stderr, "%s\n", err.text);
    must(st == FRE_OK);
    fre_delta_wipe(d);
    fre_delta_init(d);
}

/* Rows 0 to n-1 of table 1, in one commit. */
static void fill(fre_store *s, uint32_t n)
{
    const uint64_t value = 5;
    fre_delta d;

    fre_delta_init(&d);
    for (uint32_t i = 0; i < n; i++)
        put(&d, 1, i, &value, 8);
    commit(s, &d);
}

/* ---- what is there, by (table 1, number) ----------------------------------------------------------- */

typedef struct found {
    bool there[ROWS_MAX];
    uint64_t value[ROWS_MAX];
    uint32_t n;
} found;

static fre_status look(void *ctx, const fre_row *row)
{
    found *f = ctx;
    uint32_t number;

    must(row->table == 1 && row->key.n == 4 && row->value.n == 8);
    memcpy(&number, row->key.p, 4);
    must(number < ROWS_MAX && !f->there[number]);
    f->there[number] = true;
    memcpy(&f->value[number], row->value.p, 8);
    f->n++;
    return FRE_OK;
}

static void find(fre_store *s, found *f)
{
    *f = (found){.n = 0};
    must(fre_store_load(s, look, f, NULL) == FRE_OK);
}

static uint32_t rows_there(fre_store *s)
{
    static found f;

    find(s, &f);
    return f.n;
}

/* ---- a fresh database for each test ------------------------------------------------------------------ */

static temp_dir folder;
static char folder_name[300];

static PGconn *direct(void)
{
    PGconn *c = PQconnectdb(getenv("FRE_TEST_POSTGRES"));

    must(PQstatus(c) == CONNECTION_OK);
    return c;
}

static void tell(PGconn *c, const char *sql)
{
    PGresult *r = PQexec(c, sql);

    if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK)
        (void)fprintf(stderr, "%s\n", PQerrorMessage(c));
    must(PQresultStatus(r) == PGRES_COMMAND_OK || PQresultStatus(r) == PGRES_TUPLES_OK);
    PQclear(r);
}

static int lite_setup(void **state)
{
    (void)state;
    temp_dir_make(&folder);
    (void)snprintf(folder_name, sizeof folder_name, "sqlite:%s/rows", folder.path);
    where = folder_name;
    is_postgres = false;
    return 0;
}

static int lite_teardown(void **state)
{
    (void)state;
    temp_dir_remove(&folder);
    return 0;
}

static int postgres_setup(void **state)
{
    PGconn *c;

    (void)state;
    where = getenv("FRE_TEST_POSTGRES");
    is_postgres = true;
    if (!where)
        return 0;
    c = direct();
    tell(c, "DROP TABLE IF EXISTS fre_store_row; DROP TABLE IF EXISTS fre_store_schema");
    PQfinish(c);
    return 0;
}

#define NEEDS_DATABASE                                                                             \
    do {                                                                                           \
        (void)state;                                                                               \
        if (!where)                                                                                \
            skip();                                                                                \
    } while (0)

/* The file of the machine of opts_of. */
static const char *lite_path(void)
{
    static char path[600];
    char hex[2 * sizeof collection + 1];

    fre_hex(hex, collection.b, sizeof collection);
    (void)snprintf(path, sizeof path, "%s/rows/%s-%u.sqlite", folder.path, hex,
                   (unsigned)FRE_ROLE_RELAY);
    return path;
}

/* Somebody with the database, and without the key.  $1: nothing. */
static void tamper(const char *lite, const char *postgres)
{
    sqlite3 *db;
    PGconn *c;

    if (is_postgres) {
        c = direct();
        tell(c, postgres);
        PQfinish(c);
        return;
    }
    must(sqlite3_open(lite_path(), &db) == SQLITE_OK);
    must(sqlite3_exec(db, lite, NULL, NULL, NULL) == SQLITE_OK);
    must(sqlite3_close(db) == SQLITE_OK);
}

/* ---- cases ------------------------------------------------------------------------------------------- */

/* Random changes in random groups, opened anew now and then: what is there is what a table in memory has. */
static void what_was_committed_is_there(void **state)
{
    static found model, now;
    uint8_t seed[FRE_SEED_BYTES] = {7};
    fre_delta d[3];
    const fre_delta *all[3];
    fre_store *s;
    fre_rng r;

    NEEDS_DATABASE;
    model = (found){.n = 0};
    must(fre_rng_init_seeded(&r, seed, "test/store") == FRE_OK);
    s = store_opened();
    for (unsigned round = 0; round < 60; round++) {
        const unsigned groups = 1 + (unsigned)fre_rng_below(&r, 3);

        for (unsigned g = 0; g < 3; g++) {
            fre_delta_init(&d[g]);
            all[g] = &d[g];
        }
        for (unsigned i = 0; i < 40; i++) {
            const unsigned g = i * groups / 40;
            const uint32_t number = (uint32_t)fre_rng_below(&r, 200);
            const uint64_t value = fre_rng_u64(&r);

            model.there[number] = fre_rng_below(&r, 3) > 0;
            if (model.there[number])
                put(&d[g], 1, number, &value, 8);
            else
                drop(&d[g], 1, number);
            model.value[number] = value;
        }
        assert_int_equal(fre_store_commit(s, all, groups, NULL), FRE_OK);
        for (unsigned g = 0; g < 3; g++)
            fre_delta_wipe(&d[g]);
        if (round % 7 == 6) {
            fre_store_close(s);
            s = store_opened();
        }
        find(s, &now);
        for (uint32_t i = 0; i < ROWS_MAX; i++) {
            assert_int_equal(now.there[i], model.there[i]);
            assert_true(!now.there[i] || now.value[i] == model.value[i]);
        }
    }
    fre_store_close(s);
    fre_rng_wipe(&r);
}

static void one_process_at_a_time(void **state)
{
    fre_store_opts o;
    fre_store *s, *other = NULL, *second = NULL;
    fre_err err = {.text = ""};
    const fre_collection_id next = {.b = {9}};

    NEEDS_DATABASE;
    s = store_opened();
    o = opts_of();
    assert_int_equal(fre_store_open(&second, &o, &err), FRE_E_AGAIN);
    assert_non_null(strstr(err.text, "another process"));
    assert_null(second);
    o.role = FRE_ROLE_TAG; /* another machine is free */
    assert_int_equal(fre_store_open(&other, &o, NULL), FRE_OK);
    fre_store_close(other);
    o = opts_of();
    o.collection = &next;
    assert_int_equal(fre_store_open(&other, &o, NULL), FRE_OK);
    fre_store_close(s);
    s = store_opened();
    fre_store_close(s);
    fre_store_close(other);
}

static void machines_are_apart(void **state)
{
    const uint64_t value = 5;
    fre_store_opts o;
    fre_store *s, *other = NULL;
    fre_delta d;

    NEEDS_DATABASE;
    fre_delta_init(&d);
    s = store_opened();
    o = opts_of();
    o.role = FRE_ROLE_TAG;
    assert_int_equal(fre_store_open(&other, &o, NULL), FRE_OK);
    put(&d, 1, 1, &value, 8);
    commit(s, &d);
    put(&d, 1, 2, &value, 8);
    put(&d, 1, 3, &value, 8);
    commit(other, &d);
    assert_int_equal(rows_there(s), 1);
    assert_int_equal(rows_there(other), 2);
    assert_int_equal(fre_store_destroy(other, NULL), FRE_OK);
    assert_int_equal(rows_there(s), 1);
    fre_store_close(s);
    assert_int_equal(fre_store_open(&other, &o, NULL), FRE_OK);
    assert_int_equal(rows_there(other), 0);
    fre_store_close(other);
}

static void all_is_replaced(void **state)
{
    const uint64_t value = 5;
    static found f;
    fre_store *s;
    fre_delta d;

    NEEDS_DATABASE;
    fre_delta_init(&d);
    s = store_opened();
    fill(s, 100);
    put(&d, 1, 7, &value, 8);
    put(&d, 1, 1000, &value, 8);
    assert_int_equal(fre_store_replace(s, &d, NULL), FRE_OK);
    fre_store_close(s);
    s = store_opened();
    find(s, &f);
    assert_int_equal(f.n, 2);
    assert_true(f.there[7] && f.there[1000]);
    fre_delta_wipe(&d);
    fre_delta_init(&d);
    assert_int_equal(fre_store_replace(s, &d, NULL), FRE_OK);
    assert_int_equal(rows_there(s), 0);
    fre_store_close(s);
}

static void another_key_is_refused(void **state)
{
    static found f;
    const uint8_t wrong[FRE_STORE_KEY_BYTES] = "another key";
    const uint64_t value = 5;
    fre_store_opts o;
    fre_store *s;
    fre_err err = {.text = ""};
    fre_delta d;

    NEEDS_DATABASE;
    fre_delta_init(&d);
    s = store_opened();
    put(&d, 1, 1, &value, 8);
    commit(s, &d);
    fre_store_close(s);
    o = opts_of();
    o.key = wrong;
    assert_int_equal(fre_store_open(&s, &o, NULL), FRE_OK);
    f = (found){.n = 0};
    assert_int_equal(fre_store_load(s, look, &f, &err), FRE_E_DATA);
    assert_non_null(strstr(err.text, "another key"));
    put(&d, 1, 2, &value, 8);
    assert_int_equal(fre_store_replace(s, &d, &err), FRE_E_STATE); /* only close is left */
    fre_delta_wipe(&d);
    fre_store_close(s);
}

/* A bit, two rows that changed places, a row of another machine. */
static void changed_rows_are_refused(void **state)
{
    static const char *const lite[] = {
        "UPDATE row SET sealed = zeroblob(length(sealed)) WHERE id = (SELECT min(id) FROM row)",
        "UPDATE row SET sealed = (SELECT sealed FROM row AS o WHERE o.id != row.id)",
        "UPDATE row SET sealed = substr(sealed, 1, length(sealed) - 1)",
        "UPDATE row SET sealed = x'01'", "UPDATE row SET id = substr(id, 2)"};
    static const char *const postgres[] = {
        "UPDATE fre_store_row SET sealed = set_byte(sealed, 40, get_byte(sealed, 40) # 1)",
        "UPDATE fre_store_row SET sealed = (SELECT sealed FROM fre_store_row AS o "
        "WHERE o.id != fre_store_row.id)",
        "UPDATE fre_store_row SET sealed = substr(sealed, 1, length(sealed) - 1)",
        "UPDATE fre_store_row SET sealed = '\\x01'", "UPDATE fre_store_row SET id = substr(id, 2)"};
    static found f;
    const uint64_t value = 5;
    fre_store *s;
    fre_err err = {.text = ""};
    fre_delta d;

    NEEDS_DATABASE;
    fre_delta_init(&d);
    for (size_t i = 0; i < sizeof lite / sizeof *lite; i++) {
        s = store_opened();
        put(&d, 1, 1, &value, 8);
        put(&d, 1, 2, &value, 8);
        assert_int_equal(fre_store_replace(s, &d, NULL), FRE_OK);
        fre_delta_wipe(&d);
        fre_store_close(s);
        tamper(lite[i], postgres[i]);
        s = store_opened();
        f = (found){.n = 0};
        assert_int_equal(fre_store_load(s, look, &f, &err), FRE_E_DATA);
        assert_non_null(strstr(err.text, "did not write"));
        fre_store_close(s);
        tamper("DELETE FROM row", "DELETE FROM fre_store_row");
    }
}

static void a_newer_schema_is_refused(void **state)
{
    fre_store_opts o;
    fre_store *s;
    fre_err err = {.text = ""};

    NEEDS_DATABASE;
    s = store_opened();
    fre_store_close(s);
    tamper("PRAGMA user_version = 7", "UPDATE fre_store_schema SET version = 7");
    o = opts_of();
    s = NULL;
    assert_int_equal(fre_store_open(&s, &o, &err), FRE_E_DATA);
    assert_null(s);
    assert_non_null(strstr(err.text, "version 7"));
}

static fre_status count_bytes(void *ctx, const fre_row *row)
{
    uint64_t *n = ctx;

    n[0]++;
    n[1] += row->value.n;
    for (size_t i = 0; i < row->value.n; i += 4099)
        must(row->value.p[i] == (uint8_t)(row->table * 31 + i));
    return FRE_OK;
}

/* More than one statement takes: rows of tens of megabytes, and tens of thousands of small ones. */
static void large_deltas(void **state)
{
    const size_t large = (size_t)20 << 20;
    uint64_t n[2] = {0, 0};
    uint8_t *p;
    fre_store *s;
    fre_delta d;

    NEEDS_DATABASE;
    p = malloc(large);
    assert_non_null(p);
    fre_delta_init(&d);
    s = store_opened();
    for (uint8_t table = 1; table <= 4; table++) {
        for (size_t i = 0; i < large; i++)
            p[i] = (uint8_t)(table * 31 + i);
        put(&d, table, 1, p, large);
    }
    for (uint32_t i = 0; i < STORE_CHUNK_ROWS + 10; i++)
        put(&d, 9, i, NULL, 0);
    commit(s, &d);
    assert_int_equal(fre_store_load(s, count_bytes, n, NULL), FRE_OK);
    assert_int_equal(n[0], 4 + STORE_CHUNK_ROWS + 10);
    assert_int_equal(n[1], 4 * large);
    for (uint32_t i = 0; i < STORE_CHUNK_ROWS + 9; i++)
        drop(&d, 9, i);
    commit(s, &d);
    n[0] = 0;
    assert_int_equal(fre_store_load(s, count_bytes, n, NULL), FRE_OK);
    assert_int_equal(n[0], 5);
    free(p);
    fre_store_close(s);
}

static fre_status stop(void *ctx, const fre_row *row)
{
    (void)row;
    return ++*(int *)ctx == 3 ? FRE_E_INTERRUPTED : FRE_OK;
}

static void whoever_reads_may_stop(void **state)
{
    int n = 0;
    fre_store *s;

    NEEDS_DATABASE;
    s = store_opened();
    fill(s, 100);
    assert_int_equal(fre_store_load(s, stop, &n, NULL), FRE_E_INTERRUPTED);
    assert_int_equal(n, 3);
    fre_store_close(s);
}

/* ---- machines over it ------------------------------------------------------------------------------- */

static fre_store *disk[NET_ROLES];

static fre_store *disk_of(fre_role role)
{
    fre_store_opts o = opts_of();

    o.role = role;
    if (!disk[role])
        must(fre_store_open(&disk[role], &o, NULL) == FRE_OK);
    return disk[role];
}

static void kept(net *n, fre_role role, const fre_delta *rows)
{
    (void)n;
    must(fre_store_commit(disk_of(role), &rows, 1, NULL) == FRE_OK);
}

static fre_status into(void *ctx, const fre_row *row)
{
    return fre_server_restore(ctx, row, NULL);
}

/* A process that died let go of its lock. */
static fre_status restored(net *n, fre_role role, fre_server *x)
{
    fre_status st;

    (void)n;
    fre_store_close(disk[role]);
    disk[role] = NULL;
    st = fre_store_load(disk_of(role), into, x, NULL);
    return st == FRE_OK ? fre_server_restore(x, NULL, NULL) : st;
}

/* Everybody dies all the time, and all come back from what the database has. */
static void a_collection_over_it(void **state)
{
    static float centroid[16 * NET_DIM];
    uint32_t count[16];

    NEEDS_DATABASE;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        fre_collection c;
        net n = {.users = 0};

        c = net_terms(&n.s);
        net_begin(&n, &c, 14, seed);
        n.a->exact = true;
        n.kept = kept;
        n.restore = restored;
        n.kill_every = 5;
        n.lose = n.lose_answer = 20;
        n.twice = 40;
        n.stride = 8;
        for (uint32_t i = 0; i < 14; i++)
            net_text(&n, i, i < 5 ? 0 : i < 12 ? 1 : 2);
        net_clients(&n);
        net_run(&n);
        assert_true(n.kills > 3);
        assert_int_equal(net_release(&n, FRE_ROLE_RELAY, count, centroid, 16), 2);
        assert_int_equal(count[0] + count[1], 12);
        net_end(&n);
        for (unsigned role = 1; role < NET_ROLES; role++) {
            if (disk[role])
                assert_int_equal(fre_store_destroy(disk[role], NULL), FRE_OK);
            disk[role] = NULL;
        }
    }
}

/* ---- SQLite alone ------------------------------------------------------------------------------------ */

static void places_that_are_refused(void **state)
{
    static const char *const bad[] = {"", "rows", "sqlite:", "mysql://x", "SQLITE:x"};
    fre_store_opts o = opts_of();
    fre_store *s = NULL;
    fre_err err = {.text = ""};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        o.where = bad[i];
        assert_int_equal(fre_store_open(&s, &o, &err), FRE_E_ARG);
        assert_non_null(strstr(err.text, "sqlite:FOLDER"));
    }
    o = opts_of();
    o.role = (fre_role)0;
    assert_int_equal(fre_store_open(&s, &o, &err), FRE_E_ARG);
    o = opts_of();
    o.where = "sqlite:/dev/null/rows";
    assert_int_equal(fre_store_open(&s, &o, &err), FRE_E_EXISTS);
    o.where = "postgresql:///nothing?host=/nowhere";
    assert_int_equal(fre_store_open(&s, &o, &err), FRE_E_IO);
    assert_null(s);
}

static void files_of_others_are_refused(void **state)
{
    static char target[600];
    struct stat is;
    fre_store_opts o = opts_of();
    fre_store *s = store_opened();
    fre_err err = {.text = ""};

    (void)state;
    assert_int_equal(stat(lite_path(), &is), 0);
    assert_int_equal(is.st_mode & 0777, 0600);
    fre_store_close(s);
    s = NULL;
    assert_int_equal(chmod(lite_path(), 0640), 0);
    assert_int_equal(fre_store_open(&s, &o, &err), FRE_E_REFUSED);
    assert_non_null(strstr(err.text, "0600"));
    (void)snprintf(target, sizeof target, "%s/other", folder.path);
    assert_int_equal(rename(lite_path(), target), 0);
    assert_int_equal(symlink(target, lite_path()), 0);
    assert_int_equal(fre_store_open(&s, &o, &err), FRE_E_REFUSED);
    assert_int_equal(unlink(lite_path()), 0);
    write_file(lite_path(), "this is a letter, and no database at all", 40);
    assert_int_equal(chmod(lite_path(), 0600), 0);
    assert_int_equal(fre_store_open(&s, &o, &err), FRE_E_DATA);
    assert_null(s);
}

static void a_full_disk_loses_nothing(void **state)
{
    static uint8_t block[1 << 16];
    struct rlimit all, few;
    const uint64_t value = 5;
    const fre_delta *one;
    fre_store *s = store_opened();
    fre_err err = {.text = ""};
    fre_delta d;

    (void)state;
    fre_delta_init(&d);
    put(&d, 1, 1, &value, 8);
    commit(s, &d);
    for (uint32_t i = 0; i < 100; i++)
        put(&d, 2, i, block, sizeof block);
    one = &d;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
    few = all;
    few.rlim_cur = 1 << 20;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    assert_int_equal(fre_store_commit(s, &one, 1, &err), FRE_E_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    fre_delta_wipe(&d);
    fre_store_close(s);
    s = store_opened();
    assert_int_equal(rows_there(s), 1);
    fre_store_close(s);
}

static void a_store_that_goes_leaves_no_file(void **state)
{
    static char rows[600];
    const uint64_t value = 5;
    fre_store *s = store_opened();
    fre_delta d;

    (void)state;
    fre_delta_init(&d);
    put(&d, 1, 1, &value, 8);
    commit(s, &d);
    assert_int_equal(fre_store_destroy(s, NULL), FRE_OK);
    (void)snprintf(rows, sizeof rows, "%s/rows", folder.path);
    assert_int_equal(count_entries(rows), 0);
}

/* ---- PostgreSQL alone -------------------------------------------------------------------------------- */

/* So that rows can be spread over machines by id: every unique key holds it, no key refers to another table,
 * no number is given out in one place, and nothing but the hash decides the partition. */
static void the_schema_can_be_spread(void **state)
{
    static const char sql[] =
        "SELECT (SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid "
        "        WHERE c.relname LIKE 'fre\\_store\\_row%' AND i.indisunique AND NOT EXISTS ("
        "            SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'id' "
        "            AND a.attnum = ANY (i.indkey)))"
        " + (SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND "
        "    conrelid::regclass::text LIKE 'fre\\_store%')"
        " + (SELECT count(*) FROM pg_class WHERE relkind = 'S' AND relname LIKE 'fre\\_store%')"
        " + (SELECT count(*) FROM pg_trigger WHERE tgrelid::regclass::text LIKE 'fre\\_store%'),"
        " (SELECT count(*) FROM pg_inherits WHERE inhparent = 'fre_store_row'::regclass)";
    fre_store *s;
    PGresult *r;
    PGconn *c;

    NEEDS_DATABASE;
    s = store_opened();
    fre_store_close(s);
    c = direct();
    r = PQexec(c, sql);
    assert_int_equal(PQresultStatus(r), PGRES_TUPLES_OK);
    assert_string_equal(PQgetvalue(r, 0, 0), "0");
    assert_string_equal(PQgetvalue(r, 0, 1), "16");
    PQclear(r);
    PQfinish(c);
}

static void a_session_that_is_gone(void **state)
{
    static found f;
    const uint64_t value = 5;
    const fre_delta *one;
    fre_store *s;
    fre_err err = {.text = ""};
    fre_delta d;
    PGconn *c;

    NEEDS_DATABASE;
    fre_delta_init(&d);
    s = store_opened();
    put(&d, 1, 1, &value, 8);
    commit(s, &d);
    c = direct();
    tell(c, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid != pg_backend_pid() "
            "AND backend_type = 'client backend'");
    PQfinish(c);
    put(&d, 1, 2, &value, 8);
    one = &d;
    assert_int_equal(fre_store_commit(s, &one, 1, &err), FRE_E_IO);
    assert_int_equal(fre_store_load(s, look, &f, &err), FRE_E_STATE);
    fre_store_close(s);
    s = store_opened();
    assert_int_equal(rows_there(s), 1);
    fre_store_close(s);
    fre_delta_wipe(&d);
}

/* ---- for the integration test -------------------------------------------------------------------------- */

static int write_rows_of(uint32_t n)
{
    fre_store *s = store_opened();
    fre_delta d;

    fre_delta_init(&d);
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t value = i;
        const fre_delta *one = &d;
        fre_err err = {.text = ""};

        put(&d, 1, i % ROWS_MAX, &value, 8);
        if (fre_store_commit(s, &one, 1, &err) != FRE_OK) {
            (void)fprintf(stderr, "%s\n", err.text);
            fre_delta_wipe(&d);
            fre_store_close(s);
            return 75;
        }
        fre_delta_wipe(&d);
        fre_delta_init(&d);
        (void)printf("%" PRIu32 "\n", i);
        (void)fflush(stdout);
    }
    fre_store_close(s);
    return 0;
}

static int read_rows_of(void)
{
    static found f;
    fre_store *s = store_opened();

    find(s, &f);
    fre_store_close(s);
    for (uint32_t i = 0; i < ROWS_MAX; i++)
        if (f.there[i])
            (void)printf("%" PRIu64 "\n", f.value[i]);
    return 0;
}

static int write_secret(void)
{
    const fre_row r = {.table = 1,
                       .key = {(const uint8_t *)MARK_KEY, sizeof MARK_KEY - 1},
                       .value = {(const uint8_t *)MARK_VALUE, sizeof MARK_VALUE - 1}};
    fre_store *s = store_opened();
    fre_delta d;

    fre_delta_init(&d);
    must(fre_delta_add(&d, &r) == FRE_OK);
    commit(s, &d);
    fre_store_close(s);
    return 0;
}

static int serve(int argc, char **argv)
{
    where = argv[2];
    if (argc == 4 && strcmp(argv[1], "write") == 0)
        return write_rows_of((uint32_t)strtoul(argv[3], NULL, 10));
    return strcmp(argv[1], "secret") == 0 ? write_secret() : read_rows_of();
}

#define BOTH(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, lite_setup, lite_teardown),                              \
        cmocka_unit_test_setup(test, postgres_setup)
#define LITE(test) cmocka_unit_test_setup_teardown(test, lite_setup, lite_teardown)
#define POSTGRES(test) cmocka_unit_test_setup(test, postgres_setup)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        BOTH(what_was_committed_is_there),  BOTH(one_process_at_a_time),
        BOTH(machines_are_apart),           BOTH(all_is_replaced),
        BOTH(another_key_is_refused),       BOTH(changed_rows_are_refused),
        BOTH(a_newer_schema_is_refused),    BOTH(large_deltas),
        BOTH(whoever_reads_may_stop),       BOTH(a_collection_over_it),
        LITE(places_that_are_refused),      LITE(files_of_others_are_refused),
        LITE(a_full_disk_loses_nothing),    LITE(a_store_that_goes_leaves_no_file),
        POSTGRES(the_schema_can_be_spread), POSTGRES(a_session_that_is_gone),
    };

    if (argc >= 3)
        return serve(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
