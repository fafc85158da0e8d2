/* The losses of several records of a user in all levels (docs/decisions/0015): a record's curve D is that of
 * the pair (there, not there), R of the same pair turned round, so that below e^eps = 1 each follows from the
 * other, 1 - t + t H(1/t).  Their products are those of pld.c. */
#include "levels.h"

#include <math.h>
#include <stdlib.h>

#include "privacy_private.h"

#define NODES_MAX 2048u /* at and above a loss of 0 */

/* Both curves at losses k step >= 0. */
typedef struct sides {
    size_t n;
    ptrdiff_t k[NODES_MAX];
    double add[NODES_MAX], remove[NODES_MAX];
    fre_pld_node node[2 * NODES_MAX]; /* room for one of them, below 0 too */
} sides;

static void look(sides *s, const fre_pld_cell *cell, const fre_level_curves *next, double loss,
                 fre_pld_grade grade)
{
    const double odds = cell ? expm1(loss) / cell->p : 0;
    fre_heavy h;

    if (!cell) {
        s->add[s->n] = fre_level_next(&next->add, loss);
        s->remove[s->n] = fre_level_next(&next->remove, loss);
        return;
    }
    fre_heavy_init(&h, log1p(odds), cell->p, cell->tau, cell->mu);
    h.slack = fmax(h.slack, fre_pld_slack(grade));
    h.tolerance = 0.01 * h.slack;
    s->add[s->n] = fre_level_addition(&h, 0, &next->add, loss);
    s->remove[s->n] = fre_level_removal(&h, &next->remove, loss);
}

/* From a loss of 0 on, ever sparser, to where both are too small to matter. */
static void look_all(sides *s, const fre_pld_cell *cell, const fre_level_curves *next, double step,
                     double most, double least, fre_pld_grade grade)
{
    const ptrdiff_t dense = fre_pld_dense(grade);

    s->n = 0;
    for (ptrdiff_t k = 0; s->n < NODES_MAX; k += 1 + k / dense) {
        s->k[s->n] = k;
        look(s, cell, next, (double)k * step, grade);
        s->n++;
        if (fmax(s->add[s->n - 1], s->remove[s->n - 1]) <= least || (double)k * step > most)
            break;
    }
}

static fre_status product(fre_pld *out, sides *s, bool add, double step, uint32_t cells,
                          double reach, double least, fre_err *err)
{
    const double *here = add ? s->add : s->remove, *back = add ? s->remove : s->add;
    size_t n = 0;

    for (size_t i = s->n; i-- > 1;) {
        const double t = exp(-(double)s->k[i] * step);

        s->node[n++] = (fre_pld_node){-s->k[i], 1 - t + t * back[i]};
    }
    for (size_t i = 0; i < s->n; i++)
        s->node[n++] = (fre_pld_node){s->k[i], here[i]};
    return fre_pld_product(out, s->node, n, step, cells, reach, least, err);
}

fre_status fre_levels_product(fre_pld out[2], const fre_pld_cell *cell,
                              const fre_level_curves *next, uint32_t cells, double reach,
                              double least, fre_pld_grade grade, fre_err *err)
{
    const double most = next->remove.lo + next->remove.step * (double)(next->remove.n - 1);
    const double step =
        cell ? fre_pld_step(grade, cells, reach, -log1p(-cell->p))
             : fmin(fre_pld_step(grade, cells, reach, 0), fmax(most, 1e-6) / 256);
    sides *s = malloc(sizeof *s);
    fre_status st;

    if (!s)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for the losses of {max_cells_per_user}");
    look_all(s, cell, next, step, fmin(most, reach + FRE_PLD_PAST), 1e-3 * least, grade);
    st = product(&out[0], s, true, step, cells, reach, least, err);
    if (st == FRE_OK) {
        st = product(&out[1], s, false, step, cells, reach, least, err);
        if (st != FRE_OK)
            fre_pld_wipe(&out[0]);
    }
    free(s);
    return st;
}
