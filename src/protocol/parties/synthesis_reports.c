/* parties/synthesis_reports.c - tag, id and share of every report that came, 52 bytes each. */
#include "synthesis_reports.h"

void synthesis_reports_wipe(synthesis_reports *r)
{
    fre_wipe_free(r->entry, r->cap * sizeof *r->entry);
    *r = (synthesis_reports){.entry = NULL};
}

fre_status synthesis_reports_reserve(synthesis_reports *r, size_t more)
{
    size_t cap = r->n + more;
    fre_report *e;

    if (cap <= r->cap)
        return FRE_OK;
    cap += cap / 4;
    /* Not realloc: tags must not be left behind in memory that was given back. */
    e = malloc(cap * sizeof *e);
    if (!e)
        return FRE_E_NOMEM;
    if (r->n > 0)
        memcpy(e, r->entry, r->n * sizeof *e);
    fre_wipe_free(r->entry, r->n * sizeof *e);
    r->entry = e;
    r->cap = cap;
    return FRE_OK;
}

void synthesis_reports_add(synthesis_reports *r, const fre_report *report)
{
    r->entry[r->n++] = *report;
}

void synthesis_reports_cut(synthesis_reports *r, size_t n)
{
    if (r->entry)
        fre_wipe(r->entry + n, (r->n - n) * sizeof *r->entry);
    r->n = n;
}

void synthesis_reports_save(parties_out *o, const synthesis_reports *r)
{
    parties_put_uint(o, r->n, 8);
    for (size_t i = 0; i < r->n; i++) {
        parties_put(o, r->entry[i].tag.b, sizeof r->entry[i].tag.b);
        parties_put(o, r->entry[i].id.b, sizeof r->entry[i].id.b);
        parties_put_uint(o, r->entry[i].record, 4);
    }
}

void synthesis_reports_load(parties_in *in, synthesis_reports *r, fre_status *st)
{
    const uint64_t n = parties_get_up_to(in, 8, in->left.n / sizeof *r->entry);

    if (n == 0)
        return;
    r->entry = parties_get_zeros(in, n, sizeof *r->entry, st);
    if (!r->entry)
        return;
    r->cap = (size_t)n + 1;
    for (; r->n < n && !in->bad; r->n++) {
        fre_report *e = &r->entry[r->n];

        parties_get(in, e->tag.b, sizeof e->tag.b);
        parties_get(in, e->id.b, sizeof e->id.b);
        e->record = (uint32_t)parties_get_uint(in, 4);
    }
}
