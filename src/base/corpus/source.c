/* An input's bytes: opened, told apart by their content (unpack.c), read, and read again.  Everything is
 * opened once: what looks at the first bytes leaves them to be read. */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool fre_src_is_array(const fre_src *s)
{
    return s->head.n >= 6 && memcmp(s->head.p, "\x93NUMPY", 6) == 0;
}

/* Room for more than a chunk. */
static fre_status widen(fre_src *s, fre_err *err)
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

/* Bring the first line and many after it into in[], as they are stored, or the whole file. */
static fre_status view(fre_src *s, fre_err *err)
{
    fre_status st = FRE_OK;

    while (st == FRE_OK && !s->eof && !fre_rest_in_view(s->in, s->len)) {
        if (s->len == s->chunk)
            st = widen(s, err);
        if (st == FRE_OK)
            st = fre_src_fill(s, err);
    }
    return st;
}

/* A name that says so is believed; else the lines after the first must be no records.  Where those leave it
 * open, and the whole file is in view, decompressing it decides. */
static fre_status detect(fre_src *s, fre_err *err)
{
    fre_status st = fre_src_need(s, 4, err);
    bool packed = st == FRE_OK && fre_is_packed(s);

    if (packed && !s->says_packed) {
        fre_rest_kind rest;

        st = view(s, err);
        rest = fre_rest_judge(s->in, s->len, s->eof);
        packed = rest == FRE_REST_DATA;
        if (st == FRE_OK && s->eof && (rest == FRE_REST_TEXT || rest == FRE_REST_FEW))
            st = fre_unpack_try(s, rest == FRE_REST_TEXT, &packed, err);
    }
    return st == FRE_OK && packed ? fre_unpack_begin(s, err) : st;
}

static fre_status peek_more(fre_src *s, uint8_t *piece, size_t n, size_t *got, fre_err *err)
{
    fre_status st = fre_unpack_read(s, piece, n, got, err);

    if (st == FRE_OK && fre_buf_append(&s->head, piece, *got) != FRE_OK)
        return fre_fail(err, FRE_E_NOMEM, "%s: out of memory", s->name);
    return st;
}

/* The first decompressed bytes, which fre_src_read gives out again.  More of them where they look like
 * something else than text. */
static fre_status peek(fre_src *s, fre_err *err)
{
    fre_status st = FRE_OK;
    uint8_t piece[4096];
    size_t got = 1;

    while (st == FRE_OK && s->head.n < FRE_SRC_HEAD && got > 0)
        st = peek_more(s, piece, FRE_SRC_HEAD - s->head.n, &got, err);
    if (st == FRE_OK && (fre_byte_order_mark(s->head.p, s->head.n) || fre_src_is_array(s))) {
        while (st == FRE_OK && got > 0 && !fre_rest_in_view(s->head.p, s->head.n))
            st = peek_more(s, piece, sizeof piece, &got, err);
        s->rest_is_text = st == FRE_OK && fre_rest_is_usable(s->head.p, s->head.n, got == 0);
    }
    fre_wipe(piece, sizeof piece);
    return st;
}

static fre_status start(fre_src *s, size_t chunk, fre_err *err)
{
    fre_status st;

    if (s->bytes_all > 0 && s->bytes_all < chunk) /* a small file needs a small buffer */
        chunk = (size_t)s->bytes_all;
    s->chunk = chunk < 4 ? 4 : chunk; /* detection looks at four bytes */
    fre_buf_init(&s->head, (size_t)FRE_CORPUS_TEXT_MAX + 2u * FRE_SNIFF_BYTES);
    s->in = malloc(s->chunk);
    if (!s->in)
        return fre_fail(err, FRE_E_NOMEM, "%s: out of memory", s->name);
    st = detect(s, err);
    return st == FRE_OK ? peek(s, err) : st;
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
static fre_status open_path(fre_src *s, const char *path, fre_err *err)
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
static fre_status keep(fre_src *s, fre_err *err)
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
            return fre_fail(err, FRE_E_IO, "%s: cannot be read: %s", s->name, strerror(errno));
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
    st = open_path(s, path, err);
    if (st)
        goto out;
    if (fstat(s->fd, &sb) != 0) {
        st = fre_fail(err, FRE_E_NOINPUT, "%s: cannot be read: %s", s->name, strerror(errno));
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
        st = keep(s, err);
    if (st == FRE_OK)
        st = start(s, FRE_SRC_CHUNK, err);
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
    st = start(s, chunk, err);
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
    st = fre_unpack_read(s, out, cap, got, err);
    s->failed = st != FRE_OK;
    return st;
}

uint64_t fre_src_used(const fre_src *s)
{
    return s->bytes - (s->len - s->pos);
}

/* Before the first byte. */
static void stop(fre_src *s)
{
    fre_unpack_end(s);
    if (s->in) {
        fre_wipe(s->in, s->chunk);
        free(s->in);
    }
    fre_buf_wipe(&s->head);
    fre_wipe(&s->hash, sizeof s->hash);
    s->in = NULL;
    s->rest_is_text = s->eof = s->failed = s->hashing = false;
    s->pos = s->len = s->head_at = 0;
    s->bytes = 0;
}

static fre_status changed_meanwhile(const fre_src *s, fre_err *err)
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
        return fre_fail(err, FRE_E_IO, "%s: cannot be read: %s", s->name, strerror(errno));
    return (uint64_t)sb.st_size == s->bytes_all && sb.st_mtim.tv_sec == s->changed.tv_sec &&
                   sb.st_mtim.tv_nsec == s->changed.tv_nsec
               ? FRE_OK
               : changed_meanwhile(s, err);
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
    stop(s);
    if (s->is_file && lseek(s->fd, 0, SEEK_SET) != 0)
        return fre_fail(err, FRE_E_IO, "%s: cannot be read again: %s", s->name, strerror(errno));
    s->has_sum = s->has_sum && memcmp(s->salt, salt, sizeof s->salt) == 0;
    (void)memcpy(s->salt, salt, sizeof s->salt);
    fre_sha256_begin(&s->hash, (fre_bytes){s->salt, sizeof s->salt});
    s->hashing = true;
    st = start(s, s->chunk, err);
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
        st = fre_src_fill(s, err);
    }
    if (st)
        return st;
    fre_sha256_end(sum, &s->hash);
    s->hashing = false;
    if (s->has_sum && memcmp(s->sum, sum, sizeof sum) != 0)
        return changed_meanwhile(s, err);
    (void)memcpy(s->sum, sum, sizeof sum);
    s->has_sum = true;
    return FRE_OK;
}

void fre_src_close(fre_src *s)
{
    stop(s);
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
