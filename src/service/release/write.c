/* release/write.c - the files of a release; see fre/release.h. */
#include <fre/bridge.h>
#include <fre/prior.h>
#include <fre/release.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

const char *const *fre_release_files(void)
{
    static const char *const names[] = {"synthetic.jsonl",    FRE_OUTDIR_MARK, "centroids.npy",
                                        "centroids.npy.json", "counts.npy",    NULL};

    return names;
}

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

static json_t *texts_json(char *const *text, size_t n)
{
    json_t *a = json_array();

    for (size_t i = 0; a && i < n; i++)
        if (json_array_append_new(a, json_string(text[i])) != 0) {
            json_decref(a);
            return NULL;
        }
    return a;
}

/* A list of one thing of each text. */
static json_t *further_json(const fre_inversion *text, size_t n,
                            json_t *(*of)(const fre_inversion *))
{
    json_t *a = json_array();

    for (size_t i = 0; a && i < n; i++)
        if (json_array_append_new(a, of(&text[i])) != 0) {
            json_decref(a);
            return NULL;
        }
    return a;
}

static json_t *text_json(const fre_inversion *v)
{
    return json_string(v->text);
}

static json_t *same_json(const fre_inversion *v)
{
    return v->confidence.known ? json_real(v->confidence.same) : json_null();
}

static json_t *exact_json(const fre_inversion *v)
{
    return v->confidence.known ? json_real(v->confidence.exact) : json_null();
}

static json_t *public_cell(uint32_t cell)
{
    return cell == FRE_RELEASE_NONE ? json_null() : json_integer(cell);
}

/* How sure the line's texts are, and with which others it belongs together. */
static json_t *trust_json(const fre_released_cell *c)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "confidence", same_json(&c->text),
                     "confidence_exact", exact_json(&c->text), "texts_confidence",
                     further_json(c->texts, c->n_texts, same_json), "texts_confidence_exact",
                     further_json(c->texts, c->n_texts, exact_json), "group", public_cell(c->group),
                     "share", c->text.text ? json_real(c->text.share) : json_null());
}

/* Where in the tree of levels. */
static json_t *place_json(const fre_release *r, const fre_released_cell *c)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:s?, s:o}", "level", r->level[c->level].name, "centre",
                     public_cell(c->centre), "parent", public_cell(c->parent), "theme",
                     public_cell(c->theme), "around", c->around, "texts",
                     further_json(c->texts, c->n_texts, text_json));
}

/* `cell` names the cell by its hash: the accountant's view holds which cells were released, and
 * a later `evaluate` compares them with the noiseless ones. */
static json_t *cell_json(const fre_release *r, size_t i)
{
    const fre_released_cell *c = &r->cell[i];
    const bool has = c->text.text != NULL;
    char hex[2 * FRE_CELL_BYTES + 1];
    json_t *o = json_pack("{s:s?, s:I, s:f, s:f, s:o, s:o}", "text", c->text.text, "count",
                          (json_int_t)c->count, "users", c->users, "noise_norm", c->noise_norm,
                          "similarity", has ? json_real(c->text.similarity) : json_null(),
                          "paraphrases", texts_json(c->text.paraphrases, c->text.n_paraphrases));
    int bad = 0;

    if (o && c->text.unreadable)
        bad |= json_object_set_new(o, "unreadable", json_string(c->text.unreadable));
    if (o)
        bad |=
            json_object_update_new(o, trust_json(c)) | json_object_update_new(o, place_json(r, c));
    if (o && r->cell_name) {
        fre_hex(hex, r->cell_name[i].bytes, FRE_CELL_BYTES);
        bad |= json_object_set_new(o, "cell", json_string(hex));
    }
    if (!bad)
        return o;
    json_decref(o);
    return NULL;
}

static fre_status write_texts(const fre_release *r, fre_outdir *dir, fre_err *err)
{
    FILE *f;
    fre_status st = fre_outdir_file(dir, &f, "synthetic.jsonl", err);

    for (size_t i = 0; st == FRE_OK && i < r->n; i++)
        st = put_json(f, cell_json(r, i), JSON_COMPACT | JSON_REAL_PRECISION(9), err);
    return st;
}

static fre_status write_centroids(const fre_release *r, fre_outdir *dir, fre_err *err)
{
    fre_npy_meta meta = r->embedder;
    FILE *f;
    fre_status st = fre_outdir_file(dir, &f, "centroids.npy", err);

    meta.normalised = false; /* a centroid's norm is not 1 */
    if (st == FRE_OK)
        st = fre_npy_write_header(f, FRE_NPY_F4, r->n, r->grid.dim, err);
    if (st == FRE_OK && r->n > 0 &&
        fwrite(r->centroid, r->grid.dim * sizeof *r->centroid, r->n, f) != r->n)
        st = fre_fail(err, FRE_E_IO, "cannot write centroids.npy (disk full?)");
    if (st == FRE_OK)
        st = fre_outdir_file(dir, &f, "centroids.npy.json", err);
    return st == FRE_OK ? fre_npy_write_meta(f, &meta, r->n, r->grid.dim, err) : st;
}

static fre_status write_counts(const fre_release *r, fre_outdir *dir, fre_err *err)
{
    FILE *f;
    fre_status st = fre_outdir_file(dir, &f, "counts.npy", err);

    if (st == FRE_OK)
        st = fre_npy_write_header(f, FRE_NPY_I8, r->n, 0, err);
    for (size_t i = 0; st == FRE_OK && i < r->n; i++) {
        const int64_t c = (int64_t)r->cell[i].count;

        if (fwrite(&c, sizeof c, 1, f) != 1)
            st = fre_fail(err, FRE_E_IO, "cannot write counts.npy (disk full?)");
    }
    return st;
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

/* Of the plan's list, what only a release knows. */
static int add_to_levels(const json_t *parameters, const fre_release *r)
{
    json_t *level;
    size_t i;
    int bad = 0;

    json_array_foreach(json_object_get(parameters, "levels"), i, level)
    {
        if (i >= r->n_levels)
            break;
        bad |= json_object_set_new(level, "cells", json_integer((json_int_t)r->level[i].cells));
    }
    return bad;
}

/* The accountant's own JSON. */
static json_t *plan_json(const fre_plan *plan)
{
    fre_buf text;
    json_t *p = NULL;

    fre_buf_init(&text, 1u << 16);
    if (fre_plan_json(&text, plan) == FRE_OK)
        p = json_loadb((const char *)text.p, text.n, JSON_ALLOW_NUL, NULL);
    fre_buf_wipe(&text);
    return p;
}

/* What it was made with, and what a later `evaluate` needs to lay the same grid. */
static json_t *parameters_json(const fre_release *r, const fre_release_context *c)
{
    json_t *p = c->plan ? plan_json(c->plan)
                        : json_loads(c->method->parameters, JSON_REJECT_DUPLICATES, NULL);
    const uint32_t cells_per_user = c->plan ? c->plan->request.cells_per_user : 1;
    char seed[65];

    fre_hex(seed, r->grid.seed, 32);
    if (p && (add_to_levels(p, r) != 0 ||
              json_object_update_new(p, json_pack("{s:I, s:f, s:f, s:i, s:s, s:i}", "threshold",
                                                  (json_int_t)r->threshold, "radius", r->radius,
                                                  "norm_bound", r->norm_bound, "dimension",
                                                  (int)r->grid.dim, "grid_seed", seed,
                                                  "cells_per_user", (int)cells_per_user)) != 0)) {
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

/* Parameters as release.json itself names them. */
static json_t *warning_json(const char *text)
{
    char named[4 * FRE_ERR_BYTES];

    return json_string(fre_param_render(named, sizeof named, text, NULL));
}

static json_t *warnings_json(const fre_release_context *c, const fre_release *r)
{
    json_t *a = json_array();
    int bad = a ? 0 : 1;

    for (size_t i = 0; !bad && c->plan && i < c->plan->n_warnings; i++)
        bad = json_array_append_new(a, warning_json(c->plan->warnings[i]));
    for (size_t i = 0; !bad && i < c->n_warnings; i++)
        bad = json_array_append_new(a, warning_json(c->warning[i]));
    if (!bad && r->n + r->left_out == 0)
        bad = json_array_append_new(a, warning_json(fre_release_no_cell(r)));
    if (!bad)
        return a;
    json_decref(a);
    return NULL;
}

/* Which entry of the curator's ledger this is, for whoever checks one against the other. */
static json_t *ledger_json(const fre_release_context *c)
{
    return c->ledger_entry ? json_pack("{s:s}", "entry", c->ledger_entry)
                           : json_pack("{s:n, s:s}", "entry", "reason", c->ledger_reason);
}

/* "collection" for those that had one. */
static fre_status add_collection(json_t *release, const char *collection, fre_err *err)
{
    json_t *terms;

    if (!collection)
        return FRE_OK;
    terms = json_loads(collection, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(terms)) {
        json_decref(terms);
        return fre_fail(err, FRE_E_DATA, "the collection's terms are no JSON object");
    }
    return json_object_set_new(release, "collection", terms) == 0
               ? FRE_OK
               : fre_fail(err, FRE_E_NOMEM, "out of memory while writing JSON");
}

static json_t *or_null(const char *text)
{
    return text[0] ? json_string(text) : json_null();
}

/* What a prior or bridge says of the text it was made of; "made_of" null: its file does not record
 * it. */
static json_t *statistics_json(const uint8_t *sha, const char *source, uint32_t texts,
                               const fre_prior_card *k)
{
    json_t *o = model_json(NULL, sha);
    json_t *card = k->n_marks ? json_pack("{s:o, s:o, s:o, s:s}", "file", or_null(k->file),
                                          "sha256", or_null(k->sha256), "author",
                                          or_null(k->author), "kind", k->rows ? "rows" : "texts")
                              : json_null();
    json_t *more =
        json_pack("{s:s, s:I, s:o}", "source", source, "texts", (json_int_t)texts, "made_of", card);

    if (o && more && json_object_update(o, more) == 0) {
        json_decref(more);
        return o;
    }
    json_decref(o);
    json_decref(more);
    return NULL;
}

static json_t *prior_json(const fre_prior_info *p)
{
    return p ? statistics_json(p->sha256, p->source, p->rows, &p->card) : json_null();
}

static json_t *bridge_json(const fre_bridge_info *b)
{
    return b ? statistics_json(b->sha256, b->source, b->rows, &b->card) : json_null();
}

static json_t *models_json(const fre_release *r, const fre_inverter_parts *p)
{
    uint8_t sha[32];

    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "embedder",
        model_json(r->embedder.embedder, fre_unhex(sha, 32, r->embedder.sha256) ? sha : NULL),
        "codebook", model_json(NULL, fre_release_codebook(r)), "inverter",
        model_json(NULL, p->decoder), "projector", model_json(NULL, p->projector), "prior",
        prior_json(p->prior_info), "bridge", bridge_json(p->bridge_info), "vocabulary",
        model_json(NULL, p->vocabulary), "language_model", model_json(NULL, p->language_model));
}

/* How the texts were searched; null: there are none. */
static json_t *search_json(const fre_inverter_parts *p)
{
    return p->effort == 0 ? json_null()
                          : json_pack("{s:i, s:o}", "effort", (int)p->effort, "public_corpus",
                                      model_json(NULL, p->public_corpus));
}

/* Cells that were released and are not here, for their texts' sake; null: none was asked to be. */
static json_t *left_out_json(const fre_release *r)
{
    return r->min_confidence > 0 ? json_pack("{s:f, s:I}", "min_confidence", r->min_confidence,
                                             "cells", (json_int_t)r->left_out)
                                 : json_null();
}

/* The paper's claim is its own; this is what a proof stands behind.  null: nothing does. */
static json_t *certified_json(const fre_release *r, const fre_release_context *c)
{
    const fre_release_method joint = {
        .accountant = "joint",
        .epsilon = c->plan ? fre_plan_certified_epsilon(c->plan) : 0,
        .delta = c->plan ? c->plan->request.delta : 0,
    };
    const fre_release_method *m = c->plan ? &joint : c->method;

    return r->is_private ? json_pack("{s:s, s:f, s:f}", "accountant", m->accountant, "epsilon",
                                     m->epsilon, "delta", m->delta)
                         : json_null();
}

static json_t *release_json(const fre_release *r, const fre_release_context *c)
{
    return json_pack("{s:s, s:s, s:b, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:b}",
                     "format", FRE_RELEASE_FORMAT, "version", FRE_VERSION, "private",
                     (int)r->is_private, "certified", certified_json(r, c), "statement",
                     statement_json(r->statement), "released_cells", (json_int_t)r->n, "left_out",
                     left_out_json(r), "parameters", parameters_json(r, c), "models",
                     models_json(r, &c->inverter), "search", search_json(&c->inverter), "ledger",
                     ledger_json(c), "warnings", warnings_json(c, r), "privacy_unit",
                     r->users_named ? "user" : "record", "strict_intake", (int)r->strict);
}

static fre_status write_release(const fre_release *r, const fre_release_context *c, fre_outdir *dir,
                                fre_err *err)
{
    FILE *f;
    json_t *obj;
    fre_status st = fre_outdir_file(dir, &f, "release.json", err);

    if (st != FRE_OK)
        return st;
    obj = release_json(r, c);
    if (obj && !c->plan && json_object_set_new(obj, "method", json_string(c->method->name)) != 0) {
        json_decref(obj);
        obj = NULL;
    }
    st = obj ? add_collection(obj, c->collection, err) : FRE_OK;
    if (st != FRE_OK) {
        json_decref(obj);
        return st;
    }
    /* Every bit of the parameters: a later `evaluate` lays the same grid from the cell's edge. */
    return put_json(f, obj, JSON_INDENT(2) | JSON_REAL_PRECISION(17), err);
}

fre_status fre_release_write(fre_outdir *dir, const fre_release *r, const fre_release_context *c,
                             fre_err *err)
{
    fre_status st = write_texts(r, dir, err);

    if (st == FRE_OK)
        st = write_centroids(r, dir, err);
    if (st == FRE_OK)
        st = write_counts(r, dir, err);
    return st == FRE_OK ? write_release(r, c, dir, err) : st;
}
