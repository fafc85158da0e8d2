/* aggregate/level.c - what decides at a level of public cells; see fre/aggregate.h. */
#include <fre/aggregate.h>

bool fre_aggregate_goes_on(uint32_t row)
{
    return row == FRE_AGGREGATE_NOWHERE;
}

uint64_t fre_aggregate_level_weight(uint64_t records, const fre_plan_level *l, fre_rng *coins)
{
    uint64_t heads = 0;

    if (l->level.counts == FRE_COUNTS_NOISY)
        return records;
    while (records-- > 0)
        heads += fre_aggregate_coin(coins, l->level.p32);
    return heads;
}

bool fre_aggregate_level_released(uint64_t *shown, uint64_t count, const fre_plan_level *l,
                                  fre_rng *counts)
{
    int64_t noisy;

    *shown = count;
    if (l->level.counts != FRE_COUNTS_NOISY)
        return fre_aggregate_released(count, l->level.tau);
    noisy = fre_aggregate_noisy_count(count, counts, l->count_sigma_lattice);
    *shown = fre_aggregate_published_count(noisy);
    return fre_aggregate_noisy_released(noisy, l->level.tau);
}
