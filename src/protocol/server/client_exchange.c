/* server/client_exchange.c - a client's two exchanges: its places at the issuer, its cells at S_tag. */
#include "client.h"

typedef struct inputs {
    fre_bytes input[FRE_COLLECTION_CELLS_MAX];
    fre_report_id id[FRE_COLLECTION_CELLS_MAX];
    fre_oprf_blind blind[FRE_COLLECTION_CELLS_MAX];
    uint32_t n;
} inputs;

static void gather(inputs *k, const client *c, fre_wire_type ask)
{
    const fre_wire *w = server_wire(&c->base);

    k->n = w->c.cells_per_user;
    for (uint32_t i = 0; i < k->n; i++) {
        const client_place *p = &c->place[i];

        fre_place_id(&k->id[i], w, &p->place);
        k->input[i] = ask == FRE_WIRE_ISSUE_REQUEST ? server_view(k->id[i].b, sizeof k->id[i].b)
                                                    : server_view(p->cell, sizeof p->cell);
        k->blind[i] = ask == FRE_WIRE_ISSUE_REQUEST ? p->blind_id : p->blind_cell;
    }
}

static fre_status encapsulate(client_asked *a, const client *c, const inputs *k)
{
    const fre_wire *w = server_wire(&c->base);
    const bool issue = a->what == FRE_WIRE_ISSUE_REQUEST;
    fre_buf message;
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < k->n; i++)
        st = fre_oprf_blind_input_with(&a->blinded[i], k->input[i], &k->blind[i]);
    if (st != FRE_OK)
        return st;
    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    st = issue ? fre_issue_request_encode(&message, w, server_buf_view(&c->credentials), a->blinded)
               : fre_tag_request_encode(&message, w, a->blinded);
    if (st == FRE_OK)
        st = fre_exchange_ask_with(&a->x, &a->sealed, w, a->what, server_buf_view(&message),
                                   issue ? &c->ask_issue : &c->ask_tags);
    fre_buf_wipe(&message);
    return st;
}

void client_forget_asked(client *c)
{
    if (c->asked)
        fre_buf_wipe(&c->asked->sealed);
    fre_wipe_free(c->asked, sizeof *c->asked);
    c->asked = NULL;
}

/* The exchange is there. */
static fre_status ask_for(client *c, fre_wire_type ask, const inputs *k)
{
    fre_status st;

    if (c->asked && c->asked->what == ask)
        return FRE_OK;
    client_forget_asked(c);
    c->asked = calloc(1, sizeof *c->asked);
    if (!c->asked)
        return FRE_E_NOMEM;
    c->asked->what = ask;
    fre_buf_init(&c->asked->sealed, FRE_WIRE_MESSAGE_MAX);
    st = encapsulate(c->asked, c, k);
    if (st != FRE_OK)
        client_forget_asked(c);
    return st;
}

static fre_status request(client *c, fre_buf *out, fre_wire_type ask)
{
    fre_carry m = {.what = ask};
    inputs k;
    fre_status st;

    gather(&k, c, ask);
    st = ask_for(c, ask, &k);
    if (st == FRE_OK) {
        if (ask == FRE_WIRE_TAG_REQUEST)
            m.token = c->token;
        m.bytes = server_buf_view(&c->asked->sealed);
        st = fre_carry_encode(out, server_wire(&c->base), &m);
    }
    fre_wipe(&k, sizeof k);
    return st;
}

fre_status client_issue(client *c, fre_buf *out)
{
    return request(c, out, FRE_WIRE_ISSUE_REQUEST);
}

fre_status client_tags(client *c, fre_buf *out)
{
    return request(c, out, FRE_WIRE_TAG_REQUEST);
}

static fre_status unblind(const client *c, fre_oprf_output *out, const inputs *k, fre_bytes message)
{
    const fre_wire *w = server_wire(&c->base);
    const bool issue = c->asked->what == FRE_WIRE_ISSUE_REQUEST;
    const fre_oprf_request sent = {k->input, k->blind, c->asked->blinded, k->n};
    fre_oprf_element evaluated[FRE_COLLECTION_CELLS_MAX];
    fre_oprf_proof proof;
    fre_status st = issue ? fre_issue_response_decode(evaluated, &proof, w, message, NULL)
                          : fre_tag_response_decode(evaluated, &proof, w, message, NULL);

    if (st != FRE_OK)
        return st;
    return fre_oprf_finalize(out, issue ? &w->c.issuer_pk : &w->c.oprf_pk, &sent, evaluated, k->n,
                             &proof);
}

/* FRE_E_PROOF, FRE_E_DATA: what a server that keeps the rules does not send. */
static fre_status finalize(client *c, fre_oprf_output *out, fre_wire_type ask, fre_bytes answer)
{
    fre_buf message;
    inputs k;
    fre_status st;

    gather(&k, c, ask);
    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    st = ask_for(c, ask, &k);
    if (st == FRE_OK)
        st = fre_exchange_read(&c->asked->x, &message, server_wire(&c->base), answer, NULL);
    if (st == FRE_OK)
        st = unblind(c, out, &k, server_buf_view(&message));
    if (st == FRE_OK)
        client_forget_asked(c);
    fre_buf_wipe(&message);
    fre_wipe(&k, sizeof k);
    return st;
}

fre_status client_admitted(client *c, fre_bytes reply)
{
    const fre_wire *w = server_wire(&c->base);
    fre_oprf_output *key;
    fre_admitted m;
    fre_status st = fre_admitted_decode(&m, w, reply, NULL);

    if (st != FRE_OK)
        return st;
    key = calloc(w->c.cells_per_user, sizeof *key);
    if (!key)
        return FRE_E_NOMEM;
    st = finalize(c, key, FRE_WIRE_ISSUE_REQUEST, m.answer);
    if (st != FRE_OK) {
        fre_wipe_free(key, w->c.cells_per_user * sizeof *key);
        return st;
    }
    c->key = key;
    c->token = m.token;
    return FRE_OK;
}

fre_status client_tagged(client *c, fre_bytes reply)
{
    const uint32_t n = server_wire(&c->base)->c.cells_per_user;
    fre_oprf_output *out = calloc(n, sizeof *out);
    fre_status st = out ? finalize(c, out, FRE_WIRE_TAG_REQUEST, reply) : FRE_E_NOMEM;

    for (uint32_t i = 0; st == FRE_OK && i < n; i++)
        memcpy(c->place[i].tag.b, out[i].b, sizeof c->place[i].tag.b);
    fre_wipe_free(out, n * sizeof *out);
    return st;
}
