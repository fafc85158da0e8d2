/* server/tagging.h - S_tag: evaluates cells, adds padding and mixes, opens seeds and sums. */
#ifndef FRE_SERVER_TAGGING_H
#define FRE_SERVER_TAGGING_H

#include "keeper.h"

typedef enum tagging_mark_state { TAGGING_MARK_NONE, TAGGING_MARK_ASKED, TAGGING_MARK_SET } tagging_mark_state;

typedef struct tagging_mark {
    tagging_mark_state state;
    uint8_t hash[FRE_HASH_BYTES];
} tagging_mark;

typedef struct tagging {
    fre_server base;
    server_key oprf;       /* k_T */
    fre_hpke_keypair seal; /* SECRET */
    server_table request;  /* hashes of exchanges */
    uint64_t evaluations;
    fre_buf closed;         /* our statement */
    bool closed_arrived;
    server_parts collected; /* from the relay */
    server_out mixed;       /* to S_syn */
    server_parts asked;     /* unseal */
    server_out summed;      /* answers by part */
    tagging_mark mark[FRE_MARK_SUM + 1];
} tagging;

/* tagging_mix.c: all parts of the relay are there: padding is drawn, everything permuted, in place of
 * what came in.  *enough: false: there are fewer than a batch may have. */
FRE_MUST_CHECK fre_status tagging_mix(tagging *x, fre_delta *rows, bool *enough);
/* Of what is there and has not left: the mark to ask for, the hash of all its parts. */
void tagging_marks(tagging *x, fre_mark_kind kind, const server_out *o);
/* tagging_padding.c: sealed padding entries, appended to out. */
FRE_MUST_CHECK fre_status tagging_padding(tagging *x, fre_buf *out, fre_rng *r);

/* tagging_sum.c: all parts of unseal are there.  *ok: false where their order was not kept. */
FRE_MUST_CHECK fre_status tagging_sum(tagging *x, fre_delta *rows, bool *ok);

#endif /* FRE_SERVER_TAGGING_H */
