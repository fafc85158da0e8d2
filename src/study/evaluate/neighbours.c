/* evaluate/neighbours.c - how many originals lie near each, [Fre-E2T, sec. "semantic support"]: all pairs of
 * rows by blocks of float products, counted exactly. */
#include <fre/evaluate.h>

#include <fre/linalg.h>

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 512u
/* Rows of at least twice as many numbers are looked at by so many first: what is apart in them is apart. */
#define PREFIX 128u
/* More pairs of a block than one in so many that are not sorted out so: the block goes the long way. */
#define SURVIVE_ONE_IN 16u
#define LANES 16u /* pairs that are ruled out together */

/* Rows, or the first numbers of them. */
typedef struct view {
    const float *x;
    float *own; /* what x shows, where it is a copy */
    size_t d;
    double *half; /* ||x_i||^2/2 - r^2/4: x_i and x_j are within r iff <x_i,x_j> >= half_i+half_j */
    float *in_float;         /* half */
    double *length;          /* ||x_i|| */
    double longest, largest; /* of the lengths; of the halves' sizes */
    double rounding;         /* |float product - product| <= rounding * ||x_i|| ||x_j|| */
} view;

typedef struct count_job {
    const fre_originals *o;
    double radius;
    view whole, prefix;      /* prefix.x NULL: there is none */
    _Atomic uint64_t *found; /* originals near a row so far */
    size_t first; /* row block of this sweep; job b pairs it with the b-th block from there on */
} count_job;

static size_t block_end(const fre_originals *o, size_t from)
{
    return o->n - from < BLOCK ? o->n : from + BLOCK;
}

/* What <x_i,x_j> - half_j is at least where the two are within r, less what floats may be wrong by: the
 * product, half_j and the difference. */
static double least_of(const view *v, size_t i)
{
    const double lengths = v->length[i] * v->longest, size = fabs(v->half[i]) + v->largest;

    if (!(lengths < 1e30) || !(size < 1e30))
        return -(double)INFINITY;
    return v->half[i] - v->rounding * lengths - 0x1p-21 * (size + lengths) - 0x1p-120;
}

/* None of sixteen pairs is near: <x_i,x_j> - half_j is below `least` for all of them. */
static bool rules_out(const float *product, const float *half, double least)
{
    float most[LANES];

    for (size_t j = 0; j < LANES; j++)
        most[j] = product[j] - half[j];
    for (size_t n = LANES / 2; n > 0; n /= 2)
        for (size_t j = 0; j < n; j++)
            most[j] = most[j] > most[j + n] ? most[j] : most[j + n];
    return (double)most[0] < least;
}

/* The first j of `from` to `end` whose pair floats do not rule out; end: there is none.  product: that of
 * row `from`, and on. */
static size_t next_pair(const view *v, size_t from, size_t end, const float *product, double least)
{
    size_t j = from;

    while (j < end) {
        const size_t stop = end - j < LANES ? end : j + LANES;

        if (stop - j == LANES && rules_out(product + (j - from), v->in_float + j, least)) {
            j = stop;
            continue;
        }
        for (; j < stop; j++)
            if (!((double)(product[j - from] - v->in_float[j]) < least))
                return j;
    }
    return end;
}

/* Lengths whose product floats cannot hold decide nothing. */
static double slack_of(const view *v, size_t i, size_t j)
{
    const double lengths = v->length[i] * v->length[j];

    return lengths < 1e30 ? v->rounding * lengths : (double)INFINITY;
}

static double gap_of(const view *v, size_t i, size_t j, float product)
{
    return (double)product - (v->half[i] + v->half[j]);
}

static bool is_within(const count_job *c, size_t i, size_t j)
{
    const size_t d = c->o->d;

    return sqrt(fre_dist2(c->o->x + i * d, c->o->x + j * d, d)) <= c->radius;
}

static bool is_near(const count_job *c, size_t i, size_t j, float product)
{
    const double gap = gap_of(&c->whole, i, j, product), slack = slack_of(&c->whole, i, j);

    if (gap > slack)
        return true;
    return gap >= -slack && is_within(c, i, j);
}

/* Saturating, so that no sum of weights can wrap. */
static void add(_Atomic uint64_t *found, uint64_t weight)
{
    uint64_t old = atomic_load_explicit(found, memory_order_relaxed), sum;

    do
        sum = weight < UINT64_MAX - old ? old + weight : UINT64_MAX;
    while (!atomic_compare_exchange_weak_explicit(found, &old, sum, memory_order_relaxed,
                                                  memory_order_relaxed));
}

/* Two blocks of rows; a block with itself gives each pair once. */
typedef struct blocks {
    size_t i0, i1, j0, j1;
} blocks;

static size_t first_of(const blocks *b, size_t i)
{
    return b->i0 == b->j0 ? i + 1 : b->j0;
}

static void note(const count_job *c, size_t i, size_t j)
{
    add(&c->found[i], c->o->weight[j]);
    add(&c->found[j], c->o->weight[i]);
}

static fre_status multiply(float *product, const view *v, const blocks *b)
{
    return fre_products(product, v->x + b->i0 * v->d, b->i1 - b->i0, v->x + b->j0 * v->d,
                        b->j1 - b->j0, v->d, 1);
}

static fre_status count_whole(const count_job *c, const blocks *b, float *product)
{
    const size_t width = b->j1 - b->j0;
    const fre_status st = multiply(product, &c->whole, b);

    for (size_t i = b->i0; st == FRE_OK && i < b->i1; i++) {
        const float *row = product + (i - b->i0) * width;
        const double least = least_of(&c->whole, i);

        for (size_t j = first_of(b, i); j < b->j1; j++) {
            j = next_pair(&c->whole, j, b->j1, row + (j - b->j0), least);
            if (j < b->j1 && is_near(c, i, j, row[j - b->j0]))
                note(c, i, j);
        }
    }
    return st;
}

/* How many pairs the first numbers leave; the places of as many as there is room for. */
static size_t survivors(uint32_t *place, size_t room, const view *v, const blocks *b,
                        const float *product)
{
    const size_t width = b->j1 - b->j0;
    size_t n = 0;

    for (size_t i = b->i0; i < b->i1 && n <= room; i++) {
        const size_t row = (i - b->i0) * width;
        const double least = least_of(v, i);

        for (size_t j = first_of(b, i); j < b->j1; j++) {
            j = next_pair(v, j, b->j1, product + row + (j - b->j0), least);
            if (j == b->j1)
                break;
            if (n < room)
                place[n] = (uint32_t)(row + (j - b->j0));
            n++;
        }
    }
    return n;
}

/* Integers are added in any order: the outcome is the same whatever the threads. */
static fre_status count_block(void *ctx, uint64_t index)
{
    const count_job *c = ctx;
    const size_t j0 = c->first + (size_t)index * BLOCK;
    const blocks b = {c->first, block_end(c->o, c->first), j0, block_end(c->o, j0)};
    const size_t width = b.j1 - b.j0, pairs = (b.i1 - b.i0) * width, room = pairs / SURVIVE_ONE_IN;
    float *product = malloc(pairs * sizeof *product);
    uint32_t *place = malloc((room + 1) * sizeof *place);
    fre_status st = product && place ? FRE_OK : FRE_E_NOMEM;
    size_t n = room + 1;

    if (st == FRE_OK && c->prefix.x) {
        st = multiply(product, &c->prefix, &b);
        n = st == FRE_OK ? survivors(place, room, &c->prefix, &b, product) : 0;
    }
    if (st == FRE_OK && n > room)
        st = count_whole(c, &b, product);
    else
        for (size_t k = 0; k < n && st == FRE_OK; k++)
            if (is_within(c, b.i0 + place[k] / width, b.j0 + place[k] % width))
                note(c, b.i0 + place[k] / width, b.j0 + place[k] % width);
    free(product);
    free(place);
    return st;
}

static void view_free(view *v)
{
    free(v->own);
    free(v->half);
    free(v->in_float);
    free(v->length);
}

/* Of n rows of x, d numbers apart, the first v->d. */
static fre_status view_make(view *v, const float *x, size_t n, size_t d, double radius)
{
    v->half = calloc(n, sizeof *v->half);
    v->in_float = calloc(n, sizeof *v->in_float);
    v->length = calloc(n, sizeof *v->length);
    if (v->d < d)
        v->own = malloc(n * v->d * sizeof *v->own);
    if (!v->half || !v->in_float || !v->length || (v->d < d && !v->own))
        return FRE_E_NOMEM;
    /* Twice the textbook gamma_d = d u / (1 - d u), u = 2^-24 (Higham 2002, sec. 3.1). */
    v->rounding = 2.0 * ((double)v->d + 8.0) * 0x1p-24;
    for (size_t i = 0; i < n; i++) {
        const double norm = fre_norm(x + i * d, v->d);

        if (v->own)
            memcpy(v->own + i * v->d, x + i * d, v->d * sizeof *x);
        v->length[i] = norm;
        v->half[i] = norm * norm / 2.0 - radius * radius / 4.0;
        v->in_float[i] = (float)v->half[i];
        v->longest = fmax(v->longest, norm);
        v->largest = fmax(v->largest, fabs(v->half[i]));
    }
    v->x = v->own ? v->own : x;
    return FRE_OK;
}

static fre_status prepare(count_job *c)
{
    const fre_originals *o = c->o;
    fre_status st;

    c->found = calloc(o->n, sizeof *c->found);
    if (!c->found)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < o->n; i++)
        atomic_init(&c->found[i], o->weight[i]);
    c->whole.d = o->d;
    c->prefix.d = PREFIX;
    st = view_make(&c->whole, o->x, o->n, o->d, c->radius);
    if (st == FRE_OK && o->d >= 2 * PREFIX)
        st = view_make(&c->prefix, o->x, o->n, o->d, c->radius);
    return st;
}

fre_status fre_evaluate_neighbours(uint64_t *neighbours, const fre_originals *o, double radius,
                                   uint32_t threads, const fre_progress *progress)
{
    count_job c = {.o = o, .radius = radius};
    fre_status st;

    if (!neighbours || !o || o->d == 0 || !isfinite(radius) || radius <= 0.0 || threads == 0)
        return FRE_E_ARG;
    if (o->n == 0)
        return FRE_OK;
    st = prepare(&c);
    for (c.first = 0; st == FRE_OK && c.first < o->n; c.first += BLOCK) {
        if (fre_interrupted())
            st = FRE_E_INTERRUPTED;
        else
            st = fre_parallel(threads, (o->n - c.first + BLOCK - 1) / BLOCK, count_block, &c);
        /* The work left shrinks as the square of the rows left. */
        fre_progress_update(progress, "counting neighbours",
                            (uint64_t)block_end(o, c.first) * (2 * o->n - block_end(o, c.first)),
                            (uint64_t)o->n * o->n);
    }
    for (size_t i = 0; st == FRE_OK && i < o->n; i++)
        neighbours[i] = atomic_load(&c.found[i]);
    view_free(&c.whole);
    if (c.prefix.own)
        fre_wipe(c.prefix.own, o->n * c.prefix.d * sizeof *c.prefix.own);
    view_free(&c.prefix);
    free(c.found);
    return st;
}
