/* Texts as their words.  Folding is Unicode's case folding with canonical composition (UAX 15,
 * CaseFolding.txt) and general categories (UAX 44) by utf8proc. */
#include "paraphrase_private.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

/* Letters, marks on them, digits. */
static bool is_word(utf8proc_int32_t c)
{
    return strchr("LMN", utf8proc_category_string(c)[0]) != NULL;
}

/* Stands inside a word and is no part of it: "dont" is to be the same as "don't". */
static bool is_apostrophe(utf8proc_int32_t c)
{
    return c == '\'' || c == 0x2019;
}

/* In place: never longer than it was. */
static void keep_words(utf8proc_uint8_t *text)
{
    utf8proc_uint8_t *w = text;

    for (const utf8proc_uint8_t *r = text; *r;) {
        utf8proc_int32_t c;
        const utf8proc_ssize_t n = utf8proc_iterate(r, -1, &c);

        if (n <= 0)
            break; /* utf8proc wrote it: cannot be */
        if (is_word(c)) {
            memmove(w, r, (size_t)n);
            w += n;
        } else if (!is_apostrophe(c) && w > text && w[-1] != ' ') {
            *w++ = ' ';
        }
        r += n;
    }
    if (w > text && w[-1] == ' ')
        w--;
    *w = '\0';
}

fre_status para_fold(char **out, const char *text, size_t len)
{
    utf8proc_uint8_t *p = NULL;
    const utf8proc_ssize_t n =
        utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)len, &p,
                     UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD);

    if (n < 0)
        return n == UTF8PROC_ERROR_NOMEM ? FRE_E_NOMEM : FRE_E_DATA;
    keep_words(p);
    *out = (char *)p;
    return FRE_OK;
}

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

    /* The k-th coming of a word in a is matched when b has it k times. */
    for (const char *p = a; (len = next_word(&p)) > 0; p += len)
        both += occurrences(a, p, p, len) < occurrences(b, b + strlen(b), p, len);
    return words ? 2.0 * (double)both / (double)words : 0.0;
}
