/* server/synthesis_release.c - from both servers' sums to what is released: cells in a random order, with
 * the number of ids that were summed and their noisy mean, and nothing else.  Splits: the median of the means
 * of thirds, which S_tag cut and this server cuts in the same way. */
#include "synthesis.h"

#include <fre/aggregate.h>

typedef struct work {
    fre_release_cell *cell; /* centroids: owned */
    size_t n, cap;
    uint32_t *sum;
    fre_report_id *id; /* of the tag so far */
    size_t ids, id_cap;
    fre_tag tag;
    bool any;
    fre_rng rng;
} work;

static void work_wipe(work *k, const synthesis *x)
{
    for (size_t i = 0; i < k->n; i++)
        free((void *)(uintptr_t)k->cell[i].centroid);
    free(k->cell);
    free(k->id);
    fre_wipe_free(k->sum, x->base.a->cell.padded * sizeof *k->sum);
    fre_rng_wipe(&k->rng);
}

/* What S_tag says of a tag that is over. */
typedef struct tag_sums {
    uint64_t count; /* to be released */
    uint32_t sums;
    uint8_t *third;       /* of each id; NULL: one sum */
    const uint8_t *packed; /* S_tag's sums, behind each other */
} tag_sums;

/* Adds up the shares of a third, or of all, with S_tag's sum and this server's noise; *n: how many. */
static fre_status add_up(const synthesis *x, work *k, const tag_sums *t, uint32_t which,
                         uint64_t *n)
{
    const fre_agreement *a = x->base.a;
    const fre_wire *w = server_wire(&x->base);
    const size_t bytes = fre_wire_share_bytes(w);
    fre_status st;

    fre_wipe(k->sum, a->cell.padded * sizeof *k->sum);
    *n = 0;
    st = fre_share_add(k->sum, a->cell.padded, w->share_bits,
                       server_view(t->packed + which * bytes, bytes));
    for (size_t i = 0; st == FRE_OK && i < k->ids; i++) {
        if (t->third && t->third[i] != which)
            continue;
        st = fre_share_add(k->sum, a->cell.padded, w->share_bits,
                           syn_share(x, &k->tag, &k->id[i]));
        *n += 1;
    }
    if (st == FRE_OK && a->w.c.server_noise && !a->exact)
        fre_share_add_noise(k->sum, a->cell.padded, &a->cell, &k->rng);
    return st;
}

/* FRE_E_DATA, FRE_E_REFUSED: one of its shares was not made as it must be, or too few are there. */
static fre_status open_sum(float *centroid, const synthesis *x, work *k, const tag_sums *t,
                           uint32_t which)
{
    const fre_agreement *a = x->base.a;
    fre_share_cell cell;
    uint64_t n;
    fre_status st = server_cell(&cell, a, server_wire(&x->base), t->count);

    if (st == FRE_OK)
        st = add_up(x, k, t, which, &n);
    if (st == FRE_OK)
        st = fre_share_open(centroid, a->rotation, &cell, k->sum, cell.padded, n, NULL);
    if (st == FRE_OK && !a->w.c.one_contact)
        fre_share_hide_answers(centroid, &cell);
    return st;
}

/* A sum that cannot be opened spoils its cell, or its third: the other two are enough. */
static fre_status open_cell(float *centroid, const synthesis *x, work *k, const tag_sums *t)
{
    const uint32_t dim = x->base.a->w.c.dim, least = t->sums == 1 ? 1 : 2;
    float *mean = malloc(t->sums * dim * sizeof *mean);
    fre_status st = mean ? FRE_OK : FRE_E_NOMEM;
    uint32_t n = 0;

    for (uint32_t i = 0; st == FRE_OK && i < t->sums; i++) {
        st = open_sum(mean + (size_t)n * dim, x, k, t, i);
        n += st == FRE_OK;
        if (st == FRE_E_DATA || st == FRE_E_REFUSED)
            st = FRE_OK;
    }
    if (st == FRE_OK && n < least)
        st = FRE_E_REFUSED;
    if (st == FRE_OK)
        fre_share_median(centroid, mean, n, dim);
    free(mean);
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

static fre_status keep_cell(synthesis *x, work *k, const tag_sums *t, uint32_t of)
{
    const fre_agreement *a = x->base.a;
    float *centroid = malloc(a->w.c.dim * sizeof *centroid);
    fre_status st =
        centroid ? fre_grow((void **)&k->cell, &k->cap, k->n + 1, sizeof *k->cell) : FRE_E_NOMEM;

    if (st == FRE_OK)
        st = open_cell(centroid, x, k, t);
    if (st == FRE_OK)
        st = add_centre(a, centroid, of);
    if (st == FRE_OK)
        k->cell[k->n++] =
            (fre_release_cell){.count = (uint32_t)t->count, .cell = of, .centroid = centroid};
    else
        free(centroid);
    /* Too many of its sums cannot be opened. */
    return st == FRE_E_DATA || st == FRE_E_REFUSED ? FRE_OK : st;
}

static fre_status cut(const synthesis *x, const work *k, tag_sums *t)
{
    fre_split_seed seed;

    if (t->sums == 1)
        return FRE_OK;
    t->third = malloc(k->ids);
    if (!t->third)
        return FRE_E_NOMEM;
    memcpy(&seed, t->packed, sizeof seed);
    t->packed += sizeof seed;
    return fre_split_ids(t->third, server_wire(&x->base), &seed, k->id, k->ids);
}

/* Of a tag that is over.  Sums of another number than its count has are nobody's. */
static fre_status release_tag(synthesis *x, work *k, const fre_summed_set *s)
{
    tag_sums t = {.count = server_count(&x->base, &s->tag, k->ids), .packed = s->packed.p};
    fre_status st;

    if (k->ids < server_ids_needed(&x->base, &s->tag))
        return FRE_OK;
    t.sums = fre_cell_sums(&x->base.a->m, t.count);
    if (s->packed.n != fre_wire_sums_bytes(server_wire(&x->base), t.sums))
        return FRE_OK;
    st = cut(x, k, &t);
    if (st == FRE_OK)
        st = keep_cell(x, k, &t, s->cell);
    free(t.third);
    return st;
}

/* A set of S_tag; with the tag's last one come its sums. */
static fre_status add_set(synthesis *x, work *k, const fre_summed_set *s)
{
    fre_status st;

    if (!k->any || memcmp(k->tag.b, s->tag.b, sizeof s->tag.b) != 0) {
        k->ids = 0;
        k->tag = s->tag;
        k->any = true;
    }
    st = fre_grow((void **)&k->id, &k->id_cap, k->ids + s->n, sizeof *k->id);
    if (st != FRE_OK)
        return st;
    if (s->n > 0)
        memcpy(k->id + k->ids, s->id, s->n * sizeof *k->id);
    k->ids += s->n;
    return s->packed.n > 0 ? release_tag(x, k, s) : FRE_OK;
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

typedef struct last_member {
    fre_tag tag;
    fre_report_id id; /* zeros: none yet */
    bool any, over;
} last_member;

static bool follows(last_member *l, const fre_summed_set *s)
{
    const int order = l->any ? memcmp(l->tag.b, s->tag.b, sizeof s->tag.b) : -1;
    const bool fine = order < 0 || (order == 0 && !l->over &&
                                    (s->n == 0 || memcmp(l->id.b, s->id[0].b, sizeof l->id.b) < 0));

    if (order != 0)
        *l = (last_member){.tag = s->tag, .any = true};
    if (s->n > 0)
        l->id = s->id[s->n - 1];
    l->over = s->packed.n > 0;
    return fine;
}

fre_status syn_check_sums(const synthesis *x, bool *fine)
{
    last_member last = {.any = false};
    fre_status st = FRE_OK;
    fre_tag_sets sets;
    fre_summed_set s;

    *fine = true;
    for (uint32_t i = 0; st == FRE_OK && i < x->summed.count; i++) {
        st = fre_summed_decode(&sets, server_wire(&x->base),
                               server_buf_view(&x->summed.part[i].bytes), NULL);
        while (st == FRE_OK && fre_summed_next(&sets, &s))
            *fine = follows(&last, &s) && *fine;
    }
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
    const uint32_t parts = server_release_parts(server_wire(&x->base), k->n);
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
