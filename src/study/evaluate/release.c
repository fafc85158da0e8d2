/* What evaluate needs of a release's folder: its grid, its thresholds and its centroids. */
#include "evaluate_private.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

void evaluate_release_wipe(evaluate_release *r)
{
    free(r->centroid);
    *r = (evaluate_release){.n = 0};
}

static fre_status parse_release(evaluate_release *r, const char *path, fre_err *err)
{
    json_error_t where;
    const char *seed = NULL, *sha = NULL;
    json_int_t k = 0, d = 0, t = 0;
    json_t *o = json_load_file(path, JSON_REJECT_DUPLICATES, &where), *embedder;
    fre_status st = FRE_OK;

    if (!o)
        return where.line <= 0
                   ? fre_fail(err, FRE_E_NOINPUT,
                              "cannot read %s: is it a folder that synthesize made?", path)
                   : fre_fail(err, FRE_E_DATA, "%s, line %d: not JSON", path, where.line);
    if (json_unpack(o, "{s:{s:s, s:I, s:I, s:I, s:F, s:F}}", "parameters", "grid_seed", &seed,
                    "projection_dim", &k, "dimension", &d, "threshold", &t, "cell_edge",
                    &r->grid.cell_edge, "radius", &r->radius) != 0 ||
        !fre_unhex(r->grid.seed, sizeof r->grid.seed, seed) || k < 1 ||
        k > (json_int_t)FRE_SKETCH_PROJ_MAX || d < 1 || d > (json_int_t)FRE_SKETCH_DIM_MAX || t < 1)
        st = fre_fail(err, FRE_E_DATA,
                      "%s: \"parameters\" lacks a valid grid_seed, projection_dim, dimension, "
                      "threshold, cell_edge or radius",
                      path);
    if (st == FRE_OK) {
        r->grid.proj = (uint32_t)k;
        r->grid.dim = (uint32_t)d;
        r->threshold = (uint64_t)t;
    }
    embedder = json_object_get(json_object_get(o, "models"), "embedder");
    if (json_unpack(embedder, "{s:s}", "sha256", &sha) == 0 && strlen(sha) == 64)
        memcpy(r->embedder_sha256, sha, sizeof r->embedder_sha256);
    json_decref(o);
    return st;
}

static fre_status load_centroids(evaluate_release *r, const char *path, fre_err *err)
{
    fre_npy *npy = NULL;
    fre_status st = fre_npy_open(&npy, path, err);

    if (st != FRE_OK)
        return st;
    r->n = fre_npy_rows(npy);
    if (r->n > 0 && fre_npy_dim(npy) != r->grid.dim)
        st = fre_fail(err, FRE_E_DATA, "%s has %zu columns, release.json says %u", path,
                      fre_npy_dim(npy), r->grid.dim);
    if (st == FRE_OK) {
        r->centroid = calloc(r->n * r->grid.dim + 1, sizeof *r->centroid);
        if (!r->centroid)
            st = fre_fail(err, FRE_E_NOMEM, "out of memory for the centroids");
    }
    for (size_t i = 0; st == FRE_OK && i < r->n; i++)
        st = fre_npy_row(npy, r->centroid + i * r->grid.dim, i, err);
    fre_npy_free(npy);
    return st;
}

fre_status evaluate_release_load(evaluate_release *out, const char *folder, fre_err *err)
{
    evaluate_release r = {.n = 0};
    char *json = NULL, *npy = NULL;
    fre_status st = evaluate_path(&json, folder, "release.json", err);

    if (st == FRE_OK)
        st = evaluate_path(&npy, folder, "centroids.npy", err);
    if (st == FRE_OK)
        st = parse_release(&r, json, err);
    if (st == FRE_OK)
        st = load_centroids(&r, npy, err);
    free(json);
    free(npy);
    if (st != FRE_OK) {
        evaluate_release_wipe(&r);
        return st;
    }
    *out = r;
    return FRE_OK;
}
