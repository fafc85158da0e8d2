/* The header of a GGUF file, read and checked without llama.cpp, so that a damaged or hostile
 * file is one sentence and not an assertion of ggml.  Layout: the GGUF specification, versions 2
 * and 3, little-endian. */
#ifndef FRE_GGUF_FILE_H
#define FRE_GGUF_FILE_H

#include <fre/core.h>

#define FRE_GGUF_NAME_BYTES 64u  /* GGML_MAX_NAME, with the NUL */
#define FRE_GGUF_TEXT_BYTES 128u /* strings of the metadata are kept up to this length */

typedef enum fre_gguf_type {
    FRE_GGUF_U8 = 0,
    FRE_GGUF_I8 = 1,
    FRE_GGUF_U16 = 2,
    FRE_GGUF_I16 = 3,
    FRE_GGUF_U32 = 4,
    FRE_GGUF_I32 = 5,
    FRE_GGUF_F32 = 6,
    FRE_GGUF_BOOL = 7,
    FRE_GGUF_STRING = 8,
    FRE_GGUF_ARRAY = 9,
    FRE_GGUF_U64 = 10,
    FRE_GGUF_I64 = 11,
    FRE_GGUF_F64 = 12
} fre_gguf_type;

typedef struct fre_gguf_pair {
    char key[FRE_GGUF_TEXT_BYTES];
    uint32_t type;      /* fre_gguf_type */
    uint32_t item_type; /* of an array */
    uint64_t count;     /* items of an array, bytes of a string */
    uint64_t bits;      /* scalar, zero- or sign-extended; floats as their bits; an array of
                           int32: bit v is set if it holds v, bit 63 for any v above 62; an
                           array of strings: 1 if some appears twice */
    char text[FRE_GGUF_TEXT_BYTES];
} fre_gguf_pair;

typedef struct fre_gguf_tensor {
    char name[FRE_GGUF_NAME_BYTES];
    uint32_t n_dims;
    uint64_t dim[4]; /* 1 beyond n_dims */
    uint32_t type;   /* enum ggml_type */
    uint64_t offset; /* from the start of the data section */
    uint64_t bytes;
} fre_gguf_tensor;

typedef struct fre_gguf_file {
    fre_gguf_pair *pair;
    size_t n_pairs;
    fre_gguf_tensor *tensor;
    size_t n_tensors;
    uint64_t data_start, file_bytes;
} fre_gguf_file;

/* FRE_E_NOINPUT: cannot be opened or read, a folder; FRE_E_MODEL: not GGUF, damaged, cut short.
 * FRE_E_NOMEM.  out is zeroed storage of the caller; fre_gguf_wipe. */
FRE_MUST_CHECK fre_status fre_gguf_read(fre_gguf_file *out, const char *path, fre_err *err);
void fre_gguf_wipe(fre_gguf_file *g);

/* NULL when absent. */
const fre_gguf_pair *fre_gguf_find(const fre_gguf_file *g, const char *key);
const fre_gguf_tensor *fre_gguf_find_tensor(const fre_gguf_file *g, const char *name);
/* Unsigned value of any integer type that is >= 0; false when absent or of another type. */
bool fre_gguf_uint(const fre_gguf_file *g, uint64_t *out, const char *key);
/* "" when absent or not a string. */
const char *fre_gguf_text(const fre_gguf_file *g, const char *key);

#endif
