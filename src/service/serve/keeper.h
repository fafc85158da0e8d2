/* serve/keeper.h - between a server and its keeper: one request at a time over a socket of whole messages.  Both ends are
 * one program, forked, so that what travels is their own structs. */
#ifndef FRE_SERVE_KEEPER_H
#define FRE_SERVE_KEEPER_H

#include "serve_private.h"

#include <limits.h>
#include <stddef.h>

typedef enum keeper_verb {
    KEEPER_OPEN = 1,
    KEEPER_EVALUATE,
    KEEPER_VOUCH,
    KEEPER_MASK,
    KEEPER_UNMASK,
    KEEPER_WIPE, /* the key is over, for good */
    KEEPER_DROP  /* the server closed the collection, and may open it again */
} keeper_verb;

#define KEEPER_TERMS_MAX 16384u
#define KEEPER_MEMBERS_MAX 512u

typedef struct keeper_open {
    fre_role role;
    int64_t now; /* as the server is sure of it */
    uint32_t terms_bytes;
    char once[PATH_MAX], wrap[PATH_MAX];
    uint8_t terms[KEEPER_TERMS_MAX]; /* as the wire has them */
} keeper_open;

typedef struct keeper_request {
    keeper_verb verb;
    uint32_t at; /* which key: what open answered */
    uint32_t n;
    union {
        keeper_open open;
        fre_oprf_element blinded[FRE_COLLECTION_CELLS_MAX];
        struct {
            fre_tag tag;
            fre_vouch_member member[KEEPER_MEMBERS_MAX];
        } vouch;
        struct {
            uint8_t masked[FRE_OPRF_SCALAR_BYTES], mask[FRE_OPRF_SCALAR_BYTES]; /* SECRET */
        } mask;
    } u;
} keeper_request;

typedef struct keeper_answer {
    fre_status st;
    uint32_t at;
    union {
        struct {
            bool here, once;       /* the key is; the once file was */
            fre_hpke_keypair seal; /* SECRET; once: of it */
            fre_err err;
        } open;
        struct {
            fre_oprf_element evaluated[FRE_COLLECTION_CELLS_MAX];
            fre_oprf_proof proof;
        } evaluate;
        bool right[KEEPER_MEMBERS_MAX];
        uint8_t masked[FRE_OPRF_SCALAR_BYTES];
    } u;
} keeper_answer;

#define KEEPER_HEAD offsetof(keeper_request, u)
#define KEEPER_ANSWER_HEAD offsetof(keeper_answer, u)

/* keeper_process.c: what the forked process does until its socket ends; it does not return.  request, answer: room for
 * them, which is locked anew.  parent: its server's pid. */
_Noreturn void keeper_run(int socket, keeper_request *request, keeper_answer *answer, pid_t parent);

#endif /* FRE_SERVE_KEEPER_H */
