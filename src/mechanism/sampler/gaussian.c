/* Exactly rounded Gaussian: Karney 2016, "Sampling exactly from the normal distribution",
 * algorithms N, B and H, with uniform deviates whose binary digits are drawn only when a
 * comparison needs them.  Everything is an integer; no probability is ever approximated. */
#include <fre/sampler.h>

/* Digits of a deviate, 32 bits each, most significant first; digit 0 is always drawn.  Two
 * deviates that agree in all 256 bits count as equal: a run in which that happens has
 * probability below 2^-240 whatever the number of draws, and the claim ignores it. */
#define DEVIATE_WORDS 8u

/* The integer part k has probability ~ exp(-k^2/2); this bound keeps the product with
 * FRE_SAMPLER_SCALE_MAX inside 128 bits and is never reached (exp(-2^23)). */
#define INTEGER_PART_MAX (UINT32_C(1) << 12)

__extension__ typedef unsigned __int128 wide;

typedef struct deviate {
    uint32_t word[DEVIATE_WORDS]; /* SECRET */
    uint32_t n;
} deviate;

static void deviate_draw(deviate *u, fre_rng *r)
{
    u->word[0] = fre_rng_u32(r);
    u->n = 1;
}

static uint32_t deviate_word(deviate *u, uint32_t i, fre_rng *r)
{
    while (u->n <= i)
        u->word[u->n++] = fre_rng_u32(r);
    return u->word[i];
}

static bool deviate_less(deviate *a, deviate *b, fre_rng *r)
{
    uint32_t i;

    if (a->word[0] != b->word[0])
        return a->word[0] < b->word[0];
    for (i = 1; i < DEVIATE_WORDS; i++) {
        uint32_t x = deviate_word(a, i, r);
        uint32_t y = deviate_word(b, i, r);

        if (x != y)
            return x < y;
    }
    return false;
}

/* Uniform on 0..m-1 from 32-bit words, m small: multiply and reject (Lemire 2019). */
static uint32_t small_below(fre_rng *r, uint32_t m)
{
    uint32_t reject = (0u - m) % m;
    uint64_t x;

    do {
        x = (uint64_t)fre_rng_u32(r) * m;
    } while ((uint32_t)x < reject);
    return (uint32_t)(x >> 32);
}

/* Algorithm H: true with probability exp(-1/2).  The longest run 1/2 > u1 > u2 > ... > un has
 * Pr[length >= m] = (1/2)^m / m!, so its length is even with probability exp(-1/2). */
static bool half_exp(fre_rng *r)
{
    deviate last, next;

    deviate_draw(&last, r);
    if (last.word[0] >= UINT32_C(0x80000000))
        return true;
    for (;;) {
        deviate_draw(&next, r);
        if (!deviate_less(&next, &last, r))
            return false;
        deviate_draw(&last, r);
        if (!deviate_less(&last, &next, r))
            return true;
    }
}

static bool half_exp_times(fre_rng *r, uint32_t n)
{
    while (n-- > 0) {
        if (!half_exp(r))
            return false;
    }
    return true;
}

/* Steps N1 and N2: k with probability proportional to exp(-k/2) * exp(-k(k-1)/2). */
static uint32_t integer_part(fre_rng *r)
{
    for (;;) {
        uint32_t k = 0;

        while (k < INTEGER_PART_MAX && half_exp(r))
            k++;
        if (k < 2 || half_exp_times(r, k * (k - 1)))
            return k;
    }
}

/* A fresh uniform r' < (2k + x)/(2k + 2)?  Its leading part h in 0..2k+1 decides, except that
 * h = 2k leaves the comparison of the remaining digits with x. */
static bool below_ratio(fre_rng *r, uint32_t k, deviate *x)
{
    uint32_t h = small_below(r, 2 * k + 2);
    deviate rest;

    if (h != 2 * k)
        return h < 2 * k;
    deviate_draw(&rest, r);
    return deviate_less(&rest, x, r);
}

/* Algorithm B: true with probability exp(-x(2k + x)/(2k + 2)), again by the parity of a run. */
static bool accept_once(fre_rng *r, uint32_t k, deviate *x)
{
    deviate run[2];
    deviate *y = x;
    uint32_t n = 0;

    for (;;) {
        deviate *z = &run[n & 1];

        deviate_draw(z, r);
        if (!deviate_less(z, y, r) || !below_ratio(r, k, x))
            return (n & 1) == 0;
        y = z;
        n++;
    }
}

/* Step N4: exp(-x(2k + x)/2) as k + 1 of the above. */
static bool accept_fraction(fre_rng *r, uint32_t k, deviate *x)
{
    uint32_t i;

    for (i = 0; i <= k; i++) {
        if (!accept_once(r, k, x))
            return false;
    }
    return true;
}

/* Is the fraction x above num/den (0 <= num < den <= 2^49)?  Long division yields the digits
 * of num/den one word at a time. */
static bool above_rational(deviate *x, uint64_t num, uint64_t den, fre_rng *r)
{
    wide rest = num;
    uint32_t i;

    for (i = 0; i < DEVIATE_WORDS; i++) {
        uint32_t digit = deviate_word(x, i, r);
        uint64_t expect;

        rest <<= 32;
        expect = (uint64_t)(rest / den);
        rest %= den;
        if (digit != expect)
            return digit > expect;
    }
    return true;
}

/* round(scale * (k + x)): certain from 64 bits of x unless the interval they leave straddles a
 * half-integer; then x is compared with that point exactly. */
static uint64_t round_scaled(uint64_t scale, uint32_t k, deviate *x, fre_rng *r)
{
    const wide half = (wide)1 << 63;
    wide head = ((wide)deviate_word(x, 0, r) << 32) | deviate_word(x, 1, r);
    wide low = (((wide)k << 64) | head) * scale; /* < 2^13 * 2^64 * 2^48 */
    uint64_t m = (uint64_t)((low + half) >> 64);
    uint64_t top = (uint64_t)((low + scale + half - 1) >> 64);

    if (m == top)
        return m;
    /* The half-integer m + 1/2 = scale (k + num/den). */
    return above_rational(x, 2 * m + 1 - 2 * scale * k, 2 * scale, r) ? m + 1 : m;
}

int64_t fre_sample_rounded_gaussian(fre_rng *r, uint64_t scale)
{
    deviate x;
    uint32_t k;
    uint64_t magnitude;

    do {
        k = integer_part(r);
        deviate_draw(&x, r);
    } while (!accept_fraction(r, k, &x));
    magnitude = round_scaled(scale, k, &x, r);
    fre_wipe(&x, sizeof x);
    return (fre_rng_u32(r) & 1) != 0 ? -(int64_t)magnitude : (int64_t)magnitude;
}
