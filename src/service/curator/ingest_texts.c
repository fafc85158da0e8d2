/* curator/ingest_texts.c - pass one over texts: read a chunk of records, embed the texts that are new,
 * find their cells, then walk the chunk's records in input order and draw their coins. */
#include "curator_private.h"

#include <fre/linalg.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_RECORDS 2048u /* also what an interrupted --resume run may have to embed again */
#define CHUNK_BYTES (32u << 20)

/* One chunk.  Texts are copied once each, back to back; offsets survive the arena's growth. */
typedef struct chunk {
    uint32_t text[CHUNK_RECORDS]; /* a record's distinct text ... */
    uint32_t user[CHUNK_RECORDS]; /* ... and user ... */
    uint8_t user_id[CHUNK_RECORDS][FRE_COIN_ID_BYTES]; /* ... who has a name */
    size_t n;
    size_t offset[CHUNK_RECORDS], len[CHUNK_RECORDS]; /* texts first seen in this chunk */
    const char *ptr[CHUNK_RECORDS];
    size_t n_new;
    size_t first_new; /* distinct index of the first of them */
    char *arena;
    size_t arena_n, arena_cap;
    uint8_t mark[CHUNK_RECORDS]; /* of the new ones: fre_text_mark */
    float *x;                    /* CHUNK_RECORDS x dim */
    fre_cell *cell;              /* CHUNK_RECORDS */
    uint32_t *public_cell;       /* CHUNK_RECORDS x levels of public cells */
} chunk;

static void chunk_free(chunk *c, size_t dim, size_t n_levels)
{
    if (!c)
        return;
    fre_wipe_free(c->arena, c->arena_cap);
    fre_wipe_free(c->x, CHUNK_RECORDS * dim * sizeof *c->x);
    fre_wipe_free(c->cell, CHUNK_RECORDS * sizeof *c->cell);
    fre_wipe_free(c->public_cell, CHUNK_RECORDS * n_levels * sizeof *c->public_cell);
    free(c);
}

static chunk *chunk_new(size_t dim, size_t n_levels)
{
    chunk *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->x = calloc(CHUNK_RECORDS * dim, sizeof *c->x);
    c->cell = calloc(CHUNK_RECORDS, sizeof *c->cell);
    c->public_cell = calloc(CHUNK_RECORDS * n_levels + 1, sizeof *c->public_cell);
    if (!c->x || !c->cell || !c->public_cell) {
        chunk_free(c, dim, n_levels);
        return NULL;
    }
    return c;
}

static fre_status chunk_keep_text(chunk *c, const fre_record *rec)
{
    fre_status st = fre_grow((void **)&c->arena, &c->arena_cap, c->arena_n + rec->text_len + 1, 1);

    if (st != FRE_OK)
        return st;
    memcpy(c->arena + c->arena_n, rec->text, rec->text_len + 1);
    c->offset[c->n_new] = c->arena_n;
    c->len[c->n_new] = rec->text_len;
    c->arena_n += rec->text_len + 1;
    c->n_new++;
    return FRE_OK;
}

bool curator_is_strict(const fre_curator_opts *o)
{
    return o->corpus.invalid == FRE_CORPUS_INVALID_FAIL;
}

bool curator_has_users(const fre_curator_opts *o)
{
    return o->corpus.user_field || o->user_file || (o->parts && o->parts->users_named);
}

fre_status curator_user(curator_run *r, uint32_t *user, const char *name, size_t len, fre_err *err)
{
    bool is_new;
    fre_status st = fre_contributors_user(r->users, user, &is_new, name, len, err);

    if (st == FRE_OK && name && is_new && r->in_ledger)
        fre_ledger_add_user(&r->content, name, len);
    return st;
}

static fre_status chunk_add(curator_run *r, chunk *c, const fre_record *rec, fre_err *err)
{
    uint8_t key[CURATOR_KEY_BYTES];
    bool added;
    fre_status st;

    fre_hash128(key, r->hash_key, rec->text, rec->text_len);
    if (r->in_ledger)
        fre_ledger_add_text(&r->content, rec->text, rec->text_len);
    st = fre_map_put(&r->texts, &c->text[c->n], &added, key);
    if (st == FRE_OK && added)
        st = chunk_keep_text(c, rec);
    if (st != FRE_OK)
        return fre_fail(err, st, "line %" PRIu64 ": %s while keeping the table of distinct texts",
                        rec->line, fre_status_text(st));
    if (rec->user)
        fre_hash128(c->user_id[c->n], r->hash_key, rec->user, rec->user_len);
    st = curator_user(r, &c->user[c->n], rec->user, rec->user_len, err);
    if (st == FRE_OK)
        c->n++;
    return st;
}

static fre_status chunk_read(curator_run *r, chunk *c, fre_corpus *corpus, bool *more, fre_err *err)
{
    fre_record rec;
    fre_status st = FRE_OK;

    c->n = c->n_new = c->arena_n = 0;
    c->first_new = r->texts.n;
    *more = true;
    while (c->n < CHUNK_RECORDS && c->arena_n < CHUNK_BYTES) {
        st = fre_corpus_next(corpus, more, &rec, err);
        if (st != FRE_OK || !*more)
            return st;
        if (!r->surveyed) {
            st = fre_survey_add_text(r->survey, NULL, rec.text, rec.text_len, rec.user,
                                     rec.user_len, err);
            if (st != FRE_OK)
                return st;
        }
        st = chunk_add(r, c, &rec, err);
        if (st != FRE_OK)
            return st;
    }
    return st;
}

/* The marks of embeddings, for what was made of them (fre/overlap.h) and for the ledger. */
static fre_status mark_rows(curator_run *r, const chunk *c, fre_err *err)
{
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < c->n_new; i++) {
        if (!(c->mark[i] & FRE_TEXT_BLANK))
            st = fre_survey_mark_row(r->survey, c->x + i * r->dim, r->dim);
        if (r->in_ledger)
            fre_ledger_add_row(&r->content, c->x + i * r->dim, r->dim);
    }
    return st == FRE_OK ? st : fre_fail(err, st, "out of memory while reading texts");
}

/* ---- embeddings: from the spool of an interrupted run, else from the model ------------------ */

static fre_status chunk_restore(curator_run *r, chunk *c, size_t *restored, fre_err *err)
{
    const size_t have = (size_t)fre_spool_count(r->spool) - 1; /* record 0 is the header */
    size_t i = 0;

    for (; i < c->n_new && c->first_new + i < have; i++) {
        fre_status st = fre_spool_next(r->spool, r->spool_record, err);

        if (st != FRE_OK)
            return st;
        if (memcmp(r->spool_record, fre_map_key(&r->texts, (uint32_t)(c->first_new + i)),
                   CURATOR_KEY_BYTES) != 0)
            return fre_fail(err, FRE_E_DATA,
                            "the interrupted run's spool was made from another input; run without "
                            "{resume}, or remove %s.resume.*",
                            r->opts->output);
        memcpy(c->x + i * r->dim, r->spool_record + CURATOR_KEY_BYTES, r->dim * sizeof *c->x);
        c->mark[i] = r->spool_record[CURATOR_KEY_BYTES + r->dim * sizeof *c->x];
    }
    *restored = i;
    return FRE_OK;
}

static fre_status chunk_embed(curator_run *r, chunk *c, fre_err *err)
{
    size_t from = 0;
    fre_status st = chunk_restore(r, c, &from, err);

    for (size_t i = 0; i < c->n_new; i++)
        c->ptr[i] = c->arena + c->offset[i];
    if (st != FRE_OK || from == c->n_new)
        return st;
    st = fre_embed_texts_marked(r->embedder, c->x + from * r->dim, c->mark + from, c->ptr + from,
                                c->len + from, c->n_new - from, err);
    for (size_t i = from; st == FRE_OK && i < c->n_new; i++) {
        memset(r->spool_record, 0, r->spool_bytes);
        memcpy(r->spool_record, fre_map_key(&r->texts, (uint32_t)(c->first_new + i)),
               CURATOR_KEY_BYTES);
        memcpy(r->spool_record + CURATOR_KEY_BYTES, c->x + i * r->dim, r->dim * sizeof *c->x);
        r->spool_record[CURATOR_KEY_BYTES + r->dim * sizeof *c->x] = c->mark[i];
        st = fre_spool_append(r->spool, r->spool_record, err);
    }
    if (st == FRE_OK && r->opts->resume)
        st = fre_spool_flush(r->spool, err);
    return st;
}

/* ---- cells and contributions ----------------------------------------------------------------- */

typedef struct cell_job {
    const fre_sketch *sketch; /* NULL: no grid, one cell */
    float *x;
    fre_cell *cell;
    size_t dim, n;
    double norm_bound, norm_most;
} cell_job;

#define CELL_JOB_ROWS 512u

static fre_status cell_rows(void *ctx, uint64_t i)
{
    const cell_job *j = ctx;
    const size_t end = (i + 1) * CELL_JOB_ROWS < j->n ? (size_t)(i + 1) * CELL_JOB_ROWS : j->n;

    if (fre_interrupted())
        return FRE_E_INTERRUPTED;
    for (size_t k = (size_t)i * CELL_JOB_ROWS; k < end; k++) {
        float *x = j->x + k * j->dim;
        fre_status st = fre_norm(x, j->dim) <= j->norm_most ? FRE_OK : FRE_E_DATA;

        if (st == FRE_OK && !fre_aggregate_clip(x, j->dim, j->norm_bound))
            st = FRE_E_ARG;
        if (st == FRE_OK && j->sketch)
            st = fre_sketch_cell(j->sketch, &j->cell[k], x, j->dim);
        if (st != FRE_OK)
            return st;
    }
    return FRE_OK;
}

fre_status curator_cells(const curator_run *r, fre_cell *cell, float *x, size_t n, fre_err *err)
{
    const double bound = r->plan.mechanism.norm_bound;
    /* A hair above B is rounding. */
    cell_job j = {.sketch = r->sketch,
                  .x = x,
                  .cell = cell,
                  .dim = r->dim,
                  .n = n,
                  .norm_bound = bound,
                  .norm_most = curator_is_strict(r->opts) ? bound * (1 + 1e-3) : HUGE_VAL};
    fre_status st =
        fre_parallel(r->opts->threads, (n + CELL_JOB_ROWS - 1) / CELL_JOB_ROWS, cell_rows, &j);

    if (st == FRE_E_DATA)
        return fre_fail(err, st,
                        "an embedding's norm is above %g: normalise the embeddings, state their "
                        "{norm_bound}, or leave out {strict} to have longer ones cut to it",
                        bound);
    if (st == FRE_E_LIMIT)
        return fre_fail(err, FRE_E_DATA,
                        "an embedding lies outside the grid: its norm and the cell edge differ too "
                        "much ({radius}, {cell_edge})");
    if (st != FRE_OK)
        return fre_fail(err, st, "an embedding could not be placed in the grid: %s",
                        fre_status_text(st));
    return FRE_OK;
}

/* Room for text i in the tables of levels. */
static fre_status grow_levels(curator_run *r, size_t i)
{
    const size_t n = r->plan.request.n_levels;
    fre_status st = fre_grow((void **)&r->text_counted, &r->cap_text_counted, (i + 1) * (n + 1),
                             sizeof *r->text_counted);

    return st == FRE_OK && n > 0
               ? fre_grow((void **)&r->text_public, &r->cap_text_public, (i + 1) * n,
                          sizeof *r->text_public)
               : st;
}

fre_status curator_set_cell(curator_run *r, size_t i, const fre_cell *cell,
                            const uint32_t *public_cell)
{
    const size_t n_levels = r->plan.request.n_levels;
    uint32_t index = CURATOR_NONE;
    bool added;
    fre_status st = cell ? fre_map_put(&r->cells, &index, &added, cell->bytes) : FRE_OK;

    if (st != FRE_OK)
        return st;
    st = fre_grow((void **)&r->text_mark, &r->cap_text_mark, i + 1, sizeof *r->text_mark);
    if (st != FRE_OK)
        return st;
    st = fre_grow((void **)&r->text_cell, &r->cap_text_cell, i + 1, sizeof *r->text_cell);
    if (st != FRE_OK)
        return st;
    st = fre_grow((void **)&r->text_weight, &r->cap_text_weight, i + 1, sizeof *r->text_weight);
    if (st != FRE_OK)
        return st;
    st = grow_levels(r, i);
    if (st != FRE_OK)
        return st;
    for (size_t k = 0; public_cell && k < n_levels; k++)
        r->text_public[i * n_levels + k] = public_cell[k];
    r->text_cell[i] = index;
    r->n_texts = i + 1;
    return FRE_OK;
}

/* What a record that stands at a level adds to it. */
static fre_status weigh(const curator_run *r, uint64_t *weight, uint32_t level,
                        const curator_whose *whose)
{
    const fre_plan_level l = curator_plan_level(r, level);
    fre_rng coins;
    fre_status st;

    *weight = 1;
    if (!whose)
        return FRE_OK;
    st = fre_aggregate_coins(&coins, &r->coins, level, whose->user, whose->text);
    if (st != FRE_OK)
        return st;
    *weight = fre_aggregate_level_weight(1, &l, &coins);
    fre_rng_wipe(&coins);
    return FRE_OK;
}

fre_status curator_contribute(curator_run *r, uint32_t text, uint32_t user,
                              const curator_whose *whose)
{
    const uint32_t n_levels = (uint32_t)r->plan.request.n_levels;
    bool anywhere = false;

    if (!fre_contributors_accept(r->users, user, text))
        return FRE_OK;
    for (uint32_t l = r->plan.request.no_grid ? 1 : 0; l <= n_levels; l++) {
        const uint32_t *of = l == 0 ? r->text_cell : r->text_public + (l - 1);
        uint64_t weight;
        fre_status st;

        if (!fre_contributors_stand(r->users, user, text, of, l == 0 ? 1 : n_levels))
            continue;
        st = weigh(r, &weight, l, whose);
        if (st != FRE_OK)
            return st;
        r->text_counted[text * (n_levels + 1) + l] += weight;
        anywhere = true;
    }
    r->contributed += anywhere;
    return FRE_OK;
}

static fre_status contribute(curator_run *r, const chunk *c, size_t i, fre_err *err)
{
    curator_whose whose;
    fre_status st;

    memcpy(whose.user, c->user_id[i], sizeof whose.user);
    memcpy(whose.text, fre_map_key(&r->texts, c->text[i]), sizeof whose.text);
    st = curator_contribute(r, c->text[i], c->user[i], curator_has_users(r->opts) ? &whose : NULL);
    return st == FRE_OK ? st : fre_fail(err, st, "%s while counting", fre_status_text(st));
}

/* A blank text is left out like an empty line: by itself, whatever the others are, so that a
 * neighbouring collection still differs in what one person contributes. */
static fre_status chunk_count(curator_run *r, chunk *c, fre_err *err)
{
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < c->n_new; i++) {
        const bool blank = (c->mark[i] & FRE_TEXT_BLANK) != 0;

        st = curator_set_cell(r, c->first_new + i, blank ? NULL : &c->cell[i],
                              blank ? NULL
                                    : c->public_cell + i * r->plan.request.n_levels);
        if (st == FRE_OK)
            r->text_mark[c->first_new + i] = c->mark[i];
        if (st != FRE_OK)
            (void)fre_fail(err, st, "%s while keeping the table of cells", fre_status_text(st));
    }
    for (size_t i = 0; st == FRE_OK && i < c->n; i++) {
        fre_text_counts_add(&r->stats.text, r->text_mark[c->text[i]], 1);
        if (r->text_cell[c->text[i]] != CURATOR_NONE)
            st = contribute(r, c, i, err);
    }
    return st;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static void report_ingested(curator_run *r)
{
    fre_corpus_stats cs;

    fre_corpus_get_stats(r->corpus, &cs);
    r->stats.records = cs.records;
    r->stats.empty = cs.empty;
    r->stats.invalid = cs.invalid;
    r->stats.contributed = r->contributed;
    r->stats.cells = r->cells.n;
    fre_progress_update(r->opts->progress, "embedding", cs.records, fre_corpus_expected(&cs));
}

static fre_status chunk_ingest(curator_run *r, chunk *c, fre_err *err)
{
    fre_status st = chunk_embed(r, c, err);

    if (st != FRE_OK)
        return st;
    st = mark_rows(r, c, err);
    if (st != FRE_OK)
        return st;
    st = curator_cells(r, c->cell, c->x, c->n_new, err);
    if (st == FRE_OK)
        st = curator_public_cells(r, c->public_cell, c->x, c->n_new, err);
    return st == FRE_OK ? chunk_count(r, c, err) : st;
}

fre_status curator_ingest_texts(curator_run *r, fre_err *err)
{
    chunk *c = chunk_new(r->dim, r->plan.request.n_levels);
    bool more = true;
    fre_status st = FRE_OK;

    if (!c)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    fre_progress_update(r->opts->progress, "embedding", 0, 0); /* the first chunk takes time too */
    while (more) {
        st = fre_interrupted() ? fre_fail(err, FRE_E_INTERRUPTED, "interrupted")
                               : chunk_read(r, c, r->corpus, &more, err);
        if (st == FRE_OK)
            st = chunk_ingest(r, c, err);
        if (st != FRE_OK)
            goto out;
        report_ingested(r);
    }
    if ((uint64_t)r->n_texts + 1 < fre_spool_count(r->spool))
        st = fre_fail(err, FRE_E_DATA,
                      "the interrupted run's spool holds more texts than the input; run without "
                      "{resume}, or remove %s.resume.*",
                      r->opts->output);
out:
    chunk_free(c, r->dim, r->plan.request.n_levels);
    return st;
}
