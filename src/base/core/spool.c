/* spool.c - private records on disk, readable only with a key that is not on that disk (or is in a
 * key file the caller asked for).
 *
 * File: a 64-byte header, then blocks.  A block holds `per_block` whole records:
 *   nonce (24, random) | ciphertext | tag (16)       XChaCha20-Poly1305-IETF
 * with the block's index, the record size and the file's identity as associated data, so a block
 * cannot be moved within the file or between files.  The nonce is random, not the index, because a
 * resumed run writes a dropped block's index again under the same key.  Only whole blocks go to
 * the file; the records of the last, unfinished block live in memory. */
#include "core_private.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_BYTES crypto_aead_xchacha20poly1305_ietf_KEYBYTES
#define NONCE_BYTES crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG_BYTES crypto_aead_xchacha20poly1305_ietf_ABYTES
#define HEADER_BYTES 64u
#define BLOCK_TARGET 65536u
#define RECORD_MAX (1u << 20)
#define ID_BYTES 16u
#define AD_BYTES (8u + 8u + ID_BYTES)

static const uint8_t magic[8] = {'F', 'R', 'E', 'S', 'P', 'O', 'O', 'L'};
#define FORMAT_VERSION 1u

struct fre_spool {
    int fd;
    uint8_t *key; /* SECRET; sodium_malloc */
    uint8_t id[ID_BYTES];
    size_t record_bytes, per_block, plain_bytes, sealed_bytes;
    uint64_t blocks; /* whole blocks in the file */
    uint8_t *tail;   /* SECRET; records not yet in the file */
    size_t tail_n;
    uint8_t *page;              /* SECRET; the block being read */
    uint64_t page_at;           /* its index; UINT64_MAX: none */
    uint64_t next;              /* record that the pass reads next */
    uint8_t *sealed;            /* one block as it is on disk */
    char *folder;               /* for messages */
    char *data_path, *key_path; /* NULL: anonymous */
};

static void put_u64(uint8_t *to, uint64_t x)
{
    for (size_t i = 0; i < 8; i++)
        to[i] = (uint8_t)(x >> (8 * i));
}

static uint64_t get_u64(const uint8_t *from)
{
    uint64_t x = 0;

    for (size_t i = 8; i-- > 0;)
        x = x << 8 | from[i];
    return x;
}

static void make_header(const fre_spool *s, uint8_t header[HEADER_BYTES])
{
    static const char purpose[] = "spool key check";

    memset(header, 0, HEADER_BYTES);
    memcpy(header, magic, sizeof magic);
    put_u64(header + 8, FORMAT_VERSION);
    put_u64(header + 16, s->record_bytes);
    memcpy(header + 24, s->id, ID_BYTES);
    /* Tells a wrong key from a damaged block; one-way, so it gives nothing away. */
    (void)crypto_generichash(header + 40, 16, (const unsigned char *)purpose, sizeof purpose,
                             s->key, KEY_BYTES);
}

static void make_ad(const fre_spool *s, uint64_t index, uint8_t ad[AD_BYTES])
{
    put_u64(ad, index);
    put_u64(ad + 8, s->record_bytes);
    memcpy(ad + 16, s->id, ID_BYTES);
}

static off_t block_offset(const fre_spool *s, uint64_t index)
{
    return (off_t)(HEADER_BYTES + index * s->sealed_bytes);
}

/* ---- opening ----------------------------------------------------------------------------- */

static fre_status open_anonymous(fre_spool *s, fre_err *err)
{
    uint8_t b[8];
    char digits[2 * sizeof b + 1];
    char *path = NULL;

    s->fd = open(s->folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    if (s->fd >= 0)
        return FRE_OK;
    if (errno == EISDIR || errno == ENOENT || fre_core_is_unsupported(errno)) {
        /* A file system without nameless files: a name for the time of one call. */
        randombytes_buf(b, sizeof b);
        fre_hex(digits, b, sizeof b);
        if (asprintf(&path, "%s/.fre-spool-%s", s->folder, digits) < 0)
            return fre_fail(err, FRE_E_NOMEM, "out of memory");
        s->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (s->fd >= 0)
            (void)unlink(path);
        free(path);
        if (s->fd >= 0)
            return FRE_OK;
    }
    return fre_open_failed(err, errno, FRE_E_IO, "set TMPDIR to another folder",
                           "cannot create a temporary file in '%.200s'", s->folder);
}

static fre_status load_key(fre_spool *s, fre_err *err)
{
    size_t got = 0;
    bool fresh = false;
    fre_status st;
    int fd = -1, e;

    st = fre_private_open(&fd, &fresh, s->key_path, err);
    if (st != FRE_OK)
        goto out;
    if (fresh) {
        randombytes_buf(s->key, KEY_BYTES);
        e = fre_core_pwrite(fd, s->key, KEY_BYTES, 0);
        if (e == 0)
            e = fre_core_sync(fd);
        if (e != 0) {
            (void)unlink(s->key_path);
            st = fre_core_write_failed(err, e, "the key file", s->key_path);
        }
        goto out;
    }
    e = fre_core_pread(fd, s->key, KEY_BYTES, 0, &got);
    if (e != 0)
        st = fre_fail(err, FRE_E_IO, "cannot read '%.300s': %s", s->key_path, strerror(e));
    else if (got != KEY_BYTES)
        st = fre_fail(err, FRE_E_DATA, "'%.300s' is not a key file; remove it and its .spool",
                      s->key_path);
out:
    if (fd >= 0)
        (void)close(fd);
    return st;
}

static fre_status write_header(fre_spool *s, fre_err *err)
{
    uint8_t header[HEADER_BYTES];
    int e;

    randombytes_buf(s->id, sizeof s->id);
    make_header(s, header);
    e = fre_core_pwrite(s->fd, header, sizeof header, 0);
    return e == 0 ? FRE_OK : fre_core_write_failed(err, e, "temporary data", s->folder);
}

static fre_status does_not_fit(const fre_spool *s, const char *why, fre_err *err)
{
    return fre_fail(err, FRE_E_DATA, "'%.200s' %s; remove it and its .key to start over",
                    s->data_path ? s->data_path : s->folder, why);
}

/* Decrypts block `index` into page. */
static fre_status load_block(fre_spool *s, uint64_t index, fre_err *err)
{
    uint8_t ad[AD_BYTES];
    size_t got;
    int e;

    if (s->page_at == index)
        return FRE_OK;
    s->page_at = UINT64_MAX;
    e = fre_core_pread(s->fd, s->sealed, s->sealed_bytes, block_offset(s, index), &got);
    if (e != 0)
        return fre_fail(err, FRE_E_IO, "cannot read temporary data in '%.300s': %s", s->folder,
                        strerror(e));
    make_ad(s, index, ad);
    if (got != s->sealed_bytes ||
        crypto_aead_xchacha20poly1305_ietf_decrypt(s->page, NULL, NULL, s->sealed + NONCE_BYTES,
                                                   s->plain_bytes + TAG_BYTES, ad, sizeof ad,
                                                   s->sealed, s->key) != 0)
        return does_not_fit(s, "holds damaged data", err);
    s->page_at = index;
    return FRE_OK;
}

/* Adopts what an earlier run left: proves every whole block, cuts off an unfinished one. */
static fre_status adopt(fre_spool *s, uint64_t size, fre_err *err)
{
    uint8_t found[HEADER_BYTES], wanted[HEADER_BYTES];
    uint64_t whole = (size - HEADER_BYTES) / s->sealed_bytes;
    size_t got;
    int e = fre_core_pread(s->fd, found, sizeof found, 0, &got);

    if (e != 0)
        return fre_fail(err, FRE_E_IO, "cannot read '%.300s': %s", s->data_path, strerror(e));
    if (got != sizeof found || memcmp(found, magic, sizeof magic) != 0 ||
        get_u64(found + 8) != FORMAT_VERSION)
        return does_not_fit(s, "is not a file to resume from", err);
    if (get_u64(found + 16) != s->record_bytes)
        return does_not_fit(s, "was made for another embedder or input", err);
    memcpy(s->id, found + 24, sizeof s->id);
    make_header(s, wanted);
    if (memcmp(found, wanted, sizeof found) != 0)
        return does_not_fit(s, "was made with another key", err);
    for (uint64_t i = 0; i < whole; i++) {
        fre_status st = fre_interrupted() ? FRE_E_INTERRUPTED : load_block(s, i, err);

        if (st != FRE_OK)
            return st;
    }
    if (ftruncate(s->fd, block_offset(s, whole)) != 0)
        return fre_core_write_failed(err, errno, "temporary data", s->folder);
    s->blocks = whole;
    return FRE_OK;
}

static fre_status open_resumable(fre_spool *s, fre_err *err)
{
    struct stat st;
    bool fresh;
    fre_status status;

    /* A spool without its key is lost; say so before a new key is made for it. */
    if (access(s->key_path, F_OK) != 0 && lstat(s->data_path, &st) == 0)
        return fre_fail(err, FRE_E_DATA, "'%.300s' has lost its .key file; remove it to start over",
                        s->data_path);
    status = load_key(s, err);
    if (status != FRE_OK)
        return status;
    status = fre_private_open(&s->fd, &fresh, s->data_path, err);
    if (status != FRE_OK)
        return status;
    if (flock(s->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return fre_fail(err, FRE_E_AGAIN, "'%.300s' is in use by another run", s->data_path);
    if (fstat(s->fd, &st) != 0)
        return fre_fail(err, FRE_E_IO, "cannot examine '%.300s': %s", s->data_path,
                        strerror(errno));
    if (st.st_size < (off_t)HEADER_BYTES)
        return write_header(s, err); /* new, or killed before the header was whole */
    return adopt(s, (uint64_t)st.st_size, err);
}

static fre_status set_paths(fre_spool *s, const fre_spool_opts *opts)
{
    const char *dir = opts->dir;

    if (!dir)
        dir = getenv("TMPDIR");
    if (!dir || dir[0] == '\0')
        dir = "/tmp";
    if (opts->resume_path) {
        const char *slash = strrchr(opts->resume_path, '/');

        s->folder = slash ? strndup(opts->resume_path, (size_t)(slash - opts->resume_path) + 1)
                          : strdup(".");
        if (asprintf(&s->data_path, "%s.spool", opts->resume_path) < 0)
            s->data_path = NULL;
        if (asprintf(&s->key_path, "%s.key", opts->resume_path) < 0)
            s->key_path = NULL;
        if (!s->data_path || !s->key_path)
            return FRE_E_NOMEM;
    } else {
        s->folder = strdup(dir);
    }
    return s->folder ? FRE_OK : FRE_E_NOMEM;
}

fre_status fre_spool_open(fre_spool **out, const fre_spool_opts *opts, fre_err *err)
{
    fre_spool *s = NULL;
    fre_status st;

    if (!out || !opts || opts->record_bytes == 0 || opts->record_bytes > RECORD_MAX)
        return fre_fail(err, FRE_E_ARG, "a spool's records have 1 to %u bytes", RECORD_MAX);
    st = fre_core_ready();
    if (st != FRE_OK)
        return fre_fail(err, st, "the system offers no randomness");
    s = calloc(1, sizeof *s);
    if (!s)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    s->fd = -1;
    s->record_bytes = opts->record_bytes;
    s->per_block = opts->record_bytes >= BLOCK_TARGET ? 1 : BLOCK_TARGET / opts->record_bytes;
    s->plain_bytes = s->per_block * s->record_bytes;
    s->sealed_bytes = NONCE_BYTES + s->plain_bytes + TAG_BYTES;
    s->page_at = UINT64_MAX;
    s->key = sodium_malloc(KEY_BYTES);
    s->tail = malloc(s->plain_bytes);
    s->page = malloc(s->plain_bytes);
    s->sealed = malloc(s->sealed_bytes);
    st = set_paths(s, opts);
    if (st != FRE_OK || !s->key || !s->tail || !s->page || !s->sealed) {
        st = fre_fail(err, FRE_E_NOMEM, "out of memory");
        goto out;
    }
    if (s->data_path) {
        st = open_resumable(s, err);
    } else {
        randombytes_buf(s->key, KEY_BYTES);
        st = open_anonymous(s, err);
        if (st == FRE_OK)
            st = write_header(s, err);
    }
    if (st != FRE_OK)
        goto out;
    *out = s;
    s = NULL;
out:
    fre_spool_free(s, false);
    return st;
}

/* ---- use --------------------------------------------------------------------------------- */

uint64_t fre_spool_count(const fre_spool *s)
{
    return s->blocks * s->per_block + s->tail_n;
}

/* Moves a full tail to the file.  On failure the tail stays, so that a retry loses nothing. */
static fre_status push(fre_spool *s, fre_err *err)
{
    uint8_t ad[AD_BYTES];
    int e;

    if (s->tail_n < s->per_block)
        return FRE_OK;
    randombytes_buf(s->sealed, NONCE_BYTES);
    make_ad(s, s->blocks, ad);
    (void)crypto_aead_xchacha20poly1305_ietf_encrypt(s->sealed + NONCE_BYTES, NULL, s->tail,
                                                     s->plain_bytes, ad, sizeof ad, NULL, s->sealed,
                                                     s->key);
    e = fre_core_pwrite(s->fd, s->sealed, s->sealed_bytes, block_offset(s, s->blocks));
    if (e != 0)
        return fre_core_write_failed(err, e, "temporary data", s->folder);
    s->blocks++;
    s->tail_n = 0;
    return FRE_OK;
}

fre_status fre_spool_append(fre_spool *s, const void *record, fre_err *err)
{
    fre_status st;

    if (!s || !record)
        return fre_fail(err, FRE_E_ARG, "nothing to append");
    st = push(s, err);
    if (st != FRE_OK)
        return st;
    memcpy(s->tail + s->tail_n * s->record_bytes, record, s->record_bytes);
    s->tail_n++;
    return FRE_OK;
}

fre_status fre_spool_flush(fre_spool *s, fre_err *err)
{
    fre_status st;

    if (!s)
        return fre_fail(err, FRE_E_ARG, "no spool");
    st = push(s, err);
    /* An anonymous file dies with the process; only a resumable one has to reach the disk. */
    if (st == FRE_OK && s->data_path && fdatasync(s->fd) != 0)
        return fre_core_write_failed(err, errno, "temporary data", s->folder);
    return st;
}

fre_status fre_spool_rewind(fre_spool *s, fre_err *err)
{
    if (!s)
        return fre_fail(err, FRE_E_ARG, "no spool");
    s->next = 0;
    return FRE_OK;
}

fre_status fre_spool_next(fre_spool *s, void *out, fre_err *err)
{
    uint64_t block;
    size_t at;
    const uint8_t *from = NULL;

    if (!s || !out)
        return fre_fail(err, FRE_E_ARG, "a spool needs an output for its record");
    if (s->next >= fre_spool_count(s))
        return fre_fail(err, FRE_E_STATE, "the temporary data end here");
    block = s->next / s->per_block;
    at = (size_t)(s->next % s->per_block) * s->record_bytes;
    if (block < s->blocks) {
        fre_status st = load_block(s, block, err);

        if (st != FRE_OK)
            return st;
        from = s->page;
    } else {
        from = s->tail;
    }
    memcpy(out, from + at, s->record_bytes);
    s->next++;
    return FRE_OK;
}

void fre_spool_free(fre_spool *s, bool remove)
{
    if (!s)
        return;
    if (remove && s->key_path && s->fd >= 0) {
        /* The key first: what is left if the second call fails cannot be read. */
        (void)unlink(s->key_path);
        (void)unlink(s->data_path);
    }
    if (s->fd >= 0)
        (void)close(s->fd);
    sodium_free(s->key); /* wipes; NULL is allowed */
    fre_wipe_free(s->tail, s->plain_bytes);
    fre_wipe_free(s->page, s->plain_bytes);
    free(s->sealed);
    free(s->folder);
    free(s->data_path);
    free(s->key_path);
    free(s);
}
