/* request.c - one request from its first line to the end of its answer, on its loop's thread but for serve. */
#include "net_private.h"

#define ANSWER_BYTES_A_SECOND 65536u

static net_connection *connection_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

/* ---- the first line ------------------------------------------------------------------------------- */

/* target: as it was sent, before anything is unescaped or cut off. */
void *net_on_target(void *cls, const char *target, struct MHD_Connection *mhd)
{
    net_request *r = calloc(1, sizeof *r);

    (void)cls;
    if (!r)
        return NULL;
    r->connection = connection_of(mhd);
    if (net_path_ok(target))
        memcpy(r->path, target, strlen(target) + 1);
    r->head.path = r->path;
    return r;
}

/* From a worker, to be answered or, where its client went away meanwhile, only to be freed. */
static void came_back(net_request *r)
{
    if (r->away)
        r->connection->loop->at_work--;
    r->away = false;
}

void net_on_completed(void *cls, struct MHD_Connection *mhd, void **request,
                      enum MHD_RequestTerminationCode why)
{
    fre_http *h = ((net_loop *)cls)->http;
    net_request *r = *request;

    (void)mhd;
    (void)why;
    if (!r)
        return;
    *request = NULL;
    came_back(r);
    if (r->connection) {
        r->connection->phase = NET_HEAD;
        r->connection->deadline = fre_clock_ms() + 1000 * (int64_t)h->opts.head_seconds;
    }
    if (r->counted) {
        (void)pthread_mutex_lock(&h->lock);
        if (--h->active == 0)
            (void)pthread_cond_broadcast(&h->idle);
        (void)pthread_mutex_unlock(&h->lock);
    }
    fre_buf_wipe(&r->body);
    fre_buf_wipe(&r->reply.body);
    if (r->reply.done)
        r->reply.done(r->reply.owner);
    free(r);
}

/* ---- the answer ----------------------------------------------------------------------------------- */

static fre_bytes body_of(const net_request *r)
{
    return r->reply.done ? r->reply.shared : (fre_bytes){r->reply.body.p, r->reply.body.n};
}

static bool add_headers(struct MHD_Response *response, const net_request *r)
{
    char seconds[16];
    bool ok = MHD_add_response_header(response, "Cache-Control", "no-store") == MHD_YES;

    if (body_of(r).n > 0)
        ok &= MHD_add_response_header(response, "Content-Type", r->reply.type) == MHD_YES;
    if (r->reply.retry_after > 0) {
        (void)snprintf(seconds, sizeof seconds, "%u", r->reply.retry_after);
        ok &= MHD_add_response_header(response, "Retry-After", seconds) == MHD_YES;
    }
    if (!r->keep)
        ok &= MHD_add_response_header(response, "Connection", "close") == MHD_YES;
    return ok;
}

static enum MHD_Result answer(net_request *r)
{
    const unsigned body_seconds = r->connection->loop->http->opts.body_seconds;
    const fre_bytes body = body_of(r);
    struct MHD_Response *response;
    enum MHD_Result ok = MHD_NO;

    if (r->reply.status < 200 || r->reply.status > 599)
        r->reply.status = 500;
    if ((r->reply.status == 429 || r->reply.status == 503) && r->reply.retry_after == 0)
        r->reply.retry_after = 1;
    /* Borrowed: the request outlives the sending. */
    response =
        MHD_create_response_from_buffer(body.n, (void *)(uintptr_t)body.p, MHD_RESPMEM_PERSISTENT);
    if (!response)
        return MHD_NO;
    r->stage = NET_DONE;
    r->connection->phase = NET_ANSWER;
    r->connection->deadline =
        fre_clock_ms() + 1000 * ((int64_t)body_seconds + (int64_t)(body.n / ANSWER_BYTES_A_SECOND));
    if (add_headers(response, r))
        ok = MHD_queue_response(r->connection->mhd, r->reply.status, response);
    MHD_destroy_response(response);
    return ok;
}

static enum MHD_Result refuse(net_request *r, unsigned status)
{
    fre_buf_wipe(&r->reply.body);
    r->reply.status = status;
    r->reply.retry_after = status == 429 ? net_rate_wait() : 0;
    r->keep = false;
    return answer(r);
}

/* ---- the head ------------------------------------------------------------------------------------- */

static enum MHD_Result take(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    net_head_take(cls, name, value);
    return MHD_YES;
}

/* Counts it among what is under way; false: nothing new is. */
static bool begin(fre_http *h, net_request *r)
{
    (void)pthread_mutex_lock(&h->lock);
    r->counted = !atomic_load(&h->quiet);
    h->active += r->counted;
    (void)pthread_mutex_unlock(&h->lock);
    return r->counted;
}

static bool too_often(const fre_http *h, const net_request *r)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(r->connection->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

    return info && !net_rate_take(h->rate, info->client_addr);
}

static bool method_of(fre_http_method *out, const char *method)
{
    *out = strcmp(method, "POST") == 0 ? FRE_HTTP_POST : FRE_HTTP_GET;
    return *out == FRE_HTTP_POST || strcmp(method, "GET") == 0;
}

static unsigned admit(const fre_http *h, net_request *r, uint64_t length)
{
    size_t most = 0;
    const unsigned status = h->handler.admit(h->handler.ctx, &r->head, length, &most);

    if (status != 0 || r->head.method == FRE_HTTP_GET)
        return status;
    if (length > most)
        return 413;
    fre_buf_init(&r->body, (size_t)length);
    return 0;
}

/* 0: it may go on. */
static unsigned look(fre_http *h, net_request *r, const char *method)
{
    net_head head = {.bad = false};
    unsigned status;

    if (!begin(h, r))
        return 503;
    if (too_often(h, r))
        return 429;
    if (r->path[0] == '\0')
        return 404;
    if (!method_of(&r->head.method, method))
        return 405;
    (void)MHD_get_connection_values(r->connection->mhd, MHD_HEADER_KIND, take, &head);
    status = net_head_verdict(&head, r->head.method);
    return status != 0 ? status : admit(h, r, head.length);
}

static enum MHD_Result on_head(fre_http *h, net_request *r, const char *method)
{
    net_connection *c = r->connection;
    unsigned status;

    r->keep = h->handler.knows != NULL;
    if (r->keep && !net_session_peer(r->pin, c->session, &h->handler))
        return MHD_NO; /* known no longer, or the handshake should have failed: nothing is answered */
    r->head.peer = r->keep ? r->pin : NULL;
    /* Without a pin the one request of a connection is its last, and what follows it is never read. */
    if (c->used && !r->keep)
        return MHD_NO;
    c->used = true;
    r->reply = (fre_http_reply){.status = 200, .type = FRE_NET_TYPE};
    fre_buf_init(&r->reply.body, SIZE_MAX / 2);
    r->stage = NET_READING;
    status = look(h, r, method);
    if (status != 0)
        return refuse(r, status);
    c->phase = NET_BODY;
    c->deadline = fre_clock_ms() + 1000 * (int64_t)h->opts.body_seconds;
    return MHD_YES;
}

/* ---- the body, and the whole ---------------------------------------------------------------------- */

static enum MHD_Result on_whole(fre_http *h, net_request *r)
{
    net_loop *l = r->connection->loop;

    r->head.body = (fre_bytes){r->body.p, r->body.n};
    r->stage = NET_AT_WORK;
    r->connection->phase = NET_WORK;
    r->away = true;
    l->at_work++;
    if (net_queue_push(&h->queue, r))
        return MHD_YES;
    came_back(r);
    return refuse(r, 503);
}

static enum MHD_Result on_worked(net_request *r)
{
    came_back(r);
    r->keep &= !atomic_load(&r->connection->loop->http->quiet);
    return answer(r);
}

enum MHD_Result net_on_request(void *cls, struct MHD_Connection *mhd, const char *url,
                               const char *method, const char *version, const char *data, size_t *n,
                               void **request)
{
    fre_http *h = ((net_loop *)cls)->http;
    net_request *r = *request;

    (void)mhd;
    (void)url;
    (void)version;
    if (!r || !r->connection || r->connection->expired)
        return MHD_NO;
    if (r->stage == NET_NEW)
        return on_head(h, r, method);
    if (r->stage == NET_READING && *n > 0) {
        if (fre_buf_append(&r->body, data, *n) != FRE_OK)
            return MHD_NO;
        *n = 0;
        return MHD_YES;
    }
    if (r->stage == NET_READING)
        return on_whole(h, r);
    return on_worked(r);
}
