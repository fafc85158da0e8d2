/* lm_private.h - a language model with its workspaces. */
#ifndef FRE_LM_PRIVATE_H
#define FRE_LM_PRIVATE_H

#include <fre/lm.h>

#include <pthread.h>

/* More of a text than its first tokens is never read: a token is at most a few dozen bytes. */
#define LM_TOKEN_BYTES 64u
#define LM_BATCH_TOKENS 256u /* tokens of the texts that one workspace runs in one go */

struct fre_lm {
    fre_model *model;
    uint32_t threads, max_tokens, max_all;
    fre_lm_parts parts;
    int32_t begin;        /* stands in front of a whole text */
    fre_model_ctx **idle; /* workspaces for scores, one a thread; guarded by lock */
    uint32_t n_idle;
    pthread_mutex_t lock;
};

fre_model_ctx *lm_borrow(fre_lm *lm);
void lm_give_back(fre_lm *lm, fre_model_ctx *c);

#endif
