/* The statement a release carries (docs/privacy.md, "What a release says"). */
#include <fre/privacy.h>

#include <math.h>

static const char not_private[] =
    "NOT PRIVATE: this run was made repeatable by a seed; whoever knows the seed can remove the "
    "noise.\nThe lines below describe the same run without a seed.\n";

static const char no_privacy[] =
    "NOT PRIVATE: epsilon is infinite. Every record was counted and no noise was added; the "
    "threshold\nis the only protection.\n";

static fre_status claim(fre_buf *out, const fre_plan *p)
{
    const fre_mechanism *m = &p->mechanism;
    const char *change = m->adjacency == FRE_ADJACENCY_REPLACE
                             ? "replacing one user's data by another's"
                             : "adding or removing one user's data";

    return fre_buf_printf(
        out,
        "Claim: (epsilon, delta)-differential privacy, epsilon = %.6g, delta = %.3g, for %s\n"
        "(at most %u %s), towards everybody who sees what is released.\n"
        "Accountant: %s; delta computed for this mechanism: %.4g.\n",
        p->account.epsilon, p->request.delta, change, m->cells_per_user,
        m->cells_per_user == 1 ? "record" : "records, each in another cell",
        p->request.accountant == FRE_ACCOUNTANT_PAPER
            ? "the paper's (its known faults are listed as warnings)"
            : "joint",
        p->account.delta);
}

static fre_status numbers(fre_buf *out, const fre_plan *p)
{
    const fre_mechanism *m = &p->mechanism;

    return fre_buf_printf(
        out,
        "Mechanism: each record is sampled with p = %.10g; a cell is released if its sampled "
        "count reaches\ntau = %llu; Gaussian noise of standard deviation sigma = %.6g is added "
        "to each coordinate of its sum.\nCells: projection to k = %u dimensions, edge L = %.6g; "
        "records at most N = %llu.\n",
        (double)m->p32 / (double)FRE_P_ONE, (unsigned long long)m->tau, m->sigma, m->proj,
        m->cell_edge, (unsigned long long)m->population);
}

static fre_status sensitivity(fre_buf *out, const fre_plan *p)
{
    fre_status st;

    if (p->mechanism.sensitivity == FRE_SENSITIVITY_WORST_CASE)
        return fre_buf_printf(out,
                              "Sensitivity: worst case, 2B = %.6g for embeddings of norm at most "
                              "B = %.6g.\n",
                              2 * p->mechanism.norm_bound, p->mechanism.norm_bound);
    st = fre_buf_printf(out,
                        "Sensitivity: records of one cell are within %.4g of each other except "
                        "with a probability that is\npart of delta (%.3g of it). Without that "
                        "argument, for texts chosen by an adversary who knew the\nprojection, ",
                        p->account.split, p->account.delta_far);
    if (st != FRE_OK)
        return st;
    if (isinf(p->worst_case_epsilon))
        return fre_buf_printf(out, "epsilon would be above %g.\n", FRE_PRIVACY_EPSILON_MAX);
    return fre_buf_printf(out, "epsilon would be %.4g.\n", p->worst_case_epsilon);
}

static fre_status joint_says(fre_buf *out, const fre_plan *p)
{
    if (p->request.accountant != FRE_ACCOUNTANT_PAPER)
        return FRE_OK;
    if (isinf(p->joint_epsilon))
        return fre_buf_printf(out,
                              "The joint accountant certifies no epsilon up to %g for this "
                              "mechanism at the same delta.\n",
                              FRE_PRIVACY_EPSILON_MAX);
    return fre_buf_printf(out,
                          "The joint accountant certifies epsilon = %.4g for this mechanism "
                          "at the same delta.\n",
                          p->joint_epsilon);
}

static fre_status conditions(fre_buf *out, const fre_plan *p)
{
    static const char always[] =
        "Conditions: the curator, who sees the texts, is trusted and publishes nothing else from "
        "them;\nnobody learns whether a record was sampled (its coin), the sums before noise, or "
        "the number of records;\n";
    static const char independent[] =
        "the projection and offsets were drawn at random, independently of the texts, and no "
        "text was\nchosen knowing them; the data hold at most N records;\n";
    static const char last[] = "each further release from the same data spends its own epsilon "
                               "and delta, and they add up.\n";
    fre_status st = fre_buf_append(out, always, sizeof always - 1);

    if (st == FRE_OK && p->mechanism.sensitivity == FRE_SENSITIVITY_PROBABILISTIC)
        st = fre_buf_append(out, independent, sizeof independent - 1);
    if (st == FRE_OK)
        st = fre_buf_printf(out, "no user has records in more than %u %s, nor two in one;\n",
                            p->mechanism.cells_per_user,
                            p->mechanism.cells_per_user == 1 ? "cell" : "cells");
    return st == FRE_OK ? fre_buf_append(out, last, sizeof last - 1) : st;
}

fre_status fre_plan_statement(fre_buf *out, const fre_plan *p, bool private_run)
{
    fre_status st = FRE_OK;

    if (isinf(p->account.epsilon))
        return fre_buf_append(out, no_privacy, sizeof no_privacy - 1);
    if (!private_run)
        st = fre_buf_append(out, not_private, sizeof not_private - 1);
    if (st == FRE_OK)
        st = claim(out, p);
    if (st == FRE_OK)
        st = numbers(out, p);
    if (st == FRE_OK)
        st = sensitivity(out, p);
    if (st == FRE_OK)
        st = joint_says(out, p);
    return st == FRE_OK ? conditions(out, p) : st;
}
