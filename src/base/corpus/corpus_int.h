/* corpus_int.h - what the files of this module share: the byte source, the UTF-8 and JSON
 * scanners, the CSV splitter.  Private. */
#ifndef FRE_CORPUS_INT_H
#define FRE_CORPUS_INT_H

#include <fre/corpus.h>

#include <iconv.h>
#include <zlib.h>
#include <zstd.h>

#define FRE_SRC_CHUNK (256u << 10)
#define FRE_SRC_HEAD 16u
#define FRE_NAME_BYTES 128u

/* ---- bytes of a file, decompressed ------------------------------------------------------- */

typedef enum fre_src_kind { FRE_SRC_PLAIN, FRE_SRC_GZIP, FRE_SRC_ZSTD } fre_src_kind;

typedef struct fre_src {
    char name[FRE_NAME_BYTES]; /* for messages: printable, shortened at the front */
    int fd;                    /* -1: memory */
    bool own_fd, is_file;      /* is_file: a regular file from its start on */
    fre_bytes mem;
    uint8_t *kept; /* NULL, or the memory that mem is, owned */
    size_t kept_bytes;
    fre_buf head;   /* decompressed bytes to be read first, from head_at on */
    size_t head_at;
    bool is_text_behind; /* the lines behind the first can be used as they are: looked at where the
                            first bytes are those of an array or a byte order mark */
    uint8_t *in; /* the next bytes of the file: in[pos..len) */
    size_t chunk, pos, len;
    bool eof, failed;
    bool says_packed; /* its name does */
    uint64_t bytes, bytes_all;
    struct timespec changed;                           /* a file's, when it was opened */
    uint8_t salt[FRE_HASH_BYTES], sum[FRE_HASH_BYTES]; /* of the last whole pass, if has_sum */
    fre_sha256 hash;
    bool hashing, has_sum;
    fre_src_kind kind;
    z_stream z;
    bool z_open, z_between; /* between two gzip members */
    ZSTD_DStream *zs;
    bool zs_between;
} fre_src;

/* again: what is no file is kept in memory, so that its bytes can be hashed first. */
FRE_MUST_CHECK fre_status fre_src_open(fre_src *s, const char *path, bool again, fre_err *err);
/* chunk: bytes read at a time, >= 1 (tests use tiny ones to move every boundary). */
FRE_MUST_CHECK fre_status fre_src_open_memory(fre_src *s, fre_bytes data, size_t chunk,
                                              fre_err *err);
bool fre_src_can_rewind(const fre_src *s);
/* From the first byte again, on the same descriptor; what is read from here on is hashed behind the
 * salt.  FRE_E_STATE: it can be read only once; FRE_E_AGAIN: it is no longer what was opened. */
FRE_MUST_CHECK fre_status fre_src_rewind(fre_src *s, const uint8_t salt[FRE_HASH_BYTES],
                                         fre_err *err);
/* At the end of a hashed pass.  FRE_E_AGAIN: the pass before had other bytes. */
FRE_MUST_CHECK fre_status fre_src_finish(fre_src *s, fre_err *err);
/* Is a file what it was when it was opened, by its size and the time of its last change? */
FRE_MUST_CHECK fre_status fre_src_check(const fre_src *s, fre_err *err);
/* Up to cap bytes (cap >= 1) into out; *got is 0 at the end only. */
FRE_MUST_CHECK fre_status fre_src_read(fre_src *s, uint8_t *out, size_t cap, size_t *got,
                                       fre_err *err);
/* Length of a path without the ending of a compressed file. */
size_t fre_unpacked_length(const char *path);
/* Whether it begins like a .npy file. */
bool fre_src_is_array(const fre_src *s);
/* Bytes of the file behind what was given out: those read ahead do not count. */
uint64_t fre_src_taken(const fre_src *s);
void fre_src_close(fre_src *s);
/* Printable form of a path that fits a message. */
void fre_src_display_name(char out[FRE_NAME_BYTES], const char *path);

FRE_MUST_CHECK fre_status fre_corpus_open_chunked(fre_corpus **out, fre_bytes data, size_t chunk,
                                                  const fre_corpus_opts *opts, fre_err *err);

/* ---- the lines behind the first: behind.c -------------------------------------------------- */

typedef enum fre_behind_kind {
    FRE_BEHIND_DATA,    /* nothing, or no text */
    FRE_BEHIND_TEXT,    /* text in an encoding that is not UTF-8, as it seems */
    FRE_BEHIND_FEW,     /* either, but there are few */
    FRE_BEHIND_RECORDS, /* at least half are valid UTF-8 without NUL: they can be used as they are */
} fre_behind_kind;

/* p[0..n) is what the file begins with, all: and ends with. */
fre_behind_kind fre_behind(const uint8_t *p, size_t n, bool all);
/* Few or many, at least half are valid UTF-8 without NUL. */
bool fre_behind_is_usable(const uint8_t *p, size_t n, bool all);
/* Valid UTF-8 without control characters. */
bool fre_is_plain_text(const uint8_t *p, size_t n);
/* What iconv calls the encoding of the byte order mark at p, but for UTF-8's; NULL: there is none. */
const char *fre_mark(const uint8_t *p, size_t n);
/* Enough is in view to tell. */
bool fre_behind_in_view(const uint8_t *p, size_t n);

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

/* Told of a member: its key as it is written, the start of its value.  false: stop. */
typedef bool fre_json_member_fn(void *ctx, const uint8_t *key, size_t n, const uint8_t *value);

/* As fre_json_scan, telling fn of each member at the top level; what follows the object is left
 * alone.  *at: where the scan ended. */
const char *fre_json_members(uint8_t *p, size_t n, fre_json_member_fn *fn, void *ctx, size_t *at);
/* One value of any kind at p; *at: where it ends. */
const char *fre_json_value(uint8_t *p, size_t n, size_t *at);
/* A scanned key, its escapes decoded, is name. */
bool fre_json_key_is(const uint8_t *key, size_t n, const char *name);

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

/* ---- encodings: decode.c ------------------------------------------------------------------ */

#define FRE_DECODE_BYTES 4096u

/* What cannot be decoded becomes one byte 0xff, which no UTF-8 has, so that the record it lies in is
 * found to be invalid and no other. */
typedef struct fre_decoder {
    iconv_t cd;
    bool on, ended; /* off: the bytes are UTF-8 */
    size_t unit;    /* bytes that a character has at least */
    uint8_t in[FRE_DECODE_BYTES];
    size_t n;
    char name[32];
} fre_decoder;

/* encoding NULL: by the mark in head, else UTF-8.  FRE_E_USAGE: unknown. */
FRE_MUST_CHECK fre_status fre_decode_open(fre_decoder *d, const char *encoding, const fre_src *src,
                                          fre_err *err);
FRE_MUST_CHECK fre_status fre_decode_read(fre_decoder *d, fre_src *src, uint8_t *out, size_t cap,
                                          size_t *got, fre_err *err);
void fre_decode_close(fre_decoder *d);

/* ---- the reader -------------------------------------------------------------------------- */

struct fre_input {
    fre_src src;
    char *path; /* "": memory */
};

FRE_MUST_CHECK fre_status fre_input_open_memory(fre_input **out, fre_bytes data, size_t chunk,
                                                fre_err *err);

enum { FRE_ROLE_TEXT, FRE_ROLE_USER, FRE_ROLE_LABEL, FRE_ROLES };
#define FRE_COLUMN_NONE SIZE_MAX
#define FRE_SNIFF_BYTES (64u << 10)

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
    bool opened, separated;   /* ARRAY, MEMBER: after the bracket; after a comma or the bracket */
    bool closed;              /* after the other bracket */
    char *field[FRE_ROLES];   /* NULL: not asked for */
    size_t column[FRE_ROLES]; /* CSV, TSV; FRE_COLUMN_NONE: not asked for */
    size_t columns;           /* of the header */
    uint8_t delim;            /* CSV, TSV; 0: none */
    uint8_t eol;              /* LF, or CR where there is no LF */
    char *na;                 /* NULL: none */
    bool keep_json, empty_ok, null_text;
    bool places;            /* every record is delivered */
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

/* Next line; for CSV and TSV the next record of one or more lines; for JSON the next object.  *more
 * false at the end.  FRE_E_DATA with c->failed false: this record cannot be used, the next can. */
FRE_MUST_CHECK fre_status fre_corpus_take(fre_corpus *c, bool *more, fre_raw *raw, fre_err *err);
/* The same for JSON that is not a record a line (document.c). */
FRE_MUST_CHECK fre_status fre_document_take(fre_corpus *c, bool *more, fre_raw *raw, fre_err *err);
/* At least n bytes in the buffer, or all that there are. */
FRE_MUST_CHECK fre_status fre_corpus_fill(fre_corpus *c, size_t n, fre_err *err);
/* raw points at valid UTF-8 without NUL afterwards.  FRE_E_DATA: it cannot be repaired, or is not to be. */
FRE_MUST_CHECK fre_status fre_corpus_repair(fre_corpus *c, fre_raw *raw, fre_err *err);
/* The values of a record that is valid UTF-8 (parse.c). */
FRE_MUST_CHECK fre_status fre_corpus_parse(fre_corpus *c, fre_raw *raw, fre_value v[FRE_ROLES],
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
/* The flag of the program that names the field of a role. */
const char *fre_role_flag(const fre_corpus *c, int role);

/* The likely name among those offered, for somebody who asked for another (suggest.c). */
typedef struct fre_suggestion {
    const char *asked;
    bool is_text;  /* asked for as the text: names that texts have elsewhere will do */
    char name[33]; /* "": none */
    unsigned distance;
} fre_suggestion;

/* Only names as programs write them are taken: what may be somebody's text is in no message. */
void fre_suggest(fre_suggestion *s, const uint8_t *name, size_t n);
/* A name that columns have everywhere ("id", "text"), without regard to case. */
bool fre_is_usual_name(const uint8_t *p, size_t n);
bool fre_is_field_name(const uint8_t *p, size_t n);

#endif /* FRE_CORPUS_INT_H */
