/* grouped.c - nearest rows in two steps: nearest groups, nearest of their rows.
 *
 * ||b||^2 - 2 <q, b> in float, which orders the rows b by their distance from q, rules out all but a
 * few; its error is bounded, so a choice by less than twice the bound is made again by fre_dist2.
 * Queries are taken some hundred at a time and put together by the groups they want, so that a
 * group's rows are read once for many of them. */
#include "linalg_private.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 1024u /* queries a worker takes at once */
#define LANES FRE_TILE_COLUMNS

/* Packed rows and their squared norms, padded to whole panels; a padded row is infinitely far. */
typedef struct shelf {
    float *packed;
    float *norm2;
    double longest; /* norm */
} shelf;

struct fre_grouped {
    const float *row; /* borrowed */
    size_t d, n_groups, probes;
    uint32_t *first; /* n_groups + 1: row at which a group begins */
    uint32_t *panel; /* n_groups + 1: panel at which it begins */
    float *mean;     /* n_groups x d */
    shelf rows, means;
};

/* ---- making one ---------------------------------------------------------------------------------- */

static fre_status shelf_new(shelf *s, size_t panels, size_t d)
{
    if (d == 0 || panels > SIZE_MAX / LANES / d)
        return FRE_E_NOMEM;
    s->packed = fre_linalg_floats(panels * LANES * d);
    s->norm2 = fre_linalg_floats(panels * LANES);
    return s->packed && s->norm2 ? FRE_OK : FRE_E_NOMEM;
}

static void shelf_put(shelf *s, size_t panel, const float *x, size_t n, size_t d)
{
    const size_t padded = (n + LANES - 1) / LANES * LANES;
    float *norm2 = s->norm2 + panel * LANES;

    fre_linalg_pack(s->packed + panel * LANES * d, x, n, d);
    for (size_t j = 0; j < padded; j++) {
        const double exact = j < n ? fre_dot(x + j * d, x + j * d, d) : (double)INFINITY;

        norm2[j] = (float)exact;
        if (j < n && !(sqrt(exact) <= s->longest))
            s->longest = sqrt(exact);
    }
}

static void mean_of(float *mean, const float *x, size_t n, size_t d)
{
    for (size_t i = 0; i < d; i++) {
        double sum = 0;

        for (size_t j = 0; j < n; j++)
            sum += (double)x[j * d + i];
        mean[i] = (float)(sum / (double)n);
    }
}

static bool fits(const uint32_t *size, size_t n_groups, size_t n)
{
    uint64_t all = 0;

    for (size_t g = 0; g < n_groups; g++) {
        if (size[g] == 0)
            return false;
        all += size[g];
    }
    return all == n;
}

static fre_status fill(fre_grouped *g, const uint32_t *size)
{
    const size_t d = g->d;
    size_t panels = 0;
    fre_status st;

    for (size_t i = 0; i < g->n_groups; i++) {
        g->first[i + 1] = g->first[i] + size[i];
        panels += (size[i] + LANES - 1) / LANES;
        g->panel[i + 1] = (uint32_t)panels;
        mean_of(g->mean + i * d, g->row + g->first[i] * d, size[i], d);
    }
    st = shelf_new(&g->rows, panels, d);
    if (st == FRE_OK)
        st = shelf_new(&g->means, (g->n_groups + LANES - 1) / LANES, d);
    if (st != FRE_OK)
        return st;
    for (size_t i = 0; i < g->n_groups; i++)
        shelf_put(&g->rows, g->panel[i], g->row + g->first[i] * d, size[i], d);
    shelf_put(&g->means, 0, g->mean, g->n_groups, d);
    return FRE_OK;
}

fre_status fre_grouped_new(fre_grouped **out, fre_rows rows, size_t d, const uint32_t *size,
                           size_t n_groups, size_t probes)
{
    fre_grouped *g;
    fre_status st = FRE_E_NOMEM;

    if (!out || !rows.x || !size || d == 0 || rows.n == 0 || rows.n > UINT32_MAX || n_groups == 0 ||
        n_groups > rows.n || probes == 0 || probes > n_groups || probes > FRE_GROUPS_PROBES_MAX ||
        !fits(size, n_groups, rows.n))
        return FRE_E_ARG;
    g = calloc(1, sizeof *g);
    if (!g)
        return FRE_E_NOMEM;
    g->row = rows.x;
    g->d = d;
    g->n_groups = n_groups;
    g->probes = probes;
    g->first = calloc(n_groups + 1, sizeof *g->first);
    g->panel = calloc(n_groups + 1, sizeof *g->panel);
    g->mean = calloc(n_groups, d * sizeof *g->mean);
    if (g->first && g->panel && g->mean)
        st = fill(g, size);
    if (st == FRE_OK) {
        *out = g;
        g = NULL;
    }
    fre_grouped_free(g);
    return st;
}

void fre_grouped_free(fre_grouped *g)
{
    if (!g)
        return;
    free(g->rows.packed);
    free(g->rows.norm2);
    free(g->means.packed);
    free(g->means.norm2);
    free(g->mean);
    free(g->first);
    free(g->panel);
    free(g);
}

/* ---- searching ------------------------------------------------------------------------------------ */

/* The least two scores of a query and where the least stands. */
typedef struct least {
    float one, two;
    uint32_t at;
} least;

/* The same for each lane of the panels of a group; panel: of the least. */
typedef struct lanes {
    float one[LANES], two[LANES];
    uint32_t panel[LANES];
} lanes;

typedef struct worker {
    const float *query[CHUNK];
    double norm[CHUNK];
    least best[CHUNK];
    uint32_t *picked; /* CHUNK x probes, ascending for each query */
    uint32_t *wants;  /* CHUNK x probes: queries, by group */
    uint32_t *start;  /* n_groups + 1, of a group in wants */
    float *score;     /* FRE_TILE_ROWS_MAX x means */
    double *exact;    /* n_groups */
} worker;

typedef struct search {
    const fre_grouped *g;
    uint32_t *index;
    double *dist2;
    const float *query;
    size_t n, chunk;
    uint64_t chunks;
    double relative, absolute;
    atomic_uint_fast64_t next;
    worker *worker;
} search;

/* Scores further apart than this are in the order of their distances, fre_dist2's rounding included.
 * Infinite: they say nothing. */
static double margin(const search *s, double norm, double longest)
{
    const double product = s->relative * norm * longest + s->absolute;
    const double size = longest * (longest + 2 * norm);
    const double rounding = 0x1p-22 * size;

    if (!(size < (double)FLT_MAX / 2)) /* a product or a square may have overflowed */
        return (double)INFINITY;
    return 4 * product + 2 * rounding + 1e-12 * (norm + longest) * (norm + longest);
}

static void score_panel(float *score, const float *product, const float *norm2)
{
    for (size_t j = 0; j < LANES; j++)
        score[j] = norm2[j] - 2 * product[j];
}

/* The probes groups of the least exact distances among those marked in exact by 0. */
static void pick_exactly(const fre_grouped *g, uint32_t *picked, double *exact, const float *q)
{
    for (size_t i = 0; i < g->n_groups; i++)
        if (exact[i] < 1)
            exact[i] = fre_dist2(q, g->mean + i * g->d, g->d);
    for (size_t k = 0; k < g->probes; k++) {
        size_t best = 0;

        for (size_t i = 1; i < g->n_groups; i++)
            if (exact[i] < exact[best])
                best = i;
        exact[best] = (double)INFINITY;
        picked[k] = (uint32_t)best;
    }
    for (size_t k = 1; k < g->probes; k++) /* ascending */
        for (size_t i = k; i > 0 && picked[i] < picked[i - 1]; i--) {
            const uint32_t keep = picked[i];

            picked[i] = picked[i - 1];
            picked[i - 1] = keep;
        }
}

static void pick(const fre_grouped *g, worker *w, size_t i, const float *score, double slack)
{
    const size_t probes = g->probes;
    uint32_t *picked = w->picked + i * probes;
    float low[FRE_GROUPS_PROBES_MAX];
    size_t n = 0, near = 0;
    double limit;

    for (size_t j = 0; j < g->n_groups; j++) {
        size_t at;

        if (n == probes && !(score[j] < low[n - 1]))
            continue;
        at = n < probes ? n++ : n - 1;
        for (; at > 0 && score[j] < low[at - 1]; at--)
            low[at] = low[at - 1];
        low[at] = score[j];
    }
    limit = (double)low[probes - 1] + slack;
    for (size_t j = 0; j < g->n_groups; j++) {
        const bool far = (double)score[j] > limit;

        if (!far && near < probes)
            picked[near] = (uint32_t)j;
        near += !far;
        w->exact[j] = far ? (double)INFINITY : 0;
    }
    if (near > probes)
        pick_exactly(g, picked, w->exact, w->query[i]);
}

/* Rows of a tile: those of list (NULL: from, from + 1, ...), the first again for those missing. */
static size_t tile_rows(const worker *w, const float **row, const uint32_t *list, size_t from,
                        size_t n)
{
    const size_t all = fre_linalg_kernels(0)->tile_rows, there = n - from < all ? n - from : all;

    for (size_t i = 0; i < all; i++) {
        const size_t at = from + (i < there ? i : 0);

        row[i] = w->query[list ? list[at] : at];
    }
    return there;
}

static void pick_groups(const search *s, worker *w, size_t n)
{
    const fre_grouped *g = s->g;
    const fre_kernels *use = fre_linalg_kernels(0);
    const size_t panels = (g->n_groups + LANES - 1) / LANES;
    float product[FRE_TILE_ROWS_MAX * LANES];

    if (g->probes == g->n_groups) {
        for (size_t i = 0; i < n * g->probes; i++)
            w->picked[i] = (uint32_t)(i % g->probes);
        return;
    }
    for (size_t from = 0; from < n;) {
        const float *row[FRE_TILE_ROWS_MAX];
        const size_t there = tile_rows(w, row, NULL, from, n);

        for (size_t p = 0; p < panels; p++) {
            use->tile(product, row, g->means.packed + p * LANES * g->d, g->d);
            for (size_t i = 0; i < there; i++)
                score_panel(w->score + (i * panels + p) * LANES, product + i * LANES,
                            g->means.norm2 + p * LANES);
        }
        for (size_t i = 0; i < there; i++)
            pick(g, w, from + i, w->score + i * panels * LANES,
                 margin(s, w->norm[from + i], g->means.longest));
        from += there;
    }
}

/* Queries by the groups they want. */
static void sort_by_group(const fre_grouped *g, worker *w, size_t n)
{
    memset(w->start, 0, (g->n_groups + 1) * sizeof *w->start);
    for (size_t i = 0; i < n * g->probes; i++)
        w->start[w->picked[i] + 1]++;
    for (size_t j = 0; j < g->n_groups; j++)
        w->start[j + 1] += w->start[j];
    for (size_t i = 0; i < n * g->probes; i++)
        w->wants[w->start[w->picked[i]]++] = (uint32_t)(i / g->probes);
    for (size_t j = g->n_groups; j > 0; j--) /* each start ran on to the next one */
        w->start[j] = w->start[j - 1];
    w->start[0] = 0;
}

static void lanes_add(lanes *l, const float *product, const float *norm2, uint32_t panel)
{
    for (size_t j = 0; j < LANES; j++) {
        const float score = norm2[j] - 2 * product[j];
        const float second = score < l->two[j] ? score : l->two[j];

        l->two[j] = score < l->one[j] ? l->one[j] : second;
        l->panel[j] = score < l->one[j] ? panel : l->panel[j];
        l->one[j] = score < l->one[j] ? score : l->one[j];
    }
}

/* The lanes of a group, whose rows begin at `first`, join what other groups gave. */
static void least_add(least *b, const lanes *l, uint32_t first)
{
    for (size_t j = 0; j < LANES; j++) {
        float other = l->one[j];

        if (l->one[j] < b->one) {
            other = b->one;
            b->one = l->one[j];
            b->at = first + l->panel[j] * LANES + (uint32_t)j;
        }
        b->two = other < b->two ? other : b->two;
        b->two = l->two[j] < b->two ? l->two[j] : b->two;
    }
}

static void search_group(const fre_grouped *g, worker *w, size_t group)
{
    const fre_kernels *use = fre_linalg_kernels(0);
    const uint32_t *list = w->wants + w->start[group];
    const size_t n = w->start[group + 1] - w->start[group];
    float product[FRE_TILE_ROWS_MAX * LANES];
    lanes l[FRE_TILE_ROWS_MAX];

    for (size_t from = 0; from < n;) {
        const float *row[FRE_TILE_ROWS_MAX];
        const size_t there = tile_rows(w, row, list, from, n);

        for (size_t i = 0; i < there; i++)
            for (size_t j = 0; j < LANES; j++) {
                l[i].one[j] = l[i].two[j] = INFINITY;
                l[i].panel[j] = 0;
            }
        for (size_t p = g->panel[group]; p < g->panel[group + 1]; p++) {
            use->tile(product, row, g->rows.packed + p * LANES * g->d, g->d);
            for (size_t i = 0; i < there; i++)
                lanes_add(&l[i], product + i * LANES, g->rows.norm2 + p * LANES,
                          (uint32_t)(p - g->panel[group]));
        }
        for (size_t i = 0; i < there; i++)
            least_add(&w->best[list[from + i]], &l[i], g->first[group]);
        from += there;
    }
}

/* By definition, where scores do not tell. */
static uint32_t nearest_exactly(const fre_grouped *g, const uint32_t *picked, const float *q)
{
    uint32_t best = g->first[picked[0]];
    double least2 = fre_dist2(q, g->row + best * g->d, g->d);

    for (size_t k = 0; k < g->probes; k++)
        for (uint32_t j = g->first[picked[k]]; j < g->first[picked[k] + 1]; j++) {
            const double d2 = fre_dist2(q, g->row + j * g->d, g->d);

            if (d2 < least2) {
                least2 = d2;
                best = j;
            }
        }
    return best;
}

static void search_chunk(const search *s, worker *w, uint64_t chunk)
{
    const fre_grouped *g = s->g;
    const size_t top = (size_t)chunk * s->chunk;
    const size_t n = s->n - top < s->chunk ? s->n - top : s->chunk;

    for (size_t i = 0; i < n; i++) {
        w->query[i] = s->query + (top + i) * g->d;
        w->norm[i] = fre_norm(w->query[i], g->d);
        w->best[i] = (least){INFINITY, INFINITY, 0};
    }
    pick_groups(s, w, n);
    sort_by_group(g, w, n);
    for (size_t j = 0; j < g->n_groups; j++)
        search_group(g, w, j);
    for (size_t i = 0; i < n; i++) {
        const least *b = &w->best[i];
        const double slack = margin(s, w->norm[i], g->rows.longest);
        uint32_t at = b->at;

        if (!((double)b->two - (double)b->one > slack) || !(fabsf(b->one) <= FLT_MAX))
            at = nearest_exactly(g, w->picked + i * g->probes, w->query[i]);
        s->index[top + i] = at;
        if (s->dist2)
            s->dist2[top + i] = fre_dist2(w->query[i], g->row + at * g->d, g->d);
    }
}

static fre_status search_worker(void *ctx, uint64_t w)
{
    search *s = ctx;

    for (;;) {
        const uint64_t chunk = atomic_fetch_add(&s->next, 1);

        if (chunk >= s->chunks)
            return FRE_OK;
        search_chunk(s, &s->worker[w], chunk);
    }
}

static fre_status worker_new(worker *w, const fre_grouped *g)
{
    const size_t wanted = (size_t)CHUNK * g->probes;
    const size_t padded = (g->n_groups + LANES - 1) / LANES * LANES;

    w->picked = calloc(wanted, sizeof *w->picked);
    w->wants = calloc(wanted, sizeof *w->wants);
    w->start = calloc(g->n_groups + 1, sizeof *w->start);
    w->score = calloc(padded, FRE_TILE_ROWS_MAX * sizeof *w->score);
    w->exact = calloc(g->n_groups, sizeof *w->exact);
    return w->picked && w->wants && w->start && w->score && w->exact ? FRE_OK : FRE_E_NOMEM;
}

static void workers_free(worker *w, size_t n)
{
    for (size_t i = 0; w && i < n; i++) {
        free(w[i].picked);
        free(w[i].wants);
        free(w[i].start);
        free(w[i].score);
        free(w[i].exact);
    }
    free(w);
}

fre_status fre_grouped_nearest(const fre_grouped *g, uint32_t *index, double *dist2, fre_rows query,
                               uint32_t threads)
{
    search s = {.g = g, .index = index, .dist2 = dist2, .query = query.x, .n = query.n};
    fre_status st = FRE_OK;

    if (!g || !index || !query.x || threads == 0)
        return FRE_E_ARG;
    if (query.n == 0)
        return FRE_OK;
    /* Few queries: smaller chunks, so that every thread has one. */
    s.chunk = (query.n - 1) / threads + 1;
    s.chunk = s.chunk > CHUNK ? CHUNK : s.chunk;
    s.chunks = (query.n - 1) / s.chunk + 1;
    if (threads > s.chunks)
        threads = (uint32_t)s.chunks;
    s.relative = fre_linalg_relative(g->d);
    s.absolute = fre_linalg_absolute(g->d);
    s.worker = calloc(threads, sizeof *s.worker);
    if (!s.worker)
        return FRE_E_NOMEM;
    for (uint32_t w = 0; w < threads && st == FRE_OK; w++)
        st = worker_new(&s.worker[w], g);
    if (st == FRE_OK)
        st = fre_parallel(threads, threads, search_worker, &s);
    workers_free(s.worker, threads);
    return st;
}
