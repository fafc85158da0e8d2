/* serve/front.c - a process whose role another one plays, since that has the lock of the store: it decides nothing and
 * keeps nothing but what is published.  Clients' messages go on to the other as they are; whatever other roles send
 * is for that one alone, and is not passed on (masks may be in it).  Decision 0041. */
#include "serve_private.h"

unsigned serve_front_take(serve_site *x, fre_buf *answer, fre_bytes message)
{
    unsigned status = 0;

    if (serve_own_ask(x, &message, "", answer, &status) == FRE_OK && status == 200 && answer->n > 0)
        return 200;
    fre_buf_wipe(answer);
    return 503;
}

/* ---- what is published: it never changes once it is there ----------------------------------------------- */

/* Where it is kept; NULL: no memory.  Under the lock. */
static serve_shared **place(serve_published *p, const char *rest)
{
    const uint32_t part = (uint32_t)strtoul(rest + sizeof "/release/" - 1, NULL, 10);
    serve_shared **more;

    if (strcmp(rest, "/list") == 0)
        return &p->list;
    if (part >= p->parts) {
        more = realloc(p->part, ((size_t)part + 1) * sizeof *more);
        if (!more)
            return NULL;
        memset(more + p->parts, 0, (part + 1 - p->parts) * sizeof(serve_shared *));
        p->part = more;
        p->parts = part + 1;
    }
    return &p->part[part];
}

static serve_shared *keep(serve_site *x, const char *rest, fre_bytes bytes)
{
    serve_shared *found = NULL, **at;

    (void)pthread_rwlock_wrlock(&x->published_lock);
    at = place(&x->published, rest);
    if (at && !*at && serve_shared_new(at, bytes) != FRE_OK)
        *at = NULL;
    if (at)
        found = serve_shared_take(*at);
    (void)pthread_rwlock_unlock(&x->published_lock);
    return found;
}

serve_shared *serve_front_get(serve_site *x, const char *rest, unsigned *status)
{
    serve_shared *found = NULL;
    unsigned said = 0;
    fre_buf b;

    fre_buf_init(&b, FRE_WIRE_MESSAGE_MAX);
    if (serve_own_ask(x, NULL, rest, &b, &said) != FRE_OK || (said != 200 && said != 404))
        *status = 503;
    else if (said == 200 && b.n > 0 && !(found = keep(x, rest, serve_view(&b))))
        *status = 503;
    fre_buf_wipe(&b);
    return found;
}
