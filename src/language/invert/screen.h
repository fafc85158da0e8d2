/* screen.h - predicted distances. */
#ifndef FRE_INVERT_SCREEN_H
#define FRE_INVERT_SCREEN_H

#include "pool.h"

#define INV_SCREEN_ROWS 96u
#define INV_FEATURES 128u /* of a text: two a word */

typedef struct inv_screen inv_screen;

inv_screen *inv_screen_new(void);
void inv_screen_free(inv_screen *s);
/* Learn from the pool's best scored candidates (there is one).  spread: of the tuning. */
void inv_screen_fit(inv_screen *s, const inv_pool *p, double spread);
/* Squared distance to be expected. */
double inv_screen_distance(const inv_screen *s, const char *text);
/* Squared distance that a nat of log-probability makes up for. */
double inv_screen_worth(const inv_screen *s, double noise_std);
/* Ranks of the candidates that are not scored. */
void inv_screen_rank(const inv_screen *s, inv_pool *p, double noise_std);

#endif /* FRE_INVERT_SCREEN_H */
