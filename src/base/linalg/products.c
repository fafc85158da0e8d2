/* products.c - blocked matrix products: packed columns, tiles, and blocks handed to threads. */
#include "linalg_private.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define PACK_TARGET 65536u /* floats */

size_t fre_linalg_packed_floats(size_t columns, size_t d)
{
    return (columns + FRE_TILE_COLUMNS - 1) / FRE_TILE_COLUMNS * FRE_TILE_COLUMNS * d;
}

void fre_linalg_pack(float *packed, const float *b, size_t columns, size_t d)
{
    for (size_t first = 0; first < columns; first += FRE_TILE_COLUMNS) {
        float *panel = packed + first * d;

        for (size_t j = 0; j < FRE_TILE_COLUMNS; j++) {
            const float *row = b + (first + j) * d;

            for (size_t k = 0; k < d; k++)
                panel[k * FRE_TILE_COLUMNS + j] = first + j < columns ? row[k] : 0.0f;
        }
    }
}

void fre_linalg_block(float *out, size_t stride, const float *a, size_t rows, const float *packed,
                      size_t columns, size_t d)
{
    const fre_kernels *use = fre_linalg_kernels(0);
    float result[FRE_TILE_ROWS_MAX * FRE_TILE_COLUMNS];

    for (size_t top = 0; top < rows; top += use->tile_rows) {
        const float *row[FRE_TILE_ROWS_MAX];
        size_t height = rows - top < use->tile_rows ? rows - top : use->tile_rows;

        for (size_t i = 0; i < use->tile_rows; i++) /* missing rows repeat the first, unused */
            row[i] = a + (top + (i < height ? i : 0)) * d;
        for (size_t first = 0; first < columns; first += FRE_TILE_COLUMNS) {
            size_t width = columns - first < FRE_TILE_COLUMNS ? columns - first : FRE_TILE_COLUMNS;

            use->tile(result, row, packed + first * d, d);
            for (size_t i = 0; i < height; i++)
                memcpy(out + (top + i) * stride + first, result + i * FRE_TILE_COLUMNS,
                       width * sizeof *out);
        }
    }
}

size_t fre_linalg_block_columns(size_t d)
{
    size_t columns = PACK_TARGET / (d > 0 ? d : 1) / FRE_TILE_COLUMNS * FRE_TILE_COLUMNS;

    if (columns < FRE_TILE_COLUMNS)
        return FRE_TILE_COLUMNS;
    return columns > 256 ? 256 : columns;
}

/* Sum of d float products: 64 additions in a block, d/64 of blocks, one rounding a product; u =
 * 2^-24 (Higham, "Accuracy and stability of numerical algorithms", 3.1). */
double fre_linalg_relative(size_t d)
{
    return (FRE_SUM_BLOCK + (double)d / FRE_SUM_BLOCK + 4) * 0x1p-24 * 1.01;
}

/* For products that underflow. */
double fre_linalg_absolute(size_t d)
{
    return 2 * (double)d * 0x1p-149;
}

float *fre_linalg_floats(size_t n)
{
    size_t bytes;

    if (n > (SIZE_MAX - 64) / sizeof(float))
        return NULL;
    bytes = (n * sizeof(float) + 63) / 64 * 64;
    return aligned_alloc(64, bytes > 0 ? bytes : 64);
}

typedef struct product_job {
    float *out;
    const float *a, *b;
    size_t na, nb, d, columns, row_blocks;
    uint64_t blocks;
    atomic_uint_fast64_t next;
    float *scratch; /* one packed block a worker */
    size_t scratch_floats;
} product_job;

static void one_block(const product_job *p, uint64_t index, float *packed)
{
    size_t first = (size_t)(index / p->row_blocks) * p->columns;
    size_t top = (size_t)(index % p->row_blocks) * FRE_BLOCK_ROWS;
    size_t width = p->nb - first < p->columns ? p->nb - first : p->columns;
    size_t height = p->na - top < FRE_BLOCK_ROWS ? p->na - top : FRE_BLOCK_ROWS;

    fre_linalg_pack(packed, p->b + first * p->d, width, p->d);
    fre_linalg_block(p->out + top * p->nb + first, p->nb, p->a + top * p->d, height, packed, width,
                     p->d);
}

/* Worker w takes blocks until none is left.  Memory was allocated before, so nothing can fail. */
static fre_status product_worker(void *ctx, uint64_t w)
{
    product_job *p = ctx;

    for (;;) {
        uint64_t index = atomic_fetch_add(&p->next, 1);

        if (index >= p->blocks)
            return FRE_OK;
        one_block(p, index, p->scratch + w * p->scratch_floats);
    }
}

fre_status fre_products(float *out, const float *a, size_t na, const float *b, size_t nb, size_t d,
                        uint32_t threads)
{
    product_job p = {.out = out, .a = a, .b = b, .na = na, .nb = nb, .d = d};
    size_t columns = fre_linalg_block_columns(d);
    fre_status st;

    if (threads == 0 || !out || !a || !b)
        return FRE_E_ARG;
    if (na == 0 || nb == 0)
        return FRE_OK;
    p.columns = columns;
    p.row_blocks = (na - 1) / FRE_BLOCK_ROWS + 1;
    p.blocks = (uint64_t)p.row_blocks * ((nb - 1) / columns + 1);
    if (threads > p.blocks)
        threads = (uint32_t)p.blocks;
    p.scratch_floats = fre_linalg_packed_floats(nb < columns ? nb : columns, d);
    p.scratch = fre_linalg_floats(p.scratch_floats * threads);
    if (!p.scratch)
        return FRE_E_NOMEM;
    st = fre_parallel(threads, threads, product_worker, &p);
    free(p.scratch);
    return st;
}
