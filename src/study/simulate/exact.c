/* simulate/exact.c - the exact sums, known to nobody in a real collection: whoever holds all keys
 * can say which cell a tag belongs to, and who is in it. */
#include "simulate_private.h"

#define JOB_ROWS 256u

typedef struct placed {
    fre_cell cell;
    uint32_t row;
} placed;

typedef struct placing {
    const simulate_run *s;
    const fre_sketch *grid;
    const fre_oprf_key *key;
    placed *at;
    simulate_cell *cell;
    const fre_cell *name; /* of cell[i] */
} placing;

static fre_status place_rows(void *ctx, uint64_t job)
{
    placing *p = ctx;
    const simulate_population *pop = &p->s->population;
    float *spare = malloc(pop->dim * sizeof *spare);
    fre_status st = spare ? FRE_OK : FRE_E_NOMEM;

    for (size_t i = job * JOB_ROWS; st == FRE_OK && i < (job + 1) * JOB_ROWS && i < pop->rows;
         i++) {
        const float *x;

        p->at[i].row = (uint32_t)i;
        st = simulate_row(pop, &x, spare, i, NULL);
        if (st == FRE_OK)
            st = fre_sketch_cell(p->grid, &p->at[i].cell, x, pop->dim);
    }
    free(spare);
    return st;
}

static int by_cell(const void *a, const void *b)
{
    return memcmp(((const placed *)a)->cell.bytes, ((const placed *)b)->cell.bytes, FRE_CELL_BYTES);
}

static int by_tag(const void *a, const void *b)
{
    return memcmp(((const simulate_cell *)a)->tag.b, ((const simulate_cell *)b)->tag.b,
                  FRE_OPRF_TAG_BYTES);
}

static fre_status make_tag(void *ctx, uint64_t i)
{
    placing *p = ctx;
    fre_oprf_output output;
    fre_status st =
        fre_oprf_evaluate(&output, p->key, (fre_bytes){p->name[i].bytes, sizeof p->name[i].bytes});

    if (st == FRE_OK)
        memcpy(p->cell[i].tag.b, output.b, sizeof p->cell[i].tag.b);
    fre_oprf_output_wipe(&output);
    return st;
}

uint32_t simulate_client_cells(const simulate_run *s, uint64_t client, uint32_t *cell,
                               uint32_t *row)
{
    const uint32_t *list;
    uint32_t m = 0, n = simulate_client_rows(&s->population, client, &list);

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t id = s->exact.row_cell[list[i]];
        bool again = false;

        for (uint32_t j = 0; j < m; j++)
            again |= cell[j] == id;
        if (again)
            continue;
        cell[m] = id;
        row[m++] = list[i];
    }
    return m;
}

static void count_clients(simulate_run *s)
{
    uint32_t cell[FRE_COLLECTION_CELLS_MAX], row[FRE_COLLECTION_CELLS_MAX];

    for (uint64_t i = 0; i < s->population.clients; i++) {
        const uint32_t n = simulate_client_cells(s, i, cell, row);

        for (uint32_t j = 0; j < n; j++)
            s->exact.clients[cell[j]]++;
    }
}

/* at is sorted: numbers the cells, counts their clients. */
static fre_status number_cells(simulate_run *s, const placed *at)
{
    simulate_exact *e = &s->exact;

    e->row_cell = malloc(s->population.rows * sizeof *e->row_cell);
    if (!e->row_cell)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < s->population.rows; i++) {
        e->all += i == 0 || by_cell(&at[i], &at[i - 1]) != 0;
        e->row_cell[at[i].row] = (uint32_t)e->all - 1;
    }
    e->place = calloc(e->all, sizeof *e->place);
    e->clients = calloc(e->all, sizeof *e->clients);
    if (!e->place || !e->clients)
        return FRE_E_NOMEM;
    count_clients(s);
    return FRE_OK;
}

/* Cells of at least `least` clients, with their tags, sorted by them. */
static fre_status choose_cells(simulate_run *s, const placed *at, placing *p, uint64_t least)
{
    simulate_exact *e = &s->exact;
    fre_cell *name;
    fre_status st = FRE_E_NOMEM;

    for (size_t id = 0; id < e->all; id++)
        e->n += e->clients[id] >= least;
    e->cell = calloc(e->n + 1, sizeof *e->cell);
    e->sums = calloc(e->n * s->population.dim + 1, sizeof *e->sums);
    name = calloc(e->n + 1, sizeof *name);
    if (e->cell && e->sums && name) {
        size_t n = 0;

        for (size_t i = 0; i < s->population.rows; i++) {
            const uint32_t id = e->row_cell[at[i].row];

            if (e->clients[id] < least || (i > 0 && e->row_cell[at[i - 1].row] == id))
                continue;
            e->cell[n].id = id;
            e->cell[n].clients = e->clients[id];
            name[n++] = at[i].cell;
        }
        p->cell = e->cell;
        p->name = name;
        st = fre_parallel(s->opts->threads, e->n, make_tag, p);
    }
    if (st == FRE_OK) {
        if (e->n > 0)
            qsort(e->cell, e->n, sizeof *e->cell, by_tag);
        for (size_t i = 0; i < e->n; i++) {
            e->cell[i].sum = e->sums + i * s->population.dim;
            e->place[e->cell[i].id] = (uint32_t)i + 1;
        }
    }
    free(name);
    return st;
}

static fre_status curator_plan(simulate_run *s, fre_err *err)
{
    fre_plan_request q = s->out->plan.request;

    q.dist = (fre_distributed){.on = false};
    q.noise = FRE_NOISE_CONTINUOUS;
    q.max_dummies = 0;
    return fre_plan_make(&s->out->comparison.curator, &q, err);
}

fre_status simulate_exact_init(simulate_run *s, const fre_oprf_key *key, fre_err *err)
{
    const fre_collection *c = &s->collection;
    fre_sketch_params grid = {.dim = c->dim, .grid = c->sketch.grid};
    placing p = {.s = s, .key = key};
    fre_sketch *sketch = NULL;
    uint64_t least;
    fre_status st = curator_plan(s, err);

    if (st != FRE_OK)
        return st;
    least = s->out->comparison.curator.mechanism.tau;
    least = c->tau < least ? c->tau : least;
    memcpy(grid.seed, c->grid_seed, sizeof grid.seed);
    p.at = calloc(s->population.rows, sizeof *p.at);
    st = p.at ? fre_sketch_new(&sketch, &grid) : FRE_E_NOMEM;
    p.grid = sketch;
    if (st == FRE_OK)
        st = fre_parallel(s->opts->threads, (s->population.rows + JOB_ROWS - 1) / JOB_ROWS,
                          place_rows, &p);
    if (st == FRE_OK) {
        qsort(p.at, s->population.rows, sizeof *p.at, by_cell);
        st = number_cells(s, p.at);
    }
    if (st == FRE_OK)
        st = choose_cells(s, p.at, &p, least);
    fre_sketch_free(sketch);
    free(p.at);
    return st == FRE_OK ? st
                        : fre_fail(err, st == FRE_E_NOMEM ? st : FRE_E_DATA,
                                   "the exact cells cannot be found: an embedding holds a NaN, an "
                                   "infinity or a number far outside the grid, or memory is short");
}

void simulate_exact_wipe(simulate_run *s)
{
    free(s->exact.row_cell);
    free(s->exact.place);
    free(s->exact.clients);
    if (s->exact.cell)
        fre_wipe(s->exact.cell, s->exact.n * sizeof *s->exact.cell);
    free(s->exact.cell);
    free(s->exact.sums);
    free(s->exact.member);
    s->exact = (simulate_exact){.n = 0};
}

/* The client's text in that cell. */
static bool text_in(const simulate_run *s, uint64_t client, uint32_t id, uint32_t *row)
{
    uint32_t cells[FRE_COLLECTION_CELLS_MAX], rows[FRE_COLLECTION_CELLS_MAX];
    const uint32_t n = simulate_client_cells(s, client, cells, rows);

    for (uint32_t i = 0; i < n; i++) {
        if (cells[i] == id) {
            *row = rows[i];
            return true;
        }
    }
    return false;
}

static fre_status add_row(simulate_run *s, simulate_cell *cell, uint32_t row)
{
    const uint32_t dim = s->population.dim;
    float *spare = malloc(dim * sizeof *spare);
    const float *x;
    fre_status st = spare ? simulate_row(&s->population, &x, spare, row, NULL) : FRE_E_NOMEM;

    if (st == FRE_OK) {
        const double norm = fre_norm(x, dim), bound = s->collection.norm_bound;
        const double scale = norm > bound ? bound / norm : 1; /* as shares are made */

        (void)pthread_mutex_lock(&s->lock);
        cell->answers++;
        for (uint32_t i = 0; i < dim; i++)
            cell->sum[i] += scale * (double)x[i];
        (void)pthread_mutex_unlock(&s->lock);
    }
    free(spare);
    return st;
}

/* The entry of a member; with two contacts its answer comes later. */
static fre_status add_member(simulate_run *s, simulate_cell *cell, uint64_t client,
                             const fre_entry *m)
{
    simulate_exact *e = &s->exact;
    fre_status st = FRE_OK;

    (void)pthread_mutex_lock(&s->lock);
    cell->members++;
    if (!s->collection.one_contact)
        st = fre_grow((void **)&e->member, &e->member_cap, e->members + 1, sizeof *e->member);
    if (st == FRE_OK && !s->collection.one_contact) {
        e->member[e->members] =
            (simulate_member){.client = client, .cell = (size_t)(cell - e->cell)};
        fre_answer_name(&e->member[e->members++].answer, &s->wire, &m->id, &m->proof);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return st;
}

static int by_client(const void *a, const void *b)
{
    const simulate_member *x = a, *y = b;

    return (x->client > y->client) - (x->client < y->client);
}

static size_t first_of(const simulate_exact *e, uint64_t client)
{
    size_t low = 0, high = e->members;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (e->member[mid].client < client)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The cell that an answer belongs to; NULL: it says nothing, or its entry was not taken.  Entries are over. */
static simulate_cell *answered_cell(simulate_run *s, uint64_t client, const fre_report_id *name)
{
    simulate_exact *e = &s->exact;

    (void)pthread_mutex_lock(&s->lock);
    if (!e->sorted && e->members > 0)
        qsort(e->member, e->members, sizeof *e->member, by_client);
    e->sorted = true;
    (void)pthread_mutex_unlock(&s->lock);
    for (size_t i = first_of(e, client); i < e->members && e->member[i].client == client; i++)
        if (memcmp(e->member[i].answer.b, name->b, sizeof name->b) == 0)
            return &e->cell[e->member[i].cell];
    return NULL;
}

/* The cell of an entry's tag; NULL: too small, or a random one. */
static simulate_cell *tagged_cell(simulate_run *s, const fre_tag *tag)
{
    const simulate_cell key = {.tag = *tag};

    return bsearch(&key, s->exact.cell, s->exact.n, sizeof key, by_tag);
}

fre_status simulate_exact_add(simulate_run *s, uint64_t client, fre_wire_type type, fre_bytes entry)
{
    simulate_cell *cell;
    fre_bytes sealed;
    fre_buf plain;
    fre_entry m;
    uint32_t row;
    fre_status st;

    fre_buf_init(&plain, FRE_WIRE_MESSAGE_MAX);
    st = fre_entry_split(&sealed, &s->wire, type, entry, NULL);
    if (st == FRE_OK)
        st = fre_entry_open(&m, &plain, &s->wire, type, &s->keys[FRE_ROLE_SYN].seal, sealed, NULL);
    if (st == FRE_OK && s->exact.n > 0) {
        cell = type == FRE_WIRE_ENTRY ? tagged_cell(s, &m.tag) : answered_cell(s, client, &m.id);
        if (cell && !text_in(s, client, cell->id, &row))
            cell = NULL;
        if (cell && type == FRE_WIRE_ENTRY)
            st = add_member(s, cell, client, &m);
        if (st == FRE_OK && cell && (type == FRE_WIRE_ANSWER || s->collection.one_contact))
            st = add_row(s, cell, row);
    }
    fre_buf_wipe(&plain);
    return st;
}
