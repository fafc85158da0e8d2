/* witness/log.c - what may be added to a log, and whether it can be trusted. */
#include "witness_private.h"

const char *const log_kinds[FRE_LOG_RELEASE + 1] = {NULL, "collection", "closed", "list",
                                                    "release"};

/* ---- making and looking ------------------------------------------------------------------------- */

fre_status fre_log_new(fre_log **out, const fre_sign_pk *key, fre_err *err)
{
    fre_log *l;
    fre_status st;

    if (!out || !key)
        return FRE_E_ARG;
    l = calloc(1, sizeof *l);
    if (!l)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for the log");
    l->key = *key;
    st = fre_text_map_init(&l->entries);
    if (st == FRE_OK)
        st = fre_text_map_init(&l->signed_by);
    if (st != FRE_OK) {
        fre_log_free(l);
        return fre_fail(err, st, "no log can be made: %s", fre_status_text(st));
    }
    *out = l;
    return FRE_OK;
}

void fre_log_free(fre_log *l)
{
    if (!l)
        return;
    fre_text_map_wipe(&l->entries);
    fre_text_map_wipe(&l->signed_by);
    free(l->entry);
    free(l->head);
    free(l->witness);
    free(l);
}

uint64_t fre_log_entries(const fre_log *l)
{
    return l->tree.n;
}

const fre_log_entry *fre_log_entry_view(const fre_log *l, uint64_t i)
{
    return i < l->tree.n ? &l->entry[i] : NULL;
}

bool fre_log_last_head(const fre_log *l, fre_log_head *out)
{
    if (l->heads == 0)
        return false;
    *out = l->head[l->heads - 1].head;
    return true;
}

#define NAME_BYTES (1 + sizeof(fre_collection_id))

static void name_of(uint8_t out[NAME_BYTES], const fre_collection_id *id, fre_log_kind kind)
{
    out[0] = (uint8_t)kind;
    memcpy(out + 1, id->b, sizeof id->b);
}

/* Index of that entry; FRE_MAP_NONE: there is none. */
static uint32_t find(const fre_log *l, const fre_collection_id *id, fre_log_kind kind)
{
    uint8_t name[NAME_BYTES];

    name_of(name, id, kind);
    return fre_text_map_find(&l->entries, name, sizeof name);
}

/* ---- adding --------------------------------------------------------------------------------------- */

fre_status fre_log_append(fre_log *l, const fre_log_entry *e, fre_err *err)
{
    uint8_t name[NAME_BYTES];
    uint32_t index;
    bool added;
    fre_status st;

    if (!l || !e || e->kind < FRE_LOG_COLLECTION || e->kind > FRE_LOG_RELEASE)
        return FRE_E_ARG;
    if (find(l, &e->collection, e->kind) != FRE_MAP_NONE)
        return fre_fail(err, FRE_E_REFUSED, "the log has an entry '%s' of this collection",
                        log_kinds[e->kind]);
    if (e->kind == FRE_LOG_COLLECTION && memcmp(e->hash, e->collection.b, sizeof e->hash) != 0)
        return fre_fail(err, FRE_E_REFUSED, "the hash of a collection is its id");
    if (e->kind != FRE_LOG_COLLECTION &&
        find(l, &e->collection, FRE_LOG_COLLECTION) == FRE_MAP_NONE)
        return fre_fail(err, FRE_E_REFUSED, "the log has no entry of the collection itself");
    st = fre_grow((void **)&l->entry, &l->entry_cap, (size_t)l->tree.n + 1, sizeof *l->entry);
    name_of(name, &e->collection, e->kind);
    if (st == FRE_OK)
        st = fre_text_map_put(&l->entries, &index, &added, name, sizeof name);
    if (st != FRE_OK)
        return fre_fail(err, st, "out of memory for the log");
    l->entry[l->tree.n] = *e;
    log_tree_add(&l->tree, e);
    return FRE_OK;
}

void log_head_bytes(uint8_t out[LOG_HEAD_BYTES], const fre_log_head *h)
{
    for (unsigned i = 0; i < 8; i++) {
        out[i] = (uint8_t)(h->size >> (56 - 8 * i));
        out[8 + FRE_HASH_BYTES + i] = (uint8_t)((uint64_t)h->time >> (56 - 8 * i));
    }
    memcpy(out + 8, h->root, FRE_HASH_BYTES);
}

static fre_status verify(const fre_sign_pk *key, const fre_signature *s, const char *label,
                         const fre_log_head *h)
{
    uint8_t bytes[LOG_HEAD_BYTES];

    log_head_bytes(bytes, h);
    return fre_sign_verify(key, s, label, (fre_bytes){bytes, sizeof bytes});
}

static fre_status sign(fre_signature *out, const fre_sign_sk *sk, const char *label,
                       const fre_log_head *h)
{
    uint8_t bytes[LOG_HEAD_BYTES];

    log_head_bytes(bytes, h);
    return fre_sign_statement(out, sk, label, (fre_bytes){bytes, sizeof bytes});
}

fre_status log_add_head(fre_log *l, const log_head *h, fre_err *err)
{
    uint8_t root[FRE_HASH_BYTES];
    fre_status st;

    log_tree_root(root, &l->tree);
    if (h->head.size != l->tree.n || memcmp(root, h->head.root, sizeof root) != 0)
        return fre_fail(err, FRE_E_DATA, "a head is not of the entries before it");
    if (h->head.time < 1 || (l->heads > 0 && h->head.time < l->head[l->heads - 1].head.time))
        return fre_fail(err, FRE_E_DATA, "a head is older than the one before it");
    st = verify(&l->key, &h->signature, LOG_LABEL, &h->head);
    if (st != FRE_OK)
        return fre_fail(err, st == FRE_E_REFUSED ? FRE_E_DATA : st,
                        "a head has no signature of the log's key");
    st = fre_grow((void **)&l->head, &l->head_cap, l->heads + 1, sizeof *l->head);
    if (st != FRE_OK)
        return fre_fail(err, st, "out of memory for the log");
    l->head[l->heads++] = *h;
    return FRE_OK;
}

fre_status log_add_witness(fre_log *l, const log_witness *w, fre_err *err)
{
    uint8_t name[8 + sizeof w->key];
    uint32_t index;
    bool added = false;
    fre_status st = verify(&w->key, &w->signature, WITNESS_LABEL, &l->head[w->head].head);

    if (st != FRE_OK)
        return fre_fail(err, st == FRE_E_REFUSED ? FRE_E_DATA : st,
                        "a witness's signature is not of that head");
    for (unsigned i = 0; i < 8; i++)
        name[i] = (uint8_t)((uint64_t)w->head >> 8 * i);
    memcpy(name + 8, w->key.b, sizeof w->key);
    st = fre_grow((void **)&l->witness, &l->witness_cap, l->witnesses + 1, sizeof *l->witness);
    if (st == FRE_OK)
        st = fre_text_map_put(&l->signed_by, &index, &added, name, sizeof name);
    if (st != FRE_OK)
        return fre_fail(err, st, "out of memory for the log");
    if (!added)
        return fre_fail(err, FRE_E_DATA, "a witness has signed a head twice");
    l->witness[l->witnesses++] = *w;
    return FRE_OK;
}

fre_status fre_log_sign(fre_log *l, const fre_sign_sk *sk, int64_t time, fre_err *err)
{
    log_head h;
    fre_status st;

    if (!l || !sk || time < 1)
        return FRE_E_ARG;
    if (memcmp(sk->b + 32, l->key.b, sizeof l->key.b) != 0)
        return fre_fail(err, FRE_E_KEY, "this is not the key of the log");
    h.head = (fre_log_head){.size = l->tree.n, .time = time};
    log_tree_root(h.head.root, &l->tree);
    st = sign(&h.signature, sk, LOG_LABEL, &h.head);
    return st == FRE_OK ? log_add_head(l, &h, err) : st;
}

fre_status fre_log_witness(fre_log *l, const fre_sign_sk *sk, const fre_log_head *seen,
                           fre_err *err)
{
    log_witness w;
    fre_status st;

    if (!l || !sk)
        return FRE_E_ARG;
    if (l->heads == 0)
        return fre_fail(err, FRE_E_REFUSED, "the log has no head that could be signed");
    w.head = l->heads - 1;
    if (seen && (!fre_log_begins_with(l, seen) || l->head[w.head].head.time < seen->time))
        return fre_fail(err, FRE_E_REFUSED,
                        "the log does not go on from the head that was signed before: keep both");
    memcpy(w.key.b, sk->b + 32, sizeof w.key.b);
    if (memcmp(w.key.b, l->key.b, sizeof w.key.b) == 0)
        return fre_fail(err, FRE_E_KEY, "the log's own key is no witness of it");
    st = sign(&w.signature, sk, WITNESS_LABEL, &l->head[w.head].head);
    return st == FRE_OK ? log_add_witness(l, &w, err) : st;
}

/* ---- trusting --------------------------------------------------------------------------------------- */

bool fre_log_begins_with(const fre_log *l, const fre_log_head *seen)
{
    uint8_t root[FRE_HASH_BYTES];
    log_tree t = {.n = 0};

    if (seen->size > l->tree.n)
        return false;
    for (uint64_t i = 0; i < seen->size; i++)
        log_tree_add(&t, &l->entry[i]);
    log_tree_root(root, &t);
    return memcmp(root, seen->root, sizeof root) == 0;
}

/* Witnesses are different, and none is the log itself. */
static bool is_fit(const fre_log *l, const fre_log_trust *t)
{
    if (!t->witness || t->need < 1 || t->need > t->n || t->max_age < 1)
        return false;
    for (size_t i = 0; i < t->n; i++) {
        if (memcmp(t->witness[i].b, l->key.b, sizeof l->key.b) == 0)
            return false;
        for (size_t k = 0; k < i; k++)
            if (memcmp(t->witness[i].b, t->witness[k].b, sizeof l->key.b) == 0)
                return false;
    }
    return true;
}

static bool is_trusted(const fre_log_trust *t, const fre_sign_pk *key)
{
    bool found = false;

    for (size_t i = 0; i < t->n; i++)
        found |= memcmp(t->witness[i].b, key->b, sizeof key->b) == 0;
    return found;
}

/* *out: the last head of at least `size` entries that enough witnesses signed; NULL: there is none. */
static fre_status trusted(const fre_log_head **out, const fre_log *l, uint64_t size,
                          const fre_log_trust *t)
{
    size_t *signers = calloc(l->heads + 1, sizeof *signers);

    if (!signers)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < l->witnesses; i++)
        signers[l->witness[i].head] += is_trusted(t, &l->witness[i].key);
    *out = NULL;
    for (size_t i = l->heads; !*out && i-- > 0 && l->head[i].head.size >= size;)
        if (signers[i] >= t->need)
            *out = &l->head[i].head;
    free(signers);
    return FRE_OK;
}

/* In the log, and nothing there says that it is over. */
static fre_status is_open(const fre_log *l, const fre_collection_id *id, fre_err *err)
{
    if (find(l, id, FRE_LOG_COLLECTION) == FRE_MAP_NONE)
        return fre_fail(err, FRE_E_REFUSED, "the collection is not in the log");
    for (unsigned kind = FRE_LOG_CLOSED; kind <= FRE_LOG_RELEASE; kind++)
        if (find(l, id, (fre_log_kind)kind) != FRE_MAP_NONE)
            return fre_fail(err, FRE_E_REFUSED,
                            "the collection is over: the log has its entry '%s'", log_kinds[kind]);
    return FRE_OK;
}

fre_status fre_log_trusts(fre_log_head *out, const fre_log *l, const fre_collection_id *id,
                          const fre_log_trust *t, fre_err *err)
{
    const fre_log_head *h;
    uint32_t at;
    fre_status st;

    if (!out || !l || !id || !t || !is_fit(l, t))
        return FRE_E_ARG;
    if (t->seen && !fre_log_begins_with(l, t->seen))
        return fre_fail(
            err, FRE_E_REFUSED,
            "the log is not the one of before: its operator shows people different logs, or "
            "has lost entries");
    at = find(l, id, FRE_LOG_COLLECTION);
    st = is_open(l, id, err);
    if (st != FRE_OK)
        return st;
    st = trusted(&h, l, (uint64_t)at + 1, t);
    if (st != FRE_OK)
        return fre_fail(err, st, "out of memory for the log");
    if (!h || (t->seen && h->size < t->seen->size))
        return fre_fail(err, FRE_E_REFUSED,
                        "too few witnesses have signed a log with the collection in it");
    if (h->time < t->now - t->max_age || h->time > t->now + t->max_age ||
        (t->seen && h->time < t->seen->time))
        return fre_fail(
            err, FRE_E_REFUSED,
            "what witnesses signed last is too old (or this clock is wrong): fetch the log again");
    *out = *h;
    return FRE_OK;
}
