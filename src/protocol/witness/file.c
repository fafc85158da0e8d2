/* witness/file.c - the log as a file, JSON an object a line. */
#include "witness_private.h"

#include <jansson.h>

/* ---- writing ---------------------------------------------------------------------------------------- */

static fre_status put_entry(fre_buf *out, const fre_log_entry *e)
{
    char id[2 * FRE_HASH_BYTES + 1], hash[2 * FRE_HASH_BYTES + 1];

    fre_hex(id, e->collection.b, FRE_HASH_BYTES);
    fre_hex(hash, e->hash, FRE_HASH_BYTES);
    return fre_buf_printf(out, "{\"entry\": \"%s\", \"collection\": \"%s\", \"hash\": \"%s\"}\n",
                          log_kinds[e->kind], id, hash);
}

static fre_status put_head(fre_buf *out, const log_head *h)
{
    char root[2 * FRE_HASH_BYTES + 1], signature[2 * sizeof h->signature + 1];

    fre_hex(root, h->head.root, FRE_HASH_BYTES);
    fre_hex(signature, h->signature.b, sizeof h->signature);
    return fre_buf_printf(
        out, "{\"size\": %llu, \"root\": \"%s\", \"time\": %lld, \"signature\": \"%s\"}\n",
        (unsigned long long)h->head.size, root, (long long)h->head.time, signature);
}

static fre_status put_witness(fre_buf *out, const log_witness *w, uint64_t size)
{
    char key[2 * sizeof w->key + 1], signature[2 * sizeof w->signature + 1];

    fre_hex(key, w->key.b, sizeof w->key);
    fre_hex(signature, w->signature.b, sizeof w->signature);
    return fre_buf_printf(out, "{\"witness\": \"%s\", \"size\": %llu, \"signature\": \"%s\"}\n",
                          key, (unsigned long long)size, signature);
}

static fre_status put_head_and_witnesses(fre_buf *out, const fre_log *l, size_t head)
{
    fre_status st = put_head(out, &l->head[head]);

    for (size_t i = 0; st == FRE_OK && i < l->witnesses; i++)
        if (l->witness[i].head == head)
            st = put_witness(out, &l->witness[i], l->head[head].head.size);
    return st;
}

static fre_status put_all(fre_buf *out, const fre_log *l)
{
    char key[2 * sizeof l->key + 1];
    uint64_t n = 0;
    fre_status st;

    fre_hex(key, l->key.b, sizeof l->key);
    st = fre_buf_printf(out, "{\"format\": \"fre-e2t log\", \"version\": %d, \"key\": \"%s\"}\n",
                        LOG_VERSION, key);
    for (size_t i = 0; st == FRE_OK && i <= l->heads; i++) {
        const uint64_t end = i < l->heads ? l->head[i].head.size : l->tree.n;

        for (; st == FRE_OK && n < end; n++)
            st = put_entry(out, &l->entry[n]);
        if (st == FRE_OK && i < l->heads)
            st = put_head_and_witnesses(out, l, i);
    }
    return st;
}

fre_status fre_log_write(fre_buf *out, const fre_log *l, fre_err *err)
{
    size_t start;
    fre_status st;

    if (!out || !l)
        return FRE_E_ARG;
    start = out->n;
    st = put_all(out, l);
    if (st == FRE_OK && out->n - start <= LOG_FILE_MAX)
        return st;
    out->n = start;
    return fre_fail(err, st == FRE_OK ? FRE_E_LIMIT : st, "the log does not fit into a file");
}

/* ---- reading ---------------------------------------------------------------------------------------- */

static bool get_hex(uint8_t *out, size_t n, const json_t *o, const char *name)
{
    const char *s = json_string_value(json_object_get(o, name));

    return s && strlen(s) == 2 * n && strspn(s, "0123456789abcdef") == 2 * n &&
           fre_unhex(out, n, s);
}

static bool get_number(int64_t *out, const json_t *o, const char *name)
{
    const json_t *v = json_object_get(o, name);

    *out = json_integer_value(v);
    return json_is_integer(v) && *out >= 0;
}

static fre_status shape(fre_err *err)
{
    return fre_fail(err, FRE_E_DATA, "this is no line of a log");
}

static fre_status take_first(fre_log *l, const json_t *o, fre_err *err)
{
    const char *format = json_string_value(json_object_get(o, "format"));
    int64_t version;
    fre_sign_pk key;

    if (!format || strcmp(format, "fre-e2t log") != 0 || !get_number(&version, o, "version") ||
        json_object_size(o) != 3)
        return fre_fail(err, FRE_E_DATA, "this is no log");
    if (version != LOG_VERSION)
        return fre_fail(err, FRE_E_DATA, "the log has version %lld, and this program knows %d",
                        (long long)version, LOG_VERSION);
    if (!get_hex(key.b, sizeof key.b, o, "key"))
        return shape(err);
    return memcmp(key.b, l->key.b, sizeof key.b) == 0
               ? FRE_OK
               : fre_fail(err, FRE_E_KEY, "this is the log of another key");
}

static fre_status take_entry(fre_log *l, const json_t *o, fre_err *err)
{
    const char *name = json_string_value(json_object_get(o, "entry"));
    fre_log_entry e = {.kind = FRE_LOG_COLLECTION};
    fre_status st;

    while (name && e.kind <= FRE_LOG_RELEASE && strcmp(log_kinds[e.kind], name) != 0)
        e.kind++;
    if (!name || e.kind > FRE_LOG_RELEASE || json_object_size(o) != 3 ||
        !get_hex(e.collection.b, sizeof e.collection.b, o, "collection") ||
        !get_hex(e.hash, sizeof e.hash, o, "hash"))
        return shape(err);
    st = fre_log_append(l, &e, err);
    return st == FRE_E_REFUSED ? FRE_E_DATA : st;
}

static fre_status take_head(fre_log *l, const json_t *o, fre_err *err)
{
    int64_t size;
    log_head h;

    if (json_object_size(o) != 4 || !get_number(&size, o, "size") ||
        !get_number(&h.head.time, o, "time") ||
        !get_hex(h.head.root, sizeof h.head.root, o, "root") ||
        !get_hex(h.signature.b, sizeof h.signature.b, o, "signature"))
        return shape(err);
    h.head.size = (uint64_t)size;
    return log_add_head(l, &h, err);
}

static fre_status take_witness(fre_log *l, const json_t *o, fre_err *err)
{
    int64_t size;
    log_witness w;

    if (json_object_size(o) != 3 || !get_number(&size, o, "size") ||
        !get_hex(w.key.b, sizeof w.key.b, o, "witness") ||
        !get_hex(w.signature.b, sizeof w.signature.b, o, "signature"))
        return shape(err);
    w.head = l->heads;
    while (w.head > 0 && l->head[w.head - 1].head.size > (uint64_t)size)
        w.head--;
    if (w.head == 0 || l->head[--w.head].head.size != (uint64_t)size)
        return fre_fail(err, FRE_E_DATA, "a witness has signed a head that is not there");
    return log_add_witness(l, &w, err);
}

static fre_status take_line(fre_log *l, const char *p, size_t n, bool first, fre_err *err)
{
    json_t *o = json_loadb(p, n, JSON_REJECT_DUPLICATES, NULL);
    fre_status st;

    if (!json_is_object(o))
        st = shape(err);
    else if (first)
        st = take_first(l, o, err);
    else if (json_object_get(o, "entry"))
        st = take_entry(l, o, err);
    else
        st = json_object_get(o, "witness") ? take_witness(l, o, err) : take_head(l, o, err);
    json_decref(o);
    return st;
}

static fre_status take_all(fre_log *l, fre_bytes in, fre_err *err)
{
    fre_err why = {.text = ""};
    size_t line = 0;
    fre_status st = FRE_OK;

    for (size_t at = 0, end; st == FRE_OK && (at < in.n || line == 0); at = end + 1) {
        const uint8_t *stop = in.n > at ? memchr(in.p + at, '\n', in.n - at) : NULL;

        if (!stop)
            return fre_fail(err, FRE_E_DATA, "the log ends in the middle of line %zu", line + 1);
        end = (size_t)(stop - in.p);
        st = take_line(l, (const char *)in.p + at, end - at, line++ == 0, &why);
    }
    return st == FRE_OK ? st
                        : fre_fail(err, st, "line %zu of the log: %s", line,
                                   why.text[0] ? why.text : fre_status_text(st));
}

fre_status fre_log_read(fre_log **out, fre_bytes in, const fre_sign_pk *key, fre_err *err)
{
    fre_log *l = NULL;
    fre_status st;

    if (!out || !key || (in.n > 0 && !in.p))
        return FRE_E_ARG;
    if (in.n > LOG_FILE_MAX)
        return fre_fail(err, FRE_E_LIMIT, "the log is longer than 64 MiB");
    st = fre_log_new(&l, key, err);
    if (st == FRE_OK)
        st = take_all(l, in, err);
    if (st == FRE_OK)
        *out = l;
    else
        fre_log_free(l);
    return st;
}
