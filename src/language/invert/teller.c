/* teller.c - texts that somebody else wrote, held to what the inverter itself may say. */
#include "invert_private.h"

#include <stdlib.h>
#include <string.h>

struct fre_teller {
    const fre_embedder *embedder;     /* borrowed */
    const inv_vocabulary *vocabulary; /* NULL: none is found */
    inv_vocabulary *own;              /* the same, if no inverter has it */
};

fre_status fre_teller_new(fre_teller **out, const fre_embedder *e, const fre_inverter *inverter,
                          fre_err *err)
{
    fre_teller *t = calloc(1, sizeof *t);
    fre_status st = FRE_OK;

    if (!t)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    t->embedder = e;
    t->vocabulary = inverter ? inverter->telling : NULL;
    if (!inverter) {
        st = inv_vocabulary_find(&t->own, err);
        t->vocabulary = t->own;
    }
    if (st == FRE_OK)
        *out = t;
    else
        fre_teller_free(t);
    return st;
}

void fre_teller_free(fre_teller *t)
{
    if (!t)
        return;
    inv_vocabulary_free(t->own);
    free(t);
}

fre_status fre_teller_would(const fre_teller *t, bool *out, const char *text, const char *source)
{
    size_t unknown = 0;
    fre_buf b;
    fre_status st;

    fre_buf_init(&b, SIZE_MAX);
    st = fre_embedder_mark_unknown(t->embedder, &b, &unknown, text, strlen(text), ' ');
    fre_buf_wipe(&b);
    *out = st == FRE_OK && unknown == 0 &&
           (!t->vocabulary || !inv_is_native(t->vocabulary, source) ||
            inv_is_sound(t->vocabulary, NULL, source, text));
    return st;
}
