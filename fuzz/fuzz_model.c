/* Any bytes as a model file: opened as an embedder, a decoder and plain tensors.  What opens must
 * run.  The file lives in memory. */
#include <fre/model.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void encode(const fre_model *m)
{
    const fre_model_info *i = fre_model_info_view(m);
    fre_model_ctx *c = NULL;
    int32_t ids[16];
    size_t n = 16;
    uint32_t len;
    fre_err err;
    float *x = calloc(i->dim, sizeof *x);

    if (x && fre_model_tokenize(m, ids, &n, "a b hello", 9, true) == FRE_OK && n > 0) {
        len = n < 16 ? (uint32_t)n : 16;
        len = len < i->context ? len : i->context;
        if (fre_model_ctx_new(&c, m, len, 1, &err) == FRE_OK &&
            fre_model_encode(c, x, ids, &len, 1, &err) == FRE_E_ARG)
            abort();
    }
    fre_model_ctx_free(c);
    free(x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("model", MFD_CLOEXEC);
    fre_model *m = NULL;
    fre_tensors *t = NULL;
    fre_err err;

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fre_model_open(&m, path, FRE_MODEL_EMBEDDER, &err) == FRE_OK)
        encode(m);
    fre_model_free(m);
    m = NULL;
    if (fre_model_open(&m, path, FRE_MODEL_DECODER, &err) == FRE_OK)
        fre_model_free(m);
    if (fre_tensors_open(&t, path, "bert", &err) == FRE_OK)
        fre_tensors_free(t);
    (void)close(fd);
    return 0;
}
