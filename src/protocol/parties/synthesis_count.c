/* parties/synthesis_count.c - from reports to the list: each report id once, tags with at least tau
 * of them [Fre-E2T, Alg. 2, "heavy"].  Everything else is wiped. */
#include "synthesis.h"

#include <fre/aggregate.h>

static bool same_tag(const fre_report *a, const fre_report *b)
{
    return memcmp(a->tag.b, b->tag.b, sizeof a->tag.b) == 0;
}

static bool same_id(const fre_report *a, const fre_report *b)
{
    return memcmp(a->id.b, b->id.b, sizeof a->id.b) == 0;
}

/* Sorted by tag and id: drops repeated reports and the tags that are too light, keeps the order.
 * Returns how many are left; *duplicates grows by the repeated ones. */
static size_t keep_heavy(fre_report *e, size_t n, uint64_t tau, uint64_t *duplicates)
{
    size_t kept = 0;

    for (size_t i = 0; i < n;) {
        const size_t begin = kept;
        size_t k = i;

        for (; k < n && same_tag(&e[k], &e[i]); k++) {
            if (k > i && same_id(&e[k], &e[k - 1]))
                ++*duplicates;
            else
                e[kept++] = e[k];
            /* e[i] and e[k-1] may have been moved over, but only by themselves: kept <= k. */
        }
        if (!fre_aggregate_released(kept - begin, tau))
            kept = begin;
        i = k;
    }
    return kept;
}

/* Sorted by id and tag: of reports with one id under several tags the first is kept. */
static size_t keep_first(fre_report *e, size_t n, uint64_t *duplicates)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && same_id(&e[i], &e[kept - 1]))
            ++*duplicates;
        else
            e[kept++] = e[i];
    }
    return kept;
}

/* Light tags are never counted, so that one id under a light and a heavy tag counts for the heavy
 * one, whichever came first. */
size_t fre_parties_count(fre_report *r, size_t n, uint64_t tau, uint64_t *duplicates)
{
    uint64_t repeated = 0;
    size_t once;

    synthesis_sort(r, n, false);
    n = keep_heavy(r, n, tau, &repeated);
    synthesis_sort(r, n, true);
    once = keep_first(r, n, &repeated);
    synthesis_sort(r, once, false);
    if (once < n)
        once = keep_heavy(r, once, tau, &repeated);
    if (duplicates)
        *duplicates += repeated;
    return once;
}

static uint32_t count_tags(const fre_report *e, size_t n)
{
    uint32_t tags = 0;

    for (size_t i = 0; i < n; i++)
        tags += i == 0 || !same_tag(&e[i], &e[i - 1]);
    return tags;
}

static fre_status make_cells(fre_synthesis *x, size_t n, uint32_t tags, fre_list_entry *list)
{
    const fre_report *report = x->waiting.entry;
    uint32_t at = 0;
    fre_status st = synthesis_cells_new(&x->cells, tags, n, x->base.w.c.dim);

    if (st != FRE_OK)
        return st;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && !same_tag(&report[i], &report[i - 1]))
            at++;
        if (x->cells.cell[at].count++ == 0)
            x->cells.cell[at].first = i;
        list[at] = (fre_list_entry){.tag = report[i].tag, .count = x->cells.cell[at].count};
        x->cells.member[i] = (synthesis_member){.id = report[i].id, .record = report[i].record};
    }
    return FRE_OK;
}

/* One-shot: only shares of listed tags are kept. */
static fre_status keep_records(fre_synthesis *x)
{
    synthesis_records kept = {.each = x->records.each};

    for (uint64_t i = 0; i < x->cells.members; i++) {
        uint8_t *p;

        if (x->cells.member[i].record == 0)
            continue;
        p = synthesis_record_add(&kept);
        if (!p) {
            synthesis_records_wipe(&kept);
            return FRE_E_NOMEM;
        }
        memcpy(p, synthesis_record(&x->records, x->cells.member[i].record - 1), kept.each);
    }
    synthesis_records_wipe(&x->records);
    x->records = kept;
    for (uint64_t i = 0, at = 0; i < x->cells.members; i++)
        if (x->cells.member[i].record != 0)
            x->cells.member[i].record = (uint32_t)++at;
    return FRE_OK;
}

static fre_status publish(fre_synthesis *x, size_t n, uint32_t tags)
{
    fre_list_entry *list = calloc((size_t)tags + 1, sizeof *list);
    fre_status st = list ? make_cells(x, n, tags, list) : FRE_E_NOMEM;

    if (st != FRE_OK)
        goto out;
    st = fre_list_encode(&x->list_message, &x->base.w, list, tags, &x->keys.sign);
    if (st != FRE_OK)
        goto out;
    st = fre_list_decode(&x->list, &x->base.w, parties_buf_view(&x->list_message), NULL);
    if (st != FRE_OK)
        goto out;
    st = x->base.w.c.one_contact ? keep_records(x)
                                 : fre_wire_derive_share_bits(&x->base.w, &x->list, NULL);
out:
    free(list);
    return st;
}

static void undo(fre_synthesis *x)
{
    synthesis_cells_wipe(&x->cells);
    fre_buf_wipe(&x->list_message);
    x->list = (fre_list){.n = 0};
}

fre_status synthesis_count(fre_synthesis *x)
{
    const fre_collection *c = &x->base.w.c;
    uint64_t duplicates = 0;
    const size_t n = fre_parties_count(x->waiting.entry, x->waiting.n, c->tau, &duplicates);
    const uint32_t tags = count_tags(x->waiting.entry, n);
    fre_status st;

    /* What follows may fail and be tried again; the entries that were dropped are gone for good. */
    x->counts.duplicates += duplicates;
    synthesis_reports_cut(&x->waiting, n);
    if (tags > FRE_LIST_MAX)
        return FRE_E_LIMIT;
    if (n > c->users * c->cells_per_user) /* the relay let somebody report too often */
        return synthesis_void(x, FRE_CANCEL_DISAGREE);
    st = publish(x, n, tags);
    if (st != FRE_OK) {
        undo(x);
        return st;
    }
    synthesis_reports_wipe(&x->waiting);
    if (!c->one_contact)
        x->records.each = sizeof(fre_sealed_seed) + fre_wire_share_bytes(&x->base.w);
    x->counts.tags = tags;
    x->list_to = 1u << FRE_ROLE_TAG | 1u << FRE_ROLE_RELAY;
    x->base.stage = FRE_STAGE_SHARES;
    return FRE_OK;
}
