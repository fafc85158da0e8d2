/* store.c - deltas, merged and sealed, to one transaction; rows, opened, to whoever asks. */
#include "store_private.h"

/* A change of a row, before it is sealed. */
typedef struct change {
    uint8_t id[STORE_ID_BYTES];
    size_t order;
    fre_row row;
} change;
typedef struct changes {
    change *c;
    size_t n, cap;
} changes;

/* Where a sentence goes that may be asked for: err, or where there is none, mine. */
static fre_err *blank(fre_err *err, fre_err *mine)
{
    fre_err *to = err ? err : mine;

    to->text[0] = '\0';
    return to;
}

static fre_status says(fre_err *err, fre_status st)
{
    return err->text[0] ? st : fre_fail(err, st, "the store: %s", fre_status_text(st));
}

static fre_status usable(const fre_store *s, fre_err *err)
{
    return s->broken
               ? fre_fail(err, FRE_E_STATE, "the store failed before and has to be opened anew")
               : FRE_OK;
}

/* ---- opening ------------------------------------------------------------------------------------- */

static fre_status open_kind(fre_store **out, const fre_store_opts *o, fre_err *err)
{
    static const char file[] = "sqlite:";
    uint8_t machine[STORE_MACHINE_BYTES];

    memcpy(machine, o->collection, sizeof *o->collection);
    machine[STORE_MACHINE_BYTES - 1] = (uint8_t)o->role;
    if (strncmp(o->where, file, strlen(file)) == 0 && o->where[strlen(file)])
        return store_open_sqlite(out, o->where + strlen(file), machine, err);
    if (strncmp(o->where, "postgresql://", 13) == 0 || strncmp(o->where, "postgres://", 11) == 0)
        return store_open_postgres(out, o->where, machine, err);
    return fre_fail(err, FRE_E_ARG, "the store must be sqlite:FOLDER or postgresql://...");
}

fre_status fre_store_open(fre_store **out, const fre_store_opts *o, fre_err *err)
{
    fre_err mine;
    fre_store *s = NULL;
    fre_status st;

    if (!out || !o || !o->where || !o->collection || !o->key || o->role < FRE_ROLE_TAG ||
        o->role > FRE_ROLE_ISSUER)
        return FRE_E_ARG;
    err = blank(err, &mine);
    st = open_kind(&s, o, err);
    if (st != FRE_OK)
        return says(err, st);
    st = store_keys_make(&s->keys, o->key);
    if (st != FRE_OK) {
        fre_store_close(s);
        return says(err, st);
    }
    *out = s;
    return FRE_OK;
}

void fre_store_close(fre_store *s)
{
    if (!s)
        return;
    store_keys_free(s->keys);
    s->ops->close(s);
}

/* ---- changing ------------------------------------------------------------------------------------ */

static fre_status gather(changes *all, const fre_store *s, const fre_delta *d)
{
    size_t at = 0;
    fre_row row;
    fre_status st = FRE_OK;

    while (st == FRE_OK && fre_delta_next(d, &at, &row)) {
        st = fre_grow((void **)&all->c, &all->cap, all->n + 1, sizeof *all->c);
        if (st != FRE_OK)
            break;
        all->c[all->n] = (change){.order = all->n, .row = row};
        store_row_id(all->c[all->n++].id, s->keys, &row);
    }
    return st;
}

static int by_id(const void *a, const void *b)
{
    const change *p = a, *q = b;
    const int order = memcmp(p->id, q->id, sizeof p->id);

    return order != 0 ? order : (p->order > q->order) - (p->order < q->order);
}

/* Of each row the last change is left; the order in which they came is not. */
static void merge(changes *all)
{
    size_t n = 0;

    if (all->n > 0)
        qsort(all->c, all->n, sizeof *all->c, by_id);
    for (size_t i = 0; i < all->n; i++)
        if (i + 1 == all->n || memcmp(all->c[i].id, all->c[i + 1].id, STORE_ID_BYTES) != 0)
            all->c[n++] = all->c[i];
    all->n = n;
}

static fre_status seal_one(store_chunk *chunk, fre_buf *bytes, const fre_store *s, const change *c)
{
    store_item *item = &chunk->item[chunk->n];
    fre_status st = FRE_OK;

    *item = (store_item){.erase = c->row.erase, .at = bytes->n};
    memcpy(item->id, c->id, sizeof item->id);
    if (!item->erase)
        st = store_row_seal(bytes, s, c->id, &c->row);
    item->n = bytes->n - item->at;
    chunk->n += st == FRE_OK;
    return st;
}

static fre_status apply(fre_store *s, const changes *all, fre_err *err)
{
    store_chunk chunk = {.item = calloc(all->n < STORE_CHUNK_ROWS ? all->n + 1 : STORE_CHUNK_ROWS,
                                        sizeof *chunk.item)};
    fre_buf bytes;
    fre_status st = chunk.item ? FRE_OK : FRE_E_NOMEM;

    fre_buf_init(&bytes, SIZE_MAX / 2);
    for (size_t i = 0; st == FRE_OK && i < all->n; i++) {
        st = seal_one(&chunk, &bytes, s, &all->c[i]);
        if (st != FRE_OK ||
            (i + 1 < all->n && chunk.n < STORE_CHUNK_ROWS && bytes.n < STORE_CHUNK_BYTES))
            continue;
        chunk.bytes = bytes.p;
        st = s->ops->apply(s, &chunk, err);
        chunk.n = bytes.n = 0;
    }
    fre_buf_wipe(&bytes);
    free(chunk.item);
    return st;
}

static fre_status transaction(fre_store *s, const changes *c, bool all, fre_err *err)
{
    fre_status st = s->ops->begin(s, all, err);

    if (st == FRE_OK)
        st = apply(s, c, err);
    return st == FRE_OK ? s->ops->commit(s, err) : st;
}

static fre_status change_all(fre_store *s, const fre_delta *const *d, size_t n, bool all,
                             fre_err *err)
{
    fre_err mine;
    changes c = {.n = 0};
    fre_status st = FRE_OK;

    if (!s || (n > 0 && !d))
        return FRE_E_ARG;
    st = usable(s, err);
    if (st != FRE_OK)
        return st;
    err = blank(err, &mine);
    for (size_t i = 0; st == FRE_OK && i < n; i++)
        st = d[i] ? gather(&c, s, d[i]) : FRE_E_ARG;
    merge(&c);
    if (st == FRE_OK && (c.n > 0 || all))
        st = transaction(s, &c, all, err);
    fre_wipe_free(c.c, c.cap * sizeof *c.c);
    if (st == FRE_OK)
        return st;
    s->broken = true;
    return says(err, st);
}

fre_status fre_store_commit(fre_store *s, const fre_delta *const *deltas, size_t n, fre_err *err)
{
    return change_all(s, deltas, n, false, err);
}

fre_status fre_store_replace(fre_store *s, const fre_delta *d, fre_err *err)
{
    return change_all(s, &d, 1, true, err);
}

/* ---- reading ------------------------------------------------------------------------------------- */

typedef struct reading {
    const fre_store *s;
    fre_status (*fn)(void *ctx, const fre_row *row);
    void *ctx;
    fre_buf plain;
    bool foreign; /* a row that is not ours */
} reading;

static fre_status seen(void *ctx, fre_bytes id, fre_bytes sealed)
{
    reading *r = ctx;
    fre_row row;
    fre_status st = store_row_open(&row, &r->plain, r->s, id, sealed);

    r->foreign = st == FRE_E_DATA;
    return st == FRE_OK ? r->fn(r->ctx, &row) : st;
}

fre_status fre_store_load(fre_store *s, fre_status (*fn)(void *ctx, const fre_row *row), void *ctx,
                          fre_err *err)
{
    fre_err mine;
    reading r = {.s = s, .fn = fn, .ctx = ctx};
    fre_status st;

    if (!s || !fn)
        return FRE_E_ARG;
    st = usable(s, err);
    if (st != FRE_OK)
        return st;
    err = blank(err, &mine);
    fre_buf_init(&r.plain, SIZE_MAX / 2);
    st = s->ops->load(s, seen, &r, err);
    fre_buf_wipe(&r.plain);
    if (st == FRE_OK)
        return st;
    s->broken = true;
    return r.foreign ? fre_fail(err, st,
                                "the store has a row that this key did not write: another key, or "
                                "somebody changed it")
                     : says(err, st);
}

fre_status fre_store_destroy(fre_store *s, fre_err *err)
{
    fre_err mine;
    fre_status st;

    if (!s)
        return FRE_E_ARG;
    err = blank(err, &mine);
    st = s->ops->destroy(s, err);
    fre_store_close(s);
    return st == FRE_OK ? st : says(err, st);
}
