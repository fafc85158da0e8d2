/* release/group.c - which lines of a release say nearly the same, from what it holds.
 *
 * The line with the most users is the first of a group, and so is each next one that is near none: near is within
 * the release's radius, of noise-free centroids.  Their squared distance is that of the centroids less both
 * noises' mean squared lengths, give or take the deviation that these have; a line joins only where that
 * deviation counts against it, so large noise parts lines and does not join them.  Of a public cell's noise no
 * more is left than its reach, to which the noisy offset was cut.  Lines with the same words belong together
 * whatever their centroids. */
#include <fre/fold.h>
#include <fre/linalg.h>
#include <fre/release.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct line {
    const fre_released_cell *cell;
    size_t row;
    char *words; /* owned; NULL: without a text */
} line;

typedef struct group {
    size_t first; /* in the lines */
    double users;
    uint32_t number;
} group;

static int more_users(const void *a, const void *b)
{
    const line *x = a, *y = b;

    if (x->cell->users < y->cell->users || x->cell->users > y->cell->users)
        return x->cell->users < y->cell->users ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

static int larger(const void *a, const void *b)
{
    const group *const *x = a, *const *y = b;

    if ((*x)->users < (*y)->users || (*x)->users > (*y)->users)
        return (*x)->users < (*y)->users ? 1 : -1;
    return ((*x)->first > (*y)->first) - ((*x)->first < (*y)->first);
}

double fre_release_noise_left(const fre_release *r, size_t i)
{
    const fre_released_cell *c = &r->cell[i];
    const fre_sketch_spec *of = &r->level[c->level].sketch;

    return of->kind == FRE_SKETCH_CODEBOOK ? fmin(c->noise_norm, of->codebook.radius)
                                           : c->noise_norm;
}

/* Squared distance of what both centroids are without noise, at most. */
static double apart2(const fre_release *r, const line *a, const line *b)
{
    const double of_a = fre_release_noise_left(r, a->row);
    const double of_b = fre_release_noise_left(r, b->row);
    const double noise2 = of_a * of_a + of_b * of_b;
    const size_t dim = r->grid.dim;

    return fre_dist2(r->centroid + a->row * dim, r->centroid + b->row * dim, dim) - noise2 +
           noise2 * sqrt(2.0 / (double)dim);
}

/* The group of lines[i] among n; n: a new one. */
static size_t find(const fre_release *r, const line *lines, size_t i, const group *groups, size_t n)
{
    size_t best = n;
    double nearest = r->radius * r->radius;

    for (size_t g = 0; g < n; g++) {
        const line *first = &lines[groups[g].first];
        double d2;

        if (lines[i].words && first->words && strcmp(lines[i].words, first->words) == 0)
            return g;
        d2 = apart2(r, &lines[i], first);
        if (d2 <= nearest) {
            nearest = d2;
            best = g;
        }
    }
    return best;
}

/* The largest group is number 0. */
static fre_status number(group *groups, size_t n)
{
    const group **order = malloc((n + 1) * sizeof *order);

    if (!order)
        return FRE_E_NOMEM;
    for (size_t g = 0; g < n; g++)
        order[g] = &groups[g];
    qsort(order, n, sizeof(const group *), larger);
    for (size_t g = 0; g < n; g++)
        groups[order[g] - groups].number = (uint32_t)g;
    free(order);
    return FRE_OK;
}

static fre_status fill(line *lines, const fre_release *r)
{
    for (size_t i = 0; i < r->n; i++) {
        const char *text = r->cell[i].text.text;

        lines[i] = (line){.cell = &r->cell[i], .row = i};
        if (text && fre_fold_words(&lines[i].words, text, strlen(text)) != FRE_OK)
            return FRE_E_NOMEM;
        if (text && lines[i].words[0] == '\0') { /* no word: nothing to compare */
            free(lines[i].words);
            lines[i].words = NULL;
        }
    }
    return FRE_OK;
}

fre_status fre_release_group(fre_release *r, fre_err *err)
{
    line *lines = calloc(r->n + 1, sizeof *lines);
    group *groups = calloc(r->n + 1, sizeof *groups);
    uint32_t *of = calloc(r->n + 1, sizeof *of);
    size_t n = 0;
    fre_status st = lines && groups && of ? fill(lines, r) : FRE_E_NOMEM;

    if (st == FRE_OK)
        qsort(lines, r->n, sizeof *lines, more_users);
    for (size_t i = 0; st == FRE_OK && i < r->n; i++) {
        const size_t g = find(r, lines, i, groups, n);

        if (g == n)
            groups[n++].first = i;
        groups[g].users += lines[i].cell->users;
        of[lines[i].row] = (uint32_t)g;
    }
    if (st == FRE_OK)
        st = number(groups, n);
    for (size_t i = 0; st == FRE_OK && i < r->n; i++)
        r->cell[i].group = groups[of[i]].number;
    for (size_t i = 0; lines && i < r->n; i++)
        free(lines[i].words);
    free(lines);
    free(groups);
    free(of);
    return st == FRE_OK ? FRE_OK : fre_fail(err, st, "out of memory for a release's groups");
}
