/* tests/unit/service/curator/test_curator_ledger.c
 * a run and the ledger: nothing readable exists before its entry,
 * whenever it is killed; the user's own ledger costs no run unless a budget is stated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
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
#include "npy_file.h"
#include "small_release.h"
#include "temp_dir.h"

#define D 8u
#define ROWS 80u

static char rows[512], out[512], book[512], state_home[512];

static int setup(void **state)
{
    const float x[D] = {.5f};

    (void)state;
    temp_dir_make(&test_dir);
    (void)temp_path(out, &test_dir, "out");
    (void)temp_path(book, &test_dir, "book.json");
    (void)temp_path(state_home, &test_dir, "state");
    write_rows(temp_path(rows, &test_dir, "x.npy"), x, ROWS, D, true);
    return setenv("XDG_STATE_HOME", state_home, 1);
}

static fre_curator_opts options(void)
{
    return small_release(rows, out);
}

static fre_status run(fre_curator_result **rel, const fre_curator_opts *o, fre_err *err)
{
    fre_err own = {.text = ""};
    const fre_status st = fre_curator_synthesize(rel, o, err ? err : &own);

    if (st != FRE_OK)
        print_message("%s\n", err ? err->text : own.text);
    return st;
}

static size_t booked(const char *path)
{
    fre_ledger_book *b = NULL;
    fre_err err = {.text = ""};
    const fre_status st = fre_ledger_read(&b, path, &err);
    const size_t n = st == FRE_OK ? b->n : 0;

    if (st != FRE_OK && st != FRE_E_NOINPUT)
        fail_msg("%s", err.text);
    fre_ledger_book_free(b);
    return n;
}

static fre_ledger_state last_state(const char *path)
{
    fre_ledger_book *b = NULL;
    fre_ledger_state state;

    assert_int_equal(fre_ledger_read(&b, path, NULL), FRE_OK);
    assert_true(b->n > 0);
    state = b->entry[b->n - 1].state;
    fre_ledger_book_free(b);
    return state;
}

static bool has_entry(const char *path, const char *id)
{
    fre_ledger_book *b = NULL;
    bool found = false;

    assert_int_equal(fre_ledger_read(&b, path, NULL), FRE_OK);
    for (size_t i = 0; i < b->n; i++)
        found = found || strcmp(b->entry[i].id, id) == 0;
    fre_ledger_book_free(b);
    return found;
}

/* release.json says `"ledger": {"entry": "ID"}` on lines of its own; "" without one. */
static void entry_of_release(char id[FRE_LEDGER_ID_BYTES], const char *folder)
{
    char path[1024], text[16384] = "";
    const char *at;

    (void)snprintf(path, sizeof path, "%s/release.json", folder);
    assert_true(read_file(path, text, sizeof text - 1) > 0);
    assert_null(strstr(text, test_dir.path)); /* no path of this machine */
    at = strstr(text, "\"ledger\": {");
    assert_non_null(at);
    at = strstr(at, "\"entry\": ");
    assert_non_null(at);
    at += strlen("\"entry\": ");
    id[0] = '\0';
    if (*at == '"')
        (void)snprintf(id, FRE_LEDGER_ID_BYTES, "%s", at + 1);
}

/* So that each run finds the same and makes the same calls. */
static void remove_partial_folders(void)
{
    DIR *d = opendir(test_dir.path);
    const struct dirent *e;

    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        char path[1024];

        (void)snprintf(path, sizeof path, "%s/%s", test_dir.path, e->d_name);
        if (strncmp(e->d_name, ".out.partial-", 13) == 0)
            remove_release(path);
    }
    (void)closedir(d);
}

/* Files in the partial folders of runs that were killed, or are at work. */
static size_t partial_files(size_t *folders)
{
    DIR *d = opendir(test_dir.path);
    const struct dirent *e;
    size_t n = 0;

    assert_non_null(d);
    *folders = 0;
    while ((e = readdir(d)) != NULL) {
        char path[1024];

        if (strncmp(e->d_name, ".out.partial-", 13) != 0)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", test_dir.path, e->d_name);
        n += (size_t)count_entries(path);
        ++*folders;
    }
    (void)closedir(d);
    return n;
}

/* Does the process have this file open? */
static bool has_open(pid_t pid, const char *path)
{
    char folder[64];
    const struct dirent *e;
    bool found = false;
    DIR *d;

    (void)snprintf(folder, sizeof folder, "/proc/%d/fd", (int)pid);
    d = opendir(folder);
    while (d && !found && (e = readdir(d)) != NULL) {
        char target[1024] = "";

        if (readlinkat(dirfd(d), e->d_name, target, sizeof target - 1) > 0)
            found = strcmp(target, path) == 0;
    }
    if (d)
        (void)closedir(d);
    return found;
}

/* ---- kills ------------------------------------------------------------------------------------- */

/* The run is held at its entry by somebody's lock, and killed there. */
static void nothing_is_filled_before_the_entry(void **state)
{
    fre_curator_opts o = options();
    char lock[600], lock_byte[1];
    int fd, status, begun[2];
    size_t folders;
    pid_t pid;

    (void)state;
    o.ledger = book;
    (void)snprintf(lock, sizeof lock, "%s.lock", book);
    fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
    assert_int_equal(pipe(begun), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        fre_curator_result *rel = NULL;

        (void)close(fd); /* its own opening is what is looked for */
        (void)close(begun[0]);
        (void)close(begun[1]);
        _exit(fre_curator_synthesize(&rel, &o, NULL) == FRE_OK ? 0 : 1);
    }
    (void)close(begun[1]);
    assert_int_equal(read(begun[0], lock_byte, 1), 0); /* ended: the child has closed fd, too */
    (void)close(begun[0]);
    for (int i = 0; i < 40000 && !has_open(pid, lock); i++)
        (void)usleep(5000);
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
    if (!has_open(pid, lock)) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, &status, 0);
        fail_msg("the run did not come to its entry");
    }
    (void)usleep(100000); /* it waits: what it would write first would be there */
    assert_int_equal(partial_files(&folders), 0);
    assert_int_equal(folders, 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)close(fd);
    assert_int_equal(partial_files(&folders), 0);
    assert_false(path_exists(out));
    assert_int_equal(booked(book), 0);
}

/* ---- interruptions ----------------------------------------------------------------------------- */

static void interrupt_in(void *ctx, const char *phase, uint64_t done, uint64_t total)
{
    (void)total;
    if (strcmp(phase, ctx) == 0 && done == 0)
        fre_interrupt_set();
}

/* Before the noise nothing is spent; from then on it is, and a second try is refused. */
static void an_interrupted_run_stays_spent(void **state)
{
    char placing[] = "placing";
    const fre_progress progress = {.update = interrupt_in, .ctx = placing};
    fre_curator_opts o = options();
    fre_curator_result *rel = NULL;
    fre_err err = {.text = ""};

    (void)state;
    o.ledger = book;
    o.budget_epsilon = o.plan.epsilon * 1.5;
    fre_interrupt_set();
    assert_int_equal(run(&rel, &o, NULL), FRE_E_INTERRUPTED);
    fre_interrupt_clear();
    assert_int_equal(booked(book), 0);
    o.progress = &progress; /* all is read: the noise is next */
    assert_int_equal(run(&rel, &o, &err), FRE_E_INTERRUPTED);
    fre_interrupt_clear();
    assert_non_null(strstr(err.text, "has already recorded epsilon"));
    assert_int_equal(booked(book), 1);
    assert_int_equal(last_state(book), FRE_LEDGER_FAILED);
    assert_false(path_exists(out));
    o.progress = NULL;
    assert_int_equal(run(&rel, &o, NULL), FRE_E_REFUSED);
    assert_int_equal(booked(book), 1);
}

#define KILLS 40

/* Whenever it is killed: what lies there, finished or not, has its entry. */
static void whatever_is_left_is_booked(void **state)
{
    const uint8_t seed[32] = {6};
    fre_curator_opts o = options();
    size_t total = 0, with_files = 0;
    fre_rng rng;

    (void)state;
    o.ledger = book;
    o.force = true;
    assert_int_equal(fre_rng_init_seeded(&rng, seed, "kills"), FRE_OK);
    for (int round = 0; round < KILLS; round++) {
        char bytes[512], id[FRE_LEDGER_ID_BYTES];
        size_t folders, files, now;
        int ends[2], status;
        ssize_t got;
        pid_t pid;

        assert_int_equal(pipe(ends), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            for (;;) {
                fre_curator_result *rel = NULL;

                if (fre_curator_synthesize(&rel, &o, NULL) != FRE_OK || write(ends[1], "x", 1) != 1)
                    _exit(1);
                fre_curator_result_free(rel);
            }
        }
        (void)close(ends[1]);
        got = read(ends[0], bytes, 1); /* one is done, so that times are of runs at work */
        assert_int_equal(got, 1);
        total++;
        if (round % 2 == 0)
            (void)usleep((useconds_t)fre_rng_below(&rng, 40000));
        else /* as soon as there is a file to see, so that some kills fall where it matters */
            for (long i = 0; i < 1000000 && partial_files(&folders) == 0; i++)
                continue;
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        while ((got = read(ends[0], bytes, sizeof bytes)) > 0)
            total += (size_t)got;
        (void)close(ends[0]);
        now = booked(book);
        files = partial_files(&folders);
        assert_in_range(now, total + (files > 0), total + 1); /* one may not have been confirmed */
        total = now;
        with_files += files > 0;
        entry_of_release(id, out);
        assert_true(has_entry(book, id));
    }
    assert_true(with_files > 0); /* else nothing was tried */
    fre_rng_wipe(&rng);
}

/* What only a later step reads is refused before it costs budget. */
static void options_out_of_range_cost_nothing(void **state)
{
    fre_curator_opts bad[5];
    const char *const says[5] = {"{threads}", "{paraphrases}", "{temperature}",
                                 "{paraphrase_distance}", "{budget_epsilon}"};

    (void)state;
    for (size_t i = 0; i < 5; i++)
        bad[i] = options();
    bad[0].threads = 0;
    bad[1].paraphrases = (uint32_t)fre_curator_param_paraphrases.highest + 1;
    bad[2].temperature = -1;
    bad[3].paraphrase_distance = 2.1;
    bad[4].budget_epsilon = 1e7;
    for (size_t i = 0; i < 5; i++) {
        fre_curator_result *rel = NULL;
        fre_err err = {.text = ""};

        bad[i].ledger = book;
        assert_int_equal(run(&rel, &bad[i], &err), FRE_E_USAGE);
        assert_non_null(strstr(err.text, says[i]));
        assert_false(path_exists(book) || path_exists(out));
    }
}

/* A run that may write files of so many bytes: its status, and what its error says. */
static void run_with_room(rlim_t bytes, fre_curator_opts o, fre_status want, const char *says)
{
    const struct rlimit limit = {bytes, bytes};
    const pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0) {
        fre_curator_result *rel = NULL;
        fre_err err = {.text = ""};

        (void)signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
            _exit(1);
        if (fre_curator_synthesize(&rel, &o, &err) != want)
            _exit(2);
        _exit(strstr(err.text, says) ? 0 : 3);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_false(path_exists(out));
}

/* A failure behind the entry says that the budget is gone. */
static void a_failed_write_tells_that_it_is_booked(void **state)
{
    fre_curator_opts o = options();

    (void)state;
    o.ledger = book; /* room for the book, not for release.json */
    run_with_room(2700, o, FRE_E_IO, "has already recorded epsilon 8");
    assert_int_equal(booked(book), 1);
    assert_int_equal(last_state(book), FRE_LEDGER_FAILED);
}

static void one_run(void *ctx)
{
    fre_curator_result *rel = NULL;

    if (fre_curator_synthesize(&rel, ctx, NULL) != FRE_OK)
        _exit(1);
}

/* Killed before and behind every system call: no release without its entry, none said to be
 * published that is not there, and the next run goes on. */
static void every_system_call_may_be_the_last(void **state)
{
    fre_curator_opts o = options();
    size_t seen[4] = {0};
    char id[FRE_LEDGER_ID_BYTES], lock[600];
    bool done = false;

    (void)state;
    o.ledger = book;
    (void)snprintf(lock, sizeof lock, "%s.lock", book);
    for (long n = 1; !done; n++) {
        size_t folders, files;

        (void)unlink(book);
        (void)unlink(lock);
        done = runs_to_stop(n, one_run, &o);
        files = partial_files(&folders);
        if (booked(book) == 0) {
            assert_false(path_exists(out));
            assert_int_equal(files, 0);
            seen[3]++;
        } else if (path_exists(out)) {
            entry_of_release(id, out);
            assert_true(has_entry(book, id));
            seen[last_state(book)]++;
        } else {
            assert_int_equal(last_state(book), FRE_LEDGER_BOOKED);
            seen[2]++;
        }
        assert_int_equal(booked(book) > 1, 0);
        remove_release(out);
        remove_partial_folders();
    }
    print_message("not booked %zu, booked %zu, complete %zu and %zu\n", seen[3], seen[2], seen[0],
                  seen[1]);
    /* Every case was met: also the complete release that its ledger was not told of. */
    assert_true(seen[0] > 9 && seen[1] > 0 && seen[2] > 0 && seen[3] > 0);
}

/* ---- the user's own ledger --------------------------------------------------------------------- */

static const char *own_book(char path[600])
{
    (void)snprintf(path, 600, "%s/fre-e2t/ledger.json", state_home);
    return path;
}

static void the_own_ledger_records(void **state)
{
    fre_curator_opts o = options();
    char path[600], id[FRE_LEDGER_ID_BYTES];
    fre_curator_result *rel = NULL;
    struct stat s;

    (void)state;
    o.ledger_default = true;
    o.dry_run = true;
    assert_int_equal(run(&rel, &o, NULL), FRE_OK);
    fre_curator_result_free(rel);
    assert_false(path_exists(state_home)); /* a dry run leaves nothing */
    o.dry_run = false;
    o.force = true;
    for (size_t i = 1; i <= 2; i++) {
        assert_int_equal(run(&rel, &o, NULL), FRE_OK);
        assert_true(rel->recorded);
        assert_string_equal(rel->ledger, own_book(path));
        assert_string_equal(rel->ledger_warning, "");
        assert_int_equal(rel->receipt.sum.releases, i);
        assert_close(rel->receipt.sum.epsilon, 8 * (double)i, 1e-14, 0);
        entry_of_release(id, out);
        assert_string_equal(id, rel->receipt.id);
        fre_curator_result_free(rel);
    }
    assert_int_equal(stat(own_book(path), &s), 0);
    assert_int_equal(s.st_mode & 0777, 0600);
    assert_int_equal(stat(state_home, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0700);
    o.budget_epsilon = 20;
    assert_int_equal(run(&rel, &o, NULL), FRE_E_REFUSED);
    o.budget_epsilon = 0; /* it was not recorded, so it was not stated */
    assert_int_equal(run(&rel, &o, NULL), FRE_OK);
    fre_curator_result_free(rel);
}

static void assert_not_recorded(const fre_curator_opts *o, const char *reason, const char *warning)
{
    char id[FRE_LEDGER_ID_BYTES];
    fre_curator_result *rel = NULL;

    assert_int_equal(run(&rel, o, NULL), FRE_OK);
    assert_false(rel->recorded);
    assert_string_equal(rel->ledger_reason, reason);
    if (warning)
        assert_non_null(strstr(rel->ledger_warning, warning));
    else
        assert_string_equal(rel->ledger_warning, "");
    entry_of_release(id, out);
    assert_string_equal(id, "");
    fre_curator_result_free(rel);
}

static void the_own_ledger_costs_no_run(void **state)
{
    fre_curator_opts o = options();
    fre_curator_result *rel = NULL;
    fre_err err = {.text = ""};
    char path[600];

    (void)state;
    o.force = true;
    assert_not_recorded(&o, "no ledger was kept", NULL);
    o.ledger_default = true;
    o.seeded = true;
    assert_not_recorded(&o, "a run that is not private spends no budget", NULL);
    o.seeded = false;
    o.plan.epsilon = INFINITY;
    assert_not_recorded(&o, "a run that is not private spends no budget", NULL);
    assert_false(path_exists(state_home));
    o.budget_epsilon = 10; /* a budget was asked for, and cannot be kept */
    assert_int_equal(run(&rel, &o, NULL), FRE_E_USAGE);
    o.plan.epsilon = 8;
    write_file(state_home, "no folder", 9);
    assert_int_equal(run(&rel, &o, &err), FRE_E_REFUSED);
    o.budget_epsilon = 0; /* a book may be there, behind what is in the way */
    assert_int_equal(run(&rel, &o, &err), FRE_E_REFUSED);
    assert_non_null(strstr(err.text, "Not a directory"));
    assert_int_equal(unlink(state_home), 0);
    /* A book that is there and cannot be read, or is damaged, may hold a budget. */
    assert_int_equal(run(&rel, &o, NULL), FRE_OK);
    fre_curator_result_free(rel);
    write_file(own_book(path), "{", 1);
    assert_int_equal(run(&rel, &o, &err), FRE_E_REFUSED);
    assert_non_null(strstr(err.text, "is damaged"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(run(&rel, &o, NULL), FRE_E_REFUSED);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(symlink("/nowhere/at/all", path), 0);
    assert_int_equal(run(&rel, &o, NULL), FRE_E_REFUSED);
    assert_int_equal(unlink(path), 0);
    /* There is none, and none can be made: said, and a refusal where a budget was stated. */
    assert_int_equal(setenv("XDG_STATE_HOME", "/proc/none", 1), 0);
    assert_not_recorded(&o, "the ledger could not be written", "No such file");
    o.budget_epsilon = 10;
    assert_int_equal(run(&rel, &o, &err), FRE_E_REFUSED);
}

/* A book whose disk is full when the entry is due: nothing is released, with and without a budget. */
static void a_full_disk_refuses(void **state)
{
    fre_curator_opts o = options();

    (void)state;
    o.ledger_default = true; /* no room for a first book, which could be made tomorrow */
    run_with_room(10, o, FRE_E_REFUSED, "the ledger cannot record this run");
    assert_false(path_exists(own_book((char[600]){0})));
    /* room for the book, not for the entry */
    run_with_room(1000, o, FRE_E_REFUSED, "the ledger cannot record this run");
    o.budget_epsilon = 10;
    run_with_room(1000, o, FRE_E_REFUSED, "the ledger cannot record this run");
}

static void leftovers_of_a_resumable_run_are_told(void **state)
{
    fre_curator_opts o = options();
    fre_curator_result *rel = NULL;
    char path[512], slashed[600];

    (void)state;
    o.force = true;
    assert_int_equal(run(&rel, &o, NULL), FRE_OK);
    assert_null(rel->resume_left);
    fre_curator_result_free(rel);
    write_file(temp_path(path, &test_dir, "out.resume.key"), "k", 1);
    (void)snprintf(slashed, sizeof slashed, "%s//", out);
    o.output = slashed;
    assert_int_equal(run(&rel, &o, NULL), FRE_OK);
    assert_string_equal(rel->resume_left, temp_path(path, &test_dir, "out.resume"));
    fre_curator_result_free(rel);
    o.resume = true; /* it would go on from there */
    assert_int_equal(run(&rel, &o, NULL), FRE_OK);
    assert_null(rel->resume_left);
    fre_curator_result_free(rel);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, test_dir_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(options_out_of_range_cost_nothing),
        T(nothing_is_filled_before_the_entry),
        T(an_interrupted_run_stays_spent),
        T(whatever_is_left_is_booked),
        T(a_failed_write_tells_that_it_is_booked),
        T(every_system_call_may_be_the_last),
        T(a_full_disk_refuses),
        T(the_own_ledger_records),
        T(the_own_ledger_costs_no_run),
        T(leftovers_of_a_resumable_run_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
