/* others.h - what a row could have said instead. */
#ifndef FRE_INVERT_OTHERS_H
#define FRE_INVERT_OTHERS_H

#include <fre/invert.h>

#define INV_OTHERS 15u

/* What a row could have said instead, best first. */
typedef struct inv_others {
    fre_inversion v[INV_OTHERS];
    uint32_t n;
} inv_others;

void inv_others_wipe(inv_others *o);
/* Exchange texts of made[i] and others[i] where that makes the n texts distinct (apart.c). */
FRE_MUST_CHECK fre_status inv_set_apart(fre_inversion *made, inv_others *others, size_t n);

#endif /* FRE_INVERT_OTHERS_H */
