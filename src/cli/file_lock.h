/* file_lock.h - a file that is read, changed and replaced by one process at a time. */
#ifndef FRE_CLI_FILE_LOCK_H
#define FRE_CLI_FILE_LOCK_H

#include "cli.h"

/* Waits half a minute at most; *fd holds the lock until it is closed, and is -1 after an error.  The file may be
 * replaced by a rename under the lock: whoever waited gets the new one.  FRE_E_NOINPUT: it cannot be opened;
 * FRE_E_AGAIN: another process has it; FRE_E_INTERRUPTED; FRE_E_IO. */
FRE_MUST_CHECK fre_status cli_file_lock(int *fd, const char *path, fre_err *err);
/* -1 is allowed. */
void cli_file_unlock(int fd);

#endif
