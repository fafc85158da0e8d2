/* The bytes of a source as they are stored: of a file, of a pipe or of memory. */
#include "source.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

void fre_src_display_name(char out[FRE_NAME_BYTES], const char *path)
{
    size_t n = strlen(path), k = 0;

    if (n >= FRE_NAME_BYTES) { /* the end of a path says more than its start */
        path += n - (FRE_NAME_BYTES - 4);
        k = 3;
        (void)memcpy(out, "...", 3);
    }
    for (; *path; path++, k++)
        out[k] = ((unsigned char)*path < 0x20 || *path == 0x7f) ? '?' : *path;
    out[k] = '\0';
}

size_t fre_unpacked_length(const char *path)
{
    static const char *const packed[] = {".gz", ".gzip", ".zst", ".zstd"};
    const size_t n = strlen(path);

    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
        if (n > strlen(packed[i]) && strcasecmp(path + n - strlen(packed[i]), packed[i]) == 0)
            return n - strlen(packed[i]);
    return n;
}

fre_status fre_src_fill(fre_src *s, fre_err *err)
{
    ssize_t got = 0;

    if (s->pos > 0) {
        (void)memmove(s->in, s->in + s->pos, s->len - s->pos);
        s->len -= s->pos;
        s->pos = 0;
    }
    if (s->eof || s->len == s->chunk)
        return FRE_OK;
    if (s->fd < 0) {
        size_t left = s->mem.n - (size_t)s->bytes;
        size_t more = left < s->chunk - s->len ? left : s->chunk - s->len;

        if (more)
            (void)memcpy(s->in + s->len, s->mem.p + s->bytes, more);
        got = (ssize_t)more;
    } else {
        do {
            if (fre_interrupted())
                return fre_fail(err, FRE_E_INTERRUPTED, "%s: reading was interrupted", s->name);
            got = read(s->fd, s->in + s->len, s->chunk - s->len);
        } while (got < 0 && errno == EINTR);
        if (got < 0) {
            fre_status st = errno == EISDIR ? FRE_E_NOINPUT : FRE_E_IO;
            return fre_fail(err, st, "%s: cannot be read: %s", s->name, strerror(errno));
        }
    }
    s->eof = got == 0;
    if (s->hashing)
        fre_sha256_add(&s->hash, s->in + s->len, (size_t)got);
    s->len += (size_t)got;
    s->bytes += (uint64_t)got;
    return FRE_OK;
}

fre_status fre_src_need(fre_src *s, size_t n, fre_err *err)
{
    fre_status st = FRE_OK;

    while (st == FRE_OK && s->len - s->pos < n && !s->eof)
        st = fre_src_fill(s, err);
    return st;
}
