/* collection_plan.c - a collection's terms from a plan, and the plan behind terms. */
#include "wire_private.h"

#include <math.h>

static bool copy_url(char to[FRE_COLLECTION_URL_MAX + 1], const char *from)
{
    size_t n = from ? strnlen(from, FRE_COLLECTION_URL_MAX + 1) : 0;

    if (n == 0 || n > FRE_COLLECTION_URL_MAX)
        return false;
    memcpy(to, from, n); /* the rest is zero already */
    return true;
}

static void copy_plan(fre_collection *c, const fre_plan *p)
{
    const fre_mechanism *m = &p->mechanism;

    c->dim = m->dim;
    c->sketch = m->sketch;
    c->p32 = m->p32;
    c->threshold = p->request.threshold;
    c->tau = m->tau;
    c->sigma = m->sigma;
    c->split = p->account.split;
    c->norm_bound = m->norm_bound;
    /* Padding of the plan is a multiple already; one that was given goes up. */
    c->lambda16 = (uint64_t)ceil(fmin(m->dist.lambda, 1e6) * (double)FRE_TSDLAP_ONE);
    c->gamma = m->dist.gamma;
    c->users = p->request.population;
    c->curious = m->dist.curious;
    c->dropout = m->dist.dropout;
    c->cover = m->dist.cover;
    c->one_contact = m->dist.one_contact;
    c->server_noise = m->dist.server_noise;
    c->splits = m->dist.splits;
    c->adjacency = m->adjacency;
    c->sensitivity = m->sensitivity;
    c->cells_per_user = m->cells_per_user;
    c->epsilon = p->request.epsilon;
    c->delta = p->request.delta;
    c->phi = m->dist.phi;
}

static void copy_keys(fre_collection *c, const fre_collection_parts *parts)
{
    c->aead = parts->aead;
    c->oprf_pk = parts->oprf_pk;
    c->issuer_pk = parts->issuer_pk;
    c->tag_seal = parts->tag_seal;
    c->syn_seal = parts->syn_seal;
    c->issuer_seal = parts->issuer_seal;
    c->tag_sign = parts->tag_sign;
    c->syn_sign = parts->syn_sign;
    c->relay_sign = parts->relay_sign;
    c->issuer_sign = parts->issuer_sign;
    memcpy(c->relay_pin, parts->relay_pin, sizeof c->relay_pin);
    memcpy(c->tag_pin, parts->tag_pin, sizeof c->tag_pin);
    memcpy(c->syn_pin, parts->syn_pin, sizeof c->syn_pin);
    memcpy(c->issuer_pin, parts->issuer_pin, sizeof c->issuer_pin);
}

fre_status fre_collection_from_plan(fre_collection *out, const fre_plan *p,
                                    const fre_collection_parts *parts, fre_err *err)
{
    fre_collection c;
    fre_status st;

    if (!out || !p || !parts)
        return FRE_E_ARG;
    if (!p->mechanism.dist.on || p->mechanism.noise != FRE_NOISE_DISCRETE ||
        !isfinite(p->request.epsilon))
        return fre_fail(err, FRE_E_USAGE,
                        "a collection needs a plan with {distributed}, discrete noise and a finite "
                        "{epsilon}");
    if (p->mechanism.sketch.kind == FRE_SKETCH_CODEBOOK && !fre_sketch_file(&p->mechanism.sketch))
        return fre_fail(err, FRE_E_USAGE,
                        "a collection needs a plan whose {levels} are those of a codebook's file");
    memset(&c, 0, sizeof c);
    copy_plan(&c, p);
    memcpy(c.embedder, parts->embedder, sizeof c.embedder);
    memcpy(c.contribution, parts->contribution, sizeof c.contribution);
    fre_collection_draw(&c);
    c.batch_min = parts->batch_min;
    copy_keys(&c, parts);
    if (!copy_url(c.relay_url, parts->relay_url) || !copy_url(c.tag_url, parts->tag_url) ||
        !copy_url(c.syn_url, parts->syn_url) || !copy_url(c.issuer_url, parts->issuer_url))
        return fre_fail(err, FRE_E_DATA,
                        "collection: each of the four addresses must have 1 to 255 bytes");
    c.open = parts->open;
    c.exchange_close = parts->exchange_close;
    c.tags_close = parts->tags_close;
    c.shares_close = parts->shares_close;
    c.end = parts->end;
    st = fre_collection_check(NULL, &c, err);
    if (st == FRE_OK)
        memcpy(out, &c, sizeof c);
    return st;
}

static fre_plan_request request_of(const fre_collection *c, const fre_mechanism *m)
{
    const bool grid = c->sketch.kind == FRE_SKETCH_GRID;
    fre_plan_request r;

    fre_plan_request_init(&r);
    r.epsilon = c->epsilon;
    r.delta = c->delta;
    r.threshold = c->threshold;
    r.population = c->users;
    r.adjacency = c->adjacency;
    r.sensitivity = c->sensitivity;
    r.norm_bound = c->norm_bound;
    r.dim = c->dim;
    r.cells_per_user = c->cells_per_user;
    r.noise = FRE_NOISE_DISCRETE;
    r.dist = m->dist;
    if (grid) {
        r.proj = c->sketch.grid.proj;
        r.cell_edge = c->sketch.grid.cell_edge;
        r.radius = r.cell_edge * sqrt((double)r.proj) / 2;
        return r;
    }
    r.no_grid = true;
    r.n_levels = 1;
    r.level[0] = (fre_level_request){.sketch = c->sketch, .counts = FRE_COUNTS_SAMPLED};
    (void)snprintf(r.level[0].name, sizeof r.level[0].name, "%llu",
                   (unsigned long long)c->sketch.codebook.cells);
    return r;
}

fre_status fre_collection_plan(fre_plan *out, const fre_collection *c, fre_err *err)
{
    fre_plan_request r;
    fre_mechanism m;
    fre_account a;
    fre_status st;

    if (!out || !c)
        return FRE_E_ARG;
    st = fre_collection_check(&a, c, err);
    if (st != FRE_OK)
        return st;
    fre_collection_mechanism(&m, c);
    r = request_of(c, &m);
    fre_plan_from_mechanism(out, &r, &m, &a);
    return FRE_OK;
}

fre_status fre_collection_statement(fre_buf *out, const fre_collection *c, fre_err *err)
{
    fre_plan p;
    fre_status st = out ? fre_collection_plan(&p, c, err) : FRE_E_ARG;

    return st == FRE_OK ? fre_plan_statement(out, &p, true) : st;
}
