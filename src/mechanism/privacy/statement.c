/* The statement a release carries: claim, mechanism and conditions (docs/privacy.md, sec. 4).  A line
 * is a sentence, or one of several conditions; whoever shows it breaks it to the width there is. */
#include <fre/privacy.h>

#include <math.h>

#include "plan.h"

static const char not_private[] =
    "NOT PRIVATE: a seed made this run repeatable; whoever knows it can remove the noise.\n"
    "What follows would hold for the same run without a seed.\n";

static const char no_privacy[] = "NOT PRIVATE: epsilon is infinite.\n"
                                 "No noise was added; the threshold is the only protection.\n";

static const char uncertified[] =
    "NOT PRIVATE as far as anybody has shown: what follows is the paper's claim, and the joint "
    "accountant certifies nothing for it.\n";

/* A curator's; the distributed mode has one level, of either kind. */
static bool by_levels(const fre_plan *p)
{
    return p->request.n_levels > 0 && !p->mechanism.dist.on;
}

static fre_status claim(fre_buf *out, const fre_plan *p)
{
    const fre_mechanism *m = &p->mechanism;
    char epsilon[FRE_DIGITS_BYTES], delta[FRE_DIGITS_BYTES], computed[FRE_DIGITS_BYTES];

    return fre_buf_printf(
        out,
        "Claim: (epsilon, delta)-differential privacy, epsilon = %s, delta = %s, "
        "for %s one user's data (at most %u %s), "
        "towards %s.\n"
        "Accountant: %s.\n"
        "Delta computed for this mechanism: %s.\n",
        fre_digits_up(epsilon, 15, p->account.epsilon), fre_digits_up(delta, 15, p->request.delta),
        m->adjacency == FRE_ADJACENCY_REPLACE ? "replacing" : "adding or removing",
        m->cells_per_user, m->cells_per_user == 1 ? "record" : "records, one a cell",
        m->dist.on ? "each server and everybody who sees what is released"
                   : "everybody who sees what is released",
        p->request.accountant == FRE_ACCOUNTANT_PAPER
            ? "the paper's (its known faults are among the warnings)"
        : by_levels(p) ? "joint, by levels"
                       : "joint",
        fre_digits_up(computed, 4, p->account.delta));
}

/* Distributed: whom the claim holds against besides, and whom it does not. */
static fre_status parties(fre_buf *out, const fre_plan *p)
{
    const fre_distributed *d = &p->mechanism.dist;
    fre_status st = FRE_OK;

    if (!d->on)
        return FRE_OK;
    if (d->curious > 0)
        st = fre_buf_printf(out,
                            "It holds as well towards up to %u %s of a cell who %s "
                            "what they know, but not if the synthesis server joins them.\n",
                            d->curious, d->curious == 1 ? "participant" : "participants",
                            d->curious == 1 ? "uses" : "pool");
    if (st == FRE_OK && d->cover)
        st = fre_buf_printf(out, "The relay and whoever watches the network learn who takes part, "
                                 "and nothing else: everybody sends the same messages.\n");
    else if (st == FRE_OK)
        st = fre_buf_printf(out, "There is no claim against the relay or a network observer, who "
                                 "can see which users were sampled.\n");
    return st == FRE_OK ? fre_plan_parties(out, &p->mechanism) : st;
}

static fre_status delta_rule(fre_buf *out, const fre_plan *p)
{
    const double users = (double)p->request.population;
    char rule[FRE_DIGITS_BYTES], some[FRE_DIGITS_BYTES];

    if (!fre_delta_warning(p->request.delta, p->request.population))
        return FRE_OK;
    return fre_buf_printf(
        out,
        "This delta is above 1/(10 N) = %s for N = %.15g users: the promise about "
        "epsilon may fail for %s of them.\n",
        fre_digits_down(rule, 3, 1 / (10 * users)), users,
        fre_digits_up(some, 2, p->request.delta * users));
}

static fre_status cells(fre_buf *out, const fre_mechanism *m)
{
    const fre_sketch_codebook *c = &m->sketch.codebook;
    const uint8_t *file = fre_sketch_file(&m->sketch);
    char edge[FRE_DIGITS_BYTES], hash[2 * FRE_HASH_BYTES + 1];
    fre_status st;

    if (m->sketch.kind == FRE_SKETCH_GRID)
        return fre_buf_printf(out, "Cells: projection to k = %u dimensions, edge L = %s.\n",
                              m->sketch.grid.proj,
                              fre_digits_up(edge, 6, m->sketch.grid.cell_edge));
    st = fre_buf_printf(
        out,
        "Cells: %llu public cells; a record enters its cell's sum as its offset from "
        "the cell's centre, cut to length R = %s.\n",
        (unsigned long long)c->cells, fre_digits_up(edge, 6, c->radius));
    if (st != FRE_OK || !file)
        return st;
    fre_hex(hash, file, FRE_HASH_BYTES);
    return fre_buf_printf(out, "Codebook: level %u of the file with SHA-256 %s.\n", c->level, hash);
}

static const char thirds[] =
    "Splits: where each third of a cell's records has tau or more, the cell is summed in thirds, each "
    "with noise of its own of that size; the median of their means is released.  A record is in one "
    "third.\n";

static fre_status mechanism_numbers(fre_buf *out, const fre_plan *p)
{
    const fre_mechanism *m = &p->mechanism;
    char rate[FRE_DIGITS_BYTES], sigma[FRE_DIGITS_BYTES], other[FRE_DIGITS_BYTES];
    fre_status st;

    fre_digits_down(sigma, 6, m->sigma); /* no more noise than there is */
    st = fre_buf_printf(out,
                        "%s: a record is sampled with probability p = %s; a cell is "
                        "released if its sampled count reaches tau = %llu; ",
                        by_levels(p) ? "Level 1, the grid" : "Mechanism",
                        fre_digits_up(rate, 10, (double)m->p32 / (double)FRE_P_ONE),
                        (unsigned long long)m->tau);
    if (st != FRE_OK)
        return st;
    if (m->dist.on)
        st = fre_buf_printf(out,
                            "%s noise of standard deviation sigma = %s or more is added to "
                            "each coordinate of its sum.\n",
                            m->noise == FRE_NOISE_DISCRETE ? "discrete Gaussian" : "Gaussian",
                            sigma);
    else
        st = fre_buf_printf(out,
                            "Gaussian noise of standard deviation sigma = %s is added to each "
                            "coordinate of its sum.\n",
                            sigma);
    if (st != FRE_OK)
        return st;
    st = fre_buf_printf(out,
                        "No cell of fewer than tau records is released, one of tau/p = %.4g about "
                        "half the time.\n",
                        (double)m->tau * (double)FRE_P_ONE / (double)m->p32);
    if (st != FRE_OK)
        return st;
    st = cells(out, m);
    if (st == FRE_OK)
        st = fre_buf_printf(out, "Records: at most N = %llu.\n", (unsigned long long)m->population);
    if (st == FRE_OK && m->dist.on)
        st =
            fre_buf_printf(out,
                           "Noise: %s %s%s.\n"
                           "Tags that are not released: hidden among dummy tags, TSDLap(%s, "
                           "%u) of each multiplicity from 1 to tau - 1.\n",
                           m->dist.server_noise
                               ? "each of the two servers adds its own to every sum, of standard "
                                 "deviation"
                               : "every user who answers adds a share of it, of standard deviation",
                           fre_digits_down(sigma, 6, p->sigma_local),
                           m->dist.server_noise ? "; either's alone keeps the claim, and what is "
                                   "released carries both, sqrt 2 of it"
                                                : " where the sampled count is tau",
                           fre_digits_down(other, 6, m->dist.lambda), m->dist.gamma);
    if (st == FRE_OK && m->dist.splits)
        st = fre_buf_append(out, thirds, sizeof thirds - 1);
    return st;
}

static fre_status numbers(fre_buf *out, const fre_plan *p)
{
    fre_status st = by_levels(p) && p->request.no_grid ? FRE_OK : mechanism_numbers(out, p);

    return st == FRE_OK && by_levels(p) ? fre_statement_levels(out, p) : st;
}

static fre_status sensitivity(fre_buf *out, const fre_plan *p)
{
    char far[FRE_DIGITS_BYTES], charge[FRE_DIGITS_BYTES];
    fre_status st;

    if (by_levels(p) && p->request.no_grid)
        return FRE_OK;
    if (p->mechanism.sketch.kind == FRE_SKETCH_CODEBOOK)
        return fre_buf_printf(
            out,
            "Sensitivity: worst case, 2R = %s, whatever the texts and however many "
            "records there are.\n",
            fre_digits_up(far, 6, 2 * p->mechanism.sketch.codebook.radius));
    if (p->mechanism.sensitivity == FRE_SENSITIVITY_WORST_CASE)
        return fre_buf_printf(out,
                              "Sensitivity: worst case, 2B = %s for embeddings of norm at most "
                              "B = %s.\n",
                              fre_digits_up(far, 6, 2 * p->mechanism.norm_bound),
                              fre_digits_up(charge, 6, p->mechanism.norm_bound));
    if (p->request.accountant == FRE_ACCOUNTANT_PAPER)
        st = fre_buf_printf(out,
                            "Sensitivity: the paper takes records of a cell to lie within %s of "
                            "each other, and charges delta (%s) for one pair only that does not.\n",
                            fre_digits_up(far, 4, p->account.split),
                            fre_digits_up(charge, 4, p->account.delta_far));
    else
        st = fre_buf_printf(out,
                            "Sensitivity: records of a cell that lie farther than %s from each "
                            "other are charged what they add to delta, in the mean over random "
                            "projections (%s in all).\n",
                            fre_digits_up(far, 4, p->account.split),
                            fre_digits_up(charge, 4, p->account.delta_far));
    if (st == FRE_OK)
        st = fre_buf_printf(out, "Without this argument, for texts chosen by somebody who knew the "
                                 "projection, epsilon would be ");
    if (st != FRE_OK)
        return st;
    if (isinf(p->worst_case_epsilon))
        return fre_buf_printf(out, "above %g.\n", FRE_PRIVACY_EPSILON_MAX);
    return fre_buf_printf(out, "%s.\n", fre_digits_up(far, 4, p->worst_case_epsilon));
}

static fre_status joint_says(fre_buf *out, const fre_plan *p)
{
    char epsilon[FRE_DIGITS_BYTES];

    if (p->request.accountant != FRE_ACCOUNTANT_PAPER)
        return FRE_OK;
    if (isinf(p->joint_epsilon))
        return fre_buf_printf(out, "The joint accountant certifies no epsilon up to %g for it.\n",
                              FRE_PRIVACY_EPSILON_MAX);
    return fre_buf_printf(out,
                          "The joint accountant certifies epsilon = %s for it at this delta.\n",
                          fre_digits_up(epsilon, 4, p->joint_epsilon));
}

/* Distributed: what users do, whatever they hold. */
static fre_status behaviour(fre_buf *out, const fre_mechanism *m)
{
    fre_status st = FRE_OK;

    if (m->dist.one_contact)
        st = fre_buf_printf(out, "\nnothing is assumed of users who drop out;");
    else
        st = fre_buf_printf(
            out,
            "\nwhether a user fails to answer "
            "depends neither on texts or coins nor on other users, and is equally likely for "
            "everybody%s;",
            m->cells_per_user > 1 ? " and for each record on its own" : "");
    if (st == FRE_OK && m->dist.cover)
        st = fre_buf_printf(out,
                            "\neverybody who takes part sends exactly %u report%s, whatever it "
                            "holds, sampled or not;",
                            m->cells_per_user, m->cells_per_user == 1 ? "" : "s");
    return st;
}

/* What the curator must keep, or the parties of a collection. */
static fre_status trust(fre_buf *out, const fre_plan *p)
{
    static const char curator[] =
        "Conditions: the curator, who sees the texts, is trusted, and releases nothing else made "
        "from them but under a budget of its own (budgets add up);\n"
        "nobody else learns which records were sampled, the sums before noise or the number of "
        "records;";
    static const char servers[] =
        "Conditions: the synthesis and the tagging server do not collude, nor the relay with "
        "either;\n"
        "who takes part is visible, what they hold is protected;\n"
        "nobody but its user learns a record's coin;\n"
        "other collections from the same texts spend a budget of their own (budgets add up);";
    fre_status st;

    if (!p->mechanism.dist.on)
        return fre_buf_append(out, curator, sizeof curator - 1);
    st = fre_buf_append(out, servers, sizeof servers - 1);
    return st == FRE_OK ? behaviour(out, &p->mechanism) : st;
}

static fre_status conditions(fre_buf *out, const fre_plan *p)
{
    static const char independent[] =
        "\nthere are at most N records;\n"
        "projection and offsets were drawn at random, independently of the texts, and no text was "
        "chosen knowing them;";
    static const char material[] =
        "\nwhat the texts are embedded and written with (models, prior, bridge, "
        "codebook, public corpus) was "
        "made independently of them: what shares too much with them is refused, and whether a run "
        "was refused is not covered by the claim;";
    const fre_mechanism *m = &p->mechanism;
    fre_status st = trust(out, p);

    if (st != FRE_OK)
        return st;
    if (m->dist.on && m->sensitivity == FRE_SENSITIVITY_PROBABILISTIC)
        st = fre_buf_printf(out,
                            "\nthere are at most N records;\nprojection, offsets and signs were "
                            "drawn at random, before and independently of the texts, and no "
                            "text was chosen knowing them;");
    else if (!p->request.no_grid && m->sensitivity == FRE_SENSITIVITY_PROBABILISTIC)
        st = fre_buf_append(out, independent, sizeof independent - 1);
    if (st == FRE_OK)
        st = fre_buf_append(out, material, sizeof material - 1);
    if (st == FRE_OK)
        st = fre_buf_printf(out, "\na user has records in at most %u %s, at most one in each.\n",
                            m->cells_per_user, m->cells_per_user == 1 ? "cell" : "cells");
    return st;
}

double fre_plan_certified_epsilon(const fre_plan *p)
{
    return p->request.accountant == FRE_ACCOUNTANT_PAPER
               ? fmax(p->request.epsilon, p->joint_epsilon)
               : p->request.epsilon;
}

fre_status fre_plan_statement(fre_buf *out, const fre_plan *p, bool private_run)
{
    fre_status st = FRE_OK;

    if (isinf(p->account.epsilon))
        return fre_buf_append(out, no_privacy, sizeof no_privacy - 1);
    if (isinf(fre_plan_certified_epsilon(p)))
        st = fre_buf_append(out, uncertified, sizeof uncertified - 1);
    else if (!private_run)
        st = fre_buf_append(out, not_private, sizeof not_private - 1);
    if (st != FRE_OK || (st = claim(out, p)) != FRE_OK || (st = delta_rule(out, p)) != FRE_OK ||
        (st = parties(out, p)) != FRE_OK || (st = numbers(out, p)) != FRE_OK ||
        (st = sensitivity(out, p)) != FRE_OK || (st = joint_says(out, p)) != FRE_OK)
        return st;
    return conditions(out, p);
}
