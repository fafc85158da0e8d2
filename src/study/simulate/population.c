/* simulate/population.c - a file of texts or embeddings becomes users, and users become clients. */
#include "simulate_private.h"

#define EMBED_TEXTS 4096u

static bool wants_text(const fre_simulate_opts *o)
{
    return !o->inverter || strcmp(o->inverter, "none") != 0;
}

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

/* ---- texts ----------------------------------------------------------------------------------- */

/* One record of the input.  Sorted by user and by text, each time with the order of the input. */
typedef struct record {
    uint8_t user[16], text[16]; /* keyed hashes */
    size_t at;                  /* of its text in the store */
    uint32_t len, order, row;
} record;

typedef struct reading {
    record *record;
    size_t n, cap;
    fre_buf store;        /* SECRET: the texts */
    uint8_t hash_key[32]; /* SECRET */
    bool has_users;
} reading;

static void texts_wipe(simulate_texts *t)
{
    if (t->store.p)
        fre_buf_wipe(&t->store);
    free(t->at);
    free(t->len);
    *t = (simulate_texts){.n = 0};
}

static void reading_wipe(reading *r)
{
    if (r->record)
        fre_wipe(r->record, r->cap * sizeof *r->record);
    free(r->record);
    fre_buf_wipe(&r->store);
    fre_wipe(r->hash_key, sizeof r->hash_key);
}

static fre_status keep_record(reading *r, const fre_record *rec)
{
    fre_status st;
    record *x;

    if (r->n >= UINT32_MAX - 1)
        return FRE_E_LIMIT;
    st = fre_grow((void **)&r->record, &r->cap, r->n + 1, sizeof *r->record);
    if (st != FRE_OK)
        return st;
    x = &r->record[r->n];
    memset(x, 0, sizeof *x);
    if (r->has_users)
        fre_hash128(x->user, r->hash_key, rec->user, rec->user_len);
    fre_hash128(x->text, r->hash_key, rec->text, rec->text_len);
    x->at = r->store.n;
    x->len = (uint32_t)rec->text_len; /* at most FRE_CORPUS_TEXT_MAX */
    x->order = (uint32_t)r->n;
    r->n++;
    return fre_buf_append(&r->store, rec->text, rec->text_len);
}

static fre_status read_texts(reading *r, fre_corpus *corpus, fre_survey *survey,
                             const fre_simulate_opts *o, fre_err *err)
{
    fre_record rec;
    bool more = true;
    fre_status st = FRE_OK;

    while (st == FRE_OK && more) {
        st = fre_corpus_next(corpus, &more, &rec, err);
        if (st != FRE_OK || !more)
            break;
        st = fre_survey_add_text(survey, rec.text, rec.text_len, rec.user, rec.user_len, err);
        if (st != FRE_OK)
            break;
        st = keep_record(r, &rec);
        if (st != FRE_OK)
            st = fre_fail(err, st, "the input has more texts than fit into memory");
        if (r->n % 4096 == 0)
            fre_progress_update(o->progress, "reading", r->n, 0);
    }
    return st;
}

static int by_text(const void *a, const void *b)
{
    const record *x = a, *y = b;
    const int c = memcmp(x->text, y->text, sizeof x->text);

    return c != 0 ? c : x->order < y->order ? -1 : x->order > y->order;
}

static int by_order(const void *a, const void *b)
{
    const record *x = a, *y = b;

    return x->order < y->order ? -1 : x->order > y->order;
}

static int by_user(const void *a, const void *b)
{
    const record *x = a, *y = b;
    const int c = memcmp(x->user, y->user, sizeof x->user);

    return c != 0 ? c : by_order(a, b);
}

/* Numbers the distinct texts, whose store becomes p's; r's records are in no order afterwards. */
static fre_status number_rows(simulate_population *p, reading *r, fre_err *err)
{
    simulate_texts *t = &p->texts;

    if (r->n > 0)
        qsort(r->record, r->n, sizeof *r->record, by_text);
    t->at = malloc(r->n * sizeof *t->at + 1);
    t->len = malloc(r->n * sizeof *t->len + 1);
    if (!t->at || !t->len)
        return no_memory(err);
    for (size_t i = 0; i < r->n; i++) {
        if (i == 0 || memcmp(r->record[i].text, r->record[i - 1].text, 16) != 0) {
            t->at[t->n] = r->record[i].at;
            t->len[t->n++] = r->record[i].len;
        }
        r->record[i].row = (uint32_t)t->n - 1;
    }
    p->rows = t->n;
    t->store = r->store;
    fre_buf_init(&r->store, SIZE_MAX / 2); /* handed over */
    return FRE_OK;
}

/* Texts of nobody who takes part go; the others move up. */
static fre_status keep_used(simulate_population *p, fre_err *err)
{
    simulate_texts *t = &p->texts;
    const size_t entries = p->user_first ? p->user_first[p->users] : p->users;
    uint32_t *as = calloc(t->n + 1, sizeof *as); /* new number + 1; 0: not used */
    uint32_t n = 0;

    if (!as)
        return no_memory(err);
    for (uint64_t i = 0; i < p->clients; i++) {
        const uint32_t *list;
        uint32_t only;
        const uint32_t m = simulate_client_rows(p, i, &list, &only);

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
    for (size_t i = 0; i < entries; i++)
        p->user_row[i] = as[p->user_row[i]] ? as[p->user_row[i]] - 1 : 0; /* 0: of no client */
    free(as);
    p->rows = t->n = n;
    return FRE_OK;
}

/* Whether row i is no text; what cannot be read is found later. */
static bool is_blank(const simulate_population *p, float *spare, size_t i)
{
    const float *x;

    return simulate_row(p, &x, spare, i, NULL) == FRE_OK && fre_embed_is_blank(x, p->dim);
}

/* Rows of zeros are no text: whoever has no other takes part without one. */
static fre_status leave_out_blank(simulate_population *p, fre_err *err)
{
    const size_t entries = p->user_first ? p->user_first[p->users] : p->users;
    uint32_t *first = malloc((p->users + 1) * sizeof *first), n = 0;
    uint32_t *row = malloc(entries * sizeof *row + 1);
    float *spare = calloc(p->dim, sizeof *spare);
    fre_status st = first && row && spare ? FRE_OK : no_memory(err);

    for (size_t u = 0; st == FRE_OK && u < p->users; u++) {
        const size_t end = p->user_first ? p->user_first[u + 1] : u + 1;

        first[u] = n;
        for (size_t i = p->user_first ? p->user_first[u] : u; i < end; i++) {
            row[n] = p->user_row ? p->user_row[i] : (uint32_t)i;
            n += !is_blank(p, spare, row[n]);
        }
    }
    if (st == FRE_OK) {
        first[p->users] = n;
        free(p->user_first);
        free(p->user_row);
        p->user_first = first;
        p->user_row = row;
        first = row = NULL;
        if (n == 0)
            st = fre_fail(err, FRE_E_DATA, "nobody who takes part has a text that can count");
    }
    if (spare)
        fre_wipe(spare, p->dim * sizeof *spare);
    free(spare);
    free(first);
    free(row);
    return st;
}

static void count_marks(simulate_population *p, const uint8_t *mark)
{
    for (uint64_t i = 0; i < p->clients; i++) {
        const uint32_t *list;
        uint32_t only;
        const uint32_t m = simulate_client_rows(p, i, &list, &only);

        for (uint32_t k = 0; k < m; k++)
            fre_text_counts_add(&p->text, mark[list[k]], 1);
    }
}

fre_status simulate_population_embed(simulate_population *p, fre_embedder *e,
                                     const fre_simulate_opts *o, fre_err *err)
{
    simulate_texts *t = &p->texts;
    const char *text[EMBED_TEXTS];
    uint8_t *mark;
    fre_status st;

    if (p->npy)
        return leave_out_blank(p, err);
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
    return st == FRE_OK ? leave_out_blank(p, err) : st;
}

/* The first `most` different rows of one user, of m records in the order of the input. */
static uint32_t pick_rows(uint32_t *out, const record *of, size_t m, uint32_t most)
{
    const uint32_t room = m < most ? (uint32_t)m : most;
    uint32_t n = 0;

    for (uint32_t i = 0; i < room; i++)
        out[i] = FRE_KEYMAP_NONE;
    for (size_t i = 0; i < m; i++)
        n += fre_first_distinct(out, room, of[i].row);
    return n;
}

static fre_status group_users(simulate_population *p, reading *r, uint32_t most, fre_err *err)
{
    uint32_t used = 0;

    p->user_row = malloc(r->n * sizeof *p->user_row + 1);
    if (!p->user_row)
        return no_memory(err);
    if (!r->has_users) {
        qsort(r->record, r->n, sizeof *r->record, by_order);
        for (size_t i = 0; i < r->n; i++)
            p->user_row[i] = r->record[i].row;
        p->users = r->n;
        return FRE_OK;
    }
    p->user_first = malloc((r->n + 1) * sizeof *p->user_first);
    if (!p->user_first)
        return no_memory(err);
    qsort(r->record, r->n, sizeof *r->record, by_user);
    for (size_t i = 0, end; i < r->n; i = end) {
        for (end = i + 1; end < r->n && memcmp(r->record[end].user, r->record[i].user, 16) == 0;)
            end++;
        p->user_first[p->users++] = used;
        used += pick_rows(p->user_row + used, r->record + i, end - i, most);
    }
    p->user_first[p->users] = used;
    return FRE_OK;
}

static fre_status load_texts(simulate_population *p, fre_corpus *corpus, const fre_simulate_opts *o,
                             fre_err *err)
{
    reading r = {.has_users = o->corpus.user_field != NULL};
    fre_rng rng;
    fre_status st = fre_rng_init(&rng);

    fre_buf_init(&r.store, SIZE_MAX / 2);
    if (st == FRE_OK) {
        fre_rng_bytes(&rng, r.hash_key, sizeof r.hash_key);
        fre_rng_wipe(&rng);
        st = read_texts(&r, corpus, p->survey, o, err);
    }
    if (st == FRE_OK)
        st = fre_survey_check_any(p->survey, o->input, err);
    if (st == FRE_OK)
        st = number_rows(p, &r, err);
    if (st == FRE_OK)
        st = group_users(p, &r, o->plan.cells_per_user, err);
    p->records = r.n;
    reading_wipe(&r);
    return st;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* As a user's texts are: by content, so that copies are one. */
static fre_status keep_row(reading *r, const simulate_population *p, size_t i, const char *user,
                           size_t user_len, float *spare)
{
    const fre_record rec = {.text = "", .user = user, .user_len = user_len};
    const float *x;
    fre_status st = keep_record(r, &rec);

    if (st == FRE_OK)
        st = simulate_row(p, &x, spare, i, NULL);
    if (st != FRE_OK)
        return st;
    fre_hash128(r->record[r->n - 1].text, r->hash_key, x, p->dim * sizeof *x);
    r->record[r->n - 1].row = (uint32_t)i;
    return FRE_OK;
}

/* Copies get the number of their first. */
static void number_copies(reading *r)
{
    if (r->n > 0)
        qsort(r->record, r->n, sizeof *r->record, by_text);
    for (size_t i = 1; i < r->n; i++)
        if (memcmp(r->record[i].text, r->record[i - 1].text, 16) == 0)
            r->record[i].row = r->record[i - 1].row;
}

static fre_status group_rows(simulate_population *p, uint32_t most, fre_err *err)
{
    reading r = {.has_users = true};
    float *spare = malloc(p->dim * sizeof *spare + 1);
    fre_rng rng;
    fre_status st = spare ? fre_rng_init(&rng) : FRE_E_NOMEM;

    fre_buf_init(&r.store, SIZE_MAX / 2);
    if (st == FRE_OK) {
        fre_rng_bytes(&rng, r.hash_key, sizeof r.hash_key);
        fre_rng_wipe(&rng);
    }
    for (size_t i = 0; st == FRE_OK && i < p->rows; i++) {
        size_t len = 0;
        const char *user = fre_names_view(p->names, i, &len);

        if (user && fre_npy_row_is_usable(p->npy, i))
            st = keep_row(&r, p, i, user, len, spare);
    }
    if (st != FRE_OK)
        st = fre_fail(err, st, "%s while grouping rows by user", fre_status_text(st));
    p->users = 0;
    if (st == FRE_OK) {
        number_copies(&r);
        st = group_users(p, &r, most, err);
    }
    if (spare)
        fre_wipe(spare, p->dim * sizeof *spare);
    free(spare);
    reading_wipe(&r);
    return st;
}

/* Without users: the rows that can be used, each a user. */
static fre_status number_users(simulate_population *p, fre_err *err)
{
    p->user_row = malloc(p->rows * sizeof *p->user_row + 1);
    if (!p->user_row)
        return no_memory(err);
    p->users = 0;
    for (size_t i = 0; i < p->rows; i++)
        if (fre_npy_row_is_usable(p->npy, i))
            p->user_row[p->users++] = (uint32_t)i;
    return FRE_OK;
}

static fre_status survey_row(simulate_population *p, float *x, size_t i, bool strict, fre_err *err)
{
    fre_status st;

    memset(x, 0, p->dim * sizeof *x);
    st = fre_npy_row_is_usable(p->npy, i) ? fre_npy_row(p->npy, x, i, err) : FRE_OK;
    /* a hair above is rounding */
    if (st == FRE_OK && strict && fre_norm(x, p->dim) > p->norm_bound * (1 + 1e-3))
        return fre_fail(err, FRE_E_DATA,
                        "row %zu: the embedding's norm is above %g: normalise the embeddings, or "
                        "leave out {strict} to have longer ones cut to it",
                        i + 1, p->norm_bound);
    return st == FRE_OK ? fre_survey_add_npy_row(p->survey, x, p->npy, p->names, i, strict, err)
                        : st;
}

static fre_status survey_rows(simulate_population *p, bool strict, fre_err *err)
{
    float *x = malloc(p->dim * sizeof *x + 1);
    fre_status st = x ? FRE_OK : no_memory(err);

    for (size_t i = 0; st == FRE_OK && i < p->rows; i++)
        st = i % 4096 == 0 && fre_interrupted() ? fre_fail(err, FRE_E_INTERRUPTED, "interrupted")
                                                : survey_row(p, x, i, strict, err);
    if (x)
        fre_wipe(x, p->dim * sizeof *x);
    free(x);
    return st == FRE_OK ? fre_survey_end_rows(p->survey, err) : st;
}

static fre_status load_rows(simulate_population *p, const fre_simulate_opts *o, fre_err *err)
{
    fre_survey_counts n;
    fre_status st = survey_rows(p, simulate_is_strict(o), err);

    if (st == FRE_OK)
        st = fre_survey_check_any(p->survey, o->input, err);
    fre_survey_count(&n, p->survey, 0);
    p->records = n.records;
    p->stats.invalid = n.invalid;
    if (st != FRE_OK)
        return st;
    return p->names ? group_rows(p, o->plan.cells_per_user, err) : number_users(p, err);
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
    fre_status st;

    if (o->corpus.user_field && !o->user_file) {
        fre_input_free(in);
        return fre_fail(
            err, FRE_E_USAGE,
            "a .npy file has no fields: name the file with its users, {user_file} FILE");
    }
    /* The other options are about the file with the users, if there is one. */
    st = fre_npy_open_input(
        &p->npy, in,
        o->user_file ? &(fre_corpus_opts){.text_field = o->corpus.text_field} : &o->corpus, err);
    if (st != FRE_OK)
        return st;
    p->rows = p->users = fre_npy_rows(p->npy);
    p->records = p->rows;
    p->dim = (uint32_t)fre_npy_dim(p->npy);
    if (fre_npy_has_meta(p->npy))
        p->embedder = *fre_npy_meta_view(p->npy);
    if (o->user_file)
        st = fre_names_open(&p->names, o->user_file, &o->corpus, err);
    return st == FRE_OK && p->names ? fre_names_check(p->names, p->rows, err) : st;
}

/* Takes in over. */
static fre_status open_texts(simulate_population *p, fre_input *in, const fre_simulate_opts *o,
                             fre_err *err)
{
    if (o->user_file) {
        fre_input_free(in);
        return fre_fail(err, FRE_E_USAGE,
                        "{user_file} is for a .npy file: texts have a field with their user, "
                        "{user_field} F");
    }
    return fre_corpus_open_input(&p->corpus, in, &o->corpus, err);
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

    if (st == FRE_OK)
        st = fre_input_is_npy(in) ? open_rows(p, in, o, err) : open_texts(p, in, o, err);
    p->norm_bound = o->plan.norm_bound;
    if (st == FRE_OK && (p->corpus || wants_text(o)))
        st = open_embedder(p, embedder, o, err);
    if (st == FRE_OK)
        st = open_survey(p, *embedder, o, err);
    if (st == FRE_OK && (p->dim > FRE_COLLECTION_DIM_MAX || p->users >= UINT32_MAX))
        st = fre_fail(err, FRE_E_DATA, "%s has more columns or rows than a collection takes",
                      o->input);
    return st;
}

fre_status simulate_population_read(simulate_population *p, const fre_simulate_opts *o,
                                    fre_err *err)
{
    fre_status st;

    if (p->npy) {
        fre_npy_get_about(p->npy, &p->about);
        return load_rows(p, o, err);
    }
    st = load_texts(p, p->corpus, o, err);
    fre_corpus_get_about(p->corpus, &p->about);
    fre_corpus_get_stats(p->corpus, &p->stats);
    fre_corpus_free(p->corpus);
    p->corpus = NULL;
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
    if (p->row)
        fre_wipe(p->row, p->rows * p->dim * sizeof *p->row);
    free(p->row);
    free(p->user_first);
    free(p->user_row);
    free(p->client);
    *p = (simulate_population){.npy = NULL};
}

uint32_t simulate_client_rows(const simulate_population *p, uint64_t client, const uint32_t **list,
                              uint32_t *only)
{
    const uint32_t user = p->client[client];

    if (p->user_first) {
        *list = p->user_row + p->user_first[user];
        return p->user_first[user + 1] - p->user_first[user];
    }
    *only = p->user_row ? p->user_row[user] : user;
    *list = only;
    return 1;
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
    if (st == FRE_OK && !fre_tally_clip(spare, p->dim, p->norm_bound))
        memset(spare, 0, p->dim * sizeof *spare);
    *x = spare;
    return st;
}
