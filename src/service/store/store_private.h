/* store_private.h - what a database has to do for a store, and how rows are hidden from it. */
#ifndef FRE_STORE_PRIVATE_H
#define FRE_STORE_PRIVATE_H

#include <fre/store.h>

#include <stdlib.h>
#include <string.h>

#define STORE_ID_BYTES 16u
#define STORE_MACHINE_BYTES (sizeof(fre_collection_id) + 1) /* collection, role */
/* Of one statement: what is sealed of a delta at a time. */
#define STORE_CHUNK_BYTES ((size_t)32 << 20)
#define STORE_CHUNK_ROWS 65536u

/* A change as the database gets it. */
typedef struct store_item {
    uint8_t id[STORE_ID_BYTES]; /* of table and key */
    bool erase;
    size_t at, n; /* of the sealed row in the chunk's bytes */
} store_item;
typedef struct store_chunk {
    store_item *item; /* n, by id, each once */
    size_t n;
    const uint8_t *bytes;
} store_chunk;

typedef fre_status store_seen(void *ctx, fre_bytes id, fre_bytes sealed);

/* A database.  Any status but FRE_OK: nothing but close follows. */
typedef struct store_ops {
    fre_status (*begin)(fre_store *s, bool all, fre_err *err); /* all: what is there goes first */
    fre_status (*apply)(fre_store *s, const store_chunk *c, fre_err *err);
    fre_status (*commit)(fre_store *s, fre_err *err);
    fre_status (*load)(fre_store *s, store_seen *fn, void *ctx, fre_err *err);
    fre_status (*destroy)(fre_store *s, fre_err *err);
    void (*close)(fre_store *s);
} store_ops;

typedef struct store_keys { /* SECRET; locked memory */
    uint8_t id[32], row[32];
} store_keys;

/* First member of every kind. */
struct fre_store {
    const store_ops *ops;
    store_keys *keys;
    uint8_t machine[STORE_MACHINE_BYTES];
    bool broken;
};

/* sqlite.c, postgres.c: made, without keys. */
FRE_MUST_CHECK fre_status store_open_sqlite(fre_store **out, const char *folder,
                                            const uint8_t machine[STORE_MACHINE_BYTES],
                                            fre_err *err);
FRE_MUST_CHECK fre_status store_open_postgres(fre_store **out, const char *where,
                                              const uint8_t machine[STORE_MACHINE_BYTES],
                                              fre_err *err);
/* refusals.c: "version V of the schema, and this program knows up to W". */
fre_status store_version_refused(unsigned long version, fre_err *err);
fre_status store_taken(fre_err *err);

/* sealed.c */
FRE_MUST_CHECK fre_status store_keys_make(store_keys **out, const uint8_t key[FRE_STORE_KEY_BYTES]);
void store_keys_free(store_keys *k);
void store_row_id(uint8_t id[STORE_ID_BYTES], const store_keys *k, const fre_row *row);
FRE_MUST_CHECK fre_status store_row_seal(fre_buf *out, const fre_store *s,
                                         const uint8_t id[STORE_ID_BYTES], const fre_row *row);
/* *row: into plain, which is replaced.  FRE_E_DATA: it is not ours. */
FRE_MUST_CHECK fre_status store_row_open(fre_row *row, fre_buf *plain, const fre_store *s,
                                         fre_bytes id, fre_bytes sealed);

#endif /* FRE_STORE_PRIVATE_H */
