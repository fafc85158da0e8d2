/* Text to token ids and back. */
#include "internal.h"

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

/* Well-formed UTF-8 (Unicode, table 3-7).  llama.cpp throws on code points beyond U+10FFFF, and
 * an exception cannot cross C. */
static bool is_utf8(const char *text, size_t len)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + len;

    while (p < end) {
        unsigned lead = *p++, more, low = 0x80, high = 0xbf;

        if (lead < 0x80)
            continue;
        if (lead < 0xc2 || lead > 0xf4)
            return false;
        more = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
        if (lead == 0xe0)
            low = 0xa0;
        else if (lead == 0xed)
            high = 0x9f;
        else if (lead == 0xf0)
            low = 0x90;
        else if (lead == 0xf4)
            high = 0x8f;
        if ((size_t)(end - p) < more || *p < low || *p > high)
            return false;
        for (unsigned i = 1; i < more; i++)
            if ((p[i] & 0xc0u) != 0x80u)
                return false;
        p += more;
    }
    return true;
}

fre_status fre_model_tokenize(const fre_model *m, int32_t *ids, size_t *n, const char *text,
                              size_t len, bool special)
{
    llama_token *all = NULL;
    size_t capacity;
    int32_t count;
    fre_status st = FRE_OK;

    if (!m || !n || (!ids && *n > 0) || (!text && len > 0) || len > INT32_MAX / 4)
        return FRE_E_ARG;
    if (text && !is_utf8(text, len))
        return FRE_E_DATA;
    capacity = *n < INT32_MAX ? *n : INT32_MAX;
    count = llama_tokenize(m->vocab, text ? text : "", (int32_t)len, ids, (int32_t)capacity,
                           special, false);
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
    if (llama_tokenize(m->vocab, text ? text : "", (int32_t)len, all, count, special, false) !=
        count) {
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

bool fre_model_is_unknown(const fre_model *m, int32_t id)
{
    return m->unknown >= 0 && id == m->unknown;
}

int32_t fre_model_control(const fre_model *m, const char *spelling)
{
    llama_token id[2];

    if (!m || !spelling || strlen(spelling) > INT16_MAX ||
        llama_tokenize(m->vocab, spelling, (int32_t)strlen(spelling), id, 2, false, true) != 1 ||
        !llama_vocab_is_control(m->vocab, id[0]))
        return -1;
    return id[0];
}
