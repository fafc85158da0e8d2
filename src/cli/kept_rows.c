/* kept_rows.c - a spool of embeddings, each after a hash of what it was made of. */
#include "kept_rows.h"

#include <stdlib.h>
#include <string.h>

struct cli_kept {
    fre_embedder *embedder;
    const char *output;
    fre_spool *spool;
    uint8_t *record; /* a hash, a row */
    size_t row_bytes;
    uint64_t at; /* texts so far */
};

fre_status cli_kept_open(cli_kept **out, fre_embedder *e, const char *output, fre_err *err)
{
    cli_kept *k = calloc(1, sizeof *k);
    char *path = NULL;
    fre_status st = FRE_E_NOMEM;

    if (k) {
        k->embedder = e;
        k->output = output;
        k->row_bytes = fre_embedder_info(e)->dim * sizeof(float);
        k->record = malloc(FRE_HASH_BYTES + k->row_bytes);
    }
    if (!k || !k->record || asprintf(&path, "%s.resume", output) < 0)
        st = fre_fail(err, FRE_E_NOMEM, "out of memory");
    else
        st = fre_spool_open(
            &k->spool,
            &(fre_spool_opts){.resume_path = path, .record_bytes = FRE_HASH_BYTES + k->row_bytes},
            err);
    free(path);
    if (st == FRE_OK)
        st = fre_spool_rewind(k->spool, err);
    if (st == FRE_OK)
        *out = k;
    else
        cli_kept_free(k, false);
    return st;
}

static void hash(const cli_kept *k, uint8_t out[FRE_HASH_BYTES], const char *text, size_t len)
{
    fre_sha256 h;

    fre_sha256_begin(&h, (fre_bytes){fre_embedder_info(k->embedder)->sha256, FRE_HASH_BYTES});
    fre_sha256_add(&h, text, len);
    fre_sha256_end(out, &h);
}

/* Rows of the first *n texts, as far as there are any. */
static fre_status take_kept(cli_kept *k, float *rows, const char *const *text, const size_t *len,
                            size_t *n, fre_err *err)
{
    const uint64_t have = fre_spool_count(k->spool);
    const size_t all = *n;
    uint8_t of[FRE_HASH_BYTES];

    for (*n = 0; *n < all && k->at < have; (*n)++, k->at++) {
        const fre_status st = fre_spool_next(k->spool, k->record, err);

        if (st != FRE_OK)
            return st;
        hash(k, of, text[*n], len[*n]);
        if (memcmp(k->record, of, sizeof of) != 0)
            return fre_fail(err, FRE_E_DATA,
                            "the interrupted run was of other texts or another embedder; run "
                            "without {resume}, or remove %.200s.resume.*",
                            k->output);
        memcpy((uint8_t *)rows + *n * k->row_bytes, k->record + FRE_HASH_BYTES, k->row_bytes);
    }
    return FRE_OK;
}

fre_status cli_kept_embed(cli_kept *k, float *rows, const char *const *text, const size_t *len,
                          size_t n, fre_err *err)
{
    size_t from = n;
    fre_status st = take_kept(k, rows, text, len, &from, err);
    uint8_t *rest = (uint8_t *)rows + from * k->row_bytes;

    if (st != FRE_OK || from == n)
        return st;
    st =
        fre_embed_texts(k->embedder, (float *)(void *)rest, text + from, len + from, n - from, err);
    for (size_t i = from; st == FRE_OK && i < n; i++, rest += k->row_bytes) {
        hash(k, k->record, text[i], len[i]);
        memcpy(k->record + FRE_HASH_BYTES, rest, k->row_bytes);
        st = fre_spool_append(k->spool, k->record, err);
        k->at++;
    }
    return st == FRE_OK ? fre_spool_flush(k->spool, err) : st;
}

void cli_kept_free(cli_kept *k, bool remove)
{
    if (!k)
        return;
    fre_spool_free(k->spool, remove);
    free(k->record);
    free(k);
}
