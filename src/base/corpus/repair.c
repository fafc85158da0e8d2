/* What is done about bytes of a record that are not UTF-8. */
#include "corpus_private.h"

static fre_status replace_bad(fre_corpus *c, fre_raw *raw, size_t bad, fre_err *err)
{
    static const uint8_t sign[3] = {0xef, 0xbf, 0xbd}; /* U+FFFD */
    size_t at = 0;
    fre_status st = FRE_OK;

    fre_buf_wipe(&c->repaired);
    while (st == FRE_OK && bad < raw->n) {
        st = fre_buf_append(&c->repaired, raw->p + at, bad - at);
        if (st == FRE_OK)
            st = fre_buf_append(&c->repaired, sign, sizeof sign);
        at = bad + fre_utf8_bad_len(raw->p + bad, raw->n - bad);
        bad = at + fre_utf8_first_bad(raw->p + at, raw->n - at);
    }
    if (st == FRE_OK)
        st = fre_buf_append(&c->repaired, raw->p + at, raw->n - at);
    if (st == FRE_OK)
        st = fre_buf_append(&c->repaired, "", 1); /* raw->p[n] must be writable */
    if (st)
        return fre_fail(err, st, "%s: line %llu: out of memory for one record", c->src->name,
                        (unsigned long long)raw->line);
    raw->p = c->repaired.p;
    raw->n = c->repaired.n - 1;
    return FRE_OK;
}

/* The encoding that bytes which are no UTF-8 suggest: Windows' has letters and quotes where Latin-1
 * has control characters. */
static const char *likely_encoding(const fre_raw *raw)
{
    for (size_t i = 0; i < raw->n; i++)
        if (raw->p[i] >= 0x80 && raw->p[i] < 0xa0)
            return "windows-1252";
    return "latin-1";
}

fre_status fre_corpus_repair(fre_corpus *c, fre_raw *raw, fre_err *err)
{
    size_t bad = fre_utf8_first_bad(raw->p, raw->n);

    if (bad == raw->n)
        return FRE_OK;
    if (c->invalid == FRE_CORPUS_INVALID_REPLACE) {
        c->stats.invalid++;
        return replace_bad(c, raw, bad, err);
    }
    if (raw->p[bad] == 0)
        return fre_fail(err, FRE_E_DATA,
                        "%s: line %llu: a NUL byte at byte %zu of the record; remove it (is the "
                        "file UTF-16?)",
                        c->src->name, (unsigned long long)raw->line, bad + 1);
    if (c->decoder.on)
        return fre_fail(err, FRE_E_DATA,
                        "%s: line %llu: what is at byte %zu of the record is not %s; correct "
                        "{encoding}",
                        c->src->name, (unsigned long long)raw->line, bad + 1, c->decoder.name);
    return fre_fail(err, FRE_E_DATA,
                    "%s: line %llu: invalid UTF-8 at byte %zu of the record; name the file's "
                    "encoding ({encoding} %s)",
                    c->src->name, (unsigned long long)raw->line, bad + 1, likely_encoding(raw));
}
