/* sound.c - is a text made of words and ended as public text is?
 *
 * A non-word, a sentence that breaks off: each lies near many a point and says nothing true of it. */
#include "invert_private.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define END_LEAST (-6.0) /* ln p of a sentence's end after its last word */

/* Bytes of the word at s without the marks after it. */
static size_t bare(const char *s)
{
    size_t n = strcspn(s, " ");

    while (n > 0 && strchr(".,;:?!", s[n - 1]))
        n--;
    return n;
}

static bool is_of_corpus(const inv_index *x, const char *word, size_t len)
{
    for (size_t i = 0; x && i < x->words.n; i++) {
        size_t n;
        const char *own = inv_rows_text(&x->words, i, &n);

        if (n == len && strncasecmp(own, word, n) == 0)
            return true;
    }
    return false;
}

static bool is_of_text(const char *text, const char *word, size_t len)
{
    for (const char *s = text; s && *s; s += strcspn(s, " "), s += *s == ' ')
        if (bare(s) == len && strncasecmp(s, word, len) == 0)
            return true;
    return false;
}

/* The end of a sentence as people write it: a letter, one mark or three dots, a closing quote or bracket,
 * and brackets that were opened are closed. */
static bool ends_well(const char *text)
{
    const size_t n = strlen(text);
    const unsigned char last = n > 0 ? (unsigned char)text[n - 1] : ' ';
    const char before = n > 1 ? text[n - 2] : 'a';
    int open = 0;

    for (const char *s = text; *s; s++)
        open += (*s == '(') - (*s == ')' && open > 0);
    if (open > 0 || !(last >= 0x80 || isalnum(last) || strchr(".?!)\"'%", last)))
        return false;
    return !strchr(".?!", last) || !strchr(".?!,;:", before) ||
           (n > 3 && strcmp(text + n - 3, "...") == 0 && isalnum((unsigned char)text[n - 4]));
}

bool inv_is_sound(const inv_vocabulary *v, const inv_index *corpus, const char *source,
                  const char *text)
{
    const inv_usage u = inv_vocabulary_read(v, text);
    uint32_t known = 0;

    if (u.end < END_LEAST && !(source && inv_vocabulary_read(v, source).end < END_LEAST))
        return false;
    if (u.doubled > 0 || !ends_well(text))
        return false;
    for (const char *s = text; u.unknown > known && *s; s += strcspn(s, " "), s += *s == ' ') {
        const size_t n = bare(s);
        const uint32_t strange = inv_vocabulary_read_part(v, s, n).unknown;

        if (strange > 0 && (is_of_corpus(corpus, s, n) || is_of_text(source, s, n)))
            known += strange;
    }
    return u.unknown <= known;
}

bool inv_has_rare(const inv_vocabulary *v, const inv_index *corpus, const char *text)
{
    const uint32_t rare = inv_vocabulary_read(v, text).rare;
    uint32_t known = 0;

    for (const char *s = text; rare > known && *s; s += strcspn(s, " "), s += *s == ' ') {
        const size_t n = bare(s);

        if (inv_vocabulary_read_part(v, s, n).rare > 0 && is_of_corpus(corpus, s, n))
            known++;
    }
    return rare > known;
}

bool inv_is_native(const inv_vocabulary *v, const char *text)
{
    uint32_t words = 1;

    for (const char *s = text; *s; s++)
        words += *s == ' ';
    return 2 * inv_vocabulary_read(v, text).unknown <= words;
}
