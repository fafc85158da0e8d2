/* collection_rules.c - what a collection's fields may be. */
#include "wire_private.h"

#include <math.h>

typedef struct rule {
    bool ok;
    const char *field;
    const char *must;
} rule;

static fre_status apply(const rule *r, size_t n, fre_err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!r[i].ok)
            return fre_fail(err, FRE_E_DATA, "collection: %s must be %s", r[i].field, r[i].must);
    }
    return FRE_OK;
}

#define APPLY(rules, err) apply(rules, sizeof(rules) / sizeof(rules)[0], err)

/* One encoding each: no negative zero. */
static bool is_share(double x)
{
    return x >= 0 && x < 1 && !signbit(x);
}

static bool is_length(double x)
{
    return x > 0 && x <= 1e12;
}

static fre_status check_cells(const fre_collection *c, fre_err *err)
{
    const rule rules[] = {
        {c->dim >= 1 && c->dim <= FRE_COLLECTION_DIM_MAX, "dim", "in 1..8192"},
        {memcmp(c->grid_seed, c->sign_seed, sizeof c->grid_seed) != 0, "sign_seed",
         "drawn by itself, not a copy of grid_seed"},
        {c->proj >= 1 && c->proj <= FRE_PRIVACY_K_MAX, "proj", "in 1..64"},
        {is_length(c->cell_edge), "cell_edge", "above 0 and at most 1e12"},
        {c->p32 >= 1 && c->p32 <= FRE_P_ONE, "p32", "in 1..2^32"},
        {c->threshold >= 1 && c->threshold <= FRE_PRIVACY_POPULATION_MAX, "threshold",
         "in 1..10^12"},
    };
    fre_status st = APPLY(rules, err);

    if (st != FRE_OK)
        return st;
    if (c->tau != fre_tau(c->p32, c->threshold))
        return fre_fail(err, FRE_E_DATA,
                        "collection: tau must be the threshold times the sampling rate, rounded "
                        "up: %llu",
                        (unsigned long long)fre_tau(c->p32, c->threshold));
    if (c->tau < 2)
        return fre_fail(err, FRE_E_DATA, "collection: tau must be at least 2");
    return FRE_OK;
}

static fre_status check_privacy(const fre_collection *c, fre_err *err)
{
    bool worst = c->sensitivity == FRE_SENSITIVITY_WORST_CASE;
    const rule rules[] = {
        {is_length(c->sigma), "sigma", "above 0 and at most 1e12"},
        {is_length(c->split), "split", "above 0 and at most 1e12"},
        {is_length(c->norm_bound), "norm_bound", "above 0 and at most 1e12"},
        {!worst || (c->split >= 2 * c->norm_bound && c->split <= 2 * c->norm_bound), "split",
         "2 norm_bound with worst-case sensitivity"},
        {c->lambda16 >= 1 && c->lambda16 <= FRE_P_ONE, "lambda16", "in 1..2^32"},
        {c->gamma <= FRE_TSDLAP_GAMMA_MAX, "gamma", "at most 2^24"},
        {c->curious < c->tau, "curious", "below tau"},
        {is_share(c->dropout), "dropout", "from 0 and below 1"},
        {!c->one_contact || !(c->dropout > 0), "dropout", "0 in a one-shot collection"},
        {c->adjacency == FRE_ADJACENCY_ADD_REMOVE || c->adjacency == FRE_ADJACENCY_REPLACE,
         "adjacency", "add-remove or replace"},
        {worst || c->sensitivity == FRE_SENSITIVITY_PROBABILISTIC, "sensitivity",
         "probabilistic or worst-case"},
        {c->epsilon > 0 && c->epsilon <= FRE_PRIVACY_EPSILON_MAX, "epsilon",
         "above 0 and at most 50"},
        {c->delta > 0 && c->delta < 1, "delta", "above 0 and below 1"},
        {is_share(c->phi), "phi", "from 0 and below 1"},
    };

    return APPLY(rules, err);
}

static fre_status check_users(const fre_collection *c, fre_err *err)
{
    const rule rules[] = {
        {c->cells_per_user >= 1 && c->cells_per_user <= FRE_COLLECTION_CELLS_MAX, "cells_per_user",
         "in 1..64"},
        {c->users >= 1 && c->users <= FRE_COLLECTION_RECORDS_MAX, "users", "in 1..2^32-1"},
    };
    fre_status st = APPLY(rules, err);
    fre_mechanism m;

    if (st != FRE_OK)
        return st;
    if (c->users * c->cells_per_user > FRE_COLLECTION_RECORDS_MAX)
        return fre_fail(err, FRE_E_DATA,
                        "collection: users times cells_per_user must be below 2^32");
    fre_collection_mechanism(&m, c);
    if (!(fre_sigma_local(&m, m.tau) > 0))
        return fre_fail(err, FRE_E_DATA,
                        "collection: of tau answers none would be left to carry noise: curious or "
                        "dropout must be lower");
    return FRE_OK;
}

/* ---- keys -------------------------------------------------------------------------------------- */

static bool is_zero(const uint8_t b[32])
{
    static const uint8_t zero[32];

    return memcmp(b, zero, sizeof zero) == 0;
}

static fre_status check_keys(const fre_collection *c, fre_err *err)
{
    const uint8_t *keys[] = {c->oprf_pk.b,  c->tag_seal.b, c->syn_seal.b,
                             c->tag_sign.b, c->syn_sign.b, c->relay_sign.b};
    static const char *const names[] = {"oprf_pk",  "tag_seal", "syn_seal",
                                        "tag_sign", "syn_sign", "relay_sign"};
    fre_oprf_public pk;

    if (c->aead != FRE_HPKE_AES_128_GCM && c->aead != FRE_HPKE_CHACHA20_POLY1305)
        return fre_fail(err, FRE_E_DATA,
                        "collection: aead must be aes-128-gcm or chacha20-poly1305");
    if (fre_oprf_public_decode(&pk, wire_view(c->oprf_pk.b, sizeof c->oprf_pk.b)) != FRE_OK)
        return fre_fail(err, FRE_E_DATA,
                        "collection: oprf_pk must be a ristretto255 element other than the "
                        "identity");
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (is_zero(keys[i]))
            return fre_fail(err, FRE_E_DATA, "collection: %s must be a key, not zeros", names[i]);
        /* One party with both seal keys could open what is split between two. */
        for (size_t j = 0; j < i; j++) {
            if (memcmp(keys[i], keys[j], 32) == 0)
                return fre_fail(err, FRE_E_DATA, "collection: %s must differ from %s", names[i],
                                names[j]);
        }
    }
    return FRE_OK;
}

/* ---- addresses --------------------------------------------------------------------------------- */

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* :port, or nothing; leaves *s behind it. */
static bool read_port(const char **s)
{
    unsigned port = 0;
    const char *p = *s;

    if (*p != ':')
        return true;
    for (p++; *p >= '0' && *p <= '9' && port <= UINT16_MAX; p++)
        port = 10 * port + (unsigned)(*p - '0');
    if (port < 1 || port > UINT16_MAX || (*s)[1] == '0')
        return false;
    *s = p;
    return true;
}

/* A name or IPv4 address, or an IPv6 address in brackets. */
static bool read_host(const char **s)
{
    const char *p = *s;

    if (*p == '[') {
        for (p++; is_alnum(*p) || *p == ':' || *p == '.'; p++)
            ;
        if (*p != ']' || p - *s < 3)
            return false;
        *s = p + 1;
        return true;
    }
    for (; is_alnum(*p) || *p == '-' || *p == '.'; p++)
        ;
    if (p == *s)
        return false;
    *s = p;
    return true;
}

/* http(s)://host[:port][/path]: no user, query or fragment, nothing but visible ASCII. */
static bool is_url(const char *s)
{
    if (strncmp(s, "https://", 8) == 0)
        s += 8;
    else if (strncmp(s, "http://", 7) == 0)
        s += 7;
    else
        return false;
    if (!read_host(&s) || !read_port(&s))
        return false;
    if (*s == '\0')
        return true;
    if (*s != '/')
        return false;
    for (; *s; s++) {
        if (!is_alnum(*s) && !strchr("-._~!$&'()*+,;=:@%/", *s))
            return false;
    }
    return true;
}

static fre_status check_urls(const fre_collection *c, fre_err *err)
{
    const char *urls[] = {c->relay_url, c->tag_url, c->syn_url};
    static const char *const names[] = {"relay_url", "tag_url", "syn_url"};

    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        if (strnlen(urls[i], FRE_COLLECTION_URL_MAX + 1) > FRE_COLLECTION_URL_MAX ||
            !is_url(urls[i]))
            return fre_fail(err, FRE_E_DATA,
                            "collection: %s must be http(s)://host[:port][/path] of at most 255 "
                            "bytes",
                            names[i]);
    }
    return FRE_OK;
}

static fre_status check_times(const fre_collection *c, fre_err *err)
{
    const rule rules[] = {
        {c->open >= 1 && c->open <= FRE_COLLECTION_TIME_MAX, "open",
         "a time in seconds since 1970"},
        {c->tags_close > c->open, "tags_close", "after open"},
        {c->one_contact || c->shares_close > c->tags_close, "shares_close", "after tags_close"},
        {!c->one_contact || c->shares_close == c->tags_close, "shares_close",
         "tags_close in a one-shot collection"},
        {c->end > c->shares_close && c->end <= FRE_COLLECTION_TIME_MAX, "end",
         "after shares_close, and before the year 10000"},
    };

    return APPLY(rules, err);
}

fre_status fre_collection_validate(const fre_collection *c, fre_err *err)
{
    static fre_status (*const checks[])(const fre_collection *, fre_err *) = {
        check_cells, check_privacy, check_users, check_keys, check_urls, check_times};

    if (!c)
        return FRE_E_ARG;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        fre_status st = checks[i](c, err);

        if (st != FRE_OK)
            return st;
    }
    return FRE_OK;
}

/* ---- the mechanism ----------------------------------------------------------------------------- */

void fre_collection_mechanism(fre_mechanism *out, const fre_collection *c)
{
    *out = (fre_mechanism){
        .p32 = c->p32,
        .tau = c->tau,
        .sigma = c->sigma,
        .population = c->users * c->cells_per_user,
        .sketch.grid.proj = c->proj,
        .sketch.grid.cell_edge = c->cell_edge,
        .adjacency = c->adjacency,
        .sensitivity = c->sensitivity,
        .norm_bound = c->norm_bound,
        .dim = c->dim,
        .lattice_step = 0, /* the protocol's rule */
        .cells_per_user = c->cells_per_user,
        .noise = FRE_NOISE_DISCRETE,
        .dist = {.on = true,
                 .cover = c->cover,
                 .one_contact = c->one_contact,
                 .curious = c->curious,
                 .dropout = c->dropout,
                 .lambda = (double)c->lambda16 / (double)FRE_TSDLAP_ONE,
                 .gamma = c->gamma,
                 .phi = c->phi},
    };
}

fre_status fre_collection_check(fre_account *out, const fre_collection *c, fre_err *err)
{
    fre_mechanism m;
    fre_account a;
    char epsilon[FRE_DIGITS_BYTES], delta[FRE_DIGITS_BYTES], claim[FRE_DIGITS_BYTES];
    fre_share_cell cell;
    fre_err why = {.text = ""};
    fre_status st;

    if (!c)
        return FRE_E_ARG;
    if ((st = fre_collection_validate(c, err)) != FRE_OK)
        return st;
    fre_collection_mechanism(&m, c);
    st = fre_joint_delta_at_split(&a, &m, c->epsilon, c->split, &why);
    if (st != FRE_OK)
        return fre_fail(err, FRE_E_REFUSED, "collection: do not take part, no delta is enough: %s",
                        why.text);
    if (!(a.delta <= c->delta))
        return fre_fail(err, FRE_E_REFUSED,
                        "collection: at epsilon %s it keeps delta %s, not the %s that it claims: "
                        "do not take part",
                        fre_digits_down(epsilon, 6, c->epsilon), fre_digits_up(delta, 6, a.delta),
                        fre_digits_down(claim, 6, c->delta));
    /* A claim that nobody can make shares for is none either. */
    if (fre_share_cell_init(&cell, &m, c->split, c->tau, FRE_SHARING_BITS_MAX, &why) != FRE_OK)
        return fre_fail(err, FRE_E_REFUSED, "collection: no share can be made: %s", why.text);
    if (out)
        *out = a;
    return FRE_OK;
}

void fre_collection_ohttp_config(fre_ohttp_config *out, const fre_collection *c)
{
    *out = (fre_ohttp_config){
        .pk = c->tag_seal, .id = FRE_COLLECTION_OHTTP_KEY_ID, .aeads = 1, .aead = {c->aead}};
}

/* ---- from a plan ------------------------------------------------------------------------------- */

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
    c->proj = m->sketch.grid.proj;
    c->cell_edge = m->sketch.grid.cell_edge;
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
    c->adjacency = m->adjacency;
    c->sensitivity = m->sensitivity;
    c->cells_per_user = m->cells_per_user;
    c->epsilon = p->request.epsilon;
    c->delta = p->request.delta;
    c->phi = m->dist.phi;
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
    memset(&c, 0, sizeof c);
    copy_plan(&c, p);
    memcpy(c.embedder, parts->embedder, sizeof c.embedder);
    memcpy(c.grid_seed, parts->grid_seed, sizeof c.grid_seed);
    memcpy(c.sign_seed, parts->sign_seed, sizeof c.sign_seed);
    c.aead = parts->aead;
    c.oprf_pk = parts->oprf_pk;
    c.tag_seal = parts->tag_seal;
    c.syn_seal = parts->syn_seal;
    c.tag_sign = parts->tag_sign;
    c.syn_sign = parts->syn_sign;
    c.relay_sign = parts->relay_sign;
    if (!copy_url(c.relay_url, parts->relay_url) || !copy_url(c.tag_url, parts->tag_url) ||
        !copy_url(c.syn_url, parts->syn_url))
        return fre_fail(err, FRE_E_DATA,
                        "collection: each of the three addresses must have 1 to 255 bytes");
    c.open = parts->open;
    c.tags_close = parts->tags_close;
    c.shares_close = parts->shares_close;
    c.end = parts->end;
    st = fre_collection_check(NULL, &c, err);
    if (st == FRE_OK)
        memcpy(out, &c, sizeof c);
    return st;
}
