/* tests/unit/service/curator/test_curator_canary.c
 * What may never come out, over many runs of the curator: planted among real texts, unique strings and groups too
 * small, with the grid and by levels; and a target around whom somebody puts fake users, the attack that
 * k-anonymous clusters fell to.  But for one
 * run no texts are written: what a text is made of is the released centroid. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fre/codebook.h>
#include <fre/corpus.h>
#include <fre/curator.h>
#include <fre/linalg.h>
#include <fre/sketch.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "long_tests.h"
#include "npy_file.h"
#include "small_release.h"
#include "temp_dir.h"

#define DATA FRE_SOURCE_DIR "/data/assistant-requests.jsonl.gz"
#define MODEL FRE_SOURCE_DIR "/models/" FRE_EMBEDDER_DEFAULT
#define CODEBOOK FRE_SOURCE_DIR "/models/all-minilm-l6-v2.codebook.gguf"
#define DIM 384u
#define REAL 1000u /* real texts, drawn as often as people say them ... */
#define TIMES 3u   /* ... and each by so many */
#define THRESHOLD 40u
#define LEVEL "256"
#define LEVELS 7u /* of the codebook, LEVEL the last */

/* What only one or a few people say; a group is nearly the same in their wordings. */
static const struct {
    const char *text, *word; /* word: that nobody else says */
    uint32_t people;
} canaries[] = {
    {"my card number is 4929 1180 3355 7721 and the code is 640", "4929", 1},
    {"tell Zvonimir Aguirrezabala that the biopsy came back positive", "Aguirrezabala", 1},
    {"the key to the cabin on Quennell Lake is under the third heron", "Quennell", 1},
    {"password for the vault is ostrich-marimba-77-kelp", "ostrich", 1},
    {"cancel my session with the addiction counsellor in Trondheim", "Trondheim", 1},
    {"wire nine thousand to Ottoline before the hearing on Thursday", "Ottoline", 1},
    {"who else was in the hotel room in Split with the deputy mayor", "deputy mayor", 3},
    {"how long does tramadol show in a test for the ferry company", "tramadol", 5},
    {"file the complaint against surgeon Brandvold of ward eleven", "Brandvold", 9},
};
#define CANARIES (sizeof canaries / sizeof canaries[0])

/* ---- a population ------------------------------------------------------------------------------ */

static float *rows; /* n_rows x DIM, the planted ones last */
static size_t n_rows;
static float planted[CANARIES * DIM];
static uint32_t *cells; /* of each row and then of each canary: LEVELS public ones */
static fre_npy_meta made_by;

static void ok(fre_status st)
{
    assert_int_equal(st, FRE_OK);
}

static char *copy(const char *text)
{
    char *p = strdup(text);

    assert_non_null(p);
    return p;
}

static void read_real(char *text[REAL])
{
    const fre_corpus_opts o = {.text_field = "text"};
    fre_corpus *c = NULL;
    fre_record rec;
    bool more = true;

    ok(fre_corpus_open(&c, DATA, &o, NULL));
    for (size_t i = 0; i < REAL; i++) {
        ok(fre_corpus_next(c, &more, &rec, NULL));
        assert_true(more);
        text[i] = copy(rec.text);
    }
    fre_corpus_free(c);
}

static void embed(float *out, char *const *text, size_t n)
{
    const fre_embedder_opts o = {.path = MODEL, .threads = 2};
    const char **p = malloc(n * sizeof *p);
    size_t *len = malloc(n * sizeof *len);
    fre_embedder *e = NULL;

    assert_true(p && len);
    for (size_t i = 0; i < n; i++) {
        p[i] = text[i];
        len[i] = strlen(text[i]);
    }
    ok(fre_embedder_new(&e, &o, NULL));
    ok(fre_embed_texts(e, out, p, len, n, NULL));
    fre_embedder_rows_meta(e, &made_by);
    fre_embedder_free(e);
    free(p);
    free(len);
}

static void find_cells(void)
{
    fre_codebook *book = NULL;

    ok(fre_codebook_open(&book, CODEBOOK, NULL));
    assert_int_equal(fre_codebook_info_view(book)->n_levels, LEVELS);
    assert_int_equal(fre_codebook_find(book, LEVEL), LEVELS - 1);
    cells = calloc((n_rows + CANARIES) * LEVELS, sizeof *cells);
    assert_non_null(cells);
    ok(fre_codebook_cells(book, cells, rows, n_rows, 1));
    ok(fre_codebook_cells(book, cells + n_rows * LEVELS, planted, CANARIES, 1));
    fre_codebook_free(book);
}

static const char *at(const char *name)
{
    static char path[4][300];
    static size_t turn;
    char *p = path[turn++ % 4];

    (void)snprintf(p, sizeof path[0], "%s/%s", test_dir.path, name);
    return p;
}

/* n rows, or one that is repeated, with the sidecar that says what made them. */
static void write_input(const char *name, const float *x, size_t n, bool repeated)
{
    char sidecar[320];
    FILE *f;

    write_rows(at(name), x, n, DIM, repeated);
    (void)snprintf(sidecar, sizeof sidecar, "%s.json", at(name));
    f = fopen(sidecar, "wb");
    assert_non_null(f);
    ok(fre_npy_write_meta(f, &made_by, n, DIM, NULL));
    assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
    char *text[REAL + CANARIES];
    size_t people = 0, next;

    if (test_dir_make(state) != 0)
        return -1;
    read_real(text);
    for (size_t i = 0; i < CANARIES; i++) {
        text[REAL + i] = copy(canaries[i].text);
        people += canaries[i].people;
    }
    n_rows = (size_t)TIMES * REAL + people;
    rows = calloc((n_rows + CANARIES) * DIM, sizeof *rows);
    assert_non_null(rows);
    embed(rows, text, REAL + CANARIES);
    memcpy(planted, rows + (size_t)REAL * DIM, sizeof planted);
    for (size_t k = 1; k < TIMES; k++)
        memcpy(rows + k * REAL * DIM, rows, (size_t)REAL * DIM * sizeof *rows);
    next = (size_t)TIMES * REAL;
    for (size_t i = 0; i < CANARIES; i++)
        for (uint32_t k = 0; k < canaries[i].people; k++)
            memcpy(rows + next++ * DIM, planted + i * DIM, DIM * sizeof *rows);
    for (size_t i = 0; i < REAL + CANARIES; i++)
        free(text[i]);
    find_cells();
    write_input("x.npy", rows, n_rows, false);
    return 0;
}

static int teardown(void **state)
{
    free(rows);
    free(cells);
    return test_dir_remove(state);
}

/* ---- runs --------------------------------------------------------------------------------------- */

static fre_curator_opts options(const char *in, const char *levels, uint32_t seed)
{
    fre_curator_opts o = small_release(at(in), at("out"));

    o.force = true;
    o.embedder = MODEL;
    o.codebook = levels ? CODEBOOK : NULL;
    o.plan.threshold = THRESHOLD;
    o.plan.population = 10000;
    o.seeded = true;
    memcpy(o.seed, &seed, sizeof seed);
    if (levels)
        ok(fre_plan_request_levels(&o.plan, levels, 0, FRE_COUNTS_NOISY, NULL));
    return o;
}

static fre_curator_result *run(const fre_curator_opts *o)
{
    fre_curator_result *r = NULL;
    fre_err err = {.text = ""};

    if (fre_curator_synthesize(&r, o, &err) != FRE_OK)
        fail_msg("%s", err.text);
    return r;
}

/* ---- canaries ------------------------------------------------------------------------------------ */

/* Judges: how often a release gives a canary away.  What they notice is tested below, by releases that do. */

/* Released centroids near a canary, be it by the noise that was drawn. */
static size_t near_canaries(const fre_release *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++)
        for (size_t k = 0; k < CANARIES; k++)
            n += sqrt(fre_dist2(r->centroid + i * DIM, planted + k * DIM, DIM)) <= r->radius / 2;
    return n;
}

/* People of whom some say what was planted, and how many do, in the public cell. */
static void count_in(uint32_t cell, size_t *real, size_t *fake)
{
    *real = *fake = 0;
    for (size_t i = 0; i < n_rows; i++)
        if (cells[i * LEVELS + LEVELS - 1] == cell)
            ++*(i < (size_t)TIMES * REAL ? real : fake);
}

static bool is_cell_of(const fre_sketch *s, const fre_cell *name, const float *x)
{
    fre_cell own;

    ok(fre_sketch_cell(s, &own, x, DIM));
    return memcmp(&own, name, sizeof own) == 0;
}

/* Canaries whose cell of the grid is released without so many others in it. */
static size_t alone_on_the_grid(const fre_release *r, uint64_t tau)
{
    fre_sketch *s = NULL;
    size_t n = 0;

    ok(fre_sketch_new(&s, &r->grid));
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = 0; k < CANARIES; k++) {
            size_t others = 0;

            if (r->level[r->cell[i].level].sketch.kind != FRE_SKETCH_GRID ||
                !is_cell_of(s, &r->cell_name[i], planted + k * DIM))
                continue;
            for (size_t row = 0; row < REAL; row++)
                others += TIMES * is_cell_of(s, &r->cell_name[i], rows + row * DIM);
            n += others < tau;
        }
    fre_sketch_free(s);
    return n;
}

/* Public cells that are released for what was planted in them: without that they have not as many. */
static size_t planted_levels(const fre_release *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++) {
        size_t real, fake;

        if (r->level[r->cell[i].level].sketch.kind != FRE_SKETCH_CODEBOOK)
            continue;
        count_in(r->cell[i].centre, &real, &fake);
        n += fake > real;
    }
    return n;
}

/* Texts that hold a canary's own word, or lie near a canary. */
static size_t texts_of_canaries(const fre_release *r)
{
    char **text = calloc(r->n + 1, sizeof *text);
    float *x = calloc((r->n + 1) * DIM, sizeof *x);
    size_t n = 0, given = 0;

    assert_true(text && x);
    for (size_t i = 0; i < r->n; i++)
        if (r->cell[i].text.text)
            text[n++] = r->cell[i].text.text;
    embed(x, text, n);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < CANARIES; k++)
            given += strcasestr(text[i], canaries[k].word) ||
                     sqrt(fre_dist2(x + i * DIM, planted + k * DIM, DIM)) <= r->radius / 2;
    free(text);
    free(x);
    return given;
}

static void grid_holds_canaries_back(void **state)
{
    const uint32_t runs = long_tests() ? 1000 : 12;
    size_t released = 0;

    (void)state;
    for (uint32_t seed = 1; seed <= runs; seed++) {
        const fre_curator_opts o = options("x.npy", NULL, seed);
        fre_curator_result *rel = run(&o);

        assert_int_equal(alone_on_the_grid(&rel->release, rel->plan.mechanism.tau), 0);
        assert_int_equal(near_canaries(&rel->release), 0);
        released += rel->release.n;
        fre_curator_result_free(rel);
    }
    assert_true(released >= runs); /* what many say does come out */
}

static void levels_hold_canaries_back(void **state)
{
    const uint32_t runs = long_tests() ? 300 : 3;
    size_t released = 0;

    (void)state;
    for (uint32_t seed = 1; seed <= runs; seed++) {
        const fre_curator_opts o = options("x.npy", LEVEL, seed);
        fre_curator_result *rel = run(&o);

        assert_int_equal(planted_levels(&rel->release), 0);
        assert_int_equal(near_canaries(&rel->release), 0);
        released += rel->release.n;
        fre_curator_result_free(rel);
    }
    assert_true(released >= runs);
}

/* With texts, once: they are made of the same centroids. */
static void texts_hold_canaries_back(void **state)
{
    const uint32_t runs = long_tests() ? 20 : 1;
    size_t texts = 0;

    (void)state;
    for (uint32_t seed = 1; seed <= runs; seed++) {
        fre_curator_opts o = options("x.npy", NULL, seed);
        fre_curator_result *rel;

        o.inverter = NULL; /* the bundled one */
        rel = run(&o);
        for (size_t i = 0; i < rel->release.n; i++)
            texts += rel->release.cell[i].text.text != NULL;
        assert_int_equal(texts_of_canaries(&rel->release), 0);
        fre_curator_result_free(rel);
    }
    assert_true(texts >= runs);
}

/* ---- what the judges notice ----------------------------------------------------------------------- */

/* A release as if the threshold's test and the noise had been left out: every cell that somebody is in. */
static fre_curator_result *leaky(const char *levels)
{
    fre_curator_opts o = options("x.npy", NULL, 1);

    o.plan.epsilon = (double)INFINITY;
    o.plan.sampling_rate = 1;
    o.plan.threshold = 1;
    o.codebook = levels ? CODEBOOK : NULL;
    if (levels)
        ok(fre_plan_request_levels(&o.plan, levels, 0, FRE_COUNTS_SAMPLED, NULL));
    return run(&o);
}

static void judges_notice_a_threshold_left_out(void **state)
{
    fre_curator_result *rel = leaky(NULL);
    const size_t n = rel->release.n;

    (void)state;
    assert_true(n > 40);
    assert_int_equal(alone_on_the_grid(&rel->release, THRESHOLD), CANARIES);
    assert_int_equal(near_canaries(&rel->release), CANARIES);
    /* Noise alone would hide that from the one judge, and not from the other. */
    for (size_t i = 0; i < n * DIM; i++)
        rel->release.centroid[i] += i % 2 ? .1f : -.1f;
    assert_int_equal(near_canaries(&rel->release), 0);
    assert_int_equal(alone_on_the_grid(&rel->release, THRESHOLD), CANARIES);
    fre_curator_result_free(rel);
}

/* Of one whose cell is its own: a canary's level is as coarse as a theme, and most are in others'. */
static void judges_notice_a_level_s_threshold_left_out(void **state)
{
    fre_curator_result *rel = leaky(LEVEL);
    size_t own = 0;

    (void)state;
    for (size_t k = 0; k < CANARIES; k++) {
        size_t real, fake;

        count_in(cells[(n_rows + k) * LEVELS + LEVELS - 1], &real, &fake);
        own += fake > real;
    }
    assert_true(own > 0);
    assert_true(planted_levels(&rel->release) > 0);
    fre_curator_result_free(rel);
}

/* Word for word, in other letters, with a word alone, or said otherwise: each in a release that is sound. */
static void judges_notice_a_text_that_was_copied(void **state)
{
    static const char *const said[] = {
        "my card number is 4929 1180 3355 7721 and the code is 640",
        "TELL ZVONIMIR AGUIRREZABALA that the biopsy came back positive",
        "what is the weather like for Ottoline",
        "how long does tramadol show up in the ferry company's test",
        "please file that complaint against surgeon Brandvold of ward eleven"};
    const fre_curator_opts o = options("x.npy", NULL, 1);
    fre_curator_result *rel = run(&o);

    (void)state;
    assert_true(rel->release.n > 0);
    assert_int_equal(texts_of_canaries(&rel->release), 0);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        char **text = &rel->release.cell[rel->release.n - 1].text.text;

        free(*text);
        *text = copy(said[i]);
        assert_true(texts_of_canaries(&rel->release) > 0);
    }
    fre_curator_result_free(rel);
}

/* ---- fake users around a target ------------------------------------------------------------------ */

#define TARGET 0u   /* a canary */
#define EPSILON 1.0 /* a claim that counting can come near to */
#define CROWD 70u   /* threshold; by levels fakes can be six deviations of a count's noise below */
#define CROWD_LEVELS 150u
#define ALPHA 1e-4 /* of a bound to be wrong */

/* Everybody else is the attacker's: `fakes` copies of the target, and the target or not. */
static void write_crowd(size_t fakes, bool with)
{
    write_input("crowd.npy", planted + TARGET * DIM, fakes + with, true);
}

typedef struct outcome {
    uint64_t released, runs;
    uint64_t tau, p32;  /* of the grid; of a level tau is T */
    double count_sigma; /* of a level */
    double delta;
} outcome;

static outcome attack(size_t fakes, bool with, const char *levels, uint32_t runs)
{
    outcome out = {.runs = runs};

    write_crowd(fakes, with);
    for (uint32_t k = 0; k < runs; k++) {
        fre_curator_opts o = options("crowd.npy", levels, 2 * k + with);
        fre_curator_result *rel;

        o.plan.epsilon = EPSILON;
        o.plan.threshold = levels ? CROWD_LEVELS : CROWD;
        rel = run(&o);
        for (size_t i = 0; i < rel->release.n; i++)
            out.released += !levels || rel->release.cell[i].centre ==
                                           cells[(n_rows + TARGET) * LEVELS + LEVELS - 1];
        out.tau = levels ? rel->plan.level[0].level.tau : rel->plan.mechanism.tau;
        out.count_sigma = rel->plan.level[0].level.count_sigma;
        out.p32 = rel->plan.mechanism.p32;
        out.delta = rel->plan.request.delta;
        fre_curator_result_free(rel);
    }
    return out;
}

/* Pr[Bin(n, p) = k], 0 < p < 1 */
static double chance(uint64_t n, uint64_t k, double p)
{
    return exp(lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) +
               (double)k * log(p) + (double)(n - k) * log1p(-p));
}

/* Pr[Bin(n, p) >= k] */
static double tail(uint64_t n, uint64_t k, double p)
{
    double sum = 0;

    for (uint64_t j = k; j <= n; j++)
        sum += chance(n, j, p);
    return sum;
}

/* The largest p, or the least, that explains so many releases with more than ALPHA: Clopper and Pearson, 1934. */
static double bound(const outcome *o, bool most)
{
    double lo = 0, hi = 1;

    if (o->released == (most ? o->runs : 0))
        return most ? 1 : 0;
    for (int i = 0; i < 50; i++) {
        const double mid = (lo + hi) / 2;
        const double beyond =
            most ? 1 - tail(o->runs, o->released + 1, mid) : tail(o->runs, o->released, mid);

        if ((beyond > ALPHA) == most)
            lo = mid;
        else
            hi = mid;
    }
    return most ? hi : lo;
}

/* Whether the target's cell came out tells no more about the target than was claimed, either way. */
static void check_claim(const outcome *with, const outcome *without)
{
    const double e = exp(EPSILON);

    assert_true(bound(with, false) <= e * bound(without, true) + with->delta);
    assert_true(bound(without, false) <= e * bound(with, true) + with->delta);
    assert_true(1 - bound(with, true) <= e * (1 - bound(without, false)) + with->delta);
    assert_true(1 - bound(without, true) <= e * (1 - bound(with, false)) + with->delta);
}

/* The law itself, which an error of one in a count or a threshold would leave. */
static void check_law(const outcome *o, double p)
{
    assert_true(bound(o, false) <= p && p <= bound(o, true));
}

static double sampled_law(size_t people, const outcome *o)
{
    return tail(people, o->tau, (double)o->p32 / (double)FRE_P_ONE);
}

static double noisy_law(size_t people, const outcome *o)
{
    return erfc(((double)o->tau - (double)people) / o->count_sigma / sqrt(2)) / 2;
}

/* Fakes that are too few with the target never bring its cell out; at the threshold they learn what was claimed. */
static void fakes_on_the_grid(void **state)
{
    const uint32_t runs = long_tests() ? 2000 : 40;
    outcome with = attack(1, true, NULL, 1), without;
    const uint64_t tau = with.tau;
    const size_t even = (size_t)((double)tau * (double)FRE_P_ONE / (double)with.p32);

    (void)state;
    assert_true(tau > 2);
    assert_int_equal(attack(tau - 2, true, NULL, runs).released, 0);
    with = attack(even - 1, true, NULL, runs);
    without = attack(even - 1, false, NULL, runs);
    assert_true(with.released > 0 && without.released > 0);
    check_claim(&with, &without);
    check_law(&with, sampled_law(even, &with));
    check_law(&without, sampled_law(even - 1, &without));
}

/* The same by levels, where a count's noise can bring out any cell: of fakes six deviations below the threshold
 * by a chance of 1e-9. */
static void fakes_by_levels(void **state)
{
    const uint32_t runs = long_tests() ? 400 : 8;
    outcome with = attack(1, true, LEVEL, 1), without;
    const uint64_t tau = with.tau;

    (void)state;
    assert_true((double)tau > 6 * with.count_sigma + 2);
    assert_int_equal(attack(tau - (size_t)(6 * with.count_sigma) - 2, true, LEVEL, runs).released,
                     0);
    with = attack(tau - 1, true, LEVEL, runs);
    without = attack(tau - 1, false, LEVEL, runs);
    assert_true(with.released > 0 && without.released > 0);
    check_claim(&with, &without);
    check_law(&with, noisy_law(tau, &with));
    check_law(&without, noisy_law(tau - 1, &without));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grid_holds_canaries_back),
        cmocka_unit_test(levels_hold_canaries_back),
        cmocka_unit_test(texts_hold_canaries_back),
        cmocka_unit_test(judges_notice_a_threshold_left_out),
        cmocka_unit_test(judges_notice_a_level_s_threshold_left_out),
        cmocka_unit_test(judges_notice_a_text_that_was_copied),
        cmocka_unit_test(fakes_on_the_grid),
        cmocka_unit_test(fakes_by_levels),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
