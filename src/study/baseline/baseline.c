/* baseline/baseline.c - one run from options to the folder; see fre/baseline.h. */
#include "baseline_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The streams' labels are the curator's: with one seed both lay the same grid. */
static fre_status open_streams(baseline_run *r, uint8_t grid_seed[32], fre_err *err)
{
    fre_rng grid = {.seeded = false};
    const struct {
        fre_rng *rng;
        const char *label;
    } streams[] = {
        {&grid, "grid"}, {&r->counts, "counts"}, {&r->noise, "noise"}, {&r->order, "order"}};

    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        const fre_status st =
            r->opts->seeded ? fre_rng_init_seeded(streams[i].rng, r->opts->seed, streams[i].label)
                            : fre_rng_init(streams[i].rng);

        if (st != FRE_OK)
            return fre_fail(err, st, "the system's random generator is not available");
    }
    fre_rng_bytes(&grid, grid_seed, FRE_SEED_BYTES);
    fre_rng_wipe(&grid);
    r->writer_seed = fre_rng_u64(&r->order);
    return FRE_OK;
}

static fre_status lay_grid(baseline_run *r, fre_err *err)
{
    const fre_plan_request *q = &r->opts->plan;
    fre_release *out = &r->result->release;
    fre_status st = open_streams(r, out->grid.seed, err);

    if (st != FRE_OK)
        return st;
    out->grid.dim = r->people.dim;
    out->grid.grid = (fre_sketch_grid){
        .proj = q->proj, .cell_edge = q->cell_scale * 2 * q->radius / sqrt((double)q->proj)};
    st = fre_sketch_new(&r->sketch, &out->grid);
    return st == FRE_OK ? st
                        : fre_fail(err, st, "the grid cannot be made: %s", fre_status_text(st));
}

/* What is known of the release before anything is read. */
static fre_status describe(baseline_run *r, fre_err *err)
{
    const fre_baseline_opts *o = r->opts;
    fre_release *out = &r->result->release;

    out->threshold = o->plan.threshold;
    out->radius = o->plan.radius;
    out->norm_bound = o->plan.norm_bound;
    memcpy(out->level[0].name, "grid", sizeof "grid");
    out->level[0].sketch = (fre_sketch_spec){.kind = FRE_SKETCH_GRID, .grid = out->grid.grid};
    out->n_levels = 1;
    out->is_private = baseline_is_private(o);
    out->users_named = o->corpus.user_field || o->user_file;
    out->strict = o->corpus.invalid == FRE_CORPUS_INVALID_FAIL;
    if (r->embedder) {
        fre_embedder_rows_meta(r->embedder, &out->embedder);
        memcpy(r->result->embedder_name, fre_embedder_info(r->embedder)->name,
               sizeof r->result->embedder_name);
    } else if (fre_npy_has_meta(r->people.npy)) {
        out->embedder = *fre_npy_meta_view(r->people.npy);
    }
    r->result->plan = r->plan;
    r->result->dry_run = o->dry_run;
    return baseline_statement(&out->statement, o, &r->plan, err);
}

static fre_inverter_opts inverter_opts(const baseline_run *r)
{
    return (fre_inverter_opts){.path = r->opts->inverter,
                               .threads = r->opts->threads,
                               .seed = r->writer_seed,
                               .search = r->opts->search,
                               .corpus_later = true,
                               .progress = r->opts->progress};
}

/* What a run goes on from must be of the same arguments, models and seed. */
static void identify(baseline_run *r)
{
    const fre_baseline_opts *o = r->opts;
    const fre_evolution_opts *e = &o->evolution;
    const uint32_t whole[] = {e->samples, e->rounds, e->variations, e->look_ahead};
    uint8_t sha[FRE_HASH_BYTES];
    fre_sha256 h;

    fre_sha256_begin(&h, (fre_bytes){fre_lm_info(r->lm)->sha256, FRE_HASH_BYTES});
    fre_sha256_add(&h, fre_embedder_info(r->embedder)->sha256, FRE_HASH_BYTES);
    fre_sha256_add(&h, whole, sizeof whole);
    fre_sha256_add(&h, &e->temperature, sizeof e->temperature);
    fre_sha256_add(&h, &r->plan.count_sigma, sizeof r->plan.count_sigma);
    fre_sha256_add(&h, o->seed, o->seeded ? sizeof o->seed : 0);
    if (e->prompt)
        fre_sha256_add(&h, e->prompt, strlen(e->prompt));
    fre_sha256_end(sha, &h);
    fre_hex(r->evolution_id, sha, sizeof sha);
}

static fre_status open_writer(baseline_run *r, fre_err *err)
{
    const char *path = r->opts->search.language_model;
    const fre_lm_opts lo = {.path = path && strcmp(path, "default") != 0 ? path : NULL,
                            .threads = r->opts->threads,
                            .parts = FRE_LM_WHOLE};
    fre_status st = fre_lm_open(&r->lm, &lo, err);

    if (st == FRE_OK)
        identify(r);
    return st;
}

/* By the method. */
static fre_status make(baseline_run *r, fre_err *err)
{
    switch (r->opts->method) {
    case FRE_BASELINE_LDP_EMBEDDING:
        return baseline_local(r, err);
    case FRE_BASELINE_AUG_PE:
        return baseline_evolve(r, err);
    case FRE_BASELINE_LDP_OUE:
    case FRE_BASELINE_CENTRAL_DP:
        break;
    }
    return baseline_central(r, err);
}

static fre_status prepare(baseline_run *r, fre_err *err)
{
    fre_inverter_opts io;
    fre_status st = baseline_people_open(r, err);

    if (st == FRE_OK)
        st = fre_baseline_plan_make(&r->plan, r->opts, r->people.dim, err);
    if (st == FRE_OK)
        st = lay_grid(r, err);
    if (st == FRE_OK)
        st = describe(r, err);
    if (st != FRE_OK || r->opts->method == FRE_BASELINE_AUG_PE)
        return st == FRE_OK ? open_writer(r, err) : st;
    io = inverter_opts(r);
    return fre_inverter_writes_text(r->opts->inverter)
               ? fre_inverter_new(&r->inverter, r->embedder, &io, err)
               : st;
}

/* What the texts are put into words with must not be made of them. */
static fre_status check_sources(baseline_run *r, fre_err *err)
{
    const fre_inverter_opts io = inverter_opts(r);
    fre_overlap_set *texts = fre_survey_texts(r->people.survey);
    fre_status st = FRE_OK;

    if (!r->inverter)
        return st;
    if (r->people.corpus)
        st = fre_inverter_check_corpus(r->inverter, texts, err);
    if (st == FRE_OK)
        st = fre_inverter_open_corpus(r->inverter, &io, err);
    return st == FRE_OK ? fre_inverter_check_sources(r->inverter, texts,
                                                     fre_survey_rows(r->people.survey), err)
                        : st;
}

static fre_status run(baseline_run *r, fre_outdir *dir, fre_err *err)
{
    int64_t at[4] = {fre_clock_ms()};
    fre_status st = baseline_people_read(r, err);

    if (st == FRE_OK)
        st = check_sources(r, err);
    at[1] = fre_clock_ms();
    if (st == FRE_OK)
        st = make(r, err);
    at[2] = fre_clock_ms();
    if (st == FRE_OK)
        st = baseline_publish(r, dir, err);
    at[3] = fre_clock_ms();
    for (size_t i = 0; i < 3; i++)
        r->result->seconds[i] = (double)(at[i + 1] - at[i]) / 1000;
    return st;
}

static void run_wipe(baseline_run *r)
{
    fre_inverter_free(r->inverter); /* before the embedder it borrows */
    fre_lm_free(r->lm);
    fre_embedder_free(r->embedder);
    fre_sketch_free(r->sketch);
    fre_rng_wipe(&r->counts);
    fre_rng_wipe(&r->noise);
    fre_rng_wipe(&r->order);
    fre_map_wipe(&r->cells);
    fre_wipe_free(r->true_count, r->cap_true_count * sizeof *r->true_count);
    fre_wipe_free(r->cell_of, r->cell_of ? r->people.n * sizeof *r->cell_of : 0);
    baseline_people_wipe(&r->people);
    fre_wipe(r, sizeof *r);
}

fre_status fre_baseline_run(fre_baseline_result **out, const fre_baseline_opts *o, fre_err *err)
{
    baseline_run r = {.opts = o};
    fre_outdir *dir = NULL;
    fre_status st = FRE_OK;

    r.result = calloc(1, sizeof *r.result);
    if (!r.result)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    fre_map_init(&r.cells, FRE_CELL_BYTES);
    st = fre_outdir_open(&dir, o->output, fre_release_files(), o->force, err);
    if (st == FRE_OK)
        st = prepare(&r, err);
    if (st == FRE_OK)
        st = o->dry_run ? baseline_people_survey(&r, err) : run(&r, dir, err);
    if (st == FRE_OK) {
        *out = r.result;
        r.result = NULL; /* handed over */
    }
    fre_outdir_free(dir);
    fre_baseline_free(r.result);
    run_wipe(&r);
    return st;
}

void fre_baseline_free(fre_baseline_result *r)
{
    if (!r)
        return;
    fre_release_wipe(&r->release);
    free(r);
}
