/* tokens.c - what the tokens of a text alone say of it. */
#include "embed_private.h"

#include <ctype.h>
#include <stdlib.h>

/* More of a text hardly reaches its embedding, which reads some hundred tokens, but would cost time
 * to tokenise; a longer text counts as truncated. */
#define TEXT_BYTES_MAX 65536u

/* Marks that the tokens tell; the specials among them are neither unknown, signs nor inside. */
static uint8_t mark_of(const fre_embedder *e, const int32_t *ids, size_t n)
{
    const size_t own = n > e->specials ? n - e->specials : 0;
    size_t unknown = 0, signs = 0, inside = 0;

    for (size_t j = 0; j < n; j++) {
        unknown += fre_model_is_unknown(e->model, ids[j]);
        signs += fre_model_is_sign(e->model, ids[j]);
        inside += fre_model_is_inside(e->model, ids[j]);
    }
    if (own == 0)
        return FRE_TEXT_EMPTY;
    if (unknown > 0 && unknown + signs == own)
        return FRE_TEXT_UNKNOWN | FRE_TEXT_FOREIGN;
    return 2 * (unknown + inside) >= own ? FRE_TEXT_FOREIGN : 0;
}

/* Bytes of the character at s: a word of its own, or `*inside` one. */
static size_t character(const char *s, size_t n, bool *inside)
{
    const unsigned char c = (unsigned char)s[0];
    const size_t bytes = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    uint32_t code;

    *inside = c >= 0x80 || isalnum(c);
    if (bytes == 3 && n >= 3) {
        code =
            (c & 0x0fu) << 12 | ((unsigned char)s[1] & 0x3fu) << 6 | ((unsigned char)s[2] & 0x3fu);
        *inside = !((code >= 0x3400 && code <= 0x4dbf) || (code >= 0x4e00 && code <= 0x9fff) ||
                    (code >= 0xf900 && code <= 0xfaff));
    }
    return bytes < n ? bytes : n;
}

static size_t word_length(const char *s, size_t n)
{
    bool inside;
    size_t at = character(s, n, &inside);

    while (inside && at < n) {
        const size_t more = character(s + at, n - at, &inside);

        at += inside ? more : 0;
    }
    return at;
}

/* *tokens: how many, specials aside. */
static fre_status has_unknown(const fre_embedder *e, bool *out, size_t *tokens, const char *text,
                              size_t len)
{
    const size_t cap = len + 1;
    size_t n = cap;
    int32_t *ids = malloc(cap * sizeof *ids);
    fre_status st = ids ? fre_model_tokenize(e->model, ids, &n, text, len, false) : FRE_E_NOMEM;

    *out = false;
    for (size_t i = 0; st == FRE_OK && i < n && i < cap; i++)
        *out = *out || fre_model_is_unknown(e->model, ids[i]);
    *tokens = n;
    free(ids);
    return st;
}

fre_status fre_embedder_mark_unknown(const fre_embedder *e, fre_buf *out, size_t *unknown,
                                     const char *text, size_t len, char mark)
{
    size_t tokens = 0;
    bool any;
    fre_status st = has_unknown(e, &any, &tokens, text, len);

    *unknown = tokens == 0;
    if (st != FRE_OK || tokens == 0)
        return st == FRE_OK ? fre_buf_append(out, &mark, 1) : st;
    if (!any)
        return fre_buf_append(out, text, len);
    for (size_t at = 0; at < len && st == FRE_OK;) {
        const size_t n = word_length(text + at, len - at);
        bool strange;

        st = has_unknown(e, &strange, &tokens, text + at, n);
        *unknown += strange;
        if (st == FRE_OK)
            st = strange ? fre_buf_append(out, &mark, 1) : fre_buf_append(out, text + at, n);
        at += n;
    }
    return st;
}

fre_status embed_tokenise(const fre_embedder *e, int32_t *ids, size_t *n, uint8_t *mark,
                          const char *text, size_t len)
{
    const size_t bytes = fre_model_cut(text, len, TEXT_BYTES_MAX);
    fre_status st;

    *n = e->max_tokens;
    st = fre_model_tokenize(e->model, ids, n, text, bytes, true);
    if (st != FRE_OK)
        return st;
    *mark = *n > e->max_tokens || bytes < len ? FRE_TEXT_TRUNCATED : 0;
    if (*n > e->max_tokens)
        *n = e->max_tokens;
    *mark |= mark_of(e, ids, *n);
    return FRE_OK;
}

fre_status fre_embedder_mark_text(const fre_embedder *e, uint8_t *mark, const char *text,
                                  size_t len)
{
    int32_t *ids = malloc(e->max_tokens * sizeof *ids);
    size_t n = 0;
    fre_status st = ids ? embed_tokenise(e, ids, &n, mark, text, len) : FRE_E_NOMEM;

    free(ids);
    return st;
}

fre_status fre_embedder_kind(void *ctx, fre_survey_kind *out, const char *text, size_t len)
{
    uint8_t mark = 0;
    const fre_status st = fre_embedder_mark_text(ctx, &mark, text, len);

    *out = mark & FRE_TEXT_EMPTY     ? FRE_SURVEY_EMPTY
           : mark & FRE_TEXT_UNKNOWN ? FRE_SURVEY_UNKNOWN
                                     : FRE_SURVEY_WORDS;
    return st;
}
