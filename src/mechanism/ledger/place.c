/* place.c - where a user's own ledger lies: the state folder of the XDG Base Directory Specification
 * (0.8), which says to ignore a path that is not absolute. */
#include "ledger_private.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PASSWD_BYTES 16384u

static const char *absolute(const char *variable)
{
    const char *value = getenv(variable);

    return value && value[0] == '/' ? value : NULL;
}

/* The home of the user data base; NULL: none, or it could not be asked, for *e.  free() it. */
static char *listed_home(int *e)
{
    char *buf = malloc(PASSWD_BYTES), *home = NULL;
    struct passwd entry, *found = NULL;

    *e = buf ? getpwuid_r(geteuid(), &entry, buf, PASSWD_BYTES, &found) : ENOMEM;
    if (*e == 0 && found && found->pw_dir && found->pw_dir[0] == '/') {
        home = strdup(found->pw_dir);
        *e = home ? 0 : ENOMEM;
    }
    free(buf);
    return home;
}

/* With sudo, $HOME may be another user's: files of root there would lock that user out. */
static bool is_anothers(const char *home)
{
    struct stat s;

    return geteuid() == 0 && stat(home, &s) == 0 && s.st_uid != 0;
}

static fre_status state_folder(char **out, fre_err *err)
{
    const char *state = absolute("XDG_STATE_HOME"), *home = absolute("HOME");
    char *listed = NULL;
    int e = 0;

    *out = NULL;
    if (state && !is_anothers(state)) {
        *out = strdup(state);
        return *out ? FRE_OK : ledger_no_memory(err);
    }
    if (!home || is_anothers(home)) {
        listed = listed_home(&e);
        home = listed ? listed : home;
    }
    if (e == EMFILE || e == ENFILE || e == ENOMEM) /* another home would be another ledger */
        return fre_open_failed(err, e, FRE_E_IO, NULL, "cannot look up the user's home folder");
    if (!home)
        return fre_fail(err, FRE_E_IO,
                        "there is no home folder for a ledger; name a file with {ledger} FILE");
    if (asprintf(out, "%s/.local/state", home) < 0)
        *out = NULL;
    free(listed);
    return *out ? FRE_OK : ledger_no_memory(err);
}

/* Makes the folders of path that are missing; 0 or errno. */
static int make_folders(char *path)
{
    for (char *c = path + 1; *c; c++) {
        int e = 0;

        if (*c != '/')
            continue;
        *c = '\0';
        if (mkdir(path, 0700) != 0)
            e = errno;
        *c = '/';
        if (e != 0 && e != EEXIST)
            return e;
    }
    return 0;
}

fre_status fre_ledger_default(char **out, bool make, fre_err *err)
{
    char *state = NULL, *path = NULL;
    fre_status st;
    int e;

    if (!out)
        return fre_fail(err, FRE_E_ARG, "a ledger's place needs somewhere to go");
    *out = NULL;
    st = state_folder(&state, err);
    if (st != FRE_OK)
        return st;
    if (asprintf(&path, "%s/fre-e2t/ledger.json", state) < 0)
        path = NULL;
    free(state);
    if (!path)
        return ledger_no_memory(err);
    *out = path;
    e = make ? make_folders(path) : 0;
    return e == 0 ? FRE_OK
                  : fre_open_failed(err, e, ledger_has_no_place(e) ? FRE_E_NOINPUT : FRE_E_IO, NULL,
                                    "cannot make the folder of the ledger '%.300s'", path);
}
