/* The output directory and file: whole or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/core.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deny_syscall.h"
#include "temp_dir.h"

static const char *const files[] = {FRE_OUTDIR_MARK, "more.npy", NULL};

/* One run that writes `text` into release.json and, with extra, a second file. */
static fre_status run_once(const char *path, bool force, const char *text, bool extra, fre_err *err)
{
    fre_outdir *o = NULL;
    FILE *f = NULL;
    fre_status st = fre_outdir_open(&o, path, files, force, err);

    if (st == FRE_OK)
        st = fre_outdir_file(o, &f, FRE_OUTDIR_MARK, err);
    if (st == FRE_OK && fputs(text, f) == EOF)
        st = FRE_E_INTERNAL;
    if (st == FRE_OK && extra)
        st = fre_outdir_file(o, &f, "more.npy", err);
    if (st == FRE_OK)
        st = fre_outdir_commit(o, err);
    fre_outdir_free(o);
    return st;
}

static void assert_content(const char *path, const char *text)
{
    char got[64] = "";
    long n = read_file(path, got, sizeof got - 1);

    assert_int_equal(n, (long)strlen(text));
    assert_string_equal(got, text);
}

static void directory_appears_whole(void **state)
{
    char path[512], file[512];
    fre_outdir *o = NULL;
    FILE *f = NULL;
    struct stat s;
    mode_t mask = umask(022);
    fre_err err;

    (void)state;
    (void)temp_path(path, &test_dir, "out/"); /* a trailing slash is no other name */
    (void)temp_path(file, &test_dir, "out/a.txt");
    assert_int_equal(fre_outdir_open(&o, path, files, false, &err), FRE_OK);
    assert_int_equal(fre_outdir_file(o, &f, "a.txt", &err), FRE_OK);
    assert_true(fputs("hello", f) >= 0);
    path[strlen(path) - 1] = '\0';
    assert_false(path_exists(path));
    assert_int_equal(count_entries(test_dir.path), 1); /* the hidden sibling */
    assert_int_equal(fre_outdir_commit(o, &err), FRE_OK);
    assert_content(file, "hello");
    assert_int_equal(fre_outdir_commit(o, &err), FRE_E_STATE);
    assert_int_equal(fre_outdir_file(o, &f, "b.txt", &err), FRE_E_STATE);
    fre_outdir_free(o);
    assert_int_equal(count_entries(test_dir.path), 1);
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0755);
    assert_int_equal(stat(file, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0644);
    (void)umask(077);
    (void)temp_path(path, &test_dir, "private");
    assert_int_equal(run_once(path, false, "x", false, &err), FRE_OK);
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0700);
    (void)umask(mask);
}

static void sibling_is_private_while_it_grows(void **state)
{
    char path[512];
    fre_outdir *o = NULL;
    const struct dirent *e;
    struct stat s;
    DIR *d;
    int seen = 0;

    (void)state;
    (void)temp_path(path, &test_dir, "out");
    assert_int_equal(fre_outdir_open(&o, path, files, false, NULL), FRE_OK);
    d = opendir(test_dir.path);
    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        if (strncmp(e->d_name, ".out.partial-", 13) != 0)
            continue;
        seen++;
        assert_int_equal(fstatat(dirfd(d), e->d_name, &s, 0), 0);
        assert_int_equal(s.st_mode & 0777, 0700);
    }
    (void)closedir(d);
    assert_int_equal(seen, 1);
    fre_outdir_free(o);
    assert_int_equal(count_entries(test_dir.path), 0); /* not committed: nothing is left */
    fre_outdir_free(NULL);
}

static void existing_directory_needs_force(void **state)
{
    char path[512], file[512], more[512];
    fre_err err;

    (void)state;
    (void)temp_path(path, &test_dir, "out");
    (void)temp_path(file, &test_dir, "out/" FRE_OUTDIR_MARK);
    (void)temp_path(more, &test_dir, "out/more.npy");
    assert_int_equal(run_once(path, false, "one", true, &err), FRE_OK);
    assert_int_equal(run_once(path, false, "two", false, &err), FRE_E_EXISTS);
    assert_non_null(strstr(err.text, "{force}"));
    assert_content(file, "one");
    assert_int_equal(run_once(path, true, "two", false, &err), FRE_OK);
    assert_content(file, "two");
    assert_false(path_exists(more)); /* replaced, not merged */
    assert_int_equal(count_entries(test_dir.path), 1);
}

static void force_replaces_only_what_a_run_made(void **state)
{
    char path[512], inside[512];
    fre_err err;

    (void)state;
    (void)temp_path(path, &test_dir, "home");
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(run_once(path, false, "x", false, &err), FRE_E_EXISTS);
    assert_int_equal(run_once(path, true, "x", false, &err), FRE_OK); /* empty */
    (void)temp_path(inside, &test_dir, "home/photos");
    assert_int_equal(mkdir(inside, 0755), 0);
    assert_int_equal(run_once(path, true, "y", false, &err), FRE_E_EXISTS); /* a folder inside */
    assert_true(path_exists(inside));
    assert_int_equal(rmdir(inside), 0);
    (void)temp_path(inside, &test_dir, "home/" FRE_OUTDIR_MARK);
    assert_int_equal(unlink(inside), 0);
    (void)temp_path(inside, &test_dir, "home/thesis.txt");
    write_file(inside, "t", 1);
    assert_int_equal(run_once(path, true, "y", false, &err), FRE_E_EXISTS); /* a stranger */
    assert_non_null(strstr(err.text, "holds 'thesis.txt', which is no part of a release"));
    assert_content(inside, "t");
    assert_int_equal(unlink(inside), 0);
    (void)temp_path(inside, &test_dir, "home/more.npy");
    write_file(inside, "m", 1);
    assert_int_equal(run_once(path, true, "y", false, &err), FRE_E_EXISTS); /* still no mark */
    assert_non_null(strstr(err.text, "no release.json"));
    (void)temp_path(inside, &test_dir, "home/" FRE_OUTDIR_MARK);
    write_file(inside, "x", 1);
    assert_int_equal(run_once(path, true, "y", false, &err), FRE_OK); /* a release, whole or not */
    (void)temp_path(inside, &test_dir, "home/.notes");
    write_file(inside, "n", 1);
    assert_int_equal(run_once(path, true, "z", false, &err), FRE_E_EXISTS); /* mark and more */
    assert_content(inside, "n");
    assert_int_equal(count_entries(test_dir.path), 1);
}

static void unusable_places_are_refused(void **state)
{
    static const char *const names[] = {"", "/", ".", "..", "//"};
    fre_outdir *o = NULL;
    char path[1024], file[512];
    fre_err err;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_int_equal(fre_outdir_open(&o, names[i], files, true, &err), FRE_E_EXISTS);
    (void)temp_path(file, &test_dir, "f");
    write_file(file, "x", 1);
    assert_int_equal(fre_outdir_open(&o, file, files, true, &err),
                     FRE_E_EXISTS); /* a file is there */
    (void)temp_path(file, &test_dir, "f/out");
    assert_int_equal(fre_outdir_open(&o, file, files, true, &err), FRE_E_EXISTS); /* under a file */
    (void)temp_path(file, &test_dir, "absent/out");
    assert_int_equal(fre_outdir_open(&o, file, files, false, &err), FRE_E_EXISTS);
    assert_non_null(strstr(err.text, "absent"));
    assert_int_equal(fre_outdir_open(&o, "/proc/out", files, false, &err), FRE_E_EXISTS);
    memset(path, 'n', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_int_equal(fre_outdir_open(&o, path, files, false, &err),
                     FRE_E_EXISTS); /* name too long */
    assert_int_equal(fre_outdir_open(&o, NULL, files, false, &err), FRE_E_ARG);
    assert_int_equal(fre_outdir_open(&o, path, NULL, false, &err), FRE_E_ARG);
    assert_null(o);
    /* The longest legal name still has room for its sibling's. */
    (void)snprintf(path, sizeof path, "%s/%0255d", test_dir.path, 7);
    assert_int_equal(run_once(path, false, "x", false, &err), FRE_OK);
}

static void file_names_are_plain_and_new(void **state)
{
    static const char *const names[] = {"", ".", "..", ".hidden", "a/b", "/etc/x"};
    fre_outdir *o = NULL;
    FILE *f = NULL;
    char path[512], name[32];
    fre_err err;

    (void)state;
    (void)temp_path(path, &test_dir, "out");
    assert_int_equal(fre_outdir_open(&o, path, files, false, &err), FRE_OK);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_int_equal(fre_outdir_file(o, &f, names[i], &err), FRE_E_ARG);
    assert_null(f);
    for (int i = 0; i < 64; i++) {
        (void)snprintf(name, sizeof name, "f%d", i);
        assert_int_equal(fre_outdir_file(o, &f, name, &err), FRE_OK);
        f = NULL;
        assert_int_equal(fre_outdir_file(o, &f, name, &err), i < 63 ? FRE_E_ARG : FRE_E_LIMIT);
        assert_null(f);
    }
    assert_int_equal(fre_outdir_file(NULL, &f, "x", &err), FRE_E_ARG);
    assert_int_equal(fre_outdir_commit(NULL, &err), FRE_E_ARG);
    fre_outdir_free(o);
}

static void name_taken_meanwhile_is_left_alone(void **state)
{
    fre_outdir *o = NULL;
    FILE *f = NULL;
    char path[512], file[512];
    fre_err err;

    (void)state;
    (void)temp_path(path, &test_dir, "out");
    assert_int_equal(fre_outdir_open(&o, path, files, false, &err), FRE_OK);
    assert_int_equal(fre_outdir_file(o, &f, "a", &err), FRE_OK);
    assert_int_equal(run_once(path, false, "theirs", false, &err), FRE_OK);
    assert_int_equal(fre_outdir_commit(o, &err), FRE_E_EXISTS);
    fre_outdir_free(o);
    (void)temp_path(file, &test_dir, "out/" FRE_OUTDIR_MARK);
    assert_content(file, "theirs");
    assert_int_equal(count_entries(test_dir.path), 1);
}

static void abandon_removes_what_is_open(void **state)
{
    fre_outdir *o = NULL;
    fre_outfile *g = NULL;
    FILE *f = NULL;
    char path[512], file[512];
    fre_err err;

    (void)state;
    (void)temp_path(path, &test_dir, "out");
    (void)temp_path(file, &test_dir, "file");
    assert_int_equal(fre_outdir_open(&o, path, files, false, &err), FRE_OK);
    assert_int_equal(fre_outdir_file(o, &f, "a", &err), FRE_OK);
    assert_int_equal(fre_outfile_open(&g, file, false, &err), FRE_OK);
    assert_int_equal(count_entries(test_dir.path), 2);
    fre_outputs_abandon();
    assert_int_equal(count_entries(test_dir.path), 0);
    assert_int_equal(fre_outdir_commit(o, &err), FRE_E_INTERRUPTED);
    assert_int_equal(fre_outfile_commit(g, &err), FRE_E_INTERRUPTED);
    fre_outdir_free(o);
    fre_outfile_free(g);
    fre_outputs_abandon();
    assert_int_equal(count_entries(test_dir.path), 0);
}

static void forked_child_cannot_abandon_its_parents_files(void **state)
{
    fre_outdir *o = NULL;
    char path[512];
    int status;
    pid_t pid;

    (void)state;
    (void)temp_path(path, &test_dir, "out");
    assert_int_equal(fre_outdir_open(&o, path, files, false, NULL), FRE_OK);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        fre_outputs_abandon();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(count_entries(test_dir.path), 1);
    assert_int_equal(fre_outdir_commit(o, NULL), FRE_OK);
    fre_outdir_free(o);
    assert_true(path_exists(path));
}

/* A child opens outputs in test_dir, reports, and is killed. */
static void kill_a_writer(const char *dir_path, const char *file_path)
{
    int ends[2], status;
    char byte;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        fre_outdir *o = NULL;
        fre_outfile *g = NULL;
        FILE *f = NULL;

        if (fre_outdir_open(&o, dir_path, files, false, NULL) != FRE_OK ||
            fre_outdir_file(o, &f, "a", NULL) != FRE_OK || fputs("half", f) == EOF ||
            fflush(f) != 0 || fre_outfile_open(&g, file_path, false, NULL) != FRE_OK ||
            write(ends[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void leftovers_of_a_killed_run_are_swept(void **state)
{
    char path[512], file[512], other[512];
    fre_outfile *g = NULL;
    fre_outdir *alive = NULL;
    fre_err err;

    (void)state;
    (void)temp_path(path, &test_dir, "out");
    (void)temp_path(file, &test_dir, "out.jsonl");
    (void)temp_path(other, &test_dir, ".out.partial-notes"); /* looks alike, is not ours */
    write_file(other, "x", 1);
    kill_a_writer(path, file);
    assert_false(path_exists(path));
    assert_false(path_exists(file));
    assert_int_equal(count_entries(test_dir.path), 3);
    assert_int_equal(fre_outdir_open(&alive, path, files, false, &err), FRE_OK); /* sweeps .out.* */
    assert_int_equal(count_entries(test_dir.path), 3);
    assert_int_equal(run_once(path, false, "x", false, &err), FRE_OK); /* leaves the live one */
    assert_int_equal(count_entries(test_dir.path), 4);
    fre_outdir_free(alive);
    assert_int_equal(fre_outfile_open(&g, file, false, &err), FRE_OK);
    assert_int_equal(fre_outfile_commit(g, &err), FRE_OK);
    fre_outfile_free(g);
    assert_int_equal(count_entries(test_dir.path), 3); /* out, out.jsonl, the notes */
    assert_true(path_exists(other));
}

/* Runs in a child with a 256 KiB file system of its own; 77: this process may not mount. */
static int fill_a_small_disk(const char *where)
{
    static char block[4096];
    char path[512];
    fre_outdir *o = NULL;
    FILE *f = NULL;
    fre_err err = {.text = ""};
    fre_status st;

    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", where, "tmpfs", 0, "size=256k") != 0)
        return 77;
    (void)snprintf(path, sizeof path, "%s/out", where);
    if (fre_outdir_open(&o, path, files, false, &err) != FRE_OK ||
        fre_outdir_file(o, &f, "a", &err) != FRE_OK)
        return 1;
    for (int i = 0; i < 200; i++)
        (void)fwrite(block, 1, sizeof block, f);
    st = fre_outdir_commit(o, &err);
    fre_outdir_free(o);
    if (st != FRE_E_IO || !strstr(err.text, "disk full"))
        return 2;
    return count_entries(where) == 0 ? 0 : 3;
}

static void full_disk_leaves_nothing(void **state)
{
    int status;
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(fill_a_small_disk(test_dir.path));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* The same promises where renameat2 has no flags (NFS, old FUSE); 77: no filters here. */
static int work_without_rename_flags(void)
{
    char path[512], mark[512], text[16] = "";
    fre_outfile *g = NULL;
    fre_err err;

    if (!deny_syscall(SYS_renameat2, 0, 0, EINVAL))
        return 77;
    (void)temp_path(path, &test_dir, "out");
    (void)temp_path(mark, &test_dir, "out/" FRE_OUTDIR_MARK);
    if (run_once(path, false, "one", true, &err) != FRE_OK ||
        run_once(path, false, "two", true, &err) != FRE_E_EXISTS)
        return 1;
    if (run_once(path, true, "two", false, &err) != FRE_OK || read_file(mark, text, 15) != 3 ||
        strcmp(text, "two") != 0 || count_entries(path) != 1)
        return 2;
    (void)temp_path(path, &test_dir, "f");
    if (fre_outfile_open(&g, path, false, &err) != FRE_OK)
        return 3;
    write_file(path, "theirs", 6);
    if (fre_outfile_commit(g, &err) != FRE_E_EXISTS)
        return 4;
    fre_outfile_free(g);
    return count_entries(test_dir.path) == 2 ? 0 : 5;
}

/* chmod, flags of rename, fsync, locks and nameless files refused, as CIFS, vfat and FUSE do. */
static int under_a_poor_file_system(int refusal)
{
    const fre_spool_opts so = {.record_bytes = 8, .dir = test_dir.path};
    char path[512], mark[512], text[16] = "", record[8] = "1234567";
    const uint32_t e = (uint32_t)refusal;
    fre_outfile *g = NULL;
    fre_spool *s = NULL;
    fre_err err;

    if (!deny_syscall(SYS_fchmod, 0, 0, e) || !deny_syscall(SYS_renameat2, 0, 0, e) ||
        !deny_syscall(SYS_fsync, 0, 0, e) || !deny_syscall(SYS_flock, 0, 0, e) ||
        !deny_syscall(SYS_openat, 2, O_TMPFILE, e))
        return 77;
    (void)temp_path(path, &test_dir, "poor");
    (void)temp_path(mark, &test_dir, "poor/" FRE_OUTDIR_MARK);
    if (run_once(path, false, "one", true, &err) != FRE_OK ||
        run_once(path, true, "two", false, &err) != FRE_OK || read_file(mark, text, 15) != 3 ||
        strcmp(text, "two") != 0 || count_entries(path) != 1)
        return 2;
    (void)temp_path(path, &test_dir, "poor.f");
    if (fre_outfile_open(&g, path, false, &err) != FRE_OK || fre_outfile_commit(g, &err) != FRE_OK)
        return 3;
    fre_outfile_free(g);
    if (fre_spool_open(&s, &so, &err) != FRE_OK ||
        fre_spool_append(s, (const uint8_t *)record, &err) != FRE_OK)
        return 4;
    fre_spool_free(s, true);
    return count_entries(test_dir.path) == 2 ? 0 : 5;
}

static void poor_file_systems_are_served(void **state)
{
    static const int refusals[] = {EPERM, EOPNOTSUPP, ENOSYS, EINVAL};

    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        int status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
            _exit(under_a_poor_file_system(refusals[i]));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == 77)
            skip();
        assert_int_equal(WEXITSTATUS(status), 0);
        temp_dir_remove(&test_dir);
        temp_dir_make(&test_dir);
    }
}

static void old_file_systems_are_served(void **state)
{
    int status;
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(work_without_rename_flags());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void outfile_appears_whole(void **state)
{
    char path[512];
    fre_outfile *g = NULL;
    fre_err err;

    (void)state;
    (void)temp_path(path, &test_dir, "f");
    assert_int_equal(fre_outfile_open(&g, path, false, &err), FRE_OK);
    assert_true(fputs("one", fre_outfile_stream(g)) >= 0);
    assert_false(path_exists(path));
    assert_int_equal(fre_outfile_commit(g, &err), FRE_OK);
    assert_int_equal(fre_outfile_commit(g, &err), FRE_E_STATE);
    assert_null(fre_outfile_stream(g));
    fre_outfile_free(g);
    assert_content(path, "one");
    g = NULL;
    assert_int_equal(fre_outfile_open(&g, path, false, &err), FRE_E_EXISTS);
    assert_non_null(strstr(err.text, "{force}"));
    assert_null(g);
    assert_int_equal(fre_outfile_open(&g, path, true, &err), FRE_OK);
    assert_true(fputs("two", fre_outfile_stream(g)) >= 0);
    assert_content(path, "one");
    fre_outfile_free(g); /* not committed: the old one stays */
    assert_content(path, "one");
    assert_int_equal(fre_outfile_open(&g, path, true, &err), FRE_OK);
    assert_true(fputs("two", fre_outfile_stream(g)) >= 0);
    assert_int_equal(fre_outfile_commit(g, &err), FRE_OK);
    fre_outfile_free(g);
    assert_content(path, "two");
    assert_int_equal(count_entries(test_dir.path), 1);
    fre_outfile_free(NULL);
    assert_null(fre_outfile_stream(NULL));
}

static void outfile_refuses_bad_places(void **state)
{
    char path[512];
    fre_outfile *g = NULL;
    fre_err err;

    (void)state;
    assert_int_equal(fre_outfile_open(&g, test_dir.path, true, &err), FRE_E_EXISTS);
    (void)temp_path(path, &test_dir, "absent/f");
    assert_int_equal(fre_outfile_open(&g, path, true, &err), FRE_E_EXISTS);
    assert_int_equal(fre_outfile_open(&g, "", true, &err), FRE_E_EXISTS);
    assert_int_equal(fre_outfile_open(&g, NULL, true, &err), FRE_E_ARG);
    assert_int_equal(fre_outfile_open(NULL, path, true, &err), FRE_E_ARG);
    assert_int_equal(fre_outfile_commit(NULL, &err), FRE_E_ARG);
    assert_null(g);
    (void)temp_path(path, &test_dir, "f");
    assert_int_equal(fre_outfile_open(&g, path, false, &err), FRE_OK);
    write_file(path, "theirs", 6);
    assert_int_equal(fre_outfile_commit(g, &err), FRE_E_EXISTS); /* taken meanwhile */
    fre_outfile_free(g);
    assert_content(path, "theirs");
    assert_int_equal(count_entries(test_dir.path), 1);
}

static void outfile_writes_devices_directly(void **state)
{
    fre_outfile *g = NULL;
    fre_err err;

    (void)state;
    assert_int_equal(fre_outfile_open(&g, "/dev/null", false, &err), FRE_OK);
    assert_true(fputs("x", fre_outfile_stream(g)) >= 0);
    assert_int_equal(fre_outfile_commit(g, &err), FRE_OK);
    fre_outfile_free(g);
    assert_int_equal(fre_outfile_open(&g, "/dev/full", false, &err), FRE_OK);
    assert_true(fputs("x", fre_outfile_stream(g)) >= 0);
    assert_int_equal(fre_outfile_commit(g, &err), FRE_E_IO);
    assert_non_null(strstr(err.text, "disk full"));
    fre_outfile_free(g);
}

static void outfile_replaces_a_links_target(void **state)
{
    char path[512], link[512];
    fre_outfile *g = NULL;
    struct stat s;

    (void)state;
    (void)temp_path(path, &test_dir, "f");
    (void)temp_path(link, &test_dir, "l");
    write_file(path, "old", 3);
    assert_int_equal(symlink("f", link), 0);
    assert_int_equal(fre_outfile_open(&g, link, true, NULL), FRE_OK);
    assert_true(fputs("new", fre_outfile_stream(g)) >= 0);
    assert_int_equal(fre_outfile_commit(g, NULL), FRE_OK);
    fre_outfile_free(g);
    assert_content(path, "new");
    assert_int_equal(lstat(link, &s), 0);
    assert_true(S_ISLNK(s.st_mode));
}

static void dash_is_standard_output(void **state)
{
    int status;
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0) { /* standard output is a full device here */
        fre_outfile *g = NULL;
        fre_err err = {.text = ""};
        fre_status st;

        if (!freopen("/dev/full", "w", stdout) ||
            fre_outfile_open(&g, "-", false, &err) != FRE_OK || fre_outfile_stream(g) != stdout)
            _exit(1);
        (void)fputs("x", fre_outfile_stream(g));
        st = fre_outfile_commit(g, &err);
        fre_outfile_free(g);
        _exit(st == FRE_E_IO && strstr(err.text, "standard output") ? 0 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, test_dir_make, test_dir_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(directory_appears_whole),
        T(sibling_is_private_while_it_grows),
        T(existing_directory_needs_force),
        T(force_replaces_only_what_a_run_made),
        T(unusable_places_are_refused),
        T(file_names_are_plain_and_new),
        T(name_taken_meanwhile_is_left_alone),
        T(abandon_removes_what_is_open),
        T(forked_child_cannot_abandon_its_parents_files),
        T(leftovers_of_a_killed_run_are_swept),
        T(full_disk_leaves_nothing),
        T(poor_file_systems_are_served),
        T(old_file_systems_are_served),
        T(outfile_appears_whole),
        T(outfile_refuses_bad_places),
        T(outfile_writes_devices_directly),
        T(outfile_replaces_a_links_target),
        T(dash_is_standard_output),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
