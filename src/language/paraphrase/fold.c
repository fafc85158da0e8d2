/* Texts as their words (fre_fold_words), compared. */
#include "paraphrase_private.h"

#include <string.h>

bool para_same(const char *a, const char *b)
{
    for (;;) {
        while (*a == ' ')
            a++;
        while (*b == ' ')
            b++;
        if (*a != *b)
            return false;
        if (!*a)
            return true;
        a++;
        b++;
    }
}

/* The next word from *at on; its length, 0 at the end. */
static size_t next_word(const char **at)
{
    while (**at == ' ')
        (*at)++;
    return strcspn(*at, " ");
}

static size_t count_words(const char *text)
{
    size_t n = 0, len;

    for (const char *p = text; (len = next_word(&p)) > 0; p += len)
        n++;
    return n;
}

/* How often the word stands in the first `end` bytes of text. */
static size_t occurrences(const char *text, const char *end, const char *word, size_t len)
{
    size_t n = 0, m;

    for (const char *p = text; (m = next_word(&p)) > 0 && p < end; p += m)
        n += m == len && memcmp(p, word, len) == 0;
    return n;
}

double para_overlap(const char *a, const char *b)
{
    const size_t words = count_words(a) + count_words(b);
    size_t both = 0, len;

    /* The k-th occurrence of a word in a is matched if b has at least k of them. */
    for (const char *p = a; (len = next_word(&p)) > 0; p += len)
        both += occurrences(a, p, p, len) < occurrences(b, b + strlen(b), p, len);
    return words ? 2.0 * (double)both / (double)words : 0.0;
}
