/* place.c - where a user's own ledger lies: the state folder of the XDG Base Directory Specification
 * (0.8), which says to ignore a path that is not absolute. */
#include "internal.h"

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

/* The home of the user data base; NULL: none.  free() it. */
static char *listed_home(void)
{
    char *buf = malloc(PASSWD_BYTES), *home = NULL;
    struct passwd entry, *found = NULL;

    if (buf && getpwuid_r(geteuid(), &entry, buf, PASSWD_BYTES, &found) == 0 && found &&
        found->pw_dir && found->pw_dir[0] == '/')
        home = strdup(found->pw_dir);
    free(buf);
    return home;
}

/* With sudo, $HOME may be another user's: files of root there would lock that user out. */
static bool is_anothers(const char *home)
{
    struct stat s;

    return geteuid() == 0 && stat(home, &s) == 0 && s.st_uid != 0;
}

static char *state_folder(void)
{
    const char *state = absolute("XDG_STATE_HOME"), *home = absolute("HOME");
    char *listed = NULL, *path = NULL;

    if (state && !is_anothers(state))
        return strdup(state);
    if (!home || is_anothers(home)) {
        listed = listed_home();
        home = listed ? listed : home;
    }
    if (home && asprintf(&path, "%s/.local/state", home) < 0)
        path = NULL;
    free(listed);
    return path;
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
    char *state, *path = NULL;
    int e;

    if (!out)
        return fre_fail(err, FRE_E_ARG, "a ledger's place needs somewhere to go");
    *out = NULL;
    state = state_folder();
    if (!state)
        return fre_fail(err, FRE_E_IO,
                        "there is no home folder for a ledger; name a file with {ledger} FILE");
    if (asprintf(&path, "%s/fre-e2t/ledger.json", state) < 0)
        path = NULL;
    free(state);
    if (!path)
        return ledger_no_memory(err);
    *out = path;
    e = make ? make_folders(path) : 0;
    return e == 0 ? FRE_OK
                  : fre_fail(err, FRE_E_IO, "cannot make the folder of the ledger '%.300s': %s",
                             path, ledger_errno_text(e));
}
