/* parties/tagging.c - S_tag: evaluations, the end of its key, padding, the closed statement. */
#include "tagging.h"

#include <sodium.h>

enum { COOKIE_PADDING = 1, COOKIE_CLOSED };

/* ---- life ------------------------------------------------------------------------------------- */

static void destroy_key(fre_tagging *x)
{
    sodium_free(x->oprf); /* overwrites it first */
    x->oprf = NULL;
}

static void wipe_array(void *p, size_t bytes)
{
    if (p)
        fre_wipe(p, bytes);
    free(p);
}

void tagging_forget(fre_tagging *x)
{
    destroy_key(x);
    tagging_padding_forget(x);
    wipe_array(x->member, (size_t)x->room * sizeof *x->member);
    free(x->cell);
    x->member = NULL;
    x->cell = NULL;
    x->room = x->members = 0;
    parties_table_wipe(&x->requests);
    parties_table_wipe(&x->ids);
    tagging_registry_wipe(&x->registry);
    fre_buf_wipe(&x->list_message);
    x->list = (fre_list){.n = 0};
    x->last_cell = 0;
}

void fre_tagging_free(fre_tagging *x)
{
    if (!x)
        return;
    tagging_forget(x);
    parties_base_wipe(&x->base);
    fre_wipe(x, sizeof *x);
    free(x);
}

fre_status tagging_void(fre_tagging *x, fre_cancel_reason reason)
{
    fre_status st;

    destroy_key(x);
    st = parties_cancel(&x->base, reason, &x->keys.sign);
    if (st != FRE_OK)
        return st;
    tagging_forget(x);
    parties_forget(&x->base);
    x->base.stage = FRE_STAGE_VOID;
    return FRE_OK;
}

static fre_status check_keys(const fre_collection *c, const fre_tagging_keys *keys,
                             const fre_oprf_key *oprf, fre_err *err)
{
    if (memcmp(keys->seal.pk.b, c->tag_seal.b, sizeof c->tag_seal.b) != 0)
        return fre_fail(err, FRE_E_KEY, "the seal key of S_tag is not the collection's");
    if (memcmp(keys->sign.b + 32, c->tag_sign.b, sizeof c->tag_sign.b) != 0)
        return fre_fail(err, FRE_E_KEY, "the signing key of S_tag is not the collection's");
    if (oprf && memcmp(oprf->pub.b, c->oprf_pk.b, sizeof c->oprf_pk.b) != 0)
        return fre_fail(err, FRE_E_KEY, "the VOPRF key is not the collection's");
    return FRE_OK;
}

static fre_tagging *blank(const fre_tagging_keys *keys)
{
    fre_tagging *x = calloc(1, sizeof *x);

    if (!x)
        return NULL;
    x->keys = *keys;
    fre_buf_init(&x->list_message, FRE_WIRE_MESSAGE_MAX);
    return x;
}

static fre_status move_key(fre_tagging *x, fre_oprf_key *oprf)
{
    if (sodium_init() < 0)
        return FRE_E_INTERNAL;
    x->oprf = sodium_malloc(sizeof *x->oprf);
    if (!x->oprf)
        return FRE_E_NOMEM;
    *x->oprf = *oprf;
    fre_oprf_key_wipe(oprf);
    return FRE_OK;
}

fre_status fre_tagging_new(fre_tagging **out, const fre_collection *c, const fre_tagging_keys *keys,
                           fre_oprf_key *oprf, fre_rng *rng, fre_err *err)
{
    fre_tagging *x = NULL;
    fre_status st;

    if (!out || !c || !keys || !oprf || !rng)
        return FRE_E_ARG;
    st = check_keys(c, keys, oprf, err);
    if (st != FRE_OK)
        return st;
    x = blank(keys);
    if (!x)
        return FRE_E_NOMEM;
    st = parties_base_init(&x->base, c, FRE_ROLE_TAG, rng, err);
    if (st == FRE_OK)
        st = move_key(x, oprf);
    if (st == FRE_OK)
        *out = x;
    else
        fre_tagging_free(x);
    return st;
}

/* ---- time ------------------------------------------------------------------------------------- */

/* What the clock alone decides.  The key goes before anything else that may fail. */
static fre_status advance(fre_tagging *x, int64_t now)
{
    const fre_collection *c = &x->base.w.c;

    parties_clock(&x->base, now);
    now = x->base.now;
    if (now >= c->tags_close)
        destroy_key(x);
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
    st = fre_exchange_take(&e, &message, &x->base.w, &x->keys.seal, in, NULL);
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
        x->base.counters.taken++;
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

static fre_status cancelled(fre_tagging *x, fre_buf *reply, fre_rejection *why, fre_bytes in)
{
    fre_cancel m;
    fre_buf receipt;
    fre_status st = fre_cancel_decode(&m, &x->base.w, in, NULL);

    if (st != FRE_OK)
        return parties_reject_status(&x->base, reply, why, st);
    if (m.by == x->base.role)
        return parties_reject(&x->base, reply, why, FRE_REJECTED_MALFORMED);
    st = parties_receipt(&x->base, &receipt);
    if (st == FRE_OK) {
        tagging_forget(x);
        parties_forget(&x->base); /* no sum goes out any more, not even once more */
        x->base.stage = FRE_STAGE_VOID;
        x->base.cancelled = true;
        st = parties_remember(&x->base, reply, why, in, &receipt);
    }
    fre_buf_wipe(&receipt);
    return st;
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
        return tagging_registry_take(x, reply, why, in);
    if (type == FRE_WIRE_SETS)
        return tagging_sets(x, reply, why, in);
    if (type == FRE_WIRE_OPEN)
        return tagging_open(x, reply, why, in);
    if (type == FRE_WIRE_CANCEL)
        return cancelled(x, reply, why, in);
    return parties_reject(&x->base, reply, why, FRE_REJECTED_MALFORMED);
}

/* ---- outbox ----------------------------------------------------------------------------------- */

static fre_status post_padding(const fre_tagging *x, fre_outbox *out)
{
    for (uint64_t i = x->padded; i < x->padding && i < x->padded + TAGGING_WINDOW; i++) {
        fre_outbox_item *item;
        fre_status st;

        if (x->arrived[i % TAGGING_WINDOW])
            continue;
        item = parties_post(out, FRE_ROLE_RELAY, PARTIES_COOKIE(COOKIE_PADDING, i));
        if (!item)
            return FRE_E_NOMEM;
        st = tagging_padding_report(x, &item->message, i);
        if (st != FRE_OK) {
            parties_post_undo(out);
            return st;
        }
    }
    return FRE_OK;
}

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
    st = tagging_padding_draw(x);
    if (st != FRE_OK)
        return st;
    return x->padded < x->padding ? post_padding(x, out) : post_closed(x, out);
}

static void padding_arrived(fre_tagging *x, uint64_t index)
{
    if (index < x->padded || index >= x->padding || index - x->padded >= TAGGING_WINDOW)
        return;
    x->arrived[index % TAGGING_WINDOW] = true;
    while (x->arrived[x->padded % TAGGING_WINDOW]) {
        x->arrived[x->padded % TAGGING_WINDOW] = false;
        x->padded++;
    }
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
    st = tagging_padding_draw(x);
    if (st != FRE_OK)
        return st;
    if (PARTIES_COOKIE_KIND(cookie) == COOKIE_PADDING)
        padding_arrived(x, PARTIES_COOKIE_INDEX(cookie));
    else if (PARTIES_COOKIE_KIND(cookie) == COOKIE_CLOSED && x->padded == x->padding) {
        tagging_padding_forget(x);
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

/* ---- looks ------------------------------------------------------------------------------------ */

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
                                .padding = x->padding,
                                .padded = x->padded,
                                .seeds_refused = x->seeds_refused,
                                .strangers = x->strangers,
                                .opened = x->opened,
                                .refused = x->refused};
}

/* ---- saved states ----------------------------------------------------------------------------- */

static void save_cells(parties_out *o, const fre_tagging *x)
{
    for (uint32_t i = 0; i < x->list.n && x->cell; i++) {
        parties_put_uint(o, x->cell[i].first, 8);
        parties_put_uint(o, x->cell[i].n, 4);
        parties_put_uint(o, x->cell[i].spent, 1);
    }
    parties_put_bytes(o, x->member, (size_t)x->members * sizeof *x->member);
    parties_put_table(o, &x->ids);
}

fre_status fre_tagging_save(const fre_tagging *x, fre_buf *out)
{
    parties_out o;

    if (!x || !out)
        return FRE_E_ARG;
    o = parties_out_open(out, &x->base.w, FRE_ROLE_TAG);
    parties_base_save(&o, &x->base);
    parties_put_uint(&o, x->evaluations, 8);
    parties_put_table(&o, &x->requests);
    parties_put_uint(&o, (uint64_t)x->closed_time, 8);
    parties_put_uint(&o, x->padding, 8);
    parties_put_uint(&o, x->padded, 8);
    for (size_t i = 0; i < TAGGING_WINDOW; i++)
        parties_put_uint(&o, x->arrived[i], 1);
    parties_put_bytes(&o, x->list_message.p, x->list_message.n);
    tagging_registry_save(&o, &x->registry);
    parties_put_uint(&o, x->sets.index, 4);
    parties_put_uint(&o, x->sets.count, 4);
    parties_put_uint(&o, x->open.index, 4);
    parties_put_uint(&o, x->open.count, 4);
    parties_put_uint(&o, x->last_cell, 4);
    parties_put(&o, x->last_id.b, sizeof x->last_id.b);
    parties_put_uint(&o, x->seeds_refused, 8);
    parties_put_uint(&o, x->strangers, 8);
    parties_put_uint(&o, x->opened, 8);
    parties_put_uint(&o, x->refused, 8);
    save_cells(&o, x);
    return parties_out_close(&o);
}

static void load_cells(parties_in *in, fre_tagging *x, fre_status *st)
{
    fre_bytes raw;

    if (!in->bad && x->list.n > 0) {
        *st = tagging_cells_new(x);
        in->bad = *st != FRE_OK;
    }
    for (uint32_t i = 0; i < x->list.n && !in->bad; i++) {
        x->cell[i].first = parties_get_up_to(in, 8, x->room);
        x->cell[i].n = (uint32_t)parties_get_up_to(in, 4, x->room - x->cell[i].first);
        x->cell[i].spent = parties_get_bool(in);
    }
    raw = parties_get_bytes(in);
    if (raw.n % sizeof *x->member != 0 || raw.n / sizeof *x->member > x->room)
        in->bad = true;
    if (!in->bad && raw.n > 0) {
        memcpy(x->member, raw.p, raw.n);
        x->members = raw.n / sizeof *x->member;
    }
    for (uint32_t i = 0; i < x->list.n && !in->bad; i++)
        if (x->cell[i].first + x->cell[i].n > x->members)
            in->bad = true;
    parties_get_table(in, &x->ids, st);
}

static void load_list(parties_in *in, fre_tagging *x, fre_status *st)
{
    parties_get_buf(in, &x->list_message, st);
    if (!in->bad && x->list_message.n > 0 &&
        fre_list_decode(&x->list, &x->base.w, parties_buf_view(&x->list_message), NULL) != FRE_OK)
        in->bad = true;
    /* The bits once more, since seeds are bound to the list as well. */
    if (!in->bad && x->list_message.n > 0 && !x->base.w.c.one_shot)
        in->bad = fre_wire_derive_share_bits(&x->base.w, &x->list, NULL) != FRE_OK;
}

static fre_status load(fre_tagging *x, fre_bytes state, fre_err *err)
{
    fre_status st = FRE_OK, opened;
    parties_in in;

    opened = parties_in_open(&in, state, &x->base.w, FRE_ROLE_TAG, err);
    if (opened != FRE_OK)
        return opened;
    parties_base_load(&in, &x->base, &st);
    x->evaluations = parties_get_uint(&in, 8);
    parties_get_table(&in, &x->requests, &st);
    x->closed_time = (int64_t)parties_get_uint(&in, 8);
    x->padding = parties_get_uint(&in, 8);
    x->padded = parties_get_uint(&in, 8);
    for (size_t i = 0; i < TAGGING_WINDOW; i++)
        x->arrived[i] = parties_get_bool(&in);
    load_list(&in, x, &st);
    tagging_registry_load(&in, &x->registry, &st);
    x->sets.index = (uint32_t)parties_get_uint(&in, 4);
    x->sets.count = (uint32_t)parties_get_uint(&in, 4);
    x->open.index = (uint32_t)parties_get_uint(&in, 4);
    x->open.count = (uint32_t)parties_get_uint(&in, 4);
    x->last_cell = (uint32_t)parties_get_up_to(&in, 4, x->list.n);
    parties_get(&in, x->last_id.b, sizeof x->last_id.b);
    x->seeds_refused = parties_get_uint(&in, 8);
    x->strangers = parties_get_uint(&in, 8);
    x->opened = parties_get_uint(&in, 8);
    x->refused = parties_get_uint(&in, 8);
    load_cells(&in, x, &st);
    return parties_in_end(&in, st, err);
}

fre_status fre_tagging_load(fre_tagging **out, const fre_collection *c,
                            const fre_tagging_keys *keys, fre_oprf_key *oprf, fre_bytes state,
                            fre_err *err)
{
    fre_tagging *x = NULL;
    fre_status st;

    if (!out || !c || !keys)
        return FRE_E_ARG;
    st = check_keys(c, keys, oprf, err);
    if (st != FRE_OK)
        return st;
    x = blank(keys);
    if (!x)
        return FRE_E_NOMEM;
    st = parties_base_blank(&x->base, c, FRE_ROLE_TAG, err);
    if (st == FRE_OK)
        st = load(x, state, err);
    if (st == FRE_OK && oprf) {
        if (x->base.stage <= FRE_STAGE_TAGS)
            st = move_key(x, oprf);
        else
            fre_oprf_key_wipe(oprf);
    }
    if (st == FRE_OK)
        *out = x;
    else
        fre_tagging_free(x);
    return st;
}
