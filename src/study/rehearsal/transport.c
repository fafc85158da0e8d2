/* rehearsal/transport.c - a simulation's servers as processes on this machine, over HTTP. */
#include "rehearsal_private.h"

#include <fre/net.h>

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>

#define START_SECONDS 60u
/* Seconds of exchanges and of entries for each client, on two processors that do all of it, and at least. */
#define EXCHANGE_SECONDS 0.008
#define ENTRY_SECONDS 0.004
#define SECONDS_MIN 12

struct fre_rehearsal_transport {
    fre_simulate_transport calls;
    const char *command[3], *codebook;
    char *folder;
    fre_rehearsal *r;
    fre_http_client *relay;
    char path[FRE_NET_PATH_MAX + 1];
};

/* ---- its folder -------------------------------------------------------------------------------------- */

static fre_status make_folder(fre_rehearsal_transport *t, fre_err *err)
{
    const char *where = getenv("TMPDIR");

    if (asprintf(&t->folder, "%s/fre-e2t-XXXXXX", where && where[0] ? where : "/tmp") < 0) {
        t->folder = NULL;
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    }
    if (mkdtemp(t->folder))
        return FRE_OK;
    free(t->folder);
    t->folder = NULL;
    return fre_fail(err, FRE_E_IO, "no temporary folder can be made: %s", strerror(errno));
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *at)
{
    (void)about;
    (void)kind;
    (void)at;
    return remove(path);
}

static void remove_folder(fre_rehearsal_transport *t)
{
    if (t->folder)
        (void)nftw(t->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(t->folder);
    t->folder = NULL;
}

/* ---- calls --------------------------------------------------------------------------------------------- */

static int64_t seconds_for(uint64_t clients, double each)
{
    return SECONDS_MIN + (int64_t)((double)clients * each);
}

static fre_status start_all(fre_rehearsal_transport *t, fre_err *err)
{
    fre_status st = FRE_OK;

    for (unsigned role = FRE_ROLE_TAG; st == FRE_OK && role < FRE_REHEARSAL_ROLES; role++)
        st = fre_rehearsal_start(t->r, (fre_role)role, t->command, err);
    for (unsigned role = FRE_ROLE_TAG; st == FRE_OK && role < FRE_REHEARSAL_ROLES; role++)
        st = fre_rehearsal_wait(t->r, (fre_role)role, START_SECONDS, err);
    return st;
}

static fre_status open_relay(fre_rehearsal_transport *t, fre_err *err)
{
    const fre_http_client_opts o = {.url = t->r->terms.relay_url, .pin = t->r->terms.relay_pin};
    char hex[2 * FRE_HASH_BYTES + 1];
    fre_collection_id id;
    fre_status st = fre_collection_identify(&id, &t->r->terms, err);

    if (st != FRE_OK)
        return st;
    fre_hex(hex, id.b, sizeof id.b);
    (void)snprintf(t->path, sizeof t->path, FRE_COLLECTION_PATH "%s", hex);
    return fre_http_client_new(&t->relay, &o, err);
}

static fre_status open_all(void *ctx, fre_collection *terms, const fre_plan *plan,
                           const uint8_t embedder[FRE_HASH_BYTES], uint64_t batch_min,
                           uint64_t clients, fre_err *err)
{
    fre_rehearsal_transport *t = ctx;
    const int64_t open = fre_clock_unix() + 8, exchange = seconds_for(clients, EXCHANGE_SECONDS),
                  entries = seconds_for(clients, ENTRY_SECONDS);
    const bool one = plan->mechanism.dist.one_contact;
    fre_rehearsal_opts o = {.plan = plan,
                            .batch_min = batch_min,
                            .tls = true,
                            .codebook = t->codebook,
                            .open = open,
                            .exchange_close = open + exchange,
                            .tags_close = open + exchange + entries,
                            .shares_close = open + exchange + (one ? 1 : 3) * entries,
                            .end = open + 10 * (exchange + entries) + 3600};
    fre_status st = make_folder(t, err);

    if (st != FRE_OK)
        return st;
    o.folder = t->folder;
    memcpy(o.embedder, embedder, sizeof o.embedder);
    st = fre_rehearsal_make(&t->r, &o, err);
    if (st == FRE_OK)
        st = start_all(t, err);
    if (st == FRE_OK)
        st = open_relay(t, err);
    if (st == FRE_OK)
        *terms = t->r->terms;
    return st;
}

static fre_status credentials(void *ctx, uint8_t *out, size_t *n, const fre_collection_id *id,
                              uint64_t i)
{
    const fre_rehearsal_transport *t = ctx;
    char name[FRE_TICKET_NAME_MAX + 1];

    (void)snprintf(name, sizeof name, "client %llu", (unsigned long long)i);
    return fre_ticket_make(out, n, t->r->ticket_key, id, name, NULL);
}

/* What was not answered, or not yet, is an empty answer. */
static fre_status settle(fre_status st, unsigned status, fre_buf *answer)
{
    if (st == FRE_OK && status == 200)
        return st;
    fre_buf_wipe(answer);
    return st == FRE_E_NOMEM || st == FRE_E_KEY ? st : FRE_OK;
}

static fre_status carry(void *ctx, fre_bytes message, fre_buf *answer)
{
    fre_rehearsal_transport *t = ctx;
    unsigned status = 0;
    const fre_status st = fre_http_post(t->relay, answer, &status, NULL, t->path, message, NULL);

    return settle(st, status, answer);
}

static fre_status fetch(void *ctx, const char *what, fre_buf *out)
{
    fre_rehearsal_transport *t = ctx;
    char path[FRE_NET_PATH_MAX + 64];
    unsigned status = 0;
    fre_status st;

    (void)snprintf(path, sizeof path, "%s/%s", t->path, what);
    st = fre_http_get(t->relay, out, &status, NULL, path, NULL);
    return settle(st, status, out);
}

static void close_all(void *ctx, uint64_t peak_kib[FRE_REHEARSAL_ROLES])
{
    fre_rehearsal_transport *t = ctx;

    fre_http_client_free(t->relay);
    t->relay = NULL;
    for (unsigned role = FRE_ROLE_TAG; role < FRE_REHEARSAL_ROLES; role++)
        (void)fre_rehearsal_stop(t->r, (fre_role)role, SIGTERM, &peak_kib[role]);
}

fre_status fre_rehearsal_transport_new(fre_rehearsal_transport **out, const char *const command[3],
                                       const char *codebook, fre_err *err)
{
    fre_rehearsal_transport *t;

    if (!out || !command)
        return FRE_E_ARG;
    t = calloc(1, sizeof *t);
    if (!t)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    for (unsigned i = 0; i < 3; i++)
        t->command[i] = command[i];
    t->codebook = codebook;
    t->calls = (fre_simulate_transport){.ctx = t,
                                        .open = open_all,
                                        .credentials = credentials,
                                        .carry = carry,
                                        .fetch = fetch,
                                        .close = close_all};
    *out = t;
    return FRE_OK;
}

const fre_simulate_transport *fre_rehearsal_transport_calls(const fre_rehearsal_transport *t)
{
    return &t->calls;
}

void fre_rehearsal_transport_free(fre_rehearsal_transport *t)
{
    if (!t)
        return;
    fre_http_client_free(t->relay);
    fre_rehearsal_free(t->r);
    remove_folder(t);
    free(t);
}
