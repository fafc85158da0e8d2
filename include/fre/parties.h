/** fre/parties.h - the roles of a collection as pure state machines [Fre-E2T, Alg. 2]: client, relay,
 * tagging server (S_tag), synthesis server (S_syn).
 *
 * Bytes in, bytes out: no socket, file, clock or thread.  The host carries messages, tells the time
 * (`now`, Unix seconds) and keeps what _save gives.  A machine goes by the latest time that it was
 * ever told, so that neither a clock set back nor a restart reopens a phase.
 *
 *     _handle    one message that came in -> one answer
 *     _tick      what is due now and has not been answered -> outbox; the same bytes each time
 *     _answered  the answer to a message of the outbox, when it arrives; losing one does no harm
 *     _save      the whole state.  SECRET; a host that is to survive a restart saves after a call
 *                and before its answer or outbox leaves
 *     _load      the state back, with the keys, which no state holds
 *
 * Answers.  _handle gives FRE_OK and an answer whatever came in: a message of wire.h, or a typed
 * rejection, which is counted, changes nothing and is never logged with content.  The same bytes
 * again get the same answer and count once.  Another status means that no answer could be made
 * (FRE_E_NOMEM, FRE_E_INTERNAL, FRE_E_LIMIT of the reply's buffer): the host says "unavailable" and
 * the sender tries again.
 *
 * Order of a collection:
 *     open          clients get tags from S_tag (exchanges) and hand reports to the relay
 *     tags_close    S_tag destroys its key and hands padding (reports like any other) to the relay;
 *                   once the relay has accepted all of it, S_tag sends its closed statement.  The
 *                   relay shuffles and flushes to S_syn, which publishes its list to S_tag, the relay
 *                   and, through the relay, clients
 *     shares_close  two-phase: clients have handed shares to the relay by now; it flushes them, and
 *                   tells S_tag their digests (the registry; one-shot: with the reports)
 *     then          S_syn -> S_tag sets, accepted <-, open ->, sums <-; S_syn releases
 *     end           every role forgets everything that was not published, its keys included
 * An empty list ends a collection at once, with an empty release and no shares.
 *
 * Two-phase: a share carries id and tag of the report that it belongs to; one whose report was not
 * counted is refused, so that no cell has more answers than its count.
 *
 * Status, where a function's own comment does not say more: FRE_E_ARG: the caller's mistake;
 * FRE_E_DATA: bytes that are no state of such a machine and collection; FRE_E_KEY: a key that is not
 * the collection's; FRE_E_NOMEM, FRE_E_INTERNAL.  Threads: a machine is used by one at a time.
 */
#ifndef FRE_PARTIES_H
#define FRE_PARTIES_H

#include <fre/core.h>
#include <fre/oprf.h>
#include <fre/seal.h>
#include <fre/sharing.h>
#include <fre/wire.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- common ------------------------------------------------------------------------------- */

/** The phase of a collection, as one role knows it.  A role skips phases that it has no part in. */
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

/** No rejection: what a `why` holds when the message was accepted. */
#define FRE_NOT_REJECTED ((fre_rejection)0)

/** What came in.  Messages inside a flush count one by one. */
typedef struct fre_counters {
    uint64_t accepted;
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
FRE_API FRE_MUST_CHECK fre_status fre_parties_check(const fre_collection *c, fre_err *err);
/** Answers that a cell of this public count needs to be opened: fre_answers_needed, and at least
 * tau - w, and at least 1.  Both servers ask it of what they sum. */
FRE_API uint64_t fre_parties_answers_needed(const fre_collection *c, uint64_t count);

/** A report, opened.  Tag and id lie side by side: one key of 48 bytes. */
typedef struct fre_report {
    fre_tag tag;
    fre_report_id id;
    uint32_t record; /**< the caller's */
} fre_report;
/** Which reports count: each id once, and only under tags with at least tau different ids.  An id
 * under several such tags counts for the least of them, and tags that fall below tau by that are
 * dropped too; so the order of arrival changes nothing.
 * @param[in,out] r           n reports -> those that count, sorted by tag and id, in front
 * @param[in,out] duplicates  grows by the repeated reports that were found; may be NULL
 * @return how many count.  In place, in time linear in n whatever the keys are. */
FRE_API size_t fre_parties_count(fre_report *r, size_t n, uint64_t tau, uint64_t *duplicates);

/* ---- tagging server ----------------------------------------------------------------------- */

/** S_tag: evaluates tags, pads, opens its shares. */
typedef struct fre_tagging fre_tagging;

/** Keys that S_tag's host stores separately from the state.  SECRET. */
typedef struct fre_tagging_keys {
    fre_hpke_keypair seal; /* SECRET */
    fre_sign_sk sign;      /* SECRET */
} fre_tagging_keys;

typedef struct fre_tagging_counts {
    uint64_t evaluations; /**< elements; never above users * cells_per_user */
    uint64_t padding,
        padded; /**< reports of padding in all (0 before closing), and accepted so far */
    uint64_t
        seeds_refused; /**< sealed seeds that the relay did not carry, did not open, came twice */
    uint64_t unregistered;    /**< those among them that the relay did not carry */
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

/** A client's encapsulated request, as the relay forwards it (the transport has to know that it is
 * the relay: whoever else gets tags can look for them in the counts) -> the encapsulated answer, of one
 * size whether tags or a rejection are in it; a rejection in the open if it can't be opened.
 * The same bytes again get the same answer until the key is gone. */
FRE_API FRE_MUST_CHECK fre_status fre_tagging_exchange(fre_tagging *x, fre_buf *reply,
                                                       fre_rejection *why, fre_bytes in,
                                                       int64_t now);
/** LIST, SETS, OPEN of S_syn; REGISTRY of the relay, without which no seed is opened; CANCEL of
 * either. */
FRE_API FRE_MUST_CHECK fre_status fre_tagging_handle(fre_tagging *x, fre_buf *reply,
                                                     fre_rejection *why, fre_bytes in, int64_t now);
/** To the relay: padding (some at a time: tick again when they are answered), closed, cancel; to
 * S_syn: cancel.  From tags_close on the key is gone, whichever call is the first to know. */
FRE_API FRE_MUST_CHECK fre_status fre_tagging_tick(fre_tagging *x, fre_outbox *out, int64_t now);
/** A receipt settles a message, and so does a rejection other than "unavailable", "full" and
 * "wrong-phase", after which it is sent again. */
FRE_API FRE_MUST_CHECK fre_status fre_tagging_answered(fre_tagging *x, uint64_t cookie,
                                                       fre_bytes reply, int64_t now);
/** The operator cancels; FRE_E_STATE: the collection is over already. */
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
    uint64_t unmatched;       /**< shares without a counted report, or second ones */
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
 * the relay.  A report takes 52 bytes until it is counted, and in a one-shot collection its share
 * too; two-phase, shares of listed tags alone are kept. */
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
/** What is published; empty until it exists.  Valid until the next call that
 * changes x. */
FRE_API fre_bytes fre_synthesis_list_view(const fre_synthesis *x);
/** Messages of the release: 0 before it, >= 1 after. */
FRE_API uint32_t fre_synthesis_release_parts(const fre_synthesis *x);
FRE_API fre_bytes fre_synthesis_release_view(const fre_synthesis *x, uint32_t part);

/* ---- relay -------------------------------------------------------------------------------- */

/** The relay: knows who sends, never what.  It carries exchanges to S_tag, mixes reports and shares,
 * and shows clients what is published.  Whatever it forwards is a sealed message of the one size of
 * its kind, and nothing else of its sender. */
typedef struct fre_relay fre_relay;

/** A part of the registry has as many digests as so many flushes. */
#define FRE_PARTIES_REGISTRY_FACTOR 64u

typedef struct fre_relay_opts {
    /** Fewest clients whose reports, and later whose shares, are flushed; with fewer the collection
     * is cancelled instead.  Padding does not count.  >= 1. */
    uint64_t batch_min;
    uint32_t part_max; /**< sealed messages in one flush; 0: 16384 */
} fre_relay_opts;

typedef struct fre_relay_counts {
    uint64_t clients;         /**< with at least one accepted message */
    uint64_t exchanges;       /**< different ones, carried on */
    uint64_t reporting;       /**< clients with a report */
    uint64_t sharing;         /**< clients with a share */
    uint64_t reports, shares; /**< messages mixed; reports with padding */
    uint64_t parts, settled;  /**< flushes of this phase in all, and those that S_syn answered */
} fre_relay_counts;

/** sk: of the collection's relay_sign; copied.  rng seeds the machine's own
 * stream.  Owned by the caller. */
FRE_API FRE_MUST_CHECK fre_status fre_relay_new(fre_relay **out, const fre_collection *c,
                                                const fre_relay_opts *opts, const fre_sign_sk *sk,
                                                fre_rng *rng, fre_err *err);
/** Wipes everything.  NULL is allowed. */
FRE_API void fre_relay_free(fre_relay *x);
FRE_API FRE_MUST_CHECK fre_status fre_relay_save(const fre_relay *x, fre_buf *out);
FRE_API FRE_MUST_CHECK fre_status fre_relay_load(fre_relay **out, const fre_collection *c,
                                                 const fre_sign_sk *sk, fre_bytes state,
                                                 fre_err *err);

/** An encapsulated request of the client of that name (1..255 bytes, from the transport's
 * authentication).  *why FRE_NOT_REJECTED: carry the bytes to S_tag and its answer back, both as
 * they are; nothing is appended to reply.  Else the rejection is the answer.  A client has one
 * request in a collection, which it may repeat. */
FRE_API FRE_MUST_CHECK fre_status fre_relay_exchange(fre_relay *x, fre_buf *reply,
                                                     fre_rejection *why, fre_bytes client,
                                                     fre_bytes in, int64_t now);
/** A REPORT or SHARE of a client: cells_per_user of each in a collection. */
FRE_API FRE_MUST_CHECK fre_status fre_relay_submit(fre_relay *x, fre_buf *reply, fre_rejection *why,
                                                   fre_bytes client, fre_bytes in, int64_t now);
/** What comes from servers: REPORT (padding, from S_tag alone: the transport has to know that it is
 * S_tag), CLOSED (with more evaluations than the relay carried requests for, the collection is
 * cancelled before a report leaves); LIST and RELEASE of S_syn; CANCEL of either. */
FRE_API FRE_MUST_CHECK fre_status fre_relay_handle(fre_relay *x, fre_buf *reply, fre_rejection *why,
                                                   fre_bytes in, int64_t now);
/** To S_syn: flushes (some at a time), cancel; to S_tag: the registry (a part at a time), cancel. */
FRE_API FRE_MUST_CHECK fre_status fre_relay_tick(fre_relay *x, fre_outbox *out, int64_t now);
/** Settles a message as fre_tagging_answered does. */
FRE_API FRE_MUST_CHECK fre_status fre_relay_answered(fre_relay *x, uint64_t cookie, fre_bytes reply,
                                                     int64_t now);
/** The operator cancels; FRE_E_STATE: the collection is over already. */
FRE_API FRE_MUST_CHECK fre_status fre_relay_cancel(fre_relay *x, int64_t now);

FRE_API fre_stage fre_relay_stage(const fre_relay *x);
FRE_API const fre_counters *fre_relay_counters(const fre_relay *x);
FRE_API void fre_relay_count(fre_relay_counts *out, const fre_relay *x);
/** What is published; empty until it exists.  Valid until the next call that changes x. */
FRE_API fre_bytes fre_relay_list_view(const fre_relay *x);
FRE_API fre_bytes fre_relay_cancel_view(const fre_relay *x);
/** The release, once all of its parts have arrived. */
FRE_API uint32_t fre_relay_release_parts(const fre_relay *x);
FRE_API fre_bytes fre_relay_release_view(const fre_relay *x, uint32_t part);

/* ---- client ------------------------------------------------------------------------------- */

/** What the clients of one process share: the collection's terms, checked, with grid and rotation.
 * Immutable. */
typedef struct fre_terms fre_terms;
/** FRE_E_REFUSED: the terms do not keep their claim (fre_collection_check: about a second);
 * FRE_E_LIMIT: fre_parties_check.  Owned by the caller. */
FRE_API FRE_MUST_CHECK fre_status fre_terms_new(fre_terms **out, const fre_collection *c,
                                                fre_err *err);
/** NULL is allowed. */
FRE_API void fre_terms_free(fre_terms *t);
FRE_API const fre_wire *fre_terms_view(const fre_terms *t);

/** What a client needs of its host. */
typedef struct fre_client_host {
    void *ctx;
    /** Store the state (SECRET) durably, in place of an older one, before returning.  Called by _tick
     * when there is something new, before anything is sent; so tick once more after an answer.  NULL: a client that is never restarted. */
    fre_status (*keep)(void *ctx, fre_bytes state);
    /** Charge the collection to the owner's budget, before the first report leaves and whatever the
     * coin; again after a restart, so the host must count the same id once.  FRE_E_REFUSED: the budget
     * does not allow it, and nothing is sent.  NULL: no budget. */
    fre_status (*spend)(void *ctx, const fre_collection_id *id, double epsilon, double delta);
    /** Noise of shares; NULL: fre_share_make's table.  A source without noise PROTECTS NOTHING. */
    const fre_share_noise *noise;
} fre_client_host;

/** A user's device. */
typedef struct fre_client fre_client;

/** x: embeddings of the user's texts, n rows of dim floats, n <= cells_per_user; kept until the
 * client is freed.  A user without texts takes part too (n = 0).  Of texts that share a cell the
 * first counts.  terms, host: kept.  rng: all that the client will ever draw comes from what it takes
 * here; the coins are drawn here, once.
 * FRE_E_DATA: a NaN, an infinity or a coordinate outside the grid. */
FRE_API FRE_MUST_CHECK fre_status fre_client_new(fre_client **out, const fre_terms *terms,
                                                 const float *x, uint32_t n,
                                                 const fre_client_host *host, fre_rng *rng,
                                                 fre_err *err);
/** Wipes everything.  NULL is allowed. */
FRE_API void fre_client_free(fre_client *c);
FRE_API FRE_MUST_CHECK fre_status fre_client_save(const fre_client *c, fre_buf *out);
/** x, n: as given to fre_client_new; embeddings are no part of a state. */
FRE_API FRE_MUST_CHECK fre_status fre_client_load(fre_client **out, const fre_terms *terms,
                                                  const float *x, uint32_t n,
                                                  const fre_client_host *host, fre_bytes state,
                                                  fre_err *err);

/** To the relay, as this client: the exchange, then reports, then shares.  A host whose timing can be
 * observed sends them at times that do not depend on what they are.
 * FRE_E_IO, or another status that `keep` returned: nothing was put out, tick again. */
FRE_API FRE_MUST_CHECK fre_status fre_client_tick(fre_client *c, fre_outbox *out, int64_t now);
/** Is that message of its outbox an exchange (fre_relay_exchange), or a report or share
 * (fre_relay_submit)? */
FRE_API bool fre_client_is_exchange(uint64_t cookie);
/** FRE_OK: settled, or to be sent again (the rejections "unavailable", "full", "wrong-phase").
 * FRE_E_PROOF: S_tag used another key than the collection's; the client has wiped itself and sends
 * nothing more.  FRE_E_REFUSED, FRE_E_DATA: not an answer to that message, which stays due. */
FRE_API FRE_MUST_CHECK fre_status fre_client_answered(fre_client *c, uint64_t cookie,
                                                      fre_bytes reply, int64_t now);
/** What is published: LIST, RELEASE, CANCEL.  Refused unless the signature holds and, for a list,
 * counts are at least tau, tags ascend, and all counts together are no more than the terms allow.
 * FRE_E_STATE: a list before tags_close. */
FRE_API FRE_MUST_CHECK fre_status fre_client_read(fre_client *c, fre_bytes in, int64_t now,
                                                  fre_err *err);

FRE_API fre_stage fre_client_stage(const fre_client *c);
/** Why a client ended early: FRE_E_PROOF; FRE_E_REFUSED: budget, cancelled, or rejected by the
 * relay; FRE_E_AGAIN: too late for its tags.  FRE_OK: it did not. */
FRE_API fre_status fre_client_verdict(const fre_client *c);
/** Has the budget been charged? */
FRE_API bool fre_client_spent(const fre_client *c);

#ifdef __cplusplus
}
#endif
#endif /* FRE_PARTIES_H */
