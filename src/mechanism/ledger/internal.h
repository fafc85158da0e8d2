/* ledger/internal.h - the book on disk (book.c), for what is reckoned with it (ledger.c). */
#ifndef FRE_LEDGER_INTERNAL_H
#define FRE_LEDGER_INTERNAL_H

#include <fre/ledger.h>

#include <jansson.h>

#define LEDGER_NAME_MAX_BYTES 200u

/* The book at path, of the newest version whatever the file has; *book stays NULL when there is no
 * file.  FRE_E_DATA, FRE_E_IO, FRE_E_LIMIT, FRE_E_NOMEM. */
FRE_MUST_CHECK fre_status ledger_load(json_t **book, const char *path, fre_err *err);
/* An empty book with this salt. */
FRE_MUST_CHECK fre_status ledger_new_book(json_t **book, const uint8_t salt[FRE_LEDGER_SALT_BYTES],
                                          fre_err *err);
FRE_MUST_CHECK fre_status ledger_salt(uint8_t salt[FRE_LEDGER_SALT_BYTES], const json_t *book,
                                      fre_err *err);
/* One entry, its strings borrowed from e; false: a field is missing or out of its range. */
FRE_MUST_CHECK bool ledger_read_entry(fre_ledger_entry *out, const json_t *e);
FRE_MUST_CHECK fre_status ledger_append(json_t *book, const fre_ledger_entry *e, fre_err *err);
/* Replace the file in one rename.  The lock is held. */
FRE_MUST_CHECK fre_status ledger_save(const json_t *book, const char *path, fre_err *err);
/* Wait for PATH.lock; closing *fd releases it. */
FRE_MUST_CHECK fre_status ledger_lock(int *fd, const char *path, fre_err *err);
/* The path with its link followed: the book it names is replaced and locked, not the link. */
FRE_MUST_CHECK fre_status ledger_resolve(char **out, const char *path, fre_err *err);

fre_status ledger_no_memory(fre_err *err);
const char *ledger_errno_text(int e);

#endif
