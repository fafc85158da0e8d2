/* median.c - splits: the point with the least sum of distances to three others [Minsker 2015, sec. 2].
 *
 * Points A, B, C with u = B - A, v = C - A lie in a plane.  With S twice the triangle's area and
 * s_X = |edge||edge| cos X at each corner, that point has the barycentric coordinates 1/f_X,
 * f_X = sqrt(3) s_X + S, unless an f is not positive: then the angle there is 120 degrees or more, and the
 * point is that corner (the Fermat point of a triangle). */
#include "sharing_private.h"

#include <math.h>

typedef struct products {
    double uu, uv, vv;
} products;

static products multiply(const float *a, const float *b, const float *c, uint32_t dim)
{
    products p = {0};

    for (uint32_t i = 0; i < dim; i++) {
        const double u = (double)b[i] - (double)a[i], v = (double)c[i] - (double)a[i];

        p.uu += u * u;
        p.uv += u * v;
        p.vv += v * v;
    }
    return p;
}

/* Weights of the corners, which add up to 1. */
static void weigh_corners(double weight[3], const products *p)
{
    const double area2 = sqrt(fmax(0, p->uu * p->vv - p->uv * p->uv)), root = sqrt(3);
    const double f[3] = {root * p->uv + area2, root * (p->uu - p->uv) + area2,
                         root * (p->vv - p->uv) + area2};
    double all = 0;

    for (unsigned k = 0; k < 3; k++)
        weight[k] = 0;
    for (unsigned k = 0; k < 3; k++)
        if (!(f[k] > 0)) {
            weight[k] = 1;
            return;
        }
    for (unsigned k = 0; k < 3; k++)
        all += weight[k] = f[(k + 1) % 3] * f[(k + 2) % 3];
    for (unsigned k = 0; k < 3; k++)
        weight[k] /= all;
}

/* A is at an end of the shortest edge: from one that is far away, the other two would be one point. */
static void weigh(double weight[3], const float *centroid, uint32_t dim)
{
    const float *a = centroid, *b = a + dim, *c = b + dim;
    const products p = multiply(a, b, c, dim), q = multiply(b, c, a, dim);
    const bool first = p.uu <= q.uu || p.vv <= q.uu; /* q.uu: of the edge without A */
    double w[3];

    weigh_corners(w, first ? &p : &q);
    for (unsigned k = 0; k < 3; k++)
        weight[first ? k : (k + 1) % 3] = w[k];
}

void fre_share_median(float *out, const float *centroid, size_t n, uint32_t dim)
{
    double weight[3] = {1, 0, 0};

    if (n == 2)
        weight[0] = weight[1] = 0.5;
    if (n == 3)
        weigh(weight, centroid, dim);
    for (uint32_t i = 0; i < dim; i++) {
        double x = 0;

        for (size_t k = 0; k < n; k++)
            x += weight[k] * (double)centroid[k * dim + i];
        out[i] = (float)x;
    }
}
