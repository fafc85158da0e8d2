/* A codebook in memory: made of numbers, and the cells of embeddings. */
#include "codebook_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SLICE 8192u /* rows whose offsets are in memory at once */

/* ---- making one ---------------------------------------------------------------------------------- */

/* NULL: out of memory. */
static void *copy_of(const void *from, size_t bytes)
{
    void *to = malloc(bytes);

    if (to)
        memcpy(to, from, bytes);
    return to;
}

double codebook_whole(double x)
{
    return round(x / CODEBOOK_UNIT) / round(1 / CODEBOOK_UNIT);
}

static fre_status add_base(codebook_base *to, const fre_codebook_base *b,
                           const fre_codebook_parts *p)
{
    const size_t d = p->dim;

    to->centres = b->centres;
    to->n_groups = b->n_groups;
    to->centre = copy_of(b->centre, (size_t)b->centres * d * sizeof *b->centre);
    to->group = copy_of(b->group, b->n_groups * sizeof *b->group);
    if (!to->centre || !to->group)
        return FRE_E_NOMEM;
    return fre_grouped_new(&to->search, (fre_rows){to->centre, to->centres}, d, to->group,
                           to->n_groups, p->probes < to->n_groups ? p->probes : to->n_groups);
}

static fre_status add_level(codebook_level *to, const fre_codebook_spec *s,
                            const fre_codebook_parts *p)
{
    const size_t d = p->dim;
    fre_codebook_level *v = &to->view;

    *v = (fre_codebook_level){.base = s->base,
                              .centres = p->base[s->base].centres,
                              .codes = s->codes,
                              .radius = codebook_whole(s->radius),
                              .gain = codebook_whole(s->gain),
                              .spread = codebook_whole(s->spread),
                              .empty = s->empty};
    for (size_t q = 0; q < FRE_CODEBOOK_QUANTILES; q++)
        v->quantile[q] = codebook_whole(s->quantile[q]);
    v->cells = v->centres * v->codes;
    if (s->codes > 1)
        (void)snprintf(v->name, sizeof v->name, "%ux%u", v->centres, v->codes);
    else
        (void)snprintf(v->name, sizeof v->name, "%u", v->centres);
    if (s->medoid) {
        to->medoid = copy_of(s->medoid, v->cells * sizeof *s->medoid);
        if (!to->medoid)
            return FRE_E_NOMEM;
    }
    if (s->codes == 1)
        return FRE_OK;
    to->code = copy_of(s->code, s->codes * d * sizeof *s->code);
    if (!to->code)
        return FRE_E_NOMEM;
    return fre_grouped_new(&to->search, (fre_rows){to->code, s->codes}, d, &v->codes, 1, 1);
}

static fre_status fill(fre_codebook *c, const fre_codebook_parts *p)
{
    fre_status st = FRE_OK;

    c->base = calloc(p->n_bases, sizeof *c->base);
    c->level = calloc(p->n_levels, sizeof *c->level);
    c->text = p->text_bytes > 0 ? copy_of(p->text, p->text_bytes) : NULL;
    if (!c->base || !c->level || (p->text_bytes > 0 && !c->text))
        return FRE_E_NOMEM;
    c->text_bytes = p->text_bytes;
    c->info.n_bases = (uint32_t)p->n_bases;
    c->info.n_levels = (uint32_t)p->n_levels;
    for (size_t i = 0; i < p->n_bases && st == FRE_OK; i++)
        st = add_base(&c->base[i], &p->base[i], p);
    for (size_t i = 0; i < p->n_levels && st == FRE_OK; i++)
        st = add_level(&c->level[i], &p->level[i], p);
    return st == FRE_OK && p->direction ? codebook_set_within(c, p->direction, p->variance) : st;
}

fre_status fre_codebook_new(fre_codebook **out, const fre_codebook_parts *parts, fre_err *err)
{
    fre_codebook *c = NULL;
    fre_status st = codebook_check(parts, err);

    if (st != FRE_OK)
        return st;
    c = calloc(1, sizeof *c);
    st = FRE_E_NOMEM;
    if (c) {
        c->info.dim = parts->dim;
        c->info.probes = parts->probes;
        st = fill(c, parts);
    }
    if (st != FRE_OK) {
        fre_codebook_free(c);
        return fre_fail(err, st, "out of memory for a codebook");
    }
    *out = c;
    return FRE_OK;
}

void fre_codebook_free(fre_codebook *c)
{
    if (!c)
        return;
    for (uint32_t i = 0; c->base && i < c->info.n_bases; i++) {
        fre_grouped_free(c->base[i].search);
        free(c->base[i].centre);
        free(c->base[i].group);
    }
    for (uint32_t i = 0; c->level && i < c->info.n_levels; i++) {
        fre_grouped_free(c->level[i].search);
        free(c->level[i].code);
        free(c->level[i].medoid);
        fre_prior_free(c->level[i].within);
    }
    fre_prior_card_wipe(&c->info.card);
    free(c->base);
    free(c->level);
    free(c->within);
    free(c->text);
    free(c);
}

fre_status fre_codebook_set_card(fre_codebook *c, const fre_prior_card *card)
{
    return fre_prior_card_copy(&c->info.card, card);
}

/* ---- what it holds -------------------------------------------------------------------------------- */

const fre_codebook_info *fre_codebook_info_view(const fre_codebook *c)
{
    return &c->info;
}

const fre_codebook_level *fre_codebook_level_view(const fre_codebook *c, uint32_t level)
{
    return &c->level[level].view;
}

uint32_t fre_codebook_find(const fre_codebook *c, const char *name)
{
    uint32_t at = 0;

    while (at < c->info.n_levels && strcmp(c->level[at].view.name, name) != 0)
        at++;
    return at;
}

fre_sketch_spec fre_codebook_sketch(const fre_codebook *c, uint32_t level)
{
    const fre_codebook_level *l = fre_codebook_level_view(c, level);
    fre_sketch_spec out = {
        .kind = FRE_SKETCH_CODEBOOK,
        .codebook = {.level = level, .cells = l->cells, .radius = l->radius, .gain = l->gain},
    };

    memcpy(out.codebook.sha256, fre_codebook_info_view(c)->sha256, sizeof out.codebook.sha256);
    return out;
}

void fre_codebook_centre(const fre_codebook *c, uint32_t level, uint32_t cell, float *out)
{
    const codebook_level *l = &c->level[level];
    const size_t d = c->info.dim;
    const float *centre = c->base[l->view.base].centre + cell / l->view.codes * d;
    const float *code = l->code ? l->code + cell % l->view.codes * d : NULL;

    for (size_t i = 0; i < d; i++)
        out[i] = code ? centre[i] + code[i] : centre[i];
}

const char *fre_codebook_medoid(const fre_codebook *c, uint32_t level, uint32_t cell)
{
    const uint32_t *medoid = c->level[level].medoid;

    return medoid && medoid[cell] != FRE_CODEBOOK_NO_MEDOID ? c->text + medoid[cell] : NULL;
}

const fre_prior *fre_codebook_within(const fre_codebook *c, uint32_t level)
{
    return c->level[level].within;
}

/* ---- cells ----------------------------------------------------------------------------------------- */

typedef struct room {
    uint32_t *centre; /* of each row, at the base at hand */
    uint32_t *code;
    float *offset; /* rows from their centres */
} room;

static void take_offsets(float *offset, const codebook_base *b, const uint32_t *centre,
                         const float *x, size_t n, size_t d)
{
    for (size_t i = 0; i < n; i++) {
        const float *from = b->centre + centre[i] * d;

        for (size_t k = 0; k < d; k++)
            offset[i * d + k] = x[i * d + k] - from[k];
    }
}

/* The cells of a slice at all levels of one base. */
static fre_status cells_of_base(const fre_codebook *c, uint32_t base, uint32_t *cell, const room *r,
                                fre_rows x, uint32_t threads)
{
    const codebook_base *b = &c->base[base];
    const uint32_t levels = c->info.n_levels;
    bool have_offsets = false;
    fre_status st = fre_grouped_nearest(b->search, r->centre, NULL, x, threads);

    for (uint32_t l = 0; l < levels && st == FRE_OK; l++) {
        const codebook_level *level = &c->level[l];

        if (level->view.base != base)
            continue;
        if (level->search) {
            if (!have_offsets)
                take_offsets(r->offset, b, r->centre, x.x, x.n, c->info.dim);
            have_offsets = true;
            st = fre_grouped_nearest(level->search, r->code, NULL, (fre_rows){r->offset, x.n},
                                     threads);
        }
        for (size_t i = 0; i < x.n && st == FRE_OK; i++)
            cell[i * levels + l] =
                r->centre[i] * level->view.codes + (level->search ? r->code[i] : 0);
    }
    return st;
}

/* One row at one level. */
static fre_status nearest(const void *ctx, uint32_t level, uint32_t *cell, const float *x)
{
    const fre_codebook *c = ctx;
    const codebook_level *l = &c->level[level];
    const codebook_base *b = &c->base[l->view.base];
    const size_t d = c->info.dim;
    float *offset = l->search ? malloc(d * sizeof *offset) : NULL;
    uint32_t centre, code = 0;
    fre_status st = l->search && !offset
                        ? FRE_E_NOMEM
                        : fre_grouped_nearest(b->search, &centre, NULL, (fre_rows){x, 1}, 1);

    if (st == FRE_OK && offset) {
        take_offsets(offset, b, &centre, x, 1, d);
        st = fre_grouped_nearest(l->search, &code, NULL, (fre_rows){offset, 1}, 1);
    }
    if (offset)
        fre_wipe_free(offset, d * sizeof *offset);
    if (st == FRE_OK)
        *cell = centre * l->view.codes + code;
    return st;
}

static void centre_of(const void *ctx, uint32_t level, uint32_t cell, float *out)
{
    fre_codebook_centre(ctx, level, cell, out);
}

fre_status fre_codebook_sketch_open(fre_sketch **out, const fre_codebook *c, uint32_t level)
{
    const fre_sketch_spec spec = fre_codebook_sketch(c, level);
    const fre_sketch_centres of = {.ctx = c, .nearest = nearest, .centre = centre_of};

    return fre_sketch_new_public(out, &spec, c->info.dim, &of);
}

fre_status fre_codebook_cells_at(const fre_codebook *c, uint32_t *cell, const uint32_t *level,
                                 size_t n_levels, fre_rows rows, uint32_t threads)
{
    const size_t n_all = c->info.n_levels;
    uint32_t *all = NULL;
    fre_status st = FRE_OK;

    if (n_levels == 0 || rows.n == 0)
        return FRE_OK;
    all = malloc(rows.n * n_all * sizeof *all);
    st = all ? fre_codebook_cells(c, all, rows.x, rows.n, threads) : FRE_E_NOMEM;
    for (size_t i = 0; st == FRE_OK && i < rows.n; i++)
        for (size_t k = 0; k < n_levels; k++)
            cell[i * n_levels + k] = all[i * n_all + level[k]];
    if (all)
        fre_wipe_free(all, rows.n * n_all * sizeof *all);
    return st;
}

fre_status fre_codebook_cells(const fre_codebook *c, uint32_t *cell, const float *x, size_t n,
                              uint32_t threads)
{
    const size_t d = c->info.dim, most = n < SLICE ? n : SLICE;
    room r = {NULL, NULL, NULL};
    fre_status st = FRE_OK;

    if (threads == 0)
        return FRE_E_ARG;
    for (size_t i = 0; i < n; i++)
        if (!fre_is_finite_row(x + i * d, d))
            return FRE_E_DATA;
    if (n == 0)
        return FRE_OK;
    r.centre = malloc(most * sizeof *r.centre);
    r.code = malloc(most * sizeof *r.code);
    r.offset = malloc(most * d * sizeof *r.offset);
    if (!r.centre || !r.code || !r.offset)
        st = FRE_E_NOMEM;
    for (size_t at = 0; at < n && st == FRE_OK; at += most) {
        const fre_rows slice = {x + at * d, n - at < most ? n - at : most};

        for (uint32_t b = 0; b < c->info.n_bases && st == FRE_OK; b++)
            st = cells_of_base(c, b, cell + at * c->info.n_levels, &r, slice, threads);
    }
    free(r.centre);
    free(r.code);
    free(r.offset);
    return st;
}
