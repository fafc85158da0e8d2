/* What both directions of binary HTTP hold a message to (RFC 9292, with RFC 9110 and RFC 9113). */
#ifndef FRE_SEAL_BHTTP_H
#define FRE_SEAL_BHTTP_H

#include "internal.h"

/* FRE_OK; FRE_E_DATA: not a method, scheme, authority or path; FRE_E_LIMIT: too long. */
fre_status bhttp_check_target(const fre_bhttp *m);
/* The same of one field line. */
fre_status bhttp_check_field(const fre_bhttp_field *f);

#endif /* FRE_SEAL_BHTTP_H */
