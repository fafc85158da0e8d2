/* collection_parts.h - the signed parts of a collection's release, from a folder or from a server. */
#ifndef FRE_CLI_COLLECTION_PARTS_H
#define FRE_CLI_COLLECTION_PARTS_H

#include <fre/wire.h>

typedef struct cli_parts {
    fre_buf *part; /* n; owned */
    fre_bytes *view;
    uint32_t n;
} cli_parts;

/* from: a folder with the files release-0, release-1, ...; an address; NULL: the relay's of the terms. */
FRE_MUST_CHECK fre_status cli_parts_read(cli_parts *out, const fre_collection *c, const char *from,
                                         fre_err *err);
/* release-0, release-1, ... into a folder, which is made. */
FRE_MUST_CHECK fre_status cli_parts_keep(const cli_parts *p, const char *folder, fre_err *err);
void cli_parts_wipe(cli_parts *p);
/* What the log of collections has of them: SHA-256 of their hashes. */
void cli_parts_hash(uint8_t out[FRE_HASH_BYTES], const cli_parts *p);

#endif
