/* server/synthesis.h - S_syn: counts tags, asks the issuer and S_tag, releases. */
#ifndef FRE_SERVER_SYNTHESIS_H
#define FRE_SERVER_SYNTHESIS_H

#include "server_private.h"

/* Of a tag that counts.  share: in synthesis.shares. */
typedef struct synthesis_member {
    fre_tag tag;
    fre_report_id id;
    fre_vouching proof;
    fre_sealed_entry_seed seed;
} synthesis_member;

typedef struct synthesis {
    fre_server base;
    fre_hpke_keypair seal; /* SECRET */
    fre_buf statement;
    server_parts mixed;        /* from S_tag */
    bool counted;
    synthesis_member *member;  /* sorted by tag and id */
    uint8_t *share;            /* of each, packed */
    uint32_t members, member_cap, share_cap;
    server_out vouch;          /* to the issuer */
    server_parts vouched;      /* its answers */
    server_out unseal;         /* to S_tag */
    server_parts summed;       /* its answers */
    server_out release;        /* to the relay */
} synthesis;

/* synthesis_count.c: all parts are there: opens them, keeps the members of tags with tau of them, makes
 * the vouch requests. */
FRE_MUST_CHECK fre_status syn_count(synthesis *x, fre_delta *rows);

/* synthesis_members.c.  Value of a row:  tag id proof seed  packed share */
FRE_MUST_CHECK fre_status syn_member_set(synthesis *x, uint32_t at, fre_bytes value);
FRE_MUST_CHECK fre_status syn_member_load(synthesis *x, const fre_row *row);
/* Index of a member; UINT32_MAX: none. */
uint32_t syn_find(const synthesis *x, const fre_tag *tag, const fre_report_id *id);

/* synthesis_ask.c */
FRE_MUST_CHECK fre_status syn_make_vouch(synthesis *x, fre_delta *rows);
/* All answers of the issuer are there. */
FRE_MUST_CHECK fre_status syn_make_unseal(synthesis *x, fre_delta *rows);
/* Are these members of ours, in order? */
bool syn_knows(const synthesis *x, const fre_tag *tag, const fre_report_id *id, uint32_t n);

/* synthesis_release.c: all sums are there. */
FRE_MUST_CHECK fre_status syn_make_release(synthesis *x, fre_delta *rows);

#endif /* FRE_SERVER_SYNTHESIS_H */
