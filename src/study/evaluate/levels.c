/* evaluate/levels.c - a release level by level, and all its levels together. */
#include "evaluate_private.h"

#include <fre/linalg.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is added up over the cells and texts of a level; divided at the end. */
typedef struct tally {
    double centroid_l2, text_l2, noise, member_l2;
    uint64_t with_members, texts_with_members;
    uint64_t labelled, of_theme;
    uint64_t with_theme, centroid_right, mean_right, texts_with_theme, texts_right;
    uint64_t exact[4];
} tally;

typedef struct work {
    const fre_by_level *in;
    fre_level_evaluation *out;
    tally *tally;     /* n_levels + 1, as out */
    uint64_t *weight; /* members of each released cell */
    double *far;      /* sum of their distances to its centroid */
    float *mean;      /* n x d, of its members; zeros where it has none */
    evaluate_themes themes;
    bool *hit; /* (n_levels + 1) x labels */
} work;

/* ---- the members' means ----------------------------------------------------------------------------- */

static fre_status find_means(work *w)
{
    const fre_originals *o = w->in->originals;
    const size_t n = w->in->release->n, d = o->d;
    double *sum = calloc(n * d + 1, sizeof *sum);

    if (!sum)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < o->n; i++) {
        const uint32_t cell = w->in->member[i];

        if (cell == FRE_RELEASE_NONE)
            continue;
        w->weight[cell] += o->weight[i];
        w->far[cell] += (double)o->weight[i] *
                        sqrt(fre_dist2(o->x + i * d, w->in->release->centroid + cell * d, d));
        for (size_t j = 0; j < d; j++)
            sum[cell * d + j] += (double)o->weight[i] * (double)o->x[i * d + j];
    }
    for (size_t i = 0; i < n * d; i++)
        w->mean[i] = w->weight[i / d] > 0 ? (float)(sum[i] / (double)w->weight[i / d]) : 0.0f;
    fre_wipe_free(sum, (n * d + 1) * sizeof *sum);
    return FRE_OK;
}

/* ---- one cell, one text, into its level and into the whole ------------------------------------------ */

static void add_cell(work *w, size_t i, size_t at)
{
    const fre_release *r = w->in->release;
    const size_t d = w->in->originals->d;
    fre_level_evaluation *e = &w->out[at];
    tally *t = &w->tally[at];

    e->cells++;
    t->noise += r->cell[i].noise_norm;
    t->member_l2 += w->far[i];
    e->records += w->weight[i];
    e->empty += w->weight[i] == 0;
    e->rare += w->weight[i] > 0 && w->weight[i] < w->in->threshold;
    if (w->weight[i] == 0)
        return;
    t->with_members++;
    t->centroid_l2 += sqrt(fre_dist2(r->centroid + i * d, w->mean + i * d, d));
}

static void add_theme(work *w, size_t i, size_t at)
{
    const evaluate_themes *m = &w->themes;
    fre_label_scores *l = &w->out[at].labels;
    tally *t = &w->tally[at];

    if (m->theme[i] == EVALUATE_NO_THEME)
        return;
    l->cells++;
    t->labelled += m->labelled[i];
    t->of_theme += m->most[i];
    t->with_theme++;
    t->centroid_right += m->near_centroid[i] == m->theme[i];
    t->mean_right += m->near_mean[i] == m->theme[i];
    if (m->most[i] > m->labelled[i] - m->most[i]) {
        l->majority++;
        w->hit[at * w->in->labels->n + m->theme[i]] = true;
    }
}

static void add_text(work *w, size_t i, size_t at)
{
    static const fre_exact_mark marks[] = {FRE_EXACT_FREQUENT, FRE_EXACT_FREQUENT_FOLDED,
                                           FRE_EXACT_ANY, FRE_EXACT_ANY_FOLDED};
    const size_t d = w->in->originals->d, cell = w->in->text_cell[i];
    tally *t = &w->tally[at];

    w->out[at].texts++;
    for (size_t k = 0; w->in->exact && k < 4; k++)
        t->exact[k] += (w->in->exact[i] & marks[k]) != 0;
    if (w->weight[cell] > 0) {
        t->texts_with_members++;
        t->text_l2 += sqrt(fre_dist2(w->in->text + i * d, w->mean + cell * d, d));
    }
    if (w->in->labels && w->themes.theme[cell] != EVALUATE_NO_THEME) {
        t->texts_with_theme++;
        t->texts_right += w->themes.near_text[i] == w->themes.theme[cell];
    }
}

static void add_all(work *w)
{
    const fre_release *r = w->in->release;
    const size_t whole = r->n_levels;

    for (size_t i = 0; i < r->n; i++) {
        add_cell(w, i, r->cell[i].level);
        add_cell(w, i, whole);
        if (!w->in->labels)
            continue;
        add_theme(w, i, r->cell[i].level);
        add_theme(w, i, whole);
    }
    for (size_t i = 0; i < w->in->n_texts; i++) {
        add_text(w, i, r->cell[w->in->text_cell[i]].level);
        add_text(w, i, whole);
    }
}

/* ---- what they come to ------------------------------------------------------------------------------- */

static double share(double part, uint64_t whole)
{
    return whole > 0 ? part / (double)whole : (double)NAN;
}

static void finish_labels(work *w, size_t at)
{
    const tally *t = &w->tally[at];
    fre_label_scores *l = &w->out[at].labels;

    for (size_t i = 0; i < w->in->labels->n; i++) {
        const bool hit = w->hit[at * w->in->labels->n + i];

        l->hit += hit;
        l->frequent_hit += hit && w->themes.total[i] >= w->in->threshold;
    }
    l->precision = share((double)l->majority, l->cells);
    l->recall = share((double)l->hit, w->in->labels->n);
    l->purity = share((double)t->of_theme, t->labelled);
    l->nearest_text = share((double)t->texts_right, t->texts_with_theme);
    l->nearest_centroid = share((double)t->centroid_right, t->with_theme);
    l->nearest_mean = share((double)t->mean_right, t->with_theme);
}

static void finish(work *w, size_t at, uint64_t originals)
{
    const fre_release *r = w->in->release;
    const tally *t = &w->tally[at];
    fre_level_evaluation *e = &w->out[at];
    const char *name = at < r->n_levels ? r->level[at].name : "all";

    memcpy(e->name, name, strlen(name) + 1);
    e->covered = share((double)e->records, originals);
    e->centroid_l2 = share(t->centroid_l2, t->with_members);
    e->noise_norm = share(t->noise, e->cells);
    e->member_l2 = share(t->member_l2, e->records);
    e->text_l2 = share(t->text_l2, t->texts_with_members);
    e->exact = (fre_exact_shares){
        share((double)t->exact[0], e->texts), share((double)t->exact[1], e->texts),
        share((double)t->exact[2], e->texts), share((double)t->exact[3], e->texts)};
    if (w->in->labels)
        finish_labels(w, at);
}

/* Scores of a level's texts alone. */
static fre_status score_texts(work *w, size_t at, float *room)
{
    const fre_by_level *in = w->in;
    const size_t d = in->originals->d;
    size_t n = 0;

    for (size_t i = 0; i < in->n_texts; i++)
        if (at == in->release->n_levels || in->release->cell[in->text_cell[i]].level == at)
            memcpy(room + d * n++, in->text + i * d, d * sizeof *room);
    return fre_evaluate_level(&w->out[at].text, room, n, in->originals, in->is_frequent, in->reach,
                              in->threads);
}

static fre_status all_texts(work *w)
{
    float *room = malloc((w->in->n_texts * w->in->originals->d + 1) * sizeof *room);
    fre_status st = room ? FRE_OK : FRE_E_NOMEM;

    for (size_t at = 0; st == FRE_OK && w->in->n_texts > 0 && at <= w->in->release->n_levels; at++)
        st = score_texts(w, at, room);
    free(room);
    return st;
}

fre_status fre_evaluate_by_level(fre_level_evaluation *out, const fre_by_level *in)
{
    const size_t n = in->release->n, d = in->originals->d, levels = in->release->n_levels + 1;
    const size_t labels = in->labels ? in->labels->n : 0;
    fre_level_evaluation made[FRE_LEVELS_MAX + 2] = {{.cells = 0}};
    work w = {.in = in, .out = made};
    uint64_t originals = 0;
    fre_status st;

    w.tally = calloc(levels, sizeof *w.tally);
    w.weight = calloc(n + 1, sizeof *w.weight);
    w.far = calloc(n + 1, sizeof *w.far);
    w.mean = calloc(n * d + 1, sizeof *w.mean);
    w.hit = calloc(levels * labels + 1, sizeof *w.hit);
    st = w.tally && w.weight && w.far && w.mean && w.hit ? find_means(&w) : FRE_E_NOMEM;
    if (st == FRE_OK && in->labels)
        st = evaluate_themes_find(&w.themes, in, w.mean);
    if (st == FRE_OK)
        st = all_texts(&w);
    if (st == FRE_OK) {
        for (size_t i = 0; i < in->originals->n; i++)
            originals += in->originals->weight[i];
        add_all(&w);
        for (size_t at = 0; at < levels; at++)
            finish(&w, at, originals);
        memcpy(out, made, levels * sizeof *out);
    }
    free(w.tally);
    free(w.weight);
    free(w.far);
    fre_wipe_free(w.mean, (n * d + 1) * sizeof *w.mean);
    free(w.hit);
    evaluate_themes_wipe(&w.themes);
    return st;
}
