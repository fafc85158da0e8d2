/* serve/serve.c - a process of a role: its collections, its listeners, its end; see fre/serve.h. */
#include "serve_private.h"

#include <sys/resource.h>

#define PEM_MAX 65536u

/* ---- its end ----------------------------------------------------------------------------------------- */

fre_status fre_serve_wait(fre_serve *s, unsigned ms, fre_err *err)
{
    const int64_t end = fre_clock_ms() + ms;
    fre_status st;

    (void)pthread_mutex_lock(&s->end_lock);
    while (s->end == FRE_OK && serve_cond_wait(&s->end_due, &s->end_lock, end))
        ;
    st = s->end;
    if (st != FRE_OK && err)
        *err = s->end_err;
    (void)pthread_mutex_unlock(&s->end_lock);
    return st;
}

/* ---- start and stop -------------------------------------------------------------------------------------- */

/* Connections take a descriptor each, and the usual limit of a process is less than a relay's clients need. */
static void raise_files(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= files.rlim_max)
        return;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files); /* who listens says what is missing */
}

static fre_status make_locks(fre_serve *s, fre_err *err)
{
    s->has_locks = pthread_mutex_init(&s->log_lock, NULL) == 0 &&
                   pthread_mutex_init(&s->clock.lock, NULL) == 0 &&
                   pthread_mutex_init(&s->end_lock, NULL) == 0 &&
                   pthread_mutex_init(&s->sites.lock, NULL) == 0 &&
                   pthread_mutex_init(&s->sites.due_lock, NULL) == 0 &&
                   pthread_cond_init(&s->sites.left, NULL) == 0 &&
                   serve_cond_init(&s->end_due) == 0 && serve_cond_init(&s->sites.due) == 0;
    return s->has_locks ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "no memory for a lock");
}

typedef struct tls {
    fre_buf certificate, key; /* key: SECRET */
} tls;

static fre_status read_tls(fre_serve *s, tls *t, fre_err *err)
{
    const fre_config *c = s->config;
    fre_status st;

    if (!c->certificate)
        return FRE_OK;
    st = fre_file_read(&t->certificate, c->certificate, err);
    if (st == FRE_OK)
        st = fre_private_read(&t->key, c->private_key, err);
    if (st == FRE_OK)
        st = fre_net_spki_pin(s->pin, serve_view(&t->certificate), err);
    s->tls = st == FRE_OK;
    return st;
}

static fre_status open_all(fre_serve *s, fre_err *err)
{
    const fre_config *c = s->config;
    fre_status st = serve_keep_from_swap(err);

    if (st == FRE_OK && c->credentials != FRE_CREDENTIALS_NONE)
        st = serve_credentials_open(&s->credentials, c, err);
    return st == FRE_OK ? serve_sites_open(s, err) : st;
}

static fre_status begin(fre_serve *s, const tls *t, fre_err *err)
{
    fre_status st;

    raise_files();
    st = serve_listen(s, serve_view(&t->certificate), serve_view(&t->key), err);
    s->has_begun = st == FRE_OK;
    if (!s->has_begun)
        return st;
    serve_say(s, "started", NULL, NULL);
    return serve_sites_start(s, err);
}

static fre_status start(fre_serve **out, const fre_config *config, fre_serve_keeper *keeper,
                        const fre_serve_log *log, bool listen, fre_err *err)
{
    fre_serve *s = calloc(1, sizeof *s);
    fre_status st;
    tls t;

    if (!s)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    s->config = config;
    s->keeper = keeper;
    s->looks_only = !listen;
    if (log)
        s->log = *log;
    fre_buf_init(&t.certificate, PEM_MAX);
    fre_buf_init(&t.key, PEM_MAX);
    st = make_locks(s, err);
    if (st == FRE_OK)
        st = read_tls(s, &t, err);
    if (st == FRE_OK)
        st = open_all(s, err);
    if (st == FRE_OK && listen)
        st = begin(s, &t, err);
    fre_buf_wipe(&t.certificate);
    fre_buf_wipe(&t.key);
    if (st != FRE_OK) {
        fre_serve_stop(s, 0);
        return st;
    }
    *out = s;
    return FRE_OK;
}

fre_status fre_serve_start(fre_serve **out, const fre_config *config, fre_serve_keeper *keeper,
                           const fre_serve_log *log, fre_err *err)
{
    return out && config ? start(out, config, keeper, log, true, err) : FRE_E_ARG;
}

fre_status fre_serve_check(const fre_config *config, fre_serve_keeper *keeper, fre_err *err)
{
    fre_serve *s = NULL;
    const fre_status st = config ? start(&s, config, keeper, NULL, false, err) : FRE_E_ARG;

    fre_serve_stop(s, 0);
    return st;
}

/* In this order: nothing comes in, what is under way is answered, letters are given up (they are sent again after the
 * next start), rows are committed. */
void fre_serve_stop(fre_serve *s, unsigned seconds)
{
    fre_http *const open[] = {s ? s->clients : NULL, s ? s->peers : NULL, s ? s->health : NULL};

    if (!s)
        return;
    serve_sites_stop(s);
    for (unsigned i = 0; i < 2; i++)
        if (open[i])
            (void)fre_http_quiesce(open[i], seconds);
    serve_sites_cancel_letters(s);
    for (unsigned i = 0; i < 3; i++)
        fre_http_close(open[i]);
    serve_sites_close(s);
    if (s->has_begun)
        serve_say(s, "stopped", NULL, NULL);
    serve_credentials_free(s->credentials);
    if (s->has_locks) {
        (void)pthread_mutex_destroy(&s->log_lock);
        (void)pthread_mutex_destroy(&s->clock.lock);
        (void)pthread_mutex_destroy(&s->end_lock);
        (void)pthread_mutex_destroy(&s->sites.lock);
        (void)pthread_mutex_destroy(&s->sites.due_lock);
        (void)pthread_cond_destroy(&s->sites.left);
        (void)pthread_cond_destroy(&s->sites.due);
        (void)pthread_cond_destroy(&s->end_due);
    }
    free(s);
}
