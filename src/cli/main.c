/* main.c - the program: signals, dispatch, exit codes. */
#include "cli.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t caught;
static bool pipe_ignored; /* by the parent */

/* The first signal asks the library to stop and clean up; the second ends the program at once. */
static void on_signal(int sig)
{
    if (caught) {
        signal(sig, SIG_DFL);
        raise(sig);
        return;
    }
    caught = sig;
    fre_interrupt_set();
}

static const int ends[] = {SIGINT, SIGTERM, SIGHUP};

static void install_signals(void)
{
    struct sigaction action, old;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal; /* no SA_RESTART: a read that waits for input must return */
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        /* A parent that had the signal ignored (nohup) keeps its wish. */
        if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            (void)sigaction(ends[i], &action, NULL);
    }
    /* A reader that goes away, or a file-size limit, is a write error like any other, so that
     * clean-up still runs. */
    pipe_ignored = signal(SIGPIPE, SIG_IGN) == SIG_IGN;
    signal(SIGXFSZ, SIG_IGN);
}

/* For a command that only computes and prints, and hardly looks at interruptions: there is nothing to clean up. */
static void leave_signals(void)
{
    struct sigaction action;

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (sigaction(ends[i], NULL, &action) == 0 && action.sa_handler == on_signal)
            signal(ends[i], SIG_DFL);
}

/* Die of the signal itself, so that the caller's shell sees it (130 for Ctrl-C). */
static int die_of_signal(const char *name, bool resumable)
{
    fre_outputs_abandon();
    fprintf(stderr, CLI_PROGRAM " %s: interrupted; %s\n", name,
            resumable ? "run it again with --resume to go on" : "nothing was written");
    fflush(stderr);
    if (caught) {
        signal((int)caught, SIG_DFL);
        raise((int)caught);
    }
    return fre_status_exit_code(FRE_E_INTERRUPTED);
}

/* "fre-e2t NAME: text" on standard error. */
static void complain(const char *name, const char *text)
{
    char prefix[80], named[CLI_NAMED_BYTES];

    (void)snprintf(prefix, sizeof prefix, CLI_PROGRAM "%s%s:", *name ? " " : "", name);
    cli_message(stderr, CLI_RED, prefix, cli_named(named, text));
}

/* 0, or why not everything got to standard output. */
static int output_error(void)
{
    errno = 0;
    if (fflush(stdout) != 0)
        return errno ? errno : EIO;
    return ferror(stdout) ? EIO : 0;
}

/* Whoever read standard output has had enough (`| head`), which is no fault. */
static bool reader_is_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP));
}

/* As any program does whose output nobody reads; unless the parent had the signal ignored. */
static int die_of_pipe(void)
{
    fre_outputs_abandon();
    if (!pipe_ignored) {
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    return fre_status_exit_code(FRE_E_IO);
}

/* What the command was run for, where that is a file and not what it prints; else NULL. */
static const char *product(const cli *c)
{
    const cli_command *cmd = c->command;
    bool is_dry = false;
    const char *path = NULL;

    for (size_t i = 0; cmd && i < cmd->n_args; i++) {
        if (strcmp(cmd->args[i].name, "output") == 0)
            path = c->value[i].text;
        else if (strcmp(cmd->args[i].name, "dry-run") == 0)
            is_dry = c->value[i].set;
    }
    return path && !is_dry && strcmp(path, "-") != 0 ? path : NULL;
}

/* The run succeeded; was it also told?  What is complete stays so, told or not. */
static int succeed(const cli *c, const char *name)
{
    const int error = output_error();
    const char *made = product(c);
    char text[600];

    if (error == 0)
        return c->refuted ? 1 : 0;
    if (reader_is_gone())
        return made ? 0 : die_of_pipe();
    if (!made) {
        (void)snprintf(text, sizeof text, "cannot write standard output: %s", strerror(error));
        complain(name, text);
        return fre_status_exit_code(FRE_E_IO);
    }
    (void)snprintf(text, sizeof text,
                   "warning: cannot write standard output: %s; '%.300s' is complete all the same",
                   strerror(error), made);
    complain(name, text);
    return 0;
}

static bool only_computes(const cli *c)
{
    return c->command == &cli_cmd_account ||
           (c->command == &cli_cmd_plan && !cli_given(c, "public-corpus"));
}

static bool resumes(const cli *c)
{
    return (c->command == &cli_cmd_synthesize || c->command == &cli_cmd_model_codebook) &&
           cli_flag(c, "resume");
}

static int finish(const cli *c, const char *name, fre_status st, const fre_err *err)
{
    cli_progress_end();
    if (st == FRE_OK)
        return succeed(c, name);
    if (fre_interrupted())
        return die_of_signal(name, resumes(c));
    if (st == FRE_E_IO && ferror(stdout) && reader_is_gone())
        return die_of_pipe();
    fre_outputs_abandon();
    complain(name, err->text[0] ? err->text : fre_status_text(st));
    return fre_status_exit_code(st);
}

static bool is_help(const char *arg)
{
    return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

int main(int argc, char **argv)
{
    static cli c;
    fre_err err = {.text = ""};
    const cli_command *cmd;
    int used = 0;
    fre_status st;

    install_signals();
    cli_name_flags_of(&cli_all);
    st = fre_core_harden();
    if (st == FRE_E_INTERNAL) {
        fputs(CLI_PROGRAM ": no source of randomness, or no /dev/null\n", stderr);
        return fre_status_exit_code(st);
    }
    if (st != FRE_OK)
        fputs(CLI_PROGRAM ": warning: core dumps could not be turned off\n", stderr);
    if (argc < 2) {
        cli_print_overview(stderr, &cli_all);
        return fre_status_exit_code(FRE_E_USAGE);
    }
    if (is_help(argv[1])) {
        cli_print_overview(stdout, &cli_all);
        return finish(&c, "help", FRE_OK, &err);
    }
    if (argc > 2 && cli_is_group(&cli_all, argv[1]) && is_help(argv[2])) {
        cli_print_group(stdout, &cli_all, argv[1]);
        return finish(&c, argv[1], FRE_OK, &err);
    }
    if (strcmp(argv[1], "--version") == 0)
        cmd = &cli_cmd_version;
    else
        cmd = cli_find_command(&cli_all, argc - 1, argv + 1, &used, &err);
    if (!cmd) {
        complain("", err.text);
        return fre_status_exit_code(FRE_E_USAGE);
    }
    st = cli_parse(&c, &cli_all, cmd, argc - 1 - used, argv + 1 + used, &err);
    if (st == FRE_OK && c.help) {
        cli_print_help(stdout, cmd);
        return finish(&c, cmd->name, FRE_OK, &err);
    }
    if (st == FRE_OK && c.version)
        st = cli_cmd_version.run(&c, &err);
    else if (st == FRE_OK) {
        if (only_computes(&c))
            leave_signals();
        cli_progress_start(&c.progress, c.quiet);
        st = fre_interrupted() ? FRE_E_INTERRUPTED : cmd->run(&c, &err);
    }
    return finish(&c, cmd->name, st, &err);
}
