/* server/driver.c - calls of machines in their order: rows are kept before anything leaves, what goes on
 * to another role is carried, answers come back. */
#include "server_private.h"

static void enter(const fre_host *h, fre_server *x)
{
    if (h->enter)
        h->enter(h->ctx, x);
}

static void leave(const fre_host *h, fre_server *x)
{
    if (h->leave)
        h->leave(h->ctx, x);
}

static fre_status keep(const fre_host *h, fre_server *x, const fre_delta *rows)
{
    return h->keep && rows->n > 0 ? h->keep(h->ctx, x, rows) : FRE_OK;
}

static fre_status handle(fre_server *x, const fre_host *h, fre_reply *r, fre_bytes message,
                         int64_t now)
{
    fre_status st;

    enter(h, x);
    st = fre_server_handle(x, r, message, now);
    if (st == FRE_OK)
        st = keep(h, x, &r->rows);
    leave(h, x);
    return st;
}

/* The other role's answer, or none. */
static fre_status ask(fre_server *x, const fre_host *h, fre_reply *r, fre_bytes message,
                      int64_t now)
{
    fre_buf back;
    fre_status st;

    fre_buf_init(&back, FRE_WIRE_MESSAGE_MAX);
    st = h->carry(h->ctx, x, r->forward, server_buf_view(&r->message), &back);
    if (st == FRE_OK) {
        enter(h, x);
        st = fre_server_returned(x, r, message, server_buf_view(&back), now);
        if (st == FRE_OK)
            st = keep(h, x, &r->rows);
        leave(h, x);
    }
    fre_buf_wipe(&back);
    return st;
}

fre_status fre_server_take(fre_server *x, const fre_host *h, fre_buf *answer, fre_bytes message,
                           int64_t now)
{
    fre_reply r;
    fre_status st;

    if (!x || !h || !answer)
        return FRE_E_ARG;
    fre_reply_init(&r);
    st = handle(x, h, &r, message, now);
    if (st == FRE_OK && r.forward)
        st = ask(x, h, &r, message, now);
    if (st == FRE_OK)
        st = fre_buf_append(answer, r.message.p, r.message.n);
    fre_reply_wipe(&r);
    return st;
}

static fre_status carry(fre_server *x, const fre_host *h, const fre_letter *l, int64_t now)
{
    fre_buf answer;
    fre_delta rows;
    fre_status st;

    fre_buf_init(&answer, FRE_WIRE_MESSAGE_MAX);
    fre_delta_init(&rows);
    st = h->carry(h->ctx, x, l->to, server_buf_view(&l->message), &answer);
    if (st == FRE_OK && answer.n > 0) {
        enter(h, x);
        st = fre_server_answered(x, h->keep ? &rows : NULL, l->cookie, server_buf_view(&answer),
                                 now);
        if (st == FRE_OK)
            st = keep(h, x, &rows);
        leave(h, x);
    }
    fre_buf_wipe(&answer);
    fre_delta_wipe(&rows);
    return st;
}

fre_status fre_server_step(fre_server *x, const fre_host *h, size_t *letters, int64_t now)
{
    fre_letters l;
    fre_delta rows;
    fre_status st;

    if (!x || !h)
        return FRE_E_ARG;
    fre_letters_init(&l);
    fre_delta_init(&rows);
    enter(h, x);
    st = fre_server_tick(x, &l, h->keep ? &rows : NULL, now);
    if (st == FRE_OK)
        st = keep(h, x, &rows);
    leave(h, x);
    fre_delta_wipe(&rows);
    for (size_t i = 0; st == FRE_OK && i < l.n; i++)
        st = carry(x, h, &l.letter[i], now);
    if (st == FRE_OK && letters)
        *letters = l.n;
    fre_letters_wipe(&l);
    return st;
}
