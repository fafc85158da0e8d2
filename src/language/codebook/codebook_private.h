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
} codebook_level;

struct fre_codebook {
    fre_codebook_info info;
    codebook_base *base;
    codebook_level *level;
    char *text;
    size_t text_bytes;
};

/* The nearest multiple of CODEBOOK_UNIT. */
double codebook_whole(double x);
/* UTF-8 without control characters but 0? */
bool codebook_is_plain(const char *text, size_t n);
/* The checks of fre_codebook_new. */
FRE_MUST_CHECK fre_status codebook_check(const fre_codebook_parts *p, fre_err *err);

#endif /* FRE_CODEBOOK_PRIVATE_H */
