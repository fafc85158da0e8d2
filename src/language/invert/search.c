/* Search for the text of highest posterior: first draws and nearest public texts, then rounds of
 * edits.  Proposals are made a centroid a thread; the candidates of a whole chunk are embedded in
 * one call. */
#include "invert_private.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <fre/linalg.h>

#define NEIGHBOURS 256u /* public texts that the n-grams of a centroid are made of */
#define FIRST_STEPS 4u  /* the first draws last as long as this many rounds */
#define FIRST_PART 4u   /* centroids between two words of progress in the first draws */
#define NEARNESS 0.3    /* squared distance over which a neighbour's weight falls to 1/e */

typedef struct worker_job {
    fre_inverter *v;
    inv_state *state;
    uint32_t n;
    atomic_uint next;
    fre_err *err; /* one a thread */
    fre_status (*work)(fre_inverter *v, inv_drawer *d, inv_state *s, fre_err *err);
} worker_job;

void inv_state_wipe(inv_state *s)
{
    free(s->prefix);
    free(s->plan);
    free(s->draw);
    inv_screen_free(s->screen);
    inv_ngram_free(s->ngram);
    inv_pool_wipe(&s->pool);
    fre_rng_wipe(&s->rng);
    memset(s, 0, sizeof *s);
}

/* ---- one centroid --------------------------------------------------------------------------- */

/* The stream of a centroid is keyed by the seed and by its own numbers: no neighbour, no index. */
static fre_status begin_stream(const fre_inverter *v, inv_state *s)
{
    uint8_t key[FRE_SEED_BYTES] = {0}, seed[FRE_SEED_BYTES] = {0};

    memcpy(key, &v->seed, sizeof v->seed);
    memcpy(key + sizeof v->seed, &s->noise_std, sizeof s->noise_std);
    fre_hash128(seed, key, s->mu, v->dim * sizeof *s->mu);
    return fre_rng_init_seeded(&s->rng, seed, "fre-e2t invert");
}

static fre_status begin(const fre_inverter *v, inv_state *s)
{
    const inv_projector *p = &v->projector;
    const inv_tuning *t = &v->tuning;
    const uint32_t first = t->samples + t->nearest,
                   room = (first > t->edits ? first : t->edits) + INV_TRIALS;
    fre_status st = begin_stream(v, s);

    if (st != FRE_OK)
        return st;
    inv_pool_init(&s->pool, v->dim, v->embedder, v->vocabulary);
    for (int k = 0; k < INV_KINDS; k++)
        s->trace.gain[k].kind = inv_kind_name[k];
    s->screen = inv_screen_new();
    if (!s->screen)
        return FRE_E_NOMEM;
    if (!v->decoder)
        return FRE_OK;
    s->prefix = malloc((size_t)p->rows * p->width * sizeof *s->prefix);
    s->plan = calloc(room, sizeof *s->plan);
    s->draw = calloc(room, sizeof *s->draw);
    if (!s->prefix || !s->plan || !s->draw)
        return FRE_E_NOMEM;
    s->n_plan = t->samples;
    for (uint32_t i = 0; i < s->n_plan; i++)
        s->plan[i].open = true;
    s->plan[0].greedy = true;
    return inv_prefix_of(v, s->prefix, s->mu, s->noise_std);
}

/* Those without an unknown token, in order; how many. */
static fre_status keep_known(const fre_inverter *v, inv_state *s, uint32_t *id, size_t *n)
{
    size_t kept = 0;
    fre_status st = FRE_OK;

    for (size_t i = 0; i < *n && st == FRE_OK; i++) {
        size_t len;
        const char *text = inv_rows_text(&v->index->texts, id[i], &len);
        bool accepted;

        st = inv_pool_accepts(&s->pool, &accepted, text, len);
        if (accepted)
            id[kept++] = id[i];
    }
    *n = kept;
    return st;
}

/* The nearest public texts become n-grams, and the very nearest candidates. */
static fre_status add_neighbours(const fre_inverter *v, inv_state *s, uint32_t *id, size_t n)
{
    const inv_rows *texts = &v->index->texts;
    float *x = malloc(v->dim * sizeof *x);
    double first = 0;
    fre_status st = x ? inv_ngram_new(&s->ngram) : FRE_E_NOMEM;

    if (st == FRE_OK)
        st = keep_known(v, s, id, &n);
    for (size_t i = 0; i < n && st == FRE_OK; i++) {
        size_t len;
        const char *text = inv_rows_text(texts, id[i], &len);
        double far;

        inv_rows_get(texts, x, id[i]);
        far = fre_dist2(s->mu, x, v->dim);
        first = i == 0 ? far : first;
        st = inv_ngram_add(s->ngram, text, len, exp((first - far) / (NEARNESS * v->tuning.spread)));
    }
    for (size_t i = 0; i < n && i < v->tuning.nearest && st == FRE_OK; i++) {
        size_t len;
        const char *text = inv_rows_text(texts, id[i], &len);
        inv_plan *plan = v->decoder ? &s->plan[s->n_plan] : NULL;
        char copy[INV_INDEX_TEXT_MAX + 1];

        memcpy(copy, text, len);
        copy[len] = '\0';
        if (!plan) {
            st = inv_pool_add_text(&s->pool, text, len, INV_NEAR, inv_ngram_logp(s->ngram, copy));
            continue;
        }
        plan->kind = INV_NEAR;
        s->n_plan += inv_plan_text(plan, v->decoder, text, len);
    }
    free(x);
    return st;
}

static fre_status find_neighbours(fre_inverter *v, inv_state *state, uint32_t n)
{
    const size_t k = v->index->texts.n < NEIGHBOURS ? v->index->texts.n : NEIGHBOURS;
    float *query = malloc(n * (size_t)v->dim * sizeof *query);
    uint32_t *id = malloc(n * k * sizeof *id);
    fre_status st = query && id ? FRE_OK : FRE_E_NOMEM;

    for (uint32_t i = 0; st == FRE_OK && i < n; i++)
        memcpy(query + (size_t)i * v->dim, state[i].mu, v->dim * sizeof *query);
    if (st == FRE_OK)
        st = inv_rows_nearest(&v->index->texts, id, query, n, k, v->threads);
    for (uint32_t i = 0; st == FRE_OK && i < n; i++)
        st = add_neighbours(v, &state[i], id + i * k, k);
    free(query);
    free(id);
    return st;
}

/* ---- a chunk ---------------------------------------------------------------------------------- */

static fre_status work_some(void *ctx, uint64_t worker)
{
    worker_job *j = ctx;
    inv_drawer *d = j->v->drawer ? &j->v->drawer[worker] : NULL;
    fre_status st = FRE_OK;

    while (st == FRE_OK) {
        uint32_t i = atomic_fetch_add(&j->next, 1);

        if (i >= j->n)
            break;
        st =
            fre_interrupted() ? FRE_E_INTERRUPTED : j->work(j->v, d, &j->state[i], &j->err[worker]);
    }
    return st;
}

static fre_status work_all(fre_inverter *v, inv_state *state, uint32_t n,
                           fre_status (*work)(fre_inverter *, inv_drawer *, inv_state *, fre_err *),
                           fre_err *err)
{
    worker_job j = {.v = v, .state = state, .n = n, .work = work};
    fre_status st;

    atomic_init(&j.next, 0);
    j.err = calloc(v->threads, sizeof *j.err);
    if (!j.err)
        return FRE_E_NOMEM;
    st = fre_parallel(v->threads, v->threads, work_some, &j);
    for (uint32_t i = 0; st != FRE_OK && i < v->threads; i++)
        if (j.err[i].text[0]) {
            st = fre_fail(err, st, "%s", j.err[i].text);
            break;
        }
    free(j.err);
    return st;
}

/* Embed what is new in all pools in one call and hand the rows back. */
static fre_status embed_all(fre_inverter *v, inv_state *state, uint32_t n, fre_err *err)
{
    const size_t dim = v->dim;
    const char **text = NULL;
    size_t *len = NULL, total = 0, at = 0;
    float *x = NULL;
    fre_status st = FRE_OK;

    for (uint32_t i = 0; i < n; i++)
        total += state[i].pool.n - state[i].pool.scored;
    if (total == 0)
        return FRE_OK;
    text = malloc(total * sizeof *text);
    len = malloc(total * sizeof *len);
    x = malloc(total * dim * sizeof *x);
    if (!text || !len || !x) {
        st = FRE_E_NOMEM;
        goto out;
    }
    for (uint32_t i = 0; i < n; i++)
        for (size_t c = state[i].pool.scored; c < state[i].pool.n; c++, at++) {
            text[at] = state[i].pool.cand[c].text;
            len[at] = strlen(text[at]);
        }
    st = fre_embed_texts(v->embedder, x, text, len, total, err);
    if (st != FRE_OK)
        goto out;
    at = 0;
    for (uint32_t i = 0; i < n && st == FRE_OK; i++) {
        inv_state *s = &state[i];
        size_t fresh = s->pool.n - s->pool.scored;

        if (fresh == 0)
            continue;
        memcpy(s->pool.embedding + s->pool.scored * dim, x + at * dim, fresh * dim * sizeof *x);
        at += fresh;
        st = inv_pool_score(&s->pool, s->mu, s->noise_std, &v->tuning, &s->trace);
    }
out:
    free((void *)text);
    free(len);
    free(x);
    return st;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static bool settled(const inv_state *s)
{
    return s->pool.scored > 0 && inv_is_settled(s->pool.cand[0].dist2, s->noise_std, s->pool.dim);
}

static fre_status propose(fre_inverter *v, inv_drawer *d, inv_state *s, fre_err *err)
{
    return settled(s) ? FRE_OK : inv_propose(v, d, s, err);
}

static void record(inv_state *s)
{
    inv_trace *t = &s->trace;

    if (s->pool.scored == 0 || t->rounds > INV_ROUNDS_MAX)
        return;
    t->score[t->rounds] = s->pool.cand[0].score;
    t->distance[t->rounds++] = sqrt(s->pool.cand[0].dist2);
}

/* Annealed by breadth: twice the parents at first, half of them in the end. */
static uint32_t parents_at(const inv_tuning *t, uint32_t round)
{
    const uint32_t n = 2 * t->parents - 3 * t->parents * round / (2 * (t->rounds ? t->rounds : 1));

    return n > 0 ? n : 1;
}

/* Rows that are done: those settled, and of the others the share of their steps, which `step` counts
 * from 0 to FIRST_STEPS + rounds. */
static void report(const fre_inverter *v, const inv_state *state, uint32_t n, double step,
                   const inv_progress *progress)
{
    double done = 0;

    for (uint32_t i = 0; i < n; i++)
        done += settled(&state[i]) ? 1 : step / (FIRST_STEPS + v->tuning.rounds);
    fre_progress_update(progress->to, "invert", progress->at + (uint64_t)done, progress->all);
}

static fre_status propose_first(fre_inverter *v, inv_state *state, uint32_t n,
                                const inv_progress *progress, fre_err *err)
{
    const uint32_t part = v->threads > FIRST_PART ? v->threads : FIRST_PART;
    fre_status st = FRE_OK;

    for (uint32_t at = 0; at < n && st == FRE_OK; at += part) {
        st = work_all(v, state + at, n - at < part ? n - at : part, propose, err);
        report(v, state, n, (double)FIRST_STEPS * (at + part < n ? at + part : n) / n, progress);
    }
    return st;
}

fre_status inv_search(fre_inverter *v, inv_state *state, uint32_t n, const inv_progress *progress,
                      fre_err *err)
{
    fre_status st = FRE_OK;

    for (uint32_t i = 0; i < n && st == FRE_OK; i++)
        st = begin(v, &state[i]);
    if (st == FRE_OK && v->index)
        st = find_neighbours(v, state, n);
    for (uint32_t round = 0; round <= v->tuning.rounds && st == FRE_OK; round++) {
        for (uint32_t i = 0; i < n; i++) {
            state[i].parents = parents_at(&v->tuning, round);
            state[i].correct =
                v->projector.corrector_rows > 0 && round > 0 && round <= v->tuning.correct_rounds;
        }
        st = round == 0 ? propose_first(v, state, n, progress, err)
                        : work_all(v, state, n, propose, err);
        if (st == FRE_OK)
            st = embed_all(v, state, n, err);
        for (uint32_t i = 0; i < n && st == FRE_OK; i++)
            record(&state[i]);
        report(v, state, n, FIRST_STEPS + round, progress);
    }
    return st == FRE_OK && v->lm ? inv_finals(v, state, n, err) : st;
}
