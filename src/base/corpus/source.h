/* source.h - the bytes of an input: opened once, decompressed as they are read, hashed on the way.
 * source_bytes.c has them as they are stored, unpack.c decompressed, source.c opens, looks at the first
 * bytes and reads; rest.c judges what follows the first line. */
#ifndef FRE_CORPUS_SOURCE_H
#define FRE_CORPUS_SOURCE_H

#include <fre/corpus.h>

#include <zlib.h>
#include <zstd.h>

#define FRE_SRC_CHUNK (256u << 10)
#define FRE_SRC_HEAD 16u
#define FRE_NAME_BYTES 128u
#define FRE_SNIFF_BYTES (64u << 10)

typedef enum fre_src_kind { FRE_SRC_PLAIN, FRE_SRC_GZIP, FRE_SRC_ZSTD } fre_src_kind;

typedef struct fre_src {
    char name[FRE_NAME_BYTES]; /* for messages: printable, shortened at the front */
    int fd;                    /* -1: memory */
    bool own_fd, is_file;      /* is_file: a regular file from its start on */
    fre_bytes mem;
    uint8_t *kept; /* NULL, or the memory that mem is, owned */
    size_t kept_bytes;
    fre_buf head; /* decompressed bytes to be read first, from head_at on */
    size_t head_at;
    bool rest_is_text; /* the lines after the first can be used as they are: looked at where
                          the first bytes are those of an array or a byte order mark */
    uint8_t *in;       /* the next bytes of the file: in[pos..len) */
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
/* From the first byte again, on the same descriptor; what is read from here on is hashed after the
 * salt.  FRE_E_STATE: it can be read only once; FRE_E_AGAIN: it is no longer what was opened. */
FRE_MUST_CHECK fre_status fre_src_rewind(fre_src *s, const uint8_t salt[FRE_HASH_BYTES],
                                         fre_err *err);
/* At the end of a hashed pass.  FRE_E_AGAIN: the pass before had other bytes. */
FRE_MUST_CHECK fre_status fre_src_finish(fre_src *s, fre_err *err);
/* FRE_E_AGAIN: by its size or the time of its last change the file is no longer what was opened. */
FRE_MUST_CHECK fre_status fre_src_check(const fre_src *s, fre_err *err);
/* Up to cap bytes (cap >= 1) into out; *got is 0 at the end only. */
FRE_MUST_CHECK fre_status fre_src_read(fre_src *s, uint8_t *out, size_t cap, size_t *got,
                                       fre_err *err);
/* Whether it begins like a .npy file. */
bool fre_src_is_array(const fre_src *s);
/* Bytes of the file that were given out; those read ahead do not count. */
uint64_t fre_src_used(const fre_src *s);
void fre_src_close(fre_src *s);

/* ---- as they are stored: source_bytes.c ------------------------------------------------------- */

/* Printable form of a path that fits a message. */
void fre_src_display_name(char out[FRE_NAME_BYTES], const char *path);
/* Length of a path without the ending of a compressed file. */
size_t fre_unpacked_length(const char *path);
/* Append to in[pos..len) what the file gives next; sets eof. */
FRE_MUST_CHECK fre_status fre_src_fill(fre_src *s, fre_err *err);
/* At least n bytes in in[pos..len), n <= chunk, or all that there are. */
FRE_MUST_CHECK fre_status fre_src_need(fre_src *s, size_t n, fre_err *err);

/* ---- decompressed: unpack.c -------------------------------------------------------------------- */

/* in[pos..len) begins like gzip or zstd. */
bool fre_is_packed(const fre_src *s);
/* Choose the reader by what in[] begins with, and prepare it; end releases it. */
FRE_MUST_CHECK fre_status fre_unpack_begin(fre_src *s, fre_err *err);
void fre_unpack_end(fre_src *s);
/* The next bytes, after those that were looked at before; *got is 0 at the end only. */
FRE_MUST_CHECK fre_status fre_unpack_read(fre_src *s, uint8_t *out, size_t cap, size_t *got,
                                          fre_err *err);
/* Can in[], which holds all of the file, be decompressed?  To its end; or, without to_its_end, to anything
 * at all, or until it is cut off or lacks its dictionary. */
FRE_MUST_CHECK fre_status fre_unpack_try(fre_src *s, bool to_its_end, bool *can, fre_err *err);

/* ---- the lines after the first: rest.c -------------------------------------------------- */

typedef enum fre_rest_kind {
    FRE_REST_DATA,    /* nothing, or no text */
    FRE_REST_TEXT,    /* text in an encoding that is not UTF-8, as it seems */
    FRE_REST_FEW,     /* either: too few lines to tell */
    FRE_REST_RECORDS, /* at least half are valid UTF-8 without NUL: they can be used as they are */
} fre_rest_kind;

/* p[0..n) is the start of the file; all: the whole file. */
fre_rest_kind fre_rest_judge(const uint8_t *p, size_t n, bool all);
/* At least half are valid UTF-8 without NUL, however few they are. */
bool fre_rest_is_usable(const uint8_t *p, size_t n, bool all);
/* Valid UTF-8 without control characters. */
bool fre_is_plain_text(const uint8_t *p, size_t n);
/* What iconv calls the encoding of the byte order mark at p, but for UTF-8's; NULL: there is none. */
const char *fre_byte_order_mark(const uint8_t *p, size_t n);
/* p[0..n) is enough for both to judge by. */
bool fre_rest_in_view(const uint8_t *p, size_t n);

#endif /* FRE_CORPUS_SOURCE_H */
