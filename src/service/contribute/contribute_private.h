/* Inside contribute. */
#ifndef FRE_CONTRIBUTE_PRIVATE_H
#define FRE_CONTRIBUTE_PRIVATE_H

#include <fre/contribute.h>
#include <fre/net.h>

#include <stdlib.h>
#include <string.h>

/* state.c: the rows of a client, all of them in one file, written anew each time. */

enum {
    STATE_EMBEDDINGS = 250,
    STATE_CREDENTIALS,
    STATE_VERDICT
}; /* our own rows: no machine has them */

typedef struct state {
    char *path, *lock_path;
    int lock;       /* held on the file beside it; -1: none */
    fre_delta rows; /* SECRET: of each table and key the last */
    fre_collection_id id;
} state;

/* The file's rows, none if there is none; takes its lock. */
FRE_MUST_CHECK fre_status state_open(state *s, const char *path, const fre_collection_id *id,
                                     fre_err *err);
/* These as well, in the file before it returns. */
FRE_MUST_CHECK fre_status state_add(state *s, const fre_delta *rows, fre_err *err);
FRE_MUST_CHECK fre_status state_add_row(state *s, uint8_t table, fre_bytes value, fre_err *err);
/* Nothing but how it ended; as with every change, what the file held is overwritten. */
FRE_MUST_CHECK fre_status state_end(state *s, fre_status verdict, fre_err *err);
/* Empty: it has no such row of ours. */
fre_bytes state_row(const state *s, uint8_t table);
void state_close(state *s);

/* contribute.c: one GET, after which the client is freed.  absent: what a 404 means, and its status. */
FRE_MUST_CHECK fre_status contribute_get(fre_buf *out, fre_http_client *c, const char *path,
                                         const char *absent, fre_status absent_st, fre_err *err);

#endif /* FRE_CONTRIBUTE_PRIVATE_H */
