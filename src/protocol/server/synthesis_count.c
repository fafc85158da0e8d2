/* server/syn_count.c - which entries count: of one id's the one of least (tag, hash of the seed), and
 * only under tags with at least tau of them.  Everything else is deleted with the key that opened it. */
#include "synthesis.h"

/* An opened entry without its share. */
typedef struct record {
    fre_report_id id;
    fre_tag tag;
    uint8_t hash[SERVER_HASH_BYTES]; /* of the sealed seed */
    uint32_t part, entry;
} record;

_Static_assert(sizeof(record) == 72, "ids, tags and hashes lie side by side");

typedef struct work {
    fre_batch *batch; /* by part */
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
    record *r;
    fre_status st = fre_grow((void **)&all->r, &all->cap, all->n + 1, sizeof *all->r);

    if (st != FRE_OK)
        return st;
    r = &all->r[all->n++];
    *r = (record){.id = m->id, .tag = m->tag, .part = part, .entry = entry};
    server_sha256(hash, server_view(m->seed.b, sizeof m->seed.b));
    memcpy(r->hash, hash, sizeof r->hash);
    return FRE_OK;
}

/* Entries that do not open are junk of somebody, and leave no trace. */
static fre_status open_part(synthesis *x, work *all, uint32_t part)
{
    const fre_wire *w = server_wire(&x->base);
    const size_t each = fre_entry_sealed_bytes(w, FRE_WIRE_ENTRY);
    fre_batch *m = &all->batch[part];
    fre_buf plain;
    fre_entry e;
    fre_status st = fre_batch_decode(m, w, FRE_WIRE_MIXED,
                                     server_buf_view(&x->mixed.part[part].bytes), NULL);

    fre_buf_init(&plain, FRE_WIRE_MESSAGE_MAX);
    for (uint32_t i = 0; st == FRE_OK && i < m->n; i++) {
        st = fre_entry_open(&e, &plain, w, FRE_WIRE_ENTRY, &x->seal,
                            server_view(m->sealed.p + (size_t)i * each, each), NULL);
        if (st == FRE_OK)
            st = add(all, &e, part, i);
        else if (st == FRE_E_REFUSED || st == FRE_E_DATA)
            st = FRE_OK;
    }
    fre_buf_wipe(&plain);
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

static fre_status keep_member(synthesis *x, fre_delta *rows, const work *k, const record *r,
                              fre_buf *plain)
{
    const fre_wire *w = server_wire(&x->base);
    const size_t each = fre_entry_sealed_bytes(w, FRE_WIRE_ENTRY);
    const uint32_t at = x->members;
    const uint8_t key[4] = {(uint8_t)(at >> 24), (uint8_t)(at >> 16), (uint8_t)(at >> 8),
                            (uint8_t)at};
    synthesis_member m;
    fre_entry e;
    fre_buf value;
    fre_status st =
        fre_entry_open(&e, plain, w, FRE_WIRE_ENTRY, &x->seal,
                       server_view(k->batch[r->part].sealed.p + (size_t)r->entry * each, each), NULL);

    if (st != FRE_OK)
        return st;
    m = (synthesis_member){.tag = e.tag, .id = e.id, .proof = e.proof, .seed = e.seed};
    fre_buf_init(&value, FRE_WIRE_MESSAGE_MAX);
    st = fre_buf_append(&value, &m, sizeof m);
    if (st == FRE_OK)
        st = fre_buf_append(&value, e.packed.p, e.packed.n);
    if (st == FRE_OK)
        st = server_row_put(rows, SERVER_ROW_MEMBER, server_view(key, sizeof key),
                            server_buf_view(&value));
    if (st == FRE_OK)
        st = syn_member_set(x, at, server_buf_view(&value));
    fre_buf_wipe(&value);
    return st;
}

static fre_status keep_members(synthesis *x, fre_delta *rows, const work *k)
{
    fre_buf plain;
    fre_status st = FRE_OK;

    fre_buf_init(&plain, FRE_WIRE_MESSAGE_MAX);
    for (size_t i = 0; st == FRE_OK && i < k->n; i++)
        st = keep_member(x, rows, k, &k->r[i], &plain);
    fre_buf_wipe(&plain);
    return st;
}

fre_status syn_count(synthesis *x, fre_delta *rows)
{
    work k = {.batch = calloc(x->mixed.count, sizeof *k.batch)};
    fre_status st = k.batch ? FRE_OK : FRE_E_NOMEM;

    for (uint32_t i = 0; st == FRE_OK && i < x->mixed.count; i++)
        st = open_part(x, &k, i);
    if (st == FRE_OK) {
        choose(&k, server_wire(&x->base)->c.tau);
        st = keep_members(x, rows, &k);
    }
    fre_wipe_free(k.r, k.cap * sizeof *k.r);
    free(k.batch);
    if (st != FRE_OK)
        return st;
    x->counted = true;
    fre_hpke_keypair_wipe(&x->seal);
    st = server_parts_used(&x->mixed, rows);
    if (st == FRE_OK)
        st = syn_make_vouch(x, rows);
    return st == FRE_OK ? server_move(&x->base, rows, FRE_PHASE_SUMMING) : st;
}
