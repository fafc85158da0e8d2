/* workers.c - the queue between connections and the threads that call a handler. */
#include "net_private.h"

#include <signal.h>
#include <sys/eventfd.h>

static net_request *pop(net_queue *q)
{
    net_request *r;

    (void)pthread_mutex_lock(&q->lock);
    while (!q->first && !q->closing)
        (void)pthread_cond_wait(&q->more, &q->lock);
    r = q->first;
    if (r) {
        q->first = r->next;
        q->n--;
    }
    (void)pthread_mutex_unlock(&q->lock);
    return r;
}

static bool closes(net_queue *q)
{
    bool closing;

    (void)pthread_mutex_lock(&q->lock);
    closing = q->closing;
    (void)pthread_mutex_unlock(&q->lock);
    return closing;
}

static void *work(void *arg)
{
    net_queue *q = arg;
    net_request *r;

    while ((r = pop(q)) != NULL) {
        const int wake = r->connection->loop->wake;
        struct MHD_Connection *mhd = r->connection->mhd;

        if (closes(q))
            r->reply.status = 503;
        else
            q->handler->serve(q->handler->ctx, &r->head, &r->reply);
        r->stage = NET_DONE;
        /* From here on the request is its loop's, and may be gone. */
        MHD_resume_connection(mhd);
        (void)eventfd_write(wake, 1);
    }
    return NULL;
}

fre_status net_queue_start(net_queue *q, const fre_http_handler *handler, unsigned workers,
                           unsigned max, fre_err *err)
{
    sigset_t all, before;
    int e = 0;

    *q = (net_queue){.max = max, .handler = handler};
    (void)pthread_mutex_init(&q->lock, NULL);
    (void)pthread_cond_init(&q->more, NULL);
    q->thread = calloc(workers, sizeof *q->thread);
    if (!q->thread)
        return FRE_E_NOMEM;
    /* Signals are for the host's own threads. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    while (e == 0 && q->threads < workers) {
        e = pthread_create(&q->thread[q->threads], NULL, work, q);
        q->threads += e == 0;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return e == 0 ? FRE_OK : fre_fail(err, FRE_E_IO, "no thread for requests: %s", strerror(e));
}

bool net_queue_push(net_queue *q, net_request *r)
{
    bool room;

    (void)pthread_mutex_lock(&q->lock);
    room = q->n < q->max && !q->closing;
    if (room) {
        /* Before a worker can see it: it would resume what is not suspended. */
        MHD_suspend_connection(r->connection->mhd);
        r->next = NULL;
        if (q->first)
            q->last->next = r;
        else
            q->first = r;
        q->last = r;
        q->n++;
        (void)pthread_cond_signal(&q->more);
    }
    (void)pthread_mutex_unlock(&q->lock);
    return room;
}

void net_queue_stop(net_queue *q)
{
    if (!q->handler)
        return;
    (void)pthread_mutex_lock(&q->lock);
    q->closing = true;
    (void)pthread_cond_broadcast(&q->more);
    (void)pthread_mutex_unlock(&q->lock);
    for (unsigned i = 0; i < q->threads; i++)
        (void)pthread_join(q->thread[i], NULL);
    free(q->thread);
    (void)pthread_cond_destroy(&q->more);
    (void)pthread_mutex_destroy(&q->lock);
}
