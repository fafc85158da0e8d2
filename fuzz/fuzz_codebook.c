/* Any bytes as a codebook: what opens tells cells within its levels, and sentences that end. */
#include <fre/codebook.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const fre_codebook *c)
{
    const fre_codebook_info *i = fre_codebook_info_view(c);
    float *x = calloc(i->dim, sizeof *x), *centre = calloc(i->dim, sizeof *centre);
    uint32_t cell[FRE_CODEBOOK_LEVELS_MAX];

    must(x && centre && i->n_levels <= FRE_CODEBOOK_LEVELS_MAX);
    x[0] = 1;
    must(fre_codebook_cells(c, cell, x, 1, 1) == FRE_OK);
    for (uint32_t l = 0; l < i->n_levels; l++) {
        const fre_codebook_level *v = fre_codebook_level_view(c, l);
        const char *text = fre_codebook_medoid(c, l, cell[l]);

        must(cell[l] < v->cells && v->radius > 0 && v->gain >= 1);
        fre_codebook_centre(c, l, cell[l], centre);
        must(!text || strlen(text) < UINT32_MAX);
    }
    free(x);
    free(centre);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("codebook", MFD_CLOEXEC);
    fre_codebook *c = NULL;
    fre_err err;

    must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fre_codebook_open(&c, path, &err) == FRE_OK)
        use(c);
    fre_codebook_free(c);
    (void)close(fd);
    return 0;
}
