/* audit/steps.c - the steps of the real mechanism; see fre/audit.h. */
#include "audit_private.h"

static bool real_coin(fre_rng *coins, uint64_t p32, uint64_t record)
{
    (void)record;
    return fre_aggregate_coin(coins, p32);
}

static void real_server_noise(uint32_t *sum, size_t n, const fre_share_cell *cell, fre_rng *noise,
                              unsigned server, unsigned which)
{
    (void)server;
    (void)which;
    fre_share_add_noise(sum, n, cell, noise);
}

static bool real_cover(const fre_distributed *d, bool has_text)
{
    (void)has_text;
    return d->cover;
}

const fre_audit_steps *fre_audit_real_steps(void)
{
    static const fre_audit_steps steps = {.fold = fre_fold_text,
                                          .clip = fre_aggregate_clip,
                                          .takes = fre_contribution_counts,
                                          .add = fre_aggregate_add,
                                          .coin = real_coin,
                                          .released = fre_aggregate_released,
                                          .noise = fre_aggregate_noise,
                                          .share = fre_share_make_with,
                                          .sums = fre_cell_sums,
                                          .server_noise = real_server_noise,
                                          .padding = fre_aggregate_padding,
                                          .cover = real_cover,
                                          .offset = fre_aggregate_offset,
                                          .level_weight = fre_aggregate_level_weight,
                                          .level_released = fre_aggregate_level_released,
                                          .goes_on = fre_aggregate_goes_on,
                                          .account = fre_levels_delta};

    return &steps;
}
