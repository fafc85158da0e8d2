/* The collection: one encoding, every rule of its fields, JSON with the same id, terms that do not
 * keep their claim, and terms made from a plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "wire_sample.h"

#include <math.h>

#include <cmocka.h>

static fre_collection good(void)
{
    sample s;

    return sample_collection(&s);
}

static fre_collection_id id_of(const fre_collection *c)
{
    fre_collection_id id;

    assert_int_equal(fre_collection_identify(&id, c, NULL), FRE_OK);
    return id;
}

/* ---- encoding ---------------------------------------------------------------------------------- */

static void numbers_keep_all_their_bits(void **state)
{
    static const uint32_t edges[] = {127, 128, 255, 256, 32767, 32768, 65535, 65536, 16777216};
    const fre_collection base = good();

    (void)state;
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        fre_collection c = base, back;
        fre_collection_id id, first = id_of(&base);
        fre_buf b;

        c.users = edges[i];
        c.gamma = edges[i];
        c.open = edges[i];
        fre_buf_init(&b, SAMPLE_MAX);
        assert_int_equal(fre_collection_encode(&b, &c, NULL), FRE_OK);
        assert_int_equal(fre_collection_decode(&back, sample_view(&b), NULL), FRE_OK);
        assert_int_equal(back.users, edges[i]);
        assert_int_equal(back.gamma, edges[i]);
        assert_int_equal(back.open, edges[i]);
        id = id_of(&back);
        assert_memory_not_equal(id.b, first.b, sizeof id.b);
        fre_buf_wipe(&b);
    }
}

/* Times on both sides of 2^31 and 2^32: no epoch is cut to fewer bits. */
static void pitfall_01_times_keep_all_their_bits(void **state)
{
    static const int64_t edges[] = {127,        128,        255,        256,
                                    65535,      65536,      2147483647, 2147483648,
                                    4294967295, 4294967296, 4294967297, 253402300700};

    (void)state;
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        fre_collection c = good(), back;
        fre_buf b;

        c.open = edges[i];
        c.exchange_close = edges[i] + 1;
        c.tags_close = edges[i] + 2;
        c.shares_close = edges[i] + 3;
        c.end = edges[i] + 4;
        fre_buf_init(&b, SAMPLE_MAX);
        assert_int_equal(fre_collection_encode(&b, &c, NULL), FRE_OK);
        assert_int_equal(fre_collection_decode(&back, sample_view(&b), NULL), FRE_OK);
        assert_true(back.open == c.open && back.tags_close == c.tags_close);
        assert_true(back.shares_close == c.shares_close && back.end == c.end);
        fre_buf_wipe(&b);
    }
}

/* Whatever byte is changed: refused, or another collection with another id. */
static void every_byte_counts(void **state)
{
    const fre_collection c = good();
    const fre_collection_id id = id_of(&c);
    fre_buf b;

    (void)state;
    fre_buf_init(&b, SAMPLE_MAX);
    assert_int_equal(fre_collection_encode(&b, &c, NULL), FRE_OK);
    for (size_t i = 0; i < b.n; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            fre_collection back;
            fre_collection_id other;
            fre_err err = {.text = ""};

            memset(&back, 0xa5, sizeof back);
            b.p[i] ^= (uint8_t)(1u << bit);
            if (fre_collection_decode(&back, sample_view(&b), &err) == FRE_OK) {
                other = id_of(&back);
                assert_memory_not_equal(other.b, id.b, sizeof id.b);
            } else {
                for (size_t j = 0; j < sizeof back; j++)
                    assert_int_equal(((const uint8_t *)&back)[j], 0xa5);
                assert_true(err.text[0] != '\0');
            }
            b.p[i] ^= (uint8_t)(1u << bit);
        }
    }
    fre_buf_wipe(&b);
}

/* ---- rules ------------------------------------------------------------------------------------- */

typedef void change(fre_collection *c);

typedef struct bad {
    change *make;
    const char *field; /* that the sentence names */
} bad;

#define CHANGE(name, what)                                                                         \
    static void name(fre_collection *c)                                                            \
    {                                                                                              \
        what;                                                                                      \
    }

CHANGE(dim_0, c->dim = 0)
CHANGE(dim_big, c->dim = FRE_COLLECTION_DIM_MAX + 1)
CHANGE(grid_chosen, c->grid_seed[5] ^= 1)
CHANGE(sign_chosen, memcpy(c->sign_seed, c->grid_seed, 32))
CHANGE(commitment_other, c->commitment[FRE_CONTRIBUTOR_SYN][31] ^= 1)
CHANGE(contribution_late, c->contribution[FRE_CONTRIBUTOR_ISSUER][0] ^= 1)
CHANGE(contribution_copied, memcpy(c->contribution[2], c->contribution[1], 32);
       fre_collection_draw(c))
CHANGE(proj_0, c->sketch.grid.proj = 0)
CHANGE(proj_big, c->sketch.grid.proj = FRE_PRIVACY_K_MAX + 1)
CHANGE(edge_0, c->sketch.grid.cell_edge = 0)
CHANGE(edge_nan, c->sketch.grid.cell_edge = NAN)
CHANGE(edge_inf, c->sketch.grid.cell_edge = INFINITY)
CHANGE(p_0, c->p32 = 0)
CHANGE(p_big, c->p32 = FRE_P_ONE + 1)
CHANGE(threshold_0, c->threshold = 0)
CHANGE(threshold_big, c->threshold = UINT64_MAX)
CHANGE(tau_less, c->tau--)
CHANGE(tau_more, c->tau++)
CHANGE(tau_1, c->threshold = 1; c->tau = 1; c->curious = 0)
CHANGE(sigma_0, c->sigma = 0)
CHANGE(sigma_negative, c->sigma = -1)
CHANGE(sigma_inf, c->sigma = INFINITY)
CHANGE(split_nan, c->split = NAN)
CHANGE(norm_0, c->norm_bound = 0)
CHANGE(worst_split, c->sensitivity = FRE_SENSITIVITY_WORST_CASE)
CHANGE(lambda_0, c->lambda16 = 0)
CHANGE(lambda_big, c->lambda16 = FRE_P_ONE + 1)
CHANGE(gamma_big, c->gamma = FRE_TSDLAP_GAMMA_MAX + 1)
CHANGE(curious_tau, c->curious = (uint32_t)c->tau)
CHANGE(dropout_1, c->dropout = 1)
CHANGE(dropout_nan, c->dropout = NAN)
CHANGE(dropout_minus_0, c->dropout = -0.0)
CHANGE(dropout_one_shot, c->one_contact = true; c->shares_close = c->tags_close)
CHANGE(cover_off_one_contact, c->one_contact = true; c->dropout = 0; c->cover = false;
       c->shares_close = c->tags_close)
CHANGE(adjacency_2, c->adjacency = (fre_adjacency)2)
CHANGE(sensitivity_2, c->sensitivity = (fre_sensitivity)2)
CHANGE(epsilon_0, c->epsilon = 0)
CHANGE(epsilon_inf, c->epsilon = INFINITY)
CHANGE(epsilon_51, c->epsilon = 50.000001)
CHANGE(delta_0, c->delta = 0)
CHANGE(delta_1, c->delta = 1)
CHANGE(phi_1, c->phi = 1)
CHANGE(phi_minus_0, c->phi = -0.0)
CHANGE(cells_0, c->cells_per_user = 0)
CHANGE(cells_big, c->cells_per_user = FRE_COLLECTION_CELLS_MAX + 1)
CHANGE(users_0, c->users = 0)
CHANGE(users_big, c->users = UINT64_C(1) << 32)
CHANGE(records_big, c->users = UINT64_C(1) << 31; c->cells_per_user = 2)
CHANGE(records_wrap, c->users = UINT64_MAX; c->cells_per_user = 2)
CHANGE(nobody_left, c->dropout = 0.99)
CHANGE(aead_2, c->aead = (fre_hpke_aead)2)
CHANGE(oprf_zero, memset(c->oprf_pk.b, 0, 32))
CHANGE(oprf_high_bit, c->oprf_pk.b[31] |= 0x80)
CHANGE(seal_zero, memset(c->tag_seal.b, 0, 32))
CHANGE(seal_equal, c->syn_seal = c->tag_seal)
CHANGE(sign_equal, c->relay_sign = c->syn_sign)
CHANGE(sign_zero, memset(c->relay_sign.b, 0, 32))
CHANGE(batch_0, c->batch_min = 0)
CHANGE(batch_big, c->batch_min = c->users * c->cells_per_user + 1)
CHANGE(servers_two, c->server_noise = true)
CHANGE(issuer_zero, memset(c->issuer_pk.b, 0, 32))
CHANGE(issuer_equal, c->issuer_pk = c->oprf_pk)
CHANGE(issuer_seal_equal, c->issuer_seal = c->syn_seal)
CHANGE(issuer_sign_zero, memset(c->issuer_sign.b, 0, 32))
CHANGE(pin_missing, memset(c->tag_pin, 0, 32))
CHANGE(pin_of_http, strcpy(c->issuer_url, "http://127.0.0.1:80"))
CHANGE(exchange_early, c->exchange_close = c->open)
CHANGE(exchange_late, c->exchange_close = c->tags_close)
CHANGE(open_0, c->open = 0)
CHANGE(open_negative, c->open = -1)
CHANGE(close_equal, c->tags_close = c->exchange_close)
CHANGE(shares_equal, c->shares_close = c->tags_close)
CHANGE(shares_late, c->shares_close = c->end)
CHANGE(end_far, c->end = FRE_COLLECTION_TIME_MAX + 1)
CHANGE(one_shot_shares, c->one_contact = true; c->dropout = 0)

CHANGE(public_cells, sample_public_cells(c))
CHANGE(sketch_kind, c->sketch.kind = (fre_sketch_kind)2)
CHANGE(codebook_zero, public_cells(c); memset(c->sketch.codebook.sha256, 0, 32))
CHANGE(public_cells_0, public_cells(c); c->sketch.codebook.cells = 0)
CHANGE(cells_many, public_cells(c); c->sketch.codebook.cells = UINT64_C(1) << 32)
CHANGE(clip_0, public_cells(c); c->sketch.codebook.radius = 0; c->split = 0)
CHANGE(clip_negative, public_cells(c); c->sketch.codebook.radius = -0.6; c->split = -1.2)
CHANGE(clip_nan, public_cells(c); c->sketch.codebook.radius = NAN)
CHANGE(gain_below_1, public_cells(c); c->sketch.codebook.gain = 0.99)
CHANGE(gain_nan, public_cells(c); c->sketch.codebook.gain = NAN)
CHANGE(public_probable, public_cells(c); c->sensitivity = FRE_SENSITIVITY_PROBABILISTIC)
CHANGE(public_short_split, public_cells(c); c->split = 0.6)
CHANGE(public_split_2b, public_cells(c); c->split = 2)

static const bad bads[] = {
    {sketch_kind, "sketch"},
    {codebook_zero, "codebook"},
    {public_cells_0, "public_cells"},
    {cells_many, "public_cells"},
    {clip_0, "clip_radius"},
    {clip_negative, "clip_radius"},
    {clip_nan, "clip_radius"},
    {gain_below_1, "gain"},
    {gain_nan, "gain"},
    {public_probable, "sensitivity"},
    {public_short_split, "split"},
    {public_split_2b, "split"},
    {dim_0, "dim"},
    {dim_big, "dim"},
    {grid_chosen, "grid_seed"},
    {sign_chosen, "sign_seed"},
    {commitment_other, "syn_commitment"},
    {contribution_late, "issuer_commitment"},
    {contribution_copied, "syn_contribution"},
    {batch_0, "batch_min"},
    {batch_big, "batch_min"},
    {servers_two, "noise_by"},
    {issuer_zero, "issuer_pk"},
    {issuer_equal, "issuer_pk"},
    {issuer_seal_equal, "issuer_seal"},
    {issuer_sign_zero, "issuer_sign"},
    {pin_missing, "tag_pin"},
    {pin_of_http, "issuer_pin"},
    {exchange_early, "exchange_close"},
    {exchange_late, "tags_close"},
    {proj_0, "proj"},
    {proj_big, "proj"},
    {edge_0, "cell_edge"},
    {edge_nan, "cell_edge"},
    {edge_inf, "cell_edge"},
    {p_0, "p32"},
    {p_big, "p32"},
    {threshold_0, "threshold"},
    {threshold_big, "threshold"},
    {tau_less, "tau"},
    {tau_more, "tau"},
    {tau_1, "tau"},
    {sigma_0, "sigma"},
    {sigma_negative, "sigma"},
    {sigma_inf, "sigma"},
    {split_nan, "split"},
    {norm_0, "norm_bound"},
    {worst_split, "split"},
    {lambda_0, "lambda16"},
    {lambda_big, "lambda16"},
    {gamma_big, "gamma"},
    {curious_tau, "curious"},
    {dropout_1, "dropout"},
    {dropout_nan, "dropout"},
    {dropout_minus_0, "dropout"},
    {dropout_one_shot, "dropout"},
    {cover_off_one_contact, "cover"},
    {adjacency_2, "adjacency"},
    {sensitivity_2, "sensitivity"},
    {epsilon_0, "epsilon"},
    {epsilon_inf, "epsilon"},
    {epsilon_51, "epsilon"},
    {delta_0, "delta"},
    {delta_1, "delta"},
    {phi_1, "phi"},
    {phi_minus_0, "phi"},
    {cells_0, "cells_per_user"},
    {cells_big, "cells_per_user"},
    {users_0, "users"},
    {users_big, "users"},
    {records_big, "users"},
    {records_wrap, "users"},
    {nobody_left, "dropout"},
    {aead_2, "aead"},
    {oprf_zero, "oprf_pk"},
    {oprf_high_bit, "oprf_pk"},
    {seal_zero, "tag_seal"},
    {seal_equal, "syn_seal"},
    {sign_equal, "relay_sign"},
    {sign_zero, "relay_sign"},
    {open_0, "open"},
    {open_negative, "open"},
    {close_equal, "tags_close"},
    {shares_equal, "shares_close"},
    {shares_late, "end"},
    {end_far, "end"},
    {one_shot_shares, "shares_close"},
};

static void rules_are_enforced(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bads / sizeof bads[0]; i++) {
        fre_collection c = good();
        fre_err err = {.text = ""};
        fre_buf b;

        fre_buf_init(&b, SAMPLE_MAX);
        assert_int_equal(fre_collection_encode(&b, &c, NULL), FRE_OK);
        b.n = 0;
        bads[i].make(&c);
        if (fre_collection_encode(&b, &c, &err) != FRE_E_DATA || !strstr(err.text, bads[i].field))
            fail_msg("rule %zu (%s): %s", i, bads[i].field, err.text);
        assert_int_equal(b.n, 0);
        fre_buf_wipe(&b);
    }
}

static void addresses(void **state)
{
    static const char *const fine[] = {"http://localhost",        "http://127.0.0.1:8080/x",
                                       "https://a.example",       "https://a.example/",
                                       "https://a.example:1/x/y", "https://127.0.0.1:65535",
                                       "http://[::1]:8080/x",     "https://[2001:db8::1]",
                                       "http://abcdefgh.onion",   "https://a.example/%7e"};
    static const char *const wrong[] = {"",
                                        "a.example",
                                        "http://a.example", /* plain */
                                        "http://localhost.example",
                                        "http://127.example",
                                        "http://127.0.0.1.example",
                                        "http://a.onion.example",
                                        "http://.onion",
                                        "http://[::2]",
                                        "ftp://a.example",
                                        "HTTPS://a.example",
                                        "https://",
                                        "https:///x",
                                        "https://:80",
                                        "https://a.example:",
                                        "https://a.example:0",
                                        "https://a.example:080",
                                        "https://a.example:65536",
                                        "https://a.example:99999999999999999999",
                                        "https://a.example:80x",
                                        "https://user@a.example",
                                        "https://a.example?x",
                                        "https://a.example/?x",
                                        "https://a.example/#x",
                                        "https://a.example/ x",
                                        "https://a.example/\n",
                                        "https://a.example/\x7f",
                                        "https://a.example/\xc3\xa9",
                                        "https://a b",
                                        "https://[]",
                                        "https://[::1",
                                        "https://[::1]x"};
    fre_collection c = good();

    (void)state;
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        memset(c.tag_url, 0, sizeof c.tag_url);
        strcpy(c.tag_url, fine[i]);
        memset(c.tag_pin, strncmp(fine[i], "http:", 5) == 0 ? 0 : 7, sizeof c.tag_pin);
        assert_int_equal(fre_collection_validate(&c, NULL), FRE_OK);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        fre_err err = {.text = ""};

        memset(c.tag_url, 0, sizeof c.tag_url);
        strcpy(c.tag_url, wrong[i]);
        if (fre_collection_validate(&c, &err) != FRE_E_DATA || !strstr(err.text, "tag_url"))
            fail_msg("taken: %s", wrong[i]);
    }
    memset(c.tag_url, 'a', sizeof c.tag_url);
    memcpy(c.tag_url, "https://", 8);
    assert_int_equal(fre_collection_validate(&c, NULL), FRE_E_DATA); /* no end */
    c.tag_url[FRE_COLLECTION_URL_MAX] = '\0';
    assert_int_equal(fre_collection_validate(&c, NULL), FRE_OK);
}

/* A zero byte inside an address would hide what follows it. */
static void addresses_have_one_encoding(void **state)
{
    fre_collection c = good(), back;
    fre_buf b;
    size_t at = 0;

    (void)state;
    fre_buf_init(&b, SAMPLE_MAX);
    assert_int_equal(fre_collection_encode(&b, &c, NULL), FRE_OK);
    while (at + 8 < b.n && memcmp(b.p + at, ".example", 8) != 0)
        at++;
    assert_true(at + 8 < b.n);
    b.p[at + 4] = 0;
    assert_int_equal(fre_collection_decode(&back, sample_view(&b), NULL), FRE_E_DATA);
    fre_buf_wipe(&b);
}

/* ---- JSON -------------------------------------------------------------------------------------- */

static void read_back(const fre_collection *c)
{
    fre_collection back;
    fre_collection_id a, b;
    fre_buf text;
    fre_err err = {.text = ""};

    fre_buf_init(&text, SAMPLE_MAX);
    assert_int_equal(fre_collection_to_json(&text, c, NULL), FRE_OK);
    if (fre_collection_from_json(&back, sample_view(&text), &err) != FRE_OK)
        fail_msg("%s", err.text);
    a = id_of(c);
    b = id_of(&back);
    assert_memory_equal(a.b, b.b, sizeof a.b);
    fre_buf_wipe(&text);
}

static double some_double(fre_rng *r, double most)
{
    return most * ((double)(fre_rng_u64(r) >> 11) + 0.5) / 9007199254740992.0;
}

static void json_keeps_the_id(void **state)
{
    fre_collection c = good();
    fre_rng r;
    const uint8_t seed[32] = {7};

    (void)state;
    read_back(&c);
    assert_int_equal(fre_rng_init_seeded(&r, seed, "test/wire"), FRE_OK);
    for (int i = 0; i < 300; i++) {
        fre_rng_bytes(&r, c.embedder, sizeof c.embedder);
        fre_rng_bytes(&r, c.contribution, sizeof c.contribution);
        fre_collection_draw(&c);
        c.sigma = some_double(&r, 1e12);
        c.split = some_double(&r, 1e-9);
        c.sensitivity = FRE_SENSITIVITY_PROBABILISTIC;
        c.sketch = (fre_sketch_spec){.grid = {40, some_double(&r, 1)}};
        if (i % 3 == 0) {
            sample_public_cells(&c);
            c.sketch.codebook.radius = some_double(&r, 1);
            c.split = 2 * c.sketch.codebook.radius;
            c.sketch.codebook.gain = 1 + some_double(&r, 0.5);
            c.sketch.codebook.cells = 1 + fre_rng_below(&r, UINT32_MAX);
            c.sketch.codebook.level = fre_rng_u32(&r);
        }
        c.dropout = some_double(&r, 0.9);
        c.delta = some_double(&r, 1e-30);
        c.phi = i % 2 == 0 ? 0 : some_double(&r, 1e-200);
        c.lambda16 = 1 + fre_rng_below(&r, FRE_P_ONE);
        c.users = 1 + fre_rng_below(&r, UINT32_MAX);
        c.batch_min = 1 + fre_rng_below(&r, c.users);
        c.cover = fre_rng_u32(&r) & 1;
        c.adjacency = fre_rng_u32(&r) & 1 ? FRE_ADJACENCY_REPLACE : FRE_ADJACENCY_ADD_REMOVE;
        c.aead = fre_rng_u32(&r) & 1 ? FRE_HPKE_AES_128_GCM : FRE_HPKE_CHACHA20_POLY1305;
        read_back(&c);
    }
    fre_rng_wipe(&r);
}

/* from, in the text of a good collection, replaced by to: refused with a sentence about `word`. */
static void must_refuse_json(const char *from, const char *to, const char *word)
{
    const fre_collection c = good();
    fre_collection back;
    fre_buf text, changed;
    fre_err err = {.text = ""};
    const char *at;

    fre_buf_init(&text, SAMPLE_MAX);
    fre_buf_init(&changed, SAMPLE_MAX);
    assert_int_equal(fre_collection_to_json(&text, &c, NULL), FRE_OK);
    assert_int_equal(fre_buf_append(&text, "", 1), FRE_OK);
    at = strstr((const char *)text.p, from);
    assert_non_null(at);
    assert_int_equal(fre_buf_printf(&changed, "%.*s%s%s", (int)(at - (const char *)text.p),
                                    (const char *)text.p, to, at + strlen(from)),
                     FRE_OK);
    memset(&back, 0xa5, sizeof back);
    if (fre_collection_from_json(&back, sample_view(&changed), &err) != FRE_E_DATA ||
        !strstr(err.text, word))
        fail_msg("%s -> %s: %s", from, to, err.text);
    for (size_t j = 0; j < sizeof back; j++)
        assert_int_equal(((const uint8_t *)&back)[j], 0xa5);
    fre_buf_wipe(&text);
    fre_buf_wipe(&changed);
}

static void json_is_strict(void **state)
{
    fre_collection back;

    (void)state;
    /* A grid has no codebook. */
    must_refuse_json("\"proj\": 40", "\"proj\": 40, \"clip_radius\": 0.6", "clip_radius");
    must_refuse_json("\"sketch\": \"grid\"", "\"sketch\": \"codebook\"", "proj");
    must_refuse_json("\"sketch\": \"grid\"", "\"sketch\": \"levels\"", "sketch");
    must_refuse_json("\"proj\": 40,", "", "proj");
    must_refuse_json("\"dim\": 384", "\"dim\": 385", "id"); /* a field changed under its id */
    must_refuse_json("\"dim\": 384", "\"dim\": \"384\"", "dim");
    must_refuse_json("\"dim\": 384", "\"dim\": 384.0", "dim");
    must_refuse_json("\"dim\": 384", "\"dim\": 4294967680", "dim"); /* 384 + 2^32 */
    must_refuse_json("\"dim\": 384", "\"dim\": -384", "dim");
    must_refuse_json("\"dim\": 384", "\"dim\": 0", "dim");
    must_refuse_json("\"dim\": 384", "\"Dim\": 384", "dim");
    must_refuse_json("\"dim\": 384", "\"dim\": 384, \"dim\": 384", "once");
    must_refuse_json("\"dim\": 384", "\"dim\": 384, \"dime\": 384", "key");
    must_refuse_json("\"cover\": true", "\"cover\": 1", "cover");
    must_refuse_json("\"cover\": true", "\"cover\": null", "cover");
    must_refuse_json("\"add-remove\"", "\"add\"", "adjacency");
    must_refuse_json("\"add-remove\"", "0", "adjacency");
    must_refuse_json("\"e0e0", "\"e0e", "embedder");
    must_refuse_json("\"e0e0", "\"e0g0", "embedder");
    must_refuse_json("\"e0e0", "\"e0e0e0", "embedder");
    must_refuse_json("\"https://relay.example\"", "\"\"", "relay_url");
    must_refuse_json("\"https://relay.example\"", "7", "relay_url");
    must_refuse_json("\"epsilon\": 4.0", "\"epsilon\": \"4\"", "epsilon");
    must_refuse_json("\"epsilon\": 4.0", "\"epsilon\": 1e999", "once");
    must_refuse_json("\"id\": \"", "\"id\": \"00", "id");
    must_refuse_json("}\n", "}}\n", "once");
    must_refuse_json("}\n", "", "once");
    assert_int_equal(fre_collection_from_json(&back, (fre_bytes){NULL, 0}, NULL), FRE_E_DATA);
    assert_int_equal(fre_collection_from_json(&back, (fre_bytes){(const uint8_t *)"[]", 2}, NULL),
                     FRE_E_DATA);
}

/* ---- the claim --------------------------------------------------------------------------------- */

CHANGE(as_it_is, (void)c)
CHANGE(half_sigma, c->sigma /= 2)
CHANGE(little_padding, c->gamma = 2)
CHANGE(narrow_padding, c->lambda16 = 1000)
CHANGE(wide_padding, c->lambda16 = FRE_P_ONE)
CHANGE(many_users, c->users *= 1000)
CHANGE(few_projections, c->sketch.grid.proj = 20)
/* A small split is charged its far members, 97 per cent of this delta of 3.604e-6. */
CHANGE(small_split, c->split = 0.0785; c->sigma = 0.3; c->delta = 3.55e-6)
CHANGE(small_split_paid, c->split = 0.0785; c->sigma = 0.3; c->delta = 3.62e-6)
CHANGE(large_split, c->split *= 2)
CHANGE(many_curious, c->curious = 40)
CHANGE(two_cells, c->cells_per_user = 2)
CHANGE(replaced, c->adjacency = FRE_ADJACENCY_REPLACE)
CHANGE(likely_rounding, c->phi = 0.5)
CHANGE(less_epsilon, c->epsilon = 3.9)
CHANGE(below_coin, c->epsilon = 1)
CHANGE(less_delta, c->delta /= 2)
CHANGE(no_coin, c->p32 = FRE_P_ONE; c->tau = 100)
CHANGE(long_norm, c->norm_bound = 5000) /* against split: more than rotation in doubles bears */
CHANGE(worst, c->sensitivity = FRE_SENSITIVITY_WORST_CASE; c->split = 2)

static void claims_are_checked(void **state)
{
    static const struct {
        change *make;
        fre_status want;
    } cases[] = {{as_it_is, FRE_OK},
                 {half_sigma, FRE_E_REFUSED},
                 {little_padding, FRE_E_REFUSED},
                 {narrow_padding, FRE_E_REFUSED},
                 {wide_padding, FRE_E_REFUSED},
                 {many_users, FRE_E_REFUSED},
                 {few_projections, FRE_E_REFUSED},
                 {small_split, FRE_E_REFUSED},
                 {small_split_paid, FRE_OK},
                 {large_split, FRE_E_REFUSED},
                 {many_curious, FRE_E_REFUSED},
                 {two_cells, FRE_E_REFUSED},
                 {replaced, FRE_E_REFUSED},
                 {likely_rounding, FRE_E_REFUSED},
                 {less_epsilon, FRE_E_REFUSED},
                 {below_coin, FRE_E_REFUSED},
                 {less_delta, FRE_E_REFUSED},
                 {no_coin, FRE_E_REFUSED},
                 {worst, FRE_E_REFUSED},
                 {long_norm, FRE_E_REFUSED},
                 {dim_0, FRE_E_DATA}};

    fre_collection sound = good();
    fre_account close; /* at the best split, so that the claim has no slack */
    fre_mechanism m;

    (void)state;
    sound.sigma = 0.36; /* where far members cost something */
    fre_collection_mechanism(&m, &sound);
    assert_int_equal(fre_joint_delta(&close, &m, sound.epsilon, NULL), FRE_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fre_collection c = good();
        fre_account a = {.epsilon = -1};
        fre_err err = {.text = ""};
        fre_status st;

        c.sigma = sound.sigma;
        c.split = close.split;
        c.delta = 1.005 * close.delta;
        cases[i].make(&c);
        st = fre_collection_check(&a, &c, &err);
        if (st != cases[i].want)
            fail_msg("case %zu: %s (%s), delta %g", i, fre_status_text(st), err.text, a.delta);
        assert_true(st == FRE_OK ? a.delta <= c.delta && a.epsilon > 0 : err.text[0] != '\0');
    }
}

static void plan_for(fre_plan *p, fre_plan_request *r)
{
    r->epsilon = 4;
    r->delta = 1e-6;
    r->population = 100000;
    r->noise = FRE_NOISE_DISCRETE;
    r->dist.on = true;
    r->dist.curious = 1;
    assert_int_equal(fre_plan_make(p, r, NULL), FRE_OK);
}

static fre_collection_parts parts_of(const fre_collection *c)
{
    fre_collection_parts parts = {.aead = c->aead,
                                  .oprf_pk = c->oprf_pk,
                                  .issuer_pk = c->issuer_pk,
                                  .tag_seal = c->tag_seal,
                                  .syn_seal = c->syn_seal,
                                  .issuer_seal = c->issuer_seal,
                                  .tag_sign = c->tag_sign,
                                  .syn_sign = c->syn_sign,
                                  .relay_sign = c->relay_sign,
                                  .issuer_sign = c->issuer_sign,
                                  .batch_min = c->batch_min,
                                  .issuer_url = c->issuer_url,
                                  .relay_url = c->relay_url,
                                  .tag_url = c->tag_url,
                                  .syn_url = c->syn_url,
                                  .open = c->open,
                                  .exchange_close = c->exchange_close,
                                  .tags_close = c->tags_close,
                                  .shares_close = c->shares_close,
                                  .end = c->end};

    memcpy(parts.embedder, c->embedder, 32);
    memcpy(parts.contribution, c->contribution, sizeof parts.contribution);
    memcpy(parts.relay_pin, c->relay_pin, 32);
    memcpy(parts.tag_pin, c->tag_pin, 32);
    memcpy(parts.syn_pin, c->syn_pin, 32);
    memcpy(parts.issuer_pin, c->issuer_pin, 32);
    return parts;
}

/* Whoever has the terms alone has the statement, and the plan's numbers. */
static void terms_say_what_the_plan_says(const fre_collection *c, const fre_plan *p)
{
    fre_plan back;
    fre_err err = {.text = ""};
    fre_buf a, b;

    fre_buf_init(&a, 1u << 16);
    fre_buf_init(&b, 1u << 16);
    if (fre_collection_plan(&back, c, &err) != FRE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(fre_plan_statement(&a, p, true), FRE_OK);
    assert_int_equal(fre_collection_statement(&b, c, &err), FRE_OK);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.p, b.p, a.n);
    assert_true(fabs(back.request.radius - p->request.radius) < 1e-12);
    a.n = b.n = 0;
    assert_int_equal(fre_plan_json(&a, p), FRE_OK);
    assert_int_equal(fre_plan_json(&b, &back), FRE_OK);
    assert_true(strstr((char *)a.p, "\"warnings\"") && strstr((char *)b.p, "\"warnings\""));
    fre_buf_wipe(&a);
    fre_buf_wipe(&b);
}

static void plans_become_collections(void **state)
{
    const fre_collection base = good();

    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        fre_collection_parts parts = parts_of(&base);
        fre_collection c;
        fre_mechanism m;
        fre_plan_request r;
        fre_plan p;
        fre_err err = {.text = ""};

        fre_plan_request_init(&r);
        r.dist.cover = i % 2 == 0 || i % 4 >= 2;
        r.dist.one_contact = i % 4 >= 2;
        r.dist.dropout = r.dist.one_contact ? 0 : 0.1;
        r.cells_per_user = i < 4 ? 1 : 2;
        if (r.dist.one_contact)
            parts.shares_close = parts.tags_close;
        plan_for(&p, &r);
        if (fre_collection_from_plan(&c, &p, &parts, &err) != FRE_OK)
            fail_msg("plan %u: %s", i, err.text);
        fre_collection_mechanism(&m, &c);
        assert_true(m.p32 == p.mechanism.p32 && m.tau == p.mechanism.tau);
        assert_true(m.population == p.mechanism.population && m.dim == p.mechanism.dim);
        assert_memory_equal(&m.sigma, &p.mechanism.sigma, sizeof m.sigma);
        assert_memory_equal(&m.dist.lambda, &p.mechanism.dist.lambda, sizeof m.dist.lambda);
        assert_true(m.dist.gamma == p.mechanism.dist.gamma && m.dist.cover == r.dist.cover);
        assert_true(c.one_contact == r.dist.one_contact && c.cells_per_user == r.cells_per_user);
        terms_say_what_the_plan_says(&c, &p);
    }
}

static void other_plans_do_not(void **state)
{
    const fre_collection base = good();
    fre_collection_parts parts = parts_of(&base);
    fre_collection c;
    fre_plan_request r;
    fre_plan p;

    (void)state;
    memset(&c, 0xa5, sizeof c);
    fre_plan_request_init(&r);
    r.epsilon = 4;
    r.population = 100000;
    assert_int_equal(fre_plan_make(&p, &r, NULL), FRE_OK); /* a curator's */
    assert_int_equal(fre_collection_from_plan(&c, &p, &parts, NULL), FRE_E_USAGE);
    fre_plan_request_init(&r);
    r.dist.cover = true;
    plan_for(&p, &r);
    parts.tag_url = NULL;
    assert_int_equal(fre_collection_from_plan(&c, &p, &parts, NULL), FRE_E_DATA);
    parts.tag_url = base.tag_url;
    parts.end = parts.open;
    assert_int_equal(fre_collection_from_plan(&c, &p, &parts, NULL), FRE_E_DATA);
    parts.end = base.end;
    p.mechanism.sigma /= 2;
    assert_int_equal(fre_collection_from_plan(&c, &p, &parts, NULL), FRE_E_REFUSED);
    p.mechanism.sigma *= 2;
    p.mechanism.dist.lambda *= 0.99999; /* no multiple of 2^-16: up to one that is */
    assert_int_equal(fre_collection_from_plan(&c, &p, &parts, NULL), FRE_OK);
    assert_true((double)c.lambda16 / 65536 >= p.mechanism.dist.lambda);
}

static void share_bits_are_derived(void **state)
{
    sample s;
    fre_collection c = sample_collection(&s);
    fre_list_entry e[2];
    fre_list l;
    fre_buf b;
    uint32_t few, many;

    (void)state;
    sample_init_from(&s, &c);
    sample_tags(&e[0].tag, 1);
    e[0].count = 82;
    fre_buf_init(&b, SAMPLE_MAX);
    assert_int_equal(fre_list_encode(&b, &s.w, NULL, 0, &s.syn_sk), FRE_OK);
    assert_int_equal(fre_list_decode(&l, &s.w, sample_view(&b), NULL), FRE_OK);
    assert_int_equal(fre_wire_derive_share_bits(&s.w, &l, NULL), FRE_OK);
    few = s.w.share_bits;
    fre_buf_wipe(&b);
    assert_int_equal(fre_list_encode(&b, &s.w, e, 1, &s.syn_sk), FRE_OK);
    assert_int_equal(fre_list_decode(&l, &s.w, sample_view(&b), NULL), FRE_OK);
    assert_int_equal(fre_wire_derive_share_bits(&s.w, &l, NULL), FRE_OK);
    assert_int_equal(s.w.share_bits, few); /* an empty list counts as one cell of tau */
    fre_buf_wipe(&b);
    e[0].count = 100000;
    assert_int_equal(fre_list_encode(&b, &s.w, e, 1, &s.syn_sk), FRE_OK);
    assert_int_equal(fre_list_decode(&l, &s.w, sample_view(&b), NULL), FRE_OK);
    assert_int_equal(fre_wire_derive_share_bits(&s.w, &l, NULL), FRE_OK);
    many = s.w.share_bits;
    assert_true(few >= FRE_SHARING_BITS_MIN && many > few && many <= FRE_SHARING_BITS_MAX);
    assert_int_equal(fre_wire_share_bytes(&s.w), 384 * many / 8);
    assert_int_equal(fre_wire_derive_share_bits(&s.w, NULL, NULL), FRE_E_ARG);
    c.one_contact = true;
    c.dropout = 0;
    c.shares_close = c.tags_close;
    sample_init_from(&s, &c);
    assert_int_equal(fre_wire_derive_share_bits(&s.w, &l, NULL), FRE_E_ARG);
    assert_int_equal(fre_wire_derive_share_bits(&s.w, NULL, NULL), FRE_OK);
    fre_buf_wipe(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_keep_all_their_bits),
        cmocka_unit_test(pitfall_01_times_keep_all_their_bits),
        cmocka_unit_test(every_byte_counts),
        cmocka_unit_test(rules_are_enforced),
        cmocka_unit_test(addresses),
        cmocka_unit_test(addresses_have_one_encoding),
        cmocka_unit_test(json_keeps_the_id),
        cmocka_unit_test(json_is_strict),
        cmocka_unit_test(claims_are_checked),
        cmocka_unit_test(plans_become_collections),
        cmocka_unit_test(other_plans_do_not),
        cmocka_unit_test(share_bits_are_derived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
