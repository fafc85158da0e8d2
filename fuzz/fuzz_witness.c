/* A log's file: what is taken is written and taken again, to the byte. */
#include <fre/witness.h>

#include "must.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const uint8_t seed[32] = {1};
    const fre_collection_id id = {.b = {1}};
    fre_log *l = NULL, *again = NULL;
    fre_log_head head;
    fre_sign_sk sk;
    fre_sign_pk pk, other = {.b = {7}};
    fre_buf first, second;

    must(fre_sign_keygen_with(&sk, &pk, seed) == FRE_OK);
    if (fre_log_read(&l, (fre_bytes){data, n}, &pk, NULL) != FRE_OK)
        return 0;
    fre_buf_init(&first, 1 << 26);
    fre_buf_init(&second, 1 << 26);
    must(fre_log_write(&first, l, NULL) == FRE_OK);
    must(fre_log_read(&again, (fre_bytes){first.p, first.n}, &pk, NULL) == FRE_OK);
    must(fre_log_write(&second, again, NULL) == FRE_OK);
    must(first.n == second.n && memcmp(first.p, second.p, first.n) == 0);
    must(fre_log_trusts(
             &head, l, &id,
             &(fre_log_trust){.witness = &other, .n = 1, .need = 1, .now = 1, .max_age = 1},
             NULL) != FRE_OK);
    must(!fre_log_last_head(l, &head) || fre_log_begins_with(l, &head));
    fre_buf_wipe(&first);
    fre_buf_wipe(&second);
    fre_log_free(l);
    fre_log_free(again);
    return 0;
}
