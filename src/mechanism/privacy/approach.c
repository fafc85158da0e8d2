/* See approach.h. */
#include "approach.h"

#include <stdbool.h>

static bool bracketed(const fre_approach *a)
{
    return !isinf(a->little) && !isinf(a->enough);
}

double fre_approach_step(fre_approach *a, double x, double y, double aim)
{
    double to;

    if (a->steps++ > 0 && fabs(x - a->x) > 1e-6)
        a->slope = fmax(-3000, fmin(-5, (y - a->y) / (x - a->x)));
    a->x = x;
    a->y = y;
    if (y > aim)
        a->little = fmax(a->little, x);
    else
        a->enough = fmin(a->enough, x);
    to = x + fmax(-a->longest, fmin(a->longest, (aim - y) / a->slope));
    if (!bracketed(a)) {
        if (a->steps > 5) {
            a->longest *= 2;
            to = x + copysign(a->longest, to - x);
        }
        return to;
    }
    if (a->steps % 4 == 0 || !(to > a->little && to < a->enough))
        to = (a->little + a->enough) / 2;
    return to;
}
