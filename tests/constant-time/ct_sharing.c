/* A client's shares with its secrets poisoned: the embedding, the noise, the seed and the stream they
 * are drawn from. */
#include "ct.h"
#include "sharing_private.h"

#include <math.h>

#define DIM 384u
#define SPLIT 0.6

static void ok(fre_status st)
{
    ct_require(st == FRE_OK, fre_status_text(st));
}

typedef struct client {
    fre_share_cell cell;
    fre_rotation *rot;
    size_t bytes;
    uint8_t packed[4 * DIM];
    fre_share_seed seed;
    float x[DIM];
    fre_rng rng;
} client;

static void make(client *c, uint32_t dim, float length)
{
    const uint8_t seed[FRE_SEED_BYTES] = {1};
    const fre_mechanism m = {
        .p32 = FRE_P_ONE / 2,
        .tau = 20,
        .sigma = 1.5,
        .population = 100000,
        .sketch.grid.proj = 40,
        .sketch.grid.cell_edge = 0.158,
        .norm_bound = 1,
        .dim = dim,
        .cells_per_user = 1,
        .noise = FRE_NOISE_DISCRETE,
        .dist = {.on = true, .curious = 1, .lambda = 2, .gamma = 30},
    };
    uint32_t bits = 0;

    ok(fre_rng_init_seeded(&c->rng, seed, "constant-time/sharing"));
    ok(fre_share_bits(&bits, &m, SPLIT, 1000, 10, NULL));
    ok(fre_share_cell_init(&c->cell, &m, SPLIT, 1000, bits, NULL));
    ok(fre_rotation_new(&c->rot, dim, seed));
    c->bytes = fre_share_bytes(dim, bits);
    for (uint32_t i = 0; i < dim; i++)
        c->x[i] = (float)(int)(i % 5) - 2.0F;
    (void)fre_normalise(c->x, dim);
    for (uint32_t i = 0; i < dim; i++)
        c->x[i] *= length;
}

static void poison(client *c)
{
    ct_poison(c->x, sizeof c->x);
    ct_poison(c->rng.key, sizeof c->rng.key);
    ct_poison(c->rng.block, sizeof c->rng.block);
}

static void share_of(uint32_t dim, float length)
{
    client c, plain;

    make(&c, dim, length);
    make(&plain, dim, length);
    poison(&c);
    ok(fre_share_make(c.packed, c.bytes, &c.seed, c.rot, &c.cell, c.x, &c.rng));
    ct_require(ct_is_secret(c.packed, 64), "the packed share should be secret");
    ct_require(ct_is_secret(&c.seed, sizeof c.seed), "the seed should be secret");
    ok(fre_share_make(plain.packed, plain.bytes, &plain.seed, plain.rot, &plain.cell, plain.x,
                      &plain.rng));
    ct_unpoison(c.packed, sizeof c.packed);
    ct_require(memcmp(c.packed, plain.packed, c.bytes) == 0, "the share is wrong");
    fre_rotation_free(c.rot);
    fre_rotation_free(plain.rot);
}

static void share(void)
{
    share_of(DIM, 1);
}

static void share_padded(void)
{
    share_of(300, 1);
}

/* Vectors beyond the norm bound, and none at all. */
static void share_scaled(void)
{
    share_of(DIM, 3);
    share_of(DIM, 0);
}

/* That a vector is not finite is public, where it is not finite is not. */
static void share_refused(void)
{
    client c;

    make(&c, DIM, 1);
    c.x[17] = NAN;
    poison(&c);
    ct_require(fre_share_make(c.packed, c.bytes, &c.seed, c.rot, &c.cell, c.x, &c.rng) ==
                   FRE_E_DATA,
               "a NaN should be refused");
    fre_rotation_free(c.rot);
}

static void random_share(void)
{
    client c;

    make(&c, DIM, 1);
    poison(&c);
    ok(fre_share_random(c.packed, c.bytes, &c.seed, DIM, c.cell.bits, &c.rng));
    ct_require(ct_is_secret(c.packed, 64), "the packed share should be secret");
    fre_rotation_free(c.rot);
}

/* S_tag's side: seeds and what they expand to. */
static void expand(void)
{
    fre_share_expander *e = NULL;
    uint32_t sum[DIM] = {0};
    client c;

    make(&c, DIM, 1);
    memset(&c.seed, 5, sizeof c.seed);
    ct_poison(&c.seed, sizeof c.seed);
    ok(fre_share_expander_new(&e, DIM, c.cell.bits));
    ok(fre_share_expander_add(e, sum, &c.seed));
    ct_require(ct_is_secret(sum, 64), "the sum should be secret");
    fre_share_expander_free(e);
    fre_rotation_free(c.rot);
}

/* ---- controls ------------------------------------------------------------------------------ */

/* Rounds by a comparison that jumps. */
static void leaky_rounding(void)
{
    volatile int sink = 0;
    double y[DIM];
    client c;

    make(&c, DIM, 1);
    poison(&c);
    ok(sharing_rotated(y, c.rot, &c.cell, c.x));
    for (uint32_t i = 0; i < DIM; i++)
        if ((double)(fre_rng_u64(&c.rng) >> 11) * 0x1p-53 < y[i] - floor(y[i]))
            sink = sink + 1;
    fre_rotation_free(c.rot);
}

/* Stops at the first entry that is not finite. */
static void leaky_check(void)
{
    volatile uint32_t sink = 0;
    client c;

    make(&c, DIM, 1);
    poison(&c);
    while (sink < DIM && c.x[sink] <= 2)
        sink = sink + 1;
    fre_rotation_free(c.rot);
}

/* Noise by the exact sampler, which rejects. */
static void exact_draw(const void *ctx, fre_rng *r, int32_t *out, size_t n)
{
    const fre_share_cell *cell = ctx;

    for (size_t i = 0; i < n; i++)
        out[i] = (int32_t)fre_sample_discrete_gaussian(r, cell->var16);
}

static void leaky_noise(void)
{
    fre_share_noise noise = {.draw = exact_draw};
    client c;

    make(&c, DIM, 1);
    noise.ctx = &c.cell;
    poison(&c);
    ok(fre_share_make_with(c.packed, c.bytes, &c.seed, c.rot, &c.cell, c.x, &noise, &c.rng));
    fre_rotation_free(c.rot);
}

int main(void)
{
    static const ct_case cases[] = {
        {"control: rounding by a jump", leaky_rounding, true},
        {"control: check with an early exit", leaky_check, true},
        {"control: noise of the exact sampler", leaky_noise, true},
        {"share", share, false},
        {"share, padded", share_padded, false},
        {"share of a vector too long, and of zero", share_scaled, false},
        {"share refused", share_refused, false},
        {"random share", random_share, false},
        {"seed expanded and added", expand, false},
    };

    return ct_main("sharing", cases, sizeof cases / sizeof *cases);
}
