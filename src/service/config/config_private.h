/* config_private.h - shared by the files of the config module only. */
#ifndef FRE_CONFIG_PRIVATE_H
#define FRE_CONFIG_PRIVATE_H

#include <fre/config.h>
#include <fre/corpus.h>
#include <fre/store.h>

#include <stdlib.h>
#include <string.h>

/* ---- json.c: objects with each key once and no other ------------------------------------------- */

/* Keys of an object, and what a sentence calls it.  Text that was read is written to: strings end
 * with a 0 in the place of their quote. */
typedef struct config_object {
    const char *path;  /* the file */
    const char *outer; /* "", or "peer." of an inner one */
    fre_json_want *want;
    size_t n;
} config_object;

/* Reads it into o->want.  FRE_E_DATA: no object, a key twice or one that is unknown. */
FRE_MUST_CHECK fre_status config_read_object(const config_object *o, uint8_t *p, size_t n,
                                             fre_err *err);
bool config_has(const config_object *o, size_t i);
/* FRE_E_DATA: key i is missing or of another kind. */
FRE_MUST_CHECK fre_status config_want(const config_object *o, size_t i, fre_json_kind kind,
                                      fre_err *err);
/* A string without control characters, 1..max bytes; borrowed from the text, NUL-terminated. */
FRE_MUST_CHECK fre_status config_string(const char **out, const config_object *o, size_t i,
                                        size_t max, fre_err *err);
FRE_MUST_CHECK fre_status config_hex(uint8_t *out, size_t n, const config_object *o, size_t i,
                                     fre_err *err);
FRE_MUST_CHECK fre_status config_whole(uint64_t *out, const config_object *o, size_t i,
                                       uint64_t least, uint64_t most, fre_err *err);
/* Up to max strings of an array, borrowed as above. */
FRE_MUST_CHECK fre_status config_strings(const char **out, size_t *n, size_t max,
                                         const config_object *o, size_t i, fre_err *err);
/* "format": what and "version": 1 are keys 0 and 1 of every file. */
FRE_MUST_CHECK fre_status config_check_format(const config_object *o, const char *what,
                                              fre_err *err);

/* Sentences about key i. */
fre_status config_bad(const config_object *o, size_t i, const char *what, fre_err *err);
/* '  "key": "digits",' and a line's end. */
FRE_MUST_CHECK fre_status config_put_hex(fre_buf *out, const char *key, const uint8_t *p, size_t n);

/* ---- half.c, commit.c ------------------------------------------------------------------------------------ */

bool config_has_seal(fre_role role);
bool config_has_oprf(fre_role role);
/* FRE_E_DATA: they are not the four roles with keys of their own.  sorted: by fre_contributor. */
FRE_MUST_CHECK fre_status config_sort_halves(const fre_half *sorted[FRE_CONTRIBUTORS],
                                             const fre_half half[FRE_CONTRIBUTORS], fre_err *err);
bool config_same_half(const fre_half *a, const fre_half *b);
/* The text of a half, as an object of a file or within one. */
FRE_MUST_CHECK fre_status config_half_put(fre_buf *out, const fre_half *h, const fre_sign_sk *sk);
FRE_MUST_CHECK fre_status config_half_parse(fre_half *out, uint8_t *p, size_t n, const char *path,
                                            const char *outer, fre_err *err);
/* Its name, "relay"; i: a fre_contributor. */
const char *config_contributor(size_t i);
/* The text of a contribution's file. */
FRE_MUST_CHECK fre_status config_reveal_put(fre_buf *out, const fre_reveal *r,
                                            const fre_sign_sk *sk);
/* Object of the four commitments, by role: FRE_CONTRIBUTORS times FRE_HASH_BYTES. */
FRE_MUST_CHECK fre_status config_commitments_put(fre_buf *out, const uint8_t *commitment);
FRE_MUST_CHECK fre_status
config_commitments_parse(uint8_t commitment[FRE_CONTRIBUTORS][FRE_HASH_BYTES], uint8_t *p, size_t n,
                         const char *path, fre_err *err);

/* ---- secret.c ---------------------------------------------------------------------------------- */

/* A secret file. */
typedef struct config_secret {
    fre_half half;
    fre_sign_sk sign;                     /* SECRET */
    uint8_t seed[32];                     /* SECRET: of sign */
    uint8_t store[FRE_STORE_KEY_BYTES];   /* SECRET */
    uint8_t contribution[FRE_SEED_BYTES]; /* SECRET until all are committed */
    bool committed;
    uint8_t commitment[FRE_CONTRIBUTORS][FRE_HASH_BYTES];
} config_secret;
FRE_MUST_CHECK fre_status config_secret_read(config_secret *out, const char *path, fre_err *err);
FRE_MUST_CHECK fre_status config_secret_write(const config_secret *s, const char *path,
                                              bool replace, fre_err *err);
void config_secret_wipe(config_secret *s);

/* A once file. */
typedef struct config_once {
    fre_hpke_keypair seal; /* SECRET */
    fre_oprf_key oprf;     /* SECRET; zeros: none */
} config_once;
/* Its keys are those of h.  *erased: it is a file of zeros, whose removal was interrupted; then *out is zero. */
FRE_MUST_CHECK fre_status config_once_read(config_once *out, bool *erased, const char *path,
                                           const fre_half *h, fre_err *err);
FRE_MUST_CHECK fre_status config_once_write(const config_once *k, const fre_half *h,
                                            const char *path, fre_err *err);

/* Is there such a file, of whatever kind? */
bool config_is_there(const char *path);
/* wrap.c: of the roles with a VOPRF key. */
FRE_MUST_CHECK fre_status config_wrap_write(const uint8_t wrap[FRE_WRAP_BYTES], const fre_half *h,
                                            const char *path, fre_err *err);

/* FOLDER/ROLE-XXXXXXXX and an ending; owned.  NULL: out of memory. */
char *config_path(const char *folder, const char *name, const fre_sign_pk *pk, const char *ending);
/* The folder of a path; owned.  NULL: out of memory. */
char *config_folder_of(const char *path);
/* A file that was made a moment ago goes again.  NULL is allowed. */
void config_unmake(const char *path);
/* A public file, new. */
FRE_MUST_CHECK fre_status config_write_public(const char *path, fre_bytes text, fre_err *err);

#endif /* FRE_CONFIG_PRIVATE_H */
