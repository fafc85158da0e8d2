/* server/client.c - a client's phases. */
#include "client.h"

enum { LETTER_ISSUE, LETTER_TAGS, LETTER_ENTRY, LETTER_ANSWER = 256 };

static client *self(fre_server *x)
{
    return (client *)x;
}

static uint32_t places(const client *c)
{
    return server_wire(&c->base)->c.cells_per_user;
}

/* Nothing more is sent; what was drawn stays drawn. */
static fre_status end(client *c, fre_delta *rows, fre_status verdict)
{
    c->verdict = verdict;
    c->stage = CLIENT_ENDED;
    client_wipe_secrets(c);
    return server_move(&c->base, rows,
                       server_wire(&c->base)->c.one_contact ? FRE_PHASE_CLOSED : FRE_PHASE_SUMMING);
}

static bool all_done(const client *c)
{
    for (uint32_t i = 0; i < places(c); i++)
        if (!c->entry[i].done)
            return false;
    return true;
}

/* Of one that said all it had to say. */
static fre_status verdict_of(const client *c)
{
    return c->list[FRE_HASH_BYTES] ? FRE_E_AGAIN : FRE_OK;
}

/* Entries, or answers. */
static fre_status post_entries(client *c, fre_letters *out)
{
    const uint32_t first = c->stage == CLIENT_ANSWERING ? LETTER_ANSWER : LETTER_ENTRY;
    fre_status st = FRE_OK;

    if (c->stage == CLIENT_SENDING && c->base.now >= server_wire(&c->base)->c.tags_close)
        return FRE_OK; /* what has not arrived is not in the list */
    for (uint32_t i = 0; st == FRE_OK && i < places(c); i++)
        if (!c->entry[i].done && c->base.now >= c->entry[i].send_at)
            st = server_post(out, FRE_ROLE_RELAY, SERVER_COOKIE(SERVER_CLIENT_LETTER, first + i),
                             server_buf_view(&c->entry[i].message));
    return st;
}

static fre_status post_request(client *c, fre_letters *out)
{
    const bool issue = c->stage == CLIENT_NEW;
    fre_buf message;
    fre_status st;

    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    st = issue ? client_issue(c, &message) : client_tags(c, &message);
    if (st == FRE_OK)
        st = server_post(out, FRE_ROLE_RELAY,
                         SERVER_COOKIE(SERVER_CLIENT_LETTER, issue ? LETTER_ISSUE : LETTER_TAGS),
                         server_buf_view(&message));
    fre_buf_wipe(&message);
    return st;
}

static fre_status tick(fre_server *base, fre_letters *out, fre_delta *rows)
{
    client *c = self(base);
    const fre_collection *t = &server_wire(base)->c;
    const int64_t close = c->stage < CLIENT_SENDING ? t->exchange_close : t->shares_close;
    fre_status st;

    if (c->stage == CLIENT_ENDED || base->now < t->open)
        return FRE_OK;
    if (base->now >= close)
        return end(c, rows, FRE_E_AGAIN);
    if (base->now < c->start_at && c->stage == CLIENT_NEW)
        return FRE_OK;
    if (c->stage >= CLIENT_SENDING)
        return post_entries(c, out);
    st = server_move(base, rows, FRE_PHASE_TAKING);
    if (st == FRE_OK)
        st = client_keep(c, rows);
    return st == FRE_OK ? post_request(c, out) : st;
}

/* ---- answers ------------------------------------------------------------------------------------------ */

/* A rejection is final unless it says to try again. */
static fre_status rejected(client *c, fre_delta *rows, fre_bytes reply)
{
    fre_rejection r;

    if (server_judge(reply) != SERVER_REFUSED || fre_rejection_decode(&r, reply, NULL) != FRE_OK)
        return FRE_OK;
    return end(c, rows, r == FRE_REJECTED_EXPIRED ? FRE_E_AGAIN : FRE_E_REFUSED);
}

/* Another key than the collection's: somebody marks this client.  Anything else that is no answer is asked
 * again. */
static fre_status settle(client *c, fre_delta *rows, fre_status st)
{
    if (st == FRE_E_PROOF)
        return end(c, rows, st);
    return st == FRE_E_NOMEM || st == FRE_E_INTERNAL ? st : FRE_OK;
}

static fre_status issue_answered(client *c, fre_delta *rows, fre_bytes reply)
{
    fre_status st;

    if (c->stage != CLIENT_NEW)
        return FRE_OK;
    if (server_judge(reply) != SERVER_MESSAGE)
        return rejected(c, rows, reply);
    st = client_admitted(c, reply);
    if (st != FRE_OK)
        return settle(c, rows, st);
    c->stage = CLIENT_ADMITTED;
    return FRE_OK;
}

static fre_status tags_answered(client *c, fre_delta *rows, fre_bytes reply)
{
    fre_status st;

    if (c->stage != CLIENT_ADMITTED)
        return FRE_OK;
    if (reply.n != fre_exchange_answer_bytes(server_wire(&c->base)))
        return rejected(c, rows, reply);
    st = client_tagged(c, reply);
    return st == FRE_OK ? client_make_entries(c, rows) : settle(c, rows, st);
}

/* Entries of one contact and answers are the last that a client says. */
static bool is_last(const client *c)
{
    return c->stage == CLIENT_ANSWERING || server_wire(&c->base)->c.one_contact;
}

static fre_status entry_answered(client *c, fre_delta *rows, uint32_t i, fre_bytes reply)
{
    const server_verdict v = server_judge(reply);
    fre_status st;

    if (i >= places(c) || c->entry[i].done)
        return FRE_OK;
    /* An entry that came too late is not in the list; its owner answers all the same. */
    if (v == SERVER_REFUSED && is_last(c))
        return rejected(c, rows, reply);
    if (v != SERVER_RECEIVED)
        return FRE_OK;
    st = client_entry_done(c, rows, i);
    return st == FRE_OK && is_last(c) && all_done(c) ? end(c, rows, verdict_of(c)) : st;
}

static fre_status answered(fre_server *base, fre_delta *rows, uint64_t cookie, fre_bytes reply)
{
    client *c = self(base);
    const uint32_t i = SERVER_COOKIE_INDEX(cookie);

    if (SERVER_COOKIE_KIND(cookie) != SERVER_CLIENT_LETTER || c->stage == CLIENT_ENDED)
        return FRE_OK;
    if (i == LETTER_ISSUE)
        return issue_answered(c, rows, reply);
    if (i == LETTER_TAGS)
        return tags_answered(c, rows, reply);
    if (i < LETTER_ANSWER)
        return c->stage == CLIENT_SENDING ? entry_answered(c, rows, i - LETTER_ENTRY, reply)
                                          : FRE_OK;
    return c->stage == CLIENT_ANSWERING ? entry_answered(c, rows, i - LETTER_ANSWER, reply)
                                        : FRE_OK;
}

/* ---- what is published ------------------------------------------------------------------------------------ */

/* The list is answered once; another one later is somebody's who shows people different ones. */
static fre_status listed(client *c, fre_reply *out, fre_bytes in)
{
    server_list *l = NULL;
    fre_status st = server_list_read(&l, &c->base, in);

    if (st != FRE_OK)
        return server_reject_status(&c->base, out, st);
    if (c->stage == CLIENT_SENDING) {
        st = client_make_answers(c, &out->rows, l, !all_done(c));
        if (st == FRE_OK)
            st = server_move(&c->base, &out->rows, FRE_PHASE_ANSWERING);
        if (st == FRE_OK && all_done(c)) /* cover = off, and nothing to say */
            st = end(c, &out->rows, verdict_of(c));
        if (st == FRE_OK)
            st = server_receipt(&c->base, out, true);
    } else if (c->stage < CLIENT_SENDING || memcmp(c->list, l->w.list, FRE_HASH_BYTES) == 0)
        st = server_receipt(&c->base, out, false);
    else
        st = server_reject(&c->base, out, FRE_REJECTED_REPLAYED);
    server_list_free(l);
    return st;
}

static fre_status release(client *c, fre_reply *out, fre_bytes in)
{
    fre_server *base = &c->base;
    fre_release_part m;
    bool fresh, taken;
    fre_status st;

    st = fre_release_part_decode(&m, server_wire(base), in, NULL);
    if (st != FRE_OK)
        return server_reject_status(base, out, st);
    st = server_take_part(&c->release_in, base, out, m.part, in, &fresh, &taken);
    if (st != FRE_OK || !taken)
        return st;
    if (fresh && server_parts_complete(&c->release_in)) {
        st = server_out_pass(&c->release, &c->release_in);
        if (st == FRE_OK && c->stage != CLIENT_ENDED)
            st = end(c, &out->rows, FRE_E_AGAIN);
        if (st == FRE_OK)
            st = server_move(base, &out->rows, FRE_PHASE_DONE);
    }
    return st == FRE_OK ? server_receipt(base, out, fresh) : st;
}

static fre_status handle(fre_server *base, fre_reply *out, fre_wire_type type, fre_bytes in)
{
    client *c = self(base);

    if (type == FRE_WIRE_RELEASE)
        return release(c, out, in);
    if (type == FRE_WIRE_LISTED && !server_wire(base)->c.one_contact)
        return listed(c, out, in);
    return server_reject(base, out, FRE_REJECTED_MALFORMED);
}

static const server_out *published(const fre_server *base)
{
    return &((const client *)base)->release;
}

/* ---- making and unmaking ------------------------------------------------------------------------------------ */

static void forget(fre_server *base)
{
    client *c = self(base);

    client_wipe_secrets(c);
    for (uint32_t i = 0; c->entry && i < places(c); i++)
        fre_buf_wipe(&c->entry[i].message);
    if (c->stage != CLIENT_ENDED) /* or `end` came first */
        c->verdict = base->cancelled ? FRE_E_REFUSED : FRE_E_AGAIN;
    c->stage = CLIENT_ENDED;
}

static void free_client(fre_server *base)
{
    client *c = self(base);

    forget(base);
    free(c->entry);
    server_parts_wipe(&c->release_in);
    server_out_wipe(&c->release);
    fre_wipe(&c->token, sizeof c->token);
    server_base_wipe(base);
    fre_wipe_free(c, sizeof *c);
}

static fre_status settle_rows(client *c)
{
    if (c->stage >= CLIENT_SENDING && is_last(c) && all_done(c)) {
        c->stage = CLIENT_ENDED;
        c->verdict = verdict_of(c);
    } else if (c->base.phase == FRE_PHASE_CLOSED || c->base.phase >= FRE_PHASE_SUMMING) {
        c->stage = CLIENT_ENDED;
        c->verdict = FRE_E_AGAIN;
    }
    if (c->stage == CLIENT_NEW && !c->kept)
        return FRE_E_DATA; /* its coins are gone, and are not tossed again */
    if (c->stage > CLIENT_SENDING || (c->stage == CLIENT_SENDING && is_last(c)))
        client_wipe_secrets(c);
    return server_parts_complete(&c->release_in) ? server_out_pass(&c->release, &c->release_in)
                                                 : FRE_OK;
}

static fre_status restore(fre_server *base, const fre_row *row)
{
    client *c = self(base);

    if (!row)
        return settle_rows(c);
    if (row->table == SERVER_ROW_IN)
        return server_parts_load(&c->release_in, row, FRE_WIRE_RELEASE);
    if (row->table == SERVER_ROW_LIST && row->value.n == sizeof c->list) {
        memcpy(c->list, row->value.p, sizeof c->list);
        c->stage = CLIENT_ANSWERING;
        return FRE_OK;
    }
    if (row->table != SERVER_ROW_CLIENT || row->key.n == 0)
        return FRE_E_DATA;
    if (row->key.p[0] == 2)
        return client_places_load(c, row);
    return row->key.p[0] == 0 ? client_load(c, row) : client_entry_load(c, row);
}

static const server_ops ops = {.free = free_client,
                               .forget = forget,
                               .handle = handle,
                               .tick = tick,
                               .answered = answered,
                               .restore = restore,
                               .release = published};

static fre_status allocate(client *c, const fre_client_setup *setup, fre_err *err)
{
    const uint32_t dim = server_wire(&c->base)->c.dim;
    fre_status st;

    c->place = calloc(places(c), sizeof *c->place);
    c->entry = calloc(places(c), sizeof *c->entry);
    c->x = calloc((size_t)places(c) * dim, sizeof *c->x);
    if (!c->place || !c->entry || !c->x)
        return FRE_E_NOMEM;
    if (setup->n > 0)
        memcpy(c->x, setup->x, (size_t)setup->n * dim * sizeof *c->x);
    for (uint32_t i = 0; i < places(c); i++)
        fre_buf_init(&c->entry[i].message, FRE_WIRE_MESSAGE_MAX);
    st = fre_buf_append(&c->credentials, setup->credentials.p, setup->credentials.n);
    return st == FRE_OK ? client_take_texts(c, setup->n, err) : st;
}

fre_status fre_server_new_client(fre_server **out, const fre_agreement *a,
                                 const fre_client_setup *setup, fre_err *err)
{
    client *c;
    fre_status st;

    if (!out || !a || !setup || setup->n > a->w.c.cells_per_user || (setup->n > 0 && !setup->x))
        return FRE_E_ARG;
    if (setup->credentials.n > FRE_WIRE_CREDENTIALS_MAX)
        return fre_fail(err, FRE_E_DATA, "credentials have more than %u bytes",
                        FRE_WIRE_CREDENTIALS_MAX);
    c = calloc(1, sizeof *c);
    if (!c)
        return FRE_E_NOMEM;
    st = server_base_init(&c->base, &ops, a, (fre_role)0, NULL, setup->number, err);
    fre_buf_init(&c->credentials, FRE_WIRE_CREDENTIALS_MAX);
    c->release_in = server_parts_of_release(&c->base);
    c->release.kind = SERVER_RELEASE;
    c->stage = CLIENT_NEW;
    if (st == FRE_OK)
        st = allocate(c, setup, err);
    if (st == FRE_OK && setup->fresh)
        st = client_draw(c, setup->n, err);
    if (st != FRE_OK) {
        free_client(&c->base);
        return st;
    }
    *out = &c->base;
    return FRE_OK;
}

fre_status fre_server_client_verdict(const fre_server *x)
{
    return x->role == 0 ? ((const client *)x)->verdict : FRE_OK;
}
