/* A curator whose records are elsewhere is the one who has them: with a seed the same folder, byte for byte,
 * however the records are divided, ordered and added up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/codebook.h>
#include <fre/curator.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mix.h"
#include "small_release.h"
#include "temp_dir.h"

#define TEXTS 60u
#define RECORDS 1500u
#define USERS 500u
#define PARTS_MAX 20u
#define SLICES_MAX 5u

static char file[512], here[512], there[512], book[512];
static char text[TEXTS][80];
static float *x; /* TEXTS x dim */
static uint32_t dim;
static fre_codebook *codebook;

/* Record i is text of[i] of user who[i]. */
static size_t of[RECORDS], who[RECORDS];

static int make_world(void **state)
{
    static const char *const verb[] = {"book", "find", "cancel", "play", "stop",
                                       "show", "move", "send",   "open", "close"};
    static const char *const noun[] = {"a table for two", "my flight", "some music",
                                       "the weather",     "an alarm",  "the garage door"};
    const fre_embedder_opts eo = {.threads = 2};
    const char *ptr[TEXTS];
    size_t len[TEXTS];
    fre_embedder *e = NULL;

    (void)test_dir_make(state);
    (void)temp_path(file, &test_dir, "x.jsonl");
    (void)temp_path(here, &test_dir, "here");
    (void)temp_path(there, &test_dir, "there");
    (void)temp_path(book, &test_dir, "book.json");
    for (size_t i = 0; i < TEXTS; i++) {
        (void)snprintf(text[i], sizeof text[i], "please %s %s", verb[i % 10], noun[i / 10]);
        ptr[i] = text[i];
        len[i] = strlen(text[i]);
    }
    assert_int_equal(fre_embedder_new(&e, &eo, NULL), FRE_OK);
    dim = fre_embedder_info(e)->dim;
    x = calloc(TEXTS * dim, sizeof *x);
    assert_int_equal(fre_embed_texts(e, x, ptr, len, TEXTS, NULL), FRE_OK);
    assert_int_equal(
        fre_codebook_open_for(&codebook, NULL, fre_embedder_path(e), fre_embedder_info(e), NULL),
        FRE_OK);
    assert_non_null(codebook);
    fre_embedder_free(e);
    for (size_t i = 0; i < RECORDS; i++) {
        const double u = mix_real();

        of[i] = (size_t)(TEXTS * u * u * u); /* few are frequent */
        who[i] = (size_t)(mix_next() % USERS);
    }
    return 0;
}

static int free_world(void **state)
{
    free(x);
    fre_codebook_free(codebook);
    return test_dir_remove(state);
}

static void write_records(void)
{
    FILE *f = fopen(file, "wb");

    assert_non_null(f);
    for (size_t i = 0; i < RECORDS; i++)
        (void)fprintf(f, "{\"text\": \"%s\", \"who\": \"u%zu\"}\n", text[of[i]], who[i]);
    assert_int_equal(fclose(f), 0);
}

/* ---- workers ------------------------------------------------------------------------------------- */

typedef struct cluster {
    bool named;
    size_t parts;
    bool deep;  /* parts are added to others before the driver gets them */
    uint32_t
        slices; /* parts are cut, and each slice is closed before the driver gets it; 0: they are not */
    bool empty; /* nobody has a record */
    uint32_t lost_at, twice_at, fails_at; /* a stage; UINT32_MAX - 1: at none */
    uint32_t slice_lost_at, slice_twice_at, slice_part_lost_at;
    unsigned stages;
    bool below; /* the driver saw a sampled count that releases nothing */
} cluster;

#define NEVER (UINT32_MAX - 1)

static cluster sound(bool named, size_t parts)
{
    return (cluster){.named = named,
                     .parts = parts,
                     .lost_at = NEVER,
                     .twice_at = NEVER,
                     .fails_at = NEVER,
                     .slice_lost_at = NEVER,
                     .slice_twice_at = NEVER,
                     .slice_part_lost_at = NEVER};
}

/* Records of a user, in the order of the input, or of a text of nobody. */
static void add_group(const cluster *c, fre_partial_worker *w, size_t group, const uint8_t *places)
{
    const size_t place_bytes = fre_partial_worker_place_bytes(w);
    uint8_t user[FRE_COIN_ID_BYTES], id[FRE_COIN_ID_BYTES];
    char name[16];
    uint64_t n = 0;

    (void)snprintf(name, sizeof name, "u%zu", group);
    fre_partial_worker_id(w, user, (fre_bytes){(const uint8_t *)name, strlen(name)});
    for (size_t i = 0; !c->named && i < RECORDS; i++)
        n += of[i] == group;
    for (size_t i = 0; i < RECORDS; i++) {
        const float *row = x + of[i] * dim;
        const fre_bytes said = {(const uint8_t *)text[of[i]], strlen(text[of[i]])};
        fre_partial_record r = {.text = id, .records = 1, .x = row, .row = row, .text_bytes = said};

        if ((c->named ? who[i] : of[i]) != group)
            continue;
        fre_partial_worker_id(w, id, said);
        r.place = places + of[i] * place_bytes;
        if (c->named) {
            r.user = user;
            r.user_name = (fre_bytes){(const uint8_t *)name, strlen(name)};
        } else {
            r.records = n;
        }
        assert_int_equal(fre_partial_worker_add(w, &r, NULL), FRE_OK);
        if (!c->named)
            break;
    }
}

/* Groups whose share of them `part` says. */
static void make_part(const cluster *c, fre_buf *out, /* SLICES_MAX of them */
                      const size_t *order, const size_t *share, size_t groups, size_t part,
                      fre_bytes task, const fre_partial_key *key)
{
    fre_partial_worker *w = NULL;
    uint8_t *places;

    assert_int_equal(fre_partial_worker_new(&w, task, key, codebook, 1000 - part, NULL), FRE_OK);
    places = calloc(TEXTS, fre_partial_worker_place_bytes(w));
    assert_int_equal(fre_partial_worker_place(w, places, (fre_rows){x, TEXTS}, 1, NULL), FRE_OK);
    for (size_t i = 0; !c->empty && i < groups; i++)
        if (share[i] == part)
            add_group(c, w, order[i], places);
    assert_int_equal(fre_partial_worker_finish(w, out, c->slices > 0 ? c->slices : 1), FRE_OK);
    fre_partial_worker_free(w);
    free(places);
}

static fre_bytes view(const fre_buf *b)
{
    return (fre_bytes){b->p, b->n};
}

/* Adds a part, or with others at another place first. */
static fre_status deliver(const cluster *c, fre_partial *sum, fre_buf *part, size_t n,
                          fre_bytes task, fre_err *err)
{
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < n;) {
        const size_t group = c->deep ? 1 + (size_t)(mix_next() % 5) : 1;
        fre_partial *some = NULL;
        fre_buf bytes;

        fre_buf_init(&bytes, FRE_PARTIAL_BYTES_MAX);
        assert_int_equal(fre_partial_new(&some, task, NULL), FRE_OK);
        for (size_t k = 0; k < group && i < n; k++, i++)
            assert_int_equal(fre_partial_add(some, view(&part[i * SLICES_MAX]), NULL), FRE_OK);
        assert_int_equal(fre_partial_encode(&bytes, some), FRE_OK);
        st = fre_partial_add(sum, c->deep ? view(&bytes) : view(&part[(i - 1) * SLICES_MAX]), err);
        fre_partial_free(some);
        fre_buf_wipe(&bytes);
    }
    return st;
}

/* A slice of all parts, closed. */
static fre_status slice_of_all(const cluster *c, fre_buf *out, const fre_buf *part, size_t slice,
                               fre_bytes task, fre_err *err)
{
    fre_partial *all = NULL;
    size_t lost = PARTS_MAX;
    fre_status st;

    assert_int_equal(fre_partial_new(&all, task, NULL), FRE_OK);
    if (c->slice_part_lost_at == fre_partial_task_view(all)->stage && slice == c->slices - 1)
        lost = 0;
    for (size_t i = 0; i < c->parts; i++)
        if (i != lost)
            assert_int_equal(fre_partial_add(all, view(&part[i * SLICES_MAX + slice]), NULL),
                             FRE_OK);
    st = fre_partial_close(all, c->parts, err);
    if (st == FRE_OK)
        assert_int_equal(fre_partial_encode(out, all), FRE_OK);
    fre_partial_free(all);
    return st;
}

/* From the last to the first. */
static fre_status deliver_slices(const cluster *c, fre_partial *sum, const fre_buf *part,
                                 fre_bytes task, fre_err *err)
{
    const uint32_t at = fre_partial_task_view(sum)->stage;
    fre_status st = FRE_OK;

    for (size_t s = c->slices; st == FRE_OK && s > (c->slice_lost_at == at); s--) {
        fre_buf b;

        fre_buf_init(&b, FRE_PARTIAL_BYTES_MAX);
        st = slice_of_all(c, &b, part, s - 1, task, err);
        if (st == FRE_OK)
            st = fre_partial_add(sum, view(&b), err);
        if (st == FRE_OK && c->slice_twice_at == at)
            st = fre_partial_add(sum, view(&b), err);
        fre_buf_wipe(&b);
    }
    return st;
}

static void note_below(cluster *c, const fre_partial *sum)
{
    const fre_partial_task *t = fre_partial_task_view(sum);

    if (t->stage == FRE_PARTIAL_SUMS || t->terms.level[t->stage].counts != FRE_COUNTS_SAMPLED)
        return;
    for (size_t i = 0; i < fre_partial_cells(sum); i++) {
        fre_partial_cell cell;
        const int64_t *none;
        const uint64_t n = fre_partial_cell_view(sum, i, &cell, &none);

        c->below |= n < t->terms.level[t->stage].tau;
    }
}

static fre_status stage(void *ctx, fre_partial *sum, fre_bytes task, const fre_partial_key *key,
                        fre_err *err)
{
    cluster *c = ctx;
    const size_t groups = c->named ? USERS : TEXTS;
    const uint32_t at = fre_partial_task_view(sum)->stage;
    size_t order[USERS], share[USERS], n = c->parts;
    fre_buf part[PARTS_MAX * SLICES_MAX];
    fre_status st;

    c->stages++;
    if (c->fails_at == at)
        return fre_fail(err, FRE_E_IO, "worker seven is out of ink: refill it");
    for (size_t i = 0; i < groups; i++) {
        const size_t j = (size_t)(mix_next() % (i + 1));

        order[i] = order[j];
        order[j] = i;
        share[i] = (size_t)(mix_next() % c->parts);
    }
    for (size_t i = 0; i < PARTS_MAX * SLICES_MAX; i++)
        fre_buf_init(&part[i], FRE_PARTIAL_BYTES_MAX);
    for (size_t i = 0; i < n; i++)
        make_part(c, &part[i * SLICES_MAX], order, share, groups, i, task, key);
    st = c->slices > 0 ? deliver_slices(c, sum, part, task, err)
                       : deliver(c, sum, part, c->lost_at == at ? n - 1 : n, task, err);
    if (c->twice_at == at)
        st = fre_partial_add(sum, view(&part[0]), err);
    if (st == FRE_OK)
        note_below(c, sum);
    for (size_t i = 0; i < PARTS_MAX * SLICES_MAX; i++)
        fre_buf_wipe(&part[i]);
    return st;
}

/* ---- both ---------------------------------------------------------------------------------------- */

static fre_curator_opts options(bool named)
{
    fre_curator_opts o = small_release(file, here);

    o.plan.threshold = 40;
    o.plan.population = 2000;
    o.plan.sampling_rate = 0;
    o.plan.cells_per_user = named ? 2 : 1;
    o.corpus.user_field = named ? "who" : NULL;
    o.force = true;
    o.seeded = true;
    memset(o.seed, 0x5e, sizeof o.seed);
    return o;
}

static fre_status run(fre_curator_result **out, const fre_curator_opts *o)
{
    fre_err err = {.text = ""};
    const fre_status st = fre_curator_synthesize(out, o, &err);

    if (st != FRE_OK)
        print_message("%s\n", err.text);
    return st;
}

static fre_curator_opts elsewhere(const fre_curator_opts *o, const fre_curator_parts *parts)
{
    fre_curator_opts p = *o;

    p.parts = parts;
    p.output = there;
    p.corpus.user_field = NULL;
    return p;
}

static void assert_same_file(const char *name)
{
    static char a[1 << 22], b[1 << 22];
    char path[1200];
    long n;

    (void)snprintf(path, sizeof path, "%s/%s", here, name);
    n = read_file(path, a, sizeof a);
    (void)snprintf(path, sizeof path, "%s/%s", there, name);
    assert_true(n >= 0);
    assert_int_equal(read_file(path, b, sizeof b), n);
    assert_memory_equal(a, b, (size_t)n);
}

/* The same folder, from records here and from parts of several sizes. */
static void assert_same(const fre_curator_opts *o, size_t least_cells)
{
    static const size_t parts[] = {1, 7, PARTS_MAX, 6};
    const bool named = o->corpus.user_field != NULL;
    fre_curator_result *r = NULL;

    write_records();
    assert_int_equal(run(&r, o), FRE_OK);
    assert_true(r->release.n >= least_cells);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        cluster c = sound(named, parts[i]);
        const fre_curator_parts of_parts = {.ctx = &c, .stage = stage, .users_named = named};
        const fre_curator_opts p = elsewhere(o, &of_parts);
        fre_curator_result *far = NULL;

        c.deep = i == 1;
        c.slices = i < 2 ? 0 : SLICES_MAX - (uint32_t)i % 3;
        assert_int_equal(run(&far, &p), FRE_OK);
        assert_int_equal(far->release.n, r->release.n);
        assert_int_equal(far->stats.users, r->stats.users);
        assert_int_equal(far->stats.records, r->stats.records);
        assert_int_equal(far->stats.contributed, r->stats.contributed);
        assert_int_equal(far->stats.cells, o->plan.no_grid ? 0 : r->stats.cells);
        assert_int_equal(c.below, c.slices == 0 && !o->plan.no_grid);
        assert_int_equal(c.stages, o->plan.n_levels + !o->plan.no_grid + (r->release.n > 0));
        assert_same_file("release.json");
        assert_same_file("centroids.npy");
        assert_same_file("counts.npy");
        assert_same_file("synthetic.jsonl");
        fre_curator_result_free(far);
    }
    fre_curator_result_free(r);
}

static void grid_with_users(void **state)
{
    const fre_curator_opts o = options(true);

    (void)state;
    assert_same(&o, 3);
}

static void grid_of_nobody(void **state)
{
    fre_curator_opts o = options(false);

    (void)state;
    assert_same(&o, 3);
    o.plan.epsilon = INFINITY; /* what there was before the noise */
    assert_same(&o, 3);
}

static void levels(fre_curator_opts *o, const char *list, fre_counts counts)
{
    assert_int_equal(fre_plan_request_levels(&o->plan, list, .6, counts, NULL), FRE_OK);
}

static void levels_with_users(void **state)
{
    fre_curator_opts o = options(true);

    (void)state;
    levels(&o, "4096,1024,256", FRE_COUNTS_NOISY);
    assert_same(&o, 3);
    o.plan.epsilon = INFINITY;
    assert_same(&o, 3);
}

static void sampled_levels_of_nobody(void **state)
{
    fre_curator_opts o = options(false);

    (void)state;
    levels(&o, "grid,1024,256", FRE_COUNTS_SAMPLED);
    assert_same(&o, 3);
}

/* A file's order is not in a seeded release either. */
static void order_is_not_released(void **state)
{
    fre_curator_opts o = options(false);
    fre_curator_result *r = NULL;

    (void)state;
    write_records();
    assert_int_equal(run(&r, &o), FRE_OK);
    fre_curator_result_free(r);
    for (size_t i = RECORDS; i > 1; i--) {
        const size_t j = (size_t)(mix_next() % i), t = of[i - 1];

        of[i - 1] = of[j];
        of[j] = t;
    }
    write_records();
    o.output = there;
    assert_int_equal(run(&r, &o), FRE_OK);
    fre_curator_result_free(r);
    assert_same_file("centroids.npy");
    assert_same_file("synthetic.jsonl");
}

/* ---- what goes wrong ------------------------------------------------------------------------------ */

static fre_status with(cluster *c, fre_curator_opts o, fre_err *err)
{
    const fre_curator_parts of_parts = {.ctx = c, .stage = stage, .users_named = c->named};
    const fre_curator_opts p = elsewhere(&o, &of_parts);
    fre_curator_result *r = NULL;
    const fre_status st = fre_curator_synthesize(&r, &p, err);

    assert_int_equal(st == FRE_OK, r != NULL);
    fre_curator_result_free(r);
    return st;
}

static void refused(void **state)
{
    fre_curator_opts o = options(true);
    fre_err err = {.text = ""};
    cluster c = sound(true, 5);

    (void)state;
    o.plan.population = USERS / 2;
    assert_int_equal(with(&c, o, &err), FRE_E_DATA);
    assert_int_equal(c.stages, 1);
    o = options(true);
    c = sound(true, 5);
    c.empty = true;
    assert_int_equal(with(&c, o, &err), FRE_E_NOINPUT);
    c = sound(true, 5);
    c.lost_at = FRE_PARTIAL_SUMS;
    assert_int_equal(with(&c, o, &err), FRE_E_AGAIN);
    c = sound(true, 5);
    c.lost_at = 0; /* and all are there at the next */
    assert_int_equal(with(&c, o, &err), FRE_E_AGAIN);
    c = sound(true, 5);
    c.twice_at = 0;
    assert_int_equal(with(&c, o, &err), FRE_E_DATA);
    c = sound(true, 5);
    c.slices = SLICES_MAX;
    c.slice_lost_at = 0;
    assert_int_equal(with(&c, o, &err), FRE_E_DATA);
    assert_non_null(strstr(err.text, "slices of a stage are missing"));
    c = sound(true, 5);
    c.slices = SLICES_MAX;
    c.slice_twice_at = FRE_PARTIAL_SUMS;
    assert_int_equal(with(&c, o, &err), FRE_E_DATA);
    assert_non_null(strstr(err.text, "a slice is there twice"));
    c = sound(true, 5);
    c.slices = SLICES_MAX;
    c.slice_part_lost_at = 0;
    assert_int_equal(with(&c, o, &err), FRE_E_DATA);
    assert_non_null(strstr(err.text, "5 parts of a stage were made, and 4 are here"));
    c = sound(true, 5);
    c.fails_at = FRE_PARTIAL_SUMS;
    assert_int_equal(with(&c, o, &err), FRE_E_IO);
    assert_string_equal(err.text, "worker seven is out of ink: refill it");
    o.resume = true;
    assert_int_equal(with(&c, o, &err), FRE_E_USAGE);
}

/* Both are releases of the same data to the ledger, and the second is too much for the budget. */
static void booked_as_the_same_data(void **state)
{
    cluster c = sound(true, 5);
    const fre_curator_parts of_parts = {.ctx = &c, .stage = stage, .users_named = true};
    fre_curator_opts o = options(true), p;
    fre_curator_result *r = NULL;
    fre_err err = {.text = ""};

    (void)state;
    c.slices = 3;
    (void)unlink(book);
    write_records();
    o.seeded = false;
    o.ledger = book;
    assert_int_equal(run(&r, &o), FRE_OK);
    assert_int_equal(r->receipt.sum.releases, 1);
    fre_curator_result_free(r);
    p = elsewhere(&o, &of_parts);
    assert_int_equal(run(&r, &p), FRE_OK);
    assert_true(r->recorded && r->release.is_private);
    assert_int_equal(r->receipt.sum.releases, 2);
    fre_curator_result_free(r);
    p.budget_epsilon = 2.5 * SMALL_EPSILON;
    c.stages = 0;
    assert_int_equal(fre_curator_synthesize(&r, &p, &err), FRE_E_REFUSED);
    assert_int_equal(c.stages, 1); /* nothing but the first look */
}

/* A dry run looks, and asks for nothing else. */
static void dry_run(void **state)
{
    cluster c = sound(true, 5);
    const fre_curator_parts of_parts = {.ctx = &c, .stage = stage, .users_named = true};
    fre_curator_opts o = options(true), p = elsewhere(&o, &of_parts);
    fre_curator_result *r = NULL;

    (void)state;
    c.deep = true;
    p.dry_run = true;
    assert_int_equal(run(&r, &p), FRE_OK);
    assert_int_equal(r->stats.records, RECORDS);
    assert_int_equal(c.stages, 1);
    fre_curator_result_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grid_with_users),
        cmocka_unit_test(grid_of_nobody),
        cmocka_unit_test(levels_with_users),
        cmocka_unit_test(sampled_levels_of_nobody),
        cmocka_unit_test(order_is_not_released),
        cmocka_unit_test(refused),
        cmocka_unit_test(booked_as_the_same_data),
        cmocka_unit_test(dry_run),
    };

    return cmocka_run_group_tests(tests, make_world, free_world);
}
