/* forecast/lists.c - see lists.h. */
#include "lists.h"

#include <string.h>

#define COARSE 3u

static void add(fre_forecast *f, const char *levels)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->list[i].levels, levels) == 0)
            return;
    (void)snprintf(f->list[f->n++].levels, FRE_FORECAST_LIST_BYTES, "%s", levels);
}

/* Those of n levels from `from` on that are a multiple of `step` before the last. */
static void add_some(fre_forecast *f, bool grid, const char *const *name, size_t n, size_t from,
                     size_t step)
{
    char list[FRE_FORECAST_LIST_BYTES] = "";
    size_t used = 0;

    if (grid)
        used = (size_t)snprintf(list, sizeof list, "grid");
    for (size_t i = from; i < n && used < sizeof list; i++)
        if ((n - 1 - i) % step == 0)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? "," : "",
                                     name[i]);
    add(f, list);
}

void forecast_lists_of(fre_forecast *f, const char *const *name, size_t n)
{
    add(f, "grid");
    add_some(f, true, name, n, n > COARSE ? n - COARSE : 0, 1);
    add_some(f, true, name, n, 0, 2);
    add_some(f, true, name, n, 0, 1);
    add_some(f, false, name, n, 0, 1);
}

void forecast_lists(fre_forecast *f, const char *levels, const fre_codebook *codebook)
{
    const char *name[FRE_LEVELS_MAX];
    size_t n = 0;

    if (levels) {
        add(f, "grid");
        add(f, levels);
        return;
    }
    for (; n < FRE_LEVELS_MAX && n < fre_codebook_info_view(codebook)->n_levels; n++)
        name[n] = fre_codebook_level_view(codebook, (uint32_t)n)->name;
    forecast_lists_of(f, name, n);
}
