/* A bridge from the joint moments of two embedders' embeddings, and its file. */
#include "bridge_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <fre/linalg.h>

/* Cxx out of the joint covariance c, its eigenvalues and -vectors. */
static fre_status decompose(fre_bridge *g, const double *c, double *vector)
{
    const size_t a = g->info.from.dim, d = a + g->info.to.dim;
    double *own = malloc((a + 1) * a * sizeof *own), *value, mean = 0;
    fre_status st;

    if (!own)
        return FRE_E_NOMEM;
    value = own + a * a;
    for (size_t i = 0; i < a; i++)
        memcpy(own + i * a, c + i * d, a * sizeof *own);
    st = fre_eigen_symmetric(value, vector, own, a);
    for (size_t k = 0; st == FRE_OK && k < a; k++)
        mean += value[k] / (double)a;
    for (size_t k = 0; st == FRE_OK && k < a; k++)
        g->value[k] = (float)fmax(value[k], BRIDGE_SPREAD_MIN * mean);
    free(own);
    return st;
}

/* Row k of the map: Cyx v_k. */
static void fill_map(fre_bridge *g, const double *c, const double *vector)
{
    const size_t a = g->info.from.dim, b = g->info.to.dim, d = a + b;

    for (size_t k = 0; k < a; k++)
        for (size_t i = 0; i < b; i++) {
            const double *row = c + (a + i) * d;
            double sum = 0;

            for (size_t j = 0; j < a; j++)
                sum += row[j] * vector[k * a + j];
            g->map[k * b + i] = (float)sum;
        }
    g->info.variance = 0;
    for (size_t i = a; i < d; i++)
        g->info.variance += c[i * d + i];
}

static fre_status fill(fre_bridge *g, fre_prior_sums *s, fre_err *err)
{
    const size_t a = g->info.from.dim, d = a + g->info.to.dim;
    double *c = malloc(d * d * sizeof *c), *mean = malloc(d * sizeof *mean);
    double *vector = malloc(a * a * sizeof *vector);
    fre_status st = c && mean && vector ? fre_prior_sums_moments(s, mean, c) : FRE_E_NOMEM;

    if (st == FRE_OK && (!fre_prior_moments_vary(mean, c, d, a) ||
                         !fre_prior_moments_vary(mean + a, c + a * d + a, d, d - a)))
        st = fre_fail(err, FRE_E_DATA,
                      "the embeddings do not vary: a bridge needs texts of many kinds");
    if (st == FRE_OK)
        st = decompose(g, c, vector);
    if (st == FRE_OK) {
        for (size_t i = 0; i < a; i++)
            g->mean[i] = (float)mean[i];
        for (size_t i = a; i < d; i++)
            g->to_mean[i - a] = (float)mean[i];
        for (size_t i = 0; i < a * a; i++)
            g->vector[i] = (float)vector[i];
        fill_map(g, c, vector);
        bridge_complete(g);
    }
    free(c);
    free(mean);
    free(vector);
    return st;
}

static void fill_end(fre_bridge_end *e, const fre_model_info *m)
{
    fre_model_label(e->embedder, sizeof e->embedder, m->name);
    fre_hex(e->hash, m->sha256, FRE_HASH_BYTES);
}

fre_status fre_bridge_make(fre_bridge **out, fre_prior_sums *sums, const fre_model_info *from,
                           const fre_model_info *to, const char *source, fre_err *err)
{
    const uint64_t rows = fre_prior_sums_rows(sums);
    const uint32_t least = FRE_PRIOR_ROWS_MIN(from->dim + to->dim);
    fre_bridge *g;
    fre_status st;

    if (from->dim > BRIDGE_DIM_MAX || to->dim > BRIDGE_DIM_MAX ||
        fre_prior_sums_dim(sums) != from->dim + to->dim || strlen(source) >= sizeof g->info.source)
        return fre_fail(err, FRE_E_ARG, "a bridge's embedders or source are out of range");
    if (rows < least || rows > UINT32_MAX)
        return fre_fail(err, FRE_E_DATA,
                        "a bridge between %u and %u dimensions needs at least %u texts, and there "
                        "are %llu",
                        from->dim, to->dim, least, (unsigned long long)rows);
    g = bridge_new(from->dim, to->dim);
    if (!g)
        return fre_fail(err, FRE_E_NOMEM, "out of memory making a bridge");
    g->info.rows = (uint32_t)rows;
    fill_end(&g->info.from, from);
    fill_end(&g->info.to, to);
    fre_model_label(g->info.source, sizeof g->info.source, source);
    st = fill(g, sums, err);
    if (st != FRE_OK) {
        fre_bridge_free(g);
        return st == FRE_E_DATA ? st : fre_fail(err, st, "out of memory making a bridge");
    }
    *out = g;
    return FRE_OK;
}

fre_status fre_bridge_set_card(fre_bridge *b, const fre_prior_card *card)
{
    return fre_prior_card_copy(&b->info.card, card);
}

#define OWN_PAIRS 9u
#define OWN_ENTRIES 6u

fre_status fre_bridge_write(const fre_bridge *b, FILE *f, fre_err *err)
{
    const fre_bridge_info *i = &b->info;
    const float variance = (float)i->variance;
    fre_tensors_pair pair[OWN_PAIRS + FRE_PRIOR_CARD_PAIRS] = {
        {.key = "general.name", .text = "bridge between embeddings of public text"},
        {.key = BRIDGE_KEY("from_length"), .number = i->from.dim},
        {.key = BRIDGE_KEY("from_model"), .text = i->from.embedder},
        {.key = BRIDGE_KEY("from_model_sha256"), .text = i->from.hash},
        {.key = BRIDGE_KEY("to_length"), .number = i->to.dim},
        {.key = BRIDGE_KEY("to_model"), .text = i->to.embedder},
        {.key = BRIDGE_KEY("to_model_sha256"), .text = i->to.hash},
        {.key = BRIDGE_KEY("rows"), .number = i->rows},
        {.key = BRIDGE_KEY("source"), .text = i->source},
    };
    fre_tensors_entry entry[OWN_ENTRIES + 1] = {
        {.name = "mean", .value = b->mean, .rows = 1, .cols = i->from.dim},
        {.name = "eigenvalues", .value = b->value, .rows = 1, .cols = i->from.dim},
        {.name = "eigenvectors", .value = b->vector, .rows = i->from.dim, .cols = i->from.dim},
        {.name = "to.mean", .value = b->to_mean, .rows = 1, .cols = i->to.dim},
        {.name = "to.variance", .value = &variance, .rows = 1, .cols = 1},
        {.name = "map", .value = b->map, .rows = i->from.dim, .cols = i->to.dim},
    };
    size_t n_pairs = OWN_PAIRS, n_entries = OWN_ENTRIES;

    fre_prior_card_append(&i->card, pair, &n_pairs, entry, &n_entries);
    return fre_tensors_write(f, FRE_BRIDGE_ARCHITECTURE, pair, n_pairs, entry, n_entries, err);
}
