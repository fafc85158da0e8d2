/* parties/synthesis_sums.c - S_syn's half of the sums: the sets that it asks S_tag about, and from
 * both sums the centroids.  A disagreement costs the tag it is about. */
#include "synthesis.h"

#include <fre/linalg.h>

static uint64_t needed(const fre_synthesis *x, const synthesis_cell *cell)
{
    return fre_parties_answers_needed(&x->base.w.c, cell->count);
}

/* ---- whose set, which answers ---------------------------------------------------------------------- */

void synthesis_choose_sets(fre_synthesis *x)
{
    for (uint32_t i = 0; i < x->list.n; i++) {
        synthesis_cell *cell = &x->cells.cell[i];

        cell->answers = 0;
        for (uint32_t k = 0; k < cell->count; k++)
            cell->answers += x->cells.member[cell->first + k].record != 0;
        cell->asked = cell->answers >= needed(x, cell);
        cell->lost = !cell->asked;
        x->counts.tags_short += cell->lost;
    }
}

void synthesis_choose_open(fre_synthesis *x)
{
    for (uint32_t i = 0; i < x->list.n; i++) {
        synthesis_cell *cell = &x->cells.cell[i];
        uint32_t n = 0;

        /* Members that one message cannot hold are left out, as if they had not answered. */
        for (uint32_t k = 0; k < cell->count; k++) {
            synthesis_member *m = &x->cells.member[cell->first + k];

            m->accepted = m->accepted && n < SYNTHESIS_OPEN_MAX;
            n += m->accepted;
        }
        cell->accepted = n;
        cell->opened = cell->asked && !cell->lost && n >= needed(x, cell);
        if (cell->asked && !cell->lost && !cell->opened) {
            cell->lost = true;
            x->counts.tags_short++;
        }
    }
    x->opening = true;
}

/* ---- what is asked ------------------------------------------------------------------------------ */

fre_status synthesis_encode_sets(const fre_synthesis *x, fre_buf *out)
{
    fre_set_member *member;
    fre_set *set;
    uint32_t first, end, sets = 0;
    size_t n = 0, room = 0;
    fre_status st = FRE_E_NOMEM;

    synthesis_plan_cells(&x->sets, &x->cells, &first, &end);
    for (uint32_t i = first; i < end; i++)
        room += x->cells.cell[i].asked ? x->cells.cell[i].answers : 0;
    member = calloc(room + 1, sizeof *member);
    set = calloc((size_t)(end - first) + 1, sizeof *set);
    for (uint32_t i = first; member && set && i < end; i++) {
        fre_set *s = &set[sets];
        uint32_t k, to;

        *s = (fre_set){.tag = fre_list_at(&x->list, i).tag, .n = 0, .member = &member[n]};
        for (synthesis_plan_members(&x->sets, &x->cells, i, &k, &to);
             x->cells.cell[i].asked && k < to; k++) {
            const synthesis_member *m = &x->cells.member[x->cells.cell[i].first + k];

            if (m->record == 0)
                continue;
            member[n].id = m->id;
            memcpy(member[n++].seed.b, synthesis_record(&x->records, m->record - 1),
                   sizeof member->seed.b);
            s->n++;
        }
        sets += s->n > 0;
    }
    if (member && set)
        st = fre_sets_encode(out, &x->base.w, synthesis_plan_part(&x->sets), set, sets,
                             &x->keys.sign);
    free(member);
    free(set);
    return st;
}

fre_status synthesis_encode_open(const fre_synthesis *x, fre_buf *out)
{
    fre_report_id *id;
    fre_id_set *set;
    uint32_t first, end, sets = 0;
    size_t n = 0, room = 0;
    fre_status st = FRE_E_NOMEM;

    synthesis_plan_cells(&x->open, &x->cells, &first, &end);
    for (uint32_t i = first; i < end; i++)
        room += x->cells.cell[i].opened ? x->cells.cell[i].accepted : 0;
    id = calloc(room + 1, sizeof *id);
    set = calloc((size_t)(end - first) + 1, sizeof *set);
    for (uint32_t i = first; id && set && i < end; i++) {
        const synthesis_cell *cell = &x->cells.cell[i];

        if (!cell->opened)
            continue;
        set[sets++] =
            (fre_id_set){.tag = fre_list_at(&x->list, i).tag, .n = cell->accepted, .id = &id[n]};
        for (uint32_t k = 0; k < cell->count; k++)
            if (x->cells.member[cell->first + k].accepted)
                id[n++] = x->cells.member[cell->first + k].id;
    }
    if (id && set)
        st = fre_id_sets_encode(out, &x->base.w, FRE_WIRE_OPEN, synthesis_plan_part(&x->open), set,
                                sets, &x->keys.sign);
    free(id);
    free(set);
    return st;
}

/* ---- what S_tag answers ------------------------------------------------------------------------- */

static void lose(synthesis_cell *cell, uint64_t *counter)
{
    if (!cell->lost)
        ++*counter;
    cell->lost = true;
}

void synthesis_refused(fre_synthesis *x, synthesis_plan *p)
{
    uint32_t i, end;

    for (synthesis_plan_cells(p, &x->cells, &i, &end); i < end; i++)
        if (p == &x->open ? x->cells.cell[i].opened : x->cells.cell[i].asked)
            lose(&x->cells.cell[i], &x->counts.tags_disagreed);
    p->next++;
}

/* An answer that cannot be used: it is counted as rejected, and asked for again. */
static fre_status unusable(fre_synthesis *x, fre_status st)
{
    const fre_rejection code = fre_rejection_of(st);

    if (code == FRE_REJECTED_UNAVAILABLE)
        return st;
    x->base.counters.rejected[code]++;
    return FRE_OK;
}

static bool is_part(fre_synthesis *x, const synthesis_plan *p, fre_part part)
{
    if (part.index == p->next && part.count == p->parts)
        return true;
    x->base.counters.rejected[FRE_REJECTED_REPLAYED]++;
    return false;
}

/* Notes which members of one set were accepted; an id that was not asked for costs the tag. */
static void accept_set(fre_synthesis *x, const fre_id_set *set)
{
    synthesis_cell *cell;
    uint32_t i, k = 0;

    if (!synthesis_find(x, &set->tag, &i) || !x->cells.cell[i].asked)
        return;
    cell = &x->cells.cell[i];
    for (uint32_t j = 0; j < set->n; j++) {
        synthesis_member *m = NULL;

        for (; k < cell->count && !m; k++)
            if (memcmp(x->cells.member[cell->first + k].id.b, set->id[j].b, sizeof set->id[j].b) ==
                0)
                m = &x->cells.member[cell->first + k];
        if (!m || m->record == 0) {
            lose(cell, &x->counts.tags_disagreed);
            return;
        }
        m->accepted = true;
    }
}

fre_status synthesis_accepted(fre_synthesis *x, fre_bytes in)
{
    fre_id_sets all;
    fre_id_set set;
    fre_status st = fre_id_sets_decode(&all, &x->base.w, FRE_WIRE_ACCEPTED, in, NULL);

    if (st != FRE_OK)
        return unusable(x, st);
    if (!is_part(x, &x->sets, all.part))
        return FRE_OK;
    while (fre_id_sets_next(&all, &set))
        accept_set(x, &set);
    x->sets.next++;
    x->base.counters.accepted++;
    return FRE_OK;
}

/* The centroid of a cell, from both servers' sums. */
static fre_status open_cell(fre_synthesis *x, synthesis_cell *cell, const fre_rotation *rotation,
                            uint32_t *sum, const fre_sum *theirs)
{
    const fre_wire *w = &x->base.w;
    const size_t d = fre_rotation_padded(rotation), bytes = fre_wire_share_bytes(w);
    fre_mechanism m;
    fre_share_cell terms;
    float *centroid;
    fre_status st;

    fre_collection_mechanism(&m, &w->c);
    st = fre_share_cell_init(&terms, &m, w->c.split, cell->count, w->share_bits, NULL);
    memset(sum, 0, d * sizeof *sum);
    if (st == FRE_OK)
        st = fre_share_add(sum, d, w->share_bits, theirs->packed);
    for (uint32_t k = 0; k < cell->count && st == FRE_OK; k++) {
        const synthesis_member *mine = &x->cells.member[cell->first + k];

        if (mine->accepted)
            st = fre_share_add(sum, d, w->share_bits,
                               parties_view(synthesis_record(&x->records, mine->record - 1) +
                                                sizeof(fre_sealed_seed),
                                            bytes));
    }
    if (st != FRE_OK)
        return st;
    centroid = calloc(w->c.dim, sizeof *centroid);
    if (!centroid)
        return FRE_E_NOMEM;
    st = fre_share_open(centroid, rotation, &terms, sum, d, theirs->answers, NULL);
    if (st == FRE_OK)
        cell->centroid = centroid;
    else
        free(centroid);
    return st;
}

static void wipe_shares(fre_synthesis *x, const synthesis_cell *cell)
{
    for (uint32_t k = 0; k < cell->count; k++) {
        const uint32_t record = x->cells.member[cell->first + k].record;

        if (record != 0)
            fre_wipe(synthesis_record(&x->records, record - 1), x->records.each);
    }
}

/* Opens the cells of the waiting part; S_tag may have left some without a sum. */
static fre_status open_cells(fre_synthesis *x, const fre_rotation *rotation, uint32_t *sum,
                             const fre_sums *all)
{
    uint32_t i, end, at = 0;

    for (synthesis_plan_cells(&x->open, &x->cells, &i, &end); i < end; i++) {
        synthesis_cell *cell = &x->cells.cell[i];
        const fre_tag tag = fre_list_at(&x->list, i).tag;
        fre_sum theirs = {.answers = 0};
        fre_status st;

        if (!cell->opened || cell->lost || cell->centroid)
            continue;
        while (at < all->n && memcmp(fre_sums_at(all, at).tag.b, tag.b, sizeof tag.b) < 0)
            at++;
        if (at < all->n && memcmp(fre_sums_at(all, at).tag.b, tag.b, sizeof tag.b) == 0)
            theirs = fre_sums_at(all, at);
        if (theirs.answers != cell->accepted) {
            lose(cell, &x->counts.tags_disagreed);
            continue;
        }
        st = open_cell(x, cell, rotation, sum, &theirs);
        if (st == FRE_E_DATA)
            lose(cell, &x->counts.tags_overflowed);
        else if (st != FRE_OK)
            return st;
    }
    return FRE_OK;
}

fre_status synthesis_sum(fre_synthesis *x, fre_bytes in)
{
    const fre_collection *c = &x->base.w.c;
    const size_t d = fre_hadamard_dim(c->dim);
    fre_rotation *rotation = NULL;
    uint32_t *sum, i, end;
    fre_sums all;
    fre_status st = fre_sums_decode(&all, &x->base.w, in, NULL);

    if (st != FRE_OK)
        return unusable(x, st);
    if (!is_part(x, &x->open, all.part))
        return FRE_OK;
    sum = calloc(d, sizeof *sum);
    st = sum ? fre_rotation_new(&rotation, c->dim, c->sign_seed) : FRE_E_NOMEM;
    if (st == FRE_OK)
        st = open_cells(x, rotation, sum, &all);
    fre_wipe_free(sum, d * sizeof *sum);
    fre_rotation_free(rotation);
    if (st != FRE_OK)
        return st;
    for (synthesis_plan_cells(&x->open, &x->cells, &i, &end); i < end; i++)
        wipe_shares(x, &x->cells.cell[i]);
    x->open.next++;
    x->base.counters.accepted++;
    return FRE_OK;
}
