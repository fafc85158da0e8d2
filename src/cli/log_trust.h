/* log_trust.h - which log of collections and which of its witnesses a user trusts. */
#ifndef FRE_CLI_LOG_TRUST_H
#define FRE_CLI_LOG_TRUST_H

#include "cli.h"

#include <fre/config.h>
#include <fre/witness.h>

/* when: what a help line begins with. */
#define CLI_LOG_TRUST_ARGS(when)                                                                   \
    CLI_FILE("witness-key", "FILE", .repeats = true,                                               \
             .help = when "a witness that is trusted, witness-X.key.json; may be given again"),    \
        {.name = "need",                                                                           \
         .metavar = "N",                                                                           \
         .kind = CLI_STRING,                                                                       \
         .help = when "so many of them must have signed (default: all)"},                          \
    {                                                                                              \
        .name = "max-age", .metavar = "TIME", .kind = CLI_STRING, .preset = "+1d",                 \
        .help = when "how old the head may be"                                                     \
    }

/* A public file of the log's or a witness's key.  FRE_E_DATA: it is the other kind's. */
FRE_MUST_CHECK fre_status cli_log_key(fre_sign_pk *out, const char *path, fre_signer_kind kind,
                                      fre_err *err);
/* By the arguments above, now.  t->witness borrows. */
FRE_MUST_CHECK fre_status cli_log_trust(fre_log_trust *t, fre_sign_pk witness[CLI_LIST_MAX],
                                        const cli *c, fre_err *err);

#endif
