/* curator/curator.c - one run from options to the folder; see fre/curator.h. */
#include "internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- plan ------------------------------------------------------------------------------------ */

static fre_status run_plan(curator_run *r, fre_err *err)
{
    fre_plan_request q = r->opts->plan;

    q.dim = r->dim;
    r->no_noise = isinf(q.epsilon) && q.epsilon > 0; /* for studies; NOT PRIVATE */
    return fre_plan_make(&r->plan, &q, err);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static bool wants_text(const fre_curator_opts *o)
{
    return !o->inverter || strcmp(o->inverter, "none") != 0;
}

static fre_status open_embedder(curator_run *r, fre_err *err)
{
    const fre_embedder_opts eo = {.path = r->opts->embedder, .threads = r->opts->threads};
    fre_status st = fre_embedder_new(&r->embedder, &eo, err);

    if (st == FRE_OK && !r->npy)
        r->dim = fre_embedder_info(r->embedder)->dim;
    return st;
}

/* Takes in over. */
static fre_status open_rows(curator_run *r, fre_input *in, fre_err *err)
{
    const fre_corpus_opts *o = &r->opts->corpus;
    fre_status st;

    if (r->opts->corpus.user_field && !r->opts->user_file) {
        fre_input_free(in);
        return fre_fail(
            err, FRE_E_USAGE,
            "a .npy file has no fields: name the file with its users, {user_file} FILE");
    }
    /* The other options are about the file with the users, if there is one. */
    st = fre_npy_open_input(
        &r->npy, in, r->opts->user_file ? &(fre_corpus_opts){.text_field = o->text_field} : o, err);
    if (st == FRE_OK)
        r->dim = (uint32_t)fre_npy_dim(r->npy);
    if (st == FRE_OK && r->dim > FRE_SKETCH_DIM_MAX)
        st = fre_fail(err, FRE_E_DATA, "%s has more than %u columns", r->opts->input,
                      FRE_SKETCH_DIM_MAX);
    if (st == FRE_OK && r->opts->user_file)
        st = fre_names_open(&r->names, r->opts->user_file, &r->opts->corpus, err);
    if (st == FRE_OK && r->names)
        st = fre_names_check(r->names, fre_npy_rows(r->npy), err);
    return st;
}

/* Takes in over. */
static fre_status open_texts(curator_run *r, fre_input *in, fre_err *err)
{
    if (r->opts->user_file) {
        fre_input_free(in);
        return fre_fail(err, FRE_E_USAGE,
                        "{user_file} is for a .npy file: texts have a field with their user, "
                        "{user_field} F");
    }
    return fre_corpus_open_input(&r->corpus, in, &r->opts->corpus, err);
}

/* The input is opened here, and nowhere again. */
static fre_status open_inputs(curator_run *r, fre_err *err)
{
    fre_input *in = NULL;
    fre_err why = {.text = ""};
    fre_status st = fre_input_open(&in, r->opts->input, false, err);

    if (st == FRE_OK)
        st = fre_input_is_npy(in, &r->opts->corpus) ? open_rows(r, in, err) : open_texts(r, in, err);
    if (st == FRE_OK && r->npy && !r->names && fre_npy_rows(r->npy) > r->opts->plan.population)
        st = fre_contributors_too_many(r->opts->plan.population, err);
    if (st == FRE_OK && (!r->npy || wants_text(r->opts)))
        st = open_embedder(r, err);
    if (st == FRE_OK && r->npy && r->embedder)
        st = fre_embedder_check_rows(r->embedder, r->npy, r->opts->input, &why);
    return st == FRE_OK || !why.text[0]
               ? st
               : fre_fail(err, st, "%s, or pass {inverter} none", why.text);
}

void curator_embedder_meta(const curator_run *r, fre_npy_meta *out)
{
    memset(out, 0, sizeof *out);
    if (r->embedder) {
        const fre_model_info *info = fre_embedder_info(r->embedder);

        memcpy(out->embedder, info->name, sizeof out->embedder);
        fre_hex(out->sha256, info->sha256, FRE_HASH_BYTES);
    } else if (r->npy && fre_npy_has_meta(r->npy)) {
        *out = *fre_npy_meta_view(r->npy);
    }
    out->normalised = false; /* a centroid's norm is not 1 */
}

/* ---- survey ---------------------------------------------------------------------------------- */

#define SURVEY_ROWS 1024u

static void show_survey(curator_run *r)
{
    fre_survey_counts n;

    r->surveyed = true;
    fre_survey_count(&n, r->survey, r->opts->plan.threshold);
    r->stats.records = n.records;
    r->stats.users = n.users;
    r->stats.distinct = n.distinct;
    r->stats.empty += n.empty; /* 0 where the intake counted */
    r->stats.invalid += n.invalid;
    r->stats.counted = n.counted;
    r->stats.repeated_texts = n.repeated_texts;
    r->stats.repeated_records = n.repeated_records;
    r->stats.wordless = n.no_word + n.unknown;
    if (r->opts->dry_run) /* else the intake counts */
        r->stats.text =
            (fre_text_counts){.records = n.records, .empty = n.no_word, .unknown = n.unknown};
    if (r->opts->looked)
        r->opts->looked(r->opts->looked_ctx, &r->stats);
}

/* Where it can be read twice, what can be refused is refused before the first text is embedded.  A
 * dry run reads whatever it is given. */
static bool can_survey_first(const curator_run *r)
{
    return r->opts->dry_run || r->npy || fre_corpus_can_again(r->corpus);
}

static fre_status check_corpus(const curator_run *r, fre_inverter *inverter, fre_err *err)
{
    return r->npy ? FRE_OK : fre_inverter_check_corpus(inverter, fre_survey_texts(r->survey), err);
}

/* From what holds nothing to release, nothing is: a refusal before any budget is spent. */
static fre_status check_any(const curator_run *r, fre_err *err)
{
    return fre_survey_check_any(r->survey, r->opts->input, err);
}

static void see_record(void *ctx, const fre_record *rec)
{
    curator_run *r = ctx;

    if (!r->books)
        return;
    fre_ledger_add_text(&r->ahead, rec->text, rec->text_len);
    if (rec->user)
        fre_ledger_add_user(&r->ahead, rec->user, rec->user_len);
}

static fre_status survey_texts(curator_run *r, fre_err *err)
{
    fre_status st = fre_corpus_can_again(r->corpus)
                        ? fre_corpus_again(r->corpus, r->content.salt, err)
                        : FRE_OK;

    if (st == FRE_OK)
        st = fre_survey_add_corpus(r->survey, r->corpus, err);
    if (st == FRE_OK)
        r->ahead.has_bytes = fre_corpus_sha256(r->ahead.bytes, r->corpus);
    return st;
}

static fre_status survey_rows(curator_run *r, fre_err *err)
{
    const size_t rows = fre_npy_rows(r->npy);
    float *x = calloc(SURVEY_ROWS * (size_t)r->dim, sizeof *x);
    fre_status st = x ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "out of memory");

    for (size_t from = 0, n = 0; st == FRE_OK && from < rows; from += n) {
        n = rows - from < SURVEY_ROWS ? rows - from : SURVEY_ROWS;
        st = fre_interrupted() ? fre_fail(err, FRE_E_INTERRUPTED, "interrupted")
                               : curator_rows(r, x, from, n, err);
        for (size_t i = 0; st == FRE_OK && i < n; i++) {
            st = fre_survey_add_npy_row(r->survey, NULL, x + i * r->dim, r->npy, r->names, from + i,
                                        curator_is_strict(r->opts), err);
            if (r->books && curator_row_is_usable(r, from + i))
                fre_ledger_add_row(&r->ahead, x + i * r->dim, r->dim);
        }
        fre_progress_update(r->opts->progress, "reading", from, rows);
    }
    fre_wipe_free(x, SURVEY_ROWS * (size_t)r->dim * sizeof *x);
    return st == FRE_OK ? fre_survey_end_rows(r->survey, err) : st;
}

/* The file's bytes are a key of the data in the ledger. */
static fre_status hash_rows_file(curator_run *r, fre_err *err)
{
    const fre_bytes salt = {r->content.salt, sizeof r->content.salt};

    return r->npy && r->books
               ? fre_npy_sha256(r->content.bytes, &r->content.has_bytes, r->npy, salt, err)
               : FRE_OK;
}

static fre_status survey(curator_run *r, fre_curator_result *rel, fre_inverter *inverter,
                         fre_err *err)
{
    const fre_curator_opts *o = r->opts;
    const fre_survey_opts so = {.cells_per_user = o->plan.cells_per_user,
                                .population = o->plan.population,
                                .progress = o->progress,
                                .seen = see_record,
                                .seen_ctx = r,
                                .kind = r->npy ? NULL : fre_embedder_kind,
                                .kind_ctx = r->embedder};
    fre_status st = fre_survey_new(&r->survey, &so, err);

    if (st != FRE_OK || !can_survey_first(r))
        return st;
    st = hash_rows_file(r, err);
    r->ahead = r->content;
    if (st == FRE_OK)
        st = r->npy ? survey_rows(r, err) : survey_texts(r, err);
    if (st == FRE_OK)
        st = check_any(r, err);
    if (st == FRE_OK)
        st = curator_ledger_look(r, rel, &r->ahead, err);
    if (st != FRE_OK)
        return st;
    show_survey(r);
    st = check_corpus(r, inverter, err);
    return st == FRE_OK && r->corpus && !o->dry_run
               ? fre_corpus_again(r->corpus, r->content.salt, err)
               : st;
}

/* Behind the intake of what could be read only once: still before anything is spent or released. */
static fre_status check_late(curator_run *r, fre_inverter *inverter, fre_err *err)
{
    fre_status st = FRE_OK;

    if (!r->surveyed) {
        st = check_any(r, err);
        if (st == FRE_OK) {
            show_survey(r);
            st = check_corpus(r, inverter, err);
        }
    }
    if (st == FRE_OK && inverter)
        st = fre_inverter_check_sources(inverter, fre_survey_texts(r->survey),
                                        fre_survey_rows(r->survey), err);
    return st;
}

/* ---- randomness ------------------------------------------------------------------------------ */

static fre_status stream(const fre_curator_opts *o, fre_rng *rng, const char *label)
{
    return o->seeded ? fre_rng_init_seeded(rng, o->seed, label) : fre_rng_init(rng);
}

static fre_status open_streams(curator_run *r, fre_err *err)
{
    fre_rng grid;
    fre_status st = stream(r->opts, &grid, "grid");

    if (st == FRE_OK) {
        fre_rng_bytes(&grid, r->grid_seed, sizeof r->grid_seed);
        fre_rng_bytes(&grid, r->hash_key, sizeof r->hash_key);
        fre_rng_wipe(&grid);
        st = stream(r->opts, &r->coins, "coins");
    }
    if (st == FRE_OK)
        st = stream(r->opts, &r->noise, "noise");
    if (st == FRE_OK)
        st = stream(r->opts, &r->order, "order");
    if (st != FRE_OK)
        return fre_fail(err, st, "the system's random generator is not available");
    /* Sampling of texts is post-processing: its seed needs no secrecy, only to be fresh. */
    r->writer_seed = fre_rng_u64(&r->order);
    return FRE_OK;
}

/* ---- spool ----------------------------------------------------------------------------------- */

/* Record 0: what a resumed run must agree with, and the key of the texts' hashes. */
typedef struct spool_header {
    char magic[16];
    uint8_t hash_key[32]; /* SECRET: the spool is encrypted */
    uint8_t embedder[FRE_HASH_BYTES];
} spool_header;

#define SPOOL_MAGIC "fre-e2t spool 2"

static fre_status spool_begin(curator_run *r, fre_err *err)
{
    const uint8_t *sha = fre_embedder_info(r->embedder)->sha256;
    spool_header h;
    fre_status st;

    memset(r->spool_record, 0, r->spool_bytes);
    if (fre_spool_count(r->spool) == 0) {
        memcpy(h.magic, SPOOL_MAGIC, sizeof h.magic);
        memcpy(h.hash_key, r->hash_key, sizeof h.hash_key);
        memcpy(h.embedder, sha, sizeof h.embedder);
        memcpy(r->spool_record, &h, sizeof h);
        st = fre_spool_append(r->spool, r->spool_record, err);
    } else {
        st = fre_spool_rewind(r->spool, err);
        if (st == FRE_OK)
            st = fre_spool_next(r->spool, r->spool_record, err);
        memcpy(&h, r->spool_record, sizeof h);
        if (st == FRE_OK && (memcmp(h.magic, SPOOL_MAGIC, sizeof h.magic) != 0 ||
                             memcmp(h.embedder, sha, sizeof h.embedder) != 0))
            st = fre_fail(err, FRE_E_DATA,
                          "the interrupted run used another embedder; run without {resume}, or "
                          "remove %s.resume.*",
                          r->opts->output);
        memcpy(r->hash_key, h.hash_key, sizeof h.hash_key);
    }
    fre_wipe(&h, sizeof h);
    return st;
}

/* The spool and its key lie beside the folder, whose name may end in slashes.  free() it. */
static char *resume_path(const fre_curator_opts *o)
{
    size_t n = strlen(o->output);
    char *path = NULL;

    while (n > 1 && o->output[n - 1] == '/')
        n--;
    return asprintf(&path, "%.*s.resume", (int)n, o->output) < 0 ? NULL : path;
}

static bool exists_beside(const char *path, const char *ending)
{
    char *name = NULL;
    bool is_there = asprintf(&name, "%s%s", path, ending) >= 0 && access(name, F_OK) == 0;

    free(name);
    return is_there;
}

/* A killed run with --resume left its files, and this one does not go on from them: they hold
 * encrypted embeddings and the key, so nobody should forget them. */
static fre_status find_leftovers(const fre_curator_opts *o, fre_curator_result *rel, fre_err *err)
{
    char *path;

    if (o->resume)
        return FRE_OK;
    path = resume_path(o);
    if (!path)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    if (exists_beside(path, ".spool") || exists_beside(path, ".key"))
        rel->resume_left = path;
    else
        free(path);
    return FRE_OK;
}

static fre_status open_spool(curator_run *r, fre_err *err)
{
    const size_t row = CURATOR_KEY_BYTES + (size_t)r->dim * sizeof(float) + 1; /* its mark */
    fre_spool_opts so = {0};
    char *path = NULL;
    fre_status st;

    so.record_bytes = row > sizeof(spool_header) ? row : sizeof(spool_header);
    r->spool_bytes = so.record_bytes;
    r->spool_record = calloc(1, r->spool_bytes);
    if (!r->spool_record)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    if (r->opts->resume) {
        path = resume_path(r->opts);
        if (!path)
            return fre_fail(err, FRE_E_NOMEM, "out of memory");
        so.resume_path = path;
    }
    st = fre_spool_open(&r->spool, &so, err);
    free(path);
    return st == FRE_OK ? spool_begin(r, err) : st;
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
    fre_spool_free(r->spool, !keep_spool);
    fre_wipe_free(r->spool_record, r->spool_bytes);
    fre_rng_wipe(&r->coins);
    fre_rng_wipe(&r->noise);
    fre_rng_wipe(&r->order);
    fre_map_wipe(&r->texts);
    fre_map_wipe(&r->cells);
    fre_contributors_free(r->users);
    fre_wipe_free(r->text_cell, r->cap_text_cell * sizeof *r->text_cell);
    fre_wipe_free(r->text_mark, r->cap_text_mark * sizeof *r->text_mark);
    fre_wipe_free(r->text_sampled, r->cap_text_sampled * sizeof *r->text_sampled);
    fre_wipe_free(r->cell_count, r->cap_cell_count * sizeof *r->cell_count);
    fre_wipe_free(r->first_row, r->cap_first_row * sizeof *r->first_row);
    free(r->released);
    free(r->centroid);
    fre_wipe(r, sizeof *r);
}

static fre_status make_sketch(curator_run *r, fre_err *err)
{
    fre_sketch_params sp = {
        .dim = r->dim, .proj = r->plan.mechanism.proj, .cell_edge = r->plan.mechanism.cell_edge};
    fre_status st;

    memcpy(sp.seed, r->grid_seed, sizeof sp.seed);
    st = fre_sketch_new(&r->sketch, &sp);
    return st == FRE_OK ? st
                        : fre_fail(err, st, "the grid cannot be made: %s", fre_status_text(st));
}

static fre_status mechanism(curator_run *r, fre_curator_result *rel, fre_inverter *inverter,
                            fre_err *err)
{
    const int64_t start = fre_clock_ms();
    int64_t middle;
    fre_status st = make_sketch(r, err);

    if (st == FRE_OK && !r->npy)
        st = open_spool(r, err);
    if (st == FRE_OK)
        st = r->npy ? curator_intake_rows(r, err) : curator_intake_texts(r, err);
    if (st == FRE_OK && r->corpus)
        r->content.has_bytes = fre_corpus_sha256(r->content.bytes, r->corpus);
    middle = fre_clock_ms();
    if (st == FRE_OK)
        st = check_late(r, inverter, err);
    if (st == FRE_OK)
        st = curator_ledger_look(r, rel, &r->content, err);
    if (st == FRE_OK)
        st = curator_aggregate(r, err);
    rel->seconds[0] = (double)(middle - start) / 1000;
    rel->seconds[1] = (double)(fre_clock_ms() - middle) / 1000;
    rel->stats = r->stats;
    return st;
}

/* What was released, out of the run's tables. */
static fre_status fill_release(curator_run *r, fre_release *out, fre_err *err)
{
    const fre_mechanism *m = &r->plan.mechanism;

    out->cell = calloc(r->n_released + 1, sizeof *out->cell);
    out->cell_name = calloc(r->n_released + 1, sizeof *out->cell_name);
    if (!out->cell || !out->cell_name)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    out->n = r->n_released;
    out->centroid = r->centroid; /* moved */
    r->centroid = NULL;
    for (size_t i = 0; i < out->n; i++) {
        fre_released_cell *c = &out->cell[i];

        c->count = r->cell_count[r->released[i]];
        c->answers = c->count;
        c->users = (double)c->count * (double)FRE_P_ONE / (double)m->p32;
        c->noise_norm = m->sigma * sqrt((double)r->dim) / (double)c->count;
        memcpy(out->cell_name[i].bytes, r->cells.keys + (size_t)r->released[i] * FRE_CELL_BYTES,
               FRE_CELL_BYTES);
    }
    return FRE_OK;
}

static fre_status vary_cells(const curator_run *r, fre_release *out, fre_inverter *inverter,
                             const double *std, fre_err *err)
{
    const fre_paraphraser_opts o = {
        .embedder = r->embedder,
        .lm = fre_inverter_lm(inverter),
        .inverter = inverter,
        .paraphrases = r->opts->paraphrases,
        .temperature = r->opts->temperature,
        .distance = r->opts->paraphrase_distance,
        .seed = r->writer_seed,
    };
    fre_paraphraser *p = NULL;
    fre_status st;

    if (o.paraphrases == 0)
        return FRE_OK;
    st = fre_paraphraser_new(&p, &o, err);
    if (st == FRE_OK)
        st = fre_release_paraphrase(out, p, std, r->opts->progress, err);
    fre_paraphraser_free(p);
    return st;
}

static fre_status write_texts(const curator_run *r, fre_release *out, fre_inverter *inverter,
                              fre_err *err)
{
    double *std = calloc(out->n + 1, sizeof *std);
    fre_status st;

    if (!std)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < out->n; i++)
        std[i] = r->plan.mechanism.sigma / (double)out->cell[i].count;
    st = fre_release_invert(out, inverter, std, r->opts->progress, err);
    if (st == FRE_OK)
        st = vary_cells(r, out, inverter, std, err);
    free(std);
    return st;
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

    return wants_text(r->opts) ? fre_inverter_new(out, r->embedder, &io, err) : FRE_OK;
}

static fre_status open_corpus(curator_run *r, fre_inverter *inverter, fre_err *err)
{
    const fre_inverter_opts io = inverter_opts(r);
    fre_status st = inverter ? fre_inverter_open_corpus(inverter, &io, err) : FRE_OK;

    return st == FRE_OK && r->surveyed && inverter
               ? fre_inverter_check_sources(inverter, fre_survey_texts(r->survey),
                                            fre_survey_rows(r->survey), err)
               : st;
}

/* Everything that can be refused is refused before the first text is embedded, and what the input
 * has no part in before it is read. */
static fre_status prepare(curator_run *r, fre_curator_result *rel, fre_inverter **inverter,
                          fre_err *err)
{
    const fre_curator_opts *o = r->opts;
    fre_status st = open_inputs(r, err);

    if (st == FRE_OK)
        st = run_plan(r, err);
    if (st == FRE_OK)
        st = open_streams(r, err);
    if (st == FRE_OK)
        st = open_inverter(r, inverter, err);
    if (st == FRE_OK)
        st = curator_ledger_check(r, rel, err);
    if (st == FRE_OK)
        st = survey(r, rel, *inverter, err);
    if (st == FRE_OK)
        st = open_corpus(r, *inverter, err);
    if (st != FRE_OK)
        return st;
    st = find_leftovers(o, rel, err);
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

static fre_status publish(curator_run *r, fre_curator_result *rel, fre_inverter *inverter,
                          fre_outdir *dir, fre_err *err)
{
    const int64_t start = fre_clock_ms();
    fre_status st = fill_release(r, &rel->release, err);

    if (st == FRE_OK && inverter)
        st = write_texts(r, &rel->release, inverter, err);
    rel->seconds[2] = (double)(fre_clock_ms() - start) / 1000;
    if (st == FRE_OK)
        st = curator_ledger_record(r, rel, err);
    if (st != FRE_OK)
        return st;
    st = fre_release_write(dir, &rel->release,
                           &(fre_release_context){
                               .plan = &r->plan,
                               .inverter = fre_inverter_parts_of(inverter),
                               .ledger_entry = rel->recorded ? rel->receipt.id : NULL,
                               .ledger_reason = rel->ledger_reason,
                           },
                           err);
    if (st == FRE_OK)
        st = fre_outdir_commit(dir, err);
    curator_ledger_conclude(rel, st, err);
    return st;
}

/* For the curator's eyes. */
static void about_input(const curator_run *r, fre_curator_result *rel)
{
    if (r->corpus)
        fre_corpus_get_about(r->corpus, &rel->input);
    else
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
    if (st == FRE_OK)
        st = fre_contributors_new(&r.users, opts->plan.cells_per_user, opts->plan.population, err);
    if (st == FRE_OK)
        st = prepare(&r, rel, &inverter, err);
    rel->stats = r.stats;
    if (st == FRE_OK && !opts->dry_run) {
        st = mechanism(&r, rel, inverter, err);
        if (st == FRE_OK)
            st = publish(&r, rel, inverter, dir, err);
    }
    if (st == FRE_OK) {
        about_input(&r, rel);
        *out = rel;
        rel = NULL; /* handed over */
    }
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
