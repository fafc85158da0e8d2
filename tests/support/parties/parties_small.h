/* A collection so small that a test can hold all of it: 8 dimensions, cells from 3 sampled reports
 * on, claims that its terms keep.  Keys of all roles, and clusters of embeddings that share cells.
 * What cannot fail here aborts. */
#ifndef FRE_TEST_PARTIES_SMALL_H
#define FRE_TEST_PARTIES_SMALL_H

#include <fre/parties.h>
#include <fre/sketch.h>

#include "client.h"
#include "wire_sample.h"

#define SMALL_DIM 8u
#define SMALL_CLUSTERS 8u

fre_collection small_collection(sample *s);
void small_init_from(sample *s, const fre_collection *c);
void small_rng(fre_rng *r, uint64_t seed);
/* Terms without fre_collection_check: with several cells a user no small collection keeps a claim. */
fre_terms *small_unchecked_terms(const fre_collection *c);
/* A point of a cluster: +-1 on one axis, every member a little off it. */
void small_text(float x[SMALL_DIM], uint32_t cluster, uint32_t member);
/* No noise: for exact sums only. */
void small_no_noise(const void *ctx, fre_rng *r, int32_t *out, size_t n);
/* S_tag's answer to one exchange, appended to reply. */
void small_answer(const sample *s, const fre_oprf_key *key, fre_bytes request, fre_buf *reply,
                  fre_rng *r);
/* The tag of a text, computed by whoever has the key. */
fre_tag small_tag(const sample *s, const float *x);
bool small_same_tag(const fre_tag *a, const fre_tag *b);

#endif
