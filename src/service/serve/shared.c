/* serve/shared.c - bytes that many are sent at once, kept until the last of them is through. */
#include "serve_private.h"

fre_status serve_shared_new(serve_shared **out, fre_bytes in)
{
    serve_shared *b = calloc(1, sizeof *b);
    fre_status st;

    if (!b)
        return FRE_E_NOMEM;
    atomic_init(&b->users, 1);
    fre_buf_init(&b->bytes, SIZE_MAX / 2);
    st = fre_buf_reserve(&b->bytes, in.n);
    if (st == FRE_OK && in.n > 0)
        st = fre_buf_append(&b->bytes, in.p, in.n);
    if (st != FRE_OK) {
        serve_shared_drop(b);
        return st;
    }
    *out = b;
    return FRE_OK;
}

serve_shared *serve_shared_take(serve_shared *b)
{
    if (b)
        atomic_fetch_add(&b->users, 1);
    return b;
}

void serve_shared_drop(void *shared)
{
    serve_shared *b = shared;

    if (!b || atomic_fetch_sub(&b->users, 1) > 1)
        return;
    fre_buf_wipe(&b->bytes);
    free(b);
}
