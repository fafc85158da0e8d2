/* server/keeper.c - a VOPRF key, in locked memory; and the answers that a machine gives with one, wherever it is. */
#include "keeper.h"

#include <sodium.h>

/* ---- in our own memory ------------------------------------------------------------------------------- */

typedef struct memory { /* locked */
    fre_keeper k;
    fre_wire w;
    fre_oprf_public pub;
    fre_oprf_key key; /* SECRET */
    bool here;
} memory;

static bool is_here(void *ctx)
{
    return ((const memory *)ctx)->here;
}

static fre_status evaluate(void *ctx, fre_oprf_element *evaluated, fre_oprf_proof *proof,
                           const fre_oprf_element *blinded, uint32_t n)
{
    const memory *m = ctx;
    fre_rng r;
    fre_status st;

    if (!m->here)
        return FRE_E_STATE;
    if (n != m->w.c.cells_per_user)
        return FRE_E_ARG;
    st = server_stream(&r, "server/proof", server_view(m->key.b, sizeof m->key.b),
                       server_view(blinded, n * sizeof *blinded));
    if (st == FRE_OK)
        st = fre_oprf_blind_evaluate(evaluated, proof, &m->key, blinded, n, &r);
    fre_rng_wipe(&r);
    return st;
}

static fre_status is_vouched(bool *right, const memory *m, const fre_tag *tag,
                             const fre_vouch_member *member)
{
    fre_oprf_output key;
    fre_vouching proof;
    fre_status st =
        fre_oprf_evaluate(&key, &m->key, server_view(member->id.b, sizeof member->id.b));

    if (st != FRE_OK)
        return st;
    fre_vouching_make(&proof, &m->w, &key, tag);
    *right = fre_secret_eq(proof.b, member->proof.b, sizeof proof.b);
    fre_oprf_output_wipe(&key);
    fre_wipe(&proof, sizeof proof);
    return FRE_OK;
}

static fre_status vouch(void *ctx, bool *right, const fre_tag *tag, const fre_vouch_member *member,
                        uint32_t n)
{
    const memory *m = ctx;
    fre_status st = m->here ? FRE_OK : FRE_E_STATE;

    for (uint32_t i = 0; st == FRE_OK && i < n; i++)
        st = is_vouched(&right[i], m, tag, &member[i]);
    return st;
}

static fre_status mask(void *ctx, uint8_t io[FRE_OPRF_SCALAR_BYTES])
{
    const memory *m = ctx;

    if (!m->here)
        return FRE_E_STATE;
    server_xor(io, io, m->key.b);
    return FRE_OK;
}

/* key: wiped on success. */
static fre_status take(memory *m, fre_oprf_key *key, fre_err *err)
{
    if (memcmp(key->pub.b, m->pub.b, sizeof m->pub.b) != 0)
        return fre_fail(err, FRE_E_KEY, "the VOPRF key is not the one that the collection names");
    m->key = *key;
    m->here = true;
    fre_oprf_key_wipe(key);
    return FRE_OK;
}

static fre_status unmask(void *ctx, const uint8_t masked[FRE_OPRF_SCALAR_BYTES],
                         const uint8_t mask_bytes[FRE_OPRF_SCALAR_BYTES])
{
    uint8_t b[FRE_OPRF_SCALAR_BYTES];
    fre_oprf_key key;
    fre_status st;

    if (((const memory *)ctx)->here)
        return FRE_OK;
    server_xor(b, masked, mask_bytes);
    st = fre_oprf_key_decode(&key, server_view(b, sizeof b));
    fre_wipe(b, sizeof b);
    if (st != FRE_OK)
        return st == FRE_E_DATA ? FRE_E_KEY : st;
    st = take(ctx, &key, NULL);
    fre_oprf_key_wipe(&key);
    return st;
}

static void wipe(void *ctx)
{
    memory *m = ctx;

    fre_oprf_key_wipe(&m->key);
    m->here = false;
}

fre_status fre_keeper_new(fre_keeper **out, const fre_wire *w, fre_role role, fre_oprf_key *key,
                          fre_err *err)
{
    memory *m;
    fre_status st = FRE_OK;

    if (!out || !w || !fre_collection_party(&w->c, role).oprf)
        return FRE_E_ARG;
    m = server_machine_new(sizeof *m);
    if (!m)
        return FRE_E_NOMEM;
    m->k = (fre_keeper){.ctx = m,
                        .here = is_here,
                        .evaluate = evaluate,
                        .vouch = vouch,
                        .mask = mask,
                        .unmask = unmask,
                        .wipe = wipe};
    m->w = *w;
    m->pub = *fre_collection_party(&w->c, role).oprf;
    if (key)
        st = take(m, key, err);
    if (st == FRE_OK)
        *out = &m->k;
    else
        server_machine_free(m);
    return st;
}

void fre_keeper_free(fre_keeper *k)
{
    server_machine_free(k ? k->ctx : NULL);
}

/* ---- a machine's -------------------------------------------------------------------------------------- */

fre_status server_key_take(server_key *k, const fre_wire *w, fre_role role, const fre_keeper *host,
                           fre_oprf_key *oprf, fre_err *err)
{
    fre_status st = FRE_OK;

    if (!host)
        st = fre_keeper_new(&k->own, w, role, oprf, err);
    k->at = host ? host : k->own;
    return st;
}

bool server_key_here(const server_key *k)
{
    return k->at && k->at->here(k->at->ctx);
}

void server_key_wipe(server_key *k)
{
    if (k->at)
        k->at->wipe(k->at->ctx);
}

void server_key_free(server_key *k)
{
    fre_keeper_free(k->own);
    *k = (server_key){.at = NULL};
}

fre_status server_key_due(const server_key *k, fre_server *x, fre_reply *out, bool *due)
{
    fre_rejection why = server_exchange_rejected(x);

    if (why == FRE_ACCEPTED && x->phase > FRE_PHASE_TAKING)
        why = FRE_REJECTED_EXPIRED;
    if (why == FRE_ACCEPTED && !server_key_here(k))
        why = FRE_REJECTED_UNAVAILABLE;
    *due = why == FRE_ACCEPTED;
    return *due ? server_move(x, &out->rows, FRE_PHASE_TAKING) : server_reject(x, out, why);
}

static fre_status encode_answer(fre_buf *out, const server_key *k, const fre_wire *w,
                                fre_wire_type ask, const fre_oprf_element *blinded)
{
    fre_oprf_element evaluated[FRE_COLLECTION_CELLS_MAX];
    fre_oprf_proof proof;
    fre_status st = k->at->evaluate(k->at->ctx, evaluated, &proof, blinded, w->c.cells_per_user);

    if (st != FRE_OK)
        return st;
    return ask == FRE_WIRE_ISSUE_REQUEST ? fre_issue_response_encode(out, w, evaluated, &proof)
                                         : fre_tag_response_encode(out, w, evaluated, &proof);
}

fre_status server_key_answer(fre_buf *out, const server_key *k, const fre_wire *w,
                             const server_asked *q)
{
    fre_buf message;
    fre_rng r;
    fre_status st = server_stream(&r, "server/answer",
                                  server_view(q->seal->sk.b, sizeof q->seal->sk.b), q->request);

    if (st != FRE_OK)
        return st;
    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    st = encode_answer(&message, k, w, q->ask, q->blinded);
    if (st == FRE_OK)
        st = fre_exchange_answer(q->exchange, out, w, server_buf_view(&message), &r);
    fre_buf_wipe(&message);
    fre_rng_wipe(&r);
    return st;
}
