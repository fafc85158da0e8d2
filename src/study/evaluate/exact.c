/* How many synthetic texts are, word for word, somebody's text. */
#include "evaluate_private.h"

#include <fre/fold.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* *out: folded copy, NUL-terminated, to be freed; NULL when the text is not UTF-8. */
static fre_status fold(char **out, const char *text, size_t len)
{
    const fre_status st = fre_fold_text(out, text, len, FRE_FOLD_CASE);

    if (st != FRE_E_DATA)
        return st;
    *out = NULL;
    return FRE_OK;
}

static bool counts(const uint64_t *weight, size_t i)
{
    return !weight || weight[i] > 0;
}

/* The originals, folded; frequent[i]: some frequent original folds to entry i. */
static fre_status fold_originals(evaluate_distinct *folded, bool *frequent,
                                 const evaluate_distinct *originals, const bool *is_frequent,
                                 const uint64_t *weight)
{
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < originals->n; i++) {
        char *key;
        size_t at;

        if (!counts(weight, i))
            continue;
        st = fold(&key, evaluate_distinct_text(originals, i), originals->entry[i].len);
        if (st != FRE_OK || !key)
            continue;
        st = evaluate_distinct_add(folded, &at, key, strlen(key));
        if (st == FRE_OK)
            frequent[at] = frequent[at] || is_frequent[i];
        fre_wipe(key, strlen(key));
        free(key);
    }
    return st;
}

fre_status evaluate_exact_marks(uint8_t *mark, const evaluate_set *s,
                                const evaluate_distinct *originals, const bool *is_frequent,
                                const uint64_t *weight)
{
    bool *folded_frequent = calloc(originals->n + 1, sizeof *folded_frequent);
    evaluate_distinct folded = {.n = 0};
    fre_status st = folded_frequent ? evaluate_distinct_init(&folded, false) : FRE_E_NOMEM;

    if (st == FRE_OK)
        st = fold_originals(&folded, folded_frequent, originals, is_frequent, weight);
    for (size_t i = 0; st == FRE_OK && i < s->n; i++) {
        size_t at = evaluate_distinct_find(originals, s->text[i], s->len[i]);
        char *key;

        mark[i] = 0;
        if (at != EVALUATE_DISTINCT_NONE && counts(weight, at))
            mark[i] |= (uint8_t)(FRE_EXACT_ANY | (is_frequent[at] ? FRE_EXACT_FREQUENT : 0));
        st = fold(&key, s->text[i], s->len[i]);
        if (st != FRE_OK || !key)
            continue;
        at = evaluate_distinct_find(&folded, key, strlen(key));
        if (at != EVALUATE_DISTINCT_NONE)
            mark[i] |= (uint8_t)(FRE_EXACT_ANY_FOLDED |
                                 (folded_frequent[at] ? FRE_EXACT_FREQUENT_FOLDED : 0));
        free(key);
    }
    evaluate_distinct_wipe(&folded);
    free(folded_frequent);
    return st;
}

static double share_of(const uint8_t *mark, size_t n, fre_exact_mark which)
{
    size_t has = 0;

    for (size_t i = 0; i < n; i++)
        has += (mark[i] & which) != 0;
    return n > 0 ? (double)has / (double)n : (double)NAN;
}

fre_exact_shares evaluate_exact_shares(const uint8_t *mark, size_t n)
{
    return (fre_exact_shares){
        share_of(mark, n, FRE_EXACT_FREQUENT), share_of(mark, n, FRE_EXACT_FREQUENT_FOLDED),
        share_of(mark, n, FRE_EXACT_ANY), share_of(mark, n, FRE_EXACT_ANY_FOLDED)};
}
