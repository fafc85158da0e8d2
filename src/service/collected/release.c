/* release.c - from a collection's signed parts to a folder. */
#include <fre/collected.h>

#include <stdlib.h>
#include <string.h>

/* A reading under way. */
typedef struct run {
    const fre_collected_opts *o;
    fre_collected *out;
    fre_wire wire;
    fre_embedder *embedder; /* NULL: not needed */
    fre_codebook *codebook; /* NULL: a grid */
    fre_inverter *inverter; /* NULL: no texts */
} run;

/* ---- parts ------------------------------------------------------------------------------------- */

static fre_status does_not_fit(uint32_t i, const char *why, fre_err *err)
{
    return fre_fail(err, FRE_E_DATA, "part %u of the release %s", i, why);
}

/* first: of part 0. */
static fre_status check_part(const run *r, const fre_release_part *m, uint32_t i,
                             const fre_release_part *first, fre_err *err)
{
    if (m->part.index != i)
        return does_not_fit(i, "is another one: give all parts in their order", err);
    if (m->part.count != r->o->n_parts)
        return fre_fail(err, FRE_E_DATA, "the release has %u parts, and %u are here", m->part.count,
                        r->o->n_parts);
    if (m->time != first->time || m->statement.n != first->statement.n ||
        memcmp(m->statement.p, first->statement.p, m->statement.n) != 0)
        return does_not_fit(i, "is of another release than the first", err);
    return FRE_OK;
}

static fre_status decode(fre_release_part *out, const run *r, uint32_t i, fre_err *err)
{
    fre_err why = {.text = ""};
    const fre_status st = fre_release_part_decode(out, &r->wire, r->o->part[i], &why);

    return st == FRE_OK ? st
                        : fre_fail(err, st, "part %u of the release: %.400s", i,
                                   st == FRE_E_REFUSED ? "its signature is not the synthesis "
                                                         "server's"
                                   : st == FRE_E_KEY   ? "it is another collection's"
                                   : why.text[0]       ? why.text
                                                       : fre_status_text(st));
}

static fre_status read_parts(run *r, fre_err *err)
{
    fre_release_part first, m;
    size_t room = 0;
    fre_status st = decode(&first, r, 0, err);

    for (uint32_t i = 0; st == FRE_OK && i < r->o->n_parts; i++) {
        st = decode(&m, r, i, err);
        if (st == FRE_OK)
            st = check_part(r, &m, i, &first, err);
        if (st == FRE_OK)
            st = fre_collected_add(&r->out->release, &room, &r->out->plan.mechanism, r->codebook,
                                   &m, err);
    }
    if (st != FRE_OK)
        return st;
    r->out->time = first.time;
    r->out->other_statement =
        first.statement.n != strlen(r->out->release.statement) ||
        memcmp(first.statement.p, r->out->release.statement, first.statement.n) != 0;
    return FRE_OK;
}

/* ---- models ------------------------------------------------------------------------------------ */

static fre_status open_embedder(run *r, fre_err *err)
{
    const fre_collected_opts *o = r->o;
    const fre_embedder_opts eo = {.path = o->embedder, .threads = o->threads};
    fre_status st = fre_embedder_new(&r->embedder, &eo, err);

    if (st != FRE_OK)
        return st;
    if (memcmp(fre_embedder_info(r->embedder)->sha256, o->terms->embedder, FRE_HASH_BYTES) != 0)
        return fre_fail(err, FRE_E_DATA,
                        "the embedder is not the collection's: name the file with the SHA-256 that "
                        "its terms have, {embedder}");
    fre_embedder_rows_meta(r->embedder, &r->out->release.embedder);
    return FRE_OK;
}

/* As the codebook calls it, which terms do not have. */
static void name_level(fre_collected *c, const char *name)
{
    (void)snprintf(c->release.level[0].name, sizeof c->release.level[0].name, "%s", name);
    (void)snprintf(c->plan.request.level[0].name, sizeof c->plan.request.level[0].name, "%s", name);
}

static fre_status open_codebook(run *r, fre_err *err)
{
    const fre_sketch_codebook *c = &r->o->terms->sketch.codebook;
    const fre_codebook_info *info;
    fre_status st = r->embedder ? fre_codebook_open_for(&r->codebook, r->o->codebook,
                                                        fre_embedder_path(r->embedder),
                                                        fre_embedder_info(r->embedder), err)
                                : fre_codebook_open(&r->codebook, r->o->codebook, err);

    if (st != FRE_OK)
        return st;
    info = r->codebook ? fre_codebook_info_view(r->codebook) : NULL;
    if (!info || memcmp(info->sha256, c->sha256, FRE_HASH_BYTES) != 0 || c->level >= info->n_levels)
        return fre_fail(err, FRE_E_DATA,
                        "the collection's public cells are those of another codebook: name the "
                        "file with the SHA-256 that its terms have, {codebook}");
    name_level(r->out, fre_codebook_level_view(r->codebook, c->level)->name);
    return FRE_OK;
}

static fre_status open_inverter(run *r, fre_err *err)
{
    const fre_collected_opts *o = r->o;
    const fre_inverter_opts io = {
        .path = o->inverter, .threads = o->threads, .search = o->search, .progress = o->progress};

    return fre_inverter_new(&r->inverter, r->embedder, &io, err);
}

static fre_status open_models(run *r, fre_err *err)
{
    const bool texts = fre_inverter_writes_text(r->o->inverter),
               cells = r->o->terms->sketch.kind == FRE_SKETCH_CODEBOOK;
    fre_status st = texts || (cells && !r->o->codebook) ? open_embedder(r, err) : FRE_OK;

    if (st == FRE_OK && cells)
        st = open_codebook(r, err);
    return st == FRE_OK && texts ? open_inverter(r, err) : st;
}

/* ---- the folder -------------------------------------------------------------------------------- */

static fre_status write_folder(const run *r, fre_outdir *dir, fre_err *err)
{
    static const char *const warning[] = {
        "the synthesis server's own statement differs from the one that follows from the terms, "
        "which is given here"};
    fre_release_context context = {.plan = &r->out->plan,
                                   .inverter = fre_inverter_parts_of(r->inverter),
                                   .ledger_reason = "a collection is no curator's release: each "
                                                    "user's own device keeps account of what its "
                                                    "owner has spent",
                                   .warning = warning,
                                   .n_warnings = r->out->other_statement};
    fre_buf terms;
    fre_status st;

    if (!dir)
        return FRE_OK;
    fre_buf_init(&terms, 1u << 20);
    st = fre_collection_to_json(&terms, r->o->terms, err);
    if (st == FRE_OK)
        st = fre_buf_append(&terms, "", 1);
    context.collection = (const char *)terms.p;
    if (st == FRE_OK)
        st = fre_release_write(dir, &r->out->release, &context, err);
    fre_buf_wipe(&terms);
    return st == FRE_OK ? fre_outdir_commit(dir, err) : st;
}

/* ---- the call ---------------------------------------------------------------------------------- */

static fre_status set_statement(run *r, fre_err *err)
{
    fre_buf text;
    fre_status st;

    fre_buf_init(&text, 1u << 20);
    st = fre_plan_statement(&text, &r->out->plan, true);
    if (st == FRE_OK)
        st = fre_buf_append(&text, "", 1);
    r->out->release.statement = st == FRE_OK ? strdup((const char *)text.p) : NULL;
    fre_buf_wipe(&text);
    return r->out->release.statement ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "out of memory");
}

static fre_status begin(run *r, fre_err *err)
{
    const fre_collection *c = r->o->terms;
    fre_collected *out = r->out;
    fre_status st = fre_collection_plan(&out->plan, c, err);

    if (st == FRE_OK)
        st = fre_wire_init(&r->wire, c, err);
    if (st != FRE_OK)
        return st;
    out->id = r->wire.id;
    fre_release_set_plan(&out->release, &out->plan, c->grid_seed);
    out->release.is_private = out->release.users_named = true;
    fre_hex(out->release.embedder.sha256, c->embedder, FRE_HASH_BYTES);
    return set_statement(r, err);
}

static fre_status go(run *r, fre_outdir *dir, fre_err *err)
{
    fre_status st = begin(r, err);

    if (st == FRE_OK)
        st = open_models(r, err);
    if (st == FRE_OK)
        st = read_parts(r, err);
    if (st == FRE_OK)
        st = fre_collected_invert(&r->out->release, r->inverter, r->o->progress, err);
    return st == FRE_OK ? write_folder(r, dir, err) : st;
}

fre_status fre_collected_release(fre_collected **out, const fre_collected_opts *o, fre_err *err)
{
    run r = {.o = o};
    fre_outdir *dir = NULL;
    fre_status st = FRE_OK;

    if (!out || !o || !o->terms || !o->part || o->n_parts < 1)
        return FRE_E_ARG;
    if (o->output)
        st = fre_outdir_open(&dir, o->output, fre_release_files(), o->force, err);
    if (st != FRE_OK)
        return st;
    r.out = calloc(1, sizeof *r.out);
    st = r.out ? go(&r, dir, err) : fre_fail(err, FRE_E_NOMEM, "out of memory");
    fre_inverter_free(r.inverter); /* before the embedder it borrows */
    fre_codebook_free(r.codebook);
    fre_embedder_free(r.embedder);
    fre_outdir_free(dir);
    if (st == FRE_OK)
        *out = r.out;
    else
        fre_collected_free(r.out);
    return st;
}

void fre_collected_free(fre_collected *c)
{
    if (!c)
        return;
    fre_release_wipe(&c->release);
    free(c);
}
