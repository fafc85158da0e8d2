/* audit/shares_setup.c - what clients and servers of a collection know, and where the records lie: on
 * points of the lattice, so that rounding does not blur the others, or the record between such points,
 * where rounding moves it most. */
#include "audit_private.h"

#include <fre/linalg.h>

#include <math.h>
#include <string.h>

/* ---- parameters ------------------------------------------------------------------------------- */

fre_status audit_shares_cell(fre_share_cell *out, const fre_mechanism *m, double split,
                             uint64_t count, uint64_t largest, fre_err *err)
{
    uint32_t bits;
    fre_status st = fre_share_bits(&bits, m, split, largest > m->tau ? largest : m->tau, 1, err);

    if (st == FRE_OK)
        st = fre_share_cell_init(out, m, split, count, bits, err);
    return st == FRE_E_LIMIT || st == FRE_E_ARG ? FRE_E_USAGE : st; /* the message stays */
}

static uint64_t most_members(const audit_setup *s)
{
    const audit_scenario *p = &s->scenario;

    return (p->others[0] > p->others[1] ? p->others[0] : p->others[1]) +
           s->opts->mechanism.dist.curious + 1;
}

static fre_status make_cells(audit_setup *s, double split, fre_err *err)
{
    const fre_mechanism *m = &s->opts->mechanism;
    const uint64_t most = most_members(s);
    audit_shares *h = s->shares;
    fre_status st = FRE_OK;

    h->members = (size_t)most;
    h->n = m->dist.one_contact || most <= m->tau ? 1 : (size_t)(most - m->tau + 1);
    h->cell = calloc(h->n, sizeof *h->cell);
    if (!m->dist.server_noise)
        h->table = calloc(h->n, sizeof(fre_gaussian_table *));
    if (!h->cell || (!m->dist.server_noise && !h->table))
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    for (size_t i = 0; st == FRE_OK && i < h->n; i++) {
        st = audit_shares_cell(&h->cell[i], m, split, m->tau + i, most, err);
        if (st == FRE_OK && h->table)
            st = fre_gaussian_table_new(&h->table[i], h->cell[i].var16);
    }
    h->bytes = st == FRE_OK ? fre_share_bytes(m->dim, h->cell[0].bits) : 0;
    return st;
}

/* ---- where records lie ------------------------------------------------------------------------- */

/* Signs in one pattern, so that no coordinate stands out. */
static double sign_of(uint32_t j)
{
    return j % 3 == 0 ? -1 : 1;
}

/* Numbers of the form base + integer, in steps, n of them, as large as a vector no longer than `length`
 * steps has them: all `least`, then one more on as many as fit. */
static void spread(double *out, uint32_t n, double length, double base)
{
    double least = fmax(floor(length / sqrt((double)n) - base) + base, 0), room;

    for (uint32_t j = 0; j < n; j++)
        out[j] = least;
    room = length * length - (double)n * least * least;
    for (uint32_t j = 0; j < n; j++) {
        const double next = least > 0 ? least + 1 : base > 0 ? base : 1;
        const double more = next * next - least * least;

        if (more > room)
            break;
        room -= more;
        out[j] = next;
    }
}

/* At a position of the line, on lattice points where there are such; units of embeddings. */
static void place_even(double *out, uint32_t n, double position, double step)
{
    const double size = fabs(position);
    double norm = 0;

    spread(out, n, size / step, 0);
    for (uint32_t j = 0; j < n; j++)
        norm += out[j] * out[j] * step * step;
    for (uint32_t j = 0; j < n; j++) {
        const double x = sqrt(norm) >= .9 * size ? out[j] * step : size / sqrt((double)n);

        out[j] = (position < 0 ? -1 : 1) * sign_of(j) * x;
    }
}

/* Onto the lattice, no farther out. */
static void snap(double *x, uint32_t n, double step)
{
    for (uint32_t j = 0; j < n; j++)
        x[j] = copysign(floor(fabs(x[j]) / step + 1e-6), x[j]) * step;
}

/* Between the others' points and the next ones, together as far as the record is from them: half steps, or
 * less than one step in one coordinate. */
static void place_between(double *out, const double *others, uint32_t n, double distance,
                          double step)
{
    memset(out, 0, n * sizeof *out);
    if (distance < step)
        out[0] = distance / step;
    else
        spread(out, n, distance / step, .5);
    for (uint32_t j = 0; j < n; j++)
        out[j] = others[j] + sign_of(j) * out[j] * step;
}

/* The embedding of a rotated vector; where rotation adds coordinates, of which embeddings have no part, one
 * as long, somewhere between points. */
static void embedding_of(float *x, double *rotated, const audit_setup *s)
{
    const uint32_t dim = s->opts->mechanism.dim;
    double norm = 0;

    if (dim < s->dim) {
        for (uint32_t j = 0; j < s->dim; j++)
            norm += rotated[j] * rotated[j];
        for (uint32_t j = 0; j < dim; j++)
            x[j] = (float)(sign_of(j) * copysign(sqrt(norm / (double)dim), rotated[1]));
        return;
    }
    fre_rotation_undo(s->shares->rotation, rotated);
    for (uint32_t j = 0; j < dim; j++)
        x[j] = (float)rotated[j];
}

/* As clients have it before it is rounded. */
static void rotated_of(double *out, const float *x, const audit_setup *s)
{
    const fre_mechanism *m = &s->opts->mechanism;
    const double norm = fre_norm(x, m->dim), bound = audit_reach(m);

    fre_rotation_apply(s->shares->rotation, out, x);
    for (uint32_t j = 0; norm > bound && j < s->dim; j++)
        out[j] *= bound / norm;
}

/* A record of a public cell is cut to its radius by the client; where it has to be, it is far outside. */
static void offset_of(float *x, const audit_setup *s)
{
    const fre_mechanism *m = &s->opts->mechanism;

    if (m->sketch.kind != FRE_SKETCH_CODEBOOK)
        return;
    for (uint32_t j = 0; j < m->dim; j++)
        x[j] *= 1000;
    s->steps->offset(x, s->shares->centre, m->dim, m->sketch.codebook.radius);
}

static void place(audit_setup *s, double *scratch)
{
    const audit_scenario *p = &s->scenario;
    const double step = s->shares->cell[0].beta;

    place_even(scratch, s->dim, p->position, step);
    if (p->between)
        snap(scratch, s->dim, step);
    memcpy(s->shares->others, scratch, s->dim * sizeof *scratch);
    embedding_of(s->others, scratch, s);
    for (unsigned w = 0; w < 2; w++) {
        const double to = p->extra[w].position;

        if (p->between)
            place_between(scratch, s->shares->others, s->dim, fabs(to - p->position), step);
        else
            place_even(scratch, s->dim, to, step);
        embedding_of(s->extra[w], scratch, s);
        if (p->extra[w].cell != AUDIT_NOWHERE)
            offset_of(s->extra[w], s);
        rotated_of(s->shares->extra[w], s->extra[w], s);
    }
    rotated_of(s->shares->others, s->others, s);
}

/* What the known law and the names of views start from. */
static void derive(audit_setup *s)
{
    const audit_shares *h = s->shares;
    const double step = h->cell[0].beta;
    const unsigned of = s->scenario.extra[1].cell == 0 ? 1 : 0;
    double length = 0;

    for (uint32_t j = 0; j < s->dim; j++) {
        s->direction[j] = h->extra[of][j] - h->others[j];
        length += s->direction[j] * s->direction[j];
        s->lattice_others[j] = llrint(h->others[j] / step);
        for (unsigned w = 0; w < 2; w++)
            s->shift[w][j] = s->scenario.extra[w].cell == 0
                                 ? llrint(h->extra[w][j] / step) - s->lattice_others[j]
                                 : 0;
    }
    length = sqrt(length);
    for (uint32_t j = 0; j < s->dim; j++)
        s->direction[j] = length > 0 ? s->direction[j] / length : 0;
    s->lattice = (fre_aggregate_lattice){.step = step, .norm_bound = audit_reach(&s->opts->mechanism)};
    s->sigma = s->opts->mechanism.sigma;
}

/* The user in whom the inputs differ. */
static fre_status take_mine(audit_setup *s)
{
    for (unsigned w = 0; w < 2; w++) {
        float *x;

        if (s->scenario.extra[w].cell == AUDIT_NOWHERE)
            continue;
        x = malloc(s->dim * sizeof *x);
        if (!x)
            return FRE_E_NOMEM;
        memcpy(x, s->extra[w], s->dim * sizeof *x);
        s->mine[w][s->n_mine[w]++] = (audit_mine){.cell = s->scenario.extra[w].cell, .x = x};
    }
    return FRE_OK;
}

/* ---- all of it --------------------------------------------------------------------------------- */

fre_status audit_shares_init(audit_setup *s, double split, fre_err *err)
{
    static const uint8_t signs[FRE_SIGN_SEED_BYTES] = {1}; /* public, and drawn before the records */
    double *scratch = calloc(s->dim, sizeof *scratch);
    audit_shares *h = calloc(1, sizeof *h);
    fre_status st = FRE_E_NOMEM;

    s->shares = h;
    if (!h || !scratch)
        goto out;
    h->others = calloc(s->dim, sizeof *h->others);
    h->centre = calloc(s->dim, sizeof *h->centre);
    for (unsigned w = 0; w < 2; w++)
        h->extra[w] = calloc(s->dim, sizeof *h->extra[w]);
    if (!h->others || !h->centre || !h->extra[0] || !h->extra[1])
        goto out;
    st = fre_rotation_new(&h->rotation, s->opts->mechanism.dim, signs);
    if (st == FRE_OK)
        st = make_cells(s, split, err);
    if (st != FRE_OK)
        goto out;
    place(s, scratch);
    derive(s);
    st = take_mine(s);
out:
    free(scratch);
    return st == FRE_E_NOMEM ? fre_fail(err, st, "out of memory") : st;
}

void audit_shares_free(audit_shares *h)
{
    if (!h)
        return;
    for (size_t i = 0; h->table && i < h->n; i++)
        fre_gaussian_table_free(h->table[i]);
    free(h->table);
    free(h->cell);
    fre_rotation_free(h->rotation);
    free(h->others);
    free(h->centre);
    free(h->extra[0]);
    free(h->extra[1]);
    free(h);
}
