/* parties/relay.c - the relay: what it accepts from clients and servers, mixes and forwards. */
#include "relay.h"

#define PART_BYTES_MAX (FRE_WIRE_MESSAGE_MAX / 4 * 3)
#define PARTS_AT_ONCE 4u
#define BYTES_AT_ONCE (32u << 20) /* about; a part at least */
#define NAME_MAX_BYTES 255u

enum { COOKIE_FLUSH_REPORTS = 1, COOKIE_FLUSH_SHARES, COOKIE_REGISTRY };

/* ---- the mix ----------------------------------------------------------------------------------- */

static size_t each(const fre_relay *x)
{
    return fre_wire_sealed_bytes(&x->base.w, x->mixing);
}

static bool has_seeds(const fre_relay *x)
{
    return fre_contribution_has_seed(&x->base.w, x->mixing);
}

/* Room for one message more, so that mix_put can't fail. */
static fre_status mix_reserve(fre_relay *x)
{
    size_t cap = x->mix_cap > 0 ? x->mix_cap * 2 : 64;
    uint8_t *grown;
    fre_status st;

    if (x->mixed == x->mix_cap) {
        if (cap > SIZE_MAX / 2 / each(x))
            return FRE_E_NOMEM;
        grown = realloc(x->mix, cap * each(x));
        if (!grown)
            return FRE_E_NOMEM;
        x->mix = grown;
        x->mix_cap = cap;
    }
    st = has_seeds(x) ? relay_registry_reserve(&x->registry) : FRE_OK;
    return st == FRE_OK ? parties_table_reserve(&x->seen, 1) : st;
}

static void mix_put(fre_relay *x, fre_bytes sealed, const fre_seed_digest *digest,
                    const uint8_t hash[PARTIES_HASH_BYTES])
{
    if (has_seeds(x))
        relay_registry_put(&x->registry, digest);
    memcpy(x->mix + x->mixed * each(x), sealed.p, sealed.n);
    x->mixed++;
    parties_table_insert(&x->seen, hash, 0);
    if (x->mixing == FRE_WIRE_REPORT)
        x->reports++;
    else
        x->shares++;
}

/* Fisher and Yates.  The stream depends on the state alone, so that a restart flushes the same. */
static fre_status shuffle(fre_relay *x)
{
    const size_t n = each(x);
    uint8_t *spare = malloc(n);
    fre_rng r;
    fre_status st = spare
                        ? parties_stream(&r, &x->base, "fre/relay/shuffle", (uint64_t)x->mixing, 0)
                        : FRE_E_NOMEM;

    if (st == FRE_OK) {
        for (size_t i = x->mixed; i > 1; i--) {
            uint8_t *a = x->mix + (i - 1) * n, *b = x->mix + fre_rng_below(&r, i) * n;

            memcpy(spare, a, n);
            memmove(a, b, n);
            memcpy(b, spare, n);
        }
        fre_rng_wipe(&r);
        parties_ratchet(&x->base); /* who came when can't be told from the order any more */
    }
    free(spare);
    return st;
}

static fre_status cancel(fre_relay *x, fre_cancel_reason reason)
{
    fre_status st = parties_cancel(&x->base, reason, &x->sk);

    if (st == FRE_OK)
        st = fre_buf_append(&x->void_statement, x->base.cancel.p, x->base.cancel.n);
    if (st == FRE_OK)
        relay_end(x, FRE_STAGE_VOID);
    return st;
}

/* Shuffles and cuts into parts; or cancels, if the batch would single somebody out. */
static fre_status flush(fre_relay *x)
{
    const bool reports = x->mixing == FRE_WIRE_REPORT;
    size_t size = x->opts.part_max, parts;
    fre_status st;

    if ((reports ? x->reporting : x->sharing) < x->opts.batch_min || x->mixed == 0)
        return cancel(x, FRE_CANCEL_TOO_FEW);
    if (size > PART_BYTES_MAX / each(x))
        size = PART_BYTES_MAX / each(x);
    parts = (x->mixed + size - 1) / size;
    if (parts > FRE_WIRE_PARTS_MAX)
        return cancel(x, FRE_CANCEL_OPERATOR);
    x->done = calloc(parts, 1);
    if (!x->done)
        return FRE_E_NOMEM;
    st = has_seeds(x) ? relay_registry_close(&x->registry, x->opts.part_max) : FRE_OK;
    if (st == FRE_OK)
        st = shuffle(x);
    if (st != FRE_OK) {
        free(x->done);
        x->done = NULL;
        return st;
    }
    parties_table_wipe(&x->seen); /* nothing more is accepted */
    x->parts = (uint32_t)parts;
    x->part_size = (uint32_t)size;
    x->settled = 0;
    if (reports)
        x->base.stage = FRE_STAGE_COUNTING;
    return FRE_OK;
}

/* ---- time -------------------------------------------------------------------------------------- */

/* What the clock alone decides. */
static void advance(fre_relay *x, int64_t now)
{
    const fre_collection *c = &x->base.w.c;

    parties_clock(&x->base, now);
    now = x->base.now;
    if (x->base.stage == FRE_STAGE_WAITING && now >= c->open)
        x->base.stage = FRE_STAGE_TAGS;
    if (x->base.stage == FRE_STAGE_TAGS && now >= c->tags_close)
        x->base.stage = FRE_STAGE_CLOSING;
    if (x->base.stage == FRE_STAGE_SHARES && now >= c->shares_close)
        x->base.stage = FRE_STAGE_SUMMING;
    if (x->base.stage < FRE_STAGE_DONE && now >= c->end)
        relay_end(x, FRE_STAGE_VOID);
}

/* Is a flush to begin? */
static bool flush_is_due(const fre_relay *x)
{
    if (x->parts > 0 || x->handed)
        return false;
    if (x->base.stage == FRE_STAGE_CLOSING)
        return x->closed.n > 0;
    return x->base.stage == FRE_STAGE_SUMMING && x->mixing == FRE_WIRE_SHARE;
}

/* ---- clients ----------------------------------------------------------------------------------- */

static fre_status reject(fre_relay *x, fre_buf *reply, fre_rejection *why, fre_rejection code)
{
    return parties_reject(&x->base, reply, why, code);
}

/* A receipt for something accepted, or accepted before. */
static fre_status receipt(uint64_t *counter, fre_buf *reply, fre_rejection *why)
{
    fre_status st = fre_receipt_encode(reply);

    if (st == FRE_OK) {
        ++*counter;
        *why = FRE_NOT_REJECTED;
    }
    return st;
}

/* Is the phase that such a message belongs to over, or has it yet to begin?  Asked before anything
 * that is stored: a late message is late whatever was received before. */
static fre_rejection untimely(const fre_relay *x, fre_stage wanted)
{
    const fre_stage stage = x->base.stage;

    if (stage == FRE_STAGE_VOID && x->void_statement.n > 0)
        return FRE_REJECTED_CANCELLED;
    if (stage == wanted)
        return FRE_NOT_REJECTED;
    return stage < wanted ? FRE_REJECTED_PHASE : FRE_REJECTED_EXPIRED;
}

/* The same after a restart, or a client could send its messages again. */
static void hash_name(uint8_t out[PARTIES_HASH_BYTES], const fre_relay *x, fre_bytes name)
{
    parties_hash(out, &x->base, name);
}

static relay_client *find_client(fre_relay *x, const uint8_t key[PARTIES_HASH_BYTES])
{
    const uint32_t *at = parties_table_find(&x->names, key);

    return at ? &x->client[*at] : NULL;
}

/* Room for one client more, so that add_client can't fail. */
static fre_status reserve_client(fre_relay *x)
{
    fre_status st =
        fre_grow((void **)&x->client, &x->client_cap, x->clients + 1, sizeof *x->client);

    return st == FRE_OK ? parties_table_reserve(&x->names, 1) : st;
}

static relay_client *add_client(fre_relay *x, const uint8_t key[PARTIES_HASH_BYTES])
{
    relay_client *c = &x->client[x->clients];

    *c = (relay_client){.reports = 0};
    memcpy(c->key, key, sizeof c->key);
    parties_table_insert(&x->names, key, (uint32_t)x->clients++);
    x->all_clients++;
    return c;
}

static bool is_zero(const uint8_t hash[PARTIES_HASH_BYTES])
{
    static const uint8_t zero[PARTIES_HASH_BYTES];

    return memcmp(hash, zero, sizeof zero) == 0;
}

static bool name_is_fine(fre_bytes client)
{
    return client.p && client.n >= 1 && client.n <= NAME_MAX_BYTES;
}

fre_status fre_relay_exchange(fre_relay *x, fre_buf *reply, fre_rejection *why, fre_bytes client,
                              fre_bytes in, int64_t now)
{
    uint8_t key[PARTIES_HASH_BYTES], ask[PARTIES_HASH_BYTES];
    fre_rejection late;
    relay_client *c;
    fre_status st;

    if (!x || !reply || !why || !name_is_fine(client) || (in.n > 0 && !in.p))
        return FRE_E_ARG;
    advance(x, now);
    late = untimely(x, FRE_STAGE_TAGS);
    if (late != FRE_NOT_REJECTED)
        return reject(x, reply, why, late);
    if (in.n != x->ask_bytes)
        return reject(x, reply, why,
                      in.n > x->ask_bytes ? FRE_REJECTED_SIZE : FRE_REJECTED_MALFORMED);
    hash_name(key, x, client);
    parties_hash(ask, &x->base, in);
    c = find_client(x, key);
    if (!c) {
        if (x->clients >= x->base.w.c.users)
            return reject(x, reply, why, FRE_REJECTED_FULL);
        st = reserve_client(x);
        if (st != FRE_OK)
            return st;
        c = add_client(x, key);
    }
    if (is_zero(c->ask)) {
        memcpy(c->ask, ask, sizeof c->ask);
        x->exchanges++;
        x->base.counters.accepted++;
    } else if (memcmp(c->ask, ask, sizeof ask) == 0) {
        x->base.counters.repeated++;
    } else {
        return reject(x, reply, why, FRE_REJECTED_REPLAYED);
    }
    *why = FRE_NOT_REJECTED;
    return FRE_OK;
}

/* Why the relay refuses this message: the client is unknown, or has sent all of its kind already. */
static fre_rejection unexpected(const fre_relay *x, const relay_client *c, fre_wire_type type)
{
    const uint32_t most = x->base.w.c.cells_per_user;

    if (type == FRE_WIRE_SHARE && (!c || c->reports == 0))
        return FRE_REJECTED_KEY;
    if (!c)
        return x->clients >= x->base.w.c.users ? FRE_REJECTED_FULL : FRE_NOT_REJECTED;
    return (type == FRE_WIRE_SHARE ? c->shares : c->reports) >= most ? FRE_REJECTED_REPLAYED
                                                                     : FRE_NOT_REJECTED;
}

static void count_client(fre_relay *x, relay_client *c, fre_wire_type type)
{
    if (type == FRE_WIRE_SHARE) {
        x->sharing += c->shares == 0;
        c->shares++;
    } else {
        x->reporting += c->reports == 0;
        c->reports++;
    }
}

/* A report or share, its phase right. */
static fre_status mix_from(fre_relay *x, fre_buf *reply, fre_rejection *why, fre_bytes client,
                           fre_wire_type type, fre_bytes in)
{
    uint8_t key[PARTIES_HASH_BYTES], hash[PARTIES_HASH_BYTES];
    fre_rejection no;
    fre_bytes sealed;
    fre_seed_digest digest;
    relay_client *c;
    fre_status st = fre_contribution_split(&sealed, &digest, &x->base.w, type, in, NULL);

    if (st != FRE_OK)
        return parties_reject_status(&x->base, reply, why, st);
    parties_hash(hash, &x->base, in);
    if (parties_table_find(&x->seen, hash))
        return receipt(&x->base.counters.repeated, reply, why);
    hash_name(key, x, client);
    c = find_client(x, key);
    no = unexpected(x, c, type);
    if (no != FRE_NOT_REJECTED)
        return reject(x, reply, why, no);
    st = c ? FRE_OK : reserve_client(x);
    if (st == FRE_OK)
        st = mix_reserve(x);
    if (st == FRE_OK)
        st = receipt(&x->base.counters.accepted, reply, why);
    if (st != FRE_OK)
        return st;
    /* Only now, so that a client without a receipt has sent nothing. */
    if (!c)
        c = add_client(x, key);
    count_client(x, c, type);
    mix_put(x, sealed, &digest, hash);
    return FRE_OK;
}

fre_status fre_relay_submit(fre_relay *x, fre_buf *reply, fre_rejection *why, fre_bytes client,
                            fre_bytes in, int64_t now)
{
    fre_wire_type type;
    fre_collection_id id;
    fre_rejection late;
    fre_status st;

    if (!x || !reply || !why || !name_is_fine(client) || (in.n > 0 && !in.p))
        return FRE_E_ARG;
    advance(x, now);
    st = fre_wire_peek(&type, &id, in);
    if (st != FRE_OK)
        return parties_reject_status(&x->base, reply, why, st);
    if (type != FRE_WIRE_REPORT && (type != FRE_WIRE_SHARE || x->base.w.c.one_contact))
        return reject(x, reply, why, FRE_REJECTED_MALFORMED);
    if (memcmp(id.b, x->base.w.id.b, sizeof id.b) != 0)
        return reject(x, reply, why, FRE_REJECTED_COLLECTION);
    late = untimely(x, type == FRE_WIRE_REPORT ? FRE_STAGE_TAGS : FRE_STAGE_SHARES);
    if (late != FRE_NOT_REJECTED)
        return reject(x, reply, why, late);
    return mix_from(x, reply, why, client, type, in);
}

/* ---- servers ----------------------------------------------------------------------------------- */

static bool same(const fre_buf *kept, fre_bytes in)
{
    return kept->n == in.n && memcmp(kept->p, in.p, in.n) == 0;
}

/* Keeps a copy and says so; nothing is kept without a receipt. */
static fre_status keep(fre_relay *x, fre_buf *kept, fre_buf *reply, fre_rejection *why,
                       fre_bytes in)
{
    fre_status st = fre_buf_append(kept, in.p, in.n);

    if (st == FRE_OK)
        st = receipt(&x->base.counters.accepted, reply, why);
    if (st != FRE_OK)
        fre_buf_wipe(kept);
    return st;
}

static fre_status accept_padding(fre_relay *x, fre_buf *reply, fre_rejection *why, fre_bytes in)
{
    uint8_t hash[PARTIES_HASH_BYTES];
    fre_bytes sealed;
    fre_seed_digest digest;
    fre_status st;

    if (x->base.stage < FRE_STAGE_CLOSING) /* our clock is behind S_tag's, which will try again */
        return reject(x, reply, why, FRE_REJECTED_UNAVAILABLE);
    if (untimely(x, FRE_STAGE_CLOSING) != FRE_NOT_REJECTED)
        return reject(x, reply, why, untimely(x, FRE_STAGE_CLOSING));
    st = fre_contribution_split(&sealed, &digest, &x->base.w, FRE_WIRE_REPORT, in, NULL);
    if (st != FRE_OK)
        return parties_reject_status(&x->base, reply, why, st);
    parties_hash(hash, &x->base, in);
    if (parties_table_find(&x->seen, hash))
        return receipt(&x->base.counters.repeated, reply, why);
    if (x->closed.n > 0 || (double)x->mixed + 1 > parties_reports_max(&x->base.w.c))
        /* it said before that all had arrived, or sends more than it may draw */
        return reject(x, reply, why, FRE_REJECTED_DISAGREES);
    st = mix_reserve(x);
    if (st == FRE_OK)
        st = receipt(&x->base.counters.accepted, reply, why);
    if (st == FRE_OK)
        mix_put(x, sealed, &digest, hash);
    return st;
}

static fre_status accept_closed(fre_relay *x, fre_buf *reply, fre_rejection *why, fre_bytes in)
{
    fre_closed m;
    fre_status st = fre_closed_decode(&m, &x->base.w, in, NULL);

    if (st != FRE_OK)
        return parties_reject_status(&x->base, reply, why, st);
    if (x->closed.n > 0)
        return same(&x->closed, in) ? receipt(&x->base.counters.repeated, reply, why)
                                    : reject(x, reply, why, FRE_REJECTED_DISAGREES);
    if (x->base.stage < FRE_STAGE_CLOSING)
        return reject(x, reply, why, FRE_REJECTED_UNAVAILABLE);
    if (untimely(x, FRE_STAGE_CLOSING) != FRE_NOT_REJECTED)
        return reject(x, reply, why, untimely(x, FRE_STAGE_CLOSING));
    /* S_tag evaluated for somebody else as well, who can now look tags up in the list: S_syn, perhaps. */
    if (m.evaluations > x->exchanges * x->base.w.c.cells_per_user) {
        st = cancel(x, FRE_CANCEL_DISAGREE);
        return st == FRE_OK ? reject(x, reply, why, FRE_REJECTED_DISAGREES) : st;
    }
    return keep(x, &x->closed, reply, why, in);
}

/* Clients' shares come next, if any do. */
static void begin_shares(fre_relay *x, const fre_wire *with_bits, const fre_list *list)
{
    relay_forget_mix(x);
    x->handed = true;
    x->base.stage = FRE_STAGE_SUMMING;
    if (x->base.w.c.one_contact || list->n == 0)
        return;
    x->base.w = *with_bits;
    x->mixing = FRE_WIRE_SHARE;
    x->handed = false;
    x->base.stage = FRE_STAGE_SHARES;
}

static fre_status accept_list(fre_relay *x, fre_buf *reply, fre_rejection *why, fre_bytes in)
{
    fre_wire w = x->base.w;
    fre_list list;
    fre_status st = fre_list_decode(&list, &w, in, NULL);

    if (st != FRE_OK)
        return parties_reject_status(&x->base, reply, why, st);
    if (x->list.n > 0)
        return same(&x->list, in) ? receipt(&x->base.counters.repeated, reply, why)
                                  : reject(x, reply, why, FRE_REJECTED_DISAGREES);
    if (untimely(x, FRE_STAGE_COUNTING) != FRE_NOT_REJECTED)
        return reject(x, reply, why, untimely(x, FRE_STAGE_COUNTING));
    if (!w.c.one_contact && list.n > 0)
        st = fre_wire_derive_share_bits(&w, &list, NULL);
    if (st != FRE_OK)
        return parties_reject_status(&x->base, reply, why, st);
    st = keep(x, &x->list, reply, why, in);
    /* S_syn has all parts of the flush, receipts or not: it counted them. */
    if (st == FRE_OK)
        begin_shares(x, &w, &list);
    return st;
}

/* Room for the parts, once the first says how many there are. */
static fre_status open_release(fre_relay *x, uint32_t count)
{
    fre_buf *parts;

    if (x->release)
        return FRE_OK;
    parts = calloc(count, sizeof *parts);
    if (!parts)
        return FRE_E_NOMEM;
    for (uint32_t i = 0; i < count; i++)
        fre_buf_init(&parts[i], FRE_WIRE_MESSAGE_MAX);
    x->release = parts;
    x->release_parts = count;
    return FRE_OK;
}

static fre_status accept_release(fre_relay *x, fre_buf *reply, fre_rejection *why, fre_bytes in)
{
    fre_release_part m;
    fre_status st = fre_release_part_decode(&m, &x->base.w, in, NULL);
    fre_buf *kept;

    if (st != FRE_OK)
        return parties_reject_status(&x->base, reply, why, st);
    if (x->release && m.part.count != x->release_parts)
        return reject(x, reply, why, FRE_REJECTED_DISAGREES);
    kept = x->release ? &x->release[m.part.index] : NULL;
    if (kept && kept->n > 0)
        return same(kept, in) ? receipt(&x->base.counters.repeated, reply, why)
                              : reject(x, reply, why, FRE_REJECTED_DISAGREES);
    if (x->base.stage < FRE_STAGE_SUMMING) /* the list has yet to come, or a clock is behind */
        return reject(x, reply, why, FRE_REJECTED_UNAVAILABLE);
    if (untimely(x, FRE_STAGE_SUMMING) != FRE_NOT_REJECTED)
        return reject(x, reply, why, untimely(x, FRE_STAGE_SUMMING));
    st = open_release(x, m.part.count);
    if (st == FRE_OK)
        st = keep(x, &x->release[m.part.index], reply, why, in);
    if (st == FRE_OK && ++x->release_got == x->release_parts)
        relay_end(x, FRE_STAGE_DONE);
    return st;
}

static fre_status accept_cancel(fre_relay *x, fre_buf *reply, fre_rejection *why, fre_bytes in)
{
    fre_cancel m;
    fre_status st = fre_cancel_decode(&m, &x->base.w, in, NULL);

    if (st != FRE_OK)
        return parties_reject_status(&x->base, reply, why, st);
    if (x->void_statement.n > 0) /* whichever came first is shown */
        return receipt(&x->base.counters.repeated, reply, why);
    if (x->base.stage >= FRE_STAGE_DONE)
        return reject(x, reply, why, FRE_REJECTED_EXPIRED);
    st = keep(x, &x->void_statement, reply, why, in);
    if (st == FRE_OK) {
        x->base.cancelled = true;
        relay_end(x, FRE_STAGE_VOID);
    }
    return st;
}

fre_status fre_relay_handle(fre_relay *x, fre_buf *reply, fre_rejection *why, fre_bytes in,
                            int64_t now)
{
    fre_wire_type type;
    fre_collection_id id;
    fre_status st;

    if (!x || !reply || !why || (in.n > 0 && !in.p))
        return FRE_E_ARG;
    advance(x, now);
    st = fre_wire_peek(&type, &id, in);
    if (st != FRE_OK)
        return parties_reject_status(&x->base, reply, why, st);
    switch ((unsigned)type) {
    case FRE_WIRE_REPORT:
        return accept_padding(x, reply, why, in);
    case FRE_WIRE_CLOSED:
        return accept_closed(x, reply, why, in);
    case FRE_WIRE_LIST:
        return accept_list(x, reply, why, in);
    case FRE_WIRE_RELEASE:
        return accept_release(x, reply, why, in);
    case FRE_WIRE_CANCEL:
        return accept_cancel(x, reply, why, in);
    default:
        return reject(x, reply, why, FRE_REJECTED_MALFORMED);
    }
}

/* ---- outbox ------------------------------------------------------------------------------------ */

static unsigned flush_kind(const fre_relay *x)
{
    return x->mixing == FRE_WIRE_REPORT ? COOKIE_FLUSH_REPORTS : COOKIE_FLUSH_SHARES;
}

static fre_status post_part(const fre_relay *x, fre_outbox *out, uint32_t i)
{
    const size_t first = (size_t)i * x->part_size;
    const size_t n = x->mixed - first < x->part_size ? x->mixed - first : x->part_size;
    const fre_flush m = {.type = x->mixing,
                         .part = {.index = i, .count = x->parts},
                         .closed = x->mixing == FRE_WIRE_REPORT ? parties_buf_view(&x->closed)
                                                                : parties_view(NULL, 0),
                         .sealed = parties_view(x->mix + first * each(x), n * each(x)),
                         .n = (uint32_t)n};
    fre_outbox_item *item = parties_post(out, FRE_ROLE_SYN, PARTIES_COOKIE(flush_kind(x), i));
    fre_status st;

    if (!item)
        return FRE_E_NOMEM;
    st = fre_flush_encode(&item->message, &x->base.w, &m, &x->sk);
    if (st != FRE_OK)
        parties_post_undo(out);
    return st;
}

fre_status fre_relay_tick(fre_relay *x, fre_outbox *out, int64_t now)
{
    fre_status st = FRE_OK;
    size_t most;

    if (!x || !out)
        return FRE_E_ARG;
    advance(x, now);
    if (flush_is_due(x))
        st = flush(x);
    if (st == FRE_OK)
        st = parties_post_cancel(&x->base, out);
    /* From the last to the first, so that memory can be given back as they are settled. */
    most = x->parts > 0 ? 1 + BYTES_AT_ONCE / (x->part_size * each(x)) : 0;
    most = most < PARTS_AT_ONCE ? most : PARTS_AT_ONCE;
    for (uint32_t i = x->parts, posted = 0; st == FRE_OK && i > 0 && posted < most; i--) {
        if (!x->done[i - 1]) {
            st = post_part(x, out, i - 1);
            posted++;
        }
    }
    /* S_tag takes it once it has the list. */
    if (st == FRE_OK && x->base.stage == FRE_STAGE_SUMMING && x->registry.next < x->registry.parts)
        st = relay_registry_post(x, out, PARTIES_COOKIE(COOKIE_REGISTRY, x->registry.next));
    return st;
}

/* Gives back what is settled, where that is the end of the mix. */
static void trim(fre_relay *x)
{
    const size_t held = relay_held(x), n = each(x);
    uint8_t *less;

    if (held >= x->mix_cap || held == 0)
        return;
    fre_wipe(x->mix + held * n, ((x->mix_cap < x->mixed ? x->mix_cap : x->mixed) - held) * n);
    less = realloc(x->mix, held * n);
    if (less)
        x->mix = less;
    x->mix_cap = held;
}

static void flush_answered(fre_relay *x, uint64_t i)
{
    if (i >= x->parts || x->done[i])
        return;
    x->done[i] = 1;
    x->settled++;
    if (x->settled < x->parts) {
        trim(x);
        return;
    }
    relay_forget_mix(x);
    x->handed = true;
}

fre_status fre_relay_answered(fre_relay *x, uint64_t cookie, fre_bytes reply, int64_t now)
{
    uint64_t i = PARTIES_COOKIE_INDEX(cookie);

    if (!x || (reply.n > 0 && !reply.p))
        return FRE_E_ARG;
    advance(x, now);
    if (parties_cancel_answered(&x->base, cookie, reply))
        return FRE_OK;
    if (parties_judge(reply) != PARTIES_RECEIVED && parties_judge(reply) != PARTIES_REFUSED)
        return FRE_OK;
    if (PARTIES_COOKIE_KIND(cookie) == COOKIE_REGISTRY)
        relay_registry_answered(&x->registry, i);
    else if (PARTIES_COOKIE_KIND(cookie) == flush_kind(x)) /* else: of a flush that is over */
        flush_answered(x, i);
    return FRE_OK;
}

fre_status fre_relay_cancel(fre_relay *x, int64_t now)
{
    if (!x)
        return FRE_E_ARG;
    advance(x, now);
    return x->base.stage >= FRE_STAGE_DONE ? FRE_E_STATE : cancel(x, FRE_CANCEL_OPERATOR);
}
