#include "npy_file.h"

#include <fre/corpus.h>

#include <stdio.h>

#include "must.h"

void write_rows(const char *path, const float *x, size_t n, size_t d, bool repeated)
{
    FILE *f = fopen(path, "wb");

    must(f != NULL);
    must(fre_npy_write_header(f, FRE_NPY_F4, n, d, NULL) == FRE_OK);
    for (size_t i = 0; i < n; i++)
        must(fwrite(repeated ? x : x + i * d, sizeof *x, d, f) == d);
    must(fclose(f) == 0);
}
