/* corpus_private.h - what the files of this module share: the UTF-8 and JSON scanners, the CSV splitter,
 * the reader.  The byte source is in source.h. */
#ifndef FRE_CORPUS_PRIVATE_H
#define FRE_CORPUS_PRIVATE_H

#include <fre/corpus.h>

#include "decode.h"
#include "source.h"

/* ---- UTF-8 ------------------------------------------------------------------------------- */

/* Offset of the first byte that is NUL or starts an ill-formed sequence; n when there is none. */
size_t fre_utf8_first_bad(const uint8_t *p, size_t n);
/* Bytes of the maximal ill-formed subpart at p (n >= 1): what one U+FFFD stands for. */
size_t fre_utf8_bad_len(const uint8_t *p, size_t n);
/* Shrink [*p, *p + *n) by White_Space at both ends; the bytes are valid UTF-8. */
void fre_utf8_trim(uint8_t **p, size_t *n);
/* UTF-8 of a scalar value; returns its 1 to 4 bytes. */
size_t fre_utf8_put(uint8_t out[4], uint32_t c);

/* ---- CSV, TSV ---------------------------------------------------------------------------- */

typedef enum fre_csv_state {
    FRE_CSV_START = 0, /* at the first byte of a field */
    FRE_CSV_PLAIN,
    FRE_CSV_QUOTED,
    FRE_CSV_CLOSED, /* after a quote inside a quoted field: its end, or the first of two */
    FRE_CSV_BAD,    /* something else followed that quote */
} fre_csv_state;

/* State after the bytes of one line (line end excluded). */
fre_csv_state fre_csv_scan(fre_csv_state st, const uint8_t *p, size_t n, uint8_t delim);

typedef struct fre_csv_fields {
    uint8_t *p;
    size_t n, pos;
    uint8_t delim;
    bool done;
} fre_csv_fields;

typedef struct fre_csv_field {
    uint8_t *p; /* quotes around it excluded */
    size_t n;
    bool doubled; /* quotes inside are still doubled */
} fre_csv_field;

/* Fields of one whole record that fre_csv_scan accepted; false after the last. */
bool fre_csv_next(fre_csv_fields *it, fre_csv_field *f);
/* Undouble quotes in place; returns the new length. */
size_t fre_csv_undouble(uint8_t *p, size_t n);

/* ---- the reader -------------------------------------------------------------------------- */

struct fre_input {
    fre_src src;
    char *path; /* "": memory */
};

FRE_MUST_CHECK fre_status fre_input_open_memory(fre_input **out, fre_bytes data, size_t chunk,
                                                fre_err *err);

FRE_MUST_CHECK fre_status fre_corpus_open_chunked(fre_corpus **out, fre_bytes data, size_t chunk,
                                                  const fre_corpus_opts *opts, fre_err *err);

enum { FRE_FIELD_TEXT, FRE_FIELD_USER, FRE_FIELD_LABEL, FRE_FIELDS };
#define FRE_COLUMN_NONE SIZE_MAX

/* How the records of a JSON input lie. */
typedef enum fre_layout {
    FRE_LAYOUT_LINES = 0, /* one a line; the only one of other formats */
    FRE_LAYOUT_VALUES,    /* objects one after the other, each over lines of its own */
    FRE_LAYOUT_ARRAY,     /* elements of one array */
    FRE_LAYOUT_MEMBER,    /* elements of an array that is a member of one object */
} fre_layout;

struct fre_corpus {
    fre_input *input; /* owned */
    fre_src *src;     /* the input's */
    fre_decoder decoder;
    fre_corpus_format asked_format, format; /* format: never AUTO once open */
    char asked_delimiter;
    bool asked_text;      /* a field was named for the text */
    char *asked_encoding; /* NULL: not given */
    fre_corpus_invalid invalid;
    fre_layout layout;
    bool opened, separated;    /* ARRAY, MEMBER: after the bracket; after a comma or the bracket */
    bool closed;               /* after the other bracket */
    char *field[FRE_FIELDS];   /* NULL: not asked for */
    size_t column[FRE_FIELDS]; /* CSV, TSV; FRE_COLUMN_NONE: not asked for */
    size_t columns;            /* of the header */
    uint8_t delim;             /* CSV, TSV; 0: none */
    uint8_t eol;               /* LF, or CR where there is no LF */
    char *na;                  /* NULL: none */
    bool keep_json, empty_ok, null_text;
    bool every_record;      /* as in fre_corpus_opts */
    const char *text_param; /* static */
    bool encoded;           /* the encoding was named */
    uint8_t *buf;           /* buf[begin..end) is read and not yet consumed */
    size_t cap, begin, end; /* end < cap: there is room for a NUL */
    bool eof;               /* the source has no more */
    uint64_t decoded;       /* bytes that were ever put into buf */
    bool failed;            /* the file itself, not one record */
    uint64_t line;          /* lines consumed so far */
    fre_corpus_stats stats;
    uint64_t dropped; /* records that could not be used */
    fre_err first;    /* about the first of them */
    fre_fold user_fold;
    char *user;       /* of the current record, folded */
    fre_buf repaired; /* the current record where something in it was replaced */
    fre_buf object;   /* keep_json: the current record as it was read */
};

/* One undecoded record, line end excluded; p[n] may be overwritten. */
typedef struct fre_raw {
    uint8_t *p;
    size_t n;
    uint64_t line;
} fre_raw;

typedef struct fre_value {
    uint8_t *p; /* NULL: not asked for, or JSON null (text, keep_json) */
    size_t n;
} fre_value;

/* The next record as it lies in the buffer: a line, for CSV and TSV one or more.  *more
 * false at the end.  FRE_E_DATA with c->failed false: this record cannot be used, the next can. */
FRE_MUST_CHECK fre_status fre_lines_next(fre_corpus *c, bool *more, fre_raw *raw, fre_err *err);
/* The same of JSON that is not one record a line. */
FRE_MUST_CHECK fre_status fre_document_next(fre_corpus *c, bool *more, fre_raw *raw, fre_err *err);
/* At least n bytes in the buffer, or all that are left (buffer.c). */
FRE_MUST_CHECK fre_status fre_corpus_fill(fre_corpus *c, size_t n, fre_err *err);
/* Make raw point at valid UTF-8 without NUL.  FRE_E_DATA: it cannot be repaired, or must not be. */
FRE_MUST_CHECK fre_status fre_corpus_repair(fre_corpus *c, fre_raw *raw, fre_err *err);
/* The values of a record that is valid UTF-8 (parse.c). */
FRE_MUST_CHECK fre_status fre_corpus_parse(fre_corpus *c, fre_raw *raw, fre_value v[FRE_FIELDS],
                                           fre_err *err);
/* Guess format where it is AUTO, delimiter and layout; refuse what is not text. */
FRE_MUST_CHECK fre_status fre_corpus_sniff(fre_corpus *c, char delimiter, fre_err *err);
/* The layout of JSON in the buffer (document.c).  sure: the format was given or the name says it;
 * else format may become TXT. */
FRE_MUST_CHECK fre_status fre_document_sniff(fre_corpus *c, bool sure, fre_err *err);
/* Read the header of a CSV or TSV file (columns.c). */
FRE_MUST_CHECK fre_status fre_corpus_header(fre_corpus *c, fre_err *err);
/* Whether the line, cut at delim, has the text field; *n: its fields. */
bool fre_has_text_column(const fre_corpus *c, uint8_t *p, size_t len, uint8_t delim, size_t *n);
/* "comma", "tab", ... */
const char *fre_delimiter_name(uint8_t delim);
/* Refuse what the first bytes show to be no text (magic.c).  named: somebody or its name says that it
 * is. */
FRE_MUST_CHECK fre_status fre_refuse_magic(fre_corpus *c, bool named, fre_err *err);
/* The parameter that names a field: "{text_field}", ... */
const char *fre_field_param(const fre_corpus *c, int field);

/* The likely name among those offered, for somebody who asked for another (suggest.c). */
typedef struct fre_suggestion {
    const char *asked;
    bool is_text;  /* asked for as the text: names that texts have elsewhere will do */
    char name[33]; /* "": none */
    unsigned distance;
} fre_suggestion;

/* Offer a name.  Only names as programs write them count: what may be somebody's text must not get into a
 * message. */
void fre_suggest(fre_suggestion *s, const uint8_t *name, size_t n);
/* A name that columns have everywhere ("id", "text"), without regard to case. */
bool fre_is_usual_name(const uint8_t *p, size_t n);
bool fre_is_field_name(const uint8_t *p, size_t n);

/* ---- around a .npy array: the dict in its header, the JSON beside it --------------------------- */

#define NPY_DIM_MAX 65536u
#define NPY_DIMS_MAX 8u

typedef struct npy_header {
    char descr[24];
    bool structured; /* descr is a list of fields */
    bool fortran;
    size_t dims; /* may be above NPY_DIMS_MAX; only that many are kept */
    uint64_t shape[NPY_DIMS_MAX];
} npy_header;

/* NULL, or what is wrong (static). */
const char *npy_header_parse(npy_header *h, const uint8_t *p, size_t n);

/* PATH.json beside PATH, checked against the array; *has false when there is none. */
FRE_MUST_CHECK fre_status npy_sidecar_read(fre_npy_meta *m, bool *has, const char *path,
                                           const char *name, size_t rows, size_t dim, fre_err *err);

#endif /* FRE_CORPUS_PRIVATE_H */
