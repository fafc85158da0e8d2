/* parties/tagging_sums.c - S_tag's half of the sums: which seeds open, and the sums of exactly the
 * sets that both servers agree on.  Each id once, each tag once. */
#include "tagging.h"

#include <fre/linalg.h>

/* ---- sets -> accepted ------------------------------------------------------------------------- */

/* What one message of sets would change; nothing is changed before all of it is known. */
typedef struct sets_work {
    fre_id_set *set;   /* the answer: one set for each */
    uint32_t *cell;    /* of each, or UINT32_MAX */
    fre_report_id *id; /* accepted ids, one set after another */
    size_t *digest;    /* of each: its index in the registry, spent */
    parties_table ids;
    uint32_t sets, members, accepted;
    uint64_t refused, unregistered;
    uint32_t last_cell;
    fre_report_id last_id;
} sets_work;

static void sets_work_wipe(sets_work *w)
{
    free(w->set);
    free(w->cell);
    free(w->id);
    free(w->digest);
    parties_table_wipe(&w->ids);
}

static fre_status sets_work_init(sets_work *w, const fre_tagging *x, fre_sets all)
{
    fre_set set;

    *w = (sets_work){.sets = all.n, .last_cell = x->last_cell, .last_id = x->last_id};
    while (fre_sets_next(&all, &set))
        w->members += set.n;
    w->set = calloc((size_t)w->sets + 1, sizeof *w->set);
    w->cell = calloc((size_t)w->sets + 1, sizeof *w->cell);
    w->id = calloc((size_t)w->members + 1, sizeof *w->id);
    w->digest = calloc((size_t)w->members + 1, sizeof *w->digest);
    if (!w->set || !w->cell || !w->id || !w->digest)
        return FRE_E_NOMEM;
    return parties_table_reserve(&w->ids, w->members);
}

/* Opens the seed of one member, if the relay carried it and its id is new, and adds it at the end.
 * Each digest once: whoever knows two keys can seal one seed so that it opens under both. */
static fre_status accept_member(fre_tagging *x, sets_work *w, const fre_tag *tag,
                                const fre_set_member *m, bool *accepted)
{
    tagging_member *next = &x->seeds.member[x->seeds.members + w->accepted];
    uint8_t key[PARTIES_HASH_BYTES];
    fre_seed_digest digest;
    size_t at;
    fre_status st;

    *accepted = false;
    fre_seed_digest_of(&digest, &x->base.w, &m->seed);
    if (!tagging_registry_find(&x->registry, &digest, &at)) {
        w->unregistered++;
        return FRE_OK;
    }
    parties_hash(key, &x->base, parties_view(m->id.b, sizeof m->id.b));
    if (parties_table_find(&x->seeds.ids, key) || parties_table_find(&w->ids, key))
        return FRE_OK;
    st = fre_seed_open(&next->seed, &x->base.w, &x->keys.seal, tag, &m->id, &m->seed);
    if (st != FRE_OK) /* all but REFUSED and DATA are ours */
        return fre_rejection_of(st) == FRE_REJECTED_UNAVAILABLE ? st : FRE_OK;
    next->id = m->id;
    w->digest[w->accepted] = at;
    w->id[w->accepted++] = m->id;
    x->registry.spent[at] = 1;
    parties_table_insert(&w->ids, key, 0);
    *accepted = true;
    return FRE_OK;
}

/* One set.  *ordered: false if it does not follow the one before, over all parts. */
static fre_status accept_set(fre_tagging *x, sets_work *w, uint32_t i, const fre_set *set,
                             bool *ordered)
{
    uint32_t cell, room = 0, n = 0;
    fre_status st = FRE_OK;

    w->set[i] = (fre_id_set){.tag = set->tag, .n = 0, .id = &w->id[w->accepted]};
    w->cell[i] = UINT32_MAX;
    if (fre_list_index(&x->list, &set->tag, &cell)) {
        *ordered = cell + 1 > w->last_cell ||
                   (cell + 1 == w->last_cell &&
                    memcmp(set->member[0].id.b, w->last_id.b, sizeof w->last_id.b) > 0);
        if (!*ordered)
            return FRE_OK;
        w->last_cell = cell + 1;
        w->last_id = set->member[set->n - 1].id;
        w->cell[i] = cell;
        /* No more answers than reports were counted. */
        room = fre_list_at(&x->list, cell).count - x->seeds.cell[cell].n;
    }
    for (uint32_t k = 0; k < set->n && n < room && st == FRE_OK; k++) {
        bool accepted;

        st = accept_member(x, w, &set->tag, &set->member[k], &accepted);
        n += accepted;
    }
    w->set[i].n = n;
    w->refused += set->n - n;
    return st;
}

static void sets_commit(fre_tagging *x, const sets_work *w)
{
    uint64_t at = x->seeds.members;
    size_t slot = 0;

    for (uint32_t i = 0; i < w->sets; i++) {
        tagging_cell *cell;

        if (w->cell[i] == UINT32_MAX)
            continue;
        cell = &x->seeds.cell[w->cell[i]];
        if (cell->n == 0)
            cell->first = at;
        cell->n += w->set[i].n;
        at += w->set[i].n;
    }
    x->seeds.members = at;
    for (uint32_t i = fre_map_next(&w->ids.map, &slot); i != FRE_MAP_NONE;
         i = fre_map_next(&w->ids.map, &slot))
        parties_table_insert(&x->seeds.ids, fre_map_key(&w->ids.map, i), 0);
    x->last_cell = w->last_cell;
    x->last_id = w->last_id;
    x->seeds_refused += w->refused;
    x->unregistered += w->unregistered;
}

static void sets_undo(fre_tagging *x, const sets_work *w)
{
    fre_wipe(&x->seeds.member[x->seeds.members], w->accepted * sizeof *x->seeds.member);
    for (uint32_t i = 0; i < w->accepted; i++)
        x->registry.spent[w->digest[i]] = 0;
}

/* The answer to decoded sets, and their effect.  *ordered false: nothing was done. */
static fre_status sets_answer(fre_tagging *x, fre_buf *answer, fre_sets all, bool *ordered)
{
    const fre_part part = all.part;
    sets_work w;
    fre_set set;
    fre_status st = sets_work_init(&w, x, all);

    *ordered = true;
    for (uint32_t i = 0; st == FRE_OK && *ordered && fre_sets_next(&all, &set); i++)
        st = accept_set(x, &w, i, &set, ordered);
    if (st == FRE_OK && *ordered)
        st = parties_table_reserve(&x->seeds.ids, w.ids.map.n);
    if (st == FRE_OK && *ordered)
        st = fre_id_sets_encode(answer, &x->base.w, FRE_WIRE_ACCEPTED, part, w.set, w.sets,
                                &x->keys.sign);
    if (st == FRE_OK && *ordered)
        sets_commit(x, &w);
    else
        sets_undo(x, &w);
    sets_work_wipe(&w);
    return st;
}

/* Sets wait for the registry, which says what seeds may be opened. */
static fre_rejection sets_rejected(const fre_tagging *x, fre_part part)
{
    if (!tagging_sums_are_due(x) || !tagging_registry_is_whole(&x->registry))
        return FRE_REJECTED_PHASE;
    return parties_part_rejected(&x->sets, part);
}

fre_status tagging_sets(fre_tagging *x, fre_buf *reply, fre_rejection *why, fre_bytes in)
{
    fre_sets all;
    fre_buf back;
    fre_rejection code;
    bool ordered;
    fre_status st = fre_sets_decode(&all, &x->base.w, in, NULL);

    if (st != FRE_OK)
        return parties_reject_status(&x->base, reply, why, st);
    if (x->base.stage == FRE_STAGE_DONE)
        return parties_reject(&x->base, reply, why, FRE_REJECTED_REPLAYED);
    code = sets_rejected(x, all.part);
    if (code != FRE_NOT_REJECTED)
        return parties_reject(&x->base, reply, why, code);
    st = parties_prepare(&x->base);
    if (st != FRE_OK)
        return st;
    fre_buf_init(&back, FRE_WIRE_MESSAGE_MAX);
    st = sets_answer(x, &back, all, &ordered);
    if (st == FRE_OK && !ordered) {
        st = parties_reject(&x->base, reply, why, FRE_REJECTED_DISAGREES);
    } else if (st == FRE_OK) {
        parties_part_done(&x->sets, all.part);
        x->base.stage = FRE_STAGE_SUMMING;
        st = parties_remember(&x->base, reply, why, in, &back);
    }
    fre_buf_wipe(&back);
    return st;
}

/* ---- open -> sums ----------------------------------------------------------------------------- */

/* May this set be summed?  Both thresholds apply to what would be summed, not to what arrived. */
static bool may_open(const fre_tagging *x, const fre_id_set *set, uint32_t *cell)
{
    uint32_t k = 0;

    if (!fre_list_index(&x->list, &set->tag, cell) || x->seeds.cell[*cell].spent)
        return false;
    if (set->n < fre_parties_answers_needed(&x->base.w.c, fre_list_at(&x->list, *cell).count))
        return false;
    for (uint32_t i = 0; i < set->n; i++)
        if (!tagging_seeds_next(&x->seeds, *cell, &k, &set->id[i]))
            return false;
    return true;
}

typedef struct open_work {
    uint32_t *sum; /* D words */
    uint8_t *packed;
    fre_sum *out;
    fre_share_expander *expander;
    size_t d, bytes;
    uint32_t n;
} open_work;

static void open_work_wipe(open_work *w)
{
    fre_wipe_free(w->sum, w->d * sizeof *w->sum);
    free(w->packed);
    free(w->out);
    fre_share_expander_free(w->expander);
}

static fre_status open_work_init(open_work *w, const fre_tagging *x, uint32_t sets)
{
    *w = (open_work){.d = fre_hadamard_dim(x->base.w.c.dim),
                     .bytes = fre_wire_share_bytes(&x->base.w)};
    w->sum = calloc(w->d, sizeof *w->sum);
    w->packed = calloc((size_t)sets + 1, w->bytes);
    w->out = calloc((size_t)sets + 1, sizeof *w->out);
    if (!w->sum || !w->packed || !w->out)
        return FRE_E_NOMEM;
    return fre_share_expander_new(&w->expander, w->d, x->base.w.share_bits);
}

static fre_status sum_set(const fre_tagging *x, open_work *w, const fre_id_set *set, uint32_t cell)
{
    uint8_t *packed = w->packed + w->n * w->bytes;
    uint32_t k = 0;
    fre_status st = FRE_OK;

    memset(w->sum, 0, w->d * sizeof *w->sum);
    for (uint32_t i = 0; i < set->n && st == FRE_OK; i++) {
        const tagging_member *m =
            tagging_seeds_next(&x->seeds, cell, &k, &set->id[i]); /* may_open found all */

        st = m ? fre_share_expander_add(w->expander, w->sum, &m->seed) : FRE_E_INTERNAL;
    }
    if (st == FRE_OK)
        st = fre_share_pack(packed, w->bytes, w->sum, w->d, x->base.w.share_bits);
    w->out[w->n++] =
        (fre_sum){.tag = set->tag, .answers = set->n, .packed = parties_view(packed, w->bytes)};
    return st;
}

/* More sums than one answer holds: an honest S_syn asks for fewer at a time. */
static bool too_many(const fre_tagging *x, const fre_id_sets *all)
{
    const size_t each = FRE_OPRF_TAG_BYTES + 4 + fre_wire_share_bytes(&x->base.w);
    const size_t rest = FRE_WIRE_HEAD_BYTES + 12 + FRE_WIRE_SIGNATURE_BYTES;

    return all->n > (FRE_WIRE_MESSAGE_MAX - rest) / each;
}

/* These tags are finished: their seeds are wiped, and no second set can be asked for. */
static void open_commit(fre_tagging *x, fre_id_sets all, uint32_t opened)
{
    fre_id_set set;
    uint32_t i;

    x->opened += opened;
    x->refused += all.n - opened;
    while (fre_id_sets_next(&all, &set)) {
        if (!fre_list_index(&x->list, &set.tag, &i))
            continue;
        tagging_seeds_spend(&x->seeds, i);
    }
}

static fre_status open_answer(fre_tagging *x, fre_buf *answer, const fre_id_sets *all)
{
    fre_id_sets left = *all;
    open_work w;
    fre_id_set set;
    uint32_t cell;
    fre_status st = open_work_init(&w, x, all->n);

    while (st == FRE_OK && fre_id_sets_next(&left, &set))
        if (may_open(x, &set, &cell))
            st = sum_set(x, &w, &set, cell);
    if (st == FRE_OK)
        st = fre_sums_encode(answer, &x->base.w, all->part, w.out, w.n, &x->keys.sign);
    if (st == FRE_OK)
        open_commit(x, *all, w.n);
    open_work_wipe(&w);
    return st;
}

fre_status tagging_open(fre_tagging *x, fre_buf *reply, fre_rejection *why, fre_bytes in)
{
    fre_id_sets all;
    fre_buf back;
    fre_rejection code;
    fre_status st = fre_id_sets_decode(&all, &x->base.w, FRE_WIRE_OPEN, in, NULL);

    if (st != FRE_OK)
        return parties_reject_status(&x->base, reply, why, st);
    if (x->base.stage == FRE_STAGE_DONE)
        return parties_reject(&x->base, reply, why, FRE_REJECTED_REPLAYED);
    /* Only when all sets are known is it certain that an id is in one of them alone. */
    code = x->base.stage == FRE_STAGE_SUMMING && x->sets.index == x->sets.count
               ? parties_part_rejected(&x->open, all.part)
               : FRE_REJECTED_PHASE;
    if (code == FRE_NOT_REJECTED && too_many(x, &all))
        code = FRE_REJECTED_SIZE;
    if (code != FRE_NOT_REJECTED)
        return parties_reject(&x->base, reply, why, code);
    st = parties_prepare(&x->base);
    if (st != FRE_OK)
        return st;
    fre_buf_init(&back, FRE_WIRE_MESSAGE_MAX);
    st = open_answer(x, &back, &all);
    if (st == FRE_OK) {
        parties_part_done(&x->open, all.part);
        if (x->open.index == x->open.count) {
            tagging_forget(x);
            x->base.stage = FRE_STAGE_DONE;
        }
        st = parties_remember(&x->base, reply, why, in, &back);
    }
    fre_buf_wipe(&back);
    return st;
}
