/* serve/letters.c - the thread of a collection that carries letters, and does what is due besides. */
#include "serve_private.h"

#include <limits.h>
#include <unistd.h>

#define IDLE_MS 1000u
#define WAIT_MS_MAX 10000u
#define METRICS_MS 60000

static const char *const phases[] = {
    [FRE_PHASE_WAITING] = "waiting", [FRE_PHASE_TAKING] = "taking",
    [FRE_PHASE_CLOSED] = "closed",   [FRE_PHASE_ANSWERING] = "answering",
    [FRE_PHASE_SUMMING] = "summing", [FRE_PHASE_DONE] = "done",
    [FRE_PHASE_VOID] = "void"};

static const char *phase_text(int phase)
{
    return phase >= FRE_PHASE_WAITING && phase <= FRE_PHASE_VOID ? phases[phase] : "unknown";
}

/* Keys that are at rest under masks, or over, are in no file any more.  S_tag's statement that its key is gone
 * leaves behind tags_close: by then the file is gone, masked or not. */
static void forget_once(serve_site *x)
{
    const bool closes = x->s->config->role == FRE_ROLE_TAG;
    uint64_t ticket;
    int64_t now;
    bool masked;
    fre_err err = {.text = ""};

    if (!fre_keys_has_once(x->keys))
        return;
    if (closes && serve_clock_now(&x->s->clock, &now) && now >= x->terms.c.tags_close) {
        if (fre_keys_forget_once(x->keys, &err) != FRE_OK)
            serve_say(x->s, "the once file could not be removed", x, NULL);
        return;
    }
    (void)pthread_mutex_lock(&x->lock);
    masked = fre_server_keys_masked(x->x);
    ticket = serve_group_ticket(&x->group);
    (void)pthread_mutex_unlock(&x->lock);
    masked = masked && serve_group_wait(&x->group, ticket); /* not before the rows have them */
    if (masked && fre_keys_forget_once(x->keys, &err) == FRE_OK)
        serve_say(x->s, "keys masked", x, NULL);
    else if (masked)
        serve_say(x->s, "the once file could not be removed", x, NULL);
}

/* What no release needs any more goes from the store as well. */
static void tidy(serve_site *x)
{
    const int phase = atomic_load(&x->phase);
    int64_t now;

    if (atomic_load(&x->tidy) || phase < FRE_PHASE_DONE || !serve_clock_now(&x->s->clock, &now) ||
        (phase == FRE_PHASE_DONE && now < x->terms.c.end))
        return;
    if (serve_group_shrink(&x->group, NULL) != FRE_OK)
        return;
    serve_say(x->s, "rows dropped", x, NULL);
    atomic_store(&x->tidy, true);
}

/* Hundreds alone, and once a minute: what happens to one person must not show. */
static void count(serve_site *x, int64_t *last)
{
    const fre_tally *t;
    uint64_t rejected = 0;

    if (*last != 0 && fre_clock_ms() - *last < METRICS_MS)
        return;
    *last = fre_clock_ms();
    (void)pthread_mutex_lock(&x->lock);
    t = fre_server_tally(x->x);
    for (unsigned i = 0; i < FRE_REJECTIONS; i++)
        rejected += t->rejected[i];
    atomic_store(&x->accepted, t->accepted / 100 * 100);
    atomic_store(&x->repeated, t->repeated / 100 * 100);
    atomic_store(&x->rejected, rejected / 100 * 100);
    (void)pthread_mutex_unlock(&x->lock);
}

static void after(serve_site *x, int64_t *counted)
{
    const int before = atomic_load(&x->phase);
    char more[64];

    serve_site_publish(x);
    if (atomic_load(&x->phase) != before) {
        (void)snprintf(more, sizeof more, ",\"phase\":\"%s\"", phase_text(atomic_load(&x->phase)));
        serve_say(x->s, "phase", x, more);
    }
    forget_once(x);
    tidy(x);
    count(x, counted);
}

/* The operator's wish: a file TERMS.cancel beside TERMS. */
static void cancel_if_asked(serve_site *x)
{
    char path[PATH_MAX];

    if (atomic_load(&x->phase) >= FRE_PHASE_DONE ||
        (size_t)snprintf(path, sizeof path, "%s.cancel", x->terms.path) >= sizeof path ||
        access(path, F_OK) != 0)
        return;
    if (serve_site_cancel(x) == FRE_OK)
        serve_say(x->s, "cancelled", x, NULL);
}

/* False: it is to stop. */
static bool wait(serve_site *x, unsigned ms)
{
    const int64_t end = fre_clock_ms() + ms;
    bool stop;

    (void)pthread_mutex_lock(&x->letters_lock);
    while (!x->stop && !x->woken && serve_cond_wait(&x->letters_due, &x->letters_lock, end))
        ;
    x->woken = false;
    stop = x->stop;
    (void)pthread_mutex_unlock(&x->letters_lock);
    return !stop;
}

/* Letters that were answered make room for the next at once; unanswered ones wait longer each time. */
static void *run(void *site)
{
    serve_site *x = site;
    unsigned ms = IDLE_MS, unreached;
    int64_t counted = 0;
    size_t letters;

    do {
        forget_once(x);
        if (!serve_site_step(x, &letters, &unreached)) {
            ms = IDLE_MS;
            continue;
        }
        cancel_if_asked(x);
        after(x, &counted);
        if (unreached > 0)
            ms = ms < WAIT_MS_MAX / 2 ? 2 * ms : WAIT_MS_MAX;
        else
            ms = letters > 0 ? 10 : IDLE_MS;
    } while (wait(x, fre_jitter_ms(ms)));
    return NULL;
}

fre_status serve_letters_start(serve_site *x, fre_err *err)
{
    x->has_letters = pthread_create(&x->letters, NULL, run, x) == 0;
    return x->has_letters ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "no thread can be started");
}

static void signal_letters(serve_site *x, bool stop)
{
    (void)pthread_mutex_lock(&x->letters_lock);
    x->woken = true;
    x->stop = x->stop || stop;
    (void)pthread_cond_signal(&x->letters_due);
    (void)pthread_mutex_unlock(&x->letters_lock);
}

void serve_letters_wake(serve_site *x)
{
    signal_letters(x, false);
}

void serve_letters_stop(serve_site *x)
{
    if (!x->has_letters)
        return;
    signal_letters(x, true);
    (void)pthread_join(x->letters, NULL);
    x->has_letters = false;
}
