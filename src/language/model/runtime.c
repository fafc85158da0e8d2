/* ggml's backends and log.  With run-time CPU variants (GGML_BACKEND_DL) the kernels live in
 * shared objects beside libllama; which of them fits this processor is decided at load. */
#include "model_private.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool started, out_of_files;
static _Thread_local char last_error[256];

/* llama.cpp reports on standard error unless told otherwise.  Only error lines are kept: they
 * speak of the model file and of sizes, never of a text. */
static void on_log(enum ggml_log_level level, const char *text, void *ctx)
{
    size_t n = strlen(text);

    (void)ctx;
    if (level != GGML_LOG_LEVEL_ERROR)
        return;
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
        n--;
    if (n == 0)
        return;
    if (n >= sizeof last_error)
        n = sizeof last_error - 1;
    memcpy(last_error, text, n);
    last_error[n] = '\0';
}

/* A failed assertion of ggml ends the process whatever this does; taking the message keeps ggml
 * from starting a debugger on a process that holds private texts. */
static void on_abort(const char *message)
{
    on_log(GGML_LOG_LEVEL_ERROR, message, NULL);
}

const char *fre_runtime_object_of(void (*fn)(void))
{
    void *address = NULL;
    Dl_info found;

    memcpy(&address, &fn, sizeof address); /* POSIX: both have the same representation */
    return dladdr(address, &found) != 0 ? found.dli_fname : NULL;
}

bool fre_runtime_folder(char *dir, size_t n, const char *object)
{
    char real[PATH_MAX];
    char *slash;

    if (!object || !realpath(object, real))
        return false;
    slash = strrchr(real, '/');
    if (!slash || (size_t)(slash - real) >= n)
        return false;
    *slash = '\0';
    memcpy(dir, real, strlen(real) + 1);
    return true;
}

static bool have_cpu(void)
{
    return ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU) != NULL;
}

/* Searching a folder and opening a library in it takes a few at a time. */
bool fre_runtime_few_files_left(void)
{
    int fd[4], n = 0;

    while (n < 4 && (fd[n] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) >= 0)
        n++;
    for (int i = 0; i < n; i++)
        (void)close(fd[i]);
    return n < 4;
}

static void start(void)
{
    char dir[PATH_MAX];

    /* On an uncaught exception ggml would run a debugger that prints arguments: private texts.
     * Called once, before any worker thread exists. */
    (void)setenv("GGML_NO_BACKTRACE", "1", 1);
    llama_log_set(on_log, NULL);
    (void)ggml_set_abort_callback(on_abort);
    if (!have_cpu() &&
        fre_runtime_folder(dir, sizeof dir, fre_runtime_object_of(llama_backend_init)))
        ggml_backend_load_all_from_path(dir);
#ifdef FRE_LLAMA_BACKEND_DIR
    if (!have_cpu())
        ggml_backend_load_all_from_path(FRE_LLAMA_BACKEND_DIR);
#endif
    /* Never ggml_backend_load_all(): it looks in the current folder too. */
    llama_backend_init();
    started = have_cpu();
    out_of_files = !started && fre_runtime_few_files_left();
}

fre_status fre_runtime_start(fre_err *err)
{
    if (pthread_once(&once, start) != 0)
        return FRE_E_INTERNAL;
    if (!started && out_of_files)
        return fre_open_failed(err, EMFILE, FRE_E_IO, NULL,
                               "cannot load the libraries that run models");
    if (!started)
        return fre_fail(err, FRE_E_NOINPUT,
                        "no CPU backend of ggml (libggml-cpu-*.so) was found beside libllama; "
                        "install the whole of llama.cpp's libraries");
    return FRE_OK;
}

const char *fre_runtime_last_error(void)
{
    return last_error;
}

void fre_runtime_clear_error(void)
{
    last_error[0] = '\0';
}
