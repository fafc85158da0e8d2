/* curator/spool.c - the encrypted spool of embeddings, and what an interrupted run left of one. */
#include "curator_private.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Record 0: what a resumed run must agree with, and the key of the texts' hashes. */
typedef struct spool_header {
    char magic[16];
    uint8_t hash_key[32]; /* SECRET: the spool is encrypted */
    uint8_t embedder[FRE_HASH_BYTES];
} spool_header;

#define SPOOL_MAGIC "fre-e2t spool 2"

static fre_status spool_begin(curator_run *r, fre_err *err)
{
    const uint8_t *sha = fre_embedder_info(r->embedder)->sha256;
    spool_header h;
    fre_status st;

    memset(r->spool_record, 0, r->spool_bytes);
    if (fre_spool_count(r->spool) == 0) {
        memcpy(h.magic, SPOOL_MAGIC, sizeof h.magic);
        memcpy(h.hash_key, r->hash_key, sizeof h.hash_key);
        memcpy(h.embedder, sha, sizeof h.embedder);
        memcpy(r->spool_record, &h, sizeof h);
        st = fre_spool_append(r->spool, r->spool_record, err);
    } else {
        st = fre_spool_rewind(r->spool, err);
        if (st == FRE_OK)
            st = fre_spool_next(r->spool, r->spool_record, err);
        memcpy(&h, r->spool_record, sizeof h);
        if (st == FRE_OK && (memcmp(h.magic, SPOOL_MAGIC, sizeof h.magic) != 0 ||
                             memcmp(h.embedder, sha, sizeof h.embedder) != 0))
            st = fre_fail(err, FRE_E_DATA,
                          "the interrupted run used another embedder; run without {resume}, or "
                          "remove %s.resume.*",
                          r->opts->output);
        memcpy(r->hash_key, h.hash_key, sizeof h.hash_key);
    }
    fre_wipe(&h, sizeof h);
    return st;
}

/* The spool and its key lie beside the folder, whose name may end in slashes.  free() it. */
static char *resume_path(const fre_curator_opts *o)
{
    size_t n = strlen(o->output);
    char *path = NULL;

    while (n > 1 && o->output[n - 1] == '/')
        n--;
    return asprintf(&path, "%.*s.resume", (int)n, o->output) < 0 ? NULL : path;
}

static fre_status look_beside(bool *is_there, const char *path, const char *ending, fre_err *err)
{
    char *name = NULL;

    if (asprintf(&name, "%s%s", path, ending) < 0)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    *is_there = *is_there || access(name, F_OK) == 0;
    free(name);
    return FRE_OK;
}

fre_status curator_find_leftovers(const fre_curator_opts *o, fre_curator_result *rel, fre_err *err)
{
    char *path;
    bool is_there = false;
    fre_status st;

    if (o->resume)
        return FRE_OK;
    path = resume_path(o);
    if (!path)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    st = look_beside(&is_there, path, ".spool", err);
    if (st == FRE_OK)
        st = look_beside(&is_there, path, ".key", err);
    if (st == FRE_OK && is_there)
        rel->resume_left = path;
    else
        free(path);
    return st;
}

fre_status curator_open_spool(curator_run *r, fre_err *err)
{
    const size_t row = CURATOR_KEY_BYTES + (size_t)r->dim * sizeof(float) + 1; /* its mark */
    fre_spool_opts so = {0};
    char *path = NULL;
    fre_status st;

    so.record_bytes = row > sizeof(spool_header) ? row : sizeof(spool_header);
    r->spool_bytes = so.record_bytes;
    r->spool_record = calloc(1, r->spool_bytes);
    if (!r->spool_record)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    if (r->opts->resume) {
        path = resume_path(r->opts);
        if (!path)
            return fre_fail(err, FRE_E_NOMEM, "out of memory");
        so.resume_path = path;
    }
    st = fre_spool_open(&r->spool, &so, err);
    free(path);
    return st == FRE_OK ? spool_begin(r, err) : st;
}
