/* audit/levels_runs.c - runs of a release by levels, by the functions that a curator runs: which records
 * a level counts, which cells are released, who goes on, sums and noise. */
#include "levels_private.h"

#include <math.h>
#include <string.h>

/* ---- one run --------------------------------------------------------------------------------- */

#define TEXTS_MAX (AUDIT_GROUPS_OF_LEVELS + 1u)

typedef struct actor {
    const audit_levels *setup;
    fre_rng coins, noise, counts;
    size_t texts; /* groups, and the record's if it is there, last */
    uint64_t records[TEXTS_MAX], weight[TEXTS_MAX];
    uint32_t row[TEXTS_MAX];
    audit_sight sight[AUDIT_STAGES_MAX];
    uint64_t company_shown;
    int64_t *sum, *company; /* dim; that cell's sum without its records */
    uint64_t name;          /* of all sums seen */
} actor;

static bool is_there(const actor *a, size_t text, size_t stage)
{
    const audit_places *p = &a->setup->places;

    return (text >= p->groups || (p->group[text].from <= stage && stage <= p->group[text].to)) &&
           a->setup->steps->goes_on(a->row[text]);
}

static uint32_t cell_of(const actor *a, size_t text, size_t stage)
{
    const audit_places *p = &a->setup->places;

    return text < p->groups ? p->group[text].cell[stage] : p->cell[stage];
}

static void count_stage(actor *a, uint64_t count[AUDIT_CELLS], size_t at)
{
    const audit_stage *s = &a->setup->stage[at];
    const audit_places *p = &a->setup->places;

    for (size_t i = 0; i < a->texts; i++) {
        if (!is_there(a, i, at))
            continue;
        a->weight[i] = a->setup->steps->level_weight(a->records[i], &s->level, &a->coins);
        count[cell_of(a, i, at)] += a->weight[i];
        if (i < p->groups && cell_of(a, i, at) == p->cell[at])
            a->sight[at].others += a->records[i];
    }
}

/* What an attacker can't subtract of a cell's sum: `known` others are left out. */
static void sum_cell(actor *a, int64_t *sum, size_t at, uint32_t row, uint64_t known)
{
    const audit_stage *s = &a->setup->stage[at];
    const audit_places *p = &a->setup->places;
    int64_t others = 0, mine = 0;

    for (size_t i = 0; i < a->texts; i++) {
        if (a->row[i] == row && i < p->groups)
            others += (int64_t)a->weight[i];
        else if (a->row[i] == row)
            mine += (int64_t)a->weight[i];
    }
    for (uint32_t j = 0; j < a->setup->dim; j++)
        sum[j] = others * s->others[j] + mine * s->mine[j];
    a->setup->steps->noise(sum, a->setup->dim, &a->noise, s->level.sigma_lattice);
    for (uint32_t j = 0; j < a->setup->dim; j++)
        sum[j] -= (int64_t)known * s->others[j];
}

static void look(actor *a, size_t at, uint32_t row)
{
    const audit_stage *s = &a->setup->stage[at];
    const bool noisy = s->level.level.counts == FRE_COUNTS_NOISY;
    audit_sight *v = &a->sight[at];

    sum_cell(a, a->sum, at, row, noisy ? v->others : v->shown);
    for (uint32_t j = 0; j < a->setup->dim; j++)
        v->along += (double)a->sum[j] * a->setup->line[j] * s->level.lattice_step;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

/* Beside company's sum by the difference, in which noise that both share cancels. */
static void name_sum(actor *a, size_t at)
{
    static const uint8_t key[32];
    uint8_t out[16];
    uint64_t half;

    for (uint32_t j = 0; a->setup->places.company && j < a->setup->dim; j++)
        a->sum[j] -= a->company[j];
    fre_hash128(out, key, a->sum, a->setup->dim * sizeof *a->sum);
    memcpy(&half, out, sizeof half);
    a->name = mix(mix(a->name, at), half);
}

static void run_stage(actor *a, size_t at)
{
    const audit_stage *s = &a->setup->stage[at];
    const audit_places *p = &a->setup->places;
    uint64_t count[AUDIT_CELLS] = {0}, shown[AUDIT_CELLS];
    uint32_t row_of[AUDIT_CELLS];
    bool released[AUDIT_CELLS];

    count_stage(a, count, at);
    for (uint32_t c = 0; c < AUDIT_CELLS; c++) {
        released[c] =
            a->setup->steps->level_released(&shown[c], count[c], &s->level, &a->counts);
        row_of[c] = released[c] ? (uint32_t)at * AUDIT_CELLS + c : FRE_AGGREGATE_NOWHERE;
    }
    for (size_t i = 0; i < a->texts; i++)
        if (is_there(a, i, at))
            a->row[i] = row_of[cell_of(a, i, at)];
    if (p->company && at == 0 && released[1]) {
        a->company_shown = shown[1];
        sum_cell(a, a->company, at, row_of[1],
                 s->level.level.counts == FRE_COUNTS_NOISY ? p->group[0].records : shown[1]);
    }
    a->sight[at].released = released[p->cell[at]];
    a->sight[at].shown = shown[p->cell[at]];
    if (a->sight[at].released) {
        look(a, at, row_of[p->cell[at]]);
        name_sum(a, at);
    }
}

/* ---- what is kept of it ---------------------------------------------------------------------- */

static uint64_t bin(double x, double width)
{
    const double b = floor(x / width);

    return (uint64_t)(int64_t)(b > 1e6 ? 1e6 : b < -1e6 ? -1e6 : b);
}

/* Count noise beside company's. */
static uint64_t name_company(const actor *a, size_t at)
{
    const audit_levels *s = a->setup;
    const double more =
        (double)a->sight[at].shown - (double)a->sight[at].others -
        ((double)a->company_shown - (double)s->places.group[0].records);

    return s->places.company && a->company_shown > 0 ? bin(more, 1) : 0;
}

/* Exact counts at the threshold tell most. */
static uint64_t name_least(const fre_level *l, uint64_t shown)
{
    return l->counts == FRE_COUNTS_SAMPLED && shown - l->tau < 3 ? shown - l->tau : 3;
}

/* The ratio goes to the stage that takes the record along; what it would say behind it, where the record
 * isn't if all is right, is part of the rounded name. */
static void trace(audit_trace *out, const actor *a)
{
    const audit_levels *s = a->setup;
    size_t first = s->stages;
    double behind = 0;
    uint64_t h;

    *out = (audit_trace){.exact = a->name | 1};
    for (size_t i = 0; i < s->stages; i++) {
        const double l = audit_levels_llr(&s->stage[i], &a->sight[i]);

        if (first == s->stages)
            out->llr += l;
        else if (a->sight[i].released)
            behind += l;
        if (a->sight[i].released && first == s->stages)
            first = i;
    }
    h = mix(2, first);
    if (first < s->stages) {
        h = mix(h, bin(out->llr, s->stage[first].bin));
        h = mix(mix(h, bin(behind, s->stage[first].bin)), name_company(a, first));
        h = mix(h, name_least(&s->stage[first].level.level, a->sight[first].shown));
    }
    out->coarse = h | 1;
}

static void run_once(audit_trace *out, actor *a, unsigned world)
{
    const audit_levels *s = a->setup;

    a->texts = s->places.groups + (world == 1);
    for (size_t i = 0; i < a->texts; i++) {
        a->records[i] = i < s->places.groups ? s->places.group[i].records : 1;
        a->row[i] = FRE_AGGREGATE_NOWHERE;
    }
    memset(a->sight, 0, sizeof a->sight);
    memset(a->company, 0, s->dim * sizeof *a->company);
    a->company_shown = 0;
    a->name = 1;
    for (size_t i = 0; i < s->stages; i++)
        run_stage(a, i);
    trace(out, a);
}

static fre_status open_streams(actor *a, unsigned world, uint64_t chunk)
{
    static const char *const kinds[] = {"coins", "noise", "counts"};
    fre_rng *const streams[] = {&a->coins, &a->noise, &a->counts};

    return audit_open_streams(streams, kinds, 3, a->setup->opts,
                              &(audit_chunk){"audit/levels", a->setup->index, world, chunk});
}

fre_status audit_levels_simulate(audit_trace *out, size_t n, const void *setup, unsigned world,
                                 uint64_t chunk)
{
    actor a = {.setup = setup};
    fre_status st = open_streams(&a, world, chunk);

    a.sum = calloc(a.setup->dim, sizeof *a.sum);
    a.company = calloc(a.setup->dim, sizeof *a.company);
    if (st == FRE_OK && (!a.sum || !a.company))
        st = FRE_E_NOMEM;
    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        run_once(&out[i], &a, world);
        st = fre_interrupted() ? FRE_E_INTERRUPTED : FRE_OK;
    }
    free(a.sum);
    free(a.company);
    fre_rng_wipe(&a.coins);
    fre_rng_wipe(&a.noise);
    fre_rng_wipe(&a.counts);
    return st;
}
