/* evaluate/levels_beside.c - what a release's levels stand beside: the same with the cells' means and texts of one
 * half of the records, measured on the other half; and with texts that have nothing to do with them. */
#include "evaluate_private.h"

#include <stdlib.h>
#include <string.h>

/* What stands in the place of a release's centroids, texts, members and labels. */
typedef struct stand_in {
    fre_release release; /* a view: its centroids are these, all else is the release's */
    float *centroid;     /* n x d */
    uint32_t *member;    /* of each original */
    float *text;         /* n_texts x d */
    uint32_t *text_cell;
    const char **said; /* n_texts, where the texts are known */
    size_t *len;
    uint8_t *exact;
    fre_label_pair *pair;
    fre_labels labels;
    size_t n_texts;
} stand_in;

static void stand_in_free(stand_in *s, const fre_originals *o)
{
    fre_wipe_free(s->centroid, (s->release.n * o->d + 1) * sizeof *s->centroid);
    fre_wipe_free(s->text, (s->release.n * o->d + 1) * sizeof *s->text);
    free(s->member);
    free(s->text_cell);
    free(s->said);
    free(s->len);
    free(s->exact);
    free(s->pair);
}

static fre_status stand_in_new(stand_in *s, const fre_by_level *in)
{
    const size_t n = in->release->n, d = in->originals->d;

    *s = (stand_in){.release = *in->release};
    s->centroid = calloc(n * d + 1, sizeof *s->centroid);
    s->text = calloc(n * d + 1, sizeof *s->text);
    s->member = malloc((in->originals->n + 1) * sizeof *s->member);
    s->text_cell = malloc((n + 1) * sizeof *s->text_cell);
    s->said = calloc(n + 1, sizeof *s->said);
    s->len = calloc(n + 1, sizeof *s->len);
    s->exact = calloc(n + 1, 1);
    s->release.centroid = s->centroid;
    if (!s->centroid || !s->text || !s->member || !s->text_cell || !s->said || !s->len || !s->exact)
        return FRE_E_NOMEM;
    memcpy(s->member, in->member, in->originals->n * sizeof *s->member);
    return FRE_OK;
}

/* A row stands for the text of a cell. */
static void add_text(stand_in *s, uint32_t cell, const evaluate_set *from, size_t row, size_t d)
{
    memcpy(s->text + s->n_texts * d, from->x + row * d, d * sizeof *s->text);
    s->text_cell[s->n_texts] = cell;
    if (from->text) {
        s->said[s->n_texts] = from->text[row];
        s->len[s->n_texts] = from->len[row];
    }
    s->n_texts++;
}

/* weight: of the originals that texts may be, as evaluate_exact_marks has it. */
static fre_status measure(evaluate_run *r, fre_evaluate_set at, stand_in *s, const fre_by_level *in,
                          const fre_originals *o, const uint64_t *weight)
{
    const size_t reference = FRE_EVALUATE_REFERENCE(at);
    const evaluate_set said = {.text = s->said, .len = s->len, .n = s->n_texts};
    fre_by_level beside = *in;
    fre_status st = FRE_OK;

    if (in->exact)
        st = evaluate_exact_marks(s->exact, &said, &r->base->distinct, in->is_frequent, weight);
    beside.release = &s->release;
    beside.originals = o;
    beside.member = s->member;
    beside.labels = in->labels ? &s->labels : NULL;
    beside.text = s->text;
    beside.text_cell = s->text_cell;
    beside.exact = in->exact ? s->exact : NULL;
    beside.n_texts = s->n_texts;
    if (st == FRE_OK)
        st = fre_evaluate_by_level(r->e->level_reference[reference], &beside);
    r->e->has_level_reference[reference] = st == FRE_OK;
    return st;
}

/* ---- two halves ------------------------------------------------------------------------------------- */

/* The means of the members in the first half, and one of these, drawn: the row of each cell. */
static fre_status first_half(stand_in *s, size_t *drawn, uint64_t *weight, const fre_by_level *in,
                             const uint64_t *other, fre_rng *rng)
{
    const fre_originals *o = in->originals;
    const size_t d = o->d, n = in->release->n;
    double *sum = calloc(n * d + 1, sizeof *sum);

    if (!sum)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < o->n; i++) {
        const uint64_t w = o->weight[i] - other[i];
        const uint32_t cell = s->member[i];

        if (cell == FRE_RELEASE_NONE || w == 0)
            continue;
        weight[cell] += w;
        if (fre_rng_below(rng, weight[cell]) < w)
            drawn[cell] = i;
        for (size_t j = 0; j < d; j++)
            sum[cell * d + j] += (double)w * (double)o->x[i * d + j];
    }
    for (size_t k = 0; k < n * d; k++)
        s->centroid[k] = weight[k / d] > 0 ? (float)(sum[k] / (double)weight[k / d]) : 0.0f;
    fre_wipe_free(sum, (n * d + 1) * sizeof *sum);
    return FRE_OK;
}

/* The records of each label that are in the other half: of each row's, as many as the half has of it. */
static fre_status half_labels(stand_in *s, const fre_labels *all, const fre_originals *o,
                              const uint64_t *other, fre_rng *rng)
{
    uint32_t *number = malloc((all->n + 1) * sizeof *number);
    uint64_t *left = malloc((o->n + 1) * sizeof *left), *want = malloc((o->n + 1) * sizeof *want);
    fre_status st = number && left && want ? FRE_OK : FRE_E_NOMEM;

    s->pair = malloc((all->n_pairs + 1) * sizeof *s->pair);
    if (st != FRE_OK || !s->pair) {
        st = FRE_E_NOMEM;
        goto out;
    }
    memset(number, 0xff, (all->n + 1) * sizeof *number);
    memcpy(left, o->weight, o->n * sizeof *left);
    memcpy(want, other, o->n * sizeof *want);
    for (size_t i = 0; i < all->n_pairs; i++) {
        fre_label_pair p = all->pair[i];
        uint64_t taken = 0;

        for (uint64_t k = 0; k < p.count; k++) {
            const bool is_other = fre_rng_below(rng, left[p.row]) < want[p.row];

            left[p.row]--;
            want[p.row] -= is_other;
            taken += is_other;
        }
        if (taken == 0)
            continue;
        if (number[p.label] == UINT32_MAX)
            number[p.label] = (uint32_t)s->labels.n++;
        s->pair[s->labels.n_pairs++] = (fre_label_pair){p.row, number[p.label], taken};
    }
    s->labels.pair = s->pair;
out:
    free(number);
    free(left);
    free(want);
    return st;
}

/* What the one half knows nothing of is no cell, and has no text; of the others the text is the drawn row's. */
static fre_status half_texts(stand_in *s, const evaluate_base *b, const fre_by_level *in,
                             const size_t *drawn, const uint64_t *weight)
{
    const fre_originals *o = in->originals;
    evaluate_set texts = {.n = 0};
    fre_status st = FRE_OK;

    for (size_t i = 0; i < o->n; i++)
        if (s->member[i] != FRE_RELEASE_NONE && weight[s->member[i]] == 0)
            s->member[i] = FRE_RELEASE_NONE;
    for (size_t i = 0; st == FRE_OK && i < in->n_texts; i++) {
        const uint32_t cell = in->text_cell[i], row = (uint32_t)drawn[cell];

        if (weight[cell] == 0)
            continue;
        st = evaluate_set_of_originals(&texts, b, &row, 1);
        if (st == FRE_OK)
            add_text(s, cell, &texts, 0, o->d);
        evaluate_set_free(&texts);
    }
    return st;
}

static fre_status halves(evaluate_run *r, const fre_by_level *in)
{
    const fre_originals *o = in->originals;
    const fre_originals other = {o->x, r->halves.other, o->n, o->d};
    const size_t n = in->release->n;
    size_t *drawn = calloc(n + 1, sizeof *drawn);
    uint64_t *weight = calloc(n + 1, sizeof *weight);
    stand_in s;
    fre_rng rng;
    fre_status st = stand_in_new(&s, in);

    st = st == FRE_OK && drawn && weight ? evaluate_rng(&rng, "evaluate/levels", 0) : FRE_E_NOMEM;
    if (st != FRE_OK)
        goto out;
    st = first_half(&s, drawn, weight, in, other.weight, &rng);
    if (st == FRE_OK && in->labels)
        st = half_labels(&s, in->labels, o, other.weight, &rng);
    fre_rng_wipe(&rng);
    if (st == FRE_OK)
        st = half_texts(&s, r->base, in, drawn, weight);
    if (st == FRE_OK)
        st = measure(r, FRE_SET_HALVES, &s, in, &other, other.weight);
out:
    stand_in_free(&s, o);
    free(drawn);
    free(weight);
    return st;
}

/* ---- texts that have nothing to do with them ------------------------------------------------------------ */

static fre_status unrelated(evaluate_run *r, const fre_by_level *in)
{
    const evaluate_set *set = &r->set[FRE_SET_UNRELATED];
    const size_t d = in->originals->d;
    stand_in s;
    fre_status st = stand_in_new(&s, in);

    for (size_t i = 0; st == FRE_OK && i < in->release->n; i++)
        memcpy(s.centroid + i * d, set->x + i % set->n * d, d * sizeof *s.centroid);
    for (size_t i = 0; st == FRE_OK && i < in->n_texts; i++)
        add_text(&s, in->text_cell[i], set, i % set->n, d);
    if (in->labels)
        s.labels = *in->labels;
    if (st == FRE_OK)
        st = measure(r, FRE_SET_UNRELATED, &s, in, in->originals, NULL);
    stand_in_free(&s, in->originals);
    return st;
}

fre_status evaluate_levels_beside(evaluate_run *r, const fre_by_level *in)
{
    fre_status st = FRE_OK;

    if (r->base->opts->levels_only)
        return FRE_OK;
    if (r->e->has[FRE_SET_HALVES])
        st = halves(r, in);
    if (st == FRE_OK && r->e->has[FRE_SET_UNRELATED])
        st = unrelated(r, in);
    return st;
}
