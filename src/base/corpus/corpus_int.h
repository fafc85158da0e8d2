/* corpus_int.h - what the files of this module share: the byte source, the UTF-8 and JSON
 * scanners, the CSV splitter.  Private. */
#ifndef FRE_CORPUS_INT_H
#define FRE_CORPUS_INT_H

#include <fre/corpus.h>

#include <zlib.h>
#include <zstd.h>

#define FRE_SRC_CHUNK (256u << 10)
#define FRE_NAME_BYTES 128u

/* ---- bytes of a file, decompressed ------------------------------------------------------- */

typedef enum fre_src_kind { FRE_SRC_PLAIN, FRE_SRC_GZIP, FRE_SRC_ZSTD } fre_src_kind;

typedef struct fre_src {
    char name[FRE_NAME_BYTES]; /* for messages: printable, shortened at the front */
    int fd;                    /* -1: memory */
    bool own_fd;
    fre_bytes mem;
    uint8_t *in; /* the next bytes of the file: in[pos..len) */
    size_t chunk, pos, len;
    bool eof, failed;
    uint64_t bytes, bytes_all;
    fre_src_kind kind;
    z_stream z;
    bool z_open, z_between; /* between two gzip members */
    ZSTD_DStream *zs;
    bool zs_between;
} fre_src;

/* chunk: bytes read at a time, >= 1 (tests use tiny ones to move every boundary). */
FRE_MUST_CHECK fre_status fre_src_open(fre_src *s, const char *path, fre_err *err);
FRE_MUST_CHECK fre_status fre_src_open_memory(fre_src *s, fre_bytes data, size_t chunk,
                                              fre_err *err);
/* Up to cap bytes (cap >= 1) into out; *got is 0 at the end only. */
FRE_MUST_CHECK fre_status fre_src_read(fre_src *s, uint8_t *out, size_t cap, size_t *got,
                                       fre_err *err);
/* Bytes of the file behind what was given out: those read ahead do not count. */
uint64_t fre_src_taken(const fre_src *s);
void fre_src_close(fre_src *s);
/* Printable form of a path that fits a message. */
void fre_src_display_name(char out[FRE_NAME_BYTES], const char *path);

FRE_MUST_CHECK fre_status fre_corpus_open_chunked(fre_corpus **out, fre_bytes data, size_t chunk,
                                                  const fre_corpus_opts *opts, fre_err *err);

/* ---- UTF-8 ------------------------------------------------------------------------------- */

/* Offset of the first byte that is NUL or starts an ill-formed sequence; n when there is none. */
size_t fre_utf8_first_bad(const uint8_t *p, size_t n);
/* Bytes of the maximal ill-formed subpart at p (n >= 1): what one U+FFFD stands for. */
size_t fre_utf8_bad_len(const uint8_t *p, size_t n);
/* Shrink [*p, *p + *n) by White_Space at both ends; the bytes are valid UTF-8. */
void fre_utf8_trim(uint8_t **p, size_t *n);
/* UTF-8 of a scalar value; returns its 1 to 4 bytes. */
size_t fre_utf8_put(uint8_t out[4], uint32_t c);

/* ---- JSON -------------------------------------------------------------------------------- */

typedef enum fre_json_kind {
    FRE_JSON_ABSENT = 0,
    FRE_JSON_STRING,
    FRE_JSON_NUMBER,
    FRE_JSON_BOOL,
    FRE_JSON_NULL,
    FRE_JSON_OBJECT,
    FRE_JSON_ARRAY,
} fre_json_kind;

/* One key to look for at the top level; the last of equal keys wins. */
typedef struct fre_json_want {
    const char *name;
    fre_json_kind kind;
    uint8_t *p; /* the value: between the quotes for a string, the token otherwise */
    size_t n;
    bool escaped; /* the string holds a backslash: fre_json_unescape before use */
} fre_json_want;

#define FRE_JSON_DEPTH_MAX 512u

/* Scan one object that fills p[0..n) but for white space (RFC 8259, all of it checked).  NULL on
 * success; else a static reason and its offset in *at.  Keys with escapes are decoded in place. */
const char *fre_json_scan(uint8_t *p, size_t n, fre_json_want *want, size_t wants, size_t *at);
/* Decode the escapes of a scanned string in place; returns the new length.  U+0000 and lone
 * surrogates become U+FFFD and set *bad. */
size_t fre_json_unescape(uint8_t *p, size_t n, bool *bad);

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

enum { FRE_ROLE_TEXT, FRE_ROLE_USER, FRE_ROLE_LABEL, FRE_ROLES };
#define FRE_COLUMN_NONE SIZE_MAX

struct fre_corpus {
    fre_src src;
    fre_corpus_format format; /* never AUTO once open */
    fre_corpus_invalid invalid;
    char *field[FRE_ROLES];   /* NULL: not asked for */
    size_t column[FRE_ROLES]; /* CSV, TSV; FRE_COLUMN_NONE: not asked for */
    size_t columns;           /* of the header */
    uint8_t delim;            /* CSV, TSV */
    uint8_t *buf;             /* buf[begin..end) is read and not yet consumed */
    size_t cap, begin, end;   /* end < cap: there is room for a NUL */
    bool eof;                 /* the source has no more */
    uint64_t decoded;         /* bytes that were ever put into buf */
    uint64_t line;            /* lines consumed so far */
    fre_corpus_stats stats;
    fre_buf repaired; /* the current record where something in it was replaced */
};

/* One undecoded record, line end excluded; p[n] may be overwritten. */
typedef struct fre_raw {
    uint8_t *p;
    size_t n;
    uint64_t line;
} fre_raw;

/* Next line, or for CSV and TSV the next record of one or more lines; *more false at the end. */
FRE_MUST_CHECK fre_status fre_corpus_take(fre_corpus *c, bool *more, fre_raw *raw, fre_err *err);
/* At least n bytes in the buffer, or all that there are. */
FRE_MUST_CHECK fre_status fre_corpus_fill(fre_corpus *c, size_t n, fre_err *err);
/* Apply opts.invalid to a record: *skip, or raw points at valid UTF-8 without NUL. */
FRE_MUST_CHECK fre_status fre_corpus_repair(fre_corpus *c, fre_raw *raw, bool *skip, fre_err *err);
/* Guess format where it is AUTO; drop a byte order mark; refuse what is not text. */
FRE_MUST_CHECK fre_status fre_corpus_sniff(fre_corpus *c, const char *path, fre_err *err);
/* Read the header of a CSV or TSV file. */
FRE_MUST_CHECK fre_status fre_corpus_header(fre_corpus *c, fre_err *err);
/* The flag of the program that names the field of a role. */
const char *fre_role_flag(int role);

#endif /* FRE_CORPUS_INT_H */
