/* ledger/ledger_private.h - the book on disk (book.c, write.c) and what is kept of the data (content.c), for
 * what is computed from them (sets.c, ledger.c). */
#ifndef FRE_LEDGER_PRIVATE_H
#define FRE_LEDGER_PRIVATE_H

#include <fre/ledger.h>

#include <jansson.h>

#define LEDGER_NAME_MAX_BYTES 200u
#define LEDGER_FORMAT "fre-e2t ledger"
#define LEDGER_VERSION 3
#define LEDGER_FILE_MAX_BYTES (64u << 20)
#define LEDGER_SUM_START "{\"sum\":\""
#define LEDGER_SUM_DIGITS 16u
#define LEDGER_RECORDS_DIGITS 32u
#define LEDGER_SKETCH_DIGITS ((size_t)4 * FRE_LEDGER_BINS)
#define LEDGER_EMPTY_BIN 0xffffu

/* The book as it lies there; its JSON is {"salt", "entries", ...} of the newest version. */
typedef struct ledger_disk {
    json_t *book;  /* NULL: there is none */
    bool in_lines; /* the file is of this version, so that it can be appended to */
    size_t size;   /* bytes of its whole lines ... */
    bool torn;     /* ... and there are more */
} ledger_disk;

/* The book at path.  FRE_E_DATA, FRE_E_IO, FRE_E_LIMIT, FRE_E_NOMEM.  ledger_disk_free. */
FRE_MUST_CHECK fre_status ledger_load(ledger_disk *d, const char *path, fre_err *err);
void ledger_disk_free(ledger_disk *d);
/* An empty book with this salt. */
FRE_MUST_CHECK fre_status ledger_new_book(json_t **book, const uint8_t salt[FRE_LEDGER_SALT_BYTES],
                                          fre_err *err);
FRE_MUST_CHECK fre_status ledger_salt(uint8_t salt[FRE_LEDGER_SALT_BYTES], const json_t *book,
                                      fre_err *err);
/* The last entry with this id (random, so there is one), borrowed; NULL: none. */
json_t *ledger_entry_with(const json_t *book, const char *id);
/* One entry, its strings borrowed from e; false: a field is missing or out of its range. */
FRE_MUST_CHECK bool ledger_read_entry(fre_ledger_entry *out, const json_t *e);
FRE_MUST_CHECK fre_status ledger_entry_json(json_t **out, const fre_ledger_entry *e, fre_err *err);
/* Append a line, or write the whole book if it is new or was of an older version (object NULL: as it
 * is).  On the disk when it returns.  The lock is held. */
FRE_MUST_CHECK fre_status ledger_add(ledger_disk *d, const char *path, json_t *object,
                                     fre_err *err);
/* Wait for PATH.lock; closing *fd releases it. */
FRE_MUST_CHECK fre_status ledger_lock(int *fd, const char *path, fre_err *err);
/* The path with its link followed: the book it names is written and locked, not the link. */
FRE_MUST_CHECK fre_status ledger_resolve(char **out, const char *path, fre_err *err);

/* Checksum of a line's rest, keyed with the salt. */
void ledger_line_sum(char out[LEDGER_SUM_DIGITS + 1], const json_t *book, const char *rest,
                     size_t n);
void ledger_records_digits(char out[LEDGER_RECORDS_DIGITS + 1], const fre_ledger_content *c);
void ledger_sketch_digits(char out[LEDGER_SKETCH_DIGITS + 1], const uint64_t bin[FRE_LEDGER_BINS]);
/* Estimated share, 0 to 1, of what two sketches stand for that they have in common; NULL: none. */
double ledger_likeness(const char *a, const char *b);

/* ---- sets.c ---- */

/* The book's entries, and room for one more.  free() them before the book goes. */
FRE_MUST_CHECK fre_status ledger_entries(fre_ledger_entry **out, size_t *n, const json_t *book,
                                         fre_err *err);
/* root[i]: the oldest entry that is of the same data as entry i. */
FRE_MUST_CHECK fre_status ledger_find_sets(size_t *root, const fre_ledger_entry *e, size_t n,
                                           fre_err *err);
/* The share of texts, users or embeddings that two entries have in common, whichever is most. */
double ledger_overlap(const fre_ledger_entry *a, const fre_ledger_entry *b);
void ledger_add_to_sum(fre_ledger_sum *s, const fre_ledger_entry *e);
/* Does what was spent pass the budget (0: none), but for rounding? */
bool ledger_is_over(double spent, double budget);
/* What a budget leaves, rounded down. */
double ledger_left(double budget, double spent);

FRE_MUST_CHECK fre_status ledger_too_large(const char *path, fre_err *err);
FRE_MUST_CHECK fre_status ledger_no_memory(fre_err *err);
/* No book that is missing can be made there, now or later: its folder is missing or takes no files. */
bool ledger_has_no_place(int e);

#endif
