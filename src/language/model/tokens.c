/* Text to token ids and back. */
#include "model_private.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Closing special token of a sequence ([SEP], </s>), or LLAMA_TOKEN_NULL. */
static llama_token closing(const struct llama_vocab *v, const llama_token *ids, int32_t n)
{
    llama_token last = n > 0 ? ids[n - 1] : LLAMA_TOKEN_NULL;

    if (last == LLAMA_TOKEN_NULL || !llama_vocab_is_control(v, last))
        return LLAMA_TOKEN_NULL;
    return last;
}

size_t fre_model_cut(const char *text, size_t n, size_t max)
{
    if (n <= max)
        return n;
    while (max > 0 && ((unsigned char)text[max] & 0xc0u) == 0x80u)
        max--;
    return max;
}

/* Well-formed UTF-8 (Unicode, table 3-7).  llama.cpp throws on code points beyond U+10FFFF, and
 * an exception cannot cross C. */
size_t fre_model_utf8(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + n;

    while (p < end) {
        unsigned lead = *p, more, low = 0x80, high = 0xbf, i = 1;

        if (lead >= 0x80 && (lead < 0xc2 || lead > 0xf4))
            break;
        more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
        if (lead == 0xe0)
            low = 0xa0;
        else if (lead == 0xed)
            high = 0x9f;
        else if (lead == 0xf0)
            low = 0x90;
        else if (lead == 0xf4)
            high = 0x8f;
        if ((size_t)(end - p) <= more || (more > 0 && (p[1] < low || p[1] > high)))
            break;
        while (i <= more && (p[i] & 0xc0u) == 0x80u)
            i++;
        if (i <= more)
            break;
        p += 1 + more;
    }
    return n - (size_t)(end - p);
}

void fre_model_label(char *out, size_t n, const char *text)
{
    const size_t len = fre_model_cut(text, strlen(text), n - 1);
    unsigned char *p = (unsigned char *)out;

    memcpy(out, text, len);
    out[len] = '\0';
    for (size_t i = fre_model_utf8(out, len); i < len; i += fre_model_utf8(out + i, len - i))
        out[i] = '?';
    for (size_t i = 0; i < len; i++)
        if (p[i] == 0xc2 && p[i + 1] < 0xa0) /* U+0080 to U+009F */
            p[i] = p[i + 1] = '?';
        else if (p[i] < 0x20 || p[i] == 0x7f)
            p[i] = '?';
}

static fre_status tokenize_by_llama(const fre_model *m, int32_t *ids, size_t *n, const char *text,
                                    size_t len, bool special)
{
    const size_t capacity = *n < INT32_MAX ? *n : INT32_MAX;
    llama_token *all = NULL;
    int32_t count =
        llama_tokenize(m->vocab, text, (int32_t)len, ids, (int32_t)capacity, special, false);
    fre_status st = FRE_OK;

    if (count >= 0) {
        *n = (size_t)count;
        return FRE_OK;
    }
    if (count == INT32_MIN)
        return FRE_E_LIMIT;
    count = -count;
    all = malloc((size_t)count * sizeof *all);
    if (!all)
        return FRE_E_NOMEM;
    if (llama_tokenize(m->vocab, text, (int32_t)len, all, count, special, false) != count) {
        st = FRE_E_INTERNAL;
        goto out;
    }
    if (capacity > 0) {
        llama_token end = special ? closing(m->vocab, all, count) : LLAMA_TOKEN_NULL;

        memcpy(ids, all, capacity * sizeof *ids);
        if (end != LLAMA_TOKEN_NULL)
            ids[capacity - 1] = end;
    }
    *n = (size_t)count;
out:
    free(all);
    return st;
}

fre_status fre_model_tokenize(const fre_model *m, int32_t *ids, size_t *n, const char *text,
                              size_t len, bool special)
{
    if (!m || !n || (!ids && *n > 0) || (!text && len > 0) || len > INT32_MAX / 4)
        return FRE_E_ARG;
    if (text && fre_model_utf8(text, len) < len)
        return FRE_E_DATA;
    return m->wordpiece ? fre_wordpiece_run(m->wordpiece, ids, n, text ? text : "", len, special)
                        : tokenize_by_llama(m, ids, n, text ? text : "", len, special);
}

fre_status fre_model_detokenize(const fre_model *m, fre_buf *out, const int32_t *ids, size_t n)
{
    size_t start;

    if (!m || !out || (!ids && n > 0))
        return FRE_E_ARG;
    start = out->n;
    for (size_t i = 0; i < n; i++) {
        char piece[512];
        int32_t bytes;
        fre_status st;

        if (ids[i] < 0 || (uint32_t)ids[i] >= m->info.vocab) {
            out->n = start;
            return FRE_E_ARG;
        }
        bytes = llama_token_to_piece(m->vocab, ids[i], piece, (int32_t)sizeof piece, 0, false);
        st = bytes < 0 ? FRE_E_LIMIT : fre_buf_append(out, piece, (size_t)bytes);
        if (st != FRE_OK) {
            out->n = start; /* written on success only */
            return st;
        }
    }
    return FRE_OK;
}

int32_t fre_model_bos(const fre_model *m)
{
    return llama_vocab_bos(m->vocab);
}

bool fre_model_is_end(const fre_model *m, int32_t id)
{
    return id >= 0 && (uint32_t)id < m->info.vocab && llama_vocab_is_eog(m->vocab, id);
}

bool fre_model_is_control(const fre_model *m, int32_t id)
{
    return id >= 0 && (uint32_t)id < m->info.vocab && llama_vocab_is_control(m->vocab, id);
}

bool fre_model_is_unknown(const fre_model *m, int32_t id)
{
    return m->unknown >= 0 && id == m->unknown;
}

bool fre_model_is_sign(const fre_model *m, int32_t id)
{
    return m->token_kind && (m->token_kind[id] & TOKEN_SIGN) != 0;
}

bool fre_model_is_inside(const fre_model *m, int32_t id)
{
    return m->token_kind && (m->token_kind[id] & TOKEN_INSIDE) != 0;
}

int32_t fre_model_control(const fre_model *m, const char *spelling)
{
    for (uint32_t i = 0; spelling && i < m->info.vocab; i++)
        if (fre_model_is_control(m, (int32_t)i) &&
            strcmp(llama_vocab_get_text(m->vocab, (llama_token)i), spelling) == 0)
            return (int32_t)i;
    return -1;
}
