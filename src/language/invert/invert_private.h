/* invert_private.h - the parts of the inverter: projector, drawer, pool, editor.
 *
 * One inverter_state a centroid holds everything that its result depends on, so that centroids
 * can be worked on side by side, in any order, by any thread.
 */
#ifndef FRE_INVERT_PRIVATE_H
#define FRE_INVERT_PRIVATE_H

#include <fre/invert.h>
#include <fre/model.h>
#include <fre/prior.h>

#define INV_TOKENS 31u /* longest text in tokens; the end token follows (model card: 32) */
#define INV_MAX_SAMPLES 512u
#define INV_TOP_K 64u      /* model card: top-k 64 */
#define INV_TEXT_MAX 1024u /* bytes of one candidate */

#define INV_BATCH 96u /* sequences side by side in one decoder context */
#define INV_CHUNK 32u /* centroids whose candidates are embedded together */

/* What is tuned, on public text only (docs/decisions); inv_tuning_default holds the values. */
typedef struct inv_tuning {
    uint32_t samples; /* first draws, one of them greedy */
    uint32_t rounds;  /* of edits */
    uint32_t keep;    /* of the first draws, the likeliest this many are embedded */
    uint32_t edits;   /* proposals a round */
    uint32_t keep_edits;
    uint32_t parents; /* best candidates that are edited */
    uint32_t correct_rounds, correct_parents; /* first rounds, by the corrector if there is one */
    double temperature;
    double std_floor;   /* of the noise in the score */
    double logp_weight; /* w of the score */
} inv_tuning;

extern const inv_tuning inv_tuning_default;

/* ---- projector: embedding and noise level -> rows that stand in front of the text --------- */

#define INV_PROJECTOR_ARCHITECTURE "fre-e2t-projector"

/* One hidden layer and a straight way past it. */
typedef struct inv_net {
    const float *w0, *w1, *b1, *w2, *b2; /* borrowed from the tensors */
    uint32_t in, hidden, out;
} inv_net;

typedef struct inv_projector {
    fre_tensors *tensors;
    inv_net first, corrector;
    uint32_t dim, rows, width; /* width: of one prefix row */
    uint32_t corrector_rows;   /* 0: there is no corrector */
    bool posterior_mean;       /* what it reads: E[e | mu], not mu */
    const fre_prior *prior;    /* borrowed; NULL: none */
} inv_projector;

fre_status inv_projector_open(inv_projector *p, const char *path, fre_err *err);
void inv_projector_wipe(inv_projector *p);
/* Do the parts belong together?  Keeps the prior. */
fre_status inv_projector_fit(inv_projector *p, const fre_model_info *embedder,
                             const fre_model_info *decoder, const fre_prior *prior, fre_err *err);
/* out: rows * width floats. */
fre_status inv_projector_run(const inv_projector *p, float *out, const float *mu, double noise_std);
/* out: corrector_rows * width floats, which go between those rows and the hypothesis. */
fre_status inv_corrector_run(const inv_projector *p, float *out, const float *mu, double noise_std,
                             const float *hypothesis);

/* ---- plans: what one sequence is to write -------------------------------------------------- */

/* Given tokens, then drawn ones, then given ones.  `open`: drawn until the end token, no tail;
 * else exactly n_free are drawn, none of them the end, and the end follows the tail. */
typedef struct inv_plan {
    int32_t head[INV_TOKENS], tail[INV_TOKENS];
    uint32_t n_head, n_free, n_tail;
    bool open, greedy;
} inv_plan;

typedef struct inv_draw {
    int32_t ids[INV_TOKENS];
    uint32_t n;
    double logp; /* log p(text and end | prefix) at temperature 1, natural log */
} inv_draw;

/* Workspace of one thread. */
typedef struct inv_drawer {
    fre_model_ctx *ctx;
    const fre_model *model;
    float *logits;
    uint32_t capacity, prefix_rows, max_rows; /* of a prefix: the projector's, with a hypothesis */
    int32_t end;
} inv_drawer;

fre_status inv_drawer_init(inv_drawer *d, const fre_model *m, const inv_projector *p,
                           uint32_t capacity, fre_err *err);
void inv_drawer_wipe(inv_drawer *d);
/* n <= capacity sequences behind one prefix. */
fre_status inv_drawer_run(inv_drawer *d, inv_draw *out, const inv_plan *plan, uint32_t n,
                          const float *prefix, double temperature, fre_rng *rng, fre_err *err);
/* The same behind n_rows rows and then tokens, of a corrector. */
typedef struct inv_prefix {
    const float *rows;
    uint32_t n_rows;
    const int32_t *ids;
    uint32_t n_ids;
} inv_prefix;
fre_status inv_drawer_run_behind(inv_drawer *d, inv_draw *out, const inv_plan *plan, uint32_t n,
                                 const inv_prefix *prefix, double temperature, fre_rng *rng,
                                 fre_err *err);

/* ---- pool: the distinct candidates of one centroid ----------------------------------------- */

typedef struct inv_cand {
    char *text; /* owned, tidied */
    uint8_t key[16];
    int32_t ids[INV_TOKENS];
    uint32_t n;
    double logp, dist2, score;
} inv_cand;

typedef struct inv_pool {
    inv_cand *cand;   /* the first `scored` are sorted, best first */
    float *embedding; /* parallel to cand */
    size_t n, scored, cap;
    uint32_t dim;
} inv_pool;

void inv_pool_init(inv_pool *p, uint32_t dim);
void inv_pool_wipe(inv_pool *p);
/* Add unless its text (case-blind) is there. */
fre_status inv_pool_add(inv_pool *p, const fre_model *m, const inv_draw *d);
/* Of the candidates from `scored` on, keep the `keep` likeliest under the decoder: embedding costs
 * more than drawing, and the decoder's opinion is already given the centroid. */
void inv_pool_trim(inv_pool *p, size_t keep);
/* Distances and scores of the candidates from `scored` on; sorts. */
fre_status inv_pool_score(inv_pool *p, const float *mu, double noise_std, const inv_tuning *t);

/* ---- editor -------------------------------------------------------------------------------- */

/* Up to n proposals from the pool's best; returns how many were made.  starts[id]: the token
 * begins a word. */
uint32_t inv_edit(inv_plan *out, uint32_t n, const inv_pool *p, uint32_t parents,
                  const fre_model *m, const uint8_t *starts, fre_rng *rng);

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
} inv_state;

struct fre_inverter {
    fre_embedder *embedder; /* borrowed */
    fre_model *decoder;
    fre_prior *prior; /* NULL: none */
    inv_projector projector;
    inv_drawer *drawer; /* one a thread */
    uint8_t *starts;    /* per token: it begins a word */
    uint32_t threads, paraphrases;
    double paraphrase_distance;
    uint64_t seed;
    inv_tuning tuning;
};

/* First draws and all rounds of n <= INV_CHUNK states (mu, noise_std set, the rest zero). */
fre_status inv_search(fre_inverter *v, inv_state *state, uint32_t n, fre_err *err);
void inv_state_wipe(inv_state *s);

/* The plans of a round: what the corrector writes for the best candidates. */
fre_status inv_correct(fre_inverter *v, inv_drawer *d, inv_state *s, fre_err *err);

/* The verification at opening. */
fre_status inv_check_works(fre_inverter *v, fre_err *err);
/* FRE_E_DATA: a row or its noise is no centroid. */
fre_status inv_check_rows(const float *mu, const double *noise_std, size_t n, size_t dim,
                          fre_err *err);

#endif /* FRE_INVERT_PRIVATE_H */
