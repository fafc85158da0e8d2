/* audit/runs.c - runs of the mechanism, as its parties would: coins, counts, the predicate, sums on
 * the lattice, noise, padding, covers.  What comes out is what an attacker sees. */
#include "audit_private.h"

#include <fre/sketch.h>

#include <math.h>
#include <string.h>

/* ---- one run --------------------------------------------------------------------------------- */

/* What the parties know before anything is seen. */
typedef struct hidden {
    uint64_t sampled[AUDIT_GROUPS_MAX]; /* of cell 0's others, by line */
    uint64_t other_cell;                /* of cell 1's others */
    uint32_t mine;   /* coins of the user in whom the inputs differ, a bit each */
    uint64_t covers; /* random tags */
} hidden;

/* Which far groups share the record's cell under a fresh projection.  By the rotations of space
 * only their distances matter, so that the grid can live on the axes. */
static fre_status fall(bool in[AUDIT_GROUPS_MAX], audit_actor *a)
{
    const audit_setup *s = a->setup;
    const float norm = (float)(s->scenario.far * M_SQRT1_2);
    fre_sketch_params sp = {.dim = s->lines + 1, .grid = s->opts->mechanism.sketch.grid};
    float x[AUDIT_GROUPS_MAX + 1] = {norm};
    fre_sketch *sketch = NULL;
    fre_cell home, cell;
    fre_status st;

    fre_rng_bytes(&a->grid, sp.seed, sizeof sp.seed);
    st = fre_sketch_new(&sketch, &sp);
    if (st == FRE_OK)
        st = fre_sketch_cell(sketch, &home, x, sp.dim);
    x[0] = 0;
    for (uint32_t i = 0; st == FRE_OK && i < s->lines; i++) {
        x[i + 1] = norm;
        st = fre_sketch_cell(sketch, &cell, x, sp.dim);
        in[i] = st == FRE_OK && memcmp(&home, &cell, sizeof cell) == 0;
        x[i + 1] = 0;
    }
    fre_sketch_free(sketch);
    return st;
}

static void toss(hidden *b, audit_actor *a, const bool in[AUDIT_GROUPS_MAX], unsigned world)
{
    const audit_setup *s = a->setup;
    const fre_distributed *d = &s->opts->mechanism.dist;
    const uint64_t p32 = s->opts->mechanism.p32;
    const bool has_text = s->scenario.extra[world].cell != AUDIT_NOWHERE;
    uint64_t record = 0, silent = 0;

    for (uint32_t i = 0; i < s->lines; i++) {
        for (uint64_t j = 0; in[i] && j < s->scenario.others[0]; j++) {
            const bool heads = s->steps->coin(&a->coins, p32, record++);

            b->sampled[i] += heads;
            silent += !heads;
        }
    }
    for (uint64_t j = 0; j < s->scenario.others[1]; j++) {
        const bool heads = s->steps->coin(&a->coins, p32, record++);

        b->other_cell += heads;
        silent += !heads;
    }
    for (unsigned k = 0; k < s->n_mine[world]; k++)
        b->mine |= (uint32_t)s->steps->coin(&a->coins, p32, record++) << k;
    if (d->on && s->steps->cover(d, true))
        b->covers = silent;
    if (d->on && b->mine == 0)
        b->covers += s->steps->cover(d, has_text);
}

/* Sum of a cell and its noise. */
static fre_status release(audit_actor *a, const hidden *b, unsigned cell, unsigned world)
{
    const audit_setup *s = a->setup;
    int64_t *sum = a->sum[cell];
    fre_status st = FRE_OK;

    memset(sum, 0, s->dim * sizeof *sum);
    for (uint32_t i = 0; st == FRE_OK && i < (cell == 0 ? s->lines : 1); i++) {
        uint64_t times = cell == 0 ? b->sampled[i] : b->other_cell;

        if (cell == 0 && i == 0)
            times += s->opts->mechanism.dist.curious;
        if (times > 0)
            st = s->steps->add(sum, s->others + (size_t)i * s->dim, s->dim, times, &s->lattice);
    }
    for (unsigned k = 0; st == FRE_OK && k < s->n_mine[world]; k++)
        if ((b->mine >> k & 1) && s->mine[world][k].cell == (int)cell)
            st = s->steps->add(sum, s->mine[world][k].x, s->dim, 1, &s->lattice);
    if (st == FRE_OK)
        s->steps->noise(sum, s->dim, &a->noise, s->sigma_lattice);
    return st;
}

static double along(const audit_setup *s, const int64_t *sum, uint64_t count, uint32_t line)
{
    const int64_t *q = s->lattice_others + (size_t)line * s->dim;
    const double *u = s->direction + (size_t)line * s->dim;
    double t = 0;

    for (uint32_t j = 0; j < s->dim; j++)
        t += (double)(sum[j] - (int64_t)count * q[j]) * u[j];
    return t * s->lattice.step;
}

/* A released cell, as its parties make it. */
static fre_status see_sum(audit_actor *a, const hidden *b, unsigned cell, unsigned world,
                          uint32_t line)
{
    const audit_setup *s = a->setup;
    audit_view *v = &a->view;
    uint64_t mine = 0;
    fre_status st;

    if (s->shares) {
        for (unsigned k = 0; k < s->n_mine[world]; k++)
            mine += s->mine[world][k].cell == (int)cell && (b->mine >> k & 1);
        return audit_shares_sum(a, cell, cell == 0 ? b->sampled[0] : b->other_cell, mine > 0, world);
    }
    st = release(a, b, cell, world);
    if (st != FRE_OK)
        return st;
    v->opened[cell] = true;
    v->answers[cell] = v->count[cell];
    v->along[cell] = along(s, a->sum[cell], v->count[cell], line);
    return FRE_OK;
}

static fre_status see_cells(audit_actor *a, const hidden *b, const bool in[AUDIT_GROUPS_MAX],
                            unsigned world)
{
    const audit_setup *s = a->setup;
    const uint64_t tau = s->opts->mechanism.tau;
    audit_view *v = &a->view;
    uint32_t line = 0;

    v->count[0] = s->opts->mechanism.dist.curious;
    v->count[1] = b->other_cell;
    for (uint32_t i = s->lines; i-- > 0;) {
        v->count[0] += b->sampled[i];
        line = in[i] ? i : line;
    }
    for (unsigned k = 0; k < s->n_mine[world]; k++)
        v->count[s->mine[world][k].cell] += b->mine >> k & 1;
    for (unsigned k = 0; k < 2; k++) {
        v->released[k] = s->steps->released(v->count[k], tau);
        v->answers[k] = 0;
        v->opened[k] = false;
        if (v->released[k]) {
            const fre_status st = see_sum(a, b, k, world, k == 0 ? line : 0);

            if (st != FRE_OK)
                return st;
        }
    }
    return FRE_OK;
}

/* Unreleased tags of S_syn's view: how many appear m times.  Dummies first, then those of a run's cells. */
static fre_status see_padding(audit_actor *a)
{
    const fre_mechanism *m = &a->setup->opts->mechanism;

    return a->setup->steps->padding(a->view.tags, m->tau, &a->padding, &m->dist);
}

static void see_tags(audit_actor *a, const hidden *b)
{
    const fre_mechanism *m = &a->setup->opts->mechanism;
    audit_view *v = &a->view;

    for (unsigned k = 0; k < 2; k++) {
        if (!v->released[k] && v->count[k] >= 1 && v->count[k] < m->tau)
            v->tags[v->count[k] - 1]++;
    }
    v->tags[0] += (uint32_t)b->covers;
}

/* ---- names of views -------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static uint64_t mix_bytes(uint64_t h, const void *p, size_t n)
{
    static const uint8_t key[32];
    uint64_t half;
    uint8_t out[16];

    fre_hash128(out, key, p, n);
    memcpy(&half, out, sizeof half);
    return mix(h, half);
}

/* Answers in one of a cell's sums. */
static int64_t answers_in(const audit_view *v, unsigned cell, uint32_t part)
{
    return (int64_t)(v->sums[cell].n <= 1 ? v->answers[cell] : v->sums[cell].answers[part]);
}

/* What two sums of members don't share: noise of both cancels. */
static void differ(int64_t *out, const audit_actor *a, const unsigned cell[2],
                   const uint32_t part[2])
{
    const audit_setup *s = a->setup;
    const int64_t *x = a->sum[cell[0]] + (size_t)part[0] * s->dim;
    const int64_t *y = a->sum[cell[1]] + (size_t)part[1] * s->dim;
    const int64_t more =
        answers_in(&a->view, cell[0], part[0]) - answers_in(&a->view, cell[1], part[1]);

    for (uint32_t j = 0; j < s->dim; j++)
        out[j] = x[j] - y[j] - more * s->lattice_others[j];
}

/* Two cells are looked at by the difference of their sums. */
static uint64_t name_sums(audit_actor *a, uint64_t h)
{
    const audit_setup *s = a->setup;
    const audit_view *v = &a->view;
    const size_t bytes = s->dim * sizeof *a->difference;
    const uint32_t parts = s->shares ? v->sums[0].n : 1;

    if (v->released[0] && v->released[1] && (!s->shares || v->sums[1].n == parts)) {
        for (uint32_t i = 0; i < parts; i++)
            differ(a->difference + (size_t)i * s->dim, a, (const unsigned[]){0, 1},
                   (const uint32_t[]){i, i});
        return mix_bytes(h, a->difference, parts * bytes);
    }
    for (unsigned k = 0; k < 2; k++) {
        if (v->released[k])
            h = mix_bytes(mix(mix(h, v->count[k]), v->answers[k]), a->sum[k],
                          (s->shares ? v->sums[k].n : 1) * bytes);
    }
    return h;
}

static uint64_t name_exactly(audit_actor *a)
{
    const fre_mechanism *m = &a->setup->opts->mechanism;
    const audit_view *v = &a->view;
    uint64_t h = mix(1, (uint64_t)v->released[0] * 2 + v->released[1]);

    h = name_sums(a, mix(h, v->groups));
    if (audit_sees_tags(a->setup) && !(v->released[0] && v->released[1])) /* else the sums' own name */
        h = mix_bytes(h, v->tags, (size_t)(m->tau - 1) * sizeof *v->tags);
    return h | 1;
}

static uint64_t bin(double x, double width)
{
    const double b = floor(x / width);

    return (uint64_t)(int64_t)(b > 1e9 ? 1e9 : b < -1e9 ? -1e9 : b);
}

/* A curator's view: counts, and sums in quarters of their noise. */
static uint64_t name_cells(const audit_actor *a, uint64_t h)
{
    const audit_setup *s = a->setup;
    const audit_view *v = &a->view;
    const unsigned cells = s->scenario.extra[0].cell == 1 ? 2 : 1;

    for (unsigned k = 0; k < cells; k++)
        h = mix(h, v->released[k] ? mix(v->count[k], bin(v->along[k], s->sigma / 4)) : 0);
    return h;
}

/* S_syn's view: single tags beside what the released cell shows, or beside the two multiplicities
 * that the cell most likely has. */
static uint64_t name_tags(const audit_actor *a, uint64_t h)
{
    const audit_setup *s = a->setup;
    const audit_view *v = &a->view;
    const uint64_t c = audit_likely_count(s), tau = s->opts->mechanism.tau;

    h = mix(h, v->tags[0]);
    if (v->released[0])
        return mix(h, bin(audit_llr_of_cell(s, v), .25));
    h = mix(h, c >= 2 && c < tau ? v->tags[c - 1] : 0);
    return mix(h, c + 1 < tau ? v->tags[c] : 0);
}

/* How regular the noise of cell 0 is, if the record is where input `world` has it: coordinates
 * without noise or with that of another one, lattice points never used, one sign only.  None of it
 * happens to sound noise, but for the rare accident. */
typedef struct pattern {
    uint32_t repeats, coarse, one_sided;
} pattern;

static int by_size(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static pattern pattern_of(audit_actor *a, unsigned world)
{
    const audit_setup *s = a->setup;
    const int64_t count = (int64_t)a->view.count[0];
    pattern p = {.repeats = 0};
    uint32_t below = 0;
    uint64_t bits = 0;

    for (uint32_t j = 0; j < s->dim; j++) {
        const int64_t noise = a->sum[0][j] - count * s->lattice_others[j] - s->shift[world][j];

        a->sizes[j] = noise < 0 ? 0 - (uint64_t)noise : (uint64_t)noise;
        bits |= a->sizes[j];
        below += noise < 0;
    }
    while (p.coarse < 63 && !(bits >> p.coarse & 1))
        p.coarse++;
    p.one_sided = below == 0 || below == s->dim;
    qsort(a->sizes, s->dim, sizeof *a->sizes, by_size);
    for (uint32_t j = 0; j < s->dim; j++)
        p.repeats += a->sizes[j] == (j > 0 ? a->sizes[j - 1] : 0);
    return p;
}

static unsigned order(uint32_t x, uint32_t y)
{
    return x < y ? 0 : x == y ? 1 : 2;
}

#define PATTERN_DIM 16u /* in fewer dimensions accidents are not rare */

/* Under which input the noise looks more regular. */
static uint64_t name_pattern(audit_actor *a)
{
    pattern p[2];

    if (!a->view.released[0] || a->setup->scenario.groups > 0 || a->setup->dim < PATTERN_DIM ||
        a->setup->shares) /* whose noise is of so few steps that it repeats by chance */
        return 0;
    for (unsigned w = 0; w < 2; w++)
        p[w] = pattern_of(a, w);
    return order(p[0].repeats, p[1].repeats) + 3 * order(p[0].coarse, p[1].coarse) +
           9 * order(p[0].one_sided, p[1].one_sided);
}

static bool is_moved(const audit_actor *a, int64_t times, unsigned world)
{
    const audit_setup *s = a->setup;
    int64_t any = 0;

    for (uint32_t j = 0; j < s->dim; j++) {
        if (a->difference[j] != times * s->shift[world][j])
            return false;
        any |= a->difference[j];
    }
    return times == 0 || any != 0;
}

/* Of cell 0's thirds: pairs that are the same but for how many are in them, and such that differ by the record of
 * an input besides.  Noise of their own lets neither happen, but for the rare accident. */
static uint64_t name_thirds(audit_actor *a)
{
    uint64_t alike = 0, moved[2] = {0, 0};

    if (!a->setup->shares || !a->view.opened[0] || a->view.sums[0].n == 1)
        return 0;
    for (uint32_t i = 0; i < AUDIT_SUMS_MAX; i++) {
        differ(a->difference, a, (const unsigned[]){0, 0},
               (const uint32_t[]){i, (i + 1) % AUDIT_SUMS_MAX});
        alike += is_moved(a, 0, 0);
        for (unsigned w = 0; w < 2; w++)
            moved[w] += is_moved(a, 1, w) || is_moved(a, -1, w);
    }
    return 1 + alike + 4 * moved[0] + 16 * moved[1];
}

/* How much likelier the sum alone makes that cell 0 has the record of V' rather than V's, whatever the count
 * says: what too little noise shows in, though the law knows nothing of it. */
static double lean(const audit_setup *s, const audit_view *v)
{
    double likelier[2];

    for (unsigned w = 0; w < 2; w++)
        likelier[w] = s->scenario.extra[w].cell != 0 || !v->released[0]
                          ? 0
                          : audit_log_add(log1p(-fmin(s->p, 1 - 1e-12)), log(s->p) + v->fit[0][w]);
    return likelier[1] - likelier[0];
}

static uint64_t name_roughly(audit_actor *a)
{
    const uint64_t h = mix(mix(mix(2, a->view.groups), a->view.released[0]), name_pattern(a));

    if (a->setup->shares && a->view.released[0])
        return mix(mix(5, bin(lean(a->setup, &a->view), .125)), name_thirds(a)) | 1;
    return (audit_sees_tags(a->setup) ? name_tags(a, h) : name_cells(a, h)) | 1;
}

/* ---- a chunk --------------------------------------------------------------------------------- */

static fre_status open_streams(audit_actor *a, unsigned world, uint64_t chunk)
{
    static const char *const kinds[] = {"coins", "noise", "padding", "grid", "shares"};
    fre_rng *const streams[] = {&a->coins, &a->noise, &a->padding, &a->grid, &a->shares};

    return audit_open_streams(streams, kinds, 5, a->setup->opts,
                              &(audit_chunk){"audit", a->setup->index, world, chunk});
}

/* Several cells, and in V' a record of one user in each: their sums' laws multiply; what tags show of it is
 * left to the learned test. */
static fre_status run_group(audit_trace *out, audit_actor *a, unsigned world)
{
    static const bool in[AUDIT_GROUPS_MAX] = {true};
    const audit_setup *s = a->setup;
    uint64_t exact = 3, coarse = 4, open = 0;
    double leans = 0;
    fre_status st = audit_sees_tags(s) ? see_padding(a) : FRE_OK;

    out->llr = 0;
    for (uint32_t i = 0; st == FRE_OK && i < s->scenario.cells; i++) {
        hidden b = {.covers = 0};

        toss(&b, a, in, world);
        st = see_cells(a, &b, in, world);
        if (st != FRE_OK)
            return st;
        if (audit_sees_tags(s))
            see_tags(a, &b);
        out->llr += audit_llr_of_cell(s, &a->view);
        leans += lean(s, &a->view);
        open += a->view.released[0];
        exact = name_sums(a, mix(exact, a->view.released[0]));
    }
    if (st == FRE_OK && audit_sees_tags(s))
        exact = mix_bytes(exact, a->view.tags,
                          (size_t)(s->opts->mechanism.tau - 1) * sizeof *a->view.tags);
    if (st != FRE_OK)
        return st;
    out->exact = exact | 1;
    coarse = mix(coarse, bin(leans, .125));
    a->view.released[0] = false; /* what is left to name is the tags */
    out->coarse = (audit_sees_tags(s) && open == 0 ? name_tags(a, coarse) : coarse) | 1;
    return FRE_OK;
}

static fre_status run_once(audit_trace *out, audit_actor *a, unsigned world)
{
    const audit_setup *s = a->setup;
    bool in[AUDIT_GROUPS_MAX] = {true};
    hidden b = {.covers = 0};
    fre_status st = FRE_OK;

    if (s->scenario.cells > 1)
        return run_group(out, a, world);
    if (s->scenario.groups > 0)
        st = fall(in, a);
    a->view.groups = 0;
    for (uint32_t i = 0; s->scenario.groups > 0 && i < s->lines; i++)
        a->view.groups += in[i];
    if (st != FRE_OK)
        return st;
    toss(&b, a, in, world);
    st = see_cells(a, &b, in, world);
    if (st == FRE_OK && audit_sees_tags(s))
        st = see_padding(a);
    if (st != FRE_OK)
        return st;
    if (audit_sees_tags(s))
        see_tags(a, &b);
    out->llr = audit_llr(s, &a->view);
    out->exact = name_exactly(a);
    out->coarse = name_roughly(a);
    return FRE_OK;
}

fre_status audit_simulate(audit_trace *out, size_t n, const void *setup, unsigned world,
                          uint64_t chunk)
{
    const audit_setup *s = setup;
    const uint64_t tau = s->opts->mechanism.tau;
    audit_actor a = {.setup = s};
    fre_status st = open_streams(&a, world, chunk);

    for (unsigned k = 0; k < 2; k++)
        a.sum[k] = calloc(AUDIT_SUMS_MAX * (size_t)s->dim, sizeof *a.sum[k]);
    a.difference = calloc(AUDIT_SUMS_MAX * (size_t)s->dim, sizeof *a.difference);
    a.sizes = calloc(s->dim, sizeof *a.sizes);
    if (s->opts->mechanism.dist.on)
        a.view.tags = calloc((size_t)tau, sizeof *a.view.tags);
    if (!a.sum[0] || !a.sum[1] || !a.difference || !a.sizes ||
        (s->opts->mechanism.dist.on && !a.view.tags))
        st = FRE_E_NOMEM;
    if (st == FRE_OK && s->shares)
        st = audit_hands_init(&a.hands, s);
    for (size_t i = 0; st == FRE_OK && i < n; i++)
        st = fre_interrupted() ? FRE_E_INTERRUPTED : run_once(&out[i], &a, world);
    free(a.sum[0]);
    free(a.sum[1]);
    free(a.difference);
    free(a.sizes);
    free(a.view.tags);
    audit_hands_wipe(&a.hands);
    fre_rng_wipe(&a.coins);
    fre_rng_wipe(&a.noise);
    fre_rng_wipe(&a.padding);
    fre_rng_wipe(&a.grid);
    fre_rng_wipe(&a.shares);
    return st;
}
