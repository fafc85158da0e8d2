/* Reading a bridge, and finding the one that begins at an embedder. */
#include "bridge_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <fre/linalg.h>

#define PATH_LEN 4096u
#define SLACK 1e-3 /* of an eigenvector's norm and of the variance, which float32 keeps to 1e-6 */

static fre_status copy(float *to, const fre_tensors *t, const char *name, size_t rows, size_t cols,
                       fre_err *err)
{
    const float *value;
    fre_status st = fre_tensors_get(t, &value, name, rows, cols, err);

    if (st == FRE_OK)
        memcpy(to, value, rows * cols * sizeof *to);
    return st;
}

static fre_status check_numbers(const fre_bridge *b, const char *path, fre_err *err)
{
    const size_t a = b->info.from.dim;
    const double most = (1 + SLACK) * b->info.variance;
    bool sound = most > 0 && bridge_explained(b, 0) <= most;

    for (size_t k = 0; k < a && sound; k++)
        sound = b->value[k] > 0 && (k == 0 || b->value[k] <= b->value[k - 1]) &&
                fabs(fre_norm(b->vector + k * a, a) - 1.0) <= SLACK;
    return sound
               ? FRE_OK
               : fre_fail(err, FRE_E_MODEL,
                          "%s: its numbers cannot be those of two embedders; the file is damaged, "
                          "make it again by 'model bridge'",
                          path);
}

static fre_status copy_numbers(fre_bridge *b, const fre_tensors *t, const char *path, fre_err *err)
{
    const size_t a = b->info.from.dim, to = b->info.to.dim;
    float variance = 0;
    fre_status st = copy(b->mean, t, "mean", 1, a, err);

    if (st != FRE_OK)
        return st;
    st = copy(b->value, t, "eigenvalues", 1, a, err);
    if (st != FRE_OK)
        return st;
    st = copy(b->vector, t, "eigenvectors", a, a, err);
    if (st != FRE_OK)
        return st;
    st = copy(b->to_mean, t, "to.mean", 1, to, err);
    if (st != FRE_OK)
        return st;
    st = copy(&variance, t, "to.variance", 1, 1, err);
    if (st != FRE_OK)
        return st;
    st = copy(b->map, t, "map", a, to, err);
    if (st != FRE_OK)
        return st;
    b->info.variance = (double)variance;
    bridge_complete(b);
    return check_numbers(b, path, err);
}

static fre_status read_end(fre_bridge_end *e, const fre_tensors *t, const char *path,
                           const char *name, const char *hash, fre_err *err)
{
    uint8_t sum[FRE_HASH_BYTES];

    if (!fre_unhex(sum, sizeof sum, fre_tensors_text(t, hash)))
        return fre_fail(err, FRE_E_MODEL, "%s does not say which embedders it joins", path);
    fre_hex(e->hash, sum, sizeof sum);
    fre_model_label(e->embedder, sizeof e->embedder, fre_tensors_text(t, name));
    return FRE_OK;
}

static fre_status read_sizes(fre_bridge **out, const fre_tensors *t, const char *path, fre_err *err)
{
    uint32_t from = 0, to = 0, rows = 0;
    fre_status st = fre_tensors_u32(t, &from, BRIDGE_KEY("from_length"), err);

    if (st == FRE_OK)
        st = fre_tensors_u32(t, &to, BRIDGE_KEY("to_length"), err);
    if (st == FRE_OK)
        st = fre_tensors_u32(t, &rows, BRIDGE_KEY("rows"), err);
    if (st != FRE_OK)
        return st;
    if (from == 0 || from > BRIDGE_DIM_MAX || to == 0 || to > BRIDGE_DIM_MAX)
        return fre_fail(err, FRE_E_MODEL, "%s states an impossible dimension", path);
    if (rows < FRE_PRIOR_ROWS_MIN(from + to))
        return fre_fail(err, FRE_E_MODEL, "%s was made of too few texts, %u, to be a bridge", path,
                        rows);
    *out = bridge_new(from, to);
    if (!*out)
        return fre_fail(err, FRE_E_NOMEM, "out of memory opening %s", path);
    (*out)->info.rows = rows;
    return FRE_OK;
}

fre_status fre_bridge_open(fre_bridge **out, const char *path, fre_err *err)
{
    fre_tensors *t = NULL;
    fre_bridge *b = NULL;
    fre_status st = fre_tensors_open(&t, path, FRE_BRIDGE_ARCHITECTURE, err);

    if (st != FRE_OK)
        goto out;
    st = read_sizes(&b, t, path, err);
    if (st != FRE_OK)
        goto out;
    st = read_end(&b->info.from, t, path, BRIDGE_KEY("from_model"), BRIDGE_KEY("from_model_sha256"),
                  err);
    if (st != FRE_OK)
        goto out;
    st = read_end(&b->info.to, t, path, BRIDGE_KEY("to_model"), BRIDGE_KEY("to_model_sha256"), err);
    if (st != FRE_OK)
        goto out;
    st = copy_numbers(b, t, path, err);
    if (st != FRE_OK)
        goto out;
    st = fre_prior_card_read(&b->info.card, t, path, err);
    if (st != FRE_OK)
        goto out;
    fre_model_label(b->info.source, sizeof b->info.source,
                    fre_tensors_text(t, BRIDGE_KEY("source")));
    memcpy(b->info.sha256, fre_tensors_sha256(t), FRE_HASH_BYTES);
    *out = b;
    b = NULL; /* handed over */
out:
    fre_bridge_free(b);
    fre_tensors_free(t);
    return st;
}

fre_status fre_bridge_open_for(fre_bridge **out, const char *path, const char *embedder_path,
                               const fre_model_info *embedder, fre_err *err)
{
    char beside[PATH_LEN], hash[2 * FRE_HASH_BYTES + 1];
    fre_bridge *b = NULL;
    fre_status st;

    path = fre_model_companion(beside, sizeof beside, path, embedder_path, "bridge");
    if (!path) {
        *out = NULL;
        return FRE_OK;
    }
    st = fre_bridge_open(&b, path, err);
    if (st != FRE_OK)
        return st;
    fre_hex(hash, embedder->sha256, FRE_HASH_BYTES);
    if (b->info.from.dim == embedder->dim && strcmp(b->info.from.hash, hash) == 0) {
        *out = b;
        return FRE_OK;
    }
    st =
        fre_fail(err, FRE_E_MODEL,
                 "the bridge %.200s begins at another embedder (%.60s, SHA-256 %.12s...); make one "
                 "for yours by 'model bridge' or give {bridge} none",
                 path, b->info.from.embedder, b->info.from.hash);
    fre_bridge_free(b);
    return st;
}
