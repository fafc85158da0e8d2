/* release/read.c - a release's folder, read back; see fre/release.h. */
#include <fre/release.h>

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Path of a file of the folder; the caller frees it.  NULL: out of memory. */
static char *inside(const char *folder, const char *name)
{
    const size_t n = strlen(folder) + strlen(name) + 2;
    char *path = malloc(n);

    if (path)
        (void)snprintf(path, n, "%s/%s", folder, name);
    return path;
}

/* ---- release.json ----------------------------------------------------------------------------- */

static bool parse_parameters(fre_release *r, const json_t *o)
{
    const char *seed = NULL;
    json_int_t k = 0, d = 0, t = 0;

    if (json_unpack((json_t *)(uintptr_t)o, "{s:{s:s, s:I, s:I, s:I, s:F, s:F, s?F}}", "parameters",
                    "grid_seed", &seed, "projection_dim", &k, "dimension", &d, "threshold", &t,
                    "cell_edge", &r->grid.grid.cell_edge, "radius", &r->radius, "norm_bound",
                    &r->norm_bound) != 0)
        return false;
    if (!fre_unhex(r->grid.seed, sizeof r->grid.seed, seed) || k < 1 || k > FRE_SKETCH_PROJ_MAX ||
        d < 1 || d > FRE_SKETCH_DIM_MAX || t < 1 || !isfinite(r->grid.grid.cell_edge) ||
        !(r->grid.grid.cell_edge > 0) || !isfinite(r->radius) || !(r->radius > 0) ||
        !isfinite(r->norm_bound) || r->norm_bound < 0)
        return false;
    r->grid.grid.proj = (uint32_t)k;
    r->grid.dim = (uint32_t)d;
    r->threshold = (uint64_t)t;
    return true;
}

static bool parse_sketch(fre_sketch_spec *out, const fre_sketch_grid *grid, const json_t *level)
{
    const json_t *cells = json_object_get(level, "public_cells");
    const char *file = json_string_value(json_object_get(level, "codebook"));

    if (!json_is_integer(cells)) {
        *out = (fre_sketch_spec){.grid = *grid};
        return true;
    }
    *out = (fre_sketch_spec){
        .kind = FRE_SKETCH_CODEBOOK,
        .codebook = {.cells = (uint64_t)json_integer_value(cells),
                     .radius = json_number_value(json_object_get(level, "radius"))}};
    return json_integer_value(cells) > 0 && file &&
           fre_unhex(out->codebook.sha256, sizeof out->codebook.sha256, file);
}

/* 0 where a release does not say it, or a distributed one says it otherwise. */
static void parse_mechanism(fre_release *r, const json_t *o)
{
    const json_t *p = json_object_get(o, "parameters");
    const json_int_t tau = json_integer_value(json_object_get(p, "tau"));
    const json_int_t records = json_integer_value(json_object_get(p, "records_max"));

    r->sampling_rate = json_number_value(json_object_get(p, "sampling_rate"));
    r->sigma = json_number_value(json_object_get(p, "sigma"));
    r->tau = tau > 0 ? (uint64_t)tau : 0;
    r->records_max = records > 0 ? (uint64_t)records : 0;
}

/* Those of a release that was made before there were levels: the grid alone. */
static bool parse_levels(fre_release *r, const json_t *o)
{
    const json_t *list = json_object_get(json_object_get(o, "parameters"), "levels"), *level;
    size_t i;

    memcpy(r->level[0].name, "grid", sizeof "grid");
    r->level[0].sketch.grid = r->grid.grid;
    r->n_levels = 1;
    if (!list)
        return true;
    if (!json_is_array(list) || json_array_size(list) == 0 ||
        json_array_size(list) > FRE_LEVELS_MAX + 1)
        return false;
    json_array_foreach(list, i, level)
    {
        const char *name = json_string_value(json_object_get(level, "name"));

        if (!name || strlen(name) >= sizeof r->level[i].name ||
            !parse_sketch(&r->level[i].sketch, &r->grid.grid, level))
            return false;
        memcpy(r->level[i].name, name, strlen(name) + 1);
    }
    r->n_levels = i;
    return true;
}

/* A sentence an element, a sentence a line. */
static fre_status join_statement(char **out, const json_t *list)
{
    fre_status st = FRE_OK;
    const json_t *item;
    fre_buf b;
    size_t i;

    fre_buf_init(&b, 1u << 20);
    json_array_foreach(list, i, item)
    {
        if (st == FRE_OK && json_is_string(item))
            st = fre_buf_printf(&b, "%s\n", json_string_value(item));
    }
    if (st == FRE_OK)
        st = fre_buf_append(&b, "", 1);
    *out = st == FRE_OK ? strdup((const char *)b.p) : NULL;
    fre_buf_wipe(&b);
    return *out ? FRE_OK : st == FRE_OK ? FRE_E_NOMEM : st;
}

static void parse_embedder(fre_release *r, const json_t *o)
{
    const json_t *model = json_object_get(json_object_get(o, "models"), "embedder");
    const char *sha = json_string_value(json_object_get(model, "sha256"));
    const char *name = json_string_value(json_object_get(model, "name"));
    uint8_t bytes[32];

    if (sha && fre_unhex(bytes, sizeof bytes, sha))
        (void)snprintf(r->embedder.sha256, sizeof r->embedder.sha256, "%s", sha);
    if (name)
        (void)snprintf(r->embedder.embedder, sizeof r->embedder.embedder, "%s", name);
}

static void parse_left_out(fre_release *r, const json_t *o)
{
    const json_int_t cells = json_integer_value(json_object_get(o, "cells"));

    r->min_confidence = json_number_value(json_object_get(o, "min_confidence"));
    r->left_out = cells > 0 ? (size_t)cells : 0;
}

/* One without a format is of before there was a second. */
static bool is_of_format(const json_t *o)
{
    const json_t *format = json_object_get(o, "format");
    const char *name = json_string_value(format);

    return !format || (name && strcmp(name, FRE_RELEASE_FORMAT) == 0);
}

/* *cells: how many it says there are. */
static fre_status parse_release(fre_release *r, json_int_t *cells, const char *path, fre_err *err)
{
    json_error_t where;
    json_t *o = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
    const char *unit;
    fre_status st = FRE_OK;

    if (!o)
        return where.line <= 0
                   ? fre_open_failed(err, errno, FRE_E_NOINPUT,
                                     "is it a folder that synthesize made?", "cannot read %.300s",
                                     path)
                   : fre_fail(err, FRE_E_DATA, "%.300s, line %d: not JSON", path, where.line);
    *cells = json_integer_value(json_object_get(o, "released_cells"));
    r->is_private = json_is_true(json_object_get(o, "private"));
    r->strict = json_is_true(json_object_get(o, "strict_intake"));
    unit = json_string_value(json_object_get(o, "privacy_unit"));
    r->users_named = unit && strcmp(unit, "user") == 0;
    parse_left_out(r, json_object_get(o, "left_out"));
    parse_embedder(r, o);
    parse_mechanism(r, o);
    if (!is_of_format(o))
        st = fre_fail(err, FRE_E_DATA,
                      "%.300s is of another format than " FRE_RELEASE_FORMAT
                      ", which fre-e2t " FRE_VERSION " reads: use the version that wrote it",
                      path);
    else if (!parse_parameters(r, o))
        st = fre_fail(err, FRE_E_DATA,
                      "%.300s: \"parameters\" lacks a valid grid_seed, projection_dim, dimension, "
                      "threshold, cell_edge, radius or norm_bound",
                      path);
    else if (!parse_levels(r, o))
        st = fre_fail(err, FRE_E_DATA, "%.300s: \"levels\" is no list of levels", path);
    else if (join_statement(&r->statement, json_object_get(o, "statement")) != FRE_OK)
        st = fre_fail(err, FRE_E_NOMEM, "out of memory for a release");
    json_decref(o);
    return st;
}

/* ---- centroids.npy ------------------------------------------------------------------------------ */

static fre_status load_centroids(fre_release *r, json_int_t cells, const char *path, fre_err *err)
{
    fre_npy *npy = NULL;
    fre_status st = fre_npy_open(&npy, path, err);

    if (st != FRE_OK)
        return st;
    r->n = fre_npy_rows(npy);
    if (cells < 0 || r->n != (uint64_t)cells || (r->n > 0 && fre_npy_dim(npy) != r->grid.dim))
        st = fre_fail(err, FRE_E_DATA,
                      "%.300s has %zu rows of %zu numbers, release.json says %" JSON_INTEGER_FORMAT
                      " of %u: the files are not of one release",
                      path, r->n, fre_npy_dim(npy), cells, r->grid.dim);
    if (st == FRE_OK) {
        r->centroid = calloc(r->n * r->grid.dim + 1, sizeof *r->centroid);
        r->cell = calloc(r->n + 1, sizeof *r->cell);
        if (!r->centroid || !r->cell)
            st = fre_fail(err, FRE_E_NOMEM, "out of memory for a release");
    }
    for (size_t i = 0; st == FRE_OK && i < r->n; i++)
        st = fre_npy_row(npy, r->centroid + i * r->grid.dim, i, err);
    fre_npy_free(npy);
    return st;
}

/* ---- synthetic.jsonl ------------------------------------------------------------------------------ */

static fre_status copy_texts(char ***out, size_t *n, const json_t *list)
{
    const json_t *item;
    size_t i;

    if (json_array_size(list) == 0)
        return FRE_OK;
    *out = calloc(json_array_size(list), sizeof **out);
    if (!*out)
        return FRE_E_NOMEM;
    json_array_foreach(list, i, item)
    {
        if (!json_is_string(item))
            continue;
        (*out)[*n] = strdup(json_string_value(item));
        if (!(*out)[*n])
            return FRE_E_NOMEM;
        (*n)++;
    }
    return FRE_OK;
}

static fre_confidence confidence_of(const json_t *same, const json_t *exact)
{
    return json_is_number(same) && json_is_number(exact)
               ? (fre_confidence){true, json_number_value(same), json_number_value(exact)}
               : (fre_confidence){.known = false};
}

/* The further texts of a public cell. */
static fre_status parse_texts(fre_released_cell *c, const json_t *o)
{
    const json_t *list = json_object_get(o, "texts"), *item;
    const json_t *same = json_object_get(o, "texts_confidence");
    const json_t *exact = json_object_get(o, "texts_confidence_exact");
    size_t i;

    c->texts = calloc(json_array_size(list) + 1, sizeof *c->texts);
    if (!c->texts)
        return FRE_E_NOMEM;
    json_array_foreach(list, i, item)
    {
        fre_inversion *v = &c->texts[c->n_texts];

        if (!json_is_string(item))
            continue;
        *v = (fre_inversion){.text = strdup(json_string_value(item)),
                             .similarity = (double)NAN,
                             .distance = (double)NAN,
                             .confidence =
                                 confidence_of(json_array_get(same, i), json_array_get(exact, i))};
        if (!v->text)
            return FRE_E_NOMEM;
        c->n_texts++;
    }
    return FRE_OK;
}

/* All lines name their cell, or none does. */
static fre_status copy_name(fre_release *r, size_t i, const char *hex)
{
    if (i == 0 && hex) {
        r->cell_name = calloc(r->n, sizeof *r->cell_name);
        if (!r->cell_name)
            return FRE_E_NOMEM;
    }
    if (!hex != !r->cell_name)
        return FRE_E_DATA;
    return !hex || fre_unhex(r->cell_name[i].bytes, FRE_CELL_BYTES, hex) ? FRE_OK : FRE_E_DATA;
}

static uint32_t public_cell(const json_t *o, const char *key)
{
    const json_t *cell = json_object_get(o, key);
    const json_int_t i = json_integer_value(cell);

    return json_is_integer(cell) && i >= 0 && i < FRE_RELEASE_NONE ? (uint32_t)i : FRE_RELEASE_NONE;
}

/* Level, centre and parent: none in a release that was made before there were levels. */
static fre_status parse_place(fre_released_cell *c, fre_release *r, const json_t *o)
{
    const char *level = json_string_value(json_object_get(o, "level"));
    const char *around = json_string_value(json_object_get(o, "around"));

    while (level && c->level < r->n_levels && strcmp(r->level[c->level].name, level) != 0)
        c->level++;
    if (c->level == r->n_levels)
        return FRE_E_DATA;
    r->level[c->level].cells++;
    c->centre = public_cell(o, "centre");
    c->parent = public_cell(o, "parent");
    c->theme = public_cell(o, "theme");
    c->around = around ? strdup(around) : NULL;
    return around && !c->around ? FRE_E_NOMEM : FRE_OK;
}

/* Where these are, they are of their kind. */
static bool is_well_typed(const json_t *o)
{
    static const char *const numbers[] = {"users", "noise_norm"}, *const lists[] = {"texts",
                                                                                    "paraphrases"};
    const json_t *v;

    for (size_t i = 0; i < 2; i++) {
        v = json_object_get(o, numbers[i]);
        if (v && !(json_is_number(v) && json_number_value(v) >= 0))
            return false;
        v = json_object_get(o, lists[i]);
        if (v && !json_is_null(v) && !json_is_array(v))
            return false;
    }
    return true;
}

static fre_status parse_cell(fre_release *r, size_t i, const json_t *o)
{
    fre_released_cell *c = &r->cell[i];
    const json_t *text = json_object_get(o, "text");
    const json_t *similarity = json_object_get(o, "similarity");
    const json_int_t count = json_integer_value(json_object_get(o, "count"));
    fre_status st;

    if (count < 1 || !(json_is_string(text) || json_is_null(text)) || !is_well_typed(o))
        return FRE_E_DATA;
    c->count = (uint64_t)count;
    c->users = json_number_value(json_object_get(o, "users"));
    c->noise_norm = json_number_value(json_object_get(o, "noise_norm"));
    c->text.similarity = json_is_number(similarity) ? json_number_value(similarity) : (double)NAN;
    c->text.distance = (double)NAN;
    if (json_is_string(text)) {
        c->text.text = strdup(json_string_value(text));
        if (!c->text.text)
            return FRE_E_NOMEM;
    }
    c->text.confidence =
        confidence_of(json_object_get(o, "confidence"), json_object_get(o, "confidence_exact"));
    c->text.share = json_number_value(json_object_get(o, "share"));
    c->group = public_cell(o, "group");
    st = parse_place(c, r, o);
    if (st == FRE_OK)
        st = parse_texts(c, o);
    if (st == FRE_OK)
        st = copy_texts(&c->text.paraphrases, &c->text.n_paraphrases,
                        json_object_get(o, "paraphrases"));
    return st == FRE_OK ? copy_name(r, i, json_string_value(json_object_get(o, "cell"))) : st;
}

static fre_status read_line(fre_release *r, size_t i, const fre_record *rec, const char *path,
                            fre_err *err)
{
    json_error_t where = {.line = 0};
    json_t *o;
    fre_status st;

    if (i >= r->n)
        return fre_fail(err, FRE_E_DATA,
                        "%.300s has more lines than centroids.npy has rows (%zu): the files are "
                        "not of one release",
                        path, r->n);
    o = rec->json
            ? json_loadb((const char *)rec->json, rec->json_len, JSON_REJECT_DUPLICATES, &where)
            : NULL;
    st = json_is_object(o)      ? parse_cell(r, i, o)
         : !o && where.line < 0 ? FRE_E_NOMEM /* nothing was read wrong */
                                : FRE_E_DATA;
    json_decref(o);
    return st == FRE_E_DATA ? fre_fail(err, st,
                                       "%.300s, line %" PRIu64
                                       ": not a line that synthesize wrote (text, count, users, "
                                       "noise_norm, similarity, paraphrases, cell)",
                                       path, rec->line)
           : st == FRE_OK   ? FRE_OK
                            : fre_fail(err, st, "out of memory for a release");
}

static fre_status load_cells(fre_release *r, const char *path, fre_err *err)
{
    const fre_corpus_opts opts = {.keep_json = true, .empty_ok = true}; /* a release of no cell */
    fre_corpus *c = NULL;
    fre_record rec;
    size_t i = 0;
    bool go_on = true;
    fre_status st = fre_corpus_open(&c, path, &opts, err);

    while (st == FRE_OK) {
        st = fre_corpus_next(c, &go_on, &rec, err);
        if (st != FRE_OK || !go_on)
            break;
        st = read_line(r, i++, &rec, path, err);
    }
    fre_corpus_free(c);
    if (st == FRE_OK && i != r->n)
        st = fre_fail(err, FRE_E_DATA,
                      "%.300s has %zu lines, centroids.npy %zu rows: the files are not of one "
                      "release",
                      path, i, r->n);
    return st;
}

fre_status fre_release_read(fre_release *out, const char *folder, fre_err *err)
{
    char *json = inside(folder, "release.json"), *npy = inside(folder, "centroids.npy");
    char *texts = inside(folder, "synthetic.jsonl");
    fre_release r = {.n = 0};
    json_int_t cells = 0;
    fre_status st;

    if (!json || !npy || !texts)
        st = fre_fail(err, FRE_E_NOMEM, "out of memory for a release");
    else
        st = parse_release(&r, &cells, json, err);
    if (st == FRE_OK)
        st = load_centroids(&r, cells, npy, err);
    if (st == FRE_OK)
        st = load_cells(&r, texts, err);
    free(json);
    free(npy);
    free(texts);
    if (st != FRE_OK) {
        fre_release_wipe(&r);
        return st;
    }
    *out = r;
    return FRE_OK;
}
