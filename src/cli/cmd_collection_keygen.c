/* cmd_collection_keygen.c - collection keygen: fresh keys of a role, of a log, of a witness. */
#include "collection_files.h"
#include "collection_net.h"

#include <stdlib.h>
#include <string.h>

static const char *const roles[] = {"relay", "tagging", "synthesis", "issuer",
                                    "log",   "witness", NULL};

static const cli_positional positional[] = {
    {.name = "ROLE",
     .help = "whose: relay, tagging, synthesis, issuer, or log or witness of a log of collections",
     .choices = roles},
};

static const cli_arg args[] = {
    CLI_FILE("output", "DIR", .letter = 'o', .required = true,
             .help = "folder for the keys, made if it is missing; of this user alone"),
    {.name = "url",
     .metavar = "URL",
     .kind = CLI_STRING,
     .help = "where the others reach this role: https://host[:port], or http:// of this machine "
             "or an .onion service"},
    CLI_FILE("once", "DIR",
             .help = "folder for the file that the server reads once, best one in memory "
                     "(default: that of --output)"),
    CLI_FILE("certificate", "FILE",
             .help = "own certificate (PEM) for https (default: a new one, signed by itself)"),
};

/* ---- output ------------------------------------------------------------------------------------ */

static void print_file(const char *path, const char *what)
{
    if (!path)
        return;
    cli_print_path(path);
    cli_wrap(stdout, what, 6, 0);
}

static void print_role(const fre_keygen_files *f, const char *role)
{
    cli_message(stdout, CLI_BOLD, "New keys of the role", role);
    print_file(f->half, "Public: show it to the operators of the other three roles.");
    print_file(f->secret, "Secret: of this server alone, until the collection is over. No backup.");
    print_file(f->once,
               "Secret: the server reads it at its first start and removes it. No backup.");
    print_file(f->wrap, "Secret: of the process that keeps the VOPRF key, until the collection is "
                        "over. No backup.");
    print_file(f->certificate, "Public: certificate for https.");
    print_file(f->key, "Secret: its key.");
}

static fre_status print_role_json(const fre_keygen_files *f, const char *role, fre_err *err)
{
    return cli_json_print(json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:s?, s:s?}", "role", role, "half",
                                    f->half, "secret", f->secret, "once", f->once, "wrap", f->wrap,
                                    "certificate", f->certificate, "private_key", f->key),
                          err);
}

/* ---- roles ------------------------------------------------------------------------------------- */

static bool is_https(const char *url)
{
    return strncmp(url, "https://", 8) == 0;
}

/* The certificate that is given, or a new one into certificate and key. */
static fre_status pin_of(fre_keygen_opts *o, uint8_t pin[FRE_HASH_BYTES], fre_buf *certificate,
                         fre_buf *key, const cli *c, fre_err *err)
{
    fre_status st;

    if (!is_https(o->url))
        return cli_given(c, "certificate")
                   ? fre_fail(err, FRE_E_USAGE, "--certificate belongs to an https:// address")
                   : FRE_OK;
    o->pin = pin;
    if (cli_given(c, "certificate"))
        return cli_net_pin(pin, cli_text(c, "certificate"), err);
    st = cli_net_certificate(certificate, key, pin, o->url, err);
    o->certificate_pem = (fre_bytes){certificate->p, certificate->n};
    o->key_pem = (fre_bytes){key->p, key->n};
    return st;
}

static fre_status make_role(fre_keygen_files *f, const cli *c, fre_role role, fre_err *err)
{
    fre_keygen_opts o = {.role = role,
                         .url = cli_text(c, "url"),
                         .folder = cli_text(c, "output"),
                         .once = cli_text(c, "once")};
    uint8_t pin[FRE_HASH_BYTES];
    fre_buf certificate, key;
    fre_status st;

    fre_buf_init(&certificate, 1u << 16);
    fre_buf_init(&key, 1u << 16);
    st = pin_of(&o, pin, &certificate, &key, c, err);
    if (st == FRE_OK)
        st = fre_keygen(f, &o, err);
    fre_buf_wipe(&certificate);
    fre_buf_wipe(&key);
    return st;
}

static fre_status run_role(const cli *c, fre_role role, fre_err *err)
{
    fre_keygen_files f = {NULL};
    fre_status st =
        cli_given(c, "url")
            ? make_role(&f, c, role, err)
            : fre_fail(err, FRE_E_USAGE, "--url URL is required: where the others reach this role");

    if (st == FRE_OK && c->json)
        st = print_role_json(&f, fre_role_name(role), err);
    else if (st == FRE_OK && !c->quiet)
        print_role(&f, fre_role_name(role));
    fre_keygen_files_wipe(&f);
    return st;
}

/* ---- signers ----------------------------------------------------------------------------------- */

static void print_signer(const char *secret, const char *key, const char *kind)
{
    cli_message(stdout, CLI_BOLD, "New key of a", kind);
    print_file(key, "Public: clients need it to check the log.");
    print_file(secret, "Secret: it signs for as long as the log is kept.");
}

static fre_status run_signer(const cli *c, fre_err *err)
{
    static const char *const none[] = {"url", "once", "certificate"};
    const char *kind = c->positional[0];
    char *secret = NULL, *key = NULL;
    fre_status st;

    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        if (cli_given(c, none[i]))
            return fre_fail(err, FRE_E_USAGE, "--%s belongs to the roles of a collection", none[i]);
    st = fre_signer_keygen(&secret, &key,
                           strcmp(kind, "log") == 0 ? FRE_SIGNER_LOG : FRE_SIGNER_WITNESS,
                           cli_text(c, "output"), err);
    if (st == FRE_OK && c->json)
        st = cli_json_print(
            json_pack("{s:s, s:s, s:s}", "role", kind, "secret", secret, "key", key), err);
    else if (st == FRE_OK && !c->quiet)
        print_signer(secret, key, kind);
    free(secret);
    free(key);
    return st;
}

static fre_status run(cli *c, fre_err *err)
{
    fre_role role;

    return fre_role_of(&role, c->positional[0]) ? run_role(c, role, err) : run_signer(c, err);
}

const cli_command cli_cmd_collection_keygen = {
    .name = "collection keygen",
    .summary = "make the keys of a role, on its own host",
    .about =
        "Makes fresh keys for one role of one collection, on the host of that role: a secret file "
        "for its server, a file that the server reads once and removes, and a half to show to the "
        "operators of the other roles. Keys serve one collection and belong in no backup. For "
        "https it makes a certificate as well; the others know it by its public key.\n\n"
        "log and witness make keys for a log of collections.",
    .example = CLI_PROGRAM
    " collection keygen relay --url https://relay.example:8443 -o keys\n" CLI_PROGRAM
    " collection keygen tagging --url https://tags.example:8443 -o keys \\\n"
    "    --once /run/fre-e2t",
    .positional = positional,
    .n_positional = 1,
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .run = run,
};
