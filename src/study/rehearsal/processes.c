/* rehearsal/processes.c - a process for each role. */
#include "rehearsal_private.h"

#include <fre/config.h>
#include <fre/net.h>

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define LOOK_MS 100

static int spawn(fre_rehearsal *r, fre_role role, const char *const command[3], const char *log)
{
    const char *const words[] = {command[0], command[1], fre_role_name(role), command[2]};
    char *argv[6] = {NULL};
    posix_spawn_file_actions_t files;
    int e = posix_spawn_file_actions_init(&files);

    if (e != 0)
        return e;
    for (unsigned i = 0; i < 4; i++)
        argv[i] = (char *)(uintptr_t)words[i];
    argv[4] = r->config[role];
    e = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    e = e ? e : posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    e = e ? e
          : posix_spawn_file_actions_addopen(&files, 2, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    e = e ? e : posix_spawn_file_actions_addclosefrom_np(&files, 3);
    e = e ? e : posix_spawn(&r->process[role], command[0], &files, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&files);
    return e;
}

fre_status fre_rehearsal_start(fre_rehearsal *r, fre_role role, const char *const command[3],
                               fre_err *err)
{
    char *log;
    int e;

    if (!r || !command || role < FRE_ROLE_TAG || role >= FRE_REHEARSAL_ROLES || r->process[role])
        return FRE_E_ARG;
    log = rehearsal_path(r, "%s.log", fre_role_name(role));
    if (!log)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    e = spawn(r, role, command, log);
    free(log);
    if (e == 0)
        return FRE_OK;
    r->process[role] = 0;
    return fre_fail(err, FRE_E_IO, "the %s cannot be started: %s", fre_role_name(role),
                    strerror(e));
}

static bool is_ready(const fre_rehearsal *r, fre_role role)
{
    char url[64];
    const fre_http_client_opts o = {.url = url, .total_seconds = 2, .limit = 4096};
    fre_http_client *c = NULL;
    unsigned status = 0;
    fre_buf b;

    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u", (unsigned)r->health[role]);
    if (fre_http_client_new(&c, &o, NULL) != FRE_OK)
        return false;
    fre_buf_init(&b, 4096);
    if (fre_http_get(c, &b, &status, NULL, "/readyz", NULL) != FRE_OK)
        status = 0;
    fre_buf_wipe(&b);
    fre_http_client_free(c);
    return status == 200;
}

fre_status fre_rehearsal_wait(fre_rehearsal *r, fre_role role, unsigned seconds, fre_err *err)
{
    const int64_t end = fre_clock_ms() + 1000 * (int64_t)seconds;

    while (!is_ready(r, role)) {
        int how;

        if (r->process[role] && waitpid(r->process[role], &how, WNOHANG) == r->process[role]) {
            r->process[role] = 0;
            return fre_fail(err, FRE_E_IO, "the process of the %s ended: see %s/%s.log",
                            fre_role_name(role), r->folder, fre_role_name(role));
        }
        if (fre_interrupted())
            return FRE_E_INTERRUPTED;
        if (fre_clock_ms() > end)
            return fre_fail(err, FRE_E_AGAIN, "the %s is not ready after %u seconds",
                            fre_role_name(role), seconds);
        fre_sleep_ms(LOOK_MS);
    }
    return FRE_OK;
}

int fre_rehearsal_stop(fre_rehearsal *r, fre_role role, int sig, uint64_t *peak_kib)
{
    struct rusage usage = {.ru_maxrss = 0};
    int how = -1;

    if (!r || r->process[role] == 0)
        return -1;
    (void)kill(r->process[role], sig);
    while (wait4(r->process[role], &how, 0, &usage) < 0 && errno == EINTR)
        ;
    r->process[role] = 0;
    if (peak_kib)
        *peak_kib = (uint64_t)usage.ru_maxrss;
    return how;
}

void fre_rehearsal_free(fre_rehearsal *r)
{
    if (!r)
        return;
    for (unsigned role = FRE_ROLE_TAG; role < FRE_REHEARSAL_ROLES; role++) {
        (void)fre_rehearsal_stop(r, (fre_role)role, SIGKILL, NULL);
        free(r->config[role]);
        free(r->once[role]);
        free(r->certificate[role]);
    }
    free(r->folder);
    free(r->terms_path);
    fre_wipe_free(r, sizeof *r);
}
