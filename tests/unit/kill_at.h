/* kill_at.h - a child that is killed at its n-th stop before or behind a system call (ptrace). */
#ifndef FRE_TESTS_KILL_AT_H
#define FRE_TESTS_KILL_AT_H

#include <stdbool.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs act(ctx) in a child; true: it came to its end before the n-th stop. */
static bool runs_to_stop(long n, void (*act)(void *ctx), void *ctx)
{
    int status, signal_to_pass = 0;
    long stops = 0;
    const pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0 || raise(SIGSTOP) != 0)
            _exit(99);
        act(ctx);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSTOPPED(status));
    while (stops < n) {
        assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)signal_to_pass), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFSTOPPED(status)) {
            assert_int_equal(status, 0);
            return true;
        }
        signal_to_pass = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        stops += signal_to_pass == 0;
    }
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    return false;
}

#endif
