/* simulate/world.c - the plan, the collection's terms, everybody's keys, the four machines. */
#include "simulate_private.h"

/* Simulated Unix seconds; the collection takes three days. */
#define OPEN INT64_C(2000000000)
#define DAY INT64_C(86400)

fre_status simulate_stream(const simulate_run *s, fre_rng *r, const char *label, uint64_t index)
{
    char name[64];

    (void)snprintf(name, sizeof name, "simulate/%s/%llu", label, (unsigned long long)index);
    return fre_rng_init_seeded(r, s->master, name);
}

bool simulate_chance(fre_rng *r, double rate)
{
    return rate > 0 && fre_aggregate_coin(r, fre_p32(rate));
}

fre_status simulate_world_plan(simulate_run *s, fre_err *err)
{
    fre_plan_request q = s->opts->plan;

    q.dim = s->population.dim;
    q.dist.on = true;
    q.noise = FRE_NOISE_DISCRETE;
    return fre_plan_make(&s->out->plan, &q, err);
}

/* Terms name an issuer, whom these machines do not ask: keys that nobody holds. */
static fre_status draw_issuer(fre_collection_parts *parts, fre_rng *r)
{
    fre_oprf_key oprf;
    fre_hpke_keypair seal;
    fre_sign_sk sign;
    fre_status st = fre_oprf_key_generate(&oprf, r);

    if (st != FRE_OK)
        return st;
    parts->issuer_pk = oprf.pub;
    fre_oprf_key_wipe(&oprf);
    if ((st = fre_hpke_keygen(&seal, r)) != FRE_OK)
        return st;
    parts->issuer_seal = seal.pk;
    fre_hpke_keypair_wipe(&seal);
    st = fre_sign_keygen(&sign, &parts->issuer_sign, r);
    fre_sign_sk_wipe(&sign);
    return st;
}

static fre_status draw_keys(simulate_run *s, fre_collection_parts *parts, fre_oprf_key *oprf)
{
    fre_rng r;
    fre_status st = simulate_stream(s, &r, "keys", 0);

    if (st != FRE_OK)
        return st;
    fre_rng_bytes(&r, parts->contribution, sizeof parts->contribution);
    if ((st = fre_oprf_key_generate(oprf, &r)) != FRE_OK ||
        (st = fre_hpke_keygen(&s->tag_keys.seal, &r)) != FRE_OK ||
        (st = fre_hpke_keygen(&s->syn_keys.seal, &r)) != FRE_OK ||
        (st = fre_sign_keygen(&s->tag_keys.sign, &parts->tag_sign, &r)) != FRE_OK ||
        (st = fre_sign_keygen(&s->syn_keys.sign, &parts->syn_sign, &r)) != FRE_OK)
        goto out;
    st = fre_sign_keygen(&s->relay_key, &parts->relay_sign, &r);
    if (st == FRE_OK)
        st = draw_issuer(parts, &r);
out:
    fre_rng_wipe(&r);
    parts->oprf_pk = oprf->pub;
    parts->tag_seal = s->tag_keys.seal.pk;
    parts->syn_seal = s->syn_keys.seal.pk;
    return st;
}

static fre_status make_terms(simulate_run *s, fre_oprf_key *oprf, fre_err *err)
{
    fre_collection_parts parts = {.aead = FRE_HPKE_AES_128_GCM,
                                  .batch_min = 1, /* the relay's is asked for */
                                  .relay_url = "http://localhost",
                                  .tag_url = "http://localhost",
                                  .syn_url = "http://localhost",
                                  .issuer_url = "http://localhost",
                                  .open = OPEN,
                                  .exchange_close = OPEN + DAY - 1,
                                  .tags_close = OPEN + DAY,
                                  .shares_close = OPEN + 2 * DAY,
                                  .end = OPEN + 3 * DAY};
    fre_status st = draw_keys(s, &parts, oprf);

    if (st != FRE_OK)
        return fre_fail(err, st, "the keys cannot be drawn: %s", fre_status_text(st));
    if (s->out->plan.mechanism.dist.one_contact)
        parts.shares_close = parts.tags_close;
    if (!fre_unhex(parts.embedder, sizeof parts.embedder, s->population.embedder.sha256))
        memset(parts.embedder, 0, sizeof parts.embedder);
    st = fre_collection_from_plan(&s->collection, &s->out->plan, &parts, err);
    if (st == FRE_OK)
        st = fre_wire_init(&s->wire, &s->collection, err);
    if (st == FRE_OK)
        st = fre_terms_new(&s->terms, &s->collection, err);
    if (st == FRE_OK) {
        s->out->id = s->wire.id;
        s->wire = *fre_terms_view(s->terms);
        s->now = s->collection.open;
    }
    return st;
}

static fre_status make_machines(simulate_run *s, fre_oprf_key *oprf, fre_err *err)
{
    const fre_relay_opts ro = {.batch_min = s->opts->batch_min, .part_max = 0};
    const char *statement = s->out->release.statement;
    const fre_bytes text = {(const uint8_t *)statement, strlen(statement)};
    fre_rng r;
    fre_status st = simulate_stream(s, &r, "servers", 0);

    if (st != FRE_OK)
        return st;
    st = fre_tagging_new(&s->tagging, &s->collection, &s->tag_keys, oprf, &r, err);
    if (st == FRE_OK)
        st = fre_synthesis_new(&s->synthesis, &s->collection, &s->syn_keys, text, &r, err);
    if (st == FRE_OK)
        st = fre_relay_new(&s->relay, &s->collection, &ro, &s->relay_key, &r, err);
    fre_rng_wipe(&r);
    return st;
}

fre_status simulate_world_open(simulate_run *s, fre_err *err)
{
    fre_oprf_key oprf;
    fre_status st;

    memset(&oprf, 0, sizeof oprf);
    st = make_terms(s, &oprf, err);
    if (st != FRE_OK)
        goto out;
    fre_release_set_plan(&s->out->release, &s->out->plan, s->collection.grid_seed);
    if (s->opts->compare && (st = simulate_exact_init(s, &oprf, err)) != FRE_OK)
        goto out;
    st = make_machines(s, &oprf, err);
    if (st == FRE_OK)
        st = simulate_stream(s, &s->network, "links", 0);
out:
    fre_oprf_key_wipe(&oprf);
    s->host.noise = s->opts->noise;
    return st;
}

void simulate_world_close(simulate_run *s)
{
    fre_relay_free(s->relay);
    fre_synthesis_free(s->synthesis);
    fre_tagging_free(s->tagging);
    fre_terms_free(s->terms);
    fre_hpke_keypair_wipe(&s->tag_keys.seal);
    fre_sign_sk_wipe(&s->tag_keys.sign);
    fre_hpke_keypair_wipe(&s->syn_keys.seal);
    fre_sign_sk_wipe(&s->syn_keys.sign);
    fre_sign_sk_wipe(&s->relay_key);
    fre_rng_wipe(&s->network);
    fre_wipe(s->master, sizeof s->master);
}
