/* screen.c - which proposals are worth an embedding.  A mean-pooled embedding is nearly a sum over
 * a text's words and pairs of neighbours, and so is its product with mu.  Those sums are learned
 * for each centroid from the candidates embedded so far: ridge regression of the squared distance
 * on counts of words and pairs (Hoerl and Kennard, Technometrics 12, 1970), solved in its dual form,
 * candidates near the centroid weighing most. */
#include "screen.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RIDGE 1.0
#define NEAR 0.15 /* squared distance over which a candidate's weight falls to 1/e */
#define LEAST_WEIGHT 0.02
/* Of a word that no candidate had: nothing is known but that the distance asks for it. */
#define RESPONSE_WORTH 0.05
#define LOGP_WORTH 0.012 /* what a nat of the decoder's likelihood predicts of a squared distance */

typedef struct features {
    uint32_t f[INV_FEATURES]; /* sorted */
    uint32_t n;
} features;

struct inv_screen {
    features row[INV_SCREEN_ROWS];
    double weight[INV_SCREEN_ROWS], alpha[INV_SCREEN_ROWS], mean;
    double gram[INV_SCREEN_ROWS * INV_SCREEN_ROWS], spread;
    uint32_t n;
};

static uint32_t mix(uint32_t a, uint32_t b)
{
    uint64_t x = ((uint64_t)a << 32 | b) * UINT64_C(0x9E3779B97F4A7C15);

    return (uint32_t)(x >> 32) ^ (uint32_t)x;
}

static int by_value(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static bool is_letter(unsigned char c)
{
    return isalnum(c) || c == '\'' || c >= 0x80;
}

static void add(features *x, uint32_t f)
{
    if (x->n < INV_FEATURES)
        x->f[x->n++] = f;
}

/* Words, marks, pairs of neighbours with both ends of the text, and the number of words. */
static void extract(features *x, const char *text)
{
    uint32_t last = 1, words = 0;

    x->n = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        uint32_t h = 7;

        if (*p == ' ') {
            p++;
            continue;
        }
        if (is_letter(*p))
            while (is_letter(*p))
                h = mix(h, (uint32_t)tolower(*p++));
        else
            h = mix(h, *p++);
        add(x, h);
        add(x, mix(last, h));
        last = h;
        words++;
    }
    add(x, mix(last, 1));
    add(x, mix(2, words));
    qsort(x->f, x->n, sizeof *x->f, by_value);
}

static double common(const features *a, const features *b)
{
    double n = 0;

    for (uint32_t i = 0, j = 0; i < a->n && j < b->n;) {
        n += a->f[i] == b->f[j];
        if (a->f[i] < b->f[j]) {
            i++;
        } else if (a->f[i] > b->f[j]) {
            j++;
        } else {
            i++;
            j++;
        }
    }
    return n;
}

/* Cholesky in place (lower), then both triangles; the diagonal is at least RIDGE. */
static void solve(double *a, double *x, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j <= i; j++) {
            double s = a[i * n + j];

            for (uint32_t k = 0; k < j; k++)
                s -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = i == j ? sqrt(s) : s / a[j * n + j];
        }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < i; k++)
            x[i] -= a[i * n + k] * x[k];
        x[i] /= a[i * n + i];
    }
    for (uint32_t i = n; i-- > 0;) {
        for (uint32_t k = i + 1; k < n; k++)
            x[i] -= a[k * n + i] * x[k];
        x[i] /= a[i * n + i];
    }
}

inv_screen *inv_screen_new(void)
{
    return calloc(1, sizeof(inv_screen));
}

void inv_screen_free(inv_screen *s)
{
    free(s);
}

void inv_screen_fit(inv_screen *s, const inv_pool *p, double spread)
{
    double total = 0, best = INFINITY;

    s->n = p->scored < INV_SCREEN_ROWS ? (uint32_t)p->scored : INV_SCREEN_ROWS;
    for (uint32_t i = 0; i < s->n; i++)
        best = fmin(best, p->cand[i].dist2);
    s->mean = 0;
    s->spread = spread;
    for (uint32_t i = 0; i < s->n; i++) {
        extract(&s->row[i], p->cand[i].text);
        s->weight[i] = exp((best - p->cand[i].dist2) / (NEAR * spread)) + LEAST_WEIGHT;
        s->mean += s->weight[i] * p->cand[i].dist2;
        total += s->weight[i];
    }
    s->mean /= total;
    for (uint32_t i = 0; i < s->n; i++) {
        for (uint32_t j = 0; j <= i; j++)
            s->gram[i * s->n + j] = common(&s->row[i], &s->row[j]);
        s->gram[i * s->n + i] += RIDGE / s->weight[i];
        s->alpha[i] = p->cand[i].dist2 - s->mean;
    }
    solve(s->gram, s->alpha, s->n);
}

double inv_screen_distance(const inv_screen *s, const char *text)
{
    features x;
    double y = s->mean;

    extract(&x, text);
    for (uint32_t i = 0; i < s->n; i++)
        y += s->alpha[i] * common(&x, &s->row[i]);
    return y;
}

double inv_screen_worth(const inv_screen *s, double noise_std)
{
    return LOGP_WORTH * s->spread + 2 * noise_std * noise_std;
}

void inv_screen_rank(const inv_screen *s, inv_pool *p, double noise_std)
{
    for (size_t i = p->scored; i < p->n; i++) {
        inv_cand *c = &p->cand[i];

        c->rank = inv_screen_worth(s, noise_std) * c->logp - inv_screen_distance(s, c->text);
        if (c->kind == INV_RESPOND)
            c->rank += RESPONSE_WORTH * s->spread;
    }
}
