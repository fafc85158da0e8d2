/* overlap.c - see fre/overlap.h. */
#include <fre/fold.h>
#include <fre/overlap.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A mark: bits of a hash, as many as two floats hold. */
#define MARK_BITS 48u
#define HALF_BITS 24u

struct fre_overlap_set {
    uint64_t *mark; /* sorted and distinct as far as `tidy` */
    size_t n, cap, tidy;
    bool is_sample; /* complete only up to its last mark */
    int8_t *coarse; /* a row; room for `coarse_cap` */
    size_t coarse_cap;
};

fre_status fre_overlap_set_new(fre_overlap_set **out)
{
    fre_overlap_set *s = calloc(1, sizeof *s);

    if (!s)
        return FRE_E_NOMEM;
    *out = s;
    return FRE_OK;
}

void fre_overlap_set_free(fre_overlap_set *s)
{
    if (!s)
        return;
    if (s->mark)
        fre_wipe(s->mark, s->cap * sizeof *s->mark);
    if (s->coarse)
        fre_wipe(s->coarse, s->coarse_cap);
    free(s->mark);
    free(s->coarse);
    free(s);
}

static int by_mark(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void tidy(fre_overlap_set *s)
{
    size_t n = 0;

    if (s->tidy == s->n)
        return;
    qsort(s->mark, s->n, sizeof *s->mark, by_mark);
    for (size_t i = 0; i < s->n; i++)
        if (n == 0 || s->mark[n - 1] != s->mark[i])
            s->mark[n++] = s->mark[i];
    s->n = s->tidy = n;
}

/* Twice the room, where what is there is not mostly repetition. */
static fre_status make_room(fre_overlap_set *s)
{
    const size_t cap = s->cap ? 2 * s->cap : 1024;
    uint64_t *p;

    if (s->n < s->cap)
        return FRE_OK;
    tidy(s);
    if (s->n < s->cap / 2)
        return FRE_OK;
    p = calloc(cap, sizeof *p); /* not realloc, which would leave marks behind */
    if (!p)
        return FRE_E_NOMEM;
    if (s->mark) {
        memcpy(p, s->mark, s->n * sizeof *p);
        fre_wipe(s->mark, s->cap * sizeof *p);
        free(s->mark);
    }
    s->mark = p;
    s->cap = cap;
    return FRE_OK;
}

static fre_status add_bytes(fre_overlap_set *s, const void *p, size_t n)
{
    static const uint8_t key[32] = "fre-e2t overlap 1"; /* public: sketches lie in files */
    uint8_t sum[16];
    uint64_t mark = 0;
    fre_status st = make_room(s);

    if (st != FRE_OK)
        return st;
    fre_hash128(sum, key, p, n);
    for (size_t i = 0; i < MARK_BITS / 8; i++)
        mark = mark << 8 | sum[i];
    s->mark[s->n++] = mark;
    return FRE_OK;
}

fre_status fre_overlap_add_text(fre_overlap_set *s, const char *text, size_t len)
{
    char *words = NULL;
    size_t n;
    fre_status st = fre_fold_words(&words, text, len);

    if (st != FRE_OK)
        return st;
    n = strlen(words);
    st = n ? add_bytes(s, words, n) : add_bytes(s, text, len);
    fre_wipe(words, n);
    free(words);
    return st;
}

/* A byte a coordinate, in units of the largest: what an index of a public corpus keeps as well. */
static void quantise(int8_t *q, const float *x, size_t dim)
{
    float top = 0;

    for (size_t i = 0; i < dim; i++)
        top = fmaxf(top, fabsf(x[i]));
    for (size_t i = 0; i < dim; i++)
        q[i] = top > 0 && isfinite(x[i]) ? (int8_t)lrintf(x[i] / (top / 127.0F)) : 0;
}

fre_status fre_overlap_add_row(fre_overlap_set *s, const float *row, size_t dim)
{
    if (s->coarse_cap < dim) {
        int8_t *p = malloc(dim);

        if (!p)
            return FRE_E_NOMEM;
        free(s->coarse);
        s->coarse = p;
        s->coarse_cap = dim;
    }
    quantise(s->coarse, row, dim);
    return add_bytes(s, s->coarse, dim);
}

fre_status fre_overlap_add_corpus(fre_overlap_set *s, fre_corpus *corpus, fre_err *err)
{
    fre_record rec;
    bool more = true;
    fre_status st = FRE_OK;

    while (st == FRE_OK) {
        st = fre_corpus_next(corpus, &more, &rec, err);
        if (st != FRE_OK || !more)
            break;
        st = fre_overlap_add_text(s, rec.text, rec.text_len);
        if (st != FRE_OK)
            st = fre_fail(err, st, "out of memory while comparing texts");
    }
    return st;
}

fre_status fre_overlap_sketch(fre_overlap_set *s, float **out, size_t *n)
{
    const uint64_t half = ((uint64_t)1 << HALF_BITS) - 1;
    size_t kept;
    float *x;

    tidy(s);
    kept = s->n < FRE_OVERLAP_SKETCH_MAX ? s->n : FRE_OVERLAP_SKETCH_MAX;
    x = calloc(kept + 1, 2 * sizeof *x);
    if (!x)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < kept; i++) {
        x[2 * i] = (float)(s->mark[i] >> HALF_BITS);
        x[2 * i + 1] = (float)(s->mark[i] & half);
    }
    *out = x;
    *n = kept;
    return FRE_OK;
}

static bool is_half(float x)
{
    return x >= 0 && x < (float)((uint32_t)1 << HALF_BITS) && !(x > floorf(x));
}

fre_status fre_overlap_set_of_sketch(fre_overlap_set **out, const float *x, size_t n)
{
    fre_overlap_set *s = NULL;
    fre_status st = n > FRE_OVERLAP_SKETCH_MAX ? FRE_E_DATA : fre_overlap_set_new(&s);

    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        if (!is_half(x[2 * i]) || !is_half(x[2 * i + 1]))
            st = FRE_E_DATA;
        else
            st = make_room(s);
        if (st == FRE_OK)
            s->mark[s->n++] = (uint64_t)x[2 * i] << HALF_BITS | (uint64_t)x[2 * i + 1];
    }
    if (st != FRE_OK) {
        fre_overlap_set_free(s);
        return st;
    }
    tidy(s);
    s->is_sample = n == FRE_OVERLAP_SKETCH_MAX;
    *out = s;
    return FRE_OK;
}

/* Marks up to here are complete in s. */
static uint64_t complete_to(const fre_overlap_set *s)
{
    return s->is_sample && s->n ? s->mark[s->n - 1] : UINT64_MAX;
}

static uint64_t both_complete_to(const fre_overlap_set *a, const fre_overlap_set *b)
{
    return complete_to(a) < complete_to(b) ? complete_to(a) : complete_to(b);
}

fre_status fre_overlap_set_of_both(fre_overlap_set **out, fre_overlap_set *a, fre_overlap_set *b)
{
    fre_overlap_set *s = NULL;
    fre_status st = fre_overlap_set_new(&s);
    uint64_t end;

    if (st != FRE_OK)
        return st;
    tidy(a);
    tidy(b);
    s->mark = calloc(a->n + b->n + 1, sizeof *s->mark);
    if (!s->mark) {
        fre_overlap_set_free(s);
        return FRE_E_NOMEM;
    }
    s->cap = a->n + b->n + 1;
    s->n = a->n + b->n;
    if (a->n > 0)
        memcpy(s->mark, a->mark, a->n * sizeof *s->mark);
    if (b->n > 0)
        memcpy(s->mark + a->n, b->mark, b->n * sizeof *s->mark);
    tidy(s);
    end = both_complete_to(a, b);
    while (s->n > 0 && s->mark[s->n - 1] > end)
        s->n--;
    s->is_sample = a->is_sample || b->is_sample || s->n >= FRE_OVERLAP_SKETCH_MAX;
    s->n = s->n < FRE_OVERLAP_SKETCH_MAX ? s->n : FRE_OVERLAP_SKETCH_MAX;
    s->tidy = s->n;
    *out = s;
    return FRE_OK;
}

fre_status fre_overlap_compare(fre_overlap *out, fre_overlap_set *a, fre_overlap_set *b)
{
    fre_overlap o = {0};
    uint64_t end;

    if (!out || !a || !b)
        return FRE_E_ARG;
    tidy(a);
    tidy(b);
    end = both_complete_to(a, b);
    for (size_t i = 0, j = 0;;) {
        const bool in_a = i < a->n && a->mark[i] <= end, in_b = j < b->n && b->mark[j] <= end;
        const uint64_t x = in_a ? a->mark[i] : UINT64_MAX, y = in_b ? b->mark[j] : UINT64_MAX;

        if (!in_a && !in_b)
            break;
        o.both += x == y;
        i += x <= y;
        j += y <= x;
        o.of_public = i;
        o.of_private = j;
    }
    *out = o;
    return FRE_OK;
}

bool fre_overlap_is_too_much(const fre_overlap *o)
{
    const size_t smaller = o->of_public < o->of_private ? o->of_public : o->of_private;
    const double both = (double)o->both;

    return (o->both >= FRE_OVERLAP_LEAST && both >= FRE_OVERLAP_SHARE * (double)smaller) ||
           (o->both > 0 && both >= FRE_OVERLAP_PUBLIC * (double)o->of_public);
}

fre_status fre_overlap_check(const char *what, const char *name, fre_overlap_set *public_set,
                        fre_overlap_set *private_set, fre_err *err)
{
    fre_overlap o;
    fre_status st = fre_overlap_compare(&o, public_set, private_set);

    if (st != FRE_OK)
        return fre_fail(err, st, "the input cannot be compared with %s %.300s", what, name);
    if (!fre_overlap_is_too_much(&o))
        return FRE_OK;
    return fre_fail(err, FRE_E_REFUSED,
                    "%s %.200s was not made without the input: of the %zu and %zu different texts "
                    "compared, %zu are the same.  What it holds can come out past all noise, so it "
                    "must be public and independent of the private texts: give another or none",
                    what, name, o.of_public, o.of_private, o.both);
}
