/* simulate/population.c - a file of texts or embeddings becomes users, and users become clients. */
#include "simulate_private.h"

#define EMBED_TEXTS 4096u

bool simulate_has_users(const fre_simulate_opts *o)
{
    return o->corpus.user_field || o->user_file;
}

bool simulate_is_strict(const fre_simulate_opts *o)
{
    return o->corpus.invalid == FRE_CORPUS_INVALID_FAIL;
}

static fre_status no_memory(fre_err *err)
{
    return fre_fail(err, FRE_E_NOMEM, "out of memory for the population");
}

/* ---- who has what ---------------------------------------------------------------------------- */

/* The records that count (fre/contribution.h), in the order of the input. */
typedef struct entries {
    uint32_t *user, *row;
    size_t n, cap_user, cap_row;
} entries;

static void entries_wipe(entries *e)
{
    fre_wipe_free(e->user, e->cap_user * sizeof *e->user);
    fre_wipe_free(e->row, e->cap_row * sizeof *e->row);
}

/* A record that was seen: its user, who may have none that counts, and its row. */
static fre_status note(simulate_population *p, entries *e, const fre_survey_seen *seen,
                       uint32_t row)
{
    const size_t user = seen->user == FRE_MAP_NONE ? p->users : seen->user;
    fre_status st;

    if (user >= UINT32_MAX - 1)
        return FRE_E_LIMIT;
    p->users = user + 1 > p->users ? user + 1 : p->users;
    if (!seen->counts)
        return FRE_OK;
    st = fre_grow((void **)&e->user, &e->cap_user, e->n + 1, sizeof *e->user);
    if (st == FRE_OK)
        st = fre_grow((void **)&e->row, &e->cap_row, e->n + 1, sizeof *e->row);
    if (st != FRE_OK)
        return st;
    e->user[e->n] = (uint32_t)user;
    e->row[e->n++] = row;
    return FRE_OK;
}

/* Each user's rows, together. */
static fre_status group(simulate_population *p, const entries *e, fre_err *err)
{
    uint32_t *first = calloc(p->users + 2, sizeof *first); /* shifted by one while it is filled */

    p->user_row = malloc(e->n * sizeof *p->user_row + 1);
    p->user_first = first;
    if (!first || !p->user_row)
        return no_memory(err);
    for (size_t i = 0; i < e->n; i++)
        first[e->user[i] + 2u]++;
    for (size_t u = 0; u < p->users; u++)
        first[u + 2] += first[u + 1];
    for (size_t i = 0; i < e->n; i++)
        p->user_row[first[e->user[i] + 1u]++] = e->row[i];
    return FRE_OK;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void texts_wipe(simulate_texts *t)
{
    if (t->store.p)
        fre_buf_wipe(&t->store);
    free(t->at);
    free(t->len);
    *t = (simulate_texts){.n = 0};
}

/* Text number t->n. */
static fre_status keep_text(simulate_texts *t, const fre_record *rec)
{
    fre_status st = fre_grow((void **)&t->at, &t->cap_at, t->n + 1, sizeof *t->at);

    if (st == FRE_OK)
        st = fre_grow((void **)&t->len, &t->cap_len, t->n + 1, sizeof *t->len);
    if (st != FRE_OK)
        return st;
    t->at[t->n] = t->store.n;
    t->len[t->n++] = (uint32_t)rec->text_len; /* at most FRE_CORPUS_TEXT_MAX */
    return fre_buf_append(&t->store, rec->text, rec->text_len);
}

static fre_status read_texts(simulate_population *p, entries *e, const fre_simulate_opts *o,
                             fre_err *err)
{
    fre_survey_seen seen;
    fre_record rec;
    uint64_t n = 0;
    bool more = true;
    fre_status st = FRE_OK;

    fre_buf_init(&p->texts.store, SIZE_MAX / 2);
    while (st == FRE_OK) {
        st = fre_corpus_next(p->corpus, &more, &rec, err);
        if (st != FRE_OK || !more)
            return st;
        st = fre_survey_add_text(p->survey, &seen, rec.text, rec.text_len, rec.user, rec.user_len,
                                 err);
        if (st != FRE_OK)
            return st;
        if (seen.is_new)
            st = keep_text(&p->texts, &rec);
        if (st == FRE_OK)
            st = note(p, e, &seen, seen.text);
        if (++n % 4096 == 0)
            fre_progress_update(o->progress, "reading", n, 0);
    }
    return fre_fail(err, st, "the input has more texts than fit into memory");
}

/* Texts of nobody who takes part go; the others move up. */
static fre_status keep_used(simulate_population *p, fre_err *err)
{
    simulate_texts *t = &p->texts;
    uint32_t *as = calloc(t->n + 1, sizeof *as); /* new number + 1; 0: not used */
    uint32_t n = 0;

    if (!as)
        return no_memory(err);
    for (uint64_t i = 0; i < p->clients; i++) {
        const uint32_t *list;
        const uint32_t m = simulate_client_rows(p, i, &list);

        for (uint32_t k = 0; k < m; k++)
            as[list[k]] = 1;
    }
    for (size_t i = 0; i < t->n; i++) {
        if (!as[i])
            continue;
        t->at[n] = t->at[i];
        t->len[n++] = t->len[i];
        as[i] = n;
    }
    for (size_t i = 0; i < p->user_first[p->users]; i++)
        p->user_row[i] = as[p->user_row[i]] ? as[p->user_row[i]] - 1 : 0; /* 0: of no client */
    free(as);
    p->rows = t->n = n;
    return FRE_OK;
}

static fre_status check_any(const simulate_population *p, fre_err *err)
{
    const uint32_t *list;

    for (uint64_t i = 0; i < p->clients; i++)
        if (simulate_client_rows(p, i, &list) > 0)
            return FRE_OK;
    return fre_fail(err, FRE_E_DATA, "nobody who takes part has a text that can count");
}

/* Of the texts that count, of those who take part; and of what cannot count, of the whole input. */
static void count_marks(simulate_population *p, const uint8_t *mark)
{
    fre_survey_counts n;

    for (uint64_t i = 0; i < p->clients; i++) {
        const uint32_t *list;
        const uint32_t m = simulate_client_rows(p, i, &list);

        for (uint32_t k = 0; k < m; k++)
            fre_text_counts_add(&p->text, mark[list[k]], 1);
    }
    fre_survey_count(&n, p->survey, 0);
    p->text.empty = n.no_word;
    p->text.unknown = n.unknown;
}

fre_status simulate_population_embed(simulate_population *p, fre_embedder *e,
                                     const fre_simulate_opts *o, fre_err *err)
{
    simulate_texts *t = &p->texts;
    const char *text[EMBED_TEXTS];
    uint8_t *mark;
    fre_status st;

    st = check_any(p, err);
    if (st != FRE_OK || p->npy)
        return st;
    st = keep_used(p, err);
    if (st != FRE_OK)
        return st;
    p->row = malloc(p->rows * p->dim * sizeof *p->row + 1);
    mark = calloc(p->rows + 1, 1);
    if (!p->row || !mark)
        st = no_memory(err);
    for (size_t at = 0; st == FRE_OK && at < t->n; at += EMBED_TEXTS) {
        const size_t n = t->n - at < EMBED_TEXTS ? t->n - at : EMBED_TEXTS;
        size_t len[EMBED_TEXTS];

        for (size_t i = 0; i < n; i++) {
            text[i] = (const char *)t->store.p + t->at[at + i];
            len[i] = t->len[at + i];
        }
        fre_progress_update(o->progress, "embedding", at, t->n);
        st = fre_embed_texts_marked(e, p->row + at * p->dim, mark + at, text, len, n, err);
        for (size_t i = 0; st == FRE_OK && i < n; i++)
            st = fre_survey_mark_row(p->survey, p->row + (at + i) * p->dim, p->dim);
    }
    texts_wipe(t);
    if (st == FRE_OK)
        count_marks(p, mark);
    free(mark);
    return st;
}

static fre_status load_texts(simulate_population *p, const fre_simulate_opts *o, fre_err *err)
{
    entries e = {.n = 0};
    fre_status st = read_texts(p, &e, o, err);

    if (st == FRE_OK)
        st = fre_survey_check_any(p->survey, o->input, err);
    if (st == FRE_OK)
        st = group(p, &e, err);
    p->rows = p->texts.n;
    entries_wipe(&e);
    return st;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* x: the row, or zeros; clipped, as whoever counts it has it. */
static fre_status read_row(simulate_population *p, float *x, size_t i, bool strict, fre_err *err)
{
    fre_status st = FRE_OK;

    memset(x, 0, p->dim * sizeof *x);
    if (fre_npy_row_is_usable(p->npy, i))
        st = fre_npy_row(p->npy, x, i, err);
    /* a hair above is rounding */
    if (st == FRE_OK && strict && fre_norm(x, p->dim) > p->norm_bound * (1 + 1e-3))
        return fre_fail(err, FRE_E_DATA,
                        "row %zu: the embedding's norm is above %g: normalise the embeddings, or "
                        "leave out {strict} to have longer ones cut to it",
                        i + 1, p->norm_bound);
    if (st == FRE_OK && !fre_aggregate_clip(x, p->dim, p->norm_bound))
        memset(x, 0, p->dim * sizeof *x);
    return st;
}

/* first: of each distinct row, where it came first.  Copies of one user's row are one, as copies of a
 * text are; without users each row is somebody's. */
static fre_status note_row(simulate_population *p, entries *e, uint32_t *first,
                           const fre_survey_seen *seen, size_t i)
{
    if (seen->text == FRE_MAP_NONE)
        return FRE_OK; /* it cannot be used */
    if (seen->is_new)
        first[seen->text] = (uint32_t)i;
    return note(p, e, seen, p->names ? first[seen->text] : (uint32_t)i);
}

static fre_status read_rows(simulate_population *p, entries *e, bool strict, fre_err *err)
{
    float *x = malloc(p->dim * sizeof *x + 1);
    uint32_t *first = malloc(p->rows * sizeof *first + 1);
    fre_survey_seen seen;
    fre_status st = x && first ? FRE_OK : no_memory(err);

    for (size_t i = 0; st == FRE_OK && i < p->rows; i++) {
        st = i % 4096 == 0 && fre_interrupted() ? fre_fail(err, FRE_E_INTERRUPTED, "interrupted")
                                                : read_row(p, x, i, strict, err);
        if (st == FRE_OK)
            st = fre_survey_add_npy_row(p->survey, &seen, x, p->npy, p->names, i, strict, err);
        if (st == FRE_OK && note_row(p, e, first, &seen, i) != FRE_OK)
            st = no_memory(err);
    }
    fre_wipe_free(x, p->dim * sizeof *x);
    free(first);
    return st == FRE_OK ? fre_survey_end_rows(p->survey, err) : st;
}

static fre_status load_rows(simulate_population *p, const fre_simulate_opts *o, fre_err *err)
{
    entries e = {.n = 0};
    fre_status st = read_rows(p, &e, simulate_is_strict(o), err);

    if (st == FRE_OK)
        st = fre_survey_check_any(p->survey, o->input, err);
    if (st == FRE_OK)
        st = group(p, &e, err);
    entries_wipe(&e);
    return st;
}

/* ---- both ------------------------------------------------------------------------------------ */

static fre_status open_embedder(simulate_population *p, fre_embedder **out,
                                const fre_simulate_opts *o, fre_err *err)
{
    const fre_embedder_opts eo = {.path = o->embedder, .threads = o->threads};
    const fre_model_info *info;
    fre_status st = fre_embedder_new(out, &eo, err);

    if (st != FRE_OK)
        return st;
    if (p->npy)
        return fre_embedder_check_rows(*out, p->npy, o->input, err);
    info = fre_embedder_info(*out);
    p->dim = info->dim;
    memcpy(p->embedder.embedder, info->name, sizeof p->embedder.embedder);
    fre_hex(p->embedder.sha256, info->sha256, FRE_HASH_BYTES);
    return FRE_OK;
}

/* Takes in over. */
static fre_status open_rows(simulate_population *p, fre_input *in, const fre_simulate_opts *o,
                            fre_err *err)
{
    fre_status st = fre_npy_open_users(&p->npy, in, &o->corpus, o->user_file, err);

    if (st != FRE_OK)
        return st;
    p->rows = fre_npy_rows(p->npy);
    p->dim = (uint32_t)fre_npy_dim(p->npy);
    if (fre_npy_has_meta(p->npy))
        p->embedder = *fre_npy_meta_view(p->npy);
    return fre_names_open_rows(&p->names, p->npy, o->user_file, &o->corpus, err);
}

static fre_status open_survey(simulate_population *p, fre_embedder *e, const fre_simulate_opts *o,
                              fre_err *err)
{
    const fre_survey_opts so = {.cells_per_user = o->plan.cells_per_user,
                                .population = o->users ? 0 : o->plan.population,
                                .kind = p->npy ? NULL : fre_embedder_kind,
                                .kind_ctx = e};

    return fre_survey_new(&p->survey, &so, err);
}

fre_status simulate_population_open(simulate_population *p, fre_embedder **embedder,
                                    const fre_simulate_opts *o, fre_err *err)
{
    fre_input *in = NULL;
    fre_status st = fre_input_open(&in, o->input, false, err);

    if (st != FRE_OK)
        return st;
    st = fre_input_is_npy(in, &o->corpus)
             ? open_rows(p, in, o, err)
             : fre_corpus_open_users(&p->corpus, in, &o->corpus, o->user_file, err);
    p->norm_bound = o->plan.norm_bound;
    if (st == FRE_OK && (p->corpus || fre_inverter_writes_text(o->inverter) || o->compare_levels))
        st = open_embedder(p, embedder, o, err);
    if (st != FRE_OK || (st = open_survey(p, *embedder, o, err)) != FRE_OK)
        return st;
    if (p->dim > FRE_COLLECTION_DIM_MAX || p->rows >= UINT32_MAX)
        return fre_fail(err, FRE_E_DATA, "%s has more columns or rows than a collection takes",
                        o->input);
    return FRE_OK;
}

fre_status simulate_population_read(simulate_population *p, const fre_simulate_opts *o,
                                    fre_err *err)
{
    fre_survey_counts n;
    fre_status st = p->npy ? load_rows(p, o, err) : load_texts(p, o, err);

    if (p->npy) {
        fre_npy_get_about(p->npy, &p->about);
    } else {
        fre_corpus_get_about(p->corpus, &p->about);
        fre_corpus_get_stats(p->corpus, &p->stats);
        fre_corpus_free(p->corpus);
        p->corpus = NULL;
    }
    fre_survey_count(&n, p->survey, 0);
    p->records = n.records;
    p->stats.invalid += n.invalid;
    return st;
}

fre_status simulate_population_draw(simulate_population *p, uint64_t clients, fre_rng *r,
                                    fre_err *err)
{
    const uint64_t pool = clients > p->users ? clients : p->users;

    p->client = malloc(pool * sizeof *p->client);
    if (!p->client)
        return no_memory(err);
    for (uint64_t i = 0; i < pool; i++)
        p->client[i] = (uint32_t)(i < p->users ? i : fre_rng_below(r, p->users));
    /* Fisher and Yates, as far as it is needed. */
    for (uint64_t i = 0; i < clients; i++) {
        const uint64_t j = i + fre_rng_below(r, pool - i);
        const uint32_t t = p->client[i];

        p->client[i] = p->client[j];
        p->client[j] = t;
    }
    p->clients = clients;
    return FRE_OK;
}

void simulate_population_wipe(simulate_population *p)
{
    fre_corpus_free(p->corpus);
    fre_npy_free(p->npy);
    fre_names_free(p->names);
    fre_survey_free(p->survey);
    texts_wipe(&p->texts);
    fre_wipe_free(p->row, p->rows * p->dim * sizeof *p->row);
    free(p->user_first);
    free(p->user_row);
    free(p->client);
    *p = (simulate_population){.npy = NULL};
}

uint32_t simulate_client_rows(const simulate_population *p, uint64_t client, const uint32_t **list)
{
    const uint32_t *first = p->user_first + p->client[client];

    *list = p->user_row + first[0];
    return first[1] - first[0];
}

fre_status simulate_row(const simulate_population *p, const float **x, float *spare, size_t i,
                        fre_err *err)
{
    fre_status st = FRE_OK;

    *x = p->npy ? fre_npy_row_view(p->npy, i) : p->row + i * p->dim;
    if (*x && fre_norm(*x, p->dim) <= p->norm_bound) /* false for a NaN */
        return FRE_OK;
    if (*x)
        memcpy(spare, *x, p->dim * sizeof *spare);
    else if (fre_npy_row_is_usable(p->npy, i))
        st = fre_npy_row(p->npy, spare, i, err);
    else
        memset(spare, 0, p->dim * sizeof *spare);
    if (st == FRE_OK && !fre_aggregate_clip(spare, p->dim, p->norm_bound))
        memset(spare, 0, p->dim * sizeof *spare);
    *x = spare;
    return st;
}
