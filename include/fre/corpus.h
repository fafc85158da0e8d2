/** fre/corpus.h - files of texts and of embeddings.
 *
 * Inputs are opened once, whatever they are: a file, a pipe, a named pipe, standard input ("-").  The first
 * bytes, which remain to be read, say what an input holds: compression (gzip, zstd), encoding, format,
 * delimiter.  Only the name's ending may decide before them.
 * Texts: lines, JSON lines, JSON objects over several lines, one JSON array (of objects or strings, at
 * the top or under one key of an object), CSV, TSV and the like.  Streaming: memory is bounded by the
 * longest record.  A line is one record whatever ends it (LF, CRLF, end of file; CR where a file has
 * no LF); a CSV or TSV record may span lines inside quotes (RFC 4180).  Texts, users and labels are
 * trimmed of surrounding Unicode White_Space; texts left empty are counted and skipped.  "NA" and
 * "null" are texts unless opts.na_values has them.
 * Errors name the line (the first line of the record) and never quote the text.  docs/formats.md
 * has every rule.  Threads: one thread at a time a reader.
 * Embeddings: NumPy .npy version 1.0-3.0, float32 or float64, C order, 2-d, little-endian,
 * memory-mapped (from a pipe or compressed: in memory), with a sidecar x.npy.json {embedder, sha256,
 * dimension, normalised, rows}.
 */
#ifndef FRE_CORPUS_H
#define FRE_CORPUS_H

#include <fre/core.h>
#include <fre/fold.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_CORPUS_TEXT_MAX (64u << 20) /* bytes in one record */

/* ---- inputs ---------------------------------------------------------------------------------- */

/** An input that is open, its first bytes looked at and still to be read. */
typedef struct fre_input fre_input;

/** path "-": standard input.  again: it will be read more than once (fre_corpus_again, fre_input_sha256), so
 * an input that is not a file is kept in memory.  Waits for the writer of a named pipe.  FRE_E_NOINPUT: missing,
 * unreadable, a folder.  FRE_E_DATA, FRE_E_IO, FRE_E_NOMEM, FRE_E_INTERRUPTED. */
FRE_API FRE_MUST_CHECK fre_status fre_input_open(fre_input **out, const char *path, bool again,
                                                 fre_err *err);
/** A regular file, opened at its start: it can be read again on the same descriptor. */
FRE_API bool fre_input_is_file(const fre_input *in);
/** SHA-256 of salt || all its bytes as they are stored; nothing is consumed.  FRE_E_STATE: not a file,
 * and not opened to be read again. */
FRE_API FRE_MUST_CHECK fre_status fre_input_sha256(uint8_t out[FRE_HASH_BYTES], const fre_input *in,
                                                   fre_bytes salt, fre_err *err);
FRE_API void fre_input_free(fre_input *in);

/* ---- texts ----------------------------------------------------------------------------------- */

typedef enum fre_corpus_format {
    FRE_CORPUS_AUTO = 0, /**< by the name's ending, else by content */
    FRE_CORPUS_TXT,
    FRE_CORPUS_JSONL, /**< JSON of every layout */
    FRE_CORPUS_CSV,
    FRE_CORPUS_TSV,
} fre_corpus_format;

/** What is done about a record that cannot be used: invalid UTF-8, a NUL byte, malformed JSON or CSV,
 * a text or user that is missing or of another type. */
typedef enum fre_corpus_invalid {
    FRE_CORPUS_INVALID_FAIL = 0, /**< FRE_E_DATA with its line */
    FRE_CORPUS_INVALID_SKIP,    /**< skipped and counted; FRE_E_DATA at the end of an input that has
                                  *   more of them than others, or no other */
    FRE_CORPUS_INVALID_REPLACE, /**< each maximal invalid sequence and each NUL becomes U+FFFD; what
                                  *   cannot be repaired is skipped */
} fre_corpus_invalid; /* a JSON escape of U+0000 or of half a surrogate pair counts as invalid */

typedef struct fre_corpus_opts {
    fre_corpus_format format;
    fre_corpus_invalid invalid;
    const char *text_field;  /**< JSON key or CSV/TSV column name; NULL: "text" */
    const char *text_param;  /**< the parameter that names it, for messages; NULL: "{text_field}" */
    const char *user_field;  /**< NULL: none; its value as a string (a JSON number is accepted) */
    fre_fold user_fold;      /**< how names of users are made equal; zero: canonical composition */
    const char *label_field; /**< NULL: none; a JSON number, true and false are accepted */
    char delimiter;          /**< of columns; 0: found in the header */
    const char *encoding;    /**< a name that iconv knows; NULL: UTF-8, or what a mark says */
    const char *na_values; /**< comma-separated texts and users that count as missing; NULL: none */
    bool empty_ok;         /**< an input without a byte has no records and is no error */
    bool keep_json;        /**< JSON only: records bring their object, and a text that is null or
                              *   empty is delivered as it is */
    bool
        every_record; /**< so that records stay in step with those of another file, one that cannot be
                              *   used, or is empty, is delivered too, with text NULL; a number is a text */
    bool null_text;   /**< JSON: a text that is null counts as empty (a release's line that was
                              *   not put into words) */
} fre_corpus_opts;

/** One record; pointers are borrowed until the next call on the reader. */
typedef struct fre_record {
    const char *text; /**< valid UTF-8 without NUL, trimmed, NUL-terminated; NULL: JSON null, or
                         *   opts.every_record */
    size_t text_len;
    const char *user; /**< NULL where no user field was asked for */
    size_t user_len;
    const char *label;
    size_t label_len;
    uint64_t line; /**< 1-based line on which the record starts */
    char *json;    /**< opts.keep_json: the object as it was read, may be changed; else NULL */
    size_t json_len;
} fre_record;

typedef struct fre_corpus_stats {
    uint64_t records; /**< delivered */
    uint64_t empty;   /**< skipped: nothing but white space, or one of opts.na_values */
    uint64_t invalid; /**< skipped or repaired under opts.invalid */
    uint64_t
        bytes; /**< of the file, up to the last record (compressed bytes for .gz, .zst, about) */
    uint64_t bytes_all; /**< size of the file; 0 when unknown */
} fre_corpus_stats;

/** What an input was taken for; strings are static or in the struct. */
typedef struct fre_corpus_about {
    const char *format;      /**< "CSV", "JSON lines", ... */
    const char *compression; /**< "none", "gzip", "zstd" */
    char delimiter;          /**< 0: none */
    char encoding[32];
    char text_field[64]; /**< "": no fields */
    bool is_empty;       /**< not a byte */
} fre_corpus_about;

typedef struct fre_corpus fre_corpus;

/** opts NULL: all defaults; copied.  FRE_E_NOINPUT: missing, unreadable, a folder, or nothing in it.
 * FRE_E_USAGE: a field asked of plain lines, a delimiter of JSON, an unknown encoding.  FRE_E_DATA: not text
 * (Parquet, an office document, ...), damaged or cut-off compressed data, a CSV header without the
 * field (the message names the likely one).  FRE_E_IO, FRE_E_LIMIT, FRE_E_NOMEM, FRE_E_INTERRUPTED. */
FRE_API FRE_MUST_CHECK fre_status fre_corpus_open(fre_corpus **out, const char *path,
                                                  const fre_corpus_opts *opts, fre_err *err);
/** Embeddings: by a name that ends in .npy, or by the first bytes if the lines after the first are no
 * text and as_texts (NULL: none) states neither format nor encoding. */
FRE_API bool fre_input_is_npy(const fre_input *in, const fre_corpus_opts *as_texts);
/** The same over an open input, which is owned from here on, also on failure. */
FRE_API FRE_MUST_CHECK fre_status fre_corpus_open_input(fre_corpus **out, fre_input *in,
                                                        const fre_corpus_opts *opts, fre_err *err);
/** As above over bytes in memory (tests, fuzzing); `data` is kept until free. */
FRE_API FRE_MUST_CHECK fre_status fre_corpus_open_memory(fre_corpus **out, fre_bytes data,
                                                         const fre_corpus_opts *opts, fre_err *err);
/** FRE_OK with *more true and *rec set, or *more false at the end.  FRE_E_DATA, FRE_E_IO,
 * FRE_E_LIMIT (a record above FRE_CORPUS_TEXT_MAX), FRE_E_INTERRUPTED (polled at each read of the
 * file), FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_corpus_next(fre_corpus *c, bool *more, fre_record *rec,
                                                  fre_err *err);
/** The input that it reads; borrowed. */
FRE_API const fre_input *fre_corpus_input(const fre_corpus *c);
/** Is it a file, or kept in memory, so that fre_corpus_again works? */
FRE_API bool fre_corpus_can_again(const fre_corpus *c);
/** From the first record again, on the same descriptor.  From here on the bytes are hashed after the
 * salt, and every pass must read the same ones: the end of a pass fails if they differ.
 * FRE_E_STATE: it can be read only once; FRE_E_AGAIN (also from fre_corpus_next): the file was
 * changed since it was opened; otherwise as fre_corpus_open. */
FRE_API FRE_MUST_CHECK fre_status fre_corpus_again(fre_corpus *c,
                                                   const uint8_t salt[FRE_HASH_BYTES],
                                                   fre_err *err);
/** SHA-256 of salt || all bytes of the last whole pass as they are stored; false: none was
 * completed since fre_corpus_again. */
FRE_API bool fre_corpus_sha256(uint8_t out[FRE_HASH_BYTES], const fre_corpus *c);
FRE_API void fre_corpus_get_about(const fre_corpus *c, fre_corpus_about *out);
FRE_API void fre_corpus_get_stats(const fre_corpus *c, fre_corpus_stats *out);
/** Records in the whole file as the share of bytes read so far suggests; 0: no idea.  For progress. */
FRE_API uint64_t fre_corpus_expected(const fre_corpus_stats *s);
FRE_API void fre_corpus_free(fre_corpus *c);
/** The rule for inputs of which most records cannot be used: FRE_E_DATA, with the reason of the first, if
 * there are unusable records and either no usable ones, or more unusable than used and empty ones. */
FRE_API FRE_MUST_CHECK fre_status fre_corpus_check_most(uint64_t unusable, uint64_t used,
                                                        uint64_t empty, const fre_err *first,
                                                        fre_err *err);

/** The users that the rows of another file belong to: one name for each record.  All in memory. */
typedef struct fre_names fre_names;

/** Lines, or the field opts->user_field ("user" if NULL) of JSON, CSV or TSV; folded as opts says.
 * invalid FAIL: a record without a name is FRE_E_DATA; else it has none.  Also what fre_corpus_open and
 * _next return. */
FRE_API FRE_MUST_CHECK fre_status fre_names_open(fre_names **out, const char *path,
                                                 const fre_corpus_opts *opts, fre_err *err);
FRE_API size_t fre_names_count(const fre_names *n);
/** NUL-terminated, *len bytes; NULL: record i has none. */
FRE_API const char *fre_names_view(const fre_names *n, size_t i, size_t *len);
/** FRE_E_DATA: their number is not `rows`. */
FRE_API FRE_MUST_CHECK fre_status fre_names_check(const fre_names *n, size_t rows, fre_err *err);
FRE_API void fre_names_free(fre_names *n); /* wipes; NULL is allowed */

/* ---- embeddings ---------------------------------------------------------------------------- */

typedef struct fre_npy_meta {
    char embedder[128]; /**< a name for people */
    char sha256[65];    /**< hex digest of the embedder's file; "" when there is no sidecar */
    bool normalised;
} fre_npy_meta;

typedef struct fre_npy fre_npy; /* immutable once open */

/** Map a .npy file, or read a pipe or a compressed one into memory, and read its sidecar if there is
 * one.  FRE_E_NOINPUT; FRE_E_DATA: not a .npy, another dtype or order, a header that disagrees with
 * the size, a sidecar that disagrees with the header. */
FRE_API FRE_MUST_CHECK fre_status fre_npy_open(fre_npy **out, const char *path, fre_err *err);
/** The same over an open input, which is owned from here on, also on failure.  opts: what was asked of the
 * input before it was known to hold no text (NULL: nothing).  FRE_E_USAGE: a field, a delimiter, an
 * encoding, missing texts or a format. */
FRE_API FRE_MUST_CHECK fre_status fre_npy_open_input(fre_npy **out, fre_input *in,
                                                     const fre_corpus_opts *opts, fre_err *err);
/** The same for an array of one number a row: 1-d, or 2-d with rows of one.  No sidecar. */
FRE_API FRE_MUST_CHECK fre_status fre_npy_open_numbers(fre_npy **out, const char *path,
                                                       fre_err *err);
FRE_API FRE_MUST_CHECK fre_status fre_npy_open_memory(fre_npy **out, fre_bytes data, fre_err *err);
/** SHA-256 of salt || the file's bytes as they are stored, through the open descriptor; *known
 * false: it is not a file. */
FRE_API FRE_MUST_CHECK fre_status fre_npy_sha256(uint8_t out[FRE_HASH_BYTES], bool *known,
                                                 const fre_npy *f, fre_bytes salt, fre_err *err);
/** FRE_E_AGAIN: the file was changed since it was opened. */
FRE_API FRE_MUST_CHECK fre_status fre_npy_check(const fre_npy *f, fre_err *err);
FRE_API size_t fre_npy_rows(const fre_npy *f);
FRE_API size_t fre_npy_dim(const fre_npy *f);
FRE_API bool fre_npy_has_meta(const fre_npy *f);
/** Was it read from a pipe?  No sidecar can lie beside one. */
FRE_API bool fre_npy_is_piped(const fre_npy *f);
FRE_API const fre_npy_meta *fre_npy_meta_view(const fre_npy *f);
FRE_API void fre_npy_get_about(const fre_npy *f, fre_corpus_about *out);
/** Row i as dim floats into out.  FRE_E_DATA: a NaN or an infinity (names the row, 1-based). */
FRE_API FRE_MUST_CHECK fre_status fre_npy_row(const fre_npy *f, float *out, size_t i, fre_err *err);
/** Whether fre_npy_row would deliver row i. */
FRE_API bool fre_npy_row_is_usable(const fre_npy *f, size_t i);
/** What fre_npy_row says of a row that is not usable: FRE_E_DATA. */
FRE_API fre_status fre_npy_refuse_row(const fre_npy *f, size_t i, fre_err *err);
/** Pointer to row i when the file is aligned float32, else NULL (use fre_npy_row). */
FRE_API const float *fre_npy_row_view(const fre_npy *f, size_t i);
/** Tell the system that rows before i are not needed again (keeps resident memory small). */
FRE_API void fre_npy_release_before(const fre_npy *f, size_t i);
FRE_API void fre_npy_free(fre_npy *f);

/* ---- inputs of users: rows with a file that says whose they are, or texts with a field ------------ */

/** Of an open input, which is owned from here on.  user_file: NULL: a row is a user.  Options but the text
 * field are about user_file, if there is one.  FRE_E_USAGE also: a user field without user_file. */
FRE_API FRE_MUST_CHECK fre_status fre_npy_open_users(fre_npy **out, fre_input *in,
                                                     const fre_corpus_opts *opts,
                                                     const char *user_file, fre_err *err);
/** Whose rows they are; user_file NULL: *out stays as it is.  FRE_E_DATA also: another number of them. */
FRE_API FRE_MUST_CHECK fre_status fre_names_open_rows(fre_names **out, const fre_npy *rows,
                                                      const char *user_file,
                                                      const fre_corpus_opts *opts, fre_err *err);
/** Texts, likewise.  FRE_E_USAGE also: a user_file, for they have a field. */
FRE_API FRE_MUST_CHECK fre_status fre_corpus_open_users(fre_corpus **out, fre_input *in,
                                                        const fre_corpus_opts *opts,
                                                        const char *user_file, fre_err *err);

/** Streaming writer: the header (version 1.0, a multiple of 64 bytes) first, then the caller writes
 * the numbers, little-endian: float32 or int64. */
typedef enum fre_npy_dtype { FRE_NPY_F4, FRE_NPY_I8 } fre_npy_dtype;
/** dim 0: a 1-d array. */
FRE_API FRE_MUST_CHECK fre_status fre_npy_write_header(FILE *f, fre_npy_dtype t, size_t rows,
                                                       size_t dim, fre_err *err);
/** The sidecar's JSON text on f. */
FRE_API FRE_MUST_CHECK fre_status fre_npy_write_meta(FILE *f, const fre_npy_meta *m, size_t rows,
                                                     size_t dim, fre_err *err);

/* ---- JSON objects ---------------------------------------------------------------------------- */

typedef enum fre_json_kind {
    FRE_JSON_ABSENT = 0,
    FRE_JSON_STRING,
    FRE_JSON_NUMBER,
    FRE_JSON_BOOL,
    FRE_JSON_NULL,
    FRE_JSON_OBJECT,
    FRE_JSON_ARRAY,
} fre_json_kind;

/** One key to look for at the top level; the last of equal keys wins. */
typedef struct fre_json_want {
    const char *name;
    fre_json_kind kind;
    uint8_t *p; /**< the value: between the quotes for a string, the token otherwise */
    size_t n;
    bool escaped; /**< the string holds a backslash: fre_json_unescape before use */
} fre_json_want;

#define FRE_JSON_DEPTH_MAX 512u

/** Scan one object that fills p[0..n) but for white space (RFC 8259, all of it checked but UTF-8; numbers
 * of any size).  NULL on success; else a static reason and its offset in *at.  Changes no byte. */
FRE_API const char *fre_json_scan(uint8_t *p, size_t n, fre_json_want *want, size_t wants,
                                  size_t *at);
/** Told of a member: its key as it is written, the start of its value.  false: stop. */
typedef bool fre_json_member_fn(void *ctx, const uint8_t *key, size_t n, const uint8_t *value);
/** As fre_json_scan, telling fn of each member at the top level; what follows the object is left
 * alone.  *at: where the scan ended. */
FRE_API const char *fre_json_members(uint8_t *p, size_t n, fre_json_member_fn *fn, void *ctx,
                                     size_t *at);
/** One value of any kind at p; *at: where it ends. */
FRE_API const char *fre_json_value(uint8_t *p, size_t n, size_t *at);
/** A scanned key, its escapes decoded, is name. */
FRE_API bool fre_json_key_is(const uint8_t *key, size_t n, const char *name);
/** Decode the escapes of a scanned string in place; returns the new length.  U+0000 and lone
 * surrogates become U+FFFD and set *bad. */
FRE_API size_t fre_json_unescape(uint8_t *p, size_t n, bool *bad);

#ifdef __cplusplus
}
#endif
#endif /* FRE_CORPUS_H */
