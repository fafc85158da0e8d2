/* parties/state.c - saved states:  version (1), role (1), collection id (32), fields, then a hash of
 * all that, which finds damage, not forgery: a state is as secret as the machine. */
#include "parties_private.h"

#define STATE_VERSION 2u
#define STATE_HEAD 34u
#define SUM_BYTES 16u

static void checksum(uint8_t out[SUM_BYTES], const uint8_t *p, size_t n)
{
    static const uint8_t key[32] = "fre-e2t rounds: a saved state";

    fre_hash128(out, key, p, n);
}

/* ---- writer --------------------------------------------------------------------------------- */

parties_out parties_out_open(fre_buf *b, const fre_wire *w, uint8_t role)
{
    parties_out o = {.b = b, .start = b->n, .st = FRE_OK};

    parties_put_uint(&o, STATE_VERSION, 1);
    parties_put_uint(&o, role, 1);
    parties_put(&o, w->id.b, sizeof w->id.b);
    return o;
}

void parties_put(parties_out *o, const void *p, size_t n)
{
    if (o->st == FRE_OK && n > 0)
        o->st = fre_buf_append(o->b, p, n);
}

void parties_put_uint(parties_out *o, uint64_t v, unsigned bytes)
{
    uint8_t b[8];

    for (unsigned i = 0; i < bytes; i++)
        b[i] = (uint8_t)(v >> (8 * (bytes - 1 - i)));
    parties_put(o, b, bytes);
    fre_wipe(b, sizeof b);
}

void parties_put_bytes(parties_out *o, const void *p, size_t n)
{
    parties_put_uint(o, n, 8);
    parties_put(o, p, n);
}

void parties_put_table(parties_out *o, const parties_table *t)
{
    size_t at = 0;

    parties_put_uint(o, t->map.n, 8);
    /* In the order of the hashes: the one in which messages came is nobody's business. */
    for (uint32_t i = fre_map_next(&t->map, &at); i != FRE_MAP_NONE;
         i = fre_map_next(&t->map, &at)) {
        parties_put(o, fre_map_key(&t->map, i), PARTIES_HASH_BYTES);
        parties_put_uint(o, (uint64_t)t->value[i] + 1, 4);
    }
}

fre_status parties_out_close(parties_out *o)
{
    uint8_t sum[SUM_BYTES];

    if (o->st == FRE_OK) {
        checksum(sum, o->b->p + o->start, o->b->n - o->start);
        parties_put(o, sum, sizeof sum);
    }
    if (o->st != FRE_OK && o->b->n > o->start) {
        fre_wipe(o->b->p + o->start, o->b->n - o->start);
        o->b->n = o->start;
    }
    return o->st;
}

/* ---- reader --------------------------------------------------------------------------------- */

fre_status parties_in_open(parties_in *in, fre_bytes state, const fre_wire *w, uint8_t role,
                           fre_err *err)
{
    uint8_t sum[SUM_BYTES];

    if (!state.p || state.n < STATE_HEAD + SUM_BYTES || state.p[0] != STATE_VERSION ||
        state.p[1] != role)
        return fre_fail(err, FRE_E_DATA, "this is not a saved state of that role");
    if (memcmp(state.p + 2, w->id.b, sizeof w->id.b) != 0)
        return fre_fail(err, FRE_E_DATA, "the saved state is of another collection");
    checksum(sum, state.p, state.n - SUM_BYTES);
    if (memcmp(sum, state.p + state.n - SUM_BYTES, SUM_BYTES) != 0)
        return fre_fail(err, FRE_E_DATA, "the saved state is damaged");
    *in =
        (parties_in){.left = parties_view(state.p + STATE_HEAD, state.n - STATE_HEAD - SUM_BYTES)};
    return FRE_OK;
}

const uint8_t *parties_get_view(parties_in *in, size_t n)
{
    const uint8_t *p = in->left.p;

    if (in->bad || n > in->left.n) {
        in->bad = true;
        return NULL;
    }
    in->left = parties_view(p + n, in->left.n - n);
    return p;
}

void parties_get(parties_in *in, void *out, size_t n)
{
    const uint8_t *p = parties_get_view(in, n);

    if (p)
        memcpy(out, p, n);
    else
        memset(out, 0, n);
}

uint64_t parties_get_uint(parties_in *in, unsigned bytes)
{
    const uint8_t *p = parties_get_view(in, bytes);
    uint64_t v = 0;

    for (unsigned i = 0; p && i < bytes; i++)
        v = v << 8 | p[i];
    return v;
}

uint64_t parties_get_up_to(parties_in *in, unsigned bytes, uint64_t max)
{
    uint64_t v = parties_get_uint(in, bytes);

    if (v > max)
        in->bad = true;
    return in->bad ? 0 : v;
}

bool parties_get_bool(parties_in *in)
{
    return parties_get_up_to(in, 1, 1) == 1;
}

fre_bytes parties_get_bytes(parties_in *in)
{
    const uint64_t n = parties_get_uint(in, 8);
    const uint8_t *p = n > in->left.n ? NULL : parties_get_view(in, (size_t)n);

    if (!p) {
        in->bad = true;
        return parties_view(NULL, 0);
    }
    return parties_view(p, (size_t)n);
}

void *parties_get_array(parties_in *in, size_t n, size_t each, fre_status *st)
{
    const uint8_t *p;
    void *out;

    if (n == 0)
        return NULL;
    p = n > SIZE_MAX / each ? NULL : parties_get_view(in, n * each);
    if (!p) {
        in->bad = true;
        return NULL;
    }
    out = malloc(n * each);
    if (!out) {
        in->bad = true;
        *st = FRE_E_NOMEM;
        return NULL;
    }
    memcpy(out, p, n * each);
    return out;
}

void *parties_get_zeros(parties_in *in, uint64_t n, size_t each, fre_status *st)
{
    void *p = in->bad ? NULL : calloc((size_t)n + 1, each);

    if (!p && !in->bad) {
        *st = FRE_E_NOMEM;
        in->bad = true;
    }
    return p;
}

void parties_get_buf(parties_in *in, fre_buf *out, fre_status *st)
{
    const fre_bytes v = parties_get_bytes(in);
    fre_status append = v.n > 0 ? fre_buf_append(out, v.p, v.n) : FRE_OK;

    if (append != FRE_OK) {
        in->bad = true;
        *st = append == FRE_E_LIMIT ? *st : append;
    }
}

void parties_get_table(parties_in *in, parties_table *t, fre_status *st)
{
    const uint64_t n = parties_get_up_to(in, 8, in->left.n / (PARTIES_HASH_BYTES + 4));

    if (in->bad)
        return;
    *st = parties_table_reserve(t, (size_t)n);
    if (*st != FRE_OK)
        in->bad = true;
    for (uint64_t i = 0; i < n && !in->bad; i++) {
        uint8_t key[PARTIES_HASH_BYTES];
        uint32_t value;

        parties_get(in, key, sizeof key);
        value = (uint32_t)parties_get_uint(in, 4);
        if (value == 0 || parties_table_find(t, key))
            in->bad = true;
        else
            parties_table_insert(t, key, value - 1);
    }
}

fre_status parties_in_end(const parties_in *in, fre_status st, fre_err *err)
{
    if (st != FRE_OK)
        return fre_fail(err, st, "the saved state could not be read: %s", fre_status_text(st));
    if (in->bad || in->left.n > 0)
        return fre_fail(err, FRE_E_DATA,
                        "fields of the saved state are missing or outside their ranges");
    return FRE_OK;
}
