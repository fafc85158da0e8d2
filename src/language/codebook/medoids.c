/* Public sentences near the centres. */
#include "codebook_private.h"

#include <stdlib.h>
#include <string.h>

#define BYTES_MAX 160u          /* of a sentence */
#define CELLS_OF_OWN (1u << 16) /* with more, the sentences of other levels serve */
#define NONE UINT32_MAX

typedef struct chooser {
    fre_codebook *c;
    fre_rows rows;
    const char *const *text;
    uint32_t *cell; /* rows.n x n_levels */
    bool *fit;      /* may be told */
    bool *used;     /* is told at some level */
    float *centre;
} chooser;

static double distance(const chooser *h, uint32_t level, uint32_t cell, size_t row)
{
    fre_codebook_centre(h->c, level, cell, h->centre);
    return fre_dist2(h->centre, h->rows.x + row * h->c->info.dim, h->c->info.dim);
}

/* Of the rows in each cell the nearest; ties to the first. */
static fre_status choose(const chooser *h, uint32_t level, uint32_t *choice)
{
    const uint32_t levels = h->c->info.n_levels, cells = h->c->level[level].view.cells;
    const bool own = cells <= CELLS_OF_OWN;
    double *best = malloc(cells * sizeof *best);

    if (!best)
        return FRE_E_NOMEM;
    for (uint32_t i = 0; i < cells; i++)
        choice[i] = NONE;
    for (size_t i = 0; i < h->rows.n; i++) {
        const uint32_t cell = h->cell[i * levels + level];
        double d2;

        if (!h->fit[i] || (!own && !h->used[i]))
            continue;
        d2 = distance(h, level, cell, i);
        if (choice[cell] == NONE || d2 < best[cell]) {
            choice[cell] = (uint32_t)i;
            best[cell] = d2;
        }
    }
    for (uint32_t i = 0; i < cells; i++)
        if (choice[i] != NONE)
            h->used[choice[i]] = true;
    free(best);
    return FRE_OK;
}

/* Rows in use by their centre: those of centre j are member[start[j]] to member[start[j + 1] - 1]. */
typedef struct shelves {
    uint32_t *start, *member;
} shelves;

static fre_status shelve(shelves *s, const chooser *h, uint32_t level)
{
    const fre_codebook_level *v = &h->c->level[level].view;
    const uint32_t levels = h->c->info.n_levels;

    s->start = calloc(v->centres + 2, sizeof *s->start);
    s->member = calloc(h->rows.n + 1, sizeof *s->member);
    if (!s->start || !s->member)
        return FRE_E_NOMEM;
    /* start[j + 2] counts, then start[j + 1] runs from the first to the end of centre j. */
    for (size_t i = 0; i < h->rows.n; i++)
        s->start[h->cell[i * levels + level] / v->codes + 2] += h->used[i];
    for (uint32_t j = 1; j <= v->centres; j++)
        s->start[j + 1] += s->start[j];
    for (size_t i = 0; i < h->rows.n; i++)
        if (h->used[i])
            s->member[s->start[h->cell[i * levels + level] / v->codes + 1]++] = (uint32_t)i;
    return FRE_OK;
}

static uint32_t nearest_of(const chooser *h, const shelves *s, uint32_t level, uint32_t cell)
{
    const uint32_t j = cell / h->c->level[level].view.codes;
    uint32_t found = NONE;
    double best = 0;

    for (uint32_t i = s->start[j]; i < s->start[j + 1]; i++) {
        const double d2 = distance(h, level, cell, s->member[i]);

        if (found == NONE || d2 < best) {
            best = d2;
            found = s->member[i];
        }
    }
    return found;
}

/* Cells of a level with codes that have none: the nearest sentence in use of those of its centre. */
static fre_status borrow(const chooser *h, uint32_t level, uint32_t *choice)
{
    const fre_codebook_level *v = &h->c->level[level].view;
    shelves s = {NULL, NULL};
    fre_status st = shelve(&s, h, level);

    for (uint32_t cell = 0; cell < v->cells && st == FRE_OK; cell++)
        if (choice[cell] == NONE)
            choice[cell] = nearest_of(h, &s, level, cell);
    free(s.start);
    free(s.member);
    return st;
}

/* The sentences in use, one after another; at: where each row's begins. */
static fre_status write_text(const chooser *h, uint32_t *at)
{
    size_t bytes = 0;
    char *text;

    for (size_t i = 0; i < h->rows.n; i++)
        bytes += h->used[i] ? strlen(h->text[i]) + 1 : 0;
    if (bytes >= INT32_MAX)
        return FRE_E_LIMIT;
    text = malloc(bytes + 1);
    if (!text)
        return FRE_E_NOMEM;
    bytes = 0;
    for (size_t i = 0; i < h->rows.n; i++)
        if (h->used[i]) {
            const size_t n = strlen(h->text[i]) + 1;

            memcpy(text + bytes, h->text[i], n);
            at[i] = (uint32_t)bytes;
            bytes += n;
        }
    free(h->c->text);
    h->c->text = text;
    h->c->text_bytes = bytes;
    return FRE_OK;
}

/* choice: rows, of each level; becomes the levels' medoids. */
static fre_status hand_over(const chooser *h, uint32_t **choice)
{
    uint32_t *at = calloc(h->rows.n + 1, sizeof *at);
    fre_status st = at ? write_text(h, at) : FRE_E_NOMEM;

    for (uint32_t l = 0; l < h->c->info.n_levels && st == FRE_OK; l++) {
        codebook_level *level = &h->c->level[l];

        for (uint32_t i = 0; i < level->view.cells; i++)
            choice[l][i] = choice[l][i] == NONE ? FRE_CODEBOOK_NO_MEDOID : at[choice[l][i]];
        free(level->medoid);
        level->medoid = choice[l];
        choice[l] = NULL;
    }
    free(at);
    return st;
}

static bool may_be_told(const char *text)
{
    const size_t n = strnlen(text, BYTES_MAX + 1);

    return n > 0 && n <= BYTES_MAX && codebook_is_plain(text, n);
}

/* From coarse to fine, so that the finest finds what the others use. */
static fre_status choose_all(chooser *h, uint32_t threads)
{
    const uint32_t levels = h->c->info.n_levels;
    uint32_t *choice[FRE_CODEBOOK_LEVELS_MAX] = {NULL};
    fre_status st = fre_codebook_cells(h->c, h->cell, h->rows.x, h->rows.n, threads);

    for (size_t i = 0; i < h->rows.n; i++)
        h->fit[i] = may_be_told(h->text[i]);
    for (uint32_t l = levels; l-- > 0 && st == FRE_OK;) {
        choice[l] = calloc(h->c->level[l].view.cells, sizeof **choice);
        st = choice[l] ? choose(h, l, choice[l]) : FRE_E_NOMEM;
    }
    for (uint32_t l = 0; l < levels && st == FRE_OK; l++)
        if (h->c->level[l].view.codes > 1)
            st = borrow(h, l, choice[l]);
    if (st == FRE_OK)
        st = hand_over(h, choice);
    for (uint32_t l = 0; l < levels; l++)
        free(choice[l]);
    return st;
}

fre_status fre_codebook_set_medoids(fre_codebook *c, fre_rows rows, const char *const *text,
                                    uint32_t threads, fre_err *err)
{
    chooser h = {.c = c, .rows = rows, .text = text};
    fre_status st = FRE_E_NOMEM;

    if (rows.n >= NONE || threads == 0)
        return fre_fail(err, FRE_E_ARG, "there are too many sentences");
    h.cell = calloc(rows.n + 1, c->info.n_levels * sizeof *h.cell);
    h.fit = calloc(rows.n + 1, sizeof *h.fit);
    h.used = calloc(rows.n + 1, sizeof *h.used);
    h.centre = calloc(c->info.dim, sizeof *h.centre);
    if (h.cell && h.fit && h.used && h.centre)
        st = choose_all(&h, threads);
    free(h.cell);
    free(h.fit);
    free(h.used);
    free(h.centre);
    return st == FRE_OK ? st : fre_fail(err, st, "no sentences can be given to the cells");
}
