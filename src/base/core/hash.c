/* hash.c - SHA-256 of files, the keyed look-up hash, hexadecimal. */
#include "core_private.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES 65536u

_Static_assert(sizeof(fre_sha256) >= sizeof(crypto_hash_sha256_state) &&
                   _Alignof(fre_sha256) >= _Alignof(crypto_hash_sha256_state),
               "the state fits");

static crypto_hash_sha256_state *state_of(fre_sha256 *h)
{
    return (crypto_hash_sha256_state *)(void *)h->state;
}

void fre_sha256_begin(fre_sha256 *h, fre_bytes salt)
{
    (void)crypto_hash_sha256_init(state_of(h));
    if (salt.n > 0)
        fre_sha256_add(h, salt.p, salt.n);
}

/* count is of bits: where no block is begun, whole ones can be done here. */
void fre_sha256_add(fre_sha256 *h, const void *p, size_t n)
{
    crypto_hash_sha256_state *s = state_of(h);
    const uint8_t *bytes = p;
    const size_t done = s->count % 512 == 0 ? core_hash_blocks(s->state, bytes, n) : 0;

    s->count += 8 * (uint64_t)done;
    if (n > done)
        (void)crypto_hash_sha256_update(s, bytes + done, n - done);
}

/* What was hashed may be private text: the state's tail does not stay behind. */
void fre_sha256_end(uint8_t out[FRE_HASH_BYTES], fre_sha256 *h)
{
    (void)crypto_hash_sha256_final(state_of(h), out);
    fre_wipe(h, sizeof *h);
}

fre_status fre_sha256_read(uint8_t out[FRE_HASH_BYTES], fre_bytes salt, fre_read_fn *fn, void *ctx,
                           const char *name, fre_err *err)
{
    fre_sha256 h;
    uint8_t block[READ_BYTES];
    fre_status st = FRE_OK;

    fre_sha256_begin(&h, salt);
    for (;;) {
        ssize_t n;

        if (fre_interrupted()) {
            st = fre_fail(err, FRE_E_INTERRUPTED, "interrupted");
            break;
        }
        n = fn(ctx, block, sizeof block);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int e = errno;

            st = fre_fail(err, e == EISDIR ? FRE_E_NOINPUT : FRE_E_IO, "cannot read '%.300s': %s",
                          name, strerror(e));
            break;
        }
        if (n == 0)
            break;
        fre_sha256_add(&h, block, (size_t)n);
    }
    if (st == FRE_OK)
        fre_sha256_end(out, &h);
    fre_wipe(block, sizeof block);
    fre_wipe(&h, sizeof h);
    return st;
}

static ssize_t read_fd(void *ctx, uint8_t *out, size_t n)
{
    return read(*(const int *)ctx, out, n);
}

fre_status fre_sha256_file(uint8_t out[FRE_HASH_BYTES], const char *path, fre_err *err)
{
    const fre_bytes none = {.p = NULL, .n = 0};
    fre_status st;
    int fd;

    if (!out || !path)
        return fre_fail(err, FRE_E_ARG, "a file to hash needs a path and an output");
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return fre_open_failed(err, errno, FRE_E_NOINPUT, FRE_CHECK_PATH, "cannot open '%.300s'",
                               path);
    st = fre_sha256_read(out, none, read_fd, &fd, path, err);
    (void)close(fd);
    return st;
}

void fre_hash128(uint8_t out[16], const uint8_t key[32], const void *p, size_t n)
{
    /* Sizes are inside BLAKE2b's limits, so the call cannot fail. */
    (void)crypto_generichash(out, 16, p, n, key, 32);
}

void fre_hex(char *out, const uint8_t *p, size_t n)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[p[i] >> 4];
        out[2 * i + 1] = digits[p[i] & 15];
    }
    out[2 * n] = '\0';
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool fre_unhex(uint8_t *out, size_t n, const char *hex)
{
    if (!hex || strnlen(hex, 2 * n + 1) != 2 * n)
        return false;
    for (size_t i = 0; i < 2 * n; i++) {
        if (digit(hex[i]) < 0)
            return false;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(digit(hex[2 * i]) * 16 + digit(hex[2 * i + 1]));
    return true;
}
