/* Opening a language model. */
#include "lm_private.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>


fre_model_ctx *lm_borrow(fre_lm *lm)
{
    fre_model_ctx *c = NULL;

    (void)pthread_mutex_lock(&lm->lock);
    if (lm->n_idle > 0)
        c = lm->idle[--lm->n_idle];
    (void)pthread_mutex_unlock(&lm->lock);
    return c;
}

void lm_give_back(fre_lm *lm, fre_model_ctx *c)
{
    (void)pthread_mutex_lock(&lm->lock);
    lm->idle[lm->n_idle++] = c;
    (void)pthread_mutex_unlock(&lm->lock);
}

/* What stands between documents in the text that a model was trained on; the begin token of a
 * model tuned to dialogues opens a turn instead, so <|endoftext|> goes first. */
static int32_t begin_token(const fre_model *m)
{
    int32_t id = fre_model_control(m, "<|endoftext|>");

    return id >= 0 ? id : fre_model_bos(m);
}

static fre_status open_workspaces(fre_lm *lm, fre_err *err)
{
    lm->idle = calloc(lm->threads, sizeof(fre_model_ctx *));
    if (!lm->idle)
        return fre_fail(err, FRE_E_NOMEM, "out of memory opening the language model");
    for (uint32_t i = 0; i < lm->threads; i++) {
        fre_status st =
            fre_model_ctx_new_score(&lm->idle[i], lm->model, lm->max_tokens, lm->max_all, err);

        if (st != FRE_OK)
            return st;
        lm->n_idle++;
    }
    return FRE_OK;
}

static fre_status set_up(fre_lm *lm, const fre_lm_opts *opts, const char *path, fre_err *err)
{
    fre_status st = fre_model_open(&lm->model, path, FRE_MODEL_DECODER, err);
    uint32_t context;

    if (st != FRE_OK)
        return st;
    context = fre_model_info_view(lm->model)->context;
    lm->max_tokens = opts->max_tokens ? opts->max_tokens : FRE_LM_TOKENS;
    if (!opts->max_tokens && lm->max_tokens > context)
        lm->max_tokens = context;
    if (!fre_param_holds(&fre_lm_param_max_tokens, lm->max_tokens) || lm->max_tokens > context)
        return fre_fail(err, FRE_E_ARG, "the language model %s reads %.0f..%u tokens, not %u", path,
                        fre_lm_param_max_tokens.lowest, context, lm->max_tokens);
    lm->max_all = lm->max_tokens > LM_BATCH_TOKENS ? lm->max_tokens : LM_BATCH_TOKENS;
    lm->threads = opts->threads;
    lm->parts = opts->parts;
    lm->begin = begin_token(lm->model);
    if (lm->begin < 0 && lm->parts != FRE_LM_REST)
        return fre_fail(err, FRE_E_MODEL,
                        "%s has no begin token, which stands in front of a whole text", path);
    return open_workspaces(lm, err);
}

static fre_status check_options(const fre_lm_opts *o, fre_err *err)
{
    const fre_param_value given[] = {{&fre_lm_param_max_tokens, o->max_tokens}};
    fre_status st = fre_param_check(&fre_param_threads, o->threads, err);

    return st == FRE_OK ? fre_param_check_given(given, sizeof given / sizeof *given, err) : st;
}

fre_status fre_lm_open(fre_lm **out, const fre_lm_opts *opts, fre_err *err)
{
    char found[PATH_MAX];
    const char *path;
    fre_lm *lm;
    fre_status st;

    if (!out || !opts)
        return fre_fail(err, FRE_E_ARG, "a language model needs options");
    st = check_options(opts, err);
    if (st != FRE_OK)
        return st;
    path = opts->path;
    if (!path) {
        if (fre_model_find(found, sizeof found, FRE_LM_DEFAULT, NULL) != FRE_OK)
            return fre_fail(
                err, FRE_E_NOINPUT,
                "the language model %s is not here: obtain it once (93 MB) by " FRE_LM_SCRIPT
                ", or name a GGUF file",
                FRE_LM_DEFAULT);
        path = found;
    }
    lm = calloc(1, sizeof *lm);
    if (!lm)
        return fre_fail(err, FRE_E_NOMEM, "out of memory opening the language model");
    if (pthread_mutex_init(&lm->lock, NULL) != 0) {
        free(lm);
        return fre_fail(err, FRE_E_NOMEM, "out of memory opening the language model");
    }
    st = set_up(lm, opts, path, err);
    if (st == FRE_OK)
        *out = lm;
    else
        fre_lm_free(lm);
    return st;
}

void fre_lm_free(fre_lm *lm)
{
    if (!lm)
        return;
    for (uint32_t i = 0; i < lm->n_idle; i++) /* all are idle between calls */
        fre_model_ctx_free(lm->idle[i]);
    free(lm->idle);
    fre_model_free(lm->model);
    (void)pthread_mutex_destroy(&lm->lock);
    free(lm);
}

const fre_model_info *fre_lm_info(const fre_lm *lm)
{
    return fre_model_info_view(lm->model);
}
