/* invert_private.h - the parts of the inverter: projector, drawer, pool, editor.
 *
 * One inverter_state a centroid holds everything that its result depends on, so that centroids
 * can be worked on side by side, in any order, by any thread.
 */
#ifndef FRE_INVERT_PRIVATE_H
#define FRE_INVERT_PRIVATE_H

#include <fre/bridge.h>
#include <fre/invert.h>
#include <fre/lm.h>
#include <fre/model.h>
#include <fre/prior.h>

#include "index.h"

#define INV_TOKENS 31u /* longest text in tokens; the end token follows (model card: 32) */
#define INV_MAX_SAMPLES 512u
#define INV_TOP_K 64u      /* model card: top-k 64 */
#define INV_TEXT_MAX 1024u /* bytes of one candidate */

#define INV_TRIALS 5u /* of a word that the embedder does not know, in a round */
#define INV_BATCH 96u /* sequences side by side in one decoder context */
#define INV_CHUNK 32u /* centroids whose candidates are embedded together */

/* What is tuned, on public text only (docs/decisions); inv_tuning_of gives the values. */
typedef struct inv_tuning {
    uint32_t samples; /* first draws, one of them greedy */
    uint32_t rounds;  /* of edits */
    uint32_t keep;    /* of the first draws, the likeliest this many are embedded */
    uint32_t edits;   /* proposals a round */
    uint32_t keep_edits;
    uint32_t parents;                         /* best candidates that are edited */
    uint32_t correct_rounds, correct_parents; /* first rounds, by the corrector if there is one */
    double temperature;
    double std_floor;   /* of the noise in the score */
    double logp_weight; /* w of the score */
    uint32_t nearest;   /* public texts among the first candidates */
    uint32_t finalists; /* candidates that the language model reads */
    double lm_weight;   /* lambda */
    double spread;      /* of embeddings, against those of the embedder it was tuned with */
} inv_tuning;

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
fre_status inv_projector_fit(inv_projector *p, uint32_t embedder_dim, const fre_model_info *decoder,
                             const fre_prior *prior, fre_err *err);
/* out: rows * width floats. */
fre_status inv_projector_run(const inv_projector *p, float *out, const float *mu, double noise_std);
/* The same for what is known of the embedding, by a bridge and as much as under such noise. */
fre_status inv_projector_run_known(const inv_projector *p, float *out, const float *known,
                                   double noise_std);
/* out: corrector_rows * width floats, which go between those rows and the hypothesis. */
fre_status inv_corrector_run(const inv_projector *p, float *out, const float *mu, double noise_std,
                             const float *hypothesis);

/* ---- plans: what one sequence is to write -------------------------------------------------- */

/* Where a candidate comes from. */
typedef enum inv_kind {
    INV_FIRST, /* first draws */
    INV_SUFFIX,
    INV_SPAN,
    INV_REPLACE,
    INV_INSERT,
    INV_MOVE,
    INV_DELETE,
    INV_MARK,
    INV_JOIN,
    INV_CORRECT, /* the corrector's */
    INV_SWAP,
    INV_NEAR,    /* texts of the public corpus */
    INV_WORD,    /* a word for another, by its neighbours */
    INV_ADD,     /* a word more, by its neighbours */
    INV_RESPOND, /* a word that the distance asks for */
    INV_UNKNOWN, /* a word that the embedder does not know, more or for another */
    INV_KINDS
} inv_kind;

/* Given tokens, then drawn ones, then given ones.  `open`: drawn until the end token, no tail;
 * else exactly n_free are drawn, none of them the end, and the end follows the tail. */
typedef struct inv_plan {
    int32_t head[INV_TOKENS], tail[INV_TOKENS];
    uint32_t n_head, n_free, n_tail;
    bool open, greedy;
    inv_kind kind;
} inv_plan;

typedef struct inv_draw {
    int32_t ids[INV_TOKENS];
    uint32_t n;
    inv_kind kind;
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

/* ---- trace ------------------------------------------------------------------------------------- */

#define INV_ROUNDS_MAX 192u

/* What a search did; kept always, it costs nothing. */
typedef struct inv_trace {
    double score[INV_ROUNDS_MAX + 1], distance[INV_ROUNDS_MAX + 1];
    size_t rounds;
    uint64_t drawn, embedded, lm_tokens;
    fre_invert_gain gain[INV_KINDS];
} inv_trace;

/* ---- vocabulary: words, neighbours and ends of sentences of public text ----------------------- */

typedef struct inv_vocabulary inv_vocabulary;

/* FRE_E_MODEL: not a vocabulary, or damaged. */
fre_status inv_vocabulary_open(inv_vocabulary **out, const char *path, fre_err *err);
void inv_vocabulary_free(inv_vocabulary *v);
const uint8_t *inv_vocabulary_sha256(const inv_vocabulary *v);

/* What the vocabulary says of a text. */
typedef struct inv_usage {
    double together;  /* at most 0: what ln p(b | a) / p(b) lacks of the usual, summed over
                         neighbours a, b, edges of sentences included */
    double end;       /* ln p(a sentence ends here | its last word), of the last one */
    uint32_t unknown; /* words of more than one byte that are not in it */
    uint32_t doubled; /* words said twice running, as no public text has them */
    uint32_t rare;    /* words that it has, but hardly ever, and never beside these neighbours */
} inv_usage;

inv_usage inv_vocabulary_read(const inv_vocabulary *v, const char *text);
/* The same of a part of a text; nothing of one longer than INV_TEXT_MAX. */
inv_usage inv_vocabulary_read_part(const inv_vocabulary *v, const char *text, size_t len);
/* The same as nats of log-probability, at most 0; joins the decoder's. */
double inv_vocabulary_worth(const inv_vocabulary *v, const char *text);

/* ---- pool: the distinct candidates of one centroid ----------------------------------------- */

typedef struct inv_cand {
    char *text; /* owned, tidied */
    char *
        told; /* owned: the text without words that the embedder does not know; NULL: it has none */
    uint8_t key[16];
    int32_t ids[INV_TOKENS];
    uint32_t n;
    inv_kind kind;
    double logp; /* of the decoder; with a vocabulary, its worth added */
    double dist2, score;
    double rank; /* of those that are not embedded: the highest are */
} inv_cand;

typedef struct inv_pool {
    inv_cand *cand;   /* the first `scored` are sorted, best first */
    float *embedding; /* parallel to cand */
    size_t n, scored, cap;
    uint32_t dim;
    size_t refused;                   /* texts, for want of a word that the embedder knows */
    const fre_embedder *embedder;     /* borrowed; NULL: knows every token */
    const inv_vocabulary *vocabulary; /* borrowed; NULL: none */
} inv_pool;

void inv_pool_init(inv_pool *p, uint32_t dim, const fre_embedder *embedder,
                   const inv_vocabulary *vocabulary);
void inv_pool_wipe(inv_pool *p);
/* Is a text a candidate?  Not if it is empty, too long or no UTF-8, if it is there (case-blind; a word that
 * the embedder does not know is any other), or if it has no other words than such. */
fre_status inv_pool_takes(inv_pool *p, bool *out, const char *text, size_t n);
/* Add if it is taken. */
fre_status inv_pool_add(inv_pool *p, const fre_model *m, const inv_draw *d);
/* The same for a text that no decoder wrote. */
fre_status inv_pool_add_text(inv_pool *p, const char *text, size_t n, inv_kind kind, double logp);
/* Of the candidates from `scored` on, keep the `keep` of highest rank: embedding costs more than
 * drawing. */
void inv_pool_trim(inv_pool *p, size_t keep);
/* Distances and scores of the candidates from `scored` on; sorts; notes what each kind gained. */
fre_status inv_pool_score(inv_pool *p, const float *mu, double noise_std, const inv_tuning *t,
                          inv_trace *trace);
/* A candidate is as near as the true text would be: nothing is left to find.  Above a noise norm of
 * .3 a neighbour can be as near by chance, and nothing is settled. */
bool inv_is_settled(double dist2, double noise_std, uint32_t dim);
/* Put the first n scored candidates in the order of their scores again. */
fre_status inv_pool_sort(inv_pool *p, size_t n);

/* ---- screen: predicted distances ------------------------------------------------------------ */

#define INV_SCREEN_ROWS 96u
#define INV_FEATURES 128u /* of a text: two a word */

typedef struct inv_screen inv_screen;

inv_screen *inv_screen_new(void);
void inv_screen_free(inv_screen *s);
/* Learn from the pool's best scored candidates (there is one).  spread: of the tuning. */
void inv_screen_fit(inv_screen *s, const inv_pool *p, double spread);
/* Squared distance to be expected. */
double inv_screen_distance(const inv_screen *s, const char *text);
/* Squared distance that a nat of log-probability makes up for. */
double inv_screen_worth(const inv_screen *s, double noise_std);
/* Ranks of the candidates that are not scored. */
void inv_screen_rank(const inv_screen *s, inv_pool *p, double noise_std);

/* ---- n-grams: what stands beside what in the nearest public texts ---------------------------- */

#define INV_NO_WORD UINT32_MAX

typedef struct inv_ngram inv_ngram;

fre_status inv_ngram_new(inv_ngram **out);
void inv_ngram_free(inv_ngram *g);
/* Count a text's words and pairs, with a weight. */
fre_status inv_ngram_add(inv_ngram *g, const char *text, size_t n, double weight);
/* ln p(text), its end included; a word never seen costs about as much as a rare one. */
double inv_ngram_logp(const inv_ngram *g, const char *text);
/* A word for the place between two others (len 0: the text's end), drawn by how often it follows
 * the one and precedes the other.  NULL: no words at all, or no memory.  Borrowed, NUL-terminated. */
const char *inv_ngram_pick(inv_ngram *g, const char *left, size_t left_len, const char *right,
                           size_t right_len, fre_rng *rng);

/* ---- responses: words that the distance asks for --------------------------------------------- */

#define INV_RESPONSES 48u

/* The words of `index` whose own embeddings point most along mu - E(text), best first. */
typedef struct inv_response {
    uint32_t word[INV_RESPONSES];
    uint32_t n;
    uint8_t key[16]; /* of the text they answer */
} inv_response;

fre_status inv_respond(inv_response *r, const inv_rows *words, const float *mu,
                       const float *embedding, const uint8_t key[16]);

/* ---- editors ----------------------------------------------------------------------------------- */

/* Tokens give way to drawn ones: suffix, span, replace, insert.  False: does not fit.  starts[id]:
 * the token begins a word. */
bool inv_edit_tokens(inv_plan *out, inv_kind kind, const inv_cand *a, const uint8_t *starts,
                     fre_rng *rng);

/* What new words are taken from; each may be NULL. */
typedef struct inv_words_from {
    inv_ngram *ngram;
    const inv_response *response;
    const inv_rows *words;
} inv_words_from;

/* A text made of whole words of a (and b).  0: does not fit, or is too long; else its length. */
size_t inv_edit_words(char out[INV_TEXT_MAX], inv_kind kind, const char *a, const char *b,
                      const inv_words_from *from, fre_rng *rng);

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

/* Whom to tell how far a chunk is: rows from `at` on, of `all`. */
typedef struct inv_progress {
    const fre_progress *to;
    size_t at, all;
} inv_progress;

/* First draws and all rounds of n <= INV_CHUNK states (mu, noise_std set, the rest zero). */
fre_status inv_search(fre_inverter *v, inv_state *state, uint32_t n, const inv_progress *progress,
                      fre_err *err);
void inv_state_wipe(inv_state *s);
/* Proposals of one round and their likelihoods, added to the pool and trimmed. */
fre_status inv_propose(fre_inverter *v, inv_drawer *d, inv_state *s, fre_err *err);
/* The plan writes exactly this text.  False: too long. */
bool inv_plan_text(inv_plan *out, const fre_model *m, const char *text, size_t n);
#define INV_EFFORT 5u /* default */
/* Rounds, draws and widths of an effort from 1 to 10; 0: default. */
inv_tuning inv_tuning_of(uint32_t effort, bool search_only);
/* The language model reads the finalists of n states; their scores and order follow. */
fre_status inv_finals(fre_inverter *v, inv_state *state, uint32_t n, fre_err *err);

/* ---- texts of one release, apart ------------------------------------------------------------ */

#define INV_OTHERS 15u

/* What a row could have said instead, best first. */
typedef struct inv_others {
    fre_inversion v[INV_OTHERS];
    uint32_t n;
} inv_others;

void inv_others_wipe(inv_others *o);
/* Takes the texts (with their numbers) that are nearly as good as the one that is told. */
fre_status inv_others_take(fre_inverter *v, inv_others *o, const inv_state *s, size_t told,
                           fre_err *err);
/* made[i] and others[i] change places of a text where that makes the n texts distinct. */
fre_status inv_set_apart(fre_inversion *made, inv_others *others, size_t n);
/* A capital first, as public text has it (docs/decisions/0012). */
void inv_begin_large(char *text);

/* ---- what is told ---------------------------------------------------------------------------- */

/* The result of a row that was searched for, and what it could have been (NULL: not asked). */
fre_status inv_tell(fre_inverter *v, fre_inversion *out, inv_others *others, const inv_state *s,
                    fre_err *err);
/* A row without a text, and why. */
void inv_tell_nothing(fre_inversion *out, const char *why);
/* Numbers and a copy of what is told of one scored candidate; marked as unreadable if it is about something
 * else, which inv_judge acts on. */
fre_status inv_result_of(fre_inverter *v, fre_inversion *out, const inv_state *s, size_t candidate,
                         fre_err *err);
/* May one be told: no non-words and not cut off, or as near as the true text would be? */
bool inv_may_tell(const fre_inverter *v, const inv_state *s, size_t candidate);
/* May one that may be told only be so if it explains much more than others do?  It has a word that public
 * text hardly has, and is not as near as the true text would be. */
bool inv_is_doubtful(const fre_inverter *v, const inv_state *s, size_t candidate);
/* Takes away a text that speaks of a point in another language, or that is marked as unreadable. */
fre_status inv_judge(const fre_inverter *v, fre_inversion *out, const float *mu, double noise_std);
/* The bundled vocabulary; *out stays as it is where there is none. */
fre_status inv_vocabulary_find(inv_vocabulary **out, fre_err *err);
/* What these judgements stand on. */
fre_status inv_open_telling(fre_inverter *v, fre_err *err);
fre_status inv_open_languages(fre_inverter *v, fre_err *err);

/* The rows that the decoder reads for a centroid. */
fre_status inv_prefix_of(const fre_inverter *v, float *out, const float *mu, double noise_std);
/* The plans of a round: what the corrector writes for the best candidates. */
fre_status inv_correct(fre_inverter *v, inv_drawer *d, inv_state *s, fre_err *err);

/* The verification at opening. */
fre_status inv_check_works(fre_inverter *v, fre_err *err);
/* FRE_E_DATA: a row or its noise is no centroid. */
fre_status inv_check_rows(const fre_inverter *v, const float *mu, const double *noise_std, size_t n,
                          fre_err *err);

#endif /* FRE_INVERT_PRIVATE_H */
