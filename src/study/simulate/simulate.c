/* simulate/simulate.c - one collection from options to the folder; see fre/simulate.h. */
#include "simulate_private.h"

#include <inttypes.h>
#include <sys/resource.h>

#define BATCH_MIN 100u

void fre_simulate_opts_init(fre_simulate_opts *o)
{
    memset(o, 0, sizeof *o);
    fre_plan_request_init(&o->plan);
    o->corpus.invalid = FRE_CORPUS_INVALID_SKIP;
    o->plan.noise = FRE_NOISE_DISCRETE;
    o->plan.dist = (fre_distributed){
        .on = true, .cover = true, .one_contact = true, .server_noise = true, .curious = 1};
    o->threads = 1;
    o->batch_min = BATCH_MIN;
}

/* ---- options ------------------------------------------------------------------------------------ */

static fre_status check(const fre_simulate_opts *o, fre_err *err)
{
    const fre_param_value fields[] = {
        {&fre_simulate_param_dropout_rate, o->dropout_rate},
        {&fre_simulate_param_duplicate_rate, o->duplicate_rate},
        {&fre_simulate_param_loss_rate, o->loss_rate},
        {&fre_simulate_param_users, o->users > 0 ? (double)o->users : 1},
        {&fre_simulate_param_max_cells_per_user, o->plan.cells_per_user},
    };

    if (!o->input || o->threads < 1)
        return fre_fail(err, FRE_E_ARG, "a simulation needs an input and at least one thread");
    /* The plan says so too, but only once the input was read. */
    if (o->plan.dist.one_contact && !o->plan.dist.cover)
        return fre_fail(err, FRE_E_USAGE,
                        "with {contacts} one everybody sends, sampled or not: leave out {cover} off");
    if (o->compare && o->plan.n_levels > 0)
        return fre_fail(err, FRE_E_USAGE,
                        "{compare} lays a curator's grid over the collection's: leave it out, or "
                        "{levels}");
    if (o->transport && (o->compare || o->seeded || o->exact || o->dropout_rate > 0 ||
                         o->duplicate_rate > 0 || o->loss_rate > 0))
        return fre_fail(err, FRE_E_USAGE,
                        "{transport} http has servers in processes of their own: leave out "
                        "{compare}, {seed}, {dropout_rate}, {duplicate_rate} and {loss_rate}");
    if (o->plan.n_levels > 1 || (o->plan.n_levels == 1 && !o->plan.no_grid))
        return fre_fail(err, FRE_E_USAGE,
                        "{levels}: a collection releases one level, the grid or public cells: name "
                        "one");
    return fre_param_check_all(fields, sizeof fields / sizeof fields[0], err);
}

/* ---- before ------------------------------------------------------------------------------------- */

static fre_status open_master(simulate_run *s, fre_err *err)
{
    fre_rng r;
    fre_status st =
        s->opts->seeded ? fre_rng_init_seeded(&r, s->opts->seed, "simulate") : fre_rng_init(&r);

    if (st != FRE_OK)
        return fre_fail(err, st, "the system's random generator is not available");
    fre_rng_bytes(&r, s->master, sizeof s->master);
    fre_rng_wipe(&r);
    return FRE_OK;
}

/* Texts for the cells: an input of embeddings alone may have no embedder. */
static bool has_text(const simulate_run *s)
{
    return s->embedder && fre_inverter_writes_text(s->opts->inverter);
}

static fre_status open_input(simulate_run *s, fre_err *err)
{
    return simulate_population_open(&s->population, &s->embedder, s->opts, err);
}

static fre_status inverter_opts(simulate_run *s, fre_inverter_opts *io, fre_err *err)
{
    const fre_simulate_opts *o = s->opts;
    fre_rng r;
    fre_status st = simulate_stream(s, &r, "inverter", 0);

    if (st != FRE_OK)
        return fre_fail(err, st, "the system's random generator is not available");
    *io = (fre_inverter_opts){.path = o->inverter,
                              .threads = o->threads,
                              .seed = fre_rng_u64(&r), /* of post-processing: not secret */
                              .search = o->search,
                              .corpus_later = true,
                              .progress = o->progress};
    fre_rng_wipe(&r);
    return FRE_OK;
}

/* What the input has no part in is opened before it is read ... */
static fre_status open_inverter(simulate_run *s, fre_err *err)
{
    fre_inverter_opts io;
    fre_status st = has_text(s) ? inverter_opts(s, &io, err) : FRE_OK;

    return st == FRE_OK && has_text(s) ? fre_inverter_new(&s->inverter, s->embedder, &io, err) : st;
}

/* ... and the public corpus when it has been compared with the input. */
static fre_status open_corpus(simulate_run *s, fre_err *err)
{
    fre_inverter_opts io;
    fre_status st = s->inverter ? inverter_opts(s, &io, err) : FRE_OK;

    if (st != FRE_OK || !s->inverter)
        return st;
    st = fre_inverter_open_corpus(s->inverter, &io, err);
    return st == FRE_OK
               ? fre_inverter_check_sources(s->inverter, fre_survey_texts(s->population.survey),
                                            fre_survey_rows(s->population.survey), err)
               : st;
}

static fre_status read_population(simulate_run *s, fre_err *err)
{
    const fre_simulate_opts *o = s->opts;
    fre_simulation *out = s->out;
    fre_rng r;
    fre_status st = simulate_population_read(&s->population, o, err);

    if (st != FRE_OK)
        return st;
    out->input_users = s->population.users;
    out->records = s->population.records;
    out->empty = s->population.stats.empty;
    out->invalid = s->population.stats.invalid;
    out->input = s->population.about;
    out->release.grid.dim = s->population.dim;
    out->release.users_named = simulate_has_users(o);
    out->release.strict = simulate_is_strict(o);
    out->release.embedder = s->population.embedder;
    out->users = o->users ? o->users : out->input_users;
    memcpy(out->embedder_name, s->population.embedder.embedder, sizeof out->embedder_name);
    if (out->users > o->plan.population)
        return fre_fail(err, FRE_E_DATA,
                        "there are more clients than {population} %" PRIu64
                        ": state a larger one, or fewer {users}",
                        o->plan.population);
    fre_survey_count(&out->survey, s->population.survey, o->plan.threshold);
    if (o->looked)
        o->looked(o->looked_ctx, &out->survey);
    if (!s->population.npy)
        st = fre_inverter_check_corpus(s->inverter, fre_survey_texts(s->population.survey), err);
    if (st != FRE_OK)
        return st;
    st = simulate_stream(s, &r, "population", 0);
    if (st == FRE_OK)
        st = simulate_population_draw(&s->population, out->users, &r, err);
    fre_rng_wipe(&r);
    if (st == FRE_OK)
        st = simulate_population_embed(&s->population, s->embedder, o, err);
    out->text = s->population.text;
    return st;
}

/* ---- after --------------------------------------------------------------------------------------- */

static fre_status read_part(simulate_run *s, size_t *room, fre_bytes part, fre_err *err)
{
    fre_release_part m;
    fre_status st = fre_release_part_decode(&m, &s->wire, part, err);

    return st == FRE_OK ? fre_collected_add(&s->out->release, room, &s->out->plan.mechanism,
                                            s->codebook, &m, err)
                        : st;
}

static fre_status read_remote(simulate_run *s, fre_err *err)
{
    fre_status st = FRE_OK;
    bool more = true;
    size_t room = 0;

    for (uint32_t i = 0; st == FRE_OK && more; i++) {
        fre_buf part;

        fre_buf_init(&part, FRE_WIRE_MESSAGE_MAX);
        st = simulate_remote_part(s, &part, i, err);
        more = part.n > 0;
        if (st == FRE_OK && more)
            st = read_part(s, &room, (fre_bytes){part.p, part.n}, err);
        fre_buf_wipe(&part);
    }
    return st;
}

static fre_status refuse_void(const simulate_run *s, fre_err *err)
{
    if (fre_server_phase(s->server[FRE_ROLE_SYN]) < FRE_PHASE_CLOSED)
        return fre_fail(err, FRE_E_REFUSED,
                        "the tagging server cancelled the collection: fewer than %" PRIu64
                        " entries came, too few to mix; use more {users}, or a lower "
                        "{dropout_rate}",
                        s->opts->batch_min);
    return fre_fail(err, FRE_E_INTERNAL, "a server cancelled the collection");
}

/* The release as every client reads it: signed, from the relay. */
static fre_status read_release(simulate_run *s, fre_err *err)
{
    const uint32_t parts = fre_server_release_parts(s->server[FRE_ROLE_RELAY]);
    fre_status st = FRE_OK;
    size_t room = 0;

    if (parts == 0)
        return refuse_void(s, err);
    for (uint32_t i = 0; st == FRE_OK && i < parts; i++)
        st = read_part(s, &room, fre_server_release_view(s->server[FRE_ROLE_RELAY], i), err);
    return st;
}

static void read_tallies(simulate_run *s)
{
    for (unsigned role = FRE_ROLE_TAG; role <= FRE_ROLE_ISSUER; role++)
        s->out->tally[role] = *fre_server_tally(s->server[role]);
}

static fre_status write_folder(simulate_run *s, fre_outdir *dir, fre_err *err)
{
    static const char *const warning[] = {
        "NOT PRIVATE: simulated, so that one process held all texts, coins, keys and shares, and "
        "no "
        "ledger has it",
        "users of the input were drawn more than once, so that one of them counts as several"};
    const fre_simulation *out = s->out;
    fre_release_context context = {
        .plan = &out->plan,
        .inverter = fre_inverter_parts_of(s->inverter),
        .ledger_reason = "simulations are not recorded",
        .warning = warning,
        .n_warnings = out->users > out->input_users ? 2 : 1,
    };
    fre_buf terms;
    fre_status st;

    if (!dir)
        return FRE_OK;
    fre_buf_init(&terms, 1u << 20);
    st = fre_collection_to_json(&terms, &s->collection, err);
    if (st == FRE_OK)
        st = fre_buf_append(&terms, "", 1);
    context.collection = (const char *)terms.p;
    if (st == FRE_OK)
        st = fre_release_write(dir, &out->release, &context, err);
    fre_buf_wipe(&terms);
    return st == FRE_OK ? fre_outdir_commit(dir, err) : st;
}

/* ---- the run -------------------------------------------------------------------------------------- */

/* Does the step, and notes how long it took. */
static fre_status timed(simulate_run *s, fre_simulate_step step,
                        fre_status (*f)(simulate_run *s, fre_err *err), fre_err *err)
{
    const int64_t start = fre_clock_ms();
    fre_status st = f(s, err);

    s->out->seconds[step] += (double)(fre_clock_ms() - start) / 1000;
    return st;
}

static fre_status answer_and_sum(simulate_run *s, fre_err *err)
{
    const fre_status st = timed(s, FRE_SIMULATE_STEP_CLIENTS, simulate_answers, err);

    return st == FRE_OK ? simulate_servers(s, err) : st;
}

static fre_status run_here(simulate_run *s, fre_err *err)
{
    fre_status st = timed(s, FRE_SIMULATE_STEP_CLIENTS, simulate_clients, err);

    if (st == FRE_OK)
        st = simulate_servers(s, err);
    if (st == FRE_OK && !s->collection.one_contact)
        st = answer_and_sum(s, err);
    read_tallies(s);
    return st == FRE_OK ? read_release(s, err) : st;
}

static fre_status run_remote(simulate_run *s, fre_err *err)
{
    fre_status st = timed(s, FRE_SIMULATE_STEP_CLIENTS, simulate_remote_clients, err);

    if (st == FRE_OK)
        st = timed(s, FRE_SIMULATE_STEP_SUM, read_remote, err);
    simulate_remote_close(s);
    return st;
}

static fre_status run_collection(simulate_run *s, fre_err *err)
{
    if (s->opts->transport)
        return run_remote(s, err);
    return run_here(s, err);
}

/* What the plan says of a collection, behind what this one was. */
static fre_status make_statement(simulate_run *s, fre_err *err)
{
    static const char simulated[] = "NOT PRIVATE: this is a simulation. One process held every "
                                    "text, coin, key and share, and no "
                                    "ledger has it; it may not be published.\n"
                                    "What follows would hold for a collection with this plan.\n";
    const fre_simulate_opts *o = s->opts;
    char *plan = NULL;
    fre_status st = fre_release_statement(&plan, &s->out->plan, !o->seeded && !o->exact,
                                          simulate_has_users(o), simulate_is_strict(o), err);
    fre_buf b;

    if (st != FRE_OK)
        return st;
    fre_buf_init(&b, 1u << 16);
    st = fre_buf_printf(&b, "%s%s", simulated, plan);
    if (st == FRE_OK)
        st = fre_buf_append(&b, "", 1);
    s->out->release.statement = st == FRE_OK ? strdup((const char *)b.p) : NULL;
    fre_buf_wipe(&b);
    free(plan);
    return s->out->release.statement ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "out of memory");
}

static fre_status make_plan(simulate_run *s, fre_err *err)
{
    fre_status st = simulate_world_plan(s, err);

    return st == FRE_OK ? make_statement(s, err) : st;
}

static fre_status finish(simulate_run *s, fre_outdir *dir, fre_err *err)
{
    const int64_t start = fre_clock_ms();
    struct rusage usage;
    fre_status st = s->population.npy ? fre_npy_check(s->population.npy, err) : FRE_OK;

    if (st == FRE_OK)
        st = fre_collected_invert(&s->out->release, s->inverter, s->opts->progress, err);

    s->out->seconds[FRE_SIMULATE_STEP_TEXTS] = (double)(fre_clock_ms() - start) / 1000;
    if (st == FRE_OK && s->opts->compare)
        st = timed(s, FRE_SIMULATE_STEP_COMPARE, simulate_compare, err);
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        s->out->peak_kib = (uint64_t)usage.ru_maxrss;
    return st == FRE_OK ? write_folder(s, dir, err) : st;
}

static fre_status make_locks(simulate_run *s, fre_err *err)
{
    unsigned n = 0;

    while (n <= FRE_ROLE_ISSUER && pthread_mutex_init(&s->role_lock[n], NULL) == 0)
        n++;
    s->has_locks = n > FRE_ROLE_ISSUER && pthread_mutex_init(&s->lock, NULL) == 0;
    if (s->has_locks)
        return FRE_OK;
    while (n-- > 0)
        (void)pthread_mutex_destroy(&s->role_lock[n]);
    return fre_fail(err, FRE_E_NOMEM, "no memory for a lock");
}

static void drop_locks(simulate_run *s)
{
    for (unsigned i = 0; s->has_locks && i <= FRE_ROLE_ISSUER; i++)
        (void)pthread_mutex_destroy(&s->role_lock[i]);
    if (s->has_locks)
        (void)pthread_mutex_destroy(&s->lock);
}

static fre_status run(simulate_run *s, fre_outdir *dir, fre_err *err)
{
    fre_status st = open_master(s, err);

    if (st != FRE_OK)
        return st;
    if ((st = timed(s, FRE_SIMULATE_STEP_INPUT, open_input, err)) != FRE_OK ||
        (st = open_inverter(s, err)) != FRE_OK || (st = simulate_open_codebook(s, err)) != FRE_OK ||
        (st = timed(s, FRE_SIMULATE_STEP_INPUT, read_population, err)) != FRE_OK ||
        (st = make_plan(s, err)) != FRE_OK || (st = open_corpus(s, err)) != FRE_OK ||
        (st = timed(s, FRE_SIMULATE_STEP_SETUP, simulate_world_open, err)) != FRE_OK ||
        (st = run_collection(s, err)) != FRE_OK)
        goto out;
    st = finish(s, dir, err);
out:
    fre_inverter_free(s->inverter); /* before the embedder it borrows */
    return st;
}

fre_status fre_simulate(fre_simulation **out, const fre_simulate_opts *opts, fre_err *err)
{
    simulate_run s = {.opts = opts};
    fre_outdir *dir = NULL;
    fre_status st;

    if (!out || !opts)
        return fre_fail(err, FRE_E_ARG, "a simulation needs options and a place for its result");
    st = check(opts, err);
    if (st == FRE_OK && opts->output)
        st = fre_outdir_open(&dir, opts->output, fre_release_files(), opts->force, err);
    if (st != FRE_OK)
        return st;
    s.out = calloc(1, sizeof *s.out);
    st = s.out ? make_locks(&s, err) : fre_fail(err, FRE_E_NOMEM, "out of memory");
    if (st == FRE_OK)
        st = run(&s, dir, err);
    drop_locks(&s);
    simulate_clients_wipe(&s);
    simulate_remote_close(&s);
    simulate_world_close(&s);
    simulate_exact_wipe(&s);
    simulate_population_wipe(&s.population);
    fre_embedder_free(s.embedder);
    fre_sketch_free(s.cells);
    fre_codebook_free(s.codebook);
    fre_outdir_free(dir);
    if (st == FRE_OK) {
        *out = s.out;
        s.out = NULL; /* handed over */
    }
    fre_simulation_free(s.out);
    return st;
}

void fre_simulation_free(fre_simulation *s)
{
    if (!s)
        return;
    fre_release_wipe(&s->release);
    free(s);
}
