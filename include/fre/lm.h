/** fre/lm.h - a causal language model of plain text: how natural a text reads, and texts drawn.
 *
 * Any GGUF decoder.  Llama-shaped ones up to 192 M weights run in kernels of our own
 * (docs/decisions/0002), where a text's numbers are the same to the bit whatever the texts beside
 * it, their order, the threads and the processor; others run in llama.cpp, one text a call, with
 * the same independence on one machine.  Leading tokens that texts of one call have in common are
 * computed once.  Threads: a fre_lm is used by one thread at a time and runs its own workers.
 */
#ifndef FRE_LM_H
#define FRE_LM_H

#include <fre/core.h>
#include <fre/model.h>
#include <fre/param.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What obtains FRE_LM_DEFAULT, as messages say it. */
#define FRE_LM_SCRIPT "fre-e2t-get-language-model (in a checkout: tools/get-language-model)"

/** Obtained by that script; not bundled. */
#define FRE_LM_DEFAULT "smollm2-135m-instruct.q4_1.gguf"
#define FRE_LM_TOKENS 1024u /* a longer text is cut, unless the options say otherwise */

/** Beyond what its model reads, a text's limit is refused by fre_lm_open. */
FRE_API extern const fre_param fre_lm_param_max_tokens;

typedef struct fre_lm fre_lm;

/** Each number of a score costs a pass over the texts. */
typedef enum fre_lm_parts {
    FRE_LM_BOTH,
    FRE_LM_REST, /**< logp_rest alone; logp is NaN */
    FRE_LM_WHOLE /**< logp alone; logp_rest is NaN */
} fre_lm_parts;

typedef struct fre_lm_opts {
    const char *path;    /**< GGUF; NULL: FRE_LM_DEFAULT, where fre_model_find finds it */
    uint32_t threads;    /**< fre_param_threads */
    uint32_t max_tokens; /**< longest text, with its begin token (fre_lm_param_max_tokens);
                              0: FRE_LM_TOKENS or the model's context if that is shorter */
    fre_lm_parts parts;
} fre_lm_opts;

/** Natural logarithms. */
typedef struct fre_lm_score {
    /** sum over t = 2..T of ln p(w_t | w_1 .. w_(t-1)), without a begin token [Fre-E2T, eq. NLL];
     * 0 for T < 2. */
    double logp_rest;
    /** The whole text after a begin token: all T tokens and the end (the probability of all end
     * tokens together). */
    double logp;
    uint32_t tokens; /**< T, after cutting */
    bool cut;        /**< longer than max_tokens */
} fre_lm_score;

/** FRE_E_NOINPUT: missing (says how to obtain the default), FRE_E_MODEL: not a GGUF file, cut
 * short, or a model that predicts no text (an embedder, a reranker, an encoder-decoder). */
FRE_API FRE_MUST_CHECK fre_status fre_lm_open(fre_lm **out, const fre_lm_opts *opts, fre_err *err);
FRE_API void fre_lm_free(fre_lm *lm);
FRE_API const fre_model_info *fre_lm_info(const fre_lm *lm);

/** n texts (UTF-8, lengths given) -> n scores, each depending on its text alone.  FRE_E_DATA: a
 * text is not valid UTF-8 (names its position, 1-based); FRE_E_MODEL: a logit is not finite.
 * FRE_E_INTERRUPTED is polled. */
FRE_API FRE_MUST_CHECK fre_status fre_lm_score_texts(fre_lm *lm, fre_lm_score *out,
                                                     const char *const *text, const size_t *len,
                                                     size_t n, const fre_progress *progress,
                                                     fre_err *err);

/** Mean negative log-probability a token by the paper's formula, -logp_rest / (T - 1); NaN for
 * fewer than two tokens.  Its exponential is the perplexity. */
FRE_API double fre_lm_nll(const fre_lm_score *s);

#define FRE_LM_NATURAL_NLL 6.0 /* the paper reports the share of texts up to here */

/** What scored texts come to; NaN where none has two tokens. */
typedef struct fre_lm_summary {
    uint64_t texts, scored, tokens, cut; /**< scored: of two tokens or more; cut: at max_tokens */
    double median_nll, median_perplexity, mean_nll;
    double natural; /**< share of those of at most FRE_LM_NATURAL_NLL */
} fre_lm_summary;

/** Texts one after the other, however many: they are scored some thousands at a time. */
typedef struct fre_lm_scorer fre_lm_scorer;
/** The next text and its score, borrowed for the call.  What it returns beside FRE_OK ends the batch
 * and is passed on. */
typedef fre_status fre_lm_text_fn(void *ctx, const char *text, size_t len,
                                  const fre_lm_score *score, fre_err *err);

/** lm and progress are borrowed until free.  each NULL: the summary alone. */
FRE_API FRE_MUST_CHECK fre_status fre_lm_scorer_new(fre_lm_scorer **out, fre_lm *lm,
                                                    fre_lm_text_fn *each, void *ctx,
                                                    const fre_progress *progress, fre_err *err);
/** How many texts there will be, as far as is known: for progress. */
FRE_API void fre_lm_scorer_expect(fre_lm_scorer *s, uint64_t texts);
/** A text (UTF-8), copied; may deliver scores.  FRE_E_LIMIT: longer than 64 MiB; statuses of
 * fre_lm_score_texts. */
FRE_API FRE_MUST_CHECK fre_status fre_lm_scorer_add(fre_lm_scorer *s, const char *text, size_t len,
                                                    fre_err *err);
/** Deliver the scores that wait. */
FRE_API FRE_MUST_CHECK fre_status fre_lm_scorer_flush(fre_lm_scorer *s, fre_err *err);
/** Of the texts whose scores were delivered. */
FRE_API void fre_lm_scorer_summary(fre_lm_scorer *s, fre_lm_summary *out);
FRE_API void fre_lm_scorer_free(fre_lm_scorer *s);

typedef struct fre_lm_sampling {
    double temperature; /**< > 0 */
    uint32_t top_k;     /**< the likeliest this many tokens, 1..1024; 0: all */
    uint32_t max_new;   /**< tokens of a text, >= 1 */
    bool stop_at_newline;
    bool chat; /**< the prompt is what a user says, the texts are answers; see fre_lm_can_chat */
    uint64_t seed; /**< texts are repeatable: sampling is not secret */
} fre_lm_sampling;

/** Was the model tuned to dialogues (its vocabulary has the marks of ChatML)? */
FRE_API bool fre_lm_can_chat(const fre_lm *lm);

/** n continuations of a prompt (UTF-8), each until an end token, a newline or max_new tokens ->
 * NUL-terminated texts for free(), without white space at either end, valid UTF-8; NULL where
 * nothing came.  Text i depends on the prompt, the sampling and i alone.  FRE_E_ARG: a value out of
 * range, or chat with a model that cannot; FRE_E_DATA: the prompt is not valid UTF-8; FRE_E_LIMIT:
 * prompt and text exceed the model's context.  FRE_E_INTERRUPTED is polled.  out is written on
 * success only. */
FRE_API FRE_MUST_CHECK fre_status fre_lm_sample(fre_lm *lm, char **out, size_t n,
                                                const char *prompt, size_t len,
                                                const fre_lm_sampling *sampling, fre_err *err);

/** A prompt of its own, and the stream of its text. */
typedef struct fre_lm_prompt {
    const char *text; /**< UTF-8, `len` bytes; borrowed */
    size_t len;
    uint64_t seed, number;
} fre_lm_prompt;

/** A text of each of n prompts: what fre_lm_sample gives as its text `number` with the prompt and its `seed`
 * in the place of that of `sampling`, whatever the prompts beside it.  They step side by side, so many at a
 * time take a fraction of the time that they would take one after the other.  The same statuses. */
FRE_API FRE_MUST_CHECK fre_status fre_lm_sample_each(fre_lm *lm, char **out, size_t n,
                                                     const fre_lm_prompt *prompt,
                                                     const fre_lm_sampling *sampling, fre_err *err);

#ifdef __cplusplus
}
#endif
#endif /* FRE_LM_H */
