/* Mean and covariance of a stream of embeddings, and from them a prior. */
#include "prior_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <fre/linalg.h>

/* Rows that are gathered before they are added: the sums do not depend on how a caller cuts. */
#define BLOCK 512u
#define ROUNDING 1e-10
#define TOGETHER 4u /* rows added in one pass over a row of the sums; BLOCK is a multiple */

struct fre_prior_sums {
    uint32_t dim, threads;
    uint64_t rows;
    double *first;  /* sums of x_i */
    double *second; /* sums of x_i x_j, upper half */
    double *block;  /* BLOCK x dim, rows beyond `filled` are rubbish */
    size_t filled;
};

fre_status fre_prior_sums_new(fre_prior_sums **out, uint32_t dim, uint32_t threads)
{
    fre_prior_sums *s;

    if (!out || dim == 0 || dim > PRIOR_DIM_MAX || threads == 0)
        return FRE_E_ARG;
    s = calloc(1, sizeof *s);
    if (!s)
        return FRE_E_NOMEM;
    s->dim = dim;
    s->threads = threads;
    s->first = calloc(dim, sizeof *s->first);
    s->second = calloc((size_t)dim * dim, sizeof *s->second);
    s->block = calloc((size_t)BLOCK * dim, sizeof *s->block);
    if (!s->first || !s->second || !s->block) {
        fre_prior_sums_free(s);
        return FRE_E_NOMEM;
    }
    *out = s;
    return FRE_OK;
}

void fre_prior_sums_free(fre_prior_sums *s)
{
    if (!s)
        return;
    free(s->first);
    free(s->second);
    free(s->block);
    free(s);
}

/* Row i of the sums: products of coordinate i with those from i on. */
static fre_status add_row(void *ctx, uint64_t i)
{
    fre_prior_sums *s = ctx;
    const size_t d = s->dim;
    double *sum = s->second + i * d;

    for (size_t k = 0; k < BLOCK; k += TOGETHER) {
        const double *x = s->block + k * d, *y = x + d, *z = y + d, *w = z + d;
        const double a = x[i], b = y[i], c = z[i], e = w[i];

        for (size_t j = i; j < d; j++)
            sum[j] += (a * x[j] + b * y[j]) + (c * z[j] + e * w[j]);
    }
    return FRE_OK;
}

/* Rows that are missing from the block count as zero. */
static fre_status flush(fre_prior_sums *s)
{
    const size_t d = s->dim;

    memset(s->block + s->filled * d, 0, (BLOCK - s->filled) * d * sizeof *s->block);
    for (size_t k = 0; k < s->filled; k++)
        for (size_t i = 0; i < d; i++)
            s->first[i] += s->block[k * d + i];
    s->filled = 0;
    return fre_parallel(s->threads, d, add_row, s);
}

fre_status fre_prior_sums_add(fre_prior_sums *s, const float *rows, size_t n)
{
    const size_t d = s->dim;

    for (size_t k = 0; k < n; k++) {
        if (!fre_is_finite_row(rows + k * d, d))
            return FRE_E_DATA;
        for (size_t i = 0; i < d; i++)
            s->block[s->filled * d + i] = (double)rows[k * d + i];
        s->rows++;
        if (++s->filled == BLOCK) {
            fre_status st = flush(s);

            if (st != FRE_OK)
                return st;
        }
    }
    return FRE_OK;
}

uint32_t fre_prior_sums_dim(const fre_prior_sums *s)
{
    return s->dim;
}

uint64_t fre_prior_sums_rows(const fre_prior_sums *s)
{
    return s->rows;
}

fre_status fre_prior_sums_moments(fre_prior_sums *s, double *mean, double *cov)
{
    const size_t d = s->dim;
    const double n = (double)s->rows;
    fre_status st = s->rows < 2 ? FRE_E_ARG : s->filled > 0 ? flush(s) : FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < d; i++) {
        mean[i] = s->first[i] / n;
        for (size_t j = i; j < d; j++)
            cov[i * d + j] = cov[j * d + i] =
                (s->second[i * d + j] - s->first[i] * s->first[j] / n) / (n - 1);
    }
    return st;
}

/* Sums of one text, told many times, leave some 1e-14 of its square. */
bool fre_prior_moments_vary(const double *mean, const double *cov, size_t stride, size_t n)
{
    double variance = 0, square = 0;

    for (size_t i = 0; i < n; i++) {
        variance += cov[i * stride + i];
        square += mean[i] * mean[i];
    }
    return variance > ROUNDING * square;
}

static fre_status decompose(fre_prior *p, fre_prior_sums *s, fre_err *err)
{
    const size_t d = s->dim;
    double *mean = malloc(d * sizeof *mean);
    double *cov = malloc(d * d * sizeof *cov), *vector = malloc(d * d * sizeof *vector);
    double *value = malloc(d * sizeof *value);
    double mean_value = 0;
    fre_status st = mean && cov && vector && value ? FRE_OK : FRE_E_NOMEM;

    if (st == FRE_OK)
        st = fre_prior_sums_moments(s, mean, cov);
    if (st == FRE_OK && !fre_prior_moments_vary(mean, cov, d, d))
        st = fre_fail(err, FRE_E_DATA,
                      "the embeddings do not vary: a prior needs texts of many kinds");
    if (st == FRE_OK)
        st = fre_eigen_symmetric(value, vector, cov, d);
    if (st != FRE_OK)
        goto out;
    for (size_t i = 0; i < d; i++)
        mean_value += value[i] / (double)d;
    for (size_t i = 0; i < d; i++) {
        p->mean[i] = (float)mean[i];
        p->value[i] = (float)fmax(value[i], PRIOR_SPREAD_MIN * mean_value);
    }
    for (size_t i = 0; i < d * d; i++)
        p->vector[i] = (float)vector[i];
out:
    free(mean);
    free(cov);
    free(vector);
    free(value);
    return st;
}

fre_status fre_prior_make(fre_prior **out, fre_prior_sums *s, const fre_model_info *embedder,
                          const char *source, fre_err *err)
{
    const uint32_t least = FRE_PRIOR_ROWS_MIN(s->dim);
    fre_prior *p;
    fre_status st;

    if (embedder->dim != s->dim || strlen(source) >= sizeof p->info.source)
        return fre_fail(err, FRE_E_ARG, "a prior's embedder or source is out of range");
    if (s->rows < least || s->rows > UINT32_MAX)
        return fre_fail(err, FRE_E_DATA,
                        "a prior of %u dimensions needs at least %u texts, and there are %llu",
                        s->dim, least, (unsigned long long)s->rows);
    p = prior_new(s->dim);
    st = p ? decompose(p, s, err) : FRE_E_NOMEM;
    if (st != FRE_OK) {
        fre_prior_free(p);
        return st == FRE_E_DATA ? st : fre_fail(err, st, "out of memory making a prior");
    }
    p->info.rows = (uint32_t)s->rows;
    fre_model_label(p->info.embedder, sizeof p->info.embedder, embedder->name);
    fre_hex(p->info.embedder_hash, embedder->sha256, FRE_HASH_BYTES);
    fre_model_label(p->info.source, sizeof p->info.source, source);
    *out = p;
    return FRE_OK;
}

fre_status fre_prior_set_card(fre_prior *p, const fre_prior_card *card)
{
    return fre_prior_card_copy(&p->info.card, card);
}

#define OWN_PAIRS 6u
#define OWN_ENTRIES 3u

fre_status fre_prior_write(const fre_prior *p, FILE *f, fre_err *err)
{
    const fre_prior_info *i = &p->info;
    fre_tensors_pair pair[OWN_PAIRS + FRE_PRIOR_CARD_PAIRS] = {
        {.key = "general.name", .text = "prior of embeddings of public text"},
        {.key = PRIOR_KEY("embedding_length"), .number = i->dim},
        {.key = PRIOR_KEY("rows"), .number = i->rows},
        {.key = PRIOR_KEY("embedding_model"), .text = i->embedder},
        {.key = PRIOR_KEY("embedding_model_sha256"), .text = i->embedder_hash},
        {.key = PRIOR_KEY("source"), .text = i->source},
    };
    fre_tensors_entry entry[OWN_ENTRIES + 1] = {
        {.name = "mean", .value = p->mean, .rows = 1, .cols = i->dim},
        {.name = "eigenvalues", .value = p->value, .rows = 1, .cols = i->dim},
        {.name = "eigenvectors", .value = p->vector, .rows = i->dim, .cols = i->dim},
    };
    size_t n_pairs = OWN_PAIRS, n_entries = OWN_ENTRIES;

    fre_prior_card_append(&i->card, pair, &n_pairs, entry, &n_entries);
    return fre_tensors_write(f, FRE_PRIOR_ARCHITECTURE, pair, n_pairs, entry, n_entries, err);
}
