/* partial/bytes.c - bounded reader and writer of tasks and parts. */
#include "partial_private.h"

#include <math.h>
#include <string.h>

const uint8_t *partial_take(partial_in *in, size_t n)
{
    const uint8_t *p = in->left.p;

    partial_require(in, n <= in->left.n);
    if (in->bad)
        return NULL;
    in->left = (fre_bytes){p + n, in->left.n - n};
    return p;
}

void partial_copy(partial_in *in, void *out, size_t n)
{
    const uint8_t *p = partial_take(in, n);

    if (p)
        memcpy(out, p, n);
    else
        memset(out, 0, n);
}

uint64_t partial_uint(partial_in *in, unsigned bytes)
{
    const uint8_t *p = partial_take(in, bytes);
    uint64_t v = 0;

    for (unsigned i = 0; p && i < bytes; i++)
        v = v << 8 | p[i];
    return v;
}

uint64_t partial_uint_to(partial_in *in, unsigned bytes, uint64_t most)
{
    const uint64_t v = partial_uint(in, bytes);

    partial_require(in, v <= most);
    return in->bad ? 0 : v;
}

bool partial_flag(partial_in *in)
{
    return partial_uint_to(in, 1, 1) == 1;
}

double partial_positive(partial_in *in)
{
    const uint64_t bits = partial_uint(in, 8);
    double v;

    memcpy(&v, &bits, sizeof v);
    partial_require(in, isfinite(v) && v > 0);
    return in->bad ? 0 : v;
}

void partial_require(partial_in *in, bool ok)
{
    in->bad = in->bad || !ok;
}

partial_out partial_begin(fre_buf *b)
{
    return (partial_out){.b = b, .start = b->n, .st = FRE_OK};
}

void partial_put(partial_out *o, const void *p, size_t n)
{
    if (o->st == FRE_OK && n > 0)
        o->st = fre_buf_append(o->b, p, n);
}

void partial_put_uint(partial_out *o, uint64_t v, unsigned bytes)
{
    uint8_t b[8];

    for (unsigned i = 0; i < bytes; i++)
        b[i] = (uint8_t)(v >> 8 * (bytes - 1 - i));
    partial_put(o, b, bytes);
}

void partial_put_double(partial_out *o, double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    partial_put_uint(o, bits, 8);
}

static void hash(uint8_t out[FRE_HASH_BYTES], fre_bytes all)
{
    fre_sha256 h;

    fre_sha256_begin(&h, (fre_bytes){NULL, 0});
    fre_sha256_add(&h, all.p, all.n);
    fre_sha256_end(out, &h);
}

fre_status partial_end(partial_out *o)
{
    uint8_t sum[FRE_HASH_BYTES] = {0};

    if (o->st == FRE_OK)
        hash(sum, (fre_bytes){o->b->p + o->start, o->b->n - o->start});
    partial_put(o, sum, sizeof sum);
    if (o->st != FRE_OK && o->b->n > o->start) {
        fre_wipe(o->b->p + o->start, o->b->n - o->start);
        o->b->n = o->start;
    }
    return o->st;
}

bool partial_verified(partial_in *in, fre_bytes all)
{
    uint8_t sum[FRE_HASH_BYTES];

    if (!all.p || all.n < sizeof sum || all.n > FRE_PARTIAL_BYTES_MAX)
        return false;
    in->left = (fre_bytes){all.p, all.n - sizeof sum};
    in->bad = false;
    hash(sum, in->left);
    return memcmp(sum, all.p + in->left.n, sizeof sum) == 0;
}
