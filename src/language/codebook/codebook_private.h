/* codebook_private.h - the numbers of a codebook. */
#ifndef FRE_CODEBOOK_PRIVATE_H
#define FRE_CODEBOOK_PRIVATE_H

#include <fre/codebook.h>
#include <fre/linalg.h>

#define CODEBOOK_KEY(name) FRE_CODEBOOK_ARCHITECTURE "." name
#define CODEBOOK_DIM_MAX 8192u
/* Radius, gain and spread are whole multiples of this, as the file has them. */
#define CODEBOOK_UNIT 1e-6
#define CODEBOOK_NUMBER_MAX 1000.0

typedef struct codebook_base {
    float *centre; /* centres x dim */
    uint32_t centres;
    uint32_t *group; /* sizes */
    uint32_t n_groups;
    fre_grouped *search;
} codebook_base;

typedef struct codebook_level {
    fre_codebook_level view;
    float *code;         /* codes x dim; NULL: one code, of zeros */
    fre_grouped *search; /* of the codes */
    uint32_t *medoid;    /* NULL: none */
    fre_prior *within;   /* NULL: not known */
} codebook_level;

struct fre_codebook {
    fre_codebook_info info;
    codebook_base *base;
    codebook_level *level;
    float *within; /* dim x dim directions, n_levels x dim variances along them; NULL: not known */
    char *text;
    size_t text_bytes;
};

/* The nearest multiple of CODEBOOK_UNIT. */
double codebook_whole(double x);
/* UTF-8 without control characters but 0? */
bool codebook_is_plain(const char *text, size_t n);
/* Copies the law about the centres: directions (rows of norm 1) and the variances, above 0, of each
 * level. */
FRE_MUST_CHECK fre_status codebook_set_within(fre_codebook *c, const float *vector,
                                              const float *value);
/* The same of rows and their cells. */
FRE_MUST_CHECK fre_status codebook_learn_within(fre_codebook *c, fre_rows rows,
                                                const uint32_t *cell, uint32_t threads);
/* The checks of fre_codebook_new. */
FRE_MUST_CHECK fre_status codebook_check(const fre_codebook_parts *p, fre_err *err);

#endif /* FRE_CODEBOOK_PRIVATE_H */
