/* Inside rounds: what the four machines share - clock, counters, remembered answers, streams of
 * randomness, and the cursors of saved states. */
#ifndef FRE_ROUNDS_INTERNAL_H
#define FRE_ROUNDS_INTERNAL_H

#include <fre/rounds.h>

#include <stdlib.h>
#include <string.h>

#define ROUNDS_HASH_BYTES 16u

static inline fre_bytes rounds_view(const void *p, size_t n)
{
    return (fre_bytes){.p = p, .n = n};
}

static inline fre_bytes rounds_buf_view(const fre_buf *b)
{
    return rounds_view(b->p, b->n);
}

/* ---- table.c: 16 bytes -> 32 bits, open addressing.  The bytes are hashes under a secret key, so
 * that nobody can choose where they fall. ----------------------------------------------------- */

typedef struct rounds_slot {
    uint8_t key[ROUNDS_HASH_BYTES];
    uint32_t value; /* + 1; 0: free */
} rounds_slot;
typedef struct rounds_table {
    rounds_slot *slot;
    size_t n, cap; /* cap: a power of two, or 0 */
} rounds_table;

void rounds_table_wipe(rounds_table *t);
/* NULL: not there.  Valid until the next reserve. */
const uint32_t *rounds_table_find(const rounds_table *t, const uint8_t key[ROUNDS_HASH_BYTES]);
/* Room for `more` insertions that then cannot fail. */
fre_status rounds_table_reserve(rounds_table *t, size_t more);
/* The key must not be there, and room must be; value < UINT32_MAX. */
void rounds_table_insert(rounds_table *t, const uint8_t key[ROUNDS_HASH_BYTES], uint32_t value);

/* ---- state.c: saved states.  head || fields || hash of both; everything big endian. ----------- */

typedef struct rounds_out {
    fre_buf *b;
    size_t start;
    fre_status st; /* the first failure */
} rounds_out;
/* role: 0 for a client, else its fre_role. */
rounds_out rounds_out_open(fre_buf *b, const fre_wire *w, uint8_t role);
void rounds_put(rounds_out *o, const void *p, size_t n);
void rounds_put_uint(rounds_out *o, uint64_t v, unsigned bytes);
/* Length in 8 bytes, then the bytes. */
void rounds_put_bytes(rounds_out *o, const void *p, size_t n);
/* Everything is undone on failure. */
fre_status rounds_out_close(rounds_out *o);

typedef struct rounds_in {
    fre_bytes left;
    bool bad; /* the first misfit; from then on everything is 0 or empty */
} rounds_in;
/* FRE_E_DATA: no state of that role and collection, or a damaged one. */
fre_status rounds_in_open(rounds_in *in, fre_bytes state, const fre_wire *w, uint8_t role,
                          fre_err *err);
const uint8_t *rounds_take(rounds_in *in, size_t n);
void rounds_get(rounds_in *in, void *out, size_t n);
uint64_t rounds_get_uint(rounds_in *in, unsigned bytes);
/* At most max, else bad. */
uint64_t rounds_get_up_to(rounds_in *in, unsigned bytes, uint64_t max);
bool rounds_get_bool(rounds_in *in);
fre_bytes rounds_get_bytes(rounds_in *in);
/* n items of `each` bytes into fresh memory (NULL for none); *st: FRE_E_NOMEM, and bad. */
void *rounds_get_array(rounds_in *in, size_t n, size_t each, fre_status *st);
/* Appends the bytes to an empty buffer. */
void rounds_get_buf(rounds_in *in, fre_buf *out, fre_status *st);
void rounds_put_table(rounds_out *o, const rounds_table *t);
void rounds_get_table(rounds_in *in, rounds_table *t, fre_status *st);
/* FRE_OK if all was well and nothing is left. */
fre_status rounds_in_end(const rounds_in *in, fre_status st, fre_err *err);

/* ---- base.c: what every server has -------------------------------------------------------------- */

typedef struct rounds_base {
    fre_wire w;
    fre_role role;
    int64_t now; /* the latest time ever told; INT64_MIN: none */
    fre_stage stage;
    bool cancelled; /* VOID by a cancel, not by the clock */
    fre_counters counters;
    uint8_t secret[FRE_SEED_BYTES];  /* SECRET: keys the hashes */
    uint8_t streams[FRE_SEED_BYTES]; /* SECRET: seeds the streams */
    /* Answers by hash of what was answered. */
    rounds_table answered;
    fre_buf *answer;
    size_t answers, answer_cap;
    /* A cancel of ours on its way: its bytes, and to whom (bit 1 << role). */
    fre_buf cancel;
    uint32_t cancel_to;
} rounds_base;

/* Without state or randomness, for a load; after it, whatever it returned, _wipe is allowed. */
fre_status rounds_base_blank(rounds_base *x, const fre_collection *c, fre_role role, fre_err *err);
/* c validated, sizes checked, randomness drawn; wipe as above. */
fre_status rounds_base_init(rounds_base *x, const fre_collection *c, fre_role role, fre_rng *rng,
                            fre_err *err);
void rounds_base_wipe(rounds_base *x);
void rounds_base_save(rounds_out *o, const rounds_base *x);
/* x as rounds_base_blank leaves it. */
void rounds_base_load(rounds_in *in, rounds_base *x, fre_status *st);
/* Forgets every remembered answer, but keeps the room for one more. */
void rounds_forget(rounds_base *x);
/* Past `end`: forgets answers and secret. */
void rounds_end(rounds_base *x);
/* Time moves forwards only. */
void rounds_clock(rounds_base *x, int64_t now);

/* Stream of a purpose: the same after a restart.  label: up to 40 bytes of text. */
fre_status rounds_stream(fre_rng *out, const rounds_base *x, const char *label, uint64_t a,
                         uint64_t b);
/* Replaces the seed of the streams by a hash of it: what came of it can't be made again, whoever
 * gets hold of the state later. */
void rounds_ratchet(rounds_base *x);
/* Reports that all users and the longest padding can send. */
double rounds_reports_max(const fre_collection *c);
void rounds_hash(uint8_t out[ROUNDS_HASH_BYTES], const rounds_base *x, fre_bytes in);

/* Answers with a rejection and counts it. */
fre_status rounds_reject(rounds_base *x, fre_buf *reply, fre_rejection *why, fre_rejection code);
/* The rejection that a status stands for; a status of our own is handed back as it is. */
fre_status rounds_reject_status(rounds_base *x, fre_buf *reply, fre_rejection *why, fre_status st);
/* True if `in` was answered before: *st is what appending that answer gave. */
bool rounds_repeat(rounds_base *x, fre_buf *reply, fre_rejection *why, fre_bytes in,
                   fre_status *st);
/* Room to remember one more answer, so that rounds_remember can't fail. */
fre_status rounds_prepare(rounds_base *x);
/* Keeps *answer (moved; left empty) as the answer to `in`, counts, and appends it to reply. */
fre_status rounds_remember(rounds_base *x, fre_buf *reply, fre_rejection *why, fre_bytes in,
                           fre_buf *answer);
/* rounds_prepare, and a receipt for rounds_remember; the caller wipes it, whatever was returned. */
fre_status rounds_receipt(rounds_base *x, fre_buf *receipt);

/* A cancel of ours to the other servers; the caller wipes and sets the stage. */
fre_status rounds_cancel(rounds_base *x, fre_cancel_reason reason, const fre_sign_sk *sk);

/* ---- outbox --------------------------------------------------------------------------------- */

/* Cookie: what it is, and which. */
#define ROUNDS_COOKIE(kind, index) ((uint64_t)(kind) << 56 | (uint64_t)(index))
#define ROUNDS_COOKIE_KIND(cookie) ((unsigned)((cookie) >> 56))
#define ROUNDS_COOKIE_INDEX(cookie) ((cookie) & ((UINT64_C(1) << 56) - 1))
#define ROUNDS_CANCEL 255u /* kind of a cancel; index: the role */

/* A new item at the end, its message empty; NULL: no memory.  rounds_post_undo takes it back. */
fre_outbox_item *rounds_post(fre_outbox *o, fre_role to, uint64_t cookie);
void rounds_post_undo(fre_outbox *o);
/* A copy of bytes. */
fre_status rounds_post_bytes(fre_outbox *o, fre_role to, uint64_t cookie, fre_bytes bytes);
/* The cancel of ours, to whom it is still due. */
fre_status rounds_post_cancel(const rounds_base *x, fre_outbox *o);
/* Answers to a cancel; true: the cookie was one. */
bool rounds_cancel_answered(rounds_base *x, uint64_t cookie, fre_bytes reply);

typedef enum rounds_verdict {
    ROUNDS_AGAIN,    /* no answer, or one that says to come again */
    ROUNDS_RECEIVED, /* a receipt */
    ROUNDS_REFUSED,  /* a rejection for good */
    ROUNDS_MESSAGE   /* another message: the caller decodes it */
} rounds_verdict;
rounds_verdict rounds_judge(fre_bytes reply);

#endif /* FRE_ROUNDS_INTERNAL_H */
