/* What a file is, by its name's ending or its first bytes. */
#include "corpus_private.h"

#include <string.h>
#include <strings.h>

static bool ends_with(const char *s, size_t n, const char *ending)
{
    size_t k = strlen(ending);

    return n > k && strncasecmp(s + n - k, ending, k) == 0;
}

static fre_corpus_format format_by_name(const char *path)
{
    static const struct {
        const char *ending;
        fre_corpus_format format;
    } known[] = {
        {".txt", FRE_CORPUS_TXT},      {".text", FRE_CORPUS_TXT},   {".jsonl", FRE_CORPUS_JSONL},
        {".ndjson", FRE_CORPUS_JSONL}, {".json", FRE_CORPUS_JSONL}, {".csv", FRE_CORPUS_CSV},
        {".tsv", FRE_CORPUS_TSV},      {".tab", FRE_CORPUS_TSV},
    };
    const size_t n = fre_unpacked_length(path);

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (ends_with(path, n, known[i].ending))
            return known[i].format;
    return FRE_CORPUS_AUTO;
}

static const char delimiters[] = ",\t;|";

static size_t first_line(const fre_corpus *c, uint8_t **p)
{
    const uint8_t *end = NULL;

    *p = c->buf + c->begin;
    end = memchr(*p, c->eol, c->end - c->begin);
    return end ? (size_t)(end - *p) : c->end - c->begin;
}

/* Spreadsheets write the delimiter into a line of its own in front. */
static uint8_t read_hint(fre_corpus *c)
{
    uint8_t *p = NULL, delim;
    const size_t n = first_line(c, &p);

    if (n < 5 || n > 6 || strncasecmp((const char *)p, "sep=", 4) != 0 || (n == 6 && p[5] != '\r'))
        return 0;
    delim = p[4];
    if (!memchr(delimiters, delim, sizeof delimiters - 1))
        return 0;
    c->begin += n + (c->begin + n < c->end);
    c->line++;
    return delim;
}

/* The first that shows the text field in the header, else the one that makes most columns. */
static uint8_t find_delimiter(const fre_corpus *c, uint8_t usual)
{
    uint8_t *p = NULL, best = usual;
    const size_t n = first_line(c, &p);
    size_t most = 0, fields = 0;

    if (fre_has_text_column(c, p, n, usual, &most))
        return usual;
    for (const char *d = delimiters; *d; d++) {
        if (fre_has_text_column(c, p, n, (uint8_t)*d, &fields))
            return (uint8_t)*d;
        if (fields > most) {
            most = fields;
            best = (uint8_t)*d;
        }
    }
    return best;
}

/* A first line of several fields of which one is the text; 0: none. */
static uint8_t delimiter_by_content(const fre_corpus *c)
{
    static const char order[] = "\t,;|";
    uint8_t *p = NULL;
    const size_t n = first_line(c, &p);
    size_t fields = 0;

    for (const char *d = order; *d; d++)
        if (fre_has_text_column(c, p, n, (uint8_t)*d, &fields) && fields > 1)
            return (uint8_t)*d;
    return 0;
}

static void by_content(fre_corpus *c)
{
    const uint8_t delim = delimiter_by_content(c);

    c->delim = delim;
    c->format = delim == '\t' ? FRE_CORPUS_TSV : delim ? FRE_CORPUS_CSV : FRE_CORPUS_TXT;
}

/* Which byte ends lines.  CR only where there is no LF at all, however far one has to look: a first
 * record with a CR inside must not make one line of all others. */
static fre_status find_line_end(fre_corpus *c, fre_err *err)
{
    fre_status st = FRE_OK;
    size_t seen = 0;

    c->eol = '\n';
    if (!memchr(c->buf + c->begin, '\r', c->end - c->begin))
        return FRE_OK;
    while (st == FRE_OK) {
        const size_t n = c->end - c->begin;

        if (memchr(c->buf + c->begin + seen, '\n', n - seen))
            return FRE_OK;
        if (c->eof || n > FRE_CORPUS_TEXT_MAX)
            break;
        seen = n;
        st = fre_corpus_fill(c, n + 1, err);
    }
    c->eol = '\r';
    return st;
}

/* A header is no record: where a CR alone ends it, CRs end the rows, and LFs are inside of texts. */
static void line_end_by_header(fre_corpus *c)
{
    const uint8_t *p = c->buf + c->begin, *end = c->buf + c->end;
    bool quoted = false;

    for (; p < end && (quoted || (*p != '\r' && *p != '\n')); p++)
        quoted ^= *p == '"';
    if (p + 1 < end && *p == '\r' && p[1] != '\n')
        c->eol = '\r';
}

static fre_status choose(fre_corpus *c, char delimiter, fre_err *err)
{
    fre_corpus_format by_name = format_by_name(c->input->path);
    const bool sure = c->format != FRE_CORPUS_AUTO || by_name != FRE_CORPUS_AUTO;
    fre_status st = FRE_OK;
    uint8_t hint;

    if (c->format == FRE_CORPUS_AUTO)
        c->format = delimiter && by_name != FRE_CORPUS_TSV && by_name != FRE_CORPUS_JSONL
                        ? FRE_CORPUS_CSV
                        : by_name;
    if (delimiter && (c->format == FRE_CORPUS_TXT || c->format == FRE_CORPUS_JSONL))
        return fre_fail(err, FRE_E_USAGE, "{delimiter} is for CSV; leave out %s",
                        c->asked_format == FRE_CORPUS_AUTO ? "it, or say {format} csv"
                                                           : "{format}");
    if (c->format == FRE_CORPUS_AUTO || c->format == FRE_CORPUS_JSONL) {
        st = fre_document_sniff(c, sure, err);
        if (st)
            return st;
        if (c->format == FRE_CORPUS_TXT)
            by_content(c);
        return FRE_OK;
    }
    if (c->format == FRE_CORPUS_TXT)
        return FRE_OK;
    line_end_by_header(c);
    hint = read_hint(c);
    c->delim = delimiter ? (uint8_t)delimiter
               : hint    ? hint
                         : find_delimiter(c, c->format == FRE_CORPUS_TSV ? '\t' : ',');
    return FRE_OK;
}

fre_status fre_corpus_sniff(fre_corpus *c, char delimiter, fre_err *err)
{
    fre_status st = fre_corpus_fill(c, FRE_SNIFF_BYTES, err);
    size_t n = c->end - c->begin;

    if (st == FRE_OK && !c->decoder.on && !(c->encoded && c->format != FRE_CORPUS_AUTO))
        st = fre_refuse_magic(
            c, c->format != FRE_CORPUS_AUTO || format_by_name(c->input->path) != FRE_CORPUS_AUTO,
            err);
    if (st)
        return st;
    n = c->end - c->begin;
    if (n >= 3 && memcmp(c->buf + c->begin, "\xef\xbb\xbf", 3) == 0)
        c->begin += 3;
    n = c->end - c->begin;
    if (n == 0 && c->empty_ok) {
        c->format = c->format == FRE_CORPUS_AUTO ? FRE_CORPUS_TXT : c->format;
        return FRE_OK;
    }
    if (n == 0)
        return fre_fail(err, FRE_E_NOINPUT, "%s: is empty; give a file with at least one text",
                        c->src->name);
    st = find_line_end(c, err);
    return st == FRE_OK ? choose(c, delimiter, err) : st;
}
