/* serve/metrics.c - what an operator watches: coarse, since what happens to one person must not show. */
#include "serve_private.h"

#include <inttypes.h>

/* Only a relay's front takes anything: clients come to it. */
static bool waits(const serve_site *x)
{
    return x->front && x->s->config->role != FRE_ROLE_RELAY;
}

bool serve_is_ready(fre_serve *s)
{
    bool stuck = false;
    int64_t now;
    fre_status end;

    (void)pthread_mutex_lock(&s->end_lock);
    end = s->end;
    (void)pthread_mutex_unlock(&s->end_lock);
    if (end != FRE_OK || !serve_clock_now(&s->clock, &now))
        return false;
    (void)pthread_mutex_lock(&s->sites.lock);
    for (size_t i = 0; i < s->sites.n; i++)
        stuck = stuck || serve_group_is_stuck(&s->sites.at[i]->group) || waits(s->sites.at[i]);
    (void)pthread_mutex_unlock(&s->sites.lock);
    return !stuck;
}

typedef uint64_t value_of(const serve_site *x);

static uint64_t phase(const serve_site *x)
{
    return (uint64_t)atomic_load(&x->phase);
}

static uint64_t leads(const serve_site *x)
{
    return !x->front;
}

static uint64_t commits(const serve_site *x)
{
    return atomic_load(&x->group.commits) / 100 * 100;
}

static uint64_t store_failures(const serve_site *x)
{
    return atomic_load(&x->group.failures);
}

static uint64_t accepted(const serve_site *x)
{
    return atomic_load(&x->accepted);
}

static uint64_t repeated(const serve_site *x)
{
    return atomic_load(&x->repeated);
}

static uint64_t rejected(const serve_site *x)
{
    return atomic_load(&x->rejected);
}

static const struct {
    const char *name, *type, *help;
    value_of *of;
} metrics[] = {
    {"fre_phase", "gauge", "1 waiting, 2 taking, 3 closed, 4 answering, 5 summing, 6 done, 7 void",
     phase},
    {"fre_leads", "gauge", "1: this process has the store of the collection, 0: another one has",
     leads},
    {"fre_accepted_total", "counter",
     "messages that changed something, whole hundreds, a minute old", accepted},
    {"fre_repeated_total", "counter", "messages that had been here, likewise", repeated},
    {"fre_rejected_total", "counter", "messages that were refused, likewise", rejected},
    {"fre_commits_total", "counter", "transactions, whole hundreds", commits},
    {"fre_store_failures_total", "counter", "transactions that failed", store_failures},
};

static fre_status print(fre_buf *out, const fre_serve *s, size_t m)
{
    fre_status st = fre_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", metrics[m].name,
                                   metrics[m].help, metrics[m].name, metrics[m].type);

    for (size_t i = 0; st == FRE_OK && i < s->sites.n; i++)
        st = fre_buf_printf(out, "%s{collection=\"%.16s\"} %" PRIu64 "\n", metrics[m].name,
                            s->sites.at[i]->name, metrics[m].of(s->sites.at[i]));
    return st;
}

static fre_status print_unreached(fre_buf *out, const fre_serve *s)
{
    static const char name[] = "fre_unreached_total";
    fre_status st = fre_buf_printf(out,
                                   "# HELP %s messages to another role that had no answer\n"
                                   "# TYPE %s counter\n",
                                   name, name);

    for (size_t i = 0; i < s->sites.n; i++)
        for (unsigned role = FRE_ROLE_TAG; st == FRE_OK && role < SERVE_ROLES; role++)
            if ((fre_role)role != s->config->role)
                st = fre_buf_printf(out, "%s{collection=\"%.16s\",role=\"%s\"} %" PRIu64 "\n", name,
                                    s->sites.at[i]->name, fre_role_name((fre_role)role),
                                    (uint64_t)atomic_load(&s->sites.at[i]->unreached[role]));
    return st;
}

fre_status serve_metrics(fre_buf *out, fre_serve *s)
{
    fre_status st = fre_buf_printf(out,
                                   "# HELP fre_ready 1: takes requests\n# TYPE fre_ready gauge\n"
                                   "fre_ready %d\n",
                                   serve_is_ready(s));

    (void)pthread_mutex_lock(&s->sites.lock);
    for (size_t m = 0; st == FRE_OK && m < sizeof metrics / sizeof metrics[0]; m++)
        st = print(out, s, m);
    if (st == FRE_OK)
        st = print_unreached(out, s);
    (void)pthread_mutex_unlock(&s->sites.lock);
    return st;
}
