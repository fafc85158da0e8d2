/* Search for the text of highest posterior: first draws, then rounds of edits.  Decoding runs a
 * centroid a thread; the candidates of a whole chunk are embedded in one call. */
#include "invert_private.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SETTLED_NOISE 0.3  /* norm */
#define SETTLED_SLACK 0.02 /* distance: equal but for case and the like */

const inv_tuning inv_tuning_default = {
    .samples = 96,
    .keep = 40,
    .rounds = 16,
    .edits = 64,
    .keep_edits = 16,
    .parents = 6,
    .correct_rounds = 3,
    .correct_parents = 4,
    .temperature = 0.8,
    .std_floor = 0.02,
    .logp_weight = 1.0,
};

typedef struct decode_job {
    fre_inverter *v;
    inv_state *state;
    uint32_t n;
    atomic_uint next;
    fre_err *err; /* one a thread */
} decode_job;

void inv_state_wipe(inv_state *s)
{
    free(s->prefix);
    free(s->plan);
    free(s->draw);
    inv_pool_wipe(&s->pool);
    fre_rng_wipe(&s->rng);
    memset(s, 0, sizeof *s);
}

static uint32_t most(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* The stream of a centroid is keyed by the seed and by its own numbers: no neighbour, no index. */
static fre_status state_begin(const fre_inverter *v, inv_state *s)
{
    const inv_projector *p = &v->projector;
    const uint32_t room = most(v->tuning.samples, v->tuning.edits);
    uint8_t key[FRE_SEED_BYTES] = {0}, seed[FRE_SEED_BYTES] = {0};
    fre_status st;

    memcpy(key, &v->seed, sizeof v->seed);
    memcpy(key + sizeof v->seed, &s->noise_std, sizeof s->noise_std);
    fre_hash128(seed, key, s->mu, p->dim * sizeof *s->mu);
    st = fre_rng_init_seeded(&s->rng, seed, "fre-e2t invert");
    if (st != FRE_OK)
        return st;
    inv_pool_init(&s->pool, p->dim);
    s->prefix = malloc((size_t)p->rows * p->width * sizeof *s->prefix);
    s->plan = calloc(room, sizeof *s->plan);
    s->draw = calloc(room, sizeof *s->draw);
    if (!s->prefix || !s->plan || !s->draw)
        return FRE_E_NOMEM;
    s->n_plan = v->tuning.samples;
    for (uint32_t i = 0; i < s->n_plan; i++)
        s->plan[i].open = true;
    s->plan[0].greedy = true;
    return inv_projector_run(p, s->prefix, s->mu, s->noise_std);
}

static fre_status decode_one(fre_inverter *v, inv_drawer *d, inv_state *s, fre_err *err)
{
    const bool first = s->pool.scored == 0;
    fre_status st = s->correct ? inv_correct(v, d, s, err) : FRE_OK;

    for (uint32_t at = 0; at < s->n_plan && st == FRE_OK; at += INV_BATCH) {
        uint32_t n = s->n_plan - at < INV_BATCH ? s->n_plan - at : INV_BATCH;

        st = inv_drawer_run(d, s->draw + at, s->plan + at, n, s->prefix, v->tuning.temperature,
                            &s->rng, err);
    }
    for (uint32_t i = 0; i < s->n_plan && st == FRE_OK; i++)
        st = inv_pool_add(&s->pool, v->decoder, &s->draw[i]);
    inv_pool_trim(&s->pool, first ? v->tuning.keep : v->tuning.keep_edits);
    return st;
}

static fre_status decode_worker(void *ctx, uint64_t worker)
{
    decode_job *j = ctx;
    fre_status st = FRE_OK;

    while (st == FRE_OK) {
        uint32_t i = atomic_fetch_add(&j->next, 1);

        if (i >= j->n)
            break;
        st = fre_interrupted()
                 ? FRE_E_INTERRUPTED
                 : decode_one(j->v, &j->v->drawer[worker], &j->state[i], &j->err[worker]);
    }
    return st;
}

static fre_status decode_all(fre_inverter *v, inv_state *state, uint32_t n, fre_err *err)
{
    decode_job j = {.v = v, .state = state, .n = n};
    fre_status st;

    atomic_init(&j.next, 0);
    j.err = calloc(v->threads, sizeof *j.err);
    if (!j.err)
        return FRE_E_NOMEM;
    st = fre_parallel(v->threads, v->threads, decode_worker, &j);
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
    const size_t dim = v->projector.dim;
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
        inv_pool *p = &state[i].pool;
        size_t fresh = p->n - p->scored;

        if (fresh == 0)
            continue;
        memcpy(p->embedding + p->scored * dim, x + at * dim, fresh * dim * sizeof *x);
        at += fresh;
        st = inv_pool_score(p, state[i].mu, state[i].noise_std, &v->tuning);
    }
out:
    free((void *)text);
    free(len);
    free(x);
    return st;
}

/* The best candidate is as near as the true text would be: nothing is left to find.  Above this
 * noise a neighbour can be as near by chance, and the search goes on. */
static bool settled(const inv_state *s)
{
    const double norm2 = s->noise_std * s->noise_std * (double)s->pool.dim;

    return s->pool.scored > 0 && norm2 <= SETTLED_NOISE * SETTLED_NOISE &&
           s->pool.cand[0].dist2 <= norm2 + SETTLED_SLACK * SETTLED_SLACK;
}

static void plan_round(const fre_inverter *v, inv_state *s, uint32_t round)
{
    const bool done = settled(s);

    s->correct = !done && v->projector.corrector_rows > 0 && round <= v->tuning.correct_rounds;
    s->n_plan = done || s->correct ? 0
                                   : inv_edit(s->plan, v->tuning.edits, &s->pool, v->tuning.parents,
                                              v->decoder, v->starts, &s->rng);
}

fre_status inv_search(fre_inverter *v, inv_state *state, uint32_t n, fre_err *err)
{
    fre_status st = FRE_OK;

    for (uint32_t i = 0; i < n && st == FRE_OK; i++)
        st = state_begin(v, &state[i]);
    for (uint32_t round = 0; round <= v->tuning.rounds && st == FRE_OK; round++) {
        for (uint32_t i = 0; round > 0 && i < n; i++)
            plan_round(v, &state[i], round);
        st = decode_all(v, state, n, err);
        if (st == FRE_OK)
            st = embed_all(v, state, n, err);
    }
    return st;
}
