/* Inside rehearsal. */
#ifndef FRE_REHEARSAL_PRIVATE_H
#define FRE_REHEARSAL_PRIVATE_H

#include <fre/rehearsal.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the folder; owned.  NULL: no memory. */
char *rehearsal_path(const fre_rehearsal *r, const char *fmt, ...) FRE_PRINTF(2, 3);

#endif
