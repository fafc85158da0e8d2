/* Bytes of a file, of standard input or of memory, decompressed as they are read: gzip (RFC 1952,
 * any number of members) and zstd (RFC 8878, any number of frames), told apart by content. */
#include "corpus_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* Append to in[pos..len) what the file gives next; sets eof. */
static fre_status src_fill(fre_src *s, fre_err *err)
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
        size_t take = left < s->chunk - s->len ? left : s->chunk - s->len;

        if (take)
            (void)memcpy(s->in + s->len, s->mem.p + s->bytes, take);
        got = (ssize_t)take;
    } else {
        do {
            if (fre_interrupted())
                return fre_fail(err, FRE_E_INTERRUPTED, "%s: reading was interrupted", s->name);
            got = read(s->fd, s->in + s->len, s->chunk - s->len);
        } while (got < 0 && errno == EINTR);
        if (got < 0) {
            fre_status st = errno == EISDIR ? FRE_E_NOINPUT : FRE_E_IO;
            return fre_fail(err, st, "%s: cannot be read: %s", s->name, strerrordesc_np(errno));
        }
    }
    s->eof = got == 0;
    s->len += (size_t)got;
    s->bytes += (uint64_t)got;
    return FRE_OK;
}

static fre_status src_detect(fre_src *s, fre_err *err)
{
    static const uint8_t gz[2] = {0x1f, 0x8b}, zstd[4] = {0x28, 0xb5, 0x2f, 0xfd};
    fre_status st = FRE_OK;

    while (s->len < 4 && !s->eof) {
        st = src_fill(s, err);
        if (st)
            return st;
    }
    if (s->len >= 2 && memcmp(s->in, gz, 2) == 0) {
        if (inflateInit2(&s->z, 15 + 16) != Z_OK)
            return fre_fail(err, FRE_E_NOMEM, "%s: out of memory", s->name);
        s->z_open = true;
        s->kind = FRE_SRC_GZIP;
    } else if (s->len >= 4 && (memcmp(s->in, zstd, 4) == 0 ||
                               /* a skippable frame may come first (RFC 8878 sec. 3.1.2) */
                               ((s->in[0] & 0xf0) == 0x50 && s->in[1] == 0x2a && s->in[2] == 0x4d &&
                                s->in[3] == 0x18))) {
        s->zs = ZSTD_createDStream();
        if (!s->zs)
            return fre_fail(err, FRE_E_NOMEM, "%s: out of memory", s->name);
        s->zs_between = true;
        s->kind = FRE_SRC_ZSTD;
    }
    return FRE_OK;
}

static fre_status src_start(fre_src *s, size_t chunk, fre_err *err)
{
    if (s->bytes_all > 0 && s->bytes_all < chunk) /* a small file needs a small buffer */
        chunk = (size_t)s->bytes_all;
    s->chunk = chunk < 4 ? 4 : chunk; /* detection looks at four bytes */
    s->in = malloc(s->chunk);
    if (!s->in)
        return fre_fail(err, FRE_E_NOMEM, "%s: out of memory", s->name);
    return src_detect(s, err);
}

fre_status fre_src_open(fre_src *s, const char *path, fre_err *err)
{
    struct stat sb;
    fre_status st = FRE_OK;

    (void)memset(s, 0, sizeof *s);
    s->fd = STDIN_FILENO;
    if (strcmp(path, "-") == 0) {
        fre_src_display_name(s->name, "standard input");
    } else {
        fre_src_display_name(s->name, path);
        s->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (s->fd < 0)
            return fre_fail(err, FRE_E_NOINPUT, "%s: cannot be opened: %s; check the path", s->name,
                            strerrordesc_np(errno));
        s->own_fd = true;
    }
    if (fstat(s->fd, &sb) != 0) {
        st =
            fre_fail(err, FRE_E_NOINPUT, "%s: cannot be read: %s", s->name, strerrordesc_np(errno));
        goto out;
    }
    if (S_ISDIR(sb.st_mode)) {
        st = fre_fail(err, FRE_E_NOINPUT, "%s: is a folder; give a file of texts", s->name);
        goto out;
    }
    if (S_ISREG(sb.st_mode))
        s->bytes_all = (uint64_t)sb.st_size;
    st = src_start(s, FRE_SRC_CHUNK, err);
out:
    if (st)
        fre_src_close(s);
    return st;
}

fre_status fre_src_open_memory(fre_src *s, fre_bytes data, size_t chunk, fre_err *err)
{
    fre_status st = FRE_OK;

    (void)memset(s, 0, sizeof *s);
    s->fd = -1;
    s->mem = data;
    s->bytes_all = data.n;
    fre_src_display_name(s->name, "memory");
    st = src_start(s, chunk, err);
    if (st)
        fre_src_close(s);
    return st;
}

static fre_status src_truncated(const fre_src *s, const char *what, fre_err *err)
{
    return fre_fail(err, FRE_E_DATA,
                    "%s: the %s data ends early, after %llu bytes of the file; the file is cut "
                    "off, get it again whole",
                    s->name, what, (unsigned long long)s->bytes);
}

static fre_status src_damaged(const fre_src *s, const char *what, fre_err *err)
{
    return fre_fail(err, FRE_E_DATA,
                    "%s: the %s data is damaged near byte %llu of the file; get the file again",
                    s->name, what, (unsigned long long)(s->bytes - (s->len - s->pos)));
}

/* Between members: zero padding is skipped, as gzip does.  *end: nothing follows. */
static fre_status gzip_next_member(fre_src *s, bool *end, fre_err *err)
{
    fre_status st = FRE_OK;

    *end = false;
    for (;;) {
        while (s->pos < s->len && s->in[s->pos] == 0)
            s->pos++;
        if (s->pos < s->len)
            break;
        if (s->eof) {
            *end = true;
            return FRE_OK;
        }
        st = src_fill(s, err);
        if (st)
            return st;
    }
    if (inflateReset(&s->z) != Z_OK)
        return fre_fail(err, FRE_E_INTERNAL, "%s: zlib state was lost", s->name);
    s->z_between = false;
    return FRE_OK;
}

static fre_status gzip_read(fre_src *s, uint8_t *out, size_t cap, size_t *got, fre_err *err)
{
    fre_status st = FRE_OK;
    uInt room = cap > (1u << 30) ? (1u << 30) : (uInt)cap;

    for (;;) {
        int rc = Z_OK;
        size_t n = 0;

        if (s->z_between) {
            bool end = false;

            st = gzip_next_member(s, &end, err);
            if (st || end) {
                *got = 0;
                return st;
            }
        }
        s->z.next_in = s->in + s->pos;
        s->z.avail_in = (uInt)(s->len - s->pos);
        s->z.next_out = out;
        s->z.avail_out = room;
        rc = inflate(&s->z, Z_NO_FLUSH);
        s->pos = s->len - s->z.avail_in;
        n = room - s->z.avail_out;
        if (rc == Z_STREAM_END)
            s->z_between = true;
        else if (rc != Z_OK && rc != Z_BUF_ERROR)
            return src_damaged(s, "gzip", err);
        if (n > 0) {
            *got = n;
            return FRE_OK;
        }
        if (!s->z_between && s->pos == s->len) {
            if (s->eof)
                return src_truncated(s, "gzip", err);
            st = src_fill(s, err);
            if (st)
                return st;
        }
    }
}

static fre_status zstd_read(fre_src *s, uint8_t *out, size_t cap, size_t *got, fre_err *err)
{
    fre_status st = FRE_OK;

    for (;;) {
        ZSTD_outBuffer o = {out, cap, 0};
        ZSTD_inBuffer i = {s->in, s->len, s->pos};
        size_t rc = 0;

        if (s->zs_between && s->pos == s->len) {
            if (s->eof) {
                *got = 0;
                return FRE_OK;
            }
            st = src_fill(s, err);
            if (st)
                return st;
            continue;
        }
        rc = ZSTD_decompressStream(s->zs, &o, &i);
        s->pos = i.pos;
        if (ZSTD_isError(rc))
            return src_damaged(s, "zstd", err);
        s->zs_between = rc == 0;
        if (o.pos > 0) {
            *got = o.pos;
            return FRE_OK;
        }
        if (!s->zs_between && s->pos == s->len) {
            if (s->eof)
                return src_truncated(s, "zstd", err);
            st = src_fill(s, err);
            if (st)
                return st;
        }
    }
}

static fre_status plain_read(fre_src *s, uint8_t *out, size_t cap, size_t *got, fre_err *err)
{
    size_t n = 0;

    if (s->pos == s->len && !s->eof) {
        fre_status st = src_fill(s, err);

        if (st)
            return st;
    }
    n = s->len - s->pos < cap ? s->len - s->pos : cap;
    (void)memcpy(out, s->in + s->pos, n);
    s->pos += n;
    *got = n;
    return FRE_OK;
}

fre_status fre_src_read(fre_src *s, uint8_t *out, size_t cap, size_t *got, fre_err *err)
{
    fre_status st = FRE_E_STATE;

    if (s->failed)
        return fre_fail(err, FRE_E_STATE, "%s: reading has failed before", s->name);
    switch (s->kind) {
    case FRE_SRC_PLAIN:
        st = plain_read(s, out, cap, got, err);
        break;
    case FRE_SRC_GZIP:
        st = gzip_read(s, out, cap, got, err);
        break;
    case FRE_SRC_ZSTD:
        st = zstd_read(s, out, cap, got, err);
        break;
    }
    s->failed = st != FRE_OK;
    return st;
}

uint64_t fre_src_taken(const fre_src *s)
{
    return s->bytes - (s->len - s->pos);
}

void fre_src_close(fre_src *s)
{
    if (s->z_open)
        (void)inflateEnd(&s->z);
    (void)ZSTD_freeDStream(s->zs);
    if (s->in) {
        fre_wipe(s->in, s->chunk);
        free(s->in);
    }
    if (s->own_fd)
        (void)close(s->fd);
    s->z_open = false;
    s->zs = NULL;
    s->in = NULL;
    s->own_fd = false;
    s->failed = true;
}
