/* Weights of a GGUF file as floats in the order the kernels read them. */
#ifndef FRE_MODEL_WEIGHTS_H
#define FRE_MODEL_WEIGHTS_H

#include "gguf_file.h"
#include "kernels.h"

/* Reads tensors one after the other; after a failure later calls do nothing and `status` says
 * what went wrong first.  fre_loader_init / fre_loader_close. */
typedef struct fre_loader {
    const fre_gguf_file *g;
    const char *path;
    FILE *f;
    fre_err *err;
    fre_status status;
} fre_loader;

/* n outputs of k inputs: panel by panel of KERNEL_PANEL outputs, the weights of one input side
 * by side. */
typedef struct fre_product {
    float *packed, *bias;
    size_t n, k;
} fre_product;

/* The token table: rows as they lie in the file (quantised they are a quarter, and one a token
 * is read). */
typedef struct fre_table {
    void *raw;
    uint32_t type;
    size_t rows, cols;
} fre_table;

void fre_loader_init(fre_loader *l, const fre_gguf_file *g, const char *path, fre_err *err);
void fre_loader_close(fre_loader *l);
void fre_loader_no_memory(fre_loader *l);
/* Asked between layers: false after a failure, or an interruption, which is one. */
bool fre_loader_goes_on(fre_loader *l);

/* rows x cols floats, row-major (rows 1: a vector), for free(); NULL on failure. */
float *fre_load_plain(fre_loader *l, const char *name, size_t rows, size_t cols);
/* Room for a product; its bias is zero until loaded. */
void fre_load_product(fre_loader *l, fre_product *p, size_t n, size_t k);
/* Outputs [at, at + n) of p from tensor `name`. */
void fre_load_weights(fre_loader *l, fre_product *p, size_t at, const char *name, size_t n);
void fre_load_bias(fre_loader *l, fre_product *p, size_t at, const char *name, size_t n);
void fre_load_table(fre_loader *l, fre_table *t, const char *name, size_t rows, size_t cols);

void fre_product_wipe(fre_product *p);
void fre_table_wipe(fre_table *t);
void fre_table_row(const fre_table *t, float *out, size_t row);

/* "blk.LAYER.NAME" into key. */
void fre_layer_key(char key[FRE_GGUF_NAME_BYTES], size_t layer, const char *name);
/* Positive number PREFIX.NAME of the metadata, at most max and a multiple of step; else 0. */
size_t fre_gguf_number(const fre_gguf_file *g, const char *prefix, const char *name, size_t max,
                       size_t step);
/* Float PREFIX.NAME of the metadata; false: absent. */
bool fre_gguf_float(const fre_gguf_file *g, float *out, const char *prefix, const char *name);
/* Every tensor is one of the n names (those of a layer without "blk.N.") and of a type that can
 * be converted. */
bool fre_gguf_only(const fre_gguf_file *g, const char *const *names, size_t n);

#endif
