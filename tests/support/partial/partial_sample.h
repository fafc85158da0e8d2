/* partial_sample.h - a small run, its tasks, and parts of them. */
#ifndef FRE_TESTS_PARTIAL_SAMPLE_H
#define FRE_TESTS_PARTIAL_SAMPLE_H

#include <fre/partial.h>

#define SAMPLE_DIM 4u
#define SAMPLE_USERS 12u /* u has u % 3 + 1 texts, of 5 */
#define SAMPLE_TAU 4u

/* Two records a user, a grid of everything that is sampled; its key is all 7. */
fre_partial_terms sample_terms(void);
fre_partial_key sample_key(void);
fre_buf sample_task(const fre_partial_task *t); /* fre_buf_wipe */
/* The first stage, and the sums of the cells that texts 0 and 1 lie in. */
fre_buf sample_counts(void);
fre_buf sample_sums(void);
/* A part of a task, of users first .. first + n - 1. */
fre_buf sample_part(fre_bytes task, uint64_t part, size_t first, size_t n);
/* The same, in slices. */
void sample_slices(fre_buf *out, uint32_t slices, fre_bytes task, uint64_t part, size_t first,
                   size_t n);
fre_bytes sample_view(const fre_buf *b);
/* The embedding of a text. */
void sample_row(float row[SAMPLE_DIM], size_t text);

#endif
