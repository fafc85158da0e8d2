/* server/client.h - a user's device. */
#ifndef FRE_SERVER_CLIENT_H
#define FRE_SERVER_CLIENT_H

#include "server_private.h"

/* One of cells_per_user places.  SECRET. */
typedef struct client_place {
    uint8_t real;    /* 1: its coin fell on heads and it has a text of its own cell */
    fre_place place; /* r, and the public cell of its text */
    fre_oprf_blind blind_id, blind_cell;
    uint8_t cell[32]; /* of its text, or random */
    fre_tag tag;      /* of that cell: two contacts, until it answers ... */
    fre_report_id name; /* ... under this name */
} client_place;

/* An exchange under way: what is sent until there is an answer, and what that is read with.  Where it is gone
 * it is made again, the same. */
typedef struct client_asked {
    fre_wire_type what;
    fre_buf sealed;
    fre_ohttp_exchange x; /* SECRET */
    fre_oprf_element blinded[FRE_COLLECTION_CELLS_MAX];
} client_asked;

typedef struct client_entry {
    int64_t send_at;
    bool done;
    fre_buf message; /* a carry */
} client_entry;

typedef enum client_stage {
    CLIENT_NEW = 1,   /* to be admitted */
    CLIENT_ADMITTED,  /* to get tags */
    CLIENT_SENDING,   /* entries are made; two contacts: and the list isn't there */
    CLIENT_ANSWERING, /* two contacts: answers are made */
    CLIENT_ENDED
} client_stage;

typedef struct client {
    fre_server base;
    client_stage stage;
    fre_status verdict;
    bool kept; /* its secrets are in rows */
    int64_t start_at;
    fre_buf credentials;             /* SECRET */
    float *x;                        /* SECRET: what texts are shared as, by row; zeros beyond */
    client_place *place;             /* SECRET: cells_per_user, until entries are made */
    fre_hpke_sk ask_issue, ask_tags; /* SECRET: ephemeral keys of both exchanges */
    client_asked *asked;             /* NULL: none */
    fre_admission token;
    fre_oprf_output *key; /* SECRET: F(k_I, id) */
    client_entry *entry;  /* cells_per_user; later the answers */
    /* Of the list that it answers, and behind it 1: an entry had no receipt by then. */
    uint8_t list[FRE_HASH_BYTES + 1];
    server_parts release_in;
    server_out release;
} client;

/* client_secrets.c: the first n rows of x become what is shared of them. */
FRE_MUST_CHECK fre_status client_take_texts(client *c, uint32_t n, fre_err *err);
/* client_secrets.c: coins, places, blinds, keys, the time to start: drawn once. */
FRE_MUST_CHECK fre_status client_draw(client *c, uint32_t texts, fre_err *err);
FRE_MUST_CHECK fre_status client_keep(client *c, fre_delta *rows);
FRE_MUST_CHECK fre_status client_load(client *c, const fre_row *row);
/* Two contacts: what is left of them once the entries are made, with its row. */
FRE_MUST_CHECK fre_status client_keep_places(client *c, fre_delta *rows);
FRE_MUST_CHECK fre_status client_places_load(client *c, const fre_row *row);
/* Gone once the entries are made (two contacts: the answers), or when it ends. */
void client_wipe_secrets(client *c);

/* client_exchange.c: both requests, the same bytes each time; their answers.  FRE_E_PROOF: another key. */
FRE_MUST_CHECK fre_status client_issue(client *c, fre_buf *out);
FRE_MUST_CHECK fre_status client_admitted(client *c, fre_bytes reply);
FRE_MUST_CHECK fre_status client_tags(client *c, fre_buf *out);
FRE_MUST_CHECK fre_status client_tagged(client *c, fre_bytes reply);

void client_forget_asked(client *c);

/* client_entry.c: entries under the places' tags, with their times. */
FRE_MUST_CHECK fre_status client_make_entries(client *c, fre_delta *rows);
/* The same for answers to a list, in place of the entries.  late: an entry may have missed it. */
FRE_MUST_CHECK fre_status client_make_answers(client *c, fre_delta *rows, const server_list *l,
                                              bool late);
FRE_MUST_CHECK fre_status client_entry_done(client *c, fre_delta *rows, uint32_t i);
FRE_MUST_CHECK fre_status client_entry_load(client *c, const fre_row *row);

#endif /* FRE_SERVER_CLIENT_H */
