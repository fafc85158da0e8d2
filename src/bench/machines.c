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
#define LISTED 1000u /* cells of a list, of as many users each */

typedef struct world {
    fre_collection c;
    fre_agreement *a;
    fre_server *relay, *issuer, *tag;
    fre_server_keys keys[FRE_ROLE_ISSUER + 1]; /* SECRET; by role */
    fre_reply reply, back;
    fre_letters letters;
    size_t up, down;                  /* bytes of one user */
    size_t listed;                    /* of the list, a cell */
    double client, admit, tags;       /* microseconds */
    size_t rows[FRE_ROLE_ISSUER + 1]; /* bytes that issuer and S_tag keep */
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

/* plan --distributed --epsilon 4 --population 1000000, --contacts two */
static fre_status terms(world *w, uint32_t dim, bool one_contact, const fre_collection_parts *p,
                        fre_err *err)
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
    q.dist = (fre_distributed){.on = true,
                               .cover = true,
                               .one_contact = one_contact,
                               .server_noise = one_contact,
                               .curious = 1,
                               .dropout = one_contact ? 0 : .1};
    st = fre_plan_make(&plan, &q, err);
    if (st == FRE_OK)
        st = fre_collection_from_plan(&w->c, &plan, p, err);
    return st == FRE_OK ? fre_agreement_new(&w->a, &w->c, err) : st;
}

static fre_status fill_world(world *w, uint32_t dim, bool one_contact, fre_err *err)
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
                              .shares_close = one_contact ? 2000 : 3000,
                              .end = 4000};
    fre_oprf_key oprf, issuer;
    fre_rng r;
    fre_status st = fre_rng_init(&r);

    if (st != FRE_OK)
        return st;
    st = draw(w, &p, &oprf, &issuer, &r);
    fre_rng_wipe(&r);
    if (st == FRE_OK)
        st = terms(w, dim, one_contact, &p, err);
    if (st != FRE_OK)
        return st;
    st = fre_server_new_relay(&w->relay, w->a, &w->keys[FRE_ROLE_RELAY].sign, err);
    if (st == FRE_OK)
        st =
            fre_server_new_issuer(&w->issuer, w->a, &w->keys[FRE_ROLE_ISSUER], &issuer, &host, err);
    return st == FRE_OK ? fre_server_new_tagging(&w->tag, w->a, &w->keys[FRE_ROLE_TAG], &oprf, err)
                        : st;
}

static void close_world(world *w)
{
    if (!w)
        return;
    fre_server_free(w->relay);
    fre_server_free(w->issuer);
    fre_server_free(w->tag);
    fre_agreement_free(w->a);
    fre_letters_wipe(&w->letters);
    fre_reply_wipe(&w->reply);
    fre_reply_wipe(&w->back);
    fre_wipe_free(w, sizeof *w);
}

/* *out: to be closed, whatever comes back; NULL: there was no memory. */
static fre_status open_world(world **out, uint32_t dim, bool one_contact, fre_err *err)
{
    world *w = calloc(1, sizeof *w);

    *out = w;
    if (!w)
        return FRE_E_NOMEM;
    fre_reply_init(&w->reply);
    fre_reply_init(&w->back);
    return fill_world(w, dim, one_contact, err);
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
        w->rows[role] += w->back.rows.raw.n;
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

/* ---- the second contact ----------------------------------------------------------------------------- */

static int by_tag(const void *a, const void *b)
{
    return memcmp(((const fre_list_entry *)a)->tag.b, ((const fre_list_entry *)b)->tag.b,
                  sizeof((const fre_list_entry *)a)->tag.b);
}

/* As S_syn and the issuer sign it, of tags that nobody here has: an answer that says nothing is made by the
 * same steps as any other. */
static fre_status make_list(world *w, fre_buf *out)
{
    const fre_wire *wire = fre_agreement_wire(w->a);
    fre_list_entry *e = calloc(LISTED, sizeof *e);
    fre_buf list;
    fre_rng r;
    fre_status st = e ? fre_rng_init(&r) : FRE_E_NOMEM;

    if (st != FRE_OK) {
        free(e);
        return st;
    }
    fre_buf_init(&list, FRE_WIRE_MESSAGE_MAX);
    for (uint32_t i = 0; i < LISTED; i++) {
        fre_rng_bytes(&r, e[i].tag.b, sizeof e[i].tag.b);
        e[i].count = USERS / LISTED;
    }
    fre_rng_wipe(&r);
    qsort(e, LISTED, sizeof *e, by_tag);
    st = fre_list_encode(&list, wire, e, LISTED, &w->keys[FRE_ROLE_SYN].sign);
    if (st == FRE_OK)
        st = fre_listed_encode(out, wire, view(&list), &w->keys[FRE_ROLE_ISSUER].sign);
    fre_buf_wipe(&list);
    free(e);
    return st;
}

/* Reads the list, and sends what it answers; somebody takes it. */
static fre_status one_answer(world *w, fre_server *client, fre_bytes listed)
{
    double start = bench_spent_us();
    fre_buf receipt;
    fre_status st = fre_server_handle(client, &w->reply, listed, 2001);

    fre_letters_wipe(&w->letters);
    if (st == FRE_OK)
        st = fre_server_tick(client, &w->letters, NULL, 2999);
    w->client += bench_spent_us() - start;
    if (st != FRE_OK || w->letters.n != 1)
        return st == FRE_OK ? FRE_E_INTERNAL : st;
    w->up += w->letters.letter[0].message.n;
    fre_buf_init(&receipt, FRE_WIRE_MESSAGE_MAX);
    st = fre_receipt_encode(&receipt);
    w->down += receipt.n;
    start = bench_spent_us();
    if (st == FRE_OK)
        st = fre_server_answered(client, NULL, w->letters.letter[0].cookie, view(&receipt), 2999);
    w->client += bench_spent_us() - start;
    fre_buf_wipe(&receipt);
    return st;
}

static fre_status all_answers(world *w, fre_server **client)
{
    fre_buf listed;
    fre_status st;

    fre_buf_init(&listed, FRE_WIRE_MESSAGE_MAX);
    st = make_list(w, &listed);
    for (uint32_t i = 0; st == FRE_OK && i < CLIENTS; i++)
        st = one_answer(w, client[i], view(&listed));
    w->listed = listed.n / LISTED;
    fre_buf_wipe(&listed);
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
    if (st == FRE_OK && !w->c.one_contact)
        st = all_answers(w, client);
    for (uint32_t i = 0; st == FRE_OK && i < CLIENTS; i++)
        if (fre_server_client_verdict(client[i]) != FRE_OK ||
            (w->c.one_contact && fre_server_phase(client[i]) != FRE_PHASE_CLOSED))
            st = FRE_E_INTERNAL;
    return st;
}

static fre_status time_clients(bench_user *out, size_t *list_cell, uint32_t dim, bool one_contact,
                               fre_err *err)
{
    fre_server *client[CLIENTS] = {NULL};
    world *w;
    fre_status st = open_world(&w, dim, one_contact, err);

    if (!w)
        return st;
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
    *list_cell = w->listed;
    close_world(w);
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
    world *w;
    uint8_t *answer = NULL;
    fre_status st = open_world(&w, FILL_DIM, true, err);

    if (!w)
        return st;
    if (st == FRE_OK) {
        const size_t n = fre_exchange_answer_bytes(fre_agreement_wire(w->a));

        answer = calloc(1, n);
        st = answer ? fill(w, out, (fre_bytes){answer, n}) : FRE_E_NOMEM;
    }
    free(answer);
    close_world(w);
    return st;
}

/* ---- issuer and S_tag, as they fill ---------------------------------------------------------------- */

#define ROW_MAX 64u

/* What a request leaves behind: the row under a hash. */
typedef struct kept {
    uint8_t table;
    size_t key, value; /* bytes */
} kept;

static fre_status kept_of(kept *out, const fre_delta *rows)
{
    size_t at = 0;
    fre_row row;

    while (fre_delta_next(rows, &at, &row)) {
        if (!row.erase && row.key.n >= 16 && row.key.n <= ROW_MAX && row.value.n <= ROW_MAX) {
            *out = (kept){.table = row.table, .key = row.key.n, .value = row.value.n};
            return FRE_OK;
        }
    }
    return FRE_E_INTERNAL;
}

/* Rows of requests of others, into a machine that was just made. */
static fre_status stuff(fre_server *x, const kept *like, uint64_t n, fre_rng *r)
{
    uint8_t key[ROW_MAX], value[ROW_MAX];
    const fre_row row = {
        .table = like->table, .key = {key, like->key}, .value = {value, like->value}};
    fre_status st = FRE_OK;

    for (uint64_t i = 0; st == FRE_OK && i < n; i++) {
        fre_rng_bytes(r, key, sizeof key);
        fre_rng_bytes(r, value, sizeof value);
        st = fre_server_restore(x, &row, NULL);
    }
    return st == FRE_OK ? fre_server_restore(x, NULL, NULL) : st;
}

/* Admission and tags of so many clients; like: of issuer and S_tag, if wanted. */
static fre_status exchanges(world *w, uint32_t clients, kept *like)
{
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < clients; i++) {
        fre_server *client = NULL;

        st = new_client(w, &client, i);
        for (unsigned k = 0; st == FRE_OK && k < 2; k++) {
            st = there_and_back(w, client, &w->client, 999);
            if (st == FRE_OK && like)
                st = kept_of(&like[k], &w->back.rows);
        }
        fre_server_free(client);
    }
    return st;
}

/* The last CLIENTS of so many. */
static fre_status full(world *w, uint64_t requests, const kept *like, fre_rng *r)
{
    fre_status st = stuff(w->issuer, &like[0], requests - CLIENTS, r);

    if (st == FRE_OK)
        st = stuff(w->tag, &like[1], requests - CLIENTS, r);
    return st == FRE_OK ? exchanges(w, CLIENTS, NULL) : st;
}

/* requests 0: what one leaves behind, into like. */
static fre_status with_requests(bench_asked *out, uint64_t requests, kept *like, fre_rng *r,
                                fre_err *err)
{
    world *w;
    fre_status st = open_world(&w, FILL_DIM, true, err);

    if (!w)
        return st;
    if (st == FRE_OK)
        st = requests == 0 ? exchanges(w, 1, like) : full(w, requests, like, r);
    if (requests > 0)
        *out = (bench_asked){.requests = requests,
                             .issuer_us = w->admit / CLIENTS,
                             .tagging_us = w->tags / CLIENTS,
                             .issuer_rows = w->rows[FRE_ROLE_ISSUER] / CLIENTS,
                             .tagging_rows = w->rows[FRE_ROLE_TAG] / CLIENTS};
    close_world(w);
    return st;
}

static fre_status time_requests(bench_asked *out, fre_err *err)
{
    static const uint64_t at[BENCH_FILLS] = {10000, 100000, 1000000};
    kept like[2];
    fre_rng r;
    fre_status st = fre_rng_init(&r);

    if (st == FRE_OK)
        st = with_requests(NULL, 0, like, &r, err);
    for (size_t k = 0; st == FRE_OK && k < BENCH_FILLS; k++)
        st = with_requests(&out[k], at[k], like, &r, err);
    fre_rng_wipe(&r);
    return st;
}

fre_status bench_machines_time(bench_machines *out, fre_err *err)
{
    static const uint32_t dim[BENCH_DIMS] = {384, 768};
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < BENCH_DIMS; i++) {
        st = time_clients(&out->user[i], &out->list_cell, dim[i], true, err);
        if (st == FRE_OK)
            st = time_clients(&out->two[i], &out->list_cell, dim[i], false, err);
    }
    if (st == FRE_OK)
        st = time_requests(out->asked, err);
    return st == FRE_OK ? time_relay(out->relay, err) : st;
}

/* What the paper reports of one user ([Fre-E2T, appendix on costs], on its authors' machine), and what the
 * first version of the protocol cost, two contacts and a largest cell of 1,000, on a machine of two cores
 * (docs/decisions/0031-audit-of-shares.md); d = 384 there of 300,000 users, since residues had no room for a
 * cell of a million. */
typedef struct before {
    uint32_t dim;
    size_t paper_up, paper_down, first_up, first_down;
    double paper_us, first_us, first_tagging_us;
} before;

static const before earlier[BENCH_DIMS] = {
    {384, 0, 0, 1446, 312, 0, 1126, 286},
    {768, 8300, 6100, 2406, 312, 400, 1296, 288},
};

static void user_json(FILE *json, const bench_user *u, const char *suffix)
{
    (void)fprintf(json,
                  ", \"user_%u%s\": {\"bytes_up\": %zu, \"bytes_down\": %zu, \"client_us\": %.1f, "
                  "\"issuer_us\": %.1f, \"tagging_us\": %.1f}",
                  u->dim, suffix, u->up, u->down, u->client_us, u->issuer_us, u->tagging_us);
}

static void earlier_json(FILE *json, const before *b)
{
    (void)fprintf(json,
                  ", \"user_%u_first_version\": {\"bytes_up\": %zu, \"bytes_down\": %zu, "
                  "\"client_us\": %.0f, \"tagging_us\": %.0f}",
                  b->dim, b->first_up, b->first_down, b->first_us, b->first_tagging_us);
    if (b->paper_up > 0)
        (void)fprintf(json,
                      ", \"user_%u_paper\": {\"bytes_up\": %zu, \"bytes_down\": %zu, "
                      "\"client_us\": %.0f}",
                      b->dim, b->paper_up, b->paper_down, b->paper_us);
}

void bench_machines_json(FILE *json, const bench_machines *m)
{
    for (size_t i = 0; i < BENCH_DIMS; i++) {
        user_json(json, &m->user[i], "");
        user_json(json, &m->two[i], "_two");
        earlier_json(json, &earlier[i]);
    }
    (void)fprintf(json, ", \"list_cell\": {\"bytes\": %zu}", m->list_cell);
    for (size_t i = 0; i < BENCH_FILLS; i++)
        (void)fprintf(json, ", \"relay_%llu\": {\"us\": %.2f, \"row_bytes\": %zu}",
                      (unsigned long long)m->relay[i].entries, m->relay[i].us, m->relay[i].rows);
    for (size_t i = 0; i < BENCH_FILLS; i++) {
        const bench_asked *a = &m->asked[i];

        (void)fprintf(json,
                      ", \"issuer_%llu\": {\"us\": %.2f, \"row_bytes\": %zu}, \"tagging_%llu\": "
                      "{\"us\": %.2f, \"row_bytes\": %zu}",
                      (unsigned long long)a->requests, a->issuer_us, a->issuer_rows,
                      (unsigned long long)a->requests, a->tagging_us, a->tagging_rows);
    }
}

static void user_line(const fre_bench_output *out, const bench_user *u)
{
    bench_line(out, 6, "  d = %u: %zu bytes up, %zu down; client %.0f us, issuer %.0f, S_tag %.0f",
               u->dim, u->up, u->down, u->client_us, u->issuer_us, u->tagging_us);
}

static void earlier_lines(const fre_bench_output *out)
{
    bench_line(out, 4,
               "[the first version, two contacts, down with a list of one cell; the paper]");
    for (size_t i = 0; i < BENCH_DIMS; i++) {
        const before *b = &earlier[i];

        bench_line(out, 6,
                   "  d = %u: [%zu bytes up, %zu down; client %.0f us, no issuer, S_tag %.0f]",
                   b->dim, b->first_up, b->first_down, b->first_us, b->first_tagging_us);
        if (b->paper_up > 0)
            bench_line(out, 6, "  d = %u: [%zu bytes up, %zu down; client %.0f us]", b->dim,
                       b->paper_up, b->paper_down, b->paper_us);
    }
}

void bench_machines_lines(const fre_bench_output *out, const bench_machines *m)
{
    bench_line(out, 4, "one contact, servers' noise: one user of a million, one place");
    for (size_t i = 0; i < BENCH_DIMS; i++)
        user_line(out, &m->user[i]);
    bench_line(out, 4,
               "two contacts, clients' noise; down without the list, %zu bytes a listed cell",
               m->list_cell);
    for (size_t i = 0; i < BENCH_DIMS; i++)
        user_line(out, &m->two[i]);
    earlier_lines(out);
    for (size_t i = 0; i < BENCH_FILLS; i++)
        bench_line(
            out, 6,
            "  relay, d = 32, %llu entries there: %.2f us a user, %zu bytes of rows an entry",
            (unsigned long long)m->relay[i].entries, m->relay[i].us, m->relay[i].rows);
    for (size_t i = 0; i < BENCH_FILLS; i++) {
        const bench_asked *a = &m->asked[i];

        bench_line(out, 6,
                   "  %llu requests there: issuer %.0f us and %zu bytes of rows a request, S_tag "
                   "%.0f us and %zu",
                   (unsigned long long)a->requests, a->issuer_us, a->issuer_rows, a->tagging_us,
                   a->tagging_rows);
    }
}
