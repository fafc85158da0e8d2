/* report/group.c - which lines say nearly the same, and which cell holds which. */
#include "report_private.h"

#include <stdlib.h>

/* ---- near wordings ------------------------------------------------------------------------------ */

typedef struct ranked {
    double users;
    uint32_t cell;
} ranked;

static int most_users_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    return x->users < y->users   ? 1
           : x->users > y->users ? -1
                                 : (x->cell > y->cell) - (x->cell < y->cell);
}

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

/* As the lines say; false: not all of them do. */
static bool take_stated(uint32_t *group, const report_input *in, uint32_t *leader)
{
    const fre_release *r = &in->release;

    for (size_t i = 0; i < r->n; i++) {
        const json_t *number = json_object_get(in->line[i], "group");
        const json_int_t g = json_integer_value(number);

        if (!json_is_integer(number) || g < 0 || (uint64_t)g >= r->n)
            return false;
        group[i] = (uint32_t)g;
        if (leader[g] == FRE_RELEASE_NONE || r->cell[i].users > r->cell[leader[g]].users)
            leader[g] = (uint32_t)i;
    }
    for (size_t i = 0; i < r->n; i++)
        group[i] = leader[group[i]];
    return true;
}

fre_status report_groups(uint32_t *group, const report_input *in, const report_near *near)
{
    const fre_release *r = &in->release;
    ranked *order = calloc(r->n + 1, sizeof *order);
    uint32_t *leader = calloc(r->n + 1, sizeof *leader);
    fre_status st = order && leader ? FRE_OK : FRE_E_NOMEM;

    for (size_t i = 0; st == FRE_OK && i < r->n; i++)
        leader[i] = FRE_RELEASE_NONE;
    if (st != FRE_OK || take_stated(group, in, leader))
        goto out;
    for (size_t i = 0; i < r->n; i++) {
        order[i] = (ranked){.users = r->cell[i].users, .cell = (uint32_t)i};
        group[i] = FRE_RELEASE_NONE;
    }
    qsort(order, r->n, sizeof *order, most_users_first);
    for (size_t i = 0; i < r->n; i++)
        join(group, r, near, order[i].cell);
out:
    free(order);
    free(leader);
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
