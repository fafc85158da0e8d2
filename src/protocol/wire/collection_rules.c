/* collection_rules.c - what a collection's fields may be. */
#include "wire_private.h"

#include <math.h>

fre_status wire_apply(const wire_rule *r, size_t n, fre_err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!r[i].ok)
            return fre_fail(err, FRE_E_DATA, "collection: %s must be %s", r[i].field, r[i].must);
    }
    return FRE_OK;
}

/* One encoding each: no negative zero. */
static bool is_share(double x)
{
    return x >= 0 && x < 1 && !signbit(x);
}

static bool is_length(double x)
{
    return x > 0 && x <= 1e12;
}

static fre_status check_sketch(const fre_collection *c, fre_err *err)
{
    const bool public = c->sketch.kind == FRE_SKETCH_CODEBOOK;
    const fre_sketch_grid g = public ? (fre_sketch_grid){1, 1} : c->sketch.grid;
    const fre_sketch_codebook b =
        public ? c->sketch.codebook : (fre_sketch_codebook){.cells = 1, .radius = 1, .gain = 1};
    const wire_rule rules[] = {
        {public || c->sketch.kind == FRE_SKETCH_GRID, "sketch", "grid or codebook"},
        {g.proj >= 1 && g.proj <= FRE_PRIVACY_K_MAX, "proj", "in 1..64"},
        {is_length(g.cell_edge), "cell_edge", "above 0 and at most 1e12"},
        {!public || fre_sketch_file(&c->sketch), "codebook", "the SHA-256 of a file, not zeros"},
        {b.cells >= 1 && b.cells <= FRE_LEVEL_CELLS_MAX, "public_cells", "in 1..2^32-1"},
        {is_length(b.radius), "clip_radius", "above 0 and at most 1e12"},
        {b.gain >= 1 && b.gain <= 1e6, "gain", "from 1 to 1e6"},
        {!public || c->sensitivity == FRE_SENSITIVITY_WORST_CASE, "sensitivity",
         "worst-case with a codebook"},
    };

    return WIRE_APPLY(rules, err);
}

static fre_status check_cells(const fre_collection *c, fre_err *err)
{
    const wire_rule rules[] = {
        {c->dim >= 1 && c->dim <= FRE_COLLECTION_DIM_MAX, "dim", "in 1..8192"},
        {c->p32 >= 1 && c->p32 <= FRE_P_ONE, "p32", "in 1..2^32"},
        {c->threshold >= 1 && c->threshold <= FRE_PRIVACY_POPULATION_MAX, "threshold",
         "in 1..10^12"},
    };
    fre_status st = WIRE_APPLY(rules, err);

    if (st != FRE_OK)
        return st;
    if (c->tau != fre_tau(c->p32, c->threshold))
        return fre_fail(err, FRE_E_DATA,
                        "collection: tau must be the threshold times the sampling rate, rounded "
                        "up: %llu",
                        (unsigned long long)fre_tau(c->p32, c->threshold));
    if (c->tau < 2)
        return fre_fail(err, FRE_E_DATA, "collection: tau must be at least 2");
    return FRE_OK;
}

static fre_status check_privacy(const fre_collection *c, fre_err *err)
{
    const bool worst = c->sensitivity == FRE_SENSITIVITY_WORST_CASE;
    const double most = 2 * fre_sketch_reach(&c->sketch, c->norm_bound);
    const wire_rule rules[] = {
        {is_length(c->sigma), "sigma", "above 0 and at most 1e12"},
        {is_length(c->split), "split", "above 0 and at most 1e12"},
        {is_length(c->norm_bound), "norm_bound", "above 0 and at most 1e12"},
        {!worst || (c->split >= most && c->split <= most), "split",
         "2 norm_bound with worst-case sensitivity, and 2 clip_radius with a codebook"},
        {c->lambda16 >= 1 && c->lambda16 <= FRE_P_ONE, "lambda16", "in 1..2^32"},
        {c->gamma <= FRE_TSDLAP_GAMMA_MAX, "gamma", "at most 2^24"},
        {c->curious < c->tau, "curious", "below tau"},
        {is_share(c->dropout), "dropout", "from 0 and below 1"},
        {!c->one_contact || !(c->dropout > 0), "dropout", "0 with one contact"},
        {!c->one_contact || c->cover, "cover", "on with one contact"},
        {!c->server_noise || c->one_contact, "noise_by", "clients with two contacts"},
        {c->adjacency == FRE_ADJACENCY_ADD_REMOVE || c->adjacency == FRE_ADJACENCY_REPLACE,
         "adjacency", "add-remove or replace"},
        {worst || c->sensitivity == FRE_SENSITIVITY_PROBABILISTIC, "sensitivity",
         "probabilistic or worst-case"},
        {c->epsilon > 0 && c->epsilon <= FRE_PRIVACY_EPSILON_MAX, "epsilon",
         "above 0 and at most 50"},
        {c->delta > 0 && c->delta < 1, "delta", "above 0 and below 1"},
        {is_share(c->phi), "phi", "from 0 and below 1"},
    };

    return WIRE_APPLY(rules, err);
}

static fre_status check_users(const fre_collection *c, fre_err *err)
{
    const wire_rule rules[] = {
        {c->cells_per_user >= 1 && c->cells_per_user <= FRE_COLLECTION_CELLS_MAX, "cells_per_user",
         "in 1..64"},
        {c->users >= 1 && c->users <= FRE_COLLECTION_RECORDS_MAX, "users", "in 1..2^32-1"},
    };
    fre_status st = WIRE_APPLY(rules, err);
    fre_mechanism m;

    if (st != FRE_OK)
        return st;
    if (c->users * c->cells_per_user > FRE_COLLECTION_RECORDS_MAX)
        return fre_fail(err, FRE_E_DATA,
                        "collection: users times cells_per_user must be below 2^32");
    if (c->batch_min < 1 || c->batch_min > c->users * c->cells_per_user)
        return fre_fail(err, FRE_E_DATA,
                        "collection: batch_min must be in 1..users times cells_per_user");
    fre_collection_mechanism(&m, c);
    if (!(fre_sigma_local(&m, m.tau) > 0))
        return fre_fail(err, FRE_E_DATA,
                        "collection: of tau answers none would be left to carry noise: curious or "
                        "dropout must be lower");
    return FRE_OK;
}

/* ---- times ------------------------------------------------------------------------------------- */

static fre_status check_times(const fre_collection *c, fre_err *err)
{
    const wire_rule rules[] = {
        {c->open >= 1 && c->open <= FRE_COLLECTION_TIME_MAX, "open",
         "a time in seconds since 1970"},
        {c->exchange_close > c->open, "exchange_close", "after open"},
        {c->tags_close > c->exchange_close, "tags_close", "after exchange_close"},
        {c->one_contact || c->shares_close > c->tags_close, "shares_close", "after tags_close"},
        {!c->one_contact || c->shares_close == c->tags_close, "shares_close",
         "tags_close with one contact"},
        {c->end > c->shares_close && c->end <= FRE_COLLECTION_TIME_MAX, "end",
         "after shares_close, and before the year 10000"},
    };

    return WIRE_APPLY(rules, err);
}

fre_status fre_collection_validate(const fre_collection *c, fre_err *err)
{
    static fre_status (*const checks[])(const fre_collection *, fre_err *) = {
        check_sketch, check_cells, check_privacy, check_users, wire_check_parties, check_times};

    if (!c)
        return FRE_E_ARG;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        fre_status st = checks[i](c, err);

        if (st != FRE_OK)
            return st;
    }
    return FRE_OK;
}

/* ---- the mechanism ----------------------------------------------------------------------------- */

void fre_collection_mechanism(fre_mechanism *out, const fre_collection *c)
{
    *out = (fre_mechanism){
        .p32 = c->p32,
        .tau = c->tau,
        .sigma = c->sigma,
        .population = c->users * c->cells_per_user,
        .sketch = c->sketch,
        .adjacency = c->adjacency,
        .sensitivity = c->sensitivity,
        .norm_bound = c->norm_bound,
        .dim = c->dim,
        .lattice_step = 0, /* the protocol's rule */
        .cells_per_user = c->cells_per_user,
        .noise = FRE_NOISE_DISCRETE,
        .dist = {.on = true,
                 .cover = c->cover,
                 .one_contact = c->one_contact,
                 .server_noise = c->server_noise,
                 .splits = c->splits,
                 .curious = c->curious,
                 .dropout = c->dropout,
                 .lambda = (double)c->lambda16 / (double)FRE_TSDLAP_ONE,
                 .gamma = c->gamma,
                 .phi = c->phi},
    };
}

fre_status fre_collection_shares_fit(const fre_mechanism *m, double split, fre_err *err)
{
    fre_share_cell cell;
    uint64_t largest, cells;
    uint32_t bits;
    fre_status st;

    if (!m)
        return FRE_E_ARG;
    st = fre_share_cell_init(&cell, m, split, m->tau, FRE_SHARING_BITS_MAX, err);
    largest = wire_largest_cell(m, &cells);
    return st == FRE_OK && m->dist.one_contact
               ? fre_share_bits(&bits, m, split, largest, cells, err)
               : st;
}

const char *fre_collection_plan_warning(const fre_plan *p)
{
    const fre_mechanism *m = &p->mechanism;

    if (!m->dist.on || m->noise != FRE_NOISE_DISCRETE || !isfinite(p->request.epsilon) ||
        fre_collection_shares_fit(m, p->account.split, NULL) == FRE_OK)
        return NULL;
    return "No collection can be made of this plan: the 32 bits of a share do not hold its sums. "
           "Plan for a part of the population, and collect from each part on its own, or lower "
           "epsilon.";
}

fre_status fre_collection_check(fre_account *out, const fre_collection *c, fre_err *err)
{
    fre_mechanism m;
    fre_account a;
    char epsilon[FRE_DIGITS_BYTES], delta[FRE_DIGITS_BYTES], claim[FRE_DIGITS_BYTES];
    fre_err why = {.text = ""};
    fre_status st;

    if (!c)
        return FRE_E_ARG;
    if ((st = fre_collection_validate(c, err)) != FRE_OK)
        return st;
    fre_collection_mechanism(&m, c);
    st = fre_joint_delta_at_split(&a, &m, c->epsilon, c->split, &why);
    if (st != FRE_OK)
        return fre_fail(err, FRE_E_REFUSED, "collection: do not take part, no delta is enough: %s",
                        why.text);
    if (!(a.delta <= c->delta))
        return fre_fail(err, FRE_E_REFUSED,
                        "collection: at epsilon %s it keeps delta %s, not the %s that it claims: "
                        "do not take part",
                        fre_digits_down(epsilon, 6, c->epsilon), fre_digits_up(delta, 6, a.delta),
                        fre_digits_down(claim, 6, c->delta));
    /* A claim that nobody can make shares for is none either. */
    if (fre_collection_shares_fit(&m, c->split, &why) != FRE_OK)
        return fre_fail(err, FRE_E_REFUSED, "collection: no share can be made: %s", why.text);
    if (out)
        *out = a;
    return FRE_OK;
}

void fre_collection_ohttp_config(fre_ohttp_config *out, const fre_collection *c, fre_wire_type ask)
{
    *out = (fre_ohttp_config){.pk = ask == FRE_WIRE_ISSUE_REQUEST ? c->issuer_seal : c->tag_seal,
                              .id = FRE_COLLECTION_OHTTP_KEY_ID,
                              .aeads = 1,
                              .aead = {c->aead}};
}
