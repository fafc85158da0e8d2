/* curator/write.c - the release's folder.  Nothing here that the mechanism did not release: no
 * exact N, no realised noise, no count of skipped or truncated records. */
#include "internal.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const curator_files[] = {"synthetic.jsonl",    FRE_OUTDIR_MARK, "centroids.npy",
                                     "centroids.npy.json", "counts.npy",    NULL};

static fre_status put_json(FILE *f, json_t *obj, size_t flags, fre_err *err)
{
    char *s = obj ? json_dumps(obj, flags) : NULL;
    fre_status st = FRE_OK;

    if (!s)
        st = fre_fail(err, FRE_E_NOMEM, "out of memory while writing JSON");
    else if (fputs(s, f) < 0 || fputc('\n', f) == EOF)
        st = fre_fail(err, FRE_E_IO, "cannot write the release (disk full?)");
    free(s);
    json_decref(obj);
    return st;
}

static json_t *paraphrases_json(const fre_inversion *v)
{
    json_t *a = json_array();

    for (size_t i = 0; a && i < v->n_paraphrases; i++)
        if (json_array_append_new(a, json_string(v->paraphrases[i])) != 0) {
            json_decref(a);
            return NULL;
        }
    return a;
}

/* `cell` names the cell by its hash: the accountant's view holds which cells were released, and
 * a later `evaluate` compares them with the noiseless ones. */
static json_t *cell_json(const curator_run *r, const fre_released_cell *c, uint32_t cell)
{
    const bool has = c->text.text != NULL;
    char hex[2 * FRE_CELL_BYTES + 1];

    fre_hex(hex, r->cells.keys + (size_t)cell * FRE_CELL_BYTES, FRE_CELL_BYTES);
    return json_pack("{s:s?, s:I, s:f, s:f, s:o, s:o, s:s}", "text", c->text.text, "count",
                     (json_int_t)c->count, "users", c->users, "noise_norm", c->noise_norm,
                     "similarity", has ? json_real(c->text.similarity) : json_null(),
                     "paraphrases", paraphrases_json(&c->text), "cell", hex);
}

static fre_status write_texts(const curator_run *r, const fre_release *rel, fre_outdir *dir,
                              fre_err *err)
{
    FILE *f;
    fre_status st = fre_outdir_file(dir, &f, "synthetic.jsonl", err);

    for (size_t i = 0; st == FRE_OK && i < rel->n; i++)
        st = put_json(f, cell_json(r, &rel->cell[i], r->released[i]),
                      JSON_COMPACT | JSON_REAL_PRECISION(9), err);
    return st;
}

static fre_status write_arrays(const curator_run *r, fre_outdir *dir, fre_err *err)
{
    fre_npy_meta meta = {.normalised = false};
    FILE *f;
    fre_status st = fre_outdir_file(dir, &f, "centroids.npy", err);

    if (st == FRE_OK)
        st = fre_npy_write_header(f, FRE_NPY_F4, r->n_released, r->dim, err);
    if (st == FRE_OK && fwrite(r->centroid, r->dim * sizeof *r->centroid, r->n_released, f) !=
                            r->n_released)
        st = fre_fail(err, FRE_E_IO, "cannot write centroids.npy (disk full?)");
    if (st == FRE_OK)
        st = fre_outdir_file(dir, &f, "counts.npy", err);
    if (st == FRE_OK)
        st = fre_npy_write_header(f, FRE_NPY_I8, r->n_released, 0, err);
    for (size_t i = 0; st == FRE_OK && i < r->n_released; i++) {
        const int64_t c = (int64_t)r->cell_count[r->released[i]];

        if (fwrite(&c, sizeof c, 1, f) != 1)
            st = fre_fail(err, FRE_E_IO, "cannot write counts.npy (disk full?)");
    }
    if (st != FRE_OK)
        return st;
    curator_embedder_meta(r, &meta);
    st = fre_outdir_file(dir, &f, "centroids.npy.json", err);
    return st == FRE_OK ? fre_npy_write_meta(f, &meta, r->n_released, r->dim, err) : st;
}

static json_t *statement_json(const char *text)
{
    json_t *a = json_array();

    while (a && *text) {
        const size_t n = strcspn(text, "\n");

        if (json_array_append_new(a, json_stringn(text, n)) != 0) {
            json_decref(a);
            return NULL;
        }
        text += n + (text[n] == '\n');
    }
    return a;
}

/* The accountant's own JSON, and what a later `evaluate` needs to lay the same grid. */
static json_t *parameters_json(const curator_run *r)
{
    const fre_plan_request *q = &r->plan.request;
    char seed[65];
    fre_buf text;
    json_t *p = NULL;

    fre_buf_init(&text, 1u << 16);
    fre_hex(seed, r->grid_seed, 32);
    if (fre_plan_json(&text, &r->plan) == FRE_OK)
        p = json_loadb((const char *)text.p, text.n, JSON_ALLOW_NUL, NULL);
    fre_buf_wipe(&text);
    if (p && json_object_update_new(
                 p, json_pack("{s:I, s:f, s:i, s:s, s:i}", "threshold",
                              (json_int_t)q->threshold, "radius", q->radius, "dimension",
                              (int)r->dim, "grid_seed", seed, "cells_per_user",
                              (int)q->cells_per_user)) != 0) {
        json_decref(p);
        p = NULL;
    }
    return p;
}

static json_t *model_json(const char *name, const uint8_t *sha)
{
    char hex[65];

    if (!sha)
        return json_null();
    fre_hex(hex, sha, 32);
    return name ? json_pack("{s:s, s:s}", "name", name, "sha256", hex)
                : json_pack("{s:s}", "sha256", hex);
}

static json_t *warnings_json(const curator_run *r)
{
    json_t *a = json_array();

    for (size_t i = 0; a && i < r->plan.n_warnings; i++)
        (void)json_array_append_new(a, json_string(r->plan.warnings[i]));
    if (a && r->n_released == 0)
        (void)json_array_append_new(a, json_string(FRE_CURATOR_NO_CELL));
    return a;
}

/* Which entry of the curator's ledger this is, for whoever checks one against the other. */
static json_t *ledger_json(const fre_release *rel)
{
    return rel->recorded ? json_pack("{s:s}", "entry", rel->receipt.id)
                         : json_pack("{s:n, s:s}", "entry", "reason", rel->ledger_reason);
}

static fre_status write_release(const curator_run *r, const fre_release *rel, fre_outdir *dir,
                                const uint8_t *inverter_sha, const uint8_t *projector_sha,
                                fre_err *err)
{
    FILE *f;
    fre_npy_meta meta = {.normalised = false};
    uint8_t sha[32];
    json_t *obj;
    fre_status st = fre_outdir_file(dir, &f, "release.json", err);

    if (st != FRE_OK)
        return st;
    curator_embedder_meta(r, &meta);
    obj = json_pack("{s:s, s:s, s:b, s:o, s:I, s:o, s:{s:o, s:o, s:o}, s:o, s:o}", "format",
                    "fre-e2t-release/1", "version", FRE_VERSION, "private", (int)rel->is_private,
                    "statement", statement_json(rel->statement), "released_cells",
                    (json_int_t)rel->n, "parameters", parameters_json(r), "models", "embedder",
                    model_json(meta.embedder, fre_unhex(sha, 32, meta.sha256) ? sha : NULL),
                    "inverter", model_json(NULL, inverter_sha), "projector",
                    model_json(NULL, projector_sha), "ledger", ledger_json(rel), "warnings",
                    warnings_json(r));
    /* Every bit of the parameters: a later `evaluate` lays the same grid from the cell's edge. */
    return put_json(f, obj, JSON_INDENT(2) | JSON_REAL_PRECISION(17), err);
}

fre_status curator_write(const curator_run *r, const fre_release *rel, fre_outdir *dir,
                         const uint8_t *inverter_sha, const uint8_t *projector_sha, fre_err *err)
{
    fre_status st = write_texts(r, rel, dir, err);

    if (st == FRE_OK)
        st = write_arrays(r, dir, err);
    if (st == FRE_OK)
        st = write_release(r, rel, dir, inverter_sha, projector_sha, err);
    return st;
}
