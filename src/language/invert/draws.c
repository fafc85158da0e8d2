/* Draws without a search: what the decoder writes for a vector, as it comes. */
#include "invert_private.h"

#include <fre/linalg.h>

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

void fre_draw_wipe(fre_draw *d)
{
    free(d->text);
    memset(d, 0, sizeof *d);
}

typedef struct draws_job {
    fre_inverter *v;
    fre_draw *out;
    size_t n;
    const float *mu;
    const double *noise_std;
    size_t rows;
    atomic_size_t next;
    double temperature;
    uint64_t seed;
    fre_err *err; /* one a thread */
} draws_job;

/* A stream for each row, keyed by the seed and the row's own numbers. */
static fre_status row_stream(fre_rng *rng, const draws_job *j, size_t row)
{
    const size_t dim = j->v->dim;
    uint8_t key[FRE_SEED_BYTES] = {0}, seed[FRE_SEED_BYTES] = {0};

    memcpy(key, &j->seed, sizeof j->seed);
    memcpy(key + sizeof j->seed, &j->noise_std[row], sizeof *j->noise_std);
    fre_hash128(seed, key, j->mu + row * dim, dim * sizeof *j->mu);
    return fre_rng_init_seeded(rng, seed, "fre-e2t draws");
}

/* Tidied as every candidate is; NULL where nothing readable came. */
static fre_status move_text(fre_draw *out, const fre_inverter *v, const inv_draw *d)
{
    inv_pool one;
    fre_status st;

    inv_pool_init(&one, v->dim, v->embedder, NULL);
    st = inv_pool_add(&one, v->decoder, d);
    if (st == FRE_OK && one.n > 0 && !one.cand[0].told) {
        out->text = one.cand[0].text;
        out->logp = d->logp;
        one.cand[0].text = NULL;
    }
    inv_pool_wipe(&one);
    return st;
}

static fre_status draw_row(draws_job *j, inv_drawer *d, size_t row, fre_err *err)
{
    const inv_projector *p = &j->v->projector;
    const float *mu = j->mu + row * j->v->dim;
    float *prefix = malloc((size_t)p->rows * p->width * sizeof *prefix);
    inv_plan *plan = calloc(INV_BATCH, sizeof *plan);
    inv_draw *draw = calloc(INV_BATCH, sizeof *draw);
    fre_rng rng;
    fre_status st = prefix && plan && draw ? FRE_OK : FRE_E_NOMEM;

    memset(&rng, 0, sizeof rng);
    if (st == FRE_OK)
        st = row_stream(&rng, j, row);
    if (st == FRE_OK)
        st = inv_prefix_of(j->v, prefix, mu, j->noise_std[row]);
    for (uint32_t i = 0; plan && i < INV_BATCH; i++)
        plan[i].open = true;
    for (size_t at = 0; at < j->n && st == FRE_OK; at += INV_BATCH) {
        const uint32_t m = (uint32_t)(j->n - at < INV_BATCH ? j->n - at : INV_BATCH);

        st = inv_drawer_run(d, draw, plan, m, prefix, j->temperature, &rng, err);
        for (uint32_t i = 0; i < m && st == FRE_OK; i++)
            st = move_text(&j->out[row * j->n + at + i], j->v, &draw[i]);
    }
    fre_rng_wipe(&rng);
    free(draw);
    free(plan);
    free(prefix);
    return st;
}

static fre_status draw_worker(void *ctx, uint64_t worker)
{
    draws_job *j = ctx;
    fre_status st = FRE_OK;

    while (st == FRE_OK) {
        const size_t row = atomic_fetch_add(&j->next, 1);

        if (row >= j->rows)
            break;
        if (fre_is_zero_row(j->mu + row * j->v->dim, j->v->dim))
            continue;
        st = fre_interrupted() ? FRE_E_INTERRUPTED
                               : draw_row(j, &j->v->drawer[worker], row, &j->err[worker]);
    }
    return st;
}

static fre_status draw_all(draws_job *j, fre_err *err)
{
    const uint32_t threads = j->v->threads;
    fre_status st;

    j->err = calloc(threads, sizeof *j->err);
    if (!j->err)
        return FRE_E_NOMEM;
    st = fre_parallel(threads, threads, draw_worker, j);
    for (uint32_t i = 0; st != FRE_OK && i < threads; i++)
        if (j->err[i].text[0]) {
            st = fre_fail(err, st, "%s", j->err[i].text);
            break;
        }
    free(j->err);
    return st;
}

fre_status fre_inverter_draw(fre_inverter *v, fre_draw *out, const fre_draw_opts *opts,
                             const float *mu, const double *noise_std, size_t rows, fre_err *err)
{
    const size_t n = opts->n;
    draws_job j = {.v = v,
                   .n = n,
                   .mu = mu,
                   .noise_std = noise_std,
                   .rows = rows,
                   .temperature = opts->temperature,
                   .seed = opts->seed};
    fre_status st;

    st = fre_param_check(&fre_inverter_param_temperature, opts->temperature, err);
    if (st == FRE_OK)
        st = inv_check_rows(v, mu, noise_std, rows, err);
    if (st != FRE_OK || rows == 0 || n == 0)
        return st;
    if (!v->decoder) {
        memset(out, 0, rows * n * sizeof *out);
        return FRE_OK;
    }
    j.out = calloc(rows * n, sizeof *j.out);
    st = j.out ? FRE_OK : FRE_E_NOMEM;
    atomic_init(&j.next, 0);
    if (st == FRE_OK)
        st = draw_all(&j, err);
    if (st == FRE_OK) {
        memcpy(out, j.out, rows * n * sizeof *out);
    } else {
        for (size_t i = 0; j.out && i < rows * n; i++)
            fre_draw_wipe(&j.out[i]);
    }
    free(j.out);
    if (st == FRE_E_NOMEM || st == FRE_E_INTERRUPTED)
        return fre_fail(err, st, "%s",
                        st == FRE_E_NOMEM ? "out of memory drawing texts" : "interrupted");
    return st;
}
