/* wire_sample_two.h - samples of places, entries and what servers say of them, for wire_sample.c. */
#ifndef FRE_TEST_WIRE_SAMPLE_TWO_H
#define FRE_TEST_WIRE_SAMPLE_TWO_H

#include "wire_sample.h"

void sample_message_two(const sample *s, fre_wire_type type, fre_buf *out);
const fre_sign_sk *sample_signer_two(const sample *s, fre_wire_type type);
/* type: FRE_WIRE_ENTRY or FRE_WIRE_ANSWER. */
void sample_entry(const sample *s, fre_wire_type type, fre_buf *out);

sample_recoder recode_issue_request, recode_issue_response, recode_carry, recode_admitted;
sample_recoder recode_collected, recode_mixed, recode_mark, recode_marked;
sample_recoder recode_listed, recode_gathered;
sample_recoder recode_vouch, recode_vouched, recode_unseal, recode_summed;
sample_recoder recode_mask_put, recode_mask_get, recode_mask_wipe;

#endif /* FRE_TEST_WIRE_SAMPLE_TWO_H */
