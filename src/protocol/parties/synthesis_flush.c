/* parties/synthesis_flush.c - what the relay hands over.  A part is accepted whole or not at all. */
#include "synthesis.h"

#include <fre/linalg.h>

/* What is restored when a part fails. */
typedef struct checkpoint {
    fre_counters counters;
    fre_synthesis_counts counts;
    size_t reports, records;
} checkpoint;

static void rollback(fre_synthesis *x, const checkpoint *m)
{
    x->base.counters = m->counters;
    x->counts = m->counts;
    synthesis_reports_cut(&x->waiting, m->reports);
    for (uint64_t i = 0; i < x->cells.members; i++)
        if (x->cells.member[i].record > m->records)
            x->cells.member[i].record = 0;
    synthesis_records_cut(&x->records, m->records);
}

/* ---- one contribution --------------------------------------------------------------------------- */

static fre_status keep_record(fre_synthesis *x, uint32_t *record, const fre_contribution *m)
{
    uint8_t *p = x->records.n < UINT32_MAX - 1 ? synthesis_record_add(&x->records) : NULL;

    if (!p)
        return FRE_E_NOMEM;
    memcpy(p, m->seed.b, sizeof m->seed.b);
    memcpy(p + sizeof m->seed.b, m->packed.p, m->packed.n);
    *record = (uint32_t)x->records.n;
    return FRE_OK;
}

static fre_status accept_report(fre_synthesis *x, const fre_contribution *m)
{
    uint32_t record = 0;
    fre_status st = x->base.w.c.one_contact ? keep_record(x, &record, m) : FRE_OK;

    if (st != FRE_OK)
        return st;
    synthesis_reports_add(&x->waiting, &(fre_report){.tag = m->tag, .id = m->id, .record = record});
    x->counts.reports++;
    return FRE_OK;
}

static fre_status accept_share(fre_synthesis *x, const fre_contribution *m)
{
    synthesis_member *member;
    uint32_t cell;
    fre_status st;

    if (m->null) {
        x->counts.nulls++;
        return FRE_OK;
    }
    member =
        synthesis_find(x, &m->tag, &cell) ? synthesis_cells_member(&x->cells, cell, &m->id) : NULL;
    if (!member || member->record != 0) {
        x->counts.unmatched++;
        return FRE_OK;
    }
    st = keep_record(x, &member->record, m);
    if (st == FRE_OK)
        x->counts.shares++;
    return st;
}

/* Bits beyond the last residue are 0; a share with others would spoil the whole sum later. */
static bool share_is_clean(const fre_synthesis *x, const fre_contribution *m)
{
    const fre_wire *w = &x->base.w;
    const size_t used = (size_t)fre_hadamard_dim(w->c.dim) * w->share_bits % 8;

    return m->null || m->packed.n == 0 || used == 0 || m->packed.p[m->packed.n - 1] >> used == 0;
}

static fre_status accept_all(fre_synthesis *x, const fre_flush *f)
{
    const size_t each = fre_wire_sealed_bytes(&x->base.w, f->type);
    fre_buf plain;
    fre_status st =
        f->type == FRE_WIRE_REPORT ? synthesis_reports_reserve(&x->waiting, f->n) : FRE_OK;

    fre_buf_init(&plain, FRE_WIRE_MESSAGE_MAX);
    for (uint32_t i = 0; st == FRE_OK && i < f->n; i++) {
        fre_contribution m = {.null = true};
        fre_status opened = fre_contribution_open(&m, &plain, &x->base.w, f->type, &x->keys.seal,
                                                  parties_view(f->sealed.p + i * each, each), NULL);

        if (opened == FRE_OK && !share_is_clean(x, &m))
            opened = FRE_E_DATA;
        if (opened == FRE_OK)
            st = f->type == FRE_WIRE_REPORT ? accept_report(x, &m) : accept_share(x, &m);
        else if (fre_rejection_of(opened) == FRE_REJECTED_UNAVAILABLE)
            st = opened;
        else
            x->base.counters.rejected[fre_rejection_of(opened)]++;
        fre_wipe(&m, sizeof m);
    }
    fre_buf_wipe(&plain);
    return st;
}

/* ---- one part --------------------------------------------------------------------------------- */

static bool too_many(const fre_synthesis *x, const fre_flush *f)
{
    return (double)x->waiting.n + f->n > parties_reports_max(&x->base.w.c);
}

static fre_rejection report_rejected(const fre_synthesis *x, const fre_flush *f)
{
    uint8_t hash[PARTIES_HASH_BYTES];
    fre_closed closed;

    if (x->base.stage < FRE_STAGE_COUNTING)
        return FRE_REJECTED_PHASE;
    if (x->base.stage > FRE_STAGE_COUNTING)
        return FRE_REJECTED_EXPIRED;
    if (fre_closed_decode(&closed, &x->base.w, f->closed, NULL) != FRE_OK ||
        closed.time < x->base.w.c.tags_close)
        return FRE_REJECTED_DISAGREES;
    parties_hash(hash, &x->base, f->closed);
    if (x->reports.got > 0 && memcmp(hash, x->closed, sizeof hash) != 0)
        return FRE_REJECTED_DISAGREES;
    if (too_many(x, f))
        return FRE_REJECTED_SIZE;
    return synthesis_batch_rejected(&x->reports, f->part);
}

static fre_rejection share_rejected(const fre_synthesis *x, const fre_flush *f)
{
    if (x->base.w.c.one_contact)
        return FRE_REJECTED_MALFORMED;
    if (x->base.stage < FRE_STAGE_SHARES || x->base.now < x->base.w.c.shares_close)
        return FRE_REJECTED_PHASE;
    if (x->base.stage > FRE_STAGE_SHARES)
        return FRE_REJECTED_EXPIRED;
    return synthesis_batch_rejected(&x->shares, f->part);
}

fre_status synthesis_flush(fre_synthesis *x, fre_buf *reply, fre_rejection *why, fre_bytes in)
{
    const checkpoint before = {x->base.counters, x->counts, x->waiting.n, x->records.n};
    synthesis_batch *b;
    fre_rejection code;
    fre_flush f;
    fre_buf receipt;
    fre_status st = fre_flush_decode(&f, &x->base.w, in, NULL);

    if (st != FRE_OK)
        return parties_reject_status(&x->base, reply, why, st);
    b = f.type == FRE_WIRE_REPORT ? &x->reports : &x->shares;
    code = f.type == FRE_WIRE_REPORT ? report_rejected(x, &f) : share_rejected(x, &f);
    if (code != FRE_NOT_REJECTED)
        return parties_reject(&x->base, reply, why, code);
    st = parties_receipt(&x->base, &receipt);
    if (st == FRE_OK)
        st = synthesis_batch_begin(b, f.part.count);
    if (st == FRE_OK)
        st = accept_all(x, &f);
    if (st == FRE_OK) {
        synthesis_batch_arrived(b, f.part);
        if (f.type == FRE_WIRE_REPORT)
            parties_hash(x->closed, &x->base, f.closed);
        st = parties_remember(&x->base, reply, why, in, &receipt);
    } else {
        rollback(x, &before);
    }
    fre_buf_wipe(&receipt);
    return st;
}
