/* evaluate/place.c - how a set lies about the originals: scores by reach, distances, by neighbours, and
 * near rare originals. */
#include "evaluate_private.h"

#include <math.h>
#include <stdlib.h>

uint64_t evaluate_rare_below(size_t i)
{
    return i == 0 ? 10 : 100;
}

/* ---- curves ----------------------------------------------------------------------------------- */

static void put(fre_score_curve *c, size_t i, const fre_scores *s)
{
    c->precision[i] = s->precision;
    c->recall[i] = s->recall;
    c->f1[i] = s->f1;
}

static void find_curves(fre_set_place *p, const evaluate_near *n, const evaluate_base *b,
                        const fre_originals *o)
{
    for (size_t i = 0; i < FRE_EVALUATE_ALPHAS; i++) {
        const fre_level_scores s =
            evaluate_near_scores(n, o, b->is_frequent, (double)(i + 1) / 10.0 * b->e.radius);

        put(&p->frequent_curve, i, &s.frequent);
        put(&p->all_curve, i, &s.all);
    }
}

/* ---- distances ---------------------------------------------------------------------------------- */

typedef struct weighted {
    double distance;
    uint64_t weight;
} weighted;

static int compare(const void *a, const void *b)
{
    const double x = ((const weighted *)a)->distance, y = ((const weighted *)b)->distance;

    return (x > y) - (x < y);
}

static double edge(size_t i, double radius)
{
    return (double)i / 10.0 * radius;
}

/* Bin i holds edge i <= distance < edge i + 1. */
static size_t bin_of(double distance, double radius)
{
    size_t i;

    if (!(distance < edge(FRE_EVALUATE_BINS, radius)))
        return FRE_EVALUATE_BINS;
    i = (size_t)(distance / radius * 10.0);
    while (i > 0 && distance < edge(i, radius))
        i--;
    while (distance >= edge(i + 1, radius))
        i++;
    return i;
}

/* list: n, used up. */
static void summarise(fre_distances *out, weighted *list, size_t n, double radius)
{
    uint64_t total = 0, below = 0;
    double sum = 0.0;

    *out = (fre_distances){.mean = (double)NAN, .median = (double)NAN};
    for (size_t i = 0; i < n; i++) {
        const size_t bin = bin_of(list[i].distance, radius);

        *(bin < FRE_EVALUATE_BINS ? &out->count[bin] : &out->beyond) += list[i].weight;
        total += list[i].weight;
        sum += (double)list[i].weight * list[i].distance;
    }
    if (total == 0 || !isfinite(sum))
        return;
    out->mean = sum / (double)total;
    qsort(list, n, sizeof *list, compare);
    for (size_t i = 0; i < n && isnan(out->median); i++) {
        below += list[i].weight;
        if (below >= total - below) /* the lower of two in the middle */
            out->median = list[i].distance;
    }
}

static fre_status find_distances(fre_set_place *p, const evaluate_near *n, const evaluate_base *b,
                                 const fre_originals *o)
{
    weighted *list = malloc((o->n + 1) * sizeof *list);

    if (!list)
        return FRE_E_NOMEM;
    for (int frequent = 0; frequent < 2; frequent++) {
        size_t k = 0;

        for (size_t i = 0; i < o->n; i++)
            if (o->weight[i] > 0 && b->is_frequent[i] == (frequent == 1))
                list[k++] = (weighted){n->of_original[i], o->weight[i]};
        summarise(frequent ? &p->frequent : &p->infrequent, list, k, b->e.radius);
    }
    free(list);
    return FRE_OK;
}

/* ---- by neighbours ---------------------------------------------------------------------------- */

/* Group g: 2^g to 2^(g+1) - 1. */
static size_t group_of(uint64_t neighbours)
{
    size_t g = 0;

    while (neighbours >>= 1)
        g++;
    return g;
}

static double share(double part, double whole)
{
    return whole > 0.0 && isfinite(part) ? part / whole : (double)NAN;
}

static void find_groups(fre_set_place *p, const evaluate_near *n, const evaluate_base *b,
                        const fre_originals *o)
{
    double sum[FRE_EVALUATE_GROUPS] = {0.0}, weight[FRE_EVALUATE_GROUPS] = {0.0};

    for (size_t i = 0; i < o->n; i++) {
        const size_t g = group_of(b->neighbours[i]);

        if (o->weight[i] == 0)
            continue;
        weight[g] += (double)o->weight[i];
        sum[g] += (double)o->weight[i] * n->of_original[i];
    }
    for (size_t g = 0; g < FRE_EVALUATE_GROUPS; g++)
        p->by_neighbours[g] = share(sum[g], weight[g]);
}

static void find_rare(fre_set_place *p, const evaluate_near *n, const evaluate_base *b,
                      const fre_originals *o)
{
    for (size_t t = 0; t < FRE_EVALUATE_RARE; t++) {
        double all = 0.0, found[FRE_EVALUATE_PSIS] = {0.0};

        for (size_t i = 0; i < o->n; i++) {
            if (b->neighbours[i] >= evaluate_rare_below(t))
                continue;
            all += (double)o->weight[i];
            for (size_t k = 0; k < FRE_EVALUATE_PSIS; k++)
                if (n->of_original[i] <= (double)(k + 1) / 10.0 * b->e.radius)
                    found[k] += (double)o->weight[i];
        }
        for (size_t k = 0; k < FRE_EVALUATE_PSIS; k++)
            p->ssp[t][k] = share(found[k], all);
    }
}

fre_status evaluate_place_find(fre_set_place *out, const evaluate_near *n, const evaluate_base *b,
                               const fre_originals *o)
{
    fre_set_place p = {.members = n->m};
    fre_status st = find_distances(&p, n, b, o);

    if (st != FRE_OK)
        return st;
    p.scores = evaluate_near_scores(n, o, b->is_frequent, b->e.alpha * b->e.radius);
    find_curves(&p, n, b, o);
    find_groups(&p, n, b, o);
    find_rare(&p, n, b, o);
    *out = p;
    return FRE_OK;
}

void evaluate_count_groups(evaluate_base *b)
{
    for (size_t i = 0; i < b->originals.n; i++) {
        if (b->originals.weight[i] == 0)
            continue;
        b->e.by_neighbours[group_of(b->neighbours[i])] += b->originals.weight[i];
        for (size_t t = 0; t < FRE_EVALUATE_RARE; t++)
            if (b->neighbours[i] < evaluate_rare_below(t))
                b->e.rare[t] += b->originals.weight[i];
    }
}
