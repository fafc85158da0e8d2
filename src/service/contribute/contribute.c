/* contribute/contribute.c - a device, from the first coin to the last receipt; see fre/contribute.h. */
#include "contribute_private.h"

#define LOOK_MS 500u
#define PAUSE_MS 1000u
#define PAUSE_MS_MAX 300000u

typedef struct device {
    const fre_contribute_opts *o;
    const fre_wire *w;
    state state;
    fre_server *client;
    fre_http_client *relay;
    char path[FRE_NET_PATH_BYTES];
    size_t unanswered; /* letters of the last step */
    fre_status wrong;  /* of the way: FRE_E_KEY */
    fre_err *err;
} device;

/* ---- the host of the client's machine ------------------------------------------------------------------- */

static fre_status keep(void *ctx, fre_server *x, const fre_delta *rows)
{
    device *d = ctx;

    (void)x;
    return state_add(&d->state, rows, d->err);
}

/* Nothing but the relay's address is in the terms for us. */
static fre_status carry(void *ctx, const fre_server *x, fre_role to, fre_bytes message,
                        fre_buf *answer)
{
    device *d = ctx;
    unsigned status = 0;
    fre_status st;

    (void)x;
    if (to != FRE_ROLE_RELAY)
        return FRE_E_INTERNAL;
    st = fre_http_post(d->relay, answer, &status, NULL, d->path, message, d->err);
    if (st == FRE_OK && status == 200)
        return FRE_OK;
    fre_buf_wipe(answer);
    d->unanswered++;
    if (st == FRE_E_KEY)
        d->wrong = st;
    return st == FRE_E_NOMEM || st == FRE_E_KEY ? st : FRE_OK;
}

/* path: of `what` there. */
static fre_status open_relay(fre_http_client **out, char path[FRE_NET_PATH_BYTES],
                             const fre_collection *c, const char *what, const char *proxy,
                             fre_err *err)
{
    char origin[FRE_NET_URL_BYTES], rest[sizeof FRE_COLLECTION_PATH + 2 * FRE_HASH_BYTES];
    const fre_http_client_opts opts = {.url = origin,
                                       .pin = strncmp(c->relay_url, "https:", 6) == 0 ? c->relay_pin
                                                                                      : NULL,
                                       .proxy = proxy};

    (void)snprintf(rest, sizeof rest, FRE_COLLECTION_PATH "%s", what);
    if (!fre_net_split(origin, path, c->relay_url, rest))
        return fre_fail(err, FRE_E_DATA, "the relay's address is too long");
    return fre_http_client_new(out, &opts, err);
}

fre_status contribute_get(fre_buf *out, fre_http_client *c, const char *path, const char *absent,
                          fre_status absent_st, fre_err *err)
{
    unsigned status = 0;
    fre_status st = fre_http_get(c, out, &status, NULL, path, err);

    fre_http_client_free(c);
    if (st != FRE_OK || status == 200)
        return st;
    fre_buf_wipe(out);
    return status == 404 ? fre_fail(err, absent_st, "%s", absent)
                         : fre_fail(err, FRE_E_AGAIN, "the relay has no time now: try again later");
}

fre_status fre_contribute_fetch_log(fre_buf *out, const fre_collection *c, const char *proxy,
                                    fre_err *err)
{
    char path[FRE_NET_PATH_BYTES];
    fre_http_client *relay = NULL;
    fre_status st;

    if (!out || !c)
        return FRE_E_ARG;
    st = open_relay(&relay, path, c, "log", proxy, err);
    return st == FRE_OK ? contribute_get(out, relay, path,
                                         "the relay serves no log of collections, which would say "
                                         "whether everybody was given these terms",
                                         FRE_E_REFUSED, err)
                        : st;
}

/* ---- the machine -------------------------------------------------------------------------------------------- */

static fre_status make_client(device *d, bool fresh, fre_err *err)
{
    const fre_bytes x = state_row(&d->state, STATE_EMBEDDINGS);
    const uint32_t dim = d->w->c.dim;
    float *copy = malloc(x.n + 1); /* aligned */
    const fre_client_setup setup = {.x = copy,
                                    .n = (uint32_t)(x.n / (dim * sizeof *copy)),
                                    .credentials = state_row(&d->state, STATE_CREDENTIALS),
                                    .fresh = fresh};
    fre_status st;

    if (!copy)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    if (x.n > 0)
        memcpy(copy, x.p, x.n);
    st = fre_server_new_client(&d->client, d->o->terms, &setup, err);
    fre_wipe_free(copy, x.n + 1);
    return st;
}

/* Coins are drawn by the machine's first call, which keeps them: without rows of it nothing has left. */
static bool has_begun(const state *s)
{
    fre_row r;
    size_t at = 0;

    while (fre_delta_next(&s->rows, &at, &r))
        if (r.table < STATE_EMBEDDINGS)
            return true;
    return false;
}

static fre_status restore(device *d, fre_err *err)
{
    fre_status st = make_client(d, false, err);
    size_t at = 0;
    fre_row r;

    while (st == FRE_OK && fre_delta_next(&d->state.rows, &at, &r))
        if (r.table < STATE_EMBEDDINGS)
            st = fre_server_restore(d->client, &r, err);
    return st == FRE_OK ? fre_server_restore(d->client, NULL, err) : st;
}

static fre_status begin(device *d, fre_err *err)
{
    const fre_contribute_opts *o = d->o;
    const fre_bytes x = {(const uint8_t *)o->x, (size_t)o->n * d->w->c.dim * sizeof *o->x};
    fre_status st = state_add_row(&d->state, STATE_EMBEDDINGS, x, err);

    if (st == FRE_OK)
        st = state_add_row(&d->state, STATE_CREDENTIALS, o->credentials, err);
    return st == FRE_OK ? make_client(d, true, err) : st;
}

/* ---- until all is said ----------------------------------------------------------------------------------------- */

static bool is_over(const device *d)
{
    const fre_phase p = fre_server_phase(d->client);

    return d->w->c.one_contact ? p >= FRE_PHASE_CLOSED : p >= FRE_PHASE_SUMMING;
}

/* Two contacts: the list, as soon as the relay has it. */
static fre_status fetch_list(device *d)
{
    const fre_host h = {.ctx = d, .keep = keep, .carry = carry};
    const int64_t now = fre_clock_unix();
    char path[sizeof d->path + 8];
    fre_buf list, answer;
    unsigned status = 0;
    fre_status st;

    if (d->w->c.one_contact || now < d->w->c.tags_close ||
        fre_server_phase(d->client) >= FRE_PHASE_ANSWERING)
        return FRE_OK;
    fre_buf_init(&list, FRE_WIRE_MESSAGE_MAX);
    fre_buf_init(&answer, FRE_WIRE_MESSAGE_MAX);
    (void)snprintf(path, sizeof path, "%s/list", d->path);
    st = fre_http_get(d->relay, &list, &status, NULL, path, d->err);
    if (st == FRE_OK && status == 200)
        st = fre_server_take(d->client, &h, &answer, (fre_bytes){list.p, list.n}, now);
    else
        st = st == FRE_E_NOMEM || st == FRE_E_KEY ? st : FRE_OK;
    fre_buf_wipe(&list);
    fre_buf_wipe(&answer);
    return st;
}

static fre_status step(device *d)
{
    const fre_host h = {.ctx = d, .keep = keep, .carry = carry};
    fre_status st;

    d->unanswered = 0;
    st = fetch_list(d);
    for (unsigned i = 0; st == FRE_OK && i < 3 && !is_over(d) && d->unanswered == 0; i++) {
        size_t letters;

        st = fre_server_step(d->client, &h, &letters, fre_clock_unix());
        if (letters == 0)
            break;
    }
    return st;
}

static void rest(unsigned ms)
{
    const unsigned all = fre_jitter_ms(ms);

    for (unsigned done = 0; done < all && !fre_interrupted(); done += LOOK_MS)
        fre_sleep_ms(all - done < LOOK_MS ? all - done : LOOK_MS);
}

static void tell(const device *d)
{
    static const char *const what[] = {[FRE_PHASE_WAITING] = "waiting for its time",
                                       [FRE_PHASE_TAKING] = "taking part",
                                       [FRE_PHASE_ANSWERING] = "answering the list"};
    const fre_phase p = fre_server_phase(d->client);

    if (d->o->said && p < sizeof what / sizeof *what && what[p])
        d->o->said(d->o->ctx, d->unanswered > 0 ? "waiting for the relay" : what[p]);
}

static fre_status go_on(device *d)
{
    unsigned ms = PAUSE_MS;
    fre_status st = FRE_OK;

    for (;;) {
        st = step(d);
        if (st != FRE_OK || is_over(d) || d->o->once)
            return st;
        if (fre_interrupted())
            return FRE_E_INTERRUPTED;
        tell(d);
        if (d->unanswered == 0)
            ms = PAUSE_MS;
        else
            ms = ms < PAUSE_MS_MAX / 2 ? 2 * ms : PAUSE_MS_MAX;
        rest(ms);
    }
}

/* ---- how it ended -------------------------------------------------------------------------------------------- */

static fre_status explain(fre_status verdict, fre_err *err)
{
    if (verdict == FRE_OK)
        return verdict;
    if (verdict == FRE_E_PROOF)
        return fre_fail(err, verdict,
                        "a server answered with another key than the collection's; nothing was "
                        "contributed, and this device takes no part any more");
    if (verdict == FRE_E_REFUSED)
        return fre_fail(err, verdict,
                        "not admitted, or the collection was cancelled; nothing was contributed");
    return fre_fail(err, FRE_E_REFUSED,
                    "too late: the collection closed before everything was taken");
}

static fre_status finish(device *d, fre_status st, fre_err *err)
{
    fre_status kept;

    if (st != FRE_OK)
        return st == FRE_E_INTERRUPTED || (err && err->text[0])
                   ? st
                   : fre_fail(err, st, "%s", fre_status_text(st));
    if (!is_over(d))
        return fre_fail(err, FRE_E_AGAIN,
                        "not all is said yet: run it again with the same state before the "
                        "collection closes");
    st = fre_server_client_verdict(d->client);
    kept = state_end(&d->state, st, err);
    return kept == FRE_OK ? explain(st, err) : kept;
}

static fre_status run(device *d, fre_err *err)
{
    char id[2 * FRE_HASH_BYTES + 1];
    fre_status st;

    fre_hex(id, d->w->id.b, sizeof d->w->id.b);
    st = open_relay(&d->relay, d->path, &d->w->c, id, d->o->proxy, err);
    if (st == FRE_OK)
        st = has_begun(&d->state) ? restore(d, err) : begin(d, err);
    if (st != FRE_OK)
        return st;
    return finish(d, go_on(d), err);
}

fre_status fre_contribute_has_begun(bool *out, const char *path, const fre_collection_id *id,
                                    fre_err *err)
{
    state s;
    fre_status st;

    if (!out || !path || !id)
        return FRE_E_ARG;
    st = state_open(&s, path, id, err);
    if (st == FRE_OK)
        *out = has_begun(&s) || state_row(&s, STATE_VERDICT).n > 0;
    state_close(&s);
    return st;
}

fre_status fre_contribute(bool *already, const fre_contribute_opts *o, fre_err *err)
{
    device d = {.o = o, .err = err};
    fre_bytes verdict;
    fre_status st;

    if (!already || !o || !o->terms || !o->state || (o->n > 0 && !o->x))
        return FRE_E_ARG;
    d.w = fre_agreement_wire(o->terms);
    if (o->n > d.w->c.cells_per_user || o->credentials.n > FRE_WIRE_CREDENTIALS_MAX)
        return fre_fail(err, FRE_E_ARG, "more texts than places, or too long credentials");
    st = state_open(&d.state, o->state, &d.w->id, err);
    verdict = state_row(&d.state, STATE_VERDICT);
    *already = st == FRE_OK && verdict.n == 1;
    if (st == FRE_OK && *already && verdict.p[0] != 1)
        st = fre_fail(err, FRE_E_REFUSED,
                      "this device's part in the collection ended before everything was taken");
    else if (st == FRE_OK && !*already)
        st = run(&d, err);
    fre_server_free(d.client);
    fre_http_client_free(d.relay);
    state_close(&d.state);
    return st;
}
