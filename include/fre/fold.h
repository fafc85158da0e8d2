/** fre/fold.h - forms of a text in which spellings that mean the same are equal: Unicode's case
 * folding and canonical composition (UAX 15, CaseFolding.txt) and general categories (UAX 44), by
 * utf8proc.  Threads: no state.
 */
#ifndef FRE_FOLD_H
#define FRE_FOLD_H

#include <fre/core.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fre_fold {
    FRE_FOLD_NFC = 0, /**< canonical composition: what looks the same is the same */
    FRE_FOLD_NONE,    /**< byte by byte */
    FRE_FOLD_CASE,    /**< composition, and upper and lower case are the same */
} fre_fold;

/** *out: `len` bytes of UTF-8 folded, NUL-terminated, owned (free).  FRE_E_DATA: not UTF-8, or it
 * holds a NUL; FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_fold_text(char **out, const char *text, size_t len,
                                                fre_fold how);
/** FRE_FOLD_CASE, and of that the words alone (letters, marks, digits), one blank between them:
 * "Don't PANIC!" is "dont panic".  Nothing but other characters: "". */
FRE_API FRE_MUST_CHECK fre_status fre_fold_words(char **out, const char *text, size_t len);
/** *n: words (as above, of four bytes and more) whose first five bytes a word before them begins with: a form
 * of one that was said already, as in "a card credit card".  One person in fifty does it (2 % of clinc-oos).
 * Errors as fre_fold_text. */
FRE_API FRE_MUST_CHECK fre_status fre_fold_said_again(size_t *n, const char *text, size_t len);

#ifdef __cplusplus
}
#endif
#endif /* FRE_FOLD_H */
