/* partial/task.c - what a worker is told; docs/formats.md has the bytes. */
#include "partial_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char magic[16] = "fre-e2t task 2";

/* ---- key ---------------------------------------------------------------------------------------- */

fre_status fre_partial_key_expand(uint8_t ids[FRE_SEED_BYTES], fre_coin_key *coins,
                                  const fre_partial_key *key)
{
    static const char *const use[] = {"fre/partial/ids/v1", "fre/partial/coins/v1"};
    uint8_t *const out[] = {ids, coins->b};
    fre_rng r;

    for (size_t i = 0; i < 2; i++) {
        const fre_status st = fre_rng_init_named(&r, key->b, use[i], strlen(use[i]));

        if (st != FRE_OK)
            return st;
        fre_rng_bytes(&r, out[i], FRE_SEED_BYTES);
        fre_rng_wipe(&r);
    }
    return FRE_OK;
}

void fre_partial_key_commit(uint8_t out[FRE_HASH_BYTES], const fre_partial_key *key)
{
    static const char label[] = "fre/partial/key/v1";
    fre_sha256 h;

    fre_sha256_begin(&h, (fre_bytes){(const uint8_t *)label, sizeof label - 1});
    fre_sha256_add(&h, key->b, sizeof key->b);
    fre_sha256_end(out, &h);
}

/* ---- released cells ------------------------------------------------------------------------------- */

int partial_by_cell(const void *a, const void *b)
{
    const fre_partial_cell *x = a, *y = b;

    if (x->level != y->level)
        return x->level < y->level ? -1 : 1;
    if (x->cell != y->cell)
        return x->cell < y->cell ? -1 : 1;
    return memcmp(x->name, y->name, sizeof x->name);
}

size_t partial_find_released(const fre_partial_task *t, const fre_partial_cell *c)
{
    const fre_partial_cell *found =
        t->n_released > 0
            ? bsearch(c, t->released, t->n_released, sizeof *t->released, partial_by_cell)
            : NULL;

    return found ? (size_t)(found - t->released) : t->n_released;
}

/* ---- encode --------------------------------------------------------------------------------------- */

uint32_t fre_partial_first_stage(const fre_partial_terms *t)
{
    return t->no_grid ? 1 : 0;
}

static void put_level(fre_out *o, const fre_partial_level *l, uint32_t at)
{
    fre_out_uint(o, (uint64_t)l->counts, 1);
    fre_out_uint(o, l->p32, 8);
    fre_out_uint(o, l->tau, 8);
    partial_put_double(o, l->lattice_step);
    if (at == 0) {
        fre_out_uint(o, l->sketch.grid.proj, 4);
        partial_put_double(o, l->sketch.grid.cell_edge);
        return;
    }
    fre_out_put(o, l->sketch.codebook.sha256, FRE_HASH_BYTES);
    fre_out_uint(o, l->sketch.codebook.level, 4);
    fre_out_uint(o, l->sketch.codebook.cells, 8);
    partial_put_double(o, l->sketch.codebook.radius);
    partial_put_double(o, l->sketch.codebook.gain);
}

static void put_terms(fre_out *o, const fre_partial_terms *t)
{
    fre_out_uint(o, t->not_private, 1);
    fre_out_uint(o, t->dim, 4);
    partial_put_double(o, t->norm_bound);
    fre_out_uint(o, t->cells_per_user, 4);
    fre_out_uint(o, t->no_grid, 1);
    fre_out_put(o, t->grid_seed, sizeof t->grid_seed);
    fre_out_uint(o, t->n_levels, 1);
    for (uint32_t i = fre_partial_first_stage(t); i <= t->n_levels && i <= FRE_LEVELS_MAX; i++)
        put_level(o, &t->level[i], i);
    fre_out_put(o, t->embedder, sizeof t->embedder);
    fre_out_put(o, t->key, sizeof t->key);
    fre_out_put(o, t->salt, sizeof t->salt);
}

fre_status fre_partial_task_encode(fre_buf *out, const fre_partial_task *t)
{
    const size_t start = out->n;
    fre_out o = fre_out_begin(out);
    fre_partial_task again;
    fre_status st;

    fre_out_put(&o, magic, sizeof magic);
    put_terms(&o, &t->terms);
    fre_out_uint(&o, t->stage, 4);
    fre_out_uint(&o, t->points, 8);
    fre_out_uint(&o, t->n_released, 4);
    for (size_t i = 0; o.st == FRE_OK && i < t->n_released; i++) {
        const fre_partial_cell *c = &t->released[i];

        fre_out_uint(&o, c->level, 4);
        if (c->level == 0)
            fre_out_put(&o, c->name, sizeof c->name);
        else
            fre_out_uint(&o, c->cell, 4);
    }
    st = partial_end(&o);
    if (st != FRE_OK)
        return st;
    /* One set of ranges, the reader's. */
    st = fre_partial_task_decode(&again, (fre_bytes){out->p + start, out->n - start}, NULL);
    if (st == FRE_OK) {
        fre_partial_task_wipe(&again);
        return st;
    }
    fre_wipe(out->p + start, out->n - start);
    out->n = start;
    return st == FRE_E_DATA ? FRE_E_ARG : st;
}

/* ---- decode --------------------------------------------------------------------------------------- */

static void get_rate(fre_in *in, fre_partial_level *l, uint32_t at)
{
    l->counts = (fre_counts)partial_uint_to(in, 1, at == 0 ? 0 : FRE_COUNTS_NOISY);
    l->p32 = partial_uint_to(in, 8, FRE_P_ONE);
    l->tau = partial_uint_to(in, 8, FRE_PARTIAL_COUNT_MAX);
    fre_in_require(in, (l->counts == FRE_COUNTS_NOISY) == (l->p32 == 0), "task");
    fre_in_require(in, (l->counts == FRE_COUNTS_NOISY) == (l->tau == 0), "task");
    l->lattice_step = partial_positive(in);
}

static void get_level(fre_in *in, fre_partial_level *l, uint32_t at)
{
    get_rate(in, l, at);
    if (at == 0) {
        l->sketch.kind = FRE_SKETCH_GRID;
        l->sketch.grid.proj = (uint32_t)partial_uint_to(in, 4, FRE_SKETCH_PROJ_MAX);
        fre_in_require(in, l->sketch.grid.proj > 0, "task");
        l->sketch.grid.cell_edge = partial_positive(in);
        return;
    }
    l->sketch.kind = FRE_SKETCH_CODEBOOK;
    fre_in_copy(in, l->sketch.codebook.sha256, FRE_HASH_BYTES, "task");
    l->sketch.codebook.level = (uint32_t)partial_uint_to(in, 4, FRE_CODEBOOK_LEVELS_MAX - 1);
    l->sketch.codebook.cells = partial_uint_to(in, 8, FRE_CODEBOOK_CELLS_MAX);
    fre_in_require(in, l->sketch.codebook.cells > 0, "task");
    l->sketch.codebook.radius = partial_positive(in);
    l->sketch.codebook.gain = partial_positive(in);
    fre_in_require(in, l->sketch.codebook.gain >= 1, "task");
}

static void get_terms(fre_in *in, fre_partial_terms *t)
{
    t->not_private = partial_flag(in);
    t->dim = (uint32_t)partial_uint_to(in, 4, FRE_SKETCH_DIM_MAX);
    t->norm_bound = partial_positive(in);
    t->cells_per_user = (uint32_t)partial_uint_to(in, 4, FRE_PRIVACY_CELLS_MAX);
    t->no_grid = partial_flag(in);
    fre_in_copy(in, t->grid_seed, sizeof t->grid_seed, "task");
    t->n_levels = (uint32_t)partial_uint_to(in, 1, FRE_LEVELS_MAX);
    fre_in_require(in, t->dim > 0 && t->cells_per_user > 0 && (!t->no_grid || t->n_levels > 0),
                   "task");
    for (uint32_t i = fre_partial_first_stage(t); i <= t->n_levels; i++) {
        get_level(in, &t->level[i], i);
        fre_in_require(in,
                       i < 2 || memcmp(t->level[i].sketch.codebook.sha256,
                                       t->level[1].sketch.codebook.sha256, FRE_HASH_BYTES) == 0,
                       "task");
    }
    fre_in_copy(in, t->embedder, sizeof t->embedder, "task");
    fre_in_copy(in, t->key, sizeof t->key, "task");
    fre_in_copy(in, t->salt, sizeof t->salt, "task");
}

static void get_cell(fre_in *in, fre_partial_cell *c, const fre_partial_task *t)
{
    const fre_partial_terms *terms = &t->terms;

    c->level = (uint32_t)partial_uint_to(in, 4, terms->n_levels);
    fre_in_require(in, c->level < t->stage && c->level >= fre_partial_first_stage(terms), "task");
    if (c->level == 0)
        fre_in_copy(in, c->name, sizeof c->name, "task");
    else
        c->cell = (uint32_t)partial_uint_to(in, 4, terms->level[c->level].sketch.codebook.cells - 1);
}

static fre_status get_released(fre_in *in, fre_partial_task *t)
{
    const size_t least = 8; /* bytes of one */

    t->n_released = (size_t)partial_uint_to(in, 4, in->left.n / least);
    t->released = calloc(t->n_released + 1, sizeof *t->released);
    if (!t->released)
        return FRE_E_NOMEM;
    for (size_t i = 0; !in->bad && i < t->n_released; i++) {
        get_cell(in, &t->released[i], t);
        fre_in_require(in, i == 0 || partial_by_cell(&t->released[i - 1], &t->released[i]) < 0,
                       "task");
    }
    return FRE_OK;
}

static bool is_stage(const fre_partial_task *t)
{
    return t->stage == FRE_PARTIAL_SUMS ||
           (t->stage >= fre_partial_first_stage(&t->terms) && t->stage <= t->terms.n_levels);
}

fre_status fre_partial_task_decode(fre_partial_task *out, fre_bytes task, fre_err *err)
{
    char found[sizeof magic];
    fre_partial_task t = {.stage = 0};
    fre_in in;
    fre_status st = FRE_E_DATA;

    if (partial_verified(&in, task)) {
        fre_in_copy(&in, found, sizeof found, "task");
        fre_in_require(&in, memcmp(found, magic, sizeof found) == 0, "task");
        get_terms(&in, &t.terms);
        t.stage = (uint32_t)fre_in_uint(&in, 4, "task");
        t.points = partial_uint_to(&in, 8, FRE_PARTIAL_COUNT_MAX);
        fre_in_require(&in, is_stage(&t) && (t.points > 0) == (t.stage == FRE_PARTIAL_SUMS),
                       "task");
        st = get_released(&in, &t);
        if (st == FRE_OK && (in.bad || in.left.n > 0))
            st = FRE_E_DATA;
    }
    if (st == FRE_OK) {
        *out = t;
        return FRE_OK;
    }
    fre_partial_task_wipe(&t);
    return st == FRE_E_NOMEM
               ? fre_fail(err, st, "out of memory for a task")
               : fre_fail(err, st, "the bytes of a task are cut, changed or of another version: hand "
                                   "them to the workers as the driver, of the same version, made them");
}

void fre_partial_task_wipe(fre_partial_task *t)
{
    free(t->released);
    fre_wipe(t, sizeof *t);
}
