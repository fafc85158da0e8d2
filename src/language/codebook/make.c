/* A codebook of public text: k-means of embeddings, groups of the centres, codes of what is left. */
#include "codebook_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GROUP_ROUNDS 10u
#define CODE_ROUNDS 15u
#define CODE_ROWS 65536u /* whose offsets the codes are learned from */
#define HELD 16u         /* one row of so many is only measured on ... */
#define HELD_LEAST 256u  /* ... where that leaves so many */

typedef struct maker {
    const fre_codebook_make_opts *o;
    fre_rows all, learn, held;
    size_t d;
    bool spherical;
    fre_codebook_base base[FRE_CODEBOOK_BASES_MAX]; /* centre and group are owned */
    size_t n_bases;
    fre_codebook_spec level[FRE_CODEBOOK_LEVELS_MAX]; /* code is owned */
} maker;

/* ---- what is asked for ------------------------------------------------------------------------------ */

static fre_status check_sizes(const fre_codebook_make_opts *o, fre_err *err)
{
    uint64_t before = UINT64_MAX;

    if (o->n_levels == 0 || o->n_levels > FRE_CODEBOOK_LEVELS_MAX)
        return fre_fail(err, FRE_E_USAGE, "{levels} must be 1 to %u levels",
                        FRE_CODEBOOK_LEVELS_MAX);
    for (size_t i = 0; i < o->n_levels; i++) {
        const fre_codebook_size *s = &o->level[i];
        const uint64_t cells = (uint64_t)s->centres * s->codes;

        if (s->centres == 0 || s->centres > FRE_CODEBOOK_CENTRES_MAX || s->codes == 0 ||
            s->codes > FRE_CODEBOOK_CODES_MAX || cells > FRE_CODEBOOK_CELLS_MAX)
            return fre_fail(err, FRE_E_USAGE,
                            "a level of {levels} has 1 to %u centres, 1 to %u codes, and %u cells "
                            "at most",
                            FRE_CODEBOOK_CENTRES_MAX, FRE_CODEBOOK_CODES_MAX,
                            FRE_CODEBOOK_CELLS_MAX);
        if (cells >= before)
            return fre_fail(
                err, FRE_E_USAGE,
                "{levels} must go from fine to coarse, each level with fewer cells than "
                "the one before");
        before = cells;
    }
    return FRE_OK;
}

static fre_status check(const fre_codebook_make_opts *o, size_t n, const fre_model_info *embedder,
                        const char *source, fre_err *err)
{
    fre_status st = check_sizes(o, err);

    if (st != FRE_OK)
        return st;
    st = fre_param_check(&fre_codebook_param_radius, o->radius, err);
    if (st != FRE_OK)
        return st;
    if (o->rounds == 0 || o->threads == 0 || strlen(source) > 127 || embedder->dim == 0 ||
        embedder->dim > CODEBOOK_DIM_MAX)
        return fre_fail(err, FRE_E_ARG,
                        "a codebook's rounds, threads, source or embedder is out of "
                        "range");
    for (size_t i = 0; i < o->n_levels; i++) {
        const uint64_t needed = (uint64_t)FRE_CODEBOOK_ROWS_EACH * o->level[i].centres;

        if (n < needed || n < (uint64_t)FRE_CODEBOOK_ROWS_EACH * o->level[i].codes)
            return fre_fail(err, FRE_E_DATA,
                            "%u centres need at least %llu texts, and there are %zu: give more, or "
                            "smaller {levels}",
                            o->level[i].centres, (unsigned long long)needed, n);
    }
    return n <= UINT32_MAX ? FRE_OK : fre_fail(err, FRE_E_DATA, "there are too many rows");
}

/* ---- centres ---------------------------------------------------------------------------------------- */

/* k-means with a stream of its own, so that no level depends on another. */
static fre_status cluster(const maker *m, float *centre, size_t k, fre_rows rows,
                          const fre_kmeans_opts *how)
{
    fre_kmeans_opts o = *how;
    char label[64];
    fre_rng rng;
    fre_status st;

    (void)snprintf(label, sizeof label, "%s %zu", how->phase, k);
    st = fre_rng_init_seeded(&rng, m->o->seed, label);
    if (st != FRE_OK)
        return st;
    o.threads = m->o->threads;
    o.progress = m->o->progress;
    o.rng = &rng;
    o.phase = label;
    st = fre_kmeans(centre, k, rows, m->d, &o);
    fre_rng_wipe(&rng);
    return st;
}

/* About the square root of 2k, a power of two; one where most would be looked into anyway. */
static uint32_t groups_for(uint32_t k)
{
    uint32_t n = 1;

    while ((uint64_t)4 * n * n <= (uint64_t)2 * k)
        n *= 2;
    return n >= 2 * FRE_CODEBOOK_PROBES ? n : 1;
}

/* Centres in the order of their groups; empty groups fall away.  size: n_groups. */
static fre_status order_by_group(const maker *m, float *centre, uint32_t k, const uint32_t *group,
                                 uint32_t *size, uint32_t *n_groups)
{
    const size_t row = m->d * sizeof *centre;
    float *sorted = malloc(k * row);
    uint32_t at = 0, kept = 0;

    if (!sorted)
        return FRE_E_NOMEM;
    for (uint32_t g = 0; g < *n_groups; g++) {
        const uint32_t first = at;

        for (uint32_t i = 0; i < k; i++)
            if (group[i] == g)
                memcpy(sorted + at++ * m->d, centre + i * m->d, row);
        if (at > first)
            size[kept++] = at - first;
    }
    memcpy(centre, sorted, k * row);
    *n_groups = kept;
    free(sorted);
    return FRE_OK;
}

static fre_status group(const maker *m, float *centre, uint32_t k, uint32_t *size,
                        uint32_t *n_groups)
{
    const fre_kmeans_opts how = {.rounds = GROUP_ROUNDS, .phase = "grouping"};
    const fre_rows rows = {centre, k};
    const uint32_t all = *n_groups;
    float *mean = malloc(*n_groups * m->d * sizeof *mean);
    uint32_t *member = calloc(k, sizeof *member);
    fre_grouped *g = NULL;
    fre_status st = mean && member ? FRE_OK : FRE_E_NOMEM;

    if (st == FRE_OK)
        st = cluster(m, mean, *n_groups, rows, &how);
    if (st == FRE_OK)
        st = fre_grouped_new(&g, (fre_rows){mean, all}, m->d, &all, 1, 1);
    if (st == FRE_OK)
        st = fre_grouped_nearest(g, member, NULL, rows, m->o->threads);
    if (st != FRE_OK)
        goto out;
    st = order_by_group(m, centre, k, member, size, n_groups);
out:
    fre_grouped_free(g);
    free(mean);
    free(member);
    return st;
}

/* One more base. */
static fre_status learn_base(maker *m, uint32_t k)
{
    const fre_kmeans_opts how = {
        .rounds = m->o->rounds, .spherical = m->spherical, .phase = "learning"};
    uint32_t n_groups = groups_for(k);
    float *centre = malloc(k * m->d * sizeof *centre);
    uint32_t *size = calloc(n_groups, sizeof *size);
    fre_codebook_base *b = &m->base[m->n_bases];
    fre_status st = FRE_E_NOMEM;

    if (!centre || !size)
        goto fail;
    st = cluster(m, centre, k, m->learn, &how);
    if (st != FRE_OK)
        goto fail;
    fre_codebook_round(centre, k, m->d);
    size[0] = k;
    st = n_groups > 1 ? group(m, centre, k, size, &n_groups) : FRE_OK;
    if (st != FRE_OK)
        goto fail;
    *b = (fre_codebook_base){centre, k, size, n_groups};
    m->n_bases++;
    return FRE_OK;
fail:
    free(centre);
    free(size);
    return st;
}

/* ---- codes ------------------------------------------------------------------------------------------ */

/* Offsets of the first n rows from their centres of a base.  NULL: *st says why. */
static float *offsets_of(const maker *m, const fre_codebook_base *b, size_t n, fre_status *st)
{
    uint32_t *near = calloc(n, sizeof *near);
    float *offset = malloc(n * m->d * sizeof *offset);
    fre_grouped *g = NULL;
    const uint32_t probes = b->n_groups < FRE_CODEBOOK_PROBES ? b->n_groups : FRE_CODEBOOK_PROBES;

    *st = near && offset ? FRE_OK : FRE_E_NOMEM;
    if (*st == FRE_OK)
        *st = fre_grouped_new(&g, (fre_rows){b->centre, b->centres}, m->d, b->group, b->n_groups,
                              probes);
    if (*st == FRE_OK)
        *st = fre_grouped_nearest(g, near, NULL, (fre_rows){m->learn.x, n}, m->o->threads);
    for (size_t i = 0; i < n && *st == FRE_OK; i++)
        for (size_t k = 0; k < m->d; k++)
            offset[i * m->d + k] = m->learn.x[i * m->d + k] - b->centre[near[i] * m->d + k];
    fre_grouped_free(g);
    free(near);
    if (*st != FRE_OK) {
        free(offset);
        offset = NULL;
    }
    return offset;
}

static fre_status learn_codes(maker *m, fre_codebook_spec *level)
{
    const fre_kmeans_opts how = {.rounds = CODE_ROUNDS, .phase = "coding"};
    const size_t n = m->learn.n < CODE_ROWS ? m->learn.n : CODE_ROWS;
    fre_status st;
    float *code = NULL, *offset = offsets_of(m, &m->base[level->base], n, &st);

    if (!offset)
        return st;
    code = malloc(level->codes * m->d * sizeof *code);
    st = code ? cluster(m, code, level->codes, (fre_rows){offset, n}, &how) : FRE_E_NOMEM;
    free(offset);
    if (st != FRE_OK) {
        free(code);
        return st;
    }
    level->code = code;
    return FRE_OK;
}

static fre_status learn_level(maker *m, size_t i)
{
    const fre_codebook_size *s = &m->o->level[i];
    fre_codebook_spec *level = &m->level[i];
    fre_status st = FRE_OK;
    size_t base = 0;

    while (base < m->n_bases && m->base[base].centres != s->centres)
        base++;
    if (base == m->n_bases)
        st = learn_base(m, s->centres);
    *level = (fre_codebook_spec){
        .base = (uint32_t)base, .codes = s->codes, .radius = m->o->radius, .gain = 1, .spread = 1};
    return st == FRE_OK && s->codes > 1 ? learn_codes(m, level) : st;
}

/* ---- what is measured on the rows ---------------------------------------------------------------------- */

static double bound(double x, double least)
{
    return fmin(fmax(x, least), CODEBOOK_NUMBER_MAX);
}

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The least of n lengths, n > 0, that so large a share of them does not exceed. */
static void set_quantiles(fre_codebook_level *v, double *length, size_t n)
{
    static const double share[FRE_CODEBOOK_QUANTILES] = {0.05, 0.25, 0.5, 0.75, 0.95};

    qsort(length, n, sizeof *length, rising);
    for (size_t q = 0; q < FRE_CODEBOOK_QUANTILES; q++)
        v->quantile[q] = codebook_whole(
            fmin(length[(size_t)ceil(share[q] * (double)n) - 1], CODEBOOK_NUMBER_MAX));
}

/* Spread, quantiles, and the gain: one over the mean factor by which clipping shortens an offset.
 * length: room for a number a held row. */
static void measure_offsets(fre_codebook *c, const maker *m, const uint32_t *cell, float *centre,
                            double *length)
{
    const uint32_t levels = c->info.n_levels;

    for (uint32_t l = 0; l < levels; l++) {
        fre_codebook_level *v = &c->level[l].view;
        double kept = 0, square = 0;

        for (size_t i = 0; i < m->held.n; i++) {
            double d2;

            fre_codebook_centre(c, l, cell[i * levels + l], centre);
            d2 = fre_dist2(m->held.x + i * m->d, centre, m->d);
            square += d2;
            length[i] = sqrt(d2);
            kept += d2 > v->radius * v->radius ? v->radius / sqrt(d2) : 1;
        }
        v->gain = codebook_whole(bound((double)m->held.n / kept, 1));
        v->spread = codebook_whole(bound(sqrt(square / (double)m->held.n), CODEBOOK_UNIT));
        set_quantiles(v, length, m->held.n);
    }
}

static fre_status count_empty(fre_codebook *c, const uint32_t *cell, size_t n)
{
    const uint32_t levels = c->info.n_levels;

    for (uint32_t l = 0; l < levels; l++) {
        fre_codebook_level *v = &c->level[l].view;
        bool *seen = calloc(v->cells, sizeof *seen);

        if (!seen)
            return FRE_E_NOMEM;
        v->empty = v->cells;
        for (size_t i = 0; i < n; i++) {
            bool *s = &seen[cell[i * levels + l]];

            v->empty -= !*s;
            *s = true;
        }
        free(seen);
    }
    return FRE_OK;
}

static fre_status measure(fre_codebook *c, const maker *m)
{
    const size_t levels = c->info.n_levels;
    uint32_t *cell = malloc(m->all.n * levels * sizeof *cell);
    const uint32_t *held = cell ? cell + (m->all.n - m->held.n) * levels : NULL;
    float *centre = malloc(m->d * sizeof *centre);
    double *length = malloc(m->held.n * sizeof *length);
    fre_status st = FRE_E_NOMEM;

    fre_progress_update(m->o->progress, "measuring", 0, 0);
    if (cell && centre && length)
        st = fre_codebook_cells(c, cell, m->all.x, m->all.n, m->o->threads);
    if (st == FRE_OK)
        st = count_empty(c, cell, m->all.n);
    if (st == FRE_OK)
        measure_offsets(c, m, held, centre, length);
    if (st == FRE_OK && m->held.n >= FRE_PRIOR_ROWS_MIN(m->d))
        st = codebook_learn_within(c, m->held, held, m->o->threads);
    free(cell);
    free(centre);
    free(length);
    return st;
}

/* ---- the whole ---------------------------------------------------------------------------------------- */

static fre_status assemble(fre_codebook **out, maker *m, fre_err *err)
{
    const fre_codebook_parts parts = {.dim = (uint32_t)m->d,
                                      .probes = FRE_CODEBOOK_PROBES,
                                      .base = m->base,
                                      .n_bases = m->n_bases,
                                      .level = m->level,
                                      .n_levels = m->o->n_levels};
    fre_err why;
    fre_status st = fre_codebook_new(out, &parts, &why);

    if (st == FRE_E_DATA)
        return fre_fail(err, st,
                        "these rows make no codebook (%s): give more texts, of more kinds, or "
                        "smaller {levels}",
                        why.text);
    if (st == FRE_OK)
        st = measure(*out, m);
    return st;
}

static void split(maker *m, fre_rows rows)
{
    const size_t held = rows.n / HELD;

    m->all = m->learn = m->held = rows;
    if (held >= HELD_LEAST) {
        m->learn.n = rows.n - held;
        m->held = (fre_rows){rows.x + m->learn.n * m->d, held};
    }
}

static void maker_wipe(maker *m)
{
    for (size_t i = 0; i < m->n_bases; i++) {
        free((void *)(uintptr_t)m->base[i].centre);
        free((void *)(uintptr_t)m->base[i].group);
    }
    for (size_t i = 0; i < m->o->n_levels; i++)
        free((void *)(uintptr_t)m->level[i].code);
}

fre_status fre_codebook_make(fre_codebook **out, fre_rows rows, const fre_codebook_make_opts *o,
                             const fre_model_info *embedder, const char *source, fre_err *err)
{
    maker m = {.o = o, .d = embedder->dim, .spherical = embedder->normalised};
    fre_codebook *c = NULL;
    fre_status st = check(o, rows.n, embedder, source, err);

    if (st != FRE_OK)
        return st;
    split(&m, rows);
    for (size_t i = 0; i < o->n_levels && st == FRE_OK; i++)
        st = learn_level(&m, i);
    if (st == FRE_OK)
        st = assemble(&c, &m, err);
    maker_wipe(&m);
    if (st != FRE_OK) {
        fre_codebook_free(c);
        return st == FRE_E_NOMEM ? fre_fail(err, st, "out of memory making a codebook") : st;
    }
    c->info.rows = (uint32_t)rows.n;
    fre_model_label(c->info.embedder, sizeof c->info.embedder, embedder->name);
    fre_hex(c->info.embedder_hash, embedder->sha256, FRE_HASH_BYTES);
    fre_model_label(c->info.source, sizeof c->info.source, source);
    *out = c;
    return FRE_OK;
}
