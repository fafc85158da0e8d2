/* share.c - what a client sends [Fre-E2T, A_client].  No rejection of rounded vectors: the
 * accountant's bound on them holds surely, or but for phi, which is charged (docs/privacy.md).
 *
 * Everything here is on secrets: no branch and no address depends on a value, numbers become
 * integers by the processor's own conversion, and signs are moved by bits. */
#include "sharing_private.h"

#include <stdlib.h>

#define ROUND_BATCH 64u
#define FRACTION_BITS 53u

void fre_share_seed_wipe(fre_share_seed *s)
{
    if (s)
        fre_wipe(s, sizeof *s);
}

static uint64_t bits_of(double x)
{
    uint64_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

static double double_of(uint64_t u)
{
    double x;

    memcpy(&x, &u, sizeof x);
    return x;
}

static uint64_t little_endian(const uint8_t *b)
{
    uint64_t x = 0;

    for (size_t i = 8; i-- > 0;)
        x = x << 8 | b[i];
    return x;
}

/* |y| = n + g, both exact in a double; T = floor(2^53 g) is the exact fraction of |y| cut off at
 * 2^-53, and of 2^53 values of u just T are below it: the mean of the rounded number is that cut-off
 * y exactly, and it is one of the two integers around it.  The law is that of floor(y + U), so two
 * vectors' roundings can be coupled as the accountant does. */
static uint32_t round_at_random(double y, uint64_t random)
{
    const uint64_t minus = bits_of(y) >> 63;
    const double size = double_of(bits_of(y) & (UINT64_MAX >> 1));
    const int64_t n = (int64_t)size;
    const int64_t t = (int64_t)((size - (double)n) * 0x1p53);
    const uint64_t u = random >> (64 - FRACTION_BITS);
    const uint64_t up = (u - (uint64_t)t) >> 63; /* 1 exactly if u < T */

    return (uint32_t)((((uint64_t)n + up) ^ (0 - minus)) + minus);
}

void sharing_round(uint32_t *q, const double *y, size_t n, fre_rng *r)
{
    uint8_t random[8 * ROUND_BATCH]; /* SECRET */

    for (size_t at = 0; at < n; at += ROUND_BATCH) {
        const size_t batch = n - at < ROUND_BATCH ? n - at : ROUND_BATCH;

        fre_rng_bytes(r, random, 8 * batch);
        for (size_t i = 0; i < batch; i++)
            q[at + i] = round_at_random(y[at + i], little_endian(random + 8 * i));
    }
    fre_wipe(random, sizeof random);
}

/* A float is not finite when its exponent is all ones, and only then one more overflows. */
static bool is_finite(const float *x, size_t n)
{
    uint32_t bad = 0;
    bool finite;

    for (size_t i = 0; i < n; i++) {
        uint32_t u;

        memcpy(&u, &x[i], sizeof u);
        bad |= ((u & UINT32_C(0x7f800000)) + UINT32_C(0x00800000)) >> 31;
    }
    finite = bad == 0;
    FRE_DECLASSIFY(&finite, sizeof finite); /* public: such a vector is a fault, and never sent */
    return finite;
}

/* 1/sqrt(u), u > 0, within 2^-50: the exponent's half as a guess, wrong by less than 4 %, then
 * Newton's steps, each of which squares the error and more.  sqrt() itself jumps to see whether
 * there is an error to report.  0 gives a large number. */
static double inverse_root(double u)
{
    double r = double_of(UINT64_C(0x5fe6eb50c7b537a9) - (bits_of(u) >> 1));

    for (int i = 0; i < 5; i++)
        r *= 1.5 - 0.5 * u * r * r;
    return r;
}

/* min(1, B/|x|); doubles that are not negative are in the order of their bits. */
static double shrink(const float *x, size_t n, double bound)
{
    const uint64_t q = bits_of(bound * inverse_root(fre_dot(x, x, n))), one = bits_of(1.0);
    const uint64_t less = 0 - ((q - one) >> 63);

    return double_of((q & less) | (one & ~less));
}

fre_status sharing_rotated(double *y, const fre_rotation *rot, const fre_share_cell *cell,
                           const float *x)
{
    double factor;

    if (!is_finite(x, cell->dim))
        return FRE_E_DATA;
    factor = shrink(x, cell->dim, cell->norm_bound) * (1 / cell->beta);
    fre_rotation_apply(rot, y, x);
    for (uint32_t i = 0; i < cell->padded; i++)
        y[i] *= factor;
    return FRE_OK;
}

/* ---- shares ---------------------------------------------------------------------------------- */

/* One allocation: n words of each. */
typedef struct work {
    double *y;        /* SECRET, as is the rest */
    uint32_t *z;      /* the numbers to share, then S_syn's share */
    uint32_t *stream; /* PRG(seed) */
    int32_t *noise;
    size_t bytes;
} work;

static bool work_init(work *w, size_t n)
{
    w->bytes = n * (sizeof *w->y + sizeof *w->z + sizeof *w->stream + sizeof *w->noise);
    w->y = calloc(1, w->bytes);
    if (!w->y)
        return false;
    w->z = (uint32_t *)(w->y + n);
    w->stream = w->z + n;
    w->noise = (int32_t *)(w->stream + n);
    return true;
}

static void work_wipe(work *w)
{
    fre_wipe_free(w->y, w->bytes);
}

static void draw_table(const void *ctx, fre_rng *r, int32_t *out, size_t n)
{
    fre_gaussian_table_draw(ctx, r, out, n);
}

fre_share_noise fre_share_table_noise(const fre_gaussian_table *t)
{
    return (fre_share_noise){.draw = draw_table, .ctx = t};
}

/* z - PRG(seed), packed. */
static fre_status split(uint8_t *packed, const fre_share_seed *seed, work *w, uint32_t n,
                        uint32_t bits)
{
    fre_share_expander *e = NULL;
    fre_status st = fre_share_expander_new(&e, n, bits);

    if (st == FRE_OK)
        st = fre_share_expander_add(e, w->stream, seed);
    if (st == FRE_OK) {
        for (uint32_t i = 0; i < n; i++)
            w->z[i] -= w->stream[i];
        sharing_pack(packed, w->z, n, bits);
    }
    fre_share_expander_free(e);
    return st;
}

static bool agree(const fre_rotation *rot, const fre_share_cell *cell, size_t packed_bytes)
{
    const size_t bytes = fre_share_bytes(cell->dim, cell->bits);

    return bytes != 0 && packed_bytes == bytes && rot->dim == cell->dim &&
           rot->padded == cell->padded;
}

fre_status fre_share_make_with(uint8_t *packed, size_t packed_bytes, fre_share_seed *seed,
                               const fre_rotation *rot, const fre_share_cell *cell, const float *x,
                               const fre_share_noise *noise, fre_rng *r)
{
    fre_share_seed s;
    fre_status st;
    work w;

    if (!packed || !seed || !rot || !cell || !x || !r || !agree(rot, cell, packed_bytes))
        return FRE_E_ARG;
    if (!work_init(&w, cell->padded))
        return FRE_E_NOMEM;
    st = sharing_rotated(w.y, rot, cell, x);
    if (st != FRE_OK)
        goto out;
    sharing_round(w.z, w.y, cell->padded, r);
    if (noise) {
        noise->draw(noise->ctx, r, w.noise, cell->padded);
        for (uint32_t i = 0; i < cell->padded; i++)
            w.z[i] += (uint32_t)w.noise[i];
    }
    fre_rng_bytes(r, s.b, sizeof s.b);
    st = split(packed, &s, &w, cell->padded, cell->bits);
    if (st == FRE_OK)
        *seed = s;
    fre_share_seed_wipe(&s);
out:
    work_wipe(&w);
    return st;
}

fre_status fre_share_make(uint8_t *packed, size_t packed_bytes, fre_share_seed *seed,
                          const fre_rotation *rot, const fre_share_cell *cell, const float *x,
                          fre_rng *r)
{
    fre_gaussian_table *t = NULL;
    fre_share_noise noise;
    fre_status st;

    if (!cell)
        return FRE_E_ARG;
    st = fre_gaussian_table_new(&t, cell->var16);
    if (st != FRE_OK)
        return st;
    noise = fre_share_table_noise(t);
    st = fre_share_make_with(packed, packed_bytes, seed, rot, cell, x, &noise, r);
    fre_gaussian_table_free(t);
    return st;
}

fre_status fre_share_random(uint8_t *packed, size_t packed_bytes, fre_share_seed *seed,
                            uint32_t dim, uint32_t bits, fre_rng *r)
{
    const size_t bytes = fre_share_bytes(dim, bits);
    size_t unused;

    if (!packed || !seed || !r || bytes == 0 || packed_bytes != bytes)
        return FRE_E_ARG;
    unused = 8 * bytes - (size_t)fre_hadamard_dim(dim) * bits;
    fre_rng_bytes(r, packed, bytes);
    packed[bytes - 1] &= (uint8_t)(0xff >> unused);
    fre_rng_bytes(r, seed->b, sizeof seed->b);
    return FRE_OK;
}
