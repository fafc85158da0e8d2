/** fre/prior.h - what embeddings of public text look like: a Gaussian, and what it says about an
 * embedding that was seen through noise.
 *
 * Prior: e ~ N(m, V' diag(l) V), m the mean, l the eigenvalues of the covariance, rows of V its
 * eigenvectors.  Seen: mu = e + s z, z standard normal in each coordinate.  Then e given mu is normal
 * with mean m + V' diag(l / (l + s^2)) V (mu - m) and variance l s^2 / (l + s^2) along each
 * eigenvector (Bishop, Pattern Recognition and Machine Learning, 2.3.3).
 * A prior is made of public text alone: nothing private may go into one.
 * Threads: immutable once open or made, shared between threads.
 */
#ifndef FRE_PRIOR_H
#define FRE_PRIOR_H

#include <fre/core.h>
#include <fre/model.h>
#include <fre/overlap.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Of the bundled embedder. */
#define FRE_PRIOR_DEFAULT "all-minilm-l6-v2.prior.gguf"

#define FRE_PRIOR_ARCHITECTURE "fre-e2t-prior" /**< general.architecture of its file */

/** Which public text a prior or a bridge was made of, so that one made of private text is detected.
 * All zero: not recorded (files of earlier versions). */
typedef struct fre_prior_card {
    char file[128];   /**< name of the file, without its folder; "": standard input */
    char sha256[65];  /**< hex digest of its bytes; "": it could be read only once */
    char author[128]; /**< who made the prior; "": not stated */
    bool rows;        /**< the marks are of rows of embeddings, not of texts */
    float *mark;      /**< n_marks x 2: a sketch of the content (fre/overlap.h) */
    size_t n_marks;   /**< 0: not recorded */
} fre_prior_card;

typedef struct fre_prior fre_prior;

typedef struct fre_prior_info {
    uint32_t dim;
    uint32_t rows;                  /**< embeddings it was made of */
    char embedder[128];             /**< the embedder's name, for people */
    char embedder_hash[65];         /**< hex SHA-256 of the embedder's file */
    char source[128];               /**< of the text, for people */
    fre_prior_card card;            /**< owned */
    uint8_t sha256[FRE_HASH_BYTES]; /**< of the prior's own file; zero unless opened from one */
} fre_prior_info;

/** FRE_E_NOINPUT: missing or unreadable; FRE_E_MODEL: not a prior, cut short, or numbers that no
 * covariance has. */
FRE_API FRE_MUST_CHECK fre_status fre_prior_open(fre_prior **out, const char *path, fre_err *err);

/** The prior that belongs to an embedder: path "none" gives NULL, another path is opened, NULL looks
 * beside the embedder's file (NULL: nowhere) for its name without ".gguf" and quantisation and with
 * ".prior.gguf"; none there: *out NULL and FRE_OK.  FRE_E_MODEL also: made for
 * an embedder of another hash or dimension. */
FRE_API FRE_MUST_CHECK fre_status fre_prior_open_for(fre_prior **out, const char *path,
                                                     const char *embedder_path,
                                                     const fre_model_info *embedder, fre_err *err);
FRE_API void fre_prior_free(fre_prior *p);
FRE_API const fre_prior_info *fre_prior_info_view(const fre_prior *p);
/** A prior of numbers (copied): mean, eigenvalues (above 0, largest first) and eigenvectors (dim x dim, a
 * row each).  Its info has no more than the dimension. */
FRE_API FRE_MUST_CHECK fre_status fre_prior_new(fre_prior **out, uint32_t dim, const float *mean,
                                                const float *value, const float *vector,
                                                fre_err *err);
/** dim numbers. */
FRE_API const float *fre_prior_mean(const fre_prior *p);
/** dim numbers above 0, largest first. */
FRE_API const float *fre_prior_eigenvalues(const fre_prior *p);

/** E[e | mu] into out (dim floats; may be mu itself); noise_std >= 0 a coordinate, finite.  0 gives
 * mu bit for bit, and the correction goes to 0 with it. */
FRE_API FRE_MUST_CHECK fre_status fre_prior_posterior_mean(const fre_prior *p, float *out,
                                                           const float *mu, double noise_std);
/** The noise a coordinate at which the variances of e given mu add up to `left`: how much is known of e,
 * said as noise.  0 for left <= 0; noise far above all eigenvalues for left that reaches their sum. */
FRE_API double fre_prior_noise_of(const fre_prior *p, double left);
/** Variance of e given mu along each eigenvector, in the order of the eigenvalues. */
FRE_API void fre_prior_posterior_variance(const fre_prior *p, double *out, double noise_std);
/** ln of the prior's density at each of the n rows of x (n x dim).  A row's number does not depend
 * on its neighbours. */
FRE_API FRE_MUST_CHECK fre_status fre_prior_log_density(const fre_prior *p, double *out,
                                                        const float *x, size_t n);
/** The same for the density of e given mu; noise_std > 0, FRE_E_ARG otherwise. */
FRE_API FRE_MUST_CHECK fre_status fre_prior_posterior_log_density(const fre_prior *p, double *out,
                                                                  const float *x, size_t n,
                                                                  const float *mu,
                                                                  double noise_std);

/* ---- making one --------------------------------------------------------------------------------- */

/** Sums over a stream of embeddings, in double; the same bits whatever the threads and however the
 * rows are cut into calls.  dim^2 doubles of memory, and as much again at the end. */
typedef struct fre_prior_sums fre_prior_sums;
FRE_API FRE_MUST_CHECK fre_status fre_prior_sums_new(fre_prior_sums **out, uint32_t dim,
                                                     uint32_t threads);
/** n x dim floats.  FRE_E_DATA: a NaN or an infinity. */
FRE_API FRE_MUST_CHECK fre_status fre_prior_sums_add(fre_prior_sums *s, const float *rows,
                                                     size_t n);
FRE_API void fre_prior_sums_free(fre_prior_sums *s);
FRE_API uint32_t fre_prior_sums_dim(const fre_prior_sums *s);
FRE_API uint64_t fre_prior_sums_rows(const fre_prior_sums *s);
/** Mean (dim) and covariance (dim x dim, both halves; over rows - 1) of what was added.  FRE_E_ARG:
 * fewer than two rows. */
FRE_API FRE_MUST_CHECK fre_status fre_prior_sums_moments(fre_prior_sums *s, double *mean,
                                                         double *cov);
/** Do n coordinates vary by more than rounding?  cov: their block of a covariance, rows `stride` apart. */
FRE_API bool fre_prior_moments_vary(const double *mean, const double *cov, size_t stride, size_t n);
/** Rows that fre_prior_make asks for: with fewer, the covariance is mostly chance. */
#define FRE_PRIOR_ROWS_MIN(dim) (4u * (dim))
/** embedder: what made the rows.  source: who wrote the text and under which terms, at most 127
 * bytes.  FRE_E_DATA: too few rows, more than 2^32 - 1, or rows that do not vary. */
FRE_API FRE_MUST_CHECK fre_status fre_prior_make(fre_prior **out, fre_prior_sums *s,
                                                 const fre_model_info *embedder, const char *source,
                                                 fre_err *err);
/** Copy a card into a prior, for its file.  FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_prior_set_card(fre_prior *p, const fre_prior_card *card);
/** The GGUF file (docs/formats.md) on f. */
FRE_API FRE_MUST_CHECK fre_status fre_prior_write(const fre_prior *p, FILE *f, fre_err *err);

/* ---- the card in a file of any kind (fre/bridge.h has one too) ------------------------------------ */

FRE_API FRE_MUST_CHECK fre_status fre_prior_card_copy(fre_prior_card *out,
                                                      const fre_prior_card *from);
FRE_API void fre_prior_card_wipe(fre_prior_card *c);
#define FRE_PRIOR_CARD_PAIRS 5u
/** Entries for fre_tensors_write: at most FRE_PRIOR_CARD_PAIRS and one entry, borrowed from c; they
 * are appended, and *n_pairs and *n_entries grow.  Nothing for a card without marks. */
FRE_API void fre_prior_card_append(const fre_prior_card *c, fre_tensors_pair *pair, size_t *n_pairs,
                                   fre_tensors_entry *entry, size_t *n_entries);
/** FRE_E_REFUSED: what the card is of was made of the texts or rows of the input (fre/overlap.h);
 * what: "the prior of"; source: for the message.  A card without marks says nothing. */
FRE_API FRE_MUST_CHECK fre_status fre_prior_card_check(const char *what, const char *source,
                                                       const fre_prior_card *card,
                                                       fre_overlap_set *texts,
                                                       fre_overlap_set *rows, fre_err *err);
/** FRE_E_MODEL: damaged.  A file without a card: all zero. */
FRE_API FRE_MUST_CHECK fre_status fre_prior_card_read(fre_prior_card *out, const fre_tensors *t,
                                                      const char *path, fre_err *err);

#ifdef __cplusplus
}
#endif
#endif /* FRE_PRIOR_H */
