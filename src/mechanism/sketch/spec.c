/* What depends on the kind of a level's cells alone; see sketch.h. */
#include <fre/sketch.h>

#include <string.h>

static const uint8_t unknown[FRE_HASH_BYTES];

double fre_sketch_reach(const fre_sketch_spec *s, double norm_bound)
{
    return s->kind == FRE_SKETCH_CODEBOOK ? s->codebook.radius : norm_bound;
}

const uint8_t *fre_sketch_file(const fre_sketch_spec *s)
{
    return s->kind == FRE_SKETCH_CODEBOOK && memcmp(s->codebook.sha256, unknown, sizeof unknown) != 0
               ? s->codebook.sha256
               : NULL;
}
