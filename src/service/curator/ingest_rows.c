/* curator/ingest_rows.c - pass one over embeddings made before (`fre-e2t embed`): a row is a
 * record.  Rows are read from the mapped file once more in pass two, so there is no spool. */
#include "curator_private.h"

#include <fre/linalg.h>

#include <stdlib.h>
#include <string.h>

#define CHUNK_ROWS 16384u

/* A row's own fault, or its user's: it is left out by itself, whatever the others are. */
bool curator_row_is_usable(const curator_run *r, size_t row)
{
    size_t len;

    return fre_npy_row_is_usable(r->npy, row) &&
           (!r->names || fre_names_view(r->names, row, &len) != NULL);
}

/* The file is mapped, so what it holds can change under every pass: each row goes into a chain of
 * hashes, and what is summed must be what was counted and what was looked over. */
fre_status curator_rows(curator_run *r, float *out, size_t from, size_t n, fre_err *err)
{
    fre_status st = fre_npy_check(r->npy, err); /* a map beyond the end of a file kills */

    if (from == 0)
        memset(r->rows_now, 0, sizeof r->rows_now);
    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        if (curator_row_is_usable(r, from + i))
            st = fre_npy_row(r->npy, out + i * r->dim, from + i, err);
        else
            memset(out + i * r->dim, 0, r->dim * sizeof *out);
        if (st == FRE_OK)
            fre_hash128(r->rows_now, r->rows_now, out + i * r->dim, r->dim * sizeof *out);
    }
    if (st != FRE_OK)
        return st;
    fre_npy_release_before(r->npy, from + n);
    if (from + n < fre_npy_rows(r->npy))
        return FRE_OK;
    if (r->has_rows_before && memcmp(r->rows_before, r->rows_now, sizeof r->rows_now) != 0)
        return fre_fail(
            err, FRE_E_AGAIN,
            "%s was changed while it was read; run this again when nothing writes to it",
            r->opts->input);
    memcpy(r->rows_before, r->rows_now, sizeof r->rows_now);
    r->has_rows_before = true;
    return FRE_OK;
}

/* With users, copies of an embedding are one text, as copies of a text are: *text is the first of
 * them. */
static fre_status find_text(curator_run *r, uint32_t *text, uint8_t key[CURATOR_KEY_BYTES],
                            const float *x, uint32_t row)
{
    uint32_t index;
    bool added;
    fre_status st;

    *text = row;
    if (!r->names)
        return FRE_OK;
    fre_hash128(key, r->hash_key, x, r->dim * sizeof *x);
    st = fre_map_put(&r->texts, &index, &added, key);
    if (st == FRE_OK)
        st = fre_grow((void **)&r->first_row, &r->cap_first_row, r->texts.n, sizeof *r->first_row);
    if (st != FRE_OK)
        return st;
    if (added)
        r->first_row[index] = row;
    *text = r->first_row[index];
    return FRE_OK;
}

/* x: the row, clipped. */
static fre_status add_row(curator_run *r, const float *x, const fre_cell *cell,
                          const uint32_t *public_cell, uint32_t row, fre_err *err)
{
    const bool usable = curator_row_is_usable(r, row);
    const bool blank = fre_is_zero_row(x, r->dim);
    uint32_t text = row, user = CURATOR_NONE;
    curator_whose whose;
    size_t len = 0;
    const char *name = r->names ? fre_names_view(r->names, row, &len) : NULL;
    fre_status st = curator_set_cell(r, row, blank ? NULL : cell, blank ? NULL : public_cell);

    if (st == FRE_OK && !blank)
        st = find_text(r, &text, whose.text, x, row);
    if (st != FRE_OK)
        return fre_fail(err, st, "%s while keeping the table of cells", fre_status_text(st));
    if (!usable)
        return FRE_OK; /* a row of zeros, in no cell */
    st = curator_user(r, &user, name, len, err);
    fre_text_counts_add(&r->stats.text, blank ? FRE_TEXT_EMPTY : 0, 1);
    if (st != FRE_OK || blank)
        return st;
    if (name)
        fre_hash128(whose.user, r->hash_key, name, len);
    st = curator_contribute(r, text, user, name ? &whose : NULL);
    return st == FRE_OK ? st : fre_fail(err, st, "%s while counting", fre_status_text(st));
}

static fre_status rows_chunk(curator_run *r, float *x, fre_cell *cell, uint32_t *public_cell,
                             size_t from, size_t n, fre_err *err)
{
    fre_status st = curator_rows(r, x, from, n, err);

    for (size_t i = 0; st == FRE_OK && r->in_ledger && i < n; i++)
        if (curator_row_is_usable(r, from + i))
            fre_ledger_add_row(&r->content, x + i * r->dim, r->dim);
    if (st == FRE_OK)
        st = curator_cells(r, cell, x, n, err);
    if (st == FRE_OK)
        st = curator_public_cells(r, public_cell, x, n, err);
    for (size_t i = 0; st == FRE_OK && i < n; i++)
        st = add_row(r, x + i * r->dim, &cell[i], public_cell + i * r->plan.request.n_levels,
                     (uint32_t)(from + i), err);
    return st;
}

fre_status curator_ingest_rows(curator_run *r, fre_err *err)
{
    const size_t rows = fre_npy_rows(r->npy);
    float *x = NULL;
    fre_cell *cell = NULL;
    uint32_t *public_cell = NULL;
    fre_status st = FRE_OK;

    if (rows >= CURATOR_NONE)
        return fre_fail(err, FRE_E_LIMIT, "more than 2^32 - 2 rows in one file");
    x = calloc(CHUNK_ROWS * (size_t)r->dim, sizeof *x);
    cell = calloc(CHUNK_ROWS, sizeof *cell);
    public_cell = calloc(CHUNK_ROWS * r->plan.request.n_levels + 1, sizeof *public_cell);
    if (!x || !cell || !public_cell) {
        st = fre_fail(err, FRE_E_NOMEM, "out of memory");
        goto out;
    }
    for (size_t from = 0; st == FRE_OK && from < rows; from += CHUNK_ROWS) {
        st = fre_interrupted()
                 ? fre_fail(err, FRE_E_INTERRUPTED, "interrupted")
                 : rows_chunk(r, x, cell, public_cell, from, rows - from < CHUNK_ROWS ? rows - from : CHUNK_ROWS,
                              err);
        fre_progress_update(r->opts->progress, "placing", from, rows);
    }
    r->stats.contributed = r->contributed;
    r->stats.cells = r->cells.n;
out:
    fre_wipe_free(x, CHUNK_ROWS * (size_t)r->dim * sizeof *x);
    free(cell);
    fre_wipe_free(public_cell,
                  CHUNK_ROWS * r->plan.request.n_levels * sizeof *public_cell);
    return st;
}
