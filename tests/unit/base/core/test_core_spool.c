/* The private spool: order, limits, resumption, damage, and what a kill leaves behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/core.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deny_syscall.h"
#include "temp_dir.h"

#define RECORD 1000u
#define PER_BLOCK 65u /* 65536 / 1000 */
#define HEADER 64u
#define SEALED (24u + PER_BLOCK * RECORD + 16u)

static char base[512], data[1024], key[1024];

static int setup(void **state)
{
    (void)state;
    temp_dir_make(&test_dir);
    (void)temp_path(base, &test_dir, "run");
    (void)snprintf(data, sizeof data, "%s.spool", base);
    (void)snprintf(key, sizeof key, "%s.key", base);
    return 0;
}

static void make_record(uint8_t record[RECORD], uint64_t i)
{
    for (size_t j = 0; j < RECORD; j++)
        record[j] = (uint8_t)(i * 31 + j * 7 + (j >> 8));
    memcpy(record, "PRIVATE TEXT ", 13);
    memcpy(record + 13, &i, sizeof i);
}

static fre_spool *open_spool(bool resumable)
{
    fre_spool_opts opts = {
        .dir = test_dir.path, .resume_path = resumable ? base : NULL, .record_bytes = RECORD};
    fre_spool *s = NULL;
    fre_err err = {.text = ""};

    if (fre_spool_open(&s, &opts, &err) != FRE_OK)
        fail_msg("%s", err.text);
    return s;
}

static void append_range(fre_spool *s, uint64_t from, uint64_t to)
{
    uint8_t record[RECORD];

    for (uint64_t i = from; i < to; i++) {
        make_record(record, i);
        assert_int_equal(fre_spool_append(s, record, NULL), FRE_OK);
    }
}

static void assert_pass(fre_spool *s, uint64_t n)
{
    uint8_t wanted[RECORD], got[RECORD];
    fre_err err;

    assert_int_equal(fre_spool_rewind(s, &err), FRE_OK);
    assert_int_equal(fre_spool_count(s), n);
    for (uint64_t i = 0; i < n; i++) {
        make_record(wanted, i);
        assert_int_equal(fre_spool_next(s, got, &err), FRE_OK);
        assert_memory_equal(got, wanted, RECORD);
    }
    memset(got, 3, sizeof got);
    assert_int_equal(fre_spool_next(s, got, &err), FRE_E_STATE);
    for (size_t j = 0; j < RECORD; j++)
        assert_int_equal(got[j], 3);
}

static void passes_repeat_what_was_written(void **state)
{
    static const uint64_t sizes[] = {
        0, 1, PER_BLOCK - 1, PER_BLOCK, PER_BLOCK + 1, 3 * PER_BLOCK, 3 * PER_BLOCK + 7};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        fre_spool *s = open_spool(false);

        append_range(s, 0, sizes[i]);
        assert_pass(s, sizes[i]);
        assert_int_equal(fre_spool_flush(s, NULL), FRE_OK);
        assert_pass(s, sizes[i]);
        append_range(s, sizes[i], sizes[i] + 70); /* and goes on after a pass */
        assert_pass(s, sizes[i] + 70);
        fre_spool_free(s, i % 2 == 0);
    }
    fre_spool_free(NULL, true);
}

static void records_of_extreme_sizes(void **state)
{
    static const size_t sizes[] = {1, 65535, 65536, 65537, 1u << 20};
    uint8_t *in = malloc(1u << 20), *out = malloc(1u << 20);

    (void)state;
    assert_non_null(in);
    assert_non_null(out);
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        fre_spool_opts opts = {.dir = test_dir.path, .resume_path = NULL, .record_bytes = sizes[k]};
        fre_spool *s = NULL;

        assert_int_equal(fre_spool_open(&s, &opts, NULL), FRE_OK);
        for (int i = 0; i < 3; i++) {
            memset(in, i + 1, sizes[k]);
            assert_int_equal(fre_spool_append(s, in, NULL), FRE_OK);
        }
        assert_int_equal(fre_spool_rewind(s, NULL), FRE_OK);
        for (int i = 0; i < 3; i++) {
            memset(in, i + 1, sizes[k]);
            assert_int_equal(fre_spool_next(s, out, NULL), FRE_OK);
            assert_memory_equal(in, out, sizes[k]);
        }
        fre_spool_free(s, false);
    }
    free(in);
    free(out);
}

static void arguments_are_checked(void **state)
{
    fre_spool_opts opts = {.dir = test_dir.path, .resume_path = NULL, .record_bytes = 0};
    fre_spool *s = NULL;
    uint8_t record[RECORD] = {0};
    char path[512];
    fre_err err;

    (void)state;
    assert_int_equal(fre_spool_open(&s, &opts, &err), FRE_E_ARG);
    opts.record_bytes = (1u << 20) + 1;
    assert_int_equal(fre_spool_open(&s, &opts, &err), FRE_E_ARG);
    opts.record_bytes = 8;
    assert_int_equal(fre_spool_open(&s, NULL, &err), FRE_E_ARG);
    assert_int_equal(fre_spool_open(NULL, &opts, &err), FRE_E_ARG);
    opts.dir = temp_path(path, &test_dir, "absent");
    assert_int_equal(fre_spool_open(&s, &opts, &err), FRE_E_IO);
    assert_non_null(strstr(err.text, "absent"));
    opts.resume_path = temp_path(path, &test_dir, "absent/run");
    assert_int_equal(fre_spool_open(&s, &opts, &err), FRE_E_IO);
    assert_null(s);
    assert_int_equal(fre_spool_append(NULL, record, &err), FRE_E_ARG);
    assert_int_equal(fre_spool_flush(NULL, &err), FRE_E_ARG);
    assert_int_equal(fre_spool_rewind(NULL, &err), FRE_E_ARG);
    assert_int_equal(fre_spool_next(NULL, record, &err), FRE_E_ARG);
}

static void anonymous_file_has_no_name(void **state)
{
    fre_spool_opts opts = {.dir = NULL, .resume_path = NULL, .record_bytes = RECORD};
    fre_spool *s = open_spool(false);
    const char *old = getenv("TMPDIR");
    char keep[256] = "", absent[512];
    fre_err err;

    (void)state;
    append_range(s, 0, 3 * PER_BLOCK);
    assert_int_equal(count_entries(test_dir.path), 0);
    fre_spool_free(s, false);
    if (old)
        (void)snprintf(keep, sizeof keep, "%s", old);
    s = NULL;
    assert_int_equal(setenv("TMPDIR", temp_path(absent, &test_dir, "absent"), 1), 0);
    assert_int_equal(fre_spool_open(&s, &opts, &err), FRE_E_IO); /* $TMPDIR is the default */
    assert_non_null(strstr(err.text, "absent"));
    assert_null(s);
    if (old)
        assert_int_equal(setenv("TMPDIR", keep, 1), 0);
    else
        assert_int_equal(unsetenv("TMPDIR"), 0);
}

/* Where files cannot be nameless the name is gone at once; 77: no filters here. */
static void named_fallback_is_unlinked(void **state)
{
    int status;
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0) {
        fre_spool *s;

        if (!deny_syscall(SYS_openat, 2, O_TMPFILE, EOPNOTSUPP))
            _exit(77);
        if (open(test_dir.path, O_TMPFILE | O_RDWR, 0600) >= 0)
            _exit(1); /* the filter itself */
        s = open_spool(false);
        append_range(s, 0, 2 * PER_BLOCK);
        if (fre_spool_flush(s, NULL) != FRE_OK || count_entries(test_dir.path) != 0)
            _exit(2);
        fre_spool_free(s, false);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void resumed_run_goes_on(void **state)
{
    fre_spool *s = open_spool(true);
    struct stat st;

    (void)state;
    append_range(s, 0, 2 * PER_BLOCK + 5);
    assert_int_equal(fre_spool_flush(s, NULL), FRE_OK);
    assert_int_equal(stat(key, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(st.st_size, 32);
    assert_int_equal(stat(data, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(st.st_size, HEADER + 2 * SEALED);
    fre_spool_free(s, false);
    s = open_spool(true);
    assert_int_equal(fre_spool_count(s), 2 * PER_BLOCK); /* whole blocks only */
    append_range(s, 2 * PER_BLOCK, 4 * PER_BLOCK + 1);
    assert_pass(s, 4 * PER_BLOCK + 1);
    fre_spool_free(s, true);
    assert_int_equal(count_entries(test_dir.path), 0);
}

static void two_runs_cannot_share_it(void **state)
{
    fre_spool_opts opts = {.dir = NULL, .resume_path = base, .record_bytes = RECORD};
    fre_spool *s = open_spool(true), *second = NULL;
    fre_err err;

    (void)state;
    assert_int_equal(fre_spool_open(&second, &opts, &err), FRE_E_AGAIN);
    assert_null(second);
    fre_spool_free(s, false);
    assert_int_equal(fre_spool_open(&second, &opts, &err), FRE_OK);
    fre_spool_free(second, true);
}

static void write_blocks(uint64_t blocks)
{
    fre_spool *s = open_spool(true);

    append_range(s, 0, blocks * PER_BLOCK);
    assert_int_equal(fre_spool_flush(s, NULL), FRE_OK);
    fre_spool_free(s, false);
}

static void truncated_end_is_dropped(void **state)
{
    static const long cuts[] = {1, SEALED - 1, 20000};
    struct stat st;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        fre_spool *s;

        write_blocks(3);
        assert_int_equal(truncate(data, (long)(HEADER + 3 * SEALED) - cuts[i]), 0);
        s = open_spool(true);
        assert_int_equal(fre_spool_count(s), 2 * PER_BLOCK);
        assert_int_equal(stat(data, &st), 0);
        assert_int_equal(st.st_size, HEADER + 2 * SEALED);
        append_range(s, 2 * PER_BLOCK, 3 * PER_BLOCK);
        assert_pass(s, 3 * PER_BLOCK);
        fre_spool_free(s, true);
    }
    for (long n = 0; n < (long)HEADER; n += 21) { /* killed before the header was whole */
        fre_spool *s;

        write_blocks(1);
        assert_int_equal(truncate(data, n), 0);
        s = open_spool(true);
        assert_int_equal(fre_spool_count(s), 0);
        append_range(s, 0, 2 * PER_BLOCK);
        assert_pass(s, 2 * PER_BLOCK);
        fre_spool_free(s, true);
    }
}

static fre_status reopen(size_t record_bytes, fre_err *err)
{
    fre_spool_opts opts = {.dir = NULL, .resume_path = base, .record_bytes = record_bytes};
    fre_spool *s = NULL;
    fre_status st = fre_spool_open(&s, &opts, err);

    if (st != FRE_OK)
        assert_null(s);
    fre_spool_free(s, false);
    return st;
}

static void flip(const char *path, long at)
{
    int fd = open(path, O_RDWR);
    uint8_t b;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &b, 1, at), 1);
    b ^= 0x10;
    assert_int_equal(pwrite(fd, &b, 1, at), 1);
    (void)close(fd);
}

static void damage_is_noticed(void **state)
{
    /* magic, version, record size, identity, key check, and nonce, text, tag of both blocks */
    static const long places[] = {0,
                                  8,
                                  16,
                                  24,
                                  40,
                                  60,
                                  HEADER,
                                  HEADER + 24,
                                  HEADER + 40000,
                                  HEADER + SEALED - 1,
                                  HEADER + SEALED,
                                  HEADER + 2 * SEALED - 1};
    fre_err err;

    (void)state;
    write_blocks(2);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        flip(data, places[i]);
        assert_int_equal(reopen(RECORD, &err), FRE_E_DATA);
        assert_non_null(strstr(err.text, ".spool"));
        flip(data, places[i]);
    }
    flip(key, 31);
    assert_int_equal(reopen(RECORD, &err), FRE_E_DATA);
    flip(key, 31);
    assert_int_equal(reopen(RECORD + 1, &err), FRE_E_DATA);
    assert_int_equal(reopen(RECORD, &err), FRE_OK);
    assert_int_equal(truncate(key, 31), 0);
    assert_int_equal(reopen(RECORD, &err), FRE_E_DATA);
    assert_int_equal(unlink(key), 0);
    assert_int_equal(reopen(RECORD, &err), FRE_E_DATA); /* lost key; and none is made */
    assert_false(path_exists(key));
}

static void blocks_cannot_be_swapped(void **state)
{
    uint8_t *file = malloc(HEADER + 2 * SEALED), *turned = malloc(HEADER + 2 * SEALED);
    fre_err err;

    (void)state;
    assert_non_null(file);
    assert_non_null(turned);
    write_blocks(2);
    assert_int_equal(read_file(data, file, HEADER + 2 * SEALED), HEADER + 2 * SEALED);
    memcpy(turned, file, HEADER);
    memcpy(turned + HEADER, file + HEADER + SEALED, SEALED);
    memcpy(turned + HEADER + SEALED, file + HEADER, SEALED);
    write_file(data, turned, HEADER + 2 * SEALED);
    assert_int_equal(reopen(RECORD, &err), FRE_E_DATA);
    write_file(data, file, HEADER + 2 * SEALED);
    assert_int_equal(reopen(RECORD, &err), FRE_OK);
    free(file);
    free(turned);
}

static void readable_keys_and_links_are_refused(void **state)
{
    char elsewhere[512];
    fre_err err;

    (void)state;
    write_blocks(1);
    assert_int_equal(chmod(key, 0640), 0);
    assert_int_equal(reopen(RECORD, &err), FRE_E_REFUSED);
    assert_int_equal(chmod(key, 0604), 0);
    assert_int_equal(reopen(RECORD, &err), FRE_E_REFUSED);
    assert_int_equal(chmod(key, 0600), 0);
    assert_int_equal(chmod(data, 0620), 0);
    assert_int_equal(reopen(RECORD, &err), FRE_E_REFUSED);
    assert_int_equal(chmod(data, 0600), 0);
    assert_int_equal(reopen(RECORD, &err), FRE_OK);
    (void)temp_path(elsewhere, &test_dir, "elsewhere");
    assert_int_equal(rename(key, elsewhere), 0);
    assert_int_equal(symlink(elsewhere, key), 0);
    assert_int_equal(reopen(RECORD, &err), FRE_E_REFUSED);
    assert_int_equal(unlink(key), 0);
    assert_int_equal(rename(elsewhere, key), 0);
    assert_int_equal(rename(data, elsewhere), 0);
    assert_int_equal(symlink(elsewhere, data), 0);
    assert_int_equal(reopen(RECORD, &err), FRE_E_REFUSED);
}

static void failed_write_keeps_the_records(void **state)
{
    int status;
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0) { /* a file may have two blocks here */
        struct rlimit limit = {HEADER + 2 * SEALED + 100, RLIM_INFINITY};
        fre_spool *s = open_spool(false);
        uint8_t record[RECORD], got[RECORD];
        fre_err err = {.text = ""};
        fre_status st = FRE_OK;
        uint64_t n = 0;

        (void)signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
            _exit(1);
        for (; n < 1000 && st == FRE_OK; n += st == FRE_OK) {
            make_record(record, n);
            st = fre_spool_append(s, record, &err);
        }
        if (st != FRE_E_IO || n != 3 * PER_BLOCK || fre_spool_count(s) != n)
            _exit(2);
        limit.rlim_cur = RLIM_INFINITY;
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || fre_spool_append(s, record, &err) != FRE_OK ||
            fre_spool_rewind(s, &err) != FRE_OK)
            _exit(3);
        for (uint64_t i = 0; i < n; i++) {
            make_record(record, i);
            if (fre_spool_next(s, got, &err) != FRE_OK || memcmp(record, got, RECORD) != 0)
                _exit(4);
        }
        fre_spool_free(s, false);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void full_device_is_named(void **state)
{
    int status;
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0) { /* the descriptor under the spool becomes a device that is always full */
        int full = open("/dev/full", O_RDWR);
        int fd = dup(full); /* the number that open_spool's file will get */
        fre_spool *s;
        fre_err err = {.text = ""};

        (void)close(fd);
        s = open_spool(false);
        if (dup2(full, fd) != fd)
            _exit(1);
        append_range(s, 0, PER_BLOCK);
        if (fre_spool_flush(s, &err) != FRE_E_IO || !strstr(err.text, "disk full") ||
            !strstr(err.text, test_dir.path))
            _exit(2);
        fre_spool_free(s, false);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static bool holds(const uint8_t *p, size_t n, const char *what)
{
    return memmem(p, n, what, strlen(what)) != NULL;
}

/* A child writes records and is killed in the middle. */
static void kill_a_writer(bool resumable)
{
    int ends[2], status;
    char byte;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        fre_spool *s = open_spool(resumable);

        append_range(s, 0, 3 * PER_BLOCK + 9);
        if (write(ends[1], "x", 1) != 1)
            _exit(1);
        for (uint64_t i = 3 * PER_BLOCK + 9;; i++)
            append_range(s, i, i + 1);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void killed_anonymous_run_leaves_nothing(void **state)
{
    (void)state;
    kill_a_writer(false);
    assert_int_equal(count_entries(test_dir.path), 0);
}

static void killed_resumable_run_leaves_nothing_readable(void **state)
{
    struct stat st;
    uint8_t *file;
    fre_spool *s;
    uint64_t n;

    (void)state;
    kill_a_writer(true);
    assert_int_equal(count_entries(test_dir.path), 2);
    assert_int_equal(stat(data, &st), 0);
    assert_true(st.st_size >= (off_t)(HEADER + 3 * SEALED));
    file = malloc((size_t)st.st_size);
    assert_non_null(file);
    assert_int_equal(read_file(data, file, (size_t)st.st_size), st.st_size);
    assert_true(holds(file, (size_t)st.st_size, "FRESPOOL")); /* the search itself works */
    assert_false(holds(file, (size_t)st.st_size, "PRIVATE"));
    free(file);
    s = open_spool(true);
    n = fre_spool_count(s);
    assert_true(n >= 3 * PER_BLOCK && n % PER_BLOCK == 0);
    assert_pass(s, n);
    fre_spool_free(s, true);
    assert_int_equal(count_entries(test_dir.path), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, test_dir_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(passes_repeat_what_was_written),
        T(records_of_extreme_sizes),
        T(arguments_are_checked),
        T(anonymous_file_has_no_name),
        T(named_fallback_is_unlinked),
        T(resumed_run_goes_on),
        T(two_runs_cannot_share_it),
        T(truncated_end_is_dropped),
        T(damage_is_noticed),
        T(blocks_cannot_be_swapped),
        T(readable_keys_and_links_are_refused),
        T(failed_write_keeps_the_records),
        T(full_device_is_named),
        T(killed_anonymous_run_leaves_nothing),
        T(killed_resumable_run_leaves_nothing_readable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
