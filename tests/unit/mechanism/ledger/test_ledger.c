/* The ledger: keys, content, sums, budgets, old versions, damage, several processes at once, kills, and where
 * a user's own one lies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/ledger.h>

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "assert_num.h"
#include "kill_at.h"
#include "temp_dir.h"

static char book[512];

static int setup(void **state)
{
    (void)state;
    temp_dir_make(&test_dir);
    (void)temp_path(book, &test_dir, "ledger.json");
    return 0;
}

static fre_ledger_spend named(const char *name, double epsilon, double delta, double max_epsilon,
                              double max_delta)
{
    return (fre_ledger_spend){.data_name = name,
                              .epsilon = epsilon,
                              .delta = delta,
                              .budget_epsilon = max_epsilon,
                              .budget_delta = max_delta,
                              .what = "a test"};
}

static fre_status record(const char *name, double epsilon, double delta, double max_epsilon,
                         double max_delta)
{
    fre_ledger_spend s = named(name, epsilon, delta, max_epsilon, max_delta);
    fre_err err = {.text = ""}, other = {.text = ""};
    fre_status would = fre_ledger_check(book, &s, &other);
    fre_status st = fre_ledger_record(NULL, book, &s, &err);

    assert_int_equal(st, would); /* the check foretells the record */
    assert_string_equal(err.text, other.text);
    return st;
}

typedef struct seen {
    size_t n, n_sets;
    double epsilon;
    char id[40], name[300], content[80], what[300], date[40]; /* of the last entry */
    double budget_epsilon, budget_delta, delta;
    fre_ledger_sum sum[8];
    size_t set[8];
} seen;

static seen list(void)
{
    seen s = {.n = 0};
    fre_ledger_book *b = NULL;
    fre_err err = {.text = ""};

    if (fre_ledger_read(&b, book, &err) != FRE_OK)
        fail_msg("%s", err.text);
    s.n = b->n;
    s.n_sets = b->n_sets;
    for (size_t i = 0; i < b->n; i++) {
        const fre_ledger_entry *e = &b->entry[i];

        s.epsilon += e->epsilon;
        s.delta = e->delta;
        s.budget_epsilon = e->budget_epsilon;
        s.budget_delta = e->budget_delta;
        (void)snprintf(s.id, sizeof s.id, "%s", e->id ? e->id : "none");
        (void)snprintf(s.name, sizeof s.name, "%s", e->name ? e->name : "none");
        (void)snprintf(s.content, sizeof s.content, "%s", e->content ? e->content : "none");
        (void)snprintf(s.what, sizeof s.what, "%s", e->what);
        (void)snprintf(s.date, sizeof s.date, "%s", e->date);
        if (i < 8)
            s.set[i] = e->set;
    }
    for (size_t i = 0; i < b->n_sets && i < 8; i++)
        s.sum[i] = b->set[i].sum;
    fre_ledger_book_free(b);
    return s;
}

static void records_and_lists(void **state)
{
    fre_ledger_book *b = NULL;
    struct stat st;
    fre_err err;
    seen s;

    (void)state;
    assert_int_equal(fre_ledger_read(&b, book, &err), FRE_E_NOINPUT);
    assert_int_equal(record("requests", 1.25, 1e-6, 0, 0), FRE_OK);
    assert_int_equal(record("other", 0.1, 0, 3, 1e-5), FRE_OK);
    s = list();
    assert_int_equal(s.n, 2);
    assert_close(s.epsilon, 1.35, 1e-15, 0);
    assert_string_equal(s.name, "other");
    assert_string_equal(s.content, "none");
    assert_int_equal(strspn(s.id, "0123456789abcdef"), 16);
    assert_int_equal(s.n_sets, 2);
    assert_string_equal(s.what, "a test");
    assert_close(s.delta, 0, 0, 0);
    assert_close(s.budget_epsilon, 3, 0, 0);
    assert_close(s.budget_delta, 1e-5, 0, 0);
    assert_int_equal(strlen(s.date), 20);
    assert_int_equal(stat(book, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(count_entries(test_dir.path), 2); /* the book and its lock */
    assert_int_equal(fre_ledger_read(NULL, book, &err), FRE_E_ARG);
    assert_int_equal(fre_ledger_read(&b, NULL, &err), FRE_E_ARG);
    assert_null(b);
    fre_ledger_book_free(NULL);
}

static void check_writes_nothing(void **state)
{
    fre_ledger_spend s = named("x", 1, 0, 2, 0);

    (void)state;
    assert_int_equal(fre_ledger_check(book, &s, NULL), FRE_OK);
    assert_int_equal(count_entries(test_dir.path), 0);
}

static void budget_is_the_smallest_ever_stated(void **state)
{
    (void)state;
    assert_int_equal(record("a", 1, 1e-6, 0, 0), FRE_OK); /* no limit yet */
    assert_int_equal(record("a", 1, 1e-6, 5, 0), FRE_OK);
    assert_int_equal(record("a", 1, 1e-6, 3.5, 0), FRE_OK); /* 3 of 3.5 */
    assert_int_equal(record("a", 1, 1e-6, 100, 0), FRE_E_REFUSED);
    assert_int_equal(record("a", 1, 1e-6, 0, 0), FRE_E_REFUSED);
    assert_int_equal(record("a", 0.5, 1e-6, 0, 0), FRE_OK);
    assert_int_equal(record("a", 1e-9, 1e-6, 0, 0), FRE_E_REFUSED);
    assert_int_equal(record("b", 50, 1e-6, 0, 0), FRE_OK);     /* other data, other sum */
    assert_int_equal(record("b", 1, 0, 50, 0), FRE_E_REFUSED); /* counts at once */
    assert_int_equal(list().n, 5);
}

static void deltas_have_their_own_budget(void **state)
{
    fre_ledger_spend s = named("a", 0.1, 5e-6, 0, 0);
    fre_err err;

    (void)state;
    assert_int_equal(record("a", 0.1, 6e-6, 0, 1e-5), FRE_OK);
    assert_int_equal(fre_ledger_record(NULL, book, &s, &err), FRE_E_REFUSED);
    assert_non_null(strstr(err.text, "delta"));
    assert_non_null(strstr(err.text, "6e-06 of 1e-05"));
    assert_int_equal(record("a", 0.1, 4e-6, 0, 0), FRE_OK);
    assert_int_equal(record("a", 0.1, 0, 0, 0), FRE_OK);
}

static void sums_tolerate_rounding_only(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) /* in doubles ten times .1 is not 1 */
        assert_int_equal(record("a", 0.1, 0, 1, 0), FRE_OK);
    assert_int_equal(record("a", 1e-10, 0, 0, 0), FRE_E_REFUSED);
    assert_int_equal(record("a", 0, 0, 0, 0), FRE_OK); /* nothing asked, nothing refused */
    assert_int_equal(record("b", 1 + 1e-11, 0, 1, 0), FRE_E_REFUSED);
    assert_int_equal(record("b", 1, 0, 1, 0), FRE_OK);
}

static void numbers_out_of_range_are_refused(void **state)
{
    static const struct {
        double epsilon, delta, max_epsilon, max_delta;
    } bad[] = {{-1, 0, 0, 0},  {INFINITY, 0, 0, 0}, {NAN, 0, 0, 0},      {1, -1e-9, 0, 0},
               {1, 1.5, 0, 0}, {1, NAN, 0, 0},      {1, 0, INFINITY, 0}, {1, 0, NAN, 0},
               {1, 0, 0, 2},   {1, 0, 0, NAN},      {1, 0, 2e6, 0}};
    fre_ledger_spend s = named("x", 1, 0, 0, 0);
    char name[202];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(
            record("a", bad[i].epsilon, bad[i].delta, bad[i].max_epsilon, bad[i].max_delta),
            FRE_E_USAGE);
    memset(name, 'n', sizeof name);
    name[201] = '\0';
    assert_int_equal(record(name, 1, 0, 0, 0), FRE_E_USAGE);
    assert_int_equal(record("", 1, 0, 0, 0), FRE_E_USAGE);
    assert_int_equal(record("\xff", 1, 0, 0, 0), FRE_E_USAGE);
    assert_false(path_exists(book));
    name[200] = '\0';
    assert_int_equal(record(name, 1, 0, 0, 0), FRE_OK);
    assert_int_equal(record("\xc3\xa9t\xc3\xa9", 1, 0, 0, 0), FRE_OK);
    assert_int_equal(fre_ledger_record(NULL, NULL, &s, NULL), FRE_E_ARG);
    assert_int_equal(fre_ledger_record(NULL, "", &s, NULL), FRE_E_ARG);
    assert_int_equal(fre_ledger_record(NULL, book, NULL, NULL), FRE_E_ARG);
    s.data_name = NULL;
    assert_int_equal(fre_ledger_check(book, &s, NULL), FRE_E_ARG);
}

static const char *private_file(char path[512], const char *name, const char *text)
{
    (void)temp_path(path, &test_dir, name);
    write_file(path, text, strlen(text));
    return path;
}

/* As a run that has read a file's bytes, for the book that is there or will be. */
static void read_bytes(fre_ledger_content *c, const char *path)
{
    char text[64];
    const long n = read_file(path, text, sizeof text);
    fre_sha256 h;

    assert_int_equal(fre_ledger_begin(c, book, false, NULL), FRE_OK);
    fre_sha256_begin(&h, (fre_bytes){c->salt, sizeof c->salt});
    fre_sha256_add(&h, text, (size_t)n);
    fre_sha256_end(c->bytes, &h);
    c->has_bytes = true;
}

/* path NULL: by name alone. */
static fre_status spend(const char *path, const char *name, double epsilon, double max_epsilon)
{
    fre_ledger_spend s = named(name, epsilon, 0, max_epsilon, 0);
    fre_ledger_content c;

    if (path)
        read_bytes(&c, path);
    s.content = path ? &c : NULL;
    return fre_ledger_record(NULL, book, &s, NULL);
}

static void content_is_the_key_not_the_path(void **state)
{
    char one[512], two[512], text[4096] = "", plain[65];
    uint8_t hash[32];

    (void)state;
    (void)private_file(one, "one.txt", "private text");
    (void)private_file(two, "two.txt", "private text");
    assert_int_equal(spend(one, NULL, 1, 1.5), FRE_OK);
    assert_int_equal(spend(two, NULL, 1, 0), FRE_E_REFUSED); /* a copy is the same data */
    write_file(two, "private texT", 12);
    assert_int_equal(spend(two, NULL, 1, 0), FRE_OK);
    assert_true(read_file(book, text, sizeof text - 1) > 0);
    assert_null(strstr(text, "private"));
    assert_int_equal(fre_sha256_file(hash, one, NULL), FRE_OK);
    fre_hex(plain, hash, sizeof hash);
    assert_null(strstr(text, plain)); /* salted: the book does not confirm a guess by itself */
    assert_int_equal(strlen(list().content), 64);
    assert_string_equal(list().name, "none");
    assert_int_equal(spend(NULL, NULL, 1, 0), FRE_E_ARG);
    assert_int_equal(list().n, 2);
}

/* ---- two keys ------------------------------------------------------------------------------ */

static void name_and_content_join(void **state)
{
    char may[512], june[512];
    seen s;

    (void)state;
    (void)private_file(may, "may", "one\n");
    (void)private_file(june, "june", "two\n");
    assert_int_equal(spend(may, NULL, 1, 0), FRE_OK);       /* released without a name, ... */
    assert_int_equal(spend(may, "requests", 1, 3), FRE_OK); /* ... later with one */
    assert_int_equal(spend(june, NULL, 9, 0), FRE_OK);      /* other data so far */
    s = list();
    assert_int_equal(s.n_sets, 2);
    assert_int_equal(s.sum[0].releases, 2);
    write_file(may, "one\ntwo\n", 8);                       /* the file has grown */
    assert_int_equal(spend(may, "requests", 1, 0), FRE_OK); /* 3 of 3, entries counted once */
    assert_int_equal(spend(may, "requests", .1, 0), FRE_E_REFUSED);
    assert_int_equal(spend(may, NULL, .1, 0), FRE_E_REFUSED); /* its content leads to the name */
    write_file(may, "one\n", 4);
    assert_int_equal(spend(may, "other name", .1, 0), FRE_E_REFUSED);
    assert_int_equal(spend(NULL, "requests", .1, 0), FRE_E_REFUSED);
    assert_int_equal(spend(NULL, "other name", .1, 0), FRE_OK);
    s = list();
    assert_int_equal(s.n, 5);
    assert_int_equal(s.n_sets, 3);
    assert_int_equal(s.sum[0].releases, 3);
    assert_close(s.sum[0].epsilon, 3, 1e-15, 0);
    assert_close(s.sum[0].budget_epsilon, 3, 0, 0);
    assert_false(s.sum[0].left_epsilon > 0);
    assert_close(s.sum[1].epsilon, 9, 0, 0);
    assert_false(s.sum[1].budget_epsilon > 0 || s.sum[1].left_epsilon > 0);
}

/* A release under the name of one set and with the content of another makes them one. */
static void a_bridge_joins_two_sets(void **state)
{
    char june[512];
    seen s;

    (void)state;
    (void)private_file(june, "june", "two\n");
    assert_int_equal(spend(NULL, "requests", 2, 6), FRE_OK);
    assert_int_equal(spend(NULL, "aside", 1, 0), FRE_OK);
    assert_int_equal(spend(june, NULL, 3, 0), FRE_OK);
    assert_int_equal(spend(june, "requests", 1.5, 0), FRE_E_REFUSED); /* 2 + 3 + 1.5 > 6 */
    assert_int_equal(spend(june, "requests", .5, 0), FRE_OK);
    assert_int_equal(spend(june, NULL, 1, 0), FRE_E_REFUSED);
    assert_int_equal(spend(NULL, "requests", .5, 0), FRE_OK);
    s = list();
    assert_int_equal(s.n_sets, 2);
    assert_int_equal(s.set[0], 0);
    assert_int_equal(s.set[1], 1);
    assert_int_equal(s.set[2], 0);
    assert_int_equal(s.set[4], 0);
    assert_int_equal(s.sum[0].releases, 4);
    assert_close(s.sum[0].epsilon, 6, 1e-14, 0);
}

/* The sums shown are those that refuse: above the true sum, and what is left below. */
static void sums_are_rounded_to_the_safe_side(void **state)
{
    seen s;

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(record("a", .1, 1e-7, 1, 1e-6), FRE_OK);
    s = list();
    assert_true(s.sum[0].epsilon > .1 + .1 + .1 && s.sum[0].epsilon < .3 + 1e-15);
    assert_true(s.sum[0].left_epsilon < .7 && s.sum[0].left_epsilon > .7 - 1e-15);
    assert_true(s.sum[0].left_delta < 7e-7 && s.sum[0].left_delta > 7e-7 * (1 - 1e-14));
}

static void receipts_tell_the_entry_and_the_sum(void **state)
{
    fre_ledger_receipt r = {.id = ""}, next = {.id = ""};
    fre_ledger_spend s = named("a", 1.5, 1e-6, 4, 0);

    (void)state;
    assert_int_equal(fre_ledger_record(&r, book, &s, NULL), FRE_OK);
    assert_string_equal(list().id, r.id);
    assert_int_equal(r.sum.releases, 1);
    assert_int_equal(fre_ledger_record(&next, book, &s, NULL), FRE_OK);
    assert_string_not_equal(next.id, r.id);
    assert_int_equal(next.sum.releases, 2);
    assert_close(next.sum.epsilon, 3, 1e-15, 0);
    assert_close(next.sum.left_epsilon, 1, 1e-15, 0);
    r = next;
    assert_int_equal(fre_ledger_record(&next, book, &s, NULL), FRE_E_REFUSED);
    assert_memory_equal(&r, &next, sizeof r); /* written on success only */
}

/* What is booked is what was read, whatever became of the file. */
static void what_was_read_is_booked(void **state)
{
    fre_ledger_content c;
    fre_ledger_spend s = named(NULL, 1, 0, 1.5, 0);
    char path[512];

    (void)state;
    read_bytes(&c, private_file(path, "f", "before"));
    s.content = &c;
    assert_int_equal(fre_ledger_check(book, &s, NULL), FRE_OK);
    assert_false(path_exists(book));
    (void)private_file(path, "f", "after");
    assert_int_equal(fre_ledger_record(NULL, book, &s, NULL), FRE_OK);
    assert_int_equal(spend(path, NULL, 1, 0), FRE_OK); /* other content */
    (void)private_file(path, "f", "before");
    assert_int_equal(spend(path, NULL, 1, 0), FRE_E_REFUSED);
}

/* Data without a text, from a pipe, have no name and no bytes: the entry has a key all the same. */
static void data_of_nothing_have_a_key(void **state)
{
    fre_ledger_spend s = named(NULL, 1, 0, 1.5, 0);
    fre_ledger_content c;

    (void)state;
    assert_int_equal(fre_ledger_begin(&c, book, true, NULL), FRE_OK);
    s.content = &c;
    assert_int_equal(fre_ledger_record(NULL, book, &s, NULL), FRE_OK);
    assert_int_equal(list().n, 1);
    assert_int_equal(fre_ledger_record(NULL, book, &s, NULL), FRE_E_REFUSED);
    fre_ledger_add_text(&c, "one", 3);
    assert_int_equal(fre_ledger_record(NULL, book, &s, NULL), FRE_OK);
    assert_int_equal(list().n_sets, 2);
}

/* ---- version 1 ------------------------------------------------------------------------------- */

/* As version 1 wrote it: the salted hash is that of "private text" (Python's hashlib). */
static const char version_1[] =
    "{\"format\": \"fre-e2t ledger\", \"version\": 1, \"salt\": "
    "\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\", \"entries\": ["
    "{\"data\": \"sha256:eaf754a5690d8d8c8073493074cf38dd6a1e3e8206b84562a26b4c756e62a74f\", "
    "\"date\": \"2026-01-01T00:00:00Z\", \"epsilon\": 1.5, \"delta\": 1e-6, \"what\": \"may\", "
    "\"budget_epsilon\": 3.0}, "
    "{\"data\": \"name:requests\", \"date\": \"2026-01-02T00:00:00Z\", \"epsilon\": 2.0, "
    "\"delta\": 1e-6, \"what\": \"june\"}]}";

static void version_1_is_read_and_upgraded(void **state)
{
    char path[512], text[4096] = "";
    seen s;

    (void)state;
    (void)private_file(path, "f", "private text");
    write_file(book, version_1, strlen(version_1));
    s = list();
    assert_int_equal(s.n, 2);
    assert_int_equal(s.n_sets, 2);
    assert_string_equal(s.name, "requests");
    assert_string_equal(s.id, "none");
    assert_int_equal(read_file(book, text, sizeof text), (long)strlen(version_1)); /* untouched */
    assert_int_equal(spend(path, NULL, 1.6, 0), FRE_E_REFUSED); /* its hash and budget count */
    assert_int_equal(read_file(book, text, sizeof text), (long)strlen(version_1));
    assert_int_equal(spend(path, NULL, .5, 0), FRE_OK);
    assert_int_equal(spend(NULL, "requests", 1, 2.5), FRE_E_REFUSED);
    s = list();
    assert_int_equal(s.n, 3);
    assert_int_equal(s.n_sets, 2);
    assert_int_equal(s.set[2], 0);
    assert_close(s.epsilon, 4, 1e-15, 0);
    assert_close(s.sum[0].epsilon, 2, 1e-15, 0);
    assert_close(s.sum[0].budget_epsilon, 3, 0, 0);
    memset(text, 0, sizeof text);
    assert_true(read_file(book, text, sizeof text - 1) > 0);
    assert_non_null(strstr(text, "\"version\": 3"));
    assert_non_null(strstr(text, "\"what\":\"june\""));
    assert_null(strstr(text, "sha256:"));
    assert_int_equal(spend(path, "requests", 1, 0), FRE_E_REFUSED); /* both sets: 4 of 3 */
}

/* ---- lines ----------------------------------------------------------------------------------- */

#define BOOK_BYTES 65536u

static size_t book_text(char *to)
{
    const long n = read_file(book, to, BOOK_BYTES);

    assert_true(n > 0 && n < (long)BOOK_BYTES);
    return (size_t)n;
}

/* What lies there stays, byte for byte, in the same file: a line is added. */
static void a_record_only_appends(void **state)
{
    static char before[BOOK_BYTES], after[BOOK_BYTES];
    size_t n, m;
    struct stat one, two;

    (void)state;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(record("a", .5, 0, 0, 0), FRE_OK);
        if (i > 0) {
            m = book_text(after);
            assert_true(m > n && after[m - 1] == '\n' && after[n - 1] == '\n');
            assert_memory_equal(before, after, n);
            assert_null(memchr(after + n, '\n', m - n - 1)); /* one line */
            assert_int_equal(stat(book, &two), 0);
            assert_int_equal(one.st_ino, two.st_ino);
        }
        n = book_text(before);
        assert_int_equal(stat(book, &one), 0);
    }
    assert_int_equal(list().n, 5);
}

/* However far the last line came: it was not yet booked, and the next one takes its place. */
static void a_torn_line_is_none(void **state)
{
    static char whole[BOOK_BYTES], now[BOOK_BYTES];
    size_t n, first;

    (void)state;
    assert_int_equal(record("a", 1, 0, 4, 0), FRE_OK);
    first = book_text(whole);
    assert_int_equal(record("a", 2, 0, 0, 0), FRE_OK);
    n = book_text(whole);
    for (size_t cut = first; cut < n; cut++) {
        write_file(book, whole, cut);
        assert_int_equal(list().n, 1);
        assert_int_equal(record("a", 3, 0, 0, 0), FRE_OK); /* 1 + 3 of 4 */
        assert_int_equal(list().n, 2);
        assert_close(list().epsilon, 4, 0, 0);
        assert_true(book_text(now) > first);
        assert_memory_equal(now, whole, first);
    }
    /* A tail of zeros, as some file systems leave it. */
    memset(whole + first, 0, n - first);
    write_file(book, whole, n);
    assert_int_equal(list().n, 1);
}

/* No byte of a finished line can change unseen, the last one's end aside, which leaves it unfinished. */
static void a_changed_byte_is_damage(void **state)
{
    static char whole[BOOK_BYTES];
    fre_ledger_spend s = named("a", 1, 0, 0, 0);
    size_t n;

    (void)state;
    assert_int_equal(record("a", 1, 0, 4, 0), FRE_OK);
    assert_int_equal(record("b", 2, 0, 0, 0), FRE_OK);
    n = book_text(whole);
    for (size_t i = 0; i + 1 < n; i++) {
        const char was = whole[i];

        whole[i] = was == '7' ? '6' : '7';
        write_file(book, whole, n);
        assert_int_equal(fre_ledger_record(NULL, book, &s, NULL), FRE_E_DATA);
        whole[i] = was;
    }
    write_file(book, whole, n);
    assert_int_equal(list().n, 2);
}

static fre_ledger_state state_of(size_t i)
{
    fre_ledger_book *b = NULL;
    fre_ledger_state found;

    assert_int_equal(fre_ledger_read(&b, book, NULL), FRE_OK);
    assert_true(i < b->n);
    found = b->entry[i].state;
    fre_ledger_book_free(b);
    return found;
}

static void what_became_of_a_release(void **state)
{
    fre_ledger_receipt r[3];
    fre_ledger_spend s = named("a", 1, 0, 0, 0);

    (void)state;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(fre_ledger_record(&r[i], book, &s, NULL), FRE_OK);
    assert_int_equal(fre_ledger_conclude(book, r[2].id, false, NULL), FRE_OK);
    assert_int_equal(fre_ledger_conclude(book, r[0].id, true, NULL), FRE_OK);
    assert_int_equal(fre_ledger_conclude(book, "0000000000000000", true, NULL), FRE_OK);
    assert_int_equal(state_of(0), FRE_LEDGER_PUBLISHED);
    assert_int_equal(state_of(1), FRE_LEDGER_BOOKED);
    assert_int_equal(state_of(2), FRE_LEDGER_FAILED);
    assert_close(list().sum[0].epsilon, 3, 1e-14, 0); /* all of them count */
    write_file(book, version_1, strlen(version_1));
    assert_int_equal(state_of(0), FRE_LEDGER_UNKNOWN);
    assert_int_equal(record("b", 1, 0, 0, 0), FRE_OK);
    assert_int_equal(state_of(1), FRE_LEDGER_UNKNOWN);
    assert_int_equal(state_of(2), FRE_LEDGER_BOOKED);
}

static void one_record(void *ctx)
{
    fre_ledger_spend s = named("a", 1, 0, 0, 0);

    if (fre_ledger_record(NULL, ctx, &s, NULL) != FRE_OK)
        _exit(1);
}

/* On a book of no version, the first and the present one: the whole entry or none. */
static void every_system_call_may_be_the_last(void **state)
{
    static char now[BOOK_BYTES];
    size_t n = 0, counts[2];

    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        const size_t before = kind == 0 ? 0 : kind == 1 ? 2 : 1;
        bool done = false;

        (void)unlink(book);
        if (kind == 2)
            assert_int_equal(record("a", 1, 0, 0, 0), FRE_OK);
        n = kind == 2 ? book_text(now) : 0;
        counts[0] = counts[1] = 0;
        for (long stop = 1; !done; stop++) {
            (void)unlink(book);
            if (kind == 1)
                write_file(book, version_1, strlen(version_1));
            if (kind == 2)
                write_file(book, now, n);
            done = runs_to_stop(stop, one_record, book);
            const size_t left = path_exists(book) ? list().n : 0;

            assert_true(left == before || left == before + 1);
            counts[left - before]++;
            assert_int_equal(record("a", 1, 0, 0, 0), FRE_OK); /* and it goes on */
            assert_int_equal(list().n, left + 1);
        }
        assert_true(counts[0] > 10 && counts[1] > 1);
    }
}

/* ---- content ----------------------------------------------------------------------------------- */

/* Distinct texts first .. first + n - 1 of a population, each some times over, in an order. */
static void add_texts(fre_ledger_content *c, size_t first, size_t n, size_t times, bool backwards)
{
    char text[64];

    for (size_t i = 0; i < n * times; i++) {
        const size_t j = first + (backwards ? n * times - 1 - i : i) % n;

        (void)snprintf(text, sizeof text, "text %zu", j);
        fre_ledger_add_text(c, text, strlen(text));
    }
}

/* Two parts of the data are the whole of them, to the bit. */
static void contents_add_up(void **state)
{
    const uint8_t salt[FRE_LEDGER_SALT_BYTES] = {9};
    const float row[4] = {1, 2, 3, 4}, other[4] = {4, 3, 2, 1};
    static fre_ledger_content all, a, b;

    (void)state;
    fre_ledger_content_init(&all, salt);
    fre_ledger_content_init(&a, salt);
    fre_ledger_content_init(&b, salt);
    add_texts(&all, 0, 900, 2, false);
    add_texts(&a, 0, 300, 2, true);
    add_texts(&b, 300, 600, 2, false);
    fre_ledger_add_user(&all, "anna", 4);
    fre_ledger_add_user(&all, "ben", 3);
    fre_ledger_add_user(&a, "ben", 3);
    fre_ledger_add_user(&b, "anna", 4);
    fre_ledger_add_row(&all, row, 4);
    fre_ledger_add_row(&all, other, 4);
    fre_ledger_add_row(&a, row, 4);
    fre_ledger_add_row(&b, other, 4);
    fre_ledger_content_add(&a, &b);
    assert_memory_equal(&a, &all, sizeof a);
}

static fre_status spend_texts(size_t first, size_t n, size_t times, bool backwards,
                              const char *name, double epsilon, double budget)
{
    fre_ledger_spend s = {.data_name = name, .epsilon = epsilon, .budget_epsilon = budget};
    fre_ledger_content c;

    assert_int_equal(fre_ledger_begin(&c, book, true, NULL), FRE_OK);
    add_texts(&c, first, n, times, backwards);
    s.content = &c;
    return fre_ledger_record(NULL, book, &s, NULL);
}

/* Sketches are estimates: of a book's salt drawn anew, some in a hundred would find four marks alike
 * that are not of one data.  With this one, as with most, none do. */
static void begin_with_a_salt(void)
{
    static const char header[] =
        "{\"format\": \"fre-e2t ledger\", \"version\": 3, \"salt\": "
        "\"5e1f5e1f5e1f5e1f5e1f5e1f5e1f5e1f5e1f5e1f5e1f5e1f5e1f5e1f5e1f5e1f\"}\n";

    write_file(book, header, strlen(header));
}

static void the_same_records_are_the_same_data(void **state)
{
    (void)state;
    begin_with_a_salt();
    assert_int_equal(spend_texts(0, 3000, 2, false, NULL, 1, 1.5), FRE_OK);
    assert_int_equal(spend_texts(0, 3000, 2, true, NULL, 1, 0), FRE_E_REFUSED);     /* order */
    assert_int_equal(spend_texts(0, 3000, 2, true, "other", 1, 0), FRE_E_REFUSED);  /* a name too */
    assert_int_equal(spend_texts(0, 3001, 1, false, NULL, 1, 0), FRE_E_REFUSED);    /* one more */
    assert_int_equal(spend_texts(0, 2999, 1, false, NULL, 1, 0), FRE_E_REFUSED);    /* one less */
    assert_int_equal(spend_texts(1000, 1500, 1, false, NULL, 1, 0), FRE_E_REFUSED); /* a half */
    assert_int_equal(spend_texts(2700, 300, 1, false, NULL, 1, 0), FRE_E_REFUSED);  /* a tenth */
    assert_int_equal(spend_texts(0, 60000, 1, false, NULL, 1, 0), FRE_E_REFUSED); /* in much more */
    assert_int_equal(spend_texts(5000, 3000, 1, false, NULL, 1, 0), FRE_OK);      /* none of it */
    assert_int_equal(spend_texts(0, 3001, 1, false, "other", 1, 0), FRE_OK); /* a name says so */
    assert_int_equal(list().n_sets, 3);
    /* And what overlaps with both sets makes them one. */
    assert_int_equal(spend_texts(2000, 4000, 1, false, NULL, .1, 0), FRE_E_REFUSED);
}

static void few_shared_wordings_join_nothing(void **state)
{
    (void)state;
    begin_with_a_salt();
    assert_int_equal(spend_texts(0, 5000, 1, false, NULL, 1, 1.5), FRE_OK);
    for (size_t i = 1; i < 20; i++) /* 10 of 9,990 in common: a thousandth */
        assert_int_equal(spend_texts(5000 * i - 10 * i, 5000, 1, false, NULL, 1, 1.5), FRE_OK);
    assert_int_equal(list().n_sets, 20);
}

static void overlap_is_told_and_may_be_denied(void **state)
{
    fre_ledger_overlap found;
    fre_ledger_content c;
    fre_ledger_spend s = {.epsilon = 1, .content = &c};

    (void)state;
    begin_with_a_salt();
    assert_int_equal(fre_ledger_begin(&c, book, true, NULL), FRE_OK);
    add_texts(&c, 0, 4000, 1, false);
    assert_int_equal(fre_ledger_compare(&found, book, &s, NULL), FRE_OK);
    assert_true(found.share <= 0);
    assert_int_equal(spend_texts(2000, 4000, 1, false, "may", 1, 1.5), FRE_OK);
    assert_int_equal(fre_ledger_compare(&found, book, &s, NULL), FRE_OK);
    assert_close(found.share, 1. / 3, .1, 0);
    assert_string_equal(found.name, "may");
    assert_int_equal(fre_ledger_record(NULL, book, &s, NULL), FRE_E_REFUSED);
    s.apart = true;
    assert_int_equal(fre_ledger_record(NULL, book, &s, NULL), FRE_OK);
    assert_int_equal(list().n_sets, 2);
    s.apart = false; /* surely the same now: nothing to ask */
    assert_int_equal(fre_ledger_compare(&found, book, &s, NULL), FRE_OK);
    assert_true(found.share <= 0);
}

/* Rows as another machine, half precision or another norm has them, and the same users. */
static void users_and_embeddings_are_known(void **state)
{
    const uint8_t seed[32] = {3};
    fre_ledger_spend s = {.epsilon = 1, .budget_epsilon = 1.5};
    fre_ledger_content c, d;
    float x[384];
    fre_rng rng;
    char user[32];

    (void)state;
    assert_int_equal(fre_ledger_begin(&c, book, true, NULL), FRE_OK);
    d = c;
    assert_int_equal(fre_rng_init_seeded(&rng, seed, "rows"), FRE_OK);
    for (size_t i = 0; i < 1000; i++) {
        for (size_t j = 0; j < 384; j++)
            x[j] = ((float)fre_rng_below(&rng, 1000000) / 500000 - 1) / 20;
        fre_ledger_add_row(&c, x, 384);
        for (size_t j = 0; j < 384; j++)
            x[j] = 3 * x[j] * (1 + (float)fre_rng_below(&rng, 1000) / 2048000);
        fre_ledger_add_row(&d, x, 384);
        (void)snprintf(user, sizeof user, "user %zu", i);
        fre_ledger_add_user(&c, user, strlen(user));
    }
    s.content = &c;
    assert_int_equal(fre_ledger_record(NULL, book, &s, NULL), FRE_OK);
    s.content = &d;
    assert_int_equal(fre_ledger_record(NULL, book, &s, NULL), FRE_E_REFUSED);
    assert_int_equal(fre_ledger_begin(&d, book, true, NULL), FRE_OK);
    for (size_t i = 500; i < 1500; i++) {
        (void)snprintf(user, sizeof user, "user %zu", i);
        fre_ledger_add_user(&d, user, strlen(user));
    }
    add_texts(&d, 0, 100, 1, false);
    assert_int_equal(fre_ledger_record(NULL, book, &s, NULL), FRE_E_REFUSED);
    fre_rng_wipe(&rng);
}

/* What was read under one salt is not booked under another, and nothing of it is in the clear. */
static void content_belongs_to_one_book(void **state)
{
    static char text[BOOK_BYTES], other[BOOK_BYTES];
    fre_ledger_content c;
    fre_ledger_spend s = {.epsilon = 1, .content = &c};
    size_t n;

    (void)state;
    assert_int_equal(spend_texts(0, 10, 1, false, NULL, 1, 0), FRE_OK);
    n = book_text(text);
    assert_null(memmem(text, n, "text 3", 6));
    assert_int_equal(fre_ledger_begin(&c, book, true, NULL), FRE_OK);
    add_texts(&c, 0, 10, 1, false);
    assert_int_equal(unlink(book), 0);
    assert_int_equal(spend_texts(0, 10, 1, false, NULL, 1, 0), FRE_OK);
    assert_int_equal(book_text(other), n);
    assert_memory_not_equal(strstr(text, "\"texts\""), strstr(other, "\"texts\""), 2000);
    assert_int_equal(fre_ledger_record(NULL, book, &s, NULL), FRE_E_AGAIN);
    assert_int_equal(list().n, 1);
    /* A book that is gone is begun again with the salt that was used. */
    assert_int_equal(unlink(book), 0);
    assert_int_equal(fre_ledger_record(NULL, book, &s, NULL), FRE_OK);
    assert_int_equal(fre_ledger_record(NULL, book, &s, NULL), FRE_OK);
    assert_int_equal(list().n_sets, 1);
}

/* ---- a user's own ledger ---------------------------------------------------------------------- */

static void set_homes(const char *state_home, const char *home)
{
    assert_int_equal(
        state_home ? setenv("XDG_STATE_HOME", state_home, 1) : unsetenv("XDG_STATE_HOME"), 0);
    assert_int_equal(home ? setenv("HOME", home, 1) : unsetenv("HOME"), 0);
}

static void assert_default(const char *wanted_folder, const char *rest)
{
    char wanted[1024], *got = NULL;

    (void)snprintf(wanted, sizeof wanted, "%s%s", wanted_folder, rest);
    assert_int_equal(fre_ledger_default(&got, false, NULL), FRE_OK);
    assert_string_equal(got, wanted);
    free(got);
}

static void default_place(void **state)
{
    char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL, *got = NULL;
    char path[512], made[512];
    const mode_t mask = umask(0);
    struct stat s;
    fre_err err;

    (void)state;
    set_homes(test_dir.path, "/nowhere");
    assert_default(test_dir.path, "/fre-e2t/ledger.json");
    set_homes("relative", test_dir.path); /* as the specification has it */
    assert_default(test_dir.path, "/.local/state/fre-e2t/ledger.json");
    set_homes(NULL, test_dir.path);
    assert_default(test_dir.path, "/.local/state/fre-e2t/ledger.json");
    assert_int_equal(count_entries(test_dir.path), 0); /* nothing was made */
    assert_int_equal(fre_ledger_default(&got, true, NULL), FRE_OK);
    free(got);
    assert_int_equal(stat(temp_path(made, &test_dir, ".local/state/fre-e2t"), &s), 0);
    assert_int_equal(s.st_mode & 0777, 0700);
    assert_int_equal(stat(temp_path(made, &test_dir, ".local"), &s), 0);
    assert_int_equal(s.st_mode & 0777, 0700);
    assert_int_equal(fre_ledger_default(&got, true, NULL), FRE_OK); /* again */
    free(got);
    set_homes(private_file(path, "f", "no folder"), NULL);
    assert_int_equal(fre_ledger_default(&got, true, &err), FRE_E_IO);
    assert_non_null(got);
    free(got);
    set_homes(NULL, NULL); /* the user data base's, or none */
    if (fre_ledger_default(&got, false, &err) == FRE_OK)
        assert_non_null(strstr(got, "/.local/state/fre-e2t/ledger.json"));
    free(got);
    assert_int_equal(fre_ledger_default(NULL, false, NULL), FRE_E_ARG);
    if (geteuid() == 0) { /* sudo keeps another user's HOME: root's files do not go there */
        assert_int_equal(chown(test_dir.path, 12345, 12345), 0);
        set_homes(NULL, test_dir.path);
        assert_int_equal(fre_ledger_default(&got, false, NULL), FRE_OK);
        assert_null(strstr(got, test_dir.path));
        free(got);
        assert_int_equal(chown(test_dir.path, 0, 0), 0);
    }
    set_homes(NULL, home);
    free(home);
    (void)umask(mask);
}

/* Another home would be another ledger, so that one that cannot be looked up is an error. */
static void a_home_that_cannot_be_looked_up(void **state)
{
    const struct rlimit few = {3, 3};
    char *got = NULL;
    fre_err err = {.text = ""};
    int status;
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0) {
        set_homes(NULL, NULL);
        _exit(setrlimit(RLIMIT_NOFILE, &few) == 0 &&
                      fre_ledger_default(&got, false, &err) == FRE_E_IO &&
                      strstr(err.text, "Too many open files")
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* A shortage passes; a place that takes no book does not. */
static void a_shortage_is_told_from_a_missing_place(void **state)
{
    const struct rlimit few = {3, 3};
    fre_ledger_content c;
    char path[512];
    int status;
    pid_t pid;

    (void)state;
    assert_int_equal(fre_ledger_begin(&c, temp_path(path, &test_dir, "absent/l"), true, NULL),
                     FRE_E_NOINPUT);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        fre_err err = {.text = ""};

        _exit(setrlimit(RLIMIT_NOFILE, &few) == 0 &&
                      fre_ledger_begin(&c, temp_path(path, &test_dir, "l"), true, &err) ==
                          FRE_E_IO &&
                      strstr(err.text, "Too many open files")
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void odd_paths_in_what_are_kept_readable(void **state)
{
    fre_ledger_spend s = named("a", 1, 0, 0, 0);

    (void)state;
    s.what = "synthesize -o \xff\xfe\"out\"";
    assert_int_equal(fre_ledger_record(NULL, book, &s, NULL), FRE_OK);
    assert_string_equal(list().what, "synthesize -o ?\?\"out\"");
    s.what = NULL;
    assert_int_equal(fre_ledger_record(NULL, book, &s, NULL), FRE_OK);
    assert_string_equal(list().what, "");
}

static void damaged_books_are_refused_and_kept(void **state)
{
#define HEAD "{\"format\":\"fre-e2t ledger\",\"version\":1,\"salt\":\""
#define HEAD2 "{\"format\":\"fre-e2t ledger\",\"version\":2,\"salt\":\""
#define SALTU "00112233445566778899AABBCCDDEEFF00112233445566778899AABBCCDDEEFF"
#define SALT "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
    static const char *const bad[] = {
        "",
        "{",
        "[]",
        "null",
        "{}",
        "{\"format\":\"other\",\"version\":1}",
        "{\"format\":\"fre-e2t ledger\",\"version\":4,\"salt\":\"" SALT "\",\"entries\":[]}",
        "{\"format\":\"fre-e2t ledger\",\"version\":4,\"salt\":\"" SALT "\"}\n{}\n",
        "{\"format\":\"fre-e2t ledger\",\"version\":3,\"salt\":\"" SALT "\"}",
        "{\"format\":\"fre-e2t ledger\",\"version\":3,\"salt\":\"00\"}\n",
        "{\"format\":\"fre-e2t ledger\",\"version\":3,\"salt\":\"" SALT "\"}\n{}\n",
        "{\"format\":\"fre-e2t ledger\",\"version\":3,\"salt\":\"" SALT "\"}\n"
        "{\"sum\":\"0000000000000000\",\"name\":\"a\",\"epsilon\":1.0,\"delta\":0.0}\n",
        "{\"format\":\"fre-e2t ledger\",\"version\":\"1\",\"salt\":\"" SALT "\",\"entries\":[]}",
        HEAD "00\",\"entries\":[]}",
        HEAD SALT "\"}",
        HEAD SALT "\",\"entries\":{}}",
        HEAD SALT "\",\"entries\":[],\"entries\":[]}",
        HEAD SALT "\",\"entries\":[]} more",
        HEAD SALT "\",\"entries\":[1]}",
        HEAD SALT "\",\"entries\":[{\"data\":\"name:a\",\"epsilon\":1}]}",
        HEAD SALT "\",\"entries\":[{\"data\":\"name:a\",\"epsilon\":-1,\"delta\":0}]}",
        HEAD SALT "\",\"entries\":[{\"data\":\"name:a\",\"epsilon\":1,\"delta\":2}]}",
        HEAD SALT "\",\"entries\":[{\"data\":1,\"epsilon\":1,\"delta\":0}]}",
        HEAD SALT "\",\"entries\":[{\"data\":\"name:a\",\"epsilon\":\"1\",\"delta\":0}]}",
        HEAD SALT
        "\",\"entries\":[{\"data\":\"name:a\",\"epsilon\":1,\"delta\":0,\"budget_delta\":[]}]}",
        HEAD SALT "\",\"entries\":[{\"data\":\"path:a\",\"epsilon\":1,\"delta\":0}]}",
        HEAD SALT "\",\"entries\":[{\"data\":\"sha256:ab\",\"epsilon\":1,\"delta\":0}]}",
        HEAD2 SALT "\",\"entries\":[{\"epsilon\":1,\"delta\":0}]}",
        HEAD2 SALT "\",\"entries\":[{\"name\":\"\",\"epsilon\":1,\"delta\":0}]}",
        HEAD2 SALT "\",\"entries\":[{\"data\":\"name:a\",\"epsilon\":1,\"delta\":0}]}",
        HEAD2 SALT "\",\"entries\":[{\"name\":\"a\",\"id\":\"0\",\"epsilon\":1,\"delta\":0}]}",
        HEAD2 SALT "\",\"entries\":[{\"content\":\"" SALTU "\",\"epsilon\":1,\"delta\":0}]}",
    };
    fre_ledger_spend s = named("a", 1, 0, 0, 0);
    char got[1024];
    fre_err err;
    fre_ledger_book *b = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_file(book, bad[i], strlen(bad[i]));
        assert_int_equal(fre_ledger_record(NULL, book, &s, &err), FRE_E_DATA);
        assert_non_null(strstr(err.text, "ledger.json"));
        assert_int_equal(fre_ledger_check(book, &s, &err), FRE_E_DATA);
        assert_int_equal(fre_ledger_read(&b, book, &err), FRE_E_DATA);
        assert_int_equal(read_file(book, got, sizeof got), (long)strlen(bad[i]));
        assert_memory_equal(got, bad[i], strlen(bad[i]));
    }
    assert_null(b);
    write_file(book, HEAD SALT "\",\"entries\":[]}", strlen(HEAD SALT "\",\"entries\":[]}"));
    assert_int_equal(fre_ledger_record(NULL, book, &s, &err), FRE_OK);
    assert_int_equal(list().n, 1);
}

static void unusable_places_are_errors(void **state)
{
    fre_ledger_spend s = named("a", 1, 0, 0, 0);
    char path[512];
    fre_err err;

    (void)state;
    assert_int_equal(fre_ledger_record(NULL, temp_path(path, &test_dir, "absent/l"), &s, &err),
                     FRE_E_NOINPUT);
    assert_int_equal(fre_ledger_record(NULL, test_dir.path, &s, &err), FRE_E_IO); /* a folder */
    assert_int_equal(fre_ledger_record(NULL, "/proc/ledger", &s, &err), FRE_E_NOINPUT);
    assert_int_equal(symlink("nowhere", temp_path(path, &test_dir, "dangling")), 0);
    assert_int_equal(fre_ledger_record(NULL, path, &s, &err), FRE_E_IO);
    (void)temp_path(path, &test_dir, "big");
    write_file(path, "", 0);
    assert_int_equal(truncate(path, (64 << 20) + 1), 0);
    assert_int_equal(fre_ledger_record(NULL, path, &s, &err), FRE_E_LIMIT);
    assert_int_equal(record("a", 1, 0, 0, 0), FRE_OK);
    assert_int_equal(symlink("ledger.json", temp_path(path, &test_dir, "link")), 0);
    assert_int_equal(fre_ledger_record(NULL, path, &s, &err), FRE_OK); /* a link is followed */
    assert_int_equal(list().n, 2);
}

static void failed_write_keeps_the_old_book(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    assert_int_equal(record("a", 1, 0, 0, 0), FRE_OK);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const struct rlimit limit = {100, 100}; /* bytes a file may have */
        fre_ledger_spend s = named("a", 1, 0, 0, 0);

        (void)signal(SIGXFSZ, SIG_IGN);
        _exit(setrlimit(RLIMIT_FSIZE, &limit) == 0 &&
                      fre_ledger_record(NULL, book, &s, NULL) == FRE_E_IO
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(list().n, 1);
    assert_int_equal(count_entries(test_dir.path), 2);
}

static void two_processes_lose_no_entry(void **state)
{
    pid_t child[2];
    int status;
    seen s;

    (void)state;
    for (size_t c = 0; c < 2; c++) {
        child[c] = fork();
        assert_true(child[c] >= 0);
        if (child[c] == 0) {
            fre_ledger_spend one = named("a", 0.5, 1e-9, 0, 0);

            for (int i = 0; i < 50; i++) {
                if (fre_ledger_record(NULL, book, &one, NULL) != FRE_OK)
                    _exit(1);
            }
            _exit(0);
        }
    }
    for (size_t c = 0; c < 2; c++) {
        assert_int_equal(waitpid(child[c], &status, 0), child[c]);
        assert_int_equal(status, 0);
    }
    s = list();
    assert_int_equal(s.n, 100);
    assert_close(s.epsilon, 50, 0, 0);
}

/* Four processes that pass the check at once do not spend more than the budget together. */
static void concurrent_writers_keep_the_budget(void **state)
{
    pid_t child[4];
    int status, total = 0;
    seen s;

    (void)state;
    for (size_t c = 0; c < 4; c++) {
        child[c] = fork();
        assert_true(child[c] >= 0);
        if (child[c] == 0) {
            fre_ledger_spend one = named("a", 0.5, 0, 8, 0);
            int done = 0;

            for (int i = 0; i < 10; i++) {
                const fre_status st = fre_ledger_record(NULL, book, &one, NULL);

                if (st != FRE_OK && st != FRE_E_REFUSED)
                    _exit(100);
                done += st == FRE_OK;
            }
            _exit(done);
        }
    }
    for (size_t c = 0; c < 4; c++) {
        assert_int_equal(waitpid(child[c], &status, 0), child[c]);
        assert_true(WIFEXITED(status));
        total += WEXITSTATUS(status);
    }
    assert_int_equal(total, 16); /* of the 40 that were tried */
    s = list();
    assert_int_equal(s.n, 16);
    assert_false(s.sum[0].left_epsilon > 0);
}

#define KILLS 60

/* Children that record as fast as they can are killed at random times; each book that is left is
 * whole, and no entry that a child had confirmed is missing. */
static void kills_leave_a_whole_book(void **state)
{
    const uint8_t seed[32] = {5};
    size_t before = 0;
    fre_rng rng;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&rng, seed, "kills"), FRE_OK);
    for (int round = 0; round < KILLS; round++) {
        int ends[2], status;
        char bytes[4096];
        ssize_t confirmed, got;
        size_t now;
        pid_t pid;

        assert_int_equal(pipe(ends), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            fre_ledger_spend one = named("a", 0.5, 0, 0, 0);

            for (;;) {
                if (fre_ledger_record(NULL, book, &one, NULL) != FRE_OK ||
                    write(ends[1], "x", 1) != 1)
                    _exit(1);
            }
        }
        (void)close(ends[1]);
        confirmed = read(ends[0], bytes, 1); /* at work */
        assert_int_equal(confirmed, 1);
        (void)usleep((useconds_t)fre_rng_below(&rng, 4000));
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        while ((got = read(ends[0], bytes, sizeof bytes)) > 0)
            confirmed += got;
        (void)close(ends[0]);
        now = list().n;
        /* At most one was written and not confirmed. */
        assert_in_range(now, before + (size_t)confirmed, before + (size_t)confirmed + 1);
        before = now;
    }
    assert_int_equal(record("a", 0.5, 0, 0, 0), FRE_OK); /* no stale lock, no stale sibling */
    assert_int_equal(list().n, before + 1);
    fre_rng_wipe(&rng);
}

static void on_alarm(int number)
{
    (void)number;
    fre_interrupt_set();
}

static void waiting_can_be_interrupted(void **state)
{
    struct sigaction act = {.sa_handler = on_alarm}, old;
    fre_ledger_spend s = named("a", 1, 0, 0, 0);
    char lock[600];
    int ends[2], status;
    fre_status st;
    pid_t pid;

    (void)state;
    /* No SA_RESTART, and before the fork: an early signal only sets the flag. */
    assert_int_equal(sigaction(SIGUSR1, &act, &old), 0);
    (void)snprintf(lock, sizeof lock, "%s.lock", book);
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) { /* holds the lock, then interrupts its parent until it is killed */
        int fd = open(lock, O_RDWR | O_CREAT, 0600);

        if (fd < 0 || flock(fd, LOCK_EX) != 0 || close(ends[1]) != 0)
            _exit(1);
        for (;;) {
            (void)usleep(2000);
            (void)kill(getppid(), SIGUSR1);
        }
    }
    (void)close(ends[1]);
    while (read(ends[0], lock, 1) < 0) /* the end of the pipe: the lock is held */
        continue;
    st = fre_ledger_record(NULL, book, &s, NULL);
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0)
        continue;
    assert_int_equal(sigaction(SIGUSR1, &old, NULL), 0);
    fre_interrupt_clear();
    assert_int_equal(st, FRE_E_INTERRUPTED);
    (void)close(ends[0]);
    assert_false(path_exists(book));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, test_dir_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(records_and_lists),
        T(contents_add_up),
        T(check_writes_nothing),
        T(budget_is_the_smallest_ever_stated),
        T(deltas_have_their_own_budget),
        T(sums_tolerate_rounding_only),
        T(numbers_out_of_range_are_refused),
        T(content_is_the_key_not_the_path),
        T(name_and_content_join),
        T(a_bridge_joins_two_sets),
        T(sums_are_rounded_to_the_safe_side),
        T(receipts_tell_the_entry_and_the_sum),
        T(what_was_read_is_booked),
        T(data_of_nothing_have_a_key),
        T(version_1_is_read_and_upgraded),
        T(a_record_only_appends),
        T(a_torn_line_is_none),
        T(a_changed_byte_is_damage),
        T(what_became_of_a_release),
        T(every_system_call_may_be_the_last),
        T(the_same_records_are_the_same_data),
        T(few_shared_wordings_join_nothing),
        T(overlap_is_told_and_may_be_denied),
        T(users_and_embeddings_are_known),
        T(content_belongs_to_one_book),
        T(default_place),
        T(a_home_that_cannot_be_looked_up),
        T(a_shortage_is_told_from_a_missing_place),
        T(odd_paths_in_what_are_kept_readable),
        T(damaged_books_are_refused_and_kept),
        T(unusable_places_are_errors),
        T(failed_write_keeps_the_old_book),
        T(two_processes_lose_no_entry),
        T(concurrent_writers_keep_the_budget),
        T(kills_leave_a_whole_book),
        T(waiting_can_be_interrupted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
