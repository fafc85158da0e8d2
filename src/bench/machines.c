/* bench/machines.c - part of `bench protocol`: the machines of fre/server.h.  What a user sends and gets,
 * what client, issuer and S_tag spend on it, and what a message costs the relay, in time and in bytes of
 * rows, with so many entries there before. */
#include "machines.h"

#include <fre/server.h>

#include <stdlib.h>
#include <string.h>

#define USERS UINT64_C(1000000)
#define WINDOW 2000u /* calls that are timed */
#define CLIENTS 200u
#define FILL_DIM 32u /* a million entries in 0.4 GB */

typedef struct world {
    fre_collection c;
    fre_agreement *a;
    fre_server *relay, *issuer, *tag;
    fre_server_keys keys[FRE_ROLE_ISSUER + 1]; /* SECRET; by role */
    fre_reply reply, back;
    fre_letters letters;
    size_t up, down;            /* bytes of one user */
    double client, admit, tags; /* microseconds */
} world;

static fre_status everybody(void *ctx, uint8_t name[32], fre_bytes credentials)
{
    (void)ctx;
    memset(name, 0, 32);
    memcpy(name, credentials.p, credentials.n < 32 ? credentials.n : 32);
    return FRE_OK;
}

/* ---- terms and machines -------------------------------------------------------------------------- */

static fre_status draw(world *w, fre_collection_parts *p, fre_oprf_key *oprf, fre_oprf_key *issuer,
                       fre_rng *r)
{
    fre_sign_pk *const sign[] = {NULL, &p->tag_sign, &p->syn_sign, &p->relay_sign, &p->issuer_sign};
    fre_status st = fre_oprf_key_generate(oprf, r);

    if (st == FRE_OK)
        st = fre_oprf_key_generate(issuer, r);
    for (unsigned role = FRE_ROLE_TAG; st == FRE_OK && role <= FRE_ROLE_ISSUER; role++) {
        st = fre_hpke_keygen(&w->keys[role].seal, r);
        if (st == FRE_OK)
            st = fre_sign_keygen(&w->keys[role].sign, sign[role], r);
    }
    fre_rng_bytes(r, p->contribution, sizeof p->contribution);
    p->oprf_pk = oprf->pub;
    p->issuer_pk = issuer->pub;
    p->tag_seal = w->keys[FRE_ROLE_TAG].seal.pk;
    p->syn_seal = w->keys[FRE_ROLE_SYN].seal.pk;
    p->issuer_seal = w->keys[FRE_ROLE_ISSUER].seal.pk;
    return st;
}

/* plan --distributed --epsilon 4 --population 1000000 */
static fre_status terms(world *w, uint32_t dim, const fre_collection_parts *p, fre_err *err)
{
    fre_plan_request q;
    fre_plan plan;
    fre_status st;

    fre_plan_request_init(&q);
    q.epsilon = 4;
    q.delta = 1e-7;
    q.population = USERS;
    q.dim = dim;
    q.noise = FRE_NOISE_DISCRETE;
    q.dist = (fre_distributed){
        .on = true, .cover = true, .one_contact = true, .server_noise = true, .curious = 1};
    st = fre_plan_make(&plan, &q, err);
    if (st == FRE_OK)
        st = fre_collection_from_plan(&w->c, &plan, p, err);
    return st == FRE_OK ? fre_agreement_new(&w->a, &w->c, err) : st;
}

static fre_status open_world(world *w, uint32_t dim, fre_err *err)
{
    const fre_issuer_host host = {.person = everybody};
    fre_collection_parts p = {.aead = FRE_HPKE_AES_128_GCM,
                              .batch_min = 1,
                              .relay_url = "http://localhost",
                              .tag_url = "http://localhost",
                              .syn_url = "http://localhost",
                              .issuer_url = "http://localhost",
                              .open = 1,
                              .exchange_close = 1000,
                              .tags_close = 2000,
                              .shares_close = 2000,
                              .end = 3000};
    fre_oprf_key oprf, issuer;
    fre_rng r;
    fre_status st = fre_rng_init(&r);

    if (st != FRE_OK)
        return st;
    st = draw(w, &p, &oprf, &issuer, &r);
    fre_rng_wipe(&r);
    if (st == FRE_OK)
        st = terms(w, dim, &p, err);
    if (st != FRE_OK)
        return st;
    st = fre_server_new_relay(&w->relay, w->a, &w->keys[FRE_ROLE_RELAY].sign, err);
    if (st == FRE_OK)
        st = fre_server_new_issuer(&w->issuer, w->a, &w->keys[FRE_ROLE_ISSUER], &issuer, &host, err);
    return st == FRE_OK
               ? fre_server_new_tagging(&w->tag, w->a, &w->keys[FRE_ROLE_TAG], &oprf, err)
               : st;
}

static void close_world(world *w)
{
    fre_server_free(w->relay);
    fre_server_free(w->issuer);
    fre_server_free(w->tag);
    fre_agreement_free(w->a);
    fre_letters_wipe(&w->letters);
    fre_reply_wipe(&w->reply);
    fre_reply_wipe(&w->back);
    fre_wipe(w, sizeof *w);
}

static fre_bytes view(const fre_buf *b)
{
    return (fre_bytes){.p = b->p, .n = b->n};
}

/* ---- a client ------------------------------------------------------------------------------------- */

/* What it is to send now to the relay, through it, and back; the client's own time is counted by the caller. */
static fre_status there_and_back(world *w, fre_server *client, double *own, int64_t now)
{
    fre_server *const to[] = {[FRE_ROLE_TAG] = w->tag, [FRE_ROLE_ISSUER] = w->issuer};
    double *const spent[] = {[FRE_ROLE_TAG] = &w->tags, [FRE_ROLE_ISSUER] = &w->admit};
    double start = bench_spent_us();
    fre_bytes asked;
    fre_role role;
    fre_status st;

    fre_letters_wipe(&w->letters);
    st = fre_server_tick(client, &w->letters, NULL, now);
    *own += bench_spent_us() - start;
    if (st != FRE_OK || w->letters.n == 0)
        return st;
    asked = view(&w->letters.letter[0].message);
    w->up += asked.n;
    st = fre_server_handle(w->relay, &w->reply, asked, now);
    role = w->reply.forward;
    if (st == FRE_OK && role != 0) {
        start = bench_spent_us();
        st = fre_server_handle(to[role], &w->back, view(&w->reply.message), now);
        *spent[role] += bench_spent_us() - start;
        if (st == FRE_OK)
            st = fre_server_returned(w->relay, &w->reply, asked, view(&w->back.message), now);
    }
    if (st != FRE_OK)
        return st;
    w->down += w->reply.message.n;
    start = bench_spent_us();
    st = fre_server_answered(client, NULL, w->letters.letter[0].cookie, view(&w->reply.message),
                             now);
    *own += bench_spent_us() - start;
    return st;
}

static fre_status new_client(world *w, fre_server **out, uint32_t i)
{
    float *x = calloc(w->c.dim, sizeof *x);
    const fre_client_setup setup = {
        .x = x, .n = 1, .credentials = {(const uint8_t *)&i, sizeof i}, .fresh = true};
    const double start = bench_spent_us();
    fre_status st;

    if (!x)
        return FRE_E_NOMEM;
    x[i % w->c.dim] = 1;
    st = fre_server_new_client(out, w->a, &setup, NULL);
    w->client += bench_spent_us() - start;
    free(x);
    return st;
}

/* Everybody's admission, then tags, then entries: the machines' clocks go forwards. */
static fre_status all_clients(world *w, fre_server **client)
{
    static const int64_t at[] = {999, 999, 1999};
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < CLIENTS; i++)
        st = new_client(w, &client[i], i);
    for (size_t k = 0; k < sizeof at / sizeof *at; k++)
        for (uint32_t i = 0; st == FRE_OK && i < CLIENTS; i++)
            st = there_and_back(w, client[i], &w->client, at[k]);
    for (uint32_t i = 0; st == FRE_OK && i < CLIENTS; i++)
        if (fre_server_phase(client[i]) != FRE_PHASE_CLOSED ||
            fre_server_client_verdict(client[i]) != FRE_OK)
            st = FRE_E_INTERNAL;
    return st;
}

static fre_status time_clients(bench_user *out, uint32_t dim, fre_err *err)
{
    fre_server *client[CLIENTS] = {NULL};
    world *w = calloc(1, sizeof *w);
    fre_status st;

    if (!w)
        return FRE_E_NOMEM;
    fre_reply_init(&w->reply);
    fre_reply_init(&w->back);
    st = open_world(w, dim, err);
    if (st == FRE_OK)
        st = all_clients(w, client);
    for (uint32_t i = 0; i < CLIENTS; i++)
        fre_server_free(client[i]);
    *out = (bench_user){.dim = dim,
                        .up = w->up / CLIENTS,
                        .down = w->down / CLIENTS,
                        .client_us = w->client / CLIENTS,
                        .issuer_us = w->admit / CLIENTS,
                        .tagging_us = w->tags / CLIENTS};
    close_world(w);
    free(w);
    return st;
}

/* ---- the relay, as it fills ----------------------------------------------------------------------- */

/* A message that only says its number: the relay cannot look inside. */
static fre_status carry(fre_buf *out, const fre_wire *w, fre_wire_type what,
                        const fre_admission *token, uint64_t i)
{
    const size_t head = what == FRE_WIRE_ENTRY ? FRE_WIRE_HEAD_BYTES : 0;
    const size_t n = what == FRE_WIRE_ENTRY ? head + fre_entry_sealed_bytes(w, what)
                                            : fre_exchange_request_bytes(w, what);
    uint8_t *bytes = calloc(1, n);
    fre_carry m = {.what = what, .bytes = {bytes, n}};
    fre_status st;

    if (!bytes)
        return FRE_E_NOMEM;
    if (head > 0) {
        bytes[0] = FRE_WIRE_VERSION;
        bytes[1] = FRE_WIRE_ENTRY;
        memcpy(bytes + 2, w->id.b, sizeof w->id.b);
        m.token = *token;
    }
    memcpy(bytes + head, &i, sizeof i);
    fre_buf_wipe(out);
    st = fre_carry_encode(out, w, &m);
    free(bytes);
    return st;
}

/* Admits, and takes the entry; *rows: bytes of the rows of the latter. */
static fre_status one_entry(world *w, uint64_t i, fre_buf *message, fre_bytes answer, double *us,
                            size_t *rows)
{
    const fre_wire *wire = fre_agreement_wire(w->a);
    fre_admitted m;
    double start;
    fre_status st = carry(message, wire, FRE_WIRE_ISSUE_REQUEST, NULL, i);

    if (st == FRE_OK)
        st = fre_server_returned(w->relay, &w->reply, view(message), answer, 500);
    if (st == FRE_OK)
        st = fre_admitted_decode(&m, wire, view(&w->reply.message), NULL);
    if (st != FRE_OK)
        return st;
    st = carry(message, wire, FRE_WIRE_ENTRY, &m.token, i);
    start = bench_spent_us();
    if (st == FRE_OK)
        st = fre_server_handle(w->relay, &w->reply, view(message), 1500);
    *us += bench_spent_us() - start;
    *rows += w->reply.rows.raw.n;
    return st == FRE_OK && w->reply.why != FRE_ACCEPTED ? FRE_E_INTERNAL : st;
}

static fre_status fill(world *w, bench_relay *out, fre_bytes answer)
{
    static const uint64_t at[BENCH_FILLS] = {10000, 100000, 1000000};
    fre_buf message;
    fre_status st = FRE_OK;
    uint64_t i = 0;

    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    for (size_t k = 0; st == FRE_OK && k < BENCH_FILLS; k++) {
        double us = 0, unused = 0;
        size_t rows = 0;

        for (; st == FRE_OK && i < at[k] - WINDOW; i++)
            st = one_entry(w, i, &message, answer, &unused, &rows);
        us = bench_spent_us();
        rows = 0;
        for (; st == FRE_OK && i < at[k]; i++)
            st = one_entry(w, i, &message, answer, &unused, &rows);
        us = bench_spent_us() - us;
        out[k] = (bench_relay){.entries = at[k], .us = us / WINDOW, .rows = rows / WINDOW};
        if (fre_interrupted())
            st = FRE_E_INTERRUPTED;
    }
    fre_buf_wipe(&message);
    return st;
}

static fre_status time_relay(bench_relay *out, fre_err *err)
{
    world *w = calloc(1, sizeof *w);
    uint8_t *answer = NULL;
    fre_status st;

    if (!w)
        return FRE_E_NOMEM;
    fre_reply_init(&w->reply);
    fre_reply_init(&w->back);
    st = open_world(w, FILL_DIM, err);
    if (st == FRE_OK) {
        const size_t n = fre_exchange_answer_bytes(fre_agreement_wire(w->a));

        answer = calloc(1, n);
        st = answer ? fill(w, out, (fre_bytes){answer, n}) : FRE_E_NOMEM;
    }
    free(answer);
    close_world(w);
    free(w);
    return st;
}

fre_status bench_machines_time(bench_machines *out, fre_err *err)
{
    fre_status st = time_clients(&out->user[0], 384, err);

    if (st == FRE_OK)
        st = time_clients(&out->user[1], 768, err);
    return st == FRE_OK ? time_relay(out->relay, err) : st;
}

void bench_machines_json(FILE *json, const bench_machines *m)
{
    for (size_t i = 0; i < BENCH_DIMS; i++) {
        const bench_user *u = &m->user[i];

        (void)fprintf(json,
                      ", \"user_%u\": {\"bytes_up\": %zu, \"bytes_down\": %zu, \"client_us\": %.1f, "
                      "\"issuer_us\": %.1f, \"tagging_us\": %.1f}",
                      u->dim, u->up, u->down, u->client_us, u->issuer_us, u->tagging_us);
    }
    for (size_t i = 0; i < BENCH_FILLS; i++)
        (void)fprintf(json, ", \"relay_%llu\": {\"us\": %.2f, \"row_bytes\": %zu}",
                      (unsigned long long)m->relay[i].entries, m->relay[i].us, m->relay[i].rows);
}

void bench_machines_lines(const fre_bench_output *out, const bench_machines *m)
{
    bench_line(out, 4, "one contact, servers' noise: one user of a million, one place");
    for (size_t i = 0; i < BENCH_DIMS; i++) {
        const bench_user *u = &m->user[i];

        bench_line(out, 6,
                   "  d = %u: %zu bytes up, %zu down; client %.0f us, issuer %.0f, S_tag %.0f", u->dim,
                   u->up, u->down, u->client_us, u->issuer_us, u->tagging_us);
    }
    for (size_t i = 0; i < BENCH_FILLS; i++)
        bench_line(out, 6, "  relay, d = 32, %llu entries there: %.2f us a user, %zu bytes of rows an entry",
                   (unsigned long long)m->relay[i].entries, m->relay[i].us, m->relay[i].rows);
}
