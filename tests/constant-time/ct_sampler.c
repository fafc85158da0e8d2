/* What clients draw, the table sampler and the coin, with the stream poisoned: neither the scan, by
 * any kernel, nor the sign may branch on what was drawn or look anything up by it. */
#include "ct.h"
#include "sampler_private.h"

#define N 67u /* whole batches and a rest */
#define DEVIATION(d) ((uint64_t)(d) * (d)*FRE_VARIANCE_ONE)

static const uint64_t variances[] = {1, 3000, DEVIATION(2), 147457, DEVIATION(15), DEVIATION(100)};
#define N_VARIANCES (sizeof variances / sizeof *variances)

static fre_gaussian_table *make_table(uint64_t var16)
{
    fre_gaussian_table *t = NULL;

    ct_require(fre_gaussian_table_new(&t, var16) == FRE_OK, "no table");
    return t;
}

static void make_stream(fre_rng *r, bool poison)
{
    const uint8_t seed[FRE_SEED_BYTES] = {1};

    ct_require(fre_rng_init_seeded(r, seed, "constant-time/sampler") == FRE_OK, "no stream");
    if (poison)
        ct_poison(r->key, sizeof r->key); /* all that follows from it is secret too */
}

/* Through the public function: the stream's refills, the draws, the signs. */
static void draw(void)
{
    int32_t secret[N], plain[N];
    fre_rng r;

    for (size_t i = 0; i < N_VARIANCES; i++) {
        fre_gaussian_table *t = make_table(variances[i]);

        make_stream(&r, true);
        fre_gaussian_table_draw(t, &r, secret, N);
        ct_require(t->n == 0 || ct_is_secret(secret, 64), "the draws should be secret");
        make_stream(&r, false);
        fre_gaussian_table_draw(t, &r, plain, N);
        ct_unpoison(secret, sizeof secret);
        ct_require(memcmp(secret, plain, sizeof plain) == 0, "the draws are wrong");
        fre_gaussian_table_free(t);
    }
}

static void scan_by_every_kernel(void)
{
    uint64_t u[2 * N], above[N];
    fre_rng r;

    make_stream(&r, false);
    for (size_t i = 0; i < N_VARIANCES; i++) {
        fre_gaussian_table *t = make_table(variances[i]);

        for (size_t k = 0; fre_table_kernel_at(k); k++) {
            for (size_t j = 0; j < 2 * N; j++)
                u[j] = fre_rng_u64(&r) & FRE_TABLE_WORD_MASK;
            ct_poison(u, sizeof u);
            fre_table_kernel_at(k)(t, u, above, N);
            ct_require(t->n == 0 || ct_is_secret(above, 128), "the counts should be secret");
        }
        fre_gaussian_table_free(t);
    }
}

/* A client tosses its sampling coin too; what it shows is secret. */
static void coin(void)
{
    bool heads[64];
    fre_rng r;

    make_stream(&r, true);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        heads[i] = fre_sample_coin(&r, FRE_P_ONE / 3);
    ct_require(ct_is_secret(heads, sizeof heads), "the coins should be secret");
}

/* ---- controls ------------------------------------------------------------------------------ */

/* Stops at the first threshold that is not above the draw. */
static void leaky_scan(void)
{
    fre_gaussian_table *t = make_table(DEVIATION(2));
    volatile uint32_t sink;
    uint32_t m = 0;
    uint64_t high;
    fre_rng r;

    make_stream(&r, true);
    high = fre_rng_u64(&r) & FRE_TABLE_WORD_MASK;
    while (m < t->n && high >= t->block[m / FRE_TABLE_LANES].high[m % FRE_TABLE_LANES])
        m++;
    sink = m;
    (void)sink;
    fre_gaussian_table_free(t);
}

/* Starts the scan at a place that the draw's first bits name. */
static void leaky_index(void)
{
    fre_gaussian_table *t = make_table(DEVIATION(15));
    volatile uint64_t sink;
    fre_rng r;

    make_stream(&r, true);
    sink = t->block[fre_rng_u64(&r) >> 60].high[0];
    (void)sink;
    fre_gaussian_table_free(t);
}

/* The exact sampler of the same law, which rejects. */
static void exact_sampler(void)
{
    fre_rng r;

    make_stream(&r, true);
    (void)fre_sample_discrete_gaussian(&r, DEVIATION(15));
}

int main(void)
{
    static const ct_case cases[] = {
        {"control: scan with an early exit", leaky_scan, true},
        {"control: table indexed by the draw", leaky_index, true},
        {"control: the exact sampler rejects", exact_sampler, true},
        {"table scan, every instruction set", scan_by_every_kernel, false},
        {"table draw", draw, false},
        {"coin", coin, false},
    };

    return ct_main("sampler", cases, sizeof cases / sizeof *cases);
}
