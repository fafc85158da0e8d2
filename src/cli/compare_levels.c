/* compare_levels.c - see compare_levels.h. */
#include "compare_levels.h"
#include "plan_output.h"

#include <inttypes.h>

static double share(const fre_simulation *s, uint64_t clients)
{
    return s->users > 0 ? (double)clients / (double)s->users : 0;
}

static void print_row(FILE *f, const cli_column *heads, size_t n, const fre_simulation *s,
                      const char *name, uint64_t cells, uint64_t clients)
{
    char text[3][24];
    const cli_cell row[] = {
        {.text = name}, {.text = text[0]}, {.text = text[1]}, {.text = text[2]}};

    (void)snprintf(text[0], sizeof text[0], "%" PRIu64, cells);
    (void)snprintf(text[1], sizeof text[1], "%" PRIu64, clients);
    (void)snprintf(text[2], sizeof text[2], "%.3f", share(s, clients));
    cli_table_row(f, heads, n, row);
}

void cli_compare_levels_print(FILE *f, const fre_simulation *s)
{
    static const cli_column heads[] = {{.name = "", .width = -24},
                                       {.name = "cells", .width = 8},
                                       {.name = "users", .width = 10},
                                       {.name = "share", .width = 7}};
    const size_t n = sizeof heads / sizeof *heads;
    const fre_simulate_comparison *k = &s->comparison;
    uint64_t cells = 0, clients = 0;

    if (k->n_levels == 0)
        return;
    fputc('\n', f);
    cli_wrap(
        f, "Users in released cells, here and at the levels of a curator with the same budget:", 0,
        0);
    cli_table_head(f, heads, n);
    print_row(f, heads, n, s, "here", s->release.n, k->clients_here);
    for (size_t i = 0; i < k->n_levels; i++) {
        print_row(f, heads, n, s, k->level[i].name, k->level[i].cells, k->level[i].clients);
        cells += k->level[i].cells;
        clients += k->level[i].clients;
    }
    print_row(f, heads, n, s, "all levels", cells, clients);
}

json_t *cli_compare_levels_json(const fre_simulation *s)
{
    const fre_simulate_comparison *k = &s->comparison;
    json_t *list;
    uint64_t clients = 0;
    int bad = 0;

    if (k->n_levels == 0)
        return json_null();
    list = json_array();
    for (size_t i = 0; i < k->n_levels; i++) {
        clients += k->level[i].clients;
        bad |= json_array_append_new(
            list, json_pack("{s:s, s:I, s:I, s:f}", "level", k->level[i].name, "cells",
                            (json_int_t)k->level[i].cells, "users", (json_int_t)k->level[i].clients,
                            "covered", share(s, k->level[i].clients)));
    }
    if (bad) {
        json_decref(list);
        return NULL;
    }
    return json_pack("{s:I, s:f, s:o, s:f, s:o}", "users_here", (json_int_t)k->clients_here,
                     "covered_here", share(s, k->clients_here), "levels", list, "covered",
                     share(s, clients), "plan", cli_plan_json(&k->by_levels));
}
