/* rate.c - requests a minute of one network.  A table of fixed size under a key that is new each minute: what was
 * counted can be told from the table by nobody, and nobody can choose addresses that meet in it. */
#include "net_private.h"

#include <netinet/in.h>

#define RATE_SETS 8192u /* of RATE_WAYS entries: 1 MiB */
#define RATE_WAYS 8u
#define RATE_MINUTE_MS 60000

typedef struct rate_entry {
    uint64_t mark; /* of a network; 0: free */
    uint32_t n;
} rate_entry;

struct net_rate {
    pthread_mutex_t lock;
    fre_rng rng;
    uint8_t key[32]; /* SECRET */
    int64_t minute;
    unsigned most;
    rate_entry entry[RATE_SETS][RATE_WAYS];
};

fre_status net_rate_new(net_rate **out, unsigned a_minute)
{
    net_rate *r = calloc(1, sizeof *r);
    fre_status st;

    if (!r)
        return FRE_E_NOMEM;
    st = fre_rng_init(&r->rng);
    if (st != FRE_OK) {
        free(r);
        return st;
    }
    (void)pthread_mutex_init(&r->lock, NULL);
    r->most = a_minute;
    r->minute = -1;
    *out = r;
    return FRE_OK;
}

void net_rate_free(net_rate *r)
{
    if (!r)
        return;
    (void)pthread_mutex_destroy(&r->lock);
    fre_wipe_free(r, sizeof *r);
}

/* The bytes of an address that count: four of IPv4, seven of IPv6.  0: of no network. */
static size_t network_of(uint8_t out[8], const struct sockaddr *address)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    const uint8_t *p;

    if (address->sa_family == AF_INET) {
        memcpy(out, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
        return 4;
    }
    if (address->sa_family != AF_INET6)
        return 0;
    p = ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr.s6_addr;
    if (memcmp(p, mapped, sizeof mapped) == 0) {
        memcpy(out, p + sizeof mapped, 4);
        return 4;
    }
    memcpy(out, p, 7);
    return 7;
}

static void begin_minute(net_rate *r)
{
    const int64_t minute = fre_clock_ms() / RATE_MINUTE_MS;

    if (minute == r->minute)
        return;
    r->minute = minute;
    fre_rng_bytes(&r->rng, r->key, sizeof r->key);
    fre_wipe(r->entry, sizeof r->entry);
}

/* Its own, or else the one of its set that was asked for least. */
static rate_entry *entry_of(net_rate *r, const uint8_t hash[16])
{
    uint64_t mark;
    uint32_t at;
    rate_entry *set, *least;

    memcpy(&mark, hash, sizeof mark);
    memcpy(&at, hash + sizeof mark, sizeof at);
    mark |= 1;
    set = least = r->entry[at % RATE_SETS];
    for (unsigned i = 0; i < RATE_WAYS; i++) {
        if (set[i].mark == mark)
            return &set[i];
        least = set[i].n < least->n ? &set[i] : least;
    }
    *least = (rate_entry){.mark = mark};
    return least;
}

bool net_rate_take(net_rate *r, const struct sockaddr *address)
{
    uint8_t network[8], hash[16];
    size_t n;
    rate_entry *e;
    bool ok;

    if (!r || !address)
        return true;
    n = network_of(network, address);
    if (n == 0)
        return true;
    (void)pthread_mutex_lock(&r->lock);
    begin_minute(r);
    fre_hash128(hash, r->key, network, n);
    e = entry_of(r, hash);
    ok = e->n < r->most;
    e->n += ok;
    (void)pthread_mutex_unlock(&r->lock);
    fre_wipe(network, sizeof network);
    return ok;
}

unsigned net_rate_wait(void)
{
    return (unsigned)((RATE_MINUTE_MS - fre_clock_ms() % RATE_MINUTE_MS) / 1000) + 1;
}
