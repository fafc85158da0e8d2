#include "law.h"

#include <math.h>

#include "must.h"
#include "seeded.h"

void law_seeded(fre_rng *r, uint8_t byte)
{
    seeded(r, byte, "test/sampler");
}

void law_scripted(fre_rng *r, const uint32_t *words, size_t n)
{
    size_t at;

    law_seeded(r, 9);
    must(4 * n <= sizeof r->block);
    at = sizeof r->block - 4 * n;
    for (size_t i = 0; i < 4 * n; i++)
        r->block[at + i] = (uint8_t)(words[i / 4] >> (8 * (i % 4)));
    r->left = 4 * n;
}

double law_limit(double dof)
{
    return dof + 4.76 * sqrt(2 * dof) + 16;
}

double law_misfit(const double *seen, const double *mass, size_t n)
{
    double draws = 0, whole = 0, chi = 0, o = 0, e = 0, dof = -1;

    for (size_t i = 0; i < n; i++) {
        draws += seen[i];
        whole += mass[i];
    }
    for (size_t i = 0, left = 0; i < n; i++) {
        double rest = 0;

        o += seen[i];
        e += draws * mass[i] / whole;
        if (e < 10)
            continue;
        for (left = i + 1; left < n && rest < 10; left++)
            rest += draws * mass[left] / whole;
        if (rest < 10) /* what is left is too little for a bin of its own */
            for (; i + 1 < n; i++) {
                o += seen[i + 1];
                e += draws * mass[i + 1] / whole;
            }
        chi += (o - e) * (o - e) / e;
        dof++;
        o = e = 0;
    }
    return chi / law_limit(dof > 0 ? dof : 1);
}
