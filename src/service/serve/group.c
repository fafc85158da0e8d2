/* serve/group.c - commits: rows of many calls in one transaction, and what is done when the store fails.
 *
 * A failed commit may have been stored or not.  Rows are set or erased by their keys, so that committing the
 * same ones again comes to the same, as long as nobody else wrote in between: that is what the row of the
 * owner is for, which is looked at whenever the store was away. */
#include "serve_private.h"

#define OWNER_TABLE 255u /* no machine has it */
#define LINGER_MS 4      /* what comes so close together leaves together */
#define RETRY_MS_MAX 10000u

static fre_row owner_row(const serve_group *g)
{
    return (fre_row){.table = OWNER_TABLE, .value = {g->owner, sizeof g->owner}};
}

/* ---- opening ---------------------------------------------------------------------------------------- */

typedef struct reading {
    serve_group *g;
    bool any, ours;
    fre_status (*fn)(void *ctx, const fre_row *row);
    void *ctx;
} reading;

static fre_status read_row(void *ctx, const fre_row *row)
{
    reading *r = ctx;

    r->any = true;
    if (row->table != OWNER_TABLE)
        return r->fn ? r->fn(r->ctx, row) : FRE_OK;
    r->ours = row->value.n == sizeof r->g->owner &&
              memcmp(row->value.p, r->g->owner, sizeof r->g->owner) == 0;
    return FRE_OK;
}

static fre_status claim(serve_group *g, fre_err *err)
{
    const fre_row row = owner_row(g);
    const fre_delta *one;
    fre_delta d;
    fre_status st;

    fre_delta_init(&d);
    one = &d;
    st = fre_delta_add(&d, &row);
    if (st == FRE_OK)
        st = fre_store_commit(g->store, &one, 1, err);
    fre_delta_wipe(&d);
    return st;
}

/* ---- the thread -------------------------------------------------------------------------------------- */

/* The store was away: is it as we left it? */
static fre_status reopen(serve_group *g, fre_err *err)
{
    reading r = {.g = g};
    fre_status st = fre_store_open(&g->store, &g->where, err);

    if (st != FRE_OK)
        return st;
    st = fre_store_load(g->store, read_row, &r, err);
    if (st == FRE_OK && !r.ours)
        st = fre_fail(err, FRE_E_STATE, "another process wrote to the store in the meantime");
    if (st != FRE_OK) {
        fre_store_close(g->store);
        g->store = NULL;
    }
    return st;
}

static fre_status commit(serve_group *g, const fre_delta *rows, fre_err *err)
{
    fre_status st = g->store ? FRE_OK : reopen(g, err);

    if (st != FRE_OK)
        return st;
    st = fre_store_commit(g->store, &rows, 1, err);
    if (st == FRE_OK) {
        atomic_fetch_add(&g->commits, 1);
        return st;
    }
    fre_store_close(g->store);
    g->store = NULL;
    return st;
}

bool serve_may_pass(fre_status st)
{
    return st == FRE_E_IO || st == FRE_E_AGAIN || st == FRE_E_NOMEM;
}

static void failed(serve_group *g, fre_status st, const fre_err *err)
{
    atomic_fetch_add(&g->failures, 1);
    (void)pthread_mutex_lock(&g->lock);
    g->stuck = true;
    g->lost = !serve_may_pass(st) || (g->others && st == FRE_E_AGAIN);
    g->err = *err;
    (void)pthread_cond_broadcast(&g->stored_up);
    (void)pthread_mutex_unlock(&g->lock);
    g->news(g->ctx);
}

static void done(serve_group *g, uint64_t ticket)
{
    bool was_stuck;

    (void)pthread_mutex_lock(&g->lock);
    was_stuck = g->stuck;
    g->stuck = false;
    g->stored = ticket;
    (void)pthread_cond_broadcast(&g->stored_up);
    (void)pthread_mutex_unlock(&g->lock);
    if (was_stuck)
        g->news(g->ctx);
}

/* Until they are stored, or it is over. */
static bool store_rows(serve_group *g, const fre_delta *rows, uint64_t ticket)
{
    for (unsigned wait = 50;; wait = wait < RETRY_MS_MAX / 2 ? 2 * wait : RETRY_MS_MAX) {
        fre_err err = {.text = ""};
        const fre_status st = commit(g, rows, &err);
        bool stop;

        if (st == FRE_OK) {
            done(g, ticket);
            return true;
        }
        failed(g, st, &err);
        (void)pthread_mutex_lock(&g->lock);
        stop = g->stop || g->lost;
        (void)pthread_mutex_unlock(&g->lock);
        if (stop)
            return false;
        fre_sleep_ms(wait);
    }
}

/* The next rows; false: there are none, and it is to stop. */
static bool next_rows(serve_group *g, fre_delta *rows, uint64_t *ticket)
{
    bool any;

    (void)pthread_mutex_lock(&g->lock);
    while (g->rows.n == 0 && !g->stop)
        (void)pthread_cond_wait(&g->more, &g->lock);
    any = g->rows.n > 0;
    if (any && !g->stop) {
        (void)pthread_mutex_unlock(&g->lock);
        fre_sleep_ms(LINGER_MS);
        (void)pthread_mutex_lock(&g->lock);
    }
    *rows = g->rows;
    *ticket = g->queued;
    fre_delta_init(&g->rows);
    (void)pthread_mutex_unlock(&g->lock);
    return any;
}

static void *run(void *ctx)
{
    serve_group *g = ctx;
    uint64_t ticket;
    fre_delta rows;
    bool ok = true;

    while (ok && next_rows(g, &rows, &ticket)) {
        ok = store_rows(g, &rows, ticket);
        fre_delta_wipe(&rows);
    }
    return NULL;
}

/* ---- calls --------------------------------------------------------------------------------------------- */

static fre_status start_thread(serve_group *g, fre_err *err)
{
    if (pthread_mutex_init(&g->lock, NULL) != 0)
        return fre_fail(err, FRE_E_NOMEM, "no memory for a lock");
    (void)pthread_cond_init(&g->more, NULL);
    (void)pthread_cond_init(&g->stored_up, NULL);
    g->started = pthread_create(&g->thread, NULL, run, g) == 0;
    if (g->started)
        return FRE_OK;
    (void)pthread_mutex_destroy(&g->lock);
    (void)pthread_cond_destroy(&g->more);
    (void)pthread_cond_destroy(&g->stored_up);
    return fre_fail(err, FRE_E_NOMEM, "no thread can be started");
}

fre_status serve_group_open(serve_group *g, const fre_store_opts *where, fre_err *err)
{
    fre_rng rng;
    const fre_status st = fre_rng_init(&rng);

    if (st != FRE_OK)
        return fre_fail(err, st, "the system gives no randomness");
    fre_rng_bytes(&rng, g->owner, sizeof g->owner);
    fre_rng_wipe(&rng);
    fre_delta_init(&g->rows);
    g->where = *where;
    return fre_store_open(&g->store, where, err);
}

fre_status serve_group_load(serve_group *g, bool *fresh,
                            fre_status (*fn)(void *ctx, const fre_row *row), void *row_ctx,
                            fre_err *err)
{
    reading r = {.g = g, .fn = fn, .ctx = row_ctx};
    const fre_status st = fre_store_load(g->store, read_row, &r, err);

    *fresh = st == FRE_OK && !r.any;
    return st;
}

fre_status serve_group_start(serve_group *g, fre_err *err)
{
    const fre_status st = claim(g, err);

    return st == FRE_OK ? start_thread(g, err) : st;
}

static fre_status append(fre_delta *to, const fre_delta *from)
{
    fre_status st = fre_buf_append(&to->raw, from->raw.p, from->raw.n);

    if (st == FRE_OK)
        to->n += from->n;
    return st;
}

fre_status serve_group_add(serve_group *g, const fre_delta *rows)
{
    fre_status st;

    (void)pthread_mutex_lock(&g->lock);
    st = g->lost ? FRE_E_AGAIN : append(&g->rows, rows);
    if (st == FRE_OK) {
        g->queued++;
        (void)pthread_cond_signal(&g->more);
    }
    (void)pthread_mutex_unlock(&g->lock);
    return st;
}

fre_status serve_group_touch(serve_group *g)
{
    const fre_row row = owner_row(g);
    fre_delta d;
    fre_status st;

    fre_delta_init(&d);
    st = fre_delta_add(&d, &row);
    if (st == FRE_OK)
        st = serve_group_add(g, &d);
    fre_delta_wipe(&d);
    return st;
}

uint64_t serve_group_ticket(serve_group *g)
{
    uint64_t ticket;

    (void)pthread_mutex_lock(&g->lock);
    ticket = g->queued;
    (void)pthread_mutex_unlock(&g->lock);
    return ticket;
}

bool serve_group_wait(serve_group *g, uint64_t ticket)
{
    bool stored;

    (void)pthread_mutex_lock(&g->lock);
    while (g->stored < ticket && !g->stuck)
        (void)pthread_cond_wait(&g->stored_up, &g->lock);
    stored = g->stored >= ticket;
    (void)pthread_mutex_unlock(&g->lock);
    return stored;
}

bool serve_group_is_stuck(const serve_group *g)
{
    return atomic_load(&g->stuck);
}

bool serve_group_is_lost(const serve_group *g)
{
    return atomic_load(&g->lost);
}

static fre_status keep_row(void *ctx, const fre_row *row)
{
    fre_delta *stays = ctx;

    return row->table == OWNER_TABLE || fre_server_row_stays(row) ? fre_delta_add(stays, row)
                                                                  : FRE_OK;
}

/* The thread sleeps, since nothing is queued: its store may be used. */
fre_status serve_group_shrink(serve_group *g, fre_err *err)
{
    fre_delta stays;
    fre_status st = FRE_E_AGAIN;

    fre_delta_init(&stays);
    (void)pthread_mutex_lock(&g->lock);
    if (g->store && !g->stuck && g->stored == g->queued) {
        st = fre_store_load(g->store, keep_row, &stays, err);
        if (st == FRE_OK)
            st = fre_store_replace(g->store, &stays, err);
        if (st != FRE_OK) {
            fre_store_close(g->store);
            g->store = NULL;
        }
    }
    (void)pthread_mutex_unlock(&g->lock);
    fre_delta_wipe(&stays);
    return st;
}

void serve_group_close(serve_group *g)
{
    if (g->started) {
        (void)pthread_mutex_lock(&g->lock);
        g->stop = true;
        (void)pthread_cond_signal(&g->more);
        (void)pthread_mutex_unlock(&g->lock);
        (void)pthread_join(g->thread, NULL);
        (void)pthread_mutex_destroy(&g->lock);
        (void)pthread_cond_destroy(&g->more);
        (void)pthread_cond_destroy(&g->stored_up);
        g->started = false;
    }
    fre_delta_wipe(&g->rows);
    fre_store_close(g->store);
    g->store = NULL;
    fre_wipe(g->owner, sizeof g->owner);
}
