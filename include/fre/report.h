/** fre/report.h - a release as one HTML file that people read: what was released, its texts as a
 * searchable tree beside a map of the centroids, the privacy statement, and how good it is.
 *
 * Everything is drawn from saved files: a release's folder (fre/release.h) and, optionally, what
 * `fre_evaluation_json` (fre/evaluate.h) gave for it.  Nothing is measured here but the places on the
 * map and which texts are near wordings of each other.  The file needs no network and loads nothing:
 * its content security policy allows its own style and script, by their hashes, and nothing else.
 * Texts, names and keys are data in it, never markup.
 *
 * PRIVACY: a release is public and an evaluation is not.  With is_public the file holds no number of
 * the evaluation, no name of a file, nothing of the curator's ledger, and a release that is not private
 * is refused.  Threads: no state.
 */
#ifndef FRE_REPORT_H
#define FRE_REPORT_H

#include <fre/core.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_REPORT_MAX ((size_t)1 << 30) /**< bytes of a report, at most */

/** Everything is borrowed for the call. */
typedef struct fre_report_opts {
    const char *release;       /**< a release's folder */
    const char *evaluation;    /**< file with the JSON of an evaluation of it; NULL: none, or ... */
    fre_bytes evaluation_json; /**< ... that JSON; n 0: none */
    bool is_public;            /**< only what may be published */
    bool originals_public;     /**< the evaluation's originals are: no warning beside its numbers */
    uint32_t threads;          /**< 1..FRE_THREADS_MAX */
} fre_report_opts;

/** The whole file, appended to out, whose limit should be FRE_REPORT_MAX.
 * FRE_E_NOINPUT: there is no such release or evaluation; FRE_E_DATA: a file is damaged (with its line),
 * or the evaluation is of another release; FRE_E_REFUSED: is_public and the release is not private;
 * FRE_E_ARG, FRE_E_INTERRUPTED, FRE_E_LIMIT, FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_report_render(fre_buf *out, const fre_report_opts *o,
                                                    fre_err *err);

#ifdef __cplusplus
}
#endif
#endif /* FRE_REPORT_H */
