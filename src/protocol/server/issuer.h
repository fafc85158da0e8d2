/* server/issuer.h - the issuer: who is a person, and which members have a place. */
#ifndef FRE_SERVER_ISSUER_H
#define FRE_SERVER_ISSUER_H

#include "keeper.h"

typedef struct issuer {
    fre_server base;
    server_key oprf;       /* k_I */
    fre_hpke_keypair seal; /* SECRET */
    fre_issuer_host host;
    server_table person; /* hash of a name -> index of ... */
    uint8_t (*request)[SERVER_HASH_BYTES]; /* ... the hash of its request */
    server_table known; /* that hash -> 0: who asked is not asked again */
    size_t requests, request_cap;
    server_parts asked;  /* vouch requests */
    server_out answers;  /* vouched, by part */
    bool malformed;      /* what was asked is */
} issuer;

/* issuer_vouch.c: all parts are there: evaluates every id and makes the answers.  *ok: false where the
 * order over parts was not kept. */
FRE_MUST_CHECK fre_status issuer_vouch(issuer *x, fre_delta *rows, bool *ok);

/* issuer_list.c: two contacts: S_syn's list, signed too if it is what was vouched for. */
FRE_MUST_CHECK fre_status issuer_list(issuer *x, fre_reply *out, fre_bytes in);

#endif /* FRE_SERVER_ISSUER_H */
