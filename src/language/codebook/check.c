/* What no codebook can be. */
#include "codebook_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row and its hash, for finding equal rows. */
typedef struct seen {
    uint64_t hash;
    uint32_t at;
} seen;

/* FNV-1a over the bits of its numbers; -0 counts as 0. */
static uint64_t hash_row(const float *x, size_t d)
{
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < d; i++) {
        const float value = x[i] + 0.0f;
        uint32_t bits;

        memcpy(&bits, &value, sizeof bits);
        h = (h ^ bits) * 1099511628211u;
    }
    return h;
}

static int by_hash(const void *a, const void *b)
{
    const seen *x = a, *y = b;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static bool are_equal(const float *x, const float *y, size_t d)
{
    for (size_t i = 0; i < d; i++)
        if (x[i] < y[i] || x[i] > y[i])
            return false;
    return true;
}

/* FRE_E_NOMEM; *first < *second < n if two rows are equal, else *second is 0. */
static fre_status find_equal(uint32_t *first, uint32_t *second, const float *x, uint32_t n,
                             size_t d)
{
    seen *s = malloc(n * sizeof *s);

    if (!s)
        return FRE_E_NOMEM;
    for (uint32_t i = 0; i < n; i++)
        s[i] = (seen){hash_row(x + (size_t)i * d, d), i};
    qsort(s, n, sizeof *s, by_hash);
    *first = *second = 0;
    for (uint32_t i = 0; i + 1 < n && *second == 0; i++)
        for (uint32_t j = i + 1; j < n && s[j].hash == s[i].hash; j++)
            if (are_equal(x + (size_t)s[i].at * d, x + (size_t)s[j].at * d, d)) {
                *first = s[i].at;
                *second = s[j].at;
                break;
            }
    free(s);
    return FRE_OK;
}

/* what: "centre" or "code". */
static fre_status check_rows(const float *x, uint32_t n, size_t d, const char *what, fre_err *err)
{
    uint32_t first, second;
    fre_status st;

    for (uint32_t i = 0; i < n; i++) {
        if (!fre_is_finite_row(x + (size_t)i * d, d))
            return fre_fail(err, FRE_E_DATA, "%s %u of a codebook is not finite", what, i);
    }
    st = find_equal(&first, &second, x, n, d);
    if (st != FRE_OK)
        return fre_fail(err, st, "out of memory checking a codebook");
    if (second > 0)
        return fre_fail(err, FRE_E_DATA, "%ss %u and %u of a codebook are the same", what, first,
                        second);
    return FRE_OK;
}

static fre_status check_base(const fre_codebook_base *b, size_t d, fre_err *err)
{
    uint64_t all = 0;

    if (b->centres == 0 || b->centres > FRE_CODEBOOK_CENTRES_MAX)
        return fre_fail(err, FRE_E_DATA, "a codebook has 1 to %u centres a level, and this has %u",
                        FRE_CODEBOOK_CENTRES_MAX, b->centres);
    for (uint32_t g = 0; g < b->n_groups; g++) {
        all += b->group[g];
        if (b->group[g] == 0)
            return fre_fail(err, FRE_E_DATA, "group %u of a codebook's centres is empty", g);
    }
    if (all != b->centres)
        return fre_fail(err, FRE_E_DATA,
                        "the groups of a codebook have %llu centres together where %u are there",
                        (unsigned long long)all, b->centres);
    for (uint32_t i = 0; i < b->centres; i++)
        if (fre_is_zero_row(b->centre + (size_t)i * d, d))
            return fre_fail(err, FRE_E_DATA, "centre %u of a codebook is zero", i);
    return check_rows(b->centre, b->centres, d, "centre", err);
}

/* NaN never is. */
static bool is_within(double x, double least)
{
    return x >= least && x <= CODEBOOK_NUMBER_MAX;
}

/* Falling, or not a distance.  Where one is known, all are. */
static bool are_quantiles(const double *q)
{
    double before = 0;

    for (size_t i = 0; i < FRE_CODEBOOK_QUANTILES; i++) {
        if (!is_within(q[i], before))
            return false;
        before = q[i];
    }
    return true;
}

static fre_status check_level(const fre_codebook_spec *s, const fre_codebook_parts *p, size_t i,
                              fre_err *err)
{
    if (s->base >= p->n_bases)
        return fre_fail(err, FRE_E_DATA, "level %zu of a codebook stands on no base", i + 1);
    if (s->codes == 0 || s->codes > FRE_CODEBOOK_CODES_MAX ||
        (uint64_t)s->codes * p->base[s->base].centres > FRE_CODEBOOK_CELLS_MAX)
        return fre_fail(err, FRE_E_DATA,
                        "level %zu of a codebook has no codes, more than %u, or more than %u cells",
                        i + 1, FRE_CODEBOOK_CODES_MAX, FRE_CODEBOOK_CELLS_MAX);
    if (s->empty > (uint64_t)s->codes * p->base[s->base].centres)
        return fre_fail(err, FRE_E_DATA, "level %zu of a codebook has more empty cells than cells",
                        i + 1);
    if (!is_within(s->radius, CODEBOOK_UNIT))
        return fre_fail(err, FRE_E_DATA,
                        "the radius of a codebook's level %zu must be above 0 and at most 1000",
                        i + 1);
    if (!is_within(s->gain, 1) || !is_within(s->spread, CODEBOOK_UNIT))
        return fre_fail(err, FRE_E_DATA,
                        "level %zu of a codebook has a gain below 1, a spread not above 0, or one "
                        "above 1000",
                        i + 1);
    if (!are_quantiles(s->quantile))
        return fre_fail(err, FRE_E_DATA,
                        "the quantiles of a codebook's level %zu fall, or are not within 0 to 1000",
                        i + 1);
    return s->codes > 1 ? check_rows(s->code, s->codes, p->dim, "code", err) : FRE_OK;
}

static uint64_t cells_of(const fre_codebook_parts *p, size_t i)
{
    return (uint64_t)p->level[i].codes * p->base[p->level[i].base].centres;
}

static fre_status check_medoids(const fre_codebook_parts *p, size_t i, fre_err *err)
{
    const uint32_t *medoid = p->level[i].medoid;

    for (uint64_t c = 0; medoid && c < cells_of(p, i); c++)
        if (medoid[c] != FRE_CODEBOOK_NO_MEDOID &&
            (medoid[c] >= p->text_bytes || (medoid[c] > 0 && p->text[medoid[c] - 1] != '\0')))
            return fre_fail(err, FRE_E_DATA,
                            "the medoid of cell %llu of a codebook's level %zu begins no sentence",
                            (unsigned long long)c, i + 1);
    return FRE_OK;
}

static fre_status check_order(const fre_codebook_parts *p, size_t i, fre_err *err)
{
    if (i == 0 || cells_of(p, i) < cells_of(p, i - 1))
        return FRE_OK;
    return fre_fail(
        err, FRE_E_DATA,
        "levels of a codebook go from fine to coarse, each with fewer cells than the one "
        "before, and level %zu has %llu after %llu",
        i + 1, (unsigned long long)cells_of(p, i), (unsigned long long)cells_of(p, i - 1));
}

#define UNIT_SLACK 1e-3 /* of a direction's norm, which float32 keeps to 1e-6 */

static fre_status check_within(const fre_codebook_parts *p, fre_err *err)
{
    const size_t d = p->dim;

    for (size_t k = 0; k < d; k++)
        if (!(fabs(fre_norm(p->direction + k * d, d) - 1) <= UNIT_SLACK))
            return fre_fail(err, FRE_E_DATA, "direction %zu of a codebook has not length 1", k);
    for (size_t i = 0; i < p->n_levels * d; i++)
        if (!(p->variance[i] > 0) || !isfinite(p->variance[i]))
            return fre_fail(err, FRE_E_DATA, "a variance of a codebook's level %zu is not above 0",
                            i / d + 1);
    return FRE_OK;
}

bool codebook_is_plain(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)text[i];

        if (c != '\0' && (c < 0x20 || c == 0x7f))
            return false;
    }
    return fre_model_utf8(text, n) == n;
}

static fre_status check_text(const fre_codebook_parts *p, fre_err *err)
{
    if (p->text_bytes > 0 && !codebook_is_plain(p->text, p->text_bytes))
        return fre_fail(err, FRE_E_DATA,
                        "a sentence of a codebook is no UTF-8 or holds a control character");
    if (p->text_bytes > 0 && p->text[p->text_bytes - 1] != '\0')
        return fre_fail(err, FRE_E_DATA, "the last sentence of a codebook has no end");
    return FRE_OK;
}

fre_status codebook_check(const fre_codebook_parts *p, fre_err *err)
{
    fre_status st = FRE_OK;

    if (p->dim == 0 || p->dim > CODEBOOK_DIM_MAX || p->n_bases == 0 ||
        p->n_bases > FRE_CODEBOOK_BASES_MAX || p->n_levels == 0 ||
        p->n_levels > FRE_CODEBOOK_LEVELS_MAX || p->probes == 0 ||
        p->probes > FRE_GROUPS_PROBES_MAX)
        return fre_fail(
            err, FRE_E_DATA,
            "a codebook has a dimension of 1 to %u, 1 to %u levels, and looks into 1 to "
            "%u groups",
            CODEBOOK_DIM_MAX, FRE_CODEBOOK_LEVELS_MAX, FRE_GROUPS_PROBES_MAX);
    st = check_text(p, err);
    for (size_t i = 0; i < p->n_bases && st == FRE_OK; i++)
        st = check_base(&p->base[i], p->dim, err);
    if (st == FRE_OK && p->direction)
        st = check_within(p, err);
    for (size_t i = 0; i < p->n_levels && st == FRE_OK; i++) {
        st = check_level(&p->level[i], p, i, err);
        if (st == FRE_OK)
            st = check_order(p, i, err);
        if (st == FRE_OK)
            st = check_medoids(p, i, err);
    }
    return st;
}
