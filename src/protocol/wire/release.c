/* release.c - what a collection publishes. */
#include "wire_private.h"

#include <math.h>

static uint32_t float_bits(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

static float bits_float(uint32_t u)
{
    float x;

    memcpy(&x, &u, sizeof x);
    return x;
}

#define CELL_HEAD_BYTES 8u /* count, cell */

static size_t cell_bytes(const fre_wire *w)
{
    return CELL_HEAD_BYTES + 4 * (size_t)w->c.dim;
}

static bool count_is_fine(const fre_wire *w, uint32_t count)
{
    return count >= w->c.tau && count <= w->c.users * w->c.cells_per_user;
}

fre_status fre_release_part_encode(fre_buf *out, const fre_wire *w, const fre_release_part *m,
                                   const fre_release_cell *cell, const fre_sign_sk *sk)
{
    fre_out o = fre_out_begin(out);

    if (!w || !m || (m->n > 0 && !cell) || m->time < 1 || m->time > FRE_COLLECTION_TIME_MAX ||
        m->statement.n > FRE_RELEASE_STATEMENT_MAX)
        return FRE_E_ARG;
    wire_put_head(&o, w, FRE_WIRE_RELEASE);
    wire_put_part(&o, m->part);
    fre_out_uint(&o, (uint64_t)m->time, 8);
    fre_out_uint(&o, m->statement.n, 2);
    fre_out_put(&o, m->statement.p, m->statement.n);
    fre_out_uint(&o, m->n, 4);
    for (uint32_t i = 0; i < m->n && o.st == FRE_OK; i++) {
        if (!cell[i].centroid || !count_is_fine(w, cell[i].count) ||
            !wire_is_cell(w, cell[i].cell)) {
            wire_fail(&o, FRE_E_ARG);
            break;
        }
        fre_out_uint(&o, cell[i].count, 4);
        fre_out_uint(&o, cell[i].cell, 4);
        for (uint32_t j = 0; j < w->c.dim; j++) {
            if (!isfinite(cell[i].centroid[j]))
                wire_fail(&o, FRE_E_ARG);
            fre_out_uint(&o, float_bits(cell[i].centroid[j]), 4);
        }
    }
    return wire_close_signed(&o, FRE_WIRE_RELEASE, sk);
}

fre_status fre_release_part_decode(fre_release_part *out, const fre_wire *w, fre_bytes in,
                                   fre_err *err)
{
    uint64_t t;
    size_t each;
    fre_in body;
    fre_release_part m;
    fre_status st;

    if (!out || !w)
        return FRE_E_ARG;
    each = cell_bytes(w);
    st = wire_begin_signed(&body, w, FRE_WIRE_RELEASE, &w->c.syn_sign, in, err);
    if (st != FRE_OK)
        return st;
    m.part = wire_part(&body);
    t = fre_in_uint(&body, 8, "time");
    fre_in_require(&body, t >= 1 && t <= (uint64_t)FRE_COLLECTION_TIME_MAX, "time");
    m.time = (int64_t)t;
    m.statement = wire_items(&body, (uint32_t)fre_in_uint(&body, 2, "statement"), 1, "statement");
    m.n = (uint32_t)fre_in_uint(&body, 4, "cells");
    m.raw = wire_items(&body, m.n, each, "cells");
    for (uint32_t i = 0; !body.bad && i < m.n; i++) {
        const uint8_t *e = m.raw.p + i * each;

        fre_in_require(&body, count_is_fine(w, wire_get32(e)), "count");
        fre_in_require(&body, wire_is_cell(w, wire_get32(e + 4)), "cell");
        for (uint32_t j = 0; j < w->c.dim; j++)
            fre_in_require(&body,
                           isfinite(bits_float(wire_get32(e + CELL_HEAD_BYTES + 4 * (size_t)j))),
                           "centroid");
    }
    st = wire_end(&body, wire_name(FRE_WIRE_RELEASE), err);
    if (st == FRE_OK)
        *out = m;
    return st;
}

void fre_release_part_at(fre_release_cell *out, float *centroid, const fre_release_part *m,
                         uint32_t i)
{
    size_t each = m->raw.n / m->n, dim = (each - CELL_HEAD_BYTES) / 4;
    const uint8_t *e = m->raw.p + i * each;

    for (size_t j = 0; j < dim; j++)
        centroid[j] = bits_float(wire_get32(e + CELL_HEAD_BYTES + 4 * j));
    *out =
        (fre_release_cell){.count = wire_get32(e), .cell = wire_get32(e + 4), .centroid = centroid};
}
