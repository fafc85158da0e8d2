/* evaluate/classify.c - what a release is worth to a classifier [Fre-E2T, downstream utility].
 *
 * Records with a label fall into two halves.  In the first a synthetic text or a centroid finds its label:
 * that of the nearest record.  On the second, which had no part in that, classifiers are tested: a vote of the
 * k nearest centroids, and a linear one trained on the texts, beside one trained on real records. */
#include "classifier.h"

#include <fre/linalg.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEAREST 20u
#define TEST_MAX 10000u /* records that linear classifiers are tested on */
#define REAL_MAX 5000u  /* real records that one is trained on */

static const size_t ks[FRE_EVALUATE_KS] = {1, 5, 10, 20};

/* Labels of one seed's halves, by the pairs of fre_labels. */
typedef struct split {
    uint64_t *first; /* records of each pair in the first half; the others are in the second */
    uint32_t *label; /* of each row, most frequent in the first half; UINT32_MAX: none is there */
} split;

typedef struct classes {
    const evaluate_run *run;
    const fre_labels *labels;
    uint32_t *near_centroid; /* of each original, its nearest centroids, k of them */
    size_t k;
    double nearest[FRE_EVALUATE_KS][FRE_EVALUATE_TRIALS];
    double majority[FRE_EVALUATE_TRIALS], linear[3][FRE_EVALUATE_TRIALS];
    size_t trained[3], tested;
} classes;

/* ---- halves ------------------------------------------------------------------------------------------- */

static void split_free(split *s)
{
    free(s->first);
    free(s->label);
    *s = (split){.first = NULL};
}

static fre_status split_make(split *out, const classes *c, fre_rng *rng)
{
    const fre_labels *l = c->labels;
    const size_t n = c->run->base->originals.n;
    split s = {.first = calloc(l->n_pairs + 1, sizeof *s.first),
               .label = malloc((n + 1) * sizeof *s.label)};
    uint64_t *most = calloc(n + 1, sizeof *most);
    const fre_status st = s.first && s.label && most ? FRE_OK : FRE_E_NOMEM;

    if (st == FRE_OK)
        memset(s.label, 0xff, (n + 1) * sizeof *s.label);
    for (size_t i = 0; st == FRE_OK && i < l->n_pairs; i++) {
        const fre_label_pair *p = &l->pair[i];

        s.first[i] = evaluate_half_of(p->count, rng);
        if (s.first[i] > most[p->row]) {
            most[p->row] = s.first[i];
            s.label[p->row] = p->label;
        }
    }
    free(most);
    if (st == FRE_OK)
        *out = s;
    else
        split_free(&s);
    return st;
}

/* label: of each of m rows that of the nearest original that the first half has with one. */
static fre_status find_labels(uint32_t *label, const classes *c, const split *s, const float *x,
                              size_t m)
{
    const fre_originals *o = &c->run->base->originals;
    float *row = malloc((o->n * o->d + 1) * sizeof *row);
    uint32_t *which = malloc((o->n + 1) * sizeof *which), *at = malloc((m + 1) * sizeof *at);
    fre_status st = row && which && at ? FRE_OK : FRE_E_NOMEM;
    size_t n = 0;

    for (size_t i = 0; st == FRE_OK && i < o->n; i++) {
        if (s->label[i] == UINT32_MAX)
            continue;
        memcpy(row + n * o->d, o->x + i * o->d, o->d * sizeof *row);
        which[n++] = s->label[i];
    }
    if (st == FRE_OK && n > 0 && m > 0)
        st = fre_nearest(at, NULL, (fre_rows){x, m}, (fre_rows){row, n}, o->d, 1,
                         c->run->base->opts->threads);
    for (size_t i = 0; st == FRE_OK && i < m; i++)
        label[i] = n > 0 ? which[at[i]] : UINT32_MAX;
    fre_wipe_free(row, (o->n * o->d + 1) * sizeof *row);
    free(which);
    free(at);
    return st;
}

/* ---- the nearest centroids -------------------------------------------------------------------------- */

/* The most frequent label of the first k, ties to the one that is met first. */
static uint32_t vote(const uint32_t *near, size_t k, const uint32_t *label)
{
    uint32_t best = UINT32_MAX;
    size_t most = 0;

    for (size_t i = 0; i < k; i++) {
        size_t n = 0;

        for (size_t j = 0; j < k; j++)
            n += label[near[j]] == label[near[i]];
        if (n > most) {
            most = n;
            best = label[near[i]];
        }
    }
    return best;
}

static fre_status try_centroids(classes *c, const split *s, size_t trial)
{
    const fre_release *r = &c->run->release;
    uint32_t *label = malloc((r->n + 1) * sizeof *label);
    fre_status st = label ? find_labels(label, c, s, r->centroid, r->n) : FRE_E_NOMEM;

    for (size_t k = 0; st == FRE_OK && k < FRE_EVALUATE_KS; k++) {
        uint64_t right = 0, all = 0;

        for (size_t i = 0; ks[k] <= c->k && i < c->labels->n_pairs; i++) {
            const fre_label_pair *p = &c->labels->pair[i];
            const uint64_t n = p->count - s->first[i];

            if (n == 0)
                continue;
            all += n;
            if (vote(c->near_centroid + p->row * c->k, ks[k], label) == p->label)
                right += n;
        }
        c->nearest[k][trial] = all > 0 ? (double)right / (double)all : (double)NAN;
    }
    free(label);
    return st;
}

/* Always the label that is most frequent in the first half. */
static fre_status try_majority(classes *c, const split *s, size_t trial)
{
    uint64_t *first = calloc(c->labels->n + 1, sizeof *first);
    uint64_t *second = calloc(c->labels->n + 1, sizeof *second), all = 0;
    size_t best = 0;
    const fre_status st = first && second ? FRE_OK : FRE_E_NOMEM;

    for (size_t i = 0; st == FRE_OK && i < c->labels->n_pairs; i++) {
        const fre_label_pair *p = &c->labels->pair[i];

        first[p->label] += s->first[i];
        second[p->label] += p->count - s->first[i];
        all += p->count - s->first[i];
    }
    for (size_t i = 1; st == FRE_OK && i < c->labels->n; i++)
        best = first[i] > first[best] ? i : best;
    if (st == FRE_OK)
        c->majority[trial] = all > 0 ? (double)second[best] / (double)all : (double)NAN;
    c->tested = (size_t)all;
    free(first);
    free(second);
    return st;
}

/* What is trained on: texts, with their paraphrases where there are any. */
static const evaluate_set *texts_of(const classes *c)
{
    const evaluate_run *r = c->run;

    return &r->set[r->e->has[FRE_SET_PARAPHRASED] ? FRE_SET_PARAPHRASED : FRE_SET_TEXT];
}

/* ---- linear classifiers ----------------------------------------------------------------------------- */

/* Up to `most` records of a half, drawn. */
typedef struct drawn {
    uint32_t *row, *label;
    size_t n;
} drawn;

static void drawn_free(drawn *d)
{
    free(d->row);
    free(d->label);
}

static fre_status draw_records(drawn *out, const classes *c, const split *s, bool first,
                               size_t most, fre_rng *rng)
{
    const fre_labels *l = c->labels;
    uint64_t all = 0;
    uint32_t *pair;
    size_t n = 0;

    for (size_t i = 0; i < l->n_pairs; i++)
        all += first ? s->first[i] : l->pair[i].count - s->first[i];
    pair = malloc((all + 1) * sizeof *pair);
    out->n = all < most ? (size_t)all : most;
    out->row = malloc((out->n + 1) * sizeof *out->row);
    out->label = malloc((out->n + 1) * sizeof *out->label);
    if (!pair || !out->row || !out->label) {
        free(pair);
        return FRE_E_NOMEM;
    }
    for (size_t i = 0; i < l->n_pairs; i++)
        for (uint64_t k = first ? s->first[i] : l->pair[i].count - s->first[i]; k > 0; k--)
            pair[n++] = (uint32_t)i;
    evaluate_draw(pair, n, out->n, rng);
    for (size_t i = 0; i < out->n; i++) {
        out->row[i] = l->pair[pair[i]].row;
        out->label[i] = l->pair[pair[i]].label;
    }
    free(pair);
    return FRE_OK;
}

/* rows, label: of the synthetic texts, each its own row. */
static fre_status train_all(classes *c, const drawn *real, const drawn *test, const uint32_t *rows,
                            const uint32_t *label, size_t trial)
{
    const evaluate_set *texts = texts_of(c);
    const fre_originals *o = &c->run->base->originals;
    const size_t as_many = texts->n < real->n ? texts->n : real->n;
    const evaluate_labelled train[3] = {{texts->x, o->d, rows, label, texts->n},
                                        {o->x, o->d, real->row, real->label, as_many},
                                        {o->x, o->d, real->row, real->label, real->n}};
    const evaluate_labelled others = {o->x, o->d, test->row, test->label, test->n};
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < 3; i++) {
        st = evaluate_linear(&c->linear[i][trial], &train[i], &others);
        c->trained[i] = train[i].n;
    }
    return st;
}

static fre_status try_linear(classes *c, const split *s, size_t trial, fre_rng *rng)
{
    const evaluate_set *texts = texts_of(c);
    const size_t most = texts->n > REAL_MAX ? texts->n : REAL_MAX;
    uint32_t *label = malloc((texts->n + 1) * sizeof *label);
    uint32_t *rows = malloc((texts->n + 1) * sizeof *rows);
    drawn real = {.n = 0}, test = {.n = 0};
    fre_status st = label && rows ? find_labels(label, c, s, texts->x, texts->n) : FRE_E_NOMEM;

    for (size_t i = 0; st == FRE_OK && i < texts->n; i++)
        rows[i] = (uint32_t)i;
    if (st == FRE_OK)
        st = draw_records(&real, c, s, true, most, rng);
    if (st == FRE_OK)
        st = draw_records(&test, c, s, false, TEST_MAX, rng);
    if (st == FRE_OK)
        st = train_all(c, &real, &test, rows, label, trial);
    drawn_free(&real);
    drawn_free(&test);
    free(label);
    free(rows);
    return st;
}

/* ---- all of it ------------------------------------------------------------------------------------------ */

static fre_mean_sd mean_sd(const double x[FRE_EVALUATE_TRIALS])
{
    fre_mean_sd m = {0.0, 0.0};

    for (size_t i = 0; i < FRE_EVALUATE_TRIALS; i++)
        m.mean += x[i] / FRE_EVALUATE_TRIALS;
    for (size_t i = 0; i < FRE_EVALUATE_TRIALS; i++)
        m.sd += (x[i] - m.mean) * (x[i] - m.mean) / (FRE_EVALUATE_TRIALS - 1);
    m.sd = sqrt(m.sd);
    return m;
}

static fre_status try_once(classes *c, size_t trial)
{
    split s = {.first = NULL};
    fre_rng rng;
    fre_status st = evaluate_rng(&rng, "evaluate/classification", trial);

    if (st != FRE_OK)
        return st;
    st = split_make(&s, c, &rng);
    if (st == FRE_OK)
        st = try_majority(c, &s, trial);
    if (st == FRE_OK && c->k > 0)
        st = try_centroids(c, &s, trial);
    if (st == FRE_OK && evaluate_has_linear())
        st = try_linear(c, &s, trial, &rng);
    split_free(&s);
    fre_rng_wipe(&rng);
    return st;
}

static fre_status find_near_centroids(classes *c)
{
    const fre_release *r = &c->run->release;
    const fre_originals *o = &c->run->base->originals;

    c->k = r->n < NEAREST ? r->n : NEAREST;
    if (c->k == 0 || o->n == 0)
        return FRE_OK;
    c->near_centroid = malloc(o->n * c->k * sizeof *c->near_centroid);
    if (!c->near_centroid)
        return FRE_E_NOMEM;
    return fre_nearest(c->near_centroid, NULL, (fre_rows){o->x, o->n},
                       (fre_rows){r->centroid, r->n}, o->d, c->k, c->run->base->opts->threads);
}

static void fill(fre_classification *out, const classes *c)
{
    *out = (fre_classification){.labels = c->labels->n,
                                .test = c->tested,
                                .majority = mean_sd(c->majority),
                                .has_linear = evaluate_has_linear()};
    for (size_t k = 0; k < FRE_EVALUATE_KS; k++) {
        out->k[k] = ks[k];
        out->has_nearest[k] = ks[k] <= c->k;
        out->nearest[k] = mean_sd(c->nearest[k]);
    }
    for (size_t i = 0; i < 3; i++) {
        out->linear[i] = mean_sd(c->linear[i]);
        out->trained[i] = c->trained[i];
    }
}

static fre_status find_classification(fre_classification *out, const evaluate_run *run,
                                      const fre_labels *labels)
{
    classes c = {.run = run, .labels = labels};
    fre_status st = find_near_centroids(&c);

    for (size_t i = 0; st == FRE_OK && i < FRE_EVALUATE_TRIALS; i++) {
        fre_progress_update(run->base->opts->progress, "classifying", i, FRE_EVALUATE_TRIALS);
        st = try_once(&c, i);
    }
    free(c.near_centroid);
    if (st == FRE_OK)
        fill(out, &c);
    return st;
}

fre_status evaluate_classify(evaluate_run *r, fre_err *err)
{
    evaluate_base *b = r->base;
    fre_labels labels;
    fre_status st;

    if (!b->e.has_labels) {
        evaluate_leave_out(r->e, "classification",
                           b->opts->corpus.label_field
                               ? "the originals have no such label"
                               : "no label of the originals is named: {label_field}");
        return FRE_OK;
    }
    if (b->opts->no_classifiers) {
        evaluate_leave_out(r->e, "classification", "it was not asked for: {no_classifiers}");
        return FRE_OK;
    }
    st = evaluate_labels_view(&b->labels, &labels, &b->originals);
    if (st == FRE_OK && labels.n < 2) {
        evaluate_leave_out(
            r->e, "classification",
            "the originals have fewer than two different labels: there is nothing to "
            "tell apart");
        return FRE_OK;
    }
    if (st == FRE_OK)
        st = find_classification(&r->e->classification, r, &labels);
    if (st != FRE_OK)
        return evaluate_with_text(err, st);
    r->e->has_classification = true;
    if (!evaluate_has_linear())
        evaluate_leave_out(r->e, "classification.linear",
                           "this program was built without liblinear");
    return FRE_OK;
}
