/* numbers.c - for schedules by the million: numbers in the place of the curves of libsodium, in front of
 * which the linker puts these functions.  An element is twice a scalar of ristretto255, its product with
 * a scalar theirs modulo the order; keys of X25519 likewise; a signature is a hash of key and message.
 * SHA-256 is a hash that is quick and that anybody could invert, and secret memory is memory.  All equations of
 * the protocol hold, and nothing is hidden: no test of secrecy runs on this. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 32u

static void scalar_of(unsigned char *out, const unsigned char *in)
{
    unsigned char wide[64] = {0};

    memcpy(wide, in, BYTES);
    crypto_core_ristretto255_scalar_reduce(out, wide);
}

/* Elements are even and not zero, as canonical encodings are. */
static void element_of(unsigned char *out, const unsigned char *scalar)
{
    for (size_t i = BYTES; i-- > 0;)
        out[i] = (unsigned char)(scalar[i] << 1 | (i > 0 ? scalar[i - 1] >> 7 : 0));
}

static void half_of(unsigned char *out, const unsigned char *element)
{
    for (size_t i = 0; i < BYTES; i++)
        out[i] = (unsigned char)(element[i] >> 1 | (i + 1 < BYTES ? element[i + 1] << 7 : 0));
}

static int is_zero(const unsigned char *x)
{
    return sodium_is_zero(x, BYTES);
}

int crypto_core_ristretto255_is_valid_point(const unsigned char *p)
{
    unsigned char half[BYTES], reduced[BYTES];

    half_of(half, p);
    scalar_of(reduced, half);
    return (p[0] & 1) == 0 && memcmp(half, reduced, BYTES) == 0;
}

int crypto_core_ristretto255_from_hash(unsigned char *p, const unsigned char *r)
{
    unsigned char scalar[BYTES];

    crypto_core_ristretto255_scalar_reduce(scalar, r);
    element_of(p, scalar);
    return 0;
}

static int multiply(unsigned char *out, const unsigned char *n, const unsigned char *half)
{
    unsigned char product[BYTES];

    crypto_core_ristretto255_scalar_mul(product, n, half);
    element_of(out, product);
    return is_zero(out) ? -1 : 0;
}

int crypto_scalarmult_ristretto255(unsigned char *q, const unsigned char *n, const unsigned char *p)
{
    unsigned char half[BYTES];

    if (!crypto_core_ristretto255_is_valid_point(p))
        return -1;
    half_of(half, p);
    return multiply(q, n, half);
}

int crypto_scalarmult_ristretto255_base(unsigned char *q, const unsigned char *n)
{
    const unsigned char one[BYTES] = {1};

    return multiply(q, n, one);
}

int crypto_core_ristretto255_add(unsigned char *r, const unsigned char *p, const unsigned char *q)
{
    unsigned char a[BYTES], b[BYTES], sum[BYTES];

    half_of(a, p);
    half_of(b, q);
    crypto_core_ristretto255_scalar_add(sum, a, b);
    element_of(r, sum);
    return 0;
}

int crypto_core_ristretto255_sub(unsigned char *r, const unsigned char *p, const unsigned char *q)
{
    unsigned char a[BYTES], b[BYTES], difference[BYTES];

    half_of(a, p);
    half_of(b, q);
    crypto_core_ristretto255_scalar_sub(difference, a, b);
    element_of(r, difference);
    return 0;
}

int crypto_scalarmult_curve25519_base(unsigned char *q, const unsigned char *n)
{
    scalar_of(q, n);
    return 0;
}

int crypto_scalarmult_curve25519(unsigned char *q, const unsigned char *n, const unsigned char *p)
{
    unsigned char a[BYTES], b[BYTES];

    scalar_of(a, n);
    scalar_of(b, p);
    crypto_core_ristretto255_scalar_mul(q, a, b);
    return is_zero(q) ? -1 : 0;
}

int crypto_sign_seed_keypair(unsigned char *pk, unsigned char *sk, const unsigned char *seed)
{
    crypto_generichash(pk, BYTES, seed, BYTES, NULL, 0);
    memcpy(sk, seed, BYTES);
    memcpy(sk + BYTES, pk, BYTES);
    return 0;
}

static void sign(unsigned char *sig, const unsigned char *m, unsigned long long n,
                 const unsigned char *pk)
{
    crypto_generichash(sig, crypto_sign_BYTES, m, n, pk, BYTES);
}

int crypto_sign_detached(unsigned char *sig, unsigned long long *n_sig, const unsigned char *m,
                         unsigned long long n, const unsigned char *sk)
{
    sign(sig, m, n, sk + BYTES);
    if (n_sig)
        *n_sig = crypto_sign_BYTES;
    return 0;
}

int crypto_sign_verify_detached(const unsigned char *sig, const unsigned char *m,
                                unsigned long long n, const unsigned char *pk)
{
    unsigned char own[crypto_sign_BYTES];

    sign(own, m, n, pk);
    return memcmp(own, sig, sizeof own) == 0 ? 0 : -1;
}

/* ---- hashes ------------------------------------------------------------------------------------ */

#define LANES 4u
#define WORD 8u

static void absorb(crypto_hash_sha256_state *s, uint64_t word)
{
    uint64_t lane[LANES], x;
    const unsigned i = s->count / WORD % LANES;

    memcpy(lane, s->state, sizeof lane);
    x = (lane[i] ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 29;
    lane[i] = x * UINT64_C(0xbf58476d1ce4e5b9) + s->count;
    lane[(i + 1) % LANES] ^= x << 23 | x >> 41;
    memcpy(s->state, lane, sizeof lane);
}

int crypto_hash_sha256_init(crypto_hash_sha256_state *s)
{
    memset(s, 0, sizeof *s);
    return 0;
}

int crypto_hash_sha256_update(crypto_hash_sha256_state *s, const unsigned char *in,
                              unsigned long long n)
{
    for (unsigned long long k = 0; k < n; k++) {
        uint64_t word;

        s->buf[s->count % WORD] = in[k];
        if (s->count % WORD == WORD - 1) {
            memcpy(&word, s->buf, sizeof word);
            absorb(s, word);
        }
        s->count++;
    }
    return 0;
}

int crypto_hash_sha256_final(crypto_hash_sha256_state *s, unsigned char *out)
{
    const uint64_t n = s->count;
    uint64_t rest = 0;

    memcpy(&rest, s->buf, n % WORD);
    absorb(s, rest);
    for (unsigned i = 0; i < 2 * LANES; i++) {
        s->count += WORD;
        absorb(s, n);
    }
    memcpy(out, s->state, BYTES);
    return 0;
}

int crypto_hash_sha256(unsigned char *out, const unsigned char *in, unsigned long long n)
{
    crypto_hash_sha256_state s;

    (void)crypto_hash_sha256_init(&s);
    (void)crypto_hash_sha256_update(&s, in, n);
    return crypto_hash_sha256_final(&s, out);
}

int crypto_auth_hmacsha256_init(crypto_auth_hmacsha256_state *s, const unsigned char *key, size_t n)
{
    const uint64_t bytes = n;

    (void)crypto_hash_sha256_init(&s->ictx);
    (void)crypto_hash_sha256_update(&s->ictx, (const unsigned char *)&bytes, sizeof bytes);
    return crypto_hash_sha256_update(&s->ictx, key, n);
}

int crypto_auth_hmacsha256_update(crypto_auth_hmacsha256_state *s, const unsigned char *in,
                                  unsigned long long n)
{
    return crypto_hash_sha256_update(&s->ictx, in, n);
}

int crypto_auth_hmacsha256_final(crypto_auth_hmacsha256_state *s, unsigned char *out)
{
    return crypto_hash_sha256_final(&s->ictx, out);
}

/* ---- memory ------------------------------------------------------------------------------------ */

void *sodium_malloc(const size_t n)
{
    return malloc(n);
}

void sodium_free(void *p)
{
    free(p);
}
