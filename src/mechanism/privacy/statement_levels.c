/* What a statement says of levels of public cells, a sentence a line. */
#include <math.h>

#include "plan.h"

static fre_status one(fre_buf *out, const fre_plan *p, size_t i)
{
    const fre_level_request *asked = &p->request.level[i];
    const fre_level *l = &p->level[i].level;
    char rate[FRE_DIGITS_BYTES], count[FRE_DIGITS_BYTES], sigma[FRE_DIGITS_BYTES],
        radius[FRE_DIGITS_BYTES];
    fre_status st =
        fre_buf_printf(out, "Level %zu, %llu public cells (%s): ", i + 1 + !p->request.no_grid,
                       (unsigned long long)asked->sketch.codebook.cells, asked->name);

    if (st == FRE_OK && l->counts == FRE_COUNTS_NOISY)
        st = fre_buf_printf(out,
                            "every record counts; a cell is released if its count, with Gaussian "
                            "noise of standard deviation %s, reaches %llu; ",
                            fre_digits_down(count, 6, l->count_sigma), (unsigned long long)l->tau);
    else if (st == FRE_OK)
        st = fre_buf_printf(out,
                            "a record is sampled with probability p = %s; a cell is released if "
                            "its sampled count reaches %llu; ",
                            fre_digits_up(rate, 10, (double)l->p32 / (double)FRE_P_ONE),
                            (unsigned long long)l->tau);
    if (st == FRE_OK)
        st = fre_buf_printf(out,
                            "Gaussian noise of standard deviation %s is added to each coordinate "
                            "of the sum of its records' offsets from the cell's centre, each cut "
                            "to length %s.\n",
                            fre_digits_down(sigma, 6, l->sigma),
                            fre_digits_up(radius, 6, asked->sketch.codebook.radius));
    return st;
}

fre_status fre_statement_levels(fre_buf *out, const fre_plan *p)
{
    char empty[FRE_DIGITS_BYTES];
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < p->request.n_levels; i++)
        st = one(out, p, i);
    if (st == FRE_OK && p->request.n_levels > 0)
        st = fre_buf_printf(out, "All records of a released cell leave, sampled or not; the others "
                                 "go on to the next level, with fresh coins and noise.\n");
    if (st == FRE_OK && p->empty_cells > 0)
        st = fre_buf_printf(out,
                            "A public cell that nobody is in may be released by the noise on its "
                            "count: at most %s such cells are to be expected.\n",
                            fre_digits_up(empty, 2, fmax(p->empty_cells, 1e-6)));
    return st;
}
