/* baseline/evolve.c - aug-pe: private evolution of texts [Xie and others, ICML 2024, alg. 1].
 *
 * A language model writes `samples` times L texts.  Each round every user votes for the text that is nearest
 * to theirs (by the mean of its look-ahead variations, where there are any), the counts get noise, the
 * `samples` texts of the highest counts are kept, and the model writes L - 1 variations of each of them. */
#include "baseline_private.h"

#include <fre/linalg.h>

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct candidate {
    char *text;
    int64_t votes; /* noisy, in steps of FRE_COUNT_STEP */
    size_t place;  /* ties go to the lower one */
} candidate;

typedef struct generation {
    candidate *c;
    size_t n, cap;
    uint32_t round; /* votes that have been held */
} generation;

static fre_status no_memory(fre_err *err)
{
    return fre_fail(err, FRE_E_NOMEM, "out of memory for the candidates");
}

static void cut(generation *g, size_t n)
{
    while (g->n > n)
        free(g->c[--g->n].text);
}

/* Takes text over. */
static fre_status add(generation *g, char *text, fre_err *err)
{
    if (!text || fre_grow((void **)&g->c, &g->cap, g->n + 1, sizeof *g->c) != FRE_OK) {
        free(text);
        return no_memory(err);
    }
    g->c[g->n] = (candidate){.text = text, .place = g->n};
    g->n++;
    return FRE_OK;
}

/* ---- where a run that is stopped goes on ------------------------------------------------------------ */

static char *state_path(const baseline_run *r)
{
    char *path = NULL;

    return asprintf(&path, "%s.resume.json", r->opts->output) < 0 ? NULL : path;
}

static json_t *texts_json(const generation *g)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < g->n; i++)
        if (json_array_append_new(list, json_string(g->c[i].text)) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* Noisy counts decided what is kept, so what stands there is covered by the claim. */
static fre_status save(const baseline_run *r, const generation *g, fre_err *err)
{
    char *path = state_path(r);
    json_t *j = json_pack("{s:s, s:i, s:o}", "run", r->evolution_id, "round", (int)g->round,
                          "texts", texts_json(g));
    fre_outfile *f = NULL;
    fre_status st = path && j ? fre_outfile_open(&f, path, true, err) : no_memory(err);

    if (st == FRE_OK && json_dumpf(j, fre_outfile_stream(f), JSON_INDENT(1)) != 0)
        st = fre_fail(err, FRE_E_IO, "what {resume} needs cannot be written (disk full?)");
    if (st == FRE_OK)
        st = fre_outfile_commit(f, err);
    fre_outfile_free(f);
    json_decref(j);
    free(path);
    return st;
}

static fre_status take_texts(const baseline_run *r, generation *g, const json_t *j, fre_err *err)
{
    const json_t *list = json_object_get(j, "texts"), *text;
    const char *run = json_string_value(json_object_get(j, "run"));
    const json_int_t round = json_integer_value(json_object_get(j, "round"));
    fre_status st = FRE_OK;
    size_t i;

    if (!run || strcmp(run, r->evolution_id) != 0 || round < 1 ||
        round > r->opts->evolution.rounds || json_array_size(list) == 0)
        return fre_fail(
            err, FRE_E_DATA,
            "what the interrupted run left is of other arguments: run without {resume}, "
            "or remove %.300s.resume.json",
            r->opts->output);
    json_array_foreach(list, i, text)
    {
        if (st == FRE_OK)
            st = add(g, strdup(json_is_string(text) ? json_string_value(text) : ""), err);
    }
    g->round = (uint32_t)round;
    return st;
}

/* Nothing was left: FRE_OK, and g stays empty. */
static fre_status load(const baseline_run *r, generation *g, fre_err *err)
{
    char *path = state_path(r);
    json_t *j = path ? json_load_file(path, 0, NULL) : NULL;
    fre_status st = path ? FRE_OK : no_memory(err);

    if (st == FRE_OK && (j || access(path, F_OK) == 0))
        st = take_texts(r, g, j, err);
    json_decref(j);
    free(path);
    return st;
}

/* ---- votes --------------------------------------------------------------------------------------- */

/* A round's own stream, so that a seeded run that goes on draws what it would have drawn. */
static fre_status votes_stream(const baseline_run *r, fre_rng *rng, uint32_t round)
{
    char label[32];

    (void)snprintf(label, sizeof label, "votes %" PRIu32, round);
    return r->opts->seeded ? fre_rng_init_seeded(rng, r->opts->seed, label) : fre_rng_init(rng);
}

/* x: a point for each candidate. */
static fre_status count_votes(const baseline_run *r, generation *g, const float *x, fre_err *err)
{
    const baseline_people *p = &r->people;
    uint32_t *nearest = calloc(p->n + 1, sizeof *nearest);
    uint64_t *votes = calloc(g->n + 1, sizeof *votes); /* SECRET */
    fre_rng rng;
    fre_status st = nearest && votes ? votes_stream(r, &rng, g->round) : FRE_E_NOMEM;

    if (st != FRE_OK)
        goto out;
    st = fre_nearest(nearest, NULL, (fre_rows){p->x, p->n}, (fre_rows){x, g->n}, p->dim, 1,
                     r->opts->threads);
    for (size_t i = 0; st == FRE_OK && i < p->n; i++)
        votes[nearest[i]] += p->weight[i];
    for (size_t i = 0; st == FRE_OK && i < g->n; i++)
        g->c[i].votes = fre_aggregate_noisy_count(votes[i], &rng, r->plan.count_sigma_lattice);
    fre_rng_wipe(&rng);
out:
    fre_wipe_free(nearest, p->n * sizeof *nearest);
    fre_wipe_free(votes, g->n * sizeof *votes);
    return st == FRE_OK ? st
                        : fre_fail(err, st, "the votes cannot be counted: %s", fre_status_text(st));
}

static int more_votes(const void *a, const void *b)
{
    const candidate *x = a, *y = b;

    if (x->votes != y->votes)
        return x->votes > y->votes ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* Embeddings of the candidates themselves. */
static fre_status own_points(baseline_run *r, const generation *g, float *x, fre_err *err)
{
    char **text = calloc(g->n + 1, sizeof *text);
    fre_status st;

    if (!text)
        return no_memory(err);
    for (size_t i = 0; i < g->n; i++)
        text[i] = g->c[i].text;
    st = baseline_embed(r, x, text, g->n, err);
    free(text);
    return st;
}

/* Sources whose variations are asked for together, so that they step side by side. */
static size_t at_once(size_t each)
{
    return each > 0 && each < BASELINE_TEXTS ? BASELINE_TEXTS / each : 1;
}

static void sources_of(char **source, const generation *g, size_t from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        source[i] = g->c[from + i].text;
}

static void free_texts(char **text, size_t n)
{
    for (size_t i = 0; text && i < n; i++) {
        free(text[i]);
        text[i] = NULL;
    }
}

/* What is asked for together, and where it goes. */
typedef struct some {
    char **source, **text; /* at_once(each), and so many times each */
    float *room;           /* of the texts' embeddings */
    size_t each;
} some;

static void some_free(some *s)
{
    free(s->source);
    free(s->text);
    free(s->room);
}

static fre_status some_new(some *s, size_t each, size_t dim, fre_err *err)
{
    const size_t n = at_once(each) * each;

    *s = (some){.source = calloc(at_once(each), sizeof *s->source),
                .text = calloc(n + 1, sizeof *s->text),
                .room = calloc(n * dim + 1, sizeof *s->room),
                .each = each};
    return s->source && s->text && s->room ? FRE_OK : no_memory(err);
}

/* x: of n candidates from `from` on, the means of their variations. */
static fre_status look_ahead(baseline_run *r, float *x, const some *s, const generation *g,
                             size_t from, size_t n, fre_err *err)
{
    const size_t each = s->each, dim = r->people.dim;
    fre_status st;

    sources_of(s->source, g, from, n);
    st = baseline_vary(r, s->text, each, s->source, n, 2 * g->round + 1, err);
    if (st == FRE_OK)
        st = baseline_embed(r, s->room, s->text, n * each, err);
    for (size_t k = 0; st == FRE_OK && k < n * each * dim; k++)
        x[(from + k / (each * dim)) * dim + k % dim] += s->room[k] / (float)each;
    free_texts(s->text, n * each);
    return st;
}

/* The candidates themselves, or the means of their variations.  x: zeros. */
static fre_status points(baseline_run *r, const generation *g, float *x, fre_err *err)
{
    const size_t each = r->opts->evolution.look_ahead, step = at_once(each);
    some s;
    fre_status st;

    if (each == 0)
        return own_points(r, g, x, err);
    st = some_new(&s, each, r->people.dim, err);
    for (size_t i = 0; st == FRE_OK && i < g->n; i += step) {
        fre_progress_update(r->opts->progress, "looking ahead", i, g->n);
        st = look_ahead(r, x, &s, g, i, g->n - i < step ? g->n - i : step, err);
    }
    some_free(&s);
    return st;
}

static fre_status vote(baseline_run *r, generation *g, fre_err *err)
{
    float *x = calloc(g->n * r->people.dim + 1, sizeof *x);
    fre_status st = x ? points(r, g, x, err) : no_memory(err);

    if (st == FRE_OK)
        st = count_votes(r, g, x, err);
    free(x);
    if (st != FRE_OK)
        return st;
    qsort(g->c, g->n, sizeof *g->c, more_votes);
    cut(g, r->opts->evolution.samples);
    for (size_t i = 0; i < g->n; i++)
        g->c[i].place = i;
    g->round++;
    return FRE_OK;
}

/* ---- generations --------------------------------------------------------------------------------- */

static fre_status begin(baseline_run *r, generation *g, fre_err *err)
{
    const fre_evolution_opts *o = &r->opts->evolution;
    const size_t n = (size_t)o->samples * (o->variations + 1);
    char **text = calloc(n, sizeof *text);
    fre_status st = text ? baseline_write(r, text, n, err) : no_memory(err);

    for (size_t i = 0; text && i < n; i++) {
        if (st == FRE_OK && text[i])
            st = add(g, text[i], err);
        else
            free(text[i]);
    }
    free(text);
    return st == FRE_OK && g->n < o->samples
               ? fre_fail(err, FRE_E_MODEL, "the language model writes no texts for this prompt")
               : st;
}

/* The variations of n candidates from `from` on join the others. */
static fre_status vary(baseline_run *r, generation *g, const some *s, size_t from, size_t n,
                       fre_err *err)
{
    fre_status st;

    sources_of(s->source, g, from, n);
    st = baseline_vary(r, s->text, s->each, s->source, n, 2 * g->round, err);
    for (size_t k = 0; st == FRE_OK && k < n * s->each; k++) {
        st = add(g, s->text[k], err);
        s->text[k] = NULL;
    }
    free_texts(s->text, n * s->each);
    return st;
}

static fre_status multiply(baseline_run *r, generation *g, fre_err *err)
{
    const size_t each = r->opts->evolution.variations, kept = g->n, step = at_once(each);
    some s;
    fre_status st = some_new(&s, each, 0, err);

    for (size_t i = 0; st == FRE_OK && i < kept && each > 0; i += step) {
        fre_progress_update(r->opts->progress, "varying", i, kept);
        st = vary(r, g, &s, i, kept - i < step ? kept - i : step, err);
    }
    some_free(&s);
    return st;
}

/* ---- the release ----------------------------------------------------------------------------------- */

static fre_status fill(baseline_run *r, const generation *g, fre_err *err)
{
    fre_release *out = &r->result->release;
    const size_t dim = r->people.dim;
    fre_status st = FRE_OK;

    out->cell = calloc(g->n + 1, sizeof *out->cell);
    out->centroid = calloc(g->n * dim + 1, sizeof *out->centroid);
    if (!out->cell || !out->centroid)
        return no_memory(err);
    out->n = out->level[0].cells = g->n;
    for (size_t i = 0; st == FRE_OK && i < g->n; i++) {
        fre_released_cell *c = &out->cell[i];

        c->count = fre_aggregate_published_count(g->c[i].votes);
        c->users = (double)c->count;
        c->centre = c->parent = c->theme = FRE_RELEASE_NONE;
        c->text = (fre_inversion){.text = strdup(g->c[i].text), .similarity = 1};
        st = c->text.text ? FRE_OK : no_memory(err);
    }
    return st == FRE_OK ? own_points(r, g, out->centroid, err) : st;
}

static fre_status run_round(baseline_run *r, generation *g, fre_err *err)
{
    fre_status st = g->round > 0 ? multiply(r, g, err) : FRE_OK;

    if (st == FRE_OK)
        st = vote(r, g, err);
    return st == FRE_OK && r->opts->resume ? save(r, g, err) : st;
}

fre_status baseline_evolve(baseline_run *r, fre_err *err)
{
    generation g = {.n = 0};
    fre_status st = r->opts->resume ? load(r, &g, err) : FRE_OK;

    if (st == FRE_OK && g.n == 0)
        st = begin(r, &g, err);
    while (st == FRE_OK && g.round < r->opts->evolution.rounds)
        st = fre_interrupted() ? fre_fail(err, FRE_E_INTERRUPTED, "interrupted")
                               : run_round(r, &g, err);
    if (st == FRE_OK)
        st = fill(r, &g, err);
    cut(&g, 0);
    free(g.c);
    return st;
}

void baseline_evolved(const baseline_run *r)
{
    char *path = state_path(r);

    if (path && r->opts->resume)
        (void)unlink(path);
    free(path);
}
