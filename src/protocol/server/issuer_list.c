/* server/issuer_list.c - two contacts: the issuer signs S_syn's list if it is what it vouched for.  What it
 * vouched for is in its answers: nothing is stored for this, and the same list gets the same bytes. */
#include "issuer.h"

/* A tag and how many ids were kept under it, one after the other over all parts. */
typedef struct walk {
    const issuer *x;
    uint32_t part;
    fre_tag_sets sets; /* of that part */
    fre_vouched_set next;
    bool more; /* next is there */
} walk;

static fre_status next_set(walk *k)
{
    fre_status st = FRE_OK;

    k->more = fre_vouched_next(&k->sets, &k->next);
    while (st == FRE_OK && !k->more && k->part < k->x->answers.count) {
        st = fre_vouched_decode(&k->sets, server_wire(&k->x->base),
                                server_buf_view(&k->x->answers.letter[k->part++].message), NULL);
        if (st == FRE_OK)
            k->more = fre_vouched_next(&k->sets, &k->next);
    }
    return st;
}

/* The tag that is next, whole. */
static fre_status next_tag(walk *k, fre_list_entry *out)
{
    fre_status st = FRE_OK;

    *out = (fre_list_entry){.tag = k->next.tag};
    while (st == FRE_OK && k->more && memcmp(k->next.tag.b, out->tag.b, sizeof out->tag.b) == 0) {
        out->count += k->next.n;
        st = next_set(k);
    }
    return st;
}

static fre_status is_vouched(bool *yes, const issuer *x, const fre_list *l)
{
    walk k = {.x = x};
    fre_status st = next_set(&k);

    *yes = true;
    for (uint32_t i = 0; st == FRE_OK && *yes && i < l->n; i++) {
        const fre_list_entry said = fre_list_at(l, i);
        fre_list_entry is = {.count = 0};

        st = next_tag(&k, &is);
        *yes = is.count == said.count && memcmp(is.tag.b, said.tag.b, sizeof is.tag.b) == 0;
    }
    *yes = *yes && !k.more;
    return st;
}

fre_status issuer_list(issuer *x, fre_reply *out, fre_bytes in)
{
    fre_list l;
    bool yes;
    fre_status st = fre_list_decode(&l, server_wire(&x->base), in, NULL);

    if (st != FRE_OK)
        return server_reject_status(&x->base, out, st);
    if (x->base.phase != FRE_PHASE_DONE)
        return server_reject(&x->base, out, FRE_REJECTED_PHASE);
    st = is_vouched(&yes, x, &l);
    if (st != FRE_OK)
        return st;
    if (!yes)
        return server_reject(&x->base, out, FRE_REJECTED_DISAGREES);
    x->base.tally.accepted++;
    return fre_listed_encode(&out->message, server_wire(&x->base), in, &x->base.sign);
}
