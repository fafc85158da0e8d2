/* A release's folder: what is in it with a curator and without one, and what is refused. */
#include <fre/folder.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char *folder; /* a fresh one for each test */

static int make_place(void **state)
{
    char *at = strdup("/tmp/test_folder.XXXXXX");

    *state = at;
    if (!at || !mkdtemp(at))
        return -1;
    return asprintf(&folder, "%s/out", at) < 0 ? -1 : 0;
}

static void path_in(char *out, size_t n, const char *name)
{
    (void)snprintf(out, n, "%s/%s", folder, name);
}

static int drop_place(void **state)
{
    const char *const *name = fre_folder_names();
    char path[300];

    for (; *name; name++) {
        path_in(path, sizeof path, *name);
        (void)unlink(path);
    }
    (void)rmdir(folder);
    (void)rmdir(*state);
    free(folder);
    free(*state);
    return 0;
}

static char *content(const char *name)
{
    static char text[1 << 16];
    char path[300];
    FILE *f;
    size_t n;

    path_in(path, sizeof path, name);
    f = fopen(path, "rb");
    assert_non_null(f);
    n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    assert_int_equal(fclose(f), 0);
    return text;
}

static fre_plan plan_of(bool distributed)
{
    fre_plan_request r;
    fre_plan plan;

    fre_plan_request_init(&r);
    r.epsilon = 8;
    r.population = 10000;
    r.dim = 2;
    if (distributed) {
        r.noise = FRE_NOISE_DISCRETE;
        r.dist = (fre_distributed){.on = true, .cover = true, .curious = 1, .dropout = .1};
    }
    assert_int_equal(fre_plan_make(&plan, &r, NULL), FRE_OK);
    return plan;
}

static const float centroid[] = {.5f, -.25f, 1, 0};
static const fre_released_cell cells[] = {
    {.count = 90, .answers = 80, .users = 100, .noise_norm = .1},
    {.count = 300, .answers = 299, .users = 333, .noise_norm = .05},
};
static const uint8_t grid_seed[32] = {1, 2, 3};
static const uint8_t names[2 * FRE_FOLDER_CELL_BYTES] = {0xab};

static fre_status write_with(const fre_folder *f)
{
    fre_outdir *dir = NULL;
    fre_status st = fre_outdir_open(&dir, folder, fre_folder_names(), false, NULL);

    assert_int_equal(st, FRE_OK);
    st = fre_folder_write(dir, f, NULL);
    if (st == FRE_OK)
        st = fre_outdir_commit(dir, NULL);
    fre_outdir_free(dir);
    return st;
}

static void test_curator(void **state)
{
    const fre_plan plan = plan_of(false);
    const fre_folder f = {.plan = &plan,
                          .grid_seed = grid_seed,
                          .dim = 2,
                          .is_private = true,
                          .statement = "first\nsecond",
                          .cell = cells,
                          .n = 2,
                          .centroid = centroid,
                          .cell_name = names,
                          .inverter = {.language_model = grid_seed, .effort = 7},
                          .ledger_entry = "0123456789abcdef"};

    (void)state;
    assert_int_equal(write_with(&f), FRE_OK);
    assert_non_null(strstr(content("synthetic.jsonl"), "\"cell\":\"ab00"));
    assert_null(strstr(content("synthetic.jsonl"), "answers"));
    assert_non_null(strstr(content("release.json"), "0123456789abcdef"));
    assert_non_null(strstr(content("release.json"), "\"second\""));
    assert_non_null(strstr(content("release.json"), "\"prior\": null"));
    assert_non_null(
        strstr(content("release.json"), "\"language_model\": {\n      \"sha256\": \"01020300"));
    assert_non_null(strstr(content("release.json"),
                           "\"search\": {\n    \"effort\": 7,\n    \"public_corpus\": null"));
    assert_null(strstr(content("release.json"), "\"collection\""));
    assert_null(strstr(content("release.json"), "no cell was released"));
}

/* Nobody knows the cells of a collection; its terms and the answers are there instead. */
static void test_distributed(void **state)
{
    static const char *const warning[] = {"a warning of the run"};
    const fre_plan plan = plan_of(true);
    const fre_folder f = {.plan = &plan,
                          .grid_seed = grid_seed,
                          .dim = 2,
                          .statement = "",
                          .cell = cells,
                          .n = 2,
                          .centroid = centroid,
                          .ledger_reason = "a reason",
                          .collection = "{\"id\": \"c0ffee\"}",
                          .warning = warning,
                          .n_warnings = 1};
    fre_npy *npy = NULL;
    float row[2];
    char path[300];

    (void)state;
    assert_int_equal(write_with(&f), FRE_OK);
    assert_null(strstr(content("synthetic.jsonl"), "\"cell\""));
    assert_non_null(strstr(content("synthetic.jsonl"), "\"answers\":299"));
    assert_non_null(strstr(content("release.json"), "\"c0ffee\""));
    assert_non_null(strstr(content("release.json"), "a warning of the run"));
    assert_non_null(strstr(content("release.json"), "a reason"));
    path_in(path, sizeof path, "centroids.npy");
    assert_int_equal(fre_npy_open(&npy, path, NULL), FRE_OK);
    assert_int_equal(fre_npy_rows(npy), 2);
    assert_int_equal(fre_npy_row(npy, row, 1, NULL), FRE_OK);
    assert_memory_equal(row, centroid + 2, sizeof row);
    fre_npy_free(npy);
}

static void test_empty_release(void **state)
{
    const fre_plan plan = plan_of(true);
    const fre_folder f = {
        .plan = &plan, .grid_seed = grid_seed, .dim = 2, .statement = "", .ledger_reason = ""};
    char warning[4 * FRE_ERR_BYTES];

    (void)state;
    assert_int_equal(write_with(&f), FRE_OK);
    assert_non_null(strstr(content("release.json"),
                           fre_param_render(warning, sizeof warning, FRE_FOLDER_NO_CELL, NULL)));
    assert_null(strstr(warning, "{threshold}")); /* as release.json names it: threshold */
    assert_string_equal(content("synthetic.jsonl"), "");
}

static void test_terms_that_are_no_object(void **state)
{
    static const char *const wrong[] = {"[]", "{", "3", "{\"a\": 1, \"a\": 2}"};
    const fre_plan plan = plan_of(true);
    fre_folder f = {
        .plan = &plan, .grid_seed = grid_seed, .dim = 2, .statement = "", .ledger_reason = ""};
    struct stat is;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        f.collection = wrong[i];
        assert_int_equal(write_with(&f), FRE_E_DATA);
        assert_int_not_equal(stat(folder, &is), 0);
    }
}

static void test_statement(void **state)
{
    const fre_plan plan = plan_of(true);
    char *with = NULL, *without = NULL;

    (void)state;
    assert_int_equal(fre_folder_statement(&with, &plan, true, true, false, NULL), FRE_OK);
    assert_int_equal(fre_folder_statement(&without, &plan, false, false, true, NULL), FRE_OK);
    assert_null(strstr(with, "NOT PRIVATE"));
    assert_non_null(strstr(without, "NOT PRIVATE"));
    assert_null(strstr(with, "each record counts as a user of its own"));
    assert_non_null(strstr(without, "each record counts as a user of its own"));
    free(with);
    free(without);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_place, drop_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_curator),
        TEST(test_distributed),
        TEST(test_empty_release),
        TEST(test_terms_that_are_no_object),
        cmocka_unit_test(test_statement),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
