/* place.c - the path of a user's own ledger: a file in the user's state folder. */
#include "ledger_private.h"

#include <stdio.h>
#include <stdlib.h>

fre_status fre_ledger_default(char **out, bool make, fre_err *err)
{
    char *state = NULL, *path = NULL;
    fre_status st;
    int e;

    if (!out)
        return fre_fail(err, FRE_E_ARG, "the path of the ledger needs an output");
    *out = NULL;
    st = fre_user_folder(&state, FRE_USER_STATE, true, err);
    if (st == FRE_E_NOINPUT)
        return fre_fail(err, FRE_E_IO,
                        "there is no home folder for a ledger; name a file with {ledger} FILE");
    if (st != FRE_OK)
        return st;
    if (asprintf(&path, "%s/ledger.json", state) < 0)
        path = NULL;
    free(state);
    if (!path)
        return ledger_no_memory(err);
    *out = path;
    e = make ? fre_make_parents(path) : 0;
    return e == 0 ? FRE_OK
                  : fre_open_failed(err, e, ledger_has_no_place(e) ? FRE_E_NOINPUT : FRE_E_IO, NULL,
                                    "cannot make the folder of the ledger '%.300s'", path);
}
