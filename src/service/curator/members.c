/* curator/members.c - texts of a public cell.  Its centroid is the mean of many wordings, and what a search
 * finds nearest to a mean is not what anybody writes.  So the inverter's decoder draws texts for it at the noise
 * that members have about their mean, beside the centroid's own; told are those that are near the centroid and
 * likely, each different from the others.  With a language model the best of them are read by it, and its
 * likelihood counts in place of the decoder's, which knows the centroid and forgives it odd sentences. */
#include "curator_private.h"

#include <fre/fold.h>
#include <fre/linalg.h>
#include <fre/lm.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Chosen on clinc-oos by the share of texts that speak of what most members want, docs/decisions/0016. */
#define DRAWS 96u       /* of a cell */
#define READ 16u        /* of them by a language model */
#define BATCH 32u       /* cells */
#define TEMPERATURE 0.8 /* of its draws */
#define SPREAD 0.6      /* of the members about their mean: the draws' is narrower */
#define LIKELY 0.02     /* what a natural logarithm of a word's likelihood is worth, as nearness */
#define AGAIN 0.02      /* what a word that is said again costs, as nearness */
#define DIFFERENT 0.9   /* cosine of two texts that are told both, at most */

/* The draws of one cell. */
typedef struct members {
    const char *text[DRAWS];
    size_t len[DRAWS];
    double near[DRAWS];  /* cosine to the centroid */
    double logp[DRAWS];  /* the decoder's, or a language model's */
    size_t again[DRAWS]; /* words said again */
    double worth[DRAWS]; /* nearness, likelihood, repetition; -inf: told, or not to be told */
    size_t n;
    float *x; /* DRAWS x dim */
} members;

static double nearness(const float *x, const float *mu, size_t dim)
{
    const double norm = fre_norm(mu, dim);

    return norm > 0 ? fre_dot(x, mu, dim) / norm : 0;
}

static double words(const char *text)
{
    double n = 1;

    for (; *text; text++)
        n += *text == ' ';
    return n;
}

/* Index of the one worth most, taken out of the rest; n: none is left. */
static size_t take_best(members *m)
{
    size_t best = m->n;

    for (size_t i = 0; i < m->n; i++)
        if (isfinite(m->worth[i]) && (best == m->n || m->worth[i] > m->worth[best]))
            best = i;
    if (best < m->n)
        m->worth[best] = -HUGE_VAL;
    return best;
}

static bool is_repeated(const float *x, const float *told, size_t n, size_t dim)
{
    for (size_t k = 0; k < n; k++)
        if (fre_dot(x, told + k * dim, dim) > DIFFERENT)
            return true;
    return false;
}

/* Part of the draws that say nearly the same: that would not be told beside it. */
static double share_of(const members *m, size_t i, size_t dim)
{
    size_t same = 0;

    for (size_t k = 0; k < m->n; k++)
        same += fre_dot(m->x + i * dim, m->x + k * dim, dim) > DIFFERENT;
    return (double)same / (double)m->n;
}

/* The first is the cell's text, the others its further ones. */
static fre_status tell(members *m, fre_released_cell *c, size_t i, const float *mu, size_t dim)
{
    fre_inversion *told = c->text.text ? &c->texts[c->n_texts] : &c->text;

    told->text = strdup(m->text[i]);
    if (!told->text)
        return FRE_E_NOMEM;
    c->n_texts += told != &c->text;
    told->similarity = m->near[i];
    told->distance = sqrt(fre_dist2(m->x + i * dim, mu, dim));
    told->share = share_of(m, i, dim);
    return FRE_OK;
}

/* The most worth first, each different from those before it. */
static fre_status tell_best(members *m, fre_released_cell *c, size_t further, const float *mu,
                            size_t dim)
{
    float *told = calloc((further + 1) * dim, sizeof *told);
    size_t n = 0, i;
    fre_status st = FRE_OK;

    c->texts = calloc(further + 1, sizeof *c->texts);
    if (!told || !c->texts)
        st = FRE_E_NOMEM;
    while (st == FRE_OK && n <= further && (i = take_best(m)) < m->n) {
        const float *x = m->x + i * dim;

        if (is_repeated(x, told, n, dim))
            continue;
        memcpy(told + n++ * dim, x, dim * sizeof *told);
        st = tell(m, c, i, mu, dim);
    }
    free(told);
    return st;
}

static bool is_drawn(const members *m, const char *text)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->text[i], text) == 0)
            return true;
    return false;
}

static double worth_of(const members *m, size_t i)
{
    return m->near[i] + LIKELY * m->logp[i] / (words(m->text[i]) + 1) - AGAIN * (double)m->again[i];
}

/* What the draws are worth. */
static fre_status judge(const curator_run *r, members *m, const fre_draw *draw, const float *mu,
                        fre_err *err)
{
    fre_status st;

    m->n = 0;
    for (size_t i = 0; i < DRAWS; i++)
        if (draw[i].text && !is_drawn(m, draw[i].text)) {
            m->text[m->n] = draw[i].text;
            m->logp[m->n] = draw[i].logp;
            m->len[m->n++] = strlen(draw[i].text);
        }
    st = m->n > 0 ? fre_embed_texts(r->embedder, m->x, m->text, m->len, m->n, err) : FRE_OK;
    for (size_t i = 0; st == FRE_OK && i < m->n; i++) {
        const float *x = m->x + i * r->dim;

        st = fre_fold_said_again(&m->again[i], m->text[i], m->len[i]);
        m->near[i] = nearness(x, mu, r->dim);
        m->worth[i] = fre_is_zero_row(x, r->dim) ? -HUGE_VAL : worth_of(m, i);
    }
    return st;
}

/* The language model reads those worth most; the others are not told. */
static fre_status read_best(members *m, fre_lm *lm, fre_err *err)
{
    const char *text[READ];
    size_t len[READ], at[READ], n = 0;
    fre_lm_score score[READ];
    fre_status st;

    while (n < READ && (at[n] = take_best(m)) < m->n) {
        text[n] = m->text[at[n]];
        len[n] = m->len[at[n]];
        n++;
    }
    for (size_t i = 0; i < m->n; i++)
        m->worth[i] = -HUGE_VAL;
    st = n > 0 ? fre_lm_score_texts(lm, score, text, len, n, NULL, err) : FRE_OK;
    for (size_t k = 0; st == FRE_OK && k < n; k++) {
        m->logp[at[k]] = score[k].logp;
        m->worth[at[k]] = worth_of(m, at[k]);
    }
    return st;
}

/* The noise a coordinate that tells a text for the cell from the released centroid. */
static double member_noise(const curator_run *r, const curator_cell *from,
                           const fre_released_cell *c)
{
    const double spread = curator_level_of_codebook(r, from->level)->spread;

    return SPREAD * hypot(spread, c->noise_norm) / sqrt((double)r->dim);
}

/* Cells that are drawn for together, so that all threads have some. */
typedef struct batch {
    size_t cell[BATCH], n;
    double noise[BATCH];
    float *target; /* BATCH x dim */
    fre_draw draw[BATCH * DRAWS];
} batch;

/* The next public cells from *at on. */
static void fill_batch(batch *b, const curator_run *r, const fre_release *out, size_t *at)
{
    for (b->n = 0; *at < out->n && b->n < BATCH; (*at)++) {
        float *target = b->target + b->n * r->dim;

        if (r->released[*at].level == 0)
            continue; /* a wording, not a theme */
        memcpy(target, out->centroid + *at * r->dim, r->dim * sizeof *target);
        (void)fre_normalise(target, r->dim);
        b->noise[b->n] = member_noise(r, &r->released[*at], &out->cell[*at]);
        b->cell[b->n++] = *at;
    }
}

/* lm NULL: none. */
static fre_status tell_batch(batch *b, const curator_run *r, fre_release *out, members *m,
                             fre_lm *lm, fre_err *err)
{
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < b->n; i++) {
        fre_released_cell *c = &out->cell[b->cell[i]];
        const float *mu = out->centroid + b->cell[i] * r->dim;

        st = judge(r, m, b->draw + i * DRAWS, mu, err);
        if (st == FRE_OK && lm)
            st = read_best(m, lm, err);
        if (st == FRE_OK && tell_best(m, c, r->opts->texts_per_cell, mu, r->dim) != FRE_OK)
            st = fre_fail(err, FRE_E_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < b->n * DRAWS; i++)
        fre_draw_wipe(&b->draw[i]);
    return st;
}

fre_status curator_draw_members(const curator_run *r, fre_release *out, fre_inverter *inverter,
                                fre_err *err)
{
    const fre_draw_opts how = {.n = DRAWS, .temperature = TEMPERATURE, .seed = r->writer_seed};
    members m = {.x = malloc(DRAWS * (size_t)r->dim * sizeof *m.x)};
    batch *b = calloc(1, sizeof *b);
    fre_status st = FRE_OK;

    if (b)
        b->target = malloc(BATCH * (size_t)r->dim * sizeof *b->target);
    if (!m.x || !b || !b->target)
        st = fre_fail(err, FRE_E_NOMEM, "out of memory");
    for (size_t at = 0; st == FRE_OK && at < out->n;) {
        fre_progress_update(r->opts->progress, "wording", at, out->n);
        fill_batch(b, r, out, &at);
        st = fre_interrupted() ? fre_fail(err, FRE_E_INTERRUPTED, "interrupted") : FRE_OK;
        if (st == FRE_OK && b->n > 0)
            st = fre_inverter_draw(inverter, b->draw, &how, b->target, b->noise, b->n, err);
        if (st == FRE_OK)
            st = tell_batch(b, r, out, &m, fre_inverter_lm(inverter), err);
    }
    free(m.x);
    if (b)
        free(b->target);
    free(b);
    return st;
}
