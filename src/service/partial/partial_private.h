/* partial_private.h - bytes in and out, and what a worker reaches of the part that it makes. */
#ifndef FRE_PARTIAL_PRIVATE_H
#define FRE_PARTIAL_PRIVATE_H

#include <fre/partial.h>

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
/* The only part in it. */
FRE_MUST_CHECK fre_status partial_set_part(fre_partial *p, uint64_t part);

#endif
