#include "binomial.h"

#include <math.h>

double binomial(int n, int j, double p)
{
    double m = 1;

    if (j < 0 || j > n)
        return 0;
    for (int i = 1; i <= j; i++)
        m *= (double)(n - j + i) / i;
    return m * pow(p, j) * pow(1 - p, n - j);
}
