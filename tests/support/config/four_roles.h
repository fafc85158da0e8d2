/* Four operators with fresh keys in folders of their own, up to terms that hold them. */
#ifndef FRE_TESTS_FOUR_ROLES_H
#define FRE_TESTS_FOUR_ROLES_H

#include <fre/config.h>

#include "temp_dir.h"

typedef struct four_roles {
    temp_dir dir;
    char folder[FRE_CONTRIBUTORS][512]; /* by fre_contributor */
    fre_keygen_files files[FRE_CONTRIBUTORS];
    fre_half half[FRE_CONTRIBUTORS];
    fre_reveal reveal[FRE_CONTRIBUTORS];
} four_roles;

fre_role role_of(fre_contributor who);
/* Keys and halves. */
void four_roles_make(four_roles *r);
/* ... commitments noted, contributions shown ... */
void four_roles_commit(four_roles *r);
/* ... and terms of them; valid, without an account of their privacy. */
void four_roles_terms(fre_collection *out, four_roles *r);
/* As JSON, into a file. */
void write_terms(const char *path, const fre_collection *c);
void four_roles_remove(four_roles *r);
/* The text of a file into a buffer of its own, and one with `from` (which is there) in place of `to`. */
char *text_of_file(const char *path);
void replace_in_file(const char *path, const char *from, const char *to);

#endif /* FRE_TESTS_FOUR_ROLES_H */
