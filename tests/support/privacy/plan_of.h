/* A plan that there must be. */
#ifndef FRE_TESTS_PLAN_OF_H
#define FRE_TESTS_PLAN_OF_H

#include <fre/privacy.h>

/* Aborts with the reason where there is none. */
fre_plan plan_of(const fre_plan_request *r);

#endif /* FRE_TESTS_PLAN_OF_H */
