/* The ledger: sums, budgets, damage, several processes at once, and a kill. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/ledger.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "assert_num.h"
#include "temp_dir.h"

static temp_dir tmp;
static char book[512];

static int setup(void **state)
{
    (void)state;
    temp_dir_make(&tmp);
    (void)temp_path(book, &tmp, "ledger.json");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    temp_dir_remove(&tmp);
    return 0;
}

static fre_ledger_spend named(const char *name, double epsilon, double delta, double max_epsilon,
                              double max_delta)
{
    return (fre_ledger_spend){.input_path = "-",
                              .data_name = name,
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
    fre_err err = {""}, other = {""};
    fre_status would = fre_ledger_check(book, &s, &other);
    fre_status st = fre_ledger_record(book, &s, &err);

    assert_int_equal(st, would); /* the check foretells the record */
    assert_string_equal(err.text, other.text);
    return st;
}

typedef struct seen {
    size_t n;
    double epsilon;
    char data[300], what[300], date[40];
    double budget_epsilon, budget_delta, delta;
} seen;

static void note(void *ctx, const fre_ledger_entry *e)
{
    seen *s = ctx;

    s->n++;
    s->epsilon += e->epsilon;
    s->delta = e->delta;
    s->budget_epsilon = e->budget_epsilon;
    s->budget_delta = e->budget_delta;
    (void)snprintf(s->data, sizeof s->data, "%s", e->data);
    (void)snprintf(s->what, sizeof s->what, "%s", e->what);
    (void)snprintf(s->date, sizeof s->date, "%s", e->date);
}

static seen list(void)
{
    seen s = {.n = 0};
    fre_err err = {""};

    if (fre_ledger_list(book, note, &s, &err) != FRE_OK)
        fail_msg("%s", err.text);
    return s;
}

static void records_and_lists(void **state)
{
    struct stat st;
    fre_err err;
    seen s;

    (void)state;
    assert_int_equal(fre_ledger_list(book, note, &s, &err), FRE_E_NOINPUT);
    assert_int_equal(record("requests", 1.25, 1e-6, 0, 0), FRE_OK);
    assert_int_equal(record("other", 0.1, 0, 3, 1e-5), FRE_OK);
    s = list();
    assert_int_equal(s.n, 2);
    assert_close(s.epsilon, 1.35, 1e-15, 0);
    assert_string_equal(s.data, "name:other");
    assert_string_equal(s.what, "a test");
    assert_close(s.delta, 0, 0, 0);
    assert_close(s.budget_epsilon, 3, 0, 0);
    assert_close(s.budget_delta, 1e-5, 0, 0);
    assert_int_equal(strlen(s.date), 20);
    assert_int_equal(stat(book, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(count_entries(tmp.path), 2); /* the book and its lock */
    assert_int_equal(fre_ledger_list(book, NULL, NULL, &err), FRE_E_ARG);
    assert_int_equal(fre_ledger_list(NULL, note, &s, &err), FRE_E_ARG);
}

static void check_writes_nothing(void **state)
{
    fre_ledger_spend s = named("x", 1, 0, 2, 0);

    (void)state;
    assert_int_equal(fre_ledger_check(book, &s, NULL), FRE_OK);
    assert_int_equal(count_entries(tmp.path), 0);
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
    assert_int_equal(fre_ledger_record(book, &s, &err), FRE_E_REFUSED);
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
               {1, 0, 0, 2},   {1, 0, 0, NAN}};
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
    assert_int_equal(fre_ledger_record(NULL, &s, NULL), FRE_E_ARG);
    assert_int_equal(fre_ledger_record("", &s, NULL), FRE_E_ARG);
    assert_int_equal(fre_ledger_record(book, NULL, NULL), FRE_E_ARG);
    s.data_name = s.input_path = NULL;
    assert_int_equal(fre_ledger_check(book, &s, NULL), FRE_E_ARG);
}

static void content_is_the_key_not_the_path(void **state)
{
    char one[512], two[512], text[4096] = "", plain[65];
    uint8_t hash[32];
    fre_ledger_spend s = named(NULL, 1, 0, 1.5, 0);
    fre_err err;

    (void)state;
    (void)temp_path(one, &tmp, "one.txt");
    (void)temp_path(two, &tmp, "two.txt");
    write_file(one, "private text", 12);
    write_file(two, "private text", 12);
    s.input_path = one;
    assert_int_equal(fre_ledger_record(book, &s, &err), FRE_OK);
    s.input_path = two; /* a copy is the same data */
    assert_int_equal(fre_ledger_record(book, &s, &err), FRE_E_REFUSED);
    write_file(two, "private texT", 12);
    assert_int_equal(fre_ledger_record(book, &s, &err), FRE_OK);
    assert_true(read_file(book, text, sizeof text - 1) > 0);
    assert_null(strstr(text, "private"));
    assert_int_equal(fre_sha256_file(hash, one, &err), FRE_OK);
    fre_hex(plain, hash, sizeof hash);
    assert_null(strstr(text, plain)); /* salted: the book does not confirm a guess by itself */
    assert_int_equal(strncmp(list().data, "sha256:", 7), 0);
    s.input_path = "-";
    assert_int_equal(fre_ledger_record(book, &s, &err), FRE_E_USAGE);
    s.input_path = "/dev/null";
    assert_int_equal(fre_ledger_record(book, &s, &err), FRE_E_USAGE);
    s.input_path = temp_path(two, &tmp, "absent");
    assert_int_equal(fre_ledger_record(book, &s, &err), FRE_E_NOINPUT);
    assert_int_equal(list().n, 2);
}

static void odd_paths_in_what_are_kept_readable(void **state)
{
    fre_ledger_spend s = named("a", 1, 0, 0, 0);

    (void)state;
    s.what = "synthesize -o \xff\xfe\"out\"";
    assert_int_equal(fre_ledger_record(book, &s, NULL), FRE_OK);
    assert_string_equal(list().what, "synthesize -o ?\?\"out\"");
    s.what = NULL;
    assert_int_equal(fre_ledger_record(book, &s, NULL), FRE_OK);
    assert_string_equal(list().what, "");
}

static void damaged_books_are_refused_and_kept(void **state)
{
#define HEAD "{\"format\":\"fre-e2t ledger\",\"version\":1,\"salt\":\""
#define SALT "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
    static const char *const bad[] = {
        "",
        "{",
        "[]",
        "null",
        "{}",
        "{\"format\":\"other\",\"version\":1}",
        "{\"format\":\"fre-e2t ledger\",\"version\":2,\"salt\":\"" SALT "\",\"entries\":[]}",
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
    };
    fre_ledger_spend s = named("a", 1, 0, 0, 0);
    char got[1024];
    fre_err err;
    seen l = {.n = 0};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_file(book, bad[i], strlen(bad[i]));
        assert_int_equal(fre_ledger_record(book, &s, &err), FRE_E_DATA);
        assert_non_null(strstr(err.text, "ledger.json"));
        assert_int_equal(fre_ledger_check(book, &s, &err), FRE_E_DATA);
        assert_int_equal(fre_ledger_list(book, note, &l, &err), FRE_E_DATA);
        assert_int_equal(read_file(book, got, sizeof got), (long)strlen(bad[i]));
        assert_memory_equal(got, bad[i], strlen(bad[i]));
    }
    assert_int_equal(l.n, 0);
    write_file(book, HEAD SALT "\",\"entries\":[]}", strlen(HEAD SALT "\",\"entries\":[]}"));
    assert_int_equal(fre_ledger_record(book, &s, &err), FRE_OK);
    assert_int_equal(list().n, 1);
}

static void unusable_places_are_io_errors(void **state)
{
    fre_ledger_spend s = named("a", 1, 0, 0, 0);
    char path[512];
    fre_err err;

    (void)state;
    assert_int_equal(fre_ledger_record(temp_path(path, &tmp, "absent/l"), &s, &err), FRE_E_IO);
    assert_int_equal(fre_ledger_record(tmp.path, &s, &err), FRE_E_IO); /* a folder */
    assert_int_equal(fre_ledger_record("/proc/ledger", &s, &err), FRE_E_IO);
    assert_int_equal(symlink("nowhere", temp_path(path, &tmp, "dangling")), 0);
    assert_int_equal(fre_ledger_record(path, &s, &err), FRE_E_IO);
    (void)temp_path(path, &tmp, "big");
    write_file(path, "", 0);
    assert_int_equal(truncate(path, (64 << 20) + 1), 0);
    assert_int_equal(fre_ledger_record(path, &s, &err), FRE_E_LIMIT);
    assert_int_equal(record("a", 1, 0, 0, 0), FRE_OK);
    assert_int_equal(symlink("ledger.json", temp_path(path, &tmp, "link")), 0);
    assert_int_equal(fre_ledger_record(path, &s, &err), FRE_OK); /* a link is followed */
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
        _exit(setrlimit(RLIMIT_FSIZE, &limit) == 0 && fre_ledger_record(book, &s, NULL) == FRE_E_IO
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(list().n, 1);
    assert_int_equal(count_entries(tmp.path), 2);
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
            fre_ledger_spend spend = named("a", 0.5, 1e-9, 0, 0);

            for (int i = 0; i < 50; i++) {
                if (fre_ledger_record(book, &spend, NULL) != FRE_OK)
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

/* Children that record as fast as they can are killed; each book that is left is whole, and no
 * entry of an earlier one is missing. */
static void kills_leave_a_whole_book(void **state)
{
    size_t before = 0;

    (void)state;
    assert_int_equal(record("a", 0.5, 0, 0, 0), FRE_OK);
    for (int round = 0; round < 10; round++) {
        int ends[2], status;
        char byte;
        pid_t pid;
        size_t now;

        assert_int_equal(pipe(ends), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            fre_ledger_spend spend = named("a", 0.5, 0, 0, 0);

            for (;;) {
                if (fre_ledger_record(book, &spend, NULL) != FRE_OK || write(ends[1], "x", 1) != 1)
                    _exit(1);
            }
        }
        for (int i = 0; i <= round; i++)
            assert_int_equal(read(ends[0], &byte, 1), 1);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        (void)close(ends[0]);
        (void)close(ends[1]);
        now = list().n;
        assert_true(now >= before + (size_t)round + 1);
        before = now;
        assert_int_equal(record("a", 0.5, 0, 0, 0), FRE_OK); /* no stale lock, no stale sibling */
    }
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
    st = fre_ledger_record(book, &s, NULL);
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0)
        continue;
    assert_int_equal(sigaction(SIGUSR1, &old, NULL), 0);
    fre_interrupt_clear();
    assert_int_equal(st, FRE_E_INTERRUPTED);
    (void)close(ends[0]);
    assert_false(path_exists(book));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(records_and_lists),
        T(check_writes_nothing),
        T(budget_is_the_smallest_ever_stated),
        T(deltas_have_their_own_budget),
        T(sums_tolerate_rounding_only),
        T(numbers_out_of_range_are_refused),
        T(content_is_the_key_not_the_path),
        T(odd_paths_in_what_are_kept_readable),
        T(damaged_books_are_refused_and_kept),
        T(unusable_places_are_io_errors),
        T(failed_write_keeps_the_old_book),
        T(two_processes_lose_no_entry),
        T(kills_leave_a_whole_book),
        T(waiting_can_be_interrupted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
