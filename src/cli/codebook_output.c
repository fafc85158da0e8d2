/* codebook_output.c - the levels of a codebook, for programs and for people. */
#include "codebook_output.h"

#include <inttypes.h>

/* Cells of a level that have a sentence. */
static uint32_t medoids_of(const fre_codebook *c, uint32_t level)
{
    const uint32_t cells = fre_codebook_level_view(c, level)->cells;
    uint32_t n = 0;

    for (uint32_t i = 0; i < cells; i++)
        n += fre_codebook_medoid(c, level, i) != NULL;
    return n;
}

/* Null: not known. */
static json_t *quantiles_json(const fre_codebook_level *v)
{
    const double *q = v->quantile;

    if (q[FRE_CODEBOOK_QUANTILES - 1] <= 0)
        return json_null();
    return json_pack("[f, f, f, f, f]", q[0], q[1], q[2], q[3], q[4]);
}

json_t *cli_codebook_levels_json(const fre_codebook *c)
{
    json_t *list = json_array();
    int bad = 0;

    for (uint32_t l = 0; list && l < fre_codebook_info_view(c)->n_levels; l++) {
        const fre_codebook_level *v = fre_codebook_level_view(c, l);

        bad |= json_array_append_new(
            list, json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:o}", "name", v->name,
                            "centres", (json_int_t)v->centres, "codes", (json_int_t)v->codes,
                            "cells", (json_int_t)v->cells, "empty", (json_int_t)v->empty, "medoids",
                            (json_int_t)medoids_of(c, l), "radius", v->radius, "gain", v->gain,
                            "spread", v->spread, "quantiles", quantiles_json(v)));
    }
    if (!bad)
        return list;
    json_decref(list);
    return NULL;
}

void cli_codebook_levels_print(FILE *f, const fre_codebook *c)
{
    static const cli_column columns[] = {
        {.name = "level", .width = -10}, {.name = "cells", .width = 8},
        {.name = "empty", .width = 8},   {.name = "medoids", .width = 8},
        {.name = "radius", .width = 7},  {.name = "gain", .width = 6},
        {.name = "spread", .width = 7},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    char text[COLUMNS][32];

    cli_table_head(f, columns, COLUMNS);
    for (uint32_t l = 0; l < fre_codebook_info_view(c)->n_levels; l++) {
        const fre_codebook_level *v = fre_codebook_level_view(c, l);
        cli_cell cell[COLUMNS] = {{.text = v->name}};

        (void)snprintf(text[1], sizeof text[1], "%" PRIu32, v->cells);
        (void)snprintf(text[2], sizeof text[2], "%" PRIu32, v->empty);
        (void)snprintf(text[3], sizeof text[3], "%" PRIu32, medoids_of(c, l));
        (void)snprintf(text[4], sizeof text[4], "%.3g", v->radius);
        (void)snprintf(text[5], sizeof text[5], "%.3f", v->gain);
        (void)snprintf(text[6], sizeof text[6], "%.3f", v->spread);
        for (size_t i = 1; i < COLUMNS; i++)
            cell[i].text = text[i];
        cli_table_row(f, columns, COLUMNS, cell);
    }
}
