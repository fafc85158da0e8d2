/* parties/synthesis_plan.c - sets and ids cut into messages, before any is made: the same cut every
 * time, so that a restart asks for the same parts. */
#include "synthesis_cells.h"

#define SUMS_BYTES (8u << 20) /* of an answer of S_tag */

void synthesis_plan_wipe(synthesis_plan *p)
{
    free(p->start);
    *p = (synthesis_plan){0};
}

/* Begins a part there; false: no memory. */
static bool plan_begin(synthesis_plan *p, size_t *cap, uint32_t cell, uint32_t member)
{
    if (fre_grow((void **)&p->start, cap, p->parts + 2, sizeof *p->start) != FRE_OK)
        return false;
    p->start[p->parts++] = (synthesis_start){cell, member};
    return true;
}

static void plan_end(synthesis_plan *p, const synthesis_cells *c)
{
    if (p->parts > 0)
        p->start[p->parts] = (synthesis_start){c->n, 0};
}

/* Sets in the order of the list, cut into parts wherever one is full. */
fre_status synthesis_plan_sets(synthesis_plan *p, const synthesis_cells *c, size_t part_bytes)
{
    size_t cap = 0, bytes = SIZE_MAX / 2; /* the first set begins the first part */

    for (uint32_t i = 0; i < c->n; i++) {
        const synthesis_cell *cell = &c->cell[i];
        bool begun = false; /* the set's head is in this part */

        for (uint32_t k = 0; k < cell->count && cell->asked; k++) {
            if (c->member[cell->first + k].record == 0)
                continue;
            if (bytes + (begun ? 0 : SYNTHESIS_SET_BYTES) + sizeof(fre_set_member) > part_bytes) {
                if (!plan_begin(p, &cap, i, k)) {
                    synthesis_plan_wipe(p);
                    return FRE_E_NOMEM;
                }
                bytes = 0;
                begun = false;
            }
            bytes += (begun ? 0 : SYNTHESIS_SET_BYTES) + sizeof(fre_set_member);
            begun = true;
        }
    }
    plan_end(p, c);
    return FRE_OK;
}

fre_status synthesis_plan_open(synthesis_plan *p, const synthesis_cells *c, size_t part_bytes,
                               size_t sum_bytes)
{
    size_t cap = 0, bytes = SIZE_MAX / 2, sums = 0;

    for (uint32_t i = 0; i < c->n; i++) {
        const synthesis_cell *cell = &c->cell[i];
        const size_t set = SYNTHESIS_SET_BYTES + cell->accepted * sizeof(fre_report_id);

        if (!cell->opened)
            continue;
        if (bytes + set > part_bytes || sums + sum_bytes > SUMS_BYTES) {
            if (!plan_begin(p, &cap, i, 0)) {
                synthesis_plan_wipe(p);
                return FRE_E_NOMEM;
            }
            bytes = sums = 0;
        }
        bytes += set;
        sums += sum_bytes;
    }
    plan_end(p, c);
    return FRE_OK;
}

fre_part synthesis_plan_part(const synthesis_plan *p)
{
    return (fre_part){.index = p->next, .count = p->parts};
}

void synthesis_plan_members(const synthesis_plan *p, const synthesis_cells *c, uint32_t i,
                            uint32_t *from, uint32_t *to)
{
    const synthesis_start *start = &p->start[p->next], *end = start + 1;

    *from = i == start->cell ? start->member : 0;
    *to = i == end->cell ? end->member : c->cell[i].count;
}

void synthesis_plan_cells(const synthesis_plan *p, const synthesis_cells *c, uint32_t *from,
                          uint32_t *to)
{
    const synthesis_start *end = &p->start[p->next + 1];

    *from = p->start[p->next].cell;
    *to = end->member > 0 ? end->cell + 1 : end->cell;
    if (*to > c->n)
        *to = c->n;
}
