/** fre/bridge.h - from the embeddings of one embedder to those of another: what the second one would
 * have made of a text that only the first one saw, with noise.
 *
 * Both embeddings of a text are taken as jointly normal, x the first (a numbers), y the second (b),
 * with mean and covariance of public text that both embedded.  Seen: mu = x + s z, z standard normal
 * in each coordinate.  Then (Bishop, Pattern Recognition and Machine Learning, 2.3.1 to 2.3.3)
 *     E[y | mu] = my + Cyx V' diag(1 / (l + s^2)) V (mu - mx),
 * l and the rows of V the eigenvalues and eigenvectors of Cxx; what is left of y's variance is
 * tr Cyy - sum_k |Cyx v_k|^2 / (l_k + s^2).
 * So an inverter that was trained for the second embedder serves the first (fre/invert.h).
 * A bridge is made of public text alone: nothing private may go into one.
 * Threads: immutable once open or made, shared between threads.
 */
#ifndef FRE_BRIDGE_H
#define FRE_BRIDGE_H

#include <fre/core.h>
#include <fre/model.h>
#include <fre/prior.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_BRIDGE_ARCHITECTURE "fre-e2t-bridge" /**< general.architecture of its file */

typedef struct fre_bridge fre_bridge;

/** One of the two embedders, for people and for comparison. */
typedef struct fre_bridge_end {
    uint32_t dim;
    char embedder[128]; /**< its name, as fre_model_label leaves it; source too */
    char hash[65];      /**< hex SHA-256 of its file, lower case */
} fre_bridge_end;

typedef struct fre_bridge_info {
    fre_bridge_end from, to;
    uint32_t rows;                  /**< texts it was made of */
    char source[128];               /**< of the text, for people */
    fre_prior_card card;            /**< owned */
    double spread;                  /**< tr Cxx: mean squared distance of x from its mean */
    double variance;                /**< tr Cyy */
    double left;                    /**< of it, when mu carries no noise */
    uint8_t sha256[FRE_HASH_BYTES]; /**< of its own file; zero unless opened from one */
} fre_bridge_info;

/** FRE_E_NOINPUT: missing or unreadable; FRE_E_MODEL: not a bridge, cut short, or numbers that no
 * covariance has. */
FRE_API FRE_MUST_CHECK fre_status fre_bridge_open(fre_bridge **out, const char *path, fre_err *err);

/** The bridge from an embedder: path "none" gives NULL, another path is opened, NULL looks beside
 * the embedder's file (NULL: nowhere) for NAME.bridge.gguf; none there: *out NULL and FRE_OK.
 * FRE_E_MODEL also: it begins at another embedder. */
FRE_API FRE_MUST_CHECK fre_status fre_bridge_open_for(fre_bridge **out, const char *path,
                                                      const char *embedder_path,
                                                      const fre_model_info *embedder, fre_err *err);
FRE_API void fre_bridge_free(fre_bridge *b);
FRE_API const fre_bridge_info *fre_bridge_info_view(const fre_bridge *b);

/** E[y | mu] into out (to.dim floats); mu: from.dim floats; noise_std >= 0 a coordinate, finite,
 * FRE_E_ARG otherwise.  *left (NULL allowed): E |y - out|^2, above 0; a little more than the formula
 * gives, for what mean and covariance of finitely many texts don't know. */
FRE_API FRE_MUST_CHECK fre_status fre_bridge_estimate(const fre_bridge *b, float *out, double *left,
                                                      const float *mu, double noise_std);

/** What the bridge knows of the embedder it begins at: mean and covariance of x, as a prior (the caller
 * frees it) without a card or a file. */
FRE_API FRE_MUST_CHECK fre_status fre_bridge_prior(const fre_bridge *b, fre_prior **out,
                                                   fre_err *err);

/** sums: of rows [x y], x of `from`, y of `to`, of the same public text.  source: who wrote the text and
 * under which terms, at most 127 bytes.  FRE_E_DATA: fewer texts than FRE_PRIOR_ROWS_MIN(a + b), more
 * than 2^32 - 1, or embeddings that do not vary. */
FRE_API FRE_MUST_CHECK fre_status fre_bridge_make(fre_bridge **out, fre_prior_sums *sums,
                                                  const fre_model_info *from,
                                                  const fre_model_info *to, const char *source,
                                                  fre_err *err);
/** Copy a card into a bridge, for its file.  FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_bridge_set_card(fre_bridge *b, const fre_prior_card *card);
/** The GGUF file (docs/formats.md) on f. */
FRE_API FRE_MUST_CHECK fre_status fre_bridge_write(const fre_bridge *b, FILE *f, fre_err *err);

#ifdef __cplusplus
}
#endif
#endif /* FRE_BRIDGE_H */
