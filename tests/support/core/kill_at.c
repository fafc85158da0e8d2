#include "kill_at.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"

bool runs_to_stop(long n, void (*act)(void *ctx), void *ctx)
{
    int status, signal_to_pass = 0;
    long stops = 0;
    const pid_t pid = fork();

    must(pid >= 0);
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0 || raise(SIGSTOP) != 0)
            _exit(99);
        act(ctx);
        _exit(0);
    }
    must(waitpid(pid, &status, 0) == pid);
    must(WIFSTOPPED(status));
    while (stops < n) {
        must(ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)signal_to_pass) == 0);
        must(waitpid(pid, &status, 0) == pid);
        if (!WIFSTOPPED(status)) {
            must(status == 0);
            return true;
        }
        signal_to_pass = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        stops += signal_to_pass == 0;
    }
    must(kill(pid, SIGKILL) == 0);
    must(waitpid(pid, &status, 0) == pid);
    must(WIFSIGNALED(status));
    return false;
}
