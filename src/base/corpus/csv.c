/* CSV by RFC 4180, and the same with tabs.  A quote opens a quoted field only as the first byte of
 * the field; elsewhere in an unquoted field it stands for itself, as spreadsheets read it. */
#include "corpus_private.h"

#include <string.h>

fre_csv_state fre_csv_scan(fre_csv_state st, const uint8_t *p, size_t n, uint8_t delim)
{
    const uint8_t *end = p + n, *hit = NULL;

    while (p < end && st != FRE_CSV_BAD) {
        switch (st) {
        case FRE_CSV_START:
            if (*p == '"') {
                st = FRE_CSV_QUOTED;
                p++;
                break;
            }
            st = FRE_CSV_PLAIN;
            break;
        case FRE_CSV_PLAIN:
            hit = memchr(p, delim, (size_t)(end - p));
            p = hit ? hit + 1 : end;
            st = hit ? FRE_CSV_START : FRE_CSV_PLAIN;
            break;
        case FRE_CSV_QUOTED:
            hit = memchr(p, '"', (size_t)(end - p));
            p = hit ? hit + 1 : end;
            st = hit ? FRE_CSV_CLOSED : FRE_CSV_QUOTED;
            break;
        case FRE_CSV_CLOSED:
            if (*p == '"')
                st = FRE_CSV_QUOTED;
            else
                st = *p == delim ? FRE_CSV_START : FRE_CSV_BAD;
            p++;
            break;
        case FRE_CSV_BAD:
            break;
        }
    }
    return st;
}

bool fre_csv_next(fre_csv_fields *it, fre_csv_field *f)
{
    uint8_t *p = it->p + it->pos, *end = it->p + it->n, *hit = NULL;

    if (it->done)
        return false;
    f->doubled = false;
    if (p < end && *p == '"') {
        f->p = ++p;
        while ((hit = memchr(p, '"', (size_t)(end - p))) != NULL && hit + 1 < end &&
               hit[1] == '"') {
            f->doubled = true;
            p = hit + 2;
        }
        if (!hit) /* the scanner lets none through; stay inside the record all the same */
            hit = end;
        f->n = (size_t)(hit - f->p);
        p = hit < end ? hit + 1 : end;
        hit = p < end ? p : NULL;
    } else {
        hit = p < end ? memchr(p, it->delim, (size_t)(end - p)) : NULL;
        f->p = p;
        f->n = (size_t)((hit ? hit : end) - p);
    }
    it->done = hit == NULL;
    it->pos = hit ? (size_t)(hit + 1 - it->p) : it->n;
    return true;
}

size_t fre_csv_undouble(uint8_t *p, size_t n)
{
    size_t o = 0;

    for (size_t i = 0; i < n; i++) {
        p[o++] = p[i];
        if (p[i] == '"')
            i++;
    }
    return o;
}
