/* The .npy reader on any bytes: what opens can be read whole, in bounds. */
#include <fre/corpus.h>
#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fre_npy *f = NULL;
    float *row = NULL;
    fre_status st = fre_npy_open_memory(&f, (fre_bytes){data, size}, NULL);

    must(st == FRE_OK || (st == FRE_E_DATA && !f));
    if (st)
        return 0;
    must(fre_npy_dim(f) > 0);
    must(fre_npy_rows(f) <= size / fre_npy_dim(f) / sizeof(float));
    row = malloc(fre_npy_dim(f) * sizeof *row);
    must(row != NULL);
    for (size_t i = 0; i < fre_npy_rows(f); i++) {
        const float *view = fre_npy_row_view(f, i);

        if (fre_npy_row(f, row, i, NULL))
            continue;
        for (size_t j = 0; j < fre_npy_dim(f); j++)
            must(isfinite(row[j]) && !(view && (view[j] < row[j] || view[j] > row[j])));
    }
    fre_npy_release_before(f, fre_npy_rows(f));
    free(row);
    fre_npy_free(f);
    return 0;
}
