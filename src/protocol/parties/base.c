/* parties/base.c - clock, counters, remembered answers, outbox: what the servers have in common. */
#include "parties_private.h"

/* ---- sizes of shares ------------------------------------------------------------------------ */

fre_status fre_parties_check(const fre_collection *c, fre_err *err)
{
    fre_mechanism m;
    fre_share_cell cell;
    uint64_t records;
    uint32_t bits;
    fre_status st;

    if (!c)
        return FRE_E_ARG;
    st = fre_collection_validate(c, err);
    if (st != FRE_OK)
        return st;
    if (c->server_noise)
        return fre_fail(err, FRE_E_DATA,
                        "these machines know clients' noise alone: noise_by must be clients");
    /* The widest share that a list could ask for: one cell of all records, and as many cells as
     * they could make.  One user's noise is largest in the smallest cell. */
    fre_collection_mechanism(&m, c);
    records = m.population > m.tau ? m.population : m.tau;
    st = fre_share_bits(&bits, &m, c->split, records, records / m.tau, err);
    if (st == FRE_E_USAGE) /* not the caller's terms */
        st = FRE_E_DATA;
    return st == FRE_OK ? fre_share_cell_init(&cell, &m, c->split, m.tau, bits, err) : st;
}

uint64_t fre_parties_answers_needed(const fre_collection *c, uint64_t count)
{
    fre_mechanism m;
    uint64_t needed;

    fre_collection_mechanism(&m, c);
    needed = fre_answers_needed(&m, count);
    if (needed < c->tau - c->curious)
        needed = c->tau - c->curious;
    return needed > 0 ? needed : 1;
}

/* ---- base ------------------------------------------------------------------------------------- */

fre_status parties_base_blank(parties_base *x, const fre_collection *c, fre_role role, fre_err *err)
{
    *x = (parties_base){.role = role, .now = INT64_MIN, .stage = FRE_STAGE_WAITING};
    fre_buf_init(&x->cancel, FRE_WIRE_MESSAGE_MAX);
    return fre_wire_init(&x->w, c, err);
}

fre_status parties_base_init(parties_base *x, const fre_collection *c, fre_role role, fre_rng *rng,
                             fre_err *err)
{
    fre_status st = parties_base_blank(x, c, role, err);

    if (st != FRE_OK)
        return st;
    st = fre_parties_check(c, err);
    if (st == FRE_OK && c->one_contact)
        st = fre_wire_derive_share_bits(&x->w, NULL, err);
    if (st != FRE_OK)
        return st;
    fre_rng_bytes(rng, x->secret, sizeof x->secret);
    fre_rng_bytes(rng, x->streams, sizeof x->streams);
    return FRE_OK;
}

void parties_base_wipe(parties_base *x)
{
    parties_table_wipe(&x->answered);
    for (size_t i = 0; i < x->answers; i++)
        fre_buf_wipe(&x->answer[i]);
    free(x->answer);
    fre_buf_wipe(&x->cancel);
    fre_wipe(x, sizeof *x);
}

void parties_forget(parties_base *x)
{
    for (size_t i = 0; i < x->answers; i++)
        fre_buf_wipe(&x->answer[i]);
    x->answers = 0;
    fre_map_clear(&x->answered.map); /* room for one answer more may be reserved, and stays */
}

void parties_end(parties_base *x)
{
    parties_forget(x);
    fre_wipe(x->secret, sizeof x->secret);
    fre_wipe(x->streams, sizeof x->streams);
}

void parties_base_save(parties_out *o, const parties_base *x)
{
    parties_put_uint(o, (uint64_t)x->now, 8);
    parties_put_uint(o, (uint64_t)x->stage, 1);
    parties_put_uint(o, x->cancelled, 1);
    parties_put_uint(o, x->w.share_bits, 1);
    parties_put_uint(o, x->counters.accepted, 8);
    parties_put_uint(o, x->counters.repeated, 8);
    for (size_t i = 0; i < FRE_REJECTIONS; i++)
        parties_put_uint(o, x->counters.rejected[i], 8);
    parties_put(o, x->secret, sizeof x->secret);
    parties_put(o, x->streams, sizeof x->streams);
    parties_put_bytes(o, x->cancel.p, x->cancel.n);
    parties_put_uint(o, x->cancel_to, 1);
    parties_put_uint(o, x->answers, 4);
    for (size_t i = 0; i < x->answers; i++)
        parties_put_bytes(o, x->answer[i].p, x->answer[i].n);
    parties_put_table(o, &x->answered);
}

static void load_answers(parties_in *in, parties_base *x, fre_status *st)
{
    const uint64_t n = parties_get_up_to(in, 4, in->left.n / 8);

    if (n > 0) {
        x->answer = calloc((size_t)n, sizeof *x->answer);
        if (!x->answer) {
            *st = FRE_E_NOMEM;
            in->bad = true;
            return;
        }
        x->answer_cap = (size_t)n;
    }
    for (; x->answers < n && !in->bad; x->answers++) {
        fre_buf_init(&x->answer[x->answers], FRE_WIRE_MESSAGE_MAX);
        parties_get_buf(in, &x->answer[x->answers], st);
    }
    parties_get_table(in, &x->answered, st);
    if (x->answered.map.n != x->answers)
        in->bad = true;
    for (uint32_t i = 0; !in->bad && i < x->answers; i++)
        if (x->answered.value[i] >= x->answers)
            in->bad = true;
}

void parties_base_load(parties_in *in, parties_base *x, fre_status *st)
{
    uint32_t bits;

    x->now = (int64_t)parties_get_uint(in, 8);
    x->stage = (fre_stage)parties_get_up_to(in, 1, FRE_STAGE_VOID);
    if ((unsigned)x->stage < FRE_STAGE_WAITING)
        in->bad = true;
    x->cancelled = parties_get_bool(in);
    bits = (uint32_t)parties_get_up_to(in, 1, FRE_SHARING_BITS_MAX);
    if (bits > 0 && fre_wire_set_share_bits(&x->w, bits) != FRE_OK)
        in->bad = true;
    x->counters.accepted = parties_get_uint(in, 8);
    x->counters.repeated = parties_get_uint(in, 8);
    for (size_t i = 0; i < FRE_REJECTIONS; i++)
        x->counters.rejected[i] = parties_get_uint(in, 8);
    parties_get(in, x->secret, sizeof x->secret);
    parties_get(in, x->streams, sizeof x->streams);
    parties_get_buf(in, &x->cancel, st);
    x->cancel_to = (uint32_t)parties_get_uint(in, 1);
    load_answers(in, x, st);
}

void parties_clock(parties_base *x, int64_t now)
{
    if (now > x->now)
        x->now = now;
}

fre_status parties_stream(fre_rng *out, const parties_base *x, const char *label, uint64_t a,
                          uint64_t b)
{
    char text[96];

    (void)snprintf(text, sizeof text, "%.40s %llu %llu", label, (unsigned long long)a,
                   (unsigned long long)b);
    return fre_rng_init_seeded(out, x->streams, text);
}

void parties_ratchet(parties_base *x)
{
    static const char left[] = "fre-e2t streams, left";
    static const char right[] = "fre-e2t streams, right";
    uint8_t next[FRE_SEED_BYTES];

    fre_hash128(next, x->streams, left, sizeof left);
    fre_hash128(next + 16, x->streams, right, sizeof right);
    memcpy(x->streams, next, sizeof next);
    fre_wipe(next, sizeof next);
}

double parties_reports_max(const fre_collection *c)
{
    /* m copies of at most 2 gamma tags for m = 1..tau-1 */
    const double padding = (double)c->tau * (double)(c->tau - 1) * c->gamma;

    return (double)(c->users * c->cells_per_user) + padding;
}

void parties_hash(uint8_t out[PARTIES_HASH_BYTES], const parties_base *x, fre_bytes in)
{
    fre_hash128(out, x->secret, in.p, in.n);
}

/* ---- answers ---------------------------------------------------------------------------------- */

static void say_why(fre_rejection *why, fre_rejection code)
{
    if (why)
        *why = code;
}

fre_status parties_reject(parties_base *x, fre_buf *reply, fre_rejection *why, fre_rejection code)
{
    fre_status st = fre_rejection_encode(reply, code);

    if (st != FRE_OK)
        return st;
    x->counters.rejected[code]++;
    say_why(why, code);
    return FRE_OK;
}

fre_status parties_reject_status(parties_base *x, fre_buf *reply, fre_rejection *why, fre_status st)
{
    /* A share before its size is known. */
    const fre_rejection code = st == FRE_E_STATE ? FRE_REJECTED_PHASE : fre_rejection_of(st);

    if (code == FRE_REJECTED_UNAVAILABLE)
        return st;
    return parties_reject(x, reply, why, code);
}

static fre_status append(fre_buf *out, const fre_buf *in)
{
    return fre_buf_append(out, in->p, in->n);
}

bool parties_repeat(parties_base *x, fre_buf *reply, fre_rejection *why, fre_bytes in,
                    fre_status *st)
{
    uint8_t key[PARTIES_HASH_BYTES];
    const uint32_t *value;

    parties_hash(key, x, in);
    value = parties_table_find(&x->answered, key);
    if (!value)
        return false;
    *st = append(reply, &x->answer[*value]);
    if (*st == FRE_OK) {
        x->counters.repeated++;
        say_why(why, FRE_NOT_REJECTED);
    }
    return true;
}

fre_status parties_prepare(parties_base *x)
{
    fre_status st =
        fre_grow((void **)&x->answer, &x->answer_cap, x->answers + 1, sizeof *x->answer);

    return st == FRE_OK ? parties_table_reserve(&x->answered, 1) : st;
}

fre_status parties_remember(parties_base *x, fre_buf *reply, fre_rejection *why, fre_bytes in,
                            fre_buf *answer)
{
    uint8_t key[PARTIES_HASH_BYTES];

    parties_hash(key, x, in);
    parties_table_insert(&x->answered, key, (uint32_t)x->answers);
    x->answer[x->answers] = *answer;
    fre_buf_init(answer, answer->max);
    x->counters.accepted++;
    say_why(why, FRE_NOT_REJECTED);
    return append(reply, &x->answer[x->answers++]);
}

fre_status parties_receipt(parties_base *x, fre_buf *receipt)
{
    fre_status st = parties_prepare(x);

    fre_buf_init(receipt, 16);
    return st == FRE_OK ? fre_receipt_encode(receipt) : st;
}

fre_status parties_cancel(parties_base *x, fre_cancel_reason reason, const fre_sign_sk *sk)
{
    const fre_cancel m = {.by = x->role, .reason = reason, .time = x->now > 0 ? x->now : 1};
    fre_status st;

    if (x->cancel.n > 0)
        return FRE_OK;
    st = fre_cancel_encode(&x->cancel, &x->w, &m, sk);
    if (st != FRE_OK)
        return st;
    x->cancel_to =
        (1u << FRE_ROLE_TAG | 1u << FRE_ROLE_SYN | 1u << FRE_ROLE_RELAY) & ~(1u << x->role);
    x->cancelled = true;
    return FRE_OK;
}

/* ---- outbox ----------------------------------------------------------------------------------- */

void fre_outbox_init(fre_outbox *o)
{
    *o = (fre_outbox){0};
}

void fre_outbox_wipe(fre_outbox *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->n; i++)
        fre_buf_wipe(&o->item[i].message);
    free(o->item);
    fre_outbox_init(o);
}

fre_outbox_item *parties_post(fre_outbox *o, fre_role to, uint64_t cookie)
{
    fre_outbox_item *item;

    if (fre_grow((void **)&o->item, &o->cap, o->n + 1, sizeof *o->item) != FRE_OK)
        return NULL;
    item = &o->item[o->n++];
    *item = (fre_outbox_item){.to = to, .cookie = cookie};
    fre_buf_init(&item->message, FRE_WIRE_MESSAGE_MAX);
    return item;
}

void parties_post_undo(fre_outbox *o)
{
    fre_buf_wipe(&o->item[--o->n].message);
}

fre_status parties_post_bytes(fre_outbox *o, fre_role to, uint64_t cookie, fre_bytes bytes)
{
    fre_outbox_item *item = parties_post(o, to, cookie);
    fre_status st;

    if (!item)
        return FRE_E_NOMEM;
    st = fre_buf_append(&item->message, bytes.p, bytes.n);
    if (st != FRE_OK)
        parties_post_undo(o);
    return st;
}

fre_status parties_post_cancel(const parties_base *x, fre_outbox *o)
{
    fre_status st = FRE_OK;

    for (unsigned role = FRE_ROLE_TAG; st == FRE_OK && role <= FRE_ROLE_RELAY; role++)
        if (x->cancel_to & 1u << role)
            st = parties_post_bytes(o, (fre_role)role, PARTIES_COOKIE(PARTIES_CANCEL, role),
                                    parties_buf_view(&x->cancel));
    return st;
}

bool parties_cancel_answered(parties_base *x, uint64_t cookie, fre_bytes reply)
{
    const parties_verdict verdict = parties_judge(reply);

    if (PARTIES_COOKIE_KIND(cookie) != PARTIES_CANCEL)
        return false;
    if ((verdict == PARTIES_RECEIVED || verdict == PARTIES_REFUSED) &&
        PARTIES_COOKIE_INDEX(cookie) <= FRE_ROLE_RELAY)
        x->cancel_to &= ~(1u << PARTIES_COOKIE_INDEX(cookie));
    return true;
}

parties_verdict parties_judge(fre_bytes reply)
{
    fre_collection_id id;
    fre_wire_type type;
    fre_rejection r;

    if (fre_wire_peek(&type, &id, reply) != FRE_OK)
        return PARTIES_AGAIN;
    if (type == FRE_WIRE_RECEIPT)
        return fre_receipt_decode(reply, NULL) == FRE_OK ? PARTIES_RECEIVED : PARTIES_AGAIN;
    if (type != FRE_WIRE_REJECTION)
        return PARTIES_MESSAGE;
    if (fre_rejection_decode(&r, reply, NULL) != FRE_OK || r == FRE_REJECTED_UNAVAILABLE ||
        r == FRE_REJECTED_FULL || r == FRE_REJECTED_PHASE)
        return PARTIES_AGAIN;
    return PARTIES_REFUSED;
}

/* ---- parts of a message -------------------------------------------------------------------------- */

fre_rejection parties_part_rejected(const fre_part *next, fre_part part)
{
    if (next->count > 0 && part.count != next->count)
        return FRE_REJECTED_DISAGREES;
    if (part.index < next->index)
        return FRE_REJECTED_REPLAYED;
    return part.index > next->index ? FRE_REJECTED_PHASE : FRE_NOT_REJECTED;
}

void parties_part_done(fre_part *next, fre_part part)
{
    next->index = part.index + 1;
    next->count = part.count;
}

fre_status parties_obey_cancel(parties_base *x, fre_buf *reply, fre_rejection *why, fre_bytes in,
                               bool done, void (*forget)(void *server), void *server)
{
    fre_cancel m;
    fre_buf receipt;
    fre_status st = fre_cancel_decode(&m, &x->w, in, NULL);

    if (st != FRE_OK)
        return parties_reject_status(x, reply, why, st);
    if (m.by == x->role)
        return parties_reject(x, reply, why, FRE_REJECTED_MALFORMED);
    if (done)
        return parties_reject(x, reply, why, FRE_REJECTED_EXPIRED);
    st = parties_receipt(x, &receipt);
    if (st == FRE_OK) {
        forget(server);
        parties_forget(x);
        x->stage = FRE_STAGE_VOID;
        x->cancelled = true;
        st = parties_remember(x, reply, why, in, &receipt);
    }
    fre_buf_wipe(&receipt);
    return st;
}
