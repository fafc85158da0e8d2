/* server/issuer.c - the issuer's messages: admission, once a person; the vouch, once a collection. */
#include "issuer.h"

static issuer *self(fre_server *x)
{
    return (issuer *)x;
}

/* ---- admission ------------------------------------------------------------------------------------ */

static fre_status remember(issuer *x, fre_delta *rows, const uint8_t person[SERVER_HASH_BYTES],
                           const uint8_t request[SERVER_HASH_BYTES])
{
    fre_status st =
        fre_grow((void **)&x->request, &x->request_cap, x->requests + 1, sizeof *x->request);

    if (st == FRE_OK)
        st = server_keep_secret(&x->base, rows);
    if (st != FRE_OK)
        return st;
    st = server_row_put(rows, SERVER_ROW_KNOWN, server_view(person, SERVER_HASH_BYTES),
                        server_view(request, SERVER_HASH_BYTES));
    if (st == FRE_OK)
        st = server_table_put(&x->person, person, (uint32_t)x->requests);
    if (st == FRE_OK)
        st = server_table_put(&x->known, request, 0);
    if (st != FRE_OK)
        return st;
    memcpy(x->request[x->requests++], request, SERVER_HASH_BYTES);
    return FRE_OK;
}

typedef struct admission {
    bool fresh; /* was not answered before */
    uint8_t person[SERVER_HASH_BYTES], request[SERVER_HASH_BYTES];
} admission;

/* Credentials may end before a request's last retry: one that was answered is answered again, whoever asks.
 * FRE_E_REFUSED: nobody, or somebody who asked for something else before; FRE_E_AGAIN: who it is cannot be
 * told now. */
static fre_status admit(const issuer *x, admission *a, fre_bytes credentials, fre_bytes in)
{
    uint8_t name[32];
    fre_status st;

    server_hash(a->request, &x->base, in);
    a->fresh = !server_table_find(&x->known, a->request);
    if (!a->fresh)
        return FRE_OK;
    st = x->host.person(x->host.ctx, name, credentials);
    if (st != FRE_OK)
        return st == FRE_E_REFUSED ? st : FRE_E_AGAIN;
    server_hash(a->person, &x->base, server_view(name, sizeof name));
    return server_table_find(&x->person, a->person) || x->requests >= server_wire(&x->base)->c.users
               ? FRE_E_REFUSED
               : FRE_OK;
}

/* Whatever is wrong inside, the relay learns one thing: not admitted. */
static fre_status answer(issuer *x, fre_reply *out, const fre_ohttp_exchange *e, fre_bytes message,
                         fre_bytes in)
{
    const fre_wire *w = server_wire(&x->base);
    fre_oprf_element blinded[FRE_COLLECTION_CELLS_MAX];
    const server_asked q = {FRE_WIRE_ISSUE_REQUEST, e, &x->seal, blinded, in};
    fre_bytes credentials;
    admission a;
    fre_status st = fre_issue_request_decode(&credentials, blinded, w, message, NULL);

    if (st == FRE_OK)
        st = admit(x, &a, credentials, in);
    if (st == FRE_OK)
        st = server_key_answer(&out->message, &x->oprf, w, &q);
    if (st == FRE_E_DATA || st == FRE_E_KEY || st == FRE_E_REFUSED)
        return server_reject(&x->base, out, FRE_REJECTED_ADMISSION);
    if (st == FRE_E_AGAIN || st == FRE_E_STATE)
        return server_reject(&x->base, out, FRE_REJECTED_UNAVAILABLE);
    if (st == FRE_OK && a.fresh)
        st = remember(x, &out->rows, a.person, a.request);
    if (st != FRE_OK)
        return st;
    x->base.tally.accepted += a.fresh;
    x->base.tally.repeated += !a.fresh;
    return FRE_OK;
}

static fre_status exchange(issuer *x, fre_reply *out, fre_bytes in)
{
    fre_ohttp_exchange e;
    fre_buf message;
    fre_status st;

    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    st = fre_exchange_open(&e, &message, server_wire(&x->base), FRE_WIRE_ISSUE_REQUEST, &x->seal,
                           in, NULL);
    if (st == FRE_OK) {
        st = answer(x, out, &e, server_buf_view(&message), in);
        fre_ohttp_exchange_wipe(&e);
    } else {
        st = server_reject_status(&x->base, out, st);
    }
    fre_buf_wipe(&message);
    return st;
}

/* Opened twice, here and when it is handled: a check of who it is may take long, and must not hold up the
 * machine. */
fre_status fre_server_credentials(fre_server *base, fre_buf *out, fre_bytes in)
{
    issuer *x = base && base->role == FRE_ROLE_ISSUER ? self(base) : NULL;
    fre_oprf_element blinded[FRE_COLLECTION_CELLS_MAX];
    uint8_t request[SERVER_HASH_BYTES];
    fre_ohttp_exchange e;
    fre_bytes credentials;
    fre_buf message;
    fre_status st;

    if (!x || !out || (in.n > 0 && !in.p))
        return FRE_E_ARG;
    if (in.n == 0 || in.p[0] != FRE_COLLECTION_OHTTP_KEY_ID || !server_has_seal(&x->seal))
        return FRE_OK;
    server_hash(request, base, in);
    if (server_table_find(&x->known, request))
        return FRE_OK;
    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    st = fre_exchange_open(&e, &message, server_wire(base), FRE_WIRE_ISSUE_REQUEST, &x->seal, in,
                           NULL);
    if (st == FRE_OK) {
        fre_ohttp_exchange_wipe(&e);
        st = fre_issue_request_decode(&credentials, blinded, server_wire(base),
                                      server_buf_view(&message), NULL);
    }
    if (st == FRE_OK)
        st = fre_buf_append(out, credentials.p, credentials.n);
    fre_buf_wipe(&message);
    return st == FRE_E_NOMEM || st == FRE_E_INTERNAL ? st : FRE_OK;
}

/* ---- the vouch ---------------------------------------------------------------------------------------- */

static fre_status vouch(issuer *x, fre_reply *out, fre_bytes in)
{
    fre_tag_sets sets;
    bool fresh, taken;
    fre_status st = fre_vouch_decode(&sets, server_wire(&x->base), in, NULL);

    if (st != FRE_OK)
        return server_reject_status(&x->base, out, st);
    if (x->base.now < server_wire(&x->base)->c.tags_close)
        return server_reject(&x->base, out, FRE_REJECTED_PHASE);
    st = server_take_part(&x->asked, &x->base, out, sets.part, in, &fresh, &taken);
    if (st != FRE_OK || !taken)
        return st;
    if (x->malformed)
        return server_reject(&x->base, out, FRE_REJECTED_MALFORMED);
    if (x->answers.count > 0) {
        x->base.tally.repeated++;
        return fre_buf_append(&out->message, x->answers.letter[sets.part.index].message.p,
                              x->answers.letter[sets.part.index].message.n);
    }
    return server_receipt(&x->base, out, fresh);
}

static void wipe_keys(issuer *x)
{
    server_key_wipe(&x->oprf);
    fre_hpke_keypair_wipe(&x->seal);
}

static fre_status tick(fre_server *base, fre_letters *out, fre_delta *rows)
{
    issuer *x = self(base);
    bool ok = true;
    fre_status st = FRE_OK;

    (void)out;
    if (base->phase == FRE_PHASE_WAITING && base->now >= server_wire(base)->c.open)
        st = server_move(base, rows, FRE_PHASE_TAKING);
    if (st == FRE_OK && base->phase == FRE_PHASE_TAKING &&
        base->now >= server_wire(base)->c.exchange_close)
        st = server_move(base, rows, FRE_PHASE_CLOSED);
    if (st != FRE_OK || base->phase >= FRE_PHASE_DONE)
        return st;
    if (!server_key_here(&x->oprf) || !server_parts_complete(&x->asked))
        return FRE_OK;
    st = issuer_vouch(x, rows, &ok);
    if (st != FRE_OK)
        return st == FRE_E_STATE ? FRE_OK
                                 : st; /* the keeper's time has not come: at the next tick */
    x->malformed = !ok;
    if (!ok) /* S_syn broke the rules: nothing it can ask for is answered */
        return server_void(base, rows, FRE_CANCEL_DISAGREE);
    wipe_keys(x);
    st = server_parts_used(&x->asked, rows);
    return st == FRE_OK ? server_move(base, rows, FRE_PHASE_DONE) : st;
}

static fre_status handle(fre_server *base, fre_reply *out, fre_wire_type type, fre_bytes in)
{
    issuer *x = self(base);
    fre_status st;
    bool due;

    if (type == FRE_WIRE_VOUCH)
        return vouch(x, out, in);
    if (type == FRE_WIRE_LIST && !server_wire(base)->c.one_contact)
        return issuer_list(x, out, in);
    if (type != 0)
        return server_reject(base, out, FRE_REJECTED_MALFORMED);
    if (server_key_here(&x->oprf) && !server_has_seal(&x->seal)) /* it is asked for */
        return server_reject(base, out, FRE_REJECTED_UNAVAILABLE);
    st = server_key_due(&x->oprf, base, out, &due);
    return st == FRE_OK && due ? exchange(x, out, in) : st;
}

static fre_status answered(fre_server *base, fre_delta *rows, uint64_t cookie, fre_bytes reply)
{
    (void)base;
    (void)rows;
    (void)cookie;
    (void)reply;
    return FRE_OK;
}

/* ---- making and unmaking --------------------------------------------------------------------------- */

static void forget(fre_server *base)
{
    issuer *x = self(base);

    wipe_keys(x);
    server_table_wipe(&x->person);
    server_table_wipe(&x->known);
    fre_wipe_free(x->request, x->request_cap * sizeof *x->request);
    x->request = NULL;
    x->requests = x->request_cap = 0;
    server_parts_wipe(&x->asked);
    server_out_wipe(&x->answers);
}

static void free_issuer(fre_server *base)
{
    issuer *x = self(base);

    server_key_free(&x->oprf);
    forget(base);
    server_base_wipe(base);
    server_machine_free(x);
}

static fre_status restore(fre_server *base, const fre_row *row)
{
    issuer *x = self(base);

    if (!row) {
        if (base->phase >= FRE_PHASE_DONE)
            wipe_keys(x); /* a host that kept them too long */
        return FRE_OK;
    }
    switch (row->table) {
    case SERVER_ROW_KNOWN:
        if (row->key.n != SERVER_HASH_BYTES || row->value.n != SERVER_HASH_BYTES)
            return FRE_E_DATA;
        return remember(x, NULL, row->key.p, row->value.p);
    case SERVER_ROW_IN:
        return server_parts_load(&x->asked, row, FRE_WIRE_VOUCH);
    case SERVER_ROW_OUT:
        return server_out_load(&x->answers, row);
    default:
        return FRE_E_DATA;
    }
}

/* ---- its keys at rest:  k_I (32)  seal (32) ----------------------------------------------------------- */

static bool key_over(const fre_server *base, fre_mask_key key)
{
    (void)key;
    return base->phase >= FRE_PHASE_DONE;
}

static bool key_here(const fre_server *base, fre_mask_key key)
{
    const issuer *x = (const issuer *)base;

    (void)key;
    return server_key_here(&x->oprf) && server_has_seal(&x->seal);
}

static fre_status key_mask(const fre_server *base, fre_mask_key key, uint8_t io[FRE_MASK_BYTES])
{
    const issuer *x = (const issuer *)base;
    const fre_status st = x->oprf.at->mask(x->oprf.at->ctx, io);

    (void)key;
    return st == FRE_OK ? server_seal_mask(&x->seal, io + 32) : st;
}

static fre_status key_back(fre_server *base, fre_mask_key key, const uint8_t masked[FRE_MASK_BYTES],
                           const uint8_t mask[FRE_MASK_BYTES])
{
    issuer *x = self(base);
    const fre_status st =
        server_seal_back(&x->seal, masked + 32, mask + 32, &server_wire(base)->c.issuer_seal);

    (void)key;
    return st == FRE_OK ? x->oprf.at->unmask(x->oprf.at->ctx, masked, mask) : st;
}

static const server_ops ops = {.masks = &server_masks,
                               .free = free_issuer,
                               .forget = forget,
                               .handle = handle,
                               .tick = tick,
                               .answered = answered,
                               .restore = restore,
                               .key_over = key_over,
                               .key_here = key_here,
                               .key_mask = key_mask,
                               .key_back = key_back};

fre_status fre_server_new_issuer(fre_server **out, const fre_agreement *a,
                                 const fre_server_keys *keys, fre_oprf_key *oprf,
                                 const fre_issuer_host *host, fre_err *err)
{
    const fre_collection *c;
    issuer *x;
    fre_status st;

    if (!out || !a || !keys || !host || !host->person)
        return FRE_E_ARG;
    c = &a->w.c;
    if (server_check_seal(&keys->seal, &c->issuer_seal) != FRE_OK ||
        memcmp(keys->sign.b + 32, c->issuer_sign.b, sizeof c->issuer_sign.b) != 0)
        return fre_fail(err, FRE_E_KEY,
                        "the issuer's keys are not those that the collection names");
    x = server_machine_new(sizeof *x);
    if (!x)
        return FRE_E_NOMEM;
    st = server_base_init(&x->base, &ops, a, FRE_ROLE_ISSUER, &keys->sign, 0, err);
    x->base.ops = &ops;
    x->asked = (server_parts){.kind = SERVER_VOUCH, .most = server_records(&x->base)};
    x->answers = (server_out){.kind = SERVER_VOUCHED, .to = FRE_ROLE_SYN};
    x->seal = keys->seal;
    x->host = *host;
    if (st == FRE_OK)
        st = server_key_take(&x->oprf, &a->w, FRE_ROLE_ISSUER, keys->keeper, oprf, err);
    if (st != FRE_OK) {
        free_issuer(&x->base);
        return st;
    }
    *out = &x->base;
    return FRE_OK;
}
