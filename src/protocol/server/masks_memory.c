/* server/masks_memory.c - where masks are: locked memory, which ends by the clock or with the collection; and how they
 * leave it. */
#include "masks.h"

#include <sodium.h>

fre_status server_masks_init(fre_server *x)
{
    if (x->role == 0)
        return FRE_OK;
    x->masks = sodium_malloc(sizeof *x->masks);
    if (!x->masks)
        return FRE_E_NOMEM;
    memset(x->masks, 0, sizeof *x->masks);
    return FRE_OK;
}

void server_masks_wipe(fre_server *x)
{
    sodium_free(x->masks); /* wipes it */
    x->masks = NULL;
}

void server_masks_forget(fre_server *x)
{
    if (x->masks)
        fre_wipe(x->masks, sizeof *x->masks);
}

void server_masks_expire(fre_server *x)
{
    for (unsigned key = 1; x->masks && key < FRE_MASK_KEYS; key++)
        if (fre_mask_holder((fre_mask_key)key) == x->role &&
            x->now >= fre_mask_end(&x->a->w.c, (fre_mask_key)key)) {
            fre_wipe(&x->masks->held[key], sizeof x->masks->held[key]);
            x->masks->held[key].over = true;
        }
}

fre_status masks_post(fre_server *x, fre_letters *out, fre_role to, fre_wire_type type,
                      const fre_mask *m)
{
    fre_buf message;
    fre_status st;

    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    st = fre_mask_encode(&message, &x->a->w, type, m, &x->sign);
    if (st == FRE_OK)
        st = server_post(out, to,
                         SERVER_COOKIE(SERVER_MASK, (unsigned)type << 8 | (unsigned)m->key),
                         server_buf_view(&message));
    fre_buf_wipe(&message);
    return st;
}
