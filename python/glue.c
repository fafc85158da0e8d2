/* glue.c - see glue.h. */
#include "glue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct fre_py_progress {
    fre_progress sink;
    pthread_mutex_t lock;
    char phase[FRE_PY_PHASE_BYTES];
    uint64_t done, total;
};

const char *fre_py_version(void)
{
    return FRE_VERSION;
}

static void update(void *ctx, const char *phase, uint64_t done, uint64_t total)
{
    fre_py_progress *p = ctx;

    (void)pthread_mutex_lock(&p->lock);
    (void)snprintf(p->phase, sizeof p->phase, "%s", phase);
    p->done = done;
    p->total = total;
    (void)pthread_mutex_unlock(&p->lock);
}

fre_py_progress *fre_py_progress_new(void)
{
    fre_py_progress *p = calloc(1, sizeof *p);

    if (!p)
        return NULL;
    if (pthread_mutex_init(&p->lock, NULL) != 0) {
        free(p);
        return NULL;
    }
    p->sink = (fre_progress){.update = update, .ctx = p};
    return p;
}

void fre_py_progress_free(fre_py_progress *p)
{
    if (!p)
        return;
    (void)pthread_mutex_destroy(&p->lock);
    free(p);
}

const fre_progress *fre_py_progress_sink(const fre_py_progress *p)
{
    return &p->sink;
}

void fre_py_progress_read(fre_py_progress *p, char phase[FRE_PY_PHASE_BYTES], uint64_t *done,
                          uint64_t *total)
{
    (void)pthread_mutex_lock(&p->lock);
    memcpy(phase, p->phase, sizeof p->phase);
    *done = p->done;
    *total = p->total;
    (void)pthread_mutex_unlock(&p->lock);
}

fre_status fre_py_partial_add(fre_partial_worker *w, size_t n, const uint8_t *user,
                              const uint8_t *text, const uint64_t *records, const uint8_t *place,
                              const float *x, fre_err *err)
{
    const size_t place_bytes = fre_partial_worker_place_bytes(w);
    const size_t dim = fre_partial_worker_task(w)->terms.dim;
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        const fre_partial_record r = {.user = user ? user + i * FRE_COIN_ID_BYTES : NULL,
                                      .text = text + i * FRE_COIN_ID_BYTES,
                                      .records = records[i],
                                      .place = place + i * place_bytes,
                                      .x = x ? x + i * dim : NULL};

        st = fre_partial_worker_add(w, &r, err);
    }
    return st;
}
