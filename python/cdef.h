/* What the Python package uses of the library, for cffi.  The C compiler checks every line against the
 * headers of include/fre, which say what each thing means; "...;" is what is left out. */

typedef enum fre_status {
    FRE_OK, FRE_E_ARG, FRE_E_STATE, FRE_E_INTERNAL, FRE_E_USAGE, FRE_E_INFEASIBLE, FRE_E_DATA,
    FRE_E_MODEL, FRE_E_PROOF, FRE_E_KEY, FRE_E_NOINPUT, FRE_E_EXISTS, FRE_E_IO, FRE_E_AGAIN,
    FRE_E_INTERRUPTED, FRE_E_NOMEM, FRE_E_LIMIT, FRE_E_REFUSED, ...
} fre_status;
typedef struct fre_err {
    char text[512];
    char field[32];
} fre_err;
const char *fre_status_text(fre_status s);

typedef struct fre_buf {
    uint8_t *p;
    size_t n;
    ...;
} fre_buf;
void fre_buf_init(fre_buf *b, size_t max);
void fre_buf_wipe(fre_buf *b);

typedef struct fre_progress {
    ...;
} fre_progress;
void fre_progress_update(const fre_progress *p, const char *phase, uint64_t done, uint64_t total);
void fre_interrupt_set(void);
void fre_interrupt_clear(void);
fre_status fre_core_harden(void);
uint32_t fre_cpu_count(void);
void fre_hex(char *out, const uint8_t *p, size_t n);
void free(void *p);

typedef struct fre_bytes {
    const uint8_t *p;
    size_t n;
} fre_bytes;

/* ---- param.h, and the ranges of privacy.h and others ---- */

typedef struct fre_param {
    const char *name;
    double preset;
    bool whole;
    ...;
} fre_param;
fre_status fre_param_check(const fre_param *p, double value, fre_err *err);
extern fre_param fre_param_threads;
extern fre_param fre_param_epsilon;
extern fre_param fre_param_delta;
extern fre_param fre_param_threshold;
extern fre_param fre_param_population;
extern fre_param fre_param_radius;
extern fre_param fre_param_projection_dim;
extern fre_param fre_param_cell_scale;
extern fre_param fre_param_cell_edge;
extern fre_param fre_param_sampling_rate;
extern fre_param fre_param_norm_bound;
extern fre_param fre_param_dimension;
extern fre_param fre_param_max_cells_per_user;
extern fre_param fre_param_clip_radius;
extern fre_param fre_param_budget_factor;
extern fre_param fre_param_sensitivity_ratio;
extern fre_param fre_param_tau;
extern fre_param fre_param_sigma;
extern fre_param fre_param_split;
extern fre_param fre_param_lattice_step;
extern fre_param fre_param_curious_users;
extern fre_param fre_param_dropout;
extern fre_param fre_param_max_dummies;
extern fre_param fre_param_lambda;
extern fre_param fre_param_gamma;
extern fre_param fre_param_phi;
extern fre_param fre_param_level_sampling_rate;
extern fre_param fre_param_level_tau;
extern fre_param fre_param_level_count_sigma;
extern fre_param fre_codebook_param_radius;
extern fre_param fre_curator_param_paraphrases;
extern fre_param fre_curator_param_texts;
extern fre_param fre_curator_param_confidence;
extern fre_param fre_paraphrase_param_temperature;
extern fre_param fre_paraphrase_param_distance;
extern fre_param fre_ledger_param_budget_epsilon;
extern fre_param fre_ledger_param_budget_delta;
extern fre_param fre_search_param_effort;
extern fre_param fre_search_param_language_weight;
extern fre_param fre_inverter_param_samples;
extern fre_param fre_inverter_param_temperature;
extern fre_param fre_evaluate_param_alpha;
extern fre_param fre_audit_param_runs;
extern fre_param fre_audit_param_confidence;
extern fre_param fre_audit_param_tau;
extern fre_param fre_audit_param_lambda;
extern fre_param fre_audit_param_gamma;
extern fre_param fre_audit_param_factor;
extern fre_param fre_lm_param_max_tokens;

/* ---- corpus.h ---- */

typedef enum fre_corpus_format { FRE_CORPUS_AUTO, ... } fre_corpus_format;
typedef enum fre_corpus_invalid { FRE_CORPUS_INVALID_FAIL, ... } fre_corpus_invalid;
typedef enum fre_fold { FRE_FOLD_NFC, ... } fre_fold;
typedef struct fre_corpus_opts {
    fre_corpus_format format;
    fre_corpus_invalid invalid;
    const char *text_field;
    const char *user_field;
    fre_fold user_fold;
    const char *label_field;
    char delimiter;
    const char *encoding;
    const char *na_values;
    ...;
} fre_corpus_opts;
typedef struct fre_npy_meta {
    char embedder[128];
    char sha256[65];
    bool normalised;
} fre_npy_meta;

/* ---- privacy.h ---- */

typedef enum fre_accountant { FRE_ACCOUNTANT_JOINT, ... } fre_accountant;
typedef enum fre_adjacency { FRE_ADJACENCY_ADD_REMOVE, ... } fre_adjacency;
typedef enum fre_gaussian { FRE_GAUSSIAN_ANALYTIC, ... } fre_gaussian;
typedef enum fre_sensitivity { FRE_SENSITIVITY_PROBABILISTIC, FRE_SENSITIVITY_WORST_CASE, ... } fre_sensitivity;
typedef enum fre_counts { FRE_COUNTS_SAMPLED, FRE_COUNTS_NOISY, ... } fre_counts;
typedef struct fre_sketch_grid {
    uint32_t proj;
    double cell_edge;
    ...;
} fre_sketch_grid;
typedef struct fre_sketch_codebook {
    double radius;
    ...;
} fre_sketch_codebook;
typedef struct fre_sketch_spec {
    fre_sketch_grid grid;
    fre_sketch_codebook codebook;
    ...;
} fre_sketch_spec;
typedef enum fre_noise { FRE_NOISE_CONTINUOUS, FRE_NOISE_DISCRETE, ... } fre_noise;
typedef enum fre_paper_records { FRE_PAPER_CAP, ... } fre_paper_records;
typedef struct fre_distributed {
    bool on, cover, one_contact, server_noise, splits;
    uint32_t curious;
    double dropout;
    double lambda;
    uint32_t gamma;
    double phi;
} fre_distributed;
#define FRE_TSDLAP_ONE ... /* sampler.h */
typedef struct fre_mechanism {
    uint64_t p32;
    uint64_t tau;
    double sigma;
    uint64_t population;
    fre_sketch_spec sketch;
    fre_adjacency adjacency;
    fre_sensitivity sensitivity;
    double norm_bound;
    uint32_t dim;
    double lattice_step;
    uint32_t cells_per_user;
    fre_noise noise;
    fre_distributed dist;
} fre_mechanism;
typedef struct fre_account {
    double epsilon;
    double delta;
    double split;
    ...;
} fre_account;
uint64_t fre_p32(double p);
double fre_default_delta(uint64_t users);
const char *fre_delta_warning(double delta, uint64_t users);
fre_status fre_joint_delta_at_split(fre_account *out, const fre_mechanism *m, double epsilon,
                                    double split, fre_err *err);
fre_status fre_joint_delta(fre_account *out, const fre_mechanism *m, double epsilon, fre_err *err);
fre_status fre_joint_epsilon(fre_account *out, const fre_mechanism *m, double delta, fre_err *err);
fre_status fre_joint_epsilon_at_split(fre_account *out, const fre_mechanism *m, double delta,
                                      double split, fre_err *err);
fre_status fre_account_json(fre_buf *out, const fre_account *a, const fre_mechanism *m,
                            const char *const *warnings, size_t n);

typedef struct fre_level {
    fre_counts counts;
    uint64_t p32;
    uint64_t tau;
    double count_sigma;
    double sigma;
    double shift;
} fre_level;
typedef struct fre_levels {
    const fre_mechanism *grid;
    const fre_level *level;
    size_t n;
    fre_adjacency adjacency;
    uint32_t cells_per_user;
} fre_levels;
typedef struct fre_levels_account {
    double epsilon;
    double delta;
    ...;
} fre_levels_account;
double fre_level_shift(fre_counts counts, double radius, double sigma, uint32_t dim);
fre_status fre_levels_delta(fre_levels_account *out, const fre_levels *m, double epsilon,
                            fre_err *err);
fre_status fre_levels_epsilon(fre_levels_account *out, const fre_levels *m, double delta,
                              fre_err *err);
typedef struct fre_level_request {
    char name[24];
    fre_sketch_spec sketch;
    fre_counts counts;
} fre_level_request;

typedef struct fre_plan_request {
    double epsilon;
    double delta;
    uint64_t threshold;
    double radius;
    uint64_t population;
    uint32_t proj;
    double cell_scale;
    double cell_edge;
    double sampling_rate;
    fre_accountant accountant;
    fre_adjacency adjacency;
    fre_gaussian gaussian;
    fre_sensitivity sensitivity;
    double norm_bound;
    double budget_factor;
    double sensitivity_ratio;
    uint32_t dim;
    uint32_t cells_per_user;
    fre_paper_records records;
    fre_noise noise;
    fre_distributed dist;
    double max_dummies;
    bool no_grid;
    size_t n_levels;
    fre_level_request level[...];
    ...;
} fre_plan_request;
fre_status fre_levels_account_json(fre_buf *out, const fre_levels_account *a, const fre_levels *m,
                                   const fre_plan_request *asked, const char *warning);
typedef struct fre_plan {
    fre_plan_request request;
    fre_mechanism mechanism;
    fre_account account;
    const char *warnings[...];
    size_t n_warnings;
    ...;
} fre_plan;
void fre_plan_request_init(fre_plan_request *r);
fre_status fre_plan_request_levels(fre_plan_request *r, const char *list, double radius,
                                   fre_counts counts, fre_err *err);
fre_status fre_plan_make(fre_plan *out, const fre_plan_request *r, fre_err *err);
fre_status fre_plan_statement(fre_buf *out, const fre_plan *p, bool private_run);
fre_status fre_plan_json(fre_buf *out, const fre_plan *p);
const char *fre_collection_plan_warning(const fre_plan *p); /* wire.h */

/* ---- curator.h, release.h, report.h, ledger.h ---- */

typedef struct fre_search_opts {
    uint32_t effort;
    const char *public_corpus;
    const char *public_text_field;
    const char *language_model;
    double lm_weight;
    const char *prior;
    const char *bridge;
    ...;
} fre_search_opts;
/* ---- partial.h, for Spark ---- */

#define FRE_PARTIAL_SUMS ...
typedef struct fre_rows {
    const float *x;
    size_t n;
} fre_rows;
typedef struct fre_codebook fre_codebook;
typedef struct fre_partial_key {
    uint8_t b[32];
} fre_partial_key;
typedef struct fre_partial_terms {
    uint32_t dim;
    uint32_t n_levels;
    uint8_t embedder[32];
    ...;
} fre_partial_terms;
typedef struct fre_partial_task {
    fre_partial_terms terms;
    uint32_t stage;
    ...;
} fre_partial_task;
fre_status fre_partial_task_decode(fre_partial_task *out, fre_bytes task, fre_err *err);
void fre_partial_task_wipe(fre_partial_task *t);
typedef struct fre_partial fre_partial;
fre_status fre_partial_new(fre_partial **out, fre_bytes task, fre_err *err);
void fre_partial_free(fre_partial *p);
fre_status fre_partial_add(fre_partial *p, fre_bytes part, fre_err *err);
fre_status fre_partial_close(fre_partial *p, size_t parts, fre_err *err);
fre_status fre_partial_encode(fre_buf *out, const fre_partial *p);
uint32_t fre_partial_slices(const fre_partial_task *t, size_t parts);
const fre_partial_task *fre_partial_task_view(const fre_partial *p);
typedef struct fre_partial_worker fre_partial_worker;
fre_status fre_partial_worker_new(fre_partial_worker **out, fre_bytes task,
                                  const fre_partial_key *key, const fre_codebook *codebook,
                                  uint64_t part, fre_err *err);
void fre_partial_worker_free(fre_partial_worker *w);
void fre_partial_worker_id(const fre_partial_worker *w, uint8_t *id, fre_bytes name);
size_t fre_partial_worker_place_bytes(const fre_partial_worker *w);
fre_status fre_partial_worker_place(const fre_partial_worker *w, uint8_t *place, fre_rows rows,
                                    uint32_t threads, fre_err *err);
typedef struct fre_partial_record {
    const uint8_t *user;
    const uint8_t *text;
    uint64_t records;
    const uint8_t *place;
    const float *x;
    fre_bytes user_name, text_bytes;
    const float *row;
} fre_partial_record;
fre_status fre_partial_worker_add(fre_partial_worker *w, const fre_partial_record *r, fre_err *err);
const fre_partial_task *fre_partial_worker_task(const fre_partial_worker *w);
fre_status fre_partial_worker_finish(const fre_partial_worker *w, fre_buf *out, uint32_t slices);
typedef struct fre_curator_parts {
    void *ctx;
    fre_status (*stage)(void *ctx, fre_partial *sum, fre_bytes task, const fre_partial_key *key,
                        fre_err *err);
    uint32_t dim;
    bool users_named;
} fre_curator_parts;
extern "Python" fre_status fre_py_stage(void *ctx, fre_partial *sum, fre_bytes task,
                                        const fre_partial_key *key, fre_err *err);

typedef struct fre_curator_opts {
    const char *input;
    const fre_curator_parts *parts;
    const char *output;
    const char *what;
    fre_corpus_opts corpus;
    const char *user_file;
    fre_plan_request plan;
    const char *embedder;
    const char *inverter;
    const char *codebook;
    fre_search_opts search;
    uint32_t paraphrases;
    double temperature;
    double paraphrase_distance;
    uint32_t texts_per_cell;
    double min_confidence;
    uint32_t threads;
    bool resume, dry_run, force;
    const char *ledger;
    bool ledger_default;
    const char *data_name;
    double budget_epsilon, budget_delta;
    bool seeded;
    uint8_t seed[32];
    const fre_progress *progress;
    ...;
} fre_curator_opts;
typedef struct fre_text_counts {
    uint64_t records, empty, unknown, foreign, truncated;
    ...;
} fre_text_counts;
typedef struct fre_curator_stats {
    uint64_t records, users, distinct, empty, invalid, counted, repeated_records, repeated_texts,
        wordless, contributed, cells;
    fre_text_counts text;
    ...;
} fre_curator_stats;
typedef struct fre_release {
    bool is_private;
    char *statement;
    size_t n;
    size_t left_out;
    ...;
} fre_release;
typedef struct fre_ledger_sum {
    size_t releases;
    double epsilon, delta;
    double budget_epsilon, budget_delta;
    double left_epsilon, left_delta;
    ...;
} fre_ledger_sum;
typedef struct fre_ledger_receipt {
    char id[17];
    fre_ledger_sum sum;
    ...;
} fre_ledger_receipt;
typedef struct fre_curator_result {
    fre_plan plan;
    fre_release release;
    bool dry_run;
    fre_curator_stats stats;
    double seconds[3];
    bool recorded;
    const char *ledger_reason;
    char *ledger;
    fre_ledger_receipt receipt;
    char ledger_note[512];
    char ledger_warning[512];
    char *resume_left;
    ...;
} fre_curator_result;
void fre_curator_opts_init(fre_curator_opts *o);
fre_status fre_curator_synthesize(fre_curator_result **out, const fre_curator_opts *opts,
                                  fre_err *err);
void fre_curator_result_free(fre_curator_result *r);

#define FRE_SHOWN_GROUPS ...
#define FRE_SHOWN_LINES ...
static const double FRE_SHOWN_WEAK;
static const double FRE_SHOWN_FAR;
static char *const FRE_SHOWN_MARK;
static char *const FRE_SHOWN_MARK_THEMES;
const char *const *fre_release_files(void);
fre_status fre_release_read(fre_release *out, const char *folder, fre_err *err);
void fre_release_wipe(fre_release *r);

typedef struct fre_report_opts {
    const char *release;
    const char *evaluation;
    fre_bytes evaluation_json;
    bool is_public;
    bool originals_public;
    uint32_t threads;
    ...;
} fre_report_opts;
#define FRE_REPORT_MAX ...
fre_status fre_report_render(fre_buf *out, const fre_report_opts *o, fre_err *err);

typedef enum fre_ledger_state {
    FRE_LEDGER_BOOKED, FRE_LEDGER_PUBLISHED, FRE_LEDGER_FAILED, FRE_LEDGER_UNKNOWN, ...
} fre_ledger_state;
typedef struct fre_ledger_entry {
    const char *id;
    const char *name;
    const char *content;
    const char *records;
    bool apart;
    fre_ledger_state state;
    const char *date;
    const char *what;
    double epsilon, delta;
    double budget_epsilon, budget_delta;
    size_t set;
    ...;
} fre_ledger_entry;
typedef struct fre_ledger_set {
    const char *name, *content;
    fre_ledger_sum sum;
    ...;
} fre_ledger_set;
typedef struct fre_ledger_book {
    fre_ledger_entry *entry;
    fre_ledger_set *set;
    size_t n, n_sets;
    ...;
} fre_ledger_book;
fre_status fre_ledger_read(fre_ledger_book **out, const char *path, fre_err *err);
void fre_ledger_book_free(fre_ledger_book *b);
fre_status fre_ledger_default(char **out, bool make, fre_err *err);

/* ---- model.h, embed.h, invert.h, lm.h ---- */

typedef struct fre_model_info {
    char name[128];
    uint8_t sha256[32];
    uint32_t dim;
    ...;
} fre_model_info;
typedef struct fre_embedder fre_embedder;
typedef struct fre_embedder_opts {
    const char *path;
    uint32_t threads;
} fre_embedder_opts;
fre_status fre_embedder_new(fre_embedder **out, const fre_embedder_opts *opts, fre_err *err);
void fre_embedder_free(fre_embedder *e);
const char *fre_embedder_path(const fre_embedder *e);
fre_status fre_codebook_open_for(fre_codebook **out, const char *path, const char *embedder_path,
                                 const fre_model_info *embedder, fre_err *err);
void fre_codebook_free(fre_codebook *c);
const fre_model_info *fre_embedder_info(const fre_embedder *e);
void fre_embedder_rows_meta(const fre_embedder *e, fre_npy_meta *out);
fre_status fre_embed_texts(fre_embedder *e, float *out, const char *const *text, const size_t *len,
                           size_t n, fre_err *err);

typedef struct fre_inverter fre_inverter;
typedef struct fre_inverter_opts {
    const char *path;
    uint32_t threads;
    uint32_t samples;
    double temperature;
    uint64_t seed;
    fre_search_opts search;
    const fre_progress *progress;
    ...;
} fre_inverter_opts;
typedef struct fre_inversion {
    char *text;
    const char *unreadable;
    double similarity;
    double distance;
    ...;
} fre_inversion;
fre_status fre_inverter_new(fre_inverter **out, fre_embedder *embedder,
                            const fre_inverter_opts *opts, fre_err *err);
void fre_inverter_free(fre_inverter *v);
fre_status fre_invert(fre_inverter *v, fre_inversion *out, const float *mu, const double *noise_std,
                      size_t n, const fre_progress *progress, fre_err *err);
void fre_inversion_wipe(fre_inversion *v);

typedef struct fre_lm fre_lm;
typedef struct fre_lm_opts {
    const char *path;
    uint32_t threads;
    uint32_t max_tokens;
    ...;
} fre_lm_opts;
typedef struct fre_lm_score {
    double logp_rest;
    double logp;
    uint32_t tokens;
    bool cut;
    ...;
} fre_lm_score;
fre_status fre_lm_open(fre_lm **out, const fre_lm_opts *opts, fre_err *err);
void fre_lm_free(fre_lm *lm);
fre_status fre_lm_score_texts(fre_lm *lm, fre_lm_score *out, const char *const *text,
                              const size_t *len, size_t n, const fre_progress *progress,
                              fre_err *err);
double fre_lm_nll(const fre_lm_score *s);

/* ---- forecast.h ---- */

typedef struct fre_forecast_opts {
    const char *corpus;
    fre_corpus_opts read;
    fre_plan_request plan;
    const char *levels;
    fre_counts counts;
    const char *embedder, *codebook;
    uint32_t threads;
    const fre_progress *progress;
} fre_forecast_opts;
void fre_forecast_opts_init(fre_forecast_opts *o);
typedef struct fre_forecast_list {
    fre_plan plan;
    ...;
} fre_forecast_list;
typedef struct fre_forecast {
    fre_forecast_list list[...];
    size_t n;
    size_t chosen;
    ...;
} fre_forecast;
fre_status fre_forecast_make(fre_forecast *out, const fre_forecast_opts *o, fre_err *err);
fre_status fre_forecast_json(fre_buf *out, const fre_forecast *f);

/* ---- evaluate.h, audit.h ---- */

typedef struct fre_evaluate_opts {
    const char *synthetic;
    const char *original;
    const char *release;
    const char *embeddings;
    const char *reference;
    const char *language_model;
    const char *const *against;
    size_t n_against;
    fre_corpus_opts corpus;
    const char *embedder;
    const char *codebook;
    double radius;
    uint64_t threshold;
    double alpha;
    bool no_classifiers;
    uint32_t threads;
    const fre_progress *progress;
    ...;
} fre_evaluate_opts;
void fre_evaluate_opts_init(fre_evaluate_opts *o);
typedef struct fre_evaluation {
    uint64_t frequent;
    ...;
} fre_evaluation;
fre_status fre_evaluate_files(fre_evaluation *out, const fre_evaluate_opts *opts, fre_err *err);
fre_status fre_evaluation_json(fre_buf *out, const fre_evaluation *e, size_t n);

typedef struct fre_audit_opts {
    fre_mechanism mechanism;
    const fre_mechanism *claimed;
    const fre_plan *levels, *claimed_levels;
    double epsilon, delta;
    double split;
    uint64_t runs;
    double confidence;
    uint32_t threads;
    bool seeded;
    uint8_t seed[32];
    const fre_progress *progress;
    ...;
} fre_audit_opts;
typedef struct fre_audit fre_audit;
fre_status fre_audit_run(fre_audit **out, const fre_audit_opts *opts, fre_err *err);
void fre_audit_free(fre_audit *a);
typedef struct fre_audit_factors {
    double sigma, tau, rate;
} fre_audit_factors;
bool fre_audit_weaken(fre_mechanism *m, const fre_audit_factors *f);
void fre_audit_weaken_levels(fre_plan *p, const fre_mechanism *grid, const fre_audit_factors *f);
fre_status fre_audit_json(fre_buf *out, const fre_audit *a, const fre_audit_opts *opts,
                          const char *warning);

/* ---- glue.h ---- */

const char *fre_py_version(void);
typedef struct fre_py_progress fre_py_progress;
fre_py_progress *fre_py_progress_new(void);
void fre_py_progress_free(fre_py_progress *p);
const fre_progress *fre_py_progress_sink(const fre_py_progress *p);
void fre_py_progress_read(fre_py_progress *p, char phase[64], uint64_t *done, uint64_t *total);

/* ---- arrow.h ---- */

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
typedef struct fre_py_column {
    int64_t child;
    char format;
    char index;
    const char *key;
} fre_py_column;
fre_status fre_py_arrow_lines(int fd, const struct ArrowArray *chunk, int64_t first, int64_t n,
                              const fre_py_column *text, const fre_py_column *user, int64_t before,
                              fre_err *err);
fre_status fre_py_partial_add(fre_partial_worker *w, size_t n, const uint8_t *user,
                              const uint8_t *text, const uint64_t *records, const uint8_t *place,
                              const float *x, fre_err *err);
