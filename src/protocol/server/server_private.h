/* Inside server: what the machines share. */
#ifndef FRE_SERVER_PRIVATE_H
#define FRE_SERVER_PRIVATE_H

#include <fre/map.h>
#include <fre/server.h>
#include <fre/sharing.h>
#include <fre/sketch.h>

#include <stdlib.h>
#include <string.h>

#define SERVER_HASH_BYTES 16u

static inline fre_bytes server_view(const void *p, size_t n)
{
    return (fre_bytes){.p = p, .n = n};
}

static inline fre_bytes server_buf_view(const fre_buf *b)
{
    return server_view(b->p, b->n);
}

/* A key under its mask, or out from under it. */
static inline void server_xor(uint8_t out[32], const uint8_t a[32], const uint8_t b[32])
{
    for (unsigned i = 0; i < 32; i++)
        out[i] = a[i] ^ b[i];
}

struct fre_agreement {
    fre_wire w; /* one contact: with the share's bits */
    fre_mechanism m;
    fre_share_cell
        cell; /* one contact: of every count but count itself; two: of tau, without bits */
    const fre_sketch *cells; /* NULL: a codebook's, and nobody has brought it */
    fre_sketch *grid;        /* owned: they are a grid's */
    fre_rotation *rotation;
    fre_gaussian_table *table; /* one contact, clients' noise; else NULL */
    /* Of tests and of runs marked NOT PRIVATE: */
    bool exact;                   /* nobody adds noise */
    bool seeded;                  /* randomness from ... */
    uint8_t seed[FRE_SEED_BYTES]; /* ... here */
};

/* FRE_E_STATE: the codebook has not been brought. */
FRE_MUST_CHECK fre_status server_need_cells(const fre_agreement *a, fre_err *err);
/* Without the accountant. */
FRE_MUST_CHECK fre_status server_agree(fre_agreement **out, const fre_collection *c, fre_err *err);

/* ---- rows: table numbers of each role, in its own store ----------------------------------------- */

enum {
    SERVER_ROW_STATE = 1, /* one row: clock, phase, cancelled, own cancel (base.c) */
    SERVER_ROW_SECRET,    /* one row: keys hashes */
    SERVER_ROW_KNOWN,     /* hash of a request or message -> what the role says */
    SERVER_ROW_ENTRY,     /* relay: hash of a message -> what is sealed in it */
    SERVER_ROW_TOKEN,     /* relay: hash of an admission token -> what it sent */
    SERVER_ROW_ORDER,     /* relay: seed of the shuffle */
    SERVER_ROW_CLOSED,    /* relay: S_tag's statement */
    SERVER_ROW_MARK,      /* relay: kind -> hash; S_tag: kind -> acknowledged hash */
    SERVER_ROW_IN,        /* parts that came in: kind (1), index (4) -> message, or its hash */
    SERVER_ROW_OUT,       /* parts that go out: kind (1), index (4) -> message */
    SERVER_ROW_MEMBER,    /* S_syn: index (4) -> a member of a tag that counts */
    SERVER_ROW_CLIENT,    /* client: what it drew; and a row a place */
    SERVER_ROW_LIST,      /* two contacts, one row: the list as it is published; client: its hash */
    SERVER_ROW_MASKED     /* fre_mask_key -> that key of ours under a mask (masks.c) */
};

/* Appends; NULL: nothing is kept. */
FRE_MUST_CHECK fre_status server_row_put(fre_delta *r, uint8_t table, fre_bytes key,
                                         fre_bytes value);
FRE_MUST_CHECK fre_status server_row_erase(fre_delta *r, uint8_t table, fre_bytes key);

void server_sha256(uint8_t out[FRE_HASH_BYTES], fre_bytes in);

/* ---- parts that come in --------------------------------------------------------------------------- */

typedef struct server_parts {
    uint8_t kind;        /* in the key of a row */
    uint64_t most;       /* items in all parts together (fre_wire_items): what the terms allow */
    uint32_t parts_most; /* 0: as many as the wire has */
    uint32_t count;      /* 0: none came */
    uint32_t got;
    uint64_t items;           /* in what came */
    struct server_part *part; /* count */
} server_parts;
typedef struct server_part {
    bool here;
    uint8_t hash[FRE_HASH_BYTES];
    fre_buf bytes; /* the message; empty once it was used */
} server_part;

/* Takes a whole message as that part.  *why FRE_ACCEPTED: *fresh, or it was here; else the
 * rejection: one with which there would be more than `most` is too large. */
FRE_MUST_CHECK fre_status server_parts_take(server_parts *p, fre_part part, fre_bytes message,
                                            fre_delta *rows, bool *fresh, fre_rejection *why);
bool server_parts_complete(const server_parts *p);
/* Parts in which so many cells are released. */
uint32_t server_release_parts(const fre_wire *w, uint64_t cells);
/* Of a release that comes in. */
server_parts server_parts_of_release(const fre_server *x);
/* Forgets the bytes but not that they came. */
FRE_MUST_CHECK fre_status server_parts_used(server_parts *p, fre_delta *rows);
/* Are only the hashes left? */
bool server_parts_are_used(const server_parts *p);
/* type: of the messages, all of which say first of which part they are. */
FRE_MUST_CHECK fre_status server_parts_load(server_parts *p, const fre_row *row,
                                            fre_wire_type type);
void server_parts_wipe(server_parts *p);

/* ---- parts that go out ------------------------------------------------------------------------------ */

typedef struct server_out {
    uint8_t kind; /* of the cookies and rows */
    fre_role to;
    bool fetch; /* each is sent once more, for its answer */
    bool light; /* a message goes once it is done: nobody looks at it any more */
    uint32_t count, cap;
    uint32_t received, done;
    struct server_letter *letter; /* count */
} server_out;
typedef struct server_letter {
    bool received, done;
    fre_buf message;
} server_letter;

/* A new part at the end; message is moved. */
FRE_MUST_CHECK fre_status server_out_add(server_out *o, fre_delta *rows, fre_buf *message);
/* So many, empty: who posts them makes them when they are due. */
FRE_MUST_CHECK fre_status server_out_reserve(server_out *o, uint32_t count);
/* Those that are due are at most so many; the first at or behind `from`, count: none. */
#define SERVER_WINDOW 4u
uint32_t server_out_due(const server_out *o, uint32_t from);
/* All parts that came, to leave as they are; their bytes are moved. */
FRE_MUST_CHECK fre_status server_out_pass(server_out *o, server_parts *p);
FRE_MUST_CHECK fre_status server_out_post(const server_out *o, fre_letters *letters);
bool server_out_done(const server_out *o);
/* That part has its answer. */
void server_out_finish(server_out *o, uint32_t index);
FRE_MUST_CHECK fre_status server_out_load(server_out *o, const fre_row *row);
FRE_MUST_CHECK fre_status server_out_erase(server_out *o, fre_delta *rows);
void server_out_wipe(server_out *o);

/* What an answer says. */
typedef enum server_verdict {
    SERVER_AGAIN,    /* no answer, or one that says to try again */
    SERVER_RECEIVED, /* a receipt */
    SERVER_REFUSED,  /* a final rejection */
    SERVER_MESSAGE   /* another message: the caller decodes it */
} server_verdict;
server_verdict server_judge(fre_bytes reply);
/* Receipts, for a letter of o; *v says what the caller has to look at itself. */
bool server_out_answered(server_out *o, uint64_t cookie, fre_bytes reply, uint32_t *index,
                         server_verdict *v);

#define SERVER_COOKIE(kind, index) ((uint64_t)(kind) << 56 | (uint64_t)(index))
#define SERVER_COOKIE_KIND(cookie) ((uint8_t)((cookie) >> 56))
#define SERVER_COOKIE_INDEX(cookie) ((uint32_t)(cookie))

/* Kinds of parts and letters. */
enum {
    SERVER_COLLECTED = 1,
    SERVER_MIXED,
    SERVER_VOUCH,
    SERVER_VOUCHED,
    SERVER_UNSEAL,
    SERVER_SUMMED,
    SERVER_RELEASE,
    SERVER_CLOSED,
    SERVER_MARK_MIX,
    SERVER_MARK_SUM,
    SERVER_CLIENT_LETTER,
    SERVER_LIST,   /* S_syn to the issuer */
    SERVER_LISTED, /* index: to that role */
    SERVER_GATHERED,
    SERVER_MASK, /* index: type of the message, fre_mask_key */
    SERVER_CANCEL = 255
};

/* ---- a machine ---------------------------------------------------------------------------------------- */

/* Masks of keys: of every role, none of a client. */
typedef struct server_masks_ops {
    /* A mask message; out: the answer. */
    fre_status (*handle)(fre_server *x, fre_reply *out, fre_wire_type type, fre_bytes in);
    /* What is due.  rows NULL: the host keeps none, and nothing is masked. */
    fre_status (*tick)(fre_server *x, fre_letters *out, fre_delta *rows);
    fre_status (*answered)(fre_server *x, fre_delta *rows, uint32_t index, fre_bytes reply);
    /* NULL: the last row was. */
    fre_status (*restore)(fre_server *x, const fre_row *row);
} server_masks_ops;

typedef struct server_ops {
    const server_masks_ops *masks; /* NULL: a client */
    void (*free)(fre_server *x);
    /* Everything but what is published, at `end` or by a cancel. */
    void (*forget)(fre_server *x);
    /* Keys that are over by the clock; may be NULL.  No row changes: what a call finds gone, it makes its rows for. */
    void (*expire)(fre_server *x);
    /* A message of another type than cancel; type 0: none of wire.h. */
    fre_status (*handle)(fre_server *x, fre_reply *out, fre_wire_type type, fre_bytes in);
    fre_status (*returned)(fre_server *x, fre_reply *out, fre_bytes in, fre_bytes back);
    fre_status (*tick)(fre_server *x, fre_letters *out, fre_delta *rows);
    fre_status (*answered)(fre_server *x, fre_delta *rows, uint64_t cookie, fre_bytes reply);
    /* A row of another table than STATE and SECRET; NULL: the last was. */
    fre_status (*restore)(fre_server *x, const fre_row *row);
    const server_out *(*release)(const fre_server *x); /* may be NULL */
    /* Masks, of roles with keys: is it no more needed?  Is it here?  Under that mask (io; FRE_E_STATE:
     * it is not here).  And back: FRE_E_KEY: another than the collection's. */
    bool (*key_over)(const fre_server *x, fre_mask_key key);
    bool (*key_here)(const fre_server *x, fre_mask_key key);
    fre_status (*key_mask)(const fre_server *x, fre_mask_key key, uint8_t io[FRE_MASK_BYTES]);
    fre_status (*key_back)(fre_server *x, fre_mask_key key, const uint8_t masked[FRE_MASK_BYTES],
                           const uint8_t mask[FRE_MASK_BYTES]);
} server_ops;

/* Two contacts: the list, of whoever has it. */
typedef struct server_list {
    fre_buf message; /* as it is published */
    fre_list list;   /* in it */
    fre_wire w;      /* the terms, with the list's hash and the bits of a share */
} server_list;

/* First member of every machine. */
struct fre_server {
    const server_ops *ops;
    const fre_agreement *a;
    fre_role role; /* 0: a client */
    int64_t now;   /* the latest time that it was told; INT64_MIN: none */
    fre_phase phase;
    fre_phase kept_phase; /* as the last row of it says */
    bool cancelled;
    fre_tally tally;
    fre_sign_sk sign;               /* SECRET; zeros: a client */
    uint8_t secret[FRE_SEED_BYTES]; /* SECRET: keys the hashes */
    bool secret_kept;
    uint64_t number, drawn; /* of a seeded run: which client; streams so far */
    fre_buf cancel; /* our own */
    uint32_t cancel_to;
    server_list *list; /* NULL: not there */
    struct server_masks_memory *masks; /* locked; NULL: a client */
};

/* A server's machine, zeros, in memory that is locked and left out of cores: its keys are in it.  NULL: out of memory. */
void *server_machine_new(size_t n);
/* NULL is allowed. */
void server_machine_free(void *x);
FRE_MUST_CHECK fre_status server_base_init(fre_server *x, const server_ops *ops,
                                           const fre_agreement *a, fre_role role,
                                           const fre_sign_sk *sign, uint64_t number, fre_err *err);
void server_base_wipe(fre_server *x);
/* Fresh randomness, drawn now. */
FRE_MUST_CHECK fre_status server_rng(fre_server *x, fre_rng *r);
/* A stream of a key that nobody else has, labelled by the hash of what it serves. */
FRE_MUST_CHECK fre_status server_stream(fre_rng *r, const char *label, fre_bytes key,
                                        fre_bytes content);
void server_hash(uint8_t out[SERVER_HASH_BYTES], const fre_server *x, fre_bytes in);
/* The secret's row, before the first that depends on it. */
FRE_MUST_CHECK fre_status server_keep_secret(fre_server *x, fre_delta *rows);
/* Moves on, with its row. */
FRE_MUST_CHECK fre_status server_move(fre_server *x, fre_delta *rows, fre_phase phase);

FRE_MUST_CHECK fre_status server_reject(fre_server *x, fre_reply *out, fre_rejection code);
/* The rejection that a status stands for; one that is our own fault is returned as it is. */
FRE_MUST_CHECK fre_status server_reject_status(fre_server *x, fre_reply *out, fre_status st);
FRE_MUST_CHECK fre_status server_receipt(fre_server *x, fre_reply *out, bool fresh);
/* server_parts_take of a message to x; refused: *taken is false, and out has the rejection. */
FRE_MUST_CHECK fre_status server_take_part(server_parts *p, fre_server *x, fre_reply *out,
                                           fre_part part, fre_bytes message, bool *fresh,
                                           bool *taken);
/* The list, that came in: refused unless it is the one that is here; *taken: out has no rejection. */
FRE_MUST_CHECK fre_status server_take_list(fre_server *x, fre_reply *out, fre_bytes in, bool *fresh,
                                           bool *taken);
/* FRE_ACCEPTED while exchanges are open. */
fre_rejection server_exchange_rejected(const fre_server *x);
FRE_MUST_CHECK fre_status server_post(fre_letters *l, fre_role to, uint64_t cookie,
                                      fre_bytes message);
/* Our own cancel: everything is forgotten but it. */
FRE_MUST_CHECK fre_status server_void(fre_server *x, fre_delta *rows, fre_cancel_reason reason);

/* Sizes of what holds a share are known with the list, with two contacts. */
static inline const fre_wire *server_wire(const fre_server *x)
{
    return x->list ? &x->list->w : &x->a->w;
}

static inline uint64_t server_records(const fre_server *x)
{
    return x->a->w.c.users * x->a->w.c.cells_per_user;
}

/* ---- list.c: the published list, with two contacts ----------------------------------------------- */

/* *out: both signatures hold, with what follows from it.  As fre_listed_decode; FRE_E_LIMIT: no share holds its
 * largest cell. */
FRE_MUST_CHECK fre_status server_list_read(server_list **out, const fre_server *x, fre_bytes in);
void server_list_free(server_list *l);
/* The first time, with its row. */
FRE_MUST_CHECK fre_status server_list_keep(fre_server *x, fre_delta *rows, fre_bytes in);
/* The parameters of a cell; count: one contact: not looked at. */
FRE_MUST_CHECK fre_status server_cell(fre_share_cell *out, const fre_agreement *a,
                                      const fre_wire *w, uint64_t count);
/* Ids without which a tag is not opened: tau, or what its count in the list asks for; UINT64_MAX: not
 * listed. */
uint64_t server_ids_needed(const fre_server *x, const fre_tag *tag);
/* The count that is released for a tag of which so many ids were summed. */
uint64_t server_count(const fre_server *x, const fre_tag *tag, uint64_t ids);

/* ---- masks.c: keys that survive a crash ------------------------------------------------------------ */

FRE_MUST_CHECK fre_status server_masks_init(fre_server *x);
void server_masks_wipe(fre_server *x);
/* All of them, our own and others': the collection is void. */
void server_masks_forget(fre_server *x);
/* What roles do with them, for their server_ops. */
extern const server_masks_ops server_masks;
/* Is this key in our memory? */
bool server_has_seal(const fre_hpke_keypair *k);
/* Of a constructor: FRE_OK: it is pk's, or not there; FRE_E_KEY.  And of a mask. */
FRE_MUST_CHECK fre_status server_check_seal(const fre_hpke_keypair *k, const fre_hpke_pk *pk);
FRE_MUST_CHECK fre_status server_seal_mask(const fre_hpke_keypair *k, uint8_t io[32]);
FRE_MUST_CHECK fre_status server_seal_back(fre_hpke_keypair *k, const uint8_t masked[32],
                                           const uint8_t mask[32], const fre_hpke_pk *pk);
/* What is held for others, by the clock. */
void server_masks_expire(fre_server *x);

/* ---- 16 bytes -> a small number ------------------------------------------------------------------- */

typedef struct server_table {
    fre_map map;
    uint32_t *value; /* of each key, by index */
    size_t cap;
} server_table;
void server_table_wipe(server_table *t);
/* NULL: not there.  Valid until the next put. */
uint32_t *server_table_find(const server_table *t, const uint8_t key[SERVER_HASH_BYTES]);
FRE_MUST_CHECK fre_status server_table_put(server_table *t, const uint8_t key[SERVER_HASH_BYTES],
                                           uint32_t value);

#endif /* FRE_SERVER_PRIVATE_H */
