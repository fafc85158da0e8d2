/* parties_servers.c - both servers, and as much of clients and relay as they need. */
#include "parties_servers.h"

fre_collection small_terms(sample *s, bool one_contact)
{
    fre_collection c = sample_collection(s);

    c.dim = DIM;
    c.threshold = 4;
    c.p32 = FRE_P_ONE / 4 * 3;
    c.tau = 3;
    c.sigma = 2;
    c.lambda16 = FRE_TSDLAP_ONE / 2;
    c.gamma = 3;
    c.users = 100000; /* what the samples of messages need */
    c.curious = 0;
    c.dropout = one_contact ? 0 : 0.5;
    c.one_contact = one_contact;
    c.open = 1000;
    c.exchange_close = 1900;
    c.tags_close = 2000;
    c.shares_close = one_contact ? 2000 : 3000;
    c.end = 4000;
    return c;
}

static void world_servers(world *w, const fre_collection *c)
{
    fre_tagging_keys tag = {.seal = w->s.tag, .sign = w->s.tag_sk};
    fre_synthesis_keys syn = {.seal = w->s.syn, .sign = w->s.syn_sk};
    static const char statement[] = "what it promises";
    fre_oprf_key moved = w->s.oprf;

    must(fre_tagging_new(&w->tag, c, &tag, &moved, &w->rng, NULL) == FRE_OK);
    must(fre_synthesis_new(&w->syn, c, &syn, parties_view(statement, sizeof statement - 1), &w->rng,
                           NULL) == FRE_OK);
}

void world_begin(world *w, const fre_collection *c)
{
    const uint8_t seed[FRE_SEED_BYTES] = {7};

    w->oprf = w->s.oprf;
    w->key_kept = true;
    fre_buf_init(&w->closed, SAMPLE_MAX);
    fre_buf_init(&w->list, SAMPLE_MAX);
    fre_buf_init(&w->release, SAMPLE_MAX);
    must(fre_rng_init_seeded(&w->rng, seed, "rounds") == FRE_OK);
    must(fre_wire_init(&w->s.w, c, NULL) == FRE_OK);
    if (c->one_contact)
        must(fre_wire_derive_share_bits(&w->s.w, NULL, NULL) == FRE_OK);
    world_servers(w, c);
}

world *world_new(bool one_contact)
{
    world *w = calloc(1, sizeof *w);
    fre_collection c;

    must(w != NULL);
    c = small_terms(&w->s, one_contact);
    world_begin(w, &c);
    return w;
}

void queue_wipe(queue *q)
{
    for (size_t i = 0; i < q->n; i++)
        fre_buf_wipe(&q->item[i]);
    q->n = 0;
}

void world_free(world *w)
{
    fre_tagging_free(w->tag);
    fre_synthesis_free(w->syn);
    queue_wipe(&w->reports);
    queue_wipe(&w->shares);
    fre_buf_wipe(&w->closed);
    fre_buf_wipe(&w->list);
    fre_buf_wipe(&w->release);
    fre_wipe(w, sizeof *w); /* a test searches memory for what is left of keys */
    free(w);
}

/* ---- restarts --------------------------------------------------------------------------------- */

void restart_tag(world *w)
{
    const fre_tagging_keys keys = {.seal = w->s.tag, .sign = w->s.tag_sk};
    fre_oprf_key key = w->oprf;
    fre_tagging *again = NULL;
    fre_buf state;

    fre_buf_init(&state, SAMPLE_MAX);
    must(fre_tagging_save(w->tag, &state) == FRE_OK);
    fre_tagging_free(w->tag);
    must(fre_tagging_load(&again, &w->s.w.c, &keys, w->key_kept ? &key : NULL,
                          parties_buf_view(&state), NULL) == FRE_OK);
    w->tag = again;
    fre_buf_wipe(&state);
}

void restart_syn(world *w)
{
    const fre_synthesis_keys keys = {.seal = w->s.syn, .sign = w->s.syn_sk};
    fre_synthesis *again = NULL;
    fre_buf state;

    fre_buf_init(&state, SAMPLE_MAX);
    must(fre_synthesis_save(w->syn, &state) == FRE_OK);
    fre_synthesis_free(w->syn);
    must(fre_synthesis_load(&again, &w->s.w.c, &keys, parties_buf_view(&state), NULL) == FRE_OK);
    w->syn = again;
    fre_buf_wipe(&state);
}

static void called(world *w)
{
    if (!w->restart)
        return;
    restart_tag(w);
    restart_syn(w);
}

/* ---- clients ---------------------------------------------------------------------------------- */

void ask_begin(world *w, ask *a, fre_bytes cell)
{
    fre_buf message;

    fre_buf_init(&message, SAMPLE_MAX);
    fre_buf_init(&a->request, SAMPLE_MAX);
    must(fre_oprf_blind_input(&a->blind, &a->blinded, cell, &w->rng) == FRE_OK);
    must(fre_tag_request_encode(&message, &w->s.w, &a->blinded) == FRE_OK);
    must(fre_exchange_ask(&a->x, &a->request, &w->s.w, FRE_WIRE_TAG_REQUEST,
                          parties_buf_view(&message), &w->rng) == FRE_OK);
    fre_buf_wipe(&message);
}

fre_rejection ask_end(world *w, ask *a, fre_tag *tag, fre_bytes cell, fre_bytes reply)
{
    fre_rejection r = FRE_NOT_REJECTED;
    fre_oprf_element evaluated;
    fre_oprf_output out;
    fre_oprf_proof proof;
    fre_buf message;

    fre_buf_init(&message, SAMPLE_MAX);
    must(fre_exchange_read(&a->x, &message, &w->s.w, reply, NULL) == FRE_OK);
    if (fre_rejection_decode(&r, parties_buf_view(&message), NULL) != FRE_OK) {
        must(fre_tag_response_decode(&evaluated, &proof, &w->s.w, parties_buf_view(&message),
                                     NULL) == FRE_OK);
        must(fre_oprf_finalize(&out, &w->s.w.c.oprf_pk,
                               &(fre_oprf_request){&cell, &a->blind, &a->blinded, 1}, &evaluated, 1,
                               &proof) == FRE_OK);
        memcpy(tag->b, out.b, sizeof tag->b);
    }
    fre_buf_wipe(&message);
    fre_buf_wipe(&a->request);
    return r;
}

void get_tag(world *w, uint32_t i, uint8_t group, int64_t now)
{
    person *p = &w->who[i];
    const fre_bytes cell = {p->cell, sizeof p->cell};
    fre_rejection why = FRE_REJECTED_FULL;
    fre_buf reply;
    ask a;

    memset(p->cell, group, sizeof p->cell);
    for (uint32_t j = 0; j < DIM; j++)
        p->x[j] = 0.01f * (float)((i * 5 + j * 3 + group) % 11) + (j == group % DIM ? 0.5f : 0);
    fre_rng_bytes(&w->rng, p->id.b, sizeof p->id.b);
    fre_buf_init(&reply, SAMPLE_MAX);
    ask_begin(w, &a, cell);
    must(fre_tagging_exchange(w->tag, &reply, &why, parties_buf_view(&a.request), now) == FRE_OK &&
         why == FRE_NOT_REJECTED);
    must(ask_end(w, &a, &p->tag, cell, parties_buf_view(&reply)) == FRE_NOT_REJECTED);
    fre_buf_wipe(&reply);
    called(w);
}

fre_buf *queue_add(queue *q)
{
    must(q->n < sizeof q->item / sizeof *q->item);
    fre_buf_init(&q->item[q->n], SAMPLE_MAX);
    return &q->item[q->n++];
}

void contribute(world *w, const person *p, fre_wire_type type, uint32_t count)
{
    fre_contribution m = {.id = p->id, .tag = p->tag};
    const size_t n = fre_wire_share_bytes(&w->s.w);
    uint8_t *packed = malloc(n + 1);
    fre_rotation *rotation = NULL;
    fre_share_seed seed;
    fre_share_cell cell;
    fre_mechanism mech;

    must(packed != NULL);
    if (type == FRE_WIRE_SHARE || w->s.w.c.one_contact) {
        fre_collection_mechanism(&mech, &w->s.w.c);
        must(fre_rotation_new(&rotation, DIM, w->s.w.c.sign_seed) == FRE_OK);
        must(fre_share_cell_init(&cell, &mech, w->s.w.c.split, count, w->s.w.share_bits, NULL) ==
             FRE_OK);
        must(fre_share_make_with(packed, n, &seed, rotation, &cell, p->x, NULL, &w->rng) == FRE_OK);
        must(fre_seed_seal(&m.seed, &w->s.w, &m.tag, &m.id, &seed, &w->rng) == FRE_OK);
        m.packed = parties_view(packed, n);
        fre_rotation_free(rotation);
    }
    must(fre_contribution_seal(queue_add(type == FRE_WIRE_REPORT ? &w->reports : &w->shares),
                               &w->s.w, type, &m, &w->rng) == FRE_OK);
    free(packed);
}

void null_share(world *w)
{
    const fre_contribution m = {.null = true};

    must(fre_contribution_seal(queue_add(&w->shares), &w->s.w, FRE_WIRE_SHARE, &m, &w->rng) ==
         FRE_OK);
}

/* ---- the relay and the way between servers ------------------------------------------------------- */

void flush_encode(const world *w, fre_buf *out, const queue *q, fre_wire_type type, fre_part part,
                  size_t from, size_t to)
{
    fre_flush f = {.type = type, .part = part, .n = (uint32_t)(to - from)};
    fre_buf sealed;

    fre_buf_init(&sealed, SAMPLE_MAX);
    for (size_t i = from; i < to; i++) {
        fre_bytes v;

        must(fre_contribution_split(&v, NULL, &w->s.w, type, parties_buf_view(&q->item[i]), NULL) ==
             FRE_OK);
        must(fre_buf_append(&sealed, v.p, v.n) == FRE_OK);
    }
    f.sealed = parties_buf_view(&sealed);
    if (type == FRE_WIRE_REPORT)
        f.closed = parties_buf_view(&w->closed);
    must(fre_flush_encode(out, &w->s.w, &f, &w->s.relay_sk) == FRE_OK);
    fre_buf_wipe(&sealed);
}

static int digest_order(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(fre_seed_digest));
}

void registry_encode(const world *w, fre_buf *out, fre_seed_digest *digest, size_t n, fre_part part)
{
    fre_registry m = {.part = part};
    size_t from, to, different = 0;

    if (n > 0)
        qsort(digest, n, sizeof *digest, digest_order);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || digest_order(&digest[i], &digest[different - 1]) != 0)
            digest[different++] = digest[i];
    from = different * part.index / part.count;
    to = different * (part.index + 1) / part.count;
    m.n = (uint32_t)(to - from);
    m.digest = digest + from;
    must(fre_registry_encode(out, &w->s.w, &m, &w->s.relay_sk) == FRE_OK);
}

size_t queue_digests(const world *w, fre_seed_digest *digest, const queue *q, fre_wire_type type)
{
    fre_bytes sealed;

    for (size_t i = 0; i < q->n; i++)
        must(fre_contribution_split(&sealed, &digest[i], &w->s.w, type,
                                    parties_buf_view(&q->item[i]), NULL) == FRE_OK);
    return q->n;
}

fre_rejection to_syn(world *w, fre_bytes in, int64_t now)
{
    fre_rejection why = FRE_NOT_REJECTED, told = FRE_NOT_REJECTED;
    fre_buf reply;

    fre_buf_init(&reply, SAMPLE_MAX);
    must(fre_synthesis_handle(w->syn, &reply, &why, in, now) == FRE_OK);
    if (fre_rejection_decode(&told, parties_buf_view(&reply), NULL) != FRE_OK)
        must(fre_receipt_decode(parties_buf_view(&reply), NULL) == FRE_OK);
    must(told == why);
    fre_buf_wipe(&reply);
    called(w);
    return why;
}

fre_rejection to_tag(world *w, fre_buf *reply, fre_bytes in, int64_t now)
{
    fre_rejection why = FRE_NOT_REJECTED, told = FRE_NOT_REJECTED;
    fre_buf own;

    fre_buf_init(&own, SAMPLE_MAX);
    must(fre_tagging_handle(w->tag, &own, &why, in, now) == FRE_OK);
    if (fre_rejection_decode(&told, parties_buf_view(&own), NULL) != FRE_OK)
        told = FRE_NOT_REJECTED;
    must(told == why);
    if (reply)
        must(fre_buf_append(reply, own.p, own.n) == FRE_OK);
    fre_buf_wipe(&own);
    called(w);
    return why;
}

void tell_registry(world *w, int64_t now)
{
    const bool once = w->s.w.c.one_contact;
    fre_seed_digest digest[sizeof w->shares.item / sizeof *w->shares.item];
    const size_t n = queue_digests(w, digest, once ? &w->reports : &w->shares,
                                   once ? FRE_WIRE_REPORT : FRE_WIRE_SHARE);

    for (uint32_t i = 0; i < 2; i++) {
        fre_buf m;

        fre_buf_init(&m, SAMPLE_MAX);
        registry_encode(w, &m, digest, n, (fre_part){i, 2});
        must(to_tag(w, NULL, parties_buf_view(&m), now) == FRE_NOT_REJECTED);
        fre_buf_wipe(&m);
    }
    w->registered = true;
}

void flush(world *w, fre_wire_type type, uint32_t parts, int64_t now)
{
    const queue *q = type == FRE_WIRE_REPORT ? &w->reports : &w->shares;

    for (uint32_t i = 0; i < parts; i++) {
        fre_buf m;

        fre_buf_init(&m, SAMPLE_MAX);
        flush_encode(w, &m, q, type, (fre_part){i, parts}, q->n * i / parts,
                     q->n * (i + 1) / parts);
        must(to_syn(w, parties_buf_view(&m), now) == FRE_NOT_REJECTED);
        fre_buf_wipe(&m);
    }
}

void keep(fre_buf *out, const fre_buf *in)
{
    fre_buf_wipe(out);
    must(fre_buf_append(out, in->p, in->n) == FRE_OK);
}

/* What the relay does with a message of a server. */
static void relay_takes(world *w, const fre_buf *m)
{
    fre_collection_id id;
    fre_wire_type type;

    must(fre_wire_peek(&type, &id, parties_buf_view(m)) == FRE_OK);
    if (type == FRE_WIRE_REPORT)
        keep(queue_add(&w->reports), m);
    else if (type == FRE_WIRE_CLOSED)
        keep(&w->closed, m);
    else if (type == FRE_WIRE_LIST)
        keep(&w->list, m);
    else if (type == FRE_WIRE_RELEASE)
        keep(&w->release, m);
    else if (type == FRE_WIRE_CANCEL)
        w->cancels++;
    else
        must(false);
}

void receipt(fre_buf *out)
{
    fre_buf_init(out, 16);
    must(fre_receipt_encode(out) == FRE_OK);
}

void pump_tag(world *w, int64_t now)
{
    fre_buf taken;
    fre_outbox o;

    receipt(&taken);
    fre_outbox_init(&o);
    do {
        fre_outbox_wipe(&o);
        must(fre_tagging_tick(w->tag, &o, now) == FRE_OK);
        called(w);
        for (size_t i = 0; i < o.n; i++) {
            if (o.item[i].to == FRE_ROLE_RELAY)
                relay_takes(w, &o.item[i].message);
            else
                (void)to_syn(w, parties_buf_view(&o.item[i].message), now);
            must(fre_tagging_answered(w->tag, o.item[i].cookie, parties_buf_view(&taken), now) ==
                 FRE_OK);
            called(w);
        }
    } while (o.n > 0);
    fre_outbox_wipe(&o);
    fre_buf_wipe(&taken);
}

void pump_syn(world *w, int64_t now, bool lose)
{
    fre_buf taken, reply;
    fre_outbox o;

    receipt(&taken);
    fre_outbox_init(&o);
    fre_buf_init(&reply, SAMPLE_MAX);
    for (bool lost = false;; lost = !lost) {
        fre_outbox_wipe(&o);
        must(fre_synthesis_tick(w->syn, &o, now) == FRE_OK);
        called(w);
        if (o.n == 0)
            break;
        for (size_t i = 0; i < o.n; i++) {
            fre_bytes answer = parties_buf_view(&taken);

            fre_buf_wipe(&reply);
            if (o.item[i].to == FRE_ROLE_TAG) {
                if (o.item[i].message.p[1] == FRE_WIRE_SETS && !w->registered)
                    tell_registry(w, now);
                (void)to_tag(w, &reply, parties_buf_view(&o.item[i].message), now);
                answer = parties_buf_view(&reply);
                if (lose && !lost)
                    continue;
            } else {
                relay_takes(w, &o.item[i].message);
            }
            must(fre_synthesis_answered(w->syn, o.item[i].cookie, answer, now) == FRE_OK);
            called(w);
        }
    }
    fre_outbox_wipe(&o);
    fre_buf_wipe(&taken);
    fre_buf_wipe(&reply);
}

/* ---- the usual course --------------------------------------------------------------------------- */

uint32_t gather(world *w, const uint32_t *groups, uint32_t n)
{
    uint32_t people = 0;

    for (uint32_t g = 0; g < n; g++)
        for (uint32_t k = 0; k < groups[g]; k++, people++) {
            get_tag(w, people, (uint8_t)(g + 1), w->s.w.c.open + 5);
            contribute(w, &w->who[people], FRE_WIRE_REPORT, (uint32_t)w->s.w.c.tau);
        }
    return people;
}

fre_list the_list(const world *w)
{
    fre_list l;

    must(fre_list_decode(&l, &w->s.w, parties_buf_view(&w->list), NULL) == FRE_OK);
    return l;
}

void close_and_count(world *w)
{
    const int64_t now = w->s.w.c.tags_close + 5;
    fre_list l;

    pump_tag(w, now);
    must(w->closed.n > 0);
    flush(w, FRE_WIRE_REPORT, 3, now);
    pump_syn(w, now, false);
    must(w->list.n > 0);
    l = the_list(w);
    if (!w->s.w.c.one_contact)
        must(fre_wire_derive_share_bits(&w->s.w, &l, NULL) == FRE_OK);
}

void share_all(world *w, uint32_t from, uint32_t to)
{
    const fre_list l = the_list(w);
    uint32_t count;

    for (uint32_t i = from; i < to; i++) {
        if (fre_list_find(&l, &w->who[i].tag, &count))
            contribute(w, &w->who[i], FRE_WIRE_SHARE, count);
        else
            null_share(w);
    }
}

void sum_and_release(world *w, bool lose)
{
    const int64_t now = w->s.w.c.shares_close + 5;

    if (!w->s.w.c.one_contact)
        flush(w, FRE_WIRE_SHARE, 2, now);
    pump_syn(w, now, lose);
}
