/* log_trust.c - see log_trust.h. */
#include "log_trust.h"
#include "collection_files.h"

#include <string.h>

fre_status cli_log_key(fre_sign_pk *out, const char *path, fre_signer_kind kind, fre_err *err)
{
    fre_signer_kind is;
    fre_status st = fre_signer_key_read(out, &is, path, err);

    return st == FRE_OK && is != kind
               ? fre_fail(err, FRE_E_DATA, "'%.300s' is the key of a %s", path,
                          is == FRE_SIGNER_LOG ? "log, and a witness's is needed"
                                               : "witness, and the log's is needed")
               : st;
}

static fre_status need_of(size_t *out, const cli *c, fre_err *err)
{
    const char *text = cli_text(c, "need");
    size_t n = 0;

    *out = c->n_list;
    if (!text)
        return FRE_OK;
    for (const char *p = text; *p >= '0' && *p <= '9' && n < 1000; p++)
        n = 10 * n + (size_t)(*p - '0');
    if (n < 1 || n > c->n_list || strspn(text, "0123456789") != strlen(text))
        return fre_fail(err, FRE_E_USAGE,
                        "--need must be a whole number from 1 to the number of --witness-key");
    *out = n;
    return FRE_OK;
}

fre_status cli_log_trust(fre_log_trust *t, fre_sign_pk witness[CLI_LIST_MAX], const cli *c,
                         fre_err *err)
{
    fre_status st = FRE_OK;

    *t = (fre_log_trust){.witness = witness, .n = c->n_list, .now = fre_clock_unix()};
    for (size_t i = 0; st == FRE_OK && i < c->n_list; i++)
        st = cli_log_key(&witness[i], c->list[i], FRE_SIGNER_WITNESS, err);
    if (st == FRE_OK)
        st = need_of(&t->need, c, err);
    return st == FRE_OK ? cli_time(&t->max_age, "max-age", cli_text(c, "max-age"), 0, err) : st;
}
