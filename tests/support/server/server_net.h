/* server_net.h - a whole collection in memory: machines, stores, and a driver that carries messages, loses
 * them, says them twice and kills machines. */
#ifndef FRE_TEST_SERVER_NET_H
#define FRE_TEST_SERVER_NET_H

#include "server_private.h"
#include "wire_sample.h"

#define NET_DIM 12u
#define NET_ROLES 5u /* 0 a client, else its fre_role */

/* ---- a store: rows by table and key; a call's rows are one transaction ------------------------- */

typedef struct net_row {
    fre_buf key; /* table first */
    fre_buf value;
} net_row;
typedef struct net_store {
    net_row *row; /* sorted */
    size_t n, cap;
} net_store;
void net_store_wipe(net_store *s);
/* All of them. */
void net_store_commit(net_store *s, const fre_delta *rows);
/* Into a machine that was just made. */
fre_status net_store_restore(const net_store *s, fre_server *x);
size_t net_store_bytes(const net_store *s);

/* ---- a collection -------------------------------------------------------------------------------- */

typedef struct net_user {
    float x[FRE_COLLECTION_CELLS_MAX * NET_DIM];
    uint32_t texts;
    uint8_t credentials[4]; /* its number */
    fre_server *client;
    net_store store;
} net_user;

typedef struct net {
    sample s;
    fre_agreement *a;
    const fre_sketch *cells; /* of public cells, before net_begin; NULL: a grid */
    fre_links links; /* server: by role */
    net_store store[NET_ROLES];
    net_user *user;
    uint32_t users;
    uint32_t strangers; /* the last so many have no account */
    fre_status who;     /* what the issuer hears of anybody instead, unless FRE_OK */
    uint32_t who_asked; /* how often it asked */
    int64_t now;
    int64_t
        ahead[NET_ROLES]; /* seconds by which the clocks of clients (0) and of a role are wrong */
    fre_rng rng;
    /* Of 256: messages lost on their way, answers lost, messages said twice, messages that come late. */
    unsigned lose, lose_answer, twice, late;
    /* Kills the machine that is to write the row of this number, before its call's rows are
     * committed, and whoever makes a call with rows, one in so many; 0: nobody. */
    uint64_t kill_at, kill_every;
    fre_role kill_only; /* of these, a machine of this role alone; 0: any */
    bool masked;        /* who is restarted has no keys but those that come back from under masks */
    uint64_t rows, kills;
    int64_t stride; /* seconds between two steps, until entries close */
    /* What goes over the links, for whoever wants to look; may be NULL. */
    void (*saw)(struct net *n, fre_role from, fre_role to, fre_bytes message);
    /* May change a message (of a cheating sender) before it is taken; may be NULL. */
    void (*change)(struct net *n, fre_role from, fre_role to, fre_buf *message);
    /* A role's rows go here as well, and come from there; may be NULL. */
    void (*kept)(struct net *n, fre_role role, const fre_delta *rows);
    fre_status (*restore)(struct net *n, fre_role role, fre_server *x);
    void *ctx;
    /* Whose letters are under way; when it is killed by a message that comes meanwhile, it stays until they
     * are, though another machine has its place. */
    fre_server *stepping, *fallen;
    uint32_t sender; /* whose letters are carried; UINT32_MAX: a server's */
} net;
/* Small terms with one contact; what a test may change before net_begin. */
fre_collection net_terms(sample *s);
/* The same with two. */
fre_collection net_terms_two(sample *s);
void net_begin(net *n, const fre_collection *c, uint32_t users, uint64_t seed);
/* A text of a cluster, near to the others of it. */
void net_text(net *n, uint32_t user, uint32_t cluster);
/* A machine of its own: of a role; of a user, who draws anew or is to be restored. */
fre_server *net_make(net *n, fre_role role);
fre_server *net_make_client(net *n, uint32_t user, bool fresh);
/* Makes the users' machines, after their texts. */
void net_clients(net *n);
void net_end(net *n);

/* The links' carry, with what looks at messages and changes them. */
fre_status net_carry(net *n, fre_role from, fre_role to, fre_bytes message, fre_buf *answer);
/* One message to a role, as a link would carry it: true if an answer came back. */
bool net_send(net *n, fre_role from, fre_role to, fre_bytes message, fre_buf *answer);
/* Every machine once: what is due, and its answers. */
void net_step(net *n);
/* Until nothing changes any more, or time ends. */
void net_run(net *n);
/* Kills it and takes it back from its store; keys are given back, unless they are masked. */
void net_restart(net *n, fre_role role);
void net_restart_client(net *n, uint32_t user);
/* Cells of the release that S_syn has, sorted by count; centroids: n x NET_DIM.  -1: no release. */
int net_release(const net *n, fre_role role, uint32_t *count, float *centroid, uint32_t max);

#endif /* FRE_TEST_SERVER_NET_H */
