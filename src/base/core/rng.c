/* rng.c - ChaCha20 (RFC 8439) with fast key erasure (Bernstein, "Fast-key-erasure random-number
 * generators", 2017): each refill yields the next key and 1024 bytes; a byte is wiped when read,
 * so a later look into the state shows nothing that was drawn before. */
#include "core_private.h"

#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A page that the kernel zeroes in every child (MADV_WIPEONFORK, Linux 4.14), whichever call made
 * it.  It holds a random mark; a stream that carries another mark was copied by a fork.  Cheaper
 * than getpid() at each draw and not fooled by a reused pid. */
static pthread_once_t page_once = PTHREAD_ONCE_INIT;
static _Atomic int64_t *page; /* NULL: the kernel has no such pages, getpid() serves */

static void make_page(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return;
    if (madvise(p, 4096, MADV_WIPEONFORK) != 0) {
        (void)munmap(p, 4096);
        return;
    }
    page = p;
}

static int64_t process_mark(void)
{
    int64_t mark;

    if (!page)
        return (int64_t)getpid();
    mark = atomic_load_explicit(page, memory_order_relaxed);
    if (mark == 0) {
        int64_t fresh, none = 0;

        do {
            randombytes_buf(&fresh, sizeof fresh);
        } while (fresh == 0);
        /* Another thread may have been first: its mark then counts. */
        mark = atomic_compare_exchange_strong(page, &none, fresh) ? fresh : none;
    }
    return mark;
}

fre_status fre_core_ready(void)
{
    return sodium_init() < 0 ? FRE_E_INTERNAL : FRE_OK;
}

static fre_status start(fre_rng *r)
{
    fre_status st = fre_core_ready();

    if (st != FRE_OK)
        return st;
    (void)pthread_once(&page_once, make_page);
    *r = (fre_rng){.left = 0, .pid = process_mark(), .seeded = false};
    return FRE_OK;
}

fre_status fre_rng_init(fre_rng *r)
{
    fre_status st;

    if (!r)
        return FRE_E_ARG;
    st = start(r);
    if (st == FRE_OK)
        randombytes_buf(r->key, sizeof r->key);
    return st;
}

fre_status fre_rng_init_seeded(fre_rng *r, const uint8_t seed[32], const char *label)
{
    fre_status st;

    if (!r || !seed || !label)
        return FRE_E_ARG;
    st = start(r);
    if (st != FRE_OK)
        return st;
    r->seeded = true;
    (void)crypto_generichash(r->key, sizeof r->key, (const unsigned char *)label, strlen(label),
                             seed, FRE_SEED_BYTES);
    return FRE_OK;
}

/* Names are many and draws of each few, so the first of them come from the hash itself. */
fre_status fre_rng_init_named(fre_rng *r, const uint8_t key[FRE_SEED_BYTES], const void *name,
                              size_t n)
{
    uint8_t out[crypto_generichash_BYTES_MAX]; /* the next refill's key, and draws */
    const size_t draws = sizeof out - sizeof r->key;
    fre_status st = start(r);

    if (st != FRE_OK)
        return st;
    (void)crypto_generichash(out, sizeof out, name, n, key, FRE_SEED_BYTES);
    memcpy(r->key, out, sizeof r->key);
    memcpy(r->block + sizeof r->block - draws, out + sizeof r->key, draws);
    r->left = draws;
    r->seeded = true;
    fre_wipe(out, sizeof out);
    return FRE_OK;
}

void fre_rng_wipe(fre_rng *r)
{
    if (r)
        fre_wipe(r, sizeof *r);
}

static void refill(fre_rng *r)
{
    static const uint8_t nonce[crypto_stream_chacha20_ietf_NONCEBYTES];
    uint8_t stream[sizeof r->key + sizeof r->block];

    /* A key makes one refill only, so the nonce can be constant. */
    (void)crypto_stream_chacha20_ietf(stream, sizeof stream, nonce, r->key);
    memcpy(r->key, stream, sizeof r->key);
    memcpy(r->block, stream + sizeof r->key, sizeof r->block);
    r->left = sizeof r->block;
    fre_wipe(stream, sizeof stream);
}

static void check_fork(fre_rng *r)
{
    int64_t mark = process_mark();

    if (r->pid == mark)
        return;
    /* A copy of a seeded stream would repeat the parent's draws, and no other key can keep the
     * promise of repeatability; a stream that was never set up has no key at all.  In parentheses:
     * the one deliberate death in the library, exempt from the ban. */
    if (r->seeded || r->pid == 0)
        (abort)();
    randombytes_buf(r->key, sizeof r->key);
    fre_wipe(r->block, sizeof r->block);
    r->left = 0;
    r->pid = mark;
}

void fre_rng_bytes(fre_rng *r, void *out, size_t n)
{
    uint8_t *to = out;

    check_fork(r);
    while (n > 0) {
        uint8_t *from;
        size_t take;

        if (r->left == 0)
            refill(r);
        take = n < r->left ? n : r->left;
        from = r->block + sizeof r->block - r->left;
        memcpy(to, from, take);
        fre_wipe(from, take);
        r->left -= take;
        to += take;
        n -= take;
    }
}

/* The next n <= 8 bytes as a little-endian number. */
static uint64_t draw(fre_rng *r, size_t n)
{
    uint8_t b[8] = {0};
    uint64_t x = 0;

    fre_rng_bytes(r, b, n);
    for (size_t i = n; i-- > 0;)
        x = x << 8 | b[i];
    return x;
}

uint32_t fre_rng_u32(fre_rng *r)
{
    return (uint32_t)draw(r, 4);
}

uint64_t fre_rng_u64(fre_rng *r)
{
    return draw(r, 8);
}

uint64_t fre_rng_below(fre_rng *r, uint64_t n)
{
    uint64_t mask, x;

    if (n <= 1)
        return 0;
    /* Smallest 2^b - 1 >= n - 1: fewer than two draws expected, no division on a secret. */
    mask = UINT64_MAX >> __builtin_clzll((unsigned long long)(n - 1));
    do {
        x = fre_rng_u64(r) & mask;
    } while (x >= n);
    return x;
}
