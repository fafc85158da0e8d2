/* serve/sites.c - the collections of a process: opened at its start and whenever terms come to its folder, dropped
 * once they are over and their terms are gone; and the log of collections, as it is served. */
#include "serve_private.h"

#define LOOK_MS 2000
#define LOG_MAX (64u << 20)

/* ---- who uses a collection ------------------------------------------------------------------------------ */

serve_site *serve_sites_enter(fre_serve *s, const char *name)
{
    serve_site *found = NULL;

    (void)pthread_mutex_lock(&s->sites.lock);
    for (size_t i = 0; i < s->sites.n && !found; i++)
        if (strncmp(s->sites.at[i]->name, name, sizeof found->name - 1) == 0)
            found = s->sites.at[i];
    if (found)
        found->users++;
    (void)pthread_mutex_unlock(&s->sites.lock);
    return found;
}

void serve_sites_leave(serve_site *x)
{
    if (!x)
        return;
    (void)pthread_mutex_lock(&x->s->sites.lock);
    if (--x->users == 0)
        (void)pthread_cond_broadcast(&x->s->sites.left);
    (void)pthread_mutex_unlock(&x->s->sites.lock);
}

bool serve_sites_know(fre_serve *s, const uint8_t pin[FRE_NET_PIN_BYTES])
{
    bool known = false;

    (void)pthread_mutex_lock(&s->sites.lock);
    for (size_t i = 0; i < s->sites.n && !known; i++)
        known = serve_role_of(s->sites.at[i], pin) != (fre_role)0;
    (void)pthread_mutex_unlock(&s->sites.lock);
    return known;
}

serve_shared *serve_sites_log(fre_serve *s)
{
    serve_shared *log;

    (void)pthread_mutex_lock(&s->sites.lock);
    log = serve_shared_take(s->sites.log);
    (void)pthread_mutex_unlock(&s->sites.lock);
    return log;
}

/* ---- what was refused ----------------------------------------------------------------------------------------- */

static void forget_refused(serve_refused *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->at[i].path);
    free(r->at);
    *r = (serve_refused){.at = NULL};
}

static fre_status refuse(serve_refused *r, const char *path, fre_status st, const fre_err *why)
{
    fre_terms_refused *last;
    fre_status grown = fre_grow((void **)&r->at, &r->cap, r->n + 1, sizeof *r->at);

    if (grown != FRE_OK)
        return grown;
    last = &r->at[r->n];
    *last = (fre_terms_refused){.path = strdup(path), .st = st, .why = *why};
    if (!last->path)
        return FRE_E_NOMEM;
    if (!last->why.text[0])
        (void)fre_fail(&last->why, st, "'%.300s': %s", path, fre_status_text(st));
    r->n++;
    return FRE_OK;
}

static bool is_in(const serve_refused *r, const fre_terms_refused *one)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->at[i].path, one->path) == 0 && strcmp(r->at[i].why.text, one->why.text) == 0)
            return true;
    return false;
}

/* What the last look found too was said then. */
static void say_refused(fre_serve *s, serve_refused *now)
{
    for (size_t i = 0; i < now->n; i++)
        if (!is_in(&s->sites.refused, &now->at[i]))
            serve_say_why(s, "refused", now->at[i].why.text);
    forget_refused(&s->sites.refused);
    s->sites.refused = *now;
    *now = (serve_refused){.at = NULL};
}

/* ---- opening ------------------------------------------------------------------------------------------------------ */

/* Whoever connects to us expects the terms' pin; where a proxy has the certificate, that is its affair. */
static fre_status check_pin(const fre_serve *s, const fre_terms *t, fre_err *err)
{
    static const uint8_t none[FRE_NET_PIN_BYTES];
    const uint8_t *want = fre_collection_party(&t->c, s->config->role).pin;

    if (!s->tls && memcmp(want, none, sizeof none) != 0)
        return fre_fail(
            err, FRE_E_KEY,
            "%s: the terms pin a certificate of this role: name it, \"certificate\" and "
            "\"private_key\"",
            t->path);
    if (s->tls && memcmp(want, s->pin, FRE_NET_PIN_BYTES) != 0)
        return fre_fail(
            err, FRE_E_KEY,
            "%s: the certificate of the configuration is not the one that the terms pin", t->path);
    return FRE_OK;
}

/* NULL, and FRE_OK: this host has no part in it. */
static fre_status open_site(serve_site **out, fre_serve *s, const fre_terms *t, fre_err *err)
{
    fre_keys *keys = NULL;
    fre_status st =
        fre_keys_find(&keys, s->config->keys, s->config->once, &t->c, s->config->role, err);

    *out = NULL;
    if (st == FRE_E_NOINPUT)
        return FRE_OK;
    if (st == FRE_OK)
        st = check_pin(s, t, err);
    if (st != FRE_OK) {
        fre_keys_free(keys);
        return st;
    }
    st = serve_site_open(out, s, t, keys, err);
    if (st != FRE_OK || s->looks_only || (*out)->front)
        return st;
    st = serve_group_start(&(*out)->group, err);
    if (st == FRE_OK && s->has_begun)
        st = serve_letters_start(*out, err);
    if (st != FRE_OK)
        serve_site_close(*out);
    return st;
}

static void close_site(serve_site *x)
{
    serve_peers_cancel(x);
    serve_letters_stop(x);
    serve_site_close(x);
}

/* Under the lock: until nobody is in it any more, whom nobody new joins. */
static void wait_for_users(fre_serve *s, const serve_site *x)
{
    while (x->users > 0)
        (void)pthread_cond_wait(&s->sites.left, &s->sites.lock);
}

/* From here on it is served.  old: a front of the same collection, whose place it takes; NULL: there is none. */
static fre_status add(fre_serve *s, serve_site *x, serve_site *old)
{
    fre_status st = FRE_OK;

    (void)pthread_mutex_lock(&s->sites.lock);
    for (size_t i = 0; old && i < s->sites.n; i++)
        if (s->sites.at[i] == old)
            s->sites.at[i] = x;
    if (old)
        wait_for_users(s, old);
    else
        st = fre_grow((void **)&s->sites.at, &s->sites.cap, s->sites.n + 1, sizeof(serve_site *));
    if (st == FRE_OK && !old)
        s->sites.at[s->sites.n++] = x;
    (void)pthread_mutex_unlock(&s->sites.lock);
    if (st != FRE_OK)
        return st;
    if (old || x->front)
        serve_say(s, x->front ? "front" : "takes over", x, NULL);
    else if (s->has_begun)
        serve_say(s, "collection added", x, NULL);
    return st;
}

/* old: as it is served until now, as a front; NULL: not. */
static fre_status take(fre_serve *s, const fre_terms *t, serve_site *old, serve_refused *now)
{
    serve_site *x = NULL;
    fre_err why = {.text = ""};
    fre_status st = open_site(&x, s, t, &why);

    if (st != FRE_OK)
        return refuse(now, t->path, st, &why);
    if (!x)
        return FRE_OK;
    if (old && x->front) { /* as before */
        close_site(x);
        return FRE_OK;
    }
    st = add(s, x, old);
    if (st != FRE_OK)
        close_site(x);
    else if (old)
        close_site(old);
    return st;
}

/* ---- dropping ------------------------------------------------------------------------------------------------------- */

static bool has_terms(const fre_terms_list *l, const serve_site *x)
{
    for (size_t i = 0; i < l->n; i++)
        if (memcmp(l->at[i].id.b, x->terms.id.b, sizeof x->terms.id.b) == 0)
            return true;
    return false;
}

/* Nobody new finds it; who is in it leaves first. */
static void drop(fre_serve *s, size_t i)
{
    serve_site *x = s->sites.at[i];

    (void)pthread_mutex_lock(&s->sites.lock);
    s->sites.at[i] = s->sites.at[--s->sites.n];
    wait_for_users(s, x);
    (void)pthread_mutex_unlock(&s->sites.lock);
    serve_say(s, "collection dropped", x, NULL);
    close_site(x);
}

/* Whose terms are gone goes when nobody needs it any more; a slip of the hand ends no collection. */
static void drop_gone(fre_serve *s, const fre_terms_list *l)
{
    for (size_t i = s->sites.n; i-- > 0;) {
        serve_site *x = s->sites.at[i];
        const bool gone = !has_terms(l, x);

        if (gone && (x->front || atomic_load(&x->tidy)))
            drop(s, i);
        else if (gone && !x->gone)
            serve_say(s, "terms gone", x, NULL);
        x->gone = gone;
    }
}

/* ---- looking ---------------------------------------------------------------------------------------------------------- */

static serve_site *served(const fre_serve *s, const fre_terms *t)
{
    for (size_t i = 0; i < s->sites.n; i++)
        if (memcmp(s->sites.at[i]->terms.id.b, t->id.b, sizeof t->id.b) == 0)
            return s->sites.at[i];
    return NULL;
}

/* A front tries each time to get the store. */
static fre_status look_at_one(fre_serve *s, const fre_terms *t, serve_refused *now)
{
    serve_site *x = served(s, t);

    return x && !x->front ? FRE_OK : take(s, t, x, now);
}

/* The list changes on the thread of the looks alone (before it starts, at the start), which so reads it without the
 * lock. */
static fre_status look_at_terms(fre_serve *s, serve_refused *now)
{
    fre_terms_list *l = NULL;
    fre_err why = {.text = ""};
    fre_status st = fre_terms_list_read(&l, s->config->collections, &why);

    if (st != FRE_OK)
        return refuse(now, s->config->collections, st, &why);
    for (size_t i = 0; st == FRE_OK && i < l->n_refused; i++)
        st = refuse(now, l->refused[i].path, l->refused[i].st, &l->refused[i].why);
    for (size_t i = 0; st == FRE_OK && i < l->n; i++)
        st = look_at_one(s, &l->at[i], now);
    if (st == FRE_OK)
        drop_gone(s, l);
    fre_terms_list_free(l);
    return st;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static fre_status read_log(serve_shared **out, const char *path, fre_err *err)
{
    fre_buf text;
    fre_status st;

    fre_buf_init(&text, LOG_MAX);
    st = fre_file_read(&text, path, err);
    if (st == FRE_OK)
        st = serve_shared_new(out, serve_view(&text));
    fre_buf_wipe(&text);
    return st;
}

/* What cannot be read now stays as it was. */
static fre_status look_at_log(fre_serve *s, serve_refused *now)
{
    const char *path = s->config->log;
    serve_shared *old = NULL, *log = NULL;
    struct stat is = {.st_ino = 0};
    fre_err why = {.text = ""};
    fre_status st;

    if (!path || (stat(path, &is) == 0 && is_same(&is, &s->sites.log_was)))
        return FRE_OK;
    st = read_log(&log, path, &why);
    if (st != FRE_OK)
        return refuse(now, path, st, &why);
    s->sites.log_was = is;
    (void)pthread_mutex_lock(&s->sites.lock);
    old = s->sites.log;
    s->sites.log = log;
    (void)pthread_mutex_unlock(&s->sites.lock);
    serve_shared_drop(old);
    return FRE_OK;
}

static fre_status look(fre_serve *s, serve_refused *now)
{
    fre_status st = look_at_log(s, now);

    return st == FRE_OK ? look_at_terms(s, now) : st;
}

/* ---- at a start ------------------------------------------------------------------------------------------------------- */

/* What time heals is tried again by whoever starts us again; of what stays as it is, one collection is no reason to
 * serve none. */
static fre_status judge(const fre_serve *s, const serve_refused *now, fre_err *err)
{
    for (size_t i = 0; i < now->n; i++) {
        const fre_terms_refused *r = &now->at[i];
        const bool is_of_a_file = strcmp(r->path, s->config->collections) != 0 &&
                                  (!s->config->log || strcmp(r->path, s->config->log) != 0);

        if (s->looks_only || s->sites.n == 0 || !is_of_a_file || serve_may_pass(r->st)) {
            if (err)
                *err = r->why;
            return r->st;
        }
    }
    return s->sites.n > 0 ? FRE_OK
                          : fre_fail(err, FRE_E_NOINPUT,
                                     "%s: no terms there name keys of this role that lie in %s",
                                     s->config->collections, s->config->keys);
}

fre_status serve_sites_open(fre_serve *s, fre_err *err)
{
    serve_refused now = {.at = NULL};
    fre_status st = look(s, &now);

    st = st == FRE_OK ? judge(s, &now, err) : fre_fail(err, st, "out of memory");
    if (st == FRE_OK)
        say_refused(s, &now);
    forget_refused(&now);
    return st;
}

/* ---- while it runs ---------------------------------------------------------------------------------------------------- */

/* False: it is to stop. */
static bool wait(fre_serve *s)
{
    const int64_t end = fre_clock_ms() + LOOK_MS;
    bool stop;

    (void)pthread_mutex_lock(&s->sites.due_lock);
    while (!s->sites.stop && !s->sites.asked &&
           serve_cond_wait(&s->sites.due, &s->sites.due_lock, end))
        ;
    if (s->sites.asked) /* by somebody who wants to hear it again */
        forget_refused(&s->sites.refused);
    s->sites.asked = false;
    stop = s->sites.stop;
    (void)pthread_mutex_unlock(&s->sites.due_lock);
    return !stop;
}

/* Without memory for a look there is the next one.  Who lost its keeper takes no store over. */
static void *run(void *ctx)
{
    fre_serve *s = ctx;

    while (wait(s)) {
        serve_refused now = {.at = NULL};

        if (serve_keeper_watch(s) && look(s, &now) == FRE_OK)
            say_refused(s, &now);
        forget_refused(&now);
    }
    return NULL;
}

fre_status serve_sites_start(fre_serve *s, fre_err *err)
{
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < s->sites.n; i++)
        if (!s->sites.at[i]->front)
            st = serve_letters_start(s->sites.at[i], err);
    if (st != FRE_OK)
        return st;
    s->sites.has_thread = pthread_create(&s->sites.thread, NULL, run, s) == 0;
    return s->sites.has_thread ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "no thread can be started");
}

static void signal_looks(fre_serve *s, bool stop)
{
    (void)pthread_mutex_lock(&s->sites.due_lock);
    s->sites.asked = true;
    s->sites.stop = s->sites.stop || stop;
    (void)pthread_cond_signal(&s->sites.due);
    (void)pthread_mutex_unlock(&s->sites.due_lock);
}

void fre_serve_look(fre_serve *s)
{
    if (s)
        signal_looks(s, false);
}

void serve_sites_stop(fre_serve *s)
{
    if (!s->sites.has_thread)
        return;
    signal_looks(s, true);
    (void)pthread_join(s->sites.thread, NULL);
    s->sites.has_thread = false;
}

void serve_sites_cancel_letters(fre_serve *s)
{
    for (size_t i = 0; i < s->sites.n; i++)
        serve_peers_cancel(s->sites.at[i]);
    for (size_t i = 0; i < s->sites.n; i++)
        serve_letters_stop(s->sites.at[i]);
}

void serve_sites_close(fre_serve *s)
{
    for (size_t i = 0; i < s->sites.n; i++)
        serve_site_close(s->sites.at[i]);
    free(s->sites.at);
    forget_refused(&s->sites.refused);
    serve_shared_drop(s->sites.log);
}
