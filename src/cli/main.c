/* main.c - the program: signals, dispatch, exit codes. */
#include "cli.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t caught;

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

static void install_signals(void)
{
    const int ends[] = {SIGINT, SIGTERM, SIGHUP};
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
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
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

static int finish(const cli *c, const char *name, fre_status st, const fre_err *err)
{
    cli_progress_end();
    if (st == FRE_OK) {
        if (fflush(stdout) == 0 && !ferror(stdout))
            return c->refuted ? 1 : 0;
        if (errno != EPIPE)
            fprintf(stderr, CLI_PROGRAM " %s: cannot write standard output: %s\n", name,
                    strerror(errno));
        return fre_status_exit_code(FRE_E_IO);
    }
    if (fre_interrupted())
        return die_of_signal(name, c->command == &cli_cmd_synthesize && cli_flag(c, "resume"));
    fre_outputs_abandon();
    fprintf(stderr, CLI_PROGRAM " %s: ", name);
    cli_print_safe(stderr, err->text[0] ? err->text : fre_status_text(st), 0); /* names in files */
    fputc('\n', stderr);
    return fre_status_exit_code(st);
}

int main(int argc, char **argv)
{
    static cli c;
    fre_err err = {.text = ""};
    const cli_command *cmd;
    int used = 0;
    fre_status st;

    install_signals();
    st = fre_core_harden();
    if (st == FRE_E_INTERNAL) {
        fputs(CLI_PROGRAM ": no source of randomness\n", stderr);
        return fre_status_exit_code(st);
    }
    if (st != FRE_OK)
        fputs(CLI_PROGRAM ": warning: core dumps could not be turned off\n", stderr);
    if (argc < 2) {
        cli_print_overview(stderr);
        return fre_status_exit_code(FRE_E_USAGE);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        cli_print_overview(stdout);
        return finish(&c, "help", FRE_OK, &err);
    }
    if (strcmp(argv[1], "--version") == 0)
        cmd = &cli_cmd_version;
    else
        cmd = cli_find_command(argc - 1, argv + 1, &used, &err);
    if (!cmd) {
        fprintf(stderr, CLI_PROGRAM ": %s\n", err.text);
        return fre_status_exit_code(FRE_E_USAGE);
    }
    st = cli_parse(&c, cmd, argc - 1 - used, argv + 1 + used, &err);
    if (st == FRE_OK && c.help) {
        cli_print_help(stdout, cmd);
        return finish(&c, cmd->name, FRE_OK, &err);
    }
    if (st == FRE_OK && c.version)
        st = cli_cmd_version.run(&c, &err);
    else if (st == FRE_OK) {
        cli_progress_start(&c.progress, c.quiet);
        st = cmd->run(&c, &err);
    }
    return finish(&c, cmd->name, st, &err);
}
