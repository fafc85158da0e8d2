/* Which field somebody may have meant who named one that is not there. */
#include "corpus_private.h"

#include <string.h>
#include <strings.h>

#define NAME_MOST 32u

static bool is_letter(uint8_t b)
{
    return (b | 0x20) >= 'a' && (b | 0x20) <= 'z';
}

bool fre_is_field_name(const uint8_t *p, size_t n)
{
    if (n == 0 || n > NAME_MOST || !is_letter(p[0]))
        return false;
    for (size_t i = 1; i < n; i++)
        if (!is_letter(p[i]) && !memchr("0123456789_-.", p[i], 13))
            return false;
    return true;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static uint8_t lower(char b)
{
    return (uint8_t)(b >= 'A' && b <= 'Z' ? b | 0x20 : b);
}

/* Edits from one word to the other (Levenshtein), letters compared without case. */
static unsigned edits(const char *a, const char *b)
{
    unsigned row[NAME_MOST + 1];
    const size_t n = strlen(b);

    if (n > NAME_MOST)
        return NAME_MOST;
    for (unsigned j = 0; j <= n; j++)
        row[j] = j;
    for (unsigned i = 0; a[i]; i++) {
        unsigned diagonal = row[0];

        row[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            const unsigned put = diagonal + (lower(a[i]) != lower(b[j]));

            diagonal = row[j + 1];
            row[j + 1] = least(put, least(row[j], diagonal) + 1);
        }
    }
    return row[n];
}

static bool has_part(const char *name, const char *part)
{
    for (; *name; name++) {
        size_t i = 0;

        while (part[i] && lower(name[i]) == lower(part[i]))
            i++;
        if (!part[i])
            return true;
    }
    return false;
}

static const char *const usual[] = {
    "text",     "comment", "message",  "content",     "sentence", "utterance", "review",
    "question", "query",   "prompt",   "description", "feedback", "body",      "summary",
    "post",     "tweet",   "response", "answer",      "title",    "note"};

bool fre_is_usual_name(const uint8_t *p, size_t n)
{
    static const char *const others[] = {"id",   "user",  "user_id",  "userid",   "uid",
                                         "name", "label", "category", "intent",   "date",
                                         "time", "lang",  "language", "timestamp", "source"};

    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strlen(usual[i]) == n && strncasecmp(usual[i], (const char *)p, n) == 0)
            return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i]) == n && strncasecmp(others[i], (const char *)p, n) == 0)
            return true;
    return false;
}

/* 0: the same but for case; small: spelled nearly so; 10: has it as a part; 20: names that texts have
 * elsewhere; 100: nothing of these. */
static unsigned distance(const char *asked, const char *name, bool is_text)
{
    const unsigned d = edits(asked, name);

    if (d == 0 || (d <= 2 && 3 * d <= strlen(asked)))
        return d;
    if (strlen(asked) > 2 && has_part(name, asked))
        return 10;
    for (size_t i = 0; is_text && i < sizeof usual / sizeof *usual; i++)
        if (has_part(name, usual[i]))
            return 20 + (unsigned)i;
    return 100;
}

void fre_suggest(fre_suggestion *s, const uint8_t *name, size_t n)
{
    char candidate[NAME_MOST + 1];
    unsigned d;

    if (!fre_is_field_name(name, n))
        return;
    (void)memcpy(candidate, name, n);
    candidate[n] = '\0';
    d = distance(s->asked, candidate, s->is_text);
    if (d >= 100 || (s->name[0] && d >= s->distance))
        return;
    (void)memcpy(s->name, candidate, n + 1);
    s->distance = d;
}
