/* small_release.h - a release of a fraction of a second. */
#ifndef FRE_TESTS_SMALL_RELEASE_H
#define FRE_TESTS_SMALL_RELEASE_H

#include <fre/curator.h>

#define SMALL_EPSILON 8

/* No texts, a record a user, a plan of a hundredth of a second. */
fre_curator_opts small_release(const char *input, const char *output);
/* The folder of a release, whole or begun. */
void remove_release(const char *folder);

#endif /* FRE_TESTS_SMALL_RELEASE_H */
