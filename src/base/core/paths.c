/* paths.c - the user's folders, by the XDG Base Directory Specification 0.8, which says to ignore a path that
 * is not absolute. */
#include "core_private.h"

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

/* The home of the user database; NULL: none, or it could not be asked, for *e.  free() it. */
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
static bool is_anothers(const char *folder)
{
    struct stat s;

    return geteuid() == 0 && stat(folder, &s) == 0 && s.st_uid != 0;
}

fre_status fre_user_folder(char **out, fre_user_dir which, bool to_write, fre_err *err)
{
    static const struct {
        const char *variable, *in_home;
    } of[] = {[FRE_USER_CACHE] = {"XDG_CACHE_HOME", "/.cache"},
              [FRE_USER_STATE] = {"XDG_STATE_HOME", "/.local/state"}};
    const char *base = absolute(of[which].variable), *rest = "";
    char *listed = NULL, *path = NULL;
    int e = 0;

    if (!base || (to_write && is_anothers(base))) {
        base = absolute("HOME");
        rest = of[which].in_home;
    }
    if (!base || (to_write && is_anothers(base))) {
        listed = listed_home(&e);
        base = listed ? listed : base;
    }
    if (e == EMFILE || e == ENFILE || e == ENOMEM) /* another home would be another user's files */
        return fre_open_failed(err, e, FRE_E_IO, NULL, "cannot look up the user's home folder");
    if (!base)
        return fre_fail(err, FRE_E_NOINPUT, "the user has no home folder; set HOME to one");
    if (asprintf(&path, "%s%s/fre-e2t", base, rest) < 0)
        path = NULL;
    free(listed);
    if (!path)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    *out = path;
    return FRE_OK;
}

int fre_make_parents(const char *path)
{
    char *part = strdup(path);
    int e = part ? 0 : ENOMEM;

    for (char *c = part; e == 0 && *c; c++) {
        if (*c != '/' || c == part)
            continue;
        *c = '\0';
        e = mkdir(part, 0700) == 0 || errno == EEXIST ? 0 : errno;
        *c = '/';
    }
    free(part);
    return e;
}
