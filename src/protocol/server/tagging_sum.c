/* server/tagging_sum.c - opens the seeds of exactly those whom the issuer kept, and sums what they expand
 * to, with this server's noise where servers add it.  Each tag and each id once; a tag with fewer than
 * tau opened seeds is not there, nor with two contacts one that the list counts otherwise than the issuer
 * vouches, or of which too few answered.  A tag may go on over parts.  Splits: those who were opened are cut
 * into thirds, by a seed drawn then, and each has its sum and noise. */
#include "tagging.h"

typedef struct opened_set {
    uint32_t part;
    fre_summed_set set; /* ids, packed: owned */
} opened_set;

typedef struct work {
    opened_set *set;
    size_t n, cap;
    server_table seen; /* ids */
    fre_tag tag;
    fre_report_id id; /* the last member of all */
    size_t first;     /* the tag's first set */
    uint64_t vouched; /* ids of the tag so far; of these ... */
    fre_report_id *who;   /* ... opened */
    fre_share_seed *seed; /* SECRET; theirs */
    size_t opened, who_cap, seed_cap;
    uint32_t cell;    /* that most of them name ... */
    uint64_t votes;   /* ... by so many more than others */
    uint32_t *sum;    /* D words */
    fre_share_expander *expander;
    fre_rng rng; /* this server's noise */
    bool any, ok;
} work;

static fre_status work_init(work *k, tagging *x)
{
    const fre_share_cell *cell = &x->base.a->cell;
    const uint32_t bits = server_wire(&x->base)->share_bits;
    fre_status st = server_rng(&x->base, &k->rng);

    if (st != FRE_OK)
        return st;
    k->ok = true;
    k->sum = calloc(cell->padded, sizeof *k->sum);
    return k->sum ? fre_share_expander_new(&k->expander, cell->padded, bits) : FRE_E_NOMEM;
}

static void work_wipe(work *k, const tagging *x)
{
    for (size_t i = 0; i < k->n; i++) {
        free((void *)(uintptr_t)k->set[i].set.id);
        free((void *)(uintptr_t)k->set[i].set.packed.p);
    }
    free(k->set);
    free(k->who);
    fre_wipe_free(k->seed, k->seed_cap * sizeof *k->seed);
    server_table_wipe(&k->seen);
    fre_wipe_free(k->sum, x->base.a->cell.padded * sizeof *k->sum);
    fre_share_expander_free(k->expander);
    fre_rng_wipe(&k->rng);
}

/* Of those in a third, or third NULL of all, with noise. */
static fre_status pack_sum(uint8_t *out, const tagging *x, work *k, const uint8_t *third,
                           unsigned which)
{
    const fre_agreement *a = x->base.a;
    const fre_wire *w = server_wire(&x->base);
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < k->opened; i++)
        if (!third || third[i] == which)
            st = fre_share_expander_add(k->expander, k->sum, &k->seed[i]);
    if (a->w.c.server_noise && !a->exact)
        fre_share_add_noise(k->sum, a->cell.padded, &a->cell, &k->rng);
    if (st == FRE_OK)
        st = fre_share_pack(out, fre_wire_share_bytes(w), k->sum, a->cell.padded, w->share_bits);
    fre_wipe(k->sum, a->cell.padded * sizeof *k->sum);
    return st;
}

/* What cuts them is drawn now that all of them are opened. */
static fre_status pack_thirds(uint8_t *out, const tagging *x, work *k)
{
    const fre_wire *w = server_wire(&x->base);
    uint8_t *third = malloc(k->opened);
    fre_split_seed seed;
    fre_status st = third ? FRE_OK : FRE_E_NOMEM;

    fre_rng_bytes(&k->rng, &seed, sizeof seed);
    memcpy(out, &seed, sizeof seed);
    if (st == FRE_OK)
        st = fre_split_ids(third, w, &seed, k->who, k->opened);
    for (unsigned i = 0; st == FRE_OK && i < 3; i++)
        st = pack_sum(out + sizeof seed + i * fre_wire_share_bytes(w), x, k, third, i);
    free(third);
    return st;
}

static fre_status pack(tagging *x, work *k, fre_summed_set *last)
{
    const uint32_t sums =
        fre_cell_sums(&x->base.a->m, server_count(&x->base, &k->tag, k->opened));
    const size_t bytes = fre_wire_sums_bytes(server_wire(&x->base), sums);
    uint8_t *packed = malloc(bytes);

    if (!packed)
        return FRE_E_NOMEM;
    last->packed = server_view(packed, bytes);
    last->cell = k->cell;
    return sums == 1 ? pack_sum(packed, x, k, NULL, 0) : pack_thirds(packed, x, k);
}

/* The tag is over: its sum goes with its last set, or none of it is there. */
static fre_status close_tag(tagging *x, work *k)
{
    const bool enough = k->opened >= server_ids_needed(&x->base, &k->tag) &&
                        k->vouched == server_count(&x->base, &k->tag, k->vouched);
    fre_status st = FRE_OK;

    for (size_t i = k->first; i < k->n && !enough; i++)
        k->set[i].part = UINT32_MAX;
    if (enough)
        st = pack(x, k, &k->set[k->n - 1].set);
    if (k->seed)
        fre_wipe(k->seed, k->opened * sizeof *k->seed);
    k->first = k->n;
    k->vouched = k->votes = 0;
    k->opened = 0;
    return st;
}

/* Boyer and Moore's majority: all honest members of a tag name one cell. */
static void vote(work *k, uint32_t cell)
{
    if (k->votes == 0)
        k->cell = cell;
    k->votes = k->cell == cell ? k->votes + 1 : k->votes - 1;
}

static fre_status keep_opened(work *k, const fre_report_id *id, const fre_share_seed *seed)
{
    fre_status st = fre_grow((void **)&k->who, &k->who_cap, k->opened + 1, sizeof *k->who);

    if (st == FRE_OK)
        st = fre_grow((void **)&k->seed, &k->seed_cap, k->opened + 1, sizeof *k->seed);
    if (st != FRE_OK)
        return st;
    k->who[k->opened] = *id;
    k->seed[k->opened++] = *seed;
    return FRE_OK;
}

static fre_status open_one(bool *yes, tagging *x, work *k, const fre_tag *tag,
                           const fre_report_id *id, const fre_sealed_entry_seed *sealed)
{
    uint8_t name[SERVER_HASH_BYTES];
    fre_share_seed seed;
    fre_place place;
    fre_status st;

    *yes = false;
    server_hash(name, &x->base, server_view(id->b, sizeof id->b));
    if (server_table_find(&k->seen, name))
        return FRE_OK;
    st = fre_entry_seed_open(&seed, &place, server_wire(&x->base), &x->seal, tag, id, sealed);
    if (st == FRE_E_REFUSED || st == FRE_E_DATA)
        return FRE_OK;
    if (st == FRE_OK)
        st = server_table_put(&k->seen, name, 0);
    if (st == FRE_OK)
        st = keep_opened(k, id, &seed);
    fre_share_seed_wipe(&seed);
    *yes = st == FRE_OK;
    if (*yes)
        vote(k, place.cell);
    fre_wipe(&place, sizeof place);
    return st;
}

static fre_status open_set(tagging *x, work *k, const fre_vouched_set *asked,
                           const fre_sealed_entry_seed *seed, uint32_t part)
{
    fre_report_id *id = malloc(asked->n * sizeof *id);
    uint32_t n = 0;
    fre_status st =
        id ? fre_grow((void **)&k->set, &k->cap, k->n + 1, sizeof *k->set) : FRE_E_NOMEM;

    for (uint32_t i = 0; st == FRE_OK && i < asked->n; i++) {
        bool yes;

        st = open_one(&yes, x, k, &asked->tag, &asked->id[i], &seed[i]);
        if (yes)
            id[n++] = asked->id[i];
    }
    if (st != FRE_OK) {
        free(id);
        return st;
    }
    k->set[k->n++] = (opened_set){.part = part, .set = {.tag = asked->tag, .n = n, .id = id}};
    k->vouched += asked->n;
    return FRE_OK;
}

static bool in_order(const work *k, const fre_vouched_set *s)
{
    const int order = k->any ? memcmp(k->tag.b, s->tag.b, sizeof s->tag.b) : -1;

    return order < 0 || (order == 0 && memcmp(k->id.b, s->id[0].b, sizeof k->id.b) < 0);
}

static fre_status read_part(tagging *x, work *k, uint32_t part)
{
    fre_vouched_set s;
    fre_unseal m;
    size_t at = 0;
    fre_status st = fre_unseal_decode(&m, server_wire(&x->base),
                                      server_buf_view(&x->asked.part[part].bytes), NULL);

    while (st == FRE_OK && k->ok && fre_vouched_next(&m.sets, &s)) {
        k->ok = in_order(k, &s);
        if (!k->ok)
            break;
        if (k->any && memcmp(k->tag.b, s.tag.b, sizeof s.tag.b) != 0)
            st = close_tag(x, k);
        if (st == FRE_OK)
            st = open_set(x, k, &s, m.seed + at, part);
        at += s.n;
        k->tag = s.tag;
        k->id = s.id[s.n - 1];
        k->any = true;
    }
    return st;
}

static fre_status answer_part(tagging *x, fre_delta *rows, const work *k, uint32_t part)
{
    fre_summed_set *set = calloc(k->n + 1, sizeof *set);
    uint32_t n = 0;
    fre_buf message;
    fre_status st;

    if (!set)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < k->n; i++)
        if (k->set[i].part == part)
            set[n++] = k->set[i].set;
    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    st = fre_summed_encode(&message, server_wire(&x->base), (fre_part){part, x->asked.count}, set, n,
                           &x->base.sign);
    if (st == FRE_OK)
        st = server_out_add(&x->summed, rows, &message);
    fre_buf_wipe(&message);
    free(set);
    return st;
}

fre_status tagging_sum(tagging *x, fre_delta *rows, bool *ok)
{
    work k = {.n = 0};
    fre_status st = work_init(&k, x);

    for (uint32_t i = 0; st == FRE_OK && k.ok && i < x->asked.count; i++)
        st = read_part(x, &k, i);
    if (st == FRE_OK && k.any)
        st = close_tag(x, &k);
    for (uint32_t i = 0; st == FRE_OK && k.ok && i < x->asked.count; i++)
        st = answer_part(x, rows, &k, i);
    if (st == FRE_OK && k.ok)
        tagging_marks(x, FRE_MARK_SUM, &x->summed);
    *ok = k.ok;
    work_wipe(&k, x);
    return st;
}
