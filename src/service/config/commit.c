/* commit.c - commitments first, contributions then, and terms of both. */
#include "config_private.h"

const fre_param fre_config_param_batch_min = {.name = "batch_min",
                                              .unit = "entries",
                                              .lowest = 1,
                                              .highest = (double)FRE_COLLECTION_RECORDS_MAX,
                                              .whole = true,
                                              FRE_PARAM_PRESET(100)};

/* ---- commit, then reveal ----------------------------------------------------------------------- */

/* Notes what was shown, the first time; afterwards it has to be the same. */
static fre_status note(config_secret *s, const char *path, const fre_half *const *by, fre_err *err)
{
    bool same = true;

    for (size_t i = 0; s->committed && i < FRE_CONTRIBUTORS; i++)
        same = same && memcmp(s->commitment[i], by[i]->commitment, FRE_HASH_BYTES) == 0;
    if (!same)
        return fre_fail(err, FRE_E_REFUSED,
                        "'%.200s' has committed to other halves: whoever sees the contributions of "
                        "one set may choose its own in the next; all four make new keys",
                        path);
    if (s->committed)
        return FRE_OK;
    for (size_t i = 0; i < FRE_CONTRIBUTORS; i++)
        memcpy(s->commitment[i], by[i]->commitment, FRE_HASH_BYTES);
    s->committed = true;
    return config_secret_write(s, path, true, err);
}

static fre_status commit(fre_buf *out, config_secret *s, const char *path,
                         const fre_half *const *by, fre_err *err)
{
    fre_reveal r = {.role = s->half.role, .sign = s->half.sign};
    fre_status st;

    if (!config_same_half(&s->half, by[fre_role_contributor(s->half.role)]))
        return fre_fail(err, FRE_E_REFUSED,
                        "the half of the role %s is not that of '%.200s': give its own",
                        fre_role_name(s->half.role), path);
    st = note(s, path, by, err);
    if (st != FRE_OK)
        return st;
    memcpy(r.contribution, s->contribution, sizeof r.contribution);
    memcpy(r.commitment, s->commitment, sizeof r.commitment);
    return config_reveal_put(out, &r, &s->sign);
}

fre_status fre_keys_commit(fre_buf *out, const char *secret, const fre_half half[FRE_CONTRIBUTORS],
                           fre_err *err)
{
    const fre_half *by[FRE_CONTRIBUTORS];
    config_secret s;
    fre_buf text;
    fre_status st;

    if (!out || !secret || !half)
        return FRE_E_ARG;
    st = config_sort_halves(by, half, err);
    if (st != FRE_OK)
        return st;
    fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
    st = config_secret_read(&s, secret, err);
    if (st == FRE_OK) {
        st = commit(&text, &s, secret, by, err);
        config_secret_wipe(&s);
    }
    if (st == FRE_OK)
        st = fre_buf_append(out, text.p, text.n);
    fre_buf_wipe(&text);
    return st == FRE_E_NOMEM ? fre_fail(err, st, "out of memory") : st;
}

/* ---- terms of halves --------------------------------------------------------------------------- */

static fre_status check_reveal(const fre_reveal *r, const fre_half *const *by, fre_err *err)
{
    const fre_contributor who = fre_role_contributor(r->role);
    const char *name = config_contributor(who);
    uint8_t is[FRE_HASH_BYTES];

    if (memcmp(r->sign.b, by[who]->sign.b, sizeof r->sign.b) != 0)
        return fre_fail(err, FRE_E_DATA,
                        "half and contribution of the role %s are of different keys: give those "
                        "that belong together",
                        name);
    fre_collection_commit(is, who, r->contribution);
    if (memcmp(is, by[who]->commitment, sizeof is) != 0)
        return fre_fail(err, FRE_E_DATA,
                        "the contribution of the role %s is not what its half committed to", name);
    for (size_t i = 0; i < FRE_CONTRIBUTORS; i++)
        if (memcmp(r->commitment[i], by[i]->commitment, FRE_HASH_BYTES) != 0)
            return fre_fail(err, FRE_E_DATA,
                            "the operator of the role %s was shown another commitment of %s than "
                            "is in its half here: all four make new keys",
                            name, config_contributor(i));
    return FRE_OK;
}

static void take_keys(fre_collection_parts *p, const fre_half *const *by)
{
    const fre_half *relay = by[FRE_CONTRIBUTOR_RELAY], *tag = by[FRE_CONTRIBUTOR_TAG],
                   *syn = by[FRE_CONTRIBUTOR_SYN], *issuer = by[FRE_CONTRIBUTOR_ISSUER];

    p->oprf_pk = tag->oprf;
    p->issuer_pk = issuer->oprf;
    p->tag_seal = tag->seal;
    p->syn_seal = syn->seal;
    p->issuer_seal = issuer->seal;
    p->tag_sign = tag->sign;
    p->syn_sign = syn->sign;
    p->relay_sign = relay->sign;
    p->issuer_sign = issuer->sign;
    p->relay_url = relay->url;
    p->tag_url = tag->url;
    p->syn_url = syn->url;
    p->issuer_url = issuer->url;
    memcpy(p->relay_pin, relay->pin, sizeof p->relay_pin);
    memcpy(p->tag_pin, tag->pin, sizeof p->tag_pin);
    memcpy(p->syn_pin, syn->pin, sizeof p->syn_pin);
    memcpy(p->issuer_pin, issuer->pin, sizeof p->issuer_pin);
}

fre_status fre_collection_gather(fre_collection_parts *parts, const fre_half half[FRE_CONTRIBUTORS],
                                 const fre_reveal reveal[FRE_CONTRIBUTORS], fre_err *err)
{
    const fre_half *by[FRE_CONTRIBUTORS];
    unsigned there = 0;
    fre_status st;

    if (!parts || !half || !reveal)
        return FRE_E_ARG;
    st = config_sort_halves(by, half, err);
    for (size_t i = 0; st == FRE_OK && i < FRE_CONTRIBUTORS; i++) {
        if (!fre_role_name(reveal[i].role))
            return FRE_E_ARG;
        there |= 1u << fre_role_contributor(reveal[i].role);
        st = check_reveal(&reveal[i], by, err);
    }
    if (st != FRE_OK)
        return st;
    for (size_t i = 0; i < FRE_CONTRIBUTORS; i++)
        if (!(there >> i & 1))
            return fre_fail(err, FRE_E_DATA, "the contribution of the role %s is missing: add it",
                            config_contributor(i));
    take_keys(parts, by);
    for (size_t i = 0; i < FRE_CONTRIBUTORS; i++)
        memcpy(parts->contribution[fre_role_contributor(reveal[i].role)], reveal[i].contribution,
               FRE_SEED_BYTES);
    return FRE_OK;
}
