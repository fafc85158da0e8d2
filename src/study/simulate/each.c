/* simulate/each.c - all clients of a run on several threads, and what each said and heard. */
#include "simulate_private.h"

#define CHUNK 16u /* clients of one job */

typedef struct each {
    simulate_run *s;
    simulate_client_fn *fn;
    void *ctx;
} each;

static fre_status job(void *ctx, uint64_t chunk)
{
    const each *w = ctx;
    simulate_run *s = w->s;
    const uint64_t n = s->population.clients,
                   end = (chunk + 1) * CHUNK < n ? (chunk + 1) * CHUNK : n;
    fre_err err = {.text = ""};
    fre_status st = fre_interrupted() ? fre_fail(&err, FRE_E_INTERRUPTED, "interrupted") : FRE_OK;

    for (uint64_t i = chunk * CHUNK; st == FRE_OK && i < end; i++)
        st = w->fn(w->ctx, i, &err);
    if (st == FRE_OK)
        return st;
    (void)pthread_mutex_lock(&s->lock);
    if (!s->fault.text[0])
        (void)fre_fail(&s->fault, st, "%s", err.text[0] ? err.text : fre_status_text(st));
    (void)pthread_mutex_unlock(&s->lock);
    return st;
}

fre_status simulate_each(simulate_run *s, uint32_t threads, simulate_client_fn *fn, void *ctx,
                         fre_err *err)
{
    each w = {.s = s, .fn = fn, .ctx = ctx};
    const fre_status st =
        fre_parallel(threads, (s->population.clients + CHUNK - 1) / CHUNK, job, &w);

    return st == FRE_OK ? st : fre_fail(err, st, "%s", s->fault.text);
}

fre_simulate_leg simulate_leg_of(fre_wire_type what)
{
    return what == FRE_WIRE_ISSUE_REQUEST ? FRE_SIMULATE_ADMISSION
           : what == FRE_WIRE_TAG_REQUEST ? FRE_SIMULATE_TAGS
           : what == FRE_WIRE_ENTRY       ? FRE_SIMULATE_REPORTS
                                          : FRE_SIMULATE_ANSWERS;
}

void simulate_add_legs(simulate_run *s, simulate_client *k,
                       const fre_simulate_traffic leg[FRE_SIMULATE_LEGS])
{
    for (size_t i = 0; i < FRE_SIMULATE_LEGS; i++) {
        s->out->leg[i].clients += leg[i].clients;
        s->out->leg[i].up += leg[i].up;
        s->out->leg[i].down += leg[i].down;
        k->did[i] |= leg[i].up > 0;
    }
}
