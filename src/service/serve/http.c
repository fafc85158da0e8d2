/* serve/http.c - what is asked over HTTP, and of which listener.  docs/wire.md, section 9. */
#include "serve_private.h"

#include <stdio.h>

#define CLIENT_BYTES 131072u /* no message of a client is longer */
#define FILES_MAX 16u        /* descriptors beside connections */

/* Path of a collection:  PREFIX /fre/v2/ID [/list | /release/N] */
typedef enum what { NOTHING, TERMS, LIST, PART, LOG } what;

typedef struct asked {
    serve_site *x;
    const char *rest; /* of the path, behind the collection's */
    what what;
    uint32_t part;
} asked;

/* As an address in the terms has it, or as a proxy that took that off leaves it. */
static bool prefix_ok(const serve_site *x, const char *path, size_t n)
{
    return n == 0 || (n == strlen(x->own_path) && memcmp(path, x->own_path, n) == 0);
}

static what what_of(const char *rest, uint32_t *part)
{
    char *end = NULL;
    unsigned long n;

    if (rest[0] == 0)
        return TERMS;
    if (strcmp(rest, "/list") == 0)
        return LIST;
    if (strncmp(rest, "/release/", 9) != 0 || rest[9] < '0' || rest[9] > '9' ||
        (rest[9] == '0' && rest[10] != 0) || strlen(rest + 9) > 5)
        return NOTHING;
    n = strtoul(rest + 9, &end, 10);
    *part = (uint32_t)n;
    return *end == 0 ? PART : NOTHING;
}

/* What is asked is over, whatever it was. */
static void leave(const asked *a)
{
    serve_sites_leave(a->x);
}

/* To be left. */
static asked enter(fre_serve *s, const char *path)
{
    const char *at = strstr(path, FRE_COLLECTION_PATH),
               *name = at ? at + sizeof FRE_COLLECTION_PATH - 1 : "";
    asked a = {.what = NOTHING};

    if (strcmp(name, "log") == 0 && s->config->log)
        a.what = LOG;
    else if (strlen(name) >= sizeof a.x->name - 1)
        a.x = serve_sites_enter(s, name);
    if (a.x && prefix_ok(a.x, path, (size_t)(at - path))) {
        a.rest = name + sizeof a.x->name - 1;
        a.what = what_of(a.rest, &a.part);
    }
    return a;
}

/* ---- before a body is read -------------------------------------------------------------------------------- */

static unsigned admit(fre_serve *s, const fre_http_request *r, size_t *max, size_t most)
{
    const asked a = enter(s, r->path);

    leave(&a);
    if (a.what == NOTHING)
        return 404;
    if (r->method == FRE_HTTP_GET)
        return 0;
    if (a.what != TERMS)
        return 405;
    *max = most;
    return 0;
}

static unsigned admit_client(void *ctx, const fre_http_request *r, uint64_t length, size_t *max)
{
    (void)length;
    return admit(ctx, r, max, CLIENT_BYTES);
}

static unsigned admit_peer(void *ctx, const fre_http_request *r, uint64_t length, size_t *max)
{
    (void)length;
    return admit(ctx, r, max, FRE_WIRE_MESSAGE_MAX);
}

/* ---- answers ---------------------------------------------------------------------------------------------- */

static serve_shared *published(const asked *a)
{
    const serve_published *p = &a->x->published;

    if (a->what == TERMS)
        return p->terms;
    if (a->what == LIST)
        return p->list;
    return a->part < p->parts ? p->part[a->part] : NULL;
}

/* One user of it is the answer. */
static void give(fre_http_reply *out, serve_shared *b)
{
    if (!b || b->bytes.n == 0) {
        out->status = 404; /* not yet, or never */
        serve_shared_drop(b);
        return;
    }
    out->shared = serve_view(&b->bytes);
    out->done = serve_shared_drop;
    out->owner = b;
}

/* asks: a front asks who has the store. */
static void get(fre_serve *s, const asked *a, bool asks, fre_http_reply *out)
{
    serve_shared *found;

    if (a->what == LOG) {
        give(out, serve_sites_log(s));
        return;
    }
    if (s->config->role != FRE_ROLE_RELAY && a->what != TERMS) {
        out->status = 404;
        return;
    }
    (void)pthread_rwlock_rdlock(&a->x->published_lock);
    found = serve_shared_take(published(a));
    (void)pthread_rwlock_unlock(&a->x->published_lock);
    if (!found && asks)
        found = serve_front_get(a->x, a->rest, &out->status);
    if (out->status == 200)
        give(out, found);
}

static void post(fre_serve *s, const asked *a, fre_role from, const fre_http_request *r,
                 fre_http_reply *out)
{
    if (!serve_may_send(s->config->role, from, r->body)) {
        if (fre_rejection_encode(&out->body, FRE_REJECTED_MALFORMED) != FRE_OK)
            out->status = 503;
        return;
    }
    if (a->x->front) {
        out->status = from == (fre_role)0 ? serve_front_take(a->x, &out->body, r->body) : 503;
        return;
    }
    out->status = serve_site_take(a->x, &out->body, r->body);
    if (from != (fre_role)0 && from != s->config->role) /* what was awaited may be there */
        serve_letters_wake(a->x);
}

static void serve_client(void *ctx, const fre_http_request *r, fre_http_reply *out)
{
    fre_serve *s = ctx;
    const asked a = enter(s, r->path);

    if (a.what == NOTHING)
        out->status = 404;
    else if (r->method == FRE_HTTP_GET)
        get(s, &a, a.x && a.x->front, out);
    else
        post(s, &a, (fre_role)0, r, out);
    leave(&a);
}

/* By the key of its certificate.  Without TLS, on the loopback of a rehearsal, the message's own signer. */
static fre_role peer_of(const fre_serve *s, const asked *a, const fre_http_request *r)
{
    fre_role from;

    if (r->peer)
        return serve_role_of(a->x, r->peer);
    from = s->tls ? (fre_role)0 : serve_signer_of(s->config->role, r->body);
    return from == s->config->role && !serve_has_others(s) ? (fre_role)0 : from;
}

static void serve_peer(void *ctx, const fre_http_request *r, fre_http_reply *out)
{
    fre_serve *s = ctx;
    const asked a = enter(s, r->path);
    fre_role from = (fre_role)0;

    if (a.what == NOTHING)
        out->status = 404;
    else if (r->method == FRE_HTTP_GET)
        get(s, &a, false, out);
    else if ((from = peer_of(s, &a, r)) == (fre_role)0)
        out->status = 403;
    else
        post(s, &a, from, r, out);
    leave(&a);
}

static bool knows_peer(void *ctx, const uint8_t pin[FRE_NET_PIN_BYTES])
{
    return serve_sites_know(ctx, pin);
}

/* ---- health ------------------------------------------------------------------------------------------------ */

static unsigned admit_health(void *ctx, const fre_http_request *r, uint64_t length, size_t *max)
{
    (void)ctx;
    (void)length;
    (void)max;
    if (strcmp(r->path, "/healthz") != 0 && strcmp(r->path, "/readyz") != 0 &&
        strcmp(r->path, "/metrics") != 0)
        return 404;
    return r->method == FRE_HTTP_GET ? 0 : 405;
}

/* Never waits for a machine. */
static void serve_health(void *ctx, const fre_http_request *r, fre_http_reply *out)
{
    fre_serve *s = ctx;
    fre_status st;

    out->type = "text/plain; charset=utf-8";
    if (strcmp(r->path, "/metrics") == 0) {
        out->type = "text/plain; version=0.0.4; charset=utf-8";
        st = serve_metrics(&out->body, s);
    } else if (strcmp(r->path, "/readyz") == 0 && !serve_is_ready(s)) {
        out->status = 503;
        st = fre_buf_printf(&out->body, "not ready\n");
    } else {
        st = fre_buf_printf(&out->body, "ok\n");
    }
    if (st != FRE_OK)
        out->status = 503;
}

/* ---- listening --------------------------------------------------------------------------------------------- */

static fre_status listen_at(fre_http **out, const fre_config_listener *l, fre_http_opts *o,
                            const fre_http_handler *h, fre_err *err)
{
    if (!l->address)
        return FRE_OK;
    o->address = l->address;
    o->port = l->port;
    o->workers = l->workers;
    o->max_connections = l->connections;
    o->requests_a_minute = l->requests_a_minute;
    o->queue = l->connections > 256 ? l->connections : 256;
    return fre_http_listen(out, o, h, err);
}

fre_status serve_listen(fre_serve *s, fre_bytes certificate, fre_bytes key, fre_err *err)
{
    const fre_config *c = s->config;
    const fre_http_handler clients = {.ctx = s, .admit = admit_client, .serve = serve_client},
                           peers = {.ctx = s,
                                    .admit = admit_peer,
                                    .serve = serve_peer,
                                    .knows = s->tls ? knows_peer : NULL},
                           health = {.ctx = s, .admit = admit_health, .serve = serve_health};
    fre_http_opts o = {.certificate_pem = certificate, .key_pem = key}, plain = {.threads = 1};
    fre_status st = listen_at(&s->clients, &c->clients, &o, &clients, err);

    o.body_seconds = 120;
    if (st == FRE_OK)
        st = listen_at(&s->peers, &c->peer, &o, &peers, err);
    return st == FRE_OK ? listen_at(&s->health, &c->health, &plain, &health, err) : st;
}
