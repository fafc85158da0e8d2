/* server/base.c - what every machine has: clock, phase, cancels, answers, randomness. */
#include "server_private.h"

#include <sodium.h>

/* ---- randomness --------------------------------------------------------------------------------- */

fre_status server_rng(fre_server *x, fre_rng *r)
{
    char label[64];

    if (!x->a->seeded)
        return fre_rng_init(r);
    (void)snprintf(label, sizeof label, "server/%u/%llu/%llu", (unsigned)x->role,
                   (unsigned long long)x->number, (unsigned long long)x->drawn++);
    return fre_rng_init_seeded(r, x->a->seed, label);
}

fre_status server_stream(fre_rng *r, const char *label, fre_bytes key, fre_bytes content)
{
    uint8_t seed[FRE_SEED_BYTES];
    fre_sha256 h;
    fre_status st;

    fre_sha256_begin(&h, key);
    fre_sha256_add(&h, label, strlen(label));
    fre_sha256_add(&h, content.p, content.n);
    fre_sha256_end(seed, &h);
    st = fre_rng_init_seeded(r, seed, label);
    fre_wipe(seed, sizeof seed);
    return st;
}

void server_hash(uint8_t out[SERVER_HASH_BYTES], const fre_server *x, fre_bytes in)
{
    fre_hash128(out, x->secret, in.p, in.n);
}

fre_status server_keep_secret(fre_server *x, fre_delta *rows)
{
    fre_status st = FRE_OK;

    if (x->secret_kept)
        return FRE_OK;
    st = server_row_put(rows, SERVER_ROW_SECRET, server_view(NULL, 0),
                        server_view(x->secret, sizeof x->secret));
    x->secret_kept = st == FRE_OK;
    return st;
}

/* ---- memory --------------------------------------------------------------------------------------- */

void *server_machine_new(size_t n)
{
    void *x = sodium_malloc(n);

    if (x)
        memset(x, 0, n);
    return x;
}

void server_machine_free(void *x)
{
    sodium_free(x); /* wipes it */
}

/* ---- making and unmaking ------------------------------------------------------------------------- */

fre_status server_base_init(fre_server *x, const server_ops *ops, const fre_agreement *a,
                            fre_role role, const fre_sign_sk *sign, uint64_t number, fre_err *err)
{
    fre_rng r;
    fre_status st;

    *x = (fre_server){.ops = ops,
                      .a = a,
                      .role = role,
                      .number = number,
                      .now = INT64_MIN,
                      .phase = FRE_PHASE_WAITING,
                      .kept_phase = FRE_PHASE_WAITING};
    fre_buf_init(&x->cancel, FRE_WIRE_MESSAGE_MAX);
    if (sign)
        x->sign = *sign;
    st = server_masks_init(x);
    if (st != FRE_OK)
        return st;
    st = server_rng(x, &r);
    if (st != FRE_OK)
        return fre_fail(err, st, "the system gives no randomness");
    fre_rng_bytes(&r, x->secret, sizeof x->secret);
    fre_rng_wipe(&r);
    return FRE_OK;
}

void server_base_wipe(fre_server *x)
{
    fre_buf_wipe(&x->cancel);
    server_list_free(x->list);
    server_masks_wipe(x);
    fre_wipe(x, sizeof *x);
}

void fre_server_free(fre_server *x)
{
    if (x)
        x->ops->free(x);
}

static void forget(fre_server *x)
{
    x->ops->forget(x);
    server_masks_forget(x);
}

/* ---- the row of the state:  phase (1)  cancelled (1)  now (8)  cancel_to (1)  cancel ------------- */

static fre_status keep_state(fre_server *x, fre_delta *rows)
{
    uint8_t head[11] = {(uint8_t)x->phase, x->cancelled};
    fre_buf value;
    fre_status st;

    for (unsigned i = 0; i < 8; i++)
        head[2 + i] = (uint8_t)((uint64_t)x->now >> (56 - 8 * i));
    head[10] = (uint8_t)x->cancel_to;
    fre_buf_init(&value, FRE_WIRE_MESSAGE_MAX);
    st = fre_buf_append(&value, head, sizeof head);
    if (st == FRE_OK && x->cancel.n > 0)
        st = fre_buf_append(&value, x->cancel.p, x->cancel.n);
    if (st == FRE_OK)
        st = server_row_put(rows, SERVER_ROW_STATE, server_view(NULL, 0), server_buf_view(&value));
    fre_buf_wipe(&value);
    if (st == FRE_OK)
        x->kept_phase = x->phase;
    return st;
}

static fre_status load_state(fre_server *x, fre_bytes v)
{
    uint64_t now = 0;

    if (v.n < 11 || v.p[0] < FRE_PHASE_WAITING || v.p[0] > FRE_PHASE_VOID || v.p[1] > 1)
        return FRE_E_DATA;
    for (unsigned i = 0; i < 8; i++)
        now = now << 8 | v.p[2 + i];
    x->phase = x->kept_phase = (fre_phase)v.p[0];
    x->cancelled = v.p[1] == 1;
    x->now = (int64_t)now;
    x->cancel_to = v.p[10];
    return fre_buf_append(&x->cancel, v.p + 11, v.n - 11);
}

fre_status server_move(fre_server *x, fre_delta *rows, fre_phase phase)
{
    if (x->phase == phase)
        return FRE_OK;
    x->phase = phase;
    return keep_state(x, rows);
}

fre_status fre_server_restore(fre_server *x, const fre_row *row, fre_err *err)
{
    fre_status st = FRE_OK;

    if (!x || (row && row->erase))
        return FRE_E_ARG;
    if (row && row->table == SERVER_ROW_LIST && x->role != 0)
        st = x->list ? FRE_E_DATA : server_list_keep(x, NULL, row->value);
    else if (row && row->table == SERVER_ROW_MASKED)
        st = x->ops->masks ? x->ops->masks->restore(x, row) : FRE_E_DATA;
    else if (!row || (row->table != SERVER_ROW_STATE && row->table != SERVER_ROW_SECRET))
        st = x->ops->restore(x, row);
    else if (row->table == SERVER_ROW_STATE)
        st = load_state(x, row->value);
    else if (row->value.n != sizeof x->secret)
        st = FRE_E_DATA;
    else {
        memcpy(x->secret, row->value.p, sizeof x->secret);
        x->secret_kept = true;
    }
    if (st == FRE_OK && !row && x->ops->masks)
        st = x->ops->masks->restore(x, NULL);
    if (st == FRE_E_DATA)
        return fre_fail(err, st, "the store's rows are no state of this role and collection");
    return st;
}

/* ---- answers --------------------------------------------------------------------------------------- */

fre_status server_reject(fre_server *x, fre_reply *out, fre_rejection code)
{
    fre_status st;

    fre_buf_wipe(&out->message); /* rows stay: what they say has happened */
    out->forward = (fre_role)0;
    st = fre_rejection_encode(&out->message, code);
    if (st != FRE_OK)
        return st;
    x->tally.rejected[code]++;
    out->why = code;
    return FRE_OK;
}

fre_status server_reject_status(fre_server *x, fre_reply *out, fre_status st)
{
    const fre_rejection code = fre_rejection_of(st);

    if (code == FRE_REJECTED_UNAVAILABLE)
        return st;
    return server_reject(x, out, code);
}

fre_status server_receipt(fre_server *x, fre_reply *out, bool fresh)
{
    fre_status st = fre_receipt_encode(&out->message);

    if (st == FRE_OK && fresh)
        x->tally.accepted++;
    else if (st == FRE_OK)
        x->tally.repeated++;
    return st;
}

fre_status server_take_part(server_parts *p, fre_server *x, fre_reply *out, fre_part part,
                            fre_bytes message, bool *fresh, bool *taken)
{
    fre_rejection why;
    fre_status st = server_parts_take(p, part, message, &out->rows, fresh, &why);

    *taken = st == FRE_OK && why == FRE_ACCEPTED;
    return st == FRE_OK && !*taken ? server_reject(x, out, why) : st;
}

/* Another one, signed by both, is no junk: somebody shows people different lists. */
fre_status server_take_list(fre_server *x, fre_reply *out, fre_bytes in, bool *fresh, bool *taken)
{
    fre_list other;
    fre_status st;

    *fresh = !x->list;
    *taken = false;
    st = *fresh ? server_list_keep(x, &out->rows, in)
                : fre_listed_decode(&other, &x->a->w, in, NULL);
    if (st != FRE_OK)
        return server_reject_status(x, out, st);
    *taken = x->list->message.n == in.n && memcmp(x->list->message.p, in.p, in.n) == 0;
    return *taken ? FRE_OK : server_reject(x, out, FRE_REJECTED_REPLAYED);
}

fre_rejection server_exchange_rejected(const fre_server *x)
{
    const fre_collection *c = &server_wire(x)->c;

    if (x->now < c->open)
        return FRE_REJECTED_PHASE;
    return x->now < c->exchange_close ? FRE_ACCEPTED : FRE_REJECTED_EXPIRED;
}

/* ---- cancels ----------------------------------------------------------------------------------------- */

#define SERVERS                                                                                    \
    (1u << FRE_ROLE_TAG | 1u << FRE_ROLE_SYN | 1u << FRE_ROLE_RELAY | 1u << FRE_ROLE_ISSUER)

fre_status server_void(fre_server *x, fre_delta *rows, fre_cancel_reason reason)
{
    const fre_cancel m = {.by = x->role, .reason = reason, .time = x->now > 0 ? x->now : 1};
    fre_status st = fre_cancel_encode(&x->cancel, server_wire(x), &m, &x->sign);

    if (st != FRE_OK)
        return st;
    x->cancel_to = SERVERS & ~(1u << x->role);
    x->cancelled = true;
    x->phase = FRE_PHASE_VOID;
    forget(x);
    return keep_state(x, rows);
}

fre_status fre_server_cancel(fre_server *x, fre_delta *rows, int64_t now)
{
    if (!x || x->role == 0)
        return FRE_E_ARG;
    if (x->phase >= FRE_PHASE_DONE)
        return FRE_E_STATE;
    x->now = now > x->now ? now : x->now;
    return server_void(x, rows, FRE_CANCEL_OPERATOR);
}

static fre_status obey(fre_server *x, fre_reply *out, fre_bytes in)
{
    fre_cancel m;
    fre_status st = fre_cancel_decode(&m, server_wire(x), in, NULL);

    if (st != FRE_OK)
        return server_reject_status(x, out, st);
    if (m.by == x->role)
        return server_reject(x, out, FRE_REJECTED_MALFORMED);
    if (x->phase == FRE_PHASE_VOID)
        return server_receipt(x, out, false);
    if (x->phase == FRE_PHASE_DONE) /* what is released stays */
        return server_reject(x, out, FRE_REJECTED_EXPIRED);
    x->phase = FRE_PHASE_VOID;
    x->cancelled = true;
    forget(x);
    st = keep_state(x, &out->rows);
    return st == FRE_OK ? server_receipt(x, out, true) : st;
}

static fre_status post_cancel(const fre_server *x, fre_letters *l)
{
    fre_status st = FRE_OK;

    for (unsigned role = FRE_ROLE_TAG; st == FRE_OK && role <= FRE_ROLE_ISSUER; role++)
        if (x->cancel_to & 1u << role)
            st = server_post(l, (fre_role)role, SERVER_COOKIE(SERVER_CANCEL, role),
                             server_buf_view(&x->cancel));
    return st;
}

/* ---- calls --------------------------------------------------------------------------------------------- */

/* Time moves forwards only; past `end` nothing is left but what is published. */
static fre_status clock_to(fre_server *x, fre_delta *rows, int64_t now)
{
    if (now > x->now)
        x->now = now;
    server_masks_expire(x);
    if (x->now < x->a->w.c.end || x->phase == FRE_PHASE_VOID || x->phase == FRE_PHASE_DONE)
        return FRE_OK;
    x->phase = FRE_PHASE_VOID;
    forget(x);
    return keep_state(x, rows);
}

void fre_server_expire(fre_server *x, int64_t now)
{
    if (!x)
        return;
    if (now > x->now)
        x->now = now;
    server_masks_expire(x);
    if (x->phase == FRE_PHASE_VOID || x->phase == FRE_PHASE_DONE)
        return;
    if (x->now >= x->a->w.c.end)
        forget(x);
    else if (x->ops->expire)
        x->ops->expire(x);
}

static fre_rejection head_rejected(fre_wire_type *type, const fre_server *x, fre_bytes in)
{
    fre_collection_id id;
    const fre_status st = fre_wire_peek(type, &id, in);

    if (st == FRE_E_LIMIT)
        return FRE_REJECTED_SIZE;
    if (st != FRE_OK)
        return FRE_REJECTED_MALFORMED;
    if (*type == FRE_WIRE_REJECTION || *type == FRE_WIRE_RECEIPT || *type == FRE_WIRE_COLLECTION)
        return FRE_REJECTED_MALFORMED;
    return memcmp(id.b, x->a->w.id.b, sizeof id.b) == 0 ? FRE_ACCEPTED : FRE_REJECTED_COLLECTION;
}

fre_status fre_server_handle(fre_server *x, fre_reply *out, fre_bytes in, int64_t now)
{
    fre_wire_type type = (fre_wire_type)0;
    fre_rejection why = FRE_ACCEPTED;
    fre_status st;

    if (!x || !out || (in.n > 0 && !in.p))
        return FRE_E_ARG;
    fre_reply_clear(out);
    st = clock_to(x, &out->rows, now);
    if (st != FRE_OK)
        return st;
    /* Oblivious HTTP starts with the id of a key, messages of wire.h with a version. */
    if (in.n == 0 || in.p[0] != FRE_COLLECTION_OHTTP_KEY_ID)
        why = head_rejected(&type, x, in);
    if (why != FRE_ACCEPTED)
        return server_reject(x, out, why);
    if (type == FRE_WIRE_CANCEL)
        return obey(x, out, in);
    if (x->phase == FRE_PHASE_VOID)
        return server_reject(x, out, x->cancelled ? FRE_REJECTED_CANCELLED : FRE_REJECTED_EXPIRED);
    if (x->ops->masks && type >= FRE_WIRE_MASK_PUT && type <= FRE_WIRE_MASK_WIPE)
        return x->ops->masks->handle(x, out, type, in);
    return x->ops->handle(x, out, type, in);
}

fre_status fre_server_returned(fre_server *x, fre_reply *out, fre_bytes in, fre_bytes back,
                               int64_t now)
{
    fre_status st;

    if (!x || !out || (in.n > 0 && !in.p) || (back.n > 0 && !back.p))
        return FRE_E_ARG;
    fre_reply_clear(out);
    st = clock_to(x, &out->rows, now);
    if (st != FRE_OK)
        return st;
    if (x->phase == FRE_PHASE_VOID || !x->ops->returned)
        return server_reject(x, out, FRE_REJECTED_UNAVAILABLE);
    return x->ops->returned(x, out, in, back);
}

fre_status fre_server_tick(fre_server *x, fre_letters *out, fre_delta *rows, int64_t now)
{
    fre_status st;

    if (!x || !out)
        return FRE_E_ARG;
    st = clock_to(x, rows, now);
    if (st != FRE_OK)
        return st;
    if (x->phase == FRE_PHASE_VOID)
        return post_cancel(x, out);
    st = x->ops->tick(x, out, rows);
    return st == FRE_OK && x->ops->masks ? x->ops->masks->tick(x, out, rows) : st;
}

static fre_status cancel_answered(fre_server *x, fre_delta *rows, uint64_t cookie, fre_bytes reply)
{
    const server_verdict v = server_judge(reply);
    const uint32_t role = SERVER_COOKIE_INDEX(cookie);

    if ((v != SERVER_RECEIVED && v != SERVER_REFUSED) || role > FRE_ROLE_ISSUER)
        return FRE_OK;
    x->cancel_to &= ~(1u << role);
    return keep_state(x, rows);
}

fre_status fre_server_answered(fre_server *x, fre_delta *rows, uint64_t cookie, fre_bytes reply,
                               int64_t now)
{
    fre_status st;

    if (!x || (reply.n > 0 && !reply.p))
        return FRE_E_ARG;
    st = clock_to(x, rows, now);
    if (st != FRE_OK)
        return st;
    if (SERVER_COOKIE_KIND(cookie) == SERVER_CANCEL)
        return cancel_answered(x, rows, cookie, reply);
    if (x->phase == FRE_PHASE_VOID)
        return FRE_OK;
    if (x->ops->masks && SERVER_COOKIE_KIND(cookie) == SERVER_MASK)
        return x->ops->masks->answered(x, rows, SERVER_COOKIE_INDEX(cookie), reply);
    return x->ops->answered(x, rows, cookie, reply);
}

bool fre_server_row_stays(const fre_row *row)
{
    switch (row->table) {
    case SERVER_ROW_STATE:
    case SERVER_ROW_CLOSED:
    case SERVER_ROW_MARK:
    case SERVER_ROW_LIST:
        return true;
    case SERVER_ROW_IN:
    case SERVER_ROW_OUT:
        return row->key.n > 0 && row->key.p[0] == SERVER_RELEASE;
    default:
        return false;
    }
}

/* ---- what it says of itself --------------------------------------------------------------------------- */

fre_role fre_server_role(const fre_server *x)
{
    return x->role;
}

fre_phase fre_server_phase(const fre_server *x)
{
    return x->phase;
}

const fre_tally *fre_server_tally(const fre_server *x)
{
    return &x->tally;
}

static const server_out *release_of(const fre_server *x)
{
    return x->ops->release ? x->ops->release(x) : NULL;
}

uint32_t fre_server_release_parts(const fre_server *x)
{
    const server_out *o = release_of(x);

    return o ? o->count : 0;
}

fre_bytes fre_server_release_view(const fre_server *x, uint32_t part)
{
    const server_out *o = release_of(x);

    return o && part < o->count ? server_buf_view(&o->letter[part].message) : server_view(NULL, 0);
}
