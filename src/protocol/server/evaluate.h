/* server/evaluate.h - see evaluate.c. */
#ifndef FRE_SERVER_EVALUATE_H
#define FRE_SERVER_EVALUATE_H

#include "server_private.h"

typedef struct server_key {
    fre_oprf_key *key; /* SECRET, in locked memory; NULL: gone */
} server_key;
/* oprf is wiped on success; NULL: there is none.  FRE_E_KEY: not that of pub. */
FRE_MUST_CHECK fre_status server_key_take(server_key *k, fre_oprf_key *oprf,
                                          const fre_oprf_public *pub, fre_err *err);
void server_key_wipe(server_key *k);
/* From 32 bytes that were masked.  FRE_E_KEY. */
FRE_MUST_CHECK fre_status server_key_back(server_key *k, const uint8_t in[32],
                                          const fre_oprf_public *pub);
/* A message that is to be evaluated came: while exchanges are open and the key is there x takes some
 * (FRE_PHASE_TAKING); else *due is false, and out has the rejection. */
FRE_MUST_CHECK fre_status server_key_due(const server_key *k, fre_server *x, fre_reply *out,
                                         bool *due);
/* The encapsulated answer to an exchange that was opened: evaluations with their proof.  request: the
 * encapsulated one. */
FRE_MUST_CHECK fre_status server_key_answer(fre_buf *out, const server_key *k, const fre_wire *w,
                                            fre_wire_type ask, const fre_ohttp_exchange *x,
                                            const fre_oprf_element *blinded, fre_bytes request);

#endif /* FRE_SERVER_EVALUATE_H */
