#include "partial_sample.h"

#include <stdlib.h>
#include <string.h>

#include "must.h"

fre_partial_key sample_key(void)
{
    fre_partial_key key;

    memset(key.b, 7, sizeof key.b);
    return key;
}

fre_partial_terms sample_terms(void)
{
    const fre_partial_key key = sample_key();
    fre_partial_terms t = {.not_private = true,
                           .dim = SAMPLE_DIM,
                           .norm_bound = 1,
                           .cells_per_user = 2,
                           .level = {{.sketch = {.grid = {.proj = 8, .cell_edge = .25}},
                                      .p32 = FRE_P_ONE,
                                      .tau = SAMPLE_TAU,
                                      .lattice_step = 0x1p-20}}};

    fre_partial_key_commit(t.key, &key);
    memset(t.grid_seed, 3, sizeof t.grid_seed);
    return t;
}

fre_buf sample_task(const fre_partial_task *t)
{
    fre_buf b;

    fre_buf_init(&b, FRE_PARTIAL_BYTES_MAX);
    must(fre_partial_task_encode(&b, t) == FRE_OK);
    return b;
}

fre_buf sample_counts(void)
{
    const fre_partial_task t = {.terms = sample_terms()};

    return sample_task(&t);
}

void sample_row(float row[SAMPLE_DIM], size_t text)
{
    memset(row, 0, SAMPLE_DIM * sizeof *row);
    row[text % SAMPLE_DIM] = text < SAMPLE_DIM ? .9f : -.9f;
}

fre_bytes sample_view(const fre_buf *b)
{
    return (fre_bytes){b->p, b->n};
}

static int by_name(const void *a, const void *b)
{
    const fre_partial_cell *x = a, *y = b;

    return memcmp(x->name, y->name, sizeof x->name);
}

fre_buf sample_sums(void)
{
    fre_partial_task t = {.terms = sample_terms(), .stage = FRE_PARTIAL_SUMS, .points = 100};
    fre_sketch_params sp = {.dim = SAMPLE_DIM, .grid = t.terms.level[0].sketch.grid};
    fre_partial_cell released[2] = {{.level = 0}, {.level = 0}};
    fre_sketch *s = NULL;

    memcpy(sp.seed, t.terms.grid_seed, sizeof sp.seed);
    must(fre_sketch_new(&s, &sp) == FRE_OK);
    for (size_t i = 0; i < 2; i++) {
        float row[SAMPLE_DIM];
        fre_cell cell;

        sample_row(row, i);
        must(fre_sketch_cell(s, &cell, row, SAMPLE_DIM) == FRE_OK);
        memcpy(released[i].name, cell.bytes, sizeof released[i].name);
    }
    fre_sketch_free(s);
    qsort(released, 2, sizeof *released, by_name);
    t.released = released;
    t.n_released = 2;
    return sample_task(&t);
}

static void add(fre_partial_worker *w, size_t user, size_t text)
{
    uint8_t id[2][FRE_COIN_ID_BYTES], place[64];
    const char name[2] = {(char)('a' + user), (char)('0' + text)};
    float row[SAMPLE_DIM];
    fre_partial_record r = {.user = id[0], .text = id[1], .records = 1, .place = place, .x = row,
                            .row = row};

    r.user_name = (fre_bytes){(const uint8_t *)name, 1};
    r.text_bytes = (fre_bytes){(const uint8_t *)name + 1, 1};
    sample_row(row, text);
    must(fre_partial_worker_place_bytes(w) <= sizeof place);
    must(fre_partial_worker_place(w, place, (fre_rows){row, 1}, 1, NULL) == FRE_OK);
    fre_partial_worker_id(w, id[0], r.user_name);
    fre_partial_worker_id(w, id[1], r.text_bytes);
    must(fre_partial_worker_add(w, &r, NULL) == FRE_OK);
}

void sample_slices(fre_buf *out, uint32_t slices, fre_bytes task, uint64_t part, size_t first,
                   size_t n)
{
    const fre_partial_key key = sample_key();
    fre_partial_worker *w = NULL;

    must(fre_partial_worker_new(&w, task, &key, NULL, part, NULL) == FRE_OK);
    for (size_t user = first; user < first + n; user++)
        for (size_t k = 0; k <= user % 3; k++)
            add(w, user, (user + k) % 5);
    for (uint32_t i = 0; i < slices; i++)
        fre_buf_init(&out[i], FRE_PARTIAL_BYTES_MAX);
    must(fre_partial_worker_finish(w, out, slices) == FRE_OK);
    fre_partial_worker_free(w);
}

fre_buf sample_part(fre_bytes task, uint64_t part, size_t first, size_t n)
{
    fre_buf b;

    sample_slices(&b, 1, task, part, first, n);
    return b;
}
