/* Inside parties: what the four machines share - clock, counters, remembered answers, streams of
 * randomness, and the cursors of saved states. */
#ifndef FRE_PARTIES_PRIVATE_H
#define FRE_PARTIES_PRIVATE_H

#include <fre/map.h>
#include <fre/map.h>
#include <fre/parties.h>

#include <stdlib.h>
#include <string.h>

#define PARTIES_HASH_BYTES 16u

static inline fre_bytes parties_view(const void *p, size_t n)
{
    return (fre_bytes){.p = p, .n = n};
}

static inline fre_bytes parties_buf_view(const fre_buf *b)
{
    return parties_view(b->p, b->n);
}

/* ---- table.c: 16 bytes -> 32 bits.  The bytes are hashes under a secret key, so that nobody can
 * choose where they fall.  All zero: empty. ------------------------------------------------------- */

typedef struct parties_table {
    fre_map map;
    uint32_t *value; /* of each key, by index */
    size_t cap;
} parties_table;

void parties_table_wipe(parties_table *t);
/* NULL: not there.  Valid until the next reserve. */
const uint32_t *parties_table_find(const parties_table *t, const uint8_t key[PARTIES_HASH_BYTES]);
/* Room for `more` insertions that then cannot fail. */
FRE_MUST_CHECK fre_status parties_table_reserve(parties_table *t, size_t more);
/* The key must be absent and room reserved; value < UINT32_MAX. */
void parties_table_insert(parties_table *t, const uint8_t key[PARTIES_HASH_BYTES], uint32_t value);

/* ---- state.c: saved states.  head || fields || hash of both; everything big endian. ----------- */

typedef struct parties_out {
    fre_buf *b;
    size_t start;
    fre_status st; /* the first failure */
} parties_out;
/* role: 0 for a client, else its fre_role. */
parties_out parties_out_open(fre_buf *b, const fre_wire *w, uint8_t role);
void parties_put(parties_out *o, const void *p, size_t n);
void parties_put_uint(parties_out *o, uint64_t v, unsigned bytes);
/* Length in 8 bytes, then the bytes. */
void parties_put_bytes(parties_out *o, const void *p, size_t n);
/* Everything is undone on failure. */
FRE_MUST_CHECK fre_status parties_out_close(parties_out *o);

typedef struct parties_in {
    fre_bytes left;
    bool bad; /* something did not fit; from then on everything is 0 or empty */
} parties_in;
/* FRE_E_DATA: not a state of that role and collection, or a damaged one. */
FRE_MUST_CHECK fre_status parties_in_open(parties_in *in, fre_bytes state, const fre_wire *w,
                                          uint8_t role, fre_err *err);
const uint8_t *parties_get_view(parties_in *in, size_t n);
void parties_get(parties_in *in, void *out, size_t n);
uint64_t parties_get_uint(parties_in *in, unsigned bytes);
/* At most max, else bad. */
uint64_t parties_get_up_to(parties_in *in, unsigned bytes, uint64_t max);
bool parties_get_bool(parties_in *in);
fre_bytes parties_get_bytes(parties_in *in);
/* n items of `each` bytes into fresh memory (NULL for none); *st: FRE_E_NOMEM, and bad. */
void *parties_get_array(parties_in *in, size_t n, size_t each, fre_status *st);
/* n + 1 items of zeros; reads nothing.  NULL: bad before, or *st FRE_E_NOMEM, and bad. */
void *parties_get_zeros(parties_in *in, uint64_t n, size_t each, fre_status *st);
/* Appends the bytes to an empty buffer. */
void parties_get_buf(parties_in *in, fre_buf *out, fre_status *st);
void parties_put_table(parties_out *o, const parties_table *t);
void parties_get_table(parties_in *in, parties_table *t, fre_status *st);
/* FRE_OK if all was well and nothing is left. */
FRE_MUST_CHECK fre_status parties_in_end(const parties_in *in, fre_status st, fre_err *err);

/* ---- base.c: what every server has -------------------------------------------------------------- */

typedef struct parties_base {
    fre_wire w;
    fre_role role;
    int64_t now; /* the latest time that it was told; INT64_MIN: none */
    fre_stage stage;
    bool cancelled; /* VOID by a cancel, not by the clock */
    fre_counters counters;
    uint8_t secret[FRE_SEED_BYTES];  /* SECRET: keys the hashes */
    uint8_t streams[FRE_SEED_BYTES]; /* SECRET: seeds the streams */
    /* Answers by hash of what was answered. */
    parties_table answered;
    fre_buf *answer;
    size_t answers, answer_cap;
    /* Our own cancel: its bytes, and who has not answered it yet (bit 1 << role). */
    fre_buf cancel;
    uint32_t cancel_to;
} parties_base;

/* Without state or randomness, for a load; after it, whatever it returned, _wipe is allowed. */
FRE_MUST_CHECK fre_status parties_base_blank(parties_base *x, const fre_collection *c,
                                             fre_role role, fre_err *err);
/* c validated, sizes checked, randomness drawn; wipe as above. */
FRE_MUST_CHECK fre_status parties_base_init(parties_base *x, const fre_collection *c, fre_role role,
                                            fre_rng *rng, fre_err *err);
void parties_base_wipe(parties_base *x);
void parties_base_save(parties_out *o, const parties_base *x);
/* x as parties_base_blank leaves it. */
void parties_base_load(parties_in *in, parties_base *x, fre_status *st);
/* Forgets every remembered answer, but keeps the room for one more. */
void parties_forget(parties_base *x);
/* Past `end`: forgets answers and secret. */
void parties_end(parties_base *x);
/* Time moves forwards only. */
void parties_clock(parties_base *x, int64_t now);

/* Stream of a purpose: the same after a restart.  label: up to 40 bytes of text. */
FRE_MUST_CHECK fre_status parties_stream(fre_rng *out, const parties_base *x, const char *label,
                                         uint64_t a, uint64_t b);
/* Replaces the seed of the streams by a hash of it, so that what was drawn from it cannot be drawn
 * again by whoever gets hold of the state later. */
void parties_ratchet(parties_base *x);
/* Reports that all users and the longest padding can send. */
double parties_reports_max(const fre_collection *c);
void parties_hash(uint8_t out[PARTIES_HASH_BYTES], const parties_base *x, fre_bytes in);

/* Answers with a rejection and counts it. */
FRE_MUST_CHECK fre_status parties_reject(parties_base *x, fre_buf *reply, fre_rejection *why,
                                         fre_rejection code);
/* The rejection that a status stands for; a status that is our own fault is returned as it is. */
FRE_MUST_CHECK fre_status parties_reject_status(parties_base *x, fre_buf *reply, fre_rejection *why,
                                                fre_status st);
/* True if `in` was answered before: *st is what appending that answer gave. */
bool parties_repeat(parties_base *x, fre_buf *reply, fre_rejection *why, fre_bytes in,
                    fre_status *st);
/* Room to remember one more answer, so that parties_remember can't fail. */
FRE_MUST_CHECK fre_status parties_prepare(parties_base *x);
/* Keeps *answer (moved; left empty) as the answer to `in`, counts, and appends it to reply. */
FRE_MUST_CHECK fre_status parties_remember(parties_base *x, fre_buf *reply, fre_rejection *why,
                                           fre_bytes in, fre_buf *answer);
/* parties_prepare, and a receipt for parties_remember; the caller wipes it, whatever was returned. */
FRE_MUST_CHECK fre_status parties_receipt(parties_base *x, fre_buf *receipt);
/* A cancellation by another party: forget(server) drops the server's state, and no sum leaves any
 * more, not even as a repeated answer.  done: what is released stays, so it comes too late. */
FRE_MUST_CHECK fre_status parties_obey_cancel(parties_base *x, fre_buf *reply, fre_rejection *why,
                                              fre_bytes in, bool done, void (*forget)(void *server),
                                              void *server);

/* Our own cancel, for the other servers; the caller wipes itself and sets the stage. */
FRE_MUST_CHECK fre_status parties_cancel(parties_base *x, fre_cancel_reason reason,
                                         const fre_sign_sk *sk);

/* ---- outbox --------------------------------------------------------------------------------- */

/* Cookie: what it is, and which. */
#define PARTIES_COOKIE(kind, index) ((uint64_t)(kind) << 56 | (uint64_t)(index))
#define PARTIES_COOKIE_KIND(cookie) ((unsigned)((cookie) >> 56))
#define PARTIES_COOKIE_INDEX(cookie) ((cookie) & ((UINT64_C(1) << 56) - 1))
#define PARTIES_CANCEL 255u /* kind of a cancel; index: the role */

/* A new item at the end, its message empty; NULL: no memory.  parties_post_undo takes it back. */
fre_outbox_item *parties_post(fre_outbox *o, fre_role to, uint64_t cookie);
void parties_post_undo(fre_outbox *o);
/* A copy of bytes. */
FRE_MUST_CHECK fre_status parties_post_bytes(fre_outbox *o, fre_role to, uint64_t cookie,
                                             fre_bytes bytes);
/* Our cancel, to everybody who has not answered it yet. */
FRE_MUST_CHECK fre_status parties_post_cancel(const parties_base *x, fre_outbox *o);
/* Answers to a cancel; true: the cookie was one. */
bool parties_cancel_answered(parties_base *x, uint64_t cookie, fre_bytes reply);

typedef enum parties_verdict {
    PARTIES_AGAIN,    /* no answer, or one that says to try again */
    PARTIES_RECEIVED, /* a receipt */
    PARTIES_REFUSED,  /* a final rejection */
    PARTIES_MESSAGE   /* another message: the caller decodes it */
} parties_verdict;
parties_verdict parties_judge(fre_bytes reply);

/* ---- parts of a message ---------------------------------------------------------------------- */

/* Parts come one after the other; those before are answered from memory.  next: .index the next one,
 * .count 0 before the first. */
fre_rejection parties_part_rejected(const fre_part *next, fre_part part);
void parties_part_done(fre_part *next, fre_part part);

#endif /* FRE_PARTIES_PRIVATE_H */
