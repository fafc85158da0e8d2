/* RFC 9497 sec. 2.2: a proof that log_G(pk) = log_C(D) for every pair (C, D) of a batch.
 *
 * Pairs are folded into one, M = sum d_i C_i and Z = sum d_i D_i, with d_i hashed from everything;
 * then the proof is Chaum and Pedersen's for (G, pk, M, Z):
 *     t2 = r G, t3 = r M, c = hash(pk, M, Z, t2, t3), s = r - c k.
 * Of its products only r G (and s G when verifying) have the base that libsodium has a table for.
 */
#include "oprf_private.h"

#include <sodium.h>
#include <string.h>

#define E_BYTES FRE_OPRF_ELEMENT_BYTES
#define LITERAL(s) ((fre_bytes){(const uint8_t *)(s), sizeof(s) - 1})

static const uint8_t element_length[2] = {0, E_BYTES};
static const uint8_t hash_length[2] = {0, FRE_OPRF_HASH_BYTES};

/* The folded pair: its sums so far. */
typedef struct fold {
    uint8_t seed[FRE_OPRF_HASH_BYTES];
    uint8_t m[E_BYTES], z[E_BYTES];
} fold;

static fre_bytes element(const uint8_t e[E_BYTES])
{
    return (fre_bytes){e, E_BYTES};
}

static fre_bytes length_of_element(void)
{
    return (fre_bytes){element_length, 2};
}

static void fold_seed(fold *f, const fre_oprf_public *pk)
{
    const fre_bytes label = LITERAL("Seed-" FRE_OPRF_CONTEXT);
    uint8_t label_length[2];
    const fre_bytes part[] = {length_of_element(), element(pk->b), {label_length, 2}, label};

    fre_oprf_u16(label_length, label.n);
    fre_oprf_sha512(f->seed, part, sizeof part / sizeof *part);
}

static fre_status fold_weight(uint8_t d[FRE_OPRF_SCALAR_BYTES], const fold *f, size_t i,
                              const fre_oprf_element *c, const fre_oprf_element *e)
{
    uint8_t index[2];
    const fre_bytes part[] = {
        {hash_length, 2}, {f->seed, sizeof f->seed}, {index, 2},    length_of_element(),
        element(c->b),    length_of_element(),       element(e->b), LITERAL("Composite")};

    fre_oprf_u16(index, i);
    return fre_oprf_hash_to_scalar(d, part, sizeof part / sizeof *part);
}

/* sum += d e, or = d e for the first. */
static fre_status fold_add(uint8_t sum[E_BYTES], const uint8_t d[FRE_OPRF_SCALAR_BYTES],
                           const fre_oprf_element *e, bool first)
{
    uint8_t term[E_BYTES];

    if (!fre_oprf_multiply(first ? sum : term, d, e->b))
        return FRE_E_DATA;
    return first || crypto_core_ristretto255_add(sum, sum, term) == 0 ? FRE_OK : FRE_E_INTERNAL;
}

/* ComputeComposites; without with_z it is ComputeCompositesFast, whose caller makes z = k m. */
static fre_status fold_pairs(fold *f, const fre_oprf_public *pk, const fre_oprf_element *c,
                             const fre_oprf_element *e, size_t n, bool with_z)
{
    uint8_t d[FRE_OPRF_SCALAR_BYTES];
    fre_status st = FRE_OK;

    fold_seed(f, pk);
    for (size_t i = 0; i < n && st == FRE_OK; i++) {
        st = fold_weight(d, f, i, &c[i], &e[i]);
        if (st == FRE_OK)
            st = fold_add(f->m, d, &c[i], i == 0);
        if (st == FRE_OK && with_z)
            st = fold_add(f->z, d, &e[i], i == 0);
    }
    return st;
}

static fre_status challenge(uint8_t c[FRE_OPRF_SCALAR_BYTES], const fre_oprf_public *pk,
                            const fold *f, const uint8_t t2[E_BYTES], const uint8_t t3[E_BYTES])
{
    const fre_bytes len = length_of_element();
    const fre_bytes part[] = {len,
                              element(pk->b),
                              len,
                              element(f->m),
                              len,
                              element(f->z),
                              len,
                              element(t2),
                              len,
                              element(t3),
                              LITERAL("Challenge")};

    return fre_oprf_hash_to_scalar(c, part, sizeof part / sizeof *part);
}

fre_status fre_oprf_check_batch(size_t n)
{
    if (n == 0)
        return FRE_E_ARG;
    return n > FRE_OPRF_BATCH_MAX ? FRE_E_LIMIT : FRE_OK;
}

static bool are_canonical(const fre_oprf_element *e, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!fre_oprf_element_is_canonical(e[i].b))
            return false;
    return true;
}

/* s = r - c k. */
static void respond(uint8_t s[FRE_OPRF_SCALAR_BYTES], const fre_oprf_nonce *r,
                    const uint8_t c[FRE_OPRF_SCALAR_BYTES], const fre_oprf_key *key)
{
    uint8_t ck[FRE_OPRF_SCALAR_BYTES];

    crypto_core_ristretto255_scalar_mul(ck, c, key->b);
    crypto_core_ristretto255_scalar_sub(s, r->b, ck);
    fre_wipe(ck, sizeof ck);
}

fre_status fre_oprf_prove_with(fre_oprf_proof *proof, const fre_oprf_key *key,
                               const fre_oprf_element *blinded, const fre_oprf_element *evaluated,
                               size_t n, const fre_oprf_nonce *nonce)
{
    uint8_t t2[E_BYTES], t3[E_BYTES];
    fre_oprf_proof p;
    fold f;
    fre_status st;

    if (!proof || !key || !blinded || !evaluated || !nonce)
        return FRE_E_ARG;
    st = fre_oprf_check_batch(n);
    if (st != FRE_OK)
        return st;
    if (!fre_oprf_scalar_is_valid(key->b) || !fre_oprf_scalar_is_valid(nonce->b))
        return FRE_E_ARG;
    if (!are_canonical(blinded, n) || !are_canonical(evaluated, n))
        return FRE_E_DATA;
    st = fold_pairs(&f, &key->pub, blinded, evaluated, n, false);
    if (st != FRE_OK)
        return st;
    if (!fre_oprf_multiply(f.z, key->b, f.m) || !fre_oprf_multiply_base(t2, nonce->b) ||
        !fre_oprf_multiply(t3, nonce->b, f.m))
        return FRE_E_INTERNAL;
    st = challenge(p.b, &key->pub, &f, t2, t3);
    if (st != FRE_OK)
        return st;
    respond(p.b + FRE_OPRF_SCALAR_BYTES, nonce, p.b, key);
    FRE_DECLASSIFY(&p, sizeof p); /* public: it is the message */
    if (!fre_oprf_scalar_is_valid(p.b) || !fre_oprf_scalar_is_valid(p.b + FRE_OPRF_SCALAR_BYTES))
        return FRE_E_INTERNAL;
    *proof = p;
    return FRE_OK;
}

fre_status fre_oprf_prove(fre_oprf_proof *proof, const fre_oprf_key *key,
                          const fre_oprf_element *blinded, const fre_oprf_element *evaluated,
                          size_t n, fre_rng *r)
{
    fre_oprf_nonce nonce;
    fre_status st;

    if (!r)
        return FRE_E_ARG;
    fre_oprf_scalar_draw(nonce.b, r);
    st = fre_oprf_prove_with(proof, key, blinded, evaluated, n, &nonce);
    fre_oprf_nonce_wipe(&nonce);
    return st;
}

/* out = s a + c b, for sa = s a. */
static fre_status combine(uint8_t out[E_BYTES], const uint8_t sa[E_BYTES],
                          const uint8_t c[FRE_OPRF_SCALAR_BYTES], const uint8_t b[E_BYTES])
{
    uint8_t cb[E_BYTES];

    if (!fre_oprf_multiply(cb, c, b))
        return FRE_E_DATA;
    return crypto_core_ristretto255_add(out, sa, cb) == 0 ? FRE_OK : FRE_E_INTERNAL;
}

static fre_status check_verify_arguments(const fre_oprf_public *pk, const fre_oprf_element *blinded,
                                         size_t n, const fre_oprf_element *evaluated,
                                         size_t n_evaluated, const fre_oprf_proof *proof)
{
    fre_status st;

    if (!pk || !blinded || !evaluated || !proof)
        return FRE_E_ARG;
    st = fre_oprf_check_batch(n);
    if (st != FRE_OK)
        return st;
    if (n != n_evaluated || !fre_oprf_element_is_canonical(pk->b) || !are_canonical(blinded, n) ||
        !are_canonical(evaluated, n) || !fre_oprf_scalar_is_valid(proof->b) ||
        !fre_oprf_scalar_is_valid(proof->b + FRE_OPRF_SCALAR_BYTES))
        return FRE_E_DATA;
    return FRE_OK;
}

fre_status fre_oprf_verify(const fre_oprf_public *pk, const fre_oprf_element *blinded, size_t n,
                           const fre_oprf_element *evaluated, size_t n_evaluated,
                           const fre_oprf_proof *proof)
{
    uint8_t sg[E_BYTES], sm[E_BYTES], t2[E_BYTES], t3[E_BYTES], expect[FRE_OPRF_SCALAR_BYTES];
    const uint8_t *c, *s;
    fold f;
    fre_status st = check_verify_arguments(pk, blinded, n, evaluated, n_evaluated, proof);

    if (st != FRE_OK)
        return st;
    c = proof->b;
    s = proof->b + FRE_OPRF_SCALAR_BYTES;
    st = fold_pairs(&f, pk, blinded, evaluated, n, true);
    if (st != FRE_OK)
        return st;
    if (!fre_oprf_multiply_base(sg, s) || !fre_oprf_multiply(sm, s, f.m))
        return FRE_E_INTERNAL;
    /* With the honest s these are r G and r M again. */
    st = combine(t2, sg, c, pk->b);
    if (st == FRE_OK)
        st = combine(t3, sm, c, f.z);
    if (st == FRE_OK)
        st = challenge(expect, pk, &f, t2, t3);
    if (st != FRE_OK)
        return st;
    return fre_secret_eq(expect, c, sizeof expect) ? FRE_OK : FRE_E_PROOF;
}
