/* fold.c - see fre/fold.h. */
#include <fre/fold.h>

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

static fre_status map_text(char **out, const char *text, size_t len, utf8proc_option_t options)
{
    utf8proc_uint8_t *p = NULL;
    const utf8proc_ssize_t n =
        utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)len, &p, options);

    if (n < 0)
        return n == UTF8PROC_ERROR_NOMEM ? FRE_E_NOMEM : FRE_E_DATA;
    *out = (char *)p;
    return FRE_OK;
}

static fre_status copy_text(char **out, const char *text, size_t len)
{
    *out = strndup(text, len);
    return *out ? FRE_OK : FRE_E_NOMEM;
}

fre_status fre_fold_text(char **out, const char *text, size_t len, fre_fold how)
{
    const utf8proc_option_t compose = UTF8PROC_STABLE | UTF8PROC_COMPOSE;

    if (how == FRE_FOLD_NONE)
        return copy_text(out, text, len);
    return map_text(out, text, len, how == FRE_FOLD_CASE ? compose | UTF8PROC_CASEFOLD : compose);
}

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

fre_status fre_fold_words(char **out, const char *text, size_t len)
{
    fre_status st = fre_fold_text(out, text, len, FRE_FOLD_CASE);

    if (st == FRE_OK)
        keep_words((utf8proc_uint8_t *)*out);
    return st;
}

#define LONG 4u /* bytes of a word that is no "the" or "to" */
#define STEM 5u /* bytes in which two words are forms of one */

static size_t stem(const char *word)
{
    const size_t len = strcspn(word, " ");

    return len < STEM ? len : STEM;
}

static bool was_said(const char *text, const char *word)
{
    const size_t n = stem(word);

    for (const char *w = text; w < word; w += strcspn(w, " ") + 1)
        if (stem(w) == n && memcmp(w, word, n) == 0)
            return true;
    return false;
}

fre_status fre_fold_said_again(size_t *n, const char *text, size_t len)
{
    char *words;
    const fre_status st = fre_fold_words(&words, text, len);

    *n = 0;
    if (st != FRE_OK)
        return st;
    for (const char *w = words; *w; w += strcspn(w, " "), w += *w == ' ')
        *n += strcspn(w, " ") >= LONG && was_said(words, w);
    free(words);
    return FRE_OK;
}
