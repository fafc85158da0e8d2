/* report/group.c - which lines say nearly the same, and which cell holds which. */
#include "report_private.h"

#include <stdlib.h>

/* ---- near wordings ------------------------------------------------------------------------------ */

/* Noise adds its squared norm to a squared distance, of either centroid. */
static bool says_the_same(const fre_release *r, size_t i, size_t j, double distance)
{
    const double a = fre_release_noise_left(r, i), b = fre_release_noise_left(r, j);

    return r->cell[i].theme == r->cell[j].theme &&
           distance * distance - a * a - b * b <= r->radius * r->radius;
}

/* In the order of users, each cell joins the nearest one that leads a group already, or leads one. */
static void join(uint32_t *group, const fre_release *r, const report_near *near, uint32_t i)
{
    group[i] = i;
    for (size_t j = 0; j < near->k; j++) {
        const uint32_t other = near->index[i * near->k + j];

        if (group[other] == other && says_the_same(r, i, other, near->distance[i * near->k + j])) {
            group[i] = other;
            return;
        }
    }
}

static bool are_stated(const fre_release *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->cell[i].group >= r->n) /* or FRE_RELEASE_NONE */
            return false;
    return true;
}

fre_status report_groups(uint32_t *group, const fre_release *r, const report_near *near)
{
    fre_shown_line *line = calloc(r->n + 1, sizeof *line);
    uint32_t *order = calloc(r->n + 1, sizeof *order); /* by users */
    const bool stated = are_stated(r);
    fre_status st = line && order ? FRE_OK : FRE_E_NOMEM;

    if (st != FRE_OK)
        goto out;
    fre_release_show(line, r->cell, r->n, false);
    for (size_t i = 0; i < r->n; i++) {
        order[line[i].rank] = (uint32_t)line[i].cell;
        group[i] = FRE_RELEASE_NONE;
    }
    for (size_t i = 0; stated && i < r->n; i++)
        group[line[i].cell] = order[line[i].first];
    for (size_t i = 0; !stated && i < r->n; i++)
        join(group, r, near, order[i]);
out:
    free(line);
    free(order);
    return st;
}

/* ---- the tree ------------------------------------------------------------------------------------- */

/* A public cell of a level. */
typedef struct place {
    uint32_t level, centre, cell;
} place;

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;

    return x->level != y->level ? (x->level > y->level) - (x->level < y->level)
                                : (x->centre > y->centre) - (x->centre < y->centre);
}

/* Of what holds a cell, only two are named: the public cell of the next level, and that of the
 * coarsest one. */
fre_status report_parents(uint32_t *parent, const fre_release *r)
{
    place *places = calloc(r->n + 1, sizeof *places);
    const uint32_t coarsest = (uint32_t)r->n_levels - 1;

    if (!places)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < r->n; i++)
        places[i] = (place){r->cell[i].level, r->cell[i].centre, (uint32_t)i};
    qsort(places, r->n, sizeof *places, by_place);
    for (size_t i = 0; i < r->n; i++) {
        const fre_released_cell *c = &r->cell[i];
        const place next = {.level = c->level + 1, .centre = c->parent};
        const place last = {.level = coarsest, .centre = c->theme};
        const place *found = NULL;

        if (c->parent != FRE_RELEASE_NONE)
            found = bsearch(&next, places, r->n, sizeof *places, by_place);
        if (!found && c->theme != FRE_RELEASE_NONE && c->level < coarsest)
            found = bsearch(&last, places, r->n, sizeof *places, by_place);
        parent[i] = found ? found->cell : FRE_RELEASE_NONE;
    }
    free(places);
    return FRE_OK;
}
