/* parties/synthesis_state.c - S_syn: its beginning, its end, its saved state. */
#include "synthesis.h"

/* ---- end --------------------------------------------------------------------------------------- */

void synthesis_forget(fre_synthesis *x)
{
    synthesis_cells_wipe(&x->cells);
    synthesis_reports_wipe(&x->waiting);
    synthesis_records_wipe(&x->records);
    synthesis_plan_wipe(&x->sets);
    synthesis_plan_wipe(&x->open);
    synthesis_batch_wipe(&x->reports);
    synthesis_batch_wipe(&x->shares);
}

void fre_synthesis_free(fre_synthesis *x)
{
    if (!x)
        return;
    synthesis_forget(x);
    fre_buf_wipe(&x->statement);
    fre_buf_wipe(&x->list_message);
    for (uint32_t i = 0; i < x->release_parts; i++)
        fre_buf_wipe(&x->release[i]);
    free(x->release);
    parties_base_wipe(&x->base);
    fre_wipe_free(x, sizeof *x);
}

fre_status synthesis_void(fre_synthesis *x, fre_cancel_reason reason)
{
    fre_status st = parties_cancel(&x->base, reason, &x->keys.sign);

    if (st != FRE_OK)
        return st;
    synthesis_forget(x);
    parties_forget(&x->base);
    x->base.stage = FRE_STAGE_VOID;
    return FRE_OK;
}

/* ---- beginning --------------------------------------------------------------------------------- */

static fre_status begin(fre_synthesis **out, const fre_collection *c,
                        const fre_synthesis_keys *keys, fre_err *err)
{
    fre_synthesis *x;

    if (memcmp(keys->seal.pk.b, c->syn_seal.b, sizeof c->syn_seal.b) != 0)
        return fre_fail(err, FRE_E_KEY, "the seal key of S_syn is not the collection's");
    if (memcmp(keys->sign.b + 32, c->syn_sign.b, sizeof c->syn_sign.b) != 0)
        return fre_fail(err, FRE_E_KEY, "the signing key of S_syn is not the collection's");
    x = calloc(1, sizeof *x);
    if (!x)
        return FRE_E_NOMEM;
    x->keys = *keys;
    x->part_bytes = SYNTHESIS_PART_BYTES;
    fre_buf_init(&x->statement, FRE_RELEASE_STATEMENT_MAX);
    fre_buf_init(&x->list_message, FRE_WIRE_MESSAGE_MAX);
    *out = x;
    return FRE_OK;
}

fre_status fre_synthesis_new(fre_synthesis **out, const fre_collection *c,
                             const fre_synthesis_keys *keys, fre_bytes statement, fre_rng *rng,
                             fre_err *err)
{
    fre_synthesis *x = NULL;
    fre_status st;

    if (!out || !c || !keys || !rng || (!statement.p && statement.n > 0) ||
        statement.n > FRE_RELEASE_STATEMENT_MAX)
        return FRE_E_ARG;
    st = begin(&x, c, keys, err);
    if (st != FRE_OK)
        return st;
    st = parties_base_init(&x->base, c, FRE_ROLE_SYN, rng, err);
    if (st == FRE_OK && statement.n > 0)
        st = fre_buf_append(&x->statement, statement.p, statement.n);
    if (st == FRE_OK && c->one_contact)
        x->records.each = sizeof(fre_sealed_seed) + fre_wire_share_bytes(&x->base.w);
    if (st == FRE_OK)
        *out = x;
    else
        fre_synthesis_free(x);
    return st;
}

bool synthesis_find(const fre_synthesis *x, const fre_tag *tag, uint32_t *index)
{
    return x->cells.cell && fre_list_index(&x->list, tag, index);
}

fre_status synthesis_make_sets_plan(fre_synthesis *x)
{
    return synthesis_plan_sets(&x->sets, &x->cells, x->part_bytes);
}

fre_status synthesis_make_open_plan(fre_synthesis *x)
{
    return synthesis_plan_open(&x->open, &x->cells, x->part_bytes,
                               SYNTHESIS_SET_BYTES + fre_wire_share_bytes(&x->base.w));
}

/* ---- save ------------------------------------------------------------------------------------- */

static void save_counts(parties_out *o, const fre_synthesis_counts *c)
{
    const uint64_t all[] = {c->reports,         c->duplicates,   c->shares,     c->nulls,
                            c->unmatched,       c->tags,         c->tags_short, c->tags_disagreed,
                            c->tags_overflowed, c->tags_released};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        parties_put_uint(o, all[i], 8);
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
    synthesis_batch_save(&o, &x->reports);
    synthesis_batch_save(&o, &x->shares);
    parties_put(&o, x->closed, sizeof x->closed);
    synthesis_reports_save(&o, &x->waiting);
    parties_put_bytes(&o, x->list_message.p, x->list_message.n);
    parties_put_uint(&o, x->list_to, 1);
    synthesis_records_save(&o, &x->records);
    synthesis_cells_save(&o, &x->cells);
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

static void load_list(parties_in *in, fre_synthesis *x, fre_status *st)
{
    parties_get_buf(in, &x->list_message, st);
    if (!in->bad && x->list_message.n > 0 &&
        fre_list_decode(&x->list, &x->base.w, parties_buf_view(&x->list_message), NULL) != FRE_OK)
        in->bad = true;
}

static void load_records(parties_in *in, fre_synthesis *x, fre_status *st)
{
    x->records.each = sizeof(fre_sealed_seed) + fre_wire_share_bytes(&x->base.w);
    synthesis_records_load(in, &x->records, st);
    for (size_t i = 0; i < x->waiting.n && !in->bad; i++)
        if (x->waiting.entry[i].record > x->records.n)
            in->bad = true;
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
    if (!x->cells.cell || !synthesis_cells_agree(&x->cells)) {
        in->bad = true;
        return;
    }
    *st = synthesis_make_sets_plan(x);
    if (*st == FRE_OK && x->opening)
        *st = synthesis_make_open_plan(x);
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
    x->release = parties_get_zeros(in, n, sizeof *x->release, st);
    for (; x->release && x->release_parts < n; x->release_parts++) {
        fre_buf_init(&x->release[x->release_parts], FRE_WIRE_MESSAGE_MAX);
        parties_get_buf(in, &x->release[x->release_parts], st);
    }
}

static fre_status load(fre_synthesis *x, fre_bytes state, fre_err *err)
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
    synthesis_batch_load(&in, &x->reports, &st);
    synthesis_batch_load(&in, &x->shares, &st);
    parties_get(&in, x->closed, sizeof x->closed);
    synthesis_reports_load(&in, &x->waiting, &st);
    load_list(&in, x, &st);
    x->list_to = (uint32_t)parties_get_uint(&in, 1);
    load_records(&in, x, &st);
    synthesis_cells_load(&in, &x->cells, &x->list, x->base.w.c.dim, x->records.n, &st);
    load_plans(&in, x, &st);
    load_release(&in, x, &st);
    return parties_in_end(&in, st, err);
}

fre_status fre_synthesis_load(fre_synthesis **out, const fre_collection *c,
                              const fre_synthesis_keys *keys, fre_bytes state, fre_err *err)
{
    fre_synthesis *x = NULL;
    fre_status st;

    if (!out || !c || !keys)
        return FRE_E_ARG;
    st = begin(&x, c, keys, err);
    if (st != FRE_OK)
        return st;
    st = parties_base_blank(&x->base, c, FRE_ROLE_SYN, err);
    if (st == FRE_OK)
        st = load(x, state, err);
    if (st == FRE_OK)
        *out = x;
    else
        fre_synthesis_free(x);
    return st;
}
