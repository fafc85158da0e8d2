/* experiment/process.c - a run's command in a process of its own. */
#include "experiment_private.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

static int set_files(posix_spawn_file_actions_t *files, const char *out, const char *errors)
{
    const int how = O_WRONLY | O_CREAT | O_TRUNC;
    int e = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

    if (e == 0)
        e = posix_spawn_file_actions_addopen(files, STDOUT_FILENO, out, how, 0600);
    return e == 0 ? posix_spawn_file_actions_addopen(files, STDERR_FILENO, errors, how, 0600) : e;
}

fre_status experiment_start(pid_t *pid, const char *program, const experiment_words *w,
                            const char *out, const char *errors, fre_err *err)
{
    posix_spawn_file_actions_t files;
    int e;

    if (w->failed || !out || !errors || posix_spawn_file_actions_init(&files) != 0)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for a run");
    e = set_files(&files, out, errors);
    if (e == 0)
        e = posix_spawn(pid, program, &files, NULL, w->word, environ);
    (void)posix_spawn_file_actions_destroy(&files);
    return e == 0 ? FRE_OK : fre_fail(err, FRE_E_IO, "a run cannot be started: %s", strerror(e));
}

bool experiment_ended(pid_t pid, experiment_end *end)
{
    struct rusage used;
    int status = 0;

    memset(&used, 0, sizeof used);
    if (wait4(pid, &status, WNOHANG, &used) != pid)
        return false;
    *end = (experiment_end){.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                            .peak_mib = (uint64_t)used.ru_maxrss / 1024};
    return true;
}

void experiment_kill(pid_t pid)
{
    (void)kill(pid, SIGTERM);
    while (waitpid(pid, NULL, 0) < 0 && fre_interrupted())
        experiment_pause();
}

uint64_t experiment_free_mib(void)
{
    const long pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    struct sysinfo info;
    uint64_t cached = 0;

    if (sysinfo(&info) == 0)
        cached = (uint64_t)info.bufferram * info.mem_unit >> 20;
    return pages > 0 && size > 0 ? ((uint64_t)pages * (uint64_t)size >> 20) + cached : 1024;
}

void experiment_pause(void)
{
    (void)usleep(20000);
}
