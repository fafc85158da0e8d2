/* See gguf_file.h.  Every length is checked against the bytes that are left in the file before
 * anything is allocated or skipped, so a header can neither ask for more memory than the file is
 * long nor send the reader past its end. */
#include "gguf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ggml.h>

#define GGUF_ALIGNMENT_DEFAULT 32u
#define GGUF_ALIGNMENT_MAX 65536u
/* Smallest encodings: a pair is a key length, a type and a byte; a tensor a name length, a
 * dimension count, one dimension, a type and an offset.  They bound the counts by the file size. */
#define PAIR_BYTES_MIN 13u
#define TENSOR_BYTES_MIN 32u
/* More than any architecture has; keeps the quadratic search for duplicates cheap. */
#define PAIRS_MAX 4096u
#define TENSORS_MAX 16384u

typedef struct reader {
    FILE *f;
    uint64_t left; /* bytes of the file not yet read */
    const char *path;
    fre_err *err;
} reader;

static fre_status cut_short(const reader *r)
{
    return fre_fail(r->err, FRE_E_MODEL,
                    "%s is not a usable model: its header is damaged or cut short; fetch the "
                    "file again and compare its SHA-256",
                    r->path);
}

static fre_status damaged(const reader *r, const char *what)
{
    return fre_fail(r->err, FRE_E_MODEL,
                    "%s is not a usable model: %s; fetch the file again and compare its SHA-256",
                    r->path, what);
}

static fre_status read_bytes(reader *r, void *out, size_t n)
{
    if (n > r->left || fread(out, 1, n, r->f) != n)
        return cut_short(r);
    r->left -= n;
    return FRE_OK;
}

static fre_status skip(reader *r, uint64_t n)
{
    uint8_t sink[4096];

    if (n > r->left)
        return cut_short(r);
    while (n > 0) {
        size_t part = n < sizeof sink ? (size_t)n : sizeof sink;
        fre_status st = read_bytes(r, sink, part);

        if (st != FRE_OK)
            return st;
        n -= part;
    }
    return FRE_OK;
}

static fre_status read_u32(reader *r, uint32_t *out)
{
    uint8_t b[4];
    fre_status st = read_bytes(r, b, sizeof b);

    if (st == FRE_OK)
        *out = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    return st;
}

static fre_status read_u64(reader *r, uint64_t *out)
{
    uint32_t lo = 0, hi = 0;
    fre_status st = read_u32(r, &lo);

    if (st == FRE_OK)
        st = read_u32(r, &hi);
    if (st == FRE_OK)
        *out = (uint64_t)hi << 32 | lo;
    return st;
}

/* Length-prefixed string of at most n - 1 bytes; a NUL inside would let two names look equal. */
static fre_status read_name(reader *r, char *out, size_t n, const char *what)
{
    uint64_t len = 0;
    fre_status st = read_u64(r, &len);

    if (st != FRE_OK)
        return st;
    if (len == 0 || len >= n)
        return damaged(r, what);
    st = read_bytes(r, out, (size_t)len);
    if (st != FRE_OK)
        return st;
    out[len] = '\0';
    return strlen(out) == len ? FRE_OK : damaged(r, what);
}

static size_t scalar_bytes(uint32_t type)
{
    switch ((fre_gguf_type)type) {
    case FRE_GGUF_U8:
    case FRE_GGUF_I8:
    case FRE_GGUF_BOOL:
        return 1;
    case FRE_GGUF_U16:
    case FRE_GGUF_I16:
        return 2;
    case FRE_GGUF_U32:
    case FRE_GGUF_I32:
    case FRE_GGUF_F32:
        return 4;
    case FRE_GGUF_U64:
    case FRE_GGUF_I64:
    case FRE_GGUF_F64:
        return 8;
    case FRE_GGUF_STRING:
    case FRE_GGUF_ARRAY:
        break;
    }
    return 0;
}

static fre_status read_text(reader *r, fre_gguf_pair *p)
{
    size_t keep;
    fre_status st = read_u64(r, &p->count);

    if (st != FRE_OK)
        return st;
    if (p->count > r->left)
        return cut_short(r);
    keep = p->count < sizeof p->text ? (size_t)p->count : sizeof p->text - 1;
    st = read_bytes(r, p->text, keep);
    if (st != FRE_OK)
        return st;
    p->text[keep] = '\0';
    return skip(r, p->count - keep);
}

/* Which of the values 0..62 an array of int32 holds; bit 63: any other value. */
static fre_status read_small_ints(reader *r, fre_gguf_pair *p)
{
    for (uint64_t i = 0; i < p->count; i++) {
        uint32_t v = 0;
        fre_status st = read_u32(r, &v);

        if (st != FRE_OK)
            return st;
        p->bits |= UINT64_C(1) << (v < 63 ? v : 63);
    }
    return FRE_OK;
}

/* FNV-1a of a string up to its first NUL, where llama.cpp ends it; 0 stays for the empty one. */
static fre_status read_hash(reader *r, uint64_t *out)
{
    uint64_t len = 0, h = UINT64_C(0xcbf29ce484222325);
    bool ended = false;
    fre_status st = read_u64(r, &len);

    *out = 0;
    if (st == FRE_OK && len > r->left)
        return cut_short(r);
    while (st == FRE_OK && len > 0) {
        uint8_t part[256];
        size_t n = len < sizeof part ? (size_t)len : sizeof part;

        st = read_bytes(r, part, n);
        for (size_t i = 0; st == FRE_OK && i < n && !ended; i++) {
            ended = part[i] == 0;
            if (!ended)
                *out = h = (h ^ part[i]) * UINT64_C(0x100000001b3);
        }
        len -= n;
    }
    return st;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Strings of an array; bits: 1 if two that are not empty are equal (or, once in 2^60, look so). */
static fre_status read_strings(reader *r, fre_gguf_pair *p)
{
    uint64_t *hash = NULL;
    fre_status st = FRE_OK;

    if (p->count > r->left / 8)
        return cut_short(r);
    hash = malloc(((size_t)p->count + 1) * sizeof *hash);
    if (!hash)
        return fre_fail(r->err, FRE_E_NOMEM, "out of memory reading the header of %s", r->path);
    for (uint64_t i = 0; i < p->count && st == FRE_OK; i++)
        st = read_hash(r, &hash[i]);
    if (st == FRE_OK) {
        qsort(hash, (size_t)p->count, sizeof *hash, by_value);
        for (uint64_t i = 1; i < p->count; i++)
            p->bits |= hash[i] != 0 && hash[i] == hash[i - 1];
    }
    free(hash);
    return st;
}

static fre_status read_array(reader *r, fre_gguf_pair *p)
{
    size_t width;
    fre_status st = read_u32(r, &p->item_type);

    if (st == FRE_OK)
        st = read_u64(r, &p->count);
    if (st != FRE_OK)
        return st;
    if (p->item_type == FRE_GGUF_STRING)
        return read_strings(r, p);
    width = scalar_bytes(p->item_type);
    if (width == 0)
        return damaged(r, "its metadata hold an array of an unknown type");
    if (p->count > r->left / width)
        return cut_short(r);
    return p->item_type == FRE_GGUF_I32 ? read_small_ints(r, p) : skip(r, p->count * width);
}

static fre_status read_scalar(reader *r, fre_gguf_pair *p)
{
    uint8_t b[8] = {0};
    size_t width = scalar_bytes(p->type);
    bool is_signed = p->type == FRE_GGUF_I8 || p->type == FRE_GGUF_I16 || p->type == FRE_GGUF_I32 ||
                     p->type == FRE_GGUF_I64;
    fre_status st;

    if (width == 0)
        return damaged(r, "its metadata hold a value of an unknown type");
    st = read_bytes(r, b, width);
    if (st != FRE_OK)
        return st;
    p->bits = 0;
    for (size_t i = 0; i < width; i++)
        p->bits |= (uint64_t)b[i] << (8 * i);
    if (is_signed && width < 8 && (b[width - 1] & 0x80u) != 0)
        p->bits |= ~UINT64_C(0) << (8 * width);
    if (p->type == FRE_GGUF_BOOL && p->bits > 1)
        return damaged(r, "its metadata hold a truth value that is neither 0 nor 1");
    return FRE_OK;
}

static fre_status read_pair(reader *r, fre_gguf_file *g, size_t i)
{
    fre_gguf_pair *p = &g->pair[i];
    fre_status st = read_name(r, p->key, sizeof p->key, "a key of its metadata is malformed");

    if (st == FRE_OK)
        st = read_u32(r, &p->type);
    if (st != FRE_OK)
        return st;
    for (size_t j = 0; j < i; j++)
        if (strcmp(g->pair[j].key, p->key) == 0)
            return damaged(r, "a key of its metadata appears twice");
    if (p->type == FRE_GGUF_STRING)
        return read_text(r, p);
    if (p->type == FRE_GGUF_ARRAY)
        return read_array(r, p);
    return read_scalar(r, p);
}

/* Bytes of the data of t into t->bytes; false: unknown type, a row that is not whole blocks, or
 * a product beyond 2^62. */
static bool tensor_size(fre_gguf_tensor *t)
{
    uint64_t items = 1, row;
    enum ggml_type type;
    int64_t block;
    size_t width;

    if (t->type >= (uint32_t)GGML_TYPE_COUNT)
        return false;
    type = (enum ggml_type)t->type;
    block = ggml_blck_size(type);
    width = ggml_type_size(type);
    if (block <= 0 || width == 0) /* numbers of types that ggml has dropped */
        return false;
    row = t->dim[0];
    if (row % (uint64_t)block != 0)
        return false;
    for (uint32_t d = 0; d < 4; d++) {
        if (t->dim[d] == 0 || t->dim[d] > (UINT64_C(1) << 40) / items)
            return false;
        items *= t->dim[d];
    }
    t->bytes = items / (uint64_t)block * width;
    return true;
}

static fre_status read_tensor(reader *r, fre_gguf_file *g, size_t i)
{
    fre_gguf_tensor *t = &g->tensor[i];
    fre_status st = read_name(r, t->name, sizeof t->name, "the name of a tensor is malformed");

    if (st == FRE_OK)
        st = read_u32(r, &t->n_dims);
    if (st != FRE_OK)
        return st;
    for (size_t j = 0; j < i; j++)
        if (strcmp(g->tensor[j].name, t->name) == 0)
            return damaged(r, "the name of a tensor appears twice");
    if (t->n_dims == 0 || t->n_dims > 4)
        return damaged(r, "a tensor has no dimensions or more than four");
    for (uint32_t d = 0; d < 4; d++) {
        t->dim[d] = 1;
        if (d < t->n_dims)
            st = read_u64(r, &t->dim[d]);
        if (st != FRE_OK)
            return st;
    }
    st = read_u32(r, &t->type);
    if (st == FRE_OK)
        st = read_u64(r, &t->offset);
    if (st != FRE_OK)
        return st;
    return tensor_size(t) ? FRE_OK : damaged(r, "a tensor has an unknown type or a wrong shape");
}

/* ggml demands tensors back to back in the order of the header, each padded to the alignment. */
static fre_status check_extents(const reader *r, fre_gguf_file *g, uint64_t header_bytes)
{
    uint64_t align = GGUF_ALIGNMENT_DEFAULT, next = 0, end = 0;
    const fre_gguf_pair *p = fre_gguf_find(g, "general.alignment");

    if (p) {
        align = p->bits;
        if (p->type != FRE_GGUF_U32 || align == 0 || align > GGUF_ALIGNMENT_MAX ||
            (align & (align - 1)) != 0)
            return damaged(r, "the alignment in its metadata is not a power of two");
    }
    g->data_start = (header_bytes + align - 1) / align * align;
    for (size_t i = 0; i < g->n_tensors; i++) {
        const fre_gguf_tensor *t = &g->tensor[i];

        if (t->offset != next)
            return damaged(r, "a tensor does not start where the one before it ends");
        end = next + t->bytes;
        next = (end + align - 1) / align * align;
        if (next > UINT64_C(1) << 60)
            return damaged(r, "its tensors are larger than any file");
    }
    if (g->file_bytes < g->data_start || g->file_bytes - g->data_start < end)
        return fre_fail(r->err, FRE_E_MODEL,
                        "%s is cut short: its tensors need %llu bytes and the file has %llu; "
                        "fetch it again",
                        r->path, (unsigned long long)(g->data_start + end),
                        (unsigned long long)g->file_bytes);
    return FRE_OK;
}

static fre_status read_counts(reader *r, uint64_t *tensors, uint64_t *pairs)
{
    uint8_t magic[4];
    uint32_t version = 0;
    fre_status st;

    if (r->left == 0)
        return fre_fail(r->err, FRE_E_MODEL, "%s is empty: a GGUF model file is needed", r->path);
    if (r->left < sizeof magic || fread(magic, 1, sizeof magic, r->f) != sizeof magic ||
        memcmp(magic, "GGUF", sizeof magic) != 0)
        return fre_fail(r->err, FRE_E_MODEL, "%s is not a GGUF model file", r->path);
    r->left -= sizeof magic;
    st = read_u32(r, &version);
    if (st != FRE_OK)
        return st;
    if (version < 2 || version > 3)
        return fre_fail(r->err, FRE_E_MODEL,
                        "%s has GGUF version %u: versions 2 and 3 are understood; convert the "
                        "model again",
                        r->path, version);
    st = read_u64(r, tensors);
    if (st == FRE_OK)
        st = read_u64(r, pairs);
    if (st != FRE_OK)
        return st;
    if (*tensors > TENSORS_MAX || *pairs > PAIRS_MAX || *tensors > r->left / TENSOR_BYTES_MIN ||
        *pairs > r->left / PAIR_BYTES_MIN)
        return damaged(r, "its header promises more entries than the file can hold");
    return FRE_OK;
}

static fre_status read_all(reader *r, fre_gguf_file *g)
{
    uint64_t tensors = 0, pairs = 0;
    fre_status st = read_counts(r, &tensors, &pairs);

    if (st != FRE_OK)
        return st;
    g->pair = calloc((size_t)pairs + 1, sizeof *g->pair);
    g->tensor = calloc((size_t)tensors + 1, sizeof *g->tensor);
    if (!g->pair || !g->tensor)
        return fre_fail(r->err, FRE_E_NOMEM, "out of memory reading the header of %s", r->path);
    for (; g->n_pairs < pairs; g->n_pairs++) {
        st = read_pair(r, g, g->n_pairs);
        if (st != FRE_OK)
            return st;
    }
    for (; g->n_tensors < tensors; g->n_tensors++) {
        st = read_tensor(r, g, g->n_tensors);
        if (st != FRE_OK)
            return st;
    }
    return check_extents(r, g, g->file_bytes - r->left);
}

fre_status fre_gguf_read(fre_gguf_file *out, const char *path, fre_err *err)
{
    fre_gguf_file g = {0};
    struct stat info;
    reader r = {NULL, 0, path, err};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* no wait for a pipe's writer */
    fre_status st = FRE_OK;

    r.f = fd >= 0 ? fdopen(fd, "rb") : NULL;
    if (!r.f || fstat(fileno(r.f), &info) != 0) {
        st = fre_open_failed(err, errno, FRE_E_NOINPUT, FRE_CHECK_PATH, "cannot open the model %s",
                             path);
        if (!r.f && fd >= 0)
            (void)close(fd);
        goto out;
    }
    if (!S_ISREG(info.st_mode)) {
        st = fre_fail(err, FRE_E_NOINPUT, "the model %s is not a regular file", path);
        goto out;
    }
    r.left = g.file_bytes = (uint64_t)info.st_size;
    st = read_all(&r, &g);
    if (st == FRE_OK) {
        *out = g;
        g = (fre_gguf_file){0};
    }
out:
    fre_gguf_wipe(&g);
    if (r.f)
        (void)fclose(r.f); /* read only: nothing can be lost */
    return st;
}

void fre_gguf_wipe(fre_gguf_file *g)
{
    free(g->pair);
    free(g->tensor);
    *g = (fre_gguf_file){0};
}

const fre_gguf_pair *fre_gguf_find(const fre_gguf_file *g, const char *key)
{
    for (size_t i = 0; i < g->n_pairs; i++)
        if (strcmp(g->pair[i].key, key) == 0)
            return &g->pair[i];
    return NULL;
}

const fre_gguf_tensor *fre_gguf_find_tensor(const fre_gguf_file *g, const char *name)
{
    for (size_t i = 0; i < g->n_tensors; i++)
        if (strcmp(g->tensor[i].name, name) == 0)
            return &g->tensor[i];
    return NULL;
}

bool fre_gguf_uint(const fre_gguf_file *g, uint64_t *out, const char *key)
{
    const fre_gguf_pair *p = fre_gguf_find(g, key);

    if (!p || scalar_bytes(p->type) == 0 || p->type == FRE_GGUF_F32 || p->type == FRE_GGUF_F64 ||
        p->type == FRE_GGUF_BOOL)
        return false;
    if (p->type != FRE_GGUF_U64 && (int64_t)p->bits < 0)
        return false;
    *out = p->bits;
    return true;
}

const char *fre_gguf_text(const fre_gguf_file *g, const char *key)
{
    const fre_gguf_pair *p = fre_gguf_find(g, key);

    return p && p->type == FRE_GGUF_STRING ? p->text : "";
}
