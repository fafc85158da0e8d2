/* server/relay_carry.c - what clients send: an issue request, which admits; then, under the token that it
 * gave, one tag request and cells_per_user entries; with two contacts as many answers.
 *
 * Counts are by token, and one set holds the hashes of all messages; nothing joins the two.  A token is a
 * hash of the issue request under the relay's secret: a retry gets the same, and nothing is stored
 * before the issuer has said yes. */
#include "relay.h"

#define EXCHANGE (UINT32_MAX - 1)

/* ---- tokens ------------------------------------------------------------------------------------- */

static void token_of(fre_admission *out, const relay *x, fre_bytes request)
{
    static const char label[] = "relay token";
    fre_sha256 h;

    fre_sha256_begin(&h, server_view(x->base.secret, sizeof x->base.secret));
    fre_sha256_add(&h, label, sizeof label);
    fre_sha256_add(&h, request.p, request.n);
    fre_sha256_end(out->b, &h);
}

static relay_sent *sent_by(const relay *x, const fre_admission *token)
{
    uint8_t key[SERVER_HASH_BYTES];
    const uint32_t *i;

    server_hash(key, &x->base, server_view(token->b, sizeof token->b));
    i = server_table_find(&x->token, key);
    return i ? &x->sent[*i] : NULL;
}

static fre_status add_token(relay *x, const uint8_t key[SERVER_HASH_BYTES], relay_sent sent)
{
    fre_status st = fre_grow((void **)&x->sent, &x->token_cap, x->tokens + 1, sizeof *x->sent);

    if (st == FRE_OK)
        st = server_table_put(&x->token, key, (uint32_t)x->tokens);
    if (st == FRE_OK)
        x->sent[x->tokens++] = sent;
    return st;
}

/* Value:  exchanged (1)  entries (1)  answers (1) */
static fre_status keep_token(relay *x, fre_delta *rows, const fre_admission *token, relay_sent sent)
{
    const uint8_t value[3] = {sent.exchanged, (uint8_t)sent.entries, (uint8_t)sent.answers};
    uint8_t key[SERVER_HASH_BYTES];
    relay_sent *old = sent_by(x, token);
    fre_status st = server_keep_secret(&x->base, rows);

    server_hash(key, &x->base, server_view(token->b, sizeof token->b));
    if (st == FRE_OK)
        st = server_row_put(rows, SERVER_ROW_TOKEN, server_view(key, sizeof key),
                            server_view(value, sizeof value));
    if (st == FRE_OK && old)
        *old = sent;
    else if (st == FRE_OK)
        st = add_token(x, key, sent);
    return st;
}

fre_status relay_token_load(relay *x, const fre_row *row)
{
    if (row->key.n != SERVER_HASH_BYTES || row->value.n != 3 || row->value.p[0] > 1 ||
        row->value.p[1] > FRE_COLLECTION_CELLS_MAX || row->value.p[2] > FRE_COLLECTION_CELLS_MAX)
        return FRE_E_DATA;
    return add_token(x, row->key.p,
                     (relay_sent){.exchanged = row->value.p[0] == 1,
                                  .entries = row->value.p[1],
                                  .answers = row->value.p[2]});
}

/* ---- exchanges -------------------------------------------------------------------------------------- */

static fre_status forward(fre_reply *out, fre_role to, fre_bytes bytes)
{
    out->forward = to;
    return fre_buf_append(&out->message, bytes.p, bytes.n);
}

static fre_status issue(relay *x, fre_reply *out, const fre_carry *m)
{
    const fre_rejection why = server_exchange_rejected(&x->base);

    if (why != FRE_ACCEPTED)
        return server_reject(&x->base, out, why);
    return forward(out, FRE_ROLE_ISSUER, m->bytes);
}

static fre_status tags(relay *x, fre_reply *out, const fre_carry *m)
{
    relay_sent *sent = sent_by(x, &m->token);
    fre_rejection why = server_exchange_rejected(&x->base);
    uint8_t key[SERVER_HASH_BYTES];
    relay_sent now;
    fre_status st;

    if (why == FRE_ACCEPTED && !sent)
        why = FRE_REJECTED_ADMISSION;
    if (why != FRE_ACCEPTED)
        return server_reject(&x->base, out, why);
    server_hash(key, &x->base, m->bytes);
    if (server_table_find(&x->known, key)) {
        if (sent->again >= RELAY_AGAIN_MAX)
            return server_reject(&x->base, out, FRE_REJECTED_FULL);
        sent->again++;
        x->base.tally.repeated++;
        return forward(out, FRE_ROLE_TAG, m->bytes);
    }
    if (sent->exchanged)
        return server_reject(&x->base, out, FRE_REJECTED_REPLAYED);
    now = *sent;
    now.exchanged = true;
    st = keep_token(x, &out->rows, &m->token, now);
    if (st == FRE_OK)
        st = server_row_put(&out->rows, SERVER_ROW_KNOWN, server_view(key, sizeof key),
                            server_view(NULL, 0));
    if (st == FRE_OK)
        st = server_table_put(&x->known, key, EXCHANGE);
    if (st != FRE_OK)
        return st;
    x->exchanges++;
    x->base.tally.accepted++;
    return forward(out, FRE_ROLE_TAG, m->bytes);
}

fre_status relay_known_load(relay *x, const fre_row *row)
{
    if (row->key.n != SERVER_HASH_BYTES || row->value.n != 0)
        return FRE_E_DATA;
    x->exchanges++;
    return server_table_put(&x->known, row->key.p, EXCHANGE);
}

/* ---- entries and answers --------------------------------------------------------------------------------- */

/* What is handed on stays as it is, whatever a clock says. */
static bool is_late(const relay *x, fre_wire_type what)
{
    const fre_collection *c = &server_wire(&x->base)->c;

    if (x->shuffled)
        return true;
    if (what == FRE_WIRE_ENTRY)
        return x->base.now >= c->tags_close || x->base.phase > FRE_PHASE_TAKING;
    return x->base.now >= c->shares_close || x->base.phase > FRE_PHASE_ANSWERING;
}

static fre_status entry(relay *x, fre_reply *out, const fre_carry *m)
{
    const fre_wire *w = server_wire(&x->base);
    const relay_sent *sent = sent_by(x, &m->token);
    uint8_t key[SERVER_HASH_BYTES];
    fre_bytes sealed;
    relay_sent now;
    uint32_t *n = m->what == FRE_WIRE_ENTRY ? &now.entries : &now.answers;
    fre_status st;

    if (is_late(x, m->what))
        return server_reject(&x->base, out, FRE_REJECTED_EXPIRED);
    if (!sent)
        return server_reject(&x->base, out, FRE_REJECTED_ADMISSION);
    st = fre_entry_split(&sealed, w, m->what, m->bytes, NULL);
    if (st != FRE_OK)
        return server_reject_status(&x->base, out, st);
    server_hash(key, &x->base, sealed);
    if (server_table_find(&x->known, key))
        return server_receipt(&x->base, out, false);
    now = *sent;
    if (*n >= w->c.cells_per_user)
        return server_reject(&x->base, out, FRE_REJECTED_REPLAYED);
    *n += 1;
    st = keep_token(x, &out->rows, &m->token, now);
    if (st == FRE_OK)
        st = server_row_put(&out->rows, SERVER_ROW_ENTRY, server_view(key, sizeof key), sealed);
    if (st == FRE_OK)
        st = relay_entry_keep(x, key, sealed);
    return st == FRE_OK ? server_receipt(&x->base, out, true) : st;
}

fre_status relay_carry(relay *x, fre_reply *out, fre_bytes in)
{
    fre_carry m;
    fre_status st = fre_carry_decode(&m, server_wire(&x->base), in, NULL);

    if (st != FRE_OK)
        return server_reject_status(&x->base, out, st);
    if (m.what == FRE_WIRE_ISSUE_REQUEST)
        return issue(x, out, &m);
    return m.what == FRE_WIRE_TAG_REQUEST ? tags(x, out, &m) : entry(x, out, &m);
}

/* ---- what came back ---------------------------------------------------------------------------------------- */

static fre_status admitted(relay *x, fre_reply *out, const fre_carry *asked, fre_bytes back)
{
    fre_admitted m = {.answer = back};
    fre_status st = FRE_OK;
    bool known;

    token_of(&m.token, x, asked->bytes);
    known = sent_by(x, &m.token) != NULL;
    if (!known && x->tokens >= server_wire(&x->base)->c.users) { /* whoever the issuer invents */
        fre_wipe(&m.token, sizeof m.token);
        return server_reject(&x->base, out, FRE_REJECTED_FULL);
    }
    if (!known)
        st = keep_token(x, &out->rows, &m.token, (relay_sent){.entries = 0});
    if (st == FRE_OK)
        st = fre_admitted_encode(&out->message, server_wire(&x->base), &m);
    fre_wipe(&m.token, sizeof m.token);
    return st;
}

/* Answers have one size, a refusal in the open another; whatever else is no answer. */
fre_status relay_returned(fre_server *base, fre_reply *out, fre_bytes in, fre_bytes back)
{
    relay *x = (relay *)base;
    fre_rejection why = FRE_REJECTED_UNAVAILABLE;
    fre_carry m;

    if (fre_carry_decode(&m, server_wire(base), in, NULL) != FRE_OK || m.what == FRE_WIRE_ENTRY ||
        m.what == FRE_WIRE_ANSWER)
        return server_reject(base, out, FRE_REJECTED_MALFORMED);
    if (back.n != fre_exchange_answer_bytes(server_wire(base))) {
        if (fre_rejection_decode(&why, back, NULL) != FRE_OK)
            why = FRE_REJECTED_UNAVAILABLE;
        return server_reject(base, out, why);
    }
    if (m.what == FRE_WIRE_ISSUE_REQUEST)
        return admitted(x, out, &m, back);
    return fre_buf_append(&out->message, back.p, back.n);
}
