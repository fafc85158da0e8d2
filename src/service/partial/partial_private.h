/* partial_private.h - bytes in and out, and what a worker reaches of the part that it makes. */
#ifndef FRE_PARTIAL_PRIVATE_H
#define FRE_PARTIAL_PRIVATE_H

#include <fre/map.h>
#include <fre/partial.h>

/* ---- what a part is --------------------------------------------------------------------------- */

#define PARTIAL_MAGIC "fre-e2t part 2\0" /* and the zero behind it */
#define PARTIAL_MAGIC_BYTES 16u
#define PARTIAL_CHECK_AT                                                                           \
    (PARTIAL_MAGIC_BYTES + FRE_HASH_BYTES + 4 + 4 + 1 + 8 + 4 + 8) /* the first's */
#define PARTIAL_CHECK_BYTES 8u

typedef struct partial_part {
    uint64_t number;
    uint64_t
        check; /* of all its slices: a part that was made again from other records has another */
} partial_part;

struct fre_partial {
    uint8_t task_hash[FRE_HASH_BYTES];
    fre_partial_task task;
    bool in_grid; /* cells are of the grid, known by name ... */
    fre_map grid; /* ... -> slot */
    uint32_t
        *slot_of; /* else: of a public cell, or of an index in task.released; or FRE_MAP_NONE */
    size_t n_slot_of;
    uint32_t *cell; /* of a slot: the way back */
    size_t cap_cell;
    uint64_t *count; /* SECRET, n */
    size_t n, cap_count;
    size_t width; /* sums of a cell: dim at the last stage, else 0 */
    int64_t *sum; /* SECRET, n x width */
    size_t cap_sum;
    partial_part *part; /* n_parts, ascending by number */
    size_t n_parts, cap_part;
    uint32_t of, n_slices; /* how many slices there are, and are in; 0: nothing came */
    uint8_t slice[FRE_PARTIAL_SLICES_MAX / 8]; /* a bit each */
    bool closed;
    uint64_t left_out; /* cells, when it was closed */
    bool has_survey;   /* with the first slice */
    fre_partial_survey survey;
};

/* ---- bytes.c: beside core's reader and writer --------------------------------------------------- */

/* At most `most`. */
uint64_t partial_uint_to(fre_in *in, unsigned bytes, uint64_t most);
bool partial_flag(fre_in *in);
/* Finite and above 0. */
double partial_positive(fre_in *in);
void partial_put_double(fre_out *o, double v);
/* Appends the SHA-256 of all that was put, or takes everything back. */
fre_status partial_end(fre_out *o);
/* in: what lies before such a checksum.  false: it is another's, or nothing is there. */
bool partial_verified(fre_in *in, fre_bytes all);

/* ---- task.c ----------------------------------------------------------------------------------- */

/* Order of released cells. */
int partial_by_cell(const void *a, const void *b);
/* Index of a released cell; n_released: it is not. */
size_t partial_find_released(const fre_partial_task *t, const fre_partial_cell *c);

/* ---- survey.c --------------------------------------------------------------------------------- */

/* FRE_E_NOMEM. */
FRE_MUST_CHECK fre_status partial_survey_init(fre_partial_survey *s, const uint8_t *salt);
void partial_survey_wipe(fre_partial_survey *s);
void partial_survey_put(fre_out *o, const fre_partial_survey *s);
/* out: partial_survey_wipe, whatever is returned.  FRE_E_DATA, FRE_E_NOMEM. */
FRE_MUST_CHECK fre_status partial_survey_get(fre_partial_survey *out, fre_in *in,
                                             const uint8_t *salt);
/* *sum: what both saw, as partial_survey_get.  FRE_E_LIMIT, FRE_E_NOMEM. */
FRE_MUST_CHECK fre_status partial_survey_both(fre_partial_survey *sum, const fre_partial_survey *a,
                                              const fre_partial_survey *b);

/* ---- partial.c -------------------------------------------------------------------------------- */

/* A cell of the stage, made if it is new: name of a grid's (32 bytes); cell: public, or index of a released
 * one. */
FRE_MUST_CHECK fre_status partial_slot(fre_partial *p, uint32_t *slot, const uint8_t *name,
                                       uint32_t cell);
/* More records in it.  FRE_E_LIMIT. */
FRE_MUST_CHECK fre_status partial_count(fre_partial *p, uint32_t slot, uint64_t more);
/* dim sums of the last stage; borrowed until the next slot. */
int64_t *partial_sums(fre_partial *p, uint32_t slot);
fre_partial_survey *partial_survey_of(fre_partial *p); /* NULL: not of the first stage */
/* Room for `more` new slots. */
FRE_MUST_CHECK fre_status partial_make_room(fre_partial *p, size_t more);
/* FRE_MAP_NONE: there is none. */
uint32_t partial_find_slot(const fre_partial *p, const uint8_t *name, uint32_t cell);
fre_status partial_out_of_memory(fre_status st, fre_err *err);

/* ---- slices.c: ranges of names, or of numbers ------------------------------------------------------ */

/* The only part in it, whole. */
FRE_MUST_CHECK fre_status partial_set_part(fre_partial *p, uint64_t part);
/* In which of so many a cell lies. */
uint32_t partial_slice(const fre_partial *p, const uint8_t *name, uint32_t cell, uint32_t of);
bool partial_has_slice(const fre_partial *p, uint32_t slice);
void partial_set_slice(fre_partial *p, uint32_t slice, uint32_t of);
uint32_t partial_first_slice(const fre_partial *p); /* of those that are in */
/* Closing leaves cells out that have fewer than *tau. */
bool partial_prunes(const fre_partial *p, uint64_t *tau);

/* ---- encode.c ----------------------------------------------------------------------------------- */

/* out: `slices` of them, empty, and that again on failure.  FRE_E_NOMEM, FRE_E_LIMIT. */
FRE_MUST_CHECK fre_status partial_cut(fre_buf *out, uint32_t slices, const fre_partial *p);

#endif
