/* serve/keeper_process.c - the keeper: VOPRF keys in a process that nothing else leads to (docs/decisions/0042).
 *
 * What it does for its server is a table: each request at its time, so often in the life of the process.  Times are
 * the server's sure time when it opened the collection, and what went by since then on the system's own clock. */
#include "keeper.h"

#include <fre/map.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define LABEL "fre/keeper/wrap/v1"
#define EARLY_SECONDS 60 /* the server keeps the exact times */
#define LATE_SECONDS 600
#define LOOK_SECONDS 10 /* poll does not count a sleep */
#define VOUCH_RUNS 16u  /* one that stopped halfway runs again */
#define HASH_BYTES 16u

typedef struct entry { /* locked */
    fre_wire w;
    fre_role role;
    uint8_t terms[FRE_HASH_BYTES]; /* hash of what was opened first */
    uint8_t wrap[FRE_WRAP_BYTES];  /* SECRET */
    fre_keeper *key;               /* NULL: closed */
    bool over;                     /* for good */
    int64_t now, clock_ms;         /* the server's time, and our clock's then */
    fre_map evaluated;             /* hashes of what was; cells_per_user elements each */
    uint64_t vouched;
} entry;

typedef struct keeper {
    entry **at; /* n; none is ever taken out: what is over stays over */
    size_t n, cap;
    keeper_request *request; /* SECRET */
    keeper_answer *answer;   /* SECRET */
} keeper;

/* ---- time ---------------------------------------------------------------------------------------------- */

static int64_t now_of(const entry *e)
{
    return e->now + (fre_clock_boot_ms() - e->clock_ms) / 1000;
}

static int64_t end_of(const entry *e)
{
    return fre_mask_end(&e->w.c, e->role == FRE_ROLE_TAG ? FRE_MASK_TAG_OPRF : FRE_MASK_ISSUER);
}

static void finish(entry *e)
{
    e->over = true;
    if (e->key)
        e->key->wipe(e->key->ctx);
}

/* *ms: until the next key ends, at most so long as one that ended in a sleep may stay; -1: none does. */
static void expire(const keeper *k, int *ms)
{
    *ms = -1;
    for (size_t i = 0; i < k->n; i++) {
        entry *e = k->at[i];
        const int64_t left = end_of(e) - now_of(e);

        if (!e->over && left <= 0)
            finish(e);
        if (!e->over && (*ms < 0 || left * 1000 < *ms))
            *ms = left < LOOK_SECONDS ? (int)left * 1000 : LOOK_SECONDS * 1000;
    }
}

/* ---- open ------------------------------------------------------------------------------------------------ */

static entry *find(const keeper *k, const fre_oprf_public *pk)
{
    for (size_t i = 0; i < k->n; i++) {
        const entry *e = k->at[i];

        if (memcmp(fre_collection_party(&e->w.c, e->role).oprf->b, pk->b, sizeof pk->b) == 0)
            return k->at[i];
    }
    return NULL;
}

static fre_status add(keeper *k, entry **out, const fre_collection *c, const keeper_open *o,
                      fre_err *err)
{
    entry *e;
    fre_status st = fre_grow((void **)&k->at, &k->cap, k->n + 1, sizeof(entry *));

    if (st != FRE_OK)
        return st;
    e = sodium_malloc(sizeof *e);
    if (!e)
        return FRE_E_NOMEM;
    memset(e, 0, sizeof *e);
    e->role = o->role;
    fre_map_init(&e->evaluated, HASH_BYTES);
    st = fre_wire_init(&e->w, c, err);
    if (st != FRE_OK) {
        sodium_free(e);
        return st;
    }
    e->now = o->now;
    e->clock_ms = fre_clock_boot_ms();
    *out = k->at[k->n++] = e;
    return FRE_OK;
}

/* A key's first terms are its terms. */
static fre_status same_terms(entry *e, bool fresh, const keeper_open *o, fre_err *err)
{
    uint8_t hash[FRE_HASH_BYTES];
    fre_sha256 h;

    fre_sha256_begin(&h, (fre_bytes){o->terms, o->terms_bytes});
    fre_sha256_end(hash, &h);
    if (fresh)
        memcpy(e->terms, hash, sizeof hash);
    return memcmp(e->terms, hash, sizeof hash) == 0 && e->role == o->role
               ? FRE_OK
               : fre_fail(err, FRE_E_REFUSED,
                          "its VOPRF key was opened for other terms before: new terms need new "
                          "keys (collection keygen)");
}

static fre_status entry_of(keeper *k, entry **out, const keeper_open *o, fre_err *err)
{
    fre_collection c;
    fre_party t;
    bool fresh;
    fre_status st = o->terms_bytes <= sizeof o->terms
                        ? fre_collection_decode(&c, (fre_bytes){o->terms, o->terms_bytes}, err)
                        : FRE_E_ARG;

    if (st != FRE_OK)
        return st;
    t = fre_collection_party(&c, o->role);
    if (!t.oprf)
        return FRE_E_ARG;
    *out = find(k, t.oprf);
    fresh = !*out;
    if (fresh)
        st = add(k, out, &c, o, err);
    return st == FRE_OK ? same_terms(*out, fresh, o, err) : st;
}

/* A key that is over stays away; the seal key beside it is the server's. */
static fre_status fill(entry *e, keeper_answer *a, const keeper_open *o, fre_err *err)
{
    fre_once once;
    fre_status st = fre_wrap_read(e->wrap, o->wrap, &e->w.c, e->role, err);

    if (st == FRE_OK)
        st = fre_once_read(&once, o->once, &e->w.c, e->role, err);
    if (st != FRE_OK)
        return st;
    fre_keeper_free(e->key);
    e->key = NULL;
    st = fre_keeper_new(&e->key, &e->w, e->role, once.there && !e->over ? &once.oprf : NULL, err);
    a->u.open.here = st == FRE_OK && e->key->here(e->key->ctx);
    a->u.open.once = once.there;
    a->u.open.seal = once.seal;
    fre_wipe(&once, sizeof once);
    return st;
}

static fre_status open_one(keeper *k, keeper_answer *a, const keeper_open *o)
{
    entry *e = NULL;
    int ms;
    fre_status st = entry_of(k, &e, o, &a->u.open.err);

    if (st != FRE_OK)
        return st;
    for (a->at = 0; k->at[a->at] != e; a->at++)
        ;
    expire(k, &ms);
    return fill(e, a, o, &a->u.open.err);
}

/* ---- the other requests ------------------------------------------------------------------------------------- */

/* NULL: there is none, or it is over. */
static entry *usable(const keeper *k, uint32_t at)
{
    entry *e = at < k->n ? k->at[at] : NULL;

    return e && e->key && !e->over ? e : NULL;
}

static uint64_t records(const entry *e)
{
    return e->w.c.users * e->w.c.cells_per_user;
}

/* Was it evaluated before, or may one more be? */
static fre_status count(entry *e, const fre_oprf_element *blinded, uint32_t n)
{
    uint8_t hash[FRE_HASH_BYTES];
    uint32_t index;
    bool added;
    fre_sha256 h;

    fre_sha256_begin(&h, (fre_bytes){e->wrap, sizeof e->wrap});
    fre_sha256_add(&h, blinded, n * sizeof *blinded);
    fre_sha256_end(hash, &h);
    if (fre_map_find(&e->evaluated, hash) != FRE_MAP_NONE)
        return FRE_OK;
    return (e->evaluated.n + 1) * (uint64_t)n <= records(e)
               ? fre_map_put(&e->evaluated, &index, &added, hash)
               : FRE_E_STATE;
}

static fre_status evaluate(entry *e, keeper_answer *a, const keeper_request *q)
{
    const fre_collection *c = &e->w.c;
    const int64_t now = now_of(e);
    fre_status st;

    if (q->n != c->cells_per_user)
        return FRE_E_ARG;
    if (now < c->open - EARLY_SECONDS || now >= c->exchange_close + LATE_SECONDS)
        return FRE_E_STATE;
    st = count(e, q->u.blinded, q->n);
    return st == FRE_OK ? e->key->evaluate(e->key->ctx, a->u.evaluate.evaluated,
                                           &a->u.evaluate.proof, q->u.blinded, q->n)
                        : st;
}

static fre_status vouch(entry *e, keeper_answer *a, const keeper_request *q)
{
    if (e->role != FRE_ROLE_ISSUER || q->n > KEEPER_MEMBERS_MAX)
        return FRE_E_ARG;
    if (now_of(e) < e->w.c.tags_close - EARLY_SECONDS ||
        e->vouched + q->n > VOUCH_RUNS * records(e))
        return FRE_E_STATE;
    e->vouched += q->n;
    return e->key->vouch(e->key->ctx, a->u.right, &q->u.vouch.tag, q->u.vouch.member, q->n);
}

/* What only this process adds to a mask: the server, which has both mask and masked key, has no key. */
static void wrap(uint8_t io[FRE_OPRF_SCALAR_BYTES], const entry *e,
                 const uint8_t mask[FRE_OPRF_SCALAR_BYTES])
{
    uint8_t pad[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_state h;

    (void)crypto_auth_hmacsha256_init(&h, e->wrap, sizeof e->wrap);
    (void)crypto_auth_hmacsha256_update(&h, (const uint8_t *)LABEL, sizeof LABEL - 1);
    (void)crypto_auth_hmacsha256_update(&h, e->w.id.b, sizeof e->w.id.b);
    (void)crypto_auth_hmacsha256_update(&h, mask, FRE_OPRF_SCALAR_BYTES);
    (void)crypto_auth_hmacsha256_final(&h, pad);
    for (unsigned i = 0; i < FRE_OPRF_SCALAR_BYTES; i++)
        io[i] ^= pad[i];
    fre_wipe(&h, sizeof h);
    fre_wipe(pad, sizeof pad);
}

static fre_status mask(const entry *e, keeper_answer *a, const keeper_request *q)
{
    fre_status st;

    memcpy(a->u.masked, q->u.mask.mask, sizeof a->u.masked);
    st = e->key->mask(e->key->ctx, a->u.masked);
    if (st == FRE_OK)
        wrap(a->u.masked, e, q->u.mask.mask);
    return st;
}

static fre_status unmask(const entry *e, keeper_request *q)
{
    wrap(q->u.mask.masked, e, q->u.mask.mask);
    return e->key->unmask(e->key->ctx, q->u.mask.masked, q->u.mask.mask);
}

static fre_status wipe(const keeper *k, const keeper_request *q)
{
    if (q->at >= k->n)
        return FRE_E_ARG;
    finish(k->at[q->at]);
    return FRE_OK;
}

static fre_status drop(const keeper *k, const keeper_request *q)
{
    if (q->at >= k->n)
        return FRE_E_ARG;
    fre_keeper_free(k->at[q->at]->key);
    k->at[q->at]->key = NULL;
    return FRE_OK;
}

static fre_status use(entry *e, keeper_answer *a, keeper_request *q)
{
    switch (q->verb) {
    case KEEPER_EVALUATE:
        return evaluate(e, a, q);
    case KEEPER_VOUCH:
        return vouch(e, a, q);
    case KEEPER_MASK:
        return mask(e, a, q);
    case KEEPER_UNMASK:
        return unmask(e, q);
    case KEEPER_OPEN:
    case KEEPER_WIPE:
    case KEEPER_DROP:
    default:
        return FRE_E_ARG;
    }
}

/* ---- the loop -------------------------------------------------------------------------------------------------- */

/* Of an answer, behind its head. */
static size_t answer_bytes(keeper_verb verb)
{
    const keeper_answer *a = NULL;

    switch (verb) {
    case KEEPER_OPEN:
        return sizeof a->u.open;
    case KEEPER_EVALUATE:
        return sizeof a->u.evaluate;
    case KEEPER_VOUCH:
        return sizeof a->u.right;
    case KEEPER_MASK:
        return sizeof a->u.masked;
    case KEEPER_UNMASK:
    case KEEPER_WIPE:
    case KEEPER_DROP:
    default:
        return 0;
    }
}

static void answer(keeper *k)
{
    keeper_request *q = k->request;
    keeper_answer *a = k->answer;
    entry *e = usable(k, q->at);

    if (q->verb == KEEPER_OPEN) {
        q->u.open.once[PATH_MAX - 1] = q->u.open.wrap[PATH_MAX - 1] = 0;
        a->st = open_one(k, a, &q->u.open);
    } else if (q->verb == KEEPER_WIPE) {
        a->st = wipe(k, q);
    } else if (q->verb == KEEPER_DROP) {
        a->st = drop(k, q);
    } else {
        a->st = e ? use(e, a, q) : FRE_E_STATE;
    }
}

/* False: the server is gone, or speaks otherwise. */
static bool serve_one(keeper *k, int socket)
{
    size_t n;
    ssize_t got;

    fre_wipe(k->request, sizeof *k->request);
    fre_wipe(k->answer, sizeof *k->answer);
    got = recv(socket, k->request, sizeof *k->request, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (got < (ssize_t)KEEPER_HEAD)
        return false;
    answer(k);
    n = KEEPER_ANSWER_HEAD + answer_bytes(k->request->verb);
    got = send(socket, k->answer, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    fre_wipe(k->request, sizeof *k->request);
    fre_wipe(k->answer, sizeof *k->answer);
    return got == (ssize_t)n;
}

static void loop(keeper *k, int socket)
{
    struct pollfd f = {.fd = socket, .events = POLLIN};
    int ms;

    do
        expire(k, &ms);
    while ((poll(&f, 1, ms) >= 0 || errno == EINTR) && (f.revents == 0 || serve_one(k, socket)));
}

/* ---- a process of its own ------------------------------------------------------------------------------------------ */

/* Standard descriptors lead nowhere, the socket is the next, and there is no other. */
static int stand_alone(int socket)
{
    const int none = open("/dev/null", O_RDWR | O_CLOEXEC),
              high = fcntl(socket, F_DUPFD_CLOEXEC, 3);

    for (int i = 0; none >= 0 && i < 3; i++)
        (void)dup2(none, i);
    if (none < 0 || high < 0 || (high != 3 && dup2(high, 3) < 0))
        return -1;
    closefrom(4);
    return 3;
}

static void ignore_signals(void)
{
    static const int all[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGUSR1, SIGUSR2};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        (void)signal(all[i], SIG_IGN);
}

/* Locks are not inherited.  What cannot be locked is in memory that is written nowhere, or we end. */
static fre_status lock_memory(const keeper *k)
{
    (void)sodium_mlock(k->request, sizeof *k->request);
    (void)sodium_mlock(k->answer, sizeof *k->answer);
    return serve_keep_from_swap(NULL);
}

void keeper_run(int socket, keeper_request *request, keeper_answer *answer, pid_t parent)
{
    keeper k = {.request = request, .answer = answer};
    int own;
    fre_status st;

    ignore_signals();
    (void)setsid();
    (void)prctl(PR_SET_NAME, "fre-keeper");
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    own = stand_alone(socket);
    if (own < 0 || getppid() != parent)
        _exit(1);
    st = lock_memory(&k);
    if (send(own, &st, sizeof st, MSG_NOSIGNAL) == (ssize_t)sizeof st && st == FRE_OK)
        loop(&k, own);
    for (size_t i = 0; i < k.n; i++) {
        fre_keeper_free(k.at[i]->key);
        fre_wipe(k.at[i], sizeof *k.at[i]);
    }
    _exit(0);
}
