/* curator/curator.c - one run from options to the folder; see fre/curator.h. */
#include "curator_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- plan ------------------------------------------------------------------------------------ */

static fre_status run_plan(curator_run *r, fre_err *err)
{
    fre_plan_request q = r->opts->plan;
    fre_status st;

    q.dim = r->dim;
    r->no_noise = isinf(q.epsilon) && q.epsilon > 0; /* for studies; NOT PRIVATE */
    st = curator_open_codebook(r, &q, err);
    return st != FRE_OK ? st : fre_plan_make(&r->plan, &q, err);
}

/* ---- randomness ------------------------------------------------------------------------------ */

static fre_status stream(const fre_curator_opts *o, fre_rng *rng, const char *label)
{
    return o->seeded ? fre_rng_init_seeded(rng, o->seed, label) : fre_rng_init(rng);
}

static fre_status open_streams(curator_run *r, fre_err *err)
{
    fre_rng grid = {.seeded = false}, coins = {.seeded = false};
    const struct {
        fre_rng *rng;
        const char *label;
    } streams[] = {{&grid, "grid"},
                   {&coins, "coins"},
                   {&r->counts, "counts"},
                   {&r->noise, "noise"},
                   {&r->order, "order"}};

    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        const fre_status st = stream(r->opts, streams[i].rng, streams[i].label);

        if (st != FRE_OK)
            return fre_fail(err, st, "the system's random generator is not available");
    }
    fre_rng_bytes(&grid, r->grid_seed, sizeof r->grid_seed);
    fre_rng_bytes(&coins, r->key.b, sizeof r->key.b);
    fre_rng_wipe(&grid);
    fre_rng_wipe(&coins);
    /* Sampling of texts is post-processing: its seed needs no secrecy, only to be fresh. */
    r->writer_seed = fre_rng_u64(&r->order);
    return fre_partial_key_expand(r->hash_key, &r->coins, &r->key) == FRE_OK
               ? FRE_OK
               : fre_fail(err, FRE_E_INTERNAL, "the key of the coins cannot be made");
}

/* ---- run ------------------------------------------------------------------------------------- */

static void run_wipe(curator_run *r, bool keep_spool)
{
    fre_embedder_free(r->embedder);
    fre_npy_free(r->npy);
    fre_names_free(r->names);
    fre_survey_free(r->survey);
    fre_corpus_free(r->corpus);
    fre_sketch_free(r->sketch);
    fre_codebook_free(r->codebook);
    fre_spool_free(r->spool, !keep_spool);
    fre_wipe_free(r->spool_record, r->spool_bytes);
    fre_rng_wipe(&r->counts);
    fre_rng_wipe(&r->noise);
    fre_rng_wipe(&r->order);
    fre_map_wipe(&r->texts);
    fre_map_wipe(&r->cells);
    fre_contributors_free(r->users);
    fre_wipe_free(r->text_cell, r->cap_text_cell * sizeof *r->text_cell);
    fre_wipe_free(r->text_mark, r->cap_text_mark * sizeof *r->text_mark);
    fre_wipe_free(r->text_weight, r->cap_text_weight * sizeof *r->text_weight);
    fre_wipe_free(r->text_counted, r->cap_text_counted * sizeof *r->text_counted);
    fre_wipe_free(r->text_public, r->cap_text_public * sizeof *r->text_public);
    fre_wipe_free(r->text_row, r->text_row ? r->n_texts * sizeof *r->text_row : 0);
    fre_wipe_free(r->first_row, r->cap_first_row * sizeof *r->first_row);
    fre_wipe_free(r->released, r->cap_released * sizeof *r->released);
    free(r->centroid);
    fre_partial_free(r->parts);
    fre_overlap_set_free(r->text_marks);
    fre_overlap_set_free(r->row_marks);
    fre_wipe(r, sizeof *r);
}

static fre_status make_sketch(curator_run *r, fre_err *err)
{
    fre_sketch_params sp = {.dim = r->dim, .grid = r->plan.mechanism.sketch.grid};
    fre_status st;

    if (r->plan.request.no_grid)
        return FRE_OK;
    memcpy(sp.seed, r->grid_seed, sizeof sp.seed);
    st = fre_sketch_new(&r->sketch, &sp);
    return st == FRE_OK ? st
                        : fre_fail(err, st, "the grid cannot be made: %s", fre_status_text(st));
}

/* Pass one over what is here; of parts it was the survey. */
static fre_status ingest(curator_run *r, fre_err *err)
{
    fre_status st = make_sketch(r, err);

    if (st == FRE_OK && !r->npy)
        st = curator_open_spool(r, err);
    if (st != FRE_OK)
        return st;
    st = r->npy ? curator_ingest_rows(r, err) : curator_ingest_texts(r, err);
    if (st == FRE_OK && r->corpus)
        r->content.has_bytes = fre_corpus_sha256(r->content.bytes, r->corpus);
    return st;
}

static fre_status mechanism(curator_run *r, fre_curator_result *rel, fre_inverter *inverter,
                            fre_err *err)
{
    const int64_t start = fre_clock_ms();
    int64_t middle;
    fre_status st = r->parts ? FRE_OK : ingest(r, err);

    if (st != FRE_OK)
        return st;
    middle = fre_clock_ms();
    st = curator_check_ingested(r, inverter, err);
    if (st != FRE_OK)
        return st;
    st = curator_ledger_look(r, rel, &r->content, err);
    if (st != FRE_OK)
        return st;
    st = curator_ledger_record(r, rel, err);
    if (st != FRE_OK)
        return st;
    st = curator_aggregate(r, err);
    if (st != FRE_OK)
        return st;
    rel->seconds[0] = (double)(middle - start) / 1000;
    rel->seconds[1] = (double)(fre_clock_ms() - middle) / 1000;
    rel->stats = r->stats;
    return FRE_OK;
}

static fre_inverter_opts inverter_opts(const curator_run *r)
{
    return (fre_inverter_opts){
        .path = r->opts->inverter,
        .threads = r->opts->threads,
        .seed = r->writer_seed,
        .search = r->opts->search,
        .corpus_later = true, /* its texts are embedded: after the survey */
        .progress = r->opts->progress,
    };
}

static fre_status open_inverter(curator_run *r, fre_inverter **out, fre_err *err)
{
    const fre_inverter_opts io = inverter_opts(r);

    fre_inverter_parts parts;
    fre_status st = fre_inverter_writes_text(r->opts->inverter)
                        ? fre_inverter_new(out, r->embedder, &io, err)
                        : FRE_OK;

    if (st != FRE_OK || r->opts->min_confidence <= 0)
        return st;
    parts = fre_inverter_parts_of(*out);
    return fre_release_can_weigh(&parts)
               ? FRE_OK
               : fre_fail(err, FRE_E_USAGE,
                          "{min_confidence} needs texts of the bundled inverter, for its own "
                          "embedder and without {language_model}: how sure others are is not "
                          "known");
}

static fre_status open_corpus(curator_run *r, fre_inverter *inverter, fre_err *err)
{
    const fre_inverter_opts io = inverter_opts(r);
    fre_status st = inverter ? fre_inverter_open_corpus(inverter, &io, err) : FRE_OK;

    if (st == FRE_OK && r->surveyed)
        st = curator_check_codebook(r, err);
    return st == FRE_OK && r->surveyed && inverter
               ? fre_inverter_check_sources(inverter, curator_text_marks(r), curator_row_marks(r),
                                            err)
               : st;
}

/* Everything that can be refused is refused before the first text is embedded, and what the input
 * has no part in before it is read. */
static fre_status prepare(curator_run *r, fre_curator_result *rel, fre_inverter **inverter,
                          fre_err *err)
{
    const fre_curator_opts *o = r->opts;
    fre_status st = curator_check_options(o, err);

    if (st != FRE_OK)
        return st;
    st = curator_open_inputs(r, err);
    if (st != FRE_OK)
        return st;
    st = run_plan(r, err);
    if (st != FRE_OK)
        return st;
    st = open_streams(r, err);
    if (st != FRE_OK)
        return st;
    st = open_inverter(r, inverter, err);
    if (st != FRE_OK)
        return st;
    st = curator_ledger_check(r, rel, err);
    if (st != FRE_OK)
        return st;
    st = curator_survey(r, rel, *inverter, err);
    if (st != FRE_OK)
        return st;
    st = open_corpus(r, *inverter, err);
    if (st != FRE_OK)
        return st;
    st = curator_find_leftovers(o, rel, err);
    if (st != FRE_OK)
        return st;
    rel->plan = r->plan;
    fre_release_set_plan(&rel->release, &r->plan, r->grid_seed);
    rel->release.is_private = !o->seeded && isfinite(fre_plan_certified_epsilon(&r->plan));
    rel->release.users_named = curator_has_users(o);
    rel->release.strict = curator_is_strict(o);
    curator_embedder_meta(r, &rel->release.embedder);
    rel->dry_run = o->dry_run;
    if (r->embedder)
        memcpy(rel->embedder_name, fre_embedder_info(r->embedder)->name, sizeof rel->embedder_name);
    return fre_release_statement(&rel->release.statement, &r->plan, rel->release.is_private,
                                 rel->release.users_named, rel->release.strict, err);
}

/* For the curator's eyes. */
static void about_input(const curator_run *r, fre_curator_result *rel)
{
    if (r->corpus)
        fre_corpus_get_about(r->corpus, &rel->input);
    else if (r->npy)
        fre_npy_get_about(r->npy, &rel->input);
    rel->stats = r->stats;
}

fre_status fre_curator_synthesize(fre_curator_result **out, const fre_curator_opts *opts,
                                  fre_err *err)
{
    curator_run r = {.opts = opts};
    fre_curator_result *rel = calloc(1, sizeof *rel);
    fre_inverter *inverter = NULL;
    fre_outdir *dir = NULL;
    fre_status st = FRE_OK;

    if (!rel)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    fre_map_init(&r.texts, CURATOR_KEY_BYTES);
    fre_map_init(&r.cells, FRE_CELL_BYTES);
    st = fre_outdir_open(&dir, opts->output, fre_release_files(), opts->force, err);
    if (st != FRE_OK)
        goto out;
    st = fre_contributors_new(&r.users, opts->plan.cells_per_user, opts->plan.population, err);
    if (st != FRE_OK)
        goto out;
    st = prepare(&r, rel, &inverter, err);
    if (st != FRE_OK)
        goto out;
    rel->stats = r.stats;
    if (!opts->dry_run) {
        st = mechanism(&r, rel, inverter, err);
        if (st == FRE_OK)
            st = curator_publish(&r, rel, inverter, dir, err);
        curator_ledger_conclude(rel, st, err);
    }
    if (st != FRE_OK)
        goto out;
    about_input(&r, rel);
    *out = rel;
    rel = NULL; /* handed over */
out:
    fre_outdir_free(dir);
    fre_inverter_free(inverter); /* before the embedder it borrows */
    run_wipe(&r, opts->resume && st != FRE_OK);
    fre_curator_result_free(rel);
    return st;
}

void fre_curator_result_free(fre_curator_result *r)
{
    if (!r)
        return;
    fre_release_wipe(&r->release);
    free(r->ledger);
    free(r->resume_left);
    free(r);
}
