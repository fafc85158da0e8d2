/* simulate/world.c - the plan, the collection's terms, everybody's keys, the servers' machines. */
#include "simulate_private.h"

/* Simulated Unix seconds: a day for exchanges, another for entries, with two contacts one for answers. */
#define OPEN INT64_C(2000000000)
#define DAY INT64_C(86400)

fre_status simulate_world_plan(simulate_run *s, fre_err *err)
{
    fre_plan_request q = s->opts->plan;
    fre_status st;

    q.dim = s->population.dim;
    q.dist.on = true;
    q.noise = FRE_NOISE_DISCRETE;
    st = simulate_check_codebook(s, err);
    if (s->cells)
        q.level[0].sketch = *fre_sketch_spec_view(s->cells);
    return st == FRE_OK ? fre_plan_make(&s->out->plan, &q, err) : st;
}

typedef struct oprf_keys {
    fre_oprf_key tag, issuer;
} oprf_keys;

static fre_status draw_keys(simulate_run *s, fre_collection_parts *parts, oprf_keys *oprf)
{
    fre_sign_pk *const sign[] = {[FRE_ROLE_TAG] = &parts->tag_sign,
                                 [FRE_ROLE_SYN] = &parts->syn_sign,
                                 [FRE_ROLE_RELAY] = &parts->relay_sign,
                                 [FRE_ROLE_ISSUER] = &parts->issuer_sign};
    fre_rng r;
    fre_status st = simulate_stream(s, &r, "keys", 0);

    if (st != FRE_OK)
        return st;
    fre_rng_bytes(&r, parts->contribution, sizeof parts->contribution);
    st = fre_oprf_key_generate(&oprf->tag, &r);
    if (st == FRE_OK)
        st = fre_oprf_key_generate(&oprf->issuer, &r);
    for (unsigned role = FRE_ROLE_TAG; st == FRE_OK && role <= FRE_ROLE_ISSUER; role++) {
        st = fre_hpke_keygen(&s->keys[role].seal, &r);
        if (st == FRE_OK)
            st = fre_sign_keygen(&s->keys[role].sign, sign[role], &r);
    }
    fre_rng_wipe(&r);
    parts->oprf_pk = oprf->tag.pub;
    parts->issuer_pk = oprf->issuer.pub;
    parts->tag_seal = s->keys[FRE_ROLE_TAG].seal.pk;
    parts->syn_seal = s->keys[FRE_ROLE_SYN].seal.pk;
    parts->issuer_seal = s->keys[FRE_ROLE_ISSUER].seal.pk;
    return st;
}

/* What the machines draw, they draw from a seed of their own, if there is one. */
static fre_status agree(simulate_run *s, fre_err *err)
{
    const fre_simulate_opts *o = s->opts;
    uint8_t seed[FRE_SEED_BYTES];
    fre_rng r;
    fre_status st = fre_agreement_new(&s->agreement, &s->collection, err);

    if (st == FRE_OK && s->cells)
        st = fre_agreement_set_cells(s->agreement, s->cells, err);
    if (st != FRE_OK)
        return st;
    st = simulate_stream(s, &r, "machines", 0);
    if (st != FRE_OK)
        return st;
    fre_rng_bytes(&r, seed, sizeof seed);
    fre_rng_wipe(&r);
    fre_agreement_rehearse(s->agreement, o->seeded ? seed : NULL, o->exact);
    fre_wipe(seed, sizeof seed);
    s->wire = *fre_agreement_wire(s->agreement);
    s->out->id = s->wire.id;
    s->out->share_bits = s->wire.share_bits;
    s->now = s->collection.open;
    return FRE_OK;
}

static fre_status make_terms(simulate_run *s, oprf_keys *oprf, fre_err *err)
{
    const bool one = s->out->plan.mechanism.dist.one_contact;
    fre_collection_parts parts = {.aead = FRE_HPKE_AES_128_GCM,
                                  .batch_min = s->opts->batch_min,
                                  .relay_url = "http://localhost",
                                  .tag_url = "http://localhost",
                                  .syn_url = "http://localhost",
                                  .issuer_url = "http://localhost",
                                  .open = OPEN,
                                  .exchange_close = OPEN + DAY,
                                  .tags_close = OPEN + 2 * DAY,
                                  .shares_close = OPEN + (one ? 2 : 3) * DAY,
                                  .end = OPEN + 4 * DAY};
    fre_status st = draw_keys(s, &parts, oprf);

    if (st != FRE_OK)
        return fre_fail(err, st, "the keys cannot be drawn: %s", fre_status_text(st));
    if (!fre_unhex(parts.embedder, sizeof parts.embedder, s->population.embedder.sha256))
        memset(parts.embedder, 0, sizeof parts.embedder);
    st = fre_collection_from_plan(&s->collection, &s->out->plan, &parts, err);
    return st == FRE_OK ? agree(s, err) : st;
}

/* Everybody who is simulated has an account; credentials are a client's number. */
static fre_status who_is(void *ctx, uint8_t name[32], fre_bytes credentials)
{
    (void)ctx;
    if (credentials.n != sizeof(uint64_t))
        return FRE_E_REFUSED;
    memset(name, 0, 32);
    memcpy(name, credentials.p, credentials.n);
    return FRE_OK;
}

static fre_status make_machines(simulate_run *s, oprf_keys *oprf, fre_err *err)
{
    const fre_issuer_host host = {.person = who_is};
    const char *statement = s->out->release.statement;
    const fre_bytes text = {(const uint8_t *)statement, strlen(statement)};
    const fre_agreement *a = s->agreement;
    fre_status st =
        fre_server_new_relay(&s->server[FRE_ROLE_RELAY], a, &s->keys[FRE_ROLE_RELAY].sign, err);

    if (st == FRE_OK)
        st = fre_server_new_issuer(&s->server[FRE_ROLE_ISSUER], a, &s->keys[FRE_ROLE_ISSUER],
                                   &oprf->issuer, &host, err);
    if (st == FRE_OK)
        st = fre_server_new_tagging(&s->server[FRE_ROLE_TAG], a, &s->keys[FRE_ROLE_TAG], &oprf->tag,
                                    err);
    return st == FRE_OK ? fre_server_new_synthesis(&s->server[FRE_ROLE_SYN], a,
                                                   &s->keys[FRE_ROLE_SYN], text, err)
                        : st;
}

static fre_status open_here(simulate_run *s, fre_err *err)
{
    oprf_keys oprf;
    fre_status st;

    memset(&oprf, 0, sizeof oprf);
    st = make_terms(s, &oprf, err);
    if (st == FRE_OK && s->opts->compare)
        st = simulate_exact_init(s, &oprf.tag, err);
    if (st == FRE_OK)
        st = make_machines(s, &oprf, err);
    fre_oprf_key_wipe(&oprf.tag);
    fre_oprf_key_wipe(&oprf.issuer);
    return st;
}

static fre_status open_remote(simulate_run *s, fre_err *err)
{
    const fre_status st = simulate_remote_open(s, err);

    return st == FRE_OK ? agree(s, err) : st;
}

fre_status simulate_world_open(simulate_run *s, fre_err *err)
{
    const fre_status st = s->opts->transport ? open_remote(s, err) : open_here(s, err);

    if (st == FRE_OK)
        fre_release_set_plan(&s->out->release, &s->out->plan, s->collection.grid_seed);
    return st;
}

void simulate_world_close(simulate_run *s)
{
    for (unsigned role = 0; role <= FRE_ROLE_ISSUER; role++)
        fre_server_free(s->server[role]);
    fre_agreement_free(s->agreement);
    fre_wipe(s->keys, sizeof s->keys);
    fre_wipe(s->master, sizeof s->master);
}
