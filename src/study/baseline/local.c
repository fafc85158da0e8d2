/* baseline/local.c - ldp-embedding: every user's own noise, then cells, counts and means of what they sent.
 *
 * What was sent is not kept: a group of users draws from a stream of its own, whose key comes from the
 * run's noise, and is drawn once more where one of its users is in a cell that is released. */
#include "baseline_private.h"

#include <stdlib.h>
#include <string.h>

#define GROUP 256u

typedef struct group_key {
    uint8_t bytes[FRE_SEED_BYTES]; /* SECRET */
} group_key;

typedef struct senders {
    baseline_run *r;
    uint32_t *row; /* of each user */
    size_t n, groups;
    group_key *key; /* of each group */
    fre_cell *cell; /* of what each user sent */
} senders;

static fre_status no_memory(fre_err *err)
{
    return fre_fail(err, FRE_E_NOMEM, "out of memory for the users");
}

static void senders_wipe(senders *s)
{
    fre_wipe_free(s->row, s->n * sizeof *s->row);
    fre_wipe_free(s->key, s->groups * sizeof *s->key);
    fre_wipe_free(s->cell, s->n * sizeof *s->cell);
}

static fre_status senders_make(senders *s, baseline_run *r, fre_err *err)
{
    const baseline_people *p = &r->people;
    size_t at = 0;

    s->r = r;
    s->n = (size_t)p->users;
    s->groups = (s->n + GROUP - 1) / GROUP;
    s->row = calloc(s->n + 1, sizeof *s->row);
    s->key = calloc(s->groups + 1, sizeof *s->key);
    s->cell = calloc(s->n + 1, sizeof *s->cell);
    if (!s->row || !s->key || !s->cell)
        return no_memory(err);
    for (size_t i = 0; i < p->n; i++)
        for (uint64_t k = 0; k < p->weight[i]; k++)
            s->row[at++] = (uint32_t)i;
    for (size_t g = 0; g < s->groups; g++)
        fre_rng_bytes(&r->noise, s->key[g].bytes, sizeof s->key[g].bytes);
    return FRE_OK;
}

/* What one user sends, on the lattice. */
static fre_status send(const senders *s, int64_t *sent, fre_rng *noise, size_t user)
{
    const baseline_run *r = s->r;
    const baseline_people *p = &r->people;
    const fre_aggregate_lattice lattice = {r->plan.lattice_step, p->norm_bound, 1};
    fre_status st;

    memset(sent, 0, p->dim * sizeof *sent);
    st = fre_aggregate_add(sent, p->x + s->row[user] * (size_t)p->dim, p->dim, 1, &lattice);
    if (st == FRE_OK)
        fre_aggregate_noise(sent, p->dim, noise, r->plan.sigma_lattice);
    return st;
}

typedef fre_status took(void *ctx, size_t user, const int64_t *sent);

/* Everything that a group sends, in order. */
static fre_status send_group(const senders *s, uint64_t g, took *to, void *ctx)
{
    const size_t from = (size_t)g * GROUP, end = from + GROUP < s->n ? from + GROUP : s->n;
    int64_t *sent = calloc(s->r->people.dim, sizeof *sent);
    fre_rng noise;
    fre_status st =
        sent ? fre_rng_init_seeded(&noise, s->key[g].bytes, "ldp-embedding") : FRE_E_NOMEM;

    if (st != FRE_OK) {
        free(sent);
        return st;
    }
    for (size_t u = from; st == FRE_OK && u < end; u++) {
        st = send(s, sent, &noise, u);
        if (st == FRE_OK)
            st = to(ctx, u, sent);
    }
    fre_rng_wipe(&noise);
    fre_wipe_free(sent, s->r->people.dim * sizeof *sent);
    return st;
}

/* ---- first: cells ------------------------------------------------------------------------------- */

static fre_status place(void *ctx, size_t user, const int64_t *sent)
{
    const senders *s = ctx;
    const size_t dim = s->r->people.dim;
    float *x = calloc(dim, sizeof *x);
    fre_status st = x ? FRE_OK : FRE_E_NOMEM;

    if (st == FRE_OK) {
        fre_aggregate_mean(x, sent, dim, s->r->plan.lattice_step, 1);
        st = fre_sketch_cell(s->r->sketch, &s->cell[user], x, dim);
    }
    fre_wipe_free(x, dim * sizeof *x);
    return st;
}

static fre_status place_group(void *ctx, uint64_t g)
{
    return fre_interrupted() ? FRE_E_INTERRUPTED : send_group(ctx, g, place, ctx);
}

static fre_status place_all(senders *s, fre_err *err)
{
    const fre_status st = fre_parallel(s->r->opts->threads, s->groups, place_group, s);

    if (st == FRE_OK)
        return st;
    return fre_fail(err, st == FRE_E_LIMIT ? FRE_E_DATA : st, "%s",
                    st == FRE_E_LIMIT ? "a noisy embedding lies outside the grid: raise {epsilon}"
                                      : fre_status_text(st));
}

/* ---- then: means --------------------------------------------------------------------------------- */

typedef struct sums {
    const senders *s;
    const uint32_t *of; /* of each user: the place of its cell among the kept, or FRE_MAP_NONE */
    int64_t *sum;
} sums;

static fre_status add(void *ctx, size_t user, const int64_t *sent)
{
    const sums *t = ctx;
    const size_t dim = t->s->r->people.dim;

    for (size_t j = 0; t->of[user] != FRE_MAP_NONE && j < dim; j++)
        t->sum[t->of[user] * dim + j] += sent[j];
    return FRE_OK;
}

static bool has_kept(const sums *t, size_t g)
{
    for (size_t u = g * GROUP; u < t->s->n && u < (g + 1) * GROUP; u++)
        if (t->of[u] != FRE_MAP_NONE)
            return true;
    return false;
}

static fre_status average(senders *s, const baseline_kept *k, const uint32_t *of, fre_err *err)
{
    const size_t dim = s->r->people.dim;
    sums t = {s, of, calloc(k->n * dim + 1, sizeof *t.sum)};
    fre_status st = t.sum ? FRE_OK : no_memory(err);

    for (size_t g = 0; st == FRE_OK && g < s->groups; g++)
        if (has_kept(&t, g) && (st = send_group(s, g, add, &t)) != FRE_OK)
            (void)fre_fail(err, st, "%s", fre_status_text(st));
    for (size_t i = 0; st == FRE_OK && i < k->n; i++)
        fre_aggregate_mean(s->r->result->release.centroid + i * dim, t.sum + i * dim, dim,
                           s->r->plan.lattice_step, k->count[i]);
    free(t.sum);
    return st;
}

/* ---- the whole ----------------------------------------------------------------------------------- */

/* of: of each user, the number of the cell that what they sent is in. */
static fre_status count_cells(senders *s, uint32_t *of, fre_err *err)
{
    fre_status st = FRE_OK;

    for (size_t u = 0; st == FRE_OK && u < s->n; u++)
        st = baseline_enter(s->r, &of[u], &s->cell[u], 1, err);
    return st;
}

static fre_status keep_frequent(baseline_run *r, baseline_kept *k, fre_err *err)
{
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < r->cells.n; i++)
        if (r->true_count[i] >= r->opts->plan.threshold)
            st = baseline_keep(k, i, r->true_count[i], err);
    if (st == FRE_OK)
        baseline_shuffle(r, k);
    return st;
}

/* of: from numbers of cells to places among the kept. */
static fre_status find_places(const senders *s, uint32_t *of, const baseline_kept *k, fre_err *err)
{
    uint32_t *place = malloc((s->r->cells.n + 1) * sizeof *place);

    if (!place)
        return no_memory(err);
    memset(place, 0xff, s->r->cells.n * sizeof *place); /* FRE_MAP_NONE */
    for (size_t i = 0; i < k->n; i++)
        place[k->cell[i]] = (uint32_t)i;
    for (size_t u = 0; u < s->n; u++)
        of[u] = place[of[u]];
    free(place);
    return FRE_OK;
}

/* From what was sent to centroids. */
static fre_status release(senders *s, baseline_kept *k, uint32_t *of, fre_err *err)
{
    fre_status st = count_cells(s, of, err);

    if (st == FRE_OK)
        st = keep_frequent(s->r, k, err);
    if (st == FRE_OK)
        st = baseline_fill(s->r, k, err);
    if (st != FRE_OK)
        return st;
    st = find_places(s, of, k, err);
    return st == FRE_OK ? average(s, k, of, err) : st;
}

fre_status baseline_local(baseline_run *r, fre_err *err)
{
    senders s = {.n = 0};
    baseline_kept k = {.n = 0};
    uint32_t *of = NULL;
    fre_status st = senders_make(&s, r, err);

    fre_progress_update(r->opts->progress, "sending", 0, 0);
    if (st == FRE_OK)
        st = place_all(&s, err);
    if (st == FRE_OK) {
        of = calloc(s.n + 1, sizeof *of);
        st = of ? release(&s, &k, of, err) : no_memory(err);
    }
    free(of);
    baseline_kept_wipe(&k);
    senders_wipe(&s);
    return st;
}
