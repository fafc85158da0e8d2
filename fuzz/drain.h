/* Reads a corpus to its end and holds every record to the header's promises; the same bytes in
 * one read and in small ones must give the same records. */
#ifndef FRE_FUZZ_DRAIN_H
#define FRE_FUZZ_DRAIN_H

#include <stdlib.h>
#include <string.h>

#include "corpus_private.h"

static inline void must(bool ok)
{
    if (!ok)
        abort();
}

static inline void drain_value(const char *p, size_t n, bool wanted)
{
    must((p != NULL) == wanted);
    if (!p)
        return;
    must(p[n] == '\0');
    must(fre_utf8_first_bad((const uint8_t *)p, n) == n); /* no NUL either */
}

/* FNV-1a of everything delivered, and of the status at the end. */
static inline uint64_t drain_once(const fre_corpus_opts *opts, size_t chunk, fre_bytes data)
{
    fre_corpus *c = NULL;
    fre_corpus_stats s;
    fre_record r;
    bool more = true;
    uint64_t h = 14695981039346656037u, line = 0, n = 0;
    fre_status st = fre_corpus_open_chunked(&c, data, chunk, opts, NULL);

    must((st == FRE_OK) == (c != NULL));
    while (c && st == FRE_OK) {
        st = fre_corpus_next(c, &more, &r, NULL);
        if (st || !more)
            break;
        must(r.text_len > 0 && r.line >= line);
        line = r.line;
        n++;
        drain_value(r.text, r.text_len, true);
        drain_value(r.user, r.user_len, opts->user_field != NULL);
        drain_value(r.label, r.label_len, opts->label_field != NULL);
        must(!r.user || r.user_len > 0);
        for (size_t i = 0; i <= r.text_len; i++)
            h = (h ^ (uint8_t)r.text[i]) * 1099511628211u;
        h = (h ^ r.line) * 1099511628211u;
    }
    if (c) {
        fre_corpus_get_stats(c, &s);
        must(s.records == n);
        must(st || s.bytes == data.n);
    }
    fre_corpus_free(c);
    return (h ^ (uint64_t)st) * 1099511628211u;
}

static inline void drain(const fre_corpus_opts *opts, size_t chunk, fre_bytes data)
{
    must(drain_once(opts, FRE_SRC_CHUNK, data) == drain_once(opts, 1 + chunk % 61, data));
}

#endif /* FRE_FUZZ_DRAIN_H */
