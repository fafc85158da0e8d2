/* server/list.c - two contacts: the list of tags with their counts, which everybody gets. */
#include "server_private.h"

static fre_status read_into(server_list *l, const fre_server *x, fre_bytes in)
{
    fre_status st;

    l->w = x->a->w;
    fre_buf_init(&l->message, FRE_WIRE_MESSAGE_MAX);
    st = fre_buf_append(&l->message, in.p, in.n);
    if (st == FRE_OK)
        st = fre_listed_decode(&l->list, &l->w, server_buf_view(&l->message), NULL);
    return st == FRE_OK ? fre_wire_derive_share_bits(&l->w, &l->list, NULL) : st;
}

fre_status server_list_read(server_list **out, const fre_server *x, fre_bytes in)
{
    server_list *l = calloc(1, sizeof *l);
    fre_status st = l ? read_into(l, x, in) : FRE_E_NOMEM;

    if (st == FRE_OK)
        *out = l;
    else
        server_list_free(l);
    return st;
}

void server_list_free(server_list *l)
{
    if (l)
        fre_buf_wipe(&l->message);
    free(l);
}

fre_status server_list_keep(fre_server *x, fre_delta *rows, fre_bytes in)
{
    fre_status st = server_list_read(&x->list, x, in);

    return st == FRE_OK ? server_row_put(rows, SERVER_ROW_LIST, server_view(NULL, 0), in) : st;
}

fre_status server_cell(fre_share_cell *out, const fre_agreement *a, const fre_wire *w,
                       uint64_t count)
{
    if (!a->w.c.one_contact)
        return fre_share_cell_init(out, &a->m, a->w.c.split, count, w->share_bits, NULL);
    *out = a->cell;
    out->count = count;
    return FRE_OK;
}

static uint32_t listed(const fre_server *x, const fre_tag *tag)
{
    uint32_t count = 0;

    (void)fre_list_find(&x->list->list, tag, &count);
    return count;
}

uint64_t server_ids_needed(const fre_server *x, const fre_tag *tag)
{
    uint32_t count;

    if (x->a->w.c.one_contact)
        return x->a->w.c.tau;
    count = listed(x, tag);
    return count > 0 ? fre_answers_needed(&x->a->m, count) : UINT64_MAX;
}

uint64_t server_count(const fre_server *x, const fre_tag *tag, uint64_t ids)
{
    return x->a->w.c.one_contact ? ids : listed(x, tag);
}

fre_bytes fre_server_list_view(const fre_server *x)
{
    return x->list ? server_buf_view(&x->list->message) : server_view(NULL, 0);
}
