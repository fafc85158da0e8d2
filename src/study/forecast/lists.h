/* lists.h - which lists of levels a forecast tries. */
#ifndef FRE_FORECAST_LISTS_H
#define FRE_FORECAST_LISTS_H

#include <fre/codebook.h>
#include <fre/forecast.h>

/* f->list[].levels and f->n: the grid alone, and `levels` or, NULL, what the codebook's levels make. */
void forecast_lists(fre_forecast *f, const char *levels, const fre_codebook *codebook);
/* Of n levels by their names, fine to coarse: behind the grid the three coarsest, every second, all; all without
 * the grid.  What comes out twice is there once. */
void forecast_lists_of(fre_forecast *f, const char *const *name, size_t n);

#endif
