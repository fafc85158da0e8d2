/* parties/tagging.c - S_tag: its clock, clients' exchanges, its outbox. */
#include "tagging.h"

enum { COOKIE_PADDING = 1, COOKIE_CLOSED };

/* ---- time ------------------------------------------------------------------------------------- */

/* What follows from the time alone.  The key is destroyed before anything else that may fail. */
static fre_status advance(fre_tagging *x, int64_t now)
{
    const fre_collection *c = &x->base.w.c;

    parties_clock(&x->base, now);
    now = x->base.now;
    if (now >= c->tags_close)
        tagging_destroy_key(x);
    if (now >= c->end) {
        tagging_forget(x);
        parties_end(&x->base);
        fre_wipe(&x->keys, sizeof x->keys);
        if (x->base.stage != FRE_STAGE_DONE)
            x->base.stage = FRE_STAGE_VOID;
    }
    if (x->base.stage == FRE_STAGE_WAITING && now >= c->open)
        x->base.stage = FRE_STAGE_TAGS;
    if (x->base.stage > FRE_STAGE_TAGS)
        return FRE_OK;
    if (now >= c->tags_close) {
        x->base.stage = FRE_STAGE_CLOSING;
        x->closed_time = now;
        parties_table_wipe(&x->requests);
        return FRE_OK;
    }
    /* A restart without the key while clients still need it. */
    return x->oprf ? FRE_OK : tagging_void(x, FRE_CANCEL_KEY_LOST);
}

/* A rejection that follows from time and cancellation alone, without a look at the message. */
static fre_rejection late(const fre_tagging *x)
{
    if (x->base.now >= x->base.w.c.end)
        return FRE_REJECTED_EXPIRED;
    return x->base.cancelled ? FRE_REJECTED_CANCELLED : FRE_NOT_REJECTED;
}

/* ---- evaluations ------------------------------------------------------------------------------ */

/* Randomness of the proof for these elements.  A retry must get the same bytes and a proof's nonce
 * must never serve two, so the nonce comes from key and message; from the key, not from the saved
 * secret, since whoever knows a nonce and its proof knows the key. */
static fre_status proof_stream(fre_rng *r, const fre_oprf_key *key, fre_bytes message)
{
    static const char left[] = "fre-e2t proof nonces, left";
    static const char right[] = "fre-e2t proof nonces, right";
    uint8_t seed[FRE_SEED_BYTES], sum[PARTIES_HASH_BYTES];
    char label[2 * PARTIES_HASH_BYTES + 1];
    fre_status st;

    fre_hash128(seed, key->b, left, sizeof left);
    fre_hash128(seed + 16, key->b, right, sizeof right);
    fre_hash128(sum, seed, message.p, message.n);
    fre_hex(label, sum, sizeof sum);
    st = fre_rng_init_seeded(r, seed, label);
    fre_wipe(seed, sizeof seed);
    return st;
}

/* Appends the response to the opened request `message`. */
static fre_status evaluate(const fre_tagging *x, fre_buf *out, fre_bytes message)
{
    const uint32_t n = x->base.w.c.cells_per_user;
    fre_oprf_element element[FRE_COLLECTION_CELLS_MAX], answer[FRE_COLLECTION_CELLS_MAX];
    fre_oprf_proof proof;
    fre_rng r;
    fre_status st = fre_tag_request_decode(element, &x->base.w, message, NULL);

    if (st == FRE_OK)
        st = proof_stream(&r, x->oprf, message);
    if (st != FRE_OK)
        return st;
    st = fre_oprf_blind_evaluate(answer, &proof, x->oprf, element, n, &r);
    fre_rng_wipe(&r);
    if (st == FRE_OK)
        st = fre_tag_response_encode(out, &x->base.w, answer, &proof);
    return st;
}

/* Seals the answer.  Its nonce is a hash of request and answer: the same bytes for a retry, and
 * never one nonce for two answers. */
static fre_status answer(const fre_tagging *x, fre_buf *reply, const fre_ohttp_exchange *exchange,
                         const uint8_t request[PARTIES_HASH_BYTES], const fre_buf *message)
{
    uint8_t both[2 * PARTIES_HASH_BYTES];
    uint64_t half[2];
    fre_rng r;
    fre_status st;

    memcpy(both, request, PARTIES_HASH_BYTES);
    parties_hash(both + PARTIES_HASH_BYTES, &x->base, parties_buf_view(message));
    parties_hash(both, &x->base, parties_view(both, sizeof both));
    memcpy(half, both, sizeof half);
    st = parties_stream(&r, &x->base, "answer", half[0], half[1]);
    if (st != FRE_OK)
        return st;
    st = fre_exchange_answer(exchange, reply, &x->base.w, parties_buf_view(message), &r);
    fre_rng_wipe(&r);
    return st;
}

/* The message for an opened request: tags, or the rejection *code. */
static fre_status decide(fre_tagging *x, fre_buf *out, fre_rejection *code, bool known,
                         fre_bytes message)
{
    const fre_collection *c = &x->base.w.c;
    fre_status st;

    *code = FRE_NOT_REJECTED;
    if (!known && c->users * c->cells_per_user - x->evaluations < c->cells_per_user) {
        *code = FRE_REJECTED_FULL;
    } else {
        st = known ? FRE_OK : parties_table_reserve(&x->requests, 1);
        if (st == FRE_OK)
            st = evaluate(x, out, message);
        if (st == FRE_OK)
            return FRE_OK;
        *code = fre_rejection_of(st);
        if (*code == FRE_REJECTED_UNAVAILABLE)
            return st;
    }
    return fre_rejection_encode(out, *code);
}

static fre_status exchange(fre_tagging *x, fre_buf *reply, fre_rejection *why, fre_bytes in)
{
    uint8_t request[PARTIES_HASH_BYTES];
    fre_ohttp_exchange e;
    fre_buf message, back;
    fre_rejection code = FRE_NOT_REJECTED;
    bool known;
    fre_status st;

    fre_buf_init(&message, FRE_BHTTP_MESSAGE_MAX);
    fre_buf_init(&back, FRE_BHTTP_MESSAGE_MAX);
    st = fre_exchange_open(&e, &message, &x->base.w, FRE_WIRE_TAG_REQUEST, &x->keys.seal, in, NULL);
    if (st != FRE_OK) {
        st = parties_reject_status(&x->base, reply, why, st);
        goto out;
    }
    parties_hash(request, &x->base, in);
    known = parties_table_find(&x->requests, request) != NULL;
    st = decide(x, &back, &code, known, parties_buf_view(&message));
    if (st == FRE_OK)
        st = answer(x, reply, &e, request, &back);
    fre_ohttp_exchange_wipe(&e);
    if (st != FRE_OK)
        goto out;
    if (code != FRE_NOT_REJECTED) {
        x->base.counters.rejected[code]++;
    } else if (known) {
        x->base.counters.repeated++;
    } else {
        parties_table_insert(&x->requests, request, 0);
        x->evaluations += x->base.w.c.cells_per_user;
        x->base.counters.accepted++;
    }
    if (why)
        *why = code;
out:
    fre_buf_wipe(&message);
    fre_buf_wipe(&back);
    return st;
}

fre_status fre_tagging_exchange(fre_tagging *x, fre_buf *reply, fre_rejection *why, fre_bytes in,
                                int64_t now)
{
    fre_rejection code;
    fre_status st;

    if (!x || !reply || !in.p)
        return FRE_E_ARG;
    st = advance(x, now);
    if (st != FRE_OK)
        return st;
    code = late(x);
    if (code == FRE_NOT_REJECTED && x->base.stage == FRE_STAGE_WAITING)
        code = FRE_REJECTED_PHASE;
    if (code == FRE_NOT_REJECTED && x->base.stage != FRE_STAGE_TAGS)
        code = FRE_REJECTED_EXPIRED;
    if (code != FRE_NOT_REJECTED)
        return parties_reject(&x->base, reply, why, code);
    return exchange(x, reply, why, in);
}

/* ---- messages --------------------------------------------------------------------------------- */

static void forget(void *server)
{
    tagging_forget(server);
}

static fre_status cancelled(fre_tagging *x, fre_buf *reply, fre_rejection *why, fre_bytes in)
{
    return parties_obey_cancel(&x->base, reply, why, in, false, forget, x);
}

fre_status fre_tagging_handle(fre_tagging *x, fre_buf *reply, fre_rejection *why, fre_bytes in,
                              int64_t now)
{
    fre_collection_id id;
    fre_wire_type type;
    fre_rejection code;
    fre_status st;

    if (!x || !reply || !in.p)
        return FRE_E_ARG;
    st = advance(x, now);
    if (st != FRE_OK)
        return st;
    code = late(x);
    if (code == FRE_REJECTED_EXPIRED)
        return parties_reject(&x->base, reply, why, code);
    if (parties_repeat(&x->base, reply, why, in, &st))
        return st;
    if (code != FRE_NOT_REJECTED)
        return parties_reject(&x->base, reply, why, code);
    st = fre_wire_peek(&type, &id, in);
    if (st != FRE_OK)
        return parties_reject_status(&x->base, reply, why, st);
    if (type == FRE_WIRE_LIST)
        return tagging_list(x, reply, why, in);
    if (type == FRE_WIRE_REGISTRY)
        return tagging_register(x, reply, why, in);
    if (type == FRE_WIRE_SETS)
        return tagging_sets(x, reply, why, in);
    if (type == FRE_WIRE_OPEN)
        return tagging_open(x, reply, why, in);
    if (type == FRE_WIRE_CANCEL)
        return cancelled(x, reply, why, in);
    return parties_reject(&x->base, reply, why, FRE_REJECTED_MALFORMED);
}

/* ---- outbox ----------------------------------------------------------------------------------- */

/* Its size and content say nothing of the padding. */
static fre_status post_closed(const fre_tagging *x, fre_outbox *out)
{
    const fre_closed m = {.time = x->closed_time, .evaluations = x->evaluations};
    fre_outbox_item *item = parties_post(out, FRE_ROLE_RELAY, PARTIES_COOKIE(COOKIE_CLOSED, 0));
    fre_status st;

    if (!item)
        return FRE_E_NOMEM;
    st = fre_closed_encode(&item->message, &x->base.w, &m, &x->keys.sign);
    if (st != FRE_OK)
        parties_post_undo(out);
    return st;
}

fre_status fre_tagging_tick(fre_tagging *x, fre_outbox *out, int64_t now)
{
    fre_status st;

    if (!x || !out)
        return FRE_E_ARG;
    st = advance(x, now);
    if (st != FRE_OK || x->base.now >= x->base.w.c.end)
        return st;
    if (x->base.stage != FRE_STAGE_CLOSING)
        return parties_post_cancel(&x->base, out);
    st = tagging_padding_draw(&x->padding, &x->base);
    if (st != FRE_OK)
        return st;
    return tagging_padding_is_settled(&x->padding)
               ? post_closed(x, out)
               : tagging_padding_post(&x->padding, &x->base, out, COOKIE_PADDING);
}

fre_status fre_tagging_answered(fre_tagging *x, uint64_t cookie, fre_bytes reply, int64_t now)
{
    parties_verdict verdict;
    fre_status st;

    if (!x)
        return FRE_E_ARG;
    st = advance(x, now);
    if (st != FRE_OK || parties_cancel_answered(&x->base, cookie, reply))
        return st;
    verdict = parties_judge(reply);
    if (x->base.stage != FRE_STAGE_CLOSING ||
        (verdict != PARTIES_RECEIVED && verdict != PARTIES_REFUSED))
        return FRE_OK;
    st = tagging_padding_draw(&x->padding, &x->base);
    if (st != FRE_OK)
        return st;
    if (PARTIES_COOKIE_KIND(cookie) == COOKIE_PADDING)
        tagging_padding_arrived(&x->padding, PARTIES_COOKIE_INDEX(cookie));
    else if (PARTIES_COOKIE_KIND(cookie) == COOKIE_CLOSED &&
             tagging_padding_is_settled(&x->padding)) {
        tagging_padding_forget(&x->padding, &x->base);
        x->base.stage = FRE_STAGE_COUNTING;
    }
    return FRE_OK;
}

fre_status fre_tagging_cancel(fre_tagging *x, int64_t now)
{
    fre_status st;

    if (!x)
        return FRE_E_ARG;
    st = advance(x, now);
    if (st != FRE_OK)
        return st;
    if (x->base.stage == FRE_STAGE_DONE || x->base.stage == FRE_STAGE_VOID)
        return FRE_E_STATE;
    return tagging_void(x, FRE_CANCEL_OPERATOR);
}

/* ---- what it shows ------------------------------------------------------------------------------------ */

fre_stage fre_tagging_stage(const fre_tagging *x)
{
    return x->base.stage;
}

bool fre_tagging_has_key(const fre_tagging *x)
{
    return x->oprf != NULL;
}

const fre_counters *fre_tagging_counters(const fre_tagging *x)
{
    return &x->base.counters;
}

void fre_tagging_count(fre_tagging_counts *out, const fre_tagging *x)
{
    *out = (fre_tagging_counts){.evaluations = x->evaluations,
                                .padding = x->padding.reports,
                                .padded = x->padding.settled,
                                .seeds_refused = x->seeds_refused,
                                .unregistered = x->unregistered,
                                .opened = x->opened,
                                .refused = x->refused};
}
