/* partial/bytes.c - what tasks and parts need of core's reader and writer besides: bounds, a checksum. */
#include "partial_private.h"

#include <math.h>
#include <string.h>

uint64_t partial_uint_to(fre_in *in, unsigned bytes, uint64_t most)
{
    const uint64_t v = fre_in_uint(in, bytes, "number");

    fre_in_require(in, v <= most, "number");
    return in->bad ? 0 : v;
}

bool partial_flag(fre_in *in)
{
    return partial_uint_to(in, 1, 1) == 1;
}

double partial_positive(fre_in *in)
{
    const uint64_t bits = fre_in_uint(in, 8, "number");
    double v;

    memcpy(&v, &bits, sizeof v);
    fre_in_require(in, isfinite(v) && v > 0, "number");
    return in->bad ? 0 : v;
}

void partial_put_double(fre_out *o, double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    fre_out_uint(o, bits, 8);
}

static void hash(uint8_t out[FRE_HASH_BYTES], fre_bytes all)
{
    fre_sha256 h;

    fre_sha256_begin(&h, (fre_bytes){NULL, 0});
    fre_sha256_add(&h, all.p, all.n);
    fre_sha256_end(out, &h);
}

fre_status partial_end(fre_out *o)
{
    uint8_t sum[FRE_HASH_BYTES] = {0};

    if (o->st == FRE_OK)
        hash(sum, (fre_bytes){o->b->p + o->start, o->b->n - o->start});
    fre_out_put(o, sum, sizeof sum);
    return fre_out_end(o);
}

bool partial_verified(fre_in *in, fre_bytes all)
{
    uint8_t sum[FRE_HASH_BYTES];

    if (!all.p || all.n < sizeof sum || all.n > FRE_PARTIAL_BYTES_MAX)
        return false;
    in->left = (fre_bytes){all.p, all.n - sizeof sum};
    in->bad = NULL;
    hash(sum, in->left);
    return memcmp(sum, all.p + in->left.n, sizeof sum) == 0;
}
