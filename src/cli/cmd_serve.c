/* cmd_serve.c - a role of collections as a server. */
#include "cli.h"

#include <fre/config.h>
#include <fre/serve.h>

#include <signal.h>
#include <string.h>

#define STOP_SECONDS 20u /* what is under way at the end may take so long */
#define LOOK_MS 200u

static const char *const roles[] = {"tagging", "synthesis", "relay", "issuer", NULL};

static const cli_positional positional[] = {
    {.name = "ROLE", .help = "tagging, synthesis, relay or issuer", .choices = roles},
};

static const cli_arg args[] = {
    CLI_FILE("config", "FILE", .required = true, .help = "the server's configuration, JSON"),
    {.name = "check",
     .kind = CLI_FLAG,
     .help = "look at configuration, keys, terms and store as for a start, and end"},
};

static void print_line(void *ctx, const char *json)
{
    (void)ctx;
    (void)fprintf(stderr, "%s\n", json);
}

static volatile sig_atomic_t hung_up;

static void on_hup(int sig)
{
    (void)sig;
    hung_up = 1;
}

/* As of servers in general: look again, do not end. */
static void listen_to_hup(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_hup;
    action.sa_flags = SA_RESTART;
    (void)sigaction(SIGHUP, &action, NULL);
}

/* Until a signal asks for the end, or the server has to end by itself. */
static fre_status serve_with(cli *c, const fre_config *config, fre_serve_keeper *keeper,
                             fre_err *err)
{
    const fre_serve_log log = {.line = c->quiet ? NULL : print_line};
    fre_serve *s = NULL;
    fre_status st = fre_serve_start(&s, config, keeper, &log, err);

    if (st != FRE_OK)
        return st;
    listen_to_hup();
    while (st == FRE_OK && !fre_interrupted()) {
        if (hung_up) {
            hung_up = 0;
            fre_serve_look(s);
        }
        st = fre_serve_wait(s, LOOK_MS, err);
    }
    fre_serve_stop(s, STOP_SECONDS);
    return st;
}

/* Those who have a VOPRF key leave it to a process of its own. */
static fre_status serve(cli *c, const fre_config *config, fre_err *err)
{
    const bool has_key = config->role == FRE_ROLE_TAG || config->role == FRE_ROLE_ISSUER;
    fre_serve_keeper *keeper = NULL;
    fre_status st = has_key ? fre_serve_keeper_start(&keeper, err) : FRE_OK;

    if (st == FRE_OK)
        st = cli_flag(c, "check") ? fre_serve_check(config, keeper, err)
                                  : serve_with(c, config, keeper, err);
    fre_serve_keeper_stop(keeper);
    return st;
}

static fre_status run(cli *c, fre_err *err)
{
    fre_config *config = NULL;
    fre_role role;
    fre_status st = fre_role_of(&role, c->positional[0])
                        ? fre_config_read(&config, cli_text(c, "config"), role, err)
                        : FRE_E_USAGE;

    if (st == FRE_OK)
        st = serve(c, config, err);
    if (st == FRE_OK && cli_flag(c, "check") && c->json)
        st = cli_json_print(json_pack("{s:s, s:b}", "role", fre_role_name(role), "ok", 1), err);
    else if (st == FRE_OK && cli_flag(c, "check") && !c->quiet)
        cli_fold(stdout, 4, "The %s may be started with this configuration.",
                 role == FRE_ROLE_TAG   ? "tagging server"
                 : role == FRE_ROLE_SYN ? "synthesis server"
                                        : fre_role_name(role));
    fre_config_free(config);
    return st;
}

const cli_command cli_cmd_serve = {
    .name = "serve",
    .summary = "run a role of the distributed mode as a server",
    .about =
        "Serves every collection whose terms lie in the configuration's folder and name keys of "
        "this "
        "role that lie in its folder of keys (collection keygen). One process a role, each on a "
        "host "
        "of its own; the operators' guide (in a checkout: docs/operators.md) goes from nothing to "
        "a release.\n\n"
        "It ends at SIGTERM or SIGINT, when what is under way is answered and committed, and goes "
        "on "
        "where it was when it is started again. Terms that come to the folder are served within "
        "seconds; SIGHUP makes it look at once, and say again what it refuses. Its log, JSON a "
        "line on standard error, holds no "
        "content, names or addresses. A file TERMS.cancel beside a file TERMS makes this role "
        "cancel "
        "that collection.",
    .example = CLI_PROGRAM " serve relay --config /etc/fre-e2t/relay.json --check\n" CLI_PROGRAM
                           " serve relay --config /etc/fre-e2t/relay.json",
    .positional = positional,
    .n_positional = 1,
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .run = run,
};
