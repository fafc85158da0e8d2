/* invert.c - rows checked, searched for chunk by chunk, and their results handed out. */
#include "invert_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <fre/linalg.h>

/* An embedding, or a mean of some, of norm at most 1, with noise in dim coordinates: a larger norm
 * than this comes by chance less than once in 10^8 rows. */
static bool too_long(double norm, double noise_std, size_t dim)
{
    return norm > 1.05 + noise_std * (sqrt((double)dim) + 6.0);
}

fre_status inv_check_rows(const fre_inverter *v, const float *mu, const double *noise_std, size_t n,
                          fre_err *err)
{
    const size_t dim = v->dim;
    const bool normalised = fre_embedder_info(v->embedder)->normalised;

    for (size_t i = 0; i < n; i++) {
        if (!fre_is_finite_row(mu + i * dim, dim))
            return fre_fail(err, FRE_E_DATA,
                            "row %zu holds a NaN or an infinity; an embedding is made of finite "
                            "numbers",
                            i + 1);
        if (!(noise_std[i] >= 0) || !isfinite(noise_std[i]))
            return fre_fail(err, FRE_E_DATA,
                            "the noise of row %zu is negative or not finite; give its standard "
                            "deviation a coordinate, 0 for none",
                            i + 1);
        if (normalised && too_long(fre_norm(mu + i * dim, dim), noise_std[i], dim))
            return fre_fail(err, FRE_E_DATA,
                            "row %zu is longer than an embedding of this embedder with the stated "
                            "noise can be; normalise the rows to length 1, or state their noise",
                            i + 1);
    }
    return FRE_OK;
}

static fre_status show_trace(const fre_inverter *v, const inv_trace *t, size_t row, fre_err *err)
{
    const fre_invert_trace out = {.row = row,
                                  .drawn = t->drawn,
                                  .embedded = t->embedded,
                                  .lm_tokens = t->lm_tokens,
                                  .rounds = t->rounds,
                                  .score = t->score,
                                  .distance = t->distance,
                                  .kinds = INV_KINDS,
                                  .gain = t->gain};

    return v->trace(v->trace_ctx, &out, err);
}

/* Rows at .. at + m, of which those of zeros have no state. */
static fre_status invert_chunk(fre_inverter *v, fre_inversion *made, inv_others *others,
                               const float *mu, const double *noise_std, uint32_t m,
                               const inv_progress *progress, fre_err *err)
{
    static const inv_trace nothing;
    const inv_state *of[INV_CHUNK] = {NULL};
    inv_state state[INV_CHUNK];
    uint32_t n = 0;
    fre_status st;

    memset(state, 0, sizeof state);
    for (uint32_t i = 0; i < m; i++)
        if (!fre_is_zero_row(mu + i * (size_t)v->dim, v->dim)) {
            of[i] = &state[n];
            state[n].mu = mu + i * (size_t)v->dim;
            state[n++].noise_std = noise_std[i];
        }
    st = n > 0 ? inv_search(v, state, n, progress, err) : FRE_OK;
    for (uint32_t i = 0; i < m && st == FRE_OK; i++)
        if (of[i])
            st = inv_tell(v, &made[i], others ? &others[i] : NULL, of[i], err);
        else
            inv_tell_nothing(&made[i], FRE_UNREADABLE_BLANK);
    for (uint32_t i = 0; i < m && v->trace && st == FRE_OK; i++)
        st = show_trace(v, of[i] ? &of[i]->trace : &nothing, progress->at + i, err);
    for (uint32_t i = 0; i < n; i++)
        inv_state_wipe(&state[i]);
    return st;
}

static fre_status invert_all(fre_inverter *v, fre_inversion *out, bool apart, const float *mu,
                             const double *noise_std, size_t n, const fre_progress *progress,
                             fre_err *err)
{
    fre_inversion *made = calloc(n, sizeof *made);
    inv_others *others = apart ? calloc(n, sizeof *others) : NULL;
    fre_status st = made && (others || !apart) ? FRE_OK : FRE_E_NOMEM;

    fre_progress_update(progress, "invert", 0, n);
    for (size_t at = 0; at < n && st == FRE_OK; at += INV_CHUNK) {
        const inv_progress here = {.to = progress, .at = at, .all = n};

        st = invert_chunk(v, made + at, others ? others + at : NULL, mu + at * v->dim,
                          noise_std + at, (uint32_t)(n - at < INV_CHUNK ? n - at : INV_CHUNK),
                          &here, err);
    }
    if (st == FRE_OK && apart)
        st = inv_set_apart(made, others, n);
    for (size_t i = 0; st == FRE_OK && i < n; i++)
        st = inv_judge(v, &made[i], mu + i * v->dim, noise_std[i]);
    if (st == FRE_OK)
        memcpy(out, made, n * sizeof *out);
    for (size_t i = 0; st != FRE_OK && made && i < n; i++)
        fre_inversion_wipe(&made[i]);
    for (size_t i = 0; others && i < n; i++)
        inv_others_wipe(&others[i]);
    free(others);
    free(made);
    return st;
}

static fre_status invert(fre_inverter *v, fre_inversion *out, bool apart, const float *mu,
                         const double *noise_std, size_t n, const fre_progress *progress,
                         fre_err *err)
{
    fre_status st = inv_check_rows(v, mu, noise_std, n, err);

    if (st != FRE_OK || n == 0)
        return st;
    st = invert_all(v, out, apart, mu, noise_std, n, progress, err);
    if (st == FRE_OK)
        fre_progress_update(progress, "invert", n, n);
    if (st == FRE_E_NOMEM || st == FRE_E_INTERRUPTED)
        return fre_fail(err, st, "%s",
                        st == FRE_E_NOMEM ? "out of memory inverting" : "interrupted");
    return st;
}

fre_status fre_invert(fre_inverter *v, fre_inversion *out, const float *mu, const double *noise_std,
                      size_t n, const fre_progress *progress, fre_err *err)
{
    return invert(v, out, false, mu, noise_std, n, progress, err);
}

fre_status fre_invert_apart(fre_inverter *v, fre_inversion *out, const float *mu,
                            const double *noise_std, size_t n, const fre_progress *progress,
                            fre_err *err)
{
    return invert(v, out, true, mu, noise_std, n, progress, err);
}
