/* nearest.c - what a mistyped word may have meant. */
#include "cli.h"

#include <string.h>

#define WORD_MAX 48u

/* Optimal string alignment distance: insertions, deletions, changes, swaps of neighbours. */
static size_t distance(const char *a, const char *b)
{
    size_t row[3][WORD_MAX + 1];
    size_t la = strlen(a), lb = strlen(b);

    if (la > WORD_MAX || lb > WORD_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= lb; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= la; i++) {
        size_t *now = row[i % 3], *before = row[(i + 2) % 3], *older = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            size_t best = before[j - 1] + (a[i - 1] != b[j - 1]);
            if (before[j] + 1 < best)
                best = before[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                older[j - 2] + 1 < best)
                best = older[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[la % 3][lb];
}

const char *cli_nearest(const char *word, const char *const *candidates, size_t n)
{
    size_t best = strlen(word) / 3 + 1;
    const char *found = NULL;

    for (size_t i = 0; i < n; i++) {
        size_t d = distance(word, candidates[i]);
        if (d < best || (d == best && !found)) {
            best = d;
            found = candidates[i];
        }
    }
    return found;
}
