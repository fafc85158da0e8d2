/* server/synthesis.h - S_syn: counts tags, asks the issuer and S_tag, releases; with two contacts lists what it
 * counted, and counts the answers. */
#ifndef FRE_SERVER_SYNTHESIS_H
#define FRE_SERVER_SYNTHESIS_H

#include "server_private.h"

/* Of a tag that counts.  share: in synthesis.shares. */
typedef struct synthesis_member {
    fre_tag tag;
    fre_report_id id;
    fre_vouching proof;
    fre_sealed_entry_seed seed; /* zeros: two contacts, no answer */
} synthesis_member;

typedef struct synthesis {
    fre_server base;
    fre_hpke_keypair seal; /* SECRET */
    fre_buf statement;
    server_parts mixed;        /* from S_tag */
    bool counted;
    synthesis_member *member;  /* sorted by tag and id */
    uint8_t *share;            /* of each that has a seed, packed */
    size_t each;               /* bytes of a share; 0: none is there */
    uint32_t members, member_cap, share_cap;
    server_out vouch;          /* to the issuer */
    server_parts vouched;      /* its answers */
    server_out list;           /* two contacts: to the issuer */
    bool list_at_relay, list_at_tag;
    server_parts gathered;     /* from the relay: answers */
    server_out unseal;         /* to S_tag */
    server_parts summed;       /* its answers */
    server_out release;        /* to the relay */
} synthesis;

/* synthesis_count.c: all parts are there: opens them, keeps the members of tags with tau of them, makes
 * the vouch requests; more members than there can be entries: void. */
FRE_MUST_CHECK fre_status syn_count(synthesis *x, fre_delta *rows);
/* Opens what of a batch opens, one after the other: *at starts at 0; *more: *out is one, of that place. */
typedef struct synthesis_opening {
    fre_batch batch;
    fre_wire_type type; /* FRE_WIRE_ENTRY or FRE_WIRE_ANSWER */
    uint32_t next;
    fre_buf plain;
} synthesis_opening;
FRE_MUST_CHECK fre_status syn_opening(synthesis_opening *o, const synthesis *x,
                                      const server_part *part, fre_wire_type type);
FRE_MUST_CHECK fre_status syn_open_next(synthesis_opening *o, const synthesis *x, fre_entry *out,
                                        bool *more);
/* Entry i of it, which opened before. */
FRE_MUST_CHECK fre_status syn_open_at(synthesis_opening *o, const synthesis *x, fre_entry *out,
                                      uint32_t i);
void syn_opening_wipe(synthesis_opening *o);

/* synthesis_answers.c: two contacts: the list of what was vouched for; all answers are there. */
FRE_MUST_CHECK fre_status syn_make_list(synthesis *x, fre_delta *rows);
FRE_MUST_CHECK fre_status syn_count_answers(synthesis *x, fre_delta *rows);

/* synthesis_members.c.  Value of a row:  tag id proof seed  [packed share] */
FRE_MUST_CHECK fre_status syn_member_keep(synthesis *x, fre_delta *rows, uint32_t at,
                                          const synthesis_member *m, fre_bytes packed);
FRE_MUST_CHECK fre_status syn_member_set(synthesis *x, uint32_t at, fre_bytes value);
FRE_MUST_CHECK fre_status syn_member_load(synthesis *x, const fre_row *row);
/* Index of the first member that is not before these. */
uint32_t syn_first(const synthesis *x, const fre_tag *tag, const fre_report_id *id);
/* Index of a member; UINT32_MAX: none. */
uint32_t syn_find(const synthesis *x, const fre_tag *tag, const fre_report_id *id);

/* The share of a member; empty: it has none, or there is no such member. */
fre_bytes syn_share(const synthesis *x, const fre_tag *tag, const fre_report_id *id);

/* synthesis_ask.c */
FRE_MUST_CHECK fre_status syn_make_vouch(synthesis *x, fre_delta *rows);
/* All answers of the issuer are there. */
FRE_MUST_CHECK fre_status syn_make_unseal(synthesis *x, fre_delta *rows);
/* Are these members of ours, in order? */
bool syn_knows(const synthesis *x, const fre_tag *tag, const fre_report_id *id, uint32_t n);

/* synthesis_release.c: all sums are there.  *fine: over all parts members strictly ascend, and nothing of a tag
 * follows its sum: else S_tag could have a cell released twice, under two draws of this server's noise. */
FRE_MUST_CHECK fre_status syn_check_sums(const synthesis *x, bool *fine);
FRE_MUST_CHECK fre_status syn_make_release(synthesis *x, fre_delta *rows);

#endif /* FRE_SERVER_SYNTHESIS_H */
