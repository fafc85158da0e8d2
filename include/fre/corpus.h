/** fre/corpus.h - files of texts and of embeddings.
 *
 * Texts: .txt (a line a text), .jsonl/.ndjson, .csv, .tsv, each also .gz or .zst (by content),
 * or "-" for standard input (format given, or guessed from the first bytes).  Streaming: memory
 * is bounded by the longest record.  A line is one record whatever ends it (LF, CRLF, end of
 * file); a UTF-8 byte order mark at the start is dropped; a CSV or TSV record may span lines inside
 * quotes (RFC 4180).  Texts, users and labels are trimmed of surrounding Unicode White_Space; texts
 * left empty are counted and skipped, an empty user is an error.  "NA" and "null" are texts.
 * Errors name the line (the first line of the record) and never quote the text.  docs/formats.md
 * has every rule.  Threads: one thread at a time a reader.
 * Embeddings: NumPy .npy version 1.0-3.0, float32 or float64, C order, 2-d, little-endian,
 * memory-mapped, with a sidecar x.npy.json {embedder, sha256, dimension, normalised, rows}.
 */
#ifndef FRE_CORPUS_H
#define FRE_CORPUS_H

#include <fre/core.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_CORPUS_TEXT_MAX (64u << 20) /* bytes in one record */

typedef enum fre_corpus_format {
    FRE_CORPUS_AUTO = 0, /**< by the name's ending, else by content */
    FRE_CORPUS_TXT,
    FRE_CORPUS_JSONL,
    FRE_CORPUS_CSV,
    FRE_CORPUS_TSV,
} fre_corpus_format;

typedef enum fre_corpus_invalid {
    FRE_CORPUS_INVALID_FAIL = 0, /**< invalid UTF-8 or a NUL byte: FRE_E_DATA with its line */
    FRE_CORPUS_INVALID_SKIP,
    FRE_CORPUS_INVALID_REPLACE, /**< each maximal invalid sequence and each NUL becomes U+FFFD */
} fre_corpus_invalid; /* a JSON escape of U+0000 or of half a surrogate pair counts as invalid */

typedef struct fre_corpus_opts {
    fre_corpus_format format;
    fre_corpus_invalid invalid;
    const char *text_field;  /**< JSONL key or CSV/TSV column name; NULL: "text" */
    const char *user_field;  /**< NULL: none; its value as a string (a JSON number is accepted) */
    const char *label_field; /**< NULL: none; a JSON number, true and false are accepted */
} fre_corpus_opts;

/** One record; pointers are borrowed until the next call on the reader. */
typedef struct fre_record {
    const char *text; /**< valid UTF-8 without NUL, trimmed, NUL-terminated */
    size_t text_len;
    const char *user; /**< NULL where no user field was asked for */
    size_t user_len;
    const char *label;
    size_t label_len;
    uint64_t line; /**< 1-based line on which the record starts */
} fre_record;

typedef struct fre_corpus_stats {
    uint64_t records;  /**< delivered */
    uint64_t empty;    /**< skipped: nothing but white space */
    uint64_t invalid;  /**< skipped or repaired under opts.invalid */
    uint64_t bytes;    /**< of the file, up to the last record (compressed bytes for .gz, .zst, about) */
    uint64_t bytes_all; /**< size of the file; 0 when unknown */
} fre_corpus_stats;

typedef struct fre_corpus fre_corpus;

/** opts NULL: all defaults; copied.  FRE_E_NOINPUT: missing, unreadable, a folder, or nothing in it.
 * FRE_E_USAGE: a user or label field asked of a .txt file.  FRE_E_DATA: not text (UTF-16, an office
 * document, ...), damaged or cut-off compressed data, a CSV header without the field (the message
 * lists the columns it has).  FRE_E_IO, FRE_E_LIMIT, FRE_E_NOMEM, FRE_E_INTERRUPTED. */
FRE_API FRE_MUST_CHECK fre_status fre_corpus_open(fre_corpus **out, const char *path,
                                                  const fre_corpus_opts *opts, fre_err *err);
/** As above over bytes in memory (tests, fuzzing); `data` is kept until free. */
FRE_API FRE_MUST_CHECK fre_status fre_corpus_open_memory(fre_corpus **out, fre_bytes data,
                                                         const fre_corpus_opts *opts,
                                                         fre_err *err);
/** FRE_OK with *more true and *rec set, or *more false at the end.  FRE_E_DATA, FRE_E_IO,
 * FRE_E_LIMIT (a record above FRE_CORPUS_TEXT_MAX), FRE_E_INTERRUPTED (polled at each read of the
 * file), FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_corpus_next(fre_corpus *c, bool *more, fre_record *rec,
                                                  fre_err *err);
FRE_API void fre_corpus_get_stats(const fre_corpus *c, fre_corpus_stats *out);
/** Records in the whole file as the share of bytes read so far suggests; 0: no idea.  For progress. */
FRE_API uint64_t fre_corpus_expected(const fre_corpus_stats *s);
FRE_API void fre_corpus_free(fre_corpus *c);

/* ---- embeddings ---------------------------------------------------------------------------- */

typedef struct fre_npy_meta {
    char embedder[128]; /**< a name for people */
    char sha256[65];    /**< hex digest of the embedder's file; "" when there is no sidecar */
    bool normalised;
} fre_npy_meta;

typedef struct fre_npy fre_npy; /* immutable once open */

/** Map a .npy file and read its sidecar if there is one.  FRE_E_NOINPUT; FRE_E_DATA: not a .npy,
 * another dtype or order, a header that disagrees with the size, a sidecar that disagrees with
 * the header. */
FRE_API FRE_MUST_CHECK fre_status fre_npy_open(fre_npy **out, const char *path, fre_err *err);
/** The same for an array of one number a row: 1-d, or 2-d with rows of one.  No sidecar. */
FRE_API FRE_MUST_CHECK fre_status fre_npy_open_numbers(fre_npy **out, const char *path,
                                                       fre_err *err);
FRE_API FRE_MUST_CHECK fre_status fre_npy_open_memory(fre_npy **out, fre_bytes data,
                                                      fre_err *err);
FRE_API size_t fre_npy_rows(const fre_npy *f);
FRE_API size_t fre_npy_dim(const fre_npy *f);
FRE_API bool fre_npy_has_meta(const fre_npy *f);
FRE_API const fre_npy_meta *fre_npy_meta_view(const fre_npy *f);
/** Row i as dim floats into out.  FRE_E_DATA: a NaN or an infinity (names the row, 1-based). */
FRE_API FRE_MUST_CHECK fre_status fre_npy_row(const fre_npy *f, float *out, size_t i,
                                              fre_err *err);
/** Pointer to row i when the file is aligned float32, else NULL (use fre_npy_row). */
FRE_API const float *fre_npy_row_view(const fre_npy *f, size_t i);
/** Tell the system that rows before i are not needed again (keeps resident memory small). */
FRE_API void fre_npy_release_before(const fre_npy *f, size_t i);
FRE_API void fre_npy_free(fre_npy *f);

/** Streaming writer: the header (version 1.0, a multiple of 64 bytes) first, then the caller writes
 * the numbers, little-endian: float32 or int64. */
typedef enum fre_npy_dtype { FRE_NPY_F4, FRE_NPY_I8 } fre_npy_dtype;
/** dim 0: a 1-d array. */
FRE_API FRE_MUST_CHECK fre_status fre_npy_write_header(FILE *f, fre_npy_dtype t, size_t rows,
                                                       size_t dim, fre_err *err);
/** The sidecar's JSON text on f. */
FRE_API FRE_MUST_CHECK fre_status fre_npy_write_meta(FILE *f, const fre_npy_meta *m, size_t rows,
                                                     size_t dim, fre_err *err);

#ifdef __cplusplus
}
#endif
#endif /* FRE_CORPUS_H */
