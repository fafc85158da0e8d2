/* NumPy's .npy format, versions 1.0 to 3.0 (NumPy Enhancement Proposal 1 and the format page of
 * its manual): magic, version, header length, a Python dict literal, the array.  Mapped where it can
 * be, else kept in memory. */
#include "corpus_private.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "rows are read as they lie");

struct fre_npy {
    fre_input *input; /* owned; NULL: memory */
    char name[FRE_NAME_BYTES];
    const uint8_t *data; /* the first row */
    void *map;           /* NULL: not mapped */
    size_t map_bytes;
    uint8_t *kept; /* in place of the map: owned memory */
    size_t kept_bytes;
    fre_src_kind packed;
    size_t rows, dim;
    bool f8;
    bool numbers; /* one number a row; 1-d is welcome */
    bool has_meta;
    fre_npy_meta meta;
    atomic_size_t *released; /* bytes of the map let go of so far: a hint, not content */
};

static size_t item_bytes(const fre_npy *f)
{
    return f->f8 ? 8 : 4;
}

static fre_status refuse_dtype(const fre_npy *f, const char *descr, fre_err *err)
{
    const char *todo = "save it with numpy as float32: np.save(path, x.astype('<f4'))";

    if (descr[0] == '>' && descr[1] == 'f')
        return fre_fail(err, FRE_E_DATA, "%s: big-endian floats; %s", f->name, todo);
    if (strchr(descr, 'O'))
        return fre_fail(err, FRE_E_DATA, "%s: an array of Python objects; %s", f->name, todo);
    return fre_fail(err, FRE_E_DATA, "%s: elements of type %s, not float32 or float64; %s", f->name,
                    descr, todo);
}

/* One dimension stands for one number a row, where numbers are asked for. */
static fre_status use_shape(fre_npy *f, const npy_header *h, fre_err *err)
{
    uint64_t width = h->dims == 1 ? 1 : h->shape[1];

    if (h->dims != 2 && !(f->numbers && h->dims == 1))
        return fre_fail(err, FRE_E_DATA, "%s: an array of %zu dimension%s; %s", f->name, h->dims,
                        h->dims == 1 ? "" : "s",
                        f->numbers ? "one number a row is wanted"
                                   : "embeddings are 2-d: one row a text");
    if (f->numbers && width != 1)
        return fre_fail(err, FRE_E_DATA, "%s: rows of %llu numbers; one number a row is wanted",
                        f->name, (unsigned long long)width);
    if (h->fortran && width != 1)
        return fre_fail(err, FRE_E_DATA,
                        "%s: the array is in Fortran order; save np.ascontiguousarray(x)", f->name);
    if (width == 0 || width > NPY_DIM_MAX)
        return fre_fail(err, FRE_E_DATA, "%s: rows of %llu numbers; 1 to %u are supported", f->name,
                        (unsigned long long)width, NPY_DIM_MAX);
    f->dim = (size_t)width;
    return FRE_OK;
}

static fre_status use_header(fre_npy *f, const npy_header *h, size_t data_bytes, fre_err *err)
{
    size_t want = 0;
    fre_status st = FRE_OK;

    if (h->structured)
        return fre_fail(err, FRE_E_DATA, "%s: a structured array; save one 2-d array of float32",
                        f->name);
    if (strcmp(h->descr, "<f8") != 0 && strcmp(h->descr, "<f4") != 0)
        return refuse_dtype(f, h->descr, err);
    f->f8 = h->descr[2] == '8';
    st = use_shape(f, h, err);
    if (st)
        return st;
    if (h->shape[0] > SIZE_MAX / item_bytes(f) / f->dim)
        return fre_fail(err, FRE_E_DATA, "%s: the header names more rows than can exist", f->name);
    f->rows = (size_t)h->shape[0];
    want = f->rows * f->dim * item_bytes(f);
    if (want != data_bytes)
        return fre_fail(err, FRE_E_DATA,
                        "%s: the header says %zu rows of %zu numbers (%zu bytes), but %zu bytes "
                        "follow it; the file is cut off or damaged",
                        f->name, f->rows, f->dim, want, data_bytes);
    return FRE_OK;
}

static fre_status parse_file(fre_npy *f, const uint8_t *p, size_t n, fre_err *err)
{
    npy_header h;
    size_t len = 0, pre = 0;
    const char *why = NULL;

    if (n < 10 || memcmp(p, "\x93NUMPY", 6) != 0)
        return fre_fail(err, FRE_E_DATA,
                        "%s: is not a .npy file; write one with fre-e2t embed or numpy.save",
                        f->name);
    if (p[6] < 1 || p[6] > 3)
        return fre_fail(err, FRE_E_DATA, "%s: .npy version %u.%u; 1.0 to 3.0 are supported",
                        f->name, p[6], p[7]);
    pre = p[6] == 1 ? 10 : 12;
    len = (size_t)p[8] | (size_t)p[9] << 8;
    if (pre == 12 && n >= 12)
        len |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    if (n < pre || len > n - pre)
        return fre_fail(err, FRE_E_DATA, "%s: the header is cut off; get the file again", f->name);
    why = npy_header_parse(&h, p + pre, len);
    if (why)
        return fre_fail(err, FRE_E_DATA, "%s: the .npy header is damaged: %s", f->name, why);
    f->data = p + pre + len;
    return use_header(f, &h, n - pre - len, err);
}

static fre_status npy_alloc(fre_npy **out, const char *path, fre_err *err)
{
    fre_npy *f = calloc(1, sizeof *f);

    if (f)
        f->released = calloc(1, sizeof *f->released);
    if (!f || !f->released) {
        free(f);
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    }
    fre_src_display_name(f->name, path);
    *out = f;
    return FRE_OK;
}

static fre_status map_file(fre_npy *f, int fd, size_t bytes, fre_err *err)
{
    f->map = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (f->map == MAP_FAILED) {
        f->map = NULL;
        return fre_fail(err, FRE_E_IO, "%s: cannot be mapped: %s", f->name, strerror(errno));
    }
    f->map_bytes = bytes;
    return FRE_OK;
}

/* What cannot be mapped: a pipe, or compressed bytes. */
static fre_status read_whole(fre_npy *f, fre_src *src, fre_err *err)
{
    size_t cap = FRE_SRC_CHUNK, got = 1;
    fre_status st = FRE_OK;

    f->kept = malloc(cap);
    while (f->kept && got > 0) {
        if (f->kept_bytes == cap) {
            uint8_t *p = realloc(f->kept, 2 * cap);

            if (!p)
                break;
            f->kept = p;
            cap *= 2;
        }
        st = fre_src_read(src, f->kept + f->kept_bytes, cap - f->kept_bytes, &got, err);
        if (st)
            return st;
        f->kept_bytes += got;
    }
    return got == 0
               ? FRE_OK
               : fre_fail(err, FRE_E_NOMEM,
                          "%s: out of memory; only an uncompressed file is read in parts", f->name);
}

static fre_status load(fre_npy *f, fre_input *in, fre_err *err)
{
    fre_src *src = &in->src;
    const bool mapped = src->is_file && src->kind == FRE_SRC_PLAIN;
    fre_status st = FRE_OK;

    if (src->head.n == 0)
        return fre_fail(err, FRE_E_NOINPUT, "%s: is empty", f->name);
    st = mapped ? map_file(f, src->fd, (size_t)src->bytes_all, err) : read_whole(f, src, err);
    if (st == FRE_OK)
        st = mapped ? parse_file(f, f->map, f->map_bytes, err)
                    : parse_file(f, f->kept, f->kept_bytes, err);
    return st;
}

static fre_status open_input(fre_npy **out, fre_input *in, bool numbers, fre_err *err)
{
    fre_npy *f = NULL;
    fre_status st = npy_alloc(&f, in->path, err);

    if (st == FRE_OK) {
        f->numbers = numbers;
        f->packed = in->src.kind;
        (void)memcpy(f->name, in->src.name, sizeof f->name);
        st = load(f, in, err);
    }
    if (st == FRE_OK && !numbers)
        st = npy_sidecar_read(&f->meta, &f->has_meta, in->path, f->name, f->rows, f->dim, err);
    if (f)
        f->input = in;
    else
        fre_input_free(in);
    if (st == FRE_OK)
        *out = f;
    else
        fre_npy_free(f);
    return st;
}

fre_status fre_npy_sha256(uint8_t out[FRE_HASH_BYTES], bool *known, const fre_npy *f,
                          fre_bytes salt, fre_err *err)
{
    *known = f->input && f->input->src.is_file;
    return *known ? fre_input_sha256(out, f->input, salt, err) : FRE_OK;
}

fre_status fre_npy_check(const fre_npy *f, fre_err *err)
{
    return f->input ? fre_src_check(&f->input->src, err) : FRE_OK;
}

/* What is asked of texts and says nothing of numbers. */
static const char *of_texts(const fre_corpus_opts *o)
{
    return o->text_field                  ? "text_field"
           : o->user_field                ? "user_field"
           : o->label_field               ? "label_field"
           : o->delimiter                 ? "delimiter"
           : o->encoding                  ? "encoding"
           : o->na_values                 ? "na_values"
           : o->format != FRE_CORPUS_AUTO ? "format"
                                          : NULL;
}

fre_status fre_npy_open_input(fre_npy **out, fre_input *in, const fre_corpus_opts *opts,
                              fre_err *err)
{
    const char *flag = opts ? of_texts(opts) : NULL;
    fre_status st;

    if (!flag)
        return open_input(out, in, false, err);
    st = fre_fail(err, FRE_E_USAGE,
                  "%s: {%s} says nothing of a .npy file, which has rows of numbers and no fields: "
                  "leave it out",
                  in->src.name, flag);
    fre_input_free(in);
    return st;
}

fre_status fre_npy_open(fre_npy **out, const char *path, fre_err *err)
{
    fre_input *in = NULL;
    fre_status st = fre_input_open(&in, path, false, err);

    return st == FRE_OK ? open_input(out, in, false, err) : st;
}

fre_status fre_npy_open_numbers(fre_npy **out, const char *path, fre_err *err)
{
    fre_input *in = NULL;
    fre_status st = fre_input_open(&in, path, false, err);

    return st == FRE_OK ? open_input(out, in, true, err) : st;
}

fre_status fre_npy_open_memory(fre_npy **out, fre_bytes data, fre_err *err)
{
    fre_npy *f = NULL;
    fre_status st = npy_alloc(&f, "memory", err);

    if (st)
        return st;
    st = parse_file(f, data.p, data.n, err);
    if (st) {
        fre_npy_free(f);
        return st;
    }
    *out = f;
    return FRE_OK;
}

size_t fre_npy_rows(const fre_npy *f)
{
    return f->rows;
}

size_t fre_npy_dim(const fre_npy *f)
{
    return f->dim;
}

bool fre_npy_has_meta(const fre_npy *f)
{
    return f->has_meta;
}

bool fre_npy_is_piped(const fre_npy *f)
{
    return f->input && !f->input->src.is_file;
}

const fre_npy_meta *fre_npy_meta_view(const fre_npy *f)
{
    return &f->meta;
}

void fre_npy_get_about(const fre_npy *f, fre_corpus_about *out)
{
    static const char *const packed[] = {
        [FRE_SRC_PLAIN] = "none", [FRE_SRC_GZIP] = "gzip", [FRE_SRC_ZSTD] = "zstd"};

    (void)memset(out, 0, sizeof *out);
    out->format = "embeddings (.npy)";
    out->compression = packed[f->packed];
}

static double load8(const uint8_t *p)
{
    double v = 0;

    (void)memcpy(&v, p, sizeof v);
    return v;
}

/* Every number of the row is one that a float can hold. */
static bool row_ok(const fre_npy *f, const uint8_t *p)
{
    const uint64_t exponents = 0x7f8000007f800000u, one = 0x0080000000800000u;
    uint64_t two = 0, sum = 0;
    uint32_t last = 0;
    size_t j = 0;
    bool ok = true;

    if (f->f8) {
        for (j = 0; j < f->dim; j++) /* the comparison is false for NaN */
            ok &= fabs(load8(p + 8 * j)) <= (double)FLT_MAX;
        return ok;
    }
    /* Two floats at a time: an exponent of all ones (IEEE 754: an infinity or a NaN), plus one,
     * carries into the place of its sign and no further. */
    for (; j + 2 <= f->dim; j += 2) {
        (void)memcpy(&two, p + 4 * j, sizeof two);
        sum |= (two & exponents) + one;
    }
    if (j < f->dim) {
        (void)memcpy(&last, p + 4 * j, sizeof last);
        sum |= (last & exponents) + one;
    }
    return (sum & 0x8000000080000000u) == 0;
}

fre_status fre_npy_refuse_row(const fre_npy *f, size_t i, fre_err *err)
{
    return fre_fail(err, FRE_E_DATA,
                    "%s: row %zu holds a NaN, an infinity or a number too large for float32; "
                    "remove the row or embed its text again",
                    f->name, i + 1);
}

fre_status fre_npy_row(const fre_npy *f, float *out, size_t i, fre_err *err)
{
    const uint8_t *p = NULL;

    if (i >= f->rows)
        return fre_fail(err, FRE_E_ARG, "%s: row %zu of %zu", f->name, i + 1, f->rows);
    p = f->data + i * f->dim * item_bytes(f);
    if (!row_ok(f, p))
        return fre_npy_refuse_row(f, i, err);
    if (!f->f8)
        (void)memcpy(out, p, f->dim * sizeof *out);
    for (size_t j = 0; f->f8 && j < f->dim; j++)
        out[j] = (float)load8(p + 8 * j);
    return FRE_OK;
}

bool fre_npy_row_is_usable(const fre_npy *f, size_t i)
{
    return i < f->rows && row_ok(f, f->data + i * f->dim * item_bytes(f));
}

const float *fre_npy_row_view(const fre_npy *f, size_t i)
{
    const void *p = NULL;

    if (f->f8 || i >= f->rows || (uintptr_t)f->data % _Alignof(float) != 0)
        return NULL;
    p = f->data + i * f->dim * sizeof(float);
    return p;
}

void fre_npy_release_before(const fre_npy *f, size_t i)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), from = 0, to = 0;

    if (!f->map)
        return;
    if (i > f->rows)
        i = f->rows;
    to = (size_t)(f->data - (const uint8_t *)f->map) + i * f->dim * item_bytes(f);
    to -= to % page;
    from = atomic_exchange(f->released, to);
    if (from >= to) /* a pass that started again */
        from = 0;
    /* A private mapping that was never written: the pages come back from the file when read. */
    if (to > from)
        (void)madvise((uint8_t *)f->map + from, to - from, MADV_DONTNEED);
}

void fre_npy_free(fre_npy *f)
{
    if (!f)
        return;
    if (f->map)
        (void)munmap(f->map, f->map_bytes);
    if (f->kept)
        fre_wipe(f->kept, f->kept_bytes);
    free(f->kept);
    fre_input_free(f->input);
    free(f->released);
    free(f);
}

fre_status fre_npy_write_header(FILE *f, fre_npy_dtype t, size_t rows, size_t dim, fre_err *err)
{
    char dict[128], shape[64];
    uint8_t pre[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 0, 0};
    int n = 0;
    size_t total = 0;

    if (dim)
        (void)snprintf(shape, sizeof shape, "(%zu, %zu)", rows, dim);
    else
        (void)snprintf(shape, sizeof shape, "(%zu,)", rows);
    n = snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                 t == FRE_NPY_F4 ? "<f4" : "<i8", shape);
    /* Spaces and a newline bring the array to a multiple of 64 bytes. */
    total = (sizeof pre + (size_t)n + 1 + 63) / 64 * 64;
    pre[8] = (uint8_t)((total - sizeof pre) & 0xff);
    pre[9] = (uint8_t)((total - sizeof pre) >> 8);
    if (fwrite(pre, 1, sizeof pre, f) != sizeof pre ||
        fprintf(f, "%-*s\n", (int)(total - sizeof pre - 1), dict) < 0)
        return fre_fail(err, FRE_E_IO, "the .npy header cannot be written: %s", strerror(errno));
    return FRE_OK;
}
