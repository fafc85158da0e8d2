/* bench/machines.h - the machines' part of `bench protocol`. */
#ifndef FRE_BENCH_MACHINES_H
#define FRE_BENCH_MACHINES_H

#include "bench.h"

#define BENCH_DIMS 2u
#define BENCH_FILLS 3u

/* One user's messages, and what they cost.  Two contacts: down is without the list. */
typedef struct bench_user {
    uint32_t dim;
    size_t up, down; /* bytes */
    double client_us, issuer_us, tagging_us;
} bench_user;
/* A user at the relay, admission and entry, with so many there. */
typedef struct bench_relay {
    uint64_t entries;
    double us;
    size_t rows; /* bytes, of an entry */
} bench_relay;
/* The same at issuer and S_tag, a request, with so many there; rows of one. */
typedef struct bench_asked {
    uint64_t requests;
    double issuer_us, tagging_us;
    size_t issuer_rows, tagging_rows;
} bench_asked;
typedef struct bench_machines {
    bench_user user[BENCH_DIMS]; /* one contact, servers' noise */
    bench_user two[BENCH_DIMS];  /* two contacts, clients' noise */
    size_t list_cell;            /* bytes of the list, a cell */
    bench_relay relay[BENCH_FILLS];
    bench_asked asked[BENCH_FILLS];
} bench_machines;

/* 0.5 GB of memory, for the relay with a million entries of 32 dimensions. */
FRE_MUST_CHECK fre_status bench_machines_time(bench_machines *out, fre_err *err);
/* Keys of a JSON object that has some already. */
void bench_machines_json(FILE *json, const bench_machines *m);
void bench_machines_lines(const fre_bench_output *out, const bench_machines *m);

#endif /* FRE_BENCH_MACHINES_H */
