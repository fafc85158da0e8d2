/** fre/contribute.h - a user's device in a collection: the client's machine (server.h), what it must not forget in
 * a private file, and the way to the relay, to whom alone it speaks.  [protocol: clients]
 *
 * The first call draws coins, places and times and writes them down before anything leaves; every later one with
 * the same state file goes on from there, whatever was interrupted.  What was sent is sent again byte for byte until
 * it has an answer, after pauses that grow and have a random part.  When all is said the file holds the
 * collection's id and how it ended, and no secret any more: a second contribution to the same collection is
 * refused by it.
 *
 * Threads: one at a time a state file (a second process gets FRE_E_AGAIN).
 */
#ifndef FRE_CONTRIBUTE_H
#define FRE_CONTRIBUTE_H

#include <fre/core.h>
#include <fre/server.h>
#include <fre/wire.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fre_contribute_opts {
    const fre_agreement *terms; /**< with its public cells, if it has such */
    const char *state;          /**< file; made (0600) if it is missing */
    /** Of the first call; later ones go by what the state has.  x: n rows of dim floats, n <= cells_per_user, none with
     * n = 0: who has no text takes part too.  SECRET, both. */
    const float *x;
    uint32_t n;
    fre_bytes credentials; /**< for the issuer; FRE_WIRE_CREDENTIALS_MAX */
    const char *proxy;     /**< "socks5h://HOST:PORT"; NULL: none */
    bool once;             /**< do what is due now and return; false: stay until all is said */
    /** Told where it is, for a person who waits; may be NULL. */
    void (*said)(void *ctx, const char *what);
    void *ctx;
} fre_contribute_opts;

/** FRE_OK: everything was taken, now or before (*already).
 * FRE_E_AGAIN: with once, there is more to say later; or another process has the state.
 * FRE_E_REFUSED: not admitted, cancelled, too late, or the state is another collection's.
 * FRE_E_PROOF: a server answered with another key than the collection's: somebody tries to mark this client.
 * FRE_E_INTERRUPTED: by a signal; the state stays.
 * FRE_E_KEY: the relay is not the one that the terms pin.
 * FRE_E_ARG, FRE_E_DATA (a damaged state, or an embedding that cannot be placed), FRE_E_IO, FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_contribute(bool *already, const fre_contribute_opts *opts,
                                                 fre_err *err);

/** Terms by their address, "https://HOST[:PORT][/PATH]/fre/v2/ID" of any role (docs/wire.md 9), ID in hexadecimal
 * digits: what has another id is refused, so that whoever answers, with whatever certificate, can give those terms or
 * none.  kept: a file that is read in the place of the network once it has them, so that they are asked for once; made
 * or replaced (0600).  FRE_E_USAGE: no such address; FRE_E_NOINPUT: not there; FRE_E_DATA: others are; FRE_E_AGAIN: not
 * now; else as fre_http_get and fre_private_write. */
FRE_API FRE_MUST_CHECK fre_status fre_contribute_fetch_terms(fre_collection *out, const char *url,
                                                             const char *kept, const char *proxy,
                                                             fre_err *err);

/** The file of the log of collections, as the relay serves it (witness.h, which checks it), before anything is
 * contributed; out: empty.  FRE_E_REFUSED: it serves none; FRE_E_AGAIN: not now; else as fre_http_get. */
FRE_API FRE_MUST_CHECK fre_status fre_contribute_fetch_log(fre_buf *out, const fre_collection *c,
                                                           const char *proxy, fre_err *err);

/** Does the state say what to contribute already, so that texts and credentials need not be given any more?  Errors as
 * above. */
FRE_API FRE_MUST_CHECK fre_status fre_contribute_has_begun(bool *out, const char *state,
                                                           const fre_collection_id *id,
                                                           fre_err *err);

#ifdef __cplusplus
}
#endif
#endif /* FRE_CONTRIBUTE_H */
