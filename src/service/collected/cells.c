/* cells.c - released cells of a collection: what they say of users, and their texts. */
#include <fre/collected.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static fre_status describe_public(fre_released_cell *io, const fre_mechanism *m,
                                  const fre_codebook *b, uint32_t cell)
{
    const fre_sketch_codebook *c = &m->sketch.codebook;
    const char *medoid = fre_codebook_medoid(b, c->level, cell);

    io->centre = io->theme = cell;
    io->noise_norm *= c->gain;
    io->around = medoid ? strdup(medoid) : NULL;
    return medoid && !io->around ? FRE_E_NOMEM : FRE_OK;
}

static fre_status describe(fre_released_cell *cell, const fre_mechanism *m, const fre_codebook *b,
                           const fre_release_cell *from)
{
    const double sums = fre_cell_sums(m, from->count);
    /* Of each.  Two contacts: no fewer answered, and how many did is nobody's to know. */
    const double n =
        m->dist.one_contact ? (double)from->count / sums : (double)fre_sum_answers(m, from->count);
    const double draws = m->dist.server_noise ? 2 : n;

    cell->count = from->count;
    cell->users = (double)from->count * (double)FRE_P_ONE / (double)m->p32;
    cell->centre = cell->parent = cell->theme = FRE_RELEASE_NONE;
    /* The median of thirds is nearly their mean in many dimensions. */
    cell->noise_norm = fre_sigma_local(m, from->count) * sqrt(draws * m->dim / sums) / n;
    return b ? describe_public(cell, m, b, from->cell) : FRE_OK;
}

static fre_status make_room(fre_release *r, size_t *room, size_t n)
{
    const size_t want = 2 * (r->n + n) + 16;
    fre_released_cell *cell;
    float *centroid;

    if (r->cell && r->n + n <= *room)
        return FRE_OK;
    cell = realloc(r->cell, want * sizeof *cell);
    if (cell)
        r->cell = cell;
    centroid = realloc(r->centroid, want * r->grid.dim * sizeof *centroid);
    if (centroid)
        r->centroid = centroid;
    if (!cell || !centroid)
        return FRE_E_NOMEM;
    *room = want;
    return FRE_OK;
}

fre_status fre_collected_add(fre_release *r, size_t *room, const fre_mechanism *m,
                             const fre_codebook *codebook, const fre_release_part *part,
                             fre_err *err)
{
    fre_status st;

    if (!r || !room || !m || !part)
        return FRE_E_ARG;
    st = make_room(r, room, part->n);
    for (uint32_t i = 0; st == FRE_OK && i < part->n; i++) {
        fre_release_cell from;

        fre_release_part_at(&from, r->centroid + r->n * r->grid.dim, part, i);
        memset(&r->cell[r->n], 0, sizeof r->cell[r->n]);
        st = describe(&r->cell[r->n], m, codebook, &from);
        r->level[0].cells++;
        r->n++;
    }
    return st == FRE_OK ? st : fre_fail(err, st, "out of memory for the release");
}

fre_status fre_collected_invert(fre_release *r, fre_inverter *inverter,
                                const fre_progress *progress, fre_err *err)
{
    const fre_inverter_parts parts = fre_inverter_parts_of(inverter);
    double *std;
    fre_status st;

    if (!inverter)
        return fre_release_group(r, err);
    std = malloc(r->n * sizeof *std + 1);
    if (!std)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < r->n; i++)
        std[i] = r->cell[i].noise_norm / sqrt(r->grid.dim);
    st = fre_release_invert(r, inverter, std, progress, err);
    free(std);
    fre_release_weigh(r, &parts);
    return st == FRE_OK ? fre_release_group(r, err) : st;
}
