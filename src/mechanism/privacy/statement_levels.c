/* What a statement says of levels of public cells, a sentence a line. */
#include <math.h>

#include "plan.h"

/* Do they differ in their cells alone? */
static bool is_alike(const fre_plan *p, size_t i, size_t k)
{
    const fre_level *a = &p->level[i].level, *b = &p->level[k].level;

    return a->counts == b->counts && a->tau == b->tau && a->p32 == b->p32 &&
           !(fabs(a->sigma - b->sigma) > 0) && !(fabs(a->count_sigma - b->count_sigma) > 0) &&
           !(fabs(p->request.level[i].sketch.codebook.radius -
                  p->request.level[k].sketch.codebook.radius) > 0);
}

/* "Level 2, 8192 public cells (8192): ", "Levels 2 and 3, ... and 256 public cells (256), at each: " */
static fre_status name(fre_buf *out, const fre_plan *p, size_t i, size_t end)
{
    const size_t first = i + 1 + !p->request.no_grid;
    fre_status st = end == i + 1
                        ? fre_buf_printf(out, "Level %zu", first)
                        : fre_buf_printf(out, "Levels %zu to %zu", first, first + end - i - 1);

    for (size_t k = i; st == FRE_OK && k < end; k++)
        st = fre_buf_printf(out, "%s%llu public cells (%s)", k > i && k + 1 == end ? " and " : ", ",
                            (unsigned long long)p->request.level[k].sketch.codebook.cells,
                            p->request.level[k].name);
    return st == FRE_OK ? fre_buf_printf(out, "%s", end == i + 1 ? ": " : ", at each: ") : st;
}

/* Levels i to end - 1, which are alike. */
static fre_status describe(fre_buf *out, const fre_plan *p, size_t i, size_t end)
{
    const fre_level_request *asked = &p->request.level[i];
    const fre_level *l = &p->level[i].level;
    char rate[FRE_DIGITS_BYTES], count[FRE_DIGITS_BYTES], sigma[FRE_DIGITS_BYTES],
        radius[FRE_DIGITS_BYTES];
    fre_status st = name(out, p, i, end);

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

    for (size_t i = 0, end; st == FRE_OK && i < p->request.n_levels; i = end) {
        for (end = i + 1; end < p->request.n_levels && is_alike(p, i, end);)
            end++;
        st = describe(out, p, i, end);
    }
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
