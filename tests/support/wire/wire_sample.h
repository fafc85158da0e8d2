/* A collection with all its keys, one example of every message, and each decoder followed by its
 * encoder.  For tests and the fuzz target alike; what cannot fail here aborts. */
#ifndef FRE_TEST_WIRE_SAMPLE_H
#define FRE_TEST_WIRE_SAMPLE_H

#include <fre/linalg.h>
#include <fre/wire.h>

#include <stdlib.h>
#include <string.h>

#include "must.h"

#define SAMPLE_BITS 17u
#define SAMPLE_MAX (1u << 20)

typedef struct sample {
    fre_wire w;
    fre_hpke_keypair tag, syn, issuer;
    fre_sign_sk tag_sk, syn_sk, relay_sk, issuer_sk;
    fre_oprf_key oprf, issuer_oprf;
} sample;

fre_bytes sample_view(const fre_buf *b);
/* What tests may change before sample_init_from. */
fre_collection sample_collection(sample *s);
/* A level of a codebook in place of the grid. */
void sample_public_cells(fre_collection *c);
void sample_init_from(sample *s, const fre_collection *c);
void sample_init(sample *s);
const fre_sign_sk *sample_signer(const sample *s, fre_wire_type type);
bool sample_is_signed(fre_wire_type type);
/* version, type, collection id, body, signature under the type's label and signer. */
void sample_sign(const sample *s, fre_wire_type type, fre_bytes body, fre_buf *out);

/* ---- one example of each ------------------------------------------------------------------------ */

void sample_fill(void *p, size_t n, uint8_t first);
void sample_tags(fre_tag *tag, uint32_t n);
void sample_list(const sample *s, fre_buf *out);
void sample_message(const sample *s, fre_wire_type type, fre_buf *out);

/* ---- a decoder, and its encoder on what it gave ------------------------------------------------- */

typedef fre_status sample_recoder(const sample *s, fre_bytes in, fre_buf *out, fre_err *err);

#define SAMPLE_TYPES FRE_WIRE_TYPES
/* By type; NULL: what is sealed, and no type. */
extern sample_recoder *const sample_recoders[SAMPLE_TYPES];

#endif /* FRE_TEST_WIRE_SAMPLE_H */
