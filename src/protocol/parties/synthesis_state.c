/* parties/synthesis_state.c - S_syn's saved state. */
#include "synthesis.h"

/* ---- save ------------------------------------------------------------------------------------- */

static void save_counts(parties_out *o, const fre_synthesis_counts *c)
{
    const uint64_t all[] = {c->reports,         c->duplicates,   c->shares,     c->nulls,
                            c->unmatched,       c->tags,         c->tags_short, c->tags_disagreed,
                            c->tags_overflowed, c->tags_released};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        parties_put_uint(o, all[i], 8);
}

static void save_batch(parties_out *o, const synthesis_batch *b)
{
    parties_put_uint(o, b->count, 4);
    for (uint32_t i = 0; i < b->count; i++)
        parties_put_uint(o, b->arrived[i], 1);
}

static void save_entries(parties_out *o, const fre_synthesis *x)
{
    parties_put_uint(o, x->entries, 8);
    for (size_t i = 0; i < x->entries; i++) {
        parties_put(o, x->entry[i].tag.b, sizeof x->entry[i].tag.b);
        parties_put(o, x->entry[i].id.b, sizeof x->entry[i].id.b);
        parties_put_uint(o, x->entry[i].record, 4);
    }
}

static void save_records(parties_out *o, const synthesis_records *r)
{
    parties_put_uint(o, r->n, 8);
    for (size_t i = 0; i < r->n; i++)
        parties_put(o, synthesis_record(r, (uint32_t)i), r->each);
}

static void save_cells(parties_out *o, const fre_synthesis *x)
{
    parties_put_uint(o, x->cell ? x->list.n : 0, 4);
    for (uint32_t i = 0; x->cell && i < x->list.n; i++) {
        const synthesis_cell *c = &x->cell[i];

        parties_put_uint(o, c->answers, 4);
        parties_put_uint(o, c->accepted, 4);
        parties_put_uint(o, c->asked, 1);
        parties_put_uint(o, c->opened, 1);
        parties_put_uint(o, c->lost, 1);
        parties_put_uint(o, c->centroid != NULL, 1);
        if (c->centroid)
            parties_put(o, c->centroid, x->base.w.c.dim * sizeof *c->centroid);
        for (uint32_t k = 0; k < c->count; k++) {
            const synthesis_member *m = &x->member[c->first + k];

            parties_put(o, m->id.b, sizeof m->id.b);
            parties_put_uint(o, m->record, 4);
            parties_put_uint(o, m->accepted, 1);
        }
    }
}

fre_status fre_synthesis_save(const fre_synthesis *x, fre_buf *out)
{
    parties_out o;

    if (!x || !out)
        return FRE_E_ARG;
    o = parties_out_open(out, &x->base.w, FRE_ROLE_SYN);
    parties_base_save(&o, &x->base);
    parties_put_bytes(&o, x->statement.p, x->statement.n);
    save_counts(&o, &x->counts);
    parties_put_uint(&o, x->part_bytes, 4);
    save_batch(&o, &x->reports);
    save_batch(&o, &x->shares);
    parties_put(&o, x->closed, sizeof x->closed);
    save_entries(&o, x);
    parties_put_bytes(&o, x->list_message.p, x->list_message.n);
    parties_put_uint(&o, x->list_to, 1);
    save_records(&o, &x->records);
    save_cells(&o, x);
    parties_put_uint(&o, x->opening, 1);
    parties_put_uint(&o, x->sets.next, 4);
    parties_put_uint(&o, x->open.next, 4);
    parties_put_uint(&o, x->release_parts, 4);
    parties_put_uint(&o, x->release_next, 4);
    for (uint32_t i = 0; i < x->release_parts; i++)
        parties_put_bytes(&o, x->release[i].p, x->release[i].n);
    return parties_out_close(&o);
}

/* ---- load ------------------------------------------------------------------------------------- */

static void load_counts(parties_in *in, fre_synthesis_counts *c)
{
    uint64_t *const all[] = {
        &c->reports, &c->duplicates, &c->shares,         &c->nulls,           &c->unmatched,
        &c->tags,    &c->tags_short, &c->tags_disagreed, &c->tags_overflowed, &c->tags_released};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *all[i] = parties_get_uint(in, 8);
}

/* n items of zeros; without memory the input is bad. */
static void *fresh(parties_in *in, uint64_t n, size_t each, fre_status *st)
{
    void *p = in->bad ? NULL : calloc((size_t)n + 1, each);

    if (!p && !in->bad) {
        *st = FRE_E_NOMEM;
        in->bad = true;
    }
    return p;
}

static void load_batch(parties_in *in, synthesis_batch *b, fre_status *st)
{
    const uint64_t n = parties_get_up_to(in, 4, FRE_WIRE_PARTS_MAX);

    if (n == 0)
        return;
    b->arrived = fresh(in, n, sizeof *b->arrived, st);
    if (!b->arrived)
        return;
    b->count = (uint32_t)n;
    for (uint32_t i = 0; i < n; i++) {
        b->arrived[i] = parties_get_bool(in);
        b->got += b->arrived[i];
    }
}

static void load_entries(parties_in *in, fre_synthesis *x, fre_status *st)
{
    const uint64_t n = parties_get_up_to(in, 8, in->left.n / sizeof *x->entry);

    if (n == 0)
        return;
    x->entry = fresh(in, n, sizeof *x->entry, st);
    if (!x->entry)
        return;
    x->entry_cap = (size_t)n + 1;
    for (; x->entries < n && !in->bad; x->entries++) {
        fre_report *e = &x->entry[x->entries];

        parties_get(in, e->tag.b, sizeof e->tag.b);
        parties_get(in, e->id.b, sizeof e->id.b);
        e->record = (uint32_t)parties_get_uint(in, 4);
    }
}

static void load_list(parties_in *in, fre_synthesis *x, fre_status *st)
{
    parties_get_buf(in, &x->list_message, st);
    if (!in->bad && x->list_message.n > 0 &&
        fre_list_decode(&x->list, &x->base.w, parties_buf_view(&x->list_message), NULL) != FRE_OK)
        in->bad = true;
}

static void load_records(parties_in *in, fre_synthesis *x, fre_status *st)
{
    const size_t each = sizeof(fre_sealed_seed) + fre_wire_share_bytes(&x->base.w);
    const uint64_t n = parties_get_up_to(in, 8, in->left.n / each);

    x->records.each = each;
    for (uint64_t i = 0; i < n && !in->bad; i++) {
        uint8_t *p = synthesis_record_add(&x->records);

        if (p) {
            parties_get(in, p, each);
        } else {
            *st = FRE_E_NOMEM;
            in->bad = true;
        }
    }
    for (size_t i = 0; i < x->entries && !in->bad; i++)
        if (x->entry[i].record > x->records.n)
            in->bad = true;
}

static void load_members(parties_in *in, fre_synthesis *x, const synthesis_cell *c)
{
    for (uint32_t k = 0; k < c->count && !in->bad; k++) {
        synthesis_member *m = &x->member[c->first + k];

        parties_get(in, m->id.b, sizeof m->id.b);
        m->record = (uint32_t)parties_get_up_to(in, 4, x->records.n);
        m->accepted = parties_get_bool(in);
        if (m->accepted && m->record == 0)
            in->bad = true;
    }
}

static void load_cell(parties_in *in, fre_synthesis *x, synthesis_cell *c, fre_status *st)
{
    c->answers = (uint32_t)parties_get_up_to(in, 4, c->count);
    c->accepted = (uint32_t)parties_get_up_to(in, 4, c->count);
    c->asked = parties_get_bool(in);
    c->opened = parties_get_bool(in);
    c->lost = parties_get_bool(in);
    if (parties_get_bool(in)) {
        c->centroid = fresh(in, x->base.w.c.dim, sizeof *c->centroid, st);
        if (c->centroid)
            parties_get(in, c->centroid, x->base.w.c.dim * sizeof *c->centroid);
    }
    load_members(in, x, c);
}

static void load_cells(parties_in *in, fre_synthesis *x, fre_status *st)
{
    const uint64_t n = parties_get_up_to(in, 4, x->list.n);

    if (n == 0)
        return;
    if (n != x->list.n) {
        in->bad = true;
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        x->members += fre_list_at(&x->list, i).count;
    if (x->members > in->left.n / 21) /* of a member here */
        in->bad = true;
    x->cell = fresh(in, n, sizeof *x->cell, st);
    x->member = fresh(in, x->members, sizeof *x->member, st);
    if (!x->cell || !x->member)
        return;
    for (uint32_t i = 0; i < n; i++) {
        x->cell[i].count = fre_list_at(&x->list, i).count;
        x->cell[i].first = i > 0 ? x->cell[i - 1].first + x->cell[i - 1].count : 0;
    }
    for (uint32_t i = 0; i < n && !in->bad; i++)
        load_cell(in, x, &x->cell[i], st);
}

/* Members that a plan goes through are as many as its cells say. */
static bool sums_agree(const fre_synthesis *x)
{
    for (uint32_t i = 0; x->cell && i < x->list.n; i++) {
        const synthesis_cell *c = &x->cell[i];
        uint32_t answers = 0, accepted = 0;

        for (uint32_t k = 0; k < c->count; k++) {
            answers += x->member[c->first + k].record != 0;
            accepted += x->member[c->first + k].accepted;
        }
        if ((c->asked && answers != c->answers) || (c->opened && accepted != c->accepted))
            return false;
    }
    return true;
}

/* Plans follow from the rest; they are made again. */
static void load_plans(parties_in *in, fre_synthesis *x, fre_status *st)
{
    uint32_t sets, open;

    x->opening = parties_get_bool(in);
    sets = (uint32_t)parties_get_uint(in, 4);
    open = (uint32_t)parties_get_uint(in, 4);
    if (in->bad || x->base.stage != FRE_STAGE_SUMMING)
        return;
    if (!x->cell || !sums_agree(x)) {
        in->bad = true;
        return;
    }
    *st = synthesis_plan_sets(x);
    if (*st == FRE_OK && x->opening)
        *st = synthesis_plan_open(x);
    in->bad = *st != FRE_OK || sets > x->sets.parts || open > x->open.parts;
    x->sets.next = sets;
    x->open.next = open;
}

static void load_release(parties_in *in, fre_synthesis *x, fre_status *st)
{
    const uint32_t n = (uint32_t)parties_get_up_to(in, 4, FRE_WIRE_PARTS_MAX);

    x->release_next = (uint32_t)parties_get_up_to(in, 4, n);
    if (n == 0)
        return;
    x->release = fresh(in, n, sizeof *x->release, st);
    for (; x->release && x->release_parts < n; x->release_parts++) {
        fre_buf_init(&x->release[x->release_parts], FRE_WIRE_MESSAGE_MAX);
        parties_get_buf(in, &x->release[x->release_parts], st);
    }
}

fre_status synthesis_load(fre_synthesis *x, fre_bytes state, fre_err *err)
{
    fre_status st = FRE_OK, opened;
    parties_in in;

    opened = parties_in_open(&in, state, &x->base.w, FRE_ROLE_SYN, err);
    if (opened != FRE_OK)
        return opened;
    parties_base_load(&in, &x->base, &st);
    parties_get_buf(&in, &x->statement, &st);
    load_counts(&in, &x->counts);
    x->part_bytes = (size_t)parties_get_uint(&in, 4);
    load_batch(&in, &x->reports, &st);
    load_batch(&in, &x->shares, &st);
    parties_get(&in, x->closed, sizeof x->closed);
    load_entries(&in, x, &st);
    load_list(&in, x, &st);
    x->list_to = (uint32_t)parties_get_uint(&in, 1);
    load_records(&in, x, &st);
    load_cells(&in, x, &st);
    load_plans(&in, x, &st);
    load_release(&in, x, &st);
    return parties_in_end(&in, st, err);
}
