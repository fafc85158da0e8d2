/* invert_private.h - the inverter, and a centroid at work.  Its parts have headers of their own.
 *
 * One inv_state a centroid holds everything that its result depends on, so that centroids
 * can be worked on side by side, in any order, by any thread.
 */
#ifndef FRE_INVERT_PRIVATE_H
#define FRE_INVERT_PRIVATE_H

#include <fre/bridge.h>
#include <fre/invert.h>
#include <fre/lm.h>
#include <fre/model.h>
#include <fre/prior.h>

#include "edit.h"
#include "index.h"
#include "others.h"
#include "screen.h"

#define INV_CHUNK 32u /* centroids whose candidates are embedded together */
#define INV_TRIALS 5u /* of a word that the embedder does not know, in a round */

/* ---- the inverter -------------------------------------------------------------------------- */

/* One centroid at work: all that its result depends on. */
typedef struct inv_state {
    const float *mu;
    double noise_std;
    float *prefix;
    inv_plan *plan;
    inv_draw *draw;
    uint32_t n_plan;
    bool correct; /* the next plans are the corrector's */
    fre_rng rng;
    inv_pool pool;
    inv_screen *screen;
    inv_ngram *ngram; /* NULL without an index */
    inv_response response;
    inv_trace trace;
    uint32_t parents; /* of this round: fewer from round to round */
} inv_state;

struct fre_inverter {
    fre_embedder *embedder; /* borrowed */
    uint32_t dim;
    fre_model *decoder; /* NULL: search alone; then no projector, drawer, starts either */
    fre_prior *prior;   /* of the inverter's own embedder; NULL: none */
    fre_bridge *bridge; /* NULL: the embedder is the inverter's own */
    inv_projector projector;
    inv_drawer *drawer;         /* one a thread */
    uint8_t *starts;            /* per token: it begins a word */
    inv_index *index;           /* NULL: no public corpus */
    fre_corpus *corpus;         /* NULL: none, or done with */
    char *corpus_path;          /* NULL: none */
    fre_lm *lm;                 /* NULL: none */
    inv_vocabulary *vocabulary; /* NULL: none */
    inv_vocabulary *lent;       /* of another inverter, for a search by public texts; NULL: none */
    const inv_vocabulary *telling; /* one of these: what it does not know is not told; NULL: none */
    fre_languages *languages;      /* NULL: nothing is known of languages here */
    fre_prior *around;             /* what they stand on, if it is not the prior above */
    char unknown[8];               /* a word that the embedder does not know; "": it knows all */
    uint32_t threads;
    uint64_t seed;
    uint32_t effort;
    inv_tuning tuning;
    uint8_t corpus_sha256[FRE_HASH_BYTES]; /* if has_corpus */
    bool has_corpus;
    fre_invert_trace_fn trace;
    void *trace_ctx;
};

extern const char *const inv_kind_name[INV_KINDS];

/* Where the progress of a chunk is reported: rows from `at` on, of `all`. */
typedef struct inv_progress {
    const fre_progress *to;
    size_t at, all;
} inv_progress;

/* First draws and all rounds of n <= INV_CHUNK states (mu, noise_std set, the rest zero). */
FRE_MUST_CHECK fre_status inv_search(fre_inverter *v, inv_state *state, uint32_t n,
                                     const inv_progress *progress, fre_err *err);
void inv_state_wipe(inv_state *s);
/* Proposals of one round and their likelihoods, added to the pool and trimmed. */
FRE_MUST_CHECK fre_status inv_propose(fre_inverter *v, inv_drawer *d, inv_state *s, fre_err *err);
/* The plan writes exactly this text.  False: too long. */
bool inv_plan_text(inv_plan *out, const fre_model *m, const char *text, size_t n);
/* The language model reads the finalists of n states; their scores and order follow. */
FRE_MUST_CHECK fre_status inv_finals(fre_inverter *v, inv_state *state, uint32_t n, fre_err *err);

/* ---- what is told ---------------------------------------------------------------------------- */

/* Are all words known from public text, the corpus (NULL: none) or `source` (NULL: none), none doubled, and is
 * the end a sentence's (sound.c)? */
bool inv_is_sound(const inv_vocabulary *v, const inv_index *corpus, const char *source,
                  const char *text);
/* Has it a word that public text hardly ever has, never among such neighbours, and that the corpus lacks? */
bool inv_has_rare(const inv_vocabulary *v, const inv_index *corpus, const char *text);
/* Is the text in the vocabulary's language? */
bool inv_is_native(const inv_vocabulary *v, const char *text);

/* The result of a row that was searched for, and what it could have been (others NULL: not asked).  A text
 * about something else is marked as unreadable; inv_judge withholds it (tell.c). */
FRE_MUST_CHECK fre_status inv_tell(fre_inverter *v, fre_inversion *out, inv_others *others,
                                   const inv_state *s, fre_err *err);
/* A candidate's part of the posterior weight of all. */
double inv_share(const inv_pool *p, size_t candidate);
/* A row without a text, and why. */
void inv_tell_nothing(fre_inversion *out, const char *why);
/* Squared distance to the text beyond what the noise accounts for. */
double inv_unexplained(const fre_inversion *v, double noise_std, uint32_t dim);

/* Withhold a text whose point is in another language, or that is marked as unreadable (judge.c). */
FRE_MUST_CHECK fre_status inv_judge(const fre_inverter *v, fre_inversion *out, const float *mu,
                                    double noise_std);
/* Open what that is judged by: the vocabulary of what is told, and the languages. */
FRE_MUST_CHECK fre_status inv_open_telling(fre_inverter *v, fre_err *err);
FRE_MUST_CHECK fre_status inv_open_languages(fre_inverter *v, fre_err *err);

/* ---- helpers of the search --------------------------------------------------------------------- */

/* The rows that the decoder reads for a centroid. */
FRE_MUST_CHECK fre_status inv_prefix_of(const fre_inverter *v, float *out, const float *mu,
                                        double noise_std);
/* The plans of a round: what the corrector writes for the best candidates. */
FRE_MUST_CHECK fre_status inv_correct(fre_inverter *v, inv_drawer *d, inv_state *s, fre_err *err);

/* The verification at opening. */
FRE_MUST_CHECK fre_status inv_check_works(fre_inverter *v, fre_err *err);
/* FRE_E_DATA: a row or its noise is no centroid. */
FRE_MUST_CHECK fre_status inv_check_rows(const fre_inverter *v, const float *mu,
                                         const double *noise_std, size_t n, fre_err *err);

#endif /* FRE_INVERT_PRIVATE_H */
