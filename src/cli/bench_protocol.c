/* bench_protocol.c - `bench protocol`: the distributed protocol's operations, one core, each beside
 * what the paper reports for it ([Fre-E2T, appendix on costs], measured on its authors' machine). */
#include "bench.h"

#include <fre/oprf.h>

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

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

typedef struct state {
    voprf v;
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
    return fre_oprf_finalize(s->v.output, &s->v.key.pub, s->v.input, s->v.blind, s->v.blinded, 1,
                             s->v.evaluated, 1, &s->v.proof_one);
}

static fre_status finalize_batch(state *s)
{
    return fre_oprf_finalize(s->v.output, &s->v.key.pub, s->v.input, s->v.blind, s->v.blinded,
                             BATCH, s->v.evaluated, BATCH, &s->v.proof_batch);
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
};
#define N_ROWS (sizeof rows / sizeof *rows)

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Processor time of this process in microseconds: what an operation costs, whoever else runs. */
static double spent_us(void)
{
    struct rusage u;

    if (getrusage(RUSAGE_SELF, &u) != 0)
        return 0;
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* Median over the rounds of the mean cost of an operation. */
static fre_status time_row(double *us, const row *r, state *s)
{
    double mean[ROUNDS];

    for (size_t i = 0; i < ROUNDS; i++) {
        const double start = spent_us();
        uint64_t calls = 0;
        double spent;

        do {
            const fre_status st = r->once(s);

            if (st != FRE_OK)
                return st;
            calls++;
            spent = spent_us() - start;
        } while (spent < ROUND_US);
        mean[i] = spent / ((double)calls * r->per_call);
        if (fre_interrupted())
            return FRE_E_INTERRUPTED;
    }
    qsort(mean, ROUNDS, sizeof *mean, by_size);
    *us = mean[ROUNDS / 2];
    return FRE_OK;
}

static void print_rows(FILE *out, const double us[N_ROWS], bool json)
{
    (void)fprintf(out,
                  json ? "{"
                       : "protocol  one core; microseconds of processor time each [the paper's]\n");
    for (size_t i = 0; i < N_ROWS; i++) {
        const row *r = &rows[i];

        if (json && r->paper_us > 0)
            (void)fprintf(out, "%s\"%s\": {\"us\": %.3f, \"paper_us\": %.2f}", i ? ", " : "",
                          r->json_name, us[i], r->paper_us);
        else if (json)
            (void)fprintf(out, "%s\"%s\": {\"us\": %.3f}", i ? ", " : "", r->json_name, us[i]);
        else if (r->paper_us > 0)
            (void)fprintf(out, "  %-38s %9.2f  [%.2f]\n", r->name, us[i], r->paper_us);
        else
            (void)fprintf(out, "  %-38s %9.2f\n", r->name, us[i]);
    }
    if (json)
        (void)fprintf(out, "}\n");
}

fre_status fre_bench_protocol(bool json, FILE *out, fre_err *err)
{
    double us[N_ROWS];
    state *s = calloc(1, sizeof *s);
    fre_status st;

    if (!s)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    st = voprf_setup(&s->v);
    for (size_t i = 0; i < N_ROWS && st == FRE_OK; i++)
        st = time_row(&us[i], &rows[i], s);
    if (st == FRE_OK)
        print_rows(out, us, json);
    else
        (void)fre_fail(err, st, "the protocol's operations could not be timed: %s",
                       fre_status_text(st));
    fre_wipe(s, sizeof *s);
    free(s);
    return st;
}
