/** fre/rounds.h - the roles of a collection as pure state machines [Fre-E2T, Alg. 2]: client, relay,
 * tagging server (S_tag), synthesis server (S_syn).
 *
 * Bytes in, bytes out: no socket, file, clock or thread.  The host carries messages, tells the time
 * (`now`, Unix seconds) and keeps what _save gives.  A machine believes the latest time that it was
 * ever told, so that neither a clock set back nor a restart reopens a phase.
 *
 *     _handle    one message that came in -> one answer
 *     _tick      what is due now and was not answered yet -> outbox; the same bytes each time
 *     _answered  the answer to a message of the outbox, when it comes; a lost one does no harm
 *     _save      the whole state.  SECRET; a host that is to survive a restart saves after a call
 *                and before its answer or outbox leaves
 *     _load      the state back, with the keys, which no state holds
 *
 * Answers.  _handle gives FRE_OK and an answer whatever came in: a message of wire.h, or a typed
 * rejection, which is counted, changes nothing and is never logged with content.  The same bytes
 * again get the same answer and count once.  Another status means that no answer could be made
 * (FRE_E_NOMEM, FRE_E_INTERNAL, FRE_E_LIMIT of the reply's buffer): the host says "unavailable" and
 * the sender comes again.
 *
 * Order of a collection:
 *     open          clients get tags from S_tag (exchanges) and hand reports to the relay
 *     tags_close    S_tag destroys its key, hands padding (reports like any other) to the relay, and
 *                   when all of it was taken the closed statement; the relay shuffles and flushes to
 *                   S_syn, which publishes its list to S_tag, the relay and, through it, clients
 *     shares_close  two-phase: clients have handed shares to the relay by now; it flushes them
 *     then          S_syn -> S_tag sets, accepted <-, open ->, sums <-; S_syn releases
 *     end           every role forgets what it has but what was published
 * An empty list ends a collection at once, with an empty release and no shares.
 *
 * Two-phase: a share carries id and tag of the report that it belongs to; one whose report was not
 * counted is not taken, so that no cell has more answers than its count.
 *
 * Status, where a function's own comment does not say more: FRE_E_ARG: the caller's mistake;
 * FRE_E_DATA: bytes that are no state of such a machine and collection; FRE_E_KEY: a key that is not
 * the collection's; FRE_E_NOMEM, FRE_E_INTERNAL.  Threads: a machine is used by one at a time.
 */
#ifndef FRE_ROUNDS_H
#define FRE_ROUNDS_H

#include <fre/core.h>
#include <fre/oprf.h>
#include <fre/seal.h>
#include <fre/sharing.h>
#include <fre/wire.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- common ------------------------------------------------------------------------------- */

/** How far a collection has come, as one role knows it.  A role skips what it has no part in. */
typedef enum fre_stage {
    FRE_STAGE_WAITING = 1, /**< before `open` */
    FRE_STAGE_TAGS,        /**< tags and reports */
    FRE_STAGE_CLOSING,     /**< S_tag: padding on its way; relay: waits for the closed statement */
    FRE_STAGE_COUNTING,    /**< flushing, counting: no list yet */
    FRE_STAGE_SHARES,      /**< the list is out */
    FRE_STAGE_SUMMING,     /**< relay: flushing shares; servers: sets, sums */
    FRE_STAGE_DONE,        /**< nothing left to do */
    FRE_STAGE_VOID         /**< cancelled, or `end` came first: everything secret is wiped */
} fre_stage;

/** No rejection: what a `why` holds when the message was taken. */
#define FRE_NOT_REJECTED ((fre_rejection)0)

/** What came in.  Messages inside a flush count one by one. */
typedef struct fre_counters {
    uint64_t taken;
    uint64_t repeated;                 /**< same bytes again, answered as before */
    uint64_t rejected[FRE_REJECTIONS]; /**< by fre_rejection */
} fre_counters;

/** A message to be carried to another role, until _answered(cookie) says that it arrived. */
typedef struct fre_outbox_item {
    fre_role to;
    uint64_t cookie;
    fre_buf message;
} fre_outbox_item;
typedef struct fre_outbox {
    fre_outbox_item *item;
    size_t n, cap;
} fre_outbox;
FRE_API void fre_outbox_init(fre_outbox *o);
/** Also between two ticks: _tick appends. */
FRE_API void fre_outbox_wipe(fre_outbox *o);

/** Can the collection be run by these machines?  Every role asks before it begins: FRE_E_LIMIT: no
 * size of share holds one cell of all records; FRE_E_DATA: not valid. */
FRE_API FRE_MUST_CHECK fre_status fre_rounds_check(const fre_collection *c, fre_err *err);
/** Answers that a cell of this public count needs to be opened: fre_answers_needed, and at least
 * tau - w, and at least 1.  Both servers ask it of what they sum. */
FRE_API uint64_t fre_rounds_answers_needed(const fre_collection *c, uint64_t count);

/* ---- tagging server ----------------------------------------------------------------------- */

/** S_tag: evaluates tags, pads, opens its shares. */
typedef struct fre_tagging fre_tagging;

/** Keys that S_tag's host keeps beside the state.  SECRET. */
typedef struct fre_tagging_keys {
    fre_hpke_keypair seal; /* SECRET */
    fre_sign_sk sign;      /* SECRET */
} fre_tagging_keys;

typedef struct fre_tagging_counts {
    uint64_t evaluations;     /**< elements; never above users * cells_per_user */
    uint64_t padding, padded; /**< reports of padding in all (0 before closing), and taken so far */
    uint64_t seeds_refused;   /**< sealed seeds that did not open, or came twice */
    uint64_t opened, refused; /**< tags summed; tags asked for but not summed */
} fre_tagging_counts;

/** A new S_tag.  oprf moves into locked memory: the caller's copy is wiped, on success only.
 * rng seeds the machine's own streams.  Owned by the caller. */
FRE_API FRE_MUST_CHECK fre_status fre_tagging_new(fre_tagging **out, const fre_collection *c,
                                                  const fre_tagging_keys *keys, fre_oprf_key *oprf,
                                                  fre_rng *rng, fre_err *err);
/** Wipes everything.  NULL is allowed. */
FRE_API void fre_tagging_free(fre_tagging *x);
FRE_API FRE_MUST_CHECK fre_status fre_tagging_save(const fre_tagging *x, fre_buf *out);
/** oprf: the key, if the host kept it in memory (moved, as above); NULL: it is lost, and a
 * collection that still needs it is void from here (a cancel is in the outbox).  After closing it
 * is not needed, and wiped if given. */
FRE_API FRE_MUST_CHECK fre_status fre_tagging_load(fre_tagging **out, const fre_collection *c,
                                                   const fre_tagging_keys *keys, fre_oprf_key *oprf,
                                                   fre_bytes state, fre_err *err);

/** A client's encapsulated request, as the relay forwards it -> the encapsulated answer, of one
 * size whether tags or a rejection are in it; a rejection in the open if it can't be opened.
 * Again the same bytes: the same answer, until the key is gone. */
FRE_API FRE_MUST_CHECK fre_status fre_tagging_exchange(fre_tagging *x, fre_buf *reply,
                                                       fre_rejection *why, fre_bytes in,
                                                       int64_t now);
/** LIST, SETS, OPEN of S_syn; CANCEL of S_syn or the relay. */
FRE_API FRE_MUST_CHECK fre_status fre_tagging_handle(fre_tagging *x, fre_buf *reply,
                                                     fre_rejection *why, fre_bytes in, int64_t now);
/** To the relay: padding (some at a time: tick again when they are answered), closed, cancel; to
 * S_syn: cancel.  From tags_close on the key is gone, whichever call is the first to know. */
FRE_API FRE_MUST_CHECK fre_status fre_tagging_tick(fre_tagging *x, fre_outbox *out, int64_t now);
/** A receipt settles a message, and so does a rejection other than "unavailable", "full" and
 * "wrong-phase", after which it is sent again. */
FRE_API FRE_MUST_CHECK fre_status fre_tagging_answered(fre_tagging *x, uint64_t cookie,
                                                       fre_bytes reply, int64_t now);
/** The operator's end of it; FRE_E_STATE: done already. */
FRE_API FRE_MUST_CHECK fre_status fre_tagging_cancel(fre_tagging *x, int64_t now);

FRE_API fre_stage fre_tagging_stage(const fre_tagging *x);
/** False from closing on. */
FRE_API bool fre_tagging_has_key(const fre_tagging *x);
FRE_API const fre_counters *fre_tagging_counters(const fre_tagging *x);
FRE_API void fre_tagging_count(fre_tagging_counts *out, const fre_tagging *x);

/* ---- synthesis server --------------------------------------------------------------------- */

/** S_syn: counts tags, publishes the list, sums, releases. */
typedef struct fre_synthesis fre_synthesis;

/** SECRET. */
typedef struct fre_synthesis_keys {
    fre_hpke_keypair seal; /* SECRET */
    fre_sign_sk sign;      /* SECRET */
} fre_synthesis_keys;

typedef struct fre_synthesis_counts {
    uint64_t reports;         /**< that opened, duplicates included */
    uint64_t duplicates;      /**< reports whose id was there before */
    uint64_t shares, nulls;   /**< shares kept; shares that say nothing */
    uint64_t strangers;       /**< shares without a counted report, or second ones */
    uint64_t tags;            /**< listed */
    uint64_t tags_short;      /**< lost: too few answers */
    uint64_t tags_disagreed;  /**< lost: S_tag did not sum what was asked */
    uint64_t tags_overflowed; /**< lost: the guard of a sum */
    uint64_t tags_released;
} fre_synthesis_counts;

/** A new S_syn.  statement: the privacy statement that the release will carry, UTF-8, copied.
 * Owned by the caller. */
FRE_API FRE_MUST_CHECK fre_status fre_synthesis_new(fre_synthesis **out, const fre_collection *c,
                                                    const fre_synthesis_keys *keys,
                                                    fre_bytes statement, fre_rng *rng,
                                                    fre_err *err);
/** Wipes everything.  NULL is allowed. */
FRE_API void fre_synthesis_free(fre_synthesis *x);
FRE_API FRE_MUST_CHECK fre_status fre_synthesis_save(const fre_synthesis *x, fre_buf *out);
FRE_API FRE_MUST_CHECK fre_status fre_synthesis_load(fre_synthesis **out, const fre_collection *c,
                                                     const fre_synthesis_keys *keys,
                                                     fre_bytes state, fre_err *err);

/** FLUSH of the relay, reports (only with S_tag's closed statement) and shares; CANCEL of S_tag or
 * the relay. */
FRE_API FRE_MUST_CHECK fre_status fre_synthesis_handle(fre_synthesis *x, fre_buf *reply,
                                                       fre_rejection *why, fre_bytes in,
                                                       int64_t now);
/** To S_tag: list, sets, open; to the relay: list, release; cancel to both.  FRE_E_LIMIT: more tags
 * than a list holds (FRE_LIST_MAX); only a cancel is left then. */
FRE_API FRE_MUST_CHECK fre_status fre_synthesis_tick(fre_synthesis *x, fre_outbox *out,
                                                     int64_t now);
/** Receipts, ACCEPTED for sets, SUM for open.  What does not verify is counted and asked again;
 * a rejection that settles a message (above) costs the tags in it; of the list by S_tag, the
 * collection. */
FRE_API FRE_MUST_CHECK fre_status fre_synthesis_answered(fre_synthesis *x, uint64_t cookie,
                                                         fre_bytes reply, int64_t now);
FRE_API FRE_MUST_CHECK fre_status fre_synthesis_cancel(fre_synthesis *x, int64_t now);

FRE_API fre_stage fre_synthesis_stage(const fre_synthesis *x);
FRE_API const fre_counters *fre_synthesis_counters(const fre_synthesis *x);
FRE_API void fre_synthesis_count(fre_synthesis_counts *out, const fre_synthesis *x);
/** What is public, for whoever asks; empty until it exists.  Valid until the next call that
 * changes x. */
FRE_API fre_bytes fre_synthesis_list_view(const fre_synthesis *x);
/** Messages of the release: 0 before it, >= 1 after. */
FRE_API uint32_t fre_synthesis_release_parts(const fre_synthesis *x);
FRE_API fre_bytes fre_synthesis_release_view(const fre_synthesis *x, uint32_t part);

/* ---- relay -------------------------------------------------------------------------------- */

/* ---- client ------------------------------------------------------------------------------- */

#ifdef __cplusplus
}
#endif
#endif /* FRE_ROUNDS_H */
