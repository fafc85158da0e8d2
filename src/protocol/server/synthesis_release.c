/* server/synthesis_release.c - from both servers' sums to what is released: cells in a random order, with
 * the number of ids that were summed and their noisy mean, and nothing else. */
#include "synthesis.h"

#include <fre/aggregate.h>

#define PART_BYTES (8u << 20)

typedef struct work {
    fre_release_cell *cell; /* centroids: owned */
    size_t n, cap;
    uint32_t *sum; /* of the tag so far */
    uint64_t ids;
    fre_tag tag;
    bool any, bad;
    fre_rng rng;
} work;

static void work_wipe(work *k, const synthesis *x)
{
    for (size_t i = 0; i < k->n; i++)
        free((void *)(uintptr_t)k->cell[i].centroid);
    free(k->cell);
    fre_wipe_free(k->sum, x->base.a->cell.padded * sizeof *k->sum);
    fre_rng_wipe(&k->rng);
}

static fre_status open_cell(float *centroid, const synthesis *x, const work *k, uint64_t count)
{
    const fre_agreement *a = x->base.a;
    fre_share_cell cell;
    fre_status st = server_cell(&cell, a, server_wire(&x->base), count);

    if (st == FRE_OK)
        st = fre_share_open(centroid, a->rotation, &cell, k->sum, cell.padded, k->ids, NULL);
    if (st == FRE_OK && !a->w.c.one_contact)
        fre_share_hide_answers(centroid, &cell);
    return st;
}

/* From the mean of offsets to the centroid, as a curator does. */
static fre_status add_centre(const fre_agreement *a, float *mean, uint32_t cell)
{
    const fre_sketch_codebook *c = &a->w.c.sketch.codebook;
    float *centre;
    fre_status st;

    if (a->w.c.sketch.kind == FRE_SKETCH_GRID)
        return FRE_OK;
    centre = malloc(a->w.c.dim * sizeof *centre);
    st = centre ? fre_sketch_centre(a->cells, centre, cell) : FRE_E_NOMEM;
    if (st == FRE_OK)
        fre_aggregate_from_centre(mean, centre, a->w.c.dim, c->gain, c->radius);
    free(centre);
    return st;
}

static fre_status keep_cell(synthesis *x, work *k, uint32_t of)
{
    const fre_agreement *a = x->base.a;
    const uint64_t count = server_count(&x->base, &k->tag, k->ids);
    float *centroid = malloc(a->w.c.dim * sizeof *centroid);
    fre_status st =
        centroid ? fre_grow((void **)&k->cell, &k->cap, k->n + 1, sizeof *k->cell) : FRE_E_NOMEM;

    if (st == FRE_OK)
        st = open_cell(centroid, x, k, count);
    if (st == FRE_OK)
        st = add_centre(a, centroid, of);
    if (st == FRE_OK)
        k->cell[k->n++] =
            (fre_release_cell){.count = (uint32_t)count, .cell = of, .centroid = centroid};
    else
        free(centroid);
    /* The guard of a sum: one of its shares was not made as it must be. */
    return st == FRE_E_DATA || st == FRE_E_REFUSED ? FRE_OK : st;
}

static fre_status add_ids(synthesis *x, work *k, const fre_summed_set *s)
{
    const uint32_t bits = server_wire(&x->base)->share_bits;
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < s->n; i++)
        st = fre_share_add(k->sum, x->base.a->cell.padded, bits, syn_share(x, &s->tag, &s->id[i]));
    k->ids += s->n;
    return st;
}

/* A set of S_tag; with the tag's last one comes its sum. */
static fre_status add_set(synthesis *x, work *k, const fre_summed_set *s)
{
    const fre_agreement *a = x->base.a;
    fre_status st;

    if (!k->any || memcmp(k->tag.b, s->tag.b, sizeof s->tag.b) != 0) {
        fre_wipe(k->sum, a->cell.padded * sizeof *k->sum);
        k->ids = 0;
        k->tag = s->tag;
        k->any = true;
        k->bad = false;
    }
    st = add_ids(x, k, s);
    if (st == FRE_OK && s->packed.n > 0)
        st = fre_share_add(k->sum, a->cell.padded, server_wire(&x->base)->share_bits, s->packed);
    if (st == FRE_E_DATA) { /* a share with bits beyond its end spoils its cell, not the run */
        k->bad = true;
        st = FRE_OK;
    }
    if (st != FRE_OK || s->packed.n == 0 || k->bad || k->ids < server_ids_needed(&x->base, &s->tag))
        return st;
    if (a->w.c.server_noise && !a->exact)
        fre_share_add_noise(k->sum, a->cell.padded, &a->cell, &k->rng);
    return keep_cell(x, k, s->cell);
}

static fre_status read_part(synthesis *x, work *k, uint32_t part)
{
    fre_summed_set s;
    fre_tag_sets sets;
    fre_status st = fre_summed_decode(&sets, server_wire(&x->base),
                                      server_buf_view(&x->summed.part[part].bytes), NULL);

    while (st == FRE_OK && fre_summed_next(&sets, &s))
        st = add_set(x, k, &s);
    return st;
}

static void shuffle(work *k)
{
    for (size_t i = k->n; i > 1; i--) {
        const size_t j = (size_t)fre_rng_below(&k->rng, i);
        const fre_release_cell swap = k->cell[i - 1];

        k->cell[i - 1] = k->cell[j];
        k->cell[j] = swap;
    }
}

static fre_status make_part(synthesis *x, fre_delta *rows, const work *k, fre_part part)
{
    const size_t from = k->n * part.index / part.count, to = k->n * (part.index + 1) / part.count;
    const fre_release_part m = {.part = part,
                                .time = x->base.now > 0 ? x->base.now : 1,
                                .statement = server_buf_view(&x->statement),
                                .n = (uint32_t)(to - from)};
    fre_buf message;
    fre_status st;

    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    st = fre_release_part_encode(&message, server_wire(&x->base), &m,
                                 m.n > 0 ? k->cell + from : NULL, &x->base.sign);
    if (st == FRE_OK)
        st = server_out_add(&x->release, rows, &message);
    fre_buf_wipe(&message);
    return st;
}

static fre_status make_parts(synthesis *x, fre_delta *rows, const work *k)
{
    const size_t fit = PART_BYTES / (8 + 4 * (size_t)server_wire(&x->base)->c.dim);
    const uint32_t parts = k->n > fit ? (uint32_t)((k->n + fit - 1) / fit) : 1;
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < parts; i++)
        st = make_part(x, rows, k, (fre_part){i, parts});
    return st;
}

/* Shares and members go with it. */
static fre_status erase_members(synthesis *x, fre_delta *rows)
{
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < x->members; i++) {
        const uint8_t key[4] = {(uint8_t)(i >> 24), (uint8_t)(i >> 16), (uint8_t)(i >> 8),
                                (uint8_t)i};

        st = server_row_erase(rows, SERVER_ROW_MEMBER, server_view(key, sizeof key));
    }
    if (st == FRE_OK)
        st = server_out_erase(&x->vouch, rows);
    if (st == FRE_OK)
        st = server_out_erase(&x->list, rows);
    if (st == FRE_OK)
        st = server_out_erase(&x->unseal, rows);
    if (st != FRE_OK)
        return st;
    st = server_parts_used(&x->vouched, rows);
    return st == FRE_OK ? server_parts_used(&x->summed, rows) : st;
}

fre_status syn_make_release(synthesis *x, fre_delta *rows)
{
    work k = {.n = 0};
    fre_status st = server_rng(&x->base, &k.rng);

    if (st != FRE_OK)
        return st;
    k.sum = calloc(x->base.a->cell.padded, sizeof *k.sum);
    if (!k.sum)
        st = FRE_E_NOMEM;
    for (uint32_t i = 0; st == FRE_OK && i < x->summed.count; i++)
        st = read_part(x, &k, i);
    if (st == FRE_OK) {
        shuffle(&k);
        st = make_parts(x, rows, &k);
    }
    if (st == FRE_OK)
        st = erase_members(x, rows);
    work_wipe(&k, x);
    return st;
}
