/* evaluate/words.c - texts as words: a run of letters, marks and digits in lower case, a wide letter (of Chinese
 * or Japanese, say) by itself, and every other sign that is not a space by itself. */
#include "evaluate_private.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#define WORD_BYTES_MAX ((size_t)1 << 26)

typedef struct reader {
    evaluate_words *out;
    size_t cap_word, cap_characters;
    fre_text_map map;
    fre_buf word; /* the one that is being read */
} reader;

void evaluate_words_wipe(evaluate_words *w)
{
    free(w->word);
    free(w->start);
    free(w->characters);
    *w = (evaluate_words){.n = 0};
}

static fre_status end_word(reader *r)
{
    evaluate_words *w = r->out;
    uint32_t index;
    bool added;
    fre_status st;

    if (r->word.n == 0)
        return FRE_OK;
    st = fre_text_map_put(&r->map, &index, &added, r->word.p, r->word.n);
    if (st == FRE_OK)
        st = fre_grow((void **)&w->word, &r->cap_word, w->n_words + 1, sizeof *w->word);
    if (st == FRE_OK)
        w->word[w->n_words++] = index;
    r->word.n = 0;
    return st;
}

static fre_status add_character(reader *r, utf8proc_int32_t c)
{
    utf8proc_uint8_t bytes[4];

    c = utf8proc_tolower(c);
    return fre_buf_append(&r->word, bytes, (size_t)utf8proc_encode_char(c, bytes));
}

static fre_status read_character(reader *r, utf8proc_int32_t c)
{
    const char kind = utf8proc_category_string(c)[0];
    const bool in_word = kind == 'L' || kind == 'M' || kind == 'N';
    fre_status st;

    if (in_word && !(kind == 'L' && utf8proc_charwidth(c) == 2))
        return add_character(r, c);
    st = end_word(r);
    if (st != FRE_OK || kind == 'Z' || kind == 'C')
        return st; /* a space, a control */
    st = add_character(r, c);
    return st == FRE_OK ? end_word(r) : st;
}

static fre_status read_text(reader *r, size_t i, const char *text, size_t len)
{
    utf8proc_int32_t c;
    fre_status st = FRE_OK;

    r->out->characters[i] = 0;
    while (st == FRE_OK && len > 0) {
        utf8proc_ssize_t used =
            utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)len, &c);

        if (used <= 0) { /* not UTF-8: what cannot be read is one sign */
            used = 1;
            c = 0xfffd;
        }
        st = read_character(r, c);
        r->out->characters[i]++;
        text += used;
        len -= (size_t)used;
    }
    return st == FRE_OK ? end_word(r) : st;
}

fre_status evaluate_words_read(evaluate_words *out, const evaluate_set *s)
{
    evaluate_words w = {.n = s->n};
    reader r = {.out = &w};
    fre_status st;

    w.start = calloc(s->n + 1, sizeof *w.start);
    w.characters = calloc(s->n + 1, sizeof *w.characters);
    if (!w.start || !w.characters) {
        evaluate_words_wipe(&w);
        return FRE_E_NOMEM;
    }
    fre_buf_init(&r.word, WORD_BYTES_MAX);
    st = fre_text_map_init(&r.map);
    for (size_t i = 0; st == FRE_OK && i < s->n; i++) {
        st = fre_interrupted() ? FRE_E_INTERRUPTED : read_text(&r, i, s->text[i], s->len[i]);
        w.start[i + 1] = w.n_words;
    }
    fre_buf_wipe(&r.word);
    fre_text_map_wipe(&r.map);
    if (st == FRE_OK)
        *out = w;
    else
        evaluate_words_wipe(&w);
    return st;
}
