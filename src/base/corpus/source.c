/* Bytes of a file, of a pipe or of memory, decompressed as they are read: gzip (RFC 1952, any number
 * of members) and zstd (RFC 8878, any number of frames), told apart by content.  Everything is opened
 * once: what looks at the first bytes leaves them to be read. */
#include "corpus_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd_errors.h>

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
    if (s->hashing)
        fre_sha256_add(&s->hash, s->in + s->len, (size_t)got);
    s->len += (size_t)got;
    s->bytes += (uint64_t)got;
    return FRE_OK;
}

static bool is_gzip(const uint8_t *p, size_t n)
{
    return n >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

/* A frame that holds no data (RFC 8878 sec. 3.1.2), whose first bytes are ASCII. */
static bool is_skippable(const uint8_t *p, size_t n)
{
    return n >= 4 && (p[0] & 0xf0) == 0x50 && memcmp(p + 1, "\x2a\x4d\x18", 3) == 0;
}

static bool is_zstd(const uint8_t *p, size_t n)
{
    return (n >= 4 && memcmp(p, "\x28\xb5\x2f\xfd", 4) == 0) || is_skippable(p, n);
}

bool fre_src_is_array(const fre_src *s)
{
    return s->head.n >= 6 && memcmp(s->head.p, "\x93NUMPY", 6) == 0;
}

/* At least n bytes in in[pos..len), n <= chunk, or all that there are. */
static fre_status src_need(fre_src *s, size_t n, fre_err *err)
{
    fre_status st = FRE_OK;

    while (st == FRE_OK && s->len - s->pos < n && !s->eof)
        st = src_fill(s, err);
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

/* Between gzip members or zstd frames: padding with zeros is skipped, as gzip does, and white space.
 * *end: nothing follows. */
static fre_status src_next_part(fre_src *s, bool *end, fre_err *err)
{
    const bool gzip = s->kind == FRE_SRC_GZIP;
    fre_status st = FRE_OK;

    for (;;) {
        while (s->pos < s->len && memchr("\0 \t\r\n", s->in[s->pos], 5))
            s->pos++;
        if (s->pos < s->len || s->eof)
            break;
        st = src_fill(s, err);
        if (st)
            return st;
    }
    *end = s->pos == s->len;
    if (*end)
        return FRE_OK;
    st = src_need(s, 4, err);
    if (st)
        return st;
    if (s->len - s->pos < 4 && (s->in[s->pos] == 0x1f || s->in[s->pos] == 0x28))
        return src_truncated(s, gzip ? "gzip" : "zstd", err); /* a header that has begun */
    if (gzip ? !is_gzip(s->in + s->pos, s->len - s->pos)
             : !is_zstd(s->in + s->pos, s->len - s->pos))
        return fre_fail(err, FRE_E_DATA,
                        "%s: something that is not %s follows the compressed data at byte %llu; "
                        "compress the file again whole",
                        s->name, gzip ? "gzip" : "zstd",
                        (unsigned long long)(s->bytes - (s->len - s->pos)));
    if (gzip && inflateReset(&s->z) != Z_OK)
        return fre_fail(err, FRE_E_INTERNAL, "%s: zlib state was lost", s->name);
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

            st = src_next_part(s, &end, err);
            if (st || end) {
                *got = 0;
                return st;
            }
            s->z_between = false;
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

static fre_status zstd_fail(const fre_src *s, ZSTD_ErrorCode code, fre_err *err)
{
    if (code == ZSTD_error_dictionary_wrong || code == ZSTD_error_dictionary_corrupted)
        return fre_fail(err, FRE_E_DATA,
                        "%s: was compressed with a dictionary, which is not in the file; "
                        "decompress it first (zstd -d -D DICTIONARY)",
                        s->name);
    if (code == ZSTD_error_frameParameter_windowTooLarge || code == ZSTD_error_memory_allocation)
        return fre_fail(err, FRE_E_LIMIT,
                        "%s: zstd's window is too large for the memory here; compress the file "
                        "again without --long (zstd -d --long=31, then zstd)",
                        s->name);
    return src_damaged(s, "zstd", err);
}

static fre_status zstd_read(fre_src *s, uint8_t *out, size_t cap, size_t *got, fre_err *err)
{
    fre_status st = FRE_OK;

    for (;;) {
        ZSTD_outBuffer o = {out, cap, 0};
        ZSTD_inBuffer i = {s->in, s->len, s->pos};
        size_t rc = 0;

        if (s->zs_between) {
            bool end = false;

            st = src_next_part(s, &end, err);
            if (st || end) {
                *got = 0;
                return st;
            }
            s->zs_between = false;
            i = (ZSTD_inBuffer){s->in, s->len, s->pos};
        }
        rc = ZSTD_decompressStream(s->zs, &o, &i);
        s->pos = i.pos;
        if (ZSTD_isError(rc))
            return zstd_fail(s, ZSTD_getErrorCode(rc), err);
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

/* What the file holds, behind what was looked at before. */
static fre_status src_decompress(fre_src *s, uint8_t *out, size_t cap, size_t *got, fre_err *err)
{
    switch (s->kind) {
    case FRE_SRC_PLAIN:
        return plain_read(s, out, cap, got, err);
    case FRE_SRC_GZIP:
        return gzip_read(s, out, cap, got, err);
    case FRE_SRC_ZSTD:
        return zstd_read(s, out, cap, got, err);
    }
    return fre_fail(err, FRE_E_INTERNAL, "%s: unknown compression", s->name);
}

/* Room for more than a chunk. */
static fre_status src_widen(fre_src *s, fre_err *err)
{
    const size_t wide = 2 * s->chunk;
    uint8_t *p = malloc(wide);

    if (!p)
        return fre_fail(err, FRE_E_NOMEM, "%s: out of memory", s->name);
    (void)memcpy(p, s->in, s->len);
    fre_wipe(s->in, s->chunk);
    free(s->in);
    s->in = p;
    s->chunk = wide;
    return FRE_OK;
}

/* The first line and many behind it, as they are stored, or all that there is. */
static fre_status src_view(fre_src *s, fre_err *err)
{
    fre_status st = FRE_OK;

    while (st == FRE_OK && !s->eof && !fre_behind_in_view(s->in, s->len)) {
        if (s->len == s->chunk)
            st = src_widen(s, err);
        if (st == FRE_OK)
            st = src_fill(s, err);
    }
    return st;
}

static void src_pack_end(fre_src *s)
{
    if (s->z_open)
        (void)inflateEnd(&s->z);
    (void)ZSTD_freeDStream(s->zs);
    (void)memset(&s->z, 0, sizeof s->z);
    s->zs = NULL;
    s->z_open = s->z_between = s->zs_between = false;
    s->kind = FRE_SRC_PLAIN;
}

static fre_status src_pack_begin(fre_src *s, fre_err *err)
{
    if (is_gzip(s->in, s->len)) {
        if (inflateInit2(&s->z, 15 + 16) != Z_OK)
            return fre_fail(err, FRE_E_NOMEM, "%s: out of memory", s->name);
        s->z_open = true;
        s->kind = FRE_SRC_GZIP;
        return FRE_OK;
    }
    s->zs = ZSTD_createDStream();
    /* --ultra and --long make windows of up to 2 GiB; memory is only touched as data come. */
    if (!s->zs ||
        ZSTD_isError(ZSTD_DCtx_setParameter(
            s->zs, ZSTD_d_windowLogMax, ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound)))
        return fre_fail(err, FRE_E_NOMEM, "%s: out of memory", s->name);
    s->zs_between = true;
    s->kind = FRE_SRC_ZSTD;
    return FRE_OK;
}

/* What is all in view is decompressed: to its end; or to anything at all, or as far as it goes, or it
 * lacks its dictionary. */
static fre_status src_try(fre_src *s, bool to_its_end, bool *can, fre_err *err)
{
    fre_status st = src_pack_begin(s, err);
    uint8_t out[4096];
    size_t got = 1, all = 0;
    bool is_cut;
    fre_err why;

    if (st != FRE_OK)
        return st;
    while (st == FRE_OK && got > 0) {
        st = src_decompress(s, out, sizeof out, &got, &why);
        all += st == FRE_OK ? got : 0;
    }
    fre_wipe(out, sizeof out);
    src_pack_end(s);
    is_cut = s->pos == s->len && !is_skippable(s->in, s->len);
    s->pos = 0;
    *can = to_its_end ? st == FRE_OK && all > 0
                      : all > 0 || is_cut || ZSTD_getDictID_fromFrame(s->in, s->len) != 0;
    return FRE_OK;
}

/* A name that says so is believed; else the lines behind the first must be no records.  Where that is
 * not sure, and all is in view, it is tried. */
static fre_status src_detect(fre_src *s, fre_err *err)
{
    fre_status st = src_need(s, 4, err);
    bool packed = st == FRE_OK && (is_gzip(s->in, s->len) || is_zstd(s->in, s->len));

    if (packed && !s->says_packed) {
        fre_behind_kind behind;

        st = src_view(s, err);
        behind = fre_behind(s->in, s->len, s->eof);
        packed = behind == FRE_BEHIND_DATA;
        if (st == FRE_OK && s->eof && (behind == FRE_BEHIND_TEXT || behind == FRE_BEHIND_FEW))
            st = src_try(s, behind == FRE_BEHIND_TEXT, &packed, err);
    }
    return st == FRE_OK && packed ? src_pack_begin(s, err) : st;
}

static fre_status src_peek_more(fre_src *s, uint8_t *piece, size_t n, size_t *got, fre_err *err)
{
    fre_status st = src_decompress(s, piece, n, got, err);

    if (st == FRE_OK && fre_buf_append(&s->head, piece, *got) != FRE_OK)
        return fre_fail(err, FRE_E_NOMEM, "%s: out of memory", s->name);
    return st;
}

/* The first decompressed bytes, which fre_src_read gives out again.  More of them where they look like
 * something else than text. */
static fre_status src_peek(fre_src *s, fre_err *err)
{
    fre_status st = FRE_OK;
    uint8_t piece[4096];
    size_t got = 1;

    while (st == FRE_OK && s->head.n < FRE_SRC_HEAD && got > 0)
        st = src_peek_more(s, piece, FRE_SRC_HEAD - s->head.n, &got, err);
    if (st == FRE_OK && (fre_mark(s->head.p, s->head.n) || fre_src_is_array(s))) {
        while (st == FRE_OK && got > 0 && !fre_behind_in_view(s->head.p, s->head.n))
            st = src_peek_more(s, piece, sizeof piece, &got, err);
        s->is_text_behind =
            st == FRE_OK && fre_behind_is_usable(s->head.p, s->head.n, got == 0);
    }
    fre_wipe(piece, sizeof piece);
    return st;
}

static fre_status src_start(fre_src *s, size_t chunk, fre_err *err)
{
    fre_status st;

    if (s->bytes_all > 0 && s->bytes_all < chunk) /* a small file needs a small buffer */
        chunk = (size_t)s->bytes_all;
    s->chunk = chunk < 4 ? 4 : chunk; /* detection looks at four bytes */
    fre_buf_init(&s->head, (size_t)FRE_CORPUS_TEXT_MAX + 2u * FRE_SNIFF_BYTES);
    s->in = malloc(s->chunk);
    if (!s->in)
        return fre_fail(err, FRE_E_NOMEM, "%s: out of memory", s->name);
    st = src_detect(s, err);
    return st == FRE_OK ? src_peek(s, err) : st;
}

/* The number of a descriptor that a path stands for, or -1. */
static int descriptor_of(const char *path)
{
    static const char *const folder[] = {"/dev/fd/", "/proc/self/fd/"};

    if (strcmp(path, "/dev/stdin") == 0)
        return STDIN_FILENO;
    for (size_t i = 0; i < sizeof folder / sizeof *folder; i++) {
        const size_t n = strlen(folder[i]);
        const char *digits = path + n;

        if (strncmp(path, folder[i], n) == 0 && *digits && strlen(digits) < 7 &&
            strspn(digits, "0123456789") == strlen(digits))
            return (int)strtol(digits, NULL, 10);
    }
    return -1;
}

/* One open, which waits for the writer of a named pipe.  A socket cannot be opened again under its
 * name in /dev/fd, nor can another user's pipe: those descriptors are taken as they are. */
static fre_status src_open_path(fre_src *s, const char *path, fre_err *err)
{
    int given;

    if (strcmp(path, "-") == 0) {
        s->fd = STDIN_FILENO;
        return FRE_OK;
    }
    do {
        if (fre_interrupted())
            return fre_fail(err, FRE_E_INTERRUPTED, "%s: opening was interrupted", s->name);
        s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    } while (s->fd < 0 && errno == EINTR);
    if (s->fd < 0 && (errno == ENXIO || errno == EACCES) && (given = descriptor_of(path)) >= 0)
        s->fd = fcntl(given, F_DUPFD_CLOEXEC, 3);
    s->own_fd = s->fd >= 0;
    return s->own_fd ? FRE_OK
                     : fre_open_failed(err, errno, FRE_E_NOINPUT, FRE_CHECK_PATH,
                                       "%s: cannot be opened", s->name);
}

/* All the bytes of what cannot be read again. */
static fre_status src_keep(fre_src *s, fre_err *err)
{
    size_t cap = 0, n = 0;

    for (;;) {
        ssize_t got;

        if (n == cap) {
            uint8_t *p = realloc(s->kept, cap = cap ? 2 * cap : FRE_SRC_CHUNK);

            if (!p)
                return fre_fail(err, FRE_E_NOMEM, "%s: out of memory; give a file, not a pipe",
                                s->name);
            s->kept = p;
        }
        if (fre_interrupted())
            return fre_fail(err, FRE_E_INTERRUPTED, "%s: reading was interrupted", s->name);
        got = read(s->fd, s->kept + n, cap - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fre_fail(err, FRE_E_IO, "%s: cannot be read: %s", s->name,
                            strerrordesc_np(errno));
        if (got == 0)
            break;
        n += (size_t)got;
    }
    if (s->own_fd)
        (void)close(s->fd);
    s->own_fd = false;
    s->fd = -1;
    s->mem = (fre_bytes){s->kept, n};
    s->kept_bytes = n;
    s->bytes_all = n;
    return FRE_OK;
}

static bool holds_release(int folder)
{
    return faccessat(folder, FRE_OUTDIR_MARK, F_OK, 0) == 0;
}

fre_status fre_src_open(fre_src *s, const char *path, bool again, fre_err *err)
{
    struct stat sb;
    fre_status st = FRE_OK;

    (void)memset(s, 0, sizeof *s);
    s->fd = -1;
    fre_src_display_name(s->name, strcmp(path, "-") == 0 ? "standard input" : path);
    s->says_packed = fre_unpacked_length(path) < strlen(path);
    st = src_open_path(s, path, err);
    if (st)
        goto out;
    if (fstat(s->fd, &sb) != 0) {
        st =
            fre_fail(err, FRE_E_NOINPUT, "%s: cannot be read: %s", s->name, strerrordesc_np(errno));
        goto out;
    }
    if (S_ISDIR(sb.st_mode)) {
        st = fre_fail(err, FRE_E_NOINPUT, "%s: is a folder; give %s", s->name,
                      holds_release(s->fd) ? "a file of the release in it: its texts are "
                                             "synthetic.jsonl, its embeddings centroids.npy"
                                           : "a file of texts");
        goto out;
    }
    /* From its start: what a shell has read before is no part of the input. */
    s->is_file = S_ISREG(sb.st_mode) && lseek(s->fd, 0, SEEK_CUR) == 0;
    if (s->is_file) {
        s->bytes_all = (uint64_t)sb.st_size;
        s->changed = sb.st_mtim;
    } else if (again)
        st = src_keep(s, err);
    if (st == FRE_OK)
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

fre_status fre_src_read(fre_src *s, uint8_t *out, size_t cap, size_t *got, fre_err *err)
{
    fre_status st = FRE_E_STATE;

    if (s->failed)
        return fre_fail(err, FRE_E_STATE, "%s: reading has failed before", s->name);
    if (s->head_at < s->head.n) {
        *got = s->head.n - s->head_at < cap ? s->head.n - s->head_at : cap;
        (void)memcpy(out, s->head.p + s->head_at, *got);
        s->head_at += *got;
        return FRE_OK;
    }
    st = src_decompress(s, out, cap, got, err);
    s->failed = st != FRE_OK;
    return st;
}

uint64_t fre_src_taken(const fre_src *s)
{
    return s->bytes - (s->len - s->pos);
}

/* Before the first byte. */
static void src_stop(fre_src *s)
{
    src_pack_end(s);
    if (s->in) {
        fre_wipe(s->in, s->chunk);
        free(s->in);
    }
    fre_buf_wipe(&s->head);
    fre_wipe(&s->hash, sizeof s->hash);
    s->in = NULL;
    s->is_text_behind = s->eof = s->failed = s->hashing = false;
    s->pos = s->len = s->head_at = 0;
    s->bytes = 0;
}

static fre_status src_changed(const fre_src *s, fre_err *err)
{
    return fre_fail(err, FRE_E_AGAIN,
                    "%s: was changed while it was read, so what was looked over is not what would "
                    "be used; run this again when nothing writes to it",
                    s->name);
}

fre_status fre_src_check(const fre_src *s, fre_err *err)
{
    struct stat sb;

    if (!s->is_file)
        return FRE_OK;
    if (fstat(s->fd, &sb) != 0)
        return fre_fail(err, FRE_E_IO, "%s: cannot be read: %s", s->name, strerrordesc_np(errno));
    return (uint64_t)sb.st_size == s->bytes_all && sb.st_mtim.tv_sec == s->changed.tv_sec &&
                   sb.st_mtim.tv_nsec == s->changed.tv_nsec
               ? FRE_OK
               : src_changed(s, err);
}

bool fre_src_can_rewind(const fre_src *s)
{
    return s->is_file || s->fd < 0;
}

fre_status fre_src_rewind(fre_src *s, const uint8_t salt[FRE_HASH_BYTES], fre_err *err)
{
    fre_status st = fre_src_check(s, err);

    if (st)
        return st;
    if (!fre_src_can_rewind(s))
        return fre_fail(err, FRE_E_STATE, "%s: can be read only once", s->name);
    src_stop(s);
    if (s->is_file && lseek(s->fd, 0, SEEK_SET) != 0)
        return fre_fail(err, FRE_E_IO, "%s: cannot be read again: %s", s->name,
                        strerrordesc_np(errno));
    s->has_sum = s->has_sum && memcmp(s->salt, salt, sizeof s->salt) == 0;
    (void)memcpy(s->salt, salt, sizeof s->salt);
    fre_sha256_begin(&s->hash, (fre_bytes){s->salt, sizeof s->salt});
    s->hashing = true;
    st = src_start(s, s->chunk, err);
    s->failed = st != FRE_OK;
    return st;
}

fre_status fre_src_finish(fre_src *s, fre_err *err)
{
    uint8_t sum[FRE_HASH_BYTES];
    fre_status st = FRE_OK;

    if (!s->hashing)
        return FRE_OK;
    while (st == FRE_OK && !s->eof) { /* what follows the last record */
        s->pos = s->len;
        st = src_fill(s, err);
    }
    if (st)
        return st;
    fre_sha256_end(sum, &s->hash);
    s->hashing = false;
    if (s->has_sum && memcmp(s->sum, sum, sizeof sum) != 0)
        return src_changed(s, err);
    (void)memcpy(s->sum, sum, sizeof sum);
    s->has_sum = true;
    return FRE_OK;
}

void fre_src_close(fre_src *s)
{
    src_stop(s);
    if (s->kept) {
        fre_wipe(s->kept, s->kept_bytes);
        free(s->kept);
    }
    if (s->own_fd)
        (void)close(s->fd);
    s->kept = NULL;
    s->own_fd = false;
    s->failed = true;
}
