/* What a file is, by its name's ending or its first bytes, and the header of a CSV file. */
#include "corpus_int.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SNIFF_BYTES (64u << 10)
#define COLUMN_SHOWN 32u /* bytes of one column name in a message */
#define LINE_SHORT 160u  /* bytes of a row of column names that semicolons may separate */
#define COLUMNS_SHOWN 6u /* names in a message: it must fit fre_err with the path */

typedef struct magic {
    const char *bytes;
    size_t n;
    const char *what, *todo;
} magic;

static const magic not_text[] = {
    {"PK\x03\x04", 4, "a zip archive or an office document", "export its texts as CSV"},
    {"PAR1\x15", 5, "a Parquet file", "write its texts as JSON lines"},
    {"\x93NUMPY", 6, "a file of embeddings (.npy)", "give a file of texts"},
    {"SQLite format 3", 16, "an SQLite database", "export its texts as CSV"},
    {"%PDF-", 5, "a PDF document", "extract its texts, one a line"},
    {"BZh91AY&SY", 10, "compressed with bzip2", "decompress it, or use gzip or zstd"},
    {"\xfd"
     "7zXZ",
     6, "compressed with xz", "decompress it, or use gzip or zstd"},
    {"\x1f\x8b", 2, "compressed twice", "decompress it once"},
    {"\x28\xb5\x2f\xfd", 4, "compressed twice", "decompress it once"},
    /* UTF-32 before UTF-16: one byte order mark starts with the other */
    {"\xff\xfe\0\0", 4, "UTF-32 text", "convert it to UTF-8 (iconv -f UTF-32 -t UTF-8)"},
    {"\0\0\xfe\xff", 4, "UTF-32 text", "convert it to UTF-8 (iconv -f UTF-32 -t UTF-8)"},
    {"\xff\xfe", 2, "UTF-16 text", "convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)"},
    {"\xfe\xff", 2, "UTF-16 text", "convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)"},
};

static bool ends_with(const char *s, size_t n, const char *ending)
{
    size_t k = strlen(ending);

    return n > k && strncasecmp(s + n - k, ending, k) == 0;
}

/* n is set to the length without an ending that names a compression. */
static fre_corpus_format format_by_name(const char *path, size_t *n)
{
    static const char *const packed[] = {".gz", ".gzip", ".zst", ".zstd"};
    static const struct {
        const char *ending;
        fre_corpus_format format;
    } known[] = {
        {".txt", FRE_CORPUS_TXT},      {".text", FRE_CORPUS_TXT}, {".jsonl", FRE_CORPUS_JSONL},
        {".ndjson", FRE_CORPUS_JSONL}, {".csv", FRE_CORPUS_CSV},  {".tsv", FRE_CORPUS_TSV},
        {".tab", FRE_CORPUS_TSV},
    };

    *n = strlen(path);
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++) {
        if (ends_with(path, *n, packed[i])) {
            *n -= strlen(packed[i]);
            break;
        }
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (ends_with(path, *n, known[i].ending))
            return known[i].format;
    return FRE_CORPUS_AUTO;
}

/* Whether the first line, cut at delim, has two fields or more and one is the text field. */
static bool has_text_column(const fre_corpus *c, uint8_t *p, size_t n, uint8_t delim)
{
    fre_csv_fields it = {p, n, 0, delim, false};
    fre_csv_field f;
    size_t fields = 0;
    bool found = false;

    while (fre_csv_next(&it, &f)) {
        fre_utf8_trim(&f.p, &f.n);
        fields++;
        found = found || (f.n == strlen(c->field[FRE_ROLE_TEXT]) &&
                          memcmp(f.p, c->field[FRE_ROLE_TEXT], f.n) == 0);
    }
    return fields > 1 && found;
}

static fre_corpus_format format_by_content(const fre_corpus *c)
{
    uint8_t *p = c->buf + c->begin, *q = NULL;
    size_t n = c->end - c->begin;

    fre_utf8_trim(&p, &n);
    if (n > 1 && p[0] == '{') {
        for (q = p + 1; q < p + n && (*q == ' ' || *q == '\t'); q++)
            ;
        if (q < p + n && (*q == '"' || *q == '}'))
            return FRE_CORPUS_JSONL;
    }
    q = memchr(p, '\n', n);
    n = q ? (size_t)(q - p) : n;
    if (has_text_column(c, p, n, '\t'))
        return FRE_CORPUS_TSV;
    return has_text_column(c, p, n, ',') ? FRE_CORPUS_CSV : FRE_CORPUS_TXT;
}

static fre_status refuse_binary(const fre_corpus *c, fre_err *err)
{
    size_t n = c->end - c->begin;

    for (size_t i = 0; i < sizeof not_text / sizeof *not_text; i++) {
        const magic *m = &not_text[i];

        if (n >= m->n && memcmp(c->buf + c->begin, m->bytes, m->n) == 0)
            return fre_fail(err, FRE_E_DATA, "%s: is %s; %s", c->src.name, m->what, m->todo);
    }
    return FRE_OK;
}

fre_status fre_corpus_sniff(fre_corpus *c, const char *path, fre_err *err)
{
    size_t stem = 0;
    fre_corpus_format by_name = format_by_name(path, &stem);
    fre_status st = fre_corpus_fill(c, SNIFF_BYTES, err);

    if (st)
        return st;
    st = refuse_binary(c, err);
    if (st)
        return st;
    if (c->end - c->begin >= 3 && memcmp(c->buf + c->begin, "\xef\xbb\xbf", 3) == 0)
        c->begin += 3;
    if (c->end == c->begin)
        return fre_fail(err, FRE_E_NOINPUT, "%s: is empty; give a file with at least one text",
                        c->src.name);
    if (c->format == FRE_CORPUS_AUTO)
        c->format = by_name;
    if (c->format == FRE_CORPUS_AUTO && c->buf[c->begin] == '[' && ends_with(path, stem, ".json"))
        return fre_fail(err, FRE_E_DATA,
                        "%s: is one JSON array; write one object a line (jq -c '.[]')",
                        c->src.name);
    if (c->format == FRE_CORPUS_AUTO)
        c->format = format_by_content(c);
    if (c->format == FRE_CORPUS_CSV)
        c->delim = ',';
    else if (c->format == FRE_CORPUS_TSV)
        c->delim = '\t';
    return FRE_OK;
}

const char *fre_role_flag(int role)
{
    static const char *const flag[FRE_ROLES] = {"--text-field", "--user-field", "--label-field"};

    return flag[role];
}

/* A name as programs write them: a letter, then letters, digits and _ - . */
static bool is_column_name(const uint8_t *p, size_t n)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    if (n == 0 || n > COLUMN_SHOWN || !memchr(letters, p[0], sizeof letters - 1))
        return false;
    for (size_t i = 1; i < n; i++)
        if (!memchr(letters, p[i], sizeof letters - 1) && !memchr("0123456789_-.", p[i], 13))
            return false;
    return true;
}

/* The names of the columns for a message, "..." after the sixth; false when the row may be no
 * header: then it may hold somebody's text, and messages show none. */
static bool list_columns(char *out, size_t cap, const fre_raw *raw, uint8_t delim)
{
    fre_csv_fields it = {raw->p, raw->n, 0, delim, false};
    fre_csv_field f;
    size_t at = 0, seen = 0;

    out[0] = '\0';
    while (fre_csv_next(&it, &f)) {
        fre_utf8_trim(&f.p, &f.n);
        if (!is_column_name(f.p, f.n))
            return false;
        if (seen < COLUMNS_SHOWN)
            at += (size_t)snprintf(out + at, cap - at, "%s\"%.*s\"", seen ? ", " : "", (int)f.n,
                                   (const char *)f.p);
        else if (seen == COLUMNS_SHOWN)
            at += (size_t)snprintf(out + at, cap - at, ", ...");
        seen++;
    }
    return true;
}

static fre_status no_column(const fre_corpus *c, const fre_raw *raw, int role, fre_err *err)
{
    char list[COLUMNS_SHOWN * (COLUMN_SHOWN + 4) + 8];

    if (c->columns == 1 && raw->n <= LINE_SHORT && memchr(raw->p, ';', raw->n))
        return fre_fail(err, FRE_E_DATA,
                        "%s: line %llu: no column \"%.40s\", and the columns look separated by "
                        "semicolons; save the file with commas or tabs",
                        c->src.name, (unsigned long long)raw->line, c->field[role]);
    if (!list_columns(list, sizeof list, raw, c->delim))
        return fre_fail(err, FRE_E_DATA,
                        "%s: line %llu: no column \"%.40s\"; name one with %s, or add a first row "
                        "with the names of the columns if this row is not that",
                        c->src.name, (unsigned long long)raw->line, c->field[role],
                        fre_role_flag(role));
    return fre_fail(
        err, FRE_E_DATA, "%s: line %llu: no column \"%.40s\" (columns: %s); name one with %s",
        c->src.name, (unsigned long long)raw->line, c->field[role], list, fre_role_flag(role));
}

static fre_status match_columns(fre_corpus *c, const fre_raw *raw, fre_err *err)
{
    fre_csv_fields it = {raw->p, raw->n, 0, c->delim, false};
    fre_csv_field f;

    for (; fre_csv_next(&it, &f); c->columns++) {
        fre_utf8_trim(&f.p, &f.n);
        for (int r = 0; r < FRE_ROLES; r++) {
            if (!c->field[r] || strlen(c->field[r]) != f.n || memcmp(c->field[r], f.p, f.n) != 0)
                continue;
            if (c->column[r] != FRE_COLUMN_NONE)
                return fre_fail(err, FRE_E_DATA,
                                "%s: line %llu: two columns are named \"%.40s\"; rename one",
                                c->src.name, (unsigned long long)raw->line, c->field[r]);
            c->column[r] = c->columns;
        }
    }
    return FRE_OK;
}

fre_status fre_corpus_header(fre_corpus *c, fre_err *err)
{
    fre_raw raw = {NULL, 0, 0};
    bool more = false, skip = false;
    fre_status st = fre_corpus_take(c, &more, &raw, err);

    if (st)
        return st;
    st = fre_corpus_repair(c, &raw, &skip, err);
    if (st)
        return st;
    if (skip)
        return fre_fail(err, FRE_E_DATA,
                        "%s: line 1: the header is not valid UTF-8; convert the file to UTF-8",
                        c->src.name);
    st = match_columns(c, &raw, err);
    for (int r = 0; st == FRE_OK && r < FRE_ROLES; r++)
        if (c->field[r] && c->column[r] == FRE_COLUMN_NONE)
            st = no_column(c, &raw, r, err);
    return st;
}
