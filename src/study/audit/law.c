/* audit/law.c - what a view's likelihood under either input should be, so that the ratio of the
 * two is the best test there is (Neyman and Pearson).  A defect makes this law wrong; the test is
 * still a test then, only no longer the best. */
#include "audit_private.h"

#include <math.h>

double audit_log_add(double a, double b)
{
    const double top = a > b ? a : b, low = a > b ? b : a;

    return top > -HUGE_VAL ? top + log1p(exp(low - top)) : top;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* ln Pr[j of a cell's others are sampled]. */
static double log_mass(const audit_setup *s, unsigned cell, int64_t j)
{
    return j < 0 || j > (int64_t)s->scenario.others[cell] ? -HUGE_VAL : s->log_mass[cell][j];
}

/* ln Pr[fewer than j of them are]. */
static double log_below(const audit_setup *s, unsigned cell, int64_t j)
{
    const int64_t n = (int64_t)s->scenario.others[cell];

    return s->log_below[cell][j < 0 ? 0 : j > n + 1 ? n + 1 : j];
}

static double log_gauss(double x, double sigma)
{
    return -x * x / (2 * sigma * sigma);
}

/* Curious members are in cell 0, and their coins are known to have fallen on their side. */
static int64_t curious(const audit_setup *s, unsigned cell)
{
    return cell == 0 ? (int64_t)s->opts->mechanism.dist.curious : 0;
}

#define NOBODY (-1) /* in place of the input whose record is in the cell */

/* The sum, but for what doesn't hang on the record. */
static double log_sum(const audit_setup *s, const audit_view *v, unsigned cell, int world)
{
    if (s->shares)
        return world == NOBODY ? 0 : v->fit[cell][world];
    return log_gauss(v->along[cell] - (world == NOBODY ? 0 : s->offset[world]), s->sigma);
}

/* A released cell's count and sum, with the record of an input in it, or nobody. */
static double log_released(const audit_setup *s, const audit_view *v, unsigned cell, int world)
{
    const int64_t others = (int64_t)v->count[cell] - curious(s, cell) - (world != NOBODY);

    return log_mass(s, cell, others) + log_sum(s, v, cell, world);
}

/* ---- curator --------------------------------------------------------------------------------- */

static double log_cell(const audit_setup *s, const audit_view *v, unsigned cell, int world)
{
    const int64_t tau = (int64_t)s->opts->mechanism.tau;

    if (v->released[cell])
        return log_released(s, v, cell, world);
    return log_below(s, cell, tau - curious(s, cell) - (world != NOBODY));
}

/* ---- distributed ----------------------------------------------------------------------------- */

/* ln of TSDLap's mass at a number of dummies, but for a constant. */
static double log_dummies(const fre_distributed *d, int64_t number)
{
    const int64_t gamma = d->gamma;

    return number < 0 || number > 2 * gamma ? -HUGE_VAL
                                            : -fabs((double)(number - gamma)) / d->lambda;
}

/* All multiplicities above 1, if none of the tags were real. */
typedef struct crowd {
    double sum; /* of the finite logarithms */
    uint64_t impossible;
} crowd;

static crowd count_crowd(const fre_mechanism *m, const audit_view *v)
{
    crowd c = {.sum = 0};

    for (uint64_t i = 2; i < m->tau; i++) {
        const double l = log_dummies(&m->dist, v->tags[i - 1]);

        if (l > -HUGE_VAL)
            c.sum += l;
        else
            c.impossible++;
    }
    return c;
}

/* The tags seen, when the one of cell 0 has multiplicity c (0, or tau and more: no such tag) and
 * `singles` further ones are real. */
static double log_tags(const fre_mechanism *m, const audit_view *v, const crowd *all, int64_t c,
                       int64_t singles)
{
    double l = log_dummies(&m->dist, (int64_t)v->tags[0] - singles - (c == 1));
    uint64_t impossible = all->impossible;

    if (c >= 2 && c < (int64_t)m->tau) {
        const double as_dummy = log_dummies(&m->dist, v->tags[c - 1]);

        l += log_dummies(&m->dist, (int64_t)v->tags[c - 1] - 1);
        if (as_dummy > -HUGE_VAL)
            l -= as_dummy;
        else
            impossible--;
    }
    return impossible > 0 ? -HUGE_VAL : l + all->sum;
}

/* Cell 1 holds at most the record, whose tag is a single then, or others alone, and is released.  The
 * record of an input is in the cell where that has it, or nobody's. */
static double log_view(const audit_setup *s, const audit_view *v, const crowd *all, int world)
{
    const fre_mechanism *m = &s->opts->mechanism;
    const int64_t n = (int64_t)s->scenario.others[0], tau = (int64_t)m->tau, w = curious(s, 0);
    const int cell = world == NOBODY ? AUDIT_NOWHERE : s->scenario.extra[world].cell;
    const int64_t in = cell == 0, alone = cell == 1;
    const int64_t cover = m->dist.cover;
    const int64_t company = v->released[1] ? (int64_t)(s->scenario.others[1] - v->count[1]) : 0;
    double l = -HUGE_VAL;

    if (v->released[0]) {
        const int64_t sampled = (int64_t)v->count[0] - w - in;
        const int64_t covers = cover * (n - sampled + company + (1 - in - alone));

        return log_released(s, v, 0, in ? world : NOBODY) +
               log_tags(m, v, all, tau, covers + alone);
    }
    for (int64_t j = 0; j <= n && j + w + in < tau; j++) {
        const int64_t covers = cover * (n - j + company + (1 - in - alone));

        l = audit_log_add(l, log_mass(s, 0, j) + log_tags(m, v, all, j + w + in, covers + alone));
    }
    return l;
}

/* ---- the ratio ------------------------------------------------------------------------------- */

static double log_given(const audit_setup *s, const audit_view *v, const crowd *all, int world)
{
    const int cell = world == NOBODY ? AUDIT_NOWHERE : s->scenario.extra[world].cell;

    if (audit_sees_tags(s))
        return log_view(s, v, all, world);
    return log_cell(s, v, 0, cell == 0 ? world : NOBODY) +
           log_cell(s, v, 1, cell == 1 ? world : NOBODY);
}

/* ln((1-p) P + p Q), Q: the record is sampled. */
static double log_mixture(const audit_setup *s, double log_absent, double log_sampled)
{
    return s->p < 1 ? audit_log_add(log1p(-s->p) + log_absent, log(s->p) + log_sampled)
                    : log_sampled;
}

static double ratio(double with0, double with1)
{
    if (!(with0 > -HUGE_VAL) && !(with1 > -HUGE_VAL))
        return 0; /* a view that the law has not */
    return with1 - with0;
}

static double llr_of_second(const audit_setup *s, const audit_view *v)
{
    const double absent = log_cell(s, v, 1, NOBODY);

    return ratio(absent, log_mixture(s, absent, log_cell(s, v, 1, 1)));
}

double audit_llr(const audit_setup *s, const audit_view *v)
{
    crowd all = {.sum = 0};
    double absent, with[2];

    if (s->scenario.groups > 0 && v->groups != 1)
        return 0; /* nobody is near, or so rarely several groups that their law is not worth it */
    if (audit_sees_tags(s) && s->scenario.others[1] > 0 && !v->released[1])
        return 0; /* so rare that its law is not worth it */
    if (audit_sees_tags(s))
        all = count_crowd(&s->opts->mechanism, v);
    absent = log_given(s, v, &all, NOBODY);
    for (unsigned w = 0; w < 2; w++) {
        const int cell = s->scenario.extra[w].cell;

        with[w] = cell == AUDIT_NOWHERE
                      ? absent
                      : log_mixture(s, absent, log_given(s, v, &all, (int)w));
    }
    if (s->scenario
            .odd) /* looks at both cells, though the second has none of the record if all is right */
        return ratio(with[0], with[1]) + llr_of_second(s, v);
    return ratio(with[0], with[1]);
}

double audit_llr_of_cell(const audit_setup *s, const audit_view *v)
{
    const double absent = log_cell(s, v, 0, NOBODY);
    double with[2];

    for (unsigned w = 0; w < 2; w++)
        with[w] = s->scenario.extra[w].cell != 0
                      ? absent
                      : log_mixture(s, absent, log_cell(s, v, 0, (int)w));
    return ratio(with[0], with[1]);
}

uint64_t audit_likely_count(const audit_setup *s)
{
    const double mode = floor(((double)s->scenario.others[0] + 1) * s->p);

    return s->opts->mechanism.dist.curious + (mode >= 1 ? (uint64_t)mode : 1);
}
