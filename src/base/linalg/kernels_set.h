/* kernels_set.h - the inner loops for one instruction set; kernels.c includes this once for each.
 *
 *   SET     its name             WIDTH   floats in one of its registers (a divisor of 16)
 *   TARGET  its attribute        ROWS    rows of a tile: as many as leave registers for the column
 *
 * The sixteen lanes of a sum are cut into registers of WIDTH; which register holds a lane changes
 * nothing in what is added to it, so all sets give the same bits. */
#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(f) JOIN(f, SET)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

#define PARTS (LANES / WIDTH)
#define HALF (WIDTH / 2)
#define PARTS_D (LANES / HALF)

typedef float NAME(reg) __attribute__((vector_size(4 * WIDTH)));
typedef float NAME(half) __attribute__((vector_size(4 * HALF)));
typedef double NAME(reg_d) __attribute__((vector_size(8 * HALF)));

/* Adds sixteen terms, products or squared differences, to their lanes. */
TARGET INLINE void NAME(add_terms)(NAME(reg_d) * sum, const float *x, const float *y,
                                   const bool differences)
{
#pragma GCC unroll 16
    for (size_t p = 0; p < PARTS_D; p++) {
        NAME(half) a, b;
        NAME(reg_d) u, v;

        memcpy(&a, x + p * HALF, sizeof a);
        memcpy(&b, y + p * HALF, sizeof b);
        u = __builtin_convertvector(a, NAME(reg_d));
        v = __builtin_convertvector(b, NAME(reg_d));
        if (differences) {
            u -= v;
            v = u;
        }
        sum[p] += u * v;
    }
}

TARGET INLINE double NAME(sum_terms)(const float *x, const float *y, size_t n,
                                     const bool differences)
{
    NAME(reg_d) sum[PARTS_D] = {{0}};
    double lanes[LANES];
    size_t at = 0;

    for (; n - at >= LANES; at += LANES)
        NAME(add_terms)(sum, x + at, y + at, differences);
    if (at < n) { /* the lanes beyond the end add zeros */
        float a[LANES] = {0}, b[LANES] = {0};

        memcpy(a, x + at, (n - at) * sizeof *x);
        memcpy(b, y + at, (n - at) * sizeof *y);
        NAME(add_terms)(sum, a, b, differences);
    }
    memcpy(lanes, sum, sizeof lanes);
    return add_lanes(lanes);
}

TARGET static double NAME(dot)(const float *x, const float *y, size_t n)
{
    return NAME(sum_terms)(x, y, n, false);
}

TARGET static double NAME(dist2)(const float *x, const float *y, size_t n)
{
    return NAME(sum_terms)(x, y, n, true);
}

TARGET static void NAME(tile)(float *out, const float *const *a, const float *panel, size_t d)
{
    NAME(reg) total[ROWS][PARTS];

    memset(total, 0, sizeof total);
    for (size_t from = 0; from < d; from += FRE_SUM_BLOCK) {
        size_t to = d - from < FRE_SUM_BLOCK ? d : from + FRE_SUM_BLOCK;
        NAME(reg) sum[ROWS][PARTS];

#pragma GCC unroll 12
        for (size_t i = 0; i < ROWS; i++) {
#pragma GCC unroll 4
            for (size_t p = 0; p < PARTS; p++)
                sum[i][p] = (NAME(reg)){0};
        }
        for (size_t k = from; k < to; k++) {
            NAME(reg) column[PARTS];

            /* One copy a register: a single one would go through the stack. */
#pragma GCC unroll 4
            for (size_t p = 0; p < PARTS; p++)
                memcpy(&column[p], panel + k * LANES + p * WIDTH, sizeof column[p]);
#pragma GCC unroll 12
            for (size_t i = 0; i < ROWS; i++) {
#pragma GCC unroll 4
                for (size_t p = 0; p < PARTS; p++)
                    sum[i][p] += a[i][k] * column[p];
            }
        }
#pragma GCC unroll 12
        for (size_t i = 0; i < ROWS; i++) {
#pragma GCC unroll 4
            for (size_t p = 0; p < PARTS; p++)
                total[i][p] += sum[i][p];
        }
    }
    memcpy(out, total, sizeof total);
}

static const fre_kernels NAME(kernels) = {TEXT(SET), NAME(dot), NAME(dist2), NAME(tile), ROWS};

#undef JOIN_
#undef JOIN
#undef NAME
#undef TEXT_
#undef TEXT
#undef PARTS
#undef HALF
#undef PARTS_D
#undef SET
#undef TARGET
#undef WIDTH
#undef ROWS
