/* parties/tagging_seeds.c - seeds of members, one listed tag after the other in the order of sets. */
#include "tagging_seeds.h"

fre_status tagging_seeds_new(tagging_seeds *s, const fre_list *list)
{
    tagging_seeds made = {.cells = list->n, .ids = s->ids}; /* a load may have made room there */

    for (uint32_t i = 0; i < list->n; i++)
        made.room += fre_list_at(list, i).count;
    /* calloc, not realloc: seeds must not be left behind in memory that was given back. */
    made.cell = calloc(list->n, sizeof *made.cell);
    made.member = calloc((size_t)made.room, sizeof *made.member);
    if (!made.cell || !made.member) {
        free(made.cell);
        free(made.member);
        return FRE_E_NOMEM;
    }
    *s = made;
    return FRE_OK;
}

void tagging_seeds_wipe(tagging_seeds *s)
{
    fre_wipe_free(s->member, (size_t)s->room * sizeof *s->member);
    free(s->cell);
    parties_table_wipe(&s->ids);
    *s = (tagging_seeds){.cell = NULL};
}

const tagging_member *tagging_seeds_next(const tagging_seeds *s, uint32_t cell, uint32_t *k,
                                         const fre_report_id *id)
{
    const tagging_cell *c = &s->cell[cell];

    while (*k < c->n) {
        const tagging_member *m = &s->member[c->first + (*k)++];
        const int order = memcmp(m->id.b, id->b, sizeof id->b);

        if (order == 0)
            return m;
        if (order > 0)
            return NULL;
    }
    return NULL;
}

void tagging_seeds_spend(tagging_seeds *s, uint32_t cell)
{
    tagging_cell *c = &s->cell[cell];

    c->spent = true;
    fre_wipe(&s->member[c->first], c->n * sizeof *s->member);
}

/* ---- state ------------------------------------------------------------------------------------ */

void tagging_seeds_save(parties_out *o, const tagging_seeds *s)
{
    for (uint32_t i = 0; i < s->cells; i++) {
        parties_put_uint(o, s->cell[i].first, 8);
        parties_put_uint(o, s->cell[i].n, 4);
        parties_put_uint(o, s->cell[i].spent, 1);
    }
    parties_put_bytes(o, s->member, (size_t)s->members * sizeof *s->member);
    parties_put_table(o, &s->ids);
}

void tagging_seeds_load(parties_in *in, tagging_seeds *s, const fre_list *list, fre_status *st)
{
    fre_bytes raw;

    if (!in->bad && list->n > 0) {
        *st = tagging_seeds_new(s, list);
        in->bad = *st != FRE_OK;
    }
    for (uint32_t i = 0; i < s->cells && !in->bad; i++) {
        s->cell[i].first = parties_get_up_to(in, 8, s->room);
        s->cell[i].n = (uint32_t)parties_get_up_to(in, 4, s->room - s->cell[i].first);
        s->cell[i].spent = parties_get_bool(in);
    }
    raw = parties_get_bytes(in);
    if (raw.n % sizeof *s->member != 0 || raw.n / sizeof *s->member > s->room)
        in->bad = true;
    if (!in->bad && raw.n > 0) {
        memcpy(s->member, raw.p, raw.n);
        s->members = raw.n / sizeof *s->member;
    }
    for (uint32_t i = 0; i < s->cells && !in->bad; i++)
        if (s->cell[i].first + s->cell[i].n > s->members)
            in->bad = true;
    parties_get_table(in, &s->ids, st);
}
