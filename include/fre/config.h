/** fre/config.h - what the operator of a role keeps in files: its keys, what it shows the other operators
 * before there are terms, terms, and the configuration of its server.  docs/formats.md has every key of
 * every file, docs/decisions/0033 why keys lie where they lie.
 *
 * Five kinds of files of a role, named ROLE-XXXXXXXX.* after the SHA-256 of its public signing key:
 *     .secret.json        0600; signing key, key of the store's rows, contribution, and once they were shown
 *                         the four commitments: until the collection's end
 *     .once.json          0600; seal key, and VOPRF key of issuer and S_tag: read once, masked at another role
 *                         (decision 0023), then removed (fre_keys_forget_once); the relay has none
 *     .wrap.json          0600, of issuer and S_tag; 32 bytes for the process that keeps the VOPRF key (decision 0042), and
 *                         read by no other: until the collection's end
 *     .half.json          public: role, keys, address, pin, commitment; signed
 *     .contribution.json  public once it is there: the contribution, beside the commitments that its operator
 *                         saw before; signed
 *
 * Files with secrets are read by fre_private_read: no links, nobody else's, readable by nobody else
 * (FRE_E_REFUSED).  Every file is JSON, an object with each key once and no other, 64 KiB at most.
 * Errors, where a function's own comment does not say more: FRE_E_ARG; FRE_E_NOINPUT (a file is missing or
 * cannot be read); FRE_E_DATA (file and key are named); FRE_E_REFUSED; FRE_E_EXISTS, FRE_E_IO (writing);
 * FRE_E_NOMEM; FRE_E_INTERNAL.  No sentence holds a secret.  Outputs on success only.  Threads: no state;
 * an object is used by one at a time.
 */
#ifndef FRE_CONFIG_H
#define FRE_CONFIG_H

#include <fre/core.h>
#include <fre/oprf.h>
#include <fre/param.h>
#include <fre/seal.h>
#include <fre/server.h>
#include <fre/wire.h>
#include <fre/witness.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_CONFIG_FILE_MAX 65536u /* bytes of any of these files */

/** "tagging", "synthesis", "relay", "issuer"; static; NULL: no role. */
FRE_API const char *fre_role_name(fre_role role);
/** False: no such role. */
FRE_API bool fre_role_of(fre_role *out, const char *name);
#define FRE_KEYS_NAME_BYTES 20u
/** What the files of a key are called: "relay-1a2b3c4d".  Returns out. */
FRE_API const char *fre_keys_name(char out[FRE_KEYS_NAME_BYTES], fre_role role,
                                  const fre_sign_pk *pk);
/** Whose contribution a role's is. */
FRE_API fre_contributor fre_role_contributor(fre_role role);

/* ---- before the terms ------------------------------------------------------------------------- */

/** What a role's operator shows the others. */
typedef struct fre_half {
    fre_role role;
    fre_sign_pk sign;
    fre_hpke_pk seal;     /**< the relay: zeros */
    fre_oprf_public oprf; /**< relay and S_syn: zeros */
    char url[FRE_COLLECTION_URL_MAX + 1];
    uint8_t pin[FRE_HASH_BYTES];        /**< zeros with http */
    uint8_t commitment[FRE_HASH_BYTES]; /**< fre_collection_commit */
} fre_half;

typedef struct fre_keygen_opts {
    fre_role role;
    const char *url;    /**< as in terms: https, or http of this machine or an .onion service */
    const uint8_t *pin; /**< FRE_HASH_BYTES of its certificate; NULL, and only then: http */
    const char *folder; /**< made (0700) if it is missing */
    const char *once;   /**< folder of the once file, such as one in memory; NULL: folder */
    /** A certificate that was made for it, to be written beside the keys as ROLE-X.certificate.pem and
     * ROLE-X.key.pem (0600); both empty: none.  The key is SECRET. */
    fre_bytes certificate_pem, key_pem;
} fre_keygen_opts;
/** Paths, owned; NULL: no such file. */
typedef struct fre_keygen_files {
    char *secret, *once, *wrap, *half, *certificate, *key;
} fre_keygen_files;
/** Fresh keys from the system's randomness into new files; whatever fails, none of them is left.
 * FRE_E_USAGE: address and pin do not belong together. */
FRE_API FRE_MUST_CHECK fre_status fre_keygen(fre_keygen_files *out, const fre_keygen_opts *opts,
                                             fre_err *err);
FRE_API void fre_keygen_files_wipe(fre_keygen_files *f);

/** A half whose signature holds. */
FRE_API FRE_MUST_CHECK fre_status fre_half_read(fre_half *out, const char *path, fre_err *err);

/** What is shown once all commitments are there. */
typedef struct fre_reveal {
    fre_role role;
    fre_sign_pk sign;
    uint8_t contribution[FRE_SEED_BYTES];
    uint8_t commitment[FRE_CONTRIBUTORS][FRE_HASH_BYTES]; /**< that its operator saw before */
} fre_reveal;
FRE_API FRE_MUST_CHECK fre_status fre_reveal_read(fre_reveal *out, const char *path, fre_err *err);

/** The operator of `secret` was shown these four halves, its own among them: notes their commitments in the
 * secret file, from then on no others, and appends the text of its contribution file to out.  Asked again with
 * the same halves it gives the same.  FRE_E_DATA: not the four roles with keys of their own; FRE_E_REFUSED: its own
 * half is not there, or it committed to others before. */
FRE_API FRE_MUST_CHECK fre_status fre_keys_commit(fre_buf *out, const char *secret,
                                                  const fre_half half[FRE_CONTRIBUTORS],
                                                  fre_err *err);
/** Entries without which nothing is counted: fre_collection_parts.batch_min. */
FRE_API extern const fre_param fre_config_param_batch_min;
/** Keys, addresses, pins and contributions of terms; *parts borrows the addresses.  The halves and the
 * contributions in any order.  FRE_E_DATA: not the four roles, not their contributions, or operators who saw different
 * commitments. */
FRE_API FRE_MUST_CHECK fre_status fre_collection_gather(fre_collection_parts *parts,
                                                        const fre_half half[FRE_CONTRIBUTORS],
                                                        const fre_reveal reveal[FRE_CONTRIBUTORS],
                                                        fre_err *err);

/* ---- a role's keys ---------------------------------------------------------------------------- */

/** In locked memory.  SECRET. */
typedef struct fre_keys fre_keys;
/** One secret file, and its once file if it is still there (once: its folder; NULL: the secret file's). */
FRE_API FRE_MUST_CHECK fre_status fre_keys_open(fre_keys **out, const char *secret,
                                                const char *once, fre_err *err);
/** The secret file in `folder` of the role's signing key in the terms, checked by fre_keys_check; of the once file only
 * the place (once: its folder; NULL: folder) is noted, for _read_once.  FRE_E_NOINPUT: it is not there: this host has no
 * part in that collection. */
FRE_API FRE_MUST_CHECK fre_status fre_keys_find(fre_keys **out, const char *folder,
                                                const char *once, const fre_collection *c,
                                                fre_role role, fre_err *err);
/** The once file, if it is still there.  A server does so under the lock of its store (store.h), and after it no process
 * can have masked its keys and removed the file that it read: else a process that slept in between would bring keys
 * back that are over. */
FRE_API FRE_MUST_CHECK fre_status fre_keys_read_once(fre_keys *k, fre_err *err);
/** Instead of it, where a keeper has read that file in a process of its own: from then on _server names it (borrowed), and
 * _oprf is none.  seal: what was in the once file, copied; NULL: that is gone. */
FRE_API void fre_keys_keep(fre_keys *k, const fre_keeper *keeper, const fre_hpke_keypair *seal);
/** Are these the terms that this operator agreed to: its own keys, address, pin and contribution, and the four
 * commitments that it was shown?  FRE_E_REFUSED: no, and which is not; or it has not committed yet. */
FRE_API FRE_MUST_CHECK fre_status fre_keys_check(const fre_keys *k, const fre_collection *c,
                                                 fre_err *err);
/** Wipes memory, no file.  NULL is allowed. */
FRE_API void fre_keys_free(fre_keys *k);

/** All borrowed from k. */
FRE_API const fre_half *fre_keys_half(const fre_keys *k);
/** For fre_server_new_...; seal: zeros where the once file is gone (or the relay's). */
FRE_API const fre_server_keys *fre_keys_server(const fre_keys *k);
/** Of issuer and S_tag, for the same, which wipes it; NULL: another role, or the once file is gone. */
FRE_API fre_oprf_key *fre_keys_oprf(fre_keys *k);
/** Where the once file and the wrap file are, or were; borrowed; NULL: a role without. */
FRE_API const char *fre_keys_once_path(const fre_keys *k);
FRE_API const char *fre_keys_wrap_path(const fre_keys *k);
/** FRE_STORE_KEY_BYTES (store.h). */
FRE_API const uint8_t *fre_keys_store(const fre_keys *k);
/** The once file was there, and fre_keys_forget_once has not been called. */
FRE_API bool fre_keys_has_once(const fre_keys *k);

/** The once file is overwritten and removed, its folder synced, and what it held wiped here.  To be called when the masked
 * keys are in the store, at every start after it: a file that is gone already, or of zeros (its removal was interrupted), is
 * no error. */
FRE_API FRE_MUST_CHECK fre_status fre_keys_forget_once(fre_keys *k, fre_err *err);
/** All secret files of the role (secret, once, wrap, key.pem where it is one that fre_keygen wrote) are overwritten and
 * removed; erased is told of each path that was.  After an error what is left is still there to be erased again. */
FRE_API FRE_MUST_CHECK fre_status fre_keys_erase(fre_keys *k,
                                                 void (*erased)(void *ctx, const char *path),
                                                 void *ctx, fre_err *err);

/* ---- what a keeper reads, in its process (decision 0042) -------------------------------------- */

#define FRE_WRAP_BYTES 32u
/** SECRET. */
typedef struct fre_once {
    bool there; /**< else: it was removed, or is a file of zeros, and the keys are zero */
    fre_hpke_keypair seal;
    fre_oprf_key oprf;
} fre_once;
/** The once file of that role, with the keys that the terms name. */
FRE_API FRE_MUST_CHECK fre_status fre_once_read(fre_once *out, const char *path,
                                                const fre_collection *c, fre_role role,
                                                fre_err *err);
/** The wrap file beside it.  FRE_E_DATA: also: it is that of another role or collection. */
FRE_API FRE_MUST_CHECK fre_status fre_wrap_read(uint8_t wrap[FRE_WRAP_BYTES], const char *path,
                                                const fre_collection *c, fre_role role,
                                                fre_err *err);

/* ---- keys of a log and its witnesses ---------------------------------------------------------- */

typedef enum fre_signer_kind { FRE_SIGNER_LOG = 1, FRE_SIGNER_WITNESS } fre_signer_kind;
/** A log's or a witness's key, kept until it is replaced: log-XXXXXXXX.secret.json and, public,
 * log-XXXXXXXX.key.json.  SECRET. */
typedef struct fre_signer {
    fre_signer_kind kind;
    fre_sign_sk sk; /* SECRET */
    fre_sign_pk pk;
    bool has_seen;
    fre_log_head seen; /**< a witness: the last head that it signed */
} fre_signer;
/** *secret, *key: paths, owned. */
FRE_API FRE_MUST_CHECK fre_status fre_signer_keygen(char **secret, char **key, fre_signer_kind kind,
                                                    const char *folder, fre_err *err);
FRE_API FRE_MUST_CHECK fre_status fre_signer_read(fre_signer *out, const char *secret,
                                                  fre_err *err);
/** Writes s->seen into its file, before anything that it signed leaves. */
FRE_API FRE_MUST_CHECK fre_status fre_signer_keep(const fre_signer *s, const char *secret,
                                                  fre_err *err);
FRE_API void fre_signer_wipe(fre_signer *s);
/** The public file. */
FRE_API FRE_MUST_CHECK fre_status fre_signer_key_read(fre_sign_pk *out, fre_signer_kind *kind,
                                                      const char *path, fre_err *err);

/** What a client keeps of a log: the last head that it trusted, in a private file (0600).  FRE_E_DATA: another
 * log's. */
FRE_API FRE_MUST_CHECK fre_status fre_log_head_read(fre_log_head *out, bool *there,
                                                    const fre_sign_pk *log, const char *path,
                                                    fre_err *err);
FRE_API FRE_MUST_CHECK fre_status fre_log_head_keep(const fre_log_head *head,
                                                    const fre_sign_pk *log, const char *path,
                                                    fre_err *err);

/* ---- terms ------------------------------------------------------------------------------------ */

/** One file of terms (JSON), whoever's it is and whatever its mode. */
FRE_API FRE_MUST_CHECK fre_status fre_terms_read(fre_collection *out, const char *path,
                                                 fre_err *err);

typedef struct fre_terms {
    char *path; /* owned */
    fre_collection c;
    fre_collection_id id;
} fre_terms;
/** A file that is not to be served, and why. */
typedef struct fre_terms_refused {
    char *path; /* owned */
    fre_status st;
    fre_err why;
} fre_terms_refused;
typedef struct fre_terms_list {
    fre_terms *at; /**< n, in the order of their ids; owned */
    size_t n;
    fre_terms_refused *refused; /**< n_refused; owned */
    size_t n_refused;
} fre_terms_list;
/** Every *.json of the folder: one that is no terms, or the same terms as a file before it (by name), is among the
 * refused ones. */
FRE_API FRE_MUST_CHECK fre_status fre_terms_list_read(fre_terms_list **out, const char *folder,
                                                      fre_err *err);
FRE_API void fre_terms_list_free(fre_terms_list *l);

/* ---- a server's configuration ------------------------------------------------------------------- */

/** Where to listen.  address NULL: it doesn't. */
typedef struct fre_config_listener {
    char *address;              /**< numeric, IPv6 without brackets; owned */
    uint16_t port;              /**< 0: the system's choice */
    uint32_t requests_a_minute; /**< of one address; 0: not counted */
    uint32_t connections, workers;
} fre_config_listener;

typedef enum fre_credentials_kind {
    FRE_CREDENTIALS_NONE = 0, /**< another role than the issuer */
    FRE_CREDENTIALS_NAMES,    /**< a file of credentials, a line each */
    FRE_CREDENTIALS_HMAC,     /**< a file with a key that the app's account system has too; 0600 */
    FRE_CREDENTIALS_COMMAND   /**< a program that answers who it is */
} fre_credentials_kind;

#define FRE_CONFIG_ADDRESSES_MAX 8u
#define FRE_CONFIG_COMMAND_MAX 32u /* words of a command */

/** Strings are owned.  NULL: not said. */
typedef struct fre_config {
    fre_role role;
    char *store;                 /**< fre_store_opts.where */
    char *keys, *once;           /**< folders; once NULL: keys */
    char *collections;           /**< folder of terms */
    fre_config_listener clients; /**< "public": the relay's alone */
    fre_config_listener peer;    /**< of the other servers */
    fre_config_listener
        health; /**< health and metrics: plain HTTP, on the loopback unless told otherwise */
    /** PEM files, both or none.  None: clients and peer listen on the loopback alone, in plain HTTP.  Whether the pin is the
     * terms' is for whoever listens. */
    char *certificate, *private_key;
    /** By role: where its peer listener is, or those of its processes, separated by spaces, FRE_CONFIG_ADDRESSES_MAX at
     * most; NULL: the terms' URL.  Of its own role: where the other processes of it are, which share the store; NULL:
     * there are none. */
    char *peers[FRE_ROLE_ISSUER + 1];
    char *codebook; /**< file of public cells; the synthesis server's alone, where its terms have such */
    char *log;      /**< of collections; the relay's alone */
    fre_credentials_kind credentials;
    char *credentials_file; /**< names, hmac */
    char *command[FRE_CONFIG_COMMAND_MAX +
                  1]; /**< command: NULL-terminated, the first an absolute path */
} fre_config;

/** A file, with what the environment overrides: FRE_E2T_ and a key in capitals, inner keys behind their outer one
 * (FRE_E2T_STORE, FRE_E2T_PEER_LISTEN, FRE_E2T_PEERS_RELAY, FRE_E2T_CREDENTIALS_FILE); lists have none.  Everything is
 * checked: keys that there are, of this role; addresses, numbers; that folders and files are there and that secret ones
 * are private (keys: a folder of this user that nobody else can write to).  FRE_E_USAGE: the file is of another role. */
FRE_API FRE_MUST_CHECK fre_status fre_config_read(fre_config **out, const char *path, fre_role role,
                                                  fre_err *err);
/** NULL is allowed. */
FRE_API void fre_config_free(fre_config *c);

#ifdef __cplusplus
}
#endif
#endif /* FRE_CONFIG_H */
