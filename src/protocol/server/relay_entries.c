/* server/relay_entries.c - the entries that the relay holds, and later the answers, and their order when it
 * lets them go. */
#include "relay.h"

static uint8_t *at(const relay *x, uint32_t i)
{
    return x->block[i / RELAY_BLOCK] + (size_t)(i % RELAY_BLOCK) * x->each;
}

static fre_status grow(relay *x)
{
    uint8_t **more;

    if (x->entries < x->blocks * RELAY_BLOCK)
        return FRE_OK;
    more = realloc(x->block, (x->blocks + 1) * sizeof *more);
    if (!more)
        return FRE_E_NOMEM;
    x->block = more;
    x->block[x->blocks] = malloc(RELAY_BLOCK * x->each);
    if (!x->block[x->blocks])
        return FRE_E_NOMEM;
    x->blocks++;
    return FRE_OK;
}

fre_status relay_entry_keep(relay *x, const uint8_t key[SERVER_HASH_BYTES], fre_bytes sealed)
{
    fre_status st;

    if (x->each == 0)
        x->each = sealed.n;
    if (sealed.n == 0 || sealed.n != x->each)
        return FRE_E_DATA;
    st = grow(x);
    if (st == FRE_OK)
        st = server_table_put(&x->known, key, x->entries);
    if (st == FRE_OK)
        memcpy(at(x, x->entries++), sealed.p, sealed.n);
    return st;
}

void relay_entries_wipe(relay *x)
{
    for (size_t i = 0; i < x->blocks; i++)
        fre_wipe_free(x->block[i], RELAY_BLOCK * x->each);
    free(x->block);
    x->block = NULL;
    fre_wipe_free(x->shuffle, x->entries * sizeof *x->shuffle);
    x->shuffle = NULL;
    x->blocks = x->each = 0;
    x->entries = 0;
}

/* ---- the order -------------------------------------------------------------------------------------- */

typedef struct named {
    const uint8_t *key;
    uint32_t entry;
} named;

static int by_key(const void *a, const void *b)
{
    return memcmp(((const named *)a)->key, ((const named *)b)->key, SERVER_HASH_BYTES);
}

/* The same whatever the order in which they came: sorted by their keyed hashes, then shuffled. */
static fre_status sort(const relay *x, named *e)
{
    uint32_t n = 0;

    for (size_t i = 0; i < x->known.map.n; i++)
        if (x->known.value[i] < x->entries)
            e[n++] = (named){fre_map_key(&x->known.map, (uint32_t)i), x->known.value[i]};
    if (n != x->entries)
        return FRE_E_INTERNAL;
    qsort(e, n, sizeof *e, by_key);
    return FRE_OK;
}

static fre_status shuffle(relay *x)
{
    const uint32_t n = x->entries;
    named *e = calloc((size_t)n + 1, sizeof *e);
    fre_rng r;
    fre_status st = e ? sort(x, e) : FRE_E_NOMEM;

    if (st == FRE_OK)
        st = fre_rng_init_seeded(&r, x->order, "relay/shuffle");
    x->shuffle = st == FRE_OK ? calloc((size_t)n + 1, sizeof *x->shuffle) : NULL;
    if (st == FRE_OK && !x->shuffle)
        st = FRE_E_NOMEM;
    for (uint32_t i = 0; st == FRE_OK && i < n; i++)
        x->shuffle[i] = e[i].entry;
    free(e);
    for (uint32_t i = n; st == FRE_OK && i > 1; i--) {
        const uint32_t j = (uint32_t)fre_rng_below(&r, i);
        const uint32_t swap = x->shuffle[i - 1];

        x->shuffle[i - 1] = x->shuffle[j];
        x->shuffle[j] = swap;
    }
    fre_rng_wipe(&r);
    return st;
}

/* No row: the entries and the order make it again. */
static fre_wire_type type_of(const relay *x, const server_out *to)
{
    return to == &x->collected ? FRE_WIRE_COLLECTED : FRE_WIRE_GATHERED;
}

static fre_status make_part(relay *x, server_out *to, uint32_t part)
{
    const fre_wire_type type = type_of(x, to);
    const fre_wire *w = server_wire(&x->base);
    const uint32_t from = (uint32_t)fre_batch_first(w, type, x->entries, part);
    const uint32_t end = (uint32_t)fre_batch_first(w, type, x->entries, (uint64_t)part + 1);
    const size_t bytes = x->each;
    uint8_t *sealed = malloc((end - from) * bytes + 1);
    fre_batch m = {
        .part = {part, to->count}, .sealed = {sealed, (end - from) * bytes}, .n = end - from};
    fre_status st;

    if (!sealed)
        return FRE_E_NOMEM;
    for (uint32_t i = from; i < end; i++)
        memcpy(sealed + (i - from) * bytes, at(x, x->shuffle[i]), bytes);
    st = fre_batch_encode(&to->letter[part].message, w, type, &m, &x->base.sign);
    free(sealed);
    return st;
}

/* Parts that are due, and only those: all of them at once are the entries once more. */
static fre_status make_due_parts(relay *x, server_out *to)
{
    fre_status st = FRE_OK;
    uint32_t i;

    if (to->count == 0)
        st = server_out_reserve(
            to, (uint32_t)fre_batch_parts(server_wire(&x->base), type_of(x, to), x->entries));
    if (st == FRE_OK && !x->shuffle)
        st = shuffle(x);
    i = server_out_due(to, 0);
    for (uint32_t n = 0; st == FRE_OK && i < to->count && n < SERVER_WINDOW; n++) {
        if (to->letter[i].message.n == 0)
            st = make_part(x, to, i);
        i = server_out_due(to, i + 1);
    }
    return st;
}

fre_status relay_flush(relay *x, fre_delta *rows, server_out *to)
{
    fre_rng r;
    fre_status st;

    if (!x->shuffled) {
        st = server_rng(&x->base, &r);
        if (st != FRE_OK)
            return st;
        fre_rng_bytes(&r, x->order, sizeof x->order);
        fre_rng_wipe(&r);
        st = server_row_put(rows, SERVER_ROW_ORDER, server_view(NULL, 0),
                            server_view(x->order, sizeof x->order));
        if (st != FRE_OK)
            return st;
        x->shuffled = true;
    }
    return make_due_parts(x, to);
}

fre_status relay_flushed(relay *x, fre_delta *rows)
{
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < x->known.map.n; i++)
        if (x->known.value[i] < x->entries)
            st = server_row_erase(rows, SERVER_ROW_ENTRY,
                                  server_view(fre_map_key(&x->known.map, (uint32_t)i),
                                              SERVER_HASH_BYTES));
    if (st == FRE_OK)
        st = server_row_erase(rows, SERVER_ROW_ORDER, server_view(NULL, 0));
    if (st != FRE_OK)
        return st;
    fre_wipe(x->order, sizeof x->order);
    x->shuffled = false;
    server_table_wipe(&x->known);
    relay_entries_wipe(x);
    server_out_wipe(&x->collected);
    server_out_wipe(&x->gathered);
    return FRE_OK;
}
