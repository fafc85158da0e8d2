/* parties/client.c - a user's device [Fre-E2T, Alg. 2, client]. */
#include "client.h"

#include <fre/aggregate.h>

enum { COOKIE_ASK = 1, COOKIE_REPORT, COOKIE_SHARE };

static uint32_t slots(const fre_client *c)
{
    return c->terms->w.c.cells_per_user;
}

/* ---- beginning: everything that is drawn once -------------------------------------------------- */

/* A stream of one purpose, from what the host's stream gives. */
static fre_status own_stream(fre_rng *out, fre_rng *from, const char *label)
{
    uint8_t seed[FRE_SEED_BYTES];
    fre_status st;

    fre_rng_bytes(from, seed, sizeof seed);
    st = fre_rng_init_seeded(out, seed, label);
    fre_wipe(seed, sizeof seed);
    return st;
}

/* The coin of every slot, text or none; nothing else is drawn from its stream. */
static fre_status draw_coins(fre_client *c, fre_rng *rng)
{
    fre_rng coins;
    fre_status st = own_stream(&coins, rng, "fre/client/coin");

    if (st != FRE_OK)
        return st;
    for (uint32_t i = 0; i < slots(c); i++)
        c->slot[i].real = fre_aggregate_coin(&coins, c->terms->w.c.p32) ? 1 : 0;
    fre_rng_wipe(&coins);
    return FRE_OK;
}

/* A client clips its embedding to the norm bound. */
static fre_status cell_of(fre_cell *cell, const fre_terms *t, const float *x)
{
    const size_t dim = t->w.c.dim;
    float *own = malloc(dim * sizeof *own);
    fre_status st = own ? FRE_OK : FRE_E_NOMEM;

    if (st == FRE_OK) {
        memcpy(own, x, dim * sizeof *own);
        st = fre_aggregate_clip(own, dim, t->w.c.norm_bound) ? FRE_OK : FRE_E_DATA;
    }
    if (st == FRE_OK)
        st = fre_sketch_cell(t->grid, cell, own, dim);
    fre_wipe_free(own, dim * sizeof *own);
    return st;
}

/* Cells of the texts into the first slots; a second text in a cell leaves its slot without one,
 * since at most one record of a user may be in a cell. */
static fre_status find_cells(fre_client *c, fre_err *err)
{
    const uint32_t dim = c->terms->w.c.dim;

    for (uint32_t i = 0; i < slots(c); i++) {
        client_slot *p = &c->slot[i];
        fre_cell cell;
        fre_status st;

        if (i >= c->texts) {
            p->real = 0;
            continue;
        }
        st = cell_of(&cell, c->terms, c->x + (size_t)i * dim);
        if (st != FRE_OK)
            return fre_fail(err, st == FRE_E_NOMEM ? st : FRE_E_DATA,
                            "text %u: its embedding holds a NaN, an infinity, or a number far "
                            "outside the grid",
                            i + 1);
        for (uint32_t j = 0; j < i; j++) {
            if (fre_secret_eq(cell.bytes, c->slot[j].input.bytes, sizeof cell.bytes))
                p->real = 0;
        }
        p->input = cell;
        fre_wipe(&cell, sizeof cell);
    }
    return FRE_OK;
}

/* Slots without a text get random inputs, which S_tag cannot tell apart: all are blinded. */
static fre_status draw_rest(fre_client *c, fre_rng *rng)
{
    fre_rng r;
    fre_status st = own_stream(&r, rng, "fre/client/tags");

    if (st != FRE_OK)
        return st;
    for (uint32_t i = 0; i < slots(c) && st == FRE_OK; i++) {
        client_slot *p = &c->slot[i];

        if (i >= c->texts)
            fre_rng_bytes(&r, p->input.bytes, sizeof p->input.bytes);
        fre_rng_bytes(&r, p->tag.b, sizeof p->tag.b);
        fre_rng_bytes(&r, p->id.b, sizeof p->id.b);
        st = fre_oprf_blind_input(&p->blind, &p->blinded,
                                  parties_view(p->input.bytes, sizeof p->input.bytes), &r);
    }
    fre_rng_bytes(&r, c->ask.b, sizeof c->ask.b);
    fre_rng_bytes(&r, c->report_seed, sizeof c->report_seed);
    fre_rng_bytes(&r, c->share_seed, sizeof c->share_seed);
    fre_rng_wipe(&r);
    return st;
}

fre_status fre_client_new(fre_client **out, const fre_terms *terms, const float *x, uint32_t n,
                          const fre_client_host *host, fre_rng *rng, fre_err *err)
{
    fre_client *c;
    fre_status st;

    if (!out || !terms || !host || !rng || (n > 0 && !x) || n > terms->w.c.cells_per_user)
        return fre_fail(err, FRE_E_ARG,
                        "a client can have at most as many texts as the collection "
                        "counts of one user");
    c = client_empty(terms, x, n, host);
    if (!c)
        return FRE_E_NOMEM;
    st = draw_coins(c, rng);
    if (st == FRE_OK)
        st = find_cells(c, err);
    if (st == FRE_OK)
        st = draw_rest(c, rng);
    if (st == FRE_OK) {
        *out = c;
        c = NULL;
    }
    fre_client_free(c);
    return st;
}

/* ---- time -------------------------------------------------------------------------------------- */

static bool any_counted(const fre_client *c)
{
    bool any = false;

    for (uint32_t i = 0; i < slots(c); i++)
        any |= c->slot[i].counted;
    return any;
}

static void drop_messages(fre_client *c)
{
    for (uint32_t i = 0; i < slots(c); i++)
        fre_buf_wipe(&c->slot[i].message);
}

/* All reports are settled, or it is too late for those that are not. */
static void reports_over(fre_client *c)
{
    drop_messages(c);
    c->kept = false;
    /* Without cover a client whose coins all fell on 0 has sent nothing, and is done as well. */
    if (!any_counted(c))
        client_end(c, c->terms->w.c.cover ? FRE_E_AGAIN : FRE_OK);
    else if (c->terms->w.c.one_contact)
        client_end(c, FRE_OK);
    else
        c->step = CLIENT_LISTENING;
}

static void advance(fre_client *c, int64_t now)
{
    const fre_collection *t = &c->terms->w.c;

    c->now = now > c->now ? now : c->now;
    if (c->step == CLIENT_ASKING && c->now >= t->tags_close)
        client_end(c, FRE_E_AGAIN);
    if (c->step == CLIENT_REPORTING && c->now >= t->tags_close)
        reports_over(c);
    if ((c->step == CLIENT_LISTENING || c->step == CLIENT_SHARING) && c->now >= t->shares_close)
        client_end(c, FRE_OK);
}

/* ---- tags -------------------------------------------------------------------------------------- */

/* The same bytes whenever it is made. */
static fre_status make_exchange(const fre_client *c, fre_ohttp_exchange *x, fre_buf *out)
{
    fre_oprf_element *blinded = calloc(slots(c), sizeof *blinded);
    fre_buf message;
    fre_status st;

    if (!blinded)
        return FRE_E_NOMEM;
    for (uint32_t i = 0; i < slots(c); i++)
        blinded[i] = c->slot[i].blinded;
    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    st = fre_tag_request_encode(&message, &c->terms->w, blinded);
    if (st == FRE_OK)
        st = fre_exchange_ask_with(x, out, &c->terms->w, FRE_WIRE_TAG_REQUEST,
                                   parties_buf_view(&message), &c->ask);
    fre_buf_wipe(&message);
    free(blinded);
    return st;
}

/* tag = output if real, else unchanged; no address and no branch depends on which. */
static void choose_tag(client_slot *p, const fre_oprf_output *output)
{
    const uint8_t mask = (uint8_t)(0u - p->real);

    for (size_t i = 0; i < sizeof p->tag.b; i++)
        p->tag.b[i] ^= (uint8_t)((p->tag.b[i] ^ output->b[i]) & mask);
}

/* Verifies and unblinds; from here the client has its tags and forgets its cells. */
static fre_status finalize(fre_client *c, const fre_oprf_element *evaluated,
                           const fre_oprf_proof *proof)
{
    const uint32_t n = slots(c);
    fre_oprf_output *output = calloc(n, sizeof *output);
    fre_oprf_blind *blind = calloc(n, sizeof *blind);
    fre_oprf_element *blinded = calloc(n, sizeof *blinded);
    fre_bytes *input = calloc(n, sizeof *input);
    fre_status st = output && blind && blinded && input ? FRE_OK : FRE_E_NOMEM;

    for (uint32_t i = 0; i < n && st == FRE_OK; i++) {
        input[i] = parties_view(c->slot[i].input.bytes, sizeof c->slot[i].input.bytes);
        blind[i] = c->slot[i].blind;
        blinded[i] = c->slot[i].blinded;
    }
    if (st == FRE_OK)
        st = fre_oprf_finalize(output, &c->terms->w.c.oprf_pk,
                               &(fre_oprf_request){input, blind, blinded, n}, evaluated, n, proof);
    for (uint32_t i = 0; i < n && st == FRE_OK; i++) {
        choose_tag(&c->slot[i], &output[i]);
        fre_wipe(&c->slot[i].input, sizeof c->slot[i].input);
        fre_oprf_blind_wipe(&c->slot[i].blind);
    }
    fre_wipe_free(output, n * sizeof *output);
    fre_wipe_free(blind, n * sizeof *blind);
    free(blinded);
    free(input);
    return st;
}

/* ---- shares ------------------------------------------------------------------------------------ */

/* S_syn's share of one slot, with its sealed seed.  Two pairs are always made, the real one and a
 * random one; whether the slot is real only decides which is used. */
static fre_status make_share(const fre_client *c, fre_contribution *m, uint8_t *packed,
                             const fre_wire *w, uint64_t count, uint32_t slot, uint8_t real,
                             fre_rng *r)
{
    const uint32_t dim = w->c.dim;
    const size_t n = fre_wire_share_bytes(w);
    const uint8_t mask = (uint8_t)(0u - real);
    float *zeros = calloc(dim, sizeof *zeros);
    uint8_t *other = malloc(n);
    fre_share_seed seed = {{0}}, other_seed = {{0}};
    fre_share_cell cell;
    const float *x = zeros;
    fre_status st = zeros && other ? FRE_OK : FRE_E_NOMEM;

    if (st != FRE_OK)
        goto out;
    if (slot < c->texts)
        x = c->x + (size_t)slot * dim;
    st = fre_share_cell_init(&cell, &c->terms->m, w->c.split, count, w->share_bits, NULL);
    if (st != FRE_OK)
        goto out;
    st = c->host->noise ? fre_share_make_with(packed, n, &seed, c->terms->rotation, &cell, x,
                                              c->host->noise, r)
                        : fre_share_make(packed, n, &seed, c->terms->rotation, &cell, x, r);
    if (st != FRE_OK)
        goto out;
    st = fre_share_random(other, n, &other_seed, dim, w->share_bits, r);
    if (st != FRE_OK)
        goto out;
    for (size_t i = 0; i < n; i++)
        packed[i] ^= (uint8_t)((packed[i] ^ other[i]) & (uint8_t)~mask);
    for (size_t i = 0; i < sizeof seed.b; i++)
        seed.b[i] ^= (uint8_t)((seed.b[i] ^ other_seed.b[i]) & (uint8_t)~mask);
    m->packed = parties_view(packed, n);
    st = fre_seed_seal(&m->seed, w, &m->tag, &m->id, &seed, r);
out:
    fre_share_seed_wipe(&seed);
    fre_share_seed_wipe(&other_seed);
    fre_wipe_free(other, n);
    free(zeros);
    return st;
}

/* The message of one slot, report or share.  real: it holds the text's share; count: of its cell. */
static fre_status make_message(fre_client *c, const fre_wire *w, fre_wire_type type, uint32_t slot,
                               uint8_t real, uint64_t count, fre_rng *r)
{
    client_slot *p = &c->slot[slot];
    fre_contribution m = {.id = p->id, .tag = p->tag};
    const size_t n = fre_wire_share_bytes(w);
    uint8_t *packed = NULL;
    fre_status st = FRE_OK;

    if (type == FRE_WIRE_SHARE || w->c.one_contact) {
        packed = malloc(n);
        st = packed ? make_share(c, &m, packed, w, count, slot, real, r) : FRE_E_NOMEM;
    }
    m.null = type == FRE_WIRE_SHARE && !real;
    if (st == FRE_OK)
        st = fre_contribution_seal(&p->message, w, type, &m, r);
    fre_wipe_free(packed, n);
    fre_wipe(&m, sizeof m);
    return st;
}

/* Once; a failure leaves everything as it was, to be tried again. */
static fre_status make_reports(fre_client *c)
{
    const fre_wire *w = &c->terms->w;
    fre_rng r;
    fre_status st;

    if (c->made)
        return FRE_OK;
    st = fre_rng_init_seeded(&r, c->report_seed, "fre/client/report");
    if (st != FRE_OK)
        return st;

    for (uint32_t i = 0; i < slots(c) && st == FRE_OK; i++) {
        /* Without cover only real messages are sent, and anybody can see whose they are. */
        if (w->c.cover || c->slot[i].real)
            st = make_message(c, w, FRE_WIRE_REPORT, i, c->slot[i].real, w->c.tau, &r);
    }
    fre_rng_wipe(&r);
    if (st != FRE_OK) {
        drop_messages(c);
        return st;
    }
    fre_wipe(c->report_seed, sizeof c->report_seed);
    c->made = true;
    c->kept = false;
    return FRE_OK;
}

static fre_status make_shares(fre_client *c, const fre_wire *w, const fre_list *list)
{
    fre_rng r;
    fre_status st = fre_rng_init_seeded(&r, c->share_seed, "fre/client/share");

    if (st != FRE_OK)
        return st;
    for (uint32_t i = 0; i < slots(c) && st == FRE_OK; i++) {
        const client_slot *p = &c->slot[i];
        /* A report that was not accepted isn't in the count, and its share would be one too many. */
        const uint32_t count = fre_list_scan(list, &p->tag);
        const uint8_t real = (uint8_t)(p->real & (count > 0) & p->counted);

        if (w->c.cover || real)
            st = make_message(c, w, FRE_WIRE_SHARE, i, real, count > 0 ? count : w->c.tau, &r);
    }
    fre_rng_wipe(&r);
    if (st != FRE_OK) {
        drop_messages(c);
        return st;
    }
    fre_wipe(c->share_seed, sizeof c->share_seed);
    c->kept = false;
    return FRE_OK;
}

/* ---- sending ----------------------------------------------------------------------------------- */

static bool any_message(const fre_client *c)
{
    bool any = false;

    for (uint32_t i = 0; i < slots(c); i++)
        any |= c->slot[i].message.n > 0;
    return any;
}

/* The host stores the state before anything that depends on it leaves. */
static fre_status keep(fre_client *c)
{
    fre_buf state;
    fre_status st;

    if (c->kept || !c->host->keep)
        return FRE_OK;
    fre_buf_init(&state, SIZE_MAX / 2);
    st = fre_client_save(c, &state);
    if (st == FRE_OK)
        st = c->host->keep(c->host->ctx, parties_buf_view(&state));
    c->kept = st == FRE_OK;
    fre_buf_wipe(&state);
    return st;
}

/* Once a collection, whatever the coins: the ledger must not reveal them either. */
static fre_status spend(fre_client *c)
{
    const fre_collection *t = &c->terms->w.c;
    fre_status st;

    if (c->spent)
        return FRE_OK;
    st = c->host->spend ? c->host->spend(c->host->ctx, &c->terms->w.id, t->epsilon, t->delta)
                        : FRE_OK;
    if (st == FRE_E_REFUSED)
        client_end(c, FRE_E_REFUSED);
    if (st == FRE_OK) {
        c->spent = true;
        c->kept = false;
    }
    return st;
}

static fre_status post_exchange(fre_client *c, fre_outbox *out)
{
    fre_ohttp_exchange x;
    fre_outbox_item *item;
    fre_status st;

    if (c->now < c->terms->w.c.open)
        return FRE_OK;
    st = keep(c);
    if (st != FRE_OK)
        return st;
    item = parties_post(out, FRE_ROLE_RELAY, PARTIES_COOKIE(COOKIE_ASK, 0));
    if (!item)
        return FRE_E_NOMEM;
    st = make_exchange(c, &x, &item->message);
    if (st == FRE_OK)
        fre_ohttp_exchange_wipe(&x);
    else
        parties_post_undo(out);
    return st;
}

static fre_status post_messages(fre_client *c, fre_outbox *out, unsigned kind)
{
    const size_t before = out->n;
    fre_status st = keep(c);

    for (uint32_t i = 0; i < slots(c) && st == FRE_OK; i++) {
        if (c->slot[i].message.n > 0)
            st = parties_post_bytes(out, FRE_ROLE_RELAY, PARTIES_COOKIE(kind, i),
                                    parties_buf_view(&c->slot[i].message));
    }
    while (st != FRE_OK && out->n > before)
        parties_post_undo(out);
    return st;
}

static fre_status post_reports(fre_client *c, fre_outbox *out)
{
    fre_status st = spend(c);

    if (st == FRE_E_REFUSED)
        return FRE_OK; /* the verdict says so */
    if (st == FRE_OK)
        st = make_reports(c);
    if (st == FRE_OK)
        st = post_messages(c, out, COOKIE_REPORT);
    if (st == FRE_OK && !any_message(c)) /* without cover: all its coins fell on 0 */
        reports_over(c);
    return st;
}

fre_status fre_client_tick(fre_client *c, fre_outbox *out, int64_t now)
{
    if (!c || !out)
        return FRE_E_ARG;
    advance(c, now);
    switch (c->step) {
    case CLIENT_ASKING:
        return post_exchange(c, out);
    case CLIENT_REPORTING:
        return post_reports(c, out);
    case CLIENT_SHARING:
        return post_messages(c, out, COOKIE_SHARE);
    case CLIENT_LISTENING:
    case CLIENT_DONE:
        /* A receipt must be known after a restart, and secrets of an earlier step must not be left. */
        return keep(c);
    }
    return FRE_E_INTERNAL;
}

/* ---- answers ----------------------------------------------------------------------------------- */

/* A final rejection ends the client; "try again" changes nothing. */
static fre_status accept_rejection(fre_client *c, fre_bytes reply)
{
    const parties_verdict v = parties_judge(reply);

    if (v == PARTIES_REFUSED)
        client_end(c, FRE_E_REFUSED);
    return v == PARTIES_REFUSED || v == PARTIES_AGAIN ? FRE_OK : FRE_E_DATA;
}

static bool is_rejection(fre_bytes reply)
{
    fre_rejection r;

    return fre_rejection_decode(&r, reply, NULL) == FRE_OK;
}

/* S_tag's answer, decrypted. */
static fre_status accept_tags(fre_client *c, fre_bytes message)
{
    fre_oprf_element *evaluated;
    fre_oprf_proof proof;
    fre_status st;

    if (is_rejection(message))
        return accept_rejection(c, message);
    evaluated = calloc(slots(c), sizeof *evaluated);
    if (!evaluated)
        return FRE_E_NOMEM;
    st = fre_tag_response_decode(evaluated, &proof, &c->terms->w, message, NULL);
    if (st == FRE_OK)
        st = finalize(c, evaluated, &proof);
    free(evaluated);
    if (st == FRE_E_NOMEM || st == FRE_E_INTERNAL)
        return st;
    if (st != FRE_OK) {
        /* Sealed by S_tag itself: no accident, and perhaps an attempt to single this client out. */
        client_end(c, FRE_E_PROOF);
        return FRE_E_PROOF;
    }
    fre_hpke_sk_wipe(&c->ask);
    c->step = CLIENT_REPORTING;
    c->kept = false;
    return FRE_OK;
}

static fre_status exchange_answered(fre_client *c, fre_bytes reply)
{
    fre_ohttp_exchange x;
    fre_buf request, message;
    fre_status st;

    if (is_rejection(
            reply)) /* not sealed: from the relay, or from S_tag when it could not open the request */
        return accept_rejection(c, reply);
    fre_buf_init(&request, FRE_WIRE_MESSAGE_MAX);
    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    st = make_exchange(c, &x, &request);
    if (st == FRE_OK) {
        st = fre_exchange_read(&x, &message, &c->terms->w, reply, NULL);
        fre_ohttp_exchange_wipe(&x);
        if (st == FRE_OK)
            st = accept_tags(c, parties_buf_view(&message));
    }
    fre_buf_wipe(&request);
    fre_buf_wipe(&message);
    return st;
}

static fre_status message_answered(fre_client *c, uint64_t slot, fre_bytes reply)
{
    const parties_verdict v = parties_judge(reply);

    if (slot >= slots(c) || c->slot[slot].message.n == 0 || v == PARTIES_AGAIN)
        return FRE_OK;
    if (v == PARTIES_MESSAGE)
        return FRE_E_DATA;
    if (c->step == CLIENT_REPORTING)
        c->slot[slot].counted = v == PARTIES_RECEIVED;
    fre_buf_wipe(&c->slot[slot].message);
    c->kept = false;
    if (any_message(c))
        return FRE_OK;
    if (c->step == CLIENT_SHARING)
        client_end(c, FRE_OK);
    else if (any_counted(c))
        reports_over(c);
    else
        client_end(c, FRE_E_REFUSED);
    return FRE_OK;
}

bool fre_client_is_exchange(uint64_t cookie)
{
    return PARTIES_COOKIE_KIND(cookie) == COOKIE_ASK;
}

fre_status fre_client_answered(fre_client *c, uint64_t cookie, fre_bytes reply, int64_t now)
{
    const unsigned kind = PARTIES_COOKIE_KIND(cookie);

    if (!c || (reply.n > 0 && !reply.p))
        return FRE_E_ARG;
    advance(c, now);
    if (c->step == CLIENT_ASKING && kind == COOKIE_ASK)
        return exchange_answered(c, reply);
    if ((c->step == CLIENT_REPORTING && kind == COOKIE_REPORT) ||
        (c->step == CLIENT_SHARING && kind == COOKIE_SHARE))
        return message_answered(c, PARTIES_COOKIE_INDEX(cookie), reply);
    return FRE_OK; /* the step that it belongs to is over */
}

/* ---- what is published ------------------------------------------------------------------------- */

static fre_status read_list(fre_client *c, fre_bytes in, fre_err *err)
{
    fre_wire w = c->terms->w;
    fre_list list;
    fre_status st = fre_list_decode(&list, &w, in, err);

    if (st != FRE_OK)
        return st;
    if (c->now < c->terms->w.c.tags_close)
        return fre_fail(err, FRE_E_STATE,
                        "the list came before tags closed, when it cannot count anything");
    if (c->step != CLIENT_LISTENING)
        return FRE_OK;
    if (list.n == 0) {
        client_end(c, FRE_OK);
        return FRE_OK;
    }
    st = fre_wire_derive_share_bits(&w, &list, err);
    if (st == FRE_OK)
        st = make_shares(c, &w, &list);
    if (st != FRE_OK)
        return st;
    c->step = CLIENT_SHARING;
    if (!any_message(c)) /* without cover: nothing to send */
        client_end(c, FRE_OK);
    return FRE_OK;
}

fre_status fre_client_read(fre_client *c, fre_bytes in, int64_t now, fre_err *err)
{
    fre_wire_type type;
    fre_collection_id id;
    fre_cancel cancel;
    fre_release_part release;
    fre_status st;

    if (!c || (in.n > 0 && !in.p))
        return FRE_E_ARG;
    advance(c, now);
    st = fre_wire_peek(&type, &id, in);
    if (st != FRE_OK)
        return fre_fail(err, st, "this is no message of the protocol");
    switch ((unsigned)type) {
    case FRE_WIRE_LIST:
        return read_list(c, in, err);
    case FRE_WIRE_RELEASE:
        st = fre_release_part_decode(&release, &c->terms->w, in, err);
        if (st == FRE_OK && c->step != CLIENT_DONE)
            client_end(c, FRE_OK);
        return st;
    case FRE_WIRE_CANCEL:
        st = fre_cancel_decode(&cancel, &c->terms->w, in, err);
        if (st == FRE_OK && c->step != CLIENT_DONE) {
            c->cancelled = true;
            client_end(c, FRE_E_REFUSED);
        }
        return st;
    default:
        return fre_fail(err, FRE_E_DATA, "clients read lists, releases and cancels only");
    }
}

/* ---- what it shows ----------------------------------------------------------------------------- */

fre_stage fre_client_stage(const fre_client *c)
{
    switch (c->step) {
    case CLIENT_ASKING:
        return c->now < c->terms->w.c.open ? FRE_STAGE_WAITING : FRE_STAGE_TAGS;
    case CLIENT_REPORTING:
        return FRE_STAGE_TAGS;
    case CLIENT_LISTENING:
        return FRE_STAGE_COUNTING;
    case CLIENT_SHARING:
        return FRE_STAGE_SHARES;
    case CLIENT_DONE:
        break;
    }
    return c->cancelled ? FRE_STAGE_VOID : FRE_STAGE_DONE;
}

fre_status fre_client_verdict(const fre_client *c)
{
    return c->verdict;
}

bool fre_client_spent(const fre_client *c)
{
    return c->spent;
}
