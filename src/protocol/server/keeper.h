/* server/keeper.h - a machine and its VOPRF key; see fre_keeper. */
#ifndef FRE_SERVER_KEEPER_H
#define FRE_SERVER_KEEPER_H

#include "server_private.h"

typedef struct server_key {
    const fre_keeper *at;
    fre_keeper *own; /* NULL: the host's */
} server_key;
/* oprf is wiped on success; NULL: there is none, or the host's keeper has it.  FRE_E_KEY: not the collection's. */
FRE_MUST_CHECK fre_status server_key_take(server_key *k, const fre_wire *w, fre_role role,
                                          const fre_keeper *host, fre_oprf_key *oprf, fre_err *err);
bool server_key_here(const server_key *k);
void server_key_wipe(server_key *k);
/* Its own is wiped; the host's is left as it is, to a machine that comes after x. */
void server_key_free(server_key *k);
/* A message that is to be evaluated came: while exchanges are open and the key is there x takes some
 * (FRE_PHASE_TAKING); else *due is false, and out has the rejection. */
FRE_MUST_CHECK fre_status server_key_due(const server_key *k, fre_server *x, fre_reply *out,
                                         bool *due);
/* An exchange that was opened. */
typedef struct server_asked {
    fre_wire_type ask;
    const fre_ohttp_exchange *exchange;
    const fre_hpke_keypair *seal; /* that opened it */
    const fre_oprf_element *blinded;
    fre_bytes request; /* the encapsulated one */
} server_asked;
/* Its encapsulated answer, evaluations with their proof: the same again for the same request.  FRE_E_STATE: not at this
 * time. */
FRE_MUST_CHECK fre_status server_key_answer(fre_buf *out, const server_key *k, const fre_wire *w,
                                            const server_asked *q);

#endif /* FRE_SERVER_KEEPER_H */
