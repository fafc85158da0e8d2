/* The file of a codebook: written, read, and found beside an embedder. */
#include "codebook_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PATH_LEN 4096u
#define STEPS 127
#define SCALE_BITS 12 /* of a row's factor, so that its products with whole numbers are exact */
#define NAME_LEN 32u

#define BASE_NUMBERS 2u  /* centres, groups */
#define LEVEL_NUMBERS 6u /* base, codes, empty cells; radius, gain, spread in CODEBOOK_UNIT */

/* Name of a tensor of base or level i. */
static const char *name_of(char out[NAME_LEN], const char *what, uint32_t i, const char *part)
{
    (void)snprintf(out, NAME_LEN, "%s.%u.%s", what, i, part);
    return out;
}

/* ---- rounding ------------------------------------------------------------------------------------------ */

static float largest(const float *x, size_t d)
{
    float most = 0;

    for (size_t i = 0; i < d; i++)
        most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
    return most;
}

/* The least number of SCALE_BITS bits that is not below largest / STEPS. */
static float scale_of(const float *x, size_t d)
{
    int power;
    const double share = frexp((double)largest(x, d) / STEPS, &power);

    return (float)ldexp(ceil(ldexp(share, SCALE_BITS)), power - SCALE_BITS);
}

void fre_codebook_round(float *row, size_t n, size_t dim)
{
    for (size_t r = 0; r < n; r++) {
        float *x = row + r * dim;
        const float scale = scale_of(x, dim);

        for (size_t i = 0; i < dim && scale > 0; i++)
            x[i] = scale * rintf(x[i] / scale);
    }
}

/* ---- writing ------------------------------------------------------------------------------------------- */

/* What a base's tensors are written from. */
typedef struct written_base {
    int8_t *step;
    float *scale;
    char name[3][NAME_LEN];
} written_base;

typedef struct writing {
    const fre_codebook *c;
    written_base base[FRE_CODEBOOK_BASES_MAX];
    char code[FRE_CODEBOOK_LEVELS_MAX][NAME_LEN], medoid[FRE_CODEBOOK_LEVELS_MAX][NAME_LEN];
    int32_t bases[FRE_CODEBOOK_BASES_MAX * BASE_NUMBERS];
    int32_t levels[FRE_CODEBOOK_LEVELS_MAX * LEVEL_NUMBERS];
    int32_t quantiles[FRE_CODEBOOK_LEVELS_MAX * FRE_CODEBOOK_QUANTILES];
    fre_tensors_entry
        entry[7 + 3 * FRE_CODEBOOK_BASES_MAX + 2 * FRE_CODEBOOK_LEVELS_MAX]; /* with the card's */
    size_t n;
} writing;

static void add(writing *w, const char *name, const void *value, size_t rows, size_t cols,
                fre_tensors_type type)
{
    w->entry[w->n++] = (fre_tensors_entry){name, value, rows, cols, type};
}

static fre_status steps_of(written_base *w, const codebook_base *b, size_t d, fre_err *err)
{
    w->step = malloc(b->centres * d);
    w->scale = malloc(b->centres * sizeof *w->scale);
    if (!w->step || !w->scale)
        return fre_fail(err, FRE_E_NOMEM, "out of memory writing a codebook");
    for (uint32_t j = 0; j < b->centres; j++) {
        const float *x = b->centre + j * d;

        w->scale[j] = scale_of(x, d);
        for (size_t i = 0; i < d; i++) {
            const float step = rintf(x[i] / w->scale[j]), back = w->scale[j] * step;

            w->step[j * d + i] = (int8_t)step;
            if (back < x[i] || back > x[i])
                return fre_fail(err, FRE_E_ARG, "centre %u of a codebook was not rounded", j);
        }
    }
    return FRE_OK;
}

static fre_status add_bases(writing *w, fre_err *err)
{
    const fre_codebook *c = w->c;
    fre_status st = FRE_OK;

    for (uint32_t i = 0; i < c->info.n_bases && st == FRE_OK; i++) {
        const codebook_base *b = &c->base[i];
        written_base *to = &w->base[i];

        st = steps_of(to, b, c->info.dim, err);
        w->bases[i * BASE_NUMBERS] = (int32_t)b->centres;
        w->bases[i * BASE_NUMBERS + 1] = (int32_t)b->n_groups;
        add(w, name_of(to->name[0], "base", i, "centres"), to->step, b->centres, c->info.dim,
            FRE_TENSORS_I8);
        add(w, name_of(to->name[1], "base", i, "scales"), to->scale, 1, b->centres,
            FRE_TENSORS_F32);
        add(w, name_of(to->name[2], "base", i, "groups"), b->group, 1, b->n_groups,
            FRE_TENSORS_I32);
    }
    return st;
}

static int32_t units(double x)
{
    return (int32_t)lround(x / CODEBOOK_UNIT);
}

/* Those of a level that does not know them are 0. */
static void add_quantiles(writing *w)
{
    const fre_codebook *c = w->c;
    const size_t n = c->info.n_levels;
    double most = 0;

    for (size_t i = 0; i < n * FRE_CODEBOOK_QUANTILES; i++) {
        const double q =
            c->level[i / FRE_CODEBOOK_QUANTILES].view.quantile[i % FRE_CODEBOOK_QUANTILES];

        w->quantiles[i] = units(q);
        most = fmax(most, q);
    }
    if (most > 0)
        add(w, "quantiles", w->quantiles, n, FRE_CODEBOOK_QUANTILES, FRE_TENSORS_I32);
}

static void add_levels(writing *w)
{
    const fre_codebook *c = w->c;

    for (uint32_t i = 0; i < c->info.n_levels; i++) {
        const codebook_level *l = &c->level[i];
        const fre_codebook_level *v = &l->view;

        const int32_t number[LEVEL_NUMBERS] = {(int32_t)v->base,  (int32_t)v->codes,
                                               (int32_t)v->empty, units(v->radius),
                                               units(v->gain),    units(v->spread)};

        memcpy(w->levels + i * LEVEL_NUMBERS, number, sizeof number);
        if (l->code)
            add(w, name_of(w->code[i], "level", i, "codes"), l->code, v->codes, c->info.dim,
                FRE_TENSORS_F32);
        /* None is the largest number, so -1 in the file. */
        if (l->medoid)
            add(w, name_of(w->medoid[i], "level", i, "medoids"), l->medoid, 1, v->cells,
                FRE_TENSORS_I32);
    }
    add(w, "bases", w->bases, c->info.n_bases, BASE_NUMBERS, FRE_TENSORS_I32);
    add(w, "levels", w->levels, c->info.n_levels, LEVEL_NUMBERS, FRE_TENSORS_I32);
    add_quantiles(w);
    if (c->within) {
        const size_t d = c->info.dim;

        add(w, "within.directions", c->within, d, d, FRE_TENSORS_F32);
        add(w, "within.variances", c->within + d * d, c->info.n_levels, d, FRE_TENSORS_F32);
    }
    if (c->text_bytes > 0)
        add(w, "text", c->text, 1, c->text_bytes, FRE_TENSORS_I8);
}

#define OWN_PAIRS 10u

static fre_status write_file(writing *w, FILE *f, fre_err *err)
{
    const fre_codebook_info *i = &w->c->info;
    fre_tensors_pair pair[OWN_PAIRS + FRE_PRIOR_CARD_PAIRS] = {
        {.key = "general.name", .text = "codebook of embeddings of public text"},
        {.key = CODEBOOK_KEY("embedding_length"), .number = i->dim},
        {.key = CODEBOOK_KEY("rows"), .number = i->rows},
        {.key = CODEBOOK_KEY("bases"), .number = i->n_bases},
        {.key = CODEBOOK_KEY("levels"), .number = i->n_levels},
        {.key = CODEBOOK_KEY("probes"), .number = i->probes},
        {.key = CODEBOOK_KEY("text_bytes"), .number = (uint32_t)w->c->text_bytes},
        {.key = CODEBOOK_KEY("embedding_model"), .text = i->embedder},
        {.key = CODEBOOK_KEY("embedding_model_sha256"), .text = i->embedder_hash},
        {.key = CODEBOOK_KEY("source"), .text = i->source},
    };
    size_t n_pairs = OWN_PAIRS;

    fre_prior_card_append(&i->card, pair, &n_pairs, w->entry, &w->n);
    return fre_tensors_write(f, FRE_CODEBOOK_ARCHITECTURE, pair, n_pairs, w->entry, w->n, err);
}

fre_status fre_codebook_write(const fre_codebook *c, FILE *f, fre_err *err)
{
    writing *w = calloc(1, sizeof *w);
    fre_status st;

    if (!w)
        return fre_fail(err, FRE_E_NOMEM, "out of memory writing a codebook");
    w->c = c;
    st = add_bases(w, err);
    if (st == FRE_OK) {
        add_levels(w);
        st = write_file(w, f, err);
    }
    for (uint32_t i = 0; i < c->info.n_bases; i++) {
        free(w->base[i].step);
        free(w->base[i].scale);
    }
    free(w);
    return st;
}

/* ---- reading -------------------------------------------------------------------------------------------- */

typedef struct reading {
    const fre_tensors *t;
    const char *path;
    fre_codebook_parts parts;
    uint32_t n_bases, n_levels, text_bytes;
    fre_codebook_base base[FRE_CODEBOOK_BASES_MAX];
    fre_codebook_spec level[FRE_CODEBOOK_LEVELS_MAX];
    float *centre[FRE_CODEBOOK_BASES_MAX];
} reading;

static fre_status damaged(const reading *r, fre_err *err)
{
    return fre_fail(
        err, FRE_E_MODEL,
        "%s: numbers that no codebook has; the file is damaged, fetch it again or make it "
        "by 'model codebook'",
        r->path);
}

static fre_status read_sizes(reading *r, fre_err *err)
{
    const struct {
        const char *key;
        uint32_t *to;
    } all[] = {
        {CODEBOOK_KEY("embedding_length"), &r->parts.dim},
        {CODEBOOK_KEY("bases"), &r->n_bases},
        {CODEBOOK_KEY("levels"), &r->n_levels},
        {CODEBOOK_KEY("probes"), &r->parts.probes},
        {CODEBOOK_KEY("text_bytes"), &r->text_bytes},
    };
    fre_status st = FRE_OK;

    for (size_t i = 0; i < sizeof all / sizeof *all && st == FRE_OK; i++)
        st = fre_tensors_u32(r->t, all[i].to, all[i].key, err);
    if (st != FRE_OK)
        return st;
    if (r->parts.dim == 0 || r->parts.dim > CODEBOOK_DIM_MAX || r->n_bases == 0 ||
        r->n_bases > FRE_CODEBOOK_BASES_MAX || r->n_levels == 0 ||
        r->n_levels > FRE_CODEBOOK_LEVELS_MAX)
        return damaged(r, err);
    return FRE_OK;
}

/* Whole numbers that are counts in memory. */
static fre_status read_counts(const reading *r, const uint32_t **out, const char *name, size_t rows,
                              size_t cols, fre_err *err)
{
    const int32_t *x;
    fre_status st = fre_tensors_get_i32(r->t, &x, name, rows, cols, err);

    if (st == FRE_OK)
        *out = (const uint32_t *)x; /* the same type but for its sign; -1: none */
    return st;
}

static fre_status read_base(reading *r, uint32_t i, const uint32_t *numbers, fre_err *err)
{
    const size_t d = r->parts.dim, k = numbers[0];
    fre_codebook_base *b = &r->base[i];
    char name[NAME_LEN];
    const int8_t *step;
    const float *scale;
    fre_status st;

    if (k == 0 || k > FRE_CODEBOOK_CENTRES_MAX || numbers[1] == 0 || numbers[1] > k)
        return damaged(r, err);
    st = fre_tensors_get_i8(r->t, &step, name_of(name, "base", i, "centres"), k, d, err);
    if (st == FRE_OK)
        st = fre_tensors_get(r->t, &scale, name_of(name, "base", i, "scales"), 1, k, err);
    if (st == FRE_OK)
        st = read_counts(r, &b->group, name_of(name, "base", i, "groups"), 1, numbers[1], err);
    if (st != FRE_OK)
        return st;
    b->centre = r->centre[i] = malloc(k * d * sizeof *b->centre);
    if (!b->centre)
        return fre_fail(err, FRE_E_NOMEM, "out of memory opening %s", r->path);
    for (size_t j = 0; j < k * d; j++)
        r->centre[i][j] = scale[j / d] * (float)step[j];
    b->centres = (uint32_t)k;
    b->n_groups = numbers[1];
    return FRE_OK;
}

static fre_status read_level(reading *r, uint32_t i, const uint32_t *numbers, fre_err *err)
{
    fre_codebook_spec *s = &r->level[i];
    char name[NAME_LEN];
    fre_status st = FRE_OK;

    *s = (fre_codebook_spec){.base = numbers[0],
                             .codes = numbers[1],
                             .empty = numbers[2],
                             .radius = numbers[3] * CODEBOOK_UNIT,
                             .gain = numbers[4] * CODEBOOK_UNIT,
                             .spread = numbers[5] * CODEBOOK_UNIT};
    if (s->base >= r->n_bases || s->codes == 0 || s->codes > FRE_CODEBOOK_CODES_MAX)
        return damaged(r, err);
    if (s->codes > 1)
        st = fre_tensors_get(r->t, &s->code, name_of(name, "level", i, "codes"), s->codes,
                             r->parts.dim, err);
    if (st == FRE_OK && fre_tensors_has(r->t, name_of(name, "level", i, "medoids")))
        st = read_counts(r, &s->medoid, name, 1, (size_t)s->codes * r->base[s->base].centres, err);
    return st;
}

static fre_status read_quantiles(reading *r, fre_err *err)
{
    const uint32_t *numbers;
    fre_status st;

    if (!fre_tensors_has(r->t, "quantiles"))
        return FRE_OK;
    st = read_counts(r, &numbers, "quantiles", r->n_levels, FRE_CODEBOOK_QUANTILES, err);
    for (size_t i = 0; i < (size_t)r->n_levels * FRE_CODEBOOK_QUANTILES && st == FRE_OK; i++)
        r->level[i / FRE_CODEBOOK_QUANTILES].quantile[i % FRE_CODEBOOK_QUANTILES] =
            numbers[i] * CODEBOOK_UNIT;
    return st;
}

static fre_status read_within(reading *r, fre_err *err)
{
    const size_t d = r->parts.dim;
    fre_status st;

    if (!fre_tensors_has(r->t, "within.directions"))
        return FRE_OK;
    st = fre_tensors_get(r->t, &r->parts.direction, "within.directions", d, d, err);
    if (st != FRE_OK)
        return st;
    return fre_tensors_get(r->t, &r->parts.variance, "within.variances", r->n_levels, d, err);
}

static fre_status read_parts(reading *r, fre_err *err)
{
    const uint32_t *bases, *levels;
    const int8_t *text = NULL;
    fre_status st = read_sizes(r, err);

    if (st != FRE_OK)
        return st;
    st = read_counts(r, &bases, "bases", r->n_bases, BASE_NUMBERS, err);
    for (uint32_t i = 0; i < r->n_bases && st == FRE_OK; i++)
        st = read_base(r, i, bases + i * BASE_NUMBERS, err);
    if (st != FRE_OK)
        return st;
    st = read_counts(r, &levels, "levels", r->n_levels, LEVEL_NUMBERS, err);
    for (uint32_t i = 0; i < r->n_levels && st == FRE_OK; i++)
        st = read_level(r, i, levels + i * LEVEL_NUMBERS, err);
    if (st == FRE_OK)
        st = read_quantiles(r, err);
    if (st == FRE_OK)
        st = read_within(r, err);
    if (st != FRE_OK || r->text_bytes == 0)
        return st;
    st = fre_tensors_get_i8(r->t, &text, "text", 1, r->text_bytes, err);
    r->parts.text = (const char *)text;
    r->parts.text_bytes = r->text_bytes;
    return st;
}

static fre_status make_of(fre_codebook **out, reading *r, fre_err *err)
{
    fre_err why;
    fre_status st = read_parts(r, err);

    if (st != FRE_OK)
        return st;
    r->parts.base = r->base;
    r->parts.n_bases = r->n_bases;
    r->parts.level = r->level;
    r->parts.n_levels = r->n_levels;
    st = fre_codebook_new(out, &r->parts, &why);
    if (st == FRE_OK)
        return st;
    return fre_fail(
        err, st == FRE_E_DATA ? FRE_E_MODEL : st,
        "%.200s: %s; the file is damaged, fetch it again or make it by 'model codebook'", r->path,
        why.text);
}

static fre_status read_info(fre_codebook *c, const fre_tensors *t, const char *path, fre_err *err)
{
    fre_codebook_info *i = &c->info;
    uint8_t sum[FRE_HASH_BYTES];
    fre_status st = fre_tensors_u32(t, &i->rows, CODEBOOK_KEY("rows"), err);

    if (st != FRE_OK)
        return st;
    fre_model_label(i->embedder, sizeof i->embedder,
                    fre_tensors_text(t, CODEBOOK_KEY("embedding_model")));
    fre_model_label(i->embedder_hash, sizeof i->embedder_hash,
                    fre_tensors_text(t, CODEBOOK_KEY("embedding_model_sha256")));
    fre_model_label(i->source, sizeof i->source, fre_tensors_text(t, CODEBOOK_KEY("source")));
    memcpy(i->sha256, fre_tensors_sha256(t), FRE_HASH_BYTES);
    if (strlen(i->embedder_hash) != 2 * sizeof sum || !fre_unhex(sum, sizeof sum, i->embedder_hash))
        return fre_fail(err, FRE_E_MODEL, "%s does not say which embedder it was made for", path);
    return fre_prior_card_read(&i->card, t, path, err);
}

fre_status fre_codebook_open(fre_codebook **out, const char *path, fre_err *err)
{
    reading *r = calloc(1, sizeof *r);
    fre_tensors *t = NULL;
    fre_codebook *c = NULL;
    fre_status st = r ? fre_tensors_open(&t, path, FRE_CODEBOOK_ARCHITECTURE, err)
                      : fre_fail(err, FRE_E_NOMEM, "out of memory opening %s", path);

    if (st != FRE_OK)
        goto out;
    r->t = t;
    r->path = path;
    st = make_of(&c, r, err);
    if (st == FRE_OK)
        st = read_info(c, t, path, err);
    if (st != FRE_OK)
        goto out;
    *out = c;
    c = NULL;
out:
    for (size_t i = 0; r && i < FRE_CODEBOOK_BASES_MAX; i++)
        free(r->centre[i]);
    free(r);
    fre_codebook_free(c);
    fre_tensors_free(t);
    return st;
}

/* ---- beside an embedder ---------------------------------------------------------------------------------- */

fre_status fre_codebook_open_for(fre_codebook **out, const char *path, const char *embedder_path,
                                 const fre_model_info *embedder, fre_err *err)
{
    char beside[PATH_LEN];
    fre_codebook *c = NULL;
    fre_status st;

    path = fre_model_companion(beside, sizeof beside, path, embedder_path, "codebook");
    if (!path) {
        *out = NULL;
        return FRE_OK;
    }
    st = fre_codebook_open(&c, path, err);
    if (st == FRE_OK)
        st = fre_model_companion_fits("codebook", path, c->info.embedder, c->info.embedder_hash,
                                      c->info.dim, embedder, err);
    if (st == FRE_OK) {
        *out = c;
        c = NULL;
    }
    fre_codebook_free(c);
    return st;
}

fre_status fre_codebook_open_level(fre_codebook **out, fre_sketch **cells, const char *path,
                                   uint32_t level, fre_err *err)
{
    fre_codebook *c = NULL;
    fre_status st = fre_codebook_open(&c, path, err);

    if (st == FRE_OK && level >= c->info.n_levels)
        st = fre_fail(err, FRE_E_DATA, "%s: the codebook has no level of that number", path);
    else if (st == FRE_OK && fre_codebook_sketch_open(cells, c, level) != FRE_OK)
        st = fre_fail(err, FRE_E_NOMEM, "out of memory");
    if (st != FRE_OK) {
        fre_codebook_free(c);
        return st;
    }
    *out = c;
    return FRE_OK;
}
