/* serve/serve.c - a process of a role: its collections, its listeners, its end; see fre/serve.h. */
#include "serve_private.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define PEM_MAX 65536u
#define LOG_MAX (64u << 20)

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

/* ---- memory --------------------------------------------------------------------------------------------- */

static bool has_swap(void)
{
    FILE *f = fopen("/proc/swaps", "re");
    char line[256];
    int lines = 0;

    while (f && fgets(line, sizeof line, f))
        lines++;
    if (f)
        (void)fclose(f);
    return lines > 1;
}

/* Keys are in locked memory anyhow; copies of messages that hold masks are wherever libraries put them. */
static fre_status keep_from_swap(fre_err *err)
{
    struct rlimit limit;

    if (!has_swap())
        return FRE_OK;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY &&
        mlockall(MCL_CURRENT | MCL_FUTURE) == 0)
        return FRE_OK;
    return fre_fail(
        err, FRE_E_REFUSED,
        "memory of this process may be written to swap space: turn swap off, or allow it "
        "to lock all of its memory (LimitMEMLOCK=infinity)");
}

/* Connections take a descriptor each, and the usual limit of a process is less than a relay's clients need. */
static void raise_files(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= files.rlim_max)
        return;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files); /* who listens says what is missing */
}

/* ---- collections ---------------------------------------------------------------------------------------- */

/* Whoever connects to us expects the terms' pin; where a proxy has the certificate, that is its affair. */
static fre_status check_pin(const fre_serve *s, const fre_terms *t, const uint8_t *pin,
                            fre_err *err)
{
    static const uint8_t none[FRE_NET_PIN_BYTES];
    const uint8_t *want = fre_collection_party(&t->c, s->config->role).pin;

    if (!pin && memcmp(want, none, sizeof none) != 0)
        return fre_fail(
            err, FRE_E_KEY,
            "%s: the terms pin a certificate of this role: name it, \"certificate\" and "
            "\"private_key\"",
            t->path);
    if (pin && memcmp(want, pin, FRE_NET_PIN_BYTES) != 0)
        return fre_fail(
            err, FRE_E_KEY,
            "%s: the certificate of the configuration is not the one that the terms pin", t->path);
    return FRE_OK;
}

static fre_status open_site(fre_serve *s, const fre_terms *t, const uint8_t *pin, fre_err *err)
{
    fre_keys *keys = NULL;
    fre_status st =
        fre_keys_find(&keys, s->config->keys, s->config->once, &t->c, s->config->role, err);

    if (st == FRE_E_NOINPUT) { /* this host has no part in it */
        if (err)
            err->text[0] = 0;
        return FRE_OK;
    }
    if (st == FRE_OK)
        st = check_pin(s, t, pin, err);
    if (st != FRE_OK) {
        fre_keys_free(keys);
        return st;
    }
    st = serve_site_open(&s->site[s->n], s, t, keys, err);
    s->n += st == FRE_OK;
    return st;
}

/* Who may come to the listener of peers: the other roles of all collections. */
static fre_status gather_pins(fre_serve *s, fre_err *err)
{
    s->pin = calloc(s->n * SERVE_ROLES + 1, sizeof *s->pin);
    if (!s->pin)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < s->n; i++)
        for (unsigned role = FRE_ROLE_TAG; role < SERVE_ROLES; role++)
            if ((fre_role)role != s->config->role)
                memcpy(s->pin[s->pins++], s->site[i]->shown_pin[role], FRE_NET_PIN_BYTES);
    return FRE_OK;
}

static fre_status open_sites(fre_serve *s, const uint8_t *pin, fre_err *err)
{
    fre_status st = fre_terms_list_read(&s->terms, s->config->collections, err);

    if (st != FRE_OK)
        return st;
    s->site = calloc(s->terms->n + 1, sizeof(serve_site *));
    if (!s->site)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    for (size_t i = 0; st == FRE_OK && i < s->terms->n; i++)
        st = open_site(s, &s->terms->at[i], pin, err);
    if (st == FRE_OK && s->n == 0)
        st =
            fre_fail(err, FRE_E_NOINPUT, "%s: no terms there name keys of this role that lie in %s",
                     s->config->collections, s->config->keys);
    return st == FRE_OK ? gather_pins(s, err) : st;
}

/* ---- start and stop -------------------------------------------------------------------------------------- */

static fre_status make_locks(fre_serve *s, fre_err *err)
{
    s->has_locks = pthread_mutex_init(&s->log_lock, NULL) == 0 &&
                   pthread_mutex_init(&s->clock.lock, NULL) == 0 &&
                   pthread_mutex_init(&s->end_lock, NULL) == 0 && serve_cond_init(&s->end_due) == 0;
    return s->has_locks ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "no memory for a lock");
}

typedef struct tls {
    fre_buf certificate, key; /* key: SECRET */
    uint8_t pin[FRE_NET_PIN_BYTES];
} tls;

static fre_status read_tls(tls *t, const fre_config *c, fre_err *err)
{
    fre_status st;

    if (!c->certificate)
        return FRE_OK;
    st = fre_file_read(&t->certificate, c->certificate, err);
    if (st == FRE_OK)
        st = fre_private_read(&t->key, c->private_key, err);
    return st == FRE_OK ? fre_net_spki_pin(t->pin, serve_view(&t->certificate), err) : st;
}

static fre_status open_all(fre_serve *s, const tls *t, fre_err *err)
{
    const fre_config *c = s->config;
    fre_status st = keep_from_swap(err);

    if (st == FRE_OK && c->credentials != FRE_CREDENTIALS_NONE)
        st = serve_credentials_open(&s->credentials, c, err);
    if (st == FRE_OK && c->log)
        st = fre_file_read(&s->log_file, c->log, err);
    return st == FRE_OK ? open_sites(s, t->certificate.n > 0 ? t->pin : NULL, err) : st;
}

static fre_status begin(fre_serve *s, const tls *t, fre_err *err)
{
    fre_status st = FRE_OK;

    raise_files();
    for (size_t i = 0; st == FRE_OK && i < s->n; i++)
        st = serve_group_start(&s->site[i]->group, err);
    if (st == FRE_OK)
        st = serve_listen(s, serve_view(&t->certificate), serve_view(&t->key), err);
    for (size_t i = 0; st == FRE_OK && i < s->n; i++)
        st = serve_letters_start(s->site[i], err);
    s->has_begun = st == FRE_OK;
    if (s->has_begun)
        serve_say(s, "started", NULL, NULL);
    return st;
}

static fre_status start(fre_serve **out, const fre_config *config, const fre_serve_log *log,
                        bool listen, fre_err *err)
{
    fre_serve *s = calloc(1, sizeof *s);
    tls t = {.pin = {0}};
    fre_status st;

    if (!s)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    s->config = config;
    if (log)
        s->log = *log;
    fre_buf_init(&s->log_file, LOG_MAX);
    fre_buf_init(&t.certificate, PEM_MAX);
    fre_buf_init(&t.key, PEM_MAX);
    st = make_locks(s, err);
    if (st == FRE_OK)
        st = read_tls(&t, config, err);
    if (st == FRE_OK)
        st = open_all(s, &t, err);
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

fre_status fre_serve_start(fre_serve **out, const fre_config *config, const fre_serve_log *log,
                           fre_err *err)
{
    return out && config ? start(out, config, log, true, err) : FRE_E_ARG;
}

fre_status fre_serve_check(const fre_config *config, fre_err *err)
{
    fre_serve *s = NULL;
    const fre_status st = config ? start(&s, config, NULL, false, err) : FRE_E_ARG;

    fre_serve_stop(s, 0);
    return st;
}

/* In this order: nothing comes in, what is under way is answered, letters end, rows are committed. */
void fre_serve_stop(fre_serve *s, unsigned seconds)
{
    fre_http *const open[] = {s ? s->clients : NULL, s ? s->peers : NULL, s ? s->health : NULL};

    if (!s)
        return;
    for (unsigned i = 0; i < 2; i++)
        if (open[i])
            (void)fre_http_quiesce(open[i], seconds);
    for (size_t i = 0; i < s->n; i++)
        serve_letters_stop(s->site[i]);
    for (unsigned i = 0; i < 3; i++)
        fre_http_close(open[i]);
    for (size_t i = 0; i < s->n; i++)
        serve_site_close(s->site[i]);
    if (s->has_begun)
        serve_say(s, "stopped", NULL, NULL);
    free(s->site);
    free(s->pin);
    fre_terms_list_free(s->terms);
    serve_credentials_free(s->credentials);
    fre_buf_wipe(&s->log_file);
    if (s->has_locks) {
        (void)pthread_mutex_destroy(&s->log_lock);
        (void)pthread_mutex_destroy(&s->clock.lock);
        (void)pthread_mutex_destroy(&s->end_lock);
        (void)pthread_cond_destroy(&s->end_due);
    }
    free(s);
}
