/* An input between its opening and its reader: the first bytes have been looked at, none is lost. */
#include "corpus_private.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static fre_status input_new(fre_input **out, const char *path, fre_err *err)
{
    fre_input *in = calloc(1, sizeof *in);

    if (in)
        in->path = strdup(path);
    if (!in || !in->path) {
        free(in);
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    }
    in->src.fd = -1;
    *out = in;
    return FRE_OK;
}

fre_status fre_input_open(fre_input **out, const char *path, bool again, fre_err *err)
{
    fre_input *in = NULL;
    fre_status st = input_new(&in, path, err);

    if (st == FRE_OK)
        st = fre_src_open(&in->src, path, again, err);
    if (st == FRE_OK)
        *out = in;
    else
        fre_input_free(in);
    return st;
}

fre_status fre_input_open_memory(fre_input **out, fre_bytes data, size_t chunk, fre_err *err)
{
    fre_input *in = NULL;
    fre_status st = input_new(&in, "", err);

    if (st == FRE_OK)
        st = fre_src_open_memory(&in->src, data, chunk, err);
    if (st == FRE_OK)
        *out = in;
    else
        fre_input_free(in);
    return st;
}

bool fre_input_is_file(const fre_input *in)
{
    return in->src.is_file;
}

bool fre_input_is_npy(const fre_input *in, const fre_corpus_opts *as_texts)
{
    const size_t n = strlen(in->path);
    const bool texts = as_texts && (as_texts->format != FRE_CORPUS_AUTO || as_texts->encoding);

    return (n > 4 && strcasecmp(in->path + n - 4, ".npy") == 0) ||
           (fre_src_is_array(&in->src) && !in->src.rest_is_text && !texts);
}

typedef struct pass {
    const fre_src *src;
    uint64_t at;
} pass;

/* The next bytes of the input as they lie, wherever that is; the descriptor stays where it stands. */
static ssize_t read_pass(void *ctx, uint8_t *out, size_t n)
{
    pass *p = ctx;
    ssize_t got = 0;

    if (p->src->fd >= 0) {
        got = pread(p->src->fd, out, n, (off_t)p->at);
    } else {
        const size_t left = p->src->mem.n - (size_t)p->at;

        got = (ssize_t)(left < n ? left : n);
        if (got > 0)
            (void)memcpy(out, p->src->mem.p + p->at, (size_t)got);
    }
    if (got > 0)
        p->at += (uint64_t)got;
    return got;
}

fre_status fre_input_sha256(uint8_t out[FRE_HASH_BYTES], const fre_input *in, fre_bytes salt,
                            fre_err *err)
{
    pass p = {.src = &in->src};

    if (in->src.fd >= 0 && !in->src.is_file)
        return fre_fail(err, FRE_E_STATE, "%s: can be read only once", in->src.name);
    return fre_sha256_read(out, salt, read_pass, &p, in->src.name, err);
}

void fre_input_free(fre_input *in)
{
    if (!in)
        return;
    fre_src_close(&in->src);
    free(in->path);
    free(in);
}
