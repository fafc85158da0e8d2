/* Reading a prior, and finding the one that belongs to an embedder. */
#include "prior_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <fre/linalg.h>

#define PATH_LEN 4096u
#define UNIT_SLACK 1e-3 /* of an eigenvector's norm, which float32 keeps to 1e-6 */

static fre_status check_numbers(const fre_prior *p, const char *path, fre_err *err)
{
    const size_t d = p->info.dim;

    for (size_t k = 0; k < d; k++) {
        const float before = k ? p->value[k - 1] : p->value[k];

        if (!(p->value[k] > 0) || p->value[k] > before ||
            fabs(fre_norm(p->vector + k * d, d) - 1.0) > UNIT_SLACK)
            return fre_fail(err, FRE_E_MODEL,
                            "%s: eigenvalue or eigenvector %zu cannot be one of a covariance; the "
                            "file is damaged, fetch it again or make it by 'model prior'",
                            path, k + 1);
    }
    return FRE_OK;
}

static fre_status copy_numbers(fre_prior *p, const fre_tensors *t, fre_err *err)
{
    const size_t d = p->info.dim;
    const float *mean, *value, *vector;
    fre_status st = fre_tensors_get(t, &mean, "mean", 1, d, err);

    if (st == FRE_OK)
        st = fre_tensors_get(t, &value, "eigenvalues", 1, d, err);
    if (st == FRE_OK)
        st = fre_tensors_get(t, &vector, "eigenvectors", d, d, err);
    if (st != FRE_OK)
        return st;
    memcpy(p->mean, mean, d * sizeof *mean);
    memcpy(p->value, value, d * sizeof *value);
    memcpy(p->vector, vector, d * d * sizeof *vector);
    return FRE_OK;
}

static void copy_text(char *out, size_t n, const fre_tensors *t, const char *key)
{
    fre_model_label(out, n, fre_tensors_text(t, key));
}

static bool is_hash(const char *hex)
{
    uint8_t sum[FRE_HASH_BYTES];

    return strlen(hex) == 2 * sizeof sum && fre_unhex(sum, sizeof sum, hex);
}

fre_status fre_prior_open(fre_prior **out, const char *path, fre_err *err)
{
    fre_tensors *t = NULL;
    fre_prior *p = NULL;
    uint32_t dim = 0, rows = 0;
    fre_status st = fre_tensors_open(&t, path, FRE_PRIOR_ARCHITECTURE, err);

    if (st != FRE_OK)
        goto out;
    st = fre_tensors_u32(t, &dim, PRIOR_KEY("embedding_length"), err);
    if (st != FRE_OK)
        goto out;
    st = fre_tensors_u32(t, &rows, PRIOR_KEY("rows"), err);
    if (st == FRE_OK && (dim == 0 || dim > PRIOR_DIM_MAX))
        st = fre_fail(err, FRE_E_MODEL, "%s states an impossible dimension", path);
    if (st != FRE_OK)
        goto out;
    p = prior_new(dim);
    if (!p) {
        st = fre_fail(err, FRE_E_NOMEM, "out of memory opening %s", path);
        goto out;
    }
    p->info.rows = rows;
    copy_text(p->info.embedder, sizeof p->info.embedder, t, PRIOR_KEY("embedding_model"));
    copy_text(p->info.embedder_hash, sizeof p->info.embedder_hash, t,
              PRIOR_KEY("embedding_model_sha256"));
    copy_text(p->info.source, sizeof p->info.source, t, PRIOR_KEY("source"));
    memcpy(p->info.sha256, fre_tensors_sha256(t), FRE_HASH_BYTES);
    if (!is_hash(p->info.embedder_hash)) {
        st = fre_fail(err, FRE_E_MODEL, "%s does not say which embedder it was made for", path);
        goto out;
    }
    st = copy_numbers(p, t, err);
    if (st != FRE_OK)
        goto out;
    st = check_numbers(p, path, err);
    if (st != FRE_OK)
        goto out;
    st = fre_prior_card_read(&p->info.card, t, path, err);
    if (st != FRE_OK)
        goto out;
    *out = p;
    p = NULL;
out:
    fre_prior_free(p);
    fre_tensors_free(t);
    return st;
}

fre_status fre_prior_open_for(fre_prior **out, const char *path, const char *embedder_path,
                              const fre_model_info *embedder, fre_err *err)
{
    char beside[PATH_LEN];
    fre_prior *p = NULL;
    fre_status st;

    path = fre_model_companion(beside, sizeof beside, path, embedder_path, "prior");
    if (!path) {
        *out = NULL;
        return FRE_OK;
    }
    st = fre_prior_open(&p, path, err);
    if (st == FRE_OK)
        st = fre_model_companion_fits("prior", path, p->info.embedder, p->info.embedder_hash,
                                      p->info.dim, embedder, err);
    if (st == FRE_OK) {
        *out = p;
        p = NULL;
    }
    fre_prior_free(p);
    return st;
}
