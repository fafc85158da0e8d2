/* partial/survey.c - what the first stage sees of all records, in bytes and added up. */
#include "partial_private.h"

#include <stdlib.h>
#include <string.h>

#define MARK_BITS 48u /* as the two floats of a sketch hold them */
#define HALF_BITS 24u

fre_status partial_survey_init(fre_partial_survey *s, const uint8_t *salt)
{
    fre_status st;

    *s = (fre_partial_survey){.records = 0};
    fre_ledger_content_init(&s->content, salt);
    st = fre_overlap_set_new(&s->texts);
    return st == FRE_OK ? fre_overlap_set_new(&s->rows) : st;
}

void partial_survey_wipe(fre_partial_survey *s)
{
    fre_overlap_set_free(s->texts);
    fre_overlap_set_free(s->rows);
    fre_wipe(s, sizeof *s);
}

/* ---- encode --------------------------------------------------------------------------------------- */

static void put_bins(fre_out *o, const uint64_t *bin)
{
    for (size_t i = 0; i < FRE_LEDGER_BINS; i++)
        fre_out_uint(o, bin[i], 8);
}

static void put_marks(fre_out *o, fre_overlap_set *marks)
{
    float *x = NULL;
    size_t n = 0;

    if (o->st == FRE_OK)
        o->st = fre_overlap_sketch(marks, &x, &n);
    fre_out_uint(o, n, 4);
    for (size_t i = 0; i < n; i++)
        fre_out_uint(o, (uint64_t)x[2 * i] << HALF_BITS | (uint64_t)x[2 * i + 1], MARK_BITS / 8);
    if (x)
        fre_wipe_free(x, n * 2 * sizeof *x);
}

void partial_survey_put(fre_out *o, const fre_partial_survey *s)
{
    const uint64_t numbers[] = {s->records,        s->users,          s->counted,
                                s->blank,          s->content.sum[0], s->content.sum[1],
                                s->content.texts};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        fre_out_uint(o, numbers[i], 8);
    put_bins(o, s->content.text);
    put_bins(o, s->content.user);
    put_bins(o, s->content.row);
    put_marks(o, s->texts);
    put_marks(o, s->rows);
}

/* ---- decode --------------------------------------------------------------------------------------- */

static void get_bins(fre_in *in, uint64_t *bin)
{
    for (size_t i = 0; i < FRE_LEDGER_BINS; i++)
        bin[i] = fre_in_uint(in, 8, "survey");
}

static fre_status get_marks(fre_in *in, fre_overlap_set **out)
{
    const size_t n = (size_t)partial_uint_to(in, 4, FRE_OVERLAP_SKETCH_MAX);
    float *x = calloc(n + 1, 2 * sizeof *x);
    uint64_t before = 0;
    fre_status st;

    if (!x)
        return FRE_E_NOMEM;
    for (size_t i = 0; !in->bad && i < n; i++) {
        const uint64_t mark = fre_in_uint(in, MARK_BITS / 8, "survey");

        fre_in_require(in, i == 0 || mark > before, "survey");
        before = mark;
        x[2 * i] = (float)(mark >> HALF_BITS);
        x[2 * i + 1] = (float)(mark & ((UINT64_C(1) << HALF_BITS) - 1));
    }
    st = fre_overlap_set_of_sketch(out, x, in->bad ? 0 : n);
    fre_wipe_free(x, (n + 1) * 2 * sizeof *x);
    return st;
}

fre_status partial_survey_get(fre_partial_survey *out, fre_in *in, const uint8_t *salt)
{
    fre_status st;

    *out = (fre_partial_survey){.records = partial_uint_to(in, 8, FRE_PARTIAL_COUNT_MAX)};
    fre_ledger_content_init(&out->content, salt);
    out->users = partial_uint_to(in, 8, out->records);
    out->counted = partial_uint_to(in, 8, out->records);
    out->blank = partial_uint_to(in, 8, out->records - out->counted);
    out->content.sum[0] = fre_in_uint(in, 8, "survey");
    out->content.sum[1] = fre_in_uint(in, 8, "survey");
    out->content.texts = partial_uint_to(in, 8, out->records);
    get_bins(in, out->content.text);
    get_bins(in, out->content.user);
    get_bins(in, out->content.row);
    st = get_marks(in, &out->texts);
    if (st == FRE_OK)
        st = get_marks(in, &out->rows);
    return st == FRE_OK && in->bad ? FRE_E_DATA : st;
}

/* ---- both ----------------------------------------------------------------------------------------- */

fre_status partial_survey_both(fre_partial_survey *sum, const fre_partial_survey *a,
                               const fre_partial_survey *b)
{
    fre_status st;

    *sum = (fre_partial_survey){.records = a->records + b->records,
                                .users = a->users + b->users,
                                .counted = a->counted + b->counted,
                                .blank = a->blank + b->blank,
                                .content = a->content};
    fre_ledger_content_add(&sum->content, &b->content);
    if (sum->records > FRE_PARTIAL_COUNT_MAX)
        return FRE_E_LIMIT;
    st = fre_overlap_set_of_both(&sum->texts, a->texts, b->texts);
    return st == FRE_OK ? fre_overlap_set_of_both(&sum->rows, a->rows, b->rows) : st;
}
