/* What the files of this module share: distinct keys with multiplicities, the inputs, one run's state. */
#ifndef FRE_EVALUATE_PRIVATE_H
#define FRE_EVALUATE_PRIVATE_H

#include <fre/evaluate.h>

#include <fre/codebook.h>
#include <fre/embed.h>
#include <fre/linalg.h>
#include <fre/lm.h>
#include <fre/map.h>
#include <fre/release.h>

/* Harmonic mean; NaN when recall is undefined, 0 when precision is or nothing is right. */
double evaluate_f1(double precision, double recall);

/* ---- failures.c ----------------------------------------------------------------------------------- */

fre_status evaluate_no_memory(fre_err *err);
/* The status' own text as the message. */
fre_status evaluate_with_text(fre_err *err, fre_status st);

/* ---- distinct.c: distinct byte strings and how often each came --------------------------------- */

#define EVALUATE_DISTINCT_NONE SIZE_MAX

typedef struct evaluate_distinct_entry {
    size_t offset, len;
} evaluate_distinct_entry;

typedef struct evaluate_distinct {
    fre_text_map map;
    uint8_t *arena; /* PRIVATE: the strings, each followed by a NUL unless packed */
    size_t arena_n, arena_cap;
    evaluate_distinct_entry *entry;
    uint64_t *weight;
    size_t n, cap_entry, cap_weight;
    bool packed; /* strings of one length back to back, an array of rows */
} evaluate_distinct;

FRE_MUST_CHECK fre_status evaluate_distinct_init(evaluate_distinct *t, bool packed);
void evaluate_distinct_wipe(evaluate_distinct *t);
/* Adds one to its weight; *index: where it is. */
FRE_MUST_CHECK fre_status evaluate_distinct_add(evaluate_distinct *t, size_t *index, const void *p,
                                                size_t n);
/* EVALUATE_DISTINCT_NONE: absent. */
size_t evaluate_distinct_find(const evaluate_distinct *t, const void *p, size_t n);
/* NUL-terminated unless packed; valid until the next evaluate_distinct_add. */
const char *evaluate_distinct_text(const evaluate_distinct *t, size_t i);

/* ---- labels.c: what the originals are labelled with -------------------------------------------- */

#define EVALUATE_LABELS_MAX 65536u

/* Each (distinct original, label) that was read, and how often it came. */
typedef struct evaluate_labels {
    evaluate_distinct name; /* the labels */
    evaluate_distinct pair; /* packed: uint32_t original, label */
    fre_label_pair *list;   /* what a view shows */
} evaluate_labels;

FRE_MUST_CHECK fre_status evaluate_labels_init(evaluate_labels *l);
void evaluate_labels_wipe(evaluate_labels *l);
/* A record of original `row`; one with an empty label has none.  FRE_E_DATA: too many different ones. */
FRE_MUST_CHECK fre_status evaluate_labels_add(evaluate_labels *l, size_t row, const char *label,
                                              size_t len, fre_err *err);
/* All that were read, numbered anew without the rows that weigh nothing; borrowed, valid until the next
 * call. */
FRE_MUST_CHECK fre_status evaluate_labels_view(evaluate_labels *l, fre_labels *out,
                                               const fre_originals *o);

/* ---- themes.c: what released cells have to do with labels ------------------------------------------ */

#define EVALUATE_NO_THEME UINT32_MAX

typedef struct evaluate_themes {
    uint64_t *labelled; /* of each released cell: members that have a label, ... */
    uint64_t *most;     /* ... of them those of the theme, ... */
    uint32_t *theme;    /* ... the most frequent label, ties to the lower index, or none */
    uint64_t *total;    /* of each label: records */
    /* Label whose mean is nearest to the cell's centroid, to its members' mean, to each text. */
    uint32_t *near_centroid, *near_mean, *near_text;
} evaluate_themes;

/* mean: of each released cell's members, n x d. */
FRE_MUST_CHECK fre_status evaluate_themes_find(evaluate_themes *out, const fre_by_level *in,
                                               const float *mean);
void evaluate_themes_wipe(evaluate_themes *t);

/* ---- inputs.c --------------------------------------------------------------------------------- */

/* Places of texts in an arena. */
typedef struct evaluate_places {
    size_t *offset, *len;
    size_t *owner; /* the text that it is a paraphrase of, or SIZE_MAX; of a text itself */
    size_t n, cap;
} evaluate_places;

/* Synthetic texts in file order, duplicates included, then all their paraphrases in file order. */
typedef struct evaluate_synthetic {
    fre_buf arena;
    evaluate_places place;
    size_t n_texts; /* of place.n: the rest are paraphrases */
    size_t lines;
} evaluate_synthetic;

/* A corpus, or a release's folder. */
FRE_MUST_CHECK fre_status evaluate_synthetic_load(evaluate_synthetic *out, const char *path,
                                                  fre_err *err);
FRE_MUST_CHECK fre_status evaluate_synthetic_of(evaluate_synthetic *out, const fre_release *r,
                                                fre_err *err);
void evaluate_synthetic_wipe(evaluate_synthetic *s);
const char *evaluate_synthetic_text(const evaluate_synthetic *s, size_t i);

bool evaluate_is_folder(const char *path);

/* ---- what every evaluation of one call shares, and one of them ------------------------------------- */

/* Rows, and their texts where they have any. */
typedef struct evaluate_set {
    const float *x; /* n x d */
    float *own;     /* what x shows, where the set owns it */
    size_t n;
    const char **text; /* n, or NULL; the strings are borrowed */
    size_t *len;
} evaluate_set;

/* Texts of a corpus that has nothing to do with the originals, in a random order. */
typedef struct evaluate_reference {
    evaluate_synthetic texts; /* what the set's texts stand in */
    evaluate_set set;         /* empty: there is none */
    bool related;             /* it has to do with them */
} evaluate_reference;

/* Records drawn from one half of the originals, by their rows. */
typedef struct evaluate_half {
    uint32_t *row;
    size_t n;
} evaluate_half;

typedef struct evaluate_halves {
    uint64_t *other; /* how many of each row's records are in the other half */
    evaluate_half frequent, any;
} evaluate_halves;

typedef struct evaluate_base {
    const fre_evaluate_opts *opts;
    evaluate_distinct distinct; /* distinct originals: texts, or rows packed */
    evaluate_labels labels;
    size_t *first; /* texts: record in which each distinct one came first */
    size_t cap_first;
    uint32_t *of_record; /* where embeddings are saved: distinct original of each record */
    size_t cap_of_record, records; /* records: with those that turn out to be blank */
    bool from_npy;
    char npy_sha256[65];
    fre_embedder *embedder;
    fre_lm *lm; /* NULL: none is asked for, or it could not be had */
    float *x; /* owned; NULL when the rows are in distinct */
    fre_originals originals;
    uint64_t *neighbours;
    bool *is_frequent;
    evaluate_reference reference; /* texts of an unrelated corpus */
    fre_evaluation e;             /* what all have alike */
} evaluate_base;

typedef struct evaluate_run {
    evaluate_base *base;
    const char *path, *folder;    /* of the synthetic texts; of the release, or NULL */
    evaluate_synthetic synthetic; /* what is scored */
    bool of_release;              /* it is the release's own, cell by cell */
    fre_release release;
    bool has_release;
    char sha256[2 * FRE_HASH_BYTES + 1]; /* of it, hex; "": none */
    fre_codebook *codebook; /* that the release's levels are of; NULL: it has none */
    float *synthetic_x;
    uint8_t *exact; /* fre_exact_mark of each synthetic text; NULL: not known */
    evaluate_halves halves;
    /* As far as e->has says so; the halves' is drawn from the frequent ones, where there are any. */
    evaluate_set set[FRE_SETS];
    fre_evaluation *e;
} evaluate_run;

/* A metric that is left out, and why: metric is static. */
FRE_PRINTF(3, 4)
void evaluate_leave_out(fre_evaluation *e, const char *metric, const char *fmt, ...);

/* Reads opts->original. */
FRE_MUST_CHECK fre_status evaluate_read_originals(evaluate_base *b, fre_err *err);

/* ---- models.c --------------------------------------------------------------------------------- */

/* Hashes of two embedders, "" where they are not known: FRE_E_DATA when they differ. */
FRE_MUST_CHECK fre_status evaluate_check_sha(const char *a, const char *what_a, const char *b,
                                             const char *what_b, fre_err *err);
/* The embedder, as far as it is needed; it fits all releases and the originals. */
FRE_MUST_CHECK fre_status evaluate_open_embedder(evaluate_base *b, const evaluate_run *run,
                                                 size_t n, fre_err *err);
/* The codebook of a release by levels. */
FRE_MUST_CHECK fre_status evaluate_open_codebook(evaluate_run *r, fre_err *err);

/* ---- rows.c ----------------------------------------------------------------------------------- */

/* Embeddings of the originals, and the file of them that was asked for. */
FRE_MUST_CHECK fre_status evaluate_embed_originals(evaluate_base *b, fre_err *err);
/* n x d, owned by the caller; of texts. */
FRE_MUST_CHECK fre_status evaluate_embed_set(evaluate_base *b, float **x, const char *const *text,
                                             const size_t *len, size_t n, fre_err *err);
FRE_MUST_CHECK fre_status evaluate_embed_synthetic(evaluate_run *r, fre_err *err);

/* ---- near.c, place.c -------------------------------------------------------------------------- */

/* Distances between a set and the originals, both ways; infinite where there is nothing. */
typedef struct evaluate_near {
    double *of_original; /* n: to the nearest member of the set */
    double *to_frequent,
        *to_infrequent; /* m: to the nearest original of a kind that has a weight */
    size_t m;
} evaluate_near;

FRE_MUST_CHECK fre_status evaluate_near_find(evaluate_near *out, fre_rows set,
                                             const fre_originals *o, const bool *is_frequent,
                                             uint32_t threads);
void evaluate_near_wipe(evaluate_near *n);
fre_level_scores evaluate_near_scores(const evaluate_near *n, const fre_originals *o,
                                      const bool *is_frequent, double reach);
/* All of a place but what weighs the originals alone.  NULL is allowed for neighbours: nothing of them. */
FRE_MUST_CHECK fre_status evaluate_place_find(fre_set_place *out, const evaluate_near *n,
                                              const evaluate_base *b, const fre_originals *o);
/* Groups of originals, and rare ones: e->by_neighbours, e->rare. */
void evaluate_count_groups(evaluate_base *b);

/* Fewer neighbours than this many make a rare original. */
uint64_t evaluate_rare_below(size_t i);

/* ---- bound.c ---------------------------------------------------------------------------------- */

/* e->ssp_bound and e->ssp_bound_cell. */
FRE_MUST_CHECK fre_status evaluate_bound_find(evaluate_run *r);

/* ---- reference.c ------------------------------------------------------------------------------ */

/* A stream of its own for each use and number. */
FRE_MUST_CHECK fre_status evaluate_rng(fre_rng *r, const char *label, uint64_t number);
/* The first k of the n become a random draw without replacement. */
void evaluate_draw(uint32_t *list, size_t n, size_t k, fre_rng *r);

/* Fair coins, one a record: how many of n fall on the first side. */
uint64_t evaluate_half_of(uint64_t n, fre_rng *r);
/* All records of the other half, or its frequent ones. */
FRE_MUST_CHECK fre_status evaluate_half_list(evaluate_half *out, const evaluate_base *b,
                                             const uint64_t *other, bool frequent);
/* size: of each draw, at most. */
FRE_MUST_CHECK fre_status evaluate_halves_draw(evaluate_halves *out, const evaluate_base *b,
                                               size_t size, uint64_t seed);
void evaluate_halves_wipe(evaluate_halves *h);
FRE_MUST_CHECK fre_status evaluate_set_of_originals(evaluate_set *out, const evaluate_base *b,
                                                    const uint32_t *row, size_t n);
void evaluate_set_free(evaluate_set *s);
/* b->reference, of `size` texts at most; what there is to say goes to b->e. */
FRE_MUST_CHECK fre_status evaluate_reference_open(evaluate_base *b, size_t size, fre_err *err);
void evaluate_reference_wipe(evaluate_reference *u);

/* ---- words.c, diversity.c, mauve.c, language.c, texts.c ---------------------------------------- */

/* Texts as numbers of words, of which equal ones are equal. */
typedef struct evaluate_words {
    uint32_t *word;     /* n_words, text after text */
    size_t *start;      /* n + 1 */
    size_t *characters; /* code points of each text */
    size_t n, n_words;
} evaluate_words;

FRE_MUST_CHECK fre_status evaluate_words_read(evaluate_words *out, const evaluate_set *s);
void evaluate_words_wipe(evaluate_words *w);
/* w: of the set. */
FRE_MUST_CHECK fre_status evaluate_diversity_find(fre_diversity *out, const evaluate_set *s,
                                                  const evaluate_words *w);
/* Mean Self-BLEU of a text and its paraphrases; owner: as in evaluate_places. */
FRE_MUST_CHECK fre_status evaluate_self_bleu_within(double *out, const evaluate_words *w,
                                                    const size_t *owner, size_t n_texts);
FRE_MUST_CHECK fre_status evaluate_lengths_find(fre_lengths *words, fre_lengths *characters,
                                                const evaluate_words *w);
/* Area under the divergence curve of two histograms over k clusters. */
double evaluate_mauve_area(const uint64_t *p, const uint64_t *q, size_t k);
size_t evaluate_mauve_buckets(size_t n);
/* size: rows on a side, at most. */
FRE_MUST_CHECK fre_status evaluate_mauve_find(fre_mauve *out, const evaluate_base *b,
                                              const evaluate_set *s, const evaluate_half *real,
                                              size_t size);
FRE_MUST_CHECK fre_status evaluate_language_find(fre_language *out, fre_lm *lm,
                                                 const evaluate_base *b, const evaluate_set *set,
                                                 fre_err *err);
/* All of that, of every set. */
FRE_MUST_CHECK fre_status evaluate_texts_find(evaluate_run *r, fre_err *err);

/* ---- classify.c ------------------------------------------------------------------------------- */

/* By the labels of the originals, where they have some. */
FRE_MUST_CHECK fre_status evaluate_classify(evaluate_run *r, fre_err *err);

/* ---- exact.c ---------------------------------------------------------------------------------- */

/* Which original a text is, s->n of fre_exact_mark; weight: those without one are none, NULL: all are. */
FRE_MUST_CHECK fre_status evaluate_exact_marks(uint8_t *mark, const evaluate_set *s,
                                               const evaluate_distinct *originals,
                                               const bool *is_frequent, const uint64_t *weight);
/* Their shares. */
fre_exact_shares evaluate_exact_shares(const uint8_t *mark, size_t n);

/* ---- release_cells.c ------------------------------------------------------------------------ */

/* e->cell of a release that names its cells, and e->cell_reference; of one by levels, of the cells of its grid,
 * which comes first.  e->has_cell stays false where there is none. */
FRE_MUST_CHECK fre_status evaluate_release_cells(evaluate_run *r);

/* ---- cells.c ---------------------------------------------------------------------------------- */

/* The cells that hold at least `threshold` originals, and the mean of each; to be freed. */
FRE_MUST_CHECK fre_status evaluate_heavy_cells(fre_cell **cell, float **mean, size_t *n,
                                               const fre_sketch *s, const fre_originals *o,
                                               uint64_t threshold, uint32_t threads);

/* ---- members.c -------------------------------------------------------------------------------- */

/* Does a release name all of its cells, so that its members can be known? */
bool evaluate_names_cells(const fre_release *r);
/* Has it levels of public cells? */
bool evaluate_has_public_cells(const fre_release *r);

/* ---- levels.c --------------------------------------------------------------------------------- */

/* e->level_reference; in: of the release itself. */
FRE_MUST_CHECK fre_status evaluate_levels_beside(evaluate_run *r, const fre_by_level *in);
/* e->level and what belongs to it, of a release that names its cells. */
FRE_MUST_CHECK fre_status evaluate_levels(evaluate_run *r, fre_err *err);

#endif
