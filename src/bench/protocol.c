/* bench/protocol.c - `bench protocol`: the distributed protocol's operations, one core, each beside
 * what the paper reports for it ([Fre-E2T, appendix on costs], measured on its authors' machine). */
#include "machines.h"

#include <fre/oprf.h>
#include <fre/seal.h>
#include <fre/sharing.h>
#include <fre/wire.h>

#include <stdlib.h>
#include <string.h>

#define ROUNDS 5u
#define ROUND_US 120000.0
#define BATCH 10u

typedef struct voprf {
    fre_oprf_key key;
    fre_bytes input[BATCH];
    fre_oprf_blind blind[BATCH];
    fre_oprf_element blinded[BATCH], evaluated[BATCH];
    fre_oprf_proof proof_one, proof_batch;
    fre_oprf_output output[BATCH];
    fre_rng rng;
} voprf;

#define REPORT_BYTES 1500u /* about a packed share of 384 values */
#define TAG_BYTES 64u      /* a request or a response of the first phase */

typedef struct envelopes {
    fre_ohttp_key key;
    fre_sign_sk sign_sk;
    fre_sign_pk sign_pk;
    fre_signature signature;
    uint8_t report[REPORT_BYTES];
    uint8_t sealed[REPORT_BYTES + FRE_HPKE_OVERHEAD];
    fre_buf plain, request, response; /* empty between calls */
    fre_rng rng;
} envelopes;

#define DIM 768u
#define COUNT 1000u
#define SPLIT 0.6

/* A cell of COUNT users at sigma 1.5, d = 768. */
typedef struct sharing {
    fre_share_cell cell;
    fre_rotation *rotation;
    fre_gaussian_table *table;
    fre_share_expander *expander;
    size_t bytes;
    uint8_t packed[4 * DIM];
    fre_share_seed seed;
    uint32_t sum[2][DIM]; /* of either server */
    float x[DIM], centroid[DIM];
    fre_rng rng;
    fre_wire wire; /* of a cell that is cut: an id alone counts */
    fre_report_id id[COUNT];
    uint8_t third[COUNT];
} sharing;

typedef struct state {
    voprf v;
    envelopes e;
    sharing s;
} state;

/* One call of `once` does `per_call` operations. */
typedef struct row {
    const char *name, *json_name;
    unsigned per_call;
    double paper_us; /* 0: the paper has none */
    fre_status (*once)(state *s);
} row;

/* ---- VOPRF ------------------------------------------------------------------------------- */

static fre_status voprf_setup(voprf *v)
{
    static const uint8_t cell[32] = "an input as long as a cell";
    fre_status st = fre_rng_init(&v->rng);

    if (st == FRE_OK)
        st = fre_oprf_key_generate(&v->key, &v->rng);
    for (size_t i = 0; i < BATCH && st == FRE_OK; i++) {
        v->input[i] = (fre_bytes){cell, sizeof cell};
        st = fre_oprf_blind_input(&v->blind[i], &v->blinded[i], v->input[i], &v->rng);
    }
    if (st == FRE_OK)
        st = fre_oprf_blind_evaluate(v->evaluated, &v->proof_batch, &v->key, v->blinded, BATCH,
                                     &v->rng);
    if (st == FRE_OK)
        st = fre_oprf_prove(&v->proof_one, &v->key, v->blinded, v->evaluated, 1, &v->rng);
    return st;
}

static fre_status blind(state *s)
{
    fre_oprf_blind r;
    fre_oprf_element e;

    return fre_oprf_blind_input(&r, &e, s->v.input[0], &s->v.rng);
}

static fre_status evaluate(state *s)
{
    return fre_oprf_evaluate_elements(s->v.evaluated, &s->v.key, s->v.blinded, 1);
}

static fre_status evaluate_proof(state *s)
{
    fre_oprf_proof p;

    return fre_oprf_blind_evaluate(s->v.evaluated, &p, &s->v.key, s->v.blinded, 1, &s->v.rng);
}

static fre_status evaluate_proof_batch(state *s)
{
    fre_oprf_proof p;

    return fre_oprf_blind_evaluate(s->v.evaluated, &p, &s->v.key, s->v.blinded, BATCH, &s->v.rng);
}

static fre_status finalize(state *s)
{
    return fre_oprf_finalize(s->v.output, &s->v.key.pub,
                             &(fre_oprf_request){s->v.input, s->v.blind, s->v.blinded, 1},
                             s->v.evaluated, 1, &s->v.proof_one);
}

static fre_status finalize_batch(state *s)
{
    return fre_oprf_finalize(s->v.output, &s->v.key.pub,
                             &(fre_oprf_request){s->v.input, s->v.blind, s->v.blinded, BATCH},
                             s->v.evaluated, BATCH, &s->v.proof_batch);
}

/* ---- sealed messages --------------------------------------------------------------------- */

static const fre_bytes no_bytes = {NULL, 0};

static fre_status hpke_seal(state *s)
{
    return fre_hpke_seal_once(s->e.sealed, FRE_HPKE_AES_128_GCM, &s->e.key.pair.pk, no_bytes,
                              no_bytes, (fre_bytes){s->e.report, REPORT_BYTES}, &s->e.rng);
}

static fre_status hpke_open(state *s)
{
    return fre_hpke_open_once(s->e.report, FRE_HPKE_AES_128_GCM, &s->e.key.pair, no_bytes, no_bytes,
                              (fre_bytes){s->e.sealed, sizeof s->e.sealed});
}

static fre_status sign(state *s)
{
    return fre_sign_statement(&s->e.signature, &s->e.sign_sk, "bench",
                              (fre_bytes){s->e.report, REPORT_BYTES});
}

static fre_status verify(state *s)
{
    return fre_sign_verify(&s->e.sign_pk, &s->e.signature, "bench",
                           (fre_bytes){s->e.report, REPORT_BYTES});
}

static fre_bytes text(const char *t)
{
    return (fre_bytes){(const uint8_t *)t, strlen(t)};
}

/* Binary HTTP of one kind into e->plain. */
static fre_status write_plain(envelopes *e, fre_bhttp_kind kind)
{
    const fre_bhttp m = {.kind = kind,
                         .method = text("POST"),
                         .scheme = text("https"),
                         .authority = text("tagging.example"),
                         .path = text("/v1/evaluate"),
                         .status = 200,
                         .content = {e->report, TAG_BYTES}};

    fre_buf_wipe(&e->plain);
    return fre_bhttp_encode(&e->plain, &m, 0);
}

static fre_status read_plain(envelopes *e, fre_bhttp_kind kind)
{
    fre_bhttp m;
    fre_status st = fre_bhttp_decode(&m, kind, (fre_bytes){e->plain.p, e->plain.n});

    if (st == FRE_OK)
        fre_bhttp_wipe(&m);
    fre_buf_wipe(&e->plain);
    return st;
}

/* Client and gateway, there and back, binary HTTP included. */
static fre_status ohttp_round(state *s)
{
    envelopes *e = &s->e;
    fre_ohttp_exchange client, gateway;
    fre_status st = write_plain(e, FRE_BHTTP_REQUEST);

    if (st != FRE_OK)
        goto out;
    st = fre_ohttp_request_seal(&client, &e->request, &e->key.config, FRE_HPKE_AES_128_GCM,
                                (fre_bytes){e->plain.p, e->plain.n}, &e->rng);
    fre_buf_wipe(&e->plain);
    if (st != FRE_OK)
        goto out;
    st = fre_ohttp_request_open(&gateway, &e->plain, &e->key, 1,
                                (fre_bytes){e->request.p, e->request.n});
    if (st != FRE_OK)
        goto out;
    st = read_plain(e, FRE_BHTTP_REQUEST);
    if (st != FRE_OK)
        goto out;
    st = write_plain(e, FRE_BHTTP_RESPONSE);
    if (st != FRE_OK)
        goto out;
    st = fre_ohttp_response_seal(&gateway, &e->response, (fre_bytes){e->plain.p, e->plain.n},
                                 &e->rng);
    fre_buf_wipe(&e->plain);
    if (st != FRE_OK)
        goto out;
    st = fre_ohttp_response_open(&client, &e->plain, (fre_bytes){e->response.p, e->response.n});
    if (st != FRE_OK)
        goto out;
    st = read_plain(e, FRE_BHTTP_RESPONSE);
out:
    fre_buf_wipe(&e->request);
    fre_buf_wipe(&e->response);
    return st;
}

static fre_status envelopes_setup(state *s)
{
    envelopes *e = &s->e;
    fre_status st = fre_rng_init(&e->rng);

    fre_buf_init(&e->plain, 4096);
    fre_buf_init(&e->request, 4096);
    fre_buf_init(&e->response, 4096);
    if (st == FRE_OK)
        st = fre_hpke_keygen(&e->key.pair, &e->rng);
    if (st == FRE_OK)
        st = fre_sign_keygen(&e->sign_sk, &e->sign_pk, &e->rng);
    if (st != FRE_OK)
        return st;
    e->key.config = (fre_ohttp_config){
        .pk = e->key.pair.pk, .id = 1, .aeads = 1, .aead = {FRE_HPKE_AES_128_GCM}};
    st = hpke_seal(s);
    return st == FRE_OK ? sign(s) : st;
}

/* ---- shares ------------------------------------------------------------------------------ */

static fre_status sharing_setup(sharing *s)
{
    const uint8_t sign_seed[FRE_SIGN_SEED_BYTES] = {1};
    const fre_mechanism m = {
        .p32 = FRE_P_ONE / 2,
        .tau = 50,
        .sigma = 1.5,
        .population = 1000000,
        .sketch.grid.proj = 40,
        .sketch.grid.cell_edge = 0.158,
        .norm_bound = 1,
        .dim = DIM,
        .cells_per_user = 1,
        .noise = FRE_NOISE_DISCRETE,
        .dist = {.on = true, .cover = true, .curious = 1, .lambda = 2, .gamma = 30, .phi = 1e-10},
    };
    uint32_t bits = 0;
    fre_status st = fre_rng_init(&s->rng);

    for (size_t i = 0; i < DIM; i++)
        s->x[i] = 1 / 27.8F; /* of norm 1 nearly */
    if (st != FRE_OK)
        return st;
    fre_rng_bytes(&s->rng, s->id, sizeof s->id);
    st = fre_share_bits(&bits, &m, SPLIT, COUNT, 1000, NULL);
    if (st != FRE_OK)
        return st;
    st = fre_share_cell_init(&s->cell, &m, SPLIT, COUNT, bits, NULL);
    if (st != FRE_OK)
        return st;
    st = fre_rotation_new(&s->rotation, DIM, sign_seed);
    if (st != FRE_OK)
        return st;
    st = fre_gaussian_table_new(&s->table, s->cell.var16);
    if (st != FRE_OK)
        return st;
    st = fre_share_expander_new(&s->expander, DIM, bits);
    s->bytes = fre_share_bytes(DIM, bits);
    return st;
}

static void sharing_free(sharing *s)
{
    fre_rotation_free(s->rotation);
    fre_gaussian_table_free(s->table);
    fre_share_expander_free(s->expander);
}

static fre_status share(state *b)
{
    sharing *s = &b->s;

    return fre_share_make(s->packed, s->bytes, &s->seed, s->rotation, &s->cell, s->x, &s->rng);
}

static fre_status share_table_kept(state *b)
{
    sharing *s = &b->s;
    const fre_share_noise noise = fre_share_table_noise(s->table);

    return fre_share_make_with(s->packed, s->bytes, &s->seed, s->rotation, &s->cell, s->x, &noise,
                               &s->rng);
}

/* What both servers do with one client's share, the seed's expansion included. */
static fre_status accumulate(state *b)
{
    sharing *s = &b->s;
    fre_status st =
        fre_share_add(s->sum[0], DIM, s->cell.bits, (fre_bytes){.p = s->packed, .n = s->bytes});

    return st == FRE_OK ? fre_share_expander_add(s->expander, s->sum[1], &s->seed) : st;
}

/* Both sums to a centroid. */
static fre_status reconstruct(state *b)
{
    sharing *s = &b->s;
    uint32_t sum[DIM];

    for (size_t i = 0; i < DIM; i++)
        sum[i] = (uint32_t)i - DIM / 2 - s->sum[1][i]; /* together within the guard */
    fre_share_combine(sum, s->sum[1], DIM);
    return fre_share_open(s->centroid, s->rotation, &s->cell, sum, DIM, COUNT, NULL);
}

/* Which of COUNT ids is in which third. */
static fre_status cut(state *b)
{
    static const fre_split_seed seed = {{1}};
    sharing *s = &b->s;

    return fre_split_ids(s->third, &s->wire, &seed, s->id, COUNT);
}

/* ---- timing ------------------------------------------------------------------------------ */

static const row rows[] = {
    {"VOPRF: blind (client)", "voprf_blind", 1, 0, blind},
    {"VOPRF: evaluate, no proof", "voprf_evaluate", 1, 89.5, evaluate},
    {"VOPRF: evaluate and prove, one", "voprf_evaluate_proof", 1, 0, evaluate_proof},
    {"VOPRF: the same in batches of ten", "voprf_evaluate_proof_of_ten", BATCH, 0,
     evaluate_proof_batch},
    {"VOPRF: verify and finalize (client)", "voprf_finalize", 1, 0, finalize},
    {"VOPRF: the same in batches of ten", "voprf_finalize_of_ten", BATCH, 0, finalize_batch},
    {"HPKE: seal 1500 bytes (client)", "hpke_seal", 1, 0, hpke_seal},
    {"HPKE: open 1500 bytes", "hpke_open", 1, 0, hpke_open},
    {"OHTTP: both sides, there and back", "ohttp_round_trip", 1, 0, ohttp_round},
    {"Ed25519: sign 1500 bytes", "statement_sign", 1, 0, sign},
    {"Ed25519: verify 1500 bytes", "statement_verify", 1, 0, verify},
    {"share made (client), d = 768", "share_made", 1, 0, share},
    {"the same, its noise's table kept", "share_made_table_kept", 1, 0, share_table_kept},
    {"share accumulated, seed expanded", "share_accumulated", 1, 10.7, accumulate},
    {"cell reconstructed", "cell_reconstructed", 1, 60.5, reconstruct},
    {"splits: an id's third", "split_id", COUNT, 0, cut},
};
#define N_ROWS (sizeof rows / sizeof *rows)

/* Median over the rounds of the mean cost of an operation. */
static fre_status time_row(double *us, const row *r, state *s)
{
    double mean[ROUNDS];

    for (size_t i = 0; i < ROUNDS; i++) {
        const double start = bench_spent_us();
        uint64_t calls = 0;
        double spent;

        do {
            const fre_status st = r->once(s);

            if (st != FRE_OK)
                return st;
            calls++;
            spent = bench_spent_us() - start;
        } while (spent < ROUND_US);
        mean[i] = spent / ((double)calls * r->per_call);
        if (fre_interrupted())
            return FRE_E_INTERRUPTED;
    }
    *us = bench_median(mean, ROUNDS);
    return FRE_OK;
}

static void print_rows(const fre_bench_output *out, const double us[N_ROWS],
                       const bench_machines *m)
{
    FILE *json = out->json;

    if (json)
        (void)fputc('{', json);
    else
        bench_line(out, 4, "protocol  one core; microseconds of processor time each [the paper's]");
    for (size_t i = 0; i < N_ROWS; i++) {
        const row *r = &rows[i];

        if (json && r->paper_us > 0)
            (void)fprintf(json, "%s\"%s\": {\"us\": %.3f, \"paper_us\": %.2f}", i ? ", " : "",
                          r->json_name, us[i], r->paper_us);
        else if (json)
            (void)fprintf(json, "%s\"%s\": {\"us\": %.3f}", i ? ", " : "", r->json_name, us[i]);
        else if (r->paper_us > 0)
            bench_line(out, 6, "  %-38s %9.2f  [%.2f]", r->name, us[i], r->paper_us);
        else
            bench_line(out, 6, "  %-38s %9.2f", r->name, us[i]);
    }
    if (json) {
        bench_machines_json(json, m);
        (void)fprintf(json, "}\n");
    } else {
        bench_machines_lines(out, m);
    }
}

static fre_status setup(state *s)
{
    fre_status st = voprf_setup(&s->v);

    if (st != FRE_OK)
        return st;
    st = sharing_setup(&s->s);
    if (st != FRE_OK)
        return st;
    st = envelopes_setup(s);
    return st;
}

fre_status fre_bench_protocol(const fre_bench_output *out, fre_err *err)
{
    double us[N_ROWS];
    bench_machines m;
    state *s = calloc(1, sizeof *s);
    fre_status st;

    if (!s)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    st = setup(s);
    for (size_t i = 0; i < N_ROWS && st == FRE_OK; i++)
        st = time_row(&us[i], &rows[i], s);
    if (st == FRE_OK)
        st = bench_machines_time(&m, err);
    if (st == FRE_OK)
        print_rows(out, us, &m);
    else
        (void)fre_fail(err, st, "the protocol's operations could not be timed: %s",
                       fre_status_text(st));
    fre_buf_wipe(&s->e.plain);
    fre_buf_wipe(&s->e.request);
    fre_buf_wipe(&s->e.response);
    sharing_free(&s->s);
    fre_wipe(s, sizeof *s);
    free(s);
    return st;
}
