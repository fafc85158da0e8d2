/* serve/site.c - one collection of a process: its machine, and calls of it.
 *
 * A call holds the machine's lock while the machine works and its rows are queued, no longer.  Whatever it says
 * leaves after every row that was queued before it left the machine is committed: also what changed nothing,
 * since it may follow from what another call changed a moment ago. */
#include "serve_private.h"

#define FAILURE_MS 60000
#define HELD_MS 5000

/* ---- a call of the machine ------------------------------------------------------------------------- */

typedef struct call {
    serve_site *x;
    bool quick; /* a client waits */
    bool lost;  /* its rows are not known to be stored: nothing of it may leave */
    unsigned unreached;
    uint8_t name[32]; /* of who asks the issuer */
    fre_status who;
} call;

/* Who the caller is, for the issuer's machine: one call a thread. */
static _Thread_local const call *asking;

static void enter(void *ctx, fre_server *x)
{
    (void)x;
    (void)pthread_mutex_lock(&((call *)ctx)->x->lock);
}

static fre_status keep(void *ctx, fre_server *x, const fre_delta *rows)
{
    (void)x;
    return serve_group_add(&((call *)ctx)->x->group, rows);
}

static void leave(void *ctx, fre_server *x)
{
    call *c = ctx;
    const uint64_t ticket = serve_group_ticket(&c->x->group);

    (void)x;
    (void)pthread_mutex_unlock(&c->x->lock);
    c->lost = !serve_group_wait(&c->x->group, ticket) || c->lost;
}

static fre_status carry(void *ctx, const fre_server *x, fre_role to, fre_bytes message,
                        fre_buf *answer)
{
    call *c = ctx;
    fre_status st;

    (void)x;
    if (c->lost)
        return FRE_E_AGAIN;
    st = serve_peer_post(c->x, to, c->quick, message, answer);
    c->unreached += st == FRE_OK && answer->n == 0;
    return st;
}

static fre_host host_of(call *c)
{
    return (fre_host){.ctx = c, .enter = enter, .leave = leave, .keep = keep, .carry = carry};
}

/* What a machine cannot go on from ends the process: its memory may be half changed. */
static bool is_whole(serve_site *x, const call *c, fre_status st)
{
    if (st == FRE_OK && !c->lost)
        return true;
    if (!c->lost)
        serve_end(x->s, st, "a machine could not make an answer");
    return false;
}

static bool is_available(serve_site *x, int64_t *now)
{
    return serve_clock_now(&x->s->clock, now) && !serve_group_is_stuck(&x->group);
}

/* ---- who asks ------------------------------------------------------------------------------------------ */

static fre_status person(void *ctx, uint8_t name[32], fre_bytes credentials)
{
    const serve_site *x = ctx;

    if (!serve_credentials_wait(x->s->credentials))
        return serve_credentials_ask(x->s->credentials, name, &x->terms.id, credentials);
    if (!asking)
        return FRE_E_AGAIN;
    if (asking->who == FRE_OK)
        memcpy(name, asking->name, sizeof asking->name);
    return asking->who;
}

/* Before the machine is entered to answer: a command may take long. */
static fre_status look_up(serve_site *x, call *c, fre_bytes message)
{
    fre_buf credentials;
    fre_status st;

    c->who = FRE_E_AGAIN;
    if (!x->s->credentials || !serve_credentials_wait(x->s->credentials))
        return FRE_OK;
    fre_buf_init(&credentials, FRE_TICKET_BYTES);
    (void)pthread_mutex_lock(&x->lock);
    st = fre_server_credentials(x->x, &credentials, message);
    (void)pthread_mutex_unlock(&x->lock);
    if (st == FRE_OK && credentials.n > 0)
        c->who = serve_credentials_ask(x->s->credentials, c->name, &x->terms.id,
                                       serve_view(&credentials));
    else if (st == FRE_OK)
        c->who = FRE_E_REFUSED;
    fre_buf_wipe(&credentials);
    return st;
}

/* Where another process could have taken the store over unnoticed: what changes no row, but memory (a mask), is answered
 * only by who has the store still.  Encapsulated requests change rows, or were answered before. */
static fre_status hold_store(serve_site *x, fre_bytes message)
{
    if (!x->group.others || (message.n > 0 && message.p[0] == FRE_COLLECTION_OHTTP_KEY_ID))
        return FRE_OK;
    return serve_group_touch(&x->group);
}

unsigned serve_site_take(serve_site *x, fre_buf *answer, fre_bytes message)
{
    call c = {.x = x, .quick = true};
    const fre_host h = host_of(&c);
    fre_status st;
    int64_t now;
    bool whole;

    if (!is_available(x, &now))
        return 503;
    st = hold_store(x, message);
    if (st == FRE_OK)
        st = look_up(x, &c, message);
    asking = &c;
    if (st == FRE_OK)
        st = fre_server_take(x->x, &h, answer, message, now);
    asking = NULL;
    whole = is_whole(x, &c, st);
    fre_wipe(c.name, sizeof c.name);
    if (!whole)
        fre_buf_wipe(answer);
    return whole ? 200 : 503;
}

/* ---- ticks -------------------------------------------------------------------------------------------------- */

/* The store is away: no call may change the machine, but its keys end by the clock all the same. */
static void expire(serve_site *x)
{
    int64_t now;

    if (!serve_clock_now(&x->s->clock, &now))
        return;
    (void)pthread_mutex_lock(&x->lock);
    fre_server_expire(x->x, now);
    (void)pthread_mutex_unlock(&x->lock);
}

/* Without rows to commit nobody would notice that the store is another process's now. */
static bool still_ours(serve_site *x)
{
    const int64_t now = fre_clock_ms();

    if (!x->group.others || now - x->held_at < HELD_MS)
        return true;
    x->held_at = now;
    return serve_group_touch(&x->group) == FRE_OK;
}

bool serve_site_step(serve_site *x, size_t *letters, unsigned *unreached)
{
    call c = {.x = x};
    const fre_host h = host_of(&c);
    fre_status st;
    int64_t now;

    *letters = 0;
    *unreached = 0;
    if (!is_available(x, &now)) {
        expire(x);
        return false;
    }
    if (!still_ours(x))
        return false;
    if (!serve_keeper_watch(x->s))
        return false;
    st = fre_server_step(x->x, &h, letters, now);
    *unreached = c.unreached;
    return is_whole(x, &c, st);
}

fre_status serve_site_cancel(serve_site *x)
{
    call c = {.x = x};
    fre_delta rows;
    fre_status st;
    int64_t now;

    if (!is_available(x, &now))
        return FRE_E_AGAIN;
    fre_delta_init(&rows);
    enter(&c, x->x);
    st = fre_server_cancel(x->x, &rows, now);
    if (st == FRE_OK)
        st = keep(&c, x->x, &rows);
    leave(&c, x->x);
    fre_delta_wipe(&rows);
    return st == FRE_OK && c.lost ? FRE_E_AGAIN : st;
}

/* ---- making ---------------------------------------------------------------------------------------------------- */

static fre_status new_synthesis(serve_site *x, fre_err *err)
{
    fre_buf statement;
    fre_status st;

    fre_buf_init(&statement, UINT16_MAX);
    st = fre_collection_statement(&statement, &x->terms.c, err);
    if (st == FRE_OK)
        st = fre_server_new_synthesis(&x->x, x->agreement, fre_keys_server(x->keys),
                                      serve_view(&statement), err);
    fre_buf_wipe(&statement);
    return st;
}

static fre_status new_machine(serve_site *x, fre_err *err)
{
    const fre_issuer_host who = {.ctx = x, .person = person};

    switch (x->s->config->role) {
    case FRE_ROLE_RELAY:
        return fre_server_new_relay(&x->x, x->agreement, &fre_keys_server(x->keys)->sign, err);
    case FRE_ROLE_ISSUER:
        return fre_server_new_issuer(&x->x, x->agreement, fre_keys_server(x->keys),
                                     fre_keys_oprf(x->keys), &who, err);
    case FRE_ROLE_TAG:
        return fre_server_new_tagging(&x->x, x->agreement, fre_keys_server(x->keys),
                                      fre_keys_oprf(x->keys), err);
    case FRE_ROLE_SYN:
    default:
        return new_synthesis(x, err);
    }
}

/* S_syn alone looks at public cells. */
static fre_status open_cells(serve_site *x, fre_err *err)
{
    const fre_sketch_spec *spec = &x->terms.c.sketch;
    fre_status st;

    if (spec->kind != FRE_SKETCH_CODEBOOK || x->s->config->role != FRE_ROLE_SYN)
        return FRE_OK;
    if (!x->s->config->codebook)
        return fre_fail(err, FRE_E_NOINPUT,
                        "the collection %.16s has public cells: name their file, \"codebook\"",
                        x->name);
    st = fre_codebook_open_level(&x->codebook, &x->cells, x->s->config->codebook,
                                 spec->codebook.level, err);
    return st == FRE_OK ? fre_agreement_set_cells(x->agreement, x->cells, err) : st;
}

typedef struct restoring {
    serve_site *x;
    fre_err *err;
} restoring;

static fre_status restore(void *ctx, const fre_row *row)
{
    const restoring *r = ctx;

    return fre_server_restore(r->x->x, row, r->err);
}

static fre_status open_group(serve_site *x, fre_err *err)
{
    const fre_store_opts where = {.where = x->s->config->store,
                                  .collection = &x->terms.id,
                                  .role = x->s->config->role,
                                  .key = fre_keys_store(x->keys)};

    x->group.others = serve_has_others(x->s);
    return serve_group_open(&x->group, &where, err);
}

/* Where there are no rows, nothing but the once file has the keys: who began without it would void the collection. */
static fre_status check_once(const serve_site *x, fre_err *err)
{
    const char *once = fre_keys_once_path(x->keys);

    if (!once || fre_keys_has_once(x->keys))
        return FRE_OK;
    return fre_fail(err, FRE_E_NOINPUT,
                    "%.300s: the store has nothing of it, and there is no '%.300s': put the once "
                    "file there; if it or the store is lost, another role cancels",
                    x->terms.path, once);
}

static fre_status load_rows(serve_site *x, fre_err *err)
{
    restoring r = {.x = x, .err = err};
    bool fresh;
    fre_status st = serve_group_load(&x->group, &fresh, restore, &r, err);

    if (st == FRE_OK)
        st = fresh ? check_once(x, err) : fre_server_restore(x->x, NULL, err);
    if (st == FRE_OK)
        serve_site_publish(x);
    return st;
}

/* Of what is in the once file a keeper reads its own, and gives us the rest. */
static fre_status read_once(serve_site *x, fre_err *err)
{
    const fre_role role = x->s->config->role;

    return x->s->keeper && fre_collection_party(&x->terms.c, role).oprf
               ? serve_keeper_open(x, err)
               : fre_keys_read_once(x->keys, err);
}

/* Under the store's lock; and only then what is in the once file. */
static fre_status open_machine(serve_site *x, fre_err *err)
{
    fre_status st = read_once(x, err);

    if (st == FRE_OK)
        st = new_machine(x, err);
    return st == FRE_OK ? load_rows(x, err) : st;
}

static bool make_locks(serve_site *x)
{
    return pthread_mutex_init(&x->lock, NULL) == 0 &&
           pthread_mutex_init(&x->letters_lock, NULL) == 0 &&
           serve_cond_init(&x->letters_due) == 0 &&
           pthread_rwlock_init(&x->published_lock, NULL) == 0;
}

/* The group told of something: its store went, is still away, or came back.  Each minute is enough. */
static void news(void *ctx)
{
    serve_site *x = ctx;
    const bool lost = serve_group_is_lost(&x->group), stuck = serve_group_is_stuck(&x->group);
    const int64_t now = fre_clock_ms();

    if (!stuck || x->failure_said == 0 || now - x->failure_said >= FAILURE_MS) {
        serve_say(x->s, stuck ? "store failed" : "store back", x, NULL);
        x->failure_said = stuck ? now : 0;
    }
    if (lost)
        serve_end(x->s, FRE_E_IO, "the store cannot be gone on with");
}

static fre_status publish_terms(serve_site *x, fre_err *err)
{
    fre_buf b;
    fre_status st;

    fre_buf_init(&b, FRE_WIRE_MESSAGE_MAX);
    st = fre_collection_encode(&b, &x->terms.c, err);
    if (st == FRE_OK)
        st = serve_shared_new(&x->published.terms, serve_view(&b));
    fre_buf_wipe(&b);
    return st;
}

static fre_status open_terms(serve_site *x, fre_err *err)
{
    fre_status st = publish_terms(x, err);

    if (st == FRE_OK)
        st = fre_agreement_new(&x->agreement, &x->terms.c, err);
    return st == FRE_OK ? open_cells(x, err) : st;
}

/* What serve_site_close takes apart; NULL: out of memory. */
static serve_site *make(fre_serve *s, const fre_terms *t)
{
    serve_site *x = calloc(1, sizeof *x);
    char *path = strdup(t->path);

    if (!x || !path || !make_locks(x)) {
        free(x);
        free(path);
        return NULL;
    }
    x->s = s;
    x->terms = *t;
    x->terms.path = path;
    fre_hex(x->name, t->id.b, sizeof t->id.b);
    x->group.news = news;
    x->group.ctx = x;
    return x;
}

static fre_status open_role(serve_site *x, fre_err *err)
{
    fre_status st = open_terms(x, err);

    if (st == FRE_OK)
        st = serve_peers_open(x, err);
    return st == FRE_OK ? open_machine(x, err) : st;
}

/* No key is needed any more once the certificate is made that it shows. */
static fre_status open_front(serve_site *x, fre_err *err)
{
    fre_status st = publish_terms(x, err);

    if (st == FRE_OK)
        st = serve_peers_open(x, err);
    fre_keys_free(x->keys);
    x->keys = NULL;
    return st;
}

fre_status serve_site_open(serve_site **out, fre_serve *s, const fre_terms *t, fre_keys *keys,
                           fre_err *err)
{
    serve_site *x = make(s, t);
    fre_status st;

    if (!x) {
        fre_keys_free(keys);
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    }
    x->keys = keys;
    st = open_group(x, err);
    x->front = st == FRE_E_AGAIN && serve_has_others(s);
    if (x->front)
        st = open_front(x, err);
    else if (st == FRE_OK)
        st = open_role(x, err);
    if (st == FRE_OK)
        *out = x;
    else
        serve_site_close(x);
    return st;
}

static void drop_published(serve_published *p)
{
    serve_shared_drop(p->terms);
    serve_shared_drop(p->list);
    for (uint32_t i = 0; i < p->parts; i++)
        serve_shared_drop(p->part[i]);
    free(p->part);
}

void serve_site_close(serve_site *x)
{
    if (!x)
        return;
    serve_group_close(&x->group);
    serve_peers_close(x);
    fre_server_free(x->x);
    serve_keeper_close(x->kept);
    fre_agreement_free(x->agreement);
    fre_sketch_free(x->cells);
    fre_codebook_free(x->codebook);
    fre_keys_free(x->keys);
    drop_published(&x->published);
    free(x->terms.path);
    (void)pthread_mutex_destroy(&x->lock);
    (void)pthread_mutex_destroy(&x->letters_lock);
    (void)pthread_cond_destroy(&x->letters_due);
    (void)pthread_rwlock_destroy(&x->published_lock);
    free(x);
}

/* ---- what is published -------------------------------------------------------------------------------------- */

static fre_status copy(serve_shared **to, fre_bytes from)
{
    return *to || from.n == 0 ? FRE_OK : serve_shared_new(to, from);
}

static fre_status copy_parts(serve_published *p, const fre_server *x)
{
    const uint32_t n = fre_server_release_parts(x);
    fre_status st = FRE_OK;

    if (p->parts > 0 || n == 0 || fre_server_phase(x) != FRE_PHASE_DONE)
        return FRE_OK;
    p->part = calloc(n, sizeof(serve_shared *));
    if (!p->part)
        return FRE_E_NOMEM;
    for (; st == FRE_OK && p->parts < n; p->parts++)
        st = copy(&p->part[p->parts], fre_server_release_view(x, p->parts));
    return st;
}

/* Copies, so that nobody who reads holds the machine up.  What was not copied for want of memory is copied next
 * time. */
void serve_site_publish(serve_site *x)
{
    fre_status st;

    (void)pthread_rwlock_wrlock(&x->published_lock);
    (void)pthread_mutex_lock(&x->lock);
    atomic_store(&x->phase, (int)fre_server_phase(x->x));
    st = copy(&x->published.list, fre_server_list_view(x->x));
    if (st == FRE_OK)
        st = copy_parts(&x->published, x->x);
    (void)pthread_mutex_unlock(&x->lock);
    if (st != FRE_OK)
        serve_end(x->s, st, "no memory for what is published");
    (void)pthread_rwlock_unlock(&x->published_lock);
}
