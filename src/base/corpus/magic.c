/* Files that hold no text, known by their first bytes, and what to do with each. */
#include "corpus_private.h"

#include <string.h>

#define BY_PANDAS(read)                                                                            \
    "convert it: python3 -c \"import pandas; pandas." read                                         \
    "('IN').to_json('OUT.jsonl', orient='records', lines=True)\""

typedef struct magic {
    const char *bytes;
    size_t n;
    const char *what, *todo;
} magic;

static const magic not_text[] = {
    {"PAR1", 4, "a Parquet file", BY_PANDAS("read_parquet")},
    {"ARROW1", 6, "an Arrow (Feather) file", BY_PANDAS("read_feather")},
    {"FEA1", 4, "a Feather file", BY_PANDAS("read_feather")},
    {"\xff\xff\xff\xff", 4, "an Arrow stream",
     "convert it: python3 -c \"import pyarrow as a; "
     "a.ipc.open_stream('IN').read_pandas().to_json('OUT.jsonl', orient='records', lines=True)\""},
    {"ORC", 3, "an ORC file", BY_PANDAS("read_orc")},
    {"Obj\x01", 4, "an Avro file", "convert it: avro-tools tojson IN > OUT.jsonl"},
    {"\x89HDF\r\n\x1a\n", 8, "an HDF5 file", BY_PANDAS("read_hdf")},
    {"\x80\x04\x95", 3, "a Python pickle", "write its texts as JSON lines where it was made"},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8, "an old office document (.xls, .doc)",
     "convert it: soffice --headless --convert-to csv IN"},
    {"\x93NUMPY", 6, "a file of embeddings (.npy)", "give a file of texts"},
    {"SQLite format 3", 16, "an SQLite database",
     "export its texts: sqlite3 -json IN 'select * from TABLE' > OUT.json"},
    {"%PDF-", 5, "a PDF document", "extract its texts: pdftotext IN OUT.txt"},
    {"BZh", 3, "compressed with bzip2", "convert it: bzip2 -dc IN | gzip > OUT.gz"},
    {"\xfd"
     "7zXZ",
     6, "compressed with xz", "convert it: xz -dc IN | gzip > OUT.gz"},
    {"\x04\x22\x4d\x18", 4, "compressed with lz4", "convert it: lz4 -dc IN | gzip > OUT.gz"},
    {"LZIP", 4, "compressed with lzip", "convert it: lzip -dc IN | gzip > OUT.gz"},
    {"\x1f\x9d", 2, "compressed with compress", "convert it: gzip -dc IN | gzip > OUT.gz"},
    {"7z\xbc\xaf\x27\x1c", 6, "a 7-Zip archive", "extract it: 7z x IN"},
    {"Rar!\x1a\x07", 6, "a RAR archive", "extract it: unrar x IN"},
    {"\x1f\x8b", 2, "compressed twice", "decompress it once"},
    {"\x28\xb5\x2f\xfd", 4, "compressed twice", "decompress it once"},
};

static fre_status is(const fre_corpus *c, const char *what, const char *todo, fre_err *err)
{
    return fre_fail(err, FRE_E_DATA, "%s: is %s; %s", c->src->name, what, todo);
}

static bool holds(const uint8_t *p, size_t n, const char *what)
{
    return memmem(p, n, what, strlen(what)) != NULL;
}

/* Archives of four kinds that all are zip. */
static fre_status refuse_zip(const fre_corpus *c, const uint8_t *p, size_t n, fre_err *err)
{
    if (holds(p, n, "xl/") || holds(p, n, "opendocument.spreadsheet"))
        return is(c, "a spreadsheet (.xlsx, .ods)",
                  "save it as CSV, or convert it: soffice --headless --convert-to csv IN", err);
    if (holds(p, n, "word/") || holds(p, n, "opendocument.text"))
        return is(c, "a text document (.docx, .odt)",
                  "convert it: soffice --headless --convert-to txt IN", err);
    if (holds(p, n, ".npy"))
        return is(c, "an archive of arrays (.npz)",
                  "save one array: python3 -c \"import numpy; "
                  "numpy.save('OUT.npy', numpy.load('IN')['NAME'])\"",
                  err);
    return is(c, "a zip archive or an office document",
              "extract it (unzip IN), or export its texts as CSV", err);
}

/* UTF-16 without a mark: every other byte of ASCII text is zero. */
static const char *without_mark(const uint8_t *p, size_t n)
{
    size_t even = 0, odd = 0, half = n / 2 < 8 ? n / 2 : 8;

    for (size_t i = 0; i < half; i++) {
        even += p[2 * i] == 0;
        odd += p[2 * i + 1] == 0;
    }
    if (half < 2 || even + odd != half || (even && odd))
        return NULL;
    return even ? "give {encoding} utf-16be" : "give {encoding} utf-16le";
}

static fre_status refuse(const fre_corpus *c, const uint8_t *p, size_t n, fre_err *err)
{
    const char *todo = NULL;

    for (size_t i = 0; i < sizeof not_text / sizeof *not_text; i++)
        if (n >= not_text[i].n && memcmp(p, not_text[i].bytes, not_text[i].n) == 0)
            return is(c, not_text[i].what, not_text[i].todo, err);
    if (n >= 4 && memcmp(p, "PK\x03\x04", 4) == 0)
        return refuse_zip(c, p, n, err);
    if (n >= 262 && memcmp(p + 257, "ustar", 5) == 0)
        return is(c, "a tar archive", "extract it: tar -xf IN", err);
    todo = without_mark(p, n);
    return todo ? is(c, "UTF-16 text without a byte order mark", todo, err) : FRE_OK;
}

/* The first bytes may be those of somebody's text ("ORC ..."): then the others show it. */
static fre_status is_text_all_the_same(fre_corpus *c, bool *is_text, fre_err *err)
{
    fre_status st = FRE_OK;

    while (st == FRE_OK && !c->eof && !fre_rest_in_view(c->buf + c->begin, c->end - c->begin))
        st = fre_corpus_fill(c, c->end - c->begin + 1, err);
    if (st == FRE_OK) {
        const uint8_t *p = c->buf + c->begin;
        const size_t n = c->end - c->begin;

        *is_text = fre_is_plain_text(p, n) || fre_rest_is_usable(p, n, c->eof);
    }
    return st;
}

fre_status fre_refuse_magic(fre_corpus *c, bool named, fre_err *err)
{
    bool is_text = false;
    fre_err why = {.text = ""};
    const fre_status found = refuse(c, c->buf + c->begin, c->end - c->begin, &why);
    fre_status st = FRE_OK;

    if (found == FRE_OK)
        return FRE_OK;
    if (named || without_mark(c->buf + c->begin, c->end - c->begin))
        st = is_text_all_the_same(c, &is_text, err);
    if (st != FRE_OK || is_text)
        return st;
    if (err)
        *err = why;
    return found;
}
