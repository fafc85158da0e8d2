/* evaluate/themes.c - a released cell's most frequent label, and which label's mean is nearest to what
 * was released. */
#include "evaluate_private.h"

#include <fre/linalg.h>

#include <stdlib.h>
#include <string.h>

void evaluate_themes_wipe(evaluate_themes *t)
{
    free(t->labelled);
    free(t->most);
    free(t->theme);
    free(t->total);
    free(t->near_centroid);
    free(t->near_mean);
    free(t->near_text);
    *t = (evaluate_themes){.theme = NULL};
}

static fre_status alloc(evaluate_themes *t, size_t cells, size_t labels, size_t texts)
{
    t->labelled = calloc(cells + 1, sizeof *t->labelled);
    t->most = calloc(cells + 1, sizeof *t->most);
    t->theme = malloc((cells + 1) * sizeof *t->theme);
    t->total = calloc(labels + 1, sizeof *t->total);
    t->near_centroid = calloc(cells + 1, sizeof *t->near_centroid);
    t->near_mean = calloc(cells + 1, sizeof *t->near_mean);
    t->near_text = calloc(texts + 1, sizeof *t->near_text);
    if (!t->labelled || !t->most || !t->theme || !t->total || !t->near_centroid || !t->near_mean ||
        !t->near_text)
        return FRE_E_NOMEM;
    memset(t->theme, 0xff, (cells + 1) * sizeof *t->theme); /* EVALUATE_NO_THEME */
    return FRE_OK;
}

/* A pair whose row is its released cell. */
static int compare_pair(const void *a, const void *b)
{
    const fre_label_pair *x = a, *y = b;

    return x->row != y->row ? (x->row > y->row) - (x->row < y->row)
                            : (x->label > y->label) - (x->label < y->label);
}

/* Most frequent labels: the pairs by cell and label, run by run. */
static fre_status count(evaluate_themes *t, const fre_by_level *in)
{
    const fre_labels *l = in->labels;
    fre_label_pair *p = malloc((l->n_pairs + 1) * sizeof *p);
    size_t n = 0;

    if (!p)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < l->n_pairs; i++) {
        t->total[l->pair[i].label] += l->pair[i].count;
        p[n] = l->pair[i];
        p[n].row = in->member[l->pair[i].row];
        n += p[n].row != FRE_RELEASE_NONE;
    }
    qsort(p, n, sizeof *p, compare_pair);
    for (size_t i = 0, e; i < n; i = e) {
        const uint32_t cell = p[i].row;
        uint64_t records = 0;

        for (e = i; e < n && compare_pair(&p[e], &p[i]) == 0; e++)
            records += p[e].count;
        t->labelled[cell] += records;
        if (records > t->most[cell]) {
            t->most[cell] = records;
            t->theme[cell] = p[i].label;
        }
    }
    free(p);
    return FRE_OK;
}

static int compare_label(const void *a, const void *b)
{
    const fre_label_pair *x = a, *y = b;

    return x->label != y->label ? (x->label > y->label) - (x->label < y->label)
                                : (x->row > y->row) - (x->row < y->row);
}

/* The mean of all records of each label, n x d: label by label, so that one sum is kept. */
static fre_status label_means(float *mean, const fre_by_level *in)
{
    const fre_labels *l = in->labels;
    const size_t d = in->originals->d;
    fre_label_pair *p = malloc((l->n_pairs + 1) * sizeof *p);
    double *sum = calloc(d, sizeof *sum);
    fre_status st = p && sum ? FRE_OK : FRE_E_NOMEM;

    if (st == FRE_OK) {
        memcpy(p, l->pair, l->n_pairs * sizeof *p);
        qsort(p, l->n_pairs, sizeof *p, compare_label);
    }
    for (size_t i = 0, e; st == FRE_OK && i < l->n_pairs; i = e) {
        uint64_t records = 0;

        memset(sum, 0, d * sizeof *sum);
        for (e = i; e < l->n_pairs && p[e].label == p[i].label; e++) {
            records += p[e].count;
            for (size_t j = 0; j < d; j++)
                sum[j] += (double)p[e].count * (double)in->originals->x[p[e].row * d + j];
        }
        for (size_t j = 0; j < d; j++)
            mean[p[i].label * d + j] = (float)(sum[j] / (double)records);
    }
    free(p);
    free(sum);
    return st;
}

static fre_status nearest(evaluate_themes *t, const fre_by_level *in, const float *mean)
{
    const size_t d = in->originals->d, labels = in->labels->n;
    float *of_label = calloc(labels * d + 1, sizeof *of_label);
    const fre_rows base = {of_label, labels}, text = {in->text, in->n_texts};
    const fre_rows centroid = {in->release->centroid, in->release->n},
                   members = {mean, in->release->n};
    fre_status st = of_label ? label_means(of_label, in) : FRE_E_NOMEM;

    if (st == FRE_OK && labels > 0 && text.n > 0)
        st = fre_nearest(t->near_text, NULL, text, base, d, 1, in->threads);
    if (st == FRE_OK && labels > 0 && members.n > 0)
        st = fre_nearest(t->near_centroid, NULL, centroid, base, d, 1, in->threads);
    if (st == FRE_OK && labels > 0 && members.n > 0)
        st = fre_nearest(t->near_mean, NULL, members, base, d, 1, in->threads);
    fre_wipe_free(of_label, (labels * d + 1) * sizeof *of_label);
    return st;
}

fre_status evaluate_themes_find(evaluate_themes *out, const fre_by_level *in, const float *mean)
{
    evaluate_themes t = {.theme = NULL};
    fre_status st = alloc(&t, in->release->n, in->labels->n, in->n_texts);

    if (st == FRE_OK)
        st = count(&t, in);
    if (st == FRE_OK)
        st = nearest(&t, in, mean);
    if (st == FRE_OK)
        *out = t;
    else
        evaluate_themes_wipe(&t);
    return st;
}
