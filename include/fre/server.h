/** fre/server.h - the roles of a collection, as pure state machines: client, relay,
 * issuer, tagging server (S_tag), synthesis server (S_syn).  [Fre-E2T, Alg. 2, in one contact or two]
 *
 * Bytes in, bytes out: no socket, file, clock or thread.  One interface for all of them:
 *
 *     _handle    one message that came in -> an answer, or what to carry on to another role
 *     _returned  that role's answer to it -> the answer
 *     _tick      what is due now -> letters; the same bytes each time until they are answered
 *     _answered  the answer to a letter, when it arrives; losing one does no harm
 *     _restore   a machine from the rows of its store
 *
 * Rows.  Each call gives the rows that it changed.  A host that is to survive a crash commits them in
 * one transaction before the answer or a letter leaves; where it cannot, it throws the machine away
 * and restores it from what is committed.  A call's rows and time do not grow with the messages that
 * came before, but for the ticks in which S_tag mixes, S_syn counts, the issuer vouches and S_tag
 * sums, each of which runs once.  Rows are SECRET of their role.  A machine that is void has forgotten
 * everything, and its rows in the store are of no use to anybody but an attacker: the host drops them
 * all but the last, of the state, and so it does with what a release does not need after `end`.
 *
 * Answers.  _handle gives FRE_OK and an answer whatever came in: a message of wire.h or a typed
 * rejection, which changes nothing.  Nothing at all is "malformed".  The same bytes again get an
 * answer of the same meaning and count once.  Another status (FRE_E_NOMEM, FRE_E_INTERNAL,
 * FRE_E_LIMIT), of whichever call: no answer could be made; the host says "unavailable" and throws the
 * machine away as above.
 *
 * Order of a collection with one contact:
 *     open            clients are admitted by the issuer and get tags from S_tag, through the relay
 *     exchange_close  ... up to here; entries go on, at times that the client's machine drew
 *     tags_close      S_tag destroys its key and says "closed"; the relay shuffles what it collected
 *                     and hands it to S_tag, which adds padding, mixes and hands it to S_syn
 *     then            S_syn counts; the issuer vouches for members; S_tag opens their seeds and
 *                     sums; S_syn releases, through the relay
 *     end             every role forgets everything that was not published
 * With two contacts entries have no shares; after the vouch
 *     the list        S_syn lists tags and counts, the issuer signs as well, the relay publishes it
 *                     (_list_view) and hosts of clients hand it to their machines, which answer it, at
 *                     times that they draw
 *     shares_close    the relay shuffles the answers and hands them to S_syn; seeds, sums and release as
 *                     above
 *
 * A machine goes by the latest time that it was told, in Unix seconds.  Status, where a function's own
 * comment does not say more: FRE_E_ARG, FRE_E_DATA (rows that are no state of such a machine), FRE_E_KEY
 * (a key that is not the collection's), FRE_E_NOMEM, FRE_E_INTERNAL.  Threads: one at a time a machine.
 */
#ifndef FRE_SERVER_H
#define FRE_SERVER_H

#include <fre/core.h>
#include <fre/oprf.h>
#include <fre/seal.h>
#include <fre/sketch.h>
#include <fre/wire.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- rows --------------------------------------------------------------------------------- */

/** A row that a call inserted, changed or erased. */
typedef struct fre_row {
    uint8_t table;
    bool erase;
    fre_bytes key, value; /**< value: empty where erase */
} fre_row;
/** The rows of calls, in the order in which they apply.  Caller's storage. */
typedef struct fre_delta {
    fre_buf raw;
    size_t n;
} fre_delta;
FRE_API void fre_delta_init(fre_delta *r);
FRE_API void fre_delta_wipe(fre_delta *r);
/** One more, copied, as a call of a machine appends it: for hosts that make rows of their own. */
FRE_API FRE_MUST_CHECK fre_status fre_delta_add(fre_delta *r, const fre_row *row);
/** Rows as raw has them, appended: of a host that kept r->raw itself.  FRE_E_DATA: raw is not whole rows. */
FRE_API FRE_MUST_CHECK fre_status fre_delta_read(fre_delta *r, fre_bytes raw);
/** Goes through them; *at starts at 0.  False after the last.  Borrowed until r changes. */
FRE_API bool fre_delta_next(const fre_delta *r, size_t *at, fre_row *out);

/* ---- what calls give ------------------------------------------------------------------------ */

#define FRE_ACCEPTED ((fre_rejection)0) /* no rejection */

/** Of a _handle or _returned.  Caller's storage. */
typedef struct fre_reply {
    fre_buf message;   /**< the answer */
    fre_role forward;  /**< 0; else message goes to that role first, and its answer to _returned */
    fre_rejection why; /**< FRE_ACCEPTED, or the rejection that message is */
    fre_delta rows;
} fre_reply;
FRE_API void fre_reply_init(fre_reply *r);
/** Empty again, for the next call. */
FRE_API void fre_reply_clear(fre_reply *r);
FRE_API void fre_reply_wipe(fre_reply *r);

/** A message to be carried to another role, until _answered(cookie) says that it arrived. */
typedef struct fre_letter {
    fre_role to;
    uint64_t cookie;
    fre_buf message;
} fre_letter;
typedef struct fre_letters {
    fre_letter *letter;
    size_t n, cap;
} fre_letters;
FRE_API void fre_letters_init(fre_letters *l);
/** Also between two ticks: _tick appends. */
FRE_API void fre_letters_wipe(fre_letters *l);

/** Where a role is; each skips what it has no part in. */
typedef enum fre_phase {
    FRE_PHASE_WAITING = 1, /**< before `open` */
    FRE_PHASE_TAKING,      /**< exchanges and entries */
    FRE_PHASE_CLOSED,      /**< no more of them: parts are handed on */
    FRE_PHASE_ANSWERING,   /**< two contacts, relay and client: the list, answers */
    FRE_PHASE_SUMMING, /**< S_syn, issuer, S_tag: members, seeds, sums; who waits for the release */
    FRE_PHASE_DONE,
    FRE_PHASE_VOID /**< cancelled, or `end` came first */
} fre_phase;

/** What came in. */
typedef struct fre_tally {
    uint64_t accepted;
    uint64_t repeated;
    uint64_t rejected[FRE_REJECTIONS]; /**< by fre_rejection */
} fre_tally;

/* ---- the terms, as all machines of a process share them ------------------------------------- */

/** Terms, checked, with what follows from them.  Immutable. */
typedef struct fre_agreement fre_agreement;
/** FRE_E_REFUSED: the terms do not keep their claim (fre_collection_check: about a second);
 * FRE_E_DATA: not valid; FRE_E_LIMIT: no share holds a cell of all records.  Owned by the caller. */
FRE_API FRE_MUST_CHECK fre_status fre_agreement_new(fre_agreement **out, const fre_collection *c,
                                                    fre_err *err);
FRE_API void fre_agreement_free(fre_agreement *a);
FRE_API const fre_wire *fre_agreement_wire(const fre_agreement *a);
/** Of a collection of public cells, before a client or S_syn is made (else FRE_E_STATE there): its level of
 * the codebook, borrowed while a lives (fre_codebook_sketch_open).  FRE_E_DATA: another than the terms'. */
FRE_API FRE_MUST_CHECK fre_status fre_agreement_set_cells(fre_agreement *a, const fre_sketch *cells,
                                                          fre_err *err);
/** NOT PRIVATE, for rehearsals, before any machine of a is made: all machines draw from this seed (NULL: from
 * the system), and, exact, nobody adds noise. */
FRE_API void fre_agreement_rehearse(fre_agreement *a, const uint8_t *seed, bool exact);

/* ---- machines --------------------------------------------------------------------------------- */

/** A role.  Keeps its agreement. */
typedef struct fre_server fre_server;

FRE_API FRE_MUST_CHECK fre_status fre_server_handle(fre_server *x, fre_reply *out, fre_bytes in,
                                                    int64_t now);
/** in: what _handle was given; back: the other role's answer, empty if none came. */
FRE_API FRE_MUST_CHECK fre_status fre_server_returned(fre_server *x, fre_reply *out, fre_bytes in,
                                                      fre_bytes back, int64_t now);
/** rows: appended; NULL: not kept. */
FRE_API FRE_MUST_CHECK fre_status fre_server_tick(fre_server *x, fre_letters *out, fre_delta *rows,
                                                  int64_t now);
FRE_API FRE_MUST_CHECK fre_status fre_server_answered(fre_server *x, fre_delta *rows,
                                                      uint64_t cookie, fre_bytes reply,
                                                      int64_t now);
/** What the clock ends is wiped from x's memory: keys that are over, masks of others, at `end` everything; no row is
 * made.  For a host that can't store rows now, and so makes none of the calls above. */
FRE_API void fre_server_expire(fre_server *x, int64_t now);
/** The operator cancels; FRE_E_STATE: it is over already. */
FRE_API FRE_MUST_CHECK fre_status fre_server_cancel(fre_server *x, fre_delta *rows, int64_t now);
/** Rows of the store into a machine that was made a moment ago and did nothing yet: each row once, in any
 * order, then NULL.  After another status only free is left. */
FRE_API FRE_MUST_CHECK fre_status fre_server_restore(fre_server *x, const fre_row *row,
                                                     fre_err *err);
/** Wipes everything, but no key that a host keeps: another machine may come after x.  NULL is allowed. */
FRE_API void fre_server_free(fre_server *x);
/** Does each of its keys that it still needs lie in a row under its mask?  Once that row is committed, wherever
 * else keys were is to be wiped; and in any case once it has moved past FRE_PHASE_SUMMING. */
FRE_API bool fre_server_keys_masked(const fre_server *x);
/** Of a role whose `end` has come, or that is void: does the row still count, for what is published and for
 * what must not be done twice?  All others may go. */
FRE_API bool fre_server_row_stays(const fre_row *row);

/** 0: a client. */
FRE_API fre_role fre_server_role(const fre_server *x);
FRE_API fre_phase fre_server_phase(const fre_server *x);
FRE_API const fre_tally *fre_server_tally(const fre_server *x);
/** What is published for everybody, so far as this role has it: parts of the release; 0 before it. */
FRE_API uint32_t fre_server_release_parts(const fre_server *x);
/** Two contacts: the list, for everybody, so far as this role has it (a client does not keep it); empty before
 * it. */
FRE_API fre_bytes fre_server_list_view(const fre_server *x);
/** A part of it; valid until the next call that changes x. */
FRE_API fre_bytes fre_server_release_view(const fre_server *x, uint32_t part);

/** The relay.  It takes CARRY of clients (whoever they are: it asks the issuer), CLOSED and MARK of S_tag,
 * LISTED and RELEASE of S_syn, CANCEL.  sk: copied. */
FRE_API FRE_MUST_CHECK fre_status fre_server_new_relay(fre_server **out, const fre_agreement *a,
                                                       const fre_sign_sk *sk, fre_err *err);

/* Keys at rest.  A collection's seal and VOPRF keys live in memory, and in rows only under a mask that
 * another role has in its memory (docs/decisions/0023): a host keeps them nowhere else, and makes a
 * machine that it restores without them.  It calls _restore(NULL) at every start but the very first, even
 * where there was no row: a role that comes back holds no masks for others, and says so. */

/* Where a VOPRF key is.  A machine has its own in locked memory, or uses one that somebody else keeps for it, in
 * another process for instance (docs/decisions/0042): it never sees that key, nor F(k, id). */

/** Who keeps a key of one collection: S_tag's k_T, or the issuer's k_I.  FRE_E_STATE: not now, or never again: the key
 * did not come, is over, or may not be used at this time.  Anything else is a failure of the keeper. */
typedef struct fre_keeper {
    void *ctx;
    bool (*here)(void *ctx); /**< it came, and the machine did not wipe it */
    /** n: cells_per_user.  The nonce of the proof follows from key and elements: the same again has the same proof, and
     * no other has its nonce, whatever is rolled back.  FRE_E_DATA: an element is none. */
    fre_status (*evaluate)(void *ctx, fre_oprf_element *evaluated, fre_oprf_proof *proof,
                           const fre_oprf_element *blinded, uint32_t n);
    /** k_I: is each member's proof for that tag right? */
    fre_status (*vouch)(void *ctx, bool *right, const fre_tag *tag, const fre_vouch_member *member,
                        uint32_t n);
    /** io: a mask; then what with that mask gives the key back to a keeper. */
    fre_status (*mask)(void *ctx, uint8_t io[FRE_OPRF_SCALAR_BYTES]);
    /** FRE_E_KEY: another than the collection's. */
    fre_status (*unmask)(void *ctx, const uint8_t masked[FRE_OPRF_SCALAR_BYTES],
                         const uint8_t mask[FRE_OPRF_SCALAR_BYTES]);
    void (*wipe)(void *ctx); /**< for good; gone when it returns */
} fre_keeper;
/** In locked memory.  key: that of role (FRE_ROLE_TAG or FRE_ROLE_ISSUER), wiped on success; NULL: not there yet.  w:
 * copied.  FRE_E_KEY: not that of the collection. */
FRE_API FRE_MUST_CHECK fre_status fre_keeper_new(fre_keeper **out, const fre_wire *w, fre_role role,
                                                 fre_oprf_key *key, fre_err *err);
/** Of fre_keeper_new.  NULL is allowed. */
FRE_API void fre_keeper_free(fre_keeper *k);

/** What a server besides the relay holds.  SECRET. */
typedef struct fre_server_keys {
    fre_hpke_keypair seal; /* SECRET; zeros, for a restore: it comes back from under its mask, or is lost */
    fre_sign_sk sign;      /* SECRET */
    const fre_keeper *
        keeper; /**< of the VOPRF key, borrowed while the machine lives; NULL: the machine itself */
} fre_server_keys;

/** Who asks?  FRE_OK and a name of its own for each person, the same each time; FRE_E_REFUSED: nobody
 * that is admitted; else it cannot be told now, and the client hears "unavailable". */
typedef struct fre_issuer_host {
    void *ctx;
    fre_status (*person)(void *ctx, uint8_t name[32], fre_bytes credentials);
} fre_issuer_host;
/** The issuer.  It takes encapsulated issue requests (the transport has to know that they come from the
 * relay), VOUCH and LIST of S_syn, CANCEL.  oprf moves into locked memory: the caller's copy is wiped, on success
 * only; NULL, for a restore: as seal; and with a keeper.  A key that is lost while the collection needs it voids it. */
FRE_API FRE_MUST_CHECK fre_status fre_server_new_issuer(fre_server **out, const fre_agreement *a,
                                                        const fre_server_keys *keys,
                                                        fre_oprf_key *oprf,
                                                        const fre_issuer_host *host, fre_err *err);
/** Credentials in an encapsulated issue request that was not answered yet, appended; nothing: `person` will not be
 * asked.  For hosts that have to look who it is before they enter the machine, and answer `person` by what they
 * found.  FRE_E_ARG: no issuer. */
FRE_API FRE_MUST_CHECK fre_status fre_server_credentials(fre_server *x, fre_buf *out, fre_bytes in);
/** S_tag.  It takes encapsulated tag requests (from the relay alone), COLLECTED of the relay, LISTED and
 * UNSEAL of S_syn, CANCEL.  oprf as above. */
FRE_API FRE_MUST_CHECK fre_status fre_server_new_tagging(fre_server **out, const fre_agreement *a,
                                                         const fre_server_keys *keys,
                                                         fre_oprf_key *oprf, fre_err *err);
/** S_syn.  It takes MIXED of S_tag, GATHERED of the relay, CANCEL.  statement: what the release says of privacy, UTF-8, copied. */
FRE_API FRE_MUST_CHECK fre_status fre_server_new_synthesis(fre_server **out, const fre_agreement *a,
                                                           const fre_server_keys *keys,
                                                           fre_bytes statement, fre_err *err);

/** A user's device.  It writes to the relay alone (CARRY), at times that it draws; it takes LISTED, RELEASE
 * and CANCEL.  x: embeddings, n rows of dim floats, n <= cells_per_user, copied; a user without texts takes
 * part too.  Of texts that share a cell the first counts.  credentials: for the issuer, copied.
 * fresh: coins, places and times are drawn now, once; false: they are in the rows that _restore gets.
 * number: which client of a rehearsal with a seed this is.
 * FRE_E_DATA: a NaN, an infinity, a coordinate outside the grid; credentials too long. */
typedef struct fre_client_setup {
    const float *x;
    uint32_t n;
    fre_bytes credentials;
    bool fresh;
    uint64_t number;
} fre_client_setup;
FRE_API FRE_MUST_CHECK fre_status fre_server_new_client(fre_server **out, const fre_agreement *a,
                                                        const fre_client_setup *setup,
                                                        fre_err *err);
/** Why a client ended early: FRE_E_PROOF: a server answered with another key than the collection's;
 * FRE_E_REFUSED: not admitted, or cancelled; FRE_E_AGAIN: too late, or, with two contacts, an entry had no
 * receipt before the list came and may not be in it.  FRE_OK: all was taken, or it has not ended. */
FRE_API fre_status fre_server_client_verdict(const fre_server *x);

/* ---- driving machines ------------------------------------------------------------------------- */

/** What surrounds machines: who keeps their rows and carries their messages. */
typedef struct fre_host {
    void *ctx;
    /** Around each call of x and the keeping of its rows, where several threads drive it; may be NULL. */
    void (*enter)(void *ctx, fre_server *x);
    void (*leave)(void *ctx, fre_server *x);
    /** A call's rows, in one transaction, before anything of that call leaves; NULL: rows are dropped.
     * Where it fails nothing leaves, and whoever drives x throws it away: the driver returns the
     * status and looks at x no more.  FRE_E_AGAIN: x is away already, and another has its place. */
    fre_status (*keep)(void *ctx, fre_server *x, const fre_delta *rows);
    /** Carries a message of x to a role, and brings the answer into *answer, which is empty; it stays so
     * where the message or its answer was lost. */
    fre_status (*carry)(void *ctx, const fre_server *x, fre_role to, fre_bytes message,
                        fre_buf *answer);
} fre_host;
/** A message that came in: the answer goes to *answer, which is empty.  Where the relay has to ask another
 * role first, that is carried too, without x being entered. */
FRE_API FRE_MUST_CHECK fre_status fre_server_take(fre_server *x, const fre_host *h, fre_buf *answer,
                                                  fre_bytes message, int64_t now);
/** What is due: letters are carried and their answers taken.  *letters: how many; may be NULL. */
FRE_API FRE_MUST_CHECK fre_status fre_server_step(fre_server *x, const fre_host *h, size_t *letters,
                                                  int64_t now);

/** The links of roles within one process: carrying is a call.  What a link does to a message, with a
 * probability of p / 2^32 each: it is lost, its answer is lost, it comes twice, it is late (its
 * sender gets no answer, and it comes when the next message does).  Caller's storage. */
typedef struct fre_links {
    fre_host host;                           /**< carry is theirs; the rest may be set */
    fre_server *server[FRE_ROLE_ISSUER + 1]; /**< by role; not owned */
    int64_t now;                             /**< of whom a message comes to */
    fre_rng *rng;                            /**< borrowed; NULL: nothing happens to any */
    uint64_t lose, lose_answer, repeat, delay;
    uint64_t lost, repeated, delayed; /**< messages so far */
    fre_role late_to;
    fre_buf late;   /* empty: none */
    unsigned depth; /* calls within calls */
} fre_links;
FRE_API void fre_links_init(fre_links *l);
FRE_API void fre_links_wipe(fre_links *l);
/** For a carry of the caller's own, which looks at messages or changes them.  FRE_E_ARG: nobody has that
 * role. */
FRE_API FRE_MUST_CHECK fre_status fre_links_carry(fre_links *l, fre_role to, fre_bytes message,
                                                  fre_buf *answer);

#ifdef __cplusplus
}
#endif
#endif /* FRE_SERVER_H */
