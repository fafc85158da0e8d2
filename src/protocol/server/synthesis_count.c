/* server/synthesis_count.c - which entries count: of one id's the one of least (tag, hash of seed and
 * proof), and only under tags with at least tau of them.  Everything else is deleted
 * with the key that opened it. */
#include "synthesis.h"

/* An opened entry without its share. */
typedef struct record {
    fre_report_id id;
    fre_tag tag;
    uint8_t hash[SERVER_HASH_BYTES]; /* of sealed seed and proof */
    uint32_t part, entry;
} record;

_Static_assert(sizeof(record) == 72, "ids, tags and hashes lie side by side");

typedef struct work {
    synthesis_opening *opening; /* by part */
    record *r;
    size_t n, cap;
} work;

/* id, tag, hash: one key of 64 bytes. */
static int by_id(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(fre_report_id) + sizeof(fre_tag) + SERVER_HASH_BYTES);
}

static int by_tag(const void *a, const void *b)
{
    const record *p = a, *q = b;
    const int order = memcmp(p->tag.b, q->tag.b, sizeof p->tag.b);

    return order != 0 ? order : memcmp(p->id.b, q->id.b, sizeof p->id.b);
}

static fre_status add(work *all, const fre_entry *m, uint32_t part, uint32_t entry)
{
    uint8_t hash[FRE_HASH_BYTES];
    fre_sha256 h;
    record *r;
    fre_status st = fre_grow((void **)&all->r, &all->cap, all->n + 1, sizeof *all->r);

    if (st != FRE_OK)
        return st;
    r = &all->r[all->n++];
    *r = (record){.id = m->id, .tag = m->tag, .part = part, .entry = entry};
    fre_sha256_begin(&h, server_view(m->seed.b, sizeof m->seed.b));
    fre_sha256_add(&h, m->proof.b, sizeof m->proof.b);
    fre_sha256_end(hash, &h);
    memcpy(r->hash, hash, sizeof r->hash);
    return FRE_OK;
}

/* ---- a batch, opened ------------------------------------------------------------------------------- */

fre_status syn_opening(synthesis_opening *o, const synthesis *x, const server_part *part,
                       fre_wire_type type)
{
    *o = (synthesis_opening){.type = type};
    fre_buf_init(&o->plain, FRE_WIRE_MESSAGE_MAX);
    return fre_batch_decode(&o->batch, server_wire(&x->base),
                            type == FRE_WIRE_ENTRY ? FRE_WIRE_MIXED : FRE_WIRE_GATHERED,
                            server_buf_view(&part->bytes), NULL);
}

fre_status syn_open_at(synthesis_opening *o, const synthesis *x, fre_entry *out, uint32_t i)
{
    const fre_wire *w = server_wire(&x->base);
    const size_t each = fre_entry_sealed_bytes(w, o->type);

    return fre_entry_open(out, &o->plain, w, o->type, &x->seal,
                          server_view(o->batch.sealed.p + (size_t)i * each, each), NULL);
}

/* What does not open is junk of somebody, and leaves no trace. */
fre_status syn_open_next(synthesis_opening *o, const synthesis *x, fre_entry *out, bool *more)
{
    *more = false;
    while (o->next < o->batch.n) {
        const fre_status st = syn_open_at(o, x, out, o->next++);

        *more = st == FRE_OK;
        if (st != FRE_E_REFUSED && st != FRE_E_DATA)
            return st;
    }
    return FRE_OK;
}

void syn_opening_wipe(synthesis_opening *o)
{
    fre_buf_wipe(&o->plain);
}

/* ---- who counts ------------------------------------------------------------------------------------ */

static fre_status open_part(synthesis *x, work *all, uint32_t part)
{
    synthesis_opening *o = &all->opening[part];
    fre_entry e;
    bool more = true;
    fre_status st = syn_opening(o, x, &x->mixed.part[part], FRE_WIRE_ENTRY);

    while (st == FRE_OK && more) {
        st = syn_open_next(o, x, &e, &more);
        if (st == FRE_OK && more)
            st = add(all, &e, part, o->next - 1);
    }
    return st;
}

/* Each id once, then tags with at least tau. */
static void choose(work *all, uint64_t tau)
{
    size_t n = 0, from, to;

    qsort(all->r, all->n, sizeof *all->r, by_id);
    for (size_t i = 0; i < all->n; i++)
        if (n == 0 || memcmp(all->r[n - 1].id.b, all->r[i].id.b, sizeof all->r[i].id.b) != 0)
            all->r[n++] = all->r[i];
    qsort(all->r, n, sizeof *all->r, by_tag);
    all->n = 0;
    for (from = 0; from < n; from = to) {
        for (to = from + 1;
             to < n && memcmp(all->r[from].tag.b, all->r[to].tag.b, sizeof(fre_tag)) == 0; to++)
            ;
        if (to - from >= tau) {
            memmove(all->r + all->n, all->r + from, (to - from) * sizeof *all->r);
            all->n += to - from;
        }
    }
}

/* ---- members --------------------------------------------------------------------------------------- */

static fre_status keep_member(synthesis *x, fre_delta *rows, const work *k, const record *r)
{
    synthesis_member m;
    fre_entry e;
    fre_status st = syn_open_at(&k->opening[r->part], x, &e, r->entry);

    if (st != FRE_OK)
        return st;
    m = (synthesis_member){.tag = e.tag, .id = e.id, .proof = e.proof, .seed = e.seed};
    return syn_member_keep(x, rows, x->members, &m, e.packed);
}

static void work_wipe(work *k, uint32_t parts)
{
    for (uint32_t i = 0; k->opening && i < parts; i++)
        syn_opening_wipe(&k->opening[i]);
    free(k->opening);
    fre_wipe_free(k->r, k->cap * sizeof *k->r);
}

/* One contact: its last use is over. */
static void wipe_seal(synthesis *x)
{
    if (server_wire(&x->base)->c.one_contact)
        fre_hpke_keypair_wipe(&x->seal);
}

fre_status syn_count(synthesis *x, fre_delta *rows)
{
    const uint32_t parts = x->mixed.count;
    work k = {.opening = calloc(parts, sizeof *k.opening)};
    fre_status st = k.opening ? FRE_OK : FRE_E_NOMEM;
    bool lifted;

    for (uint32_t i = 0; st == FRE_OK && i < parts; i++)
        st = open_part(x, &k, i);
    if (st == FRE_OK)
        choose(&k, server_wire(&x->base)->c.tau);
    lifted = k.n > server_records(&x->base); /* dummies have fewer than tau a tag */
    for (size_t i = 0; st == FRE_OK && !lifted && i < k.n; i++)
        st = keep_member(x, rows, &k, &k.r[i]);
    work_wipe(&k, parts);
    if (st != FRE_OK)
        return st;
    if (lifted)
        return server_void(&x->base, rows, FRE_CANCEL_DISAGREE);
    x->counted = true;
    wipe_seal(x);
    st = server_parts_used(&x->mixed, rows);
    if (st == FRE_OK)
        st = syn_make_vouch(x, rows);
    return st == FRE_OK ? server_move(&x->base, rows, FRE_PHASE_SUMMING) : st;
}
