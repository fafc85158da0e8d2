/* parties/synthesis_cells.c - listed tags, and the counted reports of each. */
#include "synthesis_cells.h"

#define MEMBER_STATE_BYTES 21u /* of a member in a saved state */

fre_status synthesis_cells_new(synthesis_cells *c, uint32_t n, uint64_t members, uint32_t dim)
{
    synthesis_cells made = {.n = n, .dim = dim, .members = members};

    made.cell = calloc((size_t)n + 1, sizeof *made.cell);
    made.member = calloc((size_t)members + 1, sizeof *made.member);
    if (!made.cell || !made.member) {
        free(made.cell);
        free(made.member);
        return FRE_E_NOMEM;
    }
    *c = made;
    return FRE_OK;
}

void synthesis_cells_wipe(synthesis_cells *c)
{
    for (uint32_t i = 0; c->cell && i < c->n; i++) {
        fre_wipe_free(c->cell[i].centroid, c->dim * sizeof *c->cell[i].centroid);
    }
    free(c->cell);
    free(c->member);
    *c = (synthesis_cells){.cell = NULL};
}

synthesis_member *synthesis_cells_member(const synthesis_cells *c, uint32_t cell,
                                         const fre_report_id *id)
{
    synthesis_member *member = c->member + c->cell[cell].first;
    uint32_t low = 0, high = c->cell[cell].count;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int order = memcmp(member[middle].id.b, id->b, sizeof id->b);

        if (order == 0)
            return &member[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* ---- state ------------------------------------------------------------------------------------ */

void synthesis_cells_save(parties_out *o, const synthesis_cells *cells)
{
    parties_put_uint(o, cells->n, 4);
    for (uint32_t i = 0; i < cells->n; i++) {
        const synthesis_cell *c = &cells->cell[i];

        parties_put_uint(o, c->answers, 4);
        parties_put_uint(o, c->accepted, 4);
        parties_put_uint(o, c->asked, 1);
        parties_put_uint(o, c->opened, 1);
        parties_put_uint(o, c->lost, 1);
        parties_put_uint(o, c->centroid != NULL, 1);
        if (c->centroid)
            parties_put(o, c->centroid, cells->dim * sizeof *c->centroid);
        for (uint32_t k = 0; k < c->count; k++) {
            const synthesis_member *m = &cells->member[c->first + k];

            parties_put(o, m->id.b, sizeof m->id.b);
            parties_put_uint(o, m->record, 4);
            parties_put_uint(o, m->accepted, 1);
        }
    }
}

static void load_members(parties_in *in, synthesis_cells *cells, const synthesis_cell *c,
                         size_t records)
{
    for (uint32_t k = 0; k < c->count && !in->bad; k++) {
        synthesis_member *m = &cells->member[c->first + k];

        parties_get(in, m->id.b, sizeof m->id.b);
        m->record = (uint32_t)parties_get_up_to(in, 4, records);
        m->accepted = parties_get_bool(in);
        if (m->accepted && m->record == 0)
            in->bad = true;
    }
}

static void load_cell(parties_in *in, synthesis_cells *cells, synthesis_cell *c, size_t records,
                      fre_status *st)
{
    c->answers = (uint32_t)parties_get_up_to(in, 4, c->count);
    c->accepted = (uint32_t)parties_get_up_to(in, 4, c->count);
    c->asked = parties_get_bool(in);
    c->opened = parties_get_bool(in);
    c->lost = parties_get_bool(in);
    if (parties_get_bool(in)) {
        c->centroid = parties_get_zeros(in, cells->dim, sizeof *c->centroid, st);
        if (c->centroid)
            parties_get(in, c->centroid, cells->dim * sizeof *c->centroid);
    }
    load_members(in, cells, c, records);
}

void synthesis_cells_load(parties_in *in, synthesis_cells *c, const fre_list *list, uint32_t dim,
                          size_t records, fre_status *st)
{
    const uint64_t n = parties_get_up_to(in, 4, list->n);
    uint64_t members = 0;

    if (n == 0)
        return;
    for (uint32_t i = 0; i < list->n; i++)
        members += fre_list_at(list, i).count;
    if (n != list->n || members > in->left.n / MEMBER_STATE_BYTES)
        in->bad = true;
    if (in->bad)
        return;
    *st = synthesis_cells_new(c, list->n, members, dim);
    if (*st != FRE_OK) {
        in->bad = true;
        return;
    }
    for (uint32_t i = 0; i < c->n; i++) {
        c->cell[i].count = fre_list_at(list, i).count;
        c->cell[i].first = i > 0 ? c->cell[i - 1].first + c->cell[i - 1].count : 0;
    }
    for (uint32_t i = 0; i < c->n && !in->bad; i++)
        load_cell(in, c, &c->cell[i], records, st);
}

bool synthesis_cells_agree(const synthesis_cells *cells)
{
    for (uint32_t i = 0; i < cells->n; i++) {
        const synthesis_cell *c = &cells->cell[i];
        uint32_t answers = 0, accepted = 0;

        for (uint32_t k = 0; k < c->count; k++) {
            answers += cells->member[c->first + k].record != 0;
            accepted += cells->member[c->first + k].accepted;
        }
        if ((c->asked && answers != c->answers) || (c->opened && accepted != c->accepted))
            return false;
    }
    return true;
}
