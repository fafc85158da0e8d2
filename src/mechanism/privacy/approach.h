/* The way to the noise at which delta is the target; private to the module. */
#ifndef FRE_PRIVACY_APPROACH_H
#define FRE_PRIVACY_APPROACH_H

#include <math.h>

/* Towards the ln sigma at which ln delta is the aim.  delta falls about thirty times as fast as sigma
 * grows: steps by the last two points' slope, then longer and longer ones as long as all lead the same way; once
 * there is a bracket, which is halved now and then, within that. */
typedef struct fre_approach {
    double x, y, slope;
    double little, enough; /* the bracket; infinite: not yet */
    double longest;
    int steps;
} fre_approach;
#define FRE_APPROACH                                                                               \
    ((fre_approach){.slope = -30, .little = -HUGE_VAL, .enough = HUGE_VAL, .longest = 0.2})

/* Where to go from x, at which the function is y. */
double fre_approach_step(fre_approach *a, double x, double y, double aim);

#endif /* FRE_PRIVACY_APPROACH_H */
