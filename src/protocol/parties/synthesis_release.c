/* parties/synthesis_release.c - the signed result: cells in a random order, without their tags. */
#include "synthesis.h"

#define PART_BYTES (8u << 20)

/* Indices of the cells with a centroid, shuffled; *n of them. */
static fre_status shuffled(const fre_synthesis *x, uint32_t **out, uint32_t *n)
{
    uint32_t *order = calloc((size_t)x->list.n + 1, sizeof *order);
    uint32_t count = 0;
    fre_rng r;
    fre_status st = order ? parties_stream(&r, &x->base, "release: order", 0, 0) : FRE_E_NOMEM;

    if (st != FRE_OK) {
        free(order);
        return st;
    }
    for (uint32_t i = 0; i < x->list.n; i++)
        if (x->cells.cell[i].centroid)
            order[count++] = i;
    for (uint32_t i = count; i > 1; i--) {
        const uint32_t k = (uint32_t)fre_rng_below(&r, i), swap = order[k];

        order[k] = order[i - 1];
        order[i - 1] = swap;
    }
    fre_rng_wipe(&r);
    *out = order;
    *n = count;
    return FRE_OK;
}

static fre_status encode_part(fre_synthesis *x, fre_buf *out, fre_part part, const uint32_t *order,
                              uint32_t n)
{
    const fre_release_part m = {
        .part = part, .time = x->base.now, .statement = parties_buf_view(&x->statement), .n = n};
    fre_release_cell *cell = calloc((size_t)n + 1, sizeof *cell);
    fre_status st;

    if (!cell)
        return FRE_E_NOMEM;
    for (uint32_t i = 0; i < n; i++) {
        const synthesis_cell *c = &x->cells.cell[order[i]];

        cell[i] =
            (fre_release_cell){.count = c->count, .answers = c->accepted, .centroid = c->centroid};
    }
    st = fre_release_part_encode(out, &x->base.w, &m, cell, &x->keys.sign);
    free(cell);
    return st;
}

static fre_status encode_all(fre_synthesis *x, fre_buf *message, uint32_t parts, uint32_t each,
                             const uint32_t *order, uint32_t n)
{
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < parts; i++) {
        const uint32_t from = i * each, left = n - from;

        fre_buf_init(&message[i], FRE_WIRE_MESSAGE_MAX);
        st = encode_part(x, &message[i], (fre_part){.index = i, .count = parts}, order + from,
                         left < each ? left : each);
    }
    return st;
}

fre_status synthesis_release(fre_synthesis *x)
{
    const size_t cell = 8 + 4 * (size_t)x->base.w.c.dim;
    const uint32_t each = (uint32_t)(PART_BYTES / cell);
    uint32_t *order = NULL, n = 0, parts;
    fre_buf *message = NULL;
    fre_status st = shuffled(x, &order, &n);

    if (st != FRE_OK)
        return st;
    parts = n == 0 ? 1 : (n + each - 1) / each;
    message = calloc(parts, sizeof *message);
    st = message ? encode_all(x, message, parts, each, order, n) : FRE_E_NOMEM;
    free(order);
    if (st != FRE_OK) {
        for (uint32_t i = 0; message && i < parts; i++)
            fre_buf_wipe(&message[i]);
        free(message);
        return st;
    }
    x->release = message;
    x->release_parts = parts;
    x->counts.tags_released = n;
    synthesis_forget(x);
    parties_ratchet(&x->base); /* and with it the order */
    x->base.stage = FRE_STAGE_DONE;
    return FRE_OK;
}
