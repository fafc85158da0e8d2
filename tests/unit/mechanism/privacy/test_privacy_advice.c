/* Every number in a refusal works when it is followed, as it is printed; every number of a plan, as it
 * is printed for people, is within the plan's claim. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <fre/privacy.h>

static uint64_t state_of_draws;

static double draw(void)
{
    state_of_draws = state_of_draws * 6364136223846793005u + 1442695040888963407u;
    return (double)(state_of_draws >> 11) / 9007199254740992.0;
}

static double log_draw(double lo, double hi)
{
    return lo * pow(hi / lo, draw());
}

static bool chance(double p)
{
    return draw() < p;
}

/* Requests of which most are refused, of every kind. */
static fre_plan_request random_request(void)
{
    fre_plan_request r;

    fre_plan_request_init(&r);
    r.epsilon = log_draw(1e-3, 50);
    r.delta = chance(0.3) ? 0 : chance(0.1) ? log_draw(1e-3, 0.99) : log_draw(1e-40, 1e-3);
    r.threshold = (uint64_t)log_draw(1, 3000);
    r.population = (uint64_t)log_draw(10, 1e10);
    r.proj = chance(0.1) ? 0 : (uint32_t)log_draw(1, 100);
    r.sampling_rate = chance(0.4) ? log_draw(1e-4, 0.999) : 0;
    r.adjacency = chance(0.3) ? FRE_ADJACENCY_REPLACE : FRE_ADJACENCY_ADD_REMOVE;
    r.accountant = chance(0.3) ? FRE_ACCOUNTANT_PAPER : FRE_ACCOUNTANT_JOINT;
    r.sensitivity = chance(0.15) ? FRE_SENSITIVITY_WORST_CASE : FRE_SENSITIVITY_PROBABILISTIC;
    r.cells_per_user = chance(0.15) ? (uint32_t)log_draw(2, 20) : 1;
    if (r.accountant == FRE_ACCOUNTANT_PAPER) {
        r.budget_factor = chance(0.3) ? log_draw(1, 20) : 0;
        r.sensitivity_ratio = chance(0.3) ? log_draw(0.5, 5) : 2.4;
        r.records = chance(0.5) ? FRE_PAPER_CAP : chance(0.5) ? FRE_PAPER_GROUP : FRE_PAPER_BESPOKE;
    }
    if (chance(0.4)) {
        r.dist.on = true;
        r.noise = chance(0.7) ? FRE_NOISE_DISCRETE : FRE_NOISE_CONTINUOUS;
        r.dist.one_contact = chance(0.2);
        r.dist.cover = r.dist.one_contact || chance(0.7);
        r.dist.dropout = r.dist.one_contact ? 0 : 0.5 * draw();
        r.dist.curious = chance(0.3) ? (uint32_t)log_draw(2, 1000) : 1;
        r.max_dummies = chance(0.4) ? log_draw(1, 1e7) : 0;
    }
    return r;
}

/* Puts the number into the request; false: no such flag. */
static bool follow(fre_plan_request *io, const char *flag, double x)
{
    if (!strcmp(flag, "{threshold}"))
        io->threshold = (uint64_t)x;
    else if (!strcmp(flag, "{epsilon}"))
        io->epsilon = x;
    else if (!strcmp(flag, "{delta}"))
        io->delta = x;
    else if (!strcmp(flag, "{sampling_rate}"))
        io->sampling_rate = x;
    else if (!strcmp(flag, "{max_cells_per_user}"))
        io->cells_per_user = (uint32_t)x;
    else if (!strcmp(flag, "{curious_users}"))
        io->dist.curious = (uint32_t)x;
    else if (!strcmp(flag, "{max_dummies}"))
        io->max_dummies = x;
    else if (!strcmp(flag, "{sensitivity_ratio}"))
        io->sensitivity_ratio = x;
    else if (!strcmp(flag, "{projection_dim}"))
        io->proj = (uint32_t)x;
    else
        return false;
    return true;
}

/* Each "{parameter} to NUMBER" of a refusal; the numbers that were followed. */
static int follow_all(const fre_plan_request *r, const char *text)
{
    const char *at = text;
    int followed = 0;

    while ((at = strstr(at, " to ")) != NULL) {
        const char *start = at;
        char flag[40] = "", *end;
        double x = strtod(at + 4, &end);
        fre_plan_request change = *r;
        fre_err err = {.text = ""};
        fre_plan p;

        while (start > text && start[-1] != ' ')
            start--;
        (void)snprintf(flag, sizeof flag, "%.*s", (int)(at - start), start);
        at += 4;
        if (end == at || flag[0] != '{')
            continue; /* "to at most", "exact to 2^-100" */
        if (!follow(&change, flag, x))
            fail_msg("advice of an unknown kind: %s", text);
        if (fre_plan_make(&p, &change, &err) != FRE_OK)
            fail_msg("%s to %.10g fails: %s\nafter: %s", flag, x, err.text, text);
        assert_true(p.account.delta <= p.request.delta);
        followed++;
    }
    return followed;
}

#define REQUESTS_MAX 100000

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Told, never judged: a machine may be busy. */
static void tell_times(double *seconds, int n)
{
    if (n == 0)
        return;
    qsort(seconds, (size_t)n, sizeof *seconds, by_size);
    print_message("seconds of processor a refusal: median %.3f, 99 %% %.3f, most %.3f\n",
                  seconds[n / 2], seconds[(int)(0.99 * n)], seconds[n - 1]);
}

static void every_number_works(void **state)
{
    const char *count = getenv("FRE_ADVICE_REQUESTS"); /* 1000 by make check-long */
    const int requests = count ? atoi(count) : 20;
    double *seconds = calloc(REQUESTS_MAX, sizeof *seconds);
    int i, refused = 0, followed = 0;

    (void)state;
    assert_non_null(seconds);
    assert_in_range(requests, 1, REQUESTS_MAX);
    state_of_draws = 20;
    for (i = 0; i < requests; i++) {
        const fre_plan_request r = random_request();
        const clock_t begun = clock();
        fre_err err = {.text = ""};
        fre_plan p;
        fre_status st = fre_plan_make(&p, &r, &err);

        if (st == FRE_OK) {
            assert_true(p.account.delta <= p.request.delta);
            continue;
        }
        seconds[refused++] = (double)(clock() - begun) / CLOCKS_PER_SEC;
        assert_true(strlen(err.text) > 20);
        if (st == FRE_E_INFEASIBLE)
            followed += follow_all(&r, err.text);
    }
    print_message("%d refused, %d numbers followed\n", refused, followed);
    tell_times(seconds, refused);
    free(seconds);
    assert_true(refused > requests / 4 && followed > requests / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_works),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
