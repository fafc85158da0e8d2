/* forecast/choose.c - the rule by which levels are chosen; see fre/forecast.h. */
#include <fre/forecast.h>

#include <math.h>

double fre_forecast_expected(const fre_level_evaluation *whole, double norm_bound)
{
    const double left_out = (1 - whole->covered) * FRE_FORECAST_UNRELATED * norm_bound;

    return whole->records > 0 ? whole->covered * whole->member_l2 + left_out : left_out;
}

static bool is_better(const fre_forecast_list *a, const fre_forecast_list *b)
{
    return a->n_levels != b->n_levels ? a->n_levels < b->n_levels : a->expected < b->expected;
}

size_t fre_forecast_choose(const fre_forecast_list *list, size_t n)
{
    double least = (double)INFINITY;
    size_t best = n;

    for (size_t i = 0; i < n; i++)
        if (list[i].planned)
            least = fmin(least, list[i].expected);
    for (size_t i = 0; i < n; i++)
        if (list[i].planned && list[i].expected <= least + FRE_FORECAST_TIE &&
            (best == n || is_better(&list[i], &list[best])))
            best = i;
    return best;
}
