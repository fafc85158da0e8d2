/* refusals.c - what every kind of database refuses. */
#include "store_private.h"

fre_status store_version_refused(unsigned long version, fre_err *err)
{
    return fre_fail(
        err, FRE_E_DATA,
        "the store has version %lu of the schema, and this program knows up to %u: use a newer "
        "program",
        version, FRE_STORE_VERSION);
}

fre_status store_taken(fre_err *err)
{
    return fre_fail(
        err, FRE_E_AGAIN,
        "another process serves this role of this collection from the same store: end it first");
}
