/* A report: the page is whole and safe whatever the texts are, public ones hold nothing else, groups, tree
 * and map are right, and what cannot be used is refused in a sentence. */
#include "report_private.h"

#include <fre/privacy.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "assert_num.h"
#include "temp_dir.h"

#define HOSTILE "</script><script>alert(1)</script>\xe2\x80\xa8\xe2\x80\xae<!-- & 'x' \"y\""

static const uint8_t grid_seed[32] = {1, 2, 3};
static const fre_plan *plan;

static int make_plan(void **state)
{
    static fre_plan made;
    fre_plan_request r;

    fre_plan_request_init(&r);
    r.epsilon = 8;
    r.population = 10000;
    r.dim = 2;
    assert_int_equal(fre_plan_make(&made, &r, NULL), FRE_OK);
    plan = &made;
    return test_dir_make(state);
}

/* Three cells, of which the second is a near wording of the first; not to be wiped. */
static fre_release release_of(bool is_private)
{
    static char statement[] = "Claim: something.\n", first[] = "a wording",
                second[] = "a near wording", third[] = HOSTILE;
    static float centroid[] = {1, 0, .98f, .1f, -1, .2f};
    static fre_released_cell cell[] = {
        {.count = 90,
         .users = 100,
         .noise_norm = .1,
         .theme = FRE_RELEASE_NONE,
         .parent = FRE_RELEASE_NONE,
         .centre = FRE_RELEASE_NONE,
         .group = FRE_RELEASE_NONE,
         .text = {.text = first, .similarity = .99}},
        {.count = 80,
         .users = 90,
         .noise_norm = .1,
         .theme = FRE_RELEASE_NONE,
         .parent = FRE_RELEASE_NONE,
         .centre = FRE_RELEASE_NONE,
         .group = FRE_RELEASE_NONE,
         .text = {.text = second, .similarity = .9}},
        {.count = 300,
         .users = 333,
         .noise_norm = .05,
         .theme = FRE_RELEASE_NONE,
         .parent = FRE_RELEASE_NONE,
         .centre = FRE_RELEASE_NONE,
         .group = FRE_RELEASE_NONE,
         .text = {.text = third, .similarity = .5}},
    };
    fre_release r = {.is_private = is_private,
                     .users_named = true,
                     .statement = statement,
                     .cell = cell,
                     .n = 3,
                     .centroid = centroid,
                     .embedder = {.embedder = "an embedder"}};

    memset(r.embedder.sha256, 'a', 64);
    fre_release_set_plan(&r, plan, grid_seed);
    r.level[0].cells = 3;
    return r;
}

static const char *folder_of(char to[512], const char *name, bool is_private)
{
    const fre_release r = release_of(is_private);
    const fre_release_context context = {.plan = plan, .ledger_entry = "0123456789abcdef"};
    fre_outdir *dir = NULL;

    temp_path(to, &test_dir, name);
    assert_int_equal(fre_outdir_open(&dir, to, fre_release_files(), true, NULL), FRE_OK);
    assert_int_equal(fre_release_write(dir, &r, &context, NULL), FRE_OK);
    assert_int_equal(fre_outdir_commit(dir, NULL), FRE_OK);
    fre_outdir_free(dir);
    return to;
}

/* With its 0; free() it. */
static char *page_of(const fre_report_opts *o)
{
    fre_buf page;
    fre_err err = {.text = ""};
    char *text;

    fre_buf_init(&page, FRE_REPORT_MAX);
    assert_int_equal(fre_report_render(&page, o, &err), FRE_OK);
    assert_int_equal(fre_buf_append(&page, "", 1), FRE_OK);
    assert_int_equal(strlen((char *)page.p), page.n - 1);
    text = strdup((char *)page.p);
    fre_buf_wipe(&page);
    assert_non_null(text);
    return text;
}

static void is_refused(const fre_report_opts *o, fre_status status, const char *part)
{
    static const char before[] = "before";
    fre_buf page;
    fre_err err = {.text = ""};

    fre_buf_init(&page, FRE_REPORT_MAX);
    assert_int_equal(fre_buf_append(&page, before, sizeof before), FRE_OK);
    assert_int_equal(fre_report_render(&page, o, &err), status);
    assert_non_null(strstr(err.text, part));
    assert_int_equal(page.n, sizeof before);
    fre_buf_wipe(&page);
}

/* The JSON of an element of data; the page is cut behind it. */
static json_t *data_of(const char *page, const char *id)
{
    char head[80];
    const char *at, *end;
    json_t *o;

    (void)snprintf(head, sizeof head, "<script type=\"application/json\" id=\"%s\">", id);
    at = strstr(page, head);
    assert_non_null(at);
    at += strlen(head);
    end = strchr(at, '<'); /* none in the data */
    assert_non_null(end);
    assert_memory_equal(end, "</script>", 9);
    for (const char *p = at; p < end; p++)
        assert_true(*p >= ' ' && *p <= '~' && *p != '>' && *p != '&');
    o = json_loadb(at, (size_t)(end - at), 0, NULL);
    assert_non_null(o);
    return o;
}

static size_t times(const char *text, const char *part)
{
    size_t n = 0;

    for (text = strstr(text, part); text; text = strstr(text + 1, part))
        n++;
    return n;
}

static void test_page(void **state)
{
    char folder[512];
    const fre_report_opts o = {.release = folder_of(folder, "page", true), .threads = 1};
    char *page = page_of(&o), *again = page_of(&o);
    json_t *about = data_of(page, "about"), *cells = data_of(page, "cells");

    (void)state;
    assert_string_equal(page, again); /* the same release, the same page */
    assert_int_equal(times(page, "<script"), 3);
    assert_int_equal(times(page, "</script>"), 3);
    assert_int_equal(times(page, "<style>"), 1);
    assert_int_equal(times(page, "'sha256-"), 2);
    assert_int_equal(times(page, "{{"), 0);
    assert_non_null(strstr(page, "default-src 'none'"));
    assert_int_equal(times(page, "http://") + times(page, "https://"), 1); /* SVG's name */
    assert_int_equal(times(page, " style="), 0);
    assert_int_equal(json_array_size(cells), 3);
    assert_string_equal(json_string_value(json_object_get(json_array_get(cells, 2), "text")),
                        HOSTILE);
    assert_string_equal(json_string_value(json_object_get(about, "name")), "page");
    assert_true(json_is_null(json_object_get(about, "evaluation")));
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(about, "claim"), "epsilon")), "8");
    json_decref(about);
    json_decref(cells);
    free(page);
    free(again);
}

static const char evaluation[] = "{\"originals\": 71234567, \"synthetic\": 3, \"centroids\": 3, "
                                 "\"levels\": [{\"level\": \"grid\", \"cells\": 3}], "
                                 "\"</script><b>\": 0.123456789}";

static void test_evaluation(void **state)
{
    char folder[512];
    fre_report_opts o = {.release = folder_of(folder, "evaluated", true),
                         .evaluation_json = {(const uint8_t *)evaluation, sizeof evaluation - 1},
                         .threads = 1};
    char *page = page_of(&o), *public;
    json_t *about = data_of(page, "about");

    (void)state;
    assert_close(
        json_real_value(json_object_get(json_object_get(about, "evaluation"), "</script><b>")),
        0.123456789, 0, 0);
    assert_non_null(strstr(page, "71234567"));
    o.is_public = true;
    public = page_of(&o);
    assert_null(strstr(public, "71234567"));
    assert_null(strstr(public, "0.1234"));
    assert_null(strstr(public, "0123456789abcdef"));
    assert_null(strstr(public, "evaluated"));
    assert_non_null(strstr(public, "a near wording"));
    json_decref(about);
    free(page);
    free(public);
}

/* An evaluation that names its release: of this one, of another, of this one as it was. */
static void test_evaluation_of_which_release(void **state)
{
    char folder[512], path[600], hex[2 * FRE_HASH_BYTES + 1], text[400];
    uint8_t sha[FRE_HASH_BYTES];
    fre_report_opts o = {.release = folder_of(folder, "named", true), .threads = 1};
    json_t *about;
    char *page;
    FILE *f;

    (void)state;
    assert_int_equal(fre_release_sha256(sha, folder, NULL), FRE_OK);
    fre_hex(hex, sha, sizeof sha);
    (void)snprintf(text, sizeof text,
                   "{\"originals\": 1, \"synthetic\": 3, \"release_sha256\": \"%s\"}", hex);
    o.evaluation_json = (fre_bytes){(const uint8_t *)text, strlen(text)};
    page = page_of(&o);
    about = data_of(page, "about");
    assert_true(json_is_true(json_object_get(about, "evaluation_named")));
    json_decref(about);
    free(page);

    (void)snprintf(path, sizeof path, "%s/synthetic.jsonl", folder);
    f = fopen(path, "ab");
    assert_non_null(f);
    assert_int_equal(fputc('\n', f), '\n');
    assert_int_equal(fclose(f), 0);
    is_refused(&o, FRE_E_DATA, "or of this one before it was changed: it names sha256 ");

    (void)snprintf(text, sizeof text,
                   "{\"originals\": 1, \"synthetic\": 3, \"release_sha256\": null}");
    o.evaluation_json.n = strlen(text);
    page = page_of(&o);
    about = data_of(page, "about");
    assert_true(json_is_false(json_object_get(about, "evaluation_named")));
    json_decref(about);
    free(page);
}

static void test_refusals(void **state)
{
    static const char *const bad[][2] = {
        {"{\n\"originals\": 1,\n\"synthetic\"", "line 3"},
        {"[1, 2]", "line 1"},
        {"{\"originals\": 1}", "no whole numbers"},
        {"{\"originals\": 1, \"synthetic\": 1, \"centroids\": 4}", "of another release"},
        {"{\"originals\": 1, \"synthetic\": 1, \"levels\": []}", "of another release"},
        {"{\"originals\": 1, \"synthetic\": 1, \"levels\": [{\"level\": \"grid\", \"cells\": 2}]}",
         "of another release"},
        {"{\"originals\": 1, \"synthetic\": 1, \"levels\": [{\"level\": \"64\", \"cells\": 3}]}",
         "of another release"},
    };
    char folder[512], open[512], none[512], file[512];
    fre_report_opts o = {.release = temp_path(none, &test_dir, "no such"), .threads = 1};

    (void)state;
    is_refused(&o, FRE_E_NOINPUT, "is it a folder that synthesize made?");
    o.release = folder_of(folder, "refused", true);
    o.evaluation = temp_path(file, &test_dir, "evaluation.json");
    is_refused(&o, FRE_E_NOINPUT, "evaluation.json");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file(file, bad[i][0], strlen(bad[i][0]));
        is_refused(&o, FRE_E_DATA, bad[i][1]);
    }
    o.threads = 0;
    is_refused(&o, FRE_E_ARG, "threads");
    o = (fre_report_opts){
        .release = folder_of(open, "open", false), .is_public = true, .threads = 1};
    is_refused(&o, FRE_E_REFUSED, "NOT PRIVATE");
    o.is_public = false;
    free(page_of(&o));
}

/* ---- the parts ------------------------------------------------------------------------------------ */

static void test_beliefs(void **state)
{
    static const struct {
        double q, epsilon;
        const char *said;
    } known[] = {{.5, 0, "50 %"},     {.5, .1, "52.5 %"},  {.5, 4, "98.3 %"},   {.01, 4, "35.6 %"},
                 {.001, 4, "5.19 %"}, {.5, 8, "99.967 %"}, {.001, 8, "74.9 %"}, {.5, 900, "100 %"}};
    char said[REPORT_SHARE_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const double odds = known[i].q / (1 - known[i].q) * exp(known[i].epsilon);

        report_belief(said, known[i].q, known[i].epsilon);
        assert_string_equal(said, known[i].said);
        assert_true(strtod(said, NULL) >= (isinf(odds) ? 100 : 100 * odds / (1 + odds)) - 1e-9);
    }
}

static void test_groups(void **state)
{
    fre_release of = release_of(true), *r = &of;
    report_near near = {.n = 0};
    uint32_t group[3];

    (void)state;
    assert_int_equal(report_near_find(&near, r, 1), FRE_OK);
    assert_int_equal(near.k, 2);
    assert_int_equal(near.index[0], 1);
    assert_int_equal(near.index[2 * 2], 1); /* .98, .1 is nearer to it than 1, 0 */
    assert_int_equal(report_groups(group, r, &near), FRE_OK);
    assert_int_equal(group[0], 0);
    assert_int_equal(group[1], 0);
    assert_int_equal(group[2], 2);
    r->radius = .01; /* the noise is taken off the distance: 0.0104 - 0.02 */
    assert_int_equal(report_groups(group, r, &near), FRE_OK);
    assert_int_equal(group[1], 0);
    r->level[0].sketch =
        (fre_sketch_spec){FRE_SKETCH_CODEBOOK, .codebook = {.cells = 9, .radius = .05}};
    assert_int_equal(report_groups(group, r, &near), FRE_OK); /* but no more than is left of it */
    assert_int_equal(group[1], 1);
    r->level[0].sketch.kind = FRE_SKETCH_GRID;
    r->cell[0].noise_norm = r->cell[1].noise_norm = 0;
    assert_int_equal(report_groups(group, r, &near), FRE_OK);
    assert_int_equal(group[1], 1);
    r->radius = .5;
    r->cell[1].theme = 7; /* never across themes */
    assert_int_equal(report_groups(group, r, &near), FRE_OK);
    assert_int_equal(group[1], 1);
    r->cell[1].theme = FRE_RELEASE_NONE;
    r->cell[0].noise_norm = r->cell[1].noise_norm = .1;
    report_near_wipe(&near);
}

/* What the lines say counts more; the one with the most users leads. */
static void test_stated_groups(void **state)
{
    static const uint32_t stated[][3] = {{1, 0, 1}, {0, 0, 3}, {0, FRE_RELEASE_NONE, 1}};
    static const uint32_t leads[][3] = {{2, 1, 2}, {0, 0, 2}, {0, 0, 2}};
    const fre_release r = release_of(true);
    report_near near = {.n = 0};
    uint32_t group[3];

    (void)state;
    assert_int_equal(report_near_find(&near, &r, 1), FRE_OK);
    for (size_t k = 0; k < 3; k++) { /* the last two are no numbers of groups */
        for (size_t i = 0; i < 3; i++)
            r.cell[i].group = stated[k][i];
        assert_int_equal(report_groups(group, &r, &near), FRE_OK);
        assert_memory_equal(group, leads[k], sizeof group);
    }
    for (size_t i = 0; i < 3; i++)
        r.cell[i].group = FRE_RELEASE_NONE;
    report_near_wipe(&near);
}

static void test_parents(void **state)
{
    /* Levels 0 (fine), 1, 2 (coarsest). */
    fre_released_cell cell[] = {
        {.level = 0, .centre = 40, .parent = 5, .theme = 1}, /* in cell 1 */
        {.level = 1, .centre = 5, .parent = 1, .theme = 1},  /* in cell 2 */
        {.level = 2, .centre = 1, .parent = FRE_RELEASE_NONE, .theme = 1},
        {.level = 0,
         .centre = 41,
         .parent = 6,
         .theme = 1}, /* 6 of level 1 was not released: in cell 2 */
        {.level = 0, .centre = 42, .parent = 6, .theme = 3}, /* nor was theme 3 */
    };
    const fre_release r = {.cell = cell, .n = 5, .n_levels = 3};
    uint32_t parent[5];

    (void)state;
    assert_int_equal(report_parents(parent, &r), FRE_OK);
    assert_int_equal(parent[0], 1);
    assert_int_equal(parent[1], 2);
    assert_int_equal(parent[2], FRE_RELEASE_NONE);
    assert_int_equal(parent[3], 2);
    assert_int_equal(parent[4], FRE_RELEASE_NONE);
}

/* Rows that vary most along (1, 1, 0), then along (1, -1, 0), about a point far from the origin. */
static void test_principal(void **state)
{
    float x[40 * 3];
    double at[2 * 40], sign[2];

    (void)state;
    for (size_t i = 0; i < 40; i++) {
        const double a = (double)i - 19.5, b = (double)(i * 7 % 40) / 10 - 1.95;

        x[3 * i] = (float)(100 + (a + b) / sqrt(2));
        x[3 * i + 1] = (float)(100 + (a - b) / sqrt(2));
        x[3 * i + 2] = 5;
    }
    assert_int_equal(report_principal(at, x, 40, 3), FRE_OK);
    sign[0] = at[0] < 0 ? 1 : -1;
    for (size_t i = 0; i < 40; i++) /* a and b are all but uncorrelated */
        assert_close(sign[0] * at[2 * i], (double)i - 19.5, .1, 0);
    sign[1] = at[1] < 0 ? 1 : -1;
    for (size_t i = 0; i < 40; i++)
        assert_close(sign[1] * at[2 * i + 1], (double)(i * 7 % 40) / 10 - 1.95, .6, 0);
}

/* Two heaps far apart stay apart on the map, and fill it. */
static void test_map(void **state)
{
    enum { N = 60 };
    float x[N * 4];
    fre_released_cell cell[N] = {{.users = 0}};
    const fre_release r = {.cell = cell, .n = N, .centroid = x, .grid = {.dim = 4}};
    report_near near = {.n = 0};
    int32_t place[2 * N], low = REPORT_MAP_SIDE, high = 0;
    double within = 0, across = 0;

    (void)state;
    for (size_t i = 0; i < N * 4; i++)
        x[i] = (float)((i * 2654435761u >> 7) % 1000) / 1000 + (i / 4 % 2 && i % 4 == 0 ? 10 : 0);
    assert_int_equal(report_near_find(&near, &r, 1), FRE_OK);
    assert_int_equal(near.k, REPORT_NEAR);
    assert_int_equal(report_map(place, &r, &near), FRE_OK);
    for (size_t i = 0; i < 2 * N; i++) {
        assert_in_range(place[i], 0, REPORT_MAP_SIDE);
        low = place[i] < low ? place[i] : low;
        high = place[i] > high ? place[i] : high;
    }
    assert_int_equal(low, 0);
    assert_int_equal(high, REPORT_MAP_SIDE);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < i; j++)
            *(i % 2 == j % 2 ? &within : &across) +=
                hypot(place[2 * i] - place[2 * j], place[2 * i + 1] - place[2 * j + 1]) /
                (i % 2 == j % 2 ? N * (N / 2 - 1) / 2.0 : N * N / 4.0);
    assert_true(across > 2 * within);
    report_near_wipe(&near);
}

/* No cell, one, two, and all at one point. */
static void test_few(void **state)
{
    static float x[3 * 2] = {1, 1, 1, 1, 1, 1};
    fre_released_cell cell[3] = {
        {.group = FRE_RELEASE_NONE}, {.group = FRE_RELEASE_NONE}, {.group = FRE_RELEASE_NONE}};

    (void)state;
    for (size_t n = 0; n <= 3; n++) {
        const fre_release r = {
            .cell = cell, .n = n, .centroid = x, .grid = {.dim = 2}, .n_levels = 1};
        report_near near = {.n = 0};
        int32_t place[6];
        uint32_t group[3];

        assert_int_equal(report_near_find(&near, &r, 1), FRE_OK);
        assert_int_equal(near.k, n < 2 ? 0 : n - 1);
        assert_int_equal(report_groups(group, &r, &near), FRE_OK);
        assert_int_equal(report_map(place, &r, &near), FRE_OK);
        for (size_t i = 0; i < 2 * n; i++)
            assert_in_range(place[i], 0, REPORT_MAP_SIDE);
        report_near_wipe(&near);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_evaluation),
        cmocka_unit_test(test_evaluation_of_which_release),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_beliefs),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_stated_groups),
        cmocka_unit_test(test_parents),
        cmocka_unit_test(test_principal),
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_few),
    };

    return cmocka_run_group_tests(tests, make_plan, test_dir_remove);
}
