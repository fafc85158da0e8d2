/* The table of the discrete Gaussian law, made and read.
 *
 * The law of |X| is made from p_x = exp(-x^2/(2s)) with integers only: p_0 = 1, p_{x+1} = p_x r_x,
 * r_0 = exp(-1/(2s)), r_{x+1} = r_x g, g = exp(-1/s), in fixed point with 256 bits after the
 * point, every operation rounded down.  It ends at the first n whose tail is negligible, and
 * threshold m is floor(2^126 C_m/W): C_m = p_0 + 2 p_1 + ... + 2 p_m, W = C_n.
 *
 * A draw's total variation from the law is at most FRE_TABLE_DISTANCE = 2^-100.  With e = 2^-256:
 *
 * 1. Both exponentials are within 2^-232 (exp_minus below).  The r_x then are within 2^-217: a step
 *    adds at most the error of g and one e, since no factor exceeds 1, and there are at most 2^14
 *    steps (3).  The p_x are within 2^-202 for the same reason, each C_m and W within 2^-187,
 *    and as W >= 1, C_m/W within 2^-185, multiplication by the rounded 1/W included.
 * 2. The tail.  Ratios r_x fall, so what lies beyond n is at most 2 p_{n+1}/(1 - r_{n+1}).  The
 *    loop ends when p_{n+1} < 2^-107 (1 - r_{n+1}) in fixed point; with the errors of 1, far below,
 *    the tail is less than 2^-105 <= 2^-105 W.  Leaving it out costs 2^-105.
 * 3. n < 2^14: at s = 2^20, x = 12900 has p_x = exp(-79.3) < 2^-114 and 1 - r_x > 2^-6.4, so the
 *    loop has ended; smaller s end it sooner.
 * 4. Rounding of thresholds: each is off by less than 2^-126 + 2^-185, and the law they give is
 *    off by at most the sum of that over the thresholds: 2^14 * 2^-125 = 2^-111.
 *
 * |X| and the sign are independent given that 0 has none, so the signed draw has the same
 * distance: 2^-105 + 2^-111 < 2^-104. */
#include "sampler_private.h"

#include <stdlib.h>

/* ---- fixed point, 256 bits after the point ------------------------------------------------- */

#define FRACTION_WORDS 4u
#define WORDS (FRACTION_WORDS + 1u)

typedef struct fixed {
    uint64_t word[WORDS]; /* the least significant first; the last is the integer part */
} fixed;

static const fixed one = {{0, 0, 0, 0, 1}};

static fixed add(fixed a, const fixed *b)
{
    fre_wide sum = 0;

    for (size_t i = 0; i < WORDS; i++) {
        sum += (fre_wide)a.word[i] + b->word[i];
        a.word[i] = (uint64_t)sum;
        sum >>= 64;
    }
    return a;
}

/* a - b, b <= a. */
static fixed subtract(fixed a, const fixed *b)
{
    uint64_t borrow = 0;

    for (size_t i = 0; i < WORDS; i++) {
        fre_wide difference = (fre_wide)a.word[i] - b->word[i] - borrow;

        a.word[i] = (uint64_t)difference;
        borrow = (uint64_t)(difference >> 64) & 1;
    }
    return a;
}

static bool less(const fixed *a, const fixed *b)
{
    for (size_t i = WORDS; i-- > 0;)
        if (a->word[i] != b->word[i])
            return a->word[i] < b->word[i];
    return false;
}

static bool is_zero(const fixed *a)
{
    return less(a, &one) && (a->word[0] | a->word[1] | a->word[2] | a->word[3]) == 0;
}

/* a b, rounded down; the product is below 2^64. */
static fixed multiply(const fixed *a, const fixed *b)
{
    uint64_t product[2 * WORDS] = {0};
    fixed out;

    for (size_t i = 0; i < WORDS; i++) {
        fre_wide carry = 0;

        for (size_t j = 0; j < WORDS; j++) {
            carry += (fre_wide)a->word[i] * b->word[j] + product[i + j];
            product[i + j] = (uint64_t)carry;
            carry >>= 64;
        }
        product[i + WORDS] = (uint64_t)carry;
    }
    for (size_t i = 0; i < WORDS; i++)
        out.word[i] = product[i + FRACTION_WORDS];
    return out;
}

/* a/d, rounded down. */
static fixed divide(fixed a, uint64_t d)
{
    uint64_t rest = 0;

    for (size_t i = WORDS; i-- > 0;) {
        fre_wide top = (fre_wide)rest << 64 | a.word[i];

        a.word[i] = (uint64_t)(top / d);
        rest = (uint64_t)(top % d);
    }
    return a;
}

/* a 2^-bits, rounded down; bits below 64 * WORDS. */
static fixed shift_down(const fixed *a, size_t bits)
{
    const size_t words = bits / 64, rest = bits % 64;
    fixed out = {{0}};

    for (size_t i = 0; i + words < WORDS; i++) {
        out.word[i] = a->word[i + words] >> rest;
        if (rest != 0 && i + words + 1 < WORDS)
            out.word[i] |= a->word[i + words + 1] << (64 - rest);
    }
    return out;
}

/* 1/a rounded down, a >= 1, one bit after the other. */
static fixed invert(const fixed *a)
{
    fixed out = {{0}}, rest = one;

    if (!less(&rest, a)) /* a = 1 */
        return one;
    for (size_t bit = 64 * FRACTION_WORDS; bit-- > 0;) {
        rest = add(rest, &rest); /* < 2a */
        if (!less(&rest, a)) {
            rest = subtract(rest, a);
            out.word[bit / 64] |= UINT64_C(1) << (bit % 64);
        }
    }
    return out;
}

/* exp(-num/den) within 2^-232.  y = num/den 2^-16 is below 2^-8 and within 2e; the powers of the
 * series fall by 2^8 a term and more, so that 32 terms leave less than e, each of those is off by
 * at most 3e, and with the error of y the sum is within 128 e = 2^-249.  Sixteen squarings double
 * an error and add e: below 2^16 (2^-249 + 2^-256) < 2^-232. */
static fixed exp_minus(uint64_t num, uint64_t den)
{
    enum { HALVINGS = 16, UNDERFLOW = 180 }; /* exp(-180) < 2^-259 */
    fixed y = {{0}}, term = one, even = one, odd = {{0}};

    y.word[FRACTION_WORDS] = num;
    y = divide(y, den);
    if (y.word[FRACTION_WORDS] >= UNDERFLOW)
        return (fixed){{0}};
    y = shift_down(&y, HALVINGS);
    for (uint64_t k = 1; !is_zero(&term); k++) {
        term = multiply(&term, &y);
        term = divide(term, k);
        if (k % 2 == 0)
            even = add(even, &term);
        else
            odd = add(odd, &term);
    }
    y = subtract(even, &odd);
    for (int i = 0; i < HALVINGS; i++)
        y = multiply(&y, &y);
    return y;
}

/* ---- the law ------------------------------------------------------------------------------- */

/* At x: p = p_x, ratio = r_x, sum = C_x. */
typedef struct law {
    fixed p, ratio, fall, sum;
} law;

static law law_start(uint64_t var16)
{
    return (law){
        .p = one,
        .ratio = exp_minus(FRE_VARIANCE_ONE / 2, var16),
        .fall = exp_minus(FRE_VARIANCE_ONE, var16),
        .sum = one,
    };
}

/* Moves to x + 1, unless all that is left is the tail. */
static bool law_next(law *l)
{
    enum { TAIL_BITS = 107 };
    fixed p = multiply(&l->p, &l->ratio);
    fixed ratio = multiply(&l->ratio, &l->fall);
    fixed limit = subtract(one, &ratio);

    limit = shift_down(&limit, TAIL_BITS);
    if (less(&p, &limit))
        return false;
    l->p = p;
    l->ratio = ratio;
    l->sum = add(l->sum, &p);
    l->sum = add(l->sum, &p);
    return true;
}

static void set_threshold(fre_gaussian_table *t, uint32_t m, const fixed *x)
{
    fre_table_block *b = &t->block[m / FRE_TABLE_LANES];

    b->high[m % FRE_TABLE_LANES] = x->word[3] >> 1;
    b->low[m % FRE_TABLE_LANES] = (x->word[3] << 62 | x->word[2] >> 2) & FRE_TABLE_WORD_MASK;
}

fre_status fre_gaussian_table_new(fre_gaussian_table **out, uint64_t var16)
{
    fre_gaussian_table *t;
    uint32_t n = 0;
    size_t blocks;
    law l;
    fixed scale;

    if (!out || var16 == 0 || var16 > FRE_VARIANCE_MAX)
        return FRE_E_ARG;
    l = law_start(var16);
    while (law_next(&l))
        n++;
    scale = invert(&l.sum);
    blocks = (n + FRE_TABLE_LANES - 1) / FRE_TABLE_LANES;
    t = calloc(1, sizeof *t + blocks * sizeof t->block[0]);
    if (!t)
        return FRE_E_NOMEM;
    t->n = n;
    t->blocks = (uint32_t)blocks;
    l = law_start(var16);
    for (uint32_t m = 0; m < n; m++) {
        fixed x = multiply(&l.sum, &scale); /* < 1: C_m < C_n */

        set_threshold(t, m, &x);
        (void)law_next(&l);
    }
    *out = t;
    return FRE_OK;
}

void fre_gaussian_table_free(fre_gaussian_table *t)
{
    free(t);
}

/* ---- draws --------------------------------------------------------------------------------- */

#define BATCH 32u
#define DRAW_BYTES 16u

static uint64_t little_endian(const uint8_t *b)
{
    uint64_t x = 0;

    for (size_t i = 8; i-- > 0;)
        x = x << 8 | b[i];
    return x;
}

/* 128 bits a draw: 126 for |X|, the top one for the sign, one is left over. */
static void draw_batch(const fre_gaussian_table *t, fre_table_kernel *above_all, fre_rng *r,
                       int32_t *out, size_t n)
{
    uint8_t bytes[BATCH * DRAW_BYTES];                /* SECRET */
    uint64_t u[2 * BATCH], sign[BATCH], above[BATCH]; /* SECRET */

    fre_rng_bytes(r, bytes, n * DRAW_BYTES);
    for (size_t i = 0; i < n; i++) {
        const uint64_t high = little_endian(bytes + DRAW_BYTES * i + 8);

        u[2 * i] = little_endian(bytes + DRAW_BYTES * i) & FRE_TABLE_WORD_MASK;
        u[2 * i + 1] = high & FRE_TABLE_WORD_MASK;
        sign[i] = high >> FRE_TABLE_WORD_BITS;
    }
    above_all(t, u, above, n);
    for (size_t i = 0; i < n; i++) {
        /* |X| thresholds are not above the draw; (a ^ -s) + s is -a for s = 1. */
        const uint32_t magnitude = t->n - (uint32_t)above[i], s = (uint32_t)sign[i];

        out[i] = (int32_t)((magnitude ^ (0u - s)) + s);
    }
    fre_wipe(bytes, sizeof bytes);
    fre_wipe(u, sizeof u);
    fre_wipe(sign, sizeof sign);
    fre_wipe(above, sizeof above);
}

void fre_gaussian_table_draw(const fre_gaussian_table *t, fre_rng *r, int32_t *out, size_t n)
{
    fre_table_kernel *kernel = fre_table_kernel_at(0);

    while (n > 0) {
        size_t m = n < BATCH ? n : BATCH;

        draw_batch(t, kernel, r, out, m);
        out += m;
        n -= m;
    }
}
