/* The joint accountant: delta(eps) = p [ sup_n heavy(n) + far(split) + padding ] (docs/privacy.md). */
#include <math.h>

#include "compose.h"
#include "joint.h"
#include "privacy_private.h"

static double part(double weight, double chance)
{
    return weight * chance * (1 + FRE_PRIVACY_MARGIN) + FRE_PRIVACY_TINY;
}

/* Parts 1 and 2 at the amplified epsilon. */
typedef struct parts {
    double heavy, far;
    double n; /* where heavy is largest */
} parts;

static parts parts_at(const fre_mechanism *m, const fre_joint_step *s, double split,
                      fre_joint_place *at)
{
    parts out = {.heavy = 1, .n = fre_joint_tau(m) - 1};
    fre_joint_noise noise;
    fre_curve curve;
    fre_heavy h;

    if (m->p32 >= FRE_P_ONE)
        return out; /* the count itself tells: G = 1 at c = n + 1 */
    fre_joint_noise_init(&noise, m, split);
    fre_joint_heavy(&h, &curve, &noise, s, split, FRE_CURVE_NODES);
    out.n = at->n;
    out.heavy = fre_heavy_supremum(&h, &out.n);
    if (m->sensitivity == FRE_SENSITIVITY_PROBABILISTIC)
        out.far = fre_far_supremum(&noise, s, &h, out.heavy, split, at);
    out.far = fmin(out.far, fmax(0, 1 - out.heavy)); /* a probability together */
    return out;
}

static void account_at(fre_account *out, const fre_mechanism *m, const fre_joint_step *s,
                       double epsilon, double split, fre_joint_place *at)
{
    parts b = parts_at(m, s, split, at);
    double slips = fre_joint_rounding_slip(m, split) + fre_joint_table_gap(m, s), total;
    double far = s->scale * b.far + slips;

    out->epsilon = epsilon;
    out->split = split;
    out->worst_cell = (uint64_t)b.n;
    out->by_pld = false;
    out->delta_released = part(s->weight, s->excess + s->scale * b.heavy);
    out->delta_far = far > 0 ? part(s->weight, far) : 0;
    out->delta_unreleased =
        m->dist.on ? part(s->weight, s->scale * fre_joint_padding(&m->dist, s->eps)) : 0;
    total = out->delta_released + out->delta_far + out->delta_unreleased;
    if (total > 1) { /* the parts still add up */
        out->delta_released /= total;
        out->delta_unreleased /= total;
        out->delta_far = 1 - out->delta_released - out->delta_unreleased;
        total = 1;
    }
    out->delta = total;
}

/* By basic composition. */
static fre_status basic(fre_account *out, const fre_mechanism *m, double epsilon, double split,
                        fre_err *err)
{
    fre_joint_place at = FRE_JOINT_NOWHERE;
    fre_joint_step s;
    fre_status st;

    if ((st = fre_joint_check(m, err)) != FRE_OK ||
        (st = fre_param_check(&fre_param_epsilon, epsilon, err)) != FRE_OK)
        return st;
    if (m->sensitivity == FRE_SENSITIVITY_WORST_CASE)
        split = fre_joint_diameter(m);
    if ((st = fre_param_check(&fre_param_split, split, err)) != FRE_OK)
        return st;
    st = fre_joint_step_of(&s, m, epsilon, err);
    if (st == FRE_OK)
        account_at(out, m, &s, epsilon, split, &at);
    return st;
}

fre_status fre_joint_basic_delta(fre_account *out, const fre_mechanism *m, double epsilon,
                                 fre_err *err)
{
    return basic(out, m, epsilon, fre_joint_diameter(m), err);
}

fre_status fre_joint_delta_at_split(fre_account *out, const fre_mechanism *m, double epsilon,
                                    double split, fre_err *err)
{
    fre_account a;
    fre_status st = basic(&a, m, epsilon, split, err);

    if (st == FRE_OK && fre_composes(m))
        st = fre_compose_improve(&a, m, epsilon, false, err);
    if (st == FRE_OK)
        *out = a;
    return st;
}

fre_status fre_joint_delta(fre_account *out, const fre_mechanism *m, double epsilon, fre_err *err)
{
    fre_joint_place at = FRE_JOINT_NOWHERE;
    fre_joint_step s;
    fre_account a;
    fre_status st;
    double split, delta;

    if ((st = fre_joint_check(m, err)) != FRE_OK ||
        (st = fre_param_check(&fre_param_epsilon, epsilon, err)) != FRE_OK)
        return st;
    st = fre_joint_step_of(&s, m, epsilon, err);
    if (st != FRE_OK)
        return st;
    split = fre_joint_choose_split(m, &s, &at, &delta);
    account_at(&a, m, &s, epsilon, split, &at);
    if (fre_composes(m))
        st = fre_compose_improve(&a, m, epsilon, true, err);
    if (st == FRE_OK)
        *out = a;
    return st;
}
